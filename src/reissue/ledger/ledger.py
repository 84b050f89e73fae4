"""Ledger: the history of one series, on disk.

A commit goes through four steps, and a process that dies in any of them leaves the series either as it was
or complete:

1. every file is written to `private/staging` and synced; private tables get their names in `private/blobs`;
2. one catalog transaction says that the release has happened;
3. one rename moves the public files to `public/`;
4. what is no longer needed is swept.

Dying before the end of 2 leaves files that nobody refers to, which the next writer sweeps. Dying after
it leaves a release whose move the next one to open the series finishes; until then it is read where it lies.

`forget` removes an id from the only file that holds it. It does not overwrite the medium: copies in
backups, in file system snapshots and in blocks that the disk has not reused are beyond its reach.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import polars as pl
import sqlalchemy as sa

from reissue.errors import (
    ParameterError,
    SeriesDamaged,
    SeriesError,
    SeriesLocked,
    StorageError,
    count_of,
    listed,
)
from reissue.ledger import catalog
from reissue.ledger.creation import create_series, migrate, refuse_unless_series
from reissue.ledger.durable import PRIVATE_FILE, storage, sync_folder, write_text
from reissue.ledger.layout import PARQUET, Layout
from reissue.ledger.lock import WriterLock
from reissue.ledger.people_parts import StoredIds
from reissue.ledger.record import (
    ID,
    NUMBER,
    OWN_FIELDS,
    Entry,
    Event,
    PolicyVersion,
    Record,
    canonical,
    check_format,
    format_of,
    utc_time,
)
from reissue.ledger.recovery import leftovers, policy_on_disk, recover, sound
from reissue.ledger.sqlite import Database
from reissue.ledger.staging import new_staging_folder, stage_people, stage_release
from reissue.ledger.stored_tables import TableFiles, Tables
from reissue.ledger.transactions import (
    ReleaseRow,
    add_release,
    amend_policy,
    before_release,
    blobs_of,
    last_policy_row,
    last_release,
    replace_people,
    rows_of,
)
from reissue.ledger.verify import Discrepancy, check_folder, verify

T = TypeVar("T")
Change = Callable[[sa.Connection], T]


class Ledger:
    """The releases, policies and private tables of one series. Use `create` or `open`."""

    def __init__(self, root: Path, shown: str, *, read_only: bool) -> None:
        self._layout = Layout.of(root)
        self._shown = shown
        self._read_only = read_only
        self._database = Database(self._layout.catalog, shown, read_only=read_only)
        self._lock = WriterLock(self._layout.lock, shown)
        self._files = TableFiles(self._layout, shown)
        self._ids = StoredIds(self._files, self._database)

    def __repr__(self) -> str:
        return f"Ledger('{self._shown}')"

    @classmethod
    def create(cls, folder: str | os.PathLike[str], policy_toml: str, adopted: Sequence[Entry] = ()) -> Ledger:
        """Make a new series in a folder that is absent or empty, and open it.

        `adopted` are releases made elsewhere, which it begins with: it has all of them, or there is no series.
        """
        shown = os.fspath(folder)
        create_series(Path(folder).resolve(), shown, policy_toml, adopted)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, check: bool = True) -> Ledger:
        """Open the series in a folder, and finish what a dead writer left unfinished.

        With `check=False` nothing is finished, swept or compared with public/: for looking at a damaged series.
        """
        shown = os.fspath(folder)
        root = Path(folder).resolve()
        layout = Layout.of(root)
        with storage(f"The series in '{shown}' could not be opened"):
            refuse_unless_series(layout, shown)
            places = (layout.private, layout.public, layout.catalog)
            writable = all(os.access(place, os.W_OK) for place in places if place.exists())
            ledger = cls(root, shown, read_only=not writable)
            with ledger.reading():
                ledger._bring_up_to_date()
                if check and leftovers(layout, sound(layout, ledger._database, shown)) and writable:
                    # Reading needs none of this: whoever is writing, or writes next, does it or says why not.
                    with suppress(SeriesLocked, StorageError), ledger.writing(), storage("Tidying up failed"):
                        recover(layout, ledger._database, shown)
        return ledger

    def close(self) -> None:
        """Be done with the series; nothing is kept open between calls, only ids that were read are in memory."""
        self._database.close()
        self._ids.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one writer of the series within the block; blocks of the same ledger may be nested."""
        if self._read_only:
            raise StorageError(
                f"The series in '{self._shown}' cannot be written to: its folder is read-only.",
                hint="check the permissions of the folder and how it is mounted, or copy it elsewhere.",
            )
        with storage(f"The series in '{self._shown}' could not be locked"):
            self._lock.acquire()
        try:
            with self.reading():
                yield
        finally:
            self._lock.release()

    def reading(self) -> AbstractContextManager[None]:
        """Ask the catalog over one connection within the block; every question still sees what is there by then."""
        return self._database.together()

    # Policies

    @property
    def policy(self) -> PolicyVersion:
        """The policy that the series runs under now."""
        return _policy_version(self._database.read(last_policy_row))

    def policies(self) -> list[PolicyVersion]:
        """Every version of the policy, the first one first."""
        rows = self._database.read(rows_of(catalog.POLICIES))
        return [_policy_version(row) for row in rows]

    def amend(self, toml: str, reason: str) -> PolicyVersion:
        """Record a new version of the policy and rewrite policy.toml."""
        if not reason.strip():
            raise ParameterError(
                "The 'reason' parameter of amend must say why the policy changes. Got an empty text instead."
            )
        layout = self._layout

        def prepare() -> Change[None]:
            folder = new_staging_folder(layout)
            write_text(layout.staged_policy(folder.name), toml, PRIVATE_FILE)
            sync_folder(folder)
            sync_folder(layout.staging)
            return partial(amend_policy, toml=toml, reason=reason, staged=folder.name)

        self._change(
            prepare,
            failure="The new policy was not recorded",
            unfinished="The new policy is recorded, but policy.toml could not be rewritten yet",
        )
        return self.policy

    def policy_file_differs(self) -> bool:
        """Whether policy.toml says something else than the recorded policy, or is missing."""
        row = self._database.read(last_policy_row)
        recorded: bytes = row.toml.encode()
        return policy_on_disk(self._layout, row.staged) != recorded

    # Releases

    def releases(self) -> list[Record]:
        """Every release, the first one first."""
        rows = self._database.read(rows_of(catalog.RELEASES))
        return [self._record(row) for row in rows]

    def last(self) -> Record | None:
        """The last release, without reading of the others; None before the first."""
        rows = self._database.read(rows_of(catalog.LAST_RELEASE))
        return self._record(rows[0]) if rows else None

    def commit(self, entry: Entry, *, parent: int) -> Record:
        """Make a release durable, entirely or not at all.

        `parent` is the number of the release that the draft was made after, 0 for none. StaleDraft is raised
        when something was committed since. A StorageError says whether the release has been committed.
        """
        number = parent + 1
        summary = canonical(entry.summary)

        newcomers: Callable[[], None] = lambda: None  # noqa: E731

        def prepare() -> Change[ReleaseRow]:
            nonlocal newcomers
            before = self._database.read(partial(before_release, entry=entry, parent=parent))
            people = None if entry.people is None else self._ids.with_new(entry.people, before.people)
            staged = stage_release(self._layout, entry, number, before.chain, kept=before.kept, people=people)
            if people is not None and staged.people is not None:
                newcomers = partial(self._ids.added, before.people, staged.people, people)
            return partial(add_release, entry=entry, parent=parent, staged=staged, summary=summary)

        row = self._change(
            prepare,
            failure=f"Release {number} was not committed",
            unfinished=f"Release {number} is committed, but its files could not be moved to public/ yet",
        )
        newcomers()
        return self._record(row)

    def table(self, number: int, name: str) -> pl.DataFrame:
        """A private table of a release."""
        found = self.tables(number)
        if name not in found:
            raise ParameterError(
                f"Release {number} has no private table of this name.", hint=f"it has {listed(list(found))}."
            )
        return found[name]

    def tables(self, number: int) -> Tables:
        """The private tables of a release, each read when it is asked for."""
        found = self._database.read(partial(blobs_of, number=number))
        if not found:
            self._release_row(number)
        return Tables(self._files, dict(sorted(found.items())))

    def public_table(self, number: int, stem: str) -> pl.DataFrame:
        """A published table of a release."""
        row = self._release_row(number)
        file = f"{stem}{PARQUET}"
        known = self._record(row).files
        if file not in known:
            raise ParameterError(
                f"Release {number} has no public table of this name.", hint=f"it has {listed(sorted(known))}."
            )
        return self._files.read(*(folder / file for folder in self._places(row)))

    def check_public(self, number: int) -> None:
        """Raise SeriesDamaged unless the public files of a release are as they were committed."""
        row = self._release_row(number)
        record = row.record.encode()
        found = list(check_folder(self._layout, number, row.staged, record, json.loads(record)["files"]))
        if found:
            raise SeriesDamaged(
                f"The public files of release {number} are not as they were committed.",
                problems=[str(finding) for finding in found],
                hint="run `reissue log --verify` to see what else has changed, then restore the files from a backup.",
            )

    def _release_row(self, number: int) -> ReleaseRow:
        rows = self._database.read(rows_of(catalog.ONE_RELEASE, release=number))
        if not rows:
            last, _ = self._database.read(last_release)
            raise ParameterError(
                f"There is no release {number} in '{self._shown}'; it has {count_of(last, 'release')}."
            )
        return rows[0]

    def _record(self, row: ReleaseRow) -> Record:
        record = json.loads(row.record)
        return Record(
            number=row.number,
            time=utc_time(row.time),
            policy_version=row.policy_version,
            manifest={key: value for key, value in record.items() if key not in OWN_FIELDS},
            files={name: facts["sha256"] for name, facts in record["files"].items()},
            chain=row.chain,
            summary=json.loads(row.summary),
            seed=row.seed,
            mark=row.staged,
            path=next((place for place in self._places(row) if place.is_dir()), self._layout.release(row.number)),
        )

    def _places(self, row: ReleaseRow) -> list[Path]:
        """Where the public files may be; public/ again at the end, for a move that happens meanwhile."""
        public = self._layout.release(row.number)
        return [public, self._layout.staged_release(row.staged), public]

    # People

    def people(self) -> pl.DataFrame:
        """The table of ids: `number`, and `id`, null for a person who was forgotten."""
        ids = self.ids()
        return pl.DataFrame([pl.int_range(ids.len(), dtype=pl.UInt32, eager=True).alias(NUMBER), ids.alias(ID)])

    def ids(self) -> pl.Series:
        """The id of everybody, in the order of their numbers from 0; null for a person who was forgotten."""
        return self._ids.all()

    def next_number(self) -> int:
        """The number that the next new person gets."""
        return self._ids.next_number()

    def forget(self, numbers: Sequence[int]) -> int:
        """Erase the ids of people, who keep their numbers; gives how many ids were erased.

        What this cannot reach is said at the top of this file.
        """
        erased = 0

        def prepare() -> Change[None]:
            nonlocal erased
            parts, erased = self._ids.without(numbers)
            if not erased:
                return lambda connection: None
            return partial(replace_people, parts=stage_people(self._layout, parts), erased=erased)

        self._change(
            prepare,
            failure="Nothing was forgotten",
            unfinished="The ids are erased from the series, but the old file could not be removed yet",
        )
        return erased

    def events(self) -> list[Event]:
        """What happened to the series besides its releases, the oldest first."""
        rows = self._database.read(rows_of(catalog.EVENTS))
        return [Event(utc_time(row.time), row.kind, row.detail) for row in rows]

    def verify(self) -> list[Discrepancy]:
        """Recompute every hash of the series; see `reissue.ledger.verify`."""
        return verify(self._layout.root)

    # How every change is made

    def _change(self, prepare: Callable[[], Change[T]], *, failure: str, unfinished: str) -> T:
        """Prepare files, commit one transaction, then put everything in its place; gives what the transaction gave.

        `prepare` writes files that nothing refers to and gives the transaction. Until that has committed the series is
        as it was; afterwards the change has happened, and what could not be finished is finished by whoever comes next.
        """
        with self.writing():
            with storage(failure):
                recover(self._layout, self._database, self._shown)
            try:
                with storage(failure):
                    change = prepare()
            except BaseException:
                self._tidy()
                raise
            try:
                result = self._database.write(change)
            except BaseException:
                # As long as the log of a failed transaction lies there with somebody else's connection
                # on it, a crash could still bring the transaction back to life, and with it its files.
                self._database.let_go()
                if not self._database.has_log:
                    self._tidy()
                raise
            with storage(unfinished, hint="do not repeat it: opening the series finishes what is left to do."):
                recover(self._layout, self._database, self._shown)
            return result

    def _tidy(self) -> None:
        """After a failure: free the space now if possible, else the next writer does."""
        with suppress(SeriesError, OSError):
            recover(self._layout, self._database, self._shown)

    def _bring_up_to_date(self) -> None:
        found, record = self._database.read(lambda one: (catalog.version(one), catalog.last_record(one)))
        catalog.check_version(found, self._shown)
        # Of the last release only: a version that does not know its format never wrote one after it.
        with suppress(json.JSONDecodeError):  # what is wrong with a record that is none, verify says
            check_format(format_of(json.loads(record or "{}")), self._shown)
        if found == len(catalog.MIGRATIONS):
            return
        if self._read_only:
            if found >= catalog.READABLE:
                return
            raise SeriesError(
                f"The series in '{self._shown}' was written by an older version of Reissue and is read-only.",
                hint="open it once where it may be written to; that brings its catalog up to date.",
            )
        with self.writing():
            migrate(self._database)


def _policy_version(row: sa.Row[Any]) -> PolicyVersion:
    return PolicyVersion(row.version, row.toml, row.reason, utc_time(row.time))
