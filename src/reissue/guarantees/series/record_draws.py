"""Whether sets of records have the form that their design says, and were drawn with its probabilities.

How probable two records are together has no formula. So for some people a second set is drawn here, given their true
record and with words of one's own, by the sampler that brute force shows to be right (`reasoning.alternatives`). If a
release follows the design, both sets of a person come from the same law, and which of them is the published one is a
coin: of those people for whom just one of the two has a property, half have it in the published set. That is tested:

1. which values of each column stand beside the true record, for everybody and by true value;
2. how often the true value of a column stands there more than once;
3. which records stand there;
4. where the true record stands in order;
5. whether people with the same record have the same set; whether a new set has more in common with the old one.

Each is a bound for any number of people, so that a false alarm has at most the probability that is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.errors import PolicyError, count_of
from reissue.model.record_design import RecordDesign
from reissue.model.sets import SetDesigns
from reissue.reasoning.alternatives.record_designing import stated_factor
from reissue.reasoning.alternatives.record_flight import draw_records, public_words
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise

CHECKED = 20_000
"""For so many people a second set is drawn."""
MANY = 4_000_000
"""More counts by true value are not taken."""
NEAR = 1e-9


def unsound_records(designs: SetDesigns, used: list[int], m: int, is_new: Callable[[int], bool]) -> list[str]:
    """What is wrong with the designs themselves; the factor of one that was not judged before is worked out again."""
    found = []
    for at in used:
        design = designs.of_records[at]
        if design.m != m:
            found.append(f"A design has sets of {design.m} records, and {m} are promised.")
        elif is_new(at):
            try:
                least = stated_factor(design)
            except PolicyError:
                found.append("A design has limits that most of its sets cannot keep.")
                continue
            if least > design.factor * (1 + NEAR):
                found.append(f"A design states a factor of {design.factor:.4f}, and it is up to {least:.4f}.")
    return list(dict.fromkeys(found))


def beyond_columns(
    designs: SetDesigns, used: list[int], limits: Mapping[str, Fraction], harmless: Mapping[str, tuple[str, ...]]
) -> tuple[int, float]:
    """How many values may have more places than the limit of their column, and the largest posterior of any."""
    worst, over = 0.0, 0
    for column, own in enumerate(designs.value_columns):
        limit = limits.get(own.name, Fraction(1, designs.m))
        limited = np.array([value not in harmless.get(own.name, ()) for value in own.values], dtype=np.bool_)
        beyond = np.zeros(limited.size, dtype=np.bool_)
        for at in used:
            there = np.zeros(limited.size, dtype=np.bool_)
            there[own.of[designs.places[at]]] = True
            room = np.where(limited & there, designs.room_of(at, column), 0)
            worst = max(worst, float(room.max(initial=0)) / designs.m)
            beyond |= room * limit.denominator > designs.m * limit.numerator
        over += int(beyond.sum())
    return over, worst


def misshapen_records(design: RecordDesign, sets: Ints) -> tuple[Bools, list[tuple[int, str]]]:
    """Which sets do not have the form that their design says, and for each mistake how many and what it is."""
    broken = np.zeros(len(sets), dtype=np.bool_)
    found: list[tuple[int, str]] = []

    def note(wrong: Bools, what: str) -> None:
        nonlocal broken
        if wrong.any():
            found.append((int(wrong.sum()), what))
            broken |= wrong

    strange = np.asarray(((sets < 0) | (sets >= design.values)).any(axis=1))
    note(strange, "with records that their design does not have")
    sets = np.where(strange[:, None], 0, sets)
    falling = np.asarray((np.diff(sets, axis=1) < 0).any(axis=1))
    note(falling & ~strange, "out of order: the order could tell which is true")
    note(_crowded(sets, design.most) & ~strange, "with a record in more places than its design says")
    for column, room in enumerate(design.room):
        crowded = _crowded(design.records[:, column][sets], room) & ~strange
        note(crowded, f"with a value of column number {column + 1} in more places than it has room")
    return broken, found


def _crowded(codes: Ints, room: Ints) -> Bools:
    """Which rows have a code more often than it has room."""
    ordered = np.sort(codes, axis=1)
    run, over = np.ones(len(codes), dtype=np.int64), np.ones(len(codes), dtype=np.int64) > room[ordered[:, 0]]
    for place in range(1, ordered.shape[1]):
        run = np.where(ordered[:, place] == ordered[:, place - 1], run + 1, 1)
        over |= run > room[ordered[:, place]]
    return np.asarray(over)


@dataclass(frozen=True, repr=False)
class DrawnRecords:
    """Sets that were drawn from one design, and a second one for some of their people."""

    design: RecordDesign
    sets: Ints
    """A row for each set, a column for each place: records by their numbers in the design."""
    own: Ints
    """The true record of each."""
    control: Ints

    @classmethod
    def of(cls, design: RecordDesign, sets: Ints, own: Ints) -> DrawnRecords:
        """The sets of people with these records; of many those of some, from all parts of the release alike."""
        some = np.arange(min(own.size, CHECKED)) * own.size // max(min(own.size, CHECKED), 1)
        mine = own[some].astype(np.int64)
        return cls(design, sets[some].astype(np.int64), mine, draw_records(design, mine, public_words).astype(np.int64))

    def __repr__(self) -> str:
        return f"DrawnRecords({self.own.size:,} sets)"


def unlikely_records(drawn: DrawnRecords, error: float) -> list[str]:
    """What does not fit the design, in words; a false alarm has a probability of at most `error`."""
    if not drawn.own.size:
        return []
    design, own = drawn.design, drawn.own
    decoys = [_without(sets, own) for sets in (drawn.sets, drawn.control)]
    found = []
    tests = 2 * design.columns + 3
    for column in range(design.columns):
        values, true = design.records[:, column], design.records[:, column][own]
        seen, control = (_present(values[one], design.room[column].size) for one in decoys)
        if _far(seen, control, true, error / tests):
            found.append(
                f"Values of column number {column + 1} do not stand beside true records as often as the design says."
            )
        often = [(values[one] == true[:, None]).sum(axis=1) for one in decoys]
        if _leans(often[0], often[1], error / tests):
            found.append(
                f"The true value of column number {column + 1} stands in sets more often, or less, than the design "
                "says."
            )
    if design.values * own.size <= 100 * MANY:
        seen, control = (_present(one, design.values) for one in decoys)
        if _far(seen, control, np.zeros(own.size, dtype=np.int64), error / tests):
            found.append("Records do not stand beside true ones as often as the design says.")
    before, control_before = ((sets < own[:, None]).sum(axis=1) for sets in (drawn.sets, drawn.control))
    if _leans(before, control_before, error / tests):
        found.append("The order of records tells which is true.")
    order = np.argsort(own, kind="stable")
    pair = order[:-1][own[order][1:] == own[order][:-1]][::2], order[1:][own[order][1:] == own[order][:-1]][::2]
    twins = [(sets[pair[0]] == sets[pair[1]]).all(axis=1).astype(np.int64) for sets in (drawn.sets, drawn.control)]
    if _leans(twins[0], twins[1], error / tests):
        found.append("People with the same record have the same set more often than the design says.")
    return found


def dependent_records(design: RecordDesign, old: Ints, new: Ints, own: Ints, error: float) -> list[str]:
    """Whether new sets have more, or less, in common with people's old ones than sets drawn for them have."""
    if not own.size:
        return []
    control = draw_records(design, own, public_words).astype(np.int64)
    common = [(old[:, :, None] == sets[:, None, :]).any(axis=1).sum(axis=1) for sets in (new.astype(np.int64), control)]
    if not _leans(common[0], common[1], error):
        return []
    return [f"The new sets of {count_of(own.size, 'person', 'people')} depend on the ones that they had before."]


