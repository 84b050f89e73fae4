"""In how many ways a generalised group can have come about, given that some class violated the requirement.

The values of a group were handed out to its rows; a way says how many rows of each class got which value (or lump of
values that the requirement cannot tell apart). A class with counts x has as many ways as a multinomial coefficient
says, and is *bad* in them or not. For all classes together that is a product of polynomials, one variable for each
value but one, whose coefficient at the group's counts is wanted. Two polynomials are carried along,

    A   the ways in which no class is bad so far,
    B   the ways in which some class is,            with   B' = B (ok + bad) + A bad   and   A' = A ok,

so nothing is ever subtracted. Wong et al. list all cases (section 4); here they are never listed.

Whole     coefficients are integers, all packed into one large integer: Python multiplies those fast, and exactly
Tilted    for one protected set in large groups: floats, where coefficients are weighed by the shares of the group

All floats are positive sums and products of positive figures, so a result is off by at most about as many units of
2^-53, relatively, as there were operations on the longest way to it: `relative_error` adds them up. Where all that
is asked for weighs less than `SMALLEST`, underflow could hide some of it, and integers are taken instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Floats, Ints
from reissue.reasoning.minimality.requirements import Requirement

Number = Fraction | float

WAYS = 20_000
"""So many ways of one class are listed at most."""
SMALLEST = 1e-200
"""Weights below that are not trusted to floats."""
UNIT = 2.0**-53


@dataclass(frozen=True)
class GroupClass:
    """A class of a group: people with equal quasi-identifiers."""

    rows: int
    """How many of its rows are in the group; where that is not known, how many people may be."""
    left: tuple[int, ...]
    """The counts of its rows that were left ungeneralised: they are judged with those in the group."""
    sure: int = 0
    """Where the number of rows is not known: how many people certainly are in the group."""
    harmless: bool = False
    """It is known that it cannot violate; several such classes may stand for one here."""


@dataclass(frozen=True)
class Group:
    """A generalised group: its classes, how many of each there are, and how often each value was published."""

    classes: tuple[GroupClass, ...]
    often: tuple[int, ...]
    counts: tuple[int, ...]
    absent: int | None = None
    """How many of the people who may be in the group are not; None where all are."""

    @property
    def target(self) -> tuple[int, ...]:
        """What the rows, or people, of all classes come to."""
        return self.counts if self.absent is None else (*self.counts, self.absent)

    @property
    def rows(self) -> int:
        """How many rows, or people who may have one, there are."""
        return sum(one.rows * often for one, often in zip(self.classes, self.often, strict=True))

    @property
    def members(self) -> int:
        """How many classes there are."""
        return sum(self.often)


@dataclass(frozen=True)
class CountedClasses:
    """What follows for the classes of a group.

    `some` and `none` have, for each class, how many of its rows are expected to have each value, given that some
    class violated or that none did. Where it is open who is in the group, `sure_some` and `sure_none` have the part of
    that for those who certainly are. Fractions, or floats that are off by at most `error` of the rows of the class.
    """

    probability: Number
    """That some class violates, before the argument."""
    some: list[tuple[Number, ...]]
    none: list[tuple[Number, ...]]
    sure_some: list[tuple[Number, ...]]
    sure_none: list[tuple[Number, ...]]
    error: float = 0.0


@dataclass(frozen=True)
class Ways:
    """All ways of one class: counts of values, how often each way occurs, and whether the class then violates."""

    counts: Ints
    weights: list[int]
    bad: Bools
    sure: int = 0


class Ruler:
    """Says of classes whether they violate a requirement, and remembers what it said of those with two values."""

    def __init__(self, requirement: Requirement) -> None:
        self.requirement = requirement
        self._said: dict[GroupClass, Bools] = {}

    def is_bad(self, counts: Ints, one: GroupClass) -> Bools:
        """Whether the class violates with these counts in the group; one without rows there does not."""
        if one.harmless:
            return np.zeros(counts.shape[0], dtype=bool)
        judged = counts + np.array(one.left, dtype=np.int64)
        return np.asarray(~self.requirement.kept(judged) & (counts.sum(axis=1) > 0))

    def is_bad_with(self, one: GroupClass) -> Bools:
        """With two values: whether it violates with 0, 1, 2, ... rows of the first."""
        if one not in self._said:
            first = np.arange(one.rows + 1)
            self._said[one] = self.is_bad(np.column_stack([first, one.rows - first]), one)
        return self._said[one]


def number_of_ways(rows: int, limits: Sequence[int]) -> int:
    """How many ways there are to take so many from limited supplies."""
    ways = [1] + [0] * rows
    for limit in limits:
        running = [0]
        for count in ways:
            running.append(running[-1] + count)
        ways = [running[at + 1] - running[max(at - limit, 0)] for at in range(rows + 1)]
    return ways[rows]


def ways_of(one: GroupClass, group: Group, ruler: Ruler) -> Ways:
    """List the ways of a class."""
    target = group.target
    if len(target) == 2 and group.absent is None:
        low, high = max(0, one.rows - target[1]), min(one.rows, target[0])
        first = np.arange(low, high + 1)
        weights = [math.comb(one.rows, low)]
        for number in range(low, high):
            weights.append(weights[-1] * (one.rows - number) // (number + 1))
        return Ways(np.column_stack([first, one.rows - first]), weights, ruler.is_bad_with(one)[low : high + 1])
    taken, values = _listed(one, group), len(group.counts)
    return Ways(taken, _weights(taken, one, values), ruler.is_bad(taken[:, :values], one), one.sure)


def bad_ways(one: GroupClass, group: Group, ruler: Ruler) -> Bools:
    """Whether a class violates, for each of its ways; how often each occurs is not counted."""
    return ruler.is_bad(_listed(one, group)[:, : len(group.counts)], one)


def _listed(one: GroupClass, group: Group) -> Ints:
    """For each way of a class how many of its rows have each value and, where that is open, are absent."""
    target = group.target
    taken = np.zeros((1, len(target)), dtype=np.int64)
    rest = np.array([one.rows], dtype=np.int64)
    after = sum(target)
    for at, limit in enumerate(target):
        if not limit:
            continue
        after -= limit
        least = np.maximum(rest - after, 0)
        many = np.maximum(np.minimum(rest, limit) - least + 1, 0)
        source = owners(many)
        count = least[source] + np.arange(source.size) - np.repeat(np.cumsum(many) - many, many)
        taken = taken[source]
        taken[:, at] = count
        rest = rest[source] - count
    values = len(group.counts)
    present = one.rows - (taken[:, values] if group.absent is not None else 0)
    allowed: Ints = taken[np.broadcast_to(present >= one.sure, taken.shape[:1])]
    return allowed


def _weights(taken: Ints, one: GroupClass, values: int) -> list[int]:
    weights = []
    for way in taken.tolist():
        weight, rest = 1, one.rows
        if values < len(way):
            # Who of the uncertain is absent, then who of those present has which value.
            weight, rest = math.comb(rest - one.sure, way[values]), rest - way[values]
        for count in way[:values]:
            weight *= math.comb(rest, count)
            rest -= count
        weights.append(weight)
    return weights


class _Arithmetic(Protocol):
    """Polynomials in pairs: the ways in which no class is bad, and those in which some class is."""

    one: Any

    def pair(self, ways: Any) -> Any: ...
    def times(self, first: Any, second: Any) -> Any: ...
    def rest(self, before: Any, after: Any, ways: Any) -> tuple[Any, Any]: ...


class Whole:
    """Polynomials with whole coefficients, each a large integer with a slot for each monomial."""

    one = (1, 0)

    def __init__(self, target: Sequence[int], rows: int) -> None:
        # All monomials of a class have as many rows as the class, so the most frequent value needs no variable.
        dropped = max(range(len(target)), key=lambda at: target[at])
        self._kept = [at for at in range(len(target)) if at != dropped]
        limits = [target[at] for at in self._kept]
        self._strides, slots = [], 1
        for limit in limits:
            self._strides.append(slots)
            slots *= 2 * limit + 1
        self.width = bits_of_a_coefficient(limits, len(target), rows)
        self._full = (1 << self.width) - 1
        self._goal = sum(limit * stride for limit, stride in zip(limits, self._strides, strict=True))
        # A product of two monomials within the limits never runs over into the next variable's slots.
        self._mask = self._full
        for limit, stride in zip(limits, self._strides, strict=True):
            self._mask = sum(self._mask << (self.width * stride * power) for power in range(limit + 1))

    def pair(self, ways: Ways) -> tuple[int, int]:
        """The two polynomials of one class."""
        ok = bad = 0
        for place, weight, is_bad in zip(self._places(ways), ways.weights, ways.bad.tolist(), strict=True):
            if is_bad:
                bad += weight << (self.width * place)
            else:
                ok += weight << (self.width * place)
        return ok, bad

    def times(self, first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
        """Both of two independent parts of a group."""
        some = first[1] * (second[0] + second[1]) + first[0] * second[1]
        return (first[0] * second[0]) & self._mask, some & self._mask

    def rest(self, before: tuple[int, int], after: tuple[int, int], ways: Ways) -> tuple[list[int], list[int]]:
        """For each way of a class, how often the others have what is left: none of them bad, and some."""
        pair = self.times(before, after)
        shifts = [self.width * (self._goal - place) for place in self._places(ways)]
        return [pair[0] >> at & self._full for at in shifts], [pair[1] >> at & self._full for at in shifts]

    def _places(self, ways: Ways) -> list[int]:
        kept = ways.counts[:, self._kept]
        places: list[int] = (kept @ np.array(self._strides, dtype=np.int64)).tolist()
        return places


def bits_of_a_coefficient(limits: Sequence[int], values: int, rows: int) -> int:
    """How large a coefficient can become: there are no more ways than to hand out any values, or these ones.

    With several variables, what a product has beyond the limits must not run over into slots within them.
    """
    any_values = rows * math.log2(max(values, 2))
    if len(limits) > 1:
        limits = [2 * limit for limit in limits]
    these = sum(math.log2(math.comb(rows, min(limit, rows // 2))) if limit else 0.0 for limit in limits)
    return math.ceil(min(any_values, these)) + 3


def packed_bits(target: Sequence[int], rows: int) -> int:
    """How large the integers are that `Whole` works with."""
    limits = sorted(target)[:-1]
    return math.prod(2 * limit + 1 for limit in limits) * bits_of_a_coefficient(limits, len(target), rows)


@dataclass(frozen=True)
class _Tilts:
    """The ways of a class of one variable, weighed: how likely 0, 1, 2, ... are, and in which the class is bad."""

    weights: Floats
    bad: Bools


class Tilted:
    """Polynomials of one variable with positive floats."""

    one = (np.ones(1), np.zeros(1))

    def __init__(self, sensitive: int) -> None:
        self._length = sensitive + 1

    def pair(self, ways: _Tilts) -> tuple[Floats, Floats]:
        """The two polynomials of one class."""
        return np.where(ways.bad, 0.0, ways.weights), np.where(ways.bad, ways.weights, 0.0)

    def times(self, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Both of two independent parts of a group."""
        some = np.convolve(first[1], second[0] + second[1]) + np.convolve(first[0], second[1])
        return np.convolve(first[0], second[0])[: self._length], some[: self._length]

    def rest(self, before: tuple[Floats, Floats], after: tuple[Floats, Floats], ways: _Tilts) -> tuple[Floats, Floats]:
        """For each way of a class, how likely the others have what is left: none of them bad, and some.

        Only as many coefficients of the product are needed as the class has ways.
        """
        many = ways.weights.size
        high = self._length
        part = [np.zeros(many + before[0].size - 1) for _ in after]
        for wanted, have in zip(part, after, strict=True):
            # The coefficients of `after` that meet those of `before` at high - 1, high - 2, ...
            start, stop = high - wanted.size, min(high, have.size)
            if stop > max(start, 0):
                wanted[max(start, 0) - start : stop - start] = have[max(start, 0) : stop]
        ok, bad = part
        none = np.convolve(ok, before[0], "valid")
        some = np.convolve(ok + bad, before[1], "valid") + np.convolve(bad, before[0], "valid")
        return none[::-1], some[::-1]


