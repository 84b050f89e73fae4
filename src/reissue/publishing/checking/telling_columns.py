"""Columns that tell: a quasi-identifier, or a column published as it is, that nearly determines a sensitive one.

No grouping helps against that: whoever knows the rule reads the sensitive value off the published one. A cell, the
people with one value of the column, tells when at least nine in ten of them have one sensitive value, when that leaves
out at most a quarter of those it would leave out in the whole table, and when so many alike are no chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import count_of
from reissue.model.records import Records
from reissue.model.snapshot import Column, Numbers, Snapshot
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks

NEARLY = 0.9
"""A cell tells if this share of it has one value ..."""
LEFT_OVER = 0.25
"""... and the share of the others is at most this part of what it is in the whole table ..."""
CHANCE = -log(1e-6)
"""... and people drawn at random would all have the value with a probability below one in a million ..."""
LEAST = 10
"""... and there are so many in it."""
BINS = 100
"""Numbers with more different values than this are taken in so many ranges."""
DENSE = 1 << 22
"""Tables of counts up to this size have a place for every pair of values."""


def telling_column(snapshot: Snapshot, checks: Checks) -> Failed | None:
    """Whether a published column alone tells a sensitive value of many people nearly for certain."""
    people = snapshot.values.codes.size
    told = told_by((*snapshot.quasi, *snapshot.as_is), _sensitive(snapshot), checks, snapshot.owner)
    if not told:
        return None
    said = [
        f"'{column}' tells '{values}' of {number:,} of {count_of(people, 'person', 'people')} nearly for certain"
        for (column, values), number in sorted(told.items(), key=lambda one: -one[1])
    ]
    return Failed(
        "telling-column",
        ", ".join(said),
        "drop the column, or make it sensitive too; a column that follows from a sensitive one is sensitive",
    )


def told_by(
    published: Iterable[Column], sensitive: Sequence[Column], checks: Checks, owner: Ints | None = None
) -> dict[tuple[str, str], int]:
    """The pairs of a published column and a sensitive one that it tells, with of how many people; `owner` is the row of
    the published columns that each sensitive value belongs to."""
    told: dict[tuple[str, str], int] = {}
    people = sensitive[0].codes.size if sensitive else 0
    if people < max(LEAST, checks.few) or checks.telling_column >= 1:
        return told
    for column in published:
        cells = _cells(column)
        cells = cells if owner is None else cells[owner]
        for values in sensitive:
            number = people_told(cells, values.codes.astype(np.int64))
            if number >= checks.few and number > checks.telling_column * people:
                told[column.name, values.name] = number
    return told


def people_told(cells: Ints, values: Ints) -> int:
    """How many people have a value that their cell tells."""
    size = int(values.max(initial=0)) + 1
    pairs, counts = _counted(cells * size + values, (int(cells.max(initial=0)) + 1) * size)
    cell, value = pairs // size, pairs % size
    of_cell = np.bincount(cells)[cell]
    shares: Floats = np.bincount(values, minlength=size) / values.size
    usual = shares[value]
    tells = (
        (of_cell >= LEAST)
        & (counts >= NEARLY * of_cell)
        & (of_cell - counts <= LEFT_OVER * (1 - usual) * of_cell)
        & (usual < 1)
    )
    tells &= counts * -np.log(usual) >= CHANCE
    return int(counts[tells].sum())


def _counted(numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """The numbers that occur, and how often."""
    if size > DENSE:
        return np.unique(numbers, return_counts=True)
    every = np.bincount(numbers)
    found = np.flatnonzero(every)
    return found, every[found]


def _cells(column: Column) -> Ints:
    """The cell of each row: its value or, of many numbers, the range that holds as many people as the others."""
    codes = column.codes.astype(np.int64)
    counts = np.bincount(codes)
    if not isinstance(column.levels, Numbers) or np.count_nonzero(counts) <= BINS:
        return codes
    below = np.cumsum(counts) - counts
    return (below * BINS // codes.size)[codes]


def _sensitive(snapshot: Snapshot) -> list[Column]:
    """The sensitive columns, one by one."""
    levels = snapshot.values.levels
    return levels.columns(snapshot.values.codes) if isinstance(levels, Records) else [snapshot.values]
