"""Sets of whole records against brute force: a walk with fractions, every branch of it, and the compiled one."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds, sized
from real_data import FOLDER, needs

from reissue.errors import Infeasible, InternalError, ParameterError, PolicyError
from reissue.methods.alternatives import record_reference
from reissue.methods.alternatives.record_reference import noised_records
from reissue.methods.alternatives.reference import OTHERS
from reissue.model.record_design import RecordDesign
from reissue.model.records import record_text
from reissue.model.snapshot import Column, Labels
from reissue.reasoning.alternatives.record_designing import record_design_of, stated_factor
from reissue.reasoning.alternatives.record_excess import counts_of, excess, factor, repeated
from reissue.reasoning.alternatives.record_flight import draw_records, every_course, law_of, tree_of, walk_ends
from reissue.reasoning.alternatives.record_scoring import RecordPairs, column_scores, enough_draws, typical_sets

Set = tuple[int, ...]
Law = dict[Set, Fraction]


# The reference: directions from the null space, chosen by where the walk is, with fractions


def null_space(rows: list[list[Fraction]], width: int) -> list[list[Fraction]]:
    """A basis of what all rows turn into 0."""
    rows, pivots = [list(row) for row in rows], []
    for column in range(width):
        at = len(pivots)
        found = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        rows[at] = [x / rows[at][column] for x in rows[at]]
        for i in range(len(rows)):
            if i != at and rows[i][column]:
                rows[i] = [x - rows[i][column] * y for x, y in zip(rows[i], rows[at], strict=True)]
        pivots.append(column)
    basis = []
    for column in sorted({*range(width)} - {*pivots}):
        way = [Fraction(0)] * width
        way[column] = Fraction(1)
        for at, pivot in enumerate(pivots):
            way[pivot] = -rows[at][column]
        basis.append(way)
    return basis


class Walk:
    """A walk to whole numbers within limits; those of `yielding` columns may be moved out by one when nothing goes."""

    def __init__(self, design: RecordDesign, x: Sequence[Fraction], number: int) -> None:
        self.design, self.number = design, number
        self.records = [tuple(record) for record in design.records.tolist()]
        room = {(c, v): int(k) for c, own in enumerate(design.room) for v, k in enumerate(own)}
        self.start = (tuple(x), tuple(sorted(room.items())))

    def law(self, true: int | None) -> Law:
        return self._law(*self.start, true)

    def _law(self, x: tuple[Fraction, ...], room: tuple[Any, ...], true: int | None) -> Law:
        limits = dict(room)
        sums: dict[Any, Fraction] = defaultdict(Fraction)
        for record, one in zip(self.records, x, strict=True):
            for c, v in enumerate(record):
                sums[c, v] += one
        free = [r for r, one in enumerate(x) if 0 < one < int(self.design.most[r])]
        held = [limit for limit, total in sums.items() if total == limits[limit]]
        rows = [[Fraction(1)] * len(free)]
        rows += [[Fraction(self.records[r][c] == v) for r in free] for c, v in held]
        basis = null_space(rows, len(free))
        rng = random.Random(f"{self.number} {x} {room}")
        if not basis:
            if all(one.denominator == 1 for one in x):
                return {tuple(r for r, one in enumerate(x) for _ in range(int(one))): Fraction(1)}
            moved = rng.choice([limit for limit in sorted(held) if limit[0] in self.design.yielding])
            limits[moved] += 1
            return self._law(x, tuple(sorted(limits.items())), true)
        parts = [rng.randint(-2, 2) for _ in basis]
        if not any(parts):
            parts[0] = 1
        mixed = [sum(k * way[i] for k, way in zip(parts, basis, strict=True)) for i in range(len(free))]
        way = dict(zip(free, mixed, strict=True))
        reach = []
        for sign in (1, -1):
            far = [
                (int(self.design.most[r]) - x[r]) / (sign * d) if sign * d > 0 else x[r] / (-sign * d)
                for r, d in way.items()
                if d
            ]
            for c, v in sums:
                change = sign * sum(d for r, d in way.items() if self.records[r][c] == v)
                if change > 0:
                    far.append((limits[c, v] - sums[c, v]) / change)
            reach.append(min(far))
        up, down = reach
        law: Law = defaultdict(Fraction)
        for step, chance in ((up, down / (up + down)), (-down, up / (up + down))):
            after = tuple(one + step * way.get(r, 0) for r, one in enumerate(x))
            if true is not None:
                chance *= after[true] / x[true]
            if chance:
                for chosen, more in self._law(after, room, true).items():
                    law[chosen] += chance * more
        return law


def small_design(seed: int, columns: int, most: int = 6) -> tuple[RecordDesign, list[Fraction]]:
    """A few records at random, with shares that are fractions; and these shares."""
    rng = random.Random(seed)
    size = [rng.randint(2, 3) for _ in range(columns)]
    every = list(np.ndindex(*size))
    records = rng.sample(every, min(len(every), rng.randint(4, most)))
    weights = [rng.randint(1, 6) for _ in records]
    shares = [Fraction(w, sum(weights)) for w in weights]
    m = rng.randint(2, 4)
    return record_design_of(np.array(records), np.array(shares, dtype=float), m, size), shares


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("seed", seeds(30, 400))
def test_whatever_way_the_walk_goes(seed: int, columns: int) -> None:
    """With fractions: P(S | r) = P(S) n_r(S) / (m p_r); so records have n_r / m, values (those with it) / m."""
    design, shares = small_design(seed, columns)
    walk = Walk(design, [design.m * share for share in shares], seed)
    law = walk.law(None)
    assert sum(law.values()) == 1
    given = [walk.law(r) for r in range(len(shares))]
    for chosen, chance in law.items():
        assert len(chosen) == design.m
        for r, share in enumerate(shares):
            assert given[r].get(chosen, 0) == chance * chosen.count(r) / (design.m * share)
        seen = sum(share * own.get(chosen, 0) for share, own in zip(shares, given, strict=True))
        for c, room in enumerate(design.room):
            values = [int(design.records[r, c]) for r in chosen]
            for v in set(values):
                mine = sum(
                    share * given[r].get(chosen, 0) for r, share in enumerate(shares) if design.records[r, c] == v
                )
                assert mine / seen == Fraction(values.count(v), design.m)
                if c not in design.yielding:
                    assert values.count(v) <= room[v]
    for r, share in enumerate(shares):
        assert sum(given[r].values()) == 1
        assert sum(chance * chosen.count(r) for chosen, chance in law.items()) == design.m * share


# The compiled one


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("seed", seeds(10, 200))
def test_every_course_of_the_compiled_walk(seed: int, columns: int) -> None:
    """The same of all its courses, to 1e-12; with records taken singly, and in a tree of them."""
    design, _ = small_design(seed, columns, most=5)
    together = (0.1, 1.0, 4.0)[seed % 3]
    sets, chances = law_of(design, together=together)
    law = dict(zip(map(tuple, sets.tolist()), chances.tolist(), strict=True))
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    for c, room in enumerate(design.room):
        assert c in design.yielding or (counts_of(design, sets, c) <= room).all()
    for r, expected in enumerate(design.expected):
        assert chances @ (sets == r).sum(axis=1) == pytest.approx(expected, abs=1e-12)
        assert (sets == r).sum(axis=1).max() <= design.most[r]
        own, given = law_of(design, r, together)
        assert given.sum() == pytest.approx(1, abs=1e-12)
        for chosen, chance in zip(map(tuple, own.tolist()), given.tolist(), strict=True):
            assert chance == pytest.approx(law[chosen] * chosen.count(r) / expected, abs=1e-12)


def spaced(count: int) -> Any:
    """Evenly spaced words: every branch is an interval of them, so that its share is nearly exact."""
    words = ((np.arange(count, dtype=np.uint64) * np.uint64(2**64 // count)) + np.uint64(2**63 // count))[:, None]
    return lambda rows, number: words[rows] if number == 0 else np.full((rows.size, 1), 2**63, np.uint64)


@pytest.mark.parametrize("seed", seeds(8, 100))
def test_words_give_the_law(seed: int) -> None:
    design, _ = small_design(100 + seed, 2 + seed % 2, most=5)
    count = sized(1 << 14, 1 << 17)
    for true in (-1, 0, len(design.records) - 1):
        sets, chances = law_of(design, true)
        courses = sum(1 for _ in every_course(tree_of(design), true))
        drawn = Counter(map(tuple, walk_ends(design, np.full(count, true), spaced(count)).tolist()))
        assert {*drawn} <= {tuple(one) for one in sets.tolist()}
        for chosen, chance in zip(map(tuple, sets.tolist()), chances.tolist(), strict=True):
            # Each course is an interval, whose share is off by at most one word, up or down.
            assert abs(drawn[chosen] / count - chance) < 6 * np.sqrt(courses) / count


def test_four_records_by_hand() -> None:
    """Two columns of two values, each once in two records: 00 always stands beside 11, and 01 beside 10."""
    records = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    design = RecordDesign(2, records, np.full(4, 0.25), np.ones(4, int), (np.ones(2, int), np.ones(2, int)))
    sets, chances = law_of(design)
    law = dict(zip(map(tuple, sets.tolist()), chances.tolist(), strict=True))
    assert law == pytest.approx({(0, 3): 0.5, (1, 2): 0.5}, abs=1e-12)
    for true, chosen in enumerate([[0, 3], [1, 2], [1, 2], [0, 3]]):
        assert law_of(design, true)[0].tolist() == [chosen]


def test_three_columns_need_not_fit() -> None:
    """Four records of which every two share one value, each value once in two: no set is within all limits."""
    records = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    design = RecordDesign(2, records, np.full(4, 0.25), np.ones(4, int), (np.ones(2, int),) * 3)
    sets, chances = law_of(design)
    assert design.yielding == (2,)
    assert excess(design, sets).tolist() == [[0, 0, 1]] * len(sets)
    assert {tuple(one) for one in sets.tolist()} == {(0, 3), (1, 2)}
    assert chances.sum() == pytest.approx(1)
    with pytest.raises(PolicyError, match="about 100 % of them would have a value beyond"):
        stated_factor(design)
    wider = RecordDesign(
        2, records, np.full(4, 0.25), np.ones(4, int), (np.ones(2, int), np.ones(2, int), np.full(2, 2))
    )
    assert not excess(wider, law_of(wider)[0]).any()
    assert stated_factor(wider) == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_what_drawing_again_costs(seed: int) -> None:
    """Bayes over all sets within limits, given that others are drawn again: the factor is never exceeded; and sets
    that are drawn are within limits."""
    design, _ = small_design(300 + seed, 3, most=5)
    sets, chances = law_of(design)
    again, *_ = repeated(design, sets, chances)
    within = ~excess(design, sets).any(axis=1)
    if again.max() > 0.5:
        return
    places = np.stack([(sets == r).sum(axis=1) for r in range(len(design.records))], axis=1)[within]
    given = chances[within, None] * places / design.expected / (1 - again)
    assert given.sum(axis=0) == pytest.approx(np.ones(len(design.records)))
    seen = given * design.shares
    posterior = seen / seen.sum(axis=1, keepdims=True)
    assert (posterior <= factor(again) * places / design.m + 1e-12).all()
    if factor(again) == 1:
        assert posterior == pytest.approx(places / design.m)
    drawn = draw_records(design, np.arange(2_000) % len(design.records), words_of(seed))
    for c, room in enumerate(design.room):
        assert (counts_of(design, drawn, c) <= room).all()


def words_of(seed: int, width: int = 16) -> Any:
    def words(rows: Any, number: int) -> Any:
        every = np.random.default_rng([seed, number]).integers(0, 2**64, (rows.max() + 1, width), dtype=np.uint64)
        return every[rows]

    return words


def crossed(seed: int, sizes: Sequence[int], records: int, m: int) -> RecordDesign:
    """Many records of columns whose values have very different shares."""
    rng = np.random.default_rng(seed)
    chances = [rng.dirichlet(np.full(size, 0.5)) + 0.2 / size for size in sizes]
    drawn = np.stack([rng.choice(len(p), 20 * records, p=p / p.sum()) for p in chances], axis=1)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:records]
    return record_design_of(found[chosen], counts[chosen].astype(float), m, sizes)


@pytest.mark.parametrize(("sizes", "m"), [((40, 30), 8), ((40, 3), 8), ((200, 150), 5), ((20, 15, 4), 8)])
def test_many_records(sizes: tuple[int, ...], m: int) -> None:
    """The true record is in its set, limits hold, and each record comes as often as it should."""
    design = crossed(1, sizes, 1_000, m)
    tree = tree_of(design)
    assert tree.first.size < 12 * m
    count = sized(20_000, 200_000)
    true = np.random.default_rng(0).choice(len(design.records), count, p=design.shares)
    sets = draw_records(design, true, words_of(2), tree)
    assert (sets == true[:, None]).any(axis=1).all()
    assert (np.diff(sets.astype(np.int64), axis=1) >= 0).all()
    for c, room in enumerate(design.room):
        assert (counts_of(design, sets, c) <= room).all()
    found = np.bincount(sets.ravel(), minlength=len(design.records)) / count
    # True records as the reference says: so a record's places have the mean m p, and a variance of no more than m.
    assert (np.abs(found - design.expected) < 6 * np.sqrt(2 * design.expected / count)).all()
    # Of those who have a value the posterior is right: how often is the first record of a set the true one?
    assert abs((sets[:, 0] == true).mean() - _first_right(sets, m)) < 5 / np.sqrt(count)


@pytest.mark.parametrize("seed", seeds(30, 600))
def test_limits_without_room_to_spare(seed: int) -> None:
    """Shares of all sizes, limits that some values reach on average: walks end at whole numbers, within limits."""
    rng = np.random.default_rng(seed)
    columns, m = int(rng.choice([1, 2, 2, 3, 4])), int(rng.choice([2, 3, 5, 8, 20]))
    sizes = rng.integers(2, int(rng.choice([4, 10, 40])), columns)
    records = np.unique(rng.integers(0, sizes, (int(rng.choice([5, 30, 300])), columns)), axis=0)
    weights = rng.integers(1, 4, len(records)).astype(float)
    if seed % 2:
        weights = rng.dirichlet(np.full(len(records), rng.choice([0.1, 0.5, 3]))) + 2e-7
    shares = weights / weights.sum()
    room = tuple(
        np.maximum(1, np.ceil(m * np.bincount(own, weights=shares, minlength=size) - 1e-12)).astype(int)
        for own, size in zip(records.T, sizes, strict=True)
    )
    most = np.maximum(1, np.ceil(m * shares - 1e-12)).astype(int)
    design = RecordDesign(m, records, shares, most, room)
    tree = tree_of(design, (0.1, 0.5, 1.0, 3.0)[seed % 4])
    count = 2_000
    true = rng.integers(-1, len(records), count)
    sets = walk_ends(design, true, words_of(seed, 64), tree)
    for c, own in enumerate(room):
        assert c in design.yielding or (counts_of(design, sets, c) <= own).all()
    assert all(((sets == r).sum(axis=1) <= k).all() for r, k in enumerate(most))
    found = np.bincount(
        walk_ends(design, np.full(count, -1), words_of(seed + 1, 64), tree).ravel(), minlength=len(most)
    )
    assert (np.abs(found / count - design.expected) < 6 * np.sqrt((design.expected + 3 / count) / count)).all()


def _first_right(sets: Any, m: int) -> float:
    """What posteriors say of how often the first record of a set is the true one: its places / m."""
    return float(((sets == sets[:, :1]).sum(axis=1) / m).mean())


def test_words_are_asked_for_until_there_are_enough() -> None:
    design = crossed(3, (10, 8), 60, 6)
    true = np.arange(60)
    every = np.random.default_rng(0).integers(0, 2**64, (60, 32), dtype=np.uint64)
    once = draw_records(design, true, lambda rows, number: every[rows])
    asked: list[int] = []

    def by_one(rows: Any, number: int) -> Any:
        asked.append(number)
        return every[rows, number : number + 1]

    assert (draw_records(design, true, by_one) == once).all()
    assert max(asked) > 0
    backwards = draw_records(design, true[::-1].copy(), lambda rows, number: every[::-1][rows])
    assert (backwards[::-1] == once).all()
    with pytest.raises(InternalError, match="none of the design's"):
        draw_records(design, np.array([60]), by_one)


# The design


def test_designs_are_what_they_hold() -> None:
    design = crossed(0, (6, 4), 20, 4)
    written = json.loads(json.dumps(design.to_dict()))
    again = RecordDesign.from_dict(written)
    assert again == design
    assert hash(again) == hash(design)
    assert again != crossed(1, (6, 4), 20, 4)
    with pytest.raises(ValueError, match="read-only"):
        design.shares[0] = 1
    with pytest.raises(ParameterError, match="A design of records must have m, records"):
        RecordDesign.from_dict({"m": 2})
    assert "20 records of 2 columns, m=4" in repr(design)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("m", 1, "at least 2"),
        ("records", [[0, 0], [0, 0], [1, 0], [1, 1]], "different records"),
        ("records", [[0, 0], [0, 1], [1, 0], [1, 2]], "number in 'room'"),
        ("records", [[0], [1], [2], [3]], "each column of 'room'"),
        ("shares", [0.25, 0.25, 0.25, 0.3], "1 together"),
        ("shares", [0.5, 0.25, 0.25 - 1e-9, 1e-9], "at least 1e-07"),
        ("shares", ["a", "b", "c", "d"], "an array"),
        ("most", [1, 1, 1, 0], "from 1 to 2"),
        ("room", ([1, 1], [1, 3]), "from 1 to 2"),
        ("room", ([1, 1], []), "for each column"),
        ("shares", [0.1, 0.1, 0.2, 0.6], "m times the share"),
    ],
)
def test_designs_that_do_not_fit(name: str, value: Any, said: str) -> None:
    parts: dict[str, Any] = {
        "m": 2,
        "records": [[0, 0], [0, 1], [1, 0], [1, 1]],
        "shares": [0.25] * 4,
        "most": [1] * 4,
        "room": ([1, 1], [1, 1]),
    }
    RecordDesign(**parts)
    with pytest.raises(ParameterError, match=said):
        RecordDesign(**{**parts, name: value})


def test_limits_per_column() -> None:
    records = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    shares = np.array([0.4, 0.2, 0.2, 0.2])
    # p + (1 - p)/(2m) = 0.65 asks for 3 of 4, 0.475 for 2.
    design = record_design_of(records, shares, 4, [2, 2], [{}, {0: 4}])
    assert [room.tolist() for room in design.room] == [[3, 2], [4, 2]]
    assert design.most.tolist() == [2, 2, 2, 2]
    with pytest.raises(PolicyError, match="column number 1, 1 of 2 values"):
        record_design_of(records, shares, 4, [2, 2], [{}, {0: 2}])


# What analysts get


def told_design(seed: int, columns: int) -> RecordDesign:
    """Five or six records, each frequent enough and none in every set, so that all of their shares can be told."""
    rng = np.random.default_rng(seed)
    every = np.array(list(np.ndindex(*[3] * columns)))
    records = every[rng.choice(len(every), 5, replace=False)]
    room = (np.full(3, 3),) * columns
    return RecordDesign(3, records, rng.dirichlet(np.full(5, 30.0)), np.full(5, 2), room)


@pytest.mark.parametrize("seed", seeds(8, 100))
def test_scores_are_unbiased(seed: int) -> None:
    """Over all sets, for whoever has a record: 1 for its values and combinations of values, 0 for all others."""
    columns = 2 + seed % 2
    design = told_design(seed, columns) if seed % 4 < 2 else small_design(200 + seed, columns, most=5)[0]
    sets, chances = typical_sets(design, 1_000)
    assert chances is not None
    for chosen in (tuple(range(columns)), (1, 0), *range(columns)):
        try:
            scores = column_scores(design, chosen)
        except Infeasible:
            assert seed % 4 > 1
            continue
        given = scores.of(sets)
        assert given.sum(axis=1) == pytest.approx(np.ones(len(sets)))
        for r, cell in enumerate(scores.cell_of):
            own = chances * (sets == r).sum(axis=1)
            assert own @ given / own.sum() == pytest.approx(np.eye(scores.shares.size)[cell], abs=1e-8)
            assert scores.values[cell].tolist() == design.records[r, list(scores.columns)].tolist()
        spread = chances @ given**2 - (chances @ given) ** 2
        within = scores.shares * (1 - scores.shares)
        if not excess(design, law_of(design)[0]).any():
            assert scores.effects * within == pytest.approx(spread, rel=1e-6, abs=1e-9)


def test_scores_where_courses_are_not_followed() -> None:
    """Drawn sets in place of all of them, always the same; tables of people who are not as in the reference."""
    design = crossed(5, (8, 3), 24, 6)
    rng = np.random.default_rng(0)
    sets, chances = typical_sets(design, 1_000)
    assert chances is None
    assert (typical_sets(design, 2_000)[0][:1_000] == sets).all()
    pairs = RecordPairs(design, enough_draws(design, 100_000))
    assert pairs.draws == 20 * 100_000 // 6
    assert pairs.unsure(100_000) == pytest.approx(1 / 20, rel=0.01)
    tilted = design.shares * rng.uniform(0.3, 2, design.shares.size)
    count = sized(30_000, 300_000)
    true = rng.choice(len(design.records), count, p=tilted / tilted.sum())
    drawn = draw_records(design, true, words_of(7))
    for columns in (0, 1, (0, 1)):
        scores = column_scores(design, columns, pairs)
        told = scores.of(drawn)
        # Everybody; and a group by the other column, of which each has its own shares.
        for group in (np.ones(count, dtype=bool), design.records[true, 1] == 0, design.records[true, 0] < 3):
            some = told[group]
            truth = np.bincount(scores.cell_of[true[group]], minlength=scores.shares.size) / len(some)
            error = some.std(axis=0) / np.sqrt(len(some))
            assert (np.abs(some.mean(axis=0) - truth) < 4.5 * error + 0.01).all()


def test_what_is_in_every_set_is_not_told() -> None:
    records = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    design = RecordDesign(2, records, np.full(4, 0.25), np.ones(4, int), (np.ones(2, int), np.ones(2, int)))
    with pytest.raises(Infeasible, match="told by nothing"):
        column_scores(design, 0)


# The reference


def table(seed: int, count: int, sizes: Sequence[int]) -> tuple[list[Column], Any]:
    """People with columns that have to do with each other."""
    rng = np.random.default_rng(seed)
    first = rng.choice(sizes[0], count, p=rng.dirichlet(np.full(sizes[0], 5.0)))
    others = []
    for size in sizes[1:]:
        laws = rng.dirichlet(np.full(size, 1.0), sizes[0])
        others.append((rng.random(count)[:, None] > np.cumsum(laws, axis=1)[first]).sum(axis=1).clip(max=size - 1))
    codes = np.stack([first, *others], axis=1).astype(np.int64)
    labels = [Labels(tuple(f"{'abc'[c]}{v}" for v in range(size))) for c, size in enumerate(sizes)]
    return [Column("abc"[c], codes[:, c], one) for c, one in enumerate(labels)], codes


@pytest.mark.parametrize("sizes", [(5, 4), (5, 4, 3)])
def test_what_the_noise_spends(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another record in place of somebody's changes all tables, each in units of its noise, by epsilon at most."""
    asked: list[tuple[Fraction, Any]] = []

    def counted(cells: Any, shape: Any, scale: Fraction, rng: Any) -> Any:
        found = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
        asked.append((scale, found))
        return found

    monkeypatch.setattr(record_reference, "_counted", counted)
    epsilon = Fraction(1, 2)
    columns, codes = table(0, 20_000, sizes)
    spent = []
    noised_records(columns, epsilon, 3, np.random.default_rng(0))
    before = asked.copy()
    assert len(before) == len(sizes) + (3 if len(sizes) == 3 else 0) + 1
    for person in range(40):
        other = codes.copy()
        other[person] = codes[-person - 1]
        others = [replace(column, codes=other[:, c]) for c, column in enumerate(columns)]
        asked.clear()
        noised_records(others, epsilon, 3, np.random.default_rng(0))
        changes = [
            Fraction(int(np.abs(one - two).sum())) / scale for (scale, one), (_, two) in zip(before, asked, strict=True)
        ]
        spent.append(sum(changes))
    assert max(spent) == epsilon


