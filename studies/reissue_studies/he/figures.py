"""Figures 6 to 10 of He, Barman & Naughton (ICDE 2011), drawn from our own runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue_studies.drawing import MERGED, finished, lines, release_axis
from reissue_studies.figure import Figure, by_number
from reissue_studies.he import experiments as he
from reissue_studies.he.attack import attack_runs, attacked_e, compromised, last_counts
from reissue_studies.he.setting import Run, Setting
from reissue_studies.progress import Progress

COURSES = 4
"""For so many of the largest skews Figure 8 shows every release."""


def _every_release(runs: Callable[[Setting], list[Run]]) -> Callable[[Setting], int]:
    """Progress is told of each release of each run."""
    return lambda setting: len(runs(setting)) * setting.releases


def _by_method(*rows: str, **shown: str) -> Callable[[pl.DataFrame], dict[str, pl.DataFrame]]:
    """For each of these columns of a summary a table with this title: a column for each method, rows for `rows`."""

    def tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        named = with_series(summary, short=True)
        return {
            title: named.pivot("series", index=rows, values=column, maintain_order=True)
            for column, title in shown.items()
        }

    return tables


def _streams(setting: Setting) -> tuple[float | None, float | None]:
    """For Figure 9: random updates, and those with the paper's largest skew."""
    return None, setting.skews[-2] if len(setting.skews) > 1 else 0.0


def what_was_run(setting: Setting, *more: str, m: str | None = None, e: str | None = None) -> list[str]:
    """The lines below a title: what was run."""
    es = ", ".join(map(str, setting.e)) if e is None else e
    return [
        f"{setting.initial:,} people in each of {setting.releases} releases, {setting.turnover:,} leave and come each "
        f"time; pool of {setting.rows:,}",
        f"{setting.sensitive} is sensitive; m = {setting.m if m is None else m}, e = {es}, seed {setting.seed}",
        *more,
    ]


def with_series(frame: pl.DataFrame, *, short: bool = False) -> pl.DataFrame:
    """With a column `series`: the method and its e, as the legend says it, or in short."""
    with_e = pl.format("e = {}", "e") if short else pl.format("{}, e = {}", "method", "e")
    without = pl.col("method").replace({MERGED: "m-inv. merged"}) if short else pl.col("method")
    return frame.with_columns(series=pl.when(pl.col("e").is_null()).then(without).otherwise(with_e))


