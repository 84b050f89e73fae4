"""Redraws: how somebody takes values to move from one release to a later one.

    Redrawn   values are redrawn from shares, with a rate and a version of the shares for each step; permanent ones stay
    Chained   values move by a table of chances, the same for each step

Both say T(v, v') for rows of people; `Redrawn` does so in its parts, since T is then what stays, on the diagonal, and
for all else the product of what leaves and where it lands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.dense import numbered
from reissue.arrays.types import Bools, Codes, Floats, Ints
from reissue.errors import ParameterError
from reissue.reasoning.alternatives.renewing import Gaps, gaps

MOST_VALUES = 4_000
"""A table of chances is held for so many values at most."""


@dataclass(frozen=True, repr=False)
class Laws:
    """The shares that values are redrawn from: for each version and cell one row of `shares`."""

    shares: Floats
    """(laws, values)"""
    of: Ints
    """(versions, cells): which of the laws."""
    versions: Ints
    """For each release the version in force, counted from 0."""

    def __repr__(self) -> str:
        return f"Laws({self.of.shape[0]} versions, {self.of.shape[1]} cells, {self.shares.shape[1]:,} values)"


@dataclass(frozen=True, repr=False)
class Redrawn:
    """Values that are redrawn with a chance for each step."""

    rates: Floats
    """For each release the chance of a redraw in the step into it."""
    laws: Laws
    permanent: Bools | None = None
    """By value: which are never lost."""

    def __repr__(self) -> str:
        return f"Redrawn({self.rates.size} releases)"

    def passed(self, since: Ints, now: Ints) -> tuple[list[Gaps], Ints]:
        """What may have happened from one release to another: for each cell the gaps, and which gap each row has."""
        base = int(now.max(initial=0)) + 1
        pairs, which = numbered(since * base + now)
        last, until = pairs // base, pairs % base
        shares = (self.laws.shares[laws] for laws in self.laws.of.T)
        return [gaps(self.rates, self.laws.versions, one, last, until, self.permanent) for one in shares], which

    @property
    def is_permanent(self) -> Bools:
        """By value: whether it is never lost."""
        return np.zeros(self.laws.shares.shape[1], dtype=np.bool_) if self.permanent is None else self.permanent

    def parts(self, codes: Codes, since: Ints, now: Ints, cell: Ints) -> tuple[Floats, Floats]:
        """For rows the chance that nothing was redrawn, and for their values (-1: none) that a redraw ends in it."""
        found, which = self.passed(since, now)
        if len(found) == 1:
            return found[0].kept[which], self._land(codes, found[0], which, 0)
        stay, land = np.empty(len(codes)), np.empty(codes.shape)
        for at, gap in enumerate(found):
            here = np.flatnonzero(cell == at)
            if here.size:
                stay[here], land[here] = gap.kept[which[here]], self._land(codes[here], gap, which[here], at)
        return stay, land

    def _land(self, codes: Codes, gap: Gaps, which: Ints, cell: int) -> Floats:
        land = np.zeros(codes.shape)
        for version, law in enumerate(self.laws.of[:, cell].tolist()):
            weight = gap.moving[which, version][:, None]
            if self.permanent is not None:
                weight = np.where(self.permanent[codes], gap.staying[which, version][:, None], weight)
            if weight.any():
                land += weight * self.laws.shares[law][codes]
        return land

    def moves(self, old: Codes, new: Codes, since: Ints, now: Ints, cell: Ints) -> Floats:
        """T(v, v') for all values of rows before and after: (rows, width, width)."""
        kept, land = self.parts(new, since, now, cell)
        held = self.is_permanent
        stay = np.where(held[new], 1.0, kept[:, None])
        same = old[:, :, None] == new[:, None, :]
        return np.where(same, stay[:, None, :], 0.0) + np.where(held[old], 0.0, 1.0)[:, :, None] * land[:, None, :]

    def even(self) -> Redrawn:
        """The same with every chance that is not 0 or 1 as good as even."""
        rates = np.where((self.rates > 0) & (self.rates < 1), 0.5, self.rates)
        laws = Laws(np.sign(self.laws.shares) / self.laws.shares.shape[1], self.laws.of, self.laws.versions)
        return Redrawn(rates, laws, self.permanent)


class Chained:
    """Values that move by a table."""

    def __init__(self, table: Floats) -> None:
        if len(table) > MOST_VALUES:
            raise ParameterError(
                f"A model of change that differs by value is worked out for up to {MOST_VALUES:,} values. "
                f"Got {len(table):,} instead.",
                hint="give one rate.",
            )
        self._powers = np.stack([np.eye(len(table)), np.asarray(table, dtype=np.float64)])

    def __repr__(self) -> str:
        return f"Chained({len(self._powers[0]):,} values)"

    def even(self) -> Chained:
        """The same with every chance that is not 0 as good as any other."""
        return Chained(np.sign(self._powers[1]) / len(self._powers[1]))

    def powers(self, most: int) -> Floats:
        """The chances after 0, 1, ... steps, up to so many at least."""
        known = self._powers
        if len(known) <= most:
            more = [known[-1]]
            for _ in range(most - len(known) + 1):
                more.append(more[-1] @ known[1])
            self._powers = known = np.concatenate([known, more[1:]])
        return known

    def moves(self, old: Codes, new: Codes, since: Ints, now: Ints, cell: Ints) -> Floats:
        """T(v, v') for all values of rows before and after: (rows, width, width)."""
        del cell
        steps = now - since
        powers = self.powers(int(steps.max(initial=0)))
        return np.asarray(powers[steps[:, None, None], old[:, :, None], new[:, None, :]])


Moving = Redrawn | Chained
