"""Linked lives against brute force: dependent rounding with fractions, every branch of it, and the compiled one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from changing_sets import Number, given, sampford
from profiles import seeds, sized
from published_sets import designs_of, labels_of, view_of_sets
from set_tracking import TableChain, linked_posterior, static_emission, tracked

from reissue.attacks import Tracking
from reissue.attacks.base import Limits
from reissue.errors import InternalError, ParameterError
from reissue.reasoning.alternatives.linking import (
    check_chain,
    crowding,
    feasible,
    largest_m,
    moved_lives,
    possible,
    powers,
    widened,
)

Edges = dict[tuple[int, int], Fraction]
Lives = tuple[int, ...]


# The reference: any cycle or path, chosen by the open edges alone, with fractions


def way_of(edges: Edges, rng: random.Random) -> list[tuple[int, int]]:
    """Open edges along a cycle, or along a path between two columns with one open edge each."""
    open_edges = [edge for edge, x in sorted(edges.items()) if 0 < x < 1]
    single = [edge for edge in open_edges if sum(column == edge[1] for _, column in open_edges) == 1]
    way = [rng.choice(single or open_edges)]
    by_row = True
    while True:
        row, column = way[-1]
        ahead = [
            edge
            for edge in open_edges
            if edge != way[-1] and (edge[0] == row if by_row else edge[1] == column) and edge not in way[1:]
        ]
        if not ahead:
            return way
        way.append(rng.choice(ahead))
        by_row = not by_row
        # A node that was there before closes a cycle: rows after a step by a column, columns after a step by a row.
        for start in range(len(way) - 2):
            row, column = way[-1]
            back = way[start]
            if by_row and row == back[0] and (len(way) - start) % 2 == 0:
                return way[start:]
            if not by_row and column == back[1] and (len(way) - start) % 2 == 0:
                return way[start:]


def rounded(edges: Edges, true: tuple[int, int] | None, number: int) -> dict[Lives, Fraction]:
    """The chance of every outcome; with `true`, given that this edge ends at 1, by the factors of its own changes."""
    if all(x in (0, 1) for x in edges.values()):
        return {tuple(column for (_, column), x in sorted(edges.items()) if x == 1): Fraction(1)}
    key = repr(sorted(edges.items()))
    way = way_of(edges, random.Random(f"{number} {key}"))
    up = min(1 - edges[edge] if place % 2 == 0 else edges[edge] for place, edge in enumerate(way))
    down = min(edges[edge] if place % 2 == 0 else 1 - edges[edge] for place, edge in enumerate(way))
    law: dict[Lives, Fraction] = defaultdict(Fraction)
    for change, chance in ((up, down / (up + down)), (-down, up / (up + down))):
        after = dict(edges)
        for place, edge in enumerate(way):
            after[edge] += change if place % 2 == 0 else -change
        if true is not None:
            chance *= after[true] / edges[true]
        if chance:
            for lives, more in rounded(after, true, number).items():
                law[lives] += chance * more
    return law


def edges_of(table: Sequence[Sequence[Fraction]], lives: Lives) -> Edges:
    return {(row, column): x for row, v in enumerate(lives) for column, x in enumerate(table[v]) if x}


def random_table(rng: random.Random, values: int) -> list[list[Fraction]]:
    """Rows and columns add up to 1: a mixture of permutations, with some that stay."""
    table = [[Fraction(0)] * values for _ in range(values)]
    weights = [rng.randint(1, 6) for _ in range(rng.randint(2, 4))]
    for weight in weights:
        order = list(range(values))
        if rng.random() < 0.7:
            rng.shuffle(order)
        for v, u in enumerate(order):
            table[v][u] += Fraction(weight, sum(weights))
    return table


def scaled_table(rates: Sequence[Fraction]) -> list[list[Fraction]]:
    """T(a, .) = (1 - c_a) at a and c_a g, with g in proportion to c: every set can move."""
    total = sum(rates)
    return [[(1 - rate) * (v == u) + rate * c / total for u, c in enumerate(rates)] for v, rate in enumerate(rates)]


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_all_lives_are_equally_likely(seed: int) -> None:
    """P(all lives, true = i) for random chains over three releases: the same for every i, with fractions."""
    rng = random.Random(seed)
    dense = seed % 3 == 0
    values = 3 if dense else rng.randint(3, 4)
    m = 2 if dense else rng.randint(2, 3)
    table = random_table(rng, values)
    if dense:
        table = scaled_table([Fraction(rng.randint(1, 9), 10) for _ in range(values)])
    shares = [Fraction(1, values)] * values
    chances: dict[Any, Fraction] = {}
    for v in range(values):
        for chosen, chance in given(sampford(shares, m), v).items():
            chances[((chosen,), chosen.index(v))] = shares[v] * chance
    for _ in range(2):
        following: dict[Any, Fraction] = defaultdict(Fraction)
        for (lives, true), chance in chances.items():
            edges = edges_of(table, lives[-1])
            law = rounded(edges, None, seed)
            for row, v in enumerate(lives[-1]):
                for u, x in enumerate(table[v]):
                    assert sum(p for after, p in law.items() if after[row] == u) == x
            for u, move in enumerate(table[lives[-1][true]]):
                if move:
                    for after, more in rounded(edges, (true, u), seed).items():
                        assert len(set(after)) == m
                        assert more == law[after] / move
                        following[((*lives, after), true)] += chance * move * more
        chances = following
    for lives in {lives for lives, _ in chances}:
        assert len({chances.get((lives, true), Fraction(0)) for true in range(m)}) == 1
    assert sum(chances.values()) == 1


# The compiled one


def compiled_law(table: Any, slots: Any, lives: Lives, true: int, to: int, count: int) -> dict[Lives, float]:
    """What comes of evenly spaced words: every branch is an interval of them, so that its share is nearly exact."""
    spaced = ((np.arange(count, dtype=np.uint64) * np.uint64(2**64 // count)) + np.uint64(2**63 // count))[:, None]

    def words(rows: Any, round_: int) -> Any:
        return spaced[rows] if round_ == 0 else np.full((rows.size, 1), 2**63, np.uint64)

    people = np.tile(np.array(lives), (count, 1))
    every = np.zeros(count, np.int64)
    after = moved_lives(people, every + true, every + to, table[None], every, slots, words)
    found, counts = np.unique(after, axis=0, return_counts=True)
    return {tuple(row): number / count for row, number in zip(found.tolist(), counts.tolist(), strict=True)}


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_compiled_moves(seed: int) -> None:
    """Marginals T, all different, and T(x_i, x'_i) times the law given i is the same for every i."""
    rng = random.Random(seed)
    values = rng.randint(3, 7)
    m = rng.randint(2, min(4, values))
    table = np.array(random_table(rng, values), dtype=float)
    if seed % 3 == 0:
        table = np.array(scaled_table([Fraction(rng.randint(1, 9), 10) for _ in range(values)]), dtype=float)
    slots, lives = [1] * values, tuple(rng.sample(range(values), m))
    count = sized(1 << 13, 1 << 17)
    joint: list[dict[Lives, float]] = []
    for true in range(m):
        law: dict[Lives, float] = defaultdict(float)
        for to in range(values):
            if table[lives[true], to] > 0:
                for after, share in compiled_law(table, np.array(slots), lives, true, to, count).items():
                    assert after[true] == to
                    assert len(set(after)) == m
                    law[after] += table[lives[true], to] * share
        joint.append(law)
    near = 100 / count
    for law in joint[1:]:
        assert all(abs(law.get(after, 0) - joint[0].get(after, 0)) < near for after in {*law, *joint[0]})
    for row, v in enumerate(lives):
        for u in range(values):
            assert abs(sum(share for after, share in joint[0].items() if after[row] == u) - table[v, u]) < near


def test_many_values_and_more_words() -> None:
    """Forty values, five lives; words come one at a time, and those who need more go on where they were."""
    rng = np.random.default_rng(1)
    size, m, people = 40, 5, 4000
    rates, law = rng.uniform(0.3, 0.4, size), rng.dirichlet(np.full(size, 5.0))
    table = np.diag(1 - rates) + rates[:, None] * law
    check_chain(table, law, np.ones(size, np.int64), m)
    lives = np.argsort(rng.random((people, size)), axis=1)[:, :m]
    true, which = rng.integers(0, m, people), rng.integers(1, 3, people)
    tables = powers(table, 2)
    assert tables[2] == pytest.approx(table @ table)
    chances = np.cumsum(tables[which, lives[np.arange(people), true]], axis=1)
    to = np.minimum((chances < rng.random((people, 1))).sum(axis=1), size - 1)
    drawn = rng.integers(0, 2**64, (people, 20), dtype=np.uint64)
    asked = []

    def words(rows: Any, round_: int) -> Any:
        asked.append(rows.size)
        return drawn[rows, round_ : round_ + 1]

    after = moved_lives(lives, true, to, tables, which, np.ones(size, np.int64), words)
    assert len(asked) > 1
    assert asked == sorted(asked, reverse=True)
    assert (after[np.arange(people), true] == to).all()
    assert (np.diff(np.sort(after, axis=1), axis=1) > 0).all()
    assert (
        after == moved_lives(lives, true, to, tables, which, np.ones(size, np.int64), lambda rows, _: drawn[rows])
    ).all()
    expected = tables[which[:, None], lives].sum(axis=(0, 1))
    assert (np.abs(np.bincount(after.ravel(), minlength=size) - expected) < 5 * np.sqrt(expected)).all()


def test_moves_that_cannot_be() -> None:
    table = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    one, few = np.zeros(1, np.int64), np.ones(3, np.int64)
    assert possible(np.array([0, 0]), np.array([1, 2]), table[None], np.zeros(2, np.int64)).tolist() == [True, False]
    with pytest.raises(InternalError, match="as the declared chain does not"):
        moved_lives(
            np.array([[0, 1]]), one, one + 2, table[None], one, few, lambda rows, _: np.zeros((1, 4), np.uint64)
        )
    crowd = np.array([[0.2, 0.8], [0.0, 1.0]])
    with pytest.raises(InternalError, match="check_chain"):
        moved_lives(
            np.array([[0, 1]]), one, one + 1, crowd[None], one, few, lambda rows, _: np.zeros((1, 4), np.uint64)
        )


# Which chains can be


@pytest.mark.parametrize("seed", seeds(30, 300))
def test_what_is_feasible(seed: int) -> None:
    """Against all sets, and against the existence of a law: Hall's condition over all ways to be different."""
    rng = np.random.default_rng(seed)
    values = int(rng.integers(3, 6))
    table = rng.dirichlet(np.full(values, rng.choice([0.3, 1, 5])), values)
    if seed % 2:
        rates = rng.uniform(0, 1, values)
        table = np.diag(1 - rates) + rates[:, None] * rng.dirichlet(np.full(values, 5.0))
    fits = {}
    for m in range(1, values + 1):
        sets = np.array(list(combinations(range(values), m)))
        expected = [bool((table[list(chosen)].sum(axis=0) <= 1 + 1e-11).all()) for chosen in sets]
        assert feasible(table, sets, np.ones(values, np.int64)).tolist() == expected
        fits[m] = all(expected)
        if all(expected):
            check_chain(table, np.full(values, 1 / values), np.ones(values, np.int64), m)
        else:
            with pytest.raises(ParameterError, match=f"With m = {m}"):
                check_chain(table, np.full(values, 1 / values), np.ones(values, np.int64), m)
    assert largest_m(table) == max(m for m in fits if all(fits[k] for k in range(1, m + 1)))


def test_feasible_is_when_a_law_exists() -> None:
    """For two lives: a law with these marginals and no two alike, found or refuted as a transport between values."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        one, other = rng.dirichlet(np.full(4, 0.6), 2)
        # By Hall, what values A of one life can go with is everything, or everything but the value if A has just one.
        exists = all(one[v] <= 1 - other[v] + 1e-12 for v in range(4))
        assert feasible(np.stack([one, other]), np.array([[0, 1]]), np.ones(4, np.int64))[0] == exists


def test_rates_by_value_as_the_page_says() -> None:
    """g(v) sum c_i <= c_v inside the set, and <= 1 outside; a permanent value that can be caught never fits."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        rates, law = rng.uniform(0, 1, 5), rng.dirichlet(np.full(5, 3.0))
        table = np.diag(1 - rates) + rates[:, None] * law
        for chosen in combinations(range(5), 3):
            total = rates[list(chosen)].sum()
            expected = all(law[v] * total <= (rates[v] if v in chosen else 1) for v in range(5))
            assert feasible(table, np.array([chosen]), np.ones(5, np.int64))[0] == expected
    rates[0] = 0
    assert largest_m(np.diag(1 - rates) + rates[:, None] * law) == 1
    assert largest_m(np.diag(1 - rates) + rates[:, None] * rates / rates.sum()) == 5


def test_values_without_a_share_that_are_moved_to_count() -> None:
    table = np.array([[0.5, 0.5, 0, 0], [0.2, 0.2, 0.6, 0], [0, 0, 1, 0], [0, 0, 1, 0]])
    with pytest.raises(ParameterError, match=r"1 value of 3 .*\n?.*"):
        check_chain(table, np.array([0.5, 0.5, 0, 0]), np.ones(4, np.int64), 2)


# Values with several slots: several lives may be at one value


def crowds(slots: Sequence[int], m: int) -> list[Lives]:
    """Every multiset of m values with no more of one than it has slots."""
    every = combinations_with_replacement(range(len(slots)), m)
    return [chosen for chosen in every if all(chosen.count(v) <= slots[v] for v in chosen)]


def table_with_room(rng: random.Random, values: int, m: int) -> tuple[list[list[Fraction]], list[int]]:
    """A random chain, and the fewest slots that let every multiset move on; some value has several."""
    while True:
        weights = [[rng.randint(0, 4) + 6 * (v == u) * rng.randint(0, 1) for u in range(values)] for v in range(values)]
        if not all(map(any, weights)):
            continue
        table = [[Fraction(x, sum(row)) for x in row] for row in weights]
        slots = widened(np.array(table, dtype=float), np.ones(values, np.int64), m, np.full(values, m)).tolist()
        if 1 < max(slots) < m or (m == 2 and max(slots) == 2):
            return table, slots


@pytest.mark.parametrize("seed", seeds(20, 300))
def test_crowding_is_the_largest_sum(seed: int) -> None:
    """Against every multiset; and with one slot fewer for a value that was widened, some set cannot move on."""
    rng = random.Random(seed)
    values, m = rng.randint(3, 5), rng.randint(2, 4)
    table, slots = table_with_room(rng, values, m)
    numbers = np.array(table, dtype=float)
    own = [rng.randint(1, m) for _ in range(values)]
    for asked in (own, slots):
        sums = [[sum(table[x][v] for x in chosen) for v in range(values)] for chosen in crowds(asked, m)]
        largest = [max(column) for column in zip(*sums, strict=True)]
        assert crowding(numbers, np.array(asked), m) == pytest.approx([float(one) for one in largest], abs=1e-12)
    check_chain(numbers, np.full(values, 1 / values), np.array(slots), m)
    assert feasible(numbers, np.array(crowds(slots, m)), np.array(slots)).all()
    fewer = [k - (k == max(slots)) for k in slots]
    if not crowds(fewer, m):
        return
    assert not feasible(numbers, np.array(crowds(fewer, m)), np.array(fewer)).all()
    with pytest.raises(ParameterError, match="more lives must go than it has slots"):
        check_chain(numbers, np.full(values, 1 / values), np.array(fewer), m)


@pytest.mark.parametrize("seed", seeds(12, 150))
def test_lives_at_one_value(seed: int) -> None:
    """Three releases with fractions: the value has (its lives)/m at each time, given all lives; by brute force over
    which life is true, drawn anew among those at the true value."""
    rng = random.Random(seed)
    values, m = 3, rng.randint(2, 3)
    table, slots = table_with_room(rng, values, m)
    starts = [chosen for chosen in crowds(slots, m) if all(chosen.count(v) == slots[v] for v in chosen)] or crowds(
        slots, m
    )
    design = {chosen: Fraction(rng.randint(1, 4)) for chosen in starts}
    total = sum(design.values())
    # Whoever has v gets S with P(S) times its places of v, so that every place of S is true with 1/m.
    courses: dict[Any, Fraction] = defaultdict(Fraction)
    for chosen, weight in design.items():
        for v in chosen:
            courses[((chosen,), (v,))] += weight / total / m
    for _ in range(2):
        following: dict[Any, Fraction] = defaultdict(Fraction)
        for (lives, course), chance in courses.items():
            edges, last = edges_of(table, lives[-1]), course[-1]
            places = [at for at, v in enumerate(lives[-1]) if v == last]
            for u, move in enumerate(table[last]):
                for true in places if move else []:
                    for after, more in rounded(edges, (true, u), seed).items():
                        assert all(after.count(v) <= slots[v] for v in after)
                        following[((*lives, after), (*course, u))] += chance * move * more / len(places)
        courses = following
    assert sum(courses.values()) == 1
    for lives in {lives for lives, _ in courses}:
        whole = sum(chance for (those, _), chance in courses.items() if those == lives)
        for time, there in enumerate(lives):
            for v in set(there):
                mine = sum(p for (those, course), p in courses.items() if those == lives and course[time] == v)
                assert mine / whole == Fraction(there.count(v), m)


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_compiled_moves_to_values_with_room(seed: int) -> None:
    """Marginals T, at most the slots at a value, and the same joint law whichever life is true."""
    rng = random.Random(1000 + seed)
    values, m = rng.randint(3, 6), rng.randint(2, 4)
    exact, slots = table_with_room(rng, values, m)
    table = np.array(exact, dtype=float)
    lives = rng.choice(crowds(slots, m))
    count = sized(1 << 13, 1 << 17)
    joint: list[dict[Lives, float]] = []
    for true in range(m):
        law: dict[Lives, float] = defaultdict(float)
        for to in np.flatnonzero(table[lives[true]]).tolist():
            for after, share in compiled_law(table, np.array(slots), lives, true, to, count).items():
                assert after[true] == to
                assert all(after.count(v) <= slots[v] for v in after)
                law[after] += table[lives[true], to] * share
        joint.append(law)
    near = 100 / count
    for law in joint[1:]:
        assert all(abs(law.get(after, 0) - joint[0].get(after, 0)) < near for after in {*law, *joint[0]})
    for row, v in enumerate(lives):
        for u in range(values):
            assert abs(sum(share for after, share in joint[0].items() if after[row] == u) - table[v, u]) < near


# What is known of lives


@pytest.mark.parametrize("seed", seeds(8, 100))
def test_lives_under_another_chain(seed: int) -> None:
    """Brute force over who is true; absences let T' and T work twice."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    values, m = 4, 2
    table = random_table(rng, values)
    other, first = numbers.dirichlet(np.ones(values), values), numbers.dirichlet(np.ones(values))
    shares = [Fraction(1, values)] * values
    inside = [0, 1, 3]
    chances: dict[Any, Number] = {}
    for v in range(values):
        for chosen, chance in given(sampford(shares, m), v).items():
            chances[((chosen,), chosen.index(v))] = first[v] * float(chance)
    for since, now in pairwise(inside):
        step = [[Fraction(int(v == u)) for u in range(values)] for v in range(values)]
        for _ in range(now - since):
            step = [[sum(row[k] * table[k][u] for k in range(values)) for u in range(values)] for row in step]  # type: ignore[misc]
        power = np.linalg.matrix_power(other, now - since)
        following: dict[Any, Number] = defaultdict(float)
        for (lives, true), chance in chances.items():
            edges = edges_of(step, lives[-1])
            for u, move in enumerate(step[lives[-1][true]]):
                if move:
                    for after, more in rounded(edges, (true, u), seed).items():
                        following[((*lives, after), true)] += chance * power[lives[-1][true], u] * float(more)
        chances = following
    seen = sorted({lives for lives, _ in chances})
    arrays = np.arange(len(seen) + 1) * 3, np.tile(inside, len(seen)), np.array(seen).reshape(-1, m)
    declared, uniform = TableChain(np.array(table, dtype=float)), np.full(values, 1 / values)
    told = linked_posterior(*arrays, declared, uniform, TableChain(other), first)
    for lives, row in zip(seen, told, strict=True):
        weights = np.array([chances[lives, true] for true in range(m)])
        assert row == pytest.approx(weights / weights.sum(), abs=1e-12)
    exact = linked_posterior(*arrays, declared, uniform, declared, uniform)
    assert exact == pytest.approx(np.full(exact.shape, 1 / m), abs=1e-12)


@pytest.mark.parametrize("seed", seeds(2, 60))
def test_tracking_lives_at_one_value(seed: int) -> None:
    """Brute force over every course of the true value, for somebody with another chain and other shares; with the
    declared ones a value has as many of the m lives as are there."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    shares, slots, m = [0.6, 0.2, 0.1, 0.1], {0: 2}, 3
    # From b, c and d one in three goes to a, which half of those who are there leave: two lives at most are there.
    table = [[Fraction(1, 2), *[Fraction(1, 6)] * 3]]
    table += [[Fraction(1, 3), *(Fraction(1, 3) * (v == u) + Fraction(1, 9) for u in range(3))] for v in range(3)]
    labels, room = labels_of(4), np.array([2, 1, 1, 1])
    check_chain(np.array(table, dtype=float), np.array(shares), room, m)
    other, first = numbers.dirichlet(np.ones(4), 4), numbers.dirichlet(np.ones(4))

    def written(chain: Any) -> dict[str, dict[str, float]]:
        return {a: dict(zip(labels, map(float, row), strict=True)) for a, row in zip(labels, chain, strict=True)}

    start = rng.choice([lives for lives in permutations((0, 0, 1, 2, 3), 3) if sorted(lives)[:2] == [0, 0]])
    courses: dict[Any, float] = {}
    for v in set(start):
        courses[((start,), (v,))] = first[v] * start.count(v) / shares[v]
    for _ in range(2):
        following: dict[Any, float] = defaultdict(float)
        for (lives, course), chance in courses.items():
            edges, last = edges_of(table, lives[-1]), course[-1]
            places = [at for at, v in enumerate(lives[-1]) if v == last]
            for u in range(4):
                for true in places:
                    for after, more in rounded(edges, (true, u), seed).items():
                        weight = chance * other[last, u] * float(more) / len(places)
                        following[((*lives, after), (*course, u))] += weight
        courses = following
    seen = sorted({lives for lives, _ in courses})
    designs = replace(designs_of([shares], m, written(table), slots), linked=True)
    view = view_of_sets([{at: lives[time] for at, lives in enumerate(seen)} for time in range(3)], designs)
    declared = Tracking().run(view)
    told = Tracking(change=written(other), prior=dict(zip(labels, first, strict=True))).run(view)
    crowded = 0
    for at, lives in enumerate(seen):
        mine = {course: p for (those, course), p in courses.items() if those == lives}
        for time, there in enumerate(lives):
            crowded += there.count(0) == 2
            for v in set(there):
                expected = sum(p for course, p in mine.items() if course[time] == v) / sum(mine.values())
                assert float(told.probability(at, labels[v], time + 1)) == pytest.approx(expected, abs=1e-12)
                assert declared.probability(at, labels[v], time + 1) == Fraction(there.count(v), m)
    assert crowded > len(seen)
    assert declared.judge(Limits(Fraction(2, 3))).status == "within"
    assert declared.judge(Limits(Fraction(1, 3))).status == "beyond"


@pytest.mark.parametrize(("releases", "figure"), [(2, 0.818), (3, 0.976)])
def test_renewal_where_linked_lives_are_needed(releases: int, figure: float) -> None:
    """The page: 0.82 to 0.98 against 1/3. Rates .9 .9 .1 .1 .1 with g as c is, even shares, each value its own coin."""
    rates = np.array([0.9, 0.9, 0.1, 0.1, 0.1])
    law = rates / rates.sum()
    table = np.diag(1 - rates) + rates[:, None] * law
    assert largest_m(table) == 5
    design = sampford([0.2] * 5, 3)
    every = np.array(list(design))
    grid = np.stack(np.meshgrid(*[np.arange(len(every))] * releases, indexing="ij"), axis=-1).reshape(-1, releases)
    sets = every[grid].reshape(-1, 3)
    starts, at = np.arange(len(grid) + 1) * releases, np.tile(np.arange(releases), len(grid))
    chance = np.log(np.array(list(design.values())))[grid].ravel()
    drawn, _ = static_emission(chance, sets, 3, np.full(5, 0.2), np.ones(5, np.int64))
    coin = (rates * law / (1 - rates + rates * law))[sets]
    told = tracked(starts, at, sets, drawn, coin, TableChain(table), np.full(5, 0.2))
    assert told.posterior.max() == pytest.approx(figure, abs=5e-4)