def _rests(
    arithmetic: _Arithmetic, classes: Sequence[Any], often: Sequence[int], degrees: Sequence[int]
) -> list[tuple[Any, Any]]:
    """For each class what the others come to, for each of its ways; by products before and after it."""
    powers, wholes = [], []
    for ways, many in zip(classes, often, strict=True):
        pair = arithmetic.pair(ways)
        others = _power(arithmetic, pair, many - 1)
        powers.append(others)
        wholes.append(arithmetic.times(others, pair))
    # Beginning with small classes keeps the products before a class short, and those after it are long only once.
    order = sorted(range(len(classes)), key=lambda at: degrees[at] * often[at])
    after = {order[-1]: arithmetic.one}
    for at, following in zip(order[-2::-1], order[::-1], strict=False):
        after[at] = arithmetic.times(after[following], wholes[following])
    found: list[tuple[Any, Any]] = [(None, None)] * len(classes)
    before = arithmetic.one
    for at in order:
        found[at] = arithmetic.rest(before, arithmetic.times(after[at], powers[at]), classes[at])
        before = arithmetic.times(before, wholes[at])
    return found


def _power(arithmetic: _Arithmetic, pair: Any, exponent: int) -> Any:
    result, square = arithmetic.one, pair
    while exponent:
        if exponent & 1:
            result = arithmetic.times(result, square)
        exponent >>= 1
        if exponent:
            square = arithmetic.times(square, square)
    return result


