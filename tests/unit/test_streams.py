from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from reissue.errors import ParameterError, TableError
from reissue.samples.census import census
from reissue.samples.streams import churn, growth, updates

CANARY = "canary-in-a-cell"


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


# --- updates ---------------------------------------------------------------------------------------------


def test_the_paper_s_setting_in_small_gives_21_states() -> None:
    pool = census(6_000, seed=1)
    states = list(updates(pool, initial=2_000, turnover=200, seed=2))
    assert len(states) == 1 + 20
    assert {state.height for state in states} == {2_000}
    assert set().union(*map(ids, states)) == set(range(1, 6_001))


@examples(12)
@given(data=st.data())
def test_updates_delete_and_insert_r_people_who_never_come_back(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    initial = data.draw(st.integers(1, size))
    turnover = data.draw(st.integers(1, initial))
    pool = people(size)
    states = list(updates(pool, initial=initial, turnover=turnover, seed=data.draw(st.integers(0, 99))))
    assert len(states) == 1 + (size - initial) // turnover
    whole = rows_of(pool)
    gone: set[int] = set()
    for before, after in pairwise(states):
        assert len(ids(before) - ids(after)) == len(ids(after) - ids(before)) == turnover
        gone |= ids(before) - ids(after)
        assert not gone & ids(after)
    for state in states:
        assert len(ids(state)) == initial
        assert state.schema == pool.schema
        assert all(whole[person] == row for person, row in rows_of(state).items())


def test_everybody_is_as_likely_to_be_in_and_to_leave() -> None:
    pool = people(6)
    first = np.zeros(6)
    left = np.zeros(6)
    for seed in range(3_000):
        a, b = updates(pool, initial=3, turnover=1, releases=2, seed=seed)
        first[[(person - 3) // 7 for person in ids(a)]] += 1
        left[[(person - 3) // 7 for person in ids(a) - ids(b)]] += 1
    assert first == pytest.approx([1_500] * 6, abs=150)
    assert left == pytest.approx([500] * 6, abs=120)


def test_releases_are_as_many_as_asked_for_and_no_more_than_the_pool_has() -> None:
    assert len(list(updates(people(10), initial=4, turnover=2, releases=3, seed=1))) == 3
    assert len(list(updates(people(10), initial=4, turnover=2, releases=4, seed=1))) == 4
    with pytest.raises(ParameterError, match=r"'releases' parameter of updates must be at most 4 .*Got 5"):
        updates(people(10), initial=4, turnover=2, releases=5)


def test_the_same_seed_gives_the_same_stream() -> None:
    pool = census(500, seed=1)
    runs = [list(updates(pool, initial=200, turnover=50, seed=seed)) for seed in (5, 5, 6)]
    assert all(a.equals(b) for a, b in zip(runs[0], runs[1], strict=True))
    assert not runs[0][1].equals(runs[2][1])


def test_ids_may_be_labels() -> None:
    pool = people(10).with_columns(pl.col("person").cast(pl.String))
    assert len(list(updates(pool, initial=5, turnover=5, seed=1))) == 2


# --- growth ----------------------------------------------------------------------------------------------


@examples(12)
@given(data=st.data())
def test_growth_only_inserts(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    initial = data.draw(st.integers(1, size))
    step = data.draw(st.integers(1, 15))
    pool = people(size)
    states = list(growth(pool, initial=initial, step=step, seed=data.draw(st.integers(0, 99))))
    assert [len(ids(state)) for state in states] == list(range(initial, size + 1, step))
    for before, after in pairwise(states):
        assert ids(before) < ids(after)
    whole = rows_of(pool)
    assert all(whole[person] == row for state in states for person, row in rows_of(state).items())


def test_growth_stops_when_told_and_refuses_more_than_there_is() -> None:
    assert [s.height for s in growth(people(30), initial=10, step=5, releases=3, seed=1)] == [10, 15, 20]
    with pytest.raises(ParameterError, match="at most 5 with a pool of 30 rows"):
        growth(people(30), initial=10, step=5, releases=6)


# --- churn -----------------------------------------------------------------------------------------------


@examples(16)
@given(data=st.data())
def test_churn_moves_as_many_as_asked_for_or_all_there_are(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    initial = data.draw(st.integers(1, size))
    arrivals, departures, returns, changes = (data.draw(st.integers(0, 8)) for _ in range(4))
    # Two values at least, and two rows to hold them.
    values = data.draw(st.integers(2, 5))
    changes = changes if size > 1 else 0
    pool = people(size, values)
    states = list(
        churn(
            pool,
            initial=initial,
            arrivals=arrivals,
            departures=departures,
            returns=returns,
            changes=changes,
            releases=6,
            seed=data.draw(st.integers(0, 99)),
        )
    )
    assert len(states) == 6
    assert len(ids(states[0])) == initial
    whole, ever, latest = rows_of(pool), ids(states[0]), rows_of(pool)
    assert all(whole[person] == row for person, row in rows_of(states[0]).items())
    for before, after in pairwise(states):
        was, now = ids(before), ids(after)
        new = now - ever
        back = (now - was) & ever
        stayed = was & now
        assert len(was - now) == min(departures, len(was))
        assert len(new) == min(arrivals, size - len(ever))
        assert len(back) == min(returns, len(ever - was))
        changed = {person for person in stayed if rows_of(after)[person] != rows_of(before)[person]}
        assert len(changed) == min(changes, len(stayed))
        for person, row in rows_of(after).items():
            assert row[0] == whole[person][0], "quasi-identifiers never change"
            if person not in changed:
                assert row == latest[person], "a value is kept while its person is away"
        latest |= rows_of(after)
        ever |= now
        assert after.schema == pool.schema
        assert set(after["occupation"]) <= set(pool["occupation"])


def test_changed_values_are_any_other_value() -> None:
    pool = people(5, values=5)
    seen = set()
    for seed in range(200):
        a, b = churn(pool, initial=5, arrivals=0, departures=0, returns=0, changes=1, releases=2, seed=seed)
        (person,) = [person for person in ids(a) if rows_of(a)[person] != rows_of(b)[person]]
        seen.add((rows_of(a)[person][1], rows_of(b)[person][1]))
    assert len(seen) == 5 * 4


def test_churn_takes_numbers_and_categories_as_values() -> None:
    flow = {"arrivals": 2, "departures": 2, "returns": 1, "changes": 3, "releases": 4}
    numbers = census(50, sensitive="salary", seed=1)
    categories = people(50).with_columns(pl.col("occupation").cast(pl.Categorical))
    for pool, column in ((numbers, "salary"), (categories, "occupation")):
        states = list(churn(pool, initial=20, sensitive=column, seed=1, **flow))
        assert all(state.schema == pool.schema for state in states)
        known = dict(pool.select("person", column).iter_rows())
        assert all(known[person] == value for person, value in states[0].select("person", column).iter_rows())


def test_churn_with_the_same_seed_is_the_same() -> None:
    flow = {"arrivals": 3, "departures": 3, "returns": 1, "changes": 2, "releases": 5}
    a, b, c = (list(churn(people(60), initial=20, seed=seed, **flow)) for seed in (1, 1, 2))
    assert all(x.equals(y) for x, y in zip(a, b, strict=True))
    assert not a[-1].equals(c[-1])


# --- refusals --------------------------------------------------------------------------------------------


def test_pools_that_do_not_serve_are_refused_with_all_their_problems() -> None:
    pool = pl.DataFrame({"person": [1, 1, None], "occupation": [CANARY, None, CANARY]})
    with pytest.raises(TableError) as refused:
        churn(pool, initial=9, arrivals=0, departures=0, returns=0, changes=0, releases=1)
    assert refused.value.problems == (
        "Column 'person' repeats itself in 1 row.",
        "Column 'person' is missing in 1 row.",
        "Column 'occupation' is missing in 1 row.",
        "It has 3 rows, and 'initial' asks for 9.",
    )
    assert CANARY not in str(refused.value)


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(TableError, match="no column 'patient'; it has 'person', 'age', 'occupation'"):
        growth(people(3), initial=1, step=1, person="patient")
    with pytest.raises(TableError, match="no column 'salary'"):
        churn(people(3), initial=1, arrivals=0, departures=0, returns=0, changes=0, releases=1, sensitive="salary")


def test_bad_numbers_are_refused_when_called() -> None:
    with pytest.raises(ParameterError) as refused:
        updates(people(3), initial=0, turnover=0, releases=0, seed=-1)
    assert [problem.split("'")[1] for problem in refused.value.problems] == [
        "initial",
        "turnover",
        "releases",
        "seed",
    ]
    with pytest.raises(ParameterError, match="'turnover' parameter of updates must be at most 2"):
        updates(people(9), initial=2, turnover=3)
    with pytest.raises(ParameterError, match="'step' parameter of growth"):
        growth(people(9), initial=2, step=0)
    with pytest.raises(TableError, match="single value"):
        churn(people(9, 1), initial=2, arrivals=0, departures=0, returns=0, changes=1, releases=1)
