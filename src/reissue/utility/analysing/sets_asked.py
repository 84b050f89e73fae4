"""Releases of sets, asked by scores: right on average whoever has which value, with errors that follow from the design.

Rows of regions count by the share w of their region; that they are there with probability w adds w (1 - w) f^2 to the
variance of a sum. Nothing says that they are: low and high of such groups hold wherever people are in their regions
(`across_regions.py`). `scored_rows.py` has the rest of it, `score_intervals.py` the intervals of shares and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from reissue.arrays.cores import of_each
from reissue.arrays.types import Floats, Ints, Words
from reissue.errors import Infeasible, ParameterError, listed
from reissue.model.hierarchy import Hierarchy
from reissue.model.sets import SetDesigns, SetLists
from reissue.tables.recode_sets import COMBINATIONS, DESIGN, ROOMS
from reissue.tables.set_texts import with_lists
from reissue.tables.set_views import read_designs, read_lists, slots_of
from reissue.utility.analysing.across_regions import Counted, Ends, mean_bounds, share_bounds
from reissue.utility.analysing.asking import PublicRows
from reissue.utility.analysing.breakdown import Cells, in_both
from reissue.utility.analysing.matched_rows import Matched, row_words
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.analysing.questions import FEW_PEOPLE, FEWEST_PEOPLE, Combined, Figures, Question, Target, Term, Z
from reissue.utility.analysing.score_intervals import Squares, Weighed, share_interval, sum_distances
from reissue.utility.analysing.scored_rows import RowFactors, Scored
from reissue.utility.analysing.slopes import Outcomes
from reissue.utility.row_scores import ListScores, why_not_by_design

SAMPLE = 10_000
"""So many rows say how squared scores depend on who has the value."""


class SetsAsked(PublicRows):
    """One release of sets."""

    def __init__(
        self, release: PublicRelease, hierarchies: Mapping[str, Hierarchy], matches: dict[tuple[int, ...], Matched]
    ) -> None:
        """`matches` is shared by the releases of a series: which rows of some of them are the same people."""
        super().__init__(release, hierarchies)
        self._matches = matches
        # Not cached_property: before Python 3.12 that lets one release at a time do what takes long.
        self._sets: SetLists | None = None
        self._scoring: ListScores | None = None
        self._words: Words | None = None
        self._last: tuple[bytes, Scored, Squares] | None = None
        self._asked: list[tuple[Cells, Question, Target, Figures]] = []

    @cached_property
    def designs(self) -> SetDesigns:
        """How its sets were drawn."""
        wanted = (DESIGN, COMBINATIONS, ROOMS)
        frames = {name: self.release.table(name) for name in wanted if self.release.has(name)}
        if "combinations" in frames:
            joint = frames["combinations"]
            frames["combinations"] = joint.with_columns(with_lists(joint["combination"], self._dtype(self.sensitive)))
        record = {**self.release.design, "slots": self._slots()}
        if self._several:
            record["columns"] = self.release.sensitive_columns
        return read_designs(frames, record, self.sensitive)

    @property
    def _several(self) -> bool:
        return len(self.release.sensitive_columns) > 1

    def _dtype(self, column: str) -> pl.DataType:
        """The type of values of a sensitive column: CSV files have lists as text."""
        dtype = self.release.table(DESIGN)[column].dtype
        return pl.String() if isinstance(dtype, pl.Enum | pl.Categorical) else dtype

    def _slots(self) -> int:
        """How many slots a set has: those of the values of any one, where no record says it."""
        if "slots" in self.release.design:
            return int(self.release.design["slots"])
        table, design = self._lists, self.release.table(DESIGN)
        beside = [
            name for name in design.columns if name in self.release.columns("table") and name not in self._columns
        ]
        if beside and "slots" not in design.columns:
            raise ParameterError(
                f"These are sets of records: beside '{self.sensitive}' the design has {listed(beside)}. Which columns "
                f"are sensitive is said by the table '{ROOMS}', which is missing.",
                hint="give all tables of the release, or analyse its folder or its export.",
            )
        if self._several:
            return len(table[self.release.sensitive_columns[0]][0])
        if (table[self.sensitive].list.n_unique() < table[self.sensitive].list.len()).any():
            raise Infeasible(
                "These sets are lives: values stand in them more than once. Tables alone do not say whether lives have "
                "moved on, and so not how probable sets are.",
                hint="analyse the folder of the release, or its export: release.json says it.",
            )
        if DESIGN in table.columns:
            design = design.filter(pl.col(DESIGN) == table[DESIGN][0])
        slots = dict(zip(design[self.sensitive].to_list(), design["slots"].to_list(), strict=True))
        return sum(slots[value] for value in table[self.sensitive][0].to_list())

    @property
    def _lists(self) -> pl.DataFrame:
        return self._with_lists(self.release.table("table", self._columns))

    @property
    def _columns(self) -> list[str]:
        """The columns of the table that say what the sets are."""
        return [*([DESIGN] if DESIGN in self.release.columns("table") else []), *self.release.sensitive_columns]

    def _with_lists(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(with_lists(table[name], self._dtype(name)) for name in self.release.sensitive_columns)

    @property
    def sets(self) -> SetLists:
        """The sets of all rows."""
        if self._sets is None:
            self._sets = self._read_sets()
        return self._sets

    def _read_sets(self) -> SetLists:
        if why := why_not_by_design(self.number, self.release.design):
            raise Infeasible(
                f"Counts of values cannot be estimated from release {self.number} alone: {why}, so that the design "
                "does not say how probable they are.",
                hint="take the first release, whose sets are all drawn by the design; or count quasi-identifiers "
                "alone.",
            )
        designs = self.designs

        def read(part: Callable[[], pl.DataFrame]) -> SetLists:
            return read_lists(self._with_lists(part()), designs, self.sensitive)

        return SetLists.joined(of_each(read, self.release.parts("table", self._columns)))

    @property
    def values(self) -> pl.Series:
        """The values that sets are made of."""
        return pl.Series(self.sensitive, list(self.designs.labels))

    @property
    def _scores(self) -> ListScores:
        if self._scoring is None:
            self._scoring = ListScores(self.sets, self.designs)
        return self._scoring

    def scores(self, questions: Sequence[Floats]) -> Floats:
        """For each row its score for each question."""
        return self._scores.all_of(self._scores.weights(np.stack(questions, axis=1)))

    def scored(self, question: Question) -> Scored:
        """The scores of all rows for a question."""
        return self._of(question)[0]

    def outcomes(self, question: Question) -> Outcomes:
        """For each row its score for a question, and that of its square."""
        scored = self.scored(question)
        squares = self.squares_of_rows(question)
        return Outcomes(
            scored.first, scored.square, True, question.is_indicator, squares, self._scores.unsure, self._scores.off
        )

    def _of(self, question: Question) -> tuple[Scored, Squares]:
        name = question.counted.tobytes() + (b"" if question.known is None else question.known.tobytes())
        if self._last is not None and self._last[0] == name:
            return self._last[1:]
        if question.is_indicator:
            first = self.scores([question.counted])[:, 0]
            scored = Scored(first, first, None)
            squares = self._squares(question, first)
        else:
            known = [] if question.known is None else [question.known]
            found = self.scores([question.counted, question.counted**2, *known])
            scored = Scored(found[:, 0], found[:, 1], found[:, 2] if known else None)
            least = self._variances(question, scored)
            squares = Squares(least, least)
        self._last = (name, scored, squares)
        return scored, squares

    def _squares(self, question: Question, score: Floats) -> Squares:
        """For each design E[y^2] of those who have the value and of those who have not.

        P(S | u) is proportional to P(S) slots(u) for the u of a set, so that the mean of y^2 over sets, weighed by the
        slots of what is asked for, is E[y^2 | has it]; over all sets E[y^2] = z' P z, exactly.
        """
        step = max(1, score.size // SAMPLE)
        rows = np.arange(0, score.size, step)
        design = self.sets.design[rows]
        holding = self._slots_asked(question, rows)
        count = len(self.designs.designs)
        weighed = np.bincount(design, holding * score[rows] ** 2, minlength=count)
        total = np.bincount(design, holding, minlength=count)
        has = np.divide(weighed, total, out=np.ones(count), where=total > 0)
        return Squares(has, np.maximum(self._scores.others_square(question.counted, has), 0.0))

    def _variances(self, question: Question, scored: Scored) -> Floats:
        """For each design the variance that the draw of sets gives a number, on average over the reference."""
        if question.known is None:
            return self._scores.variances(question.counted)
        middle = float(scored.first.sum() / np.sum(scored.over))
        return self._scores.variances(question.counted - middle * question.known)

    def _slots_asked(self, question: Question, rows: Ints) -> Floats:
        """How many slots of the sets of some rows what is asked for takes."""
        lists = self.sets
        lengths = lists.starts[rows + 1] - lists.starts[rows]
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        codes = lists.codes[np.repeat(lists.starts[rows], lengths) + within]
        whole = self.designs.linked or self.designs.columns
        slots = 1 if whole else slots_of(self.designs)[np.repeat(lists.design[rows], lengths), codes]
        return np.add.reduceat(question.counted[codes] * slots, ends - lengths)

    def figures(self, question: Question, cells: Cells, target: Target) -> Figures:
        """Estimates of each group by scores, with 95 % intervals; wider ones of groups that cut through regions."""
        made = self._if_even(question, cells, target)
        if not cells.cut.any():
            return made
        bounds = self._mean_bounds if question.kind == "mean" else self._bounds
        low, high = bounds(question, cells, target)
        # What holds anyhow holds also where people are spread evenly: the wider of the two at each end.
        low = np.where(cells.cut, np.fmin(low, made.low), made.low)
        high = np.where(cells.cut, np.fmax(high, made.high), made.high)
        return replace(made, low=low, high=high, cut=cells.cut, across="at least 95 %")

    def _if_even(self, question: Question, cells: Cells, target: Target) -> Figures:
        """Estimates with intervals that hold where people are spread evenly over their regions."""
        if question.is_indicator:
            made = self._shares(question, cells, target)
            low, high = np.clip(made.low, 0.0, 1.0), np.clip(made.high, 0.0, 1.0)
            if question.kind == "share":
                return Figures(made.people, made.estimate, made.error, low, high, made.interval)
            # Of nobody there is nothing to count.
            total, error, low, high = (
                np.where(made.people > 0, part * made.people, 0.0) for part in (made.estimate, made.error, low, high)
            )
            return Figures(made.people, total, error, low, high, made.interval)
        every, squares = self._of(question)
        scored, w = every.at(cells.rows), cells.weight
        known = cells.people if scored.known is None else cells.total(w * scored.known)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = cells.total(w * scored.first) / known
            at = ratio[cells.group]
            own = scored.own(at)
            drawn = cells.total(w**2 * (scored.residual(at) ** 2 - own))
            least = cells.total(w**2 * squares.others[self.sets.design[cells.rows]])
            drawn = np.where(cells.people < FEW_PEOPLE, np.fmax(drawn, least), drawn)
            if target == "population":
                drawn = drawn + cells.total(w**2 * own)
            variance = (drawn + cells.total(w * (1 - w) * own)) * (1 + self._scores.unsure)
            error = np.sqrt(np.maximum(variance, 0.0) / known**2 + (self._scores.off * ratio) ** 2)
        width = np.where(cells.people < FEWEST_PEOPLE, np.nan, Z * error)
        return Figures(cells.people, ratio, error, ratio - width, ratio + width, "95 %")

    def _counted(self, question: Question, cells: Cells, target: Target) -> Counted:
        """How many people of each group have what is asked for, at least and at most; all rows are in it as a whole."""
        found = self._if_even(replace(question, kind="count"), cells, target)
        return Counted(found.people, found.low, found.high)

    def _bounds(self, question: Question, cells: Cells, target: Target) -> Ends:
        """The ends of intervals of counts and shares, wherever people are in their regions."""
        sure = self._counted(question, cells.only(cells.weight == 1), target)
        if question.kind == "count":
            return sure.low, self._counted(question, cells.only(cells.weight > 0), target).high
        return share_bounds(sure, self._counted(question, cells.only(cells.weight < 1), target))

    def _mean_bounds(self, question: Question, cells: Cells, target: Target) -> Ends:
        """The same of means; whoever may be in a group may have any of the numbers that there are."""
        sure, others = cells.only(cells.weight == 1), cells.only(cells.weight < 1)
        mean, known, numbers = self._if_even(question, sure, target), sure.people, question.counted
        if question.known is not None:
            having = Question("count", question.label, question.known)
            known, numbers = self._counted(having, sure, target).low, numbers[question.known > 0]
        return mean_bounds(known, (mean.low, mean.high), others.people, (float(numbers.min()), float(numbers.max())))

    def _shares(self, question: Question, cells: Cells, target: Target) -> Figures:
        """The shares of each group; the ends of intervals may be below 0 and above 1."""
        every, squares = self._of(question)
        scored, w, people = every.at(cells.rows), cells.weight, cells.people
        with np.errstate(divide="ignore", invalid="ignore"):
            share = cells.total(w * scored.first) / people
            weighed, spreading = people, np.zeros(cells.count)
            if not cells.whole:
                own = scored.own(share[cells.group] if question.kind == "share" else 0.0)
                weighed = cells.total(w**2)
                spreading = np.maximum(cells.total(w * (1 - w) * own), 0.0) / people**2
            independent = people**2 / weighed
            second = cells.total((w * scored.first) ** 2) / weighed + independent * spreading
            if squares.has.size > 1:
                own_design = squares.at(self.sets.design[cells.rows])
                squares = Squares(*(cells.total(w**2 * one) / weighed for one in (own_design.has, own_design.others)))
            error, low, high = share_interval(share, second, squares, independent / (1 + self._scores.unsure), target)
            if off := self._scores.off:
                aside = (off * share) ** 2
                error, low, high = (
                    np.sqrt(error**2 + aside),
                    share - np.sqrt((share - low) ** 2 + aside),
                    share + np.sqrt((high - share) ** 2 + aside),
                )
        return Figures(people, share, error, low, high, "95 %")

    def combined(self, terms: Sequence[Term], target: Target) -> Combined:
        """A weighed sum, also over releases: people who are in several count once."""
        views: dict[int, SetsAsked] = {}
        factors: dict[int, RowFactors] = {}
        placed: list[_Placed] = []
        estimate = spreading = 0.0
        for term in terms:
            view = term.view
            assert isinstance(view, SetsAsked)
            views[view.number] = view
            inside = term.cells.group == term.group
            rows, w = term.cells.rows[inside], term.cells.weight[inside]
            scored = view.scored(term.question).at(rows)
            # Added up by NumPy itself: products of vectors would wake threads that mostly wait.
            total, known = float((w * scored.first).sum()), float((w * scored.over).sum())
            ratio = total / known if known else float("nan")
            counting = term.question.kind == "count"
            factor = term.factor if counting else term.factor / known if known else float("nan")
            estimate += factor * total
            factors.setdefault(view.number, RowFactors.none(view.release.height)).add(rows, factor * w, ratio)
            spreading += factor**2 * float((w * (1 - w) * scored.own(0.0 if counting else ratio)).sum())
            if not term.cells.whole:
                placed.append(_Placed(view, term.question, rows, w, factor, 0.0 if counting else ratio))
        if np.isnan(estimate):
            return Combined(estimate, estimate, estimate, estimate, "none")  # of nobody
        questions = {term.view.number: term.question for term in terms}
        spreading += sum(2 * one.with_other(other) for one, other in combinations(placed, 2) if one.view is other.view)
        scores = [view.scored(questions[number]) for number, view in views.items()]
        parts = [factors[number] for number in views]
        squares = [view.squares_of_rows(questions[number]) for number, view in views.items()]
        hidden = 0.0
        if len(views) == 1:
            variance = float(scores[0].products(parts[0], parts[0], target).sum())
            weighed = Weighed(parts[0].factor, scores[0].first, squares[0])
        else:
            matched = self._matched(views)
            variance, hidden = matched.variance(scores, parts, target)
            weighed = matched.by_person(scores, squares, parts)
        if not terms[0].question.is_indicator and min(term.cells.people[term.group] for term in terms) < FEW_PEOPLE:
            variance = max(variance, float((weighed.factor**2 * weighed.squares.others).sum()))
        unsure, off = self._scores.unsure, self._scores.off
        error = float(np.sqrt(max(variance + spreading, 0.0) * (1 + unsure) + (off * estimate) ** 2))
        few = min(min(term.cells.people[term.group] for term in terms), weighed.alike) < FEWEST_PEOPLE
        if any(term.cells.cut[term.group] for term in terms) or (few and not terms[0].question.is_indicator):
            return Combined(estimate, error, *_added(terms, target), "at least 95 %")
        if not terms[0].question.is_indicator:
            return Combined(estimate, error, estimate - Z * error, estimate + Z * error, "95 %")
        apart = sum_distances(replace(weighed, unsure=unsure, off=off), target)
        down, up = (float(np.sqrt(one[0] + Z**2 * hidden)) for one in apart)
        # No share is below 0 or above 1, and no difference of shares beyond what that allows.
        whole = [
            term.factor * (1.0 if term.question.kind == "share" else float(term.cells.people[term.group]))
            for term in terms
        ]
        least, most = (sum(part(one, 0.0) for one in whole) for part in (min, max))
        middle = min(max(estimate, least), most)
        return Combined(estimate, error, max(middle - down, least), min(middle + up, most), "95 %")

    def squares_of_rows(self, question: Question) -> Squares:
        """For each row E[y^2] of those who have the value and of those who have not, by its design; of a mean what the
        draw adds."""
        return self._of(question)[1].at(self.sets.design)

    def _of_term(self, term: Term, target: Target) -> Figures:
        """The figures of all groups of a term, which is asked for group after group."""
        for cells, question, wanted, made in self._asked:
            if cells is term.cells and question is term.question and wanted == target:
                return made
        found = self.figures(term.question, term.cells, target)
        self._asked = [*self._asked[-1:], (term.cells, term.question, target, found)]
        return found

    def ends_of(self, term: Term, target: Target) -> tuple[float, float]:
        """The ends of the interval of a term, by itself."""
        made = self._of_term(term, target)
        return float(made.low[term.group]), float(made.high[term.group])

    def _matched(self, views: Mapping[int, SetsAsked]) -> Matched:
        numbers = tuple(views)
        if numbers not in self._matches:
            self._matches[numbers] = Matched(of_each(lambda view: view.words, list(views.values())))
        return self._matches[numbers]

    @property
    def words(self) -> Words:
        """For each row a word that is the same for rows that may be the same person's."""
        if self._words is None:
            own = (DESIGN, *self.release.sensitive_columns)
            others = [name for name in self.release.columns("table") if name not in own]
            self._words = row_words(self.release.table("table", others), self.sets, self.designs)
        return self._words


def _added(terms: Sequence[Term], target: Target) -> tuple[float, float]:
    """The ends of a weighed sum from those of its terms, whatever the terms have to do with one another."""
    low = high = 0.0
    for term in terms:
        assert isinstance(term.view, SetsAsked)
        ends = [term.factor * end for end in term.view.ends_of(term, target)]
        low, high = low + min(ends), high + max(ends)
    return low, high


@dataclass(frozen=True, repr=False)
class _Placed:
    """Rows of regions that are in a group in part."""

    view: SetsAsked
    question: Question
    rows: Ints
    weight: Floats
    factor: float
    ratio: float

    def with_other(self, other: _Placed) -> float:
        """The covariance that comes of it that whoever is in the one group is not in the other."""
        both, at, there = np.intersect1d(self.rows, other.rows, assume_unique=True, return_indices=True)
        scored = self.view.scored(self.question).at(both)
        own = scored.square - (self.ratio + other.ratio) * scored.first + self.ratio * other.ratio * scored.over
        return self.factor * other.factor * float((in_both(self.weight[at], other.weight[there]) * own).sum())