@pytest.mark.parametrize("sizes", [(6, 4), (6, 4, 3)])
def test_the_reference_is_near_the_table(sizes: tuple[int, ...]) -> None:
    columns, codes = table(1, 200_000, sizes)
    found = noised_records(columns, Fraction(1), 10, np.random.default_rng(0))
    place = {text: at for at, text in enumerate(found.texts)}
    assert list(found.texts) == sorted(found.texts)
    numbers = np.array([place[record_text(f"{'abc'[c]}{v}" for c, v in enumerate(row))] for row in codes.tolist()])
    truth = np.bincount(numbers, minlength=len(found.records)) / len(codes)
    assert np.abs(found.shares - truth).sum() < 0.02
    assert (found.shares > 0).all()
    assert found.shares.sum() == pytest.approx(1)
    product = np.ones(())
    for c, labels in enumerate(found.labels):
        assert labels[0] == OTHERS  # in the order of texts
        own = np.bincount(found.records[:, c], weights=found.shares)
        assert own[1:] == pytest.approx(np.bincount(codes[:, c]) / len(codes), abs=0.002)
        product = np.multiply.outer(product, own)
    assert np.abs(product.ravel() - truth).sum() > 0.1  # what one would have without counts of records
    record_design_of(found.records, found.shares, 5, [len(labels) for labels in found.labels])


