"""How near the floor this version is: every row of the table, its memory, and the history over versions.

python benchmarks/near_the_floor.py --rows mondrian-labels,hd-composition
python benchmarks/near_the_floor.py --record 0.2.0

The floor reads the same Parquet files, sorts and writes them; job and floor have their turns in one run, and medians
are compared. Memory is that of a process of its own for every row: the highest during the job, without what the process
held before, warmed up by the same job in small; the highest of some processes counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import history
from load import load_at_start, wait_for_quiet
from measuring import Job, Times, anchors_in, console, machine, save, scratch, show, time_in_turns, timed_arguments
from memory import peak_of
from rows import BENCHES, Bench, Command, Row, Work

FLOOR = "floor"
ROWS = {row.name: row for bench in BENCHES for row in bench.rows}


@dataclass(frozen=True)
class Asked:
    """How to measure."""

    repeats: int
    memory_runs: int
    quick: bool


def measure(bench: Bench, chosen: list[Row], folder: Path, asked: Asked) -> dict[str, Any]:
    """The figures of some rows of a bench."""
    work = bench.work(folder, asked.quick)
    jobs = {row.name: work.jobs[row.name] for row in chosen}
    floor = {} if work.floor is None else {FLOOR: work.floor}
    times = time_in_turns({**floor, **jobs}, asked.repeats, warm_up=work.warm_up)
    return {
        row.name: {
            **figures(row, times, work),
            "memory": memory(row, jobs[row.name], folder, asked),
            "measured": datetime.now(UTC).date().isoformat(),
        }
        for row in chosen
    }


def figures(row: Row, times: dict[str, Times], work: Work) -> dict[str, Any]:
    """What was found of a row: both ratios, both times, and the one figure that counts."""
    found = times[row.name]
    spent = {"seconds": found.median / work.calls, "cpu_seconds": found.cpu_median / work.calls}
    ratios: dict[str, Any] = found.beside(times[FLOOR]) if FLOOR in times else {"floors": None, "cpu_floors": None}
    counts = "CPU" if row.unit == "CPU seconds" else found.around.counts
    figure = ratios["counting"] if row.unit == "floors" else spent["seconds" if counts == "wall" else "cpu_seconds"]
    return {
        "title": row.title,
        "unit": row.unit,
        "asked": row.asked,
        "figure": figure,
        "met": figure <= row.asked,
        **spent,
        "floor_seconds": times[FLOOR].median / work.calls if FLOOR in times else None,
        "floors": ratios["floors"],
        "cpu_floors": ratios["cpu_floors"],
        "spread": [min(found.wall) / work.calls, max(found.wall) / work.calls],
        **found.around.to_dict(),
        "counts": counts,
    }


def memory(row: Row, job: Job, folder: Path, asked: Asked) -> dict[str, int] | None:
    """The most memory that a row took, in bytes: what the process held before, and the highest."""
    if not asked.memory_runs:
        return None
    if isinstance(job, Command):
        # Without the first one, which may have compiled what the others found.
        return {"before": 0, "peak": max(job.peaks[-asked.repeats :])}
    command = [sys.executable, __file__, "--inside", row.name, "--folder", str(folder)]
    found: list[dict[str, int]] = []
    for _ in range(asked.memory_runs):
        child = subprocess.run([*command, *(["--quick"] if asked.quick else [])], check=True, stdout=subprocess.PIPE)
        found.append(json.loads(child.stdout))
    return max(found, key=lambda one: one["peak"] - one["before"])


def inside(name: str, folder: Path, quick: bool) -> dict[str, int]:
    """What the process of its own does: the job in small, then as it is, with an eye on the memory."""
    bench = next(bench for bench in BENCHES if name in {row.name for row in bench.rows})
    _peak(bench.work(folder / "warm-up", True).jobs[name])
    return _peak(bench.work(folder, quick).jobs[name])


def _peak(job: Job) -> dict[str, int]:
    with tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as name, anchors_in(Path(name) / "state"):
        folder = Path(name)
        if (prepare := getattr(job, "prepare", None)) is not None:
            prepare(folder)
        gc.collect()
        found = peak_of(lambda: job(folder))
        if (finish := getattr(job, "finish", None)) is not None:
            finish()
        return found


def tell(found: dict[str, Any], asked: Asked) -> None:
    """Print the table; the ratio or the time that counts is marked."""
    lines = []
    for row in found.values():
        ratios = [row["floors"], row["cpu_floors"]]
        times = [row["seconds"], row["cpu_seconds"]]
        cells = [*(f"{time:.3f}" for time in times), *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)]
        at = (2 if row["unit"] == "floors" else 0) + (row["counts"] == "CPU")
        cells[at] += " *"
        added = "" if row["memory"] is None else f"{(row['memory']['peak'] - row['memory']['before']) / 1e6:,.0f}"
        others = "" if row["others_cores"] is None else f"{row['others_cores']:.2f}"
        verdict = "met" if row["met"] else "MISSED"
        if row["counts"] == "CPU" and row["unit"] != "CPU seconds":
            verdict += ", by CPU"
        lines.append([row["title"], *cells, f"{row['asked']:g} {row['unit']}", verdict, added, others])
    show(
        f"Near the floor{' (quick: other sizes than it says)' if asked.quick else ''}: median of {asked.repeats}, "
        f"* counts; load {load_at_start():.2f} before our work",
        ["", "s", "CPU s", "floors", "CPU floors", "at most", "", "MB", "others, cores"],
        lines,
    )


def main() -> int:
    """Measure what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    if given.inside:
        print(json.dumps(inside(given.inside, given.folder, given.quick)))
        return 0
    if given.wait and not wait_for_quiet(given.wait):
        console().print(f"still busy after {given.wait:g} minutes (load {load_at_start():.2f}): CPU ratios count")
    asked = Asked(given.repeats, given.memory_runs, given.quick)
    found: dict[str, Any] = {}
    with scratch(given.folder) as folder:
        for at, bench in enumerate(BENCHES):
            chosen = [row for row in bench.rows if row.name in given.rows]
            if chosen:
                place = folder / f"bench-{at}"
                place.mkdir()
                found |= measure(bench, chosen, place, asked)
                shutil.rmtree(place)
                tell({row.name: found[row.name] for row in chosen}, asked)
            if chosen and given.record:
                # Row by row, so that what is measured is kept when a later one fails.
                history.record(given.record, machine(), {row.name: found[row.name] for row in chosen})
    if len(found) > 1:
        tell(found, asked)
    save(given.json, {"rows": found})
    return 1 if given.check and not all(row["met"] for row in found.values()) else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.add_argument("--rows", type=_several, default=list(ROWS), help=f"only these: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="small tables, to see that the program works")
    parser.add_argument("--memory-runs", type=int, default=3, help="processes to look at the memory of (default 3)")
    parser.add_argument("--wait", type=float, default=0, help="first wait so many minutes at most for a low load")
    parser.add_argument("--record", metavar="VERSION", help=f"put the figures into {history.FILE.name}")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.quick:
        given.repeats = min(given.repeats, 2)
        given.memory_runs = min(given.memory_runs, 1)
    if given.record and given.quick:
        parser.error("figures of --quick are of other tables and are not recorded")
    return given


def _several(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
