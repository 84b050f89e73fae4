"""Compiled sums over all ways to give the values of a group out among its members."""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel


@kernel
def sum_ways(
    weights: Any,
    counts: Any,
    entry_starts: Any,
    value_starts: Any,
    chosen: Any,
    marginals: Any,
    totals: Any,
) -> None:
    """For the chosen groups how likely each member is to have each value, and the logarithm of all ways together.

    The entries of a group are its members in turn, each with all values of the group; `weights` says how well the two
    fit. A state is how many of each value the first members have, as a number in mixed radix: so it also says
    how many members those are, and later states have larger numbers.
    """
    for at in range(chosen.size):
        group = chosen[at]
        first, begin = entry_starts[group], value_starts[group]
        held = value_starts[group + 1] - begin
        strides = np.empty(held + 1, dtype=np.int64)
        strides[0] = 1
        for value in range(held):
            strides[value + 1] = strides[value] * (counts[begin + value] + 1)
        states = strides[held]
        ahead, behind = np.zeros(states), np.zeros(states)
        ahead[0], behind[states - 1] = 1.0, 1.0
        given = np.zeros(held, dtype=np.int64)
        member = np.int64(0)
        for state in range(states - 1):
            if ahead[state] > 0.0:
                for value in range(held):
                    if given[value] < counts[begin + value]:
                        ahead[state + strides[value]] += ahead[state] * weights[first + member * held + value]
            # The next state: count on, and carry.
            value = 0
            while given[value] == counts[begin + value]:
                member -= given[value]
                given[value] = 0
                value += 1
            given[value] += 1
            member += 1
        total = ahead[states - 1]
        totals[at] = np.log(total) if total > 0.0 else -np.inf
        if total <= 0.0:
            continue
        for state in range(states - 2, -1, -1):
            value = 0
            while given[value] == 0:
                given[value] = counts[begin + value]
                member += given[value]
                value += 1
            given[value] -= 1
            member -= 1
            for value in range(held):
                if given[value] < counts[begin + value]:
                    entry = first + member * held + value
                    share = weights[entry] * behind[state + strides[value]]
                    behind[state] += share
                    marginals[entry] += ahead[state] * share / total
