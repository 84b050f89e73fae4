"""Several sensitive columns as one column of records, and public tables with a column for each of them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from reissue.arrays.dense import numbered
from reissue.model.domain import Domain
from reissue.model.hierarchy import MISSING
from reissue.model.records import Records, record_cells, record_text, texts_of_levels
from reissue.model.schema import Numeric, Schema
from reissue.model.showing import appended
from reissue.model.snapshot import Column, Labels, Levels, Numbers, decoded, smallest_unsigned

TYPES: Mapping[str, pl.DataType] = {
    "whole numbers": pl.Int64(),
    "decimals": pl.Float64(),
    "dates": pl.Date(),
    "times": pl.Datetime("us"),
    "times with a zone": pl.Datetime("us", "UTC"),
}
"""The types that numbers are kept in, by how the domain calls them."""


def joined(columns: Sequence[Column], name: str, known: Sequence[str] = ()) -> Column:
    """Columns as one: the records of the rows and, among the levels, those known from before."""
    before = [record_cells(record, len(columns)) for record in known]
    rows = columns[0].codes.size
    grown = [
        appended(column, typed_cells([cells[at] for cells in before], column.levels)) if before else column
        for at, column in enumerate(columns)
    ]
    number = grown[0].codes.astype(np.int64)
    for column in grown[1:]:
        number = numbered(number * (int(column.codes.max(initial=0)) + 1) + column.codes)[1]
    distinct, codes = numbered(number)
    # Somebody, or a record from before, who has each record.
    first = np.empty(distinct.size, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    cells = np.stack([column.codes[first].astype(np.int64) for column in grown], axis=1)
    levels = _records(tuple(column.name for column in grown), tuple(column.levels for column in grown), cells)
    return Column(name, codes[:rows].astype(smallest_unsigned(distinct.size)), levels)


def restored(records: pl.Series, schema: Schema, domain: Domain) -> Column:
    """The column of records that gave these texts, under the same schema and domain."""
    known = domain.columns[schema.sensitive].labels
    every = [record_cells(record, len(schema.sensitive_columns)) for record in known]
    levels, codes = [], []
    for at, (name, kind) in enumerate(schema.sensitive_columns.items()):
        texts = [cells[at] for cells in every]
        seen = domain.of(name, kind)
        if isinstance(kind, Numeric):
            nothing = Numbers(np.empty(0), TYPES[seen.type if seen else "whole numbers"], False, 0.0, 0.0)
            one = appended(Column(name, np.empty(0, dtype=np.uint8), nothing), typed_cells(texts, nothing))
        else:
            labels = seen.labels if seen else tuple(sorted(set(texts)))
            place = {label: code for code, label in enumerate(labels)}
            one = Column(name, np.array([place[text] for text in texts], dtype=np.uint32), Labels(labels))
        levels.append(one.levels)
        codes.append(one.codes.astype(np.int64))
    made = Records(known, tuple(schema.sensitive_columns), tuple(levels), np.stack(codes, axis=1))
    own = records.cast(pl.String).cast(pl.Enum(list(known))).to_physical().to_numpy()
    return Column(schema.sensitive, own.astype(smallest_unsigned(len(known))), made)


def split(table: pl.DataFrame, values: Column) -> pl.DataFrame:
    """A public table with a column for each sensitive one in place of records, without labels that no row has."""
    levels = values.levels
    if not isinstance(levels, Records) or values.name not in table.columns:
        return table
    place = {label: code for code, label in enumerate(levels.labels)}
    column = table[values.name]
    of_label = np.array([place[label] for label in column.dtype.categories], dtype=np.int64)  # type: ignore[attr-defined]
    codes = of_label[column.to_physical().to_numpy()]
    parts = decoded(_used(part).to_decode() for part in levels.columns(codes))
    at = table.columns.index(values.name)
    return pl.DataFrame([*table.get_columns()[:at], *parts.get_columns(), *table.get_columns()[at + 1 :]])


def _used(column: Column) -> Column:
    """A column without the labels that no row has; the others keep their order."""
    if not isinstance(column.levels, Labels):
        return column
    used = np.flatnonzero(np.bincount(column.codes, minlength=len(column.levels.labels)))
    table = np.zeros(len(column.levels.labels), dtype=smallest_unsigned(used.size))
    table[used] = np.arange(used.size)
    return Column(column.name, table[column.codes], Labels(tuple(column.levels.labels[at] for at in used.tolist())))


def _records(names: tuple[str, ...], levels: tuple[Levels, ...], cells: np.ndarray) -> Records:
    texts = [texts_of_levels(one) for one in levels]
    labels = (record_text(text[code] for text, code in zip(texts, row, strict=True)) for row in cells.tolist())
    return Records(tuple(labels), names, levels, cells)


def typed_cells(texts: Sequence[str], levels: Levels) -> pl.Series:
    """Values that are written as text, in the type of their column."""
    cells = pl.Series(texts, dtype=pl.String)
    if not isinstance(levels, Numbers):
        return cells
    return read_cells(cells.replace({MISSING: None}), levels.dtype)


def read_cells(texts: pl.Series, dtype: pl.DataType, *, strict: bool = True) -> pl.Series:
    """Numbers, dates or times that polars has written as text; what cannot be read is missing unless `strict`."""
    if isinstance(dtype, pl.Datetime):
        zone = dtype.time_zone is not None
        times = texts.str.replace(r"(\+00:00| UTC)$", "") if zone else texts
        read = times.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=strict)
        return read.dt.replace_time_zone("UTC") if zone else read
    return texts.str.to_date("%Y-%m-%d", strict=strict) if dtype == pl.Date else texts.cast(dtype, strict=strict)
