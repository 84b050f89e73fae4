"""Draws that are as fine as they have to be: one number out of many, made longer by random words as it is used up.

The draw is state[0] out of state[1], and state[2] counts the 16 bits of the words that were used. Whoever decides
something by it keeps what is left, which is as good a draw as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner

ENOUGH = np.uint64(1) << np.uint64(48)
"""A draw has at least so many equally likely outcomes left when it decides something."""


@inner
def more(words: Any, state: Any) -> bool:
    """Make sure that the draw, state[0] out of state[1], is fine enough, with 16 bits of the words at a time."""
    while state[1] < ENOUGH:
        place = state[2] // np.uint64(4)
        if place >= words.size:
            return False
        bits = (words[place] >> (np.uint64(48) - np.uint64(16) * (state[2] % np.uint64(4)))) & np.uint64(0xFFFF)
        state[0] = (state[0] << np.uint64(16)) | bits
        state[1] = state[1] << np.uint64(16)
        state[2] += np.uint64(1)
    return True
