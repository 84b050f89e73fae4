"""The sensitive values of each group, sorted and counted; the outsider's view made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints, Words
from reissue.kernels import grouped
from reissue.model.grouping import Grouping
from reissue.model.published import PublishedGroups

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, repr=False)
class GroupCounts:
    """How often each group has each value; groups one after the other in flat arrays."""

    grouping: Grouping
    starts: Ints
    """Where each group begins in `in_order`."""
    in_order: Codes
    """The code of every row's value, group after group, ascending within each."""
    codes: Codes
    """The distinct codes of each group."""
    counts: Ints
    """How often the code at the same place occurs in its group."""
    run_starts: Ints
    """Where each group begins in `codes` and `counts`."""

    @classmethod
    def of(cls, codes: Codes, grouping: Grouping) -> GroupCounts:
        """Count the values of the rows of each group."""
        starts = starts_of(grouping.sizes())
        in_order, distinct = np.empty_like(codes), np.empty_like(codes)
        counts = np.empty(codes.size, dtype=np.int64)
        run_starts = np.empty(starts.size, dtype=np.int64)
        grouped.values_by_group(grouping.group, grouped.unwritten(codes), starts, in_order)
        runs = grouped.count_runs(in_order, starts, distinct, counts, run_starts)
        return cls(grouping, starts, in_order, distinct[:runs].copy(), counts[:runs].copy(), run_starts)

    def content_hash(self) -> Words:
        """A number for each group that depends on nothing but its values and their counts."""
        used = np.unique(self.codes)
        numbers = mixed(np.searchsorted(used, self.codes) * 2 + 1) * self.counts.astype(np.uint64)
        return np.add.reduceat(numbers, self.run_starts[:-1])

    def view(
        self,
        people: Ints,
        number: int,
        region: pl.DataFrame | None = None,
        classes: Ints | None = None,
        *,
        registered: Grouping | None = None,
        quasi: pl.DataFrame | None = None,
    ) -> PublishedGroups:
        """The groups as an outsider sees them; members in the order of their numbers, which tells nothing.

        `classes` are the numbers of the quasi-identifiers of each row, `quasi` these themselves, where they are to be
        in the view. Where the people are everybody `registered`, in these groups, the counts are of their values, and
        nobody knows who of them is in the release.
        """
        members = self.grouping if registered is None else registered
        starts = self.starts if registered is None else starts_of(members.sizes())
        by_number = ascending(people)
        order = np.empty(people.size, dtype=np.int64)
        grouped.order_by_group(members.group[by_number], starts, order)
        without_gaps = classes is None and people.size and int(people.max()) - int(people.min()) == people.size - 1
        rows = order if without_gaps else by_number[order]
        return PublishedGroups(
            number=number,
            # Numbers without gaps are their places among all, but for the lowest.
            members=order + people.min() if without_gaps else people[rows],
            member_starts=starts,
            values=self.codes.astype(np.int64),
            counts=self.counts,
            value_starts=self.run_starts,
            region=region,
            sure=None if registered is None else np.zeros(people.size, dtype=np.bool_),
            classes=None if classes is None else classes[rows],
            quasi=None if quasi is None else quasi[by_number[order]],
        )


def mixed(numbers: npt.NDArray[np.integer]) -> Words:
    """Scatter numbers over 64 bits (the finaliser of splitmix64), so that sums tell multisets apart."""
    scattered = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    scattered = (scattered ^ (scattered >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    scattered = (scattered ^ (scattered >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return scattered ^ (scattered >> np.uint64(31))
