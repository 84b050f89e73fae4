"""Models of p(value | quasi-identifiers): naive Bayes, and tables of probabilities that somebody brings.

Naive Bayes takes the columns to be independent given the value: p(value | q) is proportional to p(value) times the
product of p(cell | value). They are not, so it says too much where columns tell the same. Its `power` takes that back:
the product is raised to it, and 0 is no model at all. Which power fits is read off the releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from reissue.arrays.types import Floats, Ints


class Model(Protocol):
    """Something that says how likely each value is for each row of a release."""

    @property
    def prior(self) -> Floats:
        """How likely each value is for somebody of whom nothing is known."""

    @property
    def power(self) -> float:
        """How far it is trusted: 0 not at all."""

    def raised(self, power: float) -> Model:
        """The same, trusted more or less."""

    def chances(self, rows: Ints, codes: Ints) -> Floats:
        """p(value | q) of pairs of a row and a value, up to a factor for each row."""

    def every(self, rows: Ints) -> Floats:
        """p(value | q) of some rows, one column for each value; rows add up to 1."""


@dataclass(frozen=True, repr=False)
class NaiveBayes:
    """p(value), and for each column p(cell | value); of the rows of one release."""

    columns: tuple[Ints, ...]
    """For each column the cells of all rows."""
    logs: tuple[Floats, ...]
    """For each column the logarithm of p(cell | value): a row for each cell, a column for each value."""
    prior: Floats
    power: float = 1.0

    @classmethod
    def counted(
        cls,
        columns: tuple[Ints, ...],
        bins: Sequence[int],
        seen: tuple[Ints, ...],
        owner: Ints,
        codes: Ints,
        weights: Floats,
        values: int,
        smoothing: float,
    ) -> NaiveBayes:
        """Counted from pairs of a row (of the columns in `seen`) and a value, each with a weight.

        Each value gets `smoothing` rows more that look like all rows together.
        """
        often = np.bincount(codes, weights, minlength=values)
        total = max(float(often.sum()), 1.0)
        logs = []
        for column, count in zip(seen, bins, strict=True):
            held = np.bincount(column[owner] * values + codes, weights, minlength=count * values)
            held = held.reshape(count, values)
            # Half a row for each cell, so that no cell is impossible that the table happens not to have.
            usual = (held.sum(axis=1) + 0.5) / (total + 0.5 * count)
            logs.append(np.log((held + smoothing * usual[:, None]) / (often + smoothing)))
        prior = (often + 0.5) / (total + 0.5 * values)
        return cls(columns, tuple(logs), prior / prior.sum())

    def raised(self, power: float) -> NaiveBayes:
        """The same, trusted more or less."""
        return replace(self, power=power)

    def chances(self, rows: Ints, codes: Ints) -> Floats:
        """p(value | q) of pairs of a row and a value, up to a factor for each row."""
        values = self.prior.size
        log = np.zeros(rows.size)
        for column, table in zip(self.columns, self.logs, strict=True):
            log += table.ravel()[column[rows] * values + codes]
        # The largest of a row would do; the largest possible of all rows saves finding it, and loses nothing.
        log -= sum(float(table.max()) for table in self.logs)
        return np.asarray(self.prior[codes] * np.exp(np.maximum(self.power * log, -600.0)))

    def every(self, rows: Ints) -> Floats:
        """p(value | q) of some rows, one column for each value."""
        log = np.zeros((rows.size, self.prior.size))
        for column, table in zip(self.columns, self.logs, strict=True):
            log += table[column[rows]]
        log *= self.power
        log -= log.max(axis=1, keepdims=True)
        chance = self.prior * np.exp(log)
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))


@dataclass(frozen=True, repr=False)
class Stated:
    """Probabilities as somebody gave them, for each row and value of a release."""

    chance: Floats
    """(rows, values); rows add up to 1."""
    power: float = 1.0

    @property
    def prior(self) -> Floats:
        """How likely each value is on the whole."""
        return np.asarray(self.chance.mean(axis=0))

    def raised(self, power: float) -> Stated:
        """Trusted more or less: with what power p(value | q) / p(value) counts."""
        prior = self.prior
        with np.errstate(divide="ignore", invalid="ignore"):
            tilted = np.where(prior > 0, prior * (self.chance / prior) ** power, 0.0)
        return Stated(tilted / tilted.sum(axis=1, keepdims=True), power)

    def chances(self, rows: Ints, codes: Ints) -> Floats:
        """p(value | q) of pairs of a row and a value."""
        return np.asarray(self.chance[rows, codes])

    def every(self, rows: Ints) -> Floats:
        """p(value | q) of some rows, one column for each value."""
        return np.asarray(self.chance[rows])
