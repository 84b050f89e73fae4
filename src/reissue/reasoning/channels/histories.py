"""Histories: people who were in the same groups of all releases, and absent from the same ones, are one *cell*.

Cells only become finer, release by release. What comparisons of two releases find depends on who is where only through
which cells are where, so that groups are kept with cells in place of members. A cell that falls apart leaves its number
to one of its parts; the others are new and name it as their parent. So what was kept of an earlier release, in the
cells of its time, stays as it is, and each cell of today has one ancestor in it.

A group that has the same members and values in several releases in a row is one *state*, named by its place in the
first of them. Cells that ever were in a group together, directly or through others, are one *family*: what hangs
together between two releases is within a family. So a release costs what the families in which something moved have
been through, and not more for every release that there was.

What is remembered, as named tables:

    releases         number, cells                        the releases so far, and how many cells there were after each
    people           person, cell                         everybody so far; counterfeits, below 0, have own cells
    cells            parent, family                       the cell that each one was split off, or -1; its family
    values           value                                the values so far; positions in here never shift
    groups           first, number, cells, values         the groups of the last release: the release, by position, in
                                                          which their state began, which group it was there, how many
                                                          cells and values they have
    entries          entry, count                         their cells, with count 0, and then their values
    groups-000007    first, number, last, cells, values   states that are over, up to release 7
    entries-000007   entry, count
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending, places
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Bools, Ints
from reissue.errors import ParameterError, count_of
from reissue.kernels.components import connect
from reissue.model.memory import Memory, Stored, Writers
from reissue.model.published import Published, PublishedGroups, need_order
from reissue.reasoning.channels.channel_sets import known_members
from reissue.reasoning.history.states import NOWHERE, States, ints, same_groups
from reissue.reasoning.history.stays import in_order

RELEASES, PEOPLE, CELLS, VALUES, GROUPS, ENTRIES = "releases", "people", "cells", "values", "groups", "entries"
ROOM = 4
"""A table of people may have so many places for each of them; where numbers are sparser, they are searched."""
LARGER = 4
"""A part of the states that are over has more than so many times the cells of the one behind it."""


def need_histories(owner: object, published: Published) -> None:
    """Refuse a view that does not say who is in which group, once, with one value each."""
    name = type(owner).__name__
    problems, last = [], 0
    for release in published.releases:
        if release.number <= last:
            problems.append(f"Release {release.number} cannot follow release {last}: a series is judged in its order.")
        last = release.number
        if not known_members(release):
            problems.append(f"Release {release.number} does not say who the members of its groups are.")
            continue
        twice = release.members.size - ascending(release.members).size
        if twice:
            problems.append(f"Release {release.number} has {count_of(twice, 'member')} in more than one place.")
    if not published.single:
        problems.append("A member may have several values or none.")
    if problems:
        raise ParameterError(
            f"{name} can only be checked in a view that says who is in which group of which release.",
            problems=problems,
            hint="use a view with known members, each in one group of a release and with one value.",
        )


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """Everybody's cell, as of the last release."""

    person: Ints
    """Everybody so far, ascending; counterfeits have numbers below 0."""
    cell: Ints
    """The cell of each."""
    parent: Ints
    """For each cell the one that it was split off, -1 if its people came as a cell of their own."""

    def __repr__(self) -> str:
        return f"Cells({self.person.size:,} members in {self.count:,} cells)"

    @classmethod
    def none(cls) -> Cells:
        """Before the first release."""
        nobody = np.zeros(0, dtype=np.int64)
        return cls(nobody, nobody, nobody)

    @property
    def count(self) -> int:
        """How many cells there are; none is empty."""
        return self.parent.size

    @property
    def sizes(self) -> Ints:
        """How many members each cell has."""
        return np.bincount(self.cell, minlength=self.count)

    @property
    def made_up(self) -> Bools:
        """Which cells are of counterfeits."""
        return np.bincount(self.cell[: np.searchsorted(self.person, 0)], minlength=self.count) > 0

    def _of(self, members: Ints) -> Ints:
        """The cell of each; -1 for those who are in none yet."""
        if not self.person.size or not members.size:
            return np.full(members.size, -1, dtype=np.int64)
        low, high = int(min(self.person[0], members.min())), int(max(self.person[-1], members.max()))
        if high - low > ROOM * self.person.size:
            return np.append(self.cell, -1)[places(self.person, members)]
        # Person numbers are dense, so a table has a place for everybody.
        table = np.full(high - low + 1, -1, dtype=np.int64)
        table[self.person - low if low else self.person] = self.cell
        return table[members - low if low else members]

    def split(self, release: PublishedGroups) -> tuple[Cells, Ints, Bools]:
        """The cells after one more release; for each its group there, and whether it is not what it was before."""
        members, groups = release.members, release.group_count
        group = release.member_groups
        cell = self._of(members)
        # One place more, at -1, for those who are new.
        here = np.bincount(cell + 1, minlength=self.count + 1)[1:]
        place = np.full(self.count + 1, NOWHERE, dtype=np.int64)
        place[cell] = group  # the last one counts; where others are elsewhere the cell is mixed
        mixed = np.zeros(self.count + 1, dtype=bool)
        mixed[cell[np.flatnonzero(place[cell] != group)]] = True
        place = place[:-1]
        all_here = here == self.sizes
        apart = mixed[:-1] | ((here > 0) & ~all_here)

        inside = np.flatnonzero(np.append(apart, False)[cell])
        keys, part = np.unique(cell[inside] * groups + group[inside], return_inverse=True)
        origin, went = keys // max(groups, 1), keys % max(groups, 1)
        # Those who are not there keep the number of the cell; if all are there, those of its first group do.
        keeps = all_here[origin] & (np.diff(origin, prepend=NOWHERE) != 0)
        number_of = np.where(keeps, origin, self.count - 1 + np.cumsum(~keeps))
        place[apart] = NOWHERE
        place[origin[keeps]] = went[keeps]

        new = np.flatnonzero(cell < 0)
        own_keys, own = np.unique((members[new] < 0) * groups + group[new], return_inverse=True)
        parts = int(np.count_nonzero(~keeps))
        now = self.cell.copy()
        now[places(self.person, members[inside])] = number_of[part]
        order = np.argsort(members[new], kind="stable")
        behind = np.searchsorted(self.person, members[new[order]])
        after = Cells(
            np.insert(self.person, behind, members[new[order]]),
            np.insert(now, behind, self.count + parts + own[order]),
            np.concatenate([self.parent, origin[~keeps], np.full(own_keys.size, -1)]),
        )
        fresh = np.concatenate([apart, np.ones(parts + own_keys.size, dtype=bool)])
        return after, np.concatenate([place, went[~keeps], own_keys % max(groups, 1)]), fresh


