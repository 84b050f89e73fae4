"""Questions and answers: what is asked of sensitive values, and the figures that come back for each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats
from reissue.errors import Infeasible, ParameterError, count_of, listed
from reissue.model.sets import OTHERS
from reissue.utility.analysing.breakdown import Cells, Cuts
from reissue.utility.analysing.conditions import Condition, Conditions, Excluded, Range, is_number, labels_of, matches

Target = Literal["table", "population"]
Kind = Literal["count", "share", "mean"]
Interval = Literal["95 %", "at least 95 %", "certain", "none"]
"""`at least 95 %`: of groups that cut through published regions, however people are spread over these."""

Z = 1.959963984540054
"""The normal quantile of 95 %."""
NAME_A_VALUE = "name the value whose share is asked for: value='flu', for example; on the command line --value flu."
"""What to do where there is no mean."""
FEW_PEOPLE = 100
"""Of fewer people the variance of a mean is no less than the design's, as sets that stray far may be lacking."""
FEWEST_PEOPLE = 30
"""Of fewer people than this a mean, a slope or a change over releases is not normal, nor is its variance known well."""


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
    cut: Bools | None = None
    """The groups of which regions leave more open, so that low and high are something else; None: none of them."""
    across: Interval = "none"
    """What low and high are of these."""

    @property
    def intervals(self) -> list[Interval]:
        """What low and high are of each group."""
        cut = np.zeros(self.people.size, dtype=np.bool_) if self.cut is None else self.cut
        return [self.across if one else self.interval for one in cut.tolist()]


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
        """The sensitive values that there are; records where several columns are sensitive."""

    def columns(self) -> dict[str, pl.Series]:
        """For each sensitive column which value of it each of `values` has."""

    def cells(self, cuts: Cuts, where: Conditions) -> Cells:
        """The groups of the rows that satisfy conditions."""

    def people(self, cells: Cells) -> Figures:
        """How many people each group has."""

    def figures(self, question: Question, cells: Cells, target: Target) -> Figures:
        """What each group's answer is."""

    def slopes(self, question: Question, cells: Cells, on: str, where: Conditions, target: Target) -> Figures:
        """For each group the slope on a quasi-identifier of numbers or dates."""

    def combined(self, terms: Sequence[Term], target: Target) -> Combined:
        """A weighed sum of answers, of releases that are all of this kind."""


Columns = Mapping[str, pl.Series]
"""For each sensitive column which value of it every value, or record, has."""


Elsewhere = Callable[[], Sequence[Columns]]
"""The same of the other releases of a series."""


def values_asked(columns: Columns, value: Condition, kind: Kind, elsewhere: Elsewhere = tuple) -> Question:
    """The question for one value, for several together, or for a range of numbers; of several columns for each that is
    named, all of which somebody must have.

    Of a value that only other releases have nobody here has anything: it cannot be misspelt, and counts for 0.
    """
    conditions = _by_column(columns, value, elsewhere)
    wanted = None
    for name, condition in conditions.items():
        _check_any(name, condition)
        _check_not_hidden(columns[name], condition, elsewhere)
        fits = matches(columns[name], condition, lambda one: _labels_of_all(elsewhere(), one))
        _check_no_others(columns[name], condition)
        if not fits.any() and is_number(columns[name].dtype):
            others = [one[name] for one in elsewhere() if is_number(one[name].dtype)]
            if not any(matches(one, condition).any() for one in others):
                raise ParameterError(f"No value of '{name}' is what was asked for.", hint="check the numbers.")
        wanted = fits if wanted is None else wanted & fits
    assert wanted is not None
    label = label_of(*conditions.values()) if len(columns) == 1 else _told(conditions)
    return Question(kind, label, wanted.cast(pl.Float64).to_numpy())


def _check_any(name: str, condition: Condition) -> None:
    if isinstance(condition, list | set | frozenset) and not condition:
        raise ParameterError(f"No value of '{name}' is asked for: the list is empty.")


def _check_not_hidden(column: pl.Series, condition: Condition, elsewhere: Elsewhere) -> None:
    """Refuse labels that no release names where rare values are published as one: misspelt or hidden, none can say."""
    if is_number(column.dtype) or isinstance(condition, Range):
        return
    labels = {*column.cast(pl.String).drop_nulls()}
    lacking = set(labels_of(condition)).difference(labels)
    if OTHERS in labels and lacking.difference(_labels_of_all(elsewhere(), column.name)):
        raise ParameterError(
            f"{count_of(len(lacking), 'label')} asked for in '{column.name}' stand nowhere in it. People who have it "
            f"may be among the rare values, which are published as one, '{OTHERS}'.",
            hint="check the spelling; a value that is published with others cannot be estimated by itself.",
        )


