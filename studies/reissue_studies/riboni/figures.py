"""Figures 2, 7, 8 and 9 of Riboni & Bettini (2009), drawn from our own runs; and, beyond the paper, 10 to 12."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue_studies.drawing import COLOURS, GREY, SHAPES, finished, grid, level, lines, panel_title, release_axis
from reissue_studies.figure import Figure, as_it_is, by_number
from reissue_studies.progress import Progress
from reissue_studies.riboni import experiments as riboni
from reissue_studies.riboni.experiments import RUN
from reissue_studies.riboni.setting import Setting

BEYOND = "not in the paper"
QUANTITIES = {
    "ct": "A value, ruled out by compromised tuples",
    "hc": "A value, ruled out by correlations",
    "breach": "A breach, each rule applied once",
    "closure": "A breach, both rules applied to the end",
}
"""The observed rates that are drawn."""


def what_was_run(setting: Setting, *more: str, small: bool = False) -> list[str]:
    """The lines below a title: what was run."""
    streams = setting.small_streams if small else setting.streams
    sizes = "; ".join(
        f"{stream.initial:,} people in each of {stream.releases} releases, {stream.turnover:,} leave and come each time"
        for stream in streams
    )
    return [
        f"a generated census of {setting.rows:,}, salary sensitive: {sizes}",
        f"m = {setting.m}, n = {setting.n}, seed {setting.seed}",
        *more,
    ]


def chosen(setting: Setting) -> str:
    """What the paper's own rule says about n."""
    by_rule = "; ".join(
        f"L = {stream.releases}: {n if (n := setting.n_chosen(stream)) is not None else 'none'}"
        for stream in setting.streams
    )
    return (
        f"n by the paper's rule (p = {setting.p:g}, h = {setting.h:g}): {by_rule}. The paper takes 3 for both streams"
    )


def _by_stream(found: pl.DataFrame, setting: Setting, panels: Mapping[str, str], x: Any, *, height: int = 190) -> Any:
    """A row for each quantity, a panel for each stream; the same scale along a row where it starts from 0."""
    altair = load_altair()
    data = found.with_columns(series=pl.col("method"))
    rows = [
        [
            lines(
                data.filter(pl.col("turnover") == stream.share),
                x,
                altair.Y(f"{column}:Q", title=None, scale=altair.Scale(zero=True)),
                title=f"{title}; {stream.initial:,} people, {stream.title}",
                width=400,
                height=height,
            )
            for stream in setting.streams
        ]
        for column, title in panels.items()
    ]
    return grid(rows)


# Figure 2


def formula_chart(found: pl.DataFrame | None = None, *, h: float | None = 0.1) -> Chart:
    """Figure 2, from what `riboni.formulas` gives; h is drawn as a level where there is one."""
    found = riboni.formulas() if found is None else found
    altair = load_altair()
    titles = {
        "p_ct": "(a) a value is ruled out by compromised tuples",
        "p_hc": "(b) a value is ruled out by correlations",
        "p_pb": "(c) a breach",
    }
    axis = altair.Axis(tickMinStep=1, format="d", grid=False)
    x = altair.X("releases:Q", title="releases with the tuple", axis=axis, scale=altair.Scale(nice=False, padding=8))
    panels = []
    for quantity, title in titles.items():
        named = pl.format("p = {}", "p") if quantity == "p_ct" else pl.format("n = {}", "n")
        data = found.filter(pl.col("quantity") == quantity).with_columns(series=named)
        if data.is_empty():
            continue
        y = altair.Y("probability:Q", title="probability", scale=altair.Scale(zero=True))
        panel = lines(data, x, y, title=title, width=290, height=240)
        panels.append(panel if h is None or quantity != "p_pb" else altair.layer(panel, level(h)))
    drawing = altair.hconcat(*panels).resolve_scale(color="independent", shape="independent")
    later = found.drop_nulls("n").select("p", "m").unique(maintain_order=True).rows()
    said = ["closed formulas (Lemmas 1 and 2, Theorem 2), nothing measured"]
    said += [f"(b) and (c): p = {p:g}, m = {m}" for p, m in later]
    said += [] if h is None else [f"(c): h = {h:g} is the grey line"]
    return Chart(found, finished(drawing, 2, "Probabilities in closed form", said))


