"""Whether sets were drawn with the probabilities of their design, given everybody's true value.

1. how often each value is in sets of people who have another: decoys by other shares, values that are never decoys;
2. the same for each true value by itself, up to 256 values: decoys that depend on it otherwise than they should;
3. where true values stand among the others in order: decoys near the true value, an order that tells;
4. how often each set was drawn for each true value, up to 500 possible sets: any other mistake, on small domains;
5. how often two people with the same value have the same set: too few random numbers, seeds that values give.

Each is a bound that holds for any number of people (`tail_bounds`), so that the probability of a false alarm is not
above what is stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints, Words
from reissue.model.design import Design
from reissue.reasoning.alternatives.joint_inclusion import JointInclusion
from reissue.reasoning.alternatives.sampford import fillings
from reissue.reasoning.alternatives.set_probabilities import all_sets, probability, probability_given
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise, surprise_of_cells, surprise_of_fit

MANY_VALUES = 256
"""Designs with more are not looked at for each true value by itself."""
MANY_SETS = 500
"""Designs with more possible sets are not looked at set by set."""
PAIRED = 20_000
"""So many people are compared with somebody who has the same value."""


@dataclass(frozen=True, repr=False)
class Drawn:
    """Sets that were drawn from one design, in the design's own numbers."""

    design: Design
    columns: npt.NDArray[np.integer]
    """A row for each slot, a column for each set; ascending unless they are lives."""
    own: npt.NDArray[np.integer]
    """The true value of each."""
    marks: Words
    numbers: Words
    """For each value the number that marks are made of."""

    @property
    def count(self) -> int:
        """How many sets."""
        return self.own.size


def unlikely(drawn: Drawn, error: float) -> list[str]:
    """What does not fit the design, in words; a false alarm has a probability of at most `error`."""
    counts = np.bincount(drawn.own, minlength=drawn.design.values)
    joint = JointInclusion(drawn.design)
    found = [_decoys(drawn, counts, joint, error / 2), _positions(drawn, counts, joint, error / 6)]
    found += [_whole_sets(drawn, counts, error / 6), _twins(drawn, error / 6)]
    return [words for words in found if words]


def _decoys(drawn: Drawn, counts: Ints, joint: JointInclusion, error: float) -> str | None:
    """How often values are in sets of those who do not have them."""
    design, values = drawn.design, drawn.design.values
    given = counts / design.inclusion
    if values <= MANY_VALUES:
        seen = np.zeros(values * values, dtype=np.int64)
        rows = drawn.own.astype(np.intp) * values
        for column in drawn.columns:
            seen += np.bincount(rows + column, minlength=values * values)
        cells = seen.reshape(values, values) // design.slots  # a true value to the left, a value in its sets on top
        np.fill_diagonal(cells, 0)
        others = cells.sum(axis=0)
        expected = joint.matrix() * given[:, None]
        trials = np.broadcast_to(counts[:, None], cells.shape)
        surprises = surprise(cells, trials, expected)
        if surprises.max() > allowed(error / 2, values * (values - 1)):
            at = np.unravel_index(int(np.argmax(surprises)), surprises.shape)
            return _told("for people with one value another", cells[at], expected[at])
        totals = expected.sum(axis=0)
    else:
        seen = np.zeros(values, dtype=np.int64)
        for column in drawn.columns:
            seen += np.bincount(column, minlength=values)
        others = seen // design.slots - counts
        totals = joint.totals(given)
    surprises = surprise(others, drawn.count - counts, totals)
    if surprises.max() <= allowed(error / 2, values):
        return None
    at_value = int(np.argmax(surprises))
    return _told("one value", others[at_value], totals[at_value])


def _told(which: str, seen: float, expected: float) -> str:
    return (
        f"Values are not in sets as often as the design says: {which} is in {int(seen):,} sets of those who do not "
        f"have it, and {expected:,.1f} are expected."
    )


