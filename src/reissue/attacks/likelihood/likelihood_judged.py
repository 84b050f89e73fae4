"""One release under a model: what is likely for everybody, with and without their own row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.runs import entries_of, owners
from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.likelihood.likelihood_bayes import Model
from reissue.attacks.likelihood.likelihood_evidence import Evidence
from reissue.attacks.likelihood.likelihood_learning import Trained

CELLS = 1 << 21
"""So many probabilities of rows and values are worked out at once."""


@dataclass(frozen=True, repr=False)
class Judged:
    """What is likely for everybody in one release, given a model."""

    evidence: Evidence
    trained: Trained
    sets: bool
    """Whether it is a release of sets: then the posteriors are exact given the model."""
    posterior: Floats
    """For each entry of the evidence."""
    alone: Ints
    """For each row the likeliest value by the model alone, without what the release shows of this person."""
    alone_chance: Floats

    @property
    def number(self) -> int:
        """The number of the release."""
        return self.evidence.number

    @property
    def owner(self) -> Ints:
        """For each entry its row."""
        return owners(np.diff(self.evidence.starts))

    def top(self, *, limited: bool = False) -> Ints:
        """For each row its likeliest entry; with `limited` of those that have a limit, where there are such."""
        chance, starts = self.posterior, self.evidence.starts
        if limited and self.sets:
            # What takes all slots of a set is declared harmless.
            chance = np.where(self.evidence.plain >= 1, 0.0, chance)
        largest = np.maximum.reduceat(chance, starts[:-1])
        first = np.where(chance == largest[self.owner], np.arange(chance.size), chance.size)
        return np.minimum.reduceat(first, starts[:-1])

    @property
    def real(self) -> Bools:
        """The rows that are people."""
        return self.evidence.people >= 0


def judged(evidence: Evidence, trained: Trained, *, sets: bool) -> Judged:
    """Everybody by the model of their fold."""
    posterior = np.empty(evidence.codes.size)
    alone = np.empty(evidence.people.size, dtype=np.int64)
    chance = np.empty(evidence.people.size)
    of_unit = np.zeros(int(evidence.unit[-1]) + 1, dtype=np.int64)
    of_unit[evidence.unit] = trained.fold
    for one, model in enumerate(trained.models):
        part, rows = evidence.only(of_unit == one)
        posterior[entries_of(evidence.starts, rows)] = part.posterior(model, rows)
        alone[rows], chance[rows] = _alone(model, rows)
    return Judged(evidence, trained, sets, posterior, alone, chance)


def _alone(model: Model, rows: Ints) -> tuple[Ints, Floats]:
    """The likeliest value of each row by the model alone, and how likely it is."""
    best, chance = np.empty(rows.size, dtype=np.int64), np.empty(rows.size)
    at_once = max(1, CELLS // model.prior.size)
    for begin in range(0, rows.size, at_once):
        some = slice(begin, begin + at_once)
        every = model.every(rows[some])
        best[some] = every.argmax(axis=1)
        chance[some] = every.max(axis=1)
    return best, chance
