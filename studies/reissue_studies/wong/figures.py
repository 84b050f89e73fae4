"""Figures 2 to 6 of Wong, Fu, Wang & Pei (2007), drawn from our own runs; and, beyond the paper, 7 and 8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue_studies.drawing import finished, grid, level, lines
from reissue_studies.figure import Figure, Measure, as_it_is, by_number
from reissue_studies.progress import Progress
from reissue_studies.wong import claims as wong_claims
from reissue_studies.wong import experiments as wong
from reissue_studies.wong import knowing as wong_knowing
from reissue_studies.wong.experiments import SELECTIVITY
from reissue_studies.wong.setting import Setting

BEYOND = "not in the paper"
RUN = ["method", "m", "k", "size"]
KINDS = ["dimensions", "selectivity"]


@dataclass(frozen=True)
class Panel:
    """One quantity over another."""

    column: str
    title: str
    over: str
    """The column of the axis from left to right."""
    per_cent: bool = False


AXES = {
    "m": "m", "k": "k", "size": "QID size", "dimensions": "query dimensionality qd", "selectivity": "selectivity s",
}  # fmt: skip


def what_was_run(setting: Setting, *more: str) -> list[str]:
    """The lines below a title: what was run."""
    table = "people invented after the model of Adult" if setting.path is None else "complete rows of Adult"
    return [
        f"{setting.table.height:,} {table}, {setting.protected:,} of them with education below 9th, the protected set; "
        f"seed {setting.seed}",
        *more,
    ]


def _repeated(setting: Setting) -> str:
    return f"means of {setting.repeats} runs" if setting.repeats > 1 else "one run"


def _drawn(data: pl.DataFrame, panel: Panel, *, width: int = 330, height: int = 200, high: float | None = None) -> Any:
    altair = load_altair()
    given = data[panel.over].unique().sort().to_list()
    axis = altair.Axis(values=given, format="~%" if panel.over == "selectivity" else "d", grid=False)
    x = altair.X(
        f"{panel.over}:Q", title=AXES[panel.over], axis=axis, scale=altair.Scale(zero=False, nice=False, padding=8)
    )
    scale = altair.Scale(zero=True) if high is None else altair.Scale(domain=[0, high])
    y = altair.Y(
        f"{panel.column}:Q", title=None, scale=scale, axis=altair.Axis(format="~%" if panel.per_cent else "~g")
    )
    return lines(data, x, y, title=panel.title, width=width, height=height)


def _with_series(found: pl.DataFrame) -> pl.DataFrame:
    return found.with_columns(series=pl.format("{}, k = {}", "method", "k"))


# Figures 2 and 7


def _sweeps(found: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What was found against m, with all attributes, and against how many there are, with the least m."""
    named = found.with_columns(series=pl.format("{} recoding", "recoding"))
    least, most = int(found["m"].to_numpy().min()), int(found["size"].to_numpy().max())
    return named.filter(pl.col("size") == most).sort("m", maintain_order=True), named.filter(pl.col("m") == least).sort(
        "size", maintain_order=True
    )


def problematic_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 2: the share of problematic tuples and their credibility, against m and against QID size."""
    by_m, by_size = _sweeps(found)
    share = "problematic tuples among the sensitive"
    credibility = "their average credibility"
    rows = [
        [
            _drawn(by_m, Panel("share", f"(a) {share}", "m", per_cent=True)),
            _drawn(by_m, Panel("credibility", f"(b) {credibility}", "m"), high=1.0),
        ],
        [
            _drawn(by_size, Panel("share", f"(c) {share}; m = {setting.m[0]}", "size", per_cent=True)),
            _drawn(by_size, Panel("credibility", f"(d) {credibility}; m = {setting.m[0]}", "size"), high=1.0),
        ],
    ]
    said = what_was_run(
        setting,
        f"AlphaK with alpha = 1/m and k = 1; {setting.size} attributes in (a) and (b). Problematic: in a class with a "
        "credibility above 1/m",
    )
    return Chart(found, finished(grid(rows), 2, "What the minimality attack finds", said))


def attack_time_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Beyond the paper: how long the attack takes."""
    by_m, by_size = _sweeps(found)
    rows = [
        [
            _drawn(by_m, Panel("seconds", f"{setting.size} attributes", "m")),
            _drawn(by_size, Panel("seconds", f"m = {setting.m[0]}", "size")),
        ]
    ]
    paper = ", ".join(f"{seconds} s for m = {m}" for m, seconds in wong_claims.ATTACK_SECONDS.items())
    said = what_was_run(
        setting, f"{BEYOND}, which says: {paper}, with 8 attributes. One run each, the attack alone, on the clock"
    )
    drawing = finished(grid(rows), 7, "Seconds for the minimality attack", said)
    return Chart(found.select(*RUN, "recoding", "classes", "groups", "seconds", "grouping"), drawing)


