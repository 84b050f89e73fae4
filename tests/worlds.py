"""Series of a few people as plain lists, views of them, and every world that agrees with them.

A series is what an outsider sees: releases of groups, a group as its members and its values, who has which not said.
A world says what everybody has. Here worlds are written down one after the other and nothing is inferred, so that
whatever the library infers can be held against them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from reissue.model.published import Published, PublishedGroups

P = TypeVar("P", int, str)
"""A person: a name, or a number, which for a counterfeit is below 0."""
V = TypeVar("V")
"""A value."""


# Views


def released(
    number: int,
    groups: Sequence[tuple[Iterable[int], Sequence[V]]],
    values: Sequence[V],
    *,
    rng: np.random.Generator | None = None,
    **more: Any,
) -> PublishedGroups:
    """One release as it is published. With `rng`, members and values of a group in no particular order."""
    members = [list(who) if rng is None else rng.permutation(list(who)).tolist() for who, _ in groups]
    counted = [Counter(values.index(value) for value in held) for _, held in groups]
    orders = [sorted(held) if rng is None else rng.permutation(sorted(held)).tolist() for held in counted]
    return PublishedGroups(
        number,
        np.array([person for who in members for person in who], dtype=np.int64),
        np.cumsum([0, *map(len, members)]),
        np.array([value for order in orders for value in order], dtype=np.int64),
        np.array([held[value] for held, order in zip(counted, orders, strict=True) for value in order], dtype=np.int64),
        np.cumsum([0, *map(len, orders)]),
        **more,
    )


def view(
    series: Sequence[Sequence[tuple[Iterable[int], Sequence[Any]]]],
    values: Sequence[Any] | None = None,
    *,
    first: int = 1,
    rng: np.random.Generator | None = None,
) -> Published:
    """A series of numbered people; `values` are those that occur, in their order, where nothing else is said."""
    values = values_in(series) if values is None else values
    releases = tuple(released(number, groups, values, rng=rng) for number, groups in enumerate(series, first))
    numeric = bool(values) and all(isinstance(value, int | float) for value in values)
    return Published(releases, tuple(values), np.array(values, dtype=np.float64) if numeric else None)


def views_one_by_one(
    series: Sequence[Sequence[tuple[Iterable[int], Sequence[Any]]]], *, rng: np.random.Generator | None = None
) -> Iterator[Published]:
    """Releases as they are when drafted: values of later ones are not known yet, so that positions shift."""
    for number, groups in enumerate(series, 1):
        yield view([groups], values_in(series[:number]), first=number, rng=rng)


def values_in(series: Iterable[Iterable[tuple[Iterable[Any], Iterable[V]]]]) -> list[V]:
    """All values that occur, in order."""
    return sorted({value for groups in series for _, held in groups for value in held})  # type: ignore[type-var]


def series_of(published: Published) -> list[list[tuple[list[int], list[int]]]]:
    """A view as plain lists again: people as numbers, values as their positions."""
    return [
        [
            (
                release.members[release.member_starts[group] : release.member_starts[group + 1]].tolist(),
                np.repeat(release.values[held], release.counts[held]).tolist(),
            )
            for group in range(release.group_count)
            for held in [slice(release.value_starts[group], release.value_starts[group + 1])]
        ]
        for release in published.releases
    ]


# Worlds


def worlds(
    series: Iterable[Iterable[tuple[Sequence[P], Iterable[V]]]], known: Mapping[P, V] | None = None
) -> Iterator[dict[P, V]]:
    """Everybody's value in all ways that agree with every group of every release, and with what is known."""
    known = known or {}
    where: dict[P, list[Counter[V]]] = {}
    even = True
    for groups in series:
        for members, held in groups:
            left = Counter(held)
            for who in members:
                where.setdefault(who, []).append(left)
            even &= len(members) == left.total()
    order = list(where)
    world: dict[P, V] = {}

    def choose(at: int) -> Iterator[dict[P, V]]:
        if at == len(order):
            yield dict(world)
            return
        groups = where[order[at]]
        for value in [known[order[at]]] if order[at] in known else list(groups[0]):
            if all(left[value] > 0 for left in groups):
                for left in groups:
                    left[value] -= 1
                world[order[at]] = value
                yield from choose(at + 1)
                for left in groups:
                    left[value] += 1

    return choose(0) if even else iter(())


