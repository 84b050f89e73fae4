"""Speed of whole series: 20 releases beside the floor, the 200th release beside the 20th, and a large table.

python benchmarks/series.py --long 200 --large 10000000 --json figures.json
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from measuring import (
    QUASI,
    RATIOS,
    SEED,
    SENSITIVE,
    Floor,
    console,
    positive,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
)
from samples import census, updates

import reissue as ri

FLOOR = "floor"
WAYS: dict[str, tuple[ri.EEquivalence | ri.MInvariance, str, float]] = {
    "e-equivalence, anatomised": (ri.EEquivalence(m=10, e=5), "anatomised", 3.0),
    "m-invariance, generalised": (ri.MInvariance(m=10), "generalised", 5.0),
}
"""The method, the form, and how many floors the series may take at most."""


def policy(method: ri.Alternatives | ri.CorSplit | ri.EEquivalence | ri.MInvariance, form: str) -> ri.Policy:
    """The census table under a method for series."""
    labels = ri.Categorical(new="accept")  # small tables do not have them all from the start
    quasi: dict[str, Any] = dict.fromkeys(QUASI, labels) | {"age": ri.Numeric(wider="accept")}
    return ri.Policy(
        ri.Schema(person="person", quasi=quasi, sensitive={SENSITIVE: labels}),
        method,
        form=form,
        checks=ri.Checks(counterfeit=1, few_groups=1, withheld=1),
    )


def write_stream(folder: Path, *, initial: int, turnover: int, releases: int) -> list[Path]:
    """He's random updates as Parquet files, from a census as large as they need."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = census(initial + turnover * (releases - 1), seed=SEED)
    paths = []
    for number, state in enumerate(updates(pool, initial=initial, turnover=turnover, seed=SEED), start=1):
        paths.append(folder / f"{number:04}.parquet")
        state.write_parquet(paths[-1])
    return paths


@dataclass
class Publications:
    """A job that publishes files as one series."""

    paths: list[Path]
    policy: ri.Policy
    counterfeits: list[int] = field(default_factory=list)
    """Of each release of the last run."""
    seconds: list[float] = field(default_factory=list)
    """For each release of the last run."""

    def __call__(self, folder: Path) -> None:
        """From the Parquet files to the committed releases."""
        self.counterfeits, self.seconds = [], []
        with ri.open(folder / "series", self.policy) as series:
            for number, path in enumerate(self.paths):
                began = time.perf_counter()
                release = series.publish(path, seed=SEED + number)
                self.seconds.append(time.perf_counter() - began)
                self.counterfeits.append(release.summary["counterfeits"])


@dataclass(frozen=True)
class Floors:
    """The floor of a series: the same tables read, sorted and written."""

    paths: list[Path]

    def __call__(self, folder: Path) -> None:
        """With polars, file after file."""
        for path in self.paths:
            Floor(path)(folder)


def beside_the_floor(folder: Path, repeats: int, initial: int, turnover: int, releases: int) -> dict[str, Any]:
    """Whole series, in turns with the floor."""
    paths = write_stream(folder / "stream", initial=initial, turnover=turnover, releases=releases)
    jobs = {name: Publications(paths, policy(method, form)) for name, (method, form, _) in WAYS.items()}
    times = time_in_turns({FLOOR: Floors(paths), **jobs}, repeats)
    figures: dict[str, Any] = {}
    lines = []
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        most = WAYS[name][2] if name in WAYS else None
        made = max(jobs[name].counterfeits) if name in jobs else None
        figures[name] = {**found.to_dict(), **ratios, "at_most": most, "counterfeits": made}
        lines.append(
            [
                name,
                f"{found.median:.2f}",
                found.spread,
                f"{ratios['floors']:.2f}",
                f"{ratios['cpu_floors']:.2f}",
                most or "",
                "" if made is None else made,
            ]
        )
    show(
        f"{releases} releases of {initial:,} rows, {turnover:,} in and out each time (median of {repeats})",
        ["", "seconds", "fastest to slowest", *RATIOS, "at most", "most counterfeits"],
        lines,
        times,
    )
    return figures


def over_time(
    folder: Path, policies: dict[str, ri.Policy], releases: int, initial: int, turnover: int
) -> dict[str, Any]:
    """A long series: what a release costs late and early, medians over 11 releases each."""
    paths = write_stream(folder / "long", initial=initial, turnover=turnover, releases=releases)
    figures: dict[str, Any] = {}
    lines = []
    for name, chosen in policies.items():
        job = Publications(paths, chosen)
        with scratch(None) as place:
            job(place)
        early, late = statistics.median(job.seconds[14:25]), statistics.median(job.seconds[-11:])
        figures[name] = {"early": early, "late": late, "ratio": late / early, "counterfeits": max(job.counterfeits)}
        lines.append([name, f"{early:.3f}", f"{late:.3f}", f"{late / early:.2f}", max(job.counterfeits)])
    show(
        f"{releases} releases of {initial:,} rows, {turnover:,} in and out each time: seconds for a release",
        ["", "releases 15 to 25", f"the last 11 of {releases}", "ratio", "most counterfeits"],
        lines,
    )
    return figures


def large(folder: Path, rows: int) -> dict[str, Any]:
    """Two releases of a large table, a tenth of it replaced; the highest memory so far of this process counts."""
    paths = write_stream(folder / "large", initial=rows, turnover=rows // 10, releases=2)
    figures: dict[str, Any] = {}
    lines = []
    for name, (method, form, _) in WAYS.items():
        job = Publications(paths, policy(method, form))
        with scratch(None) as place:
            job(place)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        figures[name] = {"seconds": job.seconds, "peak_bytes_so_far": peak}
        lines.append([name, *(f"{seconds:.1f}" for seconds in job.seconds), f"{peak / 2**30:.1f}"])
    table = pl.scan_parquet(paths[0]).collect().estimated_size()
    show(
        f"{rows:,} rows ({table / 2**30:.1f} GiB as a frame)",
        ["", "first release, s", "second, s", "peak memory of the process so far, GiB"],
        lines,
    )
    return figures


def main() -> int:
    """Run what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    with scratch(given.folder) as folder:
        results = {"series": beside_the_floor(folder, given.repeats, given.initial, given.turnover, given.releases)}
        if given.long:
            policies = {name: policy(method, form) for name, (method, form, _) in WAYS.items()}
            results["over_time"] = over_time(folder, policies, given.long, given.initial, given.turnover)
        if given.large:
            results["large"] = large(folder, given.large)
    save(given.json, results)
    missed = [name for name, job in results["series"].items() if job["at_most"] and job["counting"] > job["at_most"]]
    for name in missed:
        console().print(f"missed: {name}")
    return 1 if given.check and missed else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--initial", type=positive, default=200_000, help="rows of the first table (default 200000)")
    parser.add_argument("--turnover", type=positive, default=20_000, help="rows in and out (default 20000)")
    parser.add_argument("--releases", type=positive, default=20, help="releases of the series (default 20)")
    parser.add_argument("--long", type=int, default=0, help="also a series of so many releases")
    parser.add_argument("--large", type=int, default=0, help="also two releases of a table of so many rows")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
