"""The work on one permanent value: every entry gets its cell, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial

import numpy as np
import numpy.typing as npt

from reissue.arrays.budget import ends_after, moment, share_of
from reissue.arrays.types import Bools, Bytes, Ints
from reissue.reasoning.permanence.permanence_cells import (
    ALWAYS,
    BOUNDED,
    CONTRADICTORY,
    NEVER,
    SAMPLED,
    UNDECIDED,
    EntryFigures,
)
from reissue.reasoning.permanence.permanence_counting import CountedEntries, Program
from reissue.reasoning.permanence.permanence_entries import ONE, ZERO, Entries, propagate
from reissue.reasoning.permanence.permanence_parts import Linked, Part, linked, parts_of
from reissue.reasoning.permanence.permanence_sampling import sample
from reissue.reasoning.permanence.permanence_solving import Decided, decide

LARGE = 60_000
"""With the mechanism known, more entries than these are not taken apart into classes."""
PATIENCE = 10
"""What is still too large to count after all proofs is given so many times the moves, before worlds are drawn."""
LESS = ((20, 1000), (4, 30), (0, 1))
"""After so many parts that were too large, the moves for others are divided by this."""


@dataclass(frozen=True)
class Effort:
    """How much work is done for one value."""

    seconds: float | None = None
    """For what is too large to count; None: proofs take the time they need."""
    moves: int = 150_000
    """How many moves counting one part may take."""
    drawing: float = 10.0
    """So many seconds of steps are spent on drawing worlds at most."""
    seed: int | None = None
    """Draws the same worlds again, as far as time allows as many."""


class ValueWork:
    """Gives every entry of a permanent value its cell."""

    def __init__(self, entries: Entries, places: int, cohorts: int, state: Bytes, effort: Effort) -> None:
        self.entries, self.places, self.cohorts, self.effort = entries, places, cohorts, effort
        self.state, self._start = state, state.copy()
        self.cells = EntryFigures()
        self.cell = np.full(state.size, NEVER, dtype=np.int64)
        self.exists: bool | None = True
        self.told: dict[str, int] = {}
        self.factors: list[tuple[int, int]] | None = []
        groups = entries.count.size
        self._done = np.zeros(groups, dtype=np.bool_)
        """Groups whose entries have their cells."""
        self._broken = np.zeros(groups, dtype=np.bool_)
        """Groups of parts in which the releases contradict each other."""
        self._deadline = ends_after(effort.seconds)

    def run(self) -> None:
        """Settle what can be settled."""
        self._propagate()
        if self.cohorts > 1:
            self._with_cohorts()
        else:
            self._without_cohorts()
            self.cell[self.state == ONE] = ALWAYS
        self.cell[self._broken[self.entries.home]] = CONTRADICTORY
        if self._broken.any():
            self.exists, self.factors = False, [(0, 1)]
            self._tell("contradictory", self._broken)

    @property
    def contradictory(self) -> Ints:
        """Groups of parts in which the releases contradict each other."""
        return np.flatnonzero(self._broken)

    # Without the mechanism

    def _without_cohorts(self) -> None:
        links = self._linked()
        self._alone(links)
        if large := self._uncounted(links, self.effort.moves):
            # Proofs first: what they rule out makes parts fall apart.
            for part in large:
                self._apply(links, part, decide(part, deadline=self._share(0.5)))
            self._propagate()
            links = self._linked()
            self._alone(links)
            self._draw(links, self._uncounted(links, PATIENCE * self.effort.moves))

    def _apply(self, links: Linked, part: Part, decided: Decided) -> None:
        if decided.exists is False:
            self._contradict(np.array(part.groups))
        if not decided.exists:
            return
        of_cell, of_group = _spread(links, part, decided.certain.astype(np.int8) - decided.impossible)
        settled = of_cell[links.cell]
        self.state[links.entry[settled != 0]] = settled[settled != 0]
        settled = of_group[self.entries.home]
        mine = links.is_free & (settled != 0)
        self.state[mine] = settled[mine]
        if not decided.finished:
            self._tell("unproven", _mask(self._done.size, part.groups))

    def _draw(self, links: Linked, parts: list[Part]) -> None:
        end = moment() + self.effort.drawing
        end = end if self._deadline is None else min(end, self._deadline)
        for at, part in enumerate(parts):
            left, now = sum(one.entries for one in parts[at:]), moment()
            until = now + (end - now) * part.entries / left
            seed = None if self.effort.seed is None else self.effort.seed + at
            drawn = sample(part, seed=seed, deadline=until) if until > now else None
            self.factors = None
            if drawn is None:
                cells = np.full(part.entries + len(part.groups), self.cells.add(UNDECIDED, 1.0, 0.0, 1.0))
            else:
                cells = np.array(
                    [
                        self.cells.add(SAMPLED, share, 0.0, 1.0, error)
                        for share, error in zip(drawn.probability.tolist(), drawn.error.tolist(), strict=True)
                    ]
                )
            self._give(links, part, cells)
            self._tell("undecided" if drawn is None else "sampled", _mask(self._done.size, part.groups))

    # With the mechanism

    def _with_cohorts(self) -> None:
        if self._broken.any():
            return
        if int(np.count_nonzero(self.state != ZERO)) > LARGE:
            self._by_dealing(np.flatnonzero(~self._done))
            return
        links = self._linked()
        self._alone(links)
        # There is a bound without counting, so that less is tried.
        for part in self._uncounted(links, self.effort.moves // 5):
            groups = np.array(part.groups)
            if dealt(self.entries, self.state != ZERO, groups, self.cohorts, self.places):
                self._bounded(groups)
                continue
            decided = decide(part, cohorts=self.cohorts, deadline=self._share(0.5))
            if decided.exists is False:
                self._contradict(groups)
            elif decided.exists is None:
                self.exists, self.factors = None, None
                self._tell("undecided", _mask(self._done.size, part.groups))
            else:
                self._apply(links, part, decided)
                self._bounded(groups)

    def _by_dealing(self, groups: Ints) -> None:
        if dealt(self.entries, self.state != ZERO, groups, self.cohorts, self.places):
            self._bounded(groups)
        else:
            self.exists, self.factors = None, None
            self._tell("undecided", _mask(self._done.size, groups))

    def _bounded(self, groups: Ints) -> None:
        """By exchanging cohorts nobody has the value with more than 1/l."""
        most = 1 / self.cohorts
        here = _mask(self._done.size, groups)
        self.cell[here[self.entries.home] & (self.state != ZERO)] = self.cells.add(BOUNDED, most, 0.0, most)
        self._done |= here
        self.factors = None
        self._tell("bounded", here)

    # Both

    def _propagate(self) -> None:
        wrong = propagate(self.entries, self.places, self.cohorts, self.state) & ~self._broken
        if wrong.any():
            self._contradict(np.flatnonzero(wrong))

    def _contradict(self, groups: Ints) -> None:
        part = parts_of(self.entries, self.places, self.cohorts, self._start)
        self._broken |= np.isin(part, part[groups])
        self._done |= self._broken

    def _linked(self) -> Linked:
        open_ = np.where(self._done[self.entries.home], ZERO, self.state).astype(np.int8)
        return linked(self.entries, self.places, self.cohorts, open_)

    def _alone(self, links: Linked) -> None:
        """Groups in which nothing bears on other releases: as many have it as it says, whoever they are."""
        groups = np.flatnonzero(links.alone & (links.free > 0) & ~self._done)
        if not groups.size:
            return
        pairs, which, often = np.unique(
            np.stack([links.left[groups], links.free[groups]]), axis=1, return_inverse=True, return_counts=True
        )
        cells = self.cells.exactly([Fraction(left, free) for left, free in pairs.T.tolist()])
        of_group = np.full(self._done.size, NEVER)
        of_group[groups] = cells[which.ravel()]
        mine = links.is_free & _mask(self._done.size, groups)[self.entries.home]
        self.cell[mine] = of_group[self.entries.home[mine]]
        self._done[groups] = True
        self._times(
            [
                (_ways(free, left, self.cohorts), many)
                for (left, free), many in zip(pairs.T.tolist(), often.tolist(), strict=True)
            ]
        )
        self._tell("alone", _mask(self._done.size, groups))

    def _uncounted(self, links: Linked, moves: int) -> list[Part]:
        """Count what can be counted, the smallest first, and return the rest.

        Where many were too large already, less is tried for those that are larger still.
        """
        rest: list[Part] = []
        failures = 0
        for part in sorted(links.parts(), key=lambda part: part.entries):
            program = Program.of(part, self.cohorts)
            if program is None:
                rest.append(part)
            elif program.run(moves // next(less for often, less in LESS if failures >= often), self._share(0.5)):
                self._counted(links, part, program.expected())
            else:
                failures += 1
                rest.append(part)
        return rest

    def _counted(self, links: Linked, part: Part, counted: CountedEntries) -> None:
        if not counted.total:
            self._contradict(np.array(part.groups))
            return
        shares = [share for one in counted.classes for share in one]
        shares += [share or Fraction(0) for share in counted.free]
        self._give(links, part, self.cells.exactly(shares))
        self._times([(counted.total, 1)])
        self._tell("counted", _mask(self._done.size, part.groups))

    def _give(self, links: Linked, part: Part, cells: Ints) -> None:
        """The cells of a part: those of its classes' entries, then those of its groups' free ones."""
        of_cell, of_group = _spread(links, part, cells + 1)
        given = of_cell[links.cell]
        self.cell[links.entry[given > 0]] = given[given > 0] - 1
        given = of_group[self.entries.home]
        mine = links.is_free & (given > 0)
        self.cell[mine] = given[mine] - 1
        self._done[list(part.groups)] = True

    def _times(self, factors: list[tuple[int, int]]) -> None:
        if self.factors is not None:
            self.factors += factors

    def _tell(self, how: str, groups: Bools) -> None:
        self.told[how] = self.told.get(how, 0) + int(np.count_nonzero(groups))

    def _share(self, part: float) -> float | None:
        """A deadline that leaves the rest of the time to what comes after."""
        return share_of(self._deadline, part)


def _spread(links: Linked, part: Part, numbers: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Numbers of a part's cells, by entry of all classes and by group; 0 elsewhere."""
    of_cell = np.zeros(links.group.size + 1, dtype=np.int64)
    at = 0
    for one, first in zip(part.classes, part.cells, strict=True):
        of_cell[first : first + len(one.groups)] = numbers[at : at + len(one.groups)]
        at += len(one.groups)
    of_group = np.zeros(links.left.size, dtype=np.int64)
    of_group[list(part.groups)] = numbers[at:]
    return of_cell, of_group


