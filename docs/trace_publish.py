"""Trace one publication through the folders of the library: who calls whom, and in which direction.

.venv/bin/python docs/trace_publish.py            # prints the tables of docs/explanation/trace.md

It publishes a second release by m-invariance and follows every call between two files of the package. Folders are
compared with their order in `tests/meta/test_boundaries.py`: a call from a folder to one further down the list is a
call down. What goes up are functions that were handed down: readers of the ledger, progress, lazily read tables.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import polars as pl

import reissue as ri

ROOT = Path(ri.__file__).parent
ORDER = (
    "errors", "charts", "kernels", "arrays", "model", "tables", "reasoning", "utility", "guarantees", "methods",
    "attacks", "ledger", "foreign", "auditing", "publishing", "samples", "cli",
)  # fmt: skip


def table(people: range) -> pl.DataFrame:
    """A small table, the same every time."""
    return pl.DataFrame(
        {
            "patient": [f"p{n}" for n in people],
            "age": [20 + n * 7 % 60 for n in people],
            "diagnosis": [("flu", "asthma", "cancer", "measles")[n * 5 % 4] for n in people],
        }
    )


class Trace:
    """Counts calls between files of the package while a block runs."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> Trace:
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_back is not None:
            callee, caller = _file(frame), _file(frame.f_back)
            if callee and caller and callee != caller:
                self.calls[caller, callee] += 1

    @property
    def files(self) -> set[str]:
        """The files that took part."""
        return {name for pair in self.calls for name in pair}

    def between(self) -> Counter[tuple[str, str]]:
        """The calls between folders; modules in the root count as one."""
        found: Counter[tuple[str, str]] = Counter()
        for (caller, callee), times in self.calls.items():
            if _folder(caller) != _folder(callee):
                found[_folder(caller), _folder(callee)] += times
        return found


def _file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def _folder(file: str) -> str:
    parts = Path(file).parts
    return parts[0] if len(parts) > 1 else Path(file).stem if Path(file).stem in ORDER else "root"


def main() -> None:
    """Publish twice, trace the second time, and print what was seen."""
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive="diagnosis")
    with (
        TemporaryDirectory() as folder,
        ri.open(Path(folder) / "clinic", ri.Policy(schema, ri.MInvariance(2))) as series,
    ):
        series.publish(table(range(40)), seed=1)
        series.publish(table(range(4, 44)), seed=1)  # everything is imported and compiled now
        with Trace() as trace:
            series.publish(table(range(8, 48)), seed=1)
    between = trace.between()
    both = sorted({tuple(sorted(pair)) for pair in between if pair[::-1] in between})
    named = ", ".join(" - ".join(pair) for pair in both)
    out = sys.stdout.write
    out(f"files: {len(trace.files)}; pairs of files: {len(trace.calls)}; pairs of folders: {len(between)}\n")
    out(f"folders that call each other in both directions: {len(both)} ({named})\n\n")
    out("| from | to | calls | |\n|---|---|---|---|\n")
    for (caller, callee), times in sorted(
        between.items(), key=lambda one: (_place(one[0][0]), _place(one[0][1])), reverse=True
    ):
        up = "up" if _place(callee) > _place(caller) else ""
        out(f"| {caller} | {callee} | {times:,} | {up} |\n")


def _place(folder: str) -> int:
    return ORDER.index(folder) if folder in ORDER else -1


if __name__ == "__main__":
    main()
