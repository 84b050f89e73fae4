"""The demo's run: a hospital published month after month in three ways, each attacked, analysed and held against truth.

Everybody in the hospital is invented. What is told is counted in the run, and nothing else is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from reissue.demonstrating.traced_patient import Traced, traced
from reissue.methods import Alternatives, MInvariance, Mondrian
from reissue.model.csv_files import write_csv
from reissue.model.schema import Categorical, Numeric, Schema
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.policy import Policy
from reissue.publishing.series import Series
from reissue.publishing.series import open as open_series
from reissue.samples.hospital import SHARES, hospital
from reissue.utility.analysing.analysis import analyse

M = 4
LIMIT = Fraction(1, M)
"""How likely the methods for series let anybody's diagnosis be; the same limit is held against all three."""
K, L = 4, 3
"""What Mondrian promises of each release by itself."""
ATTACKS = ("Worlds", "Tracking")
"""Of groups the first one counts exactly, of sets the second."""
BANDS = (25, 45, 65)
"""Where one band of ages ends and the next begins."""
LOOKS = 4
"""After so many months at most the series are attacked: the first, the last, and some between."""


@dataclass(frozen=True)
class Exposure:
    """What an attacker who kept all releases knows after a month; wrong conclusions do not count."""

    month: int
    patients: int
    """Who was published so far."""
    certain: int
    """Whose diagnosis is certain."""
    exposed: int
    """Those, and whose diagnosis is likelier than the limit."""
    proven: bool
    """Whether it is proven that nobody's is."""


@dataclass(frozen=True)
class Share:
    """The share of a diagnosis in a band of ages, as estimated from public files, with its bounds if it has some."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Way:
    """One way to publish the hospital, and what came of it."""

    method: str
    folder: str
    protects_series: bool
    exposure: tuple[Exposure, ...]
    withheld: int
    """Patients left out, over all releases."""
    counterfeits: int
    """Rows that describe nobody, over all releases."""
    rows: int
    """All rows, over all releases."""
    age_span: float
    """How many years a published age spans, on average; 0 where it is exact."""
    shares: tuple[Share, ...]
    interval: str
    """What the bounds of `shares` are: `certain`, `95 %` or `none`."""


@dataclass(frozen=True)
class Demo:
    """Everything that the demo tells."""

    folder: str
    months: int
    patients: int
    """In each month."""
    coming: int
    """How many of them are new in each month but the first; as many left."""
    diagnosis: str
    """Whose share changes most with age."""
    bands: tuple[str, ...]
    truth: tuple[float, ...]
    """The true share of that diagnosis in each band of ages, in the last month."""
    ways: tuple[Way, ...]
    patient: Traced | None
    """Somebody whose diagnosis is certain by several releases of the first way together, and by none of them alone."""


def run_demo(
    folder: Path, *, months: int = 4, patients: int = 6_000, progress: Callable[[str], None] = lambda stage: None
) -> Demo:
    """Publish the hospital in three ways into a new folder, with one CSV file for each month beside them."""
    folder.mkdir(parents=True)
    tables = list(hospital(months, patients=patients))
    looks = looked_at(months)
    exposure: dict[str, list[Exposure]] = {name: [] for name in policies()}
    with ExitStack() as opened:
        series = {name: opened.enter_context(open_series(folder / name, policy)) for name, policy in policies().items()}
        for month, table in enumerate(tables, start=1):
            write_csv(table, folder / f"month-{month}.csv")
            for name, one in series.items():
                progress(f"Publishing month {month}, {name}")
                one.publish(table, seed=month)
                if month in looks:
                    progress(f"Attacking months 1 to {month}, {name}")
                    exposure[name].append(_exposure(one, month))
        progress("Analysing")
        diagnosis, truth = _steepest(tables[-1])
        return Demo(
            str(folder),
            months,
            patients,
            tables[1].filter(~pl.col("patient").is_in(tables[0]["patient"].implode())).height,
            diagnosis,
            bands(),
            truth,
            tuple(_way(name, one, exposure[name], diagnosis) for name, one in series.items()),
            traced(tables, *series.values()),
        )


def stages(months: int) -> int:
    """How often `run_demo` tells of its progress."""
    return len(policies()) * (months + len(looked_at(months))) + 1


def looked_at(months: int) -> tuple[int, ...]:
    """The months after which the series are attacked."""
    return tuple(dict.fromkeys(np.linspace(1, months, min(months, LOOKS)).round().astype(int).tolist()))


def policies() -> Mapping[str, Policy]:
    """The ways to publish, by the names of their folders: each month by itself, and two that protect the series."""
    schema = Schema(
        person="patient",
        quasi={"age": Numeric(), "zip": Numeric(), "sex": Categorical()},
        sensitive="diagnosis",
    )
    return {
        "mondrian": Policy(schema, Mondrian(k=K, l=L), series="unprotected"),
        "m-invariance": Policy(schema, MInvariance(m=M), checks=Checks(counterfeit=1)),  # the demo shows them
        "alternatives": Policy(schema, Alternatives(m=M, reference=SHARES)),
    }


def bands() -> tuple[str, ...]:
    """The bands of ages, in short."""
    between = (f"{low}–{end - 1}" for low, end in pairwise(BANDS))
    return (f"<{BANDS[0]}", *between, f"{BANDS[-1]}+")


def _exposure(series: Series, month: int) -> Exposure:
    """What the releases so far tell, as the audit of a series counts it."""
    report = series.audit(limit=LIMIT, attacks=ATTACKS)
    found = report.truth
    return Exposure(
        month,
        report.disclosure.people,
        0 if found is None else found.certain.right,
        0 if found is None else found.exposed,
        report.passed,
    )


def _steepest(table: pl.DataFrame) -> tuple[str, tuple[float, ...]]:
    """The diagnosis whose share differs most between the youngest and the oldest, and its share in each band."""
    band = np.searchsorted(BANDS, table["age"].to_numpy(), side="right")
    by_band = table.with_columns(pl.Series("band", band)).group_by("band", "diagnosis").len()
    shares = by_band.with_columns(share=pl.col("len") / pl.col("len").sum().over("band"))
    found: dict[str, dict[int, float]] = {}
    for place, diagnosis, share in shares.select("band", "diagnosis", "share").sort("band", "diagnosis").iter_rows():
        found.setdefault(diagnosis, {})[place] = share
    every = {name: tuple(of.get(place, 0.0) for place in range(len(BANDS) + 1)) for name, of in found.items()}
    steepest = max(sorted(every), key=lambda name: abs(every[name][-1] - every[name][0]))
    return steepest, every[steepest]


def _way(name: str, series: Series, exposure: Sequence[Exposure], diagnosis: str) -> Way:
    releases = series.releases
    asked = analyse(releases[-1]).share(diagnosis, by={"age": list(BANDS)})
    table = releases[-1].tables["table"]
    spans = "age_low" in table.columns
    method = series.policy.method
    return Way(
        method.name,
        name,
        method.protects_series,
        tuple(exposure),
        sum(sum(release.summary["held_back"].values()) for release in releases),
        sum(release.summary["counterfeits"] for release in releases),
        sum(release.summary["rows"] for release in releases),
        float((table["age_high"] - table["age_low"]).mean()) if spans else 0.0,
        tuple(Share(*row) for row in asked.select("estimate", "low", "high").iter_rows()),
        asked["interval"][0],
    )
