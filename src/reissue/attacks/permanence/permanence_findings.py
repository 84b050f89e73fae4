"""What the worlds of permanent values leave of everybody's secrets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import factorial
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import POSTERIORS, Finding, Findings, Judgement, Kind, Limits
from reissue.attacks.permanence.permanence_passing import Passing
from reissue.attacks.permanence.permanence_witness import Explainer
from reissue.attacks.sentences import Witness
from reissue.errors import ParameterError, count_of
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.permanence.permanence_cells import BOUNDED, EXACT, KINDS, SAMPLED
from reissue.reasoning.permanence.permanence_figures import Chances, Presence

SURE = 4
"""An estimate counts as beyond a limit when it is so many standard errors beyond it."""

RISKS = pl.Schema(
    {"person": pl.Int64, "probability": pl.Float64, "kind": pl.String, "low": pl.Float64, "high": pl.Float64}
)


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
    ) -> None:
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
    def _posteriors(self) -> pl.DataFrame:
        frames = [pl.DataFrame(schema={**POSTERIORS, "person": self._person_type, "release": pl.Int64})]
        numbers = np.array([release.number for release in self.published.releases], dtype=np.int64)
        for one in self.chosen:
            left = ~one.excluded
            at, largest = one.at[left], one.largest
            exact = largest.kind[at] == EXACT
            told = pl.Series([*(str(share) for share in largest.exact), "0"], dtype=pl.String)
            rank = np.where(exact, largest.rank[at], -1)
            person = pl.Series(one.people[left])
            if self.published.people is not None:
                person = pl.Series(self.published.people, dtype=pl.String).gather(person)
            frames.append(
                pl.DataFrame(
                    {
                        "person": person,
                        "value": pl.repeat(str(self._label(one)), at.size, dtype=pl.String, eager=True),
                        "probability": largest.probability[at],
                        "kind": pl.Series(KINDS, dtype=pl.String).gather(largest.kind[at].astype(np.int64)),
                        "low": largest.low[at],
                        "high": largest.high[at],
                        "standard_error": pl.Series(largest.error[at], nan_to_null=True),
                        "fraction": told.gather(np.where(rank < 0, len(told) - 1, rank)).set(pl.Series(~exact), None),
                        "release": numbers[largest.release[at]],
                    }
                )
            )
        return pl.concat(frames)

    @property
    def _person_type(self) -> pl.DataType:
        return pl.Int64() if self.published.people is None else pl.String()

    @property
    def posteriors(self) -> pl.DataFrame:
        """How likely each permanent value is for each person who can have it, in the `release` where that is most."""
        return self._posteriors

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person who could ever be linked to a permanent value the largest probability of any of them."""
        frames = [pl.DataFrame(schema=RISKS)]
        for one in self.chosen:
            at, largest = one.at, one.largest
            kinds = pl.Series(KINDS, dtype=pl.String).gather(largest.kind[at].astype(np.int64))
            frames.append(
                pl.DataFrame(
                    {
                        "person": one.people,
                        "probability": largest.probability[at],
                        "kind": kinds,
                        "low": largest.low[at],
                        "high": largest.high[at],
                    }
                )
            )
        likeliest = pl.col("probability").arg_max()
        return (
            pl.concat(frames)
            .group_by("person", maintain_order=True)
            .agg(
                pl.col("probability").get(likeliest),
                pl.col("kind").get(likeliest),
                pl.col("low").max(),
                pl.col("high").max(),
            )
            .sort("person")
        )

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
        if not isinstance(l, int) or isinstance(l, bool) or l < 1:
            raise ParameterError(
                f"The 'l' parameter of vulnerable must be a whole number of at least 1. Got {l!r} instead."
            )
        limit = Fraction(1, l)
        nobody = np.zeros(0, dtype=np.int64)
        linkable, above, certain, excluded, unknown = ([nobody] for _ in range(5))
        for one in self.chosen:
            kind = one.largest.kind[one.at]
            estimated = (kind == SAMPLED) & (one.largest.probability[one.at] > float(limit))
            linkable.append(one.people)
            above.append(one.people[_proven(one, limit) | estimated | one.excluded])
            certain.append(one.people[one.certain])
            excluded.append(one.people[one.excluded])
            unknown.append(one.people[(kind != EXACT) & (kind != SAMPLED) & ~_within(one, limit)])
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

    def _judge_passing(self, limit: Fraction, most: int) -> Judgement:
        """Values that are not permanent, each by its release alone."""
        known = self.knowledge.participation(self.published)
        passing = Passing.of(self.published, self.knowledge.permanent_values(self.published), known)
        beyond = passing.beyond(limit)
        highest = f"the highest share of one that is not permanent in a group is {float(passing.highest()):.3g}."
        if not beyond.size:
            return Judgement("within", f"{highest[0].upper()}{highest[1:]}")
        findings = tuple(passing.finding(self.published, int(entry)) for entry in beyond[: max(most, 0)])
        times = count_of(beyond.size, "value of a group is", "values of groups are")
        words = f"{times} so frequent in it that everybody there has it with more than {_told(limit)}; {highest}"
        return Judgement("beyond", words, findings, int(beyond.size))

    def _judge_lasting(self, limit: Fraction, most: int) -> Judgement:
        """Permanent values, by all releases together."""
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
            highest = max(float(one.largest.probability[one.at].max(initial=0.0)) for one in self.chosen)
            words = (
                f"{np.unique(people).size:,} of {of_all} are tied to it with more than {_told(limit)}; the highest "
                f"probability is {highest:.3g}. {certain} certain.{aside}"
            )
            return Judgement("beyond", words, findings, int(at.size))
        if self.undecided:
            return Judgement("undecided", f"Nobody is proven to be beyond {_told(limit)}, but: {self.undecided[0]}.")
        open_ = [np.flatnonzero(~_within(one, limit)) for one in self.chosen]
        if count := sum(some.size for some in open_):
            kinds = [one.largest.kind[one.at[some]] for one, some in zip(self.chosen, open_, strict=True)]
            sampled = bool((np.concatenate(kinds) == SAMPLED).all())
            status: Literal["sampled", "undecided"] = "sampled" if sampled else "undecided"
            words = (
                f"Nobody is proven to be beyond {_told(limit)}. For {count:,} of {of_all} it is not proven that "
                "they are within it."
            )
            return Judgement(status, words + aside)
        highest = max((float(one.largest.high[one.at].max(initial=0.0)) for one in self.chosen), default=0.0)
        counted = all(bool((one.largest.kind[one.at] == EXACT).all()) for one in self.chosen)
        top = f"the highest is {'' if counted else 'at most '}{highest:.3g}"
        return Judgement("within", f"Nobody of {of_all} is tied to it with more than {_told(limit)}; {top}.{aside}")

    def _found_beyond(self, limit: Fraction) -> tuple[Ints, Ints]:
        """Who is beyond a limit: which of the values, and which of its people; the worst first."""
        places = [np.flatnonzero(self._beyond(one, limit)) for one in self.chosen]
        nothing = np.zeros(0, dtype=np.int64)
        which = np.concatenate([nothing, *(np.full(some.size, k) for k, some in enumerate(places))])
        at = np.concatenate([nothing, *places])
        figures = (
            np.array([[]] * 2)
            if not places
            else np.concatenate(
                [
                    np.stack([one.largest.low[one.at[some]], one.largest.probability[one.at[some]]])
                    for one, some in zip(self.chosen, places, strict=True)
                ],
                axis=1,
            )
        )
        order = np.lexsort((at, -figures[1], -figures[0]))
        return which[order], at[order]

    def _how_many(self, what: Literal["certain", "excluded"]) -> int:
        nobody = np.zeros(0, dtype=np.int64)
        return int(np.unique(np.concatenate([nobody, *(one.people[getattr(one, what)] for one in self.chosen)])).size)

    def _figure(self, one: Chances, at: int) -> float:
        return float(one.largest.probability[one.at[at]])

    def _beyond(self, one: Chances, limit: Fraction) -> Bools:
        if self.knowledge.cohorts is not None and one.cohorts == 1 and not self._refuted(one):
            # Whether cohorts agree with the releases is not known. If somebody is certain, they do not.
            return one.certain & (limit < 1)
        at, largest = one.at, one.largest
        far = (largest.kind[at] == SAMPLED) & (
            largest.probability[at] - SURE * np.nan_to_num(largest.error[at], nan=1.0) > float(limit)
        )
        beyond: Bools = _proven(one, limit) | far
        return beyond

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
        return Finding(self.attack, "value", (person,), release, one.value, self._figure(one, at), kind, witness)

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


def _proven(one: Chances, limit: Fraction) -> Bools:
    """Who is proven to be above a limit: the largest exact figure of his entries is."""
    above: Bools = one.largest.rank[one.at] >= bisect_right(one.largest.exact, limit)
    return above


def _within(one: Chances, limit: Fraction) -> Bools:
    """Who is proven to be within it."""
    kind = one.largest.kind[one.at]
    exchanged = (kind == BOUNDED) & (one.cohorts > 1) & (Fraction(1, one.cohorts) <= limit)
    within: Bools = ((kind == EXACT) | exchanged | (limit >= 1)) & ~_proven(one, limit)
    return within


def _over(number: int | None, divisor: int) -> int | None:
    return None if number is None else number // divisor


def _told(limit: Fraction) -> str:
    return str(limit) if limit.denominator <= 1000 else f"{float(limit):g}"
