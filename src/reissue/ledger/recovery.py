"""Bringing a series back into order after whatever happened to the last writer.

The catalog decides. What it knows is finished: files that wait in staging/ are moved to their place.
What it does not know is swept, in private/ only. Nothing in public/ is ever removed: a release there that
the catalog does not know may have been read by anybody, so that is an error for a person to resolve, and
until then nothing is swept either, because it may be needed to repair the catalog.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from reissue.errors import SeriesDamaged, StorageError, count_of, listed
from reissue.ledger import catalog
from reissue.ledger.durable import (
    PRIVATE_FOLDER,
    PUBLIC_FOLDER,
    is_own_file,
    is_own_folder,
    move,
    names_in,
    new_folder,
    remove_file,
    remove_tree,
    sha256_of,
    sync_folder,
)
from reissue.ledger.layout import Layout, is_blob_name, is_release_name, is_staged_name, release_name
from reissue.ledger.sqlite import Database
from reissue.ledger.transactions import referenced_blobs


@dataclass(frozen=True)
class Known:
    """What the catalog knows, as far as files are concerned."""

    releases: dict[str, str]
    """For the folder name of each release, the folder in staging/ that it came from."""
    policy: str
    """The folder in staging/ that the current policy came from."""
    blobs: set[str]
    """The SHA-256 of every blob that is still needed."""

    @classmethod
    def read(cls, connection: sa.Connection) -> Known:
        """Read it from the catalog."""
        policy = connection.execute(catalog.LAST_POLICY).first()
        releases = {release_name(number): staged for number, staged in connection.execute(catalog.STAGED_RELEASES)}
        return cls(releases, "" if policy is None else policy.staged, referenced_blobs(connection))


def sound(layout: Layout, database: Database, shown: str, taking: Collection[str] = ()) -> Known:
    """What the catalog knows; SeriesDamaged is raised if public/ holds releases that it does not know.

    Those that it is about to be told of do not count.
    """
    # First the folder, then the catalog: a writer that commits in between cannot make us see a ghost.
    present = [name for name in names_in(layout.public) if is_release_name(name)]
    known = database.read(Known.read)
    ahead = [f"public/{name}" for name in present if name not in known.releases and name not in taking]
    if ahead:
        raise SeriesDamaged(
            f"The series in '{shown}' has public releases that its catalog does not know: {listed(ahead)}.",
            problems=[
                "private/ may have been restored from a backup older than these releases",
                "or the folders were put there by hand",
            ],
            hint="restore private/ from the newest backup, or let the series go on without their members: `reissue "
            "resume <series> --out <number> --release <folder> --reason <why>`. What has been public must stay in the "
            "history, so do not delete a release that was really published; move a folder away only if it never was.",
        )
    return known


def unfinished(layout: Layout, known: Known) -> str | None:
    """What a reader says of work that a writer has not finished, if there is any; a reader finishes nothing."""
    present = set(names_in(layout.public))
    if gone := missing_folders(layout, known):
        return (
            f"{listed(gone)} is missing: somebody removed it, or moved it away. Put it back, from a backup or from "
            "whoever received it; until then nothing is published."
        )
    waiting = [name for name in known.releases if name not in present]
    if waiting:
        return (
            f"The files of {listed(waiting)} are not in public/ yet: whoever made the release has not finished or was "
            "stopped. They are read where they lie; the next publication, or `reissue resume`, moves them."
        )
    if any(map(is_staged_name, names_in(layout.staging))):
        return "A publication is under way or was stopped; this is the series as it was before."
    return None


def missing_folders(layout: Layout, known: Known) -> list[str]:
    """The folders of releases that are neither in public/ nor wait for their move there: somebody removed them."""
    present = set(names_in(layout.public))
    return [
        f"public/{name}"
        for name, staged in known.releases.items()
        if name not in present
        and not (is_staged_name(staged) and layout.staged_release(staged).exists())
        and not (layout.public / name).exists()  # where it may have been moved to while we looked
    ]


WITHOUT_FILES = (
    'If that cannot be: `reissue publish --allow public-files --reason "..."` goes on without them, and the ledger '
    "keeps the reason."
)
"""How to publish although public files of earlier releases are gone or changed."""


def refuse_missing_folders(layout: Layout, known: Known, shown: str) -> None:
    """Raise SeriesDamaged if there are any."""
    if gone := missing_folders(layout, known):
        raise SeriesDamaged(
            f"In the series in '{shown}' {listed(gone)} is missing, which was there: the release is out.",
            problems=["somebody removed it, or moved it away"],
            hint="put it back, from a backup or from whoever received it; `reissue verify` shows what else is missing. "
            f"{WITHOUT_FILES}",
        )


def recover(layout: Layout, database: Database, shown: str, *, lacking: bool = False) -> None:
    """Finish the moves that a dead writer left, then sweep. Only for the holder of the lock.

    With `lacking` the folders of earlier releases may be missing from public/. Nothing is followed or touched that is
    not of the ledger's own making, and nothing is removed because a row is missing: whoever calls this has seen that
    the catalog is whole.
    """

    def work(known: Known) -> None:
        _finish_moves(layout, known)
        _sweep(layout, known)

    refuse_links(layout)
    known = sound(layout, database, shown)
    if not lacking:
        refuse_missing_folders(layout, known, shown)
    _restore_empty_folders(layout, known, lacking=lacking)
    if not _leftovers(layout, known):
        return
    try:
        # In a transaction, as the one in which a release becomes final: should two hold a lock, because somebody
        # removed its file, one of them still cannot sweep what the other is about to commit.
        database.write(lambda connection: work(Known.read(connection)))
    except StorageError:
        # A full disk has no room for a transaction, and sweeping is what makes room.
        work(known)


def refuse_missing(layout: Layout, files: Sequence[Path]) -> None:
    """Raise SeriesDamaged if files are gone that a change refers to."""
    missing = [layout.relative(path) for path in files if not path.is_file()]
    if missing:
        raise SeriesDamaged(
            f"{listed(missing)} disappeared before the change was final.",
            hint="find out who removes files of the series, then try again.",
        )


def _leftovers(layout: Layout, known: Known) -> bool:
    """Whether there is something to finish or to sweep."""
    return any(map(is_staged_name, names_in(layout.staging))) or bool(superfluous(names_in(layout.blobs), known.blobs))


def linked_places(layout: Layout) -> list[str]:
    """The folders of the series, and the catalog, that are links, which would lead the ledger elsewhere."""
    places = (layout.private, layout.staging, layout.blobs, layout.public, layout.catalog)
    return [layout.relative(place) for place in places if place.is_symlink()]


def refuse_links(layout: Layout) -> None:
    """Raise SeriesDamaged if there are any."""
    if linked := linked_places(layout):
        raise SeriesDamaged(
            f"In the folder of the series {listed(linked)} leads elsewhere, by a link.",
            hint="put the folder itself there; only the folder of the whole series may be a link.",
        )


def refuse_spare(layout: Layout, database: Database) -> None:
    """Raise SeriesDamaged if private tables lie there that a catalog without a chain knows nothing of.

    A chain tells what a dead writer left from what a row is missing of; without one both look alike.
    """
    if spare := superfluous(names_in(layout.blobs), database.read(referenced_blobs)):
        raise SeriesDamaged(
            f"The catalog, which an older version wrote, knows nothing of {count_of(len(spare), 'private table')} that "
            f"{'is' if len(spare) == 1 else 'are'} in private/blobs.",
            problems=[layout.relative(layout.blobs / name) for name in spare[:12]],
            hint="if a publication with the older version was interrupted, they are what it left: move them elsewhere. "
            "Otherwise rows of the catalog are missing: restore the series from a backup.",
        )


def policy_on_disk(layout: Layout, staged: str) -> bytes | None:
    """What policy.toml says, or will say when its move is finished; None when it is missing."""
    waiting = [layout.staged_policy(staged)] if is_staged_name(staged) else []
    for path in (*waiting, layout.policy):
        if is_own_file(path):
            return path.read_bytes()
    return None


def _restore_empty_folders(layout: Layout, known: Known, *, lacking: bool) -> None:
    """Make folders again that a backup or an archive left out because they were empty."""
    wanted = [(layout.blobs, PRIVATE_FOLDER), (layout.staging, PRIVATE_FOLDER)]
    if lacking or not known.releases:
        wanted.append((layout.public, PUBLIC_FOLDER))
    for folder, mode in wanted:
        if not folder.exists():
            new_folder(folder, mode)
            sync_folder(folder.parent)


def _finish_moves(layout: Layout, known: Known) -> None:
    """Move committed files from staging/ to their place."""
    present, waiting = set(names_in(layout.public)), set(names_in(layout.staging))
    for name, staged in known.releases.items():
        if staged not in waiting or not is_own_folder(source := layout.staged_release(staged)):
            continue
        if name not in present:
            move(source, layout.public / name)
        elif not _same(source, layout.public / name):  # what waits is all there is of the release, and would be swept
            raise SeriesDamaged(
                f"public/{name} is in the way of a release whose files wait in {layout.relative(source)}.",
                hint=f"somebody put it there. Move public/{name} away, and let the files be moved to their place with "
                "`reissue resume <series>`.",
            )
    if known.policy and is_own_file(amended := layout.staged_policy(known.policy)):
        move(amended, layout.policy)


def _same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files, as when both were copied while a move was under way."""
    names = names_in(one)
    return is_own_folder(other) and names == names_in(other) and all(_equal(one / name, other / name) for name in names)


def _equal(one: Path, other: Path) -> bool:
    return is_own_file(one) and is_own_file(other) and sha256_of(one) == sha256_of(other)


def _sweep(layout: Layout, known: Known) -> None:
    """Remove what no release refers to: abandoned staging folders and superseded or orphaned blobs."""
    for name in filter(is_staged_name, names_in(layout.staging)):
        if is_own_folder(folder := layout.staging / name):
            remove_tree(folder)  # should a power cut bring it back, the next writer sweeps it again
    for name in superfluous(names_in(layout.blobs), known.blobs):
        remove_file(layout.blobs / name)


def superfluous(names: list[str], needed: set[str]) -> list[str]:
    """The files of blobs that nothing refers to."""
    return [name for name in names if name.partition(".")[0] not in needed and is_blob_name(name)]
