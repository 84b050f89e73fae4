"""What every method publishes of fixed tables with fixed seeds, as hashes.

A case is a policy and three tables. `recorded_tables.json` has, for each release of each case, the hash of every
public table and one of what is private about it: who is in which group, who was held back and whose value was
replaced. A change that is not meant to change what is published must leave all of them as they are. Where it is meant
to:

    python tests/compatibility/recorded_tables.py --write

and say in the CHANGELOG what became different. Tests only read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from simple_people import EDUCATION, canonical_hash, facts, hashes, patients, registry

import reissue as ri

RECORDED = Path(__file__).with_name("recorded_tables.json")
BOTH = ("generalised", "anatomised")

Given = dict[str, Any]
"""What a release is made of, by the names of publish's parameters."""


# Schemas


def basic(**more: Any) -> ri.Schema:
    """Three quasi-identifiers and a diagnosis."""
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical(), "zip": ri.Numeric(low=53000, high=53999)}
    return ri.Schema("patient", quasi, {"diagnosis": ri.Categorical(new="accept")}, drop=DROPPED, **more)


def rich(**more: Any) -> ri.Schema:
    """A column of every kind: decimals and dates, a hierarchy and missing values."""
    quasi = {
        "age": ri.Numeric(low=0, high=120, wider="refuse"),
        "weight": ri.Numeric(missing="value"),
        "admitted": ri.Numeric(),
        "education": ri.Hierarchy("any", EDUCATION),
        "insurance": ri.Categorical(values=("none", "public", "private"), missing="value"),
    }
    drop = ("sex", "zip", "cost", *(() if "as_is" in more else ("ward",)))
    return ri.Schema("patient", quasi, {"diagnosis": ri.Categorical(new="accept")}, drop=drop, **more)


def labels() -> ri.Schema:
    """Labels only: two hierarchies, one of them with two ways up, and a plain one."""
    either = ["primary", "secondary", "bachelor", "master"]
    ways = {"any": ["up to school", "up to master", "doctorate"], "up to school": either[:2], "up to master": either}
    quasi = {
        "education": ri.Hierarchy("any", ways),
        "zip": ri.Hierarchy("531**", {"531**": TENS, **{ten: [f"{ten[:4]}{d}" for d in range(10)] for ten in TENS}}),
        "sex": ri.Categorical(),
    }
    drop = ("age", "weight", "admitted", "insurance", "ward", "cost")
    return ri.Schema("patient", quasi, {"diagnosis": ri.Categorical(new="accept")}, drop=drop)


def numbers() -> ri.Schema:
    """A sensitive column of numbers."""
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical(), "zip": ri.Numeric()}
    return ri.Schema(
        "patient",
        quasi,
        {"cost": ri.Numeric()},
        drop=["weight", "admitted", "education", "insurance", "ward", "diagnosis"],
    )


def lasting() -> ri.Schema:
    """A permanent value."""
    quasi = {"age": ri.Numeric(), "zip": ri.Numeric()}
    return ri.Schema("patient", quasi, {"diagnosis": ri.Categorical(new="accept")}, permanent=["HIV"])


DROPPED = ("weight", "admitted", "education", "insurance", "ward", "cost")
TENS = [f"531{ten}*" for ten in range(10)]
PROTECT = [["cancer", "hepatitis", "ulcer"], ["gout"]]


# Tables


def changing(number: int) -> Given:
    """People come, go, return and move, and values change."""
    there = {1: range(240), 2: range(36, 280), 3: [*range(18), *range(60, 310)]}[number]
    moved = {1: [], 2: range(100, 110), 3: range(100, 115)}[number]
    changed = {1: [], 2: range(120, 128), 3: range(120, 134)}[number]
    return {"table": patients(there, moved=moved, changed=changed)}


def steady(number: int) -> Given:
    """People come, go and return; nobody changes."""
    return {"table": patients({1: range(240), 2: range(36, 280), 3: [*range(18), *range(60, 310)]}[number])}


def growing(number: int) -> Given:
    """People come and stay as they are."""
    return {"table": patients(range({1: 150, 2: 210, 3: 280}[number]))}


