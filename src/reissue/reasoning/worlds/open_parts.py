"""What propagation left open, cut into parts that say nothing about each other, as models to be counted.

Classes whose values are settled are taken out, each with its rows; what is left often falls into small parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue.arrays.runs import owners, runs
from reissue.arrays.types import Bools, Ints
from reissue.kernels import components
from reissue.reasoning.history.trajectories import Trajectories
from reissue.reasoning.worlds.possible import Possible
from reissue.reasoning.worlds.worlds_model import Model, PersonState


@dataclass(frozen=True, repr=False)
class OpenPart:
    """Some classes, none of which is settled, that share no group with any other open class."""

    classes: Ints
    """Which trajectories."""
    people: int
    """How many members they have."""

    def __repr__(self) -> str:
        return f"OpenPart({self.classes.size:,} classes, {self.people:,} people)"


class OpenParts:
    """The open parts of a series, smallest first."""

    def __init__(self, ways: Trajectories, found: Possible) -> None:
        self._ways, self._found = ways, found
        entry_class = owners(np.diff(found.starts))
        undecided = np.bincount(entry_class[found.low < found.high], minlength=ways.people.size) > 0
        self.open = undecided
        """Which classes are not settled."""
        self._left = _rows_left(ways, found, ~undecided)

    def __iter__(self) -> Iterator[OpenPart]:
        ways = self._ways
        step_class = owners(np.diff(ways.starts))
        steps = self.open[step_class]
        parent = np.arange(ways.release.size)
        last = np.full(ways.people.size, -1, dtype=np.int64)
        components.connect(step_class[steps], ways.groups[steps], last, parent)
        components.number(parent)
        classes = np.flatnonzero(self.open)
        if not classes.size:
            return
        part = parent[last[classes]]
        order = np.argsort(part, kind="stable")
        bounds = np.flatnonzero(np.append(True, np.diff(part[order]) != 0))
        parts = np.split(classes[order], bounds[1:])
        people = np.add.reduceat(ways.people[classes[order]], bounds)
        for at in np.argsort([one.size for one in parts], kind="stable").tolist():
            yield OpenPart(parts[at], int(people[at]))

    def entries(self, part: OpenPart) -> list[range]:
        """For each class of a part the places of its values in what was found possible."""
        starts = self._found.starts
        return [range(int(starts[one]), int(starts[one + 1])) for one in part.classes.tolist()]

    def model(self, part: OpenPart) -> Model:
        """The part as a model; its states are in the order of `entries`."""
        ways, found = self._ways, self._found
        counters: dict[tuple[int, int], int] = {}
        states = []
        for one in part.classes.tolist():
            groups = ways.groups[ways.starts[one] : ways.starts[one + 1]].tolist()
            values = found.values[found.starts[one] : found.starts[one + 1]].tolist()
            states.append(
                tuple(
                    PersonState(at, tuple(counters.setdefault((group, value), len(counters)) for group in groups))
                    for at, value in enumerate(values)
                )
            )
        rows: dict[tuple[int, int], int] = {}
        for group in {group for group, _ in counters}:
            entries = slice(int(ways.value_starts[group]), int(ways.value_starts[group + 1]))
            for value, left in zip(ways.values[entries].tolist(), self._left[entries].tolist(), strict=True):
                if left or (group, value) in counters:
                    rows[group, value] = left
                    counters.setdefault((group, value), len(counters))
        return Model(
            tuple(ways.people[part.classes].tolist()),
            tuple(states),
            # Out of time, propagation leaves a class values that not all of its groups have: nobody has those.
            tuple(rows.get(place, 0) for place in counters),
        )


def _rows_left(ways: Trajectories, found: Possible, settled: Bools) -> Ints:
    """How many rows of each value of each group belong to classes that are not settled."""
    width = int(ways.values.max(initial=0)) + 1
    group = owners(np.diff(ways.value_starts))
    offered = group * width + ways.values
    order = np.argsort(offered, kind="stable")
    left = ways.counts.copy()
    # Every step of a settled class, with every value of the class.
    lengths = np.diff(found.starts)
    step_class = owners(np.diff(ways.starts))
    keep = settled[step_class]
    step_class, step_group = step_class[keep], ways.groups[keep]
    repeated = lengths[step_class]
    entry = runs(found.starts[step_class], repeated)
    key = np.repeat(step_group, repeated) * width + found.values[entry]
    place = order[np.minimum(np.searchsorted(offered[order], key), order.size - 1)]
    # Where releases contradict each other and time was out, a settled value may be one that a group has not, or not
    # so often. What is left then has no world.
    has = offered[place] == key
    np.subtract.at(left, place[has], found.low[entry][has])
    return np.maximum(left, 0)
