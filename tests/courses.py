"""Every course of values through a small series, written down one after the other: nothing is inferred here.

A course says what everybody has in every release they are in. It agrees with a series if every group has its values;
with a model of change if few enough people have two different values, and if every value may follow the one before.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

Series = Sequence[Sequence[tuple[Sequence[int], Sequence[str]]]]
Course = dict[tuple[int, int], str]
"""By person and release, counted from 0."""


def courses(series: Series) -> Iterator[Course]:
    """Everybody's value in every release, in all ways that agree with every group."""
    groups = [(at, members, values) for at, release in enumerate(series) for members, values in release]
    ways = [sorted(set(permutations(values))) for _, _, values in groups]
    for chosen in product(*ways):
        course: Course = {}
        for (at, members, _), values in zip(groups, chosen, strict=True):
            course.update({(who, at): value for who, value in zip(members, values, strict=True)})
        yield course


def lives(course: Course) -> dict[int, list[tuple[int, str]]]:
    """For each person their releases and values, in order."""
    found: dict[int, list[tuple[int, str]]] = {}
    for (who, at), value in sorted(course.items()):
        found.setdefault(who, []).append((at, value))
    return found


def changed(course: Course) -> int:
    """How many people have two different values."""
    return sum(len({value for _, value in life}) > 1 for life in lives(course).values())


def step_chances(
    values: Sequence[str], shown: Mapping[str, int], rate: Fraction, follows: Mapping[str, Sequence[str]] | None
) -> dict[tuple[str, str], Fraction]:
    """How likely a value is another one at the next release, by the definition."""
    table = {}
    for value in values:
        others = [one for one in values if one != value and (value not in (follows or {}) or one in follows[value])]
        total = sum(shown[one] for one in others)
        for one in values:
            if one == value:
                table[value, one] = 1 - rate if total else Fraction(1)
            else:
                table[value, one] = rate * Fraction(shown[one], total) if one in others else Fraction(0)
    return table


def reachable(value: str, later: str, steps: int, values: Sequence[str], follows: Mapping[str, Any] | None) -> bool:
    """Whether one value can have become another within so many steps, one at a time."""
    there = {value}
    for _ in range(steps):
        there |= {one for at in there for one in values if at not in (follows or {}) or one in (follows or {})[at]}
    return later in there


def weight(course: Course, table: Mapping[tuple[str, str], Fraction] | None, values: Sequence[str]) -> Fraction:
    """How likely a course is, up to a factor."""
    if table is None:
        return Fraction(1)
    found = Fraction(1)
    for life in lives(course).values():
        for (at, value), (then, later) in pairwise(life):
            law = {value: Fraction(1)}
            for _ in range(then - at):
                law = {one: sum((law[mid] * table[mid, one] for mid in law), Fraction(0)) for one in values}
            found *= law[later]
    return found


def by_force(
    series: Series,
    *,
    people: int | None = None,
    rate: Fraction | None = None,
    follows: Mapping[str, Sequence[str]] | None = None,
    known: Mapping[int, str] | None = None,
) -> dict[tuple[int, int], dict[str, Fraction]]:
    """For each person and release how likely each value is; nothing where no course agrees. `known`: at the last."""
    values = sorted({value for release in series for _, held in release for value in held})
    shown = Counter(value for release in series for _, held in release for value in held)
    table = None if rate is None else step_chances(values, shown, rate, follows)
    total = Fraction(0)
    found: dict[tuple[int, int], dict[str, Fraction]] = {}
    for course in courses(series):
        own = lives(course)
        if people is not None and changed(course) > people:
            continue
        if any(own[who][-1][1] != value for who, value in (known or {}).items()):
            continue
        if not all(
            reachable(value, later, then - at, values, follows)
            for life in own.values()
            for (at, value), (then, later) in pairwise(life)
        ):
            continue
        heavy = weight(course, table, values)
        total += heavy
        for place, value in course.items():
            held = found.setdefault(place, {})
            held[value] = held.get(value, Fraction(0)) + heavy
    return {place: {value: heavy / total for value, heavy in held.items()} for place, held in found.items()}


def least_changes(series: Series) -> int:
    """How few people must have two different values."""
    return min(changed(course) for course in courses(series))


def changing_series(
    rng: random.Random, *, people: int = 5, releases: int = 3, values: str = "abc", change: float = 0.2
) -> tuple[list[list[tuple[list[int], list[str]]]], Course]:
    """A small series in which values change and people come and go, and the truth behind it."""
    holds = {who: rng.choice(values) for who in range(people)}
    series, truth = [], {}
    for at in range(releases):
        present = [who for who in holds if rng.random() < 0.85] or [0]
        for who in holds:
            if at and rng.random() < change:
                holds[who] = rng.choice(values)
        rng.shuffle(present)
        groups = []
        while present:
            size = min(rng.choice([1, 2, 2, 3]), len(present))
            members, present = sorted(present[:size]), present[size:]
            groups.append((members, sorted(holds[who] for who in members)))
        series.append(groups)
        truth.update({(who, at): holds[who] for members, _ in groups for who in members})
    return series, truth
