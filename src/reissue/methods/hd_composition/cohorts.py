"""Cohorts: who holds a permanent value, who stands in for its holders, who could take over (Bu et al., section 3.2).

For each permanent value there are l cohorts of container instances, one owned by holders and l - 1 by decoys. New ones
come in cliques, one instance of each cohort, and the instances of a clique sleep and wake together: awake in the
releases in which its holder is. What happens to an instance is the same for all cohorts but for one thing, who its
owner is, and that shows in no release.

| the paper                          | here                                                                         |
|------------------------------------|------------------------------------------------------------------------------|
| M1, M2: a new holder, new decoys   | decoys are drawn uniformly from the present people of the holder's           |
|                                    | *neighbourhood*, one of the parts into which space is cut without a look at  |
|                                    | who holds what                                                               |
| M3: a decoy becomes a holder       | a buddy takes his instance over; he becomes a new holder                     |
| M4, A2: a decoy is absent or gone  | a buddy who is present takes over, drawn uniformly                           |
| A1: the holder is absent           | the clique sleeps; buddies who are absent take over where there are any      |
| the holder dies                    | a buddy inherits his instance, which goes on as if he were the holder: one   |
|                                    | of his values is published as the permanent one, so that no death shows      |
| clique extinction                  | a clique whose holder is dead is removed once as many died in each of its    |
|                                    | containers as it has instances there: any of them might have been the holder |
| 3.2.5: no buddy is left            | the decoy who became a holder is pinned: he stays a decoy, and his value is  |
|                                    | published as another                                                         |
| 3.4.1: somebody moves away         | nothing happens: his value is still shown where it was. The paper moves a    |
|                                    | holder's instance with him and no decoy's, which tells them apart            |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import in_order, places
from reissue.arrays.runs import joined
from reissue.arrays.types import Bools, Ints
from reissue.methods.hd_composition.cells import LEAF, CutTree
from reissue.model.roles import BUDDIES, HOLDERS, INSTANCES

NOBODY = -1

KEPT_INSTANCES = pl.Schema(
    [*INSTANCES.items(), ("deaths", pl.UInt32()), ("pinned", pl.Boolean()), ("inherited", pl.Boolean())]
)
"""What is remembered of instances: also how many who could have owned it died, whether its owner is a holder himself
who must stay a decoy, and whether its owner has inherited it from a holder who died."""


@dataclass(frozen=True, repr=False)
class Ground:
    """What is the same for all permanent values: who is registered, where, and who is present."""

    cells: CutTree
    cell: Ints
    """The cell of each row (a person registered)."""
    present: Bools
    order: Ints
    """Rows along the cells from left to right."""
    starts: Ints
    """Where each cell's rows begin in `order`, by the place of the cell; one entry more than there are cells."""

    @classmethod
    def of(cls, cells: CutTree, cell: Ints, present: Bools) -> Ground:
        """Put everybody in order."""
        place = cells.span[0][cell]
        count = cells.leaves.size
        order = in_order(place, count)
        return cls(cells, cell, present, order, np.searchsorted(place[order], np.arange(count + 1)))

    def rows(self, node: int) -> Ints:
        """Everybody in the cells of a node."""
        first, last = self.cells.span
        return self.order[self.starts[first[node]] : self.starts[last[node]]]

    def per_cell(self, flags: Bools) -> Ints:
        """How many of the rows flagged each cell has, by node."""
        return np.bincount(self.cell[flags], minlength=len(self.cells)).astype(np.int64)


@dataclass(frozen=True, repr=False)
class KeptRoles:
    """The instances of the release before, and who could own them, column by column."""

    instance: Ints
    value: npt.NDArray[np.object_]
    cohort: Ints
    clique: Ints
    container: Ints
    owner: Ints
    """A person number; -1 where there is none."""
    created: Ints
    deaths: Ints
    pinned: Bools
    inherited: Bools
    of: Ints
    person: Ints
    """Somebody's number, and the instance that he could own."""

    @classmethod
    def read(cls, instances: pl.DataFrame, buddies: pl.DataFrame) -> KeptRoles:
        """From the tables that `instances_of` and `buddies_of` gave."""
        owner = instances["owner"].to_numpy()
        numbers = {
            name: instances[name].to_numpy().astype(np.int64)
            for name in ("instance", "cohort", "clique", "container", "created", "deaths")
        }
        return cls(
            **numbers,
            value=instances["value"].to_numpy(),
            owner=np.where(np.isnan(owner), NOBODY, owner).astype(np.int64),
            pinned=instances["pinned"].to_numpy(),
            inherited=instances["inherited"].to_numpy(),
            of=buddies["instance"].to_numpy().astype(np.int64),
            person=buddies["person"].to_numpy().astype(np.int64),
        )


