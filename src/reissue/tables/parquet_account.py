"""What a Parquet file says of itself, and whether that adds up.

The footer tells of each column's part in each row group where its pages lie and how many values they have; each page
begins with a header that tells how many values it has and how large it is, packed and unpacked. Whoever reads makes
room for as many as are told. A single wrong bit there can ask for more memory than there is on earth; then polars does
not fail but takes the process down with it. So the account is checked before polars sees the file.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from reissue.tables.room import CELL, Extent
from reissue.tables.thrift import Data, Struct, structure_at

_MAGIC = b"PAR1"
_TAIL = 8
"""The length of the footer and the magic word stand at the end."""
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 16, 4: 4, 5: 8}
"""What a value of each type takes; those of text, and of a length of their own, are not here."""
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
"""The types of pages."""


class Unsound(ValueError):
    """The account does not add up."""


def parquet_extent(path: Path) -> Extent:
    """The extent of the table in a Parquet file, once it is clear that pages and footer tell the same."""
    with path.open("rb") as file:
        if path.stat().st_size < 2 * len(_MAGIC) + _TAIL:
            raise Unsound("too short")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _extent(data)


def _extent(data: mmap.mmap) -> Extent:
    end = len(data) - _TAIL
    length = int.from_bytes(data[end : end + 4], "little")
    if data[end + 4 :] != _MAGIC or length > end - len(_MAGIC):
        raise Unsound("no footer")
    footer = structure_at(data, end - length)[0]
    columns, rows = 0, []
    sizes: Counter[str] = Counter()
    for group in _structs(footer, 4):
        parts, group_rows = _structs(group, 1), _number(group, 3)
        columns = max(columns, len(parts))
        rows.append(group_rows)
        for part in parts:
            meta = _struct(part, 3)
            sizes[_column(meta)] += _part(data, meta, group_rows, end - length)
    if sum(rows) != _number(footer, 3):
        raise Unsound("a number of rows that is not the sum of those of the groups")
    return Extent(sum(rows), columns, sizes.total(), tuple(rows), tuple(sizes.items()))


def _column(meta: Struct) -> str:
    """The name of the column that this is a part of, or of what the column holds."""
    path = meta.get(3)
    if not isinstance(path, list) or not path or not isinstance(path[0], bytes):
        raise Unsound("a column without a name")
    return path[0].decode(errors="replace")


def _part(data: Data, meta: Struct, rows: int, end: int) -> int:
    """What a column's part in a row group takes in memory."""
    values, unpacked = 0, 0
    for kind, header in _pages(data, meta, end):
        unpacked += _number(header, 2)
        if kind == _DICTIONARY:
            if _number(_struct(header, 7), 1) > _number(header, 2):
                raise Unsound("a dictionary with more entries than bytes")
        elif kind == _DATA:
            values += _number(_struct(header, 5), 1)
        elif kind == _DATA_2:
            page = _struct(header, 8)
            values += _number(page, 1)
            if max(_number(page, 2), _number(page, 3)) > _number(page, 1):
                raise Unsound("a page with more rows, or more missing values, than values")
            if _number(page, 5) + _number(page, 6) > _number(header, 2):
                raise Unsound("a page with more levels than bytes")
    if values != _number(meta, 5):
        raise Unsound("a number of values that is not the sum of those of the pages")
    width = _WIDTHS.get(_number(meta, 1))
    # What the footer says of bytes is not relied on, but counts where it is more.
    unpacked = max(unpacked, _number(meta, 6))
    values = max(values, rows)
    return values * CELL + unpacked if width is None else max(values * width, unpacked)


def _pages(data: Data, meta: Struct, end: int) -> Iterator[tuple[int, Struct]]:
    """The type and the header of each page of a column's part in a row group."""
    if not _number(meta, 7):
        return  # nothing, and so nowhere
    # Where there is no dictionary, or there are no values, some say 0.
    place = min(filter(None, (_number(meta, 9), _number(meta, 11, 0))), default=0)
    after = place + _number(meta, 7)
    if place < len(_MAGIC) or after > end:
        raise Unsound("pages outside of the file")
    while place < after:
        header, place = structure_at(data, place)
        place += _number(header, 3)
        yield _number(header, 1), header
    if place != after:
        raise Unsound("pages that end elsewhere than they should")


def _structs(struct: Struct, field: int) -> list[Struct]:
    found = struct.get(field)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Unsound("something is missing")
    return [one for one in found if isinstance(one, dict)]


def _struct(struct: Struct, field: int) -> Struct:
    found = struct.get(field)
    if not isinstance(found, dict):
        raise Unsound("something is missing")
    return found


def _number(struct: Struct, field: int, default: int | None = None) -> int:
    """A number that must not be negative."""
    found = struct.get(field, default)
    if not isinstance(found, int) or found < 0:
        raise Unsound("a number is missing, or below zero")
    return found
