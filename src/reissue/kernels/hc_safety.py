"""hcSafe (Riboni & Bettini 2009, Figure 6), compiled: does an earlier group hold too many of a group's tuples?

Rows have the numbers of all earlier groups their tuples were in: those of row r are `past[starts[r]:starts[r + 1]]`,
ascending. A group of k tuples is hc-safe with degree n when no earlier group has more than k - n of them, unless it
has all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel


class Table(NamedTuple):
    """Counts by number of an earlier group, as a hash table; empty between two uses."""

    keys: npt.NDArray[np.int64]
    """The number of the group and 1; 0 for none."""
    counts: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    """The places in use."""


@kernel
def new_table(entries: int) -> Any:
    """A table with room for so many entries."""
    size = 64
    while size < 2 * entries:
        size *= 2
    return Table(np.zeros(size, np.int64), np.zeros(size, np.int64), np.empty(size, np.int64))


@kernel
def shared(members: Any, count: int, size: int, n: int, starts: Any, past: Any, table: Any) -> int:
    """An earlier group that has more than `size - n` of the members and not all of `size`; -1 if there is none.

    `size` may be more than there are members: the rest are new counterfeits, which no earlier group has.
    """
    known, entries = 0, 0
    for at in range(count):
        length = starts[members[at] + 1] - starts[members[at]]
        entries += length
        known += 1 if length > 0 else 0
    if known <= size - n:
        return -1
    keys, counts, slots = table.keys, table.counts, table.slots
    if 2 * entries > keys.size:
        larger = new_table(entries)
        keys, counts, slots = larger.keys, larger.counts, larger.slots
    mask = keys.size - 1
    used = 0
    # A group that has so many lacks fewer than these: it is among those of one of the first, or it is not asked for.
    first = count - (size - n)
    for at in range(count):
        for place in range(starts[members[at]], starts[members[at] + 1]):
            key = np.int64(past[place]) + 1
            slot = (key * 2654435761) & mask
            while keys[slot] != 0 and keys[slot] != key:
                slot = (slot + 1) & mask
            if keys[slot] == 0:
                if at >= first:
                    continue
                keys[slot] = key
                slots[used] = slot
                used += 1
            counts[slot] += 1
    found = -1
    for at in range(used):
        slot = slots[at]
        if size - n < counts[slot] < size:
            found = keys[slot] - 1
        keys[slot] = 0
        counts[slot] = 0
    return found


@kernel
def was_in(row: int, group: int, starts: Any, past: Any) -> Any:
    """Whether an earlier group is among those of a row, which ascend."""
    low, high = starts[row], starts[row + 1]
    while low < high:
        middle = (low + high) // 2
        if past[middle] < group:
            low = middle + 1
        else:
            high = middle
    return low < starts[row + 1] and past[low] == group


class Draws(NamedTuple):
    """Random words, drawn beforehand, and how many of them were used."""

    words: npt.NDArray[np.uint64]
    used: npt.NDArray[np.int64]
    """A single number. When it is larger than there are words, what was made of them does not count."""


@inner
def drawn(draws: Any, below: int) -> Any:
    """A random number from 0 to `below` - 1; 0 when there are no words left."""
    at = draws.used[0]
    draws.used[0] += 1
    return np.int64(draws.words[at] % np.uint64(below)) if at < draws.words.size else np.int64(0)


@kernel
def one_of(members: Any, count: int, group: int, starts: Any, past: Any, draws: Any) -> int:
    """The place of a random member who was in an earlier group; -1 if nobody was."""
    there = 0
    for at in range(count):
        there += was_in(members[at], group, starts, past)
    if there == 0:
        return -1
    others = drawn(draws, there)
    for at in range(count):
        if was_in(members[at], group, starts, past):
            if others == 0:
                return at
            others -= 1
    return -1
