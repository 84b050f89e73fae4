"""In which order unknowns are given numbers, so that few equations are open at a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from math import log2

import numpy as np

from reissue.arrays.budget import OutOfTime, need_time
from reissue.reasoning.worlds.worlds_equations import Equations


def order_of_unknowns(equations: Equations, finishing: Sequence[int], deadline: float | None = None) -> list[int]:
    """All unknowns, so that few equations are open at a time; only the equations named are chosen to be finished.

    After the deadline the rest comes as it is.
    """
    weight, terms, of = np.log2(equations.targets + 1.0).tolist(), equations.terms.tolist(), list(equations.of_each())
    left = [set(terms[start:stop]) for start, stop in pairwise(equations.starts.tolist())]
    choice, started = {equation for equation in finishing if left[equation]}, [False] * len(left)
    order: list[int] = []

    def growth(equation: int) -> tuple[float, float, int]:
        """How the frontier changes if this equation is finished next, and how much is opened for that."""
        taken = left[equation]
        need_time(deadline, 2 + 2 * len(taken))
        opened = closed = 0.0
        for other in {other for unknown in taken for other in of[unknown]}:
            ends = left[other] <= taken
            if started[other] and ends:
                closed += weight[other]
            elif not started[other] and not ends:
                opened += weight[other]
        return opened - closed, opened, equation

    def choose() -> None:
        """Finish one equation after the other until none is left."""
        apart: dict[int, tuple[float, float, int]] = {}
        near: dict[int, tuple[float, float, int]] = {}
        while choice:
            need_time(deadline)
            if not near and not apart:
                apart = {equation: growth(equation) for equation in choice}
            chosen = min((near or {e: apart[e] for e in choice}).values())[2]
            touched = set()
            # First the unknowns that finish something, then those that begin little.
            for unknown in sorted(left[chosen], key=lambda u: (-sum(len(left[e]) == 1 for e in of[u]), len(of[u]), u)):
                order.append(unknown)
                for equation in of[unknown]:
                    left[equation].discard(unknown)
                    started[equation] = True
                    touched.add(equation)
            for equation in touched:
                if not left[equation]:
                    choice.discard(equation)
                    near.pop(equation, None)
            beside: set[int] = set()
            for one in touched:
                need_time(deadline, 1 + len(left[one]))
                beside.update(e for u in left[one] for e in of[u])
            for equation in beside & choice:
                near[equation] = growth(equation)

    with suppress(OutOfTime):
        choose()
    seen = set(order)
    return order + [unknown for unknown in range(equations.unknowns) if unknown not in seen]


def promise(equations: Equations, order: Sequence[int]) -> float:
    """The logarithm of a rough size of the widest table of an order."""
    left, of = np.diff(equations.starts).tolist(), list(equations.of_each())
    length, targets = list(left), equations.targets.tolist()
    open_now = widest = 0.0
    for unknown in order:
        for equation in of[unknown]:
            open_now += log2(targets[equation] + 1) * ((left[equation] == length[equation]) - (left[equation] == 1))
            left[equation] -= 1
        widest = max(widest, open_now)
    return widest
