"""The compiled part of Mondrian: cut a table of codes into segments until no cut is allowed.

Rows are physically moved so that every segment is contiguous; `index` is moved along and says in the
end which row of the snapshot stands where. Everything is plain arrays: the first columns of `cells`
are quasi-identifiers, the last is the sensitive value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from reissue.kernels.group_rules import satisfied
from reissue.kernels.past import without_channel

CALLED = {"group_rules": "948946988e08", "past": "d4f742a242a1"}
"""Digests of the kernels that are called here, see `reissue.kernels`."""


class Attributes(NamedTuple):
    """The quasi-identifiers, one after the other in flat arrays."""

    is_tree: npt.NDArray[np.bool_]
    """For each attribute: a hierarchy (True), or ordered codes (False)."""
    is_set: npt.NDArray[np.bool_]
    """For each attribute: labels published as sets, so that the order of codes has no extent of its own."""
    code_start: npt.NDArray[np.int64]
    """Where an attribute's codes begin in `position` and `leaf_node`."""
    position: npt.NDArray[np.float64]
    """Ordered attributes: where each code lies on the attribute's axis."""
    scale: npt.NDArray[np.float64]
    """What an extent is multiplied with to become a share of the attribute's domain."""
    leaf_node: npt.NDArray[np.int32]
    """Hierarchies: the node of each code, counted from the attribute's own first node."""
    node_start: npt.NDArray[np.int64]
    """Where an attribute's nodes begin in the arrays below."""
    parent: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    child_start: npt.NDArray[np.int64]
    """Where the children of each node begin in `children`; children end where the next node's begin."""
    children: npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def _allowed(cells: Any, index: Any, low: int, high: int, rules: Any, past: Any, counts: Any, seen: Any) -> bool:
    """Whether the rows from `low` to `high` may be a group."""
    return satisfied(cells, low, high, rules, counts, seen) and without_channel(index, low, high, past)


@njit(cache=True, nogil=True)
def _both(
    cells: Any, index: Any, low: int, middle: int, high: int, rules: Any, past: Any, counts: Any, seen: Any
) -> bool:
    """Whether both sides of a cut may be groups."""
    first = _allowed(cells, index, low, middle, rules, past, counts, seen)
    return first and _allowed(cells, index, middle, high, rules, past, counts, seen)


@njit(cache=True, nogil=True)
def _common_node(attributes: Any, attribute: int, least: int, most: int) -> Any:
    """The nearest common ancestor of two leaves: nodes are intervals of leaves, so it covers all between."""
    base = attributes.node_start[attribute]
    node = attributes.leaf_node[attributes.code_start[attribute] + least]
    while attributes.last[base + node] < most or attributes.first[base + node] > least:
        node = attributes.parent[base + node]
    return node


@njit(cache=True, nogil=True)
def extent(attributes: Any, attribute: int, least: int, most: int) -> Any:
    """How much of the attribute's domain the codes from `least` to `most` take up, 0 to 1."""
    if attributes.is_tree[attribute]:
        node = attributes.node_start[attribute] + _common_node(attributes, attribute, least, most)
        return (attributes.last[node] - attributes.first[node]) * attributes.scale[attribute]
    start = attributes.code_start[attribute]
    return (attributes.position[start + most] - attributes.position[start + least]) * attributes.scale[attribute]


@njit(cache=True, nogil=True)
def _swap(cells: Any, index: Any, one: int, other: int) -> None:
    for column in range(cells.shape[1]):
        cells[one, column], cells[other, column] = cells[other, column], cells[one, column]
    index[one], index[other] = index[other], index[one]


@njit(cache=True, nogil=True)
def _cut(cells: Any, index: Any, low: int, high: int, attribute: int, code: int) -> int:
    """Move the rows with at most this code to the front; return where the others begin."""
    left = low
    right = high - 1
    while True:
        while left <= right and cells[left, attribute] <= code:
            left += 1
        while left <= right and cells[right, attribute] > code:
            right -= 1
        if left >= right:
            return left
        _swap(cells, index, left, right)
        left += 1
        right -= 1


