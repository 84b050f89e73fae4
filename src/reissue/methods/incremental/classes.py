"""Classes of a growing table: who is in which, since when, and the earlier states that cuts must not open channels to.

What is remembered from release to release are three tables: `members` (person, class, since), `states` (for classes
that received batches: class, release, value, how often the state showed it, how often the batch after it has it) and
`values` (what the numbers of values stand for).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.cores import at_once
from reissue.arrays.dense import numbered
from reissue.arrays.runs import owners, runs
from reissue.arrays.types import Ints
from reissue.errors import InternalError
from reissue.methods.invariance.value_space import ValueSpace
from reissue.model.memory import Memory
from reissue.model.snapshot import SEVERAL_CORES, Column, Snapshot

if TYPE_CHECKING:
    from reissue.kernels.past import Past


MEMBERS, STATES, VALUES = "members", "states", "values"
DENSE = 16
"""Up to so many times as large as there are keys they are counted in a table, and not by sorting."""
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
    states: ClassStates
    meanings: tuple[object, ...]
    """What these numbers stand for."""

    @classmethod
    def read(cls, memory: Memory, snapshot: Snapshot) -> Classes:
        """What is remembered, for the people of a snapshot."""
        remembered = memory[VALUES]["value"].to_list() if VALUES in memory else []
        number_of, values, meanings = _numbered(snapshot.values, remembered)
        if MEMBERS not in memory:
            owner, since = np.full(len(snapshot), NOBODY, dtype=np.int64), np.zeros(len(snapshot), dtype=np.int64)
            return cls(0, owner, since, values, ClassStates.none(), meanings)
        members = memory[MEMBERS]
        people = members["person"].to_numpy()

        size = int(max(people.max(initial=0), snapshot.people.max(initial=0))) + 1

        def found(wanted: tuple[str, int]) -> Ints:
            """What a column says of each row; person numbers are dense, so a table has a place for everybody."""
            name, nothing = wanted
            table = np.full(size, nothing, dtype=np.int32)
            table[people] = members[name].to_numpy()
            return table[snapshot.people].astype(np.int64)

        wanted = (("class", NOBODY), ("since", 0))
        owner, since = at_once(found, wanted) if len(snapshot) >= SEVERAL_CORES else map(found, wanted)
        if int(np.count_nonzero(owner >= 0)) < people.size:
            raise InternalError("somebody who was published is missing from a table that only grows")
        states = ClassStates.read(memory[STATES], number_of)
        return cls(int(owner.max(initial=NOBODY)) + 1, owner, since, values, states, meanings)

    def tables(self, snapshot: Snapshot) -> dict[str, pl.DataFrame]:
        """What to remember."""
        size = int(snapshot.people.max(initial=0)) + 1
        since = np.zeros(size, dtype=np.uint32)
        since[snapshot.people] = self.since  # 0 for those never published
        owner = np.zeros(size, dtype=np.uint32)
        owner[snapshot.people] = self.owner
        published = since > 0
        members = {
            "person": np.flatnonzero(published).astype(np.uint32),
            "class": owner[published],
            "since": since[published],
        }
        numeric = any(isinstance(value, float) for value in self.meanings)
        meaning = pl.Series("value", self.meanings, dtype=pl.Float64 if numeric else pl.String, strict=False)
        return {MEMBERS: pl.DataFrame(members), STATES: self.states.table(), VALUES: meaning.to_frame()}

    def held(self, rows: Ints, part: Ints) -> Held:
        """How often the rows of each part have each value."""
        values = len(self.meanings)
        keys, counts = counted(part * values + self.values[rows])
        return Held(keys // values, keys % values, counts)

    def members(self, classes: Ints) -> tuple[Ints, Ints]:
        """The rows of some classes, ascending, and for each the place of its class among them."""
        place = np.full(self.count + 1, NOBODY, dtype=np.int32)  # one more, for those never published
        place[classes] = np.arange(classes.size, dtype=np.int32)
        of = place[self.owner]
        rows = np.flatnonzero(of >= 0)
        return rows, of[rows].astype(np.int64)


class Held(NamedTuple):
    """How often each of some parts has each of its values."""

    part: Ints
    value: Ints
    often: Ints


@dataclass(repr=False)
class ClassStates:
    """Earlier states of classes, ascending by class and release, with the values that each had."""

    owner: Ints
    """The class of each state."""
    release: Ints
    """The last release that showed it."""
    state: Ints
    """The state of each entry, ascending."""
    value: Ints
    """Its value."""
    shown: Ints
    """How often the state had it."""
    fresh: Ints
    """How often the batch that came in after the state has it."""

    @classmethod
    def none(cls) -> ClassStates:
        """No class has changed yet."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(6)))

    @classmethod
    def read(cls, table: pl.DataFrame, number_of: Ints) -> ClassStates:
        """From the table that `table` gives; values are numbered anew."""
        owner, release, value, shown, fresh = (
            table[name].to_numpy().astype(np.int64) for name in ("class", "release", "value", "shown", "fresh")
        )
        order = np.lexsort((value, release, owner))
        owner, release = owner[order], release[order]
        begins = (np.diff(owner, prepend=-1) != 0) | (np.diff(release, prepend=-1) != 0)
        first = np.flatnonzero(begins)
        state = np.cumsum(begins) - 1
        return cls(owner[first], release[first], state, number_of[value[order]], shown[order], fresh[order])

    def table(self) -> pl.DataFrame:
        """One row for each value of each state."""
        columns = {
            "class": self.owner[self.state],
            "release": self.release[self.state],
            "value": self.value,
            "shown": self.shown,
            "fresh": self.fresh,
        }
        return pl.DataFrame({name: column.astype(np.uint32) for name, column in columns.items()})

    def receiving(self, classes: Ints, last: int, shown: Held, fresh: Held) -> ClassStates:
        """The states after classes received a batch each.

        `last` is the release before, `shown` what the classes had in it, `fresh` what the batches have, both by the
        place of the class among `classes`.
        """
        both = [np.concatenate(pair) for pair in zip(shown[:2], fresh[:2], strict=True)]
        nothing = np.zeros(fresh.part.size, dtype=np.int64), np.zeros(shown.part.size, dtype=np.int64)
        width = int(both[1].max(initial=0)) + 1
        keys, at = np.unique(both[0] * width + both[1], return_inverse=True)
        of_shown = np.bincount(at, np.concatenate([shown.often, nothing[0]]), keys.size).astype(np.int64)
        of_fresh = np.bincount(at, np.concatenate([nothing[1], fresh.often]), keys.size).astype(np.int64)
        return ClassStates(
            np.concatenate([self.owner, classes]),
            np.concatenate([self.release, np.full(classes.size, last, dtype=np.int64)]),
            np.concatenate([self.state, self.owner.size + keys // width]),
            np.concatenate([self.value, keys % width]),
            np.concatenate([self.shown, of_shown]),
            np.concatenate([self.fresh, of_fresh]),
        )._sorted()

    def parted(self, part: Ints, parent: Ints) -> ClassStates:
        """The states after classes were cut: each part has those of its parent, for some of it were in all of them."""
        starts = self.starts(int(max(self.owner.max(initial=0), parent.max(initial=0))) + 1)
        kept = np.flatnonzero(~np.isin(self.owner, parent))
        copies = np.diff(starts)[parent]
        every = np.concatenate([kept, runs(starts[parent], copies)])
        owner = np.concatenate([self.owner[kept], np.repeat(part, copies)])
        entries = np.searchsorted(self.state, np.arange(self.owner.size + 1))
        sizes = np.diff(entries)[every]
        of = runs(entries[every], sizes)
        return ClassStates(
            owner,
            self.release[every],
            owners(sizes),
            self.value[of],
            self.shown[of],
            self.fresh[of],
        )._sorted()

    def _sorted(self) -> ClassStates:
        order = np.lexsort((self.release, self.owner))
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        state = place[self.state]
        entries = np.lexsort((self.value, state))
        return ClassStates(
            self.owner[order],
            self.release[order],
            state[entries],
            self.value[entries],
            self.shown[entries],
            self.fresh[entries],
        )

    def starts(self, classes: int) -> Ints:
        """Where the states of each class begin."""
        return np.searchsorted(self.owner, np.arange(classes + 1)).astype(np.int64)

    def past(self, owner: Ints, since: Ints, values: Ints, needed: int) -> Past:
        """The states of the classes that rows belong to, as the kernel that cuts them wants them.

        Values are numbered within each class by those that its rows have; no others can be in a part of it.
        """
        return self.past_of(*numbered(owner), since, values, needed)

    def past_of(self, classes: Ints, which: Ints, since: Ints, values: Ints, needed: int) -> Past:
        """The same for classes, ascending, where `which` is the place among them of the one that each row is in."""
        from reissue.kernels.past import Past

        width = int(max(values.max(initial=0), self.value.max(initial=0))) + 1
        keys, local = numbered(which * width + values)
        first = np.searchsorted(keys, np.arange(classes.size + 1) * width)
        mine = np.flatnonzero(np.isin(self.owner, classes))
        of_class = np.searchsorted(classes, self.owner[mine])
        sizes = np.diff(first)[of_class]
        offset = np.cumsum(sizes) - sizes
        shown, fresh = np.zeros((2, int(sizes.sum())), dtype=np.int64)
        place = np.full(self.owner.size, NOBODY, dtype=np.int64)
        place[mine] = np.arange(mine.size)
        entries = np.flatnonzero(place[self.state] >= 0)
        state = place[self.state[entries]]
        wanted = of_class[state] * width + self.value[entries]
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        held = keys[at] == wanted
        to = (offset[state] + at - first[of_class[state]])[held]
        shown[to], fresh[to] = self.shown[entries][held], self.fresh[entries][held]
        return Past(
            which,
            since,
            local - first[which],
            np.diff(first),
            np.searchsorted(of_class, np.arange(classes.size + 1)).astype(np.int64),
            self.release[mine],
            offset,
            shown,
            fresh,
            needed,
        )


def counted(keys: Ints) -> tuple[Ints, Ints]:
    """Each key once, ascending, and how often it occurs."""
    if int(keys.max(initial=0)) > DENSE * keys.size:
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _numbered(column: Column, remembered: list[Any]) -> tuple[Ints, Ints, tuple[object, ...]]:
    """Values numbered as they occur: for those remembered, for the rows, and what the numbers stand for."""
    counts = np.bincount(column.codes)
    space = ValueSpace.of(replace(column, codes=np.arange(counts.size, dtype=np.uint32)), [remembered])
    place_of = {value: place for place, value in enumerate(space.values)}
    wanted = np.array([place_of[value] for value in remembered], dtype=np.int64)
    used = np.union1d(space.rows[np.flatnonzero(counts)], wanted)
    number = np.full(len(space), NOBODY, dtype=np.int64)
    number[used] = np.arange(used.size)
    return number[wanted], number[space.rows][column.codes], tuple(space.values[place] for place in used)
