"""Families: the last release of a series beside all earlier ones, where something moved.

Between two releases only cells of one family (`reasoning.channels.histories`) hang together. For two earlier releases
between which no state of a family begins or ends, it is the same family, with the same states, that is beside the last
release. So there is one comparison for each family and each such run of releases: a *copy* of the family. Copies share
nobody, so that many of them are compared at once, side by side, as if they were two releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reissue.arrays.runs import owners, runs, starts_of
from reissue.arrays.types import Ints
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.channels.channel_sets import Comparison, compare
from reissue.reasoning.channels.histories import Histories, Step
from reissue.reasoning.history.states import NOWHERE, States

ROOM = 1 << 20
"""So many cells, with those of one copy more, are compared at once."""


@dataclass(frozen=True, repr=False)
class Compared:
    """Copies of families, side by side."""

    one: PublishedGroups
    two: PublishedGroups
    """Groups of the earlier releases, and of the last one."""
    sets: Comparison
    """Their inference-enabling sets."""
    release: Ints
    number: Ints
    """For each group of `one` its state: the number of the first release that showed it, and which group it was."""
    group: Ints
    """For each group of `two` which group of the last release it is."""
    since: Ints
    their_since: Ints
    """For each group of `one` and of `two` the number of the first release of its copy."""
    cell: Ints
    before: Ints
    now: Ints
    """Each cell of each copy, and its groups in `one` and in `two`; `NOWHERE` for none."""

    def __repr__(self) -> str:
        return f"Compared({self.one.group_count:,} with {self.two.group_count:,} groups)"


def comparisons(histories: Histories, step: Step) -> Iterator[Compared]:
    """The last release with all earlier ones, for all families in which something moved.

    What hangs together between releases i and j and holds no cell that moved is the same between i and j - 1: its
    cells are in the same groups of j - 1, or absent there too, and those groups hold nobody else. Between j - 1 and j
    it is one group that is the same in both.
    """
    if len(histories.numbers) > 1 and step.moved.any():
        yield from _Families(histories, step).comparisons()


class _Families:
    """The families in which something moved, with their groups now and in the past."""

    def __init__(self, histories: Histories, step: Step) -> None:
        self._histories = histories
        family = histories.family
        touched = np.zeros(family.size, dtype=bool)
        touched[family[step.moved]] = True
        heads = np.flatnonzero(touched)  # a family has the number of its first cell
        label = np.full(family.size, -1)
        label[heads] = np.arange(heads.size)
        self._label = label[family]

        # Cells lie family after family; `_rank` is where each is.
        cells = np.flatnonzero(self._label >= 0)
        self._cells = cells[np.argsort(self._label[cells], kind="stable")]
        self._rank = np.full(family.size, -1)
        self._rank[self._cells] = np.arange(cells.size)
        self._sizes = np.bincount(self._label[cells], minlength=heads.size)
        self._ancestors = _lineage(self._cells, histories.cells.parent)

        # So do the groups of the last release.
        place = step.place[cells]
        which = np.unique(place[place >= 0])
        mine = self._family_of(histories.last.chosen(which))
        self._which = which[np.argsort(mine, kind="stable")]
        self._now = histories.last.chosen(self._which)
        self._groups = np.bincount(mine, minlength=heads.size)

        before = len(histories.numbers) - 1
        stay = self._now.chosen(np.flatnonzero(self._now.first < before))
        stay = replace(stay, last=np.full(stay.count, before - 1))
        self._past = past = States.together([*histories.over(touched), stay])

        # A copy begins with a release in which a state of the family begins, or after one in which one ends.
        theirs = self._family_of(past) * before
        ends = past.last + 1
        keys = [np.arange(heads.size) * before, theirs + past.first, (theirs + ends)[ends < before]]
        copies = np.unique(np.concatenate(keys))
        self._family, begins = copies // before, copies % before
        self._since = np.array(histories.numbers)[begins]
        self._from = np.searchsorted(copies, theirs + past.first)
        self._to = np.searchsorted(copies, theirs + past.last, side="right")

    def _family_of(self, states: States) -> Ints:
        return self._label[states.cells[states.starts[:-1]]]

    def comparisons(self) -> Iterator[Compared]:
        """All copies, in batches of limited size."""
        batch = (np.cumsum(self._sizes[self._family]) - 1) // ROOM
        edges = [*np.flatnonzero(np.diff(batch, prepend=-1)).tolist(), batch.size]
        for low, high in pairwise(edges):
            yield self._compared(low, high)

    def _compared(self, low: int, high: int) -> Compared:
        histories = self._histories
        family = self._family[low:high]
        sizes = self._sizes[family]
        starts, first = starts_of(self._sizes)[family], starts_of(sizes)[:-1]
        cell = self._cells[runs(starts, sizes)]
        shift = first - starts

        copy = owners(self._groups[family])
        which = runs(starts_of(self._groups)[family], self._groups[family])
        later = self._now.chosen(which)

        alive = np.flatnonzero((self._from < high) & (self._to > low))
        begin, end = np.maximum(self._from[alive], low) - low, np.minimum(self._to[alive], high) - low
        their_copy = runs(begin, end - begin)
        order = np.argsort(their_copy, kind="stable")
        their_copy = their_copy[order]
        earlier = self._today(self._past.chosen(alive)).chosen(owners(end - begin)[order])

        made_up = histories.cells.made_up[cell]
        member = np.where(made_up, -1 - np.arange(cell.size), np.arange(cell.size))
        places: list[Ints] = []
        releases: list[PublishedGroups] = []
        for states, copies in ((earlier, their_copy), (later, copy)):
            at = self._rank[states.cells] + np.repeat(shift[copies], np.diff(states.starts))
            place = np.full(cell.size, NOWHERE)
            place[at] = owners(np.diff(states.starts))
            places.append(place)
            releases.append(states.published(len(releases) + 1, member[at]))
        one, two = releases
        found = compare(Published((one, two), histories.values, single=False), 0, 1, growing=False)
        since = self._since[low:high]
        return Compared(
            one, two, found,
            np.array(histories.numbers)[earlier.first], earlier.number, self._which[which],
            since[their_copy], since[copy], cell, *places,
        )  # fmt: skip

    def _today(self, states: States) -> States:
        """States of the past in cells of today: each cell of then has become those whose ancestor it is."""
        ancestor, rank, until = self._ancestors
        low = np.searchsorted(ancestor, states.cells)
        found = np.searchsorted(ancestor, states.cells, side="right") - low
        state = np.repeat(owners(np.diff(states.starts)), found)
        rows = runs(low, found)
        # Later on somebody's ancestor was a cell that had split off this one.
        then = np.array(self._histories.bounds)[states.last][state] <= until[rows]
        cells, state = self._cells[rank[rows[then]]], state[then]
        return replace(states, cells=cells, starts=starts_of(np.bincount(state, minlength=states.count)))


def _lineage(cells: Ints, parent: Ints) -> tuple[Ints, Ints, Ints]:
    """The ancestors of cells, ascending, each with one of its descendants and the number of cells up to which it was.

    As long as there were so many cells or fewer, and the ancestor among them, the ancestor stood for the descendant;
    then the one that is between the two split off.
    """
    ancestor, position, until = [cells], [np.arange(cells.size)], [np.full(cells.size, np.iinfo(np.int64).max)]
    while (above := parent[ancestor[-1]] >= 0).any():
        until.append(ancestor[-1][above])
        position.append(position[-1][above])
        ancestor.append(parent[ancestor[-1][above]])
    found = np.concatenate(ancestor)
    order = np.argsort(found, kind="stable")
    return found[order], np.concatenate(position)[order], np.concatenate(until)[order]
