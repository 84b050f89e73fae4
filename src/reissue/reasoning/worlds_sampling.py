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
import numpy.typing as npt
from numba import njit

from reissue.reasoning.elimination import passed
from reissue.reasoning.worlds import Equations, Model, tighten
from reissue.reasoning.worlds_counting import order_of_unknowns

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BATCH = 128
"""So many worlds are drawn between two looks at the clock."""
LEAST = 100.0
"""With a smaller effective number of draws there is no estimate."""
ROUNDS = 200
"""How often the factors of all counters are scaled."""


@dataclass(frozen=True, repr=False)
class Sampled:
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
        return f"Sampled({self.draws:,} draws, {self.effective:,.0f} effective, {self.dead_ends:,} dead ends)"


def sample(
    model: Model, rng: np.random.Generator, *, draws: int = 10_000, deadline: float | None = None
) -> Sampled | None:
    """Estimate how likely states are; None if the draws say too little (fewer than 100 effective ones).

    `deadline` is a moment of the monotonic clock at which fewer draws have to do.
    """
    equations = Equations.of_model(model)
    bounds = equations.bounds()
    if bounds is None:
        return None
    low, high = bounds
    guide = _fitted(equations, high)
    turns = _turns(equations, deadline)
    sums = np.zeros((3, equations.unknowns))
    weights = np.array([-np.inf, 0.0, 0.0])
    done = dead = 0
    while done < draws and not (done and passed(deadline)):
        batch = min(BATCH, draws - done)
        dead += _draw(equations.targets, equations.arrays, low, high, guide, turns, rng, batch, sums, weights)
        done += batch
    _, total, squares = weights.tolist()
    if total <= 0 or total * total / squares < LEAST:
        return None
    effective = total * total / squares
    sizes = np.repeat(equations.targets[: equations.classes], np.diff(equations.class_starts))
    mean = sums[0] / total
    variance = (sums[2] - 2 * mean * sums[1] + mean * mean * squares) / (total * total)
    error = np.maximum(np.sqrt(np.maximum(variance, 0.0)), 1 / effective)
    settled = low == high
    mean, error = np.where(settled, high / sizes, mean), np.where(settled, 0.0, error)
    return Sampled(equations.by_class(mean.tolist()), equations.by_class(error.tolist()), effective, done, dead)


def _turns(equations: Equations, deadline: float | None) -> Ints:
    """The class of whoever comes next, for everybody: in an order that keeps few counters open."""
    order = np.array(order_of_unknowns(equations, range(equations.classes), deadline), dtype=np.int64)
    of_class = equations.of[equations.of_starts[order]]
    classes = of_class[np.sort(np.unique(of_class, return_index=True)[1])]
    return np.repeat(classes, equations.targets[classes])


def _fitted(equations: Equations, high: Ints) -> Floats:
    """For each unknown the probability of its state for a person of its class, so that counters are met on average."""
    lengths = np.diff(equations.of_starts)
    unknown = np.repeat(np.arange(equations.unknowns), lengths)
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
        if np.abs(ratio[equations.classes :] - 1).max(initial=0.0) < 1e-6:
            break
    return np.where(possible, np.maximum(share, 1e-12), 0.0)


@njit(cache=True, nogil=True)
def _draw(
    targets: Any,
    arrays: Any,
    low: Any,
    high: Any,
    guide: Any,
    turns: Any,
    rng: Any,
    draws: int,
    sums: Any,
    weights: Any,
) -> Any:
    """Draw worlds and add them up; the number of dead ends.

    `weights` holds the largest logarithm of a weight so far, the sum of the weights and that of their squares; `sums`
    for each unknown the sums of w f, w^2 f and w^2 f^2, where f is the share of its class that is in its state. All
    weights are relative to the largest.
    """
    starts, terms, of_starts, of = arrays
    unknowns, equations = of_starts.size - 1, targets.size
    expected = np.zeros(equations)
    for unknown in range(unknowns):
        people = targets[of[of_starts[unknown]]]
        for place in range(of_starts[unknown] + 1, of_starts[unknown + 1]):
            expected[of[place]] += people * guide[unknown]
    queue = np.zeros(equations, np.int64)
    waiting = np.zeros(equations, np.bool_)
    score = np.zeros(unknowns)
    dead = 0
    for _ in range(draws):
        left, ahead = targets.copy(), expected.copy()
        least, most = low.copy(), high.copy()
        taken = np.zeros(unknowns, np.int64)
        logarithm = 0.0
        alive = True
        for turn in range(turns.size):
            equation = turns[turn]
            total = 0.0
            chosen = -1
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
                alive = False
                break
            at = rng.random() * total
            for place in range(starts[equation], starts[equation + 1]):
                unknown = terms[place]
                if score[unknown] > 0.0:
                    chosen = unknown
                    at -= score[unknown]
                    if at < 0.0:
                        break
            logarithm += np.log(total / score[chosen])
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
            if tighten(left, arrays, least, most, queue, waiting, count) >= 0:
                waiting[:] = False
                alive = False
                break
        if not alive:
            dead += 1
            continue
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
        for unknown in range(unknowns):
            share = taken[unknown] / targets[of[of_starts[unknown]]]
            sums[0, unknown] += weight * share
            sums[1, unknown] += weight * weight * share
            sums[2, unknown] += weight * weight * share * share
    return dead
