"""Tables in and out: any pandas, polars, pyarrow or DuckDB table, or the path of a file."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from reissue.errors import MissingExtra, TableError

Library = Literal["polars", "pandas", "pyarrow", "duckdb"]

_DATE = r"^\d{4}-\d{2}-\d{2}$"
_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?$"

READABLE = (".parquet", ".csv", ".csv.gz")


def read_table(table: object, *, text: Collection[str] = ()) -> tuple[pl.DataFrame, Library]:
    """The table as a polars frame, and the library it came from (polars for a file).

    Columns named in `text` are read from a CSV file as they are written, so that the id 007 does not
    become 7; in every other source columns have types already.
    """
    if isinstance(table, str | Path):
        return _read_file(Path(table), text), "polars"
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
    except Exception as error:  # noqa: BLE001  (any library may raise anything here)
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


def _read_file(path: Path, text: Collection[str]) -> pl.DataFrame:
    if not path.exists():
        raise TableError(f"There is no file '{path}'.")
    name = path.name.lower()
    if not name.endswith(READABLE):
        raise TableError(f"'{path.name}' is not a kind of file this reads.", hint=f"use one of {', '.join(READABLE)}.")
    if not os.access(path, os.R_OK):
        raise TableError(f"'{path}' may not be read.", hint="check the permissions of the file.")
    # The reasons polars gives can quote cells, so its errors are dropped, not chained.
    with suppress(pl.exceptions.PolarsError, OSError, EOFError, UnicodeDecodeError):
        return _read_parquet(path) if name.endswith(".parquet") else _read_csv(path, text)
    raise TableError(
        f"'{path.name}' cannot be read as a {'Parquet' if name.endswith('.parquet') else 'CSV'} table.",
        hint="check that it is complete, UTF-8, and has a header line if it is CSV.",
    )


def _read_parquet(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def _read_csv(path: Path, text: Collection[str]) -> pl.DataFrame:
    """A CSV file, separated by commas or, where its first line has more of them, by semicolons."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        first_line = file.readline().decode("utf-8-sig")
    separator = ";" if first_line.count(";") > first_line.count(",") else ","
    header = pl.read_csv(path, n_rows=0, separator=separator, glob=False)
    overrides = {column: pl.String for column in header.columns if column in text}
    table = pl.read_csv(path, schema_overrides=overrides, infer_schema_length=None, separator=separator, glob=False)
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
