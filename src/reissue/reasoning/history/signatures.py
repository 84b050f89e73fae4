"""Signatures: the set of values each group publishes, numbered so that equal sets have equal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reissue.arrays.elimination import echelon
from reissue.arrays.runs import owners
from reissue.arrays.types import Ints, Words
from reissue.reasoning.history.diversity import CountTable


class Signatures(NamedTuple):
    """The signatures of the groups of a release."""

    number: Ints
    """For each group a position in `sets`."""
    sets: list[Ints]
    """Different sets of positions in `Published.values`, each ascending."""


def signatures_of(table: CountTable) -> Signatures:
    """Give groups with the same set of values the same number.

    Groups are sorted by a hash of their sets, then every group is compared with the first that has its hash.
    Should two different sets share one, another hash is taken: the result never depends on luck.
    """
    starts = table.value_starts
    sizes = np.diff(starts)
    values = _ascending(table.values, sizes)
    salt = 0
    while True:
        running = np.concatenate(([np.uint64(0)], np.cumsum(_mixed(values, salt), dtype=np.uint64)))
        # The sum of what its values were mixed to does not depend on their order; it may wrap around.
        _, first, number = np.unique(running[starts[1:]] - running[starts[:-1]], return_index=True, return_inverse=True)
        like = first[number]
        if (sizes == sizes[like]).all():
            there = np.arange(values.size) + np.repeat(starts[like] - starts[:-1], sizes)
            if (values == values[there]).all():
                return Signatures(number, [values[starts[at] : starts[at + 1]] for at in first.tolist()])
        salt += 1


def independent(sets: Sequence[Ints], deadline: float | None = None) -> bool:
    """Whether signatures, as 0-1 vectors over the values, are linearly independent; empty ones are left out.

    Raises `OutOfTime` if the deadline passes.
    """
    used = [values for values in sets if values.size]
    if not used:
        return True
    distinct, place = np.unique(np.concatenate(used), return_inverse=True)
    if distinct.size < len(used):
        return False
    rows, columns = _without_own_values(owners([values.size for values in used]), place, distinct.size)
    rows = np.unique(rows, return_inverse=True)[1]
    columns = np.unique(columns, return_inverse=True)[1]
    count, width = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    if count > width:
        return False
    matrix = np.zeros((count, width), dtype=np.int64)
    matrix[rows, columns] = 1
    return len(echelon(matrix, deadline)[1]) == count


def _without_own_values(rows: Ints, columns: Ints, width: int) -> tuple[Ints, Ints]:
    """The ones of a matrix without the rows that have a column to themselves, again and again: none of these is a
    combination of the others. Where there are many values, hardly a row is left."""
    while rows.size:
        own = np.bincount(columns, minlength=width)[columns] == 1
        if not own.any():
            break
        left = np.bincount(rows[own], minlength=int(rows.max()) + 1)[rows] == 0
        rows, columns = rows[left], columns[left]
    return rows, columns


def _mixed(values: Ints, salt: int) -> Words:
    """64 bits for each value that look random (two rounds of multiplying and folding)."""
    bits = values.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (salt + 1)) % 2**64)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(32))


def _ascending(values: Ints, sizes: Ints) -> Ints:
    """The values of each group in ascending order; most tables are stored like that already."""
    group = owners(sizes)
    if ((values[1:] > values[:-1]) | (group[1:] != group[:-1])).all():
        return values
    return values[np.lexsort((values, group))]
