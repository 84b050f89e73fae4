"""All people in small equal sets, exactly, where a part of a series is small enough for it.

`equal_columns` says which people linear combination forces to be equal; `smallest_sets` finds for everybody the
smallest set below a given size that he is in, if there is one. Both work on the space of
`reasoning.equality.minimum_equivalence`, in integers; what is proven not to be there is not there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.budget import OutOfTime
from reissue.arrays.elimination import Whole
from reissue.arrays.types import Ints
from reissue.reasoning.equality.equivalence_branching import Branching
from reissue.reasoning.equality.minimum_equivalence import VectorSpace


@dataclass(frozen=True, repr=False)
class ExactSets:
    """What was found in a part of a series. People with the same trajectory stand in one column."""

    classes: list[Ints]
    """Columns of single people who are equal to each other, two or more in each."""
    sides: list[Ints]
    """Attacks: for each column how often each of its people takes part, above 0 on one side, below on the other."""
    best: Ints
    """For each column the size of the smallest attack found, or known before, that it takes part in."""
    bound: int
    """Nothing in `best` that is below this can be smaller, and nothing that is not can be below it."""

    def __repr__(self) -> str:
        return f"ExactSets({len(self.sides)} attacks, {len(self.classes)} classes, searched below {self.bound})"


def smallest_sets(
    presence: Ints, people: Ints, values: Ints, below: int, known: Ints, deadline: float | None
) -> ExactSets:
    """For each column the smallest attack below a size that it takes part in.

    `presence` is groups by columns, `people` how many stand in each column, `values` groups by values; `known` has for
    each column the size of an attack already known, which only a smaller one improves on.
    """
    search = _ExactSearch(people, known.copy())
    try:
        whole = VectorSpace.of(presence, people, values, deadline)
        search.classes = equal_columns(whole, people)
        for columns in search.classes:
            search.best[columns] = 1
        whole = whole.merged()
        for size in range(1, below):
            search.look_for(whole, size)
            search.bound = size + 1
    except OutOfTime:
        # What was found until then holds, and `bound` says how far it goes.
        return search.result()
    return search.result()


def equal_columns(space: VectorSpace, people: Ints) -> list[Ints]:
    """Columns of single people who are equal to each other.

    One is equal to another if every vector that is orthogonal to the space has the same number in both places. A
    basis of those is read off the reduced echelon form: one for each free column, which has 1 there.
    """
    rows, pivots = space.basis, np.array(space.pivots, dtype=np.int64)
    free = np.setdiff1d(np.arange(people.size), pivots)
    scale = rows[np.arange(pivots.size), pivots]
    seen: dict[tuple[int, ...], list[int]] = {}
    for column in free[people[free] == 1].tolist():
        place = int(np.searchsorted(free, column))
        seen.setdefault((1, place, -1), []).append(column)
    for at in np.flatnonzero(people[pivots] == 1).tolist():
        filled = np.flatnonzero(rows[at, free])
        parts = [part for place in filled.tolist() for part in (place, int(rows[at, free[place]]))]
        seen.setdefault((int(scale[at]), *parts), []).append(int(pivots[at]))
    return [np.array(sorted(columns)) for columns in seen.values() if len(columns) > 1]


class _ExactSearch:
    def __init__(self, people: Ints, best: Ints) -> None:
        self.people, self.best = people, best
        self.classes: list[Ints] = []
        self.sides: list[Ints] = []
        self.bound = 1

    def look_for(self, whole: VectorSpace, size: int) -> None:
        """Attacks of at most this size on all columns that are in no such attack yet."""
        space = whole.shrunk(2 * size)
        for part in space.parts() if space.pivots else ():
            branching = None
            for column in range(part.cost.size):
                if self.best[part.unit == column].min() <= size:
                    continue
                if len(part.pivots) == 1:
                    self._note(part, part.basis[0], size)
                    break
                branching = branching or Branching(part.basis, part.pivots, part.cost, 2 * size, part.deadline)
                found, open_bound = branching.search(column)
                if open_bound is not None:
                    raise OutOfTime
                if found is not None:
                    self._note(part, found, size)

    def _note(self, part: VectorSpace, vector: Whole, most: int) -> None:
        sides = part.spread(vector).astype(object)
        size = int(np.abs(sides) @ self.people.astype(object)) // 2
        if size <= most:
            self.sides.append(sides.astype(np.int64))
            self.best[sides != 0] = np.minimum(self.best[sides != 0], size)

    def result(self) -> ExactSets:
        return ExactSets(self.classes, self.sides, self.best, self.bound)
