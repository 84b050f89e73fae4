"""Tables in and out: any pandas, polars, pyarrow or DuckDB table, files, objects in S3, and queries to databases."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

import polars as pl

from reissue.arrays.cores import COLUMNS_FROM
from reissue.errors import MissingExtra, TableError, UserError, listed, printable
from reissue.model.csv_files import CsvFile, laid_out, read_csv
from reissue.model.libraries import Library as Library
from reissue.model.libraries import to_library as to_library
from reissue.tables.by_column import ByColumn
from reissue.tables.excel_files import EXCEL, read_excel, sheet_of
from reissue.tables.gathered import BATCH, gathered
from reissue.tables.object_store import address_of, read_objects
from reissue.tables.parquet_account import parquet_extent
from reissue.tables.parquet_parts import parquet_table
from reissue.tables.plain import dates_of_midnights
from reissue.tables.query import ENDING, Query, query_in, read_query
from reissue.tables.room import Extent, check_room, csv_extent, unpacked
from reissue.tables.sound_files import check_file as check_file
from reissue.tables.sound_files import check_texts
from reissue.tables.sound_files import understood as understood

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
READABLE = (".parquet", *CSV, *EXCEL)
"""The endings of files that are read."""
_KINDS = "a CSV, Parquet or Excel file"
PART = 1 << 17
"""Parts of a file with fewer rows are read together: each takes some time, whatever is in it."""

Found = TypeVar("Found")
_ONE_AT_A_TIME = Lock()
"""A connection of DuckDB refuses to be asked by two threads at once."""


def read_table(
    table: object,
    *,
    text: Collection[str] = (),
    coded: Collection[str] = (),
    columns: Collection[str] | None = None,
) -> tuple[pl.DataFrame, Library]:
    """The table as a polars frame, and the library it came from (polars for a file).

    Columns named in `text` are read from a CSV or Excel file as they are written, so that the id 007 does not
    become 7; in every other source columns have types already. The texts of a Parquet file are looked at whether they
    are texts, but for columns in `coded`: that shows when their labels are listed. Of a Parquet file only the `columns`
    that are asked for are read.
    """
    if isinstance(table, str | Path):
        if (address := address_of(table)) is not None:
            return read_objects(address, coded, columns=columns), "polars"
        return _read_file(Path(table), text, coded, columns), "polars"
    if isinstance(table, Query):
        return read_query(table, coded), "polars"
    if isinstance(table, pl.DataFrame):
        return table, "polars"
    if isinstance(table, pl.LazyFrame):
        return _converted(table.collect, "polars"), "polars"
    import narwhals as nw
    from narwhals.dependencies import is_pandas_dataframe, is_pyarrow_table

    if is_pandas_dataframe(table):
        from reissue.tables.pandas_frames import check_pandas

        check_pandas(table)
    elif is_pyarrow_table(table):
        _check_once("pyarrow", table.column_names)
    frame: Any = nw.from_native(cast(Any, table), pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        raise _no_table(table)
    library = str(frame.implementation)
    if library not in ("pandas", "pyarrow", "duckdb"):
        raise TableError(
            f"Tables of '{library}' are not supported.",
            hint="convert it to pandas, polars, pyarrow or DuckDB first.",
        )
    if library == "pandas":
        made = _converted(partial(_polars, frame), library)
        return made.with_columns(dates_of_midnights(column) for column in made), "pandas"
    names, types = _converted(partial(_native_columns, table), library)
    _check_once(library, names)
    told = partial(_unconverted, frame, dict(zip(names, types, strict=True)))
    convert = partial(_of_relation, table, coded) if library == "duckdb" else partial(_polars, frame)
    return _converted(convert, library, told), cast(Library, library)


def open_table(
    table: object, *, text: Collection[str], coded: Collection[str], without: Collection[str]
) -> tuple[ByColumn, Library]:
    """The same for whoever goes through it by column, and asks for none of those it is wanted `without`.

    Of large Parquet files a column is read when it is asked for, so that they are never in memory as a whole.
    """
    if isinstance(table, str | Path):
        if (address := address_of(table)) is not None:
            return read_objects(address, coded, without=without), "polars"
        if (found := parquet_table(sheet_of(Path(table))[0], coded)) is not None:
            if found.height < COLUMNS_FROM:
                return found.frame(), "polars"
            found.check_room_for_codes(without)
            return found, "polars"
    return read_table(table, text=text, coded=coded)


def which_of(number: int, tables: Sequence[object]) -> str:
    """Which of several tables, in an error: by its place, and by its name where it is a file."""
    table = tables[number - 1]
    named = f" ('{printable(Path(table).name)}')" if isinstance(table, str | Path) else ""
    return f"Table {number} of {len(tables)}{named}"


def _check_once(library: str, names: Collection[str]) -> None:
    if twice := [name for name, often in Counter(names).items() if often > 1]:
        raise TableError(f"Several columns of the {library} table have one name: {listed(twice)}.", hint="rename them.")


def _no_table(table: object) -> TableError:
    kind = type(table).__name__
    instead = {
        "Series": "its `.to_frame()` is a table.",
        "RecordBatch": "`pyarrow.Table.from_batches([...])` makes a table of it.",
        "dict": "`polars.DataFrame(...)` or `pandas.DataFrame(...)` makes a table of it.",
    }
    for other in ("list", "tuple", "ndarray", "recarray"):
        instead[other] = instead["dict"]
    return TableError(
        f"An object of type '{kind}' is not a table.",
        hint=instead.get(kind, f"pass a pandas, polars, pyarrow or DuckDB table, the path of {_KINDS}, or a Query."),
    )


def _of_relation(relation: Any, coded: Collection[str]) -> pl.DataFrame:
    """The table of DuckDB's that a relation describes; its rows come by batches."""
    import pyarrow as pa

    def own(batch: Any) -> pl.DataFrame:
        # DuckDB keeps a batch as long as one of its columns is in use; with nothing put after it, a column is copied.
        copies = [pa.concat_arrays([column, column.slice(0, 0)]) for column in batch.columns]
        return cast(pl.DataFrame, pl.from_arrow(pa.RecordBatch.from_arrays(copies, schema=batch.schema)))

    def batches(reader: Any) -> Iterator[pl.DataFrame]:
        yield cast(pl.DataFrame, pl.from_arrow(reader.schema.empty_table()))
        yield from map(own, reader)

    read = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader
    with _ONE_AT_A_TIME, closing(read(BATCH)) as reader:
        return gathered(batches(reader), "the relation of DuckDB", coded)


