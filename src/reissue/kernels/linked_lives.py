"""The compiled part of linked lives: m values move together, few of them to one value, given how the true one moves.

Dependent rounding in a bipartite graph (Gandhi, Khuller, Parthasarathy & Srinivasan, Dependent rounding and its
applications to approximation algorithms, Journal of the ACM 53 (2006) 324-360): lives are rows, values are columns, and
an edge begins at T(x_i, v). Along a cycle, or a path between two columns with one open edge each, every second edge
goes up and every other one down until one of them is 0 or 1. Which of the two ways has the chance that keeps every edge
what it was on average. Rows keep their sum of 1, and a column whose sum is s ends at s rounded down or up: so at most
as many lives go to a value as it has room for, if s is no more than that.

Columns that together come to at most 1 are first put into one bin: at most one life then goes there, so that it can
choose among them by itself. That leaves little more than m columns, whatever the number of values. A column that comes
to more than 1 has a bin to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel
from reissue.kernels.fine_draws import more

DUST = 1e-11
"""What is closer to 0 or 1 is there: it comes from rounding numbers."""
DONE, SHORT, IMPOSSIBLE, TIGHT = range(4)
"""How it ended: moved; more words are needed; the true life cannot move like this; a life has nowhere to go."""


@inner
def _decide(chance: float, state: Any) -> bool:
    """Whether the draw falls into the first `chance` of it; what is left of it is as good a draw as before."""
    if chance >= 1.0:
        return True
    first = np.uint64(chance * np.float64(state[1]))
    first = min(first, state[1])
    if state[0] < first:
        state[1] = first
        return True
    state[0] -= first
    state[1] -= first
    return False


@inner
def _close(row: int, column: int, open_edges: Any, place: Any, counts: Any, degree: Any) -> None:
    """An edge is 0 or 1: it leaves the list of its row and the count of its column."""
    at = place[row, column]
    if at < 0:
        return
    counts[row] -= 1
    last = open_edges[row, counts[row]]
    open_edges[row, at] = last
    place[row, last] = at
    place[row, column] = -1
    degree[column] -= 1


@inner
def _settle(
    row: int, column: int, edges: Any, room: Any, open_edges: Any, place: Any, counts: Any, degree: Any, moved: Any
) -> None:
    """Close an edge that has come to 0 or 1, with whatever follows from it for its row and column."""
    if place[row, column] < 0:
        return
    if edges[row, column] <= DUST:
        edges[row, column] = 0.0
        _close(row, column, open_edges, place, counts, degree)
    elif edges[row, column] >= 1 - DUST or counts[row] == 1:
        edges[row, column] = 1.0
        moved[row] = column
        while counts[row] > 0:
            _close(row, open_edges[row, 0], open_edges, place, counts, degree)
        if room[column] > 1 + DUST:
            return  # others may go there as well
        for other in range(counts.size):
            if place[other, column] >= 0:
                edges[other, column] = 0.0
                _close(other, column, open_edges, place, counts, degree)


@inner
def _walk(
    start: int, column: int, rows: Any, columns: Any, seen: Any, open_edges: Any, place: Any, counts: Any, degree: Any
) -> Any:
    """Walk along open edges from a row, which is entered by `column` (-1: by none), to a cycle or a column's dead end.

    rows[i] is left by columns[i + 1] and entered by columns[i]. Returns where the cycle begins and how many rows there
    are; -1 where there is none, and the walk ends in columns[rows].
    """
    length = 0
    row = start
    columns[0] = column
    while True:
        rows[length] = row
        seen[row] = length
        length += 1
        after = open_edges[row, 0]
        if after == columns[length - 1]:
            after = open_edges[row, 1]
        columns[length] = after
        if degree[after] == 1:
            return -1, length
        found = -1
        for other in range(counts.size):
            if other != row and place[other, after] >= 0:
                if seen[other] >= 0:
                    # The nearest one that was seen gives the shortest cycle, unless it was entered by this column.
                    if found < 0 or seen[found] < seen[other]:
                        found = other
                elif found < 0:
                    found = other
        if seen[found] >= 0:
            return seen[found], length
        row = found


@inner
def _pack(values: Any, table: Any, edges: Any, bin_of: Any, room: Any) -> int:
    """Put each value into the first bin that has room for it, those that the lives are at first; how many bins."""
    size = table.shape[1]
    bins = 0
    for column in range(size):
        bin_of[column] = -1
    for turn in range(2):
        for at in range(values.size if turn == 0 else size):
            column = values[at] if turn == 0 else at
            if bin_of[column] >= 0:
                continue
            total = 0.0
            for row in range(values.size):
                total += table[values[row], column]
            if total <= DUST:
                continue
            one = 0
            while one < bins and room[one] + total > 1.0:
                one += 1
            if one == bins:
                bins += 1
                room[one] = 0.0
                for row in range(values.size):
                    edges[row, one] = 0.0
            room[one] += total
            bin_of[column] = one
            for row in range(values.size):
                edges[row, one] += table[values[row], column]
    return bins


@inner
def _unpack(values: Any, true: int, to: int, table: Any, words: Any, bin_of: Any, state: Any, moved: Any) -> int:
    """Let every life choose a value within its bin, in proportion; how it ended."""
    for row in range(values.size):
        if row == true:
            moved[row] = to
            continue
        left = 0.0
        last = -1
        for column in range(bin_of.size):
            if bin_of[column] == moved[row] and table[values[row], column] > 0:
                left += table[values[row], column]
                last = column
        chosen = last
        for column in range(last):
            if bin_of[column] == moved[row] and table[values[row], column] > 0:
                if not more(words, state):
                    return SHORT
                if _decide(min(1.0, table[values[row], column] / left), state):
                    chosen = column
                    break
                left -= table[values[row], column]
        moved[row] = chosen
    return DONE


@inner
def _round(
    values: Any,
    true: int,
    to: int,
    table: Any,
    words: Any,
    edges: Any,
    open_edges: Any,
    place: Any,
    work: Any,
    bin_of: Any,
    room: Any,
    state: Any,
    moved: Any,
) -> int:
    """Move one person's lives; how it ended."""
    if table[values[true], to] <= DUST:
        return IMPOSSIBLE
    m = values.size
    size = _pack(values, table, edges, bin_of, room)
    goal = bin_of[to]
    counts, degree, rows, columns, seen = work[0], work[1], work[2], work[3], work[4]
    for column in range(size):
        degree[column] = 0
    for row in range(m):
        counts[row] = 0
        moved[row] = -1
        seen[row] = -1
        for column in range(size):
            if edges[row, column] > DUST:
                place[row, column] = counts[row]
                open_edges[row, counts[row]] = column
                counts[row] += 1
                degree[column] += 1
            else:
                place[row, column] = -1
    state[0], state[1], state[2] = 0, 1, 0
    lives = counts[:m]
    current = 0
    while True:
        settled = False
        while not settled:  # a row with one open edge has nowhere else to go, which can close edges of others
            settled = True
            for row in range(m):
                if moved[row] < 0 and counts[row] == 1:
                    settled = False
                    _settle(row, open_edges[row, 0], edges, room, open_edges, place, lives, degree, moved)
        while current < m and counts[current] == 0:
            if moved[current] < 0:
                return TIGHT
            current += 1
        if current == m:
            if moved[true] != goal:
                return TIGHT
            return _unpack(values, true, to, table, words, bin_of, state, moved)
        begin, length = _walk(current, -1, rows, columns, seen, open_edges, place, lives, degree)
        for at in range(length):
            seen[rows[at]] = -1
        if begin < 0:
            # A dead end: from there, to another one or to a cycle.
            end = columns[length]
            begin, length = _walk(rows[length - 1], end, rows, columns, seen, open_edges, place, lives, degree)
            for at in range(length):
                seen[rows[at]] = -1
            first, enters = 0, end
            if begin >= 0:
                first, enters = begin, columns[length]
        else:
            first, enters = begin, columns[length]
        # The edges by which rows are entered go one way, those by which they are left the other.
        up, down = 1.0, 1.0
        mine = 0
        for at in range(first, length):
            entered = columns[at] if at > first else enters
            left = columns[at + 1]
            row = rows[at]
            up = min(up, 1 - edges[row, entered], edges[row, left])
            down = min(down, edges[row, entered], 1 - edges[row, left])
            if row == true:
                if entered == goal:
                    mine = 1
                elif left == goal:
                    mine = -1
        chance = down / (up + down)
        if mine != 0 and edges[true, goal] < 1:
            # Given that the true life moves there: times x(new)/x(old).
            chance *= max(0.0, (edges[true, goal] + mine * up) / edges[true, goal])
        if not more(words, state):
            return SHORT
        if chance < DUST or chance > 1 - DUST:
            chance = np.round(chance)  # what cannot be must not be, whatever the words are
        change = up if _decide(min(chance, 1.0), state) else -down
        for at in range(first, length):
            entered = columns[at] if at > first else enters
            edges[rows[at], entered] += change
            edges[rows[at], columns[at + 1]] -= change
        for at in range(first, length):
            entered = columns[at] if at > first else enters
            _settle(rows[at], entered, edges, room, open_edges, place, lives, degree, moved)
            _settle(rows[at], columns[at + 1], edges, room, open_edges, place, lives, degree, moved)


@kernel
def move_lives(lives: Any, true: Any, to: Any, tables: Any, which: Any, words: Any, moved: Any, ended: Any) -> None:
    """Move the lives of each person by a table, given that the true one moves to `to`.

    `lives` has a row of m values for each person, `true` the place of the true one, `tables` one table after the other
    and `which` whose is which, `words` a row of random words; `moved` and `ended` are filled.
    """
    people, m = lives.shape
    size = tables.shape[2]
    edges = np.empty((m, size), np.float64)
    open_edges = np.empty((m, size), np.int64)
    place = np.empty((m, size), np.int64)
    work = np.empty((5, max(m, size) + 2), np.int64)
    bin_of = np.empty(size, np.int64)
    room = np.empty(size, np.float64)
    state = np.empty(3, np.uint64)
    for person in range(people):
        ended[person] = _round(
            lives[person],
            true[person],
            to[person],
            tables[which[person]],
            words[person],
            edges,
            open_edges,
            place,
            work,
            bin_of,
            room,
            state,
            moved[person],
        )
