"""Tables that are asked of a database: types, batches, and errors that tell nothing of the address or the cells."""

from __future__ import annotations

import datetime as dt
import logging
import sqlite3
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlalchemy as sa
from command_line import Run, run
from sqlalchemy.pool import StaticPool

import reissue as ri
from reissue.errors import MissingExtra, ParameterError, TableError, TooLarge, UserError
from reissue.publishing.series import draft
from reissue.tables import frames, gathered, query, room
from reissue.tables.frames import read_table

__all__ = ["run"]

CANARY = "canary-77ab"
PASSWORD = "CANARY-password"
ROWS = 120
SELECT = "select id, age, town, weight, illness from people"


def people() -> pl.DataFrame:
    number = pl.int_range(ROWS, eager=True)
    return pl.DataFrame(
        {
            "id": "p" + (number * 37 % 1009).cast(pl.String),
            "age": 20 + number * 7 % 50,
            "town": pl.Series(["Bern", "Ulm", None, "50% : Graz"]).gather(number % 4),
            "weight": 50.5 + number % 9,
            "illness": pl.Series(["flu", "cold", "gout", "angina", "asthma"]).gather(number * 7919 % 10007 % 5),
        }
    )


def policy() -> ri.Policy:
    quasi: dict[str, Any] = {"age": ri.Numeric(), "town": ri.Categorical(missing="value"), "weight": ri.Numeric()}
    return ri.Policy(ri.Schema(person="id", quasi=quasi, sensitive="illness"), ri.MInvariance(m=2))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (gathered, query, frames):
        monkeypatch.setattr(module, "BATCH", 7)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "clinic.db") as base:
        base.execute("create table people (id text, age integer, town text, weight real, illness text)")
        base.executemany("insert into people values (?, ?, ?, ?, ?)", people().rows())
    base.close()
    return tmp_path / "clinic.db"


@pytest.fixture
def memory() -> sa.Engine:
    engine = sa.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    table = sa.Table(
        "people",
        sa.MetaData(),
        *(sa.Column(name, kind) for name, kind in (("id", sa.String), ("age", sa.Integer), ("town", sa.String))),
        sa.Column("weight", sa.Float),
        sa.Column("illness", sa.String),
        sa.Column("born", sa.Date),
        sa.Column("seen", sa.DateTime),
        sa.Column("insured", sa.Boolean),
        sa.Column("cost", sa.Numeric(10, 2, asdecimal=True)),
        sa.Column("key", sa.Uuid),
    )
    more = {
        "born": dt.date(1990, 1, 31),
        "seen": dt.datetime(2026, 3, 1, 14, 5),
        "insured": True,
        "cost": Decimal("12.50"),
        "key": uuid.UUID(int=7),
    }
    with engine.begin() as connection:
        table.metadata.create_all(connection)
        connection.execute(table.insert(), [row | more for row in people().to_dicts()])
    return engine


def statement(*names: str) -> sa.Select[Any]:
    return sa.select(*(sa.column(name) for name in names)).select_from(sa.table("people"))


def ways(file: Path, memory: sa.Engine) -> dict[str, object]:
    relation = duckdb.from_arrow(people().to_arrow())
    return {
        "file": ri.Query(f"sqlite:///{file}", SELECT),
        "with an end": ri.Query(sa.make_url(f"sqlite:///{file}"), f"{SELECT} where town is null or town <> ':x %s';\n"),
        "engine": ri.Query(memory, SELECT),
        "select": ri.Query(memory, statement("id", "age", "town", "weight", "illness")),
        "text": ri.Query(memory, sa.text(f"{SELECT} where age > :age").bindparams(age=1)),
        "relation": relation,
        "filtered relation": relation.filter("age > 1"),
    }


@pytest.mark.parametrize("name", ["file", "with an end", "engine", "select", "text", "relation", "filtered relation"])
def test_the_same_table_and_the_same_bytes(name: str, file: Path, memory: sa.Engine) -> None:
    given = ways(file, memory)[name]
    assert read_table(given)[0].equals(people())
    coded = read_table(given, coded=policy().schema.kinds)[0]
    assert coded.dtypes == [pl.String, pl.Int8, pl.Categorical, pl.Float64, pl.Categorical]
    made = [draft(one, policy(), seed=4) for one in (people(), given)]
    for part, table in made[0].recoded.tables.items():
        assert made[1].recoded.tables[part].equals(table)


def test_cells_have_the_types_of_the_database(memory: sa.Engine) -> None:
    types = {"born": sa.Date, "seen": sa.DateTime, "insured": sa.Boolean, "cost": sa.Numeric, "key": sa.Uuid}
    typed = sa.select(*(sa.column(name, kind) for name, kind in types.items())).select_from(sa.table("people"))
    read = read_table(ri.Query(memory, typed))[0]
    assert read.height == ROWS
    assert dict(zip(read.columns, read.row(0), strict=True)) == {
        "born": dt.date(1990, 1, 31),
        "seen": dt.datetime(2026, 3, 1, 14, 5),
        "insured": True,
        "cost": 12.5,
        "key": "00000000-0000-0000-0000-000000000007",
    }
    assert read.dtypes == [pl.Date, pl.Datetime("us"), pl.Boolean, pl.Float64, pl.String]


