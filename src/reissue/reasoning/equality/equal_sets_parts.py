"""The parts of a series that equivalence attacks can be looked for in one by one, and what is proven of each.

A bucket is all groups with the same set of values. If everybody keeps to one bucket and each of its groups holds all
its values equally often, an attack below the number of values of the smallest bucket is one on each bucket that it
touches (He, Barman & Naughton 2011, Lemma 3; for any size, if the sets of values are linearly independent). Otherwise
the series is one part. The min-cut of a bucket's graph bounds what touches it in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.budget import OutOfTime, passed, share_of
from reissue.arrays.runs import owners, runs, starts_of
from reissue.arrays.types import Ints
from reissue.errors import count_of
from reissue.reasoning.equality.equal_sets_exact import ExactSets, smallest_sets
from reissue.reasoning.history import diversity
from reissue.reasoning.history.signatures import Signatures, independent, signatures_of
from reissue.reasoning.history.trajectories import Bucket, Trajectories

CELLS = 100_000
"""The exact search is tried where groups by trajectories are at most this many."""
SHARE = 0.2
"""How much of the time that is left one part may take."""


@dataclass(frozen=True, repr=False)
class Component:
    """Some groups of a series, with the trajectories that lead through them."""

    groups: Ints
    trajectories: Ints
    bucket: Bucket
    """The same by position in these two."""

    def __repr__(self) -> str:
        return f"Component({self.groups.size:,} groups, {self.trajectories.size:,} trajectories)"


@dataclass(frozen=True, repr=False)
class Components:
    """A series in parts."""

    ways: Trajectories

    def __repr__(self) -> str:
        return f"Components({self.ways!r})"

    @cached_property
    def signatures(self) -> Signatures:
        """A number for the set of values of each group, and the sets."""
        return signatures_of(self.ways)

    @cached_property
    def buckets(self) -> list[Component]:
        """The smallest first."""
        return sorted(self._buckets(), key=lambda part: part.bucket.cells)

    @cached_property
    def whole(self) -> Component:
        """Everything as one part."""
        ways = self.ways
        steps = owners(np.diff(ways.starts))
        stays = np.zeros(ways.people.size, dtype=bool)
        groups, passing = np.arange(ways.release.size), np.arange(ways.people.size)
        return Component(groups, passing, Bucket(groups, ways.people, stays, ways.groups, steps))

    def _buckets(self) -> Iterator[Component]:
        number, ways = self.signatures.number, self.ways
        steps = owners(np.diff(ways.starts))
        of_step, moves = number[ways.groups], ways.moves(number)
        order = np.argsort(of_step, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(of_step[order])) + 1) if order.size else ():
            groups, row = np.unique(ways.groups[part], return_inverse=True)
            passing, column = np.unique(steps[part], return_inverse=True)
            yield Component(groups, passing, Bucket(groups, ways.people[passing], moves[passing], row, column))

    @cached_property
    def tangled(self) -> str | None:
        """Why buckets cannot be looked at one by one, whatever the size of the attack, if they cannot."""
        distinct = diversity.distinct(self.ways)
        uneven = int(np.count_nonzero(diversity.largest(self.ways) * distinct != diversity.totals(self.ways)))
        if uneven:
            return f"values are not all equally often in {uneven:,} of {count_of(distinct.size, 'group')}"
        moving = int(self.ways.people[self.ways.moves(self.signatures.number)].sum())
        if moving:
            return f"the set of values changes for {moving:,} of {count_of(int(self.ways.people.sum()), 'member')}"
        return None

    def apart(self, below: int, deadline: float) -> bool:
        """Whether attacks below a size can be looked for bucket by bucket; what there is no time to see is not so."""
        if self.tangled is not None:
            return False
        if below <= min((values.size for values in self.signatures.sets if values.size), default=0):
            return True
        try:
            return independent(self.signatures.sets, share_of(deadline, SHARE))
        except OutOfTime:
            return False

    def least_by_cut(self, part: Component) -> int:
        """A size that no attack that touches a bucket is below, by its min-cut; 1, which says nothing, if in doubt.

        Only where the bucket has one group in each release: with more, people are seldom one edge of its graph, and
        the cut of a large graph takes long. If the bucket is in one release only, and nobody leaves it, every attack
        on it takes in a whole group.
        """
        releases = np.unique(self.ways.release[part.groups]).size
        if releases == 1 and not part.bucket.moves.any():
            return int(np.bincount(part.bucket.row, weights=part.bucket.people[part.bucket.column]).min())
        if releases < part.groups.size:
            return 1
        return part.bucket.least_attack()

    def values(self, part: Component) -> Ints:
        """Groups by values, how often each was published."""
        ways = self.ways
        lengths = np.diff(ways.value_starts)[part.groups]
        at = runs(ways.value_starts[part.groups], lengths)
        _, place = np.unique(ways.values[at], return_inverse=True)
        table = np.zeros((part.groups.size, int(place.max(initial=-1)) + 1), dtype=np.int64)
        table[owners(lengths), place] = ways.counts[at]
        return table

    def search(self, part: Component, below: int, best: Ints, deadline: float) -> ExactSets | None:
        """Everybody's smallest attack in a part, given the smallest known for each member; None if it is too large."""
        if part.bucket.cells > CELLS or passed(deadline):
            return None
        known = self.best_of_trajectories(best)[part.trajectories]
        limit = share_of(deadline, SHARE)
        presence, values = part.bucket.presence(), self.values(part)
        return smallest_sets(presence, part.bucket.people, values, below, known, limit)

    def best_of_trajectories(self, best: Ints) -> Ints:
        """From a figure for each member to the smallest of each trajectory."""
        found = np.full(self.ways.people.size, np.iinfo(np.int64).max)
        np.minimum.at(found, self.ways.of_member, best)
        return found

    @cached_property
    def _by_trajectory(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.ways.of_member, kind="stable")
        return order, starts_of(self.ways.people)

    def members(self, trajectories: Ints) -> list[Ints]:
        """For each trajectory the positions of its members among all, ascending."""
        order, starts = self._by_trajectory
        return [order[starts[one] : starts[one + 1]] for one in trajectories.tolist()]
