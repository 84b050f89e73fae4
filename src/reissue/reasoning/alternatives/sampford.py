"""Sampford's design (1967) for the slots that large values leave: its odds, gaps, and sums over sets.

M. R. Sampford, On sampling without replacement with unequal probabilities of selection, Biometrika 54 (1967) 499-513.
Of r different values each is in the set with probability exactly pi(u) = r p(u) / (sum of all p(u)).

| Sampford | here |
|---|---|
| n | a size, r |
| lambda = pi / (1 - pi) | odds, up to a factor that is the same for all |
| 1 - pi | gaps |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.kernels.drawn_sets import sum_over_sets
from reissue.model.design import Design

CERTAIN = 1 - 1e-12
"""A value with this inclusion probability or more is in every set."""


@dataclass(frozen=True)
class Fillings:
    """How small values fill the slots that combinations of large values leave, for each number of slots left."""

    sizes: Ints
    """The numbers of slots that can be left, ascending."""
    size_of: Ints
    """For each combination which of the sizes it leaves."""
    inclusion: Floats
    """For each size a row: the inclusion probability of each small value."""
    certain: Bools
    """Which small values are then in every set. They stand outside of Sampford's design, which draws the others."""
    free: Ints
    """For each size how many values are drawn."""
    odds: Floats
    """For each size a row; 0 for values that are certain."""
    gaps: Floats
    """The same."""

    def tables(self, sizes: Ints, without: Ints) -> Floats:
        """Sums over sets as the kernel has them: tables for some of the sizes, each without one place, or none (-1)."""
        shape = (sizes.size, int(self.free.max()) + 1, self.odds.shape[1] + 1, 2)
        tables = np.empty(shape)
        sum_over_sets(self.odds, self.gaps, sizes, without, tables)
        return tables

    def sums(self) -> Floats:
        """For each size the sum of what all sets weigh; 1 where nothing is drawn."""
        found = np.ones(self.sizes.size)
        nothing = np.array([-1])
        for index in np.flatnonzero(self.free):  # one table at a time: with many sizes all of them are large
            found[index] = self.tables(np.array([index]), nothing)[0, self.free[index], 0, 1]
        return found


def fillings(design: Design) -> Fillings:
    """How small values fill what large ones leave."""
    sizes, size_of = np.unique(design.remaining, return_inverse=True)
    share = design.shares[design.small] / design.rest if design.small.size else np.empty(0)
    inclusion = np.minimum(np.outer(sizes, share), 1.0)
    certain = inclusion >= CERTAIN
    free = sizes - certain.sum(axis=1)
    gaps = np.where(certain, 0.0, 1 - inclusion)
    odds = np.where(certain, 0.0, inclusion / np.where(certain, 1.0, gaps))
    # All sets of any size weigh prod (1 + odds) together, most of it those of the right size. With that taken off, a
    # part for each value of a set, sums over sets stay near 1, whatever the domain and however likely single values.
    total = np.log1p(odds).sum(axis=1)
    odds *= np.exp(-total / np.maximum(free, 1))[:, None]
    return Fillings(sizes, size_of.astype(np.int64), inclusion, certain, free, odds, gaps)
