"""k-anonymity (Samarati & Sweeney 1998): nobody stands out from fewer than k.

It bounds how well a person can be singled out, not what is learnt: a group of any size that shares one
sensitive value tells it of everyone in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.errors import count_of
from reissue.guarantees.base import GroupGuarantee, Measure
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Rows, Rule


@dataclass(frozen=True)
class KAnonymous(GroupGuarantee):
    """Every group has at least k members. Counterfeits are members of the group they stand in."""

    name: ClassVar[str] = "k-anonymity"
    words: ClassVar[str] = "every group has at least k members"
    letters: ClassVar[tuple[str, ...]] = ("k",)

    k: int
    """The smallest number of members a group may have, at least 1."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("k", least=1)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Rows(self.k),)

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The number of members of each group."""
        sizes = release.sizes
        return Measure(
            sizes.astype(np.float64),
            sizes >= self.k,
            lambda group: f"has {count_of(int(sizes[group]), 'member')}, at least {self.k:,} are needed",
        )

    def remedy(self, published: Published) -> str:
        """The k that the table can give."""
        size = int(published.releases[0].sizes[0])
        if not size:
            return "the table has no rows: no k would be satisfied"
        return f"the table has {count_of(size, 'row')}, {self.k:,} are needed: k = {size} or less would be satisfied"
