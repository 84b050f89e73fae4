"""The engine of one machine: parts are Arrow files in a private folder, and as many are worked on as there are cores.

The folder is its user's alone and is removed when the engine is closed, when nobody holds it any longer, and when the
process ends, by an error or Ctrl-C too. A process that is killed leaves it: the folder belongs below `private/staging`,
which the next writer of the series sweeps.
"""

from __future__ import annotations

import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.cores import cores
from reissue.arrays.types import Ints
from reissue.errors import InternalError, ParameterError, StorageError, listed
from reissue.ledger.durable import PRIVATE_FILE, PRIVATE_FOLDER, new_folder, storage, storage_error
from reissue.model.pieces import MadePieces, Pieces, Table, cut
from reissue.parts.engine import TO, Parts, Work

ROWS = 1 << 21
"""A part has so many rows, where nothing else is said: with two cores a few hundred megabytes at a time."""

_WRITING = "A part of the table could not be written"
_READING = "A part of the table could not be read"
_SYSTEM_ERROR = re.compile(r"os error (\d+)")

Result = TypeVar("Result")
Told = TypeVar("Told")


class _Stretch(NamedTuple):
    """Rows in a file: the bytes from `start` on are an Arrow file of their own."""

    file: Path
    start: int
    size: int
    rows: int


_Stored = tuple[tuple[_Stretch, ...], ...]
"""For each part of a table the stretches that its rows stand in."""


class _Written(NamedTuple):
    schema: pl.Schema
    stretches: tuple[_Stretch, ...]


