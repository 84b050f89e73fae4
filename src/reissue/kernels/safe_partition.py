"""The compiled part of Cor-Partition (Riboni & Bettini 2009, Figures 5 and 6): groups unlike all earlier ones.

A bucket of s values comes as groups of s rows, value after value, those of one place after the other (`halving` makes
them so), and every row with the numbers of all earlier groups its tuple was in. A group of k tuples is hc-safe with
degree n when no earlier group has more than k - n of them, unless it has all (Figure 6).

Groups that are safe as they come, or after an exchange with neighbours, stay. Around the others Figure 5 is run, first
among a few neighbours, and with what finds no place among more and more of the bucket; merging and counterfeits come
last, when the bucket has been tried.

Of most groups that are not safe an earlier one has a tuple or two too many. Where one of these changes places with a
tuple of the same value from a group near by, both groups stay narrow; so this is tried before groups are dissolved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel
from reissue.kernels.hc_safety import Draws, drawn, new_table, one_of, shared, was_in

NEAR = 12
"""So many groups on either side are asked for a tuple."""
NEIGHBOURS = 4
"""So many groups around an unsafe one are dissolved; what is left over meets that of so many times as many."""
TRIES = 32
"""So many tuples are discarded for one candidate at most."""
WINDOW = 32
"""A group is merged with one of so many made before, counted from both sides."""
MERGED = 4
"""So many groups are put together at most."""
SHORT = 24
"""Up to so many rows are sorted by insertion."""


class Buckets(NamedTuple):
    """Buckets that are to be partitioned, as parallel arrays."""

    base: npt.NDArray[np.int64]
    """The first row of the bucket."""
    values: npt.NDArray[np.int64]
    """How many values its signature has."""
    height: npt.NDArray[np.int64]
    """How many rows each of them has."""
    degree: npt.NDArray[np.int64]
    """The n of its hc-safety."""
    first: npt.NDArray[np.int64]
    """The first of the random words that its choices are made with."""
    end: npt.NDArray[np.int64]
    """Where they end."""


class State(NamedTuple):
    """What goes on from candidate to candidate within a bucket."""

    draws: Draws
    last: npt.NDArray[np.int64]
    """The number of the last candidate; a single number."""


class Pool(NamedTuple):
    """Rows of a bucket that have no group, listed along every attribute; each with scratch space of its own."""

    lists: npt.NDArray[np.int64]
    """For each attribute the rows, value after value, each value's in the order of the attribute."""
    begin: npt.NDArray[np.int64]
    """Where a value's rows begin; one entry more than there are values."""
    heads: npt.NDArray[np.int64]
    """For each attribute and value, where the first row may be that is not taken."""
    taken: npt.NDArray[np.bool_]
    """For each row of the bucket whether it has a group."""
    passed: npt.NDArray[np.int64]
    """For each row of the bucket the last candidate that it was taken for, be it discarded or not."""


@kernel
def semiperimeter(members: Any, count: int, cells: Any, lines: Any) -> float:
    """The sum of the extents of the box around some rows, each as a share of the attribute's domain."""
    total = 0.0
    for attribute in range(cells.shape[1]):
        least = most = np.int64(cells[members[0], attribute])
        for at in range(1, count):
            code = np.int64(cells[members[at], attribute])
            least = min(least, code)
            most = max(most, code)
        start = lines.start[attribute]
        total += (lines.position[start + most] - lines.position[start + least]) * lines.scale[attribute]
    return total


