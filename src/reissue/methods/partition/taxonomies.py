"""Every quasi-identifier as a tree, for methods that generalise along taxonomies.

| column            | tree                                                                                         |
|-------------------|----------------------------------------------------------------------------------------------|
| with a hierarchy  | its spanning tree, which in a tree is the whole hierarchy                                    |
| numbers           | the domain halved again and again, whatever the table holds; numbers that no halving of      |
|                   | `BITS` steps parts are leaves side by side; a missing number is a leaf beside all numbers    |
| labels            | everything, and below it each label                                                          |

Halves without any number of the column are left out, and so is a half that is all there is of its whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Ints
from reissue.model.snapshot import Column, Leaves, Levels, Numbers

BITS = 52
"""So many halvings at most: finer than floats tell apart in most of the domain."""
ABSENT = -1

Nodes = npt.NDArray[np.int32]


@dataclass(frozen=True, repr=False)
class Lineages:
    """For each code of some columns the nodes from the root of its tree down to its leaf."""

    path: Nodes
    """A row for each code, column after column: the node at each depth, `ABSENT` below the leaf."""
    deep: Nodes
    """The depth of each code's leaf."""
    start: Ints
    """Where the codes of each column begin."""
    depth: Nodes
    """The depth of each node."""
    leaf: Bools
    """Whether a node is a leaf."""
    root: Nodes
    """The root of each column."""

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Lineages:
        """The trees of these columns, their nodes numbered through."""
        parts = [lineages(column.levels) for column in columns]
        width = max(path.shape[1] for path in parts)
        paths, roots, nodes = [], [], 0
        for path in parts:
            wide = np.full((path.shape[0], width), ABSENT, dtype=np.int32)
            wide[:, : path.shape[1]] = np.where(path >= 0, path + nodes, ABSENT)
            paths.append(wide)
            roots.append(nodes)
            nodes += int(path.max()) + 1
        path = np.concatenate(paths)
        deep = (np.count_nonzero(path >= 0, axis=1) - 1).astype(np.int32)
        depth = np.zeros(nodes, dtype=np.int32)
        for level in range(width):
            depth[path[path[:, level] >= 0, level]] = level
        leaf = np.zeros(nodes, dtype=np.bool_)
        leaf[path[np.arange(deep.size), deep]] = True
        start = np.cumsum([0, *(part.shape[0] for part in parts)]).astype(np.int64)
        return cls(path, deep, start, depth, leaf, np.array(roots, dtype=np.int32))


def lineages(levels: Levels) -> Nodes:
    """For each code the nodes from the root down to its leaf, `ABSENT` below; node 0 is the root."""
    if isinstance(levels, Leaves):
        tree = levels.hierarchy
        climbed = [tree.leaf_nodes.astype(np.int32)]
        while (climbed[-1] > 0).any():
            here = climbed[-1]
            climbed.append(np.where(here > 0, tree.parent[here], ABSENT).astype(np.int32))
        upwards = np.stack(climbed, axis=1)
        deep = np.count_nonzero(upwards >= 0, axis=1) - 1
        at = deep[:, None] - np.arange(upwards.shape[1])
        return np.where(at >= 0, np.take_along_axis(upwards, np.maximum(at, 0), axis=1), ABSENT).astype(np.int32)
    if isinstance(levels, Numbers):
        return _halved(levels)
    codes = np.arange(len(levels.labels), dtype=np.int32)
    return np.stack([np.zeros_like(codes), codes + 1], axis=1)


def positions(levels: Numbers) -> Ints:
    """Where each number lies in the domain, in steps of 2**-BITS of it; -1 for a missing number."""
    span = levels.high - levels.low
    share = (levels.values - levels.low) / span if span > 0 else np.zeros_like(levels.values)
    if levels.missing:
        share[0] = 0.0
    found = np.clip(np.floor(share * 2.0**BITS), 0, 2**BITS - 1).astype(np.int64)
    if levels.missing:
        found[0] = -1
    return found


def _halved(levels: Numbers) -> Nodes:
    place = positions(levels)
    count = place.size
    path = np.full((count, BITS + 4), ABSENT, dtype=np.int32)
    path[:, 0] = 0
    deep = np.zeros(count, dtype=np.int64)
    run = np.zeros(count, dtype=np.int64)
    nodes = 1
    # -1 >> any number of bits stays -1: a missing number is parted from the others at the first step.
    for bits in range(BITS, -2, -1):
        cut = place >> bits if bits >= 0 else np.arange(count)
        finer = np.concatenate([[0], np.cumsum(np.diff(cut) != 0)])
        if finer[-1] == run[-1]:
            continue
        first = np.flatnonzero(np.diff(finer, prepend=-1))
        # A part that is all of the part above it is no node of its own.
        new = np.bincount(run[first])[run[first]] > 1
        number = np.where(new, nodes + np.cumsum(new) - 1, 0)
        nodes += int(np.count_nonzero(new))
        parted = np.flatnonzero(new[finer])
        deep[parted] += 1
        path[parted, deep[parted]] = number[finer[parted]]
        run = finer
        if finer[-1] == count - 1:
            break
    return path[:, : int(deep.max()) + 1]