def test_what_noise_hides_comes_from_the_columns() -> None:
    """By hand: a count of at most three scales has weight 0; of six, 3/4."""
    expected = np.array([10.0, 10.0, 10.0, 60.0])
    mixed, weights = record_reference._mixed(np.array([-5, 30, 60, 0]), expected, Fraction(10))
    assert weights.tolist() == [0, 0, 0.75, 0.75]
    assert mixed.tolist() == [10, 10, 0.75 * 60 + 2.5, 15]


def test_sparse_tables_are_refused() -> None:
    columns, _ = table(2, 3_000, (30, 30))
    with pytest.raises(Infeasible, match="too rare for reference shares") as refused:
        noised_records(columns, Fraction(1, 10), 10, np.random.default_rng(0))
    assert "fewer sensitive columns" in str(refused.value)
    with pytest.raises(Infeasible, match="too sparse for reference shares with noise: only about") as refused:
        noised_records(columns, Fraction(1), 1, np.random.default_rng(0))
    assert "coarser" in str(refused.value)
    assert "larger epsilon" in str(refused.value)


# Real records


def diabetes(names: Sequence[str], m: int) -> tuple[RecordDesign, Any]:
    """The first visit of each patient; diagnoses by three characters, the 39 most frequent and the rest."""
    with gzip.open(FOLDER / "diabetes130/diabetic_data.csv.gz") as file:
        frame = pl.read_csv(file.read(), infer_schema=False, columns=["patient_nbr", *names])
    frame = frame.unique("patient_nbr", keep="first", maintain_order=True)
    codes = []
    for name in names:
        column = frame[name].str.slice(0, 3)
        top = column.value_counts(sort=True)[name].to_list()[:39]
        place = {value: at for at, value in enumerate(top)}
        codes.append(np.unique([place.get(value, len(top)) for value in column], return_inverse=True)[1])
    records, true, counts = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True, return_counts=True)
    return record_design_of(records, counts.astype(float), m, [int(one.max()) + 1 for one in codes]), true.ravel()


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_many_records")
@pytest.mark.parametrize(
    ("names", "records", "most"),
    [
        (("diag_1", "readmitted"), 120, 1.0),
        (("diag_1", "diag_2"), 1_345, 1.0),
        (("diag_1", "readmitted", "insulin"), 480, 1.03),
        (("diag_1", "diag_2", "readmitted"), 3_062, 1.04),
    ],
)
def test_diabetes_records(names: tuple[str, ...], records: int, most: float) -> None:
    """Every value stays within its column's limit; with three columns posteriors have a factor near 1 beside it."""
    design, true = diabetes(names, 8)
    assert len(design.records) == records
    chosen = np.random.default_rng(0).integers(0, true.size, sized(5_000, 50_000))
    sets = draw_records(design, true[chosen], words_of(0))
    assert (sets == true[chosen][:, None]).any(axis=1).all()
    for column, room in enumerate(design.room):
        assert (counts_of(design, sets, column) <= room).all()
    assert 1 <= stated_factor(design) <= most
