"""Intervals for shares from scores, in the manner of Wilson (1927).

A score y is 1 on average for whoever has the value and 0 for whoever has not. Of the n people of a group with the share
pi the mean score has the variance V(pi)/n, and the interval is all pi with |estimate - pi| <= 1.96 sqrt(V(pi)/n). With
a = E[y^2 | has it] and b = E[y^2 | has it not],

    E[y^2](pi) = the mean of y^2 that is observed + (pi - estimate) (a - b):

what is observed holds also where the group's other values are not those of the reference, which changes b; only how it
moves with pi is taken from the design. For the table's own people V(pi) = E[y^2](pi) - pi, since E[y^2 - y | u] is the
variance of y for whoever has the value u; for a population that they are drawn from V(pi) = E[y^2](pi) - pi^2. Both
make a quadratic equation for the ends.

Where less than one set of a group is expected to have the value by chance, one such set more or less is all there is to
see, and half of one is allowed for (a correction for continuity): without it intervals held the truth in 89 % of draws
in the worst case tried, with it in 96 % or more. Where that is less than one group in twenty it is not needed. The same
holds at the other end: where nearly everybody has the value, there are only a few whose sets may lack it by chance.
Over every share that groups of 1 to 300 people can have, intervals hold the truth in 92 % of draws or more.

Where no share is as near to the estimate as that, as in a group of one, the end is the nearest share there is.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats
from reissue.utility.analysing.questions import Target, Z

FEWEST, FEW = 0.05, 1.0
"""Between these numbers of sets that have a value by chance, half of one is allowed for."""
FEW_WITHOUT = 8.0
"""The same where fewer people than this are without it, by the estimate."""


def share_interval(
    estimate: Floats, second: Floats, slope: Floats, people: Floats, target: Target
) -> tuple[Floats, Floats, Floats]:
    """Standard errors, and the ends of 95 % intervals, of shares; these may be below 0 and above 1.

    `second` is the mean of squared scores, `slope` what a - b is, `people` how many independent ones there are.
    """
    base = second - estimate * slope
    # V(pi) = base + linear pi + square pi^2
    linear, square = (slope - 1, 0.0) if target == "table" else (slope, -1.0)
    inside = np.clip(estimate, 0.0, 1.0)
    error = np.sqrt(np.maximum(base + linear * inside + square * inside**2, 0.0) / people)
    others = np.maximum(1 - slope, 0.0)  # nearly b, as a is nearly 1
    by_chance = people * others / (1 + others)
    few = ((by_chance > FEWEST) & (by_chance < FEW)) | (people * (1 - inside) < FEW_WITHOUT)
    # Nobody can have by chance what no value, or every value, is.
    step = np.where(few & (others > 0), (1 + others) / (2 * people), 0.0)
    ends = []
    for sign in (-1, 1):
        moved = estimate + sign * step
        lead, middle = people - Z**2 * square, people * moved + Z**2 * linear / 2
        room = middle**2 - lead * (people * moved**2 - Z**2 * base)
        end = (middle + sign * np.sqrt(np.maximum(room, 0.0))) / lead
        # Where no share is that near, the nearest there is.
        ends.append(np.where(room < 0, np.clip(moved, 0.0, 1.0), end))
    return error, np.fmin(ends[0], inside), np.fmax(ends[1], inside)
