"""What stands around a table in its file, as spreadsheets and offices leave it, and older encodings.

| In the file                                              | What becomes of it                                    |
|----------------------------------------------------------|-------------------------------------------------------|
| bytes that are not UTF-8                                 | read as Windows-1252, or UTF-16, if they can be that  |
| `sep=;`, a title, empty lines above the header           | passed over                                           |
| a column without a name                                  | called `column 3`; passed over where it is empty      |
| remarks, totals and empty rows below the rows            | passed over                                           |

Only a file that cannot be read as it is is looked at, but for what stands below the rows. Everything is told.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from reissue.errors import TableError, UserError, count_of
from reissue.foreign.foreign_cells import SUPPRESSED
from reissue.foreign.intervals import is_plain
from reissue.model.csv_files import SEPARATORS, laid_out, read_csv, rows_of
from reissue.tables.excel_files import EXCEL, sheet_as_texts, sheet_of
from reissue.tables.frames import CSV, content_of, understood

TITLES = 10
"""So many lines may stand above a header."""
REMARKS = 20
"""So many lines may stand below the rows."""
HEAD = 60
"""So many lines say how many cells a line has."""
NAMELESS = "column "

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TWO_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
_SEPARATOR_LINE = re.compile(r"\s*sep=.\r?\n", re.I)
_WEB = re.compile(r"\s*<(?:!doctype\s+html|html|\?xml)", re.I)
_POINTER = "version https://git-lfs"
_TOTAL = re.compile(r"(?i)(?:grand |sub|over)?totale?s?\b|all cases\b|sum\b|summe\b|gesamt|insgesamt\b|total general\b")


@dataclass(frozen=True, repr=False)
class CellsOfFile:
    """A table as it was found in a file, every cell as it is written."""

    frame: pl.DataFrame
    above: int = 0
    """How many lines stand above its header."""
    told: tuple[str, ...] = ()
    """What was passed over, or guessed: `is not UTF-8 and is read as Windows-1252`."""


def mended(path: Path) -> CellsOfFile | None:
    """A table in a file that cannot be read as it is; None where nothing that is known here is the matter."""
    told: list[str] = []
    try:
        text = understood(partial(_text_of, path, told), f"'{path.name}' cannot be read.", "check that it is complete.")
    except UserError:
        return None
    path, _ = sheet_of(path)
    if text is None or (found := _table_in(text, path.name)) is None:
        return None
    table, above, below = found
    if above:
        told.append(f"has {count_of(above, 'line')} above its header, which {_were(above)} passed over")
    if below:
        told.append(
            f"has {count_of(below, 'line')} below its rows with another number of cells, which {_were(below)} passed "
            "over: remarks, or the file was cut off"
        )
    try:
        file = laid_out(table.encode(), path.name)
        frame = read_csv(file, text=file.names)
    except TableError:
        return None
    empty = [name for name in frame.columns if name.startswith(NAMELESS) and frame[name].null_count() == frame.height]
    nameless = [name for name in frame.columns if name.startswith(NAMELESS) and name not in empty]
    if nameless and len(nameless) < frame.width:
        told.append(
            f"has {count_of(len(nameless), 'column')} without a name, called "
            + ", ".join(f"'{name}'" for name in nameless)
        )
    return CellsOfFile(frame.drop(empty), above, tuple(told))


def without_what_ends_it(cells: CellsOfFile) -> CellsOfFile:
    """Without empty rows, totals, and remarks that fill one cell, at the end of a table."""
    cells = _without_remarks(_without_empty_rows(cells))
    return _without_empty_rows(cells)


def _without_empty_rows(cells: CellsOfFile) -> CellsOfFile:
    """Without the rows at the end in which no cell is filled in, as spreadsheets leave them."""
    frame = cells.frame
    if frame.width < 2:
        return cells
    filled = frame.select(pl.any_horizontal(pl.all().str.strip_chars().fill_null("") != "")).to_series().arg_true()
    rows = int(filled[-1]) + 1 if filled.len() else 0
    if not rows or rows == frame.height:
        return cells
    told = f"ends with {count_of(frame.height - rows, 'empty row')}, which {_were(frame.height - rows)} passed over"
    return CellsOfFile(frame.head(rows), cells.above, (*cells.told, told))


def _without_remarks(cells: CellsOfFile) -> CellsOfFile:
    frame = cells.frame
    if frame.width < 3 or frame.height < 2:
        return cells
    first = frame.columns[0]
    remarks = totals = 0
    for row in reversed(frame.tail(REMARKS).rows()):
        filled = [text.strip() for text in row if text is not None and text.strip() not in SUPPRESSED]
        if 2 * len(filled) > frame.width or not filled:
            break
        total = _TOTAL.match(filled[0]) is not None
        alone = len(filled) == 1 and row[0] is not None and row[0].strip() == filled[0] and not _is_plain(filled[0])
        if not (total or alone) or int((frame[first] == row[0]).sum()) > 1:
            break
        totals, remarks = totals + total, remarks + (not total)
    if not totals + remarks or totals + remarks == frame.height:
        return cells
    kinds = [count_of(totals, "total")] * bool(totals) + [count_of(remarks, "remark")] * bool(remarks)
    told = f"ends with {' and '.join(kinds)}, which {_were(totals + remarks)} passed over"
    return CellsOfFile(frame.head(frame.height - totals - remarks), cells.above, (*cells.told, told))


def refuse_what_is_no_table(path: Path) -> None:
    """Refuse what was saved in place of a table: a web page, a pointer to where the file is kept."""
    if not path.name.lower().endswith(CSV) or not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(200).decode("utf-8", "replace").removeprefix("\ufeff")
    if _WEB.match(start):
        raise TableError(f"'{path.name}' is a web page, not a table.", hint="download the file itself.")
    if start.startswith(_POINTER):
        raise TableError(f"'{path.name}' only says where the table is kept (Git LFS).", hint="git lfs pull")


def _text_of(path: Path, told: list[str]) -> str | None:
    path, sheet = sheet_of(path)
    if path.name.lower().endswith(EXCEL):
        return sheet_as_texts(path, sheet)
    return _decoded(content_of(path), told) if path.name.lower().endswith(CSV) else None


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _decoded(content: bytes, told: list[str]) -> str | None:
    """The text of a file; None where it cannot be told how it is written."""
    if content.startswith(_MARKS):
        return content.decode("utf-16", "replace")
    if 0 in content[:4]:
        told.append("is UTF-16 without the mark that says so, and is read as that")
        return content.decode("utf-16-be" if content[0] == 0 else "utf-16-le", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    # Where most of what is no ASCII is UTF-8, some bytes are broken, and another encoding would spoil all others.
    if 2 * len(_TWO_BYTES.findall(content)) > len(_HIGH.findall(content)) / 2:
        return None
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return None
    told.append("is not UTF-8 and is read as Windows-1252; look whether letters with accents are right")
    return text


def _table_in(text: str, name: str) -> tuple[str, int, int] | None:
    """The text from the header to the last row, with a name for each column, and how many lines stand around it."""
    begin = found.end() if (found := _SEPARATOR_LINE.match(text)) else 0
    head = [record for _, record in zip(range(HEAD), _records(text[begin:]), strict=False)]
    separator, width = _usual(head, name)
    if not width:
        return None
    at = begin
    rows = [_cells_of(record, separator, name) for record in head[: TITLES + 2]]
    for record, cells, after in zip(head, rows, [*rows[1:], []], strict=False):
        if names := _header(cells, after, width):
            break
        at += len(record)
    else:
        return None
    if any(map(_is_plain, names)):
        return None
    above = text.count("\n", 0, at)
    rest = text[at + len(record) :]
    below, end = _below(rest, separator, width, name)
    named = [cell.strip() or f"{NAMELESS}{place}" for place, cell in enumerate(names, start=1)]
    header = ['"' + one.replace('"', '""') + '"' for one in named]
    return separator.join(header) + "\n" + rest[:end], above, below


def _header(cells: list[str], after: list[str], width: int) -> list[str]:
    """The names of the columns, if a line can have them; R leaves out that of its row names."""
    filled = sum(bool(cell.strip()) for cell in cells)
    title = filled == 1 and cells[0].strip() != ""
    if len(cells) == width and not title and (filled >= width - 1 or filled >= 0.6 * width):
        return cells
    by_r = len(cells) == filled == width - 1 > 1 and len(after) == width and any(map(_is_plain, after))
    return ["", *cells] if by_r else []


def _is_plain(cell: str) -> bool:
    """Whether it is a number or a date, as no name and no remark is."""
    return is_plain(cell.strip()) or is_plain(cell.strip(), "dates")


def _records(text: str) -> Iterator[str]:
    """The lines of a text with their ends; those that end inside of quotes go on."""
    at, end = 0, 0
    while end < len(text):
        found = text.find("\n", end)
        end = len(text) if found < 0 else found + 1
        if text.count('"', at, end) % 2 == 0 or end == len(text):
            yield text[at:end]
            at = end


def _cells_of(record: str, separator: str, name: str) -> list[str]:
    try:
        rows = rows_of(record, name, separator)
    except TableError:
        return []
    return rows[0] if rows else []


def _usual(head: list[str], name: str) -> tuple[str, int]:
    """What stands between the cells of most lines, and how many these are; 0 where that cannot be told."""
    found = []
    for separator in SEPARATORS:
        widths = Counter(len(_cells_of(record, separator, name)) for record in head if record.strip())
        wide = [(often, width) for width, often in widths.items() if width > 1]
        if wide:
            found.append((*max(wide), separator))
    if not found:
        return ",", 0
    often, width, separator = max(found)
    alike = sum(one[0] == often for one in found) > 1
    return (separator, 0) if alike or 2 * often <= len(head) else (separator, width)


def _below(rest: str, separator: str, width: int, name: str) -> tuple[int, int]:
    """How many lines with another number of cells stand at the end, and where they begin."""
    below, end = 0, len(rest.rstrip("\r\n"))
    while end > 0:
        begin = rest.rfind("\n", 0, end) + 1
        line = rest[begin:end].rstrip("\r")
        if line and len(_cells_of(line, separator, name)) == width:
            return below, min(end + 1, len(rest))
        below += bool(line)
        if below > REMARKS:
            break
        end = begin - 1
    return 0, len(rest)
