"""`reissue moves`: from past tables to files that a policy names, and releases that say what they were counted with."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

import reissue as ri
from reissue.publishing import past_moves

LABELS = ["asthma", "burn", "cold", "gout", "ulcer, open"]
POLICY = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.sensitive.illness]
kind = "categorical"
new = "accept"
[method]
name = "Alternatives"
m = 2
limit = "1/2"
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three states of 3,000 people, one in five of whom has another illness each time; and always the same noise."""
    monkeypatch.setattr(past_moves, "new_seed", lambda: 9)
    rng = np.random.default_rng(9)
    has = rng.integers(0, len(LABELS), 3_000)
    names = ["jan.csv", "feb.csv", "mar.csv"]
    for name in names:
        rows = {"patient": [f"CANARY-{n}" for n in range(3_000)], "age": np.arange(3_000) % 60}
        pl.DataFrame({**rows, "illness": [LABELS[one] for one in has]}).write_csv(tmp_path / name)
        has = np.where(rng.random(3_000) < 0.25, rng.integers(0, len(LABELS), 3_000), has)
    return names


def write_policy(folder: Path, *lines: str) -> None:
    (folder / "policy.toml").write_text("\n".join([POLICY, *lines]))


def test_the_files_it_writes_are_those_the_policy_names(run: Run, tmp_path: Path, files: list[str]) -> None:
    """The policy may name them before they are there."""
    write_policy(tmp_path, 'reference = "shares.csv"', 'change = "moves.csv"')
    ran = run("publish", "clinic", "mar.csv", "--policy", "policy.toml")
    assert ran.code == 2
    assert "is not there; `reissue moves` writes such files" in ran.err
    ran = run("moves", *files, "--policy", "policy.toml", "--epsilon", 2)
    assert ran.code == 0, ran.err
    assert "CANARY" not in ran.out
    assert "epsilon = 2" in ran.out
    assert '  reference = "shares.csv"\n  change = "moves.csv"\n' in ran.out
    table, shares = pl.read_csv(tmp_path / "moves.csv"), pl.read_csv(tmp_path / "shares.csv")
    assert table.columns == ["value", "next", "chance", "epsilon"]
    assert table.group_by("value").agg(pl.col("chance").sum())["chance"].to_list() == pytest.approx([1] * 6)
    assert shares["value"].to_list() == [*LABELS, "(other values)"]
    assert table["epsilon"].unique().to_list() == shares["epsilon"].unique().to_list() == [1]
    ran = run("publish", "clinic", "mar.csv", "--policy", "policy.toml")
    assert ran.code == 0, ran.err
    # The series has all of it, and says with what it was counted.
    for name in ("moves.csv", "shares.csv", "policy.toml"):
        (tmp_path / name).unlink()
    assert run("publish", "clinic", "mar.csv", "--allow", "same-state", "--reason", "so it is here").code == 0
    record = run("show", "clinic", "--json").data
    assert record["method"]["spent"] == 2
    assert record["method"]["change"] == "given"
    assert "(epsilon = 2)" in record["guarantees"][0]
    assert any("epsilon = 2" in warning for warning in record["warnings"])


def test_with_shares_from_outside_only_moves_are_counted(run: Run, tmp_path: Path, files: list[str]) -> None:
    outside = "\n".join(f'"{value}",1' for value in LABELS)
    (tmp_path / "census.csv").write_text(f"illness,share\n{outside}\n")
    write_policy(tmp_path, 'reference = "census.csv"')
    (tmp_path / "out").mkdir()
    ran = run("moves", *files, "--policy", "policy.toml", "--out", "out/m.csv", "--json")
    assert ran.code == 0, ran.err
    assert ran.data["files"] == ["out/m.csv"]
    assert ran.data["policy"] == ['change = "out/m.csv"']
    assert ran.data["people"] == 3_000
    assert ran.data["moves"] == 6_000
    assert ran.data["values"] == 5
    assert ran.data["staying"] == pytest.approx(0.8, abs=0.05)
    assert not (tmp_path / "shares.csv").exists()
    write_policy(tmp_path, 'reference = "census.csv"', 'change = "out/m.csv"')
    method = ri.Policy.read(tmp_path / "policy.toml").method
    assert isinstance(method, ri.Alternatives)
    assert method.spent == 1


