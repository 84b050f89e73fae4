"""The set-up of the experiments of Bu, Fu, Wong, Chen & Li (2008), section 4: people, stream, methods.

| paper                                            | here                                                           |
|--------------------------------------------------|----------------------------------------------------------------|
| 40,478 people, 105,420 diagnoses                 | invented: `people`, and 2.6 diagnoses for each (`people`)      |
| 15, 1 and 60 permanent values                    | as many; in proportion where there are more or fewer people    |
| 20 rounds, vol = 2 % and 5 %                     | `rounds`, `volatile` (`stream`)                                |
| HD-composition: C = 5, l = 4, K = 0              | `HDComposition(l, container, known)`, the first of each        |
| l-diversity                                      | each release by itself (`diversity`)                           |
| m-invariance; a change is a deletion and a return| `MInvariance(m)`: each tuple is a record, a changed one is new |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from reissue.methods import HDComposition, MInvariance
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.publishing.draft import Draft
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue_studies.bu.people import (
    DIAGNOSES,
    HEIGHTS,
    OLDEST,
    PEOPLE,
    PERMANENT,
    PROVINCES,
    SEXES,
    WEIGHTS,
    labels,
    reactions,
    reports,
)
from reissue_studies.bu.stream import Rates, State, stream
from reissue_studies.progress import Progress
from reissue_studies.setting import StudySetting, refuse, several_shares, several_wholes
from reissue_studies.stopwatch import Stopwatch, Timed

SENSITIVE = "diagnosis"
RANGES = {"age": (0, OLDEST), "height": HEIGHTS, "weight": WEIGHTS}
LABELS = {"sex": SEXES, "province": tuple(sorted(PROVINCES))}
LEAST_PEOPLE = 200
"""With fewer, hardly anybody has a permanent value."""


def quasi() -> dict[str, Kind]:
    """The quasi-identifiers with their whole domains, so that no release has labels of its own."""
    numbers: dict[str, Kind] = {name: Numeric(low=low, high=high) for name, (low, high) in RANGES.items()}
    return {**numbers, **{name: Categorical(names) for name, names in LABELS.items()}}


def registered_schema() -> Schema:
    """What HD-composition is told of the columns."""
    return Schema(
        person="person", quasi=quasi(), sensitive={SENSITIVE: Categorical(labels())}, permanent=list(PERMANENT)
    )


def record_schema() -> Schema:
    """What methods are told to whom each tuple is somebody, and no value is permanent."""
    return Schema(person="record", quasi=quasi(), sensitive={SENSITIVE: Categorical(labels())})


class Run(NamedTuple):
    """HD-composition with its parameters."""

    l: int  # noqa: E741  (the papers' letter)
    container: int
    known: int

    @property
    def title(self) -> str:
        """For people."""
        return f"HD-composition, l = {self.l}, C = {self.container}, K = {self.known}"


@dataclass(frozen=True)
class Setting(StudySetting):
    """People and tables that change, and the parameters of the methods that publish them."""

    people: int = PEOPLE
    """How many are registered at first."""
    rounds: int = 20
    l: tuple[int, ...] = (4, 5, 8)  # noqa: E741
    """The values of l, and of m; the first is that of the figures that vary something else."""
    containers: tuple[int, ...] = (5, 10, 20)
    """The values of C; the first where something else varies."""
    known: tuple[int, ...] = (0, 3, 6)
    """The values of K; the first where something else varies."""
    volatile: tuple[float, ...] = (0.02, 0.05)
    """The shares of people whose quasi-identifiers change each time; the first in Figures 4 to 8."""
    queries: int = 5_000
    """How many queries are asked of each release."""
    seed: int = 1
    """The same seed gives the same people, tables, releases and queries."""

    def __post_init__(self) -> None:
        self.check_sizes(people=LEAST_PEOPLE, rounds=1, queries=1)
        problems = several_wholes("Setting", "l", self.l, 2, ascending=True)
        problems += several_wholes("Setting", "containers", self.containers, 1, ascending=True)
        problems += several_wholes("Setting", "known", self.known, 0, ascending=True)
        refuse("Setting", problems + several_shares("Setting", "volatile", self.volatile))

    @property
    def permanent(self) -> dict[str, int]:
        """How many people have each permanent value: the paper's numbers, in proportion, one at least."""
        return {name: max(1, round(count * self.people / PEOPLE)) for name, count in PERMANENT.items()}

    @property
    def runs(self) -> list[Run]:
        """HD-composition with every l, every container size and every number of people known, one of them at a time."""
        first = Run(self.l[0], self.containers[0], self.known[0])
        runs = [first._replace(l=one) for one in self.l]
        runs += [first._replace(container=one) for one in self.containers]
        runs += [first._replace(known=one) for one in self.known]
        return list(dict.fromkeys(runs))

    @cached_property
    def registered(self) -> pl.DataFrame:
        """Reports: everybody at first."""
        return reports(self.people, seed=self.seed_of(0))

    @cached_property
    def diagnoses(self) -> pl.DataFrame:
        """Reactions: everybody's diagnoses."""
        rows = round(DIAGNOSES * self.people / PEOPLE)
        return reactions(self.registered, rows, self.permanent, seed=self.seed_of(1))

    def release_seed(self, number: int) -> int:
        """The seed of a method's random choices, and of the queries, for the release of this number.

        The first three seeds are those of people, diagnoses and streams.
        """
        return self.seed_of(2 + number)

    def states(self, volatile: float | None = None) -> Iterator[State]:
        """The tables and registries to publish, the same for every method."""
        rates = Rates(volatile=self.volatile[0] if volatile is None else volatile)
        return stream(self.registered, self.diagnoses, rounds=self.rounds, rates=rates, seed=self.seed_of(2))

    def rehearse(self, run: Run, progress: Progress, volatile: float | None = None) -> Iterator[Timed]:
        """Publish the tables one after another by HD-composition, and check its promises."""
        series = Rehearsal(Policy(registered_schema(), HDComposition(run.l, run.container, run.known)))
        for state in self.states(volatile):
            progress(f"{run.title}, round {state.number} of {self.rounds}")
            stopwatch = Stopwatch()
            made = series.publish(
                state.table,
                registry=state.registry,
                extinct=state.extinct,
                seed=self.release_seed(state.number),
                progress=stopwatch,
            )
            yield stopwatch.timed(made)

    def rehearse_records(
        self, m: int, progress: Progress, volatile: float | None = None
    ) -> Iterator[tuple[State, Draft, pl.Series]]:
        """Publish the tuples by m-invariance; each state, its draft, and the record of every number in the series."""
        series = Rehearsal(Policy(record_schema(), MInvariance(m)))
        for state in self.states(volatile):
            progress(f"m-invariance, m = {m}, round {state.number} of {self.rounds}")
            draft = series.publish(state.records, seed=self.release_seed(state.number))
            yield state, draft, series.ids
