"""How likely states are, estimated from worlds drawn at random: for what is too large to be counted.

Worlds cannot be drawn with equal probability directly. So one person after the other is given a state, with a
probability q that is guided by what is left of the counters, and the world that comes out weighs one over the product
of these q: then weighted means over the draws estimate means over all worlds (sequential importance sampling, the
weights normalised by their sum). After each person bounds are propagated, so that few draws lead into a dead end; those
that do weigh 0.

The guide: scaling a factor for each counter until the expected numbers are the targets (iterative proportional fitting)
gives each person's states probabilities p as if people were independent; on the way they are corrected by how much is
left of a counter over how much was to be expected. With one release that draws worlds with equal probability.

An estimate says how far it can be trusted: a standard error (delta method) and the effective number of draws, which is
the square of the sum of the weights over the sum of their squares. Both are estimates themselves, and nothing here is a
proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue.arrays.budget import OutOfTime, passed, share_of
from reissue.arrays.runs import owners
from reissue.arrays.types import Floats, Ints
from reissue.kernels import inner, kernel
from reissue.reasoning.worlds.worlds_equations import CUT, TERM, WORK, Equations, tighten
from reissue.reasoning.worlds.worlds_model import Model
from reissue.reasoning.worlds.worlds_order import order_of_unknowns

PREPARED = 0.25
"""This part of the time at most goes into the guide, and this part of the rest into the order."""
LEAST = 100.0
"""With a smaller effective number of draws there is no estimate."""
ROUNDS = 200
"""How often the factors of all counters are scaled."""


@dataclass(frozen=True, repr=False)
class SampledWorlds:
    """Estimates from worlds drawn at random."""

    by_state: list[list[float]]
    """For each class and state how likely one given person of the class is in the state."""
    standard_error: list[list[float]]
    """The standard error of each of these; 0 only where bounds leave no other number. A state that was drawn rarely or
    never, or almost always, has an error of at least one over the effective number of draws."""
    effective: float
    """How many independent draws with equal probability would say as much."""
    draws: int
    """How many worlds were drawn, dead ends included."""
    dead_ends: int
    """How many draws led to no world."""

    def __repr__(self) -> str:
        return f"SampledWorlds({self.draws:,} draws, {self.effective:,.0f} effective, {self.dead_ends:,} dead ends)"


def sample(
    model: Model, rng: np.random.Generator, *, draws: int = 10_000, deadline: float | None = None
) -> SampledWorlds | None:
    """Estimate how likely states are; None if the draws say too little (fewer than 100 effective ones).

    After the deadline fewer draws have to do.
    """
    try:
        equations = Equations.of_model(model, deadline)
        bounds = equations.bounds(deadline)
    except OutOfTime:
        return None
    if bounds is None:
        return None
    low, high = bounds
    drawing = _Drawing(
        equations, low, high, _fitted(equations, high, share_of(deadline, PREPARED)), share_of(deadline, PREPARED)
    )
    # A world that is half drawn when the time is over is forgotten: its weight is not known.
    while drawing.draws < draws and not passed(deadline, drawing.spent()):
        drawing.go_on(rng, draws)
    _, total, squares = drawing.weights.tolist()
    if total <= 0 or total * total / squares < LEAST:
        return None
    effective = total * total / squares
    sizes = np.repeat(equations.targets[: equations.classes], np.diff(equations.class_starts))
    mean = drawing.sums[0] / total
    variance = (drawing.sums[2] - 2 * mean * drawing.sums[1] + mean * mean * squares) / (total * total)
    error = np.maximum(np.sqrt(np.maximum(variance, 0.0)), 1 / effective)
    settled = low == high
    mean, error = np.where(settled, high / sizes, mean), np.where(settled, 0.0, error)
    by_class = equations.by_class
    return SampledWorlds(by_class(mean.tolist()), by_class(error.tolist()), effective, drawing.draws, drawing.dead_ends)


class _Drawing:
    """Worlds drawn one after the other, each person by person: to be interrupted at any person, and gone on with."""

    def __init__(self, equations: Equations, low: Ints, high: Ints, guide: Floats, deadline: float | None) -> None:
        self.sums = np.zeros((3, equations.unknowns))
        """For each unknown the sums of w f, w^2 f and w^2 f^2, where f is the share of its class in its state."""
        self.weights = np.array([-np.inf, 0.0, 0.0])
        """The largest logarithm of a weight so far, the sum of the weights and that of their squares."""
        counters = np.repeat(equations.targets[equations.of[equations.of_starts[:-1]]] * guide, _lengths(equations))
        self._fixed = (
            equations.targets,
            equations.arrays,
            low,
            high,
            guide,
            np.bincount(equations.of, counters, minlength=equations.targets.size),
            _turns(equations, deadline),
        )
        self._asked, self._terms = 0, equations.of.size
        self._tally = np.array([0, 0, -1, 0])
        """Worlds drawn, dead ends, the next turn of the world at hand (-1: none) and whether bounds are to narrow."""
        self._world = (
            np.zeros(1),
            np.zeros_like(equations.targets),
            np.zeros(equations.targets.size),
            np.zeros_like(low),
            np.zeros_like(low),
            np.zeros_like(low),
            np.zeros(equations.targets.size, dtype=np.bool_),
        )
        """Its logarithm, what is left of each equation, how much is expected, bounds, numbers, and what waits."""

    @property
    def draws(self) -> int:
        """How many worlds were drawn, dead ends included."""
        return int(self._tally[0])

    @property
    def dead_ends(self) -> int:
        """How many draws led to no world."""
        return int(self._tally[1])

    def spent(self) -> float:
        """About how many steps were done since this was last asked; those of a world that is half drawn as well."""
        since, self._asked = self.draws - self._asked, self.draws
        terms = since * 2 * self._fixed[-1].size * (4 + self._terms // max(self._fixed[2].size, 1))
        return 20 + TERM * min(max(terms, WORK if self._tally[2] >= 0 else 0), WORK)

    def go_on(self, rng: np.random.Generator, draws: int) -> None:
        """Draw until there are so many, or for a moment."""
        _draw(*self._fixed, rng, draws, self._tally, self._world, self.sums, self.weights, WORK)


def _lengths(equations: Equations) -> Ints:
    return np.diff(equations.of_starts)


def _turns(equations: Equations, deadline: float | None) -> Ints:
    """The class of whoever comes next, for everybody: in an order that keeps few counters open."""
    order = np.array(order_of_unknowns(equations, range(equations.classes), deadline), dtype=np.int64)
    of_class = equations.of[equations.of_starts[order]]
    classes = of_class[np.sort(np.unique(of_class, return_index=True)[1])]
    return np.repeat(classes, equations.targets[classes])


def _fitted(equations: Equations, high: Ints, deadline: float | None) -> Floats:
    """For each unknown the probability of its state for a person of its class, so that counters are met on average.

    After the deadline they are met less well: a guide may be a bad one, the weights make up for it.
    """
    lengths = _lengths(equations)
    unknown = owners(lengths)
    in_class = equations.of < equations.classes
    counter, of_counter = equations.of[~in_class], unknown[~in_class]
    of_class = equations.of[in_class]
    size, targets = equations.targets[of_class], equations.targets
    possible = high > 0
    factor = np.ones(targets.size)
    share = possible / 1.0
    for _ in range(ROUNDS):
        weight = possible * np.exp(np.bincount(of_counter, np.log(factor)[counter], minlength=equations.unknowns))
        share = weight / np.bincount(of_class, weight, minlength=targets.size)[of_class]
        met = np.bincount(counter, (size * share)[of_counter], minlength=targets.size)
        ratio = np.where((met > 0) & (targets > 0), targets / np.where(met > 0, met, 1.0), 1.0)
        # Each state has several counters: the full step for all of them at once would overshoot.
        factor = np.clip(factor * ratio ** (1 / max(1, int(lengths.max(initial=2)) - 1)), 1e-100, 1e100)
        if np.abs(ratio[equations.classes :] - 1).max(initial=0.0) < 1e-6 or passed(
            deadline, 50 + 0.05 * equations.of.size
        ):
            break
    return np.where(possible, np.maximum(share, 1e-12), 0.0)


@kernel
def _draw(
    targets: Any,
    arrays: Any,
    low: Any,
    high: Any,
    guide: Any,
    expected: Any,
    turns: Any,
    rng: Any,
    draws: int,
    tally: Any,
    world: Any,
    sums: Any,
    weights: Any,
    most_work: int,
) -> None:
    """Draw worlds and add them up, until there are so many or so many terms were looked at; see `_Drawing`."""
    logarithm, left, ahead, least, most, taken, waiting = world
    queue = np.zeros(targets.size, np.int64)
    score = np.zeros(taken.size)
    work = np.full(1, most_work, np.int64)
    while tally[0] < draws:
        if tally[2] < 0:
            logarithm[0] = 0.0
            left[:], ahead[:], least[:], most[:], taken[:], waiting[:] = targets, expected, low, high, 0, False
            tally[2], tally[3] = 0, 0
            work[0] -= taken.size
        alive = True
        while alive and tally[2] < turns.size:
            if work[0] <= 0:
                return
            count = 0
            if tally[3]:
                for equation in range(targets.size):
                    if waiting[equation]:
                        queue[count] = equation
                        count += 1
            else:
                count = _turn(turns[tally[2]], arrays, guide, rng, world, queue, score, work)
                if count == 0:
                    alive = False
                    break
            failed = tighten(left, arrays, least, most, queue, waiting, count, work)
            tally[3] = failed == CUT
            if failed == CUT:
                return
            alive = failed < 0
            tally[2] += 1
        tally[0] += 1
        tally[2] = -1
        if alive:
            _add(logarithm[0], taken, targets, arrays, sums, weights)
        else:
            tally[1] += 1


@inner
def _turn(equation: int, arrays: Any, guide: Any, rng: Any, world: Any, queue: Any, score: Any, work: Any) -> Any:
    """Give one person of a class a state; how many equations that touches, listed in `queue`, 0 if there is no way."""
    starts, terms, of_starts, of = arrays
    logarithm, left, ahead, least, most, taken, waiting = world
    total = 0.0
    chosen = -1
    # The unknowns of a class lie side by side, and so do their equations.
    first, last = terms[starts[equation]], terms[starts[equation + 1] - 1]
    work[0] -= of_starts[last + 1] - of_starts[first]
    for place in range(starts[equation], starts[equation + 1]):
        unknown = terms[place]
        score[unknown] = 0.0
        if most[unknown] > 0:
            score[unknown] = guide[unknown]
            for other in range(of_starts[unknown] + 1, of_starts[unknown + 1]):
                score[unknown] *= left[of[other]] / max(ahead[of[other]], 1e-9)
            total += score[unknown]
            chosen = unknown
    if chosen < 0:
        return 0
    at = rng.random() * total
    for place in range(starts[equation], starts[equation + 1]):
        unknown = terms[place]
        if score[unknown] > 0.0:
            chosen = unknown
            at -= score[unknown]
            if at < 0.0:
                break
    logarithm[0] += np.log(total / score[chosen])
    for place in range(starts[equation], starts[equation + 1]):
        unknown = terms[place]
        for other in range(of_starts[unknown] + 1, of_starts[unknown + 1]):
            ahead[of[other]] -= guide[unknown]
    taken[chosen] += 1
    least[chosen] = max(0, least[chosen] - 1)
    most[chosen] -= 1
    count = 0
    for other in range(of_starts[chosen], of_starts[chosen + 1]):
        left[of[other]] -= 1
        queue[count] = of[other]
        waiting[of[other]] = True
        count += 1
    return count


@inner
def _add(logarithm: float, taken: Any, targets: Any, arrays: Any, sums: Any, weights: Any) -> None:
    """Add a world to the sums. All weights are relative to the largest."""
    of_starts, of = arrays[2], arrays[3]
    if logarithm > weights[0]:
        shrink = np.exp(weights[0] - logarithm)
        weights[0] = logarithm
        weights[1] *= shrink
        weights[2] *= shrink * shrink
        sums[0] *= shrink
        sums[1] *= shrink * shrink
        sums[2] *= shrink * shrink
    weight = np.exp(logarithm - weights[0])
    weights[1] += weight
    weights[2] += weight * weight
    for unknown in range(taken.size):
        share = taken[unknown] / targets[of[of_starts[unknown]]]
        sums[0, unknown] += weight * share
        sums[1, unknown] += weight * weight * share
        sums[2, unknown] += weight * weight * share * share
