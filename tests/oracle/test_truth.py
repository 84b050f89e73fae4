"""An audit of one's own series against what everybody really had: counted one by one, from the tables themselves."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds

import reissue as ri
from reissue.attacks.base import Finding
from reissue.auditing.compared import Counted, Truth
from reissue.auditing.report import AuditReport
from reissue.auditing.standing import in_order
from reissue.model.records import record_text
from reissue.publishing.adoption import adopt
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from tests.real_data import FOLDER, needs

ILLNESSES = ("angina", "cancer", "flu", "gout")
SCHEMA = ri.Schema("id", {"age": ri.Numeric()}, {"illness": ri.Categorical(new="accept")})
policy_of = partial(ri.Policy, checks=NOTHING_ASKED)
"""Tables here are invented to be misread: what checks would ask about them is meant."""
CARELESS = policy_of(SCHEMA, ri.Mondrian(k=2), series="unprotected")
STATIC = ("Worlds", "Correlation", "Channels")

Had = Mapping[str, set[object]]
"""What everybody ever had."""


@pytest.fixture
def folder(memory: Path, tmp_path: Path) -> Path:
    """Where a test may make a series; nothing here needs a disk."""
    return memory / tmp_path.name


def tables(seed: int, *, changing: float, people: int = 16, releases: int = 3) -> list[pl.DataFrame]:
    """Tables of a few people who come, go and, at a rate, get another illness."""
    rng = random.Random(seed)
    illness = {f"p{n}": rng.choice(ILLNESSES) for n in range(people)}
    found = []
    for number in range(releases):
        if number:
            illness = {who: rng.choice(ILLNESSES) if rng.random() < changing else has for who, has in illness.items()}
        here = [who for who in illness if rng.random() < 0.85]
        ages = [20 + int(who[1:]) + rng.randrange(6) for who in here]
        found.append(pl.DataFrame({"id": here, "age": ages, "illness": [illness[who] for who in here]}))
    return found


def ever_had(frames: list[pl.DataFrame], value: str = "illness") -> Had:
    had: dict[str, set[object]] = {}
    for frame in frames:
        for who, has in frame.select("id", value).iter_rows():
            had.setdefault(who, set()).add(has)
    return had


def published(folder: Path, policy: ri.Policy, frames: list[pl.DataFrame]) -> ri.Series:
    series = ri.open(folder, policy)
    for number, frame in enumerate(frames):
        series.publish(frame, seed=number)
    return series


def truth_of(report: AuditReport) -> Truth:
    assert report.truth is not None
    return report.truth


def counted(claims: list[tuple[str, object]], had: Had, *, denied: bool = False) -> Counted:
    right = sum((value in had[who]) != denied for who, value in claims)
    return Counted(len(claims), right, len(claims) - right, 0)


def everything(report: AuditReport, attack: str) -> list[Finding]:
    """All findings of an attack, not the worst hundred only."""
    (run,) = (run for run in report.runs if run.attack == attack)
    assert run.findings is not None
    return list(run.findings.judge(report.limits, most=10**9).findings)


@pytest.mark.parametrize("changing", [0.0, 0.15, 0.5])
@pytest.mark.parametrize("seed", seeds(6, 100))
def test_every_conclusion_is_counted_as_it_is(seed: int, changing: float, folder: Path) -> None:
    frames = tables(seed, changing=changing)
    had = ever_had(frames)
    with published(folder, CARELESS, frames) as series:
        report = series.audit(limit=1 / 2, attacks=STATIC)
        name: Callable[[Any], str] = series.private.name_of
        told = {one.attack: one for one in truth_of(report).attacks}
        certainly: dict[str, set[bool]] = {}
        exposed: dict[str, set[bool]] = {}
        for run in report.runs:
            assert run.findings is not None
            certain = [(name(who), value) for who, value in run.findings.certain.items()]
            excluded = [(name(who), value) for who, values in run.findings.excluded.items() for value in values]
            above = [
                (name(one.people[0]), report.published.values[one.value])
                for one in everything(report, run.attack)
                if one.value is not None and run.attack == "Worlds"
            ]
            if not (certain or excluded or above):
                assert run.attack not in told
                continue
            assert told[run.attack].certain == counted(certain, had)
            assert told[run.attack].excluded == counted(excluded, had, denied=True)
            assert told[run.attack].above == counted(above, had)
            for who, value in certain:
                certainly.setdefault(who, set()).add(value in had[who])
            for who, value in (*certain, *above):
                exposed.setdefault(who, set()).add(value in had[who])
        truth = truth_of(report)
        right = sum(any(some) for some in certainly.values())
        assert truth.certain == Counted(len(certainly), right, len(certainly) - right, 0)
        assert truth.certain.claims == report.disclosure.certain
        assert truth.exposed == sum(any(some) for some in exposed.values())
        assert truth.misled == len(exposed) - truth.exposed and truth.unknown == 0
        several = Counter(who for frame in frames for who in frame["id"])
        assert truth.several == sum(often > 1 for often in several.values())
        assert truth.changed == sum(len(some) > 1 for some in had.values())
        _agrees(report, had, name)


def _agrees(report: AuditReport, had: Had, name: Callable[[Any], str]) -> None:
    """No finding, figure or word says of anybody what is not so."""
    truth, values = truth_of(report), report.published.values
    for finding in report.findings:
        (person,) = finding.people
        left = {values[at] for at in finding.among or (finding.value,) if at is not None}
        assert report.mark(finding) == ("right" if left & had[name(person)] else "wrong")
    assert [report.mark(one) for one in report.findings] == report.table["truth"].to_list()
    shown = [finding.people for finding in report.leading]
    assert not {*shown} & {finding.people for finding in report.mistaken}
    assert all(report.mark(finding) == "wrong" for finding in report.mistaken)
    # Intersecting groups by hand, and leaving out who is left with what they never had.
    left: dict[int, set[int]] = {}
    for at, release in enumerate(report.published.releases):
        for group in range(release.group_count):
            for person in release.members_of(group).tolist():
                shows = {*release.values_of(group)[0].tolist()}
                left[person] = left.get(person, shows) & shows
        alone = [person for person, some in left.items() if len(some) == 1]
        true = [person for person in alone if values[min(left[person])] in had[name(person)]]
        assert report.risks["cumulative_exposed"][at] == len(true)
    assert set(report.exposed_groups.columns) == {"release", "group", "people", "highest", "mean", "above"}
    text = report.text()
    assert text.splitlines()[1] == truth.conclusion
    if truth.misled:
        assert truth.conclusion in report.criteria[-1].evidence
    if truth.changed:
        assert f"{truth.changed:,} had another value than before" in text


@pytest.mark.parametrize("policy", [CARELESS, policy_of(SCHEMA, ri.MInvariance(m=2))], ids=lambda one: one.method.name)
@pytest.mark.parametrize("seed", seeds(6, 60, first=50))
def test_where_values_stay_nothing_certain_is_wrong(seed: int, policy: ri.Policy, folder: Path) -> None:
    frames = tables(seed, changing=0.0, people=24)
    with published(folder, policy, frames) as series:
        truth = truth_of(series.audit(limit=1 / 3))
        assert truth.changed == 0 and truth.replaced == 0
        assert truth.certain.wrong == 0 and truth.certain.unknown == 0
        assert not any(one.certain.wrong or one.excluded.wrong for one in truth.attacks)
        assert not any("static" in line for line in truth.words)
        # Whatever is known besides, as long as it is true.
        worse = truth_of(series.audit(limit=1 / 3, compromised=0.2, seed=seed, attacks=STATIC))
        assert worse.certain.wrong == 0 and not any(one.excluded.wrong for one in worse.attacks)


def test_values_that_changed_mislead_and_are_told(folder: Path) -> None:
    """By hand: Alice's cancer became gout while Ida came with cancer."""
    january = {"id": ["Alice", "Bob", "Carla", "Dan"], "age": [34, 36, 58, 61]}
    february = {"id": ["Alice", "Carla", "Dan", "Ida"], "age": [34, 58, 61, 33]}
    frames = [
        pl.DataFrame({**january, "illness": ["cancer", "flu", "asthma", "angina"]}),
        pl.DataFrame({**february, "illness": ["gout", "asthma", "angina", "cancer"]}),
    ]
    with published(folder, CARELESS, frames) as series:
        report = series.audit(limit=1 / 2)
        who = {str(series.private.name_of(n)): n for n in range(5)}
    truth = truth_of(report)
    # Both of Alice's groups show cancer, so she is taken to have it still: she had. So Ida has gout, which is wrong,
    # and Bob had flu, which is right.
    assert truth.certain == Counted(3, 2, 1, 0)
    assert (truth.exposed, truth.misled, truth.changed, truth.several) == (2, 1, 1, 3)
    assert truth.conclusion == (
        "An outsider would be certain about 3 people. 1 of these conclusions is wrong: they never had the value. "
        "2 people are exposed."
    )
    assert truth.words[1:] == (
        "Why conclusions about 1 person are wrong: 1 mistaken because values of others changed or were replaced.",
        "Worlds, Equivalence, Correlation and Channels take values to be static, and the ledger says that they are "
        "not: of 3 people in several tables 1 had another value than before.",
    )
    assert [finding.people for finding in report.mistaken] == [(who["Ida"],)]
    assert {finding.people[0] for finding in report.leading} == {who["Alice"], who["Bob"]}
    # No release contradicts that values stay; the ledger does, and nobody is told otherwise beside that.
    states = {one.name: state for one, state, _ in in_order(report.assumptions, changed=report.known_to_change)}
    assert states["values-stay"] == "contradicted by the ledger, which outsiders do not have"
    assert "contradicted by the ledger" in report.to_html(folder.parent / "states.html").read_text()
    # What the outsider could conclude is judged as before.
    assert not report.passed and report.disclosure.certain == 3
    _nowhere_as_exposed(report, folder.parent / "report.html", [who["Ida"]])


