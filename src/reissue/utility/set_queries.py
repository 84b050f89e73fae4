"""The error of COUNT queries on releases of sets: by scores, and with no link at all between the two sides.

The queries are those of `queries.py`. By scores an analyst adds up, over the rows whose quasi-identifiers match (or, of
a region, the share of it that the query admits), the score that each row's set gives to the values asked for. Beside it
stands the error with no link at all: see `sizes_of_counts.py`.

Rare values that are published as one are asked for evenly: a query for two of five rare values asks for two fifths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.kernels import query_counts as kernels
from reissue.model.sets import SetCodes, SetDesigns
from reissue.model.snapshot import Column
from reissue.utility.extents import Extents
from reissue.utility.queries import MOST_DRAWS, Progress, RegionArrays
from reissue.utility.row_scores import RowScores
from reissue.utility.sizes_of_counts import ByQuery, with_errors
from reissue.utility.workload import Batch, Queries, Workload

CHUNK = 8_192
"""So many rows are looked at together."""
MIDDLE = 0.6744897501960817
"""So many standard errors half of all errors are below."""


@dataclass(frozen=True, repr=False)
class SetRows:
    """The rows of a table that was published with sets."""

    quasi: Sequence[Column]
    values: Column
    place: Ints
    """For each row of the table its row in the release; -1 for who was withheld."""
    codes: SetCodes
    """The sets of the release, a row for each of its rows: positions among the labels of `designs`."""
    design: Ints
    """For each row of the release the design its set is from."""
    designs: SetDesigns
    label: Ints
    """For each code of the values the label that stands for it."""
    extents: Extents | None
    """What the regions cover; None where quasi-identifiers are exact."""
    region: Ints | None
    """For each row of the table that was published, in order, its region."""

    @property
    def shown(self) -> Ints:
        """The rows of the table that were published."""
        return np.flatnonzero(self.place >= 0)


@dataclass(frozen=True, repr=False)
class SetQueryError(ByQuery):
    """The relative error of the queries of a workload."""

    workload: Workload
    queries: pl.DataFrame
    """One row for each query: `actual`, `estimated`, `error` (relative), the last two with `no_link` at all, and the
    `standard_error` of the estimate over all draws of sets; null where quasi-identifiers are regions."""
    redrawn: int
    """How many queries were drawn that nobody matched; their error is undefined."""
    narrower: pl.DataFrame | None = None
    """Further queries like `queries`, for fewer people, that only `by_size` looks at."""

    @property
    def median(self) -> float:
        """The median error by scores; NaN where no query matched anybody."""
        return self._median("error")

    @property
    def usual(self) -> float:
        """The median error to be expected: `median` is of one draw of sets, this of all; NaN where undefined."""
        relative = (self.queries["standard_error"] / self.queries["actual"]).drop_nulls().to_numpy()
        return MIDDLE * float(np.median(relative)) if relative.size else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON; None stands for a figure that is undefined."""
        return {
            **self.asked(),
            "median": self.median if self.answered else None,
            "usual": self.usual if np.isfinite(self.usual) else None,
            **self.beside_no_link(),
        }

    def __repr__(self) -> str:
        figures = "no error is defined"
        if self.answered:
            figures = f"median {self.median:.2%}, with no link at all {self.median_no_link:.2%}"
        return f"SetQueryError({figures}; {self.answered:,} of {self.workload.count:,} queries answered)"


