"""Auditing a series as somebody would who tells counterfeits from people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import reissue as ri
from reissue.attacks.worlds.worlds import Worlds
from reissue.cli import app
from reissue.errors import ParameterError
from reissue.methods.base import Method
from reissue.publishing import archive
from reissue.publishing.made_up import NOTHING_KNOWN
from reissue.samples.hospital import hospital

SCHEMA = ri.Schema(
    person="patient",
    quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
    sensitive={"diagnosis": ri.Categorical(new="accept")},
)
METHODS = (
    ri.MInvariance(m=4),
    ri.MInvariance(m=4, split=False),
    ri.EEquivalence(m=3, e=2),
    ri.CorSplit(m=4, p=0.04, L=24, h=0.4),
)


def clinic(folder: Path, method: Method, *, form: Any = "anatomised", months: int = 2, seed: int = 1) -> ri.Series:
    series = ri.open(folder, ri.Policy(SCHEMA, method, form=form))
    for at, month in enumerate(hospital(months, patients=60, seed=seed)):
        series.publish(month, seed=at, allow=["counterfeit", "same-state"], reason="so it is here")
    return series


def truth(series: ri.Series) -> dict[int, str]:
    """What everybody has, counterfeits by numbers below 0."""
    found: dict[int, str] = {}
    for release in series.releases:
        people, made = archive.rows(series._ledger, release.number)
        found |= dict(people.select("reissue.person", "diagnosis").cast({"diagnosis": pl.String}).iter_rows())
        if made is not None:
            found |= {-number: str(value) for number, value in made.select("reissue.counterfeit", "diagnosis").rows()}
    return found


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_what_is_said_to_be_certain_is_true(tmp_path: Path, method: Method) -> None:
    with clinic(tmp_path / "clinic", method) as series:
        true = truth(series)
        assert min(true) < 0, "no counterfeits, nothing shown"
        assert series.audit(attacks=["Worlds"]).passed
        for how in ("recognised", "argued"):
            report = series.audit(counterfeits=how, attacks=["Worlds"], seconds=2)  # type: ignore[arg-type]
            assert report.knowledge is not None
            known = report.knowledge.counterfeits
            assert known
            assert {*known} <= {number for number in true if number < 0}
            assert all(true[number] in values for number, values in known.items())
            assert all((len(values) == 1) == (how == "recognised") for values in known.values())
            found = report.runs[0].findings
            assert found is not None
            assert all(true[int(person)] == value for person, value in found.certain.items())
            assert all(true[int(person)] not in values for person, values in found.excluded.items())
            assert not report.passed


def test_the_figures_are_those_of_the_people_of_each_group(tmp_path: Path) -> None:
    """Of one release: with counterfeits known, each value left is as likely as it is frequent among the people."""
    table = pl.DataFrame(
        {
            "patient": [f"p{at}" for at in range(5)],
            "age": [20, 30, 40, 50, 60],
            "zip": [1, 2, 3, 4, 5],
            "sex": ["f"] * 5,
            "diagnosis": list("aaabc"),
        }
    )
    with ri.open(tmp_path / "clinic", ri.Policy(SCHEMA, ri.MInvariance(m=2), form="anatomised")) as series:
        assert series.publish(table, seed=1).summary["counterfeits"] == 1
        view = series.published()
        report = series.audit(counterfeits="recognised")
    groups = [release.members_of(group) for release in view.releases for group in range(release.group_count)]
    beside = next(members for members in groups if (members < 0).any())
    person = int(beside[beside >= 0][0])
    assert report.disclosure.highest == 1.0
    assert report.disclosure.certain == 1
    assert {finding.people for finding in report.findings} == {(person,)}
    assert report.verdict.startswith("Not passed")
    # The others are in groups of two without counterfeits.
    rest = report.people.filter(pl.col("person") != person)
    assert rest["probability"].to_list() == [0.5] * 4
    assert Worlds().run(view).certain == {}


def test_without_counterfeits_it_changes_nothing_and_says_so(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic", ri.MInvariance(m=2), months=1) as series:
        assert series.releases[0].summary["counterfeits"] == 0
        for how in ("recognised", "argued"):
            report = series.audit(counterfeits=how)  # type: ignore[arg-type]
            assert report.passed
            assert any("no counterfeit in these releases" in note for note in report.notes)
        assert not any("counterfeit" in note for note in series.audit().notes)


def test_the_default_audit_says_whom_it_leaves_out(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic", ri.MInvariance(m=4)) as series:
        report = series.audit()
        assert report.passed
        assert any(note.startswith("Some rows are counterfeits.") for note in report.notes)


def test_the_argument_is_about_the_most_frequent_value_and_only_where_it_is_true(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic", ri.MInvariance(m=4, split=False)) as series:
        true, view = truth(series), series.published()
        known = series.audit(counterfeits="argued", attacks=["Worlds"], seconds=1).knowledge
    assert known is not None
    barred: dict[int, set[object]] = {}
    shown: dict[int, set[object]] = {}
    for release in view.releases:
        often: dict[object, int] = {}
        for value, count in zip(release.values.tolist(), release.counts.tolist(), strict=True):
            often[view.values[value]] = often.get(view.values[value], 0) + count
        for group in range(release.group_count):
            made = [number for number in release.members_of(group).tolist() if number < 0]
            values = [view.values[value] for value in release.values_of(group)[0].tolist()]
            ranked = sorted(values, key=lambda value: -often[value])
            if made and often[ranked[0]] > often[ranked[1]] and all(true[number] != ranked[0] for number in made):
                for number in made:
                    barred.setdefault(number, set()).add(ranked[0])
                    shown[number] = {*values}  # the same in all groups of a counterfeit
    assert barred
    assert {number: {*values} for number, values in known.counterfeits.items()} == {
        number: shown[number] - values for number, values in barred.items()
    }


def test_on_the_command_line(tmp_path: Path) -> None:
    folder = str(tmp_path / "clinic")
    clinic(tmp_path / "clinic", ri.MInvariance(m=4)).close()
    run = CliRunner()
    assert run.invoke(app, ["audit", folder]).exit_code == 0
    for how in ("recognised", "argued"):
        found = run.invoke(app, ["audit", folder, "--counterfeits", how, "--json", "--seconds", "2"])
        assert found.exit_code == 1
        told = json.loads(found.output)
        assert told["verdict"].startswith("Not passed")
        assert any("They recognise" in line for line in told["adversary"])
    wrong = run.invoke(app, ["audit", folder, "--counterfeits", "seen"])
    assert isinstance(wrong.exception, ParameterError)
    unused = run.invoke(app, ["audit", folder, "--counterfeits", "argued", "--attacks", "Equivalence"])
    assert isinstance(unused.exception, ParameterError)
    assert "--attacks leaves it out" in str(unused.exception)
    elsewhere = run.invoke(
        app, ["audit", folder, "--sensitive", "diagnosis", "--limit", "1/2", "--counterfeits", "recognised"]
    )
    assert isinstance(elsewhere.exception, ParameterError)


def test_a_wrong_word_is_refused(tmp_path: Path) -> None:
    series = clinic(tmp_path / "clinic", ri.MInvariance(m=2), months=1)
    with series, pytest.raises(ParameterError, match="'counterfeits' parameter of audit"):
        series.audit(counterfeits="seen")  # type: ignore[arg-type]


def test_with_a_draft_its_own_counterfeits_are_known_too(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic", ri.MInvariance(m=4), months=1) as series:
        draft = series.draft(
            [*hospital(2, patients=60, seed=1)][1], seed=1, allow=["counterfeit"], reason="so it is here"
        )
        made = draft.counterfeits
        assert made is not None
        report = series.audit(draft=draft, counterfeits="recognised", seconds=1)
        assert report.knowledge is not None
        assert {-number for number in made["reissue.counterfeit"].to_list()} <= report.knowledge.counterfeits.keys()


@pytest.mark.parametrize("how", ["recognised", "argued"])
def test_sets_have_no_counterfeits_to_know(tmp_path: Path, how: Any) -> None:
    table = pl.DataFrame({"p": range(1500), "age": [20 + n % 50 for n in range(1500)], "d": ["a", "b", "c"] * 500})
    schema = ri.Schema(person="p", quasi={"age": ri.Numeric()}, sensitive="d")
    policy = ri.Policy(schema, ri.Alternatives(m=2), checks=ri.Checks(same_state="accept"))
    with ri.open(tmp_path / "s", policy) as series:
        series.publish(table)
        series.publish(table)
        report = series.audit(counterfeits=how, seconds=2)
    assert NOTHING_KNOWN in report.remarks


def test_an_attack_is_no_knowledge(tmp_path: Path) -> None:
    with (
        clinic(tmp_path / "clinic", ri.MInvariance(m=4), months=1) as series,
        pytest.raises(ParameterError, match="must be a Knowledge"),
    ):
        series.audit(Worlds())  # type: ignore[arg-type]
