"""Weak m-invariance (Riboni & Bettini 2009, Definitions 5 and 6).

What m-invariance becomes when a group may have each value of its signature several times, as long as it has
all of them equally often. The argument is the same: exchanging values of a signature for each other turns
one possible world into another, so each of at least m values is equally likely for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.errors import count_of
from reissue.guarantees.base import Measure
from reissue.guarantees.series.m_invariant import SameSignature
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history import diversity


@dataclass(frozen=True)
class WeakMInvariant(SameSignature):
    """Every group has at least m distinct values, all equally often, and everybody keeps one signature.

    The figure of a verdict is the number of distinct values of a group.
    """

    name: ClassVar[str] = "weak-m-invariance"
    words: ClassVar[str] = "every group has at least m values equally often, and everybody keeps one set of values"

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """Weak m-uniqueness (Definition 5)."""
        distinct, largest = diversity.distinct(release), diversity.largest(release)
        even = largest * distinct == diversity.totals(release)
        return Measure(
            distinct.astype(np.float64),
            even & (distinct >= self.m),
            lambda group: (
                f"has {count_of(int(distinct[group]), 'distinct value')}"
                f"{' equally often' if even[group] else ', not all equally often'}, at least {self.m:,}, "
                "all equally often, are needed"
            ),
        )
