"""Cells: the space of quasi-identifiers cut in two again and again, without a look at anybody's values or roles.

A cell is what HD-composition calls a container (Bu et al., section 3.2.1). The cuts are made by where the registered
people are, which is public, and by how many of them are in the table. A cut is kept for ever, in terms of values and
not of codes, so that a cell means the same in every release; it is only ever cut further while no role lives in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import in_order
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import Refused, count_of
from reissue.kernels.cell_cuts import descend
from reissue.methods.partition.axes import axis
from reissue.model.snapshot import Column, Labels, Leaves, Numbers

Codes = npt.NDArray[np.int32]

LEAF = -1
"""In place of a child where a cell is not cut."""

NODES = pl.Schema(
    {"node": pl.Int64, "attribute": pl.String, "number": pl.Float64, "label": pl.String, "left": pl.Int64}
)
"""One row for each node: what it is cut by, the lowest number or label of its right half, and the node of the left
half; the right half is the next one. All null where it is a cell."""


@dataclass(frozen=True, repr=False)
class CutTree:
    """A tree of cuts. Node 0 is the whole space; the children of a node are `left` and `left` + 1.

    Numbers of nodes are never given again. Those that belonged to cells put together since are nowhere in the tree.
    """

    attribute: npt.NDArray[np.int32]
    """The position of the attribute that each node is cut by; -1 for a cell."""
    bound: Ints
    """The lowest code of the right half, in the codes of this table; one above all where nobody is in it."""
    number: Floats
    """The number that stood there when the cut was made, which this table need not have; NaN for labels and cells."""
    left: npt.NDArray[np.int32]
    """The node of the left half; -1 for a cell."""
    parent: npt.NDArray[np.int32]
    """The node that each was cut from; -1 for the root."""

    def __repr__(self) -> str:
        return f"CutTree({self.leaves.size:,} cells)"

    def __len__(self) -> int:
        return self.left.size

    @classmethod
    def undivided(cls) -> CutTree:
        """The whole space as one cell."""
        one = np.full(1, LEAF, dtype=np.int32)
        return cls(one, np.zeros(1, dtype=np.int64), np.full(1, np.nan), one.copy(), one.copy())

    @classmethod
    def from_frame(cls, nodes: pl.DataFrame, quasi: Sequence[Column]) -> CutTree:
        """The tree that `frame` was made of, in the codes of this table."""
        node, below = nodes["node"].to_numpy(), _whole(nodes["left"])
        count = int(node.max()) + 1
        attribute, left = (np.full(count, LEAF, dtype=np.int32) for _ in range(2))
        bound, number = np.zeros(count, dtype=np.int64), np.full(count, np.nan)
        left[node], number[node] = below, nodes["number"].to_numpy()
        cut_by = _places(nodes["attribute"], [column.name for column in quasi])
        lost = int(np.count_nonzero(below != LEAF))
        for position, column in enumerate(quasi):
            mine = np.flatnonzero((cut_by == position) & (below != LEAF))
            codes = _codes(nodes[mine], column)
            attribute[node[mine]], bound[node[mine]] = position, codes
            lost -= int(np.count_nonzero(codes >= 0))
        if lost:
            raise Refused(
                f"{count_of(lost, 'cut')} between containers cannot be found again: a quasi-identifier, or labels of "
                "its hierarchy, are no longer in the policy.",
                hint="put them back; what was cut once stays cut for the whole series.",
            )
        parent = np.full(count, LEAF, dtype=np.int32)
        above = np.flatnonzero(left != LEAF)
        parent[left[above]] = parent[left[above] + 1] = above
        return cls(attribute, bound, number, left, parent)

    def frame(self, quasi: Sequence[Column]) -> pl.DataFrame:
        """The tree in terms of values, as it is kept."""
        nodes = np.sort(np.concatenate(self.levels))
        cut_by = self.attribute[nodes].astype(np.int64)
        # The labels of all attributes one after the other, and nothing in the last place.
        labels = [_labels(column) for column in quasi]
        first = np.cumsum([0, *map(len, labels)])
        is_label = np.array([*map(bool, labels), False])[cut_by]
        columns = {
            "node": nodes,
            "attribute": _named([column.name for column in quasi], cut_by),
            "number": pl.Series(self.number[nodes], nan_to_null=True),
            "label": _named(
                [label for some in labels for label in some],
                np.where(is_label, first[cut_by] + self.bound[nodes], LEAF),
            ),
            "left": _without(LEAF, self.left[nodes].astype(np.int64)),
        }
        return pl.DataFrame(columns, schema=NODES)

    def locate(self, codes: Codes) -> Ints:
        """The cell in which each row is; `codes` has a row for each attribute, see `codes_of`."""
        node = np.zeros(codes.shape[1], dtype=np.int64)
        descend(codes, self.attribute, self.bound, self.left, node)
        return node

    def up(self, amounts: Ints) -> Ints:
        """What each node has in all of its cells together, from what each cell has (its first axis)."""
        total = amounts.copy()
        # Children come after their parents.
        for children in self.levels[:0:-1]:
            np.add.at(total, self.parent[children], total[children])
        return total

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes of each depth, the root first."""
        levels = [np.zeros(1, dtype=np.int64)]
        while True:
            inner = self.left[levels[-1]]
            inner = inner[inner != LEAF]
            if not inner.size:
                return levels
            levels.append(np.concatenate([inner, inner + 1]).astype(np.int64))

    @cached_property
    def leaves(self) -> Ints:
        """The cells, from left to right."""
        every = np.concatenate(self.levels)
        cells = every[self.left[every] == LEAF]
        in_line: Ints = cells[np.argsort(self.span[0][cells])]
        return in_line

    @cached_property
    def boundaries(self) -> Ints:
        """For each cell but the last, from left to right, the depth of the cut between it and the next."""
        depth = np.zeros(max(self.leaves.size - 1, 0), dtype=np.int64)
        _, ends = self.span
        for level, nodes in enumerate(self.levels):
            inner = nodes[self.left[nodes] != LEAF]
            depth[ends[self.left[inner]] - 1] = level
        return depth

    @cached_property
    def span(self) -> tuple[Ints, Ints]:
        """The cells of each node as places from the first up to, not including, the second; a cell is one place.

        Places run through the tree from left to right, so that neighbours in it are close in space.
        """
        width = self.up((self.left == LEAF).astype(np.int64))
        start = np.zeros(len(self), dtype=np.int64)
        for nodes in self.levels[:-1]:
            inner = nodes[self.left[nodes] != LEAF]
            left = self.left[inner]
            start[left] = start[inner]
            start[left + 1] = start[inner] + width[left]
        return start, start + width


