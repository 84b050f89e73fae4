"""CSV files as tools write them: cells between commas, semicolons, tabs or bars, each read as it is written."""

from __future__ import annotations

import gzip
import os
import re
from contextlib import suppress
from pathlib import Path

import polars as pl

from reissue.errors import TableError

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SEPARATORS = (",", ";", "\t", "|")

_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def read_separated(path: Path) -> pl.DataFrame:
    """Read a file whose first line has the names of the columns; every cell is text."""
    if not path.is_file():
        raise TableError(f"There is no file '{path}'.", hint="check where it lies.")
    if not os.access(path, os.R_OK):
        raise TableError(f"'{path}' may not be read.", hint="check the permissions of the file.")
    # The reasons polars gives can quote cells, so its errors are dropped, not chained.
    with suppress(pl.exceptions.PolarsError, OSError, EOFError, UnicodeDecodeError):
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            header = file.readline().decode("utf-8-sig")
        separator = separator_of(header)
        return pl.read_csv(path, separator=separator, infer_schema=False, glob=False)
    raise TableError(
        f"'{path.name}' cannot be read as a CSV table.",
        hint="check that it is complete and UTF-8, that its first line has the names of the columns, and that cells "
        "which hold the separator themselves are in double quotes.",
    )


def separator_of(header: str) -> str:
    """The separator that is most frequent in the header outside of double quotes; a comma if there is none."""
    bare = _QUOTED.sub("", header)
    return max(SEPARATORS, key=bare.count)
