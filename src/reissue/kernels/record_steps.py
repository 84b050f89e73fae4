"""The compiled part of drawing sets of whole records: a walk from what is expected to whole numbers, within all limits.

The flight of the cube method (Deville & Tille, Efficient balanced sampling: the cube method, Biometrika 91 (2004)
893-912), with limits in place of totals that must be kept. It begins at x = m p, where every record has as many of the
m places as it has on average, and ends where all x are whole. At each step some parts of x go up and others down, as
far as one of them or a limit is reached; which of the two ways has the chance that keeps every x what it was on
average. A limit that is reached is kept from then on: the next direction is one along which it does not change. Limits
that are not reached bind nothing, so that how often a value is in a set varies as much as it may.

Given the true record, each branch has its chance times x(new) / x(old) of that record (Doob).

What is moved are nodes of a tree of records, as long as that will do: first a few dozen of small shares, in random
order, until each is out or has one place; then their halves, and so on to records. A node's records keep their
proportions, so that its part in a column's limit is a known number. When no direction is left, nodes are replaced by
their halves: about m steps for each layer, whatever the number of records.

With two columns a direction is left as long as a record is not whole, as limits of two columns and of the whole form a
network. With more it can happen that none is left. Then a limit of a column that yields is moved out: first by what
was kept back of its room for this, and only then beyond it, by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel
from reissue.kernels.fine_draws import more

DUST = 1e-12
"""What is closer to 0 or to its limit is there: it comes from rounding numbers."""
REACHED = 1e-9
"""A column's limit that is closer is reached; sums over many records are less exact than a single number."""
DEPENDS, CLEAR = 1e-11, 1e-2
"""What is left of a node's parts after elimination is 0 below the first, and clearly not above the second."""
WHOLE = 1e-6
"""So near to a whole number everything is at the end."""
DONE, SHORT, STUCK = range(3)
"""How it ended: drawn; more words are needed; not at whole numbers, which cannot be."""


@inner
def _said(options: int, script: Any, odds: Any) -> int:
    """What the script says here; -1 where it ends, with the number of options in odds[1]."""
    if script[1] >= script[0]:
        odds[1] = options
        return -1
    script[1] += 1
    return int(script[1 + script[1]])


