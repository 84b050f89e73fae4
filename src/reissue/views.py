"""The outsider's view of a series, built from its private rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from reissue.frames import read_table
from reissue.release import Published, PublishedGroups, Release
from reissue.schema import Numeric, Schema


def published_view(releases: Iterable[tuple[Release, pl.DataFrame]], schema: Schema) -> Published:
    """Who was in which group of which release, and the values published for each group.

    `releases` come with their private rows: frames of `person`, `group` and the sensitive column.
    """
    name = schema.sensitive
    frames = [(release, rows.select("person", "group", _plain(rows[name]))) for release, rows in releases]
    values = _values([rows[name] for _, rows in frames], schema)
    place = pl.DataFrame({name: values, "\0value": pl.int_range(values.len(), eager=True)})
    built = []
    for release, rows in frames:
        coded = rows.join(place, on=name, how="left", nulls_equal=True).sort("group", "\0value", "person")
        counted = coded.group_by("group", "\0value", maintain_order=True).len()
        built.append(
            PublishedGroups(
                number=release.number,
                members=coded["person"].to_numpy().astype(np.int64),
                member_starts=_starts(coded["group"]),
                values=counted["\0value"].to_numpy().astype(np.int64),
                counts=counted["len"].to_numpy().astype(np.int64),
                value_starts=_starts(counted["group"]),
                region=_region(release, name),
            )
        )
    numeric = isinstance(schema.sensitive_kind, Numeric)
    magnitudes = values.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy() if numeric else None
    return Published(tuple(built), tuple(values.to_list()), magnitudes)


def _region(release: Release, sensitive: str) -> pl.DataFrame | None:
    """The quasi-identifiers of each group as published; None where they are published person by person."""
    if release.manifest["form"] != "generalised":
        return None
    table = read_table(release.tables["table"])[0]
    return table.unique("group", keep="first").sort("group").drop("group", sensitive)


def _values(columns: list[pl.Series], schema: Schema) -> pl.Series:
    """Every value of the series in its order: as declared, numbers ascending, other labels by alphabet."""
    if not columns:
        return pl.Series(schema.sensitive, [], dtype=pl.String)
    distinct = pl.concat(columns).unique().sort()
    if isinstance(schema.sensitive_kind, Numeric):
        return distinct
    declared = pl.Series(schema.sensitive, schema.sensitive_kind.values, dtype=pl.String)
    return pl.concat([declared, distinct.filter(~distinct.is_in(declared.to_list()))])


def _plain(series: pl.Series) -> pl.Series:
    return series.cast(pl.String) if isinstance(series.dtype, pl.Enum) else series


def _starts(group: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Where each group begins in a sorted column of group numbers from 1, and where the last ends."""
    numbers = group.to_numpy()
    return np.searchsorted(numbers, np.arange(1, int(numbers.max(initial=0)) + 2)).astype(np.int64)
