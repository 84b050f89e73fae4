"""Speed of Cor-Split beside m-invariance and the floor: whole series, and late releases beside early ones.

python benchmarks/cor_split.py --long 100 --json figures.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from measuring import RATIOS, console, positive, save, scratch, show, time_in_turns, timed_arguments
from series import FLOOR, Floors, Publications, over_time, policy, write_stream

import reissue as ri

CONTROL = "m-invariance"
M, N, P, H = 6, 3, 0.04, 0.1
"""The setting of the paper."""
AT_MOST = 3.0
"""So many times as long as m-invariance's a series may take."""


def ways(releases: int) -> dict[str, ri.Policy]:
    """The policies to compare, for a series of so many releases in which nobody is retired."""
    formula = {"p": P, "L": releases, "h": H}
    return {
        CONTROL: policy(ri.MInvariance(m=M), "generalised"),
        "Cor-Split": policy(ri.CorSplit(m=M, n=N, **formula), "generalised"),
        "Cor-Split, combinations": policy(ri.CorSplit(m=M, n=N, combinations=True, **formula), "anatomised"),
    }


def beside_m_invariance(folder: Path, repeats: int, initial: int, turnover: int, releases: int) -> dict[str, Any]:
    """Whole series, in turns."""
    paths = write_stream(folder / "stream", initial=initial, turnover=turnover, releases=releases)
    jobs = {name: Publications(paths, chosen) for name, chosen in ways(releases).items()}
    times = time_in_turns({FLOOR: Floors(paths), **jobs}, repeats)
    figures: dict[str, Any] = {}
    lines = []
    for name, found in times.items():
        ratios = found.beside(times[FLOOR]) | found.beside(times[CONTROL], "ratio")
        made = jobs[name].counterfeits if name in jobs else []
        figures[name] = {**found.to_dict(), **ratios, "counterfeits": made}
        most = f"{max(made):,}" if made else ""
        four = (f"{ratios[which]:.2f}" for which in ("ratio", "cpu_ratio", "floors", "cpu_floors"))
        lines.append([name, f"{found.median:.2f}", found.spread, *four, most])
    show(
        f"{releases} releases of {initial:,} rows, {turnover:,} in and out each time (median of {repeats})",
        ["", "seconds", "fastest to slowest", f"times {CONTROL}", "of its CPU", *RATIOS, "most counterfeits"],
        lines,
        times,
    )
    return figures


def main() -> int:
    """Run what was asked for; 1 if the target was to be checked and was missed."""
    given = _arguments()
    with scratch(given.folder) as folder:
        sizes = (given.initial, given.turnover, given.releases)
        results = {"series": beside_m_invariance(folder, given.repeats, *sizes)}
        if given.long:
            both = {CONTROL: ri.MInvariance(m=M), "Cor-Split": ri.CorSplit(m=M, n=N)}
            kept = {name: policy(method, "generalised") for name, method in both.items()}
            results["over_time"] = over_time(folder, kept, given.long, given.initial, given.turnover)
    save(given.json, results)
    missed = results["series"]["Cor-Split"]["counting"] > AT_MOST
    if missed:
        console().print(f"missed: Cor-Split takes more than {AT_MOST:g} times as long as {CONTROL}")
    return 1 if given.check and missed else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--initial", type=positive, default=200_000, help="rows of the first table (default 200000)")
    parser.add_argument("--turnover", type=positive, default=20_000, help="rows in and out (default 20000)")
    parser.add_argument("--releases", type=positive, default=21, help="releases of the series (default 21)")
    parser.add_argument("--long", type=int, default=0, help="also a series of so many releases")
    parser.add_argument("--check", action="store_true", help="end with status 1 when the target is missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
