"""Whoever edits the catalog is found: by `verify`, and by the next publication, which is refused and names the row.

Each entry of the table is one kind of edit. What is edited with more care than here is another chain from some link on;
that finds only who knows a head from outside, and is tested at the end.
"""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import breakin_story as story
import pytest
from breakin_story import Scene

from reissue.errors import SeriesDamaged
from reissue.ledger import verify

Work = Callable[[sqlite3.Connection, Scene], None]


class Edit(NamedTuple):
    """A kind of edit, and what is said about it."""

    said: str
    """The row or file that must be named."""
    work: str | Work
    """Statements, or a function."""


def schema(old: str, new: str) -> Work:
    """Edit the text of the schema itself."""

    def work(connection: sqlite3.Connection, _: Scene) -> None:
        connection.execute("PRAGMA writable_schema = ON")
        changed = connection.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?)", (old, new))
        assert changed.rowcount > 0

    return work


def swapped(table: str, column: str, key: str, one: object, other: object) -> str:
    """Two rows exchange what they have in a column."""
    return (
        f"CREATE TEMP TABLE was AS SELECT {key} AS k, {column} AS v FROM {table};"
        f"UPDATE {table} SET {column} = (SELECT v FROM was WHERE k = {other}) WHERE {key} = {one};"
        f"UPDATE {table} SET {column} = (SELECT v FROM was WHERE k = {one}) WHERE {key} = {other};"
    )


def rebuilt(table: str, columns: str, rest: str = "") -> str:
    """A table with the same rows and another schema."""
    return (
        f"ALTER TABLE {table} RENAME TO was; CREATE TABLE {table} AS SELECT {columns} FROM was; DROP TABLE was; {rest}"
    )


def older_ids(connection: sqlite3.Connection, scene: Scene) -> None:
    """Two files of ids take each other's place, bytes and names of files as they were."""
    connection.executescript(swapped("people", "sha256", "first_number", 110, 140))


def reattached(connection: sqlite3.Connection, scene: Scene) -> None:
    """Rows come from a second database."""
    other = scene.folder / "private" / "other.sqlite"
    shutil.copy(scene.folder / "private" / "catalog.sqlite", other)
    connection.execute("ATTACH ? AS other", (str(other),))
    connection.execute("UPDATE other.policies SET toml = replace(toml, 'm = 4', 'm = 2')")
    connection.execute("DELETE FROM main.policies")
    connection.execute("INSERT INTO main.policies SELECT * FROM other.policies")


def nothing(connection: sqlite3.Connection, scene: Scene) -> None:
    """A column that must not be empty is, once the schema allows it."""
    schema("summary TEXT NOT NULL", "summary TEXT")(connection, scene)
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute("UPDATE releases SET summary = NULL WHERE number = 3")


OF_POLICY, OF_RELEASE, OF_TABLES, IDS, SCHEMA = (
    "version 2 of the policy: it is not as it was written",
    "release 3: it is not as it was written",
    "the private tables of release 3: it is not as it was written",
    "the files of ids: it is not as it was written",
    "the schema: it is not as it was written",
)
MEMORY = "release_number = 3 AND name = 'memory-signatures'"
LAST = "DELETE FROM seals WHERE link = 6; DELETE FROM links WHERE number = 6;"

