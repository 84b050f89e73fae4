"""(m, n)-historical safety (Riboni & Bettini 2009, Definitions 3, 7 and 8).

Two groups of different releases that publish the same values equally often and share some of their members, not all,
show that the members whom they do not share have the same values: a historical correlation. Whoever knows the values
of the people on one side then knows those of the other. The promise is weak m-invariance, and that every correlation
is between sets of at least n people.

It is about pairs of groups, which is all that the paper considers. Three releases together may tie two people though
no pair does: of the groups {Ellen, Frank}, {Ellen, Harry, Ian, Jane} and {Ian, Jane}, all with two values equally
often, every pair is safe with n = 2, and yet Frank has Harry's value. `EquivalenceSafe` is about such combinations.
Nor does it protect against somebody who knows the values of n people or more.

| paper                | here                                                       |
|----------------------|------------------------------------------------------------|
| weak m-invariance    | `WeakMInvariant`                                           |
| Q.S                  | the kind of a group (`reasoning.history.group_kinds`)              |
| hc-safe with degree n| no correlation with an earlier group is of fewer than n    |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from reissue.guarantees.base import Followed, Least, Measure, Measured, Verdict
from reissue.guarantees.series.correlation_following import WEAK, Compared, compared, follow
from reissue.guarantees.series.weak_m_invariance import WeakMInvariant
from reissue.model.memory import Memory, Prefixed
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups


@dataclass(frozen=True)
class HistoricallySafe(Measured):
    """Weak m-invariance, and comparing two releases never ties sets of fewer than n people together.

    The figure of a verdict is the size of the smallest set that a group has in a correlation with an earlier one,
    infinity where it has none.
    """

    name: ClassVar[str] = "historical-safety"
    words: ClassVar[str] = "weak m-invariance, and two releases never tie sets of fewer than n people together"
    least: ClassVar[Least] = Least("n", pl.UInt32, "degree")

    m: int
    """The smallest number of distinct values a group may have, at least 2."""
    n: int
    """The smallest size of two sets of people that may be found to have the same values, from 1 to m."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("m", least=2)
        validation.whole("n", least=1)
        if isinstance(self.m, int) and isinstance(self.n, int) and 1 < self.m < self.n:
            validation.wrong("n", f"at most m = {self.m}")
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(value=one_in(self.m), correlation=self.n if self.n > 1 else None)

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series from its first release on. `secret` is not needed."""
        tally = self._tally()
        for release, found in zip(published.releases, compared(self, self.m, published), strict=True):
            tally.add(release, self._measure(found))
        return tally.verdict()

    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Measure]:
        """Against all earlier releases."""
        followed = follow(self, self.m, published, state)
        return Followed(self._measure(followed.found), followed.remembered, followed.remark)

    def obstacle(self, state: Memory) -> str | None:
        """Signatures that are too small are out, or sets that are tied together."""
        return super().obstacle(state) or WeakMInvariant(self.m).obstacle(Prefixed(state, WEAK))

    def _measure(self, found: Compared) -> Measure:
        safe = found.smallest >= self.n

        def words(group: int) -> str:
            told = found.words(group)
            if math.isfinite(found.smallest[group]):
                told += f"; sets of at least {self.n:,} are needed"
            if found.weak.kept[group]:
                return told
            weak = found.weak.words(group)
            return weak if safe[group] else f"{told}; it also {weak}"

        return Measure(found.smallest, found.weak.kept & safe, words)
