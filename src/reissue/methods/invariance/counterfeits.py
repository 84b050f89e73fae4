"""The counterfeits of a series: made-up rows that keep their identity while they are needed.

A counterfeit takes all its quasi-identifiers from one row of another bucket, drawn at random: no combination of
them is one that no person has, and their distribution is nearly the table's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.model.hierarchy import MISSING
from reissue.model.memory import Memory
from reissue.model.schema import Kind, Numeric
from reissue.model.snapshot import Column, Labels, Leaves, Numbers, Snapshot

REDRAWS = 30
"""So often a row is drawn again while it is of the counterfeit's own bucket; there may be no other bucket."""
NUMBER, SIGNATURE, PLACE, CAME = "reissue.number", "reissue.signature", "reissue.place", "reissue.came"


@dataclass(frozen=True, repr=False)
class MadeCounterfeits:
    """Counterfeits with their signatures and quasi-identifiers."""

    number: Ints
    """Counted from 1, never given twice."""
    signature: Ints
    place: Ints
    """Which value of the signature it has, in the signature's own order."""
    came: Ints
    """The release it was made for."""
    cells: pl.DataFrame
    """Its quasi-identifiers and columns published as they are."""
    next_number: int = 1

    def __len__(self) -> int:
        return self.number.size

    @classmethod
    def read(cls, memory: Memory) -> MadeCounterfeits:
        """Those of the release before."""
        if "counterfeits" not in memory:
            nobody = np.empty(0, dtype=np.int64)
            return cls(nobody, nobody, nobody, nobody, pl.DataFrame())
        frame = memory["counterfeits"]
        number, signature, place, came = (frame[name].to_numpy().astype(np.int64) for name in _OWN)
        # The last row only tells the next number, so that a number is never given twice.
        return cls(number[:-1], signature[:-1], place[:-1], came[:-1], frame.drop(_OWN)[:-1], int(number[-1]))

    def table(self) -> pl.DataFrame:
        """As it is remembered."""
        own = {
            NUMBER: np.append(self.number, self.next_number),
            SIGNATURE: np.append(self.signature, 0),
            PLACE: np.append(self.place, 0),
            CAME: np.append(self.came, 0),
        }
        frame = pl.DataFrame({name: numbers.astype(np.uint32) for name, numbers in own.items()})
        if not len(self):
            return frame
        nothing = pl.DataFrame({name: pl.Series([None], dtype=dtype) for name, dtype in self.cells.schema.items()})
        return frame.hstack(self.cells.vstack(nothing))

    def only(self, rows: Ints) -> MadeCounterfeits:
        """Some of them."""
        return MadeCounterfeits(
            self.number[rows],
            self.signature[rows],
            self.place[rows],
            self.came[rows],
            self.cells[rows] if len(self) else self.cells,
            self.next_number,
        )

    def fitted(self, snapshot: Snapshot, rng: np.random.Generator) -> MadeCounterfeits:
        """With cells for exactly the columns of this snapshot; all are drawn anew when a policy has changed them."""
        if not len(self):
            return self
        columns = (*snapshot.quasi, *snapshot.as_is)
        names = [column.name for column in columns]
        known = self.cells.columns
        if all(c.name in known and _fits(self.cells[c.name], c, snapshot.schema.kinds[c.name]) for c in columns):
            return replace(self, cells=self.cells.select(names))
        # All cells of one row together: no combination of them is one that nobody has.
        rows = rng.integers(len(snapshot), size=len(self))
        return replace(self, cells=pl.DataFrame([_drawn(column, rows) for column in columns]))

    def and_new(
        self, signature: Ints, place: Ints, came: int, snapshot: Snapshot, published: Ints, rng: np.random.Generator
    ) -> MadeCounterfeits:
        """With new ones of these signatures and places; `published` is the signature of each row, -1 for none.

        A row to copy is drawn from another bucket, where there is one: beside its own copy somebody could come to
        stand in a group whose region is a single point.
        """
        if not signature.size:
            return self
        donors = np.flatnonzero(published >= 0)
        rows = donors[rng.integers(donors.size, size=signature.size)]
        for _ in range(REDRAWS):
            own = np.flatnonzero(published[rows] == signature)
            rows[own] = donors[rng.integers(donors.size, size=own.size)]
        return self.and_copies(signature, place, came, snapshot, rows)

    def and_copies(self, signature: Ints, place: Ints, came: int, snapshot: Snapshot, rows: Ints) -> MadeCounterfeits:
        """With new ones of these signatures and places that take their cells from these rows."""
        cells = pl.DataFrame([_drawn(column, rows) for column in (*snapshot.quasi, *snapshot.as_is)])
        return MadeCounterfeits(
            np.concatenate([self.number, np.arange(self.next_number, self.next_number + signature.size)]),
            np.concatenate([self.signature, signature]),
            np.concatenate([self.place, place]),
            np.concatenate([self.came, np.full(signature.size, came)]),
            self.cells.vstack(cells) if len(self) else cells,
            self.next_number + signature.size,
        )


_OWN = (NUMBER, SIGNATURE, PLACE, CAME)


def _drawn(column: Column, rows: Ints) -> pl.Series:
    if isinstance(column.levels, Numbers):
        return column.levels.decode(column.codes[rows]).alias(column.name)
    labels = _labels(column.levels)
    return pl.Series(column.name, [labels[code] for code in column.codes[rows].tolist()], dtype=pl.String)


def _labels(levels: Labels | Leaves) -> tuple[str, ...]:
    return levels.hierarchy.leaves if isinstance(levels, Leaves) else levels.labels


def _fits(cells: pl.Series, column: Column, kind: Kind) -> bool:
    """Whether a column under the present policy can hold these cells: others would give themselves away."""
    levels = column.levels
    if isinstance(levels, Numbers):
        if cells.dtype != levels.dtype or (cells.null_count() and kind.missing == "refuse"):
            return False
        low, high = (kind.low, kind.high) if isinstance(kind, Numeric) else (None, None)
        if low is None and high is None:
            return True
        numbers = cells.drop_nulls().to_physical()
        return not ((low is not None and (numbers < low).any()) or (high is not None and (numbers > high).any()))
    refused = {MISSING} if kind.missing == "refuse" else set()
    return cells.dtype == pl.String and set(cells.to_list()) <= set(_labels(levels)) - refused
