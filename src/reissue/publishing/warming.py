"""Warming up: publish and attack small series in every way there is, so that all kernels are compiled and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from reissue.attacks import Likelihood, Worlds
from reissue.auditing.running import audit
from reissue.errors import ParameterError, listed
from reissue.foreign import read_releases
from reissue.guarantees import EntropyDiverse, LDiverse, RecursiveDiverse, ShareDiverse, TClose
from reissue.methods import METHODS, build
from reissue.methods.base import Method
from reissue.model.hierarchy import Hierarchy
from reissue.model.plugins import kind_of
from reissue.model.published import Published
from reissue.model.schema import Categorical, Numeric, Schema
from reissue.publishing.policy import Policy
from reissue.publishing.series import open as open_series
from reissue.reasoning.alternatives.record_designing import record_design_of
from reissue.reasoning.alternatives.record_flight import law_of
from reissue.reasoning.equality.equal_sets_projection import equal_pairs
from reissue.reasoning.equality.equal_sets_vectors import Vectors
from reissue.utility import Workload
from reissue.utility.analysing.analysis import analyse

Progress = Callable[[str, int, int], None]
"""Is called with what is run next, how much was, and how much there is to run."""

PATIENT = 600.0
"""The time that compiling takes counts for an audit: it must not end before everything was called."""
ILLNESSES = ("flu", "asthma", "cancer", "measles", "gout", "HIV")
CROWD = (1 << 16) + 1
"""So many people can have so many different values that codes are of the widest type."""


@dataclass(frozen=True)
class Small:
    """A small series that is published by a method."""

    method: str
    parameters: Mapping[str, Any]
    form: str = "generalised"
    trees: bool = False
    """Whether a column has a hierarchy."""
    grows: bool = False
    """Whether people only come."""
    wide: bool = False
    """Whether columns have so many values that codes are of wider types."""
    audited: bool = False
    analysed: bool = False
    """Whether recipients ask it, over all releases."""
    schema: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Publish it, attack it where that is asked, and measure what is left."""
        method = build(self.method, **self.parameters)
        trades = Hierarchy.from_nested({"any": {"shop": ["baker", "smith"], "office": ["nurse", "clerk"]}})
        quasi = {"age": Numeric(), "place": Numeric(), "trade": trades if self.trees else Categorical()}
        several = "protected" if method.protects_series else "unprotected"
        schema = Schema("person", {**quasi, "sex": Categorical()}, "illness", **self.schema)
        with TemporaryDirectory() as place:
            self._publish(Path(place), Policy(schema, method, self.form, several, anchor=f"{place}/anchor"))  # type: ignore[arg-type]

    def _publish(self, place: Path, policy: Policy) -> None:
        method = policy.method
        with open_series(place / "series", policy) as series:
            for table in crowds() if self.wide else months(self.grows):
                registry = table.drop("illness") if method.takes.registry else None
                series.publish(table, seed=1, registry=registry)
            if self.audited:
                series.audit(limit=1 / 2, seconds=PATIENT)
            series.utility(2, workload=Workload(2, 0.1, 50, seed=1))
        if self.analysed:
            analyse(place / "series").trend(ILLNESSES[0])


def small_series() -> Iterator[Small]:
    """Small series by every method, between them in every way that has kernels of its own."""
    further = [LDiverse(2), EntropyDiverse(2), RecursiveDiverse(3, 2), ShareDiverse(2), TClose(0.5)]
    for trees in (False, True):
        yield Small("Mondrian", {"k": 3, "l": 2}, trees=trees, audited=not trees)
        yield Small("MInvariance", {"m": 2}, trees=trees, audited=not trees)
        yield Small("Incremental", {"l": 2}, trees=trees, grows=True)
        yield Small("StaticII", {"l": 2}, trees=trees, grows=True)
        yield Small("StaticI", {"l": 2}, trees=trees)
    yield Small("Mondrian", {"k": 3, "constraints": further, "split": "relaxed"}, "anatomised", trees=True)
    yield Small("MInvariance", {"m": 2, "choice": "near"})
    yield Small("MInvariance", {"m": 2}, "anatomised", audited=True)
    yield Small("EEquivalence", {"m": 2, "e": 2}, "anatomised", audited=True)
    yield Small("CorSplit", {"m": 2, "n": 2}, audited=True)
    yield Small("CorSplit", {"m": 2, "n": 2, "combinations": True})
    yield Small("HDComposition", {"l": 2}, audited=True, schema={"permanent": ["HIV"]})
    yield Small("AlphaK", {"alpha": 0.5, "k": 3}, trees=True)
    yield Small("AlphaK", {"alpha": 0.5, "k": 3, "recoding": "full-domain"}, trees=True)
    for name, parameters in (("Mondrian", {"k": 3}), ("MInvariance", {"m": 2}), ("CorSplit", {"m": 2, "n": 2})):
        yield Small(name, parameters, wide=True)
    yield Small("Incremental", {"l": 2}, grows=True, wide=True)
    yield Small("Mask", {"k": 4, "l": 2}, schema={"protect": [["HIV"]]})
    shares = dict.fromkeys(ILLNESSES, 1 / len(ILLNESSES))
    moves = {one: {other: 0.75 if one == other else 0.05 for other in ILLNESSES} for one in ILLNESSES}
    yield Small(
        "Alternatives", {"m": 2, "reference": shares, "change": 0.2}, "alternatives", audited=True, analysed=True
    )
    yield Small("Alternatives", {"m": 2, "reference": shares, "change": moves, "k": 3}, "alternatives", audited=True)


