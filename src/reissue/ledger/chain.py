"""The chain: every row of the catalog that decides anything, sealed as it was written.

The rows are sealed in parts: the schema, each version of the policy, each release, the private tables of each release,
the files of ids, each event. A seal is the SHA-256 of a random salt and of the rows. Whatever changes the catalog
appends a link with the seals of the parts that it wrote, in the same transaction. The head of a link is the SHA-256 of
the head before it and of what the link says. So one head stands for every row so far and, since rows name private files
by their SHA-256, for every private byte. Because of the salts a head tells nothing to those who may not see the rest.
What has happened stays: only the schema and the files of ids are ever written, and sealed, anew. The salt of what they
were is then removed: what a file of ids was, before somebody was forgotten, can not even be guessed and tried.

Whoever can write to the folder can also write another chain, from beginning to end. Only who knows a head from outside
finds that: see `anchor`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import sqlalchemy as sa

from reissue.errors import ReissueError, SeriesDamaged
from reissue.ledger import catalog
from reissue.ledger.record import now, utc_text
from reissue.ledger.sqlite import Database, behind, has_table, rows_behind, structure_problems

CREATED, ADOPTED, BEGAN, MIGRATED, RELEASED, AMENDED, FORGOT, RESTORED, RESUMED, RETRACTED = (
    "created",
    "adopted",
    "began",
    "migrated",
    "released",
    "amended",
    "forgot",
    "restored",
    "resumed",
    "retracted",
)
"""What a link is about. The chain of a series that is older than chains `began` with all that was there."""

SCHEMA, PEOPLE = "schema", "people"
"""The parts of which there is one each; they alone may be sealed anew."""
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
_LINKS = "SELECT number, kind, time, head FROM links"
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
        return f"{self.row}: {self.problem}".encode(errors="replace").decode()


Row = tuple[object, ...]


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
    raw = behind(connection)
    return _append(raw, kind, {part: _rows_of(raw, part) for part in parts})


def append_all(connection: sa.Connection, kind: str) -> Link:
    """The same for everything that the catalog says."""
    raw = behind(connection)
    return _append(raw, kind, _present(raw))


def last(connection: sa.Connection) -> Link | None:
    """The last link; None for a series that is older than chains."""
    links = every(connection, "ORDER BY number DESC LIMIT 1")
    return links[0] if links else None


def every(connection: sa.Connection, order: str = "ORDER BY number") -> list[Link]:
    """All links; none for a series that is older than chains."""
    if not has_table(connection, "links"):
        return []
    rows = rows_behind(behind(connection), f"{_LINKS} {order}")
    if any(_strange(rows)):
        raise SeriesDamaged("A link of the chain is none.", hint="run `reissue verify` to see what has changed.")
    return [Link(*row) for row in rows]


def breaks(connection: sa.Connection) -> list[Break]:
    """What is not as it was sealed, the first link first; nothing for a series that is older than chains."""
    return _looked_at(connection)[0]


def _looked_at(connection: sa.Connection) -> tuple[list[Break], list[Link]]:
    """What is not as it was sealed; and the links, where everything is."""
    raw, sealed = behind(connection), catalog.version(connection) >= catalog.SEALED
    if sealed != has_table(connection, "links"):
        problem = "it is missing" if sealed else "it is there, and the version of the catalog had none"
        return [Break("the chain", problem)], []
    if not sealed:
        return [], []
    links, seals = rows_behind(raw, f"{_LINKS} ORDER BY number"), rows_behind(raw, _SEALS)
    strange = [*_strange(links), *_strange(seals)]
    if strange:
        return strange, []
    present = _present(raw)
    found = [*_disordered(present), *_broken_links(links, seals), *_broken_seals(seals, present)]
    return found, [Link(*row) for row in links]


def require_whole(connection: sa.Connection, shown: str) -> list[Link]:
    """Raise SeriesDamaged unless the catalog is as it was sealed; gives its links."""
    # What is read through damaged pages may look whole from one side.
    found = [f"the database is damaged: {one}" for one in structure_problems(connection)]
    links: list[Link] = []
    try:
        broken, links = _looked_at(connection)
        found += map(str, broken)
    except (sqlite3.Error, sa.exc.DBAPIError):
        if not found:
            raise
    if found:
        raise SeriesDamaged(
            f"The catalog of the series in '{shown}' is not as it was written.",
            problems=[f"private/catalog.sqlite: {one}" for one in found],
            hint="do not publish from it. `reissue verify` shows everything that has changed; restore the series from "
            "a backup with `reissue restore`.",
        )
    return links


@contextmanager
def explaining(database: Database, shown: str, also: type[ReissueError] = SeriesDamaged) -> Iterator[None]:
    """Let what cannot be understood in the block be told as the damage that it is, where rows are not as sealed.

    A mistake of ours in reading a catalog that is whole stays what it is. `also` is explained as well.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, ReissueError) as error:
        if not isinstance(error, ReissueError) or isinstance(error, SeriesDamaged | also):
            database.read(partial(require_whole, shown=shown))
        raise


