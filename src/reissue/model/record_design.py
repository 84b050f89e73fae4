"""RecordDesign: with what probability each set of whole records is shown, where several columns are sensitive. Public.

A record has a value for each sensitive column. A set S has m places, and n_r(S) of them are taken by the record r: m
p_r on average, with p its reference share. Somebody with the record r is shown S with P(S | r) = P(S) n_r(S) / (m p_r):
whoever expects r with probability p_r and sees S expects it with n_r(S) / m, and a value of a column with (how many of
the m records have it) / m. Two limits hold in every set: a record takes no more than `most` places, and a value no more
than `room`, which is its own in each column.

With three columns or more some sets would go beyond a limit, and are drawn again. Posteriors are then up to `factor`
times what a set shows, which is stated (`reasoning.alternatives.record_excess`).

A record with a share above 1/m must be in some sets more than once; so it may take several places, openly, as a
frequent value does. All others take one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import ParameterError
from reissue.model.design import ROUNDING
from reissue.model.parameters import Validation

LEAST_SHARE = 1e-7
"""Walks are exact enough for such shares, and sums of many records are not for much smaller ones."""
EXACT = 2
"""The limits of so many columns always hold together; those of more columns need not (`RecordDesign.yielding`)."""


@dataclass(frozen=True, eq=False, repr=False)
class RecordDesign:
    """With what probability each set of m records is shown. Records, and the values of each column, count from 0."""

    m: int
    """How many places a set has."""
    records: Ints
    """A row for each record, a column for each sensitive column: the number of its value. All different."""
    shares: Floats
    """The reference shares of records, at least `LEAST_SHARE` and 1 together."""
    most: Ints
    """How many places each record takes at most."""
    room: tuple[Ints, ...]
    """For each column, how many of the m records may have each of its values; m where there is no limit."""
    factor: float = 1.0
    """So many times what a set shows a posterior may be, at most: 1 for two columns."""

    def __post_init__(self) -> None:
        check = Validation(self)
        check.whole("m", least=2)
        check.real("factor", least=1)
        kinds: dict[str, Any] = {"records": np.int64, "shares": np.float64, "most": np.int64}
        for name, kind in kinds.items():
            if (array := _frozen(getattr(self, name), kind)) is None:
                check.wrong(name, f"an array of {kind.__name__}", "something else")
            else:
                check.replace(name, array)
        room = [_frozen(one, np.int64) for one in self.room] if isinstance(self.room, Sequence) else [None]
        if any(one is None or one.ndim != 1 or not one.size for one in room):
            check.wrong("room", "a list of whole numbers for each column", "something else")
        check.finish()
        check.replace("room", tuple(room))
        self._check_records(check)
        check.finish()
        self._check_limits(check)
        check.finish()

    def _check_records(self, check: Validation) -> None:
        records, shares = self.records, self.shares
        if records.ndim != 2 or not records.size or records.shape[1] != len(self.room):
            check.wrong("records", "a list of records, each with a value for each column of 'room'", "another list")
            return
        least, above = records.min(axis=0), records.max(axis=0)
        if (least < 0).any() or any(int(top) >= room.size for top, room in zip(above, self.room, strict=True)):
            check.wrong("records", "made of values that have a number in 'room'", "a list with others")
        elif len(np.unique(records, axis=0)) < len(records):
            check.wrong("records", "a list of different records", "one with some of them twice")
        sound = shares.shape == (len(records),) and np.isfinite(shares).all() and (shares >= LEAST_SHARE).all()
        if not sound or abs(shares.sum() - 1) > ROUNDING:
            check.wrong("shares", f"a number of at least {LEAST_SHARE} for each record, 1 together", "another list")
        if self.most.shape != (len(records),) or (self.most < 1).any() or (self.most > self.m).any():
            check.wrong("most", f"a whole number from 1 to {self.m} for each record", "another list")
        if any((room < 1).any() or (room > self.m).any() for room in self.room):
            check.wrong("room", f"a whole number from 1 to {self.m} for each value of each column", "another list")

    def _check_limits(self, check: Validation) -> None:
        if (self.expected > self.most + ROUNDING).any():
            check.wrong("most", "at least m times the share of each record", "less for some of them")
        for column, room in enumerate(self.room):
            if (self.m * self.margin(column) > room + ROUNDING).any():
                check.wrong("room", "at least m times the share of each value", f"less in column number {column}")

    @property
    def values(self) -> int:
        """How many records there are."""
        return len(self.records)

    @property
    def columns(self) -> int:
        """How many sensitive columns there are."""
        return len(self.room)

    @property
    def expected(self) -> Floats:
        """How many places of a set each record takes on average."""
        return self.m * self.shares

    def margin(self, column: int) -> Floats:
        """The reference shares of the values of a column."""
        sums = np.bincount(self.records[:, column], weights=self.shares, minlength=self.room[column].size)
        return sums.astype(np.float64)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The columns, those with the most values first: their limits are the narrowest."""
        return narrowest_first([room.size for room in self.room])

    @property
    def yielding(self) -> tuple[int, ...]:
        """The columns of which a value may now and then have more than its room: all but two, the last in `order`."""
        return self.order[EXACT:]

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for a file."""
        return {
            "m": self.m,
            "records": self.records.tolist(),
            "shares": self.shares.tolist(),
            "most": self.most.tolist(),
            "room": [room.tolist() for room in self.room],
            "factor": self.factor,
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> RecordDesign:
        """The design that `to_dict` wrote, to the last bit."""
        names = ("m", "records", "shares", "most", "room", "factor")
        try:
            m, records, shares, most, room, factor = (written[name] for name in names)
            return cls(m, records, shares, most, tuple(room), factor)
        except (KeyError, TypeError, ValueError) as wrong:
            if isinstance(wrong, ParameterError):
                raise
            raise ParameterError(
                f"A design of records must have {', '.join(names)}: numbers and lists of numbers. "
                "Got something else instead.",
                hint="take the file as it was published.",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordDesign) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"RecordDesign({len(self.records):,} records of {self.columns} columns, m={self.m})"

    @cached_property
    def _content(self) -> tuple[object, ...]:
        arrays = (self.records, self.shares, self.most, *self.room)
        return (self.m, self.factor, *(array.shape for array in arrays), *(array.tobytes() for array in arrays))


def narrowest_first(values: Sequence[int]) -> tuple[int, ...]:
    """Columns with so many values in the order in which limits are kept: where there are more, they are narrower."""
    return tuple(sorted(range(len(values)), key=lambda column: (-values[column], column)))


def _frozen(given: Any, kind: Any) -> Any:
    """A copy that nobody can change; None if it is no array of this kind."""
    try:
        array = np.asarray(given)
    except ValueError:
        return None
    if array.dtype == object or (array.size and not np.can_cast(array.dtype, kind)):
        return None
    array = array.astype(kind)
    array.setflags(write=False)
    return array
