"""Models of p(value | quasi-identifiers): naive Bayes, and tables of probabilities that somebody brings.

Naive Bayes takes the columns to be independent given the value: p(value | q) is proportional to p(value) times the
product of p(cell | value). They are not, so it says too much where columns tell the same; and what is counted of few
people says too much as well. Its `power` takes that back: 0 is what a release says by itself, its shares, 1 is naive
Bayes, and what is between is between. Which power fits is read off rows that the model was not counted from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from reissue.arrays.types import Floats, Ints

RAREST = 1e-9
"""In place of a share of 0."""


class Model(Protocol):
    """Something that says how likely each value is for each row of a release."""

    @property
    def prior(self) -> Floats:
        """How likely each value is for somebody of whom nothing is known."""

    @property
    def power(self) -> float:
        """How far it is trusted: 0 not at all."""

    def chances(self, rows: Ints, codes: Ints) -> Floats:
        """p(value | q) of pairs of a row and a value, up to a factor for each row."""

    def every(self, rows: Ints) -> Floats:
        """p(value | q) of some rows, one column for each value; rows add up to 1."""


@dataclass(frozen=True, repr=False)
class Shares:
    """What a release says by itself of how frequent values are: everywhere the same, or by cell."""

    table: Floats
    """A row for each cell, a column for each value."""
    which: Ints
    """For each row of the release its cell."""

    @cached_property
    def logs(self) -> Floats:
        """Logarithms; a value that a cell does not have counts as very rare."""
        return np.log(np.maximum(self.table, RAREST))

    def every(self, rows: Ints) -> Floats:
        """The shares of some rows, one column for each value."""
        return np.asarray(self.table[self.which[rows]])


@dataclass(frozen=True, repr=False)
class NaiveBayes:
    """p(value), and for each column p(cell | value); of the rows of one release."""

    columns: tuple[Ints, ...]
    """For each column the cells of all rows."""
    logs: tuple[Floats, ...]
    """For each column the logarithm of p(cell | value): a row for each cell, a column for each value."""
    prior: Floats
    shares: Shares
    power: float = 1.0

    @classmethod
    def counted(
        cls,
        columns: tuple[Ints, ...],
        shares: Shares | None,
        bins: Sequence[int],
        seen: tuple[Ints, ...],
        owner: Ints,
        codes: Ints,
        weights: Floats,
        values: int,
        smoothing: float,
    ) -> NaiveBayes:
        """Counted from pairs of a row (of the columns in `seen`) and a value, each with a weight.

        Each value gets `smoothing` rows more that look like all rows together. Without `shares` it takes those that it
        counts.
        """
        often = np.bincount(codes, weights, minlength=values)
        total = float(often.sum())
        logs = []
        for column, count in zip(seen, bins, strict=True):
            held = np.bincount(column[owner] * values + codes, weights, minlength=count * values)
            held = held.reshape(count, values)
            # Half a row for each cell, so that no cell is impossible that the table happens not to have.
            usual = (held.sum(axis=1) + 0.5) / (total + 0.5 * count)
            logs.append(np.log((held + smoothing * usual[:, None]) / (often + smoothing)))
        prior = np.asarray((often + 0.5) / (total + 0.5 * values), dtype=np.float64)
        own = Shares(prior[None, :], np.zeros(columns[0].size, dtype=np.int64))
        return cls(columns, tuple(logs), prior, own if shares is None else shares)

    def chances(self, rows: Ints, codes: Ints) -> Floats:
        """p(value | q) of pairs of a row and a value, up to a factor for each row."""
        values = self.prior.size
        log = np.log(self.prior)[codes]
        for column, table in zip(self.columns, self.logs, strict=True):
            log += table.ravel()[column[rows] * values + codes]
        if self.power != 1:
            log = self.power * log + (1 - self.power) * self.shares.logs[self.shares.which[rows], codes]
        # The largest of each row would do as well, and takes longer to find.
        log -= log.max(initial=-np.inf)
        return np.asarray(np.exp(np.maximum(log, -600.0)))

    def every(self, rows: Ints) -> Floats:
        """p(value | q) of some rows, one column for each value."""
        log = np.tile(np.log(self.prior), (rows.size, 1))
        for column, table in zip(self.columns, self.logs, strict=True):
            log += table[column[rows]]
        log *= self.power
        log += (1 - self.power) * self.shares.logs[self.shares.which[rows]]
        log -= log.max(axis=1, keepdims=True)
        chance = np.exp(log)
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

    def chances(self, rows: Ints, codes: Ints) -> Floats:
        """p(value | q) of pairs of a row and a value."""
        return np.asarray(self.chance[rows, codes])

    def every(self, rows: Ints) -> Floats:
        """p(value | q) of some rows, one column for each value."""
        return np.asarray(self.chance[rows])
