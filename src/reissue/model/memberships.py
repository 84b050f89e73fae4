"""Memberships: who is in which groups of a series, both ways; worked out once for each view, when it is asked for.

Everybody has a *place*: the position among all members, ascending by number, counterfeits first. Groups are numbered
from 0 over all releases, in their order. Somebody may be listed in several groups of a release, where it is not certain
in which one they are; what needs one group each says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reissue.arrays.dense import in_order, numbered, places
from reissue.arrays.runs import joined, owners, starts_of
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, count_of
from reissue.model.published import PublishedGroups

NOWHERE = -1


@dataclass(frozen=True, repr=False, eq=False)
class Memberships:
    """Everybody's groups, and everything that groups publish, in flat arrays."""

    releases: tuple[PublishedGroups, ...]

    def __repr__(self) -> str:
        return f"Memberships({self.people.size:,} members in {self.starts.size - 1:,} groups)"

    # Groups

    @cached_property
    def bounds(self) -> Ints:
        """Where each release begins among the groups, and where the last one ends."""
        return starts_of([release.group_count for release in self.releases])

    @cached_property
    def position(self) -> Ints:
        """For each group its release, by position in the series."""
        return owners(np.diff(self.bounds))

    @property
    def release(self) -> Ints:
        """For each group the number of its release."""
        return np.array([release.number for release in self.releases], dtype=np.int64)[self.position]

    @property
    def group(self) -> Ints:
        """For each group its number in that release, counted from 1."""
        return np.arange(1, self.position.size + 1) - self.bounds[self.position]

    @cached_property
    def values(self) -> Ints:
        """What the groups publish, group after group: positions in `Published.values`."""
        return joined([release.values for release in self.releases])

    @cached_property
    def counts(self) -> Ints:
        """How often the value at the same place was published."""
        return joined([release.counts for release in self.releases])

    @cached_property
    def value_starts(self) -> Ints:
        """Where each group begins in `values` and `counts`."""
        return starts_of(joined([np.diff(release.value_starts) for release in self.releases]))

    # Members

    @cached_property
    def _numbered(self) -> tuple[Ints, Ints]:
        return numbered(joined([release.members for release in self.releases]))

    @property
    def people(self) -> Ints:
        """All members by number, ascending; counterfeits have negative numbers."""
        return self._numbered[0]

    @cached_property
    def made_up(self) -> int:
        """How many of them are counterfeits: as many places come before those of people."""
        return int(np.searchsorted(self.people, 0))

    @property
    def member(self) -> Ints:
        """The places of the members, group after group."""
        return self._numbered[1]

    @cached_property
    def starts(self) -> Ints:
        """Where each group begins in `member`."""
        return starts_of(joined([release.sizes for release in self.releases]))

    @property
    def member_groups(self) -> Ints:
        """For each entry of `member` its group."""
        return owners(np.diff(self.starts))

    @cached_property
    def groups(self) -> Ints:
        """The groups of each member, ascending, member after member."""
        return self.member_groups[in_order(self.member, self.people.size)]

    @cached_property
    def group_starts(self) -> Ints:
        """Where each member begins in `groups`."""
        return starts_of(np.bincount(self.member, minlength=self.people.size))

    def places(self, people: Ints) -> Ints:
        """The places of people by number; -1 for those who are in no release."""
        return places(self.people, people)

    def entries(self, at: int) -> slice:
        """The entries of `member` that a release has, by its position."""
        return slice(int(self.starts[self.bounds[at]]), int(self.starts[self.bounds[at + 1]]))

    def of_group(self, group: int) -> Ints:
        """The members of a group by number, ascending."""
        return np.sort(self.people[self.member[self.starts[group] : self.starts[group + 1]]])

    def of_person(self, person: int) -> list[tuple[int, int]]:
        """The groups of somebody by number: releases by position, and groups of them counted from 0."""
        place = int(self.places(np.array([person]))[0])
        if place == NOWHERE:
            return []
        groups = self.groups[self.group_starts[place] : self.group_starts[place + 1]]
        at = self.position[groups]
        return list(zip(at.tolist(), (groups - self.bounds[at]).tolist(), strict=True))

    @cached_property
    def again(self) -> tuple[Ints, Ints]:
        """For each release how many members are in several groups of it, and how many memberships are too many."""
        members, memberships = np.zeros((2, len(self.releases)), dtype=np.int64)
        for at in range(len(self.releases)):
            here = self.member[self.entries(at)]
            there = np.zeros(self.people.size, dtype=np.bool_)
            there[here] = True
            memberships[at] = here.size - np.count_nonzero(there)
            if memberships[at]:
                members[at] = np.count_nonzero(np.bincount(here) > 1)
        return members, memberships

    def need_one_group_each(self, what: str, hint: str) -> None:
        """Say `what` is wrong, release by release, where somebody is in several groups of one."""
        problems = [
            f"Release {release.number}: {count_of(too_many, 'membership')} too many."
            for release, too_many in zip(self.releases, self.again[1].tolist(), strict=True)
            if too_many
        ]
        if problems:
            raise ParameterError(what, problems=problems, hint=hint)

    @cached_property
    def place(self) -> npt.NDArray[np.int32]:
        """Releases by members: the group of each, counted from 0 in the release; -1 for those whom it does not list.

        Of somebody in several groups of a release it says the last.
        """
        table = np.full((len(self.releases), self.people.size), NOWHERE, dtype=np.int32)
        for at, release in enumerate(self.releases):
            table[at, self.member[self.entries(at)]] = release.member_groups
        return table

    @cached_property
    def sure_place(self) -> npt.NDArray[np.int32]:
        """The same of those who are certainly in a group; -1 for all others."""
        if all(release.sure is None for release in self.releases):
            return self.place
        table = np.full((len(self.releases), self.people.size), NOWHERE, dtype=np.int32)
        for at, release in enumerate(self.releases):
            here = slice(None) if release.sure is None else release.sure
            table[at, self.member[self.entries(at)][here]] = release.member_groups[here]
        return table

    @cached_property
    def only_place(self) -> npt.NDArray[np.int32]:
        """The same of those whom one group of a release lists and no other: they are there, if they are in it."""
        table = self.place.copy()
        for at in range(len(self.releases)):
            often = np.bincount(self.member[self.entries(at)], minlength=self.people.size)
            table[at, often > 1] = NOWHERE
        return table

    @cached_property
    def histories(self) -> Histories:
        """Everybody's histories, where everybody is in one group of a release at most."""
        return Histories.of(self)


