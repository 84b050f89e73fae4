"""`reissue utility --given`: choices for a series or for a table, and what does not go together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

POLICY = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.quasi.sex]
kind = "categorical"
[schema.quasi.town]
kind = "categorical"
[schema.sensitive.illness]
kind = "categorical"
[method]
name = "Alternatives"
m = 5
epsilon = 10
"""


def patients(seed: int) -> pl.DataFrame:
    """800 people: ten illnesses that men have and ten that women have. In one town of two nearly all have the same."""
    rng = np.random.default_rng(seed)
    sex, town = rng.integers(0, 2, 800), rng.random(800) < 0.1
    illness = np.where(town & (rng.random(800) < 0.9), 0, rng.integers(0, 10, 800) + 10 * sex)
    return pl.DataFrame(
        {
            "patient": [f"CANARY-{n}" for n in range(800)],
            "age": rng.integers(20, 60, 800),
            "sex": np.array(["CANARY-f", "CANARY-m"])[sex],
            "town": np.array(["CANARY-city", "CANARY-mine"])[town.astype(int)],
            "illness": [f"CANARY-{n}" for n in illness],
        }
    )


@pytest.fixture
def files(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    patients(1).write_csv(tmp_path / "january.csv")
    patients(2).write_csv(tmp_path / "others.csv")


@pytest.mark.usefixtures("files")
def test_choices_for_a_table(run: Run) -> None:
    asked = ("utility", "--given", "--table", "january.csv", "--policy", "policy.toml", "--seed", 1, "--queries", 100)
    ran = run(*asked, "--model", "others.csv", "--sample", 500)
    assert ran.code == 0, ran.err
    assert "CANARY" not in ran.out + ran.err
    assert "Choices of 'given', on 500 of 800 people" in ran.out
    for title in (
        "given",
        "cells",
        "right",
        "without",
        "advantage",
        "model: right",
        "error 0.05",
        "error 0.01",
        "wider",
    ):
        assert title in ran.out
    # In the mine 9 of 10 have one illness: no set of 5 can hide that.
    assert "town: A value with a share of 8" in ran.out
    assert "note attacks and counts were tried on 500 of 800 people" in ran.err
    assert "note numbers have no cells ('age')" in ran.err
    assert ran.out.splitlines()[-1].startswith('given = ["sex"] takes the advantage from ')
    data = run(*asked, "--json", "--choice", "sex", "--choice", "sex, town").data
    assert [one["given"] for one in data["choices"]] == [[], ["sex"], ["sex", "town"]]
    assert data["best"] == ["sex"]
    assert data["choices"][1]["learnt_advantage"] < data["choices"][0]["learnt_advantage"]
    assert data["choices"][2]["why_not"].startswith("A value with a share of ")
    assert data["choices"][0]["elsewhere_right"] is None


@pytest.mark.usefixtures("files")
def test_choices_for_a_series(run: Run, tmp_path: Path) -> None:
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    before = sorted(path.name for path in (tmp_path / "clinic").rglob("*"))
    ran = run("utility", "clinic", "--given", "--choice", "sex", "--seed", 1, "--queries", 100, "--seconds", 0)
    assert ran.code == 0, ran.err
    assert "note sets that are out do not allow another 'given': these are choices for a new series" in ran.err
    assert "sex: not tried: the time was up" in ran.out
    assert run("utility", "clinic", 1, "--given", "--choice", "sex", "--queries", 50, "--json").data["people"] == 800
    assert sorted(path.name for path in (tmp_path / "clinic").rglob("*")) == before


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--given",), "--given needs a series, or a table and its policy."),
        (
            ("clinic", "--given", "--table", "january.csv", "--policy", "policy.toml"),
            "--given needs a series, or a table",
        ),
        (("--given", "--table", "january.csv"), "--given needs a series, or a table and its policy."),
        (("--given", "--table", "january.csv", "--policy", "policy.toml", "--queries", 0), "ask at least one"),
        (("--given", "--table", "january.csv", "--policy", "policy.toml", "--choice", "age"), "'age' has numbers"),
        (("clinic", "--given", "--weights", "age=1"), "--weights weighs what generalisation takes away"),
        (("clinic", "--choice", "sex", "--sample", 100), "--choice, --sample goes with --given only."),
        ((), "There is no series to measure."),
    ],
)
def test_what_does_not_go_together(run: Run, options: tuple[object, ...], told: str) -> None:
    ran = run("utility", *options)
    assert ran.code == 2
    assert told in ran.err
