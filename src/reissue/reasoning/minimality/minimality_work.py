"""The working out of one release: its sorts of groups, and what they say of every cell (a class in a group)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from reissue.arrays.budget import ends_after
from reissue.arrays.types import Floats, Ints
from reissue.model.published import PublishedGroups
from reissue.reasoning.minimality.minimality_counts import CountedClasses, Group, GroupClass, Number, Ruler
from reissue.reasoning.minimality.minimality_groups import SettledGroup, exactly, settle
from reissue.reasoning.minimality.minimality_layout import ClassLayout
from reissue.reasoning.minimality.requirements import Requirement

Recoding = Literal["local", "global", "full-domain"]

KINDS = ("exact", "sampled", "undecided")
EXACT, SAMPLED, UNDECIDED = range(3)
WHOLE, OTHERS, SURE = range(3)
"""Whom of a class a cell is about: everybody, those who may be there, or those who certainly are."""
WHOLE_TABLE = 3_000
"""With full-domain recoding, fractions are offered for tables of so many rows."""
NEAR = 1e-12


@dataclass(frozen=True, repr=False)
class Story:
    """Where the argument says something of a class: a group, and what can have violated there."""

    group: int
    """Counted from 0."""
    rows: int
    """How many rows of the class are in it; where that is not known, how many people may be."""
    is_open: bool
    """Whether it is not known how many rows of which class are in it."""
    size: int
    """How many rows the group has."""
    classes: int
    able: int
    """How many of its classes can have violated."""
    itself: bool
    """Whether this one can."""


@dataclass(frozen=True, repr=False)
class GroupClasses:
    """Classes in groups, in the order of groups; where it is open who is there, the certain have their own."""

    row: Ints
    group: Ints
    people: Ints
    about: Ints
    share: Floats
    """How many rows it is expected to have in the group before any argument."""
    place: Ints
    """The place of its class in the group's problem, -1 in a group of one class."""


@dataclass(frozen=True, repr=False)
class Told:
    """What the argument says of cells, as far as it says anything."""

    row: Ints
    off: Floats
    """By how many rows the expected number differs from the plain one, for each set; to the largest if undecided."""
    below: Floats
    """How much less it may be, where it is undecided."""
    bound: Floats
    """By how many rows it may be off, for rounding."""
    error: Floats
    kind: Ints


