"""Conditions: which rows of a public table satisfy them, or which share of a row's region does.

A condition is a label, a collection of labels, or, for a column of numbers or dates, a number or a pair of first and
last. `Range` and `Excluded` are what only a text can say (`condition_texts.py`). Within a group, people are taken to be
spread evenly over the published region: over the whole numbers (or days) of an interval, along an interval of decimals,
over the labels of a set, over the leaves of a hierarchy's label.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from reissue.arrays.types import Floats
from reissue.errors import HierarchyError, ParameterError, count_of, listed
from reissue.model.hierarchy import MISSING, Hierarchy
from reissue.tables.recode import set_labels

POINT = 1e-12
"""What a point counts of an interval of decimals."""

Condition = object
Conditions = Mapping[str, Condition]


@dataclass(frozen=True)
class Range:
    """From the first to the last; None where there is no end, and an end may itself be left out."""

    first: Any = None
    last: Any = None
    above: bool = False
    """Whether the first is itself left out."""
    below: bool = False
    """Whether the last is itself left out."""

    def within(self, other: Range) -> Range:
        """What both admit."""
        begins = [(one.first, one.above) for one in (self, other) if one.first is not None]
        ends = [(one.last, not one.below) for one in (self, other) if one.last is not None]
        first, above = max(begins, default=(None, False))
        last, with_last = min(ends, default=(None, True))
        return Range(first, last, above, not with_last)


@dataclass(frozen=True)
class Excluded:
    """All labels but these."""

    labels: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class QuasiColumns:
    """How the quasi-identifiers of a public table are written."""

    columns: tuple[str, ...]
    """As the private table named them: `age`, not `age_low`."""
    intervals: frozenset[str]
    """Those published as a lowest and a highest number."""
    exact: frozenset[str]
    """Those published as they are: a condition admits a row or does not."""
    hierarchies: Mapping[str, Hierarchy]
    elsewhere: Callable[[str], Collection[str]] | None = None
    """The labels of a column in other releases of the series: one that stands only there is not misspelt."""
    marked: frozenset[str] = frozenset()
    """Those intervals beside which it stands whether somebody of the region has no number."""

    def needed(self, names: Iterable[str]) -> list[str]:
        """The columns of the table that these are written in."""
        return [column for name in names for column in self._written(name)]

    def _written(self, name: str) -> list[str]:
        if name not in self.intervals:
            return [name]
        ends = [f"{name}_low", f"{name}_high"]
        return [*ends, f"{name}_missing"] if name in self.marked else ends

    def lacking(self, name: str) -> pl.Expr:
        """For each row whether somebody of its region may have no number; in CSV files yes and no are texts."""
        return pl.col(f"{name}_missing").cast(pl.String) == "true" if name in self.marked else pl.lit(False)

    def is_exact(self, table: pl.DataFrame, name: str) -> bool:
        """Whether every row has one value of this column."""
        return name not in self.intervals and (name in self.exact or is_number(table[name].dtype))


def check_columns(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse columns that are not published."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ParameterError(f"There is no published column {listed(unknown)}. There are {listed(sorted(known), 40)}.")


def interval_columns(columns: Collection[str]) -> frozenset[str]:
    """The columns that are published as a lowest and a highest number."""
    endings = {name.removesuffix("_low") for name in columns if name.endswith("_low")}
    return frozenset(name for name in endings if f"{name}_high" in columns)


def shares(table: pl.DataFrame, where: Conditions, published: QuasiColumns) -> Floats:
    """For each row the share of its region that all conditions admit; of exact columns all or nothing."""
    share = pl.repeat(1.0, pl.len())
    for name, condition in where.items():
        share = share * share_of(table, name, condition, published)
    return table.select(share.alias("share")).to_series().to_numpy()


def share_of(
    table: pl.DataFrame, name: str, condition: Condition, published: QuasiColumns, bin_of: Range | None = None
) -> pl.Expr:
    """For each row the share of its region that one condition admits, of an interval also within a bin."""
    if name in published.intervals:
        share = _interval_share(table, name, condition, bin_of)
        # Whoever has no number satisfies no condition, and it is not said who that is.
        return pl.when(published.lacking(name)).then(share.clip(upper_bound=1 - POINT)).otherwise(share)
    if published.is_exact(table, name):
        return pl.lit(matches(table[name], condition, published.elsewhere).cast(pl.Float64))
    return _label_share(table[name], condition, published)


def share_without(name: str, published: QuasiColumns) -> pl.Expr:
    """For each row the share of its interval that has no number: all, nobody, or so few as can be where some have
    none, as it is not said how many."""
    few = pl.when(published.lacking(name)).then(POINT).otherwise(0.0)
    return pl.when(pl.col(f"{name}_low").is_null()).then(1.0).otherwise(few)


def is_number(dtype: pl.DataType) -> bool:
    """Whether a column has numbers or times, which have an order that conditions can use."""
    return dtype.is_numeric() or dtype.is_temporal()


def matches(
    column: pl.Series, condition: Condition, elsewhere: Callable[[str], Collection[str]] | None = None
) -> pl.Series:
    """Which exact values satisfy a condition; nobody without a value does.

    `elsewhere` gives further labels of a column that may be asked for, though nobody here has them.
    """
    if is_number(column.dtype):
        if isinstance(condition, Excluded):
            return column.is_not_null() & ~matches(column, list(condition.labels))
        if isinstance(condition, Collection) and not isinstance(condition, str | tuple):
            either = column.is_null() & False
            for one in condition:
                either |= matches(column, one)
            return either
        asked = bounds(condition, column.dtype)
        fits = column.is_not_null()
        if asked.first is not None:
            fits &= column > asked.first if asked.above else column >= asked.first
        if asked.last is not None:
            fits &= column < asked.last if asked.below else column <= asked.last
        return fits.fill_null(False)
    text = column.cast(pl.String)
    if isinstance(condition, Range):
        raise ParameterError(f"'{column.name}' is a column of labels: they have no order to compare by.")
    wanted = labels_of(condition)
    check_labels(column.name, wanted, text.unique().drop_nulls(), elsewhere)
    inside = text.is_in(wanted)
    return (~inside if isinstance(condition, Excluded) else inside).fill_null(False)


def bounds(condition: Condition, dtype: pl.DataType) -> Range:
    """What a condition on a column of numbers or times admits."""
    if isinstance(condition, Range):
        return Range(
            read_end(condition.first, dtype), read_end(condition.last, dtype), condition.above, condition.below
        )
    if isinstance(condition, tuple) and len(condition) == 2 and not any(isinstance(end, str) for end in condition):
        first, last = (read_end(end, dtype) for end in condition)
        if first is not None and last is not None and first > last:
            raise ParameterError("The first of a pair on a numeric column is larger than the last: nobody is between.")
        return Range(first, last)
    if condition is None:
        raise _no_number(dtype)
    one = read_end(condition, dtype)
    return Range(one, one)


def read_end(end: Any, dtype: pl.DataType) -> Any:
    """An end, which may be written as text, as the column has it."""
    if end is None:
        return None
    try:
        return _moment(end, dtype) if dtype.is_temporal() else _figure(end)
    except (ValueError, OverflowError):
        raise _no_number(dtype) from None


def _figure(end: Any) -> int | float:
    """A number to compare with."""
    number = float(end) if isinstance(end, str) else end.item() if isinstance(end, np.generic) else end
    if not isinstance(number, int | float) or math.isnan(float(number)):
        raise ValueError
    # No column has a whole number that is larger.
    return float(number) if isinstance(number, int) and abs(number) >= 2**63 else number


def _moment(end: Any, dtype: pl.DataType) -> datetime.date | datetime.time:
    """A date or time of the kind that a column has."""
    if dtype == pl.Time:
        made = datetime.time.fromisoformat(end) if isinstance(end, str) else end
        if not isinstance(made, datetime.time):
            raise ValueError
        return made
    moment = datetime.datetime.fromisoformat(end) if isinstance(end, str) else end
    if not isinstance(moment, datetime.date):  # which a datetime is, too
        raise ValueError
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time())
    if dtype == pl.Date:
        if moment.time() != datetime.time() or moment.tzinfo is not None:
            raise ValueError
        return moment.date()
    zone = getattr(dtype, "time_zone", None)
    if zone is None:
        if moment.tzinfo is not None:
            raise ValueError
        return moment
    there = ZoneInfo(zone)
    return moment.replace(tzinfo=there) if moment.tzinfo is None else moment.astimezone(there)


def _no_number(dtype: pl.DataType) -> ParameterError:
    if dtype.is_temporal():
        return ParameterError(
            "A condition on a column of dates or times is one of them, or a pair of the first and the last.",
            hint='"2020-03-01", or (datetime.date(2020, 3, 1), datetime.date(2020, 3, 31)); in a text '
            "day >= 2020-03-01 and day <= 2020-03-31.",
        )
    return ParameterError(
        "A condition on a column of numbers is a number, or a pair of the first and the last.",
        hint="60, or (60, 79); in a text age >= 60 and age <= 79.",
    )


def labels_of(condition: Condition) -> list[str]:
    """The labels a condition names, as text: yes and no are written as they are published."""
    if isinstance(condition, Excluded):
        return list(condition.labels)
    given = condition if isinstance(condition, Collection) and not isinstance(condition, str) else [condition]
    return [str(label).lower() if isinstance(label, bool | np.bool_) else str(label) for label in given]


def check_labels(
    name: str,
    wanted: Collection[str],
    published: Iterable[str],
    elsewhere: Callable[[str], Collection[str]] | None = None,
) -> None:
    """Refuse labels that stand nowhere, not in other releases either."""
    unknown = set(wanted).difference(published)
    if unknown and elsewhere is not None:
        unknown = unknown.difference(elsewhere(name))
    if unknown:
        # A zero would be wrong if the label is misspelt, or hidden behind one of a hierarchy.
        raise ParameterError(
            f"Asked for in '{name}', and stand nowhere in it: {listed(sorted(unknown))}.",
            hint="check the spelling; if the column was generalised along a hierarchy, pass it: on the command line "
            "--hierarchy column=file, in Python hierarchies={...}.",
        )


@dataclass(frozen=True)
class _Span:
    """What a condition admits of a column's numbers; of dates and times as they are counted."""

    begin: float = -math.inf
    end: float = math.inf
    above: bool = False
    below: bool = False

    @classmethod
    def of(cls, asked: Range, dtype: pl.DataType) -> _Span:
        """The same of a condition."""
        begin, end = (_physical(end, dtype) for end in (asked.first, asked.last))
        return cls(-math.inf if begin is None else begin, math.inf if end is None else end, asked.above, asked.below)

    def within(self, other: _Span) -> _Span:
        """What both admit."""
        begin, above = max((self.begin, self.above), (other.begin, other.above))
        end, at_end = min((self.end, not self.below), (other.end, not other.below))
        return _Span(begin, end, above, not at_end)

    def admits(self, point: float) -> bool:
        """Whether it admits one number."""
        first = point > self.begin if self.above else point >= self.begin
        return first and (point < self.end if self.below else point <= self.end)


