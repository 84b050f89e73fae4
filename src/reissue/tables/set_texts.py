"""Sets of values as text, where there are no lists: `{a,b,c}` in CSV files and on screens, and the way back.

Labels are put in quotes as in regions of labels (`recode.set_text`), but a list always has braces, also one of a single
value. A missing number is `""`, and no value at all is `{}`.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from reissue.tables.recode import quoted, set_labels


def without_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every list as text; the same list gives the same text."""
    return frame.with_columns(_as_text(column) for column in frame if isinstance(column.dtype, pl.List))


def _as_text(lists: pl.Series) -> pl.Series:
    members = lists.list.explode().cast(pl.String).fill_null("")
    words = {label: quoted(label) for label in members.unique().to_list()}
    word = pl.element().cast(pl.String).fill_null("").replace_strict(words, return_dtype=pl.String)
    text = pl.col(lists.name).list.eval(word).list.join(",")
    return lists.to_frame().select((pl.lit("{") + text + pl.lit("}")).alias(lists.name)).to_series()


def with_lists(column: pl.Series, values: Any) -> pl.Series:
    """A column of such texts as lists of values of this type; a column of lists as it is."""
    if column.dtype != pl.String:
        return column
    lists = label_lists(column)
    if values != pl.String:
        member = typed_texts(pl.element().replace("", None), values)
        lists = lists.to_frame().select(pl.col(lists.name).list.eval(member)).to_series()
    return lists.alias(column.name)


def label_lists(texts: pl.Series) -> pl.Series:
    """The lists of labels behind such texts; a text that is no set is one label.

    Where none is in quotes, no look at each text is needed.
    """
    if not texts.str.contains('"', literal=True).any():
        inside = pl.col("text").str.slice(1, pl.col("text").str.len_chars() - 2)
        split = (
            pl.when(pl.col("text") == "{}").then(pl.lit([], dtype=pl.List(pl.String))).otherwise(inside.str.split(","))
        )
        braced = texts.str.contains(r"(?s)^\{.*\}$")
        if braced.all() and not texts.str.contains(r"(?s)^.+\{|\}.+$").any():
            return texts.alias("text").to_frame().select(split.alias(texts.name)).to_series()
    distinct = texts.unique().to_list()
    parts = [None if text is None else [] if text == "{}" else set_labels(text) for text in distinct]
    lists = pl.DataFrame({"text": distinct, "labels": parts}, {"text": pl.String, "labels": pl.List(pl.String)})
    rows = texts.alias("text").to_frame().join(lists, on="text", how="left", maintain_order="left", nulls_equal=True)
    return rows["labels"].alias(texts.name)


def typed_texts(texts: pl.Expr, dtype: Any) -> pl.Expr:
    """Texts as values of a type, times as ISO 8601 has them or polars writes them; an error where one is none."""
    if isinstance(dtype, pl.Datetime):
        plain = texts.str.replace(" ", "T", literal=True).str.replace(r"(Z|\+00:00)$", "")
        read = plain.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit=dtype.time_unit, strict=True)
        zone = dtype.time_zone
        return read if zone is None else read.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if dtype == pl.Date:
        return texts.str.to_date("%Y-%m-%d", strict=True)
    if dtype == pl.Boolean:
        return texts.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
    return texts.cast(dtype, strict=True)
