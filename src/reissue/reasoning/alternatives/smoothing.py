"""Smoothing: how likely each state of each row is, given all rows of its person; forward and backward sums.

A person's rows follow each other; in each the true value is one of at most k. What a row says of a value, and how
values move from one row to the next, a `Steps` knows. There are sums only, nothing is subtracted, so that every figure
is right to a relative error of a few roundings for each row and value; `rounding` says how many.

People whose rows cannot come about at all get a likelihood of 0 and no posterior, and do not stop the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from reissue.arrays.types import Floats, Ints

CELLS = 1 << 18
"""So many weights are held at once."""


class Steps(Protocol):
    """What rows say: weights of the states of a row, up to a factor that no state changes."""

    @property
    def width(self) -> int:
        """How many states a row has at most."""

    def first(self, rows: Ints) -> Floats:
        """The weight of each state in people's first rows: (rows, width)."""

    def ahead(self, weights: Floats, before: Ints, after: Ints) -> Floats:
        """The weights in the rows after, from those in the rows before."""

    def back(self, weights: Floats, before: Ints, after: Ints) -> Floats:
        """What the rows after say of the states in the rows before, from what is said of their own."""


@dataclass(frozen=True, repr=False)
class Smoothed:
    """What all rows of a person say together."""

    posterior: Floats
    """(rows, width): the probability of each state; 0 in all for people whose rows cannot come about."""
    log_likelihood: Floats
    """By person: the logarithm of how likely their rows are, up to a factor that no value changes; -inf: not at all."""

    def __repr__(self) -> str:
        return f"Smoothed({self.log_likelihood.size:,} people, {len(self.posterior):,} rows)"


def smoothed(starts: Ints, steps: Steps) -> Smoothed:
    """Smooth people whose rows stand one after the other, from `starts[i]` to before `starts[i + 1]`."""
    lengths = np.diff(starts)
    posterior = np.zeros((int(starts[-1]), steps.width))
    log_likelihood = np.zeros(lengths.size)
    # People with equally many rows go together, so that no step has to ask who is still there.
    order = np.argsort(lengths, kind="stable")
    bounds = np.flatnonzero(np.diff(lengths[order], prepend=-1, append=-1))
    for begin, end in pairwise(bounds.tolist()):
        length = int(lengths[order[begin]])
        at_once = max(1, CELLS // max(1, steps.width * length))
        for at in range(begin, end, at_once):
            people = order[at : min(at + at_once, end)]
            rows = starts[people][:, None] + np.arange(length)
            if rows.size:
                posterior[rows], log_likelihood[people] = _together(rows, steps)
    return Smoothed(posterior, log_likelihood)


def _together(rows: Ints, steps: Steps) -> tuple[Floats, Floats]:
    """Forward and backward over people with equally many rows."""
    people, length = rows.shape
    found = np.empty((people, length, steps.width))
    total = np.zeros(people)
    weights = steps.first(rows[:, 0])
    for step in range(length):
        if step:
            weights = steps.ahead(found[:, step - 1], rows[:, step - 1], rows[:, step])
        sums = weights.sum(axis=1)
        with np.errstate(divide="ignore"):
            total += np.log(sums)
        found[:, step] = weights / np.where(sums > 0, sums, 1.0)[:, None]
    behind = np.ones((people, steps.width))
    for step in range(length - 1, 0, -1):
        found[:, step] *= behind
        behind = steps.back(behind, rows[:, step - 1], rows[:, step])
        top = behind.max(axis=1, keepdims=True)
        behind /= np.where(top > 0, top, 1.0)
    found[:, 0] *= behind
    sums = found.sum(axis=2, keepdims=True)
    sums[~np.isfinite(total)] = np.inf
    return found / np.where(sums > 0, sums, np.inf), total


def rounding(length: int, width: int) -> float:
    """A bound on the relative error of posteriors that follows from rounding, for so many rows of a person.

    Each row adds to each weight at most `width` products and a dozen further operations, forward and backward, each
    with a relative error of 2^-53. What is given (chances of sets among it) counts with 10^-11, far more than it has.
    """
    return 1e-11 + length * 4 * (width + 12) * 2.0**-53
