"""Compiled passes over boxes of whole numbers: a tree of them, and the search for those that meet a box."""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel


@kernel
def plant(low: Any, high: Any, order: Any, ranges: Any, least: Any, most: Any) -> None:
    """Put boxes into a tree: `order` so that each node has a range of it, with the extent of the boxes there.

    The children of node i are 2i + 1 and 2i + 2, and have half of its range each. It is split along the
    attribute in which its boxes lie farthest apart for their size.
    """
    attributes = low.shape[1]
    nodes = ranges.shape[0]
    ranges[0, 1] = order.size
    for node in range(nodes):
        start, end = ranges[node]
        best, best_attribute = -1.0, -1
        for attribute in range(attributes):
            first = order[start]
            lowest, highest = low[first, attribute], high[first, attribute]
            nearest = farthest = lowest + highest
            extent = 0.0
            for place in range(start, end):
                box = order[place]
                lowest, highest = min(lowest, low[box, attribute]), max(highest, high[box, attribute])
                middle = low[box, attribute] + high[box, attribute]
                nearest, farthest = min(nearest, middle), max(farthest, middle)
                extent += high[box, attribute] - low[box, attribute]
            least[node, attribute], most[node, attribute] = lowest, highest
            apart = (farthest - nearest) / (1.0 + extent / (end - start))
            if apart > best:
                best, best_attribute = apart, attribute
        if 2 * node + 1 >= nodes:
            continue
        if best_attribute >= 0:
            here = order[start:end].copy()
            # Not by quicksort: numba gives the parts of sort and argsort the same names, and its cache can mix them up.
            middles = low[here, best_attribute] + high[here, best_attribute]
            order[start:end] = here[np.argsort(middles, kind="mergesort")]
        middle_place = (start + end) // 2
        ranges[2 * node + 1] = start, middle_place
        ranges[2 * node + 2] = middle_place, end


@kernel
def search(
    low: Any, high: Any, other_low: Any, other_high: Any, start: int, order: Any, ranges: Any, least: Any, most: Any,
    here: Any, there: Any,
) -> tuple[int, int]:  # fmt: skip
    """Pairs of boxes that meet, from box `start` on until there may be no more room; where to go on, how many."""
    attributes = low.shape[1]
    nodes = ranges.shape[0]
    stack = np.empty(128, np.int64)
    filled = 0
    for box in range(start, low.shape[0]):
        if filled + order.size > here.size:
            return box, filled
        stack[0] = 0
        depth = 1
        while depth:
            depth -= 1
            node = stack[depth]
            apart = False
            for attribute in range(attributes):
                if low[box, attribute] > most[node, attribute] or least[node, attribute] > high[box, attribute]:
                    apart = True
                    break
            if apart:
                continue
            if 2 * node + 1 < nodes:
                stack[depth] = 2 * node + 1
                stack[depth + 1] = 2 * node + 2
                depth += 2
                continue
            for place in range(ranges[node, 0], ranges[node, 1]):
                other = order[place]
                meeting = True
                for attribute in range(attributes):
                    if (
                        low[box, attribute] > other_high[other, attribute]
                        or other_low[other, attribute] > high[box, attribute]
                    ):
                        meeting = False
                        break
                if meeting:
                    here[filled] = box
                    there[filled] = other
                    filled += 1
    return low.shape[0], filled
