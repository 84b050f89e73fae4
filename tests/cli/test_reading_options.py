"""`reissue audit`: how releases made elsewhere are read, and the file that keeps what was said and decided."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

FIRST = "Row ID,Age,Zip Code,Result\n1,<20,00123,No\n2,<20,00123,Yes\n3,20s,00124,Yes\n4,Unknown,00124,No\n"
SECOND = "ROW_ID,AGE,ZIP_CODE,OUTCOME\n1,<20,00123,No\n2,<20,00123,Yes\n3,20s,00124,Yes\n"
ASKED = ("--limit", "1/2", "--attacks", "Channels")


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    folder = tmp_path / "releases"
    folder.mkdir()
    (folder / "2020-01.csv").write_text(FIRST)
    (folder / "2020-02.csv").write_text(SECOND)
    return folder


def test_what_is_meant_is_proposed_and_accepted(run: Run, releases: Path) -> None:
    refused = run("audit", releases, "--sensitive", "Outcome", *ASKED)
    assert refused.code == 2
    assert "--rename Result=OUTCOME" in " ".join(refused.err.split())
    read = run("audit", releases, "--sensitive", "Outcome", *ASKED, "--yes", "--json")
    assert read.code == 1
    told = " ".join(read.data["notes"])
    assert "'Result' is taken for 'OUTCOME', as proposed (--rename Result=OUTCOME)" in told
    assert "'ROW_ID' is no quasi-identifier" in told or "'Row ID' is no quasi-identifier" in told
    assert read.data["subject"]["sensitive"] == ["OUTCOME"]


def timeless(told: Any) -> Any:
    """Without how long attacks took."""
    if not isinstance(told, list):
        return told
    return [{name: one for name, one in row.items() if name != "seconds"} for row in told]


def test_options_are_kept_and_used_again(run: Run, releases: Path, tmp_path: Path) -> None:
    (tmp_path / "zips.csv").write_text("00123;*\n00124;*\n")
    given = ("--sensitive", "outcome", "--limit", "1/2", "--attacks", "Channels", "--growing", "--labels", "age")
    more = ("--missing", "Age=unknown", "--hierarchy", "ZIP_CODE=zips.csv", "--yes", "--steps", "5000000")
    first = run("audit", releases, *given, *more, "--save", "kept/audit.toml", "--json")
    assert first.code == 2  # there is no such folder
    (tmp_path / "kept").mkdir()
    first = run("audit", releases, *given, *more, "--save", "kept/audit.toml", "--json")
    assert "all options and decisions are in 'kept/audit.toml'" in " ".join(first.data["notes"])
    kept = tomllib.loads((tmp_path / "kept" / "audit.toml").read_text())
    assert kept == {
        "sensitive": ["OUTCOME"],
        "quasi": kept["quasi"],
        "labels": [kept["quasi"][0]],
        "missing": {kept["quasi"][0]: ["unknown"]},
        "rename": {"Result": "OUTCOME"},
        "limit": "1/2",
        "attacks": "Channels",
        "growing": True,
        "steps": 5000000,
        "hierarchy": {"ZIP_CODE": "../zips.csv"},
    }
    again = run("audit", releases, "--options", "kept/audit.toml", "--json")
    assert again.code == first.code
    for what in ("verdict", "subject", "attacks", "findings"):
        assert timeless(again.data.get(what)) == timeless(first.data.get(what))
    assert "options that were not given are those of 'kept/audit.toml'" in " ".join(again.data["notes"])
    # Saved again, it is the same; and the command line goes before it.
    assert run("audit", releases, "--options", "kept/audit.toml", "--save", "kept/again.toml", "--json").code == 1
    assert tomllib.loads((tmp_path / "kept" / "again.toml").read_text()) == kept
    other = run("audit", releases, "--options", "kept/audit.toml", "--sensitive", "Age", "--drop", "ROW_ID", "--json")
    assert other.code == 2  # Age is a quasi-identifier in the file
    assert "cannot be two of" in other.out + other.err


def test_a_file_of_options_is_not_replaced_in_silence(run: Run, releases: Path, tmp_path: Path) -> None:
    (tmp_path / "audit.toml").write_text("limit = 0.5\n")
    command = ("audit", releases, "--sensitive", "Outcome", *ASKED, "--yes", "--save", "audit.toml")
    assert run(*command).code == 2
    assert run(*command, "--force").code == 1
    assert tomllib.loads((tmp_path / "audit.toml").read_text())["limit"] == "1/2"


def test_a_file_of_options_that_lies_there_is_told_of(run: Run, releases: Path) -> None:
    (releases / "audit.toml").write_text('limit = "1/3"\n')
    told = run("audit", releases, "--sensitive", "Outcome", *ASKED, "--yes", "--json")
    assert any("lies there and was not used; --options" in note for note in told.data["notes"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sensitiv = 'a'", "'sensitiv' is no option that can stand there; sensitive is"),
        ("limit = {a = 1}", "'limit' is not what the option takes"),
        ("rename = {a = ['b', 'c']}", "'rename' is not what the option takes"),
        ("html = 'x'", "'html' is no option that can stand there"),
        ("limit = ", "is no file of options"),
    ],
)
def test_wrong_files_of_options(text: str, message: str, run: Run, releases: Path, tmp_path: Path) -> None:
    (tmp_path / "audit.toml").write_text(text)
    ran = run("audit", releases, "--options", "audit.toml")
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_several_sensitive_columns_and_names_with_commas(run: Run, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('age,"Income, yearly",diagnosis\n1,5,flu\n1,6,hiv\n1,,flu\n')
    ran = run("audit", "table.csv", "--sensitive", '"Income, yearly",diagnosis', *ASKED, "--json", "--save", "a.toml")
    assert ran.data["subject"]["sensitive"] == ["Income, yearly", "diagnosis"]
    again = run("audit", "table.csv", "--options", "a.toml", "--json")
    assert again.data["subject"] == ran.data["subject"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rename", "a"), "--rename takes OLD=NEW"),
        (("--rename", "a=b", "--rename", "a=c"), "gives 'a' two names"),
        (("--git", "."), "--git is in place of files and folders"),
        (("--labels", '"a'), "A double quote is not closed"),
    ],
)
def test_wrong_options(options: tuple[str, ...], message: str, run: Run, releases: Path) -> None:
    ran = run("audit", releases, "--sensitive", "Outcome", *ASKED, *options)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_options_of_reading_are_not_for_a_series(run: Run, releases: Path) -> None:
    ran = run("audit", releases, "--labels", "a")
    assert ran.code == 2
    assert "--labels can be used for releases made elsewhere only" in ran.err
    assert "What is to be audited?" in run("audit").err
