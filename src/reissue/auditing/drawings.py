"""The charts of a report, each with the numbers behind it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.charts import Chart, load_altair
from reissue.errors import MissingExtra

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport

BLUE, RED, GREY, SAND = "#35618f", "#b4432f", "#8a8f98", "#d9a441"
KIND_COLOURS = {"exact": BLUE, "bounded": GREY, "sampled": SAND, "undecided": RED, "conditional": RED}
DASHED = "(dashed: the limit)"
BINS = 20
WIDTH = 600


def risk_over_releases(report: AuditReport) -> Chart:
    """Re-identification, disclosure within a release, and people exposed so far, release after release."""
    altair = load_altair()
    risks = report.in_polars.risks
    re_identification = _lines(
        risks,
        {
            "prosecutor_highest": "this release alone, highest",
            "prosecutor_success": "this release alone, average",
            "cumulative_highest": "all so far, highest",
            "cumulative_success": "all so far, average",
        },
    )
    disclosure = _lines(risks, {"attribute_highest": "largest share of a value, highest", "attribute_mean": "average"})
    drawn = "Attribute disclosure, each release alone"
    if report.limits.probability is not None:
        disclosure, drawn = disclosure + _limit(report, "y"), f"{drawn} {DASHED}"
    panels = [
        re_identification.properties(width=WIDTH, height=150, title=_title("Re-identification risk")),
        disclosure.properties(width=WIDTH, height=150, title=_title(drawn)),
    ]
    if risks["cumulative_exposed"].null_count() < risks.height:
        known = "" if report.truth is None or not report.truth.misled else ", wrong conclusions left out"
        exposed = altair.Chart(altair.Data(values=risks.select("release", "cumulative_exposed").to_dicts()))
        panels.append(
            exposed.mark_bar(color=BLUE, size=max(4, min(32, WIDTH // (2 * risks.height))))
            .encode(
                x=_releases(),
                y=altair.Y("cumulative_exposed:Q", title=None, axis=altair.Axis(tickMinStep=1, format=",d")),
            )
            .properties(
                width=WIDTH,
                height=110,
                title=_title(f"People with one value left when groups are compared, so far{known}"),
            )
        )
    return Chart(risks, altair.vconcat(*panels).resolve_scale(color="independent"))


def posterior_distribution(report: AuditReport) -> Chart | None:
    """How many people's likeliest value has which probability; None where nobody has a figure."""
    people = report.in_polars.people
    if not people.height:
        return None
    altair = load_altair()
    # A figure on a boundary belongs to the bin below it, as the limit does.
    place = pl.col("probability").mul(BINS).sub(1e-9).ceil().clip(1, BINS)
    data = (
        people.with_columns(place.cast(pl.Int64).alias("bin"))
        .group_by("bin", "kind")
        .agg(pl.len().cast(pl.Int64).alias("people"))
        .with_columns(((pl.col("bin") - 1) / BINS).alias("from"), (pl.col("bin") / BINS).alias("to"))
        .sort("bin", "kind")
    )
    kinds = [kind for kind in KIND_COLOURS if kind in data["kind"].to_list()]
    bars = (
        altair.Chart(altair.Data(values=data.to_dicts()))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=altair.X(
                "from:Q",
                bin="binned",
                title="probability of the likeliest value",
                scale=altair.Scale(domain=[0, 1]),
                axis=altair.Axis(values=[tick / 10 for tick in range(11)]),
            ),
            x2="to:Q",
            y=altair.Y("people:Q", title="people", stack=True),
            color=altair.Color(
                "kind:N",
                title=None,
                scale=altair.Scale(domain=kinds, range=[KIND_COLOURS[kind] for kind in kinds]),
                legend=altair.Legend(orient="top"),
            ),
        )
    )
    title = "How likely the likeliest value is, over people"
    if report.limits.probability is not None:
        bars, title = bars + _limit(report, "x"), f"{title} {DASHED}"
    return Chart(data, bars.properties(width=WIDTH, height=180, title=_title(title)))


def exposed_groups(report: AuditReport) -> Chart | None:
    """The groups whose members are most exposed; None where there are none."""
    groups = report.in_polars.exposed_groups
    if not groups.height:
        return None
    altair = load_altair()
    limited = report.limits.probability is not None
    place = pl.format("release {}, group {}", "release", "group")
    if limited:
        place = pl.format("{}: {} of {}", place, "above", "people")
    data = groups.with_columns(place.alias("place"))
    axis = altair.Y("place:N", title=None, sort=None)
    base = altair.Chart(altair.Data(values=data.to_dicts()))
    scale = altair.Scale(domain=[0, 1])
    bars = base.mark_bar(color=BLUE).encode(
        y=axis,
        x=altair.X("highest:Q", title="probability of the likeliest value: highest (bar), mean (line)", scale=scale),
    )
    ticks = base.mark_tick(color="black", thickness=2).encode(y=axis, x=altair.X("mean:Q", scale=scale))
    heading = f"The most exposed groups{', and how many of their people are above the limit' if limited else ''}"
    drawing = (bars + ticks).properties(width=WIDTH - 60, height=18 * groups.height, title=_title(heading))
    return Chart(groups, drawing)


def as_image(draw: Callable[[], Chart | None]) -> str | None:
    """A chart as the address of an image that holds the image itself; None where there is nothing to draw."""
    chart = draw()
    if chart is None:
        return None
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "Pictures of charts need the package 'vl-convert-python'.",
            hint="install reissue with its extra charts (from a clone: pip install '.[charts]'), or go on without.",
        ) from error
    written = StringIO()
    chart.drawing.save(written, format="svg")
    return f"data:image/svg+xml;base64,{b64encode(written.getvalue().encode()).decode()}"


def _lines(risks: pl.DataFrame, names: dict[str, str]) -> Any:
    """One line for each column that has figures."""
    altair = load_altair()
    long = risks.select("release", *names).unpivot(index="release", variable_name="risk", value_name="figure")
    long = long.drop_nulls().with_columns(pl.col("risk").replace_strict(names))
    drawn = [name for name in names.values() if name in long["risk"].to_list()]
    colours = np.array([BLUE, GREY, RED, SAND])[: len(drawn)].tolist()
    return (
        altair.Chart(altair.Data(values=long.to_dicts()))
        .mark_line(point=True)
        .encode(
            x=_releases(),
            y=altair.Y("figure:Q", title=None, scale=altair.Scale(domain=[0, 1])),
            color=altair.Color("risk:N", title=None, scale=altair.Scale(domain=drawn, range=colours), sort=None),
        )
    )


def _limit(report: AuditReport, axis: str) -> Any:
    """A dashed line at the largest probability allowed."""
    altair = load_altair()
    rule = altair.Chart(altair.Data(values=[{"limit": float(report.limits.probability or 1)}]))
    return rule.mark_rule(color=RED, strokeDash=[4, 3]).encode(**{axis: "limit:Q"})


def _releases() -> Any:
    altair = load_altair()
    return altair.X("release:O", title="release", axis=altair.Axis(labelAngle=0))


def _title(text: str) -> Any:
    return load_altair().TitleParams(text, anchor="start", fontSize=13)
