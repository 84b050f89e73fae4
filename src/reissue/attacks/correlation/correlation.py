"""Correlation: what follows from compromised people through historical correlations (Riboni & Bettini 2009).

Who attacks: someone who knows who is in which group, and the values of some people. What he does: where two groups
of different releases publish the same values and share some people, not all, he concludes that the others on one
side have the same values as those on the other; and he rules values out by the paper's two restriction functions,
to the end (`reasoning.correlation.correlations` says how). What he learns is which values are left for everybody.

What it does not cover: longer chains of groups, which `Equivalence` follows, and how often values occur where
several people share them, which `Worlds` weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from reissue.arrays.budget import OutOfTime, budgeted, ends_after
from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import Attack, Finding, Findings, Judgement, Limits, OfSets, need_whole
from reissue.attacks.correlation.correlation_witness import Derivations, correlation
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import ruled_out_by
from reissue.errors import InternalError, ParameterError, count_of
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.reasoning.correlation.correlations import Correlations, Restrictions, bits
from reissue.reasoning.correlation.restriction import n_choose, p_ct, p_hc, p_pb

__all__ = ["Correlation", "CorrelationFindings", "n_choose", "p_ct", "p_hc", "p_pb"]

Names = list[str | int]

LISTED = 1_000
"""So many correlations are listed at most; they are all counted."""
EXPLAINED = 100
"""So many people at most have their derivation among the witnesses."""


@dataclass(frozen=True)
class Correlation(Attack):
    """Historical correlations, and what they and compromised people rule out."""

    name: ClassVar[str] = "Correlation"
    words: ClassVar[str] = (
        "Groups that hold the same values and share people, and what follows for the others when the values of some "
        "are known (Riboni & Bettini 2009)."
    )
    judges: ClassVar[tuple[str, ...]] = ("probability", "equivalence", "correlation")
    rests_on: ClassVar[tuple[AssumptionName, ...]] = (
        "values-stay",
        "presence",
        "registry-complete",
        "cells-stay",
        "unperturbed",
        "suppressed-class",
    )
    static: ClassVar[bool] = True
    sets: ClassVar[OfSets] = "bridge"
    by_default: ClassVar[bool] = True

    n: int | None = None
    """With this, groups with a correlation between fewer than n people count as beyond the limits too."""
    seconds: float | None = None
    """The time for ruling out; None: until nothing more follows."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("n", least=1, optional=True)
        validation.seconds()
        validation.finish()

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> CorrelationFindings:
        """Attack a series in which every member has one value."""
        if not published.single:
            raise ParameterError(
                "Correlation needs a view in which every member has exactly one value.",
                hint="give it people: a registry, or who is in which group.",
            )
        deadline = ends_after(self.seconds)
        people = values = np.zeros(0, dtype=np.int64)
        if knowledge is not None and knowledge.compromised:
            people, values = knowledge.known_values(published)
        found = Correlations.of(published)
        try:
            left, late = found.restrictions(people, values, len(published.values), deadline), False
        except OutOfTime:
            left, late = None, True
        return CorrelationFindings(published, found, left, people, values, self.n, late)