def _without(sets: Ints, own: Ints) -> Ints:
    """Sets without one place of the true record."""
    at = (sets == own[:, None]).argmax(axis=1)
    keep = np.arange(sets.shape[1])[None, :] != at[:, None]
    return np.asarray(sets[keep].reshape(len(sets), sets.shape[1] - 1))


def _present(codes: Ints, count: int) -> Bools:
    """For each row which codes it has."""
    found = np.zeros((len(codes), count), dtype=np.bool_)
    found[np.arange(len(codes))[:, None], codes] = True
    return found


def _far(seen: Bools, control: Bools, by: Ints, error: float) -> bool:
    """Whether some column differs from the control for those with one number in `by`, or for all together."""
    up, down = seen & ~control, control & ~seen
    tables = [(up.sum(axis=0)[None], down.sum(axis=0)[None])]
    order = np.argsort(by, kind="stable")
    starts = np.flatnonzero(np.diff(by[order], prepend=-1))
    if starts.size > 1 and starts.size * up.shape[1] <= MANY:
        more, less = (np.add.reduceat(one[order], starts, axis=0, dtype=np.int64) for one in (up, down))
        tables.append((more, less))
    return any(_surprising(more, less, error / len(tables)) for more, less in tables)


def _leans(seen: Ints, control: Ints, error: float) -> bool:
    """Whether a figure is larger in published sets than in the control, or smaller, more often than by a coin."""
    more, less = np.count_nonzero(seen > control), np.count_nonzero(seen < control)
    return _surprising(np.array([more]), np.array([less]), error)


def _surprising(more: Ints, less: Ints, error: float) -> bool:
    """Whether of so many who differ from the control more go one way than coins do."""
    trials = more + less
    return bool(surprise(more, trials, trials / 2).max(initial=0.0) > allowed(error, int(np.count_nonzero(trials))))
