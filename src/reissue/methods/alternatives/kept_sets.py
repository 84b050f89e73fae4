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

from reissue.arrays.dense import narrow_ascending
from reissue.arrays.types import Bools, Ints
from reissue.model.memory import Memory
from reissue.model.pieces import Table, made
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

    def after(self, now: KeptSets) -> Table:
        """As it is kept, with what people have now after a release, who may come in any order."""
        size = int(max(now.person.max(initial=0), self.person.max(initial=0))) + 1
        present = np.zeros(size, dtype=np.bool_)
        present[now.person] = True
        absent = np.flatnonzero(~present[self.person])
        people = np.concatenate([self.person[absent], now.person]) if absent.size else now.person
        order = narrow_ascending(people)

        def frame(rows: slice) -> pl.DataFrame:
            chosen = order[rows].astype(np.int64) - absent.size
            stays = np.flatnonzero(chosen < 0)
            old = absent[chosen[stays]]
            chosen[stays] = 0

            def cells(before: Numbers, after: Numbers, dtype: type[Whole]) -> npt.NDArray[Whole]:
                found = after[chosen].astype(dtype, copy=False)
                found[stays] = before[old]
                return found

            narrow = now.codes.dtype.type
            codes = cells(self.codes, now.codes, narrow).T
            return pl.DataFrame(
                {
                    PERSON: cells(self.person, now.person, np.uint32),
                    VALUE: cells(self.value, now.value, narrow),
                    DESIGN: cells(self.design, now.design, np.uint16),
                    RELEASE: cells(self.release, now.release, np.uint32),
                    **{f"{SLOT}_{at}": np.ascontiguousarray(slot) for at, slot in enumerate(codes)},
                }
            )

        return made(order.size, frame)
