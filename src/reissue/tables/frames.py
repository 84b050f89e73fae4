"""Tables in and out: any pandas, polars, pyarrow or DuckDB table, or the path of a CSV, Parquet or Excel file."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

import polars as pl

from reissue.errors import MissingExtra, TableError, UserError, is_text, listed
from reissue.model.csv_files import CsvFile, laid_out, read_csv
from reissue.model.libraries import Library as Library
from reissue.model.libraries import to_library as to_library
from reissue.tables.excel_files import EXCEL, read_excel, sheet_of
from reissue.tables.parquet_account import parquet_extent
from reissue.tables.plain import dates_of_midnights
from reissue.tables.room import Extent, check_room, csv_extent, unpacked

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
    in_parts: bool = False,
) -> tuple[pl.DataFrame, Library]:
    """The table as a polars frame, and the library it came from (polars for a file).

    Columns named in `text` are read from a CSV or Excel file as they are written, so that the id 007 does not
    become 7; in every other source columns have types already. The texts of a Parquet file are looked at whether they
    are texts, but for columns in `coded`: that shows when their labels are listed. Of a Parquet file only the `columns`
    that are asked for are read; with `in_parts`, one of several parts part by part, and texts that are to be coded
    become categories.
    """
    if isinstance(table, str | Path):
        return _read_file(Path(table), text, coded, columns, in_parts=in_parts), "polars"
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
    names, types = _native_columns(table)
    _check_once(library, names)
    told = partial(_unconverted, frame, dict(zip(names, types, strict=True)))
    made = _converted(partial(_polars, frame), library, told)
    return made, cast(Library, library)


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
        hint=instead.get(kind, f"pass a pandas, polars, pyarrow or DuckDB table, or the path of {_KINDS}."),
    )


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


def _converted(
    convert: Callable[[], pl.DataFrame], library: str, problems: Callable[[], list[str]] = list
) -> pl.DataFrame:
    """Run a conversion of another library; what it may say on failure can quote cells, so it is dropped."""
    try:
        return convert()
    except ImportError as error:
        failure: TableError | MissingExtra = MissingExtra(
            f"Reading a {library} table needs the package '{error.name}'.",
            hint="install reissue with its extras pandas and duckdb (from a clone: pip install '.[pandas,duckdb]').",
        )
    except MemoryError:
        raise
    except UnicodeError:
        failure = TableError(
            f"The {library} table holds text that is not Unicode, such as half of a surrogate pair.",
            hint="find where the text comes from, and decode it with the right encoding.",
        )
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001  (any library may raise anything here)
        found, busy = problems(), library == "duckdb"
        columns = "check that every column holds values of one type."
        connection = "check that the query runs, and that its connection is open and not in use by another thread."
        failure = TableError(
            f"The {library} table cannot be converted: {type(error).__name__}.",
            problems=found,
            hint=connection if busy and not found else columns,
        )
    raise failure


def _read_file(
    path: Path, text: Collection[str], coded: Collection[str], columns: Collection[str] | None, *, in_parts: bool
) -> pl.DataFrame:
    path, sheet = sheet_of(path)
    check_file(path)
    name = path.name.lower()
    if not name.endswith(READABLE):
        raise TableError(f"'{path.name}' is not a kind of file this reads.", hint=f"use one of {', '.join(READABLE)}.")
    if name.endswith(EXCEL):
        return understood(
            lambda: read_excel(path, sheet, text),
            f"'{path.name}' cannot be read as an Excel table.",
            "check that it is complete and not locked by a password, or save its sheet as CSV.",
        )
    if name.endswith(".parquet"):
        return understood(
            lambda: _read_parquet(path, coded, columns, in_parts=in_parts),
            f"'{path.name}' cannot be read as a Parquet table.",
            "check that it is complete.",
        )
    return understood(
        lambda: read_csv(_csv_file(path), text=text),
        f"'{path.name}' cannot be read as a CSV table.",
        "check that it is complete, UTF-8, and has a header line.",
    )


def check_file(path: Path) -> None:
    """Refuse a file that is not there, may not be read, or has a name that cannot be written."""
    if not is_text(str(path)):
        raise TableError(f"The name of the file '{path}' is not UTF-8.", hint="rename it.")
    if not path.exists():
        raise TableError(f"There is no file '{path}'.", hint="check where it lies.")
    if not path.is_file():
        raise TableError(f"'{path}' is not a file.", hint="name a file.")
    if not os.access(path, os.R_OK):
        raise TableError(f"'{path}' may not be read.", hint="check the permissions of the file.")


def understood(read: Callable[[], Found], what: str, hint: str) -> Found:
    """What is read. The reasons that libraries give for a failure can quote cells, so they are dropped, not chained."""
    try:
        return read()
    except (UserError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException):  # noqa: BLE001  (of bytes that are not sound anything can come)
        failure = TableError(what, hint=hint)
    raise failure


def _read_parquet(
    path: Path, coded: Collection[str], columns: Collection[str] | None, *, in_parts: bool
) -> pl.DataFrame:
    extent = parquet_extent(path)
    check_room(path.name, extent)
    wanted = None if columns is None else list(columns)
    spans = _spans(extent)
    if len(spans) == 1 or not in_parts:
        table = pl.read_parquet(path, columns=wanted, glob=False, hive_partitioning=False)
        _check_texts(table, coded)
        return table
    whole = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    asked = whole if wanted is None else whole.select(wanted)
    texts = [name for name, dtype in asked.collect_schema().items() if dtype == pl.String and name in coded]
    once = [pl.col(name).cast(pl.Categorical(pl.Categories.random())) for name in texts]
    parts = []
    for begin, end in spans:
        part = asked.slice(begin, end - begin).collect()
        _check_texts(part, coded)
        parts.append(part.with_columns(once))
    return pl.concat(parts)


def _check_texts(table: pl.DataFrame, coded: Collection[str] = ()) -> None:
    for column in table:
        # polars takes texts for UTF-8 without looking, and may do anything with those that are not.
        if column.name in coded:
            continue
        if column.dtype == pl.String:
            column.cast(pl.Binary).cast(pl.String)
        elif isinstance(column.dtype, pl.Categorical):
            column.unique().cast(pl.String).cast(pl.Binary).cast(pl.String)


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
        _check_texts(part)
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
