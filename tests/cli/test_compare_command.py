"""`reissue compare`: one table, one recommendation, files that are written, and what is refused at once."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import Run

import reissue as ri
from reissue.samples.hospital import hospital

POLICY = """
[schema]
person = "patient"
drop = ["zip"]
[schema.quasi.age]
kind = "numeric"
[schema.quasi.sex]
kind = "categorical"
[schema.sensitive.diagnosis]
kind = "categorical"
[method]
name = "MInvariance"
m = 2
"""
FILES = ("m1.csv", "m2.csv", "m3.csv")
QUICK = ("--queries", 50, "--processes", 0)


@pytest.fixture
def files(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    for name, month in zip(FILES, hospital(3, patients=400), strict=True):
        month.write_csv(tmp_path / name)


@pytest.mark.usefixtures("files")
def test_a_table_a_recommendation_and_files(run: Run, tmp_path: Path) -> None:
    written = ("--out", "c.csv", "--chart", "c.html", "--write", "chosen.toml")
    ran = run("compare", *FILES, "--policy", "policy.toml", *QUICK, *written)
    assert ran.code == 0, ran.err
    assert "Methods over 3 releases, 400 people in the last table" in ran.out
    for title in ("method", "promise", "withheld", "counts", "slopes", "> limit", "own row", "no link at all"):
        assert title in ran.out
    assert "Incremental: release 2: Incremental cannot take what changed" in ran.out
    assert "Take " in ran.out
    assert "What you give up: " in ran.out
    assert "15.0% of people leave, and nobody's value changes" in ran.err
    assert all(f"wrote {name}" in ran.out for name in ("c.csv", "c.html", "chosen.toml"))
    chosen = ri.Policy.read(tmp_path / "chosen.toml")
    assert chosen.schema == ri.Policy.read(tmp_path / "policy.toml").schema
    assert run("publish", "clinic", "m1.csv", "--policy", "chosen.toml", "--dry-run").code == 0
    assert pl.read_csv(tmp_path / "c.csv")["recommended"].sum() == 1
    # Nothing of the tables shows.
    month = pl.read_csv(tmp_path / "m1.csv")
    shown = ran.out + ran.err + (tmp_path / "c.html").read_text() + (tmp_path / "chosen.toml").read_text()
    assert not any(value in shown for value in [*month["diagnosis"].unique(), *month["patient"].head(20)])


@pytest.mark.usefixtures("files")
def test_the_table_fits_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    ran = run("compare", *FILES, "--policy", "policy.toml", *QUICK)
    table = ran.out.split("promise: nobody")[0].splitlines()
    assert max(map(len, table)) <= 110
    assert "…" not in "".join(table)


@pytest.mark.usefixtures("files")
def test_no_word_is_ever_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a file it is as wide as it wants; at a narrow terminal names are broken at their blanks."""
    for columns in (None, "80"):
        if columns is None:
            monkeypatch.delenv("COLUMNS")
        else:
            monkeypatch.setenv("COLUMNS", columns)
        table = run("compare", *FILES, "--policy", "policy.toml", *QUICK).out.split("promise: nobody")[0]
        assert "…" not in table
        assert {"Alternatives,", "MInvariance,", "EEquivalence", "anatomised", "unprotected"} <= {*table.split()}


@pytest.mark.usefixtures("files")
def test_json_is_the_same_every_time(run: Run) -> None:
    asked = ("compare", *FILES, "--policy", "policy.toml", *QUICK, "--method", "eequivalence", "--json")
    once, again = run(*asked), run(*asked)
    assert once.code == 0
    assert once.out == again.out
    assert {row["kind"] for row in once.data["rows"]} == {"EEquivalence", "no link at all"}
    assert once.data["recommendation"]["sentence"]
    assert once.data["policy"]["method"]["name"] == "EEquivalence"
    assert json.dumps(once.data)


@pytest.mark.usefixtures("files")
def test_without_a_policy_it_says_that_it_guessed(run: Run) -> None:
    ran = run("compare", *FILES, *QUICK, "--method", "EEquivalence")
    assert ran.code == 0, ran.err
    assert "was guessed" in ran.err


@pytest.mark.usefixtures("files")
def test_nothing_is_replaced_unasked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chosen.toml").write_text("mine")
    asked = ("compare", *FILES, "--policy", "policy.toml", *QUICK, "--method", "EEquivalence", "--write", "chosen.toml")
    ran = run(*asked)
    assert ran.code == 2
    assert "there is a file 'chosen.toml' already" in ran.err
    assert (tmp_path / "chosen.toml").read_text() == "mine"
    assert run(*asked, "--force").code == 0
    assert (tmp_path / "chosen.toml").read_text().startswith("# Proposed by")


@pytest.mark.usefixtures("files")
def test_where_nothing_is_recommended_nothing_is_written(run: Run, tmp_path: Path) -> None:
    asked = ("compare", *FILES, "--policy", "policy.toml", *QUICK, "--method", "Mondrian", "--write", "chosen.toml")
    ran = run(*asked)
    assert ran.code == 1
    assert "Nothing was written to chosen.toml" in ran.err
    assert not (tmp_path / "chosen.toml").exists()
    assert run(*asked, "--json").data["policy"] is None
    assert run(*asked[:-2]).code == 0  # it answered


