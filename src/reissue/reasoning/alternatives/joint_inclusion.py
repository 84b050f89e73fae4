"""How probable it is that two values are in one set, without a matrix of all pairs: for designs of many values.

For two values u and v that Sampford's design of size r draws, with odds and gaps as there, sets with both weigh

    odds(u) odds(v) [z^(r-2)] ( G a(u) a(v) + E (gap(u) a(u)^2 a(v) + gap(v) a(u) a(v)^2) )

where a(u) = 1 / (1 + odds(u) z), E = prod (1 + odds z), and G has the same sums with each set weighed by the sum of its
gaps. The series of a(u) are powers of -odds(u): so the matrix of all pairs is a product of a few columns, 2 (r - 1) of
them. Digits would be lost where odds are large; such values, at most some 3m, have a row each, worked out without them.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.model.design import Design
from reissue.reasoning.alternatives.sampford import Fillings, fillings

FREQUENT = 0.4
"""Values with a larger inclusion probability have rows of their own."""

Sums = tuple[Floats, Floats]
"""E and G: for each number of values sums over all sets of so many."""


class JointInclusion:
    """For each two different values the probability that both are in a set; 0 for a value with itself."""

    def __init__(self, design: Design) -> None:
        every = fillings(design)
        frequent = (every.inclusion > FREQUENT).any(axis=0) if design.small.size else np.zeros(0, dtype=np.bool_)
        self._design = design
        self._head = np.concatenate([design.large, design.small[frequent]])
        self._tail = design.small[~frequent]
        self._rows = np.zeros((self._head.size, design.values))
        self._columns: list[tuple[Floats, Floats]] = []
        self._large(every)
        large = design.large.size
        heads, tails = np.flatnonzero(frequent), np.flatnonzero(~frequent)
        weights = np.bincount(every.size_of, design.weights, minlength=every.sizes.size)
        for index, weight in enumerate(weights.tolist()):
            self._certain(every, index, weight, heads, large)
            if every.free[index] >= 2:
                self._drawn(every, index, weight, heads, tails, large)
        self._own = sum(((left @ core) * left).sum(axis=1) for left, core in self._columns) + np.zeros(tails.size)

    def totals(self, weights: Floats) -> Floats:
        """For each value u the sum of weights(v) P(u and v in S) over all other values v."""
        head, tail = self._head, self._tail
        found = weights[head] @ self._rows
        for left, core in self._columns:
            found[tail] += left @ (core @ (weights[tail] @ left))
        found[tail] -= self._own * weights[tail]
        found[head] = self._rows @ weights
        return np.asarray(found)

    def below(self, weights: Floats) -> Floats:
        """For each value v the sum of weights(u) P(u and v in S) over all smaller values u."""
        head, tail = self._head, self._tail
        values = np.arange(self._design.values)
        found = np.where(head[:, None] < values, weights[head, None] * self._rows, 0.0).sum(axis=0)
        for left, core in self._columns:
            sums = np.cumsum(left * weights[tail, None], axis=0)
            sums[1:], sums[:1] = sums[:-1].copy(), 0.0
            found[tail] += ((left @ core) * sums).sum(axis=1)
        found[head] = np.where(values < head[:, None], self._rows * weights, 0.0).sum(axis=1)
        return np.asarray(found)

    def matrix(self) -> Floats:
        """For all pairs, where values are few."""
        head, tail = self._head, self._tail
        found = np.zeros((self._design.values, self._design.values))
        for left, core in self._columns:
            found[np.ix_(tail, tail)] += left @ core @ left.T
        found[head] = self._rows
        found[:, head] = self._rows.T
        np.fill_diagonal(found, 0.0)
        return np.maximum(found, 0.0)

    def _large(self, every: Fillings) -> None:
        """Pairs with a value that is drawn first."""
        design = self._design
        weighted = (design.joint * design.weights[:, None]).T
        rows = self._rows[: design.large.size]
        rows[:, design.large] = weighted @ design.joint
        rows[np.arange(design.large.size), design.large] = 0.0
        rows[:, design.small] = weighted @ every.inclusion[every.size_of]
        self._rows[design.large.size :, design.large] = rows[:, self._head[design.large.size :]].T

    def _certain(self, every: Fillings, index: int, weight: float, heads: Ints, large: int) -> None:
        """Pairs with a value that is in every set of this size."""
        certain, inclusion = every.certain[index], every.inclusion[index]
        for row, place in enumerate(heads.tolist(), start=large):
            others = np.flatnonzero(np.ones_like(certain) if certain[place] else certain)
            others = others[others != place]
            self._rows[row, self._design.small[others]] += weight * inclusion[place] * inclusion[others]

    def _drawn(self, every: Fillings, index: int, weight: float, heads: Ints, tails: Ints, large: int) -> None:
        """Pairs of values that are both drawn."""
        odds, gaps, size = every.odds[index], every.gaps[index], int(every.free[index])
        rare = _all_sums(odds[tails], gaps[tails], size)
        free = [place for place in heads.tolist() if not every.certain[index, place]]

        def without(*places: int) -> Sums:
            found = rare
            for place in free:
                if place not in places:
                    found = _times(found, _one(odds[place], gaps[place], size))
            return found

        whole = weight / without()[1][size]
        powers = odds[tails, None] * (-odds[tails, None]) ** np.arange(size - 1)
        left = np.hstack([powers, gaps[tails, None] * powers * np.arange(1, size)])
        sums, weighed = without()
        self._columns.append((left, whole * _core(weighed, sums, size)))
        small = self._design.small
        for row, place in enumerate(heads.tolist(), start=large):
            if place not in free:
                continue
            sums, weighed = without(place)
            back = slice(size - 2, None, -1)
            ends = np.concatenate([(gaps[place] * sums + weighed)[back], sums[back]])
            self._rows[row, small[tails]] += whole * odds[place] * (left @ ends)
            for other in free:
                if other != place:
                    sums, weighed = without(place, other)
                    both = (gaps[place] + gaps[other]) * sums[size - 2] + weighed[size - 2]
                    self._rows[row, small[other]] += whole * odds[place] * odds[other] * both


def _core(weighed: Floats, sums: Floats, size: int) -> Floats:
    """How columns are multiplied with each other: coefficients by the sum of their powers."""
    power = np.arange(size - 1)
    rest = size - 2 - power[:, None] - power
    one = np.where(rest >= 0, weighed[np.maximum(rest, 0)], 0.0)
    other = np.where(rest >= 0, sums[np.maximum(rest, 0)], 0.0)
    return np.block([[one, other], [other, np.zeros_like(one)]])


def _one(odds: float, gap: float, size: int) -> Sums:
    sums, weighed = np.zeros(size + 1), np.zeros(size + 1)
    sums[0], sums[1], weighed[1] = 1.0, odds, odds * gap
    return sums, weighed


def _times(one: Sums, other: Sums) -> Sums:
    """Sums over sets of values of both; the last axis counts values."""
    size = one[0].shape[-1]
    sums, weighed = np.zeros_like(one[0]), np.zeros_like(one[0])
    for k in range(size):
        part = slice(0, size - k)
        sums[..., k:] += one[0][..., k, None] * other[0][..., part]
        weighed[..., k:] += one[0][..., k, None] * other[1][..., part] + one[1][..., k, None] * other[0][..., part]
    return sums, weighed


def _all_sums(odds: Floats, gaps: Floats, size: int) -> Sums:
    """Sums over sets of all values, in pairs, pairs of pairs and so on."""
    sums, weighed = np.zeros((odds.size, size + 1)), np.zeros((odds.size, size + 1))
    sums[:, 0], sums[:, 1], weighed[:, 1] = 1.0, odds, odds * gaps
    while len(sums) > 1:
        last = sums[len(sums) & ~1 :], weighed[len(sums) & ~1 :]
        half = len(sums) & ~1
        sums, weighed = _times((sums[0:half:2], weighed[0:half:2]), (sums[1:half:2], weighed[1:half:2]))
        sums, weighed = np.vstack([sums, last[0]]), np.vstack([weighed, last[1]])
    if not len(sums):
        return np.eye(1, size + 1)[0], np.zeros(size + 1)
    return sums[0], weighed[0]
