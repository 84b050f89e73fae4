"""Everybody's values in every release, where values may change as somebody knows them to.

Worlds give everybody a course of values that agrees with every group of every release and with the model. Parts that
share no group are independent but for one thing: all together at most so many people may change. What the other parts
need at least, this one cannot have. So in each part:

    least     how few people must have changed (`change_program`)
    counted   how likely every entry is, where the worlds can be counted (`change_counting`)
    program   otherwise whether it is possible at all, and what each release by itself says of how likely it is

Each release by itself is a model in which more is possible than in any other: what holds there always holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from reissue.arrays.budget import OutOfTime, ends_after, passed, share_of, stop
from reissue.arrays.runs import entries_of, totals
from reissue.arrays.types import Bytes, Ints
from reissue.model.published import Published
from reissue.model.value_change import Following, ValueChange
from reissue.reasoning.worlds.change_counting import Counted, Step, chances, counted, even, multiplied, shares_of
from reissue.reasoning.worlds.change_program import IMPOSSIBLE, OPEN, POSSIBLE, ChangeProgram, Least, TooLarge
from reissue.reasoning.worlds.courses import Courses
from reissue.reasoning.worlds.posteriors import Effort

COUNTED_PEOPLE = 60
"""Parts with more people are not counted."""
COUNTED_STATES = 20_000
"""At most so many states of one part are kept."""
UNKNOWNS = 400_000
"""Programs with more unknowns are not written down."""
SWAP = 2
"""So many people change if two have each other's value in one release."""
TOGETHER = 200_000
"""So much work at most to weigh all parts together by how many people change."""


@dataclass(repr=False)
class Changing:
    """What is left of everybody's values: a row for each entry."""

    courses: Courses
    possible: Bytes
    """For each entry whether somebody can have it: POSSIBLE, IMPOSSIBLE or OPEN."""
    low: list[Fraction]
    high: list[Fraction]
    """How likely it is, at least and at most: proven."""
    least: Least
    """How many people's values must have changed."""
    refuted: bool = False
    """Whether no world agrees with the releases and the model."""
    told: dict[str, int] = field(default_factory=dict)
    """How many people were settled in which way."""

    def __repr__(self) -> str:
        return f"Changing({self.courses.people.size:,} people, {self.possible.size:,} entries)"


