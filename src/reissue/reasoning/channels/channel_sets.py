"""Inference-enabling sets between the classes of two releases (Byun, Sohn, Bertino & Li 2006, Figure 6).

    e_i, e_j            classes (groups) of an earlier and a later release
    compatible          they share members; where members are not known, somebody may be in both: their regions meet,
                        or the same people are listed as possible members
    delta(T_i, T_j)     who is in both has a value that both classes publish
    delta(not T_i, T_j) who is new in e_j has a value of (union of D minus union of O) and of e_j, as multisets, where D
                        are classes of T_j, e_j among them, and O those of T_i whose people are all in D

The paper takes for D the classes compatible with one e_i, of which it allows two. Here D is e_j alone, all classes
compatible with one e_i, or all that hang together; the smallest set counts. Where members are known, O is known; else
everybody of e_i is still there in a class compatible with e_i, provided that nobody left (`growing`).

Differs from the paper: that e_i lies inside of e_j is not enough for its people to be in e_j, for a class beside e_j
may lie over the same place; all compatible classes must be in D. And the argument is turned round too: who left
has a value that the classes of T_i lost, where members are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.narrow import NEVER, Narrow
from reissue.arrays.runs import totals
from reissue.arrays.types import Ints
from reissue.kernels.newcomers import COMPONENT, ITSELF, newcomer_sets, shared_values
from reissue.model.memberships import NOWHERE, Memberships
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history.overlaps import overlaps_between


@dataclass(frozen=True, repr=False)
class Newcomers:
    """What people can have who are in a class of one release and in none of the other, for each class.

    All comparisons of a series are kept at once, so that numbers are narrow.
    """

    distinct: Narrow = Narrow()
    """How many values; `NEVER` where nobody can be new."""
    why: Narrow = Narrow()
    """Which classes were put together for it, see `kernels.newcomers`."""
    amounts: Narrow = Narrow()
    """For each value of each class how many newcomers can have it."""
    people: Narrow = Narrow()
    """How many people are certainly new, as far as they are known by number."""
    least: Narrow = Narrow()
    most: Narrow = Narrow()
    """How many people it is about, at least and at most."""

    def __repr__(self) -> str:
        return f"Newcomers(in {int(np.count_nonzero(self.distinct < NEVER)):,} classes)"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two releases, compared class by class. Classes are counted from 0."""

    earlier: int
    later: int
    """The positions of the releases in the series."""
    new: Newcomers | None
    """People of the later release who are not in the earlier one; None where nothing can be said about them."""
    gone: Newcomers | None
    """People of the earlier release who are not in the later one."""
    first: Narrow = Narrow()
    second: Narrow = Narrow()
    """Compatible classes of the earlier and of the later one, ascending."""
    distinct: Narrow = Narrow()
    """How many values both have."""
    least: Narrow = Narrow()
    most: Narrow = Narrow()
    """How many people are in both, at least and at most."""
    weight: Narrow = Narrow()
    """How much each pair weighs: the members shared, or 1 where they are not known."""
    totals: Narrow = Narrow()
    their_totals: Narrow = Narrow()
    """What the pairs of a class of the earlier and of the later release must weigh for all its people to be inside."""

    def __repr__(self) -> str:
        return f"Comparison({self.first.size:,} pairs of compatible classes)"

    def put_together(self, kind: str, group: int) -> tuple[list[int], list[int]]:
        """The classes D that were put together for the newcomers of a class, and the classes O taken away."""
        found, turned = (self.new, False) if kind == "new" else (self.gone, True)
        mine, theirs = (self.first, self.second) if turned else (self.second, self.first)
        totals = self.their_totals if turned else self.totals
        why = ITSELF if found is None else int(found.why[group])
        together = np.array([group])
        if why >= 0:
            together = mine[theirs == why]
        while why == COMPONENT:
            wider = np.unique(mine[np.isin(theirs, theirs[np.isin(mine, together)])])
            if wider.size == together.size:
                break
            together = wider
        inside = np.isin(mine, together)
        others = np.unique(theirs[inside])
        weights = np.bincount(theirs[inside], self.weight[inside], totals.size).astype(np.int64)
        return together.tolist(), others[weights[others] == totals[others]].tolist()


@dataclass(frozen=True, repr=False)
class _Links:
    """Compatible classes from both sides, with weights, and what they must add up to for all people to be inside."""

    first: Ints
    second: Ints
    weight: Ints
    totals: Ints
    """For the classes of the first side; `NEVER` where it cannot be known."""
    their_totals: Ints

    def turned(self) -> _Links:
        order = np.argsort(self.second, kind="stable")  # so that the first stay ascending
        return _Links(self.second[order], self.first[order], self.weight[order], self.their_totals, self.totals)


def known_members(release: PublishedGroups) -> bool:
    """Whether it is known who is in each class of a release."""
    return release.sure is None and release.space is None


def comparable(earlier: PublishedGroups, later: PublishedGroups) -> bool:
    """Whether classes can be compared: both by their regions, or both by their members."""
    return (earlier.space is None) == (later.space is None)


