"""Entropy l-diversity (Machanavajjhala et al. 2006; Ohrn & Ohno-Machado 1999)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from reissue.guarantees.base import GroupGuarantee, Measure, rounded_down
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Entropy, Rule
from reissue.reasoning.history import diversity


@dataclass(frozen=True)
class EntropyDiverse(GroupGuarantee):
    """The entropy of the values of every group is at least log l, as if l values were equally frequent.

    Entropies are floating-point sums: one that falls short of log l by less than `diversity.TOLERANCE`
    counts as reaching it, so that l equally frequent values are always enough.
    """

    name: ClassVar[str] = "entropy-l-diversity"
    words: ClassVar[str] = "the values of every group have an entropy of at least log l"

    l: float  # noqa: E741
    """At least 1; need not be whole."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.real("l", least=1)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Entropy(self.l),)

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The entropy of each group, in nats."""
        entropy = diversity.entropy(release)
        needed = math.log(self.l)
        return Measure(
            entropy,
            (entropy >= needed - diversity.TOLERANCE) & (diversity.distinct(release) > 0),
            lambda group: (
                f"has an entropy of {entropy[group]:.4f}, as much as {math.exp(entropy[group]):.4g} equally "
                f"frequent values; log {self.l} = {needed:.4f} is needed"
            ),
        )

    def remedy(self, published: Published) -> str:
        """The l that the table can give."""
        if not published.releases[0].counts.size:
            return "the table has no values of the sensitive column: no l would be satisfied"
        entropy = float(diversity.entropy(published.releases[0])[0])
        # Equal counts may come out a hair below the whole number they stand for; the check forgives it too.
        reached = rounded_down(math.exp(entropy + diversity.TOLERANCE / 2))
        return (
            f"the sensitive column has an entropy of {entropy:.4f} over the whole table, log {self.l} = "
            f"{math.log(self.l):.4f} is needed: l = {reached} or less would be satisfied"
        )
