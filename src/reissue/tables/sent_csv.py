"""CSV files as they are sent: exactly the same table when they are read again.

They keep to the one rule for CSV (`model.csv_files`): commas, quotes where they are needed, UTF-8, a line feed at the
end of each line. An empty cell in quotes is an empty text, one without quotes is no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from reissue.errors import TableError
from reissue.model.csv_files import CsvFile, read_csv
from reissue.model.csv_files import csv_bytes as bytes_of
from reissue.tables.frames import check_file, understood
from reissue.tables.sent_types import as_texts, from_texts


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A table as such a file."""
    return bytes_of(as_texts(frame))


def read_sent_csv(path: Path, types: Mapping[str, str]) -> pl.DataFrame:
    """The table in such a file, whose columns have these types."""

    def read() -> pl.DataFrame:
        # Nothing is found out about the file: its data package says what it is.
        sent = CsvFile(path, path.name, ",", tuple(types))
        try:
            return from_texts(read_csv(sent, text=sent.names), types)
        except TableError:  # how a file of somebody's own would be put right is no help here
            raise ValueError("another table") from None

    check_file(path)
    hint = "take the file as it was sent; `reissue verify` says which files are not."
    return understood(read, f"'{path.name}' is not the table that its data package describes.", hint)
