"""Intervals for shares from scores, in the manner of Wilson (1927).

A score y is 1 on average for whoever has the value and 0 for whoever has not. Of the n people of a group with the share
pi the mean score has the variance V(pi)/n, and the interval is all pi with |estimate - pi| <= 1.96 sqrt(V(pi)/n). With
a = E[y^2 | has it] and b = E[y^2 | has it not],

    E[y^2](pi) = b + pi (a - b) + r,

both of the design, b with the shares of the reference. r is by how much the mean of y^2 that is observed is above that:
the group's other values need not be those of the reference. Where it is below, r is 0. In a small group the sets that
would tell that y strays may be lacking by chance, and that is when the estimate is far off: by what is observed alone
intervals held the truth in 15 to 90 % of draws, where values are few and not alike. For the table's own people
V(pi) = E[y^2](pi) - pi, since E[y^2 - y | u] is the variance of y for whoever has the value u; for a population that
they are drawn from V(pi) = E[y^2](pi) - pi^2. Both make a quadratic equation for the ends.

Where the people without the value are expected to have it in less than two sets by chance, one such set more or less is
all there is to see, and half of one is allowed for (a correction for continuity); in a group in which not one in twenty
has it by chance that is not needed. The same holds where nearly everybody has the value, or has it in their set by
chance: there are only a few whose sets may lack it. Without it intervals held the truth in 84 % of draws in the worst
case; with it in 92 %, whatever share groups of 1 to 1,000 people have, and however many have it by chance, where values
are alike or the group's others are those of the reference; where these all have one and the same value, in 74 %.

What is nearer to the estimate than such a step is inside, also where no share is as near to it as 1.96 errors.

Differences, changes from release to release and slopes are sums of scores with factors. Few rows may make most of such
a sum: of 300 people three have another set than before, or one is far out on the column of a slope. Then it is not
normal, and 1.96 standard errors held the truth in 50 to 90 % of draws. So rows are put together by the sign and the
size of their factor, each lot has a share with an interval as above, and the distance to an end of the sum is the root
of the sum of squared distances to theirs (Zou & Donner, Construction of confidence limits about effect measures,
Statistics in Medicine 27 (2008) 1693-1702). Where many rows count alike it comes to 1.96 standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.utility.analysing.questions import Target, Z

FEWEST, FEW = 0.05, 2.0
"""Of more sets than the one by chance in the group, and fewer than the other of people without the value, half of one
is allowed for."""
FEW_WITHOUT, FEW_LACKING = 12.0, 4.0
"""The same where fewer people are without it, by the estimate, or fewer of their sets lack it."""
SIZES = 6
"""So many sizes of factors are kept apart, each at most twice the next; all that are smaller go together."""


@dataclass(frozen=True, repr=False)
class Squares:
    """What E[y^2] is by the design, for each row, group or design."""

    has: Floats
    """Of whoever has the value: a."""
    others: Floats
    """Of all others: b."""

    def at(self, places: Ints) -> Squares:
        """Those at some places."""
        return Squares(self.has[places], self.others[places])


@dataclass(frozen=True, repr=False)
class Weighed:
    """Scores of rows that count with a factor in a sum, or each in one of several."""

    factor: Floats
    score: Floats
    squares: Squares
    unsure: float = 0.0
    """By what variances are larger, as a part of them."""
    off: float = 0.0
    """By how much shares may be off, as a part of them."""

    @property
    def alike(self) -> float:
        """Of how many rows that count alike the sum would be as far from normal."""
        fourth = float((self.factor**4).sum())
        return float((self.factor**2).sum()) ** 2 / fourth if fourth else 0.0


def share_interval(
    estimate: Floats, second: Floats, squares: Squares, people: Floats, target: Target
) -> tuple[Floats, Floats, Floats]:
    """Standard errors, and the ends of 95 % intervals, of shares; these may be below 0 and above 1.

    `second` is the mean of squared scores, `people` how many independent ones there are.
    """
    inside, others, slope = np.clip(estimate, 0.0, 1.0), squares.others, squares.has - squares.others
    base = np.maximum(second - inside * slope, others)
    # V(pi) = base + linear pi + square pi^2
    linear, square = (slope - 1, 0.0) if target == "table" else (slope, -1.0)
    error = np.sqrt(np.maximum(base + linear * inside + square * inside**2, 0.0) / people)
    by_chance = others / (1 + others)
    without = people * (1 - inside)
    few = (people * by_chance > FEWEST) & (without * by_chance < FEW)
    few |= (without < FEW_WITHOUT) | (without * (1 - by_chance) < FEW_LACKING)
    # Nobody can have by chance what no value, or every value, is.
    step = np.where(few & (others > 0), (1 + others) / (2 * people), 0.0)
    ends = []
    for sign in (-1, 1):
        moved = estimate + sign * step
        lead, middle = people - Z**2 * square, people * moved + Z**2 * linear / 2
        room = middle**2 - lead * (people * moved**2 - Z**2 * base)
        end = (middle + sign * np.sqrt(np.maximum(room, 0.0))) / lead
        nearest = np.clip(moved, 0.0, 1.0)
        further = np.fmin if sign < 0 else np.fmax
        ends.append(further(inside, further(nearest, np.where(room < 0, nearest, end))))
    return error, ends[0], ends[1]


def sum_distances(rows: Weighed, target: Target, group: Ints | None = None, count: int = 1) -> tuple[Floats, Floats]:
    """The squared distances from sums to the ends of their 95 % intervals, down and up; `group` says which sum a row is
    in."""
    own = rows.factor != 0
    group = np.zeros(int(own.sum()), dtype=np.int64) if group is None else group[own]
    factor, score, squares = rows.factor[own], rows.score[own], rows.squares.at(np.flatnonzero(own))
    size = np.abs(factor)
    largest = np.zeros(count)
    np.maximum.at(largest, group, size)
    steps = np.log2(largest[group] / np.maximum(size, largest[group] * 2.0**-SIZES))
    lot = (group * 2 + (factor < 0)) * SIZES + np.minimum(steps, SIZES - 1).astype(np.int64)

    def total(figures: Floats) -> Floats:
        sums = np.bincount(lot, figures, minlength=count * 2 * SIZES).astype(np.float64, copy=False)
        return sums.reshape(count, 2, SIZES)

    weight, square = total(size), total(size**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        share, second = total(size * score) / weight, total((size * score) ** 2) / square
        design = Squares(total(size**2 * squares.has) / square, total(size**2 * squares.others) / square)
        people = weight**2 / square / (1 + rows.unsure)
        _, low, high = share_interval(share, second, design, people, target)
        aside = (rows.off * share) ** 2
        below, above = weight**2 * ((share - low) ** 2 + aside), weight**2 * ((high - share) ** 2 + aside)
    below, above = np.nan_to_num(below), np.nan_to_num(above)  # of lots with nobody in them
    # What is taken off lets the sum grow where it is less.
    return (below[:, 0] + above[:, 1]).sum(axis=1), (above[:, 0] + below[:, 1]).sum(axis=1)