def count(group: Group, ruler: Ruler) -> CountedClasses:
    """The exact figures of a group, as fractions."""
    classes = [ways_of(one, group, ruler) for one in group.classes]
    sizes = [one.rows for one in group.classes]
    arithmetic = Whole(group.target, group.rows)
    values = len(group.counts)
    some: list[tuple[Number, ...]] = []
    none: list[tuple[Number, ...]] = []
    sure_some: list[tuple[Number, ...]] = []
    sure_none: list[tuple[Number, ...]] = []
    violated = kept = 0
    for ways, (others_kept, others_not) in zip(classes, _rests(arithmetic, classes, group.often, sizes), strict=True):
        taken = ways.counts[:, :values].tolist()
        parts = list(zip(ways.weights, ways.bad.tolist(), others_kept, others_not, strict=True))
        in_some = [weight * (one + two if bad else two) for weight, bad, one, two in parts]
        in_none = [0 if bad else weight * one for weight, bad, one, _ in parts]
        violated, kept = sum(in_some), sum(in_none)
        some.append(_means(taken, in_some, violated))
        none.append(_means(taken, in_none, kept))
        if group.absent is not None:
            sure_some.append(_means(taken, in_some, violated, ways.sure))
            sure_none.append(_means(taken, in_none, kept, ways.sure))
    return CountedClasses(Fraction(violated, max(violated + kept, 1)), some, none, sure_some, sure_none)


