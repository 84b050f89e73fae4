"""Cor-Split against all possible worlds: what comparing releases can and cannot show to someone who knows a few people.

What holds of its series, by enumeration here:

- Who knows nobody gives everybody each value of the signature with the same probability.
- Two correlated groups together rule out nothing that one of them alone does not, to someone who knows fewer than n of
  their members. That is a theorem: with K1, K2 and KS known of the sets R1, R2 and of the people shared, the values of
  R1 and R2 can still be any multiset that has those of K1 and those of K2, and at most n - 1 of its places are taken.
- With `combinations`, no two sets of fewer than n people have the same values in all worlds, and one known person
  makes nobody else certain.

What does not hold, by counterexamples below: that more than two groups tie no two people together, be it by adding and
subtracting them or without any linear combination; that n - 1 known people make nobody certain with `combinations`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from worlds import AllWorlds, components

import reissue as ri
from reissue.attacks import Correlation, Equivalence, Worlds
from reissue.errors import Infeasible

Group = tuple[list[str], list[str]]
Series = list[list[Group]]
State = dict[int, str]

MOST = 14
"""Parts of a series with more people than this are not enumerated."""
SCHEMA = ri.Schema(person="who", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(values=list("abc"))})


def publish(chain: Any, method: object, states: Sequence[State], seed: int) -> Any:
    series = chain(ri.Policy(SCHEMA, method, form="anatomised"))  # type: ignore[arg-type]
    for state in states:
        table = {"who": [f"p{who}" for who in state], "age": [who * 7 % 30 for who in state]}
        series.publish(pl.DataFrame({**table, "illness": list(state.values())}), seed=seed)
    return series


def stream(rng: np.random.Generator, m: int, *, releases: int, most: int, returns: float = 0.15) -> list[State]:
    """Tables of few people and m values."""
    state: State = {}
    gone: State = {}
    count, states = 0, list[State]()
    for number in range(releases):
        back = [who for who in gone if rng.random() < returns]
        for who in [who for who in state if rng.random() < 0.35]:
            gone[who] = state.pop(who)
        state |= {who: gone.pop(who) for who in back}
        for _ in range(2 * m if not number else int(rng.integers(0, 2 * m))):
            if len(state) < most:
                state[count] = "abc"[count % m]
                count += 1
        if state:
            states.append(dict(state))
    return states


def enumerate_worlds(groups: Sequence[Group]) -> AllWorlds:
    found = AllWorlds.of([groups])
    assert found.table.size
    return found


def parts(series: Series) -> Iterator[list[Group]]:
    """The groups of people who share groups, directly or through others; those small enough to enumerate."""
    for part in components(series):
        if len(part) <= MOST:
            yield [group for release in series for group in release if part & set(group[0])]


def real(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if not any(who.startswith("counterfeit") for who in pair)]


def true_values(series: Any, states: Sequence[State]) -> dict[str, str]:
    """Of people and of counterfeits."""
    true = {f"p{who}": value for state in states for who, value in state.items()}
    for draft in series.drafts:
        if draft.counterfeits is not None:
            made = draft.counterfeits.select("reissue.counterfeit", "illness")
            true |= {f"counterfeit {number}": value for number, value in made.rows()}
    return true


# Who knows nobody, and who knows a few of two groups


@pytest.mark.parametrize(("m", "n"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
@pytest.mark.parametrize("combined", [False, True])
def test_who_knows_nobody_learns_nothing(chain: Any, m: int, n: int, combined: bool) -> None:
    looked_at = 0
    for seed in range(10):
        states = stream(np.random.default_rng(seed), m, releases=3, most=2 * m)
        series = publish(chain, ri.CorSplit(m, n, combinations=combined), states, seed)
        for groups in parts(series.groups()):
            worlds = enumerate_worlds(groups).table
            for column in worlds.T:
                often = Counter(column.tolist())
                assert len(often) == m
                assert set(often.values()) == {worlds.shape[0] // m}
            looked_at += 1
    assert looked_at > 5


def correlated(series: Series) -> Iterator[tuple[Group, Group]]:
    """Definition 3: groups of different releases with the same multiset of values that share some and not all."""
    for one, other in combinations(series, 2):
        for first in one:
            for second in other:
                shared = set(first[0]) & set(second[0])
                if Counter(first[1]) == Counter(second[1]) and 0 < len(shared) < len(first[0]):
                    yield first, second


def alone(group: Group, known: dict[str, str]) -> set[str]:
    """The values left in a group, by itself, for those who are not known (Definition 2)."""
    left = Counter(group[1])
    left.subtract(value for who, value in known.items() if who in group[0])
    return set(+left)


def ruled_out_by_comparing(one: Group, other: Group, known: dict[str, str], worlds: AllWorlds) -> bool:
    """Whether both groups together rule out more than each of them does."""
    for who, left in worlds.left(known).items():
        groups = [group for group in (one, other) if who in group[0]]
        if who not in known and left != set.intersection(*(alone(group, known) for group in groups)):
            return True
    return False


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 1), (3, 2), (3, 3)])
def test_fewer_than_n_known_people_make_a_correlation_worth_nothing(chain: Any, m: int, n: int) -> None:
    looked_at = with_more = 0
    for seed in range({(2, 2): 16, (3, 3): 24}.get((m, n), 8)):  # with n = m few groups are correlated
        rng = np.random.default_rng([seed, m, n])
        states = stream(rng, m, releases=4, most=3 * m)
        try:
            series = publish(chain, ri.CorSplit(m, n), states, seed)
        except Infeasible:
            # Too few different values are left.
            continue
        true = true_values(series, states)
        pairs = [pair for pair in correlated(series.groups()) if len({*pair[0][0], *pair[1][0]}) <= MOST - 3]
        for at in rng.permutation(len(pairs))[:4].tolist():
            one, other = pairs[at]
            worlds = enumerate_worlds([one, other])
            check_theorem_1(one, other, worlds)
            for count in range(n):
                for known in combinations(worlds.people, count):
                    assert not ruled_out_by_comparing(one, other, {who: true[who] for who in known}, worlds)
            # All of one side, which are n or more, do tell something.
            side = {who: true[who] for who in set(one[0]) - set(other[0])}
            assert len(side) >= n
            with_more += ruled_out_by_comparing(one, other, side, worlds)
            looked_at += 1
    assert looked_at >= 4
    assert with_more


def check_theorem_1(one: Group, other: Group, worlds: AllWorlds) -> None:
    """The people whom two correlated groups do not share have the same values, in all worlds."""
    sides = [set(one[0]) - set(other[0]), set(other[0]) - set(one[0])]
    at = [[place for place, who in enumerate(worlds.people) if who in side] for side in sides]
    first, second = (np.sort(worlds.table[:, places], axis=1) for places in at)
    assert (first == second).all()


def test_one_known_person_is_enough_against_m_invariance(chain: Any) -> None:
    """The control: the same streams, and groups correlated in single people."""
    exposed = 0
    for seed in range(8):
        states = stream(np.random.default_rng([seed, 3, 2]), 3, releases=4, most=9)
        series = publish(chain, ri.MInvariance(3), states, seed)
        true = true_values(series, states)
        for one, other in correlated(series.groups()):
            worlds = enumerate_worlds([one, other])
            for who in worlds.people:
                exposed += ruled_out_by_comparing(one, other, {who: true[who]}, worlds)
    assert exposed > 20


def test_groups_of_different_sizes_are_not_correlated_and_tell_something_all_the_same() -> None:
    """The paper compares equal multisets. Of four people two are seen to have a and b: so have the others.

    The group of four alone rules nothing out for whoever knows one of them; both groups do. Nobody is worse off than
    in a group of two, which the paper allows.
    """
    four, two = (["A", "B", "C", "D"], ["a", "a", "b", "b"]), (["A", "B"], ["a", "b"])
    view = ri.Published.from_groups([[four], [two]])
    assert ri.guarantees.HistoricallySafe(2, 2).check(view).worst == math.inf
    worlds = enumerate_worlds([four, two])
    assert alone(four, {"C": "a"}) == {"a", "b"}
    assert worlds.left({"C": "a"})["D"] == {"b"}
    assert Worlds().run(view, ri.Knowledge(compromised={"C": "a"})).certain == {"D": "b"}
    assert Correlation().run(view, ri.Knowledge(compromised={"C": "a"})).certain == {}


# More than two groups


class Counterexample(NamedTuple):
    """A series in which every two groups are safe, and yet two people have the same value in all worlds."""

    series: Series
    """As Cor-Split made it once, the releases that matter; c is a counterfeit. Every value as often as the others."""
    tied: set[tuple[str, str]]
    """Who has the same value as whom."""
    linear: bool
    """Whether adding and subtracting groups shows it."""


M, N = 3, 2


def groups(*releases: str) -> Series:
    """Releases as text, with as many a, b and c in a group as there are people for them."""
    split = [[members.split() for members in release.split("|")] for release in releases]
    return [[(members, sorted("abc" * (len(members) // 3))) for members in release] for release in split]


TWO_RELEASES = Counterexample(
    groups("c p1 p9 | p2 p6 p10 | p3 p7 p8", "p6 p11 p13 | p2 p3 p7 p8 p10 p12"),
    {("p12", "p6")},
    linear=True,
)
"""A merged group against two of the release before: without the people they share each side has one person left."""
THREE_RELEASES = Counterexample(
    groups("p0 p1 p2", "p0 p1 p2 p3 p4 p5", "p0 p7 p8 | p1 p3 p5 | c p2 p6"),
    {("p1", "p4")},
    linear=True,
)
"""The second release without the first is {p3, p4, p5}, which nobody published; the third has {p1, p3, p5}."""
A_TRIANGLE = Counterexample(
    groups("p0 p1 p5 | p2 p3 p4", "p0 p2 p7 | p1 p6 p8", "p1 p2 p9 | c p6 p10"),
    {("p0", "p9"), ("p1", "p7"), ("p2", "p5")},
    linear=False,
)
"""p0, p1 and p2 were in a group two by two, so they have different values: whoever is the third has the third."""
COUNTEREXAMPLES = {"two releases": TWO_RELEASES, "three releases": THREE_RELEASES, "a triangle": A_TRIANGLE}


@pytest.mark.parametrize("example", COUNTEREXAMPLES.values(), ids=COUNTEREXAMPLES)
def test_every_two_groups_are_safe_and_more_are_not(example: Counterexample) -> None:
    view = ri.Published.from_groups(example.series)
    assert ri.guarantees.HistoricallySafe(M, N).check(view).holds
    assert Correlation().run(view).unsafe(N).is_empty()
    # In all worlds, though everybody can have any value.
    whole = enumerate_worlds(together(example.series))
    assert set(real(whole.equal())) == example.tied
    assert all(len(values) == M for values in whole.left({}).values())
    found = Equivalence(e=N).run(view)
    assert not found.undecided
    assert found.minimum == (1 if example.linear else None)
    assert {tuple(sorted(map(str, names))) for names in found.classes} == (example.tied if example.linear else set())
    assert ri.guarantees.EquivalenceSafe(N).check(view).holds is not example.linear
    # Whoever knows one knows the other.
    for one, other in example.tied:
        assert whole.left({one: "a"})[other] == {"a"}
        assert Worlds().run(view, ri.Knowledge(compromised={one: "a"})).certain[other] == "a"
    # It takes all the releases there are.
    for fewer in combinations(example.series, len(example.series) - 1):
        assert not real(enumerate_worlds(together(fewer)).equal())


FOUND = {"two releases": 3, "three releases": 352, "no linear combination": 1}
"""The first seed of each kind, which is tried before all others: the method may change, and the seed with it."""


@pytest.mark.parametrize("kind", FOUND)
def test_cor_split_makes_such_series(chain: Any, kind: str) -> None:
    """And with `combinations`, of the same tables, no series that ties anybody to another."""
    for seed in (FOUND[kind], *range(150)):
        states = stream(np.random.default_rng([seed, M, N]), M, releases=3, most=3 * M)
        try:
            series = publish(chain, ri.CorSplit(M, N), states, seed)
        except Infeasible:
            # Too few different values are left.
            continue
        assert ri.guarantees.HistoricallySafe(M, N).check(series.published()).holds
        if kind_of(series.groups()) == kind:
            break
    else:
        raise AssertionError("no such series any more: has the method become better?")
    for other in (seed, *range(4)):
        combined = publish(chain, ri.CorSplit(M, N, combinations=True), states, other)
        found = Equivalence(e=N).run(combined.published())
        assert found.minimum is None
        assert not found.undecided
        for part in parts(combined.groups()):
            assert not enumerate_worlds(part).equal()


def together(series: Sequence[list[Group]]) -> list[Group]:
    return [group for release in series for group in release]


def kind_of(series: Series) -> str | None:
    """By what two real people are tied, if any are."""
    tied = [pair for part in parts(series) for pair in real(enumerate_worlds(part).equal())]
    if not tied:
        return None

    def shown(releases: Sequence[list[Group]]) -> bool:
        return Equivalence(e=2).run(ri.Published.from_groups(releases)).minimum == 1

    if not shown(series):
        return "no linear combination"
    return "two releases" if any(shown(pair) for pair in combinations(series, 2)) else "three releases"


def test_he_example_4() -> None:
    """Every two of the three groups are safe with n = 2; whoever knows Frank knows Harry."""
    two = ["cancer", "measles"]
    series: Series = [
        [(["Ellen", "Frank"], two)],
        [(["Ellen", "Harry", "Ian", "Jane"], two * 2)],
        [(["Ian", "Jane"], two)],
    ]
    view = ri.Published.from_groups(series)
    assert ri.guarantees.HistoricallySafe(2, 2).check(view).holds
    assert Correlation().run(view).count == 0
    found = Equivalence().run(view)
    assert (found.minimum, found.minimum_kind, found.equivalent[0]) == (1, "exact", (["Frank"], ["Harry"]))
    worlds = enumerate_worlds(together(series))
    assert ("Frank", "Harry") in worlds.equal()
    for value in two:
        frank = ri.Knowledge(compromised={"Frank": value})
        assert Worlds().run(view, frank).certain["Harry"] == value
        assert worlds.left({"Frank": value})["Harry"] == {value}
        assert "Harry" not in Correlation().run(view, frank).certain


# Combinations


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 2), (3, 3)])
def test_no_combination_of_releases_ties_fewer_than_n_people(chain: Any, m: int, n: int) -> None:
    """Exactly, by linear combinations, and by all worlds; and whoever knows one person is certain of nobody else."""
    looked_at = 0
    for seed in range(16):
        states = stream(np.random.default_rng([seed, m, n]), m, releases=3, most=2 * m)
        try:
            series = publish(chain, ri.CorSplit(m, n, combinations=True), states, seed)
        except Infeasible:
            # Too few different values are left.
            continue
        found = Equivalence(e=n).run(series.published())
        assert found.minimum is None
        assert not found.undecided
        for part in parts(series.groups()):
            worlds = enumerate_worlds(part)
            check_sets(worlds, n)
            true = true_values(series, states)
            for who in worlds.people:
                left = worlds.left({who: true[who]})
                assert [other for other, values in left.items() if len(values) == 1] == [who]
            looked_at += len({at for at, release in enumerate(series.groups()) if any(g in part for g in release)}) > 1
    assert looked_at > 8


def check_sets(enumerated: AllWorlds, n: int) -> None:
    """No two sets of fewer than n people have the same values in all worlds."""
    often = np.int64(100) ** enumerated.table
    for size in range(1, n):
        sums = {often[:, some].sum(axis=1).tobytes() for some in map(list, combinations(range(often.shape[1]), size))}
        assert len(sums) == math.comb(often.shape[1], size)


FIVE_STAY = groups("p0 p1 p2 p3 p4 p5", "p0 p1 p2 p4 p5 p6 p7 p8 p9")
FIVE_STATES: list[State] = [
    {0: "a", 1: "b", 2: "c", 3: "a", 4: "b", 5: "c"},
    {0: "a", 1: "b", 2: "c", 4: "b", 5: "c", 6: "a", 7: "b", 8: "c", 9: "a"},
]


def test_two_known_people_can_be_enough_with_n_3_and_combinations(chain: Any) -> None:
    """One leaves and four come: the four have p3's value, and a, b and c once more.

    If two of them have the same value it is p3's. No two sets of fewer than three have the same values, and that is
    all that combinations promise: an equation that leaves a constant is none of Definition 10 of He et al.
    """
    view = ri.Published.from_groups(FIVE_STAY)
    assert ri.guarantees.EquivalenceSafe(3).check(view).holds
    assert ri.guarantees.HistoricallySafe(3, 3).check(view).holds
    worlds = enumerate_worlds(together(FIVE_STAY))
    check_sets(worlds, 3)
    known = {"p6": "a", "p9": "a"}
    assert worlds.left(known)["p3"] == {"a"}
    assert Worlds().run(view, ri.Knowledge(compromised=known)).certain == {"p3": "a"}
    for release in FIVE_STAY:
        assert all(len(values) == 3 for who, values in enumerate_worlds(release).left({}).items())
    made = [
        sorted(sorted(members) for members, _ in release)
        for seed in range(10)
        for release in publish(chain, ri.CorSplit(3, 3, combinations=True), FIVE_STATES, seed).groups()
    ]
    assert [sorted(members) for members, _ in FIVE_STAY[1]] in made
