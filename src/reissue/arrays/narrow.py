"""Whole numbers that are kept for long, each array in the narrowest type that has room for it."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Ints

NEVER = np.iinfo(np.int64).max
"""What stands for no number; it takes no more room than others."""
KINDS = (np.int8, np.int16, np.int32)


class Narrow:
    """A field of a dataclass, or another attribute: narrow while it is kept, int64 as often as it is read.

    first: Narrow = Narrow()
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Narrow: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Ints: ...

    def __get__(self, instance: object | None, owner: type) -> Narrow | Ints:
        """The numbers as they were given."""
        if instance is None:
            # A dataclass asks for the default, and there is none.
            raise AttributeError(self._name)
        return whole(instance.__dict__[self._name])

    def __set__(self, instance: object, numbers: Ints) -> None:
        """Keep numbers."""
        instance.__dict__[self._name] = narrow(numbers)


def narrow(numbers: Ints) -> npt.NDArray[Any]:
    """The same numbers in the narrowest type; there the largest stands for `NEVER`."""
    never = numbers == NEVER
    there = np.where(never, 0, numbers)
    low, high = int(there.min(initial=0)), int(there.max(initial=0))
    for kind in KINDS:
        room = np.iinfo(kind)
        if room.min <= low and high < room.max:
            kept = there.astype(kind)
            kept[never] = room.max
            return kept
    return numbers


def whole(kept: npt.NDArray[Any]) -> Ints:
    """What `narrow` made narrow."""
    numbers: Ints = kept.astype(np.int64)
    if kept.dtype != np.int64:
        numbers[kept == np.iinfo(kept.dtype).max] = NEVER
    return numbers
