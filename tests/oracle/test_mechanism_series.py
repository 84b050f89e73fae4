"""`Mechanism` over several releases, against series that are published in memory, one for each history there may be.

Brute force here knows nothing of the attack: it drafts every release as a publisher does, compares public tables, and
adds up. Where a method draws, its generator is replaced by one that goes through every outcome.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Limits
from reissue.attacks.mechanism.mechanism_findings import MechanismFindings
from reissue.methods.base import Method, Takes
from reissue.model.snapshot import Snapshot
from reissue.publishing import drafting
from reissue.publishing.draft import Draft
from reissue.publishing.history import History
from reissue.publishing.refusals import check_feasible
from reissue.publishing.rehearsal import Rehearsal

There = Sequence[Sequence[int]]
"""For each release who is in its table."""
Step = Callable[[str, str], Fraction]
"""How likely one value becomes another until the next release."""
HALF = Fraction(1, 2)
PLACES = [4, 1, 8, 3, 9, 6]


def schema_of(domain: str) -> ri.Schema:
    return ri.Schema("who", {"x": ri.Numeric(low=0, high=9)}, {"what": ri.Categorical(tuple(domain))})


def policy_of(method: Any, domain: str, form: Any = "generalised") -> ri.Policy:
    return ri.Policy(
        schema_of(domain), method, form=form, series="protected" if method.protects_series else "unprotected"
    )


def table_of(people: Sequence[int], values: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"who": list(people), "x": [PLACES[one] for one in people], "what": list(values)})


# Draws


class Scripted:
    """A generator that permutes as a script says, and notes how many ways there were."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.ways = script, list[int]()

    def permutation(self, rows: Any) -> Any:
        left = np.asarray(rows).tolist()
        at = len(self.ways)
        way = self.script[at] if at < len(self.script) else 0
        self.ways.append(factorial(len(left)))
        order = []
        while left:
            way, place = divmod(way, len(left))
            order.append(left.pop(place))
        return np.array(order, dtype=np.int64)

    def random(self, size: int) -> Any:
        """It parts people at the same place only, and nobody is."""
        return np.full(size, 0.5)

    def integers(self, most: int, size: Any) -> Any:
        """It is for the cells of counterfeits only; a series that has some is not the one that was published."""
        return np.zeros(size, dtype=np.int64)


def every_draw(
    made: Callable[[], Draft | None], patched: pytest.MonkeyPatch
) -> Iterator[tuple[Draft | None, Fraction]]:
    """What comes of a draft with every outcome of what is drawn for it, and how likely that is."""
    script: list[int] | None = []
    while script is not None:
        drawn = Scripted(script)
        patched.setattr(drafting, "generator", lambda seed, drawn=drawn: drawn)
        yield made(), Fraction(1, prod(drawn.ways))
        script = (script + [0] * len(drawn.ways))[: len(drawn.ways)]
        while script and script[-1] + 1 == drawn.ways[len(script) - 1]:
            script.pop()
        script = [*script[:-1], script[-1] + 1] if script else None


# Histories


def content(draft: Draft) -> Hashable:
    return tuple((name, tuple(sorted(map(repr, frame.rows())))) for name, frame in sorted(draft.tables.items()))


