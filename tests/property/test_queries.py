"""Query answers against plain counting in Python, on random small tables in both forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import examples

from reissue.arrays.types import Bools
from reissue.kernels.query_counts import LANES
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.hierarchy import Hierarchy
from reissue.model.snapshot import Column, Labels, Leaves, Levels, Numbers
from reissue.utility import Workload, certainty_penalty, discernibility, distortion, information_loss, query_error
from reissue.utility.queries import Form
from reissue.utility.workload import Batch, Queries

TREE_CHILDREN = {"*": ["left", "right", "g"], "left": ["a", "b"], "right": ["inner", "f"], "inner": ["c", "d", "e"]}
DAG_CHILDREN = {
    "*": ["one", "two", "three", "g"],
    "one": ["a", "b", "c"],
    "two": ["c", "d"],
    "three": ["b", "d", "e", "f"],
}
TREE, DAG = Hierarchy("*", TREE_CHILDREN), Hierarchy("*", DAG_CHILDREN)


@st.composite
def numbers(draw: st.DrawFn) -> Numbers:
    dtype = draw(st.sampled_from([pl.Int64(), pl.Float64(), pl.Date()]))
    raw = st.integers(-20, 20) if not dtype.is_float() else st.integers(-200, 200).map(lambda n: n / 8)
    values = sorted(draw(st.sets(raw, min_size=1, max_size=8)))
    missing = draw(st.booleans())
    low, high = values[0] - draw(st.integers(0, 3)), values[-1] + draw(st.integers(0, 3))
    return Numbers(np.array([*([math.nan] if missing else []), *values], float), dtype, missing, low, high)


LEVELS: st.SearchStrategy[Levels] = st.one_of(
    numbers(),
    st.integers(1, 6).map(lambda count: Labels(tuple("abcdef"[:count]))),
    st.sampled_from([Leaves(TREE), Leaves(DAG)]),
)


def size_of(levels: Levels) -> int:
    if isinstance(levels, Numbers):
        return levels.values.size
    return len(levels.labels) if isinstance(levels, Labels) else levels.hierarchy.base


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Column], Column, Grouping]:
    rows = draw(st.integers(1, 25))
    columns = []
    for position in range(draw(st.integers(2, 4))):
        levels = draw(LEVELS)
        codes = draw(st.lists(st.integers(0, size_of(levels) - 1), min_size=rows, max_size=rows))
        dtype = draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
        columns.append(Column(f"column {position}", np.array(codes, dtype=dtype), levels))
    drawn = draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))
    used, group = np.unique(drawn, return_inverse=True)
    return columns[:-1], columns[-1], Grouping(group.astype(np.int32), used.size)


@st.composite
def mixed_tables(draw: st.DrawFn) -> tuple[list[Column], Column, Grouping, set[int]]:
    """A table with people held back, and the rows that are counterfeits; at least one row is published."""
    quasi, values, grouping = draw(tables())
    rows = grouping.group.size
    sorts = draw(st.lists(st.sampled_from("ppppch"), min_size=rows, max_size=rows))
    assume(set(sorts) != {"h"})
    held = np.flatnonzero(np.array(sorts) == "h")
    group = grouping.group.copy()
    used, renumbered = np.unique(np.delete(group, held), return_inverse=True)
    group[np.delete(np.arange(rows), held)] = renumbered
    group[held] = HELD_BACK
    reasons = {"one": held[: held.size // 2], "another": held[held.size // 2 :]}
    return quasi, values, Grouping(group, used.size, held_back=reasons), {n for n, s in enumerate(sorts) if s == "c"}


def flags(nobody: set[int], grouping: Grouping) -> Bools:
    return np.isin(np.arange(grouping.group.size), list(nobody))


def asked(queries: Queries, batch: Batch, lane: int) -> list[set[int] | None]:
    """What one query admits of each attribute: a set of codes, or None for everything."""
    found: list[set[int] | None] = []
    for position, column in enumerate(queries.columns):
        if isinstance(column.levels, Numbers):
            begin, width = int(batch.begin[position, lane]), int(batch.width[position, lane])
            codes = set(range(begin, begin + width)) if width <= size_of(column.levels) else None
        else:
            base, count = int(queries.bases[position]), size_of(column.levels)
            codes = {code for code in range(count) if batch.table[base + code, lane]}
        found.append(codes)
    return found


def numeric_share(levels: Numbers, present: set[int], codes: set[int]) -> float:
    values = levels.values
    held = [values[code] for code in present if not math.isnan(values[code])]
    if not held:
        return 0.0
    low, high = min(held), max(held)
    first, last = min(codes), max(codes)
    if not levels.dtype.is_float():
        counted = range(int(low), int(high) + 1)
        return sum(values[first] <= number <= values[last] for number in counted) / len(counted)
    lowest = 1 if levels.missing else 0
    begin = values[first] if first == lowest else (values[first - 1] + values[first]) / 2
    end = values[last] if last == values.size - 1 else (values[last] + values[last + 1]) / 2
    if low == high:
        return float(begin <= low <= end)
    return max(0.0, min(high, end) - max(low, begin)) / (high - low)


def below(hierarchy: Hierarchy, label: str) -> set[int]:
    """Leaf positions below a label, by walking down the children as declared."""
    if label in hierarchy.leaves:
        return {hierarchy.leaves.index(label)}
    children = TREE_CHILDREN if hierarchy is TREE else DAG_CHILDREN
    return set().union(*(below(hierarchy, child) for child in children[label]))


def nearest_leaves(hierarchy: Hierarchy, present: set[int]) -> set[int]:
    """The leaves of the smallest node that has all of `present`; there are no ties in these two."""
    candidates = [label for label in hierarchy.labels if present <= below(hierarchy, label)]
    return min((below(hierarchy, label) for label in candidates), key=len)


def share(column: Column, members: list[int], codes: set[int] | None) -> float:
    """The share of a group's published region that a predicate admits."""
    if codes is None:
        return 1.0
    present = {int(column.codes[row]) for row in members}
    if isinstance(column.levels, Numbers):
        return numeric_share(column.levels, present, codes)
    region = present if isinstance(column.levels, Labels) else nearest_leaves(column.levels.hierarchy, present)
    return len(region & codes) / len(region)


