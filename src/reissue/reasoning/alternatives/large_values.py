"""Frequent values: which combinations of them are drawn first, and how probable each is.

Each large value v must be in a combination with probability m p(v) / slots(v), and no combination may take more than m
slots, or leave more than the other values can fill. Whether there are such probabilities is a linear program over all
combinations. Among many solutions the one nearest to independence is taken: that of least relative entropy to `prior`,
in which every combination occurs that can.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import InternalError

MOST_COMBINATIONS = 1 << 18
MANY = 500
ENOUGH = 1e-14
"""So near come the probabilities of single values to what they must be."""
SOME = 0.5
"""The program gives a combination 1 if it can occur at all, else 0."""
SHORTEST, FARTHEST = 1e-6, 300.0
"""Newton's method ends where its steps become shorter, or factors further from 1: there is no solution with all."""
LEAST = 1e-12
"""With a smaller probability it takes the program to say that a combination can occur."""


def combinations(slots: Ints, m: int, least: int) -> Bools | None:
    """All combinations of values that take from `least` to m slots together, a row each; None if they are too many."""
    rows, taken = np.zeros((1, 0), dtype=np.bool_), np.zeros(1, dtype=np.int64)
    for number in slots:
        rows = np.vstack([np.pad(rows, ((0, 0), (0, 1))), np.pad(rows, ((0, 0), (0, 1)), constant_values=True)])
        taken = np.concatenate([taken, taken + number])
        rows, taken = rows[taken <= m], taken[taken <= m]
        if len(rows) > MOST_COMBINATIONS:
            return None
    rows = rows[taken >= least]
    return rows[np.lexsort(rows.T[::-1])] if rows.shape[1] else rows


def weigh(rows: Bools, inclusion: Floats, prior: Floats) -> Floats | None:
    """A probability for each combination, such that each value has its inclusion probability; None if there is none.

    Of all solutions the one with the least relative entropy to `prior`: the product of a factor for each value in the
    combination and of its prior.
    """
    if not len(rows):
        return None
    if len(rows) > MANY:
        # Nearly always every combination can occur, and no program is needed, which would take seconds.
        nearest = _nearest(rows.astype(np.float64), inclusion, prior, steps=30)
        if nearest is not None and (nearest > LEAST).all():
            return nearest
    inner = _inner_solution(rows, inclusion)
    can = inner > 0
    if not can.any():
        return None
    found = np.zeros(len(rows))
    nearest = _nearest(rows[can].astype(np.float64), inclusion, prior[can], steps=200)
    found[can] = inner[can] if nearest is None else nearest
    return found if _largest(inclusion - found @ rows) <= ENOUGH and (found[can] > 0).all() else None


def _inner_solution(rows: Bools, inclusion: Floats) -> Floats:
    """Any solution in which every combination occurs that can; all 0 if there is none.

    A solution is scaled up until whatever can occur has 1 or more: w = t + x with 0 <= t <= 1 and x >= 0, the sum of t
    as large as possible, and A w = s b with any s >= 0.
    """
    import highspy

    count, width = rows.shape
    system = np.vstack([np.ones(count), rows.T])
    right = np.concatenate([[1.0], inclusion])
    columns = np.hstack([system, system, -right[:, None]])
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), ("primal_feasibility_tolerance", 1e-10)):
        solver.setOptionValue(name, value)
    program: Any = highspy.HighsLp()
    program.num_col_, program.num_row_ = 2 * count + 1, width + 1
    program.col_cost_ = np.concatenate([np.ones(count), np.zeros(count + 1)])
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_lower_ = np.zeros(2 * count + 1)
    program.col_upper_ = np.concatenate([np.ones(count), np.full(count + 1, highspy.kHighsInf)])
    program.row_lower_ = program.row_upper_ = np.zeros(width + 1)
    column, row = np.nonzero(columns.T)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=2 * count + 1))])
    program.a_matrix_.start_ = starts.astype(np.int32)
    program.a_matrix_.index_ = row.astype(np.int32)
    program.a_matrix_.value_ = columns.T[column, row]
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise InternalError("a linear program that always has a solution was not solved")
    values = np.asarray(solver.getSolution().col_value)
    can = values[:count] > SOME
    if not can.any():
        return np.zeros(count)
    found: Floats = np.where(can, values[:count] + values[count:-1], 0.0) / values[-1]
    # The program is exact to some digits only; the nearest solution of the equations is exact.
    for _ in range(3):
        found[can] += np.linalg.lstsq(system[:, can], right - system @ found, rcond=None)[0]
    return found


def _nearest(rows: Floats, inclusion: Floats, prior: Floats, *, steps: int) -> Floats | None:
    """The solution nearest to `prior`, by Newton's method on the logarithms of the factors; None if it goes astray.

    They minimise log(sum of prior exp(logarithms of those in the row)) - inclusion @ logarithms, which is convex.
    """
    logarithms = np.zeros(rows.shape[1])
    weights, height = _at(logarithms, rows, inclusion, prior)
    for _ in range(steps):
        mean = weights @ rows
        miss = inclusion - mean
        if _largest(miss) <= ENOUGH / 10:
            break
        spread = (rows * weights[:, None]).T @ rows - np.outer(mean, mean)
        step = np.linalg.lstsq(spread, miss, rcond=1e-13)[0]
        length = 1.0
        while length > SHORTEST:
            tried, lower = _at(logarithms + length * step, rows, inclusion, prior)
            # At the end heights are equal to the last digit, and only what is missed can be compared.
            if lower <= height - length * float(miss @ step) / 10_000 or (
                lower <= height + ENOUGH and _largest(inclusion - tried @ rows) < _largest(miss)
            ):
                break
            length /= 2
        else:
            break
        logarithms = logarithms + length * step
        weights, height = tried, lower
        if _largest(logarithms) > FARTHEST:
            return None
    return weights if _largest(inclusion - weights @ rows) <= ENOUGH else None


def _at(logarithms: Floats, rows: Floats, inclusion: Floats, prior: Floats) -> tuple[Floats, float]:
    """The probabilities that these factors give, and the height of what is minimised."""
    exponents = np.log(prior) + rows @ logarithms
    top = float(exponents.max())
    raw = np.exp(exponents - top)
    return raw / raw.sum(), top + float(np.log(raw.sum())) - float(inclusion @ logarithms)


def _largest(numbers: Floats) -> float:
    return float(np.abs(numbers).max(initial=0.0))
