"""The experiments of He, Barman & Naughton: Preventing Equivalence Attacks in Updated, Anonymized Data (ICDE 2011).

| paper                                           | here                                    |
|-------------------------------------------------|-----------------------------------------|
| Figure 7, counterfeits with random updates      | `counterfeits(setting)`                 |
| Figure 8, counterfeits with skewed updates      | `counterfeits(setting, setting.skews)`  |
| Figure 9, selectivity against query error       | `query_errors(setting)`                 |
| Figure 10, elapsed time against e               | `times(setting)`                        |

Each gives a table of results. Every method publishes the same tables, its promises are checked at each release, and
nothing is written to disk. `progress`, if given, is called with the name of each release of each run as it begins;
`..._runs` says what will be run. `reissue_studies.he.figures` draws.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import polars as pl

from reissue.methods import EEquivalence, MInvariance
from reissue.publishing.draft import Draft
from reissue.publishing.rehearsal import everyone
from reissue.utility import QueryError, Workload, query_error
from reissue_studies.he.setting import FULL, RUN_COLUMNS, Compared, Run, Setting
from reissue_studies.progress import Progress, silent
from reissue_studies.queries import errors, over_their_domains
from reissue_studies.stopwatch import Lap, cpu_seconds, seconds

__all__ = [
    "FULL",
    "Run",
    "Setting",
    "counterfeit_runs",
    "counterfeits",
    "largest_counts",
    "query_errors",
    "query_runs",
    "series_times",
    "time_runs",
    "times",
]

RANDOM: tuple[None] = (None,)
SELECTIVITIES = (0.0005, 0.001, 0.002, 0.005, 0.01)
QUERIES = 1_000
TIMED_M = (4, 6, 8, 10)
TIMED_E = (2, 3, 5, 7, 10)
TIMES = ("reading", "grouping", "recoding", "checking", "drafting", "grouping_cpu", "drafting_cpu")

RUN = list(RUN_COLUMNS)


def counterfeit_runs(setting: Setting, skews: Sequence[float | None] = RANDOM) -> list[Run]:
    """m-invariance and e-equivalence over each stream. Buckets are merged: splitting them makes no counterfeits."""
    methods: list[Compared] = [MInvariance(setting.m, split=False), *(EEquivalence(setting.m, e) for e in setting.e)]
    return [Run(method, skew) for skew in skews for method in methods]


def counterfeits(
    setting: Setting | None = None, skews: Sequence[float | None] = RANDOM, *, progress: Progress = silent
) -> pl.DataFrame:
    """Figures 7 and 8: how many counterfeits each release holds, beside its people, for every method and stream."""
    setting = setting or Setting()
    found = [
        {**run.columns, "release": draft.number, "people": len(draft.snapshot), "counterfeits": _made(draft)}
        for run in counterfeit_runs(setting, skews)
        for draft, _ in setting.rehearse(run, progress)
    ]
    counts = dict.fromkeys(("release", "people", "counterfeits"), pl.Int64)
    return pl.DataFrame(found, schema={**RUN_COLUMNS, **counts})


def _made(draft: Draft) -> int:
    return 0 if draft.counterfeits is None else draft.counterfeits.height


def largest_counts(found: pl.DataFrame) -> pl.DataFrame:
    """For each run the most counterfeits of any release (`largest`, `share` of the people there) and of the last."""
    share = (pl.col("counterfeits") / pl.col("people")).max()
    return found.group_by(RUN, maintain_order=True).agg(
        largest=pl.col("counterfeits").max(), share=share, last=pl.col("counterfeits").last()
    )


def query_runs(setting: Setting, skews: Sequence[float | None] = RANDOM) -> list[Run]:
    """m-invariance as it is and with merged buckets, and e-equivalence, over each stream."""
    methods: list[Compared] = [MInvariance(setting.m), *(run.method for run in counterfeit_runs(setting))]
    return [Run(method, skew) for skew in skews for method in methods]


def query_errors(
    setting: Setting | None = None,
    skews: Sequence[float | None] = RANDOM,
    *,
    selectivities: Iterable[float] = SELECTIVITIES,
    queries: int = QUERIES,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Figure 9: the relative error of queries on the last release, for every method and selectivity.

    The same queries are asked of every method: four quasi-identifiers and one sensitive value. `median_ratio` and
    `mean_ratio` compare with m-invariance.
    """
    setting = setting or Setting()
    workloads = [
        Workload(dimensions=4, selectivity=share, count=queries, seed=setting.seed, sensitive_values=1)
        for share in selectivities
    ]
    figures = {"median": pl.Float64, "mean": pl.Float64, "answered": pl.Int64, "redrawn": pl.Int64}
    rows: list[dict[str, object]] = []
    for run in query_runs(setting, skews):
        (last,) = deque(setting.rehearse(run, progress), maxlen=1)
        rows += [
            {**run.columns, "selectivity": workload.selectivity, **errors(asked(last.draft, workload), *figures)}
            for workload in workloads
        ]
    found = pl.DataFrame(rows, schema={**RUN_COLUMNS, "selectivity": pl.Float64, **figures})
    keys = ["skew", "selectivity"]
    plain = found.filter(pl.col("method") == "m-invariance").select(*keys, other_median="median", other_mean="mean")
    return found.join(plain, on=keys, how="left", nulls_equal=True, maintain_order="left").select(
        pl.all().exclude("other_median", "other_mean"),
        median_ratio=pl.col("median") / pl.col("other_median"),
        mean_ratio=pl.col("mean") / pl.col("other_mean"),
    )


