"""Tables in and out: any pandas, polars, pyarrow or DuckDB table, or the path of a file."""

from __future__ import annotations

import gzip
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from reissue.errors import MissingExtra, TableError

Library = Literal["polars", "pandas", "pyarrow", "duckdb"]

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
        return table.collect(), "polars"
    import narwhals as nw

    try:
        frame: Any = nw.from_native(cast(Any, table))
    except TypeError as error:
        raise TableError(
            f"An object of type '{type(table).__name__}' is not a table.",
            hint="pass a pandas, polars, pyarrow or DuckDB table, or the path of a CSV or Parquet file.",
        ) from error
    implementation = str(frame.implementation)
    if implementation not in ("pandas", "pyarrow", "duckdb"):
        raise TableError(
            f"Tables of '{implementation}' are not supported.",
            hint="convert it to pandas, polars, pyarrow or DuckDB first.",
        )
    try:
        if isinstance(frame, nw.LazyFrame):
            return frame.collect("polars").to_native(), cast(Library, implementation)
        return frame.to_polars(), cast(Library, implementation)
    except ImportError as error:
        raise MissingExtra(
            f"Reading a {implementation} table needs the package '{error.name}'.",
            hint="pip install 'reissue[pandas,duckdb]'",
        ) from error


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
            hint="pip install 'reissue[pandas,duckdb]'",
        ) from error
    return frame


def _read_file(path: Path, text: Collection[str]) -> pl.DataFrame:
    if not path.exists():
        raise TableError(f"There is no file '{path}'.")
    name = path.name.lower()
    if not name.endswith(READABLE):
        raise TableError(f"'{path.name}' is not a kind of file this reads.", hint=f"use one of {', '.join(READABLE)}.")
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
    return pl.read_csv(
        path,
        schema_overrides=overrides,
        infer_schema_length=None,
        separator=separator,
        try_parse_dates=True,  # only columns that the policy calls numeric are left to be inferred
        glob=False,
    )
