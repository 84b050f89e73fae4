"""Smoothing: how likely each value of each row is, given all rows of its person; forward and backward sums.

A person's rows follow each other; in each the true value is one of at most k. `SetSteps` has what a row says of its
values, and how somebody takes values to move from one row to the next. There are sums only, nothing is subtracted, so
that every figure is right to a relative error of a few roundings for each row and value; `rounding` says how many.

People whose rows cannot come about at all get a likelihood of 0 and no posterior, and do not stop the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Codes, Floats, Ints
from reissue.kernels.following import smooth
from reissue.reasoning.alternatives.redraws import Chained, Moving


@dataclass(frozen=True, repr=False)
class SetSteps:
    """What the sets of people say to somebody with a model of their own."""

    codes: Codes
    release: Ints
    cell: Ints
    since: Ints
    """For each row the release of the person's row before."""
    prior: Floats
    """(rows, width): how likely somebody took each value to be at the person's first row."""
    drawn: Floats
    """(rows, width): D, up to a factor for new sets."""
    coin: Floats
    kept: Bools
    moving: Moving
    known: Ints | None = None
    """For each row the true value where it is known, or -1."""

    def __repr__(self) -> str:
        return f"SetSteps({self.release.size:,} rows)"

    @property
    def width(self) -> int:
        """How many different values a set has at most."""
        return int(self.codes.shape[1])

    def mechanism(self, before: Ints, after: Ints) -> Floats:
        """The chance of the sets after for all values of rows before and after, by the declared mechanism."""
        drawn, coin = self.drawn[after][:, None, :], self.coin[after][:, None, :]
        old, new = self.codes[before], self.codes[after]
        same = old[:, :, None] == new[:, None, :]
        chance = np.where(same, coin * drawn + np.where(self.kept[after][:, None, None], 1 - coin, 0.0), drawn)
        return np.where((old >= 0)[:, :, None] & (new >= 0)[:, None, :], chance, 0.0)


@dataclass(frozen=True, repr=False)
class Smoothed:
    """What all rows of a person say together."""

    posterior: Floats
    """(rows, width): the probability of each value; 0 in all for people whose rows cannot come about."""
    log_likelihood: Floats
    """By person: the logarithm of how likely their rows are, up to a factor that no value changes; -inf: not at all."""

    def __repr__(self) -> str:
        return f"Smoothed({self.log_likelihood.size:,} people, {len(self.posterior):,} rows)"


def smoothed(starts: Ints, steps: SetSteps) -> Smoothed:
    """Smooth people whose rows stand one after the other, from `starts[i]` to before `starts[i + 1]`."""
    moving, codes = steps.moving, np.ascontiguousarray(steps.codes)
    found = Smoothed(np.zeros(codes.shape), np.zeros(starts.size - 1))
    passed = steps.release - steps.since
    if isinstance(moving, Chained):
        powers = moving.powers(int(passed.max(initial=0)))
        stay, land, permanent = np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=np.bool_)
    else:
        powers = np.zeros((0, 0, 0))
        stay, land = moving.parts(codes, steps.since, steps.release, steps.cell)
        permanent = moving.is_permanent
    known = np.zeros(0, dtype=np.int64) if steps.known is None else steps.known
    smooth(
        starts, codes, steps.prior, steps.drawn, steps.coin, steps.kept, known, stay, land, permanent, passed, powers,
        found.posterior, found.log_likelihood,
    )  # fmt: skip
    return found


def rounding(length: int, width: int) -> float:
    """A bound on the relative error of posteriors that follows from rounding, for so many rows of a person.

    Each row adds to each weight at most `width` products and a dozen further operations, forward and backward, each
    with a relative error of 2^-53. What is given (chances of sets among it) counts with 10^-11, far more than it has.
    """
    return 1e-11 + length * 4 * (width + 12) * 2.0**-53
