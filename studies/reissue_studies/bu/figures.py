"""Figures 2 to 8 of Bu, Fu, Wong, Chen & Li (2008), drawn from our own runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from reissue.charts import Chart, load_altair
from reissue_studies.bu import breaches as bu_breaches
from reissue_studies.bu import claims as bu_claims
from reissue_studies.bu import experiments as bu
from reissue_studies.bu.experiments import DIMENSIONS, DIVERSITY, INVARIANCE, OURS, SELECTIVITY
from reissue_studies.bu.setting import Setting
from reissue_studies.drawing import finished, grid, lines, release_axis
from reissue_studies.figure import Figure, as_it_is, by_number

RUN = list(bu.RUN_COLUMNS)
LETTERS = {"l": "l", "container": "C", "known": "K"}


def what_was_run(setting: Setting, *more: str) -> list[str]:
    """The lines below a title: what was run."""
    permanent = " and ".join(f"{count:,} with {name.lower()}" for name, count in setting.permanent.items())
    return [
        f"{setting.people:,} invented people with {setting.diagnoses.height:,} diagnoses, {permanent}; "
        f"{setting.rounds} rounds; seed {setting.seed}",
        *more,
    ]


def _drawn(
    data: pl.DataFrame, column: str, title: str, *, per_cent: str | None = None, top: float | None = None
) -> Any:
    """One quantity over the rounds."""
    altair = load_altair()
    scale = altair.Scale(zero=True) if top is None else altair.Scale(domain=[0, top])
    y = altair.Y(f"{column}:Q", title=None, scale=scale, axis=altair.Axis(format=per_cent or "~g"))
    return lines(data, release_axis("round"), y, title=title, width=330, height=200)


# Figures 2 and 3


def _beside_ours(found: pl.DataFrame, method: str) -> pl.DataFrame:
    return found.filter(pl.col("method").is_in([method, OURS]))


def breach_chart(number: int, method: str) -> Callable[[pl.DataFrame, Setting], Chart]:
    """Figures 2 and 3: the rate of privacy breach of one method, with ours beside it."""

    def draw(found: pl.DataFrame, setting: Setting) -> Chart:
        letter = "m" if method == INVARIANCE else "l"
        data = _beside_ours(found, method).with_columns(
            series=pl.when(pl.col("method") == OURS)
            .then(pl.format("{}, l = {}", "method", "l"))
            .otherwise(pl.format(f"{{}}, {letter} = {{}}", "method", "l"))
        )
        # The paper's comparison first: the others' people are known to be there, ours are not.
        paper = (pl.col("method") == OURS) == (pl.col("participation") == "unknown")
        rows = []
        for chosen, said in ((paper, "as in the paper"), (~paper, "the other way round")):
            part = data.filter(chosen)
            rows.append(
                [
                    _drawn(
                        part.filter(pl.col("volatile") == vol), "rate", f"vol = {vol:.0%}, {said}", per_cent="~%", top=1
                    )
                    for vol in setting.volatile
                ]
            )
        said_below = what_was_run(
            setting,
            f"above, as in the paper: who is in a release of {method} is known, and of HD-composition's unknown",
            f"below, the other way round: unknown for {method}"
            + (" (a bound)" if method == INVARIANCE else "")
            + ", known for HD-composition, which nothing can then protect (Table 4 of the paper)",
            "linkable: once in a group that shows a permanent value; breached: a risk above 1/l, or excluded by now",
        )
        drawing = finished(grid(rows), number, f"Rate of privacy breach: {method}", said_below)
        return Chart(_beside_ours(found, method), drawing)

    return draw


def _breach_summary(method: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda found: _beside_ours(found, method)


def _breach_tables(method: str) -> Callable[[pl.DataFrame], dict[str, pl.DataFrame]]:
    def tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        last = summary.filter(pl.col("round") == summary["round"].max())
        shown = last.select(
            "method", "l", "volatile", "participation", "linkable", "vulnerable", "rate", "certain", "excluded"
        )
        by_round = {}
        for volatile in summary["volatile"].unique(maintain_order=True).to_list():
            known = (pl.col("method") == method) & (pl.col("participation") == "known")
            part = summary.filter(known, pl.col("volatile") == volatile).with_columns(
                series=pl.format("l = {}", "l"), rate=pl.col("rate").round(3)
            )
            table = part.pivot("series", index="round", values="rate", maintain_order=True)
            by_round[f"rate by round, vol = {volatile:g}, participation known"] = table
        return {
            **by_round,
            f"after round {last['round'][0]}": shown.with_columns(pl.col("rate").round(3)),
            bu_claims.TITLE: bu_claims.of_breaches(summary, method),
        }

    return tables


# Figures 4, 5, 7 and 8


def _varying(found: pl.DataFrame, name: str) -> pl.DataFrame:
    return bu.varying(found, name).with_columns(series=pl.format(f"{LETTERS[name]} = {{}}", name))


def composed_chart(
    number: int, title: str, panels: Sequence[tuple[str, str, str]], per_cent: str | None = None
) -> Callable[[pl.DataFrame, Setting], Chart]:
    """A panel for each quantity (its column, what it is) against the rounds, varying one parameter."""

    def draw(found: pl.DataFrame, setting: Setting) -> Chart:
        drawn = []
        for letter, (column, varied, said) in zip("ab", panels, strict=True):
            part = _varying(found, varied)
            usual = ", ".join(f"{LETTERS[name]} = {part[name][0]}" for name in RUN if name != varied)
            form = per_cent if column != "grouping" else None
            drawn.append(_drawn(part, column, f"({letter}) {said}; {usual}", per_cent=form))
        said_below = what_was_run(
            setting,
            f"vol = {setting.volatile[0]:.0%}; the default values are those of the paper",
            f"{setting.queries:,} queries for each release, on {DIMENSIONS} quasi-identifiers and the diagnosis, "
            f"s = {SELECTIVITY:g}"
            if any(column == "mean" for column, _, _ in panels)
            else "one run each",
        )
        return Chart(found, finished(grid([drawn]), number, title, said_below))

    return draw


def _composed_tables(
    claims: Callable[[pl.DataFrame], pl.DataFrame], columns: Sequence[tuple[str, str, str]]
) -> Callable[[pl.DataFrame], dict[str, pl.DataFrame]]:
    def tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        found = {}
        for column, varied, said in columns:
            table = _varying(summary, varied).pivot("series", index="round", values=column, maintain_order=True)
            digits = 6 if column == "share" else 4
            found[said] = table.with_columns(pl.selectors.float().round(digits))
        return {**found, bu_claims.TITLE: claims(summary)}

    return tables


# Figure 6


def compared_chart(found: pl.DataFrame, setting: Setting) -> Chart:
    """Figure 6: the error of queries on releases of the others."""
    data = found.with_columns(series=pl.format("l = {}", "l"))
    drawn = [
        _drawn(data.filter(pl.col("method") == method), "mean", f"({letter}) {method}", per_cent="~%")
        for letter, method in (("a", DIVERSITY), ("b", INVARIANCE))
    ]
    said = what_was_run(
        setting,
        f"vol = {setting.volatile[0]:.0%}; {setting.queries:,} queries for each release, the same as in Figure 5; "
        "counterfeits of m-invariance count as anybody",
    )
    return Chart(found, finished(grid([drawn]), 6, "Average relative error of queries: the others", said))


def _compared_tables(summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
    data = summary.with_columns(series=pl.format("l = {}", "l"), mean=pl.col("mean").round(4))
    tables = {
        method: data.filter(pl.col("method") == method).pivot(
            "series", index="round", values="mean", maintain_order=True
        )
        for method in (DIVERSITY, INVARIANCE)
    }
    return {f"average relative error, {method}": table for method, table in tables.items()}


PERTURBED = (("share", "l", "people perturbed, by l"), ("share", "container", "people perturbed, by C"))
ERRORS = (("mean", "l", "average relative error, by l"), ("mean", "container", "average relative error, by C"))
SECONDS = (("grouping", "l", "seconds of the method, by l"), ("grouping", "container", "seconds of the method, by C"))
PARTICIPATION = (
    ("mean", "known", "average relative error, by K"),
    ("grouping", "known", "seconds of the method, by K"),
)


def _breach_figure(number: int, method: str) -> Figure[Setting]:
    return Figure(
        number, f"breaches of {method}", bu_breaches.breaches, bu_breaches.breach_steps, breach_chart(number, method),
        _breach_summary(method), _breach_tables(method),
    )  # fmt: skip


def _composed_figure(
    number: int,
    short: str,
    title: str,
    panels: Sequence[tuple[str, str, str]],
    claims: Callable[[pl.DataFrame], pl.DataFrame],
    per_cent: str | None = None,
) -> Figure[Setting]:
    return Figure(
        number, short, bu.composed, bu.composed_steps, composed_chart(number, title, panels, per_cent), as_it_is,
        _composed_tables(claims, panels),
    )  # fmt: skip


FIGURES: Mapping[int, Figure[Setting]] = by_number(
    _breach_figure(2, DIVERSITY),
    _breach_figure(3, INVARIANCE),
    _composed_figure(
        4, "perturbation", "People published with another value", PERTURBED, bu_claims.of_perturbation, ".3%"
    ),
    _composed_figure(
        5, "query error", "Average relative error of queries: HD-composition", ERRORS, bu_claims.of_errors, "~%"
    ),
    Figure(
        6, "query error of the others", bu.compared, bu.compared_steps, compared_chart, as_it_is, _compared_tables
    ),
    _composed_figure(7, "time", "Seconds for a round: HD-composition", SECONDS, bu_claims.of_time),
    _composed_figure(
        8, "participation", "The effect of K people whose participation is known", PARTICIPATION,
        bu_claims.of_participation, "~%",
    ),
)  # fmt: skip
"""The figures that can be drawn, by their number in the paper."""
