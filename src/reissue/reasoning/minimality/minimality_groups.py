"""What the argument from minimality says of one generalised group.

Definition 3 of Wong et al.: had the rows of the group been specialised down to their own quasi-identifiers, the
requirement would have been broken. So at least one class with rows in the group violates it, judged by its rows in
the group together with those of its rows that were left ungeneralised (section 4.2).

nothing excluded   some class violates whatever the values (Theorem 1): everybody's share is the group's
contrary           no class can violate: the group was generalised for another reason, and nothing is learnt
excluded           some ways are ruled out; counted exactly, in floats, or estimated
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from reissue.arrays.budget import passed
from reissue.arrays.types import Bools, Floats
from reissue.reasoning.minimality.minimality_counts import (
    WAYS,
    CountedClasses,
    Group,
    GroupClass,
    Number,
    Ruler,
    bad_ways,
    count,
    estimate,
    number_of_ways,
    packed_bits,
)
from reissue.reasoning.minimality.minimality_sampling import sample

Outcome = Literal["nothing excluded", "contrary", "excluded"]

SMALL = 20_000
"""With one protected set, integers up to so many bits are faster than anything else would be worth."""
LARGE = 900_000
"""With a vector of counts, integers of so many bits are worked with: some tenths of a second for a group."""
FALLBACK = 4_000_000
"""Where floats cannot be trusted, integers of so many bits are."""
ON_DEMAND = 3_000_000
"""Fractions for single classes are worked out with integers of so many bits."""
MANY_ROWS = 500
"""Ways of larger classes are not listed where there are several values."""


@dataclass(frozen=True, repr=False)
class SettledGroup:
    """The figures of a group: for each class the rows expected to have each value (rows by class, columns by value).

    They are floats, off by at most `bound` of the rows of the class; `exactly` has the fractions, where they were
    counted in integers. Estimates have standard errors.
    """

    outcome: Outcome
    kind: Literal["exact", "sampled", "undecided"]
    probability: Number = 1
    """That some class violates, before the argument."""
    probability_error: float = 0.0
    some: Floats | None = None
    none: Floats | None = None
    some_error: Floats | None = None
    none_error: Floats | None = None
    bound: float = 0.0
    exactly: CountedClasses | None = None
    can: tuple[bool, ...] = ()
    """Which classes can violate."""

    @property
    def learnt(self) -> bool:
        """Whether anything can be different from the shares of the group."""
        return self.outcome == "excluded"


def settle(group: Group, ruler: Ruler, *, rng: np.random.Generator, deadline: float | None = None) -> SettledGroup:
    """Work out a group; the ruler's requirement is about the same values as its counts."""
    if _too_small(group, ruler):
        return SettledGroup("nothing excluded", "exact", 1)
    one_set = len(group.counts) == 2 and group.absent is None
    late = passed(deadline, 50 + group.rows)
    if late and not one_set:
        return SettledGroup("excluded", "undecided", can=(True,) * len(group.classes))
    outcome, can = _outcome(group, ruler)
    if outcome != "excluded":
        return SettledGroup(outcome, "exact", 1 if outcome == "nothing excluded" else 0)
    pooled, place = _pooled(group, can)
    bits = packed_bits(pooled.target, pooled.rows)
    counted = None
    if one_set and bits > SMALL:
        counted = estimate(pooled, ruler)
    most = SMALL if late else FALLBACK if one_set else LARGE
    if counted is None and bits <= most and all(_listable(one, pooled) for one in pooled.classes):
        counted = count(pooled, ruler)
    if counted is not None:
        if counted.probability in (0, 1) and isinstance(counted.probability, Fraction):
            return SettledGroup(
                "contrary" if not counted.probability else "nothing excluded", "exact", counted.probability
            )
        return replace(_expanded(group, pooled, place, counted), can=tuple(can))
    if group.absent is None and not one_set:
        found = sample(pooled, ruler, rng, deadline)
        if found is not None:
            part = _parts(group, pooled, place)
            return SettledGroup(
                "excluded",
                "sampled",
                found.probability,
                found.probability_error,
                found.some[place] * part,
                found.none[place] * part,
                found.some_error[place] * part,
                found.none_error[place] * part,
                can=tuple(can),
            )
    return SettledGroup("excluded", "undecided", can=tuple(can))


def exactly(group: Group, ruler: Ruler, found: SettledGroup) -> SettledGroup:
    """The same in fractions, for what was worked out in floats, unless that would take long."""
    if found.exactly is not None:
        return found
    pooled, place = _pooled(group, list(found.can))
    large = packed_bits(pooled.target, pooled.rows) > ON_DEMAND
    if large or not all(_listable(one, pooled) for one in pooled.classes):
        return found
    counted = _expanded(group, pooled, place, count(pooled, ruler)).exactly
    return replace(found, exactly=counted)


