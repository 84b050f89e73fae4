"""The compiled part of Mondrian: cut a table of codes into segments until no cut is allowed.

Rows are physically moved so that every segment is contiguous; `index` is moved along and says in the
end which row of the snapshot stands where. Everything is plain arrays: the first columns of `cells`
are quasi-identifiers, the last is the sensitive value.

No strict cut parts rows that agree in all quasi-identifiers. So they can be put together in one cell: then the last
column says how many they are, and `held` which values they have. Sizes are always numbers of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel
from reissue.kernels.group_rules import has_different, satisfied
from reissue.kernels.past import without_channel
from reissue.kernels.sorting import sort


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


@inner
def _rows(cells: Any, low: int, high: int, together: bool) -> Any:
    """How many rows the cells from `low` to `high` stand for: one each, or `together` so many as their last column."""
    if not together:
        return high - low
    column = cells.shape[1] - 1
    size: Any = 0
    for cell in range(low, high):
        size += cells[cell, column]
    return size


@inner
def _allowed(
    cells: Any, index: Any, low: int, high: int, size: int, held: Any, rules: Any, past: Any, counts: Any, seen: Any
) -> bool:
    """Whether the rows from `low` to `high`, so many, may be a group."""
    if past is None:
        return size >= rules.smallest and has_different(
            cells, index, low, high, held.starts, held.values, held.counts, rules.distinct, counts, seen
        )
    if not satisfied(cells, index, low, high, size, held, rules, counts, seen):
        return False
    return past.release.size == 0 or without_channel(index, low, high, past)


@inner
def _common_node(attributes: Any, attribute: int, least: int, most: int) -> Any:
    """The nearest common ancestor of two leaves: nodes are intervals of leaves, so it covers all between."""
    base = attributes.node_start[attribute]
    node = attributes.leaf_node[attributes.code_start[attribute] + least]
    while attributes.last[base + node] < most or attributes.first[base + node] > least:
        node = attributes.parent[base + node]
    return node


@inner
def extent(attributes: Any, attribute: int, least: int, most: int) -> Any:
    """How much of the attribute's domain the codes from `least` to `most` take up, 0 to 1."""
    if attributes.is_tree[attribute]:
        node = attributes.node_start[attribute] + _common_node(attributes, attribute, least, most)
        return (attributes.last[node] - attributes.first[node]) * attributes.scale[attribute]
    start = attributes.code_start[attribute]
    return (attributes.position[start + most] - attributes.position[start + least]) * attributes.scale[attribute]


@inner
def _swap(cells: Any, index: Any, one: int, other: int) -> None:
    for column in range(cells.shape[1]):
        cells[one, column], cells[other, column] = cells[other, column], cells[one, column]
    index[one], index[other] = index[other], index[one]


@inner
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


@inner
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


@inner
def _median(
    cells: Any, low: int, high: int, size: int, together: bool, attribute: int, least: int, most: int, counts: Any
) -> Any:
    """The code of the middle row, how many rows have a smaller code, how many this one, and the next smaller code."""
    column = cells.shape[1] - 1
    middle = size // 2
    below = 0
    if most - least <= 4 * size:
        for code in range(least, most + 1):
            counts[code - least] = 0
        for row in range(low, high):
            counts[cells[row, attribute] - least] += np.int64(cells[row, column]) if together else 1
        previous = least
        code = least
        while below + counts[code - least] <= middle:
            below += counts[code - least]
            if counts[code - least]:
                previous = code
            code += 1
        return code, below, counts[code - least], previous
    # Each code with its number of rows behind it, in one number.
    codes = np.empty(high - low, np.int64)
    for row in range(low, high):
        rows = np.int64(cells[row, column]) if together else 1
        codes[row - low] = np.int64(cells[row, attribute]) << 32 | rows
    sort(codes)
    here = 0
    previous = least
    while True:
        code = codes[here] >> 32
        equal = 0
        while here < codes.size and codes[here] >> 32 == code:
            equal += codes[here] & 0xFFFFFFFF
            here += 1
        if below + equal > middle:
            return code, below, equal, previous
        below += equal
        previous = code


