"""The sensitive values that a release may show: those of the table, and those of signatures given before.

Codes of a table say nothing about another one: labels are added, numbers come and go. Signatures are
remembered by value and matched to the codes of the present table here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import Refused, count_of
from reissue.model.snapshot import Column, Labels, Levels, Numbers

_MISSING = -np.inf
"""Stands for a missing number while numbers are ordered: unlike NaN it equals itself."""


@dataclass(frozen=True, repr=False)
class ValueSpace:
    """Sensitive values in their order, and the place of each row's value among them."""

    values: tuple[object, ...]
    """Labels as text, numbers as floats, None for a missing number."""
    rows: Ints
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
        return cls(labels, column.codes.astype(np.int64), column.levels)

    def __len__(self) -> int:
        return len(self.values)

    def decode(self, places: Ints) -> pl.Series:
        """The cells for values at these places, as they stand in a table."""
        if not isinstance(self.levels, Numbers):
            return self.levels.decode(places)
        numbers = np.array([np.nan if value is None else value for value in self.values], dtype=np.float64)
        return replace(self.levels, values=numbers, missing=True).decode(places)
