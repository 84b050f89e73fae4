"""Comparing methods on a series: what is tried, what comes out, the same every time, within a time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from real_data import FOLDER, needs

import reissue as ri
from reissue.comparing import compare_methods
from reissue.comparing.attacked import without_a_link
from reissue.comparing.crew import LOST, UNPACKABLE, Outcome, worked_through
from reissue.comparing.rehearsed import ROW, Effort, rehearsed
from reissue.comparing.series_tables import least_rate, read_series
from reissue.comparing.suggested import NO_LINK, Candidate, asked_m, feasible_m, suggested
from reissue.errors import InternalError, ParameterError, TableError
from reissue.samples.census import census
from reissue.samples.hospital import hospital
from reissue.samples.streams import churn

SCHEMA = ri.Schema(
    person="patient",
    quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
    sensitive={"diagnosis": ri.Categorical(new="accept")},
)
POLICY = ri.Policy(SCHEMA, ri.MInvariance(4))


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    return list(hospital(3, patients=800))


@pytest.fixture(scope="module")
def found(months: list[pl.DataFrame]) -> ri.Comparison:
    return ri.compare(months, POLICY, queries=200, processes=0)


def row(found: ri.Comparison, method: str) -> dict[str, object]:
    return found.frame.row(by_predicate=pl.col("method") == method, named=True)


# What comes out


def test_every_candidate_has_a_row(found: ri.Comparison) -> None:
    assert [*found.frame.columns] == [*ROW, "against", "recommended"]
    assert found.frame["method"].to_list()[-1] == NO_LINK
    assert {"Alternatives", "MInvariance", "EEquivalence", "CorSplit", "Incremental", "HDComposition", "Mondrian"} <= {
        *found.frame["kind"]
    }
    for name in ("Incremental", "HDComposition"):
        assert row(found, name)["refused"]
        assert row(found, name)["counts"] is None
    assert "120 people are gone" in str(row(found, "Incremental")["refused"])
    assert "permanent" in str(row(found, "HDComposition")["refused"])


def test_figures_are_those_of_a_series(found: ri.Comparison, months: list[pl.DataFrame], tmp_path: Path) -> None:
    """Published for real with the same seeds, m-invariance costs and tells the same."""
    workload = ri.Workload(2, 0.05, 200, seed=1)
    with ri.open(tmp_path / "series", ri.Policy(SCHEMA, ri.MInvariance(4), "anatomised")) as series:
        drafts = []
        for number, month in enumerate(months, start=1):
            drafts.append(series.draft(month, seed=1 + number))
            series.commit(drafts[-1])
        told = series.utility(3, workload=workload)
        audited = series.audit(attacks=["Worlds"])
    measured = row(found, "MInvariance, anatomised")
    assert told.query_error is not None
    assert measured["counts"] == pytest.approx(told.query_error.median)
    assert measured["counterfeit"] == max(one.summary["counterfeits"] / one.summary["rows"] for one in drafts)
    assert (measured["slopes"], measured["kept"]) == (told.gradients.sure, told.gradients.kept)
    assert audited.passed
    assert measured["above"] == measured["undecided"] == 0


def test_regions_are_measured_as_a_series_measures_them(months: list[pl.DataFrame], tmp_path: Path) -> None:
    """With `k` several people share a region, and everybody still has a row of their own."""
    policy = ri.Policy(SCHEMA, ri.Alternatives(4, epsilon=1, limit="2/4", k=10))
    found = ri.compare(months[:1], policy, methods=["Alternatives"], queries=200, processes=0)
    with ri.open(tmp_path / "series", policy) as series:
        series.publish(months[0].sort("patient"), seed=2)
        measured = series.utility(1, workload=ri.Workload(2, 0.05, 200, seed=1))
    told = row(found, "Alternatives, m = 4")
    assert told["refused"] is None
    assert measured.query_error is not None
    assert told["counts"] == measured.query_error.median


def test_groups_above_the_limit_are_those_that_worlds_finds(months: list[pl.DataFrame], tmp_path: Path) -> None:
    """What is found by intersection and in single releases is at most what all worlds tell."""
    found = ri.compare(months, POLICY, methods=["Mondrian"], queries=50, processes=0)
    mine = row(found, "Mondrian, unprotected")
    assert 0 < float(str(mine["above"])) <= 1
    assert mine["protects"] is False
    alone = ri.compare(months[:1], POLICY, methods=["Mondrian"], queries=50, processes=0)
    policy = ri.Policy(SCHEMA, ri.Mondrian(k=4, l=4))
    with ri.open(tmp_path / "series", policy) as series:
        series.publish(months[0], seed=2)
        risks = ri.attacks.Worlds().run(series.published()).risks
    exact = float((risks["low"] > 1.05 / 4).mean())  # type: ignore[arg-type]
    assert row(alone, "Mondrian, unprotected")["above"] == pytest.approx(exact)


def test_no_link_at_all_is_what_utility_says(found: ri.Comparison, tmp_path: Path, months: list[pl.DataFrame]) -> None:
    beside = row(found, NO_LINK)
    with ri.open(tmp_path / "series", ri.Policy(SCHEMA, ri.Mondrian(k=4))) as series:
        series.publish(months[-1])
        told = series.utility(1, workload=ri.Workload(2, 0.05, 200, seed=1))
    assert told.query_error is not None
    assert beside["counts"] == pytest.approx(told.query_error.median_no_link)
    assert beside["shares"] == pytest.approx(told.gradients.off_no_link)
    assert beside["advantage"] == 0
    most = months[-1]["diagnosis"].value_counts()["count"].max() / months[-1].height  # type: ignore[operator]
    assert beside["right"] == pytest.approx(most)


def test_no_link_at_all_tells_who_came_and_who_left() -> None:
    """By hand: three came, and flu grew by two, so that each of them has it with 2/3; one left with the only ulcer."""
    first = pl.DataFrame({"person": range(6), "value": ["flu", "flu", "gout", "gout", "flu", "ulcer"]})
    came = pl.DataFrame({"person": [10, 11, 12], "value": ["flu", "flu", "gout"]})
    second = pl.concat([first, came])
    third = second.filter(pl.col("person") != 5)
    told = without_a_link([first, second, third], 0.5)
    assert (told["above"], told["far_above"]) == (4 / 9, 1 / 9)  # with 2/3 > 1/2, and for certain
    assert (told["certain"], told["certain_false"]) == (1 / 9, 0.0)
    assert told["undecided"] == 0.0
    told = without_a_link([first, second, third], 0.7)
    assert (told["above"], told["undecided"]) == (1 / 9, 3 / 9)
    # Somebody leaves, and in their place another's value changes: who takes values for fixed is certain, and wrong.
    changed = first.filter(pl.col("person") != 5).with_columns(value=pl.Series(["flu", "flu", "gout", "gout", "ulcer"]))
    assert without_a_link([first, changed], 0.5)["certain_false"] == 1.0
    assert without_a_link([first], 0.5)["above"] == 0.0


def test_one_group_for_all_is_a_row_like_others(months: list[pl.DataFrame]) -> None:
    """Nobody's own row adds anything to what all others say; a method with one group was an error instead."""
    policy = ri.Policy(SCHEMA, ri.Mondrian(k=months[-1].height // 2 + 1, l=2), series="unprotected")
    tables = read_series(months, SCHEMA, None, 1)
    found = rehearsed(Candidate("one group", "Mondrian", (policy,)), tables, 0.25, Effort(50, 1))
    most = months[-1]["diagnosis"].value_counts()["count"].max() / months[-1].height  # type: ignore[operator]
    assert found.row["right"] == found.row["without"] == pytest.approx(most)
    assert found.row["advantage"] == 0.0
    assert found.row["smallest"] == min(month.height for month in months)


def test_shares_are_off_by_what_a_cross_table_is_off_by() -> None:
    """Everybody in one group: shares by sex, by hand."""
    sex, values = ["f", "f", "m", "m"] * 2, ["a", "b", "a", "a", "b", "b", "a", "b"]
    table = pl.DataFrame({"id": [*range(8)], "sex": sex, "value": values})
    schema = ri.Schema("id", {"sex": ri.Categorical()}, {"value": ri.Categorical()})
    from reissue.model.grouping import Grouping
    from reissue.tables.coding import code_table
    from reissue.utility import measure

    snapshot = code_table(table, schema).snapshot
    one = Grouping(np.zeros(8, dtype=np.int32), 1)
    told = measure(snapshot.quasi, snapshot.values, one, form="anatomised").gradients
    # Women: a 1 of 4; men: a 3 of 4; all: a half. One group says a half of both: off by a quarter, as with no link.
    assert told.off == told.off_no_link == pytest.approx(0.25)


# The same every time


def test_processes_and_the_order_of_rows_change_nothing(found: ri.Comparison, months: list[pl.DataFrame]) -> None:
    shuffled = [month.sample(fraction=1, shuffle=True, seed=5) for month in months]
    again = ri.compare(shuffled, POLICY, queries=200, processes=2)
    assert_frame_equal(again.frame, found.frame)
    assert str(again.recommendation) == str(found.recommendation)


def test_another_seed_draws_others(found: ri.Comparison, months: list[pl.DataFrame]) -> None:
    other = ri.compare(months, POLICY, queries=200, processes=0, seed=2, methods=["alternatives"])
    assert row(other, "Alternatives, m = 4")["counts"] != row(found, "Alternatives, m = 4")["counts"]


def test_a_sample_is_of_people_the_same_in_all_tables(months: list[pl.DataFrame]) -> None:
    some = read_series(months, SCHEMA, 300, 1)
    kept = [{*frame["patient"]} for frame in some.frames]
    whole = [{*month["patient"]} for month in months]
    assert some.sampled
    assert all(200 < len(one) < 400 for one in kept)
    for before, after in ((0, 1), (1, 2)):
        assert kept[before] & whole[after] == kept[before] & kept[after]
    mixed = [month.sample(fraction=1, shuffle=True, seed=3) for month in months]
    assert [{*frame["patient"]} for frame in read_series(mixed, SCHEMA, 300, 1).frames] == kept
    found = ri.compare(months, POLICY, methods=["EEquivalence"], people=300, queries=50, processes=0)
    assert "of 800 people of the last table" in found.notes[0]


# Within a time


def test_what_is_late_is_named_and_not_measured(months: list[pl.DataFrame]) -> None:
    found = ri.compare(months, POLICY, seconds=0.001, queries=20, processes=0)
    late = found.frame.filter(pl.col("refused").str.contains("time was up"))
    assert late.height >= 8
    assert found.recommendation.sentence == "Nothing was measured in time."
    assert found.policy is None


def test_a_crew_stops_at_the_end() -> None:
    """Jobs that would take long are ended with their process, soon after the time is up."""
    began = time.monotonic()
    outcomes = list(worked_through((), ["a", "b", "c"], processes=1, ends=began + 0.2, seconds=0.2))
    assert time.monotonic() - began < 5
    assert {one.job for one in outcomes} == {0, 1, 2}
    assert all(one.late or one.failed for one in outcomes)


def test_what_fails_in_a_process_is_told() -> None:
    (outcome,) = worked_through((), ["no candidate"], processes=1, ends=None, seconds=None)
    assert outcome.failed is not None
    assert "report it" in outcome.failed
    assert outcome.broken
    tables = read_series(list(hospital(1)), SCHEMA, None, 1)
    candidate = suggested(tables, POLICY)[0]
    told = compare_methods._of(Outcome(0, failed=LOST), candidate)
    assert told.row["refused"] == f"failed: {LOST}"
    with pytest.raises(InternalError, match=r"could not be rehearsed.*report it"):
        compare_methods._of(outcome, candidate)


def test_what_checks_would_refuse_is_said_and_no_policy_comes_of_it(months: list[pl.DataFrame]) -> None:
    """Ids that are written otherwise in the second table."""
    other = months[1].with_columns(pl.col("patient").str.to_lowercase() + "x")
    found = ri.compare([months[0], other], POLICY, queries=50, processes=0, methods=["MInvariance"])
    refused = [one.split(": ")[:2] for one in found.stopped]
    assert refused == [["table 2", "ids-return"], ["table 2", "newcomers-leavers"]]
    assert found.policy is None
    with pytest.raises(ParameterError, match="Checks would refuse these tables"):
        found.policy_text()
    lifted = ri.Policy(SCHEMA, ri.MInvariance(4), checks=ri.Checks(ids_return=0, newcomers_leavers=1))
    found = ri.compare([months[0], other], lifted, queries=50, processes=0, methods=["MInvariance"])
    assert found.stopped == ()
    assert all(policy.checks == lifted.checks for policy in found.settings.values())


def test_what_cannot_be_handed_to_a_process_is_told() -> None:
    failed, other = worked_through((), [lambda: 0, "no candidate"], processes=1, ends=None, seconds=None)
    assert failed == Outcome(0, failed=UNPACKABLE)
    assert other.job == 1


# What is tried


def test_parameters_follow_from_the_policy_and_the_tables(months: list[pl.DataFrame]) -> None:
    tables = read_series(months, SCHEMA, None, 1)
    assert asked_m(POLICY) == 4
    assert asked_m(ri.Policy(SCHEMA, ri.Mondrian(k=10))) == 4
    assert asked_m(ri.Policy(SCHEMA, ri.Alternatives(7))) == 7
    assert feasible_m(tables, 4) == 4
    assert feasible_m(tables, 40) == int(1 / tables.largest_share)
    assert tables.gone == tables.came == 240
    assert tables.changed == 0
    own = suggested(tables, ri.Policy(SCHEMA, ri.EEquivalence(5, 3), "anatomised"))
    assert own[0].name == "the policy: EEquivalence"


def test_columns_that_tell_are_given() -> None:
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 4_000)
    value = rng.integers(0, 10, 4_000) + 10 * sex
    table = pl.DataFrame(
        {
            "id": np.arange(4_000), "age": rng.integers(20, 60, 4_000), "sex": np.array(["f", "m"])[sex],
            "town": np.array(["a", "b"])[rng.integers(0, 2, 4_000)], "value": [f"v{one}" for one in value],
        }
    )  # fmt: skip
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical(), "town": ri.Categorical(new="accept")}
    schema = ri.Schema("id", quasi, {"value": ri.Categorical()})
    names = [one.name for one in suggested(read_series([table], schema, None, 1), ri.Policy(schema, ri.MInvariance(4)))]
    assert "Alternatives, m = 4, given sex" in names
    # A cell that comes later has no shares: the column is not given.
    later = table.with_columns(sex=pl.when(pl.col("id") < 3).then(pl.lit("x")).otherwise("sex"))
    open_schema = ri.Schema("id", {**quasi, "sex": ri.Categorical(new="accept")}, {"value": ri.Categorical()})
    tables = read_series([table, later], open_schema, None, 1)
    assert "Alternatives, m = 4, given sex" not in [
        one.name for one in suggested(tables, ri.Policy(open_schema, ri.MInvariance(4)))
    ]


