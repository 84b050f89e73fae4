"""The minimum equivalence attack (He, Barman & Naughton 2011, Definition 10), exactly.

    S            one row for each published group, one column for each trajectory (people who were always
                 in the same groups share one; `people` says how many they are)
    U            how often each sensitive value was published in each group
    W            a weight for each group
    y = W.S      what the combination leaves of each person: positive on one side, negative on the other

Where W.U = 0 and y is integer and not zero, the people on one side have the same values as those on the
other, each counted |y| times; the size of the attack is half the sum of |y|.

W is *not* restricted to integers. The paper's Lemma 2 says that it makes no difference; that is so where
everybody's presences are an interval of the rows (then S is totally unimodular), but not with people who
return or with groups that mix anew: half weights may leave an integer y that no integer weights leave.
The adversary can divide by two, so W is free and only y is integer.

How: y ranges over the integer points of a rational subspace. Exact elimination gives a basis of it, in
integers. Nobody whose column alone would cost more than the attacks looked for can take part, columns that
are multiples of one another go together, and independent parts are looked at one by one; what is left is
searched by branch and bound, with the relaxations solved by HiGHS. Floating-point numbers only guide that
search: an attack is verified in integers before it is believed, and a branch is closed only by a bound that
was evaluated in integers (any multipliers of the equations give a valid one, so rounded ones do too).
Cost: exponential at worst (the problem is NP-hard), hence `seconds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from reissue.arrays.budget import OutOfTime, ends_after
from reissue.arrays.elimination import ROOM, Whole, echelon
from reissue.arrays.types import Ints
from reissue.errors import InternalError, ParameterError
from reissue.reasoning.equality.equivalence_branching import Branching

MOST = 2**31
"""Attacks that cost more than this are not told apart: nobody fears them, and smaller ones fit into 64 bits."""


@dataclass(frozen=True, repr=False)
class Attack:
    """People whose values are together those of others, and the groups from which that follows."""

    size: int
    """How many people stand on each side, counted as often as they take part."""
    weights: tuple[Fraction, ...]
    """The weight of each group; zero for those that are not needed."""
    sides: Ints
    """For each trajectory how often each of its people takes part: above 0 on one side, below on the other."""

    def __repr__(self) -> str:
        used = sum(weight != 0 for weight in self.weights)
        return f"Attack(size {self.size}, from {used} of {len(self.weights)} groups)"


@dataclass(frozen=True)
class Search:
    """What a search for the minimum attack found."""

    attack: Attack | None
    """The smallest attack found; it is the minimum if the search was `decided`."""
    bound: int | None
    """No attack is smaller than this; None where there is no attack of any size."""
    decided: bool
    """Whether the search came to its end before the time did."""


def minimum_attack(
    presence: npt.ArrayLike,
    people: npt.ArrayLike,
    multiples: npt.ArrayLike,
    *,
    below: int | None = None,
    seconds: float | None = None,
) -> Search:
    """The smallest attack on the groups of one signature.

    `presence` is groups by trajectories, 0 or 1; `people` how many have each trajectory; `multiples` how often
    each value of the signature is in each group. With `below`, only smaller attacks are looked for. After
    `seconds` the search ends undecided, with what it has.
    """
    column = np.asarray(multiples, dtype=np.int64).reshape(-1, 1)
    groups, count = np.asarray(presence, dtype=np.int64), np.asarray(people, dtype=np.int64)
    used = np.flatnonzero(column > 0)
    if used.size and groups.ndim == 2 and groups.shape == (column.size, count.size):
        # One column stands for all values of the signature; how many they are, any group tells.
        column = column * max(int(groups[used[0]] @ count) // int(column[used[0], 0]), 1)
    return _minimum(groups, count, column, below, seconds)


def minimum_attack_of_matrices(
    presence: npt.ArrayLike,
    people: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    below: int | None = None,
    seconds: float | None = None,
) -> Search:
    """The smallest attack on groups of any values: `values` is groups by values, how often each was published."""
    groups, count = np.asarray(presence, dtype=np.int64), np.asarray(people, dtype=np.int64)
    return _minimum(groups, count, np.asarray(values, dtype=np.int64), below, seconds)


@dataclass(frozen=True)
class VectorSpace:
    """The vectors y still possible: integer points of the span of `basis`, one column for each unit of people."""

    basis: Whole
    """In reduced row echelon form, every row an integer point without a common divisor."""
    pivots: list[int]
    cost: Ints
    """What a step of 1 in a column adds to the sum of |y|; at most 2 `MOST`."""
    unit: Ints
    """For each trajectory the column it belongs to, -1 where it can only be zero."""
    ratio: Whole
    """For each trajectory its y where that column is 1."""
    deadline: float | None

    @classmethod
    def of(cls, presence: Ints, people: Ints, values: Ints, deadline: float | None) -> VectorSpace:
        """All W.S with W.U = 0."""
        start = cls(presence, [], people, np.arange(people.size), np.ones_like(people), deadline)
        width = values.shape[1]
        whole = replace(start, basis=np.hstack([presence, values]), cost=np.append(people, np.zeros_like(values[0])))
        return whole.only(np.arange(people.size), zero=people.size + np.arange(width))

    def cheapest(self) -> tuple[Whole, int]:
        """A row of the basis that costs least, and what it costs (or more than `MOST`)."""
        fits = self.basis.dtype != object and int(np.abs(self.basis).max()) * int(self.cost.sum()) < ROOM
        costs = np.abs(self.basis if fits else self.basis.astype(object)) @ self.cost
        at = int(np.argmin(costs))
        return self.basis[at], int(costs[at])

    def spread(self, vector: Whole) -> Whole:
        """The y of every trajectory, from a value for each column."""
        padded = np.append(vector, 0)
        return padded[self.unit] * self.ratio

    def only(self, columns: Ints, *, zero: Ints) -> VectorSpace:
        """The part in which `zero` are 0, seen in `columns`."""
        rows, pivots = echelon(self.basis[:, np.concatenate([zero, columns])], self.deadline)
        first = sum(pivot < zero.size for pivot in pivots)
        position = np.full(self.cost.size + 1, -1)
        position[columns] = np.arange(columns.size)
        return VectorSpace(
            rows[first:, zero.size :],
            [pivot - zero.size for pivot in pivots[first:]],
            self.cost[columns],
            position[self.unit],
            self.ratio,
            self.deadline,
        )

    def merged(self) -> VectorSpace:
        """Columns that are multiples of one another become one; columns that are always zero go."""
        if not self.pivots:
            return replace(self, basis=self.basis[:, :0], cost=self.cost[:0], unit=np.full_like(self.unit, -1))
        divisor = np.gcd.reduce(self.basis, axis=0)
        live = np.flatnonzero(divisor != 0)
        columns = self.basis[:, live]
        leading = columns[(columns != 0).argmax(axis=0), np.arange(live.size)]
        factor = divisor[live] * np.where(leading > 0, 1, -1)
        home, count = _numbered((columns // factor).T)
        if count == self.cost.size:
            return self
        common = np.zeros(count, dtype=factor.dtype)
        np.gcd.at(common, home, factor)
        step = factor // common[home]
        cost = np.zeros(count, dtype=object)
        np.add.at(cost, home, np.abs(step).astype(object) * self.cost[live].astype(object))
        cost = np.minimum(cost, 2 * MOST).astype(np.int64)
        first = np.full(count, live.size)
        np.minimum.at(first, home, np.arange(live.size))
        rows, pivots = echelon(columns[:, first] // factor[first] * common, self.deadline)
        place, scale = np.full(self.cost.size + 1, -1), np.ones(self.cost.size + 1, dtype=step.dtype)
        place[live], scale[live] = home, step
        return VectorSpace(rows, pivots, cost, place[self.unit], self.ratio * scale[self.unit], self.deadline)

    def shrunk(self, budget: int) -> VectorSpace:
        """Without what cannot take part in an attack that costs at most `budget`."""
        space = self.merged()
        while (heavy := space.cost > budget).any():
            space = space.only(np.flatnonzero(~heavy), zero=np.flatnonzero(heavy)).merged()
        return space

    def parts(self) -> Iterator[VectorSpace]:
        """The independent parts: a reduced echelon form shows them as blocks."""
        block = np.arange(self.basis.shape[0])
        present = self.basis != 0
        while True:
            lowest = np.where(present, block[:, None], block.size).min(axis=0)
            now = np.where(present, lowest, block.size).min(axis=1)
            if (now == block).all():
                break
            block = now
        for number in np.unique(block):
            columns = np.flatnonzero(lowest == number)
            inside = replace(self, basis=self.basis[block == number])
            yield inside.only(columns, zero=np.empty(0, dtype=np.int64))


def _numbered(rows: Whole) -> tuple[Ints, int]:
    """Equal rows get the same number, counted from 0 in the order of their first occurrence."""
    keys = map(tuple, rows.tolist()) if rows.dtype == object else (row.tobytes() for row in np.ascontiguousarray(rows))
    known: dict[Any, int] = {}
    numbers = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)
    return numbers, len(known)


def _minimum(presence: Ints, people: Ints, values: Ints, below: int | None, seconds: float | None) -> Search:
    _examine(presence, people, values, below)
    hunt = _Hunt(None if below is None else 2 * (below - 1))
    try:
        hunt.run(VectorSpace.of(presence, people, values, ends_after(seconds)))
    except OutOfTime:
        hunt.unproved.append(2)
    # What was left unproved may have been settled by a smaller attack since.
    limit = None if hunt.budget is None else hunt.budget + 2
    open_bounds = [bound for bound in hunt.unproved if limit is None or bound < limit]
    lower = min(open_bounds, default=limit)
    return Search(
        None if hunt.best is None else verified(presence, people, values, hunt.best),
        None if lower is None else -(-lower // 2),
        not open_bounds,
    )


class _Hunt:
    """Looks for ever smaller attacks. Since the sum of y is zero, the sum of |y|, its cost, is even."""

    def __init__(self, budget: int | None) -> None:
        self.budget = budget
        """Attacks that cost more are not looked for; None: no attack is known yet, and any would do."""
        self.best: Whole | None = None
        self.unproved: list[int] = []
        """What an attack would cost at least where the time ran out."""

    def run(self, space: VectorSpace) -> None:
        """Go through all vectors of the space."""
        waiting = [space]
        while waiting:
            space = waiting.pop()
            space = space.merged() if self.budget is None else space.shrunk(self.budget)
            if not space.pivots:
                continue
            row, cost = space.cheapest()
            if self.budget is None or cost <= self.budget:
                self._found(space, row, cost)
                waiting.append(space)
            elif len(space.pivots) > 1:
                parts = list(space.parts())
                waiting += parts if len(parts) > 1 else self._without_dearest(space, self.budget)

    def _without_dearest(self, space: VectorSpace, budget: int) -> list[VectorSpace]:
        """The dearest column takes part (by symmetry with at least +1), which is searched, or else it is zero."""
        dearest = int(np.argmax(space.cost))
        found, bound = Branching(space.basis, space.pivots, space.cost, budget, space.deadline).search(dearest)
        if found is not None:
            self._found(space, found, int(np.abs(found) @ space.cost))
            return [space]
        if bound is not None:
            self.unproved.append(bound)
        rest = np.delete(np.arange(space.cost.size), dearest)
        return [space.only(rest, zero=np.array([dearest]))]

    def _found(self, space: VectorSpace, vector: Whole, cost: int) -> None:
        if cost > MOST:
            self.unproved.append(MOST)
        else:
            self.best = space.spread(vector)
        self.budget = min(cost, MOST) - 2


def _examine(presence: Ints, people: Ints, values: Ints, below: int | None) -> None:
    problems = []
    shaped = presence.ndim == values.ndim == 2 and people.ndim == 1
    if not shaped or presence.shape != (values.shape[0], people.size):
        problems.append(
            "Presences, people and values must fit: groups by trajectories, trajectories, groups by values."
        )
    else:
        if not np.isin(presence, (0, 1)).all():
            problems.append("Presences must be 0 or 1.")
        if (people < 1).any() or (values < 0).any():
            problems.append("Every trajectory must have people, and no value may be published less than 0 times.")
        uneven = int(np.count_nonzero(presence @ people != values.sum(axis=1)))
        if uneven:
            problems.append(f"{uneven} of {presence.shape[0]} groups have a different number of values than of people.")
    if below is not None and below < 1:
        problems.append(f"The 'below' parameter must be a whole number of at least 1. Got {below} instead.")
    if problems:
        raise ParameterError("These are not the groups of a published series.", problems=problems)


def verified(presence: Ints, people: Ints, values: Ints, sides: Whole) -> Attack:
    """The attack with its weights, checked in integers."""
    both = np.hstack([values, presence])
    wanted = np.concatenate([np.zeros(values.shape[1], dtype=np.int64), sides.astype(np.int64)])
    # Columns that depend on others add nothing to the system for the weights.
    _, independent = echelon(both)
    solved, chosen = echelon(np.column_stack([both[:, independent].T, wanted[independent]]))
    weights = [Fraction(0)] * presence.shape[0]
    for row, group in zip(solved, chosen, strict=True):
        if group == len(weights):
            raise InternalError("an equivalence attack was found outside the span of the groups")
        weights[group] = Fraction(int(row[-1]), int(row[group]))
    total = int(np.abs(sides).astype(object) @ people.astype(object))
    if total == 0 or total % 2 or (np.array(weights, dtype=object) @ both != wanted).any():
        raise InternalError("an equivalence attack does not follow from its weights")
    return Attack(total // 2, tuple(weights), sides.astype(np.int64))
