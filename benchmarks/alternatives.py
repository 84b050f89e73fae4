"""Sets of values: one large release, a series of 20, many distinct values, each beside a floor that writes lists too.

python benchmarks/alternatives.py --json figures.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measuring import (
    QUASI,
    RATIOS,
    SEED,
    SENSITIVE,
    Job,
    Publication,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
    write_census,
)
from series import Publications, policy, write_stream

import reissue as ri

M = 10
AT_MOST = 3.0
METHOD = ri.Alternatives(m=M, limit="1/2", epsilon=1)
FLOOR = "floor"


@dataclass(frozen=True)
class FloorWithLists:
    """Read Parquet, sort by the quasi-identifiers, put a list of values in place of one, write Parquet; no sync."""

    paths: Sequence[Path]
    column: str
    by: Sequence[str] = QUASI

    def __call__(self, folder: Path) -> None:
        """With polars, file after file; the lists are the next values of the sorted column, all ready at hand."""
        for path in self.paths:
            frame = pl.read_parquet(path).sort(*self.by)
            lists = pl.concat_list(pl.col(self.column).shift(step, fill_value="none") for step in range(M))
            frame.with_columns(lists.alias(self.column)).write_parquet(folder / "sorted.parquet")


def many_values(folder: Path, rows: int, values: int) -> Path:
    """A table with very many distinct values, the first ones ten times as frequent as the last."""
    rng = np.random.default_rng(SEED)
    shares = 1 / (1 + 9 * np.arange(values) / values)
    path = folder / f"values-{rows}-{values}.parquet"
    codes = rng.choice(values, rows, p=shares / shares.sum())
    table = pl.DataFrame({"person": np.arange(rows), "age": rng.integers(0, 90, rows), "code": codes})
    table.with_columns(pl.format("code {}", "code").alias("code")).write_parquet(path)
    return path


def measured(title: str, jobs: dict[str, Job], repeats: int) -> dict[str, Any]:
    """Jobs in turns with their floor, shown and as figures."""
    times = time_in_turns(jobs, repeats)
    lines, figures = [], {}
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        figures[name] = {**found.to_dict(), **ratios, "at_most": None if name == FLOOR else AT_MOST}
        both = (f"{ratios['floors']:.2f}", f"{ratios['cpu_floors']:.2f}")
        lines.append([name, f"{found.median:.2f}", found.spread, *both, "" if name == FLOOR else AT_MOST])
    show(title, ["", "seconds", "fastest to slowest", *RATIOS, "at most"], lines, times)
    return figures


def main() -> int:
    """Measure, show, and say by the status whether a target was missed."""
    parser = timed_arguments(__doc__)
    parser.add_argument("--check", action="store_true", help="end with status 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="small tables: does it run?")
    asked: argparse.Namespace = parser.parse_args()
    rows, initial, releases, values = (6_000, 3_000, 3, 500) if asked.quick else (600_000, 200_000, 20, 20_000)
    with scratch(asked.folder) as folder:
        census = write_census(folder, rows)
        stream = write_stream(folder / "stream", initial=initial, turnover=initial // 10, releases=releases)
        codes = many_values(folder, rows, values)
        schema = ri.Schema("person", {"age": ri.Numeric()}, "code")
        # Shares with noise would put values together that so few people have.
        counts = pl.read_parquet(codes)["code"].value_counts()
        reference = dict(zip(counts["code"].to_list(), counts["count"].to_list(), strict=True))
        figures = {
            "one release": measured(
                f"{rows:,} rows, one release, m = {M} (median of {asked.repeats})",
                {
                    FLOOR: FloorWithLists([census], SENSITIVE),
                    "Alternatives": Publication(census, policy(METHOD, "alternatives")),
                },
                asked.repeats,
            ),
            "series": measured(
                f"{releases} releases of {initial:,} rows, m = {M} (median of {asked.repeats})",
                {
                    FLOOR: FloorWithLists(stream, SENSITIVE),
                    "Alternatives": Publications(stream, policy(METHOD, "alternatives")),
                },
                asked.repeats,
            ),
            "many values": measured(
                f"{rows:,} rows, {values:,} distinct values, m = {M} (median of {asked.repeats})",
                {
                    FLOOR: FloorWithLists([codes], "code", ["age"]),
                    "Alternatives": Publication(codes, ri.Policy(schema, ri.Alternatives(m=M, reference=reference))),
                },
                asked.repeats,
            ),
        }
    save(asked.json, figures)
    missed = [one["counting"] > AT_MOST for part in figures.values() for name, one in part.items() if name != FLOOR]
    return int(asked.check and any(missed))


if __name__ == "__main__":
    sys.exit(main())
