"""A compiled pass over groups that counts whom each shares with which later ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import kernel


@kernel
def shared_with_later(
    begin: int, end: int, member: Any, starts: Any, groups: Any, group_starts: Any, bounds: Any, least: int
) -> Any:
    """All (group, later group, members shared) of the groups from `begin` to before `end`, which are one release.

    `member` lists members group after group, `groups` the groups of each member, ascending; `bounds` says where each
    later release begins among the groups, and where the last ends. Pairs come out sorted, without those that share
    fewer than `least`.
    """
    room = 1024
    found = np.empty((3, room), np.int64)
    count = 0
    times = np.zeros(starts.size - 1, np.int64)
    largest = 0
    for group in range(begin, end):
        largest = max(largest, starts[group + 1] - starts[group])
    at = np.empty(largest, np.int64)  # how far each member of the group has been followed
    touched = np.empty(1024, np.int64)
    for group in range(begin, end):
        first, size = starts[group], starts[group + 1] - starts[group]
        for place in range(size):
            who = member[first + place]
            here = group_starts[who]
            while here < group_starts[who + 1] and groups[here] < bounds[0]:
                here += 1
            at[place] = here
        for release in range(bounds.size - 1):
            several = 0
            for place in range(size):
                stop = group_starts[member[first + place] + 1]
                here = at[place]
                while here < stop and groups[here] < bounds[release + 1]:
                    other = groups[here]
                    if times[other] == 0:
                        if several == touched.size:
                            wider = np.empty(2 * several, np.int64)
                            wider[:several] = touched
                            touched = wider
                        touched[several] = other
                        several += 1
                    times[other] += 1
                    here += 1
                at[place] = here
            here_touched = touched[:several]
            if several > 32:
                here_touched.sort()
            else:
                for right in range(1, several):
                    other, left = here_touched[right], right
                    while left > 0 and here_touched[left - 1] > other:
                        here_touched[left] = here_touched[left - 1]
                        left -= 1
                    here_touched[left] = other
            for other in here_touched:
                shared = times[other]
                times[other] = 0
                if shared < least:
                    continue
                if count == room:
                    room *= 2
                    more = np.empty((3, room), np.int64)
                    more[:, :count] = found
                    found = more
                found[0, count], found[1, count], found[2, count] = group, other, shared
                count += 1
    return found[:, :count].copy()
