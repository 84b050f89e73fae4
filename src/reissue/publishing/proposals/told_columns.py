"""Columns that would tell a sensitive one, found before anything is proposed: `publish` would refuse the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from reissue.model.snapshot import Column
from reissue.publishing.checking.telling_columns import BINS, told_by
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.proposals.choosing_method import coded

MOST_PEOPLE = 100_000
"""In a larger table so many people are looked at; what is proposed is asked about all of them."""


def told_columns(
    states: Sequence[pl.DataFrame], quasi: Mapping[str, bool], sensitive: Sequence[str]
) -> dict[tuple[str, str], tuple[int, int]]:
    """For each pair of a quasi-identifier and a sensitive column that it tells in some table: of how many people there,
    and how many there are. `quasi` says of each whether it is a number."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for whole in states:
        state = whole.gather_every(-(-whole.height // MOST_PEOPLE))
        published = [_in_cells(state[name], numeric=numeric) for name, numeric in quasi.items()]
        hidden = [coded(state[name]) for name in sensitive]
        for pair, number in told_by(published, hidden, Checks()).items():
            found[pair] = max(found.get(pair, (0, 0)), (number, state.height))
    return found


def _in_cells(values: pl.Series, *, numeric: bool) -> Column:
    """A column as the check looks at it: of many numbers ranges that hold as many people each."""
    if not numeric or values.n_unique() <= BINS:
        return coded(values)
    below = values.rank("min").cast(pl.Int64) - 1
    return coded(below * BINS // values.len())
