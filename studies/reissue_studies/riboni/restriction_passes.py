"""Compiled passes for one application of ct-pvr and hc-pvr (Riboni & Bettini 2009, Definitions 2 and 4).

Groups and members are laid out as in `reissue.kernels.correlated_groups`; sets of values are bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel
from reissue.kernels.correlated_groups import partners


@kernel
def linked(member: Any, starts: Any, groups: Any, group_starts: Any, signature: Any) -> Any:
    """For each member the size of the smallest set that a correlation links him to, and to how many he is linked.

    A set counts once for each pair of groups that shows it. Who is linked to none has the largest number as size.
    """
    people = group_starts.size - 1
    smallest = np.full(people, np.iinfo(np.int64).max, np.int64)
    several = np.zeros(people, np.int64)
    for group in range(starts.size - 1):
        size = starts[group + 1] - starts[group]
        found = partners(group, member, starts, groups, group_starts, signature)
        for at in range(found.shape[1]):
            apart = size - found[1, at]
            for place in range(starts[group], starts[group + 1]):
                who = member[place]
                if not _is_in(who, found[0, at], groups, group_starts):
                    smallest[who] = min(smallest[who], apart)
                    several[who] += 1
    return smallest, several


@kernel
def published_values(member: Any, starts: Any, values: Any, value_starts: Any, value: Any, left: Any) -> int:
    """Take every member's value from what his groups publish, in `left`; how many are not published there, or too few.

    Members with a value below 0 are passed over.
    """
    missing = 0
    for group in range(starts.size - 1):
        for place in range(starts[group], starts[group + 1]):
            wanted = value[member[place]]
            if wanted < 0:
                continue
            entry = value_starts[group]
            while entry < value_starts[group + 1] and values[entry] != wanted:
                entry += 1
            if entry == value_starts[group + 1] or left[entry] == 0:
                missing += 1
            else:
                left[entry] -= 1
    return missing


@kernel
def by_compromised(
    member: Any, starts: Any, values: Any, counts: Any, value_starts: Any, value: Any, compromised: Any, ruled_out: Any
) -> None:
    """Set in `ruled_out` the values of which everybody who has them in a group of the member is compromised."""
    one = np.uint64(1)
    for group in range(starts.size - 1):
        for entry in range(value_starts[group], value_starts[group + 1]):
            known = 0
            for place in range(starts[group], starts[group + 1]):
                who = member[place]
                if compromised[who] and value[who] == values[entry]:
                    known += 1
            if known < counts[entry]:
                continue
            word, bit = values[entry] >> 6, one << np.uint64(values[entry] & 63)
            for place in range(starts[group], starts[group + 1]):
                if value[member[place]] != values[entry]:
                    ruled_out[member[place], word] |= bit


@kernel
def by_correlation(
    member: Any,
    starts: Any,
    groups: Any,
    group_starts: Any,
    signature: Any,
    value: Any,
    compromised: Any,
    before: Any,
    ruled_out: Any,
) -> None:
    """Set in `ruled_out` the values that nobody has in a set, all compromised, that is correlated with the member's.

    All members of a group who are not compromised must be in the other group of such a correlation, so only the
    groups of one of them are looked at, and all correlations only where everybody is compromised.
    """
    for group in range(starts.size - 1):
        if signature[group] < 0:
            continue
        known = 0
        pivot = -1
        for place in range(starts[group], starts[group + 1]):
            who = member[place]
            if compromised[who]:
                known += 1
            elif pivot < 0 or group_starts[who + 1] - group_starts[who] < group_starts[pivot + 1] - group_starts[pivot]:
                pivot = who
        if known == 0:
            continue
        if pivot < 0:
            for other in partners(group, member, starts, groups, group_starts, signature)[0]:
                _rule_out(group, other, member, starts, groups, group_starts, value, compromised, before, ruled_out)
            continue
        for at in range(group_starts[pivot], group_starts[pivot + 1]):
            if groups[at] != group and signature[groups[at]] == signature[group]:
                _rule_out(
                    group, groups[at], member, starts, groups, group_starts, value, compromised, before, ruled_out
                )


@inner
def _rule_out(
    group: int,
    other: int,
    member: Any,
    starts: Any,
    groups: Any,
    group_starts: Any,
    value: Any,
    compromised: Any,
    before: Any,
    ruled_out: Any,
) -> None:
    """What a correlation rules out for those who are in the other group only, if all who are in the first only are
    compromised."""
    apart = 0
    has = np.zeros(before.shape[1], np.uint64)
    for place in range(starts[group], starts[group + 1]):
        who = member[place]
        if _is_in(who, other, groups, group_starts):
            continue
        if not compromised[who]:
            return
        apart += 1
        has[value[who] >> 6] |= np.uint64(1) << np.uint64(value[who] & 63)
    if apart == 0:
        return
    for place in range(starts[other], starts[other + 1]):
        who = member[place]
        if not _is_in(who, group, groups, group_starts):
            for word in range(has.size):
                ruled_out[who, word] |= before[who, word] & ~has[word]


@inner
def _is_in(who: int, group: int, groups: Any, group_starts: Any) -> bool:
    """Whether somebody is a member of a group; the groups of each are ascending."""
    low, high = group_starts[who], group_starts[who + 1]
    while low < high:
        middle = (low + high) // 2
        if groups[middle] < group:
            low = middle + 1
        else:
            high = middle
    return bool(low < group_starts[who + 1] and groups[low] == group)
