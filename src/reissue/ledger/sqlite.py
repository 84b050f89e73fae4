"""The one place that knows that the catalog is SQLite: connections, pragmas, transactions, error codes.

Readers never wait: the journal is a write-ahead log. A connection lives for one call, or for the calls of one thread
within a block of `together`, so that nothing stays open and the last one to leave folds the log into the database and
removes it. A folder that may not be written to has no room for a log; there the database is read as it lies
(`immutable`), and read again should somebody who may write have changed it meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from reissue.errors import InternalError, SeriesDamaged, SeriesError, SeriesLocked, StorageError

T = TypeVar("T")

_BUSY_SECONDS = 10.0
_ATTEMPTS = 40
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on the medium when it returns
    "PRAGMA fullfsync = ON",  # macOS
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # what is erased is overwritten
)
_CHECKS = ("PRAGMA integrity_check", "PRAGMA foreign_key_check")

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_OTHERS = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_SCHEMA)
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Mark(NamedTuple):
    """The state of a database, as one connection sees it."""

    connection: object
    """What tells connections apart."""
    version: int
    """Changes with whatever others write."""
    file: int
    """The file that lies in the place of the database."""


class Database:
    """A SQLite file, opened for a call or a block of calls."""

    def __init__(self, path: Path, shown: str, *, read_only: bool = False) -> None:
        self._path = path
        self._shown = shown
        self._read_only = read_only
        self._closed = False
        self._shared = _Shared()

    def close(self) -> None:
        """Refuse every further call."""
        self._closed = True

    def read(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query in one read transaction. It may be run more than once."""
        with self._explained(reading=True):
            if not self._shared.wanted:
                return self._read_undisturbed(query)
            try:
                return self._run(query, "BEGIN")
            except sa.exc.DBAPIError as error:
                if _primary_code(error.orig) not in _NO_ROOM:
                    raise
                # A full disk has no room for the index of a log, but reading must go on, not least to
                # find out what may be removed.
                return self._read_undisturbed(query)

    def write(self, change: Callable[[sa.Connection], T]) -> T:
        """Run a change in one transaction: it is durable when this returns, or has not happened."""
        if self._read_only:
            raise StorageError(f"The series in '{self._shown}' is open for reading only.")
        with self._explained():
            return self._run(change, "BEGIN IMMEDIATE")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let all calls of this thread in the block share one connection; each is a transaction of its own as ever.

        Outside of such a block everything is read without touching anything.
        """
        self._shared.enter()
        try:
            yield
        finally:
            if self._shared.leave():
                self.let_go()

    def mark(self, connection: sa.Connection) -> Mark:
        """Changes when anybody else writes to the database or replaces its file."""
        version = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
        file = self._path.stat().st_ino if self._path.exists() else 0
        return Mark(connection.info.setdefault("mark", object()), version, file)

    def fingerprint(self) -> tuple[object, ...]:
        """Changes with the files of the database, so that who has looked at them need not look again."""
        return *self._fingerprint(), *_facts(self._log)

    def let_go(self) -> None:
        """Close the connection that calls share, and with it the log if nobody else is on it; a next call opens one."""
        self._shared.close()

    def _run(self, work: Callable[[sa.Connection], T], begin: str) -> T:
        if not self._shared.wanted:
            return _run(self._connect, work, begin)
        if (connection := self._shared.connection) is None:
            connection = self._shared.connection = _connected(self._connect)
        try:
            return _transaction(connection, work, begin)
        except BaseException:
            # Who knows what is left of it; and a log stays as long as somebody is connected.
            self._shared.close()
            raise

    @property
    def has_log(self) -> bool:
        """Whether a write-ahead log with something in it lies beside the database."""
        return _size(self._log) > 0

    @property
    def has_index(self) -> bool:
        """Whether the index of the log lies there, without which it cannot be read where nothing may be written."""
        return _size(self._path.with_name(self._path.name + "-shm")) > 0

    @property
    def _log(self) -> Path:
        return self._path.with_name(self._path.name + "-wal")

    def _connect(self) -> sqlite3.Connection:
        connection = self._connect_as("mode=rw")
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_as(self, options: str) -> sqlite3.Connection:
        address = f"file:{quote(str(self._path))}?{options}"
        return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)

    def _read_undisturbed(self, query: Callable[[sa.Connection], T]) -> T:
        """Read without touching anything, not even the log and its index."""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(0.025)
            # With a log, SQLite itself keeps readers and writers apart through the log's index, which
            # lies beside it. Without one nobody is writing, so the file may be taken as unchanging;
            # whether that was true is checked afterwards.
            logged = self.has_log
            before = self._fingerprint()
            try:
                options = "mode=ro" if logged else "mode=ro&immutable=1"
                result = _run(partial(self._connect_as, options), query, "BEGIN")
            except sa.exc.DBAPIError:
                if self._changed_since(before, logged):
                    continue
                if logged and not self.has_index:
                    raise SeriesError(
                        f"The catalog of the series in '{self._shown}' has an unfinished log, which cannot be "
                        "read where nothing may be written.",
                        hint="copy the whole folder to a place that may be written to and open it there once.",
                    ) from None
                raise
            if not self._changed_since(before, logged):
                return result
        raise SeriesLocked(
            f"The catalog of the series in '{self._shown}' keeps changing while it is read.",
            hint="try again when the publication under way has finished.",
        )

    def _fingerprint(self) -> tuple[int, int, int]:
        return _facts(self._path)

    def _changed_since(self, before: tuple[int, int, int], logged: bool) -> bool:
        return not logged and (self.has_log or self._fingerprint() != before)

    @contextmanager
    def _explained(self, *, reading: bool = False) -> Iterator[None]:
        if self._closed:
            raise SeriesError(f"The series in '{self._shown}' has been closed.", hint="open it again.")
        try:
            yield
        except sa.exc.DBAPIError as error:
            raise self._explain(error.orig, reading) from error.orig
        except (sqlite3.Error, UnicodeDecodeError) as error:  # even the message of an error may quote what is no text
            raise self._explain(error, reading) from error

    def _explain(self, error: BaseException | None, reading: bool) -> SeriesError:
        primary = _primary_code(error)
        # Our own questions are right: one that cannot be answered is asked of other tables than ours.
        if primary in _DAMAGED or (reading and primary in _OTHERS) or _no_text(error):
            return SeriesDamaged(
                f"The catalog of the series in '{self._shown}' (private/{self._path.name}) is damaged.",
                hint="restore private/ from a backup; `reissue verify` shows what is still sound.",
            )
        if primary in _LOCKED:
            return SeriesLocked(
                f"The catalog of the series in '{self._shown}' is held by somebody else.", hint="try again."
            )
        return StorageError(
            f"The catalog of the series in '{self._shown}' (private/{self._path.name}) could not be used: {error}.",
            hint="check that the disk is not full and that the folder may be written to.",
        )


def _primary_code(error: BaseException | None) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _no_text(error: BaseException | None) -> bool:
    """Whether the driver found bytes where a text should be."""
    return isinstance(error, UnicodeDecodeError) or (
        isinstance(error, sqlite3.OperationalError) and "Could not decode" in str(error)
    )


def integrity_problems(connection: sa.Connection) -> list[str]:
    """What SQLite finds wrong with its own file."""
    found = [str(row[0]) for row in connection.exec_driver_sql(_CHECKS[0]) if row[0] != "ok"]
    dangling = len(connection.exec_driver_sql(_CHECKS[1]).all())
    if dangling:
        found.append(f"{dangling} rows refer to rows that are not there")
    return found


def structure_problems(connection: sa.Connection) -> list[str]:
    """What SQLite finds wrong with the pages of its file, without a comparison of indexes with tables."""
    return [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check(12)") if row[0] != "ok"]


def has_table(connection: sa.Connection, name: str) -> bool:
    """Whether there is a table of this name; SQLAlchemy's own answer takes many times as long."""
    return (
        connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).first()
        is not None
    )


