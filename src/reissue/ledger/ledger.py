"""Ledger: the history of one series, on disk.

A commit goes through four steps, and a process that dies in any of them leaves the series either as it was
or complete:

1. every file is written to `private/staging` and synced; private tables get their names in `private/blobs`;
2. one catalog transaction says that the release has happened, and appends a link to the chain;
3. the head of the chain is kept outside, in the anchor;
4. one rename moves the public files to `public/`;
5. what is no longer needed is swept.

Dying before the end of 2 leaves files that nobody refers to, which the next writer sweeps. Dying after
it leaves a release whose move the next writer finishes; until then it is read where it lies. Readers never write.
Whoever begins to write sees first that the catalog is whole (`chain`) and goes on from the anchor; every private table
is compared with its SHA-256 when it is read. Nothing is believed that was not checked.

`forget` removes an id from the only file that holds it. It does not overwrite the medium: copies in
backups, in file system snapshots and in blocks that the disk has not reused are beyond its reach.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial, wraps
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Self, TypeVar

import polars as pl
import sqlalchemy as sa

from reissue.errors import (
    InternalError,
    ParameterError,
    ReissueError,
    ReissueWarning,
    SeriesDamaged,
    SeriesError,
    SeriesLocked,
    StorageError,
    count_of,
    listed,
)
from reissue.ledger import catalog, chain
from reissue.ledger.anchor import Anchor, Known, anchor_in, refuse_known, refuse_restored, refuse_taken
from reissue.ledger.backups import Backup, Progress, back_up
from reissue.ledger.creation import create_series, migrate, refuse_unless_series
from reissue.ledger.durable import is_own_file, names_in, saying, storage
from reissue.ledger.layout import PARQUET, RECORD, Layout, is_release_name, is_staged_name, release_name
from reissue.ledger.lock import WriterLock
from reissue.ledger.people_parts import StoredIds
from reissue.ledger.record import (
    ID,
    LOST,
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
from reissue.ledger.recovery import (
    policy_on_disk,
    recover,
    refuse_links,
    refuse_missing,
    refuse_missing_folders,
    refuse_spare,
    sound,
    unfinished,
)
from reissue.ledger.restoring import restore_series
from reissue.ledger.resuming import (
    Resumption,
    check_known_outside,
    given_folders,
    missing_releases,
    note_finished,
    note_resumed,
    stage_taken,
)
from reissue.ledger.sqlite import Database, Mark
from reissue.ledger.staging import stage_people, stage_policy, stage_release, staged_files
from reissue.ledger.stored_tables import TableFiles, Tables
from reissue.ledger.transactions import (
    ReleaseRow,
    add_release,
    amend_policy,
    before_release,
    blobs_of,
    last_policy,
    last_policy_row,
    last_release,
    replace_people,
    retract_release,
    rows_of,
)
from reissue.ledger.verification import verify_series
from reissue.ledger.verify import SPARE, Discrepancy, check_folder

T = TypeVar("T")
P = ParamSpec("P")

RESUMED_BUT = "The series is resumed, but what belongs to it could not be finished yet"


def _explained(method: Callable[Concatenate[Ledger, P], T]) -> Callable[Concatenate[Ledger, P], T]:
    """Let a method of the ledger tell rows that it cannot understand as damage, with the rows named."""

    @wraps(method)
    def explained(self: Ledger, /, *arguments: P.args, **options: P.kwargs) -> T:
        with self.explaining():
            return method(self, *arguments, **options)

    return explained


class Prepared(NamedTuple, Generic[T]):
    """A change that is ready to be made."""

    change: Callable[[sa.Connection], T]
    files: list[Path]
    """The files that it refers to; all must be there when it becomes final."""


class Ledger:
    """The releases, policies and private tables of one series. Use `create` or `open`."""

    def __init__(self, root: Path, shown: str, *, read_only: bool, anchor: str | None = None) -> None:
        self._layout = Layout.of(root)
        self._shown = shown
        self._read_only = read_only
        self.anchor_file = anchor
        """Where the policy has the anchor kept; None for the state folder of the user."""
        self._database = Database(self._layout.catalog, shown, read_only=read_only)
        self._lock = WriterLock(self._layout.lock, shown)
        self._files = TableFiles(self._layout, shown)
        self._ids = StoredIds(self._files, self._database)
        self._seen_whole: tuple[object, ...] = ()
        self._lacking = False
        """Whether the folders of earlier releases may be missing from public/, for the writer of now."""

    def __repr__(self) -> str:
        return f"Ledger('{self._shown}')"

    @property
    def name(self) -> str:
        """The name of the folder of the series."""
        return self._layout.root.name

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        policy_toml: str,
        adopted: Sequence[Entry] = (),
        *,
        anchor: str | None = None,
    ) -> Ledger:
        """Make a new series in a folder that is absent or empty, and open it.

        `adopted` are releases made elsewhere, which it begins with: it has all of them, or there is no series. `anchor`
        is the file that the policy has its head kept in.
        """
        shown = os.fspath(folder)
        root = Path(folder).resolve()
        refuse_taken(anchor, root)
        create_series(root, shown, policy_toml, adopted)
        ledger = cls.open(folder, anchor=anchor, check=False)
        with ledger.writing(settling=True):
            ledger._put_in_order()  # finishes the moves of what was adopted
            ledger._keep_outside()
        return ledger

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, anchor: str | None = None, check: bool = True) -> Ledger:
        """Open the series in a folder; nothing is written, whatever a dead writer left unfinished.

        With `check=False` nothing is compared with public/, and a catalog may be too old to be read: for looking at a
        damaged series, and for writing.
        """
        shown = os.fspath(folder)
        root = Path(folder).resolve()
        layout = Layout.of(root)
        with storage(f"The series in '{shown}' could not be opened"):
            refuse_unless_series(layout, shown)
            places = (layout.private, layout.public, layout.catalog)
            writable = all(os.access(place, os.W_OK) for place in places if place.exists())
            ledger = cls(root, shown, read_only=not writable, anchor=anchor)
            with ledger.explaining():
                ledger._refuse_unreadable(old=not check)
                said = unfinished(layout, sound(layout, ledger._database, shown)) if check else None
            if said:
                warnings.warn(said, ReissueWarning, stacklevel=2)
        return ledger

    def explaining(self, also: type[ReissueError] = SeriesDamaged) -> AbstractContextManager[None]:
        """Let what goes wrong in a block be told as damage if the catalog is not as it was sealed."""
        return chain.explaining(self._database, self._shown, also)

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
    def writing(self, *, settling: bool = False, lacking: bool = False) -> Iterator[None]:
        """Be the one writer of the series within the block; blocks of the same ledger may be nested.

        With `lacking` the outermost block goes on although public folders of earlier releases are missing.

        Raises SeriesDamaged if the catalog is not as it was written, and NotContinued if it does not go on from its
        anchor; the latter not when `settling` which copy of the series goes on, and then nothing is put in order yet.
        """
        if self._read_only:
            raise StorageError(
                f"The series in '{self._shown}' cannot be written to: its folder is read-only.",
                hint="check the permissions of the folder and how it is mounted, or copy it elsewhere.",
            )
        with storage(f"The series in '{self._shown}' could not be locked"):
            first = self._lock.acquire()
        try:
            if first:
                self._lacking = lacking
            if first and self._database.has_log and self._database.has_index:
                # Of a writer who died, or of somebody else: to write is to fold it into the database for good.
                self._database.read(partial(chain.require_whole, shown=self._shown))
            with self._database.writing():
                if first:
                    with storage(f"The series in '{self._shown}' could not be made ready to be written to"):
                        self._begin(settling=settling)
                yield
        finally:
            self._lock.release()

    def _begin(self, *, settling: bool) -> None:
        """See that the series is whole and goes on from its anchor; then bring it into order."""
        refuse_links(self._layout)
        self._mark, found, version, release = self._database.read(self._first_look)
        self._refuse_other_releases()
        if not found:
            if not settling:
                refuse_known(self.anchor_file, self._layout.root, self._shown)
            refuse_spare(self._layout, self._database)
        links = found
        if version < len(catalog.MIGRATIONS):
            migrate(self._database)
            links = self._database.read(chain.every)
        if not found:
            warnings.warn(
                f"The series in '{self._shown}' was last written to by a version that sealed nothing, so nothing "
                "vouches for what it was before now. From now on every change is sealed.",
                ReissueWarning,
                stacklevel=4,
            )
        self._links, self._settling = links, settling
        if settling:
            return
        refuse_restored(links, self._shown)
        anchor = self._anchor()
        # A chain that begins with this very call was never kept anywhere.
        if found and (said := anchor.check(lambda: (links, release), self._shown)):
            warnings.warn(said, ReissueWarning, stacklevel=4)
        self._put_in_order()
        if said := anchor.behind(found, self._shown):
            warnings.warn(said, ReissueWarning, stacklevel=4)
        if said or links != found:
            self._keep_outside()
            self._leave_word()

    def _refuse_other_releases(self) -> None:
        """Raise SeriesDamaged if public/ is that of another series: its people are not those that are known here."""
        numbers = [int(name) for name in names_in(self._layout.public) if is_release_name(name)]
        record = self._layout.release(max(numbers, default=0)) / RECORD
        if not is_own_file(record):
            return
        rows = self._database.read(rows_of(catalog.ONE_RELEASE, release=max(numbers)))
        if rows and rows[0].record.encode() != record.read_bytes():
            raise SeriesDamaged(
                f"{self._layout.relative(record)} is not the record of release {max(numbers)} that the catalog has.",
                problems=["it was changed, or the folders private and public are of different series"],
                hint="put the file back, or the folder that belongs to the other one; `reissue verify` shows what else "
                "differs.",
            )

    def _first_look(self, connection: sa.Connection) -> tuple[Mark, list[chain.Link], int, int]:
        mark = self._database.mark(connection)
        links = chain.require_whole(connection, self._shown)
        return mark, links, catalog.version(connection), last_release(connection)[0]

    def _put_in_order(self) -> None:
        """Finish what a dead writer left, and sweep."""
        with storage(f"The series in '{self._shown}' could not be made ready to be written to"):
            self._refuse_changed_in_waiting()
            self._recover()

    def require_whole(self) -> None:
        """Raise SeriesDamaged unless the catalog is as it was sealed; whoever writes has seen that already."""
        if self._lock.held or (now := self._database.fingerprint()) == self._seen_whole:
            return
        self._database.read(partial(chain.require_whole, shown=self._shown))
        self._seen_whole = now

    def require_continued(self) -> None:
        """Raise what a publication would be refused with because the series does not go on from what is known outside.

        For whoever only reads: NotContinued, or StorageError if an anchor that the policy names cannot be read. Whoever
        writes has seen it already.
        """
        if self._lock.held:
            return
        links = self._database.read(chain.every)
        if not links:
            refuse_known(self.anchor_file, self._layout.root, self._shown)
            return
        refuse_restored(links, self._shown)

        def present() -> tuple[list[chain.Link], int]:
            return self._database.read(lambda one: (chain.every(one), last_release(one)[0]))

        Anchor.of(links[0].head, self.anchor_file, self._layout.root).check(present, self._shown, writing=False)

    @_explained
    def public_findings(self) -> list[Discrepancy]:
        """What is missing from the public files of the releases so far, or not as it was committed.

        What somebody put beside them changes nothing that was published. Raises SeriesDamaged if there are releases in
        public/ that the catalog does not know.
        """
        sound(self._layout, self._database, self._shown)
        found: list[Discrepancy] = []
        for row in self._database.read(rows_of(catalog.RELEASES)):
            record = row.record.encode()
            found += check_folder(self._layout, row.number, row.staged, record, json.loads(record)["files"])
        return [one for one in found if one.problem != SPARE]

    def _refuse_changed_in_waiting(self) -> None:
        """Raise SeriesDamaged if what a dead writer left to be moved is not what was committed."""
        if not any(map(is_staged_name, names_in(self._layout.staging))):
            return
        present = set(names_in(self._layout.public))
        for row in self._database.read(rows_of(catalog.STAGED_RELEASES)):
            if release_name(row.number) not in present and self._layout.staged_release(row.staged).exists():
                self.check_public(row.number)
        waiting = self._layout.staged_policy(self._database.read(last_policy_row).staged)
        if waiting.exists() and self.policy_file_differs():
            raise SeriesDamaged(
                f"The file {self._layout.relative(waiting)} is not the recorded policy, which waits there.",
                hint="somebody changed it. Put back the text of the policy, or restore the series from a backup.",
            )

    def _anchor(self) -> Anchor:
        return Anchor.of(self._links[0].head, self.anchor_file, self._layout.root)

    def _keep_outside(self) -> None:
        """Write the anchor, for the holder of the lock. In the state folder of the user that need not succeed."""
        known, anchor = self._known_here(), self._anchor()
        try:
            anchor.write(known)
        except StorageError as error:
            if anchor.asked:
                raise
            warnings.warn(f"{error.what} An older copy would not be noticed.", ReissueWarning, stacklevel=4)

    def _known_here(self) -> Known:
        """What an anchor is to know now."""
        link, (release, public) = self._database.read(lambda one: (chain.last(one), last_release(one)))
        if link is None:
            raise InternalError("there is no chain to keep the head of")
        if link.number == len(self._links) + 1:
            self._links = [*self._links, link]
        elif link != self._links[-1]:
            self._links = self._database.read(chain.every)
        return Known(self._links[0].head, link.number, link.head, release, public)

    def _leave_word(self) -> None:
        """Tell the anchors that earlier policies named how far the series is: that is where an older copy looks."""
        policies, known = self._database.read(rows_of(catalog.POLICIES)), self._known_here()
        for asked in sorted({place for row in policies if (place := anchor_in(row.toml))} - {self.anchor_file}):
            try:
                Anchor.of(known.series, asked, self._layout.root).leave_word(known)
            except StorageError as error:
                said = f"{error.what} An older copy, whose policy names it, would not be noticed."
                warnings.warn(said, ReissueWarning, stacklevel=4)

    @_explained
    def head(self) -> chain.Link | None:
        """The last link of the chain; None for a series of an older version that nothing was written to since."""
        return self._database.read(chain.last)

    @_explained
    def links(self) -> list[chain.Link]:
        """All links of the chain, the first one first."""
        return self._database.read(chain.every)

    # Policies

    @property
    @_explained
    def policy(self) -> PolicyVersion:
        """The policy that the series runs under now."""
        return _policy_version(self._database.read(last_policy_row))

    @_explained
    def policies(self) -> list[PolicyVersion]:
        """Every version of the policy, the first one first."""
        rows = self._database.read(rows_of(catalog.POLICIES))
        return [_policy_version(row) for row in rows]

    def amend(self, toml: str, reason: str, *, anchor: str | None) -> PolicyVersion:
        """Record a new version of the policy and rewrite policy.toml; `anchor` is the file it names for the head."""
        if not reason.strip():
            raise ParameterError(
                "The 'reason' parameter of amend must say why the policy changes. Got an empty text instead."
            )
        layout, failure = self._layout, "The new policy was not recorded"

        def prepare() -> Prepared[None]:
            staged, text = stage_policy(layout, toml)
            return Prepared(partial(change, staged=staged), [text])

        def change(connection: sa.Connection, staged: str) -> None:
            # Of the new one nobody else knows yet: another copy of the folder shows at the former one.
            former.check(lambda: (self._links, last_release(connection)[0]), self._shown)
            amend_policy(connection, toml, reason, staged)

        with self.writing():  # goes on from the anchor there was
            former = self._anchor()
            with self._anchored_at(anchor, failure):
                self._change(
                    prepare,
                    failure=failure,
                    unfinished="The new policy is recorded, but what belongs to it could not be finished yet",
                )
        return self.policy

    @contextmanager
    def _anchored_at(self, anchor: str | None, failure: str) -> Iterator[None]:
        """Let a policy that is recorded in the block name another anchor, which is there before anything needs it."""
        if anchor == self.anchor_file:
            yield
            return
        before, version = self.anchor_file, self._database.read(last_policy)
        with saying(failure):
            refuse_taken(anchor, self._layout.root, self._links)
            self.anchor_file = anchor
            try:
                self._keep_outside()
            except BaseException:
                self.anchor_file = before
                raise
        try:
            yield
        except BaseException:
            with suppress(SeriesError):
                if self._database.read(last_policy) == version:
                    self._anchor().remove()
                    self.anchor_file = before
            raise
        self._leave_word()

    @_explained
    def policy_file_differs(self) -> bool:
        """Whether policy.toml says something else than the recorded policy, or is missing."""
        row = self._database.read(last_policy_row)
        recorded: bytes = row.toml.encode()
        return policy_on_disk(self._layout, row.staged) != recorded

    def policy_file_missing(self) -> bool:
        """Whether there is no policy.toml, and none that waits for its move."""
        return policy_on_disk(self._layout, self._database.read(last_policy_row).staged) is None

    # Releases

    @_explained
    def releases(self) -> list[Record]:
        """Every release, the first one first."""
        rows = self._database.read(rows_of(catalog.RELEASES))
        return [self._record(row) for row in rows]

    @_explained
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

        def prepare() -> Prepared[ReleaseRow]:
            nonlocal newcomers
            before = self._database.read(partial(before_release, entry=entry, parent=parent))
            people = None if entry.people is None else self._ids.with_new(entry.people, before.people)
            staged = stage_release(self._layout, entry, number, before.chain, kept=before.kept, people=people)
            if people is not None and staged.people is not None:
                newcomers = partial(self._ids.added, before.people, staged.people, people)
            change = partial(add_release, entry=entry, parent=parent, staged=staged, summary=summary)
            return Prepared(change, staged_files(self._layout, staged))

        row = self._change(
            prepare,
            failure=f"Release {number} was not committed",
            unfinished=f"Release {number} is committed, but what belongs to it could not be finished yet",
        )
        newcomers()
        record = self._record(row)
        lost = [name for name in [RECORD, *record.files] if not is_own_file(self._layout.release(number) / name)]
        if lost:
            raise SeriesDamaged(
                f"Release {number} is committed, but {listed(lost)} is not in public/{release_name(number)}.",
                hint="somebody moved or removed files meanwhile. Do not publish it again: the release counts as out.",
            )
        return record

    def table(self, number: int, name: str) -> pl.DataFrame:
        """A private table of a release."""
        found = self.tables(number)
        if name not in found:
            raise ParameterError(
                f"Release {number} has no private table of this name.", hint=f"it has {listed(list(found))}."
            )
        return found[name]

    @_explained
    def tables(self, number: int, *, inherited: bool = False) -> Tables:
        """The private tables of a release, each read when it is asked for.

        Those of a release whose members are lost are those of the release before, which are `inherited`.
        """
        self.require_whole()  # which table is whose, the catalog says
        this = rows_of(catalog.ONE_RELEASE, release=number)
        found, rows = self._database.read(lambda one: (blobs_of(one, number), this(one)))
        row = rows[0] if rows else self._release_row(number)
        if not inherited and json.loads(row.summary).get(LOST):
            raise ParameterError(
                f"Who is in release {number} is not known here: it was published from a copy of the series whose "
                "private part is lost.",
                hint="its public tables can be read like those of any release, and audited like those made elsewhere.",
            )
        return Tables(self._files, dict(sorted(found.items())))

    @_explained
    def public_table(self, number: int, stem: str) -> pl.DataFrame:
        """A published table of a release."""
        row = self._release_row(number)
        file = f"{stem}{PARQUET}"
        known = self._record(row).files
        if file not in known:
            raise ParameterError(
                f"Release {number} has no public table of this name.", hint=f"it has {listed(sorted(known))}."
            )
        return self._files.read(known[file], *(folder / file for folder in self._places(row)))

    @_explained
    def check_public(self, number: int) -> None:
        """Raise SeriesDamaged unless the public files of a release are as they were committed."""
        row = self._release_row(number)
        record = row.record.encode()
        found = list(check_folder(self._layout, number, row.staged, record, json.loads(record)["files"]))
        if found:
            raise SeriesDamaged(
                f"The public files of release {number} are not as they were committed.",
                problems=[str(finding) for finding in found],
                hint="run `reissue verify` to see what else has changed, then restore the files from a backup.",
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
        self.require_whole()
        return self._ids.all()

    def plain_ids(self) -> pl.Series:
        """Where ids are hashed: the hash of everybody's plain form, in the order of their numbers; null if not kept."""
        self.require_whole()
        return self._ids.plain()

    def next_number(self) -> int:
        """The number that the next new person gets."""
        return self._ids.next_number()

    def forget(self, numbers: Sequence[int]) -> int:
        """Erase the ids of people, who keep their numbers; gives how many ids were erased.

        What this cannot reach is said at the top of this file.
        """
        erased = 0

        def prepare() -> Prepared[None]:
            nonlocal erased
            parts, erased = self._ids.without(numbers)
            if not erased:
                return Prepared(lambda connection: None, [])
            files = stage_people(self._layout, parts)
            change = partial(replace_people, parts=files, erased=erased)
            return Prepared(change, [self._layout.blob(file.sha256) for file in files])

        self._change(
            prepare,
            failure="Nothing was forgotten",
            unfinished="The ids are erased from the series, but the old file could not be removed yet",
        )
        return erased

    def retract(self, number: int, reason: str) -> None:
        """Record that a release is not to be handed out. It stays in the history, and its files stay where they are."""
        self._release_row(number)
        self._change(
            lambda: Prepared(partial(retract_release, number=number, reason=reason), []),
            failure=f"Release {number} was not retracted",
            unfinished=f"Release {number} is retracted, but what belongs to it could not be finished yet",
        )

    def retracted(self) -> dict[int, str]:
        """The releases that are not to be handed out, each with the reason."""
        told = [event.detail.partition(": ") for event in self.events() if event.kind == chain.RETRACTED]
        return {int(release.removeprefix("release ")): reason for release, _, reason in told}

    @_explained
    def events(self) -> list[Event]:
        """What happened to the series besides its releases, the oldest first."""
        rows = self._database.read(rows_of(catalog.EVENTS))
        return [Event(utc_time(row.time), row.kind, row.detail) for row in rows]

    def verify(self) -> list[Discrepancy]:
        """Recompute every hash of the series and compare it with its anchor; see `reissue.ledger.verification`."""
        return list(verify_series(self._layout.root, anchor=self.anchor_file).findings)

    # Copies

    def back_up(
        self, file: str | os.PathLike[str], *, force: bool = False, progress: Progress = lambda done, total: None
    ) -> Backup:
        """Write everything of the series to one file; see `backups`.

        A copy of the series that does not go on is refused: its backup would take the place of a better one.
        """
        with saying(f"The series in '{self._shown}' was not backed up"):
            self.require_continued()
        return back_up(self._layout, self._database, self._shown, Path(file), force=force, progress=progress)

    @classmethod
    def restore(
        cls,
        file: str | os.PathLike[str],
        folder: str | os.PathLike[str],
        *,
        progress: Progress = lambda done, total: None,
    ) -> Ledger:
        """Make a series from a backup in a folder that is absent or empty, and open it; see `restoring`."""
        shown = os.fspath(folder)
        restore_series(Path(file), Path(folder).resolve(), shown, progress=progress)
        ledger = cls.open(folder, check=False)
        unfinished = f"The series in '{shown}' is restored, but its files could not be moved to their places yet"
        with saying(unfinished), storage(unfinished), ledger.writing(settling=True):
            ledger._put_in_order()
        return ledger

    def finish(self, reason: str | None = None) -> None:
        """Finish what a writer left who was stopped, and bring an old catalog up to date; a reason is recorded."""
        with self.writing():
            if reason is None:
                self._keep_outside()
                return
            self._change(
                lambda: Prepared(partial(note_finished, reason=reason), []),
                failure=f"The series in '{self._shown}' was not resumed",
                unfinished=RESUMED_BUT,
            )

    def resume(self, said: Resumption) -> list[int]:
        """Let a series go on of which it is not known outside that it is the last word; see `resuming`.

        Gives the numbers of the releases that were taken in.
        """
        layout, database = self._layout, self._database

        def prepare() -> Prepared[None]:
            summaries = [said.summary(release.body) for release in missing]
            staged = [stage_taken(layout, *one) for one in zip(missing, summaries, strict=True)]
            files = [file for one in staged for file in one.files]
            policy = None
            if missing and said.unprotected is not None:
                policy, text = stage_policy(layout, said.unprotected)
                files.append(text)
            change = partial(note_resumed, said=said, known=known, taken=staged, policy_staged=policy)
            return Prepared(change, files)

        failure = f"The series in '{self._shown}' was not resumed"
        with saying(failure, unless=RESUMED_BUT), storage(failure), self.writing(settling=True):
            given = given_folders(said.releases)
            known, last = database.read(last_release)
            rows = database.read(rows_of(catalog.RELEASES))
            missing = missing_releases(given, said.out, {row.number: row.record for row in rows}, last)
            taking = [release_name(release.number) for release in missing]
            refuse_missing_folders(layout, sound(layout, database, self._shown, taking), self._shown)
            chains = {row.number: row.chain for row in rows} | {one.number: one.chain for one in missing}
            self._settle_with_anchor(said.out, chains, taken=len(missing))
            self._refuse_changed_in_waiting()
            self._change(prepare, failure=failure, unfinished=RESUMED_BUT)
        return [release.number for release in missing]

    def _settle_with_anchor(self, out: int, chains: dict[int, str], *, taken: int) -> None:
        """See that the anchor, where it can be read, does not know better; it is about to be written anew."""
        anchor, links = self._anchor(), self._database.read(chain.every)
        try:
            known = anchor.known_of(links, self._shown)
        except StorageError:
            if anchor.asked:
                raise
            return
        if known is None:
            return
        check_known_outside(known, out, chains, anchor.place)
        here = len(links) - sum(1 for _ in takewhile(lambda link: link.kind == chain.RESTORED, reversed(links)))
        explained = taken > 0 and known.link == here + taken
        if not known.within(links) and not explained:
            warnings.warn(
                "The anchor knows changes that this folder does not have, and not all of them are releases. If the "
                "policy was amended or somebody was forgotten, do that again.",
                ReissueWarning,
                stacklevel=4,
            )

    # How every change is made

    def _change(self, prepare: Callable[[], Prepared[T]], *, failure: str, unfinished: str) -> T:
        """Prepare files, commit one transaction, then put everything in its place; gives what the transaction gave.

        `prepare` writes files that nothing refers to and gives the transaction. Until that has committed the series is
        as it was; afterwards the change has happened, and what could not be finished is finished by whoever comes next.
        Every error says which of the two it is.
        """
        with self.writing():
            with saying(failure, unless=unfinished):
                result = self._commit(*self._prepared(prepare, failure), unfinished)
            done = "do not repeat it: the next writer finishes what is left to do."
            with saying(unfinished), storage(unfinished, hint=done):
                try:
                    self._keep_outside()
                finally:
                    self._recover()
            return result

    def _prepared(self, prepare: Callable[[], Prepared[T]], failure: str) -> Prepared[T]:
        try:
            with storage(failure):
                return prepare()
        except BaseException:
            self._tidy()
            raise

    def _commit(self, change: Callable[[sa.Connection], T], files: Sequence[Path], unfinished: str) -> T:
        before = self._database.read(chain.last)

        def last_look(connection: sa.Connection) -> T:
            disturbed = self._disturbed(connection)
            release, _ = last_release(connection)
            result = change(connection)
            self._lock.require()
            if disturbed:
                raise SeriesLocked(
                    f"Somebody else wrote to the catalog of the series in '{self._shown}', or replaced it, meanwhile.",
                    hint="find out who does; only reissue may write to private/. Then try again.",
                )
            if not self._settling:  # another copy of the folder may have gone on meanwhile
                self._anchor().check(lambda: (self._links, release), self._shown)
            refuse_missing(self._layout, files)
            return result

        try:
            return self._database.write(last_look)
        except BaseException as error:
            # As long as the log of a failed transaction lies there with somebody else's connection
            # on it, a crash could still bring the transaction back to life, and with it its files.
            self._database.let_go()
            if self._database.read(chain.last) != before:  # it failed at its very end, when it had happened
                raise StorageError(
                    f"{unfinished}.", hint="do not repeat it: the next writer goes on from it."
                ) from error
            if not self._database.has_log:
                self._tidy()
            raise

    def _disturbed(self, connection: sa.Connection) -> bool:
        """Whether anybody else wrote to the catalog since we saw that it is whole; SeriesDamaged if it is not now."""
        seen, self._mark = self._mark, self._database.mark(connection)
        if self._mark == seen:
            return False
        chain.require_whole(connection, self._shown)
        return self._mark.connection is seen.connection  # else it is another one of ours, which has looked now

    def _tidy(self) -> None:
        """After a failure: free the space now if possible, else the next writer does."""
        with suppress(SeriesError, OSError):
            self._recover()

    def _recover(self) -> None:
        recover(self._layout, self._database, self._shown, lacking=self._lacking)

    def _refuse_unreadable(self, *, old: bool) -> None:
        found, record = self._database.read(lambda one: (catalog.version(one), catalog.last_record(one)))
        catalog.check_version(found, self._shown)
        # Of the last release only: a version that does not know its format never wrote one after it.
        with suppress(json.JSONDecodeError):  # what is wrong with a record that is none, verify says
            check_format(format_of(json.loads(record or "{}")), self._shown)
        if found < catalog.READABLE and not old:
            raise SeriesError(
                f"The series in '{self._shown}' was written by an old version of Reissue and cannot be read as it is.",
                hint="bring it up to date with `reissue resume <series>`.",
            )


def _policy_version(row: sa.Row[Any]) -> PolicyVersion:
    return PolicyVersion(row.version, row.toml, row.reason, utc_time(row.time))
