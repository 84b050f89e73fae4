"""Seals: what a draft was when it was checked, so that a changed one is noticed before it is committed.

A seal is for drafts that leave our hands between the two. It is good within this process only, which is where drafts
live: rows are hashed with a secret of it, by polars, on all cores.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

import polars as pl

_SECRET = secrets.randbits(64)


def seal_of(tables: Mapping[str, pl.DataFrame | None], *words: str) -> str:
    """A hash of everything in these tables: names, types, cells and the order of rows; and of words beside them."""
    found = hashlib.sha256()
    for name in sorted(tables):
        table = tables[name]
        kinds = [] if table is None else [(column, _kind(dtype)) for column, dtype in table.schema.items()]
        words = (*words, name, "none" if table is None else repr((table.height, kinds)))
        if table is not None and table.width:
            found.update(table.hash_rows(_SECRET).to_numpy().data)
    found.update(repr(words).encode())
    return found.hexdigest()


def _kind(dtype: pl.DataType) -> str:
    """A type with everything about it; what polars shows of an enumeration leaves out values."""
    return repr(dtype.categories.to_list()) if isinstance(dtype, pl.Enum) else repr(dtype)
