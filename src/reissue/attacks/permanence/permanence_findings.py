"""What the worlds of permanent values leave of everybody's secrets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import factorial
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import POSTERIORS, Finding, Findings, Judgement, Kind, Limits, need_whole
from reissue.attacks.figures import (
    BOUNDED,
    EXACT,
    KINDS,
    RISKS,
    SAMPLED,
    Figures,
    called,
    limit_told,
    worst_of_each,
)
from reissue.attacks.permanence.permanence_passing import Passing
from reissue.attacks.permanence.permanence_witness import Explainer
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import tied_to, tied_together
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import Assumption
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.permanence.permanence_figures import Chances, Presence

WITHDRAWN = "Permanent values were lost, so that nothing is concluded over several releases."


@dataclass(frozen=True)
class Vulnerable:
    """How many people are in danger (section 4.1 of the paper)."""

    linkable: int
    """People who may be present in some group that shows a permanent value."""
    vulnerable: int
    """Those of them whose risk is above 1/l, or who are found not to have a value that a group of theirs shows."""
    certain: int
    """Those who have a value for certain."""
    excluded: int
    """Those who cannot have a value that a group of theirs shows."""
    undecided: int
    """Those of whom nothing is known, because the releases contradict each other or time ran out."""

    @property
    def rate(self) -> float:
        """The share of the linkable who are vulnerable."""
        return self.vulnerable / self.linkable if self.linkable else 0.0


class PermanenceFindings(Findings):
    """What is found about permanent values; with the mechanism where it is known and agrees with the releases."""

    attack: ClassVar[str] = "Permanence"

    def __init__(
        self,
        published: Published,
        knowledge: Knowledge,
        presence: Presence | None,
        alone: tuple[Chances, ...],
        together: tuple[Chances | None, ...],
        lost: int = 0,
    ) -> None:
        self._lost = lost
        """Where permanent values were lost: in how many groups. Then no value is taken to be permanent."""
        self.published, self.knowledge, self._presence = published, knowledge, presence
        self.alone, self.together = alone, together
        """For each permanent value that is shown what follows without the mechanism, and with it."""
        self.chosen: tuple[Chances, ...] = tuple(
            two if two is not None and two.exists else one for one, two in zip(alone, together, strict=True)
        )
        """For each of them what holds."""
        self.searched = tuple(self._searched())
        self.undecided = tuple(self._undecided())

    def __repr__(self) -> str:
        return f"PermanenceFindings({len(self.chosen)} permanent values, {len(self.certain):,} people certain)"

    @property
    def disproved(self) -> tuple[Assumption, ...]:
        """That permanent values are never lost, where groups contradict it."""
        lost = self._lost or sum(one.told.get("contradictory", 0) for one in self.chosen)
        if not lost:
            return ()
        what = f"{count_of(lost, 'group')} cannot be as published if nobody lost a permanent value."
        return (Assumption("values-permanent", "refuted", lost, what),)

    def withdrawn(self) -> PermanenceFindings:
        """What every release shows by itself, if permanent values were lost."""
        lost = sum(one.contradictions for one in self.disproved)
        return PermanenceFindings(self.published, self.knowledge, self._presence, (), (), lost) if lost else self

    @property
    def without_mechanism(self) -> PermanenceFindings:
        """What follows for somebody who does not know which method made the releases (section 3.3.1)."""
        return PermanenceFindings(
            self.published, replace(self.knowledge, cohorts=None), self._presence, self.alone, (None,) * len(self.alone)
        )

    # How many worlds

    @property
    def assignments(self) -> dict[object, int | None]:
        """For each permanent value in how many ways people can have it, without the mechanism; None: not counted."""
        return {self._label(one): one.worlds for one in self.alone}

    @property
    def formations(self) -> dict[object, int | None]:
        """For each value how many ways there are to form the cohorts, whichever are the holders'; empty without them.

        None: not counted.
        """
        return {self._label(two): _over(two.worlds, factorial(two.cohorts)) for two in self._counted()}

    @property
    def worlds(self) -> dict[object, int | None]:
        """For each value how many ways there are to form the cohorts and to say which are the holders'."""
        return {self._label(two): _over(two.worlds, factorial(two.cohorts - 1)) for two in self._counted()}

    def _counted(self) -> Iterator[Chances]:
        return (two for two in self.together if two is not None)

    def _label(self, one: Chances) -> object:
        return self.published.values[one.value]

    # People

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who have a permanent value in every world, with (the first of) those: proven."""
        name = self.published.name
        found: dict[str | int, object] = {}
        for one in self.chosen:
            for person in one.people[one.certain].tolist():
                found.setdefault(name(person), self._label(one))
        return found

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the permanent values that a group of theirs shows and that they cannot have: proven."""
        name = self.published.name
        found: dict[str | int, list[object]] = {}
        for one in self.chosen:
            for person in one.people[one.excluded].tolist():
                found.setdefault(name(person), []).append(self._label(one))
        return found

    @cached_property
    def _figures(self) -> tuple[Figures, ...]:
        """For each of the values the largest figure of each of its people."""
        return tuple(map(figures_of, self.chosen))

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """How likely each permanent value is for each person who can have it, in the `release` where that is most."""
        person = pl.Int64 if self.published.people is None else pl.String
        frames = [pl.DataFrame(schema={**POSTERIORS, "person": person, "release": pl.Int64})]
        numbers = np.array([release.number for release in self.published.releases], dtype=np.int64)
        for one, figures in zip(self.chosen, self._figures, strict=True):
            left = np.flatnonzero(~one.excluded)
            people = called(self.published, one.people[left])
            value = pl.repeat(str(self._label(one)), left.size, dtype=pl.String, eager=True)
            release = pl.Series(numbers[one.largest.release[one.at[left]]])
            frames.append(figures.posteriors(people, value, left, release=release))
        return pl.concat(frames)

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person who could ever be linked to a permanent value the largest probability of any of them."""
        frames = [pl.DataFrame(schema=RISKS)]
        for one, figures in zip(self.chosen, self._figures, strict=True):
            frames.append(figures.risks(one.people, np.arange(one.people.size)))
        return worst_of_each(pl.concat(frames)).sort("person")

    def probability(self, person: str | int, value: object) -> Fraction | float:
        """How likely a permanent value is for a person: a fraction where that is exact, else as `posteriors` says."""
        number = self.published.number(person)
        if number < 0 or not self.published.index.of_person(number):
            raise ParameterError("There is no such person in the view.", hint="people are called as in the view.")
        for one in self.chosen:
            if self._label(one) == value:
                place = int(np.searchsorted(one.people, number))
                if place == one.people.size or one.people[place] != number:
                    return Fraction(0)
                exact = one.fraction(place)
                return float(one.largest.probability[one.at[place]]) if exact is None else exact
        raise ParameterError("No release shows such a permanent value.", hint="spell values as they are published.")

    def vulnerable(self, l: int) -> Vulnerable:  # noqa: E741
        """How many people could be linked to a permanent value, and how many of them are in danger."""
        need_whole(l, "l", "vulnerable")
        limit = Fraction(1, l)
        nobody = np.zeros(0, dtype=np.int64)
        linkable, above, certain, excluded, unknown = ([nobody] for _ in range(5))
        for one, figures in zip(self.chosen, self._figures, strict=True):
            kind = figures.kind
            estimated = (kind == SAMPLED) & (figures.probability > float(limit))
            linkable.append(one.people)
            above.append(one.people[figures.above(limit) | estimated | one.excluded])
            certain.append(one.people[one.certain])
            excluded.append(one.people[one.excluded])
            unknown.append(one.people[(kind != EXACT) & (kind != SAMPLED) & ~figures.within(limit)])
        danger = np.unique(np.concatenate(above))
        return Vulnerable(
            np.unique(np.concatenate(linkable)).size,
            danger.size,
            np.unique(np.concatenate(certain)).size,
            np.unique(np.concatenate(excluded)).size,
            np.setdiff1d(np.concatenate(unknown), danger).size,
        )

    # Witnesses and judgement

    @cached_property
    def _explainer(self) -> Explainer:
        if self._presence is None:
            raise ParameterError("There is nothing to explain without permanent values.")
        people, values = self.knowledge.known_values(self.published)
        return Explainer(self.published, self._presence, dict(zip(people.tolist(), values.tolist(), strict=True)))

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why those who are certain are, and then why those who are excluded are; of both a few."""
        certain = [(one, at) for one in self.chosen for at in np.flatnonzero(one.certain).tolist()][:50]
        excluded = [(one, at) for one in self.chosen for at in np.flatnonzero(one.excluded).tolist()][:20]
        told = [self._explainer.certain(one, at) for one, at in certain]
        return (*told, *(self._explainer.excluded(one, at) for one, at in excluded))

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Whether it is proven that nobody is tied to a value, permanent or not, with more than the limit."""
        if not self.knowledge.permanent:
            return Judgement("not asked", "No value is known to be permanent.")
        if limits.probability is None:
            return Judgement("not asked", "No limit for probabilities was given.")
        if self._lost:
            return self._judge_alone(limits.probability, most)
        lasting, passing = self._judge_lasting(limits.probability, most), self._judge_passing(limits.probability, most)
        if lasting.status == "within" and self.knowledge.cohorts is not None and self.knowledge.present:
            plain = self.without_mechanism._judge_lasting(limits.probability, 0)
            if plain.status == "beyond":
                words = f"within by the argument from cohorts only; for somebody who does not use it: {plain.words}"
                return Judgement("undecided", words)
        if lasting.status != "within":
            return lasting
        if passing.status != "within":
            return passing
        return Judgement("within", f"{lasting.words} {passing.words}")

    def _judge_alone(self, limit: Fraction, most: int) -> Judgement:
        """What each release shows by itself, where permanent values were lost."""
        alone = self._judge_passing(limit, most)
        if alone.status == "beyond":
            return replace(alone, words=f"{WITHDRAWN} In single releases {alone.words}")
        return Judgement("undecided", WITHDRAWN)

    def _judge_passing(self, limit: Fraction, most: int) -> Judgement:
        """Values that are not permanent, each by its release alone."""
        passing = self._passing()
        beyond = passing.beyond(limit)
        which = "a value" if self._lost else "one that is not permanent"
        highest = f"the highest share of {which} in a group is {float(passing.highest()):.3g}."
        if not beyond.size:
            return Judgement("within", f"{highest[0].upper()}{highest[1:]}")
        findings = tuple(passing.finding(self.published, int(entry)) for entry in beyond[: max(most, 0)])
        times = count_of(beyond.size, "value of a group is", "values of groups are")
        words = f"{times} so frequent in it that everybody there has it with more than {limit_told(limit)}; {highest}"
        return Judgement("beyond", words, findings, int(beyond.size))

    def _judge_lasting(self, limit: Fraction, most: int) -> Judgement:
        """Permanent values, by all releases together."""
        bar = limit_told(limit)
        which, at = self._found_beyond(limit)
        linkable = count_of(self.vulnerable(1).linkable, "person", "people")
        of_all = f"{linkable} who could be linked to a permanent value"
        excluded = self._how_many("excluded")
        aside = f" {count_of(excluded, 'person is', 'people are')} found not to have one." if excluded else ""
        if at.size:
            people = np.concatenate([one.people[at[which == k]] for k, one in enumerate(self.chosen)])
            certain = count_of(self._how_many("certain"), "person is", "people are")
            findings = tuple(
                self._finding(self.chosen[k], place)
                for k, place in zip(which[: max(most, 0)].tolist(), at[: max(most, 0)].tolist(), strict=True)
            )
            highest = max(float(figures.probability.max(initial=0.0)) for figures in self._figures)
            words = (
                f"{np.unique(people).size:,} of {of_all} are tied to it with more than {bar}; the highest "
                f"probability is {highest:.3g}. {certain} certain.{aside}"
            )
            return Judgement("beyond", words, findings, int(at.size))
        if self.undecided:
            return Judgement("undecided", f"Nobody is proven to be beyond {bar}, but: {self.undecided[0]}.")
        open_ = np.concatenate([np.zeros(0), *(figures.kind[~figures.within(limit)] for figures in self._figures)])
        if count := open_.size:
            status: Literal["sampled", "undecided"] = "sampled" if (open_ == SAMPLED).all() else "undecided"
            words = (
                f"Nobody is proven to be beyond {bar}. For {count:,} of {of_all} it is not proven that "
                "they are within it."
            )
            return Judgement(status, words + aside)
        highest = max((float(figures.high.max(initial=0.0)) for figures in self._figures), default=0.0)
        counted = all(bool((figures.kind == EXACT).all()) for figures in self._figures)
        top = f"the highest is {'' if counted else 'at most '}{highest:.3g}"
        return Judgement("within", f"Nobody of {of_all} is tied to it with more than {bar}; {top}.{aside}")

    def _found_beyond(self, limit: Fraction) -> tuple[Ints, Ints]:
        """Who is beyond a limit: which of the values, and which of its people; the worst first."""
        places = [np.flatnonzero(self._beyond(*both, limit)) for both in zip(self.chosen, self._figures, strict=True)]
        nothing = np.zeros(0, dtype=np.int64)
        which = np.concatenate([nothing, *(np.full(some.size, k) for k, some in enumerate(places))])
        at = np.concatenate([nothing, *places])
        found = [*zip(self._figures, places, strict=True)]
        low = np.concatenate([nothing, *(figures.low[some] for figures, some in found)])
        probability = np.concatenate([nothing, *(figures.probability[some] for figures, some in found)])
        order = np.lexsort((at, -probability, -low))
        return which[order], at[order]

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody beyond the limit: permanent values if there are such, else the others, in their releases."""
        limit = limits.probability
        if limit is None or not self.knowledge.permanent:
            return tied_together([])
        which, at = self._found_beyond(limit)
        numbers = np.array([release.number for release in self.published.releases], dtype=np.int64)
        frames = []
        for k, one in enumerate(self.chosen):
            mine = at[which == k]
            frames.append(tied_to(one.people[mine], one.value, numbers[one.largest.release[one.at[mine]]]))
        return tied_together(frames) if at.size else self._passing().tied(self.published, limit)

    def _passing(self) -> Passing:
        """What the releases show of values that are not permanent."""
        known = self.knowledge.participation(self.published)
        lasting = np.zeros(0, dtype=np.int64) if self._lost else self.knowledge.permanent_values(self.published)
        return Passing.of(self.published, lasting, known)

    def _how_many(self, what: Literal["certain", "excluded"]) -> int:
        nobody = np.zeros(0, dtype=np.int64)
        return int(np.unique(np.concatenate([nobody, *(one.people[getattr(one, what)] for one in self.chosen)])).size)

    def _beyond(self, one: Chances, figures: Figures, limit: Fraction) -> Bools:
        if self.knowledge.cohorts is not None and one.cohorts == 1 and not self._refuted(one):
            # Whether cohorts agree with the releases is not known. If somebody is certain, they do not.
            return one.certain & (limit < 1)
        return figures.beyond(limit)

    def _refuted(self, one: Chances) -> bool:
        """Whether it is proven that no cohorts agree with what is shown of a value."""
        return any(two.value == one.value and two.exists is False for two in self._counted())

    def _finding(self, one: Chances, at: int) -> Finding:
        place, person = int(one.at[at]), int(one.people[at])
        kind: Kind = KINDS[int(one.largest.kind[place])]
        release: int | None = self.published.releases[int(one.largest.release[place])].number
        if one.certain[at]:
            witness, release = self._explainer.certain(one, at), self._explainer.completed_by(one, at)
        else:
            witness = self._explainer.likely(one, at)
        figure = float(one.largest.probability[place])
        return Finding(self.attack, "value", (person,), release, one.value, figure, kind, witness)

    # What was done

    def _searched(self) -> Iterator[str]:
        words = {
            "alone": "groups settled by their counts alone",
            "counted": "groups settled by counting worlds exactly",
            "bounded": "groups in which exchanging cohorts bounds every probability",
            "sampled": "groups in which worlds were drawn; what is impossible and what is certain there is proven",
        }
        for how, told in words.items():
            if groups := sum(one.told.get(how, 0) for one in self.chosen):
                yield f"{groups:,} {told}"

    def _undecided(self) -> Iterator[str]:
        cohorts = self.knowledge.cohorts
        if self.knowledge.elsewhere and self.knowledge.present:
            yield "values are replaced, or shown where people were before: what participation tells is not worked out"
        if cohorts is not None:
            states = [None if two is None else two.exists for two in self.together]
            if refuted := states.count(False):
                yield (
                    f"for {count_of(refuted, 'permanent value')} no {cohorts} cohorts agree with the releases: as this "
                    "adversary sees them, HD-composition did not make them, and nothing is bounded by it"
                )
            if self.knowledge.compromised and states:
                yield "what cohorts say where the values of some people are known is not worked out"
            elif None in states:
                yield f"whether {cohorts} cohorts agree with the releases was not decided"
        for how, told in {
            "contradictory": "groups contradict each other (a permanent value was lost?)",
            "undecided": "groups were too large to count and to draw from in time",
            "unproven": "groups in which not all that is impossible or certain was found in time",
        }.items():
            if groups := sum(one.told.get(how, 0) for one in self.chosen):
                yield f"{groups:,} {told}"


def figures_of(one: Chances) -> Figures:
    """The largest figure of each of the people."""
    largest, kind, rank = one.largest, one.largest.kind[one.at], one.largest.rank[one.at]
    # Figures that are not exact are at least the largest exact one, and at most what exchanging cohorts allows.
    fractions = [*largest.exact, Fraction(0), Fraction(1, one.cohorts), Fraction(1)]
    nothing, shared, everything = range(len(largest.exact), len(fractions))
    least = np.where(rank < 0, nothing, rank)
    most = np.where(kind == EXACT, least, np.where(kind == BOUNDED, shared, everything))
    told = (largest.probability, largest.low, largest.high, largest.error)
    probability, low, high, error = (column[one.at] for column in told)
    return Figures(kind, probability, low, high, error, least, most, fractions)


def _over(number: int | None, divisor: int) -> int | None:
    return None if number is None else number // divisor
