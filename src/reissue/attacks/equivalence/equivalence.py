"""Equivalence: sets of people whom the releases show to have the same values (He, Barman & Naughton 2011).

Who attacks: someone who knows who is in which group. What he does: he adds and subtracts groups, with any weights,
until the values cancel and few people are left. Those on one side then have the same values as those on the other;
the size of the attack is how many they are, counted as often as they take part (Definition 10). The smaller, the
worse: whoever knows the values of one side knows those of the other.

How it goes about it at any size is said in `reasoning.equality.equal_sets_search`. What it does not cover: that people
have the same values in all possible worlds although no linear combination shows it, which `Worlds` may see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.budget import budgeted
from reissue.arrays.types import Ints
from reissue.attacks.base import Attack, Finding, Findings, Judgement, Limits, OfSets
from reissue.attacks.equivalence.equivalence_witness import Witnesses
from reissue.attacks.sentences import Witness
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.reasoning.equality.equal_sets_known import certain_values
from reissue.reasoning.equality.equal_sets_parts import CELLS
from reissue.reasoning.equality.equal_sets_search import Equalities, Source, find_equalities
from reissue.reasoning.equality.minimum_equivalence import minimum_attack_of_matrices

__all__ = ["Equivalence", "EquivalenceFindings"]

Names = list[str | int]

REACH = 1_000
"""Pairs of people count as compared if weights of this sum, at least, are ruled out."""
EXPLAINED = 100
"""So many witnesses at most."""


@dataclass(frozen=True)
class Equivalence(Attack):
    """Sets of people with the same values, found by combining groups."""

    name: ClassVar[str] = "Equivalence"
    words: ClassVar[str] = (
        "Sets of people who must have the same values, because groups of several releases differ only in them "
        "(He, Barman & Naughton 2011)."
    )
    judges: ClassVar[tuple[str, ...]] = ("equivalence",)
    takes: ClassVar[Mapping[str, str]] = {"e": "equivalence"}
    rests_on: ClassVar[tuple[AssumptionName, ...]] = (
        "values-stay",
        "presence",
        "registry-complete",
        "cells-stay",
        "unperturbed",
        "suppressed-class",
    )
    static: ClassVar[bool] = True
    sets: ClassVar[OfSets] = "none"
    by_default: ClassVar[bool] = True

    e: int | None = None
    """Sets of fewer than this are looked for. None: the smallest, or, in large series, those of fewer than 5."""
    seconds: float = 60.0
    """The time for it. Comparing all pairs of groups takes as long as it takes."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("e", least=1, optional=True)
        validation.seconds(optional=False)
        validation.finish()

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> EquivalenceFindings:
        """Attack a series in which it is known who is in which group, and everybody there has one value."""
        if not (published.single and published.exact):
            raise ParameterError(
                "Equivalence needs a view in which it is known who is in which group, with one value each.",
                hint="give it people: a registry, or who is in which group.",
            )
        people, values = (knowledge or Knowledge()).known_values(published)
        found = find_equalities(published, self.e, self.seconds)
        return EquivalenceFindings(published, found, people, values, self.seconds)


