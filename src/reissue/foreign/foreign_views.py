"""Foreign releases put together as an outsider's view: by name, by registry or by region."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import polars as pl

from reissue.arrays.runs import owners, starts_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import TableError, count_of
from reissue.foreign.foreign_registry import ForeignRegistry
from reissue.foreign.foreign_tables import FIRST_LINE, Grouped
from reissue.foreign.matching import GroupCandidates, Matched, candidates, match
from reissue.model.assumptions import Assumption
from reissue.model.hierarchy import MISSING
from reissue.model.published import Published, PublishedGroups
from reissue.model.regions import Regions

Unmatched = list[tuple[int, str, int]]

UNMATCHED = pl.Schema({"release": pl.Int64, "what": pl.String, "count": pl.Int64})

MOST_CANDIDATES = 20_000_000
"""So many pairs of a group and somebody who may be in it are kept, in all releases together."""
COMPLETE = "everybody in the releases is taken to be in the registry, with one row in each"
ABSENT = "people are said to be in releases that have no place for them; nobody's presence is taken for certain"
LACKING = (
    "not every row can be that of another person in the registry; groups are compared by their regions, and nobody's "
    "place is concluded"
)
OR_CLASS = ", or suppressed rows belong to published classes"

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*[1-9])?")
"""Numbers that are written in one way only: no code that begins with 0, no 1.50, no 1e2."""


def by_name(tables: Sequence[Grouped], people: ForeignRegistry | None) -> tuple[Published, Unmatched]:
    """The files say who is in which group."""
    columns = [table.people for table in tables if table.people is not None]
    named = [] if people is None else [people.people]
    names = pl.concat([series.alias("name") for series in (*named, *columns)]).unique(maintain_order=True)
    place = pl.DataFrame({"name": names, "place": np.arange(names.len())})
    values = _Values(tables)
    releases = []
    unmatched: Unmatched = []
    for at, (table, column) in enumerate(zip(tables, columns, strict=True)):
        found = pl.DataFrame({"name": column}).join(place, on="name", how="left", maintain_order="left")["place"]
        numbers = found.to_numpy().astype(np.int64)
        if people is not None:
            strangers = int(np.count_nonzero(numbers >= people.people.len()))
            unmatched += [(at + 1, "people who are not in the registry", strangers)] if strangers else []
        order = np.lexsort((numbers, table.group))
        members = numbers[order]
        # Where not everybody is registered, it is not known who shares quasi-identifiers with whom.
        registered = people is not None and not (members >= people.people.len()).any()
        known = people.classes if people is not None and registered else None
        classes = None if known is None else known[members]
        sizes = np.bincount(table.group, minlength=table.count)
        releases.append(values.release(at, members, sizes, classes=classes))
    return Published(tuple(releases), values.names, values.magnitudes, True, tuple(names.to_list())), unmatched


def by_region(tables: Sequence[Grouped], regions: Sequence[Regions]) -> tuple[Published, Unmatched]:
    """Nobody is known; the groups' own regions are compared."""
    values = _Values(tables)
    nobody = np.zeros(0, dtype=np.int64)
    releases = [
        values.release(at, nobody, np.zeros(table.count, dtype=np.int64), space=regions[at])
        for at, table in enumerate(tables)
    ]
    return Published(tuple(releases), values.names, values.magnitudes, single=False), []


