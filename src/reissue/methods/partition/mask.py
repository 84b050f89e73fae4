"""Mask: k-anonymity first, then repair in disguise (Wong, Fu, Wang & Pei, VLDB 2007, Algorithm 1).

Guarantee: every group has at least k people; of each at most 1 in l has a value of any protected set; and nobody who
argues from "no more was generalised than needed" is more than 1/l sure of a protected set for anybody, since people are
grouped without a look at their values.

What it does not protect against: anything that needs more than one release; what is learnt about values outside the
protected sets. With draw="reference", the paper's own setting, somebody who knows Mask is more than 1/l sure where a
class shows a share near 1/l: about 1 in l of such classes was repaired, and had more. (Theorem 3 of the paper does not
hold against him.) With draw="binomial" he is not: see below.

| paper                        | here                                                                            |
|------------------------------|---------------------------------------------------------------------------------|
| step 1, k-anonymity          | `k_anonymous`: values are not looked at                                         |
| V, the violating QID-EC's    | groups in which a protected set has more than 1 in l                            |
| L, the reference set         | the (l - 1)|V| other groups with the largest shares of the set                  |
| D, step 3                    | the shares of L, each group's once                                              |
| step 4, distortion           | a share drawn from D for each group of V, rounded down to whole people; which    |
|                              | ones keep their value is drawn, the others get values of the table outside all sets |
| two tables                   | the policy's form "anatomised"                                                  |

draw="binomial" draws the number y that a violating group of n people shows from the weights
C(n, y) (1/l)^y (1 - 1/l)^(n-y) (n/l - y), for y below n/l, instead of from L. Then somebody to whom the people of a
group are independent and alike beforehand, each in the protected set with a probability of at most 1/l, is at most 1/l
sure afterwards, though he knows Mask, l and the groups: among groups of n that show y, those that were repaired weigh
so little, for every y, that what they had is made up for by the slack n/l - y of those that show what they have. (That
tables with more than 1 in l overall are refused only helps: it makes large numbers less likely, whatever is shown.)
That is about how many of a group show the set. Which values are put in place of others follows the table; where values
are rare they stand out, since they repeat what stands elsewhere, and somebody who looks at that can be surer: a note
warns of it. One protected set; with several, each by itself, for somebody who does not look at the others.

Decided where the paper is silent: fewer than (l - 1)|V| satisfying groups: all of them are L, and a note says so; none
at all: refused. Several sets are repaired one after the other, from V and L as they were in the true table; sets that
overlap may end below the share that was drawn. No value outside all sets: refused, there is nothing to put in place.

Cost: O(n d log n) for the groups, one pass over the rows for each protected set.

The first step tries Mondrian's cuts and top-down recoding along taxonomies, and takes the groups that lose less
information (Wong's measure): cuts at medians suit numbers, taxonomies are cut better where small branches stay behind
alone. Either way no group is larger than k asks, and nothing depends on anybody's value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Ints
from reissue.errors import Infeasible, count_of
from reissue.methods.base import Method, Takes
from reissue.model.grouping import Changed, Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.snapshot import Delta, Labels, Snapshot

if TYPE_CHECKING:
    from reissue.model.knowledge import Recoding
    from reissue.model.schema import Schema
from dataclasses import replace

from reissue.methods.partition.alpha_k import AlphaK
from reissue.methods.partition.mondrian import Mondrian
from reissue.model.snapshot import Column
from reissue.utility.extents import Extents
from reissue.utility.loss import distortion_of

DRAWS = ("reference", "binomial")
RARE, MANY_RARE = 20, 0.05
"""Values that fewer people share are rare; from this share of rare ones on, the publisher is told."""
UNTOUCHED = -1
"""In place of the number of rows that keep their value: the group is not repaired."""


@dataclass(frozen=True)
class Mask(Method):
    """Group people by k alone; where a protected set is too frequent in a group, replace some of its values."""

    k: int
    """Every group has at least k people."""
    l: int  # noqa: E741  (the papers' letter)
    """In every group at most 1 in l has a value of a protected set."""
    draw: Literal["reference", "binomial"] = "reference"
    """Where the share that a repaired group shows comes from: groups that need no repair, as in the paper, or a
    distribution that leaves nobody more than 1/l sure, not even who knows Mask."""

    name: ClassVar[str] = "Mask"
    words: ClassVar[str] = (
        "groups by k alone, then replaces sensitive values where there are too many; protects each release alone"
    )
    protects_series: ClassVar[bool] = False
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("k", least=1)
        validation.whole("l", least=2)
        validation.one_of("draw", DRAWS)
        validation.finish()

    @property
    def minimal_recoding(self) -> Recoding | None:
        """Groups are no larger than k asks, so there is always a class that k alone explains."""
        return "local"

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """k-anonymity, l-diversity of every protected set, and m-confidentiality with m = l."""
        return (
            *([Promise("k-anonymity", {"k": self.k})] if self.k > 1 else []),
            Promise("share-l-diversity", {"l": self.l, "protect": schema.protect}),
            Promise("m-confidentiality", {"m": self.l, "k": self.k, "protect": schema.protect}),
        )

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Without protected sets there is nothing that could be put in place of a value."""
        if schema.protect:
            return []
        return ["Mask needs to know which values to protect: declare them in 'protect', and leave others outside"]

    def warnings(self) -> tuple[str, ...]:
        """Some values are not true; and against whom 1/l is not kept."""
        untrue = "Some sensitive values may have been replaced by others, which are not marked."
        if self.draw == "binomial":
            return (untrue,)
        return (
            untrue,
            f"1/{self.l} is kept against the minimality principle, not against somebody who knows how Mask repairs.",
        )

    def remarks(self, form: str) -> tuple[str, ...]:
        """What to choose instead."""
        if self.draw == "binomial":
            return ()
        return ('draw = "binomial" keeps 1/l against somebody who knows Mask too',)

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Group by k, then repair set after set."""
        groups = k_anonymous(snapshot, self.k, delta, memory, rng)
        group, count, sizes = groups.group, groups.count, groups.sizes()
        sets = _protected(snapshot)
        codes, notes = snapshot.values.codes.copy(), list[str]()
        free = ~np.logical_or.reduce(sets)
        spare = np.bincount(codes, minlength=free.size) * free
        for inside in sets:
            held = np.bincount(group[inside[snapshot.values.codes]], minlength=count)
            violating = np.flatnonzero(held * self.l > sizes)
            if not violating.size:
                continue
            if not spare.any():
                raise Infeasible(
                    f"{count_of(violating.size, 'group')} of {count:,} must be repaired, and every value of the table "
                    "is in a protected set: there is nothing to put in place.",
                    hint="take values out of 'protect', or choose a larger k.",
                )
            if self.draw == "binomial":
                shown = np.array([self._binomial(int(n), rng) for n in sizes[violating]], dtype=np.int64)
            else:
                shown, note = self._from_reference(held, sizes, violating, rng)
                notes += [note] if note else []
            keep = np.full(count, UNTOUCHED, dtype=np.int64)
            keep[violating] = shown
            rows = _to_replace(snapshot, group, np.flatnonzero(inside[codes]), keep, rng)
            codes[rows] = rng.choice(spare.size, rows.size, p=spare / spare.sum())
        rows = np.flatnonzero(codes != snapshot.values.codes)
        rare = int(spare[spare < RARE].sum())
        if rows.size and rare > MANY_RARE * spare.sum():
            notes.append(
                f"{rare / spare.sum():.0%} of the values outside the protected sets are shared by fewer than {RARE} "
                "people: what is put in place of others can be told by that; coarser values help"
            )
        changed = Changed(rows, codes[rows]) if rows.size else None
        return Grouping(group, count, changed=changed, notes=tuple(notes)), {}

    def _from_reference(
        self, held: Ints, sizes: Ints, violating: Ints, rng: np.random.Generator
    ) -> tuple[Ints, str | None]:
        """Steps 2 to 4 of the paper: how many people of each violating group keep a value of the set."""
        satisfying = np.flatnonzero(held * self.l <= sizes)
        wanted = (self.l - 1) * violating.size
        if not satisfying.size:
            raise Infeasible(
                f"All {count_of(held.size, 'group')} must be repaired: there is none that shows what they should look "
                "like.",
                hint='choose a larger k, a smaller l, or draw = "binomial", which needs no such groups.',
            )
        by_share = satisfying[np.argsort(-(held[satisfying] / sizes[satisfying]), kind="stable")]
        reference = by_share[:wanted]
        drawn = reference[rng.integers(reference.size, size=violating.size)]
        shown = held[drawn] * sizes[violating] // sizes[drawn]
        if reference.size == wanted:
            return shown, None
        return shown, (
            f"{count_of(violating.size, 'group')} repaired, and only {count_of(reference.size, 'other group')} to "
            f"disguise them, where {wanted:,} are wanted: somebody who knows Mask is surer than usual; a larger k helps"
        )

    def _binomial(self, size: int, rng: np.random.Generator) -> int:
        """How many of a violating group of this size keep a value of the set."""
        y = np.arange(-(-size // self.l))
        logs = np.concatenate([[0.0], np.cumsum(np.log((size - y[:-1]) / (y[:-1] + 1) / (self.l - 1)))])
        weights = np.exp(logs - logs.max()) * (size - self.l * y)
        return int(rng.choice(y.size, p=weights / weights.sum()))


def _protected(snapshot: Snapshot) -> list[Bools]:
    """For each protected set which codes are in it."""
    levels = snapshot.values.levels
    labels = levels.labels if isinstance(levels, Labels) else ()
    return [np.array([label in values for label in labels], dtype=np.bool_) for values in snapshot.schema.protect]


def _to_replace(
    snapshot: Snapshot, group: npt.NDArray[np.int32], rows: Ints, keep: Ints, rng: np.random.Generator
) -> Ints:
    """Of the rows with a value of the set those beyond the number that each group keeps, drawn uniformly."""
    rows = rows[keep[group[rows]] != UNTOUCHED]
    # The draw must not depend on the order of the input: a canonical order first.
    keys = (snapshot.values.codes[rows], *(column.codes[rows] for column in snapshot.quasi), group[rows])
    rows = rows[np.lexsort(keys)]
    rows = rows[np.lexsort((rng.random(rows.size), group[rows]))]
    of = group[rows]
    first = np.searchsorted(of, of)
    replaced: Ints = rows[np.arange(rows.size) - first >= keep[of]]
    return replaced


NOTHING = Labels(("",))


def k_anonymous(snapshot: Snapshot, k: int, delta: Delta, memory: Memory, rng: np.random.Generator) -> Grouping:
    """Groups of at least k people, by quasi-identifiers alone."""
    order = _canonical(snapshot)
    blind = _without_values(snapshot, order)
    # For k = 1 everybody is published as they are; Mondrian has nothing to ask then.
    methods = (*([Mondrian(k)] if k > 1 else []), AlphaK(1, k))
    found = [method.group(blind, delta, memory, rng)[0] for method in methods]
    best = min(found, key=lambda grouping: distortion_of(Extents.of(blind.quasi, grouping, None), None))
    group = np.empty_like(best.group)
    group[order] = best.group
    return Grouping(group, best.count)


def _canonical(snapshot: Snapshot) -> Ints:
    """Rows in an order that does not depend on the table's; of rows that are alike, which goes where is drawn."""
    columns = (*snapshot.as_is, *snapshot.quasi)
    order: Ints = np.lexsort((snapshot.values.codes, *(column.codes for column in columns)))
    return order


def _without_values(snapshot: Snapshot, order: Ints) -> Snapshot:
    def ordered(column: Column) -> Column:
        return replace(column, codes=column.codes[order])

    return replace(
        snapshot,
        people=snapshot.people[order],
        quasi=tuple(map(ordered, snapshot.quasi)),
        as_is=tuple(map(ordered, snapshot.as_is)),
        values=Column(snapshot.values.name, np.zeros(len(snapshot), dtype=np.uint8), NOTHING),
    )
