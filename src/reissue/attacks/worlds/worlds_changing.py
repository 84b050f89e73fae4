"""What possible worlds leave of everybody's secrets where values may change: release by release.

What is found is about somebody in a release: that they had flu in release 2 says nothing of release 3. Who is certain
had one single value possible in some release, whatever course everybody's values took within the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.runs import entries_of
from reissue.arrays.types import Bools, Bytes, Ints
from reissue.attacks.base import OF_COLUMN, POSTERIORS, Finding, Findings, Judgement, Kind, Limits, together
from reissue.attacks.figures import BOUNDED, EXACT, KINDS, RISKS, SAMPLED, Figures, called, limit_told
from reissue.attacks.sentences import Cell, Part, Person, Place, Sentence, Value, Witness, holding, shortened
from reissue.attacks.tied import tied_to, tied_together
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import Assumption
from reissue.model.published import Published
from reissue.model.value_change import ValueChange
from reissue.reasoning.worlds.change_program import IMPOSSIBLE, OPEN, POSSIBLE, Least
from reissue.reasoning.worlds.changing_worlds import Changing
from reissue.reasoning.worlds.courses import Courses
from reissue.reasoning.worlds.posteriors import Posteriors

SHOWN = 12
"""More people or values of one group are not told one by one."""
EXPLAINED = 50
"""So many people at most have their derivation among the witnesses."""
CERTAIN = {"person": pl.Int64, "release": pl.Int64, "value": pl.Int64}
"""The columns of `ChangingFindings.certain_values`."""


@dataclass(frozen=True, repr=False)
class Runs:
    """Figures of entries, or of sums of them: a run for each slot."""

    figures: Figures
    starts: Ints
    """Where each slot begins."""
    positions: Ints
    """For each row the value, in the view or in the column."""
    classes: Ints
    """Where each class begins among the slots."""
    column: str | None = None

    def __repr__(self) -> str:
        return f"Runs({self.positions.size:,} rows)"

    @cached_property
    def begins(self) -> Ints:
        """Where each class begins among the rows."""
        return self.starts[self.classes]

    @cached_property
    def worst(self) -> Ints:
        """For each class the row of the value and release that are likeliest."""
        return self.figures.likeliest(self.begins)

    def any(self, rows: Bools) -> Bools:
        """The classes with one of these rows."""
        added = np.concatenate([[0], np.cumsum(rows)])
        return np.asarray(np.diff(added[self.begins]) > 0)

    def slot(self, row: int) -> int:
        """The slot that a row belongs to."""
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    @cached_property
    def one(self) -> Bools:
        """The rows that are proven to be certain."""
        sure = np.array([*(fraction == 1 for fraction in self.figures.fractions), False])
        return np.asarray(sure[self.figures.least])

    def beyond(self, limit: Fraction | None) -> Bools:
        """The rows above a limit; None: the certain ones."""
        return self.one if limit is None else self.figures.beyond(limit)

    def within(self, limit: Fraction | None) -> Bools:
        """The rows that are proven not to be."""
        if limit is not None:
            return self.figures.within(limit)
        sure = np.array([*(fraction == 1 for fraction in self.figures.fractions), True])
        return np.asarray(~sure[self.figures.most])


class ChangingFindings(Findings):
    """What random worlds leave of everybody's values in each release."""

    attack: ClassVar[str] = "Worlds"
    dated = True

    def __init__(
        self,
        published: Published,
        change: ValueChange,
        courses: Courses,
        figures: Figures,
        possible: Bytes,
        known_people: Ints,
        *,
        least: Least,
        refuted: bool = False,
        told: Mapping[str, int] | None = None,
    ) -> None:
        self.published, self.change, self.courses = published, change, courses
        self.figures, self.possible = figures, possible
        self.known_people = known_people
        self.least, self.refuted = least, refuted
        """How many people's values must have changed; whether no world agrees with the releases and the model."""
        self._told_ways = dict(told or {})
        self.searched = tuple(self._searched())
        self.undecided = tuple(self._undecided())

    @property
    def disproved(self) -> tuple[Assumption, ...]:
        """That values change as was said, where no world agrees with it."""
        return (Assumption("values-follow", "refuted", 1, f"{self.refutation}."),) if self.refuted else ()

    @classmethod
    def of(cls, published: Published, change: ValueChange, found: Changing, known_people: Ints) -> ChangingFindings:
        """What was found by counting and by programs."""
        figures = _figures(found)
        return cls(
            published,
            change,
            found.courses,
            figures,
            found.possible,
            known_people,
            least=found.least,
            refuted=found.refuted,
            told=found.told,
        )

    @classmethod
    def unchanged(
        cls,
        published: Published,
        change: ValueChange,
        courses: Courses,
        figures: Figures,
        known_people: Ints,
        *,
        least: Least,
        refuted: bool,
        told: Mapping[str, int],
    ) -> ChangingFindings:
        """What was found for values that nobody changes; `figures` has a row for each entry."""
        zero = np.array([*(fraction == 0 for fraction in figures.fractions), False])
        impossible = (figures.kind == EXACT) & zero[figures.most]
        possible = np.where(impossible, IMPOSSIBLE, np.where(figures.kind == EXACT, POSSIBLE, OPEN)).astype(np.int8)
        return cls(published, change, courses, figures, possible, known_people, least=least, refuted=refuted, told=told)

    def __repr__(self) -> str:
        refuted = ", refuted" if self.refuted else ""
        return f"ChangingFindings({self.change.words}: {len(self.certain):,} people certain{refuted})"

    # Everybody

    @cached_property
    def _people(self) -> Ints:
        """The places of the people who are asked about: no counterfeits, nobody who is known."""
        people = self.courses.people
        return np.flatnonzero((people >= 0) & ~np.isin(people, self.known_people))

    @cached_property
    def _runs(self) -> Runs:
        return Runs(self.figures, self.courses.starts, self.courses.value, self.courses.class_starts)

    def _column(self, name: str) -> Runs:
        for column in self.published.columns:
            if column.name == name:
                figures, starts, positions = self.figures.added(self.courses.starts, column.of[self.courses.value])
                return Runs(_surely(figures, starts), starts, positions, self.courses.class_starts, name)
        raise ParameterError("There is no such sensitive column in the view.", hint="columns are called as published.")

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person the largest probability of any value in any release; `low` and `high` are proven."""
        if self.refuted:
            return pl.DataFrame(schema=RISKS)
        people = self.courses.people
        real = people >= 0
        return self.figures.largest(self._runs.begins).risks(people[real], self.courses.of_class[real])

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """How likely each value is for each person in each `release` they are in; nothing where it is refuted."""
        person = pl.Int64 if self.published.people is None else pl.String
        courses = self.courses
        places = self._everybody
        if self.refuted or not places.size:
            return pl.DataFrame(schema={**POSTERIORS, "person": person, "release": pl.Int64})
        lengths = np.diff(self._runs.begins)[courses.of_class[places]]
        rows = entries_of(self._runs.begins, courses.of_class[places])
        who = np.repeat(courses.people[places], lengths)
        left = self.possible[rows] != IMPOSSIBLE
        rows, who = rows[left], who[left]
        values = pl.Series([str(value) for value in self.published.values], dtype=pl.String)
        return self.figures.posteriors(
            called(self.published, who),
            values.gather(courses.value[rows]),
            rows,
            release=pl.Series(self._numbers[courses.position[courses.slot[rows]]]),
        )

    @cached_property
    def _everybody(self) -> Ints:
        return np.flatnonzero(self.courses.people >= 0)

    @cached_property
    def _numbers(self) -> Ints:
        return np.array([release.number for release in self.published.releases], dtype=np.int64)

    def probability(self, person: str | int, value: object, release: int) -> Fraction | float:
        """How likely a value was somebody's in a release: a fraction where that is exact, else as `posteriors` says."""
        place = int(self.courses.people.searchsorted(number := self.published.number(person)))
        if number < 0 or place == self.courses.people.size or self.courses.people[place] != number:
            raise ParameterError("There is no such person in the view.", hint="people are called as in the view.")
        one = int(self.courses.of_class[place])
        slots = np.arange(*self.courses.class_starts[one : one + 2])
        there = slots[self._numbers[self.courses.position[slots]] == release]
        if self.refuted or not there.size or value not in self.published.values:
            raise ParameterError("They are not in that release, no release has such a value, or the model is refuted.")
        code = self.published.values.index(value)
        for row in range(*self.courses.starts[there[0] : there[0] + 2].tolist()):
            if self.courses.value[row] == code:
                exact = self.figures.exact(row)
                return float(self.figures.probability[row]) if exact is None else exact
        return Fraction(0)

    @cached_property
    def certain_values(self) -> pl.DataFrame:
        """Who certainly had which value in which release: person numbers, release numbers, positions of values."""
        if self.refuted:
            return pl.DataFrame(schema=CERTAIN)
        courses = self.courses
        rows = np.flatnonzero(self._runs.one)
        by_class = [np.zeros(0, dtype=np.int64)] * courses.sizes.size
        for row in rows.tolist():
            one = int(courses.of_slot[courses.slot[row]])
            by_class[one] = np.append(by_class[one], row)
        found = [
            (int(courses.people[at]), row) for at in self._people for row in by_class[courses.of_class[at]].tolist()
        ]
        who = [person for person, _ in found]
        where = np.array([row for _, row in found], dtype=np.int64)
        release = self._numbers[courses.position[courses.slot[where]]]
        return pl.DataFrame({"person": who, "release": release, "value": courses.value[where]}, schema=CERTAIN)

    @property
    def certain_people(self) -> Ints:
        """Those who certainly had one value in some release, known people left out."""
        return np.unique(self.certain_values["person"].to_numpy())

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who certainly had one value in some release, with that of the last such release."""
        name, values = self.published.name, self.published.values
        return {name(person): values[value] for person, _, value in self.certain_values.iter_rows()}

    # Judgement

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Whether it is proven that nobody is tied to a value, in any release, with more than the limit."""
        asked = self._asked(limits)
        if self.refuted:
            return Judgement("undecided" if asked else "not asked", self._nothing_concluded)
        judged = [self._judged(runs, limit, most) for runs, limit in asked]
        return together(judged, most) if judged else Judgement("not asked", "No limit for probabilities was given.")

    def _asked(self, limits: Limits) -> list[tuple[Runs, Fraction | None]]:
        """What limits ask about, each with its limit."""
        asked: list[tuple[Runs, Fraction | None]] = []
        if limits.probability is not None:
            asked.append((self._runs, limits.probability))
        return asked + [(self._column(name), limit) for name, limit in limits.columns or ()]

    @property
    def refutation(self) -> str:
        """Why the model of change cannot be so; empty where it can."""
        if not self.refuted:
            return ""
        if self._too_few:
            need = count_of(self.least.low, "person", "people")
            shown = f"the values that are shown of at least {need} changed{self._placed}"
            return f"The model is refuted: {shown}, and it was said that {self.change.words}"
        return f"The model is refuted: no world agrees with the releases where {self.change.words}{self._placed}"

    @property
    def _placed(self) -> str:
        """What it rests on that people are where they are: nothing where the files say it."""
        return ", if people are where the registry has them" if self.published.tested else ""

    @property
    def _too_few(self) -> bool:
        """Whether more people's values changed than was said."""
        return self.change.people is not None and self.least.low > self.change.people

    @property
    def _nothing_concluded(self) -> str:
        return f"{self.refutation}{'. No world agrees with both' if self._too_few else ''}, so nothing is concluded."

    def _judged(self, runs: Runs, limit: Fraction | None, most: int) -> Judgement:
        one = self.courses.of_class[self._people]
        hit = np.flatnonzero(runs.any(runs.beyond(limit))[one])
        everybody = count_of(self._people.size, "person", "people")
        of_column = "" if runs.column is None else f"Of '{runs.column}' alone "
        bar = "certainty" if limit is None else f"more than {limit_told(limit)}"
        told = np.where(runs.figures.kind == SAMPLED, runs.figures.probability, runs.figures.low)[runs.worst]
        if hit.size:
            people = self.courses.people[self._people]
            order = hit[np.lexsort((people[hit], -told[one[hit]]))][: max(most, 0)]
            findings = tuple(self._finding(runs, int(people[at]), int(runs.worst[one[at]])) for at in order.tolist())
            certain = int(runs.any(runs.one)[one].sum())
            words = (
                f"{of_column}{hit.size:,} of {everybody} can be tied to a value in some release with {bar}, if "
                f"{self.change.words}; the highest probability is {told[one[hit]].max():.3g}. Of {certain:,} it is "
                f"certain what they had in some release.{self._changed}"
            )
            return Judgement("beyond", words, findings, int(hit.size))
        unproven = runs.any(~runs.within(limit))[one]
        if not unproven.any():
            highest = float(runs.figures.high.max(initial=0.0))
            words = f"{of_column}{'nobody' if of_column else 'Nobody'} of {everybody} is tied to a value in any release"
            words += f" with {bar}, if {self.change.words}; the highest is {highest:.3g}.{self._changed}"
            return Judgement("within", words)
        words = (
            f"{of_column}{'nobody' if of_column else 'Nobody'} is proven to be tied to a value with {bar}, if "
            f"{self.change.words}. For {int(unproven.sum()):,} of {everybody} it is not proven that they are not."
            f"{self._changed}"
        )
        return Judgement("undecided", words)

    @property
    def _changed(self) -> str:
        """That the releases contradict static values, where they do."""
        if not self.least.low:
            return ""
        who = count_of(self.least.low, "person", "people")
        return f" The releases contradict static values: those shown of at least {who} changed."

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody beyond the limits, each with the value and the release that are likeliest."""
        asked = self._asked(limits)
        frames = []
        for runs, limit in asked if not self.refuted else ():
            one = self.courses.of_class[self._people]
            hit = runs.any(runs.beyond(limit))[one]
            rows = runs.worst[one[hit]]
            slots = np.searchsorted(runs.starts, rows, side="right") - 1
            people, release = self.courses.people[self._people[hit]], self._numbers[self.courses.position[slots]]
            frames.append(tied_to(people, runs.positions[rows], release, column=runs.column))
        return tied_together(frames)

    def column_figures(self, column: str) -> pl.DataFrame:
        """How likely the likeliest value of a column in any release is, for everybody."""
        if self.refuted:
            return pl.DataFrame(schema=OF_COLUMN)
        runs, people = self._column(column), self._people
        rows = runs.worst[self.courses.of_class[people]]
        slots = np.searchsorted(runs.starts, rows, side="right") - 1
        position = pl.Series(runs.positions[rows], dtype=pl.Int64)
        release = pl.Series(self._numbers[self.courses.position[slots]], dtype=pl.Int64)
        told = runs.figures.risks(self.courses.people[people], rows)
        return told.with_columns(position=position, release=release).select(*OF_COLUMN)

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """How many people's values must have changed, and how many are certain in each release."""
        several = int(self.courses.sizes[np.diff(self.courses.class_starts) > 1].sum())
        least = str(self.least.low) if self.least.high == self.least.low else f"at least {self.least.low}"
        if self.least.infeasible:
            least = "no number of changes suffices"
        rows = [
            ("people in several releases", f"{several:,}"),
            ("people whose values must have changed", least),
            ("people whose values may have changed, as was said", _said(self.change)),
        ]
        for at, release in enumerate(self._numbers.tolist()):
            sure = int((self.certain_values["release"] == release).sum())
            there = int(np.isin(self.courses.of_class[self._people], self._classes_in(at)).sum())
            rows.append((f"certain in release {release}", f"{sure:,} of {there:,}"))
        told: dict[str, Any] = {"what": [what for what, _ in rows], "figure": [figure for _, figure in rows]}
        return {"Values that change": pl.DataFrame(told)}

    def _classes_in(self, at: int) -> Ints:
        classes: Ints = self.courses.of_slot[self.courses.position == at]
        return classes

    # Witnesses

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why those who are certain are; a few."""
        found = self.certain_values.unique("person", keep="first", maintain_order=True).head(EXPLAINED)
        place = {int(self.courses.people[at]): int(self.courses.of_class[at]) for at in self._people.tolist()}
        return tuple(
            self._finding(self._runs, person, int(self._runs.worst[place[person]])).witness
            for person in found["person"].to_list()
        )

    def _finding(self, runs: Runs, person: int, row: int) -> Finding:
        slot = runs.slot(row)
        release = int(self._numbers[self.courses.position[slot]])
        kind: Kind = KINDS[int(runs.figures.kind[row])]
        estimated = runs.figures.kind[row] == SAMPLED
        figure = float(runs.figures.probability[row] if estimated else runs.figures.low[row])
        value = int(runs.positions[row])
        part: Part = Value(value) if runs.column is None else Cell(runs.column, value)
        exact = runs.figures.exact(row)
        witness = self._witness(person, slot, part, f"{exact or f'{figure:.3g}'}", kind, sure=bool(runs.one[row]))
        if runs.column is None:
            return Finding(self.attack, "value", (person,), release, value, figure, kind, witness)
        return Finding(
            self.attack,
            "value",
            (person,),
            release,
            None,
            figure,
            kind,
            witness,
            column=runs.column,
            among=(value,),
        )

    def _witness(self, person: int, slot: int, part: Part, figure: str, kind: Kind, *, sure: bool) -> Witness:
        """Why somebody had, or is likely to have had, a value in a release."""
        release = int(self._numbers[self.courses.position[slot]])
        own = self._group(slot)
        if sure and own[1].size == 1:
            told: Sentence = (*self._told(slot)[:-1], ": there is no other value there.")
            return Witness((told, ("So ", Person(person), " had ", part, f" in release {release:,}.")))
        one = int(self.courses.of_slot[slot])
        slots = [slot] if self.change.free else range(*self.courses.class_starts[one : one + 2].tolist())
        sentences = [self._told(at) for at in list(slots)[:SHOWN]]
        if not self.change.free:
            sentences.append((f"Suppose that {self.change.words}.",))
        if sure:
            ending: Sentence = (
                "No courses of values that agree with all releases give ",
                Person(person),
                " another value than ",
                part,
                f" in release {release:,}; groups that share people with these are part of the argument.",
            )
            return Witness((*sentences, ending if not self.change.free else ("That leaves no other value.",)))
        how = {"exact": figure, "sampled": f"about {figure}"}.get(kind, f"at least {figure}")
        weighed = "by their chance " if self.change.rate is not None else ""
        ending = (
            f"Of all courses of values that agree with all releases, {weighed}{how} give ",
            Person(person),
            " ",
            part,
            f" in release {release:,}.",
        )
        return Witness((*sentences, ending))

    def _group(self, slot: int) -> tuple[Ints, Ints]:
        """The members of a slot's group, and the values that it shows."""
        at = int(self.courses.position[slot])
        group = int(self.courses.group[slot] - self.published.index.bounds[at])
        release = self.published.releases[at]
        return np.sort(release.members_of(group)), release.values_of(group)[0]

    def _told(self, slot: int) -> Sentence:
        at = int(self.courses.position[slot])
        group = int(self.courses.group[slot] - self.published.index.bounds[at])
        release = self.published.releases[at]
        members, _ = self._group(slot)
        values, counts = release.values_of(group)
        pairs = list(zip(values.tolist(), counts.tolist(), strict=True))
        shown = [(Value(value), f" ({often:,} times)" if often > 1 else "") for value, often in pairs[:SHOWN]]
        holds = holding(Place(release.number, group + 1), members.tolist(), True, SHOWN)
        return (*holds, "; its values are ", *shortened(shown, len(pairs)), ".")

    # What was done

    def _searched(self) -> Iterator[str]:
        if self.refuted:
            return
        words = {
            "alone": "judged by each release by itself",
            "counted": "settled by counting worlds exactly",
            "by program": "examined by linear programs: what they can have had, not how likely it is",
            "by sizes": "in parts too large to count: bounds by each release",
            "by symmetry": "settled by symmetry: all their values are equally likely",
            "by propagation": "examined by flows in their groups",
            "sampled": "estimated by drawing worlds",
            "known": "known to the adversary beforehand",
        }
        for way, what in words.items():
            if self._told_ways.get(way):
                yield f"{count_of(self._told_ways[way], 'person', 'people')} {what}"

    def _undecided(self) -> Iterator[str]:
        if self.refuted:
            yield self._nothing_concluded
            return
        if self.least.high != self.least.low:
            most = "not known" if self.least.high is None else f"at most {self.least.high:,}"
            yield f"how many people's values must have changed: at least {self.least.low:,}, {most}"
        courses = self.courses
        open_slots = np.unique(courses.slot[self.possible == OPEN])
        classes = np.unique(courses.of_slot[open_slots])
        if classes.size:
            who = count_of(int(courses.sizes[classes].sum()), "person", "people")
            yield f"{who} for whom it is open whether they can have had some values: bounds only"
        bounded = np.unique(courses.of_slot[courses.slot[self.figures.kind == BOUNDED]])
        if bounded.size:
            who = count_of(int(courses.sizes[bounded].sum()), "person", "people")
            yield f"{who} for whom it is not known how likely their values are: bounds only"


