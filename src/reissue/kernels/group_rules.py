"""What every group must satisfy, compiled: the rules and the test whether a segment of rows keeps them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner
from reissue.kernels.sorting import sort


class Rules(NamedTuple):
    """What every group must satisfy. A rule that is not asked for has a value that nothing fails."""

    smallest: int
    """No satisfying group is smaller."""
    distinct: int
    """At least so many distinct values."""
    plain: bool
    """Whether nothing else is asked for; then values are looked at only until there are enough."""
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


class Held(NamedTuple):
    """The values of rows that are put together where they agree in everything else: the runs of each place."""

    starts: npt.NDArray[np.int64]
    """Where the runs of each place begin, and where the last ones end; empty where every row stands for itself."""
    values: npt.NDArray[np.int32]
    """The values of a place, each once."""
    counts: npt.NDArray[np.int32]
    """How many of the rows have the value."""


def by_itself() -> Held:
    """For rows that each stand for themselves, with their value in the last column."""
    none = np.zeros(0, dtype=np.int32)
    return Held(np.zeros(0, dtype=np.int64), none, none)


@inner
def count_values(
    cells: Any, index: Any, low: int, high: int, starts: Any, values: Any, amounts: Any, enough: int, counts: Any,
    seen: Any,
) -> int:  # fmt: skip
    """Count the values in the cells from `low` to `high` until there are `enough` different ones; how many there are.

    `starts`, `values` and `amounts` are those of `Held`. `counts` is all zero before; `seen` says where it is not any
    more.
    """
    column = cells.shape[1] - 1
    distinct = 0
    for row in range(low, high):
        if distinct >= enough:
            break
        if starts.size == 0:
            value = np.int64(cells[row, column])
            if counts[value] == 0:
                seen[distinct] = value
                distinct += 1
            counts[value] += 1
            continue
        place = index[row]
        for run in range(starts[place], starts[place + 1]):
            value = np.int64(values[run])
            if counts[value] == 0:
                seen[distinct] = value
                distinct += 1
            counts[value] += amounts[run]
    return distinct


@inner
def has_different(
    cells: Any, index: Any, low: int, high: int, starts: Any, values: Any, amounts: Any, enough: int, counts: Any,
    seen: Any,
) -> bool:  # fmt: skip
    """Whether the cells have `enough` different values. `counts` is all zero before and after."""
    distinct = count_values(cells, index, low, high, starts, values, amounts, enough, counts, seen)
    for position in range(distinct):
        counts[seen[position]] = 0
    return distinct >= enough


@inner
def satisfied(
    cells: Any, index: Any, low: int, high: int, size: int, held: Any, rules: Any, counts: Any, seen: Any
) -> bool:
    """Whether `size` rows, in cells `low` to `high`, satisfy every rule. `counts` is all zero before and after."""
    if size < rules.smallest:
        return False
    enough = rules.distinct if rules.plain else counts.size + 1
    distinct = count_values(cells, index, low, high, held.starts, held.values, held.counts, enough, counts, seen)
    verdict = distinct >= rules.distinct and (rules.plain or _holds(size, distinct, rules, counts, seen))
    for position in range(distinct):
        counts[seen[position]] = 0
    return verdict


@inner
def _holds(size: int, distinct: int, rules: Any, counts: Any, seen: Any) -> bool:
    """Whether values that occur as counted keep to the rules about how often they occur, and which they are."""
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
        sort(largest_first)
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
