"""Worlds: how likely each value is for each person when every release is taken together (random worlds).

Who attacks: someone who knows who is in which group of every release (Published at its worst) and, if it is said,
the values of some people, and which values counterfeits have or cannot have. A counterfeit of which nothing is said is
a member like others, whose value is as open as theirs. What he does: he considers all assignments of values to members
that agree with every group of every release, each equally likely. What he learns is the probability of each value for
each person; it is exact where it can be counted or follows from symmetry, a proven bound where it follows from flows in
the groups, and otherwise an estimate with its standard error (`reasoning.worlds.posteriors` says how). Deciding whether
somebody can have a value is NP-hard in general, so there is a time limit and an honest `undecided`.

Values are taken to stay, unless `Knowledge.change` says how they may change: then worlds are courses of values, and
what is found is about somebody in a release (`worlds_changing`).

What it does not cover: somebody who knows how the method chose the groups (that is `Mechanism`), and prior beliefs
other than that all worlds are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, overload

import numpy as np
import polars as pl

from reissue.arrays.budget import budgeted
from reissue.arrays.runs import entries_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.base import (
    SUPPOSED,
    Attack,
    Finding,
    Findings,
    Judgement,
    Kind,
    Limits,
    OfSets,
    need_whole,
    together,
)
from reissue.attacks.figures import KINDS, Figures, called, limit_told
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import shown_values, tied_to, tied_together
from reissue.attacks.worlds.worlds_alone import WorldsAlone, alone
from reissue.attacks.worlds.worlds_changing import ChangingFindings, entry_figures, need_courses
from reissue.attacks.worlds.worlds_columns import IF_THERE, ColumnWorlds
from reissue.attacks.worlds.worlds_diversity import (
    PossibleValues,
    few_values,
    judged_by_values,
    not_promised,
)
from reissue.attacks.worlds.worlds_witness import Explainer
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.model.value_change import ValueChange
from reissue.reasoning.history.trajectories import need_one_place_each
from reissue.reasoning.worlds.candidates import candidates
from reissue.reasoning.worlds.changing_worlds import changing_worlds, least_changes
from reissue.reasoning.worlds.courses import Courses
from reissue.reasoning.worlds.posteriors import EXACT, SAMPLED, Effort, Posteriors, posteriors
from reissue.reasoning.worlds.unsure import unsure_posteriors


@dataclass(frozen=True)
class Worlds(Attack):
    """All assignments of values to people that agree with everything published."""

    name: ClassVar[str] = "Worlds"
    words: ClassVar[str] = (
        "All ways to give people values that agree with every release; how likely each value is among them."
    )
    judges: ClassVar[tuple[str, ...]] = ("probability", "history_diversity", "columns")
    proves: ClassVar[tuple[str, ...]] = ("probability", "history_diversity", "columns")
    tells: ClassVar[tuple[str, ...]] = ("diversity",)
    rests_on: ClassVar[tuple[AssumptionName, ...]] = (
        "values-stay",
        "values-follow",
        "presence",
        "registry-complete",
        "cells-stay",
        "unperturbed",
        "suppressed-class",
    )
    alone: ClassVar[tuple[AssumptionName, ...]] = ("values-stay", "unperturbed")
    static: ClassVar[bool] = True
    changes: ClassVar[bool] = True
    sets: ClassVar[OfSets] = "bridge"
    argues: ClassVar[bool] = True
    by_default: ClassVar[bool] = True

    seconds: float | None = 60.0
    """The time for what symmetry does not settle; None: no limit."""
    entries: int = 300_000
    """How large the tables of one exact count may grow."""
    draws: int = 2_000
    """How many worlds are drawn where they cannot be counted."""
    seed: int = 0
    """Draws the same worlds again."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.seconds()
        for name, least in (("entries", 1), ("draws", 0), ("seed", 0)):
            validation.whole(name, least=least)
        validation.finish()

    @overload
    def run(
        self, published: Published, knowledge: None = None, *, progress: Callable[[str], None] = ...
    ) -> WorldsFindings: ...

    @overload
    def run(
        self, published: Published, knowledge: Knowledge | None = None, *, progress: Callable[[str], None] = ...
    ) -> WorldsFindings | ChangingFindings | WorldsAlone: ...

    @budgeted
    def run(
        self,
        published: Published,
        knowledge: Knowledge | None = None,
        *,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> WorldsFindings | ChangingFindings | WorldsAlone:
        """Attack a series in which every member has one value: in all releases the same, or as `change` says."""
        if not published.single:
            raise ParameterError(
                "Worlds needs a view in which every member has exactly one value.",
                hint="say who is in which group, or give a registry; Channels compares regions without people.",
            )
        effort = Effort(self.seconds, self.entries, self.draws, self.seed)
        knowledge = knowledge or Knowledge()
        if knowledge.change is None and "values-stay" in knowledge.dropped and len(published.releases) > 1:
            raise ParameterError(
                "Worlds takes values to stay, and the knowledge says that they do not.",
                hint="run_alone looks at each release by itself.",
            )
        people, values = knowledge.known_values(published)
        made, given, allowed = knowledge.recognised(published)
        people, values = np.concatenate([made, people]), np.concatenate([given, values])  # ascending: made are below 0
        if allowed and not published.exact:
            raise ParameterError(
                "What counterfeits cannot be helps Worlds only where it is known who is in which group.",
                hint="leave 'counterfeits' out of the knowledge.",
            )
        if knowledge.change is not None and not published.exact:
            # Courses lead through one group of a release. Where it is not known which, each release speaks for itself.
            if len(published.releases) > 1:
                return alone(published, knowledge, self._of_one)
            knowledge = replace(knowledge, change=None)
        if knowledge.change is not None:
            need_one_place_each(published)
            return self._changing(published, knowledge.change, (people, values), allowed, effort, progress)
        if not published.exact:
            return WorldsFindings(
                published, unsure_posteriors(published, people, values, effort=effort), people, values
            )
        need_one_place_each(published)
        found = posteriors(published, people, values, allowed=allowed, effort=effort, progress=progress)
        return WorldsFindings(published, found, people, values, allowed)

    @budgeted
    def run_alone(self, published: Published, knowledge: Knowledge | None = None) -> WorldsAlone:
        """Attack each release of a series by itself, where values may change from one to the next."""
        return alone(published, knowledge or Knowledge(), self._of_one)

    def _of_one(self, published: Published, knowledge: Knowledge) -> WorldsFindings:
        found = self.run(published, knowledge)
        assert isinstance(found, WorldsFindings)  # one release has no change
        return found

    def _changing(
        self,
        published: Published,
        change: ValueChange,
        known: tuple[Ints, Ints],
        allowed: Mapping[int, tuple[int, ...]],
        effort: Effort,
        progress: Callable[[str], None],
    ) -> ChangingFindings:
        """The same where values may change."""
        need_courses(published, change)
        if change.people != 0:
            told = changing_worlds(published, change, known, allowed, effort=effort, progress=progress)
            return ChangingFindings.of(published, change, told, known[0])
        # Nobody changes: everything that is known of static values holds in every release.
        found = posteriors(published, *known, allowed=allowed, effort=effort, progress=progress)
        courses = Courses.of(published, known, allowed)
        need = least_changes(published, effort=effort)
        return ChangingFindings.unchanged(
            published,
            change,
            courses,
            entry_figures(courses, found, figures_of(found)),
            known[0],
            least=need,
            refuted="contradictory" in found.told or need.low > 0,
            told=found.told,
        )


class WorldsFindings(Findings):
    """What random worlds leave of everybody's secrets."""

    attack: ClassVar[str] = Worlds.name

    def __init__(
        self,
        published: Published,
        found: Posteriors,
        known_people: Ints,
        known_values: Ints,
        allowed: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.published = published
        self.found = found
        """The probabilities in their compact form."""
        self.known_people, self.known_values = known_people, known_values
        self.allowed = allowed or {}
        """Counterfeits, by number, that can have some values only."""
        told = found.told
        open_people = told.get("undecided", 0)
        self.searched = tuple(
            f"{count_of(told[way], 'person', 'people')} {words}"
            for way, words in {
                "known": "known to the adversary beforehand",
                "by symmetry": "settled by symmetry: all their values are equally likely",
                "by propagation": "examined by flows in their groups",
                "counted": "settled by counting worlds exactly",
                "sampled": "estimated by drawing worlds",
            }.items()
            if told.get(way)
        )
        undecided = []
        if open_people:
            who = count_of(open_people, "person", "people")
            undecided.append(f"{who} in parts too large to count or to sample: bounds only")
        if broken := told.get("contradictory"):
            who = count_of(broken, "person", "people")
            undecided.append(
                f"{who} in groups that contradict each other (a value changed?): each release judged alone"
            )
        if "propagation out of time" in told:
            undecided.append("the time ran out before flows had ruled out all they can")
        self.undecided = tuple(undecided)

    def __repr__(self) -> str:
        return f"WorldsFindings({self.found.people.size:,} people, {len(self.certain_people):,} certain)"

    # Everybody's worst

    @cached_property
    def _figures(self) -> Figures:
        """The probability of every entry, as it is told."""
        return figures_of(self.found)

    @cached_property
    def _feared(self) -> Figures:
        """The same as it is judged: for somebody who is known to be in a release."""
        return self._figures if self.found.present else given_presence(self.found, self._figures)

    @cached_property
    def _worst(self) -> Figures:
        """For every unit what bounds all its values."""
        return self._feared.largest(self.found.starts)

    @cached_property
    def _there(self) -> Bools:
        """The units whose people are certainly in a release."""
        units = self.found.size.size
        if self.found.present:
            return np.ones(units, dtype=np.bool_)
        told = [one.members if one.sure is None else one.members[one.sure] for one in self.published.releases]
        sure = np.zeros(units, dtype=np.bool_)
        sure[self.found.unit[np.isin(self.found.people, np.concatenate(told))]] = True
        chances = [Fraction(0)] * units
        for entry in np.flatnonzero(self.found.kind == EXACT).tolist():
            chances[int(self.found.owner[entry])] += self._figures.fractions[self._figures.least[entry]]
        return sure | np.array([chance == 1 for chance in chances], dtype=np.bool_)

    @property
    def supposed(self) -> pl.DataFrame:
        """Those of whom what is told supposes that they are in a release."""
        people = self.found.people[~self._there[self.found.unit]]
        return pl.DataFrame({"person": people, "release": [None] * people.size}, schema=SUPPOSED)

    @cached_property
    def _likeliest(self) -> Ints:
        """For every unit the entry of the value most likely."""
        return self._feared.likeliest(self.found.starts)

    @cached_property
    def _told(self) -> Floats:
        """For every unit what a finding says: the exact figure, the estimate, or what it is at least."""
        figures, used = self._feared, np.flatnonzero(np.diff(self.found.starts))
        told = np.zeros(self.found.size.size)
        told[used] = np.where(figures.kind == SAMPLED, figures.probability, figures.low)[self._likeliest[used]]
        return told

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person the largest probability of any value, as `kind` says; `low` and `high` are proven."""
        return self._worst.risks(self.found.people, self.found.unit)

    @cached_property
    def certain_people(self) -> Ints:
        """Those who can have one value only, known people left out."""
        return np.setdiff1d(self.found.people[self.found.certain[self.found.unit]], self.known_people)

    @cached_property
    def possible(self) -> PossibleValues:
        """How many values are possible for everybody but known people, as far as that is proven."""
        return PossibleValues.of(self.found, self.known_people)

    def fewer_than(self, l: int) -> Ints:  # noqa: E741
        """People by number who are proven to have fewer than l possible values; known people left out."""
        need_whole(l, "l", "fewer_than")
        few: Ints = self.possible.people[self.possible.fewer(l)]
        return few

    def probability(self, person: str | int, value: object) -> Fraction | float:
        """How likely a value is for a person: a fraction where that is exact, else as `posteriors` says."""
        number = self.published.number(person)
        place = int(np.searchsorted(self.found.people, number))
        if place == self.found.people.size or self.found.people[place] != number:
            raise ParameterError("There is no such person in the view.", hint="people are called as in the view.")
        if value not in self.published.values:
            raise ParameterError("No release publishes such a value.", hint="spell values as they are published.")
        unit = int(self.found.unit[place])
        code = self.published.values.index(value)
        for entry in range(int(self.found.starts[unit]), int(self.found.starts[unit + 1])):
            if self.found.values[entry] == code:
                exact = self.found.fraction(entry)
                return float(self.found.probability[entry]) if exact is None else exact
        return Fraction(0)

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have one value only, with that value."""
        name, values = self.published.name, self.published.values
        units = self.found.unit[np.searchsorted(self.found.people, self.certain_people)]
        codes = self.found.values[self._likeliest[units]]
        return {
            name(person): values[code]
            for person, code in zip(self.certain_people.tolist(), codes.tolist(), strict=True)
        }

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values that one of their groups shows and that they cannot have."""
        each = self._cannot.group_by("person", maintain_order=True).agg("value")
        name, values = self.published.name, self.published.values
        return {name(person): [values[code] for code in codes] for person, codes in each.iter_rows()}

    @property
    def ruled_out(self) -> pl.DataFrame:
        """The same as one table."""
        return tied_to(self._cannot["person"].to_numpy(), self._cannot["value"].to_numpy())

    @cached_property
    def _cannot(self) -> pl.DataFrame:
        """Each `person` with each `value` that one of their groups shows and that they cannot have, in order."""
        width, people = len(self.published.values), self.found.people
        place, value = shown_values(self.published, people)
        # People of a unit can have the same values.
        possible = np.sort(self.found.owner * width + self.found.values)
        asked = self.found.unit[place] * width + value
        at = np.minimum(np.searchsorted(possible, asked), max(possible.size - 1, 0))
        cannot = (possible[at] != asked) if possible.size else np.ones(asked.size, dtype=np.bool_)
        cannot &= ~np.isin(people, self.known_people)[place]
        return pl.DataFrame({"person": people[place[cannot]], "value": value[cannot]})

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """For each person and value that is possible how likely it is."""
        return self.posteriors_of(self.found.people)

    def posteriors_of(self, people: Ints) -> pl.DataFrame:
        """The same of some people, by number."""
        found = self.found
        some = np.flatnonzero(np.isin(found.people, people))
        unit = found.unit[some]
        counts = np.diff(found.starts)[unit]
        entry = entries_of(found.starts, unit)
        who = called(self.published, np.repeat(found.people[some], counts))
        values = pl.Series([str(value) for value in self.published.values], dtype=pl.String)
        return self._figures.posteriors(who, values.gather(found.values[entry]), entry)

    # Witnesses and judgement

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.published, self.known_people, self.known_values, self.allowed)

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why a hundred of those who are certain are, the easiest to follow first."""
        places = np.searchsorted(self.found.people, self.certain_people)
        easiest = self.certain_people[np.argsort(self._difficulty[places], kind="stable")][:100]
        return tuple(self._explainer.certain(person) for person in easiest.tolist())

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Whether it is proven that nobody is tied to a value with more than the limit, or that values are many enough.

        What is promised of any two releases only is not asked here; how far all together go beyond it is told.
        """
        judged = []
        if limits.probability is not None:
            judged.append(self._by_probability(limits.probability, most))
        if limits.history_diversity is not None:
            judged.append(self._by_values(limits.history_diversity, most))
        judged += [self.of_column(name).judge(limit, most) for name, limit in limits.columns or ()]
        if judged:
            return together(judged, most)
        if limits.diversity is None:
            return Judgement("not asked", "No limit for probabilities was given.")
        return not_promised(self.possible, limits.diversity)

    def findings_about(self, people: Sequence[int], limits: Limits) -> tuple[Finding, ...]:
        """The findings about some people who are beyond the limits, each with a derivation."""
        told = self._finding if limits.probability is not None else self._few
        units = self.found.unit[np.searchsorted(self.found.people, np.array(people, dtype=np.int64))]
        return tuple(told(person, unit) for person, unit in zip(people, units.tolist(), strict=True))

    def of_column(self, name: str) -> ColumnWorlds:
        """What is left of one of several sensitive columns."""
        for column in self.published.columns:
            if column.name == name:
                unknown = ~np.isin(self.found.people, self.known_people)
                return ColumnWorlds(column, self.found, self._feared, unknown, self._there, self._explainer)
        raise ParameterError("There is no such sensitive column in the view.", hint="columns are called as published.")

    def column_figures(self, column: str) -> pl.DataFrame:
        """How likely everybody's likeliest value of a column is."""
        return self.of_column(column).likeliest

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """What is known of each column, where several are sensitive."""
        rows = [self.of_column(name).row(limit) for name, limit in limits.columns or ()]
        return {"Each sensitive column by itself": pl.DataFrame(rows)} if rows else {}

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody beyond the limits, each with the likeliest value."""
        frames = [self.of_column(name).tied(limit) for name, limit in limits.columns or ()]
        if limits.probability is not None:
            unknown = ~np.isin(self.found.people, self.known_people)
            people, unit = self.found.people[unknown], self.found.unit[unknown]
            hit = self._any(self._feared.beyond(limits.probability))[unit]
            frames.append(tied_to(people[hit], self.found.values[self._likeliest[unit[hit]]]))
        return tied_together(frames)

    def _by_values(self, l: int, most: int) -> Judgement:  # noqa: E741
        """Whether it is proven that everybody has at least so many possible values."""
        possible = self.possible
        few = np.flatnonzero(possible.fewer(l))
        easy = self._difficulty[np.searchsorted(self.found.people, possible.people[few])]
        worst = few[np.lexsort((possible.people[few], easy, possible.most[few]))][: max(most, 0)]
        findings = [self._few(int(possible.people[at]), int(possible.unit[at])) for at in worst.tolist()]
        return judged_by_values(possible, l, findings, len(self.published.releases))

    def _by_probability(self, limit: Fraction, most: int) -> Judgement:
        unknown = ~np.isin(self.found.people, self.known_people)
        people, unit = self.found.people[unknown], self.found.unit[unknown]
        hit = np.flatnonzero(self._any(self._feared.beyond(limit))[unit])
        everybody = count_of(people.size, "person", "people")
        if hit.size:
            order = hit[np.lexsort((people[hit], self._difficulty[unknown][hit], -self._told[unit[hit]]))]
            findings = tuple(self._finding(int(people[at]), int(unit[at])) for at in order[:most].tolist())
            highest = float(self._told[unit[hit]].max())
            supposed = "" if self._there[unit[hit]].all() else IF_THERE
            words = (
                f"{hit.size:,} of {everybody} can be tied to a value with more than {limit_told(limit)}{supposed}; "
                f"the highest probability is {highest:.3g}. {self.certain_people.size:,} are certain."
            )
            return Judgement("beyond", words, findings, int(hit.size))
        unproven = self._any(~self._feared.within(limit))[unit]
        if not unproven.any():
            highest = float(self._worst.high[unit].max(initial=0.0))
            words = f"Nobody of {everybody} is tied to a value with more than {limit_told(limit)}"
            return Judgement("within", f"{words}; the highest is {highest:.3g}.")
        sampled = self._worst.kind[unit[unproven]] == SAMPLED
        status: Literal["sampled", "undecided"] = "sampled" if sampled.all() else "undecided"
        words = (
            f"Nobody is proven to be beyond {limit_told(limit)}. For {int(unproven.sum()):,} of {everybody} it is not "
            f"proven that they are within it ({int(sampled.sum()):,} of them are by estimate)."
        )
        return Judgement(status, words)

    def _any(self, entries: Bools) -> Bools:
        """The units with one of these entries."""
        units: Bools = np.bincount(self.found.owner, entries, minlength=self.found.size.size) > 0
        return units

    def _few(self, person: int, unit: int) -> Finding:
        if self.found.certain[unit]:
            return self._finding(person, unit)
        few = few_values(self.found, self._explainer, self.attack, person, unit)
        return replace(few, supposed=not self._there[unit])

    @cached_property
    def _difficulty(self) -> Ints:
        """For each person how many groups there are to intersect, or many where that alone does not expose him."""
        if not self.published.exact:
            return np.zeros(self.found.people.size, dtype=np.int64)
        left = candidates(self.published)
        where = self.published.index
        often = np.diff(where.group_starts)[where.made_up :]
        return np.where(left.counts == 1, often, len(self.published.releases) + 1)

    def _finding(self, person: int, unit: int) -> Finding:
        entry = int(self._likeliest[unit])
        kind: Kind = KINDS[self.found.kind[entry]]
        value = int(self.found.values[entry])
        figure = float(self._told[unit])
        release = self._explainer.last_release(person)
        if self.found.certain[unit]:
            witness, release = self._explainer.certain(person), self._explainer.completed_by(person)
        elif unit in self.found.doubted:
            witness, release = self._explainer.alone(person, value)
        else:
            exact = self._feared.exact(entry)
            witness = self._explainer.likely(person, value, exact, figure, kind, bool(self._there[unit]))
        supposed = not self._there[unit]
        return Finding(self.attack, "value", (person,), release, value, figure, kind, witness, supposed=supposed)


def figures_of(found: Posteriors) -> Figures:
    """The probabilities as they stand in tables: a row for each entry."""
    exact = found.kind == EXACT
    counted = np.fromiter(found.fractions, dtype=np.int64, count=len(found.fractions))
    even = exact & (found.least != found.most)
    top, bottom = np.where(even, 1, found.least), np.where(even, found.alike, found.size[found.owner])
    base = int(bottom.max(initial=0)) + 1
    exact[counted] = False
    shares, place = np.unique((top * base + bottom)[exact], return_inverse=True)
    which = np.full(exact.size, -1, dtype=np.int64)
    which[exact] = place
    which[counted] = shares.size + np.arange(counted.size)
    fractions = [*(Fraction(*divmod(share, base)) for share in shares.tolist()), *found.fractions.values()]
    return Figures(found.kind, found.probability, found.low, found.high, found.error, which, which, fractions)


def given_presence(found: Posteriors, figures: Figures) -> Figures:
    """How likely values are for somebody who is known to be in a release, where it is not known who is.

    That is what the people concerned must fear: a group with one value betrays all its members, however many others
    may be in it. Where not every value of a unit is exact, nothing is proven, and no error of an estimate is known.
    """
    owner, figure = found.owner, figures.probability
    exact = np.bincount(owner, found.kind != EXACT, minlength=found.size.size)[owner] == 0
    total = np.bincount(owner, figure, minlength=found.size.size)[owner]
    share = np.divide(figure, total, out=np.ones_like(figure), where=total > 0)
    whole: dict[int, Fraction] = {}
    for entry in np.flatnonzero(exact).tolist():
        unit = int(owner[entry])
        whole[unit] = whole.get(unit, Fraction(0)) + figures.fractions[figures.least[entry]]
    shares = [
        figures.fractions[figures.least[entry]] / whole[int(owner[entry])] if exact[entry] else None
        for entry in range(exact.size)
    ]
    low, high = np.where(exact, share, 0.0), np.where(exact, share, 1.0)
    return Figures.of(found.kind, np.minimum(share, 1.0), low, high, np.full(exact.size, np.nan), shares)
