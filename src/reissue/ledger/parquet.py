"""Frames as Parquet files whose bytes depend on the frame's content and nothing else.

Left to itself polars lets row groups follow the frame's chunks in memory, so the size of row groups is
fixed here. It names its version and build in the footer; public files say nothing about the writer.
Columns of labels are plain strings to whoever reads a public file. A list of labels is kept beside them, as
Parquet does for all strings that repeat; it has those that occur, in alphabetical order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.io.plugins import register_io_source

from reissue.errors import InternalError, SeriesDamaged, StorageError
from reissue.ledger.durable import PRIVATE_FILE, PUBLIC_FILE, new_file, sha256_of, storage, storage_error, sync
from reissue.ledger.footer import neutral
from reissue.model.pieces import MadePieces, Pieces, Slices, Table, cut, whole

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

ROWS_IN_A_GROUP = 1 << 18
SMALL = 1 << 20
"""A table of at most so many bytes in memory is made ready there before it is written."""

_WRITER = b"reissue version 1 (build 0)"  # the shape that readers of the format parse
_TOLD = frozenset(
    [
        *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
        *(pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Date),
    ]
)
"""Types that Parquet itself can tell; of others a reader must be told in polars' own words."""
_MORE = 1 << 16
_SYSTEM_ERROR = re.compile(r"os error (\d+)")


@dataclass(frozen=True)
class FileFacts:
    """What is recorded of a written file."""

    sha256: str
    size: int


Occurring = Mapping[str, Bools]
"""By the names of columns of labels, or of lists of them: which labels occur."""


def write_public(table: Table, path: Path) -> FileFacts:
    """Write and sync a public file."""
    dtypes = table.schema.dtypes()
    nested = sum(dtype.is_nested() and not _is_plain_list(dtype) for dtype in dtypes)
    if nested:
        raise InternalError(f"{nested} public columns hold structures, or lists of lists")
    if not _has_lists(table.schema) and not all(dtype in _TOLD or isinstance(dtype, pl.Enum) for dtype in dtypes):
        plain = whole(table).with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
        return _write(plain, path, public=True, keep_types=True)
    if isinstance(table, pl.DataFrame):
        return _write(_with_those_that_occur(table, {}), path, public=True)
    return _write(_pieces_with_those_that_occur(table), path, public=True)


def _has_lists(schema: pl.Schema) -> bool:
    return any(isinstance(dtype, pl.List) for dtype in schema.dtypes())


def _is_plain_list(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List) and (dtype.inner in _TOLD or isinstance(dtype.inner, pl.Enum))


def _pieces_with_those_that_occur(table: Pieces) -> Pieces:
    """The same for a table that is not held: it is gone through once to see which labels occur."""
    inner = {name: dtype.inner if isinstance(dtype, pl.List) else dtype for name, dtype in table.schema.items()}
    known = getattr(table, "every_label", False)
    occurring: dict[str, Bools] = {
        name: np.full(dtype.categories.len(), known) for name, dtype in inner.items() if isinstance(dtype, pl.Enum)
    }
    for frame in () if known else table:
        for name, occur in occurring.items():
            column = frame[name]
            labels = column.explode(empty_as_null=False) if isinstance(column.dtype, pl.List) else column
            occur |= _occur(occur.size, labels.to_physical())

    def frames() -> Iterator[pl.DataFrame]:
        return (_with_those_that_occur(frame, occurring) for frame in table)

    return MadePieces(next(frames()).schema, table.height, frames)


def _with_those_that_occur(frame: pl.DataFrame, occurring: Occurring) -> pl.DataFrame:
    """With labels as enumerations of those that occur, in alphabetical order: in all, or else in this frame.

    Polars takes an enumeration for a list of strings that is made already, and need not look at every cell. Other types
    of lists Parquet tells by itself.
    """
    lists = [column for column in frame if isinstance(column.dtype, pl.List)]
    if lists:
        frame = frame.with_columns(_list_of_those_that_occur(column, occurring.get(column.name)) for column in lists)
    coded = frame.with_columns(pl.col(pl.Enum).to_physical())
    columns = {
        column.name: _those_that_occur(column.dtype, column, codes, occurring.get(column.name))
        if isinstance(column.dtype, pl.Enum)
        else column
        for column, codes in zip(frame, coded, strict=True)
    }
    return pl.DataFrame(columns)


