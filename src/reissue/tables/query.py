"""Tables that are asked of a database, by any SQL that SQLAlchemy's drivers understand.

Rows come by batches, with a cursor on the server where the driver has one, and nothing is ever written: the
transaction is rolled back. Cells have the types of the database: whole numbers, decimals, yes and no, text, dates and
times; NULL is missing. Exact decimals (`NUMERIC`) are read as decimals of double precision, as everywhere in the
program; a UUID is its text.

Neither the address, which may hold a password, nor the query, which may hold values, nor what the database says of a
failure stands in a message.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import polars as pl

from reissue.errors import MissingExtra, ParameterError, TableError, UserError, listed
from reissue.tables.gathered import BATCH, gathered
from reissue.tables.sound_files import check_file, understood

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, CursorResult, Engine, Executable

ENDING = ".sql"
VARIABLE = "REISSUE_DATABASE"
"""The variable with the address of the database that queries in files are put to."""


@dataclass(frozen=True, repr=False)
class Query:
    """A table that is asked of a database when it is read, in place of a table everywhere.

    `database` is an address as SQLAlchemy writes it, such as "postgresql+psycopg://host/clinic", or an engine of yours.
    `statement` is the query as text, given to the database as it is, or a `select` of SQLAlchemy's. Drivers of
    databases other than SQLite are yours to install.
    """

    database: str | URL | Engine
    statement: str | Executable

    def __post_init__(self) -> None:
        from sqlalchemy import URL, Engine, Executable

        if not isinstance(self.database, str | URL | Engine):
            raise ParameterError("The 'database' parameter of Query must be an address of a database, or an engine.")
        if not isinstance(self.statement, str | Executable) or not str(self.statement).strip():
            raise ParameterError("The 'statement' parameter of Query must be a query: text, or a select of SQLAlchemy.")

    def __repr__(self) -> str:
        return "Query()"


def read_query(query: Query, coded: Collection[str] = ()) -> pl.DataFrame:
    """The table; columns in `coded` take less room, as only their labels and numbers count."""
    try:
        with _connected(query.database) as connection:
            return gathered(_batches(connection, query.statement), "the query", coded)
    except (UserError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  (drivers raise what they like, and quote cells and addresses)
        cause = getattr(error, "orig", None) or error
        failure = TableError(
            f"The query failed: {type(cause).__name__}. What the database says may hold values, and is not shown.",
            hint="try the query with the database's own program, as the same user.",
        )
    raise failure


def _batches(connection: Connection, statement: str | Executable) -> Iterator[pl.DataFrame]:
    result = _result(connection, statement)
    if not result.returns_rows:
        raise TableError("The query returns no rows: it is no select.", hint="give a query that selects a table.")
    names = [str(name) for name in result.keys()]  # noqa: SIM118  (not a dict)
    if twice := [name for name, often in Counter(names).items() if often > 1]:
        raise TableError(f"Several columns of the query have one name: {listed(twice)}.", hint="rename them with AS.")
    yield pl.DataFrame(schema=dict.fromkeys(names, pl.Null))
    for rows in result.partitions(BATCH):
        columns = zip(*rows, strict=True)
        yield pl.DataFrame([typed(name, cells) for name, cells in zip(names, columns, strict=True)])


def query_in(path: Path) -> Query:
    """The query in a file, for the database whose address stands in the variable."""
    check_file(path)
    database = os.environ.get(VARIABLE, "")
    if not database:
        raise ParameterError(
            f"'{path.name}' is a query, and no database is named.",
            hint=f"put its address into the variable {VARIABLE}, such as {VARIABLE}=postgresql+psycopg://host/clinic.",
        )
    what, hint = f"'{path.name}' cannot be read as text.", "write the query as UTF-8."
    statement = understood(lambda: path.read_text(encoding="utf-8-sig"), what, hint)
    if not statement.strip():
        raise TableError(f"There is no query in '{path.name}'.", hint="write one select into it.")
    return Query(database, statement)


# Asking


@contextmanager
def _connected(database: str | URL | Engine) -> Iterator[Connection]:
    """A connection that is closed without anything having been written."""
    from sqlalchemy import Engine

    own = not isinstance(database, Engine)
    engine = _engine(database) if not isinstance(database, Engine) else database
    try:
        with _opened(engine) as connection:
            yield connection
    finally:
        if own:
            engine.dispose()


def _opened(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except Exception as error:  # noqa: BLE001  (drivers raise what they like, and quote addresses)
        cause = getattr(error, "orig", None) or error
        failure = TableError(
            f"The database ({engine.dialect.name}) cannot be reached: {type(cause).__name__}.",
            hint="check the address, the user and the password, and that the database runs.",
        )
    raise failure


def _engine(address: str | URL) -> Engine:
    """An engine for an address, of which no message shows anything but the kind of the database."""
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import NoSuchModuleError
    from sqlalchemy.pool import NullPool

    failure: UserError
    try:
        url = make_url(address)
    except Exception:  # noqa: BLE001  (the reasons quote the address)
        failure = ParameterError(
            "The address of the database cannot be read.",
            hint="write it as SQLAlchemy does: sqlite:///clinic.db, or postgresql+psycopg://user@host/clinic; "
            "a password with @, / or : in it has these as %40, %2F and %3A.",
        )
    else:
        kind = url.drivername
        if url.get_backend_name() == "sqlite" and (file := _sqlite_file(url)) is not None:
            check_file(file)  # SQLite would make one
        try:
            return create_engine(url, poolclass=NullPool, hide_parameters=True)
        except (ImportError, NoSuchModuleError):
            failure = MissingExtra(
                f"There is no driver for '{kind}' here.",
                hint="install the driver of the database, such as psycopg for postgresql+psycopg.",
            )
        except Exception:  # noqa: BLE001  (the reasons quote the address)
            failure = ParameterError(f"The address of the database ({kind}) is not understood.", hint="check it.")
    raise failure


def _sqlite_file(url: URL) -> Path | None:
    name = url.database
    return None if not name or name == ":memory:" or name.startswith("file:") else Path(name)


def _result(connection: Connection, statement: str | Executable) -> CursorResult[Any]:
    """What the query gives, by batches. Text is not looked at, so that neither : nor % means anything in it."""
    streamed = connection.execution_options(yield_per=BATCH)
    if isinstance(statement, str):
        plain = streamed.execution_options(no_parameters=True)
        return plain.exec_driver_sql(statement.strip().removesuffix(";"))
    return streamed.execute(statement)


# Cells

_NONE = type(None)
_AS: dict[type, Callable[[Sequence[Any]], Sequence[Any]]] = {
    Decimal: lambda cells: [None if cell is None else float(cell) for cell in cells],
    UUID: lambda cells: [None if cell is None else str(cell) for cell in cells],
}
"""Types that become others."""
_TYPES: dict[type, pl.DataType] = {
    bool: pl.Boolean(),
    int: pl.Int64(),
    float: pl.Float64(),
    Decimal: pl.Float64(),
    str: pl.String(),
    UUID: pl.String(),
    dt.date: pl.Date(),
}


def typed(name: str, cells: Sequence[Any]) -> pl.Series:
    """A column of what a driver gives, all of one type."""
    kinds = set(map(type, cells)) - {_NONE}
    if not kinds:
        return pl.Series(name, [None] * len(cells), dtype=pl.Null)
    if kinds == {dt.datetime}:
        return _times(name, cells)
    if kinds <= {int, float, Decimal} and kinds != {int}:
        return pl.Series(name, _AS[Decimal](cells), dtype=pl.Float64)
    if len(kinds) > 1 or not kinds <= _TYPES.keys():
        held = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise TableError(
            f"Column '{name}' of the query holds values of type {held}.",
            hint="cast it to numbers, text, dates or times in the query, or leave it out.",
        )
    (kind,) = kinds
    try:
        return pl.Series(name, _AS[kind](cells) if kind in _AS else cells, dtype=_TYPES[kind])
    except (OverflowError, TypeError, UnicodeError, pl.exceptions.PolarsError):
        told = "whole numbers beyond 2^63" if kind is int else "text that is not Unicode"
        failure = TableError(f"Column '{name}' of the query holds {told}.", hint="cast it to text in the query.")
    raise failure


def _times(name: str, cells: Sequence[dt.datetime | None]) -> pl.Series:
    zones = {cell.tzinfo is not None for cell in cells if cell is not None}
    if zones == {True}:
        moments = [None if cell is None else cell.astimezone(dt.UTC) for cell in cells]
        return pl.Series(name, moments, dtype=pl.Datetime("us", "UTC"))
    if zones == {False}:
        return pl.Series(name, cells, dtype=pl.Datetime("us"))
    raise TableError(
        f"Column '{name}' of the query holds times with a zone and without.", hint="cast them to one type in the query."
    )
