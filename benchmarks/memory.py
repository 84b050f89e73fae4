"""Peak memory of one publication, measured in a process of its own.

    python memory.py TABLE.parquet FORM [--hierarchies | --numbers]

Prints JSON: the resident memory just before publishing (everything imported, kernels compiled and warm)
and the highest while publishing, both in bytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from measuring import Form, Publication, census_policy, write_census

WARM_UP_ROWS = 2_000
STATUS = Path("/proc/self/status")
RESET_PEAK = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Memory:
    """Bytes before and at the peak of a publication, beside the size of the table in Arrow."""

    before: int
    peak: int
    arrow: int

    @property
    def ratio(self) -> float:
        """What publishing needed, in tables."""
        return (self.peak - self.before) / self.arrow


def measure(
    path: Path, runs: int, *, form: Form = "generalised", hierarchies: bool = False, numbers: bool = False
) -> Memory:
    """Publish the table in a new process, so many times, and see what it took at most."""
    options = [*(["--hierarchies"] if hierarchies else []), *(["--numbers"] if numbers else [])]
    command = [sys.executable, __file__, str(path), form, *options]
    arrow = arrow_size(path)
    found = []
    for _ in range(runs):
        child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        figures = json.loads(child.stdout)
        found.append(Memory(figures["before"], figures["peak"], arrow))
    return max(found, key=lambda memory: memory.ratio)


def arrow_size(path: Path) -> int:
    """The bytes of the table in Arrow: text as offsets and characters, numbers as they are."""
    return int(pl.read_parquet(path).to_arrow().nbytes)


def peak_of(work: Callable[[], object]) -> dict[str, int]:
    """The memory of this process before some work, and the highest during it, in bytes."""
    if not STATUS.exists():
        raise SystemExit("Peak memory is read from /proc, which this system does not have.")
    # A process inherits the highest figure of the one that started it, in what getrusage tells. The
    # kernel's own mark can be set back to what is in use now.
    RESET_PEAK.write_text("5")
    before = bytes_of("VmRSS")
    work()
    return {"before": before, "peak": bytes_of("VmHWM")}


def bytes_of(line: str) -> int:
    """One line of the process's status; the system gives kibibytes."""
    found = next(text for text in STATUS.read_text().splitlines() if text.startswith(f"{line}:"))
    return int(found.split()[1]) * 1024


def _publish(path: Path, options: dict[str, Any]) -> dict[str, int]:
    policy = census_policy(**options)
    with tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as name:
        folder = Path(name)
        Publication(write_census(folder, WARM_UP_ROWS, numbers=options["numbers"]), policy)(folder / "warm-up")
        return peak_of(lambda: Publication(path, policy)(folder / "measured"))


def main() -> None:
    """Measure in this very process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("form", choices=["generalised", "anatomised"])
    parser.add_argument("--hierarchies", action="store_true")
    parser.add_argument("--numbers", action="store_true")
    options = vars(parser.parse_args())
    print(json.dumps(_publish(options.pop("table"), options)))


if __name__ == "__main__":
    main()