@kernel
def mend(number: int, grid: Any, n: int, cells: Any, lines: Any, starts: Any, past: Any, table: Any) -> bool:
    """Make a group safe by exchanging tuples, each where that widens the two groups least; whether it became so.

    `grid` has the row of each value of each group, and those near each other in space stand near each other. No other
    group becomes unsafe.
    """
    values = grid.shape[1]
    here = grid[number]
    for _ in range(n):
        group = shared(here, values, values, n, starts, past, table)
        if group < 0:
            return True
        best, chosen, whose, cured = np.inf, -1, -1, False
        own = semiperimeter(here, values, cells, lines)
        for other in range(max(number - NEAR, 0), min(number + NEAR + 1, grid.shape[0])):
            if other == number:
                continue
            there = grid[other]
            before = own + semiperimeter(there, values, cells, lines)
            for value in range(values):
                # One of the earlier group goes, or, where all but one are of it, the last of it comes.
                goes = was_in(here[value], group, starts, past)
                if goes == was_in(there[value], group, starts, past):
                    continue
                here[value], there[value] = there[value], here[value]
                wider = semiperimeter(here, values, cells, lines) + semiperimeter(there, values, cells, lines) - before
                if (wider < best or not cured) and shared(there, values, values, n, starts, past, table) < 0:
                    enough = shared(here, values, values, n, starts, past, table) < 0
                    # A single exchange that is enough goes before one that is not.
                    if (enough and not cured) or (enough == cured and wider < best and (enough or goes)):
                        best, chosen, whose, cured = wider, value, other, enough
                here[value], there[value] = there[value], here[value]
        if chosen < 0:
            return False
        here[chosen], grid[whose, chosen] = grid[whose, chosen], here[chosen]
    return shared(here, values, values, n, starts, past, table) < 0


@inner
def _listed(rows: Any, base: int, values: int, cells: Any, taken: Any, passed: Any) -> Any:
    """A pool of some rows."""
    width = cells.shape[1]
    begin = np.zeros(values + 1, np.int64)
    for row in rows:
        begin[(row - base) % values + 1] += 1
    for value in range(values):
        begin[value + 1] += begin[value]
    lists = np.empty((max(width, 1), rows.size), np.int64)
    heads = np.empty((lists.shape[0], values), np.int64)
    spare = np.empty(rows.size, np.int64)
    for attribute in range(lists.shape[0]):
        for value in range(values):
            heads[attribute, value] = begin[value]
        for row in rows:
            value = (row - base) % values
            lists[attribute, heads[attribute, value]] = row
            heads[attribute, value] += 1
        for value in range(values):
            if width:
                _sort(lists[attribute], begin[value], begin[value + 1], cells, attribute, spare)
            heads[attribute, value] = begin[value]
    return Pool(lists, begin, heads, taken, passed)


@inner
def _sort(rows: Any, low: int, high: int, cells: Any, attribute: int, spare: Any) -> None:
    """Bring some rows into the order of an attribute, those with equal codes as they stand.

    Short runs by insertion, then merged. numpy's sort would take longer to compile than all the rest.
    """
    for begin in range(low, high, SHORT):
        for at in range(begin + 1, min(begin + SHORT, high)):
            row, there = rows[at], at
            while there > begin and cells[rows[there - 1], attribute] > cells[row, attribute]:
                rows[there] = rows[there - 1]
                there -= 1
            rows[there] = row
    length = SHORT
    while length < high - low:
        for begin in range(low, high, 2 * length):
            middle, end = min(begin + length, high), min(begin + 2 * length, high)
            left, right = begin, middle
            for at in range(begin, end):
                # The left one first where codes are equal.
                if right == end or (left < middle and cells[rows[left], attribute] <= cells[rows[right], attribute]):
                    spare[at] = rows[left]
                    left += 1
                else:
                    spare[at] = rows[right]
                    right += 1
        for at in range(low, high):
            rows[at] = spare[at]
        length *= 2


@inner
def _first(pool: Any, attribute: int, value: int, base: int, token: Any) -> Any:
    """The first row of a value along an attribute that has no group and was not taken for the candidate; -1: none."""
    end = pool.begin[value + 1]
    place = pool.heads[attribute, value]
    while place < end and pool.taken[pool.lists[attribute, place] - base]:
        place += 1
    pool.heads[attribute, value] = place
    while place < end:
        row = pool.lists[attribute, place]
        if not pool.taken[row - base] and pool.passed[row - base] != token:
            return row
        place += 1
    return -1


@inner
def _candidate(pool: Any, attribute: int, base: int, values: int, members: Any) -> int:
    """createQIG: the first row of each value that has any; how many there are."""
    count = 0
    for value in range(values):
        row = _first(pool, attribute, value, base, -1)
        if row >= 0:
            members[count] = row
            count += 1
    return count


