"""Memory: named tables that are wanted again at the next release, committed with this one.

Methods keep in it what they must know again (signatures, graphs, who waits), checkers of promises about
a whole series what they have seen so far. Histories grow, releases should not cost more for it: a table
that has not changed is passed on as `KEPT`, without being read or written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl


class Kept:
    """Stands for a table of the same name in the memory before, unchanged."""

    def __repr__(self) -> str:
        return "KEPT"


KEPT: Final = Kept()

Memory = Mapping[str, "pl.DataFrame"]
"""What was remembered: tables by name, each read when it is asked for."""
Remembered = Mapping[str, "pl.DataFrame | Kept"]
"""What is to be remembered."""


class Prefixed(Mapping[str, "pl.DataFrame"]):
    """The tables of a memory whose names begin with a prefix, by the rest of their names."""

    def __init__(self, memory: Memory, prefix: str) -> None:
        self._memory, self._prefix = memory, prefix

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._memory[self._prefix + name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._prefix + name in self._memory

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in self._memory if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