def months(grows: bool) -> Iterator[pl.DataFrame]:
    """A few people, of whom some leave and come, in three months; if it grows, only new ones come."""
    for month in range(3):
        people = [n for n in range(60 + 12 * month) if grows or (n + month) % 7]
        yield pl.DataFrame(
            {
                "person": people,
                "age": [20 + n * 7 % 60 for n in people],
                "place": [n * 31 % 50 / 2 for n in people],
                "trade": [["baker", "smith", "nurse", "clerk"][n * 3 % 4] for n in people],
                "sex": ["female" if n % 2 else "male" for n in people],
                "illness": [ILLNESSES[n * 5 % 6] for n in people],
            }
        )


def crowds() -> Iterator[pl.DataFrame]:
    """Many people, in two months, with columns of a few, hundreds and tens of thousands of values."""
    for month in range(2):
        people = np.arange(CROWD + 1000 * month)
        yield pl.DataFrame(
            {
                "person": people,
                "age": people * 7 % 300,
                "place": people,
                "trade": np.array(["baker", "smith", "nurse", "clerk"])[people * 3 % 4],
                "sex": np.array(["female", "male"])[people % 2],
                "illness": (people * 5 % 300).astype(str),
            }
        )


def warm_up(methods: Sequence[str] = (), progress: Progress = lambda what, done, total: None) -> None:
    """Compile what these methods need, or all there is, and keep it."""
    for name in methods:
        kind_of("method", name, known=METHODS, base=Method)
        if name not in METHODS:
            raise ParameterError(
                f"The method '{name}' is of another package: what it needs is compiled when it is first used.",
                hint=f"choose from {listed(list(METHODS))}, or leave the method out.",
            )
    jobs: list[tuple[str, Callable[[], object]]] = [
        (f"{one.method}, {one.form}{', hierarchies' * one.trees}{', many values' * one.wide}", one.run)
        for one in small_series()
        if not methods or one.method in methods
    ]
    if not methods or "Alternatives" in methods:
        jobs += [("Alternatives, whole records", _records)]
    if not methods:
        jobs += [("attacks on other releases", _attacks)]
    for done, (what, job) in enumerate(jobs):
        progress(what, done, len(jobs))
        job()


def _records() -> None:
    """Sets of whole records, of two columns of two values."""
    records = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    law_of(record_design_of(records, np.ones(4), 2, [2, 2]))


def _attacks() -> None:
    """Worlds too many to be counted, equal people whom only a projection finds, releases with regions alone, what is
    likely for whom."""
    crossed = [[(list("abcd"), list("xxyz")), (list("efgh"), list("xyyz"))], [(list("abef"), list("xxyy"))]]
    Worlds(entries=1, draws=50).run(Published.from_groups(crossed))
    ages = pl.DataFrame({"person": list("abcdefgh"), "age": range(20, 28)})
    Likelihood(people=ages).run(Published.from_groups(crossed[:1]))
    nobody, once = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    one_group = Vectors.summed(nobody, nobody, once, 1, 1)
    equal_pairs(one_group, one_group, time.monotonic() + PATIENT)
    illness = ["flu", "gout", "flu", "gout", "flu", "flu"]
    tables = [
        pl.DataFrame({"age": ["20-40"] * 3 + ["41-60"] * 3, "illness": illness}),
        pl.DataFrame({"age": ["20-30"] * 2 + ["31-60"] * 4, "illness": illness}),
    ]
    audit(read_releases(tables, sensitive="illness").published, limit=1 / 2, seconds=PATIENT)
