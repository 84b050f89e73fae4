"""ARX on the same table: k-anonymity and distinct l-diversity by the same hierarchies, in a Java process of its own.

ARX is neither on PyPI nor installed with us: its jar is given by path, and Java (with its compiler) is on the path or
given as well. `Arx.java` is compiled against that jar. Timed is what it does from its CSV files to the CSV file that it
writes; what the process takes besides, mostly the start of the JVM, is told apart.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

SOURCE = Path(__file__).with_name("Arx.java")
SEPARATOR = ";"


@dataclass(frozen=True)
class Asked:
    """The table and what is asked of it."""

    table: pl.DataFrame
    person: str
    sensitive: str
    levels: Mapping[str, Mapping[int, Any]]
    """For each quasi-identifier and level the label of every leaf."""
    k: int
    l: int  # noqa: E741


@dataclass(frozen=True)
class Found:
    """What ARX took, in seconds, and the groups of the table that it made."""

    seconds: float
    start: float
    """What the process took besides."""
    groups: int


def run(asked: Asked, jar: Path, java: str, repeats: int) -> Found:
    """So many processes one after the other; medians count."""
    compiler = shutil.which(str(Path(shutil.which(java) or java).resolve().with_name("javac")))
    if compiler is None:
        raise SystemExit(f"ARX cannot be measured: there is no javac beside '{java}'.")
    with tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as name:
        folder = Path(name)
        _call([compiler, "-cp", str(jar), "-d", str(folder), str(SOURCE)])
        arguments = _write(asked, folder)
        command = [java, "-cp", f"{folder}:{jar}", SOURCE.stem, *arguments]
        inside, whole = [], []
        for _ in range(repeats):
            begun = time.perf_counter()
            inside.append(float(_call(command).split()[-1]))
            whole.append(time.perf_counter() - begun)
        groups = _check(asked, folder / "out.csv")
    seconds = statistics.median(inside)
    return Found(seconds, statistics.median(whole) - seconds, groups)


def _write(asked: Asked, folder: Path) -> list[str]:
    """The table and the hierarchies as files, and the arguments that name them."""
    asked.table.write_csv(folder / "table.csv", separator=SEPARATOR)
    arguments = [folder / "table.csv", folder / "out.csv", asked.k, asked.l, asked.person, asked.sensitive]
    for name, levels in asked.levels.items():
        path = folder / f"hierarchy-{name}.csv"
        labels = {str(level): [str(label) for label in levels[level]] for level in sorted(levels)}
        pl.DataFrame(labels).write_csv(path, separator=SEPARATOR, include_header=False)
        arguments += [name, path]
    return [str(argument) for argument in arguments]


def _check(asked: Asked, path: Path) -> int:
    """The number of groups in what ARX wrote, which must keep what was asked."""
    made = pl.read_csv(path, separator=SEPARATOR, infer_schema=False)
    groups = made.group_by(*asked.levels).agg(pl.len().alias("k"), pl.col(asked.sensitive).n_unique().alias("l"))
    if made.height != asked.table.height or groups.filter((pl.col("k") < asked.k) | (pl.col("l") < asked.l)).height:
        raise SystemExit("What ARX wrote does not keep what was asked; it was asked wrongly.")
    return groups.height


def _call(command: list[str]) -> str:
    child = subprocess.run(command, capture_output=True, text=True)
    if child.returncode:
        raise SystemExit(f"{Path(command[0]).name} failed:\n{child.stderr}")
    return child.stdout
