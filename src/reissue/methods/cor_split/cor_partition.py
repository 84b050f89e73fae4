"""Cor-Partition: buckets into groups that give no small historical correlation (Riboni & Bettini 2009, section 4.2).

A group is *hc-safe with degree n* when no earlier group holds more of its tuples than all but n, unless it holds all
of them (Figure 6). Then two groups that are compared leave at least n people on either side.

Buckets are first split as m-invariance splits them. A group that is not safe exchanges a tuple or two with neighbours,
each for one of the same value, where that makes both safe and widens them least. Where that does not help, it and its
neighbours are grouped again by Figure 5, and what finds no safe group there meets what was left over elsewhere in the
bucket, in larger and larger parts of it. So groups are as narrow as those of m-invariance, which Figure 5 alone does
not reach. It makes one group after the other: along every attribute the first tuple of each value; tuples of an earlier
group that has too many of them are discarded for the time being, at random; of the safe candidates the narrowest is
taken, the one with the smallest semiperimeter.

What is left of a whole bucket is merged, with a group made before or among itself, so that values occur several times;
and if nothing else helps counterfeits take the place of some of its tuples.

Differs from Figure 5. Tuples replaced by counterfeits stay in the bucket, as there, and unbalance it: what values are
then missing, counterfeits bring as well. Each round places at least one tuple: a group of one tuple and counterfeits is
safe, or, where n is the size of the signature, one of twice as many. So nobody is held back. Only tuples of the earlier
group that is too much alike are discarded. A counterfeit made here takes the cells of a row of another bucket that lies
near, so that it does not widen the group much.

Cost: O(n d^2 log h) for splitting; checks look at the earlier groups of a group's tuples and at nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reissue.arrays.cores import PARALLEL_FROM, cores
from reissue.arrays.runs import owners
from reissue.arrays.types import Ints, Words
from reissue.methods.invariance.invariance import Settled, SplitRows
from reissue.methods.invariance.splitting import Cells
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.reasoning.history.group_histories import MADE_UP, GroupHistories, Groups

if TYPE_CHECKING:
    from reissue.kernels.halving import Lines

Degree = Callable[[int], int]
"""The n that a signature of so many values needs."""

DONORS = 32
"""Of so many rows drawn from other buckets the nearest lends a counterfeit its cells."""
WORDS, MOST_WORDS = 8, 4096
"""So many random words are drawn at first for each row of a bucket, and for all of them together."""


def cor_partition(settled: Settled, histories: GroupHistories, degree: Degree) -> tuple[Settled, Grouping]:
    """Phase four: the release with the counterfeits it took, and groups hc-safe with the degree of their signature."""
    parts = settled.parts()
    arranged = _Arranged.of(parts)
    people = parts.people[arranged.order]
    starts, past = histories.of(np.where(people < 0, MADE_UP - people, people))
    if not past.size:
        return settled, settled.grouped(parts.group, parts.groups)
    sizes, which = np.unique(arranged.values, return_inverse=True)
    degrees = np.array([degree(values) for values in sizes.tolist()], dtype=np.int64)[which]
    cells = parts.cells.take(arranged.order, axis=0)
    group, wanted = _partitioned(arranged, degrees, settled.round.rng, cells, parts.lines, starts, past)
    settled = _with_counterfeits(settled, parts, arranged, cells, group, wanted)
    of_rows = np.empty_like(group)
    of_rows[arranged.order] = group
    # So far groups are numbered within buckets, with gaps.
    numbers = np.concatenate([of_rows, arranged.first[wanted[0]] + wanted[2]])
    used = np.zeros(int(numbers.max()) + 1, dtype=np.bool_)
    used[numbers] = True
    return settled, settled.grouped((np.cumsum(used) - 1)[numbers], int(used.sum()))


class _Arranged(NamedTuple):
    """Rows bucket after bucket, in a bucket group after group, in a group value after value."""

    order: Ints
    """The row at each place."""
    base: Ints
    """The first place of each bucket."""
    values: Ints
    """How many values each has."""
    height: Ints
    """How many groups each was split into."""

    @property
    def first(self) -> Ints:
        """A number for the first group of each bucket: there can be as many as it came with and one for each row."""
        room = (self.values + 1) * self.height
        first: Ints = np.cumsum(room) - room
        return first

    @classmethod
    def of(cls, parts: SplitRows) -> _Arranged:
        bucket = parts.bucket.astype(np.int64)
        codes, buckets = int(parts.value.max(initial=0)) + 1, int(bucket.max(initial=-1)) + 1
        cell = bucket * codes + parts.value
        there = np.zeros((buckets, codes), dtype=np.int64)
        there.ravel()[cell] = 1
        values = there.sum(axis=1)
        height = np.bincount(bucket, minlength=buckets) // np.maximum(values, 1)
        base = np.cumsum(values * height) - values * height
        # Groups are numbered bucket after bucket, so a group's number tells where its rows stand.
        first = base - (np.cumsum(height) - height) * values
        place = np.cumsum(there, axis=1) - 1 + first[:, None]
        order = np.empty(bucket.size, dtype=np.int64)
        order[place.ravel()[cell] + parts.group * values[bucket]] = np.arange(bucket.size)
        return cls(order, base, values, height)


def _partitioned(
    arranged: _Arranged, degree: Ints, rng: np.random.Generator, cells: Cells, lines: Lines, starts: Ints, past: Groups
) -> tuple[Ints, Ints]:
    """The group of each place, numbered from the first of its bucket, and the counterfeits: bucket, value, group."""
    from reissue.kernels.safe_partition import Buckets, partition

    sizes = arranged.values * arranged.height
    group = np.empty(arranged.order.size, dtype=np.int64)
    asked = np.zeros_like(sizes)
    draws = _Draws.for_rows(sizes, rng)

    def some(which: Ints) -> Ints:
        columns = (arranged.base, arranged.values, arranged.height, degree, draws.first, draws.end)
        chosen = Buckets(*(column[which] for column in columns))
        wanted: Ints
        wanted, asked[which] = partition(chosen, draws.words, cells, lines, starts, past, group)
        wanted[0] = which[wanted[0]]
        return wanted

    workers = cores()
    hands = 1 if workers == 1 or arranged.order.size < PARALLEL_FROM else 4 * workers
    todo, parts = np.argsort(-sizes, kind="stable"), list[Ints]()  # the largest first
    with ThreadPoolExecutor(min(hands, workers)) as pool:
        while todo.size:
            parts += pool.map(some, [todo[hand::hands] for hand in range(min(hands, todo.size))])
            todo = draws.short(asked)
            draws = draws.longer(todo, asked[todo], rng)
    # What is drawn for them must not depend on how many hands there were.
    wanted = np.concatenate(parts, axis=1)
    wanted = wanted[:, np.lexsort((wanted[1], wanted[2], wanted[0]))]
    return group + arranged.first[owners(sizes)], wanted


class _Draws(NamedTuple):
    """Random words for every bucket, drawn beforehand: compiled loops on several cores cannot share a generator."""

    words: Words
    first: Ints
    """For each bucket where its words begin."""
    end: Ints

    @classmethod
    def for_rows(cls, sizes: Ints, rng: np.random.Generator) -> _Draws:
        """Words for buckets of so many rows: large ones mostly need few, small ones several for each row."""
        needed = np.minimum(WORDS * sizes, MOST_WORDS)
        end = np.cumsum(needed)
        words = rng.integers(2**64, size=int(needed.sum()), dtype=np.uint64)
        return cls(words, end - needed, end)

    def short(self, asked: Ints) -> Ints:
        """The buckets that asked for more words than they have, in the order of their numbers."""
        return np.flatnonzero(asked > self.end - self.first)

    def longer(self, which: Ints, asked: Ints, rng: np.random.Generator) -> _Draws:
        """More words for some buckets, twice as many as were asked for, and none for others.

        A bucket keeps those it has: were they all drawn again, what takes many words would happen less often.
        """
        first, end = self.first.copy(), self.end.copy()
        end[which] = np.cumsum(2 * asked)
        first[which] = end[which] - 2 * asked
        words = rng.integers(2**64, size=int(2 * asked.sum()), dtype=np.uint64)
        for bucket in which.tolist():
            own = self.words[self.first[bucket] : self.end[bucket]]
            words[first[bucket] : first[bucket] + own.size] = own
        return _Draws(words, first, end)


def _with_counterfeits(
    settled: Settled, parts: SplitRows, arranged: _Arranged, arranged_cells: Cells, group: Ints, wanted: Ints
) -> Settled:
    """With the counterfeits that the groups of some buckets lack; each gets the cells of a row that lies near."""
    bucket, rank, number = wanted
    if not bucket.size:
        return settled
    release = settled.round
    published = np.flatnonzero(settled.signature != HELD_BACK)
    signatures = np.flatnonzero(np.bincount(settled.signature[published]))
    place = np.empty(bucket.size, dtype=np.int64)
    for which in np.unique(bucket).tolist():
        # Values stand in the order of their codes here, and in the signature in one of its own.
        own = np.argsort(release.signatures.order(int(signatures[which])), kind="stable")
        place[bucket == which] = own[rank[bucket == which]]
    least, most = _boxes(arranged_cells, group, arranged.first[bucket] + number)
    donors = release.rng.integers(published.size, size=(bucket.size, DONORS))
    cells = parts.cells[donors].astype(np.int64)  # people stand before counterfeits, in the order of the snapshot
    wider = np.zeros(donors.shape)
    for attribute, start in enumerate(parts.lines.start[:-1].tolist()):
        position = parts.lines.position[start:] * parts.lines.scale[attribute]
        code, low, high = cells[:, :, attribute], least[:, attribute, None], most[:, attribute, None]
        wider += position[np.maximum(code, high)] - position[np.minimum(code, low)]
    # Beside a copy of itself a row could come to stand in a group whose region is a single point.
    wider[parts.bucket[donors] == bucket[:, None]] += 2 * parts.lines.scale.size
    nearest = donors[np.arange(bucket.size), np.argmin(wider, axis=1)]
    return settled.with_made(signatures[bucket], place, published[nearest])


def _boxes(cells: Cells, group: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """The lowest and the highest place along each attribute of the rows of these groups."""
    numbers, which = np.unique(wanted, return_inverse=True)
    at = np.full(max(int(numbers.max(initial=0)), int(group.max(initial=0))) + 1, -1, dtype=np.int64)
    at[numbers] = np.arange(numbers.size)
    rows = np.flatnonzero(at[group] >= 0)
    place = at[group[rows]]
    rows = rows[np.argsort(place, kind="stable")]
    starts = np.searchsorted(np.sort(place), np.arange(numbers.size))
    some = cells[rows].astype(np.int64)
    return np.minimum.reduceat(some, starts)[which], np.maximum.reduceat(some, starts)[which]
