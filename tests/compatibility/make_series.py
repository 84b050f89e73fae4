"""How the series in series-0.1/ were made: by Reissue 0.1, once.

They stand for the series that users have on their disks. **They must not be rewritten**: later versions have to open,
read, audit and continue them as they are. For the same reason this program refuses to write where they are already:

    python tests/compatibility/make_series.py a-new-folder

`what_comes_next` makes the third table of each, which is not stored. Tests publish it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from simple_people import EDUCATION, facts, patients, registry

import reissue as ri

FOLDER = Path(__file__).parent / "series-0.1"
KEY = "hashed.key"
"""The key of the series with hashed ids: beside the series, and in their policies in the home folder."""

BASIC = ("patient", "age", "sex", "zip", "diagnosis")
RICH = ("patient", "age", "weight", "admitted", "education", "insurance", "ward", "diagnosis")

Given = dict[str, Any]
"""What a release is made of, by the names of publish's parameters."""


def basic(**more: Any) -> ri.Schema:
    """Three quasi-identifiers and a diagnosis."""
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical(), "zip": ri.Numeric(low=53000, high=53999)}
    return ri.Schema("patient", quasi, {"diagnosis": ri.Categorical(new="accept")}, **more)


def rich() -> ri.Schema:
    """A column of every kind: decimals and dates, a hierarchy, missing values, one as it is, one dropped."""
    quasi = {
        "age": ri.Numeric(),
        "weight": ri.Numeric(missing="value"),
        "admitted": ri.Numeric(),
        "education": ri.Hierarchy("any", EDUCATION),
        "insurance": ri.Categorical(missing="value"),
    }
    sensitive = {"diagnosis": ri.Categorical(new="accept")}
    return ri.Schema("patient", quasi, sensitive, as_is=["ward"], drop=["name"])


def in_and_out(number: int, columns: tuple[str, ...] = BASIC) -> Given:
    """Three tables in which people come, go, return, move and change."""
    numbers = {1: range(50), 2: range(6, 56), 3: [*range(4), *range(10, 60)]}[number]
    moved, changed = {1: ((), ()), 2: ((12, 13), (20, 21)), 3: ((12, 13, 30), (20, 21, 40))}[number]
    return {"table": patients(numbers, moved=moved, changed=changed).select(columns)}


def rich_in_and_out(number: int) -> Given:
    """The same with columns of every kind."""
    return in_and_out(number, RICH)


def growing(number: int) -> Given:
    """Three tables that only grow."""
    return {"table": patients(range({1: 30, 2: 45, 3: 60}[number])).select(BASIC)}


def permanent(number: int) -> Given:
    """Three tables with a registry, and carriers of a permanent value: one moves and one dies."""
    carriers = {1: [6, 40], 2: [40, 71], 3: [40, 71]}[number]
    dead = {1: [], 2: [12], 3: [6, 12, 33]}[number]
    present = sorted({*range((number + 1) % 2, 90, 2), *carriers} - {*dead})
    registered = [one for one in range(90) if (one, number) != (12, 3)]
    given = {
        "table": facts(present, number, carriers=carriers),
        "registry": registry(registered, moved=[40] if number == 3 else []),
    }
    return given | ({"extinct": [f"P-{one:04}" for one in dead]} if dead else {})


def once(method: Any, **more: Any) -> ri.Policy:
    """A policy for a method that protects each release alone."""
    return ri.Policy(method=method, series="unprotected", **more)


def plainly(folder: Path, stored: Stored) -> None:
    """Publish two releases."""
    with ri.open(folder, stored.policy) as series:
        for number in (1, 2):
            publish(series, stored.given, number)


def publish(series: ri.Series, given: Callable[[int], Given], number: int, **more: Any) -> ri.Release:
    """Publish one release with the seed and the time it always has."""
    return series.publish(**given(number), seed=number, time=datetime(2024, number, 1, 12, tzinfo=UTC), **more)


def adopted(folder: Path, stored: Stored) -> None:
    """Two releases made elsewhere: groups of two; in the last of them one is replaced, which betrays all three."""
    value = dict(patients(range(51)).select("patient", "diagnosis").rows())
    pairs: list[tuple[str, str]] = []
    alone = sorted(value)[:50]
    while alone:
        one = alone.pop(0)
        other = next((other for other in alone if value[other] != value[one]), None)
        if other is not None:
            alone.remove(other)
            pairs.append((one, other))
    tables, members = [], []
    for number in (1, 2):
        if number == 2:
            pairs[-1] = (pairs[-1][0], "P-0050")
        rows = [
            (group, f"{20 + group}-{40 + group}", value[person])
            for group, pair in enumerate(pairs, start=1)
            for person in pair
        ]
        tables.append(pl.DataFrame(rows, schema=["group", "age", "diagnosis"], orient="row"))
        members += [(person, number, group) for group, pair in enumerate(pairs, start=1) for person in pair]
    who = pl.DataFrame(members, schema=["person", "release", "group"], orient="row")
    ri.adopt(folder, stored.policy, tables, members=who).close()