def test_a_frequent_value_needs_a_limit() -> None:
    """4 in 10 have one value: m = 4 is tried with a limit of its own, and groups with m = 2."""
    rng = np.random.default_rng(3)
    value = np.where(rng.random(3_000) < 0.4, 0, rng.integers(1, 12, 3_000))
    table = pl.DataFrame(
        {"id": np.arange(3_000), "age": rng.integers(20, 60, 3_000), "value": [f"v{v}" for v in value]}
    )
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"value": ri.Categorical()})
    policy = ri.Policy(schema, ri.MInvariance(4))
    found = ri.compare([table], policy, methods=["Alternatives", "EEquivalence"], queries=50, processes=0)
    sets = row(found, "Alternatives, m = 4")
    assert sets["bound"] == 0.5
    assert "limit = 2/4" in str(sets["parameters"])
    assert row(found, "EEquivalence")["bound"] == 0.5


def test_values_that_change_are_declared_and_told() -> None:
    people = census(1_600, seed=3)
    states = list(
        churn(people, initial=1_200, arrivals=100, departures=100, returns=0, changes=120, releases=3, seed=3)
    )
    schema = ri.Schema(
        "person", {"age": ri.Numeric(), "gender": ri.Categorical()}, {"occupation": ri.Categorical(new="accept")},
        drop=[name for name in states[0].columns if name not in ("person", "age", "gender", "occupation")],
    )  # fmt: skip
    found = ri.compare(states, ri.Policy(schema, ri.MInvariance(3)), queries=50, processes=0)
    tables = read_series(states, schema, None, 1)
    assert tables.changed == 2 * 120
    sets = row(found, "Alternatives, m = 3")
    assert f"change = {tables.rate}" in str(sets["parameters"])
    assert f"declared rate of {tables.rate:g}" in str(sets["changed"])
    assert "withheld" in str(row(found, "MInvariance, anatomised")["changed"])
    assert float(str(row(found, "MInvariance, anatomised")["withheld"])) > 0.05
    assert row(found, "MInvariance, reinserting")["protects"] is False
    assert "of values change" in found.notes[0]


