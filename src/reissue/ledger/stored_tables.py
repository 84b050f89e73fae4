"""Reading the Parquet files of a series: at once, or when somebody asks for the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl

from reissue.errors import SeriesDamaged
from reissue.ledger.durable import storage
from reissue.ledger.layout import Blob, Layout
from reissue.ledger.parquet import read, read_column, rows_in, unpacked

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class TableFiles:
    """The Parquet files of a series; errors name the file that is missing or damaged."""

    layout: Layout
    shown: str
    """The folder of the series in messages."""

    def read(self, *places: Path) -> pl.DataFrame:
        """A table, from the first place where it is."""
        return self._explained(read, places)

    def read_columns(self, path: Path, columns: list[str]) -> pl.DataFrame:
        """Some columns of a table."""
        return self._explained(lambda place, shown: read(place, shown, columns), [path])

    def rows_in(self, path: Path) -> int:
        """How many rows a table has, from the footer of its file."""
        return self._explained(rows_in, [path])

    def read_column(self, paths: Sequence[Path], name: str) -> pl.Series:
        """One column of many tables, one after the other."""
        found = read_column(paths, name)
        if found is None:  # one by one, to say which cannot be read
            found = pl.concat([self.read(path)[name] for path in paths])
        return found

    def _explained(self, work: Callable[[Path, str], T], places: Sequence[Path]) -> T:
        shown = self.layout.relative(places[0])
        with storage(f"The file {shown} could not be read"):
            for place in places:
                try:
                    return work(place, shown)
                except FileNotFoundError:
                    continue
        raise SeriesDamaged(
            f"The file {shown} of the series in '{self.shown}' is missing.",
            hint="run `reissue log --verify` to see what else is missing, then restore it from a backup.",
        )


class Tables(Mapping[str, pl.DataFrame]):
    """Tables by name. The names are known; a table is read each time it is asked for and, unless small, not kept."""

    def __init__(self, files: TableFiles, blobs: Mapping[str, Blob]) -> None:
        self._files = files
        self._blobs = blobs
        self._packs: dict[str, pl.DataFrame] = {}
        """The files with several small tables that were read so far."""

    def __getitem__(self, name: str) -> pl.DataFrame:
        blob = self._blobs[name]
        path = self._files.layout.blob(blob.sha256)
        if not blob.packed:
            return self._files.read(path)
        if blob.sha256 not in self._packs:
            self._packs[blob.sha256] = self._files.read(path)
        return unpacked(self._packs[blob.sha256], name, self._files.layout.relative(path))

    def columns(self, name: str, columns: list[str]) -> pl.DataFrame:
        """Some columns of a table; of a large one nothing else is read."""
        blob = self._blobs[name]
        if blob.packed:
            return self[name].select(columns)
        return self._files.read_columns(self._files.layout.blob(blob.sha256), columns)

    def __contains__(self, name: object) -> bool:
        return name in self._blobs

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self._blobs)})"
