"""t-closeness (Li, Li & Venkatasubramanian 2007): a group looks like the whole table.

Joining a person to a group then teaches little beyond what the release says of everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from reissue.guarantees.base import GroupGuarantee, Measure
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Close, Rule
from reissue.model.schema import Categorical, Schema
from reissue.reasoning.history import diversity


@dataclass(frozen=True)
class TClose(GroupGuarantee):
    """The values of every group are distributed like those of its whole release, up to a distance of t.

    Distances are floating-point sums: one that exceeds t by less than `diversity.TOLERANCE` counts as
    reaching it exactly.
    """

    name: ClassVar[str] = "t-closeness"
    words: ClassVar[str] = (
        "the values of every group are distributed like those of the whole release, up to a distance of t"
    )
    letters: ClassVar[tuple[str, ...]] = ("t",)
    low_is_worse: ClassVar[bool] = False

    t: float
    """The largest distance allowed, from 0 to 1."""
    distance: Literal["variation", "ordered"] = "variation"
    """`variation`: total variation, which is the earth mover's distance when all values are equally far
    apart. `ordered`: the earth mover's distance for values in their order."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.real("t", least=0, most=1)
        validation.one_of("distance", ("variation", "ordered"))
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Close(self.t, self.distance == "ordered"),)

    def problems(self, schema: Schema) -> list[str]:
        """The ordered distance needs values that have an order."""
        kind = schema.sensitive_kind
        if self.distance == "ordered" and isinstance(kind, Categorical) and not kind.values:
            return [
                f"{self.name} with the ordered distance needs an order: declare the values of '{schema.sensitive}' in "
                "their order, or make it numeric"
            ]
        return []

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The distance of each group to the whole release."""
        measured = diversity.ordered_distance if self.distance == "ordered" else diversity.variation_distance
        distance = measured(release)
        return Measure(
            distance,
            distance <= self.t + diversity.TOLERANCE,
            lambda group: (
                f"lies at a distance of {distance[group]:.4f} from the whole release, at most {self.t} is allowed"
            ),
        )

    def remedy(self, published: Published) -> str:
        """Never needed: the whole table is at distance 0 from itself."""
        return "the whole table lies at a distance of 0 from itself: every t would be satisfied"
