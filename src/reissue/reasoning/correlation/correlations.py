"""Historical correlations and what follows from them (Riboni & Bettini 2009, Definitions 2 to 4).

    Q.S        the multiset of values that a group publishes; groups with equal ones have the same `signature`
    R1, R2     two groups of different releases with the same Q.S share some members, not all: then those that only
               one has and those that only the other has are correlated, and have the same values (Theorem 1)
    S_r        the values left for a person: at first those that all groups of the person show
    ct-pvr     who is in a group where everybody with a value is known does not have that value
    hc-pvr     a value that nobody of a correlated set can have is not that of anybody on the other side

Both are applied until nothing changes; someone with one value left is as good as compromised.
Only members who are certainly in a group count, and only groups of which all members are known are correlated.
Counterfeits are members like others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reissue.arrays.budget import need_time, passed
from reissue.arrays.runs import kept, owners, totals
from reissue.arrays.types import Bools, Ints, Words
from reissue.kernels.correlated_groups import (
    apart,
    common_values,
    correlated,
    first_of_each,
    partners,
    restrict,
    set_sizes,
)
from reissue.model.memberships import Memberships
from reissue.model.published import Published, PublishedGroups

GROUPS_AT_A_TIME = 50_000
"""How many groups are looked at together when correlations are listed."""
AT_A_TIME = 1 << 24
"""So many 64-bit words of sets are looked at between two looks at the clock."""
WORD = 0.005
"""How many steps a word takes."""
MOST_LOGGED = 1 << 25
"""When more values than this, 1.25 GiB, were ruled out, what more follows is left open."""
MOST_WORDS = 1 << 28
"""Sets of values that take more 64-bit words than this, 2 GiB, are not kept."""


@dataclass(frozen=True, repr=False)
class Correlated:
    """Two sets of people that have the same values, by number, ascending, and two groups that show it."""

    one: Ints
    other: Ints
    first: int
    second: int

    def __repr__(self) -> str:
        return f"Correlated(sets of {self.one.size:,})"


@dataclass(frozen=True, repr=False)
class Correlations:
    """The known groups of a series, and the correlations between them."""

    where: Memberships
    """Who is certainly in which groups, numbered from 0 over all releases."""
    release: Ints
    """For each group the number of its release."""
    group: Ints
    """For each group its number in that release, counted from 1."""
    values: Ints
    counts: Ints
    value_starts: Ints
    """What each group publishes, group after group."""
    signature: Ints
    """Equal for groups that publish the same values equally often; -1 where not all members are known."""

    def __repr__(self) -> str:
        return f"Correlations(between {self.release.size:,} groups)"

    @classmethod
    def of(cls, published: Published) -> Correlations:
        """Those of a view in which nobody is certainly in two groups of a release."""
        where = published.index if published.exact else Memberships(tuple(map(_certain, published.releases)))
        where.need_one_group_each(
            "Nobody can certainly be in two groups of a release.",
            hint="let everybody be in one group of a release, or say who is certain.",
        )
        whole = totals(where.counts, where.value_starts) == np.diff(where.starts)
        number = signatures(where.values, where.counts, where.value_starts)
        return cls(
            where,
            where.release,
            where.group,
            where.values,
            where.counts,
            where.value_starts,
            np.where(whole, number, -1),
        )

    @property
    def _links(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.where.member, self.where.starts, self.where.groups, self.where.group_starts, self.signature

    @property
    def known(self) -> int:
        """Of how many groups all members are known."""
        return int(np.count_nonzero(self.signature >= 0))

    @cached_property
    def _sizes(self) -> Ints:
        groups = self.release.size
        largest = int(np.diff(self.where.starts).max(initial=0)) + 1
        sizes = np.zeros((3, max(groups, largest)), dtype=np.int64)
        sizes[:2] = np.iinfo(np.int64).max
        set_sizes(0, groups, *self._links, sizes)
        return sizes

    @property
    def smallest_before(self) -> Ints:
        """For each group the smallest set that a correlation with an earlier group leaves; a huge number for none."""
        return self._sizes[0, : self.release.size]

    @property
    def smallest_after(self) -> Ints:
        """The same with later groups."""
        return self._sizes[1, : self.release.size]

    @cached_property
    def _marks(self) -> Words:
        rng = np.random.default_rng(self.where.people.size)
        return rng.integers(0, 2**64, self.where.people.size, dtype=np.uint64)

    @cached_property
    def count(self) -> int:
        """How many pairs of sets are correlated, each counted once however many groups show it."""
        bounds, pairs, keys = self.where.bounds, [], []
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            found, key = correlated(begin, end, *self._links, self._marks, 0, np.iinfo(np.int64).max)
            pairs.append(found)
            keys.append(key)
        if not keys:
            return 0
        return int(np.count_nonzero(self._first_of_each(np.concatenate(pairs, axis=1), np.concatenate(keys))))

    def smallest(self, most: int) -> list[Correlated]:
        """Pairs of correlated sets, smallest first, each once; at most so many."""
        listed: list[Correlated] = []
        for size in np.flatnonzero(self._sizes[2]).tolist():
            if len(listed) < most:
                listed += self._of_size(size, most - len(listed))
        return listed

    def _of_size(self, size: int, most: int) -> list[Correlated]:
        bounds, pairs, keys, new = (
            self.where.bounds,
            np.zeros((2, 0), np.int32),
            np.zeros(0, np.uint64),
            np.zeros(0, bool),
        )
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            while begin < end and np.count_nonzero(new) < most:
                stop = min(begin + GROUPS_AT_A_TIME, end)
                found, key = correlated(begin, stop, *self._links, self._marks, size, most)
                # A full answer may have left the later groups of this stretch out.
                begin = int(found[0, -1]) + 1 if key.size >= most else stop
                pairs, keys = np.concatenate([pairs, found], axis=1), np.concatenate([keys, key])
                new = self._first_of_each(pairs, keys)
        found = [self._correlated(first, second) for first, second in pairs[:, new].T.tolist()]
        found.sort(key=lambda pair: (pair.one.tolist(), pair.other.tolist()))
        return found[:most]

    def _correlated(self, first: int, second: int) -> Correlated:
        one, other = sorted(self.apart(first, second), key=np.ndarray.tolist)
        return Correlated(one, other, first, second)

    def _first_of_each(self, pairs: npt.NDArray[np.int32], keys: Words) -> Bools:
        order = np.argsort(keys, kind="stable")
        new: npt.NDArray[np.bool_] = first_of_each(keys, order, pairs, self.where.member, self.where.starts)
        return new

    def apart(self, first: int, second: int) -> tuple[Ints, Ints]:
        """Who is in one group and not in the other, and the other way round, by number, ascending."""
        one, other = apart(first, second, self.where.member, self.where.starts)
        return self.where.people[one], self.where.people[other]

    def partners(self, group: int) -> Ints:
        """The groups that a group is correlated with, ascending."""
        found: Ints = partners(group, *self._links)[0]
        return found

    def restrictions(
        self, people: Ints, known: Ints, value_count: int, deadline: float | None = None
    ) -> Restrictions | None:
        """What is left for everybody when the values of these people are known; None if that takes too much memory.

        After the deadline what follows is left incomplete; `OutOfTime` is raised if
        it passes even before the values are known that the groups of each member have in common.
        """
        words = max(-(-value_count // 64), 1)
        if words * self.where.people.size > MOST_WORDS:
            return None
        before = self._common(words, deadline)
        sets = np.empty_like(before)
        for rows in self._some_rows(words):
            need_time(deadline, (rows.stop - rows.start) * words * WORD)
            sets[rows] = before[rows]
        given = np.zeros((people.size, words), dtype=np.uint64)
        given[np.arange(people.size), known // 64] = np.uint64(1) << (known % 64).astype(np.uint64)
        # Somebody may be listed in no group for certain; then nothing bounds the value that is known.
        at = np.searchsorted(self.where.people, people)
        here = np.isin(people, self.where.people)
        sets[at[here]] &= given[here]
        log, complete, contradictory = self._to_the_end(sets, deadline)
        return Restrictions(before, sets, log, complete, contradictory)

    def _some_rows(self, words: int) -> Iterator[slice]:
        """All members, as many at a time as can be looked at without a look at the clock."""
        step = max(AT_A_TIME // words, 1)
        return (
            slice(begin, min(begin + step, self.where.people.size)) for begin in range(0, self.where.people.size, step)
        )

    def _common(self, words: int, deadline: float | None) -> Words:
        """The values that all groups of each member show, as bits."""
        sets = np.empty((self.where.people.size, words), dtype=np.uint64)
        for rows in self._some_rows(words):
            need_time(deadline, (rows.stop - rows.start) * words * WORD)
            sets[rows] = ~np.uint64(0)
        group = 0
        while group < self.release.size:
            need_time(deadline, min(self.where.member.size * words, AT_A_TIME) * WORD)
            group = common_values(
                group, AT_A_TIME, self.where.member, self.where.starts, self.values, self.value_starts, sets
            )
        return sets

    def _to_the_end(self, sets: Words, deadline: float | None) -> tuple[Ints, bool, int]:
        people, groups = self.where.people.size, self.release.size
        sizes = np.zeros(people, dtype=np.int64)
        for rows in self._some_rows(sets.shape[1]):
            need_time(deadline, (rows.stop - rows.start) * sets.shape[1] * WORD)
            sizes[rows] = np.bitwise_count(sets[rows]).sum(axis=1)
        distinct = np.diff(self.value_starts)
        of = owners(np.diff(self.where.group_starts))
        fewer = np.bincount(of[sizes[of] < distinct[self.where.groups]], minlength=people) > 0
        start = np.flatnonzero(fewer | (sizes <= 1))
        waiting = np.zeros(people, dtype=np.int64)
        waiting[: start.size] = start
        waits = np.zeros(people, dtype=bool)
        waits[start] = True
        ends = np.array([0, start.size, 0, 0, 0, 0, 0], dtype=np.int64)
        state = (
            self.counts.copy(),
            sets,
            sizes,
            np.zeros(people, dtype=bool),
            waiting,
            waits,
            np.zeros(groups, dtype=np.int64),
            np.zeros(groups, dtype=bool),
            ends,
        )
        logs, logged = [np.zeros((0, 5), dtype=np.int64)], 0
        spent = float(people)
        while ends[4] == 0 and ends[[1, 3, 5]].any() and logged < MOST_LOGGED and not passed(deadline, spent):
            logs.append(restrict(AT_A_TIME, *self._links, self.values, self.value_starts, *state))
            logged += len(logs[-1])
            spent = AT_A_TIME * WORD if ends[[1, 3, 5]].any() else len(logs[-1])
        return np.concatenate(logs), not ends[[1, 3, 5]].any(), int(ends[4])


@dataclass(frozen=True, repr=False)
class Restrictions:
    """The values left for each member, as bits, and how it came to that."""

    before: Words
    """What the groups of each member have in common."""
    after: Words
    """What is left when ct-pvr and hc-pvr were applied to the end."""
    log: Ints
    """Member, value, kind of reason (see `kernels.correlated_groups`) and two groups, in the order of the removals."""
    complete: bool
    """Whether nothing more follows by the two rules."""
    contradictory: int
    """Above 0 where the groups and what is known contradict each other; then nothing else here means anything."""

    def __repr__(self) -> str:
        return f"Restrictions({self.log.shape[0]:,} values ruled out for {self.after.shape[0]:,} members)"


def signatures(values: Ints, counts: Ints, starts: Ints) -> Ints:
    """A number for the multiset of values of each group, equal for equal ones.

    Two entries that follow each other are numbered as one, again and again, until each group has one number: so
    nothing is left to a hash.
    """
    sizes = np.diff(starts)
    if not values.size:
        return np.zeros(sizes.size, dtype=np.int64)
    order = np.lexsort((values, owners(sizes)))
    number = np.unique(values[order] * (int(counts.max()) + 1) + counts[order], return_inverse=True)[1]
    while sizes.max() > 1:
        halves = (sizes + 1) // 2
        group = owners(halves)
        place = np.arange(group.size) - (np.cumsum(halves) - halves)[group]
        left = (np.cumsum(sizes) - sizes)[group] + 2 * place
        alone = 2 * place + 1 == sizes[group]
        right = np.where(alone, -1, number[np.where(alone, left, left + 1)])
        number = np.unique(number[left] * (int(number.max()) + 2) + right + 1, return_inverse=True)[1]
        sizes = halves
    found = np.zeros(sizes.size, dtype=np.int64)
    found[sizes > 0] = 1 + number
    return found


def _certain(release: PublishedGroups) -> PublishedGroups:
    """The release with only those members that are certainly in their group."""
    if release.space is not None:
        members, starts = np.zeros(0, dtype=np.int64), np.zeros(release.group_count + 1, dtype=np.int64)
    elif release.sure is not None:
        members = release.members[release.sure]
        starts = kept(release.sure, release.member_starts)
    else:
        return release
    return PublishedGroups(release.number, members, starts, release.values, release.counts, release.value_starts)


def bits(words: Words) -> Iterator[int]:
    """The positions of the bits that are set, ascending."""
    for at, word in enumerate(words.tolist()):
        while word:
            yield 64 * at + (word & -word).bit_length() - 1
            word &= word - 1
