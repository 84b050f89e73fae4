"""m-confidentiality (Wong, Fu, Wang & Pei, VLDB 2007, Definition 4): no credibility above 1/m.

Against whom: somebody who has the release, knows everybody's quasi-identifiers, knows that every group had to have k
members and at most 1 in m with a value of a protected set, and takes it that no group is larger than that asks (the
minimality principle). `reasoning.minimality.credibility` says what follows for him.

It says nothing about somebody who knows the method itself, and nothing about more than one release.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Bools, Floats
from reissue.errors import ParameterError
from reissue.guarantees.base import Groupwise, Measure
from reissue.guarantees.single.protected_sets import AboutSets, Sets
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Rows, Share
from reissue.reasoning.minimality.credibility import Credibility, credibility
from reissue.reasoning.minimality.requirements import requirement_of


@dataclass(frozen=True, repr=False)
class MConfidential(AboutSets, Groupwise):
    """Nobody is tied to a protected set with more than 1/m by the release and why its groups were formed."""

    name: ClassVar[str] = "m-confidentiality"
    words: ClassVar[str] = (
        "nobody is tied to a value or protected set with more than 1/m, not even by why the groups were formed"
    )
    low_is_worse: ClassVar[bool] = False
    by_class: ClassVar[bool] = True

    m: int
    """The credibility of no protected set is above 1/m, for anybody."""
    k: int = 1
    """The smallest number of members that groups had to have."""
    protect: Sets = ()
    """The protected sets; without any, every value by itself."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("m", least=1)
        validation.whole("k", least=1)
        self._check_sets(validation)
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        share = one_in(self.m)
        return Bounds(protected=share) if self.protect else Bounds(value=share)

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The largest credibility in each group."""
        if release.classes is None:
            raise ParameterError(
                "m-confidentiality can be judged only where it is known who has the same quasi-identifiers.",
                hint="build the view with a registry: Published.from_groups(..., registry={...}), or "
                "series.published(classes=True).",
            )
        rules = (Rows(self.k), Share(self.protect, one_in=self.m))
        requirement = requirement_of(rules, published, release)
        found = credibility(release, requirement, requirement.sets)
        if found.refused is not None:
            return Measure(
                np.ones(release.group_count),
                np.zeros(release.group_count, dtype=np.bool_),
                lambda group: f"could not be judged: {found.refused}",
            )
        worst, kept = self._of_classes(found)
        group = release.member_groups
        figure = np.zeros(release.group_count)
        np.maximum.at(figure, group, worst[found.row_of_entry])
        broken = np.bincount(group[~kept[found.row_of_entry]], minlength=release.group_count) > 0
        return Measure(
            figure,
            ~broken,
            lambda group: (
                f"has somebody tied to a protected set with a probability of {figure[group]:.4g}, at most 1/{self.m} "
                "is allowed"
            ),
        )

    def _of_classes(self, found: Credibility) -> tuple[Floats, Bools]:
        """The largest credibility of each class, and whether it is proven to be at most 1/m."""
        if not found.sets:
            return np.zeros(found.classes.size), np.ones(found.classes.size, dtype=np.bool_)
        above = np.column_stack([found.above(Fraction(1, self.m), at) for at in range(len(found.sets))])
        return found.probability.max(axis=1), (above == 0).all(axis=1)
