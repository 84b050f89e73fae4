"""Overlaps: which groups of different releases share members, and how many. Counterfeits are members like others.

A series of r releases of n members has up to n r^2 / 2 overlaps when groups mix anew each time; then
`overlaps_by_release` keeps only those of one release at a time in memory, and `least` those that share enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Ints
from reissue.errors import ParameterError
from reissue.kernels.shared_members import shared_with_later
from reissue.model.memberships import Memberships
from reissue.model.published import Published


@dataclass(frozen=True, repr=False)
class Overlaps:
    """Pairs of groups that share members, ascending by first and then by second."""

    first: Ints
    """The group of the earlier release."""
    second: Ints
    """The group of the later one."""
    shared: Ints
    """How many members they share."""

    def __repr__(self) -> str:
        return f"Overlaps({self.first.size:,} pairs of groups)"


def overlaps(published: Published, *, least: int = 1) -> Overlaps:
    """All pairs of groups of different releases that share at least so many members.

    Groups are numbered from 0 over all releases, in their order, as in `Trajectories`.
    """
    parts = list(overlaps_by_release(published, least=least))
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, dtype=np.int64)
    return Overlaps(
        np.concatenate([none, *(part.first for part in parts)]),
        np.concatenate([none, *(part.second for part in parts)]),
        np.concatenate([none, *(part.shared for part in parts)]),
    )


def overlaps_by_release(published: Published, *, least: int = 1) -> Iterator[Overlaps]:
    """The same in parts, release after release: each with all later ones. The last release has none."""
    if least < 1:
        raise ParameterError(
            f"The 'least' parameter of overlaps must be a whole number of at least 1. Got {least} instead."
        )
    for release in range(len(published.releases) - 1):
        yield Overlaps(*_shared(published.index, release, published.index.bounds[release + 1 :], least))


def overlaps_between(published: Published, earlier: int, later: int) -> Overlaps:
    """The groups of two releases, by position, that share members; each counted from 0 in its own release."""
    bounds = published.index.bounds
    first, second, shared = _shared(published.index, earlier, bounds[later : later + 2], 1)
    return Overlaps(first - bounds[earlier], second - bounds[later], shared)


def _shared(where: Memberships, release: int, later: Ints, least: int) -> Ints:
    """The groups of a release with those of later ones, which begin and end as is said."""
    begin, end = where.bounds[release : release + 2].tolist()
    found: Ints = shared_with_later(
        begin, end, where.member, where.starts, where.groups, where.group_starts, later, least
    )
    return found
