"""`reissue publish` with a gate, `reissue log` of what passed it, and `reissue adopt`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.publishing.gate import Gate

Run = Callable[..., Any]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def files(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> Path:
    """Tables, a policy with a gate, and one that is open to a comparison of releases and says so."""
    patients.write_csv(tmp_path / "january.csv")
    patients.tail(20).write_csv(tmp_path / "february.csv")
    safe = ri.Policy(policy.schema, ri.MInvariance(m=2), gate=Gate(attacks=["Worlds", "Equivalence"]))
    (tmp_path / "safe.toml").write_text(safe.to_toml())
    # Nobody can be hidden among 100 with four values and 24 patients.
    strict = ri.Policy(policy.schema, ri.MInvariance(m=2), gate=Gate(attacks=["Worlds"], limit="1/100"))
    (tmp_path / "strict.toml").write_text(strict.to_toml())
    (tmp_path / "none.toml").write_text(ri.Policy(policy.schema, ri.MInvariance(m=2)).to_toml())
    return tmp_path


def test_an_open_gate(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv", "--policy", "safe.toml")
    assert ran.code == 0
    assert "gate passed Worlds (within)" in ran.out
    assert "gate Equivalence (not asked)" in ran.out
    assert "gate passed Equivalence" not in ran.out
    ran = run("publish", "clinic", "february.csv", "--json")
    assert ran.data["gate"]["verdict"] == "passed"
    ran = run("log", "clinic")
    assert "What the gate said" in ran.out
    assert "overrode" not in ran.out


def test_a_closed_gate_makes_nothing(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv", "--policy", "strict.toml")
    assert ran.code == 1
    assert "Refused: The gate of the policy is closed" in ran.err
    assert "--override" in ran.err
    assert not (files / "clinic").exists()
    ran = run("publish", "clinic", "january.csv", "--policy", "strict.toml", "--json")
    assert ran.data["error"]["kind"] == "GateClosed"
    assert ran.data["exit_code"] == 1


def test_a_dry_run_with_a_report(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv", "--policy", "strict.toml", "--dry-run", "--report", "gate.html")
    assert ran.code == 1
    page = (files / "gate.html").read_text()
    assert "<html" in page
    assert not (files / "clinic").exists()
    # Neither people nor values are named in it.
    assert not any(word in page for word in ("p01", "measles", "asthma"))
    ran = run("publish", "clinic", "january.csv", "--policy", "strict.toml", "--dry-run", "--report", "gate.html")
    assert ran.code == 2
    assert "There is a file" in ran.err
    ran = run("publish", "clinic", "january.csv", "--policy", "none.toml", "--dry-run", "--report", "other.html")
    assert ran.code == 2
    assert "no gate" in ran.err


def test_a_refusal_leaves_the_series_as_it_was(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "safe.toml")
    assert run("amend", "clinic", "--policy", "strict.toml", "--reason", "stricter").code == 0
    before = content(files / "clinic")
    assert run("publish", "clinic", "february.csv").code == 1
    assert run("publish", "clinic", "february.csv", "--dry-run").code == 1
    assert run("publish", "clinic", "february.csv", "--override", "  ").code == 2
    assert content(files / "clinic") == before


def test_an_override_is_in_the_log(run: Run, files: Path) -> None:
    reason = "agreed on 3 May"
    ran = run("publish", "clinic", "january.csv", "--policy", "strict.toml", "--override", reason)
    assert ran.code == 0
    assert f"gate overridden {reason}" in ran.out
    assert run("publish", "clinic", "february.csv").code == 1
    assert run("publish", "clinic", "february.csv", "--override", "once more").code == 0
    ran = run("log", "clinic")
    assert reason in ran.out
    assert "overrode" in ran.out
    assert "the gate of release 2" in ran.out
    data = run("log", "clinic", "--json").data
    assert [release["summary"]["gate"]["override"] for release in data["releases"]] == [reason, "once more"]
    assert [event["kind"] for event in data["events"]] == ["created", "overrode", "overrode"]
    assert run("publish", "other", "january.csv", "--policy", "none.toml", "--override", "why not").code == 2


@pytest.fixture
def elsewhere(tmp_path: Path, policy: ri.Policy) -> Path:
    """Two releases that another tool made; in the second one somebody is betrayed."""
    (tmp_path / "2024.csv").write_text(
        "group,age,sex,diagnosis\n1,20-39,*,flu\n1,20-39,*,asthma\n2,40-59,*,flu\n2,40-59,*,cancer\n"
    )
    (tmp_path / "2025.csv").write_text(
        "group,age,sex,diagnosis\n1,20-39,*,flu\n1,20-39,*,asthma\n2,40-49,*,cancer\n2,40-49,*,asthma\n"
    )
    (tmp_path / "members.csv").write_text(
        "person,release,group\np00,1,1\np01,1,1\np02,1,2\nold,1,2\np00,2,1\np01,2,1\np02,2,2\ngone,2,2\n"
    )
    schema = ri.Schema(
        person="patient", quasi=dict(policy.schema.quasi), sensitive={"diagnosis": ri.Categorical(new="accept")}
    )
    (tmp_path / "adopting.toml").write_text(ri.Policy(schema, ri.MInvariance(m=2)).to_toml())
    (tmp_path / "mondrian.toml").write_text(ri.Policy(schema, ri.Mondrian(k=2)).to_toml())
    return tmp_path


def test_adopt_and_go_on(run: Run, elsewhere: Path, patients: pl.DataFrame) -> None:
    # As in the releases: p00 and p01 have flu and asthma, p02 has cancer.
    patients.write_csv(elsewhere / "now.csv")
    ran = run("adopt", "clinic", "2024.csv", "2025.csv", "--members", "members.csv", "--policy", "adopting.toml")
    assert ran.code == 0, ran.err
    assert "2 people can be published again" in ran.out
    assert "3 people will be withheld from every later release" in ran.out
    assert run("publish", "clinic", "now.csv").code == 0
    held = run("show", "clinic", "--held-back", "--json").data["held_back"]
    assert [row["person"] for row in held] == ["p02"]
    ran = run("log", "clinic")
    assert "adopted" in ran.out
    assert [release["number"] for release in run("log", "clinic", "--json").data["releases"]] == [1, 2, 3]
    assert "adopted" in run("show", "clinic", 1).out
    assert run("log", "clinic", "--verify").code == 0
    assert run("utility", "clinic", 1).code == 2


def test_adopt_as_json(run: Run, elsewhere: Path) -> None:
    ran = run("adopt", "clinic", "2024.csv", "--members", "members.csv", "--policy", "adopting.toml", "--json")
    assert ran.code == 2
    assert "name no release from 1 to 1" in ran.data["error"]["problems"][0]
    assert not (elsewhere / "clinic").exists()
    files = ("2024.csv", "2025.csv")
    ran = run("adopt", "clinic", *files, "--members", "members.csv", "--policy", "adopting.toml", "--json")
    assert (ran.data["go_on"], ran.data["barred"]) == (2, 3)
    assert [release["method"] for release in ran.data["releases"]] == ["adopted", "adopted"]


def test_a_method_that_cannot_go_on(run: Run, elsewhere: Path) -> None:
    ran = run("adopt", "clinic", "2024.csv", "--members", "members.csv", "--policy", "mondrian.toml")
    assert ran.code == 2
    assert "Mondrian cannot go on from releases made elsewhere" in ran.err
    assert "MInvariance" in ran.err


def test_forgetting_somebody_who_must_not_come_back(run: Run, elsewhere: Path) -> None:
    run("adopt", "clinic", "2024.csv", "2025.csv", "--members", "members.csv", "--policy", "adopting.toml")
    ran = run("forget", "clinic", "--yes", stdin="p00\n")
    assert ran.code == 0
    assert "never be published again" not in ran.out
    ran = run("forget", "clinic", "--yes", stdin="p02\n")
    assert ran.code == 0
    assert "note 1 person of those forgotten must never be published again" in ran.out
    ran = run("forget", "clinic", "--yes", "--json", stdin="old\np01\n")
    assert ran.data["forgotten"] == 2
    assert ran.data["notes"][0].startswith("1 person of those forgotten")


def test_a_gate_that_bounds_nothing_is_refused(run: Run, files: Path) -> None:
    text = (files / "safe.toml").read_text().replace('"Worlds"', '"Correlation"')
    assert "Correlation" in text
    (files / "weak.toml").write_text(text)
    ran = run("publish", "clinic", "january.csv", "--policy", "weak.toml")
    assert ran.code == 2
    assert "the gate needs the attack 'Worlds'" in ran.err
    assert not (files / "clinic").exists()
