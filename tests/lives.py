"""People over time, with everything that happens to them known: they come, leave, return, change and are corrected.

`lived` makes the exact tables of a few releases, `released` what somebody publishes of them. Nothing here comes from
the library.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from anonymisers import ANONYMISERS
from known_truth import PERSON, TRUE, KnownSeries

QUASI = ("age", "zip", "sex")
SENSITIVE = "diagnosis"
ILLS = ("asthma", "cancer", "diabetes", "flu", "gout", "HIV", "ulcer")
OFTEN = (0.25, 0.05, 0.15, 0.3, 0.1, 0.05, 0.1)


@dataclass(frozen=True)
class Lives:
    """What happens from release to release, each as a share of the people."""

    people: int = 60
    releases: int = 3
    coming: float = 0.2
    leaving: float = 0.0
    returning: float = 0.0
    """Of those who are away."""
    changing: float = 0.0
    correcting: float = 0.0
    """Another quasi-identifier from now on."""
    missing: float = 0.0
    """Cells of quasi-identifiers that are empty in the table from the beginning."""
    perturbing: float = 0.0
    """Rows that show a value drawn anew."""
    kept: bool = False
    """Whether what is drawn for somebody is the same in all releases."""


def made_up_people(rng: np.random.Generator, count: int) -> pl.DataFrame:
    """People in the manner of a hospital's."""
    return pl.DataFrame(
        {
            PERSON: [f"p{at}" for at in range(count)],
            "age": rng.integers(18, 90, count),
            "zip": rng.integers(100, 140, count),
            "sex": rng.choice(["f", "m"], count),
            TRUE: rng.choice(ILLS, count, p=OFTEN),
        }
    )


def adult_people(file: Path, rng: np.random.Generator, count: int) -> pl.DataFrame:
    """People from UCI's Adult: age, hours of work and sex, with their occupation."""
    with gzip.open(file, "rt") as lines:
        cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.count(",") == 14]
    whole = [row for row in cells if row[6] != "?"]
    chosen = [whole[at] for at in rng.choice(len(whole), count, replace=False).tolist()]
    return pl.DataFrame(
        {
            PERSON: [f"p{at}" for at in range(count)],
            "age": [int(row[0]) for row in chosen],
            "zip": [int(row[12]) for row in chosen],
            "sex": [row[9] for row in chosen],
            TRUE: [row[6] for row in chosen],
        }
    )


def lived(rng: np.random.Generator, everybody: pl.DataFrame, lives: Lives) -> list[pl.DataFrame]:
    """The exact table of each release: who is there, with their cells and values as they are then."""
    count = everybody.height
    late = rng.random(count) < lives.coming * (lives.releases - 1) / lives.releases
    comes = np.where(late, rng.integers(1, max(lives.releases, 2), count), 0)
    ages, zips = everybody["age"].to_numpy().copy(), everybody["zip"].to_numpy().copy()
    values = np.array(everybody[TRUE].to_list(), dtype=object)
    kinds = sorted({*values.tolist()})
    hidden = rng.random((count, 2)) < lives.missing
    away = np.zeros(count, dtype=bool)
    tables = []
    for at in range(lives.releases):
        if at:
            away = np.where(away, rng.random(count) >= lives.returning, rng.random(count) < lives.leaving)
            change = rng.random(count) < lives.changing
            values[change] = rng.choice(kinds, int(change.sum()))
            correct = rng.random(count) < lives.correcting
            ages[correct] += rng.integers(1, 15, int(correct.sum()))
        here = np.flatnonzero((comes <= at) & ~away)
        tables.append(
            pl.DataFrame(
                {
                    PERSON: everybody[PERSON].gather(here),
                    "age": pl.Series(ages[here]).scatter(np.flatnonzero(hidden[here, 0]), None),
                    "zip": pl.Series(zips[here]).scatter(np.flatnonzero(hidden[here, 1]), None),
                    "sex": everybody["sex"].gather(here),
                    TRUE: pl.Series(values[here].tolist(), dtype=pl.String),
                }
            )
        )
    return tables


def released(
    rng: np.random.Generator, everybody: pl.DataFrame, lives: Lives, anonymiser: str, k: int = 3
) -> KnownSeries:
    """What an anonymiser publishes of people's lives; the registry has their cells where they first appear."""
    tables = lived(rng, everybody, lives)
    drawn: dict[str, str] = {}
    rows = []
    for table in tables:
        order = rng.permutation(table.height)
        mixed = perturbed(rng, table[order.astype(np.uint32)], lives, drawn)
        rows.append(ANONYMISERS[anonymiser](mixed, QUASI, k))
    first = pl.concat(tables).unique(PERSON, keep="first", maintain_order=True)
    registry = first.select(PERSON, *(pl.col(name).cast(pl.String) for name in QUASI))
    # Whoever lacks a cell fits many classes, and may be suppressed all the same.
    lacking = any(table.select(pl.any_horizontal(pl.col(QUASI).is_null()).any()).item() for table in tables)
    false = frozenset({"cells-stay"} if corrected(tables) else ()) | ({"suppressed-class"} if lacking else set())
    return KnownSeries(tuple(rows), QUASI, SENSITIVE, registry, false, tuple(tables))


def corrected(tables: list[pl.DataFrame]) -> bool:
    """Whether anybody's quasi-identifiers differ between releases."""
    cells = pl.concat(tables).select(PERSON, *QUASI).unique()
    return cells.height > cells[PERSON].n_unique()


def perturbed(rng: np.random.Generator, table: pl.DataFrame, lives: Lives, drawn: dict[str, str]) -> pl.DataFrame:
    """The table with the value that is published: the true one, or one drawn anew for some (PRAM)."""
    kinds = sorted({*table[TRUE].to_list()})
    shown = table[TRUE].to_list()
    for row in np.flatnonzero(rng.random(table.height) < lives.perturbing).tolist():
        shown[row] = str(rng.choice(kinds))
    if lives.kept:
        # What somebody was first shown with stays, and nobody else is drawn anew.
        shown = [drawn.setdefault(person, value) for person, value in zip(table[PERSON], shown, strict=True)]
    return table.with_columns(pl.Series(SENSITIVE, shown, dtype=pl.String))


def random_lives(rng: np.random.Generator) -> Lives:
    """Lives of any kind, each of what may happen in about half of them."""

    def some(most: float) -> float:
        return float(rng.random() * most) if rng.random() < 0.5 else 0.0

    return Lives(
        people=int(rng.integers(12, 90)),
        releases=int(rng.integers(1, 5)),
        coming=some(0.5),
        leaving=some(0.3),
        returning=some(0.6),
        changing=some(0.2),
        correcting=some(0.15),
        missing=some(0.1),
    )


def calm(lives: Lives) -> Lives:
    """The same people, with static values and cells."""
    return replace(lives, changing=0.0, correcting=0.0, missing=0.0, perturbing=0.0)
