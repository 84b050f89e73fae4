"""HD-composition: permanent values, people who change, come and go (Bu, Fu, Wong, Chen & Li 2008).

A permanent value is one that nobody gets rid of. Whoever has one is a holder; l - 1 decoys stand with him in every
release in which he is, always the same cohorts, so that any of them could be the holder. Who is in the table is known
of few: behind everybody with a role there are others of the same part of the space, his container, who could be meant.

A release is made in the steps of section 3.5: roles and cohorts are updated (`cohorts`), then the registry is parted
into groups of whole containers, in which each cohort is awake equally often and no transient value belongs to more
than 1/l of those present (`cells`, `role_partition`). A value that cannot be shown safely is published as another.

What the paper leaves open is decided so that nothing depends on who the holder is beyond his cohort:

| left open                 | decided                                                                                |
|---------------------------|----------------------------------------------------------------------------------------|
| which part is a container | a cell of a tree of cuts made without a look at values or roles, with `container`      |
|                           | people present; all of its people are always in the same group                         |
| which decoys              | drawn uniformly from the present people of a blindly chosen neighbourhood              |
| who takes over            | drawn uniformly from the buddies                                                       |
| which instances sleep     | the clique that was made with the holder's: it sleeps and wakes as one                 |
| a holder dies             | a buddy inherits his role (`heirs`), and shows one of his values as the permanent one   |
| who moves away            | stays what he is: a holder's value is shown in his old container for ever (`elsewhere`) |
| the first release         | like the others: roles first, then groups                                              |
| a group with a holder     | has l + 1 people registered for each, and `known` more, if known is above 0            |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import ascending, distinct
from reissue.arrays.types import Bools, Ints
from reissue.errors import Infeasible, InternalError, Refused, count_of
from reissue.methods.base import Method, Takes, nothing_for_protected_sets
from reissue.methods.hd_composition.cells import CutTree, codes_of, dense, grow, prune
from reissue.methods.hd_composition.cohorts import (
    KEPT_INSTANCES,
    NOBODY,
    Cohorts,
    Ground,
    KeptRoles,
    buddies_of,
    instances_of,
    rows_of,
)
from reissue.methods.hd_composition.role_partition import fine_groups, together, widened
from reissue.model.grouping import Changed, Elsewhere, Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.roles import BUDDIES, HOLDERS, INSTANCES, Roles
from reissue.model.schema import Schema
from reissue.model.snapshot import Delta, Labels, Leaves, Snapshot
from reissue.reasoning.permanence.scarcity import odds_if_present

TREE = "cells"
ROLES = "instances"
COULD = "buddies"
"""Who could own each instance."""
HAVE = "holders"
"""Who ever had which permanent value, each once."""
HOLDERS_KEPT = pl.Schema({"person": pl.UInt32, "value": pl.String})
NEXT = "numbers"
"""The next release, instance and clique."""


@dataclass(frozen=True)
class HDComposition(Method):
    """Groups in which nobody's link with a value, permanent or not, is more likely than 1/l, in all releases together.

    For an adversary who knows the registry, the method and who of up to `known` people is in which release.
    """

    l: int  # noqa: E741
    """How many people stand together for each holder: the holder and l - 1 decoys."""
    container: int = 5
    """How many people who are present a container has at least, when it is made."""
    known: int = 0
    """The participation of how many people the adversary may know (the paper's K)."""
    heirs: bool = True
    """Whether somebody inherits the role of a holder who dies, so that the death does not show: one of the heir's
    values is then published as the permanent one. Without, the value is not seen again, and anyone who notices
    suspects the dead."""

    name: ClassVar[str] = "HDComposition"
    words: ClassVar[str] = "for tables in which people and values change, and some values stay for ever"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True, registry=True)
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validation = Validation(self)
        for name, least in (("l", 2), ("container", 1), ("known", 0)):
            validation.whole(name, least=least)
        validation.flag("heirs")
        validation.finish()

    @property
    def cohorts(self) -> int:
        """One of holders and l - 1 of decoys."""
        return self.l

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """Both principles of the paper, and what they are for."""
        scarce = {"l": self.l, "known": self.known, "permanent": tuple(schema.permanent)}
        return (
            Promise("role-based-partition", {"l": self.l}),
            Promise("cohort-based-partition", {"l": self.l}),
            Promise("l-scarcity", scarce),
        )

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Why it cannot serve a table like this."""
        problems = nothing_for_protected_sets(self.name, schema)
        if not schema.permanent:
            problems.append("HDComposition is for permanent values: name them in 'permanent'")
        if form != "generalised":
            problems.append(
                "HDComposition publishes in the generalised form only: the other one shows who is in the table"
            )
        if schema.as_is:
            problems.append("HDComposition publishes no column as it is: it would show who is in the table")
        return problems

    def warnings(self) -> tuple[str, ...]:
        """What the public record says."""
        return (
            "Some values may have been replaced by others, or be shown where people were before; nothing marks them.",
        )

    def remarks(self, form: str) -> tuple[str, ...]:
        """What small containers cost where people are known."""
        if not self.known or self.container >= self.l + 2 * self.known:
            return ()
        return (
            f"containers of {self.container} are small for known = {self.known}: with container = "
            f"{self.l + 2 * self.known} or more fewer values are replaced",
        )

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Update the roles, then part the registry."""
        if snapshot.owner is None:
            raise InternalError("HD-composition needs people and facts apart")
        return _Round(self, snapshot, delta.since + 1, memory, rng).run()


