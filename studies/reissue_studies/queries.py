"""Queries on drafts: the same of every method, whatever numbers happen to occur in a release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from reissue.model.snapshot import Column, Numbers, smallest_unsigned
from reissue.utility import QueryError


def over_their_domains(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Columns with every number of their domains, which are declared and whole.

    A column of numbers is coded over those that occur. Counterfeits may add some, and shift every range drawn.
    """
    return tuple(_over_its_domain(column) for column in columns)


def _over_its_domain(column: Column) -> Column:
    levels = column.levels
    if not isinstance(levels, Numbers):
        return column
    everything = np.arange(levels.low, levels.high + 1, dtype=np.float64)
    place = np.searchsorted(everything, levels.values).astype(smallest_unsigned(everything.size))
    return Column(column.name, place[column.codes], replace(levels, values=everything))


def errors(error: QueryError, *names: str) -> dict[str, object]:
    """Some figures of an error, by name."""
    told = error.to_dict()
    return {name: told[name] for name in names}
