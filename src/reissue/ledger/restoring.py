"""Restoring a series from a backup: it appears in one rename, with everything checked, or not at all.

A backup is not believed: its catalog must be one of ours and whole, and names the only files that are taken from it,
each under its hash. They are put where a writer would have left them who was stopped before the last step: public files
wait in staging/. The restored series knows that it was restored. Until somebody says which releases are out, nothing is
published from it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import sqlalchemy as sa

from reissue.errors import SeriesDamaged, SeriesError, count_of, listed
from reissue.ledger import catalog, chain
from reissue.ledger.backups import CATALOG, FIRST, FORMAT, MANIFEST, Contents, Progress, is_backup
from reissue.ledger.creation import CREATING, clear_leftovers, held, make_root, migrate, new_private_folder
from reissue.ledger.durable import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    PUBLIC_FOLDER,
    names_in,
    new_file,
    new_folder,
    remove_tree,
    saying,
    storage,
    sync_folder,
)
from reissue.ledger.layout import POLICY, Layout, is_staged_name
from reissue.ledger.record import newer
from reissue.ledger.sqlite import Database
from reissue.ledger.tar_file import Member, members_of
from reissue.ledger.transactions import add_event
from reissue.ledger.verify import findings_of

_DONE = "is restored, but"
_LARGEST_MANIFEST = 1 << 16
_TABLES, _CHAIN = {table.name for table in catalog.metadata.sorted_tables}, {"links", "seals"}
"""The tables of a catalog, and those that it has besides since everything is sealed."""


class _Wanted(NamedTuple):
    """A file that a catalog asks for."""

    sha256: str
    target: Path
    mode: int


def restore_series(file: Path, root: Path, shown: str, *, progress: Progress) -> None:
    """Make a series from a backup, in a folder that is absent or empty; it waits for `resume`."""
    failure = f"The series in '{shown}' was not restored"
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "is not there" if not file.exists() else "is not a file"
        raise SeriesError(f"'{file}' {what}.", hint="name a file that `reissue backup` wrote.")
    with storage(f"The backup '{file}' could not be read"):
        tar = file.open("rb")
        beginning = tar.read(FIRST)
        tar.seek(0)
    if not is_backup(beginning):
        tar.close()
        raise SeriesError(f"'{file}' is not a backup of a series.", hint="name a file that `reissue backup` wrote.")
    with saying(failure, unless=_DONE), storage(failure), tar:
        size = os.fstat(tar.fileno()).st_size
        existed = root.exists()
        try:
            make_root(root, shown)
            with held(root, shown):
                clear_leftovers(root)
                if names_in(root):
                    raise SeriesError(
                        f"The folder '{shown}' is not empty.", hint="restore into a folder that does not exist yet."
                    )
                with _nothing_left(root):
                    _build(Layout(root, root / CREATING), tar, size, shown, progress)
        except BaseException:
            if not existed:
                with suppress(OSError):  # it is not empty: somebody else is there
                    root.rmdir()
            raise


@contextmanager
def _nothing_left(root: Path) -> Iterator[None]:
    """Should the block fail, leave nothing private behind."""
    try:
        yield
    except BaseException:
        layout = Layout.of(root)
        with suppress(OSError):
            if (root / CREATING).exists():
                remove_tree(root / CREATING)
            if layout.public.is_dir() and not layout.private.exists():
                layout.public.rmdir()
        raise


def _build(layout: Layout, tar: BinaryIO, size: int, shown: str, progress: Progress) -> None:
    members = members_of(tar, size)
    facts = _manifest(members, shown)
    new_private_folder(layout)
    layout.catalog.unlink()
    _take(_next(members, CATALOG), _Wanted(facts["catalog"], layout.catalog, PRIVATE_FILE))
    database = Database(layout.catalog, shown)
    contents = database.read(partial(_contents, layout=layout, shown=shown))
    wanted = dict(_wanted(layout, contents))
    total = len(wanted)
    for member in members:
        one = wanted.pop(member.name, None)
        if one is None:
            raise _damaged(f"it holds {member.name!a}, which its catalog does not know, or twice")
        progress(total - len(wanted), total)
        _take(member, one)
    if wanted:
        raise _damaged(f"it lacks {listed(list(wanted))}")
    new_folder(layout.public, PUBLIC_FOLDER)
    found = [str(one) for one in findings_of(layout, database, shown)]
    if found:
        raise SeriesDamaged("The backup is damaged.", problems=found, hint="use another one.")
    migrate(database)
    detail = f"a backup with {count_of(len(contents.staged), 'release')}"
    database.write(partial(_note_restored, detail=detail))
    for folder in _folders(layout, contents):
        sync_folder(folder)
    layout.private.replace(Layout.of(layout.root).private)
    with storage(f"The series in '{shown}' {_DONE} it may not outlast a power cut"):
        sync_folder(layout.root)


def _manifest(members: Iterator[Member], shown: str) -> dict[str, Any]:
    member = _next(members, MANIFEST)
    if member.size > _LARGEST_MANIFEST:
        raise _damaged(f"its {MANIFEST} is too large")
    try:
        facts = json.loads(b"".join(member.pieces()))
        number, sha256 = facts["format"], facts["catalog"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(f"its {MANIFEST} cannot be understood") from None
    if type(number) is not int or not isinstance(sha256, str):
        raise _damaged(f"its {MANIFEST} cannot be understood")
    if number > FORMAT:
        raise newer(shown, f"a backup of format {number}; this version knows formats up to {FORMAT}")
    return {"catalog": sha256}


def _next(members: Iterator[Member], name: str) -> Member:
    member = next(members, None)
    if member is None or member.name != name:
        raise SeriesDamaged(
            f"This is not a backup of a series, or it is damaged: {name} is not where it should be.",
            hint="name a file that `reissue backup` wrote.",
        )
    return member


def _take(member: Member, wanted: _Wanted) -> None:
    """Write a file of the backup to its place; SeriesDamaged if it is another one."""
    with new_file(wanted.target, wanted.mode) as file:
        found = member.copy_to(file)
    if found != wanted.sha256:
        raise _damaged(f"{member.name} in it is not as it was written")


def _contents(connection: sa.Connection, layout: Layout, shown: str) -> Contents:
    """What the catalog asks for. Nothing but our own tables may be in it: anything else could act by itself."""
    version = catalog.version(connection)
    catalog.check_version(version, shown)
    schema = connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master").all()
    tables = {name for kind, name, _ in schema if kind == "table"}
    others = [name for kind, name, sql in schema if kind != "table" and not (kind == "index" and sql is None)]
    if others or tables != _TABLES | (_CHAIN if version >= catalog.SEALED else set()):
        raise _damaged("its catalog does not have the ledger's own tables, or has something besides")
    return Contents.read(connection, layout, shown)


def _wanted(layout: Layout, contents: Contents) -> Iterator[tuple[str, _Wanted]]:
    """For each name in the backup what it must be and where it goes; makes the folders that wait in staging/."""
    staged = [contents.policy_staged, *contents.staged.values()]
    if len(set(staged)) < len(staged) or not all(map(is_staged_name, staged)):
        raise _damaged("its catalog names folders of work under way in a way that is not the ledger's own")
    for name in staged:
        new_folder(layout.staging / name, PRIVATE_FOLDER)
    for name in contents.staged.values():
        new_folder(layout.staged_release(name), PUBLIC_FOLDER)
    text = contents.policy.encode()
    yield POLICY, _Wanted(hashlib.sha256(text).hexdigest(), layout.staged_policy(contents.policy_staged), PRIVATE_FILE)
    for one in contents.files:
        target = one.places[0] if len(one.places) == 1 else one.places[1]  # of public files the place to wait in
        yield one.name, _Wanted(one.sha256, target, one.mode)


def _note_restored(connection: sa.Connection, detail: str) -> None:
    event = add_event(connection, chain.RESTORED, detail)
    chain.append(connection, chain.RESTORED, [event])


def _folders(layout: Layout, contents: Contents) -> Iterator[Path]:
    """Every folder with new names in it, the innermost first."""
    yield from (layout.staged_release(name) for name in contents.staged.values())
    yield from (layout.staging / name for name in (contents.policy_staged, *contents.staged.values()))
    yield from (layout.staging, layout.blobs, layout.private, layout.root)


def _damaged(why: str) -> SeriesDamaged:
    return SeriesDamaged(f"The backup is damaged: {why}.", hint="use another one.")
