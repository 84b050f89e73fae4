"""Figures, verdicts and advice against examples worked out by hand and against the bare definitions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from profiles import examples

from reissue.errors import ParameterError
from reissue.guarantees import (
    EntropyDiverse,
    KAnonymous,
    KEAnonymous,
    LDiverse,
    RecursiveDiverse,
    ShareDiverse,
    TClose,
)
from reissue.guarantees.base import GroupGuarantee
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history import diversity

Groups = list[list[int]]

groups_of_numbers = st.lists(
    st.lists(st.integers(0, 9) | st.sampled_from([3, 3, 3, 40, 170]), min_size=1, max_size=12),
    min_size=1,
    max_size=8,
)


# Li et al. 2007, the salaries from 3k to 11k and the three groups of their example.
SALARIES = [[3000, 4000, 5000], [6000, 8000, 11000], [7000, 9000, 10000]]


def view(groups: Groups, *, shuffled: bool = False) -> Published:
    """One release with these values; optionally with the values of a group out of order."""
    people = iter(range(sum(map(len, groups))))
    published = Published.from_groups([[([str(next(people)) for _ in values], values) for values in groups]])
    if not shuffled:
        return published
    release = published.releases[0]
    rng = np.random.default_rng(len(groups))
    bounds = release.value_starts
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(bounds)])
    mixed = PublishedGroups(
        1, release.members, release.member_starts, release.values[order], release.counts[order], bounds
    )
    return Published((mixed,), published.values, published.magnitudes)


def counted(*counts: int) -> Published:
    """One group with the numbers 0, 1, 2 ... so many times."""
    return view([[value for value, count in enumerate(counts) for _ in range(count)]])


@pytest.fixture(autouse=True, params=[1 << 15, 7], ids=["one block", "many blocks"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures must not depend on how many counts are worked on at a time."""
    monkeypatch.setattr(diversity, "BLOCK", request.param)


def falling(values: list[int]) -> list[int]:
    return sorted(Counter(values).values(), reverse=True)


def entropy(values: list[int]) -> float:
    shares = [count / len(values) for count in Counter(values).values()]
    return -math.fsum(share * math.log(share) for share in shares)


def variation(values: list[int], groups: Groups) -> Fraction:
    everything = [value for group in groups for value in group]
    mine, whole = Counter(values), Counter(everything)
    gaps = (abs(Fraction(mine[v], len(values)) - Fraction(whole[v], len(everything))) for v in whole)
    return sum(gaps, Fraction(0)) / 2