def _polars(frame: Any) -> pl.DataFrame:
    """A table that narwhals holds, in polars."""
    import narwhals as nw

    if isinstance(frame, nw.LazyFrame):
        with _ONE_AT_A_TIME:
            lazily: pl.DataFrame = frame.collect("polars").to_native()
            return lazily
    made: pl.DataFrame = frame.to_polars()
    return made


def _native_columns(table: Any) -> tuple[list[str], list[str]]:
    """The names and the types of the columns of a pyarrow or DuckDB table; of types only what family they are of."""
    types = table.schema.types if hasattr(table, "schema") else table.types
    names = table.schema.names if hasattr(table, "schema") else table.columns
    return list(names), [str(one).split("(")[0].split("<")[0] for one in types]


def _unconverted(frame: Any, types: dict[str, str]) -> list[str]:
    """Which columns cannot be had in polars."""
    problems = []
    for name, kind in types.items():
        try:
            _polars(frame.select(name))
        except MemoryError:
            raise
        except (Exception, pl.exceptions.PanicException):  # noqa: BLE001  (any library may raise anything here)
            problems.append(
                f"column '{name}' holds values of type {kind}; make text or numbers of them, or leave it out"
            )
    # Where every column fails, it is not for what is in them.
    return problems if len(problems) < len(types) or len(types) == 1 else []


