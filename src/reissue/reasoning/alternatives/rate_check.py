"""Whether a declared rate of change fits the sets that were published.

What is seen is who has another set than in the release before. Somebody with value v gets one if it changed, and if it
did not, with the chance of the declared coin. If values are redrawn with chance x in truth and c was declared,

    P(new set | v) = x (1 - p(v)) + (1 - x + x p(v)) coin_c(v),

a straight line in x that takes the value c at x = c. In any release somebody's value has the law p and their set, given
it, the law of the design, whatever x is, because keeping a set depends on the value and never on the set. So given the
set v has the chance slots/m, and the expected number of new sets is a straight line in x: exactly, with new sets that
come out as the old one taken off. What is seen against that line is an estimate of x. As coins of people who did not
change give them a new set with a chance of about c p(v) only, too large a c shows as too few new sets, and too small a
one as too many.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.reasoning.alternatives.set_histories import CHUNK, Histories

WIDE = 3.0
"""The interval has so many standard errors to either side: right in 997 of 1,000 cases."""


@dataclass(frozen=True)
class RateFit:
    """A declared rate, and what it looks like."""

    declared: float
    estimate: float
    low: float
    high: float
    """An interval for the true rate."""
    steps: int
    """How often somebody was in two releases that follow each other."""
    seen: int
    """How often they had a new set then."""

    @property
    def over(self) -> bool:
        """Whether more was declared than there is: the dangerous direction."""
        return self.high < self.declared

    @property
    def under(self) -> bool:
        """Whether less was declared."""
        return self.low > self.declared


def rate_fits(histories: Histories) -> tuple[RateFit, ...]:
    """For each rate that was declared what the sets look like; none where there is nothing to count."""
    if histories.linked or np.isnan(histories.rates).any():
        return ()
    release, opening = histories.release, histories.opening
    # Only steps from one release to the next, within one version of the shares.
    step = ~opening
    step[1:] &= release[1:] == release[:-1] + 1
    versions = histories.laws.versions
    step &= versions[release] == versions[np.maximum(release - 1, 0)]
    fits = []
    for rate in np.unique(histories.rates[histories.rates > 0]).tolist():
        rows = np.flatnonzero(step & (histories.rates[release] == rate))
        if rows.size and (fit := _fit(histories, rows, rate)) is not None:
            fits.append(fit)
    return tuple(fits)


def _fit(histories: Histories, rows: Ints, rate: float) -> RateFit | None:
    design = histories.design[rows - 1]
    law = histories.laws.of[histories.laws.versions[histories.release[rows]], histories.cell[design]]
    # What is expected of somebody whose set was kept is what was expected of them before.
    new = ~histories.kept[rows - 1]
    new[:1] = True
    new[1:] |= (law[1:] != law[:-1]) | (rows[1:] != rows[:-1] + 1)
    different = np.flatnonzero(new)
    at_none, slope = np.empty(different.size), np.empty(different.size)
    for begin in range(0, different.size, CHUNK):
        some = slice(begin, begin + CHUNK)
        at = different[some]
        at_none[some], slope[some] = _line(histories, rows[at] - 1, law[at], rate)
    alike = np.cumsum(new) - 1
    at_none, slope = at_none[alike], slope[alike]
    total = float(slope.sum())
    if total <= 0:
        return None
    seen = (~histories.kept[rows]).astype(np.float64)
    estimate = float((seen - at_none).sum()) / total
    bounded = min(max(estimate, 0.0), 1.0)
    # By person, whose steps may hang together; never narrower than counts of so many steps are.
    rest = np.bincount(histories.owner[rows], seen - at_none - slope * bounded)
    share_seen = float((seen.sum() + WIDE**2 / 2) / (seen.size + WIDE**2))
    spread = max(float((rest**2).sum()), share_seen * (1 - share_seen) * (seen.size + WIDE**2))
    width = WIDE * sqrt(spread) / total
    middle = (share_seen * seen.size - float(at_none.sum())) / total
    low, high = min(middle, estimate) - width, max(middle, estimate) + width
    return RateFit(rate, bounded, max(low, 0.0), min(max(high, 0.0), 1.0), int(seen.size), int(seen.sum()))


def _line(histories: Histories, rows: Ints, law: Ints, rate: float) -> tuple[Floats, Floats]:
    """The chance of a new set after each row if nothing is redrawn, and how much more it is if everything is."""
    codes, design = histories.codes[rows], histories.design[rows]
    there = codes >= 0
    share = np.where(there, histories.laws.shares[law[:, None], codes], 0.0)
    taken = histories.slots[design[:, None], codes] if histories.taken is None else histories.taken[rows]
    chance = np.where(there, taken / histories.m[design][:, None], 0.0)
    coin = rate * share / (1 - rate + rate * share) if rate < 1 else np.where(share > 0, 1.0, 0.0)
    # A new set of the same design that is the old one: chance limit / p times P(S), given a value that is in it.
    current = design == law
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.nan_to_num(chance / share, posinf=0.0) * (histories.chance[rows] * current)[:, None]
    # Of who has the value v: redrawn with chance x to any other u of the set, or to itself, or not at all.
    landed = (share * alike).sum(axis=1, keepdims=True)  # the chance that a redraw ends in the old set
    at_none = (chance * coin * (1 - alike)).sum(axis=1)
    at_all = (chance * ((1 - share) - (landed - share * alike) + share * coin * (1 - alike))).sum(axis=1)
    return at_none, at_all - at_none
