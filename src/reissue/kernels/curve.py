"""Orders of rows that follow from their codes alone: a canonical one, and one along a Hilbert curve.

Neither depends on how the rows happened to be sorted. Rows that a caller wants to treat alike are brought into
a random order afterwards, so that no choice between them says anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel
from reissue.kernels.halving import Lines

Order = npt.NDArray[np.int32]
Cells = npt.NDArray[np.unsignedinteger]
DIGIT = 11
"""Keys are sorted by so many bits at a time: the counters of a pass fit into the nearest cache."""
KEY = 64
"""Bits of a key."""
MOST = 32
"""So many attributes can take part in a curve; with more there would be a single bit for each."""
TABLED = 5
"""For so many attributes the steps of the curve are looked up; the table for more would not stay in a near cache."""


def canonical_order(columns: Sequence[npt.NDArray[np.integer]]) -> Order:
    """The rows sorted by columns of numbers from 0 on, the first column first; equal rows as they stand."""
    order = np.arange(columns[0].size, dtype=np.int32)
    word = np.zeros(order.size, dtype=np.uint64)
    bits = 0
    for column in reversed(columns):
        needed = int(column.max(initial=0)).bit_length()
        if bits + needed > KEY:
            order = _sorted(word, bits, order)
            word, bits = np.zeros(order.size, dtype=np.uint64), 0
        word |= column.astype(np.uint64) << np.uint64(bits)
        bits += needed
    return _sorted(word, bits, order)


def shuffle_runs(order: Order, starts: npt.NDArray[np.int64], rng: np.random.Generator) -> None:
    """Bring each run of an order, from `starts[i]` to `starts[i + 1]`, into a random order of its own."""
    _shuffle(order, starts, rng.random(order.size))


def near_order(cells: Cells, value: npt.NDArray[np.integer], lines: Lines, rng: np.random.Generator) -> Order:
    """The rows along a Hilbert curve through the domains of their attributes, so that near rows are neighbours.

    Every domain is divided into as many intervals as bits allow: 2^16 each for four attributes. Rows in the same
    intervals come in a random order. Attributes beyond the 32nd do not take part. `value` is what else tells
    rows apart: two rows that are equal in it and in all cells can take each other's place, no others.
    """
    order = canonical_order([*cells.T, value])
    width = min(cells.shape[1], MOST)
    if not width or not order.size:
        starts = np.array([0, order.size], dtype=np.int64)
    else:
        bits = min(KEY // width, 32)
        spread = _spread(_grid(lines, bits), lines.start, width, bits)
        keys = _curve_keys(cells, lines.start, spread, width, bits)
        order = _sorted(keys, width * bits, order)
        along = keys[order]
        starts = np.concatenate([[0], np.flatnonzero(along[1:] != along[:-1]) + 1, [order.size]]).astype(np.int64)
    shuffle_runs(order, starts, rng)
    return order


def _grid(lines: Lines, bits: int) -> npt.NDArray[np.uint64]:
    """For each code of each attribute the number of its interval."""
    grid = np.zeros(lines.position.size, dtype=np.uint64)
    for attribute, width in enumerate(lines.width):
        codes = slice(int(lines.start[attribute]), int(lines.start[attribute + 1]))
        position = lines.position[codes]
        if not position.size:
            continue
        # Missing values lie outside the domain.
        length = max(float(width), float(position[-1] - position[0]))
        if length > 0:
            grid[codes] = np.floor((position - position[0]) / length * ((1 << bits) - 1)).astype(np.uint64)
    return grid


def _sorted(keys: npt.NDArray[np.uint64], bits: int, order: Order) -> Order:
    ordered: Order = _radix(keys, bits, order)
    return ordered


@kernel
def _radix(keys: Any, bits: int, order: Any) -> Any:
    """Sort an order by the lowest bits of the keys, from the last digit to the first; equal keys keep their order."""
    size = order.size
    passes = (bits + DIGIT - 1) // DIGIT
    if passes == 0:
        return order.copy()
    digit = (bits + passes - 1) // passes
    mask = np.uint64((1 << digit) - 1)
    here_keys = np.empty(size, np.uint64)
    for place in range(size):
        here_keys[place] = keys[order[place]]
    here = order.copy()
    there_keys = np.empty(size, np.uint64)
    there = np.empty(size, np.int32)
    counts = np.empty((1 << digit) + 1, np.int64)
    for turn in range(passes):
        shift = np.uint64(turn * digit)
        counts[:] = 0
        for place in range(size):
            counts[((here_keys[place] >> shift) & mask) + np.uint64(1)] += 1
        for which in range(1 << digit):
            counts[which + 1] += counts[which]
        for place in range(size):
            which = (here_keys[place] >> shift) & mask
            to = counts[which]
            counts[which] += 1
            there_keys[to] = here_keys[place]
            there[to] = here[place]
        here_keys, there_keys = there_keys, here_keys
        here, there = there, here
    return here


@kernel
def _shuffle(order: Any, starts: Any, chance: Any) -> None:
    for run in range(starts.size - 1):
        end = starts[run + 1]
        for place in range(starts[run], end):
            other = min(place + np.int64(chance[place] * (end - place)), end - 1)
            order[place], order[other] = order[other], order[place]


@kernel
def _spread(grid: Any, start: Any, width: int, bits: int) -> Any:
    """Interval numbers with their bits so far apart that those of all attributes fit between each other."""
    spread = np.zeros(grid.size, np.uint64)
    for attribute in range(width):
        for code in range(start[attribute], start[attribute + 1]):
            for bit in range(bits):
                one = (grid[code] >> np.uint64(bit)) & np.uint64(1)
                spread[code] |= one << np.uint64(bit * width + attribute)
    return spread


@inner
def _turned(digit: Any, by: int, width: int, mask: Any) -> Any:
    """Move the bits of a digit of `width` bits round to the left, by up to `width` places."""
    return ((digit << np.uint64(by)) | (digit >> np.uint64(width - by))) & mask


@inner
def _step(digit: Any, corner: Any, axis: int, width: int, mask: Any) -> Any:
    """Which of the 2^width cells of a cube the curve is in, and how it passes through that cell.

    The curve visits the cells in the order of a Gray code, turned and mirrored so that it enters the cube at `corner`
    and leaves it along `axis` (Hamilton & Rau-Chaplin 2008, section 2). Returns the number of the visit to the cell
    that `digit` names, and corner and axis of the way through it.
    """
    one = np.uint64(1)
    visit = _turned(digit ^ corner, width - axis - 1, width, mask)
    shift = 1
    while shift < width:
        visit ^= visit >> np.uint64(shift)
        shift *= 2
    turn = 1
    if visit:
        before = (visit - one) & ~one
        corner ^= _turned(before ^ (before >> one), axis + 1, width, mask)
        ones = visit if visit & one else visit - one
        while ones & one:
            ones >>= one
            turn += 1
    return visit, corner, (axis + turn) % width


@inner
def _steps(width: int) -> Any:
    """All steps as a table, by state (axis and corner) and digit: the visit in the low bits, the next state above."""
    mask = np.uint64((1 << width) - 1)
    table = np.empty(width << (2 * width), np.int64)
    for axis in range(width):
        for corner in range(1 << width):
            for digit in range(1 << width):
                visit, next_corner, next_axis = _step(np.uint64(digit), np.uint64(corner), axis, width, mask)
                state = (next_axis << width) | np.int64(next_corner)
                table[(((axis << width) | corner) << width) | digit] = (state << width) | np.int64(visit)
    return table


@kernel
def _curve_keys(cells: Any, start: Any, spread: Any, width: int, bits: int) -> Any:
    """How far along the curve each row lies, from the coarsest to the finest division of the domains."""
    mask = np.uint64((1 << width) - 1)
    low = (1 << width) - 1
    tabled = width <= TABLED
    table = _steps(width if tabled else 1)
    keys = np.empty(cells.shape[0], np.uint64)
    for row in range(cells.shape[0]):
        woven = np.uint64(0)
        for attribute in range(width):
            woven |= spread[start[attribute] + np.int64(cells[row, attribute])]
        key = np.uint64(0)
        corner = np.uint64(0)
        axis = 0
        state = 0
        for level in range(bits - 1, -1, -1):
            digit = (woven >> np.uint64(level * width)) & mask
            if tabled:
                entry = table[(state << width) | np.int64(digit)]
                state = entry >> width
                visit = np.uint64(entry & low)
            else:
                visit, corner, axis = _step(digit, corner, axis, width, mask)
            key = (key << np.uint64(width)) | visit
        keys[row] = key
    return keys
