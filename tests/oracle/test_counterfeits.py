"""An adversary who recognises counterfeits, against every possible world of a few members."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from profiles import seeds
from worlds import random_series, series_of, view, worlds

from reissue.attacks.worlds.worlds import Worlds, WorldsFindings
from reissue.auditing.running import audit
from reissue.errors import ParameterError
from reissue.guarantees import EquivalenceSafe, MInvariant
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.worlds.residual import without_recognised

Series = list[list[tuple[list[int], list[str]]]]


def members(rng: random.Random) -> tuple[Series, dict[int, str]]:
    """A series of people and counterfeits, which are below 0, and a world that it may be."""
    people = [*range(rng.randint(1, 5)), *range(-rng.randint(1, 4), 0)]
    series: Series = random_series(rng, people, "abcd"[: rng.randint(2, 4)], releases=rng.randint(1, 3))
    every = list(worlds(series))
    return series, every[rng.randrange(len(every))]


def argued(rng: random.Random, truth: dict[int, str]) -> dict[int, list[str]]:
    """For some counterfeits the values they may have, the true one among them."""
    return {
        who: sorted({truth[who], *rng.sample("abcd", rng.randint(0, 3))} & set(truth.values()))
        for who in truth
        if who < 0 and rng.random() < 0.8
    }


def agrees(found: WorldsFindings, left: list[dict[int, str]]) -> Counter[str]:
    """Every figure is that of the worlds that are left; how often each kind occurred."""
    kinds: Counter[str] = Counter()
    rows = {(row["person"], row["value"]): row for row in found.posteriors.iter_rows(named=True)}
    assert all(person >= 0 for person, _ in rows)
    for person in (one for one in left[0] if one >= 0):
        for value in map(str, found.published.values):
            share = Fraction(sum(world[person] == value for world in left), len(left))
            row = rows.get((person, value))
            if row is None:
                assert share == 0
                continue
            kinds[row["kind"]] += 1
            assert row["low"] - 1e-12 <= share <= row["high"] + 1e-12
            if row["kind"] == "exact":
                assert Fraction(row["fraction"]) == share
            elif row["kind"] == "sampled":
                assert abs(row["probability"] - share) <= 4 * row["standard_error"] + 1e-9
    for person, certain in found.certain.items():
        assert {world[int(person)] for world in left} == {certain}
    return kinds


@pytest.mark.parametrize("seed", seeds(2, 12))
def test_every_figure_is_that_of_the_worlds_that_are_left(seed: int) -> None:
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    counted = narrower = 0
    for _ in range(150):
        series, truth = members(rng)
        known = argued(rng, truth)
        published = view(series)
        found = Worlds().run(published, Knowledge(counterfeits=known))
        every = list(worlds(series))
        left = [world for world in every if all(world[who] in values for who, values in known.items() if who in world)]
        kinds += agrees(found, left)
        counted += "counted" in found.found.told
        narrower += len(left) < len(every)
    assert kinds.keys() == {"exact"}
    assert kinds["exact"] > 500
    assert counted > 5
    assert narrower > 25


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_bounds_and_samples_too(seed: int) -> None:
    rng = random.Random(50 + seed)
    kinds: Counter[str] = Counter()
    for at in range(120):
        series, truth = members(rng)
        known = argued(rng, truth)
        found = Worlds(entries=1, draws=2000 if at % 2 else 0).run(view(series), Knowledge(counterfeits=known))
        kinds += agrees(found, [w for w in worlds(series) if all(w[who] in values for who, values in known.items())])
    assert kinds["sampled"] > 5
    assert kinds["bounded"] > 5


@pytest.mark.parametrize("seed", seeds(2, 12))
def test_those_known_with_their_values_are_as_good_as_gone(seed: int) -> None:
    """With counterfeits taken out, what is left is a series of people, whose worlds are those with these values."""
    rng = random.Random(200 + seed)
    for _ in range(80):
        series, truth = members(rng)
        known = {who: [value] for who, value in truth.items() if who < 0}
        published = view(series)
        seen, beside = without_recognised(published, Knowledge(counterfeits=known))
        assert beside is not None
        assert not beside.counterfeits
        assert not any((release.members < 0).any() for release in seen.releases)
        left = [world for world in worlds(series) if all(world[who] == values[0] for who, values in known.items())]
        people = [{who: value for who, value in world.items() if who >= 0} for world in left]
        codes = [{who: published.values.index(value) for who, value in world.items()} for world in people]
        assert sorted(map(str, codes)) == sorted(map(_in_order(codes), worlds(series_of(seen))))
        if not people[0]:
            continue
        agrees(Worlds().run(seen), people)
        agrees(Worlds().run(published, Knowledge(counterfeits=known)), left)


def _in_order(codes: list[dict[int, int]]) -> Any:
    """Worlds in words, people in the same order."""
    return lambda world: str({who: world[who] for who in codes[0]})


def groups(*some: tuple[list[int], str]) -> list[tuple[list[int], list[str]]]:
    """Groups with values of one letter each."""
    return [(who, list(values)) for who, values in some]


def test_one_over_the_people_of_the_group() -> None:
    """Two people and two counterfeits among four values: 1/4 for whoever cannot tell them, 1/2 for whoever can."""
    published = view([groups(([0, 1, -1, -2], "abcd"))])
    assert Worlds().run(published).probability(0, "a") == Fraction(1, 4)
    known = Worlds().run(published, Knowledge(counterfeits={-1: ["c"], -2: ["d"]}))
    assert [known.probability(0, value) for value in "abcd"] == [Fraction(1, 2), Fraction(1, 2), 0, 0]
    # That no counterfeit has a: one of the two people has it, and any of the other values is as likely as another.
    argued_ = Worlds().run(published, Knowledge(counterfeits={-1: [*"bcd"], -2: [*"bcd"]}))
    assert [argued_.probability(0, value) for value in "abcd"] == [Fraction(1, 2), *[Fraction(1, 6)] * 3]


def test_somebody_alone_among_counterfeits_is_certain() -> None:
    published = view([groups(([0, -1, -2], "abc"))])
    found = Worlds().run(published, Knowledge(counterfeits={-1: ["b", "c"], -2: ["b", "c"]}))
    assert found.certain == {0: "a"}
    told = found.witnesses[0].text(published)
    assert "counterfeit 1 was not given a." in told
    assert "no value but a" in told


def report_of(published: Published, known: dict[int, list[object]] | None = None, **more: Any) -> Any:
    """An audit at 1/3."""
    return audit(published, None if known is None else Knowledge(counterfeits=known), promises=[MInvariant(3)], **more)


def test_an_audit_passes_only_against_whom_it_was_made() -> None:
    published = view([groups(([0, 1, 2], "abc"), ([3, 4, -1], "abd"))])
    report = report_of(published)
    assert report.passed
    assert any("Some rows are counterfeits" in note for note in report.notes)
    for known in ([["d"]], [["b", "d"]]):
        worse = report_of(published, {-1: known[0]})
        assert not worse.passed
        assert worse.disclosure.highest == 0.5
        assert not any("Some rows are counterfeits" in note for note in worse.notes)
        assert {finding.people for finding in worse.findings} == {(3,), (4,)}
        assert worse.criteria[2].verdict == "not met"
    assert "They recognise 1 counterfeit, and know the value" in report_of(published, {-1: ["d"]}).to_json()
    assert "conclude from why they were made" in report_of(published, {-1: ["b", "d"]}).to_json()


def test_what_does_not_argue_from_it_proves_nothing_about_who_does() -> None:
    """A counterfeit that is told apart leaves two people equal; with the values of both it is seen, else it is open."""
    series = [groups(([0, 1, -1, -2], "abab")), groups(([2, 3, -1, -3], "abab"))]
    published = view(series)
    promised = [EquivalenceSafe(2)]
    assert audit(published, attacks=["Equivalence"], limit=1, promises=promised).runs[0].judgement.status == "within"
    argued_ = Knowledge(counterfeits={-1: ["a", "b"]})
    run = audit(published, argued_, attacks=["Equivalence"], limit=1, promises=promised).runs[0]
    assert run.judgement.status == "undecided"
    assert "without what is known of counterfeits" in run.judgement.words


def test_sets_of_people_are_as_small_as_they_are_without_counterfeits() -> None:
    """A and a counterfeit have the values of B and another: with both counterfeits known A has the value of B."""
    published = view([groups(([0, -1], "ab")), groups(([1, -2], "ab"))])
    promised = [EquivalenceSafe(2)]
    asked: dict[str, Any] = {"attacks": ["Equivalence", "Worlds"], "limit": 1, "promises": promised}
    assert audit(published, **asked).passed
    known = audit(published, Knowledge(counterfeits={-1: ["b"], -2: ["b"]}), **asked)
    assert not known.passed


def test_risks_are_those_of_the_people_left() -> None:
    published = view([groups(([0, -1, -2], "abc"), ([1, 2, 3], "abc"))])
    assert report_of(published).risks["smallest_group"].to_list() == [3]
    known = report_of(published, {-1: ["b"], -2: ["c"]})
    assert known.risks["smallest_group"].to_list() == [1]
    assert known.risks["prosecutor_highest"].to_list() == [1.0]


def test_a_group_of_nothing_but_counterfeits_is_nobody() -> None:
    published = view([groups(([0, 1, 2], "abc"), ([-1, -2, -3], "abc"))])
    report = report_of(published, {-1: ["a"], -2: ["b"], -3: ["c"]})
    assert report.passed
    assert report.risks["smallest_group"].to_list() == [3]
    assert "counterfeit" not in report.text().replace("counterfeits", "")


@pytest.mark.parametrize("known", [{-9: ["a"]}, {0: ["a"]}, {-1: ["z"]}, {-1: ["a"], -2: [["a"]]}])
def test_what_does_not_fit_the_view_is_refused(known: dict[int, list[object]]) -> None:
    published = view([groups(([0, 1, -1, -2], "abcd"))])
    with pytest.raises(ParameterError, match="does not fit the releases"):
        Worlds().run(published, Knowledge(counterfeits=known))
    with pytest.raises(ParameterError, match="does not fit the releases"):
        report_of(published, known)


@pytest.mark.parametrize("known", [{-1: []}, {-1: "ab"}, [-1], {-1: 1}])
def test_what_is_no_knowledge_is_refused(known: Any) -> None:
    with pytest.raises(ParameterError, match="'counterfeits' parameter"):
        Knowledge(counterfeits=known)


def test_a_value_that_the_group_has_not_is_a_contradiction() -> None:
    published = view([groups(([0, 1, -1], "abc"), ([2, 3, 4], "abd"))])
    with pytest.raises(ParameterError, match="contradicts the releases"):
        Worlds().run(published, Knowledge(counterfeits={-1: ["d"]}))
    assert np.array_equal(published.releases[0].counts, np.ones(6))