@inner
def _safe_candidate(
    pool: Any, attribute: int, base: int, values: int, sets: int, n: int, members: Any, starts: Any, past: Any,
    table: Any, state: Any,
) -> bool:  # fmt: skip
    """Lines 6 to 8: discard tuples, at random of those that an earlier group has too many of, until it is safe.

    The candidate has so many `sets` of the first rows of each value.
    """
    state.last[0] += 1
    token = state.last[0]
    size = sets * values
    for at in range(size):
        row = _first(pool, attribute, at % values, base, token)
        if row < 0:
            return False
        pool.passed[row - base] = token
        members[at] = row
    for _ in range(TRIES):
        group = shared(members, size, size, n, starts, past, table)
        if group < 0:
            return True
        at = one_of(members, size, group, starts, past, state.draws)
        row = _first(pool, attribute, at % values, base, token)
        if row < 0:
            return False
        pool.passed[row - base] = token
        members[at] = row
    return False


@inner
def _copy(source: Any, target: Any, count: int) -> None:
    """The first numbers, one by one: slices would take long to compile."""
    for at in range(count):
        target[at] = source[at]


class Made(NamedTuple):
    """The groups of a bucket so far, by number; those near each other in space have numbers near each other."""

    of: npt.NDArray[np.int64]
    """For each row of the bucket its group."""
    first: npt.NDArray[np.int64]
    """The first row of each group, counted from the bucket's first; -1 where there is no such group."""
    next: npt.NDArray[np.int64]
    """For each row of the bucket the next of its group; -1 at the end."""
    sets: npt.NDArray[np.int64]
    """How often a group has each value."""


@inner
def _place(made: Any, members: Any, count: int, sets: int, base: int, near: int, taken: Any) -> int:
    """Make a group of these rows, under the first number that is free from `near` on; that number."""
    number = near
    while made.first[number] >= 0:
        number = (number + 1) % made.first.size
    made.sets[number] = sets
    for at in range(count):
        row = members[at] - base
        taken[row] = True
        made.of[row] = number
        made.next[row] = made.first[number]
        made.first[number] = row
    return number


@inner
def _dissolve(made: Any, number: int, base: int, members: Any, filled: int) -> int:
    """Add the rows of a group to those there are, and have no such group; how many there are then."""
    row = made.first[number]
    while row >= 0:
        members[filled] = base + row
        filled += 1
        row = made.next[row]
    made.first[number] = -1
    return filled


