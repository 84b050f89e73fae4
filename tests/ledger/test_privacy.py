"""Who may look where, and where ids are: in one private file, and nowhere after they were forgotten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import polars as pl
import pytest
from ledger_story import POLICY, entry, files_under

from reissue.ledger import Ledger


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_private_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "clinic"
    modes: set[tuple[str, int]] = set()
    plain = os.replace

    def note(source: Path, target: Path) -> None:
        """Also while a commit is under way."""
        modes.update((path.name, stat.S_IMODE(path.stat().st_mode)) for path in (folder / "private").iterdir())
        plain(source, target)

    before = os.umask(umask)
    try:
        with Ledger.create(folder, POLICY) as ledger, pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "replace", note)
            ledger.commit(entry(1), parent=0)
            ledger.forget([1])
            ledger.amend(POLICY, "again")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "private").stat().st_mode) == 0o700
    for path in (folder / "private").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert {mode for name, mode in modes if name.startswith("catalog")} == {0o600}
    # Public files are for others as far as the umask lets them.
    assert stat.S_IMODE((folder / "policy.toml").stat().st_mode) == 0o600  # it may list labels
    for path in [folder / "public", *(folder / "public").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o777 if path.is_dir() else 0o666) & ~umask, path


def files_that_hold(text: str, folder: Path) -> list[str]:
    """Files that hold a text in their bytes or, for Parquet, in their cells."""
    found = []
    for name, content in files_under(folder).items():
        held = text.encode() in content
        if name.endswith(".parquet"):
            frame = pl.read_parquet(folder / name)
            columns = frame.select(pl.col(pl.String, pl.Categorical).cast(pl.String))
            held = held or any(columns[column].str.contains(text, literal=True).any() for column in columns.columns)
        if held:
            found.append(name)
    return found


def test_ids_live_in_one_private_file(tmp_path: Path) -> None:
    folder = tmp_path / "clinic"
    with Ledger.create(folder, POLICY) as ledger:
        for number in (1, 2, 3):
            ledger.commit(entry(number), parent=number - 1)
            (place,) = files_that_hold("canary-", folder)
            assert place.startswith("private/blobs/")
            assert files_that_hold(f"canary-{number - 1}-", folder) == []  # the file before is gone
        ledger.commit(entry(4, people=False), parent=3)
        assert len(files_that_hold("canary-3-7", folder)) == 1
        ledger.forget([7])
        assert files_that_hold("canary-3-7", folder) == []
        assert len(files_that_hold("canary-3-8", folder)) == 1
        ledger.forget(range(40))
    assert files_that_hold("canary", folder) == []
