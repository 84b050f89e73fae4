"""Whether a table fits into memory, asked before it is read, or while its rows come in.

A small file can hold a large table: a Parquet file says a million times the same in a few bytes, and a compressed one
says anything in few. So its size is worked out first: of Parquet from what the file says of itself (`parquet_account`),
of CSV from its lines, of Excel from its cells. One that would not fit is refused with figures, instead of taking the
machine down.
"""

from __future__ import annotations

import os
import re
import resource
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from reissue.errors import ParameterError, TooLarge, count_of

VARIABLE = "REISSUE_MEMORY"
"""The variable that says how much memory there is, instead of the system."""
TIMES = 4
"""So many times a table's size is needed to work on it: it is coded, grouped, recoded and written."""
WORKED = 36
"""What each cell takes of a table that is read column by column, when only codes are left of it: they are grouped,
recoded and written. Measured at 5 to 10 million rows."""
CODED = 8
"""What each cell takes while other columns are read."""
COLUMNS_AT_ONCE = 2
"""So many columns of a table in files are in memory as they are in the files, and as often again in another type."""
CELL = 16
"""What a text takes in memory beside its letters, and more than a number takes."""
UNNOTICED = 32 << 20
"""A table below this size fits anywhere."""
MOST_COLUMNS = 100_000
"""No table about people has more. Each costs thousands of bytes and some time, whatever is in it."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", re.I)
_PIECE = 1 << 22


class Readable(Protocol):
    """What can be read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes."""


class Extent(NamedTuple):
    """How large a table will be in memory."""

    rows: int
    columns: int
    size: int
    """In bytes."""
    parts: tuple[int, ...] = ()
    """How many rows each part of the file has that can be read by itself; nothing where there are no such parts."""
    by_column: tuple[tuple[str, int], ...] = ()
    """What each column takes of the size; nothing where columns cannot be read by themselves."""


def check_room(name: str, extent: Extent) -> None:
    """Refuse a table that would not fit into memory, or has more columns than any table about people."""
    if extent.columns > MOST_COLUMNS:
        raise TooLarge(
            f"'{name}' has {extent.columns:,} columns, and a table may have at most {MOST_COLUMNS:,}.",
            hint="leave out columns that are not needed, and check that rows and columns were not exchanged.",
        )
    needed = TIMES * extent.size
    if extent.size < UNNOTICED or needed <= (there := memory()):
        return
    raise _too_large(
        f"'{name}' is too large: as a table ({_extents(extent)}) it takes about {amount(extent.size)} of memory, and "
        f"{TIMES} times as much to work on it, {amount(needed)}. There are {amount(there)}.",
        needed,
    )


def check_room_for_codes(name: str, extent: Extent) -> None:
    """The same for a table of which a column or two at a time, or some rows, are in memory, and then only codes."""
    widest = sorted((size for _, size in extent.by_column), reverse=True)[:COLUMNS_AT_ONCE]
    cells = extent.rows * len(extent.by_column)
    needed = max(cells * WORKED, cells * CODED + 2 * sum(widest))
    if needed < TIMES * UNNOTICED or needed <= (there := memory()):
        return
    raise _too_large(
        f"'{name}' is too large: to read it part by part and work on its codes ({_extents(extent)}) takes about "
        f"{amount(needed)} of memory. There are {amount(there)}.",
        needed,
    )


def _extents(extent: Extent) -> str:
    return f"{count_of(extent.rows, 'row')}, {count_of(extent.columns, 'column')}"


def _too_large(what: str, needed: int) -> TooLarge:
    return TooLarge(
        what,
        hint="leave out columns and rows that are not needed, or use a machine with more memory. If you know better, "
        f"say how much there is: {VARIABLE}={-(-needed // 10**6)}MB",
    )


def memory() -> int:
    """How many bytes this process can have: as the variable says or, without it, what is free now."""
    given = os.environ.get(VARIABLE)
    if not given:
        return min(_limits())
    found = _AMOUNT.fullmatch(given)
    if found is None:
        raise ParameterError(f"{VARIABLE} takes an amount of memory, such as 8GB. Got '{given}' instead.")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def amount(size: int) -> str:
    """`3.2 GB`: bytes as they stand in messages."""
    for unit, bytes_each in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if size >= bytes_each:
            return f"{size / bytes_each:,.1f} {unit}"
    return f"{max(size, 1) / 1000:,.0f} kB"


def _limits() -> Iterator[int]:
    """Every bound there is on this process' memory; where the system does not say what is free, all that it has."""
    yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError, IndexError):
        yield _entry(Path("/proc/meminfo"), "MemAvailable:") * 1024
    for limit, used, of_files, word in (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file"),
    ):
        for folder in _control_groups():
            with suppress(OSError, ValueError, IndexError):  # "max" is no number, and no limit
                most = int((folder / limit).read_text())
                # What is kept of files is given up when memory is needed.
                yield most - int((folder / used).read_text()) + _entry(folder / of_files, word)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError, IndexError):
            soft -= int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        yield soft


def _entry(path: Path, name: str) -> int:
    """The number behind a name in a file of the system."""
    (line,) = (line for line in path.read_text().splitlines() if line.startswith(f"{name} "))
    return int(line.split()[1])


def _control_groups() -> Iterator[Path]:
    """The folders of this process' control groups, each with all above it: the tightest limit counts."""
    roots = {"": Path("/sys/fs/cgroup"), "memory": Path("/sys/fs/cgroup/memory")}
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            for name, root in roots.items():
                if name in controllers.split(","):
                    inner = root / place.lstrip("/")
                    yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(root))


# Text between separators


def csv_extent(file: BinaryIO, columns: int) -> Extent:
    """The extent of a CSV file with so many columns, from where the file stands to its end."""
    rows, letters = 0, 0
    while piece := file.read(_PIECE):
        rows += piece.count(b"\n")
        letters += len(piece)
    return Extent(rows, columns, (rows + 1) * columns * CELL + letters)


def unpacked(file: Readable, name: str) -> bytes:
    """A compressed file's content, as long as it is not larger than what fits."""
    pieces, rows, size = [], 0, 0
    while piece := file.read(_PIECE):
        rows, size = rows + piece.count(b"\n"), size + len(piece)
        pieces.append(piece)
        check_room(name, Extent(rows, 1, size))
    return b"".join(pieces)


# Excel

_CELL = re.compile(rb"<(?:\w+:)?(?:c|row)\s(?:[^>]*\s)?r=\"([A-Z]{0,3})(\d{1,7})\"")
_LETTERS = 26


def excel_extent(path: Path) -> Extent | None:
    """The extent of an Excel file, an archive of sheets; None where it is none.

    A sheet is read as all cells from the first to the last, and the last may be anywhere.
    """
    if not zipfile.is_zipfile(path):
        return None
    size, rows, columns = 0, 0, 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            size += member.file_size
            check_room(path.name, Extent(rows, columns, size))
            if member.filename.startswith("xl/worksheets/") and member.filename.endswith(".xml"):
                with archive.open(member) as sheet:
                    for column, row in _cells(sheet):
                        columns, rows = max(columns, column), max(rows, row)
    return Extent(rows, columns, rows * columns * 2 * CELL + size)


def _cells(sheet: Readable) -> Iterator[tuple[int, int]]:
    """The column and the row of each cell; of a row alone, column 0."""
    rest = b""
    while piece := sheet.read(_PIECE):
        text = rest + piece
        for letters, digits in _CELL.findall(text):
            column = 0
            for letter in letters:
                column = column * _LETTERS + letter - ord("A") + 1
            yield column, int(digits)
        rest = text[text.rfind(b"<") :]