def with_whole_numbers(number: int) -> Given:
    """People whose ids are whole numbers, the last first."""
    table = changing(number)["table"].with_columns(pl.col("patient").str.tail(4).cast(pl.Int64))
    return {"table": table.reverse()}


def registered(number: int) -> Given:
    """A registry, in which one in three is present; carriers of a permanent value come, move and die."""
    carriers = {1: [9, 60, 123], 2: [60, 123, 200], 3: [61, 123, 200, 241]}[number]
    dead = {1: [], 2: [9, 30], 3: [9, 30, 31, 60]}[number]
    present = sorted({*range(number - 1, 260, 3), *carriers} - {*dead})
    everybody = [one for one in range(260 if number < 3 else 270) if (one, number) != (30, 3)]
    moved = {1: [], 2: [60, 70, 71], 3: [60, 70, 71, 72, 123]}[number]
    given = {"table": facts(present, number, carriers=carriers), "registry": registry(everybody, moved=moved)}
    return given | ({"extinct": [f"P-{one:04}" for one in dead]} if dead else {})


def without_registry(number: int) -> Given:
    """The quasi-identifiers stand in the table, and everybody ever seen counts as registered."""
    given = registered(number)
    return {"table": given["table"].join(given["registry"], on="patient", how="left", maintain_order="left")}


# Cases


@dataclass(frozen=True)
class Case:
    """A policy, the tables published under it and, where it is amended before a release, the policies after that."""

    policy: ri.Policy
    given: Callable[[int], Given] = changing
    amendments: tuple[tuple[int, ri.Policy], ...] = ()

    def releases(self, folder: Path) -> Iterator[dict[str, Any]]:
        """Publish it in a folder, and give the hashes of each release."""
        with ri.open(folder, self.policy) as series:
            for number in (1, 2, 3):
                for before, policy in self.amendments:
                    if before == number:
                        series.amend(policy, "it is time")
                costs = ["counterfeit", "few-groups", "ids-return", "replaced", "withheld"]
                release = series.publish(
                    **self.given(number), seed=100 + number, allow=costs, reason="to compare the tables"
                )
                yield {"public": hashes(release.tables), "private": _private(series, number)}


def _private(series: ri.Series, number: int) -> str:
    """One hash of who is where, who was held back, and whose value was replaced."""
    tables = (series.private.members(number), series.private.held_back(number), series.private.replaced(number))
    return hashlib.sha256("".join(map(canonical_hash, tables)).encode()).hexdigest()


def _cases() -> Iterator[tuple[str, Case]]:
    yield from _single()
    yield from _invariance()
    yield from _incremental()
    yield from _permanent()
    yield from _alternatives()


def _single() -> Iterator[tuple[str, Case]]:
    """Methods that protect each release alone."""

    def once(schema: ri.Schema, method: Any, given: Callable[[int], Given] = changing, **more: Any) -> Case:
        return Case(ri.Policy(schema, method, series="unprotected", **more), given)

    for form in BOTH:
        yield f"Mondrian k {form}", once(basic(), ri.Mondrian(k=5), form=form)
        yield f"Mondrian k l rich {form}", once(rich(), ri.Mondrian(k=4, l=3), form=form)
        yield f"Mondrian as it is {form}", once(rich(as_is=["ward"]), ri.Mondrian(k=5, l=2), form=form)
        yield f"StaticI {form}", once(basic(), ri.StaticI(l=4), form=form)
        yield f"Mask reference {form}", once(basic(protect=PROTECT), ri.Mask(k=6, l=3), form=form)
        yield f"AlphaK local {form}", once(rich(), ri.AlphaK(alpha="1/3", k=4), form=form)
    anatomised: Any = {"form": "anatomised"}
    yield "Mondrian relaxed", once(basic(), ri.Mondrian(k=4, l=3, split="relaxed"), **anatomised)
    yield "Mask binomial", once(basic(protect=PROTECT), ri.Mask(k=8, l=2, draw="binomial"))
    yield "AlphaK full domain", once(labels(), ri.AlphaK(alpha=0.5, k=3, recoding="full-domain"))
    constraints = {
        "entropy": [ri.guarantees.EntropyDiverse(3)],
        "recursive": [ri.guarantees.RecursiveDiverse(c=2, l=3)],
        "share": [ri.guarantees.ShareDiverse(3)],
        "t-closeness": [ri.guarantees.TClose(0.6)],
        "several": [
            ri.guarantees.KAnonymous(6),
            ri.guarantees.LDiverse(4),
            ri.guarantees.EntropyDiverse(2.5),
            ri.guarantees.TClose(0.7),
        ],
    }
    for name, asked in constraints.items():
        yield f"Mondrian {name}", once(basic(), ri.Mondrian(constraints=asked))
    yield (
        "Mondrian share protected",
        once(basic(protect=PROTECT), ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(3)])),
    )
    yield "Mondrian numbers", once(numbers(), ri.Mondrian(constraints=[ri.guarantees.KEAnonymous(k=3, e=1000)]))
    ordered = [ri.guarantees.TClose(0.3, distance="ordered")]
    yield "Mondrian ordered", once(numbers(), ri.Mondrian(k=3, constraints=ordered))
    yield "Mondrian labels", once(labels(), ri.Mondrian(k=4, l=2))
    yield "Mondrian whole numbers as ids", once(basic(), ri.Mondrian(k=5), with_whole_numbers)
    yield "StaticI rich as it is", once(rich(as_is=["ward"]), ri.StaticI(l=3))
    yield "Mask rich", once(rich(protect=PROTECT), ri.Mask(k=5, l=3))
    yield "AlphaK labels", once(labels(), ri.AlphaK(alpha="2/5", k=2))
    yield "AlphaK protected", once(basic(protect=PROTECT), ri.AlphaK(alpha="0.35", k=5))
    yield "AlphaK alpha alone labels", once(labels(), ri.AlphaK(alpha="1/4"))