def codes_of(quasi: Sequence[Column]) -> Codes:
    """The codes of all attributes, one row for each."""
    return np.stack([column.codes.astype(np.int32) for column in quasi])


def grow(
    cells: CutTree, quasi: Sequence[Column], codes: Codes, cell: Ints, least: Sequence[tuple[Bools, int]], fixed: Ints
) -> tuple[CutTree, Ints]:
    """Cut cells further, each at the middle of the people in it, across the attribute they are spread over widest.

    `cell` is where everybody is; that is returned anew. Both halves must have at least so many of each sort of people
    as `least` says: flags for each row, and a number. The cells listed in `fixed` are left as they are. Where the
    widest attribute has no such cut, the next is tried.
    """
    attribute, bound, left, parent = cells.attribute, cells.bound, cells.left, cells.parent
    number = cells.number
    closed = np.zeros(len(cells), dtype=np.bool_)
    closed[fixed] = True
    cell = cell.copy()
    rows = np.flatnonzero(~closed[cell])
    positions = [_positions(column) for column in quasi]
    while rows.size:
        rows = _divisible(rows, cell[rows], left.size, least)
        opened, local = dense(cell[rows], left.size)
        cut_by, cut_at = _cuts(opened.size, local, rows, codes, positions, least)
        done = np.flatnonzero(cut_by >= 0)
        if not done.size:
            break
        cut, child = opened[done], np.full(opened.size, LEAF, dtype=np.int64)
        child[done] = left.size + 2 * np.arange(done.size)
        attribute, bound, left, number = attribute.copy(), bound.copy(), left.copy(), number.copy()
        attribute[cut], bound[cut], left[cut] = cut_by[done], cut_at[done], child[done]
        for position, column in enumerate(quasi):
            if isinstance(column.levels, Numbers):
                mine = done[cut_by[done] == position]
                number[opened[mine]] = column.levels.values[cut_at[mine]]
        fresh = np.full(2 * done.size, LEAF, dtype=np.int32)
        attribute, left = np.concatenate([attribute, fresh]), np.concatenate([left, fresh])
        bound = np.concatenate([bound, np.zeros(fresh.size, dtype=np.int64)])
        number = np.concatenate([number, np.full(fresh.size, np.nan)])
        parent = np.concatenate([parent, np.repeat(cut, 2).astype(np.int32)])
        going_on = child[local] != LEAF
        rows, local = rows[going_on], local[going_on]
        cell[rows] = child[local] + (codes[cut_by[local], rows] >= cut_at[local])
    return CutTree(attribute, bound, number, left, parent), cell


