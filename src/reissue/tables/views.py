"""The outsider's view of a series, built from its private rows."""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Ints
from reissue.model.domain import COUNTERFEIT, GROUP, PERSON, in_order
from reissue.model.grouping import Grouping
from reissue.model.published import Published
from reissue.model.release import Release
from reissue.model.schema import Numeric, Schema
from reissue.tables.counting import GroupCounts
from reissue.tables.frames import read_table

Kept = tuple[Release, pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]
"""A release, its rows as published, its counterfeits and, where they are not in the rows, its values."""


def published_view(releases: Iterable[Kept], schema: Schema, classes: Container[int] = ()) -> Published:
    """Who was in which group of which release, and the values published for each group.

    Of the releases numbered in `classes` the view also says who has the same quasi-identifiers.
    """
    releases = list(releases)
    name = schema.sensitive
    frames = [_shown(rows if facts is None else facts, made, name) for _, rows, made, facts in releases]
    values = _values([column for _, _, column in frames], schema)
    place = pl.DataFrame({"value": values, "code": pl.int_range(values.len(), dtype=pl.UInt32, eager=True)})
    built = []
    for (people, group, column), (release, rows, made, facts) in zip(frames, releases, strict=True):
        coded = pl.DataFrame({"value": column}).join(
            place, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        counted = GroupCounts.of(coded["code"].to_numpy(), _grouping(group))
        region = _region(release, name)
        if facts is None:
            numbered = _classes(rows, made, name) if release.number in classes else None
            built.append(counted.view(people.to_numpy().astype(np.int64), release.number, region, numbered))
        else:
            everybody = rows[PERSON].to_numpy().astype(np.int64)
            built.append(counted.view(everybody, release.number, region, registered=_grouping(rows[GROUP])))
    numeric = isinstance(schema.sensitive_kind, Numeric)
    magnitudes = values.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy() if numeric else None
    single = all(facts is None for _, _, _, facts in releases)
    return Published(tuple(built), tuple(values.to_list()), magnitudes, single)


def _grouping(group: pl.Series) -> Grouping:
    numbers = group.to_numpy().astype(np.int32) - 1
    return Grouping(numbers, int(numbers.max()) + 1)


def _region(release: Release, sensitive: str) -> pl.DataFrame | None:
    """The quasi-identifiers of each group as published; None where they are published person by person."""
    if release.manifest["form"] != "generalised":
        return None
    table = read_table(release.tables["table"])[0]
    return table.unique("group", keep="first").sort("group").drop("group", sensitive)


def _classes(rows: pl.DataFrame, made: pl.DataFrame | None, sensitive: str) -> Ints:
    """The number of the quasi-identifiers of each row that is shown; below 0 for counterfeits."""
    shown = rows.drop_nulls(GROUP).drop(PERSON, GROUP, sensitive)
    numbers: npt.NDArray[np.int64] = (
        shown.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series().to_numpy()
    )
    return numbers if made is None else np.concatenate([numbers, -1 - np.arange(made.height)])


def _values(columns: list[pl.Series], schema: Schema) -> pl.Series:
    """Every value of the series in its order."""
    if not columns:
        return pl.Series("value", [], dtype=pl.String)
    distinct = pl.concat([column.alias("value") for column in columns]).unique().sort()
    if isinstance(schema.sensitive_kind, Numeric):
        return distinct
    return pl.Series("value", in_order(distinct.to_list(), schema.sensitive_kind), dtype=pl.String)


def _shown(rows: pl.DataFrame, made: pl.DataFrame | None, sensitive: str) -> tuple[pl.Series, pl.Series, pl.Series]:
    """The members of a release, counterfeits with negative numbers, their groups and their values."""
    rows = rows.select(pl.col(PERSON).cast(pl.Int64), GROUP, sensitive).drop_nulls(GROUP)
    rows = rows.with_columns(_plain(rows[sensitive]))
    if made is not None:
        own = made.select(-pl.col(COUNTERFEIT).cast(pl.Int64).alias(PERSON), GROUP, _plain(made[sensitive]))
        rows = pl.concat([rows, own])
    return rows[PERSON], rows[GROUP], rows[sensitive]


def _plain(series: pl.Series) -> pl.Series:
    return series.cast(pl.String) if isinstance(series.dtype, pl.Enum) else series
