"""Sets of people that releases show to have the same values, found by structure in series of any size.

Two groups that publish the same values are equal sets of people. Taking away who is in both leaves smaller ones:
an equivalence attack (He, Barman & Naughton 2011) whose size is the number of people left on one side. Attacks are
vectors over the people, positive on one side and negative on the other, and sums of attacks are attacks.

    1. All pairs of groups that hold the same values and share enough members. Where they differ in one person, these
       two are equal, and count as one from then on; so long until no further pair comes out.
    2. Sums and differences of two such vectors, also of longer ones, and of what comes out with all others, as long
       as somebody is found in a smaller set than before. How long: of groups of s members each, differences of up to
       (s + e - 1) / 2. If A + B - C - D is an attack below e, where all four hold the same values, A and B share
       nobody and neither do C and D, then A - C and B - D are that short, or else A - D and B - C are. (Of the four
       overlaps, which make up at least 2 s - e + 1, two adjacent ones make up at most s.)
    3. From the beginning, with new names for equal people, until nothing changes.

Everything found is derived from the groups by integer arithmetic, so it holds. What is found is not all there is:
combinations of more groups whose parts are all longer are not looked at.
Cost: linear in the pairs of groups that share members, and in the pairs of vectors that share people.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from reissue.arrays.budget import passed, steps_left, stop
from reissue.arrays.dense import distinct
from reissue.arrays.types import Ints
from reissue.kernels import near_sets as kernels
from reissue.model.memberships import Memberships
from reissue.model.published import Published
from reissue.reasoning.equality.equal_sets_vectors import Vectors
from reissue.reasoning.history.signatures import signatures_of

FAR = np.iinfo(np.int64).max
"""The size of the smallest set of somebody who is in none."""
SMALL = 64
"""Groups of more members than this are compared only for differences that are attacks themselves."""
MOST = 4_000_000
"""If more vectors than this are within reach, only those that are attacks themselves are added to each other."""
BLOCK = 20_000
"""So many vectors are added to the others between two looks at the clock."""
VECTOR = 5.0
"""How many steps it takes to add a vector to the others."""
ENTRY = 0.2
"""How many steps it takes to compare groups, for each of their members."""
LOOK, MET = 0.002, 0.1
"""How many for each two groups that have somebody in common, and if their values are the same."""


class DerivationStep(NamedTuple):
    """One step of a derivation: (one + sign * other) / divisor."""

    one: int
    other: int
    sign: int
    divisor: int
    groups: bool
    """Whether `one` and `other` are groups, or else earlier steps."""


class Edge(NamedTuple):
    """Two members found to be equal, by a step, given the names that members had in that round."""

    one: int
    other: int
    step: int


@dataclass(frozen=True, repr=False)
class EqualSets:
    """Equal sets found in a series. Members are given by their position in `people`."""

    people: Ints
    """All members by number, ascending; counterfeits have negative numbers."""
    groups: Vectors
    """The members of each group."""
    names: Ints
    """For each member the first of those it was found equal to, perhaps itself."""
    edges: tuple[Edge, ...]
    """From which that follows."""
    sets: Vectors
    """Attacks below the size asked for, smallest first, on the first of each class."""
    steps: Ints
    """The step that each of them comes from."""
    best: Ints
    """For each member the size of the smallest set it is in; FAR if it is in none."""
    pairs: int
    """How many pairs of groups with equal values were compared, those that share somebody and are within reach."""
    sums: int
    """How many vectors all sums of two were looked at of."""
    finished: bool
    """Whether that came to its end before the time did."""
    cut_short: bool
    """Whether there were too many vectors, so that only sums of attacks were looked at."""
    _derivation: Derivation

    def __repr__(self) -> str:
        return f"EqualSets({len(self.sets):,} sets, {len(self.edges):,} pairs of people)"

    def weights(self, step: int) -> dict[int, Fraction]:
        """The weight of each group that a step uses."""
        return self._derivation.weights(step)


class Derivation:
    """All steps so far. They refer to each other by number, and only those asked for are followed."""

    def __init__(self) -> None:
        self._blocks: list[Ints] = []
        self._starts = [0]

    def add(self, pairs: Ints, signs: Ints, divisors: Ints, *, groups: bool) -> Ints:
        """Note steps, and number them."""
        begin = self._starts[-1]
        self._blocks.append(np.column_stack([pairs, signs, divisors, np.full(signs.size, int(groups))]))
        self._starts.append(begin + signs.size)
        return np.arange(begin, begin + signs.size)

    def step(self, number: int) -> DerivationStep:
        """A step by its number."""
        block = int(np.searchsorted(self._starts, number, side="right")) - 1
        one, other, sign, divisor, groups = self._blocks[block][number - self._starts[block]].tolist()
        return DerivationStep(one, other, sign, divisor, bool(groups))

    def weights(self, number: int) -> dict[int, Fraction]:
        """The weight of each group that a step uses."""
        found: dict[int, Fraction] = {}
        waiting = [(number, Fraction(1))]
        while waiting:
            at, times = waiting.pop()
            step = self.step(at)
            for part, weight in ((step.one, times / step.divisor), (step.other, times * step.sign / step.divisor)):
                if not step.groups:
                    waiting.append((part, weight))
                    continue
                found[part] = found.get(part, Fraction(0)) + weight
        return {group: weight for group, weight in found.items() if weight}


def equal_sets(published: Published, below: int, deadline: float | None = None) -> EqualSets:
    """Look for equal sets of fewer than `below` people, until the deadline at the latest."""
    search = _SetSearch(published.index, below, deadline)
    search.run()
    return search.result()


class _SetSearch:
    def __init__(self, where: Memberships, below: int, deadline: float | None) -> None:
        groups, width = where.starts.size - 1, where.people.size
        ones = np.ones(where.member.size, dtype=np.int64)
        self.people, self.below, self.deadline = where.people, below, deadline
        self.groups = Vectors.summed(where.member_groups, where.member, ones, groups, width)
        self.kind = _equal_values(where)
        self.names = np.arange(width)
        self.edges: list[Edge] = []
        self.derivation = Derivation()
        self.found, self.found_steps = Vectors.none(width), np.zeros(0, dtype=np.int64)
        self.best = np.full(width, FAR)
        self.pairs = self.sums = 0
        self.cut_short, self.finished = False, True

    def run(self) -> None:
        while True:
            self._join_equal_people()
            pool, steps = self._pool()
            pool, steps = self._with_sums(pool, steps)
            small = np.flatnonzero(pool.norms < 2 * self.below)
            self.found, self.found_steps = pool.chosen(small), steps[small]
            if not self._join(self.found, self.found_steps):
                return
            # Names have changed: what is left of the sets found under the new ones?
            self._rename_found()
            if self._late():
                return

    def _rename_found(self) -> None:
        renamed, divisors = self.found.renamed(self.names).reduced()
        kept = np.flatnonzero(renamed.norms > 0)
        same = np.column_stack([self.found_steps, self.found_steps])
        # A step of its own, for the divisor; the second part does not count.
        steps = self.derivation.add(same, np.zeros(len(renamed), dtype=np.int64), divisors, groups=False)
        kept = kept[renamed.chosen(kept).distinct()]
        self.found, self.found_steps = renamed.chosen(kept), steps[kept]

    def _late(self, steps: float = 1) -> bool:
        if passed(self.deadline, steps):
            self.finished = False
        return not self.finished

    def _near(self, rows: Vectors, reach: Ints) -> tuple[Vectors, Ints]:
        """What pairs of groups with equal values leave, with the steps."""
        if not self._affords(rows):
            return Vectors.none(rows.width), np.zeros(0, dtype=np.int64)
        sizes = rows.norms
        pairs = kernels.near_pairs(
            rows.places, rows.counts, rows.starts, *rows.across, self.kind, sizes, np.minimum(reach, sizes)
        )
        pairs = np.concatenate([pairs, self._neighbours(sizes, reach)])
        # As one number each: rows of a table are sorted many times slower.
        pairs = np.column_stack(np.divmod(distinct(pairs[:, 0] * len(rows) + pairs[:, 1]), max(len(rows), 1)))
        signs = np.full(pairs.shape[0], -1)
        left, divisors = rows.combined(pairs, signs)
        steps = self.derivation.add(pairs, signs, divisors, groups=True)
        some = np.flatnonzero(left.norms)
        left, steps = left.chosen(some), steps[some]
        some = left.distinct()
        return left.chosen(some), steps[some]

    def _affords(self, rows: Vectors) -> bool:
        """Whether there are steps enough to compare all groups; where many share people, these are very many pairs."""
        often = np.bincount(rows.places)
        alike = np.unique(
            rows.places * (int(self.kind.max(initial=0)) + 1) + self.kind[rows.which], return_counts=True
        )[1]
        looked, met = (float((each * (each - 1)).sum()) / 2 for each in (often, alike))
        steps = ENTRY * rows.places.size + LOOK * looked + MET * met
        left = steps_left(self.deadline)
        if left is None or steps <= left:
            return not self._late(steps)
        stop()
        self.finished = False
        return False

    def _neighbours(self, sizes: Ints, reach: Ints) -> Ints:
        """Each small group with the next one that has its values: they are equal sets even if they share nobody."""
        order = np.argsort(self.kind, kind="stable")
        kept = (np.diff(self.kind[order]) == 0) & (sizes <= reach)[order[1:]]
        return np.column_stack([order[:-1][kept], order[1:][kept]])

    def _join_equal_people(self) -> None:
        """Compare groups for differences of one person until there are none."""
        while True:
            rows = self.groups.renamed(self.names)
            left, steps = self._near(rows, np.ones(len(rows), dtype=np.int64))
            if not self._join(left, steps):
                return

    def _join(self, vectors: Vectors, steps: Ints) -> bool:
        """Give equal people one name; whether there were any."""
        of_two = np.flatnonzero(vectors.norms == 2)
        new = False
        parent = self.names
        ends = vectors.places[vectors.starts[of_two][:, None] + np.arange(2)].tolist() if of_two.size else []
        for (one, other), step in zip(ends, steps[of_two].tolist(), strict=True):
            first, second = _root(parent, one), _root(parent, other)
            if first != second:
                parent[max(first, second)] = min(first, second)
                self.edges.append(Edge(one, other, step))
                new = True
        while new and (parent[parent] != parent).any():
            parent[:] = parent[parent]
        return new

    def _pool(self) -> tuple[Vectors, Ints]:
        """The vectors to add to each other: what pairs of groups leave, and what was found in earlier rounds."""
        rows = self.groups.renamed(self.names)
        attack = np.full(len(rows), self.below - 1)
        reach = np.where(rows.norms <= SMALL, np.maximum((rows.norms + self.below - 1) // 2, attack), attack)
        left, steps = self._near(rows, reach)
        self.pairs = len(left)
        if len(left) > MOST:
            few = np.flatnonzero(left.norms < 2 * self.below)
            left, steps, self.cut_short = left.chosen(few), steps[few], True
        pool, steps = left.followed_by(self.found), np.concatenate([steps, self.found_steps])
        kept = pool.distinct()
        self.sums = kept.size
        return pool.chosen(kept), steps[kept]

    def _with_sums(self, pool: Vectors, steps: Ints) -> tuple[Vectors, Ints]:
        """With sums of two that are smaller than anything known of somebody in them, and their sums, and so on."""
        self.best = self._best(pool)
        first = 0
        while first < len(pool):
            fresh = []
            for begin in range(first, len(pool), BLOCK):
                if self._late(VECTOR * min(BLOCK, len(pool) - begin)):
                    break
                fresh.append(
                    kernels.better_sums(
                        pool.places, pool.counts, pool.starts, *pool.across, pool.norms,
                        begin, min(begin + BLOCK, len(pool)), self.below - 1, self.best,
                    )
                )  # fmt: skip
            first = len(pool)
            rows = np.concatenate(fresh) if fresh else np.zeros((0, 3), dtype=np.int64)
            sums, divisors = pool.combined(rows[:, :2].copy(), rows[:, 2].copy())
            steps = np.concatenate([steps, self.derivation.add(steps[rows[:, :2]], rows[:, 2], divisors, groups=False)])
            pool = pool.followed_by(sums)
        return pool, steps

    def _best(self, vectors: Vectors) -> Ints:
        """For each member the size of the smallest set it is in, equal members included."""
        best = np.full(self.people.size, FAR)
        attacks = vectors.norms < 2 * self.below
        sizes = np.where(attacks, vectors.norms // 2, FAR)
        np.minimum.at(best, vectors.places, sizes[vectors.which])
        together = np.bincount(self.names, minlength=self.people.size)
        best[together > 1] = 1
        return best

    def result(self) -> EqualSets:
        order = np.argsort(self.found.norms, kind="stable")
        found, steps = self.found.chosen(order), self.found_steps[order]
        kept = found.distinct()
        found, steps = found.chosen(kept), steps[kept]
        alone = ~kernels.holds_another(found.places, found.counts, found.starts, *found.across, found.norms)
        kept = np.flatnonzero(alone & (found.norms > 2))
        best = self._best(found)[self.names] if self.below > 1 else np.full(self.people.size, FAR)
        return EqualSets(
            self.people,
            self.groups,
            self.names,
            tuple(self.edges),
            found.chosen(kept),
            steps[kept],
            best,
            self.pairs,
            self.sums,
            self.finished,
            self.cut_short,
            self.derivation,
        )


def _root(parent: Ints, member: int) -> int:
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = int(parent[member])
    return member


@dataclass(frozen=True)
class _Entries:
    values: Ints
    counts: Ints
    value_starts: Ints


def _equal_values(where: Memberships) -> Ints:
    """Numbers for groups: equal where they publish the same values, each equally often."""
    together = where.values * (int(where.counts.max(initial=0)) + 1) + where.counts
    return signatures_of(_Entries(together, where.counts, where.value_starts)).number
