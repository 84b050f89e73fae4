"""What went wrong when real tables first came, line by line, and goes well now.

Each test is one thing that somebody met who published a table of their own. Those with real tables have a stand-in of
the same shape that always runs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from real_data import FOLDER, needs

import reissue as ri
from reissue.errors import ChecksFailed
from reissue.publishing.proposals.proposal import propose
from reissue.samples.hospital import hospital

Run = Callable[..., Any]
SCHEMA = ri.Schema(
    person="patient",
    quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
    sensitive={"diagnosis": ri.Categorical(new="accept")},
)
SETS = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.quasi.zip]
kind = "numeric"
[schema.quasi.sex]
kind = "categorical"
[schema.sensitive.diagnosis]
kind = "categorical"
new = "accept"
[method]
name = "MInvariance"
m = 3
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, month in zip(("january", "february", "march"), hospital(3), strict=True):
        month.write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "policy.toml").write_text(SETS)
    return tmp_path


# People whose value changed vanish


def vanish(states: list[pl.DataFrame], person: str, quasi: str, sensitive: str, m: int, rate: float) -> None:
    """Groups would withhold many people, which is refused; sets of values withhold nobody."""
    schema = ri.Schema(
        person=person, quasi={quasi: ri.Numeric(missing="value")}, sensitive={sensitive: ri.Categorical(new="accept")}
    )
    refused = False
    groups = ri.Policy(schema, ri.MInvariance(m=m), checks=ri.Checks(ids_return=0, counterfeit=1))
    sets = ri.Policy(
        schema,
        ri.Alternatives(m=3, limit="2/3", change=rate, epsilon=1.0),
        checks=ri.Checks(ids_return=0, outgrown_shares=1),
    )
    for name, policy in (("groups", groups), ("sets", sets)):
        with ri.open(name, policy) as series:
            for state in states:
                try:
                    series.publish(state)
                except ChecksFailed as error:
                    refused = True
                    assert name == "groups"
                    assert [problem.split(":")[0] for problem in error.problems] == ["withheld"]
                    break
            assert name == "groups" or all(not one.summary["held_back"] for one in series.releases)
    assert refused


def test_whose_value_changed_does_not_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    count, labels = 3_000, np.array(list("abcdefgh"))
    value = rng.integers(0, 8, count)
    states = []
    for _ in range(3):
        states.append(pl.DataFrame({"id": range(count), "age": rng.integers(20, 80, count), "job": labels[value]}))
        value = np.where(rng.random(count) < 0.3, rng.integers(0, 8, count), value)
    vanish(states, "id", "age", "job", 4, 0.2)


@needs("panels/nlswork.parquet", stand_in="test_whose_value_changed_does_not_vanish")
def test_women_whose_occupation_changed_do_not_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pl.read_parquet(FOLDER / "panels/nlswork.parquet").drop_nulls("occ_code")
    columns = pl.col("idcode"), pl.col("age"), pl.col("occ_code").cast(pl.Int64).cast(pl.String)
    vanish([table.filter(year=year).select(columns) for year in (82, 83, 85)], "idcode", "age", "occ_code", 4, 0.1)


# A clinical column that becomes a quasi-identifier


def test_init_keeps_clinical_columns_sensitive(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    count = 4_000
    pl.DataFrame(
        {
            "patient_nbr": range(count),
            "age": rng.integers(20, 90, count),
            "gender": rng.choice(["f", "m"], count),
            "diag_1": rng.choice(["250", "428", "414", "786", "486", "518", "276", "V57"], count),
            "diag_2": rng.choice(["250", "428", "414", "401", "403", "707"], count),
            "A1Cresult": rng.choice(["None", ">7", ">8", "Norm"], count),
            "insulin": rng.choice(["No", "Up", "Down", "Steady"], count),
        }
    ).write_csv(tmp_path / "stays.csv")
    roles = {guess.column: guess for guess in propose([tmp_path / "stays.csv"]).guesses}
    for clinical in ("diag_1", "diag_2", "A1Cresult", "insulin"):
        assert roles[clinical].role == "sensitive" or roles[clinical].lost, clinical
    assert roles["diag_1"].role == "sensitive"


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_init_keeps_clinical_columns_sensitive")
def test_init_keeps_clinical_columns_of_real_stays_sensitive() -> None:
    found = propose([FOLDER / "diabetes130/diabetic_data.csv.gz"])
    roles = {guess.column: guess for guess in found.guesses}
    assert {name for name, guess in roles.items() if guess.role == "quasi"} <= {"race", "gender", "age"}
    assert roles["diag_1"].role == "sensitive"


# Ids written differently


def test_ids_written_differently_are_noticed(run: Run, files: Path) -> None:
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    for old, new in (("P-", "p"), ("P-", "P_")):
        month = pl.read_csv(files / "february.csv").with_columns(pl.col("patient").str.replace(old, new))
        month.write_csv(files / "other.csv")
        ran = run("publish", "clinic", "other.csv")
        assert ran.code == 1
        assert "ids-alike" in ran.err
    assert run("publish", "clinic", "february.csv").code == 0


# No question before what cannot be undone


def test_questions_before_what_cannot_be_undone(run: Run, files: Path) -> None:
    first = ("publish", "clinic", "february.csv", "--policy", "policy.toml", "--period", "2026-02")
    assert run(*first).code == 0
    told = {
        "same-state": ("publish", "clinic", "february.csv", "--period", "2026-03"),
        "period": ("publish", "clinic", "january.csv", "--period", "2026-01"),
        "gap": ("publish", "clinic", "march.csv", "--period", "2026-04"),
    }
    for check, command in told.items():
        ran = run(*command)
        assert ran.code == 1
        assert f"- {check}: " in ran.err
    kept = files / "kept"
    shutil.move(files / "clinic" / "public" / "0001", kept)
    ran = run("publish", "clinic", "march.csv", "--period", "2026-03")
    assert ran.code == 3
    assert "public-files" in ran.err
    shutil.move(kept, files / "clinic" / "public" / "0001")
    assert run("publish", "clinic", "march.csv", "--period", "2026-03").code == 0
    assert [one["period"] for one in run("log", "clinic", "--json").data["releases"]] == ["2026-02", "2026-03"]


def test_misspelt_values_are_told_before_the_commit(files: Path) -> None:
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric()},
        sensitive={"diagnosis": ri.Categorical(new="accept")},
        protect=[["colon cancre"]],
        drop=["zip", "sex"],
    )
    policy = ri.Policy(schema, ri.Mask(k=4, l=2))
    with pytest.raises(ChecksFailed) as caught:
        ri.publish(files / "clinic", files / "january.csv", policy)
    assert any(problem.startswith("unused-value") for problem in caught.value.problems)
    assert not (files / "clinic").exists()


# A frequency table, unannounced


def test_a_release_of_two_groups_is_announced(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    count = 1_000
    table = pl.DataFrame(
        {"id": range(count), "age": rng.integers(0, 108, count), "illness": rng.choice(["flu", "HIV", "gout"], count)}
    )
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive="illness")
    with pytest.raises(ChecksFailed) as caught:
        ri.preview(tmp_path / "clinic", table, ri.Policy(schema, ri.Mondrian(k=400)))
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["few-groups"]


# The recipient, and which method


def test_the_recipient_gets_a_package_and_the_report_says_of_what(run: Run, files: Path) -> None:
    for month, period in (("january", "2026-01"), ("february", "2026-02")):
        ran = run("publish", "clinic", f"{month}.csv", "--policy", "policy.toml", "--period", period)
        assert ran.code == 0
    assert run("export", "clinic", "to-send", "--all", "--title", "Clinic, monthly").code == 0
    sent = files / "to-send"
    words = (sent / "README.md").read_text()
    for told in ("diagnosis", "2026-02", "counterfeit", "group"):
        assert told in words
    package = json.loads((sent / "datapackage.json").read_text())
    assert any("diagnosis" in [field["name"] for field in one["schema"]["fields"]] for one in package["resources"])
    assert {"hash", "path"} <= package["resources"][0].keys()
    assert run("verify", "to-send").code == 0
    common = pl.read_csv(files / "january.csv")["diagnosis"].mode()[0]
    estimated = run("estimate", "to-send", "--value", common, "--by", "sex", "--json")
    assert estimated.code == 0
    ran = run("audit", "clinic", "--html", "report.html")
    assert "audited clinic: 2 releases (2026-01 to 2026-02); 'diagnosis' by 'age', 'zip', 'sex'" in ran.out
    page = (files / "report.html").read_text()
    for told in ("Audit of clinic", "2026-02", "diagnosis", "zip"):
        assert told in page


def test_which_method_is_answered(run: Run, files: Path) -> None:
    ran = run("compare", "january.csv", "february.csv", "--policy", "policy.toml", "--json", "--seconds", "60")
    assert ran.code in (0, 1)
    assert ran.data["recommendation"]["sentence"]
    assert {"withheld", "counterfeit", "replaced"} <= ran.data["rows"][0].keys()
