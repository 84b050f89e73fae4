"""The published regions of the groups, laid out for the kernel that answers queries from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints
from reissue.kernels.query_counts import INTERVAL, LANES, NODE, SET, generalised, node_shares
from reissue.model.hierarchy import Hierarchy
from reissue.utility.extents import Extents, Intervals, Nodes, Sets
from reissue.utility.workload import Batch, is_whole

Small = npt.NDArray[np.uint32]


@dataclass(frozen=True, repr=False)
class Regions:
    """One region for each attribute and group; what does not apply to an attribute stays 0."""

    kinds: Ints
    low: Floats
    high: Floats
    set_starts: Ints
    set_lines: Small
    nodes: Small
    """Positions among the distinct nodes that are published, of all hierarchies."""
    leaf_starts: Ints
    """Where each of those begins in `leaf_lines`."""
    leaf_lines: Small
    """The lines of the leaves below each."""

    @classmethod
    def of(cls, extents: Extents, bases: Ints) -> Regions:
        """Lay out what was measured; `bases` says where the lines of each attribute begin."""
        width, groups = len(extents.columns), extents.rows.sizes.size
        kinds = np.zeros(width, dtype=np.int64)
        low, high = np.zeros((width, groups)), np.zeros((width, groups))
        set_starts = np.zeros((width, groups + 1), dtype=np.int64)
        nodes = np.zeros((width, groups), dtype=np.uint32)
        set_lines: list[Small] = [np.empty(0, dtype=np.uint32)]
        leaves: list[Small] = []
        for position, extent in enumerate(extents.columns):
            base = np.uint32(bases[position])
            if isinstance(extent, Intervals):
                kinds[position] = INTERVAL
                low[position], high[position] = _interval(extent)
            elif isinstance(extent, Sets):
                kinds[position] = SET
                set_starts[position] = extent.starts + sum(part.size for part in set_lines)
                set_lines.append(extent.codes + base)
            else:
                kinds[position] = NODE
                below, which = _leaves_below(extent)
                nodes[position] = which + len(leaves)
                leaves += [found + base for found in below]
        return cls(
            kinds,
            low,
            high,
            set_starts,
            np.concatenate(set_lines),
            nodes,
            np.cumsum([0, *(found.size for found in leaves)], dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.uint32), *leaves]),
        )

    def answer(
        self,
        cells: Small,
        starts: Ints,
        ranged: Bools,
        batch: Batch,
        actual: Ints,
        estimated: Floats,
    ) -> None:
        """Answer the queries of a batch from the rows and from these regions."""
        shares = np.empty((self.leaf_starts.size - 1, LANES))
        node_shares(self.leaf_starts, self.leaf_lines, batch.table, shares)
        generalised(
            cells,
            starts,
            ranged,
            batch.begin,
            batch.width,
            batch.table,
            self.kinds,
            self.low,
            self.high,
            batch.lower,
            batch.upper,
            self.set_starts,
            self.set_lines,
            self.nodes,
            shares,
            actual,
            estimated,
        )


def _interval(extent: Intervals) -> tuple[Floats, Floats]:
    """The ends on the number line, after the convention of `workload.edges`."""
    half = 0.5 if is_whole(extent.levels) else 0.0
    # Only a query that does not restrict the attribute reaches down to where missing values are put.
    nothing = np.isnan(extent.low)
    return (
        np.where(nothing, -np.inf, extent.low - half),
        np.where(nothing, -np.inf, extent.high + half),
    )


def _leaves_below(extent: Nodes) -> tuple[list[Small], Ints]:
    """The leaf positions below each distinct node, and which of those each group has."""
    hierarchy = extent.levels.hierarchy
    used, which = np.unique(extent.node, return_inverse=True)
    return [_positions(hierarchy, int(node)) for node in used], which


def _positions(hierarchy: Hierarchy, node: int) -> Small:
    if hierarchy.is_tree:
        return np.arange(hierarchy.first[node], hierarchy.last[node] + 1, dtype=np.uint32)
    below = [hierarchy.node(label) for label in hierarchy.covers(hierarchy.labels[node])]
    return np.searchsorted(hierarchy.leaf_nodes, below).astype(np.uint32)
