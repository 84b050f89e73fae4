"""`make test-pythons`: which interpreter is taken, and one line for a version that is not installed."""

from __future__ import annotations

import importlib.util
import os
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, on a machine with nothing but two folders on the path."""
    spec = importlib.util.spec_from_file_location("tools_pythons", ROOT / "tools" / "pythons.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PYENV_ROOT", "ASDF_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "other")]))
    return module


def put(path: Path, does: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


def test_a_version_that_is_not_installed_is_one_line(pythons: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert pythons.main(["3.98", "3.99"]) == 0
    lines = [f"Python 3.{minor}: not installed, so not checked" for minor in (98, 99)]
    assert capsys.readouterr().out.splitlines() == lines


def test_what_fails_or_is_another_version_is_passed_over(pythons: ModuleType, tmp_path: Path) -> None:
    put(tmp_path / "one" / "python3.98", "exit 127")
    put(tmp_path / "other" / "python3.98", "echo CPython 3.9.8")
    assert pythons.interpreter("3.98") is None
    kept = put(tmp_path / ".pyenv" / "versions" / "3.98.1" / "bin" / "python3.98", "echo CPython 3.98.1")
    assert pythons.interpreter("3.98") == (kept, "3.98.1")


def test_a_check_that_fails_says_where(
    pythons: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pythons, "FOLDER", tmp_path / "build")
    answers = 'case "$*" in *ensurepip*) echo CPython 3.98.1;; *cache*) echo kept;; *) echo no room; exit 1;; esac'
    put(tmp_path / "one" / "python3.98", answers)
    assert pythons.main(["3.98"]) == 1
    printed = capsys.readouterr().out
    assert "no room" in printed
    assert "Python 3.98.1: failed at " in printed
    assert " -m venv " in printed


def test_what_is_promised_is_what_is_checked(pythons: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    checked = re.search(r"^PYTHONS := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert checked is not None
    assert checked[1].split() == named
    assert all((ROOT / path).exists() for path in pythons.SMOKE)
