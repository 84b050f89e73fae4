"""Regions: what quasi-identifiers each group may stand for, in a form in which groups and people can be compared.

A region has one part for each attribute: an interval, a set of labels, or a text with masked characters; `*` is
everything, also what no file names. Numbers are taken for real numbers: `]24, 30]` and `[21, 25[` meet, though no
whole number is in both. So what `meets` leaves out has no point in common, and what `inside` gives lies inside.

A group may have several regions, one for each kind of its rows; then it stands for all of them together. And it may
be the `rest`: suppressed rows of a release that belong to no class that is published, so that nobody is in it who fits
one of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from reissue.arrays.dense import distinct
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError, count_of, listed
from reissue.kernels import boxes as kernels
from reissue.model.attributes import EVERYTHING, Attribute, Intervals, Line, Patterns, Sets, anything, line_of, unpacked

__all__ = ["EVERYTHING", "Attribute", "Intervals", "Patterns", "Regions", "Sets"]

Pairs = tuple[Ints, Ints]

LEAF = 8
"""The tree is not split below so many regions."""
CHUNK = 1 << 21
"""So many pairs are looked at together."""


@dataclass(frozen=True, repr=False)
class Regions:
    """The regions of groups that are numbered from 0."""

    count: int
    """How many groups there are."""
    attributes: Mapping[str, Attribute]
    """The parts of the regions. What is not named may be anything."""
    owner: Ints | None = None
    """The group of each region, ascending; None: each group has one region."""
    rest: Bools | None = None
    """Which groups stand for what no other group does, although their own region is everything; None: none."""

    def __post_init__(self) -> None:
        boxes = self.count if self.owner is None else self.owner.size
        wrong = [name for name, attribute in self.attributes.items() if len(attribute) != boxes]
        if wrong:
            raise InternalError(f"{listed(wrong)} must have one part for each of {boxes:,} regions")

    def __repr__(self) -> str:
        return f"Regions({self.count:,} groups, {count_of(len(self.attributes), 'attribute')})"

    @property
    def boxes(self) -> int:
        """How many regions there are."""
        return self.count if self.owner is None else self.owner.size

    def meets(self, other: Regions) -> Pairs:
        """All pairs of a group here and one there that have a point in common, in order."""
        keys = [
            distinct(self._groups(mine) * other.count + other._groups(theirs))
            for mine, theirs, _ in self._meeting(other)
        ]
        return self._met(other, keys)

    def meets_at_most(self, other: Regions, most: int) -> Pairs | None:
        """What `meets` gives, or None as soon as there are more pairs than `most`: so many are never kept."""
        found: list[Ints] = []
        for mine, theirs, _ in self._meeting(other):
            found.append(distinct(self._groups(mine) * other.count + other._groups(theirs)))
            most -= found[-1].size
            if most < 0:
                return None
        return self._met(other, found)

    def _met(self, other: Regions, keys: list[Ints]) -> Pairs:
        mine, theirs = unpacked(distinct(np.concatenate([np.zeros(0, dtype=np.int64), *keys])), other.count)
        left = self._outside(other)[theirs] if self.rest is not None else np.ones(mine.size, dtype=np.bool_)
        if self.rest is not None:
            left |= ~self.rest[mine]
        if other.rest is not None:
            left &= ~other.rest[theirs] | other._outside(self)[mine]
        return mine[left], theirs[left]

    def _outside(self, other: Regions) -> Bools:
        """Which groups there may hold somebody who fits no group here but the rest."""
        outside = np.ones(other.count, dtype=np.bool_)
        outside[other.inside(self)[0]] = False
        return outside

    def inside(self, other: Regions) -> Pairs:
        """Pairs of a group here and one there that it lies wholly inside of, in order.

        Where groups have several regions, each must lie inside a single one of the other group's: true pairs may
        be left out then, never false ones given. Nothing is said to lie inside a rest.
        """
        found = [np.zeros(0, dtype=np.int64)]
        for mine, theirs, lines in self._meeting(other):
            within = np.ones(mine.size, dtype=np.bool_)
            for line in lines:
                within[within] = line.inside(mine[within], theirs[within])
            found.append(distinct(mine[within] * other.count + other._groups(theirs[within])))
        mine, theirs = unpacked(distinct(np.concatenate(found)), other.count)
        if other.rest is not None:
            left = ~other.rest[theirs]
            mine, theirs = mine[left], theirs[left]
        if self.owner is None:
            return mine, theirs
        keys = np.sort(self.owner[mine] * other.count + theirs)
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        group, there = unpacked(keys[first], other.count)
        whole = np.diff(first, append=keys.size) == np.bincount(self.owner, minlength=self.count)[group]
        return group[whole], there[whole]

    def holds(self, people: Regions) -> Pairs:
        """All pairs of a group and a person who may be in it; what is not known of a person fits everything."""
        return self._pairs_with(people, list(self._holding(people)))

    def holds_at_most(self, people: Regions, most: int) -> Pairs | None:
        """What `holds` gives, or None as soon as there are more pairs than `most`: so many are never kept."""
        found: list[Ints] = []
        for keys in self._holding(people):
            found.append(keys)
            most -= keys.size
            if most < 0:
                return None
        return self._pairs_with(people, found)

    def _holding(self, people: Regions) -> Iterator[Ints]:
        """Keys of pairs; all those of a region of somebody come together, so whoever has one region has none twice."""
        for person, mine, _ in people._meeting(self):
            yield distinct(self._groups(mine) * people.count + people._groups(person))

    def _pairs_with(self, people: Regions, keys: list[Ints]) -> Pairs:
        group, person = unpacked(distinct(np.concatenate([np.zeros(0, dtype=np.int64), *keys])), people.count)
        if self.rest is None:
            return group, person
        left = ~self.rest[group] | self._outside(people)[person]
        return group[left], person[left]

    def _groups(self, boxes: Ints) -> Ints:
        return boxes if self.owner is None else self.owner[boxes]

    def _meeting(self, other: Regions) -> Iterator[tuple[Ints, Ints, list[Line]]]:
        """Pairs of regions that have a point in common, some at a time, and the lines to compare them on."""
        lines = [line_of(name, *self._parts(other, name)) for name in {**self.attributes, **other.attributes}]
        if not self.boxes or not other.boxes:
            return
        mine = (_stacked([line.low for line in lines], self.boxes), _stacked([line.high for line in lines], self.boxes))
        theirs = (
            _stacked([line.other_low for line in lines], other.boxes),
            _stacked([line.other_high for line in lines], other.boxes),
        )
        levels = max(0, int(np.ceil(np.log2(other.boxes / LEAF))))
        nodes = 2 ** (levels + 1) - 1
        order = np.arange(other.boxes)
        ranges = np.zeros((nodes, 2), dtype=np.int64)
        least, most = np.zeros((2, nodes, len(lines)), dtype=np.int64)
        kernels.plant(*theirs, order, ranges, least, most)
        capacity = max(CHUNK, other.boxes)
        here, there = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        start = 0
        while start < self.boxes:
            start, filled = kernels.search(*mine, *theirs, start, order, ranges, least, most, here, there)
            first, second = here[:filled].copy(), there[:filled].copy()
            for line in lines:
                if line.meets is not None:
                    common = line.meets(first, second)
                    first, second = first[common], second[common]
            yield first, second, lines

    def _parts(self, other: Regions, name: str) -> tuple[Attribute, Attribute]:
        mine, theirs = self.attributes.get(name), other.attributes.get(name)
        if mine is None and theirs is not None:
            return anything(theirs, self.boxes), theirs
        if theirs is None and mine is not None:
            return mine, anything(mine, other.boxes)
        if mine is None or theirs is None:
            raise InternalError("an attribute that neither side has was compared")
        return mine, theirs


def _stacked(columns: list[Ints], rows: int) -> Ints:
    stacked = np.empty((rows, len(columns)), dtype=np.int64)
    for at, column in enumerate(columns):
        stacked[:, at] = column
    return stacked