class _Round:
    """One release in the making."""

    def __init__(
        self, method: HDComposition, snapshot: Snapshot, number: int, memory: Memory, rng: np.random.Generator
    ) -> None:
        self.method, self.snapshot, self.memory, self.rng = method, snapshot, memory, rng
        self.owner: Ints = snapshot.owners
        self.labels = _labels(snapshot)
        self.present = np.zeros(len(snapshot), dtype=np.bool_)
        self.present[self.owner] = True
        # Not from memory: releases may have been made since by another method, or where nobody knows who is in them.
        self.number = number
        _, self.instance, self.clique = memory[NEXT].row(0) if NEXT in memory else (1, 1, 1)
        self.row_of = np.full(int(snapshot.people.max(initial=0)) + 1, NOBODY, dtype=np.int64)
        self.row_of[snapshot.people] = np.arange(len(snapshot))
        codes = {label: code for code, label in enumerate(self.labels)}
        self.permanent = {value: codes.get(value, -1) for value in snapshot.schema.permanent}
        self.has = {value: self._has(code) for value, code in self.permanent.items()}
        """For each permanent value who has it in the table."""
        self.transient: Bools = ~np.isin(snapshot.values.codes, list(self.permanent.values()))
        """Which values are not permanent."""
        self.to_show: Ints = np.bincount(self.owner[self.transient], minlength=len(snapshot)).astype(np.int64)
        """How many transient values everybody has that no heir shows as another yet."""

    def run(self) -> tuple[Grouping, Remembered]:
        """The groups, and what to remember."""
        if not self.present.any():
            raise Infeasible("Nobody is in the table.", hint="publish when somebody is.")
        holders, ever = self._holders()
        ground = self._ground()
        cohorts = [self._cohorts(value, ground, ever[value]) for value in self.permanent]
        unseen = [one.unseen(ground, self.has[one.value]) for one in cohorts]
        inherited = self._inherited(cohorts)
        where = self._shown_in(ground, cohorts, inherited)
        of_cell, count = self._partition(ground, cohorts, unseen, where, inherited)
        group = of_cell[ground.cell].astype(np.int32)
        changed = self._replaced(group, count, cohorts, unseen, inherited)
        people = self.snapshot.people
        frame, buddies = instances_of(cohorts, people, of_cell), buddies_of(cohorts, people)
        remembered = {
            TREE: ground.cells.frame(self.snapshot.quasi),
            ROLES: frame,
            COULD: buddies,
            HAVE: holders,
            NEXT: pl.DataFrame({"release": [self.number + 1], "instance": [self.instance], "clique": [self.clique]}),
        }
        roles = self._roles(frame, buddies, ground)
        elsewhere = _elsewhere(of_cell[where], group[self.owner])
        return Grouping(group, count, changed=changed, roles=roles, elsewhere=elsewhere), remembered

    def _inherited(self, cohorts: Sequence[Cohorts]) -> dict[int, tuple[int, int]]:
        """The places of the values that heirs show, with the permanent value and the cell that they show it in."""
        shown: dict[int, tuple[int, int]] = {}
        for one in cohorts:
            for at in np.flatnonzero(one.awake & one.inherited & (one.cohort == HOLDERS)):
                mine = self._facts_of(int(one.owner[at]))
                own = mine[self.transient[mine]]
                free = own[~np.isin(own, list(shown))]
                if not free.size:
                    raise InternalError("an heir has no value to show")
                shown[int(self.rng.choice(free))] = self.permanent[one.value], int(one.cell[at])
        return shown

    def _shown_in(self, ground: Ground, cohorts: Sequence[Cohorts], inherited: dict[int, tuple[int, int]]) -> Ints:
        """The cell in which each value is shown: that of its person or, for a holder's, that of his instance."""
        cell = ground.cell[self.owner]
        for fact, (_, shown) in inherited.items():
            cell[fact] = shown
        codes = self.snapshot.values.codes
        for one in cohorts:
            shown = one.awake & (one.cohort == HOLDERS)
            stands = np.full(len(self.snapshot), NOBODY, dtype=np.int64)
            stands[one.owner[shown]] = one.cell[shown]
            facts = np.flatnonzero(codes == self.permanent[one.value])
            away = facts[stands[self.owner[facts]] >= 0]
            cell[away] = stands[self.owner[away]]
        return cell

    @cached_property
    def _kept(self) -> KeptRoles:
        """The roles of the release before."""
        instances = self.memory[ROLES] if ROLES in self.memory else pl.DataFrame(schema=KEPT_INSTANCES)
        buddies = self.memory[COULD] if COULD in self.memory else pl.DataFrame(schema=BUDDIES)
        return KeptRoles.read(instances, buddies)

    @cached_property
    def _by_owner(self) -> Ints:
        return np.argsort(self.owner, kind="stable")

    def _facts_of(self, row: int) -> Ints:
        """The places of somebody's values."""
        first, last = np.searchsorted(self.owner, [row, row + 1], sorter=self._by_owner)
        return self._by_owner[first:last]

    def _has(self, code: int) -> Bools:
        """Who has a value in the table."""
        has = np.zeros(len(self.snapshot), dtype=np.bool_)
        has[self.owner[self.snapshot.values.codes == code]] = True
        return has

    def _holders(self) -> tuple[pl.DataFrame, dict[str, Bools]]:
        """Everybody who ever had a permanent value, also as rows; refuse a table in which somebody lost one."""
        if not set(self._kept.value) <= self.permanent.keys():
            raise Refused(
                "A value that was permanent is no longer declared so: the people who have it would lose their decoys.",
                hint="put it back into 'permanent'.",
            )
        before = self.memory[HAVE] if HAVE in self.memory else pl.DataFrame(schema=HOLDERS_KEPT)
        rows, values = rows_of(before["person"].to_numpy().astype(np.int64), self.row_of), before["value"].to_numpy()
        lost, ever, fresh = 0, {}, []
        for value, has in self.has.items():
            had = rows[(values == value) & (rows >= 0)]
            lost += int(np.count_nonzero(self.present[had] & ~has[had]))
            first = has.copy()
            first[had] = False
            ever[value] = first.copy()
            ever[value][had] = True
            people = self.snapshot.people[first].astype(np.uint32)
            fresh.append(pl.DataFrame({"person": people, "value": [value] * people.size}, schema=HOLDERS_KEPT))
        if lost:
            raise Refused(
                f"{count_of(lost, 'person has', 'people have')} lost a permanent value that an earlier table had.",
                hint="permanent values stay with people for ever: correct the table.",
            )
        return pl.concat([before, *fresh]), ever

    def _ground(self) -> Ground:
        """Where everybody is; cells in which no role lives are cut further, or put together where they are empty."""
        quasi = self.snapshot.quasi
        cells = CutTree.from_frame(self.memory[TREE], quasi) if TREE in self.memory else CutTree.undivided()
        lived_in = np.empty(0, dtype=np.int64)
        if ROLES in self.memory:
            lived_in = distinct(self._kept.container)
        codes = codes_of(quasi)
        least: list[tuple[Bools, int]] = [(self.present, max(self.method.container, self.method.known + 2))]
        if self.method.known:
            least.append((~self.present, self.method.known + 1))
        cells, cell = prune(cells, cells.locate(codes), self.present, self.method.container, lived_in)
        cells, cell = grow(cells, quasi, codes, cell, least, lived_in)
        return Ground.of(cells, cell, self.present)

    def _cohorts(self, value: str, ground: Ground, ever: Bools) -> Cohorts:
        """The roles for one permanent value; `ever` is who ever had it."""
        cohorts = Cohorts.remembered(value, self.method.l, self.method.known, self._kept, self.row_of)
        cohorts.update(ground, ever, self.rng, able=self.to_show > 0, heirs=self.method.heirs)
        # An heir who is there shows one of his values; he may be the heir of another holder as well.
        heirs = cohorts.owner[cohorts.awake & cohorts.inherited & (cohorts.cohort == HOLDERS)]
        self.to_show[heirs] -= 1
        owning = cohorts.owner[(cohorts.cohort == HOLDERS) | cohorts.pinned]
        fresh = self.has[value].copy()
        fresh[owning[owning >= 0]] = False
        cohorts.welcome(np.flatnonzero(fresh), ground, ever, self.rng)
        self.instance, self.clique = cohorts.number(self.number, self.instance, self.clique, ground)
        return cohorts

    def _partition(
        self,
        ground: Ground,
        cohorts: Sequence[Cohorts],
        unseen: Sequence[Ints],
        where: Ints,
        inherited: dict[int, tuple[int, int]],
    ) -> tuple[Ints, int]:
        """The group of each cell, by node, and how many there are."""
        method, cells = self.method, ground.cells
        transient = self.transient
        facts = ground.cell[self.owner[transient]], self.snapshot.values.codes[transient].astype(np.int64)
        group = fine_groups(cells, ground.per_cell(self.present), facts, method.l)
        group = together(cells, group, [(one.cell[one.awake], one.cohort[one.awake]) for one in cohorts], method.l)
        if method.known:
            everybody = np.ones(len(self.snapshot), dtype=np.bool_)
            shown = np.ones(self.owner.size, dtype=np.bool_)
            shown[self._hidden(cohorts, unseen)] = False
            codes = self.snapshot.values.codes.astype(np.int64)
            codes[list(inherited)] = [code for code, _ in inherited.values()]
            # What is hidden will be shown as something that the group does not have yet.
            hidden = np.flatnonzero(~shown)
            codes[hidden] = codes.max(initial=0) + 1 + np.arange(hidden.size)
            facts = where, codes
            lasting = np.array(list(self.permanent.values()), dtype=np.int64)
            group = widened(cells, group, ground.per_cell(everybody), facts, lasting, method.l, method.known)
        # Cells without people can belong to no group; one in which something is shown always has a neighbour who does.
        numbers, _ = dense(group[ground.cell], len(cells))
        of_cell = np.searchsorted(numbers, group)
        return of_cell, numbers.size

    def _replaced(
        self,
        group: npt.NDArray[np.int32],
        count: int,
        cohorts: Sequence[Cohorts],
        unseen: Sequence[Ints],
        inherited: dict[int, tuple[int, int]],
    ) -> Changed | None:
        """Another value for each that must not be shown, drawn from the table, that the group has room for."""
        codes = self.snapshot.values.codes.astype(np.int64)
        hidden = self._hidden(cohorts, unseen)
        if not hidden.size and not inherited:
            return None
        present = np.bincount(group[self.present], minlength=count)
        of_fact = group[self.owner]
        concerned = np.isin(of_fact, of_fact[hidden]) & self.transient
        pairs, times = np.unique(np.stack([of_fact[concerned], codes[concerned]]), axis=1, return_counts=True)
        often = {(place, code): number for (place, code), number in zip(pairs.T.tolist(), times.tolist(), strict=True)}
        pool = codes[self.transient]
        values = np.unique(pool)
        instead = np.empty(hidden.size, dtype=np.int64)
        for at, fact in enumerate(hidden):
            place, row = int(of_fact[fact]), self.owner[fact]
            own = set(codes[self._facts_of(int(row))].tolist())
            drawn = self.rng.choice(pool, size=min(32, pool.size)) if pool.size else pool
            tried = [*drawn.tolist(), *self.rng.permutation(values).tolist()]
            if self.method.known:
                tried = sorted(tried, key=partial(_times, often, place))
            for code in tried:
                if code not in own and (often.get((place, code), 0) + 1) * self.method.l <= present[place]:
                    often[place, code] = often.get((place, code), 0) + 1
                    instead[at] = code
                    break
            else:
                raise _nothing_instead(hidden.size)
        if self.method.known and often and not self._hides_known(group, often):
            raise _nothing_instead(hidden.size)
        rows = np.concatenate([hidden, np.array(list(inherited), dtype=np.int64)])
        codes_shown = np.concatenate([instead, np.array([code for code, _ in inherited.values()], dtype=np.int64)])
        order = np.argsort(rows)
        return Changed(rows[order], codes_shown[order].astype(self.snapshot.values.codes.dtype))

    def _hides_known(self, group: npt.NDArray[np.int32], often: dict[tuple[int, int], int]) -> bool:
        """Whether transient values that occur so often in groups leave somebody in doubt who is known to be there."""
        place, _, times = (np.array(some) for some in zip(*((*key, n) for key, n in often.items()), strict=True))
        people = np.bincount(group)[place]
        odds = odds_if_present(np.bincount(group), place, times, self.method.known)
        enough = (times * self.method.l <= people - self.method.known) & (odds * (self.method.l - 1) <= 1)
        return bool(enough.all())

    def _hidden(self, cohorts: Sequence[Cohorts], unseen: Sequence[Ints]) -> Ints:
        """The places of the values that must not be shown, ascending."""
        codes = self.snapshot.values.codes
        facts = [
            np.flatnonzero((codes == self.permanent[one.value]) & np.isin(self.owner, rows))
            for one, rows in zip(cohorts, unseen, strict=True)
        ]
        return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *facts]))

    def _roles(self, frame: pl.DataFrame, buddies: pl.DataFrame, ground: Ground) -> Roles:
        """What the checkers are told."""
        order = ascending(self.snapshot.people)
        people = self.snapshot.people[order]
        return Roles(
            instances=pl.DataFrame([frame[name] for name in INSTANCES]),
            buddies=buddies,
            people=people,
            container=ground.cell[order],
            present=people[self.present[order]],
            permanent=tuple(self.permanent),
        )


