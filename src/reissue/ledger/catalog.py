"""The catalog: which releases, policies, private tables and events a series has.

What the catalog says is what has happened. The tables hold nothing that only one database could do, and no
person's id is ever in them.
"""

from __future__ import annotations

import sqlalchemy as sa

from reissue.errors import SeriesDamaged
from reissue.ledger.record import newer, now, utc_text
from reissue.ledger.sqlite import has_table

metadata = sa.MetaData()

migrations = sa.Table(
    "migrations",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Text, nullable=False),
)

policies = sa.Table(
    "policies",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("toml", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    # The folder in staging/ that the file came from; where it still is, the move is unfinished.
    sa.Column("staged", sa.Text, nullable=False),
)

releases = sa.Table(
    "releases",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("policy_version", sa.Integer, sa.ForeignKey("policies.version"), nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("record", sa.Text, nullable=False),  # release.json, byte for byte
    sa.Column("chain", sa.Text, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("seed", sa.Text, nullable=False),
    sa.Column("staged", sa.Text, nullable=False),
)

blobs = sa.Table(
    "blobs",
    metadata,
    sa.Column("release_number", sa.Integer, sa.ForeignKey("releases.number"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("sha256", sa.Text, nullable=False),  # of the file that the table is in; see `layout.Blob`
)

# The files that hold people's ids: each those from its first number up to the first of the next file.
people = sa.Table(
    "people",
    metadata,
    sa.Column("first_number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sha256", sa.Text, nullable=False),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

# What is asked at every publication. Made once: putting a question together takes longer than the answer.
RELEASES = sa.select(releases).order_by(releases.c.number)
ONE_RELEASE = sa.select(releases).where(releases.c.number == sa.bindparam("release"))
LAST_RELEASE = sa.select(releases).order_by(releases.c.number.desc()).limit(1)
STAGED_RELEASES = sa.select(releases.c.number, releases.c.staged)
POLICIES = sa.select(policies).order_by(policies.c.version)
LAST_POLICY = sa.select(policies).order_by(policies.c.version.desc()).limit(1)
TABLES = sa.select(blobs.c.name, blobs.c.sha256).where(blobs.c.release_number == sa.bindparam("release"))
TABLE_FILES = sa.select(blobs.c.sha256).distinct()  # most releases refer to tables that they kept
PEOPLE_FILES = sa.select(people.c.sha256)
PEOPLE = sa.select(people.c.first_number, people.c.sha256).order_by(people.c.first_number)
EVENTS = sa.select(events).order_by(events.c.number)
LAST_MIGRATION = sa.select(sa.func.max(migrations.c.number))
LAST_EVENT = sa.select(sa.func.max(events.c.number))
NEW_PEOPLE = people.delete().where(people.c.first_number >= sa.bindparam("first")), people.insert()
OTHER_PEOPLE = people.update().where(people.c.first_number == sa.bindparam("first"))

# Written out, because a migration must do in ten years what it does today, whatever became of the tables
# above. Numbered from 1; only ever appended to.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE policies (
            version INTEGER NOT NULL PRIMARY KEY,
            toml TEXT NOT NULL,
            reason TEXT NOT NULL,
            time TEXT NOT NULL,
            staged TEXT NOT NULL
        )""",
        """CREATE TABLE releases (
            number INTEGER NOT NULL PRIMARY KEY,
            policy_version INTEGER NOT NULL REFERENCES policies (version),
            time TEXT NOT NULL,
            record TEXT NOT NULL,
            chain TEXT NOT NULL,
            summary TEXT NOT NULL,
            seed TEXT NOT NULL,
            staged TEXT NOT NULL
        )""",
        """CREATE TABLE blobs (
            release_number INTEGER NOT NULL REFERENCES releases (number),
            name TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            PRIMARY KEY (release_number, name)
        )""",
        "CREATE TABLE people (place INTEGER NOT NULL PRIMARY KEY, sha256 TEXT NOT NULL)",
        """CREATE TABLE events (
            number INTEGER NOT NULL PRIMARY KEY,
            time TEXT NOT NULL,
            kind TEXT NOT NULL,
            detail TEXT NOT NULL
        )""",
    ),
    # The table of ids comes in parts; the one file there was holds everybody, beginning with number 0.
    (
        "ALTER TABLE people RENAME COLUMN place TO first_number",
        "UPDATE people SET first_number = 0",
    ),
    # Small private tables share a file. Nothing changes in the catalog of a series, but versions that would look for a
    # file of their own must not read it.
    (),
    # Every row is sealed, and every change a link of a chain; see `chain`.
    (
        """CREATE TABLE links (
            number INTEGER NOT NULL PRIMARY KEY,
            kind TEXT NOT NULL,
            time TEXT NOT NULL,
            head TEXT NOT NULL
        )""",
        """CREATE TABLE seals (
            link INTEGER NOT NULL REFERENCES links (number),
            part TEXT NOT NULL,
            salt TEXT NOT NULL,
            seal TEXT NOT NULL,
            PRIMARY KEY (link, part)
        )""",
    ),
)

SEALED = 4
"""From this migration on everything is sealed."""

READABLE = 2
"""From this migration on a catalog can be read as it is. It is brought up to date where it may be written to."""


def version(connection: sa.Connection) -> int:
    """The number of the last migration that was applied."""
    return (connection.scalar(LAST_MIGRATION) or 0) if has_table(connection, migrations.name) else 0


def last_record(connection: sa.Connection) -> str | None:
    """The release.json of the last release; None before the first, or where the catalog is of no known version."""
    if not 0 < version(connection) <= len(MIGRATIONS):
        return None
    last = connection.execute(LAST_RELEASE).first()
    return None if last is None else str(last.record)


def apply_migration(connection: sa.Connection, number: int) -> None:
    """Apply one migration and record it, in the transaction of the connection."""
    if number == 1:
        migrations.create(connection)
    for statement in MIGRATIONS[number - 1]:
        connection.execute(sa.text(statement))
    connection.execute(migrations.insert().values(number=number, time=utc_text(now())))


def check_version(found: int, shown: str) -> None:
    """Refuse a catalog that this version of Reissue cannot know how to read."""
    if found > len(MIGRATIONS):
        raise newer(shown, f"catalog {found}; this version knows catalogs up to {len(MIGRATIONS)}")
    if found == 0:
        raise SeriesDamaged(f"The catalog of the series in '{shown}' is empty.", hint="restore private/ from a backup.")
