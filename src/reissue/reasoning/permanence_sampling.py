"""Drawing worlds of a part that is too large to count.

Some classes that hang together are taken out, everything else stays as it is, and what they do is drawn anew, uniformly
among all that fits (`permanence_counting` counts that); then others are, and so on. Every world stays as likely as any
other. What is averaged is not the worlds but the probabilities given everything else, which spread less. The chains
begin at worlds that a solver finds for random wishes. Whether they reach every world is not proven, so nothing drawn
here is ever a proof; where chains differ, the standard error says so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from reissue.reasoning.permanence_counting import Program, patterns
from reissue.reasoning.permanence_parts import Class, Part
from reissue.reasoning.permanence_solving import Programme

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CHAINS = 2
BATCHES = 8
"""Batches of each chain, of which the standard error is made."""
BLOCK = 12
"""So many classes are drawn anew at once, at first."""
MOVES = 2_000
"""Blocks that take more to count are made smaller."""
ROUNDS = 25
"""So many times all classes are drawn anew for each batch, unless time runs out first."""
FEWEST = 3
"""In so many batches of each chain everything must have been drawn."""


@dataclass(frozen=True, repr=False)
class Sampled:
    """Estimates for each entry of each class and then for the free entries of each group."""

    probability: Floats
    error: Floats
    """Standard errors."""


def sample(part: Part, *, seed: int | None, deadline: float, rounds: int = ROUNDS) -> Sampled | None:
    """Estimate how likely the value is at every entry; None if no world was found, or not enough time was left."""
    ways = [patterns(one.sure) for one in part.classes]
    if any(some is None for some in ways):
        return None
    rng = Random(seed)
    programme = Programme(part, 1)
    batches = []
    for chain in range(CHAINS):
        end = time.monotonic() + (deadline - time.monotonic()) / (CHAINS - chain)
        wish = np.array([rng.random() for _ in range(programme.cells)])
        start, _ = programme.best(wish, end)
        if start is None:
            return None
        walk = _Walk(part, [some or [] for some in ways], start, rng)
        walk.rounds(1, end)
        for batch in range(BATCHES):
            until = time.monotonic() + (end - time.monotonic()) / (BATCHES - batch)
            walk.rounds(rounds, until)
            batches.append(walk.means())
    told = np.array(batches).reshape(CHAINS, BATCHES, -1)
    seen = np.isfinite(told)
    # A group without free entries has none to draw.
    idle = np.append(np.zeros(part.entries, dtype=np.bool_), np.array(part.free) == 0)
    if (seen.sum(axis=1)[:, ~idle] < FEWEST).any():
        return None
    filled = np.where(seen, told, 0.0)
    often = np.maximum(seen.sum(axis=(0, 1)), 1)
    mean = filled.sum(axis=(0, 1)) / often
    spread = np.sqrt((np.where(seen, told - mean, 0.0) ** 2).sum(axis=(0, 1)) / np.maximum(often - 1, 1) / often)
    # Two chains that went different ways differ by more than their batches do.
    by_chain = filled.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    between = by_chain.std(axis=0, ddof=1) / np.sqrt(CHAINS)
    return Sampled(mean, np.maximum(spread, between))


class _Walk:
    """One chain."""

    def __init__(self, part: Part, ways: Sequence[Sequence[int]], start: Ints, rng: Random) -> None:
        self.part, self.ways, self.rng = part, ways, rng
        self._left = list(part.counts)
        self._at: list[dict[int, int]] = []
        self._first = np.cumsum([0, *(len(one.groups) for one in part.classes)])
        for one, first, some in zip(part.classes, self._first[:-1].tolist(), ways, strict=True):
            self._at.append(_dealt(one, start[first : first + len(one.groups)].tolist(), some))
        for at in range(len(part.classes)):
            self._take(at, -1)
        self._members: list[list[int]] = [[] for _ in part.counts]
        for at, one in enumerate(part.classes):
            for group in one.groups:
                self._members[group].append(at)
        self._block = BLOCK
        self._clear()

    def rounds(self, often: int, until: float) -> None:
        """Draw everything anew, so often or until the time is up."""
        for _ in range(often):
            waiting = set(range(len(self.part.classes)))
            while waiting:
                if time.monotonic() > until:
                    return
                waiting.difference_update(self._move(self.rng.choice(tuple(waiting))))

    def means(self) -> Floats:
        """What was averaged since it was last asked; NaN for what was never drawn."""
        means = np.where(self._seen > 0, self._sum / np.maximum(self._seen, 1), np.nan)
        self._clear()
        return means

    def _clear(self) -> None:
        self._sum = np.zeros(int(self._first[-1]) + len(self.part.counts))
        self._seen = np.zeros(self._sum.size)

    def _take(self, at: int, sign: int) -> None:
        one = self.part.classes[at]
        for which, often in self._at[at].items():
            for place, group in enumerate(one.groups):
                if self.ways[at][which] >> place & 1:
                    self._left[group] += sign * often

    def _near(self, start: int) -> list[int]:
        """Classes around one, as many as a block has."""
        block, seen, edge = [start], {start}, [start]
        while edge and len(block) < self._block:
            groups = list(self.part.classes[edge.pop(self.rng.randrange(len(edge)))].groups)
            self.rng.shuffle(groups)
            for group in groups:
                others = [at for at in self._members[group] if at not in seen]
                self.rng.shuffle(others)
                others = others[: self._block - len(block)]
                seen.update(others)
                block += others
                edge += others
        return block

    def _move(self, start: int) -> list[int]:
        while True:
            block = self._near(start)
            for at in block:
                self._take(at, 1)
            groups = sorted({group for at in block for group in self.part.classes[at].groups})
            place = {group: at for at, group in enumerate(groups)}
            classes = [self.part.classes[at] for at in block]
            inner = Part(
                tuple(self._left[group] for group in groups),
                tuple(self.part.free[group] for group in groups),
                tuple(Class(one.size, tuple(place[group] for group in one.groups), one.sure) for one in classes),
                tuple(groups),
                (),
            )
            program = Program(inner, [self.ways[at] for at in block], 1)
            counted = program.run(MOVES)
            if counted:
                self._draw(program, block, groups)
            for at in block:
                self._take(at, -1)
            if counted:
                return block
            self._block = max(2, self._block // 2)
            if len(block) <= 2:
                return block

    def _draw(self, program: Program, block: list[int], groups: list[int]) -> None:
        tally = program.tally()
        entries = int(self._first[-1])
        for at, used in zip(block, tally.by_pattern, strict=True):
            one, first = self.part.classes[at], int(self._first[at])
            for bits, often in zip(self.ways[at], used, strict=True):
                share = often / tally.total / one.size
                for place in range(len(one.groups)):
                    if bits >> place & 1:
                        self._sum[first + place] += share
            self._seen[first : first + len(one.groups)] += 1
        for group, often in zip(groups, tally.by_group, strict=True):
            if self.part.free[group]:
                self._sum[entries + group] += often / tally.total / self.part.free[group]
                self._seen[entries + group] += 1
        for at, world in zip(block, program.draw(tally, self.rng), strict=True):
            self._at[at] = world


def _dealt(one: Class, numbers: list[int], ways: Sequence[int]) -> dict[int, int]:
    """How many of a class follow each pattern, given how many have the value at each entry.

    The first has it wherever one does, the second wherever two do, and so on: who has it earlier has it later too,
    because the numbers at sure entries are not smaller.
    """
    followed: dict[int, int] = {}
    for person in range(1, one.size + 1):
        bits = sum(1 << at for at, number in enumerate(numbers) if number >= person)
        if not bits:
            break
        which = ways.index(bits)
        followed[which] = followed.get(which, 0) + 1
    return followed
