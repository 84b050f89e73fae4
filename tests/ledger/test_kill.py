"""kill -9 at every durable operation: afterwards the series is as it was or complete, never in between.

In the thorough run more than 1,000 times: 250 at the operations of one job each, the others at those of whoever comes
after somebody was killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import ledger_story
import pytest
from ledger_story import JOBS, chosen, copied, created, entry, files_under, finish, opened, state
from profiles import sized

from reissue.errors import NotASeries, ReissueWarning
from reissue.ledger import verify
from reissue.ledger.sqlite import Database
from reissue.ledger.transactions import current_people, referenced_blobs


def killed_everywhere(job: str, base: Path, work: Path) -> tuple[list[str], dict[int, Path]]:
    """The names of the operations, and the folder that each kill left: at all of them in the thorough run."""
    work.mkdir(exist_ok=True)
    every = sized(8, 1)
    program = [sys.executable, ledger_story.__file__, job, str(base), str(work), str(every)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    operations = json.loads((work / "operations.json").read_text())
    return operations, {turn: work / str(turn) for turn in chosen(operations, every)}


def leftovers(folder: Path) -> list[str]:
    """What lies in private/ without need."""
    private = folder / "private"
    database = Database(private / "catalog.sqlite", str(folder))
    needed = {f"{sha256}.parquet" for sha256 in database.read(referenced_blobs)}
    assert database.read(current_people)
    found = {path.name for path in (private / "blobs").iterdir()}
    assert needed <= found
    beside = {path.name for path in private.iterdir()} - {"catalog.sqlite", "lock", "blobs", "staging"}
    return sorted((found - needed) | beside | {path.name for path in (private / "staging").iterdir()})


def without_index(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not name.endswith("-shm")}


@pytest.mark.parametrize("job", ["commit", "amend", "forget", "merge", "resume", "take"])
def test_as_it_was_or_complete(job: str, base: Path, quick_path: Path) -> None:
    finished = quick_path / "finished"
    copied(base, finished)
    before = state(finished)
    JOBS[job](finished)
    after = state(finished)
    assert before != after
    operations, folders = killed_everywhere(job, base, quick_path / "work")
    outcomes = {}
    for turn, folder in folders.items():
        where = f"killed at operation {turn} ({operations[turn - 1]})"
        left = files_under(folder)
        public = files_under(folder / "public")
        assert public in (before["public"], after["public"]), where
        assert verify(folder) == [], where
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            read = state(folder, finished=False)
        assert without_index(files_under(folder)) == without_index(left), f"{where}: a reader changed something"
        staged = any((folder / "private" / "staging").iterdir())
        assert [one.category for one in said] == [ReissueWarning] * staged, where

        finish(folder)
        found = state(folder)
        assert {**found, **read} == found, f"{where}: read as something else before it was finished"
        assert found in (before, after), where
        assert public == before["public"] or found == after, where
        outcomes[turn] = found == after
        assert leftovers(folder) == [], where

        with opened(folder) as ledger:
            last = len(ledger.releases())
            further = entry(last + 1, policy_version=ledger.policy.version, people=job != "take")
            ledger.commit(further, parent=last)
            assert len(ledger.releases()) == last + 1, where
        assert verify(folder) == [], where
        assert leftovers(folder) == [], where
    # Once committed it stays committed: the outcomes switch exactly once, at the commit of the catalog.
    committed = operations.index("sqlite committed")
    assert outcomes == {turn: turn > committed for turn in folders}
    assert set(outcomes.values()) == {True, False}


def test_whoever_comes_next_is_killed_too(base: Path, quick_path: Path) -> None:
    """In the middle of bringing into order what the one before left."""
    operations, folders = killed_everywhere("commit", base, quick_path / "first")
    turns = list(folders)
    around = [turn for turn in turns if turn - 2 <= operations.index("sqlite committed") < turn + 2]
    chosen_turns = sorted({*around[: sized(1, 4)], *turns[:: max(1, len(turns) // sized(1, 10))][: sized(1, 10)]})
    kills = 0
    for first in chosen_turns:
        finished = copied(folders[first], quick_path / f"finished {first}")
        finish(finished)
        before = state(finished)
        JOBS["go on"](finished)
        after = state(finished)
        seconds, again = killed_everywhere("go on", folders[first], quick_path / f"second {first}")
        kills += len(again)
        for turn, folder in again.items():
            where = f"killed at {operations[first - 1]} ({first}), then at {seconds[turn - 1]} ({turn})"
            public = files_under(folder / "public")
            assert verify(folder) == [], where
            finish(folder)
            found = state(folder)
            assert found in (before, after), where
            assert {**found["public"], **public} == found["public"], f"{where}: something public was taken back"
            assert leftovers(folder) == [], where
    assert kills >= sized(20, 750)


def test_creation(quick_path: Path) -> None:
    finished = quick_path / "finished"
    created(finished).close()
    complete = state(finished)
    operations, folders = killed_everywhere("create", quick_path / "nothing", quick_path / "work")
    outcomes = []
    for turn, folder in folders.items():
        where = f"killed at operation {turn} ({operations[turn - 1]})"
        try:
            finish(folder)
            outcomes.append(True)
        except NotASeries:
            outcomes.append(False)
            created(folder).close()
        assert state(folder) == complete, where
        assert sorted(path.name for path in folder.iterdir()) == ["policy.toml", "private", "public"], where
        assert sorted(path.name for path in (folder / "private").iterdir()) == [
            "blobs",
            "catalog.sqlite",
            "lock",
            "staging",
        ], where
        assert verify(folder) == [], where
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {True, False}
