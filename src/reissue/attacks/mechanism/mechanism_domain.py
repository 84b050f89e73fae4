"""The values that somebody may have: those published and those named beside them, with their prior weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm

import numpy as np

from reissue.attacks.mechanism.mechanism_runs import cell_of
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published
from reissue.model.schema import Schema


@dataclass(frozen=True, repr=False)
class Domain:
    """Values by number, those published first."""

    weights: dict[Hashable, int]
    """The weight of each value, by how it stands in a table; the order gives the numbers."""
    values: tuple[object, ...]
    """The values as the view, or whoever named them, has them."""
    number_of: dict[int, int]
    """The number of each value of the releases, by its position in the view."""
    schema: Schema

    @property
    def possible(self) -> tuple[int, ...]:
        """The numbers of values that somebody may have: those with a weight."""
        return tuple(number for number, weight in enumerate(self.weights.values()) if weight)

    @property
    def protected(self) -> tuple[tuple[int, ...], ...]:
        """The protected sets of the schema, as far as their values may occur; where there are none, every value."""
        number = {cell: at for at, cell in enumerate(self.weights)}
        sets = (tuple(number[label] for label in labels if label in number) for labels in self.schema.protect)
        return tuple(one for one in sets if one) if self.schema.protect else self.single

    @property
    def single(self) -> tuple[tuple[int, ...], ...]:
        """Every value alone."""
        return tuple((number,) for number in range(len(self.values)))

    def number(self, value: object) -> int:
        """The number of a value."""
        cells = list(self.weights)
        cell = cell_of(value, self.schema)
        if cell not in cells:
            raise ParameterError(
                "Nobody was taken to have such a value.", hint="spell values as they are published, or name them."
            )
        return cells.index(cell)

    @classmethod
    def of(
        cls,
        published: Published,
        schema: Schema,
        further: Sequence[object],
        prior: object,
    ) -> Domain:
        """The domain for a series."""
        positions = np.unique(np.concatenate([release.values for release in published.releases])).tolist()
        named = [*(published.values[position] for position in positions), *further]
        weights = weights_of(prior)
        if weights is not None:
            named += weights
        values: dict[Hashable, object] = {}
        for value in named:
            values.setdefault(cell_of(value, schema), value)
        number = {cell: at for at, cell in enumerate(values)}
        weight = dict.fromkeys(values, 1)
        if weights is not None:
            told = {cell_of(value, schema): weight for value, weight in weights.items()}
            lacking = len(values.keys() - told.keys())
            if lacking:
                raise ParameterError(
                    f"The 'prior' parameter of Mechanism lacks {count_of(lacking, 'value')} that may occur.",
                    hint="give every value a weight, 0 where it is certain that nobody has it.",
                )
            weight = {cell: told[cell] for cell in values}
        return cls(
            weight,
            tuple(values.values()),
            {position: number[cell_of(published.values[position], schema)] for position in positions},
            schema,
        )


def weights_of(prior: object) -> dict[object, int] | None:
    """Prior weights as whole numbers in the same proportions; None where it is no mapping to such weights."""
    if not isinstance(prior, Mapping) or not prior:
        return None
    shares: dict[object, Fraction] = {}
    for value, weight in prior.items():
        share = share_of(weight)
        if share is None:
            return None
        shares[value] = share
    if not any(shares.values()):
        return None
    unit = lcm(*(share.denominator for share in shares.values()))
    return {value: int(share * unit) for value, share in shares.items()}


def share_of(weight: object) -> Fraction | None:
    """A number of at least 0 as it is meant; None where it is none."""
    if not isinstance(weight, int | float | Fraction) or isinstance(weight, bool):
        return None
    if not isfinite(weight) or weight < 0:
        return None
    # 0.1 is meant to be one in ten.
    return Fraction(str(weight)) if isinstance(weight, float) else Fraction(weight)
