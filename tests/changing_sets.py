"""Sets of alternatives for one person, by brute force: every course of values, every course of sets, with its chance.

Designs are dictionaries from sets to chances, worked out here from their definition and not by the library. Numbers are
fractions or floats, as the caller likes. A mechanism says the chances of the next set after a course of values (the
newest last) and the sets before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

Number = Any
"""A fraction or a float."""
Set = tuple[int, ...]
Law = Mapping[Any, Number]
Course = tuple[int, ...]
Then = Callable[[Course, tuple[Set, ...]], Law]
Table = Sequence[Sequence[Number]]

FIVE = [0.3, 0.25, 0.2, 0.15, 0.1]
M = 3
"""The shares and the size of most worked figures."""


def random_shares(rng: np.random.Generator, values: int, most: float) -> list[float]:
    """Shares of which none is above `most`; some are at it."""
    while True:
        shares = rng.dirichlet(np.full(values, rng.choice([0.7, 2, 20])))
        shares = np.minimum(shares, most)
        shares[np.argmin(shares)] += 1 - shares.sum()
        if (shares <= most + 1e-12).all() and (shares > 0.01).all():
            return [float(share) for share in shares]


def coin(rate: float, shares: Sequence[float]) -> list[float]:
    """The page's coin, by hand."""
    return [rate * share / (1 - rate + rate * share) for share in shares]


def sampford(shares: Sequence[Number], m: int) -> dict[Set, Number]:
    """Sampford's design (1967) for m of the values with a share; the shares add up to 1 and none is above 1/m."""
    pi = [m * share for share in shares]
    sure = [v for v, chance in enumerate(pi) if abs(chance - 1) < 1e-12]
    free = [v for v, chance in enumerate(pi) if chance > 0 and v not in sure]
    some: dict[Set, Number] = {}
    for chosen in combinations(free, m - len(sure)):
        weight = prod((pi[v] / (1 - pi[v]) for v in chosen), start=Fraction(1))
        some[tuple(sorted((*sure, *chosen)))] = weight * (sum(1 - pi[v] for v in chosen) if chosen else 1)
    total = sum(some.values())
    return {chosen: weight / total for chosen, weight in some.items()}


def with_a_large_one(shares: Sequence[Number], m: int, slots: int) -> dict[Set, Number]:
    """A design in which value 0 takes so many of the m slots whenever it is in the set."""
    inside = shares[0] * m / slots
    others = [0 * share if v == 0 else share / (1 - shares[0]) for v, share in enumerate(shares)]
    law = {(0, *chosen): inside * chance for chosen, chance in sampford(others, m - slots).items()}
    return {**law, **{chosen: (1 - inside) * chance for chosen, chance in sampford(others, m).items()}}


def given(design: Law, value: int) -> dict[Set, Number]:
    """The sets of somebody with this value: those that it is in, in proportion."""
    with_it = {chosen: chance for chosen, chance in design.items() if value in chosen}
    total = sum(with_it.values())
    return {chosen: chance / total for chosen, chance in with_it.items()}


def renewal_table(rate: Number, shares: Sequence[Number]) -> list[list[Number]]:
    """(1 - c) I + c 1 p'."""
    return [[(1 - rate) * (v == u) + rate * share for u, share in enumerate(shares)] for v in range(len(shares))]


def product(one: Table, other: Table) -> list[list[Number]]:
    return [[sum(row[k] * other[k][u] for k in range(len(other))) for u in range(len(other))] for row in one]


def courses(first: Sequence[Number], steps: Sequence[Table], begin: Callable[[int], Law], then: Sequence[Then]) -> Law:
    """The chance of every (values, sets), with the law of the first value and a table for each step."""
    known: dict[Any, Number] = {}
    for v, share in enumerate(first):
        if share:
            for chosen, chance in begin(v).items():
                known[((v,), (chosen,))] = share * chance
    for step, table in enumerate(steps):
        following: dict[Any, Number] = defaultdict(int)
        for (values, sets), chance in known.items():
            for u, move in enumerate(table[values[-1]]):
                if move:
                    for chosen, more in then[step]((*values, u), sets).items():
                        if more:
                            following[((*values, u), (*sets, chosen))] += chance * move * more
        known = following
    return known


def posteriors(known: Law) -> dict[tuple[Set, ...], list[dict[int, Number]]]:
    """For every course of sets and every time, the chance of each value that can be the true one."""
    total: dict[Any, Number] = defaultdict(int)
    of_value: dict[Any, Number] = defaultdict(int)
    for (values, sets), chance in known.items():
        total[sets] += chance
        for time, v in enumerate(values):
            of_value[sets, time, v] += chance
    found: dict[tuple[Set, ...], list[dict[int, Number]]] = {}
    for (sets, time, v), chance in of_value.items():
        found.setdefault(sets, [{} for _ in sets])[time][v] = chance / total[sets]
    return found


def largest(known: Law) -> Number:
    """The largest chance of any value at any time after any course of sets."""
    return max(chance for times in posteriors(known).values() for values in times for chance in values.values())


def renewing(design: Law, coin: Sequence[Number]) -> Then:
    """A new set for whoever's value changed, and for the others by a coin that depends on the value."""
    sets_of = {v: given(design, v) for chosen in design for v in chosen}

    def then(values: Course, sets: tuple[Set, ...]) -> Law:
        old, new = values[-2:]
        if old != new:
            return sets_of[new]
        law = {chosen: coin[new] * chance for chosen, chance in sets_of[new].items()}
        law[sets[-1]] = law.get(sets[-1], 0) + 1 - coin[new]
        return law

    return then


def permanent_table(rate: float, shares: Sequence[float], permanent: Sequence[bool]) -> list[list[float]]:
    """Redrawn with chance c, but for those who have a permanent value."""
    table = renewal_table(rate, shares)
    return [[float(u == v) for u in range(len(shares))] if permanent[v] else row for v, row in enumerate(table)]


def carrying(law: Sequence[Number], m: int, permanent: Sequence[bool], toss: Sequence[Number]) -> Then:
    """A new set is K, the permanent values of the one before, and others by the law outside K."""

    def fresh(new: int, before: Set) -> Law:
        held = [v for v in before if permanent[v]]
        if len(held) == m:
            return {before: 1}
        rest = 1 - sum(law[v] for v in held)
        others: Law = sampford([0 if v in held else share / rest for v, share in enumerate(law)], m - len(held))
        others = others if new in held else given(others, new)
        return {tuple(sorted((*held, *chosen))): chance for chosen, chance in others.items()}

    def then(values: Course, sets: tuple[Set, ...]) -> Law:
        old, new = values[-2:]
        if old != new:
            return fresh(new, sets[-1])
        chances = {chosen: toss[new] * chance for chosen, chance in fresh(new, sets[-1]).items()}
        chances[sets[-1]] = chances.get(sets[-1], 0) + 1 - toss[new]
        return chances

    return then
