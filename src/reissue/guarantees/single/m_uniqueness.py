"""m-uniqueness (Xiao & Tao 2007; Definition 3 of He, Barman & Naughton 2011).

What m-invariance asks of a single release. By itself it says nothing about several: `MInvariant` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import Groupwise, Measure
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history import diversity


@dataclass(frozen=True)
class MUnique(Groupwise):
    """Every group has at least m members, all of them with different values.

    The figure of a verdict is the number of distinct values of a group. Two groups that keep the promise
    may break it when they are merged.
    """

    name: ClassVar[str] = "m-uniqueness"
    words: ClassVar[str] = "every group has at least m members, all with different values"

    m: int
    """The smallest number of members a group may have, at least 2."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("m", least=2)
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(value=one_in(self.m))

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The number of distinct values of each group."""
        need_one_value_each(self, published)
        distinct, sizes = diversity.distinct(release), release.sizes
        return Measure(
            distinct.astype(np.float64),
            (distinct == sizes) & (sizes >= self.m),
            lambda group: (
                f"has {count_of(int(sizes[group]), 'member')} with {count_of(int(distinct[group]), 'distinct value')}, "
                f"at least {self.m:,} members and no value twice are needed"
            ),
        )


def need_one_value_each(guarantee: object, published: Published) -> None:
    """Refuse a view in which a member may have several values or none."""
    if not published.single:
        raise ParameterError(
            f"{type(guarantee).__name__} can only be checked in a view where each member has exactly one value.",
            hint="use a view with single=True.",
        )