def by_registry(
    tables: Sequence[Grouped],
    regions: Sequence[Regions],
    people: ForeignRegistry,
    known: Regions,
    present: Sequence[Bools],
) -> tuple[Published, Unmatched, list[str]]:
    """Who may be in which group is computed from the regions and what is known of people.

    Where rows are left that nobody registered can fill, people are lacking, and they may be anywhere: the view is
    that of the regions then. To list so many unknown people as candidates would not do: how likely a value is for any
    of them, or for somebody registered, would depend on how many were made up.
    """
    fitting = _fitting(tables, regions, known, present)
    rest = any(region.rest is not None for region in regions)
    if any(found.lacking for found in fitting):
        published, _ = by_region(tables, regions)
        told = [(at, what, count) for at, found in enumerate(fitting, start=1) for what, count in found.report]
        return replace(published, tested=_lacking(fitting, rest=rest)), told, [LACKING]
    values, classes = _Values(tables), people.classes
    counterfeits = 0
    releases = []
    unmatched: Unmatched = []
    every = [match(found, there) for found, there in zip(fitting, present, strict=True)]
    tested = _tested(every, present, rest=rest)
    reports = [one.report for one in every]
    if not all(one.carries for one in tested):
        # Who else is not where they were said to be cannot be told: nobody's presence is taken for certain.
        every = [match(found, np.zeros_like(there)) for found, there in zip(fitting, present, strict=True)]
    for at, table in enumerate(tables):
        matched = every[at]
        unmatched += [(at + 1, what, count) for what, count in reports[at]]
        made_up = owners(table.made_up)
        member = np.concatenate([matched.person, -(counterfeits + 1 + np.arange(made_up.size))])
        group = np.concatenate([matched.group, made_up])
        sure = np.concatenate([matched.sure, np.ones(made_up.size, dtype=np.bool_)])
        counterfeits += made_up.size
        order = np.lexsort((member, group))
        certain = bool(sure.all())
        releases.append(
            values.release(
                at,
                member[order],
                np.bincount(group, minlength=table.count),
                sure=None if certain else sure[order],
                present=None if certain else matched.present,
                classes=None
                if classes is None
                else np.concatenate([classes[matched.person], -1 - np.arange(made_up.size)])[order],
            )
        )
    names = tuple(people.people.to_list())
    published = Published(tuple(releases), values.names, values.magnitudes, True, names, tested=tested)
    return published, unmatched, [COMPLETE, *([] if all(one.carries for one in tested) else [ABSENT])]


def _lacking(fitting: Sequence[GroupCandidates], *, rest: bool) -> tuple[Assumption, ...]:
    """That the registry has everybody, where it has not; `rest`: suppressed rows were said to belong to no class."""
    groups = sum(found.short for found in fitting)
    rows = count_of(sum(found.lacking for found in fitting), "row is", "rows are")
    why = (
        f"{count_of(groups, 'group has', 'groups have')} fewer candidates in the registry than rows, alone or "
        f"together; {rows} nobody's in it. It lacks people, people have several rows, or their quasi-identifiers "
        f"changed{OR_CLASS if rest else ''}."
    )
    return (Assumption("registry-complete", "refuted", groups, why),)


def _tested(matched: Sequence[Matched], present: Sequence[Bools], *, rest: bool) -> tuple[Assumption, ...]:
    """What putting people into groups says about the registry, and about who is said to be there; see `_lacking`."""
    fits = "Every row can be somebody's in the registry."
    wrong = sum(one.misplaced for one in matched)
    tested = [Assumption("registry-complete", "holds", evidence=fits)]
    if len(matched) > 1:
        doubt = "People who were said to be there have no place: their quasi-identifiers may have been corrected."
        alike = f"{fits} It is taken for all releases alike."
        tested.append(
            Assumption("cells-stay", "untested", evidence=doubt)
            if wrong
            else Assumption("cells-stay", "holds", evidence=alike)
        )
    if any(there.any() for there in present):
        who = count_of(wrong, "person is", "people are")
        why = (
            f"{who} said to be in a release that has no place for them, or their quasi-identifiers were corrected"
            f"{OR_CLASS if rest else ''}. Nobody's presence is used."
        )
        good = "Everybody who is said to be in a release has a place there."
        tested.append(
            Assumption("presence", "refuted", wrong, why) if wrong else Assumption("presence", "said", evidence=good)
        )
    return tuple(tested)


