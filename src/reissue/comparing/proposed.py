"""A policy for tables that nobody has described yet: the one that `reissue init` would propose for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reissue.publishing.policy import Policy
from reissue.publishing.proposals import propose_policy
from reissue.tables.frames import read_table


def proposed_policy(tables: Sequence[object]) -> Policy:
    """Guess the role of every column from the first table."""
    first = tables[0]
    frame, _ = read_table(first)
    written = read_table(first, text=frame.columns)[0] if isinstance(first, str | Path) else frame
    # 02003 is a code, not the number 2003.
    codes = [name for name in frame.columns if frame[name].dtype.is_integer() and _leading_zeros(written[name])]
    return Policy.from_toml(propose_policy(frame, "the tables to compare methods on", codes))


def _leading_zeros(column: pl.Series) -> bool:
    return column.dtype == pl.String and bool(column.str.contains(r"^0\d").any())
