"""k-anonymity without a look at the sensitive column: the first step of Mask.

Mondrian's cuts and top-down recoding along taxonomies are both tried, and the groups that lose less information (Wong's
measure) are taken: cuts at medians suit numbers, taxonomies are cut better where small branches stay behind alone.
Either way no group is larger than k asks, and nothing depends on anybody's value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import Ints
from reissue.methods.partition.alpha_k import AlphaK
from reissue.methods.partition.mondrian import Mondrian
from reissue.model.grouping import Grouping
from reissue.model.memory import Memory
from reissue.model.snapshot import Column, Delta, Labels, Snapshot
from reissue.utility.extents import Extents
from reissue.utility.loss import distortion_of

NOTHING = Labels(("",))


def k_anonymous(snapshot: Snapshot, k: int, delta: Delta, memory: Memory, rng: np.random.Generator) -> Grouping:
    """Groups of at least k people, by quasi-identifiers alone."""
    order = _canonical(snapshot)
    blind = _without_values(snapshot, order)
    # For k = 1 everybody is published as he is; Mondrian has nothing to ask then.
    methods = (*([Mondrian(k)] if k > 1 else []), AlphaK(1, k))
    found = [method.group(blind, delta, memory, rng)[0] for method in methods]
    best = min(found, key=lambda grouping: distortion_of(Extents.of(blind.quasi, grouping, None), None))
    group = np.empty_like(best.group)
    group[order] = best.group
    return Grouping(group, best.count)


def _canonical(snapshot: Snapshot) -> Ints:
    """Rows in an order that does not depend on the table's; of rows that are alike, which goes where is drawn."""
    columns = (*snapshot.as_is, *snapshot.quasi)
    order: Ints = np.lexsort((snapshot.values.codes, *(column.codes for column in columns)))
    return order


def _without_values(snapshot: Snapshot, order: Ints) -> Snapshot:
    def ordered(column: Column) -> Column:
        return replace(column, codes=column.codes[order])

    return replace(
        snapshot,
        people=snapshot.people[order],
        quasi=tuple(map(ordered, snapshot.quasi)),
        as_is=tuple(map(ordered, snapshot.as_is)),
        values=Column(snapshot.values.name, np.zeros(len(snapshot), dtype=np.uint8), NOTHING),
    )
