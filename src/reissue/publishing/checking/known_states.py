"""States: a digest of a table, by which the same state is known again however many releases lie between."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.types import Ints
from reissue.model.domain import GROUP, PERSON
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks


def state_of(rows: pl.DataFrame, facts: pl.DataFrame | None = None, extinct: pl.DataFrame | None = None) -> str:
    """The digest of who is in a table with which values, in person numbers; not of the order of its rows or labels."""
    found = hashlib.sha256()
    parts = {"rows": rows, "facts": facts, "extinct": extinct}
    for name, frame in parts.items():
        if frame is None or not frame.height:
            continue
        columns = {column: _numbers(frame[column]) for column in sorted(set(frame.columns) - {GROUP})}
        order = _order(name, columns)
        found.update(f"{name} {frame.height}".encode())
        for column, numbers in columns.items():
            found.update(f"\0{column}\0".encode())
            found.update(np.ascontiguousarray(numbers[order]).data)
    return found.hexdigest()


def _order(part: str, columns: Mapping[str, Ints]) -> Ints:
    """The places of the rows by person; of somebody's several values, by value."""
    if part == "rows":
        return ascending(columns[PERSON])
    return np.lexsort(tuple(columns.values()))


def _numbers(column: pl.Series) -> Ints:
    """A whole number for each cell: that of a number or moment itself, that of a label from its letters."""
    if column.dtype in (pl.String, pl.Categorical):
        column = column.cast(pl.String).cast(pl.Enum(column.cast(pl.String).drop_nulls().unique().sort()))
    if isinstance(column.dtype, pl.Enum):
        labels = b"".join(hashlib.blake2b(one.encode(), digest_size=8).digest() for one in column.dtype.categories)
        table = np.append(np.frombuffer(labels, dtype=np.int64), np.int64(0))  # the last one for what is missing
        codes = column.to_physical().cast(pl.Int64).fill_null(table.size - 1)
        of_labels: Ints = table[codes.to_numpy()]
        return of_labels
    if column.dtype.is_float():
        values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        bits: Ints = (values + 0.0).view(np.int64)  # -0.0 and 0.0 are one number
        return bits
    return column.to_physical().cast(pl.Int64).fill_null(np.iinfo(np.int64).min).to_numpy()


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
