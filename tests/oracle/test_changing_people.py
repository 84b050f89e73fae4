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
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Attack, Limits
from reissue.errors import Refused, Unprotected
from reissue.methods import METHODS
from reissue.methods.base import Method
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.draft import Draft
from reissue.publishing.rehearsal import Rehearsal

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
    "Mondrian, each release alone": (ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(M)]), ""),
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
class Made:
    """A series that was published, the id behind each number, and how many were held back from each release."""

    view: Published
    ids: list[int]
    held_back: list[int]
    elsewhere: bool
    """Whether values are shown where people were before they moved."""


@cache
def published(method: Method, column: str) -> Made:
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
    return Made(view, series.ids.to_list(), held, any(draft.grouping.elsewhere is not None for draft in drafts))


def participation(made: Made, column: str) -> dict[str | int, list[int]]:
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
        told: Any = {"cohorts": method.cohorts, "present": known, "elsewhere": made.elsewhere}
        return made.view, Knowledge(permanent=[PERMANENT], **told)
    return made.view, None if STREAMS[column].static else Knowledge(permanent=[PERMANENT])


def attack_of(knowledge: Knowledge | None) -> Any:
    return ri.attacks.Worlds(seconds=None) if knowledge is None else ri.attacks.Permanence(seed=0)


@cache
def found(row: str, column: str) -> Any:
    view, knowledge = seen(row, column)
    return attack_of(knowledge).run(view, knowledge)


@dataclass(frozen=True)
class Again(Attack):
    """An attack that has been run already."""

    words: ClassVar[str] = "Has been run already."

    attack: Attack
    findings: Any

    @property
    def name(self) -> str:
        return self.attack.name

    @property
    def proves(self) -> tuple[str, ...]:
        return self.attack.proves

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Any:
        return self.findings


def asked(row: str) -> tuple[str, ...]:
    """The values that the method says something about."""
    return PROTECTED if isinstance(ROWS[row][0], ri.Mask) else VALUES


def frequent(view: Published, values: tuple[str, ...]) -> bool:
    """Whether some group shows one of these values, other than the permanent one, more often than for 1 in m."""
    for release in view.releases:
        sizes = np.repeat(np.diff(release.member_starts), np.diff(release.value_starts))
        one_of = np.isin(release.values, [VALUES.index(value) for value in values if value != PERMANENT])
        if (one_of & (release.counts * M > sizes)).any():
            return True
    return False


@cache
def cell(row: str, column: str) -> str:
    """The verdict in the words of the page."""
    method, adversary = ROWS[row]
    if adversary == "static" and column not in ("people leave", "people return"):
        return "—"
    try:
        made = published(method, column)
    except Refused:
        return "refused"
    view, knowledge = seen(row, column)
    what = found(row, column)
    judged = what.judge(Limits(LIMIT), most=0)
    beyond = what.posteriors.filter(pl.col("low") > float(LIMIT) + 1e-9, pl.col("value").is_in(asked(row)))
    if not beyond.is_empty():
        assert judged.status == "beyond"
        certain = sum(value in asked(row) for value in what.certain.values())
        people = np.unique(np.concatenate([release.members for release in view.releases]))
        of = np.count_nonzero(people >= 0) if knowledge is None else what.vulnerable(M).linkable
        return f"**broken**: {beyond['person'].n_unique()} of {of}, {certain} certain"
    if what.undecided or judged.status == "undecided":
        return "open"
    if isinstance(method, ri.Mask):
        # Values that are not protected may be as frequent as they are, so that the judgement is of no use.
        assert not frequent(made.view, asked(row))
    else:
        assert judged.status == "within"
    return "holds"


def table_of_the_page(heading: str) -> list[list[str]]:
    """The cells of the table that begins so, in plain text; its headings first."""
    table = re.search(rf"^\| {heading}.*\n(?:\|.*\n)+", PAGE.read_text(encoding="utf-8"), flags=re.M)
    assert table is not None, f"the table of '{heading}' is gone from the page"
    plain = re.sub(r"\[|\]\(.*?\)|`", "", table[0])
    lines = [[one.strip() for one in line.strip("|").split(" | ")] for line in plain.splitlines()]
    return [lines[0], *lines[2:]]


def test_the_page_has_every_method() -> None:
    (_, *columns), *rows = table_of_the_page("method . people leave")
    assert columns == [*STREAMS]
    assert [name for name, *_ in rows] == [*ROWS]
    # What sets reveal depends on how values are declared to change: that is measured on a page of its own.
    assert {method.name for method, _ in ROWS.values()} == {*METHODS} - {"StaticI", "Alternatives"}


