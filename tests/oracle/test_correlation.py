"""The correlation attack against the paper's definitions with plain sets, and against every possible world."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from worked_examples import worked_examples
from worlds import worlds

from reissue.arrays import budget
from reissue.attacks.base import Limits
from reissue.attacks.correlation.correlation import Correlation, n_choose, p_ct, p_hc, p_pb
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.correlation import correlations

Releases = list[list[tuple[list[str], list[str]]]]
Make = Callable[[random.Random], tuple[Releases, dict[str, str]]]


def random_series(rng: random.Random) -> tuple[Releases, dict[str, str]]:
    """A few people with static values in groups that mix anew, or keep most of their people; and the truth."""
    letters = "abc"[: rng.randint(2, 3)]
    people = [f"p{n}" for n in range(rng.randint(3, 7))]
    truth = {person: rng.choice(letters) for person in people}
    size = rng.randint(2, 4)
    series: Releases = []
    order = people[:]
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.5:
            rng.shuffle(order)
        else:
            one, other = rng.sample(range(len(order)), 2)
            order[one], order[other] = order[other], order[one]
        here = order[: rng.randint(2, len(order))]
        groups = [here[at : at + size] for at in range(0, len(here), size)]
        series.append([(group, [truth[person] for person in group]) for group in groups])
    return series, truth


def invariant_series(rng: random.Random) -> tuple[Releases, dict[str, str]]:
    """An m-invariant series, in which all overlapping groups are correlated; and the truth."""
    letters = "abc"[: rng.randint(2, 3)]
    several = 4 if len(letters) == 2 else 2
    truth = {f"{letter}{n}": letter for letter in letters for n in range(several)}
    names = {letter: [person for person in truth if truth[person] == letter] for letter in letters}
    series: Releases = []
    for _ in range(rng.randint(2, 4)):
        groups = rng.randint(1, several)
        columns = [rng.sample(names[letter], groups) for letter in letters]
        series.append([(list(group), list(letters)) for group in zip(*columns, strict=True)])
    return series, truth


def by_definition(series: Releases) -> set[frozenset[frozenset[str]]]:
    """Definition 3."""
    return {
        frozenset((frozenset(set(a) - set(b)), frozenset(set(b) - set(a))))
        for one in range(len(series))
        for other in range(one + 1, len(series))
        for a, a_values in series[one]
        for b, b_values in series[other]
        if set(a) & set(b) and set(a) != set(b) and Counter(a_values) == Counter(b_values)
    }


def fixed_point(series: Releases, known: dict[str, str]) -> dict[str, set[str]]:
    """Definitions 2 and 4, over and over; someone with one value left is as good as compromised."""
    left: dict[str, set[str]] = {}
    for release in series:
        for members, values in release:
            for person in members:
                left[person] = left.get(person, set(values)) & set(values)
    left |= {person: {value} for person, value in known.items()}
    correlated = [tuple(pair) for pair in by_definition(series)]
    while True:
        before = {person: set(values) for person, values in left.items()}
        for release in series:
            for members, values in release:
                for value, often in Counter(values).items():
                    have = {person for person in members if left[person] == {value}}
                    for person in members:
                        if len(have - {person}) >= often:
                            left[person].discard(value)
        for one, other in [*correlated, *(pair[::-1] for pair in correlated)]:
            union = set().union(*(left[person] for person in one))
            for person in other:
                left[person] &= union
        if left == before:
            return left


def shown_to(series: Releases, person: str) -> list[set[str]]:
    return [set(values) for release in series for members, values in release if person in members]


@pytest.mark.parametrize("make", [random_series, invariant_series])
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_definitions_and_worlds(first: int, make: Make) -> None:
    for seed in range(first, first + 100):
        agrees_with_definitions_and_worlds(seed, make)


def agrees_with_definitions_and_worlds(seed: int, make: Make) -> None:
    rng = random.Random(seed)
    series, truth = make(rng)
    there = sorted({person for release in series for members, _ in release for person in members})
    known = {person: truth[person] for person in rng.sample(there, rng.randint(0, 2))}
    published = Published.from_groups(series)
    found = Correlation().run(published, Knowledge(compromised=known))

    expected = by_definition(series)
    assert {frozenset(map(frozenset, pair)) for pair in found.correlations} == expected
    assert len(found.correlations) == found.count == len(expected)
    sizes = [len(one) for one, _ in found.correlations]
    assert sizes == sorted(sizes)

    left = fixed_point(series, known)
    common = {person: set.intersection(*shown_to(series, person)) for person in there}
    unknown = [person for person in there if person not in known]
    assert found.undecided == ()
    assert found.certain == {person: min(left[person]) for person in unknown if len(left[person]) == 1}
    assert found.restricted == {
        person: sorted(left[person]) for person in unknown if 1 < len(left[person]) < len(common[person])
    }
    assert found.excluded == {
        person: sorted(gone) for person in unknown if (gone := set().union(*shown_to(series, person)) - left[person])
    }
    for world in worlds(series, known):
        assert all(world[person] in left[person] for person in there)

    judged = found.judge(Limits(probability=Fraction(1, 2)))
    assert judged.count == len(found.certain)
    assert judged.status == ("beyond" if found.certain else "within")
    assert {finding.person for finding in judged.findings} == set(found.certain_people.tolist())
    for finding in judged.findings:
        text = finding.witness.text(published)
        assert f"So {published.name(finding.person)} has {published.values[finding.value or 0]}." in text


def test_unsafe_groups() -> None:
    for seed in range(60):
        unsafe_groups_are_those_of_the_definition(seed)


def unsafe_groups_are_those_of_the_definition(seed: int) -> None:
    series, _ = random_series(random.Random(seed))
    found = Correlation().run(Published.from_groups(series))
    for n in (1, 2, 3):
        expected = []
        for number, release in enumerate(series):
            for group, (members, values) in enumerate(release):
                sizes = [
                    (other, len(set(members) - set(theirs)))
                    for other, there in enumerate(series)
                    for theirs, shown in there
                    if other != number
                    and set(members) & set(theirs)
                    and set(members) != set(theirs)
                    and Counter(values) == Counter(shown)
                ]
                smallest = min((size for _, size in sizes), default=n)
                if smallest < n:
                    earlier = any(size < n and other < number for other, size in sizes)
                    expected.append((number + 1, group + 1, smallest, earlier))
        assert found.unsafe(n).rows() == expected
        counts = found.unsafe_counts(n)
        assert counts["groups"].to_list() == [len(release) for release in series]
        assert counts["unsafe"].to_list() == [sum(row[0] == r + 1 for row in expected) for r in range(len(series))]
        assert counts["unsafe_when_published"].sum() == sum(row[3] for row in expected)


def test_the_papers_example() -> None:
    paper = worked_examples("riboni-2009")
    expect, published = paper["expect"], Published.from_groups(paper["series"])
    alone = Correlation().run(published)
    assert [list(pair) for pair in alone.correlations] == expect["historical_correlations"]
    assert (alone.certain, alone.restricted, alone.excluded) == ({}, {}, {})
    assert alone.judge(Limits(probability=Fraction(1, 3))).status == "within"
    assert alone.unsafe(2).rows() == [(1, 2, 1, False), (2, 1, 1, True)]

    found = Correlation().run(published, Knowledge(compromised=expect["with_compromised"]["known"]))
    assert found.certain == expect["with_compromised"]["certain"]
    assert found.restricted == expect["with_compromised"]["restricted"]
    judged = found.judge(Limits(probability=Fraction(1, 2)))
    assert (judged.status, judged.count) == ("beyond", 1)
    assert judged.findings[0].witness.text(published) == (
        "Carl is known to have AIDS. The same values are in release 1 group 2 and release 2 group 1, which differ only "
        "in Carl and Erica. Carl cannot have bronchitis or cancer, so Erica cannot either. So Erica has AIDS."
    )


def test_pairs_of_sets_are_counted_once_however_many_groups_show_them() -> None:
    # Both {p, q, x} with {p, q, y} and {p, r, x} with {p, r, y} tie x to y.
    series = [
        [(["p", "q", "x"], ["a", "b", "c"])],
        [(["p", "q", "y"], ["a", "b", "c"])],
        [(["p", "r", "x"], ["a", "b", "c"])],
        [(["p", "r", "y"], ["a", "b", "c"])],
    ]
    found = Correlation().run(Published.from_groups(series))
    assert (["x"], ["y"]) in found.correlations
    assert found.count == len(found.correlations) == len(by_definition(series)) == 4


def test_n_is_held_against_the_smallest_set() -> None:
    published = Published.from_groups([[(["x", "p"], ["a", "b"])], [(["y", "p"], ["a", "b"])]])
    judged = Correlation(n=2).run(published).judge(Limits())
    assert (judged.status, judged.count) == ("beyond", 2)
    assert judged.findings[0].what == "correlation"
    assert Correlation(n=1).run(published).judge(Limits()).status == "within"
    assert Correlation().run(published).judge(Limits()).status == "not asked"
    assert Correlation().run(published).judge(Limits(equivalence=2)).status == "beyond"


def test_contradictions_are_said_and_nothing_is_concluded() -> None:
    published = Published.from_groups([[(["x", "p"], ["a", "b"]), (["q"], ["c"])], [(["x", "q"], ["b", "c"])]])
    assert Correlation().run(published).certain == {"x": "b", "p": "a", "q": "c"}
    found = Correlation().run(published, Knowledge(compromised={"x": "a"}))
    assert (found.certain, found.excluded) == ({}, {})
    assert found.judge(Limits(probability=Fraction(1, 2))).status == "undecided"
    twice = Correlation().run(published, Knowledge(compromised={"x": "b", "p": "b"}))
    assert twice.certain == {} and "contradict" in twice.undecided[0]


def test_only_certain_members_count() -> None:
    """Somebody who may be in a group is neither restricted by it nor correlated through it."""
    counts = np.ones(2, dtype=np.int64)
    one = PublishedGroups(
        1, np.array([0, 1, 2]), np.array([0, 3]), np.array([0, 1]), counts, np.array([0, 2]),
        sure=np.array([True, False, False]),
    )  # fmt: skip
    two = PublishedGroups(2, np.array([0, 3]), np.array([0, 2]), np.array([0, 1]), counts, np.array([0, 2]))
    found = Correlation().run(Published((one, two), ("a", "b")), Knowledge(compromised={0: "a"}))
    assert found.certain == {3: "b"}
    assert found.correlations == []
    assert "1 group of 2" in found.undecided[0]


def test_counterfeits_take_part_and_are_nobody() -> None:
    values, starts, ones = np.array([0, 1]), np.array([0, 2]), np.ones(2, dtype=np.int64)
    published = Published(
        tuple(
            PublishedGroups(number, np.array(who), starts, values, ones, starts)
            for number, who in ((1, [0, -1]), (2, [1, -1]))
        ),
        ("a", "b"),
    )
    found = Correlation().run(published, Knowledge(compromised={0: "a"}))
    assert found.correlations == [([0], [1])]
    assert found.certain == {1: "a"} and found.restricted == {}


def test_more_values_than_fit_into_a_word() -> None:
    values = [f"v{n:03}" for n in range(200)]
    people = [f"p{n:03}" for n in range(201)]
    series = [[(people[:200], values)], [(people[1:], values)]]
    found = Correlation().run(Published.from_groups(series), Knowledge(compromised={"p000": "v150"}))
    assert found.certain == {"p200": "v150"}
    assert found.restricted["p007"] == [value for value in values if value != "v150"]
    assert "are left out here" not in found.witnesses[0].text(found.published)


def test_somebody_is_known_and_nobody_is_certainly_anywhere() -> None:
    """Person 0 is only listed as possible: there is nobody whose values could be ruled out."""
    one = PublishedGroups(
        1, np.array([0, 1]), np.array([0, 2]), np.array([0]), np.array([1]), np.array([0, 1]),
        sure=np.array([False, False]),
    )  # fmt: skip
    found = Correlation().run(Published((one,), ("a", "b")), Knowledge(compromised={0: "a"}))
    assert (found.certain, found.excluded, found.witnesses) == ({}, {}, ())
    assert "1 group of 1" in found.undecided[0]
    assert found.judge(Limits(probability=Fraction(1, 2))).status == "not asked"


@pytest.mark.parametrize("make", [random_series, invariant_series])
def test_work_in_the_smallest_pieces_gives_the_same(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are interrupted after each person, and after each correlation of a group."""
    monkeypatch.setattr(correlations, "AT_A_TIME", 1)
    for seed in range(80):
        agrees_with_definitions_and_worlds(seed, make)


