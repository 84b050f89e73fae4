"""Bu's study: the invented people, how they change, and what is measured, against the same counted by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from reissue.errors import ParameterError
from reissue.studies.bu_people import DIAGNOSES, PEOPLE, PERMANENT, TERMS, labels, reactions, reports
from reissue.studies.bu_stream import Rates, State, stream

QUASI = ["age", "sex", "province", "height", "weight"]
BUSY = Rates(volatile=0.05, extinct=0.01, born=0.02)


# The people


def test_the_stand_in_has_the_papers_sizes() -> None:
    people = reports(PEOPLE, seed=1)
    table = reactions(people, DIAGNOSES, seed=2)
    assert (people.height, table.height) == (40_478, 105_420)
    assert people.columns == ["person", *QUASI]
    assert people["person"].n_unique() == people.height == table["person"].n_unique()
    assert not table.is_duplicated().any()
    counts = Counter(table["diagnosis"].to_list())
    assert {name: counts[name] for name in PERMANENT} == {"Breast cancer": 15, "Cavity cancer": 1, "Diabetes": 60}
    assert {*counts} <= {*labels()}
    # l = 10 must be possible even if everybody came with everything: a tenth of the people for no diagnosis.
    commonest = counts.most_common(1)[0][1]
    assert 0.02 < commonest / table.height < 0.04
    assert commonest / people.height < 0.1
    each = Counter(table["person"].to_list())
    assert min(each.values()) == 1
    assert 15 < max(each.values()) < 60


def test_people_are_plausible_and_repeatable() -> None:
    people = reports(20_000, seed=4)
    grown = people.filter(pl.col("age") >= 20)
    means = dict(grown.group_by("sex").agg(pl.col("height").mean()).iter_rows())
    assert means["male"] - means["female"] > 8
    assert people.filter(pl.col("age") < 5)["weight"].mean() < 25 < 60 < grown["weight"].mean()
    table = reactions(people, 52_000, {"Breast cancer": 200, "Diabetes": 200}, seed=1)
    ill = table.join(people, on="person")
    assert (ill.filter(pl.col("diagnosis") == "Breast cancer")["sex"] == "female").mean() > 0.95
    assert ill.filter(pl.col("diagnosis") == "Diabetes")["age"].mean() > people["age"].mean() + 5
    assert not (table["diagnosis"] == "Cavity cancer").any()
    assert reports(50, seed=4).equals(reports(50, seed=4))
    assert not reports(50, seed=4).equals(reports(50, seed=5))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rows": 100}, "The 'rows' parameter of reactions must be a whole number of at least 176. Got 100 instead."),
        ({"rows": 500, "permanent": {"Diabetes": -1}}, "The 'permanent' parameter of reactions"),
        ({"rows": 500, "permanent": {"Diabetes": 101}}, "The 'permanent' parameter of reactions"),
        ({"rows": 500, "permanent": {"Flu": 1}}, "The 'permanent' parameter of reactions"),
        ({"rows": 500, "seed": -1}, "The 'seed' parameter of reactions"),
    ],
)
def test_tables_that_cannot_be_made_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        reactions(reports(100, seed=1), **given)


# The stream


@pytest.fixture(scope="module")
def pool() -> tuple[pl.DataFrame, pl.DataFrame]:
    people = reports(600, seed=8)
    return people, reactions(people, 1_600, {"Breast cancer": 20, "Cavity cancer": 5, "Diabetes": 40}, seed=9)


@pytest.fixture(scope="module")
def states(pool: tuple[pl.DataFrame, pl.DataFrame]) -> list[State]:
    return list(stream(*pool, rounds=12, rates=BUSY, seed=10))


def _pairs(state: State) -> set[tuple[int, str]]:
    return set(state.table.iter_rows())


def test_the_first_round_is_a_tenth_and_the_registry_is_everybody(
    pool: tuple[pl.DataFrame, pl.DataFrame], states: list[State]
) -> None:
    people, diagnoses = pool
    assert states[0].registry.equals(people)
    assert states[0].extinct == []
    assert states[0].table.height == 160
    assert _pairs(states[0]) <= set(diagnoses.iter_rows())


def test_permanent_values_stay_and_none_comes_from_nowhere(
    pool: tuple[pl.DataFrame, pl.DataFrame], states: list[State]
) -> None:
    lasting = {pair for pair in pool[1].iter_rows() if pair[1] in PERMANENT}
    had: set[tuple[int, str]] = set()
    earlier_without = 0
    seen: set[int] = set()
    for state in states:
        pairs = _pairs(state)
        assert len(pairs) == state.table.height
        here = {person for person, _ in pairs}
        now = {pair for pair in pairs if pair[1] in PERMANENT}
        assert now <= lasting
        assert {pair for pair in had if pair[0] in here} <= now
        earlier_without += sum(person in seen for person, _ in now - had)
        had |= now
        seen |= here
    assert earlier_without > 0
    assert len(had) > 20


def test_tuples_change_leave_and_come_at_the_papers_rates(
    pool: tuple[pl.DataFrame, pl.DataFrame], states: list[State]
) -> None:
    for before, after in pairwise(states):
        old = {record: (person, value) for record, person, value in before.tuples.iter_rows()}
        new = {record: (person, value) for record, person, value in after.tuples.iter_rows()}
        # A record is one tuple as long as it stays.
        assert all(old[record] == new[record] for record in old.keys() & new.keys())
        alive = {record: pair for record, pair in old.items() if pair[0] not in after.extinct}
        gone = len(alive.keys() - new.keys())
        assert 0.12 * len(alive) < gone <= round(0.2 * len(alive)) + 1
        # 160 are drawn; those that are there already stay as they are.
        changed = round(0.1 * len(alive))
        assert len(new.keys() - old.keys()) <= 160 + changed + 20
        assert min(new.keys() - old.keys()) > max(old)
    assert states[-1].table.height > 3 * states[0].table.height


def test_the_registry_moves_dies_and_grows(states: list[State]) -> None:
    died: set[int] = set()
    known: set[int] = set(states[0].registry["person"])
    for before, after in pairwise(states):
        size = before.registry.height
        people = set(after.registry["person"])
        assert after.registry["person"].n_unique() == after.registry.height
        assert set(before.registry["person"]) - people == set(after.extinct)
        assert len(after.extinct) == round(0.01 * size)
        born = people - set(before.registry["person"])
        assert len(born) == round(0.02 * size)
        assert not born & known
        known |= people
        died |= set(after.extinct)
        assert not died & people
        assert {person for person, _ in _pairs(after)} <= people
        both = before.registry.join(after.registry, on="person", suffix="_now")
        moved = both.filter(pl.any_horizontal(pl.col(name) != pl.col(f"{name}_now") for name in QUASI)).height
        assert 0.03 * size < moved <= round(0.05 * size)
        assert both.filter(pl.col("sex") != pl.col("sex_now")).is_empty()


def test_records_carry_the_quasi_identifiers_of_the_registry(states: list[State]) -> None:
    state = states[-1]
    described = {row[0]: row[1:] for row in state.registry.iter_rows()}
    person = dict(state.tuples.select("record", "person").iter_rows())
    assert state.records.columns == ["record", "diagnosis", *QUASI]
    assert state.records.height == state.table.height
    for record, _, *quasi in state.records.iter_rows():
        assert tuple(quasi) == described[person[record]]


def test_the_same_seed_gives_the_same_stream(pool: tuple[pl.DataFrame, pl.DataFrame], states: list[State]) -> None:
    again = list(stream(*pool, rounds=3, rates=BUSY, seed=10))
    assert all(one.tuples.equals(other.tuples) for one, other in zip(again, states, strict=False))
    other = list(stream(*pool, rounds=3, rates=BUSY, seed=11))
    assert not other[0].tuples.equals(again[0].tuples)


def test_a_value_that_cannot_change_stays() -> None:
    people = reports(4, seed=1)
    diagnoses = pl.DataFrame({"person": [1, 2, 3, 4], "diagnosis": [TERMS[0]] * 4})
    every = Rates(start=1.0, changed=1.0, removed=0.0, inserted=0.0)
    last = [*stream(people, diagnoses, rounds=2, rates=every, seed=1)][-1]
    assert last.table["diagnosis"].to_list() == [TERMS[0]] * 4


def test_rates_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"The 'born' parameter of Rates must be a number from 0 to 1\. Got 2"):
        Rates(born=2)
    with pytest.raises(ParameterError, match="at most 1 together"):
        Rates(changed=0.6, removed=0.5)
    with pytest.raises(ParameterError, match="2 parameters of Rates do not fit"):
        Rates(start=-0.1, extinct=True)
