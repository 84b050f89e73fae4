"""Seals: what a draft was when it was checked, so that a changed one is noticed before it is committed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import IO, cast

import polars as pl


class _Hashed:
    """A file that keeps nothing of what is written to it but a hash."""

    def __init__(self, *words: str) -> None:
        self._sum = hashlib.sha256()
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        """Words in a row cannot be taken for others: each comes with its length."""
        self._sum.update(f"{len(word)}:{word}".encode())

    def write(self, some: bytes) -> int:
        """Take in a part of a file."""
        self._sum.update(some)
        return len(some)

    def flush(self) -> None:
        """Nothing waits to be written."""

    def read(self) -> str:
        """The hash of everything so far."""
        return self._sum.hexdigest()


def seal_of(tables: Mapping[str, pl.DataFrame | None], *words: str) -> str:
    """A hash of everything in these tables: names, types, cells and the order of rows; and of words beside them."""
    hashed = _Hashed(*words)
    file = cast("IO[bytes]", hashed)
    for name in sorted(tables):
        table = tables[name]
        hashed.add(name)
        if table is None:
            hashed.add("none")
            continue
        # In one piece and without views of text, so that equal tables are equal bytes however they are kept.
        table.rechunk().write_ipc_stream(file, compression="uncompressed", compat_level=pl.CompatLevel.oldest())
    return hashed.read()
