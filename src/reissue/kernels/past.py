"""Earlier states of classes that are cut, compiled: whether a part of one opens an inference channel to any of them.

The people of a class came in batches, the first ones when it was made. Someone of a batch has a value of that batch,
and of every state of the class since then. So a part is allowed only if it has people of every batch, and for each of
them shares at least l values with the batch and with all states since. Then comparing two releases leaves at least l
values (Byun, Sohn, Bertino & Li 2006, section 4.3), and so does what all such comparisons leave together.

The paper asks for less: each state alone. And it does not see that a batch which is in one part alone, or missing from
one, can be told apart: whoever came before or after it is then known by what is left.

Nor does it count. If a part has a value more often than all others together can have brought it, some of a batch must
have it; where such values take up everybody of the batch in the part, they have no others, and there must be l of them.
This is asked for each batch, for all up to one, and for all after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel


class Past(NamedTuple):
    """The earlier states of the classes that rows belong to."""

    owner: npt.NDArray[np.int64]
    """For each row the class it belongs to."""
    since: npt.NDArray[np.int64]
    """For each row the release in which it was published first."""
    value: npt.NDArray[np.int64]
    """For each row the number of its value among those of its class."""
    values: npt.NDArray[np.int64]
    """How many values each class has."""
    starts: npt.NDArray[np.int64]
    """Where the states of each class begin, in their order; one more than there are classes."""
    release: npt.NDArray[np.int64]
    """For each state the last release that showed it; a batch came in the next one."""
    offset: npt.NDArray[np.int64]
    """Where the values of its class begin in the two below."""
    shown: npt.NDArray[np.int64]
    """How often it had each value."""
    fresh: npt.NDArray[np.int64]
    """How often the batch that came in after it has each."""
    needed: int
    """How many values must be left."""


def no_past() -> Past:
    """For rows that were never published."""
    none = np.zeros(0, dtype=np.int64)
    return Past(none, none, none, none, none, none, none, none, none, 0)


@inner
def _tied(held: Any, others: Any, more: Any, people: int, needed: int) -> bool:
    """Whether people of a part must have values that are fewer than needed.

    `held` is what the part has; `others` and `more` together what all but these people can have brought.
    """
    must, values = 0, 0
    for value in range(held.size):
        surplus = held[value] - others[value] - more[value]
        if surplus > 0:
            must += surplus
            values += 1
    return must >= people and values < needed


@kernel
def without_channel(index: Any, low: int, high: int, past: Any) -> bool:
    """Whether the rows from `low` to `high`, all of one class, can be a class of their own."""
    if past.release.size == 0:
        return True
    owner = past.owner[index[low]]
    begin, end = past.starts[owner], past.starts[owner + 1]
    if begin == end:
        return True
    held = np.zeros(past.values[owner], np.int64)
    people = np.zeros(end - begin + 1, np.int64)
    for row in range(low, high):
        held[past.value[index[row]]] += 1
        batch = 0
        while batch < end - begin and past.release[begin + batch] < past.since[index[row]]:
            batch += 1
        people[batch] += 1
    if not people.all():
        return False
    # From the last batch to the first: `shared` are values that the part shares with all states since the batch.
    shared = held > 0
    later = np.zeros(held.size, np.int64)
    nobody = np.zeros(held.size, np.int64)
    behind = 0
    for state in range(end - 1, begin - 1, -1):
        entries = slice(past.offset[state], past.offset[state] + held.size)
        shown, fresh = past.shown[entries], past.fresh[entries]
        batch = state - begin + 1
        if np.sum(shared & (fresh > 0)) < past.needed:
            return False
        shared &= shown > 0
        behind += people[batch]
        if _tied(held, shown, later, people[batch], past.needed):
            return False
        if _tied(held, shown, nobody, behind, past.needed):
            return False
        later += fresh
        if _tied(held, later, nobody, high - low - behind, past.needed):
            return False
    return bool(np.sum(shared) >= past.needed)
