"""Excel workbooks as they are sent: a sheet for each table, and exactly the same tables when they are read again.

Texts are text cells, whatever they begin with: none becomes a formula. Numbers are numbers with all their digits, dates
are dates. What Excel cannot hold as such, it holds as text: whole numbers beyond 2^53, dates before March 1900, times
with fractions of a second or a zone, numbers that are not finite; lists as `set_texts` writes them. What it cannot hold
at all is refused: too many rows or columns, and texts that are too long or that no workbook keeps as they are.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import MissingExtra, count_of
from reissue.tables.frames import check_file, understood
from reissue.tables.sent_types import as_texts, dtype_named, field_type, from_texts, plain_types, type_name

ROWS, COLUMNS, LONGEST = 1_048_576, 16_384, 32_767
"""The most rows (with the names) and columns of a sheet, and the longest text of a cell."""
_EXACT = 1 << 53
_FIRST_DATE = datetime.date(1900, 3, 1)
"""Excel takes 1900 for a leap year: days before count differently."""
_UNKEPT = re.compile("(?s)^<r>.*</r>$|[\ufffe\uffff]")
"""What the writer takes for formatting, and what XML cannot hold."""


def cell_types(frame: pl.DataFrame) -> dict[str, str]:
    """For each column what its cells are in a workbook: a type of Table Schema."""
    return {column.name: _cell_type(column) for column in plain_types(frame)}


def _cell_type(column: pl.Series) -> str:
    kind, dtype = field_type(type_name(column.dtype)), column.dtype
    low: Any = column.min() if kind in ("integer", "date", "datetime") else None
    high: Any = column.max() if kind in ("integer", "date", "datetime") else None
    fits = True
    if kind == "integer" and low is not None:
        fits = low >= -_EXACT and high <= _EXACT
    elif kind == "number":
        fits = bool(column.is_finite().all())
    elif kind == "date" and low is not None:
        fits = low >= _FIRST_DATE and high.year <= 9999
    elif isinstance(dtype, pl.Datetime):
        whole = bool((column.dt.truncate("1s") == column).all())
        fits = dtype.time_zone is None and whole and (low is None or low.date() >= _FIRST_DATE)
    return kind if fits else "string"


def problems_of_sheet(name: str, frame: pl.DataFrame) -> list[str]:
    """Why a table cannot be a sheet; nothing where it can."""
    problems = []
    if frame.height >= ROWS:
        problems.append(f"'{name}' has {frame.height:,} rows, and a sheet holds {ROWS - 1:,} below the names")
    if frame.width > COLUMNS:
        problems.append(f"'{name}' has {frame.width:,} columns, and a sheet holds {COLUMNS:,}")
    texts = _sheet(frame).select(pl.col(pl.String))
    for column in [pl.Series("", texts.columns, dtype=pl.String), *texts]:
        where = f"the column '{column.name}' of '{name}'" if column.name else f"the names of the columns of '{name}'"
        distinct = column.unique().drop_nulls()
        # Excel counts halves of pairs: a letter beyond the first 65,536 is two.
        units = distinct.str.len_chars() + distinct.str.count_matches("[\U00010000-\U0010ffff]")
        if long := int((units > LONGEST).sum()):
            problems.append(f"{where}: {count_of(long, 'text')} of more than {LONGEST:,} characters")
        if unkept := sum(_UNKEPT.search(text) is not None for text in _suspects(distinct)):
            problems.append(f"{where}: {count_of(unkept, 'text')} that no workbook keeps as they are")
        if column.null_count() and (column == "").any():
            problems.append(f"{where}: empty texts beside cells without a value, which a workbook does not tell apart")
    return problems


def _suspects(texts: pl.Series) -> list[str]:
    return texts.filter(texts.str.starts_with("<r>") | texts.str.contains("[\ufffe\uffff]")).to_list()


def _sheet(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as its cells are: columns of text where Excel has no such type."""
    plain, texts = plain_types(frame), as_texts(frame)
    kinds = cell_types(frame)
    return plain.with_columns(texts[name] for name, kind in kinds.items() if kind == "string")


