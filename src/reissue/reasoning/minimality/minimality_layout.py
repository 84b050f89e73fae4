"""A release read for the argument from minimality: how many rows of which class are in which group.

Where it is known who is in which group, that is counted. Where only a registry says who may be in a group (`sure` is
given), parts of the release that share no class with others are looked at one by one:

- everybody is listed once, and all of a group's candidates are in it: counted as if it were known;
- one group whose classes are in no other: how many rows each class has is open, and goes into the counting;
- people of a class are listed alike in several groups and all are in the release, since there are as many rows as
  people: a group with one open class takes the rest of its rows from it, a class with one open group leaves the rest
  of its people there, and so on (Wong et al., Tables 7 and 8). What does not come out that way stays undecided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.model.published import PublishedGroups


@dataclass(frozen=True, repr=False)
class ClassLayout:
    """Classes and their cells. People of one row here cannot be told apart, by quasi-identifiers or otherwise."""

    classes: Ints
    """The number of the class, as the release has it. A class of which some are certain and others are not has two."""
    people: Ints
    """How many people there are of each."""
    row_of_entry: Ints
    """For each entry of the release's members the row here."""
    group: Ints
    """Cells: rows of a class in a group, group after group."""
    row: Ints
    size: Ints
    """How many rows; in open groups how many people may be in it."""
    open_groups: Bools
    """Groups of which it is not known how many rows each class has."""
    certain: Ints
    """For each row how many of its class are certainly in the release, where that is open of others; else 0."""
    partner: Ints
    """For each row the row of those of its class who are certainly in the release, -1 where nobody is apart."""
    undecided: Bools
    """Rows about which nothing can be said."""
    unsettled: int
    """How many groups it could not be concluded of which rows they have."""


def read(release: PublishedGroups) -> ClassLayout:
    """Find the cells of a release; it must have classes and no made-up rows."""
    assert release.classes is not None
    group = release.member_groups
    numbers, row = np.unique(release.classes, return_inverse=True)
    row = row.reshape(-1).astype(np.int64)
    if release.sure is None:
        key, size = np.unique(group * max(numbers.size, 1) + row, return_counts=True)
        return ClassLayout(
            numbers,
            np.bincount(row, minlength=numbers.size).astype(np.int64),
            row,
            key // max(numbers.size, 1),
            key % max(numbers.size, 1),
            size.astype(np.int64),
            np.zeros(release.group_count, dtype=bool),
            np.zeros(numbers.size, dtype=np.int64),
            np.full(numbers.size, -1, dtype=np.int64),
            np.zeros(numbers.size, dtype=bool),
            0,
        )
    return _Registry(release, group, row, numbers).layout()


