"""Groups that cut through regions: what holds however people are spread over their regions.

Of a group's rows some are in it for certain, others may be: as many of these as you like, and whichever. With a of n
people who are in it for certain having a value, and b of n' who may be in it, the group's count is between a and a + b,
and its share between

    a / (n + n' - b), where all are in it who have not the value, and none who has, and
    (a + b) / (n + b), where it is the other way round.

Both grow with a and with b. These are not known but have intervals of their own, and with both at their ends the result
is at most too wide: the sum of two deviations is at least the root of the sum of their squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Floats

Ends = tuple[Floats, Floats]


@dataclass(frozen=True, repr=False)
class Counted:
    """For each group so many people, of whom between so many and so many have what is asked for."""

    people: Floats
    low: Floats
    high: Floats


def share_bounds(sure: Counted, unsure: Counted) -> Ends:
    """The ends of the share of each group, of people who are in it for certain and others who may be."""
    without = sure.people + unsure.people - unsure.low
    low = np.divide(sure.low, without, out=np.ones_like(without), where=without > 0)
    with_all = sure.people + unsure.high
    high = np.divide(sure.high + unsure.high, with_all, out=np.zeros_like(with_all), where=with_all > 0)
    return low, high


def mean_bounds(known: Floats, mean: Ends, others: Floats, extremes: tuple[float, float]) -> Ends:
    """The ends of the mean of each group: of so many people with a mean between these ends, and any of the others.

    Any of these may have the lowest value there is, and any the highest. Of `known` people fewer than there are do not
    make ends narrower.
    """
    ends = []
    for own, extreme in zip(mean, extremes, strict=True):
        # Of too few people to say where their mean is, it may be anywhere.
        all_there_is = np.where(np.isnan(own), extreme, np.clip(own, *extremes)) * known + others * extreme
        ends.append(np.divide(all_there_is, known + others, out=np.full_like(known, extreme), where=known + others > 0))
    return ends[0], ends[1]
