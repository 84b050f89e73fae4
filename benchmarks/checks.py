"""What checking and sealing cost: publications as they are, in turns with the same ones that believe what they read.

python benchmarks/checks.py --long 600 --json figures.json
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
from measuring import (
    SEED,
    Job,
    Publication,
    Times,
    anchors_in,
    census_policy,
    positive,
    save,
    scratch,
    show,
    time_in_turns,
    timed_arguments,
    write_census,
)
from samples import census, updates
from series import policy

import reissue as ri
from reissue.ledger import chain, ledger, sqlite, stored_tables
from reissue.ledger.anchor import Anchor

MOST_PART = 0.10
"""Of a large publication."""
MOST_SECONDS = 0.01
"""Of a small one."""
NOBODY = chain.Link(1, chain.CREATED, "", "")


@contextmanager
def believing() -> Iterator[None]:
    """Leave out every hash, seal, link, anchor and second look. Here only: there is no switch for it."""

    def read(path: Path, sha256: str, shown: str, columns: list[str] | None = None) -> pl.DataFrame:
        return pl.read_parquet(path, columns=columns)

    instead: list[tuple[object, str, object]] = [
        (stored_tables, "read", read),
        (chain, "require_whole", lambda connection, shown: [NOBODY]),
        (chain, "every", lambda *_: [NOBODY]),
        (chain, "append", lambda connection, kind, parts: NOBODY),
        (chain, "append_all", lambda connection, kind: NOBODY),
        (Anchor, "check", lambda *_: None),
        (Anchor, "behind", lambda *_: None),
        (Anchor, "write", lambda *_: None),
        (ledger, "refuse_missing", lambda *_: None),
        (ledger.Ledger, "_disturbed", lambda *_: False),
        (ledger.Ledger, "_refuse_changed_in_waiting", lambda *_: None),
        (sqlite.Database, "mark", lambda *_: sqlite.Mark(None, 0, 0)),
    ]
    with ExitStack() as stack:
        for place, name, other in instead:
            stack.enter_context(mock.patch.object(place, name, other))
        yield


@dataclass
class Next:
    """A job that publishes the next tables into a copy of a series; each of them counts."""

    base: Path
    tables: list[pl.DataFrame]
    first: int
    believes: bool

    def prepare(self, folder: Path) -> None:
        """The copy, with the anchor that it has: a copy of before does not go on from that of now."""
        shutil.copytree(self.base, folder, dirs_exist_ok=True)

    def __call__(self, folder: Path) -> None:
        """From the tables to the committed releases."""
        with ExitStack() as stack:
            if self.believes:
                stack.enter_context(believing())
            series = stack.enter_context(ri.open(folder / "series"))
            for number, table in enumerate(self.tables, start=self.first):
                series.publish(table, seed=SEED + number)


@dataclass
class First:
    """A job that publishes a file into a new series."""

    publication: Publication
    believes: bool

    def __call__(self, folder: Path) -> None:
        """From the Parquet file to the committed release."""
        with believing() if self.believes else ExitStack():
            self.publication(folder)


def main() -> int:
    """Run what was asked for; 1 if targets were to be checked and one was missed."""
    given = _arguments()
    found = []
    with scratch(given.folder) as folder:
        path = write_census(folder, given.rows)
        found.append(_both(f"{given.rows:,} rows, a new series", _first(path), given.repeats, 1))
        found.append(_both(f"{given.rows:,} rows, the second release", _second(folder, path), given.repeats, 1))
        for releases in sorted({5, given.long}):
            jobs = _small(folder, releases, given.calls)
            title = f"1,000 rows after {releases:,} releases"
            found.append(_both(title, jobs, given.repeats, given.calls))
    show(
        "What checks and seals cost (CPU seconds of one publication, medians)",
        ["", "without", "with", "cost", "part"],
        [
            [one["what"], *(f"{one[name]:.4f}" for name in ("without", "with", "cost")), f"{one['part']:.1%}"]
            for one in found
        ],
    )
    save(given.json, {"checks": found})
    large, small = found[:2], found[2:3]
    good = all(one["part"] <= MOST_PART for one in large) and all(one["cost"] <= MOST_SECONDS for one in small)
    return 1 if given.check and not good else 0


def _both(what: str, jobs: dict[str, Job], repeats: int, calls: int) -> dict[str, Any]:
    times: dict[str, Times] = time_in_turns(jobs, repeats)
    without, with_them = (times[name].cpu_median / calls for name in ("without", "with"))
    cost = with_them - without
    return {
        "what": what,
        "without": without,
        "with": with_them,
        "cost": cost,
        "part": cost / without,
        "times": {name: one.to_dict() for name, one in times.items()},
    }


def _first(path: Path) -> dict[str, Job]:
    return {
        name: First(Publication(path, census_policy()), believes)
        for name, believes in (("without", True), ("with", False))
    }


def _second(folder: Path, path: Path) -> dict[str, Job]:
    """By m-invariance, which goes on from everything that the first release left."""
    table = pl.read_parquet(path)
    base = folder / "second"
    _publish(base, policy(ri.MInvariance(m=10), "generalised"), [table])
    return _next(base, [table.sample(fraction=0.9, seed=SEED)], 2)


def _small(folder: Path, releases: int, calls: int) -> dict[str, Job]:
    base = folder / f"small-{releases}"
    pool = census(1_000 + 100 * (releases + calls), seed=SEED)
    tables = list(updates(pool, initial=1_000, turnover=100, releases=releases + calls, seed=SEED))
    _publish(base, policy(ri.MInvariance(m=5), "generalised"), tables[:releases])
    return _next(base, tables[releases:], releases + 1)


def _publish(base: Path, given: ri.Policy, tables: list[pl.DataFrame]) -> None:
    """A series, and the state folder of its user beside it."""
    with anchors_in(base / "state"), ri.open(base / "series", given) as series:
        for number, table in enumerate(tables, start=1):
            series.publish(table, seed=SEED + number)


def _next(base: Path, tables: list[pl.DataFrame], first: int) -> dict[str, Job]:
    return {name: Next(base, tables, first, believes) for name, believes in (("without", True), ("with", False))}


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.add_argument("--rows", type=positive, default=600_000, help="rows of the large table (default 600000)")
    parser.add_argument("--long", type=positive, default=100, help="releases of the long series (default 100)")
    parser.add_argument("--calls", type=positive, default=10, help="small publications in a turn (default 10)")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