@pytest.mark.usefixtures("files")
def test_what_publish_would_refuse_is_not_written(run: Run, tmp_path: Path) -> None:
    """The same table twice: said, and nothing to publish under comes of it."""
    asked = ("compare", FILES[0], FILES[0], "--policy", "policy.toml", *QUICK, "--method", "MInvariance")
    ran = run(*asked, "--write", "chosen.toml")
    assert ran.code == 1
    assert "`publish` will refuse these tables under such a policy; table 2: same-state: " in " ".join(ran.err.split())
    assert not (tmp_path / "chosen.toml").exists()
    assert run(*asked, "--json").data["stopped"]


@pytest.mark.usefixtures("files")
def test_long_reasons_take_one_line(run: Run) -> None:
    from reissue.cli.compare import LINE, _shortened

    assert _shortened("too short") == "too short."
    long = "; ".join(["first reason", *["another " * 12] * 4])
    assert _shortened(long).startswith("first reason; another")
    assert len(_shortened(long)) <= LINE + 4
    assert len(_shortened("word " * 90)) <= LINE + 4
    out = run("compare", *FILES, "--policy", "policy.toml", *QUICK).out
    assert all(
        len(line) <= LINE + 40 for line in out.splitlines() if line.startswith(("Incremental: ", "HDComposition: "))
    )


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--chart", "c.pdf"), "--chart takes a file that ends with .html or .svg or .png"),
        (("--out", "nowhere/c.csv"), "there is no folder for --out"),
        (("--write", "policy.txt"), "--write takes a file that ends with .toml"),
        (("--method", "Nothing"), "must name methods among"),
        (("--policy", "nothing.toml"), "nothing.toml"),
    ],
)
def test_what_is_wrong_is_refused_at_once(run: Run, asked: tuple[str, ...], told: str) -> None:
    ran = run("compare", *FILES, *QUICK, *asked)
    assert ran.code == 2
    assert told in ran.err
    assert "Methods over" not in ran.out


@pytest.mark.usefixtures("files")
def test_a_late_comparison_says_so(run: Run) -> None:
    ran = run("compare", *FILES, "--policy", "policy.toml", "--queries", 50, "--seconds", 1, "--processes", 1)
    assert ran.code == 0
    assert "not tried: the time was up" in ran.out


@pytest.mark.usefixtures("files")
def test_what_somebody_wrote_about_columns_stays(run: Run, tmp_path: Path) -> None:
    """Comments, and a hierarchy in its own file; but those of the method that is not taken go."""
    (tmp_path / "zip.csv").write_text("".join(f"{code};{code[:3]}**;*\n" for code in map(str, range(53100, 53200))))
    mine = POLICY.replace('drop = ["zip"]', "drop = [\n    # Decide.\n]  # nothing").replace(
        "[schema.sensitive.diagnosis]",
        '[schema.quasi.zip]  # GUESS (high): a postcode\nkind = "hierarchy"\nfile = "zip.csv"  # beginnings\n'
        "# NOT PUBLISHED: decide\n[schema.sensitive.diagnosis]  # GUESS",
    )
    mine = mine.replace(
        '[method]\nname = "MInvariance"\nm = 2', '[method]  # guessed\nname = "Mondrian"  # once\nk = 2\nl = 2'
    )
    mine += "[checks]  # ours\nids_return = 0.1  # few come back\n"
    (tmp_path / "policy.toml").write_text(
        '# Of January.\n# Note: `publish` will refuse table 3.\nform = "anatomised"  # exact\n' + mine
    )
    asked = ("compare", *FILES, "--policy", "policy.toml", *QUICK, "--method", "MInvariance")
    ran = run(*asked, "--write", "chosen.toml")
    assert ran.code == 0, ran.err
    text = (tmp_path / "chosen.toml").read_text()
    kept = ("# Of January.", "# Decide.", "# GUESS (high): a postcode", 'file = "zip.csv"  # beginnings', "# ours")
    assert all(one in text for one in (*kept, "# NOT PUBLISHED: decide", "few come back"))
    assert not any(
        one in text for one in ("Mondrian", "# once", "# exact", "# guessed", "table 3", "could not be kept")
    )
    before, after = ri.Policy.read(tmp_path / "policy.toml"), ri.Policy.read(tmp_path / "chosen.toml")
    assert (after.schema, after.checks, after.people) == (before.schema, before.checks, before.people)
    assert isinstance(after.method, ri.MInvariance)
    # Elsewhere the file of the hierarchy is not beside it: the policy is complete in itself, and says what is missing.
    (tmp_path / "other").mkdir()
    assert run(*asked, "--write", "other/chosen.toml").code == 0
    text = (tmp_path / "other/chosen.toml").read_text()
    assert "The comments of the policy it was asked under could not be kept" in text
    assert ri.Policy.read(tmp_path / "other/chosen.toml").to_dict() == after.to_dict()
