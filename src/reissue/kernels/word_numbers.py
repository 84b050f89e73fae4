"""A compiled pass that numbers words: the same number for the same word, in the order in which they first come."""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel

MIXER = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Spreads words over the table by their upper bits, whatever they have in common below."""


@kernel
def number_words(words: Any, shift: int, known: Any, number_of: Any, numbers: Any, first: Any) -> int:
    """Fill `numbers`, for each word, and `first`, where each word first stands; how many there are is returned.

    `known` and `number_of` are a table with room for twice as many words, 2^(64 - shift) in all; `number_of` is -1.
    """
    count, last, down = 0, known.size - 1, np.uint64(shift)
    for at in range(words.size):
        word = words[at]
        place = np.int64((word * MIXER) >> down)
        while number_of[place] >= 0 and known[place] != word:
            place = (place + 1) & last
        if number_of[place] < 0:
            known[place], number_of[place] = word, count
            first[count] = at
            count += 1
        numbers[at] = number_of[place]
    return count
