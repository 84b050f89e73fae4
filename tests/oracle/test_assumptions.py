"""What releases say about assumptions, held against series of which it is known what holds.

Whatever is refuted is false: where everything that is assumed is so, nothing is refuted. And what a refuted assumption
carried is not concluded: nothing certain is false, whichever way people are known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest
from profiles import seeds, sized
from worlds import worlds

import reissue as ri
from reissue.auditing.report import AuditReport
from reissue.model.assumptions import Assumption, AssumptionName
from reissue.reasoning.assumptions.assumed import assumptions_of
from reissue.reasoning.assumptions.cell_flows import shortage
from tests.real_data import FOLDER, needs

ILLNESSES = ("angina", "cancer", "flu", "gout")
AGES = ("20-29", "30-39", "40-49")

Row = tuple[str, int, str]
"""Who, of which age, with which value as it is published."""


@dataclass
class Story:
    """A series of tables, and what is true of it."""

    tables: list[list[Row]] = field(default_factory=list)
    had: list[dict[str, str]] = field(default_factory=list)
    """What everybody truly had in each release."""
    registry: dict[str, int] = field(default_factory=dict)
    false: set[AssumptionName] = field(default_factory=set)
    """The assumptions that do not hold."""


def story(
    seed: int, *, changing: float = 0, leaving: float = 0, perturbed: float = 0, moving: float = 0, unlisted: int = 0
) -> Story:
    """A few people in three releases, with so much of everything that can go wrong."""
    rng = random.Random(seed)
    told = Story()
    values: dict[str, str] = {}
    ages: dict[str, int] = {}
    here: list[str] = []
    for number in range(3):
        stay = [who for who in here if rng.random() >= leaving]
        told.false |= {"nobody-leaves"} if len(stay) < len(here) else set()
        come = [f"p{len(values) + n}" for n in range(rng.randrange(3) + (5 if number == 0 else 0))]
        for who in come:
            values[who], ages[who] = rng.choice(ILLNESSES), rng.randrange(20, 50)
            told.registry[who] = ages[who]
        for who in stay:
            if rng.random() < changing:
                before, values[who] = values[who], rng.choice(ILLNESSES)
                told.false |= {"values-stay"} if values[who] != before else set()
            if rng.random() < moving:
                before_age, ages[who] = ages[who], rng.randrange(20, 50)
                told.false |= {"cells-stay"} if ages[who] // 10 != before_age // 10 else set()
        here = stay + come
        rows = []
        for who in here:
            shown = rng.choice(ILLNESSES) if rng.random() < perturbed else values[who]
            told.false |= {"unperturbed"} if shown != values[who] else set()
            rows.append((who, ages[who], shown))
        told.tables.append(rows)
        told.had.append({who: values[who] for who in here})
    for who in rng.sample(sorted(told.registry), min(unlisted, len(told.registry))):
        del told.registry[who]
        told.false.add("registry-complete")
    return told


def files(told: Story, *, named: bool) -> list[pl.DataFrame]:
    """The releases as they are published: ages in tens, rows in no particular order."""
    frames = []
    for rows in told.tables:
        frame = pl.DataFrame(
            {
                "name": [who for who, _, _ in rows],
                "age": [AGES[age // 10 - 2] for _, age, _ in rows],
                "illness": [value for _, _, value in rows],
            }
        ).sort("age", "illness", "name")
        frames.append(frame if named else frame.drop("name"))
    return frames


def read(told: Story, how: str) -> ri.Published | None:
    """The view of a series; None where the releases cannot be read so."""
    if how == "by name":
        return ri.read_releases(files(told, named=True), sensitive="illness", quasi=["age"], person="name").published
    if how == "by region":
        return ri.read_releases(files(told, named=False), sensitive="illness", quasi=["age"]).published
    registry = pl.DataFrame({"name": [*told.registry], "age": [str(age) for age in told.registry.values()]})
    present: object = None
    if how == "by presence":
        known = [(who, str(at)) for at, rows in enumerate(told.tables, 1) for who, _, _ in rows if who in told.registry]
        present = pl.DataFrame(known, schema=["person", "release"], orient="row")
    return ri.read_releases(
        files(told, named=False), sensitive="illness", quasi=["age"], registry=registry, person="name", present=present
    ).published


def status(assumptions: Sequence[Assumption]) -> dict[str, str]:
    return {one.name: one.status for one in assumptions}


def refuted(assumptions: Sequence[Assumption]) -> set[str]:
    return {one.name for one in assumptions if one.status == "refuted"}


def claims(report: AuditReport) -> Iterator[tuple[str, str, object, int | None]]:
    """Everything that is said for certain: by which attack, about whom, which value, and of which release if of one."""
    for run in report.runs:
        if run.findings is None:
            continue
        dated = run.findings.dated
        if not dated:
            yield from ((run.attack, str(who), value, None) for who, value in run.findings.certain.items())
        else:
            exact = run.findings.posteriors.filter(pl.col("kind") == "exact", pl.col("probability") > 1 - 1e-12)
            rows = exact.select("person", "value", "release").iter_rows()
            told = {(who, value): release for who, value, release in rows}
            for who, value in run.findings.certain.items():
                yield run.attack, str(who), value, told[str(who), str(value)]
        for finding in run.judgement.findings:
            if finding.kind == "exact" and finding.probability == 1 and finding.value is not None and finding.people:
                who = str(report.published.name(finding.people[0]))
                yield run.attack, who, report.published.values[finding.value], finding.release if dated else None


def is_true(told: Story, who: str, value: object, release: int | None) -> bool:
    times = told.had if release is None else [told.had[release - 1]]
    return any(had.get(who) == value for had in times)


WAYS = ("by name", "by registry", "by presence", "by region")
TROUBLES: Mapping[str, Mapping[str, float]] = {
    "nothing": {},
    "changing": {"changing": 0.3},
    "leaving": {"leaving": 0.3},
    "perturbed": {"perturbed": 0.3},
    "moving": {"moving": 0.3},
    "unlisted": {"unlisted": 2},
    "everything": {"changing": 0.1, "leaving": 0.1, "perturbed": 0.1, "moving": 0.1},
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("how", WAYS)
def test_what_is_refuted_is_false_and_nothing_certain_is(how: str, trouble: str) -> None:
    seen = {"refuted": 0, "certain": 0}
    for seed in range(sized(8, 150)):
        told = story(seed, **TROUBLES[trouble])  # type: ignore[arg-type]
        view = read(told, how)
        assert view is not None
        for growing in (None, True):
            knowledge = ri.Knowledge(growing=growing)
            report = ri.audit(view, knowledge, limit=1 / 2, seconds=5, attacks=["Worlds", "Correlation", "Channels"])
            wrong = refuted(report.assumptions)
            if wrong:
                # What contradicts each other are assumptions together: one of them at least is false.
                assert told.false, (seed, wrong)
            seen["refuted"] += bool(wrong)
            standing = {one.name for one in report.assumptions if one.carries}
            for attack, who, value, release in claims(report):
                seen["certain"] += 1
                if not is_true(told, who, value, release):
                    # It rests on something false that no release contradicts, and says so.
                    (run,) = (run for run in report.runs if run.attack == attack)
                    assert told.false & standing & {*run.by.rests_on}, (seed, attack)
            if "values-stay" in wrong:
                assert not [*claims(report)], "values may have been perturbed as well as have changed"
                _says_so(report)
    if trouble == "nothing":
        assert seen["refuted"] == 0
    if how == "by name" and trouble in ("nothing", "leaving", "moving"):
        assert seen["certain"] > 0
    if how == "by name" and trouble in ("changing", "perturbed"):
        assert seen["refuted"] > 0


def _says_so(report: AuditReport) -> None:
    """The first line says how many contradictions there are and what is left, and nothing is said to be proven."""
    assert not report.passed
    assumed = {one.name: one for one in report.assumptions}
    values, leaving = assumed["values-stay"], assumed.get("nobody-leaves")
    first = report.text().splitlines()[0]
    # Where the same rows contradict both, one of both at least is not so.
    both = leaving is not None and leaving.status == "refuted" and leaving.evidence == values.evidence
    either = ", or people left or were corrected, though nobody was said to leave" if both else ""
    registered = "registry-complete" in assumed and assumed["registry-complete"].status != "refuted"
    either = ", or people are not where the registry has them" * registered + either
    assert f"alues did not stay the same{either} ({values.contradictions:,} contradiction" in first
    assert "conclusions over several releases are withdrawn" in first
    assert "proved" not in first and "nothing beyond the limits" not in first
    assert report.risks["cumulative_exposed"].null_count() == report.risks.height
    assert not report.disclosure.together and report.disclosure.certain == 0
    withdrawn = [run for run in report.runs if run.by.static and run.attack != "Worlds"]
    assert all(run.findings is None and run.judgement.status != "within" for run in withdrawn)
    assert {one["name"] for one in report.to_dict()["assumptions"]} >= {"values-stay", "unperturbed"}


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_no_world_is_left_where_values_are_refuted(seed: int) -> None:
    """By writing down every world: what is called contradictory has none."""
    told = story(seed, changing=0.15)
    rows = [[(who, AGES[age // 10 - 2], value) for who, age, value in table] for table in told.tables]
    series = [
        [([who for who, age, _ in table if age == cell], [v for _, age, v in table if age == cell]) for cell in AGES]
        for table in rows
    ]
    series = [[group for group in release if group[0]] for release in series]
    found = assumptions_of(ri.Published.from_groups(series))
    possible = next(worlds(series), None) is not None
    assert status(found)["values-stay"] == "holds" if possible else "values-stay" in status(found)
    if "values-stay" not in told.false:
        assert possible and not refuted(found)


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_values_that_may_change_are_told_of_each_release_and_are_true(seed: int) -> None:
    told = story(seed, changing=0.4, leaving=0.1)
    view = read(told, "by name")
    assert view is not None
    for knowledge in (ri.Knowledge(dropped={"values-stay"}), ri.Knowledge(said={"unperturbed"})):
        report = ri.audit(view, knowledge, limit=1 / 2, attacks=["Worlds", "Correlation", "Channels"])
        alone = "values-stay" in {one.name for one in report.assumptions if not one.carries}
        for _, who, value, release in claims(report):
            assert not alone or (release is not None and is_true(told, who, value, release))
        if alone:
            # Everybody in a group with one value had it then; they are all there is.
            shown: dict[tuple[int, str], set[str]] = {}
            for at, rows in enumerate(told.tables, 1):
                for _, age, value in rows:
                    shown.setdefault((at, AGES[age // 10 - 2]), set()).add(value)
            sure = {
                who
                for at, rows in enumerate(told.tables, 1)
                for who, age, _ in rows
                if len(shown[at, AGES[age // 10 - 2]]) == 1
            }
            assert {who for _, who, _, _ in claims(report)} == sure


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_nothing_at_all_is_certain_where_cells_were_perturbed(seed: int) -> None:
    told = story(seed, perturbed=0.2, changing=0.2)
    for how in WAYS:
        view = read(told, how)
        assert view is not None
        for some in (view, ri.Published(view.releases[:1], view.values, single=view.single, people=view.people)):
            report = ri.audit(some, ri.Knowledge(perturbed="pram=0.2"), limit=1 / 2, seconds=5)
            assert not [*claims(report)] and report.disclosure.certain == 0
            assert not any(one.kind == "exact" for one in report.findings)
            assert not report.passed and "cells were perturbed" in report.verdict
            assert all(run.judgement.status in ("undecided", "not asked") for run in report.runs)


# Flows


@pytest.mark.parametrize("seed", seeds(60, 1000))
def test_shortage_is_what_the_best_way_leaves_over(seed: int) -> None:
    rng = random.Random(seed)
    sources, sinks = rng.randrange(1, 5), rng.randrange(1, 5)
    pairs = [(one, two) for one in range(sources) for two in range(sinks) if rng.random() < 0.45]
    need = [rng.randrange(3) for _ in range(sources)]
    room = [rng.randrange(3) for _ in range(sinks)]
    units = [one for one, many in enumerate(need) for _ in range(many)]
    best = 0
    for order in {*permutations(units)}:
        for choice in range(2 if len(order) > 5 else 6):
            best = max(best, _greedy(order, pairs, room, random.Random(choice)))
    first, second = np.array([one for one, _ in pairs], np.int64), np.array([two for _, two in pairs], np.int64)
    found = shortage(first, second, np.array(need, dtype=np.int64), np.array(room, dtype=np.int64))
    assert found.rows == len(units) - _matching(units, pairs, room) <= len(units) - best
    assert (found.sets > 0) == (found.rows > 0) and found.sets <= found.rows


def _greedy(order: Sequence[int], pairs: list[tuple[int, int]], room: Sequence[int], rng: random.Random) -> int:
    left, placed = [*room], 0
    for one in order:
        free = [two for source, two in pairs if source == one and left[two]]
        if free:
            left[rng.choice(free)] -= 1
            placed += 1
    return placed


def _matching(units: Sequence[int], pairs: list[tuple[int, int]], room: Sequence[int]) -> int:
    """The most that can be placed, by trying everything."""
    if not units:
        return 0
    one, *others = units
    best = _matching(others, pairs, room)
    for source, two in pairs:
        if source == one and room[two]:
            best = max(best, 1 + _matching(others, pairs, [many - (at == two) for at, many in enumerate(room)]))
    return best


# The smallest cases of the field


def test_totals_grow_and_a_cell_shrinks() -> None:
    """More rows in all, and of every value, but one cell lost somebody: nobody stayed as was said."""
    first = pl.DataFrame({"age": ["20", "20", "30"], "illness": ["flu", "gout", "flu"]})
    second = pl.DataFrame({"age": ["20", "30", "30", "30"], "illness": ["flu", "flu", "gout", "gout"]})
    view = ri.read_releases([first, second], sensitive="illness", quasi=["age"]).published
    report = ri.audit(view, ri.Knowledge(growing=True), limit=1 / 2)
    (leaving,) = (one for one in report.assumptions if one.name == "nobody-leaves")
    assert (leaving.status, leaving.contradictions) == ("refuted", 1)
    assert "people left or were corrected, though nobody was said to leave (1 contradiction)" in report.verdict
    assert report.judgements["Channels"].status != "beyond"
    # The same where the cell keeps its rows, and one of them has another value.
    third = pl.DataFrame({"age": ["20", "20", "30"], "illness": ["flu", "flu", "flu"]})
    view = ri.read_releases([first, third], sensitive="illness", quasi=["age"]).published
    report = ri.audit(view, ri.Knowledge(growing=True), limit=1 / 2)
    assert refuted(report.assumptions) == {"nobody-leaves", "values-stay"}
    assert status(assumptions_of(view))["values-stay"] == "untested"


def test_a_cell_counts_once_however_wide_the_regions_are() -> None:
    first = pl.DataFrame({"age": ["20-29"] * 3 + ["40-49"], "illness": ["flu"] * 4})
    second = pl.DataFrame({"age": ["20-24", "25-29", "40-49"], "illness": ["flu"] * 3})
    view = ri.read_releases([first, second], sensitive="illness", quasi=["age"]).published
    (leaving,) = (one for one in assumptions_of(view, ri.Knowledge(growing=True)) if one.name == "nobody-leaves")
    assert (leaving.status, leaving.contradictions) == ("refuted", 1) and "1 row left" in leaving.evidence


def test_four_rows_of_which_three_are_alike() -> None:
    """Nobody is known, one release: what it shows is no 'nothing', and linking is not answered."""
    frame = pl.DataFrame({"age": ["30-39"] * 3 + ["40-49"], "illness": ["HIV", "HIV", "HIV", "flu"]})
    view = ri.read_releases([frame], sensitive="illness", quasi=["age"]).published
    for accept in ((), ("undecided", "sampled")):
        report = ri.audit(view, limit=1 / 2, accept=accept)
        assert not report.passed
        text = report.text()
        assert "nothing beyond the limits was found" not in text.lower() and "proven" not in report.verdict
        assert {one.name: one.verdict for one in report.criteria} == {
            "singling out": "not met",
            "linkability": "undecided",
            "inference": "not met",
        }


def test_where_nothing_contradicts_all_is_as_before() -> None:
    view = ri.Published.from_groups([[(["Ann", "Ben"], ["flu", "gout"])], [(["Ann", "Cy"], ["flu", "angina"])]])
    report = ri.audit(view, limit=1 / 2)
    (worlds_run,) = (run for run in report.runs if run.attack == "Worlds")
    assert worlds_run.findings is not None
    assert worlds_run.findings.certain == {"Ann": "flu", "Ben": "gout", "Cy": "angina"}
    assert {one.kind for one in report.findings} >= {"exact"}
    assert all("values-stay" in one.rests_on for one in report.findings)
    assert "It rests on this: values stay (not contradicted) and nothing is perturbed (not tested)." in report.verdict
    assert report.findings[0].probability == 1 and report.limits.probability == Fraction(1, 2)


def test_somebody_who_cannot_be_where_they_are_said_to_be() -> None:
    frame = pl.DataFrame({"age": ["20-29", "20-29"], "illness": ["flu", "gout"]})
    registry = pl.DataFrame({"name": ["Ann", "Ben", "Cy"], "age": ["21", "22", "23"]})

    def view(present: object) -> ri.Published:
        return ri.read_releases(
            [frame], sensitive="illness", quasi=["age"], registry=registry, person="name", present=present
        ).published

    assert status(view("all").tested) == {"registry-complete": "holds", "presence": "refuted"}
    two = pl.DataFrame({"person": ["Ann", "Ben"], "release": ["1", "1"]})
    assert status(view(two).tested) == {"registry-complete": "holds", "presence": "said"}
    report = ri.audit(view("all"), limit=1 / 2)
    assert "what was said of who is there does not fit the releases (1 contradiction)" in report.verdict
    assert "that has no place for them, or their quasi-identifiers were corrected." in report.text()
    assert report.disclosure.certain == 0


def test_a_registry_is_not_said_to_lack_people_where_suppressed_rows_were_said_to_be_nobodys() -> None:
    """Cy was suppressed and fits the class that is published: as long as that is ruled out, nobody fits the row."""
    frame = pl.DataFrame({"age": ["20-29", "20-29", "*"], "illness": ["flu", "gout", "flu"]})
    registry = pl.DataFrame({"name": ["Ann", "Ben", "Cy"], "age": ["21", "22", "23"]})
    given = {"sensitive": "illness", "quasi": ["age"], "registry": registry, "person": "name"}
    report = ri.audit(ri.read_releases([frame], suppressed="class", **given).published, limit=2 / 3)  # type: ignore[arg-type]
    (registered,) = (one for one in report.assumptions if one.name == "registry-complete")
    assert registered.status == "refuted"
    assert registered.evidence.endswith("or suppressed rows belong to published classes.")
    assert "lacks people" not in report.headline.words
    without = ri.audit(ri.read_releases([frame], **given).published, limit=2 / 3)  # type: ignore[arg-type]
    assert refuted(without.assumptions) == set()


def test_people_who_crowd_each_other_out_of_several_groups() -> None:
    """Three people for two groups of one row each: nobody's own group is too full, and all together are too many."""
    frame = pl.DataFrame({"age": ["20-29", "25-34"], "illness": ["flu", "gout"]})
    registry = pl.DataFrame({"name": ["Ann", "Ben", "Cy"], "age": ["26", "27", "28"]})
    read_ = ri.read_releases(
        [frame], sensitive="illness", quasi=["age"], registry=registry, person="name", present="all"
    )
    (presence,) = (one for one in read_.published.tested if one.name == "presence")
    assert (presence.status, presence.contradictions) == ("refuted", 1)


