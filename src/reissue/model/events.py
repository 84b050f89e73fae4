"""Events: tables in which a row is an event, such as a stay, and somebody may have several.

A release speaks of people: everybody is in it once. So one event stands for each person, and the policy says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reissue.errors import ParameterError, is_text


@dataclass(frozen=True)
class Events:
    """Which event of a person is published."""

    order: str
    """The column that says when an event was: dates, times or numbers."""
    keep: Literal["last", "first"] = "last"
    """Whether the last or the first event of a table stands for the person."""

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.order, str) or not self.order or not is_text(self.order):
            problems.append("The 'order' parameter of Events must be the name of a column.")
        if self.keep not in ("last", "first"):
            problems.append(f"The 'keep' parameter of Events must be 'last' or 'first'. Got {self.keep!r} instead.")
        if problems:
            raise ParameterError(" ".join(problems))
