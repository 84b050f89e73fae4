"""Finding people by number in one pass: person numbers are dense, so a table of places does without sorting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Ints, Words

ROOM, MOST = 64, 1 << 28
"""A table may have so many places for each number in it, and in all; sparser numbers are sorted."""
HALF = 2**31
"""Numbers from here on, where made-up members have theirs, are dense by themselves."""


AT_ONCE = 1 << 18
"""So many numbers are counted at a time."""


def ascending(numbers: npt.NDArray[np.integer]) -> Ints:
    """The positions of numbers in ascending order; of a number that occurs twice one position is lost."""
    return narrow_ascending(numbers).astype(np.int64, copy=False)


def narrow_ascending(numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """The same in half the room, where numbers are dense."""
    if not numbers.size:
        return np.empty(0, dtype=np.int64)
    lowest, highest = int(numbers.min()), int(numbers.max())
    if highest - lowest > min(ROOM * numbers.size, MOST):
        if lowest < HALF <= highest:
            low, high = np.flatnonzero(numbers < HALF), np.flatnonzero(numbers >= HALF)
            return np.concatenate([low[ascending(numbers[low])], high[ascending(numbers[high])]])
        order = np.argsort(numbers, kind="stable")
        return order[np.diff(numbers[order], append=highest + 1) > 0]
    table = np.full(highest - lowest + 1, -1, dtype=np.int32)
    for begin in range(0, numbers.size, AT_ONCE):
        part = numbers[begin : begin + AT_ONCE]
        table[part - lowest] = np.arange(begin, begin + part.size, dtype=np.int32)
    held = table >= 0
    return table if held.all() else table.compress(held)


def often(numbers: npt.NDArray[np.integer], size: int) -> Ints:
    """How often each number from 0 to size - 1 occurs; part by part, as NumPy makes wide numbers of narrow ones."""
    if numbers.size <= AT_ONCE:
        return np.bincount(numbers, minlength=size).astype(np.int64, copy=False)
    found = np.zeros(size, dtype=np.int64)
    part = max(AT_ONCE, 4 * size)
    for begin in range(0, numbers.size, part):
        found += np.bincount(numbers[begin : begin + part], minlength=size)
    return found


def distinct(numbers: Ints) -> Ints:
    """Each number once, ascending. By sorting: `np.unique` alone hashes, which takes many times as long."""
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]


def numbered(numbers: Ints) -> tuple[Ints, Ints]:
    """Each number once, ascending, and the place of each entry among them."""
    if not numbers.size:
        return numbers, numbers
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > 16 * numbers.size + 1024:
        distinct, place = np.unique(numbers, return_inverse=True)
        return distinct, place
    there, at = np.zeros(high - low + 1, dtype=np.bool_), numbers - low
    there[at] = True
    rank = np.cumsum(there, dtype=np.int32)
    rank -= 1
    return np.flatnonzero(there) + low, rank[at].astype(np.int64)


def numbered_words(words: Words) -> tuple[Ints, Ints]:
    """For each word its number, counted in the order in which they first come, and where each one first stands."""
    from reissue.kernels.word_numbers import number_words  # compiled code, which the rest does without

    bits = max(1, int(2 * words.size).bit_length())
    known, number_of = np.empty(1 << bits, dtype=np.uint64), np.full(1 << bits, -1, dtype=np.int32)
    numbers, first = np.empty(words.size, dtype=np.int64), np.empty(words.size, dtype=np.int64)
    count = number_words(words, 64 - bits, known, number_of, numbers, first)
    return numbers, first[:count].copy()


def in_order(keys: Ints, count: int) -> Ints:
    """Row numbers in the order of keys from 0 to count - 1; rows of equal keys stay in order."""
    from reissue.kernels.grouped import order_by_group  # compiled code, which the rest does without

    starts = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=count))]).astype(np.int64)
    order = np.empty(keys.size, dtype=np.int64)
    order_by_group(keys, starts, order)
    return order


def places(numbers: Ints, wanted: Ints) -> Ints:
    """Where each one wanted stands among ascending numbers; -1 for those that do not."""
    if not numbers.size or not wanted.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    lowest, highest = int(numbers[0]), int(numbers[-1])
    if highest - lowest > min(ROOM * (numbers.size + wanted.size), MOST):
        if lowest < HALF <= highest:
            before = int(np.searchsorted(numbers, HALF))
            at = places(numbers[:before], wanted)
            high = np.flatnonzero(wanted >= HALF)
            there = places(numbers[before:], wanted[high])
            at[high] = np.where(there < 0, -1, before + there)
            return at
        at = np.minimum(np.searchsorted(numbers, wanted), numbers.size - 1)
        return np.where(numbers[at] == wanted, at, -1)
    # One place more at either end, for everybody who is outside.
    table = np.full(highest - lowest + 3, -1, dtype=np.int32)
    table[numbers - (lowest - 1)] = np.arange(numbers.size, dtype=np.int32)
    return table.take(wanted - (lowest - 1), mode="clip").astype(np.int64)