def _means(taken: list[list[int]], weights: list[int], total: int, sure: int | None = None) -> tuple[Fraction, ...]:
    """The mean counts; for `sure` people, those among them: everybody who is there is equally likely to have them."""
    if sure == 0 or not total:
        return (Fraction(0),) * len(taken[0])
    if sure is None and len(taken[0]) == 2 and sum(taken[0]) == sum(taken[-1]):
        first = Fraction(sum(way[0] * weight for way, weight in zip(taken, weights, strict=True)), total)
        return first, sum(taken[0]) - first
    if sure is None:
        return tuple(
            Fraction(sum(way[at] * weight for way, weight in zip(taken, weights, strict=True)), total)
            for at in range(len(taken[0]))
        )
    scale = math.lcm(*(sum(way) for way in taken))
    parts = [weight * sure * (scale // sum(way)) for way, weight in zip(taken, weights, strict=True)]
    return tuple(
        Fraction(sum(way[at] * part for way, part in zip(taken, parts, strict=True)), total * scale)
        for at in range(len(taken[0]))
    )


def estimate(group: Group, ruler: Ruler) -> CountedClasses | None:
    """The figures of a large group of one protected set (two lumps) in floats; None where they cannot be trusted."""
    rare = min(range(2), key=lambda at: group.counts[at])
    sensitive, rows = group.counts[rare], group.rows
    share = sensitive / rows
    sizes = [one.rows for one in group.classes]
    classes = [_tilted(one, sensitive, rare, share, ruler) for one in group.classes]
    some: list[tuple[Number, ...]] = []
    none: list[tuple[Number, ...]] = []
    violated = kept = 0.0
    for one, ways, (others_kept, others_not) in zip(
        group.classes, classes, _rests(Tilted(sensitive), classes, group.often, sizes), strict=True
    ):
        number = np.arange(ways.weights.size)
        in_some = ways.weights * np.where(ways.bad, others_kept + others_not, others_not)
        in_none = np.where(ways.bad, 0.0, ways.weights * others_kept)
        violated, kept = float(in_some.sum()), float(in_none.sum())
        if violated < SMALLEST:
            return None
        for parts, total, means in ((in_some, violated, some), (in_none, kept, none)):
            mean = float((number * parts).sum()) / total if total else 0.0
            means.append((mean, one.rows - mean) if rare == 0 else (one.rows - mean, mean))
    return CountedClasses(violated / (violated + kept), some, none, [], [], relative_error(group))


def relative_error(group: Group) -> float:
    """By how much, relatively, floats can be off.

    Every class has its own weights, off by three roundings for each step from the likeliest one; every product adds
    as many as its sums have terms. A quotient has that twice.
    """
    sensitive = min(group.counts)
    units = 0
    for one, often in zip(group.classes, group.often, strict=True):
        units += often * (3 * min(one.rows, sensitive) + sensitive + 8)
    return 2 * (units + sensitive + 8) * UNIT


def _tilted(one: GroupClass, sensitive: int, rare: int, share: float, ruler: Ruler) -> _Tilts:
    most = min(one.rows, sensitive)
    odds = share / (1 - share)
    likeliest = min(int((one.rows + 1) * share), most)
    up = np.arange(likeliest, most)
    down = np.arange(likeliest, 0, -1)
    weights = np.ones(most + 1)
    weights[likeliest + 1 :] = np.cumprod((one.rows - up) / (up + 1) * odds)
    weights[:likeliest] = np.cumprod(down / (one.rows - down + 1) / odds)[::-1]
    bad = ruler.is_bad_with(one) if rare == 0 else ruler.is_bad_with(one)[::-1]
    return _Tilts(weights / weights.sum(), bad[: most + 1])
