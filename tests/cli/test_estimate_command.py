"""`reissue estimate`: what it prints, writes and refuses."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

import reissue as ri

SHARES = {"flu": 0.2, "asthma": 0.2, "heart failure": 0.2, "gout": 0.2, "ulcer": 0.2}


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    table = pl.DataFrame(
        {
            "patient": range(300),
            "age": rng.integers(20, 80, 300),
            "sex": rng.choice(["female", "male"], 300),
            "illness": rng.choice(list(SHARES), 300),
        }
    )
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
    )
    with ri.open(tmp_path / "clinic", ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES))) as series:
        series.publish(table)
        series.publish(table.head(280))
    return tmp_path / "clinic" / "public"


def test_the_answers_are_those_of_the_library(run: Run, clinic: Path) -> None:
    an = ri.analyse(clinic)
    where = "age >= 60"
    for arguments, wanted in (
        (("--value", "heart failure", "--by", "sex", "--where", where), an.share("heart failure", "sex", where)),
        (("--count", "--value", "flu", "--by", "age:40,60"), an.count("flu", {"age": [40, 60]})),
        (("--by", "sex"), an.count(by="sex")),
        (("--table",), an.table()),
        (("--value", "flu", "--trend"), an.trend("flu")),
        (
            ("--value", "flu", "--contrast", "sex=female:male", "--release", "2"),
            an.only(2).contrast("flu", between={"sex": ("female", "male")}),
        ),
        (("--value", "flu", "--contrast", "release=1:2"), an.contrast("flu", releases=(1, 2))),
        (
            ("--value", "flu", "--contrast", "'sex'=\"female\":male"),
            an.contrast("flu", between={"sex": ("female", "male")}),
        ),
        (("--value", "flu", "--slope", "age", "--by", "sex"), an.slope("flu", on="age", by="sex")),
        (("--value", "flu", "--of", "population"), an.share("flu", of="population")),
        (("--value", "illness = flu"), an.share("flu").with_columns(value=pl.lit("flu"))),
        (("--by", "age:40,60.5", "--where", "age != 45"), an.count(by={"age": [40, 60.5]}, where="age != 45")),
    ):
        ran = run("estimate", clinic, *arguments, "--json")
        assert ran.code == 0
        assert ran.data["rows"] == wanted.to_dicts()
        assert ran.data["notes"] == (an.only(2) if "--release" in arguments else an).notes


def test_what_is_printed_and_written(run: Run, clinic: Path, tmp_path: Path) -> None:
    ran = run("estimate", clinic, "--value", "heart failure", "--by", "sex", "--release", "1", "--out", "answer.csv")
    assert ran.code == 0
    assert "'illness' in release 1; low and high: 95 %" in ran.out
    assert "right on average" in ran.err
    written = pl.read_csv(tmp_path / "answer.csv")
    assert written["estimate"].to_list() == pytest.approx(
        ri.analyse(clinic).only(1).share("heart failure", "sex")["estimate"].to_list()
    )
    ran = run("estimate", clinic, "--value", "flu", "--value", "gout", "--scores", "scores.csv")
    assert ran.code == 0
    scores = pl.read_csv(tmp_path / "scores.csv")
    assert scores.columns == ["age", "sex", "release", "flu", "gout", "cluster"]
    assert scores.height == 580
    again = run("estimate", clinic, "--value", "flu", "--value", "gout", "--scores", "scores.parquet")
    assert again.code == 0
    as_parquet = pl.read_parquet(tmp_path / "scores.parquet")
    assert as_parquet.equals(ri.analyse(clinic).scores(["flu", "gout"]))
    assert as_parquet.equals(scores), "CSV loses nothing, and rows have the same numbers every time"
    ran = run("estimate", clinic, "--value", "flu", "--scores", "scores.csv")
    assert ran.code == 2
    assert "already" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--value", "measles"), "stand nowhere"),
        (("--where", "age >="), "cannot be read"),
        (("--trend", "--table"), "do not go together"),
        (("--value", "flu", "--contrast", "sex"), "column=first:second"),
        (("--value", "flu", "--contrast", "release=a:b"), "two numbers"),
        (("--by", "age:a"), "neither numbers nor dates"),
        (("--by", "age:60,40"), "ascending"),
        (("--release", "7"), "no release 7"),
        (("--hierarchy", "sex"), "column=file"),
        (("--mean",), "no mean"),
        (("--trend",), "on the command line --value"),
        (("--mean", "--value", "flu"), "does not go with --value"),
        (("--table", "--value", "flu"), "does not go with --value"),
        (("--scores", "s.csv", "--where", "age >= 60"), "does not go with --where"),
        (("--scores", "s.csv", "--by", "sex", "--out", "o.csv"), "does not go with --by, --out"),
        (("--scores", "s.csv", "--value", "flu", "--trend"), "does not go with --trend"),
        (("--value", "illness >= 3"), "no order"),
        (("--where", "age >= 60 and age >= old"), "with a number and with something else"),
        (("--value", "flu", "--out", "none/answer.csv"), "cannot be written: its folder is not there"),
        (("--scores", "none/scores.parquet"), "cannot be written: its folder is not there"),
    ],
)
def test_what_is_refused(run: Run, clinic: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = run("estimate", clinic, *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_nobody_and_few(run: Run, clinic: Path) -> None:
    """No table without lines; no difference of shares beyond what two shares can be apart."""
    nobody = run("estimate", clinic, "--value", "flu", "--by", "sex", "--where", "age = 999")
    assert nobody.code == 0 and "Nobody satisfies these conditions" in nobody.out
    an = ri.analyse(clinic).only(1)
    ages = an.count(by="age").filter(pl.col("people") <= 4)["age"].to_list()
    for first, second in pairwise(ages):
        one = an.contrast("flu", between={"age": (first, second)})
        assert -1 <= one["low"][0] < one["high"][0] <= 1


def test_labels_with_signs_of_one_of_several_columns(run: Run, tmp_path: Path) -> None:
    """`<30` is a label of many tables; only beside an `and` it must stand in quotes."""
    rng = np.random.default_rng(8)
    table = pl.DataFrame(
        {
            "patient": range(600),
            "sex": rng.choice(["female", "male"], 600),
            "illness": rng.choice(list(SHARES), 600),
            "back": rng.choice(["<30", ">30", "NO"], 600),
        }
    )
    columns = {"illness": ri.Categorical(), "back": ri.Categorical()}
    schema = ri.Schema("patient", {"sex": ri.Categorical()}, columns, limits={"illness": "1/2", "back": "3/4"})
    with ri.open(tmp_path / "clinic", ri.Policy(schema, ri.Alternatives(m=4, epsilon=8.0, merge=1.0))) as series:
        series.publish(table, seed=1)
    an = ri.analyse(tmp_path / "clinic" / "public")
    for text, value in (
        ("back = <30", {"back": "<30"}),
        ('back = "<30"', {"back": "<30"}),
        ('back = "<30" and illness = gout', {"back": "<30", "illness": "gout"}),
    ):
        found = run("estimate", tmp_path / "clinic", "--value", text, "--json").data["rows"]
        assert found[0]["estimate"] == an.share(value)["estimate"][0]
    refused = run("estimate", tmp_path / "clinic", "--value", "back = <30 and illness = gout")
    assert refused.code == 2 and "in quotes of its own" in refused.err
    refused = run("estimate", tmp_path / "clinic", "--value", "gout", "--release", 2)
    assert refused.code == 2 and "there is release 1." in refused.err