def behind(connection: sa.Connection) -> sqlite3.Connection:
    """The driver's own connection, in the same transaction."""
    raw = connection.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        raise InternalError("the catalog is not SQLite")
    return raw


def copy_of(connection: sa.Connection) -> bytes:
    """The whole database as one file without a log, as the transaction of the connection sees it."""
    with closing(sqlite3.connect(":memory:")) as copy:
        behind(connection).backup(copy)
        return copy.serialize()


def rows_behind(raw: sqlite3.Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    """All rows; a bit that flipped may have made a text none, and it is then read as far as can be."""
    try:
        return raw.execute(query, values).fetchall()
    except sqlite3.OperationalError as error:
        if not _no_text(error):
            raise
    before, raw.text_factory = raw.text_factory, lambda text: text.decode(errors="surrogateescape")
    try:
        return raw.execute(query, values).fetchall()
    finally:
        raw.text_factory = before


_asked = threading.local()
"""How this thread wants to be connected."""


@cache
def _engine() -> sa.Engine:
    """One for all series, without a pool: it remembers compiled queries, not connections."""
    # hide_parameters: values of the catalog are private and must not get into error messages.
    return sa.create_engine("sqlite://", creator=lambda: _asked.connect(), poolclass=NullPool, hide_parameters=True)


def _connected(connect: Callable[[], sqlite3.Connection]) -> sa.Connection:
    _asked.connect = connect
    return _engine().connect()


def _run(connect: Callable[[], sqlite3.Connection], work: Callable[[sa.Connection], T], begin: str) -> T:
    with _connected(connect) as connection:
        return _transaction(connection, work, begin)


def _transaction(connection: sa.Connection, work: Callable[[sa.Connection], T], begin: str) -> T:
    with connection.begin():
        # Python's driver would begin transactions late and not at all for CREATE TABLE; with
        # isolation_level=None it leaves them to this one line.
        connection.exec_driver_sql(begin)
        return work(connection)


class _Shared(threading.local):
    """The connection that the calls of one thread share within a block."""

    connection: sa.Connection | None = None
    _depth = 0
    _process = 0

    @property
    def wanted(self) -> bool:
        """Whether this thread is in a block; a forked child is not in its parent's, whose connection is not its own."""
        return self._depth > 0 and self._process == os.getpid()

    def enter(self) -> None:
        if self._process != os.getpid():
            if self.connection is not None:
                _LEFT_TO_PARENTS.append(self.connection)
            self.connection, self._depth, self._process = None, 0, os.getpid()
        self._depth += 1

    def leave(self) -> bool:
        """Whether this was the outermost block."""
        self._depth = max(0, self._depth - 1)
        return self._depth == 0

    def close(self) -> None:
        if self.connection is not None and self._process == os.getpid():
            connection, self.connection = self.connection, None
            connection.close()


_LEFT_TO_PARENTS: list[sa.Connection] = []
"""Connections that a forked child inherited: closing them there would take the parent's locks and log away."""


def _facts(path: Path) -> tuple[int, int, int]:
    """What changes with a file."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