def moved_earth(values: list[int], groups: Groups) -> Fraction:
    """On a line the cheapest way to move earth keeps its order: pair both sides off from the lowest up."""
    everything = sorted(value for group in groups for value in group)
    rank = {value: at for at, value in enumerate(sorted(set(everything)))}
    if len(rank) == 1:
        return Fraction(0)
    length = math.lcm(len(values), len(everything))
    mine = [rank[v] for v in sorted(values) for _ in range(length // len(values))]
    whole = [rank[v] for v in everything for _ in range(length // len(everything))]
    return Fraction(sum(abs(a - b) for a, b in zip(mine, whole, strict=True)), length * (len(rank) - 1))


def test_figures_by_hand() -> None:
    release = counted(4, 3, 2, 1).releases[0]
    assert diversity.totals(release).tolist() == [10]
    assert diversity.distinct(release).tolist() == [4]
    assert diversity.largest(release).tolist() == [4]
    by_hand = -(0.4 * math.log(0.4) + 0.3 * math.log(0.3) + 0.2 * math.log(0.2) + 0.1 * math.log(0.1))
    assert diversity.entropy(release)[0] == pytest.approx(by_hand, abs=1e-14)
    tails = {length: int(diversity.head_and_tail(release, length)[1][0]) for length in range(1, 6)}
    assert tails == {1: 10, 2: 6, 3: 3, 4: 1, 5: 0}
    assert diversity.largest_of_sets(release, [[1], [2, 3]]).tolist() == [3]
    assert diversity.largest_of_sets(release, [[1, 2], [3]]).tolist() == [5]
    assert diversity.largest_of_sets(release, [[77]]).tolist() == [0]


def test_t_closeness_of_the_papers_salaries() -> None:
    ordered = diversity.ordered_distance(view(SALARIES).releases[0])
    assert ordered[0] == pytest.approx(0.375, abs=1e-12)
    assert ordered[1] == pytest.approx(1 / 6, abs=1e-12)
    assert TClose(0.375, distance="ordered").check(view(SALARIES)).holds
    assert not TClose(0.374, distance="ordered").check(view(SALARIES)).holds
    # Each group has three of nine equally frequent values: three times 1/3 - 1/9.
    assert diversity.variation_distance(view(SALARIES).releases[0]) == pytest.approx([2 / 3] * 3)


def test_ke_anonymity_leaves_missing_values_out_of_the_range() -> None:
    release = PublishedGroups(
        1,
        np.arange(5),
        np.array([0, 3, 5]),
        np.array([0, 1, 2, 0]),
        np.array([1, 1, 1, 2]),
        np.array([0, 3, 4]),
    )
    published = Published((release,), (None, 10.0, 40.0), np.array([np.nan, 10.0, 40.0]))
    assert diversity.extent(release, published.magnitudes).tolist() == [30.0, 0.0]
    assert KEAnonymous(1, 1).check(published).violations == 1


@examples(30, HealthCheck.function_scoped_fixture)
@given(groups_of_numbers, st.integers(1, 7), st.booleans())
def test_figures(groups: Groups, l: int, shuffled: bool) -> None:  # noqa: E741
    published = view(groups, shuffled=shuffled)
    release = published.releases[0]
    magnitudes = published.magnitudes
    assert magnitudes is not None
    assert diversity.totals(release).tolist() == [len(values) for values in groups]
    assert diversity.distinct(release).tolist() == [len(set(values)) for values in groups]
    assert diversity.largest(release).tolist() == [falling(values)[0] for values in groups]
    head, tail = diversity.head_and_tail(release, l)
    assert head.tolist() == [falling(values)[0] for values in groups]
    assert tail.tolist() == [sum(falling(values)[l - 1 :]) for values in groups]
    assert diversity.entropy(release) == pytest.approx([entropy(values) for values in groups], abs=1e-12)
    assert diversity.extent(release, magnitudes).tolist() == [max(values) - min(values) for values in groups]
    by_definition = [float(variation(values, groups)) for values in groups]
    assert diversity.variation_distance(release) == pytest.approx(by_definition, abs=1e-12)
    by_moving = [float(moved_earth(values, groups)) for values in groups]
    assert diversity.ordered_distance(release) == pytest.approx(by_moving, abs=1e-12)


@examples(20, HealthCheck.function_scoped_fixture)
@given(groups_of_numbers, st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), max_size=4))
def test_rows_in_sets_of_values(groups: Groups, sets: list[list[int]]) -> None:
    published = view(groups)
    position = {value: at for at, value in enumerate(published.values)}
    positions = [[position.get(value, len(position) + value) for value in chosen] for chosen in sets]
    expected = [max((sum(v in chosen for v in values) for chosen in sets), default=0) for values in groups]
    assert diversity.largest_of_sets(published.releases[0], positions).tolist() == expected


def agrees(guarantee: GroupGuarantee, groups: Groups, broken: list[bool]) -> None:
    """The verdict counts the broken groups and points at one of them, if there is one."""
    verdict = guarantee.check(view(groups))
    assert verdict.holds is not any(broken)
    assert (verdict.violations, verdict.groups, verdict.release) == (sum(broken), len(groups), 1)
    assert verdict.group is not None
    assert broken[verdict.group - 1] is not verdict.holds


@examples(30, HealthCheck.function_scoped_fixture)
@given(
    groups_of_numbers,
    st.integers(1, 8),
    st.fractions(Fraction(1, 4), 6, max_denominator=4),
    st.fractions(0, 1, max_denominator=24),
    st.integers(0, 60),
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=3), max_size=3),
)
def test_verdicts(groups: Groups, whole: int, fraction: Fraction, t: Fraction, e: int, sets: list[list[int]]) -> None:
    # Quarters are exact as floats, so ties are ties; t is not, and the tolerance must see to it.
    number = int(fraction) if fraction.denominator == 1 else float(fraction)
    agrees(KAnonymous(whole), groups, [len(values) < whole for values in groups])
    agrees(LDiverse(whole), groups, [len(set(values)) < whole for values in groups])
    agrees(
        RecursiveDiverse(number, whole),
        groups,
        [not falling(values)[0] < fraction * sum(falling(values)[whole - 1 :]) for values in groups],
    )
    agrees(
        KEAnonymous(whole, e),
        groups,
        [len(set(values)) < whole or max(values) - min(values) < e for values in groups],
    )
    agrees(TClose(float(t)), groups, [variation(values, groups) > t for values in groups])
    agrees(TClose(float(t), "ordered"), groups, [moved_earth(values, groups) > t for values in groups])
    assume(fraction >= 1)
    largest = [max(Counter(values).values()) for values in groups]
    agrees(
        ShareDiverse(number),
        groups,
        [top * fraction > len(values) for top, values in zip(largest, groups, strict=True)],
    )
    if sets:
        held = [max(sum(v in chosen for v in values) for chosen in sets) for values in groups]
        agrees(
            ShareDiverse(number, protect=sets),
            groups,
            [top * fraction > len(values) for top, values in zip(held, groups, strict=True)],
        )


