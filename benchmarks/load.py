"""How busy the machine is, and so which ratio counts: that of wall time, or that of processor time.

A busy machine flatters us: the floor keeps every core busy and we do not, so others take more from it. Wall ratios
count where the load was below 0.5 before our own work and others took little of the processor while we measured; else
ratios of processor time count. The load average lags by a minute and has our own work in it, so what others took is
read from the system's counters: all busy time, without ours and that of processes we waited for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

MOST_LOAD = 0.5
"""From this load on, before our own work, wall ratios do not count."""
MOST_OTHERS = 0.15
"""So many cores others may use while we measure. The system's own threads, which write what we wrote, count."""
COUNTERS = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6, 7)
"""Of the system's counters: user, nice, system, two sorts of interrupts, and what other virtual machines took."""
SHORTEST = 0.5
"""Below so many seconds the counters, which tick a hundred times a second, say too little."""

Counts = Literal["wall", "CPU"]


def load_now() -> float:
    """How many processes wanted a processor in the last minute, on average."""
    return os.getloadavg()[0]


_start = load_now()


def load_at_start() -> float:
    """The load before our own work: when this program began, or had waited for quiet."""
    return _start


def wait_for_quiet(minutes: float) -> bool:
    """Wait until the load is low enough, at most so long, and take it for the load at the start; whether it is."""
    global _start
    until = time.monotonic() + 60 * minutes
    while load_now() >= MOST_LOAD and time.monotonic() < until:
        time.sleep(5)
    _start = load_now()
    return _start < MOST_LOAD


@dataclass
class Around:
    """What went on around a measurement."""

    before: float = field(default_factory=load_at_start)
    """The load before our own work."""
    after: float | None = None
    """The load when the measurement ended, with our own work in it."""
    others: float | None = None
    """How many cores others used while we measured; nothing where the system does not say, or it was too short."""

    @property
    def quiet(self) -> bool:
        """Whether nobody else was in the way, as far as can be told."""
        return self.before < MOST_LOAD and (self.others is None or self.others < MOST_OTHERS)

    @property
    def counts(self) -> Counts:
        """Which ratio counts."""
        return "wall" if self.quiet else "CPU"

    def __str__(self) -> str:
        others = "what others used is not known" if self.others is None else f"others used {self.others:.2f} cores"
        after = "" if self.after is None else f", {self.after:.2f} after"
        verdict = "quiet, wall ratios count" if self.quiet else "not quiet, CPU ratios count"
        return f"load {self.before:.2f} before our work{after}; {others}: {verdict}"

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {"load": self.before, "load_after": self.after, "others_cores": self.others, "counts": self.counts}


@contextmanager
def watching() -> Iterator[Around]:
    """Watch what others do; the result is filled in at the end."""
    around = Around()
    begun, ours, all_busy = time.monotonic(), _ours(), _busy()
    yield around
    seconds = time.monotonic() - begun
    around.after = load_now()
    if all_busy is not None and (now := _busy()) is not None and seconds >= SHORTEST:
        around.others = max(0.0, (now - all_busy) - (_ours() - ours)) / seconds


def _ours() -> float:
    """Processor seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


def _busy() -> float | None:
    """Processor seconds of everybody since the system began, where it says so."""
    if not COUNTERS.exists():
        return None
    ticks = [int(word) for word in COUNTERS.read_text().split("\n", 1)[0].split()[1:]]
    return sum(ticks[at] for at in BUSY) / os.sysconf("SC_CLK_TCK")
