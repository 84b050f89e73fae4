"""People who are alike, put together: a table as cells of people who agree in everything that cuts look at.

No strict cut parts them, so cutting cells gives the groups that cutting rows does. A table has often far fewer cells
than people, and then a cut is decided on counts. Cells are found by tables of places, without sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints
from reissue.methods.partition.axes import ordered, places
from reissue.methods.partition.cutting import places_among
from reissue.model.snapshot import Codes, Snapshot, strata

if TYPE_CHECKING:
    from reissue.kernels.group_rules import Held

ROOM, LEAST = 4, 1 << 14
"""A table of places has at most so many for each row, or so many in all."""

Places = npt.NDArray[np.int32]


@dataclass(frozen=True, repr=False)
class Alike:
    """People who agree in all quasi-identifiers and in all columns published as they are, in one cell each."""

    cells: npt.NDArray[np.unsignedinteger]
    """The quasi-identifiers and, last, how many people there are: one row of codes for each cell."""
    held: Held
    """Which values they have, as the kernel wants it."""
    cell: Places
    """The cell of each person."""
    strata_ends: Ints
    """Where the cells of each stratum end; one after the other in the order of strata."""

    @classmethod
    def of(cls, snapshot: Snapshot, used: Ints) -> Alike | None:
        """Everybody in cells, with values as places among those used; None where that would not pay."""
        quasi = [ordered(column.codes, places(column, snapshot.schema)) for column in snapshot.quasi]
        stratum = strata(snapshot) if snapshot.as_is else np.zeros(len(snapshot), dtype=np.int32)
        found = _together([stratum, *quasi])
        if found is None:
            return None
        cell, count = found
        one = np.empty(count, dtype=np.int32)
        one[cell] = np.arange(cell.size, dtype=np.int32)
        sizes = np.bincount(cell)
        wide = max(int(sizes.max()), *(int(codes.max()) for codes in quasi)) >= 1 << 16
        cells = np.empty((count, len(quasi) + 1), dtype=np.uint32 if wide else np.uint16)
        for position, codes in enumerate([*(codes[one] for codes in quasi), sizes]):
            cells[:, position] = codes
        strata_ends = np.append(np.flatnonzero(np.diff(stratum[one])) + 1, count).astype(np.int64)
        return cls(cells, _held(cell, sizes, snapshot.values.codes, used), cell, strata_ends)


def _together(columns: list[npt.NDArray[np.integer]]) -> tuple[Places, int] | None:
    """The cell of each row, numbered in the order of the columns, and how many there are.

    None where more than half of the rows would have a cell of their own, or the tables would be too large to find out.
    """
    rows = columns[0].size
    most = max(ROOM * rows, LEAST)
    cell, possible = columns[0].astype(np.int32), int(columns[0].max()) + 1
    for codes in columns[1:]:
        size = int(codes.max()) + 1
        if possible * size > most:
            cell, possible = _without_gaps(cell, possible)
            if possible * size > most:
                return None
        cell *= size
        np.add(cell, codes, out=cell, casting="unsafe")
        possible *= size
    cell, possible = _without_gaps(cell, possible)
    return (cell, possible) if 2 * possible <= rows else None


def _without_gaps(numbers: Places, possible: int) -> tuple[Places, int]:
    """Numbers below `possible` as places among those that occur, and how many these are."""
    occurs = np.zeros(possible, dtype=np.bool_)
    occurs[numbers] = True
    place = np.cumsum(occurs, dtype=np.int32)
    place -= 1
    return place[numbers], int(place[-1]) + 1


def _held(cell: Places, sizes: Ints, codes: Codes, used: Ints) -> Held:
    """The values of each cell, each once, and how often."""
    from reissue.kernels.group_rules import Held
    from reissue.kernels.grouped import count_runs, unwritten, values_by_group

    starts = starts_of(sizes)
    in_order, distinct = np.empty_like(codes), np.empty_like(codes)
    counts, run_starts = np.empty(codes.size, dtype=np.int64), np.empty(starts.size, dtype=np.int64)
    values_by_group(cell, unwritten(codes), starts, in_order)
    runs = count_runs(in_order, starts, distinct, counts, run_starts)
    values = places_among(used)[distinct[:runs]].astype(np.int32)
    return Held(run_starts, values, counts[:runs].astype(np.int32))
