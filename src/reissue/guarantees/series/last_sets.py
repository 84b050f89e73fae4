"""What the checker of sets remembers: everybody's last set, the value it was for, when and from which design.

A set is remembered by a mark of 64 bits: the sum of one random-looking number for each slot, which the label gives and
not its code, so that another version with other labels gives the same set the same mark. Two different sets have the
same mark with a chance of 2^-64. Where values are permanent, or columns are lives, the sets themselves are remembered.
Where values change by a rate those of some people of the last release are, `REMEMBERED` slots of them at most, to see
whether new sets depend on them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Floats, Ints, Words
from reissue.model.memory import Memory, Remembered
from reissue.model.pieces import made
from reissue.model.record_design import RecordDesign
from reissue.model.sets import Numbers, SetDesigns
from reissue.model.snapshot import smallest_unsigned
from reissue.reasoning.alternatives.tail_bounds import FACTORS

LAST, LABELS, DESIGNS, STEPS, WAGER, RECENT = "last", "labels", "designs", "steps", "wager", "recent"
PERSON, OWN, DESIGN, RELEASE, MARK, SLOT, ROW = "person", "own", "design", "release", "mark", "slot", "row"
UNKNOWN = -1
"""In place of a true value that nobody told."""
PART = 1 << 18
"""So many sets get a part of their marks at a time."""
REMEMBERED = 400_000
"""So many slots of sets of the last release are remembered where marks are enough for all else."""

Ints32 = npt.NDArray[np.int32]
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
class Recent:
    """The sets themselves of some people."""

    row: Ints
    """Their rows among everybody's."""
    slots: npt.NDArray[np.integer]
    """A row for each slot, positions among the labels."""


