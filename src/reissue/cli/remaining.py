"""How long something will still take: an estimate from what is done, and never beyond a limit that is kept."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

SOON = 0.5
"""Before so many seconds have passed, what is done says nothing about what is left."""


def remaining(elapsed: float, share: float, limit: float | None = None) -> str:
    """The time that is left, in words: by what share is done in what time, and at most until the limit."""
    most = None if limit is None else max(limit - elapsed, 0.0)
    if elapsed < SOON or share <= 0.0:
        return "" if most is None else f"at most {_clock(most)} left"
    left = elapsed * (1 - share) / share
    if most is not None and left > most:
        return f"at most {_clock(most)} left"
    return f"about {_clock(left)} left"


def column(limit: float | None) -> ProgressColumn:
    """A column of a bar that says it."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Remaining(ProgressColumn):
        """The time that is left."""

        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            share = task.completed / task.total if task.total else 0.0
            return Text(remaining(task.elapsed or 0.0, share, limit), style="progress.remaining")

    return Remaining()


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
