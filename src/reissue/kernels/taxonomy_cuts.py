"""Compiled top-down specialisation (Wong, Li, Fu & Wang 2006), on counts.

A *cell* is a class of equal quasi-identifiers with a kind of value, a *parcel* a number of rows of one cell, a *group*
the parcels at one vector of nodes, one node for each attribute. Groups stand at the lowest nodes above their rows. They
are worked on from the most general downwards, so that a group has all it gets before it is specialised.

At all times every group is as the requirement has it, if the whole table is; so wherever rows are added to a group
that satisfy the requirement by themselves, it goes on to hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel
from reissue.kernels.alpha_k_plans import (
    AMOUNT,
    BACK,
    CELL,
    FATE,
    FOUND,
    GIVE,
    IDLE,
    JOINED,
    NOWHERE,
    ORDER,
    START,
    common,
    lookup,
    plan,
)


@kernel
def enter(state: Any) -> None:
    """Put all groups into the slots, which are empty."""
    for group in range(state.tally[0]):
        state.slots[lookup(state, state.vector[group])] = group


@inner
def _enqueue(table: Any, state: Any, group: Any) -> None:
    if state.queue[group] != IDLE:
        return
    total = 0
    for attribute in range(state.vector.shape[1] - 1):
        total += table.depth[state.vector[group, attribute]]
    state.queue[group] = state.bucket[total]
    state.bucket[total] = group


@inner
def _add(state: Any, group: Any, cell: Any, amount: Any) -> None:
    parcel = state.tally[1]
    state.tally[1] = state.link[parcel]
    state.tally[2] -= 1
    state.cell[parcel] = cell
    state.amount[parcel] = amount
    state.link[parcel] = state.head[group]
    state.head[group] = parcel


@inner
def _send(table: Any, state: Any, work: Any, low: Any, high: Any, vector: Any, target: Any) -> None:
    """Move what these parcels do not give back to a group: the target, or that of the lowest nodes above them."""
    if target == NOWHERE:
        common(table, work, low, high, vector)
        at = lookup(state, work.goal)
        if state.slots[at] == NOWHERE:
            state.slots[at] = state.tally[0]
            for position in range(work.goal.size):
                state.vector[state.tally[0], position] = work.goal[position]
            state.tally[0] += 1
        target = state.slots[at]
    for position in range(low, high):
        item = work.item[ORDER, position]
        if work.item[AMOUNT, item] > work.item[GIVE, item]:
            _add(state, target, work.item[CELL, item], work.item[AMOUNT, item] - work.item[GIVE, item])
    _enqueue(table, state, target)
    state.tally[3] += 1


@inner
def _taken(state: Any, work: Any, group: Any) -> Any:
    """Take all parcels of a group into `work`, one for each cell; returns how many."""
    items = np.int64(0)
    parcel = state.head[group]
    state.head[group] = NOWHERE
    while parcel != NOWHERE:
        cell = state.cell[parcel]
        if work.at[cell] == NOWHERE:
            work.at[cell] = items
            work.item[CELL, items] = cell
            work.item[AMOUNT, items] = 0
            items += 1
        work.item[AMOUNT, work.at[cell]] += state.amount[parcel]
        following = state.link[parcel]
        state.link[parcel] = state.tally[1]
        state.tally[1] = parcel
        state.tally[2] += 1
        parcel = following
    for item in range(items):
        work.at[work.item[CELL, item]] = NOWHERE
    return items


@inner
def _specialise(table: Any, state: Any, work: Any, group: Any, again: bool) -> Any:
    """Move rows of a group further down as long as any can go; returns whether there was room for it."""
    items = _taken(state, work, group)
    vector = state.vector[group]
    wide = vector.size - 1
    room = True
    while items and room:
        for item in range(items):
            work.item[ORDER, item] = item
            work.item[GIVE, item] = 0
        common(table, work, np.int64(0), items, vector)
        deeper, lowest = False, True
        for attribute in range(wide):
            deeper |= work.goal[attribute] != vector[attribute]
            lowest &= table.leaf[work.goal[attribute]]
        room = state.tally[2] >= 2 * items and state.tally[0] + items <= state.head.size
        if not room or (lowest and not deeper):
            break
        if deeper:
            _send(table, state, work, np.int64(0), items, vector, np.int64(NOWHERE))
            return True
        best, most, fewest = np.int64(NOWHERE), np.int64(0), np.int64(0)
        for step in range(wide + 2):
            along = np.int64(step) if step <= wide else best
            beyond = along == wide and (not again or (step == wide and best != NOWHERE))
            if along == NOWHERE or beyond or (along < wide and table.leaf[vector[along]]):
                continue
            moved, children = plan(table, state, work, group, along, items, again)
            if moved > most or (moved == most and moved and children < fewest):
                best, most, fewest = along, moved, children
        if best == NOWHERE:
            break
        for child in range(fewest):
            low, high = work.item[START, child], work.item[START, child + 1]
            if work.item[FATE, child] == BACK:
                continue
            target = work.item[FOUND, child] if work.item[FATE, child] == JOINED else np.int64(NOWHERE)
            _send(table, state, work, low, high, vector, target)
            for position in range(low, high):
                work.item[AMOUNT, work.item[ORDER, position]] = work.item[GIVE, work.item[ORDER, position]]
        left = 0
        for item in range(items):
            if work.item[AMOUNT, item]:
                work.item[CELL, left], work.item[AMOUNT, left] = work.item[CELL, item], work.item[AMOUNT, item]
                left += 1
        items = left
    for item in range(items):
        _add(state, group, work.item[CELL, item], work.item[AMOUNT, item])
    if not room:
        _enqueue(table, state, group)
    return room


@kernel
def run(table: Any, state: Any, work: Any, again: bool) -> Any:
    """Specialise all queued groups, the most general first; returns whether there was room for all.

    Again: rows may also join groups that are there already, and go to their own classes at once.
    """
    for total in range(state.bucket.size):
        while state.bucket[total] != NOWHERE:
            group = state.bucket[total]
            state.bucket[total] = state.queue[group]
            state.queue[group] = IDLE
            if not _specialise(table, state, work, group, again):
                return False
    return True


@kernel
def requeue(table: Any, state: Any) -> None:
    """Queue every group with rows that could go further down."""
    state.tally[3] = 0
    for group in range(state.tally[0]):
        lowest = True
        for attribute in range(state.vector.shape[1] - 1):
            lowest &= table.leaf[state.vector[group, attribute]]
        if state.head[group] != NOWHERE and not lowest:
            _enqueue(table, state, group)


@kernel
def collected(state: Any) -> Any:
    """The group, numbered anew without gaps, the cell and the rows of each parcel."""
    used = state.cell.size - state.tally[2]
    group = np.empty(used, np.int64)
    cell = np.empty(used, np.int64)
    amount = np.empty(used, np.int64)
    at, number = 0, 0
    for here in range(state.tally[0]):
        parcel = state.head[here]
        while parcel != NOWHERE:
            group[at], cell[at], amount[at] = number, state.cell[parcel], state.amount[parcel]
            at += 1
            parcel = state.link[parcel]
        number += state.head[here] != NOWHERE
    return group, cell, amount
