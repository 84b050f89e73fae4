"""Published: what an outsider sees of a series, at their worst.

Guarantees and attacks read nothing else. It speaks in person numbers that only the private side of a
series can resolve, and it says who is in which group, because the papers' adversary knows the
quasi-identifiers of everybody and can work that out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.arrays.runs import owners, totals
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError

if TYPE_CHECKING:
    from reissue.model.memberships import Memberships
    from reissue.model.records import ValueColumn
    from reissue.model.regions import Regions
    from reissue.model.sets import PublishedSets


@dataclass(frozen=True, repr=False)
class PublishedGroups:
    """One release: groups of people and, for each group, how often each value was published.

    Both tables are stored group after group: the members of group g are
    `members[member_starts[g]:member_starts[g + 1]]`, its values and their counts likewise.
    """

    number: int
    """The number of the release, counted from 1."""
    members: Ints
    """Person numbers, group after group; a counterfeit has a negative number."""
    member_starts: Ints
    """Where each group begins in `members`; one entry more than there are groups."""
    values: Ints
    """Positions in `Published.values`, group after group, each at most once in a group."""
    counts: Ints
    """How often the value at the same place was published in its group, at least once."""
    value_starts: Ints
    """Where each group begins in `values` and `counts`."""
    region: pl.DataFrame | None = None
    """One row for each group: the quasi-identifiers as published. None where there are none."""
    sure: Bools | None = None
    """Which entries of `members` are certainly in their group. The others may be in it: they can be listed in
    several groups of the release, and may be absent from it altogether. None: all are certain."""
    present: Ints | None = None
    """Those of the uncertain who are certainly in one of the groups that list them, ascending."""
    classes: Ints | None = None
    """For each entry of `members` the number of its class: equal numbers, equal quasi-identifiers. People of one class
    cannot be told apart. A counterfeit's number is below 0. None where it is not known."""
    quasi: pl.DataFrame | None = None
    """One row for each entry of `members`: their exact quasi-identifiers, as whoever knows these people has them; all
    missing for a counterfeit. None where the view was made without."""
    space: Regions | None = None
    """The regions in a form in which they can be compared, where it is not known who the members are."""
    lines: Ints | None = None
    """The lines of the release's file that each group comes from, group after group, ascending within each. The header
    is line 1 and every row is one line. None where there is no file."""
    line_starts: Ints | None = None
    """Where each group begins in `lines`; one entry more than there are groups."""

    @property
    def group_count(self) -> int:
        """How many groups the release has."""
        return self.member_starts.size - 1

    @property
    def sizes(self) -> Ints:
        """How many members each group has, or may have where some are not certain."""
        return np.diff(self.member_starts)

    @property
    def rows(self) -> Ints:
        """How many values each group publishes."""
        return totals(self.counts, self.value_starts)

    @property
    def member_groups(self) -> Ints:
        """For each entry of `members` its group, counted from 0."""
        return owners(self.sizes)

    @property
    def value_groups(self) -> Ints:
        """For each entry of `values` its group, counted from 0."""
        return owners(np.diff(self.value_starts))

    def members_of(self, group: int) -> Ints:
        """The members of a group, counted from 0."""
        return self.members[self.member_starts[group] : self.member_starts[group + 1]]

    def values_of(self, group: int) -> tuple[Ints, Ints]:
        """The values of a group, counted from 0, and how often each was published."""
        entries = slice(int(self.value_starts[group]), int(self.value_starts[group + 1]))
        return self.values[entries], self.counts[entries]

    def lines_of(self, group: int) -> Ints | None:
        """The lines of the file that a group, counted from 0, comes from; None where there is no file."""
        if self.lines is None or self.line_starts is None:
            return None
        return self.lines[self.line_starts[group] : self.line_starts[group + 1]]

    def __repr__(self) -> str:
        return f"PublishedGroups(release {self.number}: {self.members.size:,} rows, {self.group_count:,} groups)"


