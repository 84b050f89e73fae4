"""Group histories: who was in which group of every earlier release.

Groups are numbered over the whole series, those of a release from `next_group` on, so that the list of somebody's
groups is ascending. The lists of everyone in the last release are written anew each time; those of people who left go
into a part that never changes again, and is read only if one of them comes back.

What is remembered, as named tables:

    groups               number, next_group   the last release, and the number that the next group gets
    histories            person, length       everyone published in the last release, and how often so far
    memberships          group                the groups of each, one after the other
    seen                 first, last          everyone published so far, as ranges of person numbers
    left-000007          person, group        the lists of those who left in release 7
    left-000008-1        the same             the last lists of those who left in several releases, up to 8

Made-up members may have numbers from `MADE_UP` on. They never come back, so their lists are dropped when they go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import ascending, places
from reissue.arrays.runs import runs, starts_of
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError
from reissue.kernels.copied_runs import copy_runs
from reissue.model.memory import Memory, Prefixed, Remembered, Stored, Writers
from reissue.reasoning.history.past_parts import Part, Parts, Ranges

Groups = npt.NDArray[np.uint32]

GROUPS, HISTORIES, MEMBERSHIPS, SEEN, LEFT = "groups", "histories", "memberships", "seen", "left-"
MADE_UP = 2**31
"""Numbers from here on are those of made-up members."""


class _Lists(Part):
    """The groups of some people, ascending by person."""

    what = "group histories"

    def __init__(self, person: Ints, starts: Ints, groups: Groups) -> None:
        self._person = person
        self.starts = starts
        self.groups = groups

    @property
    def person(self) -> Ints:
        return self._person

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @classmethod
    def read(cls, number: int, table: pl.DataFrame) -> _Lists:
        person = table["person"].to_numpy()
        first = np.flatnonzero(np.diff(person, prepend=MADE_UP))
        return cls(person[first].astype(np.int64), np.append(first, person.size), table["group"].to_numpy())

    @classmethod
    def of_all(cls, parts: Sequence[_Lists]) -> _Lists:
        person = np.concatenate([part.person for part in parts])
        groups = np.concatenate([part.groups for part in parts])
        lengths = np.concatenate([part.lengths for part in parts])
        # Of equal people the sort leaves the one of the newest part, with the longest list, last.
        order = np.argsort(person, kind="stable")
        last = order[np.diff(person[order], append=-1) != 0]
        pool = np.cumsum(lengths) - lengths
        return cls(person[last], starts_of(lengths[last]), groups[runs(pool[last], lengths[last])])

    def table(self) -> pl.DataFrame:
        person = np.repeat(self.person.astype(np.uint32), self.lengths)
        return pl.DataFrame({"person": person, "group": self.groups})


@dataclass(frozen=True, repr=False, eq=False)
class GroupHistories(Stored):
    """The groups that everyone was ever in, up to one release.

    Parts about those who left are read when they are asked for.
    """

    sign: ClassVar[str] = GROUPS

    number: int
    """The last release; 0 before the first."""
    next_group: int
    """The number of the first group of the next release."""
    person: Ints
    """Everyone published in the last release, ascending."""
    starts: Ints
    """Where each one's list begins in `groups`; one entry more than there are people."""
    groups: Groups
    """The groups of each, ascending."""
    _seen: Ranges
    _left: Parts[_Lists]
    _prefix: str
    _unchanged: frozenset[str]
    """The tables that are still as they were read."""

    def __repr__(self) -> str:
        return (
            f"GroupHistories(release {self.number}: {self.person.size:,} members with {self.groups.size:,} memberships "
            f"in {self.next_group:,} groups so far)"
        )

    @classmethod
    def read(cls, memory: Memory, prefix: str = "") -> GroupHistories:
        """What `tables` gave, with the same prefix before the names of tables."""
        return replace(super().read(Prefixed(memory, prefix) if prefix else memory), _prefix=prefix)

    def tables(self) -> Remembered:
        """What to remember; parts and tables that are as they were before stand as `KEPT`."""
        return {self._prefix + name: table for name, table in super().tables().items()}

    @classmethod
    def _empty(cls) -> GroupHistories:
        none = np.zeros(0, dtype=np.int64)
        lists = (none, np.zeros(1, dtype=np.int64), none.astype(np.uint32))
        return cls(0, 0, *lists, Ranges(none, none), Parts(_Lists, LEFT), "", frozenset())

    @classmethod
    def _from(cls, memory: Memory) -> GroupHistories:
        last, living = memory[GROUPS], memory[HISTORIES]
        return cls(
            int(last["number"][0]),
            int(last["next_group"][0]),
            living["person"].to_numpy().astype(np.int64),
            starts_of(living["length"].to_numpy()),
            memory[MEMBERSHIPS]["group"].to_numpy(),
            Ranges.read(memory[SEEN]),
            Parts.read(_Lists, LEFT, memory),
            "",
            frozenset((GROUPS, HISTORIES, MEMBERSHIPS, SEEN)),
        )

    def _writers(self) -> Writers:
        def small(**columns: Ints | list[int]) -> pl.DataFrame:
            return pl.DataFrame({name: np.asarray(column).astype(np.uint32) for name, column in columns.items()})

        return {
            GROUPS: lambda: small(number=[self.number], next_group=[self.next_group]),
            HISTORIES: lambda: small(person=self.person, length=self._lengths),
            MEMBERSHIPS: lambda: pl.DataFrame({"group": self.groups}),
            SEEN: self._seen.table,
        }

    def _inside(self) -> Remembered:
        return self._left.tables()

    def of(self, people: Ints) -> tuple[Ints, Groups]:
        """The groups of people who live, left or never came: where each one's begin, and the groups, ascending."""
        first, length, pool = self._lists(people, places(self.person, people))
        starts = starts_of(length)
        return starts, _copied(pool, first, starts)

    def times(self, people: Ints) -> Ints:
        """How often each of these was published so far."""
        at = places(self.person, people)
        times = np.append(self._lengths, 0)[at]  # nowhere is the last place
        gone = self._gone(people, at)
        for part, found, place in self._left.find(people[gone]):
            times[gone[found]] = part.lengths[place]
        return times

    def forgotten(self, people: Ints) -> Bools:
        """Which of these are made-up members that went: their lists were dropped, and they cannot come back."""
        forgotten = people >= MADE_UP
        made = people[forgotten]
        forgotten[forgotten] = (places(self.person, made) < 0) & self._seen.holds(made)
        return forgotten

    def advance(self, number: int, people: Ints, group: Ints, count: int) -> GroupHistories:
        """Go on to a release of `count` groups in which these people, each once, were in these groups (from 0 on)."""
        people, group = self._checked(number, people, group, count)
        at = places(self.person, people)
        others = people[at < 0]
        back = self._seen.holds(others)
        if self.forgotten(others).any():
            raise InternalError("a counterfeit that was gone is in a release again")
        first, length, pool = self._lists(people, at)
        starts = starts_of(length + 1)
        groups = _copied(pool, first, starts, spare=1)
        groups[starts[1:] - 1] = self.next_group + group
        goes = self.person < MADE_UP
        goes[at[at >= 0]] = False
        leaving = np.flatnonzero(goes)
        ends = starts_of(self._lengths[leaving])
        left = _Lists(self.person[leaving], ends, _copied(self.groups, self.starts[leaving], ends))
        unchanged = frozenset({SEEN} & self._unchanged) if back.all() else frozenset[str]()
        return GroupHistories(
            number,
            self.next_group + count,
            people,
            starts,
            groups,
            self._seen.joined(others[~back]),
            self._left.joined(number, left),
            self._prefix,
            unchanged,
        )

    def advance_like(self, before: GroupHistories, after: GroupHistories) -> GroupHistories | None:
        """Go on as other histories did from `before` to `after`, where that comes to the same.

        None where other things are remembered here, or where somebody came back, whose list is in a part of its own.
        """
        arrays = ((self.person, before.person), (self.starts, before.starts), (self.groups, before.groups))
        alike = (self.number, self.next_group, self._unchanged) == (before.number, before.next_group, before._unchanged)
        if not (alike and self._seen.same(before._seen) and all(np.array_equal(*pair) for pair in arrays)):
            return None
        new = after.person[places(before.person, after.person) < 0]
        if self._seen.holds(new).any():
            return None
        return replace(after, _left=self._left.joined_like(after._left), _prefix=self._prefix)

    @property
    def _lengths(self) -> Ints:
        return np.diff(self.starts)

    def _lists(self, people: Ints, at: Ints) -> tuple[Ints, Ints, Groups]:
        """Where the list of each begins, how long it is, and what they are lists of; `at` is who lives where."""
        first, length = self.starts[at], np.append(self._lengths, 0)[at]  # nowhere is the last place
        gone = self._gone(people, at)
        if not gone.size:
            return first, length, self.groups
        pool, filled = [self.groups], self.groups.size
        for part, found, place in self._left.find(people[gone]):
            chosen = part.lengths[place]
            pool.append(part.groups[runs(part.starts[place], chosen)])
            first[gone[found]] = filled + np.cumsum(chosen) - chosen
            length[gone[found]] = chosen
            filled += pool[-1].size
        return first, length, np.concatenate(pool)

    def _gone(self, people: Ints, at: Ints) -> Ints:
        """The positions of those who left; `at` is who lives where."""
        others = np.flatnonzero((at < 0) & (people < MADE_UP))
        return others[self._seen.holds(people[others])]

    def _checked(self, number: int, people: Ints, group: Ints, count: int) -> tuple[Ints, Ints]:
        if number <= self.number:
            raise InternalError(f"group histories known up to release {self.number} cannot go on to release {number}")
        if people.size != group.size:
            raise InternalError("people and their groups differ in number")
        people, group = people.astype(np.int64, copy=False), group.astype(np.int64, copy=False)
        if not (people[1:] > people[:-1]).all():
            order = ascending(people)
            if order.size < people.size:
                raise InternalError("a release lists a person twice")
            people, group = people[order], group[order]
        if people.size and (people[0] < 0 or people[-1] >= 2**32):
            raise InternalError("a release lists a person whose number is out of range")
        if group.size and (group.min() < 0 or group.max() >= count):
            raise InternalError("a release gives a person a group that does not exist")
        if self.next_group + count > 2**32:
            raise InternalError("a series has more groups than 32 bits can number")
        return people, group


def _copied(pool: Groups, first: Ints, starts: Ints, *, spare: int = 0) -> Groups:
    """Lists of a pool, from `first` on, one after the other where `starts` says, with so many places after each."""
    copied, lists = np.empty(int(starts[-1]), dtype=np.uint32), pool.view()
    lists.flags.writeable = False  # as one that was read from a file is: the kernel is compiled for one kind of pool
    copy_runs(lists, first, starts, spare, copied)
    return copied
