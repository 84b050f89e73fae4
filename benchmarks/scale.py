"""How far one machine goes: memory and processor time of a row, stage by stage, from a Parquet file to a release.

python benchmarks/scale.py --rows 1000000,10000000 --methods alternatives,mondrian --second

Every publication has a process of its own, warmed up by the same job in small. The table is invented part by part, so
that making it needs little memory. `--second` also publishes a second release, in which a tenth of the people are
others. The memory of a stage is the highest while it runs, without what the process held before the table was read.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
from load import load_now
from measuring import QUASI, SEED, SENSITIVE, anchors_in, arguments, console, save, scratch, show
from memory import RESET_PEAK, bytes_of
from samples import census

import reissue as ri

METHODS = {
    "alternatives": (ri.Alternatives(m=10), "alternatives"),
    "anatomised": (ri.MInvariance(m=10, split=False), "anatomised"),
    "anatomised-split": (ri.MInvariance(m=10, split=True), "anatomised"),
    "generalised-split": (ri.MInvariance(m=10, split=True), "generalised"),
    "mondrian": (ri.Mondrian(k=10), "generalised"),
}
PART = 1_000_000
"""So many rows are invented at a time."""
TURNOVER = 10
"""One in so many people is somebody else in the second table."""
SMALL = 250_000
"""The rows of the job in small, before the one that is measured: as many as make all cores work."""
ROOM = 1_000_000_000
"""The ids of those who come with the second table begin here."""


def write_tables(folder: Path, rows: int) -> list[Path]:
    """Two tables of so many rows; in the second a tenth of the people are others."""
    paths = [folder / f"census-{rows}-{number}.parquet" for number in (1, 2)]
    if all(path.exists() for path in paths):
        return paths
    writers: list[Any] = [None, None]
    for begin in range(0, rows, PART):
        size = min(PART, rows - begin)
        first = census(size, seed=SEED + begin // PART).with_columns(pl.col("person") + begin)
        others = census(size, seed=SEED - 1 - begin // PART).with_columns(pl.col("person") + begin + ROOM)
        gone = pl.int_range(size) % TURNOVER == 0
        second = pl.concat([first.filter(~gone), others.filter(gone)])
        for at, frame in enumerate((first, second)):
            # Text is plain text in a file, not the views that polars keeps in memory.
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            writers[at] = writers[at] or pq.ParquetWriter(paths[at], table.schema, compression="zstd")
            writers[at].write_table(table)
    for writer in writers:
        writer.close()
    return paths


def policy(name: str) -> ri.Policy:
    """What is published, and how."""
    method, form = METHODS[name]
    quasi = {column: ri.Numeric() if column == "age" else ri.Categorical() for column in QUASI}
    schema = ri.Schema(person="person", quasi=quasi, sensitive=SENSITIVE)
    series = "protected" if method.protects_series else "unprotected"
    return ri.Policy(schema=schema, method=method, form=form, series=series)


@dataclass
class Stages:
    """What each stage took; it begins a new one when it is called with a name."""

    base: int = field(default_factory=lambda: bytes_of("VmRSS"))
    """The memory before everything."""
    taken: dict[str, dict[str, float]] = field(default_factory=dict)
    _name: str = "Opening the series"
    _begun: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._begin(self._name)

    def __call__(self, name: str) -> None:
        """End the stage under way and begin another."""
        wall, cpu = self._begun
        self.taken[self._name] = {
            "cpu": time.process_time() - cpu,
            "wall": time.perf_counter() - wall,
            "peak": bytes_of("VmHWM") - self.base,
            "end": bytes_of("VmRSS") - self.base,
        }
        self._begin(name)

    def _begin(self, name: str) -> None:
        RESET_PEAK.write_text("5")
        self._name, self._begun = name, (time.perf_counter(), time.process_time())


def publish(name: str, tables: list[Path], series: Path) -> dict[str, Any]:
    """Publish the last of the tables in this process, the others being out already."""
    gc.collect()
    stages = Stages()
    with ri.open(series, policy(name)) as opened:
        opened.publish(tables[-1], seed=SEED, progress=stages)
    stages("")
    return {"stages": stages.taken, "base": stages.base}


def inside(name: str, rows: int, number: int, folder: Path) -> dict[str, Any]:
    """What a process of its own does: the job in small, then the one that counts."""
    small = folder / f"small-{name}"
    shutil.rmtree(small, ignore_errors=True)
    small.mkdir()
    for release in range(1, number + 1):
        publish(name, write_tables(folder, SMALL)[:release], small / "series")
    shutil.rmtree(small)
    return publish(name, write_tables(folder, rows)[:number], folder / name)


def measure(name: str, rows: int, folder: Path, releases: int) -> list[dict[str, Any]]:
    """The figures of one method and size, release by release."""
    found = []
    shutil.rmtree(folder / name, ignore_errors=True)
    for number in range(1, releases + 1):
        own = ["--inside", name, "--rows", str(rows), "--number", str(number), "--folder", str(folder)]
        load = load_now()
        child = subprocess.run([sys.executable, __file__, *own], check=True, stdout=subprocess.PIPE)
        figures = json.loads(child.stdout)
        stages = figures["stages"].values()
        total = {column: sum(stage[column] for stage in stages) for column in ("cpu", "wall")}
        peak = max(stage["peak"] for stage in stages)
        found.append({"method": name, "rows": rows, "release": number, **total, "peak": peak, "load": load, **figures})
        tell(found[-1])
    shutil.rmtree(folder / name)
    return found


def tell(found: dict[str, Any]) -> None:
    """Print one table: a line for each stage, and one for all."""
    rows = found["rows"]
    whole = {"cpu": found["cpu"], "wall": found["wall"], "peak": found["peak"], "end": 0.0}
    lines = [
        [
            stage,
            f"{one['cpu']:.2f}",
            f"{one['wall']:.2f}",
            f"{one['cpu'] / rows * 1e6:.2f}",
            f"{one['peak'] / rows:.0f}",
            f"{one['end'] / rows:.0f}",
        ]
        for stage, one in {**found["stages"], "all": whole}.items()
    ]
    show(
        f"{found['method']}, {rows:,} rows, release {found['release']}: peak {found['peak'] / 2**30:.2f} GiB beyond "
        f"{found['base'] / 2**30:.2f}; load {found['load']:.1f}",
        ["", "CPU s", "s", "CPU us a row", "peak, bytes a row", "at its end"],
        lines,
    )


def main() -> None:
    """Measure what was asked for."""
    given = _arguments()
    if given.inside:
        with anchors_in(given.folder / f"{given.inside}-state"):
            print(json.dumps(inside(given.inside, given.rows[0], given.number, given.folder)))
        return
    found = []
    with scratch(given.folder) as folder:
        for rows in given.rows:
            write_tables(folder, rows)
            for name in given.methods:
                found += measure(name, rows, folder, 2 if given.second else 1)
    console().print(f"{len(found)} publications")
    save(given.json, {"runs": found})


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=_numbers, default=[1_000_000, 10_000_000], help="sizes (default 1 and 10 M)")
    parser.add_argument("--methods", type=_methods, default=list(METHODS), help=f"some of {', '.join(METHODS)}")
    parser.add_argument("--second", action="store_true", help="also a second release")
    parser.add_argument("--folder", type=Path, help="where to put tables (default: a temporary folder)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def _methods(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in METHODS]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(METHODS)}")
    return names


if __name__ == "__main__":
    main()
