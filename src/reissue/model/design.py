"""Design: with what probability each set of values is shown. Public: a release of sets says nothing without it.

A set has m slots. A value v with reference share p(v) takes `slots` of them when it is in a set, and is in one with
probability m p(v) / slots(v). Somebody with the value v is shown the set S with P(S | v) = P(S) slots(v) / (m p(v)), so
that whoever expects v with probability p(v) and sees S expects it with probability slots(v) / m: the same for all S.

P(S) has two parts. Frequent values come first: some combination of those in `large`, with the probability in
`weights`. The slots it leaves, r, are filled with different values of all others, one slot each, by Sampford's design
(1967) of size r with inclusion probabilities r p(u) / (p of all others together):

    P(the others in S) is proportional to  (product of pi(u) / (1 - pi(u)))  (sum of 1 - pi(u)),  over u in S.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError
from reissue.model.parameters import Validation

ROUNDING = 1e-9
"""So near must sums of probabilities be to what they are the sum of. What `design_of` makes is nearer by far."""

MOST_LARGE = 60
"""A combination of large values is a number with a bit for each."""


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """With what probability each set of m values is shown. Values are numbered from 0."""

    m: int
    """How many slots a set has."""
    shares: Floats
    """The reference shares, above 0 and 1 together."""
    slots: Ints
    """How many slots each value takes in a set that it is in."""
    large: Ints
    """The values that are drawn first, ascending: all with several slots, and others where those leave them no room."""
    joint: Bools
    """The combinations of large values that can occur, a row each and a column for each large value."""
    weights: Floats
    """The probability of each combination."""

    def __post_init__(self) -> None:
        check = Validation(self)
        check.whole("m", least=2)
        kinds: dict[str, Any] = {
            "shares": np.float64,
            "slots": np.int64,
            "large": np.int64,
            "joint": np.bool_,
            "weights": np.float64,
        }
        for name, kind in kinds.items():
            given = np.asarray(getattr(self, name))
            if given.size and not np.can_cast(given.dtype, kind):
                check.wrong(name, f"an array of {kind.__name__}", f"one of {given.dtype.name}")
                continue
            array = given.astype(kind)  # a copy, so that nobody can change it
            array.setflags(write=False)
            check.replace(name, array)
        check.finish()
        self._check_values(check)
        check.finish()
        self._check_combinations(check)
        check.finish()

    def _check_values(self, check: Validation) -> None:
        shares, slots, large = self.shares, self.slots, self.large
        sound = shares.ndim == 1 and shares.size and np.isfinite(shares).all() and (shares > 0).all()
        if not sound or abs(shares.sum() - 1) > ROUNDING:
            check.wrong("shares", "a list of numbers above 0 whose sum is 1", "another list")
        if slots.shape != shares.shape or (slots < 1).any() or (slots > self.m).any():
            check.wrong("slots", f"a whole number from 1 to {self.m} for each value", "another list")
        elif large.ndim != 1 or (np.diff(large) <= 0).any() or (large < 0).any() or (large >= shares.size).any():
            check.wrong("large", "a list of values, ascending", "another list")
        elif large.size > MOST_LARGE:
            check.wrong("large", f"a list of at most {MOST_LARGE} values", f"one of {large.size}")
        elif (slots[self.small] > 1).any():
            check.wrong("large", "a list with all values that take several slots", "a list without some of them")

    def _check_combinations(self, check: Validation) -> None:
        count = self.weights.size
        if self.weights.ndim != 1 or not (self.weights > 0).all() or abs(self.weights.sum() - 1) > ROUNDING:
            check.wrong("weights", "a list of numbers above 0 whose sum is 1", "another list")
        elif self.joint.shape != (count, self.large.size) or len(np.unique(self.joint, axis=0)) < count:
            check.wrong("joint", "a list of different combinations of large values, one for each weight", "another")
        elif (np.abs(self.weights @ self.joint - self.inclusion[self.large]) > ROUNDING).any():
            check.wrong(
                "weights", "such that each large value is in a set with probability m p / slots", "other numbers"
            )
        elif (self.remaining < 0).any():
            check.wrong("joint", f"a list of combinations that take at most {self.m} slots", "one that takes more")
        elif (np.max(self.remaining) * self.shares[self.small] > self.rest * (1 + ROUNDING)).any() or (
            not self.small.size and self.remaining.any()
        ):
            check.wrong("joint", "such that the other values can fill what slots are left", "a list that leaves more")

    @property
    def values(self) -> int:
        """How many values there are."""
        return self.shares.size

    @property
    def inclusion(self) -> Floats:
        """For each value the probability that it is in a set."""
        return self.m * self.shares / self.slots

    @property
    def limit(self) -> Floats:
        """For each value the posterior of whoever sees it in a set and expected it by its reference share."""
        return self.slots / self.m

    @cached_property
    def small(self) -> Ints:
        """The values that are not large, ascending: one slot each."""
        others = np.ones(self.values, dtype=np.bool_)
        others[self.large] = False
        return np.flatnonzero(others)

    @cached_property
    def rest(self) -> float:
        """The shares of all small values together."""
        return float(self.shares[self.small].sum())

    @property
    def remaining(self) -> Ints:
        """For each combination how many slots it leaves to small values."""
        return self.m - self.joint @ self.slots[self.large]

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for a file; combinations as lists of their values."""
        return {
            "m": self.m,
            "shares": self.shares.tolist(),
            "slots": self.slots.tolist(),
            "large": self.large.tolist(),
            "joint": [self.large[row].tolist() for row in self.joint],
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Design:
        """The design that `to_dict` wrote, to the last bit."""
        names = ("m", "shares", "slots", "large", "joint", "weights")
        try:
            m, shares, slots, large, joint, weights = (written[name] for name in names)
            rows = [np.isin(large, row) for row in joint]
            combinations = np.array(rows, dtype=np.bool_).reshape(len(rows), len(large))
            if any(int(row.sum()) != len(values) for row, values in zip(rows, joint, strict=True)):
                raise ValueError
            return cls(m, shares, slots, large, combinations, weights)
        except (KeyError, TypeError, ValueError) as wrong:
            if isinstance(wrong, ParameterError):
                raise
            raise ParameterError(
                f"A design must have {', '.join(names)}: numbers and lists of numbers. Got something else instead.",
                hint="take the file as it was published.",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"Design({self.values:,} values, m={self.m}, {self.large.size} drawn first)"

    @cached_property
    def _content(self) -> tuple[object, ...]:
        arrays = (self.shares, self.slots, self.large, self.joint, self.weights)
        return (self.m, *(array.shape for array in arrays), *(array.tobytes() for array in arrays))
