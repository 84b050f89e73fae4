"""Tables as coding takes them: by column, so that a table in files need not be in memory as a whole.

A polars frame is one. Of a table in files a column is read when it is asked for, and kept by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import polars as pl


class ByColumn(Protocol):
    """A table whose columns are asked for one by one."""

    @property
    def columns(self) -> list[str]:
        """Their names."""

    @property
    def height(self) -> int:
        """How many rows there are."""

    def __getitem__(self, name: str, /) -> pl.Series:
        """A column; of a table in files it is read now."""


@dataclass(frozen=True, repr=False)
class SomeRows:
    """Some rows of a table."""

    table: ByColumn
    places: pl.Series

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.table.columns

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.places.len()

    def __getitem__(self, name: str, /) -> pl.Series:
        """A column."""
        return self.table[name].gather(self.places)
