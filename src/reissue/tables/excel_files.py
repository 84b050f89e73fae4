"""Excel files: one sheet as a table, with the types that its cells have.

A file with one sheet that has cells is read as it is. Of several, one is named behind the file: `staff.xlsx#May`.
The first row has the names of the columns. Numbers are whole where all of a column are, times are dates where all of
a column are midnight, and a text such as 007 stays text. Rows without any cell are passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import MissingExtra, TableError, listed
from reissue.model.csv_files import check_names, csv_bytes
from reissue.tables.plain import dates_of_midnights, whole_numbers
from reissue.tables.room import check_room, excel_extent

EXCEL = (".xlsx", ".xls", ".xlsb")
"""The endings of files that are read."""

# What it tells is which column has no values at all.
logging.getLogger("fastexcel").addHandler(logging.NullHandler())


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """The file and the sheet that are meant: `staff.xlsx#May` is the sheet May of staff.xlsx."""
    if "#" in path.name and not path.exists():
        for ending in EXCEL:
            at = path.name.lower().find(f"{ending}#") + len(ending)
            if at >= len(ending):
                return path.with_name(path.name[:at]), path.name[at + 1 :]
    return path, None


@dataclass(frozen=True)
class SheetHead:
    """The beginning of a sheet."""

    name: str
    hidden: bool
    lines: tuple[tuple[str, ...], ...]
    """The cells of its first lines that have any, as text."""


def heads_of(path: Path, lines: int) -> tuple[SheetHead, ...]:
    """The first lines of every sheet."""
    book = _opened(path)
    heads = []
    for name in book.sheet_names:
        loaded = book.load_sheet(name, header_row=None, n_rows=lines, dtypes="string")
        rows = loaded.to_polars().rows()
        cells = tuple(tuple("" if cell is None else str(cell).strip() for cell in row) for row in rows)
        heads.append(SheetHead(name, loaded.visible != "visible", tuple(row for row in cells if any(row))))
    return tuple(heads)


def read_excel(path: Path, sheet: str | None, text: Collection[str]) -> pl.DataFrame:
    """A sheet as a table; the numbers of columns named in `text` as a CSV file would have them."""
    book = _opened(path)
    sheet = _chosen(book, path.name, sheet)
    header = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    names = ["" if name is None else str(name) for name in (header.row(0) if header.height else ())]
    if not names:
        raise TableError(f"The sheet '{sheet}' of '{path.name}' is empty.", hint="name a sheet that has a table.")
    check_names(names, path.name)
    loaded = book.load_sheet(
        sheet, header_row=None, skip_rows=1, column_names=names, schema_sample_rows=None, skip_whitespace_tail_rows=True
    )
    table: pl.DataFrame = loaded.to_polars()
    table = table.select(_typed(column, column.name in text) for column in table)
    return table if table.width == 1 else table.filter(~pl.all_horizontal(pl.all().is_null()))


def sheet_as_texts(path: Path, sheet: str | None) -> str:
    """A sheet as the text of a CSV file, from its first line with cells on, whatever stands there."""
    book = _opened(path)
    loaded = book.load_sheet(_chosen(book, path.name, sheet), header_row=None, dtypes="string")
    return csv_bytes(loaded.to_polars()).decode().partition("\n")[2]


def _opened(path: Path) -> Any:
    """A workbook, if it fits into memory."""
    if find_spec("fastexcel") is None:
        raise MissingExtra(
            "Reading Excel files needs the package 'fastexcel'.",
            hint="install reissue with its extra excel (from a clone: pip install '.[excel]'), or save as CSV.",
        )
    import fastexcel

    if (extent := excel_extent(path)) is not None:
        check_room(path.name, extent)
    return fastexcel.read_excel(path)


def _chosen(book: Any, name: str, sheet: str | None) -> str:
    """The sheet that is named, or the only one that has cells."""
    names: list[str] = book.sheet_names
    if sheet is not None:
        if sheet not in names:
            raise TableError(f"'{name}' has no sheet '{sheet}'. It has {listed(names)}.", hint="name one of them.")
        return sheet
    filled = []
    for one in names:
        loaded = book.load_sheet(one, n_rows=1)
        if loaded.width and loaded.visible == "visible":
            filled.append(one)
    if not filled:
        raise TableError(f"'{name}' has no sheet with cells.", hint="check that it is the right file.")
    if len(filled) > 1:
        raise TableError(
            f"'{name}' has several sheets with cells: {listed(filled)}.",
            hint=f"name one of them behind the file: '{name}#{filled[0]}'.",
        )
    return filled[0]


def _typed(column: pl.Series, written: bool) -> pl.Series:
    """Numbers that are whole as such, and midnights as dates; numbers as text where they are to be as written."""
    if column.dtype.is_float():
        whole = whole_numbers(column)
        column = column if whole is None else whole
    return column.cast(pl.String) if written and column.dtype.is_numeric() else dates_of_midnights(column)