def _nowhere_as_exposed(report: AuditReport, path: Path, wrong: list[int]) -> None:
    """In words, JSON and HTML somebody about whom all is wrong is named below the line only, and marked."""
    text = report.text(most=10**6)
    above, _, below = text.partition("What an outsider would conclude, and is wrong:")
    listed = above.partition("The worst of")[2]
    for person in wrong:
        assert f". person {person} with" not in listed
        assert f"  person {person} with" in below
    marks = {(one["person"], one["truth"]) for one in report.to_dict()["findings"]}
    for person in wrong:
        assert {mark for who, mark in marks if who == f"person {person}"} == {"wrong"}
    page = report.to_html(path).read_text()
    exposed, _, mistaken = page.partition("What an outsider would conclude, and is wrong:")
    for person in wrong:
        assert f"<li><strong>person {person}:" not in exposed
        assert f"<li><strong>person {person}:" in mistaken
    assert 'class="mark wrong"' not in exposed
    assert json.loads(report.to_json())["truth"]["misled"] >= len(wrong)


# Values that were replaced, people who were withheld, several columns


def test_true_is_the_own_value_and_not_the_one_in_its_place(folder: Path) -> None:
    schema = ri.Schema(
        "id", {"age": ri.Numeric()}, {"illness": ri.Categorical(values=("HIV", "cold", "flu"))}, protect=[["HIV"]]
    )
    rng = np.random.default_rng(3)
    found = 0
    for seed in range(20):
        frame = pl.DataFrame(
            {
                "id": [f"p{n}" for n in range(40)],
                "age": rng.integers(0, 6, 40),
                "illness": rng.choice(["HIV", "cold", "flu"], 40, p=[0.3, 0.35, 0.35]),
            }
        )
        with ri.open(folder / str(seed), policy_of(schema, ri.Mask(k=4, l=2))) as series:
            series.publish(frame, seed=seed)
            report = series.audit(limit="1/3", attacks=["Worlds"])
            truth = truth_of(report)
            instead = dict(series.private.replaced(1).select("person", "published").iter_rows())
            assert truth.replaced == len(instead)
            had = ever_had([frame])
            for finding in everything(report, "Worlds"):
                who = str(series.private.name_of(finding.people[0]))
                value = report.published.values[finding.value or 0]
                if finding in truth.marks:
                    assert truth.of(finding) == ("right" if value in had[who] else "wrong")
                    # What is shown in somebody's place is not what they have.
                    found += who in instead and value == instead[who] and truth.of(finding) == "wrong"
    assert found > 0, "the test is about people whose published value is taken for theirs"


