"""Creating a series: it appears in one rename or not at all.

The private folder is built as `.creating` inside the folder of the series and renamed to `private`; the
catalog in it is what makes a folder a series. `policy.toml` is then moved out of staging/ like that of any
later version, or by whoever opens the series next. A series that begins with releases made elsewhere is
created with them: they wait in staging/ too, so that it has all of them or there is none. It is all built
inside the folder, not beside it, so that the folder may be a mount point, a link or the current directory,
and its parent need not be writable.
Whoever creates holds a lock on the folder itself: a `.creating` that he finds belongs to a dead process.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from reissue.errors import NotASeries, SeriesDamaged, SeriesError, SeriesLocked, count_of
from reissue.ledger import catalog, chain
from reissue.ledger.durable import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    PUBLIC_FOLDER,
    move,
    names_in,
    new_file,
    new_folder,
    remove_tree,
    storage,
    sync_folder,
    write_text,
)
from reissue.ledger.layout import Layout, is_blob_name, is_release_name
from reissue.ledger.people_parts import StoredIds
from reissue.ledger.record import Entry, canonical
from reissue.ledger.sqlite import Database
from reissue.ledger.staging import new_staging_folder, stage_release
from reissue.ledger.stored_tables import TableFiles
from reissue.ledger.transactions import add_event, add_policy, add_release, before_release

CREATING = ".creating"


def create_series(root: Path, shown: str, policy_toml: str, adopted: Sequence[Entry] = ()) -> None:
    """Make a series in a folder that is absent or empty; it has no releases but those adopted."""
    with storage(f"The series in '{shown}' could not be created"):
        make_root(root, shown)
        with held(root, shown):
            clear_leftovers(root)
            _refuse_unless_free(root, shown, policy_toml)
            _build(Layout(root, root / CREATING), shown, policy_toml, adopted)


def make_root(root: Path, shown: str) -> None:
    """Make the folder of a series, and those above it, unless they are there."""
    if root.exists() and not root.is_dir():
        raise SeriesError(f"'{shown}' is a file, so no series can be created there.", hint="choose another name.")
    missing = [folder for folder in (root, *root.parents) if not folder.exists()]
    root.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


@contextmanager
def held(root: Path, shown: str) -> Iterator[None]:
    """Be the only one who makes a series in a folder."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno != errno.EWOULDBLOCK:
            raise
        raise SeriesLocked(
            f"A series is being created in '{shown}' by somebody else.", hint="open it when that has finished."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


def clear_leftovers(root: Path) -> None:
    """Remove what a creation that died left: `.creating`, made first, and perhaps an empty public/."""
    layout = Layout.of(root)
    if CREATING not in names_in(root):
        return
    if layout.public.is_dir() and not layout.private.exists() and not names_in(layout.public):
        layout.public.rmdir()
        sync_folder(root)
    remove_tree(root / CREATING)


def _refuse_unless_free(root: Path, shown: str, policy_toml: str) -> None:
    layout = Layout.of(root)
    found = names_in(root)
    if layout.catalog.exists():
        raise SeriesError(f"There is a series in '{shown}' already.", hint="open it instead of creating it.")
    # A policy file that says the same may have been put there for this very purpose.
    if found == [layout.policy.name] and layout.policy.read_bytes() == policy_toml.encode():
        return
    if found:
        raise SeriesError(
            f"The folder '{shown}' holds {count_of(len(found), 'file or folder', 'files and folders')}, but no series.",
            hint="create the series in a folder that does not exist yet or is empty.",
        )


def new_private_folder(layout: Layout) -> None:
    """Make the private folder of a series, with a catalog that holds nothing yet."""
    new_folder(layout.private, PRIVATE_FOLDER)
    new_folder(layout.blobs, PRIVATE_FOLDER)
    new_folder(layout.staging, PRIVATE_FOLDER)
    for path in (layout.lock, layout.catalog):
        with new_file(path, PRIVATE_FILE):
            pass  # SQLite takes an empty file for an empty database, and keeps its mode for all it adds


def _build(layout: Layout, shown: str, policy_toml: str, adopted: Sequence[Entry]) -> None:
    new_private_folder(layout)
    folder = new_staging_folder(layout)
    write_text(layout.staged_policy(folder.name), policy_toml, PRIVATE_FILE)
    database = Database(layout.catalog, shown)
    migrate(database)
    database.write(partial(_first_rows, policy_toml=policy_toml, staged=folder.name))
    new_folder(layout.public, PUBLIC_FOLDER)
    _adopt(layout, database, shown, adopted)
    for changed in (folder, layout.staging, layout.private, layout.root):
        sync_folder(changed)
    move(layout.private, Layout.of(layout.root).private)


def _first_rows(connection: sa.Connection, policy_toml: str, staged: str) -> None:
    add_policy(connection, 1, policy_toml, "created", staged)
    add_event(connection, "created", "policy version 1")
    chain.append_all(connection, chain.CREATED)


def _adopt(layout: Layout, database: Database, shown: str, adopted: Sequence[Entry]) -> None:
    """Record releases made elsewhere; their public files stay in staging/ until the series is opened."""
    ids = StoredIds(TableFiles(layout, shown), database)
    for parent, entry in enumerate(adopted):
        before = database.read(partial(before_release, entry=entry, parent=parent))
        people = None if entry.people is None else ids.with_new(entry.people, before.people)
        staged = stage_release(layout, entry, parent + 1, before.chain, kept=before.kept, people=people)
        summary = canonical(entry.summary)
        database.write(
            partial(add_release, entry=entry, parent=parent, staged=staged, summary=summary, kind=chain.ADOPTED)
        )


def migrate(database: Database) -> None:
    """Bring a catalog up to date, one migration and its record at a time, and seal what it then is."""

    def last(connection: sa.Connection) -> None:
        catalog.apply_migration(connection, len(catalog.MIGRATIONS))
        # A catalog that holds nothing yet is sealed with its first rows.
        if connection.execute(catalog.LAST_POLICY).first() is not None:
            if chain.every(connection):
                chain.append(connection, chain.MIGRATED, [chain.SCHEMA])
            else:
                chain.append_all(connection, chain.BEGAN)

    missing = range(database.read(catalog.version) + 1, len(catalog.MIGRATIONS) + 1)
    for number in missing[:-1]:
        database.write(partial(catalog.apply_migration, number=number))
    if missing:
        database.write(last)


def refuse_unless_series(layout: Layout, shown: str) -> None:
    """Raise NotASeries if a folder has no catalog; SeriesDamaged if something else in it shows that it had one."""
    if layout.catalog.is_file():
        return
    own = layout.relative(layout.catalog)
    if any(map(is_blob_name, names_in(layout.blobs))) or any(map(is_release_name, names_in(layout.public))):
        raise SeriesDamaged(
            f"The series in '{shown}' has no catalog: {own} is missing, or is not a file.",
            hint="restore the series from a backup with `reissue restore`. `reissue verify <folder>/public` checks the "
            "releases by themselves.",
        )
    first = "check the path. "
    if not layout.root.is_dir():
        why = "there is no such folder"
    elif (layout.root / CREATING).exists():
        why = "its creation was interrupted before it was complete, and nothing of it is kept"
        first = "begin again. "
    else:
        why = f"it has no file {own}"
    raise NotASeries(
        f"There is no series in '{shown}': {why}.",
        hint=f"{first}To create a series there, give a policy: `reissue publish <folder> <table> --policy <file>` or "
        "`ri.open(folder, policy)`; `reissue init <table>` proposes one. To create one that goes on from releases made "
        "elsewhere: `reissue adopt <folder> <releases> --members <file> --policy <file>` or `ri.adopt(...)`.",
    )