def workbook_bytes(tables: Mapping[str, pl.DataFrame], created: datetime.datetime) -> bytes:
    """Tables as the sheets of one workbook; the same tables and time give the same bytes."""
    writer = _writer()
    made = BytesIO()
    book = writer.Workbook(made, {"in_memory": True, "strings_to_numbers": False, "strings_to_formulas": False})
    book.set_properties({"created": created.replace(tzinfo=None)})
    bold = book.add_format({"bold": True})
    dates = {
        "date": book.add_format({"num_format": "yyyy-mm-dd"}),
        "datetime": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
    }
    for name, frame in tables.items():
        sheet = book.add_worksheet(name, worksheet_class=_exact_sheet())
        sheet.freeze_panes(1, 0)
        kinds = cell_types(frame)
        for at, column in enumerate(_sheet(frame)):
            sheet.write_string(0, at, column.name, bold)
            sheet.set_column(at, at, min(max(len(column.name) + 2, 10), 40))
            _write(sheet, at, kinds[column.name], column.to_list(), dates)
    book.close()
    return made.getvalue()


def _write(sheet: Any, at: int, kind: str, cells: Iterable[Any], dates: Mapping[str, Any]) -> None:
    write, further = {
        "string": (sheet.write_string, ()),
        "boolean": (sheet.write_boolean, ()),
        "date": (sheet.write_datetime, (dates["date"],)),
        "datetime": (sheet.write_datetime, (dates["datetime"],)),
    }.get(kind, (sheet.write_number, ()))
    for row, cell in enumerate(cells, 1):
        if cell is not None:
            write(row, at, cell, *further)


@cache
def _writer() -> Any:
    try:
        import xlsxwriter  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra(
            "Writing Excel workbooks needs the package 'xlsxwriter'.",
            hint="install reissue with its extra excel (from a clone: pip install '.[excel]').",
        ) from error
    return xlsxwriter


@cache
def _exact_sheet() -> Any:
    from xlsxwriter.worksheet import Worksheet  # type: ignore[import-untyped]

    class ExactSheet(Worksheet):  # type: ignore[misc]
        """A sheet whose numbers have all their digits: the library's own have 16, and some need 17."""

        def _xml_number_element(self, number: float, attributes: Iterable[tuple[str, object]] = ()) -> None:
            marks = "".join(f' {name}="{value}"' for name, value in attributes)
            self.fh.write(f"<c{marks}><v>{number!r}</v></c>")

    return ExactSheet


_CELLS = {"integer": "int", "number": "float", "boolean": "boolean", "date": "date", "datetime": "datetime"}


def read_sheet(path: Path, sheet: str, types: Mapping[str, str], cells: Mapping[str, str]) -> pl.DataFrame:
    """The table in a sheet, whose columns have these types and whose cells are of these types of Table Schema."""
    try:
        import fastexcel
    except ImportError as error:
        raise MissingExtra(
            "Reading Excel workbooks needs the package 'fastexcel'.",
            hint="install reissue with its extra excel (from a clone: pip install '.[excel]').",
        ) from error

    def read() -> pl.DataFrame:
        book = fastexcel.read_excel(path)
        names = list(types)
        wanted: Any = {at: _CELLS.get(cells[name], "string") for at, name in enumerate(names)}
        header = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
        if header.row(0) != tuple(names):
            raise ValueError("columns")
        raw = book.load_sheet(
            sheet, header_row=None, skip_rows=1, column_names=names, dtypes=wanted, skip_whitespace_tail_rows=False
        ).to_polars()
        return pl.DataFrame([_column(raw[name], types[name], cells[name]) for name in names])

    check_file(path)
    hint = "take the file as it was sent; `reissue verify` says which files are not."
    return understood(read, f"'{path.name}' has no sheet '{sheet}' as its data package describes it.", hint)


def _column(column: pl.Series, type_: str, cells: str) -> pl.Series:
    if cells == "string":
        return from_texts(column.cast(pl.String).to_frame(), {column.name: type_}).to_series()
    return column.cast(dtype_named(type_), strict=True)
