"""Every durable operation fails in turn: once, or from then on; and disks that really are full."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_process import run, run_mounted
from ledger_story import (
    JOBS,
    POLICY,
    accidents,
    chosen,
    copied,
    created,
    entry,
    files_under,
    finish,
    full_disk,
    opened,
    series,
    state,
)
from profiles import sized

from reissue.errors import StorageError
from reissue.ledger import verify

ONCE: Callable[[int, int], bool] = lambda number, turn: number == turn  # noqa: E731
FROM_THEN_ON: Callable[[int, int], bool] = lambda number, turn: number >= turn  # noqa: E731

UNDONE = ("was not committed", "was not recorded", "Nothing was forgotten", "was not resumed")
DONE = ("is committed", "is recorded", "are erased", "is resumed")

Remains = frozenset[tuple[str, int, bytes]]


def remains_of(folder: Path) -> Remains:
    """Everything there is in a folder: names, kinds and modes, and bytes."""
    return frozenset(
        (path.relative_to(folder).as_posix(), path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    )


def leftovers(folder: Path) -> bool:
    return any((folder / "private" / "staging").iterdir())


@pytest.mark.parametrize("happens", [ONCE, FROM_THEN_ON], ids=["once", "from then on"])
@pytest.mark.parametrize("job", ["commit", "amend", "forget", "merge", "resume", "take"])
def test_as_it_was_or_complete(job: str, happens: Callable[[int, int], bool], base: Path, quick_path: Path) -> None:
    finished = quick_path / "finished"
    copied(base, finished)
    before = state(finished)
    JOBS[job](finished)
    after = state(finished)
    outcomes: dict[Remains, bool] = {}
    counted = copied(base, quick_path / "counted")
    with accidents(lambda number, _: False, full_disk) as operations:
        JOBS[job](counted)
    for turn in [*chosen(operations, sized(8, 1)), len(operations) + 1]:
        folder = quick_path / str(turn)
        copied(base, folder)
        message = ""
        with accidents(lambda number, _, turn=turn: happens(number, turn), full_disk) as seen:
            try:
                JOBS[job](folder)
            except StorageError as error:
                message = str(error)
        if turn > len(operations):
            assert len(seen) < turn and message == ""
            break
        where = f"operation {turn} ({seen[turn - 1]}): {message}"
        # SQLite does not report what fails at closing time, and where nothing comes after it nothing else can. What is
        # left to do after the commit may be done without a transaction.
        unsaid = seen[turn - 1] == "sqlite closed" and (happens is ONCE or turn == len(seen))
        unsaid = unsaid or (not leftovers(folder) and state(folder) == after)
        assert message or unsaid, f"{where}: swallowed"
        assert "canary" not in message
        undone = any(words in message for words in UNDONE)
        done = any(words in message for words in DONE)
        if happens is ONCE and undone:
            waste = [name for name in files_under(folder / "private") if name.startswith("staging/")]
            assert waste == [], f"{where}: space was not freed"
        remains = remains_of(folder)
        if remains not in outcomes:  # most failures leave the very same bytes
            finish(folder)
            found = state(folder)
            assert found in (before, after), where
            outcomes[remains] = found == after
            assert verify(folder) == [], where
            with opened(folder) as ledger:
                last = len(ledger.releases())
                further = entry(last + 1, policy_version=ledger.policy.version, people=job != "take")
                ledger.commit(further, parent=last)
            assert verify(folder) == [], where
            assert not any((folder / "private" / "staging").iterdir()), where
        assert not (outcomes[remains] and undone), where
        assert outcomes[remains] or not done, where
    assert set(outcomes.values()) == {True, False}


@pytest.mark.parametrize("happens", [ONCE, FROM_THEN_ON], ids=["once", "from then on"])
def test_creation(happens: Callable[[int, int], bool], quick_path: Path) -> None:
    with accidents(lambda number, _: False, full_disk) as operations:
        created(quick_path / "counted").close()
    for turn in [*chosen(operations, sized(8, 1)), len(operations) + 1]:
        folder = quick_path / str(turn)
        failed = False
        with accidents(lambda number, _, turn=turn: happens(number, turn), full_disk) as seen:
            try:
                created(folder).close()
            except StorageError:
                failed = True
        if turn > len(operations):
            assert len(seen) < turn and not failed
            break
        if not (folder / "private").exists():
            created(folder).close()
        finish(folder)
        assert state(folder)["policy.toml"] == POLICY
        assert verify(folder) == []
        assert sorted(path.name for path in folder.iterdir()) == ["policy.toml", "private", "public"]


FILL = """
import os, sys
from pathlib import Path
from ledger_story import entry, opened, series, state
from reissue.errors import StorageError
from reissue.ledger import Ledger, verify

folder = series(Path(sys.argv[1]) / "clinic")
before = state(folder)
big = entry(3, rows=200_000)
filler = Path(sys.argv[1]) / "filler"
refused = 0
for spare in (0, 4096, 20_000, 100_000, 400_000, 900_000):
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    with filler.open("r+b") as file:
        file.truncate(max(filler.stat().st_size - spare, 0))
    try:
        with opened(folder) as ledger:
            ledger.commit(big, parent=2)
    except StorageError as error:
        refused += 1
        assert "canary" not in str(error), error
        assert "full" in str(error) or "No space left on device" in str(error), error
    # Still full: the space of the failed attempt is free again, and everything can be read.
    assert not any((folder / "private/staging").iterdir()), spare
    assert len(list((folder / "private/blobs").iterdir())) == 6, spare
    assert state(folder) == before, spare
    assert verify(folder) == []
    filler.unlink()
    assert state(folder) == before, spare
    assert not any((folder / "private/staging").iterdir())
    assert verify(folder) == []
assert refused == 6, refused
with opened(folder) as ledger:
    ledger.commit(entry(3), parent=2)
assert verify(folder) == []
"""


def test_a_disk_that_really_is_full(tmp_path: Path) -> None:
    done = run_mounted('mount -t tmpfs -o size=2m tmpfs "$folder"', FILL, tmp_path)
    assert done.returncode == 0, done.stderr


LIMITED = """
import resource, sys
from pathlib import Path
from ledger_story import entry, opened, state
from reissue.errors import StorageError
from reissue.ledger import Ledger

folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    with opened(folder) as ledger:
        ledger.commit(entry(3, rows=200_000), parent=2)
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [0, 10_000, 100_000, 300_000])
def test_a_limit_on_file_sizes(limit: int, tmp_path: Path) -> None:
    folder = series(tmp_path / "clinic")
    before = state(folder)
    done = run(LIMITED, folder, limit)
    assert done.returncode == 0, done.stderr
    assert done.stdout, "the commit should have been refused"
    assert state(folder) == before
    assert verify(folder) == []
    with opened(folder) as ledger:
        ledger.commit(entry(3, rows=200_000), parent=2)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