class LocalEngine:
    """Works on tables in a folder, which it makes and removes."""

    def __init__(self, folder: Path, *, rows: int = ROWS) -> None:
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise ParameterError(
                f"The 'rows' parameter of an engine must be a whole number of at least 1. Got {rows!r} instead."
            )
        self.rows = rows
        self._folder = folder
        self._tables: dict[int, _Stored] = {}
        self._next = count()
        with storage(f"The folder '{folder}' for the parts of a table could not be made"):
            new_folder(folder, PRIVATE_FOLDER)
        self._remove = weakref.finalize(self, _removed, folder, os.getpid())

    def __repr__(self) -> str:
        return f"LocalEngine({len(self._tables):,} tables, {self.rows:,} rows a part)"

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        self._tables.clear()
        self._remove()

    def keep(self, table: Table | Iterable[pl.DataFrame]) -> Parts:
        """Keep a table, or frames one after another, in parts of as many rows as a part should have."""
        number = next(self._next)
        made: list[_Written] = []
        try:
            for frame in _cut(table, self.rows):
                made.append(self._write(self._file(number, len(made)), frame))
        except BaseException:
            self._erase(one.stretches for one in made)
            raise
        return self._noted(number, made, [one.stretches for one in made])

    def map(self, work: Work, *tables: Parts) -> Parts:
        """Work on each part; the new one has the same number."""
        return self.map_and_tell(lambda number, *frames: (work(number, *frames), None), *tables)[0]

    def map_and_tell(self, work: Callable[..., tuple[pl.DataFrame, Told]], *tables: Parts) -> tuple[Parts, list[Told]]:
        """The same, where each part also tells something small."""
        table = next(self._next)

        def job(number: int) -> tuple[_Written, Told]:
            frame, told = work(number, *self._frames(number, tables))
            return self._write(self._file(table, number), frame), told

        results = self._each(job, _count(tables), table)
        written = [one for one, _ in results]
        return self._noted(table, written, [one.stretches for one in written]), [told for _, told in results]

    def tell(self, work: Callable[..., Told], *tables: Parts) -> list[Told]:
        """What each part tells."""
        return self._each(lambda number: work(number, *self._frames(number, tables)), _count(tables))

    def exchange(self, work: Work, into: int, *tables: Parts) -> Parts:
        """Bring rows into so many new parts."""
        table = next(self._next)

        def job(number: int) -> _Written:
            sent, starts = _by_part(work(number, *self._frames(number, tables)), into)
            return self._write_all(self._file(table, number), sent, starts)

        written = self._each(job, _count(tables), table)
        stretches = [[one.stretches[part] for one in written if one.stretches[part].rows] for part in range(into)]
        return self._noted(table, written, [tuple(part) for part in stretches])

    def read(self, table: Parts) -> Pieces:
        """The rows of a table, part after part."""

        def frames() -> Iterator[pl.DataFrame]:
            return (self._frame(number, table) for number in range(len(table)))

        return MadePieces(table.schema, table.height, frames)

    def drop(self, *tables: Parts) -> None:
        """Keep these tables no longer."""
        for table in tables:
            self._erase(self._stored(table))
            del self._tables[table.table]

    def _stored(self, table: Parts) -> _Stored:
        if table.table not in self._tables:
            raise InternalError("A table was asked for that its engine keeps no longer.")
        return self._tables[table.table]

    def _file(self, table: int, number: int) -> Path:
        return self._folder / f"{table:04d}-{number:05d}.arrow"

    def _each(self, job: Callable[[int], Result], parts: int, table: int | None = None) -> list[Result]:
        """The results for all parts by their numbers, or the error of the first part that has one.

        After an error what was written of a table is removed.
        """
        try:
            if parts < 2 or cores() == 1:
                return [job(number) for number in range(parts)]
            with ThreadPoolExecutor(min(cores(), parts), "reissue-parts") as pool:
                waiting = [pool.submit(job, number) for number in range(parts)]
                try:
                    return [one.result() for one in waiting]
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
        except BaseException:
            if table is not None:
                for number in range(parts):
                    self._file(table, number).unlink(missing_ok=True)
            raise

    def _noted(self, table: int, written: Sequence[_Written], parts: Sequence[tuple[_Stretch, ...]]) -> Parts:
        """A table whose parts are in these files."""
        schema = written[0].schema if written else pl.Schema()
        try:
            for one in written:
                _refuse_other(schema, one.schema)
        except InternalError:
            self._erase(one.stretches for one in written)
            raise
        self._tables[table] = tuple(parts)
        return Parts(table, schema, tuple(sum(stretch.rows for stretch in part) for part in parts))

    def _erase(self, parts: Iterable[tuple[_Stretch, ...]]) -> None:
        for file in {stretch.file for part in parts for stretch in part}:
            with storage("A part of a table could not be removed"):
                file.unlink(missing_ok=True)

    def _write(self, file: Path, frame: pl.DataFrame) -> _Written:
        with _writing(file):
            frame.write_ipc(file, compression="uncompressed", record_batch_size=max(frame.height, 1))
            size = file.stat().st_size
        return _Written(frame.schema, (_Stretch(file, 0, size, frame.height),))

    def _write_all(self, file: Path, frame: pl.DataFrame, starts: Ints) -> _Written:
        """Write stretches of a frame, the rows from each start to the next, into one file."""
        stretches, begin = [], 0
        with _writing(file), file.open("wb") as target:
            for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                content = BytesIO()
                if end > start:
                    frame[start:end].write_ipc(content, compression="uncompressed", record_batch_size=end - start)
                stretches.append(_Stretch(file, begin, content.tell(), end - start))
                target.write(content.getbuffer())
                begin += content.tell()
        return _Written(frame.schema, tuple(stretches))

    def _frames(self, number: int, tables: Sequence[Parts]) -> list[pl.DataFrame]:
        return [self._frame(number, table) for table in tables]

    def _frame(self, number: int, table: Parts) -> pl.DataFrame:
        """The rows of one part, in the columns that are asked for."""
        names = table.schema.names()
        found = [_read(stretch, names) for stretch in self._stored(table)[number]]
        if not found:
            return pl.DataFrame(schema=table.schema)
        return pl.concat(found, rechunk=True).select(names)


