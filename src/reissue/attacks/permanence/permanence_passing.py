"""Values that change freely: what one release tells about them tells nothing about another (Bu et al., Lemma 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.arrays.runs import totals
from reissue.arrays.types import Ints
from reissue.attacks.base import Finding
from reissue.attacks.sentences import Place, Value, Witness, some_people
from reissue.attacks.tied import tied_to, tied_together
from reissue.model.published import Published

SHOWN = 5
"""So many people are named of a group."""


@dataclass(frozen=True, repr=False)
class Passing:
    """How often each group shows each value that is not permanent, among how many people; one entry for each."""

    release: Ints
    """The position of the release in the view."""
    group: Ints
    value: Ints
    count: Ints
    people: Ints

    @classmethod
    def of(cls, published: Published, permanent: Ints, known: Mapping[int, frozenset[int]]) -> Passing:
        """Everything that the releases show of values that are not permanent.

        Of the people in `known` the numbers of the releases are known in which they are; in others they are not.
        """
        parts = []
        for at, release in enumerate(published.releases):
            group = release.value_groups
            other = ~np.isin(release.values, permanent)
            group = group[other]
            absent = [person for person, releases in known.items() if release.number not in releases]
            people = release.sizes - totals(np.isin(release.members, absent), release.member_starts)
            where = np.full(group.size, at)
            parts.append([where, group, release.values[other], release.counts[other], people[group]])
        columns = [np.concatenate([np.empty(0, dtype=np.int64), *some]) for some in zip(*parts, strict=True)]
        return cls(*columns)

    def highest(self) -> Fraction:
        """The largest probability of any of them."""
        if not self.count.size:
            return Fraction(0)
        worst = int(np.argmax(self.count / np.maximum(self.people, 1)))
        return min(Fraction(int(self.count[worst]), max(int(self.people[worst]), 1)), Fraction(1))

    def beyond(self, limit: Fraction) -> Ints:
        """The entries above a limit, the worst first."""
        above = np.flatnonzero(self.count * limit.denominator > self.people * limit.numerator)
        return above[np.argsort(-(self.count[above] / np.maximum(self.people[above], 1)), kind="stable")]

    def tied(self, published: Published, limit: Fraction) -> pl.DataFrame:
        """The people of the groups above a limit, each with the value that is so frequent there."""
        frames = []
        for entry in self.beyond(limit).tolist():
            release = published.releases[int(self.release[entry])]
            members = release.members_of(int(self.group[entry]))
            frames.append(tied_to(members, int(self.value[entry]), release.number))
        return tied_together(frames)

    def finding(self, published: Published, entry: int) -> Finding:
        """An entry in words."""
        release = published.releases[int(self.release[entry])]
        group, count, people = int(self.group[entry]), int(self.count[entry]), int(self.people[entry])
        members = release.members_of(group)
        named = [int(person) for person in members[members >= 0][:SHOWN]]
        place, value = Place(release.number, group + 1), Value(int(self.value[entry]))
        among = f" {count:,} times among {people:,} people who may be in it, such as "
        share = min(count / max(people, 1), 1.0)
        witness = Witness(((place, " shows ", value, among, *some_people(named, SHOWN), "."),))
        return Finding("Permanence", "value", tuple(named), release.number, value.position, share, "exact", witness)