@examples(30, HealthCheck.function_scoped_fixture)
@given(groups_of_numbers, st.integers(1, 8))
def test_entropy_verdicts_with_ties_decided_by_whole_numbers(groups: Groups, l: int) -> None:  # noqa: E741
    # H >= log l  <=>  n^n >= l^n * product of c^c, in whole numbers.
    broken = [
        len(values) ** len(values) < l ** len(values) * math.prod(c**c for c in Counter(values).values())
        for values in groups
    ]
    agrees(EntropyDiverse(l), groups, broken)


@examples(20, HealthCheck.function_scoped_fixture)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.integers(1, 40),
    st.floats(1, 8),
    st.integers(1, 90),
)
def test_advice_can_be_taken_at_its_word(values: list[int], k: int, c: float, e: int) -> None:
    published = view([values])
    guarantees: list[GroupGuarantee] = [
        KAnonymous(k),
        LDiverse(k),
        EntropyDiverse(c),
        ShareDiverse(c),
        KEAnonymous(1, e),
        RecursiveDiverse(c, k),
    ]
    for guarantee in guarantees:
        advice = guarantee.advice(published)
        if guarantee.check(published).holds:
            assert advice == f"the table as a whole satisfies {guarantee.title}"
            continue
        way = advice.rsplit(": ", 1)[1].split(" would be satisfied")[0]
        improved: list[GroupGuarantee] = []
        if isinstance(guarantee, RecursiveDiverse):
            for option in way.replace("any c above", "c =").replace(" or less", "").split(", or "):
                parts = dict(part.split(" = ") for part in option.split(" with "))
                above = 0.0001 if option.startswith("c") else 0
                improved.append(RecursiveDiverse(float(parts["c"]) + above, int(parts["l"])))
        else:
            name, number = way.removesuffix(" or less").split(" = ")
            given_as = float(number) if "." in number else int(number)
            improved.append(type(guarantee)(**{**guarantee.parameters, name: given_as}))
        for better in improved:
            assert better.check(published).holds, (guarantee, advice)


