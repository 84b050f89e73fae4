"""Tables in and out: any pandas, polars, pyarrow or DuckDB table, or the path of a file."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Collection
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import polars as pl

from reissue.errors import MissingExtra, TableError, UserError, is_text
from reissue.tables.parquet_account import parquet_extent
from reissue.tables.room import check_room, csv_extent, unpacked

Library = Literal["polars", "pandas", "pyarrow", "duckdb"]

_DATE = r"^\d{4}-\d{2}-\d{2}$"
_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?$"

READABLE = (".parquet", ".csv", ".csv.gz")
PART = 1 << 17
"""Parts of a file with fewer rows are read together: each takes some time, whatever is in it."""
Found = TypeVar("Found")


def read_table(
    table: object,
    *,
    text: Collection[str] = (),
    coded: Collection[str] = (),
    columns: Collection[str] | None = None,
) -> tuple[pl.DataFrame, Library]:
    """The table as a polars frame, and the library it came from (polars for a file).

    Columns named in `text` are read from a CSV file as they are written, so that the id 007 does not
    become 7; in every other source columns have types already. The texts of a Parquet file are looked at whether they
    are texts, but for columns in `coded`: that shows when their labels are listed. Of a Parquet file only the `columns`
    that are asked for are read.
    """
    if isinstance(table, str | Path):
        return _read_file(Path(table), text, coded, columns), "polars"
    if isinstance(table, pl.DataFrame):
        return table, "polars"
    if isinstance(table, pl.LazyFrame):
        return _converted(table.collect, "polars"), "polars"
    import narwhals as nw

    frame: Any = nw.from_native(cast(Any, table), pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        raise TableError(
            f"An object of type '{type(table).__name__}' is not a table.",
            hint="pass a pandas, polars, pyarrow or DuckDB table, or the path of a CSV or Parquet file.",
        )
    library = str(frame.implementation)
    if library not in ("pandas", "pyarrow", "duckdb"):
        raise TableError(
            f"Tables of '{library}' are not supported.",
            hint="convert it to pandas, polars, pyarrow or DuckDB first.",
        )
    if isinstance(frame, nw.LazyFrame):
        return _converted(lambda: frame.collect("polars").to_native(), library), cast(Library, library)
    return _converted(frame.to_polars, library), cast(Library, library)


def _converted(convert: Callable[[], pl.DataFrame], library: str) -> pl.DataFrame:
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
        failure = TableError(
            f"The {library} table cannot be converted: {type(error).__name__}.",
            hint="check that every column holds values of one type.",
        )
    raise failure


def to_library(frame: pl.DataFrame, library: Library) -> Any:
    """The frame in the caller's own library."""
    try:
        if library == "pandas":
            return frame.to_pandas()
        if library == "pyarrow":
            return frame.to_arrow()
        if library == "duckdb":
            import duckdb

            return duckdb.from_arrow(frame.to_arrow())
    except ImportError as error:
        raise MissingExtra(
            f"Tables for {library} need the package '{error.name}'.",
            hint="install reissue with its extras pandas and duckdb (from a clone: pip install '.[pandas,duckdb]').",
        ) from error
    return frame


def _read_file(
    path: Path, text: Collection[str], coded: Collection[str], columns: Collection[str] | None
) -> pl.DataFrame:
    check_file(path)
    name = path.name.lower()
    if not name.endswith(READABLE):
        raise TableError(f"'{path.name}' is not a kind of file this reads.", hint=f"use one of {', '.join(READABLE)}.")
    parquet = name.endswith(".parquet")
    return understood(
        lambda: _read_parquet(path, coded, columns) if parquet else _read_csv(path, text),
        f"'{path.name}' cannot be read as a {'Parquet' if parquet else 'CSV'} table.",
        "check that it is complete, UTF-8, and has a header line if it is CSV.",
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


def _read_parquet(path: Path, coded: Collection[str], columns: Collection[str] | None) -> pl.DataFrame:
    check_room(path.name, parquet_extent(path))
    wanted = None if columns is None else list(columns)
    table = pl.read_parquet(path, columns=wanted, glob=False, hive_partitioning=False)
    _check_texts(table, coded)
    return table


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
    ends = [0]
    for rows in extent.parts or (0,):
        if len(ends) > 1 and ends[-1] - ends[-2] < PART:
            ends[-1] += rows
        else:
            ends.append(ends[-1] + rows)

    def read(begin: int, end: int) -> pl.DataFrame:
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        part = table.select(*columns).slice(begin, end - begin).collect()
        _check_texts(part)
        return part

    return [partial(understood, partial(read, begin, end), what, hint) for begin, end in pairwise(ends)]


def csv_content(path: Path, separator_of: Callable[[str], str]) -> tuple[Path | bytes, str]:
    """What polars can read of a CSV file, and what stands between its cells; unpacked if need be, if it fits."""
    content: Path | bytes = path
    if path.name.lower().endswith(".gz"):
        with gzip.open(path, "rb") as packed:
            content = unpacked(packed, path.name)
    with path.open("rb") if isinstance(content, Path) else BytesIO(content) as file:
        first = file.readline().decode("utf-8-sig")
        separator = separator_of(first)
        check_room(path.name, csv_extent(file, first.count(separator) + 1))
    return content, separator


def _read_csv(path: Path, text: Collection[str]) -> pl.DataFrame:
    """A CSV file, separated by commas or, where its first line has more of them, by semicolons."""
    content, separator = csv_content(path, lambda first: ";" if first.count(";") > first.count(",") else ",")
    header = pl.read_csv(content, n_rows=0, separator=separator, glob=False)
    overrides = {column: pl.String for column in header.columns if column in text}
    table = pl.read_csv(content, schema_overrides=overrides, infer_schema_length=None, separator=separator, glob=False)
    return table.with_columns(_dates(table[name]) for name in table.columns if name not in text)


def _dates(column: pl.Series) -> pl.Series:
    """Text that is dates or times as ISO 8601 writes them, as such; anything else stays as it is.

    Other ways of writing dates are ambiguous, and a guess would be published.
    """
    if column.dtype != pl.String or column.null_count() == column.len():
        return column
    for pattern, dtype in ((_DATE, pl.Date), (_TIME, pl.Datetime("us"))):
        if column.str.contains(pattern).all():
            parsed = column.str.replace(" ", "T").str.strptime(dtype, strict=False)
            return parsed if parsed.null_count() == column.null_count() else column
    return column
