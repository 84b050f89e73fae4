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
    texts = column.unique().to_list()
    parts = {text: [] if text == "{}" else set_labels(text) for text in texts}
    lists = pl.DataFrame(
        {"text": texts, "labels": [parts[text] for text in texts]}, {"text": pl.String, "labels": pl.List(pl.String)}
    )
    if values != pl.String:
        member = pl.element().replace("", None).cast(values)
        lists = lists.with_columns(pl.col("labels").list.eval(member))
    rows = column.alias("text").to_frame().join(lists, on="text", how="left", maintain_order="left", nulls_equal=True)
    return rows["labels"].alias(column.name)
