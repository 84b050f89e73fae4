"""Compiled passes over rows that belong to groups: extents, sets of codes, values in order."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reissue.kernels import inner, kernel
from reissue.kernels.sorting import sort

Codes = TypeVar("Codes", bound=np.generic)


def unwritten(codes: npt.NDArray[Codes]) -> npt.NDArray[Codes]:
    """The codes, not to be written to: those that must not be and the others are then of one type for a kernel."""
    seen = codes.view()
    seen.flags.writeable = False
    return seen


@kernel
def extents(group: Any, codes: Any, least: Any, most: Any) -> None:
    """The lowest and highest code of each group. `least` starts at the largest code, `most` at 0."""
    for row in range(group.size):
        which = group[row]
        code = codes[row]
        if code < least[which]:
            least[which] = code
        if code > most[which]:
            most[which] = code


@kernel
def code_sets(group: Any, codes: Any, sets: Any) -> None:
    """Mark in the bit set of each group (one row of 64-bit words) which codes its rows have."""
    for row in range(group.size):
        code = np.uint64(codes[row])
        sets[group[row], code >> np.uint64(6)] |= np.uint64(1) << (code & np.uint64(63))


@kernel
def order_by_group(group: Any, starts: Any, order: Any) -> None:
    """Row numbers, group after group; `starts` says where each group begins and is left as it was."""
    place = starts.copy()
    for row in range(group.size):
        which = group[row]
        order[place[which]] = row
        place[which] += 1


@inner
def _sort(codes: Any) -> None:
    """Sort codes in place: small groups by insertion, large ones by counting where codes are few."""
    if codes.size > 48:
        largest = np.int64(0)
        for code in codes:
            largest = max(largest, np.int64(code))
        if largest > 4 * codes.size:
            numbers = np.empty(codes.size, np.int64)
            for here in range(codes.size):
                numbers[here] = codes[here]
            sort(numbers)
            for here in range(codes.size):
                codes[here] = numbers[here]
            return
        counts = np.zeros(largest + 1, np.int64)
        for code in codes:
            counts[code] += 1
        here = 0
        for number in range(largest + 1):
            for _ in range(counts[number]):
                codes[here] = number
                here += 1
        return
    for here in range(1, codes.size):
        code = codes[here]
        there = here
        while there > 0 and codes[there - 1] > code:
            codes[there] = codes[there - 1]
            there -= 1
        codes[there] = code


@kernel
def values_by_group(group: Any, codes: Any, starts: Any, values: Any) -> None:
    """The codes, group after group, ascending within each group."""
    place = starts.copy()
    for row in range(group.size):
        which = group[row]
        values[place[which]] = codes[row]
        place[which] += 1
    for which in range(starts.size - 1):
        _sort(values[starts[which] : starts[which + 1]])


@kernel
def count_runs(values: Any, starts: Any, codes: Any, counts: Any, run_starts: Any) -> int:
    """Collapse equal neighbours of a group to one code and its count; returns how many there are."""
    runs = 0
    for which in range(starts.size - 1):
        run_starts[which] = runs
        for here in range(starts[which], starts[which + 1]):
            if here > starts[which] and values[here] == values[here - 1]:
                counts[runs - 1] += 1
            else:
                codes[runs] = values[here]
                counts[runs] = 1
                runs += 1
    run_starts[starts.size - 1] = runs
    return runs
