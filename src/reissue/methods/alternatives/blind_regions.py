"""Blind regions: quasi-identifiers of at least k people together, without a look at anybody's value.

The space of quasi-identifiers is cut once, by where the people of the first table are, and never cut further. Where a
cell has fewer than k people in a later release, it is put together with its neighbour in the tree of cuts for good. So
cells never become smaller. A region is published as what the people of a cell cover; it tells who else is in the
table and where, and nothing about values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import Infeasible, count_of
from reissue.methods.hd_composition.cells import LEAF, CutTree, codes_of, dense, grow
from reissue.model.memory import Memory
from reissue.model.snapshot import Column

CELLS = "cells"


def regions(quasi: Sequence[Column], k: int, memory: Memory) -> tuple[Ints, int, pl.DataFrame]:
    """For each row its region, how many there are, and the tree of cuts as it is kept."""
    codes = codes_of(quasi)
    people = codes.shape[1]
    if people < k:
        raise Infeasible(
            f"The table has {count_of(people, 'row')}, and a region must have at least k = {k} people.",
            hint="choose a smaller k.",
        )
    if CELLS in memory:
        tree = CutTree.from_frame(memory[CELLS], quasi)
        cell = tree.locate(codes)
    else:
        everybody = np.ones(people, dtype=np.bool_)
        undivided = CutTree.undivided()
        nobody = np.zeros(0, dtype=np.int64)
        tree, cell = grow(undivided, quasi, codes, np.zeros(people, dtype=np.int64), [(everybody, k)], nobody)
    tree = _filled(tree, np.bincount(cell, minlength=len(tree)), k)
    cells, group = dense(tree.locate(codes), len(tree))
    return group, cells.size, tree.frame(quasi)


def _filled(tree: CutTree, people: Ints, k: int) -> CutTree:
    """The tree with every cell put together with its neighbours that has some people, but fewer than k."""
    left, attribute = tree.left.copy(), tree.attribute.copy()
    here = tree.up(people)
    few = np.zeros(len(tree), dtype=np.bool_)
    for nodes in reversed(tree.levels):
        inner = nodes[left[nodes] != LEAF]
        few[inner] = few[left[inner]] | few[left[inner] + 1]
        merged = inner[few[inner]]
        left[merged] = attribute[merged] = LEAF
        leaves = nodes[left[nodes] == LEAF]
        few[leaves] = (here[leaves] > 0) & (here[leaves] < k)
    return CutTree(attribute, tree.bound, np.where(left == LEAF, np.nan, tree.number), left, tree.parent)
