"""Groups that are not hc-safe made safe by exchanging few of their tuples with neighbours, compiled.

Of most groups that are not safe an earlier one has a tuple or two too many. Where one of these changes places with a
tuple of the same value from a group near by, both groups stay narrow; so this is tried before groups are dissolved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from reissue.kernels.hc_safety import shared, was_in

CALLED = {"hc_safety": "e23d909e5594"}
"""Digests of the kernels that are called here, see `reissue.kernels`."""
NEAR = 12
"""So many groups on either side are asked for a tuple."""


@njit(cache=True, nogil=True)
def semiperimeter(members: Any, count: int, cells: Any, lines: Any) -> float:
    """The sum of the extents of the box around some rows, each as a share of the attribute's domain."""
    total = 0.0
    for attribute in range(cells.shape[1]):
        least = most = np.int64(cells[members[0], attribute])
        for at in range(1, count):
            code = np.int64(cells[members[at], attribute])
            least = min(least, code)
            most = max(most, code)
        start = lines.start[attribute]
        total += (lines.position[start + most] - lines.position[start + least]) * lines.scale[attribute]
    return total


@njit(cache=True, nogil=True)
def mend(number: int, grid: Any, n: int, cells: Any, lines: Any, starts: Any, past: Any, table: Any) -> bool:
    """Make a group safe by exchanging tuples, each where that widens the two groups least; whether it became so.

    `grid` has the row of each value of each group, and those near each other in space stand near each other. No other
    group becomes unsafe.
    """
    values = grid.shape[1]
    here = grid[number]
    for _ in range(n):
        group = shared(here, values, values, n, starts, past, table)
        if group < 0:
            return True
        best, chosen, whose, cured = np.inf, -1, -1, False
        own = semiperimeter(here, values, cells, lines)
        for other in range(max(number - NEAR, 0), min(number + NEAR + 1, grid.shape[0])):
            if other == number:
                continue
            there = grid[other]
            before = own + semiperimeter(there, values, cells, lines)
            for value in range(values):
                # One of the earlier group goes, or, where all but one are of it, the last of it comes.
                goes = was_in(here[value], group, starts, past)
                if goes == was_in(there[value], group, starts, past):
                    continue
                here[value], there[value] = there[value], here[value]
                wider = semiperimeter(here, values, cells, lines) + semiperimeter(there, values, cells, lines) - before
                if (wider < best or not cured) and shared(there, values, values, n, starts, past, table) < 0:
                    enough = shared(here, values, values, n, starts, past, table) < 0
                    # A single exchange that is enough goes before one that is not.
                    if (enough and not cured) or (enough == cured and wider < best and (enough or goes)):
                        best, chosen, whose, cured = wider, value, other, enough
                here[value], there[value] = there[value], here[value]
        if chosen < 0:
            return False
        here[chosen], grid[whose, chosen] = grid[whose, chosen], here[chosen]
    return shared(here, values, values, n, starts, past, table) < 0