def prune(cells: CutTree, cell: Ints, present: Bools, least: int, fixed: Ints) -> tuple[CutTree, Ints]:
    """Put cells together again that have become too empty to be two, unless a role lives in one of them.

    So the tree does not grow with everybody who ever was somewhere. `cell` is where everybody is, returned anew.
    """
    left, attribute, cell = cells.left.copy(), cells.attribute.copy(), cell.copy()
    here = np.bincount(cell[present], minlength=len(cells))
    lived_in = np.zeros(len(cells), dtype=np.bool_)
    lived_in[fixed] = True
    goes_to = np.arange(len(cells))
    for nodes in cells.levels[-2::-1] if len(cells.levels) > 1 else []:
        inner = nodes[left[nodes] != LEAF]
        one, other = left[inner].astype(np.int64), left[inner].astype(np.int64) + 1
        both = (left[one] == LEAF) & (left[other] == LEAF) & ~lived_in[one] & ~lived_in[other]
        merged = inner[both & (here[one] + here[other] < least)]
        goes_to[left[merged]] = goes_to[left[merged] + 1] = merged
        here[merged] = here[left[merged]] + here[left[merged] + 1]
        left[merged] = attribute[merged] = LEAF
    while (goes_to[goes_to] != goes_to).any():
        goes_to = goes_to[goes_to]
    parent = np.full(len(cells), LEAF, dtype=np.int32)
    number = np.where(left == LEAF, np.nan, cells.number)
    pruned = CutTree(attribute, cells.bound, number, left, parent)
    for nodes in pruned.levels:
        inner = nodes[left[nodes] != LEAF]
        parent[left[inner]] = parent[left[inner] + 1] = inner
    return pruned, goes_to[cell]


def dense(cell: Ints, nodes: int) -> tuple[Ints, Ints]:
    """The cells that occur, ascending, and the place of each row's among them."""
    occurs = np.zeros(nodes, dtype=np.bool_)
    occurs[cell] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[cell]


def _divisible(rows: Ints, cell: Ints, nodes: int, least: Sequence[tuple[Bools, int]]) -> Ints:
    """The rows of cells that have enough people of each sort for two."""
    enough = np.ones(nodes, dtype=np.bool_)
    for flags, number in least:
        enough &= np.bincount(cell[flags[rows]], minlength=nodes) >= 2 * number
    return rows[enough[cell]]


