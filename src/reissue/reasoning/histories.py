"""Histories: people who were in the same groups of all releases, and absent from the same ones, are one *cell*.

Cells only become finer, release by release. What comparisons of two releases find depends on who is where only through
which cells are where, so that releases are kept with cells in place of members: `groups` below. A cell that falls
apart leaves its number to one of its parts; the others are new and name it as their parent. So what was kept of an
earlier release, in the cells of its time, stays as it is, and each cell of today has one ancestor in it.

What is remembered, as named tables:

    releases        number, cells              the releases so far, and how many cells there were after each
    people          person, cell               everybody so far; counterfeits, below 0, have cells of their own
    cells           parent                     the cell that each one was split off, or -1
    values          value                      the values so far; positions in here never shift
    groups-000007   group, entry, count        the groups of release 7: their cells, with count 0, and their values
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import ParameterError, count_of
from reissue.kernels.components import connect, number
from reissue.memory import KEPT, Kept, Memory, Remembered
from reissue.reasoning.channel_sets import Comparison, compare, known_members
from reissue.reasoning.dense import ascending, places
from reissue.reasoning.runs import runs
from reissue.reasoning.stays import in_order
from reissue.release import Published, PublishedGroups

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

RELEASES, PEOPLE, CELLS, VALUES, GROUPS = "releases", "people", "cells", "values", "groups-"
NOWHERE = -1
"""The group of somebody who is not in a release."""


def need_histories(owner: object, published: Published, *, following: bool) -> None:
    """Refuse a view that does not say who is in which group, once, with one value each."""
    name = type(owner).__name__
    if following and len(published.releases) != 1:
        raise ParameterError(
            f"{name} follows a series release by release. "
            f"Got a view of {count_of(len(published.releases), 'release')} instead of one.",
            hint="use check for a whole series.",
        )
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

    def split(self, release: PublishedGroups) -> tuple[Cells, Ints, Bools]:
        """The cells after one more release; for each its group there, and whether it is not what it was before."""
        members, groups = release.members, release.group_count
        group = np.repeat(np.arange(groups), release.sizes)
        at = places(self.person, members)
        known = at >= 0
        cell, into = self.cell[at[known]], group[known]
        here, sizes = np.bincount(cell, minlength=self.count), self.sizes
        place = np.full(self.count, NOWHERE, dtype=np.int64)
        place[cell] = into  # the last one counts; where others are elsewhere the cell is mixed
        mixed = np.zeros(self.count, dtype=bool)
        mixed[cell[place[cell] != into]] = True
        all_here = here == sizes
        apart = mixed | ((here > 0) & ~all_here)

        inside = apart[cell]
        keys, part = np.unique(cell[inside] * groups + into[inside], return_inverse=True)
        origin, went = keys // max(groups, 1), keys % max(groups, 1)
        # Those who are not there keep the number of the cell; if all are there, those of its first group do.
        keeps = all_here[origin] & (np.diff(origin, prepend=NOWHERE) != 0)
        number_of = np.where(keeps, origin, self.count - 1 + np.cumsum(~keeps))
        place[apart] = NOWHERE
        place[origin[keeps]] = went[keeps]

        new = ~known
        own_keys, own = np.unique((members[new] < 0) * groups + group[new], return_inverse=True)
        parts = int(np.count_nonzero(~keeps))
        now = self.cell.copy()
        now[at[known][inside]] = number_of[part]
        person = np.concatenate([self.person, members[new]])
        order = np.argsort(person, kind="stable")
        after = Cells(
            person[order],
            np.concatenate([now, self.count + parts + own])[order],
            np.concatenate([self.parent, origin[~keeps], np.full(own_keys.size, -1)]),
        )
        fresh = np.concatenate([apart, np.ones(parts + own_keys.size, dtype=bool)])
        return after, np.concatenate([place, went[~keeps], own_keys % max(groups, 1)]), fresh


@dataclass(frozen=True, repr=False)
class Groups:
    """The groups of a release: cells of its time and values by their lasting positions, group after group."""

    cells: Ints
    starts: Ints
    values: Ints
    """Ascending in each group."""
    counts: Ints
    value_starts: Ints

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.starts.size - 1

    @property
    def keys(self) -> Ints:
        """The group of each entry of `values`."""
        return np.repeat(np.arange(self.count), np.diff(self.value_starts))

    @classmethod
    def read(cls, table: pl.DataFrame) -> Groups:
        """What `table` gave."""
        group, entry, counts = (_ints(table[name]) for name in ("group", "entry", "count"))
        count, cells = int(group[-1]) if group.size else 0, int(np.count_nonzero(counts == 0)) - 1
        own, held = slice(0, cells), slice(cells, group.size - 1)
        return cls(entry[own], _starts(group[own], count), entry[held], counts[held], _starts(group[held], count))

    def table(self) -> pl.DataFrame:
        """The cells and then the values of the groups; the last row says how many groups there are."""
        cell_group = np.repeat(np.arange(self.count), np.diff(self.starts))
        columns = {
            "group": np.concatenate([cell_group, self.keys, [self.count]]),
            "entry": np.concatenate([self.cells, self.values, [0]]),
            "count": np.concatenate([np.zeros(self.cells.size, dtype=np.int64), self.counts, [0]]),
        }
        return pl.DataFrame({name: column.astype(np.uint32) for name, column in columns.items()})

    def places(self, cells: int) -> Ints:
        """For each of the cells of its time the group that it is in."""
        found = np.full(cells, NOWHERE, dtype=np.int64)
        found[self.cells] = np.repeat(np.arange(self.count), np.diff(self.starts))
        return found

    def chosen(self, which: Ints, members: Ints, place: Ints, release: int) -> PublishedGroups:
        """Some of the groups, ascending, as a release; `place` is the group of each member or `NOWHERE`."""
        inside = np.flatnonzero(place >= 0)
        inside = inside[np.argsort(place[inside], kind="stable")]
        sizes = np.diff(self.value_starts)[which]
        entries = runs(self.value_starts[which], sizes)
        return PublishedGroups(
            release,
            members[inside],
            np.concatenate([[0], np.cumsum(np.bincount(place[inside], minlength=self.count)[which])]),
            self.values[entries],
            self.counts[entries],
            np.concatenate([[0], np.cumsum(sizes)]),
        )


@dataclass(frozen=True, repr=False)
class Compared:
    """What hangs together between an earlier release and the last one, and is not as it was when judged before."""

    number: int
    """The number of the earlier release."""
    one: PublishedGroups
    two: PublishedGroups
    """Those groups of the two; a member stands for all cells in the same groups of the two."""
    first: Ints
    second: Ints
    """Which groups of the two releases they are, ascending."""
    before: Ints
    now: Ints
    """For each cell its group in the two releases, by position among all groups of each; `NOWHERE` for none."""
    sets: Comparison
    """Their inference-enabling sets."""


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
class Histories:
    """All releases so far with cells for members."""

    numbers: tuple[int, ...] = ()
    """The numbers of the releases."""
    bounds: tuple[int, ...] = ()
    """How many cells there were after each."""
    cells: Cells = field(default_factory=Cells.none)
    values: tuple[object, ...] = ()
    """The values of the series by their lasting positions: text, numbers as floats, None."""
    _memory: Memory = field(default_factory=dict)
    _added: Mapping[int, Groups] = field(default_factory=dict)
    """Groups of releases that came since the memory was read."""
    _unchanged: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Histories({count_of(len(self.numbers), 'release')}, {self.cells!r})"

    @classmethod
    def read(cls, memory: Memory) -> Histories:
        """What `tables` gave; the groups of a release are read when they are asked for."""
        if RELEASES not in memory:
            return cls()
        releases, people = memory[RELEASES], memory[PEOPLE]
        return cls(
            tuple(releases["number"].to_list()),
            tuple(releases["cells"].to_list()),
            Cells(_ints(people["person"]), _ints(people["cell"]), _ints(memory[CELLS]["parent"])),
            tuple(memory[VALUES]["value"].to_list()),
            memory,
            {},
            frozenset((PEOPLE, CELLS, VALUES)),
        )

    def tables(self) -> Remembered:
        """What to remember; tables that are as they were before stand as `KEPT`."""
        tables: dict[str, pl.DataFrame | Kept] = {
            RELEASES: pl.DataFrame(
                {"number": self.numbers, "cells": self.bounds}, schema={"number": pl.UInt32, "cells": pl.UInt32}
            ),
            PEOPLE: KEPT,
            CELLS: KEPT,
            VALUES: KEPT,
        }
        if PEOPLE not in self._unchanged:
            tables[PEOPLE] = people_table(self.cells)
        if CELLS not in self._unchanged:
            tables[CELLS] = pl.DataFrame({"parent": self.cells.parent.astype(np.int32)})
        if VALUES not in self._unchanged:
            tables[VALUES] = values_table(self.values)
        for release in self.numbers:
            tables[_name(release)] = self._added[release].table() if release in self._added else KEPT
        return tables

    @property
    def last(self) -> Groups:
        """The groups of the last release."""
        return self._groups(-1)

    def _groups(self, position: int) -> Groups:
        release = self.numbers[position]
        return self._added[release] if release in self._added else Groups.read(self._memory[_name(release)])

    def advance(self, published: Published, release: PublishedGroups) -> tuple[Histories, Step]:
        """Go on to one more release, of this view."""
        need_order(release, self.numbers[-1] if self.numbers else 0)
        values, lasting = lasting_values(self.values, published, release.values)
        cells, place, fresh = self.cells.split(release)
        here = np.flatnonzero(place >= 0)
        order = np.argsort(place[here], kind="stable")
        codes, group = lasting[release.values], np.repeat(np.arange(release.group_count), np.diff(release.value_starts))
        by_code = np.lexsort((codes, group))
        groups = Groups(
            here[order],
            _starts(place[here], release.group_count),
            codes[by_code],
            release.counts[by_code],
            release.value_starts,
        )
        unchanged = self._unchanged - ({VALUES} if len(values) > len(self.values) else set())
        if fresh.any():
            unchanged -= {PEOPLE, CELLS}
        after = Histories(
            (*self.numbers, release.number),
            (*self.bounds, cells.count),
            cells,
            values,
            self._memory,
            {**self._added, release.number: groups},
            unchanged,
        )
        return after, after._step(place, fresh)

    def _step(self, place: Ints, fresh: Bools) -> Step:
        now = self.last
        if len(self.numbers) == 1:
            return Step(place, fresh, np.full(now.count, -1), np.ones(place.size, dtype=bool))
        _, last, before = next(self._earlier())
        same = _same_groups(last, now, before, place)
        stays = np.zeros(last.count + 1, dtype=bool)  # one more, for nowhere
        stays[same[same >= 0]] = stays[-1] = True
        return Step(place, fresh, same, ~stays[before] | (np.append(same, 0)[place] < 0))

    def _earlier(self) -> Iterator[tuple[int, Groups, Ints]]:
        """The releases before the last, the latest first: number, groups, and the group of each cell of today."""
        ancestor = np.arange(self.cells.count)
        for position in range(len(self.numbers) - 2, -1, -1):
            bound = self.bounds[position]
            ancestor = np.where(ancestor >= bound, self.cells.parent[ancestor], ancestor)
            groups = self._groups(position)
            place = np.append(groups.places(bound), NOWHERE)
            yield self.numbers[position], groups, place[ancestor]  # who had not come is at -1, nowhere

    def comparisons(self, step: Step) -> Iterator[Compared]:
        """Earlier releases with the last one, the latest first, as far as anything hangs together with what moved.

        What hangs together between releases i and j and holds no cell that moved is the same between i and j - 1:
        its cells are in the same groups of j - 1, or absent there too, and those groups hold nobody else. Between
        j - 1 and j it is one group that is the same in both.
        """
        if not step.moved.any():
            return
        now, made_up = self.last, self.cells.made_up
        here = np.flatnonzero(step.place >= 0)
        moved_to = step.place[np.flatnonzero(step.moved & (step.place >= 0))]
        for release, groups, before in self._earlier():
            there = np.flatnonzero(before >= 0)
            into = np.concatenate([before[there], groups.count + step.place[here]])
            part = np.arange(groups.count + now.count)
            connect(np.concatenate([there, here]), into, np.full(before.size, -1), part)
            affected = np.zeros(number(part), dtype=bool)
            affected[part[before[there[step.moved[there]]]]] = True
            affected[part[groups.count + moved_to]] = True
            chosen, nowhere = affected[part], np.zeros(1, dtype=bool)
            first, second = chosen[: groups.count], chosen[groups.count :]
            inside = np.append(first, nowhere)[before] | np.append(second, nowhere)[step.place]
            if not inside.any():
                continue
            # For two releases alone, cells that are together in both of them are one.
            keys = (before[inside] + 1) * (now.count + 1) + step.place[inside] + 1
            keys = np.unique(keys * 2 + made_up[inside])
            was, is_in = keys // 2 // (now.count + 1) - 1, keys // 2 % (now.count + 1) - 1
            cells = np.where(keys % 2, -1 - np.arange(keys.size), np.arange(keys.size))
            one = groups.chosen(np.flatnonzero(first), cells, was, release)
            two = now.chosen(np.flatnonzero(second), cells, is_in, self.numbers[-1])
            found = compare(Published((one, two), self.values, single=False), 0, 1, growing=False)
            yield Compared(release, one, two, np.flatnonzero(first), np.flatnonzero(second), before, step.place, found)


def need_order(release: PublishedGroups, last: int) -> None:
    """Refuse a release that does not come after the last one."""
    if release.number <= last:
        raise ParameterError(f"Release {release.number} cannot follow release {last}: a series is judged in its order.")


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


def _same_groups(last: Groups, now: Groups, before: Ints, place: Ints) -> Ints:
    """For each group the one before with the same cells, values and counts; -1 where there is none."""
    there, here = before >= 0, place >= 0
    both = there & here
    partner, their_partner = np.full(now.count, -1), np.full(last.count, -1)
    partner[place[both]] = before[both]
    their_partner[before[both]] = place[both]
    other = both & (np.append(partner, -1)[place] != before)  # somebody of the group was in another one
    partner[place[(here & ~there) | other]] = -1
    lost = (there & ~here) | (both & (np.append(their_partner, -1)[before] != place))
    their_partner[before[lost]] = -1
    group = np.flatnonzero(partner >= 0)
    group = group[their_partner[partner[group]] == group]
    sizes = np.diff(now.value_starts)
    group = group[sizes[group] == np.diff(last.value_starts)[partner[group]]]
    mine = runs(now.value_starts[group], sizes[group])
    theirs = runs(last.value_starts[partner[group]], sizes[group])
    differs = (now.values[mine] != last.values[theirs]) | (now.counts[mine] != last.counts[theirs])
    same = np.full(now.count, -1)
    same[group] = partner[group]
    same[np.repeat(group, sizes[group])[differs]] = -1
    return same


def _name(release: int) -> str:
    return f"{GROUPS}{release:06d}"


def _starts(group: Ints, count: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=count))])


def _ints(column: pl.Series) -> Ints:
    return column.to_numpy().astype(np.int64)
