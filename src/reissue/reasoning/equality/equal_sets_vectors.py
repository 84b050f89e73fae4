"""Sparse integer vectors, many at a time: groups, what is left when one is taken from another, and sums of those."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.runs import chosen, owners, totals
from reissue.arrays.types import Ints
from reissue.kernels import near_sets as kernels


@dataclass(frozen=True, repr=False)
class Vectors:
    """Vectors one after the other; each has its places ascending, with counts that are not 0."""

    places: Ints
    counts: Ints
    starts: Ints
    """Where each vector begins; one entry more than there are vectors."""
    width: int
    """How many places there are."""

    def __len__(self) -> int:
        return self.starts.size - 1

    def __repr__(self) -> str:
        return f"Vectors({len(self):,} of {self.width:,} places)"

    @classmethod
    def none(cls, width: int) -> Vectors:
        """No vectors."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, np.zeros(1, dtype=np.int64), width)

    @classmethod
    def summed(cls, which: Ints, places: Ints, counts: Ints, number: int, width: int) -> Vectors:
        """From entries in any order: equal places of a vector are added, and those that are 0 left out."""
        key = which * width + places
        order = np.argsort(key, kind="stable")
        key, counts = key[order], counts[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        sums = np.add.reduceat(counts, first) if first.size else counts
        kept = np.flatnonzero(sums)
        key = key[first[kept]]
        starts = np.searchsorted(key, np.arange(number + 1) * width)
        return cls(key % max(width, 1), sums[kept], starts.astype(np.int64), width)

    @property
    def which(self) -> Ints:
        """The vector that each entry belongs to."""
        return owners(np.diff(self.starts))

    @cached_property
    def norms(self) -> Ints:
        """The sum of |count| of each vector."""
        return totals(np.abs(self.counts), self.starts)

    @cached_property
    def across(self) -> tuple[Ints, Ints, Ints]:
        """For each place the vectors that have it, ascending, their counts, and where each place begins."""
        vectors, counts, starts = kernels.turned(self.places, self.counts, self.starts, self.width)
        return vectors, counts, starts

    def renamed(self, names: Ints) -> Vectors:
        """With other names for the places; several may get the same."""
        places, counts, starts = kernels.renamed(self.places, self.counts, self.starts, names)
        return Vectors(places, counts, starts, self.width)

    def reduced(self) -> tuple[Vectors, Ints]:
        """Each divided by its greatest common divisor, its first count positive; and those divisors (1 for none)."""
        alone = np.column_stack([np.arange(len(self)), np.full(len(self), len(self))])
        with_zero = Vectors(self.places, self.counts, np.append(self.starts, self.starts[-1]), self.width)
        return with_zero.combined(alone, np.ones(len(self), dtype=np.int64))

    def combined(self, pairs: Ints, signs: Ints) -> tuple[Vectors, Ints]:
        """For each pair the first plus `sign` times the second, divided; and the divisors."""
        places, counts, starts, divisors = kernels.combinations(self.places, self.counts, self.starts, pairs, signs)
        return Vectors(places, counts, starts, self.width), divisors

    def chosen(self, which: Ints) -> Vectors:
        """Some of them, in the order given."""
        at, starts = chosen(self.starts, which)
        return Vectors(self.places[at], self.counts[at], starts, self.width)

    def followed_by(self, others: Vectors) -> Vectors:
        """These, then others."""
        return Vectors(
            np.concatenate([self.places, others.places]),
            np.concatenate([self.counts, others.counts]),
            np.concatenate([self.starts, self.starts[-1] + others.starts[1:]]),
            self.width,
        )

    def distinct(self) -> Ints:
        """One of each set of equal vectors: positions, ascending. Some equal ones may be left."""
        mixed = (self.places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * (self.counts * 2 + 1).astype(np.uint64)
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)])
        keys = running[self.starts[1:]] - running[self.starts[:-1]]
        _, first, like = np.unique(keys, return_index=True, return_inverse=True)
        lengths = np.diff(self.starts)
        there = np.repeat(self.starts[first[like]] - self.starts[:-1], lengths) + np.arange(self.places.size)
        there = np.minimum(there, self.places.size - 1)
        differs = (self.places != self.places[there]) | (self.counts != self.counts[there])
        unlike = (lengths != lengths[first[like]]) | (np.bincount(self.which[differs], minlength=len(self)) > 0)
        unlike[first] = True
        return np.flatnonzero(unlike)
