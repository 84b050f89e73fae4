"""`reissue utility` with questions of one's own, and `reissue show` of records: what they print, write and refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

import reissue as ri


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Two sensitive columns, and shifts with a colon in their names."""
    rng = np.random.default_rng(7)
    table = pl.DataFrame(
        {
            "patient": range(2000),
            "age": rng.integers(20, 80, 2000),
            "shift": rng.choice(["06:00", "18:00"], 2000),
            "illness": rng.choice(["asthma", "flu", "gout", "ulcer"], 2000),
            "again": rng.choice(["<30", "no"], 2000),
        }
    )
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "shift": ri.Categorical()},
        sensitive={"illness": ri.Categorical(), "again": ri.Categorical()},
        limits={"illness": "1/2", "again": "3/4"},
    )
    with ri.open(tmp_path / "clinic", ri.Policy(schema, ri.Alternatives(m=4, epsilon=1))) as series:
        series.publish(table, seed=1)
    return tmp_path / "clinic"


def test_questions_are_answered_beside_the_truth(run: Run, clinic: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "ours.txt", tmp_path / "answers.csv"
    file.write_text('# ours\n\nshare of illness = flu and again = "<30" by shift\n', encoding="utf-8")
    asked = ("utility", clinic, "--queries", "0", "--ask", "slope of flu on age", "--questions", file)
    ran = run(*asked, "--json")
    assert ran.code == 0
    with ri.open(clinic) as series:
        own = series.utility(1, questions=["slope of flu on age", 'share of illness = flu and again = "<30" by shift'])
    assert own.answers is not None and ran.data["answers"] == own.answers.each.to_dicts()
    ran = run(*asked, "--out", out)
    assert ran.code == 0 and "no link" in ran.out and "06:00" in ran.out
    assert pl.read_csv(out).height == 3
    assert run(*asked, "--out", out).code == 2  # nothing is replaced


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--ask", "flu"), "question 1"),
        (("--ask", "share of flue"), "question 1"),
        (("--questions", "nowhere.txt"), "cannot be read"),
        (("--out", "answers.csv"), "there are none"),
        (("--given", "--ask", "share of flu"), "--given"),
    ],
)
def test_what_cannot_be_asked_is_refused(run: Run, clinic: Path, arguments: tuple[str, ...], told: str) -> None:
    ran = run("utility", clinic, *arguments)
    assert ran.code == 2 and told in ran.err


def test_a_label_with_a_colon_stands_in_quotes(run: Run, clinic: Path) -> None:
    ran = run("estimate", clinic / "public", "--value", "flu", "--contrast", 'shift="06:00":"18:00"', "--json")
    wanted = ri.analyse(clinic / "public").contrast("flu", between={"shift": ("06:00", "18:00")})
    assert ran.code == 0 and ran.data["rows"] == wanted.to_dicts()
    ran = run("estimate", clinic / "public", "--value", "flu", "--contrast", "shift=06:00:18:00")
    assert ran.code == 2 and "in quotes" in ran.err


def test_records_are_shown_line_by_line(run: Run, clinic: Path) -> None:
    ran = run("show", clinic, "--rows", "4")
    assert ran.code == 0 and "table: the first 1 of 2,000 rows" in ran.out
    with ri.open(clinic) as series:
        first = series.release(1).tables["table"].row(0, named=True)
    lines = [line for line in ran.out.splitlines() if line.startswith(("│", "|"))]
    for illness, again in zip(first["illness"], first["again"], strict=True):
        assert any(illness in line and again in line for line in lines)


def test_records_without_rooms_are_not_taken_for_lives(clinic: Path) -> None:
    with ri.open(clinic) as series:
        tables = series.release(1).tables
    with pytest.raises(ri.errors.ParameterError, match=r"sets of records.*'rooms'"):
        ri.analyse({name: tables[name] for name in ("table", "design")}).share("flu")
