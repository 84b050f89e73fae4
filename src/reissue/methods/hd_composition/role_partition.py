"""The partition of HD-composition: groups of whole cells in which every cohort is awake equally often (section 3.5).

First the tree of cells is descended as long as one of the halves satisfies condition 2 of role-based partition: no
transient value in more than 1/l of those present. A half that does not joins its nearest neighbours. Then cliques are
formed by nearest neighbours across cohorts, where near means close in the tree, and what a clique touches is put
together. Both conditions survive putting groups together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.dense import in_order
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Bools, Ints
from reissue.errors import Infeasible, count_of
from reissue.kernels.cell_cuts import most_frequent
from reissue.methods.hd_composition.cells import LEAF, CutTree
from reissue.reasoning.permanence.scarcity import odds_if_present


def fine_groups(cells: CutTree, present: Ints, facts: tuple[Ints, Ints], least: int) -> Ints:
    """For each cell the group it belongs to, by the number of one of its cells; nothing for other nodes.

    `present` counts people by cell, `facts` are the cell and the value of each transient fact, `least` is l.
    """
    there = cells.up(present)
    fits = (there >= least) & (_most_frequent(cells, *facts) * least <= there)
    if not fits[0]:
        people = count_of(int(there[0]), "person", "people")
        few = f"The table has {people}, fewer than the {least} that l asks for."
        often = (
            f"A value that is not permanent belongs to more than one in {least} of the table's {people}: no grouping "
            "can hide who has it."
        )
        raise Infeasible(
            few if there[0] < least else often, hint="lower l, or publish when there are more people or other values."
        )
    group = np.zeros(len(cells), dtype=np.int64)
    for nodes in cells.levels:
        inner = nodes[cells.left[nodes] != LEAF]
        left = cells.left[inner].astype(np.int64)
        divided = (group[inner] == inner) & fits[inner] & (fits[left] | fits[left + 1])
        group[left] = np.where(divided, left, group[inner])
        group[left + 1] = np.where(divided, left + 1, group[inner])
    return _mended(cells, group, fits, present, facts, least)


def _mended(cells: CutTree, group: Ints, fits: Bools, present: Ints, facts: tuple[Ints, Ints], least: int) -> Ints:
    """Groups that do not fit join a neighbour along the tree, across the cut that was made last, until all fit."""
    leaves = cells.leaves
    at = group[leaves]
    begins = np.concatenate([[True], at[1:] != at[:-1]])
    number = np.cumsum(begins) - 1
    unfit = np.flatnonzero(~fits[at[begins]])
    depth = cells.boundaries
    place = np.zeros(len(cells), dtype=np.int64)
    place[leaves] = np.arange(leaves.size)
    here, code = place[facts[0]], facts[1]
    width = int(code.max(initial=0)) + 1
    while unfit.size:
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], leaves.size)
        # There are no cuts before the first cell and after the last.
        cuts = np.concatenate([[-1], depth, [-1]])
        before, after = cuts[starts[unfit]], cuts[ends[unfit]]
        begins[np.where(before >= after, starts[unfit], ends[unfit])] = False
        joined = np.cumsum(begins) - 1
        changed = np.unique(joined[starts[unfit]])
        number = joined
        # Only what was put together can have changed.
        some = np.isin(number, changed)
        there = np.bincount(number[some], weights=present[leaves[some]], minlength=number[-1] + 1)
        mine = some[here]
        pair, often = np.unique(number[here[mine]] * width + code[mine], return_counts=True)
        most = np.zeros(number[-1] + 1, dtype=np.int64)
        np.maximum.at(most, pair // width, often)
        unfit = changed[(there[changed] < least) | (most[changed] * least > there[changed])]
    group = np.zeros(len(cells), dtype=np.int64)
    group[leaves] = leaves[np.flatnonzero(begins)][number]
    return group


def _most_frequent(cells: CutTree, cell: Ints, code: Ints) -> Ints:
    """For each node how often the most frequent value occurs in it."""
    most = np.zeros(len(cells), dtype=np.int64)
    if not cell.size:
        return most
    first, last = cells.span
    place = first[cell]
    starts = starts_of(np.bincount(place, minlength=cells.leaves.size))
    along = code[in_order(place, cells.leaves.size)]
    often = np.zeros(int(code.max()) + 1, dtype=np.int64)
    most_frequent(np.concatenate(cells.levels), starts[first], starts[last], along, often, most)
    return most


def together(cells: CutTree, group: Ints, cliques: Sequence[tuple[Ints, Ints]], size: int) -> Ints:
    """Groups after cliques were formed; for each node the number of its group, any node standing for it.

    `cliques` are for each permanent value the cells and cohorts of the instances that are awake, of every cohort
    equally many. The first instances of all cohorts along the tree make a clique, then the second ones, and so on: what
    is balanced in itself stays so.
    """
    root = np.arange(len(cells))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = int(root[node])
        return node

    place = cells.span[0]
    for cell, cohort in cliques:
        if not cell.size:
            continue
        order = np.lexsort((place[cell], cohort))
        for members in group[cell[order]].reshape(size, -1).T:
            first = find(int(members[0]))
            for other in members[1:]:
                root[find(int(other))] = first
    while (root[root] != root).any():
        root = root[root]
    return root[group]


def widened(
    cells: CutTree, group: Ints, registered: Ints, facts: tuple[Ints, Ints], permanent: Ints, least: int, known: int
) -> Ints:
    """Put groups together until each shows enough people and values, whomever the adversary knows to be in it.

    `registered` counts people by cell, `facts` are the cell and the value of everything that is shown, of which
    `permanent` are the values that stay. See `LScarce` for what is needed.
    """
    leaves = cells.leaves
    cell, code = facts
    width = int(code.max(initial=0)) + 1
    while True:
        numbers, which = np.unique(group[leaves], return_inverse=True)
        people = np.bincount(which, weights=registered[leaves], minlength=numbers.size).astype(np.int64)
        shown, counts = np.unique(np.searchsorted(numbers, group[cell]) * width + code, return_counts=True)
        of, value = shown // width, shown % width
        odds = odds_if_present(people, of, counts, known)
        lasting = np.isin(value, permanent)
        enough = np.where(lasting, counts * (least + 1) <= people[of] - known, counts * least <= people[of] - known)
        enough &= odds * np.where(lasting, least, least - 1) <= 1
        short = np.unique(of[~enough])
        if not short.size:
            return group
        if numbers.size == 1:
            raise Infeasible(
                f"The table shows too little ({count_of(int(people[0]), 'person', 'people')} registered) to hide "
                f"somebody whose participation is known: a value occurs too often beside the others.",
                hint="publish when there are more people or other values, or lower l or known.",
            )
        # The next group along the tree is the nearest there is; the last one takes the one before.
        along = which[np.sort(np.unique(which, return_index=True)[1])]
        place = np.empty(numbers.size, dtype=np.int64)
        place[along] = np.arange(numbers.size)
        root = np.arange(numbers.size)
        for one in short[np.argsort(place[short])]:
            other = along[place[one] + 1] if place[one] + 1 < numbers.size else along[place[one] - 1]
            root[root == root[one]] = root[other]
        group = group.copy()
        group[leaves] = numbers[root[which]]
