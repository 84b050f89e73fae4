"""verify, backup, restore and resume as a user meets them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.ledger.anchor import STATE

Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path, patients: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of three months and policy.toml in the current folder, and a state folder of this test's own."""
    monkeypatch.setenv(STATE, str(tmp_path / "state"))
    for month, table in {"january": patients, "february": patients.tail(20), "march": patients.head(21)}.items():
        table.write_csv(tmp_path / f"{month}.csv")
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="diagnosis")
    (tmp_path / "policy.toml").write_text(ri.Policy(schema, ri.MInvariance(m=2)).to_toml())
    return tmp_path


@pytest.fixture
def clinic(run: Run, files: Path) -> Path:
    """A series with two releases."""
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    assert run("publish", "clinic", "february.csv").code == 0
    return files / "clinic"


def test_the_head_is_printed_and_can_be_checked(run: Run, files: Path) -> None:
    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    first = ran.out.splitlines()[-1]
    assert first.startswith("head 2:")
    second = run("publish", "clinic", "february.csv", "--json").data["head"]
    assert second.startswith("3:")
    assert run("publish", "clinic", "march.csv", "--dry-run").out.count("head ") == 0
    assert run("log", "clinic").out.splitlines()[-1] == f"head {second}"
    assert run("log", "clinic", "--json").data["head"] == second
    assert ri.open(files / "clinic").head == second
    ran = run("verify", "clinic", "--expect", first.removeprefix("head "))
    assert ran.code == 0
    assert ran.out.startswith("intact ") and ran.out.splitlines()[-1] == f"head {second}"
    assert run("verify", "clinic", "--expect", second.partition(":")[2][:16], "--json").data["intact"] is True
    ran = run("verify", "clinic", "--expect", f"2:{second.partition(':')[2]}", "--json")
    assert ran.code == 3
    assert ran.data["findings"] == [{"file": "private/catalog.sqlite", "problem": "link 2 has another head"}]
    assert run("verify", "clinic", "--expect", "soon").code == 2
    assert run("verify", "nowhere").code == 2


def test_public_files_alone(run: Run, clinic: Path) -> None:
    shutil.copytree(clinic / "public", "received")
    assert "every file of received (2 releases)" in run("verify", "received").out
    ran = run("verify", "received/0002", "--json")
    assert (ran.code, ran.data["kind"], ran.data["releases"]) == (0, "release", 1)
    table = Path("received/0001/table.parquet")
    table.write_bytes(table.read_bytes() + b"x")
    ran = run("verify", "received")
    assert ran.code == 3
    assert "received/0001/table.parquet" in ran.out
    assert run("export", "clinic", "sent", 2, "--format", "parquet").code == 0
    assert run("verify", "sent").code == 0


def test_an_older_copy_is_found_by_verify(run: Run, clinic: Path) -> None:
    shutil.copytree(clinic, "older")
    assert run("publish", "clinic", "march.csv").code == 0
    assert run("verify", "clinic").code == 0
    ran = run("verify", "older", "--json")
    assert (ran.code, ran.data["intact"]) == (3, False)
    (finding,) = ran.data["findings"]
    assert finding["file"].startswith(str(clinic.parent / "state"))
    assert "does not go on from its anchor" in finding["problem"]


def test_an_older_copy_is_refused_and_goes_on_when_it_is_said_how(run: Run, clinic: Path) -> None:
    """The field report's older copy: used again, it would have made another release 3."""
    shutil.copytree(clinic, "older")
    assert run("publish", "clinic", "march.csv").code == 0
    ran = run("publish", "older", "january.csv")
    assert ran.code == 3
    assert "does not go on from its anchor" in ran.err and "releases up to 3" in ran.err
    assert not Path("older/public/0003").exists()
    # It cannot be said that release 2 is the last one out: the anchor knows better.
    assert "the anchor" in run("resume", "older", "--out", 2, "--reason", "x").err
    assert "release 3 is not given" in run("resume", "older", "--out", 3, "--reason", "x").err
    ran = run("resume", "older", "--out", 3, "--release", "clinic/public/0003", "--reason", "the newer folder burnt")
    assert ran.code == 0, ran.err
    assert "nobody here knows who is in release 3: the series is unprotected from now on" in ran.out
    assert run("verify", "older").code == 0
    again = ("--allow", "same-state", "--reason", "so it is here")
    ran = run("publish", "older", "january.csv", "--json", *again)
    assert (ran.code, ran.data["number"]) == (0, 4)
    # The other folder is now the one that does not go on.
    assert run("publish", "clinic", "january.csv").code == 3


