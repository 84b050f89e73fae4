"""One type for each sort of value: what differs only in width, unit or time zone is made the same.

So the same table gives the same codes and the same public bytes whichever library it came from.
"""

from __future__ import annotations

from typing import Any

import polars as pl

EXACT = 2**53
"""Whole numbers beyond this are not all exact as floats, so they cannot be coded."""


def type_of(dtype: pl.DataType) -> str:
    """A column's type in the words of a user."""
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_float() or dtype.is_decimal():
        return "decimals"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if isinstance(dtype, pl.Datetime):
        return "times with a zone" if dtype.time_zone else "times"
    names = {pl.Boolean: "yes or no", pl.Date: "dates", pl.Null: "nothing"}
    # The full name of a type can list labels; that of its family cannot.
    return names.get(dtype.base_type(), f"values of type {dtype.base_type().__name__}")


def plain_numbers(series: pl.Series, known: str | None) -> pl.Series | str:
    """Numbers as Int64 or Float64, dates, or times in microseconds (UTC where they have a zone).

    `known` is the type of earlier releases: 5.0 for 5 is how some libraries store whole numbers beside
    missing ones, which is no change. Where that cannot be done without loss: what is wrong.
    """
    dtype = series.dtype
    if series.null_count() == series.len() and not (dtype.is_numeric() or dtype.is_temporal()):
        types = {"decimals": pl.Float64(), "dates": pl.Date(), "times": pl.Datetime("us")}
        return pl.Series(series.name, [None] * series.len(), dtype=types.get(known or "", pl.Int64()))
    if dtype.is_decimal() and known == "whole numbers" and (plain := whole_numbers(series)) is not None:
        return plain
    if dtype.is_integer() or dtype.is_decimal():
        if _largest(series) >= EXACT:
            return "holds numbers beyond 2^53, which cannot be told apart exactly"
        return series.cast(pl.Float64 if dtype.is_decimal() or known == "decimals" else pl.Int64)
    if dtype.is_float():
        numbers = series.cast(pl.Float64).fill_nan(None)
        if numbers.is_infinite().any():
            return f"{int(numbers.is_infinite().sum()):,} numbers not finite"
        whole = whole_numbers(numbers) if known == "whole numbers" else None
        return numbers if whole is None else whole
    if dtype == pl.Date:
        return series.cast(pl.Datetime("us")) if known == "times" else series
    if isinstance(dtype, pl.Datetime):
        return _plain_times(series, dtype, known)
    return (
        f"holds {type_of(dtype)}; Numeric needs numbers, dates or times: turn the column into these, or declare it as "
        'Categorical (`kind = "categorical"` in a policy file)'
    )


def _plain_times(series: pl.Series, dtype: pl.Datetime, known: str | None) -> pl.Series | str:
    if known == "dates" and dtype.time_zone is None and (series == series.dt.truncate("1d")).all():
        return series.cast(pl.Date)  # midnight is how some libraries store a date
    if dtype.time_unit == "ns" and (series.to_physical() % 1000 != 0).any():
        return "holds times finer than microseconds; round them"
    times = series.dt.cast_time_unit("us")
    if times.len() and _largest(times.to_physical()) >= EXACT:
        return "holds times before the year 1685 or after 2254, which cannot be told apart exactly"
    return times.dt.convert_time_zone("UTC") if dtype.time_zone else times


def whole_numbers(series: pl.Series) -> pl.Series | None:
    """Decimals that are whole numbers, as such, and missing where they are no numbers; None where one is not whole.

    Some libraries keep whole numbers beside missing ones as 1.0, spreadsheets always do.
    """
    numbers = series.cast(pl.Float64).fill_nan(None) if series.dtype.is_float() else series
    if _largest(numbers) >= EXACT or not (numbers == numbers.round()).all():
        return None
    return numbers.cast(pl.Int64)


def dates_of_midnights(series: pl.Series) -> pl.Series:
    """Times without a zone as dates, where all are midnight; anything else as it is.

    Libraries and spreadsheets that have no dates keep them like this.
    """
    dtype = series.dtype
    if not isinstance(dtype, pl.Datetime) or dtype.time_zone is not None or series.null_count() == series.len():
        return series
    return series.cast(pl.Date) if (series == series.dt.truncate("1d")).all() else series


def plain_text(series: pl.Series) -> pl.Series | None:
    """Labels as text, or None where the type has no plain text."""
    dtype = series.dtype
    labels = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Null) or dtype.is_integer()
    return series.cast(pl.String) if labels else None


def _largest(series: pl.Series) -> float:
    """The largest number, whatever its sign."""
    bounds: list[Any] = [bound for bound in (series.min(), series.max()) if bound is not None]
    return max((abs(float(bound)) for bound in bounds), default=0.0)
