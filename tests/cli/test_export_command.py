"""`reissue export`, and what a recipient does with what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import Run

from reissue.foreign.files import read_files
from reissue.samples.hospital import hospital

POLICY = """
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
def clinic(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    for number, month in enumerate(hospital(2), 1):
        month.write_csv(tmp_path / f"{number}.csv")
        given = ("--policy", "policy.toml") if number == 1 else ()
        assert run("publish", "clinic", f"{number}.csv", *given).code == 0
    return tmp_path / "clinic"


def test_every_file_is_named_tables_first(run: Run, clinic: Path) -> None:
    ran = run("export", "clinic", "sent")
    assert ran.code == 0
    names = ["table.csv", "release.json", "codebook.csv", "labels.csv", "README.md", "datapackage.json", "export.json"]
    assert ran.out.splitlines() == [f"wrote sent/{name}" for name in names]
    assert json.loads(Path("sent/release.json").read_text())["number"] == 2
    data = run("export", "clinic", "both", 1, 2, "--json").data
    assert (data["number"], data["releases"]) == (None, [1, 2])
    assert data["files"][0] == "both/0001/table.csv" and data["files"][-1] == "both/export.json"
    assert data["chain"] == json.loads(Path("both/export.json").read_text())["chain"]
    assert run("export", "clinic", "every", "--all", "--json").data["releases"] == [1, 2]


def test_columns_whose_hierarchy_recipients_need_are_named(run: Run, tmp_path: Path) -> None:
    table = next(iter(hospital(1)))
    codes = table["zip"].unique().cast(str).to_list()
    (tmp_path / "zip.csv").write_text("".join(f"{code};{code[:3]}**;*\n" for code in codes))
    table.with_columns(pl.col("zip").cast(str)).write_csv(tmp_path / "1.csv")
    (tmp_path / "policy.toml").write_text(
        POLICY.replace(
            '[schema.quasi.zip]\nkind = "numeric"', '[schema.quasi.zip]\nkind = "hierarchy"\nfile = "zip.csv"'
        )
    )
    assert run("publish", "clinic", "1.csv", "--policy", "policy.toml").code == 0
    ran = run("export", "clinic", "sent")
    assert "note whoever counts by 'zip' needs the hierarchy, which is not in the package" in ran.out
    assert run("export", "clinic", "again", "--json").data["hierarchies_not_sent"] == ["zip"]
    ran = run("export", "clinic", "with", "--hierarchy", "zip=zip.csv")
    assert ran.code == 0
    assert "note" not in ran.out
    assert run("estimate", "sent", "--by", "zip").code == 2
    assert run("estimate", "sent", "--by", "zip", "--hierarchy", "zip=zip.csv").code == 0


def test_words_of_the_sender(run: Run, clinic: Path) -> None:
    words = (
        "--title",
        "Clinic, monthly",
        "--publisher",
        "City Hospital",
        "--licence",
        "CC0-1.0",
        "--contact",
        "a@b.example",
    )
    assert run("export", "clinic", "sent", "--format", "excel", *words).code == 0
    text = Path("sent/README.md").read_text()
    assert text.startswith("# Clinic, monthly") and "Licence: CC0-1.0" in text and "Contact: a@b.example" in text
    assert Path("sent/tables.xlsx").is_file()


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel"])
def test_a_recipient_verifies_and_estimates(run: Run, clinic: Path, kind: str) -> None:
    assert run("export", "clinic", "sent", "--all", "--format", kind).code == 0
    assert run("verify", "sent").code == 0
    asked = ("--by", "sex", "--where", "age >= 40", "--json")
    assert run("estimate", "sent", *asked).data == run("estimate", "clinic/public", *asked).data
    value = pl.read_parquet("clinic/public/0001/table.parquet")["diagnosis"][0]
    for question in (("--value", value), ("--value", value, "--trend"), ("--table",)):
        assert run("estimate", "sent", *question, "--json").data == run("estimate", "clinic", *question, "--json").data


def test_mistakes_and_refusals(run: Run, clinic: Path) -> None:
    assert "do not go together" in run("export", "clinic", "sent", 1, "--all").err
    ran = run("export", "clinic", "sent", 7, "--json")
    assert (ran.code, ran.data["error"]["kind"]) == (2, "ParameterError")
    assert run("export", "nowhere", "sent").code == 2
    assert run("export", "clinic", "clinic/sent").code == 2
    assert not Path("sent").exists()
    assert run("export", "clinic", "sent").code == 0
    ran = run("export", "clinic", "sent")
    assert ran.code == 2 and "--force" in ran.err
    assert run("export", "clinic", "sent", "--force").code == 0


def test_a_package_can_be_audited_as_any_release(run: Run, clinic: Path) -> None:
    """What describes the tables is not taken for releases."""
    assert run("export", "clinic", "sent", 1).code == 0
    assert [one.name for one in read_files("sent")[0]] == ["table.csv"]
