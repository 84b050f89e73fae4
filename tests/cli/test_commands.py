"""The command line as a user meets it: what it prints, what it exits with, what it leaves on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri

Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> Path:
    """january.csv, february.csv and policy.toml in the current folder."""
    patients.write_csv(tmp_path / "january.csv")
    patients.tail(20).write_csv(tmp_path / "february.csv")
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    return tmp_path


def test_the_whole_way_from_a_file_to_an_export(run: Run, files: Path) -> None:
    ran = run("init", "january.csv", "--out", "guess.toml")
    assert ran.code == 0
    assert "patient" in ran.out
    assert "GUESS" in ran.out
    guessed = (files / "guess.toml").read_text()
    assert guessed.count("GUESS") > 5
    proposed = ri.Policy.from_toml(guessed)
    assert proposed.schema.roles == {
        "patient": "person", "age": "quasi-identifier", "sex": "quasi-identifier", "diagnosis": "sensitive",
    }  # fmt: skip

    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml", "--dry-run")
    assert ran.code == 0
    assert "draft, nothing was committed" in ran.out
    assert not (files / "clinic").exists()

    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    assert ran.code == 0
    assert "Release 1" in ran.out
    ran = run("publish", "clinic", "february.csv", "--json")
    assert ran.data["changes"]["gone"] == 4
    assert ran.data["committed"] is True

    before = sorted(path.name for path in (files / "clinic").rglob("*"))
    again = ("--allow", "same-state", "--reason", "so it is here")
    ran = run("publish", "clinic", "january.csv", "--dry-run", "--json", "--policy", "policy.toml", *again)
    assert ran.data["number"] == 3
    assert sorted(path.name for path in (files / "clinic").rglob("*")) == before

    assert "Mondrian" in run("log", "clinic").out
    assert [release["number"] for release in run("log", "clinic", "--json").data["releases"]] == [1, 2]
    verified = run("log", "clinic", "--verify", "--json").data
    assert verified == run("verify", "clinic", "--json").data
    assert (verified["intact"], verified["findings"], verified["releases"]) == (True, [], 2)

    ran = run("show", "clinic", 1, "--rows", 2, "--json")
    assert len(ran.data["tables"]["table"]) == 2
    assert "unprotected" in run("show", "clinic").out

    ran = run("utility", "clinic", "--queries", 50, "--seed", 1, "--json")
    assert ran.data["number"] == 2
    assert "without the link" in ran.data["sentence"] or "marginals" in ran.data["sentence"]
    assert "information loss" in run("utility", "clinic", 1, "--queries", 0).out

    ran = run("export", "clinic", "out", 1)
    assert ran.code == 0
    exported = pl.read_csv(files / "out" / "table.csv")
    with ri.open(files / "clinic") as series:
        assert exported.rows() == series.release(1).tables["table"].rows()
    assert run("export", "clinic", "out", 1).code == 2
    assert run("export", "clinic", "out", 1, "--force", "--format", "parquet").code == 0
    copied = (files / "out" / "table.parquet").read_bytes()
    assert copied == (files / "clinic" / "public" / "0001" / "table.parquet").read_bytes()


def test_a_changed_byte_is_found_and_named(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    table = files / "clinic" / "public" / "0001" / "table.parquet"
    content = bytearray(table.read_bytes())
    content[100] ^= 1
    table.write_bytes(content)
    ran = run("log", "clinic", "--verify")
    assert ran.code == 3
    assert "public/0001/table.parquet" in ran.out


def test_refusals_exit_with_1_and_mistakes_with_2(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "Next step" in ran.err
    strict = (files / "policy.toml").read_text().replace("k = 3", "k = 300")
    (files / "strict.toml").write_text(strict)
    ran = run("publish", "clinic", "january.csv", "--policy", "strict.toml", "--dry-run", "--json")
    assert ran.code == 1
    assert ran.data["error"]["kind"] == "Infeasible"
    assert ran.data["error"]["next_step"]
    once = (files / "policy.toml").read_text().replace('series = "unprotected"', 'series = "protected"')
    (files / "once.toml").write_text(once)
    assert run("publish", "ward", "january.csv", "--policy", "once.toml").code == 0
    ran = run("publish", "ward", "february.csv")
    assert ran.code == 1
    assert "Refused" in ran.err
    assert run("publish", "new", "nothing.csv", "--policy", "policy.toml").code == 2
    assert run("publish").code == 2
    assert run("utility", "ward", 7).code == 2
    assert run("show", "nowhere").code == 2


def test_values_are_quoted_only_when_asked_for(run: Run, files: Path, patients: pl.DataFrame) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    patients.with_columns(pl.col("diagnosis").replace("flu", "plague")).write_csv(files / "march.csv")
    assert "plague" not in run("publish", "clinic", "march.csv").err
    assert "plague" in run("publish", "clinic", "march.csv", "--show-values").err


def test_a_given_seed_is_warned_about_beside_the_output(run: Run, files: Path) -> None:
    warning = "Warning: a seed was given: whoever knows or guesses it can redo the random choices"
    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml", "--json")
    assert ran.err == ""
    assert ran.data["randomness"] == {"generator": "ChaCha20", "seed_given": False}
    assert "seed" not in run("log", "clinic").out
    for dry in (["--dry-run"], []):
        ran = run("publish", "clinic", "february.csv", "--seed", 4, "--json", *dry)
        assert ran.code == 0
        assert ran.err.startswith(warning)
        assert ran.err.count("\n") == 1
        assert ran.data["randomness"] == {"generator": "ChaCha20", "seed_given": True}
        assert ran.data["notes"][0].startswith("a seed was given")
    ran = run(
        "publish", "clinic", "january.csv", "--seed", 2**256 - 1, "--allow", "same-state", "--reason", "so it is here"
    )
    assert ran.code == 0
    assert ran.err.startswith(warning)
    assert "a seed was given" not in ran.out
    assert "made with a given seed, as for a rehearsal or a test: 2, 3" in run("log", "clinic").out
    assert run("publish", "clinic", "january.csv", "--seed", 2**256).code == 2


def test_amend_records_a_reason(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    (files / "new.toml").write_text((files / "policy.toml").read_text().replace("k = 3", "k = 4"))
    assert run("publish", "clinic", "february.csv", "--policy", "new.toml").code == 2
    ran = run("amend", "clinic", "--policy", "new.toml", "--reason", "larger groups", "--json")
    assert ran.data["differences"] == ["method.k"]
    assert run("publish", "clinic", "february.csv", "--policy", "new.toml").code == 0
    assert "larger groups" in run("log", "clinic").out
    edited = files / "clinic" / "policy.toml"
    edited.write_text(edited.read_text().replace("k = 4", "k = 5"))
    assert run("publish", "clinic", "february.csv").code == 2
    assert run("amend", "clinic", "--reason", "larger still").code == 0
    assert run("publish", "clinic", "february.csv").code == 1, "the same state once more"
    assert run("publish", "clinic", "february.csv", "--allow", "same-state", "--reason", "so it is here").code == 0


def test_brackets_in_names_are_shown_as_they_are(run: Run, files: Path) -> None:
    run("publish", "a[red]b", "january.csv", "--policy", "policy.toml")
    assert "a[red]b" in run("log", "a[red]b").out
    assert "a[red]b" in run("log", "a[red]b", "--verify").out
    assert "[people]" in run("key", "k[1].key").out


def test_dates_in_a_csv_file_can_be_numeric(run: Run, tmp_path: Path, patients: pl.DataFrame) -> None:
    born = pl.date(1950, 1, 1) + pl.duration(days=pl.int_range(pl.len()) * 300)
    patients.with_columns(born.alias("born")).drop("age").write_csv(tmp_path / "t.csv")
    assert run("init", "t.csv").code == 0
    assert run("publish", "s", "t.csv", "--policy", "policy.toml").code == 0
    with ri.open(tmp_path / "s") as series:
        assert series.release(1).tables["table"]["born_low"].dtype == pl.Date


def test_forget_reads_the_id_from_standard_input(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    ran = run("forget", "clinic", "--yes", stdin="p07\n")
    assert ran.code == 0
    assert "p07" not in ran.out + ran.err
    with ri.open(files / "clinic") as series:
        assert "p07" not in series.private.members(1)["person"].to_list()
    assert run("forget", "clinic", "--yes", stdin="p07\n").code == 2


def test_hashed_ids_end_to_end(run: Run, files: Path) -> None:
    assert run("key", "clinic.key").code == 0
    assert run("key", "clinic.key").code == 2
    hashed = (files / "policy.toml").read_text().replace('ids = "plain"', 'ids = "hashed"\nkey_file = "clinic.key"')
    (files / "hashed.toml").write_text(hashed)
    assert run("publish", "clinic", "january.csv", "--policy", "hashed.toml").code == 0
    assert run("publish", "clinic", "february.csv", "--json").data["changes"]["stayed"] == 20
    assert run("forget", "clinic", "--yes", stdin="p07\n").code == 0


def test_datasets_are_listed_and_written(run: Run, tmp_path: Path) -> None:
    names = [entry["name"] for entry in run("datasets", "--json").data]
    assert {"census", "adult"} <= set(names)
    assert "census" in run("datasets").out
    assert run("datasets", "census", "--rows", 50, "--seed", 1, "--out", "c.csv").code == 0
    assert pl.read_csv(tmp_path / "c.csv").height == 50
    assert run("datasets", "census", "--rows", 50).code == 2
    assert run("datasets", "cencus", "--rows", 50, "--out", "d.parquet").code == 2


def test_demo_shows_the_leak_and_leaves_a_page(run: Run, tmp_path: Path) -> None:
    ran = run("demo", "try", "--months", 3, "--patients", 240)
    assert ran.code == 0
    assert "How it happens" in ran.out
    assert len(ran.out.splitlines()) <= 16
    page = (tmp_path / "try" / "demo.html").read_text()
    assert "<svg" in page
    assert "<script" not in page and "http://" not in page and "https://" not in page, "the page works offline"
    assert run("demo", "try").code == 2
    told = run("demo", "again", "--months", 2, "--patients", 240, "--json").data
    assert told["page"].endswith("again/demo.html")
    exposure = told["ways"][0]["exposure"]
    assert exposure[0]["certain"] == 0
    assert exposure[1]["certain"] > 0
    shared = set.intersection(*(set(stop["diagnoses"]) for stop in told["patient"]["ways"][0]))
    assert shared == {told["patient"]["diagnosis"]}
    table = pl.read_csv(tmp_path / "again" / "month-1.csv")
    truth = dict(table.select("patient", "diagnosis").rows())
    assert truth[told["patient"]["patient"]] == told["patient"]["diagnosis"]
    assert run("demo", "other", "--patients", 100).code == 2


def test_every_command_has_help_with_an_example_and_json(run: Run) -> None:
    from reissue.cli import app

    names = [command.callback.__name__.replace("_", "-") for command in app.registered_commands if command.callback]
    assert {"init", "publish", "log", "show", "utility", "export", "demo", "datasets"} <= set(names)
    for name in names:
        text = run(name, "--help").out
        assert "Example" in text, name
        assert f"reissue {name}" in text, name
        assert "--json" in text, name
    assert run("--version").out.strip() == f"reissue {ri.__version__}"


def test_forgetting_several_is_all_or_none(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    assert run("forget", "clinic", "--yes", stdin="\ufeffp01\r\np02\r\nnobody\n").code == 2
    with ri.open(files / "clinic") as series:
        assert series.private.members(1)["person"].null_count() == 0
    assert run("forget", "clinic", "--yes", "--json", stdin="\ufeffp01\r\np02\r\n\n").data == {"forgotten": 2}
    with ri.open(files / "clinic") as series:
        assert series.private.members(1)["person"].null_count() == 2


def test_forged_public_files_are_neither_shown_nor_exported(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    table = files / "clinic" / "public" / "0001" / "table.parquet"
    pl.read_parquet(table).with_columns(pl.lit("forged").alias("diagnosis")).write_parquet(table)
    for command in (
        ("show", "clinic"),
        ("export", "clinic", "out"),
        ("export", "clinic", "out", "--format", "parquet"),
    ):
        ran = run(*command)
        assert ran.code == 3
        assert "not as they were committed" in ran.err
        assert "public/0001/table.parquet" in ran.err
    assert not (files / "out").exists()


def test_a_first_publish_that_fails_makes_nothing(run: Run, files: Path) -> None:
    (files / "strict.toml").write_text((files / "policy.toml").read_text().replace("k = 3", "k = 300"))
    assert run("publish", "clinic", "january.csv", "--policy", "strict.toml").code == 1
    assert run("publish", "clinic", "nope.csv", "--policy", "policy.toml").code == 2
    assert not (files / "clinic").exists()
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0


def test_only_iso_dates_are_taken_for_dates(run: Run, files: Path, patients: pl.DataFrame) -> None:
    (files / "p.toml").write_text((files / "policy.toml").read_text().replace("schema.quasi.age", "schema.quasi.born"))
    shapes = {"%d.%m.%y": 2, "%m/%d/%Y": 2, "%Y/%m/%d": 2, "%Y-%m-%d": 0, "%Y-%m-%d %H:%M": 0, "%Y-%m-%dT%H:%M:%S": 0}
    born = pl.datetime(1950, 1, 1) + pl.duration(days=pl.int_range(pl.len()) * 300)
    for turn, (shape, code) in enumerate(shapes.items()):
        patients.with_columns(born.dt.strftime(shape).alias("born")).drop("age").write_csv(files / "t.csv")
        ran = run("publish", f"s{turn}", "t.csv", "--policy", "p.toml")
        assert ran.code == code, shape
        assert code == 0 or "column 'born': holds text" in ran.err


def test_exports_stay_out_of_the_series(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    assert run("export", "clinic", "clinic/public/0009").code == 2
    assert run("log", "clinic", "--verify").code == 0


def test_init_keeps_identifiers_out(run: Run, files: Path) -> None:
    table = pl.DataFrame(
        {
            "email": [f"{n}@x" for n in range(150)],
            "nr": [f"{n:06}" for n in range(150)],
            "phone": [60_000 + n * 7 for n in range(150)],
            "plz": [f"0200{n % 9}" for n in range(150)],
            "age": [n % 40 for n in range(150)],
            "diagnosis": ["flu", "cold"] * 75,
            "salary": [n % 7 for n in range(150)],
        }
    )
    table.write_csv(files / "t.csv")
    guesses = {g["column"]: g["role"] for g in run("init", "t.csv", "--out", "g.toml", "--json").data["guesses"]}
    assert guesses == {
        "email": "drop", "nr": "person", "phone": "drop", "plz": "quasi", "age": "quasi", "diagnosis": "sensitive",
        "salary": "drop",
    }  # fmt: skip
    plz = ri.Policy.read(files / "g.toml").schema.quasi["plz"]
    assert isinstance(plz, ri.Hierarchy)
    assert plz.ancestors("02003")[:2] == ("0200*", "020**")


def test_init_says_loudly_what_looks_sensitive_and_is_left_out(run: Run, files: Path) -> None:
    table = pl.DataFrame(
        {"nr": range(150), "age": [n % 40 for n in range(150)], "diagnosis": ["flu", "cold"] * 75,
         "salary": [n % 7 for n in range(150)]}
    )  # fmt: skip
    table.write_csv(files / "t.csv")
    ran = run("init", "t.csv", "--out", "g.toml", "--yes")
    assert ran.code == 0
    assert "Warning: 1 column that looks sensitive is NOT published" in ran.err
    assert "'salary'" in ran.err
    data = run("init", "t.csv", "--out", "g.toml", "--force", "--json").data
    assert data["not_published"] == ["salary"]
    assert {"guesses", "method", "assumptions", "notes", "hierarchies"} <= data.keys()
    assert {guess["confidence"] for guess in data["guesses"]} <= {"high", "medium", "low"}


def test_init_replaces_nothing_unasked(run: Run, files: Path) -> None:
    assert run("init", "january.csv", "--out", "g.toml").code == 0
    before = (files / "g.toml").read_text()
    assert run("init", "january.csv", "--out", "g.toml").code == 2
    hierarchies = sorted(files.glob("g.*.csv"))
    assert hierarchies
    (files / "g.toml").unlink()
    ran = run("init", "january.csv", "--out", "g.toml")
    assert ran.code == 2
    assert hierarchies[0].name in ran.err
    assert not (files / "g.toml").exists()
    assert run("init", "january.csv", "--out", "g.toml", "--force").code == 0
    assert (files / "g.toml").read_text() == before


def test_amending_nothing_and_wrong_keys_are_refused(run: Run, files: Path) -> None:
    run("key", "right.key")
    run("key", "wrong.key")
    text = (files / "policy.toml").read_text()
    for name in ("right", "wrong"):
        hashed = text.replace('ids = "plain"', f'ids = "hashed"\nkey_file = "{name}.key"')
        (files / f"{name}.toml").write_text(hashed)
    assert run("publish", "clinic", "january.csv", "--policy", "right.toml").code == 0
    assert run("amend", "clinic", "--policy", "right.toml", "--reason", "none").code == 2
    assert run("amend", "clinic", "--policy", "wrong.toml", "--reason", "none").code == 2
    assert run("publish", "clinic", "february.csv").code == 0


def test_an_unchanged_table_is_refused_until_somebody_says_why(run: Run, files: Path) -> None:
    run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    for dry in (["--dry-run"], []):
        ran = run("publish", "clinic", "january.csv", *dry)
        assert ran.code == 1
        assert ran.err.startswith("Refused: 1 check before the commit failed. Nothing was published.")
        assert "same-state: nothing in the table differs from that of release 1" in ran.err
        assert "--allow same-state" in ran.err
    told = run("publish", "clinic", "january.csv", "--json").data["error"]
    assert told["kind"] == "ChecksFailed" and len(told["problems"]) == 1
    assert run("publish", "clinic", "january.csv", "--allow", "same-state").code == 2
    assert (
        "did you mean 'same-state'"
        in run("publish", "clinic", "january.csv", "--allow", "same_state", "--reason", "x").err
    )
    why = "nobody came and nobody left"
    ran = run("publish", "clinic", "january.csv", "--allow", "same-state", "--allow", "withheld", "--reason", why)
    assert ran.code == 0
    assert "allowed same-state: nothing in the table differs" in ran.out and f"Why: {why}" in ran.out
    assert "'withheld' was allowed, and did not fail" in ran.out
    log = run("log", "clinic").out
    assert "Checks that failed and were allowed (private)" in log and why in log
    assert "same-state in release 2" in log
    assert why in run("show", "clinic").out and why not in run("show", "clinic", "1").out
    assert run("log", "clinic", "--json").data["releases"][1]["summary"]["checks"]["reason"] == why
    assert why not in json.dumps(run("show", "clinic", "--json").data)


def test_what_should_not_happen_is_told_without_data(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ValueError("CANARY")

    monkeypatch.setattr("reissue.publishing.drafting.code_table", fail)
    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    assert ran.code == 2
    assert "ValueError" in ran.err
    assert "CANARY" not in ran.err + ran.out


def test_a_dry_run_leaves_a_series_without_releases_as_it_is(run: Run, files: Path, policy: ri.Policy) -> None:
    """A policy that replaces the first one is recorded with the first release, not by looking."""
    ri.open(files / "clinic", ri.Policy(policy.schema, ri.Mondrian(k=9), series="unprotected")).close()
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml", "--dry-run").code == 0
    assert len(run("log", "clinic", "--json").data["policies"]) == 1
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    log = run("log", "clinic", "--json").data
    assert [entry["version"] for entry in log["policies"]] == [1, 2]
    assert log["releases"][0]["policy_version"] == 2
    assert log["releases"][0]["method"]["k"] == 3


def test_a_reader_who_has_seen_enough_is_no_refusal(files: Path) -> None:
    """Exit code 1 means that nothing was published; this was."""
    command = [sys.executable, "-c", "from reissue.cli import main; main()", "publish", "clinic", "january.csv"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        ended = subprocess.run([*command, "--policy", "policy.toml"], stdout=closed, cwd=files, check=False)
    assert ended.returncode == 0
    assert (files / "clinic" / "public" / "0001").is_dir()


def test_people_held_back_are_shown_on_request(run: Run, files: Path) -> None:
    table = pl.DataFrame({"patient": ["a", "b", "c", "d"], "age": [1, 2, 3, 4], "diagnosis": ["w", "x", "y", "z"]})
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive="diagnosis")
    (files / "protected.toml").write_text(ri.Policy(schema, ri.MInvariance(4)).to_toml())
    table.write_csv(files / "one.csv")
    table.vstack(table[:1].with_columns(patient=pl.lit("e"))).write_csv(files / "two.csv")
    assert run("publish", "ward", "one.csv", "--policy", "protected.toml").code == 0
    assert "nobody was withheld" in run("show", "ward", "--held-back").out
    assert run("publish", "ward", "two.csv").code == 0
    logged = run("log", "ward").out
    assert "counterfeits" in logged
    assert run("show", "ward", "--held-back", "--json").data == {"number": 2, "held_back": []}


def test_forgetting_counts_people_and_says_what_is_wrong_with_ids(run: Run, files: Path) -> None:
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    ran = run("forget", "clinic", "--yes", stdin="\n")
    assert ran.code == 2 and "No id was given" in ran.err and "Next step: " in ran.err
    ran = run("forget", "clinic", "--yes", stdin="nobody\n")
    assert ran.code == 2 and "The id given is not in the series" in ran.err and "Next step: " in ran.err
    ran = run("forget", "clinic", "--yes", stdin="nobody\np01\n")
    assert ran.code == 2 and "1 of the 2 ids given is not in the series" in ran.err
    assert "nobody" not in ran.err
    assert "1 id gone" in run("forget", "clinic", "--yes", stdin="p01\np01\n").out
