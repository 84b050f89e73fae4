"""How values change from release to release, as somebody takes it to be who does not know: a Markov chain.

Either nothing changes, or between two releases everybody's value is drawn anew with some probability, the same for all
or one for each value, or there is a table of transitions. Whoever is missing from releases goes on changing meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm, prod
from typing import NamedTuple

from reissue.attacks.mechanism.mechanism_domain import Domain, share_of, weights_of
from reissue.attacks.mechanism.mechanism_runs import cell_of
from reissue.attacks.mechanism.mechanism_tables import Slots, Tables
from reissue.errors import ParameterError, count_of

Change = float | Fraction | Mapping[Hashable, float | Fraction] | Mapping[Hashable, Mapping[Hashable, object]]
"""The probability of a new draw, that for each value, or for each value the weights of those it may become."""

Matrix = tuple[tuple[Fraction, ...], ...]


def fits(change: object) -> bool:
    """Whether it says how values change."""
    if not isinstance(change, Mapping):
        rate = share_of(change)
        return rate is not None and rate <= 1
    tables = [isinstance(row, Mapping) for row in change.values()]
    if all(tables):
        return bool(tables) and all(weights_of(row) is not None for row in change.values())
    return not any(tables) and all(fits(rate) for rate in change.values())


def named(change: object) -> list[object]:
    """The values that it speaks of."""
    if not isinstance(change, Mapping):
        return []
    return [*change, *(value for row in change.values() if isinstance(row, Mapping) for value in row)]


class Step(NamedTuple):
    """What may become of each value until somebody is seen again, in whole numbers."""

    weights: tuple[tuple[int, ...], ...]
    unit: int
    """What the weights of each row add up to."""


@dataclass(frozen=True, repr=False)
class Lives:
    """How likely the values are that a person has in the releases they are in."""

    start: tuple[int, ...]
    """The weight of each value in the first of them."""
    slots: Slots
    steps: Mapping[int, Step]
    """By how many releases further on."""

    @classmethod
    def of(cls, domain: Domain, slots: Slots, change: object) -> Lives:
        """Of everybody in a series."""
        start = tuple(domain.weights.values())
        gaps = {after - before for before, after in slots.following.values()}
        if not gaps:
            return cls(start, slots, {})
        once = _transitions(domain, change)
        power, steps = once, {}
        for gap in range(1, max(gaps) + 1):
            power = once if gap == 1 else _product(power, once)
            steps[gap] = _whole(power)
        return cls(start, slots, steps)

    def step(self, slot: int) -> tuple[int, Step] | None:
        """The slot of the person before, and what becomes of a value until this one; None where it is the first."""
        if slot not in self.slots.before:
            return None
        before, after = self.slots.following[slot]
        return self.slots.before[slot], self.steps[after - before]

    def weights(self, tables: Tables, unknown: Sequence[int]) -> tuple[list[int], int]:
        """The weight of each history, and what all there may be weigh; people whose values are known do not count."""
        chains = [[slot for slot, person in enumerate(self.slots.person) if person == one] for one in unknown]
        every = prod(sum(self.start) for _ in chains)
        every *= prod(found[1].unit for chain in chains for slot in chain if (found := self.step(slot)))

        def weight(table: list[int]) -> int:
            total = 1
            for chain in chains:
                total *= self.start[table[chain[0]]]
                for before, slot in pairwise(chain):
                    found = self.step(slot)
                    total *= found[1].weights[table[before]][table[slot]] if found else 1
            return total

        return [weight(table) for table in tables.tolist()], every


def _transitions(domain: Domain, change: object) -> Matrix:
    cells = list(domain.weights)
    total = sum(domain.weights.values())
    anew = [Fraction(weight, total) for weight in domain.weights.values()]
    if not isinstance(change, Mapping):
        change = dict.fromkeys(cells, change)
    told = {cell_of(value, domain.schema): row for value, row in change.items()}
    lacking = len(set(cells) - told.keys())
    if lacking:
        raise ParameterError(
            f"The 'change' parameter of Mechanism lacks {count_of(lacking, 'value')} that may occur.",
            hint="say of every value what becomes of it; a rate of 0 means that it stays.",
        )

    def row(number: int, cell: Hashable) -> tuple[Fraction, ...]:
        found = told[cell]
        if isinstance(found, Mapping):
            weights = weights_of(found) or {}
            of_cell = {cell_of(value, domain.schema): weight for value, weight in weights.items()}
            return tuple(Fraction(of_cell.get(other, 0), sum(of_cell.values())) for other in cells)
        rate = share_of(found) or Fraction(0)
        return tuple(rate * share + (1 - rate) * (at == number) for at, share in enumerate(anew))

    return tuple(row(number, cell) for number, cell in enumerate(cells))


def _product(one: Matrix, other: Matrix) -> Matrix:
    columns = list(zip(*other, strict=True))
    return tuple(
        tuple(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns) for row in one
    )


def _whole(matrix: Matrix) -> Step:
    unit = lcm(*(share.denominator for row in matrix for share in row))
    return Step(tuple(tuple(int(share * unit) for share in row) for row in matrix), unit)
