"""Parts: what of a permanent value's worlds hangs together, with people who cannot be told apart counted together.

What somebody has in one release bears on another only through releases he is known to be present in (or, where the
cohorts of HD-composition are known, through his cohort). An entry that bears on no other is *free*: all free entries of
a group are alike. People with the same other entries are a *class*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue.arrays.runs import owners, runs, starts_of
from reissue.arrays.types import Bools, Bytes, Ints
from reissue.kernels.components import connect, number
from reissue.reasoning.permanence.permanence_entries import ONE, OPEN, ZERO, Entries


@dataclass(frozen=True)
class Class:
    """People with the same entries."""

    size: int
    groups: tuple[int, ...]
    """The group of each entry, in the order of releases, counted within the part."""
    sure: tuple[bool, ...]
    """Whether they are known to be present there."""


@dataclass(frozen=True)
class Part:
    """Groups that hang together through classes."""

    counts: tuple[int, ...]
    """How many of each group have the value, those settled left out; of each cohort, if there are several."""
    free: tuple[int, ...]
    """How many free entries each group has."""
    classes: tuple[Class, ...]
    groups: tuple[int, ...]
    """Which groups these are among all that show the value."""
    cells: tuple[int, ...]
    """For each class the number of its first entry among the entries of all classes."""

    @property
    def entries(self) -> int:
        """How many entries its classes have."""
        return sum(len(one.groups) for one in self.classes)


@dataclass(frozen=True, repr=False)
class Linked:
    """Which entries bear on one another, by class."""

    left: Ints
    """For each group how many of it have the value, those settled left out."""
    free: Ints
    """For each group how many free entries it has."""
    is_free: Bools
    """Which entries are free."""
    entry: Ints
    """The entries that are not free, by number."""
    cell: Ints
    """For each of them its number among the entries of all classes."""
    size: Ints
    """How many people each class has."""
    starts: Ints
    """Where each class begins among the entries of all classes."""
    group: Ints
    sure: Bools
    """For each entry of a class its group, and whether its people are known to be present there."""
    part: Ints
    """For each group the number of its part."""

    @property
    def alone(self) -> Bools:
        """Which groups have free entries only."""
        alone = np.ones(self.left.size, dtype=np.bool_)
        alone[self.group] = False
        return alone

    def parts(self) -> Iterator[Part]:
        """The parts that have classes."""
        of_class = self.part[self.group[self.starts[:-1]]]
        order = np.argsort(of_class, kind="stable")
        of_group = np.argsort(self.part, kind="stable")
        bounds = np.searchsorted(self.part[of_group], np.arange(int(self.part.max(initial=-1)) + 2))
        for classes in np.split(order, np.flatnonzero(np.diff(of_class[order])) + 1) if order.size else ():
            one = int(of_class[classes[0]])
            groups = of_group[bounds[one] : bounds[one + 1]]
            place = {group: at for at, group in enumerate(groups.tolist())}
            yield Part(
                tuple(self.left[groups].tolist()),
                tuple(self.free[groups].tolist()),
                tuple(self._class(at, place) for at in classes.tolist()),
                tuple(groups.tolist()),
                tuple(self.starts[classes].tolist()),
            )

    def _class(self, at: int, place: dict[int, int]) -> Class:
        entries = slice(int(self.starts[at]), int(self.starts[at + 1]))
        groups = tuple(place[group] for group in self.group[entries].tolist())
        return Class(int(self.size[at]), groups, tuple(self.sure[entries].tolist()))


def linked(entries: Entries, places: int, cohorts: int, state: Bytes) -> Linked:
    """What bears on what, given what is settled."""
    groups, time = entries.count.size, entries.time
    if cohorts == 1:
        live = state == OPEN
        left = entries.count - np.bincount(entries.home[state == ONE], minlength=groups)
        bears = np.zeros(live.size, dtype=np.bool_)
        if entries.sure.any():
            last = np.full(places, -1)
            known = live & entries.sure
            np.maximum.at(last, entries.person[known], time[known])
            bears = live & (time <= last[entries.person])
    else:
        live = state != ZERO
        left = entries.count
        bears = live
    often = np.bincount(entries.person[bears], minlength=places)
    bears = bears & (often[entries.person] > 1)
    free = live & ~bears
    entry = np.flatnonzero(bears)
    who, home, sure = entries.person[entry], entries.home[entry], entries.sure[entry]
    history = _histories(entries, entry, places)
    present = np.flatnonzero(np.bincount(who, minlength=places))
    _, first, of_present, size = np.unique(history[present], return_index=True, return_inverse=True, return_counts=True)
    of_place = np.zeros(places, dtype=np.int64)
    of_place[present] = of_present
    order = np.lexsort((home, who))
    begins = np.flatnonzero(np.diff(who[order], prepend=-1))
    lengths = np.diff(np.append(begins, order.size))
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - np.repeat(begins, lengths)
    # Entries are ordered by person, and `present` is ascending, so `begins` and `present` run side by side.
    starts = starts_of(lengths[first])
    of_class = order[runs(begins[first], lengths[first])]
    group = home[of_class]
    return Linked(
        left,
        np.bincount(entries.home[free], minlength=groups),
        free,
        entry,
        starts[of_place[who]] + rank,
        size.astype(np.int64),
        starts,
        group,
        sure[of_class],
        _hang_together(owners(np.diff(starts)), group, size.size, groups),
    )


def parts_of(entries: Entries, places: int, cohorts: int, state: Bytes) -> Ints:
    """For each group the number of its part, without regard to classes."""
    live = state != ZERO
    bears = live
    if cohorts == 1:
        last = np.full(places, -1)
        known = live & entries.sure
        np.maximum.at(last, entries.person[known], entries.time[known])
        bears = live & (entries.time <= last[entries.person])
    return _hang_together(entries.person[bears], entries.home[bears], places, entries.count.size)


def _hang_together(who: Ints, group: Ints, people: int, groups: int) -> Ints:
    part = np.arange(groups)
    if who.size:
        connect(who, group, np.full(people, -1), part)
        number(part)
    return part


def _histories(entries: Entries, entry: Ints, places: int) -> Ints:
    """For each place a number: equal numbers, equal entries. Refined release by release, nothing is left to a hash."""
    history = np.zeros(places, dtype=np.int64)
    known, width = 1, 2 * max(entries.count.size, 1)
    for some in np.split(entry, np.searchsorted(entry, entries.starts[1:-1])):
        if not some.size:
            continue
        who = entries.person[some]
        _, new = np.unique(history[who] * width + 2 * entries.home[some] + entries.sure[some], return_inverse=True)
        history[who] = known + new
        known += int(new.max()) + 1
    return history