def possible(
    series: Iterable[Iterable[tuple[Sequence[P], Iterable[V]]]], known: Mapping[P, V] | None = None
) -> dict[P, Counter[V]]:
    """In how many worlds everybody has which value."""
    found: dict[P, Counter[V]] = {}
    for world in worlds(series, known):
        for who, value in world.items():
            found.setdefault(who, Counter())[value] += 1
    return found


def components(series: Iterable[Iterable[tuple[Iterable[P], Iterable[Any]]]]) -> list[set[P]]:
    """People who share groups, directly or through others: what one component has says nothing about another."""
    found: list[set[P]] = []
    for groups in series:
        for members, _ in groups:
            touching = [part for part in found if part & set(members)]
            found = [part for part in found if part not in touching]
            found.append(set(members).union(*touching))
    return found


class AllWorlds(NamedTuple):
    """Every world as a table, for series that have many."""

    people: list[Any]
    values: list[Any]
    table: npt.NDArray[np.int8]
    """A row for each world, a column for each person: the position of the value."""

    @classmethod
    def of(cls, series: Iterable[Iterable[tuple[Sequence[Any], Sequence[Any]]]]) -> AllWorlds:
        """All ways to give people values; a group's values are a multiset, so that counts must agree."""
        groups = [group for release in series for group in release]
        assert all(len(members) == len(held) for members, held in groups)
        people = sorted({who for members, _ in groups for who in members})
        values = values_in([groups])
        table = np.zeros((1, 0), dtype=np.int8)
        for at, who in enumerate(people):
            fresh = np.tile(np.arange(len(values), dtype=np.int8), table.shape[0])
            table = np.hstack([np.repeat(table, len(values), axis=0), fresh[:, None]])
            for members, held in groups:
                if who in members:
                    here = [place for place, one in enumerate(people[: at + 1]) if one in members]
                    for value, name in enumerate(values):
                        table = table[(table[:, here] == value).sum(axis=1) <= list(held).count(name)]
        return cls(people, values, table)

    def given(self, known: Mapping[Any, Any]) -> npt.NDArray[np.int8]:
        """The worlds in which people have what they are known to have."""
        at = [self.people.index(who) for who in known]
        return self.table[(self.table[:, at] == [self.values.index(value) for value in known.values()]).all(axis=1)]

    def left(self, known: Mapping[Any, Any]) -> dict[Any, set[Any]]:
        """The values that each person can have."""
        table = self.given(known)
        return {who: {self.values[value] for value in np.unique(table[:, at])} for at, who in enumerate(self.people)}

    def equal(self) -> list[tuple[Any, Any]]:
        """The pairs of people who have the same value in all worlds."""
        return [
            (one, other)
            for (i, one), (j, other) in combinations(enumerate(self.people), 2)
            if (self.table[:, i] == self.table[:, j]).all()
        ]


# Series at random


def random_series(
    rng: random.Random, people: Sequence[P], values: Sequence[V], *, releases: int, present: float = 0.8, cuts: int = 3
) -> list[list[tuple[list[P], list[V]]]]:
    """People who come, go and are grouped anew, and always have the value that they have."""
    truth = {who: rng.choice(values) for who in people}
    series = []
    for _ in range(releases):
        here = [who for who in people if rng.random() < present]
        rng.shuffle(here)
        places = sorted({0, len(here), *(rng.randint(0, len(here)) for _ in range(cuts))})
        groups = [here[a:b] for a, b in pairwise(places)]
        series.append([(group, [truth[who] for who in group]) for group in groups])
    return series
