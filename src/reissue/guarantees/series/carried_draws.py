"""Whether what stands beside permanent values that are carried on was drawn as it should be.

A new set holds all permanent values K of the one before, and beside them m - |K| others, drawn by the shares of all
values outside K: given the true value if it is outside K, else given nothing. Shares are h of `set_renewals`, as
somebody may have been away for several steps. After a long absence a value can be too likely for that; then it stands
in every new set, as those of K do.

So people with the same K, in the same cell and away for as long, are judged by one design: those whose value is outside
K as newcomers are, the others by how probable sets are whatever the value. If what is beside K depended on whether the
true value is in K, sets would tell it. Where K leaves one slot, the second kind of people has a value by its share in
it, and the first kind their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints, Words
from reissue.guarantees.series.set_draws import MANY_VALUES, Drawn, unlikely
from reissue.model.design import Design
from reissue.reasoning.alternatives.renewing import carried_on
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise

MOST_KINDS = 64
"""So many kinds of people are judged, those with most people; the rest is judged for its form only."""


@dataclass(frozen=True, repr=False)
class Carried:
    """New sets that hold values of those before."""

    columns: npt.NDArray[np.integer]
    """A row for each slot: labels, ascending."""
    own: Ints
    held: Bools
    """A row for each set, a column for each permanent value: whether the set before had it."""
    law: Ints
    """Which of the laws each was drawn by."""


@dataclass(frozen=True, repr=False)
class Beside:
    """Of one kind of people what stands beside K; `rows` says which sets these are."""

    drawn: Drawn
    rows: Ints


@dataclass(frozen=True, repr=False)
class Single:
    """The same where one slot is left, of people whose value is in K."""

    own: Ints
    value: Ints
    """What is in the slot."""
    shares: Floats
    rows: Ints


@dataclass(frozen=True, repr=False)
class Judged:
    """What there is to judge."""

    strange: int
    """How many sets do not hold K, or hold what cannot be beside it."""
    parts: tuple[Beside, ...]
    singles: tuple[Single, ...]


def beside(carried: Carried, laws: Floats, permanent: Ints, numbers: Words) -> Judged:
    """What stands beside values that are carried on, by kind of people; `laws` has rows of shares of all labels."""
    kinds, kind = np.unique(np.column_stack([carried.law, carried.held]), axis=0, return_inverse=True)
    order = np.argsort(-np.bincount(kind.ravel()), kind="stable")[:MOST_KINDS]
    m, strange = len(carried.columns), 0
    parts: list[Beside] = []
    singles: list[Single] = []
    for at in order.tolist():
        rows = np.flatnonzero(kind.ravel() == at)
        kept, shares = carried_on(laws[kinds[at, 0]], permanent[kinds[at, 1:] == 1], m)
        sets = carried.columns[:, rows].T.astype(np.int64)
        others = ~np.isin(sets, kept)
        sound = (others.sum(axis=1) == m - kept.size) & ((shares[sets] > 0) | ~others).all(axis=1)
        strange += int(np.count_nonzero(~sound))
        rows, left = rows[sound], m - kept.size
        sets, own = sets[sound][others[sound]].reshape(rows.size, left), carried.own[rows]
        inside = np.isin(own, kept)
        if left == 1:
            singles.append(Single(own[inside], sets[inside, 0], shares, rows[inside]))
        elif left > 1:
            for free in (False, True):
                mine = np.flatnonzero(inside == free)
                if mine.size:
                    part = _part(shares, sets[mine], own[mine], numbers, free=free)
                    parts.append(Beside(part, rows[mine]))
    return Judged(strange, tuple(parts), tuple(singles))


def _part(shares: Floats, sets: Ints, own: Ints, numbers: Words, *, free: bool) -> Drawn:
    places = np.flatnonzero(shares > 0)
    local = np.searchsorted(places, sets)
    slots, nothing = np.ones(places.size, dtype=np.int64), np.zeros(0, dtype=np.int64)
    design = Design(sets.shape[1], shares[places], slots, nothing, np.zeros((1, 0), dtype=np.bool_), np.ones(1))
    true = own if free else np.searchsorted(places, own)
    of_value = numbers[places]
    marks = of_value[local].sum(axis=1, dtype=np.uint64)
    return Drawn(design, np.ascontiguousarray(local.T), true, marks, of_value, places, free)


def unlikely_beside(judged: Judged, labels: int, error: float) -> list[str]:
    """What does not fit the designs: of all kinds of people together, then of each by itself."""
    parts = [part.drawn for part in judged.parts]
    found = unlikely(parts, error / 3) if parts else []
    for part in parts if not found and len(parts) > 1 else ():
        found = found or unlikely([part], error / 3 / len(parts))
    one = _unlikely_singles(judged.singles, labels, error / 3)
    return [f"Beside values that are carried on: {words}" for words in [*found, *one]]


def _unlikely_singles(singles: Sequence[Single], labels: int, error: float) -> list[str]:
    """Single values beside K, of people whose value is in K: by the shares, whatever the value is."""
    by_value = labels <= MANY_VALUES
    seen, trials, expected = np.zeros((3, labels if by_value else 1, labels))
    for one in singles:
        row = one.own if by_value else np.zeros(one.own.size, dtype=np.int64)
        np.add.at(seen, (row, one.value), 1)
        people = np.bincount(row, minlength=len(seen))[:, None]
        trials += people * (one.shares > 0)
        expected += people * one.shares
    for axis in (None, 0) if by_value else (None,):
        up, of, mean = (table if axis is None else table.sum(axis=axis) for table in (seen, trials, expected))
        surprises = surprise(up, of, mean)
        if surprises.max() > allowed(error / 2, int(np.count_nonzero(of))):
            at = np.unravel_index(int(np.argmax(surprises)), surprises.shape)
            return [f"one value is in {int(up[at]):,} sets, and {mean[at]:,.1f} are expected by its share."]
    return []
