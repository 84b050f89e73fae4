"""Recomputing everything: does the series still say what it said when it was written?

Nothing is changed by looking. Every byte in `public/` is covered by a hash in a `release.json`, every
`release.json` by the chain and by the catalog's own copy, every private table by the name of its file.
A series that is being written to may be looked at too.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reissue.errors import InternalError, SeriesDamaged
from reissue.ledger import catalog
from reissue.ledger.chain import Break, breaks, explaining
from reissue.ledger.creation import refuse_unless_series
from reissue.ledger.durable import names_in, sha256_of, storage
from reissue.ledger.layout import PARQUET, RECORD, Layout, is_blob_name, is_staged_name, release_name
from reissue.ledger.record import canonical, chain_value, check_format, format_of
from reissue.ledger.recovery import linked_places, policy_on_disk, superfluous
from reissue.ledger.sqlite import Database, integrity_problems
from reissue.ledger.transactions import referenced_blobs
from reissue.model.telling import tell

SPARE = "it does not belong to the release"
"""What is said of a file that somebody put beside those of a release."""


@dataclass(frozen=True)
class Discrepancy:
    """One thing that is not as it was written."""

    file: str
    """The file or folder, from the folder of the series."""
    problem: str
    """What is wrong with it, in plain words."""

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


@dataclass(frozen=True)
class _Expected:
    """What the catalog says should be there."""

    records: dict[int, bytes]
    """For each release, its release.json."""
    chains: dict[int, str]
    staged: dict[int, str]
    blobs: set[str]
    policy: bytes
    policy_staged: str
    sealed: bool
    """Whether it has a chain."""


def verify(folder: str | os.PathLike[str]) -> list[Discrepancy]:
    """Check every file of a series against what was recorded of it; an empty list says that all is well."""
    shown = os.fspath(folder)
    layout = Layout.of(Path(folder).resolve())
    with storage(f"The series in '{shown}' could not be read"):
        refuse_unless_series(layout, shown)
        return list(findings_of(layout, Database(layout.catalog, shown, read_only=True), shown))


def findings_of(layout: Layout, database: Database, shown: str) -> Iterator[Discrepancy]:
    """What is not as it was recorded in a series whose folder is in place."""
    # First the folders, then the catalog: it knows whatever a writer has put there before.
    present = names_in(layout.public)
    blobs = names_in(layout.blobs)
    own_name = layout.relative(layout.catalog)
    yield from (Discrepancy(place, "it leads elsewhere, by a link") for place in linked_places(layout))
    try:
        problems, broken = database.read(lambda connection: _condition(connection, shown))
        yield from (Discrepancy(own_name, f"the database is damaged: {problem}") for problem in problems)
        yield from (Discrepancy(own_name, str(one)) for one in broken)
        with explaining(database, shown):
            expected = database.read(lambda connection: _expected(connection, shown))
    except SeriesDamaged as damage:
        yield Discrepancy(own_name, f"{damage.what} The releases are checked by their own records only.")
        expected = None
    if expected is None:
        records = _records_on_disk(layout, present)
    else:
        records = expected.records
        for gap in sorted(set(range(1, max(records, default=0))) - set(records)):
            yield Discrepancy(own_name, f"release {gap} is missing from it")
    yield from _check_releases(layout, records, expected, shown)
    known = {release_name(number) for number in records}
    for name in present:
        if name not in known:
            yield Discrepancy(f"public/{name}", "the catalog knows nothing of it")
    yield from _check_blobs(layout, blobs)
    if expected is not None:
        yield from _missing_blobs(layout, database, expected.blobs)
        yield from _spare_blobs(layout, blobs, expected)
        yield from _check_policy(layout, expected)
    if stat.S_IMODE(layout.private.stat().st_mode) & 0o077:
        yield Discrepancy("private", "others than its owner may look into it; its mode should be 0700")


def _condition(connection: sa.Connection, shown: str) -> tuple[list[str], list[Break]]:
    """What the database finds wrong with itself, and what is not as it was sealed."""
    problems = integrity_problems(connection)
    catalog.check_version(catalog.version(connection), shown)
    return problems, breaks(connection)


def _expected(connection: sa.Connection, shown: str) -> _Expected:
    releases = connection.execute(catalog.RELEASES).all()
    policies = connection.execute(catalog.POLICIES).all()
    if not policies:
        raise SeriesDamaged(f"The catalog of the series in '{shown}' holds no policy.")
    texts = [*(policies[-1][1:]), *(text for row in releases for text in (row.record, row.chain, row.staged))]
    if not all(isinstance(text, str) for text in texts):  # as damaged pages may have it
        raise SeriesDamaged(f"The catalog of the series in '{shown}' has no texts where there should be some.")
    return _Expected(
        records={int(row.number): row.record.encode() for row in releases},
        chains={row.number: row.chain for row in releases},
        staged={row.number: row.staged for row in releases},
        blobs=referenced_blobs(connection),
        policy=policies[-1].toml.encode(),
        policy_staged=policies[-1].staged,
        sealed=catalog.version(connection) >= catalog.SEALED,
    )


def _records_on_disk(layout: Layout, present: list[str]) -> dict[int, bytes]:
    paths = {int(name): layout.public / name / RECORD for name in present if name.isdecimal()}
    return {number: path.read_bytes() if path.is_file() else b"" for number, path in sorted(paths.items())}


def _check_releases(
    layout: Layout, records: dict[int, bytes], expected: _Expected | None, folder: str
) -> Iterator[Discrepancy]:
    previous: str | None = None
    # Public files are half of the work, and private ones the other.
    for at, (number, text) in enumerate(records.items()):
        tell(at, 2 * len(records))
        shown = f"public/{release_name(number)}"
        body = parsed_record(text)
        if body is None:
            yield Discrepancy(f"{shown}/{RECORD}", "the record of the release cannot be understood")
            continue
        check_format(format_of(body), folder)
        chain = body.pop("chain")
        links = [previous] if expected is None else [previous, expected.chains[number]]
        if body["previous"] != links[0] or any(chain != link for link in [chain_value(previous, body), *links[1:]]):
            yield Discrepancy(f"{shown}/{RECORD}", "its chain does not fit its content and the release before it")
        previous = chain
        staged = "" if expected is None else expected.staged[number]
        yield from check_folder(layout, number, staged, text, body["files"])


def parsed_record(text: bytes) -> dict[str, Any] | None:
    """The content of a release.json, or None if it is not one."""
    try:
        body = json.loads(text)
        if canonical(body).encode() != text:
            return None
    except (ValueError, RecursionError, InternalError):
        return None
    if not isinstance(body, dict) or not {"chain", "previous", "files"} <= set(body) or format_of(body) is None:
        return None
    files = body["files"]
    sound = isinstance(files, dict) and all(
        isinstance(facts, dict) and isinstance(facts.get("sha256"), str) for facts in files.values()
    )
    return body if sound else None


def check_folder(
    layout: Layout, number: int, staged: str, record: bytes, files: dict[str, dict[str, object]]
) -> Iterator[Discrepancy]:
    """What is wrong with the public files of one release."""
    public = layout.release(number)
    waiting = layout.staged_release(staged) if is_staged_name(staged) else public
    folder = waiting if not public.is_dir() and waiting.is_dir() else public
    found = list(check_files(folder, layout.relative(public), record, files))
    if found and folder == waiting and public.is_dir():  # its move was finished while we looked
        found = list(check_files(public, layout.relative(public), record, files))
    yield from found


def check_files(folder: Path, shown: str, record: bytes, files: dict[str, dict[str, object]]) -> Iterator[Discrepancy]:
    """What is wrong with the files in the folder of a release, given its release.json and the files that it names."""
    if not folder.is_dir():
        yield Discrepancy(shown, "the release was committed, but its folder is missing")
        return
    present = set(names_in(folder))
    for name in sorted(present - set(files) - {RECORD}):
        yield Discrepancy(f"{shown}/{name}", SPARE)
    for name in sorted({*files, RECORD} - present):
        yield Discrepancy(f"{shown}/{name}", "it is missing")
    for name in sorted({*files, RECORD} & present):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            yield Discrepancy(f"{shown}/{name}", "it is not a plain file")
        elif name != RECORD:
            yield from _check_bytes(path, f"{shown}/{name}", str(files[name]["sha256"]))
        elif path.read_bytes() != record:
            yield Discrepancy(f"{shown}/{name}", "its bytes have changed since the release was committed")


def _check_bytes(path: Path, shown: str, sha256: str) -> Iterator[Discrepancy]:
    try:
        same = sha256_of(path) == sha256
    except FileNotFoundError:
        raise
    except OSError as error:
        yield Discrepancy(shown, f"it cannot be read: {os.strerror(error.errno or 0)}")
        return
    if not same:
        yield Discrepancy(shown, "its bytes have changed since it was written (its SHA-256 is another)")


def _check_blobs(layout: Layout, names: list[str]) -> Iterator[Discrepancy]:
    for at, name in enumerate(names):
        tell(len(names) + at, 2 * len(names))
        path = layout.blobs / name
        shown = layout.relative(path)
        if not is_blob_name(name):
            yield Discrepancy(shown, "it does not belong to the ledger")
            continue
        if path.is_symlink() or (path.exists() and not path.is_file()):  # whoever opens a pipe waits for ever
            yield Discrepancy(shown, "it is not a plain file")
            continue
        try:
            yield from _check_bytes(path, shown, name.partition(".")[0])
        except FileNotFoundError:
            continue  # superseded and removed while we looked; whether it is needed is checked below


def _missing_blobs(layout: Layout, database: Database, needed: set[str]) -> Iterator[Discrepancy]:
    named = {sha256 for sha256 in needed if is_blob_name(f"{sha256}{PARQUET}")}
    if needed - named:
        yield Discrepancy(
            layout.relative(layout.catalog), "it names a private table in a way that is not the ledger's own"
        )
    missing = {sha256 for sha256 in named if not layout.blob(sha256).is_file()}
    if missing:  # a writer may have superseded a file since; ask again
        missing &= database.read(referenced_blobs)
    for sha256 in sorted(missing):
        yield Discrepancy(layout.relative(layout.blob(sha256)), "it is missing")


def _spare_blobs(layout: Layout, names: list[str], expected: _Expected) -> Iterator[Discrepancy]:
    """Tables that nobody refers to, of a series without a chain: a row may be missing. Else a dead writer left them."""
    if not expected.sealed and not any(map(is_staged_name, names_in(layout.staging))):
        for name in superfluous(names, expected.blobs):
            yield Discrepancy(layout.relative(layout.blobs / name), "the catalog knows nothing of it")


def _check_policy(layout: Layout, expected: _Expected) -> Iterator[Discrepancy]:
    text = policy_on_disk(layout, expected.policy_staged)
    if text is None:
        yield Discrepancy(
            layout.relative(layout.policy), "it is missing; `reissue log <series> --policy` prints what it said"
        )
    elif text != expected.policy:
        yield Discrepancy(
            layout.relative(layout.policy), "it is not the recorded policy; amend the policy or restore it"
        )
