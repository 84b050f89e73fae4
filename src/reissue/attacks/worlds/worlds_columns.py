"""What possible worlds leave of one sensitive column, where several are and values are records.

Somebody has a value of a column with the probability of all their records that have it. That is what the releases tell
of the column, with everything that the other columns tell of it: more than the column published by itself would.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.base import OF_COLUMN, Finding, Judgement, Kind
from reissue.attacks.figures import KINDS, SAMPLED, Figures, limit_told
from reissue.attacks.sentences import Cell
from reissue.attacks.tied import tied_to
from reissue.attacks.worlds.worlds_witness import Explainer
from reissue.errors import count_of
from reissue.model.records import ValueColumn
from reissue.reasoning.worlds.posteriors import Posteriors

NEAR = 1e-12
"""A sum of proven bounds that cannot be told from 1 is 1."""
IF_THERE = " if they are in a release, which is not known of all of them"
"""What is added where some of those who are counted may be in no release."""


class ColumnWorlds:
    """One column, person by person."""

    def __init__(
        self,
        column: ValueColumn,
        found: Posteriors,
        records: Figures,
        unknown: Bools,
        there: Bools,
        explainer: Explainer,
    ) -> None:
        self.column = column
        self._found, self._there, self._explainer = found, there, explainer
        self._people, self._unit = found.people[unknown], found.unit[unknown]
        self.figures, self._starts, self._values = records.added(found.starts, column.of[found.values])

    def __repr__(self) -> str:
        return f"ColumnWorlds('{self.column.name}', {self._people.size:,} people)"

    @cached_property
    def _owner(self) -> Ints:
        return np.repeat(np.arange(self._starts.size - 1), np.diff(self._starts))

    def _any(self, rows: Bools) -> Bools:
        """The units with one of these rows."""
        return np.asarray(np.bincount(self._owner, rows, minlength=self._starts.size - 1) > 0)

    @cached_property
    def _certain(self) -> Bools:
        """The rows that are proven to be certain."""
        one = np.array([*(fraction == 1 for fraction in self.figures.fractions), False])
        return np.where(self.figures.least < 0, self.figures.low >= 1 - NEAR, one[self.figures.least])

    def _beyond(self, limit: Fraction | None) -> Bools:
        return self._certain if limit is None else self.figures.beyond(limit)

    def _within(self, limit: Fraction | None) -> Bools:
        if limit is not None:
            return self.figures.within(limit)
        return np.where(self.figures.least < 0, self.figures.high < 1 - NEAR, ~self._certain)

    @cached_property
    def _told(self) -> Floats:
        """For each row what a finding says: the exact figure, the estimate, or what it is at least."""
        return np.where(self.figures.kind == SAMPLED, self.figures.probability, self.figures.low)

    @cached_property
    def _likeliest(self) -> Ints:
        return self.figures.likeliest(self._starts)

    @property
    def _certain_people(self) -> int:
        """How many are certain to have one value of the column."""
        return int((self._any(self._certain) & self._there)[self._unit].sum())

    def row(self, limit: Fraction | None) -> dict[str, Any]:
        """The column in figures, for a report."""
        top = self._told[self._likeliest[self._unit]] if self._unit.size else np.zeros(0)
        return {
            "column": self.column.name,
            "limit": "below 1" if limit is None else limit_told(limit),
            "people": self._people.size,
            "above the limit": int(self._any(self._beyond(limit))[self._unit].sum()),
            "certain": self._certain_people,
            "highest probability": float(top.max(initial=0.0)),
        }

    def judge(self, limit: Fraction | None, most: int) -> Judgement:
        """Whether it is proven that nobody is tied to a value of the column with more than its limit."""
        everybody = count_of(self._people.size, "person", "people")
        bar = "certainty" if limit is None else f"more than {limit_told(limit)}"
        beyond = self._beyond(limit)
        hit = np.flatnonzero(self._any(beyond)[self._unit])
        top = self._told[self._likeliest[self._unit]] if self._unit.size else np.zeros(0)
        certain = self._certain_people
        if hit.size:
            supposed = "" if self._there[self._unit[hit]].all() else IF_THERE
            worst = hit[np.lexsort((self._people[hit], -top[hit]))][: max(most, 0)]
            findings = tuple(self._finding(int(self._people[at]), int(self._unit[at])) for at in worst.tolist())
            words = (
                f"Of '{self.column.name}' alone {hit.size:,} of {everybody} can be tied to a value with "
                f"{bar}{supposed}; the highest probability is {top[hit].max():.3g}. {certain:,} are certain."
            )
            return Judgement("beyond", words, findings, int(hit.size))
        unproven = self._any(~self._within(limit))[self._unit]
        if not unproven.any():
            words = f"Of '{self.column.name}' alone nobody of {everybody} is tied to a value with {bar}"
            return Judgement("within", f"{words}; the highest is {top.max(initial=0.0):.3g}.")
        sampled = self._any(self.figures.kind == SAMPLED)[self._unit[unproven]]
        status: Literal["sampled", "undecided"] = "sampled" if sampled.all() else "undecided"
        words = (
            f"Of '{self.column.name}' alone nobody is proven to be tied to a value with {bar}, and for "
            f"{int(unproven.sum()):,} of {everybody} it is not proven that they are not."
        )
        return Judgement(status, words)

    def tied(self, limit: Fraction | None) -> pl.DataFrame:
        """Everybody beyond the limit, each with the likeliest value of the column."""
        hit = self._any(self._beyond(limit))[self._unit]
        positions = self._values[self._likeliest[self._unit[hit]]]
        return tied_to(self._people[hit], positions, column=self.column.name)

    @property
    def likeliest(self) -> pl.DataFrame:
        """Everybody's likeliest value of the column; see `base.OF_COLUMN`."""
        rows = self._likeliest[self._unit]
        position, release = pl.Series(self._values[rows], dtype=pl.Int64), pl.lit(None, pl.Int64)
        return (
            self.figures.risks(self._people, rows).with_columns(position=position, release=release).select(*OF_COLUMN)
        )

    def _finding(self, person: int, unit: int) -> Finding:
        row = int(self._likeliest[unit])
        kind: Kind = KINDS[self.figures.kind[row]]
        value, figure = int(self._values[row]), float(self._told[row])
        records = self._found.values[int(self._found.starts[unit]) : int(self._found.starts[unit + 1])].tolist()
        cell, there = Cell(self.column.name, value), bool(self._there[unit])
        witness = self._explainer.of_column(person, records, cell, self.figures.exact(row), figure, kind, there)
        release = self._explainer.last_release(person)
        name = self.column.name
        among = (value,)
        found = Finding("Worlds", "value", (person,), release, None, figure, kind, witness, column=name, among=among)
        return replace(found, supposed=not self._there[unit])
