"""How the budget of an audit is shared among its attacks.

`steps` and `seconds` are those of the whole audit. Attacks that a limit asks about come first, those that can prove it
to be kept before others, and have most of it; what one leaves over goes to those after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from reissue.arrays.budget import A_SECOND, FOREVER, Budget, clock_left
from reissue.attacks.base import Attack, Limits, is_asked
from reissue.model.telling import Listener

ASKED, UNASKED = 4, 1
"""The shares of an attack that a limit asks about, and of one that none does."""
HALF = 0.5
"""One that is asked may take this part of the steps that are left: many need none."""
REPORTED = 0.1
"""This part of the whole time is left for what comes after the attacks; half of what there is, where that is less."""
BEGUN = 0.05
"""With less than this part of the whole time left an attack that no limit asks about is not begun."""
TESTED = 0.25
"""This part of the time and of the steps, at most, goes into testing assumptions."""
LONGEST = 0.75
"""No attack takes more than this part of the time that is left on the clock, unless it is the last."""


@dataclass
class Sharing:
    """What is left of the budget of an audit."""

    seconds: float
    """Of the clock, from now on."""
    steps: int
    _until: float = field(init=False)
    _waiting: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        # One that is being spent already, such as that of a command, ends this one too.
        whole = min(self.seconds, FOREVER)
        left = min(whole, clock_left(None))
        self._until = time.monotonic() + max(left - REPORTED * whole, left / 2)

    def in_order(self, attacks: Sequence[Attack], limits: Limits) -> Iterator[int]:
        """The places of attacks as they are run: first what can prove a limit, then what a limit asks about."""
        shares = [ASKED if is_asked(one, limits) else UNASKED for one in attacks]
        proves = [any(getattr(limits, name) is not None for name in one.proves) for one in attacks]
        order = sorted(range(len(attacks)), key=lambda at: (not proves[at], -shares[at], at))
        for turn, at in enumerate(order):
            self._waiting = [shares[other] for other in order[turn:]]
            yield at

    @contextmanager
    def testing(self) -> Iterator[float]:
        """Test assumptions before anything leans on them; what yields is the deadline for it."""
        now = time.monotonic()
        budget = Budget(now + TESTED * max(self._until - now, 0.0), round(TESTED * self.steps))
        with budget.spending():
            yield TESTED * self.steps / A_SECOND

    @property
    def next_seconds(self) -> float:
        """What the next attack may take of the steps, told in seconds."""
        fair = self._waiting[0] / sum(self._waiting)
        return max(self.steps * (max(fair, HALF) if self._waiting[0] == ASKED else fair), 1) / A_SECOND

    @contextmanager
    def spending(self) -> Iterator[Budget]:
        """Run the next attack; what it spends is taken off."""
        now = time.monotonic()
        left = max(self._until - now, 0.0)
        until = self._until if len(self._waiting) == 1 else now + LONGEST * left
        if self._waiting[0] == UNASKED and left < BEGUN * min(self.seconds, FOREVER):
            until = now
        budget = Budget(until, round(self.next_seconds * A_SECOND))
        try:
            with budget.spending():
                yield budget
        finally:
            self.steps = max(self.steps - budget.spent, 0)


def listener_of(progress: Callable[[str], None] | None) -> Listener | None:
    """Who hears how much of a stage is done: a `part` of whoever is told of the stages, where there is one."""
    part = getattr(progress, "part", None)
    return part if callable(part) else None
