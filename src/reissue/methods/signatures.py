"""Signatures as sets of places in a value space, with the numbers under which a series remembers them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reissue.methods.value_space import ValueSpace
from reissue.reasoning.stays import Stays

Ints = npt.NDArray[np.int64]


class Signatures:
    """The signatures of a series; one that is new gets the next number, one used long ago its old one."""

    def __init__(self, stays: Stays, space: ValueSpace) -> None:
        self.stays = stays
        """With the signatures that were added."""
        self._space = space
        self._place = {value: place for place, value in enumerate(space.values)}

    def number(self, places: Sequence[int]) -> int:
        """The number of the signature with the values at these places."""
        self.stays, numbers = self.stays.signature_ids([[self._space.values[place] for place in places]])
        return int(numbers[0])

    def order(self, number: int) -> Ints:
        """The places of a signature's values, in the order in which it is remembered."""
        return np.array([self._place[value] for value in self.stays.signatures[number]], dtype=np.int64)
