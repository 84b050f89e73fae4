"""Which courses are possible: whole numbers that solve the equations of one part, and proofs that none do.

Unknowns, for a class with several slots: how many of it keep one value throughout, by value; how many change, n; and
how many of those that change have which entry of which slot, or, where not everything may follow everything, how many
go from which entry to which entry of the next slot. The equations: everybody of a class keeps or changes; those that
change are n in every slot; every counter reaches its target. Together at most so many people change.

A linear program (HiGHS) asks for the most people in some entries. If its answer is whole, it is a world, which is
checked in whole numbers. If its multipliers prove that fewer than one person can be there, there is nobody: that is
evaluated again in whole numbers, so that nothing rests on floating-point arithmetic. In between stands an integer
program, whose worlds are believed once they are checked, and whose silence is not.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from reissue.arrays.budget import OutOfTime, need_time, passed, run_solver, solve_whole
from reissue.arrays.types import Bools, Bytes, Floats, Ints
from reissue.model.value_change import Following
from reissue.reasoning.worlds.courses import Courses

OPEN, POSSIBLE, IMPOSSIBLE = -1, 1, 0
UNIT = 1 << 20
"""Multipliers are rounded to this fraction of 1."""
LARGE = float(1 << 10)
"""Multipliers beyond this are cut off."""
EXACTLY = 2.0**62
"""Sums of whole numbers below this fit into 64 bits."""


class Least(NamedTuple):
    """How many people must have changed: proven bounds."""

    low: int
    high: int | None
    """None: no world was found."""
    infeasible: bool = False
    """Whether there is no world at all, whoever changes."""


class TooLarge(Exception):
    """The program would have more unknowns than there may be."""


class ChangeProgram:
    """The equations of one part."""

    def __init__(
        self, courses: Courses, classes: Ints, following: Following, *, most: int, deadline: float | None
    ) -> None:
        self._courses, self._following, self._deadline = courses, following, deadline
        slots = courses.slots_of(classes)
        self.entries = np.concatenate([np.arange(courses.starts[one], courses.starts[one + 1]) for one in slots])
        self._place = {entry: at for at, entry in enumerate(self.entries.tolist())}
        self._asked: list[list[int]] = [[] for _ in self.entries]
        self._columns: list[tuple[tuple[int, int], ...]] = []
        self._upper: list[int] = []
        self._changers: list[int] = []
        self._targets: list[int] = []
        self._counters: dict[int, int] = {}
        for group in np.unique(courses.group[slots]).tolist():
            for counter in range(int(courses.counter_starts[group]), int(courses.counter_starts[group + 1])):
                self._counters[counter] = self._row(int(courses.targets[counter]))
        for one in classes.tolist():
            need_time(deadline, 20)
            self._add_class(one)
            if len(self._columns) > most:
                raise TooLarge
        self._budget = self._row(0)
        for column in self._changers:
            self._columns[column] = (*self._columns[column], (self._budget, 1))
        self._finish()

    def __repr__(self) -> str:
        return f"ChangeProgram({self._cost.size:,} unknowns, {self._target.size:,} equations)"

    # The equations

    def _row(self, target: int) -> int:
        self._targets.append(target)
        return len(self._targets) - 1

    def _column(self, terms: list[tuple[int, int]], upper: int, *asked: int) -> int:
        """A new unknown with its place in the equations, and the entries that it counts for."""
        self._columns.append(tuple(terms))
        self._upper.append(upper)
        for entry in asked:
            self._asked[self._place[entry]].append(len(self._columns) - 1)
        return len(self._columns) - 1

    def _add_class(self, one: int) -> None:
        courses = self._courses
        size = int(courses.sizes[one])
        slots = range(int(courses.class_starts[one]), int(courses.class_starts[one + 1]))
        held = [
            {int(courses.value[entry]): entry for entry in range(int(courses.starts[at]), int(courses.starts[at + 1]))}
            for at in slots
        ]
        whole = self._row(size)
        for value in sorted(set.intersection(*(set(some) for some in held))):
            own = [some[value] for some in held]
            self._column([(whole, 1), *((self._of(entry), 1) for entry in own)], size, *own)
        if len(held) == 1:
            return
        terms = [(whole, 1)]
        changers = len(self._columns)
        self._column([], size)
        self._changers.append(changers)
        if not self._following:
            for some in held:
                row = self._row(0)
                terms.append((row, -1))
                for entry in some.values():
                    self._column([(row, 1), (self._of(entry), 1)], size, entry)
        else:
            terms.append((self._add_moves(slots, held, size), -1))
        self._columns[changers] = tuple(terms)

    def _add_moves(self, slots: range, held: list[dict[int, int]], size: int) -> int:
        """Those that change from slot to slot; the equation that says how many."""
        begin = self._row(0)
        into: dict[int, int] = {}
        for at, (some, later) in enumerate(pairwise(held)):
            onto = {entry: self._row(0) for entry in later.values()} if at + 2 < len(held) else {}
            steps = int(self._courses.steps[slots[at + 1]])
            for value, entry in some.items():
                after = self._following.after(value, steps)
                for follower, second in later.items():
                    if after is not None and follower not in after:
                        continue
                    terms = [(self._of(second), 1)]
                    terms += [(begin, 1), (self._of(entry), 1)] if not at else [(into[entry], -1)]
                    terms += [(onto[second], 1)] if second in onto else []
                    self._column(terms, size, *((entry, second) if not at else (second,)))
            need_time(self._deadline, len(some) * len(later))
            into = onto
        return begin

    def _of(self, entry: int) -> int:
        return self._counters[int(self._courses.counter[entry])]

    def _finish(self) -> None:
        lengths = [len(terms) for terms in self._columns]
        flat = [term for terms in self._columns for term in terms]
        self._rows = np.array([row for row, _ in flat], dtype=np.int64)
        self._signs = np.array([sign for _, sign in flat], dtype=np.int64)
        self._column_starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self._owner = np.repeat(np.arange(len(lengths)), lengths)
        self._target = np.array(self._targets, dtype=np.int64)
        self._most = np.array(self._upper, dtype=np.int64)
        self._cost = np.zeros(len(lengths), dtype=np.int64)
        self._cost[self._changers] = 1
        self._asked_columns = np.array([column for some in self._asked for column in some], dtype=np.int64)
        self._asked_entry = np.repeat(np.arange(len(self._asked)), [len(some) for some in self._asked])
        del self._columns, self._asked, self._place
        self._solver: Any = None
        self._limit: int | None = None

    # Asking

    def until(self, deadline: float | None) -> None:
        """Go on until another deadline."""
        self._deadline = deadline

    def least(self) -> tuple[Least, Bools]:
        """How many people must have changed, and the entries of a world in which so few have, if one is found."""
        nowhere = np.zeros(self.entries.size, dtype=np.bool_)
        answer = self._ask(-self._cost, None)
        if answer is None:
            return Least(0, None, infeasible=True), nowhere
        numbers, bound = answer
        low = max(-bound, 0)
        if numbers is None:
            numbers = self._whole(-self._cost)
        if numbers is None:
            return Least(low, None), nowhere
        return Least(low, int(self._cost @ numbers)), self._reached(numbers)

    def possible(self, budget: int | None, already: Bools) -> Bytes:
        """For each of `entries` whether somebody can be there, where at most so many people change; None: any number.

        `already`: where somebody is in a world that is known.
        """
        found = np.where(already, POSSIBLE, OPEN).astype(np.int8)
        with suppress(OutOfTime):
            self._search(budget, found)
        return found

    def _search(self, budget: int | None, found: Bytes) -> None:
        while (found == OPEN).any():
            # All together: a world shows many entries at once, and a proof that nobody is anywhere is one for each.
            answer = self._ask(self._objective(found == OPEN), budget)
            if answer is None:
                return
            numbers, bound = answer
            if bound < 1:
                found[found == OPEN] = IMPOSSIBLE
                return
            if not self._show(found, numbers if numbers is not None else self._whole(self._objective(found == OPEN))):
                break
        for at in np.flatnonzero(found == OPEN).tolist():
            if found[at] != OPEN:
                continue
            alone = np.zeros(found.size, dtype=np.bool_)
            alone[at] = True
            answer = self._ask(self._objective(alone), budget)
            if answer is None:
                return
            numbers, bound = answer
            if bound < 1:
                found[at] = IMPOSSIBLE
            else:
                self._show(found, numbers if numbers is not None else self._whole(self._objective(alone)))

    def _show(self, found: Bytes, numbers: Ints | None) -> bool:
        """Note the entries of a world; whether there was a new one."""
        if numbers is None:
            return False
        new = self._reached(numbers) & (found == OPEN)
        found[new] = POSSIBLE
        return bool(new.any())

    def _objective(self, wanted: Bools) -> Ints:
        chosen = self._asked_columns[wanted[self._asked_entry]]
        return np.bincount(chosen, minlength=self._cost.size)

    def _reached(self, numbers: Ints) -> Bools:
        """The entries where somebody is."""
        return np.bincount(self._asked_entry, numbers[self._asked_columns], minlength=self.entries.size) > 0

    # Solving

    def _ask(self, objective: Ints, budget: int | None) -> tuple[Ints | None, int] | None:
        """A world with as much of an objective as a linear program finds, None if that is none; and a proven bound.

        None: there is no solution. Raises `OutOfTime`.
        """
        import highspy

        need_time(self._deadline, 50)
        solver = self._prepared(budget)
        columns = np.arange(self._cost.size, dtype=np.int32)
        solver.changeColsCost(self._cost.size, columns, objective.astype(np.float64))
        run_solver(solver, self._deadline, 5 + 0.1 * (self._cost.size + self._target.size))
        status = solver.getModelStatus()
        # Nothing is without bounds here.
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            return None
        solution = solver.getSolution()
        if status != highspy.HighsModelStatus.kOptimal or not solution.dual_valid:
            raise OutOfTime
        numbers = self._checked(np.asarray(solution.col_value))
        return numbers, self._bound(objective, np.asarray(solution.row_dual))

    def _checked(self, told: Floats) -> Ints | None:
        """Numbers that a solver found, rounded, if they are a world."""
        numbers = np.rint(told).astype(np.int64)
        met = np.bincount(self._rows, self._signs * numbers[self._owner], minlength=self._target.size)
        wrong = (np.rint(met).astype(np.int64) != self._target) & (np.arange(met.size) != self._budget)
        spent = int(self._cost @ numbers)
        held = (numbers >= 0).all() and (numbers <= self._most).all()
        if wrong.any() or not held or (self._limit is not None and spent > self._limit):
            return None
        return numbers

    def _bound(self, objective: Ints, duals: Floats) -> int:
        """What an objective is at most, proven: for any multipliers y of the equations A x = b it is
        y b + the sum of max(0, objective - y A) times the most that each unknown can be."""
        best = int(np.maximum(objective, 0) @ self._most)
        rounded = np.rint(np.clip(np.nan_to_num(duals), -LARGE, LARGE) * UNIT).astype(np.int64)
        for multipliers in (rounded, -rounded):
            y = multipliers.copy()
            # The last equation only bounds how many people change, from above; without a limit it says nothing.
            y[self._budget] = max(int(y[self._budget]), 0) if self._limit is not None else 0
            target = self._target.copy()
            target[self._budget] = self._limit or 0
            gain = objective * UNIT - _added(self._owner, self._signs * y[self._rows], self._cost.size)
            left = np.maximum(gain, 0)
            if float(np.abs(y).astype(np.float64) @ target + left.astype(np.float64) @ self._most) >= EXACTLY:
                continue
            best = min(best, (int(y @ target) + int(left @ self._most)) // UNIT)
        return best

    def _whole(self, objective: Ints) -> Ints | None:
        """A world with as much of an objective as an integer program finds; None: it found none."""
        import highspy

        if passed(self._deadline, 50):
            return None
        solver = self._solver
        columns = np.arange(self._cost.size, dtype=np.int32)
        solver.changeColsCost(self._cost.size, columns, objective.astype(np.float64))
        kinds = np.full(self._cost.size, highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(self._cost.size, columns, kinds)
        solve_whole(solver, self._deadline, 5 + 0.1 * (self._cost.size + self._target.size))
        solution = solver.getSolution()
        found = self._checked(np.asarray(solution.col_value)) if solution.value_valid else None
        self._solver = None  # a linear program again, from the beginning
        return found

    def _prepared(self, budget: int | None) -> Any:
        import highspy

        if self._solver is None:
            solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
            for name, value in (("output_flag", False), ("threads", 1)):
                solver.setOptionValue(name, value)
            program: Any = highspy.HighsLp()
            program.num_col_, program.num_row_ = self._cost.size, self._target.size
            program.sense_ = highspy.ObjSense.kMaximize
            program.col_cost_ = np.zeros(self._cost.size)
            program.col_lower_ = np.zeros(self._cost.size)
            program.col_upper_ = self._most.astype(np.float64)
            lower = self._target.astype(np.float64)
            upper = lower.copy()
            lower[self._budget], upper[self._budget] = -highspy.kHighsInf, highspy.kHighsInf
            program.row_lower_, program.row_upper_ = lower, upper
            program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
            program.a_matrix_.start_ = self._column_starts.astype(np.int32)
            program.a_matrix_.index_ = self._rows.astype(np.int32)
            program.a_matrix_.value_ = self._signs.astype(np.float64)
            if solver.passModel(program) == highspy.HighsStatus.kError:
                raise OutOfTime
            self._solver = solver
        self._limit = budget
        room = highspy.kHighsInf if budget is None else float(budget)
        self._solver.changeRowBounds(self._budget, -highspy.kHighsInf, room)
        return self._solver


def _added(owner: Ints, amounts: Ints, count: int) -> Ints:
    """What amounts add up to for each owner, in whole numbers; owners ascend."""
    total = np.concatenate([[0], np.cumsum(amounts, dtype=np.int64)])
    return np.diff(total[np.searchsorted(owner, np.arange(count + 1))])
