"""Which methods may be trusted with people and values that change: every cell of the table in the documentation.

`docs/explanation/changing-people.md` says what each stream and each adversary is. The figures of its table are compared
with what the attacks find here, so that neither can change without the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Finding, Findings, Limits
from reissue.drafting import Draft
from reissue.errors import Refused, Unprotected
from reissue.knowledge import Knowledge
from reissue.methods.base import Method
from reissue.release import Published, PublishedGroups
from reissue.studies.rehearsal import Rehearsal

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "changing-people.md"

M = 3
LIMIT = Fraction(1, M)
REGISTERED, PRESENT, RELEASES = 240, 120, 4
PERMANENT = "HIV"
TRANSIENT = ("acne", "angina", "asthma", "cough", "fever", "flu", "gout", "ulcer")
VALUES = (*TRANSIENT, PERMANENT)
PROTECTED = (PERMANENT, "flu")
"""What Mask and only Mask is asked about: it protects sets, and no other value."""


@dataclass(frozen=True)
class Stream:
    """How many people do what from one release to the next."""

    leave: int = 0
    back: int = 0
    """Of those who come in place of those who leave so many were there before."""
    move: int = 0
    change: int = 0
    acquire: int = 0
    holders: int = 8
    """Those who have the permanent value at first."""

    @property
    def static(self) -> bool:
        """Whether everybody keeps his value."""
        return not self.change and not self.acquire


STREAMS = {
    "people leave": Stream(leave=8),
    "people return": Stream(leave=8, back=6),
    "quasi-identifiers change": Stream(move=24),
    "values change": Stream(change=36, holders=0),
    "a value is permanent": Stream(change=36, acquire=2),
    "all of it": Stream(leave=8, back=6, move=24, change=36, acquire=2),
}


def tables(stream: Stream, seed: int = 0) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The table of each release, with one row for everybody present, and the registry."""
    rng = np.random.default_rng(seed)
    age, place = rng.integers(20, 80, REGISTERED), rng.integers(0, 100, REGISTERED)
    value = rng.integers(0, len(TRANSIENT), REGISTERED)
    present = np.zeros(REGISTERED, dtype=np.bool_)
    present[rng.permutation(REGISTERED)[:PRESENT]] = True
    seen = present.copy()
    holder = len(TRANSIENT)
    value[rng.choice(np.flatnonzero(present), stream.holders, replace=False)] = holder
    for number in range(RELEASES):
        if number:
            leaving = rng.permutation(np.flatnonzero(present))[: stream.leave]
            back = rng.permutation(np.flatnonzero(seen & ~present))[: stream.back]
            new = rng.permutation(np.flatnonzero(~seen))[: stream.leave - back.size]
            present[leaving] = False
            present[back] = present[new] = seen[new] = True
            place[rng.choice(REGISTERED, stream.move, replace=False)] = rng.integers(0, 100, stream.move)
            changed = rng.choice(np.flatnonzero(value < holder), stream.change, replace=False)
            value[changed] = rng.integers(0, holder, stream.change)
            value[rng.choice(np.flatnonzero(present & (value < holder)), stream.acquire, replace=False)] = holder
        registry = pl.DataFrame({"patient": np.arange(REGISTERED), "age": age, "place": place.copy()})
        table = registry.with_columns(diagnosis=pl.Series(VALUES).gather(value)).filter(pl.Series(present))
        yield table, registry


@cache
def states(column: str) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    return list(tables(STREAMS[column]))


ROWS: dict[str, tuple[Method, str]] = {
    "HDComposition": (ri.HDComposition(M), "registry"),
    "HDComposition, everybody's participation known": (ri.HDComposition(M), "participation"),
    "HDComposition, the same, and values known not to change": (ri.HDComposition(M), "static"),
    "MInvariance": (ri.MInvariance(M), ""),
    'MInvariance, changed="reinsert"': (ri.MInvariance(M, changed="reinsert"), ""),
    "EEquivalence": (ri.EEquivalence(M, 2), ""),
    "CorSplit": (ri.CorSplit(M, 2), ""),
    "Incremental": (ri.Incremental(M, diversity="share"), ""),
    "StaticII": (ri.StaticII(M), ""),
    "Mondrian, each release alone": (ri.Mondrian(constraints=[ri.ShareDiverse(M)]), ""),
    "AlphaK, each release alone": (ri.AlphaK(LIMIT, 3), ""),
    "Mask, each release alone": (ri.Mask(6, M), ""),
}
"""The rows of the table: a method, and what the adversary of HD-composition knows."""


def policy_of(method: Method, *, series: Any = None) -> ri.Policy:
    schema = ri.Schema(
        "patient",
        {"age": ri.Numeric(low=20, high=80), "place": ri.Numeric(low=0, high=100)},
        {"diagnosis": ri.Categorical(VALUES)},
        permanent=[PERMANENT] if method.cohorts else [],
        protect=[[value] for value in PROTECTED] if isinstance(method, ri.Mask) else [],
    )
    return ri.Policy(schema, method, series=series or ("protected" if method.protects_series else "unprotected"))


@dataclass(frozen=True)
class Published_:
    """A series that was published, the id behind each number, and how many were held back from each release."""

    view: Published
    ids: list[int]
    held_back: list[int]


@cache
def published(method: Method, column: str) -> Published_:
    series = Rehearsal(policy_of(method))
    drafts: list[Draft] = []
    for number, (table, registry) in enumerate(states(column)):
        if method.takes.registry:
            drafts.append(series.publish(table.select("patient", "diagnosis"), registry=registry, seed=number))
        else:
            drafts.append(series.publish(table, seed=number))
    views = [draft.published() for draft in drafts]
    # The domain is declared, so that all releases number the values alike.
    assert {view.values for view in views} == {tuple(VALUES)}
    view = Published(tuple(view.releases[0] for view in views), tuple(VALUES), single=views[0].single)
    held = [0 if draft.held_back is None else draft.held_back.height for draft in drafts]
    return Published_(view, series.ids.to_list(), held)