def _formulas(setting: Setting, *, progress: Progress) -> pl.DataFrame:
    progress("the formulas")
    sizes = sorted({n for n in (1, 2, 3, setting.n) if n <= setting.m})
    shares = sorted({*riboni.COMPROMISED, setting.p})
    return riboni.formulas(shares, p=setting.p, m=setting.m, n=sizes)


def _formula_summary(found: pl.DataFrame) -> pl.DataFrame:
    """At the paper's two L, a column each."""
    return found.filter(pl.col("releases").is_in([21, 24])).pivot(
        "releases", index=["quantity", "p", "m", "n"], values="probability", maintain_order=True
    )


# Figures 7 and 8, and time


def unsafe_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 7: hc-unsafe groups in every release."""
    panels = {
        "unsafe_when_published": "By comparison with earlier releases",
        "unsafe": "By comparison with all others in the end",
    }
    said = what_was_run(setting, f"correlations between fewer than {setting.n} people", chosen(setting))
    drawing = finished(_by_stream(found, setting, panels, release_axis()), 7, "hc-unsafe groups", said)
    return Chart(found.select(*RUN, "release", "groups", *panels), drawing)


def counterfeit_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 8: counterfeits in every release, and groups that hold each value more than once."""
    panels = {
        "counterfeits": "Counterfeits",
        "per_mille": "Counterfeits, per mille of the rows",
        "merged_share": "Share of groups with every value more than once",
    }
    drawing = _by_stream(found, setting, panels, release_axis(), height=150)
    columns = ("release", "rows", "published", "groups", "counterfeits", "per_mille", "merged", "merged_share")
    said = what_was_run(setting, chosen(setting))
    return Chart(found.select(*RUN, *columns), finished(drawing, 8, "Counterfeits and merged groups", said))


def time_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Beyond the paper: seconds for every release."""
    panels = {
        "grouping": "The method alone: who is published with whom",
        "drafting": "Whole draft: reading, grouping, recoding, checking",
    }
    said = what_was_run(setting, f"{BEYOND}; both methods in turn, one run, on the clock; nothing is written to disk")
    drawing = finished(_by_stream(found, setting, panels, release_axis()), 10, "Seconds for a release", said)
    return Chart(found.select(*RUN, "release", *riboni.TIMES), drawing)


# Figure 9


def error_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 9: the median error of queries against how many rows they are expected to select."""
    altair = load_altair()
    shares = found["selectivity"].unique().sort().to_list()
    axis = altair.Axis(values=shares, format="~%", labelAngle=0)
    scale = altair.Scale(type="log", nice=False, padding=12)
    x = altair.X("selectivity:Q", title="expected selectivity", scale=scale, axis=axis)
    panels = {"median": "Median relative error", "ratio": "Median error, m-invariance = 1"}
    said = what_was_run(
        setting,
        f"{int(found['answered'].to_numpy().max()):,} queries for each selectivity, the same for both methods, on the "
        "last release, generalised: ranges of the four quasi-identifiers",
    )
    drawing = finished(_by_stream(found, setting, panels, x), 9, "Query error against selectivity", said)
    return Chart(found, drawing)


# Combinations


