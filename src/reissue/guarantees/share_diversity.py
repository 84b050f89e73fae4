"""Simplified l-diversity: no value, or no protected set of values, has more than 1/l of a group.

The form in which Wong et al. 2007 and many others use l-diversity. Within one release, and against someone
who knows nothing of how it was made, it bounds the probability of a value by 1/l.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.errors import count_of
from reissue.guarantees.base import EXACT, GroupGuarantee, Measure, Validation, rounded_down
from reissue.reasoning import diversity
from reissue.reasoning.diversity import TOLERANCE, Ints
from reissue.release import Published, PublishedGroups


@dataclass(frozen=True, repr=False)
class ShareDiverse(GroupGuarantee):
    """In every group each value, or each protected set of values, has a share of at most 1/l.

    The share is taken of the members, or of the published values where those are fewer: the larger of the
    two, so absent members and members with several values make it stricter, never laxer. The comparison is
    exact for a whole l; for any other, a product that floating-point arithmetic cannot tell from the limit
    (`diversity.TOLERANCE`, relative) is a tie and passes.
    """

    name: ClassVar[str] = "share-l-diversity"
    low_is_worse: ClassVar[bool] = False

    l: float  # noqa: E741
    """The share is at most 1/l; at least 1, need not be whole."""
    protect: tuple[tuple[Hashable, ...], ...] = ()
    """Sets of values whose shares are bounded, and no others; without any, every value is bounded by itself.
    A value that never occurs does no harm."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.real("l", least=1)
        sets = as_sets(self.protect)
        if isinstance(sets, str):
            validation.wrong("protect", "a list of lists of values, none of them empty", sets)
        else:
            validation.replace("protect", sets)
        validation.finish()

    def __repr__(self) -> str:
        # The labels are values of a private column.
        return f"ShareDiverse(l={self.l}, protect=<{count_of(len(self.protect), 'set')}>)"

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words; protected sets are counted, not named."""
        sets = f", {count_of(len(self.protect), 'protected set')}" if self.protect else ""
        return f"{self.name} (l = {self.l}{sets})"

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

    @property
    def _noun(self) -> str:
        return "protected set of values" if self.protect else "value"

    def _top_and_base(self, published: Published, release: PublishedGroups) -> tuple[Ints, Ints]:
        base = np.minimum(release.sizes, diversity.totals(release))
        if not self.protect:
            return diversity.largest(release), base
        position = {value: at for at, value in enumerate(published.values)}
        sets = [[position[value] for value in labels if value in position] for labels in self.protect]
        return diversity.largest_of_sets(release, sets), base


def as_sets(protect: object) -> tuple[tuple[Hashable, ...], ...] | str:
    """The sets as tuples, or what was found in their place (never the values themselves)."""
    if isinstance(protect, str) or not isinstance(protect, Iterable):
        return f"a {type(protect).__name__}"
    sets: list[tuple[Hashable, ...]] = []
    for labels in protect:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            return f"a list with a {type(labels).__name__} in it"
        members = tuple(labels)
        if not members:
            return "a list with an empty list in it"
        if not all(isinstance(label, Hashable) for label in members):
            return "a list of lists with something in it that is not a plain value"
        sets.append(tuple(dict.fromkeys(members)))
    return tuple(sets)
