"""Gaussian elimination in integers: exact, vectorised, with an eye on the clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reissue.arrays.budget import need_time

Whole = npt.NDArray[Any]
"""Integers: 64 bits wide where they fit, Python's own beyond."""

ROOM = 2**61
"""Products below this cannot overflow when two of them are added."""
ECHELON = 0.003
"""How many steps a cell takes in each row's turn; twenty times as many where numbers are Python's own."""


def echelon(matrix: Whole, deadline: float | None = None) -> tuple[Whole, list[int]]:
    """The reduced row echelon form and its pivot columns: integer rows without a common divisor, pivots positive.

    Raises `OutOfTime` if the deadline passes.
    """
    rows = matrix.copy()
    pivots: list[int] = []
    for at in range(rows.shape[0]):
        need_time(deadline, 20 + rows.size * (ECHELON if rows.dtype != object else 20 * ECHELON))
        live = np.flatnonzero((rows[at:] != 0).any(axis=0))
        if not live.size:
            return rows[:at], pivots
        column = int(live[0])
        candidates = at + np.flatnonzero(rows[at:, column] != 0)
        chosen = int(candidates[np.argmin(np.abs(rows[candidates, column]))])
        rows[[at, chosen]] = rows[[chosen, at]]
        rows[at] //= np.gcd.reduce(rows[at]) * (1 if rows[at, column] > 0 else -1)
        others = np.flatnonzero(rows[:, column] != 0)
        others = others[others != at]
        if others.size:
            if rows.dtype != object and int(np.abs(rows[others]).max()) * int(np.abs(rows[at]).max()) >= ROOM:
                rows = rows.astype(object)
            fresh = rows[others] * rows[at, column] - rows[others, column][:, None] * rows[at]
            divisor = np.gcd.reduce(fresh, axis=1)
            rows[others] = fresh // np.where(divisor == 0, 1, divisor)[:, None]
        pivots.append(column)
    return rows, pivots
