"""What each group covers of each quasi-identifier, measured from its members.

Counterfeits are members like others here: whoever reads the release sees the region that they widened.

A numeric attribute is published as the interval from the lowest to the highest member, a plain categorical
one as the set of the members' labels, one with a hierarchy as the members' nearest common ancestor. A group
that mixes numbers and missing values counts as the whole domain; one of nothing but missing values says exactly
that and counts as not generalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import InternalError, ParameterError, listed
from reissue.kernels.query_counts import distinct_codes
from reissue.model.grouping import Grouping
from reissue.model.snapshot import Codes, Column, Labels, Leaves, Numbers
from reissue.utility.rows import PublishedRows


@dataclass(frozen=True, repr=False)
class IntervalExtents:
    """A numeric attribute: the lowest and highest number of each group."""

    levels: Numbers
    low: Floats
    """NaN where all members are missing."""
    high: Floats
    """NaN where all members are missing."""
    mixed: Bools
    """Where a group holds numbers and missing values, which makes it cover the whole domain."""

    def amounts(self) -> Floats:
        """The length of each interval as a share of the domain; 1 where mixed, 0 where only missing."""
        domain = self.levels.high - self.levels.low
        length = np.nan_to_num(self.high - self.low)
        # A domain of a single number leaves nothing to lose.
        share = length / domain if domain > 0 else np.zeros_like(length)
        return np.where(self.mixed, 1.0, share)

    penalties = amounts


@dataclass(frozen=True, repr=False)
class SetExtents:
    """A categorical attribute: the labels of each group."""

    levels: Labels
    starts: Ints
    """Where each group begins in `codes`; one entry more than there are groups."""
    codes: npt.NDArray[np.uint32]
    """The distinct codes of each group, one group after the other."""

    def amounts(self) -> Floats:
        """How many labels more than one, as a share of the most there could be."""
        return _beyond_one(np.diff(self.starts), len(self.levels.labels))

    def penalties(self) -> Floats:
        """How many labels, as a share of the domain; 0 for a single one."""
        return _unless_one(np.diff(self.starts), len(self.levels.labels))


@dataclass(frozen=True, repr=False)
class NodeExtents:
    """An attribute with a hierarchy: the nearest common ancestor of each group."""

    levels: Leaves
    node: Ints
    """A node of the hierarchy for each group."""

    def amounts(self) -> Floats:
        """How many leaves below the node more than one, as a share of the most there could be."""
        return _beyond_one(self._coverage(), self.levels.hierarchy.base)

    def penalties(self) -> Floats:
        """How many leaves below the node, as a share of all; 0 for a single one."""
        return _unless_one(self._coverage(), self.levels.hierarchy.base)

    def _coverage(self) -> Ints:
        return self.levels.hierarchy.coverage[self.node].astype(np.int64)


Extent = IntervalExtents | SetExtents | NodeExtents


@dataclass(frozen=True, repr=False)
class Extents:
    """What each group covers of each quasi-identifier."""

    names: tuple[str, ...]
    columns: tuple[Extent, ...]
    """One for each quasi-identifier, in the order of `names`."""
    rows: PublishedRows

    @classmethod
    def of(cls, quasi: Sequence[Column], grouping: Grouping, counterfeit: Bools | None = None) -> Extents:
        """Measure the members of each group."""
        check_lengths(quasi, grouping)
        rows = PublishedRows.of(grouping, counterfeit)
        return cls(tuple(column.name for column in quasi), tuple(_extent(column, rows) for column in quasi), rows)

    @property
    def people(self) -> int:
        """How many people were published."""
        return int(self.rows.people.sum())

    def average(self, amounts: Floats) -> float:
        """The average over the people published of an amount that each group has."""
        people = self.people
        if not people:
            raise ParameterError(
                "There are only counterfeits to measure, and no row of a person.",
                hint="measure a release that published at least one person.",
            )
        return float(self.rows.people @ amounts) / people

    def __repr__(self) -> str:
        return f"Extents({len(self.names)} attributes of {self.rows.sizes.size:,} groups)"


def check_lengths(columns: Sequence[Column], grouping: Grouping) -> None:
    """Refuse columns that are not as long as the grouping."""
    uneven = [column.name for column in columns if column.codes.size != grouping.group.size]
    if uneven:
        raise InternalError(f"{listed(uneven)}: not as many codes as the grouping has rows")


def _extent(column: Column, rows: PublishedRows) -> Extent:
    codes = column.codes[rows.order]
    levels = column.levels
    if isinstance(levels, Numbers):
        return _intervals(codes, rows, levels)
    if isinstance(levels, Labels):
        starts, found = distinct_codes(codes.astype(np.uint32), rows.starts, len(levels.labels))
        return SetExtents(levels, starts, found)
    node = levels.hierarchy.nearest(codes, rows.starts)
    return NodeExtents(levels, node.astype(np.int64))


def _intervals(codes: Codes, rows: PublishedRows, levels: Numbers) -> IntervalExtents:
    first = rows.starts[:-1]
    highest = np.maximum.reduceat(codes, first)
    if not levels.missing:
        lowest = np.minimum.reduceat(codes, first)
        return IntervalExtents(
            levels, levels.values[lowest], levels.values[highest], np.zeros(first.size, dtype=np.bool_)
        )
    some_missing = np.minimum.reduceat(codes, first) == 0
    # Code 0 is the missing value: put it above all numbers to find the lowest of those.
    above = np.where(codes == 0, np.iinfo(codes.dtype).max, codes)
    lowest = np.where(highest == 0, 0, np.minimum.reduceat(above, first))
    return IntervalExtents(levels, levels.values[lowest], levels.values[highest], some_missing & (highest > 0))


def _beyond_one(count: Ints, domain: int) -> Floats:
    return (count - 1) / (domain - 1) if domain > 1 else np.zeros(count.size)


def _unless_one(count: Ints, domain: int) -> Floats:
    return np.where(count == 1, 0.0, count / domain)
