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

from reissue.errors import Refused, count_of
from reissue.methods.axes import axis
from reissue.snapshot import Column, Labels, Leaves, Numbers

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LEAF = -1
"""In place of a child where a cell is not cut."""

NODES = pl.Schema({"attribute": pl.String, "number": pl.Float64, "label": pl.String, "left": pl.Int64})
"""One row for each node, the root first: what it is cut by, the lowest number or label of its right half, and the node
of the left half; the right half is the next one. All null where it is a cell, and so is `left`."""


@dataclass(frozen=True, repr=False)
class Cells:
    """A tree of cuts. Node 0 is the whole space; the children of a node are `left` and `left` + 1."""

    attribute: npt.NDArray[np.int32]
    """The position of the attribute that each node is cut by; -1 for a cell."""
    bound: Ints
    """The lowest code of the right half."""
    left: npt.NDArray[np.int32]
    """The node of the left half; -1 for a cell."""
    parent: npt.NDArray[np.int32]
    """The node that each was cut from; -1 for the root."""

    def __repr__(self) -> str:
        return f"Cells({int((self.left == LEAF).sum()):,} cells)"

    def __len__(self) -> int:
        return self.left.size

    @classmethod
    def undivided(cls) -> Cells:
        """The whole space as one cell."""
        one = np.full(1, LEAF, dtype=np.int32)
        return cls(one, np.zeros(1, dtype=np.int64), one.copy(), one.copy())

    @classmethod
    def from_frame(cls, nodes: pl.DataFrame, quasi: Sequence[Column]) -> Cells:
        """The tree that `frame` was made of, in the codes of this table."""
        left = nodes["left"].fill_null(LEAF).to_numpy().astype(np.int32)
        attribute = np.full(left.size, -1, dtype=np.int32)
        bound = np.zeros(left.size, dtype=np.int64)
        by = nodes["attribute"].to_numpy()
        lost = int(np.count_nonzero((left != LEAF) & ~np.isin(by.astype(str), [column.name for column in quasi])))
        for position, column in enumerate(quasi):
            cut = np.flatnonzero((by == column.name) & (left != LEAF))
            attribute[cut] = position
            codes = _codes(nodes[cut], column)
            lost += int(np.count_nonzero(codes < 0))
            bound[cut] = codes
        if lost:
            raise Refused(
                f"{count_of(lost, 'cut')} between containers cannot be found again: a quasi-identifier, or labels of "
                "its hierarchy, are no longer in the policy.",
                hint="put them back; what was cut once stays cut for the whole series.",
            )
        parent = np.full(left.size, LEAF, dtype=np.int32)
        inner = np.flatnonzero(left != LEAF)
        parent[left[inner]] = parent[left[inner] + 1] = inner
        return cls(attribute, bound, left, parent)

    def frame(self, quasi: Sequence[Column]) -> pl.DataFrame:
        """The tree in terms of values, as it is kept."""
        number = np.full(len(self), np.nan)
        label = np.full(len(self), None, dtype=object)
        names = np.array([*(column.name for column in quasi), None], dtype=object)
        for position, column in enumerate(quasi):
            cut = np.flatnonzero(self.attribute == position)
            if isinstance(column.levels, Numbers):
                number[cut] = column.levels.values[self.bound[cut]]
            else:
                label[cut] = np.array(_labels(column), dtype=object)[self.bound[cut]]
        columns = {
            "attribute": names[self.attribute].tolist(),
            "number": pl.Series(number).fill_nan(None),
            "label": label.tolist(),
            "left": pl.Series(self.left.astype(np.int64)).replace(LEAF, None),
        }
        return pl.DataFrame(columns, schema=NODES)

    def locate(self, quasi: Sequence[Column]) -> Ints:
        """The cell in which each row is."""
        rows = quasi[0].codes.size if quasi else 0
        node = np.zeros(rows, dtype=np.int32)
        moving = np.arange(rows)
        while moving.size:
            at = node[moving]
            inner = self.left[at] != LEAF
            moving, at = moving[inner], at[inner]
            for position, column in enumerate(quasi):
                here = self.attribute[at] == position
                rows_here, nodes_here = moving[here], at[here]
                node[rows_here] = self.left[nodes_here] + (column.codes[rows_here] >= self.bound[nodes_here])
        return node.astype(np.int64)

    def up(self, amounts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
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


def grow(cells: Cells, quasi: Sequence[Column], least: Sequence[tuple[Flags, int]], fixed: Ints) -> Cells:
    """Cut cells further, each at the middle of the people in it, across the attribute they are spread over widest.

    Both halves must have at least so many of each sort of people as `least` says: flags for each row, and a number.
    The cells listed in `fixed` are left as they are. Where the widest attribute has no such cut, the next is tried.
    """
    attribute, bound, left, parent = cells.attribute, cells.bound, cells.left, cells.parent
    closed = np.zeros(len(cells), dtype=np.bool_)
    closed[fixed] = True
    node = cells.locate(quasi)
    rows = np.flatnonzero(~closed[node])
    node = node[rows]
    positions = [_positions(column) for column in quasi]
    while rows.size:
        opened, local = np.unique(node, return_inverse=True)
        cut_by, cut_at = _cuts(opened.size, local, rows, quasi, positions, least)
        done = np.flatnonzero(cut_by >= 0)
        if not done.size:
            break
        cut, child = opened[done], np.full(opened.size, LEAF, dtype=np.int64)
        child[done] = left.size + 2 * np.arange(done.size)
        attribute, bound, left = attribute.copy(), bound.copy(), left.copy()
        attribute[cut], bound[cut], left[cut] = cut_by[done], cut_at[done], child[done]
        fresh = np.full(2 * done.size, LEAF, dtype=np.int32)
        attribute, left = np.concatenate([attribute, fresh]), np.concatenate([left, fresh])
        bound = np.concatenate([bound, np.zeros(fresh.size, dtype=np.int64)])
        parent = np.concatenate([parent, np.repeat(cut, 2).astype(np.int32)])
        going_on = child[local] != LEAF
        rows, local = rows[going_on], local[going_on]
        node = child[local]
        for position, column in enumerate(quasi):
            here = np.flatnonzero(cut_by[local] == position)
            node[here] += column.codes[rows[here]] >= cut_at[local[here]]
    return Cells(attribute, bound, left, parent)


def _cuts(
    nodes: int,
    node: Ints,
    rows: Ints,
    quasi: Sequence[Column],
    positions: Sequence[npt.NDArray[np.float64]],
    sorts: Sequence[tuple[Flags, int]],
) -> tuple[Ints, Ints]:
    """For each node the attribute it is cut by, and the lowest code of the right half; -1 where it is not cut."""
    spread = np.zeros((len(quasi), nodes))
    for at, (column, lies) in enumerate(zip(quasi, positions, strict=True)):
        where = lies[column.codes[rows]]
        low, high = np.full(nodes, np.inf), np.full(nodes, -np.inf)
        np.minimum.at(low, node, where)
        np.maximum.at(high, node, where)
        spread[at] = high - low
    order = np.argsort(-spread, axis=0, kind="stable")
    cut_by = np.full(nodes, -1, dtype=np.int64)
    cut_at = np.zeros(nodes, dtype=np.int64)
    for rank in range(len(quasi)):
        for position, column in enumerate(quasi):
            wanted = (cut_by < 0) & (order[rank] == position) & (spread[position] > 0)
            if not wanted.any():
                continue
            chosen = np.flatnonzero(wanted[node])
            bounds = _middles(nodes, node[chosen], column.codes[rows[chosen]].astype(np.int64), rows[chosen], sorts)
            found = wanted & (bounds >= 0)
            cut_by[found] = position
            cut_at[found] = bounds[found]
    return cut_by, cut_at


def _middles(nodes: int, node: Ints, codes: Ints, rows: Ints, sorts: Sequence[tuple[Flags, int]]) -> Ints:
    """For each node the code at which its people fall most evenly into halves that have enough; -1 for none."""
    width = int(codes.max(initial=0)) + 1
    order = np.argsort(node * width + codes, kind="stable")
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


def _positions(column: Column) -> npt.NDArray[np.float64]:
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
    code_of = {label: code for code, label in enumerate(_labels(column))}
    return np.array([code_of.get(label, -1) for label in nodes["label"]], dtype=np.int64)
