"""The error of COUNT queries: what an analyst gets from a release against what the table would have said.

The relative error of a query is |actual - estimated| / actual. What an analyst estimates depends on the form:

- anatomised: in each group, the rows whose quasi-identifiers match (these are published exactly) times the
  share of the group's values that match (Xiao, Tao: Anatomy, 2006);
- generalised: in each group, the values that match times, for each quasi-identifier restricted, the share of
  the published region that the predicate admits, as if the rows filled the region evenly.

Evenly means: over the whole numbers (or days) of an interval, along the length of an interval of other
numbers, over the labels of a set, over the leaves below a node. A group of missing numbers matches no range;
one that mixes numbers and missing values publishes the interval of the numbers but not how many are missing,
so the estimate takes it for filled by numbers.

The actual count is of the people of the private table: those held back count, counterfeits do not. An estimate is
made from what was published: counterfeits count in it as anybody would, those held back are not seen, and a value that
was replaced is taken for what it was replaced by.

Beside it stands the error with no link at all: see `sizes_of_counts.py`.

A query that nobody matches has no relative error: another is drawn in its place, and `redrawn` says how often
this happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.cores import cores
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError
from reissue.kernels import query_counts as kernels
from reissue.model.grouping import Grouping
from reissue.model.hierarchy import Hierarchy
from reissue.model.showing import with_changed
from reissue.model.snapshot import Column
from reissue.utility.extents import Extents, IntervalExtents, NodeExtents, SetExtents, check_lengths
from reissue.utility.rows import PublishedRows
from reissue.utility.sizes_of_counts import ByQuery, with_errors
from reissue.utility.workload import Batch, Queries, Workload, is_whole

Form = Literal["generalised", "anatomised"]
Progress = Callable[[int, int], None]
Answers = tuple[Ints, Floats, Floats]
"""What the table, the release, and two tables without a link say to a batch of queries."""
Small = npt.NDArray[np.uint32]

MOST_DRAWS = 10
"""At most so many queries are drawn for each one asked for, before those that nobody matches are given up."""


@dataclass(frozen=True, repr=False)
class QueryError(ByQuery):
    """The relative error of the queries of a workload."""

    workload: Workload
    form: Form
    queries: pl.DataFrame
    """One row for each query: `actual`, `estimated`, `error` (relative), and the last two with `no_link` at all."""
    redrawn: int
    """How many queries were drawn that nobody matched; their error is undefined."""
    median: float
    """NaN where no query matched anybody."""
    mean: float
    """NaN where no query matched anybody."""
    narrower: pl.DataFrame | None = None
    """Further queries like `queries`, for fewer people, that only `by_size` looks at."""

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON; None stands for a figure that is undefined."""
        return {
            **self.asked(),
            "median": self.median if self.answered else None,
            "mean": self.mean if self.answered else None,
            **self.beside_no_link(),
        }

    def __repr__(self) -> str:
        figures = f"median {self.median:.2%}, mean {self.mean:.2%}" if self.answered else "no error is defined"
        answered = f"{self.answered:,} of {self.workload.count:,} queries answered"
        return f"QueryError({self.form}: {figures}; {answered}, {self.redrawn:,} redrawn)"


def query_error(
    quasi: Sequence[Column],
    values: Column,
    grouping: Grouping,
    workload: Workload,
    form: Form = "generalised",
    progress: Progress | None = None,
    *,
    counterfeit: Bools | None = None,
    extents: Extents | None = None,
) -> QueryError:
    """Ask the queries of a workload of the table and of its release in this form.

    The columns and the grouping hold all rows: of people published, of people held back, and of counterfeits,
    which `counterfeit` flags. `extents` are what the groups cover, where that is more than their rows do. `progress`,
    if given, is called now and then with the queries answered and those
    asked for.
    """
    check_form("query_error", form)
    check_lengths([*quasi, values], grouping)
    queries = Queries(quasi, values, workload)
    answer = _answerer(queries, quasi, grouping, form, counterfeit, extents)
    found: list[Answers] = []
    answered = redrawn = 0
    with closing(_in_threads(queries, answer)) as answers:
        for actual, estimated, no_link in islice(answers, _most_batches(workload)):
            matched = np.flatnonzero(actual)[: workload.count - answered]
            found.append((actual[matched], estimated[matched], no_link[matched]))
            answered += matched.size
            # A batch is drawn whole, but what follows the last query needed counts as never drawn.
            drawn = actual.size if answered < workload.count else int(matched[-1]) + 1
            redrawn += drawn - matched.size
            if progress is not None:
                progress(answered, workload.count)
            if answered == workload.count:
                break
    return _summed_up(workload, form, found, redrawn)


