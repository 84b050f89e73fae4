"""The set-up of the experiments of He, Barman & Naughton (ICDE 2011), section VII.A: tables, streams, methods.

| paper                                | here                                                           |
|--------------------------------------|----------------------------------------------------------------|
| OCC, SAL                             | `sensitive`: occupation, salary (a generated census)           |
| D, d, r                              | `rows`, `initial`, `turnover`                                  |
| (D - d) / r snapshots after T0       | `releases` - 1                                                 |
| skewness s, from 0 to 15 (r = 20,000)| `Setting.skews`, scaled to the turnover; the largest at last   |
| m-invariance                         | `MInvariance(m)`; merged buckets: `MInvariance(m, split=False)`|
| e-equivalence                        | `EEquivalence(m, e)`                                           |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from reissue.methods import EEquivalence, MInvariance
from reissue.model.schema import Schema
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue.samples.census import SENSITIVE, census
from reissue.samples.streams import updates
from reissue_studies.census_table import Sensitive, census_schema
from reissue_studies.he.skew import largest_skew, skewed_updates
from reissue_studies.progress import Progress
from reissue_studies.setting import StudySetting, refuse, several_wholes
from reissue_studies.stopwatch import Stopwatch, Timed

PAPER_TURNOVER, PAPER_VALUES = 20_000, 50
PAPER_SKEWS = (0, 3, 6, 9, 12, 15)


@dataclass(frozen=True)
class Setting(StudySetting):
    """A table that changes, and the parameters of the methods that publish it."""

    rows: int = 30_000
    """The pool that people come from."""
    initial: int = 10_000
    """The people of every release."""
    turnover: int = 1_000
    """How many leave and come from one release to the next."""
    releases: int = 10
    """How many releases there are, the first included."""
    sensitive: Sensitive = "occupation"
    """The sensitive column: OCC or SAL in the paper."""
    m: int = 10
    e: tuple[int, ...] = (3, 5, 7)
    """The values of e to compare with m-invariance."""
    seed: int = 1
    """The same seed gives the same tables, releases and queries."""

    def __post_init__(self) -> None:
        self.check_sizes(rows=1, initial=1, turnover=1, releases=1, m=2)
        refuse("Setting", self._problems())

    def _problems(self) -> list[str]:
        problems = []
        if self.sensitive not in SENSITIVE:
            problems.append("The 'sensitive' parameter of Setting must be 'occupation' or 'salary'.")
        problems += several_wholes("Setting", "e", self.e, 1, self.m, because="m = ")
        most = [("initial", self.rows, "the 'rows' of the pool"), ("turnover", self.initial, "the 'initial' rows")]
        if self.initial <= self.rows:
            reach = 1 + (self.rows - self.initial) // self.turnover
            most.append(("releases", reach, "until the pool is used up"))
        for name, limit, why in most:
            if getattr(self, name) > limit:
                got = getattr(self, name)
                problems.append(f"The '{name}' parameter of Setting must be at most {limit}, {why}. Got {got} instead.")
        return problems

    @cached_property
    def pool(self) -> pl.DataFrame:
        """Everybody who may come in."""
        return census(self.rows, sensitive=self.sensitive, seed=self.seed_of(0))

    @property
    def schema(self) -> Schema:
        """What the columns are, with their whole domains, so that no release has labels of its own."""
        return census_schema(self.sensitive)

    @property
    def largest_skew(self) -> float:
        """The steepest slope that a batch of the turnover allows."""
        return largest_skew(self.turnover, self.pool[self.sensitive].n_unique())

    @property
    def skews(self) -> tuple[float, ...]:
        """The paper's slopes, 0 to 15 for 20,000 rows over 50 values, made for this turnover; then the largest."""
        values = self.pool[self.sensitive].n_unique()
        if values == 1:
            return (0.0,)
        pairs = PAPER_VALUES * (PAPER_VALUES - 1) / (values * (values - 1))
        return (*(skew * (self.turnover / PAPER_TURNOVER) * pairs for skew in PAPER_SKEWS), self.largest_skew)

    def states(self, skew: float | None) -> Iterator[pl.DataFrame]:
        """The tables to publish, the same for every method; random updates where there is no skew."""
        initial, turnover, releases, seed = self.initial, self.turnover, self.releases, self.seed_of(1)
        if skew is None:
            return updates(self.pool, initial=initial, turnover=turnover, releases=releases, seed=seed)
        return skewed_updates(
            self.pool,
            initial=initial,
            turnover=turnover,
            skew=skew,
            releases=releases,
            sensitive=self.sensitive,
            seed=seed,
        )

    def release_seed(self, number: int) -> int:
        """The seed of the method's random choices for the release of this number."""
        return self.seed_of(2) + number

    def rehearse(self, run: Run, progress: Progress) -> Iterator[Timed]:
        """Publish the tables one after another by one method, in anatomised form, and check its promises."""
        series = Rehearsal(Policy(self.schema, run.method, form="anatomised"))
        for number, table in enumerate(self.states(run.skew), start=1):
            progress(f"{run.title}, release {number}")
            stopwatch = Stopwatch()
            yield stopwatch.timed(series.publish(table, seed=self.release_seed(number), progress=stopwatch))


Compared = MInvariance | EEquivalence


@dataclass(frozen=True)
class Run:
    """One method over one stream."""

    method: Compared
    skew: float | None = None

    @property
    def name(self) -> str:
        """The method in the words of the paper."""
        if isinstance(self.method, EEquivalence):
            return "e-equivalence"
        return "m-invariance" if self.method.split else "m-invariance, merged"

    @property
    def e(self) -> int | None:
        """None for m-invariance."""
        return self.method.e if isinstance(self.method, EEquivalence) else None

    @property
    def title(self) -> str:
        """For people."""
        parts = [self.name, f"m = {self.method.m}"]
        parts += [] if self.e is None else [f"e = {self.e}"]
        parts += [] if self.skew is None else [f"skew {self.skew:.3g}"]
        return ", ".join(parts)

    @property
    def columns(self) -> dict[str, object]:
        """What its rows in a table of results begin with."""
        return {"method": self.name, "m": self.method.m, "e": self.e, "skew": self.skew}


RUN_COLUMNS: dict[str, type[pl.DataType]] = {"method": pl.String, "m": pl.Int64, "e": pl.Int64, "skew": pl.Float64}


FULL = Setting(rows=600_000, initial=200_000, turnover=PAPER_TURNOVER, releases=21)
"""The size of the paper."""
