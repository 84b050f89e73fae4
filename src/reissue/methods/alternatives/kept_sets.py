"""Kept sets: everybody's last set and the value it was drawn for, whether they are in the table or not.

Nothing else is remembered of people. Sets are kept and not drawn again from a key: a later version of the program that
draws otherwise would give everybody another set, and two sets for one value give it away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.model.memory import Memory
from reissue.model.sets import SetCodes
from reissue.model.snapshot import smallest_unsigned

SETS = "sets"
PERSON, VALUE, DESIGN, RELEASE, SLOT = "person", "value", "design", "release", "slot"


@dataclass(frozen=True, repr=False)
class KeptSets:
    """A row for everybody who was ever published, ascending by number."""

    person: Ints
    value: Ints
    """The value that the set was drawn for: a position among the labels of the book."""
    design: Ints
    """The design that it was drawn from."""
    release: Ints
    """The last release that they were in."""
    codes: SetCodes

    def __repr__(self) -> str:
        return f"KeptSets({self.person.size:,} people)"

    @classmethod
    def read(cls, memory: Memory, labels: tuple[object, ...], before: tuple[object, ...], m: int) -> KeptSets:
        """What `frame` wrote, with labels as they were before, in the positions of labels as they are now."""
        if SETS not in memory:
            nobody = np.zeros(0, dtype=np.int64)
            return cls(nobody, nobody, nobody, nobody, np.zeros((0, m), dtype=smallest_unsigned(len(labels))))
        table = memory[SETS]
        place = {label: at for at, label in enumerate(labels)}
        moved = np.array([place[label] for label in before], dtype=np.int64)
        columns = [table[f"{SLOT}_{at}"].to_numpy() for at in range(m)]
        dtype = smallest_unsigned(len(labels))
        same = moved.size == len(labels)
        return cls(
            table[PERSON].to_numpy().astype(np.int64),
            moved[table[VALUE].to_numpy()],
            table[DESIGN].to_numpy().astype(np.int64),
            table[RELEASE].to_numpy().astype(np.int64),
            np.stack([column.astype(dtype) if same else moved[column].astype(dtype) for column in columns], axis=1),
        )

    def of(self, people: Ints) -> tuple[Bools, Ints]:
        """Which people have a set, and in which row; any row for the others."""
        size = int(max(people.max(initial=0), self.person.max(initial=0))) + 1
        place = np.full(size, -1, dtype=np.int64)
        place[self.person] = np.arange(self.person.size)
        row = place[people]
        return row >= 0, np.maximum(row, 0)

    def after(self, people: Ints, value: Ints, design: Ints, release: int, codes: SetCodes) -> KeptSets:
        """With what people have after a release."""
        absent = np.isin(self.person, people, invert=True, assume_unique=True)
        person = np.concatenate([self.person[absent], people])
        order = np.argsort(person, kind="stable")

        def joined(before: Ints, now: Ints) -> Ints:
            return np.concatenate([before[absent], now])[order]

        return KeptSets(
            person[order],
            joined(self.value, value),
            joined(self.design, design),
            joined(self.release, np.full(people.size, release)),
            np.concatenate([self.codes[absent], codes.astype(self.codes.dtype)])[order],
        )

    def frame(self, labels: int) -> pl.DataFrame:
        """As it is kept."""
        narrow = smallest_unsigned(labels)
        return pl.DataFrame(
            {
                PERSON: self.person.astype(np.uint32),
                VALUE: self.value.astype(narrow),
                DESIGN: self.design.astype(np.uint16),
                RELEASE: self.release.astype(np.uint32),
                **{f"{SLOT}_{at}": np.ascontiguousarray(self.codes[:, at]) for at in range(self.codes.shape[1])},
            }
        )
