"""Incremental l-diversity without inference channels (Byun, Sohn, Bertino & Li, SDM 2006, section 4).

Guarantee: every class has at least l distinct values, and so has every set of values that somebody's value can be
narrowed down to by comparing any two releases (inference-freedom). l counts distinct values; it does not bound a
probability by 1/l: `diversity="share"` does, over all releases together. `strict=True` keeps l distinct values possible
for everybody whatever number of releases is combined.

For tables that only grow: nobody leaves, nothing changes.

What it does not protect against. Without `strict` or shares: what follows from more than the sets of two releases. Cuts
are counted through (`kernels.past`), and we know of no series of ours in which all releases together leave somebody
fewer than l values; but that is no proof. Someone who knows values already. Somebody who knows the program and who
waits: those who wait in one list have fewer than l distinct values; with `waiting=0` nobody waits. Someone who argues
from why a class was or was not cut (the minimality attack).

| paper                                        | here                                                             |
|----------------------------------------------|------------------------------------------------------------------|
| equivalence class                            | a group; `Classes` remembers who is in which                     |
| add                                          | a batch that costs less as a class of its own                    |
| insert, IL(e + r) - IL(e) at its least       | `kernels.nearest`: lists by nearest class, found in a tree       |
| waiting-lists                                | held back, and tried again; all lists are made anew each time    |
| split                                        | `cutting.cut` with the earlier states of a class                 |
| the previous states of a class               | `States`, as counts of values                                    |
| 4.3: new records l-diverse by themselves     | every batch keeps the rules before it is inserted                |
| 4.3: e_i[S] and e_jk[S], for every e_i       | `kernels.past.without_channel`                                   |

Differs from the paper: a batch that is ready becomes a class of its own wherever that loses less information than
inserting it, also where it overlaps others: who knows the members learns no more from it, and who does not know
them less. At most a share `waiting` of all records wait; beyond that the lists are pooled, and what loses least is
published as classes of its own. Lists are cut before they are inserted, and cuts are looked for that lose least, not
where a list is widest. A class is looked at for a split only when it has received a batch. With `strict` or
`diversity="share"` a batch is never cut again: those who came together stay together, so that they can be interchanged
in every possible world.

Cost: O(n d) for the boxes of n rows with d attributes, a search in a tree for each new record, and Mondrian's cuts for
the new records and for the classes that received some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.dense import in_order, places
from reissue.arrays.types import Ints
from reissue.errors import Infeasible, Refused, count_of, listed
from reissue.methods.base import COUNTS_ONLY, Method, Takes, nothing_for_protected_sets
from reissue.methods.incremental import LISTS, NO_LIST
from reissue.methods.incremental.arrivals import CUT_WITH_CARE, KernelRows, Placed, place
from reissue.methods.incremental.classes import Classes
from reissue.methods.partition.cutting import attributes_of, cells_of, cut, kernel_rules
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.rules import Distinct, Share
from reissue.model.schema import Schema
from reissue.model.snapshot import Delta, Snapshot, strata

WAITING = "waiting: too few values among the new records near by"
ALL_WAITING = "waiting: too few values among all new records"
UNEVEN = "waiting: values too uneven among the new records near by"
ALL_UNEVEN = "waiting: values too uneven among all new records"


@dataclass(frozen=True)
class Incremental(Method):
    """Put new records into the classes of before, without opening an inference channel to any earlier release."""

    l: int  # noqa: E741  (the papers' letter)
    """Every class has at least l distinct sensitive values, and so has every set that comparing two releases leaves.
    This does not bound a probability by 1/l; with `diversity="share"` it does."""
    diversity: Literal["distinct", "share"] = "distinct"
    """What l means. `distinct`: so many different values. `share`: no value has more than 1/l, in every batch of new
    records too, so that over all releases nobody is tied to a value with more than 1/l."""
    strict: bool = False
    """Whether l values stay possible whatever number of releases is combined, not only two."""
    waiting: float = 0.02
    """The largest share of all records that may wait for company, 0 to 1. More give narrower classes. Where all new
    records together have too few values, they wait in any case; with 0 the release is refused instead."""

    name: ClassVar[str] = "Incremental"
    words: ClassVar[str] = "for tables that only grow: comparing releases leaves everybody at least l values"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=False, changes=False, returns=False)

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=2)
        validation.one_of("diversity", ("distinct", "share"))
        validation.flag("strict")
        validation.real("waiting", least=0, most=1)
        validation.finish()

    @property
    def whole_batches(self) -> bool:
        """Whether those who came together stay together for ever."""
        return self.strict or self.diversity == "share"

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """Every class is diverse and no two releases open a channel; over the whole history, where that was asked."""
        each = "share-l-diversity" if self.diversity == "share" else "distinct-l-diversity"
        promises = [Promise(each, {"l": self.l}), Promise("inference-freedom", {"l": self.l})]
        if self.whole_batches:
            promises.append(Promise("history-l-diversity", {"l": self.l, "diversity": self.diversity}))
        return tuple(promises)

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Protected sets are not looked at."""
        return nothing_for_protected_sets(self.name, schema)

    def warnings(self) -> tuple[str, ...]:
        """What l is not, and what it is not good for."""
        found = [] if self.diversity == "share" else [COUNTS_ONLY]
        if not self.whole_batches:
            found.append(
                "The promise is about the sets of values that comparing two releases leaves; counting who must have "
                "which of them, or taking three or more releases together, may leave fewer than l values."
            )
        return tuple(found)

    def remarks(self, form: str) -> tuple[str, ...]:
        """Who waits must not be known."""
        if not self.waiting:
            return ()
        why = "it tells something about their values"
        if self.diversity == "distinct":
            why = "those who wait in one list have fewer than l values"
        return (f"keep secret who is waiting: {why}; with waiting = 0 nobody waits",)

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Add, insert, split; the rest waits."""
        release = _Release(self, snapshot, delta.since + 1, memory)
        placed = release.arrive()
        waiting = placed.waiting
        if (release.classes.owner < 0).all():
            raise Infeasible(
                f"Nobody can be published: {count_of(len(snapshot), 'row')} would all wait.",
                hint="publish when more people have arrived, or lower l.",
            )
        if waiting.size and not self.waiting:
            raise Infeasible(
                f"{count_of(waiting.size, 'new record')} cannot be published: what came in has too few values, and "
                "nobody may wait.",
                hint="publish when more people have arrived, or let them wait: waiting = 0.02 in the policy; who waits "
                "must then be kept secret.",
            )
        near, every = (WAITING, ALL_WAITING) if self.diversity == "distinct" else (UNEVEN, ALL_UNEVEN)
        together = placed.lists < NO_LIST
        reasons = {near: waiting[~together], every: waiting[together]}
        held = {reason: rows for reason, rows in reasons.items() if rows.size}
        grouping = Grouping(release.classes.owner.astype(np.int32), release.classes.count, held_back=held)
        return grouping, {**release.classes.tables(snapshot), LISTS: release.lists(placed)}


class _Release:
    """One release in the making."""

    def __init__(self, method: Incremental, snapshot: Snapshot, number: int, memory: Memory) -> None:
        self.method, self.snapshot, self.number = method, snapshot, number
        self.classes = Classes.read(memory, snapshot)
        counts = np.bincount(self.classes.values, minlength=len(self.classes.meanings))
        rule = Share(one_in=method.l) if method.diversity == "share" else Distinct(method.l)
        self.space = KernelRows(
            cells_of(snapshot, self.classes.values.astype(np.uint32)),
            strata(snapshot),
            attributes_of(snapshot),
            kernel_rules([rule], snapshot.values.levels, np.zeros(0, dtype=np.int64), counts),
        )
        self.waited = memory.get(LISTS)

    def arrive(self) -> Placed:
        """Publish what can be published."""
        self._check_strata()
        rows = np.flatnonzero(self.classes.owner == HELD_BACK)
        if not rows.size:
            return Placed(rows, rows, rows, rows, rows)
        boxes = self.space.boxes(None, self.classes.owner, self.classes.count)
        room = int(self.method.waiting * len(self.snapshot)) if self.classes.count else 0
        placed = place(self.space, boxes, rows, self.number - self._since_when(rows), room)
        received = self._take_in(placed)
        if received.size and not self.method.whole_batches:
            self._split(received)
        return placed

    def _check_strata(self) -> None:
        """Classes stay together, so a policy cannot begin to tell their people apart."""
        if not self.snapshot.as_is:
            return
        rows = np.flatnonzero(self.classes.owner >= 0)
        owner, stratum = self.classes.owner[rows], self.space.stratum[rows]
        one = np.full(self.classes.count, -1)
        one[owner] = stratum
        mixed = np.unique(owner[one[owner] != stratum]).size
        if mixed:
            raise Refused(
                f"{mixed:,} of {count_of(self.classes.count, 'class', 'classes')} of the last release have people who "
                f"differ in columns published as they are ({listed([column.name for column in self.snapshot.as_is])}).",
                hint="make such a column a quasi-identifier, or publish in the anatomised form, as before.",
            )

    def _take_in(self, placed: Placed) -> Ints:
        """Add and insert; return the classes that received somebody, ascending."""
        classes = self.classes
        own = placed.target < 0
        target = placed.target.copy()
        target[own] = classes.count + np.arange(int(own.sum()))
        received = np.unique(placed.target[~own])
        if received.size:
            # Also where batches stay whole: a policy that is amended later may let them be cut.
            shown = classes.held(*classes.members(received))
            new = ~own[placed.batch]
            part = np.searchsorted(received, target[placed.batch[new]])
            fresh = classes.held(placed.rows[new], part)
            classes.states = classes.states.receiving(received, self.number - 1, shown, fresh)
        classes.owner[placed.rows] = target[placed.batch]
        classes.since[placed.rows] = self.number
        classes.count += int(own.sum())
        return received

    def _split(self, received: Ints) -> None:
        """Cut classes that received somebody, where no part opens a channel to any earlier state."""
        classes = self.classes
        rows, of = classes.members(received)
        order = in_order(of, received.size)
        rows, of = rows[order], of[order]
        states = classes.states
        past = states.past_of(received, of, classes.since[rows], classes.values[rows], self.method.l)
        index = np.arange(rows.size, dtype=np.int32)
        ends = np.append(np.flatnonzero(np.diff(of)) + 1, rows.size).astype(np.int64)
        ends = cut(
            self.space.cells[rows], index, ends, self.space.attributes, self.space.rules, past, near=CUT_WITH_CARE
        )
        starts = np.concatenate([[0], ends[:-1]])
        rows = rows[index]
        parent = classes.owner[rows[starts]]
        # The first part of a class keeps its number.
        further = np.diff(parent, prepend=-1) == 0
        part = parent.copy()
        part[further] = classes.count + np.arange(int(further.sum()))
        classes.owner[rows] = np.repeat(part, np.diff(ends, prepend=0))
        classes.states = states.parted(part, parent)
        classes.count += int(further.sum())

    def lists(self, placed: Placed) -> pl.DataFrame:
        """Who waits, since when, and in the list of which class of the release before."""
        people = self.snapshot.people[placed.waiting]
        order = np.argsort(people, kind="stable")
        return pl.DataFrame(
            {
                "person": people[order].astype(np.uint32),
                "since": self._since_when(placed.waiting)[order].astype(np.uint32),
                "list": placed.lists[order].astype(np.int32),
            }
        )

    def _since_when(self, rows: Ints) -> Ints:
        """For each row since which release it has been waiting; this one for all who did not."""
        if self.waited is None:
            return np.full(rows.size, self.number, dtype=np.int64)
        people, began = (self.waited[name].to_numpy().astype(np.int64) for name in ("person", "since"))
        return np.append(began, self.number)[places(people, self.snapshot.people[rows])]  # nowhere is the last place
