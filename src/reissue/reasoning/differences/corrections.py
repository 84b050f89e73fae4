"""Corrected quasi-identifiers: a row that stood alone is gone, and one that is like it but for one column is there.

Nothing proves that both are the same person's. But where it is one to one, few would bet against it.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Ints
from reissue.model.published import PublishedGroups


def corrections(one: PublishedGroups, two: PublishedGroups, mine: Ints, theirs: Ints, parts: tuple[Ints, Ints]) -> int:
    """How many lone rows of an earlier release may be lone ones of the later with another cell in one column.

    `mine` and `theirs` are the cells of the groups by number, `parts` what each shows in each attribute. Only pairs
    with the same value count, of which neither fits another one.
    """
    gone = np.flatnonzero((one.rows == 1) & ~np.isin(mine, theirs))
    came = np.flatnonzero((two.rows == 1) & ~np.isin(theirs, mine))
    if not gone.size or not came.size:
        return 0
    width = max(int(parts[side].max(initial=0)) for side in (0, 1)) + 1
    columns = parts[0].shape[1]
    lost = np.column_stack([parts[0][gone], one.values[one.value_starts[gone]]])
    new = np.column_stack([parts[1][came], two.values[two.value_starts[came]]])
    found_gone, found_came = [], []
    for column in range(columns):
        before, after = lost.copy(), new.copy()
        before[:, column] = after[:, column] = width
        _, place = np.unique(np.concatenate([before, after]), axis=0, return_inverse=True)
        place = place.ravel()
        kinds = int(place.max()) + 1
        early, late = place[: gone.size], place[gone.size :]
        once = (np.bincount(early, minlength=kinds) == 1) & (np.bincount(late, minlength=kinds) == 1)
        first, second = np.full(kinds, -1), np.full(kinds, -1)
        first[early], second[late] = np.arange(gone.size), np.arange(came.size)
        found_gone.append(first[once])
        found_came.append(second[once])
    lone, there = np.concatenate(found_gone), np.concatenate(found_came)
    # Who fits two by different columns fits neither.
    return int(np.count_nonzero((np.bincount(lone)[lone] == 1) & (np.bincount(there)[there] == 1)))
