"""The footer of a Parquet file, without what it tells of the program that wrote it.

A footer is one structure in Thrift's compact form: fields with ascending numbers, each with a header that says how far
its number is from the one before, and its type. Field 5 holds what a program keeps there for itself, for polars the
types of columns as it knows them; field 6 names the program. All others are taken over byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from reissue.errors import InternalError

_OWN, _WRITER = 5, 6
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)
"""Numbers of 16, 32 and 64 bits, all as long as they need to be."""


def neutral(footer: bytes, writer: bytes, *, keep_own: bool) -> bytes:
    """The footer with another name for the writing program and, unless `keep_own`, nothing that is its own."""
    before, parts = 0, []
    try:
        for number, kind, value in _fields(footer):
            if number == _OWN and not keep_own:
                continue
            parts.append(bytes([number - before << 4 | kind]))
            parts.append(bytes([len(writer)]) + writer if number == _WRITER else value)
            before = number
    except (IndexError, ValueError):
        raise InternalError("polars wrote a Parquet file with a footer of a form that is not known") from None
    return b"".join(parts) + b"\0"


def _fields(footer: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The number, the type and the bytes of each field."""
    number, place = 0, 0
    while header := footer[place]:
        if not header >> 4:
            raise ValueError("a field number that does not follow from the one before")
        number, kind = number + (header >> 4), header & 15
        end = _after(footer, place + 1, kind)
        yield number, kind, footer[place + 1 : end]
        place = end


def _after(data: bytes, place: int, kind: int) -> int:
    """Where a value of this type, which begins at a place, ends."""
    if kind in (_TRUE, _FALSE):
        return place  # said by the type
    if kind == _BYTE:
        return place + 1
    if kind in _NUMBERS:
        return _number(data, place)[1]
    if kind == _DOUBLE:
        return place + 8
    if kind == _BINARY:
        length, place = _number(data, place)
        return place + length
    if kind in (_LIST, _SET):
        return _after_list(data, place)
    if kind == _STRUCT:
        while header := data[place]:
            place = place + 1 if header >> 4 else _number(data, place + 1)[1]
            place = _after(data, place, header & 15)
        return place + 1
    raise ValueError("a type that footers do not have")  # maps among them


def _after_list(data: bytes, place: int) -> int:
    count, kind = data[place] >> 4, data[place] & 15
    count, place = (count, place + 1) if count < 15 else _number(data, place + 1)
    if kind in (_TRUE, _FALSE):
        return place + count  # in a list each takes a byte
    for _ in range(count):
        place = _after(data, place, kind)
    return place


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value, shift = 0, 0
    while True:
        value |= (data[place] & 127) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 128:
            return value, place
