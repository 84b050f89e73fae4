"""What a model looks at: quasi-identifiers as small numbers, a column of them each.

Numbers are cut at quantiles of the release, everything else is a label; what is missing is a label of its own. What
another table has and the release has not is a bin of its own too: nobody in the release is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.errors import ParameterError, listed

BINS = 20
"""So many bins at most for a column of numbers."""


@dataclass(frozen=True, repr=False)
class Cut:
    """How the cells of one column become numbers."""

    name: str
    edges: Floats | None
    """Where numbers are cut; None: the cells are labels."""
    labels: pl.Series | None
    """The labels that the release has."""

    @classmethod
    def of(cls, column: pl.Series) -> Cut:
        """The way to cut a column of a release."""
        if not column.dtype.is_numeric():
            return cls(column.name, None, _texts(column).drop_nulls().unique().sort())
        numbers = column.drop_nulls().cast(pl.Float64).to_numpy()
        wanted = np.linspace(0, 1, BINS + 1)[1:-1]
        return cls(column.name, np.unique(np.quantile(numbers, wanted)) if numbers.size else np.zeros(0), None)

    @property
    def bins(self) -> int:
        """How many different numbers there are: for what the release has, for what is missing, for what is strange."""
        known = self.edges.size + 1 if self.edges is not None else 0 if self.labels is None else self.labels.len()
        return known + 2

    def codes(self, column: pl.Series) -> Ints:
        """The cells of a column, of the release or of another table, as numbers."""
        missing, strange = self.bins - 2, self.bins - 1
        if self.edges is not None:
            numbers = column.cast(pl.Float64, strict=False)
            read = np.searchsorted(self.edges, numbers.fill_null(0).to_numpy(), side="right")
            codes = np.where(numbers.is_null().to_numpy(), strange, read)
        else:
            known = pl.DataFrame({"text": self.labels}).with_row_index("at")
            rows = _texts(column).alias("text").to_frame()
            found = rows.join(known, on="text", how="left", maintain_order="left")["at"]
            codes = found.fill_null(strange).to_numpy().astype(np.int64)
        return np.where(column.is_null().to_numpy(), missing, codes).astype(np.int64)


@dataclass(frozen=True, repr=False)
class Columns:
    """The columns of a release that a model looks at."""

    cuts: tuple[Cut, ...]
    codes: tuple[Ints, ...]
    """For each column the numbers of all rows."""

    @classmethod
    def of(cls, table: pl.DataFrame, given: Sequence[str] | None) -> Columns:
        """Those that are `given`, or all."""
        names = list(table.columns) if given is None else list(given)
        if unknown := [name for name in names if name not in table.columns]:
            raise ParameterError(
                f"The 'given' parameter of Likelihood names {listed(unknown)}, which the releases do not have.",
                hint=f"choose among {listed(table.columns)}.",
            )
        cuts = tuple(Cut.of(table[name]) for name in names)
        return cls(cuts, tuple(cut.codes(table[cut.name]) for cut in cuts))

    def elsewhere(self, table: pl.DataFrame) -> tuple[Ints, ...]:
        """The same columns of another table, cut in the same way."""
        if lacking := [cut.name for cut in self.cuts if cut.name not in table.columns]:
            raise ParameterError(
                f"The table in 'model' lacks {listed(lacking)}.",
                hint="name the columns that it has in 'given'; where these are "
                "regions, say what is known of people: Likelihood(people=...).",
            )
        codes = tuple(cut.codes(table[cut.name]) for cut in self.cuts)
        strange = [cut.name for cut, found in zip(self.cuts, codes, strict=True) if (found >= cut.bins - 2).all()]
        if strange and table.height:
            raise ParameterError(
                f"No cell of the table in 'model' is one that the releases have, in {listed(strange)}.",
                hint="write cells as they are published, regions as regions; or leave such columns out of 'given'.",
            )
        return codes


def _texts(column: pl.Series) -> pl.Series:
    """Labels as text, whatever they are."""
    if column.dtype.is_nested():
        return pl.Series(column.name, [None if cell is None else str(cell) for cell in column.to_list()], pl.String)
    return column.cast(pl.String)
