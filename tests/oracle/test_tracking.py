"""Tracking against brute force: every course of values written down, and what was planted must be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks import Limits, Tracking
from reissue.model.change import change_of
from reissue.model.published import Published
from tests.published_sets import designs_of, labels_of, view_of_sets

Set = tuple[int, ...]
Shares = Sequence[float]

FIVE = [0.3, 0.25, 0.2, 0.15, 0.1]


# Brute force


def sampford(shares: Shares, m: int) -> dict[Set, float]:
    """Sampford's design, from its definition."""
    pi = [m * share for share in shares]
    weights = {
        chosen: prod(pi[v] / (1 - pi[v]) for v in chosen) * sum(1 - pi[v] for v in chosen)
        for chosen in combinations(range(len(shares)), m)
    }
    return {chosen: weight / sum(weights.values()) for chosen, weight in weights.items()}


def given(design: Mapping[Set, float], value: int, chosen: Set) -> float:
    """P(set | value)."""
    if value not in chosen:
        return 0.0
    return design[chosen] / sum(chance for some, chance in design.items() if value in some)


def table_of(rate: float, shares: Shares) -> Any:
    return (1 - rate) * np.eye(len(shares)) + rate * np.array(shares)


class Person:
    """The mechanism with a declared rate, and a person's sets by time; what a chain of one's own makes of them."""

    def __init__(self, shares: Shares, m: int, rate: float, chain: Any, prior: Shares | None = None) -> None:
        self.shares, self.rate, self.chain = shares, rate, chain
        self.design = sampford(shares, m)
        self.prior = shares if prior is None else prior

    def mechanism(self, sets: Mapping[int, Set], course: Mapping[int, int]) -> float:
        """The chance of the sets, given values at the same times."""
        times = sorted(sets)
        weight = given(self.design, course[times[0]], sets[times[0]])
        for before, now in pairwise(times):
            old, new = course[before], course[now]
            fresh = given(self.design, new, sets[now])
            if old != new:
                weight *= fresh
                continue
            redrawn = 1 - (1 - self.rate) ** (now - before)
            share = self.shares[new]
            coin = redrawn * share / (1 - redrawn + redrawn * share)
            weight *= coin * fresh + (1 - coin) * (sets[before] == sets[now])
        return weight

    def life(self, times: Sequence[int], course: Sequence[int]) -> float:
        """The chance of values at some times."""
        weight = self.prior[course[0]]
        for (before, old), (now, new) in pairwise(zip(times, course, strict=True)):
            weight *= np.linalg.matrix_power(self.chain, now - before)[old, new]
        return float(weight)

    def posterior(self, sets: Mapping[int, Set]) -> dict[int, Any]:
        """For each time the chance of each value."""
        times = sorted(sets)
        found = {time: np.zeros(len(self.shares)) for time in times}
        for course in product(*(sets[time] for time in times)):
            weight = self.life(times, course) * self.mechanism(sets, dict(zip(times, course, strict=True)))
            for time, value in zip(times, course, strict=True):
                found[time][value] += weight
        return {time: one / one.sum() for time, one in found.items()}


def drawn(rng: np.random.Generator, person: Person, rate: float, times: Sequence[int]) -> dict[int, Set]:
    """Sets of somebody whose values are redrawn with one rate, published with another."""
    chosen, last = [*person.design], -1
    sets: dict[int, Set] = {}
    value = shown = int(rng.choice(len(person.shares), p=person.shares))
    for time in range(max(times) + 1):
        if time and rng.random() < rate:
            value = int(rng.choice(len(person.shares), p=person.shares))
        if time not in times:
            continue
        redrawn = 1 - (1 - person.rate) ** (time - last)
        share = person.shares[value]
        coin = redrawn * share / (1 - redrawn + redrawn * share)
        if last < 0 or shown != value or rng.random() < coin:
            chances = np.array([given(person.design, value, one) for one in chosen])
            sets[time] = chosen[rng.choice(len(chosen), p=chances / chances.sum())]
        else:
            sets[time] = sets[last]
        last, shown = time, value
    return sets


