"""Analyse: what a recipient can learn from public files alone, with errors.

    an = ri.analyse("clinic/public")
    an.share("heart failure", by="sex", where="age >= 60")
    an.contrast("heart failure", between={"sex": ("female", "male")})
    an.trend("heart failure")

Each answer is a frame with the columns that were asked for, `people`, `estimate`, `error` (standard), `low`, `high` and
`interval`, which says what low and high are: ends of a 95 % interval, of one that is wider because it holds however
people are spread over published regions, or bounds that are certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.cores import of_each
from reissue.arrays.types import Floats
from reissue.errors import Infeasible, ParameterError, listed
from reissue.model.hierarchy import Hierarchy
from reissue.model.telling import told
from reissue.tables.frames import Library, to_library
from reissue.tables.recode_sets import DESIGN
from reissue.tables.set_views import FORM
from reissue.utility.analysing.anatomised_asked import AnatomisedAsked
from reissue.utility.analysing.asking import PublicRows
from reissue.utility.analysing.breakdown import By, Cells, Cuts, cuts_of, group_name
from reissue.utility.analysing.condition_texts import read_conditions
from reissue.utility.analysing.conditions import Condition, Conditions, is_number
from reissue.utility.analysing.generalised_asked import GeneralisedAsked
from reissue.utility.analysing.matched_rows import Matched, clusters
from reissue.utility.analysing.public_files import PublicRelease, read_public
from reissue.utility.analysing.questions import (
    Columns,
    Elsewhere,
    Figures,
    Kind,
    Question,
    Target,
    Term,
    View,
    column_of_numbers,
    every_value,
    label_of,
    mean_of,
    values_asked,
)
from reissue.utility.analysing.sets_asked import SetsAsked
from reissue.utility.analysing.trend_times import trend_times
from reissue.utility.analysing.what_it_rests_on import notes_on

Where = Conditions | str | None
TARGETS = ("table", "population")


def analyse(
    source: object, *, hierarchies: Mapping[str, Hierarchy] | None = None, frames: Library | None = None
) -> Analysis:
    """Read public releases to estimate from.

    `source` is the folder `public` of a series, the folder of one release or one that `reissue export` wrote, a
    Release, its tables by name, or a list of these. `hierarchies` gives, for columns generalised along one, the
    hierarchy that was used. Answers come in the library of the tables, from files in polars; `frames` names another.
    """
    return Analysis(read_public(source), hierarchies or {}, frames)


class Analysis:
    """Public releases, ready to be asked."""

    def __init__(
        self, releases: Sequence[PublicRelease], hierarchies: Mapping[str, Hierarchy], frames: Library | None = None
    ) -> None:
        self._releases = list(releases)
        self._hierarchies = hierarchies
        self._frames = frames
        matches: dict[tuple[int, ...], Matched] = {}
        self._views = [_view(release, hierarchies, matches) for release in told(self._releases)]
        for view in self._views:
            others = [one for one in self._views if one is not view]
            view.published = replace(view.published, elsewhere=partial(_labels_in, others))

    @property
    def releases(self) -> tuple[int, ...]:
        """The numbers of the releases."""
        return tuple(release.number for release in self._releases)

    @property
    def sensitive(self) -> str:
        """The sensitive column; of several the names of all, as one."""
        return self._releases[0].sensitive

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The sensitive columns. A question about some of several names them: `{"ward": "surgery"}`."""
        return self._releases[0].sensitive_columns

    @property
    def notes(self) -> list[str]:
        """What the estimates rest on, in plain sentences."""
        return notes_on(self._releases)

    def only(self, *numbers: int) -> Analysis:
        """The same of some releases alone."""
        if not numbers:
            raise ParameterError("No release is named.", hint=self._there)
        chosen = [self._release(number) for number in sorted(set(numbers))]
        return Analysis(chosen, self._hierarchies, self._frames)

    def count(self, value: Condition = None, by: By = None, where: Where = None, *, of: Target = "table") -> Any:
        """How many people satisfy the conditions; with a value, or several, how many of them have it."""
        conditions = _conditions(where)
        if value is None and (
            asked := {one: conditions.pop(one) for one in self.sensitive_columns if one in conditions}
        ):
            value = asked if len(self.sensitive_columns) > 1 else asked[self.sensitive]
        return self._answer(value, "count", cuts_of(by), conditions, of)

    def share(self, value: Condition, by: By = None, where: Where = None, *, of: Target = "table") -> Any:
        """Which share of the people who satisfy the conditions have a value, or one of several."""
        if value is None:
            raise ParameterError("A share is of a value, and none is given.", hint="mean() gives the mean of numbers.")
        return self._answer(value, "share", cuts_of(by), _conditions(where), of)

    def mean(self, by: By = None, where: Where = None, *, column: str | None = None, of: Target = "table") -> Any:
        """The mean of a sensitive column of numbers, of those who have one; `column` names one of several."""
        return self._answer(None, "mean", cuts_of(by), _conditions(where), of, column)

    def table(
        self,
        by: By = None,
        where: Where = None,
        *,
        columns: Sequence[str] | str | None = None,
        shares: bool = False,
        of: Target = "table",
    ) -> Any:
        """A cross-table: for each group and each value how many people have it, or which share.

        Where several columns are sensitive it has a column for each of them, and a row for each combination of their
        values; `columns` names some.
        """
        kind: Kind = "share" if shares else "count"
        cuts, conditions, target = cuts_of(by), _conditions(where), _checked(of)
        several = len(self.sensitive_columns) > 1

        def rows(view: View) -> pl.DataFrame:
            cells, chosen, parts = view.cells(cuts, conditions), _chosen(view, columns), []
            for question, named in every_value(chosen, kind):
                found = self._rows(view, cells, view.figures(question, cells, target), question.label)
                own = [pl.lit(cell).alias(group_name(name)) for name, cell in zip(chosen, named, strict=True)]
                parts.append(found.select(*own, pl.exclude("value")) if several else found)
            return pl.concat(parts)

        return self._frame(of_each(rows, self._views))

    def contrast(
        self,
        value: Condition = None,
        *,
        between: Mapping[str, tuple[Condition, Condition]] | None = None,
        releases: tuple[int, int] | None = None,
        by: By = None,
        where: Where = None,
        column: str | None = None,
        of: Target = "table",
    ) -> Any:
        """The difference of two shares (of means, without a value): the first group minus the second.

        With `releases=(1, 5)` it is release 5 minus release 1, and people who are in both are taken into account.
        `column` says of which of several sensitive columns the mean is.
        """
        if (between is None) == (releases is None):
            raise ParameterError("A contrast is between two groups or between two releases: give one of the two.")
        conditions, cuts, target = _conditions(where), cuts_of(by), _checked(of)
        if releases is not None:
            if not isinstance(releases, tuple | list) or len(releases) != 2 or releases[0] == releases[1]:
                raise ParameterError("The 'releases' of a contrast must be two numbers.", hint="releases=(1, 5)")
            first, second = (self._view_of(number) for number in releases)
            _check_one_form([first, second])
            label = f"release {releases[1]} - release {releases[0]}"
            sides = [(second, conditions), (first, conditions)]
            return self._frame([self._difference(value, sides, cuts, label, None, target, column)])
        assert between is not None
        _check_between(between, conditions)
        label = f"{_named(between, 0)} - {_named(between, 1)}"
        inside = [{**conditions, **{name: pair[at] for name, pair in between.items()}} for at in (0, 1)]

        def difference(view: View) -> pl.DataFrame:
            sides = [(view, one) for one in inside]
            return self._difference(value, sides, cuts, label, view.number, target, column)

        return self._frame(of_each(difference, self._views))

    def slope(
        self,
        value: Condition = None,
        *,
        on: str,
        by: By = None,
        where: Where = None,
        column: str | None = None,
        of: Target = "table",
    ) -> Any:
        """By how much a share (the mean, without a value) changes with a published column of numbers: its slope.

        By least squares, for one more of `on`; of dates and times for one more day. People without a number are left
        out. `column` says of which of several sensitive columns the mean is.
        """
        cuts, conditions, target = cuts_of(by), _conditions(where), _checked(of)

        def rows(view: View) -> pl.DataFrame:
            cells, question = view.cells(cuts, conditions), self._question(view, value, "share", column)
            return self._rows(view, cells, view.slopes(question, cells, on, conditions, target), question.label)

        return self._frame(of_each(rows, self._views))

    def trend(
        self,
        value: Condition = None,
        by: By = None,
        where: Where = None,
        *,
        column: str | None = None,
        of: Target = "table",
    ) -> Any:
        """The share (the mean, without a value) in each release, and its slope: the change from one to the next.

        The slope is that of the line that fits best. It stands in rows of their own, without a release. `per` says what
        it is per: where all releases have a period it is time, so that one that was left out counts (`month` for
        months, `day` for days and for periods of different lengths); otherwise `release`. `column` says of which of
        several sensitive columns the mean is.
        """
        if len(self._views) < 2:
            raise ParameterError("A trend needs several releases.", hint="give the folder 'public' of a series.")
        _check_one_form(self._views)
        cuts, conditions, target = cuts_of(by), _conditions(where), _checked(of)

        def asked(view: View) -> tuple[Cells, Question, Figures]:
            cells, question = view.cells(cuts, conditions), self._question(view, value, "share", column)
            return cells, question, view.figures(question, cells, target)

        parts, terms = [], dict[tuple[Any, ...], list[Term]]()
        label = ""
        times = trend_times([view.release for view in self._views])
        for view, (cells, question, figures) in zip(self._views, of_each(asked, self._views), strict=True):
            label = question.label
            parts.append(self._rows(view, cells, figures, label).with_columns(term=pl.lit(question.kind)))
            for at, group in enumerate(_groups(cells)):
                terms.setdefault(group, []).append(Term(view, question, cells, at, 1.0))
        slopes = []
        for group, every in terms.items():
            if len(every) < 2:
                continue
            weighed = _sloping(every, times.at)
            found = weighed[0].view.combined(weighed, target)
            people = sum(float(term.cells.people[term.group]) for term in every)
            slopes.append(_row(cuts, group, {"value": label, "release": None, "people": people}, found))
        if slopes:
            parts.append(pl.concat(slopes).with_columns(term=pl.lit("slope")))
        per = pl.when(pl.col("term") == "slope").then(pl.lit(times.unit)).alias("per")
        head = [*map(group_name, cuts), "value", "term"]
        return self._frame([part.select(*head, per, pl.exclude(head)) for part in parts], several=True)

    def scores(self, values: Sequence[Condition] | None = None, *, mean: bool = False) -> Any:
        """The published columns, the release, and for each value a column of unbiased scores, for any regression.

        A score is 1 on average for whoever has the value and 0 for whoever has not. Use it as the outcome, never as a
        regressor. `mean` adds the score of the sensitive number itself, under the name of its column. With several
        releases `cluster` numbers the people, as far as rows show them: errors are to be clustered by it. Where several
        columns are sensitive a value is named by column, and without `values` every column has a score for each value.
        """
        values = [values] if isinstance(values, str) else values
        if values is not None and not (isinstance(values, Sequence) and (values or mean)):
            raise ParameterError(
                "The 'values' of scores must be a list of values; without it there are scores of all.",
                hint='values=["heart failure"]',
            )
        views = [view for view in self._views if isinstance(view, SetsAsked)]
        if len(views) < len(self._views):
            raise Infeasible(
                "Groups have no unbiased scores: whose value is whose is not published, and no draw is.",
                hint="scores are for releases of the method Alternatives; use share, table or contrast.",
            )
        parts = of_each(lambda view: _scores_of(view, values, mean, partial(self._columns_but, view)), views)
        if len(views) > 1:
            number = clusters(of_each(lambda view: view.words, views))
            parts = [part.with_columns(cluster=pl.Series(own)) for part, own in zip(parts, number, strict=True)]
        return to_library(pl.concat(parts, how="diagonal_relaxed"), self._library)

    @property
    def _library(self) -> Library:
        found = [one.library for one in self._releases if one.library is not None]
        return self._frames or (found[0] if found else "polars")

    @property
    def _there(self) -> str:
        several = len(self.releases) > 1
        return f"there {'are releases' if several else 'is release'} {', '.join(map(str, self.releases))}."

    def _release(self, number: int) -> PublicRelease:
        for release in self._releases:
            if release.number == number:
                return release
        raise ParameterError(f"There is no release {number}.", hint=self._there)

    def _view_of(self, number: int) -> View:
        return self._views[self._releases.index(self._release(number))]

    def _answer(
        self, value: Condition, kind: Kind, cuts: Cuts, where: Conditions, of: Target, column: str | None = None
    ) -> Any:
        target = _checked(of)

        def rows(view: View) -> pl.DataFrame:
            cells = view.cells(cuts, where)
            if kind == "count" and value is None:
                return self._rows(view, cells, view.people(cells), None)
            question = self._question(view, value, kind, column)
            return self._rows(view, cells, view.figures(question, cells, target), question.label)

        return self._frame(of_each(rows, self._views))

    def _question(self, view: View, value: Condition, kind: Kind, column: str | None = None) -> Question:
        """What is asked of a release; without a value the mean, of one of several columns where it is said."""
        columns = view.columns()
        if column is not None and not isinstance(column, str):
            raise ParameterError("The 'column' of a question must be the name of one sensitive column.")
        if value is None:
            return mean_of(column_of_numbers(columns, column))
        if column is not None and not isinstance(value, Mapping):
            value = {column: value}
        return values_asked(columns, value, kind, partial(self._columns_but, view))

    def _columns_but(self, view: View) -> list[Columns]:
        """The values of the sensitive columns in all other releases."""
        return [one.columns() for one in self._views if one is not view]

    def _rows(self, view: View, cells: Cells, figures: Figures, label: str | None) -> pl.DataFrame:
        """The answer of one release."""
        own = pl.DataFrame(
            {
                **({} if label is None else {"value": [label] * cells.count}),
                "release": pl.Series([view.number] * cells.count, dtype=pl.Int64),
                "people": figures.people,
                "estimate": figures.estimate,
                "error": figures.error,
                "low": figures.low,
                "high": figures.high,
                "interval": figures.intervals,
            }
        )
        return pl.concat([cells.labels, own], how="horizontal") if cells.labels.width else own

    def _difference(
        self,
        value: Condition,
        sides: Sequence[tuple[View, Conditions]],
        cuts: Cuts,
        label: str,
        number: int | None,
        target: Target,
        column: str | None,
    ) -> pl.DataFrame:
        """One side minus the other, in each group that both have."""
        (view, inside), (other, without) = sides
        cells, against = view.cells(cuts, inside), other.cells(cuts, without)
        question, same = (self._question(one, value, "share", column) for one in (view, other))
        place = {group: at for at, group in enumerate(_groups(against))}
        rows = []
        for at, group in enumerate(_groups(cells)):
            if group not in place:
                continue
            terms = [Term(view, question, cells, at, 1.0), Term(other, same, against, place[group], -1.0)]
            people = float(cells.people[at] + against.people[place[group]])
            head = {"contrast": label, "value": question.label, "release": number, "people": people}
            rows.append(_row(cuts, group, head, view.combined(terms, target)))
        if not rows:
            raise ParameterError("There is nobody in one of the two groups.", hint="check the conditions.")
        return pl.concat(rows)

    def _frame(self, parts: Sequence[pl.DataFrame], *, several: bool = False) -> Any:
        """The answers of all releases together, in the caller's library."""
        frame = pl.concat(parts, how="vertical_relaxed")
        if not several and (len(self._views) == 1 or frame["release"].null_count() == frame.height):
            frame = frame.drop("release")
        frame = frame.with_columns(pl.col(name).fill_nan(None) for name in ("estimate", "error", "low", "high"))
        nothing = pl.col("low").is_null() & pl.col("high").is_null()
        frame = frame.with_columns(interval=pl.when(nothing).then(pl.lit("none")).otherwise("interval"))
        return to_library(frame, self._library)

    def __repr__(self) -> str:
        forms = " and ".join(sorted({release.form for release in self._releases}))
        return f"Analysis({len(self._releases)} {forms}, sensitive '{self.sensitive}')"