@inner
def _descend(
    cells: Any, index: Any, low: int, high: int, held: Any, attribute: int, least: int, most: int, relaxed: bool,
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
    # The rows of each child, and the cells they are in.
    sizes = np.zeros(children, np.int64)
    lengths = np.zeros(children, np.int64)
    child_of = np.empty(most - least + 1, np.int32)
    for child in range(children):
        which = base + attributes.children[attributes.child_start[node] + child]
        for code in range(max(least, attributes.first[which]), min(most, attributes.last[which]) + 1):
            child_of[code - least] = child
    for row in range(low, high):
        child = child_of[cells[row, attribute] - least]
        lengths[child] += 1
        sizes[child] += _rows(cells, row, row + 1, held.starts.size > 0)
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
        rows = np.zeros(parts, np.int64)
        for part in range(parts + 1):
            bounds[part] = low
        for child in range(children):
            bounds[part_of_child[child] + 1] += lengths[child]
            rows[part_of_child[child]] += sizes[child]
        for part in range(parts):
            bounds[part + 1] += bounds[part] - low
        for code in range(least, most + 1):
            part_of[code - least] = part_of_child[child_of[code - least]]
        _arrange(cells, index, low, attribute, least, part_of, bounds, parts)
        good = True
        for child in range(children):
            if sizes[child] and not pooled[child]:
                part = part_of_child[child]
                if not _allowed(
                    cells, index, bounds[part], bounds[part + 1], rows[part], held, rules, past, counts, seen
                ):
                    if not relaxed:
                        return 1
                    pooled[child] = True
                    pool_size += sizes[child]
                    good = False
        if not good:
            continue
        if pool_size and not _allowed(cells, index, bounds[0], bounds[1], rows[0], held, rules, past, counts, seen):
            smallest = -1
            for child in range(children):
                if sizes[child] and not pooled[child] and (smallest < 0 or sizes[child] < sizes[smallest]):
                    smallest = child
            pooled[smallest] = True
            pool_size += sizes[smallest]
            continue
        return parts


@inner
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


@inner
def _halve(
    cells: Any, index: Any, low: int, high: int, size: int, held: Any, attribute: int, least: int, most: int,
    relaxed: bool, rules: Any, past: Any, scratch: Any, bounds: Any, counts: Any, seen: Any,
) -> int:  # fmt: skip
    """Cut at the median: fills `bounds`, returns the number of parts, or 1 when no cut there is allowed.

    Relaxed cuts part rows that are alike, so there every cell must be one row.
    """
    together = held.starts.size > 0
    code, below, equal, previous = _median(cells, low, high, size, together, attribute, least, most, scratch)
    # Two cuts are nearest to the median: before and after the middle code. The more even one first.
    after = below + equal
    for attempt in range(1 if relaxed else 2):
        upper = (attempt == 0) == (abs(2 * after - size) < abs(2 * below - size))
        left = size // 2 if relaxed else after if upper else below
        if left < rules.smallest or size - left < rules.smallest:
            continue
        if relaxed:
            # Rows that share the middle code may fall on either side. They were shuffled before, so which of
            # them go left says nothing about their values.
            start = low
            if below:
                start = _cut(cells, index, low, high, attribute, previous)
            _cut(cells, index, start, high, attribute, code)
            middle = low + left
        else:
            middle = _cut(cells, index, low, high, attribute, code if upper else previous)
        bounds[0] = low
        bounds[1] = middle
        bounds[2] = high
        good = True
        for part in range(2):
            begin, end = bounds[part], bounds[part + 1]
            if past is None:
                # Most rules are like this. What is handed over counts: arrays are claimed and freed at every call.
                good = has_different(
                    cells, index, begin, end, held.starts, held.values, held.counts, rules.distinct, counts, seen
                )
            else:
                rows = left if part == 0 else size - left
                good = _allowed(cells, index, begin, end, rows, held, rules, past, counts, seen)
            if not good:
                break
        if good:
            return 2
    return 1


@kernel
def split(
    cells: Any, index: Any, held: Any, given: Any, attributes: Any, trees: Any, rules: Any, past: Any, relaxed: bool,
    near: int, limit: int, ends: Any,
) -> int:  # fmt: skip
    """Cut segments of cells, which end where `given` says, as long as any cut is allowed.

    Segments of at most `near` rows are cut where the loss is least, others where they are widest. Segments of at
    most `limit` rows are left as they are, for a later call. `ends` receives where the
    segments end, in the order of cells. Returns how many there are. Relaxed cuts are tried only where no strict
    one is allowed, so that a relaxed grouping refines the strict one.

    `trees` is None if no attribute has a hierarchy; `past` is None if there is none and the rules are plain. What only
    runs when they are not is then not even compiled, which takes half of the time.
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
    together = held.starts.size > 0
    while depth:
        depth -= 1
        low = stack[depth, 0]
        high = stack[depth, 1]
        size = _rows(cells, low, high, together)
        parts = 1
        favourite = -1
        phase = 3
        if size > limit and size >= 2 * rules.smallest:
            stamp += 1
            _measure(cells, low, high, attributes, least, most, extents, marks, stamp)
            phase = 0 if size <= near else 1
        # 0: the attribute with the least loss is looked for; 1: it is tried first, or the widest, then the others;
        # 2: the same with relaxed cuts.
        while phase < (3 if relaxed else 2) and parts == 1:
            least_loss = np.inf
            for attribute in range(width):
                wanted[attribute] = extents[attribute]
            for turn in range(width):
                attribute = turn
                if phase:
                    attribute = 0
                    for other in range(1, width):
                        if wanted[other] > wanted[attribute]:
                            attribute = other
                    wanted[attribute] = -1.0
                if least[attribute] == most[attribute] and phase < 2:
                    continue
                parts = 0
                if trees is not None:  # and nothing else in this line, or the compiler does not see it
                    apart = least[attribute] < most[attribute]
                    if apart and attributes.is_tree[attribute]:
                        parts = _descend(
                            cells, index, low, high, held, attribute, least[attribute], most[attribute], phase == 2,
                            attributes, rules, past, part_of, bounds, counts, seen,
                        )  # fmt: skip
                if not parts:
                    parts = _halve(
                        cells, index, low, high, size, held, attribute, least[attribute], most[attribute], phase == 2,
                        rules, past, scratch, bounds, counts, seen,
                    )  # fmt: skip
                if parts == 1:
                    continue
                if phase:
                    break
                loss = 0.0
                for part in range(parts):
                    stamp += 1
                    _measure(
                        cells, bounds[part], bounds[part + 1], attributes,
                        part_least, part_most, part_extents, marks, stamp,
                    )  # fmt: skip
                    wide = 0.0
                    for other in range(width):
                        wide += part_extents[other]
                    loss += wide * _rows(cells, bounds[part], bounds[part + 1], together)
                parts = 1
                if loss < least_loss:
                    least_loss = loss
                    favourite = attribute
            if favourite >= 0:
                extents[favourite] = np.inf
            elif phase == 0 and not relaxed:
                break  # no cut was allowed, so none is in the next phase; relaxed, rows must be moved all the same
            phase += 1
        if parts == 1:
            ends[segments] = high
            segments += 1
            continue
        while depth + parts > stack.shape[0]:
            larger = np.empty((2 * stack.shape[0], 2), np.int64)
            for place in range(depth):
                larger[place, 0] = stack[place, 0]
                larger[place, 1] = stack[place, 1]
            stack = larger
        for part in range(parts - 1, -1, -1):
            stack[depth, 0] = bounds[part]
            stack[depth, 1] = bounds[part + 1]
            depth += 1
    return segments