def _positions(drawn: Drawn, counts: Ints, joint: JointInclusion, error: float) -> str | None:
    """Where true values stand in order: how many slots have smaller ones."""
    design = drawn.design
    own = drawn.own.astype(drawn.columns.dtype)
    rank = np.zeros(drawn.count, dtype=np.int16)
    for column in drawn.columns:
        rank += column < own
    room = (design.m - design.slots).astype(np.float64)
    smaller = np.bincount(drawn.own, rank, minlength=design.values)
    expected = joint.below(design.slots.astype(np.float64)) / design.inclusion * counts
    could = room > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(could, smaller / room, 0.0), np.where(could, expected / room, 0.0)
    single = surprise(parts[0], counts, parts[1])
    every = surprise(parts[0].sum(), counts[could].sum(), parts[1].sum())
    if max(single.max(), every.max()) <= allowed(error, design.values + 1):
        return None
    return (
        f"The order of values tells which is true: {smaller.sum():,.0f} slots have smaller values than the true one, "
        f"and {expected.sum():,.1f} are expected."
    )


def _whole_sets(drawn: Drawn, counts: Ints, error: float) -> str | None:
    """How often each set was drawn for each true value, where there are few."""
    design = drawn.design
    if possible_sets(design) > MANY_SETS:
        return None
    sets = all_sets(design)
    chances = probability(design, sets)
    marks = drawn.numbers[sets].sum(axis=1)
    order = np.argsort(marks)
    place = order[np.searchsorted(marks[order], drawn.marks).clip(max=marks.size - 1)]
    strange = int(np.count_nonzero(marks[place] != drawn.marks))
    if strange:
        return f"{strange:,} sets are none that the design can give."
    seen = np.bincount(drawn.own.astype(np.intp) * len(sets) + place, minlength=design.values * len(sets))
    seen = seen.reshape(design.values, len(sets))
    divergence, freedom = 0.0, 0
    for value in np.flatnonzero(counts).tolist():
        inside = (sets == value).any(axis=1)
        far, free = surprise_of_cells(seen[value, inside], chances[inside] / design.inclusion[value])
        divergence, freedom = divergence + far, freedom + free
    if surprise_of_fit(divergence, freedom) <= allowed(error, 1):
        return None
    return (
        f"Sets are not drawn as often as the design says: they are {2 * divergence:,.0f} from it, measured by G, with "
        f"{freedom:,} degrees of freedom."
    )


def possible_sets(design: Design) -> int:
    """How many different sets a design can give."""
    every = fillings(design)
    among = (~every.certain).sum(axis=1)
    return sum(comb(int(among[index]), int(every.free[index])) for index in every.size_of)


def _twins(drawn: Drawn, error: float) -> str | None:
    """How often two people with the same value have the same set; nobody is in two pairs."""
    few = drawn.own[:PAIRED]
    order = np.argsort(few, kind="stable")
    first = _pairs(few[order])
    one, other = order[first], order[first + 1]
    return repeated(
        drawn.design,
        drawn.columns[:, one],
        drawn.own[one],
        int(np.count_nonzero(drawn.marks[one] == drawn.marks[other])),
        error,
        "{seen:,} of {trials:,} pairs of people with the same value have the same set",
    )


def repeated(
    design: Design,
    columns: npt.NDArray[np.integer],
    own: npt.NDArray[np.integer],
    seen: int,
    error: float,
    words: str,
) -> str | None:
    """Whether sets came up a second time, for the same values, more or less often than by chance."""
    if not own.size:
        return None
    expected: Floats = probability_given(design, columns.T.astype(np.int64), own.astype(np.int64))
    if float(surprise(seen, own.size, expected.sum())) <= allowed(error, 1):
        return None
    return words.format(seen=seen, trials=own.size) + f", and {expected.sum():,.3g} are expected."


def _pairs(ordered: npt.NDArray[np.integer]) -> Ints:
    """Where pairs of equal neighbours begin, none overlapping."""
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if ordered.size else np.zeros(0, np.int64)
    place = np.arange(ordered.size) - np.repeat(begins, np.diff(np.append(begins, ordered.size)))
    return np.flatnonzero((place[:-1] % 2 == 0) & (ordered[1:] == ordered[:-1]))
