"""Distinct l-diversity (Machanavajjhala et al. 2006, the plainest of their instantiations).

It counts values and nothing more. One of the l values may belong to nearly all members, so it does not
bound a probability by 1/l: `ShareDiverse` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.errors import count_of
from reissue.guarantees.base import GroupGuarantee, Measure
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Distinct, Rule
from reissue.reasoning.history import diversity


@dataclass(frozen=True)
class LDiverse(GroupGuarantee):
    """Every group has at least l distinct values.

    This counts values; it does not bound a probability by 1/l.
    """

    name: ClassVar[str] = "distinct-l-diversity"
    words: ClassVar[str] = "every group has at least l different values"

    l: int  # noqa: E741
    """The smallest number of distinct values a group may have, at least 1."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=1)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Distinct(self.l),)

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(alone=self.l)

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The number of distinct values of each group."""
        distinct = diversity.distinct(release)
        return Measure(
            distinct.astype(np.float64),
            distinct >= self.l,
            lambda group: f"has {count_of(int(distinct[group]), 'distinct value')}, at least {self.l:,} are needed",
        )

    def remedy(self, published: Published) -> str:
        """The l that the table can give."""
        found = int(diversity.distinct(published.releases[0])[0])
        if not found:
            return "the table has no values of the sensitive column: no l would be satisfied"
        return (
            f"the table has {count_of(found, 'distinct value')} of the sensitive column, {self.l:,} are "
            f"needed: l = {found} or less would be satisfied"
        )