def _append(raw: sqlite3.Connection, kind: str, parts: dict[str, list[Row]]) -> Link:
    before = raw.execute(f"{_LINKS} ORDER BY number DESC LIMIT 1").fetchone()
    number, head = (before[0] + 1, before[3]) if before else (1, "")
    time = utc_text(now())
    seals = []
    for part, rows in sorted(parts.items()):
        salt = secrets.token_hex(16)
        seals.append((number, part, salt, _seal(salt, rows)))
    link = Link(number, kind, time, _head(head, number, kind, time, {part: seal for _, part, _, seal in seals}))
    raw.execute("INSERT INTO links (number, kind, time, head) VALUES (?, ?, ?, ?)", link)
    if number > 1:  # what is sealed anew needs its former salt no longer
        anew = [(part, number) for part in parts if part in _SINGLE]
        raw.executemany("UPDATE seals SET salt = '' WHERE part = ? AND link < ? AND salt <> ''", anew)
    raw.executemany("INSERT INTO seals (link, part, salt, seal) VALUES (?, ?, ?, ?)", seals)
    return link


_JSON = json.JSONEncoder(sort_keys=True, default=lambda value: {"bytes": value.hex()})
"""Tells texts, numbers, nothing and bytes apart, each in one way."""


def _seal(salt: str, rows: Sequence[Row]) -> str:
    return hashlib.sha256(_JSON.encode([salt, rows]).encode()).hexdigest()


def _head(before: str, number: int, kind: str, time: str, seals: dict[str, str]) -> str:
    return hashlib.sha256(_JSON.encode([before, number, kind, time, seals]).encode()).hexdigest()


def _present(raw: sqlite3.Connection) -> dict[str, list[Row]]:
    """The rows of every part that the catalog has now."""
    found: dict[str, list[Row]] = {part: _rows_of(raw, part) for part in _SINGLE}
    for kind, query in _NUMBERED.items():
        # As they lie: rows of a part that are apart from each other, or in another order, do not have its seal.
        for number, rows in groupby(rows_behind(raw, query), itemgetter(0)):
            found[f"{kind}/{number}"] = list(rows)
    return found


def _rows_of(raw: sqlite3.Connection, part: str) -> list[Row]:
    if part in _SINGLE:
        return [row for query in _SINGLE[part] for row in rows_behind(raw, query)]
    kind, _, number = part.partition("/")
    return rows_behind(raw, _ONE[kind], int(number))


def _strange(rows: Sequence[Row]) -> Iterator[Break]:
    """Links or seals with something else in a column than we write there: a number, then texts."""
    for row in rows:
        if tuple(map(type, row)) != (int, str, str, str):
            yield Break(f"link {row[0]} of the chain", "it is written in another way than the ledger's own")


def _broken_links(links: Sequence[Row], seals: Sequence[Row]) -> Iterator[Break]:
    if not links:
        yield Break("the chain", "it is empty")
    said: dict[object, dict[str, str]] = {}
    for link, part, _, seal in seals:
        said.setdefault(link, {})[str(part)] = str(seal)
    before = ""
    for expected, (number, kind, time, head) in enumerate(links, start=1):
        if number != expected:
            yield Break(f"link {expected} of the chain", "it is missing")
            return
        if head != _head(before, expected, str(kind), str(time), said.pop(number, {})):
            yield Break(f"link {expected} of the chain", "it does not follow from the one before and what it seals")
        before = str(head)
    for link in said:
        yield Break(f"link {link} of the chain", "it is missing")


def _disordered(present: dict[str, list[Row]]) -> Iterator[Break]:
    """Parts that lie in another order than that of their numbers: who looks for one of them may not find it."""
    numbers: dict[str, list[int]] = {}
    for part in present:
        kind, _, number = part.partition("/")
        if number.isdecimal():
            numbers.setdefault(kind, []).append(int(number))
    for kind, found in numbers.items():
        yield from (
            Break(in_words(f"{kind}/{later}"), "it is not in its place")
            for earlier, later in pairwise(found)
            if earlier >= later
        )


def _broken_seals(seals: Sequence[Row], present: dict[str, list[Row]]) -> Iterator[Break]:
    latest: dict[str, tuple[object, str, object]] = {}
    for link, part, salt, seal in seals:
        former = latest.get(str(part))
        latest[str(part)] = (link, str(salt), seal)
        if former is None:
            continue
        if part not in _SINGLE:
            yield Break(in_words(str(part)), f"link {link} of the chain seals it anew, which nothing may")
        elif former[1]:
            yield Break(f"link {former[0]} of the chain", "it has a salt that was removed")
    for part, (_, salt, seal) in latest.items():
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
