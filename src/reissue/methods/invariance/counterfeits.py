"""The counterfeits of a series: made-up rows that keep their identity while they are needed.

A counterfeit has the cells of one row of another bucket, drawn at random, with some of them taken from a second row
that is much like it. So it is nobody's copy, by which it could be recognised. Any two of its cells occur together in
the table, numbers to within a bin, so that no two contradict each other; and their distribution is nearly the table's.
Where no such mixture is found, it is a copy.

What is left to recognise it by: it comes and goes when its bucket needs it, so it stays for a shorter time than people,
and comes when few others do. `benchmarks/counterfeits.py` measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isqrt

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.model.hierarchy import MISSING
from reissue.model.memory import Memory
from reissue.model.schema import Kind, Numeric
from reissue.model.snapshot import Column, Labels, Leaves, Numbers, Snapshot

REDRAWS = 30
"""So often a row is drawn again while it is of the counterfeit's own bucket; there may be no other bucket."""
OTHERS = 24
"""Of so many rows the one most like the first lends the others of its cells."""
BINS = 4, 64
"""Into how many bins numbers are put, at least and at most, when it is asked which occur together; in between as many
as let two columns of numbers have about FILLED rows for each pair of bins."""
FILLED = 4
LOOKED_AT, TABLED = 1 << 16, 1 << 24
"""What occurs together is looked up in so many rows at most; in a table, where that has at most so many places."""
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
        rows = rng.integers(len(snapshot), size=len(self))
        return replace(self, cells=_mixed(columns, rows, np.arange(len(snapshot)), rng))

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
        return self.and_like(signature, place, came, snapshot, rows, donors, rng)

    def and_like(
        self,
        signature: Ints,
        place: Ints,
        came: int,
        snapshot: Snapshot,
        rows: Ints,
        donors: Ints,
        rng: np.random.Generator,
    ) -> MadeCounterfeits:
        """With new ones of these signatures and places, each with most cells like one of these rows.

        `donors` are the rows that the other cells may come from.
        """
        cells = _mixed((*snapshot.quasi, *snapshot.as_is), rows, donors, rng)
        return MadeCounterfeits(
            np.concatenate([self.number, np.arange(self.next_number, self.next_number + signature.size)]),
            np.concatenate([self.signature, signature]),
            np.concatenate([self.place, place]),
            np.concatenate([self.came, np.full(signature.size, came)]),
            self.cells.vstack(cells) if len(self) else cells,
            self.next_number + signature.size,
        )


_OWN = (NUMBER, SIGNATURE, PLACE, CAME)


def _mixed(columns: Sequence[Column], rows: Ints, donors: Ints, rng: np.random.Generator) -> pl.DataFrame:
    """The cells of these rows, some of them exchanged for those of another row that is like it."""
    codes = np.column_stack([column.codes[rows].astype(np.int64) for column in columns])
    if len(columns) > 1:
        others = donors[rng.integers(donors.size, size=(rows.size, OTHERS))]
        theirs = np.stack([column.codes[others].astype(np.int64) for column in columns], axis=2)
        taken = rng.random(theirs.shape) < 0.5
        mixtures = np.where(taken, theirs, codes[:, None, :])
        fits = (mixtures != codes[:, None, :]).any(axis=2) & (mixtures != theirs).any(axis=2)
        fits &= _together(columns, mixtures, donors, rng)
        unlike = np.where(fits, _distance(columns, codes, theirs), np.inf)
        best = unlike.argmin(axis=1)
        found = np.flatnonzero(np.isfinite(unlike[np.arange(rows.size), best]))
        codes[found] = mixtures[found, best[found]]
    return pl.DataFrame([_cells(column, codes[:, at]) for at, column in enumerate(columns)])


def _together(columns: Sequence[Column], mixtures: Ints, donors: Ints, rng: np.random.Generator) -> Bools:
    """Which mixtures have no two cells that no row has together."""
    if donors.size > LOOKED_AT:
        donors = donors[rng.integers(donors.size, size=LOOKED_AT)]
    bins = int(np.clip(isqrt(donors.size // FILLED), *BINS))
    theirs = [_coarse(column, column.codes[donors], bins) for column in columns]
    mixed = [_coarse(column, mixtures[:, :, at], bins) for at, column in enumerate(columns)]
    fits = np.ones(mixtures.shape[:2], dtype=np.bool_)
    for one, other in combinations(range(len(columns)), 2):
        width = max(int(theirs[other].max(initial=0)), int(mixed[other].max(initial=0))) + 1
        known, asked = theirs[one] * width + theirs[other], mixed[one] * width + mixed[other]
        size = max(int(known.max(initial=0)), int(asked.max(initial=0))) + 1
        if size > TABLED:
            fits &= np.isin(asked, known)
            continue
        table = np.zeros(size, dtype=np.bool_)
        table[known] = True
        fits &= table[asked]
    return fits


def _distance(columns: Sequence[Column], codes: Ints, theirs: Ints) -> Floats:
    """How unlike other rows are: 1 for every label that differs, for numbers how far they are apart."""
    away = np.zeros(theirs.shape[:2])
    for at, column in enumerate(columns):
        apart = np.abs(theirs[:, :, at] - codes[:, None, at])
        away += apart / max(column.levels.values.size - 1, 1) if isinstance(column.levels, Numbers) else apart > 0
    return away


def _coarse(column: Column, codes: npt.NDArray[np.integer], bins: int) -> Ints:
    """Codes that stand for what is about the same: numbers in bins, labels as they are."""
    numbers = codes.astype(np.int64)
    if not isinstance(column.levels, Numbers):
        return numbers
    return numbers * bins // max(column.levels.values.size, bins)


def _cells(column: Column, codes: Ints) -> pl.Series:
    if isinstance(column.levels, Numbers):
        return column.levels.decode(codes).alias(column.name)
    labels = _labels(column.levels)
    return pl.Series(column.name, [labels[code] for code in codes.tolist()], dtype=pl.String)


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