EDITS: dict[str, Edit] = {
    # Policies
    "a smaller m": Edit(OF_POLICY, "UPDATE policies SET toml = replace(toml, 'm = 4', 'm = 2') WHERE version = 2"),
    "a smaller m from the beginning": Edit(
        "version 1 of the policy: it is not as it was written",
        "UPDATE policies SET toml = replace(toml, 'm = 4', 'm = 2')",
    ),
    "no anchor": Edit(OF_POLICY, "UPDATE policies SET toml = substr(toml, instr(toml, '[people]')) WHERE version = 2"),
    "a policy that is none": Edit(OF_POLICY, "UPDATE policies SET toml = 'm = [' WHERE version = 2"),
    "a policy of another series": Edit(OF_POLICY, "UPDATE policies SET toml = replace(toml, 'person', 'town')"),
    "another reason": Edit(OF_POLICY, "UPDATE policies SET reason = 'somebody asked' WHERE version = 2"),
    "another time of a policy": Edit(OF_POLICY, "UPDATE policies SET time = '2020-01-01T00:00:00Z' WHERE version = 2"),
    "a time that is none": Edit(OF_POLICY, "UPDATE policies SET time = 'yesterday' WHERE version = 2"),
    "a policy from elsewhere": Edit(OF_POLICY, "UPDATE policies SET staged = '0123456789abcdef' WHERE version = 2"),
    "an amendment undone": Edit("version 2 of the policy: it is missing", "DELETE FROM policies WHERE version = 2"),
    "no policy": Edit("version 1 of the policy: it is missing", "DELETE FROM policies"),
    "an amendment slipped in": Edit(
        "version 3 of the policy: nothing that was recorded has brought it there",
        "INSERT INTO policies SELECT 3, replace(toml, 'm = 4', 'm = 2'), reason, time, staged FROM policies "
        "WHERE version = 2",
    ),
    "policies in another order": Edit(OF_POLICY, swapped("policies", "toml", "version", 1, 2)),
    "a policy numbered anew": Edit(
        "version 2 of the policy: it is missing", "UPDATE policies SET version = 7 WHERE version = 2"
    ),
    # Releases
    "a release gone": Edit("release 1: it is missing", "DELETE FROM releases WHERE number = 1"),
    "the last release gone": Edit("release 3: it is missing", "DELETE FROM releases WHERE number = 3"),
    "no release": Edit("release 1: it is missing", "DELETE FROM releases"),
    "a release put in": Edit(
        "release 4: nothing that was recorded has brought it there",
        "INSERT INTO releases SELECT 4, policy_version, time, record, chain, summary, seed, staged FROM releases "
        "WHERE number = 3",
    ),
    "records in another order": Edit(OF_RELEASE, swapped("releases", "record", "number", 2, 3)),
    "a record that is none": Edit(OF_RELEASE, "UPDATE releases SET record = '{' WHERE number = 3"),
    "a record without files": Edit(OF_RELEASE, "UPDATE releases SET record = '{}' WHERE number = 3"),
    "a record that tells no method": Edit(
        OF_RELEASE, "UPDATE releases SET record = replace(record, '\"m-invariance', '\"none') WHERE number = 3"
    ),
    "a deep record": Edit(
        OF_RELEASE, "UPDATE releases SET record = replace(hex(zeroblob(100000)), '00', '[') WHERE number = 3"
    ),
    "an unprotected series": Edit(
        OF_RELEASE, "UPDATE releases SET record = replace(record, 'protected', 'unprotected') WHERE number = 3"
    ),
    "another seed": Edit(OF_RELEASE, "UPDATE releases SET seed = '1' WHERE number = 3"),
    "another mark": Edit(OF_RELEASE, "UPDATE releases SET staged = '0123456789abcdef' WHERE number = 3"),
    "a path for a mark": Edit(OF_RELEASE, "UPDATE releases SET staged = '../../..' WHERE number = 3"),
    "an absolute path for a mark": Edit(OF_RELEASE, "UPDATE releases SET staged = '/tmp' WHERE number = 3"),
    "another summary": Edit(OF_RELEASE, "UPDATE releases SET summary = '{}' WHERE number = 3"),
    "a summary that is none": Edit(OF_RELEASE, "UPDATE releases SET summary = 'nothing' WHERE number = 3"),
    "another time of a release": Edit(OF_RELEASE, "UPDATE releases SET time = '2036-01-01T00:00:00Z' WHERE number = 3"),
    "a release of the first policy": Edit(OF_RELEASE, "UPDATE releases SET policy_version = 1 WHERE number = 3"),
    "a public chain of its own": Edit(OF_RELEASE, "UPDATE releases SET chain = upper(chain) WHERE number = 3"),
    "releases numbered anew": Edit(
        "release 1: it is missing",
        "UPDATE blobs SET release_number = release_number + 10; UPDATE releases SET number = number + 10",
    ),
    "a number for a text": Edit(OF_RELEASE, "UPDATE releases SET record = 17 WHERE number = 3"),
    "bytes for a text": Edit(OF_RELEASE, "UPDATE releases SET record = CAST(record AS BLOB) WHERE number = 3"),
    "a text that is none": Edit(OF_RELEASE, "UPDATE releases SET seed = CAST(x'ff00fe' AS TEXT) WHERE number = 3"),
    "a text that ends early": Edit(OF_RELEASE, "UPDATE releases SET seed = seed || x'00' || 'more' WHERE number = 3"),
    "nothing at all": Edit(SCHEMA, nothing),
    # Private tables
    "memory of another release": Edit(
        OF_TABLES,
        f"UPDATE blobs SET sha256 = (SELECT sha256 FROM blobs WHERE release_number = 1 AND name = 'memory-signatures') "
        f"WHERE {MEMORY}",
    ),
    "the memory of a release that another takes over": Edit(
        "the private tables of release 1: it is not as it was written",
        "DELETE FROM blobs WHERE release_number = 1 AND name LIKE 'memory-%';"
        "INSERT INTO blobs SELECT 1, name, sha256 FROM blobs WHERE release_number = 3 AND name LIKE 'memory-%'",
    ),
    "two tables that exchange files": Edit(
        OF_TABLES,
        "CREATE TEMP TABLE was AS SELECT * FROM blobs WHERE release_number = 3;"
        "UPDATE blobs SET sha256 = (SELECT sha256 FROM was WHERE name = 'snapshot') "
        f"WHERE {MEMORY}; UPDATE blobs SET sha256 = (SELECT sha256 FROM was WHERE name = 'memory-signatures') "
        "WHERE release_number = 3 AND name = 'snapshot'",
    ),
    "a table that nobody remembers": Edit(OF_TABLES, f"DELETE FROM blobs WHERE {MEMORY}"),
    "no memory": Edit(OF_TABLES, "DELETE FROM blobs WHERE release_number = 3 AND name LIKE 'memory-%'"),
    "no tables of a release": Edit(OF_TABLES, "DELETE FROM blobs WHERE release_number = 3"),
    "no tables": Edit("the private tables of release 1: it is not as it was written", "DELETE FROM blobs"),
    "a table under another name": Edit(OF_TABLES, f"UPDATE blobs SET name = 'memory-signature' WHERE {MEMORY}"),
    "a table more": Edit(
        OF_TABLES, "INSERT INTO blobs SELECT 3, 'barred', sha256 FROM blobs WHERE name = 'domain' LIMIT 1"
    ),
    "tables of no release": Edit(
        "the private tables of release 9: nothing that was recorded has brought it there",
        "INSERT INTO blobs SELECT 9, name, sha256 FROM blobs WHERE release_number = 3",
    ),
    "tables of a release that is no number": Edit(
        "the private tables of release x: nothing that was recorded has brought it there",
        "INSERT INTO blobs SELECT 'x', name, sha256 FROM blobs WHERE release_number = 3",
    ),
    "a path for a file": Edit(OF_TABLES, f"UPDATE blobs SET sha256 = '../../../../etc/passwd' WHERE {MEMORY}"),
    "no file": Edit(OF_TABLES, f"UPDATE blobs SET sha256 = 0 WHERE {MEMORY}"),
    "a table that shares a file": Edit(
        OF_TABLES, "UPDATE blobs SET sha256 = 'pack:' || sha256 WHERE release_number = 3"
    ),
    # Ids
    "ids in another order": Edit(IDS, older_ids),
    "some ids gone": Edit(IDS, "DELETE FROM people WHERE first_number = 140"),
    "no ids": Edit(IDS, "DELETE FROM people"),
    "ids once more": Edit(IDS, "INSERT INTO people SELECT 500, sha256 FROM people WHERE first_number = 0"),
    "ids of other numbers": Edit(IDS, "UPDATE people SET first_number = first_number + 1 WHERE first_number > 0"),
    # Events
    "something that never happened": Edit(
        "event 4: nothing that was recorded has brought it there",
        "INSERT INTO events VALUES (4, '2026-01-05T00:00:00Z', 'overrode', 'the gate of release 3')",
    ),
    "something that happened after all": Edit("event 3: it is missing", "DELETE FROM events WHERE number = 3"),
    "no events": Edit("event 1: it is missing", "DELETE FROM events"),
    "something else that happened": Edit(
        "event 3: it is not as it was written", "UPDATE events SET detail = '3 ids' WHERE number = 3"
    ),
    "another time of an event": Edit(
        "event 2: it is not as it was written", "UPDATE events SET time = '' WHERE number = 2"
    ),
    "events in another order": Edit("event 2: it is not as it was written", swapped("events", "kind", "number", 2, 3)),
    # Migrations and the schema
    "a catalog that was never migrated": Edit(
        "the chain: it is there, and the version of the catalog had none", "DELETE FROM migrations WHERE number = 4"
    ),
    "a catalog of no version": Edit("catalog", "DELETE FROM migrations"),
    "a catalog without versions": Edit("catalog", "DROP TABLE migrations"),
    "a migration less": Edit(SCHEMA, "DELETE FROM migrations WHERE number = 2"),
    "another time of a migration": Edit(SCHEMA, "UPDATE migrations SET time = '2020-01-01T00:00:00Z' WHERE number = 1"),
    "a trigger": Edit(
        SCHEMA,
        "CREATE TRIGGER quiet AFTER INSERT ON releases "
        "BEGIN UPDATE policies SET toml = replace(toml, 'm = 4', 'm = 2'); END",
    ),
    "a trigger that lets nothing be forgotten": Edit(
        SCHEMA, "CREATE TRIGGER quiet BEFORE UPDATE ON people BEGIN SELECT RAISE(IGNORE); END"
    ),
    "a view": Edit(SCHEMA, "CREATE VIEW present AS SELECT * FROM releases"),
    "a view for a table": Edit(
        SCHEMA, "ALTER TABLE events RENAME TO happened; CREATE VIEW events AS SELECT * FROM happened WHERE number < 3"
    ),
    "a view for the chain": Edit(
        "the chain: it is missing", "ALTER TABLE links RENAME TO chained; CREATE VIEW links AS SELECT * FROM chained"
    ),
    "a table more in the catalog": Edit(SCHEMA, "CREATE TABLE notes (text TEXT)"),
    "an index": Edit(SCHEMA, "CREATE INDEX quick ON blobs (sha256)"),
    "figures that mislead the database": Edit(SCHEMA, "ANALYZE"),
    "a column more": Edit(SCHEMA, "ALTER TABLE releases ADD COLUMN note TEXT"),
    "a column less": Edit("catalog", "ALTER TABLE releases DROP COLUMN summary"),
    "a column under another name": Edit("catalog", "ALTER TABLE blobs RENAME COLUMN sha256 TO sha1"),
    "another default": Edit(SCHEMA, schema("seed TEXT NOT NULL", "seed TEXT NOT NULL DEFAULT '1'")),
    "another type": Edit(SCHEMA, schema("seed TEXT NOT NULL", "seed REAL NOT NULL")),
    "letters whose case does not matter": Edit(
        SCHEMA, schema("name TEXT NOT NULL", "name TEXT NOT NULL COLLATE NOCASE")
    ),
    "no references": Edit(SCHEMA, schema(" REFERENCES policies (version)", "")),
    "a table without its key": Edit(SCHEMA, rebuilt("blobs", "release_number, name, sha256")),
    "a schema that is none": Edit("catalog", schema("CREATE TABLE events", "CREATE TABEL events")),
    "a table gone": Edit("catalog", "DROP TABLE events"),
    # The chain itself
    "the last link": Edit("link 6 of the chain: it is missing", "DELETE FROM links WHERE number = 6"),
    "a link in the middle": Edit("link 3 of the chain: it is missing", "DELETE FROM links WHERE number = 3"),
    "the first link": Edit("link 1 of the chain: it is missing", "DELETE FROM links WHERE number = 1"),
    "no links": Edit("the chain: it is empty", "DELETE FROM links"),
    "no chain": Edit("the chain: it is missing", "DROP TABLE seals; DROP TABLE links"),
    "no seals": Edit("catalog", "DROP TABLE seals"),
    "no seal": Edit("link 1 of the chain: it does not follow", "DELETE FROM seals"),
    "the last link with its seals": Edit(IDS, LAST),
    "links in another order": Edit("link 2 of the chain: it does not follow", swapped("links", "head", "number", 2, 3)),
    "another kind of link": Edit(
        "link 6 of the chain: it does not follow", "UPDATE links SET kind = 'released' WHERE number = 6"
    ),
    "a time of a link": Edit("link 6 of the chain: it does not follow", "UPDATE links SET time = '' WHERE number = 6"),
    "another head": Edit(
        "link 6 of the chain: it does not follow", "UPDATE links SET head = upper(head) WHERE number = 6"
    ),
    "a link more": Edit(
        "link 7 of the chain: it does not follow",
        "INSERT INTO links SELECT 7, kind, time, head FROM links WHERE number = 6",
    ),
    "a seal less": Edit(
        "link 6 of the chain: it does not follow", "DELETE FROM seals WHERE link = 6 AND part = 'people'"
    ),
    "a seal more": Edit(
        "link 6 of the chain: it does not follow",
        "INSERT INTO seals SELECT 6, 'policy/2', salt, seal FROM seals WHERE link = 1 LIMIT 1",
    ),
    "a seal of no link": Edit(
        "link 9 of the chain: it is missing", "INSERT INTO seals SELECT 9, part, salt, seal FROM seals WHERE link = 6"
    ),
    "another salt": Edit(IDS, "UPDATE seals SET salt = 'salt' WHERE link = 6 AND part = 'people'"),
    "a salt that was removed": Edit(
        "link 2 of the chain", "UPDATE seals SET salt = 'salt' WHERE link = 2 AND part = 'people'"
    ),
    "bytes for the name of a part": Edit(
        "link 6 of the chain", "UPDATE seals SET part = CAST(part AS BLOB) WHERE link = 6 AND part = 'people'"
    ),
    "a part under two names": Edit(
        "link 6 of the chain",
        "INSERT INTO seals SELECT link, CAST(part AS BLOB), salt, seal FROM seals WHERE link = 6 AND part = 'people'",
    ),
    "a release and all that belongs to it": Edit(
        "link 5 of the chain",
        "DELETE FROM blobs WHERE release_number = 3; DELETE FROM releases WHERE number = 3;"
        "DELETE FROM seals WHERE link = 5; DELETE FROM links WHERE number = 5",
    ),
    "rows from a second database": Edit(OF_POLICY, reattached),
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("edits"))


