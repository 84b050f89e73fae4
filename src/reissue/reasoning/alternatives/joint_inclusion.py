"""How probable it is that two values are in one set, without a matrix of all pairs: for designs of many values.

For two values u and v that Sampford's design of size r draws, with odds and gaps as there, sets with both weigh

    odds(u) odds(v) [z^(r-2)] ( G a(u) a(v) + E (gap(u) a(u)^2 a(v) + gap(v) a(u) a(v)^2) )

where a(u) = 1 / (1 + odds(u) z), E = prod (1 + odds z), and G has the same sums with each set weighed by the sum of its
gaps. The series of a(u) are powers of -odds(u): so the matrix of all pairs is a product of a few columns, two for each
power that matters, at most r - 1. Digits would be lost where odds are large; such values, the heads, at most some 3m,
have a row each. What is left without two of them is put together from sums before, between and behind them, so that
nothing is taken off: O(heads^2 r) in all.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.model.design import Design
from reissue.reasoning.alternatives.sampford import Fillings, fillings

FREQUENT = 0.4
"""Values with a larger inclusion probability have rows of their own."""

NEGLIGIBLE = 1e-20
"""Powers that add less, relative to the first, are left out."""

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
        self._columns: list[tuple[Floats, Floats]] = []  # their products are the pairs of all that have no row
        self._large(every)
        large = design.large.size
        heads, tails = np.flatnonzero(frequent), np.flatnonzero(~frequent)
        weights = np.bincount(every.size_of, design.weights, minlength=every.sizes.size)
        for index, weight in enumerate(weights.tolist()):
            self._certain(every, index, weight, heads, large)
            if every.free[index] >= 2:
                self._drawn(every, index, weight, heads, tails, large)
        self._own = sum((left * right).sum(axis=1) for left, right in self._columns) + np.zeros(tails.size)

    def totals(self, weights: Floats) -> Floats:
        """For each value u the sum of weights(v) P(u and v in S) over all other values v."""
        head, tail = self._head, self._tail
        found = weights[head] @ self._rows
        for left, right in self._columns:
            found[tail] += right @ (weights[tail] @ left)
        found[tail] -= self._own * weights[tail]
        found[head] = self._rows @ weights
        return np.asarray(found)

    def below(self, weights: Floats) -> Floats:
        """For each value v the sum of weights(u) P(u and v in S) over all smaller values u."""
        head, tail = self._head, self._tail
        values = np.arange(self._design.values)
        found = np.where(head[:, None] < values, weights[head, None] * self._rows, 0.0).sum(axis=0)
        for left, right in self._columns:
            sums = np.cumsum(left * weights[tail, None], axis=0)
            sums[1:], sums[:1] = sums[:-1].copy(), 0.0
            found[tail] += (right * sums).sum(axis=1)
        found[head] = np.where(values < head[:, None], self._rows * weights, 0.0).sum(axis=1)
        return np.asarray(found)

    def of(self, ones: Ints, others: Ints) -> Floats:
        """For some pairs of different values."""
        row, place = np.full((2, self._design.values), -1)
        row[self._head], place[self._tail] = np.arange(self._head.size), np.arange(self._tail.size)
        first, second = np.where(row[ones] >= 0, ones, others), np.where(row[ones] >= 0, others, ones)
        head = row[first] >= 0
        found = np.zeros(ones.size)
        found[head] = self._rows[row[first[head]], second[head]]
        one, other = place[first[~head]], place[second[~head]]
        for left, right in self._columns:
            found[~head] += np.einsum("ij,ij->i", left[one], right[other])
        return np.maximum(found, 0.0)

    def matrix(self) -> Floats:
        """For all pairs, where values are few."""
        head, tail = self._head, self._tail
        found = np.zeros((self._design.values, self._design.values))
        for left, right in self._columns:
            found[np.ix_(tail, tail)] += right @ left.T
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
        row = large + np.flatnonzero(~every.certain[index, heads])
        free = heads[row - large]
        before, after = _split(_all_sums(odds[tails], gaps[tails], size), odds[free], gaps[free], size)
        whole = before[0][-1], before[1][-1]
        factor = weight / whole[1][size]
        alone = _times(_rows(before, slice(0, -1)), _rows(after, slice(1, None)), size)
        power = np.arange(_terms(float(odds[tails].max(initial=0.0)), np.vstack([whole[0], alone[0]]), size))
        powers = odds[tails, None] * (-odds[tails, None]) ** power
        left = np.hstack([powers, gaps[tails, None] * powers * (power + 1)])
        self._columns.append((left, left @ (factor * _core(whole, power, size))))
        if not free.size:
            return
        small, rest = self._design.small, size - 2 - power
        ends = np.hstack([(gaps[free, None] * alone[0] + alone[1])[:, rest], alone[0][:, rest]])
        self._rows[np.ix_(row, small[tails])] += factor * odds[free, None] * (ends @ left.T)
        sums, weighed = _without_two(before, after, odds[free], gaps[free], size)
        both = np.outer(odds[free], odds[free]) * ((gaps[free, None] + gaps[free]) * sums + weighed)
        self._rows[np.ix_(row, small[free])] += factor * both


def _core(whole: Sums, power: Ints, size: int) -> Floats:
    """How columns are multiplied with each other: coefficients by the sum of their powers."""
    rest = size - 2 - power[:, None] - power
    other, one = (np.where(rest >= 0, sums[np.maximum(rest, 0)], 0.0) for sums in whole)
    return np.block([[one, other], [other, np.zeros_like(one)]])


def _terms(odds: float, sums: Floats, size: int) -> int:
    """How many powers of odds matter: what they are multiplied with falls ever faster, as sums over sets do."""
    power = np.arange(size - 1)
    ratio = (sums[:, size - 2 - power] / sums[:, size - 2, None]).max(axis=0)
    return max(1, int(np.count_nonzero(odds**power * ratio * (power + 1) > NEGLIGIBLE)))


def _split(rare: Sums, odds: Floats, gaps: Floats, size: int) -> tuple[Sums, Sums]:
    """For each number of heads, from none to all: sums with the rare values and so many of the first heads; and
    with all heads but so many of the first."""
    before, after = [rare], [_nothing(size)]
    for one, gap in zip(odds.tolist(), gaps.tolist(), strict=True):
        before.append(_with(before[-1], one, gap))
    for one, gap in zip(odds[::-1].tolist(), gaps[::-1].tolist(), strict=True):
        after.append(_with(after[-1], one, gap))
    return _stacked(before), _stacked(after[::-1])


def _without_two(before: Sums, after: Sums, odds: Floats, gaps: Floats, size: int) -> Sums:
    """For each two heads the sums over sets of `size` - 2 values without them; nothing is ever taken off."""
    count = odds.size
    found = np.zeros((count, count)), np.zeros((count, count))
    # What is before the first of the two, and between them and the second one, which is `apart` places on.
    inside = _rows(before, slice(0, -1))
    for apart in range(1, count):
        inside = _rows(inside, slice(0, count - apart))
        first = np.arange(count - apart)
        second = first + apart
        behind = after[0][second + 1, size - 2 :: -1], after[1][second + 1, size - 2 :: -1]
        sums, weighed = inside[0][:, : size - 1], inside[1][:, : size - 1]
        for both, value in (
            (found[0], np.einsum("ij,ij->i", sums, behind[0])),
            (found[1], np.einsum("ij,ij->i", weighed, behind[0]) + np.einsum("ij,ij->i", sums, behind[1])),
        ):
            both[first, second] = both[second, first] = value
        inside = _with(inside, odds[second, None], gaps[second, None])
    return found


def _with(sums: Sums, odds: Floats | float, gaps: Floats | float) -> Sums:
    """With one value more to choose from; the last axis counts values."""
    ways, weighed = sums[0].copy(), sums[1].copy()
    ways[..., 1:] += odds * sums[0][..., :-1]
    weighed[..., 1:] += odds * (sums[1][..., :-1] + gaps * sums[0][..., :-1])
    return ways, weighed


def _times(one: Sums, other: Sums, size: int) -> Sums:
    """Sums over sets of values of both, up to `size` of them."""
    wide = min(one[0].shape[-1] + other[0].shape[-1] - 1, size + 1)
    shape = (*one[0].shape[:-1], wide)
    sums, weighed = np.zeros(shape), np.zeros(shape)
    for k in range(min(one[0].shape[-1], wide)):
        part = slice(0, min(other[0].shape[-1], wide - k))
        to = slice(k, k + part.stop)
        ways, weight = one[0][..., k, None], one[1][..., k, None]
        sums[..., to] += ways * other[0][..., part]
        weighed[..., to] += ways * other[1][..., part] + weight * other[0][..., part]
    return sums, weighed


def _all_sums(odds: Floats, gaps: Floats, size: int) -> Sums:
    """Sums over sets of all values, in pairs, pairs of pairs and so on."""
    if not odds.size:
        return _nothing(size)
    found = np.column_stack([np.ones(odds.size), odds]), np.column_stack([np.zeros(odds.size), odds * gaps])
    while (count := len(found[0])) > 1:
        even = count & ~1
        pairs = _times(_rows(found, slice(0, even, 2)), _rows(found, slice(1, even, 2)), size)
        last = (_padded(sums[even:], pairs[0].shape[1]) for sums in found)
        found = np.vstack([pairs[0], next(last)]), np.vstack([pairs[1], next(last)])
    return _padded(found[0], size + 1)[0], _padded(found[1], size + 1)[0]


def _nothing(size: int) -> Sums:
    return np.eye(1, size + 1)[0], np.zeros(size + 1)


def _rows(sums: Sums, rows: slice) -> Sums:
    return sums[0][rows], sums[1][rows]


def _stacked(many: list[Sums]) -> Sums:
    return np.stack([sums[0] for sums in many]), np.stack([sums[1] for sums in many])


def _padded(sums: Floats, wide: int) -> Floats:
    return np.pad(sums, ((0, 0), (0, wide - sums.shape[1])))