def asked(draft: Draft, workload: Workload) -> QueryError:
    """The error of queries on a draft; the same queries whatever ages happen to occur in it."""
    snapshot, grouping = everyone(draft)
    quasi, counterfeit = over_their_domains(snapshot.quasi), snapshot.people < 0
    return query_error(quasi, snapshot.values, grouping, workload, "anatomised", counterfeit=counterfeit)


def time_runs(m: Iterable[int] = TIMED_M, e: Iterable[int] = TIMED_E) -> list[Run]:
    """For each m: m-invariance as it is and with merged buckets, and e-equivalence for each e up to m."""
    sizes = list(e)
    return [Run(method) for each in m for method in _timed(each, sizes)]


def _timed(m: int, e: Iterable[int]) -> list[Compared]:
    return [MInvariance(m), MInvariance(m, split=False), *(EEquivalence(m, each) for each in e if each <= m)]


def times(
    setting: Setting | None = None,
    *,
    m: Iterable[int] = TIMED_M,
    e: Iterable[int] = TIMED_E,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Figure 10: seconds for each release, random updates, by every method.

    `grouping` is what the method takes; `reading` is coding the table and comparing it with the last, `recoding`
    making the public tables, `checking` the checkers of its promises; `drafting` is all of it. These are seconds on the
    clock; `..._cpu` are those of all processors together, which other work on the machine disturbs less.
    """
    setting = setting or Setting()
    runs = time_runs(m, e)
    _warm_up()
    rows = [
        {**run.columns, "release": draft.number, **_stages(laps)}
        for run in runs
        for draft, laps in setting.rehearse(run, progress)
    ]
    return pl.DataFrame(rows, schema={**RUN_COLUMNS, "release": pl.Int64, **dict.fromkeys(TIMES, pl.Float64)})


def _warm_up() -> None:
    """Compile what has to be compiled, and load what is loaded once, before time is taken."""
    small = Setting(rows=1_000, initial=500, turnover=100, releases=3, m=2, e=(2,))
    for run in query_runs(small):
        deque(small.rehearse(run, silent), maxlen=0)


def _stages(laps: dict[str, Lap]) -> dict[str, float]:
    """The stages of drafting by what they are for."""
    return {
        "reading": laps["Reading the table"].wall + laps["Reading columns"].wall,
        "recoding": laps["Recoding"].wall,
        "checking": laps["Checking guarantees"].wall,
        **seconds(laps),
        **cpu_seconds(laps),
    }


def series_times(found: pl.DataFrame) -> pl.DataFrame:
    """The seconds for the whole series, by run."""
    return found.group_by(RUN, maintain_order=True).agg(pl.col(TIMES).sum())