def _view(
    release: PublicRelease, hierarchies: Mapping[str, Hierarchy], matches: dict[tuple[int, ...], Matched]
) -> SetsAsked | GeneralisedAsked | AnatomisedAsked:
    if release.form == FORM:
        return SetsAsked(release, hierarchies, matches)
    return (GeneralisedAsked if release.form == "generalised" else AnatomisedAsked)(release, hierarchies)


def _labels_in(views: Sequence[PublicRows], name: str) -> set[str]:
    """The labels that a quasi-identifier has in some releases."""
    return {label for view in views for label in view.labels(name)}


def _conditions(where: Where) -> dict[str, Condition]:
    if where is None:
        return {}
    if isinstance(where, str):
        return read_conditions(where)
    if not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where):
        raise ParameterError(
            "The 'where' of a question must be conditions by column, or a text of them.",
            hint='where={"age": (20, 39), "sex": "female"}, or where="age >= 60 and sex = female"',
        )
    return dict(where)


def _checked(of: str) -> Target:
    if of not in TARGETS:
        raise ParameterError(f"The 'of' parameter must be one of {listed(TARGETS)}. Got '{of}' instead.")
    return of  # type: ignore[return-value]


def _chosen(view: View, names: Sequence[str] | str | None) -> Columns:
    """Some of the sensitive columns, or all."""
    columns = view.columns()
    if names is None:
        return columns
    if not isinstance(names, Sequence) or not names:
        raise ParameterError(
            "The 'columns' of a table must be names of sensitive columns.", hint=f"there are {listed(list(columns))}."
        )
    chosen = [names] if isinstance(names, str) else list(names)
    if unknown := [name for name in chosen if name not in columns]:
        raise ParameterError(
            f"There is no sensitive column {listed(unknown)}.", hint=f"there are {listed(list(columns))}."
        )
    return {name: columns[name] for name in chosen}


