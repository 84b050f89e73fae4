"""Earlier states of classes that are cut, compiled: whether a part of one opens an inference channel to any of them.

The people of a class came in batches, the first ones when it was made. Someone of a batch has a value of that batch,
and of every state of the class since then. So a part is allowed if it has people of every batch, and for each of them
shares at least l values with the batch and with all states since. Then comparing two releases leaves at least l values
(Byun, Sohn, Bertino & Li 2006, section 4.3), and so does what all such comparisons leave together.

The paper asks for less: each state alone. And it does not see that a batch which is in one part alone, or missing from
one, can be told apart: whoever came before or after it is then known by what is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Past(NamedTuple):
    """The earlier states of the classes that rows belong to. Values are bits of 64-bit words."""

    owner: npt.NDArray[np.int64]
    """For each row the class it belongs to."""
    since: npt.NDArray[np.int64]
    """For each row the release in which it was published first."""
    starts: npt.NDArray[np.int64]
    """Where the states of each class begin, in their order; one more than there are classes."""
    release: npt.NDArray[np.int64]
    """For each state the last release that showed it; a batch came in the next one."""
    shown: npt.NDArray[np.uint64]
    """The values it had."""
    fresh: npt.NDArray[np.uint64]
    """The values of the batch that came in after it."""
    needed: int
    """How many values must be left."""


def no_past() -> Past:
    """For rows that were never published."""
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.uint64)
    return Past(none, none, none, none, nothing, nothing, 0)


@njit(cache=True, nogil=True)
def _count(words: Any) -> Any:
    count = 0
    for word in words:
        while word:
            word &= word - np.uint64(1)
            count += 1
    return count


@njit(cache=True, nogil=True)
def without_channel(cells: Any, index: Any, low: int, high: int, past: Any) -> bool:
    """Whether the rows from `low` to `high`, all of one class, can be a class of their own."""
    if past.release.size == 0:
        return True
    owner = past.owner[index[low]]
    begin, end = past.starts[owner], past.starts[owner + 1]
    if begin == end:
        return True
    column = cells.shape[1] - 1
    left = np.zeros(past.shown.shape[1], np.uint64)
    there = np.zeros(end - begin + 1, np.bool_)
    for row in range(low, high):
        value = np.uint64(cells[row, column])
        left[value >> np.uint64(6)] |= np.uint64(1) << (value & np.uint64(63))
        batch = 0
        while batch < end - begin and past.release[begin + batch] < past.since[index[row]]:
            batch += 1
        there[batch] = True
    if not there.all():
        return False
    # From the last batch to the first: `left` is what the part shares with all states since the batch.
    for state in range(end - 1, begin - 1, -1):
        if _count(left & past.fresh[state]) < past.needed:
            return False
        left &= past.shown[state]
    return bool(_count(left) >= past.needed)
