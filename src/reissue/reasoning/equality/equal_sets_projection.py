"""All pairs of people whom linear combination forces to be equal, in series of any size.

Two people are equal if and only if they have the same number in every vector x that the groups allow: one number for
each person and each value, such that the people of every group add up to its values. A random vector of numbers is
projected onto those, by conjugate gradients. Whoever has different numbers then is not equal: should the groups add
up to within r, and two numbers differ by more than d, no weights below d / r in all tie the two together, and that
needs no belief in the convergence, because r is measured. Whoever has the same numbers in several such vectors is
probably equal. That is proven, or not claimed: weights are computed, rounded to fractions, and multiplied out in
integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reissue.arrays.budget import passed
from reissue.arrays.runs import owners, starts_of
from reissue.arrays.types import Floats, Ints
from reissue.kernels.equal_sets_products import connected, product
from reissue.reasoning.equality.equal_sets_vectors import Vectors

DRAWS = 2
"""So many random vectors are projected."""
APART = 1e-6
"""People whose numbers differ by more than this are different."""
EXACT = 1e-13
"""Groups that add up to within this add up as well as they can."""
NOTHING = 1e-30
"""Squares that are this share of those of the numbers to project are zero."""
ROUNDS = 5_000
"""So many steps of conjugate gradients at most."""
ENTRY = 0.01
"""How many steps of work an entry takes in each of them, for each vector."""
TOGETHER = 8
"""So many proofs are looked for at once."""
DENOMINATOR = 60
"""Weights are rounded to fractions with common denominators up to this."""

Proof = tuple[int, int, dict[int, Fraction]]
"""Two people, and the weights of groups that leave one of them on each side, and no values."""


@dataclass(frozen=True, repr=False)
class EqualPairs:
    """What a projection shows."""

    proven: list[Proof]
    """People equal to each other."""
    likely: int
    """How many more pairs look equal and were not proven to be."""
    reach: float
    """No other pair is tied together by weights that add up to less than this."""

    def __repr__(self) -> str:
        return f"EqualPairs({len(self.proven):,} proven, {self.likely:,} likely)"


def equal_pairs(groups: Vectors, values: Vectors, deadline: float | None, seed: int = 1) -> EqualPairs:
    """The people whom groups force to be equal; `values` has for each group how often each value was published."""
    rows = _side_by_side(groups, values)
    drawn = np.random.default_rng(seed).standard_normal((rows.width, DRAWS))
    allowed, off = _projected(_System(rows), drawn, deadline)
    if off >= APART:
        return EqualPairs([], 0, 0.0)
    present = np.unique(groups.places)
    clusters = [present[cluster] for cluster in _clusters(allowed[present])]
    wanted = [(int(cluster[0]), other) for cluster in clusters for other in cluster[1:].tolist()]
    proven = _proofs(rows, connected(groups.places, groups.starts, groups.width), wanted, deadline)
    return EqualPairs(proven, len(wanted) - len(proven), APART / off if off else np.inf)


def _side_by_side(groups: Vectors, values: Vectors) -> Vectors:
    """Groups with their people, then minus their values, in places behind those of all people."""
    lengths = np.diff(groups.starts), np.diff(values.starts)
    starts = starts_of(lengths[0] + lengths[1])
    places, counts = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1], dtype=np.int64)
    for part, begin, shift, sign in ((groups, starts[:-1], 0, 1), (values, starts[:-1] + lengths[0], groups.width, -1)):
        at = np.arange(part.places.size) + np.repeat(begin - part.starts[:-1], np.diff(part.starts))
        places[at], counts[at] = part.places + shift, sign * part.counts
    return Vectors(places, counts, starts, groups.width + values.width)


class _System:
    """The equations that the groups are, scaled so that conjugate gradients converge fast."""

    def __init__(self, rows: Vectors) -> None:
        self.rows = rows
        often = np.bincount(rows.places, minlength=rows.width)
        self.column = 1 / np.sqrt(np.maximum(often, 1)).reshape(-1, 1)
        scaled = rows.counts * self.column[rows.places, 0]
        lengths = np.sqrt(np.bincount(rows.which, scaled**2, minlength=len(rows)))
        self.row = (1 / np.where(lengths > 0, lengths, 1)).reshape(-1, 1)
        self._entries = scaled * self.row[rows.which, 0]
        self._across, counts, self._across_starts = rows.across
        turned = counts * self.column[owners(np.diff(self._across_starts)), 0]
        self._across_entries = turned * self.row[self._across, 0]

    def steps(self, numbers: Floats) -> Iterator[tuple[Floats, Floats]]:
        """From vectors to the nearest ones that the equations allow, and the weights of rows that make the difference.

        By conjugate gradients on least squares; numbers are divided by the scale of their column before, so that for
        the vectors W.A, and only for those, nothing is left.
        """
        rows = self.rows
        left, weights = numbers.copy(), np.zeros((len(rows), numbers.shape[1]))
        slope = product(rows.places, self._entries, rows.starts, left)
        way, power = slope.copy(), (slope**2).sum(axis=0)
        # What is smaller than this is rounding, and steps along it lead astray.
        nothing = (numbers**2).sum(axis=0) * NOTHING
        for number in range(1, ROUNDS + 1):
            step = product(self._across, self._across_entries, self._across_starts, way)
            length = (step**2).sum(axis=0)
            going = (power > nothing) & (length > 0)
            times = np.divide(power, length, out=np.zeros_like(power), where=going)
            weights += times * way
            left -= times * step
            slope = product(rows.places, self._entries, rows.starts, left)
            fresh = (slope**2).sum(axis=0)
            way = (slope + np.divide(fresh, power, out=np.zeros_like(power), where=going) * way) * going
            power = np.where(going, fresh, 0.0)
            if number % 10 == 0 or not going.any():
                yield left, weights
            if not going.any():
                return


def _projected(system: _System, numbers: Floats, deadline: float | None) -> tuple[Floats, float]:
    """Numbers that the groups allow, and by how much a group does not add up."""
    rows, best, off = system.rows, numbers, np.inf
    for left, _ in system.steps(numbers):
        allowed = left * system.column
        now = float(np.abs(product(rows.places, rows.counts, rows.starts, allowed)).max(initial=0.0))
        if now < off:
            best, off = allowed, now
        if off < EXACT or now > 1e3 * off or passed(deadline, 10 * ENTRY * rows.places.size * numbers.shape[1]):
            break
    return best, off


def _clusters(numbers: Floats) -> list[Ints]:
    """People whose numbers are the same in every column, two or more in each cluster."""
    clusters = [np.arange(numbers.shape[0])]
    while True:
        finer = []
        for cluster in clusters:
            parts = [cluster]
            for column in range(numbers.shape[1]):
                parts = [part for whole in parts for part in _runs(whole, numbers[whole, column])]
            finer += parts
        if sum(part.size for part in finer) == sum(part.size for part in clusters) and len(finer) == len(clusters):
            return [np.sort(cluster) for cluster in finer]
        clusters = finer


def _runs(members: Ints, numbers: Floats) -> list[Ints]:
    """Members whose numbers follow each other closely, two or more in each part."""
    order = np.argsort(numbers, kind="stable")
    close = np.diff(numbers[order]) <= APART
    begins = np.flatnonzero(np.append(close, False) & ~np.append(False, close))
    ends = np.flatnonzero(np.append(False, close) & ~np.append(close, False)) + 1
    return [members[order[begin:end]] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def _proofs(rows: Vectors, part: Ints, wanted: list[tuple[int, int]], deadline: float | None) -> list[Proof]:
    """Proofs for as many pairs as there are; only groups connected with either person are used."""
    part_of_row = part[rows.places[rows.starts[:-1]]]
    found: list[Proof] = []
    by_parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for one, other in wanted:
        first, second = sorted((int(part[one]), int(part[other])))
        by_parts.setdefault((first, second), []).append((one, other))
    for parts, pairs in by_parts.items():
        near = np.flatnonzero(np.isin(part_of_row, parts))
        system = _System(rows.chosen(near))
        for begin in range(0, len(pairs), TOGETHER):
            if passed(deadline):
                return found
            some = pairs[begin : begin + TOGETHER]
            for (one, other), weights in zip(some, _weights(system, some, deadline).T, strict=True):
                proof = _verified(system.rows, weights, one, other)
                if proof is not None:
                    found.append((one, other, {int(near[row]): weight for row, weight in proof.items()}))
    return found


def _weights(system: _System, pairs: list[tuple[int, int]], deadline: float | None) -> Floats:
    """Weights that leave one of each pair on each side, if there are any."""
    wanted = np.zeros((system.rows.width, len(pairs)))
    for at, (one, other) in enumerate(pairs):
        wanted[one, at], wanted[other, at] = 1, -1
    weights = np.zeros((len(system.rows), len(pairs)))
    for left, found in system.steps(wanted * system.column):
        weights = found
        if np.abs(left).max() < 1e-10 or passed(deadline, 10 * ENTRY * system.rows.places.size * len(pairs)):
            break
    return weights * system.row


def _verified(rows: Vectors, weights: Floats, one: int, other: int) -> dict[int, Fraction] | None:
    for denominator in range(1, DENOMINATOR + 1):
        times = np.rint(weights * denominator)
        if np.abs(weights * denominator - times).max() > 1e-4:
            continue
        used = np.flatnonzero(times)
        part = rows.chosen(used)
        totals = np.zeros(rows.width, dtype=np.int64)
        np.add.at(totals, part.places, part.counts * times[used].astype(np.int64)[part.which])
        totals[[one, other]] -= denominator, -denominator
        if not totals.any():
            return {int(group): Fraction(int(times[group]), denominator) for group in used.tolist()}
    return None
