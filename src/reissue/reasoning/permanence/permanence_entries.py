"""Who can have a permanent value where: presence, entries, and what follows from counts alone.

An entry is somebody in a group that shows the value, in a release he is not known to be absent from. Who has a
permanent value keeps it: if he has it at one entry, he has it at every later one at which he is known to be present.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reissue.arrays.dense import places
from reissue.arrays.runs import owners, runs
from reissue.arrays.types import Bools, Bytes, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published, PublishedGroups

ABSENT, UNKNOWN, PRESENT = -1, 0, 1
ZERO, OPEN, ONE = -1, 0, 1


@dataclass(frozen=True, repr=False)
class Presence:
    """Everybody's place in dense arrays, and what is known of who is in which release; shared by all values."""

    numbers: Ints
    """The number of the person at each place, ascending."""
    places: tuple[Ints, ...]
    """For each release the places of its members."""
    known: tuple[Bytes | None, ...]
    """For each release what is known of each member's presence; None: nothing about anybody."""

    @classmethod
    def of(cls, published: Published, participation: Mapping[int, frozenset[int]]) -> Presence:
        """Read a view, and what is known of people beside it (`Knowledge.participation`)."""
        releases = tuple(published.releases)
        _examine(releases, participation)
        where = published.index
        where.need_one_group_each(
            "Permanence needs everybody in one group of a release at most.",
            hint="let everybody be in one group of a release.",
        )
        homes = tuple(where.member[where.entries(at)] for at in range(len(releases)))
        people = np.fromiter(participation, dtype=np.int64, count=len(participation))
        row = np.full(where.people.size, -1, dtype=np.int64)
        row[where.places(people)] = np.arange(people.size)
        status = [_status(release) for release in releases]
        contradictions = []
        for at, release in enumerate(releases):
            if not people.size:
                break
            there = np.array([release.number in some for some in participation.values()], dtype=np.bool_)
            said = row[homes[at]]
            mine = np.flatnonzero(said >= 0)
            listed_here = np.zeros(people.size, dtype=np.bool_)
            listed_here[said[mine]] = True
            before = status[at]
            now = np.zeros(release.members.size, dtype=np.int8) if before is None else before.copy()
            wrong = int(np.count_nonzero(there & ~listed_here))
            wrong += int(np.count_nonzero((now[mine] == PRESENT) & ~there[said[mine]]))
            if wrong:
                contradictions.append(
                    f"Release {release.number}: {count_of(wrong, 'person', 'people')} said to be in it and not listed, "
                    "or said to be missing and certainly in it."
                )
            now[mine] = np.where(there[said[mine]], PRESENT, ABSENT)
            status[at] = now
        if contradictions:
            raise ParameterError(
                "What is said to be known of who is present contradicts the releases.",
                problems=contradictions,
                hint="give for each person the numbers of all releases they are in, and no others.",
            )
        return cls(where.people, homes, tuple(status))

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.numbers.size

    def at(self, people: Ints) -> Ints:
        """The places of people by number."""
        return places(self.numbers, people)


@dataclass(frozen=True, repr=False)
class Entries:
    """All entries of one permanent value, release after release, and the groups that show it."""

    release: Ints
    """For each group its release, by position in the view."""
    group: Ints
    """For each group its number in that release, counted from 0."""
    count: Ints
    """How many have the value in it."""
    person: Ints
    """For each entry whose it is, by place."""
    home: Ints
    """For each entry its group."""
    sure: Bools
    """Whether he is known to be present there."""
    starts: Ints
    """Where the entries of each release begin."""
    linkable: Bools
    """By place: who may be present in some group that shows the value."""

    @property
    def time(self) -> Ints:
        """For each entry its release, by position in the view."""
        return self.release[self.home]

    @classmethod
    def of(cls, published: Published, presence: Presence, value: int, never: Ints) -> Entries:
        """The entries of a value that are not ruled out by later groups that do not show it.

        `never` are places of those known not to have it.
        """
        dead = np.zeros(presence.size, dtype=np.bool_)
        dead[never] = True
        linkable = np.zeros(presence.size, dtype=np.bool_)
        parts: list[tuple[int, Ints, Ints, Ints, Ints, Bools]] = []
        for at in reversed(range(len(published.releases))):
            release, places, known = published.releases[at], presence.places[at], presence.known[at]
            counts = _counts(release, value)
            shown = np.flatnonzero(counts)
            where = runs(release.member_starts[shown], release.sizes[shown])
            group = owners(release.sizes[shown])
            who = places[where]
            status = np.zeros(who.size, dtype=np.int8) if known is None else known[where]
            linkable[who[status != ABSENT]] = True
            possible = (status != ABSENT) & ~dead[who]
            parts.append((at, shown, counts[shown], who[possible], group[possible], status[possible] == PRESENT))
            if known is not None:
                without = known == PRESENT
                without[where] = False
                dead[places[without]] = True
        parts.reverse()
        offsets = np.cumsum([0, *(part[1].size for part in parts)])
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([nothing, *(np.full(part[1].size, part[0]) for part in parts)]),
            np.concatenate([nothing, *(part[1] for part in parts)]),
            np.concatenate([nothing, *(part[2] for part in parts)]),
            np.concatenate([nothing, *(part[3] for part in parts)]),
            np.concatenate([nothing, *(part[4] + offset for part, offset in zip(parts, offsets[:-1], strict=True))]),
            np.concatenate([nothing.astype(np.bool_), *(part[5] for part in parts)]),
            np.cumsum([0, *(part[3].size for part in parts)]),
            linkable,
        )


