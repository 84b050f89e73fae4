"""Who may look where, and where ids are: each in one private file, and nowhere after it was forgotten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import polars as pl
import pytest
from ledger_story import POLICY, created, entry, files_under

from reissue.ledger import people_parts as people


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
        with created(folder) as ledger, pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "replace", note)
            ledger.commit(entry(1), parent=0)
            ledger.forget([1])
            ledger.amend(POLICY, "again", anchor=ledger.anchor_file)
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


def test_every_id_lives_in_one_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "clinic"
    monkeypatch.setattr(people, "MANY", 3)
    with created(folder) as ledger:
        parts = []
        for number in range(1, 9):
            ledger.commit(entry(number), parent=number - 1)
            places = files_that_hold("canary-", folder)
            assert all(place.startswith("private/blobs/") for place in places)
            parts.append(len(places))
            for known in range(1, number + 1):  # also when files were merged the old ones are gone
                for person in (0, 7, 39):
                    assert len(files_that_hold(f"canary-{known}-{person}", folder)) == 1
        # Four files of 40, merged into one; three more, of which the first of 160 stays for being larger; then
        # two more, after which none is as large as the rest.
        assert parts == [1, 2, 3, 1, 2, 3, 2, 3]
        ledger.commit(entry(9, people=False), parent=8)
        assert len(files_that_hold("canary-3-7", folder)) == 1
        later = files_that_hold("canary-7-", folder)
        ledger.forget([2 * 40 + 7])
        assert files_that_hold("canary-3-7", folder) == []
        assert len(files_that_hold("canary-3-8", folder)) == 1
        assert files_that_hold("canary-7-", folder) == later  # only the file that had to be is rewritten
        ledger.forget(range(8 * 40))
    assert files_that_hold("canary", folder) == []
