"""Bu's study: the invented people, how they change, and what is measured, against the same counted by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import polars as pl
import pytest
from reissue_studies.bu import breaches as bu_breaches
from reissue_studies.bu import claims as bu_claims
from reissue_studies.bu import experiments as bu
from reissue_studies.bu import figures as bu_figures
from reissue_studies.bu.people import DIAGNOSES, PEOPLE, PERMANENT, TERMS, labels, reactions, reports
from reissue_studies.bu.setting import LABELS, RANGES, Run, Setting
from reissue_studies.bu.stream import Rates, State, stream

from reissue.errors import ParameterError
from reissue.utility import Workload

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


# What is measured


SMALL = Setting(people=800, rounds=2, l=(2, 3), containers=(3, 6), known=(0, 1), volatile=(0.02,), queries=20, seed=5)


class Watched(NamedTuple):
    """What was measured, and the names of its steps."""

    found: pl.DataFrame
    steps: list[str]


@pytest.fixture(scope="module")
def composed() -> Watched:
    steps: list[str] = []
    return Watched(bu.composed(SMALL, progress=steps.append), steps)


@pytest.fixture(scope="module")
def breached() -> Watched:
    steps: list[str] = []
    # More people with permanent values than in the paper, so that few people suffice.
    crowded = Crowded(people=1_000, rounds=5, l=(3,), containers=(4,), volatile=(0.05,), queries=1, seed=7)
    return Watched(bu_breaches.breaches(crowded, progress=steps.append), steps)


class Crowded(Setting):
    """A setting in which permanent values are not rare."""

    @property
    def permanent(self) -> dict[str, int]:
        return {"Breast cancer": 10, "Cavity cancer": 1, "Diabetes": 40}


def test_one_parameter_varies_at_a_time(composed: Watched) -> None:
    assert SMALL.runs == [Run(2, 3, 0), Run(3, 3, 0), Run(2, 6, 0), Run(2, 3, 1)]
    assert len(composed.steps) == bu.composed_steps(SMALL)
    assert composed.found.height == 4 * SMALL.rounds
    assert composed.found.select("l", "container", "known").unique(maintain_order=True).rows() == SMALL.runs


def test_releases_are_of_everybody_registered(composed: Watched) -> None:
    states = list(SMALL.states())
    for row in composed.found.iter_rows(named=True):
        state = states[row["round"] - 1]
        assert row["registered"] == state.registry.height
        assert row["present"] == state.table["person"].n_unique()
        assert row["tuples"] == state.table.height
        assert row["share"] == pytest.approx(row["replaced"] / row["present"])
        assert row["mean"] > 0
        assert 0 < row["grouping"] < row["drafting"]


def test_more_privacy_means_fewer_groups(composed: Watched) -> None:
    groups = {tuple(key): part["groups"].sum() for key, part in composed.found.group_by("l", "container", "known")}
    assert groups[3, 3, 0] <= groups[2, 3, 0]
    assert groups[2, 6, 0] < groups[2, 3, 0]


def test_an_error_is_what_an_analyst_gets_wrong() -> None:
    """By hand: regions of everybody registered in a group, the values of those present spread evenly over them."""
    draft, _ = next(iter(SMALL.rehearse(Run(2, 3, 0), lambda step: None)))
    few = Workload(dimensions=1, selectivity=0.2, count=1, seed=3, sensitive=False)
    error = bu.asked(draft, few)
    table = draft.tables["table"]
    (row,) = error.queries.iter_rows(named=True)
    state = next(iter(SMALL.states()))
    tuples = state.table.join(state.registry, on="person")
    found = set()
    # One range on one attribute: find it among all that admit as many values as the workload says.
    for name, (low, high) in RANGES.items():
        width = few.admitted(high - low + 1)
        for start in range(low, high - width + 2):
            inside = pl.col(name).is_between(start, start + width - 1)
            if tuples.filter(inside).height != row["actual"]:
                continue
            lows, highs = (pl.col(f"{name}_{end}") for end in ("low", "high"))
            shared = pl.min_horizontal(highs, start + width - 1) - pl.max_horizontal(lows, start) + 1
            share = pl.max_horizontal(shared, 0) / (highs - lows + 1)
            found.add(round(float(table.select(share.sum()).item()), 6))
    for name, names in LABELS.items():
        for chosen in combinations(names, few.admitted(len(names))):
            if tuples.filter(pl.col(name).is_in(chosen)).height == row["actual"]:
                sets = table[name].cast(pl.String).str.strip_chars("{}").str.split(",")
                share = sets.list.eval(pl.element().is_in(chosen)).list.mean()
                found.add(round(float(share.sum()), 6))
    assert round(row["estimated"], 6) in found


def test_the_others_are_asked_the_same() -> None:
    setting = replace(SMALL, l=(2,), rounds=2)
    steps: list[str] = []
    found = bu.compared(setting, progress=steps.append)
    assert len(steps) == bu.compared_steps(setting)
    assert found.select("method", "l", "round").rows() == [
        ("l-diversity", 2, 1), ("l-diversity", 2, 2), ("m-invariance", 2, 1), ("m-invariance", 2, 2),
    ]  # fmt: skip
    states = list(setting.states())
    assert all(row["tuples"] == states[row["round"] - 1].table.height for row in found.iter_rows(named=True))
    assert (found["mean"] > 0).all()
    for state, group in bu.diverse(setting, 2, lambda step: None):
        whole = state.tuples.with_columns(group=pl.Series(group))
        people = dict(whole.group_by("group").agg(pl.col("person").n_unique()).iter_rows())
        for (number, _), part in whole.group_by("group", "diagnosis"):
            assert part.height * 2 <= people[number]


def test_breaches_are_counted_for_every_method_and_both_adversaries(breached: Watched) -> None:
    found = breached.found
    assert len(breached.steps) == 3 * 5
    assert set(found["method"]) == {"l-diversity", "m-invariance", "HD-composition"}
    linked = found.filter(pl.col("linkable") > 0)
    assert linked.select((pl.col("vulnerable") / pl.col("linkable") - pl.col("rate")).abs().max()).item() < 1e-12
    assert (found["vulnerable"] <= found["linkable"]).all()
    known = found.filter(pl.col("participation") == "known")
    assert (known["excluded"] + known["certain"] >= 0).all()
    assert (known["certain"] <= known["vulnerable"]).all()


def test_the_papers_comparison_comes_out(breached: Watched) -> None:
    last = breached.found.filter(pl.col("round") == 5)
    rate = {(m, p): r for m, p, r in last.select("method", "participation", "rate").iter_rows()}
    assert rate["l-diversity", "known"] > 0.5
    assert rate["m-invariance", "known"] > 0.2
    # Without participation nothing ties releases together.
    assert rate["l-diversity", "unknown"] == 0
    first = breached.found.filter(pl.col("round") == 1, pl.col("participation") == "known")
    assert (first["vulnerable"] == 0).all()
    ours = breached.found.filter(pl.col("method") == "HD-composition", pl.col("participation") == "unknown")
    assert (ours["vulnerable"] == 0).all()
    # Nothing can be promised where everybody's participation is known.
    assert rate["HD-composition", "known"] > 0


def test_tables_of_figures_end_with_the_papers_claims(composed: Watched, breached: Watched) -> None:
    for number in (4, 5, 7, 8):
        figure = bu_figures.FIGURES[number]
        tables = figure.tables(figure.summary(composed.found))
        assert [table.height for table in tables.values()][:2] == [SMALL.rounds] * 2
        assert list(tables)[-1] == bu_claims.TITLE
    for number, method in ((2, "l-diversity"), (3, "m-invariance")):
        figure = bu_figures.FIGURES[number]
        summary = figure.summary(breached.found)
        assert set(summary["method"]) == {method, "HD-composition"}
        told = figure.tables(summary)[bu_claims.TITLE]
        assert told.filter(pl.col("what") == "people breached by ours, any round")["here"].item() == "0"


def test_claims_are_worked_out_from_the_numbers() -> None:
    rows = [
        (one, c, k, at, 1000, n, n / 1000, float(at * one * (1 + k)), float(one * c * (2 + k)))
        for one, c, k in ((4, 5, 0), (8, 5, 0), (4, 10, 0), (4, 5, 3))
        for at, n in ((1, 0), (2, 1))
    ]  # fmt: skip
    names = ["l", "container", "known", "round", "present", "replaced", "share", "mean", "grouping"]
    found = pl.DataFrame(rows, schema=names, orient="row")
    told = dict(bu_claims.of_perturbation(found).select("what", "here").iter_rows())
    assert told["no perturbation"] == "until round 1"
    assert told["share of the people present"] == "0.0500% over all runs and rounds"
    assert told["the most in a round"] == "0.1000%"
    assert bu_claims.of_errors(found)["here"].to_list() == ["2.00", "1.00"]
    assert bu_claims.of_time(found)["here"].to_list() == ["2.00", "2.00"]
    assert bu_claims.of_participation(found)["here"].to_list() == ["4.00", "2.50"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"people": 10}, "The 'people' parameter of Setting must be a whole number of at least 200. Got 10 instead."),
        ({"rounds": 0}, "The 'rounds' parameter of Setting must be a whole number of at least 1. Got 0 instead."),
        ({"l": (1, 2)}, "The 'l' parameter of Setting must be ascending whole numbers of at least 2."),
        ({"known": ()}, "The 'known' parameter of Setting must be ascending whole numbers of at least 0."),
        ({"volatile": (0.1, 2)}, "The 'volatile' parameter of Setting must be different numbers from 0 to 1."),
        ({"l": (), "containers": (0,)}, "2 parameters of Setting do not fit."),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Setting(**wrong)
