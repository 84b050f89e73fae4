"""Limits of columns, where several are sensitive: what holds of each column by itself.

Methods that hide a record among records say nothing of its parts: a group with l different records may have one value
of a column in all of them. So every column is looked at: in no group has a value of it more than the column's limit of
the rows and, where it has none, no group has one value throughout.

Where a method keeps everybody's records with the same others for ever, as m-invariance does, a column keeps its shares
in all releases together. Of other methods it speaks of each release alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reissue.arrays.dense import numbered
from reissue.arrays.exact import probability_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError, count_of, listed
from reissue.guarantees.base import GroupGuarantee, Measure, rounded_up
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds
from reissue.model.published import Published, PublishedGroups
from reissue.model.records import ValueColumn
from reissue.model.rules import ColumnShare, Rule


@dataclass(frozen=True)
class ColumnLimits(GroupGuarantee):
    """In every group no value of a sensitive column has more than the column's limit of the rows."""

    name: ClassVar[str] = "column-limits"
    words: ClassVar[str] = "in every group, no value of one of the sensitive columns has more than its column's limit"
    low_is_worse: ClassVar[bool] = False

    limits: Mapping[str, str | float | None]
    """For each sensitive column its limit, such as "3/4"; None: below 1, so that no group has one value throughout."""

    def __post_init__(self) -> None:
        check = Validation(self)
        if not isinstance(self.limits, Mapping) or not self.limits:
            check.wrong("limits", "a mapping from sensitive columns to probabilities below 1, or None")
        else:
            exact = {name: None if limit is None else probability_of(limit) for name, limit in self.limits.items()}
            wrong = [name for name, limit in self.limits.items() if limit is not None and not (exact[name] or 1) < 1]
            if wrong:
                check.wrong("limits", f"a probability below 1 for {listed(wrong)}", "something else")
            else:
                check.replace("limits", {name: None if one is None else str(one) for name, one in exact.items()})
        check.finish()

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.limits.items())))

    @property
    def title(self) -> str:
        """The limit of every column."""
        told = (f"{name} {'below 1' if limit is None else f'at most {limit}'}" for name, limit in self.limits.items())
        return f"{self.name} ({', '.join(told)})"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return tuple(ColumnShare(name, limit) for name, limit in self._exact.items())

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(columns=tuple(self._exact.items()))

    @property
    def _exact(self) -> dict[str, Fraction | None]:
        return {name: None if limit is None else probability_of(limit) for name, limit in self.limits.items()}

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """For each group the share of the value that is nearest to its column's limit, relative to that."""
        rows = release.rows
        figure, worst = np.zeros(rows.size), np.zeros(rows.size, dtype=np.int64)
        kept: Bools = np.ones(rows.size, dtype=np.bool_)
        tops: list[Ints] = []
        for at, (name, limit) in enumerate(self._exact.items()):
            top = largest(release, _column(published, name))
            tops.append(top)
            share: Floats = top / np.maximum(rows, 1)
            near = share if limit is None else share / float(limit)
            kept &= (top < rows) | (rows == 0) if limit is None else top * limit.denominator <= rows * limit.numerator
            worst[near > figure] = at
            figure = np.maximum(figure, near)
        names = list(self.limits)

        def words(group: int) -> str:
            name = names[int(worst[group])]
            limit = self.limits[name]
            held = f"{int(tops[int(worst[group])][group]):,} of {count_of(int(rows[group]), 'row')}"
            needed = "less than all are needed" if limit is None else f"a share of at most {limit} is needed"
            return f"has {held} with the same value of '{name}', {needed}"

        return Measure(figure, kept, words)

    def remedy(self, published: Published) -> str:
        """The limits that the table can give."""
        release = published.releases[0]
        rows = int(release.rows[0])
        parts = []
        for name, limit in self._exact.items():
            top = int(largest(release, _column(published, name))[0])
            if limit is None and top == rows:
                parts.append(f"everybody has the same value of '{name}': it is nothing to hide, and may be dropped")
            elif limit is not None and top > limit * rows:
                parts.append(
                    f"{top:,} of {count_of(rows, 'row')} have the most frequent value of '{name}', and its limit is "
                    f"{limit}: {rounded_up(top / rows)} or more would be satisfied"
                )
        return "; ".join(parts)


def largest(release: PublishedGroups, column: ValueColumn) -> Ints:
    """For each group how many rows have the most frequent value of a column."""
    width = len(column.values)
    keys, place = numbered(release.value_groups * width + column.of[release.values])
    counts = np.bincount(place, release.counts, minlength=keys.size).astype(np.int64)
    top = np.zeros(release.group_count, dtype=np.int64)
    np.maximum.at(top, keys // width, counts)
    return top


def _column(published: Published, name: str) -> ValueColumn:
    for column in published.columns:
        if column.name == name:
            return column
    raise ParameterError(
        f"The view has no sensitive column '{name}' beside others.",
        hint="limits of columns are for tables with several sensitive columns.",
    )
