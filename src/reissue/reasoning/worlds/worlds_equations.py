"""Possible worlds as equations in which every coefficient is 0 or 1, and bounds on their unknowns.

Bounds are narrowed by one equation after the other until all agree. That may take as many rounds as there are people,
so the work is cut into pieces, with a look at the clock between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from reissue.arrays.budget import need_time, spend
from reissue.arrays.runs import owners, starts_of
from reissue.arrays.types import Ints
from reissue.kernels import kernel

if TYPE_CHECKING:
    from reissue.reasoning.worlds.worlds_model import Model


AGREED, CUT = -1, -2
"""What `tighten` says if all equations can be met as far as bounds tell, and if the work ran out before."""
WORK = 20_000_000
"""So many terms of equations are looked at between two looks at the clock."""
TERM = 0.005
"""How many steps a term takes."""


@dataclass(frozen=True, repr=False)
class Equations:
    """The equations of a model: one for each class, then one for each counter. Unknowns go class by class."""

    targets: Ints
    """The sizes of the classes, then the targets of the counters."""
    starts: Ints
    terms: Ints
    """The unknowns of each equation, one equation after the other, and where each begins."""
    of_starts: Ints
    of: Ints
    """The equations of each unknown, the one of its class first, and where each unknown begins."""
    class_starts: Ints
    """Where the unknowns of each class begin."""

    @classmethod
    def of_model(cls, model: Model, deadline: float | None = None) -> Equations:
        """Write a model as equations; `OutOfTime` if the deadline passes."""
        classes = len(model.sizes)
        added: list[tuple[int, ...]] = []
        for states in model.states:
            need_time(deadline, 2 + len(states))
            added += [state.counters for state in states]
        class_starts = starts_of([len(states) for states in model.states])
        length = np.fromiter(map(len, added), dtype=np.int64, count=len(added))
        of_starts = starts_of(length + 1)
        of = np.zeros(of_starts[-1], dtype=np.int64)
        own = np.zeros(of.size, dtype=np.bool_)
        own[of_starts[:-1]] = True
        of[own] = owners(np.diff(class_starts))
        of[~own] = classes + np.fromiter(chain.from_iterable(added), dtype=np.int64)
        targets = np.array(model.sizes + model.targets, dtype=np.int64)
        unknown = owners(length + 1)
        terms, starts = unknown[np.argsort(of, kind="stable")], starts_of(np.bincount(of, minlength=targets.size))
        return cls(targets, starts, terms, of_starts, of, class_starts)

    @property
    def unknowns(self) -> int:
        """How many unknowns there are."""
        return self.of_starts.size - 1

    @property
    def classes(self) -> int:
        """How many of the equations are those of classes."""
        return self.class_starts.size - 1

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """What the kernels read, without the targets."""
        return self.starts, self.terms, self.of_starts, self.of

    def bounds(self, deadline: float | None = None) -> tuple[Ints, Ints] | None:
        """Bounds on the unknowns that hold in every world, or None where there is proven to be none.

        Raises `OutOfTime` if the deadline passes.
        """
        low = np.zeros(self.unknowns, dtype=np.int64)
        high = np.full(self.unknowns, self.targets.max(initial=0), dtype=np.int64)
        queue = np.arange(self.targets.size)
        waiting = np.ones(self.targets.size, dtype=np.bool_)
        work = np.array([WORK])
        held = tighten(self.targets, self.arrays, low, high, queue, waiting, queue.size, work)
        while held == CUT:
            need_time(deadline, WORK * TERM)
            again, work[0] = np.flatnonzero(waiting), WORK
            queue[: again.size] = again
            held = tighten(self.targets, self.arrays, low, high, queue, waiting, again.size, work)
        spend((WORK - work[0]) * TERM)
        return (low, high) if held == AGREED else None

    def by_class(self, of_unknown: list[Any]) -> list[list[Any]]:
        """Something for each unknown, as a list for each class."""
        return [of_unknown[start:stop] for start, stop in pairwise(self.class_starts.tolist())]

    def of_each(self) -> Iterator[list[int]]:
        """The equations of each unknown, one unknown after the other."""
        of = self.of.tolist()
        return (of[start:stop] for start, stop in pairwise(self.of_starts.tolist()))


@kernel
def tighten(targets: Any, arrays: Any, low: Any, high: Any, queue: Any, waiting: Any, count: int, work: Any) -> Any:
    """Narrow bounds until every equation agrees with them; the equation that cannot be met, `AGREED`, or `CUT`.

    The first `count` places of `queue` hold the equations to look at, for which `waiting` is set. Both are working
    space with a place for each equation; nothing waits at the end if all is well. `work[0]` is how many terms may be
    looked at, and what is left of it afterwards; when it is used up, the bounds hold, and what still waits says where
    to go on.
    """
    starts, terms, of_starts, of = arrays
    room, head = queue.size, 0
    while count:
        if work[0] <= 0:
            return CUT
        equation = queue[head]
        head = (head + 1) % room
        count -= 1
        waiting[equation] = False
        work[0] -= 1 + starts[equation + 1] - starts[equation]
        least = most = targets[equation]
        for place in range(starts[equation], starts[equation + 1]):
            least -= low[terms[place]]
            most -= high[terms[place]]
        # What is left to give beyond the lows, and (below 0) what the highs could give too much.
        if least < 0 or most > 0:
            return equation
        if least == 0 and most == 0:
            continue
        for place in range(starts[equation], starts[equation + 1]):
            unknown = terms[place]
            top = low[unknown] + least
            bottom = high[unknown] + most
            changed = False
            if top < high[unknown]:
                most += high[unknown] - top
                high[unknown] = top
                changed = True
            if bottom > low[unknown]:
                least -= bottom - low[unknown]
                low[unknown] = bottom
                changed = True
            if changed:
                if low[unknown] > high[unknown] or least < 0 or most > 0:
                    return equation
                for other in range(of_starts[unknown], of_starts[unknown + 1]):
                    again = of[other]
                    if not waiting[again]:
                        waiting[again] = True
                        queue[(head + count) % room] = again
                        count += 1
    return AGREED
