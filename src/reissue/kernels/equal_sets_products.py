"""Products of a sparse matrix of small integers, and of its transpose, with a few columns of numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel


@kernel
def product(places: Any, counts: Any, starts: Any, numbers: Any) -> Any:
    """For each row of the matrix the sum of count times number over its entries, for each column of numbers."""
    width = numbers.shape[1]
    found = np.zeros((starts.size - 1, width))
    for row in range(starts.size - 1):
        for entry in range(starts[row], starts[row + 1]):
            for column in range(width):
                found[row, column] += counts[entry] * numbers[places[entry], column]
    return found


@kernel
def connected(places: Any, starts: Any, width: int) -> Any:
    """For each place the lowest of those that rows connect it with."""
    lowest = np.arange(width)
    for row in range(starts.size - 1):
        for entry in range(starts[row] + 1, starts[row + 1]):
            one, other = places[entry - 1], places[entry]
            while lowest[one] != one:
                lowest[one] = lowest[lowest[one]]
                one = lowest[one]
            while lowest[other] != other:
                lowest[other] = lowest[lowest[other]]
                other = lowest[other]
            lowest[max(one, other)] = min(one, other)
    for place in range(width):
        lowest[place] = lowest[lowest[place]]
    return lowest
