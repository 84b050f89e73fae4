"""Records: somebody's values in several sensitive columns, as one value.

Columns that are published apart tell of each other. So methods, checkers and attacks see one column whose values are
records, and what holds of a single column follows by adding up: somebody has a value of it with the probability of all
records that have it.

A record is written `heart failure; <30`: values in the order of the columns, one with a semicolon or quotes in it in
double quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import InternalError
from reissue.model.hierarchy import MISSING
from reissue.model.schema import TOGETHER
from reissue.model.snapshot import Column, Labels, Levels, Numbers, smallest_unsigned

_CELL = re.compile(r'(?:"((?:[^"]|"")*)"|([^";]*))(; |\Z)')
"""One value of a record, in double quotes or bare, and what comes behind it."""


@dataclass(frozen=True, repr=False)
class Records(Labels):
    """Levels of several sensitive columns together: a label for each record, in the order of the columns' values."""

    names: tuple[str, ...]
    """The columns."""
    levels: tuple[Levels, ...]
    """What the values of each column are."""
    cells: Ints
    """For each record, a row, the code of its value in each column."""

    def columns(self, codes: npt.NDArray[np.integer]) -> list[Column]:
        """The columns of rows that have these records."""
        return [
            Column(name, self.cells[:, at][codes].astype(smallest_unsigned(_size(levels))), levels)
            for at, (name, levels) in enumerate(zip(self.names, self.levels, strict=True))
        ]


def _size(levels: Levels) -> int:
    return levels.values.size if isinstance(levels, Numbers) else len(levels.labels)


@dataclass(frozen=True, repr=False)
class ValueColumn:
    """One of several sensitive columns, as an outsider sees it: which value of it each record has."""

    name: str
    values: tuple[str, ...]
    """The values of the column, as text."""
    of: Ints
    """For each record the position of its value."""

    def __repr__(self) -> str:
        return f"ValueColumn('{self.name}', {len(self.values):,} values)"


def texts_of_levels(levels: Levels) -> list[str]:
    """What each code of a column is written as."""
    if not isinstance(levels, Numbers):
        return list(levels.labels)
    return levels.decode(np.arange(levels.values.size)).cast(pl.String).fill_null(MISSING).to_list()


def record_text(cells: Iterable[str]) -> str:
    """The values of a record as one text."""
    return TOGETHER.join(
        '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ';"') else cell for cell in cells
    )


def record_cells(text: str, columns: int) -> tuple[str, ...]:
    """The values of a record: the way back from `record_text`."""
    found, at = [], 0
    while match := _CELL.match(text, at):
        quoted, bare, behind = match.groups()
        found.append(bare if quoted is None else quoted.replace('""', '"'))
        at = match.end()
        if not behind:
            break
    if len(found) != columns or at != len(text):
        raise InternalError(f"a record does not have {columns} values")
    return tuple(found)


def value_columns(names: Sequence[str], records: Sequence[str]) -> tuple[ValueColumn, ...]:
    """The columns of records that are written as text."""
    cells = [record_cells(record, len(names)) for record in records]
    columns = []
    for at, name in enumerate(names):
        values = tuple(sorted({one[at] for one in cells}))
        place = {value: position for position, value in enumerate(values)}
        columns.append(ValueColumn(name, values, np.array([place[one[at]] for one in cells], dtype=np.int64)))
    return tuple(columns)
