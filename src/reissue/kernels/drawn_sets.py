"""Compiled passes of Sampford's design: sums over sets of values, and the sets that people are shown.

Small values stand at places 0, 1, ...; each has odds, lambda = pi / (1 - pi), and a gap, 1 - pi. A set T of them weighs
(product of its odds) (sum of its gaps). A table has for each number k and place j two sums over all T of k values at
place j or later, `table[k, j]`: of the products of odds, and of the weights. With them a set that also has other
values, whose gaps are `gap` together, is drawn place after place, one random number for each value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel

UNIT = 2.0**-53
"""Random words are read as multiples of it below 1."""
DROPPED = np.uint64(11)
"""So many bits of a word are not read."""
NEAR_BY = 64
"""So many places of a table are in the processor's nearest memory."""


@kernel
def sum_over_sets(odds: Any, gaps: Any, sizes: Any, without: Any, tables: Any) -> None:
    """Fill tables: each with the odds and gaps in the row that `sizes` says, and without one place, or none (-1)."""
    most, places = tables.shape[1] - 1, tables.shape[2] - 1
    for one in range(sizes.size):
        table, size = tables[one], sizes[one]
        for place in range(places + 1):
            table[0, place, 0], table[0, place, 1] = 1.0, 0.0
        for k in range(1, most + 1):
            table[k, places, 0] = table[k, places, 1] = 0.0
            for place in range(places - 1, -1, -1):
                ways, weight = table[k, place + 1, 0], table[k, place + 1, 1]
                if place != without[one]:
                    fewer, lighter = table[k - 1, place + 1, 0], table[k - 1, place + 1, 1]
                    ways += odds[size, place] * fewer
                    weight += odds[size, place] * (lighter + gaps[size, place] * fewer)
                table[k, place, 0], table[k, place, 1] = ways, weight


@kernel
def draw_sets(
    codes: Any,
    words: Any,
    chosen: Any,
    place_of: Any,
    small: Any,
    large: Any,
    taken: Any,
    joint: Any,
    chances: Any,
    size_of: Any,
    certain: Any,
    free: Any,
    gaps: Any,
    table_of: Any,
    whole: Any,
    tables: Any,
    sets: Any,
    waiting: Any,
) -> int:
    """A set for each row, ascending; how many rows had too few words is returned, and which ones is in `waiting`.

    `chosen` has the combination of large values, or -1 where it is still to be drawn, with the first word: somebody
    who is asked again must keep it. `place_of` a value is its place among small ones, or -1 - its number among large
    ones. `chances` add up: in the first row for somebody with a small value, then a row for each large one. By the
    number of slots a combination leaves (`size_of`): the values that are then in every set (-1 behind them), how many
    more are drawn (`free`), and of each small value the table for somebody who has it, which need not be without it.
    """
    undone, width, m, places = 0, words.shape[1], sets.shape[1], small.size
    for row in range(codes.size):
        place, at = place_of[codes[row]], 0
        if chosen[row] < 0:
            level, kind = float(words[row, 0] >> DROPPED) * UNIT, max(0, -place)
            low, high = -1, joint.shape[0] - 1
            while high - low > 1:
                middle = (low + high) // 2
                if chances[kind, middle] > level:
                    high = middle
                else:
                    low = middle
            chosen[row], at = high, 1
        combination = chosen[row]
        size = size_of[combination]
        begin = 0
        for one in range(large.size):
            if joint[combination, one]:
                for _ in range(taken[one]):
                    sets[row, begin] = large[one]
                    begin += 1
        for one in range(certain.shape[1]):
            if certain[size, one] < 0:
                break
            sets[row, begin] = certain[size, one]
            begin += 1
        table, own, wanted, first = tables[whole[size]], -1, free[size], 0.0
        if place >= 0 and table_of[size, place] >= 0:
            table, own, wanted, first = tables[table_of[size, place]], place, free[size] - 1, gaps[size, place]
            sets[row, begin] = codes[row]
            begin += 1
        done = False
        # Whether there is another try depends on the words that were read, never on those that follow.
        while not done and width - at >= wanted:
            done, gap, start = True, first, 0
            for k in range(wanted, 0, -1):
                level = float(words[row, at] >> DROPPED) * UNIT * (gap * table[k, start, 0] + table[k, start, 1])
                at += 1
                low, among = start, places - k + 1 - start
                # Without branches, and then three places at a time: what takes long is to wait for each.
                while among > NEAR_BY:
                    step = among >> 1
                    low += step * int(gap * table[k, low + step, 0] + table[k, low + step, 1] > level)
                    among -= step
                while among > 3:
                    step = among >> 2
                    one, two, three = low + step, low + 2 * step, low + 3 * step
                    low += step * (
                        int(gap * table[k, one, 0] + table[k, one, 1] > level)
                        + int(gap * table[k, two, 0] + table[k, two, 1] > level)
                        + int(gap * table[k, three, 0] + table[k, three, 1] > level)
                    )
                    among -= 3 * step
                while among > 1:
                    low += int(gap * table[k, low + 1, 0] + table[k, low + 1, 1] > level)
                    among -= 1
                if low == own:
                    done = False
                    break
                sets[row, begin + wanted - k] = small[low]
                gap += gaps[size, low]
                start = low + 1
        if not done:
            waiting[undone] = row
            undone += 1
            continue
        for end in range(1, m):
            value, back = sets[row, end], end
            while back > 0 and sets[row, back - 1] > value:
                sets[row, back] = sets[row, back - 1]
                back -= 1
            sets[row, back] = value
    return undone