def changing_worlds(
    published: Published,
    change: ValueChange,
    known: tuple[Ints, Ints],
    allowed: Mapping[int, tuple[int, ...]] | None = None,
    *,
    effort: Effort | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> Changing:
    """What a model of change leaves of everybody's values."""
    effort = effort or Effort()
    search = _Search(published, change, Courses.of(published, known, allowed), effort)
    progress("What each release says by itself")
    search.alone()
    progress("How many values must have changed")
    search.need()
    if not search.found.refuted and not change.free:
        progress("Which courses of values are possible")
        search.parts()
    return search.found


def least_changes(published: Published, *, effort: Effort | None = None) -> Least:
    """How many people's values must have changed, whatever else is known."""
    nobody = np.zeros(0, dtype=np.int64)
    courses = Courses.of(published, (nobody, nobody))
    search = _Search(published, ValueChange(), courses, effort or Effort())
    search.need()
    return search.found.least


class _Search:
    """One model of change, part by part."""

    def __init__(self, published: Published, change: ValueChange, courses: Courses, effort: Effort) -> None:
        self.change, self.courses, self.effort = change, courses, effort
        self.following = change.following(published.values)
        self._shown = np.bincount(courses.values, courses.targets, minlength=len(published.values)).astype(np.int64)
        self.deadline = ends_after(effort.seconds)
        size = courses.counter.size
        low, high = _by_sizes(courses)
        self.found = Changing(courses, np.full(size, OPEN, dtype=np.int8), low, high, Least(0, None))
        self._parts = list(courses.parts()) if courses.sizes.size else []
        self._needs: list[tuple[Least, ChangeProgram | None, Ints]] = []

    def _say(self, way: str, classes: Ints) -> None:
        told = self.found.told
        told[way] = told.get(way, 0) + int(self.courses.sizes[classes].sum())

    # Each release by itself

    def alone(self) -> None:
        """What is possible in each release by itself; how likely, where values may change freely."""
        courses, found = self.courses, self.found
        plain = np.ones(courses.counter_starts.size - 1, dtype=np.bool_)
        plain[courses.group[courses.limited]] = False
        group = courses.group[courses.slot]
        if not self.change.hard:
            found.possible[plain[group]] = POSSIBLE
        if self.change.free:
            rows = totals(courses.targets, courses.counter_starts)
            share: dict[tuple[int, int], Fraction] = {}
            for at in np.flatnonzero(plain[group]).tolist():
                pair = int(courses.targets[courses.counter[at]]), int(rows[group[at]])
                found.low[at] = found.high[at] = share.setdefault(pair, Fraction(*pair))
            self._say("alone", np.arange(courses.sizes.size))
        if not self.change.hard:
            self._limited(np.flatnonzero(~plain))

    def _limited(self, groups: Ints) -> None:
        """The same for groups in which it is known what some people cannot have."""
        apart = self.courses.apart()
        for group in groups.tolist():
            slots = np.flatnonzero(apart.group == group)
            part = self._counted(apart, slots, None, even(Following({})))
            if part is None:
                self._asked(apart, slots, None, Following({}))
            elif not part.total:
                self.found.refuted = True
            else:
                self._note(apart, slots, part, 0, 0, exact=self.change.free)

    # How many must have changed

    def need(self) -> None:
        """How many people must have changed, part by part."""
        deadline = share_of(self.deadline, 0.5 if self.change.hard else 0.2)
        low, high, infeasible = 0, 0, False
        for classes in self._parts:
            one, program, reached = self._needed(classes, deadline)
            self._needs.append((one, program, reached))
            infeasible |= one.infeasible
            low += one.low
            high += one.high or 0
        unknown = any(one.high is None for one, _, _ in self._needs)
        self.found.least = Least(low, None if unknown else high, infeasible)
        beyond = self.change.people is not None and low > self.change.people
        self.found.refuted |= infeasible or beyond

    def _needed(self, classes: Ints, deadline: float | None) -> tuple[Least, ChangeProgram | None, Ints]:
        nothing = np.zeros(0, dtype=np.int64)
        slots = self.courses.slots_of(classes)
        if np.unique(self.courses.group[slots]).size == 1 and not self.courses.limited[slots].any():
            return Least(0, 0), None, nothing
        if passed(deadline):
            return Least(0, None), None, nothing
        try:
            program = ChangeProgram(self.courses, classes, self.following, most=UNKNOWNS, deadline=deadline)
            least, reached = program.least()
        except (OutOfTime, TooLarge):
            stop()
            return Least(0, None), None, nothing
        return least, program, program.entries[reached]

    # Parts

    def parts(self) -> None:
        """What is possible and how likely, part by part, the small ones first."""
        order = sorted(range(len(self._parts)), key=lambda at: int(self.courses.sizes[self._parts[at]].sum()))
        step = even(self.following)
        if self.change.chance is not None:
            step = chances(self.change.chance, self.following, self._shown)
        every: dict[int, tuple[Counted, int, int]] = {}
        for at in order:
            classes = self._parts[at]
            budget, spare = self._room(at)
            part = self._counted(self.courses, classes, budget, step)
            if part is None:
                _, program, reached = self._needs[at]
                if self._roomy(classes, spare):
                    self._all_possible(classes)
                elif self.change.hard:
                    self._asked(self.courses, classes, budget, self.following, program, reached)
                self._say("by program" if self.change.hard else "by sizes", classes)
                continue
            if not part.total:
                self.found.refuted = True
                return
            fewest = min(part.total)
            most = fewest if budget is None else min(budget, fewest + spare)
            self._note(self.courses, classes, part, fewest, most, exact=True)
            self._say("counted", classes)
            every[at] = part, fewest, most
        if self.change.people is not None and len(every) == len(self._parts):
            self._weigh(every)

    def _room(self, at: int) -> tuple[int | None, int]:
        """How many people of a part can have changed at most, and how many more than must."""
        if self.change.people is None:
            return None, 0
        spare = self.change.people - self.found.least.low
        return self._needs[at][0].low + spare, spare

    def _roomy(self, classes: Ints, spare: int) -> bool:
        """Whether two more people may change than must, whatever they change to: then any two people of a group can
        have had each other's value in one release, and only each release by itself rules anything out."""
        known = self.found.least.high == self.found.least.low
        limited = bool(self.courses.limited[self.courses.slots_of(classes)].any())
        return known and spare >= SWAP and not self.following and not limited

    def _all_possible(self, classes: Ints) -> None:
        slots = self.courses.slots_of(classes)
        self.found.possible[entries_of(self.courses.starts, slots)] = POSSIBLE

    def _counted(self, courses: Courses, classes: Ints, budget: int | None, step: Step) -> Counted | None:
        if int(courses.sizes[classes].sum()) > COUNTED_PEOPLE:
            return None
        states = min(self.effort.entries, COUNTED_STATES)
        deadline = share_of(self.deadline, 0.2)
        return counted(courses, classes, step, most=budget, entries=states, deadline=deadline)

    def _note(self, courses: Courses, classes: Ints, part: Counted, fewest: int, most: int, *, exact: bool) -> None:
        """What counting a part has shown."""
        shares = shares_of(part, fewest, most)
        found = self.found
        for slot in courses.slots_of(classes).tolist():
            for entry in range(int(courses.starts[slot]), int(courses.starts[slot + 1])):
                low, high = shares.get(entry, (Fraction(0), Fraction(0)))
                found.possible[entry] = POSSIBLE if high else IMPOSSIBLE
                if exact:
                    found.low[entry], found.high[entry] = low, high

    def _asked(
        self,
        courses: Courses,
        classes: Ints,
        budget: int | None,
        following: Following,
        program: ChangeProgram | None = None,
        reached: Ints | None = None,
    ) -> None:
        """What is possible in a part that cannot be counted."""
        try:
            program = program or ChangeProgram(courses, classes, following, most=UNKNOWNS, deadline=self.deadline)
        except (OutOfTime, TooLarge):
            stop()
            return
        program.until(self.deadline)
        known = np.isin(program.entries, reached if reached is not None else np.zeros(0, dtype=np.int64))
        self.found.possible[program.entries] = program.possible(budget, known)
        if (self.found.possible[program.entries] == OPEN).any():
            stop()

    def _weigh(self, every: dict[int, tuple[Counted, int, int]]) -> None:
        """All parts together: with every number of changes in one part, what the others can still do."""
        spare = int(self.change.people or 0) - sum(fewest for _, fewest, _ in every.values())
        if len(every) * (spare + 1) ** 2 > TOGETHER or spare < 0:
            return
        size = spare + 1
        lists = [[part.total.get(fewest + more, 0) for more in range(size)] for part, fewest, _ in every.values()]
        before, after = [[1]], [[1]]
        for one in lists[:-1]:
            before.append(multiplied(before[-1], one, size))
        for one in lists[:0:-1]:
            after.append(multiplied(after[-1], one, size))
        after.reverse()
        for at, (part, fewest, _) in enumerate(every.values()):
            others = multiplied(before[at], after[at], size)
            room = [sum(others[: size - more]) for more in range(size)]
            whole = sum(weight * room[more] for more, weight in enumerate(lists[at]))
            for entry, weights in part.by_entry.items():
                held = sum(weights.get(fewest + more, 0) * room[more] for more in range(size))
                self.found.low[entry] = self.found.high[entry] = Fraction(held, whole)
                self.found.possible[entry] = POSSIBLE if held else IMPOSSIBLE


def _by_sizes(courses: Courses) -> tuple[list[Fraction], list[Fraction]]:
    """How likely entries are at least and at most, by what each group shows: of a class no more can have a value than
    the group shows it, nor fewer than are left when all others are used up."""
    rows = totals(courses.targets, courses.counter_starts)[courses.group[courses.slot]]
    shown = courses.targets[courses.counter]
    size = courses.sizes[courses.of_slot[courses.slot]]
    options = np.diff(courses.starts)[courses.slot]
    most = np.minimum(shown, size)
    least = np.where(options == 1, size, np.clip(size - (rows - shown), 0, None))
    pairs = np.column_stack([least, most, size])
    seen, which = np.unique(pairs, axis=0, return_inverse=True)
    lows = [Fraction(int(a), int(s)) for a, _, s in seen]
    highs = [Fraction(int(b), int(s)) for _, b, s in seen]
    rank = which.ravel().tolist()
    return [lows[at] for at in rank], [highs[at] for at in rank]
