"""Compiled loops behind the utility measures: the codes of each group, and COUNT queries.

Queries are answered `LANES` at a time, so that one pass over the rows answers a whole batch with comparisons,
conjunctions and additions of neighbouring numbers, which compile to vector instructions.

What the queries of a batch admit is given in three arrays. A numeric attribute is ranged: query q admits its
codes from `begin[attribute, q]` on, `width[attribute, q]` of them. For any other, each code has a line in
`table` with one byte for each query, 1 where the code is admitted. `cells` holds for each row, group after
group, the code of each ranged attribute and the line of each other, the sensitive attribute last.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel

LANES: Final = 64
"""How many queries one pass answers: as many bytes as a cache line has."""

INTERVAL: Final = 0
"""The published region of an attribute is an interval of numbers."""
SET: Final = 1
"""The published region of an attribute is a set of codes."""
NODE: Final = 2
"""The published region of an attribute is a node of its hierarchy."""

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Small = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def distinct_codes(codes: Small, starts: Ints, levels: int) -> tuple[Ints, Small]:
    """The distinct codes of each group, one group after the other, and where each group begins."""
    groups = starts.size - 1
    seen = np.full(levels, -1, dtype=np.int64)
    set_starts = np.zeros(groups + 1, dtype=np.int64)
    found = np.empty(codes.size, dtype=np.uint32)
    count = 0
    for group in range(groups):
        for row in range(starts[group], starts[group + 1]):
            code = codes[row]
            if seen[code] != group:
                seen[code] = group
                found[count] = code
                count += 1
        set_starts[group + 1] = count
    return set_starts, found[:count].copy()


@kernel
def anatomised(
    cells: Small,
    starts: Ints,
    ranged: Flags,
    begin: Small,
    width: Small,
    table: Bytes,
    actual: Ints,
    estimated: Floats,
) -> None:
    """Answer a batch exactly and from exact quasi-identifiers beside the values of each group.

    In each group the rows whose quasi-identifiers match are taken to hold matching values as often as the
    whole group does. `actual` and `estimated` are filled, one entry for each query.
    """
    last = cells.shape[1] - 1
    match = np.empty(LANES, dtype=np.uint8)
    value = np.empty(LANES, dtype=np.uint8)
    rows = np.empty(LANES, dtype=np.int32)
    values = np.empty(LANES, dtype=np.int32)
    both = np.empty(LANES, dtype=np.int32)
    actual[:] = 0
    estimated[:] = 0.0
    for group in range(starts.size - 1):
        rows[:] = 0
        values[:] = 0
        both[:] = 0
        for row in range(starts[group], starts[group + 1]):
            match[:] = 1
            value[:] = 1
            for attribute in range(last):
                if ranged[attribute]:
                    _keep_ranged(cells[row, attribute], attribute, begin, width, match)
                else:
                    _keep_listed(cells[row, attribute], table, match)
            if ranged[last]:
                _keep_ranged(cells[row, last], last, begin, width, value)
            else:
                _keep_listed(cells[row, last], table, value)
            for lane in range(LANES):
                rows[lane] += match[lane]
                values[lane] += value[lane]
                both[lane] += match[lane] & value[lane]
        size = float(starts[group + 1] - starts[group])
        for lane in range(LANES):
            actual[lane] += both[lane]
            estimated[lane] += float(rows[lane]) * float(values[lane]) / size


@kernel
def generalised(
    cells: Small,
    starts: Ints,
    ranged: Flags,
    begin: Small,
    width: Small,
    table: Bytes,
    kinds: Ints,
    low: Floats,
    high: Floats,
    lower: Floats,
    upper: Floats,
    set_starts: Ints,
    set_lines: Small,
    nodes: Small,
    shares: Floats,
    actual: Ints,
    estimated: Floats,
) -> None:
    """Answer a batch exactly and from the published regions, taken to be evenly filled.

    `kinds` says for each quasi-identifier what its regions are.
    INTERVAL: `low` and `high` hold the region of each group, `lower` and `upper` the range of each query.
    SET: `set_starts` says where each group begins in `set_lines`, its lines of `table`.
    NODE: `nodes` says which line of `shares` holds the share of the region that each query admits.
    """
    last = cells.shape[1] - 1
    match = np.empty(LANES, dtype=np.uint8)
    value = np.empty(LANES, dtype=np.uint8)
    values = np.empty(LANES, dtype=np.int32)
    both = np.empty(LANES, dtype=np.int32)
    count = np.empty(LANES, dtype=np.int32)
    weight = np.empty(LANES, dtype=np.float64)
    actual[:] = 0
    estimated[:] = 0.0
    for group in range(starts.size - 1):
        values[:] = 0
        both[:] = 0
        for row in range(starts[group], starts[group + 1]):
            match[:] = 1
            value[:] = 1
            for attribute in range(last):
                if ranged[attribute]:
                    _keep_ranged(cells[row, attribute], attribute, begin, width, match)
                else:
                    _keep_listed(cells[row, attribute], table, match)
            if ranged[last]:
                _keep_ranged(cells[row, last], last, begin, width, value)
            else:
                _keep_listed(cells[row, last], table, value)
            for lane in range(LANES):
                values[lane] += value[lane]
                both[lane] += match[lane] & value[lane]
        weight[:] = 1.0
        for attribute in range(last):
            if kinds[attribute] == INTERVAL:
                _weigh_interval(
                    low[attribute, group], high[attribute, group], lower[attribute], upper[attribute], weight
                )
            elif kinds[attribute] == SET:
                first, end = set_starts[attribute, group], set_starts[attribute, group + 1]
                _count_admitted(set_lines, first, end, table, count)
                for lane in range(LANES):
                    weight[lane] *= float(count[lane]) / float(end - first)
            else:
                node = nodes[attribute, group]
                for lane in range(LANES):
                    weight[lane] *= shares[node, lane]
        for lane in range(LANES):
            actual[lane] += both[lane]
            estimated[lane] += weight[lane] * float(values[lane])


@kernel
def matching(cells: Small, ranged: Flags, begin: Small, width: Small, table: Bytes, found: Ints) -> None:
    """How many rows match each query of a batch, values included; `found` is filled."""
    match = np.empty(LANES, dtype=np.uint8)
    found[:] = 0
    for row in range(cells.shape[0]):
        match[:] = 1
        for attribute in range(cells.shape[1]):
            if ranged[attribute]:
                _keep_ranged(cells[row, attribute], attribute, begin, width, match)
            else:
                _keep_listed(cells[row, attribute], table, match)
        for lane in range(LANES):
            found[lane] += match[lane]


@kernel
def node_shares(starts: Ints, lines: Small, table: Bytes, shares: Floats) -> None:
    """For each node the share of its leaves that each query of the batch admits.

    The leaves below node number n are the lines `lines[starts[n]:starts[n + 1]]` of `table`.
    """
    count = np.empty(LANES, dtype=np.int32)
    for node in range(starts.size - 1):
        first, end = starts[node], starts[node + 1]
        _count_admitted(lines, first, end, table, count)
        for lane in range(LANES):
            shares[node, lane] = float(count[lane]) / float(end - first)


# The two ways to admit a cell are two functions, and the kernels choose between them: with the choice inside
# one function the compiler gives up on vector instructions, which makes it eight times slower.


@inner
def _keep_ranged(code: int, attribute: int, begin: Small, width: Small, match: Bytes) -> None:
    """Strike out the queries whose range does not hold a code."""
    for lane in range(LANES):
        # A code below the range wraps around to a number above every width.
        match[lane] &= np.uint8(np.uint32(code - begin[attribute, lane]) < width[attribute, lane])


@inner
def _keep_listed(line: int, table: Bytes, match: Bytes) -> None:
    """Strike out the queries that do not admit the code of a line."""
    for lane in range(LANES):
        match[lane] &= table[line, lane]


@inner
def _count_admitted(lines: Small, first: int, end: int, table: Bytes, count: npt.NDArray[np.int32]) -> None:
    """How many of the lines from `first` up to `end` each query of the batch admits."""
    count[:] = 0
    for position in range(first, end):
        line = lines[position]
        for lane in range(LANES):
            count[lane] += table[line, lane]


@inner
def _weigh_interval(low: float, high: float, lower: Floats, upper: Floats, weight: Floats) -> None:
    """Multiply each weight by the share of [low, high] within the query's range; a point is in or out."""
    length = high - low
    if length > 0.0:
        for lane in range(LANES):
            common = min(high, upper[lane]) - max(low, lower[lane])
            weight[lane] *= max(common, 0.0) / length
    else:
        for lane in range(LANES):
            weight[lane] *= 1.0 if lower[lane] <= low <= upper[lane] else 0.0
