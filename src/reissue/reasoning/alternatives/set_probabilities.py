"""How probable sets are under a design: of one set, of a set given the true value, of two values in one set.

A set is a row of m values, one for each slot: a value with k slots stands in it k times.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.design import Design
from reissue.reasoning.alternatives.joint_inclusion import JointInclusion
from reissue.reasoning.alternatives.sampford import fillings

Sets = npt.NDArray[np.integer]

MOST_SETS = 1_000_000
SINGULAR = 1e12
"""A matrix with this condition number or more has no inverse to speak of."""


def probability(design: Design, sets: Sets) -> Floats:
    """The probability of each set, whatever the true value; 0 for one that cannot occur."""
    rows = np.sort(np.asarray(sets, dtype=np.int64), axis=1)
    every = fillings(design)
    sums = every.sums()
    held = np.column_stack([(rows == value).sum(axis=1) for value in design.large] or [np.empty((len(rows), 0))])
    combination = _combination_of(design, held > 0)
    possible = (combination >= 0) & ((held == 0) | (held == design.slots[design.large])).all(axis=1)
    place = np.full(design.values, -1)
    place[design.small] = np.arange(design.small.size)
    places = place[rows]
    found = np.zeros(len(rows))
    for index, size in enumerate(every.sizes):
        chosen = np.flatnonzero(possible & (every.size_of[combination] == index))
        inside = places[chosen][places[chosen] >= 0].reshape(chosen.size, size)
        drawn = ~every.certain[index][inside]
        different = (np.diff(inside, axis=1) > 0).all(axis=1) & (drawn.sum(axis=1) == every.free[index])
        weight = np.where(drawn, every.odds[index][inside], 1.0).prod(axis=1)
        if every.free[index]:
            weight *= every.gaps[index][inside].sum(axis=1)
        found[chosen] = design.weights[combination[chosen]] * different * weight / sums[index]
    return found


def probability_given(design: Design, sets: Sets, codes: Ints) -> Floats:
    """The probability of each set for somebody with this true value: P(S) slots / (m p), and 0 if it is not in S."""
    inside = (np.asarray(sets) == np.asarray(codes)[:, None]).any(axis=1)
    return np.where(inside, probability(design, sets) / design.inclusion[codes], 0.0)


def all_sets(design: Design) -> Ints:
    """Every set that can occur, ascending, for small designs."""
    every = fillings(design)
    drawn = [(~every.certain[index]).sum() for index in every.size_of]
    count = sum(comb(int(among), int(every.free[index])) for among, index in zip(drawn, every.size_of, strict=True))
    if count > MOST_SETS:
        raise ParameterError(
            f"The sets of a design are listed up to {MOST_SETS:,}. Got a design with {count_of(count, 'set')} instead."
        )
    rows: list[list[int]] = []
    for combination, index in zip(design.joint, every.size_of, strict=True):
        first = np.repeat(design.large[combination], design.slots[design.large[combination]]).tolist()
        first += design.small[every.certain[index]].tolist()
        free = design.small[~every.certain[index]].tolist()
        rows += (sorted([*first, *others]) for others in combinations(free, int(every.free[index])))
    return np.array(sorted(rows), dtype=np.int64).reshape(len(rows), design.m)


def pair_inclusion(design: Design) -> Floats:
    """For each two values the probability that both are in a set; on the diagonal that of one.

    P(v in S | true value u) is `pair_inclusion(design)[v, u] / design.inclusion[u]`.
    """
    pairs = JointInclusion(design).matrix()
    np.fill_diagonal(pairs, design.inclusion)
    return pairs


def design_effects(design: Design) -> Floats:
    """For each value how much larger the variance of its estimated share is than if everybody showed their value.

    Of the best unbiased estimate: with mu the posteriors that a set gives, its score is diag(p) E[mu mu']^-1 mu. No
    mechanism with the same limit has less than (1 - p) / (slots/m - p). Without end where sets do not tell at all.
    """
    p = design.shares
    second = pair_inclusion(design) * np.outer(design.limit, design.limit)
    scale = np.sqrt(np.diag(second))
    correlations = second / np.outer(scale, scale)
    if np.linalg.cond(correlations) > SINGULAR:
        inverse = np.full(p.size, np.inf)
    else:
        inverse = np.diag(np.linalg.inv(correlations)) / np.diag(second)
    return np.asarray(p * (inverse - 1) / (1 - p))


def _combination_of(design: Design, held: npt.NDArray[np.bool_]) -> Ints:
    """For each row the number of the combination of large values that it holds; -1 if there is none."""
    bits = 1 << np.arange(design.large.size)
    known, asked = design.joint @ bits, held @ bits
    order = np.argsort(known)
    found = order[np.searchsorted(known[order], asked).clip(max=known.size - 1)]
    return np.where(known[found] == asked, found, -1)