def test_the_least_rate_by_hand() -> None:
    """Of four who stay one changes, then two: a quarter, over 1 - (1/4 + 1/4) for redraws that come out the same."""
    first = pl.DataFrame({"person": [1, 2, 3, 4], "value": ["a", "a", "b", "b"]})
    then = pl.DataFrame({"person": [1, 2, 3, 4], "value": ["a", "b", "b", "a"]})
    one = pl.DataFrame({"person": [1, 2, 3, 4], "value": ["a", "a", "b", "a"]})
    assert least_rate([first, one, then], 3) == 0.5  # a quarter changes each time; in the last half and half
    assert least_rate([first, first], 3) is None
    assert least_rate([first], 3) is None


def test_people_with_several_rows_are_for_one_method() -> None:
    rng = np.random.default_rng(2)
    ids = np.concatenate([np.arange(400), np.arange(10)])
    illness = np.concatenate([rng.choice(["flu", "cold", "ache", "burn", "cut"], 400), np.full(10, "HIV")])
    table = pl.DataFrame({"id": ids, "age": 20 + ids % 50, "illness": illness})
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"illness": ri.Categorical()}, permanent=["HIV"])
    found = ri.compare([table, table], ri.Policy(schema, ri.HDComposition(3)), queries=50, processes=0)
    assert row(found, "HDComposition")["counts"] is not None
    assert "several rows" in str(row(found, "MInvariance, anatomised")["refused"])
    assert "not rehearsed" in str(row(found, "HDComposition")["note"])


