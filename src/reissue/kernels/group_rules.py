"""What every group must satisfy, compiled: the rules and the test whether a segment of rows keeps them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Rules(NamedTuple):
    """What every group must satisfy. A rule that is not asked for has a value that nothing fails."""

    smallest: int
    """No satisfying group is smaller."""
    distinct: int
    """At least so many distinct values."""
    entropy: float
    """At least this entropy, in nats."""
    recursive_c: npt.NDArray[np.float64]
    recursive_l: npt.NDArray[np.int64]
    """For each pair: the largest count is below c times the sum of counts from the l-th largest on."""
    share: float
    """The largest count times this is at most the size."""
    protected: npt.NDArray[np.bool_]
    """Sets of values (one row each, one column per value)."""
    protected_share: npt.NDArray[np.float64]
    """For each set: its count times this is at most the size."""
    variation: float
    """At most this total variation distance to `overall`."""
    ordered: float
    """At most this ordered earth mover's distance to `overall`."""
    extent: float
    """The values span at least this much of `magnitude`."""
    overall: npt.NDArray[np.float64]
    """The distribution of values in the whole table."""
    magnitude: npt.NDArray[np.float64]
    """The values as numbers, ascending."""


@njit(cache=True, nogil=True)
def satisfied(cells: Any, low: int, high: int, rules: Any, counts: Any, seen: Any) -> bool:
    """Whether the rows from `low` to `high` satisfy every rule. `counts` is all zero before and after."""
    size = high - low
    if size < rules.smallest:
        return False
    column = cells.shape[1] - 1
    distinct = 0
    for row in range(low, high):
        value = cells[row, column]
        if counts[value] == 0:
            seen[distinct] = value
            distinct += 1
        counts[value] += 1
    verdict = _holds(size, distinct, rules, counts, seen)
    for position in range(distinct):
        counts[seen[position]] = 0
    return verdict


@njit(cache=True, nogil=True)
def _holds(size: int, distinct: int, rules: Any, counts: Any, seen: Any) -> bool:
    if distinct < rules.distinct:
        return False
    if rules.share > 1.0:
        for position in range(distinct):
            if counts[seen[position]] * rules.share > size:
                return False
    if rules.entropy > 0.0:
        weighted = 0.0
        for position in range(distinct):
            count = counts[seen[position]]
            weighted += count * np.log(count)
        if np.log(size) - weighted / size < rules.entropy:
            return False
    for which in range(rules.protected_share.size):
        count = 0
        for position in range(distinct):
            if rules.protected[which, seen[position]]:
                count += counts[seen[position]]
        if count * rules.protected_share[which] > size:
            return False
    if rules.recursive_l.size:
        largest_first = np.empty(distinct, np.int64)
        for position in range(distinct):
            largest_first[position] = -counts[seen[position]]
        largest_first.sort()
        for which in range(rules.recursive_l.size):
            rest = 0
            for position in range(rules.recursive_l[which] - 1, distinct):
                rest -= largest_first[position]
            if not -largest_first[0] < rules.recursive_c[which] * rest:
                return False
    if rules.variation < 1.0:
        excess = 0.0
        for position in range(distinct):
            difference = counts[seen[position]] / size - rules.overall[seen[position]]
            if difference > 0.0:
                excess += difference
        if excess > rules.variation:
            return False
    if rules.ordered < 1.0:
        moved = 0.0
        surplus = 0.0
        for value in range(rules.overall.size - 1):
            surplus += counts[value] / size - rules.overall[value]
            moved += abs(surplus)
        if moved > rules.ordered * (rules.overall.size - 1):
            return False
    if rules.extent > 0.0:
        least = seen[0]
        most = seen[0]
        for position in range(1, distinct):
            least = min(least, seen[position])
            most = max(most, seen[position])
        if rules.magnitude[most] - rules.magnitude[least] < rules.extent:
            return False
    return True
