"""Groups with too many ways to count: values are dealt out at random, and the deals looked at.

A deal hands the values of a group to its rows, all ways equally likely. Of the deals in which some class violates,
the mean counts of a class are what is wanted; of the others, what would hold if none did. How many rows of a class
have a value before any argument is known exactly, n c / N, and the mean over both sorts of deals comes to that. So
only the rarer sort needs to be looked at for how far off the means are, which makes the estimate of the frequent
sort the better the more frequent it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.budget import passed
from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Floats
from reissue.reasoning.minimality.minimality_counts import Group, Ruler

DRAWS, FEWEST = 4_000, 400
"""So many deals are made of a group at most, and of a very large one at least."""
ENOUGH = 100
"""With fewer deals in which some class violates, nothing is said."""
BATCH, CELLS = 2_000_000, 40_000_000
"""So many cells are dealt at once, and in all."""
CELL = 0.03
"""How many steps a cell takes."""


@dataclass(frozen=True, repr=False)
class SampledClasses:
    """Estimates of the figures of a group; see `minimality_counts.CountedClasses`."""

    draws: int
    probability: float
    probability_error: float
    some: Floats
    some_error: Floats
    none: Floats
    none_error: Floats


def sample(
    group: Group, ruler: Ruler, rng: np.random.Generator, deadline: float | None, draws: int = DRAWS
) -> SampledClasses | None:
    """Deal the values of a group out to its rows; None where too few deals let a class violate, or time ran out."""
    rows, values = group.rows, len(group.counts)
    sizes = np.repeat([one.rows for one in group.classes], group.often)
    kind = owners(group.often)
    held = owners(group.counts)
    owner = owners(sizes)
    share = np.array(group.counts) / rows
    expected = np.array([one.rows for one in group.classes])[:, None] * share
    sums = _Sums(len(group.classes), values)
    cells = max(rows, sizes.size * values)
    draws = max(min(draws, CELLS // cells), FEWEST)
    batch = max(1, min(draws, BATCH // cells))
    made = 0
    while made < draws:
        now = min(batch, draws - made)
        if passed(deadline, 20 + now * cells * CELL):
            return None
        dealt = rng.permuted(np.broadcast_to(held, (now, rows)), axis=1)
        cell = (np.arange(now)[:, None] * sizes.size + owner) * values + dealt
        counts = np.bincount(cell.reshape(-1), minlength=now * sizes.size * values)
        counts = counts.reshape(now, sizes.size, values)
        violated = np.zeros(now, dtype=bool)
        mean = np.empty((now, len(group.classes), values))
        for at, one in enumerate(group.classes):
            of_kind = counts[:, kind == at]
            mean[:, at] = of_kind.mean(axis=1)
            if not one.harmless:
                bad = ruler.is_bad(of_kind.reshape(-1, values), one)
                violated |= bad.reshape(now, -1).any(axis=1)
        sums.add(mean - expected, violated)
        made += now
    if sums.violated < ENOUGH:
        return None
    probability = sums.violated / made
    some, some_error = sums.means(made, violated=True)
    none, none_error = sums.means(made, violated=False)
    error = float(np.sqrt(max(probability * (1 - probability), 1 / made) / made))
    return SampledClasses(made, probability, error, expected + some, some_error, expected + none, none_error)


class _Sums:
    """How far counts are off what is expected, added up over the deals of both sorts."""

    def __init__(self, classes: int, values: int) -> None:
        self.violated = 0
        self._sum = np.zeros((2, classes, values))
        self._squares = np.zeros((2, classes, values))
        self._largest = np.zeros((classes, values))

    def add(self, off: Floats, violated: Bools) -> None:
        """Take in some deals."""
        self.violated += int(np.count_nonzero(violated))
        for sort, which in enumerate((~violated, violated)):
            self._sum[sort] += off[which].sum(axis=0)
            self._squares[sort] += (off[which] ** 2).sum(axis=0)
        np.maximum(self._largest, np.abs(off).max(axis=0), out=self._largest)

    def means(self, made: int, *, violated: bool) -> tuple[Floats, Floats]:
        """How far the means of one sort are off, and the standard error of that.

        The sum over all deals is zero but for chance, so that of either sort estimates both. One more deal, as far off
        as any, is counted in the error: that a sort did not turn up does not prove that it is impossible.
        """
        often = self.violated if violated else made - self.violated
        if not often:
            return np.zeros_like(self._largest), self._largest
        rarer = int(2 * self.violated <= made)
        sign = 1 if rarer == int(violated) else -1
        mean = sign * self._sum[rarer] / often
        spread = self._squares[rarer] - 2 * sign * mean * self._sum[rarer] * (rarer == int(violated))
        spread += mean**2 * (often if rarer == int(violated) else 0)
        return mean, np.sqrt(np.maximum(spread, 0.0) + self._largest**2) / often
