"""States: a digest of a table, by which the same state is known again however many releases lie between."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import narrow_ascending
from reissue.arrays.types import Ints
from reissue.model.domain import GROUP, PERSON
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks

AT_ONCE = 1 << 18
"""So many cells are told at a time."""


def state_of(rows: pl.DataFrame, facts: pl.DataFrame | None = None, extinct: pl.DataFrame | None = None) -> str:
    """The digest of who is in a table with which values, in person numbers; not of the order of its rows or labels."""
    found = hashlib.sha256()
    parts = {"rows": rows, "facts": facts, "extinct": extinct}
    for name, frame in parts.items():
        if frame is None or not frame.height:
            continue
        columns = sorted(set(frame.columns) - {GROUP})
        order = _order(name, frame.select(columns))
        found.update(f"{name} {frame.height}".encode())
        for column in columns:
            found.update(f"\0{column}\0".encode())
            told = _told(frame[column])
            for begin in range(0, order.size, AT_ONCE):
                found.update(np.ascontiguousarray(told.numbers(order[begin : begin + AT_ONCE])).data)
    return found.hexdigest()


def _order(part: str, frame: pl.DataFrame) -> npt.NDArray[np.integer]:
    """The places of the rows by person; of somebody's several values, by value."""
    if part == "rows":
        return narrow_ascending(frame[PERSON].to_numpy())
    every = slice(None)
    return np.lexsort(tuple(_told(column).numbers(every) for column in frame))


@dataclass(frozen=True, repr=False)
class _Told:
    """A column whose cells are told as whole numbers."""

    cells: npt.NDArray[Any]
    of_labels: Ints | None = None
    """The number of each label, where cells are places of labels."""

    def numbers(self, rows: npt.NDArray[np.integer] | slice) -> Ints:
        """The numbers of some rows."""
        cells = self.cells[rows]
        if self.of_labels is not None:
            found: Ints = self.of_labels[cells]
            return found
        if cells.dtype.kind == "f":
            bits: Ints = (cells + 0.0).view(np.int64)  # -0.0 and 0.0 are one number
            return bits
        return cells.astype(np.int64, copy=False)


def _told(column: pl.Series) -> _Told:
    """A whole number for each cell: that of a number or moment itself, that of a label from its letters."""
    if column.dtype in (pl.String, pl.Categorical):
        column = column.cast(pl.String).cast(pl.Enum(column.cast(pl.String).drop_nulls().unique().sort()))
    if isinstance(column.dtype, pl.Enum):
        labels = b"".join(hashlib.blake2b(one.encode(), digest_size=8).digest() for one in column.dtype.categories)
        table = np.append(np.frombuffer(labels, dtype=np.int64), np.int64(0))  # the last one for what is missing
        codes = column.to_physical()
        if codes.has_nulls():
            codes = codes.cast(pl.Int64).fill_null(table.size - 1)
        return _Told(codes.to_numpy(), table)
    if column.dtype.is_float():
        return _Told(column.cast(pl.Float64).fill_null(float("nan")).to_numpy())
    numbers = column.to_physical()
    if numbers.has_nulls() or not numbers.dtype.is_integer():
        numbers = numbers.cast(pl.Int64).fill_null(np.iinfo(np.int64).min)
    return _Told(numbers.to_numpy())


def same_state(state: str, states: Callable[[int], Mapping[int, str]], people: int, checks: Checks) -> Failed | None:
    """Whether the table is that of an earlier release."""
    if checks.same_state == "accept":
        return None
    before = [number for number, known in states(people).items() if known == state]
    if not before:
        return None
    where = f"release {before[0]}" if len(before) == 1 else f"releases {', '.join(map(str, before))}"
    return Failed(
        "same-state",
        f"nothing in the table differs from that of {where}: the same state would be published once more",
        "check that it is the right file",
    )
