"""Compiled passes over historical correlations: finding them, telling them apart, and what follows from them.

Groups are numbered over all releases. `member` lists members group after group and `groups` the groups of each
member, ascending; `signature` has equal numbers for groups that publish the same multiset of values, and -1 for
groups of which not all members are known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel

BY_COMPROMISED, BY_CORRELATION = 0, 1
"""Why somebody lost a value: all who have it in a group are known, or a correlated set cannot have it."""


@kernel
def partners(group: int, member: Any, starts: Any, groups: Any, group_starts: Any, signature: Any) -> Any:
    """The groups of other releases correlated with one, ascending, each with the number of members shared."""
    size = starts[group + 1] - starts[group]
    if signature[group] < 0:
        return np.empty((2, 0), np.int64)
    listed = 0
    for place in range(starts[group], starts[group + 1]):
        listed += group_starts[member[place] + 1] - group_starts[member[place]]
    met = np.empty(listed, np.int64)
    several = 0
    for place in range(starts[group], starts[group + 1]):
        for at in range(group_starts[member[place]], group_starts[member[place] + 1]):
            if groups[at] != group and signature[groups[at]] == signature[group]:
                met[several] = groups[at]
                several += 1
    met = met[:several]
    met.sort()
    found = np.empty((2, several), np.int64)
    count = 0
    begin = 0
    while begin < several:
        end = begin
        while end < several and met[end] == met[begin]:
            end += 1
        if end - begin < size:
            found[0, count], found[1, count] = met[begin], end - begin
            count += 1
        begin = end
    return found[:, :count]


@kernel
def set_sizes(
    begin: int, end: int, member: Any, starts: Any, groups: Any, group_starts: Any, signature: Any, sizes: Any
) -> None:
    """The smallest set that a correlation leaves of each group, with earlier (row 0) and with later ones (row 1).

    Rows start at a number above all sizes; row 2 counts the correlations with later groups by size.
    """
    for group in range(begin, end):
        size = starts[group + 1] - starts[group]
        found = partners(group, member, starts, groups, group_starts, signature)
        for at in range(found.shape[1]):
            apart = size - found[1, at]
            row = 0 if found[0, at] < group else 1
            sizes[row, group] = min(sizes[row, group], apart)
            if row == 1:
                sizes[2, apart] += 1


@kernel
def correlated(
    begin: int,
    end: int,
    member: Any,
    starts: Any,
    groups: Any,
    group_starts: Any,
    signature: Any,
    marks: Any,
    only: int,
    most: int,
) -> Any:
    """Pairs of groups correlated with later ones, and a key that is the same where the two sets are the same.

    With `only` above 0, those whose sets are of that size; at most `most`, or one group's more. `marks` are
    random numbers for members.
    """
    room = 1024
    pairs = np.empty((2, room), np.int32)
    keys = np.empty(room, np.uint64)
    count = 0
    inside = np.zeros(marks.size, np.bool_)
    for group in range(begin, end):
        if count >= most:
            break
        size = starts[group + 1] - starts[group]
        found = partners(group, member, starts, groups, group_starts, signature)
        total = np.uint64(0)
        for place in range(starts[group], starts[group + 1]):
            inside[member[place]] = True
            total += marks[member[place]]
        for at in range(found.shape[1]):
            other = found[0, at]
            if other < group or (only > 0 and size - found[1, at] != only):
                continue
            both, of_other = np.uint64(0), np.uint64(0)
            for place in range(starts[other], starts[other + 1]):
                mark = marks[member[place]]
                of_other += mark
                if inside[member[place]]:
                    both += mark
            if count == room:
                room *= 2
                more_pairs, more_keys = np.empty((2, room), np.int32), np.empty(room, np.uint64)
                more_pairs[:, :count], more_keys[:count] = pairs, keys
                pairs, keys = more_pairs, more_keys
            pairs[0, count], pairs[1, count] = group, other
            keys[count] = _mixed(total - both) + _mixed(of_other - both)
            count += 1
        for place in range(starts[group], starts[group + 1]):
            inside[member[place]] = False
    return pairs[:, :count].copy(), keys[:count].copy()


@inner
def _mixed(number: Any) -> Any:
    """A number of which every bit depends on every bit of another."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@kernel
