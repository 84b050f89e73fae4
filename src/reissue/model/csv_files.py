"""CSV files: one rule to read and one to write, for everything in the program that is CSV.

Reading. The text is UTF-8, with or without a byte order mark; UTF-16 needs one. Between cells stands a comma, a
semicolon, a tab or a bar: the one that gives each of the first hundred lines as many cells, two or more.
A file in whose header none of them stands has one column. A cell with a separator, a line end or a double quote in it
is in double quotes, and double quotes inside it are doubled (RFC 4180). Lines end with \\n or \\r\\n; empty lines are
passed over where there are several columns. Every column has a name of its own.

Cells of a column that the caller names as text stay as they are written. Others become numbers, yes and no, or dates
and times as ISO 8601 writes them, if every cell of the column is. Between semicolons a decimal comma is read like a
point, if no column of the file has decimals with a point: that is how spreadsheets write where commas are decimal.

Writing. Commas, double quotes where they are needed, \\n and UTF-8 without a byte order mark.

What is wrong with a file is said with the number of the line and the counts of cells, never with what stands there.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, NoReturn

import numpy as np
import polars as pl

from reissue.errors import ReissueWarning, TableError, count_of

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between cells, and how it is called."""
LINES = 100
"""So many lines say what stands between the cells."""

_HEAD = 1 << 18
_PIECE = 1 << 22
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?$"
_DECIMAL = r"^[+-]?(0|[1-9]\d*)(,\d+)?$"
_QUOTES = (
    "put cells that hold a separator, a double quote or a line end into double quotes, right between the separators, "
    "and double the double quotes inside them."
)


@dataclass(frozen=True, repr=False)
class CsvFile:
    """A CSV file as it is laid out: its content as UTF-8, what stands between cells, and the names of its columns."""

    content: Path | bytes
    name: str
    separator: str
    names: tuple[str, ...]

    def opened(self) -> BinaryIO:
        """The content from its beginning."""
        return _opened(self.content)


# Reading


def laid_out(content: Path | bytes, name: str) -> CsvFile:
    """Find out how a table in a CSV file is laid out; TableError where that cannot be told, or the header is bad."""
    content = as_utf8(content, name)
    separator, first = _layout(_head(content, name), name)
    check_names(first, name)
    return CsvFile(content, name, separator, tuple(first))


