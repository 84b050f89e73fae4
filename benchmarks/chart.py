"""The chart of all rows over versions, from `history.json` to `history.svg`.

python benchmarks/chart.py

One panel for each row: a point for each version, the smaller the better, and a line at what is asked. Filled points
are wall times or ratios of them, hollow ones of processor time, which count where the machine was not quiet.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import altair
import history
from packaging.version import Version

FILE = history.FILE.with_suffix(".svg")
COLUMNS = 4
WIDTH, HEIGHT = 190, 110
OURS, ASKED, INK = "#4a86c5", "#c9692e", "#7f8893"
"""Colours that can be read on white and on black; the background is left open."""


def points(versions: dict[str, Any]) -> list[dict[str, Any]]:
    """One for each row of each version; versions in their order."""
    return [
        {
            "version": version,
            "row": name,
            "figure": row["figure"],
            "text": f"{row['figure']:.3g}",
            "asked": row["asked"],
            "time": "processor time" if row["counts"] == "CPU" else "wall time",
        }
        for version in sorted(versions, key=Version)
        for name, row in versions[version]["rows"].items()
    ]


def panel(title: str, unit: str, asked: float, found: list[dict[str, Any]], order: list[str]) -> Any:
    """The chart of one row."""
    top = max([asked, *(point["figure"] for point in found)]) * 1.25
    scale = altair.Scale(domain=[0, top], nice=False)
    base = altair.Chart(altair.Data(values=found)).encode(
        x=altair.X(
            "version:N", sort=order, scale=altair.Scale(domain=order), title=None, axis=altair.Axis(labelAngle=0)
        ),
        y=altair.Y("figure:Q", scale=scale, title=None, axis=altair.Axis(tickCount=4)),
    )
    shape = altair.Shape(
        "time:N", scale=altair.Scale(domain=["wall time", "processor time"], range=["circle", "square"]), legend=None
    )
    fill = altair.condition("datum.time == 'wall time'", altair.value(OURS), altair.value("transparent"))
    limit = altair.Chart(altair.Data(values=[{"asked": asked}])).encode(y=altair.Y("asked:Q", scale=scale, title=None))
    return altair.layer(
        limit.mark_rule(color=ASKED, strokeDash=[5, 3], strokeWidth=1.5),
        base.mark_line(color=OURS, strokeWidth=1.5),
        base.mark_point(stroke=OURS, size=55, strokeWidth=1.5, opacity=1).encode(shape=shape, fill=fill),
        base.mark_text(color=OURS, dy=-11, fontSize=11, fontWeight="bold").encode(text="text:N"),
    ).properties(
        width=WIDTH,
        height=HEIGHT,
        title=altair.TitleParams(title.split(": ", 1), subtitle=f"{unit}; asked: at most {asked:g}", anchor="start"),
    )


def draw(versions: dict[str, Any], background: str = "transparent") -> Any:
    """All panels."""
    order = sorted(versions, key=Version)
    told = points(versions)
    # What a row is called and asked is what its latest version says.
    rows = {name: row for version in order for name, row in versions[version]["rows"].items()}
    panels = [
        panel(row["title"], row["unit"], row["asked"], [point for point in told if point["row"] == name], order)
        for name, row in rows.items()
    ]
    return (
        altair.concat(*panels, columns=COLUMNS, spacing={"row": 88, "column": 52}, align="all", bounds="flush")
        .configure(background=background, font="sans-serif", padding=12)
        .configure_axis(labelColor=INK, labelFontSize=10, grid=False, domainColor=INK, tickColor=INK)
        .configure_title(color=INK, fontSize=11, offset=8, frame="group", subtitleColor=ASKED, subtitleFontSize=10)
        .configure_view(stroke=None)
    )


def main() -> None:
    """Draw what is recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=FILE, help=f"another file, .svg or .png (default {FILE.name})")
    given = parser.parse_args()
    versions = history.load()
    if not versions:
        raise SystemExit("Nothing is recorded yet: python benchmarks/near_the_floor.py --record VERSION")
    draw(versions).save(str(given.out), **({"scale_factor": 2} if given.out.suffix == ".png" else {}))


if __name__ == "__main__":
    main()
