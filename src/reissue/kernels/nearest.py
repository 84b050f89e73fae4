"""Compiled search for the class that a record costs the least information loss in (Byun et al. 2006, section 4.2).

A class is a box: for each attribute the lowest and highest code of its rows, for labels that are published as sets the
set itself. Boxes stand in a tree whose nodes know what all boxes below have in common, so that most of them need
not be looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel
from reissue.kernels.median_cuts import extent as distance

LEAF = 4
"""Nodes of the tree have at most so many boxes where they are not divided any more."""


class Boxes(NamedTuple):
    """Classes as boxes; the nodes of a tree of them too."""

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    """For each box and attribute the lowest and the highest code."""
    sets: npt.NDArray[np.uint64]
    """For each box the labels of all attributes that are sets, as bits."""
    bit_start: npt.NDArray[np.int64]
    """Where the labels of an attribute that is a set begin among the bits."""
    loss: npt.NDArray[np.float64]
    """The extents of each box, summed over the attributes; of a node the least below it."""
    size: npt.NDArray[np.int64]
    """How many rows it has; of a node the fewest."""
    stratum: npt.NDArray[np.int64]
    """What its rows have in the columns published as they are, by number; -1 for a node with several."""


@inner
def _has(sets: Any, box: int, place: int) -> Any:
    word, bit = place >> 6, np.uint64(place & 63)
    return (sets[box, word] >> bit) & np.uint64(1) != np.uint64(0)


@inner
def _extent(attributes: Any, attribute: int, least: int, most: int) -> Any:
    """How much of the domain is lost: missing numbers lie beyond it, and together with others they lose all of it."""
    return min(distance(attributes, attribute, least, most), 1.0)


@kernel
def fill(cells: Any, owner: Any, attributes: Any, boxes: Any, stratum: Any) -> None:
    """Put rows into boxes, each into its owner's (none where that is negative).

    `low` starts above all codes, `high` below, sizes and sets at nothing. Losses are measured in the end.
    """
    width = cells.shape[1] - 1
    for row in range(owner.size):
        box = owner[row]
        if box < 0:
            continue
        boxes.size[box] += 1
        boxes.stratum[box] = stratum[row]
        for attribute in range(width):
            code = np.int64(cells[row, attribute])
            boxes.low[box, attribute] = min(boxes.low[box, attribute], code)
            boxes.high[box, attribute] = max(boxes.high[box, attribute], code)
            if attributes.is_set[attribute]:
                place = boxes.bit_start[attribute] + code
                boxes.sets[box, place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    for box in range(boxes.size.size):
        if boxes.size[box]:
            boxes.loss[box] = _loss(attributes, boxes, box)


@inner
def _loss(attributes: Any, boxes: Any, box: int) -> Any:
    total = 0.0
    for attribute in range(boxes.low.shape[1]):
        if not attributes.is_set[attribute]:
            total += _extent(attributes, attribute, boxes.low[box, attribute], boxes.high[box, attribute])
            continue
        labels = 0
        start = boxes.bit_start[attribute]
        for code in range(boxes.low[box, attribute], boxes.high[box, attribute] + 1):
            labels += _has(boxes.sets, box, start + code)
        total += (labels - 1) * attributes.scale[attribute]
    return total


@kernel
def join(attributes: Any, boxes: Any, target: Any, batches: Any, joint: Any) -> None:
    """The loss of each batch's box put together with that of its target among `boxes`."""
    width = boxes.low.shape[1]
    low = np.empty((1, width), np.int64)
    high = np.empty((1, width), np.int64)
    sets = np.empty((1, boxes.sets.shape[1]), np.uint64)
    union = Boxes(low, high, sets, boxes.bit_start, np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64))
    for batch in range(target.size):
        box = target[batch]
        for attribute in range(width):
            low[0, attribute] = min(boxes.low[box, attribute], batches.low[batch, attribute])
            high[0, attribute] = max(boxes.high[box, attribute], batches.high[batch, attribute])
        sets[0] = boxes.sets[box] | batches.sets[batch]
        joint[batch] = _loss(attributes, union, 0)


