"""Running a method on tables that somebody made up, release after release as a publisher does.

The method is a black box: it gets a snapshot, what changed, its memory and a generator of random numbers, and what it
remembers is handed to the next run. Before it runs, changes are refused that it says it does not take. That a method
drew nothing is seen from the generator, whose state is then what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.mechanism.mechanism_stage import Stage, Tabled
from reissue.errors import InternalError, ParameterError, ReissueError
from reissue.model.domain import Domain as Seen
from reissue.model.grouping import Grouping
from reissue.model.hierarchy import MISSING
from reissue.model.memory import Memory, resolved
from reissue.model.published import PublishedGroups
from reissue.model.schema import Numeric, Schema
from reissue.model.snapshot import Codes, Column, Delta, Labels, Levels, Numbers, Snapshot
from reissue.tables.coding import KnownBefore, code_table

Admit = Callable[[Snapshot], object]

_UNKNOWN = -1
"""A value that is not in the domain."""
_OWN = 20_070_923
"""Seeds are the attacker's own: with that of the release, its table would be found more often than by chance."""


class GroupsPeople(Protocol):
    """What the attack needs of a method."""

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, object]:
        """Group the people of the snapshot; return the groups and what to remember, tables by name."""


@dataclass(frozen=True)
class Outcome:
    """What came of one run through a series; it ends with the first release that is not as published."""

    led: bool
    """Whether it led to what was published."""
    drew: bool
    """Whether it drew random numbers."""
    refused: bool
    """Whether a table was refused."""
    truthful: bool
    """Whether everybody is published, with the value they have in the table."""


@dataclass(frozen=True, repr=False)
class _Step:
    """What came of one release, and what the next one goes on from."""

    outcome: Outcome
    used: tuple[tuple[int, ...], ...] = ()
    """The values of the tables so far."""
    memory: Memory = field(default_factory=dict)
    held_back: Ints | None = None
    """Those in the table who were not published; None before the first release."""


class Runs:
    """One method, the people of a series, and whatever values they may have."""

    def __init__(
        self,
        method: GroupsPeople,
        registries: Sequence[pl.DataFrame],
        people: Sequence[Ints],
        schema: Schema,
        cells: Sequence[Hashable],
        *,
        form: str,
        worst: bool,
        admit: Sequence[Admit | None],
        tables: Sequence[Tabled | None],
    ) -> None:
        """For each release who is in its table, by number and in the order of its registry."""
        self._method, self._schema, self._admit = method, schema, admit
        self._cells = _series(cells, schema)
        columns = [*schema.quasi, *schema.as_is]
        self._row = registries[0].select(columns).head(1)
        self._bases: list[Snapshot] = []
        seen = Seen()
        for registry, who in zip(registries, people, strict=True):
            ids = pl.Series(schema.person, np.arange(who.size))
            frame = registry.select(ids, *columns, self._cells.head(1).new_from_index(0, who.size))
            coded = code_table(frame, schema, KnownBefore(domain=seen))
            self._bases.append(replace(coded.snapshot, people=who).for_form(form))
            seen = coded.domain
        self._deltas = _deltas(self._bases, schema.sensitive)
        self._coded: dict[tuple[tuple[int, ...], ...], tuple[Codes, Levels, Seen]] = {}
        self._numbers_of: dict[int, tuple[Levels, list[int]]] = {}
        codes, levels, _ = self._code((tuple(range(len(cells))),))
        every = _keys(levels)
        self._number_of_key = {every[code]: number for number, code in enumerate(codes.tolist())}
        self._stages = [
            Stage(base, form, self._numbers, worst=worst, tables=one)
            for base, one in zip(self._bases, tables, strict=True)
        ]
        self._seed = -1
        self._path: list[tuple[tuple[int, ...], _Step]] = []

    def observe(
        self,
        releases: Sequence[PublishedGroups],
        number_of: dict[int, int],
        quasi: Sequence[pl.DataFrame | None],
    ) -> None:
        """Take note of what was published, with which runs are compared.

        `number_of` gives the number in the domain for the positions of values in the view, `quasi` the published
        table of quasi-identifiers of each release where there is one.
        """
        for stage, release, table in zip(self._stages, releases, quasi, strict=True):
            stage.observe(release, number_of, table)

    # The tables

    def _code(self, used: tuple[tuple[int, ...], ...]) -> tuple[Codes, Levels, Seen]:
        """Codes of the values of the last of these tables, and its levels, which depend on what occurs up to it."""
        if used not in self._coded:
            before = self._code(used[:-1])[2] if len(used) > 1 else Seen()
            now = list(used[-1])
            frame = pl.concat([self._row] * len(now)).with_columns(
                pl.Series(self._schema.person, np.arange(len(now))), self._cells.gather(now)
            )
            coded = code_table(frame, self._schema, KnownBefore(domain=before))
            column = coded.snapshot.values
            codes = np.zeros(self._cells.len(), dtype=column.codes.dtype)
            codes[now] = column.codes
            self._coded[used] = codes, column.levels, coded.domain
        return self._coded[used]

    def _numbers(self, levels: Levels) -> list[int]:
        """The number in the domain for each code."""
        if id(levels) not in self._numbers_of:
            self._numbers_of[id(levels)] = levels, [self._number_of_key.get(key, _UNKNOWN) for key in _keys(levels)]
        return self._numbers_of[id(levels)][1]

    # The runs

    def run(self, tables: Sequence[tuple[int, ...]], seed: int) -> Outcome:
        """Give everybody the value of the domain with this number, in one release after the other.

        What the last run has in common with this one, from the first release on, is not run again.
        """
        if seed != self._seed:
            self._seed, self._path = seed, []
        drew = False
        for number, table in enumerate(tables):
            if number < len(self._path) and self._path[number][0] != table:
                del self._path[number:]
            if number == len(self._path):
                self._path.append((table, self._step(number, table)))
            outcome = self._path[number][1].outcome
            drew |= outcome.drew
            if not outcome.led:
                break
        return replace(outcome, drew=drew)

    def _step(self, number: int, table: tuple[int, ...]) -> _Step:
        """The next release after those of the path."""
        before = self._path[-1][1] if self._path else _Step(Outcome(True, False, False, True))
        used = (*before.used, tuple(sorted(set(table))))
        base, delta = self._bases[number], self._deltas[number]
        if number:
            delta = replace(delta, changed_value=_changed(delta, self._bases, number, self._path[-1][0], table))
        rng = np.random.default_rng((_OWN, self._seed, number) if number else (_OWN, self._seed))
        state = _state(rng)
        admit = self._admit[number]
        try:
            # Labels that a series did not begin with are refused, unless the schema declares them.
            codes, levels, _ = self._code(used)
            snapshot = replace(base, values=Column(base.values.name, codes[list(table)], levels))
            if _refuses(self._method, delta, before.held_back):
                return _Step(Outcome(False, False, True, True))
            if admit is not None:
                admit(snapshot)
            grouping, memory = self._method.group(snapshot, delta, before.memory, rng)
        except InternalError:
            raise
        except ReissueError:
            return _Step(Outcome(False, _state(rng) != state, True, True))
        truthful = not grouping.held_back and not grouping.changed
        led = self._stages[number].leads(snapshot, grouping)
        outcome = Outcome(led, _state(rng) != state, False, truthful)
        if not led or number + 1 == len(self._bases):
            return _Step(outcome)
        remembered = resolved(memory if isinstance(memory, Mapping) else {}, before.memory)
        held = np.concatenate([base.people[:0], *(base.people[rows] for rows in grouping.held_back.values())])
        return _Step(outcome, used, remembered, held)


