"""Running a method on tables that somebody made up, and what would be published of each.

The method is a black box: it gets a snapshot, as it would from a publisher, and a generator of random numbers. What
comes out is recoded as every release is, and reduced to what is public: for each group its region (or, anatomised,
the quasi-identifiers of its rows) and how often each value occurs. That a method drew nothing is seen from the
generator, whose state is then what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import InternalError, ParameterError, ReissueError, count_of
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.hierarchy import MISSING
from reissue.model.memory import Memory
from reissue.model.published import PublishedGroups
from reissue.model.schema import Numeric, Schema
from reissue.model.showing import shown
from reissue.model.snapshot import Codes, Column, Delta, Labels, Levels, Numbers, Snapshot
from reissue.tables.coding import code_table
from reissue.tables.recode import anatomise, generalise

Shown = tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]
"""What is public of a release, in an order of its own: for each group the number of its place (its region, or the
quasi-identifiers of its rows), its values by number and, where they are compared, its members."""

_UNKNOWN = -1
"""A value that is not in the domain."""
_OWN = 20_070_923
"""Seeds are the attacker's own: with that of the release, its table would be found more often than by chance."""
_ABSENT = "not in the release"


class GroupsPeople(Protocol):
    """What the attack needs of a method."""

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, object]:
        """Group the people of the snapshot."""


@dataclass(frozen=True)
class Outcome:
    """What came of one run."""

    shown: Shown | None
    """What would be published; None where the table is refused."""
    drew: bool
    """Whether the run drew random numbers."""
    truthful: bool
    """Whether everybody is published, with the value he has in the table."""