def _mask(size: int, groups: npt.ArrayLike) -> Bools:
    mask = np.zeros(size, dtype=np.bool_)
    mask[np.asarray(groups, dtype=np.int64)] = True
    return mask


def _ways(free: int, left: int, cohorts: int) -> int:
    """In how many ways every cohort can have its people among those of one group."""
    return (
        comb(free, left)
        if cohorts == 1
        else factorial(free) // (factorial(left) ** cohorts * factorial(free - cohorts * left))
    )


def dealt(entries: Entries, live: Bools, groups: Ints, cohorts: int, places: int) -> bool:
    """Whether every cohort can have its people in every one of some groups, ascending, by taking whoever comes first.

    A quick proof that there is a world with the mechanism known.

    Only people are taken of whose presence nothing is known at any live entry: where they stand in one release bears on
    the others through their cohort alone. So each of them could stand aside, in any one release, for anybody else who
    is in no cohort yet; and somebody whose presence is known needs no more than the last entry at which it is. Hence,
    if this succeeds, nobody with a live entry is excluded. If it fails, nothing is proven.
    """
    known = np.zeros(places, dtype=np.bool_)
    known[entries.person[live & entries.sure]] = True
    usable = live & ~known[entries.person]
    cohort = np.zeros(places, dtype=np.int64)
    bounds = np.searchsorted(entries.home, np.stack([groups, groups + 1])).T
    for group, (begin, end) in zip(groups.tolist(), bounds.tolist(), strict=True):
        members = entries.person[begin:end][usable[begin:end]]
        theirs = cohort[members]
        lacking = np.maximum(entries.count[group] - np.bincount(theirs, minlength=cohorts + 1)[1:], 0)
        fresh = members[theirs == 0][: int(lacking.sum())]
        if fresh.size < lacking.sum():
            return False
        cohort[fresh] = np.repeat(np.arange(1, cohorts + 1), lacking)
    return True