class CorrelationFindings(Findings):
    """What correlations and compromised people leave of everybody's secrets."""

    attack: ClassVar[str] = Correlation.name

    def __init__(
        self,
        published: Published,
        found: Correlations,
        left: Restrictions | None,
        known_people: Ints,
        known_values: Ints,
        n: int | None = None,
        late: bool = False,
    ) -> None:
        self.published = published
        self.found = found
        """The correlations in their compact form."""
        self._left, self._n = left, n
        self._known_people, self._known_values = known_people, known_values
        groups = found.release.size
        self.searched = (f"all historical correlations between {count_of(found.known, 'group')} with known members",)
        undecided = []
        if found.known < groups:
            which = count_of(groups - found.known, "group")
            undecided.append(f"{which} of {groups:,} were not correlated: it is not known who all their members are")
        if left is None and late:
            undecided.append("the time ran out before it was known which values the groups of each person share")
        elif left is None:
            undecided.append("there are too many distinct values to keep everybody's in memory: none were ruled out")
        elif left.contradictory:
            undecided.append(
                "the groups and what is known contradict each other: a value changed, or is not what it was thought"
            )
        elif left.complete:
            self.searched += ("everything that follows by both restriction functions, applied to the end",)
        else:
            undecided.append("time or memory ran out before both restriction functions had ruled out all they can")
        self.undecided = tuple(undecided)

    def __repr__(self) -> str:
        return f"CorrelationFindings({self.found.known:,} groups, {self.certain_people.size:,} people certain)"

    # The correlations themselves

    @property
    def count(self) -> int:
        """How many pairs of sets of people are correlated, exactly; each counted once."""
        return self.found.count

    @cached_property
    def correlations(self) -> list[tuple[Names, Names]]:
        """Pairs of sets of people that have the same values, smallest first; the first 1,000."""
        return [(self._names(pair.one), self._names(pair.other)) for pair in self.found.smallest(LISTED)]

    def unsafe(self, n: int) -> pl.DataFrame:
        """The hc-unsafe groups with degree n (Definition 7): correlated in sets of fewer than n people.

        `release`, `group`, `smallest` (the size of the smallest such set), and `when_published`: whether it was so
        already when the release came out, or only since a later one.
        """
        need_whole(n, "n", "unsafe")
        before = self.found.smallest_before
        smallest = np.minimum(before, self.found.smallest_after)
        at = np.flatnonzero(smallest < n)
        return pl.DataFrame(
            {
                "release": self.found.release[at],
                "group": self.found.group[at],
                "smallest": smallest[at],
                "when_published": before[at] < n,
            }
        )

    def unsafe_counts(self, n: int) -> pl.DataFrame:
        """For each release its `groups`, how many of them are hc-unsafe, and how many were when it came out."""
        groups = pl.DataFrame(
            {
                "release": [release.number for release in self.published.releases],
                "groups": [release.group_count for release in self.published.releases],
            },
            schema={"release": pl.Int64, "groups": pl.Int64},
        )
        unsafe = (
            self.unsafe(n)
            .group_by("release")
            .agg(unsafe=pl.len().cast(pl.Int64), unsafe_when_published=pl.col("when_published").sum().cast(pl.Int64))
        )
        return groups.join(unsafe, on="release", how="left", maintain_order="left").fill_null(0)

    # What is left for everybody

    @cached_property
    def _counts(self) -> tuple[Ints, Ints]:
        """How many values the groups alone leave each member, and how many are left in the end."""
        if self._left is None or self._left.contradictory:
            # Nothing was ruled out, or nothing that was means anything.
            none = np.zeros(self.found.where.people.size, dtype=np.int64)
            return none, none
        sets = (self._left.before, self._left.after)
        before, after = (np.bitwise_count(words).sum(axis=1).astype(np.int64) for words in sets)
        return before, after

    @cached_property
    def _at_risk(self) -> Bools:
        """Real people who were not known beforehand, among the members."""
        people = self.found.where.people
        return (people >= 0) & ~np.isin(people, self._known_people)

    @cached_property
    def certain_people(self) -> Ints:
        """Those who can have one value only, by number; known people left out."""
        certain: Ints = self.found.where.people[self._at_risk & (self._counts[1] == 1)]
        return certain

    def values_left(self, person: int) -> list[int]:
        """The positions of the values left for a person, by number."""
        at = int(np.searchsorted(self.found.where.people, person))
        if at == self.found.where.people.size or self.found.where.people[at] != person or not self._counts[1][at]:
            return list(range(len(self.published.values)))
        if self._left is None:
            raise InternalError("values were counted that were not kept")
        return list(bits(self._left.after[at]))

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have one value only, with that value: proven. Known people left out."""
        return {
            self.published.name(person): self.published.values[self.values_left(person)[0]]
            for person in self.certain_people.tolist()
        }

    @property
    def restricted(self) -> dict[str | int, list[object]]:
        """Who has fewer values left than his groups alone leave, but several, with those values."""
        before, after = self._counts
        people = self.found.where.people[self._at_risk & (after < before) & (after > 1)]
        return {
            self.published.name(person): [self.published.values[value] for value in self.values_left(person)]
            for person in people.tolist()
        }

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values that one of their groups shows and that they cannot have: proven."""
        where, found = self.found.where, {}
        for at in np.flatnonzero(self._at_risk & (self._counts[1] > 0)).tolist():
            groups = where.groups[where.group_starts[at] : where.group_starts[at + 1]].tolist()
            shown: set[int] = set()
            for group in groups:
                shown.update(self.found.values[slice(*self.found.value_starts[group : group + 2])].tolist())
            if len(shown) > self._counts[1][at]:
                person = int(where.people[at])
                cannot = sorted(shown.difference(self.values_left(person)))
                found[self.published.name(person)] = [self.published.values[value] for value in cannot]
        return found

    @property
    def ruled_out(self) -> pl.DataFrame | None:
        """The same as one table."""
        if self._left is None:
            return None
        asked = self._at_risk & (self._counts[1] > 0)
        return ruled_out_by(self.published, self.found.where.people, self._left.after, asked)

    # Why, and whether it is too much

    @cached_property
    def _derivations(self) -> Derivations:
        if self._left is None:
            raise InternalError("values were derived that were not kept")
        return Derivations(self.found, self._left, self._known_people, self._known_values)

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """How the people who are certain were found out, or, if nobody is, the smallest correlations."""
        certain = self.certain_people[:EXPLAINED].tolist()
        if certain:
            return tuple(self._derivations.witness(person)[0] for person in certain)
        return tuple(finding.witness for finding in self._unsafe_findings(None, EXPLAINED))

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Hold what was found against limits.

        Who has k values left has one of them with a probability of at least 1/k: that proves what is beyond. What
        is within is within for this attack alone, which weighs no values against each other.
        """
        apart = [degree for degree in (self._n, limits.equivalence, limits.correlation) if degree is not None]
        if limits.probability is None and not apart:
            return Judgement("not asked", "No limit was given that this attack could be held against.")
        if self.found.known == 0 and self.found.where.people.size == 0:
            return Judgement("not asked", "It is not known who is in any group, so nothing can be correlated.")
        findings: list[Finding] = []
        words, count, beyond = [], 0, False
        if limits.probability is not None:
            found, told, many = self._by_probability(limits.probability, most)
            findings, count, beyond = findings + found, count + many, many > 0
            words.append(told)
        if apart:
            degree = max(apart)
            many = self.unsafe(degree).height
            findings += self._unsafe_findings(degree, most - len(findings))
            count, beyond = count + many, beyond or many > 0
            of = count_of(self.found.release.size, "group")
            words.append(f"{many:,} of {of} are correlated with others in sets of fewer than {degree:,} people.")
        told = " ".join(words)
        if beyond:
            return Judgement("beyond", told, tuple(findings), count)
        if self._left is None or self._left.contradictory or not self._left.complete:
            return Judgement("undecided", f"{told} Not decided: {'; '.join(self.undecided)}.")
        return Judgement("within", told)

    def _by_probability(self, limit: Fraction, most: int) -> tuple[list[Finding], str, int]:
        left = np.where(self._at_risk, self._counts[1], 0)
        if not (left > 0).any():
            return [], "Nothing is known about anybody's values.", 0
        fewest = int(left[left > 0].min())
        # 1/k > limit, in whole numbers.
        exposed = np.flatnonzero((left > 0) & (left * limit.numerator < limit.denominator))
        if not exposed.size:
            return [], f"This attack alone leaves everybody at least {count_of(fewest, 'value')}.", 0
        worst = exposed[np.argsort(left[exposed], kind="stable")[: max(most, 0)]]
        certain, told = self.certain_people.size, []
        others = int(exposed.size) - certain
        if certain:
            told.append(f"{count_of(certain, 'person is', 'people are')} certain to have one value")
        if others:
            told.append(f"{count_of(others, 'person has', 'people have')} so few values left that one is too likely")
        return [self._exposed(at) for at in worst.tolist()], f"{'; '.join(told)}.", int(exposed.size)

    def _exposed(self, at: int) -> Finding:
        person = int(self.found.where.people[at])
        witness, release = self._derivations.witness(person)
        return Finding.of_few(Correlation.name, person, release, self.values_left(person), witness)

    def _unsafe_findings(self, degree: int | None, most: int) -> list[Finding]:
        """The smallest correlations, below a degree if one is given."""
        found = []
        for pair in self.found.smallest(max(most, 0)):
            if degree is not None and pair.one.size >= degree:
                break
            people = tuple(sorted((*pair.one.tolist(), *pair.other.tolist()), key=lambda person: (person < 0, person)))
            witness, release = correlation(self.found, pair)
            found.append(Finding(Correlation.name, "correlation", people, release, None, None, "exact", witness))
        return found

    def _names(self, people: Ints) -> Names:
        return [self.published.name(person) for person in people.tolist()]