@dataclass(repr=False)
class Cohorts:
    """The container instances of one permanent value, while a release is made. All arrays have one entry for each."""

    value: str
    size: int
    """How many cohorts there are (l)."""
    known: int
    instance: Ints
    cohort: Ints
    clique: Ints
    cell: Ints
    owner: Ints
    """The row of the owner; -1 where there is none."""
    created: Ints
    deaths: Ints
    pinned: Bools
    inherited: Bools
    could: list[Ints]
    """The rows of those who could own each: in its container when it was created, and registered ever since."""
    awake: Bools = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    suppressed: list[int] = field(default_factory=list)
    """Rows of holders whose value is not shown in this release."""
    new_cliques: list[tuple[Ints, Ints]] = field(default_factory=list)
    """Owners' rows of those made in this release, holders first, and their cells."""

    @classmethod
    def remembered(cls, value: str, size: int, known: int, kept: KeptRoles, row_of: Ints) -> Cohorts:
        """Those of the release before; `row_of` gives the row of each person number, -1 for those not registered."""
        own = np.flatnonzero(kept.value == value)
        own = own[np.argsort(kept.instance[own], kind="stable")]
        instance = kept.instance[own]
        at = places(instance, kept.of)
        rows = rows_of(kept.person[at >= 0], row_of)
        at = at[at >= 0]
        # In the order of the registry: person numbers are drawn.
        order = np.lexsort((rows, at))
        at, rows = at[order], rows[order]
        died = np.bincount(at[rows < 0], minlength=own.size)
        alive = np.bincount(at[rows >= 0], minlength=own.size)
        could = np.split(rows[rows >= 0], np.cumsum(alive)[:-1]) if own.size else []
        owner = rows_of(kept.owner[own], row_of)
        pinned, inherited = kept.pinned[own] & (owner >= 0), kept.inherited[own]
        names = (kept.cohort, kept.clique, kept.container)
        two, three, four = (column[own] for column in names)
        created, deaths = kept.created[own], kept.deaths[own] + died
        return cls(value, size, known, instance, two, three, four, owner, created, deaths, pinned, inherited, could)

    def __len__(self) -> int:
        return self.instance.size

    # From the release before to this one

    def update(self, ground: Ground, has: Bools, rng: np.random.Generator, *, able: Bools, heirs: bool) -> None:
        """Let owners take over from each other, cliques sleep, wake and end; `has` is who ever had the value.

        With `heirs` somebody inherits from a holder who died; `able` are those who have another value to show as this
        one, as an heir must.
        """
        self._end()
        self.awake = np.zeros(len(self), dtype=np.bool_)
        owned = np.zeros(ground.present.size, dtype=np.bool_)
        owned[self.owner[self.owner >= 0]] = True
        clean = ~owned & ~has
        if heirs:
            self._inherit(has, clean, rng)
        by_clique = np.argsort(self.clique, kind="stable").reshape(-1, self.size)
        wanted = [self._holder_present(members, ground, able) for members in by_clique]
        # Those who must be awake choose first among the buddies that they may share.
        for must in (True, False):
            for members, wants in zip(by_clique, wanted, strict=True):
                if wants is must:
                    self._settle(members, ground, has, clean, rng, awake=must)

    def _end(self) -> None:
        """Cliques whose holder is dead are removed once each instance could have been that of another who died."""
        lost = self.clique[(self.cohort == HOLDERS) & ((self.owner == NOBODY) | self.inherited)]
        # The people of a container may stand for several instances of a clique: then as many must have died.
        _, which, often = np.unique(np.stack([self.clique, self.cell]), axis=1, return_inverse=True, return_counts=True)
        still = self.clique[self.deaths < often[which.reshape(-1)]]
        self._only(~np.isin(self.clique, np.setdiff1d(lost, still)))

    def _only(self, chosen: Bools) -> None:
        for name in ("instance", "cohort", "clique", "cell", "owner", "created", "deaths", "pinned", "inherited"):
            setattr(self, name, getattr(self, name)[chosen])
        self.could = [rows for rows, stays in zip(self.could, chosen.tolist(), strict=True) if stays]

    def _inherit(self, has: Bools, clean: Bools, rng: np.random.Generator) -> None:
        """Where the holder has died, or the last heir, a buddy inherits; an heir who falls ill becomes the holder."""
        mine = np.flatnonzero((self.cohort == HOLDERS) & self.inherited & (self.owner >= 0))
        self.inherited[mine[has[self.owner[mine]]]] = False
        for at in np.flatnonzero((self.cohort == HOLDERS) & (self.owner == NOBODY)):
            buddies = self.could[at][clean[self.could[at]]]
            if buddies.size:
                heir = int(rng.choice(buddies))
                clean[heir] = False
                self.owner[at], self.inherited[at] = heir, True

    def _holder_present(self, members: Ints, ground: Ground, able: Bools) -> bool:
        at = members[self.cohort[members] == HOLDERS][0]
        holder = self.owner[at]
        return bool(holder >= 0 and ground.present[holder] and (able[holder] or not self.inherited[at]))

    def _settle(
        self, members: Ints, ground: Ground, has: Bools, clean: Bools, rng: np.random.Generator, *, awake: bool
    ) -> None:
        """Give every decoy instance of a clique an owner who is present, or absent if it sleeps."""
        holder = members[self.cohort[members] == HOLDERS][0]
        complete = self._enough(holder, ground, clean) if awake else True
        for at in members[members != holder]:
            complete &= self._pass_on(int(at), ground, has, clean, rng, awake=awake)
        if awake and complete:
            self.awake[members] = True
        elif awake and not self.inherited[holder]:
            # Even where nobody is left who could own one of them: a new clique would tell that it was not the holder's.
            self.suppressed.append(int(self.owner[holder]))

    def _enough(self, at: int, ground: Ground, clean: Bools) -> bool:
        """Whether more people are present who could own the instance than the adversary may know."""
        if not self.known:
            return True
        rows = self.could[at]
        own = rows == self.owner[at]
        return int((ground.present[rows] & (clean[rows] | own)).sum()) > self.known

    def _pass_on(
        self, at: int, ground: Ground, has: Bools, clean: Bools, rng: np.random.Generator, *, awake: bool
    ) -> bool:
        """See to the owner of a decoy instance; whether it can be as it should, awake or asleep."""
        owner = int(self.owner[at])
        turned = owner >= 0 and bool(has[owner]) and not self.pinned[at]
        fits = owner >= 0 and not turned and bool(ground.present[owner]) is awake
        if not fits and not (self.pinned[at] and owner >= 0):
            rows = self.could[at]
            buddies = rows[clean[rows]]
            suited = buddies[ground.present[buddies] == awake]
            if not suited.size and not awake and (owner < 0 or turned):
                suited = buddies
            if suited.size:
                chosen = int(rng.choice(suited))
                if owner >= 0 and not turned:
                    clean[owner] = True
                clean[chosen] = False
                self.owner[at] = chosen
            elif turned:
                self.pinned[at] = True
        owner = int(self.owner[at])
        if not awake:
            return True
        return owner >= 0 and bool(ground.present[owner]) and self._enough(at, ground, clean)

    # New holders

    def welcome(self, holders: Ints, ground: Ground, has: Bools, rng: np.random.Generator) -> None:
        """Make a clique for everybody who has the value and no instance; who finds no room stays unseen."""
        holders = rng.permutation(np.sort(holders))
        if not holders.size:
            return
        taken = np.zeros(ground.present.size, dtype=np.bool_)
        taken[self.owner[self.owner >= 0]] = True
        free = ground.present & ~taken
        room = ground.per_cell(free) - (self.known + 1)
        if self.known:
            # Somebody absent whom the adversary does not know must be there for the releases in which it sleeps.
            room[ground.per_cell(~ground.present) <= self.known] = 0
        room = np.maximum(room, 0)
        home = _neighbourhoods(ground.cells, room, holders.size, self.size)
        clean = free & ~has
        full: set[int] = set()
        for row in holders:
            here = int(home[ground.cell[row]])
            chosen = None if here in full else self._clique(int(row), ground, here, room, clean, rng)
            if chosen is None and room[ground.cell[row]] >= 1:
                full.add(here)  # there will not be more room
            if chosen is None:
                self.suppressed.append(int(row))
            else:
                self.new_cliques.append((chosen, ground.cell[chosen]))

    def _clique(
        self, row: int, ground: Ground, home: int, room: Ints, clean: Bools, rng: np.random.Generator
    ) -> Ints | None:
        """A holder and l - 1 decoys of his neighbourhood, drawn uniformly; None where there is no room for them."""
        if room[ground.cell[row]] < 1:
            return None
        pool = ground.rows(home)
        chosen = [row]
        room[ground.cell[row]] -= 1
        clean[row] = False

        def take(other: int) -> None:
            if len(chosen) < self.size and clean[other] and room[ground.cell[other]] >= 1:
                chosen.append(other)
                clean[other] = False
                room[ground.cell[other]] -= 1

        # Most are free where there is much room: who is not is drawn again. Then all, in an order that is drawn.
        for place in rng.integers(0, pool.size, 8 * self.size).tolist():
            take(int(pool[place]))
        if len(chosen) < self.size:
            for other in rng.permutation(pool[clean[pool]]).tolist():
                take(other)
                if len(chosen) == self.size:
                    break
        if len(chosen) < self.size:
            room_again = ground.cell[chosen]
            np.add.at(room, room_again, 1)
            clean[chosen[1:]] = True
            return None
        return np.array(chosen, dtype=np.int64)

    def number(self, number: int, instance: int, clique: int, ground: Ground) -> tuple[int, int]:
        """Take the new cliques in, numbered from these on; return the next numbers."""
        made = len(self.new_cliques)
        if made:
            size = made * self.size
            fresh = {
                "instance": np.arange(instance, instance + size),
                "cohort": np.tile(np.arange(HOLDERS, HOLDERS + self.size), made),
                "clique": np.repeat(np.arange(clique, clique + made), self.size),
                "cell": np.concatenate([cells for _, cells in self.new_cliques]),
                "owner": np.concatenate([rows for rows, _ in self.new_cliques]),
                "created": np.full(size, number),
                "deaths": np.zeros(size, dtype=np.int64),
                "pinned": np.zeros(size, dtype=np.bool_),
                "inherited": np.zeros(size, dtype=np.bool_),
                "awake": np.ones(size, dtype=np.bool_),
            }
            for name, more in fresh.items():
                setattr(self, name, np.concatenate([getattr(self, name), more]))
            self.could += [ground.rows(int(cell)) for cell in fresh["cell"]]
            self.new_cliques = []
            return instance + size, clique + made
        return instance, clique

    def unseen(self, ground: Ground, has: Bools) -> Ints:
        """Rows of those who have the value in the table and are published with another."""
        pinned = self.owner[self.pinned]
        shown_not = np.concatenate([np.array(self.suppressed, dtype=np.int64), pinned[has[pinned]]])
        return np.unique(shown_not[ground.present[shown_not]])


