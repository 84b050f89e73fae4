"""What is possible: for everybody the values that he can have in some world, as far as it can be proven otherwise.

A world gives every member of a series one value, the same in all releases, so that every group of every release
has exactly the values published for it. Members with the same trajectory are interchangeable: they form a class,
and a world says how many of the class have each value. Here are bounds on these numbers that hold in every world.

How: a group is a transportation problem between its classes and its values. Its solutions narrow the bounds of its
classes, which narrows their other groups, until nothing changes.
- All groups: each bound from the others of its class, and of its value in the group.
- Up to `LARGEST` rows times columns: whatever cannot change is fixed, and an impossible group is recognised. So the
  bounds of classes of one are as tight as one group by itself can make them.
- Up to 4,096 rows times columns: the same for classes of several people.
Groups are taken one at a time, so what only several of them say together can stay unseen: the bounds are sound, and
tight for a single release, but not always for a series (deciding that is NP-hard).

Differences: where groups of one release lie wholly inside a group of another, the rest of that is a group too, whose
values are those left over; and so are the differences of differences. They are found first, and added until there
are no more, or as many memberships as the series has have been added, or `GENERATIONS` are over. A group that was
taken to pieces says nothing that its pieces do not say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.budget import ends_after, passed, spend
from reissue.arrays.runs import entries_of, owners, starts_of
from reissue.arrays.types import Bools, Codes, Ints
from reissue.errors import ParameterError, count_of
from reissue.kernels import transport
from reissue.reasoning.history.trajectories import Trajectories

Progress = Callable[[str], None]

SMALL = 1_024
LARGEST = 2**18
"""Groups with at most so many classes times values are solved, the small ones first."""
BATCH = 10_000_000
"""So many cells are looked at between two looks at the clock."""
CELL = 0.01
"""How many steps a cell takes."""
MEMBER = 0.4
"""How many it takes to find the differences of groups, for each of their members."""
GENERATIONS = 8
"""So often differences are taken of what there is, those taken before included."""
AT_ONCE = 1_000_000
"""About so many pairs are looked at together."""
PAIRS = 20_000_000
"""Differences are not taken where more memberships, or chains of groups inside one another, had to be looked at."""


@dataclass(frozen=True, repr=False)
class Possible:
    """For each trajectory the values that are not proven impossible, with bounds on how many members have them."""

    starts: Ints
    """Where each trajectory begins in the arrays that follow."""
    values: Ints
    """Positions in `Published.values`, ascending in a trajectory."""
    low: Ints
    """How many members of the trajectory have the value at least, in every world."""
    high: Ints
    """How many at most; 1 or more."""
    contradictory: bool
    """No world agrees with the releases: proven. The bounds say nothing then."""
    complete: bool
    """Whether the narrowing came to its end before the time did."""
    rounds: int
    """How often the groups that had changed were gone through."""

    def __repr__(self) -> str:
        state = "contradictory" if self.contradictory else "complete" if self.complete else "out of time"
        return f"Possible({self.starts.size - 1:,} trajectories, {self.values.size:,} values, {state})"


def possible(
    ways: Trajectories,
    *,
    barred: tuple[Ints, Ints] | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Possible:
    """Bound how many members of each trajectory have each value.

    `ways` are those of a view with `single=True` in which all members are known (`published.exact`). `barred` are
    trajectories, and with each a value that none of its members has. After `seconds` the narrowing ends with what it
    has. `progress` is called with what is being done.
    """
    if seconds is not None and not seconds >= 0:
        raise ParameterError(
            f"The 'seconds' parameter of possible must be a number of at least 0, or None. Got {seconds} instead."
        )
    deadline = ends_after(seconds)
    tell = progress or (lambda what: None)
    tell("Possible values: differences of groups")
    family = _with_differences(_Family.of(ways), deadline)
    narrowing = _Narrowing(family, ways.people, deadline, barred)
    for limit, what in ((0, "sums"), (SMALL, "small groups"), (LARGEST, "large groups")):
        tell(f"Possible values: {what}")
        narrowing.run(limit)
    return narrowing.result()


@dataclass(frozen=True)
class _Family:
    """Groups: their classes, their values and how often they have them."""

    group_starts: Ints
    classes: Ints
    value_starts: Ints
    values: Ints
    counts: Ints
    layer: Ints
    """Groups of one layer have no member in common."""
    class_count: int
    contradictory: bool = False

    @classmethod
    def of(cls, ways: Trajectories) -> _Family:
        """The groups as they were published."""
        of_step = owners(np.diff(ways.starts))
        order = np.argsort(ways.groups, kind="stable")
        starts = starts_of(np.bincount(ways.groups, minlength=ways.release.size))
        people = starts_of(ways.people[of_step[order]])[starts]
        held = starts_of(ways.counts)[ways.value_starts]
        unequal = int(np.count_nonzero(np.diff(people) != np.diff(held)))
        if unequal:
            raise ParameterError(
                f"{count_of(unequal, 'group')} of {ways.release.size:,} have more or fewer values than members.",
                hint="use a view with single=True in which all members are known.",
            )
        layer = np.unique(ways.release, return_inverse=True)[1]
        return cls(starts, of_step[order], ways.value_starts, ways.values, ways.counts, layer, ways.people.size)

    @property
    def sizes(self) -> Ints:
        """How many classes each group has."""
        return np.diff(self.group_starts)

    def by_class(self) -> tuple[Ints, Ints]:
        """The groups of each class, ascending: where each class begins, and the groups."""
        order = np.argsort(self.classes, kind="stable")
        starts = starts_of(np.bincount(self.classes, minlength=self.class_count))
        return starts, owners(self.sizes)[order]

    def only(self, which: Bools) -> _Family:
        """Some of the groups."""
        chosen = np.flatnonzero(which)
        entries, values = entries_of(self.group_starts, chosen), entries_of(self.value_starts, chosen)
        return replace(
            self,
            group_starts=starts_of(self.sizes[chosen]),
            classes=self.classes[entries],
            value_starts=starts_of(np.diff(self.value_starts)[chosen]),
            values=self.values[values],
            counts=self.counts[values],
            layer=self.layer[chosen],
        )

    def joined(self, other: _Family) -> _Family:
        """These groups, and others after them."""
        return replace(
            self,
            group_starts=np.append(self.group_starts, self.classes.size + other.group_starts[1:]),
            classes=np.append(self.classes, other.classes),
            value_starts=np.append(self.value_starts, self.values.size + other.value_starts[1:]),
            values=np.append(self.values, other.values),
            counts=np.append(self.counts, other.counts),
            layer=np.append(self.layer, other.layer),
        )


def _with_differences(family: _Family, deadline: float | None) -> _Family:
    """Add what is left of groups without those inside them; drop the groups that were taken to pieces."""
    family = family.only(family.sizes > 0)
    allowed = family.classes.size
    distinct, whole, fresh = (np.ones(family.layer.size, dtype=bool) for _ in range(3))
    for _ in range(GENERATIONS):
        if passed(deadline, family.classes.size * MEMBER) or not fresh.any():
            break
        pairs = _inside(family, distinct, deadline)
        if pairs is None:
            break
        small, large = pairs
        sizes = family.sizes
        equal = sizes[small] == sizes[large]
        first = small < large
        distinct[large[equal & first]] = False
        kept = np.where(equal, first & fresh[large], distinct[small] & distinct[large])
        inner, outer = (side[kept].astype(np.int64) for side in (small, large))
        close = _closest(inner, outer, family.layer.size) & (fresh[inner] | fresh[outer])
        inner, outer = inner[close], outer[close]
        if not inner.size or family.sizes[inner].sum() + family.sizes[outer].sum() > PAIRS:
            break
        rest, of = _differences(family, inner, outer)
        if rest.contradictory:
            return replace(family, contradictory=True)
        taken = np.zeros(of.size, dtype=bool)
        by_size = np.argsort(rest.sizes, kind="stable")
        taken[by_size[np.cumsum(rest.sizes[by_size]) <= allowed]] = True
        whole[of[taken]] = False
        taken &= rest.sizes > 0
        allowed -= int(rest.sizes[taken].sum())
        added = np.ones(int(np.count_nonzero(taken)), dtype=bool)
        family = family.joined(rest.only(taken))
        distinct, whole = np.append(distinct, added), np.append(whole, added)
        fresh = np.append(np.zeros_like(fresh), added)
    return family.only(whole)


def _inside(family: _Family, distinct: Bools, deadline: float | None) -> tuple[Codes, Codes] | None:
    """All pairs of groups of which one has no classes but those of the other; there may be very many. None where the
    time is over first."""
    starts, groups = family.by_class()
    # Whatever has all classes of a group is among the groups of each of them, so one with few groups is looked at.
    rarity = np.diff(starts)[family.classes] * family.class_count + family.classes
    rarest = (np.minimum.reduceat(rarity, family.group_starts[:-1]) % family.class_count)[distinct]
    known = owners(np.diff(starts)) * family.layer.size + groups
    inner = np.flatnonzero(distinct)
    part = np.cumsum(np.diff(starts)[rarest]) // AT_ONCE
    none = np.zeros(0, dtype=np.int32)
    found = [(none, none)]
    for these in np.split(np.arange(inner.size), np.flatnonzero(np.diff(part)) + 1):
        if passed(deadline, 0):
            return None
        others = groups[entries_of(starts, rarest[these])]
        found += _holding(family, known, np.repeat(inner[these], np.diff(starts)[rarest[these]]), others, distinct)
    return np.concatenate([i for i, _ in found]), np.concatenate([o for _, o in found])


def _holding(family: _Family, known: Ints, inner: Ints, outer: Ints, distinct: Bools) -> list[tuple[Codes, Codes]]:
    """Those of some pairs of which the second has all classes of the first. `known`: classes with their groups."""
    sizes = family.sizes
    first, last = family.classes[family.group_starts[:-1]], family.classes[family.group_starts[1:] - 1]
    fits = (first[outer] <= first[inner]) & (last[outer] >= last[inner]) & (sizes[outer] >= sizes[inner])
    fits &= distinct[outer] & (inner != outer)
    inner, outer = inner[fits], outer[fits]
    found = []
    at = 0
    while inner.size:
        # The classes at the ends are those that most pairs that were let through have in common.
        turn = (sizes[inner] // 2 + at) % sizes[inner]
        key = family.classes[family.group_starts[inner] + turn] * family.layer.size + outer
        place = np.minimum(np.searchsorted(known, key), known.size - 1)
        shared = known[place] == key
        at += 1
        done = shared & (sizes[inner] == at)
        found.append((inner[done].astype(np.int32), outer[done].astype(np.int32)))
        inner, outer = inner[shared & ~done], outer[shared & ~done]
    return found


def _closest(inner: Ints, outer: Ints, group_count: int) -> Bools:
    """Which pairs have no group between them: through one that has, the difference comes about in two steps."""
    order = np.argsort(inner, kind="stable")
    starts = starts_of(np.bincount(inner, minlength=group_count))
    spread = np.diff(starts)
    if spread[outer].sum() > PAIRS:
        return np.ones(inner.size, dtype=bool)
    ends = outer[order]
    keys, place = np.unique(inner * group_count + outer, return_inverse=True)
    passed_by = np.zeros(keys.size, dtype=bool)
    # Part by part, since all ways through another group would take much memory.
    part = np.cumsum(spread[outer]) // AT_ONCE
    for these in np.split(np.arange(inner.size), np.flatnonzero(np.diff(part)) + 1):
        beyond = ends[entries_of(starts, outer[these])]
        through = np.repeat(inner[these], spread[outer[these]]) * group_count + beyond
        at = np.minimum(np.searchsorted(keys, through), keys.size - 1)
        passed_by[at[keys[at] == through]] = True
    return ~passed_by[place]


def _differences(family: _Family, inner: Ints, outer: Ints) -> tuple[_Family, Ints]:
    """Each outer group without all of its inner groups of one layer, and which outer group that was."""
    layers = int(family.layer.max()) + 1
    unit, number = np.unique(outer * layers + family.layer[inner], return_inverse=True)
    of = unit // layers
    width = int(family.values.max()) + 1

    count = family.class_count
    ours = owners(family.sizes[of]) * count + family.classes[entries_of(family.group_starts, of)]
    gone = np.repeat(number, family.sizes[inner]) * count + family.classes[entries_of(family.group_starts, inner)]
    left = np.setdiff1d(ours, gone, assume_unique=True)

    spread = np.diff(family.value_starts)
    had, went = entries_of(family.value_starts, of), entries_of(family.value_starts, inner)
    keys = np.append(
        owners(spread[of]) * width + family.values[had],
        np.repeat(number, spread[inner]) * width + family.values[went],
    )
    keys, place = np.unique(keys, return_inverse=True)
    counts = np.zeros(keys.size, dtype=np.int64)
    np.add.at(counts, place, np.append(family.counts[had], -family.counts[went]))
    stays = counts > 0
    return (
        replace(
            family,
            group_starts=starts_of(np.bincount(left // count, minlength=of.size)),
            classes=left % count,
            value_starts=starts_of(np.bincount(keys[stays] // width, minlength=of.size)),
            values=keys[stays] % width,
            counts=counts[stays],
            layer=layers + np.unique(family.layer[of] * layers + unit % layers, return_inverse=True)[1],
            contradictory=bool((counts < 0).any()),
        ),
        of,
    )


class _Narrowing:
    """Brings the bounds of all cells together, a cell being a class and a value."""

    def __init__(
        self, family: _Family, people: Ints, deadline: float | None, barred: tuple[Ints, Ints] | None = None
    ) -> None:
        small = np.int32
        starts, of_class = family.by_class()
        self.groups = transport.Groups(
            people.astype(small), starts, of_class.astype(small), family.group_starts, family.classes.astype(small),
            family.value_starts, family.values.astype(small), family.counts.astype(small),
        )  # fmt: skip
        self.size = family.sizes * np.diff(family.value_starts)
        self.cells = self._first_cells()
        if barred is not None:
            self._bar(*barred)
        self.work = self._work()
        self.waiting = np.zeros(self.size.size, dtype=bool)
        self.following = np.zeros(self.size.size, dtype=np.int64)
        self.deadline = deadline
        self.contradictory = family.contradictory
        self.complete = True
        self.rounds = 0

    def _first_cells(self) -> transport.Cells:
        """The values of one group of each class, one that has few; the other groups will cross out theirs."""
        groups = self.groups
        if not groups.people.size:
            none = np.zeros(0, dtype=np.int32)
            return transport.Cells(np.zeros(1, dtype=np.int64), none, none.copy(), none.copy())
        spread = np.diff(groups.value_starts)
        order = spread[groups.class_groups] * self.size.size + groups.class_groups
        chosen = np.minimum.reduceat(order, groups.class_starts[:-1]) % self.size.size
        entries = entries_of(groups.value_starts, chosen)
        high = np.minimum(groups.counts[entries], np.repeat(groups.people, spread[chosen]))
        return transport.Cells(starts_of(spread[chosen]), groups.values[entries], np.zeros_like(high), high)

    def _bar(self, classes: Ints, values: Ints) -> None:
        """Nobody of these classes has the value beside it."""
        width = int(max(self.cells.values.max(initial=0), values.max(initial=0))) + 1
        of_class = owners(np.diff(self.cells.starts))
        self.cells.high[np.isin(of_class * width + self.cells.values, classes * width + values)] = 0

    def _work(self) -> transport.Work:
        groups, long, small = self.groups, np.int64, np.int32
        rows = int(np.diff(groups.group_starts).max(initial=0))
        columns = int(np.diff(groups.value_starts).max(initial=0))
        both = min(int(self.size.max(initial=0)), LARGEST)
        classes = groups.people.size
        return transport.Work(
            column=np.full(int(groups.values.max(initial=0)) + 1, -1, small),
            touched=np.zeros(classes, small),
            is_touched=np.zeros(classes, bool),
            tally=np.zeros(3, long),
            sums=np.zeros((2, columns), long),
            local=np.zeros(columns, small),
            row_class=np.zeros(rows, small),
            need=np.zeros(rows, long),
            take=np.zeros(columns, long),
            nodes=np.zeros((7, rows + columns), long),
            place=np.zeros(both, long),
            room=np.zeros(both, small),
            sent=np.zeros((3, both), small),
        )

    def run(self, limit: int) -> None:
        """Narrow until nothing changes, solving the groups that have up to `limit` cells."""
        before = 0 if limit <= SMALL else SMALL
        listed = np.flatnonzero((self.size > before) & (self.size <= (limit or self.size.max(initial=0))))
        self.waiting[listed] = True
        while listed.size and self.complete and not self.contradictory:
            self.rounds += 1
            at, count = 0, 0
            while at < listed.size and not self.contradictory:
                if passed(self.deadline):
                    self.complete = False
                    return
                at, count, consistent = self._sweep(limit, listed, at, count)
                spend(self.work.tally[1] * CELL)
                self.contradictory = not consistent
            listed = np.sort(self.following[:count])
        self.cells = self._still_possible()

    def _sweep(self, limit: int, listed: Ints, at: int, count: int) -> tuple[int, int, bool]:
        found: tuple[int, int, bool] = transport.sweep(
            self.groups, self.cells, self.work, limit, BATCH, listed, at, self.following, count, self.waiting
        )
        return found

    def _still_possible(self) -> transport.Cells:
        starts, values, low, high = self.cells
        kept = high > 0
        return transport.Cells(
            np.append(0, np.cumsum(kept))[np.append(0, starts[1:])], values[kept], low[kept], high[kept]
        )

    def result(self) -> Possible:
        """What was found, in whole numbers of the usual width."""
        starts, values, low, high = (part.astype(np.int64) for part in self._still_possible())
        order = np.lexsort((values, owners(np.diff(starts))))
        return Possible(starts, values[order], low[order], high[order], self.contradictory, self.complete, self.rounds)
