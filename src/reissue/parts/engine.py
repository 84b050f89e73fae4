"""What an engine does: keep a table in parts, and work on them.

    with engine_of(PARTS, folder) as engine:
        rows = engine.keep(frames)                          # a table, in parts of `engine.rows` rows
        doubled = engine.map(work, rows)                    # work(number, frame) -> frame, part by part
        doubled, sums = engine.map_and_tell(work, rows)     # work(number, frame) -> (frame, what the part tells)
        sums = engine.tell(work, rows)                      # work(number, frame) -> what the part tells
        grouped = engine.exchange(work, 4, rows)            # work(number, frame) -> frame with the column TO
        engine.drop(rows)
        pieces = engine.read(grouped)                       # Pieces, part after part

A part is stored and its number never changes. `work` is a function of the number and the frames of a part, one frame
for each table that is given; it asks nothing else, changes nothing else, and draws at random only with a key that was
drawn before, so that it does not matter in which order, how often or by whom parts are worked on. Where rows have to
come together, `exchange` brings them: it is the only step in which a row leaves its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol, TypeVar

import polars as pl

from reissue.model.pieces import Pieces, Table
from reissue.model.schema import RESERVED

TO = f"{RESERVED}to"
"""The column in which the work of an exchange says the number of each row's new part."""

Work = Callable[..., pl.DataFrame]
"""From the number of a part, and its frames, to a frame."""

Told = TypeVar("Told")


@dataclass(frozen=True, repr=False)
class Parts:
    """A table in numbered parts, which an engine keeps. Made by engines alone."""

    table: int
    """Which of its engine's tables it is."""
    schema: pl.Schema
    """The names and types of its columns."""
    heights: tuple[int, ...]
    """How many rows each part has."""

    def __len__(self) -> int:
        return len(self.heights)

    def __repr__(self) -> str:
        return f"Parts({self.height:,} rows, {len(self.schema)} columns, {len(self):,} parts)"

    @property
    def height(self) -> int:
        """How many rows there are in all."""
        return sum(self.heights)

    @property
    def starts(self) -> tuple[int, ...]:
        """For each part how many rows are in those before it."""
        return tuple(accumulate(self.heights, initial=0))[:-1]

    def only(self, *names: str) -> Parts:
        """The same table, of which only these columns are read."""
        return replace(self, schema=pl.Schema({name: self.schema[name] for name in names}))


class Engine(Protocol):
    """Keeps tables in parts and works on them. Every engine gives the same tables."""

    @property
    def rows(self) -> int:
        """How many rows a part should have."""

    def keep(self, table: Table | Iterable[pl.DataFrame]) -> Parts:
        """Keep a table, or frames one after another, in parts of as many rows as a part should have.

        Frames have the same columns. Of no frame at all there is no part.
        """

    def map(self, work: Work, *tables: Parts) -> Parts:
        """Work on each part: `work(number, *frames)` gives the frame of the new part with the same number."""

    def map_and_tell(self, work: Callable[..., tuple[pl.DataFrame, Told]], *tables: Parts) -> tuple[Parts, list[Told]]:
        """The same, where each part also tells something small, which is listed by the number of parts."""

    def tell(self, work: Callable[..., Told], *tables: Parts) -> list[Told]:
        """What `work(number, *frames)` says of each part, by the number of parts."""

    def exchange(self, work: Work, into: int, *tables: Parts) -> Parts:
        """Bring rows into so many new parts: `work(number, *frames)` gives a frame with the column TO.

        In a new part rows stand by the number of their old part, then by their place in what `work` gave. The column
        TO is not kept.
        """

    def read(self, table: Parts) -> Pieces:
        """The rows of a table, part after part, as long as it is kept."""

    def drop(self, *tables: Parts) -> None:
        """Keep these tables no longer."""

    def close(self) -> None:
        """Keep nothing any longer, and leave nothing behind."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *_: object) -> None: ...


def parts_for(height: int, engine: Engine) -> int:
    """How many parts so many rows should have: at least one."""
    return max(1, -(-height // engine.rows))


def whole_of(engine: Engine, table: Parts) -> pl.DataFrame:
    """All rows of a table that is small."""
    frames: Sequence[pl.DataFrame] = [frame for frame in engine.read(table) if frame.height]
    return pl.concat(frames) if frames else pl.DataFrame(schema=table.schema)
