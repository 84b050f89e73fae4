"""States: groups that had the same members and values in several releases in a row.

Members are cells (`reasoning.channels.histories`). A state is named by its place in the first release that showed it:
the number of a group changes from release to release though nothing happens to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.runs import chosen, owners, runs, starts_of
from reissue.arrays.types import Ints
from reissue.model.published import PublishedGroups

NOWHERE = -1
"""The group of somebody who is not in a release."""


@dataclass(frozen=True, repr=False)
class States:
    """Groups, each with the releases in which it stood as it is; cells and values lie group after group."""

    first: Ints
    last: Ints
    """The first and the last release that showed it, by position in the series."""
    number: Ints
    """Which group of the first release it is."""
    cells: Ints
    """Cells as of the last of its releases; none of them fell apart since the first."""
    starts: Ints
    values: Ints
    """Values by their lasting positions, ascending in each group."""
    counts: Ints
    value_starts: Ints

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.first.size

    @property
    def keys(self) -> Ints:
        """The group of each entry of `values`."""
        return owners(np.diff(self.value_starts))

    @classmethod
    def none(cls) -> States:
        """No groups."""
        nothing, start = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return cls(nothing, nothing, nothing, nothing, start, nothing, nothing, start)

    @classmethod
    def together(cls, parts: list[States]) -> States:
        """All groups of all parts."""
        return cls(
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.last for part in parts]),
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.cells for part in parts]),
            starts_of(np.concatenate([np.diff(part.starts) for part in parts])),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.counts for part in parts]),
            starts_of(np.concatenate([np.diff(part.value_starts) for part in parts])),
        )

    @classmethod
    def read(cls, groups: pl.DataFrame, entries: pl.DataFrame, last: int) -> States:
        """What `groups_table` and `entries_table` gave; `last` is the last release of those that are not over."""
        first, number, cells, values = (ints(groups[name]) for name in ("first", "number", "cells", "values"))
        entry, counts, own = ints(entries["entry"]), ints(entries["count"]), int(cells.sum())
        over = ints(groups["last"]) if "last" in groups.columns else np.full(first.size, last)
        return cls(first, over, number, entry[:own], starts_of(cells), entry[own:], counts[own:], starts_of(values))

    def groups_table(self, *, over: bool) -> pl.DataFrame:
        """The groups, as they are remembered."""
        groups = {"first": self.first, "number": self.number}
        groups |= {"last": self.last} if over else {}
        groups |= {"cells": np.diff(self.starts), "values": np.diff(self.value_starts)}
        return pl.DataFrame({name: column.astype(np.uint32) for name, column in groups.items()})

    def entries_table(self) -> pl.DataFrame:
        """Their cells and values, as they are remembered."""
        entry = np.concatenate([self.cells, self.values])
        count = np.concatenate([np.zeros(self.cells.size, dtype=np.int64), self.counts])
        return pl.DataFrame({"entry": entry.astype(np.uint32), "count": count.astype(np.uint32)})

    def places(self, cells: int) -> Ints:
        """For each of the cells of its time the group that it is in."""
        found = np.full(cells, NOWHERE, dtype=np.int64)
        found[self.cells] = owners(np.diff(self.starts))
        return found

    def chosen(self, which: Ints) -> States:
        """Some of the groups, in this order; one may be there several times."""
        cells, starts = chosen(self.starts, which)
        entries, value_starts = chosen(self.value_starts, which)
        return States(
            self.first[which],
            self.last[which],
            self.number[which],
            self.cells[cells],
            starts,
            self.values[entries],
            self.counts[entries],
            value_starts,
        )

    def published(self, release: int, member: Ints) -> PublishedGroups:
        """As a release with these members in place of the cells."""
        return PublishedGroups(release, member, self.starts, self.values, self.counts, self.value_starts)


def same_groups(last: States, now: States, before: Ints, place: Ints) -> Ints:
    """For each group the one before with the same cells, values and counts; -1 where there is none."""
    there, here = before >= 0, place >= 0
    both = there & here
    partner, their_partner = np.full(now.count, -1), np.full(last.count, -1)
    partner[place[both]] = before[both]
    their_partner[before[both]] = place[both]
    other = both & (np.append(partner, -1)[place] != before)  # somebody of the group was in another one
    partner[place[(here & ~there) | other]] = -1
    lost = (there & ~here) | (both & (np.append(their_partner, -1)[before] != place))
    their_partner[before[lost]] = -1
    group = np.flatnonzero(partner >= 0)
    group = group[their_partner[partner[group]] == group]
    sizes = np.diff(now.value_starts)
    group = group[sizes[group] == np.diff(last.value_starts)[partner[group]]]
    mine = runs(now.value_starts[group], sizes[group])
    theirs = runs(last.value_starts[partner[group]], sizes[group])
    differs = (now.values[mine] != last.values[theirs]) | (now.counts[mine] != last.counts[theirs])
    same = np.full(now.count, -1)
    same[group] = partner[group]
    same[np.repeat(group, sizes[group])[differs]] = -1
    return same


def ints(column: pl.Series) -> Ints:
    """A column of whole numbers."""
    return column.to_numpy().astype(np.int64)