def attacks(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 6: people compromised against the releases."""
    altair = load_altair()
    e = attacked_e(setting)
    drawing = lines(
        with_series(found), release_axis(), altair.Y("compromised:Q", title="people compromised"),
        title=f"People in equal sets of fewer than {e}, so far", width=560, height=300,
    )  # fmt: skip
    open_runs = with_series(last_counts(found).filter(~pl.col("complete")))["series"].to_list()
    said = ["everybody in a set proven to have the same values as another one of its size"]
    if open_runs:
        said.append(f"{', '.join(open_runs)}: all that comparing groups finds; there may be more")
    title = "People compromised by equivalence attacks"
    return Chart(found, finished(drawing, 6, title, what_was_run(setting, *said, e=str(e))))


def random_updates(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 7: counterfeits in every release."""
    drawing = lines(
        with_series(found), release_axis(), load_altair().Y("counterfeits:Q", title="counterfeits"),
        title="Counterfeits published in each release", width=560, height=300,
    )  # fmt: skip
    said = what_was_run(setting, "buckets of m-invariance are merged; to split them takes the same counterfeits")
    return Chart(found, finished(drawing, 7, "Counterfeits with random updates", said))


def skewed_updates(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 8: the most counterfeits of any release against the skew, and every release for the largest skews."""
    altair = load_altair()
    largest = lines(
        with_series(he.largest_counts(found)),
        altair.X("skew:Q", title="skewness s", scale=altair.Scale(nice=False, padding=8)),
        altair.Y("largest:Q", title="counterfeits"), title="Most counterfeits in any release", width=380, height=300,
    )  # fmt: skip
    skews = found["skew"].unique().sort().to_list()[-COURSES:]
    named = with_series(found)
    high = max(int(named["counterfeits"].to_numpy().max()), 1)
    courses = [
        lines(
            named.filter(pl.col("skew") == skew), release_axis(),
            altair.Y("counterfeits:Q", title=None, scale=altair.Scale(domain=[0, high])),
            title=f"In each release, s = {skew:.3g}", width=250, height=115,
        )
        for skew in skews
    ]  # fmt: skip
    drawing = altair.hconcat(largest, altair.concat(*courses, columns=2))
    said = what_was_run(
        setting, f"slopes of the paper made for this turnover; the largest possible is {setting.largest_skew:.4g}"
    )
    return Chart(found, finished(drawing, 8, "Counterfeits with skewed updates", said))


def selectivity(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 9: the error of queries against how many rows they select."""
    altair = load_altair()
    panels = {
        "median": "Median relative error",
        "mean": "Mean relative error",
        "median_ratio": "Median error, m-invariance = 1",
    }
    shares = found["selectivity"].unique().sort().to_list()
    axis = altair.Axis(values=shares, format="~%", labelAngle=0)
    x = altair.X(
        "selectivity:Q", title="selectivity", scale=altair.Scale(type="log", nice=False, padding=12), axis=axis
    )
    streams = found["skew"].unique(maintain_order=True).to_list()
    rows = []
    for skew in streams:
        same = with_series(found).filter(pl.col("skew").eq_missing(pl.lit(skew, dtype=pl.Float64)))
        updates = "random updates" if skew is None else f"skewed updates, s = {skew:.3g}"
        rows.append(
            altair.hconcat(
                *(
                    lines(
                        same, x, altair.Y(f"{column}:Q", title=None, scale=_error_scale(same[column])),
                        title=f"{title}; {updates}", width=290, height=220,
                    )
                    for column, title in panels.items()
                )
            )
        )  # fmt: skip
    said = what_was_run(
        setting,
        f"{int(found['answered'].to_numpy().max()):,} queries for each selectivity, the same for every method, on the "
        "last release, anatomised: four quasi-identifiers and one sensitive value",
        "split or merged, m-invariance answers alike (Proposition 1)",
    )
    return Chart(found, finished(altair.vconcat(*rows), 9, "Query error against selectivity", said))


def _error_scale(errors: pl.Series) -> Any:
    """From 0; a ratio near 1 from 0.8 to 1.2, or as far as it goes."""
    if not errors.name.endswith("_ratio"):
        return load_altair().Scale(zero=True)
    ratios = errors.filter(errors.is_finite()).to_list()
    return load_altair().Scale(domain=[min(0.8, *ratios, 1), max(1.2, *ratios, 1)], nice=True)


def elapsed(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 10: seconds for the whole series against e, for each m."""
    altair = load_altair()
    totals = he.series_times(found).with_columns(series=pl.col("method"))
    panels = {"grouping": "method alone", "drafting": "whole draft", "drafting_cpu": "whole draft, CPU"}
    sizes = totals["m"].unique(maintain_order=True).to_list()
    rows = [
        altair.hconcat(*(_elapsed_panel(totals, m, column, f"m = {m}; {title}") for m in sizes))
        for column, title in panels.items()
    ]
    said = what_was_run(
        setting,
        "one run each; wall time, and CPU time of all threads. Method alone: who is published with whom. Whole draft:",
        "reading the table, grouping, making the public tables and checking the promises; nothing is written to disk.",
        "m-invariance has no e: its time is drawn as a level",
        m=", ".join(map(str, sizes)),
        e=", ".join(map(str, totals["e"].drop_nulls().unique().sort().to_list())),
    )
    return Chart(found, finished(altair.vconcat(*rows), 10, "Seconds for the whole series, random updates", said))


def _elapsed_panel(totals: pl.DataFrame, m: int, column: str, title: str) -> Any:
    altair = load_altair()
    es = totals["e"].drop_nulls().unique().sort().to_list()
    high = float(totals[column].to_numpy().max())
    same = totals.filter(pl.col("m") == m)
    # A level is a line from the first e to the last.
    ends = pl.DataFrame({"at": [es[0], es[-1]]})
    levels = same.filter(pl.col("e").is_null()).join(ends, how="cross")
    data = pl.concat([levels, same.drop_nulls("e").with_columns(at="e")])
    domain = altair.Scale(domain=[es[0], es[-1]], nice=False, padding=8)
    return lines(
        data, altair.X("at:Q", title="e", axis=altair.Axis(values=es, format="d"), scale=domain),
        altair.Y(f"{column}:Q", title="seconds", scale=altair.Scale(domain=[0, high * 1.05])),
        title=title, width=170, height=190,
    )  # fmt: skip


def _error_summary(found: pl.DataFrame) -> pl.DataFrame:
    return found.select(*he.RUN, "selectivity", "median", "mean", "median_ratio", "mean_ratio")


# What is run


def _skewed_runs(setting: Setting) -> list[Run]:
    return he.counterfeit_runs(setting, setting.skews)


def _skewed(setting: Setting, *, progress: Progress) -> pl.DataFrame:
    return he.counterfeits(setting, setting.skews, progress=progress)


def _query_runs(setting: Setting) -> list[Run]:
    return he.query_runs(setting, _streams(setting))


def _query_errors(setting: Setting, *, progress: Progress) -> pl.DataFrame:
    return he.query_errors(setting, _streams(setting), progress=progress)


def _time_runs(setting: Setting) -> list[Run]:
    return he.time_runs()


COUNTED = {"largest": "most counterfeits in any release", "share": "as a share of the people"}

FIGURES: Mapping[int, Figure[Setting]] = by_number(
    Figure(
        6,
        "people compromised by equivalence attacks",
        compromised,
        _every_release(attack_runs),
        attacks,
        last_counts,
        _by_method("m", compromised="people compromised after the last release", share="as a share of all people"),
    ),
    Figure(
        7,
        "counterfeits, random updates",
        he.counterfeits,
        _every_release(he.counterfeit_runs),
        random_updates,
        he.largest_counts,
        _by_method("m", **COUNTED),
    ),
    Figure(
        8,
        "counterfeits, skewed updates",
        _skewed,
        _every_release(_skewed_runs),
        skewed_updates,
        he.largest_counts,
        _by_method("skew", **COUNTED),
    ),
    Figure(
        9,
        "relative error of queries",
        _query_errors,
        _every_release(_query_runs),
        selectivity,
        _error_summary,
        _by_method(
            "skew", "selectivity", median="median relative error", median_ratio="median error, m-invariance = 1"
        ),
    ),
    Figure(
        10,
        "seconds for the whole series",
        he.times,
        _every_release(_time_runs),
        elapsed,
        he.series_times,
        _by_method("m", grouping="method alone", drafting="whole draft", drafting_cpu="whole draft, CPU seconds"),
    ),
)
"""The figures that can be drawn, by their number in the paper."""
