"""Learning p(value | quasi-identifiers) from a release, for people whose own rows have no part in it.

Units (rows of sets, groups) are dealt into folds. For each fold a model is learnt from all other folds: it starts
from what a release says by itself (slots / m, shares in a group), counts, works out by the model what everybody is
likely to have, and counts again (expectation and maximisation; for groups it is what Kifer calls the deFinetti attack).
How far each model is to be trusted, its power, is read off how well the models predict what the *other* folds show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def learnt(evidence: Evidence, columns: Columns, values: int, smoothing: float, fold: Ints) -> tuple[Model, ...]:
    """A model for each fold, learnt from the units of the others; `fold` is by unit."""
    return tuple(_learnt(evidence, fold != one, columns, values, smoothing) for one in range(int(fold.max()) + 1))


def _learnt(every: Evidence, units: Bools, columns: Columns, values: int, smoothing: float) -> Model:
    evidence, rows = every.only(units)
    bins = [cut.bins for cut in columns.cuts]
    lengths = np.diff(evidence.starts)
    people = np.repeat(evidence.people >= 0, lengths)
    row, codes = np.repeat(rows, lengths), evidence.codes

    def counted(weights: Floats) -> NaiveBayes:
        # Nothing is known of counterfeits, and nothing is learnt from them.
        return NaiveBayes.counted(
            columns.codes, bins, columns.codes, row, codes, np.where(people, weights, 0.0), values, smoothing
        )

    model = counted(evidence.plain)
    for _ in range(ROUNDS):
        model = counted(evidence.posterior(model, rows, learning=True))
    return model


def folds(units: int, count: int, seed: int) -> Ints:
    """Units dealt into folds of equal size."""
    return np.random.default_rng(seed).permutation(units) % min(count, units)


def trusted(evidence: Evidence, models: Sequence[Model], fold: Ints, *, calibrated: bool, seed: int) -> Trained:
    """The models with the power of each: the one with which they predict best what units of other folds show.

    Without `calibrated` they are taken as they are.
    """
    values = models[0].prior.size
    units = int(evidence.unit[-1]) + 1
    share = min(1.0, SAMPLE / max(evidence.people.size * values, 1))
    some = np.random.default_rng(seed + 1).random(units) < share
    some[: min(units, 2)] = True
    part, rows = evidence.only(some)
    of_unit = fold[np.flatnonzero(some)]
    of_row = of_unit[part.unit]

    def fits(power: float | None) -> Floats:
        chance = np.empty((rows.size, values))
        for one, model in enumerate(models):
            mine = np.flatnonzero(of_row == one)
            chance[mine] = (model if power is None else model.raised(power)).every(rows[mine])
        return part.fit(chance)

    tried = np.array([fits(float(power)) for power in POWERS] if calibrated else [fits(0.0), fits(None)])
    raised, gains = [], np.zeros(of_unit.size)
    for one, model in enumerate(models):
        best = int(tried[:, of_unit != one].sum(axis=1).argmax()) if calibrated else 1
        raised.append(model.raised(float(POWERS[best])) if calibrated else model)
        mine = of_unit == one
        gains[mine] = (tried[best] - tried[0])[mine]
    error = float(gains.std(ddof=1) / np.sqrt(gains.size)) if gains.size > 1 else float("nan")
    return Trained(tuple(raised), fold[evidence.unit], float(gains.mean()), error)
