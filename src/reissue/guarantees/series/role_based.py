"""Role-based partition (Bu, Fu, Wong, Chen & Li 2008, Principle 1).

In every group each holder of a permanent value has l - 1 decoys beside him, and no transient value belongs to more
than 1/l of those who are present. So decoys are seen with the value whenever they are seen at all, and nobody can
exclude them in one release. It does not keep several releases from excluding them together (section 1.1): that is
what cohort-based partition is for.

Differs from the paper: only instances that are awake count; those of absent holders and their decoys sleep. And an
instance counts in the group of its container, in which its owner was when it was created, wherever he is now: so a
move tells nobody's secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.types import Ints
from reissue.guarantees.base import EXACT, Guarantee, Verdict
from reissue.guarantees.series.role_breaches import (
    NOWHERE,
    Breaches,
    BreachTally,
    Instances,
    Membership,
    awake_owners,
    roles_of,
)
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.roles import HOLDERS, Roles


@dataclass(frozen=True)
class RoleBased(Guarantee):
    """In every group there are l - 1 decoys for each holder, and transient values have at most 1/l of those present.

    For every permanent value a group publishes it as often as it has awake holder instances, and has l - 1 times as
    many awake decoy instances; all their owners are present; nobody owns two instances of one value.
    The figure of a verdict is the largest number of breaches in one group, or in one release as a whole.
    """

    name: ClassVar[str] = "role-based-partition"
    words: ClassVar[str] = "every holder of a permanent value has l - 1 decoys in their group"

    l: int  # noqa: E741
    """How many people, the holder included, stand for each occurrence of a permanent value; at least 2."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=2)
        validation.finish()

    @property
    def secret_of(self) -> Literal["roles"]:
        """The private side passes the roles of each release."""
        return "roles"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge every group of every release.

        `secret` are the roles of the release, or a mapping from the number of each release to its roles.
        """
        tally = BreachTally(self.title)
        for release, roles in roles_of(self, published, secret):
            tally.add(self._judge(published, release, roles))
        return tally.verdict()

    def _judge(self, published: Published, release: PublishedGroups, roles: Roles) -> Breaches:
        breaches = Breaches(release)
        membership = Membership(release)
        instances = Instances.of(roles, release.group_count)
        awake_owners(breaches, instances, roles.present)
        _owned_twice(breaches, instances)
        permanent = _permanent(published, roles)
        here = membership.group(roles.present)
        breaches.add_whole(
            int(np.count_nonzero(here < 0)), "person present is in no group", "people present are in no group"
        )

        # Condition 1, for every group and permanent value together.
        width = max(len(roles.permanent), 1)
        size = release.group_count * width
        counted = instances.awake & (instances.group >= 0) & (instances.value >= 0)
        cell = (instances.group * width + instances.value)[counted]
        holder = instances.cohort[counted] == HOLDERS
        holders = np.bincount(cell[holder], minlength=size)
        decoys = np.bincount(cell[~holder], minlength=size)
        group = release.value_groups
        kind = permanent[release.values]
        stays = kind >= 0
        shown = np.zeros(size, dtype=np.int64)
        shown[group[stays] * width + kind[stays]] = release.counts[stays]
        breaches.add(
            np.flatnonzero(shown != holders) // width,
            "permanent value is not published as often as its holders are awake",
            "permanent values are not published as often as their holders are awake",
        )
        breaches.add(
            np.flatnonzero(decoys != holders * (min(self.l, EXACT) - 1)) // width,
            f"permanent value does not have {self.l - 1:,} awake decoys for each holder",
            f"permanent values do not have {self.l - 1:,} awake decoys for each holder",
        )

        # Condition 2.
        room = np.bincount(here[here >= 0], minlength=release.group_count) // min(self.l, EXACT)
        breaches.add(
            group[~stays & (release.counts > room[group])],
            f"transient value is published for more than 1/{self.l} of those present",
            f"transient values are published for more than 1/{self.l} of those present",
        )
        return breaches


def _owned_twice(breaches: Breaches, instances: Instances) -> None:
    """Nobody owns two instances of the same value, be they awake or asleep."""
    owned = np.flatnonzero(instances.owner >= 0)
    order = owned[np.lexsort((instances.value[owned], instances.owner[owned]))]
    owner, value = instances.owner[order], instances.value[order]
    again = (owner[1:] == owner[:-1]) & (value[1:] == value[:-1])
    breaches.add(
        instances.group[order[1:][again]],
        "instance is owned by somebody who owns another of the same value",
        "instances are owned by people who own another of the same value",
    )


def _permanent(published: Published, roles: Roles) -> Ints:
    """For each value of the view its position among the permanent ones; `NOWHERE` for the transient."""
    position = {value: at for at, value in enumerate(roles.permanent)}
    return np.array(
        [position.get(value, NOWHERE) if isinstance(value, str) else NOWHERE for value in published.values],
        dtype=np.int64,
    )
