"""`reissue publish --period`, `--corrects`, and `reissue retract`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri

Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> Path:
    patients.write_csv(tmp_path / "january.csv")
    patients.tail(20).write_csv(tmp_path / "february.csv")
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    return tmp_path


def test_what_commands_say_of_it(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml", "--period", "2026-01")
    assert ran.code == 0
    assert "Release 1 of 2026-01" in ran.out
    ran = run("publish", "clinic", "february.csv", "--corrects", "1", "--json")
    assert ran.code == 0
    assert (ran.data["period"], ran.data["corrects"]) == ("2026-01", 1)
    ran = run("log", "clinic")
    assert "2026-01" in ran.out
    assert "2 corrects release 1" in ran.out
    shown = run("show", "clinic", "2")
    assert "period" in shown.out
    assert "release 1" in shown.out


def test_a_log_without_periods_has_no_such_column(run: Run, files: Path) -> None:
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    assert "period" not in run("log", "clinic").out


def test_what_is_no_period(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml", "--period", "soon")
    assert ran.code == 2
    assert "2026-Q1" in ran.err
    assert not (files / "clinic").exists()


def test_retracting(run: Run, files: Path) -> None:
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    assert run("retract", "clinic", "1").code == 2  # without a reason
    assert run("retract", "clinic", "3", "--reason", "wrong extract").code == 2
    ran = run("retract", "clinic", "1", "--reason", "wrong extract")
    assert ran.code == 0
    assert "cannot be taken back" in ran.out
    assert "not handed out: wrong extract" in run("log", "clinic").out
    assert run("log", "clinic", "--json").data["releases"][0]["not_handed_out"] == "wrong extract"
    assert "retracted" in run("show", "clinic", "1").out
    assert run("verify", "clinic").code == 0
    ran = run("publish", "clinic", "february.csv")
    assert ran.code == 0
    assert run("show", "clinic", "2", "--json").data["retracted"] == [1]
    ran = run("export", "clinic", "all-of-it", "--all")
    assert ran.code == 0
    assert "release 1 was retracted, and is not in the package: wrong extract" in ran.out
    assert run("export", "clinic", "one", "1").code == 1
