"""What the command line says of releases of sets: no groups, and sets as what they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

import reissue as ri
from reissue.tables.recode import set_labels

SHARES = {"flu": 0.3, "asthma": 0.15, "heart, failure": 0.15, "{odd}": 0.1, 'a "b"': 0.1, "gout": 0.1, " ulcer": 0.1}
POLICY = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.quasi.sex]
kind = "categorical"
[schema.sensitive.illness]
kind = "categorical"
[method]
name = "Alternatives"
m = 4
limit = "1/2"
change = 0.1
[method.reference]
"""


@pytest.fixture
def patients() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "patient": [f"p{number:03}" for number in range(300)],
            "age": rng.integers(20, 60, 300),
            "sex": rng.choice(["female", "male"], 300),
            "illness": rng.choice(list(SHARES), 300, p=list(SHARES.values())),
        }
    )


@pytest.fixture
def series(run: Run, tmp_path: Path, patients: pl.DataFrame) -> Path:
    """A series of two releases in the current folder."""
    lines = [f"{json.dumps(value)} = {share}" for value, share in SHARES.items()]
    (tmp_path / "policy.toml").write_text(POLICY + "\n".join(lines))
    patients.write_csv(tmp_path / "first.csv")
    patients.head(290).write_csv(tmp_path / "second.csv")
    assert run("publish", "clinic", "first.csv", "--policy", "policy.toml").code == 0
    assert run("publish", "clinic", "second.csv").code == 0
    return tmp_path / "clinic"


def row_of(out: str, name: str) -> str:
    """The cell behind a name in a table of two columns."""
    (line,) = (line for line in out.splitlines() if line.startswith(f"│ {name} "))
    return line.split("│")[2].strip()


def test_publish_says_how_many_sets_are_new_and_how_they_are_drawn(run: Run, series: Path) -> None:
    again = ("--allow", "same-state", "--reason", "so it is here")
    ran = run("publish", series, "first.csv", "--dry-run", *again)
    assert "group" not in ran.out
    assert row_of(ran.out, "each row") == "up to 4 values of which one is true"
    new, kept = int(row_of(ran.out, "new sets")), int(row_of(ran.out, "sets kept"))
    assert new + kept == 300
    assert kept > 200
    assert row_of(ran.out, "values that sets are made of") == "7"
    assert row_of(ran.out, "largest share of a value") == "30.0%"
    assert row_of(ran.out, "slots of a frequent value") == "up to 2 of 4"
    assert "with probability 0.1" in row_of(ran.out, "how values change")
    counted = run("publish", series, "first.csv", "--dry-run", "--json", *again).data
    assert counted["sets_drawn"] + counted["sets_kept"] == 300
    assert counted["design"]["values"] == 7


def test_log_counts_sets(run: Run, series: Path) -> None:
    ran = run("log", series)
    assert "groups" not in ran.out
    assert "one of each true" in ran.out
    (line,) = (line for line in ran.out.splitlines() if "up to 4" in line and line.startswith("│   1"))
    assert [cell.strip() for cell in line.split("│")[2:7]] == ["up to 4", "-", "300", "0", "7"]


def test_a_log_of_groups_and_sets_has_both(run: Run, series: Path, patients: pl.DataFrame, tmp_path: Path) -> None:
    assert run("log", series, "--json").data["releases"][0]["summary"]["sets_drawn"] == 300
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="illness")
    ri.publish(tmp_path / "other", patients, ri.Policy(schema, ri.Mondrian(k=5), series="unprotected"))
    ran = run("log", tmp_path / "other")
    assert "groups" in ran.out
    assert "one of each true" not in ran.out
    refused = run("show", tmp_path / "other", "--alternatives")
    assert refused.code == 2
    assert "no sets of values" in refused.err


def test_show_prints_sets_as_they_are_exported(run: Run, series: Path) -> None:
    ran = run("show", series, 1, "--rows", 300)
    assert "group" not in ran.out
    assert row_of(ran.out, "each row") == "up to 4 values of which one is true"
    assert '{"a ""b""",' in ran.out
    assert ran.out.index("table: ") < ran.out.index("design: ")
    lists = [row["illness"] for row in run("show", series, 1, "--rows", 300, "--json").data["tables"]["table"]]
    assert all(isinstance(values, list) for values in lists)


def test_show_says_privately_who_has_which_set(run: Run, series: Path, patients: pl.DataFrame) -> None:
    people = run("show", series, 2, "--alternatives", "--json").data["alternatives"]
    value = dict(zip(patients["patient"].to_list(), patients["illness"].to_list(), strict=True))
    assert len(people) == 290
    assert all(value[row["person"]] in row["alternatives"] for row in people)
    shown = run("show", series, 2, "--alternatives").out
    assert "of which one is true" in shown
    assert "(private)" in shown


def test_csv_has_sets_that_read_back_as_they_were(run: Run, series: Path, tmp_path: Path) -> None:
    assert run("export", series, "out", 1).code == 0
    with ri.open(series) as opened:
        tables = opened.release(1).tables
    read = {name: pl.read_csv(tmp_path / "out" / f"{name}.csv") for name in tables}
    assert [set_labels(text) for text in read["table"]["illness"]] == tables["table"]["illness"].to_list()
    assert all(text.startswith("{") and text.endswith("}") for text in read["table"]["illness"])
    combinations = [[] if text == "{}" else set_labels(text) for text in read["combinations"]["combination"]]
    assert combinations == tables["combinations"]["combination"].to_list()
    assert read["design"].equals(tables["design"].cast({"illness": pl.String, "slots": pl.Int64}))
    assert run("export", series, "again", 1).code == 0
    for name in (*(f"{name}.csv" for name in tables), "release.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    where = {"illness": "flu", "age": (20, 39)}
    assert ri.estimate(read, where) == pytest.approx(ri.estimate(tables, where))


def test_parquet_is_copied(run: Run, series: Path, tmp_path: Path) -> None:
    assert run("export", series, "out", 1, "--format", "parquet").code == 0
    assert isinstance(pl.read_parquet(tmp_path / "out" / "table.parquet").schema["illness"], pl.List)


def test_the_record_has_no_table_of_values_twice(run: Run, series: Path) -> None:
    record = run("show", series, 1, "--json").data
    assert record["method"] == {"name": "Alternatives", "m": 4, "limit": "1/2", "change": 0.1, "reference": "given"}
    assert record["design"]["largest_share"] == pytest.approx(0.3)


def test_utility_says_what_sets_cost(run: Run, series: Path) -> None:
    ran = run("utility", series, 1, "--queries", 64, "--seed", 3)
    assert ran.code == 0, ran.err
    assert "group of 1,000" in ran.out
    assert "no link at all" in ran.out
    data = run("utility", series, 1, "--queries", 64, "--seed", 3, "--json").data
    assert data["rows"] == 300
    assert data["m"] == 4
    assert data["query_error"]["answered"] == 64
    assert data["query_error"]["median"] > 0
    assert data["query_error"]["median_no_link"] > 0
    assert data["sentence"] in ran.out
    assert data["gradients"]["looked_at"] > 0
    assert run("utility", series, 1, "--weights", "age=1").code == 2
