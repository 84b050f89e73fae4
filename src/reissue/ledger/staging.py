"""Writing the files of a commit where nobody looks yet."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from reissue.ledger.layout import PARQUET, RECORD, Layout
from reissue.ledger.parquet import FileFacts, write_private, write_public
from reissue.ledger.record import NUMBER, Entry, release_json
from reissue.ledger.transactions import IdFile, Staged


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
    kept: Mapping[str, str],
    people: pl.DataFrame | None,
) -> Staged:
    """Write every file of a release: public ones into a folder ready to be moved, private ones as blobs.

    `kept` has the SHA-256 of the private tables that are not written anew; `people` is the new part of the table
    of ids.
    """
    _refuse_other_device(layout)
    folder = new_staging_folder(layout)
    public = layout.staged_release(folder.name)
    new_folder(public, PUBLIC_FOLDER)
    # Keyed by kind and name, because a private table may well be called "people".
    frames = {("table", name): frame for name, frame in entry.written.items()}
    if people is not None:
        frames["people", ""] = people
    # Compressing keeps one core busy and the disk waits for syncs; the two kinds of files do not meet.
    with ThreadPoolExecutor(1, "reissue-private-files") as pool:
        private = pool.submit(_write_all_private, frames, folder)
        files = {
            f"{name}{PARQUET}": write_public(frame, public / f"{name}{PARQUET}") for name, frame in entry.public.items()
        }
        written = private.result()
    record, chain = release_json(number, entry.time, entry.manifest, files, previous)
    write_text(public / RECORD, record, PUBLIC_FILE)
    for changed in (public, folder, layout.staging):
        sync_folder(changed)
    shas = adopt_blobs(layout, written)
    tables = {name: sha256 for (kind, name), sha256 in shas.items() if kind == "table"}
    part = None if people is None else IdFile(people[NUMBER][0], shas["people", ""])
    return Staged(folder.name, record, chain, {**kept, **tables}, part)


def stage_people(layout: Layout, parts: Sequence[pl.DataFrame]) -> list[IdFile]:
    """Write parts of the table of ids as blobs."""
    folder = new_staging_folder(layout)
    written = _write_all_private({("people", str(part[NUMBER][0])): part for part in parts}, folder)
    return [IdFile(int(first), sha256) for (_, first), sha256 in adopt_blobs(layout, written).items()]


Key = tuple[str, str]


def _write_all_private(frames: Mapping[Key, pl.DataFrame], folder: Path) -> dict[Key, tuple[Path, FileFacts]]:
    written = {}
    for position, (key, frame) in enumerate(frames.items()):
        path = folder / f"{position}{PARQUET}"
        written[key] = (path, write_private(frame, path))
    return written


def adopt_blobs(layout: Layout, written: Mapping[Key, tuple[Path, FileFacts]]) -> dict[Key, str]:
    """Give staged private files their names in blobs/; one that is there already has the same bytes."""
    for path, facts in written.values():
        path.replace(layout.blob(facts.sha256))
    sync_folder(layout.blobs)
    return {key: facts.sha256 for key, (_, facts) in written.items()}


def _refuse_other_device(layout: Layout) -> None:
    """A rename cannot cross file systems; better to find out before the release is committed."""
    if len({place.stat().st_dev for place in (layout.public, layout.staging, layout.blobs)}) > 1:
        raise SeriesError(
            "The folders public/ and private/ of the series are on different file systems, so a release cannot "
            "be moved into public/ in one step.",
            hint="keep the whole folder of the series on one file system.",
        )