def apart(first: int, second: int, member: Any, starts: Any) -> Any:
    """The members of one group that are not in the other, sorted; and the other way round."""
    one, two = np.sort(member[starts[first] : starts[first + 1]]), np.sort(member[starts[second] : starts[second + 1]])
    left, right = np.empty(one.size, np.int64), np.empty(two.size, np.int64)
    lefts, rights, i, j = 0, 0, 0, 0
    while i < one.size or j < two.size:
        if j == two.size or (i < one.size and one[i] < two[j]):
            left[lefts] = one[i]
            lefts += 1
            i += 1
        elif i == one.size or two[j] < one[i]:
            right[rights] = two[j]
            rights += 1
            j += 1
        else:
            i += 1
            j += 1
    return left[:lefts], right[:rights]


@kernel
def first_of_each(keys: Any, order: Any, pairs: Any, member: Any, starts: Any) -> Any:
    """Which pairs of sets have not come before, given the order of the keys; equal keys are compared, not trusted."""
    new = np.zeros(keys.size, np.bool_)
    begin = 0
    while begin < order.size:
        end = begin
        while end < order.size and keys[order[end]] == keys[order[begin]]:
            end += 1
        new[order[begin]] = True
        for at in range(begin + 1, end):
            left, right = apart(pairs[0, order[at]], pairs[1, order[at]], member, starts)
            known = False
            for before in range(begin, at):
                if not new[order[before]]:
                    continue
                one, two = apart(pairs[0, order[before]], pairs[1, order[before]], member, starts)
                if (np.array_equal(one, left) and np.array_equal(two, right)) or (
                    np.array_equal(one, right) and np.array_equal(two, left)
                ):
                    known = True
                    break
            new[order[at]] = not known
        begin = end
    return new


@kernel
def common_values(begin: int, words: int, member: Any, starts: Any, values: Any, value_starts: Any, sets: Any) -> int:
    """Take from everybody's set, as bits, what his groups do not show: group after group from `begin`.

    Stops when so many words were looked at; the group to go on with.
    """
    offered = np.empty(sets.shape[1], np.uint64)
    group = begin
    while group < starts.size - 1 and words > 0:
        offered[:] = 0
        for entry in range(value_starts[group], value_starts[group + 1]):
            value = np.uint64(values[entry])
            offered[value >> np.uint64(6)] |= np.uint64(1) << (value & np.uint64(63))
        for place in range(starts[group], starts[group + 1]):
            who = member[place]
            for word in range(offered.size):
                sets[who, word] &= offered[word]
        words -= (1 + starts[group + 1] - starts[group]) * offered.size
        group += 1
    return group


@inner
def _count(word: Any) -> int:
    """How many bits are set."""
    count = 0
    while word:
        word &= word - np.uint64(1)
        count += 1
    return count


@inner
def _with_room(log: Any, count: int) -> Any:
    """The log, twice as long if it is full."""
    if count < log.shape[0]:
        return log
    longer = np.empty((2 * count, log.shape[1]), log.dtype)
    longer[:count] = log
    return longer


