"""What a power cut would take: everything is on the medium before something else relies on it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_story import AMENDED, POLICY, entry

from reissue.ledger import Ledger
from reissue.ledger.sqlite import Database


class Medium:
    """Remembers of every inode what it held when it was last synced: names of a folder, size of a file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held: dict[int, object] = {}
        plain = os.fsync

        def fsync(descriptor: int) -> None:
            plain(descriptor)
            facts = os.fstat(descriptor)
            self.held[facts.st_ino] = set(os.listdir(descriptor)) if stat.S_ISDIR(facts.st_mode) else facts.st_size

        monkeypatch.setattr(os, "fsync", fsync)

    def lacks(self, path: Path) -> bool:
        """Whether a power cut would lose something of this file or folder."""
        facts = path.stat()
        now = {child.name for child in path.iterdir()} if path.is_dir() else facts.st_size
        return self.held.get(facts.st_ino) != now


@pytest.mark.parametrize(
    "job",
    [
        lambda ledger: ledger.commit(entry(3), parent=2),
        lambda ledger: ledger.amend(AMENDED, "why"),
        lambda ledger: ledger.forget([1]),
    ],
    ids=["commit", "amend", "forget"],
)
def test_files_before_the_transaction_and_names_after(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Callable[[Ledger], object]
) -> None:
    clinic = Path(shutil.copytree(base, tmp_path / "clinic"))
    private = clinic / "private"
    old = set(private.rglob("*"))
    medium = Medium(monkeypatch)
    checked = []
    plain = Database.write

    def write(database: Database, change: Callable[..., object]) -> object:
        new = [path for path in private.rglob("*") if path not in old and "sqlite" not in path.name]
        files = [path for path in new if path.is_file()]
        folders = {path.parent for path in files}
        assert [path for path in [*files, *folders] if medium.lacks(path)] == []
        checked.extend(files)
        return plain(database, change)

    monkeypatch.setattr(Database, "write", write)
    with Ledger.open(clinic) as ledger:
        job(ledger)
    assert checked
    # Whatever folder has other names in it now than before has been synced with them.
    for folder in (clinic, clinic / "public", private / "blobs", private / "staging"):
        before = {path.name for path in (base / folder.relative_to(clinic)).iterdir()}
        assert {path.name for path in folder.iterdir()} == before or not medium.lacks(folder), folder


def test_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    medium = Medium(monkeypatch)
    clinic = tmp_path / "new" / "clinic"
    plain = os.replace

    def replace(source: Path, target: Path) -> None:
        if Path(target).name == "private":
            lost = [path for path in Path(source).rglob("*") if "sqlite" not in path.name and medium.lacks(path)]
            # empty folders have nothing to lose; their names are in the folder above
            assert [path for path in lost if path.is_file() or any(path.iterdir())] == []
            assert not medium.lacks(Path(source))
        plain(source, target)

    monkeypatch.setattr(os, "replace", replace)
    Ledger.create(clinic, POLICY).close()
    for folder in (clinic, clinic.parent, tmp_path):
        assert not medium.lacks(folder), folder