def _interval_share(table: pl.DataFrame, name: str, condition: Condition, bin_of: Range | None) -> pl.Expr:
    """The share of each interval that a condition and a bin admit; people without a value satisfy no condition."""
    dtype = table[f"{name}_low"].dtype
    span = _Span() if bin_of is None else _Span.of(bin_of, dtype)
    if isinstance(condition, Excluded):
        return _span_share(name, span, dtype) - _points_share(name, condition.labels, span, dtype)
    if isinstance(condition, Collection) and not isinstance(condition, str | tuple):
        return _points_share(name, condition, span, dtype)
    return _span_share(name, span.within(_Span.of(bounds(condition, dtype), dtype)), dtype)


def _ends(name: str) -> tuple[pl.Expr, pl.Expr]:
    low, high = (pl.col(f"{name}{end}").to_physical().cast(pl.Float64) for end in ("_low", "_high"))
    return low, high


def _points_share(name: str, condition: Collection[Any], span: _Span, dtype: pl.DataType) -> pl.Expr:
    """The share of each interval that some of its numbers are."""
    points = {_Span.of(bounds(one, dtype), dtype) for one in condition}
    if any(one.begin != one.end for one in points):
        raise _no_number(dtype)
    inside = [one for one in points if span.admits(one.begin) and (dtype.is_float() or one.begin.is_integer())]
    if dtype.is_float():
        return pl.sum_horizontal(pl.lit(0.0), *(_span_share(name, one, dtype) for one in inside))
    # Counted before they are divided: a sum of parts may be off from 1 by rounding, and then nobody is certain.
    low, high = _ends(name)
    found = pl.sum_horizontal(
        pl.lit(0.0), *(((low <= one.begin) & (high >= one.begin)).cast(pl.Float64) for one in inside)
    )
    return (found / (high - low + 1.0)).fill_null(0.0)


