"""Figures 8 to 11 of Byun, Sohn, Bertino & Li (2006), drawn from our own runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue_studies.byun import experiments as byun
from reissue_studies.byun.setting import RUN_COLUMNS, Progress, Setting
from reissue_studies.drawing import finished

RUN = list(RUN_COLUMNS)
STRICT = "Incremental, strict"
STATIC = {"Static I": ("#000000", "cross"), "Static II": ("#D55E00", "square")}
PALE, DARK = (134, 190, 224), (8, 48, 107)
"""`Incremental` is blue, the darker the more may wait."""
SHAPES = ("circle", "triangle-up", "diamond", "triangle-down", "triangle-right")


@dataclass(frozen=True)
class Panel:
    """One quantity, drawn for each l."""

    column: str
    title: str
    per_cent: bool = False


@dataclass(frozen=True)
class Figure:
    """What to run for a figure, how to draw it, and what to say about it in few words."""

    number: int
    title: str
    heading: str
    measure: Callable[[Setting, Progress], pl.DataFrame]
    """The same for figures that are drawn from the same runs."""
    count: Callable[[Setting], int]
    panels: tuple[Panel, ...]
    columns: tuple[str, ...]
    """The columns of what was measured that belong to the figure."""
    summary: Callable[[pl.DataFrame], pl.DataFrame]
    """One row for each run."""
    shown: Mapping[str, str]
    """The columns of the summary that are printed, and what they are called there."""
    said: Callable[[pl.DataFrame, Setting], list[str]]

    def steps(self, setting: Setting) -> int:
        """How often `measure` calls its progress."""
        return self.count(setting)

    def tables(self, summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The summary for people: for each l a table with a row for each method."""
        named = summary.with_columns(pl.col("method").replace({STRICT: "strict"}))
        several = summary["allowed"].drop_nulls().n_unique() > 1
        wanted = {"method": "method", **({"allowed": "may wait"} if several else {}), **self.shown}
        return {
            f"l = {l}": named.filter(pl.col("l") == l).select(*wanted).rename(wanted)
            for l in summary["l"].unique(maintain_order=True).to_list()  # noqa: E741
        }

    def draw(self, found: pl.DataFrame, setting: Setting) -> Chart:
        """A row for each quantity, a panel for each l."""
        altair = load_altair()
        # Strict runs are in the numbers and in the tables; on paper they would hide the others.
        drawn = found.filter(pl.col("method") != STRICT)
        rows = [
            altair.hconcat(*(_panel(drawn, panel, l) for l in setting.l))  # noqa: E741
            for panel in self.panels
        ]
        drawing = finished(altair.vconcat(*rows), self.number, self.heading, self.said(found, setting))
        return Chart(found.select(*RUN, "release", "records", *self.columns), drawing)


def series_of(found: pl.DataFrame) -> pl.Expr:
    """`series`: the method, and where it matters how many may wait."""
    several = found["allowed"].drop_nulls().n_unique() > 1
    with_share = pl.format("{}, {}% may wait", "method", (pl.col("allowed") * 100).round(3).cast(pl.String))
    with_share = with_share.str.replace(".0%", "%", literal=True)
    named = pl.when(pl.col("allowed").is_null()).then(pl.col("method")).otherwise(with_share)
    return (named if several else pl.col("method")).alias("series")