def overridden(folder: Path, stored: Stored) -> None:
    """The second release goes out though the gate is closed."""
    with ri.open(folder, stored.policy) as series:
        publish(series, stored.given, 1, override="Agreed at a meeting in January")
        publish(series, stored.given, 2, override="Agreed at a meeting in February")


def amended(folder: Path, stored: Stored) -> None:
    """Between the releases the policy is amended, and after each somebody is forgotten."""
    with ri.open(folder, ri.Policy(basic(), ri.MInvariance(m=4))) as series:
        publish(series, stored.given, 1)
        series.forget("P-0007")
        series.amend(stored.policy, "fewer rows to make up")
        publish(series, stored.given, 2)
        series.forget("P-0002", "P-0031")


@dataclass(frozen=True)
class Stored:
    """One series: the policy it ends with, what its three releases are made of, and how the first two were made."""

    policy: ri.Policy
    given: Callable[[int], Given] = in_and_out
    make: Callable[[Path, Stored], None] = plainly
    limit: str | None = None
    """What an audit holds it against, where the method promises nothing that could be tested."""


PROTECT = [["cancer", "ulcer"], ["flu", "gout"]]

STORED: dict[str, Stored] = {
    "mondrian": Stored(once(ri.Mondrian(k=4, l=2), schema=rich()), rich_in_and_out),
    "mondrian-constraints": Stored(
        once(
            ri.Mondrian(k=3, constraints=[ri.guarantees.TClose(0.7), ri.guarantees.EntropyDiverse(2)], split="relaxed"),
            schema=basic(),
            form="anatomised",
        ),
        limit="1/2",
    ),
    "static-i": Stored(once(ri.StaticI(l=3), schema=basic()), growing),
    "static-ii": Stored(ri.Policy(basic(), ri.StaticII(l=3), form="anatomised"), growing),
    "mask": Stored(once(ri.Mask(k=5, l=3), schema=basic(protect=PROTECT)), limit="1/2"),
    "alpha-k": Stored(once(ri.AlphaK(alpha="1/3", k=3), schema=rich(), form="anatomised"), rich_in_and_out),
    "m-invariance": Stored(ri.Policy(rich(), ri.MInvariance(m=3), form="anatomised"), rich_in_and_out),
    "m-invariance-merged": Stored(
        ri.Policy(basic(), ri.MInvariance(m=3, split=False, changed="reinsert"), disclose=["counterfeits"])
    ),
    "e-equivalence": Stored(ri.Policy(basic(), ri.EEquivalence(m=3, e=2), form="anatomised")),
    "cor-split": Stored(ri.Policy(basic(), ri.CorSplit(m=4, n=2, L=2))),
    "cor-split-combinations": Stored(ri.Policy(basic(), ri.CorSplit(m=3, n=2, combinations=True), form="anatomised")),
    "incremental": Stored(ri.Policy(basic(), ri.Incremental(l=3)), growing),
    "incremental-strict": Stored(
        ri.Policy(basic(), ri.Incremental(l=2, diversity="share", strict=True, waiting=0.2), form="anatomised"), growing
    ),
    "hd-composition": Stored(
        ri.Policy(
            ri.Schema(
                "patient",
                {"age": ri.Numeric(), "zip": ri.Numeric()},
                {"diagnosis": ri.Categorical(new="accept")},
                permanent=["HIV"],
            ),
            ri.HDComposition(l=2),
        ),
        permanent,
    ),
    "adopted": Stored(ri.Policy(basic(), ri.MInvariance(m=2)), make=adopted),
    "hashed": Stored(ri.Policy(basic(), ri.MInvariance(m=3), people=ri.Ids("hashed", f"~/{KEY}"))),
    "gated": Stored(
        ri.Policy(basic(), ri.MInvariance(m=3), gate=ri.Gate(attacks=["Worlds", "Correlation"], seconds=30.0))
    ),
    "overridden": Stored(
        once(ri.Mondrian(k=3, l=2), schema=basic(), gate=ri.Gate(attacks=["Worlds"], limit="1/2", seconds=5.0)),
        make=overridden,
    ),
    "amended": Stored(ri.Policy(basic(), ri.MInvariance(m=3)), make=amended),
}


def what_comes_next(name: str) -> Given:
    """What the third release of a stored series is made of, by the names of publish's parameters."""
    return STORED[name].given(3)


def write(folder: Path) -> None:
    """Make all series in a new folder, with the key for hashed ids beside them."""
    folder.mkdir(parents=True)
    key = folder / KEY
    key.write_text(hashlib.sha256(b"no secret: everybody in these series is made up").hexdigest() + "\n")
    os.environ["HOME"] = str(folder.resolve())
    for name, stored in STORED.items():
        stored.make(folder / name, stored)
        private = folder / name / "private"
        # Neither is needed, and an empty folder would not be kept.
        (private / "lock").unlink()
        shutil.rmtree(private / "staging")


if __name__ == "__main__":
    if len(sys.argv) != 2 or (target := Path(sys.argv[1])).exists():
        sys.exit("usage: make_series.py <a folder that does not exist>")
    write(target)
