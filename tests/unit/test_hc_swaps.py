"""Groups made safe by exchanging tuples, against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from reissue.kernels.hc_safety import new_table
from reissue.kernels.safe_partition import NEAR, mend, semiperimeter
from reissue.methods.invariance.splitting import lines_of

Ints = npt.NDArray[np.int64]
Lists = list[list[int]]


def unsafe(members: Ints, n: int, lists: Lists) -> bool:
    often = Counter(group for row in members.tolist() for group in lists[row])
    return any(members.size - n < times < members.size for times in often.values())


def width(members: Ints, cells: Ints) -> float:
    return float(np.sum(np.ptp(cells[members], axis=0) / 9))


def single_exchanges(number: int, grid: Ints, n: int, lists: Lists, cells: Ints) -> dict[tuple[int, int], float]:
    """By how much each exchange that makes both groups safe widens them, all of them tried."""
    found = {}
    for other in range(max(number - NEAR, 0), min(number + NEAR + 1, len(grid))):
        for value in range(grid.shape[1]):
            tried = grid.copy()
            tried[[number, other], value] = tried[[other, number], value]
            both = tried[number], tried[other]
            if other != number and not any(unsafe(group, n, lists) for group in both):
                before = width(grid[number], cells) + width(grid[other], cells)
                found[value, other] = sum(width(group, cells) for group in both) - before
    return found


def test_an_exchange_makes_a_group_safe_and_none_unsafe() -> None:
    rng = np.random.default_rng(8)
    lines = lines_of([np.arange(10.0)] * 2, [9.0, 9.0])
    table, seen = new_table(64), Counter[str]()
    for _ in range(400):
        height, values = int(rng.integers(2, 30)), int(rng.integers(2, 6))
        n = int(rng.integers(1, values))
        rows = height * values
        cells = rng.integers(0, 10, (rows, 2)).astype(np.uint16)
        # Two earlier releases whose groups were nearly those of now.
        earlier = [np.where(rng.random(rows) < 0.7, np.arange(rows) // values, rng.integers(0, height, rows))] * 2
        lists: Lists = [[int(earlier[0][row]), int(height + earlier[1][row])] for row in range(rows)]
        starts, past = np.arange(0, 2 * rows + 1, 2), np.array(lists, dtype=np.uint32).ravel()
        grid = np.arange(rows).reshape(height, values)
        before = grid.copy()
        number = int(rng.integers(height))
        if not unsafe(grid[number], n, lists):
            assert mend(number, grid, n, cells, lines, starts, past, table)
            assert (grid == before).all()
            continue
        single = single_exchanges(number, grid, n, lists, cells.astype(np.int64))
        mended = mend(number, grid, n, cells, lines, starts, past, table)
        assert mended == (not unsafe(grid[number], n, lists))
        assert (np.sort(grid, axis=0) == before).all()  # everybody keeps his value
        for other in range(height):
            assert other == number or unsafe(before[other], n, lists) or not unsafe(grid[other], n, lists)
        if single:
            assert mended
            assert np.count_nonzero(grid != before) == 2
            value, other = (int(at) for at in (np.flatnonzero((grid != before).any(axis=0))[0], 0))
            other = next(at for at in np.flatnonzero((grid != before).any(axis=1)).tolist() if at != number)
            assert single[value, other] <= min(single.values()) + 1e-9
            seen["single"] += 1
        else:
            seen["several" if mended else "none"] += 1
        assert not table.keys.any()
    assert seen["single"] > 50
    assert seen["several"] + seen["none"] > 5


def test_the_semiperimeter_is_the_sum_of_shares_of_the_domain() -> None:
    lines = lines_of([np.array([0.0, 5.0, 20.0]), np.array([1.0, 2.0])], [20.0, 4.0])
    cells = np.array([[0, 1], [1, 0], [2, 0]], dtype=np.uint16)
    assert semiperimeter(np.array([0, 1]), 2, cells, lines) == 5 / 20 + 1 / 4
    assert semiperimeter(np.array([2, 1]), 1, cells, lines) == 0
