"""Linked lives: m whole lives are published, one of them true, and all of them move by the same chain.

At each step the m values x move together by a joint law J with marginals T(x_i, .) and all different; the decoys are
drawn given the true one's move. Then all lives together are equally likely whichever is true: if that held before a
step with chance q, the true life i moves to x'_i with chance T(x_i, x'_i), and the others as J says given that: with
J(x') / T(x_i, x'_i). Afterwards the chance is q J(x'), without i: every life has 1/m, and every value at every time.

J comes from dependent rounding (`kernels.linked_lives`): a walk of martingales from T(x_i, v) to 0 or 1. Given that the
true life i moves to v, each branch gets the factor x_iv(new) / x_iv(old) (Doob): the product over all branches is
1 / T(x_i, v) where life i ends in v, and 0 elsewhere. Which edges are rounded next must not depend on who is true.

Such a law exists iff sum_i T(x_i, v) <= 1 for every v (Birkhoff). Lives begin anywhere and come to any set; so a chain
is taken only if that holds for every m-set: if the m largest entries of each column of T come to at most 1. It does
for every m where columns add up to 1 as rows do. Over several steps it then holds as well, and T^n takes the place of
T. For T(a, .) = (1 - c_a) at a and c_a g it means g(v) sum c_i <= c_v for every set with v in it, which no permanent
value that can be caught fulfils, and g(v) sum c_i <= 1 for those without; it holds for every m if g is as c is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints, Words
from reissue.errors import InternalError, ParameterError, count_of
from reissue.kernels.linked_lives import DONE, DUST, SHORT, move_lives

ROUNDS = 64
"""So often people are given more words before something must be wrong."""
ROOM = 1 << 22
"""So many numbers are held at once."""


def feasible(table: Floats, lives: Ints) -> Bools:
    """Whether the values of each row can move together: sum_i T(x_i, v) <= 1 for every v."""
    fits = np.empty(len(lives), np.bool_)
    rows = max(1, ROOM // max(1, table.shape[0]))
    for begin in range(0, len(lives), rows):
        total = np.zeros((len(lives[begin : begin + rows]), table.shape[1]))
        for column in lives[begin : begin + rows].T:
            total += table[column]
        fits[begin : begin + rows] = (total <= 1 + DUST).all(axis=1)
    return fits


def largest_m(table: Floats) -> int:
    """The largest m for which every m-set of values can move together."""
    ranked = -np.sort(-table, axis=0)
    within = (np.cumsum(ranked, axis=0) <= 1 + DUST).all(axis=1)
    return int(within.argmin()) if not within.all() else len(table)


def check_chain(table: Floats, shares: Floats, m: int) -> None:
    """An error unless every set that can be published can move on; before anything is published."""
    reached = shares > 0
    while True:  # values without a share can still be moved to
        more = reached | (table[reached] > 0).any(axis=0)
        if (more == reached).all():
            break
        reached = more
    inside = table[np.ix_(reached, reached)]
    most = largest_m(inside)
    if most >= m:
        return
    crowded = int((np.sort(inside, axis=0)[-m:].sum(axis=0) > 1 + DUST).sum())
    advice = f"choose m = {most}, or " if most >= 2 else ""
    raise ParameterError(
        f"With m = {m}, linked lives cannot follow this 'change': {count_of(crowded, 'value')} of {int(reached.sum())} "
        "would be where two of the lives must go. Of every m values that a set can have, the chances of moving to one "
        "value may add up to 1 at most.",
        hint=f"{advice}let the values that stay longest be reached less often, or use one rate for all values.",
    )


def powers(table: Floats, most: int) -> Floats:
    """(most + 1, V, V): the chances after 0, 1, ... steps, for those who were absent."""
    found = [np.eye(len(table))]
    for _ in range(most):
        found.append(found[-1] @ table)
    return np.stack(found)


def moved_lives(
    lives: Ints, true: Ints, to: Ints, tables: Floats, which: Ints, words: Callable[[Ints, int], Words]
) -> Ints:
    """The next values of everybody's lives, in the same order, given that life `true` moves to the value `to`.

    `lives` has m different values a person, `tables` tables of chances, and `which` says whose is which (`powers`, by
    the number of steps). `words(rows, round)` draws a row of random words for each of these people; who needs more is
    asked for again with the next round, and all their words are used, in order.
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
            raise InternalError("Some lives cannot all move to different values: ask `check_chain` first.")
        moved[rows[ended == DONE]] = here[ended == DONE]
        short = ended == SHORT
        rows = rows[short]
        if rows.size == 0:
            return moved
        drawn = np.concatenate([drawn[short], words(rows, round_)], axis=1)
    raise InternalError("Lives were not moved after very many random words.")


def possible(before: Ints, to: Ints, tables: Floats, which: Ints) -> Bools:
    """Whether the declared chain can move each true value to where it went; the others have to begin new lives."""
    return np.asarray(tables[which, before, to] > DUST)
