"""The rows of the table that every version is measured by: what is done, beside which floor, and what is asked of it.

Jobs and tables are those of the other programs. Every piece of work also comes in small (`quick`): to see that it runs,
and to warm up a process whose memory is looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import audit
import cor_split
import hd_composition
import incremental
import numpy as np
import polars as pl
import series
from measuring import SEED, SENSITIVE, Floor, Job, Publication, Spent, census_policy, write_census

import reissue as ri

Unit = Literal["floors", "seconds", "CPU seconds"]

KERNELS = ("REISSUE_KERNELS", "NUMBA_CACHE_DIR")
"""The variables that say where compiled kernels are kept; the second is that of earlier versions."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    title: str
    unit: Unit
    asked: float
    """So much at most."""


@dataclass(frozen=True)
class Work:
    """What is timed in turns: the jobs of some rows, and the floor of the tables they share."""

    jobs: dict[str, Job]
    floor: Job | None = None
    calls: int = 1
    """How many publications a job makes; seconds are those of one."""
    warm_up: bool = True


@dataclass(frozen=True)
class Bench:
    """Rows that are measured together."""

    rows: tuple[Row, ...]
    work: Callable[[Path, bool], Work]
    """The work from a folder for its tables; True for the small one. What is there already is used."""


@dataclass
class Running:
    """A job that goes on publishing into a series that is open and has some releases."""

    paths: list[Path]
    policy: ri.Policy
    before: int
    _series: ri.Series | None = None

    def prepare(self, folder: Path) -> None:
        """The releases before."""
        self._series = ri.open(folder / "series", self.policy)
        self._publish(0, self.before)

    def __call__(self, folder: Path) -> None:
        """From the Parquet files to the committed releases."""
        self._publish(self.before, len(self.paths))

    def finish(self) -> None:
        """Nobody waits for this."""
        assert self._series is not None
        self._series.close()

    def _publish(self, begin: int, end: int) -> None:
        assert self._series is not None
        for number in range(begin, end):
            self._series.publish(self.paths[number], seed=SEED + number)


class Certified(audit.Certification):
    """A job that audits a series that must pass."""

    def __call__(self, folder: Path) -> None:
        """As before, with a look at the verdict."""
        super().__call__(folder)
        if not self.passed[-1]:
            raise SystemExit(f"The series that was to be certified was not: {self.verdict}")