def _span_share(name: str, span: _Span, dtype: pl.DataType) -> pl.Expr:
    """The share of each interval that lies in a span."""
    low, high = _ends(name)
    begin, end = span.begin, span.end
    if not dtype.is_float():
        # Whole numbers: count those inside.
        begin, end = (
            part if math.isinf(part) else rounded(part) for part, rounded in ((begin, math.ceil), (end, math.floor))
        )
        begin = begin + 1 if span.above and begin == span.begin else begin
        end = end - 1 if span.below and end == span.end else end
        inside = pl.min_horizontal(high, pl.lit(float(end))) - pl.max_horizontal(low, pl.lit(float(begin)))
        return ((inside + 1.0).clip(lower_bound=0.0) / (high - low + 1.0)).fill_null(0.0)
    if begin > end or (begin == end and (span.above or span.below)):
        return pl.lit(0.0)
    inside = pl.min_horizontal(high, pl.lit(end)) - pl.max_horizontal(low, pl.lit(begin))
    starts, ends = (low > begin if span.above else low >= begin), (high < end if span.below else high <= end)
    touches = (high > begin if span.above else high >= begin) & (low < end if span.below else low <= end)
    # A point of an interval has no length, but somebody may be there: what is not for certain must not be 0 or 1.
    part = (inside / pl.max_horizontal(high - low, pl.lit(POINT))).clip(POINT, 1 - POINT)
    share = pl.when(starts & ends).then(1.0).when(touches).then(part).otherwise(0.0)
    return share.fill_null(0.0)


