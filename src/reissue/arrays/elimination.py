"""Gaussian elimination in integers: exact, vectorised, with an eye on the clock."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[Any]
"""Integers: 64 bits wide where they fit, Python's own beyond."""

ROOM = 2**61
"""Products below this cannot overflow when two of them are added."""


class OutOfTime(Exception):
    """The deadline passed before the result was there."""


def passed(deadline: float | None) -> bool:
    """Whether a moment of the monotonic clock is over; None never is."""
    return deadline is not None and time.monotonic() >= deadline


def echelon(matrix: Whole, deadline: float | None = None) -> tuple[Whole, list[int]]:
    """The reduced row echelon form and its pivot columns: integer rows without a common divisor, pivots positive.

    Raises `OutOfTime` if the deadline, a moment of the monotonic clock, passes.
    """
    rows = matrix.copy()
    pivots: list[int] = []
    for at in range(rows.shape[0]):
        if passed(deadline):
            raise OutOfTime
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
