"""Other people's programs on the same table: anonypy, anjana and ARX to compare with, pycanon to check us.

Each is imported only when it is installed and asked for. anonypy and anjana get the table in memory as
they want it and hand back a table in memory; what is timed beside them starts from a file and ends with
a committed release, so the comparison leans their way. ARX goes from CSV files to a CSV file, in Java.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arx
import polars as pl
from measuring import QUASI, SEED, SENSITIVE, Publication, Times, census_policy, time_in_turns
from samples import GENDERS, OLDEST, YOUNGEST, census_hierarchies

import reissue as ri

K, L = 10, 6
BY_LEVELS = f"k = {K}, l = {L}, hierarchies, one level for a whole column"
AGE_WIDTHS = (5, 10, 20, 40)


@dataclass(frozen=True)
class Comparison:
    """One run of a peer beside ours on the same rows."""

    peer: str
    task: str
    rows: int
    seconds: float
    groups: int
    ours: Times
    our_groups: int
    start: float | None = None
    """Seconds to start the peer's process, where it has one; they are not in its seconds."""

    @property
    def ratio(self) -> float:
        """How many of our publications fit into the peer's time."""
        return self.seconds / self.ours.median


def compare(peer: str, path: Path, rows: int, repeats: int) -> Comparison:
    """Run a peer once, for they are slow, and ours as often as asked, on a file of so many rows."""
    task, policy, run = PEERS[peer]
    ours = Publication(path, policy())
    times = time_in_turns({"ours": ours}, repeats)["ours"]
    table = pl.read_parquet(path).to_pandas()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # pandas' advice to the peers' authors
        seconds, groups = run(table)
    return Comparison(peer, task, rows, seconds, groups, times, ours.groups)


def compare_arx(path: Path, rows: int, repeats: int, jar: Path, java: str) -> Comparison:
    """ARX, in processes of its own, beside ours on a file of so many rows."""
    ours = Publication(path, census_policy(k=K, l=L, hierarchies=True))
    times = time_in_turns({"ours": ours}, repeats)["ours"]
    asked = arx.Asked(pl.read_parquet(path), "person", SENSITIVE, _levels(), K, L)
    found = arx.run(asked, jar, java, repeats)
    return Comparison("ARX", BY_LEVELS, rows, found.seconds, found.groups, times, ours.groups, found.start)


def _anonypy(table: Any) -> tuple[float, int]:
    import anonypy

    for name in QUASI:
        if name != "age":
            table[name] = table[name].astype("category")
    start = time.perf_counter()
    made = anonypy.Preserver(table, list(QUASI), SENSITIVE).anonymize_k_anonymity(k=K)
    seconds = time.perf_counter() - start
    return seconds, len({tuple(str(row[name]) for name in QUASI) for row in made})


def _anjana(table: Any) -> tuple[float, int]:
    from anjana.anonymity import l_diversity

    levels = _levels()
    table["age"] = table["age"].astype(str)
    start = time.perf_counter()
    made = l_diversity(table, ["person"], list(QUASI), SENSITIVE, K, L, 0, levels)
    seconds = time.perf_counter() - start
    return seconds, len(made[list(QUASI)].drop_duplicates()) if len(made) else 0


def _levels() -> dict[str, dict[int, Any]]:
    """The hierarchies as anjana takes them: for each level the label of every leaf."""
    trees = {name: ri.Hierarchy.from_nested(nested) for name, nested in census_hierarchies().items()}
    trees["age"] = ri.Hierarchy.intervals(YOUNGEST, OLDEST, AGE_WIDTHS)
    trees["gender"] = ri.Hierarchy.from_nested({"*": list(GENDERS)})
    return {
        name: dict(enumerate(zip(*((leaf, *tree.ancestors(leaf)) for leaf in tree.leaves), strict=True)))
        for name, tree in trees.items()
    }


PEERS: Mapping[str, tuple[str, Callable[[], ri.Policy], Callable[[Any], tuple[float, int]]]] = {
    "anonypy": (f"Mondrian, k = {K}", lambda: census_policy(k=K, l=1), _anonypy),
    "anjana": (
        BY_LEVELS,
        lambda: census_policy(k=K, l=L, hierarchies=True),
        _anjana,
    ),
}


@dataclass(frozen=True)
class Check:
    """What pycanon says about a table that we published."""

    k: int
    l: int  # noqa: E741
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether it finds at least what was promised."""
        return self.k >= K and self.l >= L


def check(path: Path) -> Check:
    """Publish a file and let pycanon find k and l, from what an outsider sees: group numbers included."""
    from pycanon import anonymity

    policy = census_policy(k=K, l=L)
    with (
        tempfile.TemporaryDirectory(prefix="reissue-benchmark-") as folder,
        ri.open(Path(folder) / "series", policy) as series,
    ):
        table = series.publish(path, seed=SEED).tables["table"].to_pandas()
    quasi = [name for name in table.columns if name != SENSITIVE]
    start = time.perf_counter()
    k = anonymity.k_anonymity(table, quasi)
    l = anonymity.l_diversity(table, quasi, [SENSITIVE])  # noqa: E741
    return Check(int(k), int(l), time.perf_counter() - start)
