"""How likely courses are: every world of a small part counted, weighed and told apart by how many people changed.

People are added one after the other; what is kept is only how much of every counter is left and how many people have
changed, with the weight of all ways to come there. From there and from the end follows the weight of all worlds in
which somebody of a class has an entry. Weights are whole numbers, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import lcm, prod
from typing import NamedTuple

import numpy as np

from reissue.arrays.budget import OutOfTime, need_time
from reissue.arrays.types import Ints
from reissue.errors import InternalError
from reissue.model.value_change import Following
from reissue.reasoning.worlds.courses import Courses

COURSES = 4_000
"""A class with more courses is not counted."""

State = tuple[tuple[int, ...], int]
"""What is left of every counter, and how many people have changed."""
Weights = dict[int, int]
"""By how many people changed, the weight of all such worlds."""


class Course(NamedTuple):
    """One way through the slots of a class."""

    entries: tuple[int, ...]
    counters: tuple[int, ...]
    changed: int
    weight: int


@dataclass(frozen=True, repr=False)
class Counted:
    """All worlds of a part."""

    total: Weights
    by_entry: dict[int, Weights]
    """For each entry the worlds in which a given person of its class has it."""

    def __repr__(self) -> str:
        return f"Counted({len(self.by_entry):,} entries)"


Step = Callable[[int, int, int], Fraction]
"""The chance that a value is another one so many steps later."""


def chances(rate: Fraction, following: Following, weights: Ints) -> Step:
    """How likely each value follows each other: it stays, or becomes one of the others by their weights."""
    powers: dict[int, list[dict[int, Fraction]]] = {}
    # What no release shows, and somebody may have had while they were away, counts as if it were shown once.
    weights = np.concatenate([weights, np.ones(following.hidden, dtype=np.int64)])

    def one(value: int) -> dict[int, Fraction]:
        others = following.others(value, weights)
        total = int(others.sum())
        if not total:
            return {value: Fraction(1)}
        table = {at: rate * Fraction(int(others[at]), total) for at in np.flatnonzero(others).tolist()}
        return {value: 1 - rate, **table}

    def row(value: int, steps: int) -> dict[int, Fraction]:
        rows = powers.setdefault(value, [{value: Fraction(1)}])
        while len(rows) <= steps:
            grown: dict[int, Fraction] = {}
            for middle, chance in rows[-1].items():
                for after, then in one(middle).items():
                    grown[after] = grown.get(after, Fraction(0)) + chance * then
            rows.append(grown)
        return rows[steps]

    return lambda value, later, steps: row(value, steps).get(later, Fraction(0))


def even(following: Following) -> Step:
    """Every course that is possible is as likely as any other."""
    return lambda value, later, steps: Fraction(int(following.may(value, later, steps)))


class Counting:
    """The worlds of one part."""

    def __init__(
        self, courses: Courses, classes: Ints, step: Step, *, most: int | None, entries: int, deadline: float | None
    ) -> None:
        """At most `most` people change (None: any number, and nobody counts them); `entries` states are kept."""
        self._courses, self._step, self._most = courses, step, most
        self._entries, self._deadline = entries, deadline
        slots = courses.slots_of(classes)
        groups = np.unique(courses.group[slots])
        counters = [
            counter
            for group in groups.tolist()
            for counter in range(int(courses.counter_starts[group]), int(courses.counter_starts[group + 1]))
        ]
        self._place = {counter: at for at, counter in enumerate(counters)}
        self._targets = tuple(int(courses.targets[counter]) for counter in counters)
        # Classes with much in common come after each other, so that counters are used up early.
        self._classes = sorted(
            classes.tolist(), key=lambda one: courses.group[courses.slots_of(np.array([one]))].tolist()
        )

    def __repr__(self) -> str:
        return f"Counting({len(self._classes):,} classes, {len(self._targets):,} counters)"

    def count(self) -> Counted | None:
        """All worlds; None: they are too many to count. Raises `OutOfTime`."""
        ways = [self._ways(one) for one in self._classes]
        if any(some is None for some in ways):
            return None
        people = [
            (at, some) for at, some in enumerate(ways) for _ in range(int(self._courses.sizes[self._classes[at]]))
        ]
        layers: list[dict[State, int]] = [{(self._targets, 0): 1}]
        kept = 1
        for _, some in people:
            layers.append(self._forward(layers[-1], some or ()))
            kept += len(layers[-1])
            if kept > self._entries:
                return None
        done = (0,) * len(self._targets)
        total = {changed: weight for (left, changed), weight in layers[-1].items() if left == done}
        later: dict[State, Weights] = {(done, changed): {changed: 1} for changed in total}
        by_entry: dict[int, Weights] = {}
        last = len(people)
        for at in range(len(people) - 1, -1, -1):
            one, some = people[at]
            if at + 1 == last or people[at + 1][0] != one:
                self._gather(layers[at], later, some or (), by_entry)
            later = self._backward(layers[at], later, some or ())
        if later.get((self._targets, 0), {}) != total and total:
            raise InternalError("Worlds that were counted from both ends are not the same.")
        return Counted(total, by_entry)

    def _ways(self, one: int) -> tuple[Course, ...] | None:
        """All courses of a class, those without a chance left out; None: too many."""
        courses = self._courses
        slots = range(int(courses.class_starts[one]), int(courses.class_starts[one + 1]))
        held = [range(int(courses.starts[at]), int(courses.starts[at + 1])) for at in slots]
        if prod(map(len, held)) > COURSES:
            return None
        need_time(self._deadline, 5 * prod(map(len, held)))
        steps = [int(courses.steps[at]) for at in slots[1:]]
        found = []
        for entries in product(*held):
            values = [int(courses.value[entry]) for entry in entries]
            chance = prod(
                (self._step(value, later, many) for (value, later), many in zip(pairwise(values), steps, strict=True)),
                start=Fraction(1),
            )
            if chance:
                found.append((entries, chance, int(len(set(values)) > 1)))
        # A factor for all courses of a class changes nothing.
        scale = lcm(*(chance.denominator for _, chance, _ in found)) if found else 1
        counted = self._most is not None
        return tuple(
            Course(
                entries,
                tuple(self._place[int(courses.counter[entry])] for entry in entries),
                changed if counted else 0,
                int(chance * scale),
            )
            for entries, chance, changed in found
        )

    def _after(self, state: State, course: Course) -> State | None:
        left, changed = state
        if any(left[counter] == 0 for counter in course.counters):
            return None
        changed += course.changed
        if self._most is not None and changed > self._most:
            return None
        fewer = list(left)
        for counter in course.counters:
            fewer[counter] -= 1
        return tuple(fewer), changed

    def _forward(self, layer: dict[State, int], ways: tuple[Course, ...]) -> dict[State, int]:
        grown: dict[State, int] = {}
        for state, weight in layer.items():
            need_time(self._deadline, 2 * len(ways))
            for course in ways:
                after = self._after(state, course)
                if after is not None:
                    grown[after] = grown.get(after, 0) + weight * course.weight
            if len(grown) > self._entries:
                break
        return grown

    def _backward(
        self, layer: dict[State, int], later: dict[State, Weights], ways: tuple[Course, ...]
    ) -> dict[State, Weights]:
        found: dict[State, Weights] = {}
        for state in layer:
            need_time(self._deadline, 2 * len(ways))
            total: Weights = {}
            for course in ways:
                after = self._after(state, course)
                for changed, weight in later.get(after, {}).items() if after is not None else ():
                    total[changed] = total.get(changed, 0) + weight * course.weight
            if total:
                found[state] = total
        return found

    def _gather(
        self,
        layer: dict[State, int],
        later: dict[State, Weights],
        ways: tuple[Course, ...],
        by_entry: dict[int, Weights],
    ) -> None:
        """Add up, for each entry of a class, the worlds in which one of its people has it."""
        for state, weight in layer.items():
            for course in ways:
                after = self._after(state, course)
                for changed, rest in later.get(after, {}).items() if after is not None else ():
                    for entry in course.entries:
                        held = by_entry.setdefault(entry, {})
                        held[changed] = held.get(changed, 0) + weight * course.weight * rest


def counted(
    courses: Courses, classes: Ints, step: Step, *, most: int | None, entries: int, deadline: float | None
) -> Counted | None:
    """All worlds of a part; None: they are too many to count, or there was no time."""
    try:
        return Counting(courses, classes, step, most=most, entries=entries, deadline=deadline).count()
    except OutOfTime:
        return None


def shares_of(found: Counted, least: int, most: int) -> dict[int, tuple[Fraction, Fraction]]:
    """For each entry how likely it is at least and at most, where between `least` and `most` people of the part can
    change, and what other parts need decides how many.

    Fewer that change leave the others more room, so that their weight never grows with the number: what is likely is a
    mean of the shares among worlds with at most k changes, for every k.
    """
    totals: list[int] = []
    running = 0
    for changed in range(least, most + 1):
        running += found.total.get(changed, 0)
        totals.append(running)
    shares = {}
    for entry, weights in found.by_entry.items():
        seen, running = [], 0
        for at, changed in enumerate(range(least, most + 1)):
            running += weights.get(changed, 0)
            if totals[at]:
                seen.append(Fraction(running, totals[at]))
        shares[entry] = (min(seen), max(seen)) if seen else (Fraction(0), Fraction(0))
    return shares


def multiplied(one: list[int], other: list[int], size: int) -> list[int]:
    """Two lists of weights by number of changes, as one for both together, up to `size` of them."""
    product_of = [0] * size
    for at, weight in enumerate(one[:size]):
        if weight:
            for to, more in enumerate(other[: size - at]):
                product_of[at + to] += weight * more
    return product_of