def _cuts(
    nodes: int,
    node: Ints,
    rows: Ints,
    codes: Codes,
    positions: Sequence[Floats],
    sorts: Sequence[tuple[Bools, int]],
) -> tuple[Ints, Ints]:
    """For each node the attribute it is cut by, and the lowest code of the right half; -1 where it is not cut."""
    spread = np.zeros((len(positions), nodes))
    order = in_order(node, nodes)
    first = np.searchsorted(node[order], np.arange(nodes))
    for at, lies in enumerate(positions):
        where = lies[codes[at][rows[order]]]
        if node.size:
            spread[at] = np.maximum.reduceat(where, first) - np.minimum.reduceat(where, first)
    widest = np.argsort(-spread, axis=0, kind="stable")
    cut_by = np.full(nodes, -1, dtype=np.int64)
    cut_at = np.zeros(nodes, dtype=np.int64)
    for across in widest:
        wanted = (cut_by < 0) & (spread[across, np.arange(nodes)] > 0)
        if not wanted.any():
            break
        chosen = np.flatnonzero(wanted[node])
        codes_here = codes[across[node[chosen]], rows[chosen]].astype(np.int64)
        bounds = _middles(nodes, node[chosen], codes_here, rows[chosen], sorts)
        found = wanted & (bounds >= 0)
        cut_by[found] = across[found]
        cut_at[found] = bounds[found]
    return cut_by, cut_at


def _middles(nodes: int, node: Ints, codes: Ints, rows: Ints, sorts: Sequence[tuple[Bools, int]]) -> Ints:
    """For each node the code at which its people fall most evenly into halves that have enough; -1 for none."""
    width = int(codes.max(initial=0)) + 1
    # Two counting sorts, the less important key first.
    order = in_order(codes, width)
    order = order[in_order(node[order], nodes)]
    node, codes, rows = node[order], codes[order], rows[order]
    starts = np.searchsorted(node, np.arange(nodes + 1))
    # A place is where one code ends and the next begins, within a node.
    place = np.flatnonzero((node[1:] == node[:-1]) & (codes[1:] != codes[:-1])) + 1
    of = node[place]
    allowed = np.ones(place.size, dtype=np.bool_)
    for flags, number in sorts:
        before = np.concatenate([[0], np.cumsum(flags[rows])])
        below = before[place] - before[starts[of]]
        allowed &= (below >= number) & (before[starts[of + 1]] - before[starts[of]] - below >= number)
    place, of = place[allowed], of[allowed]
    uneven = np.abs(2 * place - starts[of] - starts[of + 1])
    best = np.lexsort((place, uneven, of))
    first = np.unique(of[best], return_index=True)
    bounds = np.full(nodes, -1, dtype=np.int64)
    bounds[first[0]] = codes[place[best[first[1]]]]
    return bounds


def _positions(column: Column) -> Floats:
    """Where each code lies, on a line of length 1 for the whole domain."""
    positions, width = axis(column.levels)
    return (positions - positions[0]) / width if width > 0 else np.zeros(positions.size)


def _labels(column: Column) -> tuple[str, ...]:
    levels = column.levels
    return (
        levels.labels if isinstance(levels, Labels) else levels.hierarchy.leaves if isinstance(levels, Leaves) else ()
    )


def _codes(nodes: pl.DataFrame, column: Column) -> Ints:
    """The lowest code of each right half in the codes of a column; -1 where its label is no longer known."""
    levels = column.levels
    if isinstance(levels, Numbers):
        values = levels.values[1:] if levels.missing else levels.values
        return np.searchsorted(values, nodes["number"].to_numpy()).astype(np.int64) + int(levels.missing)
    return _places(nodes["label"], _labels(column))


def _places(column: pl.Series, names: Sequence[str]) -> Ints:
    """The place of each entry among names; -1 where it is none of them."""
    return _whole(column.cast(pl.Enum(list(names)), strict=False).to_physical())


def _named(names: Sequence[str], places: Ints) -> pl.Series:
    """The name at each place; nothing at -1."""
    # Not an enumeration: labels of two columns can be the same.
    return pl.Series([*names, None], dtype=pl.String).gather(np.where(places == LEAF, len(names), places))


def _whole(column: pl.Series) -> Ints:
    """Whole numbers; -1 for null."""
    numbers = column.to_numpy()
    return np.where(np.isnan(numbers), LEAF, numbers).astype(np.int64)


def _without(number: int, numbers: Ints) -> pl.Series:
    """The numbers, nothing in place of one of them."""
    return pl.Series(np.where(numbers == number, np.nan, numbers), nan_to_null=True).cast(pl.Int64)
