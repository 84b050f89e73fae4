"""What the guarantees about roles share: who stands where in a release, and which of their rules are broken.

A rule is broken in a group where it can be said in which, and else in the release as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending, places
from reissue.arrays.types import Bools, Ints
from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import Verdict
from reissue.model.published import Published, PublishedGroups
from reissue.model.roles import Roles

NOWHERE = -1
"""Stands for no group, no owner, no container and no value."""


def roles_of(guarantee: object, published: Published, secret: object) -> list[tuple[PublishedGroups, Roles]]:
    """The releases of a view, each with its roles."""
    owner = type(guarantee).__name__
    given: Mapping[object, object]
    if isinstance(secret, Roles) and len(published.releases) == 1:
        given = {published.releases[0].number: secret}
    elif isinstance(secret, Mapping) and all(isinstance(one, Roles) for one in secret.values()):
        given = secret
    else:
        got = "nothing" if secret is None else f"a {type(secret).__name__}"
        raise ParameterError(
            f"The 'secret' of {owner} must be the roles of the release, or a mapping from the number of each release "
            f"to its roles. Got {got} instead.",
            hint="roles are known to the private side only; LScarce judges what an outsider sees.",
        )
    found = [(release, given.get(release.number)) for release in published.releases]
    missing = sum(roles is None for _, roles in found)
    if missing:
        raise ParameterError(
            f"The 'secret' of {owner} must have the roles of every release: "
            f"those of {missing:,} of {count_of(len(found), 'release')} are missing."
        )
    return [(release, roles) for release, roles in found if isinstance(roles, Roles)]


class Membership:
    """Who is in which group of a release.

    Where regions overlap, people can be listed in several groups. Then somebody is in the group where he is `sure`;
    without that it cannot be said.
    """

    def __init__(self, release: PublishedGroups) -> None:
        group = release.member_groups
        real = release.members >= 0
        members, group = release.members[real], group[real]
        order = ascending(members)
        self._people, self._group = members[order], group[order]
        self._count = max(release.group_count, 1)
        self._listed: Ints | None = None
        if order.size < members.size:
            self._several(members, group, None if release.sure is None else release.sure[real])

    def _several(self, members: Ints, group: Ints, sure: Bools | None) -> None:
        self._listed = np.unique(members * self._count + group)
        who = self._listed // self._count
        often = np.diff(np.append(np.searchsorted(who, self._people), who.size))
        self._group = np.where(often == 1, self._group, NOWHERE)
        if sure is not None:
            certain = np.unique(members[sure] * self._count + group[sure])
            person, where = np.divmod(certain, self._count)
            at = places(self._people, person)
            alone = np.bincount(at, minlength=self._people.size)[at] == 1
            self._group[at[alone]] = where[alone]

    def group(self, people: Ints) -> Ints:
        """The group of each; `NOWHERE` for those who are in none, or not certainly in one of several."""
        return np.append(self._group, NOWHERE)[places(self._people, people)]

    def lists(self, people: Ints, group: Ints) -> Bools:
        """Whether the group at the same place has each person as a member."""
        if self._listed is None:
            found: Bools = (self.group(people) == group) & (group >= 0)
            return found
        return places(self._listed, people * self._count + group) >= 0


@dataclass(frozen=True)
class Instances:
    """The container instances of a release as arrays, and where they are."""

    number: Ints
    value: Ints
    """The position among the permanent values; `NOWHERE` where it is none of them."""
    cohort: Ints
    clique: Ints
    container: Ints
    owner: Ints
    """`NOWHERE` where there is none."""
    awake: Bools
    created: Ints
    group: Ints
    """The group that its container is in; `NOWHERE` where there is no such group."""

    @classmethod
    def of(cls, roles: Roles, groups: int) -> Instances:
        """Those of these roles, in a release with so many groups."""
        table = roles.instances
        value = table["value"].cast(pl.Enum(list(roles.permanent)), strict=False).to_physical()
        group = integers(table["group"])
        return cls(
            integers(table["instance"]),
            integers(value),
            integers(table["cohort"]),
            integers(table["clique"]),
            integers(table["container"]),
            integers(table["owner"]),
            table["awake"].to_numpy().astype(np.bool_),
            integers(table["created"]),
            np.where(group < groups, group, NOWHERE),
        )


def integers(column: pl.Series) -> Ints:
    """A column of numbers as an array; `NOWHERE` for nothing."""
    numbers = column.cast(pl.Int64)
    return (numbers.fill_null(NOWHERE) if numbers.null_count() else numbers).to_numpy()


class Breaches:
    """Which rules the groups of a release break, and how often."""

    def __init__(self, release: PublishedGroups) -> None:
        self.release = release
        self._in_groups: list[tuple[Ints, str, str]] = []
        self._whole: list[tuple[int, str]] = []

    def add(self, groups: Ints, one: str, many: str) -> None:
        """Note a breach for each entry, in its group or, at `NOWHERE`, in the release as a whole.

        `one` and `many` are the words after a number: `owner is absent`, `owners are absent`.
        """
        inside = groups[groups >= 0]
        if inside.size:
            self._in_groups.append((np.bincount(inside, minlength=self.release.group_count), one, many))
        self.add_whole(groups.size - inside.size, one, many)

    def add_whole(self, number: int, one: str, many: str) -> None:
        """Note so many breaches in the release as a whole."""
        if number:
            self._whole.append((number, count_of(number, one, many)))

    @property
    def figures(self) -> Ints:
        """How many breaches each group has."""
        none = np.zeros(self.release.group_count, dtype=np.int64)
        return sum((counts for counts, _, _ in self._in_groups), start=none)

    @property
    def whole(self) -> tuple[int, str]:
        """How many breaches the release has as a whole, and what they are."""
        return sum(number for number, _ in self._whole), "; ".join(words for _, words in self._whole)

    def words(self, group: int) -> str:
        """What is wrong with a group."""
        return "; ".join(
            count_of(int(counts[group]), one, many) for counts, one, many in self._in_groups if counts[group]
        )


class BreachTally:
    """Adds up breaches, release by release, to one verdict.

    The worst figure is the largest number of breaches in one group, or in one release as a whole; a release that
    breaks a rule as a whole counts as one violation.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._groups = self._broken = self._releases = 0
        self._worst_group: tuple[int, int, int, str] | None = None
        self._worst_release: tuple[int, int, str] | None = None

    def add(self, breaches: Breaches) -> None:
        """Take in a release."""
        self._groups += breaches.release.group_count
        number = breaches.release.number
        figures = breaches.figures
        broken = int(np.count_nonzero(figures))
        self._broken += broken
        if broken:
            at = int(np.argmax(figures))
            if self._worst_group is None or int(figures[at]) > self._worst_group[0]:
                self._worst_group = (int(figures[at]), number, at + 1, breaches.words(at))
        whole, words = breaches.whole
        if whole:
            self._releases += 1
            if self._worst_release is None or whole > self._worst_release[0]:
                self._worst_release = (whole, number, words)

    def verdict(self) -> Verdict:
        """What was found in all of them."""
        groups = count_of(self._groups, "group")
        found: list[tuple[int, int, int | None]] = []
        broken, told = [], []
        if self._worst_group is not None:
            figure, number, group, words = self._worst_group
            found.append((figure, number, group))
            broken.append(f"{self._broken:,} of {groups}")
            told.append(f"The worst, group {group:,} of release {number:,}: {words}.")
        if self._worst_release is not None:
            figure, number, words = self._worst_release
            found.append((figure, number, None))
            broken.append(f"{count_of(self._releases, 'release')} as a whole")
            told.append(f"Release {number:,} as a whole: {words}.")
        if not found:
            words = f"It holds in all of {groups}." if self._groups else "There are no groups to check."
            worst = 0.0 if self._groups else math.nan
            return Verdict(True, self._title, worst, None, None, 0, self._groups, words)
        worst, release, at = max(found, key=lambda one: one[0])
        explanation = " ".join([f"It is broken in {' and in '.join(broken)}.", *told])
        violations = self._broken + self._releases
        return Verdict(False, self._title, float(worst), release, at, violations, self._groups, explanation)


def awake_owners(breaches: Breaches, instances: Instances, present: Ints) -> None:
    """Every awake instance has an owner who is in the release, and every instance is of a permanent value."""
    homeless = instances.awake & ((instances.group < 0) | (instances.owner < 0))
    breaches.add_whole(
        int(np.count_nonzero(homeless)),
        "awake instance has no owner or no group",
        "awake instances have no owner or no group",
    )
    absent = instances.awake & (instances.owner >= 0) & (places(present, instances.owner) < 0)
    breaches.add(
        instances.group[absent], "owner of an awake instance is absent", "owners of awake instances are absent"
    )
    breaches.add_whole(
        int(np.count_nonzero(instances.value < 0)),
        "instance is of a value that is not permanent",
        "instances are of values that are not permanent",
    )
