"""The same values in another type: 7 and "7", true and "true", a date and its text.

Files and libraries keep the same column in different types: a CSV file has text where pandas has whole numbers. A
column that earlier releases had in one type is taken in another where every value is written in one way only, so that
it is the same label and the same person. Where it is not, "007" beside 7 or "True" beside true, nothing is changed,
and the column is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from reissue.tables.plain import dates_of_midnights, type_of, whole_numbers

_PLAIN = r"^(0|-?[1-9]\d{0,17})$"
"""A whole number as it is written in one way only; with more digits it may not fit."""
_NUMBER = r"^\s*[+-]?\d+([.,]\d*)?\s*$"
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_YES_OR_NO = ("true", "false")


def plain_labels(series: pl.Series) -> pl.Series:
    """Labels and ids that a library keeps otherwise: 1.0 for 1 beside missing cells, midnights for dates."""
    if series.dtype.is_float() or series.dtype.is_decimal():
        whole = whole_numbers(series)
        return series if whole is None else whole
    return dates_of_midnights(series)


def as_held(series: pl.Series, held: str | None, texts: Callable[[], pl.Series]) -> pl.Series:
    """A column in the type that earlier releases had it in, where no value can be meant otherwise; or as it is.

    `texts` gives what the column held as text in earlier releases.
    """
    holds = type_of(series.dtype)
    if held == holds or held is None:
        return series
    if holds == "text":
        return _from_text(series.cast(pl.String), held)
    if held != "text" or holds not in ("whole numbers", "yes or no", "dates"):
        return series
    known = texts().drop_nulls()
    if holds == "whole numbers":
        plain = known.str.contains(_PLAIN)
        # Where there was no number at all, it is another column.
        fits = plain.any() and not (known.str.contains(_NUMBER) & ~plain).any()
    elif holds == "dates":
        fits = known.len() > 0 and known.str.contains(_DATE).all()
    else:
        fits = known.len() > 0 and known.is_in(_YES_OR_NO).all()
    return series.cast(pl.String) if fits else series


def ids_as_held(ids: pl.Series, held: str | None, known: Callable[[], pl.Series] | None) -> pl.Series:
    """Ids in the type that earlier releases had them in. Whole numbers are taken for text only where all ids known are
    whole numbers, written in one way only; `known` gives them, None where they are hashed."""
    holds = type_of(ids.dtype)
    if holds == "text" and held == "whole numbers":
        return _from_text(ids, held)
    if holds == "whole numbers" and held == "text" and known is not None:
        texts = known().drop_nulls()
        return ids.cast(pl.String) if texts.len() and texts.str.contains(_PLAIN).all() else ids
    return ids


def _from_text(text: pl.Series, held: str) -> pl.Series:
    if held == "whole numbers" and text.str.contains(_PLAIN).all():
        return text.cast(pl.Int64)
    if held == "yes or no" and text.is_in(_YES_OR_NO).all():
        return text == "true"
    if held == "dates" and text.str.contains(_DATE).all():
        dates = text.str.to_date("%Y-%m-%d", strict=False)
        return dates if dates.null_count() == text.null_count() else text
    return text