def _list_of_those_that_occur(column: pl.Series, occur: Bools | None) -> pl.Series:
    """A column of lists, labels in them as an enumeration of those that occur."""
    inner = column.dtype.inner  # type: ignore[attr-defined]
    if not isinstance(inner, pl.Enum):
        return column
    lengths = column.list.len().to_numpy().astype(np.int64)
    width = int(lengths.max(initial=0))
    if not width:
        known = None if occur is None else _known(inner, occur)[0]
        return column.cast(pl.List(known if known is not None and known.categories.len() else pl.String))
    flat = column.filter(pl.Series(lengths > 0)).explode()
    labels = _those_that_occur(inner, flat, flat.to_physical(), occur)
    if (lengths == width).all():
        return labels.reshape((lengths.size, width)).arr.to_list().alias(column.name)
    place = np.cumsum(lengths) - lengths
    at = place[:, None] + np.arange(width)
    beyond = np.arange(width) >= lengths[:, None]
    padded = labels.gather(pl.Series(np.where(beyond, 0, at).ravel())).set(pl.Series(beyond.ravel()), None)
    return padded.reshape((lengths.size, width)).arr.to_list().list.drop_nulls().alias(column.name)


def _occur(labels: int, codes: pl.Series) -> Bools:
    """Which of so many labels occur."""
    occur = np.zeros(labels, dtype=np.bool_)
    occur[(codes.drop_nulls() if codes.has_nulls() else codes).to_numpy()] = True
    return occur


def _those_that_occur(labels: pl.Enum, column: pl.Series, codes: pl.Series, occur: Bools | None) -> pl.Series:
    """A column of labels with these codes, as an enumeration of those that occur, in alphabetical order."""
    occur = _occur(labels.categories.len(), codes) if occur is None else occur
    known, recoded = _known(labels, occur)
    if known == labels:
        return column.rechunk()
    if not known.categories.len():
        return pl.repeat(None, codes.len(), dtype=known, eager=True)
    places = codes.fill_null(0).to_numpy() if codes.has_nulls() else codes.to_numpy()
    fewer = pl.Series(codes.name, recoded.astype(places.dtype)[places]).cat.to(known)
    return fewer.set(codes.is_null(), None) if codes.has_nulls() else fewer


def _known(labels: pl.Enum, occur: Bools) -> tuple[pl.Enum, Ints]:
    """The labels that occur, in alphabetical order, and for each label its place among them."""
    names = labels.categories.to_list()
    known = sorted(np.flatnonzero(occur).tolist(), key=names.__getitem__)
    recoded = np.zeros(occur.size, dtype=np.int64)
    recoded[known] = np.arange(len(known))
    return pl.Enum([names[code] for code in known]), recoded


def write_private(table: Table, path: Path) -> FileFacts:
    """Write and sync a private file."""
    return _write(table, path)


def write_pack(frames: Mapping[str, pl.DataFrame], path: Path) -> FileFacts:
    """Write and sync a private file with several tables in it, which `unpacked` gives back.

    It has one row, and for each column of each table a list. For a small table that costs far less than a file.
    """
    columns = [(f"{name}/{column.name}", column) for name, frame in frames.items() for column in frame]
    return _write(pl.select(pl.lit(column).implode().alias(name) for name, column in columns), path)


def unpacked(pack: pl.DataFrame, name: str, shown: str) -> pl.DataFrame:
    """A table of a file that holds several; `shown` is the file's name in messages."""
    prefix = f"{name}/"
    columns = [pack[column] for column in pack.columns if column.startswith(prefix)]  # of the others not even the types
    if pack.height != 1 or not columns or not all(isinstance(column.dtype, pl.List) for column in columns):
        raise _unreadable(shown)
    return pl.DataFrame({column.name.removeprefix(prefix): column[0] for column in columns})