@dataclass(frozen=True, repr=False)
class Published:
    """The outsider's view of a whole series."""

    releases: Sequence[PublishedGroups]
    """The releases. One of sets stands here as groups of a person and counterfeits, made when it is asked for."""
    values: tuple[object, ...]
    """The sensitive values, in their order: numbers ascending, labels as declared or alphabetical."""
    magnitudes: Floats | None = None
    """The values as numbers, where the sensitive column is numeric."""
    single: bool = True
    """Each present member has exactly one value, so a group holds as many values as members."""
    people: tuple[str, ...] | None = field(default=None)
    """Names for the person numbers, where the view was built from names."""
    sets: tuple[PublishedSets, ...] = ()
    """The releases that publish a set of values for everybody, one of them true."""
    columns: tuple[ValueColumn, ...] = ()
    """Where several columns are sensitive, and values are records of them: which value of each column a record has."""

    def __post_init__(self) -> None:
        if not self.single or self.sets:
            return
        for release in self.releases:
            held = release.rows
            if release.sure is None:
                unequal = int(np.count_nonzero(held != release.sizes))
                what = "publish a different number of values than they have members"
            else:
                certain = totals(release.sure, release.member_starts)
                unequal = int(np.count_nonzero((held > release.sizes) | (held < certain)))
                what = "publish more values than may be their members, or fewer than are"
            if unequal:
                raise ParameterError(
                    f"Release {release.number}: {unequal} of {release.group_count} groups {what}.",
                    hint="pass single=False if a member may have several values or none.",
                )

    @property
    def plain(self) -> Sequence[PublishedGroups]:
        """The releases of groups: all but those of sets, which stand among `releases` as groups only if asked for."""
        plain: Sequence[PublishedGroups] = getattr(self.releases, "plain", self.releases)
        return plain

    @property
    def exact(self) -> bool:
        """Whether it is known for every row of every release who it is among the members of its group."""
        return all(release.sure is None and release.space is None for release in self.plain)

    @cached_property
    def index(self) -> Memberships:
        """Who is in which groups, worked out once for everybody who asks."""
        from reissue.model.memberships import Memberships  # loads compiled code, which most views never need

        return Memberships(tuple(self.releases))

    @cached_property
    def shared(self) -> dict[str, Any]:
        """What a checker has worked out of the view and the next may need as well, until all have been asked.

        Nobody writes to it but checkers: who made the releases has no part in it.
        """
        return {}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The person number of each name; empty where the view was not built from names."""
        return {name: number for number, name in enumerate(self.people or ())}

    def number(self, person: str | int) -> int:
        """The number of somebody who is called so in the view; -1 where it knows no such person."""
        if self.people is not None:
            return self.numbers.get(person, -1) if isinstance(person, str) else -1
        return person if isinstance(person, int) else -1

    def has(self, people: Ints) -> Bools:
        """Which of these people, by number, are in some release."""
        if not self.sets:
            return np.asarray((self.index.places(people) >= 0) & (people >= 0))
        found = np.zeros(people.size, dtype=np.bool_)
        for one in self.sets:
            found |= np.isin(people, one.people)
        for release in self.plain:
            found |= np.isin(people, release.members)
        return found & (people >= 0)

    def name(self, person: int) -> str | int:
        """The name of a person, or the number where the view was not built from names."""
        return person if self.people is None else self.people[person]

    def __repr__(self) -> str:
        return f"Published({len(self.releases)} releases, {len(self.values)} distinct sensitive values)"

    @classmethod
    def from_groups(
        cls,
        releases: Sequence[Sequence[tuple[Sequence[str], Sequence[object]]]],
        *,
        single: bool = True,
        registry: Mapping[str, Hashable] | None = None,
        certain: bool = True,
    ) -> Published:
        """Build the view from nested lists: releases, groups, (members, values). None and NaN are a missing value.

        `registry` says what the quasi-identifiers of each person are, where that is known. With `certain=False` the
        members are those whom a registry puts there: nobody knows who of them is in the release.

        >>> Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])]])
        Published(1 releases, 2 distinct sensitive values)
        """
        people: dict[str, int] = {}
        _examine(releases)
        numbers = _classes(releases, registry)
        releases = [[(who, [_plain(value) for value in values]) for who, values in release] for release in releases]
        names = sorted({value for release in releases for _, values in release for value in values}, key=_order)
        code = {value: position for position, value in enumerate(names)}
        built = []
        for number, release in enumerate(releases, start=1):
            members: list[int] = []
            member_starts, value_starts = [0], [0]
            codes: list[int] = []
            counts: list[int] = []
            for who, values in release:
                members.extend(people.setdefault(person, len(people)) for person in who)
                member_starts.append(len(members))
                held, often = np.unique([code[value] for value in values], return_counts=True)
                codes.extend(held.tolist())
                counts.extend(often.tolist())
                value_starts.append(len(codes))
            built.append(
                PublishedGroups(
                    number=number,
                    members=np.array(members, dtype=np.int64),
                    member_starts=np.array(member_starts, dtype=np.int64),
                    values=np.array(codes, dtype=np.int64),
                    counts=np.array(counts, dtype=np.int64),
                    value_starts=np.array(value_starts, dtype=np.int64),
                    sure=None if certain else np.zeros(len(members), dtype=np.bool_),
                    classes=None
                    if numbers is None
                    else np.array([numbers[person] for who, _ in release for person in who], dtype=np.int64),
                )
            )
        magnitudes = None
        if names and all(isinstance(value, int | float) and not isinstance(value, bool) for value in names):
            magnitudes = np.array(names, dtype=np.float64)
        return cls(tuple(built), tuple(names), magnitudes, single, tuple(people))


def _examine(releases: object) -> None:
    """Refuse lists that are not nested as they should be."""

    def listed(thing: object) -> bool:
        return isinstance(thing, Sequence) and not isinstance(thing, str)

    def shaped(release: Any) -> bool:
        pairs = listed(release) and all(listed(group) and len(group) == 2 for group in release)
        return pairs and all(listed(part) for group in release for part in group)

    every: Any = releases if listed(releases) else [None]
    problems = [
        f"Release {number}: a group is a pair of lists, (members, values)."
        for number, release in enumerate(every, start=1)
        if not shaped(release)
    ]
    if problems:
        raise ParameterError(
            "These are not releases as nested lists.",
            problems=problems,
            hint='a series of one release with one group: [[(["Alice", "Bob"], ["cancer", "flu"])]]',
        )


def need_order(release: PublishedGroups, last: int) -> None:
    """Refuse a release that does not come after the last one."""
    if release.number <= last:
        raise ParameterError(f"Release {release.number} cannot follow release {last}: a series is judged in its order.")


def _classes(releases: Sequence[Any], registry: Mapping[str, Hashable] | None) -> dict[str, int] | None:
    """The number of everybody's class; None without a registry, which must know everybody."""
    if registry is None:
        return None
    everybody = {person for release in releases for who, _ in release for person in who}
    unknown = len(everybody - registry.keys())
    if unknown:
        raise ParameterError(
            "The 'registry' parameter of from_groups must have everybody: "
            f"{unknown:,} of {len(everybody):,} people are not in it."
        )
    numbers: dict[Hashable, int] = {}
    return {person: numbers.setdefault(quasi, len(numbers)) for person, quasi in registry.items()}


def _plain(value: object) -> object:
    """Missing numbers are all the same, though they are not equal to themselves."""
    return None if isinstance(value, float) and value != value else value


def _order(value: object) -> tuple[int, float, str]:
    """Numbers ascending before labels in alphabetical order."""
    if isinstance(value, int | float):
        return (0, float(value), "")
    return (1, 0.0, str(value))
