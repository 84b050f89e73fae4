"""Who may be in which group of a release, and who certainly is.

A person may be in every group whose region holds what is known of him, and is in one of them at most. From there:
who is known to be in the release and fits one group only is in it; a group that is full has nobody else in it; a
group with as many candidates as rows has all of them. This is repeated until nothing more follows.

The last argument takes the registry for complete: every row is that of somebody registered. Where groups have more
rows than candidates, together or alone, it is not: these groups get unknown people as further candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.regions import Regions

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ROUNDS = 100
"""Conclusions are drawn so often at most; to stop earlier leaves people uncertain who could be certain."""


@dataclass(frozen=True, repr=False)
class Matched:
    """The candidates of the groups of one release."""

    group: Ints
    person: Ints
    """Pairs of a group and somebody who may be in it, in order."""
    sure: Bools
    """Which of them certainly are."""
    present: Ints
    """Who else is certainly in the release, ascending."""
    unknown: Ints
    """For each group how many people it may have that are not registered."""
    unknown_sure: Ints
    """How many it certainly has."""
    report: tuple[tuple[str, int], ...]
    """What did not fit, and how often."""


def match(regions: Regions, rows: Ints, people: Regions, known: Bools) -> Matched:
    """Find candidates for groups that have so many rows each; `known` says who is known to be in the release."""
    group, person = regions.holds(people)
    fits = np.bincount(person, minlength=people.count) > 0
    report = [
        ("people of the registry who fit no group", int(np.count_nonzero(~fits))),
        ("people known to be in the release who fit no group", int(np.count_nonzero(known & ~fits))),
    ]
    short, lacking = _short_of_people(group, person, rows, people.count)
    report.append(("groups with fewer candidates than rows, alone or together", int(np.count_nonzero(short))))
    report.append(("rows that nobody in the registry accounts for", lacking))

    known = known & fits
    alive, sure, crowded = _settled(group, person, rows, known, short)
    while crowded.any():
        # More people are known to be in a group than it has rows. Whose presence is wrong cannot be told.
        out = alive & sure & crowded[group]
        report.append(("groups with fewer rows than people known to be in them", int(np.count_nonzero(crowded))))
        report.append(("people whose presence was not taken for certain", int(np.count_nonzero(out))))
        known[person[out]] = False
        alive, sure, crowded = _settled(group, person, rows, known, short)
    if _contradicts(group[alive], person[alive], sure[alive], rows, short):
        report.append(("people whose presence was not taken for certain", int(np.count_nonzero(known))))
        known[:] = False
        alive, sure, _ = _settled(group, person, rows, known, short)
    placed = np.bincount(person[alive], minlength=people.count) > 0
    report.append(
        ("people known to be in the release for whom no place is left", int(np.count_nonzero(known & ~placed)))
    )

    group, person, sure = group[alive], person[alive], sure[alive]
    certain = np.bincount(group[sure], minlength=rows.size)
    candidates = np.bincount(group, minlength=rows.size)
    settled = np.zeros(people.count, dtype=np.bool_)
    settled[person[sure]] = True
    return Matched(
        group,
        person,
        sure,
        np.flatnonzero(known & placed & ~settled),
        np.where(short, rows - certain, 0),
        np.where(short, np.maximum(rows - candidates, 0), 0),
        tuple((what, count) for what, count in _summed(report).items() if count),
    )


def _summed(report: list[tuple[str, int]]) -> dict[str, int]:
    """Each thing once."""
    return {what: sum(count for told, count in report if told == what) for what in dict.fromkeys(w for w, _ in report)}


def _settled(group: Ints, person: Ints, rows: Ints, known: Bools, short: Bools) -> tuple[Bools, Bools, Bools]:
    """Which pairs are still possible, which are certain, and which groups have more certain members than rows."""
    alive = np.ones(group.size, dtype=np.bool_)
    sure = np.zeros(group.size, dtype=np.bool_)
    crowded = np.zeros(rows.size, dtype=np.bool_)
    for _ in range(ROUNDS):
        places = np.bincount(person[alive], minlength=known.size)
        candidates = np.bincount(group[alive], minlength=rows.size)
        all_in = (candidates == rows) & ~short
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


def _contradicts(group: Ints, person: Ints, sure: Bools, rows: Ints, short: Bools) -> bool:
    """Whether somebody is certainly in two groups, or a group that had enough candidates has lost them."""
    twice = np.bincount(person[sure]).max(initial=0) > 1
    return bool(twice or (np.bincount(group, minlength=rows.size)[~short] < rows[~short]).any())


def _short_of_people(group: Ints, person: Ints, rows: Ints, people: int) -> tuple[Bools, int]:
    """The groups that have too few candidates for their rows, alone or together with others, and how many too few.

    By a maximum flow of people into rows. Those who fit one group only need no flow; where all the others of a
    group are not needed, neither does the group.
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

    groups, left = np.unique(group[edge], return_inverse=True)
    persons, right = np.unique(person[edge], return_inverse=True)
    source, sink = groups.size + persons.size, groups.size + persons.size + 1
    edges = np.concatenate(
        [
            np.column_stack([np.full(groups.size, source), np.arange(groups.size)]),
            np.column_stack([left, groups.size + right]),
            np.column_stack([groups.size + np.arange(persons.size), np.full(persons.size, sink)]),
        ]
    )
    capacity = np.concatenate([need[groups], np.ones(left.size + persons.size, dtype=np.int64)])
    flow = igraph.Graph(sink + 1, edges.tolist(), directed=True).maxflow(source, sink, capacity.tolist())
    short = offered < need
    lacking = int(need.sum()) - round(flow.value)
    if lacking:
        # On the side of the source of a least cut are groups that want more than all their candidates together.
        part = next(part for part in flow.partition if source in part)
        side = np.array([node for node in part if node < groups.size], dtype=np.int64)
        short[groups[side]] = True
    return short, lacking
