"""Who has the same history as whom, release after release.

People who were in the same groups of the same releases cannot be told apart by someone who knows when they were
there. The fewer share a history, the better its owner can be followed through the series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Ints
from reissue.model.release import Published


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
    return published.exact and all(
        distinct(release.members).size == release.members.size for release in published.releases
    )


def distinct(numbers: Ints) -> Ints:
    """Each number once, ascending. By sorting: `np.unique` alone hashes, which takes many times as long here."""
    ordered = np.sort(numbers)
    first = np.ones(ordered.size, dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def histories(published: Published) -> Iterator[Histories]:
    """The histories up to each release, of a view in which everybody is known to be in one place."""
    none = np.zeros(0, dtype=np.int64)
    numbers, member = np.unique(
        np.concatenate([none, *(release.members for release in published.releases)]), return_inverse=True
    )
    people = numbers >= 0
    history = np.zeros(numbers.size, dtype=np.int64)
    stays = np.zeros(numbers.size, dtype=np.int64)
    known, start = 1, 0
    for release in published.releases:
        here = member[start : start + release.members.size]
        group = np.repeat(np.arange(release.group_count), release.sizes)
        steps, step = np.unique(history[here] * max(release.group_count, 1) + group, return_inverse=True)
        history[here] = known + step
        stays[here] += 1
        known, start = known + steps.size, start + here.size
        seen = people & (history > 0)
        yield Histories(np.bincount(history, minlength=known)[history[seen]], stays[seen])