@dataclass(frozen=True, repr=False)
class Step:
    """What one release did to the histories."""

    place: Ints
    """For each cell its group in the release; `NOWHERE` for those who are not in it."""
    fresh: Bools
    """Cells that are new or lost some of their members."""
    same: Ints
    """For each group the group of the release before with the same members and values; -1 where there is none."""
    moved: Bools
    """Cells that are, or in the release before were, in a group that is not the same in both."""


@dataclass(frozen=True, repr=False, eq=False)
class Histories(Stored):
    """All releases so far with cells for members. States that are over are read when they are asked for."""

    sign: ClassVar[str] = RELEASES

    numbers: tuple[int, ...] = ()
    """The numbers of the releases."""
    bounds: tuple[int, ...] = ()
    """How many cells there were after each."""
    cells: Cells = field(default_factory=Cells.none)
    family: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """For each cell the first cell of its family."""
    values: tuple[object, ...] = ()
    """The values of the series by their lasting positions: text, numbers as floats, None."""
    last: States = field(default_factory=States.none)
    """The groups of the last release."""
    _memory: Memory = field(default_factory=dict)
    _over: Mapping[str, States | None] = field(default_factory=dict)
    """States that are over, in parts by name, the oldest first; None for those that were not read yet."""
    _unchanged: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Histories({count_of(len(self.numbers), 'release')}, {self.cells!r})"

    @classmethod
    def _empty(cls) -> Histories:
        return cls()

    @classmethod
    def _from(cls, memory: Memory) -> Histories:
        releases, people, cells = memory[RELEASES], memory[PEOPLE], memory[CELLS]
        parts = sorted(name.removeprefix(GROUPS) for name in memory if name.startswith(f"{GROUPS}-"))
        return cls(
            tuple(releases["number"].to_list()),
            tuple(releases["cells"].to_list()),
            Cells(ints(people["person"]), ints(people["cell"]), ints(cells["parent"])),
            ints(cells["family"]),
            tuple(memory[VALUES]["value"].to_list()),
            States.read(memory[GROUPS], memory[ENTRIES], releases.height - 1),
            memory,
            dict.fromkeys(parts),
            frozenset((PEOPLE, CELLS, VALUES, *(stem + part for part in ("", *parts) for stem in (GROUPS, ENTRIES)))),
        )

    def _writers(self) -> Writers:
        releases = {"number": self.numbers, "cells": self.bounds}
        cells = {"parent": self.cells.parent, "family": self.family}
        writers = {
            RELEASES: lambda: pl.DataFrame(releases, schema={"number": pl.UInt32, "cells": pl.UInt32}),
            PEOPLE: lambda: people_table(self.cells),
            CELLS: lambda: pl.DataFrame({name: column.astype(np.int32) for name, column in cells.items()}),
            VALUES: lambda: values_table(self.values),
            GROUPS: lambda: self.last.groups_table(over=False),
            ENTRIES: self.last.entries_table,
        }
        for part in self._over:
            writers[GROUPS + part] = partial(self._over_groups, part)
            writers[ENTRIES + part] = partial(self._over_entries, part)
        return writers

    def _over_groups(self, part: str) -> pl.DataFrame:
        return self._part(part).groups_table(over=True)

    def _over_entries(self, part: str) -> pl.DataFrame:
        return self._part(part).entries_table()

    def _part(self, name: str) -> States:
        found = self._over[name]
        return States.read(self._memory[GROUPS + name], self._memory[ENTRIES + name], 0) if found is None else found

    def advance(self, published: Published, release: PublishedGroups) -> tuple[Histories, Step]:
        """Go on to one more release, of this view."""
        need_order(release, self.numbers[-1] if self.numbers else 0)
        values, lasting = lasting_values(self.values, published, release.values)
        cells, place, fresh = self.cells.split(release)
        now = _groups(release, place, lasting[release.values], len(self.numbers))
        parent = cells.parent[self.cells.count :]
        ancestor = np.concatenate([np.arange(self.cells.count), parent])
        before = np.append(self.last.places(self.cells.count), NOWHERE)[ancestor]  # who is new is at -1, nowhere
        same = same_groups(self.last, now, before, place)
        ends = np.ones(self.last.count + 1, dtype=bool)  # one more, for nowhere
        ends[same[same >= 0]] = ends[-1] = False
        begins = np.append(same < 0, False)
        step = Step(place, fresh, same, ends[before] | begins[place])
        now.first[same >= 0] = self.last.first[same[same >= 0]]
        now.number[same >= 0] = self.last.number[same[same >= 0]]
        over = self.last.chosen(np.flatnonzero(ends[:-1] & (np.diff(self.last.starts) > 0)))

        own = np.arange(self.cells.count, cells.count)
        family = np.concatenate([self.family, np.where(parent >= 0, np.append(self.family, 0)[parent], own)])
        moved = np.flatnonzero(begins[place])
        joined = _joined(family, place[moved], family[moved], now.count)
        unchanged = self._unchanged - ({VALUES} if len(values) > len(self.values) else set())
        if fresh.any():
            unchanged -= {PEOPLE, CELLS}
        if not np.array_equal(joined, family):
            unchanged -= {CELLS}
        if not np.array_equal(same, np.arange(self.last.count)):
            unchanged -= {GROUPS, ENTRIES}
        after = Histories(
            (*self.numbers, release.number),
            (*self.bounds, cells.count),
            cells,
            joined,
            values,
            now,
            self._memory,
            self._with(over) if over.count else self._over,
            unchanged,
        )
        return after, step

    def _with(self, over: States) -> dict[str, States | None]:
        """The parts with what is over now; the last ones are put together, so that there are few and most stay."""
        parts = dict(self._over)
        while parts:
            name = next(reversed(parts))
            part = self._part(name)
            if part.cells.size > LARGER * over.cells.size:
                parts[name] = part
                break
            over = States.together([part, over])
            del parts[name]
        return {**parts, f"-{self.numbers[-1]:06d}": over}

    def over(self, families: Bools) -> list[States]:
        """The states that are over, of some families: those whose first cells are marked."""
        found = []
        for name in self._over:
            part = self._part(name)
            found.append(part.chosen(np.flatnonzero(families[self.family[part.cells[part.starts[:-1]]]])))
        return found