def by_hand(
    quasi: list[Column],
    values: Column,
    grouping: Grouping,
    query: list[set[int] | None],
    form: Form,
    nobody: set[int],
) -> tuple[int, float, float]:
    """The people who match, published or not; the estimate from what was published, counterfeits included; and the one
    from two exact tables of people without a link."""

    def admits(column: Column, codes: set[int] | None, row: int) -> bool:
        return codes is None or int(column.codes[row]) in codes

    rows = range(grouping.group.size)
    matching = [all(admits(column, codes, row) for column, codes in zip(quasi, query, strict=False)) for row in rows]
    valued = [admits(values, query[-1], row) for row in rows]
    estimated = Fraction(0) if form == "anatomised" else 0.0
    for group in range(grouping.count):
        members = [row for row in rows if grouping.group[row] == group]
        right = sum(valued[row] for row in members)
        if form == "anatomised":
            estimated += Fraction(sum(matching[row] for row in members) * right, len(members))
        else:
            estimated += right * math.prod(
                share(column, members, codes) for column, codes in zip(quasi, query, strict=False)
            )
    real = [row for row in rows if row not in nobody]
    both = sum(matching[row] for row in real) * sum(valued[row] for row in real)
    no_link = Fraction(both, max(len(real), 1))
    return sum(matching[row] and valued[row] for row in real), float(estimated), float(no_link)


def askable(columns: list[Column]) -> int:
    return sum(size_of(c.levels) > (isinstance(c.levels, Numbers) and c.levels.missing) for c in columns)


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@examples(20)
@given(
    table=tables(),
    dimensions=st.integers(1, 3),
    selectivity=st.sampled_from([0.02, 0.2, 0.5, 1.0]),
    seed=st.integers(0, 1000),
    sensitive=st.booleans(),
)
def test_answers_are_those_of_plain_counting(
    form: Form,
    table: tuple[list[Column], Column, Grouping],
    dimensions: int,
    selectivity: float,
    seed: int,
    sensitive: bool,
) -> None:
    quasi, values, grouping = table
    assume(dimensions <= askable(quasi))
    workload = Workload(dimensions, selectivity, count=20, seed=seed, sensitive=sensitive)
    compare(quasi, values, grouping, set(), workload, form)


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@examples(20)
@given(
    table=mixed_tables(),
    dimensions=st.integers(1, 3),
    selectivity=st.sampled_from([0.02, 0.2, 0.5, 1.0]),
    seed=st.integers(0, 1000),
    sensitive=st.booleans(),
)
def test_actual_counts_are_of_people_and_estimates_of_what_was_published(
    form: Form,
    table: tuple[list[Column], Column, Grouping, set[int]],
    dimensions: int,
    selectivity: float,
    seed: int,
    sensitive: bool,
) -> None:
    quasi, values, grouping, nobody = table
    assume(dimensions <= askable(quasi))
    workload = Workload(dimensions, selectivity, count=20, seed=seed, sensitive=sensitive)
    compare(quasi, values, grouping, nobody, workload, form)


