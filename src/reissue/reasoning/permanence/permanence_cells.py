"""Cells: figures that many entries share, and what the largest of them is for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from reissue.arrays.types import Bytes, Floats, Ints
from reissue.reasoning.permanence.permanence_entries import Entries

EXACT, BOUNDED, SAMPLED, UNDECIDED = range(4)
KINDS: tuple[Literal["exact", "bounded", "sampled", "undecided"], ...] = ("exact", "bounded", "sampled", "undecided")

NEVER, ALWAYS, CONTRADICTORY = range(3)
"""The first cells: nobody, everybody, and where the releases contradict each other."""


class EntryFigures:
    """Figures, each for the entries that point to it."""

    def __init__(self) -> None:
        self._exact: list[Fraction | None] = [Fraction(0), Fraction(1), None]
        self._figures: list[tuple[int, float, float, float, float]] = [
            (EXACT, 0.0, 0.0, 0.0, np.nan),
            (EXACT, 1.0, 1.0, 1.0, np.nan),
            (UNDECIDED, 1.0, 0.0, 1.0, np.nan),
        ]

    def exactly(self, shares: Sequence[Fraction]) -> Ints:
        """New cells, or old ones, for these probabilities."""
        found = []
        for share in shares:
            if share.numerator in (0, share.denominator):
                found.append(ALWAYS if share else NEVER)
                continue
            figure = float(share)
            self._exact.append(share)
            self._figures.append((EXACT, figure, figure, figure, np.nan))
            found.append(len(self._exact) - 1)
        return np.array(found, dtype=np.int64)

    def add(self, kind: int, probability: float, low: float, high: float, error: float = np.nan) -> int:
        """A new cell that is not exact."""
        self._exact.append(None)
        self._figures.append((kind, probability, low, high, error))
        return len(self._exact) - 1

    def largest(self, entries: Entries, cell: Ints, places: int) -> Largest:
        """For everybody the largest figure of his entries; `cell` says which cell each entry points to."""
        exact = sorted({share for share in self._exact if share is not None})
        place = {share: at for at, share in enumerate(exact)}
        rank = np.array([-1 if share is None else place[share] for share in self._exact], dtype=np.int64)
        figures = np.array(self._figures, dtype=np.float64)
        top = np.full(places, -1, dtype=np.int64)
        release = np.full(places, -1, dtype=np.int64)
        kind = np.full(places, -1, dtype=np.int8)
        # Figures that are not exact; their entries are looked at apart, for they are few.
        probability, low, high, error = (np.full(places, fill) for fill in (-1.0, 0.0, -1.0, np.nan))
        rough = np.full(places, -1, dtype=np.int64)
        for at in range(entries.starts.size - 1):
            some = slice(int(entries.starts[at]), int(entries.starts[at + 1]))
            who, mine = entries.person[some], cell[some]
            better = rank[mine] > top[who]
            top[who[better]] = rank[mine[better]]
            release[who[better]] = at
            open_ = rank[mine] < 0
            if open_.any():
                who, told = who[open_], figures[mine[open_]]
                kind[who] = np.maximum(kind[who], told[:, 0].astype(np.int8))
                larger = told[:, 1] > probability[who]
                rough[who[larger]] = at
                error[who[larger]] = told[larger, 4]
                probability[who] = np.maximum(probability[who], told[:, 1])
                low[who] = np.maximum(low[who], told[:, 2])
                high[who] = np.maximum(high[who], told[:, 3])
        share = np.append(np.array([float(one) for one in exact]), 0.0)[top]
        settled = high <= share
        rough_first = ~settled & (probability > share)
        return Largest(
            np.where(settled, EXACT, kind).astype(np.int8),
            np.where(settled, share, np.maximum(probability, share)),
            np.where(settled, share, np.maximum(low, share)),
            np.where(settled, share, np.maximum(high, share)),
            np.where(settled | ~rough_first, np.nan, error),
            np.where(rough_first, rough, release),
            top,
            exact,
        )


@dataclass(frozen=True, repr=False)
class Largest:
    """By place: the largest figure of anybody's entries."""

    kind: Bytes
    probability: Floats
    low: Floats
    high: Floats
    error: Floats
    release: Ints
    """The first release with it, by position in the view; -1: no entry."""
    rank: Ints
    """Which of `exact` the largest exact figure is; -1: none."""
    exact: list[Fraction]
    """All exact figures, ascending."""