def compare(published: Published, earlier: int, later: int, growing: bool) -> Comparison:
    """All inference-enabling sets between two comparable releases, by their positions in the series.

    `growing` matters only where members are not known: nobody of the earlier release has left.
    """
    one, two = published.releases[earlier], published.releases[later]
    exact = known_members(one) and known_members(two)
    links = _exact_links(published, earlier, later) if exact else _possible_links(published, earlier, later, growing)
    turned, pairs, values = links.turned(), links.first.size, len(published.values)
    distinct, amount = np.zeros(pairs, dtype=np.int64), np.zeros(pairs, dtype=np.int64)
    _shared(links, one, two, values, distinct, amount)
    new: Newcomers | None = None
    gone: Newcomers | None = None
    if exact:
        least = most = links.weight - _made_up_in_both(published.index, earlier, later, links)
        new = _newcomers(turned, links, two, one, values, _real_without(published.index, later, earlier))
        gone = _newcomers(links, turned, one, two, values, _real_without(published.index, earlier, later))
    else:
        least, most = np.zeros(pairs, dtype=np.int64), amount
    if growing and not exact:
        # Those of e_i are in e_j for whom there is no room in the other classes; those of e_j are new for whom
        # there was none.
        room = np.bincount(links.first, amount, one.group_count).astype(np.int64)[links.first] - amount
        least = np.clip(one.rows[links.first] - room, 0, amount)
        before = np.bincount(links.second, amount, two.group_count).astype(np.int64)
        new = _newcomers(turned, links, two, one, values, None, np.maximum(two.rows - before, 0))
    return Comparison(
        earlier, later, new, gone, links.first, links.second, distinct, least, most,
        links.weight, links.totals, links.their_totals,
    )  # fmt: skip


def shared_amounts(published: Published, compared: Comparison, below: int) -> Ints:
    """For each value of each class of the later release how many may have it for whom it is one of few.

    Few are fewer than `below`, by comparison of two compatible classes.
    """
    one, two = published.releases[compared.earlier], published.releases[compared.later]
    links = _Links(compared.first, compared.second, compared.most, compared.most, compared.most)
    exposed = np.zeros(two.values.size, dtype=np.int64)
    nothing = np.zeros((2, compared.first.size), dtype=np.int64)
    _shared(links, one, two, len(published.values), nothing[0], nothing[1], exposed, below)
    return exposed


def _exact_links(published: Published, earlier: int, later: int) -> _Links:
    found, releases = overlaps_between(published, earlier, later), published.releases
    return _Links(found.first, found.second, found.shared, releases[earlier].sizes, releases[later].sizes)


def _possible_links(published: Published, earlier: int, later: int, growing: bool) -> _Links:
    """Classes that may share people; somebody stays inside if all classes that may hold them are."""
    one, two = published.releases[earlier], published.releases[later]
    if one.space is not None and two.space is not None:
        first, second = one.space.meets(two.space)
    else:
        found = overlaps_between(published, earlier, later)
        first, second = found.first, found.second
    never = np.full(two.group_count, NEVER, dtype=np.int64)
    totals = np.bincount(first, minlength=one.group_count) if growing else np.full(one.group_count, NEVER)
    return _Links(first, second, np.ones(first.size, dtype=np.int64), totals.astype(np.int64), never)


def _shared(
    links: _Links,
    one: PublishedGroups,
    two: PublishedGroups,
    value_count: int,
    distinct: Ints,
    amount: Ints,
    exposed: Ints | None = None,
    below: int = 0,
) -> None:
    shared_values(
        links.first,
        links.second,
        one.values,
        one.counts,
        one.value_starts,
        two.values,
        two.counts,
        two.value_starts,
        value_count,
        distinct,
        amount,
        np.zeros(0, dtype=np.int64) if exposed is None else exposed,
        below,
    )


def _newcomers(
    mine: _Links,
    theirs: _Links,
    into: PublishedGroups,
    other: PublishedGroups,
    value_count: int,
    people: Ints | None,
    surely: Ints | None = None,
) -> Newcomers:
    """Those of `into`; its classes come first in `mine` and second in `theirs`.

    `people` counts them for each class where they are known; else `surely` says how many there are at least.
    """
    wanted = np.ones(into.group_count, dtype=bool)
    distinct = np.full(into.group_count, NEVER, dtype=np.int64)
    why, amounts = np.zeros(into.group_count, dtype=np.int64), np.zeros(into.values.size, dtype=np.int64)
    if people is not None:
        wanted = people > 0
    newcomer_sets(
        into.values,
        into.counts,
        into.value_starts,
        other.values,
        other.counts,
        other.value_starts,
        mine.second,
        mine.weight,
        _starts(mine.first, into.group_count),
        theirs.second,
        theirs.weight,
        _starts(theirs.first, other.group_count),
        theirs.totals,
        wanted,
        value_count,
        distinct,
        why,
        amounts,
    )
    known = np.zeros(into.group_count, dtype=np.int64) if people is None else people
    if people is not None:
        return Newcomers(distinct, why, amounts, known, known, known)
    most = totals(amounts, into.value_starts)
    # A set without values says that nobody is new there.
    distinct = np.where(distinct == 0, NEVER, distinct)
    least = np.zeros(into.group_count, dtype=np.int64) if surely is None else np.minimum(surely, most)
    return Newcomers(distinct, why, amounts, known, least, most)


def _starts(ascending: Ints, count: int) -> Ints:
    return np.searchsorted(ascending, np.arange(count + 1)).astype(np.int64)


def _real_without(where: Memberships, one: int, other: int) -> Ints:
    """For each class of a release, by position, how many real people are in it and not in the other release."""
    who = where.member[where.entries(one)]
    absent = (who >= where.made_up) & (where.place[other, who] == NOWHERE)
    return totals(absent, where.releases[one].member_starts)


def _made_up_in_both(where: Memberships, earlier: int, later: int, links: _Links) -> Ints:
    """For each pair of classes how many counterfeits they share."""
    first, second = where.place[[earlier, later], : where.made_up].astype(np.int64)
    both = (first != NOWHERE) & (second != NOWHERE)
    width = where.releases[later].group_count
    pairs = links.first * width + links.second
    return np.bincount(np.searchsorted(pairs, first[both] * width + second[both]), minlength=pairs.size)