def view_of(people: Sequence[Mapping[int, Set]], shares: Shares, m: int, change: Any, releases: int) -> Published:
    rows = [{at: one[time] for at, one in enumerate(people) if time in one} for time in range(releases)]
    return view_of_sets(rows, designs_of([shares], m, change))


def matches(found: Any, person: int, expected: Mapping[int, Any]) -> None:
    labels = labels_of(30)
    for time, chances in expected.items():
        for value, chance in enumerate(chances):
            told = found.probability(person, labels[value], time + 1)
            assert float(told) == pytest.approx(chance, abs=1e-12)


# One person at a time, under any model


@pytest.mark.parametrize("seed", range(12))
def test_posteriors_are_those_of_brute_force(seed: int) -> None:
    """Declared and other models, absences, latecomers, another prior."""
    rng = np.random.default_rng(seed)
    rate = float(rng.choice([0.2, 0.5, 0.9]))
    own: Any = [("declared", table_of(rate, FIVE)), ("static", np.eye(5)), (0.1, table_of(0.1, FIVE))][seed % 3]
    change, chain = own
    prior = None if seed % 2 else rng.dirichlet(np.ones(5)).tolist()
    if change != "static" and prior is not None:
        chain = table_of(rate if change == "declared" else change, prior)
    person = Person(FIVE, 3, rate, chain, prior)
    patterns = [(0, 1, 2, 3), (0, 2, 3), (1, 3), (0, 3), (2,)]
    people = [drawn(rng, person, 0.0 if change == "static" else 0.4, times) for times in patterns]
    view = view_of(people, FIVE, 3, rate, 4)
    mapping = None if prior is None else dict(zip(view.values, prior, strict=True))
    found = Tracking(change=change, prior=mapping).run(view)
    for number, sets in enumerate(people):
        matches(found, number, person.posterior(sets))


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_change_are_those_of_brute_force(seed: int) -> None:
    """Rates by value and transitions, on sets that were renewed by one rate, or on change only."""
    rng = np.random.default_rng(seed)
    labels = labels_of(5)
    rate = 0.3 if seed % 2 else 0.0
    if seed % 3:
        chain = rng.dirichlet(np.ones(5), size=5)
        change: Any = {a: dict(zip(labels, map(float, chain[at]), strict=True)) for at, a in enumerate(labels)}
    else:
        rates = rng.random(5)
        chain = np.diag(1 - rates) + rates[:, None] * np.array(FIVE)
        change = dict(zip(labels, map(float, rates), strict=True))
    person = Person(FIVE, 3, rate, chain)
    people = [drawn(rng, person, 0.5, times) for times in [(0, 1, 2), (0, 2), (0, 1, 2)]]
    found = Tracking(change=change).run(view_of(people, FIVE, 3, rate or None, 3))
    for number, sets in enumerate(people):
        matches(found, number, person.posterior(sets))


@pytest.mark.parametrize("rate", [None, 0.1, 0.7, 1.0])
def test_the_declared_model_gives_exactly_one_in_m(rate: float | None) -> None:
    rng = np.random.default_rng(5)
    person = Person(FIVE, 3, rate or 0.0, None)
    people = [drawn(rng, person, rate or 0.0, times) for times in [(0, 1, 2, 3), (0, 2), (1, 2, 3)] * 5]
    found = Tracking().run(view_of(people, FIVE, 3, rate, 4))
    assert set(found.posteriors["fraction"]) == {"1/3"}
    assert found.judge(Limits(Fraction(1, 3))).status == "within"
    assert found.judge(Limits(Fraction(1, 4))).status == "beyond"
    assert found.certain == {}


def test_over_declared_rates_tell_what_the_page_says() -> None:
    """Declared 0.5 where it is 0.1: 0.63 and 0.85 after two and three releases, at most."""
    worst = []
    for length in (2, 3):
        person = Person(FIVE, 3, 0.5, table_of(0.1, FIVE))
        every = [*product(person.design, repeat=length)]
        people = [dict(enumerate(course)) for course in every]
        found = Tracking(change=0.1).run(view_of(people, FIVE, 3, 0.5, length))
        worst.append(found.risks["probability"].max())
        brute = [max(one.max() for one in person.posterior(sets).values()) for sets in people]
        assert worst[-1] == pytest.approx(max(brute), abs=1e-12)
    assert [round(one, 2) for one in worst] == [0.63, 0.85]