def _groups(cells: Cells) -> list[tuple[Any, ...]]:
    return cells.labels.rows() if cells.labels.width else [()]


def _row(cuts: Cuts, group: tuple[Any, ...], head: Mapping[str, Any], found: Any) -> pl.DataFrame:
    groups = {group_name(name): label for name, label in zip(cuts, group, strict=True)}
    figures = {name: getattr(found, name) for name in ("estimate", "error", "low", "high", "interval")}
    row = {**groups, **head, **figures}
    return pl.DataFrame(
        {name: [cell] for name, cell in row.items()}, schema_overrides={"release": pl.Int64, "people": pl.Float64}
    )


def _sloping(terms: Sequence[Term], times: Mapping[int, float]) -> list[Term]:
    """The terms of the slope of the line of least squares through the answers, by when their releases are."""
    at = np.array([times[term.view.number] for term in terms], dtype=np.float64)
    factor: Floats = (at - at.mean()) / ((at - at.mean()) ** 2).sum()
    return [
        Term(term.view, term.question, term.cells, term.group, float(one))
        for term, one in zip(terms, factor, strict=True)
    ]


def _check_one_form(views: Sequence[View]) -> None:
    """Estimates of different kinds have errors of different kinds."""
    if len({type(view) for view in views}) > 1:
        raise Infeasible(
            "The releases are published in different forms: their errors mean different things, and do not add up.",
            hint="ask them one by one, with only(...).",
        )


