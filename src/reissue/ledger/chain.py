"""The chain: every row of the catalog that decides anything, sealed as it was written.

The rows are sealed in parts: the schema, each version of the policy, each release, the private tables of each release,
the files of ids, each event. A seal is the SHA-256 of a random salt and of the rows. Whatever changes the catalog
appends a link with the seals of the parts that it wrote, in the same transaction. The head of a link is the SHA-256 of
the head before it and of what the link says. So one head stands for every row so far and, since rows name private files
by their SHA-256, for every private byte. Because of the salts a head tells nothing to those who may not see the rest.
The salt of a part that was written anew is removed: what a file of ids was, before somebody was forgotten, can then not
even be guessed and tried.

Whoever can write to the folder can also write another chain, from beginning to end. Only who knows a head from outside
finds that: see `anchor`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from reissue.errors import SeriesDamaged
from reissue.ledger import catalog
from reissue.ledger.record import now, utc_text
from reissue.ledger.sqlite import Text, texts_as_bytes

CREATED, ADOPTED, BEGAN, MIGRATED, RELEASED, AMENDED, FORGOT, RESTORED, RESUMED = (
    "created",
    "adopted",
    "began",
    "migrated",
    "released",
    "amended",
    "forgot",
    "restored",
    "resumed",
)
"""What a link is about. The chain of a series that is older than chains `began` with all that was there."""

SCHEMA, PEOPLE = "schema", "people"
_SINGLE = {
    SCHEMA: (
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name",
        "SELECT number, time FROM migrations ORDER BY number",
    ),
    PEOPLE: ("SELECT first_number, sha256 FROM people ORDER BY first_number",),
}
_NUMBERED = {
    "policy": "SELECT version, toml, reason, time, staged FROM policies",
    "release": "SELECT number, policy_version, time, record, chain, summary, seed, staged FROM releases",
    "tables": "SELECT release_number, name, sha256 FROM blobs ORDER BY release_number, name",
    "event": "SELECT number, time, kind, detail FROM events",
}
"""The rows of parts of which there are several; the first column is the number of the part."""
_ONE = {
    "policy": f"{_NUMBERED['policy']} WHERE version = ?",
    "release": f"{_NUMBERED['release']} WHERE number = ?",
    "tables": "SELECT release_number, name, sha256 FROM blobs WHERE release_number = ? ORDER BY name",
    "event": f"{_NUMBERED['event']} WHERE number = ?",
}
_LINKS = "SELECT number, kind, time, head FROM links ORDER BY number"
_SEALS = "SELECT link, part, salt, seal FROM seals ORDER BY link, part"


class Link(NamedTuple):
    """One change of the catalog."""

    number: int
    kind: str
    time: str
    head: str

    def __str__(self) -> str:
        return f"{self.number}:{self.head}"


class Break(NamedTuple):
    """Something that is not as it was sealed."""

    row: str
    """The row or rows, in words."""
    problem: str

    def __str__(self) -> str:
        return f"{self.row}: {self.problem}"


Row = Sequence[object]


def release_part(number: int) -> str:
    """The part that is the row of a release."""
    return f"release/{number}"


def tables_part(number: int) -> str:
    """The part that says in which files the private tables of a release are."""
    return f"tables/{number}"


def policy_part(version: int) -> str:
    """The part that is a version of the policy."""
    return f"policy/{version}"


def event_part(number: int) -> str:
    """The part that is an event."""
    return f"event/{number}"


def in_words(part: str) -> str:
    """How messages call a part."""
    kind, _, number = part.partition("/")
    words = {
        SCHEMA: "the schema",
        PEOPLE: "the files of ids",
        "policy": f"version {number} of the policy",
        "release": f"release {number}",
        "tables": f"the private tables of release {number}",
        "event": f"event {number}",
    }
    return words.get(kind, f"'{kind}'")


def append(connection: sa.Connection, kind: str, parts: Iterable[str]) -> Link:
    """Seal parts that were written in the transaction of the connection, and go on from the last link."""
    with texts_as_bytes(connection) as raw:
        return _append(raw, kind, {part: _rows_of(raw, part) for part in parts})


def append_all(connection: sa.Connection, kind: str) -> Link:
    """The same for everything that the catalog says."""
    with texts_as_bytes(connection) as raw:
        return _append(raw, kind, _present(raw))


def last(connection: sa.Connection) -> Link | None:
    """The last link; None for a series that is older than chains."""
    with texts_as_bytes(connection) as raw:
        if not _began(raw):
            return None
        row = raw.execute("SELECT number, kind, time, head FROM links ORDER BY number DESC LIMIT 1").fetchone()
    return None if row is None else _link(row)


def every(connection: sa.Connection) -> list[Link]:
    """All links; none for a series that is older than chains."""
    with texts_as_bytes(connection) as raw:
        return [_link(row) for row in raw.execute(_LINKS)] if _began(raw) else []


def breaks(connection: sa.Connection) -> list[Break]:
    """What is not as it was sealed, the first link first; nothing for a series that is older than chains."""
    sealed = catalog.version(connection) >= catalog.SEALED
    with texts_as_bytes(connection) as raw:
        if sealed != _began(raw):
            problem = "it is missing" if sealed else "it is there, and the version of the catalog had none"
            return [Break("the chain", problem)]
        if not sealed:
            return []
        links, seals = raw.execute(_LINKS).fetchall(), raw.execute(_SEALS).fetchall()
        present = _present(raw)
    return [*_broken_links(links, seals), *_broken_seals(seals, present)]


def require_whole(connection: sa.Connection, shown: str) -> list[Link]:
    """Raise SeriesDamaged unless the catalog is as it was sealed; gives its links."""
    found = breaks(connection)
    if found:
        raise SeriesDamaged(
            f"The catalog of the series in '{shown}' is not as it was written.",
            problems=[f"private/catalog.sqlite: {one}" for one in found],
            hint="do not publish from it. `reissue verify` shows everything that has changed; restore the series from "
            "a backup with `reissue restore`.",
        )
    return every(connection)


def _began(raw: sqlite3.Connection) -> bool:
    """Whether there is a chain at all."""
    return raw.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'links'").fetchone() is not None


def _append(raw: sqlite3.Connection, kind: str, parts: dict[str, list[Row]]) -> Link:
    before = raw.execute("SELECT number, head FROM links ORDER BY number DESC LIMIT 1").fetchone()
    number, head = (before[0] + 1, _plain(before[1])) if before else (1, "")
    time = utc_text(now())
    seals = []
    for part, rows in sorted(parts.items()):
        salt = secrets.token_hex(16)
        seals.append((number, part, salt, _seal(salt, rows)))
    link = Link(number, kind, time, _head(head, number, kind, time, {part: seal for _, part, _, seal in seals}))
    raw.execute("INSERT INTO links (number, kind, time, head) VALUES (?, ?, ?, ?)", link)
    if number > 1:  # what is sealed anew needs its former salt no longer
        single = [(part, number) for part in parts]
        raw.executemany("UPDATE seals SET salt = '' WHERE part = ? AND link < ? AND salt <> ''", single)
    raw.executemany("INSERT INTO seals (link, part, salt, seal) VALUES (?, ?, ?, ?)", seals)
    return link


def _seal(salt: str, rows: Iterable[Row]) -> str:
    return hashlib.sha256(salt.encode() + b"\n" + b"\n".join(map(_encoded, rows))).hexdigest()


def _head(before: str, number: int, kind: str, time: str, seals: dict[str, str]) -> str:
    said = json.dumps([before, number, kind, time, seals], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _encoded(row: Row) -> bytes:
    """A row as bytes that no other row has."""
    cells = []
    for value in row:
        if isinstance(value, bytes):
            kind, body = b"t" if isinstance(value, Text) else b"b", value
        else:
            kind, body = type(value).__name__.encode()[:1], str(value).encode()
        cells.append(b"%b%d:%b" % (kind, len(body), body))
    return b",".join(cells)


def _present(raw: sqlite3.Connection) -> dict[str, list[Row]]:
    """The rows of every part that the catalog has now."""
    found: dict[str, list[Row]] = {part: _rows_of(raw, part) for part in _SINGLE}
    for kind, query in _NUMBERED.items():
        for row in raw.execute(query):
            found.setdefault(f"{kind}/{_plain(row[0])}", []).append(row)
    return found


def _rows_of(raw: sqlite3.Connection, part: str) -> list[Row]:
    if part in _SINGLE:
        return [row for query in _SINGLE[part] for row in raw.execute(query)]
    kind, _, number = part.partition("/")
    return raw.execute(_ONE[kind], (int(number),)).fetchall()


def _broken_links(links: Sequence[Row], seals: Sequence[Row]) -> Iterator[Break]:
    if not links:
        yield Break("the chain", "it is empty")
    said: dict[object, dict[str, str]] = {}
    for link, part, _, seal in seals:
        said.setdefault(link, {})[_plain(part)] = _plain(seal)
    before = ""
    for expected, row in enumerate(links, start=1):
        number, kind, time, head = row
        if number != expected:
            yield Break(f"link {expected} of the chain", "it is missing")
            return
        if _plain(head) != _head(before, expected, _plain(kind), _plain(time), said.pop(number, {})):
            yield Break(f"link {expected} of the chain", "it does not follow from the one before and what it seals")
        before = _plain(head)
    for link in said:
        yield Break(f"link {_plain(link)} of the chain", "it is missing")


def _broken_seals(seals: Sequence[Row], present: dict[str, list[Row]]) -> Iterator[Break]:
    latest = {_plain(part): (_plain(salt), _plain(seal)) for _, part, salt, seal in seals}
    for part, (salt, seal) in latest.items():
        rows = present.pop(part, None)
        # An empty list of rows is a part too: a release may have no private tables, a series no ids.
        if rows is None and part.startswith("tables/"):
            rows = []
        if rows is None:
            yield Break(in_words(part), "it is missing")
        elif _seal(salt, rows) != seal:
            yield Break(in_words(part), "it is not as it was written")
    for part, rows in present.items():
        if rows:
            yield Break(in_words(part), "nothing that was recorded has brought it there")


def _link(row: Row) -> Link:
    number, kind, time, head = row
    if not isinstance(number, int):
        raise SeriesDamaged("A link of the chain has no number.", hint="run `reissue verify` to see what has changed.")
    return Link(number, _plain(kind), _plain(time), _plain(head))


def _plain(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
