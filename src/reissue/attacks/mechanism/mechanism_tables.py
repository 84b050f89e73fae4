"""Every table, or history of tables, that there may be, and those that releases came from, each with its weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress, product
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import InternalError

Tables = Ints
"""A row for each table, a column for each person: numbers of values in the domain. Where values change, a row for each
history and a column for each slot."""


@dataclass(frozen=True, repr=False)
class Slots:
    """The values that a history consists of: one for each person, or for each release that they are in."""

    person: tuple[int, ...]
    """For each slot the person, by their place among everybody."""
    release: tuple[int | None, ...]
    """And the release, counted from 0; None: all of them, because values do not change."""
    of_release: tuple[Ints, ...]
    """For each release the slots of those who are in its table, in its order."""

    @classmethod
    def of(cls, there: Sequence[Ints], *, changing: bool) -> Slots:
        """The slots of a series with these people in its tables; they come in the order of releases."""
        if not changing:
            count = int(max(people.max(initial=-1) for people in there)) + 1
            return cls(tuple(range(count)), (None,) * count, tuple(there))
        person = tuple(int(one) for people in there for one in people)
        release = tuple(number for number, people in enumerate(there) for _ in people)
        ends = np.cumsum([people.size for people in there])
        return cls(person, release, tuple(np.split(np.arange(len(person)), ends[:-1])))

    @cached_property
    def before(self) -> dict[int, int]:
        """For slots that are not their person's first, the one before."""
        last: dict[int, int] = {}
        found: dict[int, int] = {}
        for slot, person in enumerate(self.person):
            if person in last:
                found[slot] = last[person]
            last[person] = slot
        return found

    @cached_property
    def following(self) -> dict[int, tuple[int, int]]:
        """For the same slots the release of the one before, and their own."""
        return {slot: (self.release[before] or 0, self.release[slot] or 0) for slot, before in self.before.items()}


@dataclass(frozen=True, repr=False)
class Histories:
    """The ways to give people values in every release they are in."""

    slots: Slots
    fixed: Sequence[int | None]
    """For each slot the number of the value that is known; None where none is."""
    first: Bools
    """Which values of the domain somebody may have at first."""
    becomes: Mapping[int, Bools]
    """For each slot that is not its person's first, and each value before it, which values it may become."""
    rooms: Sequence[Sequence[int]] | None
    """For each release how often each value may occur in its table at most; None: as often as one likes."""

    def count(self) -> int:
        """How many ways there are; where there are rooms, how many there are at most."""
        most = 1
        for chain in self._chains():
            ways = self._allowed(chain[0]).astype(np.int64).astype(object)  # numbers of any size
            for slot in chain[1:]:
                ways = (ways @ self._steps(slot).astype(np.int64).astype(object)) * self._allowed(slot)
            most *= int(ways.sum())
        return most

    def _chains(self) -> list[list[int]]:
        chains: dict[int, list[int]] = {}
        for slot, person in enumerate(self.slots.person):
            chains.setdefault(person, []).append(slot)
        return list(chains.values())

    def _allowed(self, slot: int) -> Bools:
        """The values that a slot may have, whatever was before."""
        allowed = np.ones(self.first.size, dtype=np.bool_) if slot in self.slots.before else self.first.copy()
        value = self.fixed[slot]
        if value is not None:
            allowed = np.arange(allowed.size) == value
        return allowed

    def _steps(self, slot: int) -> Bools:
        """Which value may follow which; whatever is known is possible."""
        return self.becomes[slot] if self.fixed[slot] is None else np.ones_like(self.becomes[slot])

    def tables(self, limit: int) -> Tables | None:
        """All of them, in the order of numbers, slot after slot; None where they become more than the limit."""
        rows = np.zeros((1, 0), dtype=np.int64)
        left = None if self.rooms is None else np.array([self.rooms], dtype=np.int64)
        inside = [set(slots.tolist()) for slots in self.slots.of_release]
        for slot in range(len(self.slots.person)):
            may = np.tile(self._allowed(slot), (len(rows), 1))
            if slot in self.slots.before:
                may &= self._steps(slot)[rows[:, self.slots.before[slot]]]
            here = [number for number, slots in enumerate(inside) if slot in slots]
            if left is not None:
                may &= (left[:, here] > 0).all(axis=1)
            which, value = np.nonzero(may)
            if which.size > limit:
                return None
            rows = np.column_stack([rows[which], value])
            if left is not None:
                left = left[which]
                left[np.arange(which.size)[:, None], np.array(here)[None, :], value[:, None]] -= 1
        return rows


