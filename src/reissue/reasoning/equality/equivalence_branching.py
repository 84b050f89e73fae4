"""Branch and bound for the minimum equivalence attack, exact although its relaxations are not.

The vectors y looked for are integer combinations, with integer results, of the rows of a reduced echelon
form. HiGHS solves the relaxation (y not integer), whose solution says where to branch and whose multipliers
give a bound. Both are floating-point, and neither is believed: vectors are computed again from their
integers at the pivots, and bounds are evaluated again in integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.arrays.budget import passed, run_solver
from reissue.arrays.elimination import Whole
from reissue.arrays.types import Floats, Ints

UNIT = 2**20
"""Multipliers are rounded to this fraction of 1 before a bound is evaluated with them."""
LARGE = 2.0**40
"""Multipliers beyond this are cut off, so that they fit into 64 bits when rounded."""


class Branching:
    """Branch and bound in one part: is there a vector within the budget that has at least 1 in a given column?"""

    def __init__(self, basis: Whole, pivots: list[int], cost: Ints, budget: int, deadline: float | None) -> None:
        self._budget, self._deadline, self._cost = budget, deadline, cost
        self._basis, self._pivots = basis.astype(object), np.array(pivots)
        self._scale = self._basis[np.arange(self._pivots.size), self._pivots]
        # y_j is the sum of y_i b_ij / b_ii over the pivots i; multiplied out, that is one equation for each other j.
        rest = np.setdiff1d(np.arange(self._cost.size), self._pivots)
        coefficient = self._basis[:, rest]
        multiple = np.lcm.reduce(np.where(coefficient != 0, self._scale[:, None], 1), axis=0)
        self._equations = np.zeros((rest.size, self._cost.size), dtype=object)
        self._equations[np.arange(rest.size), rest] = multiple
        self._equations[:, self._pivots] = -(coefficient * multiple // self._scale[:, None]).T
        self._solver = _relaxation(self._equations.astype(np.float64), cost)

    def search(self, column: int) -> tuple[Whole | None, int | None]:
        """A vector, if there is one; else, if the time ran out, a bound on what one would cost (None: proved)."""
        if self._solver is None:
            return None, 2
        upper = self._budget // self._cost
        lower = -upper
        lower[column] = 1
        waiting = [(2, lower, upper)]
        while waiting:
            if passed(self._deadline, 50 + 0.2 * self._equations.size):
                return None, min(bound for bound, _, _ in waiting)
            bound, lower, upper = waiting.pop()
            values, multipliers = self._relaxed(lower, upper)
            bound = max([bound, *(self._bound(way, lower, upper) for way in multipliers)])
            if bound > self._budget:
                continue
            found = self._nearest(values)
            if found is not None:
                return found, None
            if (lower == upper).all():
                continue
            at, below = self._split(values, lower, upper)
            left, right = upper.copy(), lower.copy()
            left[at], right[at] = below, below + 1
            waiting += [(bound, lower, left), (bound, right, upper)]
        return None, None

    def _relaxed(self, lower: Ints, upper: Ints) -> tuple[Floats, list[Floats]]:
        """A vector, best without integrality (any within the limits if there is none), and multipliers for bounds."""
        solver, count = self._solver, self._cost.size
        zero = np.zeros(count, dtype=np.int64)
        least = np.concatenate([np.maximum(lower, zero), np.maximum(-upper, zero)]).astype(np.float64)
        most = np.concatenate([np.maximum(upper, zero), np.maximum(-lower, zero)]).astype(np.float64)
        solver.changeColsBounds(2 * count, np.arange(2 * count, dtype=np.int32), least, most)
        run_solver(solver, self._deadline, 5 + 0.1 * (2 * count + len(self._equations)))
        _, proved_empty, ray = solver.getDualRay()
        anywhere = np.clip(0, lower, upper).astype(np.float64)
        if proved_empty:
            # A large step along the ray lifts the bound beyond any budget, if the ray is what it claims to be.
            way = np.asarray(ray) * (2**16 / max(float(np.abs(ray).max()), 1e-9))
            return anywhere, [way, -way]
        solution = solver.getSolution()
        if not (solution.value_valid and solution.dual_valid):
            return anywhere, []
        both = np.asarray(solution.col_value)
        return both[:count] - both[count:], [np.asarray(solution.row_dual)]

    def _bound(self, multipliers: Floats, lower: Ints, upper: Ints) -> int:
        """A cost that no vector within the limits is below: the least of c|y| - (multipliers . equations) y.

        The equations are zero for every vector, whatever the multipliers; so it is a bound however they came about.
        """
        rounded = np.rint(np.clip(np.nan_to_num(multipliers), -LARGE, LARGE) * UNIT).astype(np.int64).astype(object)
        slope = rounded @ self._equations
        cost = self._cost.astype(object) * UNIT
        ends = [end.astype(object) for end in (lower, upper, np.clip(0, lower, upper))]
        # Convex with a kink at 0, so that the least is at a limit or there.
        least = np.minimum.reduce([cost * np.abs(end) - slope * end for end in ends])
        return -(-int(least.sum()) // UNIT)

    def _nearest(self, values: Floats) -> Whole | None:
        """The vector with the nearest integers at the pivots, if it is one of those looked for."""
        at_pivots = np.rint(values[self._pivots]).astype(np.int64).astype(object)
        common = np.lcm.reduce(self._scale)
        vector = (at_pivots * (common // self._scale)) @ self._basis
        if (vector % common != 0).any():
            return None
        vector //= common
        cost = int(np.abs(vector) @ self._cost.astype(object))
        return vector.astype(np.int64) if 0 < cost <= self._budget else None

    def _split(self, values: Floats, lower: Ints, upper: Ints) -> tuple[int, int]:
        """The column to branch on and where: the most fractional one, else the one with the widest limits."""
        apart = np.where(lower < upper, np.abs(values - np.rint(values)), 0)
        at = int(np.argmax(apart))
        if apart[at] > 1e-6:
            return at, int(np.clip(np.floor(values[at]), lower[at], upper[at] - 1))
        at = int(np.argmax(upper - lower))
        return at, int(lower[at] + (upper[at] - lower[at]) // 2)


def _relaxation(equations: Floats, cost: Ints) -> Any:
    """The linear program min c (p + n) with equations (p - n) = 0; only the limits of p and n change later.

    None if its coefficients are too large for the solver.
    """
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), ("presolve", "off"), ("solver", "simplex")):
        solver.setOptionValue(name, value)
    count = cost.size
    model: Any = highspy.HighsLp()
    model.num_col_, model.num_row_ = 2 * count, equations.shape[0]
    model.col_cost_ = np.concatenate([cost, cost]).astype(np.float64)
    model.col_lower_, model.col_upper_ = np.zeros(2 * count), np.zeros(2 * count)
    model.row_lower_, model.row_upper_ = np.zeros(equations.shape[0]), np.zeros(equations.shape[0])
    both = np.hstack([equations, -equations])
    row, column = np.nonzero(both)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.searchsorted(row, np.arange(equations.shape[0] + 1)).astype(np.int32)
    model.a_matrix_.index_, model.a_matrix_.value_ = column.astype(np.int32), both[row, column]
    return solver if solver.passModel(model) != highspy.HighsStatus.kError else None