@dataclass
class Command:
    """A job that runs our command line in a process of its own, and says what that took."""

    arguments: Callable[[Path], list[str]]
    compiles: bool = False
    """Whether it finds no compiled kernels; otherwise those of the installation."""
    peaks: list[int] = field(default_factory=list)
    """The highest memory of each process, in bytes."""

    def __call__(self, folder: Path) -> Spent:
        """From the start of the process to its end."""
        ours = [sys.executable, "-c", "from reissue.cli import main; main()", *self.arguments(folder)]
        kernels = folder / "kernels"
        paths = [str(Path(ri.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        # As installed, where modules lie compiled to bytecode: the round to warm up writes it where it is missing.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if self.compiles:
            kernels.mkdir()
            environment |= dict.fromkeys(KERNELS, str(kernels))
        small = [sys.executable, "-I", "-S", str(Path(__file__).parent / "process.py")]
        child = subprocess.run([*small, *ours], env=environment, capture_output=True, text=True)
        if child.returncode:
            raise SystemExit(f"A command failed: {' '.join(self.arguments(folder))}\n{child.stderr}")
        if self.compiles and not any(path.is_file() for path in kernels.rglob("*")):
            raise SystemExit(f"No kernel was compiled into the empty folder that {KERNELS[0]} names.")
        took = json.loads(child.stdout)
        self.peaks.append(took["peak"])
        return Spent(took["wall"], took["cpu"])


def _kept(folder: Path, write: Callable[[Path], object]) -> list[Path]:
    """The Parquet files of a folder, written if it is not there."""
    if not folder.exists():
        part = folder.with_name(f"{folder.name}-part")
        part.mkdir(parents=True)
        write(part)
        part.rename(folder)
    return sorted(folder.glob("*.parquet"))


def _stream(folder: Path, initial: int, turnover: int, releases: int) -> list[Path]:
    sizes = {"initial": initial, "turnover": turnover, "releases": releases}
    return _kept(folder / f"stream-{initial}-{releases}", lambda place: series.write_stream(place, **sizes))


def _running(folder: Path, quick: bool) -> Work:
    before, calls = 5, 2 if quick else 10
    paths = _stream(folder, 1_000, 100, before + calls)
    schema = series.policy(ri.MInvariance(m=5), "generalised").schema
    policies = {
        "running-mondrian": ri.Policy(schema, ri.Mondrian(k=10), series="unprotected"),
        "running-m-invariance": series.policy(ri.MInvariance(m=5), "generalised"),
        "running-e-equivalence": series.policy(ri.EEquivalence(m=5, e=3), "anatomised"),
    }
    jobs = {name: Running(paths, policy, before) for name, policy in policies.items()}
    return Work({**jobs}, series.Floors(paths[before:]), calls)


def _labels(folder: Path, quick: bool) -> Work:
    rows = 6_000 if quick else 600_000
    (path,) = _kept(folder / f"labels-{rows}", lambda place: write_census(place, rows))
    return Work({"mondrian-labels": Publication(path, census_policy())}, Floor(path))


def _numbers(folder: Path, quick: bool) -> Work:
    rows = 6_000 if quick else 600_000
    (path,) = _kept(folder / f"numbers-{rows}", lambda place: write_census(place, rows, numbers=True))
    return Work({"mondrian-numbers": Publication(path, census_policy(numbers=True))}, Floor(path))


WIDE = {"age": (15, 94), "gender": (0, 2), "postcode": (10_000, 100_000)}
"""Whole numbers in as many values as people have them: nearly every row is the only one of its kind."""


def _wide(folder: Path, quick: bool) -> Work:
    rows = 6_000 if quick else 600_000

    def write(place: Path) -> None:
        rng = np.random.default_rng(SEED)
        columns = {name: rng.integers(*span, rows) for name, span in {**WIDE, SENSITIVE: (0, 50)}.items()}
        pl.DataFrame({"person": np.arange(rows), **columns}).write_parquet(place / "wide.parquet")

    (path,) = _kept(folder / f"wide-{rows}", write)
    quasi: dict[str, Any] = {name: ri.Numeric() for name in WIDE}
    policy = ri.Policy(ri.Schema(person="person", quasi=quasi, sensitive=SENSITIVE), ri.Mondrian(k=10, l=6))
    return Work({"mondrian-wide-numbers": Publication(path, policy)}, Floor(path, tuple(WIDE)))


def _series(folder: Path, quick: bool) -> Work:
    paths = _stream(folder, *((4_000, 400, 3) if quick else (200_000, 20_000, 20)))
    names = {"series-e-equivalence": "e-equivalence, anatomised", "series-m-invariance": "m-invariance, generalised"}
    ways = {name: series.policy(*series.WAYS[way][:2]) for name, way in names.items()}
    return Work({name: series.Publications(paths, policy) for name, policy in ways.items()}, series.Floors(paths))


def _cor_split(folder: Path, quick: bool) -> Work:
    releases = 3 if quick else 21
    paths = _stream(folder, *((4_000, 400) if quick else (200_000, 20_000)), releases)
    policy = cor_split.ways(releases)["Cor-Split"]
    return Work({"cor-split": series.Publications(paths, policy)}, series.Floors(paths))


def _step(name: str, rows: int, step: int, releases: int) -> Callable[[Path, bool], Work]:
    def work(folder: Path, quick: bool) -> Work:
        sizes = (3_000, 300, 3) if quick else (rows, step, releases)
        named = dict(zip(("rows", "step", "releases"), sizes, strict=True))
        place = folder / f"growth-{sizes[0]}"
        paths = _kept(place, lambda place: incremental.write_stream(place, **named))
        job = incremental.last_step(place / "series", paths, incremental.WAYS["Incremental"])
        return Work({name: job}, Floor(paths[-1]))

    return work


def _round(folder: Path, quick: bool) -> Work:
    people, rounds = (2_000, 2) if quick else (hd_composition.PEOPLE, 5)
    place = folder / f"rounds-{people}"
    files = hd_composition.write_rounds(place, people, rounds)
    job = hd_composition.Round(files, hd_composition.policy(*hd_composition.RUNS["l = 4"]), place / "series")
    return Work({"hd-composition": job}, hd_composition.Floor(files[-1]))


def _audit(folder: Path, quick: bool) -> Work:
    paths = _stream(folder, *((4_000, 400, 3) if quick else (200_000, 20_000, 20)))
    names = {"audit-m-invariance": "m-invariance, generalised", "audit-e-equivalence": "e-equivalence, anatomised"}
    jobs = {}
    for name, safe in names.items():
        method, form, attacks = audit.SAFE[safe]
        place = audit.publish(paths[0].parent / name, paths, series.policy(method, form))
        jobs[name] = Certified(place, attacks)
    return Work({**jobs}, series.Floors(paths))


def _command(folder: Path, quick: bool) -> Work:
    rows = 6_000 if quick else 600_000
    (path,) = _kept(folder / f"labels-{rows}", lambda place: write_census(place, rows))
    policy = path.with_name("policy.toml")
    policy.write_text(census_policy().to_toml())
    job = Command(lambda place: ["publish", str(place / "people"), str(path), "--policy", str(policy), "--seed", "1"])
    return Work({"command": job})


def _demo(folder: Path, quick: bool) -> Work:
    months = ["--months", "2"] if quick else []
    return Work({"demo": Command(lambda place: ["demo", str(place / "demo"), *months], compiles=True)}, warm_up=False)


BENCHES = (
    Bench(
        (
            Row("running-mondrian", "1,000 rows in a running series: Mondrian", "seconds", 0.02),
            Row("running-m-invariance", "1,000 rows in a running series: m-invariance", "seconds", 0.04),
            Row("running-e-equivalence", "1,000 rows in a running series: e-equivalence", "seconds", 0.05),
        ),
        _running,
    ),
    Bench((Row("mondrian-labels", "Mondrian, 600,000 rows: labels", "floors", 1.2),), _labels),
    Bench((Row("mondrian-numbers", "Mondrian, 600,000 rows: whole numbers", "floors", 2.5),), _numbers),
    Bench((Row("mondrian-wide-numbers", "Mondrian, 600,000 rows: wide whole numbers", "floors", 2.5),), _wide),
    Bench(
        (
            Row("series-e-equivalence", "20 x 200,000 rows: e-equivalence", "floors", 2.0),
            Row("series-m-invariance", "20 x 200,000 rows: m-invariance, generalised", "floors", 3.0),
        ),
        _series,
    ),
    Bench((Row("cor-split", "21 x 200,000 rows: Cor-Split", "floors", 5.0),), _cor_split),
    Bench(
        (Row("incremental-small", "Incremental: 1,000 into 30,000", "floors", 3.0),),
        _step("incremental-small", 30_000, 1_000, 30),
    ),
    Bench(
        (Row("incremental-large", "Incremental: 100,000 into 3 million", "floors", 1.5),),
        _step("incremental-large", 3_000_000, 100_000, 2),
    ),
    Bench((Row("hd-composition", "HD-composition: a round of 40,478 people", "floors", 5.0),), _round),
    Bench(
        (
            Row("audit-m-invariance", "certified audit, 20 x 200,000 rows: m-invariance", "floors", 0.8),
            Row("audit-e-equivalence", "certified audit, 20 x 200,000 rows: e-equivalence", "floors", 0.8),
        ),
        _audit,
    ),
    Bench((Row("command", "reissue publish: a fresh process, 600,000 rows", "CPU seconds", 1.3),), _command),
    Bench((Row("demo", "reissue demo: kernels not compiled", "CPU seconds", 15.0),), _demo),
)
