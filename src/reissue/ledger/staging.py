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
    PRIVATE_FILE,
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
    small = {
        name: table
        for name, table in entry.written.items()
        if isinstance(table, pl.DataFrame) and table.width and table.estimated_size() <= SMALL
    }
    jobs: dict[Key, Callable[[Path], FileFacts]] = {
        **{(PUBLIC, name): partial(write_public, table) for name, table in entry.public.items()},
        **{(TABLE, name): partial(write_private, table) for name, table in entry.written.items() if name not in small},
        **({(PACK, ""): partial(write_pack, small)} if small else {}),
        **({(PEOPLE, ""): partial(write_private, people)} if people is not None else {}),
    }
    written = _write_all(jobs, folder, public)
    files = {f"{name}{PARQUET}": facts for (kind, name), facts in written.items() if kind == PUBLIC}
    record, chain = release_json(number, entry.time, entry.manifest, files, previous)
    write_text(public / RECORD, record, PUBLIC_FILE)
    for changed in (public, folder, layout.staging):
        sync_folder(changed)
    adopt_blobs(layout, folder, written)
    tables = {name: Blob(facts.sha256) for (kind, name), facts in written.items() if kind == TABLE}
    if small:
        tables |= dict.fromkeys(small, Blob(written[PACK, ""].sha256, packed=True))
    part = None if people is None else IdFile(people[NUMBER][0], written[PEOPLE, ""].sha256)
    return Staged(folder.name, record, chain, tuple(files), {**kept, **tables}, part)


def staged_files(layout: Layout, staged: Staged) -> list[Path]:
    """The files of a release that are in the folder of work under way, or have their names already."""
    public = layout.staged_release(staged.folder)
    named = {blob.sha256 for blob in staged.tables.values()} | ({staged.people.sha256} if staged.people else set())
    return [public / RECORD, *(public / name for name in staged.files), *map(layout.blob, sorted(named))]


def stage_policy(layout: Layout, toml: str) -> tuple[str, Path]:
    """Write a policy to where it waits for its move; gives the name of the folder, and the file."""
    folder = new_staging_folder(layout)
    text = layout.staged_policy(folder.name)
    write_text(text, toml, PRIVATE_FILE)
    sync_folder(folder)
    sync_folder(layout.staging)
    return folder.name, text


def stage_people(layout: Layout, parts: Sequence[pl.DataFrame]) -> list[IdFile]:
    """Write parts of the table of ids as blobs."""
    folder = new_staging_folder(layout)
    jobs = {(PEOPLE, str(part[NUMBER][0])): partial(write_private, part) for part in parts}
    written = _write_all(jobs, folder, layout.public)
    adopt_blobs(layout, folder, written)
    return [IdFile(int(first), facts.sha256) for (_, first), facts in written.items()]


Key = tuple[str, str]
"""What a file is and the name of its table: a private table may well be called "people"."""
PUBLIC, TABLE, PACK, PEOPLE = "public", "table", "pack", "people"


def _write_all(jobs: Mapping[Key, Callable[[Path], FileFacts]], folder: Path, public: Path) -> dict[Key, FileFacts]:
    """Write files, two at a time: compressing keeps a core busy, and the disk waits for syncs."""
    with ThreadPoolExecutor(2, "reissue-files") as pool:
        running = {key: pool.submit(job, _place(key, folder, public)) for key, job in jobs.items()}
        return {key: job.result() for key, job in running.items()}


def _place(key: Key, folder: Path, public: Path) -> Path:
    """Where a file is written: under its name in the public folder, or in the folder of work under way."""
    kind, name = key
    return public / f"{name}{PARQUET}" if kind == PUBLIC else folder / f"{kind}-{name}{PARQUET}"


def adopt_blobs(layout: Layout, folder: Path, written: Mapping[Key, FileFacts]) -> None:
    """Give staged private files their names in blobs/; one that is there already has the same bytes."""
    for key, facts in written.items():
        if key[0] != PUBLIC:
            _place(key, folder, layout.public).replace(layout.blob(facts.sha256))
    sync_folder(layout.blobs)


def _refuse_other_device(layout: Layout) -> None:
    """A rename cannot cross file systems; better to find out before the release is committed."""
    if len({place.stat().st_dev for place in (layout.public, layout.staging, layout.blobs)}) > 1:
        raise SeriesError(
            "The folders public/ and private/ of the series are on different file systems, so a release cannot "
            "be moved into public/ in one step.",
            hint="keep the whole folder of the series on one file system.",
        )