@inner
def _among(options: int, words: Any, state: Any, script: Any, odds: Any) -> Any:
    """One of so many, all equally likely; -1 if more words are needed."""
    if options < 2:
        return 0
    if script.size:
        odds[0] /= options
        return _said(options, script, odds)
    if not more(words, state):
        return -1
    each = state[1] // np.uint64(options)
    one = min(state[0] // each, np.uint64(options - 1))
    state[0] -= one * each
    state[1] = each if one < np.uint64(options - 1) else state[1] - one * each
    return np.int64(one)


@inner
def _branch(chance: float, words: Any, state: Any, script: Any, odds: Any) -> int:
    """1 with this chance, 0 otherwise; -1 if more words are needed."""
    if chance < DUST or chance > 1 - DUST:
        return 1 if chance > 0.5 else 0  # what cannot be must not be, whatever the words are
    if script.size:
        one = _said(2, script, odds)
        odds[0] *= chance if one == 1 else 1 - chance
        return one
    if not more(words, state):
        return -1
    first = min(np.uint64(chance * np.float64(state[1])), state[1])
    if state[0] < first:
        state[1] = first
        return 1
    state[0] -= first
    state[1] -= first
    return 0


@inner
def _direction(
    free: Any,
    count: int,
    nodes: Any,
    begin: Any,
    which: Any,
    part: Any,
    slack: Any,
    row_of: Any,
    rows_of: Any,
    numbers: Any,
) -> int:
    """Along which the first free nodes can move, as numbers[0]; how many nodes it takes, 0 if there is none.

    Gaussian elimination, node after node, of their parts in the whole and in the limits that are reached, until a node
    depends on those before it. A node that nearly does is put last and left out, as its direction would not be exact;
    where all are records there is none. `rows_of` is (limit of a row; pivot; length), `numbers` (mixture, vector, then
    for each node its reduced vector and what it is a mixture of).
    """
    rows, found = 1, 0
    mixture, vector = numbers[0], numbers[1]
    at = 0
    while at < count:
        node = nodes[free[at]]
        for row in range(rows):
            vector[row] = 0.0
        vector[0] = 1.0
        for entry in range(begin[node], begin[node + 1]):
            limit = which[entry]
            if slack[limit] <= REACHED:
                if row_of[limit] < 0:
                    row_of[limit] = rows
                    rows_of[0, rows] = limit
                    vector[rows] = 0.0
                    rows += 1
                vector[row_of[limit]] += part[entry]
        for one in range(at):
            mixture[one] = 0.0
        mixture[at] = 1.0
        for one in range(at):
            factor = vector[rows_of[1, one]]
            if factor != 0.0:
                reduced, made = numbers[2 + 2 * one], numbers[3 + 2 * one]
                for row in range(rows_of[2, one]):
                    vector[row] -= factor * reduced[row]
                vector[rows_of[1, one]] = 0.0
                for other in range(one + 1):
                    mixture[other] -= factor * made[other]
        pivot = 0
        for row in range(1, rows):
            if abs(vector[row]) > abs(vector[pivot]):
                pivot = row
        if abs(vector[pivot]) <= DEPENDS:
            found = at + 1
            break
        if abs(vector[pivot]) < CLEAR:
            count -= 1
            free[at], free[count] = free[count], free[at]
            continue
        reduced, made = numbers[2 + 2 * at], numbers[3 + 2 * at]
        for row in range(rows):
            reduced[row] = vector[row] / vector[pivot]
        for other in range(at + 1):
            made[other] = mixture[other] / vector[pivot]
        rows_of[1, at], rows_of[2, at] = pivot, rows
        at += 1
    for row in range(1, rows):
        row_of[rows_of[0, row]] = -1
    return found


@inner
def _yield(
    nodes: Any, x: Any, count: int, begin: Any, which: Any, slack: Any, spare: Any, beyond: Any, room: Any
) -> bool:
    """Move a limit that is reached further out; whether there was one that yields.

    First those that have something in reserve, then the one that can be exceeded by least in proportion to its room.
    """
    best, least = -1, np.inf
    for at in range(count):
        if abs(x[at] - np.round(x[at])) <= WHOLE:
            continue
        for entry in range(begin[nodes[at]], begin[nodes[at] + 1]):
            limit = which[entry]
            if spare[limit] >= 0 and slack[limit] <= REACHED:
                over = 0.0
                for other in range(count):
                    for one in range(begin[nodes[other]], begin[nodes[other] + 1]):
                        if which[one] == limit:
                            over += np.ceil(x[other] - WHOLE) - x[other]
                harm = over / room[limit]
                if spare[limit] == 0:
                    harm += (1 + beyond[limit]) * nodes.size
                if harm < least:
                    best, least = limit, harm
    if best < 0:
        return False
    slack[best] += spare[best] if spare[best] > 0 else 1.0
    beyond[best] += spare[best] == 0
    spare[best] = 0.0
    return True


@inner
def _fly(
    true: int,
    words: Any,
    script: Any,
    odds: Any,
    m: int,
    first: Any,
    share: Any,
    halves: Any,
    until: Any,
    most: Any,
    begin: Any,
    which: Any,
    part: Any,
    start: Any,
    room: Any,
    reserve: Any,
    lists: Any,
    spots: Any,
    slack: Any,
    spare: Any,
    beyond: Any,
    change: Any,
    row_of: Any,
    rows_of: Any,
    numbers: Any,
    state: Any,
    drawn: Any,
) -> int:
    """Draw one set: how it ended. `true` is the place of the true record, -1 for none."""
    nodes, later, free, touched = lists[0], lists[1], lists[2], lists[3]
    x, x_later = spots[0], spots[1]
    state[0], state[1], state[2] = 0, 1, 0
    odds[0], odds[1] = 1.0, 0.0
    count = first.size
    for at in range(count):
        nodes[at] = first[at]
    for at in range(count - 1):
        one = _among(count - at, words, state, script, odds)
        if one < 0:
            return SHORT
        nodes[at], nodes[at + one] = nodes[at + one], nodes[at]
    own = -1
    for at in range(count):
        x[at] = m * share[nodes[at]]
        if true >= 0 and until[0, nodes[at]] <= true < until[1, nodes[at]]:
            own = nodes[at]
    for limit in range(room.size):
        spare[limit], beyond[limit] = reserve[limit], 0
        slack[limit] = room[limit] - start[limit] - max(0.0, spare[limit])
        change[limit] = 0.0
    while True:
        frees = 0
        for at in range(count):
            if x[at] > DUST and x[at] < most[nodes[at]] - DUST:
                free[frees] = at
                frees += 1
        while True:
            size = _direction(free, frees, nodes, begin, which, part, slack, row_of, rows_of, numbers)
            if size == 0:
                break
            # How far it goes up and down before somebody or a limit is reached.
            mixture = numbers[0]
            up, down = np.inf, np.inf
            marks = 0
            mine, now = 0.0, 1.0
            for one in range(size):
                way = mixture[one]
                if abs(way) <= DUST:
                    mixture[one] = 0.0
                    continue
                at = free[one]
                node = nodes[at]
                above, below = (most[node] - x[at]) / abs(way), x[at] / abs(way)
                up = min(up, above if way > 0 else below)
                down = min(down, below if way > 0 else above)
                if node == own:
                    mine, now = way, x[at]
                for entry in range(begin[node], begin[node + 1]):
                    limit = which[entry]
                    if slack[limit] > REACHED:
                        if change[limit] == 0.0:
                            touched[marks] = limit
                            marks += 1
                        change[limit] += way * part[entry]
                        if change[limit] == 0.0:
                            change[limit] = 1e-300  # it is on the list
            for one in range(marks):
                limit = touched[one]
                if change[limit] > DUST:
                    up = min(up, slack[limit] / change[limit])
                elif change[limit] < -DUST:
                    down = min(down, slack[limit] / -change[limit])
            chance = down / (up + down)
            if mine != 0.0:
                # Given the true record: times x(new)/x(old).
                chance *= max(0.0, (now + mine * up) / now)
            taken = _branch(min(chance, 1.0), words, state, script, odds)
            if taken < 0:
                for one in range(marks):
                    change[touched[one]] = 0.0
                return SHORT
            step = up if taken == 1 else -down
            for one in range(marks):
                limit = touched[one]
                slack[limit] -= step * change[limit]
                change[limit] = 0.0
            left = 0
            for one in range(frees):
                at = free[one]
                if one < size and mixture[one] != 0.0:
                    x[at] += step * mixture[one]
                    if x[at] <= DUST:
                        x[at] = 0.0
                        continue
                    if x[at] >= most[nodes[at]] - DUST:
                        x[at] = most[nodes[at]]
                        continue
                free[left] = at
                left += 1
            frees = left
        # No direction is left: go on with halves; or, where all are records, end.
        again, following = False, 0
        for at in range(count):
            node = nodes[at]
            if x[at] == 0.0:
                continue
            if halves[0, node] < 0:
                later[following], x_later[following] = node, x[at]
                following += 1
                continue
            again = True
            for side in range(2):
                half = halves[side, node]
                later[following], x_later[following] = half, x[at] * (share[half] / share[node])
                following += 1
                if node == own and until[0, half] <= true < until[1, half]:
                    own = half
        nodes, later = later, nodes
        x, x_later = x_later, x
        count = following
        if again:
            continue
        places, whole = 0, True
        for at in range(count):
            times = int(np.round(x[at]))
            whole = whole and abs(x[at] - times) <= WHOLE
            places += times
        if whole:
            if places != m:
                return STUCK
            places = 0
            for at in range(count):
                for _ in range(int(np.round(x[at]))):
                    record, back = until[0, nodes[at]], places
                    while back > 0 and drawn[back - 1] > record:
                        drawn[back] = drawn[back - 1]
                        back -= 1
                    drawn[back] = record
                    places += 1
            return DONE
        if not _yield(nodes, x, count, begin, which, slack, spare, beyond, room):
            return STUCK


@kernel
def fly_records(
    true: Any,
    words: Any,
    skip: Any,
    script: Any,
    odds: Any,
    m: int,
    first: Any,
    share: Any,
    halves: Any,
    until: Any,
    most: Any,
    begin: Any,
    which: Any,
    part: Any,
    start: Any,
    room: Any,
    reserve: Any,
    drawn: Any,
    ended: Any,
) -> None:
    """Draw a set of m records for each person, as their places in the order of the tree, ascending.

    `true` has the place of each one's true record, -1 for none, `words` a row of random words, of which the first are
    to `skip`. The tree's nodes: their `share`, both `halves` (-1 for a record), from where `until` where their records
    are, how many places they take at `most`, and from `begin[node]` on in `which` limits they have which `part`.
    `first` are the nodes to begin with, `start` the expected sum under each limit and `room` the most there may be;
    `reserve` what is kept back of it, -1 for limits that never yield.

    With a `script`, how long it is and how far it was read, then what to take at each fork, words are not read: odds
    become the chance of what the script says, and the number of ways to go on where it ends.
    """
    limits, nodes = room.size, share.size
    lists = np.empty((4, max(nodes, limits) + 2), np.int64)
    spots = np.empty((2, nodes + 2), np.float64)
    slack = np.empty(limits, np.float64)
    spare = np.empty(limits, np.float64)
    beyond = np.empty(limits, np.int64)
    change = np.zeros(limits, np.float64)
    row_of = np.full(limits, -1, np.int64)
    # No more nodes are independent of each other than there are limits, and the whole.
    rows_of = np.empty((3, limits + 3), np.int64)
    numbers = np.empty((2 * (limits + 3), limits + 3), np.float64)
    state = np.empty(3, np.uint64)
    for person in range(true.size):
        ended[person] = _fly(
            true[person],
            words[person, skip[person] :],
            script,
            odds,
            m,
            first,
            share,
            halves,
            until,
            most,
            begin,
            which,
            part,
            start,
            room,
            reserve,
            lists,
            spots,
            slack,
            spare,
            beyond,
            change,
            row_of,
            rows_of,
            numbers,
            state,
            drawn[person],
        )
