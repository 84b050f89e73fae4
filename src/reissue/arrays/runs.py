"""Runs of numbers: the entries of some groups, where groups are stored one after the other."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Ints


def runs(first: Ints, lengths: Ints) -> Ints:
    """The numbers first, first + 1, ... for each pair, one pair after the other."""
    return np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
