"""Reading the Parquet files of a series: at once, or when somebody asks for the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reissue.errors import SeriesDamaged
from reissue.ledger.durable import storage
from reissue.ledger.layout import Blob, Layout
from reissue.ledger.parquet import read, unpacked


@dataclass(frozen=True, repr=False)
class TableFiles:
    """The Parquet files of a series; errors name the file that is missing or damaged."""

    layout: Layout
    shown: str
    """The folder of the series in messages."""

    def blob(self, sha256: str, columns: list[str] | None = None) -> pl.DataFrame:
        """A private table, or some of its columns."""
        return self.read(sha256, self.layout.blob(sha256), columns=columns)

    def read(self, sha256: str, *places: Path, columns: list[str] | None = None) -> pl.DataFrame:
        """The table with this SHA-256, from the first place where it is."""
        shown = self.layout.relative(places[0])
        with storage(f"The file {shown} could not be read"):
            for place in places:
                try:
                    return read(place, sha256, shown, columns)
                except (FileNotFoundError, NotADirectoryError):
                    continue
        raise SeriesDamaged(
            f"The file {shown} of the series in '{self.shown}' is missing.",
            hint="run `reissue verify` to see what else is missing, then restore the series from a backup.",
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
        if not blob.packed:
            return self._files.blob(blob.sha256)
        if blob.sha256 not in self._packs:
            self._packs[blob.sha256] = self._files.blob(blob.sha256)
        layout = self._files.layout
        return unpacked(self._packs[blob.sha256], name, layout.relative(layout.blob(blob.sha256)))

    def columns(self, name: str, columns: list[str]) -> pl.DataFrame:
        """Some columns of a table; of a large one nothing else is read."""
        blob = self._blobs[name]
        if blob.packed:
            return self[name].select(columns)
        return self._files.blob(blob.sha256, columns)

    def __contains__(self, name: object) -> bool:
        return name in self._blobs

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self._blobs)})"