class EquivalenceFindings(Findings):
    """Which sets of people have the same values."""

    attack: ClassVar[str] = Equivalence.name

    def __init__(
        self, published: Published, found: Equalities, known_people: Ints, known_values: Ints, seconds: float
    ) -> None:
        self.published = published
        self.found = found
        """The equalities in their compact form."""
        self._known_people, self._known_values, self._seconds = known_people, known_values, seconds
        self.searched, self.undecided = _said(found)

    def __repr__(self) -> str:
        return f"EquivalenceFindings({len(self.found.pairs):,} pairs, {len(self.found.sets):,} larger sets)"

    @property
    def minimum(self) -> int | None:
        """The size of the smallest attack found; None if there is none, or none of the sizes looked for."""
        return self.found.smallest

    @property
    def bound(self) -> int | None:
        """Nothing is below this size: proven. None: there is no attack of any size."""
        smallest, proven = self.found.smallest, self.found.bound
        if smallest is None:
            return proven
        return smallest if proven is None else min(smallest, proven)

    @property
    def minimum_kind(self) -> Literal["exact", "bounded"]:
        """`exact`: `minimum` is proven to be the smallest there is. `bounded`: none is below `bound`."""
        return "exact" if self.bound == self.minimum else "bounded"

    @cached_property
    def classes(self) -> list[Names]:
        """People who have the same value, two or more in each."""
        order = np.argsort(self.found.names, kind="stable")
        starts = np.flatnonzero(np.diff(self.found.names[order], prepend=-1))
        classes = [part for part in np.split(order, starts[1:]) if part.size > 1] if order.size else []
        return [self._names(self._numbers(members)) for members in classes]

    @cached_property
    def equivalent(self) -> list[tuple[Names, Names]]:
        """Minimal sets found equal, smallest first; who counts twice is named twice.

        Of people with the same value one pair with the first of them each; in larger sets the first stands for all.
        """
        pairs = [([names[0]], [name]) for names in self.classes for name in names[1:]]
        sides = (self._sides(at) for at in range(len(self.found.sets)))
        return pairs + [(self._names(self._numbers(one)), self._names(self._numbers(other))) for one, other in sides]

    def compromised(self, below: int) -> pl.DataFrame:
        """The people in a found set of fewer than `below`: `person`, and `size`, that of the smallest."""
        numbers, best = self.found.ways.numbers, self.found.best
        at = np.flatnonzero((best < below) & (numbers >= 0))
        people = pl.Series(
            "person", self._names(numbers[at]), dtype=pl.Int64 if self.published.people is None else None
        )
        return pl.DataFrame([people, pl.Series("size", best[at], dtype=pl.Int64)])

    @cached_property
    def by_values(self) -> pl.DataFrame:
        """The smallest attack on the groups of each set of values alone: `values`, `minimum` (null: none), `kind`."""
        parts = self.found.parts
        rows: list[dict[str, object]] = []
        for part in parts.buckets:
            values = parts.signatures.sets[int(parts.signatures.number[part.groups[0]])]
            row: dict[str, object] = {"values": [str(self.published.values[at]) for at in values.tolist()]}
            if part.bucket.cells <= CELLS:
                presence, people = part.bucket.presence(), part.bucket.people
                search = minimum_attack_of_matrices(presence, people, parts.values(part), seconds=self._seconds)
                row |= {"minimum": search.attack.size if search.attack else None}
                row |= {"kind": "exact" if search.decided else "bounded"}
            else:
                row |= {"minimum": None, "kind": "undecided"}
            rows.append(row)
        return pl.DataFrame(rows, schema=[("values", pl.List(pl.String)), ("minimum", pl.Int64), ("kind", pl.String)])

    @cached_property
    def certain(self) -> dict[str | int, object]:
        """Who has one value only, because of somebody known; the known left out."""
        members = np.searchsorted(self.found.ways.numbers, self._known_people)
        found = certain_values(self.found, members, self._known_values)
        numbers = self.found.ways.numbers
        return {
            self._name(int(numbers[member])): self.published.values[value]
            for member, value in sorted(found.items())
            if numbers[member] >= 0
        }

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the smallest sets are equal."""
        return tuple(finding.witness for finding in self._findings(None, EXPLAINED))

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Within if it is proven that nothing is below the limit, beyond if something was found."""
        limit = limits.equivalence
        if limit is None:
            return Judgement("not asked", "No limit was given that this attack could be held against.")
        exposed = self.compromised(limit).height
        if self.minimum is not None and self.minimum < limit:
            pairs, sets = len(self.found.pairs) if limit > 1 else 0, int(np.count_nonzero(self._sizes < limit))
            count = pairs + sets
            words = (
                f"{count_of(exposed, 'person is', 'people are')} in sets of fewer than {limit:,} that are shown to "
                f"have the same values as others: {count_of(pairs, 'pair')} of people and "
                f"{count_of(sets, 'larger set')}."
            )
            return Judgement("beyond", words, tuple(self._findings(limit, most)), count)
        if self.bound is None or self.bound >= limit:
            return Judgement("within", f"No two sets of fewer than {limit:,} people are shown to have the same values.")
        words = f"No equal sets of fewer than {limit:,} people were found, but that none exist is not proven"
        return Judgement("undecided", f"{words}: {'; '.join(self.undecided)}." if self.undecided else f"{words}.")

    @property
    def _sizes(self) -> Ints:
        return self.found.sets.norms // 2

    def _findings(self, below: int | None, most: int) -> list[Finding]:
        """What was found, the smallest sets first; sets of counterfeits alone are nobody's concern."""
        numbers, findings = self.found.ways.numbers, list[Finding]()
        witnesses = Witnesses(self.found, self.published.index)
        if below is None or below > 1:
            for one, other, source in self.found.pairs:
                if len(findings) >= most:
                    return findings
                if numbers[one] >= 0 or numbers[other] >= 0:
                    first, second = sorted((np.array([one]), np.array([other])), key=self._first)
                    findings.append(self._finding(first, second, witnesses, source))
        for at in range(len(self.found.sets)):
            if len(findings) >= most or (below is not None and self._sizes[at] >= below):
                break
            one_side, other_side = self._sides(at)
            if (numbers[one_side] >= 0).any() or (numbers[other_side] >= 0).any():
                findings.append(self._finding(one_side, other_side, witnesses, self.found.sources[at]))
        return findings

    def _finding(self, one: Ints, other: Ints, witnesses: Witnesses, source: Source) -> Finding:
        witness, release = witnesses.witness(one, other, source)
        everybody = self._numbers(np.unique(np.concatenate([one, other]))).tolist()
        return Finding(Equivalence.name, "equivalence", tuple(everybody), release, None, None, "exact", witness)

    def _sides(self, at: int) -> tuple[Ints, Ints]:
        """Both sides of a set as members, each as often as it counts; the one with the first person first."""
        sets = self.found.sets
        entries = slice(sets.starts[at], sets.starts[at + 1])
        members, counts = sets.places[entries], sets.counts[entries]
        one, other = (self._ordered(np.repeat(members, np.maximum(sign * counts, 0))) for sign in (1, -1))
        return (one, other) if self._first(one) < self._first(other) else (other, one)

    def _ordered(self, members: Ints) -> Ints:
        """People by number, then counterfeits."""
        numbers = self.found.ways.numbers[members]
        return members[np.lexsort((np.abs(numbers), numbers < 0))]

    def _first(self, members: Ints) -> tuple[bool, int]:
        number = int(self.found.ways.numbers[members[0]])
        return number < 0, abs(number)

    def _numbers(self, members: Ints) -> Ints:
        return self.found.ways.numbers[self._ordered(members)]

    def _names(self, numbers: Ints) -> Names:
        return [self._name(number) for number in numbers.tolist()]

    def _name(self, number: int) -> str | int:
        return number if number < 0 else self.published.name(number)


