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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from reissue.arrays.dense import often
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
PART = 1 << 18
"""So many sets are looked at together."""
PAIRED = 20_000
"""So many people are compared with somebody who has the same value."""


@dataclass(frozen=True, repr=False)
class Drawn:
    """Sets that were drawn from one design, in the design's own numbers."""

    design: Design
    columns: npt.NDArray[np.integer]
    """A row for each slot, a column for each set; ascending unless they are lives."""
    own: npt.NDArray[np.integer]
    """The true value of each, which is in the set; a label, and not in the set, where `free`."""
    marks: Words
    numbers: Words
    """For each value the number that marks are made of."""
    places: Ints
    """The label of each value, ascending."""
    free: bool = False
    """Whether sets were drawn given nothing: the true value stands beside them, and is none of the design's."""

    @property
    def count(self) -> int:
        """How many sets."""
        return self.own.size

    @cached_property
    def joint(self) -> JointInclusion:
        """How probable two values are together."""
        return JointInclusion(self.design)

    def labels_of(self, rows: slice) -> Ints:
        """The label of each true value of some sets."""
        return self.own[rows].astype(np.int64) if self.free else self.places[self.own[rows]]

    @property
    def true(self) -> Ints:
        """The labels of true values: of all sets where they are drawn given nothing, otherwise those that may be."""
        return self.labels_of(slice(None)) if self.free else self.places

    @cached_property
    def counts(self) -> Ints:
        """For each value of the design how many people have it."""
        if self.free:
            return np.zeros(self.design.values, dtype=np.int64)
        return often(self.own, self.design.values)

    def spans(self) -> Iterator[slice]:
        """The sets in parts, so that what is counted of them needs little memory."""
        return (slice(begin, begin + PART) for begin in range(0, self.count, PART))


def unlikely(parts: Sequence[Drawn], error: float) -> list[str]:
    """What does not fit the designs, in words; a false alarm has a probability of at most `error`.

    Sets of several designs are judged together: what is seen of each label, and what is expected, is added up.
    """
    labels = np.unique(np.concatenate([every for part in parts for every in (part.places, part.true)]))
    found = [_decoys(parts, labels, error / 2), _positions(parts, labels, error / 6)]
    found += [_whole_sets(parts, error / 6), _twins(parts, error / 6)]
    return [words for words in found if words]


def _decoys(parts: Sequence[Drawn], labels: Ints, error: float) -> str | None:
    """How often values are in sets of those who do not have them."""
    by_value = labels.size <= MANY_VALUES
    seen, trials, expected = np.zeros((3, labels.size if by_value else 1, labels.size))
    for part in parts:
        true, *own = _by_value(part) if by_value else _by_all(part)
        rows = np.searchsorted(labels, true) if by_value else np.zeros(1, dtype=np.int64)
        for every, one in zip((seen, trials, expected), own, strict=True):
            every[np.ix_(rows, np.searchsorted(labels, part.places))] += one
    if by_value:
        surprises = surprise(seen, trials, expected)
        if surprises.max() > allowed(error / 2, int(np.count_nonzero(trials))):
            at = np.unravel_index(int(np.argmax(surprises)), surprises.shape)
            return _told("for people with one value another", seen[at], expected[at])
    others, totals = seen.sum(axis=0), expected.sum(axis=0)
    surprises = surprise(others, trials.sum(axis=0), totals)
    if surprises.max() <= allowed(error / 2, labels.size):
        return None
    at_value = int(np.argmax(surprises))
    return _told("one value", others[at_value], totals[at_value])


def _by_value(part: Drawn) -> tuple[Ints, Floats, Floats, Floats]:
    """True values, and for each, a row, and every other value: how often that is in sets, could be, and should."""
    design, values = part.design, part.design.values
    people, row = np.unique(part.true, return_inverse=True) if part.free else (part.places, part.own)
    seen = np.zeros(people.size * values, dtype=np.int64)
    for rows in part.spans():
        line = row[rows].astype(np.intp) * values
        for column in part.columns:
            seen += np.bincount(line + column[rows], minlength=seen.size)
    cells = seen.reshape(people.size, values) // design.slots
    trials = np.repeat(often(row, people.size)[:, None], values, axis=1)
    if part.free:
        return people, cells.astype(np.float64), trials.astype(np.float64), trials * design.inclusion
    expected = part.joint.matrix() * (part.counts / design.inclusion)[:, None]
    for table in (cells, trials):
        np.fill_diagonal(table, 0)
    return people, cells.astype(np.float64), trials.astype(np.float64), expected


def _by_all(part: Drawn) -> tuple[Ints, Floats, Floats, Floats]:
    """The same with all true values in one row."""
    design, counts = part.design, part.counts
    seen = np.zeros(design.values, dtype=np.int64)
    for column in part.columns:
        seen += often(column, design.values)
    expected = part.count * design.inclusion if part.free else part.joint.totals(counts / design.inclusion)
    others, trials = seen // design.slots - counts, part.count - counts
    return part.places, others[None].astype(np.float64), trials[None].astype(np.float64), expected[None]


