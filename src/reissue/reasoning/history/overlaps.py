"""Overlaps: which groups of different releases share members, and how many. Counterfeits are members like others.

A series of r releases of n members has up to n r^2 / 2 overlaps when groups mix anew each time; then
`overlaps_by_release` keeps only those of one release at a time in memory, and `least` those that share enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.dense import places
from reissue.arrays.types import Ints
from reissue.errors import ParameterError
from reissue.kernels.shared_members import shared_with_later
from reissue.model.release import Published, PublishedGroups


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


@dataclass(frozen=True, repr=False)
class Memberships:
    """Who is in which groups of a series, both ways. Groups are numbered from 0 over all releases, in their order."""

    people: Ints
    """All members by number, ascending; counterfeits have negative numbers."""
    member: Ints
    """Positions in `people`, group after group."""
    starts: Ints
    """Where each group begins in `member`."""
    groups: Ints
    """The groups of each member, ascending, member after member."""
    group_starts: Ints
    """Where each member begins in `groups`."""
    bounds: Ints
    """Where each release begins among the groups, and where the last one ends."""

    def __repr__(self) -> str:
        return f"Memberships({self.people.size:,} members in {self.starts.size - 1:,} groups)"

    @classmethod
    def of(cls, releases: Sequence[PublishedGroups]) -> Memberships:
        """Those of a series; somebody may be listed in several groups of a release."""
        none = np.zeros(1, dtype=np.int64)
        members = np.concatenate([none[:0], *(release.members for release in releases)])
        people = _distinct(members)
        member = places(people, members)
        starts = np.concatenate([none, np.cumsum(np.concatenate([none[:0], *(r.sizes for r in releases)]))])
        group = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        order = np.argsort(member, kind="stable")
        group_starts = np.concatenate([none, np.cumsum(np.bincount(member, minlength=people.size))])
        bounds = np.concatenate([none, np.cumsum([r.group_count for r in releases], dtype=np.int64)])
        return cls(people, member, starts, group[order], group_starts, bounds)

    def of_group(self, group: int) -> Ints:
        """The members of a group by number, ascending."""
        return np.sort(self.people[self.member[self.starts[group] : self.starts[group + 1]]])

    def later(self, release: int, least: int = 1) -> Overlaps:
        """The groups of a release, by its position in the series, with all groups of later ones."""
        found = shared_with_later(
            int(self.bounds[release]),
            int(self.bounds[release + 1]),
            self.member,
            self.starts,
            self.groups,
            self.group_starts,
            self.bounds[release + 1 :],
            least,
        )
        return Overlaps(*found)


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
    where = Memberships.of(published.releases)
    for release in range(len(published.releases) - 1):
        yield where.later(release, least)


def overlaps_between(earlier: PublishedGroups, later: PublishedGroups) -> Overlaps:
    """The groups of two releases that share members, each counted from 0 in its own release."""
    found = Memberships.of([earlier, later]).later(0)
    return Overlaps(found.first, found.second - earlier.group_count, found.shared)


def _distinct(members: Ints) -> Ints:
    """Member numbers, ascending, once each; without sorting where they are dense."""
    if not members.size:
        return members
    lowest, highest = int(members.min()), int(members.max())
    if highest - lowest > 16 * members.size:
        return np.unique(members)
    seen = np.zeros(highest - lowest + 1, dtype=bool)
    seen[members - lowest] = True
    return np.flatnonzero(seen) + lowest
