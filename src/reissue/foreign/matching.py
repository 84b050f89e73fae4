"""Who may be in which group of a release, and who certainly is.

A person may be in every group whose region holds what is known of him, and is in one of them at most. From there:
who is known to be in the release and fits one group only is in it; a group that is full has nobody else in it; a
group with as many candidates as rows has all of them. This is repeated until nothing more follows.

The last argument takes the registry for complete: every row is that of somebody registered. Where groups have more
rows than candidates, together or alone, it is not, and nothing may be concluded like this, in no release at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.model.regions import Regions

Report = tuple[tuple[str, int], ...]

ROUNDS = 100
"""Conclusions are drawn so often at most; to stop earlier leaves people uncertain who could be certain."""


@dataclass(frozen=True, repr=False)
class GroupCandidates:
    """Who fits the groups of one release by what is known of him."""

    group: Ints
    person: Ints
    """Pairs of a group and somebody who may be in it, in order."""
    rows: Ints
    """How many rows each group has."""
    people: int
    """How many people are registered."""
    lacking: int
    """How many rows stay without anybody, however people are placed: then the registry is not complete."""
    short: int
    """How many groups have too few candidates for their rows, alone or together with others."""
    report: Report
    """What did not fit, and how often."""


@dataclass(frozen=True, repr=False)
class Matched:
    """The members of the groups of one release, if everybody in it is registered."""

    group: Ints
    person: Ints
    """Pairs of a group and somebody who may be in it, in order."""
    sure: Bools
    """Which of them certainly are."""
    present: Ints
    """Who else is certainly in the release, ascending."""
    report: Report
    """What did not fit, and how often."""
    misplaced: int
    """How many are said to be in the release, and have no place there, however people are placed; or if everybody has
    one, how many of them leave groups without the people that they need."""


def candidates(regions: Regions, rows: Ints, people: Regions, known: Bools, *, most: int) -> GroupCandidates | None:
    """Find candidates for groups that have so many rows each; None if there are more pairs than `most`.

    `known` says who is known to be in the release; here that is only compared.
    """
    found = regions.holds_at_most(people, most)
    if found is None:
        return None
    group, person = found
    fits = np.bincount(person, minlength=people.count) > 0
    short, lacking = _short_of_people(group, person, rows, people.count)
    report = [
        ("people of the registry who fit no group", int(np.count_nonzero(~fits))),
        ("people known to be in the release who fit no group", int(np.count_nonzero(known & ~fits))),
        ("groups with fewer candidates than rows, alone or together", int(np.count_nonzero(short))),
        ("rows that nobody in the registry accounts for", lacking),
    ]
    told, few = tuple(one for one in report if one[1]), int(np.count_nonzero(short))
    return GroupCandidates(group, person, rows, people.count, lacking, few, told)


def match(found: GroupCandidates, known: Bools) -> Matched:
    """Conclude who is in which group; `known` says who is known to be in the release. Nobody may be lacking."""
    group, person, rows = found.group, found.person, found.rows
    fits = np.bincount(person, minlength=found.people) > 0
    report = list(found.report)
    said = int(np.count_nonzero(known))
    crowded_out = int(np.count_nonzero(known & ~fits)) + _crowded_out(group, person, rows, known & fits)
    known = known & fits
    alive, sure, crowded = _settled(group, person, rows, known)
    while crowded.any():
        # More people are known to be in a group than it has rows. Whose presence is wrong cannot be told.
        out = alive & sure & crowded[group]
        report.append(("groups with fewer rows than people known to be in them", int(np.count_nonzero(crowded))))
        report.append(("people whose presence was not taken for certain", int(np.count_nonzero(out))))
        known[person[out]] = False
        alive, sure, crowded = _settled(group, person, rows, known)
    if _contradicts(group[alive], person[alive], sure[alive], rows):
        report.append(("people whose presence was not taken for certain", int(np.count_nonzero(known))))
        known[:] = False
        alive, sure, _ = _settled(group, person, rows, known)
    placed = np.bincount(person[alive], minlength=found.people) > 0
    report.append(
        ("people known to be in the release for whom no place is left", int(np.count_nonzero(known & ~placed)))
    )
    group, person, sure = group[alive], person[alive], sure[alive]
    settled = np.zeros(found.people, dtype=np.bool_)
    settled[person[sure]] = True
    misplaced = crowded_out or said - int(np.count_nonzero(known & placed))
    return Matched(group, person, sure, np.flatnonzero(known & placed & ~settled), _summed(report), misplaced)


def _crowded_out(group: Ints, person: Ints, rows: Ints, known: Bools) -> int:
    """How many who are said to be in the release find no place, however they are placed: by a maximum flow."""
    mine = known[person]
    group, person = group[mine], person[mine]
    wanted = np.bincount(group, minlength=rows.size)
    # Whoever may be in a group that has room for all who may be in it has a place.
    easy = np.zeros(known.size, dtype=np.bool_)
    easy[person[(wanted <= rows)[group]]] = True
    left = ~easy[person]
    group, person = group[left], person[left]
    if not group.size:
        return 0
    import igraph

    one, other, many = _kinds(group, person)
    groups, one = np.unique(one, return_inverse=True)
    source, sink = groups.size + many.size, groups.size + many.size + 1
    edges = np.concatenate(
        [
            np.column_stack([np.full(many.size, source), groups.size + np.arange(many.size)]),
            np.column_stack([groups.size + other, one]),
            np.column_stack([np.arange(groups.size), np.full(groups.size, sink)]),
        ]
    )
    capacity = np.concatenate([many, np.minimum(many[other], rows[groups][one]), rows[groups]])
    flow = igraph.Graph(sink + 1, edges, directed=True).maxflow(source, sink, capacity.tolist())
    lacking: int = int(many.sum()) - round(flow.value)
    return lacking


def _summed(report: list[tuple[str, int]]) -> Report:
    """Each thing once."""
    once = {what: sum(count for told, count in report if told == what) for what in dict.fromkeys(w for w, _ in report)}
    return tuple((what, count) for what, count in once.items() if count)


def _settled(group: Ints, person: Ints, rows: Ints, known: Bools) -> tuple[Bools, Bools, Bools]:
    """Which pairs are still possible, which are certain, and which groups have more certain members than rows."""
    alive = np.ones(group.size, dtype=np.bool_)
    sure = np.zeros(group.size, dtype=np.bool_)
    crowded = np.zeros(rows.size, dtype=np.bool_)
    for _ in range(ROUNDS):
        places = np.bincount(person[alive], minlength=known.size)
        all_in = np.bincount(group[alive], minlength=rows.size) == rows
        now = alive & (sure | (known & (places == 1))[person] | all_in[group])
        certain = np.bincount(group[now], minlength=rows.size)
        crowded = certain > rows
        if crowded.any():
            return alive, now, crowded
        taken = np.zeros(known.size, dtype=np.bool_)
        taken[person[now]] = True
        left = alive & (now | ~(taken[person] | (certain == rows)[group]))
        if np.array_equal(left, alive) and np.array_equal(now, sure):
            break
        alive, sure = left, now
    return alive, sure, crowded


def _contradicts(group: Ints, person: Ints, sure: Bools, rows: Ints) -> bool:
    """Whether somebody is certainly in two groups, or a group has lost the candidates that it needs."""
    twice = np.bincount(person[sure]).max(initial=0) > 1
    return bool(twice or (np.bincount(group, minlength=rows.size) < rows).any())


def _short_of_people(group: Ints, person: Ints, rows: Ints, people: int) -> tuple[Bools, int]:
    """The groups that have too few candidates for their rows, alone or together with others, and how many too few.

    By a maximum flow of people into rows. Those who fit one group only need no flow; where all the others of a
    group are not needed, neither does the group. People who fit the same groups flow together.
    """
    places = np.bincount(person, minlength=people)
    only = np.bincount(group[places[person] == 1], minlength=rows.size)
    need = np.maximum(rows - only, 0)
    edge = (places[person] > 1) & (need > 0)[group]
    offered = np.bincount(group[edge], minlength=rows.size)
    # A person for whom one group of those that need somebody is left goes there.
    wanted = np.bincount(person[edge], minlength=people)
    alone = np.bincount(group[edge & (wanted[person] == 1)], minlength=rows.size)
    if (alone >= need).all():
        return np.zeros(rows.size, dtype=np.bool_), 0
    if not (wanted > 1).any():
        return offered < need, int(np.maximum(need - offered, 0).sum())
    import igraph

    left, right, many = _kinds(group[edge], person[edge])
    groups, left = np.unique(left, return_inverse=True)
    source, sink = groups.size + many.size, groups.size + many.size + 1
    edges = np.concatenate(
        [
            np.column_stack([np.full(groups.size, source), np.arange(groups.size)]),
            np.column_stack([left, groups.size + right]),
            np.column_stack([groups.size + np.arange(many.size), np.full(many.size, sink)]),
        ]
    )
    capacity = np.concatenate([need[groups], np.minimum(need[groups][left], many[right]), many])
    flow = igraph.Graph(sink + 1, edges, directed=True).maxflow(source, sink, capacity.tolist())
    short = offered < need
    lacking = int(need.sum()) - round(flow.value)
    if lacking:
        # On the side of the source of a least cut are groups that want more than all their candidates together.
        part = next(part for part in flow.partition if source in part)
        side = np.array([node for node in part if node < groups.size], dtype=np.int64)
        short[groups[side]] = True
    return short, lacking


def _kinds(group: Ints, person: Ints) -> tuple[Ints, Ints, Ints]:
    """People who fit the same groups taken together: pairs of a group and a kind, and how many are of each kind.

    Kinds are told apart by the sum of a random number for each group, and people who have a sum in common without
    the groups are kinds of their own.
    """
    order = np.lexsort((group, person))
    group, person = group[order], person[order]
    who, starts, sizes = np.unique(person, return_index=True, return_counts=True)
    numbers = np.random.default_rng(0).integers(0, 1 << 63, int(group.max(initial=0)) + 1, dtype=np.uint64)
    sums = np.add.reduceat(numbers[group], starts)
    first, kind = np.unique(sums, return_index=True, return_inverse=True)[1:]
    like = first[kind]
    rank = np.arange(group.size) - np.repeat(starts, sizes)
    there = np.minimum(np.repeat(starts[like], sizes) + rank, group.size - 1)
    same = (sizes == sizes[like]) & np.logical_and.reduceat(group[there] == group, starts)
    like = np.where(same, like, np.arange(who.size))
    chosen, kind = np.unique(like, return_inverse=True)
    is_chosen = np.zeros(who.size, dtype=np.bool_)
    is_chosen[chosen] = True
    kept = np.repeat(is_chosen, sizes)
    return group[kept], np.repeat(kind, sizes)[kept], np.bincount(kind, minlength=chosen.size)