def lasting_values(known: tuple[object, ...], published: Published, used: Ints) -> tuple[tuple[object, ...], Ints]:
    """The values known so far with those used here; and for each value of the view its position, -1 if not used.

    Positions in a view shift when a new value appears in a series, so values are remembered by what they are.
    """
    named = published.values if published.magnitudes is None else published.magnitudes.tolist()
    codes = np.flatnonzero(np.bincount(used, minlength=len(named))).tolist()
    plain = [in_order([named[code]])[0] for code in codes]
    if len(set(plain)) < len(plain):
        raise ParameterError("The sensitive column holds numbers that differ by less than 64-bit numbers can tell.")
    place = {value: at for at, value in enumerate(known)}
    lasting = np.full(len(named), -1, dtype=np.int64)
    lasting[codes] = [place.setdefault(value, len(place)) for value in plain]
    return tuple(place), lasting


def people_table(cells: Cells) -> pl.DataFrame:
    """Everybody's cell, as it is remembered."""
    return pl.DataFrame({"person": cells.person, "cell": cells.cell.astype(np.uint32)})


def values_table(values: tuple[object, ...]) -> pl.DataFrame:
    """The values, as they are remembered."""
    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) > 1:
        raise ParameterError(
            "A series has both labels and numbers as sensitive values, so values cannot be compared.",
            hint="let the sensitive column be of one kind in all releases.",
        )
    return pl.DataFrame({"value": values}, schema={"value": pl.Float64 if float in kinds else pl.String})


def _groups(release: PublishedGroups, place: Ints, codes: Ints, position: int) -> States:
    """The groups of a release; `place` is the group of each cell, `codes` the lasting positions of its values."""
    here = np.flatnonzero(place >= 0)
    group = release.value_groups
    counts = release.counts
    if ((np.diff(codes) <= 0) & (np.diff(group) == 0)).any():  # lasting positions have another order than those here
        order = np.lexsort((codes, group))
        codes, counts = codes[order], counts[order]
    return States(
        np.full(release.group_count, position),
        np.full(release.group_count, position),
        np.arange(release.group_count),
        here[np.argsort(place[here], kind="stable")],
        starts_of(np.bincount(place[here], minlength=release.group_count)),
        codes,
        counts,
        release.value_starts,
    )


def _joined(family: Ints, group: Ints, of: Ints, groups: int) -> Ints:
    """The families after some of them, `of`, have met in groups."""
    if not group.size:
        return family
    first = np.arange(family.size)
    connect(group, of, np.full(groups, -1), first)
    while (first[first] != first).any():
        first = first[first]
    return first[family]