@pytest.mark.parametrize("row", ROWS)
def test_the_table_says_what_the_attacks_find(row: str) -> None:
    told = {name: cells for name, *cells in table_of_the_page("method . people leave")}
    assert told[row] == [cell(row, column) for column in STREAMS]


@pytest.mark.parametrize("row", [row for row, (method, _) in ROWS.items() if not isinstance(method, ri.Mask)])
def test_the_audit_passes_what_holds(row: str) -> None:
    """Of Mask it cannot say so: it has one limit for all values, and Mask protects some."""
    for column in STREAMS:
        if cell(row, column) == "holds":
            view, knowledge = seen(row, column)
            again = Again(attack_of(knowledge), found(row, column))
            assert ri.audit(view, knowledge, limit=LIMIT, attacks=[again]).passed


def test_one_release_is_all_that_some_methods_make_unless_told_otherwise() -> None:
    (first, _), (second, _), *_ = states("people leave")
    for method, _ in ROWS.values():
        if not method.protects_series:
            series = Rehearsal(policy_of(method, series="protected"))
            series.publish(first, seed=0)
            with pytest.raises(Unprotected):
                series.publish(second, seed=1)


def test_how_many_are_held_back() -> None:
    (_, *columns), *rows = table_of_the_page("withheld")
    for row, *told in rows:
        assert told == [str(published(ROWS[row][0], column).held_back[-1]) for column in columns]
    for column in columns:
        assert published(ROWS['MInvariance, changed="reinsert"'][0], column).held_back == [0] * RELEASES


def test_witnesses() -> None:
    for row, column, words in table_of_the_page("method . stream")[1:]:
        ids, what = published(ROWS[row][0], column).ids, found(row, column)
        number = ids.index(int(words.split()[1]))
        if share := re.search(r"\d+/\d+", words):
            assert what.probability(number, PERMANENT) == Fraction(share[0])
        elif shown := re.findall(r"in release (\d) with ([\w, ]+?)(?: and|:)", words):
            value = words.split(": only ")[1].split()[0]
            assert what.certain[number] == value
            groups = [group_of(seen(row, column)[0].releases[int(release) - 1], number) for release, _ in shown]
            assert groups == [set(values.split(", ")) for _, values in shown]
            assert groups[0] & groups[1] == {value}
        else:
            assert what.certain[number] == PERMANENT


def group_of(release: PublishedGroups, person: int) -> set[str]:
    """The values that somebody's group shows."""
    (at,) = np.flatnonzero(release.members == person)
    group = int(np.searchsorted(release.member_starts, at, side="right")) - 1
    return {VALUES[value] for value in release.values[release.value_starts[group] : release.value_starts[group + 1]]}


def test_what_is_certain_is_true_and_what_is_likely_need_not_be() -> None:
    for row, column in product(ROWS, ("a value is permanent", "all of it")):
        if "certain" in cell(row, column):
            ids = published(ROWS[row][0], column).ids
            assert {ids[number] for number in found(row, column).certain} <= holders(column)
    likeliest = found("EEquivalence", "a value is permanent").posteriors.sort("probability")[-1]
    assert round(likeliest["probability"].item(), 2) == 0.91
    ids = published(ROWS["EEquivalence"][0], "a value is permanent").ids
    assert ids[likeliest["person"].item()] not in holders("a value is permanent")


def holders(column: str) -> set[int]:
    """Everybody who ever has the permanent value."""
    return {person for table, _ in states(column) for person in table.filter(diagnosis=PERMANENT)["patient"]}


def test_hd_composition_for_somebody_who_does_not_know_it() -> None:
    for column in STREAMS:
        plain = found("HDComposition", column).without_mechanism
        assert plain.judge(Limits(LIMIT), most=0).status == "within"
        assert plain.posteriors.filter(pl.col("high") > 0.08).is_empty()


def test_who_leaves_takes_the_value_along() -> None:
    """What breaks HD-composition for somebody who knows everybody's participation."""
    row = "HDComposition, everybody's participation known"
    for column in ("people leave", "people return"):
        there = participation(published(ROWS[row][0], column), column)
        beyond = found(row, column).posteriors.filter(pl.col("low") > float(LIMIT) + 1e-9)["person"]
        assert all(set(range(there[person][0], RELEASES + 1)) - set(there[person]) for person in beyond)