def test_versions_use_what_was_in_force() -> None:
    """Absent over a new version of the shares; the declared model still gives one in m, an own one does not."""
    new = [0.1, 0.15, 0.2, 0.25, 0.3]
    designs = designs_of([FIVE, new], 3, 0.4)
    first = designs_of([FIVE], 3, 0.4)
    releases = [{0: (0, 1, 2), 1: (0, 1, 2)}, {1: (0, 1, 2)}, {0: (0, 3, 4), 1: (0, 2, 4)}]
    made = [{0: 0, 1: 0}, {1: 0}, {0: 0, 1: 1}]
    view = view_of_sets(releases, [first, designs, designs], design=made)
    found = Tracking().run(view)
    assert set(found.posteriors["fraction"]) == {"1/3"}
    own = Tracking(change=0.05).run(view)
    # Person 1 by hand: kept into release 2 and renewed in release 3, with the new version.
    old_law, new_law = sampford(FIVE, 3), sampford(new, 3)
    total = np.zeros(5)
    for v1, v2, v3 in product((0, 1, 2), (0, 1, 2), (0, 2, 4)):
        weight = FIVE[v1] * given(old_law, v1, (0, 1, 2))
        # The step into release 2 is of the new version, as that is in force there; its sets are of it too.
        weight *= 0.95 * (v1 == v2) + 0.05 * new[v2]
        coin = 0.4 * new[v2] / (0.6 + 0.4 * new[v2])
        weight *= (1 - coin) if v1 == v2 else 0.0
        weight *= 0.95 * (v2 == v3) + 0.05 * new[v3]
        coin = 0.4 * new[v3] / (0.6 + 0.4 * new[v3])
        weight *= given(new_law, v3, (0, 2, 4)) * (coin if v2 == v3 else 1.0)
        total[v3] += weight
    for value, chance in enumerate(total / total.sum()):
        assert float(own.probability(1, view.values[value], 3)) == pytest.approx(chance, abs=1e-12)


# What is known beside the releases


def test_compromised_people_tell_nothing_about_others_and_know_their_own() -> None:
    rng = np.random.default_rng(2)
    person = Person(FIVE, 3, 0.3, None)
    people = [drawn(rng, person, 0.3, (0, 1, 2)) for _ in range(6)]
    view = view_of(people, FIVE, 3, 0.3, 3)
    known = view.values[people[0][2][0]]
    found = Tracking().run(view, ri.Knowledge(compromised={0: known}))
    assert found.probability(0, known, 3) == 1
    assert {str(found.probability(1, view.values[value], 1)) for value in people[1][0]} == {"1/3"}
    judged = found.judge(Limits(Fraction(1, 3)))
    assert judged.status == "within" and "5 people" in judged.words
    assert found.certain == {}


@pytest.mark.parametrize(("together", "expected"), [(0.3, 0.548), (0.6, 0.75), (1.0, 1.0)])
def test_relatives_push_it_as_the_page_says(together: float, expected: float) -> None:
    """Ten equal values, sets of three that meet in one."""
    view = view_of_sets([{0: (0, 1, 2), 1: (2, 3, 4)}], designs_of([[0.1] * 10], 3, None))
    found = Tracking(household={0: "x", 1: "x"}, together=together).run(view)
    assert float(found.probability(0, "c", 1)) == pytest.approx(expected, abs=1e-3)
    assert (found.certain == {0: "c", 1: "c"}) == (together == 1)


