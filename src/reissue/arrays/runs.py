"""Runs: things stored group after group in one flat array, and the places where each group begins.

`starts` has one entry more than there are groups: group g is `data[starts[g]:starts[g + 1]]`, `np.diff(starts)` are the
sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Ints


def starts_of(sizes: npt.NDArray[np.integer | np.bool_] | Sequence[int]) -> Ints:
    """Where groups of these sizes begin, one after the other, and where the last one ends."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, dtype=np.int64, out=starts[1:])
    return starts


def owners(sizes: npt.NDArray[np.integer] | Sequence[int]) -> Ints:
    """For each entry the number of its group, where groups have these sizes."""
    return np.repeat(np.arange(len(sizes)), sizes)


def runs(first: Ints, lengths: Ints) -> Ints:
    """The numbers first, first + 1, ... for each pair, one pair after the other."""
    return np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))


def entries_of(starts: Ints, groups: Ints) -> Ints:
    """The places of the entries of some groups, one group after the other."""
    return runs(starts[groups], starts[groups + 1] - starts[groups])


def chosen(starts: Ints, groups: Ints) -> tuple[Ints, Ints]:
    """The same, and where each of the groups begins among them."""
    return entries_of(starts, groups), starts_of(starts[groups + 1] - starts[groups])


def kept(entries: Bools, starts: Ints) -> Ints:
    """Where each group begins when only some of the entries are kept."""
    return starts_of(entries)[starts]


def totals(amounts: Ints | Bools, starts: Ints) -> Ints:
    """What the amounts of each group add up to."""
    added = starts_of(amounts)[starts]
    return added[1:] - added[:-1]


def joined(parts: Sequence[Ints] | Sequence[Bools]) -> Ints:
    """Arrays one after the other, as whole numbers; none if there are none."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