@dataclass(frozen=True)
class World:
    """A series that was published, and everything that somebody knows of it who does not know the values."""

    policy: ri.Policy
    there: There
    domain: str
    drafts: list[Draft]
    ids: list[int]

    @classmethod
    def of(cls, policy: ri.Policy, there: There, domain: str, values: Sequence[str], seed: int = 5) -> World:
        series = Rehearsal(policy)
        tables = (table_of(people, held) for people, held in zip(there, values, strict=True))
        drafts = [series.publish(table, seed=seed) for table in tables]
        return cls(policy, there, domain, drafts, series.ids.to_list())

    # By brute force

    def _next(self, history: History, number: int, values: dict[int, str]) -> tuple[Draft, History] | None:
        """The next draft, if it is what was published."""
        series = Rehearsal(self.policy)
        series.history = history
        people = self.there[number]
        try:
            draft = series.publish(table_of(people, [values[one] for one in people]), seed=1)
        except ri.errors.ReissueError:
            return None
        return (draft, series.history) if content(draft) == content(self.drafts[number]) else None

    def likelihood(self, lives: dict[int, str], patched: pytest.MonkeyPatch) -> Fraction:
        """How likely the series is if everybody has the values of these lives, one letter for each release."""
        found: list[tuple[History, Fraction]] = [(History(), Fraction(1))]
        for number in range(len(self.there)):
            values = {one: life[number] for one, life in lives.items()}
            further = []
            for history, so_far in found:
                made: list[tuple[Draft, History] | None] = []

                def run(history: History = history, made: Any = made, values: Any = values, at: int = number) -> None:
                    made.append(self._next(history, at, values))

                for (_, chance), one in zip(every_draw(run, patched), made, strict=False):
                    if one is not None:
                        further.append((one[1], so_far * chance))
            found = further
        return sum((chance for _, chance in found), Fraction(0))

    def bayes(
        self, patched: pytest.MonkeyPatch, prior: dict[str, Fraction], step: Step
    ) -> dict[tuple[int, int, str], Fraction]:
        """How likely each person (by place) has each value at each release whose table they are in."""
        everybody = sorted({one for people in self.there for one in people})
        known: dict[tuple[str, ...], Fraction] = {}
        mass: dict[tuple[int, int, str], Fraction] = defaultdict(Fraction)
        total = Fraction(0)
        lives = ["".join(life) for life in product(self.domain, repeat=len(self.there))]

        def weight(one: int, life: str) -> Fraction:
            first = next(number for number, people in enumerate(self.there) if one in people)
            if len(set(life[: first + 1])) > 1:
                return Fraction(0)  # what was before somebody came does not matter: one way stands for it
            return prod(
                (step(before, after) for before, after in zip(life[first:], life[first + 1 :], strict=False)),
                start=prior[life[first]],
            )

        weights = {(one, life): weight(one, life) for one in everybody for life in lives}
        for chosen in product(*([life for life in lives if weights[one, life]] for one in everybody)):
            share = prod((weights[pair] for pair in zip(everybody, chosen, strict=True)), start=Fraction(1))
            held = dict(zip(everybody, chosen, strict=True))
            shown = tuple("".join(held[one][at] for one in people) for at, people in enumerate(self.there))
            if shown not in known:
                known[shown] = self.likelihood(held, patched)
            total += share * known[shown]
            for number, people in enumerate(self.there):
                for one in people:
                    mass[one, number, held[one][number]] += share * known[shown]
        return {key: one / total for key, one in mass.items() if one}

    # By the attack

    def view(self) -> ri.Published:
        return ri.Published(tuple(draft.view.releases[0] for draft in self.drafts), tuple(self.domain))

    def attacked(self, releases: slice = slice(None), **parameters: Any) -> MechanismFindings:
        number = {one: at for at, one in enumerate(self.ids)}
        registries = [
            pl.DataFrame({"who": [number[one] for one in people], "x": [PLACES[one] for one in people]})
            for people in self.there
        ]
        goes_on = self.policy.method.protects_series

        def admit(snapshot: Snapshot) -> None:
            check_feasible(snapshot, self.policy.guarantees(), goes_on=False)

        given: dict[str, Any] = {
            "form": self.policy.form,
            "values": list(self.domain),
            "public": [draft.tables for draft in self.drafts][releases],
            "admit": [None if at and goes_on else admit for at in range(len(self.there))][releases],
            "method": self.policy.method,
        } | parameters
        method = given.pop("method")
        view = replace(self.view(), releases=self.view().releases[releases])
        return ri.attacks.Mechanism(method, registries[releases], self.policy.schema, **given).run(view)

    def number(self, one: int) -> int:
        return self.ids.index(one)


def same(domain: str, **weights: int) -> dict[str, Fraction]:
    """Weights as probabilities, all alike where nothing is said."""
    given = {value: weights.get(value, 1) for value in domain}
    return {value: Fraction(weight, sum(given.values())) for value, weight in given.items()}


def stays(one: str, other: str) -> Fraction:
    return Fraction(one == other)


