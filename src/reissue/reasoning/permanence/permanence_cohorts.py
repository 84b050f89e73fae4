"""Dealing people out to cohorts by hand: a quick proof that there is a world with the mechanism known."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.reasoning.permanence.permanence_entries import Entries


def dealt(entries: Entries, live: Bools, groups: Ints, cohorts: int, places: int) -> bool:
    """Whether every cohort can have its people in every one of some groups, ascending, by taking whoever comes first.

    Only people are taken of whose presence nothing is known at any live entry: where they stand in one release bears on
    the others through their cohort alone. So each of them could stand aside, in any one release, for anybody else who
    is in no cohort yet; and somebody whose presence is known needs no more than the last entry at which it is. Hence,
    if this succeeds, nobody with a live entry is excluded. If it fails, nothing is proven.
    """
    known = np.zeros(places, dtype=np.bool_)
    known[entries.person[live & entries.sure]] = True
    usable = live & ~known[entries.person]
    cohort = np.zeros(places, dtype=np.int64)
    bounds = np.searchsorted(entries.home, np.stack([groups, groups + 1])).T
    for group, (begin, end) in zip(groups.tolist(), bounds.tolist(), strict=True):
        members = entries.person[begin:end][usable[begin:end]]
        theirs = cohort[members]
        lacking = np.maximum(entries.count[group] - np.bincount(theirs, minlength=cohorts + 1)[1:], 0)
        fresh = members[theirs == 0][: int(lacking.sum())]
        if fresh.size < lacking.sum():
            return False
        cohort[fresh] = np.repeat(np.arange(1, cohorts + 1), lacking)
    return True
