"""`reissue audit --change` and `--follows`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

FILES = {
    "releases/r1.csv": "age,outcome\n20,Active\n20,Resolved\n30,Fatal\n30,Active\n",
    "releases/r2.csv": "age,outcome\n20,Resolved\n20,Resolved\n30,Fatal\n30,Fatal\n",
    "people.csv": "id,age\nAnn,20\nBen,20\nCat,30\nDan,30\n",
    "after.csv": "value,follows\nActive,Resolved\nActive,Fatal\nResolved,\nFatal,\n",
}
GIVEN = (
    "audit",
    "releases",
    "--sensitive",
    "outcome",
    "--registry",
    "people.csv",
    "--person",
    "id",
    "--present",
    "all",
)


@pytest.fixture
def outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two releases of four people; somebody of each age was active and is not."""
    (tmp_path / "releases").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


def worlds(run: Run, *options: str) -> Any:
    ran = run(*GIVEN, "--limit", "0.9", *options, "--json")
    assert ran.code == 1, ran.err
    data = ran.data
    return next(one for one in data["attacks"] if one["attack"] == "Worlds"), data


@pytest.mark.usefixtures("outcomes")
def test_each_release_by_itself(run: Run) -> None:
    attack, data = worlds(run, "--change", "free")
    assert "Of 4 it is certain what they had in some release" in attack["words"]
    assert "The releases contradict static values: those shown of at least 2 people changed." in attack["words"]
    assert any("values may change freely" in words for words in data["adversary"])
    assert {one["release"] for one in data["findings"]} == {2}


@pytest.mark.usefixtures("outcomes")
def test_too_few_changes_are_refuted(run: Run) -> None:
    attack, data = worlds(run, "--change", "people=1")
    assert attack["status"] == "undecided" and "The model is refuted" in attack["words"] and not data["findings"]


@pytest.mark.usefixtures("outcomes")
@pytest.mark.parametrize(
    "options",
    [
        ("--follows", "after.csv"),
        ("--follows", "Active=Resolved,Fatal", "--follows", "Fatal=", "--follows", "Resolved="),
    ],
)
def test_what_may_follow_what(run: Run, options: tuple[str, ...]) -> None:
    attack, _ = worlds(run, *options, "--change", "people=2,rate=0.1")
    assert "the values of at most 2 people change and values change with chance 0.1" in attack["words"]
    assert "what may follow 3 values is known" in attack["words"]


@pytest.mark.usefixtures("outcomes")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--change", "sometimes"), "cannot be understood"),
        (("--change", "people=some"), "takes a number"),
        (("--change", "people=-1"), "at least 0"),
        (("--change", "rate=1"), "above 0 and below 1"),
        (("--change", "people=1", "--change", "people=2"), "cannot be understood"),
        (("--change", "free", "--change", "people=2"), "nothing else is known"),
        (("--follows", "Active"), "takes a value and those that may follow it"),
        (("--follows", "Actve=Resolved"), "names 1 value that no release shows"),
        (("--follows", "people.csv"), "must have the columns 'value' and 'follows'"),
        (("--follows", "nowhere.csv"), "nowhere.csv"),
        (("--permanent", "Fatal", "--change", "free"), "--permanent cannot be used"),
    ],
)
def test_what_cannot_be_understood(run: Run, options: tuple[str, ...], message: str) -> None:
    ran = run(*GIVEN, "--limit", "0.9", *options)
    assert ran.code == 2 and message in " ".join(ran.err.split())