def _deltas(bases: Sequence[Snapshot], sensitive: str) -> list[Delta]:
    """What changes from release to release, but for values."""
    nobody = np.empty(0, dtype=np.int64)
    deltas, ever, last = [], nobody, None
    for number, base in enumerate(bases):
        frame = base.frame()
        delta = Delta.between(last, frame, sensitive, known=0, since=number)
        # Numbers need not be in the order in which people came.
        fresh = delta.arrived
        deltas.append(replace(delta, arrived=np.setdiff1d(fresh, ever), returned=np.intersect1d(fresh, ever)))
        ever, last = np.union1d(ever, base.people), frame
    return deltas


def _changed(
    delta: Delta, bases: Sequence[Snapshot], number: int, before: tuple[int, ...], now: tuple[int, ...]
) -> Ints:
    """Those of who stayed that have another value."""
    then = dict(zip(bases[number - 1].people.tolist(), before, strict=True))
    here = dict(zip(bases[number].people.tolist(), now, strict=True))
    return np.array([one for one in delta.stayed.tolist() if then[one] != here[one]], dtype=np.int64)


def _refuses(method: object, delta: Delta, held_back: Ints | None) -> bool:
    """Whether a publisher refuses the table because of what changed, which methods say that they do not take.

    As in publishing: a series made by a method without deletions shows everybody again whom it once showed. So who
    was held back last, or left and came back, was never shown, and may come, go and change.
    """
    takes = getattr(method, "takes", None)
    if takes is None or held_back is None:
        return False
    unseen = np.empty(0, dtype=np.int64)
    if getattr(method, "protects_series", False) and not takes.deletions:
        unseen = np.union1d(delta.returned, held_back)
    happened = {
        "deletions": (delta.gone,),
        "returns": (delta.returned,),
        "changes": (delta.changed_quasi, delta.changed_value),
    }
    return any(
        not getattr(takes, kind) and np.setdiff1d(people, unseen).size
        for kind, several in happened.items()
        for people in several
    )


def cell_of(value: object, schema: Schema) -> Hashable:
    """A value as it stands in the sensitive column of a table, None where it is missing."""
    if not isinstance(value, Hashable) or value is None or value == MISSING or value != value:
        return None
    if isinstance(schema.sensitive_kind, Numeric):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _series(cells: Sequence[Hashable], schema: Schema) -> pl.Series:
    if not isinstance(schema.sensitive_kind, Numeric):
        return pl.Series(schema.sensitive, list(cells), dtype=pl.String)
    if any(isinstance(cell, float) for cell in cells):
        cells = [float(cell) if isinstance(cell, int) else cell for cell in cells]
    try:
        return pl.Series(schema.sensitive, list(cells), strict=True)
    except TypeError:
        raise ParameterError(
            f"The values to try for '{schema.sensitive}' are of different types.",
            hint="give numbers, or dates, as they are published.",
        ) from None


def _keys(levels: Levels) -> list[object]:
    if isinstance(levels, Numbers):
        return [None if number != number else number for number in levels.values.tolist()]
    return list(levels.labels if isinstance(levels, Labels) else levels.hierarchy.leaves)


def _state(rng: np.random.Generator) -> tuple[object, object]:
    """What changes when numbers are drawn, or generators spawned."""
    bits = rng.bit_generator
    return bits.state, getattr(bits.seed_seq, "n_children_spawned", 0)
