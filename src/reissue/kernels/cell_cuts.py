"""Down a tree of cuts, compiled: in which cell everybody is, and which value is most frequent below each node."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reissue.kernels import kernel


@kernel
def descend(
    codes: npt.NDArray[np.int32],
    attribute: npt.NDArray[np.int32],
    bound: npt.NDArray[np.int64],
    left: npt.NDArray[np.int32],
    node: npt.NDArray[np.int64],
) -> None:
    """Go down from the node of each row, by its code of the attribute that a node is cut by, to a cell.

    `codes` has a row for each attribute. A code below the bound goes left, any other to the node after that.
    """
    for row in range(node.size):
        at = node[row]
        while left[at] >= 0:
            at = left[at] + (codes[attribute[at], row] >= bound[at])
        node[row] = at


@kernel
def most_frequent(
    nodes: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    code: npt.NDArray[np.int64],
    often: npt.NDArray[np.int64],
    most: npt.NDArray[np.int64],
) -> None:
    """How often the most frequent value occurs below each of some nodes.

    `code` are the values along the tree, those below a node from its start up to its end; `often` is nothing for every
    value, now and again in the end.
    """
    for node in nodes:
        top = 0
        for place in range(starts[node], ends[node]):
            often[code[place]] += 1
            top = max(top, often[code[place]])
        for place in range(starts[node], ends[node]):
            often[code[place]] = 0
        most[node] = top
