"""Compiled passes over the compatible classes of two releases: what newcomers can have, and what classes share.

Classes of each side are numbered from 0; their values lie class after class, each at most once in a class. Links are
stored for both sides: the classes of the other side that each one is compatible with, and a weight for each link.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel

ITSELF, COMPONENT = -1, -2
"""Which classes were put together: the newcomer's alone, or all that hang together. Otherwise those compatible with
one class of the other release, which is given."""


@kernel
def newcomer_sets(
    values: Any,
    counts: Any,
    starts: Any,
    their_values: Any,
    their_counts: Any,
    their_starts: Any,
    links: Any,
    weights: Any,
    link_starts: Any,
    their_links: Any,
    their_weights: Any,
    their_link_starts: Any,
    totals: Any,
    wanted: Any,
    value_count: int,
    distinct: Any,
    why: Any,
    amounts: Any,
) -> None:
    """For each class wanted the smallest set of values that somebody new in it can have.

    Classes D that contain the newcomer's are put together, and the classes O of the other release taken away whose
    people are all in D: those whose links to D weigh as much as `totals` says. What is left of the values of D
    contains the newcomer's. `amounts` says how often each value of the class is left, at most as often as it has
    it; `distinct` how many are left at all, and starts above all counts; `why` which D it was.
    """
    extra = np.zeros(value_count, np.int64)
    weight = np.zeros(their_starts.size - 1, np.int64)
    there = np.empty(their_starts.size - 1, np.int64)
    classes = starts.size - 1
    # The newcomer's own class.
    for one in range(classes):
        if not wanted[one]:
            continue
        for entry in range(starts[one], starts[one + 1]):
            extra[values[entry]] += counts[entry]
        for link in range(link_starts[one], link_starts[one + 1]):
            other = links[link]
            if weights[link] == totals[other]:
                for entry in range(their_starts[other], their_starts[other + 1]):
                    extra[their_values[entry]] -= their_counts[entry]
        _consider(one, ITSELF, values, counts, starts, extra, distinct, why, amounts)
        for entry in range(starts[one], starts[one + 1]):
            extra[values[entry]] = 0
        for link in range(link_starts[one], link_starts[one + 1]):
            other = links[link]
            if weights[link] == totals[other]:
                for entry in range(their_starts[other], their_starts[other + 1]):
                    extra[their_values[entry]] = 0
    # The classes that are compatible with one of the other release.
    for middle in range(their_starts.size - 1):
        begin, end = their_link_starts[middle], their_link_starts[middle + 1]
        several = False
        for link in range(begin, end):
            several |= wanted[their_links[link]]
        if end - begin < 2 or not several:
            continue
        away = 0
        for link in range(begin, end):
            one = their_links[link]
            for back in range(link_starts[one], link_starts[one + 1]):
                other = links[back]
                weight[other] += weights[back]
                if weight[other] == totals[other]:
                    there[away] = other
                    away += 1
        for link in range(begin, end):
            one = their_links[link]
            for back in range(link_starts[one], link_starts[one + 1]):
                weight[links[back]] = 0
        if away == 0:
            continue  # nothing is taken away, so that all values of each class are left
        for link in range(begin, end):
            one = their_links[link]
            for entry in range(starts[one], starts[one + 1]):
                extra[values[entry]] += counts[entry]
        for at in range(away):
            for entry in range(their_starts[there[at]], their_starts[there[at] + 1]):
                extra[their_values[entry]] -= their_counts[entry]
        for link in range(begin, end):
            one = their_links[link]
            if wanted[one]:
                _consider(one, middle, values, counts, starts, extra, distinct, why, amounts)
        for link in range(begin, end):
            one = their_links[link]
            for entry in range(starts[one], starts[one + 1]):
                extra[values[entry]] = 0
        for at in range(away):
            for entry in range(their_starts[there[at]], their_starts[there[at] + 1]):
                extra[their_values[entry]] = 0
    # Everything that hangs together.
    seen, their_seen = np.zeros(classes, np.bool_), np.zeros(their_starts.size - 1, np.bool_)
    here = np.empty(classes, np.int64)
    for first in range(classes):
        if seen[first]:
            continue
        seen[first] = True
        here[0] = first
        size, theirs, at = 1, 0, 0
        while at < size:
            for link in range(link_starts[here[at]], link_starts[here[at] + 1]):
                other = links[link]
                if their_seen[other]:
                    continue
                their_seen[other] = True
                there[theirs] = other
                theirs += 1
                for back in range(their_link_starts[other], their_link_starts[other + 1]):
                    if not seen[their_links[back]]:
                        seen[their_links[back]] = True
                        here[size] = their_links[back]
                        size += 1
            at += 1
        if size == 1:
            continue
        for at in range(size):
            for entry in range(starts[here[at]], starts[here[at] + 1]):
                extra[values[entry]] += counts[entry]
        for at in range(theirs):
            total = 0
            for back in range(their_link_starts[there[at]], their_link_starts[there[at] + 1]):
                total += their_weights[back]
            if total == totals[there[at]]:
                for entry in range(their_starts[there[at]], their_starts[there[at] + 1]):
                    extra[their_values[entry]] -= their_counts[entry]
        for at in range(size):
            if wanted[here[at]]:
                _consider(here[at], COMPONENT, values, counts, starts, extra, distinct, why, amounts)
        for at in range(size):
            for entry in range(starts[here[at]], starts[here[at] + 1]):
                extra[values[entry]] = 0
        for at in range(theirs):
            for entry in range(their_starts[there[at]], their_starts[there[at] + 1]):
                extra[their_values[entry]] = 0


@inner
def _consider(
    one: int, reason: int, values: Any, counts: Any, starts: Any, extra: Any, distinct: Any, why: Any, amounts: Any
) -> None:
    """Keep what is left of the values of a class if it is fewer than before."""
    left = 0
    for entry in range(starts[one], starts[one + 1]):
        left += extra[values[entry]] > 0
    if left >= distinct[one]:
        return
    distinct[one], why[one] = left, reason
    for entry in range(starts[one], starts[one + 1]):
        amounts[entry] = min(max(extra[values[entry]], 0), counts[entry])


@kernel
def shared_values(
    first: Any,
    second: Any,
    values: Any,
    counts: Any,
    starts: Any,
    their_values: Any,
    their_counts: Any,
    their_starts: Any,
    value_count: int,
    distinct: Any,
    amount: Any,
    exposed: Any,
    below: int,
) -> None:
    """For pairs of classes, ascending by first: how many values both have, and how often at most.

    To `exposed` is added, for each value of each class of the second side, how often it is shared with classes that
    share fewer than `below` distinct values with that class.
    """
    held = np.zeros(value_count, np.int64)
    last = -1
    for pair in range(first.size):
        if first[pair] != last:
            if last >= 0:
                for entry in range(starts[last], starts[last + 1]):
                    held[values[entry]] = 0
            last = first[pair]
            for entry in range(starts[last], starts[last + 1]):
                held[values[entry]] = counts[entry]
        for entry in range(their_starts[second[pair]], their_starts[second[pair] + 1]):
            if held[their_values[entry]]:
                distinct[pair] += 1
                amount[pair] += min(held[their_values[entry]], their_counts[entry])
        if distinct[pair] < below:
            for entry in range(their_starts[second[pair]], their_starts[second[pair] + 1]):
                exposed[entry] += min(held[their_values[entry]], their_counts[entry])
