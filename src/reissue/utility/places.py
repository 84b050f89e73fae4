"""Where people are on a quasi-identifier, and in which of a few cells of it: at a code, or somewhere in a region.

The cells of a numeric column are ranges with about as many people each, those of other columns the largest labels.
Within a region people are taken to be spread evenly, as in every estimate from regions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.kernels.query_counts import LANES
from reissue.model.snapshot import Column, Numbers
from reissue.utility.extents import Extents, IntervalExtents
from reissue.utility.queries import RegionArrays
from reissue.utility.set_queries import region_shares
from reissue.utility.workload import Batch, edges, is_whole

BANDS = 5
"""So many ranges a numeric column is cut into."""
MOST_LABELS = 10
"""So many labels of another column are looked at, the largest."""


@dataclass(frozen=True, repr=False)
class Places:
    """The places on one column where people are."""

    mean: Floats | None
    """For each place the number that is expected there, NaN where it is missing; None for labels."""
    variance: Floats
    """By how much numbers vary within each place."""
    shares: Floats
    """For each place (lines) the share of it that is in each cell (columns)."""

    @property
    def exact(self) -> bool:
        """Whether everybody's number is known; of labels, who has one of the two largest."""
        if self.mean is not None:
            return not self.variance.any()
        largest = self.shares[:, :2]
        return bool(((largest == 0) | (largest == 1)).all())


@dataclass(frozen=True, repr=False)
class Cells:
    """A few cells of a column, of which the first two labels are the largest."""

    column: Column
    cell: Ints
    """For each code its cell; -1 for none."""
    count: int

    @classmethod
    def of(cls, column: Column, people: Ints) -> Cells:
        """Cut a column into cells; `people` says how many have each code."""
        cell = np.full(people.size, -1, dtype=np.int64)
        if isinstance(column.levels, Numbers):
            there = np.flatnonzero(people * ~np.isnan(column.levels.values))
            before = np.cumsum(people[there]) - people[there]
            _, band = np.unique(before * BANDS // max(int(people[there].sum()), 1), return_inverse=True)
            first = there[np.unique(band, return_index=True)[1]]
            known = np.flatnonzero(~np.isnan(column.levels.values))
            # Numbers that nobody has belong to the range before them, so that ranges are whole.
            cell[known] = np.maximum(np.searchsorted(first, known, side="right") - 1, 0)
            return cls(column, cell, first.size)
        largest = np.argsort(-people, kind="stable")[:MOST_LABELS]
        largest = largest[people[largest] > 0]
        cell[largest] = np.arange(largest.size)
        return cls(column, cell, largest.size)

    @property
    def of_codes(self) -> Places:
        """Everybody at a code of their own."""
        levels = self.column.levels
        mean = levels.values if isinstance(levels, Numbers) else None
        return Places(mean, np.zeros(self.cell.size), np.equal.outer(self.cell, np.arange(self.count)).astype(float))

    def of_regions(self, extents: Extents) -> Places:
        """Everybody somewhere in the region of their group."""
        at = extents.names.index(self.column.name)
        extent, levels = extents.columns[at], self.column.levels
        alone = Extents((self.column.name,), (extent,), extents.rows)
        shares = region_shares(RegionArrays.of(alone, np.zeros(1, dtype=np.int64)), self._asked())[:, : self.count]
        if not isinstance(extent, IntervalExtents) or not isinstance(levels, Numbers):
            return Places(None, np.zeros(len(shares)), shares)
        length = extent.high - extent.low
        variance = ((length + 1) ** 2 - 1) / 12 if is_whole(levels) else length**2 / 12
        return Places((extent.low + extent.high) / 2, variance, shares)

    def _asked(self) -> Batch:
        """A query for each cell."""
        nothing = np.zeros((1, LANES), dtype=np.uint32)
        lower, upper = np.full((1, LANES), np.inf), np.full((1, LANES), np.inf)
        table = np.zeros((self.cell.size, LANES), dtype=np.uint8)
        table[np.flatnonzero(self.cell >= 0), self.cell[self.cell >= 0]] = 1
        if isinstance(self.column.levels, Numbers):
            from_, to = edges(self.column.levels)
            for cell in range(self.count):
                codes = np.flatnonzero(self.cell == cell)
                lower[0, cell], upper[0, cell] = from_[codes[0]], to[codes[-1]]
        return Batch(nothing, nothing, lower, upper, table)
