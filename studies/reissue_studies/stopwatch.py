"""How long the stages of a draft take."""

from __future__ import annotations

import time
from typing import NamedTuple

from reissue.publishing.draft import Draft

GROUPING = "Grouping people"
"""The stage in which the method works."""


class Lap(NamedTuple):
    """How long something took."""

    wall: float
    """Seconds on the clock."""
    cpu: float
    """Seconds of all processors together, which say less about what else the machine was doing."""


class Timed(NamedTuple):
    """A draft, and how long each stage of it took."""

    draft: Draft
    laps: dict[str, Lap]


class Stopwatch:
    """Takes the time of stages: to be called with the name of each as it begins."""

    def __init__(self) -> None:
        self._stages: list[str] = []
        self._begun: list[Lap] = []

    def __call__(self, stage: str) -> None:
        """Begin a stage."""
        self._stages.append(stage)
        self._begun.append(_now())

    def laps(self) -> dict[str, Lap]:
        """How long each stage took; the last one ends now."""
        ends = [*self._begun[1:], _now()]
        return {
            stage: Lap(end.wall - begun.wall, end.cpu - begun.cpu)
            for stage, begun, end in zip(self._stages, self._begun, ends, strict=True)
        }

    def timed(self, draft: Draft) -> Timed:
        """A draft that has just been made, with the times of its stages."""
        return Timed(draft, self.laps())


def seconds(laps: dict[str, Lap]) -> dict[str, float]:
    """On the clock: `grouping` is what the method takes, `drafting` all of it."""
    return {"grouping": laps[GROUPING].wall, "drafting": sum(lap.wall for lap in laps.values())}


def cpu_seconds(laps: dict[str, Lap]) -> dict[str, float]:
    """The same of all processors together: `grouping_cpu` and `drafting_cpu`."""
    return {"grouping_cpu": laps[GROUPING].cpu, "drafting_cpu": sum(lap.cpu for lap in laps.values())}


def _now() -> Lap:
    return Lap(time.perf_counter(), time.process_time())
