"""Differences against series with known truth: what is certain is true, and the ledger never counts too much.

People have a place on a small line, a sex and a value; they come, leave, change and are corrected. What is published is
read back as files are. Nothing here asks the library what follows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from profiles import seeds

from reissue.attacks import Differences, Limits
from reissue.attacks.sentences import Place
from reissue.foreign.reading import Foreign, read_releases
from reissue.model.knowledge import Knowledge

Row = tuple[str, str, str]
"""Age, sex and value, as published."""


@dataclass
class Person:
    """Somebody at one time."""

    who: int
    age: int
    sex: str
    value: str


@dataclass
class Told:
    """A release: who is in it, and the cells that each is published with."""

    people: list[Person]
    cells: list[tuple[str, str]]

    def frame(self) -> pl.DataFrame:
        rows = [(*cell, one.value) for cell, one in zip(self.cells, self.people, strict=True)]
        return pl.DataFrame(rows, schema=["age", "sex", "value"], orient="row")


def holds(cell: tuple[str, str], age: int, sex: str) -> bool:
    """Whether somebody fits a cell."""
    ages, sexes = cell
    if ages != "*":
        low, high = (int(end) for end in ages.strip("[]").split("-"))
        if not low <= age <= high:
            return False
    return sexes in ("*", sex)


def published(people: list[Person], rng: np.random.Generator, how: str, width: int) -> Told:
    """`exact`, `full` (one width for all), `local` (intervals that overlap), `starred` (some cells are left out) or
    `suppressed`: full-domain, and classes of one are left out as a whole."""
    cells = []
    for one in people:
        low = (one.age // width) * width
        sex = one.sex
        if how == "exact":
            low, high = one.age, one.age
        elif how == "local":
            low, high = max(one.age - int(rng.integers(0, 3)), 0), one.age + int(rng.integers(0, 3))
        else:
            high = low + width - 1
        ages = f"[{low}-{high}]"
        if how == "starred" and rng.random() < 0.2:
            ages, sex = ("*", sex) if rng.random() < 0.5 else ("*", "*")
        cells.append((ages, sex))
    if how == "suppressed":
        often = Counter(cells)
        cells = [cell if often[cell] > 1 else ("*", "*") for cell in cells]
    return Told(people, cells)


def series(rng: np.random.Generator, how: str, *, moving: bool) -> list[Told]:
    """Releases of a few people; `moving`: they may also leave, change and be corrected."""

    def somebody(who: int) -> Person:
        return Person(who, int(rng.integers(0, 8)), "FM"[rng.integers(2)], "abc"[rng.integers(3)])

    now = [somebody(who) for who in range(int(rng.integers(2, 9)))]
    told, width = [], int(rng.integers(1, 4))
    for number in range(int(rng.integers(2, 4))):
        told.append(published([Person(**vars(one)) for one in now], rng, how, width))
        if moving:
            now = [one for one in now if rng.random() > 0.2] or now[:1]
            for one in now:
                if rng.random() < 0.2:
                    one.value = "abc"[rng.integers(3)]
                if rng.random() < 0.1:
                    one.age = int(rng.integers(0, 8))
            width = int(rng.integers(1, 4)) if rng.random() < 0.3 else width
        now = now + [somebody(100 * (number + 1) + new) for new in range(int(rng.integers(0, 4)))]
    return told


def read(told: list[Told], **more: object) -> Foreign:
    return read_releases([one.frame() for one in told], sensitive="value", quasi=["age", "sex"], **more)  # type: ignore[arg-type]


def cell_of(told: Told, group: int) -> tuple[str, str]:
    """The cells of a group: groups are numbered as they first come."""
    return [*dict.fromkeys(told.cells)][group - 1]


def points(told: Told, cell: tuple[str, str], said: str | None) -> set[tuple[int, str]]:
    """Whom a cell may stand for; ages go from 0 to 12."""
    every = {(age, sex) for age in range(13) for sex in "FM"}
    if said == "class" and cell == ("*", "*"):
        return {one for one in every if not any(holds(other, *one) for other in {*told.cells} - {cell})}
    return {one for one in every if holds(cell, *one)}


def hanging_together(one: Told, two: Told, cell: tuple[str, str], said: str | None) -> set[tuple[str, str]]:
    """The cells of the later release that hang together with one of them, by what both releases show."""
    nodes = [(at, other) for at, told in enumerate((one, two)) for other in {*told.cells}]
    stand = {node: points((one, two)[node[0]], node[1], said) for node in nodes}
    found = {(1, cell)}
    while more := {node for node in nodes if node not in found and any(stand[node] & stand[old] for old in found)}:
        found |= more
    return {other for at, other in found if at == 1}


HOW = ("exact", "full", "local", "starred", "suppressed")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", seeds(12, 300))
def test_what_a_group_tells_is_true_of_everybody_who_fits_it(how: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    told = series(rng, how, moving=True)
    said = "class" if how == "suppressed" and seed % 2 else None
    if said == "class" and any({*one.cells} == {("*", "*")} for one in told):
        said = None
    view = read(told, suppressed=said).published
    judged = Differences().run(view).judge(Limits(probability=Fraction(seed % 3, 3)), most=1_000)
    for finding in judged.findings:
        if finding.kind == "undecided":
            assert finding.what in ("newcomer", "leaver", "change") and finding.probability is None
            continue
        assert finding.what == "class"
        assert finding.release is not None and finding.value is not None and finding.probability is not None
        release, value = told[finding.release - 1], view.values[finding.value]
        place = next(part for sentence in finding.witness.sentences for part in sentence if isinstance(part, Place))
        cell = cell_of(release, place.group)
        shown = {*release.cells} - {("*", "*")}
        for one in release.people:
            covered = any(holds(other, one.age, one.sex) for other in shown)
            fits = not covered if said == "class" and cell == ("*", "*") else holds(cell, one.age, one.sex)
            if not fits:
                continue
            # The rows that may be theirs, by what is known of them.
            may_be = [
                other.value
                for there, other in zip(release.cells, release.people, strict=True)
                if (holds(there, one.age, one.sex) if not (said == "class" and there == ("*", "*")) else not covered)
            ]
            share = may_be.count(str(value)) / len(may_be)
            assert share >= finding.probability - 1e-9
            if finding.kind == "exact":
                assert abs(share - finding.probability) < 1e-9
            if finding.kind == "exact" and finding.probability == 1:
                assert one.value == value


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", seeds(12, 300))
def test_the_ledger_never_counts_too_much(how: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    told = series(rng, how, moving=True)
    said = "class" if how == "suppressed" and all({*one.cells} != {("*", "*")} for one in told) else None
    found = Differences().run(read(told, suppressed=said).published)
    for row, (one, two) in zip(found.ledger.iter_rows(named=True), pairwise(told), strict=True):
        before = {person.who: person for person in one.people}
        after = {person.who: person for person in two.people}
        stayed = [
            who
            for who in before
            if who in after and (before[who].age, before[who].sex) == (after[who].age, after[who].sex)
        ]
        came, gone = len(after) - len(stayed), len(before) - len(stayed)
        changed = sum(before[who].value != after[who].value for who in stayed)
        assert (row["rows_before"], row["rows"]) == (len(before), len(after))
        assert row["came"] <= came
        assert row["gone"] <= gone
        assert row["came"] + row["turned"] <= came + changed
        assert row["gone"] + row["turned"] <= gone + changed
        # Where cells are exact, everything that can be seen by cell is seen.
        if how == "exact":
            by_cell = [Counter(zip(of.cells, strict=False)) for of in (one, two)]
            assert row["came"] == (by_cell[1] - by_cell[0]).total()
            assert row["gone"] == (by_cell[0] - by_cell[1]).total()
            lone = [{cell for cell, often in Counter(of.cells).items() if often == 1} for of in (one, two)]
            assert row["links"] == len(lone[0] & lone[1])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", seeds(12, 300))
def test_newcomers_are_concluded_where_nobody_leaves_and_only_then(how: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    told = series(rng, how, moving=False)
    said = "class" if how == "suppressed" and all({*one.cells} != {("*", "*")} for one in told) else None
    view = read(told, suppressed=said).published
    limits = Limits(probability=Fraction(1, 2))
    silent = Differences().run(view).judge(limits, most=1_000)
    assert not [one for one in silent.findings if one.what == "newcomer" and one.kind == "exact"]
    growing = Differences().run(view, Knowledge(growing=True))
    assert growing.contradictions == 0
    for finding in growing.judge(limits, most=1_000).findings:
        if finding.what != "newcomer":
            continue
        assert {"nobody-leaves", "values-stay", "cells-stay"} <= {*finding.rests_on}
        assert finding.release is not None and finding.value is not None
        place = next(part for sentence in finding.witness.sentences for part in sentence if isinstance(part, Place))
        one, two = told[finding.release - 2], told[finding.release - 1]
        cells, before = (
            hanging_together(one, two, cell_of(two, place.group), said),
            {person.who for person in one.people},
        )
        new = [
            person.value
            for cell, person in zip(two.cells, two.people, strict=True)
            if cell in cells and person.who not in before
        ]
        assert new and finding.probability == new.count(str(view.values[finding.value])) / len(new)


def test_a_contradiction_withdraws_what_was_concluded_about_newcomers() -> None:
    """Somebody is new in one cell; in another somebody left, though nobody is said to."""
    first = pl.DataFrame({"age": ["20", "20", "30", "30"], "value": ["a", "b", "a", "b"]})
    second = pl.DataFrame({"age": ["20", "20", "20", "30", "30"], "value": ["a", "b", "c", "a", "b"]})
    third = second.head(4)
    limits = Limits(probability=Fraction(1, 2))
    view = read_releases([first, second], sensitive="value").published
    judged = Differences().run(view, Knowledge(growing=True)).judge(limits)
    assert (judged.status, [(one.what, one.kind, one.probability) for one in judged.findings]) == (
        "beyond",
        [("newcomer", "exact", 1.0)],
    )
    assert Differences().run(view).judge(limits).status == "undecided"
    found = Differences().run(
        read_releases([first, second, third], sensitive="value").published, Knowledge(growing=True)
    )
    assert found.contradictions == 1
    judged = found.judge(limits)
    told = [(one.what, one.release, one.kind, one.probability) for one in judged.findings]
    assert told == [("class", 3, "exact", 1.0), ("leaver", 3, "undecided", None), ("newcomer", 2, "undecided", None)]
    assert "1 count of a value is lower than before" in judged.words