def read_csv(file: CsvFile, *, text: Collection[str] = ()) -> pl.DataFrame:
    """The table of a CSV file; the columns named in `text` as they are written."""
    written = {name: pl.String() for name in file.names if name in text}
    every = len(written) == len(file.names)
    try:
        table = pl.read_csv(
            file.content,
            separator=file.separator,
            schema_overrides=written,
            infer_schema=not every,
            infer_schema_length=None,
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # what they say can quote cells
        table = None
    if table is None:
        _explain(file)
    if tuple(table.columns) != file.names:
        raise TableError(f"The header of '{file.name}' cannot be read in one way only.", hint=_QUOTES)
    table = _whole_lines(table, file)
    if file.separator == ";":
        table = _with_decimal_commas(table, text)
    return table.with_columns(_dates(table[name]) for name in table.columns if name not in written)


def read_text(path: str | Path) -> pl.DataFrame:
    """A small CSV file with every cell as it is written; OSError where the file cannot be read."""
    path = Path(path)
    file = laid_out(path.read_bytes(), path.name)
    return read_csv(file, text=file.names)


def rows_of(text: str, name: str, separator: str | None = None) -> list[list[str]]:
    """The cells of a text without a header, line by line; an empty line has none. Lines need not have equally many.

    Where more than one separator would do, it is the semicolon.
    """
    head = _Head(text, True)
    if separator is None:
        parsed = {one: _parsed(head, one, LINES) for one in SEPARATORS}
        fitting = [one for one in (";", *SEPARATORS) if _fits(parsed[one])]
        separator = fitting[0] if fitting else max((";", *SEPARATORS), key=lambda one: _width(parsed[one]))
    whole = _parsed(head, separator, None)
    if whole.fault is not None:
        raise _unsound(name, whole.fault)
    return whole.rows


def decimals(column: pl.Series) -> pl.Series:
    """Texts as numbers, whether their decimals are written with a point or a comma; missing where one is neither."""
    comma = column.str.contains(_DECIMAL)
    return pl.select(pl.when(comma).then(column.str.replace(",", ".")).otherwise(column))[:, 0].cast(
        pl.Float64, strict=False
    )


# Writing


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A table as the content of a CSV file."""
    target = BytesIO()
    write_csv(frame, target)
    return target.getvalue()


def write_csv(frame: pl.DataFrame, target: Path | IO[bytes]) -> None:
    """Write a table as CSV."""
    frame.write_csv(target)


# Encodings


def _opened(content: Path | bytes) -> BinaryIO:
    return content.open("rb") if isinstance(content, Path) else BytesIO(content)


def as_utf8(content: Path | bytes, name: str) -> Path | bytes:
    """The content as UTF-8: as it is, or made of UTF-16 with its mark."""
    with _opened(content) as file:
        start = file.read(4)
        if start.startswith(_WIDE):
            try:
                return (start + file.read()).decode("utf-16").encode()
            except UnicodeError:
                raise TableError(
                    f"'{name}' begins like UTF-16, but is not.", hint="save it as UTF-8, and check that it is complete."
                ) from None
    if b"\0" in start:
        raise TableError(
            f"'{name}' is not UTF-8; it may be UTF-16 without a byte order mark.", hint="save it as UTF-8."
        )
    return content


def _decoded(content: Path | bytes, name: str) -> str:
    data = content.read_bytes() if isinstance(content, Path) else content
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    raise TableError(
        f"'{name}' is not UTF-8: line {line:,} holds bytes that are none.",
        hint="save it as UTF-8 (spreadsheets call it 'CSV UTF-8'), or convert it: "
        "iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv",
    )


# Layout


class _Head(NamedTuple):
    text: str
    """Whole lines, as far as line ends inside of quotes allow."""
    whole: bool
    """Whether that is all there is."""


class _Fault(NamedTuple):
    line: int
    cells: int | None
    """How many cells it has; None where it cannot be taken apart."""


class _Parsed(NamedTuple):
    rows: list[list[str]]
    lines: list[int]
    """The number of the line each row begins in."""
    fault: _Fault | None


def _head(content: Path | bytes, name: str) -> _Head:
    with _opened(content) as file:
        data = file.read(_HEAD)
        whole = len(data) < _HEAD
        if not whole:
            data += file.readline()
            whole = not file.peek(1) if hasattr(file, "peek") else file.tell() == len(content)  # type: ignore[arg-type]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = _decoded(content, name)  # which says in which line
    if not text.strip():
        raise TableError(f"'{name}' is empty.", hint="the first line has the names of the columns.")
    if "\r" in text and "\n" not in text:
        raise TableError(
            f"The lines of '{name}' end with a carriage return alone.",
            hint="save it with line ends of Unix or Windows.",
        )
    if re.match(r"\s*sep=.\r?\n", text):
        raise TableError(
            f"'{name}' begins with a line for a spreadsheet, which says the separator.",
            hint="remove the first line; the separator is found without it.",
        )
    return _Head(text, whole)


@cache
def _cell(separator: str) -> str:
    """The pattern of one cell; possessive, so that no text takes long."""
    return rf'(?:"[^"]*+(?:""[^"]*+)*+"|[^{re.escape(separator)}"\r\n]*+)'


def _parsed(head: _Head, separator: str, most: int | None) -> _Parsed:
    """The first rows of a text, taken apart; up to its first fault."""
    cell = re.compile(rf"({_cell(separator)})({re.escape(separator)}|\r?\n|\Z)")
    rows: list[list[str]] = []
    lines: list[int] = []
    text, at, line = head.text, 0, 1
    while at < len(text) and (most is None or len(rows) < most):
        cells: list[str] = []
        begin = at
        while True:
            found = cell.match(text, at)
            if found is None:
                # Where the text was cut inside of quotes, the rest is another row.
                cut = not head.whole and text.count('"', begin) % 2 == 1
                return _Parsed(rows, lines, None if cut and rows else _Fault(line, None))
            written = found[1]
            cells.append(written[1:-1].replace('""', '"') if written.startswith('"') else written)
            at = found.end()
            if found[2] != separator:
                break
        rows.append(cells if cells != [""] or text[begin : begin + 1] == '"' else [])
        lines.append(line)
        line += text.count("\n", begin, at)
    return _Parsed(rows, lines, None)


def _width(parsed: _Parsed) -> int:
    """How many cells the first line has that is not empty."""
    return next((len(row) for row in parsed.rows if row), 0)


def _fits(parsed: _Parsed) -> bool:
    """Whether every line has the same number of cells, two or more."""
    return parsed.fault is None and _width(parsed) > 1 and {len(row) for row in parsed.rows if row} == {_width(parsed)}


def _layout(head: _Head, name: str) -> tuple[str, list[str]]:
    """What stands between the cells, and the cells of the first line."""
    parsed = {separator: _parsed(head, separator, LINES) for separator in SEPARATORS}
    fitting = [separator for separator, one in parsed.items() if _fits(one)]
    if len(fitting) > 1:
        counts = " or ".join(f"{_width(parsed[one])} between {SEPARATORS[one]}" for one in fitting)
        raise TableError(
            f"What stands between the cells of '{name}' cannot be told: every line has {counts}.", hint=_QUOTES
        )
    separator = fitting[0] if fitting else max(SEPARATORS, key=lambda one: _width(parsed[one]))
    chosen, width = parsed[separator], _width(parsed[separator])
    for row, line in zip(chosen.rows, chosen.lines, strict=True):
        if row and len(row) != width:
            raise _ragged(name, separator, _Fault(line, len(row)), width)
    if chosen.fault is not None:
        raise _unsound(name, chosen.fault)
    return separator, next(row for row in chosen.rows if row)


def check_names(names: list[str], name: str) -> None:
    """Refuse columns without a name, and names that two have; say which have spaces around them."""
    problems = []
    if nameless := [at for at, one in enumerate(names, start=1) if not one.strip()]:
        which = ", ".join(map(str, nameless[:12])) + (" ..." if len(nameless) > 12 else "")
        problems.append(f"{count_of(len(nameless), 'column')} without a name: number {which}")
    often = Counter(names)
    if twice := [at for at, one in enumerate(names, start=1) if one.strip() and often[one] > 1]:
        # By their places: where a file has no header, its first line is somebody's record.
        which = ", ".join(map(str, twice[:12])) + (" ..." if len(twice) > 12 else "")
        problems.append(f"{len(twice):,} columns whose name another one has too: number {which}")
    if problems:
        raise TableError(
            f"The header of '{name}' is not sound.",
            problems=problems,
            hint="give every column a name of its own. A nameless first column may be the index that pandas writes; "
            "to_csv(index=False) leaves it out.",
        )
    if around := [at for at, one in enumerate(names, start=1) if one != one.strip()]:
        which = ", ".join(map(str, around[:12])) + (" ..." if len(around) > 12 else "")
        warnings.warn(
            f"'{name}' has names of columns with spaces around them, which are part of the names: number {which}.",
            ReissueWarning,
            stacklevel=2,
        )


# Faults


def _ragged(name: str, separator: str, fault: _Fault, width: int) -> TableError:
    cells = count_of(fault.cells or 0, "cell")
    return TableError(
        f"Line {fault.line:,} of '{name}' has {cells} between {SEPARATORS[separator]}, and the header has {width:,}.",
        hint=f"correct the line. {_QUOTES[0].upper()}{_QUOTES[1:]}",
    )


def _unsound(name: str, fault: _Fault) -> TableError:
    return TableError(
        f"Line {fault.line:,} of '{name}' cannot be taken apart: a double quote is where none may be, or not closed.",
        hint=_QUOTES,
    )


def _explain(file: CsvFile) -> NoReturn:
    """Say what is wrong with a file that polars does not read."""
    text = _decoded(file.content, file.name)
    for _ in _blank_rows(text, file):
        pass
    raise TableError(f"'{file.name}' cannot be read as a CSV table.", hint="check that it is complete.")


def _whole_lines(table: pl.DataFrame, file: CsvFile) -> pl.DataFrame:
    """Without rows of empty lines; polars fills a line that has too few cells with missing ones, which is refused."""
    if table.width == 1 or not table.height or not table[:, -1].has_nulls():
        return table
    if _separators(file) == (table.height + 1) * (table.width - 1):
        return table  # nor has any line too many cells: polars would have said so
    empty = list(_blank_rows(_decoded(file.content, file.name), file))
    keep = np.ones(table.height, dtype=np.bool_)
    keep[empty] = False
    return table.filter(keep)


def _separators(file: CsvFile) -> int:
    """How many separators there are outside of quotes."""
    found, inside = 0, 0
    with file.opened() as opened:
        while piece := opened.read(_PIECE):
            if not inside and b'"' not in piece:
                found += piece.count(file.separator.encode())
                continue
            letters = np.frombuffer(piece, dtype=np.uint8)
            quoted = np.bitwise_xor.accumulate((letters == ord('"')).view(np.uint8)) ^ np.uint8(inside)
            found += int(np.count_nonzero((letters == ord(file.separator)) & (quoted == 0)))
            inside = int(quoted[-1])
    return found


def _blank_rows(text: str, file: CsvFile) -> Iterator[int]:
    """The numbers of rows that are empty lines; an error at the first line that has not as many cells as the header."""
    width = len(file.names)
    cell, separator = _cell(file.separator), re.escape(file.separator)
    record = re.compile(rf"{cell}(?:{separator}{cell}){{{width - 1}}}(?:\r?\n|\Z)")
    blank = re.compile(r"\r?\n")
    at, row = 0, -1  # the header is no row
    while at < len(text):
        found = record.match(text, at)
        if found is None or (width > 1 and found.end() == at):
            found = blank.match(text, at)
            if found is None:
                fault = _parsed(_Head(text[at:], True), file.separator, 1)
                line = text.count("\n", 0, at) + 1
                if fault.rows:
                    raise _ragged(file.name, file.separator, _Fault(line, len(fault.rows[0])), width)
                raise _unsound(file.name, _Fault(line, None))
            if row >= 0:
                yield row
                row += 1
        else:
            row += 1
        at = found.end()


# Types


def _with_decimal_commas(table: pl.DataFrame, text: Collection[str]) -> pl.DataFrame:
    """Numbers that are written with a decimal comma, as such, where no column has decimals with a point."""
    others = [table[name] for name in table.columns if name not in text]
    if any(column.dtype.is_float() for column in others):
        return table
    return table.with_columns(
        column.str.replace(",", ".").cast(pl.Float64)
        for column in others
        if column.dtype == pl.String and column.null_count() < column.len() and column.str.contains(_DECIMAL).all()
    )


def _dates(column: pl.Series) -> pl.Series:
    """Text that is dates or times as ISO 8601 writes them, as such; anything else stays as it is.

    Other ways of writing dates are ambiguous, and a guess would be published.
    """
    if column.dtype != pl.String or column.null_count() == column.len():
        return column
    for pattern, dtype in ((_DATE, pl.Date), (_TIME, pl.Datetime("us"))):
        if column.str.contains(pattern).all():
            parsed = column.str.replace(" ", "T").str.strptime(dtype, strict=False)
            return parsed if parsed.null_count() == column.null_count() else column
    return column
