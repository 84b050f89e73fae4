"""The table and the picture of all methods on the same streams, from our own runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue.errors import listed
from reissue_studies.drawing import GREY, finished
from reissue_studies.figure import Figure, as_it_is, by_number
from reissue_studies.methods import experiments as methods
from reissue_studies.methods.setting import DIMENSIONS, SELECTIVITY, Setting
from reissue_studies.methods.streams import STREAMS
from reissue_studies.methods.ways import NO_LINK, WAYS

ROWS = (*(way.name for way in WAYS), NO_LINK)
"""The methods from top to bottom."""
LOOKS = {
    "census": ("#000000", "circle"),
    "diabetes130": ("#0072B2", "square"),
    "nlswork": ("#D55E00", "triangle-up"),
    "cms": (GREY, "diamond"),
}
"""A colour and a shape for each stream, so that they can be told apart in grey as well."""
WIDTH, MARK, LEAST = 104, 11, 22
"""How wide a panel is, how high each mark, and how high the row of a method is at least."""


# The picture


@dataclass(frozen=True)
class Panel:
    """One column of the picture: a mark for each method and stream, and a stem that leads to it."""

    measure: str
    title: tuple[str, str]
    form: str
    """How figures are written at the axis."""
    stem: str | None = None
    """Where the stem begins; None: at 0, or at `level`."""
    level: float | None = None
    """What to compare with: a dashed line."""
    ticks: tuple[float, ...] = ()
    """Where the axis has figures, on a scale of ratios; none: where they come to stand on an even one."""


PANELS: Mapping[str, tuple[Panel, ...]] = {
    "what it costs": (
        Panel("withheld", ("people", "withheld"), "~%"),
        Panel("counterfeit", ("rows that are", "counterfeit"), "~%"),
    ),
    "what is left": (
        Panel("counts_beside", ("error of counts,", "no link at all = 1"), "~r", level=1, ticks=(0.2, 1, 5)),
        Panel("size", ("slopes: what is", "left of their size"), "~r", level=1),
        Panel("points", ("error of trends,", "percentage points"), "~r"),
    ),
    "what attacks get": (
        Panel("right_beside", ("best guess right,", "1/m = 1"), "~r", stem="promised", level=1),
        Panel("likely_beside", ("likeliest right, 1/m = 1;", "stem: by own row"), "~r", stem="without_beside", level=1),
        Panel("certain", ("certain, if values fixed;", "stem: of these false"), "~%", stem="rightly"),
    ),
}


def drawn(found: pl.DataFrame, setting: Setting) -> Chart:
    """Methods from top to bottom, and a panel for each figure."""
    altair = load_altair()
    data = _beside(found)
    parts: list[Any] = []
    for heading, panels in PANELS.items():
        beside = [_panel(data, panel, labels=not parts and not at) for at, panel in enumerate(panels)]
        title = altair.TitleParams(heading, anchor="middle", fontSize=13, offset=8)
        parts.append(altair.hconcat(*beside, spacing=10).properties(title=title))
    whole = altair.hconcat(*parts, spacing=24)
    named = finished(whole, 1, "All methods on the same streams", _said(found, setting))
    return Chart(found, named.configure_view(stroke="#DDDDDD"))


def _beside(found: pl.DataFrame) -> pl.DataFrame:
    """With errors of counts beside no link at all, and guesses beside 1/m."""
    without = found.filter(pl.col("method") == NO_LINK).select("stream", pl.col("counts").alias("counts_without"))
    m = pl.col("m")
    return found.join(without, on="stream", maintain_order="left").with_columns(
        counts_beside=pl.col("counts") / pl.col("counts_without"),
        points=100 * pl.col("trend"),
        right_beside=m * pl.col("right"),
        likely_beside=m * pl.col("likely"),
        without_beside=m * pl.col("without"),
        rightly=pl.col("certain") * (1 - pl.col("false").fill_null(0)),
        promised=pl.lit(1.0),
    )


def _panel(data: pl.DataFrame, panel: Panel, *, labels: bool) -> Any:
    altair = load_altair()
    streams = [name for name in STREAMS if name in data["stream"]]
    begin = pl.lit(float(panel.level or 0)) if panel.stem is None else pl.col(panel.stem)
    marks = data.select("method", "stream", figure=panel.measure, begin=begin).drop_nulls("figure")
    height = max(MARK * len(streams), LEAST)
    y = altair.Y(
        "method:N", sort=list(ROWS),
        axis=altair.Axis(
            title=None, labels=labels, labelPadding=10, labelLimit=0, labelFontSize=11, ticks=False, domain=False,
        ),
        scale=altair.Scale(domain=list(ROWS), padding=0),
    )  # fmt: skip
    x = altair.X("figure:Q", title=None, axis=_axis(panel), scale=_scale(panel))
    offset = altair.YOffset("stream:N", sort=streams, scale=altair.Scale(domain=streams, paddingOuter=0.5))
    colours, shapes = ([LOOKS[name][at] for name in streams] for at in (0, 1))
    legend = altair.Legend(title=None, orient="top", symbolSize=70, labelFontSize=11) if len(streams) > 1 else None
    colour = altair.Color("stream:N", legend=legend, scale=altair.Scale(domain=streams, range=colours))
    shape = altair.Shape("stream:N", legend=legend, scale=altair.Scale(domain=streams, range=shapes))
    base = altair.Chart(altair.Data(values=marks.to_dicts())).encode(x=x, y=y, yOffset=offset, color=colour)
    tooltip = [altair.Tooltip(f"{name}:N") for name in marks.columns]
    layers = [
        *_bands(),
        *([] if panel.level is None else [_level(panel.level)]),
        base.mark_rule(strokeWidth=1.6).encode(x2="begin:Q"),
        base.mark_point(filled=True, opacity=1, size=34).encode(shape=shape, tooltip=tooltip),
        _refused(data, y),
    ]
    title = altair.TitleParams(list(panel.title), anchor="start", fontSize=10, fontWeight="normal", frame="group")
    return altair.layer(*layers).properties(width=WIDTH, height=height * len(ROWS), title=title)


def _axis(panel: Panel) -> Any:
    given = {"values": list(panel.ticks)} if panel.ticks else {"tickCount": 3}
    return load_altair().Axis(format=panel.form, grid=False, labelFontSize=10, labelFlush=False, **given)


def _scale(panel: Panel) -> Any:
    altair = load_altair()
    if panel.ticks:
        return altair.Scale(type="log", nice=False, padding=8)
    return altair.Scale(zero=True, nice=False, padding=6)


def _bands() -> list[Any]:
    """Every second method on a grey ground."""
    altair = load_altair()
    every = altair.Data(values=[{"method": name} for name in ROWS[::2]])
    y = altair.Y("method:N", sort=list(ROWS), scale=altair.Scale(domain=list(ROWS), padding=0))
    return [altair.Chart(every).mark_rect(color="#F3F3F3", tooltip=None).encode(y=y)]


def _level(at: float) -> Any:
    altair = load_altair()
    return (
        altair.Chart(altair.Data(values=[{"level": at}]))
        .mark_rule(color=GREY, strokeDash=[4, 3])
        .encode(x=altair.X("level:Q"))
    )


def _refused(data: pl.DataFrame, y: Any) -> Any:
    """The methods that take none of the streams."""
    altair = load_altair()
    each = data.group_by("method", maintain_order=True).agg(pl.col("refused").is_not_null().all())
    none = each.filter("refused")["method"].to_list()
    values = altair.Data(values=[{"method": name, "said": "refused"} for name in none])
    text = altair.Chart(values).mark_text(fontSize=10, fontStyle="italic", color="#666666")
    return text.encode(y=y, x=altair.value(WIDTH / 2), text="said:N")


def _said(found: pl.DataFrame, setting: Setting) -> list[str]:
    """What was run, and who refused it."""
    sizes = [
        f"{name} {rows:,} (m = {m})"
        for name, m, rows in found.select("stream", "m", "rows").unique(maintain_order=True).iter_rows()
    ]
    refused = found.drop_nulls("refused").group_by("method", maintain_order=True).agg("stream")
    everywhere = found["stream"].n_unique()
    who = [
        name if len(streams) == everywhere else f"{name} ({listed(streams)})" for name, streams in refused.iter_rows()
    ]
    return [
        f"people in the last of {setting.releases} releases: {'; '.join(sizes)}. Costs, counts and slopes are of the "
        f"last release; seed {setting.seed}",
        f"{setting.queries:,} COUNT queries on {DIMENSIONS} quasi-identifiers and the value, selectivity {SELECTIVITY};"
        " trends: how shares of frequent values change from the first release to the last",
        *([f"refused: {'; '.join(who)}. The table says why"] if who else []),
    ]


# The table


@dataclass(frozen=True)
class Told:
    """A column of a printed table."""

    name: str
    measure: str
    digits: int = 1
    times: float = 100.0
    at_least: bool = False
    """Whether it is the least where something was not decided."""

    def text(self, row: Mapping[str, Any]) -> str:
        """The figure as it is printed."""
        figure = row[self.measure]
        if figure is None:
            return "-"
        text = f"{self.times * figure:z.{self.digits}f}" if figure else "0"
        return f"≥{text}" if self.at_least and row["undecided"] else text


class Slopes(Told):
    """How many slopes keep their sign, of how many."""

    def text(self, row: Mapping[str, Any]) -> str:
        """Or that there are none."""
        return f"{row['kept']} of {row['slopes']}" if row["slopes"] else "none"


TABLES: Mapping[str, tuple[Told, ...]] = {
    "what it costs, in %": (
        Told("withheld", "withheld"),
        Told("counterfeit", "counterfeit"),
        Told("replaced", "replaced"),
    ),
    "what is left": (
        Told("counts %", "counts"),
        Slopes("slopes", "kept"),
        Told("size", "size", 2, 1.0),
        Told("trends", "trend", 2),
        Told("95 %", "coverage"),
    ),
    "what attacks get, in %": (
        Told("> 1/m", "above", at_least=True),
        Told("certain", "certain"),
        Told("false", "false"),
        Told("guess", "right"),
        Told("likely", "likely"),
        Told("gain", "advantage"),
    ),
}


def _tables(found: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """For each stream what a method costs and leaves, and what attacks get; and who refused which, and why."""
    tables = {}
    for name in found["stream"].unique(maintain_order=True):
        rows = [row for row in found.iter_rows(named=True) if row["stream"] == name]
        size = f"{name} ({rows[0]['rows']:,} people, m = {rows[0]['m']})"
        for title, columns in TABLES.items():
            lines = [{"method": row["method"], **_line(row, columns)} for row in rows]
            tables[f"{size}: {title}"] = pl.DataFrame(lines)
    refused = found.drop_nulls("refused").select(pl.format("{} of {}: {}", "method", "stream", "refused").alias("why"))
    return {**tables, "refused": refused} if refused.height else tables


def _line(row: Mapping[str, Any], columns: tuple[Told, ...]) -> dict[str, str]:
    if row["refused"] is not None:
        return {column.name: "-" if at else "refused" for at, column in enumerate(columns)}
    return {column.name: column.text(row) for column in columns}


FIGURES: Mapping[int, Figure[Setting]] = by_number(
    Figure(1, "all methods", methods.compared, methods.compared_steps, drawn, as_it_is, _tables)
)
"""The one figure there is."""
