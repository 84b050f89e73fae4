"""Foreign releases put together as an outsider's view: by name, by registry or by region."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import count_of
from reissue.foreign.matching import match
from reissue.foreign.registry import Registry
from reissue.foreign.tables import Grouped
from reissue.regions import Regions
from reissue.release import Published, PublishedGroups

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Unmatched = list[tuple[int, str, int]]

UNMATCHED = pl.Schema({"release": pl.Int64, "what": pl.String, "count": pl.Int64})

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
"""Numbers, but not codes that begin with 0."""


def by_name(tables: Sequence[Grouped], people: Registry | None) -> tuple[Published, Unmatched]:
    """The files say who is in which group."""
    columns = [table.people for table in tables if table.people is not None]
    registered = [] if people is None else [people.people]
    names = pl.concat([series.alias("name") for series in (*registered, *columns)]).unique(maintain_order=True)
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
        releases.append(values.release(at, numbers[order], np.bincount(table.group, minlength=table.count)))
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
    tables: Sequence[Grouped], regions: Sequence[Regions], people: Registry, known: Regions, present: Sequence[Bools]
) -> tuple[Published, Unmatched, list[str]]:
    """Who may be in which group is computed from the regions and what is known of people."""
    values = _Values(tables)
    registered = people.people.len()
    strangers = counterfeits = 0
    releases = []
    unmatched: Unmatched = []
    for at, table in enumerate(tables):
        matched = match(regions[at], table.rows - table.made_up, known, present[at])
        unmatched += [(at + 1, what, count) for what, count in matched.report]
        groups = np.arange(table.count)
        extra = np.repeat(groups, matched.unknown)
        # Strangers are like one another: it is no matter which of a group's are the certain ones.
        rank = np.arange(extra.size) - np.repeat(np.cumsum(matched.unknown) - matched.unknown, matched.unknown)
        made_up = np.repeat(groups, table.made_up)
        member = np.concatenate(
            [
                matched.person,
                registered + strangers + np.arange(extra.size),
                -(counterfeits + 1 + np.arange(made_up.size)),
            ]
        )
        group = np.concatenate([matched.group, extra, made_up])
        sure = np.concatenate([matched.sure, rank < matched.unknown_sure[extra], np.ones(made_up.size, dtype=np.bool_)])
        strangers, counterfeits = strangers + extra.size, counterfeits + made_up.size
        order = np.lexsort((member, group))
        certain = bool(sure.all())
        releases.append(
            values.release(
                at,
                member[order],
                np.bincount(group, minlength=table.count),
                sure=None if certain else sure[order],
                present=None if certain else matched.present,
            )
        )
    names = people.people.to_list()
    names += _unknown(strangers, set(names))
    notes = ["everybody in the releases is taken to be in the registry"]
    if strangers:
        unknown = count_of(strangers, "unknown person", "unknown people")
        notes = [
            f"the registry does not account for all rows: {unknown} may be in the groups concerned; elsewhere "
            "everybody is taken to be in the registry"
        ]
    return Published(tuple(releases), values.names, values.magnitudes, True, tuple(names)), unmatched, notes


def _unknown(count: int, taken: set[str]) -> list[str]:
    """Names for people who are not registered."""

    def fresh() -> Iterator[str]:
        number = 0
        while True:
            number += 1
            if f"unknown {number}" not in taken:
                yield f"unknown {number}"

    return [name for name, _ in zip(fresh(), range(count), strict=False)]


class _Values:
    """The sensitive values of all releases, and how often each group has each."""

    def __init__(self, tables: Sequence[Grouped]) -> None:
        self._tables = tables
        texts = [table.values.str.strip_chars().alias("text") for table in tables]
        distinct = pl.concat(texts).unique().to_list()
        if all(_NUMBER.fullmatch(text) for text in distinct):
            number = {text: _as_number(text) for text in distinct}
            self.names: tuple[object, ...] = tuple(sorted(set(number.values())))
            self.magnitudes: npt.NDArray[np.float64] | None = np.array(self.names, dtype=np.float64)
            place = {value: at for at, value in enumerate(self.names)}
            codes = [place[number[text]] for text in distinct]
        else:
            self.names, self.magnitudes = tuple(sorted(distinct)), None
            spot = {text: at for at, text in enumerate(sorted(distinct))}
            codes = [spot[text] for text in distinct]
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
    ) -> PublishedGroups:
        """One release with these members, group after group."""
        table = self._tables[at]
        width = max(len(self.names), 1)
        keys, back = np.unique(table.group * width + self._codes[at], return_inverse=True)
        counts = np.bincount(back, weights=table.often, minlength=keys.size).astype(np.int64)
        return PublishedGroups(
            number=at + 1,
            members=members,
            member_starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            values=keys % width,
            counts=counts,
            value_starts=np.searchsorted(keys // width, np.arange(table.count + 1)).astype(np.int64),
            region=table.shown,
            sure=sure,
            present=present,
            space=space,
        )


def _as_number(text: str) -> int | float:
    value = float(text)
    return int(text) if text.lstrip("-").isdecimal() else int(value) if value.is_integer() else value