def agree(world: World, expected: dict[tuple[int, int, str], Fraction], found: MechanismFindings) -> None:
    changing = "release" in found.posteriors.columns
    for number, people in enumerate(world.there):
        for one, value in product(people, world.domain):
            share = expected.get((one, number, value), Fraction(0))
            told = found.probability(world.number(one), value, number + 1)
            if found.exact:
                assert told == share
                continue
            row = found.posteriors.filter(person=world.number(one), value=value)
            row = row.filter(release=number + 1) if changing else row
            assert abs(float(told) - float(share)) <= 4 * row["standard_error"].item()


# Against brute force

RATE = Fraction(3, 10)
CHAIN = {"a": {"a": 5, "b": 1}, "b": {"a": 1, "b": 1}}


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@pytest.mark.parametrize(
    ("method", "there", "values"),
    [
        (ri.Mondrian(k=2), [(0, 1, 2, 3), (0, 1, 2)], ["aabb", "aab"]),
        (ri.Mondrian(k=2), [(0, 1), (1, 2), (0, 2)], ["ab", "bb", "ab"]),
        (ri.Mondrian(l=2), [(0, 1, 2, 3), (1, 2, 3, 4)], ["abab", "baba"]),
        (ri.Incremental(2), [(0, 1, 2), (0, 1, 2, 3, 4)], ["aab", "aabab"]),
        (ri.Incremental(2), [(0, 1), (0, 1, 2), (0, 1, 2, 3)], ["ab", "aba", "abab"]),
    ],
)
def test_static_values_and_methods_that_draw_nothing(
    method: Any, there: There, values: list[str], form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = {"a": 3, "b": 2}
    world = World.of(policy_of(method, "ab", form), there, "ab", values)
    expected = world.bayes(monkeypatch, same("ab", **prior), stays)
    found = world.attacked(prior=prior)
    assert found.exact
    agree(world, expected, found)
    # Regions and counts are what public tables hold; and nobody has another value than their own.
    assert world.attacked(prior=prior, public=None).posteriors.equals(found.posteriors)
    assert world.attacked(prior=prior, truthful=method.truthful and not isinstance(method, ri.Incremental)).worlds == (
        found.worlds
    )
    # That values are drawn anew with probability 0 is another way to say that they stay.
    agree(world, expected, world.attacked(prior=prior, change=0))


@pytest.mark.parametrize("change", [RATE, 1, {"a": RATE, "b": HALF}, CHAIN])
@pytest.mark.parametrize(
    ("there", "values"),
    [
        ([(0, 1, 2), (0, 1, 2)], ["aab", "abb"]),
        ([(0, 1), (1, 2), (0, 2)], ["ab", "bb", "ab"]),
    ],
)
def test_values_that_change(there: There, values: list[str], change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    prior = same("ab", a=3, b=2)

    def step(one: str, other: str) -> Fraction:
        if change is CHAIN:
            return Fraction(CHAIN[one][other], sum(CHAIN[one].values()))
        rate = change[one] if isinstance(change, dict) else Fraction(change)
        return (1 - rate) * (one == other) + rate * prior[other]

    world = World.of(policy_of(ri.Mondrian(k=2), "ab"), there, "ab", values)
    found = world.attacked(prior=prior, change=change)
    assert found.exact
    agree(world, world.bayes(monkeypatch, prior, step), found)


def test_a_method_that_takes_no_changes_tells_that_there_were_none(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World.of(policy_of(ri.Incremental(2), "ab"), [(0, 1), (0, 1, 2)], "ab", ["ab", "aba"])
    prior = same("ab")
    expected = world.bayes(monkeypatch, prior, lambda one, other: HALF)
    found = world.attacked(change=1)
    agree(world, expected, found)
    for one in (0, 1):
        assert found.probability(world.number(one), "a", 1) == found.probability(world.number(one), "a", 2)


@pytest.mark.parametrize(
    ("method", "there", "values", "domain"),
    [
        (ri.MInvariance(2, shortage="refuse"), [(0, 1, 2, 3), (0, 1, 4, 5)], ["aabb", "aabb"], "ab"),
        (ri.MInvariance(2, shortage="withhold"), [(0, 1), (0, 1, 2, 3)], ["ab", "abcb"], "abc"),
        (ri.MInvariance(2, split=False, shortage="withhold"), [(0, 1), (2, 3), (0, 1)], ["ab", "ba", "ab"], "ab"),
        (ri.EEquivalence(2, 2, shortage="withhold"), [(0, 1, 2, 3), (0, 1, 2, 3)], ["abba", "abba"], "ab"),
        (ri.EEquivalence(2, 2, shortage="withhold"), [(0, 1, 2, 3)] * 3, ["aabb"] * 3, "ab"),
    ],
)
def test_methods_that_draw(
    method: Any, there: There, values: list[str], domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.of(policy_of(method, domain, "anatomised"), there, domain, values)
    found = world.attacked(seeds=16)
    assert not found.exact
    expected = world.bayes(monkeypatch, same(domain), stays)
    agree(world, expected, found)
    assert all(draft.counterfeits is None for draft in world.drafts)
    assert max(expected.values()) <= HALF  # the promise, against somebody who knows the program


def test_who_waits_in_incremental_tells_values_to_somebody_who_knows_who_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Persons 2 and 3 come with a and wait; with person 4, who has b, they are published in the third release."""
    monkeypatch.setattr(sys.modules[__name__], "PLACES", [1, 2, 3, 4, 5])
    there, values = [(0, 1), (0, 1, 2, 3), (0, 1, 2, 3, 4)], ["ab", "abaa", "abaab"]
    world = World.of(policy_of(ri.Incremental(2), "abc", "anatomised"), there, "abc", values)
    found = world.attacked()
    assert found.exact
    agree(world, world.bayes(monkeypatch, same("abc"), stays), found)
    assert found.certain == {world.number(2): "a", world.number(3): "a", world.number(4): "b"}
    assert found.judge(Limits(history_diversity=2)).count == 3
    # Two releases do not tell it: they who wait are the same, and may be anything.
    assert world.attacked(slice(0, 2)).certain == {}


# A method that forgets


@dataclass(frozen=True)
class Forgetful(Method):
    """m-invariance for whoever stays. Who returns, or whoever is here if `all_`, is taken for somebody new."""

    m: int = 2
    all_: bool = False

    name = "Forgetful"
    words = "forgets"
    protects_series = True
    takes = Takes(deletions=True, changes=True, returns=True)

    def promises(self, schema: Any) -> Any:
        return ()

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> Any:
        new = np.isin(snapshot.people, delta.returned) | self.all_
        people = np.where(new, snapshot.people + 100 * (delta.since + 1), snapshot.people)
        method = ri.MInvariance(self.m, shortage="withhold")
        return method.group(replace(snapshot, people=people), delta, memory, rng)


@pytest.mark.parametrize(
    ("method", "there", "values"),
    [
        (Forgetful(all_=True), [(0, 1), (0, 2)], ["ab", "ac"]),
        (Forgetful(), [(0, 1), (1, 3), (0, 2)], ["ab", "ba", "ac"]),
    ],
)
def test_who_forgets_signatures_is_found_out(method: Any, there: There, values: list[str]) -> None:
    """Each release alone has two values for everybody; person 0 is in one with a and b, and in one with a and c."""
    world = World.of(policy_of(method, "abc", "anatomised"), there, "abc", values)
    for at in (0, len(there) - 1):
        alone = world.attacked(slice(at, at + 1), seeds=12)
        assert alone.judge(Limits(HALF)).status == "sampled"
        assert alone.probability(world.number(0), "a") == HALF
    found = world.attacked(seeds=12)
    judged = found.judge(Limits(HALF))
    assert judged.status == "beyond"
    assert found.probability(world.number(0), "a") == 1
    assert world.number(0) in {one for finding in judged.findings for one in finding.people}
    # m-invariance itself keeps 1/2 for him, on the same people and values.
    world = World.of(policy_of(ri.MInvariance(2), "abc", "anatomised"), there, "abc", values)
    found = world.attacked(seeds=12)
    assert abs(float(found.probability(world.number(0), "a")) - 0.5) <= 4 / 14
    # Not for who came with a value that nobody had: nobody makes up such a value, so it is not the counterfeit's.
    assert found.probability(world.number(2), "c") == 1
    assert found.judge(Limits(HALF)).status == "beyond"
