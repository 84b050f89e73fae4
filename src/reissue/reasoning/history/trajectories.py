"""Trajectories: which groups people were in, release after release, with those of the same history counted together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.dense import numbered
from reissue.arrays.runs import entries_of, joined, owners, starts_of
from reissue.arrays.types import Bools, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.memberships import Histories
from reissue.model.published import Published


@dataclass(frozen=True, repr=False)
class Trajectories:
    """All groups of a series, and everybody's way through them. Counterfeits are members like others.

    Groups are numbered from 0 over all releases, in their order; values and counts are stored group after group,
    the groups of a trajectory one trajectory after the other.
    """

    release: Ints
    """For each group the number of its release."""
    group: Ints
    """For each group its number in that release, counted from 1."""
    values: Ints
    """Positions in `Published.values`, each at most once in a group."""
    counts: Ints
    """How often the value at the same place was published."""
    value_starts: Ints
    """Where each group begins in `values` and `counts`."""
    people: Ints
    """For each trajectory how many members have it."""
    groups: Ints
    """The groups of each trajectory, ascending."""
    starts: Ints
    """Where each trajectory begins in `groups`."""
    numbers: Ints
    """The numbers of all members, ascending; those of counterfeits are below 0."""
    of_member: Ints
    """The trajectory of each of them."""

    def __repr__(self) -> str:
        return f"Trajectories({self.people.size:,} through {self.release.size:,} groups)"

    @classmethod
    def of(cls, published: Published) -> Trajectories:
        """Follow everybody through a series in which nobody is in two places of a release."""
        need_one_place_each(published)
        where = published.index
        people, groups, starts, of_member = _ways(where.histories)
        return cls(
            where.release,
            where.group,
            where.values,
            where.counts,
            where.value_starts,
            people,
            groups,
            starts,
            where.people,
            of_member,
        )

    def apart(self, kind: Ints) -> Trajectories:
        """With members of the same history told apart by a number for each of them."""
        pairs, of_member = numbered(self.of_member * (int(kind.max(initial=0)) + 1) + kind)
        old = pairs // (int(kind.max(initial=0)) + 1)
        return replace(
            self,
            people=np.bincount(of_member, minlength=pairs.size),
            groups=self.groups[entries_of(self.starts, old)],
            starts=starts_of(np.diff(self.starts)[old]),
            of_member=of_member,
        )

    def moves(self, signature: Ints) -> Bools:
        """Which trajectories lead through different buckets, given a number for the signature of each group."""
        of_step = signature[self.groups]
        changes = (np.diff(of_step) != 0) & (np.diff(self._of_step()) == 0)
        return np.bincount(self._of_step()[1:][changes], minlength=self.people.size) > 0

    def buckets(self, signature: Ints) -> Iterator[Bucket]:
        """The buckets, given a number for the signature of each group."""
        trajectory, of_step, moves = self._of_step(), signature[self.groups], self.moves(signature)
        order = np.argsort(of_step, kind="stable")
        starts = np.flatnonzero(np.diff(of_step[order], prepend=-1))
        for steps in np.split(order, starts)[1:]:
            groups, row = np.unique(self.groups[steps], return_inverse=True)
            passing, column = np.unique(trajectory[steps], return_inverse=True)
            yield Bucket(groups, self.people[passing], moves[passing], row, column)

    def presence(self) -> Ints:
        """Groups by trajectories, 1 where one passes through the other."""
        matrix = np.zeros((self.release.size, self.people.size), dtype=np.int64)
        matrix[self.groups, self._of_step()] = 1
        return matrix

    def _of_step(self) -> Ints:
        """The trajectory that each entry of `groups` belongs to."""
        return owners(np.diff(self.starts))


@dataclass(frozen=True, repr=False)
class Bucket:
    """All groups of one signature (the rows) and the trajectories that lead through them (the columns)."""

    groups: Ints
    """Which groups, ascending."""
    people: Ints
    """How many members have each trajectory."""
    moves: Bools
    """Which trajectories lead through other buckets too."""
    row: Ints
    column: Ints
    """The places where a trajectory passes through a group, trajectory after trajectory, ascending by row."""

    def __repr__(self) -> str:
        return f"Bucket({self.groups.size:,} groups, {self.people.size:,} trajectories)"

    @property
    def cells(self) -> int:
        """The size of `presence`."""
        return self.groups.size * self.people.size

    def presence(self) -> Ints:
        """Groups by trajectories, 1 where one passes through the other."""
        matrix = np.zeros((self.groups.size, self.people.size), dtype=np.int64)
        matrix[self.row, self.column] = 1
        return matrix

    def least_attack(self) -> int:
        """A size that no attack is below that leaves anything of the bucket; 1, which says nothing, if in doubt.

        By the min-cut of its graph (He, Barman & Naughton 2011, Theorem 2): a node for each group and one for the
        outside, and an edge for everybody from the group he came in to the one after the last he was in. An attack
        is a potential on the nodes, zero outside, that has integer differences along the edges; so the sum of |y|
        is a sum of cuts. People with several stays, or with stays in other buckets, are not one edge. They are left
        out; then an attack might show in them alone, but not if the two ends of each of their stays hang together.
        A stay is a run of rows, whatever their releases: so it holds for split buckets too, but says little there,
        where few people are in a run.
        """
        import igraph

        begins = np.append(True, (np.diff(self.column) != 0) | (np.diff(self.row) != 1))
        came, left = self.row[begins], self.row[np.append(begins[1:], True)] + 1
        who = self.column[begins]
        once = (np.bincount(who)[who] == 1) & ~self.moves[who]
        graph = igraph.Graph(self.groups.size + 1, np.column_stack([came, left])[once].tolist())
        graph.es["people"] = self.people[who[once]].tolist()
        part = np.array(graph.connected_components().membership)
        if (part[came[~once]] != part[left[~once]]).any():
            return 1
        cuts: list[int] = [round(one.mincut(capacity="people").value) for one in graph.decompose(minelements=2)]
        return -(-min(cuts) // 2)


def _ways(histories: Histories) -> tuple[Ints, Ints, Ints, Ints]:
    """How many members have each trajectory, its groups, where each one begins; and which one each member has."""
    last, of_member = numbered(histories.last)
    people = np.bincount(of_member, minlength=last.size)
    trajectory, groups = [], []
    at, walking = last, np.arange(last.size)
    while walking.size:
        trajectory.append(walking)
        groups.append(histories.group[at])
        at = histories.parent[at]
        walking, at = walking[at > 0], at[at > 0]
    passed, through = joined(trajectory), joined(groups)
    order = np.lexsort((through, passed))
    return people, through[order], starts_of(np.bincount(passed, minlength=last.size)), of_member


def need_one_place_each(published: Published, which: Sequence[int] | None = None) -> None:
    """Refuse releases that have somebody in two places: all of them, or some by position."""
    where = published.index
    problems = []
    for at in range(len(published.releases)) if which is None else which:
        twice, too_many = int(where.again[0][at]), int(where.again[1][at])
        if twice:
            everybody = published.releases[at].members.size - too_many
            who = f"{count_of(twice, 'member')} of {everybody:,}"
            problems.append(f"Release {published.releases[at].number} has {who} in more than one place.")
    if problems:
        raise ParameterError(
            "Trajectories lead through one group of a release at most.",
            problems=problems,
            hint="let everybody be in one group of a release.",
        )
