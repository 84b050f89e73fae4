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
from typing import Any, Literal, NamedTuple

import polars as pl
from load import Around, load_at_start, watching
from rich.console import Console
from rich.table import Table
from samples import census, census_hierarchies

import reissue as ri

SEED = 2011
QUASI = ("age", "gender", "education", "birthplace")
SENSITIVE = "occupation"
STATE = "REISSUE_STATE"
"""Names the folder that anchors are kept in; earlier versions have none."""

Form = Literal["generalised", "anatomised"]
Job = Callable[[Path], object]
"""Something to time; it gets an empty folder to work in. One that works elsewhere returns what it `Spent` there."""


def write_census(folder: Path, rows: int, *, numbers: bool = False) -> Path:
    """A census-like table as a Parquet file; with `numbers` every label is a whole number, its place in their order."""
    path = folder / f"census-{rows}{'-numbers' if numbers else ''}.parquet"
    table = census(rows, seed=SEED)
    if numbers:
        table = table.with_columns(pl.col(pl.String).rank("dense").cast(pl.Int64))
    table.write_parquet(path)
    return path


def census_policy(
    *,
    k: int = 10,
    l: int = 6,  # noqa: E741
    form: Form = "generalised",
    hierarchies: bool = False,
    numbers: bool = False,
) -> ri.Policy:
    """Mondrian on the census table: plain labels, `hierarchies` for education and birthplace, or all `numbers`."""
    quasi: dict[str, Any] = {name: ri.Numeric() if numbers else ri.Categorical() for name in QUASI}
    quasi["age"] = ri.Numeric()
    if hierarchies:
        quasi |= {name: ri.Hierarchy.from_nested(nested) for name, nested in census_hierarchies().items()}
    schema = ri.Schema(person="person", quasi=quasi, sensitive=SENSITIVE)
    return ri.Policy(schema=schema, method=ri.Mondrian(k=k, l=l), form=form)


class Spent(NamedTuple):
    """What one call of a job took, in seconds."""

    wall: float
    cpu: float
    """Processor time of all threads together: a busy machine disturbs it less."""


@dataclass(frozen=True)
class Times:
    """How long the repetitions of one job took, in seconds."""

    calls: tuple[Spent, ...]
    around: Around
    """What else went on meanwhile."""

    @property
    def wall(self) -> list[float]:
        """Seconds on the clock, of each repetition."""
        return [call.wall for call in self.calls]

    @property
    def cpu(self) -> list[float]:
        """Processor seconds, of each repetition."""
        return [call.cpu for call in self.calls]

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

    def beside(self, floor: Times, name: str = "floors") -> dict[str, Any]:
        """The ratios to the floor, or to something else, and which of the two counts."""
        wall, cpu = self.median / floor.median, self.cpu_median / floor.cpu_median
        return {name: wall, f"cpu_{name}": cpu, "counting": wall if self.around.quiet else cpu}

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "seconds": self.median,
            "cpu_seconds": self.cpu_median,
            "all_seconds": self.wall,
            "all_cpu_seconds": self.cpu,
            **self.around.to_dict(),
        }


def time_in_turns(jobs: Mapping[str, Job], repeats: int, *, warm_up: bool = True) -> dict[str, Times]:
    """Time jobs: one round to warm up, then so many rounds in which every job has one turn.

    Turns let a busy neighbour hit all jobs alike. Folders are made and removed outside the timed part, and so is what a
    job has to `prepare` before or to `finish` afterwards.
    """
    found: dict[str, list[Spent]] = {name: [] for name in jobs}
    if warm_up:
        for job in jobs.values():
            _time_once(job)
    with watching() as around:
        for _ in range(repeats):
            for name, job in jobs.items():
                found[name].append(_time_once(job))
    return {name: Times(tuple(spent), around) for name, spent in found.items()}


@contextmanager
def anchors_in(folder: Path) -> Iterator[None]:
    """Keep the anchors of series in a folder: a copy of a series goes on from the one that was copied with it."""
    before = os.environ.get(STATE)
    os.environ[STATE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[STATE]
        else:
            os.environ[STATE] = before


def _time_once(job: Job) -> Spent:
    with tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as folder, anchors_in(Path(folder) / "state"):
        if (prepare := getattr(job, "prepare", None)) is not None:
            prepare(Path(folder))
        gc.collect()
        os.sync()  # what the job before left to be written is not this one's to wait for
        wall, cpu = time.perf_counter(), time.process_time()
        told = job(Path(folder))
        spent = Spent(time.perf_counter() - wall, time.process_time() - cpu)
        if (finish := getattr(job, "finish", None)) is not None:
            finish()
        return told if isinstance(told, Spent) else spent


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
    packages = ("numba", "numpy", "polars", *(p for p in ("anjana", "anonypy", "pycanon") if installed(p)))
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages} | {"reissue": ri.__version__},
        "load": load_at_start(),
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


RATIOS = ("floors", "CPU floors")
"""The titles of the two columns of ratios."""


def show(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], times: Mapping[str, Times] | None = None
) -> None:
    """Print a table; the first column is text, the others are figures.

    Of columns with ratios of times the title of the one that counts is marked, and a line below says how busy it was.
    """
    around = next(iter(times.values())).around if times else None
    if around is not None:
        columns = [f"{name} (counts)" if name == _counting(around) else name for name in columns]
    table = Table(title=title, title_justify="left", caption=str(around or ""), caption_justify="left")
    for position, name in enumerate(columns):
        table.add_column(name, justify="right" if position else "left")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console().print(table)


def _counting(around: Around) -> str:
    return RATIOS[0] if around.quiet else RATIOS[1]


def console() -> Console:
    """Where results go; wide enough for them also when they go to a file."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(width=140, highlight=False)


def save(path: Path | None, results: Mapping[str, object]) -> None:
    """Write the figures as JSON, if a file was asked for."""
    if path is not None:
        path.write_text(json.dumps({"machine": machine(), **results}, indent=2) + "\n")
