"""What the benchmarks share: the table, the policies, timing in turns, and how results are shown."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import polars as pl
from rich.console import Console
from rich.table import Table

import reissue as ri
from reissue.samples.census import census, census_hierarchies

SEED = 2011
QUASI = ("age", "gender", "education", "birthplace")
SENSITIVE = "occupation"

Form = Literal["generalised", "anatomised"]
Job = Callable[[Path], object]
"""Something to time; it gets an empty folder to work in."""


def write_census(folder: Path, rows: int) -> Path:
    """A census-like table as a Parquet file."""
    path = folder / f"census-{rows}.parquet"
    census(rows, seed=SEED).write_parquet(path)
    return path


def census_policy(
    *, k: int = 10, l: int = 6, form: Form = "generalised", hierarchies: bool = False  # noqa: E741
) -> ri.Policy:  # fmt: skip
    """Mondrian on the census table; `hierarchies` for education and birthplace, else plain labels."""
    quasi: dict[str, Any] = {name: ri.Categorical() for name in QUASI} | {"age": ri.Numeric()}
    if hierarchies:
        quasi |= {name: ri.Hierarchy.from_nested(nested) for name, nested in census_hierarchies().items()}
    schema = ri.Schema(person="person", quasi=quasi, sensitive=SENSITIVE)
    return ri.Policy(schema=schema, method=ri.Mondrian(k=k, l=l), form=form)


@dataclass(frozen=True)
class Times:
    """How long the repetitions of one job took, in seconds."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    """Processor time of all threads together: a busy machine disturbs it less."""

    @property
    def median(self) -> float:
        """The time that counts."""
        return statistics.median(self.wall)

    @property
    def cpu_median(self) -> float:
        """The median processor time."""
        return statistics.median(self.cpu)

    @property
    def spread(self) -> str:
        """The fastest and the slowest repetition."""
        return f"{min(self.wall):.3f} to {max(self.wall):.3f}"

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {"seconds": self.median, "cpu_seconds": self.cpu_median, "all_seconds": list(self.wall)}


def time_in_turns(jobs: Mapping[str, Job], repeats: int) -> dict[str, Times]:
    """Time jobs: one round to warm up, then so many rounds in which every job has one turn.

    Turns let a busy neighbour hit all jobs alike. Folders are made, prepared if a job has
    something to `prepare`, and removed outside the timed part.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for turn in range(repeats + 1):
        for name, job in jobs.items():
            spent = _time_once(job)
            if turn:
                found[name].append(spent)
    return {name: Times(tuple(w for w, _ in spent), tuple(c for _, c in spent)) for name, spent in found.items()}


def _time_once(job: Job) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as folder:
        if (prepare := getattr(job, "prepare", None)) is not None:
            prepare(Path(folder))
        gc.collect()
        os.sync()  # what the job before left to be written is not this one's to wait for
        wall, cpu = time.perf_counter(), time.process_time()
        job(Path(folder))
        return time.perf_counter() - wall, time.process_time() - cpu


@dataclass
class Publication:
    """A job that publishes a file into a new series, and remembers the stages of every call."""

    path: Path
    policy: ri.Policy
    groups: int = 0
    """How many groups the last release had."""
    calls: list[dict[str, float]] = field(default_factory=list)
    """For each call: seconds by stage."""

    def __call__(self, folder: Path) -> None:
        """From the Parquet file to the committed release."""
        marks = [("Opening the series", time.perf_counter())]
        with ri.open(folder / "series", self.policy) as series:
            release = series.publish(
                self.path, seed=SEED, progress=lambda stage: marks.append((stage, time.perf_counter()))
            )
            self.groups = release.manifest["groups"]
        marks.append(("", time.perf_counter()))
        names, times = zip(*marks, strict=True)
        self.calls.append({n: b - a for n, a, b in zip(names, times, times[1:], strict=False)})

    def stages(self) -> dict[str, float]:
        """The median seconds of each stage, the first call (warm-up) left out."""
        return {name: statistics.median(call[name] for call in self.calls[1:]) for name in self.calls[0]}


@dataclass(frozen=True)
class Floor:
    """The job everything is measured against: read Parquet, sort by the quasi-identifiers, write Parquet."""

    path: Path
    columns: Sequence[str] = QUASI

    def __call__(self, folder: Path) -> None:
        """With polars, from file to file."""
        pl.read_parquet(self.path).sort(*self.columns).write_parquet(folder / "sorted.parquet")


def installed(package: str) -> bool:
    """Whether a peer is there to be compared with."""
    return find_spec(package) is not None


def machine() -> dict[str, object]:
    """What the figures depend on."""
    packages = ("numba", "numpy", "polars", "reissue", *(p for p in ("anjana", "anonypy", "pycanon") if installed(p)))
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


@contextmanager
def scratch(folder: Path | None) -> Iterator[Path]:
    """A folder for tables: the one that was asked for, or a temporary one."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    made = Path(tempfile.mkdtemp(prefix="reissue-benchmark-"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The option that all benchmarks have."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    return parser


def timed_arguments(description: str | None) -> argparse.ArgumentParser:
    """The options of those that take the time."""
    parser = arguments(description)
    parser.add_argument("--repeats", type=positive, default=5, help="timed rounds after one to warm up (default 5)")
    parser.add_argument("--folder", type=Path, help="where to put tables (default: a temporary folder)")
    return parser


def positive(text: str) -> int:
    """A whole number of at least 1, underscores allowed."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; the first column is text, the others are figures."""
    table = Table(title=title, title_justify="left")
    for position, name in enumerate(columns):
        table.add_column(name, justify="right" if position else "left")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console().print(table)


def console() -> Console:
    """Where results go; wide enough for them also when they go to a file."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(width=140, highlight=False)


def save(path: Path | None, results: Mapping[str, object]) -> None:
    """Write the figures as JSON, if a file was asked for."""
    if path is not None:
        path.write_text(json.dumps({"machine": machine(), **results}, indent=2) + "\n")
