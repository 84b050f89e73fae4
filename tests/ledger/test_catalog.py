"""The catalog's tables and how they grow."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from ledger_story import copied, entry, files_under, finish, opened, reseal, state
from sqlalchemy.dialects import postgresql

from reissue.errors import SeriesDamaged, SeriesError, StorageError
from reissue.ledger import Ledger, catalog, verify
from reissue.ledger.creation import migrate
from reissue.ledger.record import FORMAT, canonical, chain_value
from reissue.ledger.sqlite import Database


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def test_the_migrations_make_the_tables_that_are_used(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.touch()
    migrate(Database(path, "here"))
    connection = sqlite3.connect(path)
    for table in catalog.metadata.sorted_tables:
        found = {
            name: (kind, bool(required), bool(key))
            for _, name, kind, required, _, key in connection.execute(f"PRAGMA table_info({table.name})")
        }
        assert found == {
            column.name: (str(column.type), not column.nullable, column.primary_key) for column in table.columns
        }
        links = {(row[3], row[2], row[4]) for row in connection.execute(f"PRAGMA foreign_key_list({table.name})")}
        assert links == {(key.parent.name, key.column.table.name, key.column.name) for key in table.foreign_keys}
    connection.close()


def test_the_tables_can_live_in_postgresql() -> None:
    for table in catalog.metadata.sorted_tables:
        assert "CREATE TABLE" in str(sa.schema.CreateTable(table).compile(dialect=postgresql.dialect()))
    for statement in (statement for migration in catalog.MIGRATIONS for statement in migration):
        assert not any(word in statement.upper() for word in ("AUTOINCREMENT", "WITHOUT ROWID", "PRAGMA", "BLOB "))


def test_a_catalog_of_a_newer_version(clinic: Path) -> None:
    connection = sqlite3.connect(clinic / "private" / "catalog.sqlite")
    connection.execute("INSERT INTO migrations VALUES (99, '2030-01-01T00:00:00Z')")
    connection.commit()
    connection.close()
    for use in (Ledger.open, verify):
        with pytest.raises(SeriesError, match=r"newer version of Reissue .*catalog 99") as error:
            use(clinic)
        assert "upgrade" in str(error.value)


def rewritten(clinic: Path, number: object) -> None:
    """Let the last release be of another format, with a chain that fits; None for one that does not say."""
    folder = clinic / "public" / "0002"
    record = json.loads((folder / "release.json").read_text())
    del record["chain"], record["format"]
    record |= {} if number is None else {"format": number}
    chain = chain_value(record["previous"], record)
    text = canonical({**record, "chain": chain})
    (folder / "release.json").write_text(text)
    connection = sqlite3.connect(clinic / "private" / "catalog.sqlite")
    connection.execute("UPDATE releases SET record = ?, chain = ? WHERE number = 2", (text, chain))
    connection.commit()
    connection.close()
    reseal(clinic)


def test_a_release_of_a_newer_format(clinic: Path) -> None:
    rewritten(clinic, FORMAT + 1)
    before = files_under(clinic)
    for use in (Ledger.open, verify):
        with pytest.raises(SeriesError, match=rf"newer version of Reissue .*json of format {FORMAT + 1}") as error:
            use(clinic)
        assert "upgrade" in str(error.value)
    assert files_under(clinic) == before


def test_a_newer_release_is_refused_before_the_catalog_is_brought_up_to_date(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten(clinic, FORMAT + 1)
    before = files_under(clinic)
    grown = (*catalog.MIGRATIONS, ("CREATE TABLE notes (number INTEGER NOT NULL PRIMARY KEY)",))
    monkeypatch.setattr(catalog, "MIGRATIONS", grown)
    with pytest.raises(SeriesError, match="newer version"):
        opened(clinic)
    assert files_under(clinic) == before


@pytest.mark.parametrize("number", [None, 1])
def test_releases_of_the_first_format(clinic: Path, number: object) -> None:
    rewritten(clinic, number)
    assert verify(clinic) == []
    with opened(clinic) as ledger:
        assert "format" not in ledger.releases()[1].manifest
        ledger.commit(entry(3), parent=2)
        assert ledger.verify() == []
    assert json.loads((clinic / "public" / "0003" / "release.json").read_text())["format"] == FORMAT == 2


@pytest.mark.parametrize("number", ["2", True, 0, 1.5])
def test_a_format_that_is_none(clinic: Path, number: object) -> None:
    rewritten(clinic, number)
    assert "public/0002/release.json: the record of the release cannot be understood" in map(str, verify(clinic))


def test_an_older_catalog_is_brought_up_to_date(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(clinic)
    grown = (*catalog.MIGRATIONS, ("CREATE TABLE notes (number INTEGER NOT NULL PRIMARY KEY)",))
    monkeypatch.setattr(catalog, "MIGRATIONS", grown)
    with opened(clinic) as ledger:
        assert ledger._database.read(catalog.version) == len(grown) - 1  # readers never write
        ledger.commit(entry(3), parent=2)
        assert ledger._database.read(catalog.version) == len(grown)
        assert [link.kind for link in ledger.links()] == ["created", "released", "released", "migrated", "released"]
        assert ledger.verify() == []
    assert state(clinic)["releases"][:2] == before["releases"]


def test_a_migration_and_its_record_are_one(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("CREATE TABLE notes (number INTEGER NOT NULL PRIMARY KEY)", "CREATE TABLE releases (number INTEGER)")
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "MIGRATIONS", (*catalog.MIGRATIONS, broken))
        with pytest.raises(StorageError, match="already exists"):
            finish(clinic)
    connection = sqlite3.connect(clinic / "private" / "catalog.sqlite")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert "notes" not in tables
    with opened(clinic) as ledger:
        assert ledger._database.read(catalog.version) == len(catalog.MIGRATIONS)


@pytest.mark.parametrize("content", [b"", b"this is no database, whatever its name says" * 100])
def test_a_catalog_that_is_none(clinic: Path, content: bytes) -> None:
    (clinic / "private" / "catalog.sqlite").write_bytes(content)
    with pytest.raises(SeriesDamaged, match="catalog") as error:
        opened(clinic)
    assert "backup" in str(error.value)


def test_private_values_stay_out_of_database_errors(clinic: Path) -> None:
    with opened(clinic) as ledger:
        values = {"number": 1, "time": "SECRET", "kind": "SECRET", "detail": "SECRET"}
        with pytest.raises(SeriesError) as error:
            ledger._database.write(lambda connection: connection.execute(catalog.events.insert().values(values)))
    assert "SECRET" not in str(error.value)
    assert error.value.__cause__ is not None
    assert "SECRET" not in str(error.value.__cause__)
    assert error.value.__suppress_context__