@kernel
def restrict(
    most: int,
    member: Any,
    starts: Any,
    groups: Any,
    group_starts: Any,
    signature: Any,
    values: Any,
    value_starts: Any,
    left: Any,
    sets: Any,
    sizes: Any,
    counted: Any,
    waiting: Any,
    waits: Any,
    dirty: Any,
    is_dirty: Any,
    ends: Any,
) -> Any:
    """Apply ct-pvr and hc-pvr until nothing changes, or `most` words were looked at; what was ruled out, in order.

    `sets` are the values left for each member as bits and `sizes` how many they are; `left` says for each value of
    each group how many of those that have it are not known. `waiting` holds members whose set changed (a ring, each
    at most once), `dirty` groups with such members whose correlations are to be looked at; `ends` are the beginning
    and the length of both rings, how many contradictions there are, and, where it was interrupted within a group, that
    group counted from 1 and the next of its correlations. It stops at the first contradiction.
    """
    count = 0
    log = np.empty((1024, 5), np.int64)
    union = np.empty(sets.shape[1], np.uint64)
    one, zero = np.uint64(1), np.uint64(0)
    people, group_count = sizes.size, starts.size - 1
    inside = np.zeros(people, np.int64)
    token = 0
    while ends[4] == 0 and most > 0:
        if ends[1] > 0:
            who = waiting[ends[0]]
            ends[0] = (ends[0] + 1) % people
            ends[1] -= 1
            waits[who] = False
            most -= 1 + group_starts[who + 1] - group_starts[who]
            if sizes[who] == 0:
                ends[4] += 1
                break
            for at in range(group_starts[who], group_starts[who + 1]):
                group = groups[at]
                if sizes[who] < value_starts[group + 1] - value_starts[group] and not is_dirty[group]:
                    is_dirty[group] = True
                    dirty[(ends[2] + ends[3]) % group_count] = group
                    ends[3] += 1
            if sizes[who] > 1 or counted[who]:
                continue
            counted[who] = True
            most -= sets.shape[1]
            value = 0
            for word in range(sets.shape[1]):
                if sets[who, word]:
                    value = 64 * word + _count((sets[who, word] & (~sets[who, word] + one)) - one)
            word, bit = value >> 6, one << np.uint64(value & 63)
            for at in range(group_starts[who], group_starts[who + 1]):
                group = groups[at]
                entry = value_starts[group]
                while values[entry] != value:
                    entry += 1
                most -= 1 + entry - value_starts[group]
                left[entry] -= 1
                if left[entry] < 0:
                    ends[4] += 1
                if left[entry] != 0:
                    continue
                most -= starts[group + 1] - starts[group]
                for place in range(starts[group], starts[group + 1]):
                    other = member[place]
                    if sizes[other] > 1 and sets[other, word] & bit:
                        sets[other, word] &= ~bit
                        sizes[other] -= 1
                        log = _with_room(log, count)
                        log[count, 0], log[count, 1], log[count, 2] = other, value, BY_COMPROMISED
                        log[count, 3], log[count, 4] = group, group
                        count += 1
                        if not waits[other]:
                            waits[other] = True
                            waiting[(ends[0] + ends[1]) % people] = other
                            ends[1] += 1
            continue
        if ends[5] == 0:
            if ends[3] == 0:
                break
            ends[5], ends[6] = dirty[ends[2]] + 1, 0
            ends[2] = (ends[2] + 1) % group_count
            ends[3] -= 1
            is_dirty[ends[5] - 1] = False
        group = ends[5] - 1
        distinct = value_starts[group + 1] - value_starts[group]
        size = starts[group + 1] - starts[group]
        found = partners(group, member, starts, groups, group_starts, signature)
        while ends[6] < found.shape[1] and most > 0:
            correlate, shared = found[0, ends[6]], found[1, ends[6]]
            ends[6] += 1
            most -= 2 * size + (size - shared) * union.size
            token += 1
            for place in range(starts[correlate], starts[correlate + 1]):
                inside[member[place]] = token
            union[:] = zero
            full = False
            for place in range(starts[group], starts[group + 1]):
                other = member[place]
                if inside[other] == token:
                    inside[other] = -token
                elif sizes[other] == distinct:
                    full = True  # may have any value of the group, so that nothing follows
                    break
                else:
                    union |= sets[other]
            if full:
                continue
            for place in range(starts[correlate], starts[correlate + 1]):
                other = member[place]
                if inside[other] != token:
                    continue  # in both groups
                for word in range(union.size):
                    lost = sets[other, word] & ~union[word]
                    while lost:
                        bit = lost & (~lost + one)
                        lost ^= bit
                        sets[other, word] ^= bit
                        sizes[other] -= 1
                        log = _with_room(log, count)
                        log[count, 0], log[count, 1] = other, 64 * word + _count(bit - one)
                        log[count, 2], log[count, 3], log[count, 4] = BY_CORRELATION, group, correlate
                        count += 1
                        most -= 1
                        if not waits[other]:
                            waits[other] = True
                            waiting[(ends[0] + ends[1]) % people] = other
                            ends[1] += 1
        most -= 1 + size
        if ends[6] >= found.shape[1]:
            ends[5] = 0
    return log[:count].copy()
