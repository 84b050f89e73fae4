"""Snapshot: one state of a private table, coded to small integer columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.hierarchy import Hierarchy

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, repr=False)
class Numbers:
    """Levels of a numeric column, ascending. Code 0 stands for a missing value where `missing` is set."""

    values: npt.NDArray[np.float64]
    """The number behind each code, as a float; NaN for the missing value at code 0."""
    dtype: pl.DataType
    """The type of the column in the table: integers, floats, dates or datetimes."""
    missing: bool
    """Whether code 0 is the missing value."""
    low: float
    """The lowest number of the domain: declared, or the lowest seen so far in the series."""
    high: float
    """The highest number of the domain."""


@dataclass(frozen=True, repr=False)
class Labels:
    """Levels of a plain categorical column, in their order. A missing value is the label MISSING."""

    labels: tuple[str, ...]
    """The label behind each code; all of the domain seen so far in the series."""


@dataclass(frozen=True, repr=False)
class Leaves:
    """Levels of a column with a hierarchy: code c is the leaf at position c of `hierarchy.leaves`."""

    hierarchy: Hierarchy


Levels = Numbers | Labels | Leaves


@dataclass(frozen=True, repr=False)
class Column:
    """One coded column: the order of codes is the order of values."""

    name: str
    codes: Codes
    levels: Levels
