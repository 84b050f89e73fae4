"""The sensitive values that a release may show: those of the table, and those of signatures given before.

Codes of a table say nothing about another one: labels are added, numbers come and go. Signatures are remembered by
value, each under a number, and matched here to places among the values of the present table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import Refused, count_of
from reissue.model.records import Records
from reissue.model.snapshot import Column, Labels, Levels, Numbers
from reissue.reasoning.history.stays import Stays, in_order

_MISSING = -np.inf
"""Stands for a missing number while numbers are ordered: unlike NaN it equals itself."""


@dataclass(frozen=True, repr=False)
class ValueSpace:
    """Sensitive values in their order, and the place of each row's value among them."""

    values: tuple[object, ...]
    """Labels as text, numbers as floats, None for a missing number."""
    rows: npt.NDArray[np.integer]
    """For each row of the table the place of its value."""
    levels: Levels

    @classmethod
    def of(cls, column: Column, signatures: Sequence[Sequence[object]]) -> ValueSpace:
        """The values of a sensitive column and of signatures."""
        remembered = {value for signature in signatures for value in signature}
        if isinstance(column.levels, Numbers):
            numbers = np.where(np.isnan(column.levels.values), _MISSING, column.levels.values)
            old = [value if isinstance(value, float) else _MISSING for value in remembered]
            united = np.union1d(numbers, np.array(old, dtype=np.float64))
            places = np.searchsorted(united, numbers)[column.codes]
            values = tuple(None if number == _MISSING else number for number in united.tolist())
            return cls(values, places.astype(np.int64), column.levels)
        labels = column.levels.labels if isinstance(column.levels, Labels) else column.levels.hierarchy.leaves
        lost = remembered.difference(labels)
        if lost:
            raise Refused(
                f"{count_of(len(lost), 'sensitive value')} of earlier releases cannot occur in '{column.name}' any "
                "more, so people published with them cannot be grouped as before.",
                hint="put them back into the policy; a value that nobody has any more does no harm.",
            )
        if isinstance(column.levels, Records):
            # Neighbours share values of columns, and buckets take neighbours where nothing else decides.
            order = sorted(range(len(labels)), key=lambda at: hashlib.blake2b(labels[at].encode()).digest())
            place = np.argsort(order)
            return cls(tuple(labels[at] for at in order), place[column.codes], column.levels)
        return cls(labels, column.codes, column.levels)

    def __len__(self) -> int:
        return len(self.values)

    def decode(self, places: Ints) -> pl.Series:
        """The cells for values at these places, as they stand in a table; labels as text."""
        if not isinstance(self.levels, Numbers):
            return pl.Series([self.values[place] for place in places.tolist()], dtype=pl.String)
        numbers = np.array([np.nan if value is None else value for value in self.values], dtype=np.float64)
        return replace(self.levels, values=numbers, missing=True).decode(places)


class SignatureNumbers:
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
