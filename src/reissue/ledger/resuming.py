"""Resuming a series that is not known to be the last word: restored, an older copy, or without its anchor.

Somebody says which releases are out. Releases that the series does not have are taken in with their public files, which
must continue the chain of those it has. Who is in them is lost: they keep the private tables of the last release that
is known, for the next one to go on from, and are marked, so that nobody takes these for theirs.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from reissue.errors import NotContinued, ParameterError, SeriesDamaged, SeriesError, StaleDraft, listed
from reissue.ledger import catalog, chain
from reissue.ledger.anchor import Known
from reissue.ledger.durable import PUBLIC_FILE, PUBLIC_FOLDER, new_file, new_folder, sync_folder
from reissue.ledger.layout import RECORD, Layout, is_public_name, release_name
from reissue.ledger.public_folders import ReleaseFolder, release_folder
from reissue.ledger.record import LOST, canonical, utc_text, utc_time
from reissue.ledger.sent_packages import release_findings
from reissue.ledger.staging import new_staging_folder
from reissue.ledger.transactions import add_event, add_policy, blobs_of, last_policy, last_release

Facts = Mapping[str, Any]
"""What a release.json says."""


@dataclass(frozen=True, repr=False)
class Resumption:
    """What somebody says about a series that goes on."""

    out: int
    """The number of the last release that is out."""
    reason: str
    releases: Sequence[str | os.PathLike[str]] = ()
    """The public folders of the releases that the series does not have."""
    unprotected: str | None = None
    """The policy under which it goes on without knowing who was in a release; None if the present one will do."""
    summary: Callable[[Facts], Mapping[str, object]] = lambda facts: {}
    """The private summary of a release whose members are lost."""

    def __post_init__(self) -> None:
        if not isinstance(self.out, int) or isinstance(self.out, bool) or self.out < 0:
            raise ParameterError(
                f"The 'out' parameter of resume must be the number of the last release that is out, or 0. "
                f"Got {self.out!r} instead."
            )
        if not self.reason.strip():
            raise ParameterError("The 'reason' parameter of resume must say why. Got an empty text instead.")


def given_folders(folders: Sequence[str | os.PathLike[str]]) -> dict[int, ReleaseFolder]:
    """The releases in folders, by number, each sound in itself."""
    found: dict[int, ReleaseFolder] = {}
    for folder in folders:
        shown = os.fspath(folder)
        release = release_folder(Path(folder), shown)
        if release is None:
            raise SeriesError(
                f"There is no release in '{shown}': it has no {RECORD} that can be understood.",
                hint="give the folder of one release, with its record and all its files.",
            )
        if problems := [str(one) for one in release_findings(release)]:
            raise SeriesError(
                f"The release in '{shown}' is not as its record says.",
                problems=problems,
                hint="give the folder as it was published; a recipient may have it.",
            )
        if not all(map(is_public_name, release.files)) or not _has_a_time(release.body):
            raise SeriesError(
                f"The record of the release in '{shown}' is not one that Reissue wrote.",
                hint="give the folder as it was published; a recipient may have it.",
            )
        if release.number in found:
            raise ParameterError(f"Release {release.number} is given twice.", hint="give each missing release once.")
        found[release.number] = release
    return found


def _has_a_time(facts: Facts) -> bool:
    try:
        return bool(utc_text(utc_time(facts["time"])) == facts["time"])
    except (KeyError, TypeError, ValueError):
        return False


def missing_releases(
    given: Mapping[int, ReleaseFolder], out: int, records: Mapping[int, str], last: str | None
) -> list[ReleaseFolder]:
    """The releases that are to be taken in, in their order; refused unless they are all that are missing.

    `records` has the release.json of each release that the series has; `last` is the chain value of the last one.
    """
    known = max(records, default=0)
    if out < known:
        raise SeriesError(
            f"The series has release {known}, and what it has counts as out; so release {out} is not the last one.",
            hint=f"say --out {known}, or the number of a later one. Whether release {known} has left the house or not, "
            "it must be treated as if it had.",
        )
    for number, release in given.items():
        if number in records and release.record != records[number].encode():
            raise SeriesError(
                f"The release in '{release.shown}' is another release {number} than the one that the series has.",
                hint="two different releases of one number are out, if both were given away. Find out which folder the "
                "other one was published from, and go on there.",
            )
    wanted = range(known + 1, out + 1)
    superfluous = [f"release {number}" for number in sorted(given) if number > out]
    if superfluous:
        raise ParameterError(f"{listed(superfluous)} is given and not said to be out.", hint="say a larger --out.")
    if lacking := [f"release {number}" for number in wanted if number not in given]:
        raise SeriesError(
            f"The series in this folder ends with release {known}. To go on after release {out}, it must be given the "
            "public files of those in between.",
            problems=[f"{one} is not given" for one in lacking],
            hint="give the public folder of each with --release; recipients have them.",
        )
    for number in wanted:
        release = given[number]
        if release.previous != last:
            raise SeriesError(
                f"The release in '{release.shown}' does not continue this series: it follows another release "
                f"{number - 1} than the one that is here.",
                hint="give the release that was made from this very series.",
            )
        last = release.chain
    return [given[number] for number in wanted]


def check_known_outside(known: Known, out: int, chains: Mapping[int, str], place: object) -> None:
    """Raise NotContinued if the anchor knows better which releases are out. `chains` has theirs."""
    if known.release > out:
        raise NotContinued(
            f"Release {known.release} is out: the anchor '{place}' knows it.",
            hint=f"say --out {known.release} or a later one, with the public folders of releases that are not here.",
        )
    if known.release and known.chain is not None and chains.get(known.release) != known.chain:
        raise NotContinued(
            f"The anchor '{place}' knows another release {known.release} than the one that is here.",
            hint="go on with the folder that was published from last. If both releases are out and that folder is gone "
            "for good, move the anchor away; then this history is taken for the true one.",
        )


class Taken(NamedTuple):
    """A release that is ready to be taken in."""

    release: ReleaseFolder
    staged: str
    files: list[Path]
    summary: Mapping[str, object]


def stage_taken(layout: Layout, release: ReleaseFolder, summary: Mapping[str, object]) -> Taken:
    """Copy the public files of a release to where they wait for their move; those in public/ already stay there."""
    public = layout.release(release.number)
    names = [RECORD, *release.files]
    if public.exists():
        _check_in_place(layout, public, release)
        return Taken(release, secrets.token_hex(8), [public / name for name in names], summary)
    folder = new_staging_folder(layout)
    waiting = layout.staged_release(folder.name)
    new_folder(waiting, PUBLIC_FOLDER)
    expected = {name: facts["sha256"] for name, facts in release.files.items()}
    expected[RECORD] = hashlib.sha256(release.record).hexdigest()
    for name, sha256 in expected.items():
        content = (release.path / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise SeriesError(f"'{release.shown}/{name}' changed while it was read.", hint="try again.")
        with new_file(waiting / name, PUBLIC_FILE) as file:
            file.write(content)
    for changed in (waiting, folder, layout.staging):
        sync_folder(changed)
    return Taken(release, folder.name, [waiting / name for name in names], summary)


def _check_in_place(layout: Layout, public: Path, release: ReleaseFolder) -> None:
    there = release_folder(public, layout.relative(public))
    problems = [f"{layout.relative(public)}: it is another release"]
    if there is not None and there.record == release.record:
        problems = [str(one) for one in there.findings()]
    if problems:
        raise SeriesDamaged(
            f"public/{release_name(release.number)} is not the release that is given.",
            problems=problems,
            hint="put the files there that were published, or move the folder away if it never was a release.",
        )


def note_resumed(
    connection: sa.Connection, said: Resumption, known: int, taken: Sequence[Taken], policy_staged: str | None
) -> None:
    """Record that the series goes on, the releases that are taken in, and the policy that follows from it."""
    if last_release(connection)[0] != known:
        raise StaleDraft("Something was committed meanwhile.", hint="look at the series, then try again.")
    version, sealed = last_policy(connection), []
    for one in taken:
        sealed += _add_taken(connection, one, version, known)
    if policy_staged is not None and said.unprotected is not None:
        add_policy(connection, version + 1, said.unprotected, said.reason, policy_staged)
        event = add_event(connection, "amended", f"policy version {version + 1}")
        sealed += [chain.policy_part(version + 1), event]
    sealed.append(add_event(connection, chain.RESUMED, f"release {said.out} is the last one out: {said.reason}"))
    chain.append(connection, chain.RESUMED, sealed)


def note_finished(connection: sa.Connection, reason: str) -> None:
    """Record that the series goes on as it is."""
    event = add_event(connection, chain.RESUMED, reason)
    chain.append(connection, chain.RESUMED, [event])


def _add_taken(connection: sa.Connection, taken: Taken, policy: int, known: int) -> list[str]:
    release = taken.release
    row = {
        "number": release.number,
        "policy_version": policy,
        "time": release.body["time"],
        "record": release.record.decode(),
        "chain": release.chain,
        "summary": canonical({**taken.summary, LOST: True}),
        "seed": "",
        "staged": taken.staged,
    }
    connection.execute(catalog.releases.insert(), row)
    tables = blobs_of(connection, known)
    if tables:
        kept = [{"release_number": release.number, "name": name, "sha256": str(blob)} for name, blob in tables.items()]
        connection.execute(catalog.blobs.insert(), kept)
    event = add_event(connection, "taken in", f"release {release.number}, whose members are lost")
    return [chain.release_part(release.number), chain.tables_part(release.number), event]
