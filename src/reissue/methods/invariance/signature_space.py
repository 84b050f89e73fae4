"""Signatures as sets of places in a value space, with the numbers under which a series remembers them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.types import Ints
from reissue.methods.invariance.value_space import ValueSpace
from reissue.reasoning.history.stays import Stays, in_order


class Signatures:
    """The signatures of a series; one that is new gets the next number, one used long ago its old one."""

    def __init__(self, stays: Stays, space: ValueSpace) -> None:
        self._before = stays
        self._space = space
        self._place = {value: place for place, value in enumerate(space.values)}
        self._order = list(stays.signatures)
        self._number = {signature: number for number, signature in enumerate(stays.signatures)}

    @property
    def stays(self) -> Stays:
        """Everybody's stays, with the signatures that were added."""
        new = self._order[len(self._before.signatures) :]
        return self._before.signature_ids(new)[0] if new else self._before

    def number(self, places: Sequence[int]) -> int:
        """The number of the signature with the values at these places."""
        signature = in_order([self._space.values[place] for place in places])
        if signature not in self._number:
            self._number[signature] = len(self._order)
            self._order.append(signature)
        return self._number[signature]

    def order(self, number: int) -> Ints:
        """The places of a signature's values, in the order in which it is remembered."""
        return np.array([self._place[value] for value in self._order[number]], dtype=np.int64)
