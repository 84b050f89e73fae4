"""Down a tree of cuts: in which cell everybody is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(cache=True)
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