@pytest.mark.parametrize("seed", range(8))
def test_households_are_those_of_brute_force(seed: int) -> None:
    """Two relatives over three releases, one of them absent in every other case, with and without a known value."""
    rng = np.random.default_rng(seed)
    rate, together = 0.4, 0.6
    chain = table_of(0.2, FIVE)
    person = Person(FIVE, 3, rate, chain)
    times = [(0, 1, 2), (0, 1, 2) if seed % 2 else (0, 2)]
    both = [drawn(rng, person, 0.4, some) for some in times]
    view = view_of(both, FIVE, 3, rate, 3)
    knowledge, told = None, None
    if seed % 4 > 1:
        told = both[1][2][0]
        knowledge = ri.Knowledge(compromised={1: view.values[told]})
    found = Tracking(change=0.2, household={0: 1, 1: 1}, together=together).run(view, knowledge)
    expected = np.zeros((3, 5))
    every = [0, 1, 2]
    for one in product(range(5), repeat=3):
        for other in product(range(5), repeat=3):
            if told is not None and other[2] != told:
                continue
            weight = (1 - together) * person.life(every, one) * person.life(every, other)
            weight += together * person.life(every, one) * (one == other)
            weight *= person.mechanism(both[0], dict(enumerate(one))) * person.mechanism(
                both[1], dict(enumerate(other))
            )
            for time, value in enumerate(one):
                expected[time, value] += weight
    expected /= expected.sum(axis=1, keepdims=True)
    matches(found, 0, dict(enumerate(expected)))


# What must be found


def test_a_second_set_for_one_value_gives_it_away() -> None:
    """Declared static: whoever gets another set has what both hold."""
    view = view_of_sets([{0: (0, 1, 2), 1: (1, 2, 3)}, {0: (0, 3, 4), 1: (1, 2, 3)}], designs_of([FIVE], 3, None))
    found = Tracking().run(view)
    assert found.certain == {0: "a"}
    judged = found.judge(Limits(Fraction(1, 3)))
    assert judged.status == "beyond" and judged.count == 1
    assert judged.findings[0].witness.text(view) == (
        "person 0 is shown with one of a, b and c in release 1 and one of a, d and e in release 2. Only a is in all of "
        "them, and values change as declared. So person 0 has a in release 1."
    )
    assert found.probability(1, "b", 1) == Fraction(1, 3)


def test_sets_that_contradict_each_other_are_undecided() -> None:
    six = [1 / 6] * 6
    view = view_of_sets([{0: (0, 1, 2)}, {0: (3, 4, 5)}], designs_of([six], 3, None))
    found = Tracking().run(view)
    assert found.judge(Limits(Fraction(1, 3))).status == "undecided"
    assert "contradict" in found.undecided[0]


def test_slots_and_harmless_values() -> None:
    shares = [0.4, 0.2, 0.15, 0.15, 0.1]
    two = view_of_sets([{0: (0, 0, 1, 2), 1: (1, 2, 3, 4)}], designs_of([shares], 4, None, {0: 2}))
    found = Tracking().run(two)
    assert found.probability(0, "a", 1) == Fraction(1, 2)
    assert found.probability(0, "b", 1) == Fraction(1, 4)
    assert found.judge(Limits(Fraction(1, 2))).status == "within"
    assert found.judge(Limits(Fraction(1, 4))).status == "beyond"
    even = [0.4, 0.15, 0.15, 0.15, 0.15]
    harmless = view_of_sets([{0: (0, 0, 0, 0), 1: (1, 2, 3, 4)}], designs_of([even], 4, None, {0: 4}))
    judged = Tracking().run(harmless).judge(Limits(Fraction(1, 4)))
    assert judged.status == "within" and "harmless" in judged.words


# Whether the declared rate fits


def many(rate: float, declared: float, people: int, releases: int, seed: int) -> Published:
    """Many people whose values are redrawn with one rate, with another declared."""
    rng = np.random.default_rng(seed)
    shares = np.full(12, 1 / 12)
    design = designs_of([shares.tolist()], 4, declared)
    values = rng.integers(12, size=people)

    def fresh(of: Any) -> Any:
        """Equal shares: any m - 1 of the others."""
        keys = rng.random((of.size, 12))
        keys[np.arange(of.size), of] = -1
        return np.sort(np.argsort(keys, axis=1)[:, :4], axis=1)

    sets = fresh(values)
    rows = [sets.copy()]
    coin = declared / 12 / (1 - declared + declared / 12)
    for _ in range(releases - 1):
        redrawn = rng.random(people) < rate
        now = np.where(redrawn, rng.integers(12, size=people), values)
        new = (now != values) | (rng.random(people) < coin)
        values = now
        sets = sets.copy()
        sets[new] = fresh(values[new])
        rows.append(sets)
    return view_of_sets([{at: tuple(row) for at, row in enumerate(one.tolist())} for one in rows], design)


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_a_rate_that_fits_is_not_remarked(rate: float) -> None:
    inside = 0
    for seed in range(20):
        found = Tracking().run(many(rate, rate, 300, 5, seed))
        [fit] = found.fits
        inside += fit.low <= rate <= fit.high
        assert fit.high - fit.low < 0.15
        if fit.low <= rate <= fit.high:
            assert found.judge(Limits(Fraction(1, 4))).status == "within"
    assert inside >= 19


