"""What is possible and what is certain in a part that is too large to count: integer programs.

An unknown for each entry of a class says how many of its people have the value there (in a cohort, if there are
several). That is enough: numbers within the order that permanence demands can always be dealt out to people one by
one, because the ways of a single person are the corners of an order polytope, and those decompose. Worlds that the
solver finds are checked in integers; that there is none is taken from its bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue.arrays.budget import passed, solve_whole
from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import InternalError
from reissue.reasoning.permanence.permanence_parts import Part

GAP = 0.3
"""A world that has this much less than could be is good enough: it is asked again for what is still open."""
WHOLE = 1 - 1e-6
"""A bound below this is below 1, where a number must be whole."""


@dataclass(frozen=True, repr=False)
class Decided:
    """What can be, and what must be, for each entry of each class and then for the free entries of each group."""

    world: Ints | None
    """How many have the value there in some world; None: there is none, or none was found."""
    exists: bool | None
    """Whether there is a world; None: not decided."""
    possible: Bools
    """Where somebody has it in some world."""
    impossible: Bools
    """Where nobody can have it: proven."""
    certain: Bools
    """Where all must have it: proven."""
    finished: bool
    """Whether everything was decided."""


def decide(part: Part, *, cohorts: int = 1, deadline: float | None = None) -> Decided:
    """Decide for every entry of a part whether somebody can have the value there, and whether all must."""
    programme = Programme(part, cohorts)
    cells = programme.cells
    nothing = np.zeros(cells, dtype=np.bool_)
    found, bound = programme.best(np.zeros(cells), deadline)
    if found is None:
        return Decided(None, False if bound is not None else None, nothing, nothing, nothing, bound is not None)
    world = found
    possible, short = found > 0, found < programme.most
    wanted = programme.most > 0
    finished = True
    while (open_ := wanted & ~possible).any():
        found, bound = programme.best(open_.astype(np.float64), deadline)
        if found is not None and (found[open_] > 0).any():
            possible |= found > 0
            short |= found < programme.most
        else:
            finished = bound is not None and bound < WHOLE
            break
    impossible = wanted & ~possible if finished else nothing
    certain = nothing
    while cohorts == 1 and (open_ := wanted & possible & ~short).any():
        # The offset makes it the number of those who need not have it, so that the gap is one of small numbers.
        found, bound = programme.best(-open_.astype(np.float64), deadline, float(programme.most[open_].sum()))
        if found is not None and (found[open_] < programme.most[open_]).any():
            short |= found < programme.most
        else:
            proven = bound is not None and bound < WHOLE
            certain, finished = (open_ if proven else nothing), finished and proven
            break
    return Decided(world, True, possible, impossible, certain, finished)


class Programme:
    """The integer program of a part."""

    def __init__(self, part: Part, cohorts: int) -> None:
        self.part, self.cohorts = part, cohorts
        self.cells = part.entries + len(part.counts)
        sizes = np.array([one.size for one in part.classes for _ in one.groups], dtype=np.int64)
        self.most = np.minimum(np.concatenate([sizes, np.array(part.free, dtype=np.int64)]), np.iinfo(np.int32).max)
        """For each cell how many there are to have the value."""
        self._rows: list[tuple[list[int], list[int], float, float]] = []
        self._upper: list[float] = []
        self._build()
        self._solver = self._passed()

    def best(self, worth: Floats, deadline: float | None, offset: float = 0.0) -> tuple[Ints | None, float | None]:
        """A world with nearly as much worth as can be, by cell, and what no world is above; None where not known.

        Without a world a bound of minus infinity says that there is none.
        """
        import highspy

        if passed(deadline, self._index.size):
            return None, None
        solver = self._solver
        cost = np.zeros(len(self._upper))
        cost[: self.cells] = worth  # of the first cohort: all are alike
        solver.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)
        solver.changeObjectiveOffset(offset)
        solve_whole(solver, deadline, 5 + 0.1 * (len(self._upper) + len(self._rows)))
        status = solver.getModelStatus()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            return None, -np.inf
        info, solution = solver.getInfo(), solver.getSolution()
        bound = float(info.mip_dual_bound) if status == highspy.HighsModelStatus.kOptimal else None
        if not solution.value_valid:
            return None, None
        whole = np.rint(np.asarray(solution.col_value)).astype(np.int64)
        if not self._holds(whole):
            return None, None
        return whole[: self.cells * self.cohorts].reshape(self.cohorts, self.cells).sum(axis=0), bound

    def _column(self, cell: int, cohort: int) -> int:
        return cohort * self.cells + cell

    def _build(self) -> None:
        part, cohorts = self.part, self.cohorts
        self._upper = [float(most) for most in self.most.tolist()] * cohorts
        taken: list[list[int]] = [[] for _ in part.counts]
        cell = 0
        for one in part.classes:
            joined = [self._extra(one.size) for _ in range(cohorts)] if cohorts > 1 else []
            for cohort in range(cohorts):
                gate = joined[cohort] if joined else None
                for at in reversed(range(len(one.groups))):
                    mine = self._column(cell + at, cohort)
                    if gate is not None:
                        self._rows.append(([mine, gate], [1, -1], -np.inf, 0.0))
                    if one.sure[at]:
                        gate = mine
            if joined:
                self._rows.append((joined, [1] * cohorts, -np.inf, float(one.size)))
            for at, group in enumerate(one.groups):
                taken[group].append(cell + at)
            cell += len(one.groups)
        for group, some in enumerate(taken):
            cells = [*some, part.entries + group]
            need = float(part.counts[group])
            for cohort in range(cohorts):
                self._rows.append(([self._column(one, cohort) for one in cells], [1] * len(cells), need, need))
            if cohorts > 1:
                columns = [self._column(part.entries + group, cohort) for cohort in range(cohorts)]
                self._rows.append((columns, [1] * cohorts, -np.inf, float(part.free[group])))

    def _extra(self, size: int) -> int:
        self._upper.append(float(size))
        return len(self._upper) - 1

    def _passed(self) -> Any:
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", GAP)):
            solver.setOptionValue(name, value)
        model: Any = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self._upper), len(self._rows)
        model.col_cost_ = np.zeros(len(self._upper))
        model.col_lower_ = np.zeros(len(self._upper))
        model.col_upper_ = np.array(self._upper)
        infinity = highspy.kHighsInf
        model.row_lower_ = np.array([max(row[2], -infinity) for row in self._rows])
        model.row_upper_ = np.array([row[3] for row in self._rows])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        self._index = np.array([column for row in self._rows for column in row[0]], dtype=np.int32)
        self._value = np.array([value for row in self._rows for value in row[1]], dtype=np.float64)
        self._row = owners([len(row[0]) for row in self._rows])
        model.a_matrix_.start_ = np.cumsum([0, *(len(row[0]) for row in self._rows)]).astype(np.int32)
        model.a_matrix_.index_, model.a_matrix_.value_ = self._index, self._value
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(self._upper)
        model.sense_ = highspy.ObjSense.kMaximize
        if solver.passModel(model) == highspy.HighsStatus.kError:
            raise InternalError("the solver refused an integer program of permanent values")
        return solver

    def _holds(self, whole: Ints) -> bool:
        """Whether whole numbers are a world: every row is met, in integers."""
        met = np.bincount(self._row, self._value * whole[self._index], minlength=len(self._rows))
        low, high = (np.array([row[side] for row in self._rows]) for side in (2, 3))
        within = (whole >= 0).all() and (whole <= np.array(self._upper)).all()
        return bool(within and (met >= low).all() and (met <= high).all())
