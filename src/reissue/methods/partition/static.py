"""The static baselines for tables that grow (Byun, Sohn, Bertino & Li, SDM 2006, section 5).

Guarantee: `StaticI` gives l distinct values to every group of each release alone; `StaticII` gives that too, and no
comparison of two releases leaves fewer than l distinct values (inference-freedom). In both, l counts distinct values;
it does not bound a probability by 1/l.

What they do not protect against. `StaticI`: anything that needs more than one release. `StaticII`: someone who knows
values; someone who knows the program and who waits, since those who wait have fewer than l distinct values together.

| paper                                     | here                                                          |
|-------------------------------------------|---------------------------------------------------------------|
| Static I: the entire dataset, each time   | `StaticI`: `Mondrian(l=l)` on the table, nothing remembered   |
| Static II: new records independently      | `StaticII`: `Mondrian(l=l)` on those never published          |
| ... merged with the previous result       | the memory says who is in which class                         |
| equivalence class                         | a group                                                       |

Differs from the paper: it does not say what Static II does with new records that are not l-diverse among themselves;
here all of them wait until they are, together with those that come later. Columns published as they are keep their
values apart, so there each combination of them waits by itself.

Cost: Mondrian's, `StaticI` for the whole table and `StaticII` for the new records; beside that O(n) to find the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending, places
from reissue.arrays.types import Bools, Ints
from reissue.errors import Infeasible, InternalError, count_of
from reissue.methods.base import COUNTS_ONLY, Method, Takes, nothing_for_protected_sets
from reissue.methods.partition.mondrian import Mondrian
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.memory import KEPT, Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.schema import Schema
from reissue.model.showing import shown
from reissue.model.snapshot import Delta, Snapshot, strata

if TYPE_CHECKING:
    from reissue.model.knowledge import Recoding


CLASSES = "classes"
WAITING = "new records with too few distinct values"


@dataclass(frozen=True)
class StaticI(Method):
    """Mondrian, from the start each time and without memory: the baseline for growing tables."""

    l: int  # noqa: E741  (the papers' letter)
    """Every group has at least l distinct sensitive values. This does not bound a probability by 1/l."""

    name: ClassVar[str] = "StaticI"
    words: ClassVar[str] = "a baseline: the whole table is grouped again each time; protects each release alone"
    protects_series: ClassVar[bool] = False
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=2)
        validation.finish()

    @property
    def minimal_recoding(self) -> Recoding | None:
        """As Mondrian's."""
        return "global"

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """l distinct values in every group of each release alone; no bound of 1/l on a probability."""
        return (Promise("distinct-l-diversity", {"l": self.l}),)

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Protected sets are not looked at."""
        return nothing_for_protected_sets(self.name, schema)

    def warnings(self) -> tuple[str, ...]:
        """Releases are not made for being compared."""
        return (
            "Each release is made without regard to the ones before: comparing releases can leave somebody with fewer "
            "than l values, or with one.",
            COUNTS_ONLY,
        )

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Cut the whole table; what was published before does not matter."""
        return Mondrian(l=self.l).group(snapshot, delta, {}, rng)


@dataclass(frozen=True)
class StaticII(Method):
    """Group the new records among themselves and append them; the groups of before stay as they are for ever."""

    l: int  # noqa: E741  (the papers' letter)
    """Every group has at least l distinct sensitive values, also when releases are compared. This does not bound a
    probability by 1/l."""

    name: ClassVar[str] = "StaticII"
    words: ClassVar[str] = "a baseline for tables that only grow: new people get groups of their own"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=False, changes=False, returns=False)

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=2)
        validation.finish()

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """l distinct values in every group and in whatever two releases show together; no bound of 1/l."""
        return Promise("distinct-l-diversity", {"l": self.l}), Promise("inference-freedom", {"l": self.l})

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Protected sets are not looked at."""
        return nothing_for_protected_sets(self.name, schema)

    def warnings(self) -> tuple[str, ...]:
        """What the promises do not cover."""
        return (
            COUNTS_ONLY,
            "Nothing is promised against somebody who knows people's values, or who knows the method and who waits to "
            "be published: those who wait have fewer than l values together.",
        )

    def remarks(self, form: str) -> tuple[str, ...]:
        """What it costs."""
        return (
            "new records are grouped among themselves, and groups never gain from later records: small additions give "
            "coarse groups that stay coarse",
        )

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Leave the groups of before, and cut the new records as a table of their own."""
        group = _classes(snapshot, memory)
        count = int(group.max(initial=HELD_BACK)) + 1
        new = group == HELD_BACK
        fits = new.copy()
        fits[new] = self._diverse(_part(snapshot, new))
        if fits.any():
            among_new, _ = Mondrian(l=self.l).group(_part(snapshot, fits), delta, {}, rng)
            group[fits] = count + among_new.group
            count += among_new.count
        elif not count:
            raise Infeasible(
                f"Nobody can be published: {count_of(len(snapshot), 'row')} would all wait for more distinct values; "
                f"l = {self.l} needs at least {self.l}.",
                hint="lower l, or publish when there are more values.",
            )
        waiting = np.flatnonzero(group == HELD_BACK)
        held_back = {WAITING: waiting} if waiting.size else {}
        grown = _grown(memory, snapshot.people[fits], group[fits]) if fits.any() else KEPT
        return Grouping(group.astype(np.int32), count, held_back=held_back), {CLASSES: grown}

    def _diverse(self, new: Snapshot) -> Bools:
        """For each new row whether those with whom it may be grouped have at least l distinct values."""
        stratum = strata(new)
        size = int(new.values.codes.max(initial=0)) + 1
        pairs = np.unique(stratum * size + new.values.codes)
        enough: Bools = np.bincount(pairs // size) >= self.l
        return enough[stratum]


def _part(snapshot: Snapshot, rows: Bools) -> Snapshot:
    """The snapshot with these rows only."""
    if rows.all():
        return snapshot
    others = {"others": np.flatnonzero(~rows)}
    part, _ = shown(snapshot, Grouping(np.where(rows, 0, HELD_BACK).astype(np.int32), 1, held_back=others))
    return part


def _classes(snapshot: Snapshot, memory: Memory) -> Ints:
    """For each row the class its person was published in; -1 for those never published."""
    if CLASSES not in memory:
        return np.full(len(snapshot), HELD_BACK, dtype=np.int64)
    people, classes = (memory[CLASSES][name].to_numpy().astype(np.int64) for name in ("person", "class"))
    order = ascending(people)
    found = np.append(classes[order], HELD_BACK)[places(people[order], snapshot.people)]  # nowhere is the last place
    if np.count_nonzero(found != HELD_BACK) != people.size:
        raise InternalError("people who were published are missing from a table that only grows")
    return found


def _grown(memory: Memory, people: Ints, classes: Ints) -> pl.DataFrame:
    """Who is in which class, the new people after those of before."""
    order = np.argsort(people)
    new = pl.DataFrame({"person": people[order].astype(np.uint32), "class": classes[order].astype(np.uint32)})
    return pl.concat([memory[CLASSES], new]) if CLASSES in memory else new
