"""Whole numbers that are kept for long, each array in the narrowest type that has room for it."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Ints

NEVER = np.iinfo(np.int64).max
"""What stands for no number; it takes no more room than others."""
KINDS = tuple((kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in (np.int8, np.int16, np.int32))
"""The types, from the narrowest on, with the room that they have."""
FEW = 64
"""Fewer numbers than this take little room whatever their type, and are kept as they are."""


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
    """The same numbers in the narrowest type, where they are many; there the largest stands for `NEVER`."""
    if numbers.size < FEW:
        return numbers
    low, high = int(numbers.min()), int(numbers.max())
    never = numbers == NEVER if high == NEVER else None
    if never is not None:
        there = np.where(never, 0, numbers)
        low, high = int(there.min()), int(there.max())
    for kind, least, most in KINDS:
        if least <= low and high < most:
            kept = numbers.astype(kind)
            if never is not None:
                kept[never] = most
            return kept
    return numbers


def whole(kept: npt.NDArray[Any]) -> Ints:
    """What `narrow` made narrow."""
    if kept.dtype == np.int64:
        return kept
    numbers: Ints = kept.astype(np.int64)
    numbers[kept == np.iinfo(kept.dtype).max] = NEVER
    return numbers