def test_several_columns_and_columns_as_they_are() -> None:
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "id": np.arange(1_500), "age": rng.integers(20, 60, 1_500), "kept": rng.choice(["x", "y"], 1_500),
            "ward": rng.choice([f"w{n}" for n in range(9)], 1_500),
            "drug": rng.choice([f"d{n}" for n in range(6)], 1_500),
        }
    )  # fmt: skip
    columns = {"ward": ri.Categorical(), "drug": ri.Categorical()}
    schema = ri.Schema("id", {"age": ri.Numeric()}, columns, as_is=["kept"], limits={"ward": "1/2"})
    found = ri.compare([table, table], ri.Policy(schema, ri.Alternatives(3, epsilon=1)), queries=50, processes=0)
    sets = row(found, "Alternatives, m = 3")
    assert sets["above"] == 0
    assert sets["bound"] == 0.5
    assert float(str(sets["advantage"])) > 0.1  # of the column that is told most
    assert "columns as they are" in str(row(found, "MInvariance, generalised")["refused"])


# What is done with it


def test_the_policy_to_take_can_be_used(months: list[pl.DataFrame], tmp_path: Path) -> None:
    schema = ri.Schema(
        "patient", {"age": ri.Numeric(), "sex": ri.Categorical()}, {"diagnosis": ri.Categorical()}, drop=["zip"]
    )
    gate = ri.Gate(attacks=["Worlds"], limit="1/2")
    given = ri.Policy(schema, ri.MInvariance(2), gate=gate, anchor=str(tmp_path / "anchor"))
    found = ri.compare(months, given, methods=["EEquivalence", "Mondrian"], queries=50, processes=0)
    assert found.recommendation.method == "EEquivalence", str(found.recommendation)
    assert found.policy is not None
    assert found.policy.gate == gate
    assert found.policy.anchor == given.anchor
    written = found.save(tmp_path / "policy.toml")
    assert written.read_text().startswith("# Proposed by `reissue compare`.\n# Take EEquivalence")
    assert ri.Policy.read(written) == found.policy
    assert ri.preview(tmp_path / "series", months[0], written).number == 1


