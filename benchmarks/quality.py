"""How good the groups are beside anonypy's: the same table, the same k, the same measures.

Both make groups by Mondrian with nothing but k asked for. anonypy's groups are taken from its own
partition, row by row, and measured by this package's measures, as ours are.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from measuring import QUASI, SEED, SENSITIVE, arguments, console, installed, positive, save, show

import reissue as ri
from reissue.model.grouping import Grouping
from reissue.model.snapshot import Column
from reissue.publishing.series import draft
from reissue.samples.census import census
from reissue.samples.collection import datasets, load
from reissue.utility import average_class_size, discernibility, information_loss

SPLITS: tuple[Literal["strict", "relaxed"], ...] = ("strict", "relaxed")
MEASURES = ("discernibility", "average class size", "information loss")


@dataclass(frozen=True)
class Case:
    """A table and its roles."""

    name: str
    table: pl.DataFrame
    quasi: tuple[str, ...]
    sensitive: str

    def numeric(self, name: str) -> bool:
        """Whether a quasi-identifier is a number rather than a label."""
        return self.table[name].dtype.is_numeric()


def cases(rows: int, adult: Path | None) -> Iterator[Case]:
    """The census table, and Adult where its file is given."""
    yield Case("census", census(rows, seed=SEED), QUASI, SENSITIVE)
    if adult is None:
        console().print("Adult: not measured; fetch adult.data from UCI and give its path with --adult\n")
        return
    roles = next(known for known in datasets() if known.name == "adult").roles
    quasi = tuple(name for name, role in roles.items() if role == "quasi")
    sensitive = next(name for name, role in roles.items() if role == "sensitive")
    yield Case("adult", load("adult", path=adult).select("person", *quasi, sensitive), quasi, sensitive)


def ours(case: Case, k: int, split: Literal["strict", "relaxed"]) -> tuple[tuple[Column, ...], Grouping]:
    """The coded quasi-identifiers and our groups."""
    quasi: dict[str, Any] = {name: ri.Numeric() if case.numeric(name) else ri.Categorical() for name in case.quasi}
    schema = ri.Schema(person="person", quasi=quasi, sensitive=case.sensitive)
    made = draft(case.table, ri.Policy(schema=schema, method=ri.Mondrian(k=k, split=split)), seed=SEED)
    return made.snapshot.quasi, made.grouping


def theirs(case: Case, k: int) -> Grouping:
    """anonypy's groups, from the row numbers of its partition."""
    from anonypy.mondrian import Mondrian

    frame = case.table.to_pandas()
    for name in case.quasi:
        if not case.numeric(name):
            frame[name] = frame[name].astype("category")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' advice to anonypy's authors
        parts = Mondrian(frame, list(case.quasi), case.sensitive).partition(k)
    group = np.full(len(frame), -1, dtype=np.int32)
    for number, rows in enumerate(parts):
        group[rows.to_numpy()] = number
    if (group < 0).any():
        raise SystemExit("anonypy left rows out, so its groups cannot be measured.")
    return Grouping(group, len(parts))


def measures(quasi: tuple[Column, ...], grouping: Grouping) -> dict[str, float]:
    """Less is better in all three."""
    figures = (discernibility(grouping), average_class_size(grouping), information_loss(quasi, grouping).total)
    return dict(zip(MEASURES, figures, strict=True))


def compare(case: Case, k: int, with_peer: bool) -> list[dict[str, Any]]:
    """The figures of every way to group, ours with their ratio to anonypy's."""
    found: list[dict[str, Any]] = []
    for split in SPLITS:
        start = time.perf_counter()
        quasi, grouping = ours(case, k, split)
        seconds = time.perf_counter() - start
        found.append({"way": f"ours, {split}", "measures": measures(quasi, grouping), "seconds": seconds})
    if not with_peer:
        return found
    start = time.perf_counter()
    grouping = theirs(case, k)
    seconds = time.perf_counter() - start
    peer = measures(quasi, grouping)
    for row in found:
        row["ratios"] = {name: row["measures"][name] / peer[name] for name in MEASURES}
    return [{"way": "anonypy", "measures": peer, "seconds": seconds}, *found]


def main() -> int:
    """Compare on every table and k; 1 if this was to be checked and ours were worse anywhere."""
    given = _arguments()
    with_peer = installed("anonypy")
    if not with_peer:
        console().print("anonypy: not installed, so there are only our own figures\n")
    results: list[dict[str, Any]] = []
    worse = 0
    for case in cases(given.rows, given.adult):
        table: list[list[object]] = []
        for k in given.k:
            found = compare(case, k, with_peer)
            results += [{"table": case.name, "rows": case.table.height, "k": k, **row} for row in found]
            for row in found:
                ratios = row.get("ratios", {})
                worse += sum(ratio > 1 for ratio in ratios.values())
                cells = [_cell(row["measures"][name], ratios.get(name)) for name in MEASURES]
                table.append([row["way"], k, *cells, f"{row['seconds']:.2f}"])
        show(
            f"{case.name}, {case.table.height:,} rows, {len(case.quasi)} quasi-identifiers (in brackets: anonypy is 1)",
            ["", "k", *MEASURES, "seconds"],
            table,
        )
    if with_peer:
        verdict = "no worse than anonypy in all" if not worse else f"WORSE than anonypy in {worse}"
        console().print(f"Ours: {verdict} figures\n")
    save(given.json, {"quality": results, "worse": worse})
    return 1 if given.check and worse else 0


def _cell(figure: float, ratio: float | None) -> str:
    text = f"{figure:,.2f}" if figure < 1_000 else f"{figure:,.0f}"
    return text if ratio is None else f"{text} ({ratio:.3f}{' WORSE' if ratio > 1 else ''})"


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=positive, default=30_000, help="rows of the census table (default 30000)")
    parser.add_argument("--k", type=_several, default=[5, 10, 25], help="values of k (default 5,10,25)")
    parser.add_argument("--adult", type=Path, help="UCI's adult.data, plain or gzipped")
    parser.add_argument("--check", action="store_true", help="end with status 1 when ours are worse anywhere")
    return parser.parse_args()


def _several(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
