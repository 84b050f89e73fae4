"""Memory: named tables that are wanted again at the next release, committed with this one.

Methods keep in it what they must know again (signatures, graphs, who waits), checkers of promises about
a whole series what they have seen so far. Histories grow, releases should not cost more for it: a table
that has not changed is passed on as `KEPT`, without being read or written again. `Stored` is what lives in such
tables from release to release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Self

if TYPE_CHECKING:
    import polars as pl

    from reissue.model.pieces import Table


class Kept:
    """Stands for a table of the same name in the memory before, unchanged."""

    def __repr__(self) -> str:
        return "KEPT"


KEPT: Final = Kept()

Memory = Mapping[str, "pl.DataFrame"]
"""What was remembered: tables by name, each read when it is asked for."""
Remembered = Mapping[str, "Table | Kept"]
"""What is to be remembered."""


def resolved(tables: Remembered, before: Memory) -> Memory:
    """Tables to remember, with those that stay as they were."""
    from reissue.model.pieces import whole

    return {name: before[name] if isinstance(table, Kept) else whole(table) for name, table in tables.items()}


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


Writers = Mapping[str, Callable[[], "Table"]]
"""Tables by name, each made when it has to be written."""


class Stored(ABC):
    """Something that is kept in tables of a memory: it is read from them, goes on by a release, and writes them again.

    A store says which table is always there, how it is read, and how each of its tables is made. `_unchanged` has the
    names of the tables that are still as they were read; whoever changes the content takes them out.
    """

    sign: ClassVar[str]
    """The table without which nothing was kept yet."""
    _unchanged: frozenset[str]

    @classmethod
    def read(cls, memory: Memory) -> Self:
        """What `tables` gave; before the first release, nothing."""
        return cls._from(memory) if cls.sign in memory else cls._empty()

    def tables(self) -> Remembered:
        """What to remember; tables that are as they were before stand as `KEPT`."""
        own = {name: KEPT if name in self._unchanged else make() for name, make in self._writers().items()}
        return {**own, **self._inside()}

    @classmethod
    @abstractmethod
    def _empty(cls) -> Self:
        """As it is before the first release."""

    @classmethod
    @abstractmethod
    def _from(cls, memory: Memory) -> Self:
        """As the tables of a memory have it."""

    @abstractmethod
    def _writers(self) -> Writers:
        """Its tables, all of them."""

    def _inside(self) -> Remembered:
        """The tables of other stores that it holds."""
        return {}