def _invariance() -> Iterator[tuple[str, Case]]:
    """Methods that protect a series in which people come and go."""

    def case(method: Any, given: Callable[[int], Given] = changing, **more: Any) -> Case:
        return Case(ri.Policy(**{"schema": basic(), "method": method} | more), given)

    for form in BOTH:
        yield f"MInvariance {form}", case(ri.MInvariance(m=4), form=form)
        yield f"MInvariance rich {form}", case(ri.MInvariance(m=3), form=form, schema=rich())
        yield f"EEquivalence {form}", case(ri.EEquivalence(m=4, e=2), form=form)
        yield f"CorSplit {form}", case(ri.CorSplit(m=5, n=3), form=form)
        yield f"CorSplit combinations {form}", case(ri.CorSplit(m=4, n=2, combinations=True), form=form)
    anatomised: Any = {"form": "anatomised"}
    yield "MInvariance merged", case(ri.MInvariance(m=4, split=False), **anatomised)
    yield "MInvariance near", case(ri.MInvariance(m=3, choice="near"))
    yield "MInvariance reinsert", case(ri.MInvariance(m=4, changed="reinsert"), disclose=["counterfeits"])
    yield "MInvariance withhold", case(ri.MInvariance(m=9, shortage="withhold"), **anatomised)
    yield "MInvariance refuse", case(ri.MInvariance(m=2, shortage="refuse"), steady)
    yield "MInvariance as it is", case(ri.MInvariance(m=3), schema=rich(as_is=["ward"]), **anatomised)
    yield "MInvariance labels", case(ri.MInvariance(m=5), schema=labels())
    yield "MInvariance whole numbers as ids", case(ri.MInvariance(m=4), with_whole_numbers)
    yield "EEquivalence near", case(ri.EEquivalence(m=3, e=3, choice="near"), **anatomised)
    yield "EEquivalence withhold", case(ri.EEquivalence(m=9, e=2, shortage="withhold"), steady, **anatomised)
    yield "CorSplit L", case(ri.CorSplit(m=4, n=2, L=2, choice="near"))
    formula = ri.CorSplit(m=6, p=0.04, L=24, h=0.1)
    yield "CorSplit formula", case(formula, disclose=["counterfeits"], **anatomised)
    yield "CorSplit withhold", case(ri.CorSplit(m=8, n=2, combinations=True, shortage="withhold"), steady, **anatomised)
    begun = case(ri.MInvariance(m=5))
    smaller = replace(begun.policy, method=ri.MInvariance(m=3))
    amendments = ((2, smaller), (3, replace(smaller, form="anatomised")))
    yield "MInvariance amended", replace(begun, amendments=amendments)


