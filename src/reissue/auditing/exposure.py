"""What the possible worlds leave to guess: person by person, and group by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.attacks.base import Findings
from reissue.attacks.figures import RISKS, worst_of_each
from reissue.model.memberships import Memberships
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history import diversity

TOLERANCE = 1e-12
"""Probabilities come as floats here; one that cannot be told from the limit is on it. The attacks judge exactly."""

PEOPLE = RISKS
"""The columns of a table of people."""

GROUPS = pl.Schema(
    {
        "release": pl.Int64,
        "group": pl.Int64,
        "people": pl.Int64,
        "highest": pl.Float64,
        "mean": pl.Float64,
        "above": pl.Int64,
    }
)
"""The columns of a table of groups."""


@dataclass(frozen=True)
class Disclosure:
    """What can be learnt from all releases together."""

    people: int
    """How many people there are figures for; those whose value was known before are not among them."""
    highest: float | None
    """The largest probability with which anybody is tied to a value."""
    kind: str | None
    """How sure that figure is: exact, bounded, sampled or undecided."""
    above: int | None
    """How many are proven to be above the limit; None where no limit bounds a probability."""
    open: int | None
    """How many more are not proven to be within it."""
    certain: int
    """How many can have one value only."""
    kinds: Mapping[str, int]
    """How many people's figure is of each kind."""
    together: bool = True
    """Whether the figures are of all releases together; else each is of the release in which it is largest."""


def worst_of(findings: Findings, known: Ints) -> pl.DataFrame:
    """For each person but those known beforehand, by number: `probability` and `kind` of the likeliest value, and the
    largest proven `low` and `high` of any value; see `PEOPLE`."""
    told = getattr(findings, "risks", None)
    frame = told if isinstance(told, pl.DataFrame) else _from_posteriors(findings)
    unknown = ~pl.col("person").is_in(pl.Series(known, dtype=pl.Int64).implode())
    return frame.select(*PEOPLE).filter(unknown & (pl.col("person") >= 0))


def _from_posteriors(findings: Findings) -> pl.DataFrame:
    posteriors, people = findings.posteriors, findings.published.people
    if not posteriors.height:
        return pl.DataFrame(schema=PEOPLE)
    exact = pl.when(pl.col("kind") == "exact").then(pl.col("probability"))
    worst = worst_of_each(
        posteriors.with_columns(
            pl.coalesce("low", exact, pl.lit(0.0)).alias("low"), pl.coalesce("high", exact, pl.lit(1.0)).alias("high")
        )
    )
    if people is None:
        return worst.with_columns(pl.col("person").cast(pl.Int64))
    place = pl.DataFrame({"person": list(people), "number": pl.int_range(len(people), dtype=pl.Int64, eager=True)})
    numbered = worst.join(place, on="person", how="inner", maintain_order="left")
    return numbered.with_columns(pl.col("number").alias("person"))


def disclosure_of(people: pl.DataFrame, limit: Fraction | None, certain: int) -> Disclosure:
    """Sum up what `worst_of` gave."""
    above = unsettled = None
    if limit is not None:
        beyond = float(limit) + TOLERANCE
        above = int((people["low"] > beyond).sum())
        unsettled = int(((people["low"] <= beyond) & (people["high"] > beyond)).sum())
    worst = people.row(int(people["probability"].arg_max() or 0), named=True) if people.height else None
    return Disclosure(
        people.height,
        None if worst is None else worst["probability"],
        None if worst is None else worst["kind"],
        above,
        unsettled,
        certain,
        dict(people.group_by("kind").len().sort("kind").iter_rows()),
    )


RANKED, TIES = ["above", "highest", "mean", "group"], [False, False, False, True]
"""What makes a group worse than another; of equals the first is, so that it is the same one every time."""


