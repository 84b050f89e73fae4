"""Claims: everything that an outsider would conclude about people's values, everybody and not only the worst.

A claim is that somebody has a value, or one of several: for certain, or with more than the limits allow. Several
attacks may come to the same one. Headlines count them, tables of findings list them, and the worst come first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.attacks.base import Attack, Findings, Judgement, Limits
from reissue.attacks.conditional import ConditionalFindings
from reissue.auditing import conclusions
from reissue.auditing.exposure import worst_of
from reissue.model.missing_words import nothing_known
from reissue.model.published import Published

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "person": pl.Int64,
    "column": pl.String,
    "positions": pl.List(pl.Int64),
    "release": pl.Int64,
    "certain": pl.Boolean,
    "probability": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "kind": pl.String,
    "attack": pl.String,
    "shown": pl.Int64,
    "supposed": pl.Boolean,
}
CLAIMS = pl.Schema(_COLUMNS)
"""`positions` are those of the values in the view or, where `column` names one of several sensitive columns, in that
column; `release` is the time that it is said of, null where that is always; `attack` names all that come to it;
`shown` is how often the releases show these values in all: what is rare comes first. What is `supposed` is so only if
the person is in a release, which is not known."""

BESIDE = ("attack", "shown", "supposed")
"""What is told of all claims of an attack at once."""


def claims_of(report: AuditReport) -> pl.DataFrame:
    """What all attacks of an audit conclude, each claim once and the worst first; see `CLAIMS`."""
    found = [
        claims_by(run.by, run.findings, report.limits, report.known_people).with_columns(attack=pl.lit(run.attack))
        for run in report.runs
        if run.findings is not None
    ]
    every = pl.concat([pl.DataFrame(schema=CLAIMS), *found])
    if not every.height:
        return every
    same = pl.col("positions").cast(pl.List(pl.String)).list.join(",")
    sorted_ = ranked(every).with_columns(same.alias("same"))
    # The surest of equal claims speaks for all of them.
    once = sorted_.group_by("person", "column", "same", maintain_order=True).agg(
        pl.exclude("attack").first(), pl.col("attack").unique(maintain_order=True).str.join(", ")
    )
    return ranked(once.select(*CLAIMS))


def claims_by(attack: Attack, findings: Findings, limits: Limits, known: Ints) -> pl.DataFrame:
    """What one attack concludes about everybody but those `known` beforehand; see `CLAIMS`."""
    strangers = ~pl.col("person").is_in(pl.Series(known, dtype=pl.Int64).implode())
    certain = _single(conclusions.certain(attack, findings).filter(strangers)).with_columns(
        certain=pl.lit(True),
        **{name: pl.lit(1.0) for name in ("probability", "low", "high")},
        kind=pl.lit("exact"),
    )
    above = _single(conclusions.above(findings, limits, known))
    if above.height:
        likely = pl.col("column").is_null() & (pl.col("positions").list.len() == 1)
        unproven = "conditional" if isinstance(findings, ConditionalFindings) else "bounded"
        above = _with_figures(findings, above, known).with_columns(
            *(pl.when(likely).then(pl.col(name)).alias(name) for name in ("probability", "low", "high")),
            kind=pl.when(likely).then(pl.col("kind")).fill_null(pl.lit(unproven)),
        )
        above = _with_columns_figures(findings, above).with_columns(
            certain=pl.col("column").is_not_null()
            & (pl.col("kind") == "exact")
            & (pl.col("probability") >= conclusions.CERTAIN)
        )
    parts = [pl.DataFrame(schema={name: kind for name, kind in CLAIMS.items() if name not in BESIDE})]
    parts += [one.select(parts[0].columns).cast(parts[0].schema) for one in (certain, above) if one.height]
    every = pl.concat(parts)
    return (
        every.with_columns(
            attack=pl.lit(attack.name),
            shown=pl.Series(_shown(findings.published, every), dtype=pl.Int64),
            supposed=(~pl.col("certain") | pl.col("column").is_not_null())
            & pl.Series(_supposed(findings, every), dtype=pl.Boolean),
        )
        .with_columns(certain=pl.col("certain") & ~pl.col("supposed"))
        .select(*CLAIMS)
    )


def _supposed(findings: Findings, claims: pl.DataFrame) -> pl.Series:
    """Which claims suppose that the person is in a release, or in the one that they are said of."""
    told = findings.supposed
    if not told.height:
        return pl.Series([False], dtype=pl.Boolean).new_from_index(0, claims.height)
    always = claims["person"].is_in(told.filter(pl.col("release").is_null())["person"].implode())
    dated = claims.join(told.unique(), on=["person", "release"], how="semi").select("person", "release").unique()
    seen = claims.join(dated.with_columns(seen=True), on=["person", "release"], how="left", maintain_order="left")
    return always | seen["seen"].fill_null(value=False)


def _with_figures(findings: Findings, above: pl.DataFrame, known: Ints) -> pl.DataFrame:
    """Claims with the figures of each: of its own value and release, where it is said of one release."""
    own = conclusions.figures(findings, above) if above["release"].is_not_null().any() else None
    if own is None:
        figures = worst_of(findings, known).unique("person", keep="first")
        return above.join(figures, on="person", how="left", maintain_order="left")
    first = pl.col("positions").list.first().alias("position")
    keys = ["person", "position", "release"]
    return above.with_columns(first).join(own, on=keys, how="left", maintain_order="left")


def _with_columns_figures(findings: Findings, above: pl.DataFrame) -> pl.DataFrame:
    """Claims about one of several sensitive columns with the figures of its values; all others as they are."""
    parts = [above.filter(pl.col("column").is_null())]
    for column in findings.published.columns:
        own, figures = above.filter(column=column.name), findings.column_figures(column.name)
        if own.height and figures is not None:
            keys = own.drop("probability", "low", "high").with_columns(position=pl.col("positions").list.first())
            on = ["person", "position", "release"]
            told = keys.rename({"kind": "unproven"}).join(
                figures, on=on, how="left", nulls_equal=True, maintain_order="left"
            )
            own = told.with_columns(kind=pl.coalesce("kind", "unproven")).select(above.columns)
        parts.append(own)
    return pl.concat(parts)


def _single(tied: pl.DataFrame) -> pl.DataFrame:
    """Claims with all their positions in one row."""
    if tied["claim"].n_unique() == tied.height:
        return tied.select("person", "column", pl.concat_list("position").alias("positions"), "release")
    grouped = tied.group_by("claim", maintain_order=True).agg(
        pl.col("person", "column", "release").first(), pl.col("position").sort().alias("positions")
    )
    return grouped.select("person", "column", "positions", "release")


def ranked(claims: pl.DataFrame) -> pl.DataFrame:
    """The worst first: what is certain, then the likeliest; of these the surest, the rarest, and people in order."""
    sureness = pl.col("kind").replace_strict(conclusions.SURENESS, default=len(conclusions.SURENESS))
    return (
        claims.with_columns(sureness.alias("sureness"))
        .sort(
            ["certain", "probability", "sureness", "shown", "column", "person", "release"],
            descending=[True, True, False, False, False, False, False],
            nulls_last=[True, True, True, True, False, True, True],
            maintain_order=True,
        )
        .drop("sureness")
    )


def frequencies(published: Published, column: str | None = None) -> Ints:
    """How often the releases show each value in all, by position: of the view, or of one of several columns.

    What says that nothing is known counts as if all rows had it: to learn it is to learn the least.
    """
    often = np.zeros(len(published.values), dtype=np.int64)
    for release in published.plain:
        often += np.bincount(release.values, release.counts, minlength=often.size).astype(np.int64)
    for one in published.sets:
        codes = one.codes[(one.codes >= 0) & (one.codes < often.size)]
        often += np.bincount(codes.ravel(), minlength=often.size).astype(np.int64)
    if column is not None:
        of = next(one for one in published.columns if one.name == column)
        often = np.bincount(of.of, often[: of.of.size], minlength=len(of.values)).astype(np.int64)
    nothing = nothing_known(published, column)
    often[: nothing.size][nothing] = often.sum()
    return often


def _shown(published: Published, claims: pl.DataFrame) -> Ints:
    """For each claim how often the releases show its values in all."""
    shown = np.zeros(claims.height, dtype=np.int64)
    names = claims["column"].unique().to_list()
    for name in names:
        rows = np.flatnonzero(claims.select(pl.col("column").eq_missing(name)).to_series().to_numpy())
        lists = claims["positions"].gather(rows)
        lengths = lists.list.len().to_numpy().astype(np.int64)
        positions = lists.explode().to_numpy().astype(np.int64)
        often = frequencies(published, name)
        seen = (positions >= 0) & (positions < often.size)
        each: Floats = (
            np.where(seen, often[np.where(seen, positions, 0)], 0) if often.size else np.zeros(positions.size)
        )
        shown[rows] = np.bincount(np.repeat(np.arange(rows.size), lengths), each, minlength=rows.size)
    return shown


RAREST = 12
"""About so many more people derivations are asked for, where an attack keeps only some."""


def with_the_rarest(attack: Attack, findings: Findings, judgement: Judgement, limits: Limits) -> Judgement:
    """A judgement whose findings have those about the rarest values among them, however many people are as exposed."""
    if judgement.status != "beyond" or judgement.count <= len(judgement.findings):
        return judgement
    whole = pl.col("column").is_null()
    claims = ranked(claims_by(attack, findings, limits, np.zeros(0, dtype=np.int64)).filter(whole))
    kept = {finding.person for finding in judgement.findings}
    worst = claims["person"].unique(maintain_order=True).head(RAREST).to_list()
    told = findings.findings_about([person for person in worst if person not in kept], limits)
    # As many as were asked for: they take the place of the last that are about others.
    places = [at for at, finding in enumerate(judgement.findings) if finding.person not in worst]
    out = {*places[max(len(places) - len(told), 0) :]}
    kept_on = tuple(finding for at, finding in enumerate(judgement.findings) if at not in out)
    return replace(judgement, findings=(*kept_on, *told))