def _panel(found: pl.DataFrame, panel: Panel, l: int) -> Any:  # noqa: E741
    altair = load_altair()
    data = found.with_columns(series_of(found))
    high = float(data[panel.column].drop_nulls().to_numpy().max(initial=0)) or 1.0
    looks = _looks(data)
    names = list(looks)
    data = data.filter(pl.col("l") == l).select(*RUN, "release", "records", "series", panel.column)
    legend = altair.Legend(title=None, orient="top", labelLimit=0, symbolSize=80, columns=4)
    colour = altair.Color("series:N", legend=legend, scale=_scale(names, [looks[name][0] for name in names]))
    shape = altair.Shape("series:N", legend=legend, scale=_scale(names, [looks[name][1] for name in names]))
    axis = altair.Axis(format="~%") if panel.per_cent else altair.Axis()
    base = altair.Chart(altair.Data(values=data.to_dicts())).encode(
        x=altair.X("records:Q", title="records", scale=altair.Scale(zero=False, nice=False, padding=8)),
        y=altair.Y(f"{panel.column}:Q", title=None, axis=axis, scale=altair.Scale(domain=[0, high * 1.05])),
    )
    strokes = base.mark_line(strokeWidth=1.5).encode(color=colour, detail="series:N")
    # With nobody waiting, Incremental does what Static II does: the larger squares still show around the marks.
    beneath = altair.datum.series == "Static II"
    marks = base.mark_point(filled=True, opacity=1).encode(
        color=colour,
        shape=shape,
        size=altair.condition(beneath, altair.value(75), altair.value(32)),
        tooltip=[altair.Tooltip(f"{name}:N") for name in data.columns if name != "series"],
    )
    title = altair.TitleParams(f"{panel.title}; l = {l}", anchor="start", fontSize=12, fontWeight="normal")
    return altair.layer(strokes, marks).properties(width=390, height=210, title=title)


def _scale(names: list[str], given: list[str]) -> Any:
    return load_altair().Scale(domain=names, range=given)