def _said(found: Equalities) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was searched completely, and what was not."""
    searched, undecided = [], []
    below = f"attacks below {found.below:,}"
    if found.certified:
        searched.append(f"{count_of(found.certified, 'bucket')}: no {below}, certified by the cut")
    structure = found.structure
    if structure is not None:
        near = f"{structure.pairs:,} of them differ in about half of their members or fewer"
        searched.append(f"all pairs of groups that hold the same values, equal people taken as one: {near}")
        if structure.finished and not structure.cut_short:
            searched.append(
                "all sums of two such differences, and their sums with others, while somebody is found in a smaller set"
            )
        elif structure.cut_short:
            undecided.append("sums of differences were looked at only where both are attacks: there are too many")
        else:
            undecided.append("the time ran out before all sums of two differences had been looked at")
    what = "the whole series" if found.together else count_of(found.exact, "bucket")
    if found.exact:
        searched.append(f"{what}: everybody's smallest of all {below}, exactly")
    if found.open:
        why = f"too large, or the time ran out, for an exact search for {below}"
        if found.together:
            tangled = found.parts.tangled
            apart = f" ({tangled}, so that buckets cannot be searched one by one)" if tangled else ""
            undecided.append(f"combinations of more groups in the whole series{apart}: {why}")
        else:
            undecided.append(f"combinations of more groups in {count_of(found.open, 'bucket')}: {why}")
    pairs = found.projection
    if pairs is not None and pairs.reach >= REACH:
        most = "any size" if pairs.reach > 1e12 else f"at most {int(pairs.reach):,} in all"
        searched.append(f"all pairs of people in the rest: nobody else is made equal to somebody by weights of {most}")
    elif pairs is not None:
        undecided.append("whether more pairs of people are equal: the time ran out before all were compared")
    if pairs is not None and pairs.likely:
        undecided.append(f"{count_of(pairs.likely, 'pair')} of people who look equal: no proof was found in time")
    if found.bound is None:
        searched.append("the whole series: there is no attack of any size")
    return tuple(searched), tuple(undecided)