def read(path: Path, sha256: str, shown: str, columns: list[str] | None = None) -> pl.DataFrame:
    """Read a file back, or some of its columns, unless its bytes are others than those with this SHA-256.

    `shown` is its name in messages. A missing file stays a FileNotFoundError.
    """
    if path.exists() and not path.is_file():
        raise _unreadable(shown)  # whoever opens a pipe waits for ever
    # The very bytes that were looked at are read: a file could change in between.
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise _changed(shown)
    try:
        return pl.read_parquet(data, columns=columns)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _unreadable(shown) from None


def _changed(shown: str) -> SeriesDamaged:
    return SeriesDamaged(
        f"The file {shown} is not as it was written: its SHA-256 is another.",
        hint="run `reissue verify` to see what else has changed, then restore the series from a backup.",
    )


def _unreadable(shown: str) -> SeriesDamaged:
    return SeriesDamaged(
        f"The file {shown} cannot be read as Parquet, or does not hold what it should.",
        hint="run `reissue verify` to see what else has changed, then restore the series from a backup.",
    )


def _write(table: Table, path: Path, *, public: bool = False, keep_types: bool = False) -> FileFacts:
    if isinstance(table, pl.DataFrame) and table.height > ROWS_IN_A_GROUP and _has_lists(table.schema):
        table = Slices(table, ROWS_IN_A_GROUP)  # as it is written where it is not held
    try:
        with new_file(path, PUBLIC_FILE if public else PRIVATE_FILE) as file:
            # Statistics let readers skip row groups; nobody asks private tables for less than all.
            compression: Literal["zstd", "lz4"] = "zstd" if public else "lz4"
            # Polars hands over a column in many small pieces, each of which goes through Python.
            held = isinstance(table, pl.DataFrame)
            content = BytesIO() if isinstance(table, pl.DataFrame) and table.estimated_size() <= SMALL else file
            _lazy(table).sink_parquet(
                content,
                compression=compression,
                statistics=public,
                row_group_size=ROWS_IN_A_GROUP,
                engine="in-memory" if held else "streaming",
            )
            if public:
                content.flush()
                _hide_writer(content, keep_types=keep_types)
            if isinstance(content, BytesIO):
                file.write(content.getbuffer())
    except pl.exceptions.PolarsError as error:
        raise _unwritten(error, path) from None  # polars may quote data in its messages
    return FileFacts(sha256_of(path), path.stat().st_size)


def _lazy(table: Table) -> pl.LazyFrame:
    """A table as polars writes it: one that is not held row group by row group, each of one piece, which gives the
    same bytes."""
    if isinstance(table, pl.DataFrame):
        return table.lazy()

    lists = _has_lists(table.schema)

    def groups(*_: object) -> Iterator[pl.DataFrame]:
        for group in cut(table, ROWS_IN_A_GROUP):
            # Polars makes pages of lists by the size of the whole column that they are a slice of, so they are copied.
            yield group.select(pl.all().gather(pl.int_range(pl.len()))) if lists else group.rechunk()

    return register_io_source(groups, schema=table.schema)


def _unwritten(error: pl.exceptions.PolarsError, path: Path) -> StorageError:
    what = "A table could not be written as Parquet"
    found = _SYSTEM_ERROR.search(str(error))
    if found:
        return storage_error(what, int(found[1]))
    # Of a footer that does not fit, polars says no more than "transport error"; so the disk itself is asked.
    with storage(what):
        _write_more(path)
    return StorageError(
        f"{what}: polars raised {type(error).__name__}.",
        hint="check the space that is left on the disk, and try again.",
    )


def _write_more(path: Path) -> None:
    """Write a little more to a file that is given up, to meet what polars has met."""
    with path.open("ab") as file:
        file.write(bytes(_MORE))
        sync(file.fileno())


def _hide_writer(file: BinaryIO, *, keep_types: bool) -> None:
    """Leave out of the footer which program wrote the file and, unless `keep_types`, its own words for the types.

    A Parquet file ends with its footer, the footer's length (four bytes) and `PAR1`.
    """
    file.seek(-8, 2)
    tail = file.tell()
    length = int.from_bytes(file.read(4), "little")
    file.seek(tail - length)
    footer = neutral(file.read(length), _WRITER, keep_own=keep_types)
    file.seek(tail - length)
    file.write(footer + len(footer).to_bytes(4, "little") + b"PAR1")
    file.truncate()
