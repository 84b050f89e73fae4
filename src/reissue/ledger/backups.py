"""A backup: one file with everything of a series, consistent while somebody writes to it.

The catalog is copied in one read transaction. What it refers to does not change any more, but for the files of ids: a
writer who merges them, or forgets somebody, removes those before. If one of them is gone when its turn comes, or
somebody was forgotten meanwhile, the copy begins again from the catalog as it is then. Every file is compared with its
hash while it is copied, and the finished copy is read again before it gets its name.

    backup.json                    the format, the head, the SHA-256 of the catalog
    private/catalog.sqlite
    policy.toml                    the recorded policy
    private/blobs/<sha256>.parquet
    public/0001/release.json ...
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import os
import re
import secrets
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import sqlalchemy as sa

from reissue.errors import ParameterError, ReissueWarning, SeriesDamaged, SeriesLocked, StorageError
from reissue.ledger import catalog, chain
from reissue.ledger.chain import FORGOT, Link
from reissue.ledger.durable import PRIVATE_FILE, PUBLIC_FILE, is_own_file, move, names_in, saying, storage, sync
from reissue.ledger.layout import POLICY, RECORD, Layout, is_public_name, is_staged_name, release_name
from reissue.ledger.record import canonical, now, utc_text
from reissue.ledger.recovery import policy_on_disk, refuse_links
from reissue.ledger.sqlite import Database, copy_of, integrity_problems
from reissue.ledger.tar_file import add_file, end_tar, members_of
from reissue.ledger.transactions import current_people, last_policy_row, referenced_blobs
from reissue.ledger.verify import parsed_record

FORMAT = 1
MANIFEST = "backup.json"
FIRST = 512
"""The bytes of a backup that tell it from other files: the header of its first entry."""
CATALOG = "private/catalog.sqlite"
READABLE = 0o644
"""The most that whoever unpacks a backup by hand should let others do with its files."""
_ATTEMPTS = 20
_PART = r"\.[0-9a-f]{16}\.part"

Progress = Callable[[int, int], None]
"""Called with how many files are done, and how many there are."""


def is_backup(beginning: bytes) -> bool:
    """Whether a file that begins with these bytes looks like a backup, whole or not: its first entry has our name.

    Or it is a tar file all the same, or nothing is left of it: then it may be damaged, and that is told elsewhere.
    """
    name = MANIFEST.encode()
    return beginning[: len(name)] == name[: len(beginning)] or beginning[257:262] == b"ustar"


@dataclass(frozen=True)
class Backup:
    """A finished backup."""

    file: Path
    head: str | None
    """The head of the chain of the series in it; None for a series that is older than chains."""
    releases: int
    """How many releases it has."""
    files: int
    """How many files are in it."""
    size: int
    """Its bytes."""


class Kept(NamedTuple):
    """A file that belongs to a series."""

    name: str
    """Its name in a backup, and from the folder of the series."""
    sha256: str
    places: tuple[Path, ...]
    """Where it may lie."""
    mode: int


class Contents(NamedTuple):
    """What a catalog refers to."""

    policy: str
    policy_staged: str
    staged: dict[int, str]
    """For each release the folder in staging/ that it came from."""
    files: list[Kept]
    """The files of ids first: they alone are ever replaced."""
    links: list[Link]

    @property
    def head(self) -> str | None:
        """The head of its chain."""
        return str(self.links[-1]) if self.links else None

    @classmethod
    def read(cls, connection: sa.Connection, layout: Layout, shown: str) -> Contents:
        """Read it from a catalog; SeriesDamaged unless that is whole."""
        if problems := integrity_problems(connection):
            raise SeriesDamaged(
                f"The catalog of the series in '{shown}' is damaged.",
                problems=problems,
                hint="run `reissue verify` to see what is still sound.",
            )
        links = chain.require_whole(connection, shown)
        people = [part.sha256 for part in current_people(connection)]
        blobs = [*people, *sorted(referenced_blobs(connection) - set(people))]
        files = [Kept(layout.name_of_blob(blob), blob, (layout.blob(blob),), PRIVATE_FILE) for blob in blobs]
        staged = {}
        for row in connection.execute(catalog.RELEASES):
            staged[row.number] = row.staged
            files += _of_release(layout, row.number, row.staged, row.record.encode(), shown)
        policy = last_policy_row(connection)
        return cls(policy.toml, policy.staged, staged, files, links)


def _forgotten(links: Sequence[Link]) -> int:
    """How often somebody was forgotten."""
    return sum(link.kind == FORGOT for link in links)


def _of_release(layout: Layout, number: int, staged: str, record: bytes, shown: str) -> Iterator[Kept]:
    """The public files of a release; the first place again at the end, for a move that happens meanwhile."""
    body = parsed_record(record)
    if body is None or not all(map(is_public_name, body["files"])):
        raise SeriesDamaged(
            f"The record of release {number} in the catalog of '{shown}' cannot be understood.",
            hint="run `reissue verify` to see what else has changed.",
        )
    public = layout.release(number)
    folders = (public, *([layout.staged_release(staged)] if is_staged_name(staged) else []), public)
    hashes = {
        RECORD: hashlib.sha256(record).hexdigest(),
        **{name: one["sha256"] for name, one in body["files"].items()},
    }
    for name, sha256 in hashes.items():
        places = tuple(folder / name for folder in folders)
        yield Kept(f"public/{release_name(number)}/{name}", sha256, places, PUBLIC_FILE)


def back_up(layout: Layout, database: Database, shown: str, file: Path, *, force: bool, progress: Progress) -> Backup:
    """Write a backup of a series to a file, which appears complete and verified, or not at all."""
    _refuse_target(layout, file, force)
    refuse_links(layout)
    failure = f"The series in '{shown}' was not backed up"
    with saying(failure), storage(failure), _part_of(file) as (path, part):
        for _ in range(_ATTEMPTS):
            contents, content = database.read(lambda one: (Contents.read(one, layout, shown), copy_of(one)))
            part.seek(0)
            part.truncate()
            try:
                written = _write(part, contents, content, shown, progress)
            except FileNotFoundError as gone:
                if database.read(chain.every) == contents.links:
                    raise SeriesDamaged(
                        f"The file {gone.filename} of the series in '{shown}' is missing.",
                        hint="run `reissue verify` to see what else is missing.",
                    ) from None
                continue
            if _forgotten(database.read(chain.every)) == _forgotten(contents.links):
                break
        else:
            raise SeriesLocked(
                "Files of ids kept being replaced while they were copied.", hint="try again when less is published."
            )
        part.flush()
        sync(part.fileno())
        _read_back(part, written, progress)
        _warn_of_policy(layout, contents)
        _refuse_target(layout, file, force)
        move(path, file)
        size = os.fstat(part.fileno()).st_size
        return Backup(file, contents.head, len(contents.staged), len(written), size)


def _write(tar: BinaryIO, contents: Contents, content: bytes, shown: str, progress: Progress) -> list[tuple[str, str]]:
    """Write everything; gives the name and the SHA-256 of each file."""
    sha256 = hashlib.sha256(content).hexdigest()
    facts = {"format": FORMAT, "catalog": sha256, "head": contents.head, "releases": len(contents.staged)}
    texts = {
        MANIFEST: canonical({**facts, "time": utc_text(now())}).encode(),
        CATALOG: content,
        POLICY: contents.policy.encode(),
    }
    total = 2 * (len(texts) + len(contents.files))
    written = [(name, add_file(tar, name, io.BytesIO(text), len(text), PRIVATE_FILE)) for name, text in texts.items()]
    for one in contents.files:
        progress(len(written), total)
        with _opened(one) as (file, size):
            found = add_file(tar, one.name, file, size, one.mode & READABLE)
        if found != one.sha256:
            raise SeriesDamaged(
                f"The file {one.name} of the series in '{shown}' is not as it was written.",
                hint="run `reissue verify` to see what else has changed, then restore the series from a backup.",
            )
        written.append((one.name, found))
    end_tar(tar)
    return written


@contextmanager
def _opened(kept: Kept) -> Iterator[tuple[BinaryIO, int]]:
    """A file from the first place where it is, and its size; no link is followed."""
    for place in kept.places:
        try:
            # Whoever opens a pipe would wait for ever.
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise _not_plain(kept) from None
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            os.close(descriptor)
            raise _not_plain(kept)
        with os.fdopen(descriptor, "rb") as file:
            yield file, facts.st_size
        return
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), kept.name)


def _not_plain(kept: Kept) -> SeriesDamaged:
    return SeriesDamaged(f"{kept.name} is not a plain file.", hint="run `reissue verify` to see what else has changed.")


def _read_back(tar: BinaryIO, written: Sequence[tuple[str, str]], progress: Progress) -> None:
    """Compare what lies there now with what was written."""
    size = tar.tell()
    tar.seek(0)
    read: list[tuple[str, str]] = []
    for member in members_of(tar, size):
        progress(len(written) + len(read), 2 * len(written))
        read.append((member.name, member.copy_to()))
    if read != list(written):
        raise StorageError(
            "What was read back is not what was written.", hint="check the disk, or write to another one."
        )


def _warn_of_policy(layout: Layout, contents: Contents) -> None:
    if policy_on_disk(layout, contents.policy_staged) != contents.policy.encode():
        said = f"{POLICY} is not the recorded policy; the backup has the recorded one."
        warnings.warn(said, ReissueWarning, stacklevel=4)


def _refuse_target(layout: Layout, file: Path, force: bool) -> None:
    if file.resolve().is_relative_to(layout.root):
        raise ParameterError(
            "A backup inside the folder of the series is none.", hint="name a file elsewhere, best on another disk."
        )
    if not file.parent.is_dir():
        raise ParameterError(
            f"There is no folder '{file.parent}' to write the backup to.", hint="make it, or name a file elsewhere."
        )
    if file.is_dir() or (file.exists() and not force):
        raise ParameterError(f"There is a file or folder '{file}' already.", hint="name another one, or pass --force.")


@contextmanager
def _part_of(file: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A file to be written and then moved to its place; what is left of it at the end of the block is removed.

    Somebody who was killed could not remove his. He holds no lock on it any more, so it is removed here.
    """
    for name in names_in(file.parent):
        if re.fullmatch(re.escape(file.name) + _PART, name) and is_own_file(left := file.parent / name):
            _remove_abandoned(left)
    path = file.with_name(f"{file.name}.{secrets.token_hex(8)}.part")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        with os.fdopen(descriptor, "r+b") as part:
            os.fchmod(descriptor, PRIVATE_FILE)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield path, part
    finally:
        path.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    with path.open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # somebody is writing it
        path.unlink(missing_ok=True)