def combination_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Beyond the paper: people whom combinations of releases tie to fewer than n."""
    altair = load_altair()
    panels = {
        "people": f"People in equal sets of fewer than {setting.n}",
        "only_combined": "Those of them whom no two groups tie so",
    }
    names = found["method"].unique(maintain_order=True).to_list()
    colour = altair.Color(
        "method:N", legend=None, scale=altair.Scale(domain=names, range=["#000000", *COLOURS][: len(names)])
    )
    rows = []
    for column, title in panels.items():
        bars = []
        for stream in setting.small_streams:
            data = found.filter(pl.col("turnover") == stream.share)
            base = altair.Chart(altair.Data(values=data.to_dicts())).encode(
                y=altair.Y("method:N", title=None, sort=names), x=altair.X(f"{column}:Q", title="people")
            )
            bar = base.mark_bar(size=18).encode(
                color=colour, tooltip=[altair.Tooltip(f"{name}:N") for name in found.columns]
            )
            text = base.mark_text(align="left", dx=4).encode(text=f"{column}:Q")
            heading = panel_title(f"{title}; {stream.initial:,} people, {stream.title}")
            bars.append(altair.layer(bar, text).properties(width=360, height=90, title=heading))
        rows.append(bars)
    said = what_was_run(setting, BEYOND, *_settled(found), small=True)
    drawing = finished(grid(rows), 11, "People tied together by combinations of releases", said)
    return Chart(found, drawing)


def _settled(found: pl.DataFrame) -> list[str]:
    """Which runs were searched to the end, and which were not."""
    by_run = pl.format("{} ({}%)", "method", (pl.col("turnover") * 100).round().cast(pl.Int64))
    left = found.filter(~pl.col("proven")).select(by_run).to_series().to_list()
    if not left:
        return ["searched to the end: there are no others"]
    return [f"there may be more than were found: {'; '.join(left)}"]


# Rates


def _with_series(found: pl.DataFrame) -> pl.DataFrame:
    merged = pl.when(pl.col("method") == "CorSplit").then(pl.lit("")).otherwise(pl.lit(", combinations"))
    ours = pl.format("Cor-Split, n = {}{}", "n", merged)
    return found.with_columns(series=pl.when(pl.col("n").is_null()).then(pl.lit("m-invariance")).otherwise(ours))


def rate_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Beyond the paper: how often values were ruled out and people exposed, against the formulas."""
    altair = load_altair()
    data = _with_series(found)
    names = sorted(data["series"].unique().to_list(), key=lambda name: (name != "m-invariance", name))
    looks = {"color": ["#000000", *COLOURS][: len(names)], "shape": ["cross", *SHAPES][: len(names)]}
    legend = altair.Legend(title=None, orient="top", labelLimit=0, symbolSize=80)
    colour, shape = (
        channel("series:N", legend=legend, scale=altair.Scale(domain=names, range=looks[look]))
        for channel, look in ((altair.Color, "color"), (altair.Shape, "shape"))
    )
    whole = altair.Scale(domain=[0, 1])
    diagonal = altair.Chart(altair.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
    diagonal = diagonal.mark_line(color=GREY, strokeDash=[4, 3]).encode(x="x:Q", y="y:Q")
    panels = []
    for quantity, title in QUANTITIES.items():
        part = altair.Data(values=data.filter(pl.col("quantity") == quantity).to_dicts())
        points = altair.Chart(part).mark_point(filled=True, opacity=1, size=45)
        points = points.encode(
            x=altair.X("formula:Q", title="formula", scale=whole),
            y=altair.Y("observed:Q", title="observed", scale=whole),
            color=colour,
            shape=shape,
            tooltip=[altair.Tooltip(f"{name}:N") for name in found.columns],
        )
        panels.append(altair.layer(diagonal, points).properties(width=250, height=250, title=panel_title(title)))
    rates = riboni.rates_of(setting)
    said = [
        f"{BEYOND}; a generated census, {rates.people:,} people in a release; of those published L times",
        f"everybody compromised with probability p, {rates.rounds} times; a point for each method, m, n, p and L: "
        f"m = {_listed(rates.m)}, p = {_listed(rates.p)}, L = {_listed(rates.L)}",
        f"and m = {setting.m}, n = {setting.n}, p = {setting.p:g}, L = {setting.streams[0].releases}; "
        f"seed {setting.seed}. Above the grey line the formula is exceeded",
    ]
    drawing = altair.concat(*panels, columns=2)
    return Chart(found, finished(drawing, 12, "Observed rates against the formulas", said))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _rate_tables(found: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The last parameters, which are the paper's; and how often the formulas are exceeded in the others."""
    data = _with_series(found).filter(pl.col("quantity").is_in([*QUANTITIES]))
    m, p, L = found.select("m", "p", "L").row(-1) if found.height else (0, 0.0, 0)
    paper = (pl.col("m") == m) & (pl.col("p") == p) & (pl.col("L") == L)
    others = data.filter(~paper).group_by("quantity", "series", maintain_order=True)
    exceeding = others.agg(
        **{
            "parameters": pl.len(),
            "formula exceeded": pl.col("exceeds").sum(),
            "observed, mean": pl.col("observed").mean(),
            "formula, mean": pl.col("formula").mean(),
        }
    )
    columns = ("quantity", "series", "observed", pl.col("standard_error").alias("error"), "formula", "exceeds")
    return {
        f"m = {m}, p = {p:g}, L = {L}": data.filter(paper).select(columns),
        "where breaches are common": exceeding.sort("quantity", maintain_order=True),
    }


def _once(setting: Setting) -> int:
    return 1


def _by_stream_told(*columns: str, **renamed: str) -> Callable[[pl.DataFrame], dict[str, pl.DataFrame]]:
    """For each stream a table with a row for each method: these columns of the summary, some under another name."""
    wanted = {**{name: name for name in ("method", *columns)}, **renamed}
    return lambda summary: {
        f"{share:.0%} leave and come": summary.filter(pl.col("turnover") == share).select(*wanted).rename(wanted)
        for share in summary["turnover"].unique(maintain_order=True).to_list()
    }


def _error_tables(found: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """For each stream the errors with a column for each method, and Cor-Split's against the other's."""
    tables = {}
    for share in found["turnover"].unique(maintain_order=True).to_list():
        part = found.filter(pl.col("turnover") == share)
        ratio = part.filter(pl.col("method") == "Cor-Split").select("selectivity", ratio="ratio")
        table = part.pivot("method", index="selectivity", values="median", maintain_order=True)
        tables[f"{share:.0%} leave and come"] = table.join(ratio, on="selectivity", maintain_order="left")
    return tables


FIGURES: Mapping[int, Figure[Setting]] = by_number(
    Figure(
        2,
        "probabilities in closed form",
        _formulas,
        _once,
        lambda found, setting: formula_chart(found, h=setting.h),
        _formula_summary,
        lambda summary: {"for 21 and 24 releases": summary.rename({"21": "L = 21", "24": "L = 24"})},
    ),
    Figure(
        7,
        "hc-unsafe groups",
        riboni.releases,
        riboni.release_steps,
        unsafe_chart,
        riboni.unsafe_totals,
        _by_stream_told(
            "groups",
            unsafe_when_published="unsafe when published",
            share="share",
            most="most in a release",
            unsafe="unsafe in the end",
        ),
    ),
    Figure(
        8,
        "counterfeits",
        riboni.releases,
        riboni.release_steps,
        counterfeit_chart,
        riboni.counterfeit_totals,
        _by_stream_told(
            most="most in a release",
            most_per_mille="per mille",
            last="in the last",
            merged="merged groups",
            merged_share="share",
            held_back="most held back",
        ),
    ),
    Figure(
        9,
        "median relative error of queries",
        riboni.query_errors,
        riboni.query_steps,
        error_chart,
        as_it_is,
        _error_tables,
    ),
    Figure(
        10,
        "seconds for the whole series (not in the paper)",
        riboni.releases,
        riboni.release_steps,
        time_chart,
        riboni.time_totals,
        _by_stream_told(
            grouping="method alone",
            grouping_ratio="ratio",
            drafting="whole draft",
            drafting_ratio="its ratio",
            drafting_cpu="CPU seconds",
        ),
    ),
    Figure(
        11,
        "people tied together by combinations of releases (not in the paper)",
        riboni.combinations,
        riboni.combination_steps,
        combination_chart,
        as_it_is,
        _by_stream_told(
            *("unsafe", "smallest", "pairs", "sets", "people"),
            only_combined="only combined",
            by_two_releases="by two releases",
            proven="no others",
        ),
    ),
    Figure(
        12,
        "observed rates against the formulas (not in the paper)",
        riboni.observed_rates,
        riboni.rate_steps,
        rate_chart,
        as_it_is,
        _rate_tables,
    ),
)
"""The figures that can be drawn, by their number in the paper; from 10 on they are ours."""
