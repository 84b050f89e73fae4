"""Promises that count values: what limits follow from them, how Worlds judges by them, and what a report then says."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from profiles import seeds
from promises import promise
from worlds import random_series, released, worlds

import reissue as ri
from reissue.attacks import kind_of, proving
from reissue.attacks.base import Attack, Findings, Judgement, Limits
from reissue.attacks.channels.channels import Channels
from reissue.attacks.correlation.correlation import Correlation
from reissue.attacks.sentences import Witness
from reissue.attacks.worlds.worlds import Worlds, WorldsFindings
from reissue.auditing.limits import lacking, limits_of
from reissue.auditing.running import audit
from reissue.errors import GateClosed, ParameterError, PolicyError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.gate import Gate

ALONE = promise("distinct-l-diversity", {"l": 3})
PAIRS = promise("inference-freedom", {"l": 4})
HISTORY = promise("history-l-diversity", {"l": 2, "diversity": "distinct"})
SHARE = promise("history-l-diversity", {"l": 5, "diversity": "share"})

# Any two releases leave everybody three values; all three leave Ann two.
THREE = Published.from_groups(
    [
        [(["Ann", "Ben", "Cat", "Dan"], ["a", "b", "c", "d"])],
        [(["Ann", "Eve", "Flo", "Gus"], ["a", "b", "c", "e"])],
        [(["Ann", "Hal", "Ida", "Jim"], ["a", "b", "d", "e"])],
    ]
)
IN_PAIRS = [promise("distinct-l-diversity", {"l": 3}), promise("inference-freedom", {"l": 3})]


# Limits


@pytest.mark.parametrize(
    ("promises", "releases", "limits"),
    [
        # What holds for each release alone is asked of all together.
        ([ALONE], None, Limits(None, None, 3, 3)),
        ([ALONE], 7, Limits(None, None, 3, 3)),
        # What holds for pairs is asked of pairs, unless there is no pair.
        ([PAIRS], 2, Limits(None, None, 4, None)),
        ([PAIRS], None, Limits(None, None, 4, None)),
        ([ALONE, PAIRS], 3, Limits(None, None, 4, None)),
        ([ALONE, PAIRS], 1, Limits(None, None, 4, 4)),
        # What holds for the whole history is asked of it, and of pairs too.
        ([HISTORY], 3, Limits(None, None, 2, 2)),
        ([ALONE, PAIRS, HISTORY], 3, Limits(None, None, 4, 2)),
        ([promise("history-l-diversity", {"l": 3})], 3, Limits(None, None, 3, 3)),
        ([ALONE, promise("equivalence-safety", {"e": 2})], 3, Limits(None, 2, 3, 3)),
        # A probability that is promised is judged as ever.
        ([SHARE], 3, Limits(Fraction(1, 5), None, 5, None)),
        ([SHARE, PAIRS], 3, Limits(Fraction(1, 5), None, 4, None)),
        ([promise("m-invariance", {"m": 2}), HISTORY], 3, Limits(Fraction(1, 2), None, 2, 2)),
        ([promise("m-invariance", {"m": 2}), ALONE], 3, Limits(Fraction(1, 2), None, 3, None)),
    ],
)
def test_limits_follow_from_promises(promises: list[Any], releases: int | None, limits: Limits) -> None:
    assert limits_of(None, promises, releases=releases) == limits


def test_a_probability_that_is_given_is_judged_as_ever() -> None:
    assert limits_of(0.5, [HISTORY], releases=1) == Limits(Fraction(1, 2), None, 2, None)
    assert limits_of(0.5, [ALONE]) == Limits(Fraction(1, 2), None, 3, None)
    assert limits_of(0.1, []) == Limits(Fraction(1, 10), None, 10, None)


def test_promises_that_cannot_be_are_refused() -> None:
    for name, kind in (("inference-freedom", "InferenceFree"), ("history-l-diversity", "HistoryDiverse")):
        with pytest.raises(ParameterError, match=f"'l' parameter of {kind} must be a whole number"):
            limits_of(None, [promise(name, {"l": 2.5})])
    with pytest.raises(ParameterError, match="'diversity' parameter of HistoryDiverse must be 'distinct' or"):
        limits_of(None, [promise("history-l-diversity", {"l": 2, "diversity": "entropy"})])
    assert limits_of(None, [promise("history-l-diversity", {"l": 2.5, "diversity": "share"})]).probability == Fraction(
        2, 5
    )


# Worlds, against every world


def lettered(series: list[list[tuple[list[int], list[int]]]]) -> Published:
    """A view whose values are letters, of which some may not occur."""
    return Published(
        tuple(released(number, groups, range(4)) for number, groups in enumerate(series, 1)), tuple("abcd")
    )


def agrees(found: WorldsFindings, possible: dict[int, set[int]], complete: bool) -> Counter[str]:
    """Hold judgements for every l against the values that are possible; how often each status occurred."""
    statuses: Counter[str] = Counter()
    for l in range(1, 6):  # noqa: E741
        judged = found.judge(Limits(history_diversity=l), most=3)
        statuses[judged.status] += 1
        few = sorted(person for person, values in possible.items() if 0 < len(values) < l)
        claimed = found.fewer_than(l).tolist()
        assert set(claimed) <= set(few)
        if complete:
            assert claimed == few
            assert judged.status == ("beyond" if few else "within")
        if judged.status == "within":
            assert not few
        elif judged.status == "beyond":
            assert judged.count == len(claimed) > 0
            for finding in judged.findings:
                true = possible[finding.people[0]]
                assert finding.people[0] in claimed
                assert finding.probability is not None and finding.probability <= 1 / len(true)
                assert (finding.value is None) or {finding.value} == true
                assert f"person {finding.people[0]}" in finding.witness.text(found.published)
        else:
            assert judged.status == "undecided"
            assert not claimed
        beside = found.judge(Limits(diversity=l))
        assert beside.status == "not asked"
        told = f"{len(claimed):,} of" if claimed else "nobody of"
        assert beside.words.startswith(f"Not promised: over all releases together {told}")
        assert not (complete and "it is not known" in beside.words)
    return statuses


@pytest.mark.parametrize("seed", seeds(1, 8))
def test_what_is_judged_is_so_in_all_worlds(seed: int) -> None:
    rng = random.Random(seed)
    statuses: Counter[str] = Counter()
    for at in range(40):
        people = [*range(rng.randint(2, 7)), *range(-rng.randint(0, 2), 0)]
        series = random_series(rng, people, range(rng.randint(2, 4)), releases=rng.randint(1, 4), present=0.85, cuts=2)
        view = lettered(series)
        world = rng.choice(list(worlds(series)))
        real = sorted(person for person in world if person >= 0)
        known = {person: world[person] for person in rng.sample(real, min(len(real), rng.choice([0, 0, 1, 2])))}
        every = list(worlds(series, known))
        possible = {person: {one[person] for one in every} for person in real if person not in known}
        knowledge = Knowledge(compromised={person: "abcd"[value] for person, value in known.items()})
        statuses += agrees(Worlds().run(view, knowledge), possible, complete=True)
        # With next to no tables allowed, what cannot be counted is drawn or bounded.
        hasty = Worlds(entries=1, draws=300 * (at % 2))
        statuses += agrees(hasty.run(view, knowledge), possible, complete=False)
    assert min(statuses["within"], statuses["beyond"]) > 50


def test_undecided_is_said_where_nothing_is_proven() -> None:
    rng = random.Random(11)
    undecided: Counter[int] = Counter()
    for _ in range(25):
        truth = {person: rng.randrange(3) for person in range(8)}
        orders = [rng.sample(range(8), 8) for _ in range(2)]
        groups = [[order[:4], order[4:]] for order in orders]
        series = [[(some, [truth[person] for person in some]) for some in release] for release in groups]
        view = lettered(series)
        every = list(worlds(series))
        possible = {person: {one[person] for one in every} for person in truth}
        for draws in (0, 300):
            found = Worlds(entries=1, draws=draws).run(view)
            undecided[draws] += agrees(found, possible, complete=False)["undecided"]
    assert undecided[0] > 5
    # Worlds that were drawn prove what is possible.
    assert undecided[300] == 0


@pytest.mark.parametrize("draws", [0, 300])
def test_nothing_is_claimed_of_what_the_search_leaves_open(monkeypatch: pytest.MonkeyPatch, draws: int) -> None:
    """Without the search some values stay that are impossible: they must not be counted as possible."""
    monkeypatch.setattr("reissue.reasoning.worlds.posteriors.find_world", lambda *model, **how: None)
    rng = random.Random(2)
    loose = 0
    for _ in range(60):
        truth = {person: rng.randrange(3) for person in range(7)}
        orders = [rng.sample(range(7), 7) for _ in range(3)]
        groups = [[order[:4], order[4:]] for order in orders]
        series = [[(some, [truth[person] for person in some]) for some in release] for release in groups]
        view = lettered(series)
        every = list(worlds(series))
        found = Worlds(entries=1, draws=draws).run(view).possible
        for person, least, most in zip(found.people.tolist(), found.least.tolist(), found.most.tolist(), strict=True):
            true = len({one[person] for one in every})
            assert least <= true <= most
            loose += true < most
    assert loose > 0


def test_people_who_may_be_elsewhere_agree_with_all_worlds() -> None:
    """Worlds then also say who is where; what counts is which values somebody has who is in a release."""
    rng = random.Random(5)
    seen: Counter[str] = Counter()
    for _ in range(25):
        truth = {person: rng.randrange(3) for person in range(3)}
        groups, counts, sure = [], [], []
        for _ in range(rng.randint(1, 2)):
            order = rng.sample(range(3), 3)
            inside = [some for some in (order[:2], order[2:]) if rng.random() < 0.8] or [order]
            counts.append([Counter(truth[person] for person in some) for some in inside])
            listed = [[*some, *(one for one in range(4) if one not in some and rng.random() < 0.4)] for some in inside]
            groups.append(listed)
            sure.append(np.zeros(sum(map(len, listed)), dtype=bool))
        nobody = np.zeros(0, dtype=np.int64)
        shown = [[list(some.elements()) for some in release] for release in counts]
        releases = (
            released(at + 1, list(zip(groups[at], shown[at], strict=True)), range(4), sure=sure[at], present=nobody)
            for at in range(len(groups))
        )
        view = Published(tuple(releases), tuple("abcd"))
        possible: dict[int, set[int]] = {person: set() for release in groups for some in release for person in some}
        for places in product(*(product(*_choices(release)) for release in groups)):
            for world in product(range(3), repeat=4):
                if all(
                    Counter(world[person] for person in range(4) if where[person] == group) == shown
                    for where, release in zip(places, counts, strict=True)
                    for group, shown in enumerate(release)
                ):
                    for person in possible:
                        if any(where[person] >= 0 for where in places):
                            possible[person].add(world[person])
        seen += agrees(Worlds().run(view), possible, complete=True)
        seen += agrees(Worlds(entries=1, draws=0).run(view), possible, complete=False)
    assert min(seen["within"], seen["beyond"]) > 25


def _choices(release: list[list[int]]) -> list[list[int]]:
    """For each person the groups in which he may be, or -1: in none."""
    return [[-1, *(group for group, some in enumerate(release) if person in some)] for person in range(4)]


def test_a_derivation_by_hand() -> None:
    view = Published.from_groups(
        [
            [(["Ann", "Ben", "Cat"], ["a", "b", "c"])],
            [(["Ann", "Dan", "Eve"], ["a", "b", "d"])],
            [(["Ann", "Flo", "Gus"], ["a", "c", "d"])],
        ]
    )
    found = Worlds().run(view)
    judged = found.judge(Limits(history_diversity=2))
    assert (judged.status, judged.count) == ("beyond", 1)
    assert judged.words == "1 of 7 people has fewer than 2 possible values over all releases together; the fewest is 1."
    assert judged.findings[0].witness.text(view).endswith("only a is in all of them.")
    judged = found.judge(Limits(history_diversity=3), most=2)
    assert judged.count == 7
    told = [(one.what, one.value, one.kind, one.probability) for one in judged.findings]
    assert told == [("value", 0, "exact", 1.0), ("excluded", None, "bounded", 0.5)]
    text = judged.findings[1].witness.text(view)
    assert "release 1 group 1 holds Ann, Ben and Cat" in text
    assert text.endswith("agrees with every release gives Ben anything but b and c.")
    hidden = judged.findings[1].witness.text(view, name=lambda number: "X", show_values=False)
    assert hidden.endswith("gives X anything but value B and value C.")
    # Who is known beforehand is nobody at risk.
    known = Worlds().run(view, Knowledge(compromised={"Ann": "a"}))
    assert known.fewer_than(2).tolist() == []
    assert known.fewer_than(3).size == 6
    assert known.judge(Limits(history_diversity=2)).status == "within"


def test_both_limits_at_once() -> None:
    found = Worlds().run(Published.from_groups([[(["A", "B", "C"], ["x", "x", "y"])]]))
    half, much = Fraction(1, 2), Fraction(2, 3)
    assert found.judge(Limits(much, None, 2, 2)).status == "within"
    assert found.judge(Limits(half, None, 2, 2)).status == "beyond"
    judged = found.judge(Limits(half, None, 2, 3), most=4)
    assert (judged.status, judged.count, len(judged.findings)) == ("beyond", 6, 4)
    assert "more than 1/2" in judged.words and "fewer than 3 possible values" in judged.words


def test_releases_that_contradict_each_other_count_alone() -> None:
    releases = [
        [(["A", "B", "C"], ["x", "x", "y"]), (["P", "Q"], ["x", "y"])],
        [(["A", "B", "C"], ["x", "y", "y"]), (["P", "Q"], ["y", "x"])],
    ]
    found = Worlds().run(Published.from_groups(releases))
    assert found.judge(Limits(history_diversity=1)).status == "within"
    assert found.judge(Limits(history_diversity=2)).status == "undecided"
    judged = found.judge(Limits(history_diversity=3))
    assert (judged.status, judged.count) == ("beyond", 5)
    text = next(one for one in judged.findings if one.person == 0).witness.text(found.published)
    assert text.endswith("so each is taken alone: that one leaves A no value but x and y.")


@pytest.mark.parametrize("l", [0, -1, True, 1.5, "2"])
def test_a_number_of_values_is_whole(l: Any) -> None:  # noqa: E741
    with pytest.raises(ParameterError, match="'l' parameter of fewer_than must be a whole number of at least 1"):
        Worlds().run(THREE).fewer_than(l)


def test_many_people_at_once() -> None:
    """Two hundred thousand people in groups of four with two values each, the second release crossing the first."""
    people = np.arange(200_000, dtype=np.int64)
    starts = np.arange(0, 200_001, 4)
    values = np.tile([0, 1], 50_000)
    crossed = people.reshape(-1, 2, 4).transpose(0, 2, 1).reshape(-1)
    two = np.full(100_000, 2, dtype=np.int64)
    releases = tuple(
        PublishedGroups(number, members, starts, values, two, np.arange(0, 100_001, 2))
        for number, members in ((1, people), (2, crossed))
    )
    found = Worlds().run(Published(releases, ("a", "b")))
    assert found.judge(Limits(history_diversity=2)).status == "within"
    judged = found.judge(Limits(history_diversity=3), most=5)
    assert (judged.status, judged.count, len(judged.findings)) == ("beyond", 200_000, 5)


# Audit, report and gate


def test_what_pairs_promise_is_proven_by_channels_and_worlds_stands_beside(tmp_path: Path) -> None:
    report = audit(THREE, promises=IN_PAIRS)
    statuses = {name: one.status for name, one in report.judgements.items()}
    assert statuses == {
        "Worlds": "not asked",
        "Equivalence": "not asked",
        "Correlation": "not asked",
        "Channels": "within",
        "Minimality": "not asked",
        "Permanence": "not asked",
        "Tracking": "not asked",
    }
    assert report.passed
    told = "Not promised: over all releases together 1 of 10 people is proven to have fewer than 3 possible values."
    assert report.judgements["Worlds"].words == told
    assert report.verdict == (
        "Passed: Channels proved what was asked to be within the limits; values are counted, and no probability is "
        "promised. It rests on this: values stay (not contradicted) and nothing is perturbed (not tested)."
    )
    inference = report.criteria[2]
    assert inference.verdict == "met"
    assert "Values are counted, and no probability is promised or bounded." in inference.evidence
    assert told in inference.evidence
    assert repr(report).startswith("AuditReport(passed, at least 3 values by any two releases: ")
    text = report.text()
    limit = "Limit: at least 3 values must be left for anybody when two releases are compared; values are counted, and"
    assert f"{limit} no probability is promised." in text
    data = json.loads(report.to_json())
    assert data["limits"] == {
        "probability": None,
        "equivalence": None,
        "diversity": 3,
        "history_diversity": None,
        "correlation": None,
        "credibility": None,
    }
    assert (data["disclosure"]["above"], data["disclosure"]["open"]) == (None, None)
    page = report.to_html(tmp_path / "report.html").read_text()
    assert "no probability is promised" in page
    assert "above the limit" not in page
    for printed in (text, report.verdict, repr(report), page, report.to_json()):
        assert "limit None" not in printed and "None" not in printed
    # Channels alone is enough, and nothing else is.
    assert audit(THREE, promises=IN_PAIRS, attacks=["Channels"]).passed
    for names in (["Worlds"], ["Worlds", "Correlation"], ["Equivalence"]):
        alone = audit(THREE, promises=IN_PAIRS, attacks=names)
        assert not alone.passed
        assert alone.criteria[2].verdict == "undecided"
        assert any(
            "any two releases leave was not proven, because Channels was not run" in note for note in alone.notes
        )
    # A probability that is given is judged as ever.
    assert not audit(THREE, limit=1 / 3, promises=IN_PAIRS).passed


def test_the_whole_history_needs_worlds() -> None:
    calm = Published.from_groups([[(["A", "B", "C"], ["x", "y", "z"])], [(["A", "B", "C"], ["x", "y", "z"])]])
    for one in (promise("history-l-diversity", {"l": 3}), promise("distinct-l-diversity", {"l": 3})):
        assert audit(calm, promises=[one]).passed
        report = audit(calm, promises=[one], attacks=["Channels"])
        assert report.judgements["Channels"].status == "within"
        assert not report.passed
        assert "how many values are possible for everybody was not proven, because Worlds was not run" in report.verdict
        assert report.criteria[2].verdict == "undecided"
        accepted = audit(calm, promises=[one], attacks=["Channels"], accept=["undecided"])
        assert accepted.passed and "it was accepted that how many values" in accepted.verdict
        broken = audit(THREE, promises=[one])
        assert broken.judgements["Worlds"].status == "beyond"
        assert broken.judgements["Channels"].status == "within"
        assert not broken.passed
        assert broken.criteria[2].verdict == "not met"
    words = audit(calm, promises=[HISTORY]).text()
    assert "Limit: at least 2 possible values for everybody when all releases are taken together; values are" in words


def test_one_release_is_counted_by_worlds() -> None:
    view = Published.from_groups([[(["A", "B", "C"], ["x", "x", "y"])]])
    promises = [promise("distinct-l-diversity", {"l": 2}), promise("inference-freedom", {"l": 2})]
    report = audit(view, promises=promises)
    assert (report.judgements["Worlds"].status, report.judgements["Channels"].status) == ("within", "within")
    assert report.judgements["Worlds"].words == "Nobody of 3 people has fewer than 2 possible values."
    assert report.passed
    # The likelier value is told as it is.
    assert report.disclosure.highest == pytest.approx(2 / 3)
    few = audit(view, promises=[promise("distinct-l-diversity", {"l": 3})])
    assert few.judgements["Worlds"].status == "beyond" and not few.passed


@pytest.mark.parametrize(
    ("asked", "limits", "wanted"),
    [
        (["Channels"], Limits(diversity=2), ()),
        (["Worlds"], Limits(diversity=2), ("diversity",)),
        (["Correlation", "Equivalence"], Limits(diversity=2), ("diversity",)),
        (["Worlds"], Limits(diversity=2, history_diversity=2), ()),
        (["Channels"], Limits(diversity=2, history_diversity=2), ("history_diversity",)),
        (["Worlds"], Limits(diversity=3, history_diversity=2), ("diversity",)),
        ([], Limits(diversity=3, history_diversity=2), ("history_diversity", "diversity")),
        (["Worlds"], Limits(Fraction(1, 2), None, 9), ()),
        (["Channels"], Limits(Fraction(1, 2), None, 9), ("probability",)),
        # The same attack once more bounds no more than before.
        (["Correlation", "Correlation"], Limits(Fraction(1, 2)), ("probability",)),
    ],
)
def test_what_it_takes_to_prove_a_limit(asked: list[str], limits: Limits, wanted: tuple[str, ...]) -> None:
    assert lacking(map(kind_of, asked), limits) == wanted
    by_whom = {"probability": "Worlds", "history_diversity": "Worlds", "diversity": "Channels"}
    assert [proving(limit) for limit in wanted] == [by_whom[limit] for limit in wanted]


class Elsewhere(Attack):
    """An attack of another package that finds nothing, whatever is asked; it says of itself what that proves."""

    name: ClassVar[str] = "Elsewhere"
    words: ClassVar[str] = "Looks away."

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        return Answer(published)


class Prover(Elsewhere):
    """One that says of itself that its silence proves something."""

    name: ClassVar[str] = "Prover"
    proves: ClassVar[tuple[str, ...]] = ("probability",)


def test_an_attack_that_declares_nothing_proves_nothing() -> None:
    assert lacking([Elsewhere], Limits(Fraction(1, 2))) == ("probability",)
    assert lacking([Prover], Limits(Fraction(1, 2))) == ()
    assert lacking([Prover], Limits(diversity=2)) == ("diversity",)
    calm = Published.from_groups([[(["A", "B"], ["x", "y"])]])
    report = audit(calm, limit=1 / 2, attacks=[Elsewhere()])
    assert not report.passed
    assert report.judgements["Elsewhere"].status == "within"
    assert report.verdict.endswith("but the probability of a value was not bounded, because Worlds was not run.")
    assert audit(calm, limit=1 / 2, attacks=[Prover()]).passed


def test_an_attack_that_is_run_twice_proves_no_more() -> None:
    view = Published.from_groups([[(["A", "B", "C"], ["x", "x", "y"])]])
    assert not audit(view, limit=1 / 2, attacks=[Correlation(), Correlation(n=1)]).passed


def test_channels_cannot_be_asked_for_less_than_was_promised() -> None:
    with pytest.raises(ParameterError, match="'l' parameter of Channels must be at least 4, as was promised"):
        audit(THREE, promises=[PAIRS], attacks=[Channels(l=2)])
    assert not audit(THREE, promises=[PAIRS], attacks=[Channels(l=4)]).passed
    assert not audit(THREE, promises=[PAIRS], attacks=[Channels()]).passed
    # Beside a probability it is the caller's own question.
    assert audit(THREE, limit=1, promises=[PAIRS], attacks=[Channels(l=3), Worlds()]).passed


def test_an_attack_that_cannot_run_leaves_open_what_was_asked_of_it() -> None:
    class Cannot(Attack):
        name: ClassVar[str] = "Worlds"
        words: ClassVar[str] = "Cannot look."
        judges: ClassVar[tuple[str, ...]] = Worlds.judges

        def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
            raise ParameterError("The members are not known.")

    class Anything(Cannot):
        name = "Elsewhere"
        judges = ()

    pairs = IN_PAIRS[1:]
    report = audit(THREE, promises=pairs, attacks=[Cannot(), "Channels"])
    assert report.judgements["Worlds"].status == "not asked" and report.passed
    report = audit(THREE, promises=[HISTORY], attacks=[Cannot(), "Channels"])
    assert report.judgements["Worlds"].status == "undecided" and not report.passed
    assert not audit(THREE, promises=pairs, attacks=[Anything(), "Channels"]).passed


def test_promises_are_told_with_what_they_count() -> None:
    calm = Published.from_groups([[(["A", "B"], ["x", "y"])]])
    promises = [HISTORY, promise("share-l-diversity", {"l": 2, "protect": [["CANARY"]]})]
    assert [one.words for one in audit(calm, promises=promises).promises] == [
        "history-l-diversity (l = 2, diversity = distinct)",
        "share-l-diversity (l = 2, 1 protected set)",
    ]


def test_a_gate_tests_the_promise_that_was_made(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    # Every group holds two diagnoses, so two is what one release keeps; no limit has to be given.
    gated = replace(policy, gate=Gate())
    with ri.open(folder, gated) as series:
        release = series.publish(patients)
        found = release.summary["gate"]["found"]
        assert release.summary["gate"]["verdict"] == "passed"
        assert "Worlds (within): Nobody of 24 people has fewer than 2 possible values." in found
        # Nothing protects the series: the same people in other groups are given away, and the gate says so.
        with pytest.raises(GateClosed, match=r"Worlds \(beyond\): .* fewer than 2 possible values over all releases"):
            for people in (19, 14, 9):
                series.publish(patients.tail(people), seed=people)
    with pytest.raises(PolicyError, match="the gate needs the attack 'Worlds'"):
        replace(policy, gate=Gate(attacks=["Channels"]))


class Answer(Findings):
    """Says that everything is within, whatever is asked."""

    attack: ClassVar[str] = "Elsewhere"
    searched = ()
    undecided = ()
    limits: ClassVar[list[Limits]] = []

    def __init__(self, published: Published) -> None:
        self.published = published

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        return ()

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        self.limits.append(limits)
        return Judgement("within", "as told")


def test_attacks_of_other_packages_are_given_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer, "limits", [])
    audit(THREE, promises=[ALONE, PAIRS], attacks=[Elsewhere()])
    assert Answer.limits == [Limits(None, None, 4, None)]


def test_a_limit_that_is_given_reaches_channels_where_fewer_values_were_promised() -> None:
    view = ri.Published.from_groups([[(["a", "b"], ["u", "v"])], [(["a", "b", "c", "d"], ["u", "v", "u", "v"])]])
    promises = (promise("distinct-l-diversity", {"l": 2}), promise("inference-freedom", {"l": 2}))
    report = ri.audit(view, limit="1/5", attacks=["Channels"], promises=promises, accept=["undecided"])
    assert report.limits.diversity == 5
    assert not report.passed
    assert ri.audit(view, attacks=["Channels"], promises=promises).passed