ZONE = dt.timezone(dt.timedelta(hours=1))
CELLS: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "nothing": ([None, None], pl.Null, [None, None]),
    "whole": ([1, None], pl.Int64, [1, None]),
    "whole and decimal": ([1, 2.5], pl.Float64, [1.0, 2.5]),
    "exact": ([Decimal("0.10"), 3, None], pl.Float64, [0.1, 3.0, None]),
    "yes and no": ([True, None], pl.Boolean, [True, None]),
    "with a zone": (
        [dt.datetime(2026, 1, 1, 1, tzinfo=ZONE)],
        pl.Datetime("us", "UTC"),
        [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)],
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_of_drivers(name: str) -> None:
    cells, type_, expected = CELLS[name]
    made = query.typed("x", cells)
    assert made.dtype == type_
    assert made.to_list() == expected


@pytest.mark.parametrize(
    "cells",
    [
        [1, CANARY],
        [True, 2],
        [CANARY.encode()],
        [[CANARY]],
        [dt.time(1)],
        [2**70],
        [f"{CANARY}\ud800"],
        [dt.date(2026, 1, 1), dt.datetime(2026, 1, 1)],
        [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)],
    ],
)
def test_cells_that_are_refused(cells: list[Any]) -> None:
    with pytest.raises(TableError, match="Column 'x' of the query holds") as caught:
        query.typed("x", cells)
    assert CANARY not in str(caught.value)


def test_types_that_change_on_the_way(tmp_path: Path) -> None:
    """SQLite keeps in a column whatever it is given."""
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("create table t (n, d)")
        base.executemany("insert into t values (?, ?)", [(None, 1)] * 7 + [(5, 2)] * 7 + [(300, 0.5)] * 7)
    base.close()
    ask = ri.Query(f"sqlite:///{tmp_path / 'a.db'}", "select * from t")
    for coded in ([], ["n", "d"]):
        read = read_table(ask, coded=coded)[0]
        assert read["n"].to_list() == [None] * 7 + [5] * 7 + [300] * 7
        assert read["n"].dtype.is_integer()
        assert read["d"].to_list() == [1.0] * 7 + [2.0] * 7 + [0.5] * 7
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("insert into t values (?, 1)", [CANARY])
    base.close()
    with pytest.raises(TableError, match="column 'n' holds text and whole numbers") as caught:
        read_table(ask)
    assert CANARY not in str(caught.value)


BAD: dict[str, tuple[str, str]] = {
    "no such table": (f"select '{CANARY}' from nowhere", "The query failed: OperationalError"),
    "syntax": (f"{CANARY} !", "The query failed"),
    "no rows": (f"update people set age = 1 where id = '{CANARY}'", "it is no select"),
    "one name": ("select id, age, age from people", "Several columns of the query have one name: 'age'"),
    "two statements": (f"{SELECT}; drop table people", "The query failed"),
}