def test_it_is_saved_as_what_the_name_says(found: ri.Comparison, tmp_path: Path) -> None:
    assert pl.read_csv(found.save(tmp_path / "c.csv"))["method"].to_list() == found.frame["method"].to_list()
    assert_frame_equal(pl.read_parquet(found.save(tmp_path / "c.parquet")), found.frame)
    told = json.loads(found.save(tmp_path / "c.json").read_text())
    assert told["recommendation"]["sentence"] == found.recommendation.sentence
    for suffix, begins in ((".svg", b"<svg"), (".html", b"<!doctype html>"), (".png", b"\x89PNG")):
        assert found.save(tmp_path / f"c{suffix}").read_bytes().startswith(begins)
    chart = found.chart()
    assert "Alternatives, m = 4" in chart.drawing.svg
    assert NO_LINK not in chart.data["method"].to_list()
    with pytest.raises(ParameterError, match=r"\.csv, \.parquet"):
        found.save(tmp_path / "c.doc")


def test_pictures_need_no_other_library(found: ri.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    found.save(tmp_path / "c.svg")
    with pytest.raises(ri.errors.MissingExtra, match="vl-convert"):
        found.save(tmp_path / "c.png")


def test_tables_come_in_the_callers_library(months: list[pl.DataFrame]) -> None:
    found = ri.compare(
        [month.to_pandas() for month in months[:1]], POLICY, methods=["CorSplit"], queries=20, processes=0
    )
    assert isinstance(found.table, pd.DataFrame)
    assert repr(found).startswith("Comparison(1 of 1 candidate measured")


def test_nothing_of_the_table_shows(found: ri.Comparison, months: list[pl.DataFrame]) -> None:
    text = repr(found) + str(found.recommendation) + found.frame.write_csv() + json.dumps(found.to_dict()["rows"])
    assert not any(value in text for value in [*months[0]["diagnosis"].unique(), *months[0]["patient"].head(50)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tables": "january.csv"}, "'tables' parameter of compare must be a list"),
        ({"tables": []}, "'tables' parameter of compare must be a list"),
        ({"seconds": 0}, "'seconds' parameter of compare must be a number above 0"),
        ({"people": 1}, "'people' parameter of compare"),
        ({"queries": 0}, "'queries' parameter of compare"),
        ({"processes": -1}, "'processes' parameter of compare"),
        ({"methods": ["Nothing"]}, "'methods' parameter of compare must name methods among 'Alternatives'"),
    ],
)
def test_wrong_parameters(months: list[pl.DataFrame], given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ri.compare(**{"tables": months, "policy": POLICY, "processes": 0, **given})  # type: ignore[arg-type]


def test_a_table_that_does_not_fit_is_named_by_its_place(months: list[pl.DataFrame], tmp_path: Path) -> None:
    with pytest.raises(TableError, match="Table 2 of 2") as raised:
        ri.compare([months[0], months[1].drop("sex")], POLICY, processes=0)
    assert "sex" in str(raised.value.problems)
    months[1].drop("sex").write_csv(tmp_path / "february.csv")
    with pytest.raises(TableError, match=r"Table 2 of 2 \('february\.csv'\): The table"):
        ri.compare([months[0], tmp_path / "february.csv"], POLICY, processes=0)


def test_without_a_policy_one_is_proposed(months: list[pl.DataFrame]) -> None:
    found = ri.compare(months, methods=["EEquivalence"], queries=20, processes=0)
    assert found.given.schema.person == "patient"
    assert row(found, "EEquivalence")["counts"] is not None


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_values_that_change_are_declared_and_told")
def test_patients_of_130_hospitals() -> None:
    """Values that change: groups withhold more than one in ten, sets nobody, and sets are taken."""
    from reissue_studies.methods.streams import real

    stream = real("diabetes130", FOLDER, None, 3, 1)
    policy = ri.Policy(stream.schema, ri.MInvariance(4))
    found = ri.compare(stream.states, policy, methods=["Alternatives", "EEquivalence"], processes=0)
    assert found.recommendation.method == "Alternatives, m = 4"
    assert row(found, "EEquivalence")["withheld"] > 0.05  # type: ignore[operator]
    assert row(found, "Alternatives, m = 4")["withheld"] == 0


def test_who_asks_for_regions_is_offered_nothing_with_exact_quasi_identifiers(months: list[pl.DataFrame]) -> None:
    tables = read_series(months, SCHEMA, None, 1)
    sets = ri.Policy(SCHEMA, ri.Alternatives(m=4, limit="2/4", epsilon=1.0, k=10))
    offered = suggested(tables, sets)
    assert all(setting.form != "anatomised" for one in offered for setting in one.settings)
    assert "MInvariance, anatomised" in {one.name for one in offered if one.why_not and "regions" in one.why_not}
    assert [one.settings[0].form for one in offered if one.name == "EEquivalence"] == ["generalised"]
    exact = suggested(tables, ri.Policy(SCHEMA, ri.Alternatives(m=4, limit="2/4", epsilon=1.0)))
    assert any(setting.form == "anatomised" for one in exact for setting in one.settings)