def _removed(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has no folder of its own
        shutil.rmtree(folder, ignore_errors=True)


def _cut(table: Table | Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Frames of so many rows, and in the last what is left."""
    if isinstance(table, pl.DataFrame):
        return cut(table, rows)
    frames = iter(table)
    first = next(frames, None)
    return iter(()) if first is None else cut(_Following(first, frames), rows)


class _Following:
    """Frames that come once, as pieces."""

    def __init__(self, first: pl.DataFrame, others: Iterator[pl.DataFrame]) -> None:
        self.schema = first.schema
        self.height = 0  # nobody knows before the end, and nobody asks
        self._first: pl.DataFrame | None = first
        self._others = others

    def __iter__(self) -> Iterator[pl.DataFrame]:
        first, self._first = self._first, None
        if first is not None:
            yield first
        del first
        for frame in self._others:
            _refuse_other(self.schema, frame.schema)
            yield frame


def _count(tables: Sequence[Parts]) -> int:
    """How many parts tables have that are worked on together."""
    counts = {len(table) for table in tables}
    if len(counts) != 1:
        raise InternalError("Tables that are worked on together have the same number of parts.")
    return counts.pop()


def _refuse_other(schema: pl.Schema, other: pl.Schema) -> None:
    if other != schema:
        names = {
            name
            for name, dtype in [*schema.items(), *other.items()]
            if (schema.get(name), dtype) != (dtype, other.get(name))
        }
        raise InternalError(f"The parts of a table differ in their columns: {listed(sorted(names))}.")


def _by_part(frame: pl.DataFrame, into: int) -> tuple[pl.DataFrame, Ints]:
    """The rows of a frame by the number of their new part, and where each part begins."""
    to, rest = frame[TO].to_numpy(), frame.drop(TO)
    if frame[TO].null_count() or (to.size and not 0 <= int(to.min()) <= int(to.max()) < into):
        raise InternalError("Rows were sent to a part that there is not.")
    small: npt.NDArray[np.unsignedinteger] = to.astype(np.uint16 if into <= 1 << 16 else np.uint32)
    counts = np.bincount(small, minlength=into)
    if small.size and not _ascending(small):
        rest = rest[np.argsort(small, kind="stable")]
    return rest, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _ascending(numbers: npt.NDArray[np.unsignedinteger]) -> bool:
    return bool(np.all(numbers[1:] >= numbers[:-1]))


class _writing:
    """Make a file that is its user's alone; in the block it is written. Should that fail, it is removed."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        with storage(_WRITING):
            descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
            os.fchmod(descriptor, PRIVATE_FILE)
            os.close(descriptor)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        self.file.unlink(missing_ok=True)
        if isinstance(error, OSError | pl.exceptions.PolarsError):
            raise _storage_error(_WRITING, error) from None  # polars may quote data in its messages


def _read(stretch: _Stretch, names: list[str]) -> pl.DataFrame:
    """Rows as they were written, in these columns."""
    try:
        whole = stretch.file.stat().st_size
        if stretch.start + stretch.size > whole:
            raise _damaged()
        if not stretch.start and stretch.size == whole:
            found = pl.read_ipc(stretch.file, columns=names)
        else:
            with stretch.file.open("rb") as file:
                file.seek(stretch.start)
                found = pl.read_ipc(file.read(stretch.size), columns=names)
    except FileNotFoundError:
        raise StorageError(
            "A file with a part of the table has disappeared while it was worked on.",
            hint="find out who removes files from the folder of work under way, then try again.",
        ) from None
    except StorageError:
        raise
    except pl.exceptions.PolarsError:
        raise _damaged() from None
    except OSError as error:
        raise _storage_error(_READING, error) from None
    if found.height != stretch.rows:
        raise _damaged()
    return found


def _damaged() -> StorageError:
    return StorageError(
        "A file with a part of the table is not as it was written.",
        hint="check the disk, and that nobody else writes to the folder of work under way; then try again.",
    )


def _storage_error(what: str, error: Exception) -> StorageError:
    """What polars or the system says, in our words."""
    found = _SYSTEM_ERROR.search(str(error))
    code = error.errno if isinstance(error, OSError) and error.errno else int(found[1]) if found else None
    return storage_error(what, code)