def participation(made: Published_, column: str) -> dict[str | int, list[int]]:
    """For everybody registered the releases in which he is."""
    there: dict[str | int, list[int]] = {number: [] for number in range(len(made.ids))}
    number_of = {person: number for number, person in enumerate(made.ids)}
    for release, (table, _) in enumerate(states(column), 1):
        for person in table["patient"].to_list():
            there[number_of[person]].append(release)
    return there


def of_those_present(view: Published, there: dict[str | int, list[int]]) -> Published:
    """The same releases with only those in the groups who are in the table, each of whom has one value."""
    releases = []
    for release in view.releases:
        here = np.array([release.number in there[int(person)] for person in release.members])
        starts = np.concatenate([[0], np.cumsum(here)])[release.member_starts]
        shown: Any = {"values": release.values, "counts": release.counts, "value_starts": release.value_starts}
        releases.append(PublishedGroups(release.number, release.members[here], starts, **shown))
    return replace(view, releases=tuple(releases), single=True)


def seen(row: str, column: str) -> tuple[Published, Knowledge | None]:
    """What the adversary sees and knows; if nothing, he takes values to be static."""
    method, adversary = ROWS[row]
    made = published(method, column)
    if adversary == "static":
        return of_those_present(made.view, participation(made, column)), None
    if adversary:
        known = participation(made, column) if adversary == "participation" else {}
        return made.view, Knowledge(permanent=[PERMANENT], cohorts=method.cohorts, present=known)
    return made.view, None if STREAMS[column].static else Knowledge(permanent=[PERMANENT])


def attack_of(knowledge: Knowledge | None) -> Any:
    return ri.attacks.Worlds(seconds=None) if knowledge is None else ri.attacks.Permanence(seed=0)


@cache
def found(row: str, column: str) -> Any:
    view, knowledge = seen(row, column)
    return attack_of(knowledge).run(view, knowledge)


def asked(row: str) -> tuple[str, ...]:
    """The values that the method says something about."""
    return PROTECTED if isinstance(ROWS[row][0], ri.Mask) else VALUES


def frequent(row: str, column: str) -> bool:
    """Whether a group shows a value too often that is not permanent and that the method says something about."""
    view, _ = seen(row, column)
    shares: list[tuple[str, int, int]] = []
    for release in view.releases:
        group = np.repeat(np.arange(release.group_count), np.diff(release.value_starts))
        people = np.diff(release.member_starts)[group]
        rows = zip(release.values.tolist(), release.counts.tolist(), people.tolist(), strict=True)
        shares += [(VALUES[value], count, size) for value, count, size in rows]
    return any(count > LIMIT * size for value, count, size in shares if value in asked(row) and value != PERMANENT)


def cell(row: str, column: str) -> str:
    """The verdict in the words of the page."""
    method, adversary = ROWS[row]
    if adversary == "static" and column not in ("people leave", "people return"):
        return "—"
    try:
        made = published(method, column)
    except Refused:
        return "refused"
    what = found(row, column)
    beyond = what.posteriors.filter(pl.col("low") > float(LIMIT) + 1e-9, pl.col("value").is_in(asked(row)))
    certain = sum(value in asked(row) for value in what.certain.values())
    judged = what.judge(Limits(LIMIT), most=0)
    if not beyond.is_empty():
        assert judged.status == "beyond"
        static = seen(row, column)[1] is None
        people = np.unique(np.concatenate([release.members for release in made.view.releases]))
        of = (people >= 0).sum() if static and not adversary else what.vulnerable(M).linkable if not static else None
        of = of if of is not None else sum(map(bool, participation(made, column).values()))
        return f"**broken**: {beyond['person'].n_unique()} of {of}, {certain} certain"
    if what.undecided:
        return "open"
    if isinstance(method, ri.Mask):
        # Other values than the protected ones may be as frequent as they are.
        return "**broken**" if not STREAMS[column].static and frequent(row, column) else "holds"
    assert judged.status == "within"
    return "holds"


def rows_of_the_page() -> dict[str, list[str]]:
    table = re.search(r"^\| method \|.*\n(?:\|.*\n)+", PAGE.read_text(encoding="utf-8"), flags=re.M)
    assert table is not None, "the table is gone from the page"
    cells = [[one.strip() for one in line.strip("|").split(" | ")] for line in table[0].splitlines()]
    assert [re.sub(r"[*`]", "", one) for one in cells[0][1:]] == [*STREAMS]
    return {re.sub(r"\[|\]\(.*?\)|`", "", name): rest for name, *rest in cells[2:]}


def test_the_page_has_every_method() -> None:
    assert [*rows_of_the_page()] == [*ROWS]
    assert {type(method).__name__ for method, _ in ROWS.values()} == {*ri.methods.METHODS} - {"StaticI"}


@pytest.mark.parametrize("row", ROWS)
def test_the_table_says_what_the_attacks_find(row: str) -> None:
    assert rows_of_the_page()[row] == [cell(row, column) for column in STREAMS]


@pytest.mark.parametrize("row", ROWS)
def test_the_audit_passes_what_holds_and_nothing_else(row: str) -> None:
    if isinstance(ROWS[row][0], ri.Mask):
        pytest.skip("an audit has one limit for all values, and Mask protects some")
    for column in STREAMS:
        if cell(row, column) == "holds":
            view, knowledge = seen(row, column)
            assert ri.audit(view, knowledge, limit=LIMIT, attacks=[attack_of(knowledge)]).passed
