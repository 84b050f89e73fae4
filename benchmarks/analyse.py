"""Questions to releases of sets: scores for a large table, answers over a series, beside a floor that counts sets.

python benchmarks/analyse.py --json figures.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from measuring import (
    RATIOS,
    SEED,
    SENSITIVE,
    Job,
    Spent,
    anchors_in,
    positive,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
)
from memory import peak_of
from rows import Command
from samples import census
from series import policy

import reissue as ri
from reissue.samples.streams import churn

# Shares from outside: of few rows, as when it warms up, too many values would be too rare.
SHARES = dict(census(200_000, seed=SEED + 1)[SENSITIVE].value_counts().iter_rows())
METHOD = ri.Alternatives(m=10, change=0.005, reference=SHARES)
FLOOR = "floor"
ASKED = 10
"""For so many values there are scores."""
MOST_SECONDS = {"scores": 20.0, "count": 2.0}
"""What is asked: seconds on a quiet machine."""

Question = Callable[[ri.Analysis, list[str]], Any]
LARGE: dict[str, Question] = {
    "scores": lambda an, values: an.scores(values[:ASKED]),
    "count of one value": lambda an, values: an.count(values[0]),
}
SERIES: dict[str, Question] = {
    "count": lambda an, values: an.count(values[0]),
    "count by gender": lambda an, values: an.count(values[0], by="gender"),
    "share": lambda an, values: an.share(values[0]),
    "trend": lambda an, values: an.trend(values[0]),
    "contrast of the first and the last": lambda an, values: an.contrast(
        values[0], releases=(an.releases[0], an.releases[-1])
    ),
    "scores of one value, with clusters": lambda an, values: an.scores([values[0]]),
}
ONE: dict[str, Question] = {
    "table by gender": lambda an, values: an.only(1).table(by="gender"),
    "scores of all values": lambda an, values: an.only(1).scores(),
}


def publish(folder: Path, tables: Iterable[pl.DataFrame]) -> Path:
    """Public files of tables as one series; what is there from an earlier run is taken."""
    public = folder / "series" / "public"
    if not (folder / "done").exists():
        with anchors_in(folder / "state"), ri.open(folder / "series", policy(METHOD, "alternatives")) as series:
            for number, table in enumerate(tables):
                series.publish(table, seed=SEED + number)
        (folder / "done").touch()
    return public


def values_of(public: Path) -> list[str]:
    """The values that sets are made of."""
    return pl.read_parquet(public / "0001" / "design.parquet")[SENSITIVE].to_list()


@dataclass(frozen=True)
class Floor:
    """What somebody does without us: read the tables and say for each row whether its set has a value."""

    public: Path
    values: Sequence[str]
    releases: int
    keeps: bool
    """Whether rows are wanted, with a column for each value, or just how many sets have it."""

    def __call__(self, folder: Path) -> None:
        """With polars, table after table."""
        for number in range(1, self.releases + 1):
            table = pl.read_parquet(self.public / f"{number:04}" / "table.parquet")
            has = [pl.col(SENSITIVE).list.contains(value).cast(pl.Float64).alias(value) for value in self.values]
            if self.keeps:
                table.with_columns(has).drop(SENSITIVE)
            else:
                table.select(one.sum() for one in has)


@dataclass(frozen=True)
class Ask:
    """A job: read the public files and ask."""

    public: Path
    question: Question

    def __call__(self, folder: Path) -> None:
        """From the files to the answer."""
        self.question(ri.analyse(self.public), values_of(self.public))


def peak(public: Path, name: str) -> int:
    """The highest memory of a process that asks once, in bytes; asked in small before."""
    command = [sys.executable, __file__, "--alone", name, "--public", str(public)]
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return int(json.loads(child.stdout)["peak"])


def ask_alone(name: str, public: Path) -> dict[str, int]:
    """What such a process does."""
    question = {**LARGE, **SERIES, **ONE}[name]
    with tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as folder:
        states = churn(census(6_000, seed=SEED), initial=3_000, arrivals=10, departures=10, returns=0, changes=1,
                       releases=2, seed=SEED)  # fmt: skip
        small = publish(Path(folder), states)
        question(ri.analyse(small), values_of(small))
    return peak_of(lambda: question(ri.analyse(public), values_of(public)))


def measured(title: str, public: Path, floor: Floor, questions: dict[str, Question], repeats: int) -> dict[str, Any]:
    """Questions in turns with their floor, shown and as figures."""
    jobs: dict[str, Job] = {FLOOR: floor, **{name: Ask(public, question) for name, question in questions.items()}}
    times = time_in_turns(jobs, repeats)
    lines, figures = [], {}
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        counting = found.median if found.around.quiet else found.cpu_median
        memory = None if name == FLOOR else peak(public, name)
        most = MOST_SECONDS.get(name)
        figures[name] = {**found.to_dict(), **ratios, "counting": counting, "at_most": most, "peak": memory}
        both = (f"{ratios['floors']:.2f}", f"{ratios['cpu_floors']:.2f}")
        seconds = (f"{found.median:.2f}", found.spread, f"{found.cpu_median:.2f}")
        lines.append([name, *seconds, *both, most or "", "" if memory is None else f"{memory / 2**20:,.0f}"])
    columns = ["", "seconds", "fastest to slowest", "CPU seconds", *RATIOS, "at most, s", "peak MiB"]
    show(f"{title} (median of {repeats})", columns, lines, times)
    return figures


@dataclass
class Export(Command):
    """`reissue estimate --scores` in a process of its own."""

    size: int = 0
    """How many bytes the last one wrote."""

    def __call__(self, folder: Path) -> Spent:
        """From the start of the process to its end."""
        spent = super().__call__(folder)
        self.size = Path(self.arguments(folder)[-1]).stat().st_size
        return spent


def commands(title: str, public: Path) -> dict[str, Any]:
    """The scores as CSV and as Parquet, once each."""
    asked = [part for value in values_of(public)[:ASKED] for part in ("--value", value)]

    def arguments(ending: str, place: Path) -> list[str]:
        return ["estimate", str(public), *asked, "--scores", str(place / f"out.{ending}")]

    jobs = {ending: Export(partial(arguments, ending)) for ending in ("csv", "parquet")}
    times = time_in_turns({**jobs}, 1, warm_up=False)
    lines, figures = [], {}
    for name, found in times.items():
        peak, size = jobs[name].peaks[-1], jobs[name].size
        figures[name] = {**found.to_dict(), "peak": peak, "bytes": size}
        mebibytes = [f"{amount / 2**20:,.0f}" for amount in (peak, size)]
        lines.append([name, f"{found.median:.2f}", f"{found.cpu_median:.2f}", *mebibytes])
    show(title, ["", "seconds", "CPU seconds", "peak MiB", "MiB written"], lines, times)
    return figures


def main() -> int:
    """Measure, show, and say by the status whether a target was missed."""
    parser = timed_arguments(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--rows", type=positive, default=10_000_000, help="rows of the large release")
    parser.add_argument("--check", action="store_true", help="end with status 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="small tables: does it run?")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--public", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.alone:
        print(json.dumps(ask_alone(asked.alone, asked.public)))
        return 0
    rows, initial, releases = (20_000, 10_000, 3) if asked.quick else (asked.rows, 200_000, 20)
    with scratch(asked.folder) as folder:
        large = publish(folder / f"large-{rows}", [census(rows, seed=SEED)])
        pool = census(initial + initial // 10 * (releases - 1), seed=SEED)
        flow = {"arrivals": initial // 10, "departures": initial // 10, "returns": 0, "changes": initial // 200}
        states = churn(pool, initial=initial, releases=releases, seed=SEED, **flow)
        series = publish(folder / f"series-{initial}-{releases}", states)
        values = values_of(large)
        figures = {
            "large": measured(
                f"one release of {rows:,} rows, m = {METHOD.m}, scores of {ASKED} values",
                large, Floor(large, values[:ASKED], 1, keeps=True), LARGE, asked.repeats,
            ),
            "commands": commands(f"reissue estimate --scores, {rows:,} rows, {ASKED} values (one run)", large),
            "series": measured(
                f"{releases} releases of {initial:,} rows, {initial // 10:,} come, go; {initial // 200:,} change",
                series, Floor(series, values_of(series)[:1], releases, keeps=False), SERIES, asked.repeats,
            ),
            "one release": measured(
                f"the first of them, all {len(values_of(series))} values",
                series, Floor(series, values_of(series), 1, keeps=True), ONE, asked.repeats,
            ),
        }  # fmt: skip
    save(asked.json, figures)
    missed = [
        one["counting"] > one["at_most"] for part in figures.values() for one in part.values() if one.get("at_most")
    ]
    return int(asked.check and any(missed))


if __name__ == "__main__":
    sys.exit(main())