@njit(cache=True, nogil=True)
def _arrange(
    cells: Any, index: Any, low: int, attribute: int, offset: int, part_of: Any, bounds: Any, parts: int
) -> None:
    """Move rows so that those of part 0 come first, then part 1, and so on; `bounds` says where."""
    place = np.empty(parts, np.int64)
    for part in range(parts):
        place[part] = bounds[part]
    for part in range(parts):
        while place[part] < bounds[part + 1]:
            row = place[part]
            home = part_of[cells[row, attribute] - offset]
            if home != part:
                _swap(cells, index, row, place[home])
            place[home] += 1


@njit(cache=True, nogil=True)
def _median(cells: Any, low: int, high: int, attribute: int, least: int, most: int, counts: Any) -> Any:
    """The code of the middle row, how many rows have a smaller code, and the next smaller code."""
    size = high - low
    middle = size // 2
    if most - least <= 4 * size:
        for code in range(least, most + 1):
            counts[code - least] = 0
        for row in range(low, high):
            counts[cells[row, attribute] - least] += 1
        below = 0
        previous = least
        code = least
        while below + counts[code - least] <= middle:
            below += counts[code - least]
            if counts[code - least]:
                previous = code
            code += 1
        return code, below, counts[code - least], previous
    codes = np.empty(size, np.int64)
    for row in range(size):
        codes[row] = cells[low + row, attribute]
    codes.sort()
    code = codes[middle]
    first = middle
    while first > 0 and codes[first - 1] == code:
        first -= 1
    after = middle
    while after < size and codes[after] == code:
        after += 1
    return code, first, after - first, codes[first - 1] if first > 0 else code


@njit(cache=True, nogil=True)
def _halve(
    cells: Any, index: Any, low: int, high: int, attribute: int, least: int, most: int, relaxed: bool,
    rules: Any, past: Any, scratch: Any, counts: Any, seen: Any,
) -> int:  # fmt: skip
    """Cut at the median; return where the second half begins, or `low` when no cut there is allowed."""
    size = high - low
    code, below, equal, previous = _median(cells, low, high, attribute, least, most, scratch)
    if relaxed:
        # Rows that share the middle code may fall on either side. They were shuffled before, so which of
        # them go left says nothing about their values.
        left = size // 2
        if left < rules.smallest or size - left < rules.smallest:
            return low
        start = low
        if below:
            start = _cut(cells, index, low, high, attribute, previous)
        _cut(cells, index, start, high, attribute, code)
        middle = low + left
        if _allowed(cells, index, low, middle, rules, past, counts, seen) and _allowed(
            cells, index, middle, high, rules, past, counts, seen
        ):
            return middle
        return low
    # Two cuts are nearest to the median: before and after the middle code. The more even one first.
    after = below + equal
    for attempt in range(2):
        upper = (attempt == 0) == (abs(2 * after - size) < abs(2 * below - size))
        left = after if upper else below
        if left < rules.smallest or size - left < rules.smallest:
            continue
        middle = _cut(cells, index, low, high, attribute, code if upper else previous)
        if _allowed(cells, index, low, middle, rules, past, counts, seen) and _allowed(
            cells, index, middle, high, rules, past, counts, seen
        ):
            return middle
    return low


