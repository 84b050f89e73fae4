"""Kept sets: everybody's last set and the value it was drawn for, whether they are in the table or not.

Nothing else is remembered of people. Sets are kept and not drawn again from a key: a later version of the program that
draws otherwise would give everybody another set, and two sets for one value give it away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.types import Bools, Ints
from reissue.model.memory import Memory
from reissue.model.sets import Numbers, SetCodes
from reissue.model.snapshot import smallest_unsigned

Whole = TypeVar("Whole", bound=np.integer)

SETS = "sets"
PERSON, VALUE, DESIGN, RELEASE, SLOT = "person", "value", "design", "release", "slot"


@dataclass(frozen=True, repr=False)
class KeptSets:
    """A row for everybody who was ever published, ascending by number."""

    person: Numbers
    value: Numbers
    """The value that the set was drawn for: a position among the labels of the book."""
    design: Numbers
    """The design that it was drawn from."""
    release: Numbers
    """The last release that they were in."""
    codes: SetCodes

    def __repr__(self) -> str:
        return f"KeptSets({self.person.size:,} people)"

    @classmethod
    def read(cls, memory: Memory, labels: tuple[object, ...], before: tuple[object, ...], m: int) -> KeptSets:
        """What `frame` wrote, with labels as they were before, in the positions of labels as they are now."""
        if SETS not in memory:
            person, release = np.zeros((2, 0), dtype=np.uint32)
            codes = np.empty((0, m), dtype=smallest_unsigned(len(labels)))
            return cls(person, codes[:, 0], np.zeros(0, dtype=np.uint16), release, codes)
        table = memory[SETS]
        place = {label: at for at, label in enumerate(labels)}
        moved = np.array([place[label] for label in before], dtype=smallest_unsigned(len(labels)))
        same = moved.size == len(labels)
        codes = np.empty((table.height, m), dtype=smallest_unsigned(len(labels)))
        for at in range(m):
            column = table[f"{SLOT}_{at}"].to_numpy()
            codes[:, at] = column if same else moved[column]
        return cls(
            table[PERSON].to_numpy(),
            moved[table[VALUE].to_numpy()],
            table[DESIGN].to_numpy(),
            table[RELEASE].to_numpy(),
            codes,
        )

    def of(self, people: Ints) -> tuple[Bools, Ints]:
        """Which people have a set, and in which row; any row for the others."""
        if not self.person.size:
            return np.zeros(people.size, dtype=np.bool_), np.zeros(people.size, dtype=np.int32)
        size = int(max(people.max(initial=0), self.person.max(initial=0))) + 1
        place = np.full(size, -1, dtype=np.int32)
        place[self.person] = np.arange(self.person.size, dtype=np.int32)
        row = place[people]
        return row >= 0, np.maximum(row, 0)

    def after(self, people: Ints, value: Numbers, design: Numbers, release: int, codes: SetCodes) -> KeptSets:
        """With what people have after a release."""
        size = int(max(people.max(initial=0), self.person.max(initial=0))) + 1
        present = np.zeros(size, dtype=np.bool_)
        present[people] = True
        absent = np.flatnonzero(~present[self.person])
        order = ascending(np.concatenate([self.person[absent], people.astype(np.uint32)]).astype(np.int64))

        def joined(before: npt.NDArray[Whole], now: Numbers) -> npt.NDArray[Whole]:
            every = now.astype(before.dtype, copy=False)
            return (np.concatenate([before[absent], every]) if absent.size else every)[order]

        return KeptSets(
            joined(self.person, people),
            joined(self.value, value),
            joined(self.design, design),
            joined(self.release, np.full(people.size, release)),
            joined(self.codes, codes),
        )

    def frame(self, labels: int) -> pl.DataFrame:
        """As it is kept."""
        narrow = smallest_unsigned(labels)
        return pl.DataFrame(
            {
                PERSON: self.person,
                VALUE: self.value.astype(narrow, copy=False),
                DESIGN: self.design,
                RELEASE: self.release,
                **{f"{SLOT}_{at}": np.ascontiguousarray(self.codes[:, at]) for at in range(self.codes.shape[1])},
            }
        )
