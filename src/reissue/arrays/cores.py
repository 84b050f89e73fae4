"""Cores: the parts of a job at the same time, as many as polars uses threads (`POLARS_MAX_THREADS`).

Worth it for what lets go of the interpreter: kernels compiled with `nogil`, polars, NumPy, hashing, files. How a job is
cut into parts must not change its result, so that every number of cores gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import polars as pl

from reissue.arrays.budget import OutOfTime, passed

PARALLEL_FROM = 20_000
"""Fewer rows are not worth a second thread for kernels, which let go of the interpreter for long."""
COLUMNS_FROM = 50_000
"""Fewer rows are not worth one for each column, where the interpreter has more to do."""

PARTS_A_LOOK = 2
"""So many parts each core does between two looks at the clock."""

Part = TypeVar("Part")
Result = TypeVar("Result")


def cores() -> int:
    """How many threads do the work of one call."""
    return pl.thread_pool_size()


def spans(count: int, least: int = 1) -> list[tuple[int, int]]:
    """From 0 to `count` in as many stretches as there are cores, each of at least `least` or all there is."""
    parts = max(1, min(cores(), count // max(1, least)))
    edges = [count * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def at_once(work: Callable[[Part], Result], parts: Sequence[Part], most: int | None = None) -> list[Result]:
    """The results of all parts, in their order; the calling thread does the last one itself.

    Of `most` of them at the same time, and no more than there are cores. The first error of a part is raised when all
    have ended.
    """
    threads = min(cores(), len(parts), cores() if most is None else most)
    if threads < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads - 1, "reissue") as pool:
        waiting = [pool.submit(work, part) for part in parts[:-1]]
        last = work(parts[-1])
        return [*(part.result() for part in waiting), last]


def at_once_in_time(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """The same, a few parts after the other. Raises `OutOfTime` once the clock of the budget being spent is over."""
    found: list[Result] = []
    for first in range(0, len(parts), PARTS_A_LOOK * cores()):
        if passed(None):
            raise OutOfTime
        found += at_once(work, parts[first : first + PARTS_A_LOOK * cores()])
    return found


def of_each(work: Callable[[Part], Result], things: Sequence[Part]) -> list[Result]:
    """The results for all things, in their order, one after the other in as many stretches as there are cores."""
    parts = at_once(lambda span: [work(thing) for thing in things[slice(*span)]], spans(len(things)))
    return [one for part in parts for one in part]