def _incremental() -> Iterator[tuple[str, Case]]:
    """Methods that protect a series that only grows."""

    def case(method: Any, **more: Any) -> Case:
        return Case(ri.Policy(**{"schema": basic(), "method": method} | more), growing)

    for form in BOTH:
        yield f"StaticII {form}", case(ri.StaticII(l=4), form=form)
        yield f"Incremental {form}", case(ri.Incremental(l=3), form=form)
        yield f"Incremental rich {form}", case(ri.Incremental(l=3, waiting=0.1), form=form, schema=rich())
    anatomised: Any = {"form": "anatomised"}
    yield "StaticII rich as it is", case(ri.StaticII(l=3), schema=rich(as_is=["ward"]))
    yield "Incremental waiting", case(ri.Incremental(l=5, waiting=0.3))
    yield "Incremental share", case(ri.Incremental(l=3, diversity="share", waiting=0.3), **anatomised)
    yield "Incremental strict", case(ri.Incremental(l=3, strict=True, waiting=0.3))
    yield "Incremental as it is", case(ri.Incremental(l=3, waiting=0.2), schema=rich(as_is=["ward"]), **anatomised)
    strict = ri.Incremental(l=2, diversity="share", strict=True, waiting=0.3)
    yield "Incremental strict share", case(strict, schema=labels())


def _permanent() -> Iterator[tuple[str, Case]]:
    """The method for permanent values."""

    def case(method: Any, given: Callable[[int], Given] = registered) -> Case:
        return Case(ri.Policy(lasting(), method), given)

    yield "HDComposition", case(ri.HDComposition(l=2))
    yield "HDComposition l container", case(ri.HDComposition(l=3, container=8))
    yield "HDComposition known", case(ri.HDComposition(l=2, container=6, known=1))
    yield "HDComposition without heirs", case(ri.HDComposition(l=3, heirs=False))
    yield "HDComposition without registry", case(ri.HDComposition(l=2), without_registry)


def _alternatives() -> Iterator[tuple[str, Case]]:
    """Sets of values in place of one."""

    def case(method: Any, given: Callable[[int], Given] = changing, **more: Any) -> Case:
        return Case(ri.Policy(**{"schema": basic(), "method": method} | more), given)

    loud: Any = {"epsilon": 5, "merge": 1, "limit": "1/2"}
    yield "Alternatives static", case(ri.Alternatives(m=4, **loud), steady)
    yield "Alternatives withhold", case(ri.Alternatives(m=4, changed="withhold", **loud))
    yield "Alternatives rate", case(ri.Alternatives(m=3, change=0.1, **loud))
    yield "Alternatives rich as it is", case(ri.Alternatives(m=3, change=0.1, **loud), schema=rich(as_is=["ward"]))
    yield "Alternatives regions", case(ri.Alternatives(m=4, k=6, change=0.2, **loud))
    yield "Alternatives given", case(ri.Alternatives(m=3, change=0.1, given=["sex"], **loud))
    permanent = basic(permanent=["cancer", "gout"])
    yield "Alternatives permanent", case(ri.Alternatives(m=4, change=0.2, **loud), steady, schema=permanent)
    begun = case(ri.Alternatives(m=3, change=0.1, **loud))
    other = replace(begun.policy, method=ri.Alternatives(m=3, change=0.05, **loud))
    yield "Alternatives amended", replace(begun, amendments=((2, other),))


CASES: dict[str, Case] = dict(_cases())


def computed(name: str, folder: Path) -> list[dict[str, Any]]:
    """The hashes of all releases of a case, published in a folder that does not exist yet."""
    return list(CASES[name].releases(folder))


def recorded() -> dict[str, list[dict[str, Any]]]:
    """The hashes that were recorded."""
    found: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def write(target: Path) -> None:
    """Record what all cases give now."""
    with TemporaryDirectory() as folder:
        found = {name: computed(name, Path(folder) / str(at)) for at, name in enumerate(CASES)}
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"] or len(sys.argv) > 3:
        sys.exit("usage: recorded_tables.py --write [file]")
    write(Path(sys.argv[2]) if len(sys.argv) == 3 else RECORDED)
