"""Anonymisers as others have them, for releases that this project did not make.

`local` splits the table at medians as long as k rows are left on both sides, and publishes the bounds of each part.
`full_domain` gives every column one width for the whole table, and puts a star into all cells of rows that fewer than
k others share. `clusters` puts the k rows together that are nearest to each other, and publishes bounds that overlap.
`cells` publishes bands, and stars one cell after the other of rows that fewer than k share. None looks at values, at
earlier releases or at anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import polars as pl

Anonymiser = Callable[[pl.DataFrame, Sequence[str], int], pl.DataFrame]

WIDTHS = (1, 5, 10, 20, 40, 0)
"""How wide the classes of numbers may be; 0: a star."""
STARRED = 0.1
"""So many of the rows may be suppressed."""


def local(table: pl.DataFrame, quasi: Sequence[str], k: int) -> pl.DataFrame:
    """The table with every quasi-identifier as text, in parts of at least k rows."""
    codes = np.column_stack([_ranks(table[name]) for name in quasi])
    cells = {name: [""] * table.height for name in quasi}
    for part in _parts(codes, np.arange(table.height), k):
        for name in quasi:
            text = _bounds(table[name][part.astype(np.uint32)])
            for row in part.tolist():
                cells[name][row] = text
    return table.with_columns(pl.Series(name, some, dtype=pl.String) for name, some in cells.items())


def _parts(codes: np.ndarray, rows: np.ndarray, k: int) -> list[np.ndarray]:
    """Rows split at the median of the column that spreads the most, for as long as both sides have k."""
    here = codes[rows]
    for column in np.argsort([-np.unique(here[:, at]).size for at in range(codes.shape[1])], kind="stable"):
        middle = np.median(here[:, column])
        low = here[:, column] <= middle
        if low.all():
            low = here[:, column] < middle
        if min(np.count_nonzero(low), np.count_nonzero(~low)) >= k:
            return [*_parts(codes, rows[low], k), *_parts(codes, rows[~low], k)]
    return [rows]


def _ranks(column: pl.Series) -> np.ndarray:
    return column.rank("dense").fill_null(0).to_numpy()


def _bounds(cells: pl.Series) -> str:
    """The cells of a part in one: an interval, a set of labels, or a star where one of them is missing."""
    if cells.null_count():
        return "*"
    distinct = cells.unique().sort().to_list()
    if len(distinct) == 1:
        return str(distinct[0])
    if cells.dtype.is_numeric():
        return f"[{distinct[0]}-{distinct[-1]}]"
    return "{" + ",".join(f'"{one}"' for one in distinct) + "}"


def full_domain(table: pl.DataFrame, quasi: Sequence[str], k: int) -> pl.DataFrame:
    """The table with every quasi-identifier at the least common width that leaves few rows alone."""
    ladders = [_ladder(table[name]) for name in quasi]
    levels = sorted(product(*(range(len(ladder)) for ladder in ladders)), key=lambda some: (sum(some), some))
    for chosen in levels:
        made = pl.DataFrame([ladder[at].alias(name) for name, ladder, at in zip(quasi, ladders, chosen, strict=True)])
        size = made.select(pl.len().over(list(quasi))).to_series()
        if int((size < k).sum()) <= STARRED * table.height or chosen == levels[-1]:
            shown = pl.when(size >= k).then(pl.all()).otherwise(pl.lit("*")).name.keep()
            return table.with_columns(made.select(shown).get_columns())
    raise AssertionError("there is always the last level")


def _ladder(column: pl.Series) -> list[pl.Series]:
    """A column at every level, as text: from the cells themselves to a star."""
    star = pl.Series(column.name, ["*"] * column.len(), dtype=pl.String)
    if not column.dtype.is_numeric():
        return [column.fill_null("*"), star]
    steps = []
    for width in WIDTHS[:-1]:
        low = (column // width) * width
        frame = pl.DataFrame({"low": low, "high": low + width - 1})
        text = pl.col("low").cast(pl.String) if width == 1 else pl.format("[{}-{}]", "low", "high")
        steps.append(frame.select(text).to_series().fill_null("*"))
    return [*steps, star]


def clusters(table: pl.DataFrame, quasi: Sequence[str], k: int) -> pl.DataFrame:
    """The table in groups of k rows or more, each of the first row that is left with those nearest to it."""
    codes = np.column_stack([_ranks(table[name]) for name in quasi])
    places = codes / np.maximum(codes.max(axis=0, initial=0), 1)
    left = np.arange(table.height)
    cells = {name: [""] * table.height for name in quasi}
    while left.size:
        far = np.abs(places[left] - places[left[0]]).sum(axis=1)
        here = left[np.argsort(far, kind="stable")[:k]] if left.size >= 2 * k else left
        for name in quasi:
            text = _bounds(table[name][here.astype(np.uint32)])
            for row in here.tolist():
                cells[name][row] = text
        left = np.setdiff1d(left, here)
    return table.with_columns(pl.Series(name, some, dtype=pl.String) for name, some in cells.items())


def single_cells(table: pl.DataFrame, quasi: Sequence[str], k: int) -> pl.DataFrame:
    """The table in bands, with a star in one column after the other of rows that fewer than k others share."""
    made = table.select(_ladder(table[name])[2 if table[name].dtype.is_numeric() else 0].alias(name) for name in quasi)
    for name in quasi:
        few = made.select(pl.len().over(list(quasi))).to_series() < k
        made = made.with_columns(pl.when(few).then(pl.lit("*")).otherwise(pl.col(name)).alias(name))
    return table.with_columns(made.get_columns())


ANONYMISERS: dict[str, Anonymiser] = {
    "local": local,
    "full-domain": full_domain,
    "clusters": clusters,
    "cells": single_cells,
}
