"""Decisions of m-invariance on counts alone: how many tuples of each value go where (Xiao & Tao 2007).

A batch of tuples is given as an array: how many have each value. It is m-eligible when no value has more
than 1/m of it; exactly then it can be published in groups of at least m tuples with different values.

Rows do not occur here. What is decided depends on nothing but counts, which a release shows anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError

_CELLS = 1 << 16
"""Totals are tried by so many counts at once."""
TALL = 3
"""A bucket with so many tuples of each value loses some of its height with nearly every release."""


def eligible(counts: Ints, m: int) -> bool:
    """Whether no value has more than 1/m of the batch."""
    return bool(m * int(counts.max(initial=0)) <= int(counts.sum()))


def most_taken(available: Ints, wanted: Ints, m: int) -> Ints | None:
    """How many tuples of each value to take, as many as can be, so that what remains is m-eligible.

    At most `wanted` of each value are of use. None where no number would leave an eligible rest.

    Differs from the paper, which takes tuple by tuple as long as the rest stays eligible: looking at all values
    together leaves the fewest places to counterfeits. If T are taken in all, a value may keep no more than
    (g - T) / m, so at least the others of it must be taken; the largest T for which this adds up is sought.
    """
    rest, most = int(available.sum()), np.minimum(available, wanted)
    at_once = max(1, _CELLS // max(available.size, 1))
    for highest in range(int(most.sum()), -1, -at_once):
        totals = np.arange(highest, max(highest - at_once, -1), -1, dtype=np.int64)
        least = np.maximum(available[None, :] - ((rest - totals) // m)[:, None], 0)
        fits = (least <= most[None, :]).all(axis=1) & (least.sum(axis=1) <= totals)
        if fits.any():
            first = int(np.argmax(fits))
            return _spread(least[first], most, available, int(totals[first]))
    return None


def _spread(least: Ints, most: Ints, available: Ints, total: int) -> Ints:
    """From `least` up to `total` in all, without exceeding `most`, from the most frequent values first."""
    order = np.argsort(-(available - least), kind="stable")
    room = (most - least)[order]
    before = np.cumsum(room) - room
    taken = least.copy()
    taken[order] += np.clip(total - int(least.sum()) - before, 0, room)
    return taken


@dataclass(frozen=True)
class ValueShare:
    """A number of tuples of each of some values, to be published together."""

    values: tuple[int, ...]
    """The signature, ascending."""
    each: int
    """How many tuples of each value."""


def joining(counts: Ints, m: int, existing: Bools) -> Ints:
    """How many tuples of each of its values can join each existing signature, as many as can be in all.

    `existing` has a row of truth values over all values for each signature. What remains is m-eligible: that is
    demanded of the solution of a linear program, and rounding it down gives back sets of at least m different
    values, which are eligible themselves, as is the sum of eligible batches.
    """
    signatures, values = existing.shape
    total = int(counts.sum())
    if not signatures or not total:
        return np.zeros(signatures, dtype=np.int64)
    import highspy

    # A column for each signature and one for the number of tuples that remain, which is made as small as can be.
    # Rows: no value is used up twice; none keeps more than 1/m of what remains; what remains is what is left over.
    of, value = np.nonzero(existing)
    rest = np.arange(values)
    row = np.concatenate([value, values + value, np.full(signatures, 2 * values), values + rest, [2 * values]])
    column = np.concatenate([of, of, np.arange(signatures), np.full(values + 1, signatures)])
    entry = np.concatenate([np.ones(of.size), np.full(of.size, m), existing.sum(axis=1), np.ones(values + 1)])
    order = np.lexsort((row, column))
    problem = highspy.HighsLp()
    problem.num_col_, problem.num_row_ = signatures + 1, 2 * values + 1
    problem.col_cost_ = np.append(np.zeros(signatures), 1.0)
    problem.col_lower_ = np.zeros(signatures + 1)
    problem.col_upper_ = np.full(signatures + 1, float(total))
    problem.row_lower_ = np.concatenate([np.zeros(values), m * counts, [total]]).astype(np.float64)
    problem.row_upper_ = np.concatenate([counts, np.full(values, highspy.kHighsInf), [total]]).astype(np.float64)
    problem.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    problem.a_matrix_.start_ = np.searchsorted(column[order], np.arange(signatures + 2)).astype(np.int32)
    problem.a_matrix_.index_ = row[order].astype(np.int32)
    problem.a_matrix_.value_ = entry[order].astype(np.float64)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.passModel(problem)
    solver.run()
    solution = np.array(solver.getSolution().col_value[:signatures])
    # The solver counts in floats: what it says is taken only if it is right in whole numbers. That nobody joins
    # always is, and then the assignment that follows deals with everybody.
    for rounded in (np.floor(solution + 1e-6), np.floor(solution), np.zeros(signatures)):
        each = rounded.astype(np.int64)
        left = counts - each @ existing
        if (each >= 0).all() and (left >= 0).all() and eligible(left, m):
            return each
    raise InternalError("a batch that is not m-eligible was to join buckets")


def covering(counts: Ints, existing: Bools, heights: Ints) -> Ints:
    """Sets of tuples for existing signatures that hold all of a batch, together with counterfeits; a greedy choice.

    How many tuples of each of its values every signature gets. Again and again the signature is chosen of whose
    values the largest share still has tuples; the taller of several, because the height of a large bucket falls by
    itself when people leave, and with it what was added. Values that no signature has remain.
    """
    each, remaining = np.zeros(existing.shape[0], dtype=np.int64), counts.copy()
    breadth = existing.sum(axis=1)
    preference = np.where(heights >= TALL, 1.0, 0.001)
    while remaining.any():
        hit = (existing & (remaining > 0)).sum(axis=1)
        best = int(np.argmax(preference * hit / breadth + 1e-4 * np.log1p(heights) * (hit > 0)))
        if not hit[best]:
            break
        values = np.flatnonzero(existing[best])
        number = int(remaining[values][remaining[values] > 0].min())
        each[best] += number
        remaining[values] = np.maximum(remaining[values] - number, 0)
    return each


def assignment(counts: Ints, m: int, least: int = 1) -> list[ValueShare]:
    """Divide an m-eligible batch into shares of at least m values each; nothing is left over.

    With values sorted by frequency n_1 >= n_2 >= ... over the g tuples that remain: the smallest b >= m for which
    there is an a >= 1 with a <= n_b, n_(b+1) <= (g - a b) / m and n_1 - a <= (g - a b) / m; the largest such a.
    What remains is then eligible again. Shares of at least `least` tuples are preferred.
    """
    remaining, shares = counts.copy(), []
    while remaining.any():
        order = np.argsort(-remaining, kind="stable")
        breadth, each = _next_share(np.append(remaining[order], 0), m, least)
        values = order[:breadth]
        remaining[values] -= each
        shares.append(ValueShare(tuple(sorted(values.tolist())), each))
    return shares


def roomy_assignment(counts: Ints, m: int, least: int) -> list[ValueShare]:
    """An assignment in which as few tuples as can be fall into shares of fewer than `least`.

    Preferring larger shares at the beginning leaves other rests at the end; a few preferences are tried.
    """

    def cramped(shares: list[ValueShare]) -> tuple[int, int]:
        sizes = [len(share.values) * share.each for share in shares]
        return sum(size for size in sizes if size < least), len(sizes)

    return min((assignment(counts, m, least << doubled) for doubled in range(6)), key=cramped)


def _next_share(ranked: Ints, m: int, least: int) -> tuple[int, int]:
    """The breadth of the next share, and how many tuples it has of each value; `ranked` ends with a 0."""
    g = int(ranked.sum())
    breadths = np.arange(m, ranked.size, dtype=np.int64)
    largest = np.minimum(ranked[breadths - 1], (g - m * ranked[breadths]) // breadths)
    # n_1 - a <= (g - a b) / m holds for every a when b = m, since the batch is eligible.
    wider = breadths > m
    largest[wider] = np.minimum(largest[wider], (g - m * ranked[0]) // (breadths[wider] - m))
    for enough in (largest * breadths >= least, largest >= 1):
        found = np.flatnonzero(enough & (largest >= 1))
        if found.size:
            return int(breadths[found[0]]), int(largest[found[0]])
    raise InternalError("a batch that is not m-eligible was to be assigned")


def completed(counts: Ints, m: int, familiar: Ints) -> Ints | None:
    """The counterfeits of each value that make a batch m-eligible, as few as possible.

    If n_1 is the largest count, the batch needs m n_1 tuples. What is missing is spread over the other values in
    proportion to how frequent they are elsewhere (`familiar`), so that no value is distorted more than another,
    up to n_1 each. None where fewer than m values are familiar or in the batch.
    """
    highest = int(counts.max(initial=0))
    missing = m * highest - int(counts.sum())
    added = np.zeros_like(counts)
    if missing <= 0:
        return added
    usable = (familiar > 0) | (counts > 0)
    if int(usable.sum()) < m:
        return None
    weight = np.where(usable, np.maximum(familiar, 1), 0).astype(np.float64)
    while missing:
        room = np.where(usable, highest - counts - added, 0)
        share = weight * (room > 0)
        more = np.minimum(np.floor(missing * share / share.sum()).astype(np.int64), room)
        if not more.any():
            # Less than one for each: to the most frequent values that have room.
            more[np.argsort(-share, kind="stable")[:missing]] = 1
        added += more
        missing -= int(more.sum())
    return added
