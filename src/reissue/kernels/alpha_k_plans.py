"""What becomes of a group's rows when it is specialised on an attribute, compiled: see `kernels.taxonomy_cuts`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner

Ints = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.int32]

NOWHERE = -1
IDLE = -2
"""The queue link of a group that is not queued."""
BACK, ALONE, JOINED = 0, 1, 2
"""What becomes of a child: it goes back to its parent, or down, where it satisfies the requirement by itself or only
together with a group that is there already."""


class Table(NamedTuple):
    """What does not change: the cells, their places in the taxonomies, and the requirement."""

    owner: Ints
    """The class of each cell."""
    kind: Ints
    """The kind of value of each cell."""
    place: Ints
    """For each class and attribute a row of `path`."""
    path: Nodes
    deep: Nodes
    depth: Nodes
    leaf: npt.NDArray[np.bool_]
    """See `methods.partition.taxonomies.Lineages`."""
    set_start: Ints
    set_of: Ints
    """The protected sets that each kind of value is in, kind after kind."""
    allowed: Ints
    """The most rows of one set that a group of so many rows may have."""
    needed: Ints
    """The fewest rows of a group with so many rows of one set."""
    smallest: int
    """The fewest rows of any group."""


class State(NamedTuple):
    """The groups and their parcels, in arrays with room for more."""

    vector: Nodes
    """The nodes of each group, and last its stratum."""
    head: Ints
    """The first parcel of each group, or NOWHERE."""
    queue: Ints
    """The next group in its bucket, NOWHERE for the last, IDLE where it is in none."""
    cell: Ints
    amount: Ints
    link: Ints
    """The parcels: of which cell, how many rows, and the next of the group (or of the unused ones)."""
    slots: Ints
    """Groups by a hash of their vectors; a power of two of them."""
    bucket: Ints
    """The first queued group of each sum of depths."""
    tally: Ints
    """How many groups there are, the first unused parcel, how many are unused, how many times rows moved."""


CELL, AMOUNT, GIVE, CHILD, ORDER, START, SIZE, FATE, FOUND, RANKED = range(10)
"""Rows of `Work.item`. Of each parcel in work: its cell, its rows, those that go back, its child. Parcels child after
child, and where each begins. Of each child: its rows, its fate, its node or the group that it joins.
The children that could go down, by their sizes; then CHILD is the place of a child among them."""


class Work(NamedTuple):
    """Room to work in; `slot` and `at` are NOWHERE, and `rest` and `held` zero, between uses."""

    slot: Ints
    at: Ints
    rest: Ints
    held: Ints
    seen: Ints
    other: Ints
    item: Ints
    goal: Nodes


@inner
def lookup(state: Any, goal: Any) -> Any:
    """The slot in which the group of this vector is, or would be."""
    mask = state.slots.size - 1
    mixed = np.int64(1469598103)
    for node in goal:
        mixed = (mixed ^ np.int64(node)) * np.int64(1099511628211)
        mixed ^= mixed >> 31
    at = mixed & mask
    while state.slots[at] != NOWHERE:
        group = state.slots[at]
        same = True
        for position in range(goal.size):
            same &= state.vector[group, position] == goal[position]
        if same:
            break
        at = (at + 1) & mask
    return at


@inner
def common(table: Any, work: Any, low: Any, high: Any, vector: Any) -> None:
    """The lowest nodes above the rows that stay with these parcels, none higher than `vector`, as the goal."""
    for attribute in range(vector.size):
        work.goal[attribute] = vector[attribute]
    for attribute in range(vector.size - 1):
        least = table.depth[vector[attribute]]
        first = NOWHERE
        depth = least
        for position in range(low, high):
            item = work.item[ORDER, position]
            if work.item[AMOUNT, item] == work.item[GIVE, item]:
                continue
            place = table.place[table.owner[work.item[CELL, item]], attribute]
            if first == NOWHERE:
                first, depth = place, table.deep[place]
            while depth > least and table.path[place, depth] != table.path[first, depth]:
                depth -= 1
        if depth > least:
            work.goal[attribute] = table.path[first, depth]


@inner
def _weigh(table: Any, work: Any, low: Any, high: Any, held: Any, seen: Any, count: Any) -> Any:
    """Count the rows of parcels and, into `held`, those of each set; returns also how many sets have been seen."""
    size = 0
    for position in range(low, high):
        item = work.item[ORDER, position]
        size += work.item[AMOUNT, item]
        count = _count(table, work.item[CELL, item], work.item[AMOUNT, item], held, seen, count)
    return size, count


@inner
def _count(table: Any, cell: Any, amount: Any, held: Any, seen: Any, count: Any) -> Any:
    kind = table.kind[cell]
    for at in range(table.set_start[kind], table.set_start[kind + 1]):
        if held[table.set_of[at]] == 0 and amount:
            seen[count] = table.set_of[at]
            count += 1
        held[table.set_of[at]] += amount
    return count


@inner
def _cleared(held: Any, seen: Any, count: Any) -> Any:
    """The largest count, after which all are zero again."""
    top = 0
    for position in range(count):
        top = max(top, held[seen[position]])
        held[seen[position]] = 0
    return top


@inner
def _joins(table: Any, state: Any, work: Any, low: Any, high: Any) -> Any:
    """The group at the goal, if it and these parcels together are as required; NOWHERE else."""
    group = state.slots[lookup(state, work.goal)]
    if group == NOWHERE or state.head[group] == NOWHERE:
        return NOWHERE
    size, count = _weigh(table, work, low, high, work.held, work.seen, np.int64(0))
    parcel = state.head[group]
    while parcel != NOWHERE:
        size += state.amount[parcel]
        count = _count(table, state.cell[parcel], state.amount[parcel], work.held, work.seen, count)
        parcel = state.link[parcel]
    top = _cleared(work.held, work.seen, count)
    return group if size >= table.smallest and top <= table.allowed[size] else NOWHERE


@inner
def _given(table: Any, work: Any, child: Any, need: Any, cap: Any, gently: bool) -> Any:
    """Let rows of a child go back, as far as it stays as required; returns how many are still needed.

    Of a set no more than `cap` rows may be among those that go back; gently: none of a set that is there already.
    """
    low, high = work.item[START, child], work.item[START, child + 1]
    for position in range(low, high):
        work.item[AMOUNT, work.item[ORDER, position]] -= work.item[GIVE, work.item[ORDER, position]]
    size, count = _weigh(table, work, low, high, work.held, work.other, np.int64(0))
    for position in range(low, high):
        item = work.item[ORDER, position]
        kind = table.kind[work.item[CELL, item]]
        begin, end = table.set_start[kind], table.set_start[kind + 1]
        most = min(work.item[AMOUNT, item], need)
        for at in range(begin, end):
            most = min(most, cap - work.rest[table.set_of[at]])
            if gently and work.rest[table.set_of[at]]:
                most = 0
        if most > 0:
            # The share of a set falls with its rows; that of every other set rises.
            worst = 0
            for place in range(count):
                inside = False
                for at in range(begin, end):
                    inside |= table.set_of[at] == work.other[place]
                if not inside:
                    worst = max(worst, work.held[work.other[place]])
            most = min(most, size - max(table.smallest, table.needed[worst]))
        if most <= 0:
            continue
        for at in range(begin, end):
            work.held[table.set_of[at]] -= most
            work.rest[table.set_of[at]] += most
        work.item[GIVE, item] += most
        work.item[AMOUNT, item] -= most
        size -= most
        need -= most
    _cleared(work.held, work.other, count)
    for position in range(low, high):
        work.item[AMOUNT, work.item[ORDER, position]] += work.item[GIVE, work.item[ORDER, position]]
    return need


@inner
def _settled(table: Any, work: Any, children: Any, going: Any, dropped: Any, items: Any) -> Any:
    """How many rows go down when the first `dropped` of the children that could go are kept back; 0 if none can.

    What is kept back must be as required too: rows of the other children join it, as few as will do.
    """
    for item in range(items):
        work.item[GIVE, item] = 0
    size, count, total = np.int64(0), np.int64(0), np.int64(0)
    for child in range(children):
        total += work.item[SIZE, child]
        if work.item[FATE, child] != BACK and work.item[CHILD, child] >= dropped:
            continue
        added, count = _weigh(
            table, work, work.item[START, child], work.item[START, child + 1], work.rest, work.seen, count
        )
        size += added
    top = 0
    for place in range(count):
        top = max(top, work.rest[work.seen[place]])
    target = size
    if size and (size < table.smallest or top > table.allowed[size]):
        target = max(table.smallest, table.needed[top])
    need = target - size
    for step in range(2):
        rank = going - 1
        while need > 0 and target < total and rank >= dropped:
            if work.item[FATE, work.item[RANKED, rank]] == ALONE:
                need = _given(table, work, work.item[RANKED, rank], need, table.allowed[target], step == 0)
            rank -= 1
    for item in range(items):
        if work.item[GIVE, item]:
            kind = table.kind[work.item[CELL, item]]
            for at in range(table.set_start[kind], table.set_start[kind + 1]):
                work.rest[table.set_of[at]] = 0
    _cleared(work.rest, work.seen, count)
    return total - target if need <= 0 else 0


@inner
def _rank(work: Any, going: Any) -> None:
    """Sort the children that could go by their sizes, those of the same size by their numbers (Shell's sort)."""
    ranked = work.item[RANKED]
    gap = going // 2
    while gap:
        for begin in range(gap, going):
            child = ranked[begin]
            size, at = work.item[SIZE, child], begin
            while at >= gap:
                other = ranked[at - gap]
                if work.item[SIZE, other] < size or (work.item[SIZE, other] == size and other < child):
                    break
                ranked[at] = other
                at -= gap
            ranked[at] = child
        gap //= 2
    for rank in range(going):
        work.item[CHILD, ranked[rank]] = rank


@inner
def plan(table: Any, state: Any, work: Any, group: Any, attribute: Any, items: Any, again: bool) -> Any:
    """Specialise the group's rows on an attribute one level down, or (beyond the last) to their own classes.

    Leaves in `work` which rows would go where. Returns how many would go, and into how many children rows fall.
    """
    vector = state.vector[group]
    wide = vector.size - 1
    children, going = np.int64(0), np.int64(0)
    for item in range(items):
        owner = table.owner[work.item[CELL, item]]
        key = owner
        if attribute < wide:
            key = np.int64(table.path[table.place[owner, attribute], table.depth[vector[attribute]] + 1])
        if work.slot[key] == NOWHERE:
            work.slot[key] = children
            work.item[FOUND, children] = key
            work.item[SIZE, children] = 0
            children += 1
        work.item[CHILD, item] = work.slot[key]
        work.item[SIZE, work.item[CHILD, item]] += 1
    work.item[START, 0] = 0
    for child in range(children):
        work.slot[work.item[FOUND, child]] = NOWHERE
        work.item[START, child + 1] = work.item[START, child] + work.item[SIZE, child]
    for item in range(items):
        child = work.item[CHILD, item]
        work.item[SIZE, child] -= 1
        work.item[ORDER, work.item[START, child + 1] - 1 - work.item[SIZE, child]] = item
        work.item[GIVE, item] = 0
    for child in range(children):
        low, high = work.item[START, child], work.item[START, child + 1]
        node = work.item[FOUND, child]
        size, count = _weigh(table, work, low, high, work.held, work.seen, np.int64(0))
        work.item[SIZE, child] = size
        top = _cleared(work.held, work.seen, count)
        work.item[FATE, child] = BACK
        if size >= table.smallest and top <= table.allowed[size]:
            work.item[FATE, child] = ALONE
        elif again:
            # What is published at the same nodes is one group: the lowest above the rows, or one level down.
            common(table, work, low, high, vector)
            work.item[FOUND, child] = _joins(table, state, work, low, high)
            if work.item[FOUND, child] == NOWHERE and attribute < wide:
                for position in range(vector.size):
                    work.goal[position] = vector[position]
                work.goal[attribute] = node
                work.item[FOUND, child] = _joins(table, state, work, low, high)
            if work.item[FOUND, child] != NOWHERE:
                work.item[FATE, child] = JOINED
        if work.item[FATE, child] != BACK:
            work.item[RANKED, going] = child
            going += 1
    if going == 0:
        return 0, children
    _rank(work, going)
    # Children go back as a whole, the smallest first: how many must is found by doubling, then halving.
    low, high, last, moved = np.int64(-1), going, np.int64(-1), np.int64(0)
    while low + 1 < high or (high < going and last != high):
        last = (low + high) // 2 if low + 1 < high else high
        if high == going:
            last = min(last, max(2 * low, low + 1))
        sent = _settled(table, work, children, going, last, items)
        if sent:
            high, moved = last, sent
        else:
            low = last
    for rank in range(high):
        work.item[FATE, work.item[RANKED, rank]] = BACK
    return moved, children
