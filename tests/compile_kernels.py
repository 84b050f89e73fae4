"""Compile the kernels once, before the tests: `python tests/compile_kernels.py FOLDER`.

Processes that compile at the same time can spoil numba's cache for each other: two of them write different signatures
of a kernel to a file of the same number. So each worker of the tests has a cache of its own, and begins with a copy of
the one that is made here, by publishing and attacking small series in every way there is. What is missing in it, a
worker compiles for itself and keeps.

Half of the work is done in one process and half in another, each with a cache of its own. Then they are put together,
kernel by kernel: the index of a kernel and the files that it names always come from the same cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "reissue"
MARK = "made-of.txt"
"""Says which kernels a cache was made of. Two caches with the same mark hold the same."""


def made_of() -> str:
    """The kernels as numba tells them apart, by time and size of their files, and who compiles them."""
    files = [path for path in sorted(SOURCE.rglob("*.py")) if "njit" in path.read_text(encoding="utf-8")]
    stamps = [f"{path} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in [Path(__file__), *files]]
    return "\n".join([sys.version, *(f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")), *stamps])


def fill(cache: Path) -> None:
    """Make a cache, or bring it up to date; nothing is done where no kernel changed."""
    mark = made_of()
    if (cache / MARK).exists() and (cache / MARK).read_text() == mark:
        return
    with TemporaryDirectory(dir=cache.parent) as folder:
        parts = [Path(folder) / name for name in JOBS]
        for part in parts:
            shutil.copytree(cache, part) if cache.exists() else part.mkdir()
        running = [
            subprocess.Popen(
                [sys.executable, __file__, "--job", part.name], env={**os.environ, "NUMBA_CACHE_DIR": str(part)}
            )
            for part in parts
        ]
        ended = [process.wait() for process in running]
        if any(ended):
            sys.exit("The kernels could not be compiled.")
        for part in parts[1:]:
            merge(part, parts[0])
        (parts[0] / MARK).write_text(mark)
        shutil.rmtree(cache, ignore_errors=True)
        parts[0].rename(cache)


def merge(one: Path, into: Path) -> None:
    """Take over the kernels of which another cache knows more signatures, which is what an index lists."""
    for index in one.rglob("*.nbi"):
        wanted = into / index.relative_to(one)
        if not wanted.exists() or wanted.stat().st_size < index.stat().st_size:
            wanted.parent.mkdir(parents=True, exist_ok=True)
            for file in index.parent.glob(f"{index.stem}.*"):
                shutil.copy2(file, wanted.parent)


def take(cache: Path, own: Path) -> None:
    """Begin with a copy of this cache, unless that was done before."""
    if not (cache / MARK).exists():
        return
    if not (own / MARK).exists() or (own / MARK).read_text() != (cache / MARK).read_text():
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(cache, own)


# What is compiled


def months(several: bool = False) -> Iterator[Any]:
    """A few people, of whom some leave and come, in three months; with `several`, only new ones come."""
    import polars as pl

    for month in range(3):
        people = [n for n in range(60 + 12 * month) if several or (n + month) % 7]
        yield pl.DataFrame(
            {
                "person": people,
                "age": [20 + n * 7 % 60 for n in people],
                "place": [n * 31 % 50 / 2 for n in people],
                "trade": [["baker", "smith", "nurse", "clerk"][n * 3 % 4] for n in people],
                "sex": ["female" if n % 2 else "male" for n in people],
                "illness": [["flu", "asthma", "cancer", "measles", "gout", "HIV"][n * 5 % 6] for n in people],
            }
        )


def publish(
    method: Any, form: str = "generalised", *, audited: bool = False, grows: bool = False, **schema: Any
) -> None:
    """Publish by a method, measure what is left and, where that is asked, attack."""
    import reissue as ri

    trades = ri.Hierarchy.from_nested({"any": {"shop": ["baker", "smith"], "office": ["nurse", "clerk"]}})
    quasi = {"age": ri.Numeric(), "place": ri.Numeric(), "trade": trades, "sex": ri.Categorical()}
    several = "protected" if method.protects_series else "unprotected"
    policy = ri.Policy(ri.Schema("person", quasi, "illness", **schema), method, form=form, series=several)  # type: ignore[arg-type]
    with TemporaryDirectory() as folder, ri.open(Path(folder) / "series", policy) as series:
        for table in months(grows):
            more = {"registry": table.drop("illness")} if method.takes.registry else {}
            series.publish(table, seed=1, **more)
        if audited:
            series.audit(limit=1 / 2, seconds=5)
        series.utility(2, workload=ri.Workload(2, 0.1, 50, seed=1))


def methods() -> None:
    """Every method."""
    import reissue as ri

    every = [
        ri.guarantees.LDiverse(2),
        ri.guarantees.EntropyDiverse(2),
        ri.guarantees.RecursiveDiverse(3, 2),
        ri.guarantees.ShareDiverse(2),
        ri.guarantees.TClose(0.5),
    ]
    publish(ri.Mondrian(3, 2))
    publish(ri.Mondrian(3, constraints=every, split="relaxed"), "anatomised")
    publish(ri.AlphaK(0.5, 3))
    publish(ri.AlphaK(0.5, 3, recoding="full-domain"))
    publish(ri.Mask(4, 2), protect=[["HIV"]])
    publish(ri.StaticI(2))
    publish(ri.StaticII(2), grows=True)
    publish(ri.Incremental(2), grows=True)
    publish(ri.HDComposition(2), permanent=["HIV"], audited=True)


def attacks() -> None:
    """The methods that protect a series, and every attack."""
    import reissue as ri

    for form in ("generalised", "anatomised"):
        publish(ri.MInvariance(2), form, audited=True)
    publish(ri.EEquivalence(2, 2), "anatomised", audited=True)
    publish(ri.CorSplit(2, 2), audited=True)
    publish(ri.CorSplit(2, 2, combinations=True))
    publish(ri.Mondrian(3, 2), audited=True)
    # Where worlds are too many to be counted they are searched and sampled.
    crossed = [[(list("abcd"), list("xxyz")), (list("efgh"), list("xyyz"))], [(list("abef"), list("xxyy"))]]
    ri.attacks.Worlds(entries=1, draws=50).run(ri.Published.from_groups(crossed))
    elsewhere()


def elsewhere() -> None:
    """Releases made elsewhere, of which only regions are known."""
    import polars as pl

    import reissue as ri

    tables = [
        pl.DataFrame({"age": ["20-40"] * 3 + ["41-60"] * 3, "illness": ["flu", "gout", "flu", "gout", "flu", "flu"]}),
        pl.DataFrame({"age": ["20-30"] * 2 + ["31-60"] * 4, "illness": ["flu", "gout", "flu", "gout", "flu", "flu"]}),
    ]
    ri.audit(ri.read_releases(tables, sensitive="illness").published, limit=1 / 2, seconds=5)


JOBS = {"methods": methods, "attacks": attacks}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--job", name]:
            JOBS[name]()
        case [folder]:
            Path(folder).parent.mkdir(parents=True, exist_ok=True)
            fill(Path(folder))
        case _:
            sys.exit(__doc__)