def test_permanent_values_and_their_decoys(folder: Path) -> None:
    """Everybody registered who never had the value is wrongly suspected, whatever was published."""
    schema = ri.Schema(
        "id",
        {"age": ri.Numeric()},
        {"illness": ri.Categorical(values=("HIV", "acne", "cold", "flu", "gout"))},
        permanent=["HIV"],
    )
    policy = policy_of(schema, ri.HDComposition(l=2, container=4))
    people = list(range(16))
    registry = pl.DataFrame({"id": people, "age": people})
    with ri.open(folder, policy) as series:
        for number, holders in enumerate(({3}, {3, 9}), start=1):
            facts = [
                (who, "HIV" if who in holders else ("flu", "gout", "acne", "cold")[who % 4])
                for who in people[: 14 + number]
            ]
            series.publish(pl.DataFrame(facts, schema=["id", "illness"], orient="row"), registry=registry, seed=number)
        report = series.audit(limit="1/1000", attacks=["Permanence"])
        truth = truth_of(report)
        (told,) = truth.attacks
        suspected = everything(report, "Permanence")
        holders = [one for one in suspected if series.private.name_of(one.people[0]) in (3, 9)]
        assert told.above == Counted(len(suspected), len(holders), len(suspected) - len(holders), 0)
        assert 0 < len(holders) < len(suspected)
        for finding in suspected:
            if mark := truth.of(finding):
                assert mark == ("right" if finding in holders else "wrong")
        assert truth.changed == 1, "somebody got HIV in place of another illness"
        assert not truth.static, "this attack takes no value to be static but the permanent ones"


