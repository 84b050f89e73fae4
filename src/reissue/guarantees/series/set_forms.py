"""Whether sets have the form that their design says: by themselves, without a look at other releases or true values."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Ints
from reissue.model.design import Design
from reissue.model.sets import SetDesigns

NEAR = 1e-9
"""So near must probabilities be to what they add up to."""
TABLED = 20
"""Combinations of so many large values are looked up in a table."""

Columns = npt.NDArray[np.integer]
"""A row for each slot, a column for each set."""


def unsound(designs: SetDesigns, used: list[int], m: int) -> list[str]:
    """What is wrong with the designs themselves."""
    found = []
    for at in used:
        design, places = designs.of_values[at], designs.places[at]
        if design.m != m:
            found.append(f"A design has sets of {design.m} slots, and {m} are promised.")
        elif places.size != design.values or (np.diff(places) <= 0).any():
            found.append("A design does not say which values it has.")
        elif not (design.shares > 0).all() or abs(design.shares.sum() - 1) > NEAR or design.inclusion.max() > 1 + NEAR:
            found.append("A design has shares that do not add up to 1, or a value that would be in more than all sets.")
        elif (
            (design.slots[design.small] != 1).any()
            or abs(design.weights.sum() - 1) > NEAR
            or (np.abs(design.weights @ design.joint - design.inclusion[design.large]) > NEAR).any()
            or (design.remaining < 0).any()
        ):
            found.append("A design draws frequent values with other probabilities than their shares and slots say.")
    return list(dict.fromkeys(found))


def beyond(designs: SetDesigns, used: list[int], limit: Fraction, harmless: Bools) -> tuple[int, float]:
    """How many values take more slots than the limit allows, and the largest posterior of any with a limit."""
    worst, over = 0.0, np.zeros(len(designs.labels), dtype=np.bool_)
    for at in used:
        design, places = designs.designs[at], designs.places[at]
        limited = ~harmless[places]
        slots = designs.most(at)[limited]
        worst = max(worst, float(slots.max(initial=0)) / design.m)
        over[places[limited]] |= slots * limit.denominator > design.m * limit.numerator
    return int(over.sum()), worst


def misshapen(
    design: Design,
    places: Ints,
    labels: int,
    columns: Columns,
    *,
    linked: bool,
    carried: Bools | None,
    moved: Bools | None = None,
    room: Ints | None = None,
) -> tuple[Bools, list[tuple[int, str]]]:
    """Which sets do not have the form that their design says, and for each mistake how many and what it is.

    `carried`: sets that hold permanent values of those before. Beside these, others are drawn by other designs.
    `moved`: lives that have moved on, and `room`: how many of them may be at each value of the design.
    """
    count = columns.shape[1]
    local = np.full(labels + 1, -1, dtype=np.int64)
    local[places] = np.arange(places.size)
    broken = np.zeros(count, dtype=np.bool_)
    found: list[tuple[int, str]] = []

    def note(wrong: Bools, what: str) -> None:
        nonlocal broken
        if wrong.any():
            found.append((int(wrong.sum()), what))
            broken |= wrong

    if places.size < labels or int(columns.max(initial=0)) >= labels:
        outside = np.logical_or.reduce([local[column] < 0 for column in columns])
        if carried is not None:
            outside &= ~carried
        note(outside, "with values that their design does not have")
    if linked:
        columns = np.sort(columns, axis=0)
    else:
        falling = np.zeros(count, dtype=np.bool_)
        for one, following in pairwise(columns):
            falling |= following < one
        note(falling, "out of order: the order of values could tell which is true")
        if falling.any():
            columns = np.sort(columns, axis=0)
    wrong = _wrong_slots(design, local, columns, carried)
    if moved is not None and room is not None:
        note(crowded(np.append(room, 1)[local], columns), "with more lives at a value than there is room for")
        wrong &= ~moved
    note(wrong, "with a value in more or fewer slots than its design says")
    if design.large.size:
        wrong = _unknown_combinations(design, local, columns)
        for other in (carried, moved):
            wrong = wrong if other is None else wrong & ~other
        note(wrong, "with frequent values together that their design never has")
    return broken, found


def _wrong_slots(design: Design, local: Ints, columns: Columns, carried: Bools | None) -> Bools:
    """Which sets, in ascending order, have a value in another number of slots than it takes."""
    wrong = np.zeros(columns.shape[1], dtype=np.bool_)
    if int(design.slots.max()) == 1:
        for one, following in pairwise(columns):
            wrong |= one == following
        return wrong
    takes = np.append(design.slots, 1).astype(np.uint8 if design.m < 256 else np.int64)[local]
    run = np.ones(columns.shape[1], dtype=takes.dtype)
    for slot, column in enumerate(columns):
        ends = np.ones(run.size, dtype=np.bool_) if slot + 1 == len(columns) else columns[slot + 1] != column
        bad = ends & (run != takes[column])
        wrong |= bad if carried is None else bad & ~(carried & (run == 1))
        run = np.where(ends, 1, run + 1).astype(takes.dtype)
    return wrong


def crowded(room: Ints, columns: Columns) -> Bools:
    """Which lives, in ascending order, are at a value in larger number than it has room for."""
    run, over = np.ones(columns.shape[1], dtype=np.int64), np.zeros(columns.shape[1], dtype=np.bool_)
    for one, following in pairwise(columns):
        run = np.where(one == following, run + 1, 1)
        over |= run > room[following]
    return over


def _unknown_combinations(design: Design, local: Ints, columns: Columns) -> Bools:
    """Which sets have a combination of large values that cannot occur."""
    bits = np.zeros(design.values + 1, dtype=np.int64)
    bits[design.large] = 1 << np.arange(design.large.size)
    of_label = bits[local]
    held = np.zeros(columns.shape[1], dtype=np.int64)
    for column in columns:
        held |= of_label[column]
    known = design.joint @ (1 << np.arange(design.large.size))
    if design.large.size <= TABLED:
        table = np.zeros(1 << design.large.size, dtype=np.bool_)
        table[known] = True
        return np.asarray(~table[held])
    return np.isin(held, known, invert=True)
