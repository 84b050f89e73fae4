"""The compiled part of narrowing down who can have which value, group by group.

A class is a number of people who were always in the same groups. A cell is a class and a value that all of its
groups have; it has bounds on how many of the class have the value. Cells stand class after class.

A group is a transportation problem: its classes (rows) send their people to its values (columns), so that every
row and every column comes to its sum, within the bounds of the cells. What its cells can be at least and at most:

rows and columns    each cell from the bounds of the others in its row or column; for groups of any size
cycles              a cell whose flow can change lies on a cycle of the residual graph (Régin 1996, "Generalized
                    arc consistency for global cardinality constraint"), hence within one strong component; that is
                    all there is to know about cells that have one person to move
extremes            for the others the flow is pushed to the least and the largest, in problems of up to EXTREMES
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel

EXTREMES = 4096
"""In problems with more rows times columns the least and largest flow of each cell is not computed."""
TURNS = 8
"""So often rows and columns are gone through before other groups have their turn."""
STAMP, BEFORE, QUEUE, CURSOR, ORDER, LOWEST, COMPONENT = range(7)
"""What is noted of each node of a problem: for searches, and for strong components."""
NOW, LEAST, MOST = range(3)
"""What is sent in a cell, and the least and the most that was sent in any solution met."""
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]


class Groups(NamedTuple):
    """Who is in which group, both ways, and what the groups published."""

    people: Counts
    """How many people are in each class."""
    class_starts: Ints
    class_groups: Counts
    group_starts: Ints
    group_classes: Counts
    value_starts: Ints
    values: Counts
    counts: Counts


class Cells(NamedTuple):
    """What the classes can have."""

    starts: Ints
    values: Counts
    low: Counts
    high: Counts


class Work(NamedTuple):
    """Arrays used for one group after the other; its problem has the rows and columns with something left to send."""

    column: Counts
    """For each value its column in the group, -1 where the group does not have it."""
    touched: Counts
    """The classes whose bounds changed."""
    is_touched: npt.NDArray[np.bool_]
    tally: Ints
    """How many classes were touched, how much was done, the number of the last search."""
    sums: Ints
    """For each column of the group the sums of the lower and of the upper bounds."""
    local: Counts
    """For each column of the group its column in the problem, if it has one."""
    row_class: Counts
    """For each row its class."""
    need: Ints
    take: Ints
    """For each row what it has to send, for each column what it has to take."""
    nodes: Ints
    """Notes on rows and columns; these are numbered after the rows."""
    place: Ints
    """For each row and column the cell."""
    room: Counts
    """How much may be sent there; 0 where there is no cell."""
    sent: Counts
    """Notes on what is sent."""


@inner
def _narrow(
    cell: int, one: int, least: Any, most: Any, low: Any, high: Any, touched: Any, is_touched: Any, tally: Any
) -> int:
    """Bring the bounds of a cell within `least` and `most`: 1 if that changed them, else 0.

    To look first whether it would is faster than the call by far.
    """
    if least <= low[cell] and most >= high[cell]:
        return 0
    low[cell] = max(np.int64(low[cell]), least)
    high[cell] = min(np.int64(high[cell]), most)
    if not is_touched[one]:
        is_touched[one] = True
        touched[tally[0]] = one
        tally[0] += 1
    return 1


@inner
def _rows_and_columns(group: int, groups: Any, cells: Any, work: Any) -> int:
    """Narrow the cells of a group by the sums of their rows and columns: 1 if anything changed, -1 if impossible."""
    starts, values, low, high = cells
    column_of, touched, is_touched, tally = work.column, work.touched, work.is_touched, work.tally
    counts = groups.counts[groups.value_starts[group] : groups.value_starts[group + 1]]
    classes = groups.group_classes[groups.group_starts[group] : groups.group_starts[group + 1]]
    lowest, highest = work.sums[0], work.sums[1]
    lowest[: counts.size] = 0
    highest[: counts.size] = 0
    changed = 0
    for one in classes:
        people = np.int64(groups.people[one])
        least, most = np.int64(0), np.int64(0)
        for cell in range(starts[one], starts[one + 1]):
            if high[cell] > 0 and column_of[values[cell]] == -1:
                if low[cell] > 0:
                    return -1
                changed |= _narrow(cell, one, 0, 0, low, high, touched, is_touched, tally)
            least += low[cell]
            most += high[cell]
        if least > people or most < people:
            return -1
        for cell in range(starts[one], starts[one + 1]):
            if high[cell] == 0:
                continue
            at_least, at_most = people - (most - high[cell]), people - (least - low[cell])
            if at_least > low[cell] or at_most < high[cell]:
                changed |= _narrow(cell, one, at_least, at_most, low, high, touched, is_touched, tally)
            lowest[column_of[values[cell]]] += low[cell]
            highest[column_of[values[cell]]] += high[cell]
    for column in range(counts.size):
        if lowest[column] > counts[column] or highest[column] < counts[column]:
            return -1
    for one in classes:
        for cell in range(starts[one], starts[one + 1]):
            if high[cell] == 0:
                continue
            column = column_of[values[cell]]
            at_least = counts[column] - (highest[column] - high[cell])
            at_most = counts[column] - (lowest[column] - low[cell])
            if at_least > low[cell] or at_most < high[cell]:
                changed |= _narrow(cell, one, at_least, at_most, low, high, touched, is_touched, tally)
    return changed


@inner
def _reached(node: int, at: int, height: int, width: int, room: Any, flow: Any) -> int:
    """The node that a node reaches as its neighbour number `at`, -1 if it does not.

    Rows reach columns to which more can be sent, columns reach rows from which something came.
    """
    if node < height:
        return height + at if flow[node * width + at] < room[node * width + at] else -1
    return at if flow[at * width + node - height] > 0 else -1


@inner
def _search(start: int, goal: int, height: int, width: int, room: Any, flow: Any, take: Any, work: Any) -> int:
    """Look for a way to another node by others (if that is -1, to a column that takes more); its end, -1 if none."""
    tally, stamp, before, queue = work.tally, work.nodes[STAMP], work.nodes[BEFORE], work.nodes[QUEUE]
    tally[2] += 1
    tick = tally[2]
    queue[0] = start
    stamp[start] = tick
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        neighbours = width if node < height else height
        tally[1] += neighbours
        for at in range(neighbours):
            other = _reached(node, at, height, width, room, flow)
            if other == -1 or stamp[other] == tick or (node == start and other == goal):
                continue
            stamp[other] = tick
            before[other] = node
            if other == goal or (goal == -1 and other >= height and take[at] > 0):
                return other
            queue[tail] = other
            tail += 1
    return -1


@inner
def _push(start: int, end: int, amount: Any, height: int, width: int, room: Any, sent: Any, before: Any) -> Any:
    """Send at most `amount` along the way that was found; returns how much."""
    node = end
    while node != start:
        last = before[node]
        where = last * width + node - height if last < height else node * width + last - height
        amount = min(amount, room[where] - sent[NOW, where] if last < height else sent[NOW, where])
        node = last
    node = end
    while node != start:
        last = before[node]
        where = last * width + node - height if last < height else node * width + last - height
        _change(where, amount if last < height else -amount, sent)
        node = last
    return amount


@inner
def _change(where: int, amount: int, sent: Any) -> None:
    sent[NOW, where] += amount
    sent[LEAST, where] = min(sent[LEAST, where], sent[NOW, where])
    sent[MOST, where] = max(sent[MOST, where], sent[NOW, where])


@inner
def _is_settled(height: int, width: int, work: Any) -> bool:
    """Whether nothing limits a cell but the sums of its row and column; then its bounds are exact already."""
    needs, takes, room = work.need, work.take, work.room
    total = needs[:height].sum()
    for where in range(height * width):
        need, take = needs[where // width], takes[where % width]
        if room[where] != min(need, take) or need + take > total:
            return False
    return True


@inner
def _send(height: int, width: int, work: Any) -> bool:
    """Find a solution; whether there is one."""
    need, take, room, sent, flow = work.need, work.take, work.room, work.sent, work.sent[NOW]
    for where in range(height * width):
        row, column = where // width, where % width
        amount = min(need[row], take[column], np.int64(room[where]))
        flow[where] = amount
        need[row] -= amount
        take[column] -= amount
    for row in range(height):
        while need[row] > 0:
            end = _search(row, -1, height, width, room, flow, take, work)
            if end == -1:
                return False
            most = min(need[row], take[end - height])
            amount = _push(row, end, most, height, width, room, sent, work.nodes[BEFORE])
            need[row] -= amount
            take[end - height] -= amount
    for where in range(height * width):
        sent[LEAST, where] = sent[MOST, where] = flow[where]
    return not take[:width].any()


@inner
def _strong_components(height: int, width: int, room: Any, flow: Any, nodes: Any) -> None:
    """Number the strong components of the residual graph (Tarjan 1972, without recursion)."""
    before, queue, cursor, order = nodes[BEFORE], nodes[QUEUE], nodes[CURSOR], nodes[ORDER]
    lowest, component = nodes[LOWEST], nodes[COMPONENT]
    order[: height + width] = -1
    component[: height + width] = -1
    met, found, waiting = 0, 0, 0
    for start in range(height + width):
        if order[start] != -1:
            continue
        node = start
        before[node] = -1
        while node != -1:
            if order[node] == -1:
                order[node] = lowest[node] = met
                cursor[node] = 0
                queue[waiting] = node
                met += 1
                waiting += 1
            fresh = -1
            while fresh == -1 and cursor[node] < (width if node < height else height):
                other = _reached(node, cursor[node], height, width, room, flow)
                cursor[node] += 1
                if other != -1 and order[other] == -1:
                    fresh = other
                elif other != -1 and component[other] == -1:
                    lowest[node] = min(lowest[node], order[other])
            if fresh != -1:
                before[fresh] = node
                node = fresh
                continue
            if lowest[node] == order[node]:
                while component[node] == -1:
                    waiting -= 1
                    component[queue[waiting]] = found
                found += 1
            last = before[node]
            if last != -1:
                lowest[last] = min(lowest[last], lowest[node])
            node = last


@inner
def _solve(height: int, width: int, cells: Any, work: Any) -> bool:
    """Narrow the cells of a problem as far as its sums can; whether it has a solution."""
    work.tally[1] += 4 * height * width
    if _is_settled(height, width, work):
        return True
    if not _send(height, width, work):
        return False
    low, high, take, nodes = cells.low, cells.high, work.take, work.nodes
    room, sent, flow = work.room, work.sent, work.sent[NOW]
    _strong_components(height, width, room, flow, nodes)
    for where in range(height * width):
        row, column = where // width, where % width
        start = height + column
        if room[where] == 0:
            continue
        if nodes[COMPONENT, row] == nodes[COMPONENT, start]:
            # With one person to move, this says it all: some solution moves him, and some does not.
            if room[where] == 1 or height * width > EXTREMES:
                continue
            while sent[MOST, where] < room[where] and _search(start, row, height, width, room, flow, take, work) != -1:
                more = room[where] - np.int64(flow[where])
                _change(where, _push(start, row, more, height, width, room, sent, nodes[BEFORE]), sent)
            while sent[LEAST, where] > 0 and _search(row, start, height, width, room, flow, take, work) != -1:
                less = np.int64(flow[where])
                _change(where, -_push(row, start, less, height, width, room, sent, nodes[BEFORE]), sent)
        cell, one = work.place[where], work.row_class[row]
        at_least, at_most = low[cell] + np.int64(sent[LEAST, where]), low[cell] + np.int64(sent[MOST, where])
        _narrow(cell, one, at_least, at_most, low, high, work.touched, work.is_touched, work.tally)
    return True


@inner
def _load(group: int, groups: Any, cells: Any, work: Any, limit: int) -> Any:
    """Set up the problem of a group, after its sums; its height and width, 0 and 0 if that is more than `limit`."""
    starts, values, low, high = cells
    counts = groups.counts[groups.value_starts[group] : groups.value_starts[group + 1]]
    classes = groups.group_classes[groups.group_starts[group] : groups.group_starts[group + 1]]
    lowest, local, room, place = work.sums[0], work.local, work.room, work.place
    height, width = 0, 0
    for column in range(counts.size):
        local[column] = width
        if counts[column] > lowest[column]:
            work.take[width] = counts[column] - lowest[column]
            width += 1
    if classes.size * width > limit:
        return 0, 0
    for one in classes:
        need = np.int64(groups.people[one])
        for cell in range(starts[one], starts[one + 1]):
            need -= low[cell]
        if need == 0:
            continue
        work.row_class[height] = one
        work.need[height] = need
        room[height * width : (height + 1) * width] = 0
        for cell in range(starts[one], starts[one + 1]):
            if high[cell] > low[cell]:
                where = height * width + local[work.column[values[cell]]]
                place[where] = cell
                room[where] = high[cell] - low[cell]
        height += 1
    return height, width


@kernel
def sweep(
    groups: Any, cells: Any, work: Any, limit: int, budget: int,
    listed: Any, begin: int, following: Any, count: int, waiting: Any,
) -> Any:  # fmt: skip
    """Narrow the cells of the groups `listed` from `begin` on, until about `budget` cells were looked at.

    Groups whose cells were changed are added to the `count` in `following`, unless they are `waiting` already.
    Returns how far it came, how many groups follow, and whether a solution is still possible.
    """
    work.tally[1] = 0
    at = begin
    while at < listed.size and work.tally[1] < budget:
        group = listed[at]
        at += 1
        waiting[group] = False
        work.tally[0] = 0
        values = groups.values[groups.value_starts[group] : groups.value_starts[group + 1]]
        for column in range(values.size):
            work.column[values[column]] = column
        changed = 1
        for _ in range(TURNS):
            work.tally[1] += (groups.group_starts[group + 1] - groups.group_starts[group]) * values.size
            changed = _rows_and_columns(group, groups, cells, work)
            if changed != 1:
                break
        height, width = _load(group, groups, cells, work, limit) if changed == 0 and limit > 0 else (0, 0)
        if changed == -1 or not _solve(height, width, cells, work):
            return at, count, False
        for value in values:
            work.column[value] = -1
        for one in work.touched[: work.tally[0]]:
            work.is_touched[one] = False
            for other in groups.class_groups[groups.class_starts[one] : groups.class_starts[one + 1]]:
                # The group itself has to come again only if it was left before it came to rest.
                if (other != group or changed == 1) and not waiting[other]:
                    waiting[other] = True
                    following[count] = other
                    count += 1
    return at, count, True