def _check_between(between: Mapping[str, Any], where: Conditions) -> None:
    named = isinstance(between, Mapping) and between
    if not named or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in between.values()):
        raise ParameterError(
            "The 'between' of a contrast must name two groups.", hint='between={"sex": ("female", "male")}'
        )
    if both := [name for name in between if name in where]:
        raise ParameterError(f"{listed(both)} stands in `between` and in `where`.", hint="leave it out of `where`.")


def _named(between: Mapping[str, tuple[Condition, Condition]], at: int) -> str:
    return ", ".join(label_of(pair[at]) for pair in between.values())


def _scores_of(view: SetsAsked, values: Sequence[Condition] | None, mean: bool, elsewhere: Elsewhere) -> pl.DataFrame:
    """The published columns of a release but its sets, with scores."""
    own = view.columns()
    questions = (
        [one for name in own for one, _ in every_value({name: own[name]}, "share")]
        if values is None
        else [values_asked(own, value, "share", elsewhere) for value in values]
    )
    if values is None and len(own) > 1:
        named = [name for name in own for _ in every_value({name: own[name]}, "share")]
        questions = [replace(one, label=f"{name} = {one.label}") for one, name in zip(questions, named, strict=True)]
    asked = {question.label: question.counted for question in questions}
    if mean:
        numbers = [name for name in own if len(own) == 1 or is_number(own[name].dtype)]
        asked |= {name: mean_of(own[name]).counted for name in numbers}
    columns = [name for name in view.release.columns("table") if name not in (DESIGN, *own)]
    taken = [name for name in asked if name in (*columns, "release", "cluster")]
    found = view.scores(list(asked.values()))
    names = [f"score of {name}" if name in taken else name for name in asked]
    own_names = {name: f"by {name}" for name in columns if name in ("release", "cluster")}
    return (
        view.release.table("table", columns)
        .rename(own_names)
        .with_columns(
            pl.lit(view.number, dtype=pl.Int64).alias("release"),
            *(pl.Series(name, found[:, at]) for at, name in enumerate(names)),
        )
    )
