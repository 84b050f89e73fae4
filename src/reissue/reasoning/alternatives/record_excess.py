"""Sets beyond a column's limit, where three or more columns are sensitive: how often walks end there, at what cost.

Such sets are drawn again. Somebody with the record r has to be drawn again with probability 1 - Z_r, and is then shown
S with P(S) n_r(S) / (m p_r Z_r): so that the posterior of r is no longer n_r / m but in proportion to n_r / Z_r. That
is at most max Z / min Z times n_r / m, and for values and their limits likewise: this factor has to be stated. It is 1
for two columns.

1 - Z_r = E[n_r; S is beyond a limit] / (m p_r), over the sets that walks end at. On three columns of diabetes records,
m = 8, one walk in 500 to 3,000 ends beyond a limit; by values of columns, 0.1 to 0.4 % of people are drawn again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints
from reissue.model.record_design import RecordDesign


def counts_of(design: RecordDesign, sets: npt.NDArray[np.integer], column: int) -> Ints:
    """For each set, how many of its records have each value of a column."""
    values = design.records[:, column][sets]
    size = design.room[column].size
    flat = (np.arange(len(sets))[:, None] * size + values).ravel()
    return np.bincount(flat, minlength=len(sets) * size).reshape(len(sets), size)


def excess(design: RecordDesign, sets: npt.NDArray[np.integer]) -> Ints:
    """For each set and column, by how many records some value of it is beyond its room."""
    over = np.zeros((len(sets), design.columns), dtype=np.int64)
    for column in design.yielding:
        over[:, column] = (counts_of(design, sets, column) - design.room[column]).max(axis=1).clip(min=0)
    return over


def repeated(design: RecordDesign, sets: npt.NDArray[np.integer], chances: Floats | None = None) -> list[Floats]:
    """For records, then for the values of each column, the share of people with it who have to be drawn again.

    `sets` are those that walks end at, with `chances` or equally likely.
    """
    weights = np.full(len(sets), 1 / len(sets)) if chances is None else chances
    again = np.repeat(weights * excess(design, sets).any(axis=1), design.m)
    every = np.repeat(weights, design.m)
    found = []
    for codes in (np.arange(len(design.records)), *design.records.T):
        own = codes[sets].ravel()
        there = np.bincount(own, weights=every, minlength=codes.max() + 1)
        beyond = np.bincount(own, weights=again, minlength=codes.max() + 1)
        found.append(np.divide(beyond, there, out=np.zeros_like(beyond), where=there > 0))
    return found


def factor(shares: Floats) -> float:
    """By how much posteriors exceed what a set shows, at most, where these shares of people are drawn again."""
    return float((1 - shares.min()) / (1 - shares.max()))