def _attack_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    by_m, by_size = _sweeps(summary)
    shown = ["problematic", "share", "credibility", "certain", "exposed", "generalised"]
    wanted = ["recoding", *shown]
    return {
        "against m": by_m.select("m", *wanted),
        f"against QID size, m = {by_size['m'][0]}": by_size.select("size", *wanted),
        wong_claims.TITLE: wong_claims.of_attack(summary),
    }


def _time_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    by_m, _ = _sweeps(summary)
    table = by_m.select("m", "recoding", "seconds", AlphaK="grouping")
    return {"seconds against m": table, wong_claims.TITLE: wong_claims.of_attack_time(summary)}


# Figures 3 and 4


def _one_table_first(setting: Setting, *, progress: Progress) -> pl.DataFrame:
    return wong.one_table(setting, setting.ends[0], progress=progress)


def _one_table_last(setting: Setting, *, progress: Progress) -> pl.DataFrame:
    return wong.one_table(setting, setting.ends[-1], progress=progress)


def _means(found: pl.DataFrame) -> pl.DataFrame:
    """Means over the repetitions, and how much those differ at most in the mean error."""
    keys = [*RUN, *(name for name in KINDS if name in found.columns)]
    measures = [name for name in found.columns if name not in (*keys, "repeat")]
    spread = pl.col("mean").max() - pl.col("mean").min()
    return found.group_by(keys, maintain_order=True).agg(
        pl.col(measures).mean(), repeats=pl.len(), spread_of_mean=spread
    )


def one_table_chart(number: int) -> Callable[[pl.DataFrame, Setting], Chart]:
    """Figures 3 and 4: time, error, loss and distortion against the number of attributes."""

    def draw(found: pl.DataFrame, setting: Setting) -> Chart:
        data = _with_series(_means(found))
        rows = [
            [
                _drawn(data, Panel("grouping", "(a) seconds, the method alone", "size")),
                _drawn(data, Panel("mean", "(b) average relative error of queries", "size", per_cent=True)),
            ],
            [
                _drawn(data, Panel("loss", "(c) information loss of the quasi-identifiers", "size")),
                _drawn(data, Panel("distortion", "(d) distortion of education", "size")),
            ],
        ]
        m = int(found["m"][0])
        said = what_was_run(
            setting,
            f"m = {m}: Mask(k, l = {m}) and AlphaK(1/{m}, k), one generalised table, {_repeated(setting)}",
            f"{setting.queries:,} queries each, on all attributes and education, s = {SELECTIVITY:g}",
        )
        return Chart(found, finished(grid(rows), number, f"One table, m = {m}", said))

    return draw


def _one_table_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    names = {"grouping": "seconds", "mean": "error", "loss": "loss", "distortion": "distortion"}
    size, m = int(summary["size"].to_numpy().max()), summary["m"][0]
    whole = pl.col("groups").round().cast(pl.Int64)
    largest = summary.filter(pl.col("size") == size).select("method", "k", *names, "changed", whole).rename(names)
    return {
        f"{size} attributes, m = {m}": largest.sort("k", maintain_order=True),
        wong_claims.TITLE: wong_claims.of_one_table(summary),
    }


# Figures 5 and 6


def _usual(found: pl.DataFrame) -> pl.DataFrame:
    """The queries with all dimensions and the usual selectivity."""
    return found.filter(pl.col("dimensions") == pl.col("size"), pl.col("selectivity") == SELECTIVITY)


def by_k_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 5: error and distortion against k."""
    data = _usual(_means(found)).with_columns(series=pl.col("method"))
    rows = []
    for m in setting.ends:
        part = data.filter(pl.col("m") == m)
        error = Panel("mean", f"average relative error of queries; m = {m}", "k", per_cent=True)
        rows.append([_drawn(part, error), _drawn(part, Panel("distortion", f"distortion of education; m = {m}", "k"))])
    said = what_was_run(
        setting,
        f"two tables, {setting.size} attributes, {_repeated(setting)}; {setting.queries:,} queries each, "
        f"qd = {setting.size}, s = {SELECTIVITY:g}",
    )
    chart = _usual(found)
    return Chart(chart, finished(grid(rows), 5, "Two tables: the effect of k", said))


def by_query_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 6: the error of queries against their dimensionality and their selectivity."""
    data = _with_series(_means(found))
    by_size = data.filter(pl.col("selectivity") == SELECTIVITY).sort("dimensions", maintain_order=True)
    by_share = data.filter(pl.col("dimensions") == setting.size).sort("selectivity", maintain_order=True)
    rows = []
    for part, over in ((by_size, "dimensions"), (by_share, "selectivity")):
        panels = {m: Panel("mean", f"average relative error; m = {m}", over, per_cent=True) for m in setting.ends}
        rows.append([_drawn(part.filter(pl.col("m") == m), panel) for m, panel in panels.items()])
    said = what_was_run(
        setting,
        f"two tables, {setting.size} attributes, {_repeated(setting)}; {setting.queries:,} queries for each point",
        f"above s = {SELECTIVITY:g}, below qd = {setting.size}",
    )
    return Chart(found, finished(grid(rows), 6, "Two tables: dimensionality and selectivity of queries", said))


