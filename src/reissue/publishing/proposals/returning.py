"""Who comes back: how many people of a table are in the next, and what the check of that should ask for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import floor

import polars as pl

from reissue.publishing.checking.thresholds import Checks


def least_returning(states: Sequence[pl.DataFrame], person: str) -> float | None:
    """The least share of the people of a table who are in the next; None where there is one table."""
    ids = [state[person].cast(pl.String) for state in states]
    shares = [float(before.is_in(after.implode()).mean() or 0.0) for before, after in pairwise(ids)]  # type: ignore[arg-type]
    return min(shares, default=None)


def asked_to_return(share: float | None) -> float | None:
    """The threshold to propose where fewer come back than is usual: half of what was seen; None: the usual one."""
    if share is None or share >= 1.25 * Checks().ids_return:
        return None
    return floor(50 * share) / 100
