"""Why two sets of people have the same values, told in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from reissue.arrays.types import Ints
from reissue.attacks.sentences import Part, Person, Place, Sentence, Witness, enumeration, shortened
from reissue.errors import count_of
from reissue.model.memberships import Memberships
from reissue.reasoning.equality.equal_sets_search import Equalities, Source

SHOWN = 8
"""So many people or groups of a kind are enumerated at most."""


def told(people: Sequence[Part]) -> Sentence:
    """Some people, shortened when there are many, and never by one only."""
    shown = len(people) if len(people) <= SHOWN else SHOWN - 1
    return shortened(people[:shown], len(people), more="others")


class Witnesses:
    """Tells how equalities follow from groups."""

    def __init__(self, found: Equalities, where: Memberships) -> None:
        self._found, self._where = found, where

    def witness(self, one: Ints, other: Ints, source: Source) -> tuple[Witness, int | None]:
        """Why members, by position and as often as they count, are equal; and the release that completes it.

        There is no such release where people count as one who were found to be equal in other releases.
        """
        ways = self._found.ways
        weights = self._found.weights(source)
        substituted = self._substituted(weights, one, other)
        sentences = [(*self._claim(one, other), ": ", *self._comparison(weights, bool(substituted)), ".")]
        if substituted:
            people = told(self._people(np.array(substituted)))
            together = np.unique(self._found.names[substituted]).size == 1
            sentences.append(
                (*people, " have the same value, and count as one.")
                if together
                else ("Among ", *people, ", those who have the same value count as one.")
            )
        release = int(ways.release[list(weights)].max()) if weights and not substituted else None
        return Witness(tuple(sentences)), release

    def _claim(self, one: Ints, other: Ints) -> Sentence:
        first, second = self._people(one), self._people(other)
        if one.size == other.size == 1:
            return (*first, " and ", *second, " have the same value")
        return (*told(first), " together have the same values as ", *told(second))

    def _people(self, members: Ints) -> list[Part]:
        numbers = self._found.ways.numbers[members]
        return [Person(number) for number in sorted(numbers.tolist(), key=lambda number: (number < 0, number))]

    def _comparison(self, weights: dict[int, Fraction], substituted: bool) -> Sentence:
        scale = lcm(*(weight.denominator for weight in weights.values()))
        times = {group: int(weight * scale) for group, weight in sorted(weights.items())}
        begins = next(iter(times.values())) > 0
        sides = [{at: abs(n) for at, n in times.items() if (n > 0) == side} for side in (begins, not begins)]
        differ = "differ only in them"
        differ += f", each {scale:,} times as often" if scale > 1 else ""
        differ += " and in people found to be equal" if substituted else ""
        one, other = self._places(sides[0]), self._places(sides[1])
        if all(sum(side.values()) == 1 for side in sides):
            return (*one, " and ", *other, f" hold the same values and {differ}")
        both = [" together" if sum(side.values()) > 1 else "" for side in sides]
        return (*one, f"{both[0]} hold the same values as ", *other, f"{both[1]}, and {differ}")

    def _places(self, times: dict[int, int]) -> Sentence:
        ways = self._found.ways
        places: list[Part] = []
        for group, often in list(times.items())[:SHOWN]:
            place = Place(int(ways.release[group]), int(ways.group[group]))
            places += [place] * min(often, SHOWN)
        more = len(times) - SHOWN
        if more > 0:
            places.append(count_of(more, "more group"))
        return enumeration(places)

    def _substituted(self, weights: dict[int, Fraction], one: Ints, other: Ints) -> list[int]:
        """Members that the groups do not cancel, and that are gone because others are equal to them."""
        left: dict[int, Fraction] = {}
        for group, weight in weights.items():
            for member in self._where.member[self._where.starts[group] : self._where.starts[group + 1]].tolist():
                left[member] = left.get(member, Fraction(0)) + weight
        asked: dict[int, int] = {}
        for members, sign in ((one, 1), (other, -1)):
            for member in members.tolist():
                asked[member] = asked.get(member, 0) + sign
        ways = [sorted(at for at in {*left, *asked} if left.get(at, 0) != sign * asked.get(at, 0)) for sign in (1, -1)]
        return min(ways, key=len)
