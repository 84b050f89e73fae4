"""What the promises about historical correlations share: groups compared with all earlier ones, and weak m-invariance.

Groups of two releases that publish the same multiset of values and share some members, not all, show that the members
who are only in the one have the same values as those who are only in the other (Riboni & Bettini 2009, Definition 3).
A correlation is the concern of the later of the two groups. Counterfeits are members like others.

A whole series is compared at once (`compared`, by `reasoning.correlation.correlations`), the next release of one that
is followed by what is remembered of the groups of its members (`follow`, by `reasoning.history.group_histories`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.dense import ascending
from reissue.arrays.runs import owners
from reissue.arrays.types import Floats, Ints
from reissue.errors import InternalError, ParameterError, count_of
from reissue.guarantees.base import Followed, Measure
from reissue.guarantees.series.weak_m_invariance import WeakMInvariant
from reissue.guarantees.single.m_uniqueness import need_one_value_each
from reissue.kernels.group_overlaps import smallest_apart
from reissue.model.memory import Memory, Prefixed, Remembered
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.correlation.correlations import Correlations
from reissue.reasoning.history.group_histories import MADE_UP, GroupHistories
from reissue.reasoning.history.group_kinds import GroupKinds

WEAK = "weak_"
"""How the names of the tables of weak m-invariance begin."""
STEP = "correlations"
"""What is shared of a view is called so."""
_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True, repr=False)
class Compared:
    """The groups of a release, compared with those of all earlier ones."""

    weak: Measure
    """What weak m-invariance says of each."""
    smallest: Floats
    """The smallest set of people in each that a correlation with an earlier group is about; infinity for none."""
    longest: Ints
    """How often the one of its people who was published most often was published so far, this release included."""
    release_of: Callable[[int], int]
    """For a group that has one, the release of an earlier group with which it has its smallest correlation."""

    def __repr__(self) -> str:
        return f"Compared({self.smallest.size:,} groups)"

    def words(self, group: int) -> str:
        """The smallest correlation of a group, in words."""
        if np.isinf(self.smallest[group]):
            return "has no correlation with an earlier group"
        size = int(self.smallest[group])
        tied = (
            "1 member has the same value as 1 other"
            if size == 1
            else f"{size:,} members together have the same values as {size:,} others"
        )
        return f"is correlated with a group of release {self.release_of(group):,}, so that {tied}"


def compared(guarantee: object, m: int, published: Published) -> list[Compared]:
    """All releases of a series, each compared with those before."""
    _need_known_members(guarantee, published)
    measures = list(WeakMInvariant(m).measures(published))
    _need_made_up_to_stay_gone(published)
    found = Correlations.of(published)
    smallest = np.where(found.smallest_before == _NONE, np.inf, found.smallest_before.astype(np.float64))
    times = np.zeros(found.where.people.size, dtype=np.int64)
    results = []
    for at, (release, measure) in enumerate(zip(published.releases, measures, strict=True)):
        begin, end = int(found.where.bounds[at]), int(found.where.bounds[at + 1])
        member = found.where.member[found.where.starts[begin] : found.where.starts[end]]
        times[member] += 1
        longest = _longest(release, times[member])
        results.append(Compared(measure, smallest[begin:end], longest, _partner_in_series(found, smallest, begin)))
    return results


def follow(guarantee: object, m: int, published: Published, state: Memory) -> Followed[Compared]:
    """The only release of the view, compared with those before that left this state.

    The remark is why weak m-invariance fails although no group of this release breaks it, if it does.
    """
    _need_known_members(guarantee, published)
    weak = WeakMInvariant(m).followed(published, Prefixed(state, WEAK))
    found, remembered = _follow_groups(published, weak.found, state)
    tables = {**{WEAK + name: table for name, table in weak.remembered.items()}, **remembered}
    return Followed(found, tables, weak.remark if weak.found.kept.all() else None)


@dataclass(frozen=True, repr=False)
class _Step:
    """The groups of a release beside what was remembered of earlier ones."""

    histories: GroupHistories
    kinds: GroupKinds
    """What was remembered."""
    after: GroupHistories
    kinds_after: GroupKinds
    """What is to be."""
    smallest: Ints
    times: Ints
    """For each member how often they were published so far, this release included."""
    release_of: Callable[[int], int]

    @classmethod
    def of(cls, published: Published, histories: GroupHistories, kinds: GroupKinds) -> _Step:
        """Compare the groups of the release with all earlier ones."""
        release = published.releases[0]
        values = published.values if published.magnitudes is None else published.magnitudes.tolist()
        grown, numbered = kinds.advance(release, values, histories.next_group)
        members, order = _members(release)
        again = int(np.count_nonzero(histories.forgotten(members)))
        if again:
            raise _gone_and_back(release.number, again)
        starts, groups = histories.of(members)
        smallest = smallest_apart(release.member_starts, starts, groups, numbered.kind, grown.first, grown.kind, _NONE)
        place = np.repeat(numbered.place, release.sizes)
        after = histories.advance(release.number, members[order], place[order], release.group_count)

        def release_of(at: int) -> int:
            begin, end = release.member_starts[at], release.member_starts[at + 1]
            earlier, shared = np.unique(groups[starts[begin] : starts[end]], return_counts=True)
            kind, number = grown.of(earlier.astype(np.int64))
            return int(number[(kind == numbered.kind[at]) & (end - begin - shared == smallest[at])][0])

        return cls(histories, kinds, after, grown, smallest, 1 + np.diff(starts), release_of)

    def like(self, histories: GroupHistories, kinds: GroupKinds) -> _Step | None:
        """The same for others who remember the same; None where they do not."""
        after = histories.advance_like(self.histories, self.after) if kinds.same(self.kinds) else None
        return None if after is None else replace(self, histories=histories, kinds=kinds, after=after)


def _follow_groups(published: Published, weak: Measure, state: Memory) -> tuple[Compared, Remembered]:
    release = published.releases[0]
    histories, kinds = GroupHistories.read(state), GroupKinds.read(state)
    # Two promises about correlations remember the same of a series if they have followed it equally long.
    known: _Step | None = published.shared.get(STEP)
    step = None if known is None else known.like(histories, kinds)
    if step is None:
        step = published.shared[STEP] = _Step.of(published, histories, kinds)
    found = Compared(
        weak,
        np.where(step.smallest == _NONE, np.inf, step.smallest.astype(np.float64)),
        _longest(release, step.times),
        step.release_of,
    )
    return found, {**step.after.tables(), **step.kinds_after.tables()}


def _partner_in_series(found: Correlations, smallest: Floats, begin: int) -> Callable[[int], int]:
    def release_of(at: int) -> int:
        group = begin + at
        for other in found.partners(group).tolist():
            if found.apart(group, other)[0].size == smallest[group]:
                return int(found.release[other])
        raise InternalError("a correlation that was counted is not found again")

    return release_of


def _longest(release: PublishedGroups, times: Ints) -> Ints:
    """The most of `times` over the people of each group; 0 for groups of counterfeits alone."""
    longest = np.zeros(release.group_count, dtype=np.int64)
    group = release.member_groups
    people = release.members >= 0
    np.maximum.at(longest, group[people], times[people])
    return longest


def _members(release: PublishedGroups) -> tuple[Ints, Ints]:
    """The members by numbers from 0 on, people as they are, counterfeits from `MADE_UP` on; and their order."""
    members = np.where(release.members < 0, MADE_UP - 1 - release.members, release.members)
    beyond = int(np.count_nonzero((release.members >= MADE_UP) | (members >= 2 * MADE_UP)))
    order = ascending(members)
    twice = members.size - order.size
    if beyond or twice:
        raise ParameterError(
            f"Release {release.number} has {count_of(twice, 'member')} in more than one place "
            f"and {count_of(beyond, 'member')} with numbers of more than 31 bits.",
            hint="let everybody be in one group of a release.",
        )
    return members, order


def _need_known_members(guarantee: object, published: Published) -> None:
    need_one_value_each(guarantee, published)
    if not published.exact:
        raise ParameterError(
            f"{type(guarantee).__name__} can only be checked in a view where it is known who is in which group.",
            hint="use the view of a series of your own, or one built from groups.",
        )


def _need_made_up_to_stay_gone(published: Published) -> None:
    """Refuse a view in which a counterfeit is away for some releases, and one with members that cannot be told."""
    made = [members[members >= MADE_UP] for members, _ in map(_members, published.releases)]
    place = owners([some.size for some in made])
    number = np.concatenate([np.zeros(0, dtype=np.int64), *made])
    order = np.lexsort((place, number))
    place, number = place[order], number[order]
    again = place[1:][(np.diff(number) == 0) & (np.diff(place) > 1)]
    if again.size:
        first = int(again.min())
        raise _gone_and_back(published.releases[first].number, int(np.count_nonzero(again == first)))


def _gone_and_back(number: int, members: int) -> ParameterError:
    return ParameterError(
        f"Release {number} has {count_of(members, 'counterfeit')} that were gone in an earlier one.",
        hint="give every counterfeit that is new a number of its own.",
    )
