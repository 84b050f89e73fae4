"""What the checker of sets remembers: everybody's last set, the value it was for, when and from which design.

A set is remembered by a mark of 64 bits: the sum of one random-looking number for each slot, which the label gives and
not its code, so that another version with other labels gives the same set the same mark. Two different sets have the
same mark with a chance of 2^-64. Where values are permanent, or columns are lives, the sets themselves are remembered.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Floats, Ints, Words
from reissue.model.memory import Memory, Remembered
from reissue.model.sets import SetDesigns
from reissue.model.snapshot import smallest_unsigned
from reissue.reasoning.alternatives.tail_bounds import FACTORS

LAST, LABELS, DESIGNS, STEPS, WAGER = "last", "labels", "designs", "steps", "wager"
PERSON, OWN, DESIGN, RELEASE, MARK, SLOT = "person", "own", "design", "release", "mark", "slot"
UNKNOWN = -1
"""In place of a true value that nobody told."""


Whole = TypeVar("Whole", bound=np.integer)


@dataclass(frozen=True)
class Step:
    """One release: by what rule it came from the one before, and which version of the reference was in force."""

    number: int
    rate: float
    """The chance of a redraw in the step into it; 0 for the first release and where values are static."""
    version: int
    m: int
    limit: float
    """The largest posterior that was promised."""


@dataclass(frozen=True, repr=False)
class LastSets:
    """A row for everybody who was ever published."""

    person: Ints
    own: Ints
    """The true value, a position among `labels`, or `UNKNOWN`."""
    design: Ints
    """A position among `designs`."""
    release: Ints
    mark: Words
    slots: npt.NDArray[np.integer] | None
    """A row for each slot, positions among `labels`; None where marks are enough."""
    labels: Words
    """The number of each label."""
    designs: Words
    """A digest of each design."""
    steps: tuple[Step, ...]
    wealth: Floats
    """What bets on other coins than the rule's are worth, as logarithms."""

    @classmethod
    def read(cls, state: Memory) -> LastSets:
        """What `tables` gave; before the first release, nothing."""
        if LAST not in state:
            none, words = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
            return cls(none, none, none, none, words, None, words, words, (), np.zeros(FACTORS.size))
        last = state[LAST]
        slots = [last[name].to_numpy() for name in last.columns if name.startswith(SLOT)]
        return cls(
            last[PERSON].to_numpy().astype(np.int64),
            last[OWN].to_numpy().astype(np.int64) - 1,
            last[DESIGN].to_numpy().astype(np.int64),
            last[RELEASE].to_numpy().astype(np.int64),
            last[MARK].to_numpy(),
            np.stack(slots) if slots else None,
            state[LABELS]["label"].to_numpy(),
            state[DESIGNS][DESIGN].to_numpy(),
            tuple(Step(**row) for row in state[STEPS].iter_rows(named=True)),
            state[WAGER]["wealth"].to_numpy(),
        )

    def tables(self) -> Remembered:
        """What to remember."""
        narrow = smallest_unsigned(self.labels.size + 1)
        slots = {} if self.slots is None else {f"{SLOT}_{at}": row.astype(narrow) for at, row in enumerate(self.slots)}
        return {
            LAST: pl.DataFrame(
                {
                    PERSON: self.person.astype(np.uint32),
                    OWN: (self.own + 1).astype(narrow),
                    DESIGN: self.design.astype(smallest_unsigned(self.designs.size)),
                    RELEASE: self.release.astype(np.uint32),
                    MARK: self.mark,
                    **slots,
                }
            ),
            LABELS: pl.DataFrame({"label": self.labels}),
            DESIGNS: pl.DataFrame({DESIGN: self.designs}),
            STEPS: pl.DataFrame(
                [vars(step) for step in self.steps],
                schema={
                    "number": pl.UInt32,
                    "rate": pl.Float64,
                    "version": pl.UInt32,
                    "m": pl.UInt32,
                    "limit": pl.Float64,
                },
            ),
            WAGER: pl.DataFrame({"wealth": self.wealth}),
        }

    def rows_of(self, people: Ints) -> Ints:
        """The row of each of these people; -1 for whoever is new."""
        size = int(max(people.max(initial=-1), self.person.max(initial=-1))) + 1
        row = np.full(size, -1, dtype=np.int32)
        row[self.person] = np.arange(self.person.size)
        return row[people].astype(np.int64)

    def with_labels(self, labels: Words, designs: Words) -> LastSets:
        """In the positions of these labels and designs; those that are no longer there come behind them."""
        place, united = _moved(self.labels, labels)
        there, every = _moved(self.designs, designs)
        if self.labels.size == 0 or np.array_equal(place, np.arange(place.size)):
            own, slots = self.own, self.slots
        else:
            own = np.append(place, UNKNOWN)[self.own]
            slots = None if self.slots is None else place[self.slots]
        design = there[self.design] if self.designs.size else self.design
        return replace(self, own=own, design=design, slots=slots, labels=united, designs=every)

    def after(
        self,
        row: Ints,
        people: Ints,
        own: Ints | None,
        design: Ints,
        mark: Words,
        slots: npt.NDArray[np.integer] | None,
        step: Step,
        wealth: Floats,
    ) -> LastSets:
        """With a release: those in `row` again, the others for the first time."""
        new = row < 0
        place = row.copy()
        place[new] = self.person.size + np.arange(np.count_nonzero(new))
        count = self.person.size + int(np.count_nonzero(new))

        def joined(before: npt.NDArray[Whole], now: npt.ArrayLike) -> npt.NDArray[Whole]:
            together: npt.NDArray[Whole] = np.empty(count, dtype=before.dtype)
            together[: before.size] = before
            together[place] = now
            return together

        if slots is not None:
            before = np.zeros((len(slots), self.person.size), dtype=np.int64) if self.slots is None else self.slots
            slots = np.stack([joined(one.astype(np.int64), now) for one, now in zip(before, slots, strict=True)])
        return LastSets(
            joined(self.person, people),
            joined(self.own, UNKNOWN if own is None else own),
            joined(self.design, design),
            joined(self.release, step.number),
            joined(self.mark, mark),
            slots,
            self.labels,
            self.designs,
            (*self.steps, step),
            wealth,
        )


