"""Speed of the audit: safe series certified beside the floor, and a naive one attacked.

python benchmarks/audit.py --naive 600 --json figures.json
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measuring import RATIOS, SEED, console, positive, save, scratch, show, time_in_turns, timed_arguments
from series import FLOOR, Floors, policy, write_stream

import reissue as ri

AT_MOST = 3.0
"""How many floors a certificate may take."""
SAFE: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "m-invariance, generalised": (ri.MInvariance(m=10), "generalised", ("Worlds",)),
    "e-equivalence, anatomised": (ri.EEquivalence(m=10, e=5), "anatomised", ("Worlds", "Equivalence")),
}
"""The method, the form, and the attacks that its promises are about."""


@dataclass
class Certification:
    """A job that audits a series from its folder on."""

    folder: Path
    attacks: tuple[str, ...]
    passed: list[bool] = field(default_factory=list)
    verdict: str = ""

    def __call__(self, folder: Path) -> None:
        """Open the series, build the outsider's view, attack it, judge."""
        with ri.open(self.folder) as series:
            report = series.audit(attacks=self.attacks)
        self.passed.append(report.passed)
        self.verdict = report.verdict


def publish(folder: Path, paths: list[Path], under: ri.Policy) -> Path:
    """The series that is audited, if it is not there yet."""
    if folder.exists():
        return folder
    with ri.open(folder, under) as series:
        for number, path in enumerate(paths):
            series.publish(path, seed=SEED + number)
    return folder


def beside_the_floor(folder: Path, paths: list[Path], repeats: int) -> dict[str, Any]:
    """Certificates, in turns with the floor: the same releases read, sorted and written."""
    jobs = {}
    for name, (method, form, attacks) in SAFE.items():
        place = publish(folder / name.split(",")[0], paths, policy(method, form))
        jobs[name] = Certification(place, attacks)
    times = time_in_turns({FLOOR: Floors(paths), **jobs}, repeats)
    figures: dict[str, Any] = {}
    lines = []
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        job = jobs.get(name)
        figures[name] = {**found.to_dict(), **ratios, "passed": job and all(job.passed)}
        both = (f"{ratios[which]:.2f}" for which in ("floors", "cpu_floors"))
        lines.append([name, f"{found.median:.2f}", found.spread, *both, job.verdict if job else ""])
    show(
        f"Certified: {len(paths)} releases (median of {repeats})",
        ["", "seconds", "fastest to slowest", *RATIOS, "verdict"],
        lines,
        times,
    )
    return figures


def attacked(folder: Path, paths: list[Path], seconds: float) -> dict[str, Any]:
    """A series of independent releases, attacked with everything."""
    under = policy(ri.MInvariance(m=10), "generalised")
    naive = ri.Policy(under.schema, ri.Mondrian(k=10, l=5), series="unprotected")
    place = publish(folder / "naive", paths, naive)
    began = time.perf_counter()
    with ri.open(place) as series:
        report = series.audit(limit=1 / 2, seconds=seconds / 4)
    spent = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    show(
        f"Attacked: {len(paths)} independent releases of Mondrian, {spent:.0f} s in all, "
        f"peak memory of the process {peak / 2**30:.1f} GiB",
        ["attack", "seconds", "result", ""],
        [[run.attack, f"{run.seconds:.1f}", run.judgement.status, run.judgement.words] for run in report.runs],
    )
    return {"seconds": spent, "peak_bytes": peak, "attacks": {run.attack: run.seconds for run in report.runs}}


def main() -> int:
    """Run what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    with scratch(given.folder) as folder:
        paths = write_stream(folder / "stream", initial=given.initial, turnover=given.turnover, releases=given.releases)
        results: dict[str, Any] = {"certified": beside_the_floor(folder, paths, given.repeats)}
        if given.naive:
            results["attacked"] = attacked(folder, paths, given.naive)
    save(given.json, results)
    missed = [
        name
        for name, job in results["certified"].items()
        if name in SAFE and (job["counting"] > AT_MOST or not job["passed"])
    ]
    for name in missed:
        console().print(f"missed: {name}")
    return 1 if given.check and missed else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--initial", type=positive, default=200_000, help="rows of the first table (default 200000)")
    parser.add_argument("--turnover", type=positive, default=20_000, help="rows in and out (default 20000)")
    parser.add_argument("--releases", type=positive, default=20, help="releases of the series (default 20)")
    parser.add_argument("--naive", type=float, default=0, help="also attack a naive series, for about so many seconds")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
