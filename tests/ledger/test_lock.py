"""One writer at a time; readers never wait."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from ledger_process import ENVIRONMENT
from ledger_story import AMENDED, copied, created, entry, opened, state

from reissue.errors import ReissueWarning, SeriesLocked
from reissue.ledger import chain, verify
from reissue.ledger.transactions import add_event, last_release

HOLD = """
import os, sys
from pathlib import Path
from ledger_story import opened

ledger = opened(Path(sys.argv[1]))
with ledger.writing():
    child = os.fork() if sys.argv[2] == "fork" else 1
    if child == 0:
        os.read(0, 1)  # outlives its parent
        os._exit(0)
    os.write(1, b"held\\n")
    os.read(0, 1)
"""


@contextmanager
def holder(folder: Path, manner: str = "plain") -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), manner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def test_a_second_process(clinic: Path) -> None:
    before = state(clinic)
    with holder(clinic):
        with opened(clinic) as ledger:  # reading goes on
            for change in (
                lambda: ledger.commit(entry(3), parent=2),
                lambda: ledger.amend(AMENDED, "why", anchor=ledger.anchor_file),
                lambda: ledger.forget([1]),
            ):
                with pytest.raises(SeriesLocked, match="somebody else"):
                    change()
        assert state(clinic) == before
        assert verify(clinic) == []


def test_a_dead_process_keeps_no_lock(clinic: Path) -> None:
    with holder(clinic) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with opened(clinic) as ledger:
            assert ledger.commit(entry(3), parent=2).number == 3


def test_nor_does_the_child_of_a_dead_process(clinic: Path) -> None:
    with holder(clinic, "fork") as process:
        with opened(clinic) as ledger, pytest.raises(SeriesLocked):
            ledger.commit(entry(3), parent=2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with opened(clinic) as ledger:
            assert ledger.commit(entry(3), parent=2).number == 3


def test_the_same_process(clinic: Path) -> None:
    with opened(clinic) as one, opened(clinic) as other:
        with one.writing(), one.writing():
            assert one.commit(entry(3), parent=2).number == 3
            with pytest.raises(SeriesLocked), other.writing():
                pass
        assert other.commit(entry(4), parent=3).number == 4
        assert len(one.releases()) == 4


def test_another_thread(clinic: Path) -> None:
    caught = []

    def write() -> None:
        try:
            ledger.commit(entry(3), parent=2)
        except SeriesLocked as error:
            caught.append(error)

    with opened(clinic) as ledger, ledger.writing():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert len(caught) == 1


def test_the_lock_is_free_after_an_error(clinic: Path) -> None:
    with opened(clinic) as one, opened(clinic) as other:
        with pytest.raises(ZeroDivisionError), one.writing():
            _ = 1 / 0
        with other.writing():
            pass


def test_readers_do_not_wait_for_an_open_transaction(clinic: Path) -> None:
    before = state(clinic)
    with opened(clinic) as writer, writer.writing():

        def change(connection: sa.Connection) -> None:
            chain.append(connection, chain.AMENDED, [add_event(connection, "amended", "not yet")])
            assert state(clinic) == before
            assert verify(clinic) == []

        writer._database.write(change)
    assert state(clinic) != before


def test_readers_while_a_commit_is_under_way(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every rename of a commit somebody else opens the series, reads all of it and verifies it."""
    before = state(clinic)
    seen: list[object] = []
    plain = os.replace

    def look_then_replace(source: Path, target: Path) -> None:
        assert verify(clinic) == []
        with pytest.warns(ReissueWarning, match=r"under way|not in public/ yet"), opened(clinic) as reader:
            releases = reader.releases()
            tables = [reader.public_table(release.number, "table").height for release in releases]
            assert tables == [40] * len(releases)
            assert [reader.table(release.number, "snapshot").height for release in releases] == tables
            assert reader.people().height == 40 * len(releases)
            seen.append((len(releases), releases[-1].path.parent.name))
        plain(source, target)

    monkeypatch.setattr(os, "replace", look_then_replace)
    with opened(clinic) as writer:
        writer.commit(entry(3), parent=2)
    monkeypatch.undo()
    # Three blobs get their names before the transaction; after it the anchor is written and the release moved, which is
    # read in staging until then.
    assert seen[:3] == [(2, "public")] * 3
    assert len(seen) == 5
    assert all(number == 3 and place != "public" for number, place in seen[3:])  # type: ignore[misc]
    assert state(clinic)["releases"][:2] == before["releases"]


def test_a_reader_does_not_hold_up_the_writer(clinic: Path) -> None:
    with opened(clinic) as reader, opened(clinic) as writer:
        looks = []

        def look_twice(connection: sa.Connection) -> tuple[int, int]:
            before = last_release(connection)[0]
            looks.append(before)
            if len(looks) == 1:
                writer.commit(entry(3), parent=2)
            return before, last_release(connection)[0]

        # One look sees one state; whoever reads without touching anything looks again when it has changed.
        assert reader._database.read(look_twice) == (3, 3)
        assert looks == [2, 3]
        assert len(reader.releases()) == 3
    assert sorted(path.name for path in (clinic / "private").iterdir()) == [
        "blobs",
        "catalog.sqlite",
        "lock",
        "staging",
    ]


def test_two_creations_at_once(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(SeriesLocked, match="being created"):
        created(tmp_path)
    os.close(descriptor)
    created(tmp_path).close()


def test_a_commit_takes_one_connection(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, made = sqlite3.connect, []

    def connect(*arguments: object, **options: object) -> sqlite3.Connection:
        made.append(arguments)
        return plain(*arguments, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", connect)
    with opened(clinic) as ledger:
        made.clear()
        with ledger.writing():
            ledger.commit(entry(3), parent=2)
            ledger.commit(entry(4), parent=3)
        assert len(made) == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the child does next to nothing
def test_threads_and_children_do_not_share_a_connection(clinic: Path) -> None:
    with opened(clinic) as ledger, ledger.writing():
        ledger.commit(entry(3), parent=2)
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(lambda _: len(ledger.releases()), range(4))) == [3] * 4
        child = os.fork()
        if child == 0:
            try:
                os._exit(len(ledger.releases()))
            finally:
                os._exit(99)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        ledger.commit(entry(4), parent=3)
    assert len(state(clinic)["releases"]) == 4  # type: ignore[arg-type]
    assert verify(clinic) == []
