"""CSV files as they are sent: one rule for separators and quotes, and exactly the same table when they are read again.

A line with the names, then a line for each row; commas between cells, UTF-8, a line feed at the end of each line (RFC
4180 but for that). A cell is in double quotes where it has a comma, a quote or a line break in it, or is an empty text;
a quote within is doubled. An empty cell without quotes is no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import polars as pl

from reissue.tables.frames import check_file, understood
from reissue.tables.sent_types import as_texts, from_texts


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A table as such a file."""
    made = BytesIO()
    as_texts(frame).write_csv(made)
    return made.getvalue()


def read_sent_csv(path: Path, types: Mapping[str, str]) -> pl.DataFrame:
    """The table in such a file, whose columns have these types."""

    def read() -> pl.DataFrame:
        texts = pl.read_csv(path, schema=dict.fromkeys(types, pl.String), glob=False)
        header = pl.read_csv(path, n_rows=0, infer_schema=False, glob=False).columns
        if header != list(types):
            raise ValueError("columns")
        return from_texts(texts, types)

    check_file(path)
    hint = "take the file as it was sent; `reissue verify` says which files are not."
    return understood(read, f"'{path.name}' is not the table that its data package describes.", hint)
