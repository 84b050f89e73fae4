"""Random COUNT queries: the usual workload, drawn in batches.

A query asks how many rows match a predicate on each of `dimensions` quasi-identifiers, chosen at random, and
one on the sensitive column. A predicate on attribute A admits b = ceil(|A| s^(1 / (dimensions + 1))) of its
values, so that a share s of the rows would match if attributes were independent and evenly spread (Xiao, Tao:
Anatomy, 2006). |A| counts the values the column's codes stand for; a missing number is not among them, so no
predicate on a numeric attribute admits it.

With `sensitive_values` the predicate on the sensitive column S admits so many of its values, v, and those on the
quasi-identifiers share the rest: b = ceil(|A| (s |S| / v)^(1 / dimensions)). With v = 1 these are the queries of He et
al., 2011, Definition 8: ranges on quasi-identifiers, and one sensitive value.

Differs from the paper: there every predicate is a set of b random values. Here one on a numeric attribute is
a range of b neighbouring values, since "between" is what analysts ask of numbers (and He et al., 2011, section
VII, measure range queries). Labels and leaves of a hierarchy are drawn as sets, as in the paper.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.kernels.query_counts import LANES
from reissue.model.snapshot import Column, Labels, Levels, Numbers
from reissue.utility.group_sizes import check_whole

_EVERYTHING = np.iinfo(np.uint32).max


@dataclass(frozen=True)
class Workload:
    """What kind of queries to ask, and how many."""

    dimensions: int
    """How many quasi-identifiers a query restricts: qd in the literature."""
    selectivity: float
    """The share of the rows that a query is expected to match: s in the literature."""
    count: int = 10_000
    """How many queries to ask."""
    seed: int | None = None
    """The same seed draws the same queries. None: a fresh one, which can then be read here."""
    sensitive: bool = True
    """Whether a query also restricts the sensitive column; without it b = ceil(|A| s^(1 / dimensions))."""
    sensitive_values: int | None = None
    """How many sensitive values a query asks for, 1 for "this value". None: as many as of any other attribute."""

    def __post_init__(self) -> None:
        check_whole("dimensions", "Workload", self.dimensions, least=1)
        check_whole("count", "Workload", self.count, least=1)
        if not (isinstance(self.selectivity, int | float) and 0 < self.selectivity <= 1):
            raise ParameterError(
                "The 'selectivity' parameter of Workload must be a number above 0 and at most 1. "
                f"Got {self.selectivity!r} instead."
            )
        if self.sensitive_values is not None:
            check_whole("sensitive_values", "Workload", self.sensitive_values, least=1)
            if not self.sensitive:
                raise ParameterError(
                    "The 'sensitive_values' parameter of Workload must be left out with sensitive=False, since no "
                    "query then asks for a sensitive value."
                )
        if self.seed is None:
            object.__setattr__(self, "seed", secrets.randbits(48))
        check_whole("seed", "Workload", self.seed, least=0)

    def admitted(self, domain: int, values: int | None = None) -> int:
        """How many values a predicate admits on an attribute with so many: b in the literature.

        With `sensitive_values` this is for quasi-identifiers, and `values` says how many the sensitive column has.
        """
        together, predicates = self.selectivity, self.dimensions + self.sensitive
        if self.sensitive_values is not None:
            if values is None:
                raise ParameterError(
                    "The 'values' parameter of Workload.admitted must be given for a workload with sensitive_values."
                )
            together, predicates = min(1.0, self.selectivity * values / self.sensitive_values), self.dimensions
        share = float(together ** (1 / predicates))
        # The small step back keeps a product that is whole but for rounding from counting as one more.
        return max(1, math.ceil(domain * share - 1e-9))


@dataclass(frozen=True, repr=False)
class Batch:
    """`LANES` queries side by side, in the form the kernels take."""

    begin: npt.NDArray[np.uint32]
    """The first code each query admits of each numeric attribute."""
    width: npt.NDArray[np.uint32]
    """How many codes from there on it admits."""
    lower: Floats
    """Where on the number line this range begins; minus infinity where the query does not restrict it."""
    upper: Floats
    """Where it ends; infinity where the query does not restrict it."""
    table: npt.NDArray[np.uint8]
    """For each code of each other attribute (lines) whether each query (columns) admits it."""


class Queries:
    """All queries of a workload over the domains of a table's columns, numbered batch after batch."""

    def __init__(self, quasi: Sequence[Column], values: Column, workload: Workload) -> None:
        self.workload = workload
        self.columns = (*quasi, values)
        self.ranged = np.array([isinstance(column.levels, Numbers) for column in self.columns])
        """Which attributes are asked for by ranges; the others have lines in the table."""
        self._codes = [_code_count(column.levels) for column in self.columns]
        lines = np.where(self.ranged, 0, self._codes)
        self.bases = np.cumsum(lines) - lines
        """The line of the table where each attribute begins that is not ranged."""
        self._line_count = int(lines.sum())
        self._firsts = [_first_code(column.levels) for column in self.columns]
        self._edges = [edges(column.levels) for column in self.columns]
        self._askable = np.array(self._codes) > np.array(self._firsts)
        self._check()
        domains = [codes - first for codes, first in zip(self._codes, self._firsts, strict=True)]
        self._admitted = [workload.admitted(domain, domains[-1]) for domain in domains]
        if workload.sensitive_values is not None:
            self._admitted[-1] = workload.sensitive_values

    def _check(self) -> None:
        workload, askable = self.workload, int(self._askable[:-1].sum())
        if workload.dimensions > askable:
            raise ParameterError(
                f"The 'dimensions' parameter of Workload must be at most {askable}, since the table has "
                f"{count_of(askable, 'quasi-identifier')} with values to ask for. "
                f"Got {workload.dimensions} instead."
            )
        if workload.sensitive and not self._askable[-1]:
            raise ParameterError(
                f"No query can ask for a value of '{self.columns[-1].name}': all its values are missing.",
                hint="give the Workload sensitive=False.",
            )
        if workload.sensitive_values is not None:
            self._check_values(workload.sensitive_values, self._codes[-1] - self._firsts[-1])

    def _check_values(self, asked: int, values: int) -> None:
        if asked > values:
            raise ParameterError(
                f"The 'sensitive_values' parameter of Workload must be at most {values}, since "
                f"'{self.columns[-1].name}' has no more values to ask for. Got {asked} instead."
            )
        if self.workload.selectivity * values > asked * (1 + 1e-9):
            raise ParameterError(
                f"The 'selectivity' parameter of Workload must be at most {asked / values:.4g} where a query asks for "
                f"{asked} of {count_of(values, 'sensitive value')}. Got {self.workload.selectivity!r} instead.",
                hint="ask for a smaller share, or for more sensitive_values.",
            )

    def draw(self, number: int) -> Batch:
        """Draw the batch of this number; the same for the same seed, whatever was drawn before."""
        seed = self.workload.seed
        assert seed is not None  # Workload draws one where none was given
        rng = np.random.default_rng([seed, number])
        restricted = self._choose(rng)
        shape = (len(self.columns), LANES)
        begin, width = np.zeros(shape, dtype=np.uint32), np.full(shape, _EVERYTHING, dtype=np.uint32)
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        table = np.ones((self._line_count, LANES), dtype=np.uint8)
        for position in range(len(self.columns)):
            lanes = np.flatnonzero(restricted[position])
            if not lanes.size:
                continue
            first, codes = self._firsts[position], self._codes[position]
            admitted = self._admitted[position]
            if self.ranged[position]:
                begins = rng.integers(first, codes - admitted + 1, size=lanes.size)
                begin[position, lanes], width[position, lanes] = begins, admitted
                from_, to = self._edges[position]
                lower[position, lanes], upper[position, lanes] = from_[begins], to[begins + admitted - 1]
            else:
                chosen = np.argpartition(rng.random((codes, lanes.size)), admitted - 1, axis=0)[:admitted]
                lines = np.zeros((codes, lanes.size), dtype=np.uint8)
                np.put_along_axis(lines, chosen, 1, axis=0)
                base = int(self.bases[position])
                table[base : base + codes, lanes] = lines
        return Batch(begin, width, lower, upper, table)

    @property
    def value_codes(self) -> int:
        """How many codes the sensitive column has."""
        return self._codes[-1]

    def admitted(self, batch: Batch, position: int, codes: Ints) -> Bools:
        """Which codes (lines) of an attribute each query (columns) admits."""
        if not self.ranged[position]:
            return np.asarray(batch.table[self.bases[position] + codes], dtype=np.bool_)
        above = codes[:, None] - batch.begin[position].astype(np.int64)
        return np.asarray((above >= 0) & (above < batch.width[position].astype(np.int64)))

    def without_values(self, batch: Batch) -> Batch:
        """The same queries, whatever the sensitive value."""
        begin, width, table = batch.begin.copy(), batch.width.copy(), batch.table.copy()
        begin[-1], width[-1] = 0, _EVERYTHING
        if not self.ranged[-1]:
            table[int(self.bases[-1]) :] = 1
        return replace(batch, begin=begin, width=width, table=table)

    def _choose(self, rng: np.random.Generator) -> Bools:
        """Which attributes (lines) each query (columns) restricts."""
        restricted = np.zeros((len(self.columns), LANES), dtype=np.bool_)
        draw = rng.random((len(self.columns) - 1, LANES))
        draw[~self._askable[:-1]] = 2.0  # after all others
        np.put_along_axis(restricted, np.argsort(draw, axis=0)[: self.workload.dimensions], True, axis=0)
        restricted[-1] = self.workload.sensitive
        return restricted


def is_whole(levels: Numbers) -> bool:
    """Whether the numbers are counted (whole numbers, days) rather than measured."""
    return levels.dtype.is_integer() or levels.dtype == pl.Date


def edges(levels: Levels) -> tuple[Floats, Floats]:
    """Where on the number line a range that begins or ends with each code begins or ends.

    Whole numbers are cells one wide, so that the share of an interval within a range is a ratio of counts.
    The edges between other numbers lie half way between neighbours, so that no value sits on one.
    """
    if not isinstance(levels, Numbers):
        return np.empty(0), np.empty(0)
    values = levels.values
    if is_whole(levels):
        return values - 0.5, values + 0.5
    between = values[:-1] / 2 + values[1:] / 2
    # The first and the last number are their own edges, the first also where the missing value precedes it.
    lower = np.concatenate([values[:1], np.where(np.isnan(between), values[1:], between)])
    return lower, np.concatenate([between, values[-1:]])


def _first_code(levels: Levels) -> int:
    return 1 if isinstance(levels, Numbers) and levels.missing else 0


def _code_count(levels: Levels) -> int:
    if isinstance(levels, Numbers):
        return levels.values.size
    return len(levels.labels) if isinstance(levels, Labels) else levels.hierarchy.base