def _physical(end: Any, dtype: pl.DataType) -> float | None:
    if end is None:
        return None
    made = read_end(end, dtype)
    return float(pl.Series([made]).cast(dtype).to_physical()[0]) if dtype.is_temporal() else float(made)


def _label_share(column: pl.Series, condition: Condition, published: QuasiColumns) -> pl.Expr:
    """The share of each published label or set that the condition admits."""
    text, hierarchy = column.cast(pl.String), published.hierarchies.get(column.name)
    covers, admitted = leaves_of(text, hierarchy), admitted_of(column, condition, published)
    share = {label: len(admitted.intersection(leaves)) / len(leaves) for label, leaves in covers.items()}
    root = None if hierarchy is None else hierarchy.labels[0]
    if root in share and MISSING not in covers[root]:
        # Nothing says whether there is somebody without a label among those of whom any would do.
        share[root] = min(share[root], 1 - POINT)
    return pl.lit(text.replace_strict(share, default=0.0, return_dtype=pl.Float64))


def admitted_of(column: pl.Series, condition: Condition, published: QuasiColumns) -> set[str]:
    """Which of the labels that a column stands for a condition admits."""
    if isinstance(condition, Range):
        raise ParameterError(f"'{column.name}' is a column of labels: they have no order to compare by.")
    covers = leaves_of(column.cast(pl.String), published.hierarchies.get(column.name))
    every, wanted = {leaf for leaves in covers.values() for leaf in leaves}, labels_of(condition)
    check_labels(column.name, wanted, every, published.elsewhere)
    return every.difference(wanted) if isinstance(condition, Excluded) else every.intersection(wanted)


def leaves_of(text: pl.Series, hierarchy: Hierarchy | None) -> dict[str, Collection[str]]:
    """For each published label or set what it stands for."""
    published = text.unique().drop_nulls().to_list()
    if hierarchy is None:
        return {label: set_labels(label) for label in published}
    if MISSING in published and hierarchy.missing == "refuse":
        # No file says that somebody may have no label.
        hierarchy = Hierarchy.from_nested(hierarchy.to_nested(), missing="value")
    if unknown := len({*published}.difference(hierarchy.labels)):
        raise HierarchyError(
            f"'{text.name}' has {count_of(unknown, 'label')} that the hierarchy given for it lacks: it is another one.",
            hint="ask the publisher for the one that was used.",
        )
    return {label: hierarchy.covers(label) for label in published}
