"""Simplified l-diversity: no value, or no protected set of values, has more than 1/l of a group.

The form in which Wong et al. 2007 and many others use l-diversity. Within one release, and against someone
who knows nothing of how it was made, it bounds the probability of a value by 1/l.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reissue.errors import count_of
from reissue.guarantees.base import EXACT, GroupGuarantee, Measure, rounded_down
from reissue.guarantees.single.protected_sets import AboutSets, Sets
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Rule, Share
from reissue.model.schema import Schema
from reissue.reasoning.history.diversity import TOLERANCE


@dataclass(frozen=True, repr=False)
class ShareDiverse(AboutSets, GroupGuarantee):
    """In every group each value, or each protected set of values, has a share of at most 1/l.

    The share is taken of the members, or of the published values where those are fewer: the larger of the
    two, so absent members and members with several values make it stricter, never laxer. The comparison is
    exact for a whole l; for any other, a product that floating-point arithmetic cannot tell from the limit
    (`diversity.TOLERANCE`, relative) is a tie and passes.
    """

    name: ClassVar[str] = "share-l-diversity"
    words: ClassVar[str] = "in every group each value, or each protected set, has a share of at most 1/l"
    letters: ClassVar[tuple[str, ...]] = ("l",)
    low_is_worse: ClassVar[bool] = False

    l: float  # noqa: E741
    """The share is at most 1/l; at least 1, need not be whole."""
    protect: Sets = ()
    """Sets of values whose shares are bounded, and no others; without any, every value is bounded by itself.
    A value that never occurs does no harm."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.real("l", least=1)
        self._check_sets(validation)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Share(self.protect, one_in=self.l),)

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        share = one_in(self.l)
        return Bounds(protected=share) if self.protect else Bounds(value=share)

    def for_schema(self, schema: Schema) -> ShareDiverse:
        """With the protected sets of the schema, unless it has its own."""
        return self if self.protect else replace(self, protect=schema.protect)

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The largest share of each group."""
        top, base = self._top_and_base(published, release)
        share = np.where(top > 0, np.inf, 0.0)
        np.divide(top, base, out=share, where=base > 0)
        exact = isinstance(self.l, int) and self.l <= EXACT
        kept = top * self.l <= base if exact else top * float(self.l) <= base * (1 + TOLERANCE)
        return Measure(
            share,
            kept,
            lambda group: (
                f"has {int(top[group]):,} of {count_of(int(base[group]), 'row')} with the same {self._noun}, "
                f"a share of at most 1/{self.l} is needed"
            ),
        )

    def remedy(self, published: Published) -> str:
        """The l that the table can give."""
        top, base = self._top_and_base(published, published.releases[0])
        found, rows = int(top[0]), int(base[0])
        if rows < found:
            return "more values are published than there are members to hold them: no l would be satisfied"
        return (
            f"{found:,} of {count_of(rows, 'row')} have the most frequent {self._noun}, at most "
            f"{int(rows / self.l):,} may: l = {rounded_down(rows / found)} or less would be satisfied"
        )
