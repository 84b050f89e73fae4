"""l-diversity for tables in which people have several values: no value with more than 1/l of the people of a group.

For the comparison of Bu, Fu, Wong, Chen & Li (2008), section 4.1: each release by itself, nothing remembered. As in
Mondrian, a part is cut at its median across the attribute it is spread over widest, the next where that is not allowed,
as long as both halves are l-diverse. The people counted are those in the table, as in the paper's own condition on
values that come and go; a group of l tuples may be of fewer people, so that counting tuples would not do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reissue.errors import Refused

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def diverse_groups(places: Floats, owner: Ints, value: Ints, l: int) -> Ints:  # noqa: E741  (the papers' letter)
    """The group of each person, numbered from 0.

    `places` has a row for each person and a column for each attribute, as shares of its domain; `owner` is the row of
    the person of each tuple, `value` the code of its value.
    """
    people = len(places)
    group = np.zeros(people, dtype=np.int64)
    if _most(np.zeros(people, dtype=np.int64), owner, value, 1)[0] * l > people:
        raise Refused("The table as a whole is not l-diverse: a value has more than 1/l of the people.")
    active, groups = np.arange(people), 1
    while active.size:
        part = np.unique(group[active], return_inverse=True)[1]
        inside = np.full(people, -1, dtype=np.int64)
        inside[active] = np.arange(active.size)
        mine = inside[owner]
        right, cut = _halves(places[active], part, mine[mine >= 0], value[mine >= 0], l)
        moving = active[right]
        group[moving] = groups + np.unique(part[right], return_inverse=True)[1]
        groups += int(cut.sum())
        active = active[cut[part]]
    return group


def _halves(places: Floats, part: Ints, owner: Ints, value: Ints, l: int) -> tuple[Flags, Flags]:  # noqa: E741
    """Who goes to the right half of his part, and which parts are cut."""
    parts = int(part.max()) + 1
    low, high = np.full((parts, places.shape[1]), np.inf), np.full((parts, places.shape[1]), -np.inf)
    np.minimum.at(low, part, places)
    np.maximum.at(high, part, places)
    widest = np.argsort(low - high, axis=1, kind="stable")
    right, cut = np.zeros(part.size, dtype=np.bool_), np.zeros(parts, dtype=np.bool_)
    for attribute in widest.T:
        over = _over_median(places[np.arange(part.size), attribute[part]], part, parts)
        half = 2 * part + over
        sizes = np.bincount(half, minlength=2 * parts)
        allowed = (_most(half, owner, value, 2 * parts) * l <= sizes) & (sizes > 0)
        new = allowed[::2] & allowed[1::2] & ~cut
        right |= over & new[part]
        cut |= new
    return right, cut


def _over_median(place: Floats, part: Ints, parts: int) -> Flags:
    """Who is at or above the median of his part; strictly above where nobody is below it."""
    order = np.lexsort((place, part))
    starts = np.searchsorted(part[order], np.arange(parts + 1))
    first, middle = place[order[starts[:-1]]], place[order[(starts[:-1] + starts[1:]) // 2]]
    above: Flags = np.where((first < middle)[part], place >= middle[part], place > middle[part])
    return above


def _most(part: Ints, owner: Ints, value: Ints, parts: int) -> Ints:
    """How often the commonest value occurs in each part."""
    width = int(value.max(initial=0)) + 1
    keys, counts = np.unique(part[owner] * width + value, return_counts=True)
    most = np.zeros(parts, dtype=np.int64)
    np.maximum.at(most, keys // width, counts)
    return most