def _told(which: str, seen: float, expected: float) -> str:
    return (
        f"Values are not in sets as often as the design says: {which} is in {int(seen):,} sets of those who do not "
        f"have it, and {expected:,.1f} are expected."
    )


def _positions(parts: Sequence[Drawn], labels: Ints, error: float) -> str | None:
    """Where true values stand in order: how many slots have smaller ones."""
    seen, trials, expected = np.zeros((3, labels.size))
    slots, fair = 0.0, 0.0
    for part in parts:
        design = part.design
        if part.free:
            of_value = np.append(0.0, np.cumsum(design.inclusion))
            room = np.full(of_value.size, design.m, dtype=np.float64)
        else:
            of_value = part.joint.below(design.slots.astype(np.float64)) / design.inclusion
            room = (design.m - design.slots).astype(np.float64)
        for rows in part.spans():
            own = part.own[rows]
            own = np.searchsorted(part.places, own) if part.free else own.astype(part.columns.dtype, copy=False)
            rank = np.zeros(own.size, dtype=np.int16)
            for column in part.columns:
                rank += column[rows] < own
            below, could = of_value[own], room[own] > 0
            true, share = np.searchsorted(labels, part.labels_of(rows)[could]), 1 / room[own[could]]
            seen += np.bincount(true, rank[could] * share, minlength=labels.size)
            expected += np.bincount(true, below[could] * share, minlength=labels.size)
            trials += np.bincount(true, minlength=labels.size)
            slots, fair = slots + float(rank.sum()), fair + float(below.sum())
    single = surprise(seen, trials, expected)
    every = surprise(seen.sum(), trials.sum(), expected.sum())
    if max(single.max(), every.max()) <= allowed(error, labels.size + 1):
        return None
    return (
        f"The order of values tells which is true: {slots:,.0f} slots have smaller values than the true one, "
        f"and {fair:,.1f} are expected."
    )


def _whole_sets(parts: Sequence[Drawn], error: float) -> str | None:
    """How often each set was drawn for each true value, where there are few."""
    divergence, freedom, strange = 0.0, 0, 0
    for part in parts:
        design = part.design
        if possible_sets(design) > MANY_SETS:
            continue
        sets = all_sets(design)
        chances = probability(design, sets)
        marks = part.numbers[sets].sum(axis=1)
        order = np.argsort(marks)
        place = order[np.searchsorted(marks[order], part.marks).clip(max=marks.size - 1)]
        strange += int(np.count_nonzero(marks[place] != part.marks))
        people, row = np.unique(part.own, return_inverse=True)
        seen = np.bincount(row * len(sets) + place, minlength=people.size * len(sets)).reshape(people.size, len(sets))
        for value, counts in zip(people.tolist(), seen, strict=True):
            inside = np.full(len(sets), part.free) | (sets == value).any(axis=1)
            whole = 1.0 if part.free else design.inclusion[value]
            far, free = surprise_of_cells(counts[inside], chances[inside] / whole)
            divergence, freedom = divergence + far, freedom + free
    if strange:
        return f"{strange:,} sets are none that the design can give."
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


def _twins(parts: Sequence[Drawn], error: float) -> str | None:
    """How often two people with the same value have the same set; nobody is in two pairs."""
    seen, trials, expected = 0, 0, 0.0
    for part in parts:
        few = part.own[:PAIRED]
        order = np.argsort(few, kind="stable")
        first = _pairs(few[order])
        one, other = order[first], order[first + 1]
        seen += int(np.count_nonzero(part.marks[one] == part.marks[other]))
        trials += one.size
        expected += float(again(part, one).sum())
    if not trials or float(surprise(seen, trials, expected)) <= allowed(error, 1):
        return None
    return (
        f"{seen:,} of {trials:,} pairs of people with the same value have the same set, "
        f"and {expected:,.3g} are expected."
    )


def again(part: Drawn, rows: Ints) -> Floats:
    """For some sets the chance that each comes up once more, for the same value."""
    sets = part.columns[:, rows].T.astype(np.int64)
    if part.free:
        return probability(part.design, sets)
    return probability_given(part.design, sets, part.own[rows].astype(np.int64))


def _pairs(ordered: npt.NDArray[np.integer]) -> Ints:
    """Where pairs of equal neighbours begin, none overlapping."""
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if ordered.size else np.zeros(0, np.int64)
    place = np.arange(ordered.size) - np.repeat(begins, np.diff(np.append(begins, ordered.size)))
    return np.flatnonzero((place[:-1] % 2 == 0) & (ordered[1:] == ordered[:-1]))
