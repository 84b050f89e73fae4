"""The past in parts: what is over is written once, and found again for those who return.

What ended in a release goes into a part named after it, which never changes again; every eight parts of a size become
one of the next, so that there are never many. Who was ever there is kept as ranges of person numbers, so that parts
are read only for people who come back.

    stem-000007     what was over in release 7
    stem-000008-1   the same for several releases, up to 8; of a person who is in several only the last entry
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar, Generic, TypeVar

import numpy as np
import polars as pl

from reissue.arrays.dense import places
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError, count_of
from reissue.model.memory import KEPT, Kept, Memory

TOGETHER = 8
"""So many parts of a size become one, so that there are never many."""


@dataclass(frozen=True, repr=False)
class Ranges:
    """A set of person numbers as ranges, which are few because newcomers are numbered in a row."""

    first: Ints
    last: Ints

    def __repr__(self) -> str:
        return f"Ranges({self.first.size:,})"

    @classmethod
    def read(cls, table: pl.DataFrame) -> Ranges:
        """What `table` gave."""
        return cls(table["first"].to_numpy().astype(np.int64), table["last"].to_numpy().astype(np.int64))

    def same(self, other: Ranges) -> bool:
        """Whether both have the same people."""
        return np.array_equal(self.first, other.first) and np.array_equal(self.last, other.last)

    def holds(self, people: Ints) -> Bools:
        """Who of these is in it."""
        at = np.searchsorted(self.first, people, side="right") - 1
        inside = at >= 0
        inside[inside] = people[inside] <= self.last[at[inside]]
        return inside

    def joined(self, people: Ints) -> Ranges:
        """With these people, none of whom is in it yet."""
        if not people.size:
            return self
        people = people if (people[1:] > people[:-1]).all() else np.sort(people)
        ends = np.flatnonzero(np.diff(people) > 1)
        first = np.concatenate((self.first, people[:1], people[ends + 1]))
        last = np.concatenate((self.last, people[ends], people[-1:]))
        order = np.argsort(first)
        first, last = first[order], last[order]
        gap = first[1:] > last[:-1] + 1
        return Ranges(first[np.append(True, gap)], last[np.append(gap, True)])

    def table(self) -> pl.DataFrame:
        """As it is remembered."""
        return pl.DataFrame({"first": self.first.astype(np.uint32), "last": self.last.astype(np.uint32)})


P = TypeVar("P", bound="Part")


class Part(ABC):
    """What was over in a release, or in several: something about each of some people."""

    what: ClassVar[str]
    """What it is, in words, for the message that it is missing."""

    @property
    @abstractmethod
    def person(self) -> Ints:
        """The people, ascending, each once."""

    @classmethod
    @abstractmethod
    def read(cls: type[P], number: int, table: pl.DataFrame) -> P:
        """What `table` gave for a part whose last release has this number."""

    @classmethod
    @abstractmethod
    def of_all(cls: type[P], parts: Sequence[P]) -> P:
        """Several parts as one, the oldest first; of a person who is in several only the last entry."""

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """As it is remembered."""


@dataclass(frozen=True, repr=False)
class Parts(Generic[P]):
    """All parts of one kind."""

    kind: type[P]
    stem: str
    """How the names of its tables begin."""
    memory: Memory = field(default_factory=dict)
    stored: tuple[str, ...] = ()
    """The parts in the memory, by name."""
    added: Mapping[str, P] = field(default_factory=dict)
    """The parts that came since the memory was read."""
    seen: dict[str, P] = field(default_factory=dict)
    """Parts of the memory that have been read: whoever is looked for is often looked for twice."""

    def __repr__(self) -> str:
        return f"Parts({len(self.stored) + len(self.added):,} of {self.kind.what})"

    @classmethod
    def read(cls, kind: type[P], stem: str, memory: Memory) -> Parts[P]:
        """The parts in a memory, of which only the names are read now."""
        return cls(kind, stem, memory, tuple(name for name in memory if name.startswith(stem)))

    def joined(self, number: int, part: P) -> Parts[P]:
        """With what was over in a release."""
        if not part.person.size:
            return self
        return replace(self, added={**self.added, self._name(number, 0): part})

    def joined_like(self, other: Parts[P]) -> Parts[P]:
        """With what was joined to others since they were read."""
        return replace(self, added={**self.added, **other.added})

    def find(self, people: Ints) -> Iterator[tuple[P, Ints, Ints]]:
        """The parts that have the last entries of people, all of whom must have one.

        With each part the positions in `people` of those found there, and where they stand in the part.
        """
        wanted = np.arange(people.size)
        parts = iter(sorted((*self.stored, *self.added), key=self._number, reverse=True))
        while wanted.size:
            name = next(parts, None)
            if name is None:
                who = count_of(wanted.size, "person", "people")
                raise InternalError(f"the {self.kind.what} of {who} are not remembered")
            part = self._part(name)
            at = places(part.person, people[wanted])
            if (at >= 0).any():
                yield part, wanted[at >= 0], at[at >= 0]
            wanted = wanted[at < 0]

    def tables(self) -> dict[str, pl.DataFrame | Kept]:
        """What to remember; parts that are as they were before stand as `KEPT`."""
        tables: dict[str, pl.DataFrame | Kept] = dict.fromkeys(self.stored, KEPT)
        tables |= {name: part.table() for name, part in self.added.items()}
        parts = sorted(tables, key=self._number)
        for level in count():
            alike = [name for name in parts if self._level(name) == level]
            if len(alike) < TOGETHER:
                break
            merged = self.kind.of_all([self._part(name) for name in alike])
            name = self._name(self._number(alike[-1]), level + 1)
            self.seen[name] = merged
            parts = [other for other in parts if other not in alike] + [name]
            tables = {other: table for other, table in tables.items() if other not in alike} | {name: merged.table()}
        return tables

    def _part(self, name: str) -> P:
        if name in self.added:
            return self.added[name]
        if name not in self.seen:
            self.seen[name] = self.kind.read(self._number(name), self.memory[name])
        return self.seen[name]

    def _name(self, number: int, level: int) -> str:
        return f"{self.stem}{number:06d}" + (f"-{level}" if level else "")

    def _number(self, name: str) -> int:
        """The last release of a part."""
        return int(name.removeprefix(self.stem).split("-")[0])

    def _level(self, name: str) -> int:
        return int([*name.removeprefix(self.stem).split("-"), "0"][1])
