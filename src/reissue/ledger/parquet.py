"""Frames as Parquet files whose bytes depend on the frame's content and nothing else.

Left to itself polars lets row groups follow the frame's chunks in memory, so the size of row groups is
fixed here. It names its version and build in the footer; public files say nothing about the writer.
Enumerations carry their whole list of values in the schema, also those that no row has, so public
columns of labels are written as plain strings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import polars as pl

from reissue.errors import InternalError, SeriesDamaged, StorageError
from reissue.ledger.durable import PRIVATE_FILE, PUBLIC_FILE, new_file, sha256_of, storage_error

ROWS_IN_A_GROUP = 1 << 18

_WRITER = b"reissue version 1 (build 0)"  # the shape that readers of the format parse
_SYSTEM_ERROR = re.compile(r"os error (\d+)")


@dataclass(frozen=True)
class FileFacts:
    """What is recorded of a written file."""

    sha256: str
    size: int


def write_public(frame: pl.DataFrame, path: Path) -> FileFacts:
    """Write and sync a public file."""
    labels = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    plain = frame.lazy().with_columns(pl.col(labels).cast(pl.String))
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise InternalError(f"{len(nested)} public columns hold lists or structures; they must be flat")
    return _write(plain, path, compression="zstd", mode=PUBLIC_FILE)


def write_private(frame: pl.DataFrame, path: Path) -> FileFacts:
    """Write and sync a private file."""
    return _write(frame.lazy(), path, compression="lz4", mode=PRIVATE_FILE)


def write_pack(frames: Mapping[str, pl.DataFrame], path: Path) -> FileFacts:
    """Write and sync a private file with several tables in it, which `unpacked` gives back.

    It has one row, and for each column of each table a list. For a small table that costs far less than a file.
    """
    each = [frame.lazy().select(pl.all().implode().name.prefix(f"{name}/")) for name, frame in frames.items()]
    return _write(pl.concat(each, how="horizontal"), path, compression="lz4", mode=PRIVATE_FILE)


def unpacked(pack: pl.DataFrame, name: str, shown: str) -> pl.DataFrame:
    """A table of a file that holds several; `shown` is the file's name in messages."""
    prefix = f"{name}/"
    kinds = {column: dtype for column, dtype in pack.schema.items() if column.startswith(prefix)}
    if pack.height != 1 or not kinds or not all(isinstance(dtype, pl.List) for dtype in kinds.values()):
        raise _unreadable(shown)
    return pl.DataFrame([pack[column][0].alias(column.removeprefix(prefix)) for column in kinds])


def read(path: Path, shown: str) -> pl.DataFrame:
    """Read a file back; `shown` is its name in messages. A missing file stays a FileNotFoundError."""
    try:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except pl.exceptions.PolarsError:
        raise _unreadable(shown) from None


def rows_in(path: Path, shown: str) -> int:
    """The number of rows, from the footer; errors as with `read`."""
    try:
        return int(pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.len()).collect().item())
    except pl.exceptions.PolarsError:
        raise _unreadable(shown) from None


def read_column(paths: Sequence[Path], name: str) -> pl.Series | None:
    """One column of many files, which are read at the same time; None if any cannot be read."""
    try:
        return pl.read_parquet(list(paths), columns=[name], glob=False, hive_partitioning=False)[name]
    except (OSError, pl.exceptions.PolarsError):
        return None


def _unreadable(shown: str) -> SeriesDamaged:
    return SeriesDamaged(
        f"The file {shown} cannot be read as Parquet, or does not hold what it should.",
        hint="run `reissue log --verify` to see what else has changed, then restore the file from a backup.",
    )


def _write(frame: pl.LazyFrame, path: Path, *, compression: Literal["zstd", "lz4"], mode: int) -> FileFacts:
    try:
        with new_file(path, mode) as file:
            frame.sink_parquet(file, compression=compression, row_group_size=ROWS_IN_A_GROUP)
            if mode == PUBLIC_FILE:
                file.flush()
                _hide_writer(file)
    except pl.exceptions.PolarsError as error:
        raise _unwritten(error) from None  # polars may quote data in its messages
    return FileFacts(sha256_of(path), path.stat().st_size)


def _unwritten(error: pl.exceptions.PolarsError) -> StorageError:
    what = "A table could not be written as Parquet"
    found = _SYSTEM_ERROR.search(str(error))
    if found:
        return storage_error(what, int(found[1]))
    return StorageError(f"{what}: polars raised {type(error).__name__}.")


def _hide_writer(file: BinaryIO) -> None:
    """Replace the name and version of the writing program in the footer.

    A Parquet file ends with its footer, the footer's length (four bytes) and `PAR1`. In the footer the
    writer is a Thrift compact string: its field header, its length (below 128 here: one byte), its text.
    Only the order of columns stands behind it, so the last match is the right one. The writer's name is no
    secret: a footer of another shape, should polars come to write one, is left as it is.
    """
    file.seek(-8, 2)
    tail = file.tell()
    length = int.from_bytes(file.read(4), "little")
    file.seek(tail - length)
    footer = file.read(length)
    name = footer.rfind(b"Polars")
    if name < 2 or footer[name - 2] != 0x18 or footer[name - 1] >= 0x80:
        return
    end = name + footer[name - 1]
    neutral = footer[: name - 1] + bytes([len(_WRITER)]) + _WRITER + footer[end:]
    file.seek(tail - length)
    file.write(neutral + len(neutral).to_bytes(4, "little") + b"PAR1")
    file.truncate()
