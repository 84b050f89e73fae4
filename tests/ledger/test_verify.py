"""Whatever is changed, verify finds it and names the file; and it changes nothing itself."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from ledger_story import copied, entry, files_under, opened, reseal
from profiles import examples

from reissue.ledger import Discrepancy, verify
from reissue.ledger.record import chain_value


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def named(folder: Path) -> set[str]:
    return {finding.file for finding in verify(folder)}


def test_nothing_is_changed_by_looking(clinic: Path) -> None:
    times = {path: path.stat().st_mtime_ns for path in clinic.rglob("*")}
    before = files_under(clinic)
    assert verify(clinic) == []
    assert files_under(clinic) == before
    assert {path: path.stat().st_mtime_ns for path in clinic.rglob("*")} == times
    with opened(clinic) as ledger:
        assert ledger.verify() == []


@examples(30, HealthCheck.function_scoped_fixture)
@given(data=st.data())
def test_one_flipped_bit_anywhere(base: Path, data: st.DataObject) -> None:
    folders = [base / "public", base / "private" / "blobs"]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(paths), label="file")
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content) - 1), label="byte")
    flipped = content[place] ^ (1 << data.draw(st.integers(0, 7), label="bit"))
    try:
        path.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
        assert named(base) == {path.relative_to(base).as_posix()}
    finally:
        path.write_bytes(content)


def test_every_byte_of_a_release_json(clinic: Path) -> None:
    path = clinic / "public" / "0001" / "release.json"
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert named(clinic) == {"public/0001/release.json"}
    for other in (content[:-1], content + b"\n", b""):
        path.write_bytes(other)
        assert named(clinic) == {"public/0001/release.json"}


def test_missing_and_additional_files(clinic: Path) -> None:
    (clinic / "public" / "0001" / "table.parquet").unlink()
    (clinic / "public" / "0001" / "release.json").unlink()
    (clinic / "public" / "0002" / "notes.txt").write_text("")
    (clinic / "public" / "0002" / "extra.parquet").rename(clinic / "elsewhere")
    (clinic / "public" / "0002" / "extra.parquet").symlink_to(clinic / "elsewhere")
    (clinic / "public" / "0007").mkdir()
    (clinic / "public" / "drafts").mkdir()
    blob = min((clinic / "private" / "blobs").iterdir())
    blob.unlink()
    (clinic / "private" / "blobs" / "stray.parquet").write_text("")
    found = {str(finding) for finding in verify(clinic)}
    assert found == {
        "public/0001/table.parquet: it is missing",
        "public/0001/release.json: it is missing",
        "public/0002/notes.txt: it does not belong to the release",
        "public/0002/extra.parquet: it is not a plain file",
        "public/0007: the catalog knows nothing of it",
        "public/drafts: the catalog knows nothing of it",
        f"private/blobs/{blob.name}: it is missing",
        "private/blobs/stray.parquet: it does not belong to the ledger",
    }


def test_a_missing_release(clinic: Path) -> None:
    shutil.rmtree(clinic / "public" / "0001")
    assert verify(clinic) == [Discrepancy("public/0001", "the release was committed, but its folder is missing")]


def test_the_policy_file(clinic: Path) -> None:
    (clinic / "policy.toml").write_text("k = 1\n")
    assert [(finding.file, "not the recorded policy" in finding.problem) for finding in verify(clinic)] == [
        ("policy.toml", True)
    ]
    (clinic / "policy.toml").unlink()
    (finding,) = verify(clinic)
    assert finding.file == "policy.toml" and finding.problem.startswith("it is missing")


def test_private_must_be_private(clinic: Path) -> None:
    (clinic / "private").chmod(0o750)
    assert named(clinic) == {"private"}


def test_a_history_rewritten_with_care(clinic: Path) -> None:
    """Somebody changes a public table, its hash, its chain and the catalog's copy: the next link betrays it.

    And the seal of the row; were all seals written anew, only the anchor.
    """
    folder = clinic / "public" / "0001"
    record = json.loads((folder / "release.json").read_text())
    record["rows"] = 39
    del record["chain"]
    chain = chain_value(None, record)
    text = json.dumps({**record, "chain": chain}, sort_keys=True, indent=2) + "\n"
    (folder / "release.json").write_text(text)
    connection = sqlite3.connect(clinic / "private" / "catalog.sqlite")
    connection.execute("UPDATE releases SET record = ?, chain = ? WHERE number = 1", (text, chain))
    connection.commit()
    connection.close()
    betrayed = Discrepancy("public/0002/release.json", "its chain does not fit its content and the release before it")
    assert verify(clinic) == [
        Discrepancy("private/catalog.sqlite", "release 1: it is not as it was written"),
        betrayed,
    ]
    reseal(clinic)
    assert verify(clinic) == [betrayed]


def test_a_release_missing_from_the_catalog(clinic: Path) -> None:
    connection = sqlite3.connect(clinic / "private" / "catalog.sqlite")
    connection.execute("DELETE FROM releases WHERE number = 1")
    connection.commit()
    connection.close()
    found = {str(finding) for finding in verify(clinic)}
    assert "private/catalog.sqlite: release 1 is missing from it" in found
    assert "public/0001: the catalog knows nothing of it" in found
    assert any("rows refer to rows that are not there" in finding for finding in found)


@pytest.mark.parametrize("damage", ["overwritten", "cut", "empty"])
def test_a_damaged_catalog(clinic: Path, damage: str) -> None:
    path = clinic / "private" / "catalog.sqlite"
    content = path.read_bytes()
    damaged = {"overwritten": b"x" * len(content), "cut": content[: len(content) // 2], "empty": b""}[damage]
    path.write_bytes(damaged)
    assert "private/catalog.sqlite" in named(clinic)
    # The public files are still checked, by their own records.
    table = clinic / "public" / "0002" / "table.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"2")
    assert "public/0002/table.parquet" in named(clinic)
    assert "public/0001/table.parquet" not in named(clinic)


def test_pages_of_the_catalog(clinic: Path) -> None:
    """Garbage in the middle of the database does not pass for a sound one."""
    path = clinic / "private" / "catalog.sqlite"
    content = path.read_bytes()
    for page in range(4096, len(content), 4096):
        path.write_bytes(content[:page] + os.urandom(64) + content[page + 64 :])
        assert "private/catalog.sqlite" in named(clinic), f"page at {page}"
    path.write_bytes(content)
    assert verify(clinic) == []


def test_an_unfinished_move_is_no_damage(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, opened(clinic) as ledger:
        plain = os.replace

        def replace(source: Path, target: Path) -> None:
            if Path(target).parent.name == "public":
                raise OSError(28, "full")
            plain(source, target)

        patch.setattr(os, "replace", replace)
        with pytest.raises(OSError, match="Release 3 is committed"):
            ledger.commit(entry(3), parent=2)
    assert not (clinic / "public" / "0003").exists()
    assert verify(clinic) == []
    staged = next((clinic / "private" / "staging").glob("*/public/table.parquet"))
    staged.write_bytes(staged.read_bytes() + b"x")
    assert named(clinic) == {"public/0003/table.parquet"}
