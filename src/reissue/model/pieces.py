"""Pieces: a table too large to be held, as frames that come one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from reissue.errors import InternalError


class Pieces(Protocol):
    """A table that is gone through frame by frame, from its beginning each time; never is more than one frame held."""

    @property
    def schema(self) -> pl.Schema:
        """The names and types of its columns, which every frame has."""

    @property
    def height(self) -> int:
        """How many rows there are in all."""

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The frames in their order; some may be empty."""


Table = pl.DataFrame | Pieces
"""A table, held or not."""


@dataclass(frozen=True, repr=False)
class MadePieces:
    """Pieces that are made when they are asked for."""

    schema: pl.Schema
    height: int
    make: Callable[[], Iterator[pl.DataFrame]]
    """Gives the frames; called for each pass, and always with the same outcome."""
    every_label: bool = False
    """Whether all labels of its enumerations are known to occur, so that nobody need look for them."""

    def __iter__(self) -> Iterator[pl.DataFrame]:
        rows = 0
        for frame in self.make():
            if frame.schema != self.schema:
                raise InternalError("A piece of a table has other columns, or other types, than the table.")
            rows += frame.height
            yield frame
        if rows != self.height:
            raise InternalError(f"The pieces of a table have {rows:,} rows and not the {self.height:,} that it has.")

    def __repr__(self) -> str:
        return f"MadePieces({self.height:,} rows, {len(self.schema)} columns)"


@dataclass(frozen=True, repr=False)
class Slices:
    """A frame in memory as pieces of so many rows."""

    frame: pl.DataFrame
    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InternalError("A piece has at least one row.")

    @property
    def schema(self) -> pl.Schema:
        """The names and types of its columns."""
        return self.frame.schema

    @property
    def height(self) -> int:
        """How many rows there are in all."""
        return self.frame.height

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return self.frame.iter_slices(self.rows)

    def __repr__(self) -> str:
        return f"Slices({self.height:,} rows, {self.rows:,} at a time)"


ROWS = 1 << 18
"""A table of more rows is made so many at a time."""


def made(height: int, make: Callable[[slice], pl.DataFrame], *, every_label: bool = False) -> Table:
    """A table that is made of some of its rows at a time when it is gone through; a small one is made at once."""
    if height <= ROWS:
        return make(slice(0, height))

    def frames() -> Iterator[pl.DataFrame]:
        return (make(slice(begin, min(begin + ROWS, height))) for begin in range(0, height, ROWS))

    return MadePieces(make(slice(0, 0)).schema, height, frames, every_label)


def whole(table: Table) -> pl.DataFrame:
    """All of a table in one frame."""
    if isinstance(table, pl.DataFrame):
        return table
    frames = [frame for frame in table if frame.height]
    return pl.concat(frames, rechunk=False) if frames else pl.DataFrame(schema=table.schema)


def in_pieces(table: Table, rows: int) -> Pieces:
    """A table as pieces; one in memory as slices of so many rows."""
    return Slices(table, rows) if isinstance(table, pl.DataFrame) else table


def cut(table: Table, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a table, so many at a time and in the last frame what is left, in whatever pieces they come.

    Of a table without rows there is one frame, which is empty.
    """
    held: list[pl.DataFrame] = []
    missing = rows
    some = False
    for frame in in_pieces(table, rows):
        begin = 0
        while frame.height - begin >= missing:
            held.append(frame.slice(begin, missing))
            begin += missing
            yield pl.concat(held, rechunk=False)
            held, missing, some = [], rows, True
        if begin < frame.height:
            held.append(frame.slice(begin))
            missing -= frame.height - begin
    if held or not some:
        yield pl.concat(held, rechunk=False) if held else pl.DataFrame(schema=table.schema)


def even(total: int, most: int) -> list[int]:
    """The sizes of as few parts as there can be of at most so many rows, which differ by one row at most."""
    if most < 1:
        raise InternalError("A part has at least one row.")
    parts = -(-total // most)
    return [total // parts + (at < total % parts) for at in range(parts)]
