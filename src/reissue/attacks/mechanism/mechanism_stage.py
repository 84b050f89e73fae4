"""What is public of one release: of what a method made of a table somebody made up, and of what was published.

Both are recoded as every release is and reduced to what is public, so that they can be compared. Either group by group:
for each its region (or, anatomised, the quasi-identifiers of its rows) and how often each value occurs. Or as public
tables, row by row, whatever their columns hold: that needs no groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from reissue.errors import InternalError, ParameterError, count_of, listed
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.published import PublishedGroups
from reissue.model.showing import shown
from reissue.model.snapshot import Levels, Snapshot
from reissue.tables.recode import Recoded, anatomise, generalise
from reissue.tables.recode_sets import alternatives

Shown = tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]
"""What is public of the groups of a release, in an order of its own: for each the number of its place (its region, or
the quasi-identifiers of its rows), its values by number and, where they are compared, its members."""
Tabled = Mapping[str, pl.DataFrame]
"""Public tables by name."""

RECODE: Mapping[str, Callable[[Snapshot, Grouping], Recoded]] = {
    "generalised": generalise,
    "anatomised": anatomise,
    "alternatives": alternatives,
}
"""How releases of each form are made of groups."""
_ABSENT = "not in the release"


class Stage:
    """One release of a series: who is in its table, and what was published of it."""

    def __init__(
        self,
        base: Snapshot,
        form: str,
        numbers: Callable[[Levels], Sequence[int]],
        *,
        worst: bool,
        tables: Tabled | None = None,
    ) -> None:
        """`base` has everybody in the table with some value; `numbers` gives the number in the domain for each code;
        `tables` are compared in place of groups."""
        self._base, self._form, self._numbers = base, form, numbers
        self._worst, self._tables = worst, tables
        self._observed: Shown | None = None
        self._published: dict[tuple[str, ...], Hashable] = {}
        self._places: dict[tuple[object, ...], int] = {}
        self._where: dict[object, list[int]] = {}

    # What is public

    def leads(self, snapshot: Snapshot, grouping: Grouping) -> bool:
        """Whether such a grouping of such a table is published as the release was."""
        released, groups = shown(snapshot, grouping)
        if self._tables is None:
            return self._shown(released, groups, grouping) == self._observed
        made = RECODE[self._form](released, groups).tables
        names = tuple(made)
        if names not in self._published:
            self._published[names] = content(self._tables, names)
        return content(made, names) == self._published[names]

    def _shown(self, released: Snapshot, groups: Grouping, grouping: Grouping) -> Shown:
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
        cells = () if made is None else made.rows.drop(self._base.schema.sensitive).rows()
        key = (grouping.group.tobytes(), b"" if made is None else made.group.tobytes(), tuple(cells))
        if key not in self._where:
            self._where[key] = self._recoded(released, groups)
        return self._where[key]

    def _recoded(self, released: Snapshot, groups: Grouping) -> list[int]:
        recoded = RECODE[self._form](released, groups)
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

    # What was published

    def observe(self, release: PublishedGroups, number_of: dict[int, int], quasi: pl.DataFrame | None) -> None:
        """Take note of the release that is attacked.

        `number_of` gives the number in the domain for the positions of values in the view, `quasi` the published
        table of quasi-identifiers where there is one.
        """
        if self._tables is None:
            self._observed = self._seen(release, number_of, quasi)

    def _seen(self, release: PublishedGroups, number_of: dict[int, int], quasi: pl.DataFrame | None) -> Shown:
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


def content(tables: Tabled, names: Sequence[str]) -> Hashable:
    """The rows of these public tables, whatever their order, which follows from them."""
    lacking = [name for name in names if name not in tables]
    if lacking:
        raise ParameterError(
            f"The public tables of a release lack {listed(lacking)}.",
            hint="give the tables of every release as they were published, and check the 'form' parameter.",
        )
    found = []
    for name in sorted(names):
        columns = sorted(tables[name].columns)
        rows = Counter(map(_cells, tables[name].select(columns).iter_rows()))
        found.append((name, tuple(columns), frozenset(rows.items())))
    return tuple(found)


def _cells(row: tuple[object, ...]) -> tuple[object, ...]:
    """A row as something that can be compared; cells may be lists."""
    return tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row)


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