def _nothing_instead(hidden: int) -> Infeasible:
    return Infeasible(
        f"{count_of(hidden, 'permanent value')} must be published as another, and the table has no other value that is "
        "rare enough to take its place.",
        hint="lower l or known, or publish when there are more people or other values.",
    )


def _times(often: dict[tuple[int, int], int], place: int, code: int) -> int:
    """How often a group has a value."""
    return often.get((place, code), 0)


def _elsewhere(shown: Ints, own: npt.NDArray[np.int32]) -> Elsewhere | None:
    """The values that are shown in another group than their person's."""
    rows = np.flatnonzero(shown != own)
    return Elsewhere(rows, shown[rows].astype(np.int32)) if rows.size else None


def _labels(snapshot: Snapshot) -> tuple[str, ...]:
    levels = snapshot.values.levels
    if isinstance(levels, Labels):
        return levels.labels
    if isinstance(levels, Leaves):
        return levels.hierarchy.leaves
    raise InternalError("permanent values are labels")


def roles_of(memory: Memory) -> pl.DataFrame:
    """Who has which role, by person `number`: `value`, `role`, `cohort`, `container`, `awake`.

    Owners are holders, their heirs, or decoys. Buddies could own an instance as well; whoever owns one of the same
    value himself, or has the value, is none.
    """
    instances = memory[ROLES]
    owned = instances.drop_nulls("owner").select(
        pl.col("owner").alias("number"),
        "value",
        role=pl.when(pl.col("inherited"))
        .then(pl.lit("heir"))
        .when(pl.col("cohort") == HOLDERS)
        .then(pl.lit("holder"))
        .otherwise(pl.lit("decoy")),
        cohort="cohort",
        container="container",
        awake="awake",
    )
    buddies = instances.join(memory[COULD], on="instance").select(
        pl.col("person").alias("number"), "value", pl.lit("buddy").alias("role"), "cohort", "container", "awake"
    )
    holders = memory[HAVE].rename({"person": "number"})
    buddies = buddies.join(owned, on=["number", "value"], how="anti").join(holders, on=["number", "value"], how="anti")
    return pl.concat([owned, buddies.unique(["number", "value", "cohort", "container"], maintain_order=True)])
