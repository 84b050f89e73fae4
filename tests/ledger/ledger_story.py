"""The series that the tests of the ledger write, and the accidents that happen to it.

Also a program: `ledger_story.py JOB BASE WORK` does a job again and again, each time on a fresh copy of the series
in BASE (WORK/1, WORK/2 ...) and in a fresh process that kills itself with SIGKILL at the first, second ...
durable operation, until the job is done before its turn comes; WORK/operations.json then names them all.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import sqlalchemy as sa

from reissue.errors import ReissueWarning
from reissue.ledger import Entry, Ledger, Record, Resumption, chain, staging
from reissue.ledger import people_parts as people
from reissue.ledger.anchor import Anchor, Known, note_of
from reissue.ledger.sqlite import Database
from reissue.ledger.transactions import last_release
from reissue.model.memory import KEPT

staging.SMALL = 200
"""So that the story has tables in files of their own, snapshots, and others that share a file."""

POLICY = '[schema]\nperson = "patient"\n'
KEPT_TABLE = pl.DataFrame({"cell": ["written once", "and kept"]})
AMENDED = '[schema]\nperson = "patient"\nsensitive = "diagnosis"\n'


def entry(number: int, *, rows: int = 40, people: bool = True, policy_version: int = 1) -> Entry:
    """What release `number` of the story holds: a pure function of its arguments.

    Each release of the story brings 40 new people; one that brings more must be the last.
    """
    numbers = pl.Series("number", range(rows), dtype=pl.UInt32)
    groups = (numbers // 4).alias("group")
    table = pl.DataFrame({"group": groups, "age_low": numbers % 7, "diagnosis": (numbers % 3 + number).cast(pl.String)})
    snapshot = pl.DataFrame({"number": numbers, "age": numbers % 7, "code": (numbers + number) % 3})
    memory = pl.DataFrame({"number": [1, 2, 3]})  # the same bytes in every release but the first: a shared blob
    first = 40 * (number - 1)
    ids = pl.DataFrame({"number": numbers + first, "id": [f"canary-{number}-{n}" for n in range(rows)]})
    return Entry(
        policy_version=policy_version,
        manifest={"method": "Mondrian", "parameters": {"k": 4}, "rows": rows},
        public={"table": table, "extra": table.head(3)},
        private={"snapshot": snapshot, "memory": memory, "kept": KEPT if number > 1 else KEPT_TABLE},
        people=ids if people else None,
        summary={"waiting": number},
        seed=f"seed-{number}",
        time=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number),
    )


def series(folder: Path, releases: int = 2) -> Path:
    """A series with a few releases."""
    with created(folder) as ledger:
        for number in range(1, releases + 1):
            ledger.commit(entry(number), parent=number - 1)
    return folder


def create(folder: Path) -> None:
    created(folder).close()


def anchor_of(folder: Path) -> str:
    """Where the head of a series of the story is kept: beside its folder."""
    return f"{folder}.anchor"


def created(folder: Path, *adopted: Entry) -> Ledger:
    """A new series."""
    return Ledger.create(folder, POLICY, adopted, anchor=anchor_of(folder))


def opened(folder: Path, *, check: bool = True) -> Ledger:
    """A series that is there."""
    return Ledger.open(folder, anchor=anchor_of(folder), check=check)


def copied(base: Path, folder: Path) -> Path:
    """A series and its anchor once more: what happened to one does not happen to the other."""
    shutil.copytree(base, folder, symlinks=True)
    if (anchor := Path(anchor_of(base))).exists():
        shutil.copy(anchor, anchor_of(folder))
    if (received := given(base)).exists():
        shutil.copytree(received, given(folder))
    return folder


def reseal(folder: Path) -> None:
    """Write another chain from beginning to end, and the anchor, as somebody could who changed rows."""

    def anew(connection: sa.Connection) -> Known:
        for table in ("seals", "links"):
            connection.execute(sa.text(f"DELETE FROM {table}"))
        link = chain.append_all(connection, chain.CREATED)
        return Known(link.head, link.number, link.head, *last_release(connection))

    known = Database(folder / "private" / "catalog.sqlite", str(folder)).write(anew)
    Anchor.of(known.series, anchor_of(folder), folder.resolve()).write(known)


def unchain(folder: Path) -> None:
    """Let a series be as it was before there were chains."""
    connection = sqlite3.connect(folder / "private" / "catalog.sqlite")
    for statement in ("DROP TABLE seals", "DROP TABLE links", "DELETE FROM migrations WHERE number > 3"):
        connection.execute(statement)
    connection.commit()
    connection.close()
    Path(anchor_of(folder)).unlink()
    if note := note_of(folder.resolve()):
        note.unlink(missing_ok=True)


def finish(folder: Path) -> None:
    """Do what the next writer does first: finish what was left, and sweep."""
    with warnings.catch_warnings(), opened(folder, check=False) as ledger:
        # That the anchor does not know the last change is right where somebody died before it was written.
        warnings.filterwarnings("ignore", ".* has 1 change that its anchor .* did not know of", ReissueWarning)
        warnings.filterwarnings("ignore", "There is no anchor .*: whoever created the series", ReissueWarning)
        warnings.filterwarnings("ignore", ".* by a version that sealed nothing", ReissueWarning)
        with ledger.writing():
            pass


def commit(folder: Path) -> None:
    with opened(folder) as ledger:
        ledger.commit(entry(3), parent=2)


def go_on(folder: Path) -> None:
    """Commit the release that comes next, whoever left the series how."""
    with opened(folder) as ledger:
        last = len(ledger.releases())
        ledger.commit(entry(last + 1), parent=last)


def amend(folder: Path) -> None:
    with opened(folder) as ledger:
        ledger.amend(AMENDED, "the diagnosis is published from now on", anchor=anchor_of(folder))


def forget(folder: Path) -> None:
    """Of two parts of the table of ids."""
    with opened(folder) as ledger:
        ledger.forget([3, 5, 47])


def backed_up(folder: Path) -> Path:
    """Where the backup of a series of the story lies, and for one that is restored the backup it comes from."""
    return folder.with_name(f"{folder.name}.tar")


def given(folder: Path) -> Path:
    """The public folder of release 3, as somebody has it who received it: beside the folder of the series."""
    return Path(f"{folder}.received") / "0003"


def back_up(folder: Path) -> None:
    with opened(folder) as ledger:
        ledger.back_up(backed_up(folder), force=True)


def restore(folder: Path) -> None:
    """From a backup that lies beside all folders."""
    Ledger.restore(folder.parent / "clinic.tar", folder).close()


def resume(folder: Path) -> None:
    with opened(folder, check=False) as ledger:
        ledger.resume(Resumption(2, "the anchor was lost"))


def take(folder: Path) -> None:
    """Go on after a release 3 of which only the public files are left."""
    with opened(folder, check=False) as ledger:
        ledger.resume(Resumption(3, "only the public files are left", [given(folder)], AMENDED))


def merge(folder: Path) -> None:
    """Commit a release when there are parts enough of the table of ids."""
    many, people.MANY = people.MANY, 2
    try:
        commit(folder)
    finally:
        people.MANY = many


JOBS: dict[str, Callable[[Path], None]] = {
    "create": create,
    "commit": commit,
    "amend": amend,
    "forget": forget,
    "merge": merge,
    "go on": go_on,
    "resume": resume,
    "take": take,
    "back up": back_up,
    "restore": restore,
}


def files_under(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def facts(record: Record) -> tuple[object, ...]:
    """Everything of a record but its path."""
    public = (record.number, record.time, record.manifest, record.files, record.chain)
    return (*public, record.policy_version, record.summary, record.seed)


def state(folder: Path, *, finished: bool = True) -> dict[str, object]:
    """Everything that a series says, except the times at which its events happened.

    Unless it is `finished`, without what lies elsewhere until a writer comes.
    """
    with Ledger.open(folder) as ledger:
        releases = ledger.releases()
        policy = folder / "policy.toml"  # which waits, too, when a series was just created
        lies = {
            "public": files_under(folder / "public"),
            "policy.toml": policy.read_text() if policy.exists() else None,
            "paths": [release.path.relative_to(folder.resolve()).as_posix() for release in releases],
        }
        return (lies if finished else {}) | {
            "policies": [(policy.version, policy.toml, policy.reason) for policy in ledger.policies()],
            "releases": [facts(release) for release in releases],
            "tables": [
                ledger.table(release.number, name).to_dict(as_series=False)
                for release in releases
                for name in ("snapshot", "memory", "kept")
                if not release.lost
            ],
            "public tables": [
                ledger.public_table(release.number, name).to_dict(as_series=False)
                for release in releases
                for name in ("table", "extra")
            ],
            "people": ledger.people().to_dict(as_series=False),
            "events": [(event.kind, event.detail) for event in ledger.events()],
            "policy differs": ledger.policy_file_differs(),
        }


Accident = Callable[[str], None]
"""Called with the name of an operation when its turn has come; ends the process or raises."""


@contextmanager
def accidents(happens: Callable[[int, str], bool], accident: Accident) -> Iterator[list[str]]:
    """Number every durable operation from 1 and let the accident happen where `happens` says so."""
    seen: list[str] = []
    guard = threading.Lock()

    def due(name: str) -> bool:
        with guard:
            seen.append(name)
            return happens(len(seen), name)

    def point(name: str) -> None:
        if due(name):
            accident(name)

    def before(name: str) -> Callable[..., object]:
        original = getattr(os, name)

        def wrapped(*arguments: object, **options: object) -> object:
            point(name)
            return original(*arguments, **options)

        return wrapped

    plain_open, plain_write, plain_connect = os.open, pl.LazyFrame.sink_parquet, sqlite3.connect

    def open_file(path: object, flags: int, *arguments: object, **options: object) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            point("open")
        return plain_open(path, flags, *arguments, **options)

    def sink_parquet(frame: pl.LazyFrame, file: object, **options: object) -> None:
        point("sink_parquet")
        plain_write(frame, file, **options)
        if due("sink_parquet, half"):
            file.flush()
            file.truncate(file.tell() // 2)
            accident("sink_parquet, half")

    class Cursor(sqlite3.Cursor):
        def execute(self, statement: str, *arguments: object) -> sqlite3.Cursor:
            self.note(statement)
            return super().execute(statement, *arguments)

        def executemany(self, statement: str, *arguments: object) -> sqlite3.Cursor:
            self.note(statement)
            return super().executemany(statement, *arguments)

        def note(self, statement: str) -> None:
            if statement.split()[0] in ("INSERT", "DELETE", "UPDATE", "CREATE") or "IMMEDIATE" in statement:
                self.connection.changed = self.connection.uncommitted = True
                point(f"sqlite {statement.split()[0]}")

    class Connection(sqlite3.Connection):
        changed = uncommitted = False

        def cursor(self, *_: object) -> sqlite3.Cursor:
            return super().cursor(Cursor)

        def commit(self) -> None:
            # The same connection reads afterwards: the end of reading is no durable operation.
            uncommitted, self.uncommitted = self.uncommitted, False
            if uncommitted:
                point("sqlite commit")
            super().commit()
            if uncommitted:
                point("sqlite committed")

        def close(self) -> None:
            changed, self.changed = self.changed, False
            super().close()
            if changed:
                point("sqlite closed")

    patched = ("rename", "replace", "fsync", "mkdir", "unlink", "rmdir", "fchmod", "chmod")
    originals = {name: getattr(os, name) for name in patched}
    for name in patched:
        setattr(os, name, before(name))
    os.open = open_file
    pl.LazyFrame.sink_parquet = sink_parquet
    sqlite3.connect = lambda *a, **o: plain_connect(*a, factory=Connection, **o)
    try:
        yield seen
    finally:
        for name, original in originals.items():
            setattr(os, name, original)
        os.open, pl.LazyFrame.sink_parquet = plain_open, plain_write
        sqlite3.connect = plain_connect


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail_with(code: int) -> Accident:
    """The operating system's error, as each layer reports it."""

    def accident(name: str) -> None:
        if name == "sqlite closed":
            return  # SQLite does not report failures of its housekeeping at closing time
        if name.startswith("sqlite"):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        if name.startswith("sink_parquet"):
            raise pl.exceptions.ComputeError(f"parquet: underlying IO error: {os.strerror(code)} (os error {code})")
        raise OSError(code, os.strerror(code))

    return accident


full_disk = fail_with(errno.ENOSPC)


def chosen(operations: list[str], every: int) -> list[int]:
    """At which operations an accident is tried: each so many, and all around the catalog's commit, where all turns."""
    commits = [turn for turn, name in enumerate(operations, 1) if name.startswith("sqlite commit")]
    around = {turn + near for turn in commits for near in (-1, 0, 1)}
    return [turn for turn in range(1, len(operations) + 1) if turn in around or turn % every == 1 % every]


def kill_at_operations(job: str, base: Path, work: Path, every: int) -> None:
    """Fork once for each operation; the libraries are loaded, but none of their threads has started."""

    def ended(turn: int) -> int:
        folder = work / str(turn)
        if base.is_dir():
            copied(base, folder)
        child = os.fork()
        if child == 0:
            with accidents(lambda number, _: number == turn, die) as seen:
                JOBS[job](folder)
            (work / "operations.json").write_text(json.dumps(seen))
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    if code := ended(0):
        sys.exit(code)
    for turn in chosen(json.loads((work / "operations.json").read_text()), every):
        if ended(turn) != -signal.SIGKILL:
            sys.exit(f"operation {turn} was not reached")


if __name__ == "__main__":
    kill_at_operations(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
