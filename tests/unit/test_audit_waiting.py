"""Auditing a series as somebody would who knows the method and who waited in its lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reissue as ri
from reissue.cli import app
from reissue.errors import Infeasible, ParameterError

SCHEMA = ri.Schema(
    person="patient",
    quasi={"age": ri.Numeric(low=0, high=100)},
    sensitive={"diagnosis": ri.Categorical(new="accept")},
)


def rows(people: list[str], age: int, diagnoses: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"patient": people, "age": [age] * len(people), "diagnosis": diagnoses})


def months() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Three come at 20 with the same value, then one with another."""
    first = pl.concat(
        [rows([f"{age}-{at}" for at in range(6)], age, ["cancer", "flu", "gout"] * 2) for age in (20, 80)]
    )
    second = pl.concat([first, rows(["w1", "w2", "w3"], 20, ["cancer"] * 3)])
    return first, second, pl.concat([second, rows(["joined"], 20, ["flu"])])


def clinic(folder: Path, method: ri.Incremental) -> ri.Series:
    series = ri.open(folder, ri.Policy(SCHEMA, method))
    for month in months():
        series.publish(month, seed=1)
    return series


def test_who_is_known_to_have_waited_is_exposed_with_whoever_joins(tmp_path: Path) -> None:
    series = clinic(tmp_path / "clinic", ri.Incremental(2, waiting=0.5))
    assert series.private.held_back(2)["person"].to_list() == ["w1", "w2", "w3"]
    assert series.private.held_back(3).height == 0
    assert series.audit().passed
    report = series.audit(waiting=True)
    assert not report.passed
    found = {
        series.private.name_of(finding.people[0]): report.published.values[finding.value] for finding in report.findings
    }
    assert found == {"w1": "cancer", "w2": "cancer", "w3": "cancer", "joined": "flu"}


def test_nobody_waits_alone_with_waiting_0(tmp_path: Path) -> None:
    with pytest.raises(Infeasible, match="3 new records cannot be published"):
        clinic(tmp_path / "clinic", ri.Incremental(2, waiting=0))
    # What was refused showed nobody who waits: the three come with the fourth as if they were new.
    series = ri.open(tmp_path / "clinic")
    assert len(series.releases) == 1
    series.publish(months()[2])
    assert series.private.held_back(2).height == 0
    assert series.audit(waiting=True).passed


def test_where_all_newcomers_wait_they_are_one_list(tmp_path: Path) -> None:
    # Too few people for anybody to wait: 0.02 of 16 is nobody. Three newcomers with one value must.
    series = clinic(tmp_path / "clinic", ri.Incremental(2))
    assert series.private.held_back(2).height == 3
    assert not series.audit(waiting=True).passed


def test_other_series_have_no_lists(tmp_path: Path) -> None:
    for place, method in (("share", ri.Incremental(2, diversity="share", waiting=0.5)), ("static", ri.StaticII(2))):
        series = ri.open(tmp_path / place, ri.Policy(SCHEMA, method))
        series.publish(rows(["a", "b", "c", "d"], 20, ["cancer", "flu", "cancer", "flu"]))
        with pytest.raises(ParameterError, match="not measured here"):
            series.audit(waiting=True)


def test_on_the_command_line(tmp_path: Path) -> None:
    clinic(tmp_path / "clinic", ri.Incremental(2, waiting=0.5)).close()
    run = CliRunner()
    assert run.invoke(app, ["audit", str(tmp_path / "clinic")]).exit_code == 0
    found = run.invoke(app, ["audit", str(tmp_path / "clinic"), "--waiting"])
    assert found.exit_code == 1
    assert "Channels" in found.output
    elsewhere = run.invoke(app, ["audit", str(tmp_path), "--sensitive", "diagnosis", "--limit", "1/2", "--waiting"])
    assert isinstance(elsewhere.exception, ParameterError)
    unused = run.invoke(app, ["audit", str(tmp_path / "clinic"), "--waiting", "--attacks", "Worlds"])
    assert isinstance(unused.exception, ParameterError)
    assert "--attacks leaves it out" in str(unused.exception)


def test_what_is_said_to_be_certain_is_true(tmp_path: Path) -> None:
    certain = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        pool = pl.DataFrame(
            {
                "patient": [f"p{at}" for at in range(140)],
                "age": rng.choice([20, 21, 60, 61, 90], 140),
                "diagnosis": rng.choice(["cancer", "flu", "gout", "acne"], 140, p=[0.6, 0.2, 0.1, 0.1]),
            }
        )
        series = ri.open(tmp_path / f"clinic-{seed}", ri.Policy(SCHEMA, ri.Incremental(2, waiting=0.4)))
        for size in range(30, 141, 10):
            series.publish(pool.head(size), seed=seed, allow=["withheld"], reason="so it is here")
        true = dict(pool.select("patient", "diagnosis").iter_rows())
        report = series.audit(waiting=True, attacks=["Channels"])
        for finding in report.findings:
            if finding.what == "value":
                (person,) = finding.people
                assert report.published.values[finding.value] == true[series.private.name_of(person)]
                certain += 1
    assert certain


def table(*groups: tuple[list[str], int, list[str]]) -> pl.DataFrame:
    return pl.concat([rows(*group) for group in groups])


OLD = (["a", "b", "c", "d"], 20, ["cancer", "flu", "gout", "acne"])


def test_a_list_kept_for_a_larger_l_is_not_judged_by_a_smaller_one(tmp_path: Path) -> None:
    """Two wait for a third value, with two different ones; then two are enough."""
    series = ri.open(tmp_path / "clinic", ri.Policy(SCHEMA, ri.Incremental(3, waiting=0.5)))
    series.publish(table(OLD))
    series.publish(table(OLD, (["w1", "w2"], 20, ["cancer", "flu"])))
    assert series.private.held_back(2)["person"].to_list() == ["w1", "w2"]
    series.amend(ri.Policy(SCHEMA, ri.Incremental(2, waiting=0.5)), "two are enough")
    series.publish(table(OLD, (["w1", "w2"], 20, ["cancer", "flu"]), (["j1"], 20, ["cancer"])))
    assert series.private.held_back(3).height == 0
    report = series.audit(waiting=True)
    assert report.passed
    assert not report.findings


def test_a_list_in_which_a_value_changed_is_left_out(tmp_path: Path) -> None:
    series = ri.open(tmp_path / "clinic", ri.Policy(SCHEMA, ri.Incremental(2, waiting=0.5)))
    series.publish(table(OLD))
    series.publish(table(OLD, (["w1", "w2"], 20, ["cancer", "cancer"])))
    assert series.private.held_back(2).height == 2
    last = table(OLD, (["w1", "w2"], 20, ["cancer", "flu"]), (["j1"], 20, ["cancer"]))
    drafted = series.audit(draft=series.draft(last), waiting=True)
    series.publish(last)
    for report in (drafted, series.audit(waiting=True)):
        assert report.passed
        assert not report.findings


def test_channels_must_not_ask_for_less_than_the_lists_were_kept_for(tmp_path: Path) -> None:
    series = clinic(tmp_path / "clinic", ri.Incremental(2, waiting=0.5))
    with pytest.raises(ParameterError, match="must be at least 2"):
        series.audit(waiting=True, limit="1/2", attacks=[ri.attacks.Channels(1)])
