"""Budgets: how much work may be done, counted in steps, with the clock as the outer limit.

with working(60.0) as seconds:            # joins the budget that is being spent, or begins one
    deadline = ends_after(seconds)
    while not passed(deadline, 500):      # 500 steps of work were done since the last look
        ...

A step is about a microsecond of work: so many terms looked at, so many entries made. How many steps something takes
follows from the input alone, so the same input stops at the same place on every machine, however busy. Deadlines are
moments of this count, told in seconds of `A_SECOND` steps each. The clock is looked at, too: when the time of a budget
is over, every deadline is. Then `stopped` says "clock", and the figures are those of this run only.

Where no budget is being spent, moments are those of the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Literal, TypeVar, cast

A_SECOND = 500_000
"""So many steps make a second of a budget. An ordinary machine does about twice as many in a second of the clock, so
that steps end before the clock does, also where others keep the machine busy."""
FOREVER = 1e9
"""Nobody waits for so many seconds."""
LATE = 1e12
"""After the clock has stopped a budget, every look at it is so many seconds later than the one before."""
NODE = 20
"""So many iterations a node of an integer program is taken to need."""
PIECE = 1_000_000
"""A linear program is solved in pieces of so many steps."""
MOST = 2**31 - 1
"""What a solver takes for no limit."""

Stopped = Literal["steps", "clock"]
"""What ended work before its end."""


class OutOfTime(Exception):
    """The deadline passed before the result was there."""


class Budget:
    """What may be spent, and what was."""

    def __init__(self, until: float | None = None, most: int | None = None) -> None:
        self.until = until
        """The moment of the clock at which everything ends; None: it never does."""
        self.most = most
        """How many steps it is meant for; None: nobody said."""
        self.spent = 0
        """How many steps were done."""
        self.stopped: Stopped | None = None
        """What cut something short; None: everything came to its end."""
        self._late = 0.0

    def __repr__(self) -> str:
        return f"Budget({self.spent:,} steps spent, stopped by {self.stopped or 'nothing'})"

    @property
    def over(self) -> bool:
        """Whether the clock has stopped it."""
        if self.stopped != "clock" and self.until is not None and time.monotonic() >= self.until:
            self.stopped = "clock"
        return self.stopped == "clock"

    def moment(self) -> float:
        """What was spent, in seconds; once the clock is over, later than any deadline."""
        if self.over:
            self._late += LATE
        return self.spent / A_SECOND + self._late

    @contextmanager
    def spending(self) -> Iterator[Budget]:
        """Everything inside is done on this budget."""
        before = _active.set(self)
        try:
            yield self
        finally:
            _active.reset(before)


_active: ContextVar[Budget | None] = ContextVar("budget", default=None)


def steps_in(seconds: float) -> int:
    """The steps of a budget of so many seconds."""
    return max(round(min(seconds, FOREVER) * A_SECOND), 1)


@contextmanager
def working(seconds: float | None) -> Iterator[float | None]:
    """Work for so many seconds of steps, on the budget that is being spent or else on one of its own.

    One of its own ends after as many seconds of the clock at the latest. What it yields is `seconds`; None: no limit.
    """
    if _active.get() is not None or seconds is None:
        yield seconds
        return
    with Budget(time.monotonic() + seconds).spending():
        yield seconds


Run = TypeVar("Run", bound=Callable[..., Any])


def budgeted(run: Run) -> Run:
    """A method that works for `self.seconds`."""

    @wraps(run)
    def within(self: Any, *args: Any, **named: Any) -> Any:
        with working(self.seconds):
            return run(self, *args, **named)

    return cast(Run, within)


@contextmanager
def afresh() -> Iterator[None]:
    """Work on a budget of its own, which ends with the time of the one that is being spent."""
    budget = _active.get()
    with Budget(None if budget is None else budget.until, None if budget is None else budget.most).spending():
        yield


@contextmanager
def sooner(part: float) -> Iterator[None]:
    """Inside, only a part of the time that is left on the clock may be taken: telling of the result takes some too."""
    budget = _active.get()
    if budget is None or budget.until is None:
        yield
        return
    before, now = budget.until, time.monotonic()
    budget.until = now + part * max(before - now, 0.0)
    try:
        yield
    finally:
        budget.until = before


def moment() -> float:
    """Now, in seconds: what was spent of the budget, or else the clock."""
    budget = _active.get()
    return time.monotonic() if budget is None else budget.moment()


def ends_after(seconds: float | None) -> float | None:
    """The deadline of what may take so many seconds from now; None: it has none."""
    return None if seconds is None else moment() + seconds


def for_telling(seconds: float) -> float:
    """The deadline of what is done to tell of a result: so many seconds, and at most half as many steps as it took."""
    budget = _active.get()
    most = None if budget is None or budget.most is None else budget.most / 2 / A_SECOND
    return moment() + (seconds if most is None else min(seconds, most))


def share_of(deadline: float | None, part: float) -> float | None:
    """A deadline for one of several tasks: it may take a part of what is left."""
    if deadline is None:
        return None
    now = moment()
    return now + part * max(deadline - now, 0.0)


def spend(steps: float) -> None:
    """Count work that was done."""
    budget = _active.get()
    if budget is not None:
        budget.spent += int(steps)


def passed(deadline: float | None, steps: float = 1) -> bool:
    """Whether a deadline is over, after so many more steps were done; None is over only where the clock is."""
    budget = _active.get()
    if budget is None:
        return deadline is not None and time.monotonic() >= deadline
    budget.spent += int(steps)
    if deadline is None:
        return budget.over
    late = budget.moment() >= deadline
    if late and budget.stopped is None:
        budget.stopped = "steps"
    return late


def stop() -> None:
    """Note that something is left undone, since it would take more steps than there are."""
    budget = _active.get()
    if budget is not None and budget.stopped is None:
        budget.stopped = "steps"


def need_time(deadline: float | None, steps: float = 1) -> None:
    """Raise `OutOfTime` if a deadline is over; never without one."""
    if passed(deadline, steps) and deadline is not None:
        raise OutOfTime


def clock_left(deadline: float | None) -> float:
    """How many seconds of the clock something may take that looks at no budget; infinity: as many as it wants."""
    budget = _active.get()
    if budget is None:
        return math.inf if deadline is None else max(deadline - time.monotonic(), 0.0)
    return math.inf if budget.until is None else max(budget.until - time.monotonic(), 0.0)


def steps_left(deadline: float | None) -> int | None:
    """How many steps there are until a deadline; None: no limit, or there is no budget."""
    budget = _active.get()
    if budget is None or deadline is None or math.isinf(deadline):
        return None
    return max(int((deadline - budget.moment()) * A_SECOND), 0)


def solve_whole(solver: Any, deadline: float | None, each: float) -> None:
    """The same for an integer program: its nodes are limited, and the iterations in all of them counted."""
    steps, left = steps_left(deadline), clock_left(deadline)
    solver.setOptionValue("mip_max_nodes", MOST if steps is None else min(MOST, int(steps / (NODE * each)) + 1))
    solver.setOptionValue("time_limit", solver.getRunTime() + left if math.isfinite(left) else math.inf)
    solver.run()
    info = solver.getInfo()
    done = max(int(info.simplex_iteration_count), NODE * max(int(info.mip_node_count), 1))
    passed(deadline, done * each)


def run_solver(solver: Any, deadline: float | None, each: float) -> None:
    """Let HiGHS solve a linear program within a budget; an iteration takes `each` steps.

    Its iterations are counted and limited, which gives the same on every machine; its clock is the outer limit and goes
    on from run to run.
    """
    steps, left = steps_left(deadline), clock_left(deadline)
    limit = MOST if steps is None else min(MOST, int(steps / each) + 1)
    solver.setOptionValue("time_limit", solver.getRunTime() + left if math.isfinite(left) else math.inf)
    while True:
        # In pieces, since nothing else is heard of while it runs, Ctrl-C included.
        piece = min(limit, int(PIECE / each) + 1)
        solver.setOptionValue("simplex_iteration_limit", piece)
        solver.run()
        done = max(int(solver.getInfo().simplex_iteration_count), 1)
        limit -= done
        late = passed(deadline, done * each)
        if late or done < piece or limit <= 0 or not _interrupted(solver):
            return


def _interrupted(solver: Any) -> bool:
    import highspy

    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kIterationLimit)
