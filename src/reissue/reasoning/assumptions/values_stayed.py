"""Values stay: whether any assignment of one value to everybody agrees with all releases, as far as that is seen.

Where it is known who is where: somebody whose groups have no value in common, or a part of the series in which flows
in the groups leave no way to give everybody a value (`reasoning.worlds.possible`). Where candidates are known only:
somebody certainly in two groups without a common value, or a part that shows more values, each as often as the release
that has it most often, than there are people for it. To see all contradictions is NP-hard: what is not seen may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.budget import moment, passed, spend
from reissue.arrays.types import Bools, Ints
from reissue.model.memberships import NOWHERE
from reissue.model.published import Published
from reissue.reasoning.assumptions.nobody_left import value_pairs
from reissue.reasoning.history.trajectories import Trajectories
from reissue.reasoning.worlds.candidates import candidates
from reissue.reasoning.worlds.possible import possible
from reissue.reasoning.worlds.residual import only
from reissue.reasoning.worlds.symmetry import Symmetry, symmetry

MEMBER = 1.0
"""How many steps it takes for each member of each group."""


@dataclass(frozen=True)
class Agreed:
    """What contradicts that values stay."""

    people: int = 0
    """People whose groups have no value in common."""
    parts: int = 0
    """Parts of the series in which there is no way to give everybody one value."""
    complete: bool = True
    """Whether everything was looked at that is looked at here."""


def agreed_exactly(published: Published, deadline: float | None) -> Agreed:
    """Test a view in which it is known who is in which group, and everybody has one value."""
    left = candidates(published).contradictory.size
    spend(published.index.member.size * MEMBER)
    if left:
        return Agreed(people=int(left))
    parts = symmetry(published)
    # Where all values of a part are published alike nothing is concluded but that they are equally likely.
    open_parts = np.unique(parts.part[~(_alone(published, parts) | parts.whole[parts.part])])
    found = _contradicts(published, parts, open_parts, deadline)
    if found is None:
        return Agreed(complete=False)
    if not found:
        return Agreed()
    broken, suspected = 0, [open_parts]
    while suspected:
        some = suspected.pop()
        if some.size == 1 or passed(deadline, MEMBER):
            broken += 1
            continue
        halves = [half for half in np.array_split(some, 2) if _contradicts(published, parts, half, deadline)]
        suspected += halves
        # Together they contradict themselves, so one of them does: if no half is seen to, both are one.
        broken += not halves
    return Agreed(parts=broken)


def _alone(published: Published, parts: Symmetry) -> Bools:
    """The groups of parts that have groups of one release only: nothing there can contradict anything."""
    where = published.index
    first = np.full(parts.part_count, len(published.releases), dtype=np.int64)
    last = np.full(parts.part_count, -1, dtype=np.int64)
    np.minimum.at(first, parts.part, where.position)
    np.maximum.at(last, parts.part, where.position)
    single: Bools = (first == last)[parts.part]
    return single


def _contradicts(published: Published, parts: Symmetry, which: Ints, deadline: float | None) -> bool | None:
    """Whether it is proven that some parts contradict themselves; None where there was no time for it."""
    if not which.size:
        return False
    if passed(deadline, MEMBER * published.index.member.size * 0.1):
        return None
    ways = Trajectories.of(only(published, np.isin(parts.part, which)))
    left = None if deadline is None else max(0.5 * (deadline - moment()), 0.1)
    found = possible(ways, seconds=left)
    if found.contradictory:
        return True
    return False if found.complete else None


def agreed_by_candidates(published: Published, deadline: float | None) -> Agreed:
    """Test a view in which it is known who may be in which group."""
    spend(published.index.member.size * MEMBER)
    people = _certain_without_value(published, deadline)
    parts = symmetry(published)
    width = max(len(published.values), 1)
    keys, often = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for at, release in enumerate(published.releases):
        groups = slice(*published.index.bounds[at : at + 2])
        key, back = np.unique(parts.part[groups][release.value_groups] * width + release.values, return_inverse=True)
        keys.append(key)
        often.append(np.bincount(back, release.counts, minlength=key.size).astype(np.int64))
    key, count = np.concatenate(keys), np.concatenate(often)
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    most = np.maximum.reduceat(count[order], first) if first.size else count
    wanted = np.bincount(key[order][first] // width, most, minlength=parts.part_count)
    # Counterfeits are among the members, and each of them takes a row.
    there = np.bincount(parts.part[parts.last], minlength=parts.part_count)
    return Agreed(people=people, parts=int(np.count_nonzero(wanted > there)))


def _certain_without_value(published: Published, deadline: float | None) -> int:
    """How many are certainly in groups of two releases, next to each other for them, that share no value."""
    where, width = published.index, len(published.values)
    last = np.full(where.people.size, NOWHERE, dtype=np.int64)
    release_of = np.full(where.people.size, NOWHERE, dtype=np.int64)
    wrong = np.zeros(where.people.size, dtype=np.bool_)
    for at, release in enumerate(published.releases):
        sure = np.ones(release.members.size, dtype=np.bool_) if release.sure is None else release.sure
        who, group = where.member[where.entries(at)][sure], release.member_groups[sure]
        for before in np.unique(release_of[who][release_of[who] >= 0]).tolist():
            if passed(deadline, MEMBER * who.size):
                break
            here = np.flatnonzero(release_of[who] == before)
            one, many = published.releases[before], max(release.group_count, 1)
            pairs, back = np.unique(last[who[here]] * many + group[here], return_inverse=True)
            first, second = pairs // many, pairs % many
            entries = value_pairs(one, release, first, second, width)
            if entries is None:
                continue
            shared = np.unique(one.value_groups[entries[0]] * many + release.value_groups[entries[1]])
            wrong[who[here[~np.isin(pairs, shared)[back]]]] = True
        last[who], release_of[who] = group, at
    return int(np.count_nonzero(wrong[where.made_up :]))