def test_what_is_there_is_not_replaced_unasked(run: Run, tmp_path: Path, files: list[str]) -> None:
    write_policy(tmp_path)
    (tmp_path / "shares.csv").write_text("mine")
    ran = run("moves", *files, "--policy", "policy.toml")
    assert ran.code == 2
    assert "There is a file 'shares.csv' already." in ran.err
    assert not (tmp_path / "moves.csv").exists()
    assert run("moves", *files, "--policy", "policy.toml", "--force").code == 0
    assert (tmp_path / "shares.csv").read_text() != "mine"
    ran = run("moves", *files, "--policy", "policy.toml", "--out", "nowhere/moves.csv", "--shares", "more.csv")
    assert ran.code == 2
    assert "cannot be written" in ran.err


def test_a_policy_of_another_method_is_as_good(run: Run, tmp_path: Path, files: list[str]) -> None:
    text = POLICY.split("[method]")[0] + '[method]\nname = "MInvariance"\nm = 3\n'
    (tmp_path / "policy.toml").write_text(text)
    assert run("moves", *files, "--policy", "policy.toml").code == 0


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["jan.csv"], "at least two tables"),
        (["jan.csv", "none.csv"], "no file"),
        (["jan.csv", "odd.csv"], "Table 2 of 2 ('odd.csv')"),
    ],
)
def test_tables_that_do_not_do(run: Run, tmp_path: Path, files: list[str], names: list[str], message: str) -> None:
    write_policy(tmp_path)
    pl.read_csv(tmp_path / "jan.csv").rename({"illness": "ilness"}).write_csv(tmp_path / "odd.csv")
    ran = run("moves", *names, "--policy", "policy.toml")
    assert ran.code == 2
    assert message in ran.err
    assert "CANARY" not in ran.err


def instead(text: str) -> list[str]:
    """The policy with the lines of a table of change in place of the rate and the noise."""
    commented = [line.removeprefix("# ") for line in text.splitlines() if re.match(r"# (reference|change) = ", line)]
    return [*(line for line in text.splitlines() if not re.match(r"(epsilon|change) = ", line)), *commented]


def test_init_with_several_tables_declares_a_rate_and_has_the_command_for_a_table(
    run: Run, tmp_path: Path, files: list[str]
) -> None:
    ran = run("init", *files)
    assert ran.code == 0, ran.err
    assert any(f"{part}% of values differ" in ran.out for part in (19, 20, 21))
    text = (tmp_path / "policy.toml").read_text()
    proposed = ri.Policy.read(tmp_path / "policy.toml").method
    assert isinstance(proposed, ri.Alternatives)
    assert 0 < proposed.change <= 0.25  # values are redrawn at that rate
    command = "reissue moves jan.csv feb.csv mar.csv --policy policy.toml --epsilon 1"
    assert command in text
    assert command in ran.out
    for name in files:  # usable at once, and nobody is withheld
        assert run("publish", "series", name, *(["--policy", "policy.toml"] if name == files[0] else [])).code == 0
    assert run(*command.split()[1:]).code == 0
    (tmp_path / "table.toml").write_text("\n".join(instead(text)))
    method = ri.Policy.read(tmp_path / "table.toml").method
    assert isinstance(method, ri.Alternatives)
    assert method.spent == 1
    assert set(method.change) == {*LABELS, "(other values)"}


def test_init_with_several_tables_says_that_nothing_changed(run: Run, tmp_path: Path, files: list[str]) -> None:
    same = pl.read_csv(tmp_path / "jan.csv").head(2_000)
    same.write_csv(tmp_path / "later.csv")
    ran = run("init", "jan.csv", "later.csv", "--json")
    assert ran.data["changed"] == {"people": 2_000, "changed": 0}
    text = (tmp_path / "policy.toml").read_text()
    assert "reissue moves" not in text
    assert "nobody's value changed" in text
    assert not any(line.startswith("change") for line in text.splitlines())
    same.rename({"illness": "ill"}).write_csv(tmp_path / "odd.csv")
    ran = run("init", "jan.csv", "odd.csv", "--out", "p.toml")
    assert ran.code == 2
    assert "'illness': not in every table that was given" in ran.err
    same.with_columns(patient=pl.lit("x") + pl.col("patient")).write_csv(tmp_path / "others.csv")
    ran = run("init", "jan.csv", "others.csv", "--out", "p.toml")
    assert ran.code == 2
    assert "Nobody is in two tables" in ran.err