def _said(change: ValueChange) -> str:
    return "any number" if change.people is None else f"at most {change.people:,}"


def _figures(found: Changing) -> Figures:
    """The probability of every entry. Where one value only is left, it is certain."""
    courses = found.courses
    left = np.bincount(courses.slot, found.possible != IMPOSSIBLE, minlength=courses.group.size)
    alone = (found.possible != IMPOSSIBLE) & (left[courses.slot] == 1)
    place: dict[Fraction, int] = {Fraction(0): 0, Fraction(1): 1}
    least = np.fromiter((place.setdefault(one, len(place)) for one in found.low), np.int64, len(found.low))
    most = np.fromiter((place.setdefault(one, len(place)) for one in found.high), np.int64, len(found.high))
    least[found.possible == IMPOSSIBLE] = most[found.possible == IMPOSSIBLE] = 0
    least[alone] = most[alone] = 1
    fractions = [*place]
    floats = np.array([float(one) for one in fractions])
    kind = np.where(least == most, EXACT, BOUNDED).astype(np.int8)
    unknown = np.full(least.size, np.nan)
    return Figures(kind, floats[most], floats[least], floats[most], unknown, least, most, fractions)


def _surely(figures: Figures, starts: Ints) -> Figures:
    """Sums of bounds: where a row has all of its slot, it is certain though its parts are not known."""
    left = (
        np.repeat(np.add.reduceat((figures.high > 0).astype(np.int64), starts[:-1]), np.diff(starts))
        if starts.size > 1
        else 0
    )
    whole = (figures.high > 0) & (left == 1)
    fractions = [*figures.fractions, Fraction(1)]
    one = len(fractions) - 1
    return Figures(
        np.where(whole, EXACT, figures.kind).astype(np.int8),
        np.where(whole, 1.0, figures.probability),
        np.where(whole, 1.0, figures.low),
        np.where(whole, 1.0, figures.high),
        figures.error,
        np.where(whole, one, figures.least),
        np.where(whole, one, figures.most),
        fractions,
    )