def instances_of(cohorts: Sequence[Cohorts], people: Ints, group: Ints) -> pl.DataFrame:
    """As they are remembered; `people` are the person numbers of the rows, `group` is that of each cell."""

    def column(name: str) -> Ints:
        return joined([getattr(one, name) for one in cohorts])

    owner, cell = column("owner"), column("cell")
    owners = np.where(owner >= 0, people[owner], np.nan)
    columns = {
        "instance": column("instance"),
        "value": [one.value for one in cohorts for _ in range(len(one))],
        "cohort": column("cohort"),
        "clique": column("clique"),
        "container": cell,
        "owner": pl.Series(owners, nan_to_null=True),
        "awake": column("awake").astype(np.bool_),
        "created": column("created"),
        "group": group[cell],
        "deaths": column("deaths"),
        "pinned": column("pinned").astype(np.bool_),
        "inherited": column("inherited").astype(np.bool_),
    }
    return pl.DataFrame(columns, schema_overrides={"value": pl.String}).cast(KEPT_INSTANCES)


def buddies_of(cohorts: Sequence[Cohorts], people: Ints) -> pl.DataFrame:
    """Who could own each instance; `people` are the person numbers of the rows."""
    instances, buddies = [], []
    for one in cohorts:
        instance = np.repeat(one.instance, [rows.size for rows in one.could])
        person = people[joined(one.could)]
        order = np.lexsort((person, instance))
        instances.append(instance[order])
        buddies.append(person[order])
    columns = {"instance": joined(instances), "person": joined(buddies)}
    return pl.DataFrame({name: column.astype(np.uint32) for name, column in columns.items()}, schema=BUDDIES)


def rows_of(people: Ints, row_of: Ints) -> Ints:
    """The rows of people by number; -1 for nobody and for those not registered."""
    there = (people >= 0) & (people < row_of.size)
    return np.where(there, row_of[np.where(there, people, 0)], NOBODY)


def _neighbourhoods(cells: CutTree, room: Ints, holders: int, size: int) -> Ints:
    """For each node the part of space that the decoys of a holder in it are drawn from.

    The parts are as small as they can be with room for the cliques of more holders than one should expect in any of
    them. They depend on how many roles there is room for where, not on who the new holders are.
    """
    whole = cells.up(room)
    enough, total = float(size), max(float(whole[0]), 1.0)
    while enough < total:
        expected = holders * enough / total
        if enough >= size * (expected + 4 * np.sqrt(expected) + 1):
            break
        enough *= 1.1
    home = np.zeros(len(cells), dtype=np.int64)
    for nodes in cells.levels:
        inner = nodes[cells.left[nodes] != LEAF]
        left = cells.left[inner].astype(np.int64)
        divided = (home[inner] == inner) & (whole[left] >= enough) & (whole[left + 1] >= enough)
        home[left] = np.where(divided, left, home[inner])
        home[left + 1] = np.where(divided, left + 1, home[inner])
    return home