@dataclass(frozen=True, repr=False)
class LastSets:
    """A row for everybody who was ever published."""

    person: Numbers
    own: Numbers
    """The true value, a position among `labels`, or `UNKNOWN`."""
    design: Numbers
    """A position among `designs`."""
    release: Numbers
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
    recent: Recent | None = None
    """Sets of some people of the last release, where `slots` has none."""

    @classmethod
    def read(cls, state: Memory) -> LastSets:
        """What `tables` gave; before the first release, nothing."""
        if LAST not in state:
            none, words = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint64)
            return cls(none, none, none, none, words, None, words, words, (), np.zeros(FACTORS.size))
        last = state[LAST]
        slots = [last[name].to_numpy() for name in last.columns if name.startswith(SLOT)]
        return cls(
            last[PERSON].to_numpy(),
            _signed(last[OWN].to_numpy(), state[LABELS].height) - 1,
            last[DESIGN].to_numpy(),
            last[RELEASE].to_numpy(),
            last[MARK].to_numpy(),
            np.stack(slots) if slots else None,
            state[LABELS]["label"].to_numpy(),
            state[DESIGNS][DESIGN].to_numpy(),
            tuple(Step(**row) for row in state[STEPS].iter_rows(named=True)),
            state[WAGER]["wealth"].to_numpy(),
            _recent(state[RECENT]) if RECENT in state else None,
        )

    def tables(self) -> Remembered:
        """What to remember."""
        narrow, of_designs = smallest_unsigned(self.labels.size + 1), smallest_unsigned(self.designs.size)

        def last(rows: slice) -> pl.DataFrame:
            columns = {
                PERSON: self.person[rows].astype(np.uint32),
                OWN: (self.own[rows].astype(np.int64) + 1).astype(narrow),
                DESIGN: self.design[rows].astype(of_designs),
                RELEASE: self.release[rows].astype(np.uint32),
                MARK: self.mark[rows],
            }
            slots = () if self.slots is None else self.slots
            return pl.DataFrame(
                {**columns, **{f"{SLOT}_{at}": row[rows].astype(narrow) for at, row in enumerate(slots)}}
            )

        recent = {}
        if self.recent is not None:
            columns = {f"{SLOT}_{at}": one.astype(narrow) for at, one in enumerate(self.recent.slots)}
            recent[RECENT] = pl.DataFrame({ROW: self.recent.row.astype(np.uint32), **columns})
        return {
            **recent,
            LAST: made(self.person.size, last),
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

    def rows_of(self, people: Ints) -> Ints32:
        """The row of each of these people; -1 for whoever is new."""
        size = int(max(people.max(initial=0), self.person.max(initial=0))) + 1
        row = np.full(size, -1, dtype=np.int32)
        row[self.person] = np.arange(self.person.size, dtype=np.int32)
        return row[people]

    def with_labels(self, labels: Words, designs: Words) -> LastSets:
        """In the positions of these labels and designs; those that are no longer there come behind them."""
        place, united = _moved(self.labels, labels)
        there, every = _moved(self.designs, designs)
        if self.labels.size == 0 or np.array_equal(place, np.arange(place.size)):
            own, slots, recent = self.own, self.slots, self.recent
        else:
            own = _signed(np.append(place, UNKNOWN), united.size)[self.own]
            slots = None if self.slots is None else place[self.slots]
            recent = None if self.recent is None else replace(self.recent, slots=place[self.recent.slots])
        design = there.astype(smallest_unsigned(every.size))[self.design] if self.designs.size else self.design
        return replace(
            self, own=_signed(own, united.size), design=design, slots=slots, labels=united, designs=every, recent=recent
        )

    def old_sets(self, rows: Ints32) -> tuple[Ints, npt.NDArray[np.integer]]:
        """Of some rows those whose set is remembered, some of them if there are many; and these sets."""
        if self.slots is not None:
            known = np.arange(min(rows.size, REMEMBERED // len(self.slots)))
            return known, self.slots[:, rows[known]]
        if self.recent is None:
            return np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
        place = np.full(self.person.size, -1)
        place[self.recent.row] = np.arange(self.recent.row.size)
        known = np.flatnonzero(place[rows] >= 0)
        return known, self.recent.slots[:, place[rows[known]]]

    def after(
        self,
        row: Ints32,
        people: Ints,
        own: npt.NDArray[np.integer] | None,
        design: npt.NDArray[np.integer],
        mark: Words,
        slots: npt.NDArray[np.integer] | None,
        step: Step,
        wealth: Floats,
        recent: npt.NDArray[np.integer] | None = None,
    ) -> LastSets:
        """With a release: those in `row` again, the others for the first time.

        `recent` has everybody's sets, to remember those of some.
        """
        new = np.flatnonzero(row < 0).astype(np.int32)
        place, count = row.copy(), self.person.size + new.size
        place[new] = np.arange(self.person.size, count, dtype=np.int32)

        def joined(before: npt.NDArray[Whole], now: npt.NDArray[Any]) -> npt.NDArray[Whole]:
            if not before.size:
                return now  # there is nobody else, and everybody stands in their own row
            together: npt.NDArray[Whole] = np.empty(count, dtype=before.dtype)
            together[: before.size] = before
            together[place] = now
            return together

        if slots is not None:
            before = np.zeros((len(slots), self.person.size), dtype=np.int64) if self.slots is None else self.slots
            slots = np.stack([joined(one.astype(np.int64), now) for one, now in zip(before, slots, strict=True)])
        return LastSets(
            joined(self.person, people),
            joined(self.own, np.broadcast_to(np.int32(UNKNOWN), row.shape) if own is None else own),
            joined(self.design, design),
            joined(self.release, np.broadcast_to(np.int32(step.number), row.shape)),
            joined(self.mark, mark),
            slots,
            self.labels,
            self.designs,
            (*self.steps, step),
            wealth,
            None if recent is None else _some(place, recent),
        )


def _some(row: Ints32, slots: npt.NDArray[np.integer]) -> Recent:
    """The sets of some people, from all parts of a release alike."""
    count = min(row.size, REMEMBERED // len(slots))
    chosen = np.arange(count) * row.size // max(count, 1)
    return Recent(row[chosen].astype(np.int64), slots[:, chosen])


def _recent(table: pl.DataFrame) -> Recent:
    slots = [table[name].to_numpy() for name in table.columns if name.startswith(SLOT)]
    return Recent(table[ROW].to_numpy().astype(np.int64), np.stack(slots))


def numbers_of(labels: tuple[object, ...]) -> Words:
    """A random-looking number for each label, the same in every version."""
    return np.array([_digest(_text(label).encode()) for label in labels], dtype=np.uint64)


def digests_of(designs: SetDesigns, labels: Words) -> Words:
    """A digest of each design, by its labels and not by their codes."""
    found = []
    arrays: tuple[npt.NDArray[Any], ...]
    for design, places in zip(designs.designs, designs.places, strict=True):
        if isinstance(design, RecordDesign):
            factor = np.array([design.factor])
            arrays = (labels[places], design.records, design.shares, design.most, *design.room, factor)
        else:
            arrays = (labels[places], design.shares, design.slots, design.large, design.joint, design.weights)
        found.append(_digest(b"".join([design.m.to_bytes(8, "little"), *(array.tobytes() for array in arrays)])))
    return np.array(found, dtype=np.uint64)


def marks_of(columns: npt.NDArray[np.integer], labels: Words, *, ordered: bool) -> Words:
    """The mark of each set, given as a row for each slot; `ordered`: another order is another set."""
    mark = np.zeros(columns.shape[1], dtype=np.uint64)
    factors = [np.uint64(_digest(slot.to_bytes(4, "little")) | 1 if ordered else 1) for slot in range(len(columns))]
    numbers = [labels * factor for factor in factors]
    for begin in range(0, mark.size, PART):
        part = slice(begin, begin + PART)
        for own, column in zip(numbers, columns, strict=True):
            mark[part] += own[column[part]]
    return mark


def _signed(numbers: npt.NDArray[np.integer], labels: int) -> npt.NDArray[np.signedinteger]:
    """Numbers of so many labels, or `UNKNOWN`, in little room."""
    return numbers.astype(np.int16 if labels < 2**15 else np.int32, copy=False)


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