def set_query_error(rows: SetRows, workload: Workload, progress: Progress | None = None) -> SetQueryError:
    """Ask the queries of a workload of the table and of its release."""
    asking = _Asking(rows, Queries(rows.quasi, rows.values, workload))
    found: list[tuple[Ints, Floats, Floats, Floats]] = []
    answered = redrawn = 0
    for number in range(-(-MOST_DRAWS * workload.count // kernels.LANES)):
        actual, estimated, no_link, variance = asking.answer(number)
        matched = np.flatnonzero(actual)[: workload.count - answered]
        found.append((actual[matched], estimated[matched], no_link[matched], variance[matched]))
        answered += matched.size
        drawn = actual.size if answered < workload.count else int(matched[-1]) + 1
        redrawn += drawn - matched.size
        if progress is not None:
            progress(answered, workload.count)
        if answered == workload.count:
            break
    actual, estimated, no_link, variance = (np.concatenate(part) for part in zip(*found, strict=True))
    error = pl.Series("standard_error", np.sqrt(variance)).fill_nan(None)
    return SetQueryError(workload, with_errors(actual, estimated, no_link).with_columns(error), redrawn)


class _Asking:
    """Answers the queries of a workload, batch after batch."""

    def __init__(self, rows: SetRows, queries: Queries) -> None:
        self._rows, self._queries = rows, queries
        at = rows.place[rows.shown]
        self._scores = RowScores(rows.codes[at], rows.design[at], rows.designs)
        self._regions = None if rows.extents is None else RegionArrays.of(rows.extents, queries.bases)
        labels = len(rows.designs.labels)
        # A question for codes becomes one for labels; one that stands for several codes is asked for in part.
        self._labels = np.zeros((labels, rows.label.size))
        self._labels[rows.label, np.arange(rows.label.size)] = 1.0
        self._labels /= np.maximum(self._labels.sum(axis=1, keepdims=True), 1.0)

    def answer(self, number: int) -> tuple[Ints, Floats, Floats, Floats]:
        """What the table, the release, and two tables without a link say to a batch; and the variance of the release's.

        A score is right on average, and rows are drawn independently. So the squares of how far scores are off add up
        to the variance of their sum, on average. Where regions are spread evenly that is not so: NaN.
        """
        batch, rows = self._queries.draw(number), self._rows
        last = len(rows.quasi)
        admitted = self._queries.admitted(batch, last, np.arange(rows.label.size))
        weights = self._scores.weights(self._labels @ admitted.astype(np.float64))
        shares = None if self._regions is None else region_shares(self._regions, batch)
        people = rows.place.size
        actual, both = np.zeros(kernels.LANES, dtype=np.int64), np.zeros(kernels.LANES, dtype=np.int64)
        estimated, variance, shown = np.zeros(kernels.LANES), np.zeros(kernels.LANES), rows.shown
        for first in range(0, people, CHUNK):
            part = slice(first, first + CHUNK)
            match = self._matching(batch, np.arange(people)[part])
            both += match.sum(axis=0)
            actual += (match & admitted[rows.values.codes[part]]).sum(axis=0)
        for first in range(0, shown.size, CHUNK):
            part = slice(first, first + CHUNK)
            score = self._scores.of(weights, part)
            if shares is not None and rows.region is not None:
                score *= shares[rows.region[part]]
                variance += np.nan
            else:
                match = self._matching(batch, shown[part])
                score *= match
                variance += ((score - (match & admitted[rows.values.codes[shown[part]]])) ** 2).sum(axis=0)
            estimated += score.sum(axis=0)
        having = np.bincount(rows.values.codes, minlength=rows.label.size) @ admitted
        return actual, estimated, both * having / people, variance

    def _matching(self, batch: Batch, rows: Ints) -> Bools:
        """Which rows each query admits by their quasi-identifiers."""
        match = np.ones((rows.size, kernels.LANES), dtype=np.bool_)
        for position, column in enumerate(self._rows.quasi):
            match &= self._queries.admitted(batch, position, column.codes[rows].astype(np.int64))
        return match


def region_shares(regions: RegionArrays, batch: Batch) -> Floats:
    """For each region (lines) the share of it that each query (columns) admits, as if it were filled evenly."""
    groups = regions.low.shape[1]
    shares = np.ones((groups, kernels.LANES))
    nodes = np.empty((regions.leaf_starts.size - 1, kernels.LANES))
    kernels.node_shares(regions.leaf_starts, regions.leaf_lines, batch.table, nodes)
    for position, kind in enumerate(regions.kinds.tolist()):
        if kind == kernels.INTERVAL:
            low, high = regions.low[position][:, None], regions.high[position][:, None]
            lower, upper = batch.lower[position], batch.upper[position]
            point = (lower <= low) & (low <= upper)
            with np.errstate(invalid="ignore"):
                length = high - low
                common = np.maximum(np.minimum(high, upper) - np.maximum(low, lower), 0.0)
            shares *= np.where(length > 0, common / np.where(length > 0, length, 1.0), point)
        elif kind == kernels.SET:
            starts = regions.set_starts[position]
            inside = batch.table[regions.set_lines[starts[0] : starts[-1]]].astype(np.int64)
            counted = np.add.reduceat(inside, starts[:-1] - starts[0], axis=0)
            shares *= counted / np.diff(starts)[:, None]
        else:
            shares *= nodes[regions.nodes[position]]
    return shares
