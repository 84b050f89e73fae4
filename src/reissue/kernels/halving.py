"""The compiled part of splitting buckets into groups by repeated halving (Xiao & Tao 2007, "Split").

Rows stand bucket after bucket, in a bucket value after value, and every value of a bucket has the same
number of rows, the bucket's height. For each attribute there is a list of the rows in the same layout, each
value's rows in the order of that attribute (rows with equal codes in the order they stand). A part of a bucket
is a range of columns: the rows of every value at these places of the lists. Halving a part moves the rows
within its columns in every list, so that in the end column j of a bucket is a group.

With the lists at hand nothing is sorted again: each says which row is the last of the first half along its
attribute, and the boxes around the halves of all attributes are found in one pass over the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel
from reissue.kernels.sorting import sort

INSERTION = 24
"""Up to so many rows are sorted by insertion."""
BLOCK = 512
"""So many rows are looked at together."""
LARGEST = np.int32(np.iinfo(np.int32).max)
SMALLEST = np.int32(-1)


class Lines(NamedTuple):
    """Where codes lie along each attribute, one attribute after the other in flat arrays."""

    start: npt.NDArray[np.int64]
    """Where an attribute's codes begin in `position`; one entry more than there are attributes."""
    position: npt.NDArray[np.float64]
    """Where each code lies, ascending within an attribute."""
    width: npt.NDArray[np.float64]
    """How wide each attribute's domain is."""
    scale: npt.NDArray[np.float64]
    """What an extent is multiplied with to become a share of the domain; 0 where that has no width."""


class Parts(NamedTuple):
    """Parts of buckets that are to be halved, as parallel arrays."""

    base: npt.NDArray[np.int64]
    """The first row of the bucket."""
    values: npt.NDArray[np.int64]
    """How many values the bucket has."""
    height: npt.NDArray[np.int64]
    """How many rows each of them has."""
    low: npt.NDArray[np.int64]
    """The first column of the part."""
    high: npt.NDArray[np.int64]
    """The column after its last."""


@inner
def _sort(cells: Any, attribute: int, low: int, high: int, ordered: Any, counts: Any, keys: Any) -> None:
    """List the rows from `low` to `high` by their code, rows with equal codes as they stand."""
    size = high - low
    if size <= INSERTION:
        for row in range(low, high):
            code = cells[row, attribute]
            there = row
            while there > low and cells[ordered[there - 1], attribute] > code:
                ordered[there] = ordered[there - 1]
                there -= 1
            ordered[there] = row
        return
    least = np.int64(cells[low, attribute])
    most = least
    for row in range(low + 1, high):
        code = np.int64(cells[row, attribute])
        least = min(least, code)
        most = max(most, code)
    if most - least < 4 * size:
        counts[: most - least + 2] = 0
        for row in range(low, high):
            counts[np.int64(cells[row, attribute]) - least + 1] += 1
        for code in range(most - least):
            counts[code + 1] += counts[code]
        for row in range(low, high):
            code = np.int64(cells[row, attribute]) - least
            ordered[low + counts[code]] = row
            counts[code] += 1
        return
    for row in range(low, high):
        keys[row - low] = (np.int64(cells[row, attribute]) << 31) | row
    sort(keys[:size])
    for place in range(size):
        ordered[low + place] = keys[place] & 0x7FFFFFFF


@kernel
def list_rows(cells: Any, starts: Any, lists: Any) -> None:
    """Fill the lists of all attributes for some runs of rows, each of one bucket and value.

    The runs are those from `starts[i]` to `starts[i + 1]`.
    """
    longest = 0
    for run in range(starts.size - 1):
        longest = max(longest, starts[run + 1] - starts[run])
    counts = np.empty(4 * longest + 2, np.int64)
    keys = np.empty(longest, np.int64)
    for run in range(starts.size - 1):
        for attribute in range(cells.shape[1]):
            _sort(cells, attribute, starts[run], starts[run + 1], lists[attribute], counts, keys)


@inner
def _widen(codes: Any, first: Any, size: int, least: Any, most: Any) -> None:
    """Widen the boxes of the halves by a block of rows.

    `codes` has a line for each attribute with the codes of the rows; `first[a]` says of each row whether it is in
    the first half along attribute a.
    """
    for a in range(least.shape[0]):
        one = first[a]
        for b in range(least.shape[0]):
            line = codes[b]
            least_one, least_other = least[a, 0, b], least[a, 1, b]
            most_one, most_other = most[a, 0, b], most[a, 1, b]
            for place in range(size):
                code = line[place]
                least_one = min(least_one, code if one[place] else LARGEST)
                most_one = max(most_one, code if one[place] else SMALLEST)
                least_other = min(least_other, LARGEST if one[place] else code)
                most_other = max(most_other, SMALLEST if one[place] else code)
            least[a, 0, b], least[a, 1, b] = least_one, least_other
            most[a, 0, b], most[a, 1, b] = most_one, most_other


