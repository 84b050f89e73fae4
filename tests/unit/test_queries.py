"""The workload generator and the error of queries, on tables small enough to count by hand."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from reissue.errors import InternalError, ParameterError
from reissue.kernels.query_counts import LANES
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.hierarchy import Hierarchy
from reissue.model.snapshot import Column, Labels, Leaves, Levels, Numbers
from reissue.utility import Workload, query_error
from reissue.utility.queries import Form
from reissue.utility.workload import Batch, Queries, edges

BATCHES = 20
FORMS: tuple[Form, ...] = ("generalised", "anatomised")


def column(name: str, codes: list[int], levels: Levels) -> Column:
    return Column(name, np.array(codes, dtype=np.uint8), levels)


def whole(low: int, high: int, missing: bool = False) -> Numbers:
    values = np.array([*([math.nan] if missing else []), *range(low, high + 1)])
    return Numbers(values, pl.Int64(), missing, float(low), float(high))


def labels(count: int) -> Labels:
    return Labels(tuple(f"label {number}" for number in range(count)))


def tree(count: int) -> Leaves:
    half = count // 2
    names = [f"leaf {number}" for number in range(count)]
    return Leaves(Hierarchy("*", {"*": ["left", "right"], "left": names[:half], "right": names[half:]}))


def domains() -> tuple[list[Column], Column]:
    quasi = [
        column("age", [0], whole(20, 98)),
        column("sex", [0], labels(3)),
        column("weight", [0], whole(1, 17, missing=True)),
        column("place", [0], tree(57)),
    ]
    return quasi, column("disease", [0], labels(50))


def admitted(queries: Queries, batch: Batch, position: int, lane: int) -> list[int]:
    """The codes that one query admits of one attribute."""
    levels = queries.columns[position].levels
    if isinstance(levels, Numbers):
        begin, width = int(batch.begin[position, lane]), int(batch.width[position, lane])
        return [code for code in range(levels.values.size) if begin <= code < begin + width]
    count = len(levels.labels) if isinstance(levels, Labels) else levels.hierarchy.base
    base = int(queries.bases[position])
    return np.flatnonzero(batch.table[base : base + count, lane]).tolist()


@pytest.mark.parametrize(
    ("domain", "dimensions", "selectivity", "sensitive", "expected"),
    [
        (79, 3, 0.05, True, 38),  # 79 * 0.05 ** (1 / 4) = 37.36
        (50, 1, 0.01, True, 5),  # 50 * 0.1, exactly
        (10, 1, 0.01, True, 1),  # 10 * 0.1, exactly
        (1000, 2, 0.001, True, 100),  # a cube root that is whole but for rounding
        (50, 2, 0.01, False, 5),
        (2, 3, 0.0001, True, 1),
        (7, 4, 1.0, True, 7),
    ],
)
def test_how_many_values_a_predicate_admits(
    domain: int, dimensions: int, selectivity: float, sensitive: bool, expected: int
) -> None:
    workload = Workload(dimensions, selectivity, seed=1, sensitive=sensitive)
    assert workload.admitted(domain) == expected


def test_a_number_of_sensitive_values_leaves_the_rest_to_the_quasi_identifiers() -> None:
    quasi, values = domains()
    # A share of 0.002 of the rows: one of 50 values matches 0.02 of them, so two ranges are to match 0.1.
    workload = Workload(2, 0.002, seed=3, sensitive_values=1)
    expected = [25, 1, 6, 19]  # 79, 3, 17 and 57 values times the square root of 0.1, rounded up
    assert [workload.admitted(size, 50) for size in (79, 3, 17, 57)] == expected
    queries = Queries(quasi, values, workload)
    asked_for = set()
    for number in range(BATCHES):
        batch = queries.draw(number)
        for lane in range(LANES):
            codes = [admitted(queries, batch, position, lane) for position in range(5)]
            assert len(codes[-1]) == 1
            asked_for.add(codes[-1][0])
            restricted = [position for position in range(4) if len(codes[position]) == expected[position]]
            assert len(restricted) == 2
            assert all(len(codes[n]) == (79, 3, 18, 57)[n] for n in range(4) if n not in restricted)
    assert asked_for == set(range(50))
    numeric = Queries(quasi, column("pay", [0], whole(5, 8)), Workload(1, 0.25, seed=3, sensitive_values=1))
    batch = numeric.draw(0)
    assert {tuple(admitted(numeric, batch, 4, lane)) for lane in range(LANES)} == {(0,), (1,), (2,), (3,)}


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_each_query_restricts_so_many_attributes_to_so_many_values(dimensions: int, sensitive: bool) -> None:
    quasi, values = domains()
    queries = Queries(quasi, values, Workload(dimensions, 0.1, seed=3, sensitive=sensitive))
    share = 0.1 ** (1 / (dimensions + sensitive))
    for number in range(BATCHES):
        batch = queries.draw(number)
        for lane in range(LANES):
            restricted = []
            for position, size in enumerate((79, 3, 17, 57, 50)):
                codes = admitted(queries, batch, position, lane)
                missing = position == 2
                if len(codes) == size + missing:
                    assert math.isinf(batch.lower[position, lane])
                    assert math.isinf(batch.upper[position, lane])
                    continue
                restricted.append(position)
                assert len(codes) == math.ceil(size * share)
                if position in (0, 2):
                    assert codes == list(range(codes[0], codes[0] + len(codes)))
                    assert codes[0] >= missing
            assert len([position for position in restricted if position < 4]) == dimensions
            assert (4 in restricted) == sensitive


def test_all_attributes_and_values_are_drawn_evenly() -> None:
    quasi = [column(name, [0], levels) for name, levels in (("a", whole(1, 4)), ("b", labels(4)), ("c", tree(4)))]
    queries = Queries(quasi, column("v", [0], labels(3)), Workload(1, 1 / 16, seed=0))
    restricted = np.zeros(3)
    often = np.zeros((3, 4))
    batches = 60
    for number in range(batches):
        batch = queries.draw(number)
        for lane in range(LANES):
            for position in range(3):
                codes = admitted(queries, batch, position, lane)
                if len(codes) == 1:
                    restricted[position] += 1
                    often[position, codes[0]] += 1
    asked = batches * LANES
    assert restricted.sum() == asked
    # Five standard deviations of a binomial count around what is expected.
    assert np.abs(restricted - asked / 3).max() < 5 * math.sqrt(asked * 2 / 9)
    assert np.abs(often - asked / 12).max() < 5 * math.sqrt(asked * 11 / 144)


def test_the_same_seed_draws_the_same_queries_in_any_order_and_thread() -> None:
    quasi, values = domains()
    queries = Queries(quasi, values, Workload(2, 0.1, seed=5))
    with ThreadPoolExecutor(2) as pool:
        forwards = list(pool.map(queries.draw, range(6)))
    backwards = [queries.draw(number) for number in reversed(range(6))][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        for name in ("begin", "width", "lower", "upper", "table"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    different = Queries(quasi, values, Workload(2, 0.1, seed=6)).draw(0)
    assert (different.begin != forwards[0].begin).any()
    assert (different.table != forwards[0].table).any()
    assert (forwards[1].table != forwards[0].table).any()


def test_a_fresh_seed_can_be_read_and_used_again() -> None:
    first = Workload(1, 0.5)
    assert isinstance(first.seed, int)
    assert Workload(1, 0.5).seed != first.seed
    assert Workload(1, 0.5, seed=first.seed) == first


def test_edges_of_ranges() -> None:
    lower, upper = edges(whole(3, 5))
    assert (lower.tolist(), upper.tolist()) == ([2.5, 3.5, 4.5], [3.5, 4.5, 5.5])
    measured = Numbers(np.array([math.nan, 1.0, 2.0, 6.0]), pl.Float64(), True, 1.0, 6.0)
    lower, upper = edges(measured)
    assert lower[1:].tolist() == [1.0, 1.5, 4.0]
    assert upper[1:].tolist() == [1.5, 4.0, 6.0]
    days = Numbers(np.array([10.0, 20.0]), pl.Date(), False, 10.0, 20.0)
    assert edges(days)[0].tolist() == [9.5, 19.5]


# Group 0: ages 20 and 23 with values x and y; group 1: ages 20 and 21, both with value x. Of four ages and two
# values a query of selectivity 1/4 asks for two neighbouring ages and one value.
AGES = column("age", [0, 3, 0, 1], whole(20, 23))
VALUES = column("value", [0, 1, 0, 0], labels(2))
PAIRS = Grouping(np.array([0, 0, 1, 1], dtype=np.int32), 2)
ASKED = Workload(1, 1 / 4, count=1000, seed=11)


def test_generalised_estimates_by_hand() -> None:
    found = query_error([AGES], VALUES, PAIRS, ASKED, "generalised")
    # Group 0 is [20, 23] with x, y; group 1 is [20, 21] with x, x.
    expected = {
        (3, 0.5 * 1 + 1.0 * 2),  # ages 20 and 21, value x
        (1, 0.5 * 1 + 0.5 * 2),  # ages 21 and 22, value x
        (1, 0.5 * 1 + 0.0 * 0),  # ages 22 and 23, value y
    }
    assert set(found.queries.select("actual", "estimated").iter_rows()) == expected
    assert found.queries["error"].to_list() == [
        abs(actual - estimated) / actual for actual, estimated, *_ in found.queries.iter_rows()
    ]


def test_anatomised_estimates_by_hand() -> None:
    found = query_error([AGES], VALUES, PAIRS, ASKED, "anatomised")
    expected = {
        (3, 1 * 1 / 2 + 2 * 2 / 2),  # ages 20 and 21, value x
        (1, 0 * 1 / 2 + 1 * 2 / 2),  # ages 21 and 22, value x
        (1, 1 * 1 / 2 + 0),  # ages 22 and 23, value y
    }
    assert set(found.queries.select("actual", "estimated").iter_rows()) == expected


# The pairs of before; beside them a counterfeit of age 22 with value y in group 0, and two people of age 22 with value
# y held back.
MORE_AGES = column("age", [0, 2, 3, 2, 0, 1, 2], whole(20, 23))
MORE_VALUES = column("value", [0, 1, 1, 1, 0, 0, 1], labels(2))
MIXED = Grouping(
    np.array([0, 0, 0, HELD_BACK, 1, 1, HELD_BACK], dtype=np.int32), 2, held_back={"changed": np.array([3, 6])}
)
NOBODY = np.array([False, True, False, False, False, False, False])


def test_estimates_with_counterfeits_and_people_held_back_by_hand() -> None:
    found = query_error([MORE_AGES], MORE_VALUES, MIXED, ASKED, "generalised", counterfeit=NOBODY)
    # Group 0 is [20, 23] with x, y, y; group 1 is [20, 21] with x, x.
    assert set(found.queries.select("actual", "estimated").iter_rows()) == {
        (3, 0.5 * 1 + 1.0 * 2),  # ages 20 and 21, value x
        (1, 0.5 * 1 + 0.5 * 2),  # ages 21 and 22, value x
        (2, 0.5 * 2 + 0.5 * 0),  # ages 21 and 22, value y: only the two held back
        (3, 0.5 * 2 + 0.0 * 0),  # ages 22 and 23, value y: one published and the two held back
    }
    found = query_error([MORE_AGES], MORE_VALUES, MIXED, ASKED, "anatomised", counterfeit=NOBODY)
    assert set(found.queries.select("actual", "estimated").iter_rows()) == {
        (3, 1 * 1 / 3 + 2 * 2 / 2),
        (1, 1 * 1 / 3 + 1 * 2 / 2),
        (2, 1 * 2 / 3),
        (3, 2 * 2 / 3),
    }


def test_a_query_that_only_a_counterfeit_matches_is_drawn_again() -> None:
    published = [0, 1, 2, 4, 5]
    ages, values = (column(c.name, c.codes[published].tolist(), c.levels) for c in (MORE_AGES, MORE_VALUES))
    grouping = Grouping(MIXED.group[published], 2)
    for form in FORMS:
        found = query_error([ages], values, grouping, ASKED, form, counterfeit=NOBODY[published])
        # Ages 21 and 22 with value y are the counterfeit's alone: what is left are the queries of the pairs.
        assert sorted(set(found.queries["actual"])) == [1, 3]
        assert found.redrawn == query_error([AGES], VALUES, PAIRS, ASKED, form).redrawn


def test_merging_balanced_groups_changes_no_anatomised_estimate() -> None:
    # He et al. 2011, Proposition 1 (1): groups that hold each value of one signature equally often.
    rng = np.random.default_rng(4)
    age = column("age", rng.integers(0, 30, 240).tolist(), whole(20, 49))
    place = column("place", rng.integers(0, 8, 240).tolist(), tree(8))
    value = column("value", [number % 4 for number in range(240)], labels(6))
    fine = Grouping(np.arange(240, dtype=np.int32) // 4, 60)
    merged = Grouping(np.zeros(240, dtype=np.int32), 1)
    for selectivity in (0.01, 0.1):
        asked = Workload(2, selectivity, count=300, seed=5, sensitive_values=1)
        one, other = (query_error([age, place], value, groups, asked, "anatomised") for groups in (fine, merged))
        assert other.queries["estimated"].to_list() == pytest.approx(one.queries["estimated"].to_list())
        assert other.queries["actual"].to_list() == one.queries["actual"].to_list()
        assert one.queries["error"].max() > 0


def test_median_and_mean_are_those_of_the_errors() -> None:
    found = query_error([AGES], VALUES, PAIRS, ASKED, "anatomised")
    errors = sorted(found.queries["error"].to_list())
    assert found.median == (errors[499] + errors[500]) / 2
    assert found.mean == pytest.approx(math.fsum(errors) / 1000)


def test_queries_nobody_matches_are_drawn_again_and_counted() -> None:
    found = query_error([AGES], VALUES, PAIRS, ASKED, "anatomised")
    assert found.answered == 1000
    assert found.queries["actual"].min() == 1
    # Of the six possible queries three match nobody: ages 20, 21 with y; 21, 22 with y; 22, 23 with x.
    assert abs(found.redrawn - 1000) < 5 * math.sqrt(2000)
    again = query_error([AGES], VALUES, PAIRS, ASKED, "anatomised")
    assert again.queries.equals(found.queries)
    assert again.redrawn == found.redrawn
    # A longer run begins with the shorter one.
    longer = query_error([AGES], VALUES, PAIRS, Workload(1, 1 / 4, count=1500, seed=11), "anatomised")
    assert longer.queries.head(1000).equals(found.queries)
    assert longer.redrawn > found.redrawn


def test_without_a_sensitive_predicate_anatomy_is_exact() -> None:
    workload = Workload(1, 1 / 4, count=200, seed=2, sensitive=False)
    found = query_error([AGES], VALUES, PAIRS, workload, "anatomised")
    assert found.mean == 0
    # One age each: 20 has two rows, 21 and 23 one.
    assert set(found.queries["actual"]) == {1, 2}


def test_missing_numbers_match_no_range() -> None:
    ages = column("age", [0, 0, 1, 2], whole(20, 21, missing=True))
    workload = Workload(1, 1.0, count=10, seed=2, sensitive=False)
    only = Grouping(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    found = query_error([ages], VALUES, only, workload, "generalised")
    assert set(found.queries.iter_rows()) == {(2, 2.0, 0.0, 2.0, 0.0)}
    mixed = Grouping(np.array([0, 1, 0, 1], dtype=np.int32), 2)
    found = query_error([ages], VALUES, mixed, workload, "generalised")
    assert set(found.queries.iter_rows()) == {(2, 4.0, 1.0, 2.0, 0.0)}


def test_an_attribute_without_values_is_not_asked_for() -> None:
    nothing = column("empty", [0, 0, 0, 0], Numbers(np.array([math.nan]), pl.Int64(), True, math.nan, math.nan))
    for form in FORMS:
        with_it = query_error([nothing, AGES], VALUES, PAIRS, ASKED, form)
        assert set(with_it.queries["actual"]) == {1, 3}
    with pytest.raises(ParameterError, match="must be at most 1, since the table has 1 quasi-identifier"):
        query_error([nothing, AGES], VALUES, PAIRS, Workload(2, 0.5))
    with pytest.raises(ParameterError, match="all its values are missing"):
        query_error([AGES], nothing, PAIRS, ASKED)
    assert query_error([AGES], nothing, PAIRS, Workload(1, 0.5, count=5, sensitive=False)).answered == 5


def test_when_no_query_matches_the_error_is_undefined_and_said_so() -> None:
    # One row, one age of 79 and one value of 200 asked for: this seed never meets it.
    age = column("age", [78], whole(20, 98))
    value = column("value", [3], labels(200))
    alone = Grouping(np.zeros(1, dtype=np.int32), 1)
    found = query_error([age], value, alone, Workload(1, 1e-6, count=5, seed=1))
    assert found.answered == 0
    assert found.redrawn == LANES * math.ceil(50 / LANES)
    assert math.isnan(found.median)
    assert math.isnan(found.mean)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["median"] is None
    assert "no error is defined; 0 of 5 queries answered" in repr(found)


def test_groups_of_equal_rows_are_exact() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 300)
    quasi = [
        column("age", codes.tolist(), whole(1, 4)),
        column("sex", (codes % 2).tolist(), labels(2)),
        column("place", codes.tolist(), tree(4)),
    ]
    value = column("value", rng.integers(0, 3, 300).tolist(), labels(3))
    for form in FORMS:
        for grouping in (Grouping(codes.astype(np.int32), 4), Grouping(np.arange(300, dtype=np.int32), 300)):
            found = query_error(quasi, value, grouping, Workload(3, 0.2, 300, 1), form)
            assert found.queries["error"].max() == pytest.approx(0)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    query_error([AGES], VALUES, PAIRS, ASKED, progress=lambda done, asked: told.append((done, asked)))
    assert told == sorted(told)
    assert told[-1] == (1000, 1000)
    assert {asked for _, asked in told} == {1000}


def test_an_error_in_progress_stops_the_work() -> None:
    def fail(done: int, asked: int) -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        query_error([AGES], VALUES, PAIRS, ASKED, progress=fail)


def test_parameters_are_checked() -> None:
    for arguments, message in (
        ({"dimensions": 0}, "'dimensions' parameter of Workload must be a whole number of at least 1. Got 0 instead"),
        ({"selectivity": 0}, "'selectivity' parameter of Workload must be a number above 0 and at most 1"),
        ({"selectivity": 1.5}, "Got 1.5 instead"),
        ({"selectivity": math.nan}, "Got nan instead"),
        ({"count": 0}, "'count' parameter of Workload"),
        ({"seed": -1}, "'seed' parameter of Workload must be a whole number of at least 0"),
    ):
        with pytest.raises(ParameterError, match=message):
            Workload(**{"dimensions": 1, "selectivity": 0.1, **arguments})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'sensitive_values' parameter of Workload must be a whole number"):
        Workload(1, 0.1, sensitive_values=0)
    with pytest.raises(ParameterError, match="'sensitive_values' parameter of Workload must be left out"):
        Workload(1, 0.1, sensitive=False, sensitive_values=1)
    with pytest.raises(ParameterError, match=r"Workload\.admitted must be given"):
        Workload(1, 0.1, sensitive_values=1).admitted(79)
    with pytest.raises(ParameterError, match=r"must be at most 2, since 'value' has .* Got 3 instead"):
        query_error([AGES], VALUES, PAIRS, Workload(1, 0.1, sensitive_values=3))
    with pytest.raises(ParameterError, match=r"must be at most 0\.5 where a query asks for 1 of 2 sensitive values"):
        query_error([AGES], VALUES, PAIRS, Workload(1, 0.6, sensitive_values=1))
    assert query_error([AGES], VALUES, PAIRS, Workload(1, 0.5, count=5, sensitive_values=1)).answered == 5
    with pytest.raises(ParameterError, match="'form' parameter of query_error"):
        query_error([AGES], VALUES, PAIRS, ASKED, "shuffled")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must be at most 1"):
        query_error([AGES], VALUES, PAIRS, Workload(2, 0.1))
    with pytest.raises(InternalError, match="'value'"):
        query_error([AGES], column("value", [0], labels(2)), PAIRS, ASKED)