def exposed_groups(
    published: Published, people: pl.DataFrame, limit: Fraction | None, *, most: int = 15
) -> pl.DataFrame:
    """The groups whose members the series as a whole exposes most, the worst first; see `GROUPS`.

    Without figures for people, or where it is not known who is in a group: the groups in which one value is most
    frequent. `above` is null where no limit bounds a probability.
    """
    if published.sets:
        return _exposed_regions(published, people, limit, most)
    told = published.exact and people.height > 0
    chances = _by_entry(published.index, people) if told else None
    frames = []
    for at, release in enumerate(published.releases):
        rated = None if chances is None else chances[published.index.entries(at)]
        frame = _alone(release, limit) if rated is None else _of_members(release, rated, limit)
        worst = frame.filter(pl.col("people") > 0).top_k(most, by=RANKED, reverse=TIES)
        frames.append(worst.with_columns(pl.lit(release.number, pl.Int64).alias("release")).select(*GROUPS))
    ranked = pl.concat([pl.DataFrame(schema=GROUPS), *frames])
    order = ["above", "highest", "mean", "release", "group"]
    worst = ranked.sort(order, descending=[True, True, True, False, False]).head(most)
    return worst if limit is not None else worst.with_columns(pl.lit(None, pl.Int64).alias("above"))


def _exposed_regions(published: Published, people: pl.DataFrame, limit: Fraction | None, most: int) -> pl.DataFrame:
    """The same for rows alike in their quasi-identifiers, where everybody is shown with a set of values."""
    frames = []
    for one in published.sets:
        if one.group is None and (one.region is None or not one.region.width):
            continue
        rows = pl.DataFrame({"person": one.people, "group": one.regions + 1}).join(people, on="person")
        beyond = 1.0 if limit is None else float(limit) + TOLERANCE
        found = rows.group_by("group").agg(
            pl.len().cast(pl.Int64).alias("people"),
            pl.col("probability").max().alias("highest"),
            pl.col("probability").mean().alias("mean"),
            (pl.col("probability") > beyond).sum().cast(pl.Int64).alias("above"),
        )
        worst = found.top_k(most, by=RANKED, reverse=TIES)
        frames.append(worst.with_columns(pl.lit(one.number, pl.Int64).alias("release")).select(*GROUPS))
    ranked = pl.concat([pl.DataFrame(schema=GROUPS), *frames])
    order = ["above", "highest", "mean", "release", "group"]
    worst = ranked.sort(order, descending=[True, True, True, False, False]).head(most)
    return worst if limit is not None else worst.with_columns(pl.lit(None, pl.Int64).alias("above"))


def _by_entry(where: Memberships, people: pl.DataFrame) -> Floats:
    """The largest probability for each member of each group, not a number where there is none."""
    chances = np.full(where.people.size, np.nan)
    at = where.places(people["person"].to_numpy())
    chances[at[at >= 0]] = people["probability"].to_numpy()[at >= 0]
    return chances[where.member]


def _of_members(release: PublishedGroups, chance: Floats, limit: Fraction | None) -> pl.DataFrame:
    group = release.member_groups + 1
    rated = ~np.isnan(chance)
    members = pl.DataFrame({"group": group[rated], "chance": chance[rated]})
    beyond = 1.0 if limit is None else float(limit) + TOLERANCE
    return members.group_by("group").agg(
        pl.len().cast(pl.Int64).alias("people"),
        pl.col("chance").max().alias("highest"),
        pl.col("chance").mean().alias("mean"),
        (pl.col("chance") > beyond).sum().cast(pl.Int64).alias("above"),
    )


def _alone(release: PublishedGroups, limit: Fraction | None) -> pl.DataFrame:
    held, top = release.rows, diversity.largest(release)
    share = top / np.maximum(held, 1)
    beyond = np.zeros(held.size, dtype=np.bool_) if limit is None else top * limit.denominator > held * limit.numerator
    return pl.DataFrame(
        {
            "group": np.arange(1, release.group_count + 1),
            "people": held,
            "highest": share,
            "mean": share,
            "above": np.where(beyond, held, 0),
        }
    )