def test_a_rate_that_is_far_too_large_is_said_loudly() -> None:
    found = Tracking().run(many(0.1, 0.5, 300, 5, 1))
    [fit] = found.fits
    assert fit.over and fit.low < 0.1 < fit.high
    judged = found.judge(Limits(Fraction(1, 4)))
    assert judged.status == "undecided"
    assert "Declared 0.5, looks like 0.0" in judged.words and "the dangerous direction" in judged.words


def test_a_rate_that_is_too_small_is_remarked() -> None:
    found = Tracking().run(many(0.3, 0.1, 300, 5, 1))
    [fit] = found.fits
    assert fit.under and fit.low < 0.3 < fit.high
    judged = found.judge(Limits(Fraction(1, 4)))
    assert judged.status == "within" and "more often than was declared" in judged.words


# Groups


def test_groups_are_an_estimate() -> None:
    """Static signatures, by hand: one of two values in both, redrawn with chance 0.5 by equal shares."""
    view = Published.from_groups([[(["A", "B"], ["x", "y"])], [(["A", "C"], ["x", "z"])]])
    assert Tracking().run(view).judge(Limits(Fraction(1, 2))).status == "not asked"
    found = Tracking(change=0.5, prior={"x": 1, "y": 1, "z": 1}).run(view)
    chances = {("x", "x"): 0.5 + 0.5 / 3, ("x", "z"): 0.5 / 3, ("y", "x"): 0.5 / 3, ("y", "z"): 0.5 / 3}
    expected = (chances["x", "x"] + chances["x", "z"]) / sum(chances.values())
    assert found.probability("A", "x", 1) == pytest.approx(expected, abs=1e-12)
    assert found.judge(Limits(Fraction(1, 2))).status == "undecided"
    assert found.judge(Limits(Fraction(9, 10))).status == "sampled"
    assert set(found.posteriors["kind"]) == {"sampled"}


# Audits


def static_view(people: int, regions: bool = True) -> Published:
    rng = np.random.default_rng(3)
    person = Person(FIVE, 3, 0.0, None)
    sets = [drawn(rng, person, 0.0, (0, 1)) for _ in range(people)]
    rows = [{at: one[time] for at, one in enumerate(sets)} for time in (0, 1)]
    frame = pl.DataFrame({"age": [at % 3 for at in range(people)]})
    return view_of_sets(rows, designs_of([FIVE], 3, None), region=[frame, frame] if regions else None)


def test_an_audit_of_static_sets_passes_and_the_bridge_agrees() -> None:
    view = static_view(12)
    report = ri.audit(view, limit="1/3", form="alternatives")
    statuses = {name: judgement.status for name, judgement in report.judgements.items()}
    assert statuses == {
        "Worlds": "within",
        "Equivalence": "not asked",
        "Correlation": "within",
        "Channels": "not asked",
        "Minimality": "not asked",
        "Permanence": "not asked",
        "Tracking": "within",
    }
    assert report.passed
    assert {str(one) for one in report.posteriors["fraction"]} == {"1/3"}
    tracked = ri.audit(view, limit="1/3", attacks=["Tracking"])
    assert tracked.passed
    assert not ri.audit(view, limit="1/3", attacks=["Worlds"]).passed
    told = report.text()
    assert "one of these 3 is true" in told
    assert report.risks["smallest_group"].to_list() == [4, 4]
    assert report.risks["attribute_highest"].to_list() == [1 / 3, 1 / 3]
    assert report.criteria[0].verdict == "met"