class _Registry:
    """A release of which a registry says who may be in which group."""

    def __init__(self, release: PublishedGroups, group: Ints, row: Ints, numbers: Ints) -> None:
        assert release.sure is not None
        self._release, self._group, self._class, self._numbers = release, group, row, numbers
        _, person, listed = np.unique(release.members, return_inverse=True, return_counts=True)
        self._person = person.reshape(-1)
        self._once = listed[self._person] == 1
        here = np.zeros(release.members.size, dtype=bool)
        if release.present is not None:
            here = np.isin(release.members, release.present)
        # Whoever is in one of the groups that list him, and is listed in one only, is in that.
        self._sure = release.sure | (here & self._once)

    def layout(self) -> ClassLayout:
        classes, groups = self._numbers.size, self._release.group_count
        people = np.bincount(self._class[np.unique(self._person, return_index=True)[1]], minlength=classes).astype(
            np.int64
        )
        key, size = np.unique(self._group * max(classes, 1) + self._class, return_counts=True)
        cell_group, cell_class, size = key // max(classes, 1), key % max(classes, 1), size.astype(np.int64)
        part = _parts(cell_group, cell_class, groups, classes)
        rows = self._release.rows
        full = np.bincount(self._group, minlength=groups) == rows
        simple = np.bincount(part[self._group], ~(self._once & full[self._group]), minlength=groups) == 0
        groups_of = np.bincount(part, minlength=groups)
        several = np.bincount(part[self._group], ~self._once, minlength=groups) > 0
        open_groups = ~simple[part] & (groups_of[part] == 1) & ~several[part]
        # Where some of a class are certain of a group and others are not, they are not listed alike.
        sure_of = np.bincount(self._class[self._sure], minlength=classes)
        divided = (sure_of > 0) & (sure_of < people)
        mixed = np.bincount(part[self._group], divided[self._class], minlength=groups) > 0
        settled = np.zeros(groups, dtype=bool)
        in_part = np.argsort(part[cell_group], kind="stable")
        starts = np.searchsorted(part[cell_group][in_part], np.arange(groups + 1))
        for number in np.flatnonzero(~simple & (groups_of > 0)).tolist():
            cells = in_part[starts[number] : starts[number + 1]]
            if cells.size and not open_groups[cell_group[cells[0]]] and not mixed[number]:
                found = _concluded(cell_group[cells], cell_class[cells], size[cells], people, rows)
                if found is not None:
                    size[cells] = found
                    settled[cell_group[cells]] = True
        unknown = ~(simple[part] | open_groups | settled)
        return self._rows(cell_group, cell_class, size, people, open_groups, unknown)

    def _rows(
        self, group: Ints, one: Ints, size: Ints, people: Ints, open_groups: Bools, unknown: Bools
    ) -> ClassLayout:
        """Split classes of open groups into those who certainly are there and the others."""
        classes = self._numbers.size
        sure = self._sure & open_groups[self._group]
        certain = np.bincount(self._class[sure], minlength=classes).astype(np.int64)
        split = np.flatnonzero((certain > 0) & (certain < people))
        extra = np.full(classes, -1, dtype=np.int64)
        extra[split] = classes + np.arange(split.size)
        row_of_entry = np.where(sure & (extra[self._class] >= 0), extra[self._class], self._class)
        everybody = np.concatenate([people, certain[split]])
        everybody[split] -= certain[split]
        lost = np.zeros(classes, dtype=bool)
        lost[one[unknown[group]]] = True
        there = (size > 0) & ~unknown[group]
        return ClassLayout(
            np.concatenate([self._numbers, self._numbers[split]]),
            everybody,
            row_of_entry,
            group[there],
            one[there],
            size[there],
            open_groups,
            np.concatenate([certain, np.zeros(split.size, dtype=np.int64)]),
            np.concatenate([extra, np.full(split.size, -1, dtype=np.int64)]),
            np.concatenate([lost, np.zeros(split.size, dtype=bool)]),
            int(np.count_nonzero(unknown)),
        )


def _concluded(group: Ints, one: Ints, listed: Ints, people: Ints, rows: Ints) -> Ints | None:
    """How many rows of each cell of a part there are, where numbers alone say it; people are listed alike."""
    alike = bool((listed == people[one]).all())
    groups, classes = np.unique(group), np.unique(one)
    if not alike or rows[groups].sum() != people[classes].sum():
        return None
    size, unknown = np.zeros(group.size, dtype=np.int64), np.ones(group.size, dtype=bool)
    left = {("group", at): int(rows[at]) for at in groups.tolist()}
    left |= {("class", at): int(people[at]) for at in classes.tolist()}
    cells = [(("group", g), ("class", c)) for g, c in zip(group.tolist(), one.tolist(), strict=True)]
    around: dict[tuple[str, int], set[int]] = {node: set() for node in left}
    for at, ends in enumerate(cells):
        for end in ends:
            around[end].add(at)
    waiting = [node for node, open_cells in around.items() if len(open_cells) == 1]
    while waiting:
        node = waiting.pop()
        if len(around[node]) != 1:
            continue
        (at,) = around[node]
        size[at], unknown[at] = left[node], False
        amount = left[node]
        for end in cells[at]:
            left[end] -= amount
            around[end].discard(at)
            if len(around[end]) == 1:
                waiting.append(end)
    wrong = unknown.any() or any(left.values()) or (size < 0).any()
    return None if wrong else size


def _parts(group: Ints, one: Ints, groups: int, classes: int) -> Ints:
    """For each group the part of the release it belongs to: groups with a class in common are in one."""
    part = np.arange(groups)
    first = np.full(classes, groups, dtype=np.int64)
    while True:
        np.minimum.at(first, one, part[group])
        narrowed = part.copy()
        np.minimum.at(narrowed, group, first[one])
        narrowed = narrowed[narrowed]
        if (narrowed == part).all():
            return part
        part = narrowed
