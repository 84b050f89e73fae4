"""Three real releases of a line list with a persistent id (Toronto), and a small one that is made up in its manner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from known_truth import PERSON, TRUE, KnownSeries
from real_data import FOLDER

FILE = "covid_linelists/toronto_releases.parquet"
QUASI = ("Age Group", "Client Gender", "FSA")
SENSITIVE = (
    "Outcome",
    "Source of Infection",
    "Classification",
    "Ever Hospitalized",
    "Ever in ICU",
    "Currently Hospitalized",
)
"""The six columns that are told of people."""


def toronto(sensitive: str, quasi: Sequence[str] = QUASI) -> KnownSeries:
    """The releases as they were published, in their order."""
    table = pl.read_parquet(FOLDER / FILE)
    return _series(table.select(pl.all().cast(pl.String)), sensitive, quasi)


def made_up(sensitive: str, people: int = 300, seed: int = 5) -> KnownSeries:
    """A line list of the same shape: cases come in, some are found to be none, outcomes change, cells are corrected."""
    rng = np.random.default_rng(seed)
    ages = [f"{low} to {low + 9} Years" for low in range(20, 90, 10)]
    age, gender = rng.choice([*ages, "19 and younger", "90 and older"], people), rng.choice(["FEMALE", "MALE"], people)
    area = rng.choice([f"M{at}A" for at in range(6)], people)
    fatal, ill = rng.random(people) < 0.1, rng.random(people) < 0.3
    outcome = np.where(ill, "ACTIVE", np.where(fatal, "FATAL", "RESOLVED"))
    source = rng.choice(["Close contact", "Community", "Pending", "Travel"], people)
    others = {name: np.where(rng.random(people) < 0.15, "Yes", "No") for name in SENSITIVE[3:]}
    comes = rng.integers(0, 3, people) * (rng.random(people) < 0.4)
    parts = []
    for at in range(3):
        if at:
            recovers = (outcome == "ACTIVE") & (rng.random(people) < 0.5)
            outcome = np.where(recovers, np.where(fatal, "FATAL", "RESOLVED"), outcome)
            source = np.where((source == "Pending") & (rng.random(people) < 0.6), "Community", source)
            area = np.where(rng.random(people) < 0.02, "M1A", area)
            others = {name: np.where(rng.random(people) < 0.03, "Yes", cells) for name, cells in others.items()}
            comes = np.where(rng.random(people) < 0.02, 3, comes)
        here = np.flatnonzero(comes <= at)
        cells = {"Age Group": age, "Client Gender": gender, "FSA": area, "Outcome": outcome}
        cells |= {"Source of Infection": source, "Classification": np.where(fatal, "CONFIRMED", "PROBABLE")} | others
        part = pl.DataFrame({name: some[here] for name, some in cells.items()})
        who = pl.Series("Assigned_ID", [str(one) for one in here.tolist()])
        parts.append(part.with_columns(who, pl.lit(f"2020-0{at + 1}-01").alias("release")))
    return _series(pl.concat(parts), sensitive, QUASI)


def frozen(series: KnownSeries) -> KnownSeries:
    """The same people in the same releases with the cells and values that each had at first: everything stays."""
    first = pl.concat(series.rows).unique(PERSON, keep="first", maintain_order=True)
    rows = tuple(one.select(PERSON).join(first, on=PERSON, how="left", maintain_order="left") for one in series.rows)
    return KnownSeries(rows, series.quasi, series.sensitive)


def drawn_anew(series: KnownSeries, rate: float, seed: int, *, kept: bool = False) -> KnownSeries:
    """Some rows with a value drawn anew among all of its release (PRAM); `kept`: once for each person."""
    rng = np.random.default_rng(seed)
    kinds = sorted(set(pl.concat(series.rows)[series.sensitive]))
    everybody = sorted(series.truth)
    once = {person: str(rng.choice(kinds)) for person in everybody if rng.random() < rate} if kept else {}
    rows = []
    for one in series.rows:
        some = rng.random(one.height) < rate
        drawn = rng.choice(kinds, one.height).tolist()
        shown = [
            once.get(person, value) if kept else str(drawn[at]) if some[at] else value
            for at, (person, value) in enumerate(one.select(PERSON, TRUE).iter_rows())
        ]
        rows.append(one.with_columns(pl.Series(series.sensitive, shown, dtype=pl.String)))
    return KnownSeries(tuple(rows), series.quasi, series.sensitive, series.registry, series.false)


def _series(table: pl.DataFrame, sensitive: str, quasi: Sequence[str]) -> KnownSeries:
    rows = []
    for _, part in sorted(table.group_by("release"), key=lambda one: one[0]):
        kept = part.select(pl.col("Assigned_ID").alias(PERSON), *quasi, sensitive)
        rows.append(kept.with_columns(pl.col(sensitive).alias(TRUE)))
    cells = pl.concat(rows).select(PERSON, *quasi).unique()
    corrected = cells.height > cells[PERSON].n_unique()
    return KnownSeries(tuple(rows), tuple(quasi), sensitive, false=frozenset({"cells-stay"} if corrected else ()))
