"""A compiled pass over many numbers that lets through the few among which a search pays."""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: its product with a number spreads over the upper bits."""


@kernel
def sieve(numbers: Any, sought: Any, bits: int) -> Any:
    """The places of all numbers that are sought, and of some others; both are unsigned 64-bit.

    Every number sought marks one of 2^bits places in a table of bits, which should fit the processor's cache; with
    64 places for each, one in 64 of the others gets through.
    """
    shift = np.uint64(64 - bits)
    marks = np.zeros(1 << (bits - 3), np.uint8)
    for number in sought:
        place = (number * _SPREAD) >> shift
        marks[place >> np.uint64(3)] |= np.uint8(1) << np.uint8(place & np.uint64(7))
    found = np.empty(numbers.size, np.uint32)
    count = 0
    for row in range(numbers.size):
        place = (numbers[row] * _SPREAD) >> shift
        found[count] = row  # stays if the next line counts it; without a branch this takes a third of the time
        count += (marks[place >> np.uint64(3)] >> np.uint8(place & np.uint64(7))) & np.uint8(1)
    return found[:count].copy()
