"""(alpha, k)-anonymity (Wong, Li, Fu & Wang, KDD 2006): k rows at least, and no protected set beyond the share alpha.

With k = 1 and alpha = 1/l it is simplified l-diversity. It speaks of each release alone, to someone who knows nothing
of how it was made: who knows that no more was generalised than this asks for may be surer than alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reissue.arrays.exact import probability_of
from reissue.arrays.types import Ints
from reissue.errors import InternalError, count_of
from reissue.guarantees.base import GroupGuarantee, Measure, rounded_up
from reissue.guarantees.single.protected_sets import AboutSets, Sets
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Rows, Rule, Share


@dataclass(frozen=True, repr=False)
class AlphaKAnonymous(AboutSets, GroupGuarantee):
    """Every group has at least k members, and each protected set of values at most the share alpha of them.

    The share is taken of the members, or of the published values where those are fewer. All comparisons are exact.
    """

    name: ClassVar[str] = "alpha-k-anonymity"
    words: ClassVar[str] = (
        "every group has at least k members, and each value or protected set at most the share alpha of them"
    )
    letters: ClassVar[tuple[str, ...]] = ("alpha", "k")
    low_is_worse: ClassVar[bool] = False

    alpha: float | str | Fraction
    """The largest share, above 0 and at most 1. A text such as "1/3" is exact; a float stands for the fraction with a
    small denominator that it is next to, so that 1/3 is a third. A `Fraction` is kept as text."""
    k: int = 1
    """The smallest number of members a group may have."""
    protect: Sets = ()
    """Sets of values whose shares are bounded, and no others; without any, every value is bounded by itself.
    A value that never occurs does no harm."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.share("alpha")
        validation.whole("k", least=1)
        self._check_sets(validation)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (
            Rows(self.k),
            Share(self.protect, most=self.share),
        )

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        share = self.share
        return Bounds(protected=share) if self.protect else Bounds(value=share)

    @property
    def share(self) -> Fraction:
        """alpha as an exact fraction."""
        share = probability_of(self.alpha)
        if share is None:
            raise InternalError("alpha was checked when the guarantee was made")
        return share

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The largest share of each group."""
        top, base = self._top_and_base(published, release)
        sizes = release.sizes
        figure = np.where(top > 0, np.inf, 0.0)
        np.divide(top, base, out=figure, where=base > 0)
        enough = sizes >= self.k
        kept = enough & (top <= self._most(base))

        def words(group: int) -> str:
            held = f"{int(top[group]):,} of {count_of(int(base[group]), 'row')} with the same {self._noun}"
            if not enough[group]:
                return f"has {count_of(int(sizes[group]), 'member')}, at least {self.k:,} are needed; {held}"
            return f"has {held}, a share of at most {self.alpha} is needed"

        return Measure(figure, kept, words)

    def remedy(self, published: Published) -> str:
        """The alpha and k that the table can give."""
        release = published.releases[0]
        top, base = self._top_and_base(published, release)
        found, rows, size = int(top[0]), int(base[0]), int(release.sizes[0])
        if rows < found:
            return "more values are published than there are members to hold them: no alpha would be satisfied"
        parts = []
        if found > int(self._most(base)[0]):
            parts.append(
                f"{found:,} of {count_of(rows, 'row')} have the most frequent {self._noun}, at most "
                f"{int(self._most(base)[0]):,} may: alpha = {rounded_up(found / rows)} or more would be satisfied"
            )
        if size < self.k:
            enough = f"k = {size} or less" if size else "no k"
            parts.append(f"the table has {count_of(size, 'row')}, {self.k:,} are needed: {enough} would be satisfied")
        return "; ".join(parts)

    def _most(self, base: Ints) -> Ints:
        """The largest whole number of rows within the share, in whole numbers of any length."""
        over, under = self.share.as_integer_ratio()
        sizes, place = np.unique(base, return_inverse=True)
        return np.array([over * size // under for size in sizes.tolist()], dtype=np.int64)[place]