def entry_figures(courses: Courses, found: Posteriors, figures: Figures) -> Figures:
    """The probabilities of static values, entry by entry: what somebody has, they have in every release."""
    first = np.unique(courses.of_class, return_index=True)[1]
    place = np.clip(np.searchsorted(found.people, courses.people[first]), 0, max(found.people.size - 1, 0))
    there = found.people[place] == courses.people[first] if found.people.size else np.zeros(first.size, dtype=np.bool_)
    unit = np.where(there, found.unit[place] if found.unit.size else 0, -1)[courses.of_slot[courses.slot]]
    width = int(max(found.values.max(initial=0), courses.value.max(initial=0))) + 1
    keys = found.owner * width + found.values
    order = np.argsort(keys)
    asked = unit * width + courses.value
    at = np.clip(np.searchsorted(keys[order], asked), 0, max(keys.size - 1, 0))
    hit = (keys[order][at] == asked) if keys.size else np.zeros(asked.size, dtype=np.bool_)
    row = np.where(hit, order[at] if keys.size else 0, 0)
    # Rows of nobody, such as counterfeits, are not asked about; whatever is not among the values is impossible.
    zero, nobody = ~hit & (unit >= 0), unit < 0
    fractions = [*figures.fractions, Fraction(0), Fraction(1)]
    last = len(fractions) - 2

    def taken(column: Any, none: Any, open_: Any) -> Any:
        return np.where(zero, none, np.where(nobody, open_, column[row]))

    return Figures(
        taken(figures.kind, EXACT, BOUNDED).astype(np.int8),
        taken(figures.probability, 0.0, 1.0),
        taken(figures.low, 0.0, 0.0),
        taken(figures.high, 0.0, 1.0),
        taken(figures.error, np.nan, np.nan),
        taken(figures.least, last, last),
        taken(figures.most, last, last + 1),
        fractions,
    )


def need_courses(published: Published, change: ValueChange) -> None:
    """Refuse what courses of values are not worked out for."""
    problems = []
    if not published.exact:
        problems.append("It is not known for every row who it is among the members of its group.")
    if published.sets:
        problems.append("Releases show sets of values.")
    if change.follows is not None and published.columns:
        problems.append("Several columns are sensitive, and which values may follow which is said of one.")
    if problems:
        raise ParameterError(
            "Worlds cannot follow values that change here.",
            problems=problems,
            hint="look at one sensitive column, and say who is in which release; Tracking is for sets.",
        )
