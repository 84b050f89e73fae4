"""Which sheet of an Excel file is the release.

| The file has                                             | What becomes of it                                    |
|----------------------------------------------------------|-------------------------------------------------------|
| one sheet that can be seen and has cells                 | it is read                                            |
| one sheet with the sensitive columns among its headers   | it is read, and the others are noted                  |
| several such sheets, or none                             | which is meant is asked (`--sheet`); where other      |
|                                                          | releases tell, the one that is called as theirs is read |

Hidden sheets are never read, and noted: whoever has the file can read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reissue.errors import TableError, UserError, count_of, listed
from reissue.foreign.headers import as_option, folded
from reissue.foreign.option_texts import names_text
from reissue.foreign.where import of_releases
from reissue.tables.excel_files import EXCEL, SheetHead, heads_of, sheet_of
from reissue.tables.frames import understood

HEAD = 12
"""Among so many lines of a sheet its header is looked for."""


@dataclass(frozen=True)
class _Book:
    """An Excel file that is a release."""

    at: int
    name: str
    path: Path
    heads: tuple[SheetHead, ...]

    @property
    def filled(self) -> list[str]:
        """The sheets that can be read."""
        return [head.name for head in self.heads if head.lines and not head.hidden]

    def holding(self, columns: Sequence[str], among: Sequence[str]) -> list[str]:
        """The sheets whose header has all these columns."""
        wanted = {folded(name) for name in columns}
        return [head.name for head in self.heads if head.name in among and wanted <= set(map(folded, _header(head)))]


@dataclass(frozen=True)
class Chosen:
    """The releases, with the sheets that are read of their files."""

    found: list[tuple[str, dict[str, Any]]]
    sheets: tuple[str, ...]
    """What the sheets are called, where a file had several."""


def with_sheets(
    found: Sequence[tuple[str, dict[str, Any]]],
    columns: Sequence[str],
    named: Sequence[str],
    notes: list[str],
) -> Chosen:
    """Choose a sheet of every Excel file of which none is named: of those called `named`, or the one with `columns`."""
    books = [book for at, (name, parts) in enumerate(found) if (book := _book(at, name, parts)) is not None]
    if named and not books:
        raise TableError(
            "None of the releases is an Excel file, of which a sheet could be read.", hint="leave --sheet out."
        )
    read: dict[int, str] = {}
    problems: list[tuple[str, str]] = []
    waiting: list[_Book] = []
    for book in books:
        among = [name for name in book.filled if name in named] if named else book.filled
        if named and not among:
            problems.append((book.name, f"has no sheet {listed(named)} with cells, only {listed(book.filled)}"))
        elif len(among) == 1:
            read[book.at] = among[0]
        elif len(holding := book.holding(columns, among)) == 1:
            read[book.at] = holding[0]
        else:
            waiting.append(book)
    usual = set(read.values())
    wanted = f"the column {listed(columns)}" if len(columns) == 1 else f"the columns {listed(columns)}"
    for book in waiting:
        as_others = [name for name in book.filled if name in usual]
        holding = book.holding(columns, book.filled)
        if not holding and len(as_others) == 1:
            read[book.at] = as_others[0]
        elif book.filled:
            which = " with" if holding else ", none of them with"
            problems.append((book.name, f"has several sheets{which} {wanted}: {listed(holding or book.filled)}"))
    if problems:
        first = (waiting or books)[0]
        names = first.holding(columns, first.filled) or first.filled
        hint = f"say what the sheet is called: {as_option('sheet', names_text(names[:1]))}."
        if len(found) == 1 and len(names) > 1:
            each = " ".join(f"'{first.path.name}#{name}'" for name in names[:2])
            hint += f" If each sheet is a release, name all of them in their order: {each}"
        raise TableError("It cannot be told which sheets are the releases.", problems=of_releases(problems), hint=hint)
    notes += of_releases((book.name, note) for book in books for note in _notes(book, read.get(book.at)))
    several = any(len(book.filled) > 1 for book in books)
    sheets = tuple(dict.fromkeys(read[book.at] for book in books if book.at in read)) if several or named else ()
    made = list(found)
    for book in books:
        if book.at in read:
            made[book.at] = (book.name, {"table": book.path.with_name(f"{book.path.name}#{read[book.at]}")})
    return Chosen(made, sheets)


def _header(head: SheetHead) -> tuple[str, ...]:
    """The first line that is as wide as others are: titles stand above it, in few cells."""
    filled = [sum(map(bool, line)) for line in head.lines]
    return next((line for line, some in zip(head.lines, filled, strict=True) if some >= 0.6 * max(filled)), ())


def _book(at: int, name: str, parts: dict[str, Any]) -> _Book | None:
    """An Excel file that can be opened, and of which no sheet is named."""
    table = parts.get("table")
    if not isinstance(table, str | Path) or not str(table).lower().endswith(EXCEL) or not Path(table).is_file():
        return None
    path, sheet = sheet_of(Path(table))
    if sheet is not None:
        return None
    try:
        heads = understood(lambda: heads_of(path, HEAD), f"'{path.name}' cannot be read.", "check that it is complete.")
    except UserError:
        return None  # reading it tells what is the matter
    return _Book(at, name, path, heads)


def _notes(book: _Book, sheet: str | None) -> list[str]:
    """Which sheets were not read."""
    notes = []
    if others := [name for name in book.filled if name != sheet]:
        verb = "is" if len(others) == 1 else "are"
        notes.append(f"has several sheets: '{sheet}' is read, and {listed(others)} {verb} not")
    if hidden := [head.name for head in book.heads if head.hidden and head.lines]:
        told = count_of(len(hidden), "hidden sheet")
        notes.append(f"has {told} ({listed(hidden)}), not read here: whoever has the file can read what is in it")
    return notes
