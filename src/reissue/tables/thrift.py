"""Thrift's compact form, as in the footer of a Parquet file: fields by their numbers, each with its type."""

from __future__ import annotations

from mmap import mmap

Data = bytes | mmap
Struct = dict[int, "Value"]
Value = int | bytes | list["Value"] | Struct

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)
"""Numbers of 16, 32 and 64 bits, all as long as they need to be."""
DEEPEST = 32
"""No footer goes deeper."""


def structure_at(data: Data, place: int) -> tuple[Struct, int]:
    """The fields of a structure by their numbers, and where it ends; a ValueError or IndexError where it is none."""
    return _struct(data, place, 0)


def _struct(data: Data, place: int, depth: int) -> tuple[Struct, int]:
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    fields: Struct = {}
    number = 0
    while header := data[place]:
        place += 1
        if header >> 4:
            number += header >> 4
        else:
            number, place = _signed(data, place)
        fields[number], place = _value(data, place, header & 15, depth)
    return fields, place + 1


def _value(data: Data, place: int, kind: int, depth: int) -> tuple[Value, int]:
    if kind in (_TRUE, _FALSE):
        return int(kind == _TRUE), place  # said by the type
    if kind == _BYTE:
        return data[place], place + 1
    if kind in _NUMBERS:
        return _signed(data, place)
    if kind == _DOUBLE:
        return data[place : place + 8], place + 8
    if kind == _BINARY:
        length, place = _unsigned(data, place)
        return data[place : place + length], place + length
    if kind in (_LIST, _SET):
        return _list(data, place, depth)
    if kind == _STRUCT:
        return _struct(data, place, depth + 1)
    raise ValueError("a type that footers do not have")  # maps among them


def _list(data: Data, place: int, depth: int) -> tuple[list[Value], int]:
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    count, kind = data[place] >> 4, data[place] & 15
    count, place = (count, place + 1) if count < 15 else _unsigned(data, place + 1)
    if count > len(data):
        raise ValueError("a list of more than there is")
    values: list[Value] = []
    for _ in range(count):
        if kind in (_TRUE, _FALSE):
            value: Value = data[place]  # in a list each takes a byte
            place += 1
        else:
            value, place = _value(data, place, kind, depth + 1)
        values.append(value)
    return values, place


def _unsigned(data: Data, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value, shift = 0, 0
    while True:
        value |= (data[place] & 127) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 128:
            return value, place
        if shift > 63:
            raise ValueError("a number that is too long")


def _signed(data: Data, place: int) -> tuple[int, int]:
    value, place = _unsigned(data, place)
    return value >> 1 ^ -(value & 1), place
