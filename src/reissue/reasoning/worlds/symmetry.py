"""Which values can be exchanged for each other without anybody noticing.

Groups that share people hang together; parts that do not hang together say nothing about each other. Let every
group of a part publish two values equally often (or neither). Then exchanging the two throughout the part turns
every possible world into another one, so they are equally likely for each of its people. Values of one such
*class* of size s have at most the probability 1/s each, and exactly that where all values of the part are in one
class: this is why m-invariance gives 1/m, and it is seen in one pass over the counts, without any search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.dense import numbered
from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Floats, Ints
from reissue.kernels import components
from reissue.model.published import Published


@dataclass(frozen=True, repr=False)
class Symmetry:
    """The parts of a series, and in each the classes of values that are equally likely for everybody.

    Groups are numbered from 0 over all releases.
    """

    part: Ints
    """For each group the part it belongs to, counted from 0."""
    numbers: Ints
    """All members, ascending; counterfeits are negative."""
    last: Ints
    """For each of them the last of its groups."""
    starts: Ints
    """Where each part begins in `values` and `alike`."""
    values: Ints
    """The values of each part, as positions in `Published.values`, ascending."""
    alike: Ints
    """How many values are in the class of the value at the same place, itself included."""

    def __repr__(self) -> str:
        return f"Symmetry({self.part_count:,} parts, {int(self.whole.sum()):,} of them with equally likely values)"

    @property
    def part_count(self) -> int:
        """How many parts there are."""
        return self.starts.size - 1

    @property
    def whole(self) -> Bools:
        """The parts whose values are all in one class: each is equally likely for everybody."""
        sizes = np.diff(self.starts)
        first = np.append(self.alike, 0)[self.starts[:-1]]
        whole: Bools = (sizes == 0) | (first == sizes)
        return whole


def symmetry(published: Published) -> Symmetry:
    """Find the parts of a series whose members are known, and the classes of values in each."""
    where = published.index
    parent, last = np.arange(where.position.size), np.full(where.people.size, -1, dtype=np.int64)
    components.connect(where.member, where.member_groups, last, parent)
    parts = components.number(parent)

    group, values, counts = owners(np.diff(where.value_starts)), where.values, where.counts
    width = max(len(published.values), 1)
    kinds, kind = numbered(parent[group] * width + values)
    part_of_kind = kinds // width
    starts = np.searchsorted(part_of_kind, np.arange(parts + 1))
    alike = _alike(group, counts, kind, part_of_kind, starts)
    return Symmetry(parent, where.people, last, starts, kinds % width, alike)


def _alike(group: Ints, counts: Ints, kind: Ints, part: Ints, starts: Ints) -> Ints:
    """For each kind (a value in a part) how many values of the part are published like it in every group.

    Kinds are first sorted by a hash of what is published of them; then every group is looked at: all kinds of a
    class must be there, equally often. Should two kinds share a hash by accident, another hash is taken.
    """
    salt = 0
    while True:
        # Sums of whole numbers that a float holds exactly, up to 2**27 rows; beyond, two kinds may seem to differ
        # that are alike, which makes no class too large.
        groups = np.arange(int(group.max(initial=-1)) + 1)
        one, other = (
            np.bincount(kind, _mixed(groups, 2 * salt + half)[group] * counts, minlength=part.size) for half in (0, 1)
        )
        # Classes by part, then by hash.
        ranked = np.lexsort((one, other, part))
        changes = [np.diff(key[ranked]) != 0 for key in (one, other, part)]
        new = np.append(True, np.logical_or.reduce(changes))[: part.size]
        class_of = np.empty(part.size, dtype=np.int64)
        class_of[ranked] = np.cumsum(new) - 1
        size = np.bincount(class_of, minlength=1)[class_of]
        if _evenly(group, counts, class_of[kind], size[kind], np.diff(starts)[part][kind]):
            return size
        salt += 1


def _evenly(group: Ints, counts: Ints, class_of: Ints, size: Ints, width: Ints) -> bool:
    """Whether each group that publishes a kind of a class publishes all of them equally often."""
    whole = size == width
    if whole.all():
        return _runs_even(group, counts, size)
    # Where a part is one class, the entries of a group are those of the class, and they stand together already.
    return _runs_even(group[whole], counts[whole], size[whole]) and _mixed_even(
        group[~whole], counts[~whole], class_of[~whole], size[~whole]
    )


def _mixed_even(group: Ints, counts: Ints, class_of: Ints, size: Ints) -> bool:
    order = np.lexsort((class_of, group))
    together = group[order] * (int(class_of.max(initial=0)) + 1) + class_of[order]
    return _runs_even(together, counts[order], size[order])


def _runs_even(key: Ints, counts: Ints, size: Ints) -> bool:
    """Whether each run of equal keys is as long as its size says, with equal counts."""
    if not key.size:
        return True
    begins = key[1:] != key[:-1]
    starts = np.append(0, np.flatnonzero(begins) + 1)
    lengths = np.diff(starts, append=key.size)
    begins |= counts[1:] == counts[:-1]
    return bool((lengths == size[starts]).all() and begins.all())


def _mixed(numbers: Ints, salt: int) -> Floats:
    """26 bits for each number that look random (two rounds of multiplying and folding)."""
    bits = numbers.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (salt + 1)) % 2**64)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(factor)
    return (bits >> np.uint64(38)).astype(np.float64) + 1.0
