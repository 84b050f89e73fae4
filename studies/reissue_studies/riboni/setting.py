"""The set-up of the experiments of Riboni & Bettini (2009), section 5: the table, its two streams, the methods.

| paper                                              | here                                                       |
|----------------------------------------------------|------------------------------------------------------------|
| 600,000 tuples of a census                         | `rows` of a generated one                                  |
| age, birthplace, education, gender; as numbers     | the same, in the order of their hierarchies                |
| income, 50 values                                  | salary, 50 bins                                            |
| 200,000 tuples, 10 % of them replaced, 21 releases | a third of `rows`                                          |
| 60,000 tuples, 33 % of them replaced, 24 releases  | a tenth of `rows`                                          |
| p, m, h, n                                         | `p`, `m`, `h`, `n`; L is how many releases the stream has  |
| m-invariance, Cor-Split                            | `MInvariance(m)`, `CorSplit(m, n)`                         |

The paper takes n = 3 for both streams. Its own rule (Figure 3) gives 3 for L = 24 and 2 for L = 21; `Setting.n_chosen`
says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import polars as pl

from reissue.methods import CorSplit, MInvariance
from reissue.model.hierarchy import Hierarchy
from reissue.model.schema import Categorical, Numeric, Schema
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue.reasoning.correlation.restriction import n_choose
from reissue.samples.census import GENDERS, OLDEST, YOUNGEST, census, census_hierarchies
from reissue.samples.streams import updates
from reissue_studies.census_table import Sensitive, census_values
from reissue_studies.progress import Progress
from reissue_studies.setting import StudySetting, one_share, refuse
from reissue_studies.stopwatch import Stopwatch, Timed

SENSITIVE: Sensitive = "salary"
"""The paper's sensitive attribute is income, of 50 ranges."""
LEAST_ROWS = 200
"""With fewer, the smaller stream has fewer people than values."""
COMBINED = 2_000
"""Combinations of releases are looked for in series with at most so many people in a release."""


@dataclass(frozen=True)
class Stream:
    """One way in which the table changes."""

    share: float
    """Which share of the people leaves from one release to the next; as many come."""
    initial: int
    """The people of every release."""
    releases: int
    """How many releases there are, the first included. Nobody can be published more often, so this is L."""

    @property
    def turnover(self) -> int:
        """How many leave and come from one release to the next."""
        # Rounded down, or the pool might not last; what floating point takes off a whole number is put back.
        return max(1, int(self.share * self.initial + 1e-9))

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.share:.0%} leave and come"