class ReleaseWork:
    """The working out of one release."""

    """The working out of one release."""

    def __init__(
        self,
        release: PublishedGroups,
        layout: ClassLayout,
        requirement: Requirement,
        sets: tuple[tuple[int, ...], ...],
        recoding: Recoding,
        seconds: float | None,
        seed: int,
    ) -> None:
        self.sets, self._recoding = sets, recoding
        self.layout = layout
        self._lump, self._requirement = requirement.lumped()
        self._ruler = Ruler(self._requirement)
        self._values, self._counts = release.values, release.counts
        self._group_of_value = release.value_groups
        self._rows = release.rows
        groups, lumps = release.group_count, max(self._requirement.width, 1)
        self._lumps = self._tallied(self._lump[self._values], lumps, groups)
        self._deadline = ends_after(seconds)
        self._rng = np.random.default_rng(seed)
        self._cells_of = np.bincount(layout.group, minlength=groups)
        often = np.bincount(layout.row, minlength=layout.classes.size)
        self.divided = int(np.count_nonzero(often > 1))

    def _tallied(self, column: Ints, columns: int, groups: int) -> Ints:
        """How often each group publishes values of each column."""
        table = np.bincount(self._group_of_value * columns + column, self._counts, minlength=groups * columns)
        return table.reshape(groups, columns).astype(np.int64)

    def settle_groups(self) -> None:
        """Work out every distinct sort of generalised group once."""
        layout = self.layout
        left = np.zeros((layout.classes.size, self._lumps.shape[1]), dtype=np.int64)
        single = (self._cells_of[layout.group] == 1) & ~layout.open_groups[layout.group]
        np.add.at(left, layout.row[single], self._lumps[layout.group[single]])
        cells = np.flatnonzero(self._cells_of[layout.group] > 1)
        some_left = np.flatnonzero(left.any(axis=1))
        left_id = np.zeros(layout.classes.size, dtype=np.int64)
        patterns = np.zeros((1, self._lumps.shape[1]), dtype=np.int64)
        if some_left.size:
            patterns, which = np.unique(left[some_left], axis=0, return_inverse=True)
            left_id[some_left] = which.reshape(-1) + 1
            patterns = np.concatenate([np.zeros((1, patterns.shape[1]), dtype=np.int64), patterns])
        key = np.column_stack([layout.size[cells], layout.certain[layout.row[cells]], left_id[layout.row[cells]]])
        kinds, kind = _distinct(key)
        order = np.lexsort((kind, layout.group[cells]))
        cells, kind, group = cells[order], kind[order], layout.group[cells][order]
        begin = np.flatnonzero(np.diff(group, prepend=-1))
        # Cells of equal kind in one group are neighbours: a run of them is one class with its number.
        run = np.flatnonzero((np.diff(group, prepend=-1) != 0) | (np.diff(kind, prepend=-1) != 0))
        length = np.diff(np.append(run, cells.size))
        signature = np.column_stack([kind[run], length])
        first_run = np.searchsorted(run, begin)
        last_run = np.append(first_run, run.size)[1:]
        classes = [
            GroupClass(int(size), tuple(patterns[pattern].tolist()), int(sure))
            for size, sure, pattern in kinds.tolist()
        ]
        seen: dict[tuple[bytes, bytes, bool], int] = {}
        self.settled: list[SettledGroup] = []
        self.problems: list[Group] = []
        sort_of_group = np.full(self._rows.size, -1, dtype=np.int64)
        for number, low, high in zip(group[begin].tolist(), first_run.tolist(), last_run.tolist(), strict=True):
            is_open = bool(layout.open_groups[number])
            name = (signature[low:high].tobytes(), self._lumps[number].tobytes(), is_open)
            if name not in seen:
                seen[name] = len(self.settled)
                self._solve([(classes[one], many) for one, many in signature[low:high].tolist()], number, is_open)
            sort_of_group[number] = seen[name]
        self._sort_of_group = sort_of_group
        place = np.full(layout.group.size, -1, dtype=np.int64)
        place[cells] = np.repeat(np.arange(run.size) - np.repeat(first_run, last_run - first_run), length)
        self.cells = self._strata(place)
        self._weigh()

    def _solve(self, classes: list[tuple[GroupClass, int]], number: int, is_open: bool) -> None:
        counts = self._lumps[number]
        rows = sum(one.rows * many for one, many in classes)
        absent = rows - int(counts.sum()) if is_open else None
        problem = Group(
            tuple(one for one, _ in classes),
            tuple(many for _, many in classes),
            tuple(counts.tolist()),
            absent,
        )
        self.problems.append(problem)
        self.settled.append(settle(problem, self._ruler, rng=self._rng, deadline=self._deadline))

    def _strata(self, place: Ints) -> GroupClasses:
        """The cells with those who certainly are there apart from those who may be, in open groups."""
        layout = self.layout
        row, group, size = layout.row, layout.group, layout.size
        is_open = layout.open_groups[group]
        certain, partner = layout.certain[row], layout.partner[row]
        groups = self._rows.size
        may = np.bincount(group, np.where(is_open, size - certain, 0), minlength=groups)
        must = np.bincount(group, np.where(is_open, certain, 0), minlength=groups)
        chance = (self._rows - must) / np.maximum(may, 1)
        apart = partner >= 0
        people = np.where(apart, size - certain, size)
        all_sure = is_open & (certain == size)
        share = np.where(is_open & ~all_sure, people * chance[group], people)
        about = np.where(apart, OTHERS, WHOLE)
        more = np.flatnonzero(apart)
        return GroupClasses(
            np.concatenate([row, partner[more]]),
            np.concatenate([group, group[more]]),
            np.concatenate([people, certain[more]]),
            np.concatenate([about, np.full(more.size, SURE)]),
            np.concatenate([share, certain[more]]),
            np.concatenate([place, place[more]]),
        )

    def _weigh(self) -> None:
        """How much of each sort's figures stands for "some class violated here"; the rest for "none did"."""
        sorts = len(self.settled)
        self._weight, self._weight_error = np.ones(sorts), np.zeros(sorts)
        self._moot = self._blind = False
        if self._recoding != "full-domain":
            return
        # If some class violates anyway, nothing is excluded anywhere.
        self._moot = self._broken_as_published() or any(one.outcome == "nothing excluded" for one in self.settled)
        self._blind = not self._moot and any(one.kind == "undecided" for one in self.settled)
        often = np.bincount(self._sort_of_group[self._sort_of_group >= 0], minlength=sorts)
        chance = np.array([float(one.probability) for one in self.settled])
        error = np.array([one.probability_error for one in self.settled])
        if self._moot or self._blind or not chance.any():
            return
        with np.errstate(divide="ignore"):
            anywhere = -float(np.expm1((often * np.log1p(-chance)).sum()))
        self._weight = chance / anywhere
        spread = (1 - anywhere) * np.sqrt((often * (error / np.maximum(1 - chance, NEAR)) ** 2).sum())
        self._weight_error = np.hypot(error, self._weight * spread) / anywhere

    def _broken_as_published(self) -> bool:
        """Whether a class that was published as it is violates: then somebody did, whatever the others have."""
        alone = (self._cells_of == 1) & (self._rows > 0)
        return bool((~self._requirement.kept(self._lumps[alone])).any())

    def outcomes(self) -> list[str]:
        """For each generalised group how it came out: contrary, nothing excluded, exact, sampled or undecided."""
        names: list[str] = [one.kind if one.learnt else one.outcome for one in self.settled]
        if self._moot:
            names = ["nothing excluded"] * len(names)
        elif self._blind:
            names = ["undecided" if one.learnt else one.outcome for one in self.settled]
        return [names[sort] for sort in self._sort_of_group[self._sort_of_group >= 0].tolist()]

    # Cells

    @cached_property
    def _held(self) -> Ints:
        """How often each group publishes a value of each set."""
        held = np.zeros((self._rows.size, len(self.sets)), dtype=np.int64)
        for at, values in enumerate(self.sets):
            held[:, at] = self._published(values)
        return held

    def _published(self, values: tuple[int, ...]) -> Ints:
        inside = np.isin(self._values, np.array(values, dtype=np.int64))
        return np.bincount(self._group_of_value, self._counts * inside, minlength=self._rows.size).astype(np.int64)

    def plain_cells(self) -> Floats:
        """For each cell and set how many rows are expected without the argument."""
        share = self._held / np.maximum(self._rows, 1)[:, None]
        cells: Floats = self.cells.share[:, None] * share[self.cells.group]
        return cells

    @cached_property
    def _pairs(self) -> list[tuple[int, int, Ints]]:
        """Sets and lumps with common values: the lump, the set, and how often groups publish the common ones."""
        found = []
        for at, values in enumerate(self.sets):
            lumps = self._lump[list(values)]
            for lump in np.unique(lumps).tolist():
                common = tuple(value for value, own in zip(values, lumps.tolist(), strict=True) if own == lump)
                found.append((lump, at, self._published(common)))
        return found

    def told(self) -> Told:
        """What the argument says of cells in groups of which it says something."""
        cells = self.cells
        sort = self._sort_of_group[cells.group]
        learnt = np.array([one.learnt and not self._moot for one in self.settled] + [False])
        open_sorts = np.array([one.kind == "undecided" or self._blind for one in self.settled] + [True])
        known = np.flatnonzero(learnt[sort] & ~open_sorts[sort])
        unknown = np.flatnonzero(learnt[sort] & open_sorts[sort])
        means, errors, bound, kind = self._means(known, sort)
        group = cells.group[known]
        off = np.zeros((known.size, len(self.sets)))
        error = np.zeros_like(off)
        for lump, at, common in self._pairs:
            # Values of a lump are handed out alike.
            part = (common / np.maximum(self._lumps[:, lump], 1))[group]
            off[:, at] += means[:, lump] * part
            error[:, at] += errors[:, lump] * part
        plain = self.plain_cells()
        held, rows = self._held[cells.group[unknown]], self._rows[cells.group[unknown]][:, None]
        people = cells.people[unknown][:, None]
        closed = ~self.layout.open_groups[cells.group[unknown]][:, None]
        most = np.minimum(people, held)
        least = np.where(closed, np.maximum(people - (rows - held), 0), 0)
        none = np.zeros(unknown.size)
        return Told(
            np.concatenate([cells.row[known], cells.row[unknown]]),
            np.concatenate([off - plain[known], most - plain[unknown]]),
            np.concatenate([np.zeros_like(off), most - least]),
            np.concatenate([bound, none]),
            np.concatenate([error, np.zeros((unknown.size, len(self.sets)))]),
            np.concatenate([kind, np.full(unknown.size, UNDECIDED)]),
        )

    def _means(self, known: Ints, sort: Ints) -> tuple[Floats, Floats, Floats, Ints]:
        """For cells the rows expected to have values of each lump, standard errors, bounds for rounding, and kinds."""
        lumps = self._lumps.shape[1]
        first = np.zeros(len(self.settled) + 1, dtype=np.int64)
        tables: list[list[Floats]] = [[np.zeros((0, lumps))] for _ in range(3)]
        for number, (one, problem) in enumerate(zip(self.settled, self.problems, strict=True)):
            first[number + 1] = first[number]
            if one.some is None or one.none is None:
                continue
            first[number + 1] += len(problem.classes)
            weight = self._weight[number]
            tables[0].append(weight * one.some + (1 - weight) * one.none)
            spread = np.zeros_like(one.some)
            if one.some_error is not None and one.none_error is not None:
                spread = np.hypot(weight * one.some_error, (1 - weight) * one.none_error)
            tables[1].append(np.hypot(spread, self._weight_error[number] * (one.some - one.none)))
            sure = np.zeros_like(one.some)
            if one.exactly is not None and problem.absent is not None:
                given, otherwise = (
                    np.array(part, dtype=np.float64) for part in (one.exactly.sure_some, one.exactly.sure_none)
                )
                sure = weight * given + (1 - weight) * otherwise
            tables[2].append(sure)
        means, errors, sure = (np.concatenate(table) for table in tables)
        at = first[sort[known]] + self.cells.place[known]
        about = self.cells.about[known][:, None]
        found = np.where(about == SURE, sure[at], np.where(about == OTHERS, means[at] - sure[at], means[at]))
        rounding = np.array([one.bound for one in self.settled] + [0.0])
        kinds = np.array([SAMPLED if one.kind == "sampled" else EXACT for one in self.settled] + [EXACT])
        sampled = self._recoding == "full-domain" and bool((kinds == SAMPLED).any())
        kind = np.full(known.size, SAMPLED) if sampled else kinds[sort[known]]
        off = rounding[sort[known]]
        if self._recoding == "full-domain":
            # The probability that some class violates anywhere is off by no more, relatively, than that of any group,
            # since p (1 - p') (1 - p'') ... over all groups add up to no more than it.
            off = np.full(known.size, 4 * rounding.max() + 1e-15 * len(self.settled))
        return found, errors[at], (off + 1e-15) * self.cells.people[known], kind

    # One class

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.cells.row, kind="stable")
        return order, np.searchsorted(self.cells.row[order], np.arange(self.layout.classes.size + 1))

    def _cells_of_row(self, row: int) -> list[int]:
        order, starts = self._by_row
        found: list[int] = order[starts[row] : starts[row + 1]].tolist()
        return found

    def fraction(self, row: int, at: int) -> Fraction | None:
        """The exact figure of a class for a set; None where it would take too long."""
        total = Fraction(0)
        for cell in self._cells_of_row(row):
            group = int(self.cells.group[cell])
            sort = int(self._sort_of_group[group])
            if sort < 0 or self._moot or not self.settled[sort].learnt:
                total += self._share(cell) * Fraction(int(self._held[group, at]), max(int(self._rows[group]), 1))
                continue
            counted, weight = self._exactly(sort), self._exact_weight(sort)
            if counted is None or weight is None:
                return None
            place, about = int(self.cells.place[cell]), int(self.cells.about[cell])
            for lump, of, common in self._pairs:
                if of == at and common[group]:
                    mean = weight * _mean(counted.some, counted.sure_some, place, about, lump)
                    mean += (1 - weight) * _mean(counted.none, counted.sure_none, place, about, lump)
                    total += mean * Fraction(int(common[group]), int(self._lumps[group, lump]))
        return total / max(int(self.layout.people[row]), 1)

    def alike(self, rows: Ints, at: int) -> Ints:
        """For classes some numbers that are equal only where their figures for a set are."""
        order, starts = self._by_row
        cells = self.cells
        cell = order[np.minimum(starts[rows], max(order.size - 1, 0))] if order.size else np.zeros(rows.size, np.int64)
        group, sort = cells.group[cell], self._sort_of_group[cells.group[cell]]
        learnt = np.array([one.learnt and not self._moot for one in self.settled] + [False])[sort]
        common = np.array([table[group] for _, of, table in self._pairs if of == at]).reshape(-1, rows.size).T
        places = np.where(learnt, cells.place[cell], -1)
        single = (starts[rows + 1] - starts[rows] == 1) & ~self.layout.open_groups[group]
        # A class in several groups, or in an open one, is taken for itself.
        itself = np.where(single, -1, rows)
        size = self.layout.people[rows]
        return np.column_stack([itself, np.where(learnt, sort, -1), places, size, self._rows[group], common])

    def _share(self, cell: int) -> Fraction:
        """How many rows a cell is expected to have before any argument."""
        group, people = int(self.cells.group[cell]), int(self.cells.people[cell])
        row = int(self.cells.row[cell])
        if not self.layout.open_groups[group] or self.cells.about[cell] == SURE:
            return Fraction(people)
        there = slice(*np.searchsorted(self.layout.group, [group, group + 1]).tolist())
        sure = int(self.layout.certain[self.layout.row[there]].sum())
        may = int(self.layout.size[there].sum()) - sure
        if self.cells.about[cell] == WHOLE and self.layout.certain[row] == people:
            return Fraction(people)
        return Fraction(people * (int(self._rows[group]) - sure), max(may, 1))

    def _exactly(self, sort: int) -> CountedClasses | None:
        found = self.settled[sort]
        if found.exactly is None and found.kind == "exact":
            self.settled[sort] = found = exactly(self.problems[sort], self._ruler, found)
        return found.exactly

    def _exact_weight(self, sort: int) -> Fraction | None:
        if self._recoding != "full-domain":
            return Fraction(1)
        anywhere, own = self._exactly_anywhere, self.settled[sort].exactly
        return None if anywhere is None or own is None else Fraction(own.probability) / anywhere

    @cached_property
    def _exactly_anywhere(self) -> Fraction | None:
        if self._rows.sum() > WHOLE_TABLE:
            return None
        none = Fraction(1)
        for sort in self._sort_of_group[self._sort_of_group >= 0].tolist():
            found = self._exactly(sort) if self.settled[sort].learnt else None
            if self.settled[sort].learnt and found is None:
                return None
            none *= 1 if found is None else 1 - Fraction(found.probability)
        return 1 - none

    def alone(self, row: int, at: int) -> tuple[int, int]:
        """How many rows of a class stand in groups of their own, and how many values of a set those show."""
        cells = [cell for cell in self._cells_of_row(row) if self._cells_of[self.cells.group[cell]] == 1]
        groups = self.cells.group[cells].tolist()
        return int(self._rows[groups].sum()), int(self._held[groups, at].sum())

    def stories(self, row: int) -> list[Story]:
        """The groups that tell something of a class."""
        found = []
        for cell in self._cells_of_row(row):
            group, place = int(self.cells.group[cell]), int(self.cells.place[cell])
            sort = int(self._sort_of_group[group])
            if sort < 0 or self._moot or not self.settled[sort].learnt or self.settled[sort].kind == "undecided":
                continue
            problem, can = self.problems[sort], self.settled[sort].can
            able = sum(many for many, able in zip(problem.often, can, strict=True) if able)
            rows = int(self._rows[group])
            is_open = bool(self.layout.open_groups[group])
            found.append(Story(group, problem.classes[place].rows, is_open, rows, problem.members, able, can[place]))
        return found


def _mean(
    everybody: list[tuple[Number, ...]], sure: list[tuple[Number, ...]], place: int, about: int, lump: int
) -> Fraction:
    if about == SURE:
        return Fraction(sure[place][lump])
    mean = Fraction(everybody[place][lump])
    return mean - Fraction(sure[place][lump]) if about == OTHERS else mean


def _distinct(key: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of a table of three columns, and the place of each row among them."""
    spans = key.max(axis=0, initial=0) + 1
    code = (key[:, 0] * spans[1] + key[:, 1]) * spans[2] + key[:, 2]
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    return key[first], place.reshape(-1).astype(np.int64)


def summed(parts: Floats, row: Ints, rows: int) -> Floats:
    """Add up rows of a table by where they belong."""
    table = np.zeros((rows, parts.shape[1]))
    for at in range(parts.shape[1]):
        table[:, at] = np.bincount(row, parts[:, at], minlength=rows)
    return table
