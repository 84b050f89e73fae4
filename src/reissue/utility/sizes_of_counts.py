"""How queries fare by how many people they count, beside no link at all.

With no link at all quasi-identifiers and values are published apart, both exactly: a count is the number of people
whose quasi-identifiers match times the share of people whose values do. That is what a release must beat.

The queries of a workload count about as many people each. To see from which size on counts are of use, some are asked
for a tenth and for a hundredth of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.utility.workload import Workload

NARROWER = (10, 100)
"""Further queries ask for so many times fewer people."""
FEWER = 4
"""So many times fewer of them are asked."""
ENOUGH = 10
"""A band of sizes that fewer queries fall in is left out."""
HALF = 0.5
"""An error above this makes a count useless."""

Line = tuple[str, float, str]


def with_errors(actual: Ints, estimated: Floats, no_link: Floats) -> pl.DataFrame:
    """A row for each query: what is so, what the release says, what two tables without a link say, and their errors."""
    return pl.DataFrame(
        {
            "actual": actual,
            "estimated": estimated,
            "error": np.abs(actual - estimated) / actual,
            "no_link": no_link,
            "error_no_link": np.abs(actual - no_link) / actual,
        }
    )


def narrower(workload: Workload, ask: Callable[[Workload], ByQuery]) -> pl.DataFrame:
    """Ask some queries of the same kind for fewer people."""
    count = -(-workload.count // FEWER)
    return pl.concat(
        ask(replace(workload, selectivity=workload.selectivity / times, count=count)).queries for times in NARROWER
    )


class ByQuery:
    """What follows from the errors of each query, for releases of every form."""

    workload: Workload
    queries: pl.DataFrame
    redrawn: int
    narrower: pl.DataFrame | None

    def asked(self) -> dict[str, Any]:
        """What was asked, and how much of it was answered; ready for JSON."""
        return {
            "dimensions": self.workload.dimensions,
            "selectivity": self.workload.selectivity,
            "sensitive": self.workload.sensitive,
            "sensitive_values": self.workload.sensitive_values,
            "seed": self.workload.seed,
            "asked": self.workload.count,
            "answered": self.answered,
            "redrawn": self.redrawn,
        }

    @property
    def answered(self) -> int:
        """How many queries have an error: as many as were asked for, unless hardly any matches anybody."""
        return self.queries.height

    @property
    def median_no_link(self) -> float:
        """The median error with no link between quasi-identifiers and values; NaN where no query matched anybody."""
        return self._median("error_no_link")

    @property
    def times_nearer(self) -> float:
        """How many times smaller the median error is than with no link; below 1 it is larger. NaN where undefined."""
        median = self._median("error")
        return self.median_no_link / median if median > 0 else float("nan")

    @property
    def by_size(self) -> pl.DataFrame:
        """Median errors by the size of the count, 1 to 2, 2 to 5, 5 to 10 people and so on.

        A row for each band of sizes with at least 10 queries: `least`, `below`, `queries`, `error`, `error_no_link`.
        """
        queries = self.queries if self.narrower is None else pl.concat([self.queries, self.narrower])
        size = queries["actual"].to_numpy().astype(np.float64)
        tens = 10.0 ** np.floor(np.log10(size))
        step = np.searchsorted([2.0, 5.0], size / tens, side="right")
        bands = queries.select(
            pl.Series("least", np.array([1, 2, 5])[step] * tens).cast(pl.Int64),
            pl.Series("below", np.array([2, 5, 10])[step] * tens).cast(pl.Int64),
            "error",
            "error_no_link",
        )
        medians = [pl.col(name).median() for name in ("error", "error_no_link")]
        found = bands.group_by("least", "below").agg(pl.len().alias("queries"), *medians)
        return found.filter(pl.col("queries") >= ENOUGH).sort("least")

    @property
    def useless_below(self) -> int:
        """Counts of fewer people than this are off by more than half, more often than not; 0 where none was seen."""
        bands = self.by_size
        return _run(bands, (bands["error"] > HALF).to_list())

    @property
    def no_better_below(self) -> int:
        """Counts of fewer people than this are no nearer than with no link; 0 where none was seen."""
        bands = self.by_size
        return _run(bands, (bands["error"] >= bands["error_no_link"]).to_list())

    def _median(self, name: str) -> float:
        return float(np.median(self.queries[name].to_numpy())) if self.answered else float("nan")

    def beside_no_link(self) -> dict[str, Any]:
        """These figures, ready for JSON; None stands for one that is undefined."""
        times = self.times_nearer
        return {
            "median_no_link": self.median_no_link if self.answered else None,
            "times_nearer": times if np.isfinite(times) else None,
            "useless_below": self.useless_below,
            "no_better_below": self.no_better_below,
            "by_size": self.by_size.to_dicts(),
        }

    def lines_beside_no_link(self) -> list[Line]:
        """These figures with what they mean."""
        if not self.answered:
            return []
        lines: list[Line] = [
            ("  no link at all", self.median_no_link, "the same from two exact tables, quasi-identifiers and values")
        ]
        if np.isfinite(self.times_nearer):
            lines.append(("  times nearer", self.times_nearer, "than with no link at all; below 1 it is further off"))
        if self.useless_below:
            lines.append(("counts below", self.useless_below, "people are mostly off by more than half"))
        return lines


def _run(bands: pl.DataFrame, bad: list[bool]) -> int:
    """Where the bands end, from the smallest size on, that are bad without a gap."""
    good = bad.index(False) if False in bad else len(bad)
    return int(bands["below"][good - 1]) if good else 0
