"""Full-domain recoding: every attribute is generalised to one level for the whole table.

The levels of all attributes span a lattice. What satisfies a requirement that merging groups cannot break goes on to
satisfy it further up, and what fails goes on to fail further down (LeFevre, DeWitt & Ramakrishnan, Incognito, SIGMOD
2005). Of all minimal vectors of levels the one with the least information loss is taken (Wong, Fu, Wang & Pei 2007,
Definition 6), of several the first.

| column           | levels, from the values themselves upwards                                                       |
|------------------|--------------------------------------------------------------------------------------------------|
| with a hierarchy | the ancestors at height 1, 2, ... above each leaf of the spanning tree, the root where there is   |
|                  | none so high: in a tree whose leaves are equally deep, its levels                                |
| numbers          | the domain in 2**`FINEST` parts at most, then in half as many, ... in one; at last, where numbers |
|                  | may be missing, together with the missing                                                        |
| labels           | everything                                                                                       |

Differs from Incognito: no attributes are left out first. The information loss of a vector is known before it is tried,
so that vectors which lose more than the best one found need not be tried at all.

Cost: a few hundred groupings of the table's distinct cells for a lattice of ten thousand vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.runs import owners
from reissue.arrays.types import Floats, Ints
from reissue.errors import Refused
from reissue.methods.partition.taxonomies import ABSENT, BITS, lineages, positions
from reissue.model.snapshot import Column, Leaves, Levels, Numbers

if TYPE_CHECKING:
    from reissue.methods.partition.alpha_k import AlphaKBounds, CellCounts


FINEST = 6
"""Numbers are grouped into 2**6 parts of their domain at most."""
LARGEST = 1 << 22
"""The most vectors of levels that are searched."""
PLACES = 12
"""Information losses that agree in so many decimals are equal."""
WIDE = 1 << 62


@dataclass(frozen=True, repr=False)
class Level:
    """One level of one attribute."""

    label: Ints
    """The generalised value of each code, by number."""
    loss: Floats
    """What it loses for each code, between 0 and 1."""
    count: int
    """How many generalised values there can be."""


@dataclass(frozen=True, repr=False)
class Lattice:
    """The levels of every attribute."""

    levels: tuple[tuple[Level, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Lattice:
        """The levels of these columns; refused where there are too many combinations of them."""
        levels = tuple(tuple(_levels(column.levels)) for column in columns)
        size = math.prod(len(one) for one in levels)
        if size > LARGEST:
            raise Refused(
                f"Full-domain recoding would have to search {size:,} combinations of levels, more than {LARGEST:,}.",
                problems=[
                    f"'{column.name}' has {len(one)} levels" for column, one in zip(columns, levels, strict=True)
                ],
                hint="give the attributes hierarchies with fewer levels, or use recoding='local'.",
            )
        return cls(levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each attribute has."""
        return tuple(len(levels) for levels in self.levels)

    def losses(self, classes: Ints, rows: Floats) -> Floats:
        """The information loss of every vector, for a table with so many rows of each class."""
        total = np.zeros(self.shape)
        for attribute, levels in enumerate(self.levels):
            codes = classes[:, attribute]
            each = [float(level.loss[codes] @ rows) for level in levels]
            shape = [1] * len(self.levels)
            shape[attribute] = len(levels)
            total += np.reshape(each, shape)
        mean: Floats = np.round(total / (rows.sum() * len(self.levels)), PLACES)
        return mean


def _levels(levels: Levels) -> list[Level]:
    """The levels of a column, the finest first."""
    if isinstance(levels, Numbers):
        return _levels_of_numbers(levels)
    path = lineages(levels)
    deep = np.count_nonzero(path != ABSENT, axis=1) - 1
    coverage = (
        levels.hierarchy.coverage if isinstance(levels, Leaves) else np.append(path.shape[0], np.ones(path.shape[0]))
    )
    found = []
    for height in range(int(deep.max()) + 1):
        node = path[np.arange(deep.size), np.maximum(deep - height, 0)].astype(np.int64)
        found.append(_level(node, (coverage[node] - 1) / max(deep.size - 1, 1)))
    return found


