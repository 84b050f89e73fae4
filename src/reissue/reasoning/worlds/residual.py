"""What is left of a series when the values of some people are known, or when only some of its groups matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.runs import kept
from reissue.arrays.types import Bools, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups


def without(published: Published, people: Ints, values: Ints) -> Published:
    """Take people (numbers, ascending) out of every group they are in, each with one row of the value he has.

    The worlds of what is left are those of the whole in which these people have these values.
    """
    if not people.size:
        return published
    missing = 0
    releases = []
    for release in published.releases:
        at = np.minimum(np.searchsorted(people, release.members), people.size - 1)
        known = people[at] == release.members
        group = release.member_groups
        counts = release.counts.copy()
        missing += _take(release, counts, group[known], values[at[known]], len(published.values))
        releases.append(_kept(release, ~known, counts))
    if missing:
        raise ParameterError(
            f"The knowledge contradicts the releases: in {count_of(missing, 'group')} there are too few rows of a "
            "value that people are said to have.",
            hint="check the values of those who are compromised.",
        )
    return replace(published, releases=tuple(releases))


def without_recognised(published: Published, knowledge: Knowledge | None) -> tuple[Published, Knowledge | None]:
    """The view without counterfeits that are known with their values, and what is known beside that.

    A group then has the people in it, and the values that theirs are.
    """
    if knowledge is None or not knowledge.counterfeits:
        return published, knowledge
    numbers, values, several = knowledge.recognised(published)
    left = {number: [published.values[at] for at in some] for number, some in several.items()}
    return without(published, numbers, values), replace(knowledge, counterfeits=left)


def only(published: Published, groups: Bools) -> Published:
    """Some of the groups, marked in the order of all groups of all releases; the others are left empty."""
    releases, start = [], 0
    for release in published.releases:
        marked = groups[start : start + release.group_count]
        start += release.group_count
        counts = np.where(np.repeat(marked, np.diff(release.value_starts)), release.counts, 0)
        releases.append(_kept(release, np.repeat(marked, release.sizes), counts))
    return replace(published, releases=tuple(releases))


def _take(release: PublishedGroups, counts: Ints, group: Ints, value: Ints, values: int) -> int:
    """Lower the counts by one for each pair; return for how many groups there were not enough."""
    wanted, often = np.unique(group * values + value, return_counts=True)
    offered = release.value_groups * values + release.values
    # A last entry that fits nothing, so that whoever is not found has a place.
    order = np.argsort(np.append(offered, -1), kind="stable")
    offered = np.append(offered, -1)
    place = order[np.minimum(np.searchsorted(offered[order], wanted), offered.size - 1)]
    there = offered[place] == wanted
    counts[place[there]] -= often[there]
    lacking = np.concatenate([wanted[~there], wanted[there][counts[place[there]] < 0]])
    return int(np.unique(lacking // values).size)


def _kept(release: PublishedGroups, members: Bools, counts: Ints) -> PublishedGroups:
    """The release with some of its members and with other counts."""
    left = counts > 0
    return replace(
        release,
        members=release.members[members],
        member_starts=kept(members, release.member_starts),
        values=release.values[left],
        counts=counts[left],
        value_starts=kept(left, release.value_starts),
        sure=None if release.sure is None else release.sure[members],
        classes=None if release.classes is None else release.classes[members],
        quasi=None if release.quasi is None else release.quasi.filter(members),
    )
