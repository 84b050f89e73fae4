"""Linked lives: m values are published that move on together by the same chain, at any time one of them true.

At each step the m values x move together by a joint law J with marginals T(x_i, .), in which a value v has at most as
many lives as it has slots; the decoys are drawn given the true one's move. Then all lives together are equally likely
whichever is true: if that held before a step with chance q, the true life i moves to x'_i with chance T(x_i, x'_i), and
the others as J says given that: with J(x') / T(x_i, x'_i). Afterwards the chance is q J(x'), without i: every life has
1/m, and a value at any time 1/m for each life that is there. Where several lives are at the true value, which of them
goes on as the true one is drawn anew, evenly: nothing but the value has to be remembered. (So where lives meet the true
course can go on along another of them, and the 1/m is per time; where every value has one slot it is for whole lives.)

J comes from dependent rounding (`kernels.linked_lives`): a walk of martingales from T(x_i, v) to 0 or 1. Given that the
true life i moves to v, each branch gets the factor x_iv(new) / x_iv(old) (Doob): the product over all branches is
1 / T(x_i, v) where life i ends in v, and 0 elsewhere. Which edges are rounded next must not depend on who is true.

Such a law exists iff sum_i T(x_i, v) <= slots(v) for every v: matrices with rows of sum 1 and columns of at most whole
numbers are mixtures of those made of 0 and 1 (Birkhoff, for one slot). Lives begin anywhere and come to any set; so a
chain is taken only if that holds for every set of m lives with at most slots(u) at u: `crowding` is the largest such
sum. It does for every m where columns add up to 1 as rows do. Over several steps it then holds as well, and T^n takes
the place of T. For T(a, .) = (1 - c_a) at a and c_a g, and one slot each, it means g(v) sum c_i <= c_v for every set
with v in it, which no permanent value that can be caught fulfils, and g(v) sum c_i <= 1 for those without; it holds for
every m if g is as c is. With the shares p at rest and k slots, k (1 - T(v, v)) leave v at most and (m - k) times the
mean chance p(v) (1 - T(v, v)) / (1 - p(v)) come: k >= m p(v) is needed, and more where those who come are not like all.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints, Words
from reissue.errors import InternalError, ParameterError, count_of
from reissue.kernels.linked_lives import DONE, DUST, SHORT, move_lives

ROUNDS = 64
"""So often people are given more words before something must be wrong."""
ROOM = 1 << 22
"""So many numbers are held at once."""


def feasible(table: Floats, lives: Ints, slots: Ints) -> Bools:
    """Whether the values of each row can move together: sum_i T(x_i, v) <= slots(v) for every v."""
    fits = np.empty(len(lives), np.bool_)
    rows = max(1, ROOM // max(1, table.shape[0]))
    for begin in range(0, len(lives), rows):
        total = np.zeros((len(lives[begin : begin + rows]), table.shape[1]))
        for column in lives[begin : begin + rows].T:
            total += table[column]
        fits[begin : begin + rows] = (total <= slots + DUST).all(axis=1)
    return fits


def crowding(table: Floats, slots: Ints, m: int) -> Floats:
    """For each value the largest sum_i T(x_i, v) over all sets of m lives with at most slots(u) of them at u."""
    order = np.argsort(-table, axis=0)
    # The m lives that are likeliest to come: as many as there is room for at the first value, then at the second ...
    taken = np.minimum(np.cumsum(slots[order], axis=0), m)
    lives = np.diff(taken, axis=0, prepend=0)
    return np.asarray((lives * np.take_along_axis(table, order, axis=0)).sum(axis=0))


def widened(table: Floats, slots: Ints, m: int, most: Ints) -> Ints:
    """At least these slots, and as few more as let every set move on; values that have `most` get no more."""
    slots = slots.copy()
    while True:
        more = (crowding(table, slots, m) > slots + DUST) & (slots < most)
        if not more.any():
            return slots
        slots[more] += 1


def largest_m(table: Floats) -> int:
    """The largest m for which every set of m different values can move together."""
    ranked = -np.sort(-table, axis=0)
    within = (np.cumsum(ranked, axis=0) <= 1 + DUST).all(axis=1)
    return int(within.argmin()) if not within.all() else len(table)


def check_chain(table: Floats, shares: Floats, slots: Ints, m: int) -> None:
    """An error unless every set that can be published can move on; before anything is published."""
    reached = shares > 0
    while True:  # values without a share can still be moved to
        more = reached | (table[reached] > 0).any(axis=0)
        if (more == reached).all():
            break
        reached = more
    inside, own = table[np.ix_(reached, reached)], slots[reached]
    crowded = int((crowding(inside, own, m) > own + DUST).sum())
    if not crowded:
        return
    needed = widened(inside, own, m, np.full(own.size, m))
    advice = []
    if (few := largest_m(inside)) >= 2:
        advice.append(f"choose m = {few}")
    if needed.max() < m:
        advice.append(f'allow limit = "{int(needed.max())}/{m}", which {_count(needed > own)} would need')
    elif larger := _larger(inside, own, m):
        advice.append(larger)
    advice.append("merge rare values")
    advice.append("declare values that hardly anybody loses as permanent, with one rate for the others")
    raise ParameterError(
        f"With m = {m}, linked lives cannot follow this 'change': {count_of(crowded, 'value')} of {int(reached.sum())} "
        "would be where more lives must go than it has slots. Of every m values that a set can have, the chances of "
        "moving to one value may add up to its slots at most.",
        hint=f"{'; or '.join(advice)}; or use one rate for all values.",
    )


def _larger(table: Floats, slots: Ints, m: int) -> str | None:
    """An m beyond this one with which no value needs all slots, and the limit it would need then."""
    for more in range(m + 1, min(2 * m + 8, len(table)) + 1):
        needed = widened(table, slots, more, np.full(slots.size, more))
        if needed.max() < more:
            return f'choose m = {more} and limit = "{int(needed.max())}/{more}"'
    return None


def _count(chosen: Bools) -> str:
    return count_of(int(chosen.sum()), "value")


def powers(table: Floats, most: int) -> Floats:
    """(most + 1, V, V): the chances after 0, 1, ... steps, for those who were absent."""
    found = [np.eye(len(table))]
    for _ in range(most):
        found.append(found[-1] @ table)
    return np.stack(found)


def moved_lives(
    lives: Ints, true: Ints, to: Ints, tables: Floats, which: Ints, slots: Ints, words: Callable[[Ints, int], Words]
) -> Ints:
    """The next values of everybody's lives, in the same order, given that life `true` moves to the value `to`.

    `lives` has m values a person, `tables` tables of chances, and `which` says whose is which (`powers`, by the number
    of steps); `slots` says how many lives each value has room for. `words(rows, round)` draws a row of random words for
    each of these people; who needs more is asked for again with the next round, and all their words are used, in order.
    """
    impossible = int((tables[which, lives[np.arange(len(lives)), true], to] <= DUST).sum())
    if impossible:
        raise InternalError(f"{count_of(impossible, 'value')} moved as the declared chain does not: ask `possible`.")
    moved = np.empty(lives.shape, np.int64)
    rows = np.arange(len(lives))
    drawn = words(rows, 0)
    for round_ in range(1, ROUNDS):
        here = np.empty((rows.size, lives.shape[1]), np.int64)
        ended = np.empty(rows.size, np.int64)
        move_lives(lives[rows], true[rows], to[rows], tables, which[rows], drawn, here, ended)
        if not np.isin(ended, (DONE, SHORT)).all():
            raise InternalError("Some lives have nowhere to go: ask `check_chain` first.")
        moved[rows[ended == DONE]] = here[ended == DONE]
        short = ended == SHORT
        rows = rows[short]
        if rows.size == 0:
            if _crowded(moved, slots):
                raise InternalError("More lives are at a value than it has slots: ask `check_chain` first.")
            return moved
        drawn = np.concatenate([drawn[short], words(rows, round_)], axis=1)
    raise InternalError("Lives were not moved after very many random words.")


def _crowded(lives: Ints, slots: Ints) -> bool:
    """Whether somewhere more lives are at a value than it has slots."""
    ordered = np.sort(lives, axis=1)
    run = np.ones(len(lives), dtype=np.int64)
    over = False
    for before, now in pairwise(ordered.T):
        run = np.where(before == now, run + 1, 1)
        over = over or bool((run > slots[now]).any())
    return over


def possible(before: Ints, to: Ints, tables: Floats, which: Ints) -> Bools:
    """Whether the declared chain can move each true value to where it went; the others have to begin new lives."""
    return np.asarray(tables[which, before, to] > DUST)
