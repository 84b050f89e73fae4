"""Recursive (c, l)-diversity (Machanavajjhala et al. 2006).

With the counts of a group sorted, r_1 >= r_2 >= ... >= r_m, the most frequent value must not appear too
often compared with the rarest ones: r_1 < c (r_l + r_(l+1) + ... + r_m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.errors import count_of
from reissue.guarantees.base import EXACT, GroupGuarantee, Measure, rounded_up
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Recursive, Rule
from reissue.reasoning.history import diversity
from reissue.reasoning.history.diversity import TOLERANCE


@dataclass(frozen=True)
class RecursiveDiverse(GroupGuarantee):
    """In every group the most frequent value occurs less than c times as often as those from the l-th on.

    The comparison is strict. It is exact for a whole c; for any other, a product that floating-point
    arithmetic cannot tell from the limit (`diversity.TOLERANCE`, relative) is a tie and fails.
    """

    name: ClassVar[str] = "recursive-cl-diversity"
    words: ClassVar[str] = "in every group the most frequent value stays below c times those from the l-th on"
    letters: ClassVar[tuple[str, ...]] = ("c", "l")
    low_is_worse: ClassVar[bool] = False

    c: float
    """How many times as often, above 0."""
    l: int  # noqa: E741
    """From which value on the rarer ones are added up, at least 1."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.real("c", above=0)
        validation.whole("l", least=1)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Recursive(self.c, self.l),)

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The number that c must exceed in each group; infinite where there are fewer than l values."""
        head, tail = diversity.head_and_tail(release, self.l)
        ratio = np.full(head.size, np.inf)
        np.divide(head, tail, out=ratio, where=tail > 0)
        return Measure(
            ratio,
            self._kept(head, tail),
            lambda group: (
                f"has {count_of(int(head[group]), 'row')} with its most frequent value and "
                f"{count_of(int(tail[group]), 'row')} with the values from place {self.l} on; "
                f"fewer than {self.c} times as many are needed"
            ),
        )

    def remedy(self, published: Published) -> str:
        """The c for this l, and the l for this c, that the table can give."""
        release = published.releases[0]
        found = int(diversity.distinct(release)[0])
        if not found:
            return "the table has no values of the sensitive column: no c and l would be satisfied"
        head, tail = diversity.head_and_tail(release, self.l)
        ways = []
        if tail[0]:
            ways.append(f"any c above {rounded_up(head[0] / tail[0])} with l = {self.l}")
        # r_l + ... + r_m falls as l grows, so the l that satisfy a given c are 1, 2, ... up to one of them.
        falling = np.sort(release.counts)[::-1]
        tails = np.cumsum(falling[::-1])[::-1]
        enough = int(np.count_nonzero(self._kept(np.broadcast_to(head, tails.shape), tails)))
        if enough:
            ways.append(f"l = {enough} or less with c = {self.c}")
        if not ways:
            ways.append(f"any c above {rounded_up(head[0] / tails[-1])} with l = {found} or less")
        return (
            f"the table has {count_of(found, 'distinct value')} of the sensitive column, "
            f"{count_of(int(head[0]), 'row')} with the most frequent and {count_of(int(tail[0]), 'row')} "
            f"with those from place {self.l} on, fewer than {self.c} times as many are needed: "
            f"{', or '.join(ways)} would be satisfied"
        )

    def _kept(self, head: Ints, tail: Ints) -> Bools:
        if isinstance(self.c, int) and self.c <= EXACT:
            return head < self.c * tail
        return head < float(self.c) * tail * (1 - TOLERANCE)