class Clock:
    """A clock that goes on by a second whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0

    def monotonic(self) -> int:
        self.now += 1
        return self.now


def test_what_there_was_no_time_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    series = [[(["x", "p", "q"], ["a", "b", "c"])], [(["y", "p", "q"], ["a", "b", "c"])]] * 2
    published, known = Published.from_groups(series), Knowledge(compromised={"x": "a"})
    monkeypatch.setattr(correlations, "AT_A_TIME", 1)
    certain = []
    for seconds in range(1, 60):
        clock = Clock()
        monkeypatch.setattr(budget, "time", clock)
        found = Correlation(seconds=seconds).run(published, known)
        assert clock.now <= seconds + 2
        assert found.certain in ({}, {"y": "a"})
        status = found.judge(Limits(probability=Fraction(1, 2))).status
        if found.undecided:
            assert "ran out" in found.undecided[0] and "to the end" not in " ".join(found.searched)
            assert status == ("beyond" if found.certain else "undecided")
        else:
            assert status == "beyond"
        certain.append((bool(found.certain), not found.undecided))
    assert certain[0] == (False, False) and certain[-1] == (True, True) and certain == sorted(certain)


def test_signatures_are_equal_for_equal_multisets() -> None:
    rng = random.Random(1)
    for _ in range(200):
        groups = [
            {value: rng.randint(1, 2) for value in rng.sample(range(5), rng.randint(0, 5))}
            for _ in range(rng.randint(1, 12))
        ]
        listed = [(value, often) for group in groups for value, often in group.items()]
        values, counts = (np.array([pair[at] for pair in listed], dtype=np.int64) for at in (0, 1))
        starts = np.cumsum([0, *map(len, groups)])
        found = correlations.signatures(values, counts, starts).tolist()
        for one, first in zip(groups, found, strict=True):
            assert [one == other for other in groups] == [first == second for second in found]


def test_parameters() -> None:
    with pytest.raises(ParameterError, match=r"'n' parameter of Correlation must be .* Got 0 instead\."):
        Correlation(n=0)
    with pytest.raises(ParameterError, match="'seconds' parameter"):
        Correlation(seconds=-1)
    with pytest.raises(ParameterError, match="exactly one value"):
        Correlation().run(Published.from_groups([[(["x"], ["a", "b"])]], single=False))
    with pytest.raises(ParameterError, match="two groups of a release"):
        Correlation().run(Published.from_groups([[(["x"], ["a"]), (["x"], ["b"])]]))


# The closed formulas


def test_n_choose_as_in_the_paper() -> None:
    for case in worked_examples("riboni-2009")["n_choose"]:
        assert n_choose(case["p"], case["L"], case["m"], case["h"]) == case["n"]
    assert n_choose(0.04, 24, 6, 0.001) is None


@pytest.mark.parametrize(("p", "L", "m", "n"), [(0.04, 24, 6, 3), (0.2, 3, 4, 1), (0.5, 10, 7, 2), (0.0, 5, 3, 2)])
def test_formulas(p: float, L: int, m: int, n: int) -> None:
    kept = (1 - Fraction(p)) ** L
    uncorrelated = (1 - (Fraction(p) - Fraction(p) / m) ** n) ** (L * (m // n))
    assert p_ct(p, L) == pytest.approx(float(1 - kept), rel=1e-12)
    assert p_hc(p, L, m, n) == pytest.approx(float(1 - uncorrelated), rel=1e-12)
    assert p_pb(p, L, m, n) == pytest.approx(float((1 - kept * uncorrelated) ** (m - 1)), rel=1e-12)
    several = p_pb(np.array([p, p / 2]), L, m, n)
    assert isinstance(several, np.ndarray) and several.tolist() == [p_pb(p, L, m, n), p_pb(p / 2, L, m, n)]


def test_formulas_refuse_all_that_is_out_of_range_at_once() -> None:
    with pytest.raises(ParameterError) as raised:
        p_pb(1.5, 0, 3, 1)
    assert len(raised.value.problems) == 2
    with pytest.raises(ParameterError, match=r"The 'h' parameter of n_choose must be .* Got 0 instead\."):
        n_choose(0.1, 3, 3, 0)