def _levels_of_numbers(levels: Numbers) -> list[Level]:
    place = positions(levels)
    missing = place < 0
    found = [_level(np.arange(place.size), np.zeros(place.size))]
    for bits in range(FINEST, -1, -1):
        part = place >> (BITS - bits)
        level = _level(part, np.where(missing, 0.0, 0.5**bits))
        if level.count < found[-1].count:
            found.append(level)
    if found[-1].count > 1:
        found.append(_level(np.zeros(place.size, dtype=np.int64), np.ones(place.size)))
    return found


def _level(label: Ints, loss: Floats) -> Level:
    used, place = np.unique(label, return_inverse=True)
    return Level(place.astype(np.int64), loss.astype(np.float64), used.size)


def search(lattice: Lattice, cells: CellCounts, bounds: AlphaKBounds) -> Ints:
    """The group of each row, when the table is recoded as little as the requirement allows."""
    rows = np.bincount(cells.owner, weights=cells.rows).astype(np.float64)
    losses = lattice.losses(cells.classes, rows)
    shape = losses.shape
    height = np.indices(shape, dtype=np.int16).sum(axis=0).ravel()
    trial = _Trial(lattice, cells, bounds, rows)
    # Vectors in the order of preference: whatever lies below a vector comes before it. The last is the top, the whole
    # table (each stratum), which satisfies the requirement if anything does.
    left = np.argsort(losses, axis=None, kind="stable")
    best, left = left[-1], left[:-1]
    fails = np.zeros(shape, dtype=np.bool_)
    halve = True
    while left.size:
        # The middle one halves what is left if it satisfies; the most general one leaves the fewest open if it fails.
        at = left.size // 2 if halve else int(np.argmax(height[left]))
        vector = _vector(left[at], shape)
        if trial.satisfied(vector):
            best, left, halve = left[at], left[:at], True
        else:
            fails[tuple(slice(level + 1) for level in vector)] = True
            left, halve = left[~fails.ravel()[left]], not halve
    return trial.groups(_vector(best, shape))[cells.owner[cells.of_row]]


def _vector(place: np.int64, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(level) for level in np.unravel_index(place, shape))


class _Trial:
    """Groups the table's classes by a vector of levels, and judges them."""

    def __init__(self, lattice: Lattice, cells: CellCounts, bounds: AlphaKBounds, rows: Floats) -> None:
        self._lattice, self._cells, self._bounds, self._rows = lattice, cells, bounds, rows
        # Rows of each set by class.
        inside = np.diff(cells.set_start)[cells.kind]
        entry = owners(inside)
        first = np.repeat(cells.set_start[cells.kind] - np.cumsum(inside) + inside, inside)
        self._set = cells.set_of[first + np.arange(entry.size)]
        self._owner = cells.owner[entry]
        self._held = cells.rows[entry].astype(np.float64)
        self._sets = int(cells.set_of.max(initial=-1)) + 1

    def groups(self, vector: Sequence[int]) -> Ints:
        """The group of each class, numbered without gaps."""
        number, size = self._cells.stratum, int(self._cells.stratum.max()) + 1
        for attribute, (levels, at) in enumerate(zip(self._lattice.levels, vector, strict=True)):
            level = levels[at]
            if size * level.count >= WIDE:
                used, number = np.unique(number, return_inverse=True)
                size = used.size
            number = number * level.count + level.label[self._cells.classes[:, attribute]]
            size *= level.count
        return np.unique(number, return_inverse=True)[1].astype(np.int64)

    def satisfied(self, vector: Sequence[int]) -> bool:
        """Whether every group is as required."""
        group = self.groups(vector)
        size = np.bincount(group, weights=self._rows).astype(np.int64)
        if int(size.min()) < self._bounds.smallest:
            return False
        pair, place = np.unique(group[self._owner] * self._sets + self._set, return_inverse=True)
        held = np.bincount(place, weights=self._held).astype(np.int64)
        return bool((held <= self._bounds.allowed[size[pair // max(self._sets, 1)]]).all())