def _listable(one: GroupClass, group: Group) -> bool:
    if len(group.target) == 2:
        return True
    return one.rows <= MANY_ROWS and number_of_ways(one.rows, group.target) <= WAYS


def _too_small(group: Group, ruler: Ruler) -> bool:
    """Whether a class violates by its size alone, before anything is listed."""
    smallest = ruler.requirement.smallest
    return group.absent is None and any(one.rows + sum(one.left) < smallest for one in group.classes)


def _outcome(group: Group, ruler: Ruler) -> tuple[Outcome, list[bool]]:
    """What is plain without counting, and which classes can violate."""
    can, free, room = [], len(group.target) == 2 and group.absent is None, [0, 0]
    for one, often in zip(group.classes, group.often, strict=True):
        bad: Bools | None = None
        if free:
            # One variable: 0, 1, 2, ... rows with a value of the first lump.
            low = max(0, one.rows - group.counts[1])
            bad = ruler.is_bad_with(one)[low : min(one.rows, group.counts[0]) + 1]
            if not bad.all():
                room[0] += often * (low + bad.size - 1 - int(bad[::-1].argmin()))
                room[1] += often * (one.rows - low - int(bad.argmin()))
        elif _listable(one, group):
            bad = bad_ways(one, group, ruler)
        if bad is not None and bad.all():
            return "nothing excluded", []
        can.append(bool(bad.any()) if bad is not None else _may_violate(one, group, ruler))
    if not any(can):
        return "contrary", []
    # Theorem 1's quick test: so many sensitive rows do not fit into classes that all keep the requirement.
    if free and (room[0] < group.counts[0] or room[1] < group.counts[1]):
        return "nothing excluded", []
    return "excluded", can


def _may_violate(one: GroupClass, group: Group, ruler: Ruler) -> bool:
    """Whether a class can violate: exact where only shares are bounded, else taken for granted."""
    if not ruler.requirement.counts_only or group.absent is not None:
        return True
    extremes = []
    for members in ruler.requirement.sets:
        left, taken = one.rows, [0] * len(group.counts)
        for at in sorted(range(len(taken)), key=lambda at: at not in members):
            taken[at] = min(left, group.counts[at])
            left -= taken[at]
        extremes.append(taken)
    return bool(ruler.is_bad(np.array(extremes, dtype=np.int64), one).any())


def _pooled(group: Group, can: list[bool]) -> tuple[Group, list[int]]:
    """Rows of classes that cannot violate are all alike: they make up one class. Where each class went."""
    if group.absent is not None:
        return group, list(range(len(group.classes)))
    kept = [at for at, able in enumerate(can) if able]
    place = [kept.index(at) if able else len(kept) for at, able in enumerate(can)]
    classes = [group.classes[at] for at in kept]
    often = [group.often[at] for at in kept]
    if len(kept) < len(can):
        rest = group.rows - sum(one.rows * many for one, many in zip(classes, often, strict=True))
        classes.append(GroupClass(rest, (0,) * len(group.counts), harmless=True))
        often.append(1)
    return replace(group, classes=tuple(classes), often=tuple(often)), place


def _parts(group: Group, pooled: Group, place: list[int]) -> Floats:
    """What part of the rows of its pool each class has."""
    return np.array([[one.rows / pooled.classes[at].rows] for one, at in zip(group.classes, place, strict=True)])


def _expanded(group: Group, pooled: Group, place: list[int], counted: CountedClasses) -> SettledGroup:
    part = _parts(group, pooled, place)
    some, none = (
        np.array([[float(figure) for figure in figures] for figures in means])[place] * part
        for means in (counted.some, counted.none)
    )
    exactly = None
    if isinstance(counted.probability, Fraction):
        share = [Fraction(one.rows, pooled.classes[at].rows) for one, at in zip(group.classes, place, strict=True)]
        exactly = replace(
            counted,
            some=[_times(counted.some[at], by) for at, by in zip(place, share, strict=True)],
            none=[_times(counted.none[at], by) for at, by in zip(place, share, strict=True)],
        )
    return SettledGroup(
        "excluded", "exact", counted.probability, some=some, none=none, bound=counted.error, exactly=exactly
    )


def _times(figures: tuple[Number, ...], by: Fraction) -> tuple[Number, ...]:
    return figures if by == 1 else tuple(figure * by for figure in figures)