@dataclass(frozen=True)
class Setting(StudySetting):
    """A table with two streams, and the parameters of the methods that publish it."""

    rows: int = 30_000
    """The pool that people come from; both streams are as large as it allows."""
    releases: int | None = None
    """How many releases each stream has at most; None: 21 and 24."""
    m: int = 6
    n: int = 3
    """Cor-Split keeps correlations between fewer people from coming about."""
    p: float = 0.04
    """How likely a tuple is compromised, in the formulas."""
    h: float = 0.1
    """What the probability of a breach is to stay below, in the formulas."""
    queries: int = 10_000
    """How many queries are asked for each selectivity."""
    seed: int = 1
    """The same seed gives the same tables, releases and queries."""

    def __post_init__(self) -> None:
        self.check_sizes(rows=LEAST_ROWS, m=2, n=1, queries=1, releases=1)
        problems = one_share("Setting", "p", self.p, within=True) + one_share("Setting", "h", self.h, within=True)
        if self.n > self.m:
            problems.append(f"The 'n' parameter of Setting must be at most m = {self.m}. Got {self.n} instead.")
        refuse("Setting", problems)

    @property
    def streams(self) -> tuple[Stream, Stream]:
        """Many people of whom few leave, and fewer people of whom many leave."""
        most = self.releases or 24
        return Stream(0.1, self.rows // 3, min(21, most)), Stream(0.33, self.rows // 10, min(24, most))

    @property
    def small_streams(self) -> tuple[Stream, ...]:
        """The streams with fewer people, for what takes long."""
        return tuple(replace(stream, initial=min(stream.initial, COMBINED)) for stream in self.streams)

    def n_chosen(self, stream: Stream) -> int | None:
        """The n that the paper's rule gives for a stream; None if no n reaches h."""
        return n_choose(self.p, stream.releases, self.m, self.h)

    @cached_property
    def pool(self) -> pl.DataFrame:
        """Everybody who may come in; education and birthplace are numbers, as in the paper."""
        table = census(self.rows, sensitive=SENSITIVE, seed=self.seed_of(0))
        return table.with_columns(
            pl.col(name).replace_strict(list(leaves), range(len(leaves)), return_dtype=pl.Int64)
            for name, leaves in _leaves().items()
        )

    @property
    def schema(self) -> Schema:
        """What the columns are, with their whole domains, so that no release has labels of its own."""
        ranges = {name: Numeric(low=low, high=high) for name, (low, high) in domains().items()}
        return Schema(
            person="person",
            quasi={**ranges, "gender": Categorical(GENDERS)},
            sensitive={SENSITIVE: census_values(SENSITIVE)},
        )

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both methods of the paper."""
        return Run(MInvariance(self.m)), Run(CorSplit(self.m, self.n))

    @property
    def combining_runs(self) -> tuple[Run, ...]:
        """Both, and Cor-Split safe against combinations of releases too."""
        return (*self.runs, Run(CorSplit(self.m, self.n, combinations=True)))

    def states(self, stream: Stream) -> Iterator[pl.DataFrame]:
        """The tables to publish, the same for every method."""
        return updates(
            self.pool,
            initial=stream.initial,
            turnover=stream.turnover,
            releases=stream.releases,
            seed=self.seed_of(1),
        )

    def rehearse(self, stream: Stream, runs: Sequence[Run], progress: Progress) -> Iterator[Drafted]:
        """Publish the tables one after another, each by all methods in turn, generalised, and check their promises.

        In turn, so that whatever else the machine does disturbs the time of all methods alike.
        """
        series = [Rehearsal(Policy(self.schema, run.method)) for run in runs]
        for number, table in enumerate(self.states(stream), start=1):
            for run, one in zip(runs, series, strict=True):
                progress(f"{stream.title}, {run.name}, release {number} of {stream.releases}")
                stopwatch = Stopwatch()
                draft = one.publish(table, seed=self.seed_of(2) + number, progress=stopwatch)
                yield Drafted(run, stopwatch.timed(draft))


def domains() -> dict[str, tuple[int, int]]:
    """The lowest and the highest number of every column of numbers."""
    return {"age": (YOUNGEST, OLDEST), **{name: (0, len(leaves) - 1) for name, leaves in _leaves().items()}}


def _leaves() -> dict[str, tuple[str, ...]]:
    """The labels that are published as numbers, in the order of their hierarchies: neighbours are alike."""
    trees = census_hierarchies()
    return {name: Hierarchy.from_nested(trees[name]).leaves for name in ("birthplace", "education")}


Compared = MInvariance | CorSplit


@dataclass(frozen=True)
class Run:
    """One method."""

    method: Compared

    @property
    def name(self) -> str:
        """The method in the words of the paper."""
        if isinstance(self.method, MInvariance):
            return "m-invariance"
        return "Cor-Split, combinations" if self.method.combinations else "Cor-Split"


class Drafted(NamedTuple):
    """A draft, by which run it was made, and how long it took."""

    run: Run
    timed: Timed


def key(stream: Stream, run: Run) -> dict[str, object]:
    """What rows in a table of results begin with."""
    return {"turnover": stream.share, "method": run.name}


RUN_COLUMNS: dict[str, type[pl.DataType]] = {"turnover": pl.Float64, "method": pl.String}

FULL = Setting(rows=600_000)
"""The size of the paper."""
