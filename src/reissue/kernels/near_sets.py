"""Compiled passes over sparse integer vectors: which groups nearly agree, and which differences nearly cancel.

A vector is a run of entries, ascending by `place`, with a `count` that is not 0. `across` and `across_starts` lead
from a place to the vectors that have it, ascending.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reissue.kernels import inner, kernel


@kernel
def near_pairs(
    places: Any, counts: Any, starts: Any, across: Any, across_counts: Any, across_starts: Any, kind: Any, sizes: Any,
    reach: Any,
) -> Any:  # fmt: skip
    """Pairs of vectors of one kind, without negative counts, that differ in something, but at most in their reach."""
    shared = np.zeros(starts.size - 1, np.int64)
    touched = np.empty(starts.size - 1, np.int64)
    found = np.empty((1024, 2), np.int64)
    number = 0
    for one in range(starts.size - 1):
        met = 0
        for entry in range(starts[one], starts[one + 1]):
            place = places[entry]
            for at in range(across_starts[place + 1] - 1, across_starts[place] - 1, -1):
                other = across[at]
                if other <= one:
                    break
                if kind[other] != kind[one]:
                    continue
                if shared[other] == 0:
                    touched[met] = other
                    met += 1
                shared[other] += min(counts[entry], across_counts[at])
        for at in range(met):
            other = touched[at]
            apart = sizes[one] - shared[other]
            shared[other] = 0
            if 0 < apart <= reach[one]:
                if number == found.shape[0]:
                    larger = np.empty((2 * number, 2), np.int64)
                    larger[:number] = found
                    found = larger
                found[number, 0] = one
                found[number, 1] = other
                number += 1
    return found[:number]


@inner
def _combine(places: Any, counts: Any, one: Any, one_end: Any, other: Any, other_end: Any, sign: Any,
             to_places: Any, to_counts: Any) -> int:  # fmt: skip
    """The entries of one vector plus `sign` times another; returns how many there are."""
    number = 0
    while one < one_end or other < other_end:
        if other == other_end or (one < one_end and places[one] < places[other]):
            place, count = places[one], counts[one]
            one += 1
        elif one == one_end or places[other] < places[one]:
            place, count = places[other], sign * counts[other]
            other += 1
        else:
            place, count = places[one], counts[one] + sign * counts[other]
            one += 1
            other += 1
        if count != 0:
            to_places[number] = place
            to_counts[number] = count
            number += 1
    return number


@inner
def _divisor(counts: Any) -> int:
    """The greatest common divisor, negative if the first count is: dividing by it makes vectors comparable."""
    common = 0
    for count in counts:
        larger, smaller = abs(count), common
        while smaller:
            larger, smaller = smaller, larger % smaller
        common = larger
    if counts.size and counts[0] < 0:
        return -common
    return common


@kernel
def combinations(places: Any, counts: Any, starts: Any, pairs: Any, signs: Any) -> Any:
    """For each pair the sum of the first and `sign` times the second, divided by its divisor; and the divisors."""
    room = 0
    for at in range(pairs.shape[0]):
        room += starts[pairs[at, 0] + 1] - starts[pairs[at, 0]] + starts[pairs[at, 1] + 1] - starts[pairs[at, 1]]
    to_places = np.empty(room, places.dtype)
    to_counts = np.empty(room, counts.dtype)
    to_starts = np.zeros(pairs.shape[0] + 1, np.int64)
    divisors = np.ones(pairs.shape[0], np.int64)
    end = 0
    for at in range(pairs.shape[0]):
        one, other = pairs[at]
        number = _combine(
            places, counts, starts[one], starts[one + 1], starts[other], starts[other + 1], signs[at],
            to_places[end:], to_counts[end:],
        )  # fmt: skip
        if number:
            divisors[at] = _divisor(to_counts[end : end + number])
            to_counts[end : end + number] //= divisors[at]
        end += number
        to_starts[at + 1] = end
    return to_places[:end].copy(), to_counts[:end].copy(), to_starts, divisors


@kernel
def better_sums(
    places: Any, counts: Any, starts: Any, across: Any, across_counts: Any, across_starts: Any, norms: Any,
    first: int, last: int, most: int, best: Any,
) -> Any:  # fmt: skip
    """Sums and differences of the vectors from `first` to `last` with those before them that improve on `best`.

    `best` has for each place the size, half the sum of |count|, of the smallest vector known to have it; sums of a
    size of at most `most` that are below it for one of their places are returned, and entered. Their sums need not
    be without a common divisor: then they are even better, which whoever divides will see.
    """
    against = np.zeros(starts.size - 1, np.int64)
    along = np.zeros(starts.size - 1, np.int64)
    touched = np.empty(starts.size - 1, np.int64)
    found = np.empty((1024, 3), np.int64)
    number = 0
    longest = 0
    for one in range(starts.size - 1):
        longest = max(longest, starts[one + 1] - starts[one])
    sum_places = np.empty(2 * longest, places.dtype)
    sum_counts = np.empty(2 * longest, counts.dtype)
    for one in range(first, last):
        met = 0
        for entry in range(starts[one], starts[one + 1]):
            place = places[entry]
            count = counts[entry]
            for at in range(across_starts[place], across_starts[place + 1]):
                other = across[at]
                if other >= one:
                    break
                if against[other] == 0 and along[other] == 0:
                    touched[met] = other
                    met += 1
                both = min(abs(count), abs(across_counts[at]))
                if (count > 0) == (across_counts[at] > 0):
                    along[other] += both
                else:
                    against[other] += both
        for at in range(met):
            other = touched[at]
            total = norms[one] + norms[other]
            for sign, cancels in ((1, against[other]), (-1, along[other])):
                if cancels == 0 or total - 2 * cancels > 2 * most or total == 2 * cancels:
                    continue
                many = _combine(
                    places, counts, starts[one], starts[one + 1], starts[other], starts[other + 1], sign,
                    sum_places, sum_counts,
                )  # fmt: skip
                size = (total - 2 * cancels) // 2 // abs(_divisor(sum_counts[:many]))
                better = False
                for entry in range(many):
                    if best[sum_places[entry]] > size:
                        best[sum_places[entry]] = size
                        better = True
                if better:
                    if number == found.shape[0]:
                        larger = np.empty((2 * number, 3), np.int64)
                        larger[:number] = found
                        found = larger
                    found[number, 0] = one
                    found[number, 1] = other
                    found[number, 2] = sign
                    number += 1
            against[other] = 0
            along[other] = 0
    return found[:number]


@kernel
def holds_another(
    places: Any, counts: Any, starts: Any, across: Any, across_counts: Any, across_starts: Any, norms: Any
) -> Any:
    """Which vectors hold a shorter one, up to its sign: what is left of them then is a vector too."""
    along = np.zeros(starts.size - 1, np.int64)
    against = np.zeros(starts.size - 1, np.int64)
    touched = np.empty(starts.size - 1, np.int64)
    holds = np.zeros(starts.size - 1, np.bool_)
    for one in range(starts.size - 1):
        met = 0
        for entry in range(starts[one], starts[one + 1]):
            place = places[entry]
            count = counts[entry]
            for at in range(across_starts[place], across_starts[place + 1]):
                other = across[at]
                if norms[other] >= norms[one]:
                    continue
                if along[other] == 0 and against[other] == 0:
                    touched[met] = other
                    met += 1
                both = min(abs(count), abs(across_counts[at]))
                if (count > 0) == (across_counts[at] > 0):
                    along[other] += both
                else:
                    against[other] += both
        for at in range(met):
            other = touched[at]
            if along[other] == norms[other] or against[other] == norms[other]:
                holds[one] = True
            along[other] = 0
            against[other] = 0
    return holds


@kernel
def turned(places: Any, counts: Any, starts: Any, width: int) -> Any:
    """For each place the vectors that have it, ascending, their counts, and where each place begins."""
    across_starts = np.zeros(width + 1, np.int64)
    for place in places:
        across_starts[place + 1] += 1
    for place in range(width):
        across_starts[place + 1] += across_starts[place]
    at = across_starts[:-1].copy()
    across = np.empty(places.size, np.int64)
    across_counts = np.empty(places.size, counts.dtype)
    for one in range(starts.size - 1):
        for entry in range(starts[one], starts[one + 1]):
            place = places[entry]
            across[at[place]] = one
            across_counts[at[place]] = counts[entry]
            at[place] += 1
    return across, across_counts, across_starts


@kernel
def renamed(places: Any, counts: Any, starts: Any, names: Any) -> Any:
    """Vectors with other names for their places; counts of places that get the same name are added."""
    to_places = np.empty_like(places)
    to_counts = np.empty_like(counts)
    to_starts = np.zeros(starts.size, np.int64)
    end = 0
    for one in range(starts.size - 1):
        begin = end
        for entry in range(starts[one], starts[one + 1]):
            name = names[places[entry]]
            # Few places get another name, so that most entries are in order already.
            at = end
            while at > begin and to_places[at - 1] > name:
                at -= 1
            if at > begin and to_places[at - 1] == name:
                to_counts[at - 1] += counts[entry]
                continue
            for moved in range(end, at, -1):
                to_places[moved] = to_places[moved - 1]
                to_counts[moved] = to_counts[moved - 1]
            to_places[at] = name
            to_counts[at] = counts[entry]
            end += 1
        filled = begin
        for entry in range(begin, end):
            if to_counts[entry] != 0:
                to_places[filled] = to_places[entry]
                to_counts[filled] = to_counts[entry]
                filled += 1
        end = filled
        to_starts[one + 1] = end
    return to_places[:end].copy(), to_counts[:end].copy(), to_starts
