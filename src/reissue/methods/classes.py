"""Classes of a growing table: who is in which, since when, and the earlier states that cuts must not open channels to.

What is remembered from release to release are three tables: `members` (person, class, since), `states` (for classes
that received batches: class, release, value, how often the state showed it, how often the batch after it has it) and
`values` (what the numbers of values stand for).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import InternalError
from reissue.memory import Memory
from reissue.methods.value_space import ValueSpace
from reissue.snapshot import Column, Snapshot

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int32]

MEMBERS, STATES, VALUES = "members", "states", "values"
NOBODY = -1
"""The class of a row that is not published."""


@dataclass(repr=False)
class Classes:
    """The classes of the last release, seen from the rows of a table. Values are numbered as they occur in it."""

    count: int
    owner: Ints
    """For each row its class; -1 for those never published."""
    since: Ints
    """For each row the release in which it was published first; 0 for those never published."""
    values: Ints
    """For each row the number of its value."""
    states: States
    meanings: tuple[object, ...]
    """What these numbers stand for."""

    @classmethod
    def read(cls, memory: Memory, snapshot: Snapshot) -> Classes:
        """What is remembered, for the people of a snapshot."""
        remembered = memory[VALUES]["value"].to_list() if VALUES in memory else []
        number_of, values, meanings = _numbered(snapshot.values, remembered)
        owner, since = np.full((2, len(snapshot)), NOBODY, dtype=np.int64)
        since[:] = 0
        if MEMBERS not in memory:
            return cls(0, owner, since, values, States.none(len(meanings)), meanings)
        members = memory[MEMBERS]
        people = members["person"].to_numpy()
        place = np.full(int(max(people.max(initial=0), snapshot.people.max(initial=0))) + 1, NOBODY, dtype=np.int64)
        place[people] = np.arange(people.size)
        at = place[snapshot.people]
        here = at >= 0
        if int(np.count_nonzero(here)) < people.size:
            raise InternalError("somebody who was published is missing from a table that only grows")
        owner[here] = members["class"].to_numpy()[at[here]]
        since[here] = members["since"].to_numpy()[at[here]]
        states = States.read(memory[STATES], number_of, len(meanings))
        return cls(int(owner.max(initial=NOBODY)) + 1, owner, since, values, states, meanings)

    def tables(self, snapshot: Snapshot) -> dict[str, pl.DataFrame]:
        """What to remember."""
        row_of = np.full(int(snapshot.people.max(initial=-1)) + 1, NOBODY, dtype=np.int64)
        published = np.flatnonzero(self.owner >= 0)
        row_of[snapshot.people[published]] = published
        rows = row_of[row_of >= 0]
        members = {
            "person": snapshot.people[rows].astype(np.uint32),
            "class": self.owner[rows].astype(np.uint32),
            "since": self.since[rows].astype(np.uint32),
        }
        numeric = any(isinstance(value, float) for value in self.meanings)
        meaning = pl.Series("value", self.meanings, dtype=pl.Float64 if numeric else pl.String, strict=False)
        return {MEMBERS: pl.DataFrame(members), STATES: self.states.table(), VALUES: meaning.to_frame()}

    def held(self, rows: Ints, part: Ints, count: int) -> Counts:
        """For each part how often its rows have each value."""
        values = len(self.meanings)
        held = np.bincount(part * values + self.values[rows], minlength=count * values)
        return held.reshape(count, values).astype(np.int32)


@dataclass(repr=False)
class States:
    """Earlier states of classes, ascending by class and release, as counts of values."""

    owner: Ints
    """The class of each state."""
    release: Ints
    """The last release that showed it."""
    shown: Counts
    """How often it had each value."""
    fresh: Counts
    """How often the batch that came in after it has each."""

    @classmethod
    def none(cls, values: int) -> States:
        """No class has changed yet."""
        nothing = np.zeros((0, values), dtype=np.int32)
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), nothing, nothing)

    @classmethod
    def read(cls, table: pl.DataFrame, number_of: Ints, values: int) -> States:
        """From the table that `table` gives; values are numbered anew."""
        states = table.select("class", "release").unique().sort("class", "release")
        entries = table.join(states.with_row_index("state"), on=["class", "release"])
        at = entries["state"].to_numpy().astype(np.int64)
        value = number_of[entries["value"].to_numpy()]
        shown, fresh = np.zeros((2, states.height, values), dtype=np.int32)
        shown[at, value] = entries["shown"].to_numpy()
        fresh[at, value] = entries["fresh"].to_numpy()
        owner, release = (states[name].to_numpy().astype(np.int64) for name in ("class", "release"))
        return cls(owner, release, shown, fresh)

    def table(self) -> pl.DataFrame:
        """One row for each value of each state."""
        state, value = np.nonzero(self.shown | self.fresh)
        return pl.DataFrame(
            {
                "class": self.owner[state].astype(np.uint32),
                "release": self.release[state].astype(np.uint32),
                "value": value.astype(np.uint32),
                "shown": self.shown[state, value].astype(np.uint32),
                "fresh": self.fresh[state, value].astype(np.uint32),
            }
        )

    def receiving(self, classes: Ints, last: int, shown: Counts, fresh: Counts) -> States:
        """The states after classes received a batch each.

        `last` is the release before, `shown` what the classes had in it, `fresh` what the batches have.
        """
        return States(
            np.concatenate([self.owner, classes]),
            np.concatenate([self.release, np.full(classes.size, last, dtype=np.int64)]),
            np.concatenate([self.shown, shown]),
            np.concatenate([self.fresh, fresh]),
        )._sorted()

    def parted(self, part: Ints, parent: Ints) -> States:
        """The states after classes were cut: each part has those of its parent, for some of it were in all of them."""
        count = np.bincount(self.owner, minlength=int(parent.max(initial=0)) + 1)
        starts = np.cumsum(count) - count
        each = count[parent]
        at = np.repeat(starts[parent] - (np.cumsum(each) - each), each) + np.arange(int(each.sum()))
        kept = np.flatnonzero(~np.isin(self.owner, parent))
        every = np.concatenate([kept, at])
        owner = np.concatenate([self.owner[kept], np.repeat(part, each)])
        return States(owner, self.release[every], self.shown[every], self.fresh[every])._sorted()

    def _sorted(self) -> States:
        order = np.lexsort((self.release, self.owner))
        return States(self.owner[order], self.release[order], self.shown[order], self.fresh[order])

    def starts(self, classes: int) -> Ints:
        """Where the states of each class begin."""
        return np.searchsorted(self.owner, np.arange(classes + 1)).astype(np.int64)


def _numbered(column: Column, remembered: list[Any]) -> tuple[Ints, Ints, tuple[object, ...]]:
    """Values numbered as they occur: for those remembered, for the rows, and what the numbers stand for."""
    space = ValueSpace.of(column, [remembered])
    place_of = {value: place for place, value in enumerate(space.values)}
    wanted = np.array([place_of[value] for value in remembered], dtype=np.int64)
    used = np.union1d(np.flatnonzero(np.bincount(space.rows, minlength=len(space))), wanted)
    number = np.full(len(space), NOBODY, dtype=np.int64)
    number[used] = np.arange(used.size)
    return number[wanted], number[space.rows], tuple(space.values[place] for place in used)