def numbers_of(labels: tuple[object, ...]) -> Words:
    """A random-looking number for each label, the same in every version."""
    return np.array([_digest(_text(label).encode()) for label in labels], dtype=np.uint64)


def digests_of(designs: SetDesigns, labels: Words) -> Words:
    """A digest of each design, by its labels and not by their codes."""
    found = []
    for design, places in zip(designs.designs, designs.places, strict=True):
        arrays = (labels[places], design.shares, design.slots, design.large, design.joint, design.weights)
        found.append(_digest(b"".join([design.m.to_bytes(8, "little"), *(array.tobytes() for array in arrays)])))
    return np.array(found, dtype=np.uint64)


def marks_of(columns: npt.NDArray[np.integer], labels: Words, *, ordered: bool) -> Words:
    """The mark of each set, given as a row for each slot; `ordered`: another order is another set."""
    mark = np.zeros(columns.shape[1], dtype=np.uint64)
    for slot, column in enumerate(columns):
        factor = np.uint64(_digest(slot.to_bytes(4, "little")) | 1 if ordered else 1)
        mark += (labels * factor)[column]
    return mark


def _digest(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _text(label: object) -> str:
    if isinstance(label, int | float) and label == label:
        return f"number {int(label) if float(label).is_integer() else float(label)}"
    return f"{type(label).__name__} {label}"


def _moved(before: Words, now: Words) -> tuple[Ints, Words]:
    """For each of those before its place among those now, with what is not among them behind; and all of them."""
    gone = before[~np.isin(before, now)]
    every = np.concatenate([now, gone])
    order = np.argsort(every, kind="stable")
    return order[np.searchsorted(every[order], before)], every
