"""e-equivalence: no equivalence attack below e (He, Barman & Naughton 2011, Definitions 6 and 10).

An equivalence attack combines groups of several releases until it is left with two sets of people who have
the same values. Whoever knows the values of one set then knows those of the other. The promise says that
every such set has at least e people. It is about linear combinations of groups, which is all that the paper
considers, and it does not protect against somebody who knows e or more values. Linear combinations are not
all there is: where people return or buckets are split into several groups, two people may have the same
value in every possible world although no combination shows it (of groups {A, B, C}, {D, B, F} and {A, E, F}
with three values each, A, B and F must differ, so D has A's). Nothing like it was found in merged buckets
without returns.

`check` looks for the minimum attack exactly (`reasoning.equality.minimum_equivalence`), bucket by bucket: a bucket is
all the groups of one signature. Beyond the size or the time in which that can be done, the min-cut of the bucket's
graph is a bound (Theorem 2), and the verdict says which of the two spoke. Where neither does, the promise is not
certified, which is not to say that it is broken.

Why bucket by bucket (Lemma 3). Let everybody keep one signature, let every group hold each value of its
signature equally often, and let W be an attack. In bucket i it leaves the sum c_i of each value, and y sums
to c_i m_i over its people, m_i being the size of the signature; c_i is an integer, because the true values
make it one. If all c_i are zero, W is an attack on every bucket where y is not zero. If not, some are
positive and some negative, so the attack has a size of at least m. So for e <= m buckets can be judged one
by one, and for any e where signatures are linearly independent, since then all c_i are zero.

Why the cut needs no such condition. It bounds every y that is not zero on a bucket, whatever c_i is, so if
all buckets have enough, every attack has; also if people change between buckets, as long as they are left
out of all graphs and the two ends of each of their stays are in one component of the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reissue.arrays.budget import moment, working
from reissue.arrays.types import Ints
from reissue.errors import count_of
from reissue.guarantees.base import Followed, Following, Verdict
from reissue.guarantees.series.equivalence_following import Doubt, follow_cuts
from reissue.guarantees.single.m_uniqueness import need_one_value_each
from reissue.model.memory import Memory
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.equality.cut_graphs import CUTS
from reissue.reasoning.equality.minimum_equivalence import Attack, Search, minimum_attack, minimum_attack_of_matrices
from reissue.reasoning.history import diversity
from reissue.reasoning.history.signatures import independent, signatures_of
from reissue.reasoning.history.trajectories import Bucket, Trajectories

CELLS = 2_000_000
"""The exact search is tried where groups by trajectories are at most this many."""
SECONDS = 60.0
"""The time for all exact searches of a check together."""
SHARE = 0.2
"""How much of the time that is left one bucket may take."""


@dataclass(frozen=True)
class EquivalenceSafe(Following[Doubt | None]):
    """Comparing releases never shows that two sets of fewer than e people have the same values.

    The figure of a verdict is the size of the smallest attack found, or a size that no attack is below.
    """

    name: ClassVar[str] = "equivalence-safety"
    words: ClassVar[str] = "no two sets of fewer than e people can be found to have the same values"

    e: int
    """The smallest size an attack may have, at least 1."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("e", least=1)
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(equivalence=self.e)

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series, exactly where that can be done. `secret` is not needed."""
        with working(SECONDS):
            return self._checked(published)

    def _checked(self, published: Published) -> Verdict:
        need_one_value_each(self, published)
        ways = Trajectories.of(published)
        if not ways.people.size:
            return Verdict(True, self.title, math.nan, None, None, 0, 0, "There are no groups to check.")
        numbers, sets = signatures_of(ways)
        buckets = sorted(ways.buckets(numbers), key=lambda bucket: bucket.cells)
        deadline = moment() + SECONDS
        obstacle = self._obstacle(ways, numbers, sets)
        if obstacle is None:
            multiples = diversity.largest(ways)
            return self._judged(ways, [self._judge(one, multiples[one.groups], deadline) for one in buckets])
        whole = self._judge_together(ways, len(published.values), deadline)
        if whole is not None and (whole.attack or whole.bound >= self.e):
            return self._judged(ways, [whole])
        return self._judged(ways, [self._judge_by_cut(one) for one in buckets], obstacle)

    def _next(
        self, published: Published, release: PublishedGroups, state: Memory, secret: object
    ) -> Followed[Doubt | None]:
        """By the cut alone.

        What the cut cannot certify stays so in all later releases; `check` may still find that it is safe.
        """
        need_one_value_each(self, published)
        return Followed(*follow_cuts(self.e, published, state))

    def _verdict(self, release: PublishedGroups, found: Doubt | None) -> Verdict:
        groups = release.group_count
        if found is None:
            words = f"{_no_attack(self.e)}: {count_of(groups, 'bucket')} certified by the cut."
            return Verdict(True, self.title, float(self.e), None, None, 0, groups, words)
        words = f"Not certified: {found.words}. {_NOT_BROKEN}"
        return Verdict(False, self.title, 1.0, release.number, None, found.groups, groups, words)

    def obstacle(self, state: Memory) -> str | None:
        """Graphs are kept for the e of the first release; what is safe for it is safe for less."""
        if CUTS in state and self.e > (began := int(state[CUTS]["e"][0])):
            return f"e = {self.e} is more than the e = {began} that the series began with, and what is out stays out"
        return super().obstacle(state)

    def _obstacle(self, ways: Trajectories, signature: Ints, sets: list[Ints]) -> str | None:
        """Why buckets cannot be judged one by one, if they cannot (Lemma 3)."""
        distinct = diversity.distinct(ways)
        uneven = int(np.count_nonzero(diversity.largest(ways) * distinct != diversity.totals(ways)))
        if uneven:
            return f"values are not all equally often in {uneven:,} of {count_of(distinct.size, 'group')}"
        moving = int(ways.people[ways.moves(signature)].sum())
        if moving:
            return f"the signature changes for {moving:,} of {count_of(int(ways.people.sum()), 'member')}"
        m = min(values.size for values in sets if values.size)
        if self.e > m and not independent(sets):
            return f"e is more than the {count_of(m, 'value')} of the smallest signature"
        return None

    def _judge(self, bucket: Bucket, multiples: Ints, deadline: float) -> _Finding:
        """A bucket by itself, exactly if possible."""
        bound = 1
        left = deadline - moment()
        if bucket.cells <= CELLS and left > 0:
            search = minimum_attack(
                bucket.presence(), bucket.people, multiples, below=self.e, seconds=max(left * SHARE, 0.01)
            )
            found = _Finding.of(search, bucket.groups, bucket.people)
            if found.attack or found.bound >= self.e:
                return found
            bound = int(found.bound)
        by_cut = self._judge_by_cut(bucket)
        return replace(by_cut, bound=max(bound, by_cut.bound))

    def _judge_by_cut(self, bucket: Bucket) -> _Finding:
        return _Finding(bucket.groups, bucket.least_attack(), exact=False)

    def _judge_together(self, ways: Trajectories, values: int, deadline: float) -> _Finding | None:
        """All buckets at once, exactly; None if they are too large for that."""
        groups = np.arange(ways.release.size)
        if groups.size * ways.people.size > CELLS:
            return None
        table = np.zeros((groups.size, values), dtype=np.int64)
        table[np.repeat(groups, np.diff(ways.value_starts)), ways.values] = ways.counts
        seconds = max(deadline - moment(), 0.01)
        search = minimum_attack_of_matrices(ways.presence(), ways.people, table, below=self.e, seconds=seconds)
        return _Finding.of(search, groups, ways.people)

    def _judged(self, ways: Trajectories, findings: list[_Finding], obstacle: str | None = None) -> Verdict:
        groups = ways.release.size
        broken = [finding for finding in findings if finding.attack]
        doubtful = [finding for finding in findings if not finding.attack and finding.bound < self.e]
        if broken:
            worst = min(broken, key=lambda finding: finding.bound)
            used = worst.used
            violations = sum(finding.used.size for finding in broken)
            words = worst.words(ways)
            if len(findings) > 1:
                words += f" Open to attacks below {self.e}: {len(broken):,} of {count_of(len(findings), 'bucket')}."
            first = int(used[0])
            at = int(ways.release[first]), int(ways.group[first])
            return Verdict(False, self.title, float(worst.bound), *at, violations, groups, words)
        bound = float(min(finding.bound for finding in findings))
        if doubtful:
            many = f"{len(doubtful):,} of {count_of(len(findings), 'bucket')}"
            words = f"Not certified: neither an exact search nor the cut rules out an attack below {self.e} in {many}."
            if obstacle:
                words = (
                    f"Not certified: {obstacle}, so buckets cannot be judged one by one; the series is too large to "
                    f"be judged exactly as a whole, and the cut does not rule out an attack below {self.e} in {many}."
                )
            violations = sum(finding.groups.size for finding in doubtful)
            return Verdict(False, self.title, bound, None, None, violations, groups, f"{words} {_NOT_BROKEN}")
        exact = sum(finding.exact for finding in findings)
        by_cut = len(findings) - exact
        ways_of_knowing = [f"{count_of(exact, 'bucket')} decided exactly"] if exact else []
        ways_of_knowing += [f"{count_of(by_cut, 'bucket')} certified by the cut"] if by_cut else []
        words = f"{_no_attack(self.e)}: {', '.join(ways_of_knowing)}."
        if len(findings) == 1 and exact and findings[0].groups.size == groups:
            words = f"{_no_attack(self.e)}: {count_of(groups, 'group')} decided exactly, all together."
        return Verdict(True, self.title, bound, None, None, 0, groups, words)


@dataclass(frozen=True)
class _Finding:
    """What was found of some groups."""

    groups: Ints
    bound: float
    """No attack on them is smaller than this."""
    exact: bool
    attack: Attack | None = None
    sides: tuple[int, int] = (0, 0)
    """How many members stand on each side of the attack."""

    @classmethod
    def of(cls, search: Search, groups: Ints, people: Ints) -> _Finding:
        """What an exact search found."""
        bound = math.inf if search.bound is None else search.bound
        attack = search.attack
        if attack is None:
            return cls(groups, bound, exact=True)
        sides = int(people[attack.sides > 0].sum()), int(people[attack.sides < 0].sum())
        return cls(groups, attack.size, True, attack, sides)

    @property
    def used(self) -> Ints:
        """The groups that the attack combines."""
        weights = () if self.attack is None else self.attack.weights
        return self.groups[[at for at, weight in enumerate(weights) if weight]]

    def words(self, ways: Trajectories) -> str:
        """The attack, told without names."""
        places = [f"group {ways.group[at]:,} of release {ways.release[at]:,}" for at in self.used.tolist()]
        shown = places[:6] + ([f"{len(places) - 6:,} more"] if len(places) > 6 else [])
        one, other = self.sides
        have = "has the same value as" if one == other == 1 else "together have the same values as"
        several = ", some of them counted more than once" if {one, other} != {int(self.bound)} else ""
        return (
            f"An equivalence attack of size {int(self.bound):,}: {', '.join(shown[:-1])} and {shown[-1]} show that "
            f"{count_of(one, 'member')} {have} {count_of(other, 'other')}{several}."
        )


_NOT_BROKEN = "That does not mean that there is one."


def _no_attack(e: int) -> str:
    return f"No equivalence attack below {e:,}"
