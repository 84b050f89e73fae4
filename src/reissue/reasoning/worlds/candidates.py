"""Which values each person can still have: the ones that all of its groups have in common.

A person that is in several releases has, as long as its value does not change, one of the values of every
group it was in. What is left after crossing the others out is a superset of the values it can have in any
possible world, so a person with one value left is exposed for certain. The converse fails: how often a
value was published, and who must have the others, is not used here, and a stronger attack finds more.

Counterfeits are nobody and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints, Words
from reissue.errors import ParameterError, count_of
from reissue.model.memberships import NOWHERE, Memberships
from reissue.model.published import Published, PublishedGroups

WORD = 64
"""Values are handled 64 at a time, one bit each."""


@dataclass(frozen=True, repr=False)
class Candidates:
    """For every person that was ever in the series, what is left when its groups are intersected."""

    people: Ints
    """Person numbers, ascending."""
    counts: Ints
    """How many values each of them can still have."""
    only: Ints
    """The position in `Published.values` of the value of each person that has one left, otherwise -1."""
    exposed_after: Ints
    """For each release how many people have one value left, given that release and those before it."""
    only_after: Ints | None = None
    """If it was asked for: for each release, a row, the position of that value for each person, otherwise -1."""

    def __repr__(self) -> str:
        return (
            f"Candidates({self.people.size:,} people, {self.exposed.size:,} exposed, "
            f"{self.contradictory.size:,} contradictory)"
        )

    @property
    def exposed(self) -> Ints:
        """The people with exactly one value left."""
        return self.people[np.flatnonzero(self.counts == 1)]

    @property
    def contradictory(self) -> Ints:
        """The people with no value left: their value changed, or the view contradicts itself."""
        return self.people[np.flatnonzero(self.counts == 0)]


def candidates(published: Published, *, each: bool = False) -> Candidates:
    """Intersect the groups of every person over all releases; with `each` also up to each of them.

    The view must be `single`: where a member may have no value, its group says nothing about it.
    """
    if not published.single:
        raise ParameterError(
            "Groups can only be intersected in a view where each member has exactly one value.",
            hint="use a view with single=True.",
        )
    where = published.index
    _need_one_place_each(where)
    people, group_of = where.people[where.made_up :], where.place[:, where.made_up :]
    newcomers = _newcomers(group_of)
    offers = [_Offers.of(release) for release in published.releases]

    counts = np.zeros(people.size, dtype=np.int64)
    only = np.full(people.size, -1, dtype=np.int64)
    # None, one or several values: more than that need not be told apart after each release.
    few = np.zeros(group_of.shape, dtype=np.uint8)
    only_after = np.full(group_of.shape, -1, dtype=np.int64) if each else None
    for word in range(-(-len(published.values) // WORD)):
        bits = np.zeros(people.size, dtype=np.uint64)
        possible = np.zeros(0, dtype=np.int64)  # people with a candidate among the 64 values of this word
        left = np.zeros(0, dtype=np.uint8)
        for at, offer in enumerate(offers):
            offered = offer.of_word(word)
            bits[possible] &= offered[group_of[at, possible]]
            arrived = newcomers[at]
            bits[arrived] = offered[group_of[at, arrived]]
            possible = np.concatenate((possible, arrived))
            possible = possible[bits[possible] != 0]
            left = np.bitwise_count(bits[possible])
            few[at, possible] = np.minimum(few[at, possible] + left, 2)
            if only_after is not None:
                only_after[at, possible] = word * WORD + np.bitwise_count(bits[possible] - np.uint64(1)).astype(
                    np.int64
                )
        counts[possible] += left
        # Below a lone bit lie as many bits as its position says; people with more are undone below.
        only[possible] = word * WORD + np.bitwise_count(bits[possible] - np.uint64(1)).astype(np.int64)
    only[counts != 1] = -1
    if only_after is not None:
        only_after[few != 1] = -1
    return Candidates(people, counts, only, np.count_nonzero(few == 1, axis=1).astype(np.int64), only_after)


@dataclass(frozen=True)
class _Offers:
    """The values of the groups of one release as bits, ordered by the word they fall into."""

    group_count: int
    group: Ints
    bit: Words
    word_starts: Ints

    @classmethod
    def of(cls, release: PublishedGroups) -> _Offers:
        group = release.value_groups
        word = release.values // WORD
        order = np.argsort(word, kind="stable")  # keeps the groups of a word in their order
        bit = np.uint64(1) << (release.values % WORD).astype(np.uint64)
        starts = starts_of(np.bincount(word))
        return cls(release.group_count, group[order], bit[order], starts)

    def of_word(self, word: int) -> Words:
        """For each group which of the 64 values it has; all of them in the place behind, for the absent."""
        offered = np.zeros(self.group_count + 1, dtype=np.uint64)
        offered[NOWHERE] = ~np.uint64(0)
        if word + 1 < self.word_starts.size:
            entries = slice(self.word_starts[word], self.word_starts[word + 1])
            group, bit = self.group[entries], self.bit[entries]
            runs = np.flatnonzero(np.diff(group, prepend=-1))
            if runs.size:
                offered[group[runs]] = np.bitwise_or.reduceat(bit, runs)
        return offered


def _need_one_place_each(where: Memberships) -> None:
    for at, release in enumerate(where.releases):
        listed = np.count_nonzero(release.members >= 0)
        too_many = int(listed - np.count_nonzero(where.place[at, where.made_up :] != NOWHERE))
        if too_many:
            raise ParameterError(
                f"Release {release.number} lists people more than once: {count_of(too_many, 'membership')} too many.",
                hint="put every person into one group of a release.",
            )


def _newcomers(group_of: npt.NDArray[np.int32]) -> list[Ints]:
    """For each release the places of the people that were in none before."""
    seen = np.zeros(group_of.shape[1], dtype=bool)
    arrived = []
    for row in group_of:
        present = row != NOWHERE
        arrived.append(np.flatnonzero(present & ~seen))
        seen |= present
    return arrived
