"""One release under a model: what is likely for everybody, with and without their own row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.dense import numbered
from reissue.arrays.runs import entries_of, owners
from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.likelihood.likelihood_bayes import Model
from reissue.attacks.likelihood.likelihood_evidence import Evidence, GroupEvidence
from reissue.attacks.likelihood.likelihood_learning import Trained
from reissue.model.records import ValueColumn

CELLS = 1 << 21
"""So many probabilities of rows and values are worked out at once."""


@dataclass(frozen=True, repr=False)
class ColumnEvidence:
    """What a release shows of each row in one of several sensitive columns."""

    number: int
    people: Ints
    starts: Ints
    """Where each row begins among the entries; one more than there are rows."""
    codes: Ints
    """The value of each entry, by position in the column."""
    plain: Floats
    """For each entry how likely it is by the release alone."""
    summed: bool
    group: Ints | None
    """For each row its group, where there are groups."""


@dataclass(frozen=True, repr=False)
class Judged:
    """What is likely for everybody in one release, given a model."""

    evidence: Evidence | ColumnEvidence
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

    def of_column(self, column: ValueColumn) -> Judged:
        """The same for one of several sensitive columns: a value of it is as likely as all records that have it."""
        evidence, width = self.evidence, len(column.values)
        keys, place = numbered(self.owner * width + column.of[evidence.codes])
        starts = np.searchsorted(keys // width, np.arange(evidence.people.size + 1))
        plain = np.bincount(place, evidence.plain, minlength=keys.size).astype(np.float64)
        posterior = np.bincount(place, self.posterior, minlength=keys.size).astype(np.float64)
        group = evidence.group if isinstance(evidence, GroupEvidence) else None
        own = ColumnEvidence(evidence.number, evidence.people, starts, keys % width, plain, evidence.summed, group)
        together = (column.of[:, None] == np.arange(width)).astype(np.float64)
        alone, chance = np.empty(evidence.people.size, dtype=np.int64), np.empty(evidence.people.size)
        for one, model in enumerate(self.trained.models):
            rows = np.flatnonzero(self.trained.fold == one)
            alone[rows], chance[rows] = _alone(model, rows, together)
        return Judged(own, self.trained, self.sets, posterior, alone, chance)


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


def _alone(model: Model, rows: Ints, together: Floats | None = None) -> tuple[Ints, Floats]:
    """The likeliest value of each row by the model alone, and how likely it is; of values that are put `together`."""
    best, chance = np.empty(rows.size, dtype=np.int64), np.empty(rows.size)
    at_once = max(1, CELLS // model.prior.size)
    for begin in range(0, rows.size, at_once):
        some = slice(begin, begin + at_once)
        every = model.every(rows[some])
        every = every if together is None else every @ together
        best[some] = every.argmax(axis=1)
        chance[some] = every.max(axis=1)
    return best, chance