@pytest.fixture
def untouched(scene: Scene) -> Iterator[Scene]:
    scene.restore()
    yield scene
    scene.restore()


def edit(scene: Scene, work: str | Work) -> None:
    with closing(sqlite3.connect(scene.folder / "private" / "catalog.sqlite")) as connection:
        if isinstance(work, str):
            connection.executescript(work)
        else:
            work(connection, scene)
        connection.commit()


@pytest.mark.parametrize("name", EDITS)
def test_is_found_and_refused(name: str, untouched: Scene) -> None:
    said, work = EDITS[name]
    edit(untouched, work)
    edited = untouched.bytes()
    found = [str(one) for one in verify(untouched.folder)]
    assert any("private/catalog.sqlite" in one and said in one for one in found), found
    refuses(untouched, said)
    assert untouched.bytes() == edited


def refuses(scene: Scene, said: str) -> None:
    """To publish is refused, and says why, and nothing that is private."""
    with warnings.catch_warnings(), pytest.raises(SeriesDamaged) as error:
        warnings.simplefilter("ignore")  # a reader may say that a release is unfinished, before it is refused
        story.published(scene.folder, story.NEXT)
    assert said in str(error.value)
    assert "CANARY" not in str(error.value)


def test_there_are_fifty() -> None:
    assert len(EDITS) >= 50
    assert len({edit.work for edit in EDITS.values()}) == len(EDITS)
