"""Is there a world in which somebody is in a given state? Found, or proven that there is none, or undecided.

Depth first: an unknown is given a number, bounds are propagated through all equations, and if they contradict each
other the number is ruled out. A search that comes to its end without a world is a proof that there is none. Equations
that led to contradictions are looked at first from then on, and the search begins anew now and then to profit from
that; what was ruled out at the top stays ruled out.

Some contradictions follow from adding and subtracting equations, and no search would end soon: a linear program (HiGHS)
finds the multipliers. Floating-point numbers are not believed: multipliers are rounded and the contradiction is
evaluated again in integers, and a world is checked against the model before it is returned.
Cost: exponential at worst (the problem is NP-hard), hence `deadline`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from reissue.errors import InternalError, ParameterError
from reissue.reasoning.elimination import passed
from reissue.reasoning.worlds import Equations, Model, State, parts, tighten

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

GLANCE = 2_000
"""So many numbers are tried between two looks at the clock."""
AGAIN = 500
"""After so many the search begins anew for the first time, then each time after one and a half times as many."""
LEVELS = 64
"""How deep a search can go before it needs more room."""
NONE, FOUND, GOING = 0, 1, 2
UNIT = 2**20
"""Multipliers are rounded to this fraction of 1."""
LARGE = 2.0**20
"""Multipliers beyond this are cut off, so that sums of them fit into 64 bits."""


@dataclass(frozen=True, repr=False)
class World:
    """A world, as far as people of a class are told apart by their states only."""

    counts: tuple[tuple[int, ...], ...]
    """For each class how many of its people are in each of its states."""

    def __repr__(self) -> str:
        return f"World({len(self.counts):,} classes)"


def find_world(
    model: Model, *, require: tuple[int, int] | None = None, deadline: float | None = None
) -> World | Literal[False] | None:
    """A world with at least one person of a class in a state, `require`, or any world.

    False: there is none, proven. None: not decided before `deadline`, a moment of the monotonic clock.
    """
    asked = model if require is None else _requiring(model, *require)
    counts = [[0] * len(states) for states in asked.states]
    undecided = False
    for part in sorted(parts(asked), key=lambda part: part.classes.size):
        equations = Equations.of_model(part.model)
        found = _solution(equations, deadline)
        if found is False:
            return False
        if found is None:
            undecided = True  # another part may yet prove that there is no world
            continue
        for at, states, numbers in zip(part.classes.tolist(), part.states, equations.by_class(found), strict=True):
            for state, number in zip(states, numbers, strict=True):
                counts[at][state] = number
    if undecided:
        return None
    if require is not None and len(counts) > len(model.states):
        alone = counts.pop()
        counts[require[0]] = [number + one for number, one in zip(counts[require[0]], alone, strict=True)]
    world = World(tuple(tuple(numbers) for numbers in counts))
    _need_a_world(model, require, world)
    return world


def _requiring(model: Model, asked: int, wanted: int) -> Model:
    """The model with one person of a class in a class of his own, in which only the wanted state can be reached."""
    if not (0 <= asked < len(model.states) and 0 <= wanted < len(model.states[asked])):
        raise ParameterError(
            "The 'require' parameter of find_world must be a class of the model and one of its states."
        )
    never = len(model.targets)
    alone = tuple(
        state if at == wanted else State(state.value, (*state.counters, never))
        for at, state in enumerate(model.states[asked])
    )
    sizes, states = list(model.sizes), list(model.states)
    if sizes[asked] == 1:
        states[asked] = alone
    else:
        sizes[asked] -= 1
        sizes.append(1)
        states.append(alone)
    return Model(tuple(sizes), tuple(states), (*model.targets, 0))


def _need_a_world(model: Model, require: tuple[int, int] | None, world: World) -> None:
    """A world that is not one would be a mistake of ours."""
    left = list(model.targets)
    for states, numbers in zip(model.states, world.counts, strict=True):
        for state, number in zip(states, numbers, strict=True):
            for counter in state.counters:
                left[counter] -= number
    held = all(
        sum(numbers) == size and min(numbers) >= 0 for numbers, size in zip(world.counts, model.sizes, strict=True)
    )
    if any(left) or not held or (require is not None and not world.counts[require[0]][require[1]]):
        raise InternalError("A search for a possible world came up with something else.")


def _solution(equations: Equations, deadline: float | None) -> list[int] | Literal[False] | None:
    """Numbers for all unknowns; False: there are none; None: undecided."""
    bounds = equations.bounds()
    if bounds is None:
        return False
    search = _Search(equations, *bounds)
    limit, tried, looked = AGAIN, 0, False
    while True:
        status = search.go(min(GLANCE, limit - tried))
        if status == FOUND:
            return [int(number) for number in search.numbers]
        if status == NONE:
            return False
        if passed(deadline):
            return None
        tried += GLANCE
        if tried >= limit:
            limit, tried = limit * 3 // 2, 0
            search.begin_anew()
        if not looked:
            looked = True
            told = _relaxed(equations, *search.top, deadline)
            if told is not None:
                return told


class _Search:
    """A depth-first search that can be interrupted: bounds for each level, and the number given at each."""

    def __init__(self, equations: Equations, low: Ints, high: Ints) -> None:
        self._equations = equations
        room = (LEVELS, equations.unknowns)
        self._low, self._high = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        self._low[0], self._high[0] = low, high
        self._branches = np.zeros((room[0], 2), dtype=np.int64)
        self._blame = np.ones(equations.targets.size)
        self._state = np.zeros(2, dtype=np.int64)
        self._state[1] = 1

    @property
    def top(self) -> tuple[Ints, Ints]:
        """The bounds that hold in every world."""
        return self._low[0], self._high[0]

    @property
    def numbers(self) -> Ints:
        """The solution, once it is found."""
        numbers: Ints = self._low[self._state[0]]
        return numbers

    def begin_anew(self) -> None:
        """Back to the top."""
        self._state[0] = 0

    def go(self, nodes: int) -> int:
        """Try so many numbers; NONE, FOUND or GOING."""
        if self._state[0] + 1 == len(self._branches):
            self._low, self._high, self._branches = (
                np.concatenate([levels, np.zeros_like(levels)]) for levels in (self._low, self._high, self._branches)
            )
        status: int = _deepen(
            self._equations.targets,
            self._equations.arrays,
            self._low,
            self._high,
            self._branches,
            self._blame,
            self._state,
            nodes,
        )
        return status


@njit(cache=True, nogil=True)
def _choose(targets: Any, arrays: Any, low: Any, high: Any, blame: Any, worth: Any, seed: Any) -> Any:
    """The unknown to give a number next, -1 if all have one.

    It is in equations that are to blame for much and leave little choice; a little luck makes every start another one.
    """
    starts, terms, of_starts, of = arrays
    for equation in range(blame.size):
        choice, left = 0, targets[equation]
        for place in range(starts[equation], starts[equation + 1]):
            choice += high[terms[place]] - low[terms[place]]
            left -= low[terms[place]]
        worth[equation] = blame[equation] * left / max(choice, 1)
    best, chosen = -1.0, -1
    for unknown in range(low.size):
        if low[unknown] == high[unknown]:
            continue
        seed[1] = (seed[1] * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        value = 0.0
        for place in range(of_starts[unknown], of_starts[unknown + 1]):
            value += worth[of[place]]
        value *= 1.0 + 0.1 * ((seed[1] >> 40) / 8388608.0)
        if value > best:
            best, chosen = value, unknown
    return chosen


@njit(cache=True, nogil=True)
def _narrow(targets: Any, arrays: Any, low: Any, high: Any, unknown: int, blame: Any, queue: Any, waiting: Any) -> Any:
    """Propagate new bounds of an unknown; whether they can hold."""
    of_starts, of = arrays[2], arrays[3]
    if low[unknown] > high[unknown]:
        return False
    count = 0
    for place in range(of_starts[unknown], of_starts[unknown + 1]):
        queue[count] = of[place]
        waiting[of[place]] = True
        count += 1
    failed = tighten(targets, arrays, low, high, queue, waiting, count)
    if failed < 0:
        return True
    waiting[:] = False
    blame[failed] += 1.0
    return False


@njit(cache=True, nogil=True)
def _deepen(targets: Any, arrays: Any, lows: Any, highs: Any, branches: Any, blame: Any, state: Any, nodes: int) -> Any:
    """Go on with a search for some nodes, or until the levels do not suffice.

    `state` is the level it is on and a seed for `_choose`, `branches` the unknown and number tried at each level.
    """
    queue = np.zeros(targets.size, np.int64)
    waiting = np.zeros(targets.size, np.bool_)
    worth = np.zeros(targets.size)
    level = state[0]
    for _ in range(nodes):
        unknown = _choose(targets, arrays, lows[level], highs[level], blame, worth, state)
        if unknown < 0:
            state[0] = level
            return FOUND
        if level + 1 == lows.shape[0]:
            break
        number = highs[level, unknown]
        branches[level, 0], branches[level, 1] = unknown, number
        level += 1
        lows[level], highs[level] = lows[level - 1], highs[level - 1]
        lows[level, unknown] = number
        held = _narrow(targets, arrays, lows[level], highs[level], unknown, blame, queue, waiting)
        while not held:
            # The number of the level above is ruled out; if that contradicts what is above, so is the next one.
            if level == 0:
                state[0] = 0
                return NONE
            level -= 1
            unknown = branches[level, 0]
            highs[level, unknown] = branches[level, 1] - 1
            held = _narrow(targets, arrays, lows[level], highs[level], unknown, blame, queue, waiting)
    state[0] = level
    return GOING


def _relaxed(equations: Equations, low: Ints, high: Ints, deadline: float | None) -> list[int] | Literal[False] | None:
    """Numbers that a linear program happens to find whole, False if it proves that there are none, else None.

    The program meets the equations as nearly as it can within the bounds. Whatever multipliers y it returns: every
    solution x has y.targets = sum over the unknowns of (what y gives an unknown) x, and if even the largest of these
    sums within the bounds is smaller, there is no solution.
    """
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1)):
        solver.setOptionValue(name, value)
    if deadline is not None:
        solver.setOptionValue("time_limit", max(deadline - time.monotonic(), 0.0))
    rows, unknowns = equations.targets.size, equations.unknowns
    program: Any = highspy.HighsLp()
    program.num_col_, program.num_row_ = unknowns + 2 * rows, rows
    program.col_cost_ = np.concatenate([np.zeros(unknowns), np.ones(2 * rows)])
    program.col_lower_ = np.concatenate([low, np.zeros(2 * rows)]).astype(np.float64)
    program.col_upper_ = np.concatenate([high.astype(np.float64), np.full(2 * rows, highspy.kHighsInf)])
    program.row_lower_ = program.row_upper_ = equations.targets.astype(np.float64)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    slack = np.arange(rows)
    program.a_matrix_.start_ = np.concatenate(
        [equations.of_starts, equations.of.size + np.arange(1, 2 * rows + 1)]
    ).astype(np.int32)
    program.a_matrix_.index_ = np.concatenate([equations.of, slack, slack]).astype(np.int32)
    program.a_matrix_.value_ = np.concatenate([np.ones(equations.of.size + rows), -np.ones(rows)])
    if solver.passModel(program) == highspy.HighsStatus.kError:
        return None
    solver.run()
    solution = solver.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return None
    found = np.rint(np.asarray(solution.col_value)[:unknowns]).astype(np.int64)
    unknown = np.repeat(np.arange(unknowns), np.diff(equations.of_starts))
    met = np.bincount(equations.of, found[unknown], minlength=rows)
    if (met == equations.targets).all() and (found >= low).all() and (found <= high).all():
        return [int(number) for number in found]
    rounded = np.rint(np.clip(np.nan_to_num(np.asarray(solution.row_dual)), -LARGE, LARGE) * UNIT).astype(np.int64)
    for multipliers in (rounded, -rounded):
        slope = np.zeros(unknowns, dtype=np.int64)
        np.add.at(slope, unknown, multipliers[equations.of])
        most = np.where(slope > 0, high, low).astype(object) @ slope.astype(object)
        if int(multipliers.astype(object) @ equations.targets.astype(object)) > int(most):
            return False
    return None
