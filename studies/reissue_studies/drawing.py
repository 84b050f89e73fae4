"""How the figures of studies are drawn: lines with marks over releases or parameters.

Colours are those of Okabe and Ito, which colour-blind people can tell apart; shapes say the same once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.charts import load_altair

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right")
MERGED = "m-invariance, merged"
GREY = "#8C8C8C"
PLAIN = {"m-invariance": ("#000000", "cross"), MERGED: (GREY, "circle")}
"""Where m-invariance coincides with its merged form, the small black crosses lie on the large grey dots."""


@dataclass(frozen=True)
class Marks:
    """How lines and their marks look."""

    beneath: str
    """The marks of this series are larger, so that they show around those of others that coincide with them."""
    large: int
    small: int
    stroke: float
    legend_columns: int = 0
    over: str | None = None
    """Only where this series is drawn over it."""


USUAL = Marks(MERGED, large=110, small=45, stroke=1.8, over="m-invariance")


def _looks(series: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a shape for each series."""
    others = [name for name in series if name not in PLAIN]
    looks = {name: (COLOURS[at % len(COLOURS)], SHAPES[at % len(SHAPES)]) for at, name in enumerate(others)}
    return {name: looks.get(name) or PLAIN[name] for name in series}


def lines(
    data: pl.DataFrame,
    x: Any,
    y: Any,
    *,
    title: str,
    width: int,
    height: int,
    looks: Mapping[str, tuple[str, str]] | None = None,
    marks: Marks = USUAL,
) -> Any:
    """Lines with marks, one for each series; `looks` has a colour and a shape for each where the usual will not do."""
    altair = load_altair()
    looks = _looks(data["series"].unique(maintain_order=True).to_list()) if looks is None else looks
    legend = altair.Legend(title=None, orient="top", labelLimit=0, symbolSize=80, columns=marks.legend_columns)
    colours, shapes = [colour for colour, _ in looks.values()], [shape for _, shape in looks.values()]
    colour = altair.Color("series:N", legend=legend, scale=altair.Scale(domain=list(looks), range=colours))
    shape = altair.Shape("series:N", legend=legend, scale=altair.Scale(domain=list(looks), range=shapes))
    tooltip = [name for name in data.columns if name != "series"]
    data = data.sort(pl.col("series") != marks.beneath, maintain_order=True)
    base = altair.Chart(altair.Data(values=data.to_dicts())).encode(x=x, y=y)
    beneath = altair.datum.series == (marks.beneath if marks.over is None or marks.over in looks else "")
    strokes = base.mark_line(strokeWidth=marks.stroke).encode(color=colour, detail="series:N")
    points = base.mark_point(filled=True, opacity=1).encode(
        color=colour,
        shape=shape,
        size=altair.condition(beneath, altair.value(marks.large), altair.value(marks.small)),
        tooltip=[altair.Tooltip(f"{name}:N") for name in tooltip],
    )
    return altair.layer(strokes, points).properties(width=width, height=height, title=panel_title(title))


def grid(rows: Sequence[Sequence[Any]]) -> Any:
    """Panels in rows."""
    altair = load_altair()
    beside = [altair.hconcat(*row) for row in rows]
    return altair.vconcat(*beside) if len(beside) > 1 else beside[0]


def level(height: float) -> Any:
    """A grey line from left to right, to compare with."""
    altair = load_altair()
    values = altair.Data(values=[{"level": height}])
    return altair.Chart(values).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=altair.Y("level:Q"))


def panel_title(text: str) -> Any:
    """The title of one panel of a figure."""
    return load_altair().TitleParams(text, anchor="start", fontSize=12, fontWeight="normal")


def finished(drawing: Any, number: int, title: str, said: Sequence[str]) -> Any:
    """With a heading, and lines below it that say what was run."""
    heading = load_altair().TitleParams(
        f"Figure {number}. {title}",
        subtitle=list(said),
        anchor="start",
        fontSize=15,
        subtitleFontSize=11,
        subtitleColor="#444444",
        offset=14,
    )
    return drawing.properties(title=heading)


def release_axis(column: str = "release") -> Any:
    """Releases from left to right."""
    altair = load_altair()
    return altair.X(
        f"{column}:Q", title=column, axis=altair.Axis(tickMinStep=1, format="d", grid=False),
        scale=altair.Scale(zero=False, nice=False, padding=8),
    )  # fmt: skip
