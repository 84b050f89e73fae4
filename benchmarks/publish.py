"""Speed and memory of publishing, as ratios to the floor of the same run, and peers beside it.

python benchmarks/publish.py --sizes 600000,6000000 --json figures.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import memory
import peers
from measuring import (
    RATIOS,
    Floor,
    Publication,
    census_policy,
    console,
    installed,
    positive,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
    write_census,
)

FLOOR = "floor"
FLOOR_OF_NUMBERS = "floor of whole numbers"
MAIN = "generalised"
WAYS: dict[str, dict[str, Any]] = {
    MAIN: {},
    "generalised, hierarchies": {"hierarchies": True},
    "anatomised": {"form": "anatomised"},
    "whole numbers, generalised": {"numbers": True},
}
"""What `census_policy` is told; the table of whole numbers has a floor of its own."""
STATED_FOR = 600_000
"""From so many rows on the targets are meant; below, fixed costs such as syncing files weigh more."""
MOST_FLOORS = 2.5
MOST_TABLES = 4.0
MEMORY_RUNS = 3
"""Which files are written at the same moment differs from run to run, and memory with it: the highest counts."""


def main() -> int:
    """Run what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    targets: list[dict[str, Any]] = []
    results: dict[str, Any] = {"publishing": [], "peers": [], "targets": targets}
    with scratch(given.folder) as folder:
        most_floors = MOST_FLOORS
        for rows in given.sizes:
            figures = publishing(folder, rows, given.repeats, given.memory)
            results["publishing"].append(figures)
            if rows < STATED_FOR:
                continue
            ratio = figures["jobs"][MAIN]["counting"]
            targets.append(_target(f"{rows:,} rows, floors", ratio, most_floors))
            most_floors = ratio  # larger tables must do no worse than this one
            if given.memory:
                tables = figures["jobs"][MAIN]["memory"]["tables"]
                targets.append(_target(f"{rows:,} rows, peak memory in tables", tables, MOST_TABLES))
        if given.peer_rows:
            results["peers"] = beside_peers(folder, given.peer_rows, given.sizes[0], given)
    if targets:
        lines = [[t["what"], f"{t['found']:.2f}", f"{t['at_most']:.2f}", _verdict(t["met"])] for t in targets]
        show("Targets", ["what", "found", "at most", ""], lines)
    save(given.json, results)
    good = all(target["met"] for target in targets) and all(peer.get("agrees", True) for peer in results["peers"])
    return 1 if given.check and not good else 0


def publishing(folder: Path, rows: int, repeats: int, with_memory: bool) -> dict[str, Any]:
    """Time every way to publish a table beside the floor of it, then measure memory."""
    labels, numbers = write_census(folder, rows), write_census(folder, rows, numbers=True)
    paths = {name: numbers if options.get("numbers") else labels for name, options in WAYS.items()}
    ways = {name: Publication(paths[name], census_policy(**options)) for name, options in WAYS.items()}
    times = time_in_turns({FLOOR: Floor(labels), FLOOR_OF_NUMBERS: Floor(numbers), **ways}, repeats)
    jobs: dict[str, dict[str, Any]] = {}
    for name, found in times.items():
        of_numbers = name == FLOOR_OF_NUMBERS or paths.get(name) == numbers
        jobs[name] = {**found.to_dict(), **found.beside(times[FLOOR_OF_NUMBERS if of_numbers else FLOOR])}
    for name, way in ways.items():
        jobs[name] |= {"groups": way.groups, "stages": way.stages()}
    show(
        f"Publishing {rows:,} rows (median of {repeats}; floor: read, sort and write with polars)",
        ["", "seconds", "fastest to slowest", RATIOS[0], "CPU seconds", RATIOS[1], "groups"],
        [
            [
                name,
                f"{job['seconds']:.3f}",
                times[name].spread,
                f"{job['floors']:.2f}",
                f"{job['cpu_seconds']:.3f}",
                f"{job['cpu_floors']:.2f}",
                f"{job['groups']:,}" if "groups" in job else "",
            ]
            for name, job in jobs.items()
        ],
        times,
    )
    show(
        f"Stages of publishing {rows:,} rows, in seconds",
        ["stage", *ways],
        [[stage, *(f"{jobs[name]['stages'][stage]:.3f}" for name in ways)] for stage in jobs[MAIN]["stages"]],
    )
    if with_memory:
        _add_memory(paths, rows, jobs)
    return {"rows": rows, "jobs": jobs}