@inner
def _measure(
    cells: Any, lists: Any, base: int, values: int, height: int, low: int, middle: int, high: int,
    codes: Any, first: Any, least: Any, most: Any,
) -> None:  # fmt: skip
    """The boxes around the halves of a part, for each attribute it can be halved along.

    `least[a, s, b]` and `most[a, s, b]` become the lowest and highest code of attribute b in half s, when
    the part is halved along attribute a. Rows are copied to a block before they are looked at, so that
    the innermost loop is over plain neighbours and becomes vector instructions. Loops count from 0 and rows are
    unsigned, here and in `_part`: then the compiler need not ask whether a place is counted from the end.
    """
    width = cells.shape[1]
    least[:] = LARGEST
    most[:] = SMALLEST
    size: Any = np.int64(0)  # a plain 0 is a type of its own, for which all that it is handed to would be compiled too
    for value in range(values):
        start = base + value * height
        begin = start + low
        while begin < start + high:
            rows = lists[0, begin : min(begin + BLOCK - size, start + high)]
            for a in range(width):
                last = lists[a, start + middle - 1]
                last_code = np.int32(cells[last, a])
                into, halves = codes[a, size:], first[a, size:]
                line = cells[:, a]
                for place in range(rows.size):
                    row = rows[place]
                    code = np.int32(line[np.uint32(row)])
                    into[place] = code
                    halves[place] = (code < last_code) | ((code == last_code) & (row <= last))
            size += rows.size
            begin += rows.size
            if size == BLOCK:
                _widen(codes, first, size, least, most)
                size = 0
    _widen(codes, first, size, least, most)


@inner
def _best(lines: Any, least: Any, most: Any) -> Any:
    """The attribute whose halves have the smallest perimeters in sum; the first of several."""
    best = 0
    smallest = np.inf
    for a in range(least.shape[0]):
        total = 0.0
        for side in range(2):
            for b in range(least.shape[0]):
                start = lines.start[b]
                extent = lines.position[start + most[a, side, b]] - lines.position[start + least[a, side, b]]
                total += extent * lines.scale[b]
        if total < smallest:
            smallest = total
            best = a
    return best


@inner
def _part(
    lists: Any,
    base: int,
    values: int,
    height: int,
    low: int,
    middle: int,
    high: int,
    best: int,
    side: Any,
    spilled: Any,
) -> None:
    """Bring every list of a part into two halves, those of the list `best`."""
    for value in range(values):
        start = base + value * height
        first, half, after = start + low, start + middle, start + high
        if high - low == 2:
            # What is left are single columns: only the list that is read in the end matters.
            lists[0, first] = lists[best, first]
            lists[0, half] = lists[best, half]
            continue
        chosen = lists[best, first:after]
        for place in range(half - first):
            side[np.uint32(chosen[place])] = 0
        for place in range(half - first, after - first):
            side[np.uint32(chosen[place])] = 1
        for attribute in range(lists.shape[0]):
            if attribute == best:
                continue
            ordered = lists[attribute, first:after]
            kept = np.uint32(0)
            gone = np.uint32(0)
            for place in range(ordered.size):
                row = ordered[place]
                # Written to both ends, and one of them overwritten: faster than a branch nobody can predict.
                ordered[kept] = row
                spilled[gone] = row
                right = np.uint32(side[np.uint32(row)])
                kept += np.uint32(1) - right
                gone += right
            rest = ordered[half - first :]
            for place in range(rest.size):
                rest[place] = spilled[place]


@kernel
def halve(cells: Any, lists: Any, lines: Any, parts: Any, limit: int, side: Any, rest: Any) -> int:
    """Halve parts of buckets until they have at most `limit` columns.

    `side` has a byte for each row. Parts that are left with more than one column are written to `rest`;
    returns how many.
    """
    width = cells.shape[1]
    least = np.empty((width, 2, width), np.int32)
    most = np.empty((width, 2, width), np.int32)
    codes = np.empty((width, BLOCK), np.int32)
    first = np.empty((width, BLOCK), np.int32)
    tallest = 0
    for part in range(parts.base.size):
        tallest = max(tallest, parts.high[part] - parts.low[part])
    spilled = np.empty(tallest + 1, np.int32)
    # The first half is halved before the second, so a path of halves is all that ever waits.
    stack = np.empty((64, 2), np.int64)
    left = 0
    for part in range(parts.base.size):
        base, values, height = parts.base[part], parts.values[part], parts.height[part]
        stack[0, 0] = parts.low[part]
        stack[0, 1] = parts.high[part]
        depth = 1
        while depth:
            depth -= 1
            low, high = stack[depth, 0], stack[depth, 1]
            if high - low == 1:
                continue
            if high - low <= limit:
                rest.base[left] = base
                rest.values[left] = values
                rest.height[left] = height
                rest.low[left] = low
                rest.high[left] = high
                left += 1
                continue
            middle = low + (high - low) // 2
            best = 0
            if width > 1:
                _measure(cells, lists, base, values, height, low, middle, high, codes, first, least, most)
                best = _best(lines, least, most)
            _part(lists, base, values, height, low, middle, high, best, side, spilled)
            stack[depth, 0] = middle
            stack[depth, 1] = high
            stack[depth + 1, 0] = low
            stack[depth + 1, 1] = middle
            depth += 2
    return left
