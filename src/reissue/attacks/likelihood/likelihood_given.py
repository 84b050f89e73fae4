"""Models that somebody brings: a table of other people, chances by cell, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.attacks.likelihood.likelihood_bayes import Model, NaiveBayes, Stated
from reissue.attacks.likelihood.likelihood_columns import Columns
from reissue.attacks.likelihood.likelihood_learning import POWERS, SAMPLE
from reissue.errors import ParameterError, count_of, listed
from reissue.model.sets import OTHERS


def from_table(
    table: pl.DataFrame, codes: Ints, columns: Columns, values: int, smoothing: float, seed: int | None
) -> Model:
    """Naive Bayes counted from a table of other people with their values; `codes` are those, -1 for none.

    With a `seed` it is trusted as far as the half of the table tells the values of the other half.
    """
    used = np.flatnonzero(codes >= 0)
    if not used.size:
        raise ParameterError(
            "The table in 'model' has no value that the releases show.", hint="spell values as they are published."
        )
    seen = columns.elsewhere(table)
    bins = [cut.bins for cut in columns.cuts]

    def counted(rows: Ints, of: tuple[Ints, ...]) -> NaiveBayes:
        return NaiveBayes.counted(of, None, bins, seen, rows, codes[rows], np.ones(rows.size), values, smoothing)

    model = counted(used, columns.codes)
    if seed is None or used.size < 2:
        return model
    halves = np.array_split(np.random.default_rng(seed).permutation(used), 2)
    told = np.zeros(POWERS.size)
    for learnt, asked in (halves, halves[::-1]):
        some = asked[: max(1, SAMPLE // values)]
        half = counted(learnt, seen)
        for at, power in enumerate(POWERS):
            chance = replace(half, power=float(power)).every(some)[np.arange(some.size), codes[some]]
            told[at] += np.log(np.maximum(chance, 1e-300)).sum()
    return replace(model, power=float(POWERS[told.argmax()]))


def from_cells(
    cells: Mapping[Any, Any], given: tuple[str, ...], quasi: pl.DataFrame, values: tuple[object, ...]
) -> Model:
    """Chances of values for each cell of the `given` columns."""
    keys = quasi.select(given)
    numbers = keys.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    _, first = np.unique(numbers, return_index=True)
    rows = keys[first].rows()
    written = [cells.get(row[0] if len(given) == 1 else row) for row in rows]
    lacking = sum(not isinstance(one, Mapping) for one in written)
    if lacking:
        raise ParameterError(
            f"The 'model' parameter of Likelihood lacks {count_of(lacking, 'cell')} of {len(rows):,}.",
            hint="give every cell of the columns in 'given' the chances of its values.",
        )
    table = np.array([[float(one.get(value, 0.0)) for value in values] for one in written if one is not None])
    return Stated(_checked(table, len(rows), len(values))[numbers])


def from_function(function: Callable[[pl.DataFrame], Any], quasi: pl.DataFrame, values: tuple[object, ...]) -> Model:
    """What a function says of the rows of a release: a frame with a column for each value, or an array."""
    said = function(quasi)
    if isinstance(said, pl.DataFrame):
        names = [str(value) for value in values]
        if lacking := [name for name in names if name not in said.columns]:
            raise ParameterError(f"What 'model' returns lacks a column for {count_of(len(lacking), 'value')}.")
        said = said.select(names).to_numpy()
    return Stated(_checked(np.asarray(said, dtype=np.float64), quasi.height, len(values)))


def _checked(chance: Floats, rows: int, values: int) -> Floats:
    """Chances that add up to 1 in every row."""
    shaped = chance.shape == (rows, values)
    if not shaped or not np.isfinite(chance).all() or (chance < 0).any() or (chance.sum(axis=1) <= 0).any():
        raise ParameterError(
            f"The 'model' parameter of Likelihood must give {values:,} chances for each row, from 0 and not all 0.",
            hint="one for each value of the view, in the order of `published.values`.",
        )
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def value_column(table: pl.DataFrame, value: str | None, quasi: pl.DataFrame) -> str:
    """The column of a table that has the values."""
    if value is not None:
        if value not in table.columns:
            raise ParameterError("The table in 'model' has no column of the name that 'value' says.")
        return value
    others = [name for name in table.columns if name not in quasi.columns]
    if len(others) != 1:
        raise ParameterError(
            f"The table in 'model' has {count_of(len(others), 'column')} beside the quasi-identifiers"
            f"{f' ({listed(others)})' if others else ''}: it is not plain which has the values.",
            hint="name it: Likelihood(model=table, value=...).",
        )
    return others[0]


def coded(column: pl.Series, values: tuple[object, ...]) -> Ints:
    """The positions of values in the view: rare ones under their common name, where it has that; else -1."""
    place = {value: at for at, value in enumerate(values)} | {str(value): at for at, value in enumerate(values)}
    distinct = column.unique()
    others = place.get(OTHERS, -1)
    texts = distinct.cast(pl.String).to_list()
    named = [place.get(cell, place.get(text)) for cell, text in zip(distinct.to_list(), texts, strict=True)]
    if all(code in (None, others) for code in named):
        others = -1  # values that are all written in another way are not all rare
    codes = [others if code is None else code for code in named]
    known = pl.DataFrame({"cell": distinct, "code": pl.Series(codes, dtype=pl.Int64)})
    rows = column.alias("cell").to_frame()
    joined = rows.join(known, on="cell", how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].to_numpy().astype(np.int64)