def test_a_registry_that_lacks_people_is_refuted_and_not_used() -> None:
    frame = pl.DataFrame({"age": ["20-29"] * 3, "illness": ["flu", "gout", "flu"]})
    registry = pl.DataFrame({"name": ["Ann", "Ben"], "age": ["21", "22"]})
    view = ri.read_releases([frame], sensitive="illness", quasi=["age"], registry=registry, person="name").published
    report = ri.audit(view, limit=2 / 3)
    assert refuted(report.assumptions) == {"registry-complete"}
    assert not report.passed
    assert "the registry does not fit the releases (1 contradiction)" in report.verdict
    assert "It lacks people, people have several rows, or their quasi-identifiers changed." in report.text()


# Toronto, by its ids


TORONTO = FOLDER / "covid_linelists" / "toronto_releases.parquet"
SENSITIVE = (
    "Outcome", "Source of Infection", "Classification", "Ever Hospitalized", "Ever in ICU", "Currently Hospitalized",
)  # fmt: skip


def judge_by_ids(tables: Sequence[pl.DataFrame], sensitive: str, quasi: list[str]) -> None:
    """Nothing certain is false, whoever is known; and every cell that shrank is counted."""
    had = [dict(table.select("id", sensitive).iter_rows()) for table in tables]
    changed = any(one.get(who, value) != value for one in had[1:] for who, value in had[0].items())
    assert changed
    named = ri.read_releases([*tables], sensitive=sensitive, quasi=quasi, person="id").published
    report = ri.audit(named, limit=1 / 2, seconds=20)
    assert refuted(report.assumptions) == {"values-stay"} and not [*claims(report)]
    free = ri.audit(named, ri.Knowledge(dropped={"values-stay"}), limit=1 / 2, seconds=20)
    sure = {(who, value, release) for _, who, value, release in claims(free)}
    assert sure and all(release and had[release - 1][who] == value for who, value, release in sure)
    rows = [table.drop("id") for table in tables]
    view = ri.read_releases(rows, sensitive=sensitive, quasi=quasi).published
    grown = ri.audit(view, ri.Knowledge(growing=True), limit=1 / 2, seconds=20)
    (leaving,) = (one for one in grown.assumptions if one.name == "nobody-leaves")
    shrank = 0
    for one, two in pairwise(rows):
        both = one.group_by(quasi).len().join(two.group_by(quasi).len(), on=quasi, how="left").fill_null(0)
        shrank += both.filter(pl.col("len") > pl.col("len_right")).height
    # A cell without a value may be any: what is gone there need not have left.
    assert leaving.contradictions <= shrank and (leaving.status == "refuted") == (shrank > 0)
    assert not [*claims(grown)] and "Channels" not in {one.attack for one in grown.findings}
    first = pl.concat(tables).unique("id", keep="first", maintain_order=True).select("id", *quasi)
    for present in (None, "all"):
        view = ri.read_releases(
            rows, sensitive=sensitive, quasi=quasi, registry=first, person="id", present=present
        ).published
        report = ri.audit(view, limit=1 / 2, seconds=20)
        assert not [*claims(report)] or refuted(report.assumptions) == set()


def test_line_lists_in_small() -> None:
    before = {"id": ["1", "2", "3", "4", "5"], "age": ["20", "20", "30", "30", "40"]}
    after = {"id": ["1", "2", "3", "4", "6"], "age": ["20", "20", "30", "30", "30"]}
    outcomes = (
        ["active", "active", "active", "fatal", "active"],
        ["resolved", "resolved", "active", "fatal", "active"],
    )
    tables = [
        pl.DataFrame({**table, "place": ["N"] * 5, "outcome": outcome})
        for table, outcome in zip((before, after), outcomes, strict=True)
    ]
    judge_by_ids(tables, "outcome", ["age", "place"])


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_line_lists_in_small")
@pytest.mark.parametrize("sensitive", SENSITIVE)
def test_line_lists_of_toronto(sensitive: str) -> None:
    quasi = ["Age Group", "Client Gender", "FSA"]
    frame = pl.read_parquet(TORONTO).with_columns(pl.all().cast(pl.String)).fill_null("none")
    tables = [
        part.select(pl.col("Assigned_ID").alias("id"), *quasi, sensitive)
        for part in frame.partition_by("release", maintain_order=True)
    ]
    judge_by_ids(tables, sensitive, quasi)
