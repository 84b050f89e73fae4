"""The experiments of Riboni & Bettini: Cor-Split (2009), sections 3 and 5.

| paper                                         | here                                                         |
|-----------------------------------------------|--------------------------------------------------------------|
| Figure 2, the probabilities in closed form    | `formulas()`                                                 |
| Figure 7, hc-unsafe groups                    | `releases(setting)`: `unsafe_when_published`, `unsafe`       |
| Figure 8, counterfeits                        | `releases(setting)`: `counterfeits`, and groups `merged`     |
| Figure 9, query error                         | `query_errors(setting)`                                      |
| not in the paper: time                        | `releases(setting)`: `grouping`, `drafting`                  |
| not in the paper: combinations of releases    | `combinations(setting)`                                      |
| not in the paper: how often people are exposed| `observed_rates(setting)`                                    |

The paper counts correlations between two groups. Three groups and more can tie people together that no two do, even
where every group is hc-safe; `combinations` counts how often that happens.

`progress`, if given, is called with the name of each step as it begins. `reissue_studies.riboni.figures` draws.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import combinations as pairs_of
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.attacks.correlation.correlation import Correlation
from reissue.attacks.equivalence.equivalence import Equivalence, EquivalenceFindings
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.draft import Draft
from reissue.publishing.rehearsal import everyone
from reissue.reasoning.correlation.correlations import Correlations
from reissue.reasoning.correlation.restriction import p_ct, p_hc, p_pb
from reissue.reasoning.equality.equal_sets_search import find_equalities
from reissue.utility import QueryError, Workload, query_error
from reissue_studies.progress import Progress, silent
from reissue_studies.queries import errors, over_their_domains
from reissue_studies.riboni.rates import Rates, rates
from reissue_studies.riboni.setting import FULL, RUN_COLUMNS, Run, Setting, Stream, key
from reissue_studies.stopwatch import cpu_seconds, seconds

__all__ = [
    "FULL",
    "Run",
    "Setting",
    "Stream",
    "combination_steps",
    "combinations",
    "counterfeit_totals",
    "formulas",
    "observed_rates",
    "query_errors",
    "query_steps",
    "rate_steps",
    "release_steps",
    "releases",
    "time_totals",
    "unsafe_totals",
]

SELECTIVITIES = (0.005, 0.01, 0.02, 0.05, 0.1)
COMPROMISED = (0.01, 0.02, 0.04, 0.08)
"""How likely a tuple is compromised, in the curves of p_ct."""
LONGEST = 24
"""The curves go to so many releases."""
WARMED = 3
"""So many releases are made before time is taken."""
SECONDS = 60.0
"""The time for one search for combinations."""
PAIR_SECONDS = 0.4
"""The time for the exact search in two releases alone."""
RUN = list(RUN_COLUMNS)
COUNTS = ("release", "rows", "published", "groups", "unsafe_when_published", "unsafe", "counterfeits", "merged")
TIMES = ("grouping", "drafting", "grouping_cpu", "drafting_cpu")


# Figure 2


def formulas(
    compromised: Sequence[float] = COMPROMISED,
    *,
    p: float = 0.04,
    m: int = 6,
    n: Sequence[int] = (1, 2, 3),
    releases: int = LONGEST,
) -> pl.DataFrame:
    """Figure 2: the probabilities in closed form for somebody who is in 1, 2, ... up to so many releases.

    `quantity` is p_ct for each probability in `compromised`, then p_hc and p_pb for `p`, `m` and each n.
    """
    often = np.arange(1, releases + 1)
    curves: list[tuple[str, float, int | None, int | None, object]] = [
        ("p_ct", one, None, None, p_ct(one, often)) for one in compromised
    ]
    curves += [("p_hc", p, m, one, p_hc(p, often, m, one)) for one in n]
    curves += [("p_pb", p, m, one, p_pb(p, often, m, one)) for one in n]
    names: dict[str, Any] = {"quantity": pl.String, "p": pl.Float64, "m": pl.Int64, "n": pl.Int64}
    rows = [(*of, np.asarray(curve).tolist()) for *of, curve in curves]
    return (
        pl.DataFrame(rows, schema={**names, "probability": pl.List(pl.Float64)}, orient="row")
        .with_columns(releases=pl.lit(often.tolist(), dtype=pl.List(pl.Int64)))
        .explode("releases", "probability")
        .select(*names, "releases", "probability")
    )


# Figures 7 and 8, and time


def releases(setting: Setting | None = None, *, progress: Progress = silent) -> pl.DataFrame:
    """Figures 7 and 8, and time: what each release of each stream holds and takes, by both methods.

    `rows` are those of the table, `published` those of them that are in the release. `unsafe_when_published` counts the
    groups that are hc-unsafe with degree n by comparison with earlier releases, as the paper does; `unsafe` those that
    are so in the end, by comparison with all others. `merged` groups hold each value more than once.

    `grouping` is what the method takes, `drafting` all of it: reading the table, grouping, making the public tables,
    checking the promises. Both are seconds on the clock; `..._cpu` are those of all processors together.
    """
    setting = setting or Setting()
    progress("warming up")
    _warm_up(setting)
    found = [part for stream in setting.streams for part in _streamed(setting, stream, progress)]
    return pl.concat(found).select(*RUN, *COUNTS, "per_mille", "merged_share", *TIMES)


def _warm_up(setting: Setting) -> None:
    """Compile what has to be compiled, and load what is loaded once, before time is taken."""
    for stream in setting.streams:
        deque(islice(setting.rehearse(stream, setting.runs, silent), WARMED * len(setting.runs)), maxlen=0)


def release_steps(setting: Setting) -> int:
    """How often `releases` calls its progress."""
    return 1 + sum(len(setting.runs) * (stream.releases + 1) for stream in setting.streams)


def _streamed(setting: Setting, stream: Stream, progress: Progress) -> list[pl.DataFrame]:
    rows: dict[Run, list[dict[str, object]]] = defaultdict(list)
    views: dict[Run, list[PublishedGroups]] = defaultdict(list)
    values: tuple[object, ...] = ()
    for run, (draft, laps) in setting.rehearse(stream, setting.runs, progress):
        rows[run].append({**key(stream, run), **_counted(draft), **seconds(laps), **cpu_seconds(laps)})
        views[run] += draft.view.releases
        values = draft.view.values
    found = []
    for run in setting.runs:
        progress(f"{stream.title}, {run.name}, comparing releases")
        # The domain of the sensitive column is declared, so all releases number its values alike.
        unsafe = Correlation().run(Published(tuple(views[run]), values)).unsafe_counts(setting.n)
        found.append(
            pl.DataFrame(rows[run], schema_overrides=RUN_COLUMNS)
            .join(unsafe.drop("groups"), on="release", how="left", maintain_order="left")
            .with_columns(
                per_mille=pl.col("counterfeits") / pl.col("rows") * 1_000,
                merged_share=pl.col("merged") / pl.col("groups"),
            )
        )
    return found


def _counted(draft: Draft) -> dict[str, int]:
    (view,) = draft.view.releases
    return {
        "release": draft.number,
        "rows": len(draft.snapshot),
        "published": int(np.count_nonzero(view.members >= 0)),
        "groups": view.group_count,
        "counterfeits": int(np.count_nonzero(view.members < 0)),
        # A group holds each of its values equally often, so the first one tells.
        "merged": int(np.count_nonzero(view.counts[view.value_starts[:-1]] > 1)),
    }


def unsafe_totals(found: pl.DataFrame) -> pl.DataFrame:
    """How many groups of each whole series are hc-unsafe, and the most in any release (`most`)."""
    columns = ("groups", "unsafe_when_published", "unsafe")
    return found.group_by(RUN, maintain_order=True).agg(
        pl.col(columns).sum(),
        most=pl.col("unsafe_when_published").max(),
        share=pl.col("unsafe_when_published").sum() / pl.col("groups").sum(),
    )


def counterfeit_totals(found: pl.DataFrame) -> pl.DataFrame:
    """For each run the most counterfeits of any release and those of the last; merged groups of the whole series."""
    return found.group_by(RUN, maintain_order=True).agg(
        rows=pl.col("rows").last(),
        most=pl.col("counterfeits").max(),
        most_per_mille=pl.col("per_mille").max(),
        last=pl.col("counterfeits").last(),
        merged=pl.col("merged").sum(),
        merged_share=pl.col("merged").sum() / pl.col("groups").sum(),
        held_back=(pl.col("rows") - pl.col("published")).max(),
    )


def time_totals(found: pl.DataFrame) -> pl.DataFrame:
    """Seconds for the whole series, and against m-invariance's."""
    totals = found.group_by(RUN, maintain_order=True).agg(pl.col(TIMES).sum())
    plain = totals.filter(pl.col("method") == "m-invariance").select("turnover", pl.col(TIMES).name.prefix("of_"))
    ratios = {f"{name}_ratio": pl.col(name) / pl.col(f"of_{name}") for name in TIMES}
    joined = totals.join(plain, on="turnover", how="left", maintain_order="left").with_columns(**ratios)
    return joined.select(*RUN, *TIMES, *ratios)


