"""A folder or medium that may not be written to is still readable, and is not harmed by trying."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest
from ledger_process import run, run_mounted, run_unprivileged
from ledger_story import accidents, copied, entry, fail_with, finish, opened, state

from reissue.errors import StorageError
from reissue.ledger import verify

READ = """
import sys
from pathlib import Path
from ledger_story import AMENDED, entry, files_under, opened
from reissue.errors import StorageError
from reissue.ledger import Ledger, verify

folder = Path(sys.argv[1])
releases = int(sys.argv[2])
before = files_under(folder)
with opened(folder) as ledger:
    assert len(ledger.releases()) == releases, ledger.releases()
    for release in ledger.releases():
        assert ledger.table(release.number, "snapshot").height == 40
        assert ledger.public_table(release.number, "table").height == 40
        assert (release.path / "release.json").is_file()
    assert ledger.people().height == 40 * releases
    assert not ledger.policy_file_differs()
    for change in (
        lambda: ledger.commit(entry(releases + 1), parent=releases),
        lambda: ledger.amend(AMENDED, "why", anchor=ledger.anchor_file),
        lambda: ledger.forget([1]),
    ):
        try:
            change()
        except StorageError as error:
            assert "read-only" in str(error)
        else:
            raise AssertionError("written to a read-only folder")
assert verify(folder) == [], verify(folder)
assert files_under(folder) == before
try:
    Ledger.create(folder / "new", "")
except StorageError as error:
    assert "read-only" in str(error).lower(), error
else:
    raise AssertionError("created in a read-only folder")
"""


KILL = """
import sys
from pathlib import Path
from ledger_story import accidents, commit, die

with accidents(lambda number, name: name == sys.argv[2], die):
    commit(Path(sys.argv[1]))
"""

READ_ONLY = 'mount --bind "$folder" "$folder"; mount -o remount,ro,bind "$folder"'


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def kill_at(folder: Path, operation: str) -> None:
    assert run(KILL, folder, operation).returncode == -signal.SIGKILL


def test_a_read_only_medium(clinic: Path) -> None:
    done = run_mounted(READ_ONLY, READ, clinic, 2)
    assert done.returncode == 0, done.stderr


def test_a_read_only_medium_after_a_kill(clinic: Path) -> None:
    """The third release is committed, in the log of the catalog only, and its files are still in staging."""
    kill_at(clinic, "sqlite committed")
    private = sorted(path.name for path in (clinic / "private").iterdir())
    assert private[1:4] == ["catalog.sqlite", "catalog.sqlite-shm", "catalog.sqlite-wal"]
    done = run_mounted(READ_ONLY, READ, clinic, 3)
    assert done.returncode == 0, done.stderr


def test_a_log_without_its_index(clinic: Path) -> None:
    """As a copy may leave it that did not know about the third file; the log must not be overlooked."""
    kill_at(clinic, "sqlite committed")
    (clinic / "private" / "catalog.sqlite-shm").unlink()
    done = run_mounted(READ_ONLY, READ, clinic, 3)
    assert "has an unfinished log" in done.stderr
    assert "copy the whole folder" in done.stderr
    finish(clinic)
    assert len(opened(clinic).releases()) == 3  # where it may be written to, all is there
    assert verify(clinic) == []


def test_permissions(clinic: Path) -> None:
    folders = [clinic, clinic / "private", clinic / "private" / "blobs", clinic / "public"]
    for folder in folders:
        folder.chmod(0o500)
    try:
        done = run_unprivileged(READ, clinic, 2)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
def test_errors_while_writing(clinic: Path, code: int) -> None:
    """The folder looked writable, and was not."""
    before = state(clinic)
    with opened(clinic) as ledger:
        for operation in ("open", "mkdir", "sink_parquet", "fsync"):
            with (
                accidents(lambda _, name, operation=operation: name == operation, fail_with(code)),
                pytest.raises(StorageError, match=os.strerror(code)) as error,
            ):
                ledger.commit(entry(3), parent=2)
            assert isinstance(error.value, OSError)
            assert state(clinic) == before
        assert ledger.commit(entry(3), parent=2).number == 3


def test_public_and_private_on_different_file_systems(clinic: Path) -> None:
    code = """
import subprocess, sys
from pathlib import Path
from ledger_story import created, entry, opened
from reissue.errors import SeriesError

folder = Path(sys.argv[1])
try:
    created(folder / "clinic").close()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder / "clinic/public")], check=True)
    with opened(folder / "clinic") as ledger:
        ledger.commit(entry(1), parent=0)
except SeriesError as error:
    assert "different file systems" in str(error)
else:
    raise AssertionError("committed what cannot be moved")
"""
    target = clinic / "mounted"
    target.mkdir()
    done = run_mounted('mount -t tmpfs tmpfs "$folder"', code, target)
    assert done.returncode == 0, done.stderr