def _converted(convert: Callable[[], Found], library: str, problems: Callable[[], list[str]] = list) -> Found:
    """Run a conversion of another library; what it may say on failure can quote cells, so it is dropped."""
    try:
        return convert()
    except ImportError as error:
        failure: TableError | MissingExtra = MissingExtra(
            f"Reading a {library} table needs the package '{error.name}'.",
            hint="install reissue with its extras pandas and duckdb (from a clone: pip install '.[pandas,duckdb]').",
        )
    except (UserError, MemoryError):
        raise
    except UnicodeError:
        failure = TableError(
            f"The {library} table holds text that is not Unicode, such as half of a surrogate pair.",
            hint="find where the text comes from, and decode it with the right encoding.",
        )
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001  (any library may raise anything here)
        asked = type(error).__module__.endswith("duckdb")  # what fails is the query, and not a type
        found, busy = [] if asked else problems(), library == "duckdb"
        columns = "check that every column holds values of one type."
        connection = "check that the query runs, and that its connection is open and not in use by another thread."
        failure = TableError(
            f"The {library} table cannot be converted: {type(error).__name__}.",
            problems=found,
            hint=connection if busy and not found else columns,
        )
    raise failure


def _read_file(
    path: Path, text: Collection[str], coded: Collection[str], columns: Collection[str] | None
) -> pl.DataFrame:
    path, sheet = sheet_of(path)
    if (parquet := parquet_table(path, coded)) is not None:
        return parquet.frame(columns)
    name = path.name.lower()
    if name.endswith(ENDING):
        return read_query(query_in(path), coded)
    check_file(path)
    if not name.endswith(READABLE):
        raise TableError(
            f"'{path.name}' is not a kind of file this reads.", hint=f"use one of {', '.join((*READABLE, ENDING))}."
        )
    if name.endswith(EXCEL):
        return understood(
            lambda: read_excel(path, sheet, text),
            f"'{path.name}' cannot be read as an Excel table.",
            "check that it is complete and not locked by a password, or save its sheet as CSV.",
        )
    return understood(
        lambda: read_csv(_csv_file(path), text=text),
        f"'{path.name}' cannot be read as a CSV table.",
        "check that it is complete, UTF-8, and has a header line.",
    )


def read_in_parts(path: Path, columns: Collection[str]) -> list[Callable[[], pl.DataFrame]]:
    """Some columns of a Parquet file in parts, each of which is read when it is called.

    Whoever needs little of each part needs the memory of one at a time.
    """
    check_file(path)
    what, hint = f"'{path.name}' cannot be read as a Parquet table.", "check that it is complete."
    extent = understood(lambda: parquet_extent(path), what, hint)
    check_room(path.name, extent)

    def read(begin: int, end: int) -> pl.DataFrame:
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        part = table.select(*columns).slice(begin, end - begin).collect()
        check_texts(part)
        return part

    return [partial(understood, partial(read, begin, end), what, hint) for begin, end in _spans(extent)]


def _spans(extent: Extent) -> list[tuple[int, int]]:
    """From which row to which the parts of a file reach; small ones together."""
    ends = [0]
    for rows in extent.parts or (0,):
        if len(ends) > 1 and ends[-1] - ends[-2] < PART:
            ends[-1] += rows
        else:
            ends.append(ends[-1] + rows)
    return list(pairwise(ends))


def content_of(path: Path) -> bytes:
    """The content of a CSV file; unpacked if need be, if it fits."""
    if path.name.lower().endswith(".gz"):
        with gzip.open(path, "rb") as packed:
            return unpacked(packed, path.name)
    check_room(path.name, Extent(0, 1, path.stat().st_size))
    return path.read_bytes()


def _csv_file(path: Path) -> CsvFile:
    """A CSV file as it is laid out; unpacked if need be, if it fits."""
    content: Path | bytes = path
    if path.name.lower().endswith(".gz"):
        content = content_of(path)
    else:
        check_room(path.name, Extent(0, 1, path.stat().st_size))
    file = laid_out(content, path.name)
    with file.opened() as opened:
        opened.readline()
        check_room(path.name, csv_extent(opened, len(file.names)))
    return file
