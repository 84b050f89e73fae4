"""What an outsider would conclude from what an attack found: certainties, values beyond the limits, values ruled out.

Nothing here knows what is true. A claim is a row or, where somebody is said to have one of several values, several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.base import Attack, Findings, Limits
from reissue.attacks.figures import SURE
from reissue.attacks.tied import TIED, UNSEEN, tied_to
from reissue.auditing.exposure import TOLERANCE

CERTAIN = 1 - 1e-12
SURENESS = {kind: at for at, kind in enumerate(("exact", "bounded", "sampled", "conditional", "undecided"))}
"""The kinds of figures, the surest first."""


def certain(attack: Attack, findings: Findings) -> pl.DataFrame:
    """Who is said to have one value for certain; see `TIED`."""
    found = _listed(findings, {person: [value] for person, value in findings.certain.items()})
    if not _of_releases(attack, findings, found):
        return found
    told = findings.posteriors
    # Where values may change, it is said of a release: of the last in which it is certain.
    sure = told.filter(pl.col("kind") == "exact", pl.col("probability") >= CERTAIN)
    return _dated(findings, found, sure)


def excluded(attack: Attack, findings: Findings) -> pl.DataFrame:
    """Who is said not to have which value: each a claim; see `TIED`."""
    found = findings.ruled_out
    if found is None:
        found = _listed(findings, findings.excluded)
    if not _of_releases(attack, findings, found):
        return found
    told = findings.posteriors
    return _dated(findings, found, told.filter(pl.col("kind") == "exact", pl.col("probability") <= 0))


def _of_releases(attack: Attack, findings: Findings, found: pl.DataFrame) -> bool:
    """Whether there are claims that are each about one release."""
    dated = found.height > 0 and (not attack.static or findings.dated)
    return dated and "release" in findings.posteriors.columns


def above(findings: Findings, limits: Limits, known: Ints) -> pl.DataFrame:
    """Who is tied to which value beyond the limits, by proof or estimate; see `TIED`. `known` are left out."""
    told = findings.tied(limits)
    if told is None:
        told = _likeliest(findings, limits)
    return told.filter(~pl.col("person").is_in(pl.Series(known, dtype=pl.Int64).implode()))


def figures(findings: Findings, claims: pl.DataFrame) -> pl.DataFrame | None:
    """`probability`, `kind`, `low`, `high` of each `person`, `position` and `release` that claims are about; None where
    none is told."""
    parts = []
    for (release,), some in claims.drop_nulls("release").group_by("release", maintain_order=True):
        told = findings.posteriors_in(int(release), some["person"].unique().to_numpy())
        if told is None:
            return None
        parts.append(told)
    if not parts:
        return None
    told = pl.concat(parts)
    exact = pl.when(pl.col("kind") == "exact").then(pl.col("probability"))
    low, high = pl.coalesce("low", exact, pl.lit(0.0)), pl.coalesce("high", exact, pl.lit(1.0))
    numbered = _numbered(findings, told.with_columns(low=low, high=high), ("probability", "kind", "low", "high"))
    return numbered.drop("value").unique(["person", "position", "release"], keep="first")


def _likeliest(findings: Findings, limits: Limits) -> pl.DataFrame:
    """The likeliest value of everybody for whom it is beyond the limit."""
    told = findings.posteriors
    if limits.probability is None or not told.height:
        return pl.DataFrame(schema=TIED)
    bar = float(limits.probability) + TOLERANCE
    far = pl.col("probability") - SURE * pl.col("standard_error").fill_null(0.0) > bar
    proven = pl.col("low").fill_null(0.0) > bar
    beyond = told.filter(proven | ((pl.col("kind") == "sampled") & far))
    worst = beyond.sort("low", "probability", descending=True, nulls_last=True, maintain_order=True)
    first = _numbered(findings, worst.unique("person", keep="first", maintain_order=True))
    return tied_to(*(first[name].to_numpy() for name in ("person", "position", "release")))


def _listed(findings: Findings, values: Mapping[str | int, Iterable[object]]) -> pl.DataFrame:
    """People with values, each pair a claim about all times."""
    number, place = findings.published.number, {value: at for at, value in enumerate(findings.published.values)}
    pairs = [(number(person), place.get(value, UNSEEN)) for person, some in values.items() for value in some]
    people, positions = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return tied_to(people, positions)


def _dated(findings: Findings, found: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Claims with the last release of which they are told, where they are told of some."""
    if not found.height or not told.height:
        return found
    last = _numbered(findings, told).group_by("person", "position").agg(when=pl.col("release").max())
    when = found.join(last, on=["person", "position"], how="left", maintain_order="left")
    return when.with_columns(release=pl.coalesce("release", "when")).select(*TIED)


def _numbered(findings: Findings, told: pl.DataFrame, beside: Iterable[str] = ()) -> pl.DataFrame:
    """Rows of posteriors by the numbers of people and the positions of values; -1 for no release."""
    view = findings.published
    values = pl.DataFrame(
        {"value": [str(value) for value in view.values], "position": pl.int_range(len(view.values), eager=True)},
        schema={"value": pl.String, "position": pl.Int64},
    ).unique("value", keep="first")
    if view.people is not None:
        names = pl.DataFrame({"person": list(view.people), "number": pl.int_range(len(view.people), eager=True)})
        told = told.join(names, on="person", maintain_order="left").with_columns(person="number")
    if "release" not in told.columns:
        told = told.with_columns(release=pl.lit(-1, pl.Int64))
    rows = told.select(pl.col("person").cast(pl.Int64), "value", pl.col("release").fill_null(-1), *beside)
    found = rows.join(values, on="value", how="left", maintain_order="left")
    return found.with_columns(pl.col("position").fill_null(UNSEEN))
