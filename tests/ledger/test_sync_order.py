"""What a power cut would take: everything is on the medium before something else relies on it."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_story import AMENDED, anchor_of, copied, created, entry, opened

from reissue.ledger.sqlite import Database


class Medium:
    """Remembers of every inode what it held when it was last synced: names of a folder, size of a file.

    One sync may be left out, the so-manyth, as if the line were not in the program.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, left_out: int | None = None) -> None:
        self.held: dict[int, object] = {}
        self.syncs = 0
        plain = os.fsync
        guard = threading.Lock()

        def fsync(descriptor: int) -> None:
            with guard:
                self.syncs += 1
                if self.syncs == left_out:
                    return
            plain(descriptor)
            facts = os.fstat(descriptor)
            self.held[facts.st_ino] = names(descriptor) if stat.S_ISDIR(facts.st_mode) else facts.st_size

        monkeypatch.setattr(os, "fsync", fsync)

    def lacks(self, path: Path) -> bool:
        """Whether a power cut would lose something of this file or folder."""
        held = self.held.get(path.stat().st_ino)
        return not names(path).items() <= held.items() if isinstance(held, dict) else held != path.stat().st_size

    def differs(self, folder: Path) -> bool:
        """Whether a power cut would lose a name in this folder, or bring one back."""
        return self.held.get(folder.stat().st_ino) != names(folder)


def names(folder: Path | int) -> dict[str, int]:
    """What is in a folder: the inode behind each name."""
    with os.scandir(folder) as found:
        return {child.name: child.inode() for child in found}


JOBS = {
    "commit": lambda ledger: ledger.commit(entry(3), parent=2),
    "amend": lambda ledger: ledger.amend(AMENDED, "why", anchor=ledger.anchor_file),
    "forget": lambda ledger: ledger.forget([1]),
}


def at_risk(base: Path, clinic: Path, job: str, left_out: int | None = None) -> tuple[list[Path], int]:
    """What a power cut at the wrong moment of a job would lose, and how often it syncs."""
    copied(base, clinic)
    private = clinic / "private"
    old = {path: path.stat().st_ino for path in private.rglob("*")}
    anchor = Path(anchor_of(clinic))
    folders = (clinic, clinic / "public", private / "blobs", private / "staging", anchor.parent)
    watched = {folder: names(folder) for folder in folders}
    lost: list[Path] = []
    files: list[Path] = []
    plain = Database.write
    with pytest.MonkeyPatch.context() as patched:
        medium = Medium(patched, left_out)

        def write(database: Database, change: Callable[..., object]) -> object:
            if files:  # sweeping, which comes after
                return plain(database, change)
            there = [path for path in private.rglob("*") if "sqlite" not in path.name]
            new = [path for path in there if old.get(path) != path.stat().st_ino]  # also in place of one like it
            files.extend(path for path in new if path.is_file())
            held = [*files, *(folder for file in files for folder in file.parents if folder in new)]
            folders = {path.parent for path in held}
            lost.extend(path for path in [*files, *folders] if medium.lacks(path))
            return plain(database, change)

        patched.setattr(Database, "write", write)
        with opened(clinic) as ledger:
            JOBS[job](ledger)
    assert files
    # Whatever folder has other names in it now than before has been synced with them.
    lost += [folder for folder, before in watched.items() if names(folder) != before and medium.differs(folder)]
    lost += [anchor] * medium.lacks(anchor)
    return lost, medium.syncs


@pytest.mark.parametrize("job", JOBS)
def test_files_before_the_transaction_and_names_after(base: Path, tmp_path: Path, job: str) -> None:
    lost, syncs = at_risk(base, tmp_path / "clinic", job)
    assert lost == []
    # And no sync is there for nothing: with any of them left out something would be lost.
    for turn in range(1, syncs + 1):
        assert at_risk(base, tmp_path / str(turn), job, left_out=turn)[0], f"sync {turn} of {syncs}"


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
    created(clinic).close()
    for folder in (clinic, clinic.parent, tmp_path):
        assert not medium.lacks(folder), folder