def test_with_an_anchor_in_the_policy_also_without_the_state_folder_of_the_user(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ri.Policy.read(files / "policy.toml").to_dict() | {"anchor": str(files / "safe" / "clinic.anchor")}
    (files / "safe").mkdir()
    import tomli_w

    (files / "policy.toml").write_text(tomli_w.dumps(policy))
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    assert run("publish", "clinic", "february.csv").code == 0
    shutil.copytree("clinic", "older")
    assert run("publish", "clinic", "march.csv").code == 0
    monkeypatch.setenv(STATE, str(files / "somebody else"))
    ran = run("publish", "older", "january.csv")
    assert ran.code == 3 and "clinic.anchor" in ran.err
    assert run("verify", "older").code == 3
    (files / "safe" / "clinic.anchor").unlink()
    ran = run("publish", "clinic", "january.csv")
    assert ran.code == 3 and "has no anchor" in ran.err
    assert run("resume", "clinic").code == 3
    assert run("resume", "clinic", "--out", 3, "--reason", "the anchor was deleted").code == 0
    assert run("publish", "clinic", "january.csv", "--allow", "same-state", "--reason", "so it is here").code == 0


def test_without_any_anchor_an_older_copy_is_not_noticed_and_that_is_said(
    run: Run, clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE, str(clinic.parent / "another"))
    ran = run("verify", "clinic")
    assert ran.code == 0
    assert "No anchor of this series was found" in ran.out
    ran = run("publish", "clinic", "march.csv")
    assert ran.code == 0
    assert "One is kept there from now on" in ran.err
    assert "No anchor" not in run("verify", "clinic").out


def test_backup_restore_resume_publish(run: Run, clinic: Path) -> None:
    ran = run("backup", "clinic", "clinic.tar")
    assert ran.code == 0
    assert ran.out.startswith("copied clinic to clinic.tar (2 releases, ")
    head = ran.out.splitlines()[-1].removeprefix("head ")
    assert run("backup", "clinic", "clinic.tar").code == 2
    assert run("backup", "clinic", "clinic.tar", "--force", "--json").data["head"] == head
    assert run("backup", "clinic", "clinic/inside.tar").code == 2
    assert Path("clinic.tar").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in Path().glob("clinic.tar*")) == ["clinic.tar"]
    ran = run("restore", "clinic.tar", "restored")
    assert ran.code == 0
    assert ran.out.startswith("restored restored with 2 releases, verified")
    assert run("restore", "clinic.tar", "restored").code == 2
    assert run("restore", "january.csv", "other").code == 2 and not Path("other").exists()
    assert run("restore", "nothing.tar", "other").code == 2
    assert run("verify", "restored", "--expect", head).code == 0
    assert "was restored from a backup" in run("verify", "restored").out
    assert "restored" in run("log", "restored").out
    assert run("show", "restored", 2).code == 0
    ran = run("publish", "restored", "march.csv")
    assert ran.code == 3 and "was restored from a backup" in ran.err
    assert run("resume", "restored").code == 3
    assert run("resume", "restored", "--out", 2).code == 2
    assert run("resume", "restored", "--out", 1, "--reason", "x").code == 2
    ran = run("resume", "restored", "--out", 2, "--reason", "the disk failed", "--json")
    assert ran.data["releases"] == 2 and ran.data["lost"] == [] and ran.data["series"] == "protected"
    assert run("publish", "restored", "march.csv").code == 0
    assert "the disk failed" in run("log", "restored").out
    assert run("verify", "restored").code == 0


def test_resume_without_a_word_finishes_and_records_a_reason(run: Run, clinic: Path) -> None:
    before = run("log", "clinic", "--json").data
    assert run("resume", "clinic").code == 0
    assert run("log", "clinic", "--json").data == before
    assert run("resume", "clinic", "--reason", "looked after it").code == 0
    assert "looked after it" in run("log", "clinic").out
    assert run("resume", "clinic", "--release", "clinic/public/0001").code == 2


def test_whoever_only_reads_an_older_or_restored_copy_is_told_so(run: Run, clinic: Path) -> None:
    assert run("backup", "clinic", "kept.tar").code == 0
    good = Path("kept.tar").read_bytes()
    shutil.copytree(clinic, "older")
    assert run("publish", "clinic", "march.csv").code == 0
    assert run("restore", "kept.tar", "restored").code == 0
    for folder, why in {"older": "does not go on from its anchor", "restored": "was restored from a backup"}.items():
        ran = run("publish", folder, "march.csv", "--dry-run")
        assert ran.code == 3 and why in ran.err
        ran = run("backup", folder, "kept.tar", "--force")
        assert ran.code == 3 and "was not backed up" in ran.err and why in ran.err
        assert Path("kept.tar").read_bytes() == good
        for command in (("log", folder), ("show", folder, 1), ("audit", folder), ("utility", folder)):
            ran = run(*command, "--json")
            assert ran.code in (0, 1) and ran.data
            assert ran.err.count("note ") == 1 and why in ran.err, command
        assert why in run("export", folder, f"from {folder}").err
    for command in (("log", "clinic"), ("show", "clinic"), ("backup", "clinic", "kept.tar", "--force")):
        ran = run(*command)
        assert (ran.code, ran.err) == (0, "")
    assert (
        run("publish", "clinic", "march.csv", "--dry-run", "--allow", "same-state", "--reason", "so it is here").code
        == 0
    )


