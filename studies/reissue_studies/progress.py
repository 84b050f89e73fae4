"""How a study says what it is doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Called with the name of each step when it begins."""


def silent(step: str) -> None:
    """Say nothing."""
