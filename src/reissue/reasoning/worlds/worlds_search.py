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

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from reissue.arrays.budget import OutOfTime, passed, run_solver
from reissue.arrays.runs import owners
from reissue.arrays.types import Ints
from reissue.errors import InternalError, ParameterError
from reissue.kernels import inner, kernel
from reissue.reasoning.worlds.worlds_equations import CUT, TERM, WORK, Equations, tighten
from reissue.reasoning.worlds.worlds_model import Model, PersonState, parts

AGAIN = 500
"""After so many numbers the search begins anew for the first time, then each time after half as many again."""
LEVELS = 64
"""How deep a search can go before it needs more room."""
MOST_ROOM = 1 << 27
"""Bounds that take more numbers than this, 1 GiB, are not kept: then the search is given up."""
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

    False: there is none, proven. None: not decided before the deadline.
    """
    _need_a_state(model, require)
    if passed(deadline):
        return None
    try:
        return _found(model, require, deadline)
    except OutOfTime:
        return None


def _found(model: Model, require: tuple[int, int] | None, deadline: float | None) -> World | Literal[False] | None:
    asked = model if require is None else _requiring(model, *require)
    counts = [[0] * len(states) for states in asked.states]
    undecided = False
    for part in sorted(parts(asked, deadline), key=lambda part: part.classes.size):
        equations = Equations.of_model(part.model, deadline)
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


def _need_a_state(model: Model, require: tuple[int, int] | None) -> None:
    if require is None:
        return
    asked, wanted = require
    if not (0 <= asked < len(model.states) and 0 <= wanted < len(model.states[asked])):
        raise ParameterError(
            "The 'require' parameter of find_world must be a class of the model and one of its states."
        )


def _requiring(model: Model, asked: int, wanted: int) -> Model:
    """The model with one person of a class in a class of his own, in which only the wanted state can be reached."""
    never = len(model.targets)
    alone = tuple(
        state if at == wanted else PersonState(state.value, (*state.counters, never))
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
    bounds = equations.bounds(deadline)
    if bounds is None:
        return False
    search = _LevelSearch(equations, *bounds)
    limit, looked = AGAIN, False
    search.begin_anew(limit)
    while True:
        status = search.go()
        if status == FOUND:
            return [int(number) for number in search.numbers]
        if status == NONE:
            return False
        if passed(deadline, search.spent()) or not search.make_room():
            return None
        if search.tired:
            limit = limit * 3 // 2
            search.begin_anew(limit)
        if not looked:
            looked = True
            told = _relaxed(equations, *search.top, deadline)
            if told is not None:
                return told


class _LevelSearch:
    """A depth-first search that can be interrupted: bounds for each level, and the number given at each."""

    def __init__(self, equations: Equations, low: Ints, high: Ints) -> None:
        self._equations = equations
        room = (LEVELS, equations.unknowns)
        self._low, self._high = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        self._low[0], self._high[0] = low, high
        self._branches = np.zeros((room[0], 2), dtype=np.int64)
        self._blame = np.ones(equations.targets.size)
        self._left = 0
        # The level, a seed, whether the level contradicts itself, and how many numbers may be tried yet.
        self._state = np.array([0, 1, 0, 0])

    @property
    def top(self) -> tuple[Ints, Ints]:
        """The bounds that hold in every world."""
        return self._low[0], self._high[0]

    @property
    def numbers(self) -> Ints:
        """The solution, once it is found."""
        numbers: Ints = self._low[self._state[0]]
        return numbers

    @property
    def tired(self) -> bool:
        """Whether all numbers were tried that it began with."""
        return bool(self._state[3] <= 0)

    def spent(self) -> float:
        """About how many steps were done since this was last asked."""
        since, self._left = self._left - int(self._state[3]), int(self._state[3])
        return 20 + TERM * min(max(since, 1) * 4 * self._equations.of.size, WORK)

    def begin_anew(self, numbers: int) -> None:
        """Back to the top, to try so many numbers."""
        self._left = numbers
        self._state[0], self._state[2], self._state[3] = 0, 0, numbers

    def make_room(self) -> bool:
        """Room for deeper levels where it is needed; whether there is enough."""
        if self._state[0] + 1 < len(self._branches):
            return True
        if 2 * self._low.size > MOST_ROOM // 2:
            return False
        self._low, self._high, self._branches = (
            np.concatenate([levels, np.zeros_like(levels)]) for levels in (self._low, self._high, self._branches)
        )
        return True

    def go(self) -> int:
        """Try some numbers; NONE, FOUND or GOING."""
        status: int = _deepen(
            self._equations.targets,
            self._equations.arrays,
            self._low,
            self._high,
            self._branches,
            self._blame,
            self._state,
            WORK,
        )
        return status


@inner
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


@inner
def _narrow(
    targets: Any,
    arrays: Any,
    low: Any,
    high: Any,
    unknown: int,
    blame: Any,
    queue: Any,
    waiting: Any,
    work: Any,
    most: int,
) -> Any:
    """Propagate new bounds of an unknown; whether they can hold, as far as a look at `most` terms tells."""
    of_starts, of = arrays[2], arrays[3]
    if low[unknown] > high[unknown]:
        return False
    count = 0
    for place in range(of_starts[unknown], of_starts[unknown + 1]):
        queue[count] = of[place]
        waiting[of[place]] = True
        count += 1
    own = np.full(1, most, np.int64)
    failed = tighten(targets, arrays, low, high, queue, waiting, count, own)
    work[0] -= most - own[0]
    if failed < 0:
        if failed == CUT:
            waiting[:] = False  # the bounds hold, they could only be narrower
        return True
    waiting[:] = False
    blame[failed] += 1.0
    return False


@inner
def _met(targets: Any, arrays: Any, numbers: Any) -> Any:
    """Whether numbers for all unknowns solve the equations: propagation that was cut off does not tell."""
    starts, terms = arrays[0], arrays[1]
    for equation in range(targets.size):
        left = targets[equation]
        for place in range(starts[equation], starts[equation + 1]):
            left -= numbers[terms[place]]
        if left != 0:
            return False
    return True


@kernel
def _deepen(targets: Any, arrays: Any, lows: Any, highs: Any, branches: Any, blame: Any, state: Any, most: int) -> Any:
    """Go on with a search until all numbers were tried, or `most` terms looked at, or the levels do not suffice.

    `state` is as in `_LevelSearch`, `branches` the unknown and number tried at each level.
    """
    queue = np.zeros(targets.size, np.int64)
    waiting = np.zeros(targets.size, np.bool_)
    worth = np.zeros(targets.size)
    work = np.full(1, most, np.int64)
    level, held = state[0], state[2] == 0
    answer = GOING
    while True:
        if not held:
            # The number of the level above is ruled out; if that contradicts what is above, so is the next one.
            if level == 0:
                answer = NONE
                break
            if work[0] <= 0:
                break
            level -= 1
            unknown = branches[level, 0]
            highs[level, unknown] = branches[level, 1] - 1
            held = _narrow(targets, arrays, lows[level], highs[level], unknown, blame, queue, waiting, work, most)
            continue
        if state[3] <= 0 or work[0] <= 0:
            break
        unknown = _choose(targets, arrays, lows[level], highs[level], blame, worth, state)
        work[0] -= 2 * arrays[3].size
        if unknown < 0:
            held = _met(targets, arrays, lows[level])
            if held:
                answer = FOUND
                break
            continue
        if level + 1 == lows.shape[0]:
            break
        state[3] -= 1
        number = highs[level, unknown]
        branches[level, 0], branches[level, 1] = unknown, number
        level += 1
        lows[level], highs[level] = lows[level - 1], highs[level - 1]
        lows[level, unknown] = number
        held = _narrow(targets, arrays, lows[level], highs[level], unknown, blame, queue, waiting, work, most)
    state[0], state[2] = level, int(not held)
    return answer


def _relaxed(equations: Equations, low: Ints, high: Ints, deadline: float | None) -> list[int] | Literal[False] | None:
    """Numbers that a linear program happens to find whole, False if it proves that there are none, else None.

    The program meets the equations as nearly as it can within the bounds. Whatever multipliers y it returns: every
    solution x has y.targets = sum over the unknowns of (what y gives an unknown) x, and if even the largest of these
    sums within the bounds is smaller, there is no solution.
    """
    import highspy

    if passed(deadline):
        return None
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1)):
        solver.setOptionValue(name, value)
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
    run_solver(solver, deadline, 5 + 0.1 * (unknowns + 3 * rows))
    solution = solver.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return None
    found = np.rint(np.asarray(solution.col_value)[:unknowns]).astype(np.int64)
    unknown = owners(np.diff(equations.of_starts))
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