def compare(
    quasi: list[Column], values: Column, grouping: Grouping, nobody: set[int], workload: Workload, form: Form
) -> None:
    flagged = flags(nobody, grouping) if nobody else None
    found = query_error(quasi, values, grouping, workload, form, counterfeit=flagged)
    queries = Queries(quasi, values, workload)
    expected: list[tuple[int, float, float]] = []
    redrawn = 0
    for number in range(math.ceil(200 / LANES)):
        batch = queries.draw(number)
        for lane in range(LANES):
            if len(expected) < workload.count:
                told = by_hand(quasi, values, grouping, asked(queries, batch, lane), form, nobody)
                redrawn += told[0] == 0
                expected += [told] if told[0] else []
    assert found.redrawn == redrawn
    assert found.queries["actual"].to_list() == [actual for actual, _, _ in expected]
    assert found.queries["estimated"].to_list() == pytest.approx([estimated for _, estimated, _ in expected])
    assert found.queries["no_link"].to_list() == pytest.approx([no_link for _, _, no_link in expected])
    errors = [abs(actual - estimated) / actual for actual, estimated, _ in expected]
    assert found.queries["error"].to_list() == pytest.approx(errors, abs=1e-9)


def amount(column: Column, members: list[int]) -> tuple[float, float]:
    """Byun's and Wong's amount of generalisation, and the certainty penalty, of one cell of a group."""
    present = {int(column.codes[row]) for row in members}
    levels = column.levels
    if isinstance(levels, Numbers):
        held = [levels.values[code] for code in present]
        if any(map(math.isnan, held)):
            return (0.0, 0.0) if len(held) == 1 else (1.0, 1.0)
        length = (max(held) - min(held)) / (levels.high - levels.low) if levels.high > levels.low else 0.0
        return length, length
    region = present if isinstance(levels, Labels) else nearest_leaves(levels.hierarchy, present)
    domain = size_of(levels)
    return (
        (len(region) - 1) / (domain - 1) if domain > 1 else 0.0,
        len(region) / domain if len(region) > 1 else 0.0,
    )


@examples(20)
@given(table=tables())
def test_losses_are_those_of_plain_counting(table: tuple[list[Column], Column, Grouping]) -> None:
    quasi, _, grouping = table
    compare_losses(quasi, grouping, set())


@examples(20)
@given(table=mixed_tables())
def test_losses_are_of_people_in_the_regions_that_were_published(
    table: tuple[list[Column], Column, Grouping, set[int]],
) -> None:
    quasi, _, grouping, nobody = table
    assume(np.count_nonzero(grouping.group != HELD_BACK) > len(nobody))
    compare_losses(quasi, grouping, nobody)


def compare_losses(quasi: list[Column], grouping: Grouping, nobody: set[int]) -> None:
    rows = range(grouping.group.size)
    cells = [
        amount(column, [other for other in rows if grouping.group[other] == grouping.group[row]])
        for row in rows
        if row not in nobody and grouping.group[row] != HELD_BACK
        for column in quasi
    ]
    total = math.fsum(first for first, _ in cells)
    flagged = flags(nobody, grouping) if nobody else None
    assert information_loss(quasi, grouping, counterfeit=flagged).total == pytest.approx(total)
    assert distortion(quasi, grouping, counterfeit=flagged) == pytest.approx(total / len(cells))
    assert certainty_penalty(quasi, grouping, counterfeit=flagged).total == pytest.approx(
        math.fsum(second for _, second in cells) / len(cells)
    )


@examples(20)
@given(table=mixed_tables())
def test_discernibility_is_that_of_plain_counting(table: tuple[list[Column], Column, Grouping, set[int]]) -> None:
    _, _, grouping, nobody = table
    group = grouping.group.tolist()
    people = len(group) - len(nobody)
    alike = sum(people if mine == HELD_BACK else group.count(mine) for mine in group)
    assert discernibility(grouping, counterfeit=flags(nobody, grouping)) == alike


@examples(10)
@given(table=tables(), seed=st.integers(0, 1000))
def test_neither_row_order_nor_group_numbers_matter(table: tuple[list[Column], Column, Grouping], seed: int) -> None:
    quasi, values, grouping = table
    assume(askable(quasi) >= 1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(grouping.group.size)
    renumbered = rng.permutation(grouping.count).astype(np.int32)
    shuffled = [Column(c.name, c.codes[order], c.levels) for c in (*quasi, values)]
    regrouped = Grouping(renumbered[grouping.group][order], grouping.count)
    workload = Workload(1, 0.5, count=30, seed=seed, sensitive=False)
    one = query_error(quasi, values, grouping, workload)
    other = query_error(shuffled[:-1], shuffled[-1], regrouped, workload)
    assert other.queries["actual"].to_list() == one.queries["actual"].to_list()
    assert other.queries["estimated"].to_list() == pytest.approx(one.queries["estimated"].to_list())
    assert information_loss(shuffled[:-1], regrouped).total == pytest.approx(information_loss(quasi, grouping).total)
