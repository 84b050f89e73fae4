"""What comparisons of two releases leave for people who are known by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reissue.arrays.dense import places
from reissue.arrays.narrow import NEVER
from reissue.arrays.runs import totals
from reissue.arrays.types import Bools, Ints, Words
from reissue.errors import ParameterError, count_of
from reissue.model.memberships import NOWHERE
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.channels.channel_sets import Comparison, Newcomers
from reissue.reasoning.channels.waiting_lists import Batches, batches

Kind = Literal["both", "new", "gone", "waited", "joined"]

MOST_WORDS = 1 << 28
"""Sets of values that take more 64-bit words than this, 2 GiB, are not kept."""


@dataclass(frozen=True)
class Step:
    """One inference-enabling set that somebody's value is in: two releases, by position, and a class of each."""

    kind: Kind
    compared: Comparison
    first: int
    second: int
    """The classes; -1 in the release that he is not in."""
    values: frozenset[int]
    batch: Batches | None = None
    """What waiting tells, where the set comes from that."""


class Exposure:
    """Everybody who is certainly in some class, what is left for him, and by how small a set."""

    def __init__(self, published: Published, waiting: Mapping[int, Ints]) -> None:
        self.published = published
        releases = published.releases
        where = published.index
        self.people: Ints = where.people[where.made_up :]
        listed = where.place[:, where.made_up :]
        self.place = listed if published.exact else listed.copy()
        """For each release the class that a person is certainly in, or -1."""
        self.absent = listed == NOWHERE
        """For each release who is certainly not in it."""
        self.waited = np.zeros((len(releases), self.people.size), dtype=bool)
        """For each release who is known to have waited when it came out."""
        for at, release in enumerate(releases):
            if release.sure is not None:
                self.place[at] = NOWHERE
                sure = release.sure & (release.members >= 0)
                self.place[at, self._at(release.members[sure])] = release.member_groups[sure]
            if release.space is not None:
                self.absent[at] = False
        self._wait(waiting)
        self.fewest = np.full((len(releases), self.people.size), np.iinfo(np.int32).max, dtype=np.int32)
        """For each release the smallest set that a person's value is in, by comparison with earlier ones."""
        self.batches: list[Batches] = []
        """What waiting tells about those who came in together, where that was asked."""
        self.waiting_told = self.waiting_unknown = self.waiting_refuted = 0
        """About how many people's waiting something was said; how many came with people whose values are not exactly
        known, or could not be looked at; and how many cannot have waited in one list."""
        words = max(-(-len(published.values) // 64), 1)
        self.left: Words | None = None
        """The values left for each person by all comparisons of two, as bits; None if there are too many."""
        if words * self.people.size <= MOST_WORDS:
            self.left = np.full((self.people.size, words), ~np.uint64(0), dtype=np.uint64)
            self._offered = [_offered(release, np.ones(release.values.size, dtype=bool), words) for release in releases]

    def __repr__(self) -> str:
        return f"Exposure({self.people.size:,} people)"

    def _at(self, people: Ints) -> Ints:
        return places(self.people, people)

    def _wait(self, waiting: Mapping[int, Ints]) -> None:
        position = {release.number: at for at, release in enumerate(self.published.releases)}
        problems = []
        for number, people in waiting.items():
            if number not in position:
                problems.append(f"There is no release {number}.")
                continue
            at = position[number]
            who = self._at(people)
            who = who[who >= 0]
            there = int(np.count_nonzero(self.place[at, who] >= 0))
            if there:
                problems.append(f"{count_of(there, 'person', 'people')} of {people.size:,} are in release {number}.")
            self.waited[at, who] = self.absent[at, who] = True
        if problems:
            raise ParameterError("Who waits cannot be as it is said.", problems=problems)

    def add(self, compared: Comparison) -> None:
        """Take a comparison into account."""
        before, after = self.place[compared.earlier], self.place[compared.later]
        both = np.flatnonzero((before >= 0) & (after >= 0))
        later = self.published.releases[compared.later]
        pairs = compared.first * later.group_count + compared.second
        of = np.searchsorted(pairs, before[both].astype(np.int64) * later.group_count + after[both])
        self._smaller(compared.later, both, compared.distinct[of])
        if self.left is not None:
            self.left[both] &= (
                self._offered[compared.earlier][before[both]] & self._offered[compared.later][after[both]]
            )
        if compared.new is not None:
            self._add(compared.new, compared.later, compared.later, compared.earlier)
        if compared.gone is not None:
            self._add(compared.gone, compared.later, compared.earlier, compared.later)

    def _add(self, found: Newcomers, later: int, here: int, elsewhere: int) -> None:
        who = np.flatnonzero((self.place[here] >= 0) & self.absent[elsewhere])
        group = self.place[here, who]
        who, group = who[found.distinct[group] < NEVER], group[found.distinct[group] < NEVER]
        self._smaller(later, who, found.distinct[group])
        if self.left is not None:
            sets = _offered(self.published.releases[here], found.amounts > 0, self.left.shape[1])
            self.left[who] &= sets[group]

    def add_waiting(self, comparisons: list[Comparison], l: int | None) -> None:  # noqa: E741
        """Take into account what waiting tells who knows the method: nothing where l is not known.

        Only who waited last before being published counts: a list only grows until then.
        """
        before = {compared.later: compared for compared in comparisons if compared.earlier == compared.later - 1}
        for later in range(1, len(self.published.releases)):
            # All who may be in the release; where it is not known who is in it, nothing can be said of them.
            came = np.flatnonzero(self.waited[later - 1] & ~self.absent[later])
            if l is None or later not in before or (self.place[later, came] < 0).any():
                self.waiting_unknown += came.size
            elif came.size:
                self._add_batches(before[later], came, l)

    def _add_batches(self, compared: Comparison, came: Ints, l: int) -> None:  # noqa: E741
        group = self.place[compared.later]
        waited = np.bincount(group[came], minlength=self.published.releases[compared.later].group_count)
        found = batches(self.published, compared, waited, l)
        self.batches.append(found)
        self.waiting_told += int(found.waited.sum())
        self.waiting_unknown += int(waited[found.unknown].sum())
        self.waiting_refuted += int(waited[found.refuted].sum())
        for kind, values in (("waited", found.by_waited), ("joined", found.by_joined)):
            who = self.of_batch(found, kind)
            self._smaller(compared.later, who, self.distinct(found, values)[group[who]])
            if self.left is not None:
                sets = _offered(self.published.releases[compared.later], values, self.left.shape[1])
                self.left[who] &= sets[group[who]]

    def of_batch(self, found: Batches, kind: str) -> Ints:
        """Who of the batches waited, or who of them is of the rest; by their places here."""
        later, earlier = found.compared.later, found.compared.earlier
        fresh = np.flatnonzero((self.place[later] >= 0) & self.absent[earlier])
        fresh = fresh[found.waited[self.place[later, fresh]] > 0]
        chosen: Ints = fresh[self.waited[earlier, fresh] == (kind == "waited")]
        return chosen

    def distinct(self, found: Batches, values: Bools) -> Ints:
        """For each class of the later release how many of its values are among those chosen."""
        starts = self.published.releases[found.compared.later].value_starts
        return totals(values, starts)

    def _smaller(self, release: int, who: Ints, distinct: Ints) -> None:
        self.fewest[release, who] = np.minimum(self.fewest[release, who], distinct)

    def steps(self, at: int, comparisons: list[Comparison]) -> list[Step]:
        """All sets that the value of a person, by his place here, is in; the smallest first."""
        found = []
        for compared in comparisons:
            before, after = int(self.place[compared.earlier, at]), int(self.place[compared.later, at])
            one, two = self.published.releases[compared.earlier], self.published.releases[compared.later]
            if before >= 0 and after >= 0:
                found.append(Step("both", compared, before, after, _values(one, before) & _values(two, after)))
            elif after >= 0 and self.absent[compared.earlier, at] and compared.new is not None:
                if compared.new.distinct[after] < NEVER:
                    found.append(Step("new", compared, -1, after, _values(two, after, compared.new.amounts)))
            elif before >= 0 and self.absent[compared.later, at] and compared.gone is not None:
                found.append(Step("gone", compared, before, -1, _values(one, before, compared.gone.amounts)))
        for batch in self.batches:
            earlier, later = batch.compared.earlier, batch.compared.later
            after = int(self.place[later, at])
            if after >= 0 and self.absent[earlier, at] and batch.waited[after]:
                waited = bool(self.waited[earlier, at])
                chosen = batch.by_waited if waited else batch.by_joined
                values = _values(self.published.releases[later], after, chosen)
                found.append(Step("waited" if waited else "joined", batch.compared, -1, after, values, batch))
        return sorted(found, key=lambda step: (len(step.values), step.compared.later, step.compared.earlier))


def _offered(release: PublishedGroups, which: Bools, words: int) -> Words:
    """For each class which values it has among the entries chosen, as bits."""
    bits = np.zeros((release.group_count, words), dtype=np.uint64)
    group = release.value_groups[which]
    values = release.values[which]
    np.bitwise_or.at(bits, (group, values // 64), np.uint64(1) << (values % 64).astype(np.uint64))
    return bits


def _values(release: PublishedGroups, group: int, amounts: Ints | Bools | None = None) -> frozenset[int]:
    entries = slice(*release.value_starts[group : group + 2].tolist())
    values = release.values[entries]
    return frozenset((values if amounts is None else values[amounts[entries] > 0]).tolist())