@njit(cache=True, nogil=True)
def _descend(
    cells: Any, index: Any, low: int, high: int, attribute: int, least: int, most: int, relaxed: bool,
    attributes: Any, rules: Any, past: Any, part_of: Any, bounds: Any, counts: Any, seen: Any,
) -> int:  # fmt: skip
    """Go one level down a hierarchy: one part for each child of the common ancestor that has rows.

    Strict: every part must satisfy the rules. Relaxed: the children that do not are pooled, with the
    smallest of the others if need be, and the pool keeps the label of the ancestor.
    Fills `bounds`; returns the number of parts, or 1 when no cut is allowed.
    """
    base = attributes.node_start[attribute]
    node = base + _common_node(attributes, attribute, least, most)
    children = attributes.child_start[node + 1] - attributes.child_start[node]
    sizes = np.zeros(children, np.int64)
    child_of = np.empty(most - least + 1, np.int32)
    for child in range(children):
        which = base + attributes.children[attributes.child_start[node] + child]
        for code in range(max(least, attributes.first[which]), min(most, attributes.last[which]) + 1):
            child_of[code - least] = child
    for row in range(low, high):
        sizes[child_of[cells[row, attribute] - least]] += 1
    if not relaxed:
        for child in range(children):
            if 0 < sizes[child] < rules.smallest:
                return 1
    # `pooled` children share part 0; the others have a part of their own.
    pooled = np.zeros(children, np.bool_)
    pool_size = 0
    while True:
        part_of_child = np.zeros(children, np.int32)
        parts = 1 if pool_size else 0
        for child in range(children):
            if sizes[child] and not pooled[child]:
                part_of_child[child] = parts
                parts += 1
        if parts < 2:
            return 1
        bounds[: parts + 1] = low
        for child in range(children):
            bounds[part_of_child[child] + 1] += sizes[child]
        for part in range(parts):
            bounds[part + 1] += bounds[part] - low
        for code in range(least, most + 1):
            part_of[code - least] = part_of_child[child_of[code - least]]
        _arrange(cells, index, low, attribute, least, part_of, bounds, parts)
        good = True
        for child in range(children):
            if sizes[child] and not pooled[child]:
                part = part_of_child[child]
                if not _allowed(cells, index, bounds[part], bounds[part + 1], rules, past, counts, seen):
                    if not relaxed:
                        return 1
                    pooled[child] = True
                    pool_size += sizes[child]
                    good = False
        if not good:
            continue
        if pool_size and not _allowed(cells, index, bounds[0], bounds[1], rules, past, counts, seen):
            smallest = -1
            for child in range(children):
                if sizes[child] and not pooled[child] and (smallest < 0 or sizes[child] < sizes[smallest]):
                    smallest = child
            pooled[smallest] = True
            pool_size += sizes[smallest]
            continue
        return parts


@njit(cache=True, nogil=True)
def _measure(
    cells: Any, low: int, high: int, attributes: Any, least: Any, most: Any, extents: Any, marks: Any, stamp: int
) -> None:
    """The lowest and highest code of each attribute, and how much of its domain the rows take up.

    `marks` has an entry for each code of each attribute; none of them is `stamp` yet.
    """
    width = extents.size
    for attribute in range(width):
        least[attribute] = cells[low, attribute]
        most[attribute] = least[attribute]
    for row in range(low + 1, high):
        for attribute in range(width):
            code = np.int64(cells[row, attribute])
            if code < least[attribute]:
                least[attribute] = code
            elif code > most[attribute]:
                most[attribute] = code
    for attribute in range(width):
        if not attributes.is_set[attribute]:
            extents[attribute] = extent(attributes, attribute, least[attribute], most[attribute])
            continue
        start = attributes.code_start[attribute]
        possible = most[attribute] - least[attribute] + 1
        found = 0
        for row in range(low, high):
            place = start + np.int64(cells[row, attribute])
            if marks[place] != stamp:
                marks[place] = stamp
                found += 1
                if found == possible:
                    break
        extents[attribute] = (found - 1) * attributes.scale[attribute]


@njit(cache=True, nogil=True)
def _attempt(
    cells: Any, index: Any, low: int, high: int, attribute: int, least: int, most: int, relaxed: bool,
    attributes: Any, rules: Any, past: Any, scratch: Any, part_of: Any, bounds: Any, counts: Any, seen: Any,
) -> int:  # fmt: skip
    """Cut along one attribute: fills `bounds`, returns the number of parts, or 1 when no cut is allowed."""
    if least == most and not relaxed:
        return 1
    if attributes.is_tree[attribute] and least < most:
        return _descend(
            cells, index, low, high, attribute, least, most, relaxed,
            attributes, rules, past, part_of, bounds, counts, seen,
        )  # fmt: skip
    middle = _halve(cells, index, low, high, attribute, least, most, relaxed, rules, past, scratch, counts, seen)
    if middle == low:
        return 1
    bounds[0] = low
    bounds[1] = middle
    bounds[2] = high
    return 2


