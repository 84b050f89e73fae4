"""The rows that are measured, in three sorts: people published, counterfeits published, people held back.

The measures see them as one table. `Grouping.group` says which rows are held back (`HELD_BACK`), and flags say
which are counterfeits; without flags there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.runs import starts_of
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError, ParameterError
from reissue.kernels.grouped import order_by_group
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.snapshot import Column


def of_values(
    quasi: Sequence[Column], grouping: Grouping, owner: Ints
) -> tuple[tuple[Column, ...], Grouping, Bools | None]:
    """Columns and groups of people as those of values, `owner` being the row of the person who has each."""
    columns = tuple(replace(column, codes=column.codes[owner]) for column in quasi)
    return columns, grouping.of_values(owner), None


@dataclass(frozen=True)
class RowCounts:
    """How many rows there are of each sort."""

    published: int
    """Rows that were published, counterfeits included."""
    counterfeits: int
    """Published rows that are nobody."""
    held_back: int
    """People who were not published."""

    @property
    def people(self) -> int:
        """The size of the private table: everybody, published or held back."""
        return self.published - self.counterfeits + self.held_back

    @classmethod
    def of(cls, grouping: Grouping, counterfeit: Bools | None = None) -> RowCounts:
        """Count the rows of a grouping, where the counterfeits stand among the others."""
        if grouping.counterfeits is not None:
            raise InternalError("counterfeits are to be measured as rows among the others")
        held_back = int(np.count_nonzero(grouping.group == HELD_BACK))
        made = 0
        if counterfeit is not None:
            if counterfeit.shape != grouping.group.shape or counterfeit.dtype != np.bool_:
                raise InternalError("counterfeits need one flag for each row of the grouping")
            if held_back and bool((grouping.group[counterfeit] == HELD_BACK).any()):
                raise InternalError("a counterfeit is withheld")
            made = int(np.count_nonzero(counterfeit))
        return cls(grouping.group.size - held_back, made, held_back)


@dataclass(frozen=True, repr=False)
class PublishedRows:
    """The published rows of a table, group after group, and the others by their row numbers."""

    order: Ints
    """Row numbers of what was published, in the order of the groups."""
    starts: Ints
    """Where each group begins in `order`; one entry more than there are groups."""
    people: Ints
    """How many people each group holds: its rows but for the counterfeits."""
    counterfeits: Ints
    """Row numbers of the counterfeits, which are in `order` too."""
    held_back: Ints
    """Row numbers of the people who are in no group."""

    @classmethod
    def of(cls, grouping: Grouping, counterfeit: Bools | None = None) -> PublishedRows:
        """Put the rows of a grouping in order."""
        tally = RowCounts.of(grouping, counterfeit)
        sizes = grouping.sizes()
        if not sizes.size:
            raise ParameterError(
                "There are no rows to measure.", hint="measure a release that published at least one row."
            )
        if not sizes.all():
            raise InternalError("a grouping has an empty group")
        starts = starts_of(sizes)
        order = np.empty(tally.published, dtype=np.int64)
        nobody = held_back = np.empty(0, dtype=np.int64)
        if tally.held_back:
            held_back = np.flatnonzero(grouping.group == HELD_BACK)
            published = np.flatnonzero(grouping.group != HELD_BACK)
            order_by_group(grouping.group[published], starts, order)
            order = published[order]
        else:
            order_by_group(grouping.group, starts, order)
        people = sizes
        if counterfeit is not None and tally.counterfeits:
            nobody = np.flatnonzero(counterfeit)
            people = sizes - np.bincount(grouping.group[nobody], minlength=sizes.size)
        return cls(order, starts, people, nobody, held_back)

    @property
    def sizes(self) -> Ints:
        """How many rows each group holds, counterfeits included."""
        return np.diff(self.starts)
