"""How long 10,000 COUNT queries on 200,000 rows take, for both forms of a release.

Timed is `series.utility(1, workload=...)`: drawing the queries, counting exactly on the private rows,
estimating from the release, and all other measures. Beside it stands what polars takes to count such
queries on the private rows alone, one after the other: a sample of them, scaled up.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measuring import (
    QUASI,
    RATIOS,
    SEED,
    SENSITIVE,
    Form,
    Job,
    census_policy,
    positive,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
    write_census,
)

import reissue as ri

FORMS: tuple[Form, ...] = ("generalised", "anatomised")
FLOOR = "polars, exact counts only"
SAMPLE = 200


def one_by_one(table: pl.DataFrame, workload: ri.Workload) -> Job:
    """A job that counts SAMPLE queries of the workload's shape by filtering the table, labels as small codes."""
    rng = np.random.default_rng(SEED)
    coded = table.select(
        pl.col(name).rank("dense").cast(pl.UInt8) if table[name].dtype == pl.String else pl.col(name)
        for name in (*QUASI, SENSITIVE)
    )
    levels = {name: coded[name].unique().sort() for name in (*QUASI, SENSITIVE)}

    def predicate(name: str) -> pl.Expr:
        values = levels[name]
        admitted = workload.admitted(values.len())
        if table[name].dtype.is_numeric():
            first = int(rng.integers(values.len() - admitted + 1))
            return pl.col(name).is_between(values[first], values[first + admitted - 1])
        return pl.col(name).is_in(values.sample(admitted, seed=int(rng.integers(1 << 32))).implode())

    def query() -> pl.Expr:
        chosen = [*rng.choice(QUASI, workload.dimensions, replace=False), SENSITIVE]
        return pl.all_horizontal(predicate(str(name)) for name in chosen)

    def job(folder: Path) -> None:
        for _ in range(SAMPLE):
            coded.select(query().sum()).item()

    return job


def main() -> None:
    """Publish both forms, then time the queries in turns."""
    given = _arguments()
    workload = ri.Workload(dimensions=given.dimensions, selectivity=given.selectivity, count=given.queries, seed=SEED)
    with scratch(given.folder) as folder, tempfile.TemporaryDirectory(dir=folder) as name:
        path = write_census(folder, given.rows)
        errors: dict[str, Any] = {}
        jobs: dict[str, Job] = {FLOOR: one_by_one(pl.read_parquet(path), workload)}
        for form in FORMS:
            series = ri.open(Path(name) / form, census_policy(form=form))
            series.publish(path, seed=SEED)

            def ask(folder: Path, series: ri.Series = series, form: Form = form) -> None:
                errors[form] = series.utility(1, workload=workload).query_error

            jobs[form] = ask
        times = time_in_turns(jobs, given.repeats)
    scale = given.queries / SAMPLE
    floor, cpu_floor = times[FLOOR].median * scale, times[FLOOR].cpu_median * scale
    figures = [{"way": FLOOR, "seconds": floor, "sample": SAMPLE, "floors": 1.0, "cpu_floors": 1.0}]
    figures += [
        {
            "way": form,
            **times[form].to_dict(),
            "floors": times[form].median / floor,
            "cpu_floors": times[form].cpu_median / cpu_floor,
            "median_error": errors[form].median,
            "redrawn": errors[form].redrawn,
        }
        for form in FORMS
    ]
    show(
        f"{given.queries:,} queries on {given.rows:,} rows (median of {given.repeats}); "
        f"{workload.dimensions} quasi-identifiers and the value, selectivity {workload.selectivity:g}",
        ["", "seconds", "fastest to slowest", *RATIOS, "median error"],
        [
            [
                row["way"],
                f"{row['seconds']:.2f}",
                times[str(row["way"])].spread if "median_error" in row else f"scaled up from {SAMPLE}",
                f"{row['floors']:.3f}",
                f"{row['cpu_floors']:.3f}",
                f"{row['median_error']:.2%}" if "median_error" in row else "",
            ]
            for row in figures
        ],
        times,
    )
    save(given.json, {"rows": given.rows, "queries": given.queries, "figures": figures})


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.add_argument("--rows", type=positive, default=200_000, help="rows of the table (default 200000)")
    parser.add_argument("--queries", type=positive, default=10_000, help="how many queries (default 10000)")
    parser.add_argument("--dimensions", type=positive, default=3, help="quasi-identifiers restricted (default 3)")
    parser.add_argument("--selectivity", type=float, default=0.05, help="expected share of rows (default 0.05)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