@pytest.mark.parametrize("seed", seeds(5, 60))
def test_somebody_withheld_has_a_value_all_the_same(seed: int, folder: Path) -> None:
    frames = tables(seed, changing=0.4, people=30)
    had = ever_had(frames)
    policy = policy_of(SCHEMA, ri.MInvariance(m=2))
    with published(folder, policy, frames) as series:
        report = series.audit(limit="1/3", attacks=["Worlds"])
        truth = truth_of(report)
        assert truth.changed == sum(len(some) > 1 for some in had.values())
        names = series.private.name_of
        above = [
            (str(names(one.people[0])), report.published.values[one.value or 0])
            for one in everything(report, "Worlds")
            if one.people[0] >= 0  # nothing is concluded about counterfeits, who are nobody
        ]
        assert truth.attacks[0].above == counted(above, had)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_records_and_each_of_their_columns(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    both = {"illness": ri.Categorical(new="accept"), "ward": ri.Categorical(new="accept")}
    schema = ri.Schema("id", {"age": ri.Numeric()}, both, limits={"illness": "9/10", "ward": "9/10"})
    wards = {f"p{n}": rng.choice(["north", "south; old"]) for n in range(16)}
    frames = []
    for frame in tables(seed, changing=0.4):
        wards = {who: rng.choice(["north", "south; old"]) if rng.random() < 0.2 else at for who, at in wards.items()}
        frames.append(frame.with_columns(ward=pl.Series([wards[who] for who in frame["id"]])))
    policy = policy_of(schema, ri.Mondrian(k=2), series="unprotected")
    with published(folder, policy, frames) as series:
        report = series.audit(limit="1/2", attacks=["Worlds"])
        # Mondrian keeps to the limits of columns in each release: lower ones are exceeded.
        half = replace(report.limits, columns=tuple((name, Fraction(1, 2)) for name in both))
        runs = [
            replace(run, judgement=run.findings.judge(half, most=10**9))
            for run in report.runs
            if run.findings is not None
        ]
        report = replace(report, limits=half, runs=tuple(runs))
        truth = truth_of(report)
        told = {one.column: one for one in truth.attacks}
        records = [
            frame.select("id", record=pl.struct("illness", "ward").map_elements(
                lambda row: record_text([row["illness"], row["ward"]]), return_dtype=pl.String
            ))
            for frame in frames
        ]  # fmt: skip
        had = {None: ever_had(records, "record"), **{name: ever_had(frames, name) for name in both}}
        shown = {None: report.published.values, **{one.name: one.values for one in report.published.columns}}
        every = everything(report, "Worlds")
        for name in had:
            mine = [one for one in every if one.column == name]
            claims = [
                (str(series.private.name_of(one.people[0])), shown[name][(one.among or (one.value or 0,))[0]])
                for one in mine
            ]
            assert (
                told[name].above == counted(claims, had[name])
                if claims
                else name not in told or not told[name].above.claims
            )
            for finding, (who, value) in zip(mine, claims, strict=True):
                if finding in truth.marks:
                    assert truth.of(finding) == ("right" if value in had[name][who] else "wrong")
        assert any(told[name].above.right for name in both if name in told), "the test is about columns"


def test_sets_of_values_mislead_nobody_for_certain(folder: Path) -> None:
    frames = tables(1, changing=0.3, people=400)
    policy = policy_of(SCHEMA, ri.Alternatives(m=2, change=0.3, reference=dict.fromkeys(ILLNESSES, 0.25)))
    with published(folder, policy, frames) as series:
        for attacks in (None, [ri.attacks.Tracking(change="static")]):
            report = series.audit(attacks=attacks, limit="1/3")
            truth = truth_of(report)
            had = [dict(frame.select("id", "illness").iter_rows()) for frame in frames]
            (told,) = (one for one in truth.attacks if one.attack == "Tracking")
            judged = [
                had[(one.release or 1) - 1][str(series.private.name_of(one.people[0]))]
                == report.published.values[one.value or 0]
                for one in everything(report, "Tracking")
            ]
            assert told.above == Counted(len(judged), sum(judged), len(judged) - sum(judged), 0)
            assert told.above.right and told.above.wrong


def _said(findings: list[Finding]) -> set[tuple[Any, ...]]:
    return {
        (one.column, person, value, None if one.attack == "Worlds" else one.release)
        for one in findings
        for person in one.people
        for value in one.among or (one.value,)
    }


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("form", ["groups", "sets"])
def test_who_is_tied_to_what_is_what_findings_say(columns: int, form: str, folder: Path) -> None:
    """All findings, written out one by one, against the table that is counted by."""
    rng = np.random.default_rng(columns)
    names = ("illness", "ward")[:columns]
    kinds = {name: ri.Categorical(new="accept") for name in names}
    schema = ri.Schema("id", {"age": ri.Numeric()}, kinds if columns > 1 else {"illness": kinds["illness"]})
    method = ri.Mondrian(k=3) if form == "groups" else ri.Alternatives(m=2, change=0.3, epsilon=1.0)
    people = 40 if form == "groups" else 1_500
    frames = [
        pl.DataFrame(
            {
                "id": [f"p{n}" for n in range(people)],
                "age": rng.integers(0, 8, people),
                **{name: rng.choice([f"{name} {n}" for n in range(4)], people) for name in names},
            }
        )
        for _ in range(2)
    ]
    policy = policy_of(schema, method, series="unprotected" if form == "groups" else "protected")
    with published(folder, policy, frames) as series:
        attacks = ["Worlds", "Minimality", "Likelihood"]
        if form == "sets":
            attacks = [ri.attacks.Tracking(change="static"), "Likelihood"]
        report = series.audit(limit="2/5", attacks=attacks)
        if columns > 1:
            asked = tuple((name, Fraction(2, 5)) for name in names)
            report = replace(report, limits=replace(report.limits, columns=asked))
        told = 0
        for run in report.runs:
            assert run.findings is not None
            table = run.findings.tied(report.limits)
            assert table is not None
            rows = {(column, person, at, release) for _, column, person, at, release in table.iter_rows()}
            said = _said(list(run.findings.judge(report.limits, most=10**9).findings))
            # Of a class of equals findings tell the worst set of values only.
            assert said <= rows if run.attack == "Minimality" else said == rows
            told += len(said)
        assert told, "the test is about people who are tied to something"


# What nobody here knows


def test_of_releases_made_elsewhere_only_what_is_right_is_known(folder: Path) -> None:
    first = [(["a", "b"], ["flu", "cold"]), (["c", "d"], ["flu", "gout"])]
    second = [(["a", "b"], ["flu", "cold"]), (["c", "e"], ["flu", "angina"])]
    with adopt(folder, policy_of(SCHEMA, ri.MInvariance(m=2)), ri.Published.from_groups([first, second])) as series:
        report = series.audit(attacks=["Worlds"])
        truth = truth_of(report)
        # c has flu, so d has gout and e angina: nobody here knows whether that is so.
        assert truth.certain == Counted(3, 0, 0, 3)
        assert truth.conclusion.endswith("Nobody is exposed; of 3 more it is not known here.")
        assert {report.mark(finding) for finding in report.leading} == {"unknown"}
        assert not report.mistaken
        table = pl.DataFrame(
            {
                "id": ["a", "b", "c", "d", "e", "x", "y"],
                "age": list(range(20, 27)),
                "illness": ["flu", "cold", "flu", "cold", "cold", "flu", "cold"],
            }
        )
        series.publish(table, seed=1)
        truth = truth_of(series.audit(attacks=["Worlds"]))
        # c has flu here too. d and e have something else now; what they had before is still not known.
        assert truth.certain == Counted(3, 1, 0, 2)


def test_a_draft_counts_with_what_it_says(folder: Path) -> None:
    frames = tables(7, changing=0.5)
    with published(folder, CARELESS, frames[:2]) as series:
        before = truth_of(series.audit(limit="1/2", attacks=STATIC))
        draft = series.draft(frames[2], seed=2)
        drafted = truth_of(series.audit(draft=draft, limit="1/2", attacks=STATIC))
        series.commit(draft)
        after = truth_of(series.audit(limit="1/2", attacks=STATIC))
        assert drafted == after != before


def test_forgotten_people_keep_their_rows(folder: Path) -> None:
    frames = tables(2, changing=0.4)
    with published(folder, CARELESS, frames) as series:
        before = truth_of(series.audit(limit="1/2", attacks=STATIC))
        series.forget("p1", "p2")
        assert truth_of(series.audit(limit="1/2", attacks=STATIC)) == before


def test_the_gate_judges_by_what_can_be_concluded(folder: Path, tmp_path: Path) -> None:
    """A false certainty keeps it closed: whoever is wrong acts on it too."""
    frames = tables(11, changing=0.3, people=40, releases=2)
    gate = ri.Gate(attacks=["Worlds"], limit="1/2")
    policy = policy_of(SCHEMA, ri.Mondrian(k=2), series="unprotected", gate=gate)
    with ri.open(folder, policy) as series:
        series.publish(frames[0], override="to have something to compare", seed=1)
        _, report = series.at_gate(series.draft(frames[1], gate=False, seed=1))
        assert report is not None and not report.passed
        assert truth_of(report).above.claims
        with pytest.raises(ri.errors.GateClosed) as caught:
            series.publish(frames[1], seed=1, report=tmp_path / "gate.html")
        assert "wrong" not in str(caught.value), "what is true is not for those whom it refuses"
        page = (tmp_path / "gate.html").read_text()
        assert "Compared with the ledger" in page and truth_of(report).conclusion in page


def test_releases_made_elsewhere_know_nothing_of_it() -> None:
    view = ri.Published.from_groups(
        [[(["a", "b"], ["flu", "cold"])], [(["a", "c"], ["flu", "gout"])]],
    )
    report = ri.audit(view, limit=1 / 2)
    assert report.truth is None and report.to_dict()["truth"] is None
    assert report.table["truth"].null_count() == report.table.height > 0
    assert not report.mistaken and "exposed" not in report.text()


# Real tables


def _toronto(frames: list[pl.DataFrame], folder: Path, *, k: int) -> None:
    """Cases whose outcome changes from release to release, published carelessly."""
    schema = ri.Schema(
        "id",
        {name: ri.Categorical(new="accept") for name in ("age", "sex", "area")},
        {"outcome": ri.Categorical(new="accept")},
    )
    had = ever_had(frames, "outcome")
    with published(folder, policy_of(schema, ri.Mondrian(k=k), series="unprotected"), frames) as series:
        report = series.audit(limit="99/100", attacks=STATIC)
        truth = truth_of(report)
        ids = series._ledger.people()["id"].to_list()
        certain = {
            (ids[int(who)], value) for run in report.runs if run.findings for who, value in run.findings.certain.items()
        }
        wrong = {who for who, value in certain if value not in had[who]}
        assert wrong, "the test is about conclusions that are wrong"
        right = {who for who, value in certain if value in had[who]}
        assert truth.certain.wrong == len(wrong - right) and truth.certain.right == len(right)
        assert truth.changed == sum(len(some) > 1 for some in had.values())
        assert all(report.mark(one) != "wrong" for one in report.leading)
        misled = {ids[person] for person in truth.misled_people.tolist()}
        assert wrong - right <= misled
        page = report.to_html(folder.parent / "toronto.html").read_text()
        exposed = page.partition("What an outsider would conclude, and is wrong:")[0]
        assert not any(f"<li><strong>person {person}:" in exposed for person in truth.misled_people.tolist())


def test_outcomes_in_small(folder: Path) -> None:
    rng = np.random.default_rng(5)
    people = 600
    outcome = rng.choice(["active", "resolved", "fatal"], people, p=[0.3, 0.6, 0.1])
    fixed = {
        "id": np.arange(people).astype(str),
        "age": rng.choice(["young", "middle", "old"], people),
        "sex": rng.choice(["female", "male"], people),
        "area": rng.choice([f"area {n}" for n in range(25)], people),
    }
    frames = []
    for _ in range(3):
        here = rng.random(people) < 0.93
        frames.append(pl.DataFrame({**fixed, "outcome": outcome.copy()}).filter(here))
        outcome[(rng.random(people) < 0.05) & (outcome == "active")] = "resolved"
    _toronto(frames, folder, k=3)


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_outcomes_in_small")
def test_outcomes_of_toronto(folder: Path) -> None:
    every = pl.read_parquet(FOLDER / "covid_linelists/toronto_releases.parquet").select(
        pl.col("release").cast(pl.String),
        id=pl.col("Assigned_ID").cast(pl.String),
        age=pl.col("Age Group").cast(pl.String).fill_null("unknown"),
        sex=pl.col("Client Gender").cast(pl.String).fill_null("unknown"),
        area=pl.col("FSA").cast(pl.String).fill_null("unknown"),
        outcome=pl.col("Outcome").cast(pl.String),
    )
    frames = [every.filter(pl.col("release") == one).drop("release") for one in every["release"].unique().sort()]
    _toronto(frames, folder, k=5)


def _stays(frames: list[pl.DataFrame], folder: Path) -> None:
    """Stays in hospital, each with a diagnosis of its own, published as if nothing changed."""
    schema = ri.Schema(
        "id",
        {"age": ri.Categorical(new="accept"), "sex": ri.Categorical(new="accept")},
        {"illness": ri.Categorical(new="accept")},
    )
    had = ever_had(frames)
    with published(folder, policy_of(schema, ri.Mondrian(k=2, l=2), series="unprotected"), frames) as series:
        report = series.audit(limit="1/2")
        truth = truth_of(report)
        ids = series._ledger.people()["id"].to_list()
        wrong, right = set[tuple[int, ...]](), set[tuple[int, ...]]()
        for finding in report.findings:
            said = {report.published.values[at] for at in finding.among or (finding.value,) if at is not None}
            (right if any(said & had[ids[person]] for person in finding.people) else wrong).add(finding.people)
            # Whoever is named first is one of those for whom it is right.
            assert finding.people in wrong or said & had[ids[finding.people[0]]]
        assert wrong, "the test is about findings that name a value the person never had"
        assert {one.people for one in report.mistaken} == wrong - right
        assert {one.people for one in report.leading} == right
        assert truth.certain.claims == report.disclosure.certain
        assert truth.certain.wrong > 0
        _nowhere_as_exposed(report, folder.parent / "stays.html", [people[0] for people in sorted(wrong - right)[:5]])


def test_stays_in_small(folder: Path) -> None:
    rng, people = np.random.default_rng(0), np.arange(150)
    diagnoses = [f"d{n}" for n in range(12)]
    illness = rng.choice(diagnoses, people.size)
    frames = []
    for _ in range(2):
        here = np.flatnonzero(rng.random(people.size) < 0.7)
        frames.append(
            pl.DataFrame(
                {
                    "id": [f"p{n}" for n in here],
                    "age": [f"{n % 9}0s" for n in here],
                    "sex": [("f", "m")[n % 2] for n in here],
                    "illness": illness[here],
                }
            )
        )
        changed = rng.random(people.size) < 0.15
        illness = np.where(changed, rng.choice(diagnoses, people.size), illness)
    _stays(frames, folder)


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_stays_in_small")
def test_stays_of_real_patients(folder: Path) -> None:
    columns = ["encounter_id", "patient_nbr", "age", "gender", "diag_1"]
    stays = pl.read_csv(FOLDER / "diabetes130/diabetic_data.csv.gz", columns=columns, infer_schema_length=0)
    stays = stays.with_columns(pl.col("encounter_id").cast(pl.Int64)).sort("encounter_id")
    often = stays.filter(pl.len().over("patient_nbr") > 3).rename({"patient_nbr": "id", "gender": "sex"})
    often = often.with_columns(illness=pl.col("diag_1").str.head(2)).with_row_index()
    third = often.height // 3
    frames = [
        often.slice(at * third, third)
        .unique("id", keep="last", maintain_order=True)
        .select("id", "age", "sex", "illness")
        for at in range(3)
    ]
    _stays(frames, folder)
