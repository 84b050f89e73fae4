"""Splitting buckets by halving, and the curve: judged by plain Python that sorts anew for every cut."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.errors import InternalError
from reissue.kernels.curve import canonical_order, near_order
from reissue.methods.invariance import splitting
from reissue.methods.invariance.splitting import QuasiSpace, lines_of, split
from reissue.publishing.series import draft
from reissue.samples.census import census, census_hierarchies


class Still:
    """A generator that never changes places, so that equal codes are parted in canonical order."""

    def random(self, size: int) -> Any:
        return np.zeros(size)


class Case:
    """Rows with their buckets and values, and the lines their codes lie on."""

    def __init__(self, cells: Any, bucket: Any, value: Any, positions: list[list[float]], widths: list[float]) -> None:
        self.cells = np.array(cells, dtype=np.uint16).reshape(len(bucket), len(positions))
        self.bucket = np.array(bucket, dtype=np.int64)
        self.value = np.array(value, dtype=np.int64)
        self.positions, self.widths = positions, widths
        self.lines = lines_of([np.array(line, dtype=np.float64) for line in positions], widths)

    def split(self, rng: Any = None, order: Any = slice(None)) -> tuple[Any, int]:
        rng = Still() if rng is None else rng
        return split(self.cells[order], self.bucket[order], self.value[order], self.lines, rng)

    def groups(self, rng: Any = None) -> set[frozenset[int]]:
        group, count = self.split(rng)
        members = defaultdict(set)
        for row, number in enumerate(group.tolist()):
            members[number].add(row)
        assert sorted(members) == list(range(count))
        return {frozenset(rows) for rows in members.values()}

    def perimeter(self, rows: list[int]) -> Fraction:
        """Of the box around rows, as the sum of its extents."""
        total = Fraction(0)
        for attribute, (line, width) in enumerate(zip(self.positions, self.widths, strict=True)):
            found = [Fraction(line[self.cells[row, attribute]]) for row in rows]
            total += (max(found) - min(found)) / Fraction(width) if width else 0
        return total

    def reference(self) -> set[frozenset[int]]:
        """The groups by the rule as it is written, equal codes in canonical order."""
        found: set[frozenset[int]] = set()
        for bucket in sorted(set(self.bucket.tolist())):
            rows: dict[int, list[int]] = defaultdict(list)
            for row in np.flatnonzero(self.bucket == bucket).tolist():
                rows[int(self.value[row])].append(row)
            part = [sorted(held, key=lambda row: (self.cells[row].tolist(), row)) for _, held in sorted(rows.items())]
            self._halve(part, found)
        return found

    def _halve(self, part: list[list[int]], found: set[frozenset[int]]) -> None:
        height = len(part[0])
        if height == 1:
            found.add(frozenset(rows[0] for rows in part))
            return
        best = None
        for attribute in range(self.cells.shape[1]):
            along = [sorted(rows, key=lambda row: self.cells[row, attribute]) for rows in part]
            halves = [rows[: height // 2] for rows in along], [rows[height // 2 :] for rows in along]
            total = sum(self.perimeter([row for rows in half for row in rows]) for half in halves)
            if best is None or total < best[0]:
                best = total, halves
        assert best is not None
        for half in best[1]:
            chosen = {row for rows in half for row in rows}
            self._halve([[row for row in rows if row in chosen] for rows in part], found)


@st.composite
def cases(draw: Any, distinct: bool = False) -> Case:
    chance = random.Random(draw(st.integers(0, 10**6)))
    heights = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 12, 31]), min_size=1, max_size=3))
    width = draw(st.integers(1, 4))
    bucket, value = [], []
    for number, height in enumerate(heights):
        signature = chance.sample(range(9), chance.randint(1, 5))
        bucket += [3 * number + 1] * (height * len(signature))
        value += [held for held in signature for _ in range(height)]
    rows = len(bucket)
    # Widths are powers of two and positions whole numbers, so that floats and fractions agree on what is smallest.
    if distinct:
        codes = [chance.sample(range(rows), rows) for _ in range(width)]
        positions = [sorted(chance.sample(range(4 * rows), rows)) for _ in range(width)]
        widths = [float(1 << chance.randint(1, 12)) for _ in range(width)]
    else:
        sizes = draw(st.lists(st.sampled_from([1, 2, 5, 40, 1000]), min_size=width, max_size=width))
        codes = [[chance.randrange(size) for _ in range(rows)] for size in sizes]
        positions = [list(range(size)) for size in sizes]
        widths = [chance.choice([0.0, 64.0, 1024.0]) for _ in sizes]
    shuffled = chance.sample(range(rows), rows)
    cells = [[line[row] for line in codes] for row in range(rows)]
    return Case(cells, [bucket[row] for row in shuffled], [value[row] for row in shuffled], positions, widths)


def check_whole(case: Case, groups: set[frozenset[int]]) -> None:
    """Every row is in one group, and a group has every value of its bucket exactly once."""
    assert sorted(row for rows in groups for row in rows) == list(range(case.bucket.size))
    signature = defaultdict(set)
    for bucket, value in zip(case.bucket.tolist(), case.value.tolist(), strict=True):
        signature[bucket].add(value)
    for rows in groups:
        (bucket,) = {int(case.bucket[row]) for row in rows}
        assert sorted(int(case.value[row]) for row in rows) == sorted(signature[bucket])


@examples(30)
@given(cases(distinct=True), st.integers(0, 5))
def test_without_ties_the_groups_are_those_of_the_rule_whatever_the_seed(case: Case, seed: int) -> None:
    groups = case.groups(np.random.default_rng(seed))
    check_whole(case, groups)
    assert groups == case.reference()


@examples(30)
@given(cases())
def test_with_ties_in_a_known_order_the_groups_are_those_of_the_rule(case: Case) -> None:
    assert case.groups() == case.reference()


@examples(20)
@given(cases(), st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(case: Case, seed: int, chance: random.Random) -> None:
    order = np.array(chance.sample(range(case.bucket.size), case.bucket.size))
    here, count = case.split(np.random.default_rng(seed))
    there, again = case.split(np.random.default_rng(seed), order)
    check_whole(case, case.groups(np.random.default_rng(seed)))
    assert count == again

    def contents(group: Any, rows: Any) -> Counter[Any]:
        return Counter(
            (number, int(case.bucket[row]), int(case.value[row]), *case.cells[row].tolist())
            for number, row in zip(group.tolist(), rows, strict=True)
        )

    assert contents(here, range(case.bucket.size)) == contents(there, order.tolist())


@pytest.mark.parametrize("height", [1, 2, 3, 7])
def test_one_attribute_gives_ranks(height: int) -> None:
    """Along one line the i-th of every value come together."""
    chance = random.Random(height)
    codes = chance.sample(range(100), 3 * height)
    value = [0, 1, 2] * height
    case = Case([[code] for code in codes], [0] * (3 * height), value, [list(range(100))], [99.0])
    rank = [sorted(range(held, 3 * height, 3), key=lambda row: codes[row]) for held in range(3)]
    assert case.groups(np.random.default_rng(0)) == {frozenset(rows) for rows in zip(*rank, strict=True)}


def test_the_narrower_attribute_is_cut_only_where_it_pays() -> None:
    # Two clusters far apart in the second attribute; the first would pair across them.
    cells = [[0, 0], [1, 9], [1, 0], [0, 9]]
    case = Case(cells, [0] * 4, [0, 0, 1, 1], [[0, 1], list(range(10))], [8.0, 16.0])
    assert case.groups(np.random.default_rng(0)) == {frozenset({0, 2}), frozenset({1, 3})}
    # With a domain so wide that the gap is nothing, the first attribute decides.
    case = Case(cells, [0] * 4, [0, 0, 1, 1], [[0, 1], list(range(10))], [1.0, 1024.0])
    assert case.groups(np.random.default_rng(0)) == {frozenset({0, 3}), frozenset({1, 2})}


@pytest.mark.parametrize("size", [30, 3000])
def test_tall_buckets(size: int) -> None:
    """Counted where codes are few, sorted where they are many; more rows than a block holds."""
    rng = np.random.default_rng(size)
    height = 450
    cells = rng.integers(0, [size, 7], (2 * height, 2))
    case = Case(cells, [0] * (2 * height), [4, 5] * height, [list(range(size)), list(range(7))], [4096.0, 8.0])
    assert case.groups() == case.reference()


def test_domains_without_width_and_tables_without_attributes() -> None:
    case = Case([[0, 5]] * 12, [0] * 12, [0, 1, 2] * 4, [[3.0], list(range(6))], [0.0, 0.0])
    check_whole(case, case.groups(np.random.default_rng(0)))
    case = Case([], [0] * 12, [0, 1, 2] * 4, [], [])
    check_whole(case, case.groups(np.random.default_rng(0)))
    group, count = Case([], [], [], [[0.0]], [1.0]).split()
    assert (group.size, count) == (0, 0)


def test_ties_are_parted_at_random() -> None:
    """Rows 0 and 1 are alike in the first attribute; each must be with row 2 about half of the time."""
    case = Case([[1, 0], [1, 1], [0, 0], [2, 1]], [0] * 4, [0, 0, 1, 1], [[0, 1, 2], [0, 1]], [2.0, 0.0])
    together = sum(frozenset({0, 2}) in case.groups(np.random.default_rng(seed)) for seed in range(400))
    assert 150 < together < 250
    alike = Case([[0]] * 6, [0] * 6, [0, 0, 0, 1, 1, 1], [[0]], [1.0])
    seen = Counter(frozenset(alike.groups(np.random.default_rng(seed))) for seed in range(1200))
    assert len(seen) == 6
    assert min(seen.values()) > 140


def test_the_number_of_cores_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    heights = [400, 90, 31, 7, 1, 1, 1]
    bucket = np.concatenate([np.full(4 * height, number) for number, height in enumerate(heights)])
    value = np.concatenate([np.repeat([number, 8, 9, 10], height) for number, height in enumerate(heights)])
    cells = rng.integers(0, [50, 3, 20], (bucket.size, 3))
    case = Case(cells, bucket, value, [list(range(50)), list(range(3)), list(range(20))], [49.0, 2.0, 19.0])
    found = []
    for cores in (1, 2, 5, 64):
        monkeypatch.setattr(splitting, "cores", lambda cores=cores: cores)
        monkeypatch.setattr(splitting, "PARALLEL_FROM", 100)
        found.append(case.split(np.random.default_rng(1))[0].tolist())
    assert found[0] == found[1] == found[2] == found[3]
    check_whole(case, case.groups(np.random.default_rng(1)))


def test_an_unbalanced_bucket_is_a_mistake_of_ours() -> None:
    with pytest.raises(InternalError, match="same number of rows"):
        Case([[0]] * 5, [0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [[0.0]], [1.0]).split()


@pytest.fixture(scope="module")
def people() -> ri.Draft:
    education = ri.Hierarchy.from_nested(census_hierarchies()["education"])
    quasi = {
        "age": ri.Numeric(low=0, high=128),
        "gender": ri.Categorical(),
        "education": education,
        "birthplace": ri.Categorical(),
    }
    schema = ri.Schema(person="person", quasi=quasi, sensitive="occupation")
    return draft(census(24_000, seed=2), ri.Policy(schema, ri.Mondrian(k=2)), seed=0)


def test_groups_of_a_census_are_far_narrower_than_at_random(people: ri.Draft) -> None:
    snapshot = people.snapshot
    space = QuasiSpace.of(snapshot.quasi, snapshot.schema)
    rng = np.random.default_rng(0)
    taken = []
    # Buckets of very different heights from the most frequent values.
    used = np.argsort(-np.bincount(snapshot.values.codes))[:8]
    rows_of = [rng.permutation(np.flatnonzero(snapshot.values.codes == code)) for code in used]
    at = 0
    for height in (300, 40, 3, 1):
        taken.append(np.concatenate([rows[at : at + height] for rows in rows_of]))
        at += height
    rows = np.concatenate(taken)
    bucket = np.repeat(np.arange(4), [part.size for part in taken])
    value = snapshot.values.codes[rows].astype(np.int64)
    cells = space.cells([column.codes[rows] for column in snapshot.quasi])
    group, count = split(cells, bucket, value, space.lines, rng)
    assert count == 344
    assert np.bincount(group).tolist() == [8] * 344
    at_random = np.empty_like(group)
    order = np.lexsort((rng.random(rows.size), value, bucket))
    at_random[order] = np.concatenate(
        [np.tile(np.arange(h) + s, 8) for h, s in zip((300, 40, 3, 1), (0, 300, 340, 343), strict=True)]
    )

    def perimeters(group: Any) -> float:
        positions = [space.lines.position[space.lines.start[a] + cells[:, a].astype(np.int64)] for a in range(4)]
        frame = pl.DataFrame({"group": group, **{str(a): line for a, line in enumerate(positions)}})
        extents = frame.group_by("group").agg(pl.exclude("group").max() - pl.exclude("group").min())
        return float((extents.drop("group").to_numpy() * space.lines.scale).sum())

    assert perimeters(group) < 0.7 * perimeters(at_random)


def test_lines_of_every_kind_of_column() -> None:
    table = pl.DataFrame(
        {
            "person": range(6),
            "age": [30, 20, None, 70, 30, 20],
            "town": ["c", "a", "b", "a", "d", "a"],
            "colour": ["red", "blue", "red", "green", "red", "blue"],
            "size": ["s", "l", "s", "m", "l", "l"],
            "value": [1, 2, 3, 1, 2, 3],
        }
    )
    quasi = {
        "age": ri.Numeric(low=0, high=100, missing="value"),
        "town": ri.Hierarchy.from_nested({"*": {"east": ["a", "b"], "west": ["c", "d"]}}),
        "colour": ri.Categorical(),
        "size": ri.Categorical(values=("s", "m", "l")),
    }
    schema = ri.Schema(person="person", quasi=quasi, sensitive="value")
    snapshot = draft(table, ri.Policy(schema, ri.Mondrian(k=2)), seed=0).snapshot
    space = QuasiSpace.of(snapshot.quasi, schema)
    lines = space.lines
    at = [lines.position[lines.start[a] : lines.start[a + 1]].tolist() for a in range(4)]
    # Whole numbers in between have codes too; a missing age lies a whole domain below.
    assert at[0] == [-100.0, *range(20, 71)]
    assert at[1:] == [[0, 1, 2, 3], [0, 1, 2], [0, 1, 2]]
    assert lines.width.tolist() == [100, 3, 2, 2]
    assert lines.scale.tolist() == [1 / 100, 1 / 3, 1 / 2, 1 / 2]
    cells = space.cells([column.codes for column in snapshot.quasi])
    ages, towns = snapshot.quasi[0].decode(), snapshot.quasi[1].decode().cast(pl.String)
    assert [at[0][code] for code in cells[:, 0]] == ages.fill_null(-100).to_list()
    assert ["abcd"[code] for code in cells[:, 1]] == towns.to_list()
    # Colours by frequency, sizes as declared.
    assert Counter(cells[:, 2].tolist()) == {0: 3, 1: 2, 2: 1}
    assert Counter(cells[:, 3].tolist()) == {0: 2, 1: 1, 2: 3}
    assert cells.dtype == np.uint16


def test_more_codes_than_small_cells_hold() -> None:
    size = 70_000
    space = QuasiSpace((None,), lines_of([np.arange(size, dtype=np.float64)], [float(size)]))
    cells = space.cells([np.arange(size, dtype=np.uint32)[::-1]])
    assert cells.dtype == np.uint32
    value = np.arange(size) % 2
    group, count = split(cells, np.zeros(size, dtype=np.int64), value, space.lines, np.random.default_rng(0))
    assert count == size // 2
    assert (group[0::2] == group[1::2]).all()


@examples(12)
@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 10**6))
def test_the_canonical_order_sorts_by_all_columns(rows: int, width: int, seed: int) -> None:
    chance = random.Random(seed)
    tops = [chance.choice([1, 3, 1000, 2**31]) for _ in range(width)]
    columns = [np.array([chance.randrange(top) for _ in range(rows)], dtype=np.int64) for top in tops]
    expected = sorted(range(rows), key=lambda row: ([int(column[row]) for column in columns], row))
    assert canonical_order(columns).tolist() == expected


def whole_grid(width: int, side: int) -> tuple[Any, Any]:
    cells = np.array(list(product(range(side), repeat=width)), dtype=np.uint16)
    line = np.arange(side, dtype=np.float64)
    return cells, lines_of([line] * width, [side - 1.0] * width)


@pytest.mark.parametrize(("width", "side"), [(1, 64), (2, 2), (2, 16), (2, 64), (3, 8), (4, 4), (5, 4), (6, 4), (7, 2)])
def test_neighbours_on_the_curve_are_neighbours_in_the_grid(width: int, side: int) -> None:
    cells, lines = whole_grid(width, side)
    order = near_order(cells, np.zeros(len(cells), dtype=np.int64), lines, np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(len(cells)))
    path = cells[order].astype(int)
    assert path[0].tolist() == [0] * width
    for one, other in pairwise(path):
        assert np.abs(one - other).sum() == 1


@examples(12)
@given(cases(), st.integers(0, 5))
def test_the_curve_does_not_depend_on_the_order_of_rows(case: Case, seed: int) -> None:
    shuffled = np.random.default_rng(9).permutation(case.bucket.size)
    here = near_order(case.cells, case.value, case.lines, np.random.default_rng(seed))
    there = shuffled[near_order(case.cells[shuffled], case.value[shuffled], case.lines, np.random.default_rng(seed))]
    assert case.cells[here].tolist() == case.cells[there].tolist()
    assert case.value[here].tolist() == case.value[there].tolist()


def test_the_curve_shuffles_what_it_cannot_tell_apart() -> None:
    cells = np.array([[1], [0], [0], [0], [1]], dtype=np.uint16)
    lines = lines_of([np.array([0.0, 1.0])], [1.0])
    value = np.zeros(5, dtype=np.int64)
    seen = Counter(tuple(near_order(cells, value, lines, np.random.default_rng(seed)).tolist()) for seed in range(1200))
    assert {(frozenset(order[:3]), frozenset(order[3:])) for order in seen} == {
        (frozenset({1, 2, 3}), frozenset({0, 4}))
    }
    assert len(seen) == 12
    assert min(seen.values()) > 60


def test_a_curve_through_nothing_much() -> None:
    rng = np.random.default_rng(0)
    five = np.zeros(5, dtype=np.int64)
    no_width = lines_of([np.array([4.0])], [0.0])
    assert sorted(near_order(np.zeros((5, 1), dtype=np.uint16), five, no_width, rng).tolist()) == [0, 1, 2, 3, 4]
    assert sorted(near_order(np.empty((5, 0), dtype=np.uint16), five, lines_of([], []), rng).tolist()) == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert near_order(np.empty((0, 1), dtype=np.uint16), five[:0], no_width, rng).size == 0


def test_a_curve_through_more_attributes_than_bits() -> None:
    """The first thirty-two attributes have two bits each; the others are left to chance."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (50, 40)).astype(np.uint16)
    cells[:, 32:] = 0
    lines = lines_of([np.array([0.0, 1.0])] * 40, [1.0] * 40)
    doubled = np.concatenate([cells, cells])
    order = near_order(doubled, np.zeros(100, dtype=np.int64), lines, rng)
    # Rows that are equal must come one after the other.
    assert ((order[0::2] - order[1::2]) % 50 == 0).all()
