"""Figures 8 to 11 of Byun, Sohn, Bertino & Li (2006), drawn from our own runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue_studies.byun import experiments as byun
from reissue_studies.byun.setting import RUN_COLUMNS, Setting
from reissue_studies.drawing import Marks, finished, grid, lines
from reissue_studies.figure import Figure, by_number
from reissue_studies.progress import Progress

RUN = list(RUN_COLUMNS)
STRICT = "Incremental, strict"
STATIC = {"Static I": ("#000000", "cross"), "Static II": ("#D55E00", "square")}
PALE, DARK = (134, 190, 224), (8, 48, 107)
"""`Incremental` is blue, the darker the more may wait."""
MARKS = Marks("Static II", large=75, small=32, stroke=1.5, legend_columns=4)
"""With nobody waiting, Incremental does what Static II does: the larger squares still show around the marks."""
SHAPES = ("circle", "triangle-up", "diamond", "triangle-down", "triangle-right")


@dataclass(frozen=True)
class Panel:
    """One quantity, drawn for each l."""

    column: str
    title: str
    per_cent: bool = False


Said = Callable[[pl.DataFrame, Setting], list[str]]


def _chart(
    number: int, heading: str, panels: Sequence[Panel], columns: Sequence[str], said: Said
) -> Callable[[pl.DataFrame, Setting], Chart]:
    """A row for each quantity, a panel for each l; of what was measured, `columns` belong to the figure."""

    def draw(found: pl.DataFrame, setting: Setting) -> Chart:
        # Strict runs are in the numbers and in the tables; on paper they would hide the others.
        drawn = found.filter(pl.col("method") != STRICT)
        rows = [[_panel(drawn, panel, l) for l in setting.l] for panel in panels]  # noqa: E741
        drawing = finished(grid(rows), number, heading, said(found, setting))
        return Chart(found.select(*RUN, "release", "records", *columns), drawing)

    return draw


def _by_l(**shown: str) -> Callable[[pl.DataFrame], dict[str, pl.DataFrame]]:
    """For each l a table with a row for each method: these columns of the summary, under these names."""

    def tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        named = summary.with_columns(pl.col("method").replace({STRICT: "strict"}))
        several = summary["allowed"].drop_nulls().n_unique() > 1
        wanted = {"method": "method", **({"allowed": "may wait"} if several else {}), **shown}
        return {
            f"l = {l}": named.filter(pl.col("l") == l).select(*wanted).rename(wanted)
            for l in summary["l"].unique(maintain_order=True).to_list()  # noqa: E741
        }

    return tables


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
    data = data.filter(pl.col("l") == l).select(*RUN, "release", "records", "series", panel.column)
    axis = altair.Axis(format="~%") if panel.per_cent else altair.Axis()
    return lines(
        data,
        altair.X("records:Q", title="records", scale=altair.Scale(zero=False, nice=False, padding=8)),
        altair.Y(f"{panel.column}:Q", title=None, axis=axis, scale=altair.Scale(domain=[0, high * 1.05])),
        title=f"{panel.title}; l = {l}",
        width=390,
        height=210,
        looks=looks,
        marks=MARKS,
    )


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


def _vulnerable(setting: Setting, *, progress: Progress) -> pl.DataFrame:
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


FIGURES: Mapping[int, Figure[Setting]] = by_number(
    Figure(
        8,
        "vulnerable records",
        _vulnerable,
        byun.vulnerable_steps,
        _chart(
            8,
            "Records vulnerable to comparing releases",
            (
                Panel("share", "Share of records in a set of fewer than l values", per_cent=True),
                Panel("narrow_share", "From classes that overlap at most two later ones", per_cent=True),
            ),
            ("published", "vulnerable", "share", "cumulative", "narrow", "certain", "together", "unsettled"),
            _vulnerable_said,
        ),
        _vulnerable_summary,
        _by_l(vulnerable="vulnerable", share="share", narrow="narrow", certain="certain", by_all="together"),
    ),
    Figure(
        9,
        "information loss",
        byun.growing,
        byun.growing_steps,
        _chart(
            9,
            "Average information loss of a record",
            (
                Panel("loss", "Of those published"),
                Panel("loss_of_all", "Those who wait counted as lost altogether"),
            ),
            ("published", "groups", "share", "loss", "loss_of_all"),
            _loss_said,
        ),
        _last,
        _by_l(loss="loss", share="waiting", loss_of_all="loss of all"),
    ),
    Figure(
        10,
        "records waiting",
        byun.growing,
        byun.growing_steps,
        _chart(
            10,
            "Records that wait",
            (Panel("waiting", "Records not yet published"), Panel("share", "As a share of all", per_cent=True)),
            ("published", "waiting", "share"),
            _growing_said,
        ),
        _last,
        _by_l(records="records", waiting="waiting", share="share"),
    ),
    Figure(
        11,
        "milliseconds for a release",
        byun.growing,
        byun.growing_steps,
        _chart(
            11,
            "Seconds for a release",
            (
                Panel("grouping", "The method alone: who is published with whom"),
                Panel("drafting", "Whole draft: reading, grouping, recoding, checking"),
            ),
            byun.TIMES,
            _time_said,
        ),
        _time_summary,
        _by_l(
            grouping_early="method, early",
            grouping_late="method, late",
            drafting_early="draft, early",
            drafting_late="draft, late",
        ),
    ),
)
"""The figures that can be drawn, by their number in the paper."""
