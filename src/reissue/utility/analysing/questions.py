"""Questions and answers: what is asked of sensitive values, and the figures that come back for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import polars as pl

from reissue.arrays.types import Floats
from reissue.errors import Infeasible, ParameterError
from reissue.model.sets import OTHERS
from reissue.utility.analysing.breakdown import Cells, Cuts
from reissue.utility.analysing.conditions import Condition, Conditions, Excluded, Range, is_number, labels_of, matches

Target = Literal["table", "population"]
Kind = Literal["count", "share", "mean"]
Interval = Literal["95 %", "certain", "none"]

Z = 1.959963984540054
"""The normal quantile of 95 %."""


@dataclass(frozen=True, repr=False)
class Question:
    """How much each value counts."""

    kind: Kind
    label: str
    """As it stands in the column `value`."""
    counted: Floats
    """For each value what it adds: 1 or 0, or the number that it is; 0 where it is none."""
    known: Floats | None = None
    """For a mean, 1 for each value that is a number; None where all are."""

    @property
    def is_indicator(self) -> bool:
        """Whether values count or do not."""
        return self.kind != "mean"


@dataclass(frozen=True, repr=False)
class Figures:
    """For each group what is estimated."""

    people: Floats
    estimate: Floats
    error: Floats
    low: Floats
    high: Floats
    interval: Interval


@dataclass(frozen=True)
class Combined:
    """A weighed sum of estimates."""

    estimate: float
    error: float
    low: float
    high: float
    interval: Interval


@dataclass(frozen=True, repr=False)
class Term:
    """One estimate of a combination: of one release, of one group."""

    view: View
    question: Question
    cells: Cells
    group: int
    factor: float


class View(Protocol):
    """One release, as questions are put to it."""

    number: int

    @property
    def values(self) -> pl.Series:
        """The sensitive values that there are."""

    def cells(self, cuts: Cuts, where: Conditions) -> Cells:
        """The groups of the rows that satisfy conditions."""

    def people(self, cells: Cells) -> Figures:
        """How many people each group has."""

    def figures(self, question: Question, cells: Cells, target: Target) -> Figures:
        """What each group's answer is."""

    def combined(self, terms: Sequence[Term], target: Target) -> Combined:
        """A weighed sum of answers, of releases that are all of this kind."""


def values_asked(values: pl.Series, value: Condition, kind: Kind) -> Question:
    """The question for one value, for several together, or for a range of numbers."""
    wanted = matches(values, value)
    if not wanted.any() and is_number(values.dtype):
        raise ParameterError(f"No value of '{values.name}' is what was asked for.", hint="check the numbers.")
    return Question(kind, label_of(value), wanted.cast(pl.Float64).to_numpy())


def every_value(values: pl.Series, kind: Kind) -> list[Question]:
    """A question for each value."""
    texts = values.cast(pl.String).to_list()
    return [
        Question(kind, text if text is not None else "", np.eye(1, values.len(), at)[0])
        for at, text in enumerate(texts)
    ]


def mean_of(values: pl.Series) -> Question:
    """The question for the mean of a column of numbers."""
    numbers = values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    missing = numbers.is_null()
    labels = values.cast(pl.String).filter(missing).drop_nulls().to_list()
    if OTHERS in labels:
        raise Infeasible(
            f"The mean of '{values.name}' cannot be estimated: its rare values are published as one, '{OTHERS}', which "
            "is no number.",
            hint="estimate the shares of single values instead.",
        )
    if any(labels) or missing.all():
        raise ParameterError(
            f"'{values.name}' has values that are no numbers: there is no mean.", hint="use share or count."
        )
    known = None if not missing.any() else (~missing).cast(pl.Float64).to_numpy()
    return Question("mean", "mean", numbers.fill_null(0.0).to_numpy(), known)


def label_of(value: Condition) -> str:
    """How what is asked for is named in results."""
    if isinstance(value, Range):
        first = "" if value.first is None else f"{'>' if value.above else '>='} {value.first}"
        last = "" if value.last is None else f"{'<' if value.below else '<='} {value.last}"
        return " and ".join(end for end in (first, last) if end)
    if isinstance(value, Excluded):
        return f"not {', '.join(value.labels)}"
    if isinstance(value, tuple) and len(value) == 2 and not any(isinstance(end, str) for end in value):
        return f"{value[0]} to {value[1]}"
    return ", ".join(labels_of(value))
