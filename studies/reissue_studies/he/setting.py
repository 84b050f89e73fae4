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

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from reissue.errors import ParameterError
from reissue.methods import EEquivalence, MInvariance
from reissue.model.hierarchy import Hierarchy
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.publishing.drafting import Draft
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue.samples.census import (
    GENDERS,
    OCCUPATIONS,
    OLDEST,
    SALARY_BIN,
    SALARY_BINS,
    SENSITIVE,
    YOUNGEST,
    census,
    census_hierarchies,
    whole_numbers,
)
from reissue.samples.streams import largest_skew, updates

Progress = Callable[[str], None]
"""Called with the name of each step, one release of one run, when it begins."""

PAPER_TURNOVER, PAPER_VALUES = 20_000, 50
PAPER_SKEWS = (0, 3, 6, 9, 12, 15)


@dataclass(frozen=True)
class Setting:
    """A table that changes, and the parameters of the methods that publish it."""

    rows: int = 30_000
    """The pool that people come from."""
    initial: int = 10_000
    """The people of every release."""
    turnover: int = 1_000
    """How many leave and come from one release to the next."""
    releases: int = 10
    """How many releases there are, the first included."""
    sensitive: Literal["occupation", "salary"] = "occupation"
    """The sensitive column: OCC or SAL in the paper."""
    m: int = 10
    e: tuple[int, ...] = (3, 5, 7)
    """The values of e to compare with m-invariance."""
    seed: int = 1
    """The same seed gives the same tables, releases and queries."""

    def __post_init__(self) -> None:
        sizes = {"rows": 1, "initial": 1, "turnover": 1, "releases": 1, "m": 2}
        whole_numbers("Setting", self.seed, **{name: (getattr(self, name), least) for name, least in sizes.items()})
        if problems := self._problems():
            if len(problems) == 1:
                raise ParameterError(problems[0])
            raise ParameterError(f"{len(problems)} parameters of Setting do not fit.", problems=problems)

    def _problems(self) -> list[str]:
        problems = []
        if self.sensitive not in SENSITIVE:
            problems.append("The 'sensitive' parameter of Setting must be 'occupation' or 'salary'.")
        if not self.e or not all(type(e) is int and 1 <= e <= self.m for e in self.e) or len({*self.e}) < len(self.e):
            problems.append(
                f"The 'e' parameter of Setting must be different whole numbers from 1 to m = {self.m}. "
                f"Got {self.e!r} instead."
            )
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
    def _seeds(self) -> tuple[int, int, int]:
        """For the pool, the stream and the releases: one each, so that none repeats what another drew."""
        pool, stream, releases = np.random.SeedSequence(self.seed).generate_state(3).tolist()
        return pool, stream, releases

    @cached_property
    def pool(self) -> pl.DataFrame:
        """Everybody who may come in."""
        return census(self.rows, sensitive=self.sensitive, seed=self._seeds[0])

    @property
    def schema(self) -> Schema:
        """What the columns are, with their whole domains, so that no release has labels of its own."""
        quasi: dict[str, Kind] = {
            "age": Numeric(low=YOUNGEST, high=OLDEST),
            "gender": Categorical(GENDERS),
            **{name: Hierarchy.from_nested(tree) for name, tree in census_hierarchies().items()},
        }
        salaries = (str(place * SALARY_BIN + SALARY_BIN // 2) for place in range(SALARY_BINS))
        values = tuple(OCCUPATIONS) if self.sensitive == "occupation" else tuple(salaries)
        return Schema(person="person", quasi=quasi, sensitive={self.sensitive: Categorical(values)})

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
        return updates(
            self.pool,
            initial=self.initial,
            turnover=self.turnover,
            releases=self.releases,
            skew=skew,
            sensitive=self.sensitive,
            seed=self._seeds[1],
        )

    def release_seed(self, number: int) -> int:
        """The seed of the method's random choices for the release of this number."""
        return self._seeds[2] + number

    def rehearse(self, run: Run, progress: Progress) -> Iterator[Timed]:
        """Publish the tables one after another by one method, in anatomised form, and check its promises."""
        series = Rehearsal(Policy(self.schema, run.method, form="anatomised"))
        for number, table in enumerate(self.states(run.skew), start=1):
            progress(f"{run.title}, release {number}")
            stopwatch = Stopwatch()
            draft = series.publish(table, seed=self.release_seed(number), progress=stopwatch)
            yield Timed(draft, stopwatch.laps())


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


class Lap(NamedTuple):
    """How long something took."""

    wall: float
    """Seconds on the clock."""
    cpu: float
    """Seconds of all processors together, which say less about what else the machine was doing."""


class Timed(NamedTuple):
    """A draft, and how long each stage of it took."""

    draft: Draft
    laps: dict[str, Lap]


class Stopwatch:
    """Takes the time of stages: to be called with the name of each as it begins."""

    def __init__(self) -> None:
        self._stages: list[str] = []
        self._begun: list[Lap] = []

    def __call__(self, stage: str) -> None:
        """Begin a stage."""
        self._stages.append(stage)
        self._begun.append(_now())

    def laps(self) -> dict[str, Lap]:
        """How long each stage took; the last one ends now."""
        ends = [*self._begun[1:], _now()]
        return {
            stage: Lap(end.wall - begun.wall, end.cpu - begun.cpu)
            for stage, begun, end in zip(self._stages, self._begun, ends, strict=True)
        }


def _now() -> Lap:
    return Lap(time.perf_counter(), time.process_time())


FULL = Setting(rows=600_000, initial=200_000, turnover=PAPER_TURNOVER, releases=21)
"""The size of the paper."""