class Runs:
    """One method, the people of a registry, and whatever values they may have."""

    def __init__(
        self,
        method: GroupsPeople,
        registry: pl.DataFrame,
        people: Ints,
        schema: Schema,
        cells: Sequence[Hashable],
        *,
        form: str,
        worst: bool,
        admit: Callable[[Snapshot], object] | None,
    ) -> None:
        self._method, self._schema, self._admit = method, schema, admit
        self._form, self._worst = form, worst
        columns = [*schema.quasi, *schema.as_is]
        ids = pl.Series(schema.person, np.arange(people.size))
        self._cells = _series(cells, schema)
        self._row = registry.select(columns).head(1)
        frame = registry.select(ids, *columns, self._cells.head(1).new_from_index(0, people.size))
        self._base = replace(code_table(frame, schema).snapshot, people=people).for_form(form)
        nobody = np.empty(0, dtype=np.int64)
        self._delta = Delta(np.sort(people), nobody, nobody, nobody, nobody, nobody)
        self._coded: dict[tuple[int, ...], tuple[Codes, Levels]] = {}
        self._numbers_of: dict[int, tuple[Levels, list[int]]] = {}
        self._places: dict[tuple[object, ...], int] = {}
        self._where: dict[object, list[int]] = {}
        codes, levels = self._code(tuple(range(len(cells))))
        every = _keys(levels)
        self._number_of_key = {every[code]: number for number, code in enumerate(codes.tolist())}

    # The tables

    def _code(self, used: tuple[int, ...]) -> tuple[Codes, Levels]:
        """Codes of these values, and the levels of a table in which just they occur: levels depend on what occurs."""
        if used not in self._coded:
            frame = pl.concat([self._row] * len(used)).with_columns(
                pl.Series(self._schema.person, np.arange(len(used))), self._cells.gather(list(used))
            )
            column = code_table(frame, self._schema).snapshot.values
            codes = np.zeros(self._cells.len(), dtype=column.codes.dtype)
            codes[list(used)] = column.codes
            self._coded[used] = codes, column.levels
        return self._coded[used]

    def run(self, table: npt.NDArray[np.integer], seed: int) -> Outcome:
        """Give everybody the value of the domain with this number, and let the method group them."""
        codes, levels = self._code(tuple(np.unique(table).tolist()))
        snapshot = replace(self._base, values=Column(self._base.values.name, codes[table], levels))
        rng = np.random.default_rng((_OWN, seed))
        before = _state(rng)
        try:
            if self._admit is not None:
                self._admit(snapshot)
            grouping, _ = self._method.group(snapshot, self._delta, {}, rng)
        except InternalError:
            raise
        except ReissueError:
            return Outcome(None, _state(rng) != before, True)
        truthful = not grouping.held_back and not grouping.changed
        return Outcome(self._shown(snapshot, grouping), _state(rng) != before, truthful)

    # What is public

    def _shown(self, snapshot: Snapshot, grouping: Grouping) -> Shown:
        released, groups = shown(snapshot, grouping)
        numbers = self._numbers(released.values.levels)
        group = groups.group.tolist()
        values: list[list[int]] = [[] for _ in range(groups.count)]
        for at, code in zip(group, released.values.codes.tolist(), strict=True):
            values[at].append(numbers[code])
        members: list[list[int]] = [[] for _ in range(groups.count)]
        if self._worst:
            for at, person in zip(group, released.people.tolist(), strict=True):
                members[at].append(max(person, -1))
        where = self._where_groups_are(released, groups, grouping)
        return _public(where, values, members)

    def _where_groups_are(self, released: Snapshot, groups: Grouping, grouping: Grouping) -> list[int]:
        """The number of each group's place. It depends on who is where, not on values."""
        made = grouping.counterfeits
        cells = () if made is None else made.rows.drop(self._schema.sensitive).rows()
        key = (grouping.group.tobytes(), b"" if made is None else made.group.tobytes(), tuple(cells))
        if key not in self._where:
            self._where[key] = self._recoded(released, groups)
        return self._where[key]

    def _recoded(self, released: Snapshot, groups: Grouping) -> list[int]:
        recode = generalise if self._form == "generalised" else anatomise
        recoded = recode(released, groups)
        public = np.zeros(groups.count, dtype=np.int64)
        public[groups.group] = recoded.group.astype(np.int64) - 1
        if self._form == "generalised":
            region = recoded.groups.region
            if region is None:
                raise InternalError("a generalised release has no regions")
            places: list[tuple[object, ...]] = region.rows()
        else:
            places = _by_group(recoded.tables["quasi"], [column.name for column in released.quasi], groups.count)
        return [self._place(places[at]) for at in public.tolist()]

    def _place(self, content: tuple[object, ...]) -> int:
        return self._places.setdefault(content, len(self._places))

    def _numbers(self, levels: Levels) -> list[int]:
        """The number in the domain for each code."""
        if id(levels) not in self._numbers_of:
            self._numbers_of[id(levels)] = levels, [self._number_of_key.get(key, _UNKNOWN) for key in _keys(levels)]
        return self._numbers_of[id(levels)][1]

    # What was published

    def observed(self, release: PublishedGroups, number_of: dict[int, int], quasi: pl.DataFrame | None) -> Shown:
        """The same of the release that is attacked.

        `number_of` gives the number in the domain for the positions of values in the view, `quasi` the published
        table of quasi-identifiers where there is one.
        """
        starts = release.value_starts.tolist()
        values = [
            [
                number_of[position]
                for position, count in zip(
                    release.values[start:end].tolist(), release.counts[start:end].tolist(), strict=True
                )
                for _ in range(count)
            ]
            for start, end in pairwise(starts)
        ]
        members: list[list[int]] = [[] for _ in values]
        if self._worst:
            _need_members(release, "compares who is in which group")
            ends = release.member_starts.tolist()
            members = [
                [max(person, -1) for person in release.members[start:end].tolist()] for start, end in pairwise(ends)
            ]
        return _public(self._published_places(release, quasi), values, members)

    def _published_places(self, release: PublishedGroups, quasi: pl.DataFrame | None) -> list[int]:
        if self._form == "generalised" and release.region is not None:
            alone = Grouping(np.arange(len(self._base), dtype=np.int32), len(self._base))
            region = generalise(self._base, alone).groups.region
            if region is None or region.columns != release.region.columns:
                raise ParameterError(
                    "The regions of the view are not those of this schema in the generalised form.",
                    hint="check the 'schema' and 'form' parameters of Mechanism.",
                )
            return [self._place(row) for row in release.region.rows()]
        if self._form == "anatomised" and quasi is not None:
            columns = [column.name for column in self._base.quasi]
            return [self._place(rows) for rows in _by_group(quasi, columns, release.group_count)]
        _need_members(release, "finds out what was published of quasi-identifiers from who is in which group")
        made = int(np.count_nonzero(release.members < 0))
        if made:
            raise ParameterError(
                f"The view has {count_of(made, 'counterfeit')} and does not say what was published of them.",
                hint="give the published table of quasi-identifiers to Mechanism as 'quasi', or a view with regions.",
            )
        place = {person: row for row, person in enumerate(self._base.people.tolist())}
        group = np.full(len(self._base), HELD_BACK, dtype=np.int32)
        numbers = release.member_groups
        group[[place[person] for person in release.members.tolist()]] = numbers
        absent = np.flatnonzero(group == HELD_BACK)
        held_back = {_ABSENT: absent} if absent.size else {}
        return self._recoded(*shown(self._base, Grouping(group, release.group_count, held_back=held_back)))


def _public(where: list[int], values: list[list[int]], members: list[list[int]]) -> Shown:
    """In an order that depends on nothing but what is public."""
    return tuple(
        sorted(
            (place, tuple(sorted(held)), tuple(sorted(who)))
            for place, held, who in zip(where, values, members, strict=True)
        )
    )


def _need_members(release: PublishedGroups, why: str) -> None:
    repeated = release.members.size > np.unique(release.members).size
    if release.sure is not None or release.space is not None or repeated or not release.members.size:
        raise ParameterError(
            f"Mechanism {why}, and the view does not say that of everybody.",
            hint="give it a view with regions, and leave 'worst' out.",
        )


def _by_group(quasi: pl.DataFrame, columns: list[str], count: int) -> list[tuple[object, ...]]:
    """The rows of each group of a published table of quasi-identifiers, as one thing that can be compared."""
    lacking = [name for name in ("group", *columns) if name not in quasi.columns]
    if lacking:
        raise ParameterError(f"The published table of quasi-identifiers lacks {count_of(len(lacking), 'column')}.")
    rows: list[list[tuple[object, ...]]] = [[] for _ in range(count)]
    for group, *cells in quasi.select("group", *columns).iter_rows():
        if not 1 <= group <= count:
            raise ParameterError("The published table of quasi-identifiers has other groups than the view.")
        rows[group - 1].append(tuple(cells))
    return [tuple(sorted(Counter(held).items(), key=repr)) for held in rows]


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
