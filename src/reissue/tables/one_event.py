"""From a table of events to a table of people: of everybody's events the one that the schema says."""

from __future__ import annotations

from difflib import get_close_matches

import polars as pl

from reissue.errors import TableError, count_of, listed
from reissue.model.events import Events
from reissue.model.schema import Schema
from reissue.tables.by_column import ByColumn, SomeRows

_PLACE, _WHEN = "reissue.place", "reissue.when"


def one_event_each(frame: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, int]:
    """The rows that stand for people, in the order of the table, and how many rows do not.

    Of several events at the same time the one that comes first by what is in them is taken, so that the order of rows
    does not matter. A schema without events gets the table as it is.
    """
    places = _places(frame, schema)
    return (frame, 0) if places is None else (frame[places], frame.height - places.len())


def one_event_by_column(table: ByColumn, schema: Schema) -> tuple[ByColumn, int]:
    """The same for a table of which only columns are asked for."""
    if isinstance(table, pl.DataFrame):
        return one_event_each(table, schema)
    places = _places(table, schema)
    return (table, 0) if places is None else (SomeRows(table, places), table.height - places.len())


def _places(frame: ByColumn, schema: Schema) -> pl.Series | None:
    """The places of the rows that stand for people; None where all do."""
    events = schema.events
    if events is None or schema.person not in frame.columns or frame.height == 0:
        return None
    when = _times(frame, events)
    people = frame[schema.person]
    if people.n_unique() == frame.height:
        return None
    best = pl.col(_WHEN).max() if events.keep == "last" else pl.col(_WHEN).min()
    places = pl.int_range(frame.height, dtype=pl.UInt32, eager=True).alias(_PLACE)
    # Whoever has no id is not put together with others who have none: that is for the next step to complain of.
    short = pl.DataFrame([people.alias("person"), when.alias(_WHEN), places])
    whose = pl.when(pl.col("person").is_null()).then(_PLACE).otherwise(0)
    kept = short.filter(pl.col(_WHEN) == best.over("person", whose))
    tied = kept.filter(pl.col("person").is_not_null() & pl.col("person").is_duplicated())
    if tied.height:
        kept = kept.join(_beaten(frame, tied), on=_PLACE, how="anti")
    return kept[_PLACE].sort()


def _beaten(frame: ByColumn, tied: pl.DataFrame) -> pl.DataFrame:
    """Of events at the same time those that are not taken: all but the first by what is in them."""
    rows = SomeRows(frame, tied[_PLACE])
    cells = pl.DataFrame([rows[name].cast(pl.String, strict=False).alias(f"cell.{name}") for name in rows.columns])
    both = pl.concat([tied.select("person", _PLACE), cells], how="horizontal")
    first = both.sort("person", *cells.columns, nulls_last=True).unique("person", keep="first", maintain_order=True)
    return both.join(first, on=_PLACE, how="anti").select(_PLACE)


def _times(frame: ByColumn, events: Events) -> pl.Series:
    """When each event was, as something that has an order."""
    if events.order not in frame.columns:
        near = get_close_matches(events.order, frame.columns, n=3)
        raise TableError(
            f"The table has no column '{events.order}', which orders events"
            + (f"; near: {listed(near)}." if near else "."),
            hint="name the column of dates or times in 'order' of the schema's 'events'.",
        )
    column = frame[events.order]
    when = _ordered(column)
    if when is None:
        raise TableError(
            f"The column '{events.order}', which orders events, holds neither dates and times nor numbers.",
            hint="write dates as 2026-03-31 and times as 2026-03-31 14:05, or give a column of numbers.",
        )
    missing = when.null_count()
    if missing:
        raise TableError(
            f"The column '{events.order}', which orders events, is empty in {count_of(missing, 'row')}.",
            hint="fill it in, or leave these rows out.",
        )
    return when


def _ordered(column: pl.Series) -> pl.Series | None:
    """The column as dates, times or numbers; None if it is none of these. Texts must all be of one kind."""
    if column.dtype.is_temporal() or column.dtype.is_integer():
        return column
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    text = column.cast(pl.String).str.strip_chars().replace("", None)
    spaced = text.str.replace("T", " ", literal=True)
    for found in (
        text.str.to_date("%Y-%m-%d", strict=False),
        spaced.str.to_datetime("%Y-%m-%d %H:%M", strict=False),
        spaced.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False),
        text.cast(pl.Int64, strict=False),
        text.cast(pl.Float64, strict=False).fill_nan(None),
    ):
        if found.null_count() == text.null_count() < found.len():
            return found
    return None
