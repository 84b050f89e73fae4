"""Learning p(value | quasi-identifiers) from a release, for people whose own rows have no part in it.

Units (rows of sets, groups) are dealt into folds. For each fold a model is learnt from all other folds: it starts
from what a release says by itself (slots / m, shares in a group), counts, works out by the model what everybody is
likely to have, and counts again (expectation and maximisation; for groups it is what Kifer calls the deFinetti attack).
How far each model is to be trusted, its power, is read off how well the models predict what the *other* folds show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.likelihood.likelihood_bayes import Model, NaiveBayes
from reissue.attacks.likelihood.likelihood_columns import Columns
from reissue.attacks.likelihood.likelihood_evidence import Evidence

ROUNDS = 20
"""So often a model is learnt from what it says itself."""
POWERS = np.linspace(0.0, 1.5, 16)
"""The powers that are tried."""
SAMPLE = 1 << 20
"""So many probabilities are looked at to choose a power."""


@dataclass(frozen=True, repr=False)
class Trained:
    """The models of a release, and how well they do on rows that they were not learnt from."""

    models: tuple[Model, ...]
    fold: Ints
    """For each row of the release the model that is for it."""
    gain: float
    """How much better the models predict what a unit shows than no model does, as a mean of logarithms."""
    gain_error: float
    """Its standard error; not a number for a single unit."""


def learnt(evidence: Evidence, columns: Columns, values: int, smoothing: float, fold: Ints) -> tuple[NaiveBayes, ...]:
    """A model for each fold, learnt from the units of the others; `fold` is by unit."""
    return tuple(_learnt(evidence, fold != one, columns, values, smoothing) for one in range(int(fold.max()) + 1))


def _learnt(every: Evidence, units: Bools, columns: Columns, values: int, smoothing: float) -> NaiveBayes:
    evidence, rows = every.only(units)
    bins = [cut.bins for cut in columns.cuts]
    lengths = np.diff(evidence.starts)
    people = np.repeat(evidence.people >= 0, lengths)
    row, codes = np.repeat(rows, lengths), evidence.codes

    def counted(weights: Floats) -> NaiveBayes:
        # Nothing is known of counterfeits, and nothing is learnt from them.
        return NaiveBayes.counted(
            columns.codes,
            every.shares,
            bins,
            columns.codes,
            row,
            codes,
            np.where(people, weights, 0.0),
            values,
            smoothing,
        )

    model = counted(evidence.plain)
    for _ in range(ROUNDS):
        model = counted(evidence.posterior(model, rows, learning=True))
    return model


def folds(units: int, count: int, seed: int) -> Ints:
    """Units dealt into folds of equal size."""
    return np.random.default_rng(seed).permutation(units) % min(count, units)


def calibrated(evidence: Evidence, models: Sequence[NaiveBayes], fold: Ints, seed: int) -> Trained:
    """The models with the power of each: the one with which they predict best what units of other folds show."""
    sample = _Sample.of(evidence, fold, models[0].prior.size, seed)
    tried = np.array([sample.fits([replace(one, power=float(power)) for one in models]) for power in POWERS])
    best = [int(tried[:, sample.fold != one].sum(axis=1).argmax()) for one in range(len(models))]
    raised = [replace(model, power=float(POWERS[at])) for model, at in zip(models, best, strict=True)]
    gains = tried[np.array(best)[sample.fold], np.arange(sample.fold.size)] - sample.without
    return Trained(tuple(raised), fold[evidence.unit], *_mean(gains))


def as_they_are(evidence: Evidence, models: Sequence[Model], fold: Ints, seed: int) -> Trained:
    """The models without another look at how far they are to be trusted."""
    sample = _Sample.of(evidence, fold, models[0].prior.size, seed)
    return Trained(tuple(models), fold[evidence.unit], *_mean(sample.fits(models) - sample.without))


@dataclass(frozen=True, repr=False)
class _Sample:
    """Some units of a release, to see how well models predict what they show."""

    evidence: Evidence
    rows: Ints
    fold: Ints
    """By unit of the sample."""

    @classmethod
    def of(cls, evidence: Evidence, fold: Ints, values: int, seed: int) -> _Sample:
        units = int(evidence.unit[-1]) + 1
        some = np.random.default_rng(seed + 1).random(units) < SAMPLE / (evidence.people.size * values)
        some[: min(units, 2)] = True
        part, rows = evidence.only(some)
        return cls(part, rows, fold[np.flatnonzero(some)])

    def fits(self, models: Sequence[Model]) -> Floats:
        """For each unit how well the model of its fold predicts it."""
        chance = np.empty((self.rows.size, models[0].prior.size))
        for one, model in enumerate(models):
            mine = np.flatnonzero(self.fold[self.evidence.unit] == one)
            chance[mine] = model.every(self.rows[mine])
        return self.evidence.fit(chance)

    @cached_property
    def without(self) -> Floats:
        """The same without any model: by the shares that the release has."""
        return self.evidence.fit(self.evidence.shares.every(np.arange(self.rows.size)))


def _mean(gains: Floats) -> tuple[float, float]:
    """With its standard error."""
    error = float(gains.std(ddof=1) / np.sqrt(gains.size)) if gains.size > 1 else float("nan")
    return float(gains.mean()), error
