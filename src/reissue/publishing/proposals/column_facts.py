"""What is in a column: its kind, how many values it has, and what they look like.

Facts are counts and patterns. The only values they hold are the lowest and highest of whole numbers and dates, which
hierarchies are made from; ids are never among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from reissue.publishing.proposals.cell_patterns import (
    TextDates,
    clinical_words,
    code_pattern,
    like_free_text,
    like_postcodes,
    looked_at,
    text_dates,
)

Sort = Literal["number", "date", "time", "text", "yes or no", "nothing", "other"]


@dataclass(frozen=True, repr=False)
class Facts:
    """What a column holds in the first table; and what later tables bring."""

    name: str
    sort: Sort
    rows: int
    distinct: int
    """How many values there are, without missing ones."""
    missing: int
    """How many values are missing, in all tables."""
    most: int
    """How many rows have the most frequent value, missing or not."""
    alone: int
    """How many values only one row has."""
    whole: bool
    """Whether numbers are whole, however they are stored."""
    labels: bool
    """Whether values can be read as labels: all types of a CSV file can, decimals of other files cannot."""
    dates: TextDates | None
    pattern: str
    postcodes: bool
    clinical: bool
    free_text: bool
    unseen: bool
    """Whether later tables have labels that the first does not."""
    everywhere: bool
    """Whether all tables have the column."""

    def __repr__(self) -> str:
        return f"Facts({self.sort}, {self.distinct:,} values)"

    @property
    def unique(self) -> bool:
        """Whether it tells all rows apart."""
        return self.distinct == self.rows and not self.missing

    @property
    def like_ids(self) -> bool:
        """Whether it is of a type that ids have."""
        return self.sort == "text" or (self.sort == "number" and self.whole)


def sort_of(dtype: pl.DataType) -> Sort:
    """The sort of values that a type has."""
    if dtype.is_numeric():
        return "number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    sorts: dict[object, Sort] = {pl.Date: "date", pl.Datetime: "time", pl.Boolean: "yes or no", pl.Null: "nothing"}
    return sorts.get(dtype.base_type(), "other")


def together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All tables as one, with columns of the same name put together, as text where their types do not agree."""
    if len(frames) == 1:
        return frames[0]
    sorts: dict[str, set[str]] = {}
    for frame in frames:
        for column in frame:
            if column.null_count() < column.len():
                sorts.setdefault(column.name, set()).add(sort_of(column.dtype))
    plain = []
    for frame in frames:
        mixed = [name for name in frame.columns if len(sorts.get(name, ())) > 1 or sorts.get(name) == {"text"}]
        plain.append(frame.with_columns(pl.col(mixed).cast(pl.String, strict=False)))
    return pl.concat(plain, how="diagonal_relaxed")


def see(frames: Sequence[pl.DataFrame], *, as_written: bool) -> dict[str, Facts]:
    """The facts of every column. Of tables that can be read `as_written`, from CSV, every column can be labels."""
    whole = together(frames)
    first = frames[0]
    found = {}
    for column in whole:
        # Counts are of the first table: of several together an id is there several times. What the others change:
        alike = column.name in first.columns and sort_of(first[column.name].dtype) in (sort_of(column.dtype), "nothing")
        seen = first[column.name] if alike and first[column.name].null_count() < first.height else column
        facts = _facts(
            seen,
            as_written=as_written,
            everywhere=all(column.name in frame.columns for frame in frames),
        )
        if len(frames) > 1 and alike and facts.sort != "other":
            new = (facts.sort == "text" or facts.whole) and column.drop_nulls().n_unique() > facts.distinct
            facts = replace(facts, missing=_lacking(column), unseen=new)
        found[column.name] = facts
    return found


def _lacking(column: pl.Series) -> int:
    return column.fill_nan(None).null_count() if column.dtype.is_float() else column.null_count()


def _facts(column: pl.Series, *, as_written: bool, everywhere: bool) -> Facts:
    sort = sort_of(column.dtype)
    if sort == "number" and column.dtype.is_float():
        column = column.fill_nan(None)
    missing = column.null_count()
    if missing == column.len():
        sort = "nothing"
    if sort in ("nothing", "other"):
        return Facts(
            column.name, sort, column.len(), 0, missing, missing, 0, False, False, None, "", False, False, False,
            False, everywhere,
        )  # fmt: skip
    counts = column.drop_nulls().alias("value").value_counts(sort=True)
    values, often = counts["value"], counts["count"]
    whole = sort == "number" and (column.dtype.is_integer() or bool((values == values.round()).all()))
    labels = as_written or not (column.dtype.is_float() or column.dtype.is_decimal() or sort == "time")
    texts = looked_at(values) if sort == "text" or whole else pl.Series([], dtype=pl.String)
    if whole and not column.dtype.is_integer():
        texts = texts.str.strip_suffix(".0")
    text = sort == "text"
    return Facts(
        name=column.name,
        sort=sort,
        rows=column.len(),
        distinct=values.len(),
        missing=missing,
        most=max(int(often[0]), missing),
        alone=int((often == 1).sum()),
        whole=whole,
        labels=labels,
        dates=text_dates(texts) if text or column.dtype.is_integer() else None,
        pattern=code_pattern(texts) if text else "",
        postcodes=like_postcodes(texts),
        clinical=text and clinical_words(texts),
        free_text=text and like_free_text(texts, values.len(), column.len()),
        unseen=False,
        everywhere=everywhere,
    )


def changing(table: pl.DataFrame, person: str) -> tuple[dict[str, float], int]:
    """For each column how often the value of a person differs from one of their rows to the next, and how many such
    pairs of rows there are."""
    order = table[person].cast(pl.String).arg_sort()
    ids = table[person].gather(order)
    same = (ids == ids.shift(1)).fill_null(False)
    pairs = int(same.sum())
    if not pairs:
        return {}, 0
    shares = {}
    for column in table:
        if column.name == person or sort_of(column.dtype) in ("nothing", "other"):
            continue
        sorted_values = column.to_physical().gather(order)
        differs = sorted_values.ne_missing(sorted_values.shift(1))
        shares[column.name] = int((differs & same).sum()) / pairs
    return shares, pairs
