"""Compiled forward and backward sums over people's rows: how likely each value of each row is, given all of them.

A row has up to `width` values, in `codes`, and -1 behind them. From a value v of somebody's row to v' of their next

    T(v, v') D(v')                             v' is another value
    T(v, v) (coin(v) D(v) + 1 - coin(v))       it is the same, and so is the set
    T(v, v) coin(v) D(v)                       it is the same, and the set is new

T comes from `powers`, a table for each number of steps; or, where that is empty, it is what stays, on the diagonal, and
for all else the chance to land: then a row takes O(width) where the set is kept, and little more where few values are
in both. Nothing is subtracted, so that every figure is right to a few roundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel


@inner
def match(codes: Any, row: int, kept: bool, place: Any) -> None:
    """Where the set before has each value of a row; -1: nowhere."""
    for at in range(place.size):
        place[at] = -1
        if codes[row, at] < 0:
            continue
        if kept:
            place[at] = at
            continue
        for old in range(place.size):
            if codes[row - 1, old] == codes[row, at]:
                place[at] = old
                break


@inner
def all_but(weights: Any, one: int) -> float:
    """The sum of all weights but one."""
    total = 0.0
    for at in range(weights.size):
        if at != one:
            total += weights[at]
    return total


@inner
def pass_redrawn(
    forward: bool, codes: Any, row: int, kept: bool, place: Any, drawn: Any, coin: Any, stay: float, land: Any,
    permanent: Any, given: Any, moved: Any, found: Any,
) -> None:  # fmt: skip
    """One step with values that are redrawn: from the row before into `row`, or back from it."""
    every = 0.0
    for at in range(place.size):
        moved[at] = found[at] = 0.0
        if forward:
            if codes[row - 1, at] >= 0 and not permanent[codes[row - 1, at]]:
                moved[at] = given[at]
        elif codes[row, at] >= 0:
            moved[at] = given[at] * land[row, at] * drawn[row, at]
        every += moved[at]
    if not forward:
        for old in range(place.size):
            if codes[row - 1, old] >= 0 and not permanent[codes[row - 1, old]]:
                found[old] = every
    for at in range(place.size):
        code, old = codes[row, at], place[at]
        if code < 0:
            continue
        if forward:
            found[at] = every * land[row, at] * drawn[row, at]
        if old < 0:
            continue
        still = 1.0 if permanent[code] else stay
        itself = still if permanent[code] else still + land[row, at]
        if kept:
            # T(v, v) (coin D + 1 - coin) without what T(v, v) D has in it already; D is a chance here.
            more = still * drawn[row, at] + itself * (1.0 - coin[row, at]) * (1.0 - drawn[row, at])
            if forward:
                found[at] += given[old] * more
            else:
                found[old] += given[at] * more
            continue
        more = itself * coin[row, at] * drawn[row, at]
        if forward:
            found[at] = all_but(moved, old) * land[row, at] * drawn[row, at] + given[old] * more
        else:
            found[old] = (0.0 if permanent[code] else all_but(moved, at)) + given[at] * more


@inner
def pass_chained(
    forward: bool, codes: Any, row: int, kept: bool, place: Any, drawn: Any, coin: Any, table: Any, given: Any,
    found: Any,
) -> None:  # fmt: skip
    """The same with values that move by a table."""
    width = place.size
    for at in range(width):
        found[at] = 0.0
    for at in range(width):
        code = codes[row, at]
        if code < 0:
            continue
        one, total = drawn[row, at], 0.0
        itself = coin[row, at] * one + (1.0 - coin[row, at] if kept else 0.0)
        for old in range(width):
            if codes[row - 1, old] < 0:
                continue
            weight = table[codes[row - 1, old], code] * (itself if old == place[at] else one)
            if forward:
                total += given[old] * weight
            else:
                found[old] += given[at] * weight
        if forward:
            found[at] = total


@kernel
def smooth(
    starts: Any, codes: Any, prior: Any, drawn: Any, coin: Any, kept: Any, known: Any, stay: Any, land: Any,
    permanent: Any, steps: Any, powers: Any, posterior: Any, total: Any,
) -> None:  # fmt: skip
    """Fill `posterior` for each row, and for each person `total`, the logarithm of how likely their rows are.

    `known` has for each row the value that is known there, or -1; it is empty where none is. People whose rows cannot
    come about get no posterior and -inf.
    """
    width, chained = codes.shape[1], powers.shape[0] > 0
    place = np.empty(width, np.int64)
    given, moved, found = np.empty(width), np.empty(width), np.empty(width)
    for person in range(starts.size - 1):
        begin, end = starts[person], starts[person + 1]
        total[person] = 0.0
        for row in range(begin, end):
            if row == begin:
                for at in range(width):
                    found[at] = prior[row, at] * drawn[row, at]
            else:
                match(codes, row, kept[row], place)
                for at in range(width):
                    given[at] = posterior[row - 1, at]
                if chained:
                    pass_chained(True, codes, row, kept[row], place, drawn, coin, powers[steps[row]], given, found)
                else:
                    pass_redrawn(
                        True, codes, row, kept[row], place, drawn, coin, stay[row], land, permanent, given, moved, found
                    )
            whole = 0.0
            for at in range(width):
                if known.size and known[row] >= 0 and codes[row, at] != known[row]:
                    found[at] = 0.0
                whole += found[at]
            if not whole > 0.0:
                total[person] = -np.inf
                break
            total[person] += np.log(whole)
            for at in range(width):
                posterior[row, at] = found[at] / whole
        if not total[person] > -np.inf:
            for row in range(begin, end):
                for at in range(width):
                    posterior[row, at] = 0.0
            continue
        for at in range(width):
            found[at] = 1.0
        for row in range(end - 1, begin - 1, -1):
            whole = 0.0
            for at in range(width):
                posterior[row, at] *= found[at]
                whole += posterior[row, at]
            for at in range(width):
                posterior[row, at] = posterior[row, at] / whole if whole > 0.0 else 0.0
            if row == begin:
                break
            match(codes, row, kept[row], place)
            for at in range(width):
                away = known.size and known[row] >= 0 and codes[row, at] != known[row]
                given[at] = 0.0 if away else found[at]
            if chained:
                pass_chained(False, codes, row, kept[row], place, drawn, coin, powers[steps[row]], given, found)
            else:
                pass_redrawn(
                    False, codes, row, kept[row], place, drawn, coin, stay[row], land, permanent, given, moved, found
                )
            top = 0.0
            for at in range(width):
                top = max(top, found[at])
            for at in range(width):
                found[at] = found[at] / top if top > 0.0 else 0.0


@inner
def spread(codes: Any, weights: Any, found: Any) -> None:
    """Weights of lives at one value spread evenly over them."""
    for at in range(codes.size):
        total = 0.0
        count = 0
        for other in range(codes.size):
            if codes[other] == codes[at]:
                total += weights[other]
                count += 1
        found[at] = total / count


@kernel
def smooth_lives(starts: Any, codes: Any, ratio: Any, posterior: Any, log_likelihood: Any) -> None:
    """How likely each of the m lives of each person is the true one, row by row, given all of them.

    A life keeps its place. `ratio` weighs a step of it, or its beginning. Of several lives at one value any may go on
    as the true one. Who cannot come about gets a likelihood of 0 and no posterior.
    """
    m = codes.shape[1]
    weights, turned = np.empty(m, np.float64), np.empty(m, np.float64)
    for person in range(starts.size - 1):
        begin, end = starts[person], starts[person + 1]
        log_likelihood[person] = 0.0
        for row in range(begin, end):
            if row > begin:
                spread(codes[row - 1], posterior[row - 1], turned)
            total = 0.0
            for at in range(m):
                posterior[row, at] = ratio[row, at] * (turned[at] if row > begin else 1.0)
                total += posterior[row, at]
            if total <= 0.0:
                log_likelihood[person] = -np.inf
                break
            log_likelihood[person] += np.log(total)
            for at in range(m):
                posterior[row, at] /= total
        if log_likelihood[person] == -np.inf:
            posterior[begin:end] = 0.0
            continue
        for at in range(m):
            weights[at] = 1.0
        for row in range(end - 2, begin - 1, -1):
            top = 0.0
            for at in range(m):
                weights[at] *= ratio[row + 1, at]
            spread(codes[row], weights, turned)
            for at in range(m):
                top = max(top, turned[at])
            total = 0.0
            for at in range(m):
                weights[at] = turned[at] / top
                posterior[row, at] *= weights[at]
                total += posterior[row, at]
            for at in range(m):
                posterior[row, at] /= total
