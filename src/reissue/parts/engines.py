"""Engines by name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from reissue.errors import ParameterError
from reissue.parts.engine import Engine

Name = Literal["memory", "parts"]
MEMORY: Name = "memory"
"""Everything in memory, as one table: no engine is needed."""
PARTS: Name = "parts"
"""Part by part on this machine, with files in a private folder."""
NAMES: tuple[Name, ...] = get_args(Name)


def check_engine(name: object) -> None:
    """An error unless it is the name of an engine."""
    if name not in NAMES:
        words = " or ".join(map(repr, NAMES))
        raise ParameterError(f"The 'engine' parameter must be {words}. Got {name!r} instead.")


def engine_of(name: str, folder: Path, rows: int | None = None) -> Engine | None:
    """The engine with a name, which may keep its files in this folder, a new one; None where none is needed."""
    check_engine(name)
    if name == MEMORY:
        return None
    from reissue.parts.local_engine import ROWS, LocalEngine

    return LocalEngine(folder, rows=ROWS if rows is None else rows)