def test_the_folder_of_a_release_that_somebody_removed_is_damage(run: Run, clinic: Path) -> None:
    """It is not one that still waits for its move: nothing would ever bring it back."""
    (clinic / "public" / "0001").rename("elsewhere")
    assert "public/0001" in run("log", "clinic").err
    for command in (
        ("publish", "clinic", "march.csv"),
        ("publish", "clinic", "march.csv", "--dry-run"),
        ("resume", "clinic"),
        ("resume", "clinic", "--out", 2, "--reason", "x"),
    ):
        ran = run(*command)
        assert ran.code == 3 and "public/0001" in ran.err, command
        assert "not in public/ yet" not in ran.err
    assert not (clinic / "public" / "0003").exists()
    Path("elsewhere").rename(clinic / "public" / "0001")
    assert run("publish", "clinic", "march.csv").code == 0


def flipped(path: Path) -> None:
    """Change the last byte of a file."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def test_resume_gives_no_clean_bill_to_a_damaged_series(run: Run, clinic: Path) -> None:
    assert "everything in it is as it was written" in run("resume", "clinic").out
    table = max((clinic / "private" / "blobs").iterdir(), key=lambda path: path.stat().st_size)
    flipped(table)
    ran = run("resume", "clinic")
    assert ran.code == 3
    assert "but is damaged" in ran.out and f"private/blobs/{table.name}: " in ran.out
    assert "Next step: " in ran.err
    ran = run("resume", "clinic", "--json")
    assert (ran.code, ran.data["intact"]) == (3, False)
    assert ran.data["findings"][0]["file"] == f"private/blobs/{table.name}"
    flipped(table)
    with (clinic / "policy.toml").open("a") as policy:
        policy.write("# note\n")
    ran = run("resume", "clinic", "--out", 2, "--reason", "x")
    assert ran.code == 3 and "policy.toml: it is not the recorded policy" in ran.out


def test_paths_are_whole_on_a_narrow_terminal(run: Run, clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table = next((clinic / "private" / "blobs").iterdir())
    flipped(table)
    ran = run("verify", "clinic")
    assert ran.code == 3
    assert f"private/blobs/{table.name}: its bytes have changed" in ran.out
    assert ran.err.startswith("Next step: ") and "how-to/damage" in ran.err


def test_a_package_is_verified_as_it_was_sent(run: Run, clinic: Path) -> None:
    assert run("export", "clinic", "sent").code == 0
    ran = run("verify", "sent")
    assert ran.code == 0
    assert ran.out.startswith("intact every file of sent (1 release) is as it was sent")
    assert "rests on whoever made the package" in ran.out
    data = run("verify", "sent", "--json").data
    assert (data["intact"], data["kind"], data["releases"], data["findings"]) == (True, "export", 1, [])
    # Where a release is to be taken in, its own files are needed.
    ran = run("resume", "clinic", "--out", 2, "--release", "sent", "--reason", "x")
    assert ran.code == 2 and "is not as its record says" in ran.err
    table = Path("sent/table.csv")
    table.write_bytes(table.read_bytes() + b"x")
    ran = run("verify", "sent")
    assert ran.code == 3 and "sent/table.csv: its bytes have changed since it was sent" in ran.out
    assert "rests on whoever" not in ran.out


def test_a_package_of_parquet_files_can_be_taken_in(run: Run, clinic: Path) -> None:
    shutil.copytree("clinic", "older")
    assert run("publish", "clinic", "march.csv").code == 0
    assert run("export", "clinic", "sent", 3, "--format", "parquet").code == 0
    assert run("resume", "older", "--out", 3, "--release", "sent", "--reason", "an older copy").code == 0
    assert run("verify", "older").code == 0
    Path("sent/letter.txt").touch()
    assert run("export", "sent", "again", "--format", "excel").code == 3


def test_what_an_older_version_exported_as_csv_is_not_damaged_and_not_intact_either(run: Run, clinic: Path) -> None:
    assert run("export", "clinic", "whole").code == 0
    Path("sent").mkdir()
    for name in ("table.csv", "release.json"):
        Path("whole", name).rename(Path("sent", name))
    ran = run("verify", "sent")
    assert ran.code == 0
    assert (
        ran.out.startswith("checked the record of sent, not its tables") and "are those of the Parquet files" in ran.out
    )
    assert "intact" not in ran.out
    data = run("verify", "sent", "--json").data
    assert (data["intact"], data["kind"], data["releases"], data["findings"]) == (None, "csv", 1, [])
    Path("sent/notes.txt").touch()
    assert "sent/notes.txt: it does not belong to the release" in run("verify", "sent").out
    Path("sent/notes.txt").unlink()
    record = Path("sent/release.json")
    record.write_text(record.read_text().replace('"rows":', '"rowz":', 1))
    ran = run("verify", "sent")
    assert ran.code == 3 and "its chain does not fit its content" in ran.out


def test_releases_are_counted_though_the_catalog_is_broken(run: Run, clinic: Path) -> None:
    (clinic / "private" / "catalog.sqlite").write_bytes(b"no database at all" * 1000)
    ran = run("verify", "clinic", "--json")
    assert (ran.code, ran.data["releases"]) == (3, 2)


def test_the_log_knows_nothing_of_who_was_withheld_from_a_lost_release(run: Run, files: Path) -> None:
    table = pl.read_csv("january.csv")
    table.filter(pl.col("diagnosis") != table["diagnosis"][0]).write_csv("february.csv")
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    allowed = ("--allow", "counterfeit", "--reason", "so it is here")
    assert run("publish", "clinic", "february.csv", "--json", *allowed).data["counterfeits"] > 0
    shutil.copytree("clinic", "older")
    assert run("publish", "clinic", "march.csv").code == 0
    assert run("resume", "older", "--out", 3, "--release", "clinic/public/0003", "--reason", "x").code == 0
    out = run("log", "older").out
    assert "Counterfeits and withheld people" in out
    table_of_them = out.partition("Counterfeits and")[2].partition("Versions of")[0]
    assert "│3│-│-│-│" in table_of_them.replace(" ", "")


def test_a_missing_policy_is_called_missing_and_can_be_had_back(run: Run, clinic: Path) -> None:
    policy = clinic / "policy.toml"
    before = policy.read_bytes()
    policy.unlink()
    ran = run("publish", "clinic", "march.csv")
    assert ran.code == 2 and "policy.toml in 'clinic' is missing" in ran.err and "reissue log" in ran.err
    assert "policy.toml: it is missing" in run("verify", "clinic").out
    ran = run("log", "clinic", "--policy")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.encode() == before
    data = run("log", "clinic", "--policy", "--json").data
    assert (data["version"], data["toml"].encode()) == (1, before)
    policy.write_text(ran.out)
    assert run("publish", "clinic", "march.csv").code == 0


def test_files_where_folders_are_asked_for(run: Run, clinic: Path) -> None:
    assert run("backup", "clinic", "kept.tar").code == 0
    for command, words in {
        ("verify", "january.csv"): "is a file, not a folder",
        ("verify", "kept.tar"): "reissue restore kept.tar",
        ("restore", "january.csv", "new"): "is not a backup of a series",
        ("restore", "nowhere.tar", "new"): "is not there",
        ("restore", "clinic", "new"): "is a folder",
        ("backup", "clinic", "nowhere/kept.tar"): "There is no folder 'nowhere'",
    }.items():
        ran = run(*command)
        assert ran.code == 2 and words in ran.err, (command, ran.err)
        assert "disk" not in ran.err and "damaged" not in ran.err
    assert not Path("new").exists() and not Path("nowhere").exists()
    Path("kept.tar").write_bytes(Path("kept.tar").read_bytes()[:-4000])
    ran = run("restore", "kept.tar", "new")
    assert ran.code == 3 and "The backup is damaged" in ran.err


def test_nothing_is_left_where_the_anchor_has_no_folder(run: Run, files: Path) -> None:
    text = Path("policy.toml").read_text()
    Path("policy.toml").write_text(f'anchor = "{files}/safe/clinic.anchor"\n{text}')
    ran = run("publish", "clinic", "january.csv", "--policy", "policy.toml")
    assert ran.code == 2 and "There is no folder" in ran.err and "make the folder" in ran.err
    assert not Path("clinic").exists()
    Path("safe").mkdir()
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    shutil.move("safe", "moved")
    ran = run("publish", "clinic", "february.csv")
    assert ran.code == 3 and "has no anchor" in ran.err
