"""`reissue init` at a terminal: it asks, takes numbers and names, asks again, and writes nothing when it is left."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import reissue as ri

CODE = "from reissue.cli import main; main()"
PATIENCE = 120


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = 60
    pl.DataFrame(
        {
            "patient": [f"CANARY-{n}" for n in range(rows)],
            "age": [20 + n % 40 for n in range(rows)],
            "mystery": ["p", "q", "r"] * 20,
            "diagnosis": ["flu", "gout", "asthma", "stroke"] * 15,
        }
    ).write_csv(tmp_path / "table.csv")
    return tmp_path


def at_a_terminal(folder: Path, answers: list[str], *arguments: str, term: str = "dumb") -> tuple[int, str]:
    """Run `reissue init` with a terminal for input and output; each answer is typed when something is asked."""
    theirs, ours = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, "init", "table.csv", *arguments],
        cwd=folder, env={**os.environ, "TERM": term, "COLUMNS": "200"}, stdin=ours, stdout=ours, stderr=ours,
    )  # fmt: skip
    os.close(ours)
    seen, typed, until = "", 0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if select.select([theirs], [], [], 0.2)[0]:
            try:
                piece = os.read(theirs, 4096)
            except OSError:  # nobody holds the other end any more
                break
            if not piece:
                break
            seen += piece.decode(errors="replace")
        elif process.poll() is not None:
            break
        if typed < len(answers) and seen.count("Number [") > typed:
            os.write(theirs, answers[typed].encode())
            typed += 1
    os.close(theirs)
    return process.wait(timeout=PATIENCE), seen


def test_what_is_uncertain_is_asked(table: Path) -> None:
    code, seen = at_a_terminal(table, ["7\n", "drop\n"])
    assert code == 0, seen
    assert "What is 'mystery'?" in seen
    assert "none of the choices" in seen  # and asked again
    assert "CANARY" not in seen
    assert "mystery" in ri.Policy.read(table / "policy.toml").schema.drop


def test_enter_takes_what_stands_in_brackets(table: Path) -> None:
    code, seen = at_a_terminal(table, ["\n"])
    assert code == 0, seen
    assert "mystery" in ri.Policy.read(table / "policy.toml").schema.quasi


def test_whoever_leaves_leaves_nothing_behind(table: Path) -> None:
    code, _ = at_a_terminal(table, ["\x04"])
    assert code != 0
    assert [path.name for path in table.iterdir()] == ["table.csv"]


def test_what_is_being_done_is_shown_and_gives_way_to_questions(table: Path) -> None:
    code, seen = at_a_terminal(table, ["\n"], term="xterm")
    assert code == 0, seen
    assert "Looking at columns" in seen and "Trying " in seen
    asked = seen[seen.index("What is 'mystery'?") : seen.index("Number [")]
    assert "Looking at columns" not in asked  # no bar is drawn over the question
    assert "mystery" in ri.Policy.read(table / "policy.toml").schema.quasi


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_nothing_is_asked_of_scripts(table: Path, option: str) -> None:
    code, seen = at_a_terminal(table, [], option)
    assert code == 0, seen
    assert "Number [" not in seen
    assert "'mystery' is taken for a quasi-identifier" in seen
    assert (table / "policy.toml").exists()
