"""Split buckets into groups by repeated halving (Xiao & Tao, SIGMOD 2007, the phase "Split").

A bucket holds, for each value of its signature, the same number h of rows (its height). It becomes h groups, each
with every value exactly once. To halve a part of a bucket, the rows of each value are sorted along an attribute,
and the first floor(h/2) of every value are parted from the rest; of all attributes the one is taken whose two
halves have the smallest perimeters in sum (the first of several). The perimeter of a half is that of the box around
all its rows: the sum of its extents, each as a share of the attribute's domain. Nothing is sampled or skipped.

Along an attribute lie the numbers themselves, the leaves of a hierarchy in tree order, and labels in their declared
order or by their frequency. Rows with equal codes are parted at random. Nothing depends on the order of rows.

What it does not protect against: who knows the program can argue from why these rows came together. Four people at
1, 2, 3, 4 with values a, a, b, b come out as {1, 3} and {2, 4}, which tells that 1 and 2 have the same value.

Cost: O(n d^2 log h) for n rows and d attributes, in compiled code on all cores; memory O(n d).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reissue.arrays.cores import PARALLEL_FROM, cores
from reissue.arrays.types import Floats, Ints
from reissue.errors import InternalError
from reissue.methods.partition.axes import axis, ordered, places

if TYPE_CHECKING:
    from reissue.kernels.halving import Lines, Parts
    from reissue.model.schema import Schema
    from reissue.model.snapshot import Column

Cells = npt.NDArray[np.unsignedinteger]
Codes = npt.NDArray[np.integer]


@dataclass(frozen=True, repr=False)
class QuasiSpace:
    """The quasi-identifiers of a table as lines along which rows lie."""

    places: tuple[npt.NDArray[np.uint32] | None, ...]
    """For each quasi-identifier the place of each code in the order of cuts; None: the order of codes."""
    lines: Lines
    """Where these places lie."""

    @classmethod
    def of(cls, columns: Sequence[Column], schema: Schema) -> QuasiSpace:
        """The space of the quasi-identifiers of a snapshot."""
        lines = [axis(column.levels) for column in columns]
        return cls(
            tuple(places(column, schema) for column in columns),
            lines_of([positions for positions, _ in lines], [width for _, width in lines]),
        )

    def cells(self, codes: Sequence[Codes]) -> Cells:
        """One row of places for each tuple, from its codes in each quasi-identifier.

        Counterfeits have no row in the snapshot: append their codes to those of the people.
        """
        widest = int(np.diff(self.lines.start).max(initial=0))
        rows = codes[0].size if codes else 0
        cells = np.empty((rows, len(codes)), dtype=np.uint16 if widest <= 1 << 16 else np.uint32)
        for position, (column, place) in enumerate(zip(codes, self.places, strict=True)):
            cells[:, position] = ordered(column, place)
        return cells


def lines_of(positions: Sequence[Floats], widths: Sequence[float]) -> Lines:
    """Lines from the positions of each attribute's codes, ascending, and the width of its domain."""
    from reissue.kernels.halving import Lines

    return Lines(
        start=np.cumsum([0, *(line.size for line in positions)], dtype=np.int64),
        position=np.concatenate([np.empty(0), *positions]),
        width=np.array(widths, dtype=np.float64),
        scale=np.array([1.0 / width if width > 0 else 0.0 for width in widths], dtype=np.float64),
    )


