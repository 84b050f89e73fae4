"""Rows with scores, and what they add to a sum and to its variance.

A score y of a question f has the expectation f(u) for whoever has the value u (`reasoning/alternatives/scoring.py`). So
y(f)^2 - y(f^2) has the expectation Var(y | u): added up over rows it is the variance of a count of the table's own
people, without bias, whatever they have. For a population that the people are drawn from the variance is the usual one,
of residuals. A ratio R = sum w y(f) / sum w y(k) is linearised: its residuals are y(f) - R y(k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.utility.analysing.questions import Target


@dataclass(frozen=True, repr=False)
class Scored:
    """The scores of rows for a question f: of f, of f^2, and of k, what is known (None: 1 for all)."""

    first: Floats
    square: Floats
    known: Floats | None

    def at(self, rows: Ints) -> Scored:
        """Those of some rows."""
        known = None if self.known is None else self.known[rows]
        return Scored(self.first[rows], self.square[rows], known)

    @property
    def over(self) -> Floats | float:
        """What is known of each row, 1 for all where everything is."""
        return 1.0 if self.known is None else self.known

    def residual(self, ratio: Floats | float) -> Floats:
        """What is left of each row when a ratio of f to k is taken off."""
        return np.asarray(self.first - ratio * self.over)

    def own(self, ratio: Floats | float) -> Floats:
        """The score of (f - ratio k)^2: what a row would add to the variance if it showed its value."""
        return np.asarray(self.square - 2 * ratio * self.first + ratio**2 * self.over)

    def products(self, one: RowFactors, other: RowFactors, target: Target) -> Floats:
        """For each row the covariance of what it adds to two sums of residuals."""
        a, b, mixed = one.factor * other.factor, one.centred * other.centred, one.mixed(other)
        known = self.over
        product = a * self.first**2 - mixed * self.first * known + b * known**2
        if target == "table":
            # The score of the product of what the rows have: taken off, it leaves what the draw of sets adds.
            product -= a * self.square - mixed * self.first + b * known
        return np.asarray(product)


@dataclass(frozen=True, repr=False)
class RowFactors:
    """What each row counts in a sum: `factor` (y(f) - ratio y(k)), with `centred` = factor times ratio."""

    factor: Floats
    centred: Floats

    @classmethod
    def none(cls, rows: int) -> RowFactors:
        """Of rows that do not count."""
        return cls(np.zeros(rows), np.zeros(rows))

    def add(self, rows: Ints, factor: Floats, ratio: float) -> None:
        """Let rows count more."""
        np.add.at(self.factor, rows, factor)
        np.add.at(self.centred, rows, factor * ratio)

    def at(self, rows: Ints) -> RowFactors:
        """Those of some rows."""
        return RowFactors(self.factor[rows], self.centred[rows])

    def mixed(self, other: RowFactors) -> Floats:
        """The terms with one ratio in a product."""
        return self.factor * other.centred + other.factor * self.centred

    def __add__(self, other: RowFactors) -> RowFactors:
        return RowFactors(self.factor + other.factor, self.centred + other.centred)