def _by_k_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    usual = _usual(summary).select("method", "m", "k", error="mean", distortion="distortion", changed="changed")
    return {"against k": usual, wong_claims.TITLE: wong_claims.of_two_tables(summary)}


def _by_query_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    size = int(summary["size"].to_numpy().max())
    named = _with_series(summary)
    parts = {
        "dimensions": named.filter(pl.col("selectivity") == SELECTIVITY),
        "selectivity": named.filter(pl.col("dimensions") == size),
    }
    tables = {}
    for over, part in parts.items():
        for m in part["m"].unique(maintain_order=True).to_list():
            of = part.filter(pl.col("m") == m).sort(over, maintain_order=True)
            title = f"average relative error against {AXES[over]}, m = {m}"
            tables[title] = of.pivot("series", index=over, values="mean", maintain_order=True)
    return {**tables, wong_claims.TITLE: wong_claims.of_queries(summary)}


# Figure 8


def _knowing_means(found: pl.DataFrame) -> pl.DataFrame:
    keys = [*RUN, "draw"]
    measures = [name for name in found.columns if name not in (*keys, "repeat")]
    return found.group_by(keys, maintain_order=True).agg(pl.col(measures).mean(), repeats=pl.len())


def knowing_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Beyond the paper: what somebody who knows Mask believes, against k."""
    altair = load_altair()
    means = _knowing_means(found)
    kinds = {
        "formula_mean": "q/m + (1 - 1/m) p, mean",
        "formula_worst": "q/m + (1 - 1/m) p, worst",
        "worst": "reader, worst",
        "observed": "truth, worst",
    }
    data = means.unpivot([*kinds], index=[*RUN, "draw"], variable_name="kind", value_name="belief").drop_nulls()
    data = data.with_columns(series=pl.format("{}: {}", "draw", pl.col("kind").replace(kinds)))
    panels = []
    for m in setting.ends:
        part = data.filter(pl.col("m") == m)
        panel = Panel("belief", f"m = {m}; the grey line is 1/{m}", "k")
        panels.append(altair.layer(_drawn(part, panel, height=260), level(1 / m)))
    said = what_was_run(
        setting,
        f"{BEYOND}; Mask with draw = reference (the paper's) and binomial, {setting.size} attributes, "
        f"{_repeated(setting)}",
        "formula and reader: over the groups of V and L. The reader holds everybody for in the set with 1/m beforehand",
        f"truth: the largest mean true share of {wong_knowing.SEVERAL} or more groups that look alike",
    )
    return Chart(found, finished(grid([panels]), 8, "What somebody who knows Mask believes", said))


def _knowing_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What is believed, and about what: two tables for each m, narrow enough for a terminal."""
    believed = {"formula_worst": "formula", "worst": "reader", "above": "above 1/m", "observed": "truth"}
    groups = {"violating": "V", "others": "L", "true": "q", "changed": "changed"}
    shown = pl.selectors.float().round(3)
    return {
        f"m = {m}, {what}": summary.filter(pl.col("m") == m)
        .select("draw", "k", *names)
        .rename(names)
        .with_columns(shown)
        for m in summary["m"].unique(maintain_order=True).to_list()
        for what, names in (("the surest", believed), ("the groups", groups))
    }


def _one_table(number: int, measure: Measure[Setting], which: str) -> Figure[Setting]:
    title = f"one table, the {which} m"
    return Figure(number, title, measure, wong.compared_steps, one_table_chart(number), _means, _one_table_tables)


FIGURES: Mapping[int, Figure[Setting]] = by_number(
    Figure(
        2, "problematic tuples", wong.attacked, wong.attack_steps, problematic_chart, as_it_is, _attack_tables
    ),
    _one_table(3, _one_table_first, "least"),
    _one_table(4, _one_table_last, "largest"),
    Figure(5, "two tables", wong.two_tables, wong.two_table_steps, by_k_chart, _means, _by_k_tables),
    Figure(6, "two tables", wong.two_tables, wong.two_table_steps, by_query_chart, _means, _by_query_tables),
    Figure(
        7, f"time of the attack ({BEYOND})", wong.attacked, wong.attack_steps, attack_time_chart, as_it_is,
        _time_tables,
    ),
    Figure(
        8, f"somebody who knows Mask ({BEYOND})", wong_knowing.knowing, wong_knowing.knowing_steps, knowing_chart,
        _knowing_means, _knowing_tables,
    ),
)  # fmt: skip
"""The figures that can be drawn, by their number in the paper; from 7 on they are ours."""