def _fitting(
    tables: Sequence[Grouped], regions: Sequence[Regions], known: Regions, present: Sequence[Bools]
) -> list[GroupCandidates]:
    """The candidates of every release, as long as they are not too many."""
    left, fitting = MOST_CANDIDATES, []
    for region, table, there in zip(regions, tables, present, strict=True):
        found = candidates(region, table.rows - table.made_up, known, there, most=left)
        if found is None:
            raise TableError(
                f"There are more than {MOST_CANDIDATES:,} pairs of somebody in the registry and a group that may hold "
                f"that person; this became clear in release '{table.name}'.",
                hint="take fewer releases, add columns to the registry that tell people apart, or leave it out: then "
                "groups are compared by their regions.",
            )
        fitting.append(found)
        left -= found.group.size
    return fitting


class _Values:
    """The sensitive values of all releases, and how often each group has each."""

    def __init__(self, tables: Sequence[Grouped]) -> None:
        self._tables = tables
        texts = [table.values.str.strip_chars().alias("text") for table in tables]
        distinct = sorted(pl.concat(texts).unique().to_list())
        self.names: tuple[object, ...] = tuple(distinct)
        self.magnitudes: Floats | None = None
        if all(map(_is_number, distinct)):
            distinct.sort(key=float)
            self.names = tuple(float(text) if "." in text else int(text) for text in distinct)
            self.magnitudes = np.array(self.names, dtype=np.float64)
        codes = np.arange(len(distinct))
        coded = pl.DataFrame({"text": distinct, "code": codes}, schema={"text": pl.String, "code": pl.Int64})
        self._codes = [
            pl.DataFrame({"text": text}).join(coded, on="text", how="left", maintain_order="left")["code"].to_numpy()
            for text in texts
        ]

    def release(
        self,
        at: int,
        members: Ints,
        sizes: Ints,
        *,
        sure: Bools | None = None,
        present: Ints | None = None,
        space: Regions | None = None,
        classes: Ints | None = None,
    ) -> PublishedGroups:
        """One release with these members, group after group."""
        table = self._tables[at]
        width = max(len(self.names), 1)
        keys, back = np.unique(table.group * width + self._codes[at], return_inverse=True)
        counts = np.bincount(back, weights=table.often, minlength=keys.size).astype(np.int64)
        order = np.argsort(table.of_row, kind="stable")
        return PublishedGroups(
            number=at + 1,
            members=members,
            member_starts=starts_of(sizes),
            values=keys % width,
            counts=counts,
            value_starts=np.searchsorted(keys // width, np.arange(table.count + 1)).astype(np.int64),
            region=table.shown,
            sure=sure,
            present=present,
            classes=classes,
            space=space,
            lines=order + FIRST_LINE if table.lines is None else table.lines[order],
            line_starts=starts_of(np.bincount(table.of_row, minlength=table.count)),
        )


def _is_number(text: str) -> bool:
    """Whether a text is a number, and no other text is the same number: what differs stays different."""
    return _NUMBER.fullmatch(text) is not None and text != "-0" and Decimal(repr(float(text))) == Decimal(text)


def value_doubts(tables: Sequence[Grouped], name: str) -> list[str]:
    """Whether a release has none of the values of the one before it: they may be called differently."""
    for one, other in pairwise(tables):
        first, second = ({*table.values.str.strip_chars().unique()} - {MISSING, None} for table in (one, other))
        if min(len(first), len(second)) > 1 and not first & second:
            return [
                f"no value of '{name}' in release '{one.name}' is in '{other.name}', the next: if the same are called "
                "differently there, all of them seem to have changed; write them in one way"
            ]
    return []


def value_notes(tables: Sequence[Grouped], name: str) -> list[str]:
    """Whether values are the same number in different writing."""
    texts = pl.concat([table.values.str.strip_chars().alias("text") for table in tables]).unique().drop_nulls()
    numbers = texts.cast(pl.Float64, strict=False).drop_nulls()
    again = numbers.len() - numbers.n_unique()
    if not again:
        return []
    values = count_of(again, "value")
    return [f"'{name}' has {values} more as text than as numbers: what is written differently is taken as different"]
