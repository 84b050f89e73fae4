"""How varied the values of each group are: the figures behind k, l, t and their relatives.

Every function takes a table of counts (a `PublishedGroups`, or anything with the same three arrays) and
gives one figure for each group. Nothing loops over groups, and nothing builds a matrix of groups by
values: the work grows with the number of counts stored.

A group that publishes nothing has no distinct values, no entropy, no range and no distance to anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from reissue.arrays.runs import owners
from reissue.arrays.types import Floats, Ints

Number = TypeVar("Number", np.int64, np.float64)

TOLERANCE = 1e-9
"""Entropies, distances and products with a fractional parameter are floating-point sums. A figure closer
to its limit than this (relative to the limit for products) counts as lying on it."""


BLOCK = 1 << 15
"""How many counts are worked on at a time where several passes over them are needed."""


class CountTable(Protocol):
    """How often each value occurs in each group, stored group after group."""

    @property
    def values(self) -> Ints:
        """Positions in the list of values, each at most once in a group."""

    @property
    def counts(self) -> Ints:
        """How often the value at the same place occurs, at least once."""

    @property
    def value_starts(self) -> Ints:
        """Where each group begins, with one entry more than there are groups."""


def totals(table: CountTable) -> Ints:
    """How many values each group publishes, repeated ones included."""
    return _per_group(np.add, table.counts, table.value_starts)


def distinct(table: CountTable) -> Ints:
    """How many different values each group publishes."""
    return np.diff(table.value_starts)


def largest(table: CountTable) -> Ints:
    """How often the most frequent value of each group occurs."""
    return _per_group(np.maximum, table.counts, table.value_starts)


def largest_of_sets(table: CountTable, sets: Collection[Collection[int]]) -> Ints:
    """For each group the largest number of rows that fall into one of the sets of value positions."""
    top = np.zeros(table.value_starts.size - 1, dtype=np.int64)
    domain = _domain(table)
    # Sets of one value need no adding up, so all of them share one pass over the counts.
    alone = np.zeros(domain, dtype=bool)
    for members in sets:
        inside = np.fromiter((value for value in set(members) if value < domain), dtype=np.int64)
        if inside.size == 1:
            alone[inside] = True
        elif inside.size:
            weight = np.zeros(domain, dtype=np.int64)
            weight[inside] = 1
            held = _per_group(np.add, weight[table.values] * table.counts, table.value_starts)
            np.maximum(top, held, out=top)
    if alone.any():
        counts = np.where(alone[table.values], table.counts, 0)
        np.maximum(top, _per_group(np.maximum, counts, table.value_starts), out=top)
    return top


def entropy(table: CountTable) -> Floats:
    """Shannon's entropy of each group, in nats."""
    # H = log n - (sum of c log c) / n divides once per group, so equal counts lose next to nothing.
    size = totals(table).astype(np.float64)
    counts = table.counts.astype(np.float64)
    weighted = _per_group(np.add, counts * np.log(counts), table.value_starts)
    size[size == 0] = 1.0
    return np.maximum(np.log(size) - weighted / size, 0.0)


def head_and_tail(table: CountTable, l: int) -> tuple[Ints, Ints]:  # noqa: E741
    """With counts r_1 >= r_2 >= ... r_m: for each group r_1, and r_l + ... + r_m (0 where l > m)."""
    head = largest(table)
    tail = np.zeros_like(head)
    for groups, block in _blocks(table):
        # One key orders by group, then by falling count: a single sort of integers does all groups.
        span = int(block.counts.max()) + 1
        group = owners(np.diff(block.value_starts))
        first = group * span
        keys = first + (span - 1 - block.counts)
        keys.sort()
        falling = span - 1 - (keys - first)
        rank = np.arange(falling.size, dtype=np.int64) - block.value_starts[group]
        falling[rank < l - 1] = 0
        tail[groups] = _per_group(np.add, falling, block.value_starts)
    return head, tail


def variation_distance(table: CountTable) -> Floats:
    """Total variation distance of each group's distribution to that of all groups together."""
    distance = np.zeros(table.value_starts.size - 1)
    overall = _overall(table)
    overall_share = overall / max(int(overall.sum()), 1)
    for groups, block in _blocks(table):
        share = block.counts / np.repeat(totals(block), np.diff(block.value_starts))
        # Half the sum of |p - q| is the sum of p - q where p is larger, which is never outside the group.
        excess = np.maximum(share - overall_share[block.values], 0.0)
        distance[groups] = _per_group(np.add, excess, block.value_starts)
    return distance


