"""What is asked of the catalog and written to it; each function runs in the transaction of its connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa

from reissue.errors import InternalError, SeriesDamaged, StaleDraft, count_of
from reissue.ledger import catalog, chain
from reissue.ledger.layout import Blob
from reissue.ledger.record import Entry, now, utc_text


class IdFile(NamedTuple):
    """A file with the ids of the people from a number on."""

    first: int
    sha256: str


@dataclass(frozen=True, repr=False)
class Staged:
    """Files that are complete and durable, and that nothing refers to yet."""

    folder: str
    """The name of the folder in staging/."""
    record: str
    """The text of release.json."""
    chain: str
    files: tuple[str, ...]
    """The names of the public files."""
    tables: dict[str, Blob]
    """The file of each private table."""
    people: IdFile | None
    """The ids of the new people; it takes the place of all parts that begin at its first number or later."""


class ReleaseRow(Protocol):
    """What the catalog has of a release: a row of it, or what was just written as one."""

    number: int
    policy_version: int
    time: str
    record: str
    chain: str
    summary: str
    seed: str
    staged: str


class Before(NamedTuple):
    """What a release goes on from."""

    chain: str | None
    """The chain value of its parent."""
    kept: dict[str, Blob]
    """The files of the private tables that it keeps."""
    people: list[IdFile]


def rows_of(query: sa.Select[Any], **values: object) -> Callable[[sa.Connection], Sequence[sa.Row[Any]]]:
    """A function that runs a query with some values and gives all its rows."""
    return lambda connection: connection.execute(query, values).all()


def add_event(connection: sa.Connection, kind: str, detail: str) -> str:
    """Record an event in the transaction of the connection; gives the part that is to be sealed."""
    last = connection.scalar(catalog.LAST_EVENT) or 0
    values = {"number": last + 1, "time": utc_text(now()), "kind": kind, "detail": detail}
    connection.execute(catalog.events.insert(), values)
    return chain.event_part(last + 1)


def current_people(connection: sa.Connection) -> list[IdFile]:
    """The files that hold people's ids, in the order of the numbers."""
    return [IdFile(first, sha256) for first, sha256 in connection.execute(catalog.PEOPLE)]


def add_people(connection: sa.Connection, part: IdFile) -> None:
    """Make a blob the last part of the table of ids, in place of those that begin with it or later."""
    superseded, added = catalog.NEW_PEOPLE
    connection.execute(superseded, {"first": part.first})
    connection.execute(added, {"first_number": part.first, "sha256": part.sha256})


def blobs_of(connection: sa.Connection, number: int) -> dict[str, Blob]:
    """The file of each private table of a release, by the name of the table."""
    return {name: Blob.parse(sha256) for name, sha256 in connection.execute(catalog.TABLES, {"release": number})}


def kept_blobs(connection: sa.Connection, number: int, names: set[str]) -> dict[str, Blob]:
    """The files of the private tables that the release after this one keeps; it must have them all."""
    found = blobs_of(connection, number) if names else {}
    lacking = names - set(found)
    if lacking:
        raise InternalError(
            f"{count_of(len(lacking), 'table')} cannot be kept: release {number} has no private tables of these names."
        )
    return {name: found[name] for name in names}


def referenced_blobs(connection: sa.Connection) -> set[str]:
    """The SHA-256 of every private file that is still needed."""
    tables = connection.scalars(catalog.TABLE_FILES)
    return {*(Blob.parse(table).sha256 for table in tables), *connection.scalars(catalog.PEOPLE_FILES)}


def last_release(connection: sa.Connection) -> tuple[int, str | None]:
    """The number and chain value of the last release; 0 and None before the first."""
    row = connection.execute(catalog.LAST_RELEASE).first()
    return (0, None) if row is None else (row.number, row.chain)


def last_policy_row(connection: sa.Connection) -> sa.Row[Any]:
    """The policy's current version."""
    found = connection.execute(catalog.LAST_POLICY).first()
    if found is None:
        raise SeriesDamaged("The catalog holds no policy.", hint="restore private/ from a backup.")
    return found


def last_policy(connection: sa.Connection) -> int:
    """The number of the policy's current version."""
    return connection.scalar(catalog.LAST_POLICY) or 0


def add_policy(connection: sa.Connection, number: int, toml: str, reason: str, staged: str) -> None:
    """Record a version of the policy."""
    values = {"version": number, "toml": toml, "reason": reason, "time": utc_text(now()), "staged": staged}
    connection.execute(catalog.policies.insert(), values)


def check_parent(connection: sa.Connection, parent: int, policy: int) -> str | None:
    """Raise StaleDraft unless `parent` is the last release and `policy` current; gives the last chain value."""
    last, chain = last_release(connection)
    if parent != last:
        raise StaleDraft(
            f"The draft was made after release {parent}, but the series has {count_of(last, 'release')}.",
            hint="draft again from the present state of the series.",
        )
    if policy != last_policy(connection):
        raise StaleDraft(
            f"The draft was made under version {policy} of the policy, which is not the current one.",
            hint="draft again under the present policy.",
        )
    return chain


def before_release(connection: sa.Connection, entry: Entry, parent: int) -> Before:
    """What the release that follows `parent` goes on from; an error if it cannot."""
    chain = check_parent(connection, parent, entry.policy_version)
    return Before(chain, kept_blobs(connection, parent, entry.kept), current_people(connection))


def add_release(
    connection: sa.Connection, entry: Entry, parent: int, staged: Staged, summary: str, kind: str = chain.RELEASED
) -> ReleaseRow:
    """Record a release; the moment this commits, it has happened. `kind` is what the link of the chain is about."""
    check_parent(connection, parent, entry.policy_version)
    release = {
        "number": parent + 1,
        "policy_version": entry.policy_version,
        "time": utc_text(entry.time),
        "record": staged.record,
        "chain": staged.chain,
        "summary": summary,
        "seed": entry.seed,
        "staged": staged.folder,
    }
    connection.execute(catalog.releases.insert(), release)
    tables = [{"release_number": parent + 1, "name": name, "sha256": str(blob)} for name, blob in staged.tables.items()]
    if tables:
        connection.execute(catalog.blobs.insert(), tables)
    sealed = [chain.release_part(parent + 1), chain.tables_part(parent + 1)]
    if staged.people is not None:
        add_people(connection, staged.people)
        sealed.append(chain.PEOPLE)
    sealed += [add_event(connection, *event) for event in entry.events]
    chain.append(connection, kind, sealed)
    return SimpleNamespace(**release)


def amend_policy(connection: sa.Connection, toml: str, reason: str, staged: str) -> None:
    """Record a new version of the policy and the event."""
    number = last_policy(connection) + 1
    add_policy(connection, number, toml, reason, staged)
    event = add_event(connection, "amended", f"policy version {number}")
    chain.append(connection, chain.AMENDED, [chain.policy_part(number), event])


def retract_release(connection: sa.Connection, number: int, reason: str) -> None:
    """Record that a release is not to be handed out; it stays what it is."""
    event = add_event(connection, chain.RETRACTED, f"release {number}: {reason}")
    chain.append(connection, chain.RETRACTED, [event])


def replace_people(connection: sa.Connection, parts: Sequence[IdFile], erased: int) -> None:
    """Replace parts of the table of ids by parts with fewer ids, and record how many were erased."""
    for part in parts:
        connection.execute(catalog.OTHER_PEOPLE, {"first": part.first, "sha256": part.sha256})
    event = add_event(connection, "forgot", count_of(erased, "id"))
    chain.append(connection, chain.FORGOT, [chain.PEOPLE, event])