@pytest.mark.parametrize(
    ("guarantee", "published", "words"),
    [
        (
            KAnonymous(10),
            counted(4, 3),
            "the table has 7 rows, 10 are needed: k = 7 or less would be satisfied",
        ),
        (
            LDiverse(6),
            counted(4, 3, 2, 1),
            "the table has 4 distinct values of the sensitive column, 6 are needed: l = 4 or less would be satisfied",
        ),
        (
            EntropyDiverse(3),
            counted(5, 5),
            "the sensitive column has an entropy of 0.6931 over the whole table, log 3 = 1.0986 is needed: "
            "l = 2 or less would be satisfied",
        ),
        (
            RecursiveDiverse(1, 3),
            counted(4, 3, 2, 1),
            "the table has 4 distinct values of the sensitive column, 4 rows with the most frequent and "
            "3 rows with those from place 3 on, fewer than 1 times as many are needed: any c above 1.334 "
            "with l = 3, or l = 2 or less with c = 1 would be satisfied",
        ),
        (
            ShareDiverse(2),
            counted(6, 4),
            "6 of 10 rows have the most frequent value, at most 5 may: l = 1.666 or less would be satisfied",
        ),
        (
            KEAnonymous(4, 100),
            view([[1, 2, 38]]),
            "the table has 3 distinct values of the sensitive column, 4 are needed, and spans 37 % of the "
            "range needed in the sensitive column: k = 3 or less and e = 37 or less would be satisfied",
        ),
        (
            TClose(0),
            counted(6, 4),
            "the table as a whole satisfies t-closeness (t = 0, distance = variation)",
        ),
        (KAnonymous(2), counted(6, 4), "the table as a whole satisfies k-anonymity (k = 2)"),
    ],
)
def test_advice(guarantee: KAnonymous, published: Published, words: str) -> None:
    assert guarantee.advice(published) == words


@pytest.mark.parametrize(
    "guarantee",
    [KAnonymous(1), LDiverse(1), EntropyDiverse(1), RecursiveDiverse(2, 1), KEAnonymous(1, 0)],
    ids=lambda guarantee: guarantee.name,
)
def test_advice_for_an_empty_table(guarantee: KAnonymous) -> None:
    none = np.zeros(0, dtype=np.int64)
    ends = np.array([0, 0])
    empty = Published((PublishedGroups(1, none, ends, none, none, ends),), (), np.zeros(0))
    assert "no rows" in guarantee.advice(empty) or "no values" in guarantee.advice(empty)


def test_recursive_advice_when_neither_alone_helps() -> None:
    # Two values, five places asked for, and c too small even for l = 1: both must change.
    advice = RecursiveDiverse(0.5, 5).advice(counted(8, 2))
    assert advice.endswith(": any c above 4 with l = 2 or less would be satisfied")
    assert RecursiveDiverse(4.001, 2).check(counted(8, 2)).holds
    assert not RecursiveDiverse(0.5, 1).check(counted(8, 2)).holds


def test_advice_wants_one_group() -> None:
    for published in (view([[1], [2]]), Published((), ()), Published(2 * view([[1]]).releases, (1,))):
        with pytest.raises(ParameterError, match="one release with one group"):
            KAnonymous(2).advice(published)


def test_thousands_of_values_against_a_dense_matrix() -> None:
    rng = np.random.default_rng(5)
    groups = [sorted(rng.integers(0, 3000, size=rng.integers(1, 60)).tolist()) for _ in range(300)]
    release = view(groups).releases[0]
    everything, place = np.unique(np.concatenate(groups), return_inverse=True)
    counts = np.zeros((len(groups), everything.size))
    np.add.at(counts, (np.repeat(np.arange(len(groups)), [len(values) for values in groups]), place), 1)
    share = counts / counts.sum(axis=1, keepdims=True)
    overall = counts.sum(axis=0) / counts.sum()
    dense = np.abs(np.cumsum(share - overall, axis=1)).sum(axis=1) / (everything.size - 1)
    assert diversity.ordered_distance(release) == pytest.approx(dense, abs=1e-10)
    assert diversity.variation_distance(release) == pytest.approx(np.abs(share - overall).sum(axis=1) / 2)