@pytest.mark.parametrize("name", BAD)
def test_queries_that_fail(name: str, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    sql, told = BAD[name]
    caplog.set_level(logging.DEBUG)
    before = file.read_bytes()
    with pytest.raises(UserError, match=told) as caught:
        draft(ri.Query(f"sqlite:///{file}", sql), policy())
    assert "Next step" in str(caught.value)
    assert CANARY not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert file.read_bytes() == before


def test_relations_that_fail() -> None:
    base = duckdb.connect()
    base.execute("create table t as select 'p' || range as id, range as age from range(60)")
    failing = base.sql(f"select id, case when age = 50 then cast('{CANARY}' || age as int) else 1 end as age from t")
    table = base.table("t")
    for _ in range(2):  # and the connection is free again
        with pytest.raises(
            TableError, match=r"cannot be converted: ConversionException.\n.*that the query runs"
        ) as caught:
            read_table(failing, coded=["age"])
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None
        assert read_table(table)[0].height == 60
    base.close()
    with pytest.raises(TableError, match="its connection is open"):
        read_table(table)


def test_what_comes_in_must_fit(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "UNNOTICED", 1000)
    monkeypatch.setenv("REISSUE_MEMORY", "8kB")
    with pytest.raises(TooLarge, match=r"'the query' is too large: as a table \(\d\d rows, 5 columns\)"):
        read_table(ri.Query(f"sqlite:///{file}", SELECT))
    with pytest.raises(TooLarge, match="'the relation of DuckDB' is too large"):
        read_table(duckdb.from_arrow(people().to_arrow()))
    with pytest.raises(TooLarge, match=r"'the query' is too large: .* its codes \(\d+ rows, 5 columns\)"):
        draft(ri.Query(f"sqlite:///{file}", SELECT), policy())


def test_the_person_column_is_missing(file: Path) -> None:
    with pytest.raises(TableError, match="there is no column 'id'"):
        draft(ri.Query(f"sqlite:///{file}", "select age, town, weight, illness from people"), policy())


def test_nothing_is_written(file: Path) -> None:
    """Even by a query that changes the table and gives rows: it is rolled back."""
    with pytest.raises(TableError):
        draft(ri.Query(f"sqlite:///{file}", "delete from people returning id"), policy())
    assert read_table(ri.Query(f"sqlite:///{file}", SELECT))[0].height == ROWS


ADDRESSES: dict[str, tuple[str, type[UserError], str]] = {
    "not an address": (f"{PASSWORD}", ParameterError, "cannot be read"),
    "no such kind": (f"nosuch://me:{PASSWORD}@host/x", MissingExtra, "There is no driver for 'nosuch'"),
    "no driver": (f"oracle+cx_oracle://me:{PASSWORD}@host/x", MissingExtra, r"no driver for 'oracle\+cx_oracle'"),
    "odd port": (f"postgresql://me:{PASSWORD}@host:{PASSWORD}/x", ParameterError, "cannot be read"),
    "no file": ("sqlite:///nowhere/x.db", TableError, "There is no file"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses_that_are_refused(name: str, caplog: pytest.LogCaptureFixture) -> None:
    address, kind, told = ADDRESSES[name]
    caplog.set_level(logging.DEBUG)
    ask = ri.Query(address, f"select '{CANARY}'")
    with pytest.raises(kind, match=told) as caught:
        read_table(ask)
    assert PASSWORD not in f"{caught.value} {ask!r} {caplog.text} {caught.value.__context__}"


def test_a_database_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        paramstyle = "qmark"
        sqlite_version_info = (3, 45, 0)
        Error = RuntimeError

        def connect(self, *arguments: object, **options: object) -> None:
            raise RuntimeError(f"me:{PASSWORD}@host")

    engine = sa.create_engine("sqlite://", module=Driver())
    with pytest.raises(TableError, match=r"The database \(sqlite\) cannot be reached") as caught:
        read_table(ri.Query(engine, "select 1"))
    assert PASSWORD not in str(caught.value)
    assert caught.value.__context__ is None


def test_parameters_of_queries() -> None:
    for database, sql in ((7, "select 1"), ("sqlite://", 7), ("sqlite://", "  ")):
        with pytest.raises(ParameterError, match="parameter of Query must be"):
            ri.Query(database, sql)  # type: ignore[arg-type]
    assert repr(ri.Query(f"postgresql://me:{PASSWORD}@h/x", f"select '{CANARY}'")) == "Query()"


def test_an_engine_of_the_caller_stays_open(memory: sa.Engine) -> None:
    read_table(ri.Query(memory, SELECT))
    with memory.connect() as connection:
        assert connection.execute(sa.text("select count(*) from people")).scalar() == ROWS


def test_queries_go_wherever_tables_go(memory: sa.Engine, tmp_path: Path) -> None:
    ask = ri.Query(memory, SELECT)
    release = ri.publish(tmp_path / "s", ask, policy(), seed=1)
    assert type(release.tables["table"]) is pl.DataFrame
    again = ri.preview(tmp_path / "s", ask, allow=["same-state"], reason="the same again")
    assert again.summary["changes"]["stayed"] == ROWS
    found = ri.compare([ask], methods=["MInvariance"], seconds=30, processes=0)
    assert found.policy is None or found.policy.schema.person == "id"


def test_on_the_command_line(run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    (tmp_path / "people.sql").write_text(f"-- everybody: now\n{SELECT};\n")
    done = run("publish", "people", "people.sql", "--policy", "policy.toml")
    assert done.code == 2
    assert "no database is named" in done.err
    assert "REISSUE_DATABASE=" in done.err
    monkeypatch.setenv("REISSUE_DATABASE", f"sqlite:///{file}")
    done = run("publish", "people", "people.sql", "--policy", "policy.toml", "--seed", "1")
    assert done.code == 0, done.err
    done = run("init", "people.sql", "--out", "proposed.toml", "--yes")
    assert done.code == 0, done.err
    monkeypatch.setenv("REISSUE_DATABASE", f"postgresql://me:{PASSWORD}@host:x/people")
    done = run("publish", "people", "people.sql", "--dry-run")
    assert done.code == 2
    assert PASSWORD not in done.out + done.err
    (tmp_path / "empty.sql").write_text(" \n")
    (tmp_path / "odd.sql").write_bytes(b"select '\xff'")
    for name, told in (("empty", "There is no query in"), ("odd", "cannot be read as text"), ("none", "no file")):
        done = run("publish", "people", f"{name}.sql", "--dry-run")
        assert done.code == 2
        assert told in done.err