# Figure 9


def query_errors(
    setting: Setting | None = None,
    *,
    selectivities: Iterable[float] = SELECTIVITIES,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Figure 9: the relative error of queries on the last release of each stream, by method and expected selectivity.

    Queries ask how many people are within ranges of all four quasi-identifiers (either or both genders), in the
    generalised form; the same ones of both methods. `ratio` compares the median with m-invariance's.
    """
    setting = setting or Setting()
    workloads = [
        Workload(dimensions=4, selectivity=share, count=setting.queries, seed=setting.seed, sensitive=False)
        for share in selectivities
    ]
    figures = {"median": pl.Float64, "mean": pl.Float64, "answered": pl.Int64, "redrawn": pl.Int64}
    rows: list[dict[str, object]] = []
    for stream in setting.streams:
        last = deque(setting.rehearse(stream, setting.runs, progress), maxlen=len(setting.runs))
        for run, (draft, _) in last:
            progress(f"{stream.title}, {run.name}, asking queries")
            rows += [
                {**key(stream, run), "selectivity": workload.selectivity, **errors(asked(draft, workload), *figures)}
                for workload in workloads
            ]
    found = pl.DataFrame(rows, schema={**RUN_COLUMNS, "selectivity": pl.Float64, **figures})
    plain = found.filter(pl.col("method") == "m-invariance").select("turnover", "selectivity", other="median")
    joined = found.join(plain, on=["turnover", "selectivity"], how="left", maintain_order="left")
    return joined.select(pl.all().exclude("other"), ratio=pl.col("median") / pl.col("other"))


def query_steps(setting: Setting) -> int:
    """How often `query_errors` calls its progress."""
    return sum(len(setting.runs) * (stream.releases + 1) for stream in setting.streams)


def asked(draft: Draft, workload: Workload) -> QueryError:
    """The error of queries on a draft; the same queries whatever numbers happen to occur in it."""
    snapshot, grouping = everyone(draft)
    quasi, counterfeit = over_their_domains(snapshot.quasi), snapshot.people < 0
    return query_error(quasi, snapshot.values, grouping, workload, "generalised", counterfeit=counterfeit)


# Not in the paper: combinations of releases


def combinations(setting: Setting | None = None, *, progress: Progress = silent) -> pl.DataFrame:
    """How far combinations of releases tie people together, in series with fewer people, one row for each run.

    `unsafe` counts the hc-unsafe groups: all that comparing two groups shows. The attack `Equivalence` combines any
    number of them. `smallest` is the size of the smallest equal sets it found below n, `pairs` how many pairs of people
    have the same value, `sets` how many larger sets below n it found, `people` how many of those `seen` in any release
    are in either. `only_combined` are those of them that no two groups tie to fewer than n: that is how often safety in
    pairs is not enough. Where no group is unsafe, `by_two_releases` are those for whom several groups of two releases
    were found to do; the others take three releases or more. `proven`: there are no others than those found.
    Counterfeits take part, but are not counted among people and pairs.
    """
    setting = setting or Setting()
    rows = [row for stream in setting.small_streams for row in _combined(setting, stream, progress)]
    size, found = ("rows", "releases", "seen", "groups"), ("unsafe", "smallest", "pairs", "sets", "people")
    counts = dict.fromkeys((*size, *found, "only_combined", "by_two_releases"), pl.Int64)
    return pl.DataFrame(rows, schema={**RUN_COLUMNS, **counts, "share": pl.Float64, "proven": pl.Boolean})


def combination_steps(setting: Setting) -> int:
    """How often `combinations` calls its progress."""
    return sum(len(setting.combining_runs) * (stream.releases + 1) for stream in setting.small_streams)


def _combined(setting: Setting, stream: Stream, progress: Progress) -> list[dict[str, object]]:
    views: dict[Run, list[PublishedGroups]] = defaultdict(list)
    values: tuple[object, ...] = ()
    for run, (draft, _) in setting.rehearse(stream, setting.combining_runs, progress):
        views[run] += draft.view.releases
        values = draft.view.values
    rows = []
    for run in setting.combining_runs:
        progress(f"{stream.title}, {run.name}, combining releases")
        size = {"rows": stream.initial, "releases": stream.releases}
        rows.append({**key(stream, run), **size, **linked(Published(tuple(views[run]), values), setting.n)})
    return rows


def linked(view: Published, n: int) -> dict[str, object]:
    """Who is tied to fewer than n people, by two groups and by any number of them."""
    pairwise = Correlation().run(view).found
    findings = Equivalence(e=n, seconds=SECONDS).run(view)
    found = findings.found
    real = found.ways.numbers >= 0
    people = found.ways.numbers[(found.best < n) & real]
    seen, unsafe = int(np.count_nonzero(real)), int(np.count_nonzero(_smallest(pairwise) < n))
    return {
        "seen": seen,
        "groups": pairwise.release.size,
        "unsafe": unsafe,
        "smallest": findings.minimum,
        "pairs": _pairs(findings),
        "sets": int(np.count_nonzero(found.sets.norms // 2 < n)),
        "people": people.size,
        "only_combined": int(np.count_nonzero(~np.isin(people, _tied_by_two(pairwise, n)))),
        "by_two_releases": None if unsafe else _tied_by_two_releases(view, n, people.size),
        "share": people.size / seen,
        "proven": found.bound is None or found.bound >= n,
    }


def _smallest(found: Correlations) -> npt.NDArray[np.int64]:
    """For each group the size of the smallest set that comparing it with another leaves."""
    return np.minimum(found.smallest_before, found.smallest_after)


def _tied_by_two(found: Correlations, n: int) -> list[int]:
    """Everybody in a set of fewer than n that two groups correlate, by number."""
    tied: set[int] = set()
    for group in np.flatnonzero(_smallest(found) < n).tolist():
        for other in found.partners(group).tolist():
            here, there = found.apart(group, other)
            if here.size < n:
                tied.update(here.tolist(), there.tolist())
    return list(tied)


def _tied_by_two_releases(view: Published, n: int, most: int) -> int:
    """How many people two releases without the others were found to tie to fewer than n; none if `most` is 0."""
    tied = np.zeros(0, dtype=np.int64)
    for two in pairs_of(view.releases, 2) if most else ():
        found = find_equalities(Published(two, view.values), n, SECONDS, PAIR_SECONDS)
        members = found.ways.numbers
        tied = np.union1d(tied, members[(found.best < n) & (members >= 0)])
    return tied.size


def _pairs(findings: EquivalenceFindings) -> int:
    """How many pairs of people, counterfeits left out, have the same value."""
    names = findings.found.names[findings.found.ways.numbers >= 0]
    sizes = np.bincount(names) if names.size else np.zeros(0, dtype=np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


# Not in the paper: observed rates


def rates_of(setting: Setting) -> Rates:
    """What is compromised how often: where breaches are common, and as in the paper's first stream."""
    first = setting.streams[0]
    paper = (setting.m, setting.n, setting.p, first.releases)
    return Rates(people=min(Rates().people, first.initial), paper=paper, seed=setting.seed)


def observed_rates(setting: Setting | None = None, *, progress: Progress = silent) -> pl.DataFrame:
    """How often values are ruled out and people exposed, beside the formulas: see `rates.rates`."""
    return rates(rates_of(setting or Setting()), progress=progress)


def rate_steps(setting: Setting) -> int:
    """How often `observed_rates` calls its progress."""
    wanted = rates_of(setting)
    return len(wanted.L) * sum(len(wanted.methods(m)) for m in wanted.m) + 3
