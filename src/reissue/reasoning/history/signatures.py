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


def independent(sets: Sequence[Ints]) -> bool:
    """Whether signatures, as 0-1 vectors over the values, are linearly independent; empty ones are left out."""
    used = [values for values in sets if values.size]
    if not used:
        return True
    distinct, place = np.unique(np.concatenate(used), return_inverse=True)
    if distinct.size < len(used):
        return False
    matrix = np.zeros((len(used), distinct.size), dtype=np.int64)
    matrix[owners([values.size for values in used]), place] = 1
    return len(echelon(matrix)[1]) == len(used)


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
