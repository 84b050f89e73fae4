"""Redraws: how somebody takes values to move from one release to a later one.

    Redrawn   values are redrawn from shares, with a rate and a version of the shares for each step; permanent ones stay
    Chained   values move by a table of chances, the same for each step

Both say T(v, v') for rows of people; `Redrawn` does so in its parts, since T is then what stays, on the diagonal, and
for all else the product of what leaves and where it lands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
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

    def passed(self, since: Ints, now: Ints, cell: Ints) -> tuple[list[Gaps], Ints]:
        """What may have happened from one release to another: for each cell the gaps, and which gap each place has."""
        base = int(now.max(initial=0)) + 1
        pairs, which = np.unique(since * base + now, return_inverse=True)
        last, until = pairs // base, pairs % base
        cells = range(self.laws.of.shape[1])
        shares = (self.laws.shares[self.laws.of[:, at]] for at in cells)
        found = [gaps(self.rates, self.laws.versions, one, last, until, self.permanent) for one in shares]
        return found, which

    def parts(self, codes: Ints, since: Ints, now: Ints, cell: Ints) -> tuple[Floats, Floats, Floats]:
        """For values of rows (-1: none): the chance that it stays as nothing was redrawn, 1 or 0 for whether it is ever
        lost, and the chance that a redraw ends in it."""
        found, which = self.passed(since, now, cell)
        stay, land = np.empty(len(codes)), np.zeros(codes.shape)
        for at, gap in enumerate(found):
            here = np.flatnonzero(cell == at) if len(found) > 1 else np.arange(len(codes))
            if not here.size:
                continue
            stay[here] = gap.kept[which[here]]
            held = np.zeros(codes.shape, np.bool_) if self.permanent is None else self.permanent[codes]
            for version, law in enumerate(self.laws.of[:, at].tolist()):
                weight = gap.moving[which[here], version][:, None]
                if self.permanent is not None:
                    weight = np.where(held[here], gap.staying[which[here], version][:, None], weight)
                if weight.any():
                    land[here] += weight * self.laws.shares[law][codes[here]]
        if self.permanent is None:
            return np.repeat(stay[:, None], codes.shape[1], axis=1), np.ones(codes.shape), land
        held = self.permanent[codes]
        return np.where(held, 1.0, stay[:, None]), np.where(held, 0.0, 1.0), land

    def moves(self, old: Ints, new: Ints, since: Ints, now: Ints, cell: Ints) -> Floats:
        """T(v, v') for all values of rows before and after: (rows, width, width)."""
        stay, _, land = self.parts(new, since, now, cell)
        lost = np.ones(old.shape) if self.permanent is None else np.where(self.permanent[old], 0.0, 1.0)
        same = old[:, :, None] == new[:, None, :]
        return np.where(same, stay[:, None, :], 0.0) + lost[:, :, None] * land[:, None, :]

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
        self._powers = [np.eye(len(table)), np.asarray(table, dtype=np.float64)]

    def __repr__(self) -> str:
        return f"Chained({len(self._powers[0]):,} values)"

    def even(self) -> Chained:
        """The same with every chance that is not 0 as good as any other."""
        return Chained(np.sign(self._powers[1]) / len(self._powers[1]))

    def moves(self, old: Ints, new: Ints, since: Ints, now: Ints, cell: Ints) -> Floats:
        """T(v, v') for all values of rows before and after: (rows, width, width)."""
        del cell
        steps = now - since
        while len(self._powers) <= int(steps.max(initial=0)):
            self._powers.append(self._powers[-1] @ self._powers[1])
        chances = np.empty((len(old), old.shape[1], new.shape[1]))
        for power in np.unique(steps).tolist():
            here = np.flatnonzero(steps == power)
            chances[here] = self._powers[power][old[here][:, :, None], new[here][:, None, :]]
        return chances


Moving = Redrawn | Chained
