"""Whether values changed as declared, for the publisher, who knows them.

Somebody who was published with the value v, and comes again, has another value now with a chance that follows from the
declared change, whatever anybody else has. So how many do is a sum of independent coins with known chances, and bounds
that hold for any number of them (`tail_bounds`) say whether it fits: what fits is called wrong in at most one release
of 1 / `ERROR`. What differs by less than `TOLD` times is nothing to act on, and is not told.

    a rate     one count of all people, and the rates that it fits
    a table    for each value that people had: how many lost it, and where they went; all of these together are called
               wrong with a chance of `ERROR` at most
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.reasoning.alternatives.renewing import gaps
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise, surprise_of_cells, surprise_of_fit

ERROR = 1e-3
"""With this probability at most something is said of one release although everything is as declared."""
TOLD = 1.05
"""What fits has to be so many times off at least."""
HALVINGS = 40
"""So often an interval is halved to find a rate: to twelve digits."""


@dataclass(frozen=True, repr=False)
class Comers:
    """People who were published before and come again: how many had which value, and when."""

    last: Ints
    """The releases that they were last in, counted from 0."""
    had: Ints
    """(last, values): how many of them had each value then; none that is permanent."""
    versions: Ints
    """For each release the version in force."""
    shares: Floats
    """(versions, values)"""
    permanent: Bools | None

    def __repr__(self) -> str:
        return f"Comers({int(self.had.sum()):,} people)"

    def changed(self, rate: float) -> float:
        """How many are expected to have another value in the last release there is, if values are redrawn so often."""
        now = self.versions.size - 1
        passed = gaps(np.full(self.versions.size, rate), self.versions, self.shares, self.last, now, self.permanent)
        stayed = passed.kept[:, None] + passed.moving @ self.shares
        return float((self.had * (1 - stayed)).sum())


@dataclass(frozen=True)
class ChangeFit:
    """A declared rate, and what fits the values."""

    declared: float
    estimate: float
    low: float
    high: float
    """An interval for the true rate."""
    people: int
    """How many could change."""
    changed: int
    """How many did."""
    expected: float
    """How many the declared rate expects."""

    @property
    def over(self) -> bool:
        """Whether more was declared than there is: the dangerous direction."""
        return self.declared > TOLD * self.high

    @property
    def under(self) -> bool:
        """Whether less was declared."""
        return self.low > TOLD * self.declared


def fit_of_rate(declared: float, comers: Sequence[Comers], changed: int) -> ChangeFit | None:
    """What rates fit, if so many changed; None where nobody could."""
    people = sum(int(one.had.sum()) for one in comers)
    if not people:
        return None

    def expected(rate: float) -> float:
        return sum(one.changed(rate) for one in comers)

    def fits(rate: float) -> bool:
        return float(surprise(changed, people, expected(rate))) <= allowed(ERROR, 1)

    estimate = _edge(0.0, 1.0, lambda rate: expected(rate) <= changed)
    low = 0.0 if fits(0.0) else _edge(0.0, estimate, lambda rate: not fits(rate))
    high = 1.0 if fits(1.0) else _edge(estimate, 1.0, fits)
    return ChangeFit(declared, estimate, low, high, people, changed, expected(declared))


def _edge(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Where something ends that holds up to some point between two."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class TableFit:
    """How the values that people had fit a table of change."""

    values: int
    """How many values people had."""
    slower: int
    """How many of them are lost less often than the table says: the dangerous direction."""
    faster: int
    """How many are lost more often."""
    elsewhere: int
    """How many others turn into other values than it says."""


def fit_of_table(before: Ints, now: Ints, steps: Ints, tables: Floats) -> TableFit:
    """What people had, what they have so many steps later, and the chances after 0, 1, ... steps."""
    had = np.unique(before).tolist()
    most = allowed(ERROR, 2 * len(had))
    found = {"slower": 0, "faster": 0, "elsewhere": 0}
    order = np.argsort(before, kind="stable")
    ends = np.searchsorted(before[order], had, side="right")
    for value, mine in zip(had, np.split(order, ends[:-1]), strict=True):
        divergence, freedom, expected = 0.0, 0, 0.0
        for passed in np.unique(steps[mine]).tolist():
            seen = np.bincount(now[mine[steps[mine] == passed]], minlength=tables.shape[1])
            chances = tables[passed, value]
            one, cells = surprise_of_cells(seen, chances)
            divergence, freedom = divergence + one, freedom + cells
            expected += float(seen.sum() * (1 - chances[value]))
        lost = int((now[mine] != value).sum())
        if surprise(lost, mine.size, expected) > most and max(lost, expected) > TOLD * min(lost, expected):
            found["slower" if lost < expected else "faster"] += 1
        elif surprise_of_fit(divergence, freedom) > most:
            found["elsewhere"] += 1
    return TableFit(len(had), **found)
