"""The set-up of the experiments of Byun, Sohn, Bertino & Li (2006), section 5: the table, its growth, the methods.

| paper                                     | here                                                          |
|-------------------------------------------|---------------------------------------------------------------|
| Adult, education sensitive                | Adult's own file (`path`), or a generated census              |
| Figure 8: 10K records, then 1,000 more    | `initial`, `step`, up to `rows`                               |
| Figures 9 to 11: 1,000 records at a time  | `first` (one `step`), `step`, up to `rows`                    |
| Static I: everything anonymised each time | `StaticI(l)`, unprotected                                     |
| Static II: new records by themselves      | `StaticII(l)`                                                 |
| Dynamic                                   | `Incremental(l)`, also `strict`; `waiting` says how many wait |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from reissue.errors import ParameterError, count_of
from reissue.methods import Incremental, StaticI, StaticII
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue.samples.census import census
from reissue.samples.collection import load
from reissue.samples.streams import growth
from reissue_studies.progress import Progress
from reissue_studies.setting import StudySetting, refuse, several_shares, several_wholes
from reissue_studies.stopwatch import Stopwatch, Timed

SENSITIVE = "education"
ADULT_QUASI = (
    "age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "salary-class",
)  # fmt: skip
CENSUS_QUASI = ("age", "gender", "birthplace", "occupation")


@dataclass(frozen=True)
class Setting(StudySetting):
    """A table that only grows, and the parameters of the methods that publish it."""

    rows: int = 30_000
    """How many people there are in the end."""
    initial: int = 10_000
    """How many there are at first in Figure 8."""
    step: int = 1_000
    """How many come in each time."""
    l: tuple[int, ...] = (5, 7)  # noqa: E741
    """The values of l to compare."""
    waiting: tuple[float, ...] = (0.02,)
    """The shares of all records that may wait, by `Incremental`, to compare."""
    path: str | Path | None = None
    """UCI's `adult.data`, also gzipped; left out, a census is generated."""
    seed: int = 1

    def __post_init__(self) -> None:
        self.check_sizes(rows=1, initial=1, step=1)
        problems = several_wholes("Setting", "l", self.l, 2)
        problems += several_shares("Setting", "waiting", self.waiting)
        if self.initial > self.rows:
            problems.append("The 'initial' parameter of Setting must be at most 'rows'.")
        refuse("Setting", problems)

    @property
    def first(self) -> int:
        """How many there are at first in Figures 9 to 11: as many as come in each time."""
        return min(self.step, self.rows)

    def releases(self, initial: int) -> int:
        """How many releases there are, the first included, when it has so many people."""
        return 1 + (self.rows - initial) // self.step

    @cached_property
    def pool(self) -> pl.DataFrame:
        """Everybody who comes in, in the end."""
        if self.path is None:
            return census(self.rows, seed=self.seed)
        table = load("adult", path=self.path)
        table = table.select(*ADULT_QUASI, SENSITIVE).drop_nulls()
        if table.height < self.rows:
            raise ParameterError(
                f"The table has {count_of(table.height, 'complete row')}, {self.rows:,} are asked for.",
                hint=f"ask for at most {table.height:,} rows.",
            )
        return table.head(self.rows).with_row_index("person")

    @cached_property
    def schema(self) -> Schema:
        """What the columns are, with their whole domains, so that no release has labels of its own."""
        names = CENSUS_QUASI if self.path is None else ADULT_QUASI
        quasi: dict[str, Kind] = {}
        for name in names:
            column = self.pool[name]
            if column.dtype.is_numeric():
                low, high = column.to_numpy().min(), column.to_numpy().max()
                quasi[name] = Numeric(low=float(low), high=float(high))
            else:
                quasi[name] = Categorical(_labels(column))
        return Schema(
            person="person",
            quasi=quasi,
            sensitive={SENSITIVE: Categorical(_labels(self.pool[SENSITIVE]))},
            drop=[name for name in self.pool.columns if name not in (*names, SENSITIVE, "person")],
        )

    @property
    def runs(self) -> list[Run]:
        """Every method with every l; `Incremental` with every share that may wait, as it is and `strict`."""
        return [Run(method) for l in self.l for method in self._methods(l)]  # noqa: E741

    def _methods(self, l: int) -> list[Compared]:  # noqa: E741
        ours = [Incremental(l, strict=strict, waiting=share) for share in self.waiting for strict in (False, True)]
        return [StaticI(l), StaticII(l), *ours]

    def rehearse(self, run: Run, initial: int, progress: Progress) -> Iterator[Timed]:
        """Publish the growing table by one method, from so many people on, and check its promises."""
        method = run.method
        policy = Policy(self.schema, method, series="protected" if method.protects_series else "unprotected")
        series, releases = Rehearsal(policy), self.releases(initial)
        stream = growth(self.pool, initial=initial, step=self.step, seed=self.seed_of(0))
        for number, table in enumerate(stream, start=1):
            progress(f"{run.title}, release {number} of {releases}")
            stopwatch = Stopwatch()
            yield stopwatch.timed(series.publish(table, seed=self.seed_of(number), progress=stopwatch))


def _labels(column: pl.Series) -> tuple[str, ...]:
    return tuple(sorted(column.cast(pl.String).unique().to_list()))


Compared = StaticI | StaticII | Incremental


@dataclass(frozen=True)
class Run:
    """One method over the growing table."""

    method: Compared

    @property
    def name(self) -> str:
        """The method for people."""
        if isinstance(self.method, Incremental):
            return "Incremental, strict" if self.method.strict else "Incremental"
        return "Static I" if isinstance(self.method, StaticI) else "Static II"

    @property
    def allowed(self) -> float | None:
        """The share of all records that may wait; None for the others, which do not choose."""
        return float(self.method.waiting) if isinstance(self.method, Incremental) else None

    @property
    def title(self) -> str:
        """For people."""
        parts = [self.name] if self.allowed is None else [self.name, f"{self.allowed:.3g} may wait"]
        return ", ".join([*parts, f"l = {self.method.l}"])

    @property
    def columns(self) -> dict[str, object]:
        """What its rows in a table of results begin with."""
        return {"l": self.method.l, "method": self.name, "allowed": self.allowed}


RUN_COLUMNS: dict[str, type[pl.DataType]] = {"l": pl.Int64, "method": pl.String, "allowed": pl.Float64}
