"""Writing the files of a commit where nobody looks yet."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl

from reissue.errors import SeriesError
from reissue.ledger.durable import (
    PRIVATE_FOLDER,
    PUBLIC_FILE,
    PUBLIC_FOLDER,
    new_folder,
    sync_folder,
    write_text,
)
from reissue.ledger.layout import PARQUET, RECORD, Blob, Layout
from reissue.ledger.parquet import FileFacts, write_pack, write_private, write_public
from reissue.ledger.record import NUMBER, Entry, release_json
from reissue.ledger.transactions import IdFile, Staged

SMALL = 1 << 17
"""A private table of at most so many bytes in memory shares a file with others."""


def new_staging_folder(layout: Layout) -> Path:
    """An empty folder in staging/ with a name of its own."""
    folder = layout.staging / secrets.token_hex(8)
    new_folder(folder, PRIVATE_FOLDER)
    return folder


def stage_release(
    layout: Layout,
    entry: Entry,
    number: int,
    previous: str | None,
    *,
    kept: Mapping[str, Blob],
    people: pl.DataFrame | None,
) -> Staged:
    """Write every file of a release: public ones into a folder ready to be moved, private ones as blobs.

    `kept` has the files of the private tables that are not written anew; `people` is the new part of the table of
    ids. Small tables share a file: making and syncing one costs more than what is in it.
    """
    _refuse_other_device(layout)
    folder = new_staging_folder(layout)
    public = layout.staged_release(folder.name)
    new_folder(public, PUBLIC_FOLDER)
    small = {name: frame for name, frame in entry.written.items() if frame.width and frame.estimated_size() <= SMALL}
    large = {name: frame for name, frame in entry.written.items() if name not in small}
    # Compressing keeps one core busy and the disk waits for syncs; the two kinds of files do not meet.
    with ThreadPoolExecutor(1, "reissue-private-files") as pool:
        private = pool.submit(_write_private, folder, large, small, people)
        files = {
            f"{name}{PARQUET}": write_public(frame, public / f"{name}{PARQUET}") for name, frame in entry.public.items()
        }
        blobs = private.result()
    record, chain = release_json(number, entry.time, entry.manifest, files, previous)
    write_text(public / RECORD, record, PUBLIC_FILE)
    for changed in (public, folder, layout.staging):
        sync_folder(changed)
    adopt_blobs(layout, folder, blobs.files)
    return Staged(folder.name, record, chain, {**kept, **blobs.tables}, blobs.people)


def stage_people(layout: Layout, parts: Sequence[pl.DataFrame]) -> list[IdFile]:
    """Write parts of the table of ids as blobs."""
    folder = new_staging_folder(layout)
    blobs = _Blobs(folder)
    found = [IdFile(part[NUMBER][0], blobs.add(partial(write_private, part))) for part in parts]
    adopt_blobs(layout, folder, blobs.files)
    return found


class _Blobs:
    """Private files that are written to a folder in staging/, each with its SHA-256."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[str] = []
        """The SHA-256 of each file; its name is its place in the list."""
        self.tables: dict[str, Blob] = {}
        self.people: IdFile | None = None

    def add(self, write: Callable[[Path], FileFacts]) -> str:
        """Write one more file; gives its SHA-256."""
        self.files.append(write(self._folder / f"{len(self.files)}{PARQUET}").sha256)
        return self.files[-1]


def _write_private(
    folder: Path, large: Mapping[str, pl.DataFrame], small: Mapping[str, pl.DataFrame], people: pl.DataFrame | None
) -> _Blobs:
    blobs = _Blobs(folder)
    for name, frame in large.items():
        blobs.tables[name] = Blob(blobs.add(partial(write_private, frame)))
    if small:
        pack = Blob(blobs.add(partial(write_pack, small)), packed=True)
        blobs.tables |= dict.fromkeys(small, pack)
    if people is not None:
        blobs.people = IdFile(people[NUMBER][0], blobs.add(partial(write_private, people)))
    return blobs


def adopt_blobs(layout: Layout, folder: Path, files: Sequence[str]) -> None:
    """Give staged private files their names in blobs/; one that is there already has the same bytes."""
    for place, sha256 in enumerate(files):
        (folder / f"{place}{PARQUET}").replace(layout.blob(sha256))
    sync_folder(layout.blobs)


def _refuse_other_device(layout: Layout) -> None:
    """A rename cannot cross file systems; better to find out before the release is committed."""
    if len({place.stat().st_dev for place in (layout.public, layout.staging, layout.blobs)}) > 1:
        raise SeriesError(
            "The folders public/ and private/ of the series are on different file systems, so a release cannot "
            "be moved into public/ in one step.",
            hint="keep the whole folder of the series on one file system.",
        )
