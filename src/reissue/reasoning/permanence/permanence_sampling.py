"""Estimates for a part that is too large to count: counting with some of the states left out at random.

The tables of `permanence_counting` are filled step by step. Where a step has too many states, those that count for much
are kept, and of the others some are drawn, each standing for those that were not, so that every number stays right on
average (Fearnhead & Clifford 2003 thin particles in this way). One run gives an estimate of how many worlds there are
and, given that, of how likely every entry is; several runs are averaged by how many worlds they found, and differ by as
much as they are wrong. Nothing estimated here is ever a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, inf, log
from random import Random

import numpy as np

from reissue.arrays.budget import passed as late
from reissue.arrays.types import Floats
from reissue.reasoning.permanence.permanence_counting import Choosing, Closing, Outlook, Program, State, Taking
from reissue.reasoning.permanence.permanence_parts import Part

Weights = dict[State, float]

STATES = 600
"""So many states of a step are kept."""
RUNS = 24
FEWEST = 4
"""At least so many runs must end in time."""
WORTH = 3.0
"""Runs of unequal weight must be worth at least so many of equal weight."""


@dataclass(frozen=True, repr=False)
class SampledEntries:
    """Estimates for each entry of each class and then for the free entries of each group."""

    probability: Floats
    error: Floats
    """Standard errors."""


def sample(
    part: Part, *, seed: int | None, deadline: float, states: int = STATES, runs: int = RUNS
) -> SampledEntries | None:
    """Estimate how likely the value is at every entry; None if there was too little time, or too little was found."""
    program = Program.of(part)
    if program is None:
        return None
    rng = Random(seed)
    sizes, told = [], []
    for _ in range(runs):
        run = _run(program, states, rng, deadline)
        if run is None:
            break
        sizes.append(run[0])
        told.append(run[1])
    largest = max(sizes, default=-inf)
    if len(sizes) < FEWEST or largest == -inf:
        return None
    weight = np.exp(np.array(sizes) - largest)
    if weight.sum() ** 2 / (weight**2).sum() < WORTH:
        return None
    shares = np.array(told)
    mean = weight @ shares / weight.sum()
    often = weight.size
    spread = np.sqrt(((weight[:, None] * (shares - mean)) ** 2).sum(axis=0) / (often * (often - 1))) / weight.mean()
    # Runs may all have missed the same rare worlds; how much the numbers of worlds differ tells how much they miss.
    missed = 0.5 * weight.std(ddof=1) / weight.mean() / np.sqrt(often)
    return SampledEntries(np.clip(mean, 0.0, 1.0), np.hypot(spread, missed))


def _run(program: Program, states: int, rng: Random, deadline: float) -> tuple[float, Floats] | None:
    """The logarithm of how many worlds one run found, and how likely entries are in them; None if time ran out."""
    part, steps = program.part, program.steps
    layer: Weights = {(0,): 1.0}
    layers, scales, size = [layer], [], 0.0
    stand_for: list[Weights] = [{}]
    for step, outlook in zip(steps, program.outlooks, strict=True):
        then: Weights = {}
        for state, weight in layer.items():
            for _, ways, now in step.moves(state):
                then[now] = then.get(now, 0.0) + weight * ways
        if late(deadline, len(layer) + len(then)):
            return None
        scale = sum(then.values())
        if not then:
            return -inf, np.zeros(part.entries + len(part.counts))
        size += log(scale)
        scales.append(scale)
        layer, factors = _thinned({state: weight / scale for state, weight in then.items()}, states, rng, outlook)
        layers.append(layer)
        stand_for.append(factors)
    total = sum(layers[-1].values())
    by_pattern = [[0.0] * len(some) for some in program.ways]
    by_group = [0.0] * len(part.counts)
    after = {state: stand_for[-1].get(state, 1.0) for state in layers[-1]}
    for at in reversed(range(len(steps))):
        step, before = steps[at], {}
        used = by_pattern[step.index] if isinstance(step, Taking | Choosing) else None
        for state, weight in layers[at].items():
            rest = 0.0
            for uses, ways, now in step.moves(state):
                share = ways * after.get(now, 0.0) / scales[at]
                rest += share
                for which, often in uses:
                    if used is not None:
                        used[which] += weight * share * often
                    elif isinstance(step, Closing):
                        by_group[step.group] += weight * share * often
            before[state] = rest * stand_for[at].get(state, 1.0)
        after = before
    shares = [
        sum(n for bits, n in zip(ways, followed, strict=True) if bits >> at & 1) / one.size
        for one, ways, followed in zip(part.classes, program.ways, by_pattern, strict=True)
        for at in range(len(one.groups))
    ]
    shares += [often / many if many else 0.0 for often, many in zip(by_group, part.free, strict=True)]
    return size + log(total), np.array(shares) / total


def _thinned(layer: Weights, most: int, rng: Random, outlook: Outlook) -> tuple[Weights, Weights]:
    """At most so many states, and for how many of its like each one that was drawn stands.

    A state counts by its weight times the ways in which each open group by itself could be completed.
    """
    if len(layer) <= most:
        return layer, {}
    hopes = _hopes(layer, outlook)
    falling = sorted(hopes, reverse=True)
    # Summed from the smallest on: what is small must not drown.
    rest = np.cumsum(falling[::-1])[::-1]
    large = 0
    while large < most - 1 and falling[large] * (most - large) >= rest[large]:
        large += 1
    bar = float(rest[large]) / (most - large)
    kept: Weights = {}
    stands: Weights = {}
    passed, mark = 0.0, rng.random()
    for (state, weight), hope in zip(layer.items(), hopes, strict=True):
        if hope >= bar:
            if hope > 0:
                kept[state] = weight
            continue
        passed += hope / bar
        if passed > mark:
            kept[state], stands[state] = weight * bar / hope, bar / hope
            mark += 1
    return kept, stands


def _hopes(layer: Weights, outlook: Outlook) -> list[float]:
    """How many worlds each state may lead to, roughly; 0 only where it is none."""
    tables = [
        (field.shift, field.mask, [log(comb(room, need)) if need <= room else -inf for need in range(field.mask + 1)])
        for field, room in outlook
    ]
    logs = [
        log(weight) + sum(table[(state[0] >> shift) & mask] for shift, mask, table in tables)
        for state, weight in layer.items()
    ]
    highest = max(logs)
    return [exp(one - highest) if highest > -inf else 0.0 for one in logs]