def split(
    cells: Cells, bucket: Codes, value: Codes, lines: Lines, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int32], int]:
    """Split every bucket into groups with each of its values exactly once.

    A row has its places along the lines, the number of its bucket and that of its value. Returns the group of each
    row and how many groups there are; they are numbered bucket after bucket, in the order of bucket numbers.
    """
    from reissue.kernels.curve import canonical_order, shuffle_runs

    rows = bucket.size
    if not rows:
        return np.empty(0, dtype=np.int32), 0
    order = canonical_order([bucket, value, *cells.T])
    there, held = bucket[order], value[order]
    fresh = there[1:] != there[:-1]
    runs = np.concatenate([[0], np.flatnonzero(fresh | (held[1:] != held[:-1])) + 1, [rows]])
    parts = _buckets(runs, np.concatenate([[0], np.flatnonzero(fresh) + 1, [rows]]))
    shuffle_runs(order, runs, rng)
    columns = order
    if cells.shape[1] and int(parts.height.max()) > 1:
        columns = order[_halved(cells.take(order, axis=0), runs, parts, lines)]
    # The rows of a run are now in the order of the groups they belong to.
    first = np.cumsum(parts.height) - parts.height
    run_first = np.repeat(first, parts.values)
    group = np.empty(rows, dtype=np.int32)
    group[columns] = np.arange(rows) + np.repeat(run_first - runs[:-1], np.diff(runs))
    return group, int(parts.height.sum())


def _buckets(runs: Ints, starts: Ints) -> Parts:
    """The buckets as they are before the first cut, from where runs of one value and where buckets begin."""
    from reissue.kernels.halving import Parts

    first_run = np.searchsorted(runs, starts)
    values = np.diff(first_run)
    height = np.diff(runs)[first_run[:-1]]
    if np.any(np.repeat(height, values) != np.diff(runs)):
        raise InternalError("a bucket that is to be split does not have the same number of rows of each value")
    return Parts(starts[:-1], values, height, np.zeros_like(height), height)


def _halved(cells: Cells, runs: Ints, buckets: Parts, lines: Lines) -> npt.NDArray[np.int32]:
    """The rows of each run in the order of the columns that their bucket is cut into."""
    from reissue.kernels.halving import Parts, halve, list_rows

    rows, width = cells.shape
    lists = np.empty((width, rows), dtype=np.int32)
    side = np.empty(rows, dtype=np.uint8)
    columns: npt.NDArray[np.int32] = lists[0]

    def arrange(first: int, end: int) -> None:
        """Sort the rows of some runs along every attribute."""
        list_rows(cells, runs[first : end + 1], lists)

    def cut(parts: Parts, limit: int) -> Parts:
        """Halve parts until they have at most `limit` columns; return those that are left to halve."""
        # Whatever is left came from a part above the limit, so it has at least half as many columns.
        room = int(np.sum(2 * (parts.high - parts.low) // limit + 1))
        rest = Parts(*(np.empty(room, dtype=np.int64) for _ in Parts._fields))
        count = halve(cells, lists, lines, parts, limit, side, rest)
        return Parts(*(numbers[:count] for numbers in rest))

    workers = cores()
    if workers == 1 or rows < PARALLEL_FROM:
        arrange(0, runs.size - 1)
        cut(buckets, 1)
        return columns
    hands = 4 * workers
    share = rows // hands
    bounds = np.unique(np.searchsorted(runs, np.linspace(0, rows, hands + 1)))
    sizes = buckets.values * buckets.height
    large = np.flatnonzero(sizes > share)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(arrange, bounds[:-1], bounds[1:]))
        # Buckets too large for one hand are first cut until their parts are not; then all are dealt out.
        limits = np.maximum(share // buckets.values[large], 1).tolist()
        pieces = list(pool.map(cut, [_chosen(buckets, [at]) for at in large], limits))
        every = [_chosen(buckets, sizes <= share), *pieces]
        parts = Parts(*(np.concatenate(numbers) for numbers in zip(*every, strict=True)))
        largest_first = np.argsort(-parts.values * (parts.high - parts.low), kind="stable")
        dealt = [_chosen(parts, largest_first[hand::hands]) for hand in range(hands)]
        list(pool.map(cut, dealt, [1] * hands))
    return columns


def _chosen(parts: Parts, which: Any) -> Parts:
    return type(parts)(*(numbers[which] for numbers in parts))
