"""Files as they are found: whether they are there, may be read and hold what their name says."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

import polars as pl

from reissue.errors import TableError, UserError, is_text

Found = TypeVar("Found")


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


def check_texts(table: pl.DataFrame, coded: Collection[str] = ()) -> None:
    """Fail where texts are none, but for columns in `coded`: there it shows when their labels are listed."""
    for column in table:
        # polars takes texts for UTF-8 without looking, and may do anything with those that are not.
        if column.name in coded:
            continue
        if column.dtype == pl.String:
            column.cast(pl.Binary).cast(pl.String)
        elif isinstance(column.dtype, pl.Categorical):
            column.unique().cast(pl.String).cast(pl.Binary).cast(pl.String)
