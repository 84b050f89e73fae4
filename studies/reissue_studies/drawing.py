"""How the figures of studies are drawn: lines with marks over releases or parameters.

Colours are those of Okabe and Ito, which colour-blind people can tell apart; shapes say the same once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from reissue.charts import load_altair

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right")
MERGED = "m-invariance, merged"
PLAIN = {"m-invariance": ("#000000", "cross"), MERGED: ("#8C8C8C", "circle")}


def _looks(series: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a shape for each series."""
    others = [name for name in series if name not in PLAIN]
    looks = {name: (COLOURS[at % len(COLOURS)], SHAPES[at % len(SHAPES)]) for at, name in enumerate(others)}
    return {name: looks.get(name) or PLAIN[name] for name in series}


def lines(data: pl.DataFrame, x: Any, y: Any, *, title: str, width: int, height: int) -> Any:
    """Lines with marks, one for each series."""
    altair = load_altair()
    looks = _looks(data["series"].unique(maintain_order=True).to_list())
    names = list(looks)
    legend = altair.Legend(title=None, orient="top", labelLimit=0, symbolSize=80, columns=0)
    colour = altair.Color(
        "series:N", legend=legend, scale=altair.Scale(domain=names, range=[looks[name][0] for name in names])
    )
    shape = altair.Shape(
        "series:N", legend=legend, scale=altair.Scale(domain=names, range=[looks[name][1] for name in names])
    )
    tooltip = [name for name in data.columns if name != "series"]
    # Where m-invariance coincides with its merged form, the small black crosses lie on the large grey dots.
    data = data.sort(pl.col("series") != MERGED, maintain_order=True)
    base = altair.Chart(altair.Data(values=data.to_dicts())).encode(x=x, y=y)
    beneath = altair.datum.series == (MERGED if "m-invariance" in looks else "")
    strokes = base.mark_line(strokeWidth=1.8).encode(color=colour, detail="series:N")
    marks = base.mark_point(filled=True, opacity=1).encode(
        color=colour,
        shape=shape,
        size=altair.condition(beneath, altair.value(110), altair.value(45)),
        tooltip=[altair.Tooltip(f"{name}:N") for name in tooltip],
    )
    return altair.layer(strokes, marks).properties(width=width, height=height, title=_panel_title(title))


def _panel_title(text: str) -> Any:
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


def release_axis() -> Any:
    """Releases from left to right."""
    altair = load_altair()
    return altair.X(
        "release:Q", title="release", axis=altair.Axis(tickMinStep=1, format="d", grid=False),
        scale=altair.Scale(zero=False, nice=False, padding=8),
    )  # fmt: skip
