"""What a release tells of whoever is in it, class by class, where nobody is known by name.

Somebody whose quasi-identifiers are known is in a class whose region holds them. Where no other class of the release
meets that region, their row is one of the class: they have a value with the share that it has there. Where others do,
their row is one of those too. With every row that may be theirs as likely as any other, a value v that n_v of n rows
of the class have is theirs with a probability of at least

    n_v / (n + rows of the classes that meet it and show another value),

whichever of these classes hold the very point where they are: a class that does not lowers nothing, and rows of v
elsewhere only add to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from reissue.arrays.runs import starts_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.model.published import PublishedGroups
from reissue.model.records import ValueColumn
from reissue.model.regions import Pairs


@dataclass(frozen=True, repr=False)
class ClassShares:
    """The classes of one release, with the most frequent value of each."""

    number: int
    """The number of the release."""
    rows: Ints
    """How many rows each class has."""
    value: Ints
    """Its most frequent value, by position; of several the first. -1 for a class without rows."""
    often: Ints
    """How many of its rows have that value."""
    beside: Ints
    """How many rows of other classes may be meant, and show another value."""
    alone: Bools
    """Which classes no other class meets: whoever fits them is in them."""
    rarity: Floats
    """The share of that value among all rows of the release: the smaller, the more it tells to have it."""
    nothing: Bools
    """Where that value says that nothing is known, as `Unknown` does."""

    def __repr__(self) -> str:
        return f"ClassShares(release {self.number}: {self.rows.size:,} classes)"

    def above(self, limit: Fraction) -> Bools:
        """The classes in which a value is proven to be likelier than a limit, for whoever is in them."""
        likely = self.often * limit.denominator > (self.rows + self.beside) * limit.numerator
        return np.asarray(likely & (self.rows > 0))

    def doubtful(self, limit: Fraction) -> Bools:
        """The classes of which that is not known, because others meet them."""
        return np.asarray(~self.alone & ~self.above(limit) & (self.rows > 0))

    @cached_property
    def single(self) -> Bools:
        """The classes with one value only, and no other value in those that meet them: whoever fits them has it."""
        return np.asarray((self.often == self.rows) & (self.beside == 0) & (self.rows > 0))

    @property
    def unique(self) -> Bools:
        """The classes of one row."""
        return np.asarray(self.rows == 1)

    @cached_property
    def probability(self) -> Floats:
        """How likely the most frequent value is at least, for whoever is in each class."""
        return np.asarray(self.often / np.maximum(self.rows + self.beside, 1))

    @cached_property
    def told(self) -> Floats:
        """How much is learnt, in bits: how much likelier the value is there than in the whole release."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.log2(self.probability / self.rarity)
        return np.where(self.nothing, 0.0, np.nan_to_num(bits, nan=0.0, neginf=0.0, posinf=0.0))


def class_shares(release: PublishedGroups, meeting: Pairs | None, nothing: Bools) -> ClassShares:
    """Count a release. `meeting` are its classes that meet each other; None: it is not known which do. `nothing` says
    of every value whether it says that nothing is known."""
    rows = release.rows
    group, counts, values = release.value_groups, release.counts, release.values
    order = np.lexsort((values, -counts, group))
    starts = starts_of(np.diff(release.value_starts))
    used = np.flatnonzero(np.diff(starts))
    value, often = np.full(rows.size, -1, dtype=np.int64), np.zeros(rows.size, dtype=np.int64)
    value[used], often[used] = values[order[starts[used]]], counts[order[starts[used]]]
    width = max(nothing.size, 1)
    shown = np.bincount(values, counts, minlength=width)
    rarity = np.where(value >= 0, shown[np.maximum(value, 0)] / max(int(counts.sum()), 1), 1.0)
    empty = np.append(nothing, False)[value]
    if meeting is None:
        beside = np.full(rows.size, int(rows.sum()), dtype=np.int64) - rows
        return ClassShares(
            release.number, rows, value, often, beside, np.zeros(rows.size, dtype=np.bool_), rarity, empty
        )
    first, second = meeting
    other = (first != second) & (rows[second] > 0) & (rows[first] > 0)
    first, second = first[other], second[other]
    # How often the value of the first class is shown in the second. Keys are in order, with one more behind them.
    keys = np.append(np.sort(group * width + values), -1)
    amounts = np.append(counts[np.lexsort((values, group))], 0)
    wanted = second * width + value[first]
    at = np.minimum(np.searchsorted(keys[:-1], wanted), keys.size - 1)
    same = np.where(keys[at] == wanted, amounts[at], 0)
    beside = np.bincount(first, rows[second] - same, minlength=rows.size).astype(np.int64)
    alone = np.bincount(first, minlength=rows.size) == 0
    return ClassShares(release.number, rows, value, often, beside, alone, rarity, empty)


def of_column(release: PublishedGroups, column: ValueColumn) -> PublishedGroups:
    """A release with the values of one of several sensitive columns."""
    width = max(len(column.values), 1)
    keys, place = np.unique(release.value_groups * width + column.of[release.values], return_inverse=True)
    counts = np.bincount(place, release.counts, minlength=keys.size).astype(np.int64)
    starts = np.searchsorted(keys // width, np.arange(release.group_count + 1)).astype(np.int64)
    return replace(release, values=keys % width, counts=counts, value_starts=starts)
