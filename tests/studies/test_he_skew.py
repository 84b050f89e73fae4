"""The skewed updates of He et al.: how many rows have which value, and who comes in."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from reissue_studies.he.skew import largest_skew, skewed_counts, skewed_updates

from reissue.errors import ParameterError, TableError
from reissue.samples.census import census


def people(rows: int, values: int = 4) -> pl.DataFrame:
    """A pool whose sensitive values go round; ids are not row numbers, so mixing them up shows."""
    return pl.DataFrame(
        {
            "person": [7 * row + 3 for row in range(rows)],
            "age": [20 + row % 50 for row in range(rows)],
            "occupation": [f"job {row % values}" for row in range(rows)],
        },
        schema={"person": pl.Int64, "age": pl.Int64, "occupation": pl.String},
    )


def ids(state: pl.DataFrame) -> set[int]:
    found = set(state["person"])
    assert len(found) == state.height, "somebody is in twice"
    return found


def rows_of(state: pl.DataFrame) -> dict[int, tuple[object, ...]]:
    return {row[0]: row[1:] for row in state.iter_rows()}


def test_linear_counts_by_hand() -> None:
    assert skewed_counts(20, 4, 0).tolist() == [5, 5, 5, 5]
    assert skewed_counts(20, 4, 2).tolist() == [2, 4, 6, 8]
    assert skewed_counts(18, 4, 3).tolist() == [0, 3, 6, 9]
    # min = 19/4 - 3 = 1.75: all fractions alike, so the three most frequent are rounded up.
    assert skewed_counts(19, 4, 2).tolist() == [1, 4, 6, 8]
    assert skewed_counts(7, 1, 0).tolist() == [7]


def test_the_paper_s_line() -> None:
    # N = 50, r = 20,000: min = 400 - 24.5 s.
    assert skewed_counts(20_000, 50, 0).tolist() == [400] * 50
    assert skewed_counts(20_000, 50, 8).tolist() == [204 + 8 * i for i in range(50)]
    extreme = skewed_counts(20_000, 50, 15)
    assert extreme.sum() == 20_000
    assert set((extreme - 15 * np.arange(50)).tolist()) == {32, 33}


def test_largest_skew_by_hand() -> None:
    assert largest_skew(20_000, 50) == pytest.approx(20_000 / 1_225)
    assert largest_skew(18, 4) == 3.0
    assert largest_skew(5, 1) == 0.0


@examples(60)
@given(rows=st.integers(0, 5_000), values=st.integers(1, 60), part=st.floats(0, 1))
def test_counts_keep_to_the_line(rows: int, values: int, part: float) -> None:
    steepest = largest_skew(rows, values)
    exact = Fraction(2 * rows, values * (values - 1)) if values > 1 else Fraction(0)
    assert Fraction(steepest) <= exact
    assert float(exact - Fraction(steepest)) <= 1e-12 * max(1.0, steepest)
    for skew in (part * steepest, steepest):
        counts = skewed_counts(rows, values, skew)
        assert counts.sum() == rows
        assert counts.min() >= 0
        assert np.all(np.diff(counts) >= 0)
        least = Fraction(rows, values) - Fraction(skew) * (values - 1) / 2
        assert all(abs(int(n) - (least + i * Fraction(skew))) < 1 for i, n in enumerate(counts))


@pytest.mark.parametrize("skew", [-0.1, 3.01, float("nan"), float("inf"), True, "2"])
def test_skew_out_of_range_is_refused(skew: float) -> None:
    with pytest.raises(ParameterError, match="'skew' parameter of skewed_updates must be a number from 0 to 3,"):
        skewed_updates(people(30), initial=20, turnover=18, skew=skew)


def test_skewed_batches_hold_new_people_with_linear_values() -> None:
    pool = people(40)
    states = list(skewed_updates(pool, initial=20, turnover=20 - 2, releases=12, skew=3, seed=4))
    assert len(states) == 12
    next_id = max(ids(pool)) + 1
    ages = set(pool["age"])
    mappings = set()
    for before, after in pairwise(states):
        assert after.schema == pool.schema
        new = ids(after) - ids(before)
        assert len(ids(before) - ids(after)) == 18
        assert new == set(range(next_id, next_id + 18))
        next_id += 18
        arriving = after.filter(pl.col("person").is_in(list(new)))
        counts = dict(arriving["occupation"].value_counts().iter_rows())
        assert sorted(counts.values()) == [3, 6, 9]
        mappings.add(tuple(counts.get(f"job {number}", 0) for number in range(4)))
        assert set(arriving["age"]) <= ages
        kept = rows_of(before)
        assert all(rows_of(after)[person] == kept[person] for person in ids(before) & ids(after))
    assert len(mappings) > 4, "the mapping is drawn anew for each batch"


def test_skewed_stream_is_as_long_as_the_random_one_by_default() -> None:
    assert len(list(skewed_updates(people(40), initial=20, turnover=4, skew=0.5, seed=1))) == 1 + 20 // 4


def test_skewed_quasi_identifiers_keep_their_rows_and_do_not_follow_the_value() -> None:
    pool = census(3_000, seed=8)
    _, second = skewed_updates(pool, initial=2_500, turnover=2_450, releases=2, skew=2, seed=9)
    arriving = second.filter(pl.col("person") > 3_000)
    assert arriving.height == 2_450
    quasi = ["age", "gender", "education", "birthplace"]
    assert set(arriving.select(quasi).iter_rows()) <= set(pool.select(quasi).iter_rows())
    assert sorted(arriving["occupation"].value_counts()["count"]) == [2 * i for i in range(1, 50)]


def test_skew_over_numbers_keeps_the_type() -> None:
    pool = census(1_000, sensitive="salary", seed=1).with_columns(pl.col("person").cast(pl.UInt32))
    states = list(skewed_updates(pool, initial=600, turnover=200, skew=0.1, sensitive="salary", seed=1))
    assert len(states) == 3
    assert all(state.schema == pool.schema for state in states)


def test_skew_needs_numbers_as_ids() -> None:
    pool = people(10).with_columns(pl.col("person").cast(pl.String))
    with pytest.raises(TableError, match="Column 'person' of the pool holds String"):
        skewed_updates(pool, initial=5, turnover=4, skew=0)


def test_the_same_seed_gives_the_same_stream() -> None:
    pool = census(500, seed=1)
    runs = [list(skewed_updates(pool, initial=200, turnover=50, skew=0.05, seed=seed)) for seed in (5, 5, 6)]
    assert all(a.equals(b) for a, b in zip(runs[0], runs[1], strict=True))
    assert not runs[0][1].equals(runs[2][1])


def test_what_does_not_serve_is_refused_when_called() -> None:
    with pytest.raises(TableError, match="no column 'salary'"):
        skewed_updates(people(3), initial=1, turnover=1, skew=0, sensitive="salary")
    with pytest.raises(ParameterError, match="'turnover' parameter of skewed_updates must be at most 2"):
        skewed_updates(people(9), initial=2, turnover=3, skew=0)
    with pytest.raises(ParameterError) as refused:
        skewed_updates(people(3), initial=0, turnover=0, releases=0, skew=0, seed=-1)
    assert [problem.split("'")[1] for problem in refused.value.problems] == ["initial", "turnover", "releases", "seed"]