@inner
def _regrouped(
    rows: Any, base: int, values: int, n: int, cells: Any, lines: Any, starts: Any, past: Any, made: Any, taken: Any,
    passed: Any, table: Any, state: Any, left: Any,
) -> int:  # fmt: skip
    """Figure 5 without merging and counterfeits; the rows that found no safe group go to `left`, as many of each value.

    Returns how many.
    """
    pool = _listed(rows, base, values, cells, taken, passed)
    sets = _fewest_sets(values, n)
    members, chosen = np.empty(sets * values, np.int64), np.empty(sets * values, np.int64)
    remaining, without = 0, rows.size // values
    while without > 0:
        best = np.inf
        for attribute in range(pool.lists.shape[0]):
            if _safe_candidate(pool, attribute, base, values, sets, n, members, starts, past, table, state):
                wide = semiperimeter(members, members.size, cells, lines)
                if wide < best:
                    best = wide
                    _copy(members, chosen, chosen.size)
        if best < np.inf:
            _place(made, chosen, chosen.size, sets, base, (chosen[0] - base) // values, taken)
            without -= sets
            continue
        # What cannot be placed here is put aside, so that the others may be.
        _candidate(pool, drawn(state.draws, pool.lists.shape[0]), base, values, members)
        for at in range(values):
            taken[members[at] - base] = True
            left[remaining] = members[at]
            remaining += 1
        without -= 1
    for at in range(remaining):
        taken[left[at] - base] = False
    return remaining


@inner
def _fewest_sets(values: int, n: int) -> int:
    """How often a group should have each value: once, or twice where a single known tuple would be too many."""
    return 1 if n < values else 2


@inner
def _narrowest_merger(
    members: Any, values: int, base: int, n: int, best: float, cells: Any, lines: Any, starts: Any, past: Any,
    made: Any, table: Any, merged: Any,
) -> Any:  # fmt: skip
    """The group made before that a candidate is best merged with, safely, and how wide that is.

    -1 if there is none that makes it narrower than `best`.
    """
    found = -1
    here = (members[0] - base) // values
    _copy(members, merged, values)
    for number in range(max(here - WINDOW, 0), min(here + WINDOW + 1, made.first.size)):
        row = made.first[number]
        size = values
        while row >= 0 and size < merged.size:
            merged[size] = base + row
            size += 1
            row = made.next[row]
        if size == values or row >= 0:
            continue  # no such group, or too large to become larger
        wide = semiperimeter(merged, size, cells, lines)
        tuples = (1 + made.sets[number]) * values
        if wide < best and shared(merged, size, tuples, n, starts, past, table) < 0:
            found, best = number, wide
    return found, best


@inner
def _finish(
    rows: Any, base: int, values: int, n: int, cells: Any, lines: Any, starts: Any, past: Any, made: Any, taken: Any,
    passed: Any, table: Any, state: Any,
) -> None:  # fmt: skip
    """Figure 5 as it stands: every round places at least one of the rows, safely."""
    pool = _listed(rows, base, values, cells, taken, passed)
    room = (MERGED + 1) * values
    members, chosen, merged = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    left = rows.size
    while left > 0:
        best, count, sets, partner = np.inf, 0, _fewest_sets(values, n), -1
        while best == np.inf and sets <= 2:
            for attribute in range(pool.lists.shape[0]):
                if _safe_candidate(pool, attribute, base, values, sets, n, members, starts, past, table, state):
                    wide = semiperimeter(members, sets * values, cells, lines)
                    if wide < best:
                        best, count = wide, sets * values
                        _copy(members, chosen, count)
            if sets == 2:
                # Merging with a group made before (lines 9 to 12), where that is narrower than two of the pool.
                for attribute in range(pool.lists.shape[0]):
                    if _candidate(pool, attribute, base, values, members) < values:
                        continue
                    number, wide = _narrowest_merger(
                        members, values, base, n, best, cells, lines, starts, past, made, table, merged
                    )
                    if number >= 0:
                        best, count, partner = wide, values, number
                        _copy(members, chosen, count)
            sets += 1
        sets -= 1
        if best == np.inf:
            # Counterfeits: in the place of more and more of a candidate's tuples (line 13), which stay in the pool.
            count = _candidate(pool, drawn(state.draws, pool.lists.shape[0]), base, values, chosen)
            every = count
            group = shared(chosen, count, values, n, starts, past, table)
            while group >= 0 and count > 1:
                at = one_of(chosen, count, group, starts, past, state.draws)
                count -= 1
                chosen[at], chosen[count] = chosen[count], chosen[at]
                group = shared(chosen, count, values, n, starts, past, table)
            # With n as large as the signature one known tuple is too many; among twice as many it never is.
            count, sets = (count, 1) if group < 0 else (every, 2)
        left -= count
        near = (chosen[0] - base) // values
        if partner >= 0:
            near, sets = partner, 1 + made.sets[partner]
            count = _dissolve(made, partner, base, chosen, count)
        _place(made, chosen, count, sets, base, near, taken)


@inner
def _made(grid: Any, base: int) -> Any:
    """The groups of a grid."""
    height, values = grid.shape
    size = height * values
    of, first, after = np.empty(size, np.int64), np.full(height, -1, np.int64), np.full(size, -1, np.int64)
    for number in range(height):
        for value in range(values):
            row = grid[number, value] - base
            of[row] = number
            after[row] = first[number]
            first[number] = row
    return Made(of, first, after, np.ones(height, np.int64))


@inner
def _grown(made: Any, more: int) -> Any:
    """With room for more groups."""
    first, sets = np.full(made.first.size + more, -1, np.int64), np.zeros(made.sets.size + more, np.int64)
    for number in range(made.first.size):
        first[number], sets[number] = made.first[number], made.sets[number]
    return Made(made.of, first, made.next, sets)


@inner
def _with_room(wanted: Any) -> Any:
    """The same, and as many places more."""
    longer = np.empty((wanted.shape[0], 2 * wanted.shape[1]), np.int64)
    for line in range(wanted.shape[0]):
        _copy(wanted[line], longer[line], wanted.shape[1])
    return longer


@kernel
def partition(buckets: Any, words: Any, cells: Any, lines: Any, starts: Any, past: Any, group: Any) -> Any:
    """Cor-Partition of every bucket: `group` becomes the group of each row, counted from 0 in each bucket.

    There are numbers for as many groups as a bucket came with and one for each of its rows, not all in use. Returns the
    counterfeits that are wanted, the bucket, the value and the group of each, and how many random words each bucket
    asked for: one that asked for more than it has is to be partitioned again, with more.
    """
    wanted = np.empty((3, 256), np.int64)
    asked = np.zeros(buckets.base.size, np.int64)
    count = 0
    table = new_table(1024)
    for bucket in range(buckets.base.size):
        base, values, height = buckets.base[bucket], buckets.values[bucket], buckets.height[bucket]
        n = buckets.degree[bucket]
        size = values * height
        grid = np.empty((height, values), np.int64)
        unsafe = np.zeros(height, np.bool_)
        for number in range(height):
            for value in range(values):
                grid[number, value] = base + number * values + value
            unsafe[number] = shared(grid[number], values, values, n, starts, past, table) >= 0
        left_unsafe = 0
        for number in range(height):
            if unsafe[number] and _fewest_sets(values, n) == 1:
                unsafe[number] = not mend(number, grid, n, cells, lines, starts, past, table)
            left_unsafe += unsafe[number]
        for number in range(height):
            for value in range(values):
                group[grid[number, value]] = number
        if left_unsafe == 0:
            continue
        own = words[buckets.first[bucket] : buckets.end[bucket]]
        state = State(Draws(own, asked[bucket : bucket + 1]), np.zeros(1, np.int64))
        made = _made(grid, base)
        taken, passed = np.ones(size, np.bool_), np.zeros(size, np.int64)
        left, rows = np.empty(size, np.int64), np.empty(size, np.int64)
        # Stretches of groups with an unsafe one are dissolved: `ends[i]` is where the rows of the i-th end in `left`.
        remaining = 0
        stretches = -(-height // NEIGHBOURS)
        ends = np.zeros(stretches + 1, np.int64)
        for stretch in range(stretches):
            low, high = stretch * NEIGHBOURS, min((stretch + 1) * NEIGHBOURS, height)
            dissolved = False
            for number in range(low, high):
                dissolved |= unsafe[number]
            if dissolved:
                for number in range(low, high):
                    remaining = _dissolve(made, number, base, left, remaining)
            ends[stretch + 1] = remaining
        for at in range(remaining):
            taken[left[at] - base] = False
        while remaining > 0:
            _copy(left, rows, remaining)
            before, remaining = 0, 0
            for stretch in range(stretches):
                end = ends[stretch + 1]
                if end > before:
                    remaining += _regrouped(
                        rows[before:end], base, values, n, cells, lines, starts, past, made, taken, passed, table,
                        state, left[remaining:],
                    )  # fmt: skip
                before = end
                ends[stretch + 1] = remaining
            if stretches == 1:
                break
            # What is left of several stretches comes together.
            fewer = -(-stretches // NEIGHBOURS)
            for stretch in range(fewer):
                ends[stretch + 1] = ends[min((stretch + 1) * NEIGHBOURS, stretches)]
            stretches = fewer
        if remaining > 0:
            made = _grown(made, remaining)
            _finish(
                left[:remaining], base, values, n, cells, lines, starts, past, made, taken, passed, table, state
            )  # fmt: skip
        if asked[bucket] > own.size:
            continue
        # Whatever a group lacks of a value, a counterfeit brings.
        for row in range(size):
            group[base + row] = made.of[row]
        have = np.zeros(values, np.int64)
        for number in range(made.first.size):
            if made.first[number] < 0:
                continue
            for value in range(values):
                have[value] = made.sets[number]
            row = made.first[number]
            while row >= 0:
                have[row % values] -= 1
                row = made.next[row]
            for value in range(values):
                for _ in range(have[value]):
                    if count == wanted.shape[1]:
                        wanted = _with_room(wanted)
                    wanted[0, count], wanted[1, count], wanted[2, count] = bucket, value, number
                    count += 1
    return wanted[:, :count], asked