def test_an_audit_of_renewed_sets_is_for_tracking_alone(tmp_path: Path) -> None:
    view = many(0.2, 0.2, 60, 4, 1)
    report = ri.audit(view, ri.Knowledge(compromised={0: view.values[view.sets[-1].codes[0, 0]]}), limit="1/4")
    assert report.judgements["Worlds"].status == "not asked"
    assert "Tracking is for that" in report.judgements["Worlds"].words
    assert report.judgements["Tracking"].status == "within" and report.passed
    assert report.people.height == 59
    report.to_html(tmp_path / "report.html")
    assert report.to_dict()["passed"]
    assert not isinstance(view.releases, tuple) and not view.releases._groups, "nothing was turned into groups"


def test_an_audit_finds_a_planted_leak() -> None:
    rng = np.random.default_rng(3)
    person = Person(FIVE, 3, 0.0, None)
    sets = [drawn(rng, person, 0.0, (0, 1)) for _ in range(20)]
    sets[7] = {0: (0, 1, 2), 1: (2, 3, 4)}
    view = view_of(sets, FIVE, 3, None, 2)
    report = ri.audit(view, limit="1/3")
    assert not report.passed
    assert [finding.people for finding in report.findings] == [(7,)]
    assert report.findings[0].probability == 1 and report.findings[0].kind == "exact"
    assert report.disclosure.certain == 1


def test_groups_are_none_of_its_business() -> None:
    view = Published.from_groups([[(["A", "B"], ["x", "y"])]])
    report = ri.audit(view, limit="1/2")
    assert report.judgements["Tracking"].status == "not asked" and report.passed
    assert not ri.audit(view, limit="1/2", attacks=["Tracking"]).passed


# Permanent values and linked lives


def test_a_permanent_value_grows_by_what_may_have_been_caught() -> None:
    """The page: P(w) = 1 - (1 - 1/m)(1 - p(w))^r after r renewals, and before them it stays at 1/m."""
    releases = [{0: (0, 1, 4)}, {0: (2, 3, 4)}, {0: (0, 2, 4)}]
    view = view_of_sets(releases, designs_of([FIVE], 3, 0.5))
    found = Tracking().run(view, ri.Knowledge(permanent=["e"]))
    for release in (1, 2, 3):
        expected = 1 - (2 / 3) * 0.9 ** (release - 1)
        assert float(found.probability(0, "e", release)) == pytest.approx(expected, abs=1e-12)
    lost = view_of_sets([{0: (0, 1, 4)}, {0: (1, 2, 3)}], designs_of([FIVE], 3, 0.5))
    assert Tracking().run(lost, ri.Knowledge(permanent=["e"])).judge(Limits(Fraction(1, 3))).status == "undecided"


def test_linked_lives_are_weighed_by_the_two_chains() -> None:
    """With the declared chain each life is one in m; with another, by the product of T' / T over its moves."""
    labels = labels_of(4)
    chain = 0.6 * np.eye(4) + 0.1
    table = {a: dict(zip(labels, map(float, chain[at]), strict=True)) for at, a in enumerate(labels)}
    plain = designs_of([[0.25] * 4], 2, None)
    designs = replace(plain, change=change_of(table).to_dict(), linked=True)
    lives = [[0, 1], [0, 2], [0, 2]]
    view = view_of_sets([{0: tuple(row)} for row in lives], designs)
    assert Tracking().run(view).probability(0, "a", 2) == Fraction(1, 2)
    own = 0.2 * np.eye(4) + 0.2
    other = {a: dict(zip(labels, map(float, own[at]), strict=True)) for at, a in enumerate(labels)}
    found = Tracking(change=other).run(view)
    weights = [prod(own[a[at], b[at]] / chain[a[at], b[at]] for a, b in pairwise(lives)) for at in (0, 1)]
    assert float(found.probability(0, "a", 1)) == pytest.approx(weights[0] / sum(weights), abs=1e-12)
    assert Tracking(change=None).run(view).certain == {0: "a"}