@njit(cache=True, nogil=True)
def split(
    cells: Any, index: Any, given: Any, attributes: Any, rules: Any, past: Any, relaxed: bool, near: int, limit: int,
    ends: Any,
) -> int:  # fmt: skip
    """Cut segments of rows, which end where `given` says, as long as any cut is allowed.

    Segments of at most `near` rows are cut where the loss is least, others where they are widest. Segments of at
    most `limit` rows are left as they are, for a later call. `ends` receives where the
    segments end, in the order of rows. Returns how many there are. Relaxed cuts are tried only where no strict
    one is allowed, so that a relaxed grouping refines the strict one.
    """
    width = cells.shape[1] - 1
    widest = 1
    for attribute in range(width):
        widest = max(widest, attributes.code_start[attribute + 1] - attributes.code_start[attribute])
    scratch = np.zeros(widest, np.int64)
    part_of = np.zeros(widest, np.int32)
    bounds = np.zeros(widest + 2, np.int64)
    counts = np.zeros(rules.overall.size, np.int64)
    seen = np.zeros(rules.overall.size, np.int64)
    least = np.zeros(width, np.int64)
    most = np.zeros(width, np.int64)
    extents = np.zeros(width, np.float64)
    part_least = np.zeros(width, np.int64)
    part_most = np.zeros(width, np.int64)
    part_extents = np.zeros(width, np.float64)
    wanted = np.zeros(width, np.float64)
    marks = np.zeros(attributes.code_start[width], np.int64)
    stamp = 0
    stack = np.empty((given.size + 64, 2), np.int64)
    for segment in range(given.size):
        stack[given.size - 1 - segment, 0] = given[segment - 1] if segment else 0
        stack[given.size - 1 - segment, 1] = given[segment]
    depth = given.size
    segments = 0
    # Never true. A constant would be a type of its own, and everything called with it be compiled twice.
    loosely = depth < 0
    while depth:
        depth -= 1
        low = stack[depth, 0]
        high = stack[depth, 1]
        size = high - low
        parts = 1
        if size > limit and size >= 2 * rules.smallest:
            favourite = 0
            stamp += 1
            _measure(cells, low, high, attributes, least, most, extents, marks, stamp)
            if size <= near:
                least_loss = np.inf
                for attribute in range(width):
                    parts = _attempt(
                        cells, index, low, high, attribute, least[attribute], most[attribute], loosely,
                        attributes, rules, past, scratch, part_of, bounds, counts, seen,
                    )  # fmt: skip
                    if parts == 1:
                        continue
                    loss = 0.0
                    for part in range(parts):
                        stamp += 1
                        _measure(
                            cells, bounds[part], bounds[part + 1], attributes,
                            part_least, part_most, part_extents, marks, stamp,
                        )  # fmt: skip
                        loss += part_extents.sum() * (bounds[part + 1] - bounds[part])
                    if loss < least_loss:
                        least_loss = loss
                        favourite = attribute
                if least_loss < np.inf:
                    extents[favourite] = np.inf
                parts = 1
            for loose in range(2 if relaxed else 1):
                wanted[:] = extents
                for _ in range(width):
                    attribute = int(np.argmax(wanted))
                    wanted[attribute] = -1.0
                    parts = _attempt(
                        cells, index, low, high, attribute, least[attribute], most[attribute], loose == 1,
                        attributes, rules, past, scratch, part_of, bounds, counts, seen,
                    )  # fmt: skip
                    if parts > 1:
                        break
                if parts > 1:
                    break
        if parts == 1:
            ends[segments] = high
            segments += 1
            continue
        while depth + parts > stack.shape[0]:
            larger = np.empty((2 * stack.shape[0], 2), np.int64)
            larger[: stack.shape[0]] = stack
            stack = larger
        for part in range(parts - 1, -1, -1):
            stack[depth, 0] = bounds[part]
            stack[depth, 1] = bounds[part + 1]
            depth += 1
    return segments
