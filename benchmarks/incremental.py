"""Speed of one step of a growing series: new records in, the whole table out, beside the floor for that table.

python benchmarks/incremental.py --large --json figures.json
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measuring import (
    QUASI,
    RATIOS,
    SEED,
    SENSITIVE,
    Floor,
    anchors_in,
    console,
    positive,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
)
from samples import census, growth

import reissue as ri

AT_MOST = 3.0
"""So many floors a step may take."""
FLOOR = "floor"
WAYS: dict[str, ri.Incremental | ri.StaticI | ri.StaticII] = {
    "Incremental": ri.Incremental(l=5),
    "Incremental, strict": ri.Incremental(l=5, strict=True),
    "Static II": ri.StaticII(l=5),
    "Static I": ri.StaticI(l=5),
}


def policy(method: ri.Incremental | ri.StaticI | ri.StaticII) -> ri.Policy:
    """The census table under a method for tables that grow."""
    labels = ri.Categorical(new="accept")
    quasi: dict[str, Any] = dict.fromkeys(QUASI, labels) | {"age": ri.Numeric(wider="accept")}
    schema = ri.Schema(person="person", quasi=quasi, sensitive={SENSITIVE: labels})
    return ri.Policy(
        schema,
        method,
        series="protected" if method.protects_series else "unprotected",
        checks=ri.Checks(counterfeit=1, few_groups=1, withheld=1),
    )


def write_stream(folder: Path, *, rows: int, step: int, releases: int) -> list[Path]:
    """A table that grows to so many rows in so many releases, and one step more, as Parquet files."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = census(rows + step, seed=SEED)
    first = rows - step * (releases - 1)
    paths = []
    for number, state in enumerate(growth(pool, initial=first, step=step, seed=SEED), start=1):
        paths.append(folder / f"{number:04}.parquet")
        state.write_parquet(paths[-1])
    return paths


@dataclass
class Step:
    """A job that publishes one more release of a series that is there already."""

    path: Path
    before: Path
    """The series, and its anchor in the folder `state`."""
    stages: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, folder: Path) -> None:
        """From the Parquet file to the committed release."""
        marks = [("Opening the series", time.perf_counter())]
        with ri.open(folder / "series") as series:
            series.publish(self.path, seed=SEED, progress=lambda stage: marks.append((stage, time.perf_counter())))
        marks.append(("", time.perf_counter()))
        names, times = zip(*marks, strict=True)
        self.stages.append({n: b - a for n, a, b in zip(names, times, times[1:], strict=False)})

    def prepare(self, folder: Path) -> None:
        """A copy of the series, for which nobody waits."""
        shutil.copytree(self.before, folder, dirs_exist_ok=True)


def last_step(place: Path, paths: list[Path], method: ri.Incremental | ri.StaticI | ri.StaticII) -> Step:
    """The last step of a stream, after a series of all others, which is published now if it is not there."""
    if not place.exists():
        with anchors_in(place / "state"), ri.open(place / "series", policy(method)) as series:
            for number, path in enumerate(paths[:-1]):
                series.publish(path, seed=SEED + number)
    return Step(paths[-1], place)


def one_step(folder: Path, repeats: int, rows: int, step: int, releases: int) -> dict[str, Any]:
    """The last step, in turns with the floor for the table that it publishes."""
    paths = write_stream(folder / f"stream-{rows}", rows=rows, step=step, releases=releases)
    jobs: dict[str, Any] = {FLOOR: Floor(paths[-1])}
    for name, method in WAYS.items():
        place = folder / f"series-{rows}-{method.name}-{getattr(method, 'strict', False)}"
        jobs[name] = last_step(place, paths, method)
    times = time_in_turns(jobs, repeats)
    figures: dict[str, Any] = {}
    lines = []
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        at_most = AT_MOST if name.startswith("Incremental") else None
        figures[name] = {**found.to_dict(), **ratios, "at_most": at_most}
        if name != FLOOR:
            figures[name]["stages"] = jobs[name].stages[-1]
        both = (f"{ratios[which]:.2f}" for which in ("floors", "cpu_floors"))
        lines.append([name, f"{found.median:.3f}", found.spread, *both, at_most or ""])
    show(
        f"{step:,} records into {rows:,}, after {releases} releases (median of {repeats})",
        ["", "seconds", "fastest to slowest", *RATIOS, "at most"],
        lines,
        times,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    console().print(f"peak memory of the process so far: {peak:.1f} GiB")
    return figures


def main() -> int:
    """Run what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    results = {}
    with scratch(given.folder) as folder:
        results["small"] = one_step(folder, given.repeats, given.rows, given.step, given.releases)
        if given.large:
            results["large"] = one_step(folder, min(given.repeats, 3), 3_000_000, 100_000, 2)
    save(given.json, results)
    missed = [
        f"{size}: {name}"
        for size, figures in results.items()
        for name, job in figures.items()
        if job["at_most"] and job["counting"] > job["at_most"]
    ]
    for name in missed:
        console().print(f"missed: {name}")
    return 1 if given.check and missed else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.add_argument("--rows", type=positive, default=30_000, help="records before the step (default 30000)")
    parser.add_argument("--step", type=positive, default=1_000, help="records that come in (default 1000)")
    parser.add_argument("--releases", type=positive, default=30, help="releases before the step (default 30)")
    parser.add_argument("--large", action="store_true", help="also 100,000 records into 3,000,000")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
