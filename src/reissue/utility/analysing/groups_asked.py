"""Releases of groups: what is known of their rows, what is certain, and what cannot be asked at all.

Estimates rest on people, or values, being spread evenly within each group. Their errors are those of people or values
that are placed at random there; they do not say how far off the spreading itself is. What is certain are bounds, where
every row is a person with their own value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible
from reissue.model.hierarchy import Hierarchy
from reissue.utility.analysing.asking import PublicRows
from reissue.utility.analysing.breakdown import Cells, sums_by
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.analysing.questions import Combined, Figures, Interval, Target, Term

REPLACING = ("HDComposition", "Mask")
"""Methods that put other values in the place of some, unmarked."""
FAITHFUL = ("AlphaK", "Incremental", "Mondrian", "StaticI", "StaticII")
"""Methods that publish people with their own values and nobody else."""


class GroupsAsked(PublicRows):
    """One release of groups: what both forms share."""

    def __init__(self, release: PublicRelease, hierarchies: Mapping[str, Hierarchy]) -> None:
        super().__init__(release, hierarchies)
        self.certain = release.method in FAITHFUL or release.has("counterfeits")

    @cached_property
    def group(self) -> Ints:
        """For each row its group."""
        return self.release.table(self.release.main, ["group"])["group"].to_numpy().astype(np.int64)

    @cached_property
    def made_up(self) -> Ints | None:
        """For each group how many of its rows are counterfeits, where that is disclosed."""
        if not self.release.has("counterfeits"):
            return None
        table = self.release.table("counterfeits")
        count = np.zeros(int(self.group.max(initial=0)) + 1, dtype=np.int64)
        count[table["group"].to_numpy().astype(np.int64)] = table["count"].to_numpy()
        return count

    def check_values(self) -> None:
        """Refuse to count values where some were replaced."""
        if self.release.method in REPLACING:
            raise Infeasible(
                f"Values cannot be counted from release {self.number}: {self.release.method} puts other values in the "
                "place of some people's and marks none, so that no estimate is right and no bound certain.",
                hint="count people by their quasi-identifiers alone, or ask the publisher.",
            )

    def people(self, cells: Cells) -> Figures:
        """How many people each group has, where nobody is made up or it is said how many are."""
        found = super().people(cells)
        if self.made_up is None:
            return found
        low = self.surely(cells, (cells.weight == 1) * 1.0)
        return Figures(found.people, found.estimate, found.error, low, found.high, found.interval)

    def bounded(self, people: Floats, estimate: Floats, error: Floats, ends: tuple[Floats, Floats] | None) -> Figures:
        """Figures with bounds, where they are certain."""
        if ends is None or not self.certain:
            nothing = np.full(people.size, np.nan)
            return Figures(people, estimate, error, nothing, nothing, "none")
        return Figures(people, estimate, error, *ends, "certain")

    def surely(self, cells: Cells, least: Floats) -> Floats:
        """Sums of what each entry of the cells has at least, when any of a group's counterfeits may be among them."""
        if self.made_up is None:
            return cells.total(least)
        width = self.made_up.size
        pair, at = np.unique(cells.group * width + self.group[cells.rows], return_inverse=True)
        sums = np.bincount(at, least, minlength=pair.size) - self.made_up[pair % width]
        return sums_by(pair // width, np.maximum(sums, 0.0), cells.count)


def coded(column: pl.Series) -> tuple[Ints, pl.Series]:
    """For each cell its place among the values of a column, and these."""
    own = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column
    values = own.unique().sort()
    place = pl.DataFrame({"value": values}).with_row_index("at")
    joined = own.alias("value").to_frame().join(place, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["at"].to_numpy().astype(np.int64), values


def added(terms: Sequence[Term], target: Target) -> Combined:
    """The sum of independent estimates, and of their bounds."""
    estimate = variance = low = high = 0.0
    intervals: set[Interval] = set()
    for term in terms:
        figures = term.view.figures(term.question, term.cells, target)
        at, factor = term.group, term.factor
        estimate += factor * float(figures.estimate[at])
        variance += (factor * float(figures.error[at])) ** 2
        ends = (factor * float(figures.low[at]), factor * float(figures.high[at]))
        low, high = low + min(ends), high + max(ends)
        intervals.add(figures.interval)
    if intervals != {"certain"}:
        return Combined(estimate, float(np.sqrt(variance)), float("nan"), float("nan"), "none")
    return Combined(estimate, float(np.sqrt(variance)), low, high, "certain")