@dataclass(frozen=True, repr=False, eq=False)
class Histories:
    """Who was in the same groups of the same releases: a tree of histories, each one group longer than its parent.

    Histories are refined release by release: who is in a release goes on from the history they had to the one that has
    their group in addition, so that equal histories have equal numbers and nothing is left to a hash.
    """

    after: Ints
    """For each entry of `Memberships.member` the history that they have with that release."""
    parent: Ints
    """For each history the one it goes on from; 0 is the empty one."""
    group: Ints
    """The group that it adds; -1 for the empty one."""
    last: Ints
    """For each member the whole history."""

    def __repr__(self) -> str:
        return f"Histories({self.parent.size:,} of {self.last.size:,} members)"

    @classmethod
    def of(cls, where: Memberships) -> Histories:
        """Those of a series."""
        last = np.zeros(where.people.size, dtype=np.int64)
        parent, added = [np.zeros(1, dtype=np.int64)], [np.full(1, NOWHERE, dtype=np.int64)]
        after = []
        known = 1
        for at, release in enumerate(where.releases):
            here, groups = where.member[where.entries(at)], max(release.group_count, 1)
            # Histories are first numbered among those that go on: their pairs with groups are then often dense.
            going, before = numbered(last[here])
            steps, new = numbered(before * groups + release.member_groups)
            after.append(known + new)
            last[here] = after[-1]
            parent.append(going[steps // groups])
            added.append(where.bounds[at] + steps % groups)
            known += steps.size
        return cls(joined(after), joined(parent), joined(added), last)
