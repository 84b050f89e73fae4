"""Nobody leaves: whether everybody who is in a release can be in the later ones, cell by cell and value by value.

Where people are known they are looked for by name. Elsewhere the rows of a cell must find places in the cells of a
later release that may hold the same people; and if values stay as well, rows of one value among rows of that value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue.arrays.budget import passed
from reissue.arrays.runs import runs, totals
from reissue.arrays.types import Ints
from reissue.model.memberships import NOWHERE
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.assumptions.cell_flows import Shortage, shortage
from reissue.reasoning.history.overlaps import overlaps_between

MOST = 20_000_000
"""Two releases with more pairs of rows and cells that may take them are not compared value by value."""
NONE = Shortage()
PAIR, LINK = 1_000, 1.0
"""How many steps two releases take, and each two cells that may hold the same people."""


@dataclass(frozen=True)
class Stayed:
    """What was found of people, and of their values."""

    people: int = 0
    """Known people who are missing from a later release."""
    cells: Shortage = NONE
    """Cells whose rows have no place in a later release."""
    values: Shortage = NONE
    """Rows of one value in cells, though the cells have places enough, without a place among rows of that value."""
    compared: int = 0
    """How many pairs of releases were compared."""
    complete: bool = True
    """Whether all were that can be, value by value."""


def people_missing(published: Published) -> int:
    """How many known people are missing from a release after one that they are in."""
    where = published.index
    there = where.place[:, where.made_up :] != NOWHERE
    seen = np.logical_or.accumulate(there, axis=0)
    return int(np.count_nonzero((seen[:-1] & ~there[1:]).any(axis=0)))


def stayed(published: Published, deadline: float | None) -> Stayed:
    """Test a series that somebody says nobody leaves, between every two releases, the nearest first."""
    if published.exact:
        return Stayed(people=people_missing(published), compared=len(published.releases) - 1)
    found = Stayed()
    count = len(published.releases)
    for distance in range(1, count):
        if distance > 1 and (found.cells.sets or found.values.sets):
            break  # every step was looked at, and what longer ones say follows from that
        for earlier in range(count - distance):
            if passed(deadline, PAIR):
                return _more(found, complete=False)
            found = _with(found, published, earlier, earlier + distance)
    return found


def _with(found: Stayed, published: Published, earlier: int, later: int) -> Stayed:
    one, two = published.releases[earlier], published.releases[later]
    if (one.space is None) != (two.space is None):
        return _more(found, complete=False)
    first, second = compatible(published, earlier, later)
    passed(None, LINK * first.size)
    made_up = totals(one.members < 0, one.member_starts)
    short = shortage(first, second, np.maximum(one.rows - made_up, 0), two.rows)
    if short.sets:
        return _more(found, cells=short)
    entries = value_pairs(one, two, first, second, len(published.values))
    if entries is None:
        return _more(found, complete=False)
    # A counterfeit leaves, and may have any value of its group.
    need = np.maximum(one.counts - made_up[one.value_groups], 0)
    passed(None, LINK * entries[0].size)
    return _more(found, values=shortage(*entries, need, two.counts))


def _more(
    found: Stayed, *, cells: Shortage | None = None, values: Shortage | None = None, complete: bool = True
) -> Stayed:
    return Stayed(
        found.people,
        found.cells + (cells or NONE),
        found.values + (values or NONE),
        found.compared + int(complete),
        found.complete and complete,
    )


def compatible(published: Published, earlier: int, later: int) -> tuple[Ints, Ints]:
    """The groups of two releases, by position, that may hold the same people."""
    one, two = published.releases[earlier], published.releases[later]
    if one.space is not None and two.space is not None:
        return one.space.meets(two.space)
    found = overlaps_between(published, earlier, later)
    return found.first, found.second


def value_pairs(
    one: PublishedGroups, two: PublishedGroups, first: Ints, second: Ints, width: int
) -> tuple[Ints, Ints] | None:
    """Entries of `values` of two releases that are the same value of compatible groups; None where they are many."""
    lengths = np.diff(one.value_starts)
    if int(lengths[first].sum()) > MOST:
        return None
    offered = two.value_groups * width + two.values
    order = np.argsort(offered, kind="stable")
    # A last entry that fits nothing, so that whoever is not found has a place.
    sorted_keys, order = np.append(offered[order], np.iinfo(np.int64).max), np.append(order, -1)
    mine, theirs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for begin, end in _chunks(lengths[first]):
        often = lengths[first[begin:end]]
        entry = runs(one.value_starts[first[begin:end]], often)
        wanted = np.repeat(second[begin:end], often) * width + one.values[entry]
        at = np.searchsorted(sorted_keys, wanted)
        same = sorted_keys[at] == wanted
        mine.append(entry[same])
        theirs.append(order[at[same]])
    return np.concatenate(mine), np.concatenate(theirs)


def _chunks(lengths: Ints, most: int = 2_000_000) -> Iterator[tuple[int, int]]:
    """Runs of pairs that together have about so many entries."""
    ends = np.cumsum(lengths)
    begin = 0
    while begin < lengths.size:
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + most, side="right")), begin + 1)
        yield begin, end
        begin = end