@kernel
def plant(attributes: Any, boxes: Any, order: Any, ranges: Any, nodes: Any) -> None:
    """Put boxes into a tree: `order` so that each node has a range of it. The children of i are 2i + 1 and 2i + 2."""
    width = boxes.low.shape[1]
    count = ranges.shape[0]
    ranges[0, 1] = order.size
    centre = np.empty(order.size)
    for node in range(count):
        start, end = ranges[node]
        if start == end:
            nodes.loss[node] = np.inf
            continue
        for attribute in range(width):
            nodes.low[node, attribute] = boxes.low[order[start], attribute]
            nodes.high[node, attribute] = boxes.high[order[start], attribute]
        nodes.loss[node], nodes.size[node] = np.inf, boxes.size[order[start]]
        nodes.stratum[node] = boxes.stratum[order[start]]
        for place in range(start, end):
            box = order[place]
            if boxes.stratum[box] != nodes.stratum[node]:
                nodes.stratum[node] = -1
            nodes.loss[node] = min(nodes.loss[node], boxes.loss[box])
            nodes.size[node] = min(nodes.size[node], boxes.size[box])
            nodes.sets[node] |= boxes.sets[box]
            for attribute in range(width):
                nodes.low[node, attribute] = min(nodes.low[node, attribute], boxes.low[box, attribute])
                nodes.high[node, attribute] = max(nodes.high[node, attribute], boxes.high[box, attribute])
        if 2 * node + 2 >= count:
            continue
        widest, along = -1.0, -1
        for attribute in range(width if nodes.stratum[node] >= 0 else 0):
            begin = attributes.code_start[attribute]
            least, most = np.inf, -np.inf
            for place in range(start, end):
                box = order[place]
                middle = (
                    attributes.position[begin + boxes.low[box, attribute]]
                    + attributes.position[begin + boxes.high[box, attribute]]
                )
                least, most = min(least, middle), max(most, middle)
            if (most - least) * attributes.scale[attribute] > widest:
                widest, along = (most - least) * attributes.scale[attribute], attribute
        here = order[start:end].copy()
        for place in range(here.size):
            box = here[place]
            if along < 0:
                centre[place] = boxes.stratum[box]  # what lies in different strata is parted first
                continue
            begin = attributes.code_start[along]
            centre[place] = (
                attributes.position[begin + boxes.low[box, along]] + attributes.position[begin + boxes.high[box, along]]
            )
        order[start:end] = here[np.argsort(centre[: here.size], kind="mergesort")]
        middle_place = (start + end) // 2
        ranges[2 * node + 1] = start, middle_place
        ranges[2 * node + 2] = middle_place, end


@inner
def _bound(cells: Any, row: int, stratum: int, attributes: Any, nodes: Any, node: int) -> Any:
    """What the record costs at least in any box below a node; infinity where none is of its stratum."""
    if nodes.stratum[node] >= 0 and nodes.stratum[node] != stratum:
        return np.inf
    gap = 0.0
    for attribute in range(nodes.low.shape[1]):
        code = np.int64(cells[row, attribute])
        start = attributes.code_start[attribute]
        if attributes.is_set[attribute]:
            if not _has(nodes.sets, node, nodes.bit_start[attribute] + code):
                gap += attributes.scale[attribute]
        elif not attributes.is_tree[attribute]:
            # The label of a hierarchy may cover more than the leaves that occur, so there no gap is certain.
            here, scale = attributes.position[start + code], attributes.scale[attribute]
            low = attributes.position[start + nodes.low[node, attribute]]
            high = attributes.position[start + nodes.high[node, attribute]]
            # Boxes that have lost all of the domain already, as those with missing numbers have, lose no more.
            gap += max(min(max(low - here, here - high) * scale, 1.0 - (high - low) * scale), 0.0)
    return nodes.loss[node] + (nodes.size[node] + 1) * gap


@inner
def _cost(cells: Any, row: int, attributes: Any, boxes: Any, box: int) -> Any:
    """How much information loss rises when the record is put into the box: for itself and for all who are there."""
    gap = 0.0
    for attribute in range(boxes.low.shape[1]):
        code = np.int64(cells[row, attribute])
        if attributes.is_set[attribute]:
            if not _has(boxes.sets, box, boxes.bit_start[attribute] + code):
                gap += attributes.scale[attribute]
            continue
        least, most = boxes.low[box, attribute], boxes.high[box, attribute]
        if code < least or code > most:
            wider = _extent(attributes, attribute, min(code, least), max(code, most))
            gap += wider - _extent(attributes, attribute, least, most)
    return boxes.loss[box] + (boxes.size[box] + 1) * gap


@kernel
def nearest(
    cells: Any, rows: Any, stratum: Any, attributes: Any, boxes: Any, order: Any, ranges: Any, nodes: Any, found: Any
) -> None:
    """For each row the box it costs least in, of those of its stratum; -1 where there is none.

    The box of the row before is tried first: where rows are in an order, it is often the one.
    """
    count = ranges.shape[0]
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    here = -1
    for at in range(rows.size):
        row = rows[at]
        best = np.inf
        stack[0], bounds[0] = 0, 0.0
        depth = 1
        # What `_cost` and `_bound` are given is so much that each has one place only, where it can be compiled in.
        begin, end = max(here, 0), here + 1
        here = -1
        while True:
            for place in range(begin, end):
                if boxes.stratum[order[place]] != stratum[row]:
                    continue
                cost = _cost(cells, row, attributes, boxes, order[place])
                if cost < best:
                    best, here = cost, place
            begin = end = 0
            if not depth:
                break
            depth -= 1
            if bounds[depth] >= best:
                continue
            node = stack[depth]
            if 2 * node + 2 >= count:
                begin, end = ranges[node]
                continue
            for child in range(2 * node + 1, 2 * node + 3):
                stack[depth], bounds[depth] = child, _bound(cells, row, stratum[row], attributes, nodes, child)
                depth += 1
            if bounds[depth - 2] < bounds[depth - 1]:  # the nearer one is looked at first
                stack[depth - 2], stack[depth - 1] = stack[depth - 1], stack[depth - 2]
                bounds[depth - 2], bounds[depth - 1] = bounds[depth - 1], bounds[depth - 2]
        found[at] = order[here] if here >= 0 else -1
