"""How likely a permanent value is for everybody (Bu, Fu, Wong, Chen & Li 2008, sections 2 and 3.3).

A world says for every release who has the value: as many of every group as it shows; nobody who is known to be absent;
and who has it has it at every later release he is known to be present in. All worlds are equally likely. With the
mechanism known there are l such families instead of one, of different people, and the first are the holders: then, by
exchanging cohorts, nobody has the value with more than 1/l in any release, if there is a world at all.

What hangs together is counted exactly where it is small. Where it is not, what is impossible and what is certain
follows from counts and from integer programs, and the rest is estimated by drawing worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.model.published import Published
from reissue.reasoning.permanence.permanence_cells import EXACT, UNDECIDED, Largest
from reissue.reasoning.permanence.permanence_entries import ABSENT, ONE, Entries, Presence
from reissue.reasoning.permanence.permanence_work import Effort, ValueWork

__all__ = ["Chances", "Effort", "Presence", "chances"]


@dataclass(frozen=True, repr=False)
class Chances:
    """What the worlds of one permanent value say of everybody."""

    value: int
    """Its position in the view."""
    cohorts: int
    """1: the mechanism is not known."""
    exists: bool | None
    """Whether there is a world; None: not decided."""
    people: Ints
    """The numbers of those who may have been present in a group that shows it, ascending; nobody known beforehand."""
    at: Ints
    """Their places in `largest`."""
    largest: Largest
    told: Mapping[str, int]
    """How many groups were settled in which way."""
    factors: list[tuple[int, int]] | None
    """Numbers whose product, each as often as is said, is the number of worlds; None: not counted."""

    def __repr__(self) -> str:
        return f"Chances({self.people.size:,} people, {int(self.certain.sum()):,} certain)"

    @property
    def certain(self) -> Bools:
        """Which of the people have the value in some release in every world: proven."""
        certain: Bools = self.largest.low[self.at] >= 1
        return certain

    @property
    def excluded(self) -> Bools:
        """Which of the people have it in no world: proven."""
        excluded: Bools = (self.largest.kind[self.at] == EXACT) & (self.largest.high[self.at] <= 0)
        return excluded

    @property
    def worlds(self) -> int | None:
        """How many worlds there are; with several cohorts, families of cohorts told apart by their numbers."""
        return None if self.factors is None else _product([one**often for one, often in self.factors])

    def fraction(self, at: int) -> Fraction | None:
        """The exact figure of one of the people; None where it is not exact."""
        place = self.at[at]
        if self.largest.kind[place] != EXACT:
            return None
        rank = int(self.largest.rank[place])
        return self.largest.exact[rank] if rank >= 0 else Fraction(0)


def chances(
    published: Published,
    presence: Presence,
    value: int,
    *,
    cohorts: int = 1,
    holders: Ints | None = None,
    others: Ints | None = None,
    effort: Effort | None = None,
) -> Chances:
    """How likely a permanent value is for everybody, in the release in which it is most likely.

    `holders` are the numbers of people known to have it, wherever they are known to be in a group that may stand for
    it, `others` of people known not to have it; both only where the mechanism is not known.
    """
    nobody = np.zeros(0, dtype=np.int64)
    has = presence.at(nobody if holders is None else holders)
    has_not = presence.at(nobody if others is None else others)
    entries = Entries.of(published, presence, value, has_not)
    state = np.zeros(entries.person.size, dtype=np.int8)
    if has.size:
        state[entries.sure & np.isin(entries.person, has)] = ONE
    work = ValueWork(entries, presence.size, cohorts, state, effort or Effort())
    work.run()
    linkable = entries.linkable.copy()
    linkable[has], linkable[has_not] = False, False
    place = np.flatnonzero(linkable)
    people = presence.numbers[place]
    real = people >= 0
    largest = work.cells.largest(entries, work.cell, presence.size)
    for group in work.contradictory.tolist():
        # Also those whom other groups rule out: where groups contradict each other, that is no proof.
        _doubt(published, presence, int(entries.release[group]), int(entries.group[group]), largest)
    return Chances(value, cohorts, work.exists, people[real], place[real], largest, work.told, work.factors)


def _doubt(published: Published, presence: Presence, at: int, group: int, largest: Largest) -> None:
    """Nothing is known of those who may be present in a group."""
    release, known = published.releases[at], presence.known[at]
    span = slice(int(release.member_starts[group]), int(release.member_starts[group + 1]))
    who = presence.places[at][span]
    who = who if known is None else who[known[span] != ABSENT]
    largest.kind[who] = UNDECIDED
    largest.probability[who], largest.low[who], largest.high[who] = 1.0, 0.0, 1.0
    largest.release[who], largest.rank[who] = at, -1


def _product(numbers: list[int]) -> int:
    """Multiplied in pairs, so that long numbers meet long ones."""
    while len(numbers) > 1:
        numbers = [one * two for one, two in zip(numbers[::2], [*numbers[1::2], 1], strict=False)]
    return numbers[0] if numbers else 1
