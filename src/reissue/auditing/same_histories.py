"""Who has the same history as whom, release after release.

People who were in the same groups of the same releases cannot be told apart by someone who knows when they were
there. The fewer share a history, the better its owner can be followed through the series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Ints
from reissue.model.published import Published


@dataclass(frozen=True, repr=False)
class Histories:
    """Everybody seen up to a release, and how many have the same history. Counterfeits count, but are nobody here."""

    alike: Ints
    """For each person seen so far how many members have the same history, the person included."""
    stays: Ints
    """For each of them in how many releases."""

    def __repr__(self) -> str:
        return f"Histories({self.alike.size:,} people)"

    @property
    def smallest(self) -> int | None:
        """How many share the rarest history; None where nobody was seen."""
        return int(self.alike.min()) if self.alike.size else None

    @property
    def success(self) -> float | None:
        """The share of people somebody finds who guesses among those alike."""
        return float(np.mean(1 / self.alike)) if self.alike.size else None

    @property
    def alone(self) -> int:
        """How many in several releases have a history of their own."""
        return int(np.count_nonzero((self.alike == 1) & (self.stays > 1)))

    @property
    def several(self) -> int:
        """How many were in several releases."""
        return int(np.count_nonzero(self.stays > 1))


def one_place_each(published: Published) -> bool:
    """Whether it is known where everybody is, and nobody is in two places of a release."""
    return published.exact and not published.index.again[0].any()


def histories(published: Published) -> Iterator[Histories]:
    """The histories up to each release, of a view in which everybody is known to be in one place."""
    where, tree = published.index, published.index.histories
    people = np.arange(where.people.size) >= where.made_up
    history = np.zeros(where.people.size, dtype=np.int64)
    stays = np.zeros(where.people.size, dtype=np.int64)
    for at in range(len(published.releases)):
        entries = where.entries(at)
        history[where.member[entries]] = tree.after[entries]
        stays[where.member[entries]] += 1
        seen = people & (history > 0)
        yield Histories(np.bincount(history)[history[seen]], stays[seen])