def check_form(owner: str, form: object) -> None:
    """Refuse a form there is none of."""
    if form not in ("generalised", "anatomised"):
        raise ParameterError(
            f"The 'form' parameter of {owner} must be 'generalised' or 'anatomised'. Got {form!r} instead."
        )


def _most_batches(workload: Workload) -> int:
    return -(-MOST_DRAWS * workload.count // kernels.LANES)


def _summed_up(workload: Workload, form: Form, found: list[Answers], redrawn: int) -> QueryError:
    frame = with_errors(*(np.concatenate(part) for part in zip(*found, strict=True)))
    error = frame["error"].to_numpy()
    median, mean = (float(np.median(error)), float(error.mean())) if error.size else (np.nan, np.nan)
    return QueryError(workload, form, frame, redrawn, median, mean)


def _answerer(
    queries: Queries,
    quasi: Sequence[Column],
    grouping: Grouping,
    form: Form,
    counterfeit: Bools | None,
    extents: Extents | None,
) -> Callable[..., Answers]:
    """A function from a batch to what the table and the release say; safe to call from several threads."""
    if extents is None and form == "generalised":
        extents = Extents.of(quasi, grouping, counterfeit)
    rows = extents.rows if extents else PublishedRows.of(grouping, counterfeit)
    regions = RegionArrays.of(extents, queries.bases) if extents else None
    own = queries.columns
    published = own if grouping.changed is None else (*own[:-1], with_changed(own[-1], grouping.changed))
    changed = np.empty(0, dtype=np.int64) if grouping.changed is None else grouping.changed.rows
    cells = _cells(queries, published, rows.order)
    nobody = _cells(queries, own, rows.counterfeits)
    withheld = _cells(queries, own, rows.held_back)
    # The pass over the published rows counts all of them as actual. These few are put right on their own.
    corrections = [
        (sign, apart)
        for sign, apart in (
            (-1, nobody),
            (1, withheld),
            (-1, _cells(queries, published, changed)),
            (1, _cells(queries, own, changed)),
        )
        if apart.size
    ]
    having = np.bincount(own[-1].codes, minlength=queries.value_codes)
    having -= np.bincount(own[-1].codes[rows.counterfeits], minlength=queries.value_codes)

    def answer(batch: Batch, only: int | None = None) -> Answers:
        starts = rows.starts if only is None else rows.starts[: only + 1]
        actual = np.empty(kernels.LANES, dtype=np.int64)
        estimated = np.empty(kernels.LANES, dtype=np.float64)
        if regions is None:
            kernels.anatomised(cells, starts, queries.ranged, batch.begin, batch.width, batch.table, actual, estimated)
        else:
            regions.answer(cells, starts, queries.ranged, batch, actual, estimated)
        for sign, apart in corrections:
            found = np.empty(kernels.LANES, dtype=np.int64)
            kernels.matching(apart[:only], queries.ranged, batch.begin, batch.width, batch.table, found)
            actual += sign * found
        return actual, estimated, _no_link(batch, only)

    def _no_link(batch: Batch, only: int | None) -> Floats:
        anybody = queries.without_values(batch)
        both = np.zeros(kernels.LANES, dtype=np.int64)
        for sign, some in ((1, cells), (-1, nobody), (1, withheld)):
            found = np.empty(kernels.LANES, dtype=np.int64)
            kernels.matching(some[:only], queries.ranged, anybody.begin, anybody.width, anybody.table, found)
            both += sign * found
        admitted = queries.admitted(batch, len(quasi), np.arange(queries.value_codes))
        return np.asarray(both * (having @ admitted) / max(int(having.sum()), 1))

    return answer


def _cells(queries: Queries, columns: Sequence[Column], rows: Ints) -> Small:
    """The cells of some rows, as the kernels take them."""
    cells = np.empty((rows.size, len(columns)), dtype=np.uint32)
    for position, column in enumerate(columns):
        # Codes of ranged attributes as they are, others by their line: their base is 0 or where they begin.
        base = 0 if queries.ranged[position] else int(queries.bases[position])
        cells[:, position] = column.codes[rows]
        cells[:, position] += np.uint32(base)
    return cells


def _in_threads(queries: Queries, answer: Callable[[Batch], Answers]) -> Generator[Answers]:
    """Answer batch after batch without end, in their order, a few ahead of what is taken."""
    workers = cores()
    waiting: deque[Future[Answers]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="reissue-queries") as pool:
        try:
            number = 0
            while True:
                while len(waiting) < 2 * workers:
                    waiting.append(pool.submit(lambda batch: answer(queries.draw(batch)), number))
                    number += 1
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@dataclass(frozen=True, repr=False)
class RegionArrays:
    """The published regions of the groups, laid out for the kernel that answers queries from them.

    One for each attribute and group; what does not apply to an attribute stays 0.
    """

    kinds: Ints
    low: Floats
    high: Floats
    set_starts: Ints
    set_lines: Small
    nodes: Small
    """Positions among the distinct nodes that are published, of all hierarchies."""
    leaf_starts: Ints
    """Where each of those begins in `leaf_lines`."""
    leaf_lines: Small
    """The lines of the leaves below each."""

    @classmethod
    def of(cls, extents: Extents, bases: Ints) -> RegionArrays:
        """Lay out what was measured; `bases` says where the lines of each attribute begin."""
        width, groups = len(extents.columns), extents.rows.sizes.size
        kinds = np.zeros(width, dtype=np.int64)
        low, high = np.zeros((width, groups)), np.zeros((width, groups))
        set_starts = np.zeros((width, groups + 1), dtype=np.int64)
        nodes = np.zeros((width, groups), dtype=np.uint32)
        set_lines: list[Small] = [np.empty(0, dtype=np.uint32)]
        leaves: list[Small] = []
        for position, extent in enumerate(extents.columns):
            base = np.uint32(bases[position])
            if isinstance(extent, IntervalExtents):
                kinds[position] = kernels.INTERVAL
                low[position], high[position] = _interval(extent)
            elif isinstance(extent, SetExtents):
                kinds[position] = kernels.SET
                set_starts[position] = extent.starts + sum(part.size for part in set_lines)
                set_lines.append(extent.codes + base)
            else:
                kinds[position] = kernels.NODE
                below, which = _leaves_below(extent)
                nodes[position] = which + len(leaves)
                leaves += [found + base for found in below]
        return cls(
            kinds,
            low,
            high,
            set_starts,
            np.concatenate(set_lines),
            nodes,
            np.cumsum([0, *(found.size for found in leaves)], dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.uint32), *leaves]),
        )

    def answer(
        self,
        cells: Small,
        starts: Ints,
        ranged: Bools,
        batch: Batch,
        actual: Ints,
        estimated: Floats,
    ) -> None:
        """Answer the queries of a batch from the rows and from these regions."""
        shares = np.empty((self.leaf_starts.size - 1, kernels.LANES))
        kernels.node_shares(self.leaf_starts, self.leaf_lines, batch.table, shares)
        kernels.generalised(
            cells,
            starts,
            ranged,
            batch.begin,
            batch.width,
            batch.table,
            self.kinds,
            self.low,
            self.high,
            batch.lower,
            batch.upper,
            self.set_starts,
            self.set_lines,
            self.nodes,
            shares,
            actual,
            estimated,
        )


def _interval(extent: IntervalExtents) -> tuple[Floats, Floats]:
    """The ends on the number line, after the convention of `workload.edges`."""
    half = 0.5 if is_whole(extent.levels) else 0.0
    # Only a query that does not restrict the attribute reaches down to where missing values are put.
    nothing = np.isnan(extent.low)
    return (
        np.where(nothing, -np.inf, extent.low - half),
        np.where(nothing, -np.inf, extent.high + half),
    )


def _leaves_below(extent: NodeExtents) -> tuple[list[Small], Ints]:
    """The leaf positions below each distinct node, and which of those each group has."""
    hierarchy = extent.levels.hierarchy
    used, which = np.unique(extent.node, return_inverse=True)
    return [_positions(hierarchy, int(node)) for node in used], which


def _positions(hierarchy: Hierarchy, node: int) -> Small:
    if hierarchy.is_tree:
        return np.arange(hierarchy.first[node], hierarchy.last[node] + 1, dtype=np.uint32)
    below = [hierarchy.node(label) for label in hierarchy.covers(hierarchy.labels[node])]
    return np.searchsorted(hierarchy.leaf_nodes, below).astype(np.uint32)
