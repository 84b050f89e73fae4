"""Cohort-based partition over a series (Bu, Fu, Wong, Chen & Li 2008, Principle 2 and Definition 9).

Each permanent value has l cohorts of container instances, one of holders and l - 1 of decoys, and in every group of
every release all of them weigh the same. Since an instance never leaves its cohort, whoever takes one of the other
cohorts for that of the holders meets no contradiction in any release, and none of the l can be told from the rest.

    the paper                                        here
    CH(s)[1], CH(s)[2], ... CH(s)[l]                 `cohort` 1 (holders), 2 ... l of the instances of a value
    container instance, owner, s-buddy               rows of `Roles.instances` and `Roles.buddies`
    s-clique                                         instances with the same `clique`, one in each cohort
    dormant                                          not `awake`

Differs from the paper: Principle 2 has it that the predicate of the group implies that of the container. Tables 8 and
9 show that the container lies inside the group, and only this lets a buddy take over an instance. Said of people: all
who are registered in the container of an awake instance are listed in its group. And buddies are those who were in the
container when the instance was created, wherever they are now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import places
from reissue.arrays.runs import runs
from reissue.guarantees.base import EXACT, Followed, Following, Verdict
from reissue.guarantees.series.role_breaches import (
    NOWHERE,
    Breaches,
    BreachTally,
    Instances,
    Membership,
    awake_owners,
    integers,
    roles_of,
)
from reissue.model.memory import KEPT, Kept, Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups, need_order
from reissue.model.roles import BUDDIES, HOLDERS, INSTANCES, Roles

LASTING = ("value", "cohort", "clique", "container", "created")
"""What an instance keeps for as long as it lives."""
KEPT_OF_INSTANCES = tuple(name for name in INSTANCES.names() if name != "group")
"""What is remembered of them: groups are new in every release."""
PEOPLE = 2**32
"""Above all person numbers."""
LAST = pl.Schema({"release": pl.UInt32, "instance": pl.UInt32, "clique": pl.UInt32, "l": pl.UInt64})
"""The last release judged, the largest numbers ever given, and how many cohorts there are."""


@dataclass(frozen=True)
class _Past:
    """What is remembered of the releases so far."""

    instances: pl.DataFrame
    buddies: pl.DataFrame
    release: int
    instance: int
    clique: int
    l: int | None  # noqa: E741
    """None before the first release."""

    @classmethod
    def read(cls, state: Memory) -> _Past:
        if "last" not in state:
            return cls(INSTANCES.to_frame(), BUDDIES.to_frame(), 0, -1, -1, None)
        release, instance, clique, cohorts = state["last"].row(0)
        return cls(
            state["instances"],
            state["buddies"],
            release,
            NOWHERE if instance is None else instance,
            NOWHERE if clique is None else clique,
            cohorts,
        )

    def after(self, number: int, roles: Roles, cohorts: int) -> _Past:
        """The same with one release more."""
        instance, clique = (_largest(roles.instances[name]) for name in ("instance", "clique"))
        return _Past(
            pl.DataFrame([roles.instances[name] for name in KEPT_OF_INSTANCES]).sort("instance"),
            pl.DataFrame([roles.buddies[name] for name in BUDDIES.names()]).sort("instance", "person"),
            number,
            max(self.instance, instance),
            max(self.clique, clique),
            cohorts if self.l is None else self.l,
        )

    def tables(self, before: _Past) -> Remembered:
        """To be remembered; a table that is as it was before need not be written again."""
        last = {"release": self.release, "instance": self.instance, "clique": self.clique, "l": self.l}
        numbers = {name: None if number == NOWHERE else number for name, number in last.items()}
        tables: dict[str, pl.DataFrame | Kept] = {"last": pl.DataFrame([numbers], schema=LAST)}
        for name in ("instances", "buddies"):
            table, known = getattr(self, name), getattr(before, name)
            tables[name] = KEPT if before.l is not None and known.equals(table) else table
        return tables


@dataclass(frozen=True)
class CohortBased(Following[Breaches]):
    """In every group all l cohorts of a permanent value weigh the same, and no instance ever leaves its cohort.

    In each group every cohort has equally many awake instances, and everybody in the container of one is in the group.
    Instances keep cohort, clique and container, holders their instances; buddies of an instance only become fewer; a
    clique has one instance in each cohort, awake or asleep together; no number is given twice. The figure of a verdict
    is the largest number of breaches in one group, or in one release as a whole.
    """

    name: ClassVar[str] = "cohort-based-partition"
    words: ClassVar[str] = "holders and decoys of a permanent value are of l cohorts, which nobody's container leaves"

    l: int  # noqa: E741
    """How many cohorts each permanent value has, that of the holders included; at least 2."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=2)
        validation.finish()

    @property
    def secret_of(self) -> Literal["roles"]:
        """The private side passes a mapping from the number of the release to its roles."""
        return "roles"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series. `secret` is a mapping from the number of each release to its roles."""
        tally = BreachTally(self.title)
        past = _Past.read({})
        for release, roles in roles_of(self, published, secret):
            tally.add(self._judge(release, roles, past))
            past = past.after(release.number, roles, self.l)
        return tally.verdict()

    def _next(
        self, published: Published, release: PublishedGroups, state: Memory, secret: object
    ) -> Followed[Breaches]:
        """By the instances and buddies of the release before."""
        ((_, roles),) = roles_of(self, published, secret)
        past = _Past.read(state)
        breaches = self._judge(release, roles, past)
        obstacle = self._other_cohorts(past.l)
        remembered = past.after(release.number, roles, self.l).tables(past)
        return Followed(breaches, remembered, f"It cannot go on: {obstacle}." if obstacle else None)

    def _verdict(self, release: PublishedGroups, found: Breaches) -> Verdict:
        tally = BreachTally(self.title)
        tally.add(found)
        return tally.verdict()

    def obstacle(self, state: Memory) -> str | None:
        """The number of cohorts has changed."""
        return self._other_cohorts(state["last"]["l"][0] if "last" in state else None) or super().obstacle(state)

    def _other_cohorts(self, cohorts: int | None) -> str | None:
        if cohorts is None or cohorts == self.l:
            return None
        return f"l = {self.l} is not the l = {cohorts} of earlier releases, and cohorts are for ever"

    def _judge(self, release: PublishedGroups, roles: Roles, past: _Past) -> Breaches:
        need_order(release, past.release)
        breaches = Breaches(release)
        membership = Membership(release)
        instances = Instances.of(roles, release.group_count)
        awake_owners(breaches, instances, roles.present)
        self._equal_cohorts(breaches, instances)
        self._whole_cliques(breaches, instances)
        _containers_inside(breaches, instances, roles, membership)
        _buddies_inside(breaches, instances, roles, past)
        _lasting(breaches, instances, roles, past)
        _new_numbers(breaches, instances, past, release.number)
        _fewer_buddies(breaches, roles, past)
        return breaches

    def _equal_cohorts(self, breaches: Breaches, instances: Instances) -> None:
        """Principle 2, condition 1: in every group and for every value, equally many in each of the l cohorts."""
        counted = np.flatnonzero(instances.awake & (instances.group >= 0))
        width = int(instances.value.max(initial=0)) + 2
        cell, at = np.unique(instances.group[counted] * width + instances.value[counted] + 1, return_inverse=True)
        total = np.bincount(at, minlength=cell.size)
        # Equal shares of the total: each cohort that occurs has total / l, and l of them occur.
        span = int(instances.cohort.max(initial=0)) + 1
        pair, often = np.unique(at * span + instances.cohort[counted], return_counts=True)
        uneven = np.bincount(pair // span, minlength=cell.size) != min(self.l, EXACT)
        uneven[(pair // span)[often * min(self.l, EXACT) != total[pair // span]]] = True
        breaches.add(
            cell[uneven] // width,
            f"permanent value is not awake equally often in {self.l:,} cohorts",
            f"permanent values are not awake equally often in {self.l:,} cohorts",
        )

    def _whole_cliques(self, breaches: Breaches, instances: Instances) -> None:
        """A clique has one instance in each of the cohorts 1 to l, all of one value, all awake or all asleep.

        So every cohort of a value has equally many instances (Definition 8).
        """
        clique, at = np.unique(instances.clique, return_inverse=True)
        size = np.bincount(at, minlength=clique.size)
        span = int(instances.cohort.max(initial=0)) + 1
        cohorts = np.bincount(np.unique(at * span + instances.cohort) // span, minlength=clique.size)
        outside = np.bincount(at, (instances.cohort < HOLDERS) | (instances.cohort > self.l), clique.size) > 0
        torn = (size != min(self.l, EXACT)) | (cohorts != size) | outside
        first = np.zeros(clique.size, dtype=np.int64)
        first[at] = np.arange(at.size)
        mixed = np.bincount(at, instances.value != instances.value[first][at], clique.size) > 0
        uneven = np.bincount(at, instances.awake != instances.awake[first][at], clique.size) > 0
        breaches.add_whole(
            int(np.count_nonzero(torn | mixed)),
            f"clique is not one instance of one value in each of {self.l:,} cohorts",
            f"cliques are not one instance of one value in each of {self.l:,} cohorts",
        )
        breaches.add_whole(
            int(np.count_nonzero(uneven)),
            "clique is partly awake and partly asleep",
            "cliques are partly awake and partly asleep",
        )
        repeated = instances.number.size - np.unique(instances.number).size
        breaches.add_whole(repeated, "number stands for two instances", "numbers stand for two instances")


def _containers_inside(breaches: Breaches, instances: Instances, roles: Roles, membership: Membership) -> None:
    """Principle 2, condition 2: whoever is in the container of an awake instance is in its group; it has one only."""
    counted = np.flatnonzero(instances.awake & (instances.group >= 0))
    width = max(breaches.release.group_count, 1)
    container, group = np.divmod(np.unique(instances.container[counted] * width + instances.group[counted]), width)
    breaches.add(
        group[1:][container[1:] == container[:-1]],
        "container is in two groups",
        "containers are in two groups",
    )
    near = np.flatnonzero(np.isin(roles.container, container))
    order = near[np.argsort(roles.container[near], kind="stable")]
    ordered = roles.container[order]
    first = np.searchsorted(ordered, container)
    sizes = np.searchsorted(ordered, container, side="right") - first
    person, group = roles.people[order[runs(first, sizes)]], np.repeat(group, sizes)
    breaches.add(
        group[~membership.lists(person, group)],
        "person in the container of an awake instance is not in the group",
        "people in the containers of awake instances are not in the group",
    )


def _buddies_inside(breaches: Breaches, instances: Instances, roles: Roles, past: _Past) -> None:
    """Owners are among the buddies of their own instance, which are registered, and at first in its container."""
    number, person = integers(roles.buddies["instance"]), integers(roles.buddies["person"])
    order = np.argsort(instances.number, kind="stable")
    at = places(instances.number[order], number)
    breaches.add_whole(
        int(np.count_nonzero(at < 0)), "buddy is of an instance that is not there", "buddies are of no instance"
    )
    number, person, at = number[at >= 0], person[at >= 0], order[at[at >= 0]]
    where = np.append(roles.container, NOWHERE)[places(roles.people, person)]
    breaches.add(
        instances.group[at[places(roles.people, person) < 0]],
        "buddy is not registered",
        "buddies are not registered",
    )
    new = ~np.isin(instances.number, integers(past.instances["instance"]))[at]
    breaches.add(
        instances.group[at[new & (where != instances.container[at])]],
        "buddy of a new instance is not in its container",
        "buddies of new instances are not in their containers",
    )
    owned = np.flatnonzero(instances.owner >= 0)
    own = np.zeros(instances.number.size, dtype=np.bool_)
    own[at[person == instances.owner[at]]] = True
    breaches.add(
        instances.group[owned[~own[owned]]],
        "owner is not among those who could own the instance",
        "owners are not among those who could own the instance",
    )


def _lasting(breaches: Breaches, instances: Instances, roles: Roles, past: _Past) -> None:
    """Definition 9: an instance keeps its cohort (and clique, container, value), a living holder his instance."""
    earlier = past.instances.sort("instance")
    numbers = integers(earlier["instance"])
    first = np.searchsorted(numbers, instances.number)
    often = np.searchsorted(numbers, instances.number, side="right") - first
    now, before = np.repeat(np.arange(often.size), often), runs(first, often)
    changed = np.zeros(now.size, dtype=np.bool_)
    for name in LASTING:
        entries = _labels if name == "value" else integers
        changed |= entries(roles.instances[name])[now] != entries(earlier[name])[before]
    breaches.add(
        instances.group[now[changed]],
        "instance changed its value, cohort, clique, container or time of creation",
        "instances changed their value, cohort, clique, container or time of creation",
    )
    # Somebody inherits from a holder who died; a holder who is registered keeps his instance.
    owner, owner_before = instances.owner[now], integers(earlier["owner"])[before]
    alive = places(roles.people, owner_before) >= 0
    passed_on = (owner >= 0) & (owner != owner_before) & alive & (instances.cohort[now] == HOLDERS)
    breaches.add(
        instances.group[now[passed_on]],
        "instance of a holder changed its owner",
        "instances of holders changed their owners",
    )


def _new_numbers(breaches: Breaches, instances: Instances, past: _Past, number: int) -> None:
    """What was removed never comes back: new instances and cliques have larger numbers than any before."""
    new = ~np.isin(instances.number, integers(past.instances["instance"]))
    again = new & ((instances.number <= past.instance) | (instances.clique <= past.clique))
    breaches.add(
        instances.group[again],
        "new instance has a number, or is in a clique, of an earlier release",
        "new instances have numbers, or are in cliques, of earlier releases",
    )
    wrong = new & ((instances.created > number) | (instances.created <= past.release))
    breaches.add(
        instances.group[wrong],
        "new instance is said to be of another release",
        "new instances are said to be of other releases",
    )


def _fewer_buddies(breaches: Breaches, roles: Roles, past: _Past) -> None:
    """Nobody becomes a buddy of an instance that was there before (Definition 7: since it was created)."""
    here, there = (
        integers(table["instance"]) * PEOPLE + integers(table["person"]) for table in (roles.buddies, past.buddies)
    )
    older = np.isin(here // PEOPLE, integers(past.instances["instance"]))
    joined = int(np.count_nonzero(places(np.sort(there), here[older]) < 0))
    breaches.add_whole(joined, "person became a buddy of an older instance", "people became buddies of older instances")


def _largest(column: pl.Series) -> int:
    return int(integers(column).max(initial=NOWHERE))


def _labels(column: pl.Series) -> npt.NDArray[np.object_]:
    return column.to_numpy().astype(np.object_)
