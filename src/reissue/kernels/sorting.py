"""Sorting whole numbers inside kernels.

numba's own `sort` takes a second to compile for each type of number. This is one function for one type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner

RUN = 16
"""So many numbers are sorted by insertion."""


@inner
def sort(numbers: Any) -> None:
    """Sort 64-bit whole numbers in place: short runs by insertion, then by merging runs, twice as long each time."""
    size = numbers.size
    for start in range(0, size, RUN):
        for here in range(start + 1, min(start + RUN, size)):
            number = numbers[here]
            there = here
            while there > start and numbers[there - 1] > number:
                numbers[there] = numbers[there - 1]
                there -= 1
            numbers[there] = number
    if size <= RUN:
        return
    spare = np.empty(size, np.int64)
    length = RUN
    while length < size:
        for start in range(0, size - length, 2 * length):
            middle, end = start + length, min(start + 2 * length, size)
            if numbers[middle - 1] <= numbers[middle]:
                continue
            # The first run steps aside. What is left of the second one stands where it belongs.
            for place in range(start, middle):
                spare[place] = numbers[place]
            first, second, place = start, middle, start
            while first < middle:
                if second < end and numbers[second] < spare[first]:
                    numbers[place] = numbers[second]
                    second += 1
                else:
                    numbers[place] = spare[first]
                    first += 1
                place += 1
        length *= 2
