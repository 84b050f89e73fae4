"""Groups to report on: by the labels of columns, by their numbers, or by bins; rows of a region are in several in part.

    by="sex"    by=["sex", "region"]    by={"age": [40, 60, 80], "sex": None}

The cuts 40, 60, 80 make the bins below 40, 40 to 59, 60 to 79, 80 and above.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.dense import numbered
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError
from reissue.utility.analysing.conditions import (
    Conditions,
    Excluded,
    QuasiColumns,
    Range,
    admitted_of,
    is_number,
    read_end,
    share_of,
    share_without,
)

By = str | Sequence[str] | Mapping[str, Sequence[Any] | None] | None
Cuts = Mapping[str, Sequence[Any] | None]
MOST = 1e300
"""No cut is larger; a whole number of any length is no float."""
REGION = "\0region"
"""No column of a table is called so."""
ANSWERED = frozenset(
    {"value", "release", "people", "estimate", "error", "low", "high", "interval", "contrast", "term", "per"}
)
"""The columns of answers."""


def group_name(name: str) -> str:
    """What the groups of a column are called in answers: as the column, unless answers have one of this name."""
    return f"by {name}" if name in ANSWERED else name


def cuts_of(by: By) -> dict[str, Sequence[Any] | None]:
    """The columns to group by, with their cuts where they have any."""
    if by is None:
        return {}
    if isinstance(by, str):
        return {by: None}
    if not isinstance(by, Sequence | Mapping) or not all(isinstance(name, str) for name in by):
        raise ParameterError(
            "The 'by' of a question must be a column, a list of columns, or columns with their cuts.",
            hint='by="sex", by=["sex", "region"], by={"age": [40, 60], "sex": None}',
        )
    if not isinstance(by, Mapping):
        return dict.fromkeys(by)
    for name, cuts in by.items():
        if cuts is not None and not _ascending(cuts):
            raise ParameterError(f"The cuts of '{name}' must be a list of numbers or dates, ascending.")
    return dict(by)


def _ascending(cuts: Sequence[Any]) -> bool:
    try:
        ordered = not isinstance(cuts, str) and len(cuts) > 0 and sorted(set(cuts)) == list(cuts)
    except TypeError:  # a number and a date have no order
        return False
    return ordered and all(-MOST <= cut <= MOST for cut in cuts if isinstance(cut, int | float | np.number))


def in_both(share: Floats, other: Floats) -> Floats:
    """The covariance of being in two groups, for whoever is in them by these shares of their region.

    The groups are taken to be as much apart as they can be: two of which nobody is in both, where that is possible.
    """
    return np.asarray(np.maximum(share + other - 1, 0.0) - share * other)


def sums_by(places: Ints, figures: Floats, count: int) -> Floats:
    """The sum of figures at each of so many places."""
    return np.bincount(places, figures, minlength=count).astype(np.float64, copy=False)


@dataclass(frozen=True, repr=False)
class Cells:
    """Which rows are in which groups, and by how much."""

    rows: Ints
    """Positions of rows; a row of a region is there once for each group that it may be in."""
    group: Ints
    weight: Floats
    """1 where the row is in the group for certain."""
    labels: pl.DataFrame
    """A row for each group: the columns it is by."""
    count: int
    """How many groups there are."""

    def total(self, figures: Floats) -> Floats:
        """The sum for each group."""
        return sums_by(self.group, figures, self.count)

    @cached_property
    def people(self) -> Floats:
        """How many people each group has, or is expected to have."""
        return self.total(self.weight)

    @cached_property
    def whole(self) -> bool:
        """Whether every row is in its group for certain."""
        return bool((self.weight == 1).all())

    @cached_property
    def cut(self) -> Bools:
        """Which groups cut through regions, so that nobody knows who of some of their rows is in them."""
        return np.bincount(self.group[self.weight < 1], minlength=self.count) > 0

    def only(self, chosen: Bools) -> Cells:
        """The same groups of some rows, each of which counts as a whole."""
        return replace(self, rows=self.rows[chosen], group=self.group[chosen], weight=np.ones(int(chosen.sum())))


def breakdown(
    table: pl.DataFrame, cuts: Cuts, weights: Floats, published: QuasiColumns, within: Conditions = MappingProxyType({})
) -> Cells:
    """The groups of the rows that count, by weight.

    `within` has conditions on columns of regions that groups are by too, which `weights` leave out: which part of a
    region is in a group and satisfies them is not the product of two shares.
    """
    rows = np.flatnonzero(weights > 0)
    weight, group = weights[rows], np.zeros(rows.size, dtype=np.int64)
    parts: list[pl.Series] = []
    for name, edges in cuts.items():
        if published.is_exact(table, name):
            codes, labels = _codes(table[name], edges)
            code = codes[rows]
        else:
            spread = _spread(table, name, edges, published, within)
            share = spread.shares[spread.region[rows]]
            entry, code = np.nonzero(share > 0)
            rows, group = rows[entry], group[entry]
            weight, labels = weight[entry] * share[entry, code], spread.labels
        group = group * max(labels.len(), 1) + code
        parts.append(labels)
    if not parts:
        return Cells(rows, group, weight, pl.DataFrame(), 1)
    used, group = numbered(group)
    columns, rest = [], used
    for labels in reversed(parts):
        chosen = labels.gather(pl.Series(rest % labels.len(), dtype=pl.UInt32))
        columns.append(chosen.alias(group_name(labels.name)))
        rest = rest // labels.len()
    return Cells(rows, group, weight, pl.DataFrame(columns[::-1]), used.size)


def _codes(column: pl.Series, edges: Sequence[Any] | None) -> tuple[Ints, pl.Series]:
    """For each row its place among the labels of groups."""
    if edges is None:
        own = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column
        labels = own.unique().sort().alias(column.name)
        if own.dtype == pl.String:
            named = labels.drop_nulls()  # one without a label comes first
            place_of = own.cast(pl.Enum(named)).to_physical().cast(pl.Int64) + labels.null_count()
            return place_of.fill_null(0).to_numpy(), labels
        place = pl.DataFrame({"label": labels}).with_row_index("at")
        joined = (
            own.alias("label").to_frame().join(place, on="label", how="left", nulls_equal=True, maintain_order="left")
        )
        return joined["at"].to_numpy().astype(np.int64), labels
    _check_ordered(column.name, column.dtype, edges)
    places = _places(column.drop_nulls(), edges)
    codes = np.full(column.len(), len(edges) + 1, dtype=np.int64)
    codes[column.is_not_null().to_numpy()] = places
    return codes, pl.Series(column.name, [*(label for label, _ in bins(edges, column.dtype)), None], dtype=pl.String)


def _places(values: pl.Series, edges: Sequence[Any]) -> Ints:
    """In which bin each value is; compared as what both can be, since a decimal made whole may change its bin."""
    if values.dtype.is_numeric():
        return np.searchsorted(
            np.array([float(edge) for edge in edges]), values.cast(pl.Float64).to_numpy(), side="right"
        )
    exact = pl.Datetime("us", getattr(values.dtype, "time_zone", None))
    cuts = pl.Series([read_end(edge, values.dtype) for edge in edges]).cast(exact)
    places = cuts.search_sorted(values.cast(exact), side="right")
    return places.to_numpy().astype(np.int64)


def _check_ordered(name: str, dtype: pl.DataType, edges: Sequence[Any]) -> None:
    if not is_number(dtype):
        raise ParameterError(f"'{name}' is a column of labels, which cannot be cut into bins.")
    kind = (int, float, np.number) if dtype.is_numeric() else (datetime.date,)
    if not all(isinstance(edge, kind) for edge in edges):
        kinds, hint = ("numbers", "40, 60") if dtype.is_numeric() else ("dates", "datetime.date(2020, 3, 1)")
        raise ParameterError(
            f"The cuts of '{name}' must be {kinds}, as the column is of {kinds}.", hint=f"by={{'{name}': [{hint}]}}"
        )


@dataclass(frozen=True, repr=False)
class _Spread:
    """Regions that may be in several groups."""

    region: Ints
    """For each row of the table its region."""
    shares: Floats
    """For each region the share in each group."""
    labels: pl.Series


def _spread(
    table: pl.DataFrame, name: str, edges: Sequence[Any] | None, published: QuasiColumns, within: Conditions
) -> _Spread:
    own = table.select(published.needed([name]))
    distinct = own.unique(maintain_order=True)
    numbers = own.join(
        distinct.with_row_index(REGION), on=own.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    region = numbers[REGION].to_numpy().astype(np.int64)
    labels: list[str | None]
    if name in published.intervals:
        if edges is None:
            raise ParameterError(
                f"'{name}' is published as intervals: say where they are to be cut.",
                hint=f"by={{'{name}': [20, 40, 60]}}, on the command line --by {name}:20,40,60.",
            )
        dtype = distinct[f"{name}_low"].dtype
        _check_ordered(name, dtype, edges)
        condition = within.get(name, Range())
        groups = list(bins(edges, dtype))
        labels = [label for label, _ in groups]
        found = [share_of(distinct, name, condition, published, bin_of) for _, bin_of in groups]
        if name not in within:
            # Whoever has no number is in no bin, and satisfies no condition.
            labels, found = [*labels, None], [*found, share_without(name, published)]
    else:
        if edges is not None:
            _check_ordered(name, distinct[name].dtype, edges)
        leaves = admitted_of(distinct[name], within.get(name, Excluded(())), published)
        labels = [*sorted(leaves)]
        found = [share_of(distinct, name, label, published) for label in labels]
    shares = distinct.select(share.alias(str(at)) for at, share in enumerate(found))
    return _Spread(
        region, shares.to_numpy().reshape(distinct.height, len(labels)), pl.Series(name, labels, dtype=pl.String)
    )


def bins(edges: Sequence[Any], dtype: pl.DataType) -> list[tuple[str, Range]]:
    """The bins that cuts make, with their names."""

    def last(edge: Any) -> str:
        if dtype.is_integer() and float(edge).is_integer():
            return f"{int(edge) - 1}"
        if dtype == pl.Date:
            return f"{edge - datetime.timedelta(1)}"
        return f"below {edge}"

    between = [(f"{first} to {last(end)}", Range(first, end, below=True)) for first, end in pairwise(edges)]
    return [
        (f"below {edges[0]}", Range(last=edges[0], below=True)),
        *between,
        (f"{edges[-1]} and above", Range(first=edges[-1])),
    ]