def _looks(data: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """A colour and a shape for each series."""
    ours = data.filter(~pl.col("method").is_in([*STATIC]))["series"].unique(maintain_order=True).to_list()
    looks = {name: look for name, look in STATIC.items() if name in {*data["series"].to_list()}}
    for at, name in enumerate(ours):
        part = at / (len(ours) - 1) if len(ours) > 1 else 0.5
        mixed = [round(pale + part * (dark - pale)) for pale, dark in zip(PALE, DARK, strict=True)]
        looks[name] = ("#{:02x}{:02x}{:02x}".format(*mixed), SHAPES[at % len(SHAPES)])
    return looks


def _what_was_run(setting: Setting, initial: int) -> list[str]:
    table = "a generated census" if setting.path is None else "Adult"
    shares = ", ".join(f"{share:.3g}" for share in setting.waiting)
    return [
        f"{table}, education sensitive; {initial:,} records at first, {setting.step:,} more each time; seed "
        f"{setting.seed}",
        "Static I: everything anew each time; Static II: new records by themselves; Incremental: at most a share of "
        f"{shares} waits",
    ]


def _last(found: pl.DataFrame) -> pl.DataFrame:
    return found.group_by(RUN, maintain_order=True).last()


# Figure 8


def _vulnerable(setting: Setting, progress: Progress) -> pl.DataFrame:
    found = byun.vulnerable(setting, progress=progress)
    return found.with_columns(narrow_share=pl.col("narrow") / pl.col("published"))


def _vulnerable_summary(found: pl.DataFrame) -> pl.DataFrame:
    least = pl.when(pl.col("unsettled") > 0).then(pl.format("{} or more", "together"))
    return _last(found).with_columns(by_all=least.otherwise(pl.col("together").cast(pl.String)))


def _vulnerable_said(found: pl.DataFrame, setting: Setting) -> list[str]:
    last = _last(found).drop_nulls("together")
    few, unsettled = int(last["together"].sum()), int(last["unsettled"].sum())
    said = "All releases together leave fewer than l values to "
    said += f"{few:,} people of Incremental" if few else "nobody of Incremental"
    said += f", as far as was proven; for {unsettled:,} it was not settled" if unsettled else ", strict or not"
    none = found.group_by("method", maintain_order=True).agg(pl.col("vulnerable").sum())
    names = none.filter(pl.col("vulnerable") == 0)["method"].to_list()
    safe = [f"No record is vulnerable in {'; '.join(names)}"] if names else []
    return [*_what_was_run(setting, setting.initial), *safe, said]


# Figures 9 to 11


def _growing(setting: Setting, progress: Progress) -> pl.DataFrame:
    return byun.growing(setting, progress=progress)


def _growing_said(found: pl.DataFrame, setting: Setting) -> list[str]:
    return _what_was_run(setting, setting.first)


def _loss_said(found: pl.DataFrame, setting: Setting) -> list[str]:
    ours = found.filter(pl.col("method").str.starts_with("Incremental"))
    both = ours.pivot("method", index=["l", "allowed", "release"], values="loss")
    apart = float((both[STRICT] / both["Incremental"] - 1).abs().fill_nan(0).to_numpy().max())
    quasi = len(setting.schema.quasi)
    return [
        *_growing_said(found, setting),
        f"0: every value as it is; {quasi}: nothing left of any attribute. Incremental with strict=True differs by at "
        f"most {apart:.2%}",
    ]


def _time_said(found: pl.DataFrame, setting: Setting) -> list[str]:
    return [
        *_growing_said(found, setting),
        f"the least of {byun.PASSES} passes; nothing is written to disk",
    ]


def _time_summary(found: pl.DataFrame) -> pl.DataFrame:
    """The median step of the first third of the releases and of the last, in milliseconds."""
    third = -(-int(found["release"].to_numpy().max()) // 3)
    latest = int(found["release"].to_numpy().max()) - third
    columns = {}
    for name in byun.TIMES:
        columns[f"{name}_early"] = pl.col(name).filter(pl.col("release") <= third).median() * 1_000
        columns[f"{name}_late"] = pl.col(name).filter(pl.col("release") > latest).median() * 1_000
    return found.group_by(RUN, maintain_order=True).agg(**columns)


FIGURES: Mapping[int, Figure] = {
    figure.number: figure
    for figure in (
        Figure(
            8,
            "vulnerable records",
            "Records vulnerable to comparing releases",
            _vulnerable,
            byun.vulnerable_steps,
            (
                Panel("share", "Share of records in a set of fewer than l values", per_cent=True),
                Panel("narrow_share", "From classes that overlap at most two later ones", per_cent=True),
            ),
            ("published", "vulnerable", "share", "cumulative", "narrow", "certain", "together", "unsettled"),
            _vulnerable_summary,
            {**{name: name for name in ("vulnerable", "share", "narrow", "certain")}, "by_all": "together"},
            _vulnerable_said,
        ),
        Figure(
            9,
            "information loss",
            "Average information loss of a record",
            _growing,
            byun.growing_steps,
            (
                Panel("loss", "Of those published"),
                Panel("loss_of_all", "Those who wait counted as lost altogether"),
            ),
            ("published", "groups", "share", "loss", "loss_of_all"),
            _last,
            {"loss": "loss", "share": "waiting", "loss_of_all": "loss of all"},
            _loss_said,
        ),
        Figure(
            10,
            "records waiting",
            "Records that wait",
            _growing,
            byun.growing_steps,
            (Panel("waiting", "Records not yet published"), Panel("share", "As a share of all", per_cent=True)),
            ("published", "waiting", "share"),
            _last,
            {"records": "records", "waiting": "waiting", "share": "share"},
            _growing_said,
        ),
        Figure(
            11,
            "milliseconds for a release",
            "Seconds for a release",
            _growing,
            byun.growing_steps,
            (
                Panel("grouping", "The method alone: who is published with whom"),
                Panel("drafting", "Whole draft: reading, grouping, recoding, checking"),
            ),
            byun.TIMES,
            _time_summary,
            {
                "grouping_early": "method, early",
                "grouping_late": "method, late",
                "drafting_early": "draft, early",
                "drafting_late": "draft, late",
            },
            _time_said,
        ),
    )
}
"""The figures that can be drawn, by their number in the paper."""
