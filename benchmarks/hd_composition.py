"""Speed and memory of a round of HD-composition: a registry and a table, beside the floor.

python benchmarks/hd_composition.py --json figures.json
python benchmarks/hd_composition.py --large 1_000_000

The floor reads the registry and the table, sorts the one by the quasi-identifiers and the other by person, and writes
both. A round goes from the same files to the committed release of a series that has some already. Larger registries are
published in a process of their own, whose highest memory counts.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from measuring import RATIOS, SEED, anchors_in, console, positive, save, scratch, show, time_in_turns, timed_arguments
from samples import OLD

import reissue as ri
from reissue.methods import HDComposition

if OLD:
    from reissue.studies.bu_people import PEOPLE
    from reissue.studies.bu_setting import Setting, quasi, registered_schema
else:
    from reissue_studies.bu.people import PEOPLE
    from reissue_studies.bu.setting import Setting, quasi, registered_schema

FLOOR = "floor"
RUNS = {"l = 4": (4, 5, 0), "l = 8": (8, 5, 0), "l = 4, C = 20": (4, 20, 0), "l = 4, K = 3": (4, 5, 3)}
"""l, container and known, by what they are called in the table."""
AT_MOST = 10.0
"""So many floors a round may take."""
MOST_BYTES = 8 * 2**30


@dataclass(frozen=True)
class Files:
    """One round as files."""

    registry: Path
    table: Path
    extinct: list[int]


def write_rounds(folder: Path, people: int, rounds: int) -> list[Files]:
    """Bu's stream as Parquet files, from so many people."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for state in Setting(people=people, rounds=rounds, seed=SEED).states():
        files = Files(
            folder / f"{state.number:04}-registry.parquet", folder / f"{state.number:04}-table.parquet", state.extinct
        )
        state.registry.write_parquet(files.registry)
        state.table.write_parquet(files.table)
        made.append(files)
    return made


def publish(series: ri.Series, files: Files, number: int) -> None:
    """Commit one round."""
    series.publish(files.table, registry=files.registry, extinct=files.extinct, seed=SEED + number)


def policy(l: int, container: int, known: int) -> ri.Policy:  # noqa: E741
    """HD-composition on the study's people."""
    return ri.Policy(
        registered_schema(),
        HDComposition(l, container, known),
        checks=ri.Checks(counterfeit=1, few_groups=1, replaced=1, withheld=1),
    )


@dataclass
class Round:
    """A job that publishes the last of some rounds; the others are published once, beforehand."""

    rounds: list[Files]
    policy: ri.Policy
    before: Path
    """The series without the last round, and its anchor in the folder `state`."""

    def prepare(self, folder: Path) -> None:
        """Put the series there as it was before the last round."""
        if not self.before.exists():
            with anchors_in(self.before / "state"), ri.open(self.before / "series", self.policy) as series:
                for number, files in enumerate(self.rounds[:-1]):
                    publish(series, files, number)
        shutil.copytree(self.before, folder, dirs_exist_ok=True)

    def __call__(self, folder: Path) -> None:
        """From the files to the committed release."""
        with ri.open(folder / "series") as series:
            publish(series, self.rounds[-1], len(self.rounds))


@dataclass(frozen=True)
class Floor:
    """The job that a round is measured against."""

    files: Files

    def __call__(self, folder: Path) -> None:
        """With polars, from file to file."""
        pl.read_parquet(self.files.registry).sort(*quasi()).write_parquet(folder / "registry.parquet")
        pl.read_parquet(self.files.table).sort("person", "diagnosis").write_parquet(folder / "table.parquet")


def beside_the_floor(folder: Path, people: int, rounds: int, repeats: int) -> dict[str, Any]:
    """The last of some rounds, in turns with the floor."""
    files = write_rounds(folder / f"rounds-{people}", people, rounds)
    jobs = {
        name: Round(files, policy(*given), folder / f"series-{people}-{at}")
        for at, (name, given) in enumerate(RUNS.items())
    }
    times = time_in_turns({FLOOR: Floor(files[-1]), **jobs}, repeats)
    figures, lines = {}, []
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        figures[name] = {**found.to_dict(), **ratios}
        target = "" if name == FLOOR else f"{AT_MOST:g}"
        both = (f"{ratios[which]:.1f}" for which in ("floors", "cpu_floors"))
        lines.append([name, f"{found.median:.3f}", found.spread, *both, target])
    rows = pl.scan_parquet(files[-1].table).select(pl.len()).collect().item()
    show(
        f"round {rounds}: {people:,} people registered at first, {rows:,} rows (median of {repeats})",
        ["", "seconds", "fastest to slowest", *RATIOS, "at most"],
        lines,
        times,
    )
    return figures


def large(folder: Path, people: int, rounds: int) -> dict[str, Any]:
    """Some rounds in a process of its own: the seconds of each, beside the floor's there, and its highest memory."""
    write_rounds(folder / f"rounds-{people}", people, rounds)
    command = [sys.executable, __file__, "--inside", str(folder), "--people", str(people), "--rounds", str(rounds)]
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(child.stdout)
    ratios = [one / floor for one, floor in zip(found["seconds"], found["floor"], strict=True)]
    lines = [
        [f"round {at}", f"{one:.2f}", f"{floor:.2f}", f"{ratio:.1f}"]
        for at, (one, floor, ratio) in enumerate(zip(found["seconds"], found["floor"], ratios, strict=True), start=1)
    ]
    title = f"{people:,} people registered at first, l = 4; highest memory {found['peak_bytes'] / 2**30:.2f} GiB"
    show(title, ["", "seconds", "floor, s", "floors"], lines)
    return {**found, "floors": ratios}


def inside(folder: Path, people: int, rounds: int) -> None:
    """What the process of its own does: publish the files that are there, and say what it took."""
    place = folder / f"rounds-{people}"
    tables, registries = (sorted(place.glob(f"*-{what}.parquet")) for what in ("table", "registry"))
    made = [Files(registry, table, []) for registry, table in zip(registries, tables, strict=True)][:rounds]
    seconds, floors = [], []
    with scratch(None) as own, ri.open(own / "series", policy(4, 5, 0)) as series:
        for number, files in enumerate(made):
            begun = time.perf_counter()
            # Who died is no longer in the registry, which says as much.
            publish(series, files, number)
            seconds.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            Floor(files)(own)
            floors.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "floor": floors, "peak_bytes": peak}))


def main() -> int:
    """Run what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    if given.inside is not None:
        inside(given.inside, given.people, given.rounds)
        return 0
    with scratch(given.folder) as folder:
        results: dict[str, Any] = {"round": beside_the_floor(folder, given.people, given.rounds, given.repeats)}
        results["large"] = {people: large(folder, people, 3) for people in given.large}
    save(given.json, {"people": given.people, "hd_composition": results})
    missed = [name for name, job in results["round"].items() if job["counting"] > AT_MOST]
    missed += [f"{people:,} people" for people, found in results["large"].items() if found["peak_bytes"] > MOST_BYTES]
    for name in missed:
        console().print(f"missed: {name}")
    return 1 if given.check and missed else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--people", type=positive, default=PEOPLE, help="registered at first (default 40478)")
    parser.add_argument("--rounds", type=positive, default=5, help="the last of so many is timed (default 5)")
    parser.add_argument("--large", type=positive, nargs="*", default=[], help="also three rounds with so many people")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
