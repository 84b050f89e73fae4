"""Intervals for shares from scores, in the manner of Wilson (1927).

A score y is 1 on average for whoever has the value and 0 for whoever has not. Of the n people of a group with the share
pi the mean score has the variance V(pi)/n, and the interval is all pi with |estimate - pi| <= 1.96 sqrt(V(pi)/n). With
a = E[y^2 | has it] and b = E[y^2 | has it not],

    E[y^2](pi) = the mean of y^2 that is observed + (pi - estimate) (a - b):

what is observed holds also where the group's other values are not those of the reference, which changes b; only how it
moves with pi is taken from the design. For the table's own people V(pi) = E[y^2](pi) - pi, since E[y^2 - y | u] is the
variance of y for whoever has the value u; for a population that they are drawn from V(pi) = E[y^2](pi) - pi^2. Both
make a quadratic equation for the ends.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats
from reissue.utility.analysing.questions import Target, Z


def share_interval(
    estimate: Floats, second: Floats, slope: Floats, people: Floats, target: Target
) -> tuple[Floats, Floats, Floats]:
    """Standard errors, and the ends of 95 % intervals, of shares; within 0 and 1.

    `second` is the mean of squared scores, `slope` what a - b is, `people` how many independent ones there are.
    """
    base = second - estimate * slope
    # V(pi) = base + linear pi + square pi^2
    linear, square = (slope - 1, 0.0) if target == "table" else (slope, -1.0)
    inside = np.clip(estimate, 0.0, 1.0)
    error = np.sqrt(np.maximum(base + linear * inside + square * inside**2, 0.0) / people)
    lead = people - Z**2 * square
    middle = people * estimate + Z**2 * linear / 2
    room = np.sqrt(np.maximum(middle**2 - lead * (people * estimate**2 - Z**2 * base), 0.0))
    return error, np.clip((middle - room) / lead, 0.0, 1.0), np.clip((middle + room) / lead, 0.0, 1.0)