@dataclass(frozen=True)
class Possible:
    """The ways to give people values of a domain."""

    fixed: Sequence[int | None]
    """For each person the number of the value that is known; None where none is."""
    values: Sequence[int]
    """The numbers of the values that the others may have."""
    room: Sequence[int] | None
    """How often each value of the domain may occur at most; None: as often as one likes."""

    @property
    def free(self) -> int:
        """How many people have no known value."""
        return sum(value is None for value in self.fixed)

    def _left(self) -> dict[int, int] | None:
        """The room that people with a known value leave to the others; below 0 where there is a contradiction."""
        if self.room is None:
            return None
        left = [most - sum(value == number for value in self.fixed) for number, most in enumerate(self.room)]
        return {number: most for number, most in enumerate(left) if number in self.values or most < 0}

    def count(self) -> int:
        """How many ways there are."""
        left = self._left()
        if left is None:
            return int(len(self.values) ** self.free)
        if min(left.values(), default=0) < 0:
            return 0
        # ways[k]: to give k of the people, whoever they are, values looked at so far.
        ways = [1, *[0] * self.free]
        for most in left.values():
            ways = [
                sum(comb(given, new) * ways[given - new] for new in range(min(most, given) + 1))
                for given in range(self.free + 1)
            ]
        return ways[-1]

    def tables(self) -> Tables:
        """All of them, in the order of numbers."""
        rows = [*self._rows()]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(self.fixed))

    def _rows(self) -> Iterator[tuple[int, ...]]:
        left = self._left()
        if left is None:
            yield from product(*(self.values if value is None else (value,) for value in self.fixed))
            return
        if min(left.values(), default=0) < 0:
            return
        table = [0 if value is None else value for value in self.fixed]
        places = [person for person, value in enumerate(self.fixed) if value is None]

        def fill(depth: int) -> Iterator[tuple[int, ...]]:
            if depth == len(places):
                yield tuple(table)
                return
            for value in left:
                if left[value]:
                    left[value] -= 1
                    table[places[depth]] = value
                    yield from fill(depth + 1)
                    left[value] += 1

        yield from fill(0)


class Chance(NamedTuple):
    """How likely something is, and the standard error where that is an estimate."""

    probability: Fraction | float
    error: float | None = None


class Weighed:
    """The tables that a release came from in some run, and how much each weighs."""

    def __init__(self, tables: Tables, hits: Bools | None, weights: list[int], everything: int) -> None:
        self.tables = tables
        self.hits = hits
        """For each table with which seeds it led to the release; None: whatever the seed."""
        self._weight = weights
        self._everything = everything
        """The weight of all tables there may be."""

    @property
    def exact(self) -> bool:
        """Whether nothing is an estimate."""
        return self.hits is None

    @property
    def possible(self) -> bool:
        """Whether any of them has a weight."""
        return any(self._weight)

    def chance(self, event: Bools) -> Chance:
        """How likely it is that the table is one of these, given the release."""
        if self.hits is None:
            return Chance(Fraction(sum(compress(self._weight, event.tolist())), sum(self._weight)))
        # Seeds are the same for all tables, so that each seed is one draw of both sums: a ratio estimate.
        inside, every = self._per_seed(event), self._total_per_seed
        share = float(inside.sum() / every.sum())
        spread = float(np.square(inside - share * every).sum()) * every.size / max(every.size - 1, 1)
        # With few runs that led there, or none to the contrary, the spread says too little.
        least = 1 / (int(np.count_nonzero(every)) + 2)
        return Chance(share, max(spread**0.5 / float(every.sum()), least))

    def evidence(self) -> Fraction | float:
        """How likely this release is before it is seen, over all tables there may be."""
        if self.hits is None:
            return Fraction(sum(self._weight), self._everything)
        return float(self._total_per_seed.mean())

    def _per_seed(self, event: Bools) -> Floats:
        """The prior probability of those of the tables that led to the release, for each seed."""
        if self.hits is None:
            raise InternalError("what does not depend on the seed was asked for by seed")
        found: npt.NDArray[np.float64] = self._prior[event] @ self.hits[event]
        return found

    @cached_property
    def _prior(self) -> Floats:
        return np.array([float(Fraction(weight, self._everything)) for weight in self._weight])

    @cached_property
    def _total_per_seed(self) -> Floats:
        return self._per_seed(np.ones(len(self.tables), dtype=np.bool_))