def _add_memory(paths: dict[str, Path], rows: int, jobs: dict[str, dict[str, Any]]) -> None:
    table = []
    for name, options in WAYS.items():
        found = memory.measure(paths[name], MEMORY_RUNS, **options)
        jobs[name]["memory"] = {
            "before": found.before,
            "peak": found.peak,
            "arrow": found.arrow,
            "tables": found.ratio,
        }
        sizes = (found.arrow, found.before, found.peak, found.peak - found.before)
        table.append([name, *(f"{size / 1e6:,.0f}" for size in sizes), f"{found.ratio:.2f}"])
    show(
        f"Memory of publishing {rows:,} rows, in megabytes (highest of {MEMORY_RUNS} processes)",
        ["", "table in Arrow", "before", "peak", "added", "tables"],
        table,
    )


def beside_peers(folder: Path, rows: int, check_rows: int, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Compare with the peers that are there, and say which are not."""
    path = write_census(folder, rows)
    results: list[dict[str, Any]] = []
    table: list[list[object]] = []
    for name in [*peers.PEERS, "ARX"]:
        if name == "ARX" and given.arx is None:
            table.append([name, "not given: --arx path/to/libarx.jar", "", "", "", "", "", ""])
            continue
        if name != "ARX" and not installed(name):
            table.append([name, "not installed", "", "", "", "", "", ""])
            continue
        if name == "ARX":
            found = peers.compare_arx(path, rows, given.repeats, given.arx, given.java)
        else:
            found = peers.compare(name, path, rows, given.repeats)
        results.append(
            {
                "peer": name,
                "task": found.task,
                "rows": rows,
                "seconds": found.seconds,
                "start_seconds": found.start,
                "groups": found.groups,
                "ours": found.ours.to_dict(),
                "our_groups": found.our_groups,
                "ratio": found.ratio,
            }
        )
        per_row = 1e6 / rows
        table.append(
            [
                name,
                found.task,
                f"{found.seconds * per_row:,.1f}",
                f"{found.ours.median * per_row:,.1f}",
                f"{found.ratio:,.0f}" if found.ratio >= 10 else f"{found.ratio:.1f}",
                "" if found.start is None else f"{found.start:.1f}",
                f"{found.groups:,}",
                f"{found.our_groups:,}",
            ]
        )
    show(
        f"Peers on {rows:,} rows (one run each, ARX as many as ours), ours from file to committed release",
        ["", "task", "microseconds a row", "ours", "ratio", "and to start, s", "groups", "ours"],
        table,
    )
    if installed("pycanon"):
        check = peers.check(write_census(folder, check_rows))
        console().print(
            f"pycanon on our {check_rows:,} published rows ({check.seconds:.1f} s): k = {check.k}, l = {check.l}; "
            f"promised k = {peers.K}, l = {peers.L}: {'agrees' if check.agrees else 'DISAGREES'}\n"
        )
        results.append({"peer": "pycanon", "rows": check_rows, "k": check.k, "l": check.l, "agrees": check.agrees})
    else:
        console().print("pycanon: not installed\n")
    return results


def _target(what: str, found: float, most: float) -> dict[str, Any]:
    return {"what": what, "found": found, "at_most": most, "met": found <= most}


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--rows", type=positive, help="rows of the table (default 600000)")
    sizes.add_argument("--sizes", type=_sizes, help="several sizes, such as 600000,6000000")
    parser.add_argument("--peer-rows", type=positive, default=30_000, help="rows for the peers (default 30000)")
    parser.add_argument("--no-peers", dest="peer_rows", action="store_const", const=0, help="leave the peers out")
    parser.add_argument("--arx", type=Path, metavar="JAR", help="also compare with ARX, whose jar this is")
    parser.add_argument("--java", default="java", help="the Java to run it with (default: java on the path)")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="leave memory out")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    given = parser.parse_args()
    if given.arx is not None and not given.arx.is_file():
        parser.error(f"there is no jar at '{given.arx}'")
    given.sizes = given.sizes or [given.rows or 600_000]
    return given


def _sizes(text: str) -> list[int]:
    return sorted(positive(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