def _check_no_others(column: pl.Series, condition: Condition) -> None:
    """Refuse what may be among the rare values that a release publishes as one."""
    if is_number(column.dtype) or isinstance(condition, Range):
        return
    labels = column.cast(pl.String).to_list()
    lacking = set(labels_of(condition)).difference(labels)
    if lacking and OTHERS in labels:
        raise Infeasible(
            f"{count_of(len(lacking), 'label')} asked for in '{column.name}' stand nowhere in one of the releases, "
            f"whose rare values are published as one, '{OTHERS}': people who have it may be among these.",
            hint="ask the releases that name it, with only(...).",
        )


def _labels_of_all(releases: Sequence[Columns], name: str) -> set[str]:
    return {label for one in releases for label in one[name].cast(pl.String).drop_nulls()}


def _told(conditions: Mapping[str, Condition]) -> str:
    signs = (Range, Excluded)
    return " and ".join(
        f"{name} {label_of(one)}" if isinstance(one, signs) else f"{name} = {label_of(one)}"
        for name, one in conditions.items()
    )


def _by_column(columns: Columns, value: Condition, elsewhere: Elsewhere) -> dict[str, Condition]:
    """Conditions by sensitive column; a value alone is that of the only column that has it."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in columns]
        if unknown or not value:
            raise ParameterError(
                f"There is no sensitive column {listed(unknown)}."
                if unknown
                else "No sensitive column is asked about.",
                hint=f"the sensitive columns are {listed(list(columns))}.",
            )
        return dict(value)
    if len(columns) == 1:
        return {next(iter(columns)): value}
    if isinstance(value, Range):
        raise ParameterError(
            "Several columns are sensitive, and it is not said which of them the range is of.",
            hint=f'value={{"{next(iter(columns))}": ...}}; the sensitive columns are {listed(list(columns))}.',
        )
    labels = labels_of(value)
    having = [name for name, own in columns.items() if {*labels} <= {*own.cast(pl.String).to_list()}]
    having = having or [name for name in columns if {*labels} <= _labels_of_all([columns, *elsewhere()], name)]
    if len(having) != 1:
        raise ParameterError(
            f"Several columns are sensitive, and {'none' if not having else 'more than one'} of them has what is asked "
            "for.",
            hint=f'say which: value={{"{next(iter(columns))}": ...}}; on the command line --value "column = value", '
            "where a value with signs or an 'and' in it stands in quotes of its own.",
        )
    return {having[0]: value}


def every_value(columns: Columns, kind: Kind) -> list[tuple[Question, tuple[str, ...]]]:
    """A question for each value, or combination of values of several columns, and what it has in each of them."""
    texts = pl.DataFrame([own.cast(pl.String).alias(str(at)) for at, own in enumerate(columns.values())])
    numbered = texts.with_row_index("record").group_by(texts.columns, maintain_order=True).agg("record")
    found = []
    for *cells, records in numbered.iter_rows():
        counted = np.zeros(texts.height)
        counted[records] = 1.0
        named = tuple("" if cell is None else cell for cell in cells)
        label = named[0] if len(columns) == 1 else _told(dict(zip(columns, named, strict=True)))
        found.append((Question(kind, label, counted), named))
    return found


def column_of_numbers(columns: Columns, asked: str | None) -> pl.Series:
    """The sensitive column that a mean is taken of."""
    if asked is not None and asked not in columns:
        raise ParameterError(
            f"There is no sensitive column '{asked}'.", hint=f"the sensitive columns are {listed(list(columns))}."
        )
    if asked is None and len(columns) > 1:
        numbers = [name for name, own in columns.items() if is_number(own.dtype)]
        if len(numbers) != 1:
            raise ParameterError(
                "Several columns are sensitive, and it is not said of which the mean is asked for.",
                hint=f"column={numbers[0]!r}, for example; on the command line --column." if numbers else NAME_A_VALUE,
            )
        asked = numbers[0]
    return columns[next(iter(columns)) if asked is None else asked]


def mean_of(values: pl.Series) -> Question:
    """The question for the mean of a column of numbers."""
    numbers = values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    missing = numbers.is_null()
    labels = values.cast(pl.String).filter(missing).drop_nulls().to_list()
    if OTHERS in labels:
        raise Infeasible(
            f"The mean of '{values.name}' cannot be estimated: its rare values are published as one, '{OTHERS}', which "
            "is no number.",
            hint=NAME_A_VALUE,
        )
    if any(labels) or missing.all():
        raise ParameterError(f"'{values.name}' has values that are no numbers: there is no mean.", hint=NAME_A_VALUE)
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
