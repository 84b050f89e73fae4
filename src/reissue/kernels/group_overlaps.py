"""A compiled pass over the groups of a release: how closely each overlaps with an earlier one that published the same.

Groups are numbered over all releases. `groups` lists the earlier groups of each member of the release, from
`starts[member]` on; the kind of an earlier group is that of the run it stands in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel


@kernel
def smallest_apart(
    member_starts: Any, starts: Any, groups: Any, kind: Any, run_first: Any, run_kind: Any, none: int
) -> Any:
    """For each group the smallest number of its members that an earlier group of its kind, which has others, lacks.

    `none` where no earlier group of its kind has some of its members and not all.
    """
    count = member_starts.size - 1
    smallest = np.full(count, none, np.int64)
    room = 0
    for group in range(count):
        room = max(room, starts[member_starts[group + 1]] - starts[member_starts[group]])
    capacity = _capacity(room)
    # An open table of earlier groups and how many members each shares; a slot is free that another group wrote.
    key, shared, owner = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.full(capacity, -1, np.int64)
    used = np.empty(room, np.int64)
    for group in range(count):
        begin, end = starts[member_starts[group]], starts[member_starts[group + 1]]
        size = member_starts[group + 1] - member_starts[group]
        mask = _capacity(end - begin) - 1
        met = 0
        for at in range(begin, end):
            earlier = np.int64(groups[at])
            slot = (earlier * 2654435761 >> 7) & mask
            while owner[slot] == group and key[slot] != earlier:
                slot = (slot + 1) & mask
            if owner[slot] != group:
                owner[slot], key[slot], shared[slot] = group, earlier, 0
                used[met] = slot
                met += 1
            shared[slot] += 1
        for at in range(met):
            slot = used[at]
            apart = size - shared[slot]
            # Only what would be smaller is looked up: that is rare.
            if 0 < apart < smallest[group]:
                run = np.searchsorted(run_first, key[slot], side="right") - 1
                if run_kind[run] == kind[group]:
                    smallest[group] = apart
    return smallest


@inner
def _capacity(entries: int) -> int:
    """A power of two that leaves half of the table free."""
    capacity = 2
    while capacity < 2 * entries:
        capacity *= 2
    return capacity
