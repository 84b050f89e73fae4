"""Requirements: what every class had to satisfy, as something that can be asked of counts.

A publisher who generalises no more than needed had a requirement; an adversary who argues from that must be able to
say of any counts of values whether a class with these would have kept it. Every rule here agrees with the checker of
the guarantee that asks it, and shares with it only the tolerance for figures that are floating-point sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError, ParameterError
from reissue.model.published import Published, PublishedGroups
from reissue.model.records import ValueColumn
from reissue.model.rules import Close, ColumnShare, Distinct, Entropy, Recursive, Rows, Rule, Share, Spread
from reissue.reasoning.history.diversity import TOLERANCE

EXACT = 2**31
"""Up to here a whole number times a count of rows stays within 64 bits."""


class CountRule(Protocol):
    """One rule, as something that can be asked of counts."""

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Whether classes with these counts keep it, one class in a row."""


@dataclass(frozen=True)
class EnoughRows:
    """At least k rows."""

    k: int

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Whether there are enough rows."""
        return sizes >= self.k


@dataclass(frozen=True)
class SmallShare:
    """A set of values has at most a share of the rows, 1/l or alpha."""

    values: tuple[int, ...]
    l: float | None  # noqa: E741
    alpha: Fraction | None = None
    """Without either, any share as long as it is not all rows."""
    secret: bool = True
    """Whether the set is what is protected, and not one value of a column among records."""

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Compared exactly, except for an l that is not whole."""
        held = counts[:, list(self.values)].sum(axis=1)
        if self.alpha is None and self.l is None:
            return np.asarray(held < sizes)
        if self.alpha is not None:
            over, under = self.alpha.as_integer_ratio()
            if under > EXACT:
                limits = [over * size // under for size in sizes.tolist()]
                return np.asarray(held <= np.array(limits, dtype=np.int64))
            return np.asarray(held * under <= sizes * over)
        if isinstance(self.l, int) and self.l <= EXACT:
            return np.asarray(held * self.l <= sizes)
        assert self.l is not None
        return np.asarray(held * float(self.l) <= sizes * (1 + TOLERANCE))


@dataclass(frozen=True)
class EnoughValues:
    """At least l values."""

    l: int  # noqa: E741

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Whether there are enough of them."""
        return np.asarray(np.count_nonzero(counts, axis=1) >= self.l)


@dataclass(frozen=True)
class HighEntropy:
    """An entropy of at least log l."""

    l: float  # noqa: E741

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Whether it is high enough, with the tolerance of the checker."""
        held = counts.astype(np.float64)
        weighted = (held * np.log(np.maximum(held, 1.0))).sum(axis=1)
        size = np.maximum(sizes, 1)
        entropy = np.maximum(np.log(size) - weighted / size, 0.0)
        return np.asarray((entropy >= math.log(self.l) - TOLERANCE) & (sizes > 0))


@dataclass(frozen=True)
class LightHead:
    """The most frequent value less than c times as often as those from the l-th on."""

    c: float
    l: int  # noqa: E741

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Compared exactly for a whole c."""
        falling = -np.sort(-counts, axis=1)
        head, tail = falling[:, 0], falling[:, self.l - 1 :].sum(axis=1)
        if isinstance(self.c, int) and self.c <= EXACT:
            return np.asarray(head < self.c * tail)
        return np.asarray(head < float(self.c) * tail * (1 - TOLERANCE))


@dataclass(frozen=True)
class NearWhole:
    """A distance of at most t to a distribution."""

    t: float
    overall: tuple[int, ...]
    ordered: bool = False

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Whether they are near enough, with the tolerance of the checker. Nothing lies at no distance."""
        whole = np.array(self.overall, dtype=np.float64)
        occurs = whole > 0
        gap = counts / np.maximum(sizes, 1)[:, None] - whole / max(whole.sum(), 1.0)
        if self.ordered:
            steps = np.abs(np.cumsum(gap[:, occurs], axis=1)).sum(axis=1)
            distance = steps / max(int(np.count_nonzero(occurs)) - 1, 1)
        else:
            distance = np.maximum(gap, 0.0).sum(axis=1)
        return np.asarray((distance <= self.t + TOLERANCE) | (sizes == 0))


@dataclass(frozen=True)
class WideSpread:
    """At least k numbers, over a range of at least e."""

    k: int
    e: float
    magnitudes: tuple[float, ...]

    def kept(self, counts: Ints, sizes: Ints) -> Bools:
        """Whether there are enough, far enough apart. A missing number counts as one, without a place."""
        numbers = np.array(self.magnitudes)
        known = np.isfinite(numbers)
        held = counts[:, known] > 0
        top = np.where(held, numbers[known], -np.inf).max(axis=1, initial=-np.inf)
        low = np.where(held, numbers[known], np.inf).min(axis=1, initial=np.inf)
        extent = np.where(held.any(axis=1), top - np.where(held.any(axis=1), low, 0.0), 0.0)
        return np.asarray((np.count_nonzero(counts, axis=1) >= self.k) & (extent >= self.e * (1 - TOLERANCE)))


@dataclass(frozen=True)
class Requirement:
    """What every class had to satisfy: all of its rules."""

    rules: tuple[CountRule, ...]
    width: int
    """How many values there are."""

    def kept(self, counts: Ints) -> Bools:
        """Whether classes keep it; `counts` has a class in each row and a value in each column."""
        sizes = counts.sum(axis=1)
        kept = np.ones(counts.shape[0], dtype=bool)
        for rule in self.rules:
            kept &= rule.kept(counts, sizes)
        return kept

    @property
    def smallest(self) -> int:
        """The smallest size of a class."""
        return max((rule.k for rule in self.rules if isinstance(rule, EnoughRows)), default=1)

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The protected sets by the positions of their values, each once; single values are sets of one."""
        return tuple(dict.fromkeys(rule.values for rule in self.rules if isinstance(rule, SmallShare) and rule.secret))

    @property
    def _told_apart(self) -> tuple[tuple[int, ...], ...]:
        """The sets whose shares are asked about, protected or not."""
        return tuple(dict.fromkeys(rule.values for rule in self.rules if isinstance(rule, SmallShare)))

    @property
    def counts_only(self) -> bool:
        """Whether it asks for nothing but sizes and shares of sets."""
        return all(isinstance(rule, EnoughRows | SmallShare) for rule in self.rules)

    def lumped(self) -> tuple[Ints, Requirement]:
        """For each value the lump of values that it cannot be told from, and the requirement of counts of lumps."""
        if not self.counts_only:
            return np.arange(self.width), self
        if all(len(values) == 1 for values in self._told_apart):
            # The usual case of every value protected, without a table of values by sets.
            alone = np.zeros(self.width, dtype=bool)
            alone[[value for (value,) in self._told_apart]] = True
            pattern = np.where(alone, np.arange(1, self.width + 1), 0)
            _, lump = np.unique(pattern, return_inverse=True)
        else:
            inside = np.zeros((self.width, len(self._told_apart)), dtype=bool)
            for at, values in enumerate(self._told_apart):
                inside[list(values), at] = True
            _, lump = np.unique(inside, axis=0, return_inverse=True)
        lump = lump.reshape(-1).astype(np.int64)
        rules = [
            replace(rule, values=tuple(sorted(set(lump[list(rule.values)].tolist()))))
            if isinstance(rule, SmallShare)
            else rule
            for rule in self.rules
        ]
        return lump, Requirement(tuple(rules), int(lump.max(initial=-1)) + 1)


def requirement_of(rules: Iterable[Rule], published: Published, release: PublishedGroups | None = None) -> Requirement:
    """What rules ask of the classes of a release; distances are taken to its published distribution."""
    overall = np.zeros(len(published.values), dtype=np.int64)
    if release is not None:
        np.add.at(overall, release.values, release.counts)
    magnitudes = None if published.magnitudes is None else published.magnitudes.tolist()
    return build(rules, published.values, magnitudes, overall.tolist(), published.columns)


def build(
    rules: Iterable[Rule],
    values: Sequence[object],
    magnitudes: Sequence[float] | None,
    overall: Sequence[int],
    columns: Sequence[ValueColumn] = (),
) -> Requirement:
    """What rules ask of counts of these values; `overall` is how often each occurs in the whole release.

    `columns` are those that values are records of, where several are sensitive.
    """
    rules = list(rules)
    if not rules:
        raise ParameterError(
            "There is no requirement to argue from.",
            hint="name what the publisher had to satisfy, such as share-l-diversity with l = 2.",
        )
    if magnitudes is None and any(isinstance(rule, Spread) for rule in rules):
        raise ParameterError(
            "This is no requirement that the argument from minimality can use here.",
            problems=["A range of numbers needs a numeric sensitive column; the one published is not numeric."],
            hint="name what the publisher had to satisfy, such as share-l-diversity with l = 2.",
        )
    counted: list[CountRule] = []
    for rule in rules:
        counted += (
            _of_column(rule, columns)
            if isinstance(rule, ColumnShare)
            else _counted(rule, values, magnitudes or (), overall)
        )
    return Requirement(tuple(dict.fromkeys(counted)), len(values))


def _of_column(rule: ColumnShare, columns: Sequence[ValueColumn]) -> Sequence[CountRule]:
    """A share for each value of a column."""
    found = []
    for column in columns:
        if column.name == rule.column:
            records = [np.flatnonzero(column.of == at) for at in range(len(column.values))]
            found += [SmallShare(tuple(one.tolist()), None, rule.most, secret=False) for one in records if one.size]
    if not found:
        raise ParameterError(f"The releases have no sensitive column '{rule.column}' beside others.")
    return found


def _counted(
    rule: Rule, values: Sequence[object], magnitudes: Sequence[float], overall: Sequence[int]
) -> Sequence[CountRule]:
    match rule:
        case Rows(k):
            return [EnoughRows(k)]
        case Share(protect, one_in, most):
            return [SmallShare(held, one_in, most) for held in positions(protect, values)]
        case Distinct(l):
            return [EnoughValues(l)]
        case Entropy(l):
            return [HighEntropy(l)]
        case Recursive(c, l):
            return [LightHead(c, l)]
        case Close(t, ordered):
            return [NearWhole(t, tuple(overall), ordered)]
        case Spread(k, e):
            return [WideSpread(k, e, tuple(magnitudes))]
        case ColumnShare():
            raise InternalError("a rule about a column is made with its columns")


def positions(protect: Iterable[Iterable[object]], values: Sequence[object]) -> list[tuple[int, ...]]:
    """Protected sets by the positions of their values; every value alone where none is named."""
    place = {value: at for at, value in enumerate(values)}
    sets = [tuple(sorted({place[label] for label in labels if label in place})) for labels in protect]
    if not sets:
        return [(at,) for at in range(len(values))]
    return [held for held in dict.fromkeys(sets) if held]