def ordered_distance(table: CountTable) -> Floats:
    """Earth mover's distance of each group to all groups together, for values that have an order.

    Moving a row from the i-th to the j-th of the m values that occur costs |i - j| / (m - 1). The distance
    is then the sum of |difference of the cumulative distributions| / (m - 1) (Li et al. 2007).
    """
    distance = np.zeros(table.value_starts.size - 1)
    overall = _overall(table)
    occurs = overall > 0
    m = int(np.count_nonzero(occurs))
    if m < 2:
        return distance
    position = np.cumsum(occurs) - 1
    cumulative = np.cumsum(overall[occurs]) / overall.sum()
    for groups, block in _blocks(table):
        distance[groups] = _staircase_distance(block, position, cumulative) / (m - 1)
    return distance


def _staircase_distance(table: CountTable, position: Ints, cumulative: Floats) -> Floats:
    """The sum of |difference| between each group's cumulative distribution and the one given.

    A group's own is a staircase: it stands at `height` from the position of one of its values up to the
    next. Over such a step the other one only rises, so it crosses the step at most once, and sums of it
    before each position (`below`) give both sides without visiting the positions in between.
    """
    m = cumulative.size
    starts = table.value_starts
    group = owners(np.diff(starts))
    place, counts = _ascending(position[table.values], table.counts, group)
    below = np.concatenate(([0.0], np.cumsum(cumulative)))

    running = np.cumsum(counts)
    before = np.concatenate(([0], running))[starts]
    height = (running - before[group]) / np.diff(before)[group]
    last = np.append(group[1:] != group[:-1], True)
    end = np.where(last, m, np.append(place[1:], m))

    gap = np.abs(height * (end - place) - (below[end] - below[place]))
    crossed = np.flatnonzero((height > cumulative[place]) & (height < cumulative[end - 1]))
    low, high, step = place[crossed], end[crossed], height[crossed]
    crossing = np.searchsorted(cumulative, step)
    gap[crossed] = step * (2 * crossing - low - high) + below[low] + below[high] - 2 * below[crossing]

    filled = starts[:-1] < starts[1:]
    distance = _per_group(np.add, gap, starts)
    distance[filled] += below[place[starts[:-1][filled]]]
    return distance


def extent(table: CountTable, magnitudes: Floats) -> Floats:
    """Largest minus smallest number of each group. A missing value (NaN) has no magnitude and is left out."""
    numbers = magnitudes[table.values]
    top = _per_group(np.fmax, numbers, table.value_starts)
    spread = top - _per_group(np.fmin, numbers, table.value_starts)
    spread[np.isnan(spread)] = 0.0
    return spread


def _per_group(operation: np.ufunc, entries: npt.NDArray[Number], starts: Ints) -> npt.NDArray[Number]:
    """Reduce the entries of each group with `operation`; 0 for a group without entries."""
    reduced = np.zeros(starts.size - 1, dtype=entries.dtype)
    # `reduceat` gives a wrong figure for an empty slice, and nothing lies between the other slices.
    filled = starts[:-1] < starts[1:]
    if entries.size:
        reduced[filled] = operation.reduceat(entries, starts[:-1][filled])
    return reduced


@dataclass(frozen=True)
class _Block:
    """The counts of some neighbouring groups."""

    values: Ints
    counts: Ints
    value_starts: Ints


def _blocks(table: CountTable) -> Iterator[tuple[slice, _Block]]:
    """Cut the table into runs of groups whose working arrays fit the processor's cache."""
    starts = table.value_starts
    first = 0
    while first < starts.size - 1:
        after = int(np.searchsorted(starts, starts[first] + BLOCK, side="right")) - 1
        after = max(after, first + 1)
        low, high = int(starts[first]), int(starts[after])
        if high > low:
            entries = slice(low, high)
            block = _Block(table.values[entries], table.counts[entries], starts[first : after + 1] - low)
            yield slice(first, after), block
        first = after


def _domain(table: CountTable) -> int:
    return int(table.values.max()) + 1 if table.values.size else 0


def _overall(table: CountTable) -> Ints:
    """How often each value occurs in all groups together."""
    # Sums of counts stay far below 2**53, where floats are exact.
    return np.bincount(table.values, weights=table.counts).astype(np.int64)


def _ascending(position: Ints, counts: Ints, group: Ints) -> tuple[Ints, Ints]:
    """The entries of each group by rising position; most tables are stored like that already."""
    rising = (position[1:] > position[:-1]) | (group[1:] != group[:-1])
    if rising.all():
        return position, counts
    order = np.lexsort((position, group))
    return position[order], counts[order]