def propagate(entries: Entries, places: int, cohorts: int, state: Bytes) -> Bools:
    """Settle what follows from counts alone, in place; return the groups in which that is a contradiction.

    Where as many have the value as can, all do; where as many do as have it, nobody else does. Who has it has it at
    every later entry at which he is present; who is present and has it not had it at no earlier one. With several
    cohorts the same is said of who is in any of them.
    """
    release, groups = entries.time, entries.count.size
    wrong = np.zeros(groups, dtype=np.bool_)
    target = entries.count * cohorts
    late = int(entries.release.max(initial=0)) + 1
    coupled = bool(entries.sure.any())
    while True:
        ones = np.bincount(entries.home[state == ONE], minlength=groups)
        waiting = state == OPEN
        room = np.bincount(entries.home[waiting], minlength=groups)
        left = target - ones
        wrong |= (left < 0) | (left > room)
        full = (left == room) & (room > 0) & ~wrong
        empty = (left == 0) & (room > 0) & ~wrong
        if not (full.any() or empty.any()):
            return wrong
        state[waiting & full[entries.home]] = ONE
        state[waiting & empty[entries.home]] = ZERO
        if coupled:
            first = np.full(places, late)
            has = state == ONE
            np.minimum.at(first, entries.person[has], release[has])
            later = entries.sure & (release > first[entries.person])
            last = np.full(places, -1)
            lacks = entries.sure & (state == ZERO)
            np.maximum.at(last, entries.person[lacks], release[lacks])
            earlier = release < last[entries.person]
            wrong[entries.home[(later & (state == ZERO)) | (earlier & has)]] = True
            state[later & (state == OPEN)] = ONE
            state[earlier & (state == OPEN)] = ZERO


def _counts(release: PublishedGroups, value: int) -> Ints:
    """For each group how often it shows a value."""
    where = np.flatnonzero(release.values == value)
    counts = np.zeros(release.group_count, dtype=np.int64)
    counts[np.searchsorted(release.value_starts, where, side="right") - 1] = release.counts[where]
    return counts


def _status(release: PublishedGroups) -> Bytes | None:
    if release.sure is None:
        return np.full(release.members.size, PRESENT, dtype=np.int8)
    certain = release.sure | (release.members < 0)
    if release.present is not None:
        certain |= np.isin(release.members, release.present)
    return np.where(certain, PRESENT, UNKNOWN).astype(np.int8) if certain.any() else None


def _examine(releases: tuple[PublishedGroups, ...], participation: Mapping[int, frozenset[int]]) -> None:
    if any(release.space is not None for release in releases):
        raise ParameterError(
            "Permanence needs a view that says who may be in which group.",
            hint="give a registry of people; `Channels` compares regions without people.",
        )
    numbers = {release.number for release in releases}
    unknown = len(set().union(*participation.values()) - numbers) if participation else 0
    if unknown:
        raise ParameterError(
            f"The 'present' parameter of Knowledge names {count_of(unknown, 'release')} that the view does not have.",
            hint="releases are given by number, counted from 1.",
        )
