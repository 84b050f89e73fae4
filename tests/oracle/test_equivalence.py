"""Equivalence attacks against enumeration: of all small combinations, of all vectors, and of all possible worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from profiles import examples
from worked_examples import worked_examples
from worlds import AllWorlds, view

from reissue.arrays.budget import OutOfTime
from reissue.arrays.elimination import echelon
from reissue.errors import ParameterError
from reissue.guarantees.base import Verdict
from reissue.guarantees.series import equivalence_safety
from reissue.guarantees.series.equivalence_safety import EquivalenceSafe
from reissue.model.memory import Kept
from reissue.model.published import Published
from reissue.reasoning.equality.minimum_equivalence import minimum_attack, minimum_attack_of_matrices
from reissue.reasoning.history.trajectories import Trajectories

Ints = npt.NDArray[np.int64]
Group = tuple[list[int], list[int]]
"""Members and their values; negative members are counterfeits."""
Series = list[list[Group]]


# The oracle: exact linear algebra with fractions, and enumeration.


def reduced(matrix: Ints) -> tuple[list[list[Fraction]], list[int]]:
    """The reduced row echelon form by the school method."""
    rows = [[Fraction(int(cell)) for cell in row] for row in matrix]
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        at = next((i for i in range(len(pivots), len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        place = len(pivots)
        rows[place], rows[at] = rows[at], rows[place]
        rows[place] = [cell / rows[place][column] for cell in rows[place]]
        for i, row in enumerate(rows):
            if i != place and row[column]:
                rows[i] = [cell - row[column] * by for cell, by in zip(row, rows[place], strict=True)]
        pivots.append(column)
    return rows[: len(pivots)], pivots


def orthogonal(matrix: Ints) -> Ints:
    """Integer vectors, one in each row, whose products with a vector are zero if and only if the rows span it."""
    rows, pivots = reduced(matrix)
    found = []
    for free in sorted(set(range(matrix.shape[1])) - set(pivots)):
        vector = [Fraction(0)] * matrix.shape[1]
        vector[free] = Fraction(1)
        for row, pivot in zip(rows, pivots, strict=True):
            vector[pivot] = -row[free]
        scale = lcm(*(part.denominator for part in vector))
        found.append([int(part * scale) for part in vector])
    return np.array(found, dtype=np.int64).reshape(-1, matrix.shape[1])


@cache
def vectors(people: tuple[int, ...], cost: int) -> Ints:
    """All integer vectors with at most this cost and a sum of zero, and never both of y and -y."""

    def all_of(left: int, rest: tuple[int, ...]) -> list[tuple[int, ...]]:
        if not rest:
            return [()]
        most = left // rest[0]
        return [(y, *more) for y in range(-most, most + 1) for more in all_of(left - rest[0] * abs(y), rest[1:])]

    found = np.array(all_of(cost, people), dtype=np.int64).reshape(-1, len(people))
    found = found[found @ np.array(people) == 0]
    return found[: len(found) // 2]


def smallest_by_vectors(presence: Ints, people: Ints, values: Ints, limit: int) -> int | None:
    """The smallest attack up to a limit, by trying every vector."""
    tried = vectors(tuple(people.tolist()), 2 * limit)
    padded = np.hstack([np.zeros((len(tried), values.shape[1]), dtype=np.int64), tried])
    spanned = (padded @ orthogonal(np.hstack([values, presence])).T == 0).all(axis=1)
    costs = np.abs(tried[spanned]) @ people
    return int(costs.min()) // 2 if costs.size else None


def smallest_by_weights(presence: Ints, people: Ints, values: Ints, most: int = 3) -> int | None:
    """The smallest attack with integer weights up to `most`, which is all that the paper's Lemma 2 speaks of."""
    count = presence.shape[0]
    weights = np.stack(np.meshgrid(*[np.arange(-most, most + 1)] * count, indexing="ij"), axis=-1).reshape(-1, count)
    costs = np.abs(weights[(weights @ values == 0).all(axis=1)] @ presence) @ people
    return int(costs[costs > 0].min()) // 2 if costs.any() else None


def matrices(series: Series) -> tuple[Ints, Ints, Ints]:
    """A row for each group, a column for each person, a column for each value."""
    groups = [group for release in series for group in release]
    everyone = sorted({person for members, _ in groups for person in members})
    values = sorted({value for _, held in groups for value in held})
    presence = np.array([[person in members for person in everyone] for members, _ in groups], dtype=np.int64)
    table = np.array([[held.count(value) for value in values] for _, held in groups], dtype=np.int64)
    return presence, np.ones(len(everyone), dtype=np.int64), table


def collapsed(presence: Ints) -> tuple[Ints, Ints]:
    columns, people = np.unique(presence, axis=1, return_counts=True)
    return columns, people.astype(np.int64)


def smallest(series: Series, limit: int) -> int | None:
    presence, _, values = matrices(series)
    return smallest_by_vectors(*collapsed(presence), values, limit)


# Series, drawn so that they have a true world.


@st.composite
def merged_series(draw: st.DrawFn, *, returns: bool = True, signatures: int = 1, most: int = 4) -> Series:
    """Balanced buckets, one group for each signature and release; everybody keeps his signature."""
    m = draw(st.integers(2, 3))
    per_value = draw(st.integers(2, 4 if m == 2 else 2))
    series: Series = []
    gone: set[int] = set()
    before: set[int] = set()
    for _ in range(draw(st.integers(1, most))):
        release: list[Group] = []
        for bucket in range(signatures):
            # Buckets share all values but one.
            pool = {bucket + v: [100 * bucket + 10 * v + i for i in range(per_value)] for v in range(m)}
            fresh = {v: [p for p in people if returns or p not in gone] for v, people in pool.items()}
            count = draw(st.integers(0, min(map(len, fresh.values()))))
            if count:
                chosen = [p for people in fresh.values() for p in draw(st.permutations(people))[:count]]
                release.append((chosen, [v for v in fresh for _ in range(count)]))
        now = {p for members, _ in release for p in members}
        gone |= before - now
        before = now
        series.append(release)
    return series


@st.composite
def crowded_series(draw: st.DrawFn) -> Series:
    """Streams whose buckets change by several at a time, so that the cut often certifies them.

    Some people return, and now and then some of the shared value change places, hence signatures.
    """
    series: Series = []
    pools = [[list(range(at, at + 50)) for at in (0, 50)], [list(range(at, at + 50)) for at in (100, 150)]]
    living: list[list[list[int]]] = [[[], []], [[], []]]
    gone: list[list[list[int]]] = [[[], []], [[], []]]
    for _ in range(draw(st.integers(2, 5))):
        for at in range(draw(st.integers(0, min(2, len(living[0][1]), len(living[1][1]))))):
            living[0][1][-1 - at], living[1][1][-1 - at] = living[1][1][-1 - at], living[0][1][-1 - at]
        release: list[Group] = []
        for bucket, (here, away) in enumerate(zip(living, gone, strict=True)):
            leaving, back, more = draw(st.integers(0, 4)), draw(st.integers(0, 1)), draw(st.integers(0, 6))
            size = max(len(here[0]) - leaving, 0) + more
            for v in (0, 1):
                out, here[v] = here[v][:leaving], here[v][leaving:]
                returning = away[v][: min(back, size - len(here[v]))]
                away[v] = away[v][len(returning) :] + out
                fresh = [pools[bucket][v].pop() for _ in range(size - len(here[v]) - len(returning))]
                here[v] = [*here[v], *returning, *fresh]
            if size:
                release.append((here[0] + here[1], [bucket] * size + [2] * size))
        series.append(release)
    return series


@st.composite
def split_series(draw: st.DrawFn) -> Series:
    """Groups with every value once, mixed anew in each release; some of the members are counterfeits."""
    m, per_value = draw(st.sampled_from([(2, 3), (2, 4), (3, 2)]))
    fake = draw(st.sets(st.integers(0, 9), max_size=2))
    pool = [[-p - 1 if p in fake else p for p in range(v * per_value, (v + 1) * per_value)] for v in range(m)]
    series: Series = []
    for _ in range(draw(st.integers(1, 3))):
        columns = [draw(st.permutations(people)) for people in pool]
        count = draw(st.integers(1, per_value))
        series.append([(list(group), list(range(m))) for group in list(zip(*columns, strict=True))[:count]])
    return series


@st.composite
def any_series(draw: st.DrawFn) -> Series:
    """Groups of whatever people: not balanced, signatures change."""
    people = draw(st.integers(2, 7))
    world = draw(st.lists(st.integers(0, 2), min_size=people, max_size=people))
    series: Series = []
    for _ in range(draw(st.integers(1, 3))):
        label = draw(st.lists(st.integers(0, 2), min_size=people, max_size=people))
        groups = [[p for p in range(people) if label[p] == g] for g in (0, 1)]
        series.append([(members, [world[p] for p in members]) for members in groups if members])
    return series


@st.composite
def tables(draw: st.DrawFn) -> tuple[Ints, Ints, Ints]:
    """Presences, people and values, of any kind that a true world allows."""
    groups, columns, values = draw(st.integers(1, 5)), draw(st.integers(2, 6)), draw(st.integers(1, 3))
    cells = draw(st.lists(st.booleans(), min_size=groups * columns, max_size=groups * columns))
    presence = np.array(cells, dtype=np.int64).reshape(groups, columns)
    people = np.array(draw(st.lists(st.integers(1, 2), min_size=columns, max_size=columns)), dtype=np.int64)
    held = np.zeros((columns, values), dtype=np.int64)
    for column, count in enumerate(people.tolist()):
        for _ in range(count):
            held[column, draw(st.integers(0, values - 1))] += 1
    return presence, people, presence @ held


# The exact search.


@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=5))
@examples(12, HealthCheck.function_scoped_fixture)
def test_elimination_is_exact(cells: list[list[int]]) -> None:
    matrix = np.array(cells, dtype=np.int64)
    for scaled in (matrix, matrix * 10**11):  # the second has products beyond 64 bits
        rows, pivots = echelon(scaled)
        expected, columns = reduced(scaled)
        assert pivots == columns
        for row, pivot, wanted in zip(rows, pivots, expected, strict=True):
            assert row[pivot] > 0 and np.gcd.reduce(row) == 1
            assert [Fraction(int(cell), int(row[pivot])) for cell in row] == wanted


def test_elimination_goes_beyond_64_bits() -> None:
    matrix = np.random.default_rng(3).integers(-(10**6), 10**6, (8, 10))
    rows, pivots = echelon(matrix)
    expected, _ = reduced(matrix)
    assert max(abs(int(cell)) for cell in rows.ravel()) > 2**64
    for row, pivot, wanted in zip(rows, pivots, expected, strict=True):
        assert [Fraction(int(cell), int(row[pivot])) for cell in row] == wanted
    with pytest.raises(OutOfTime):
        echelon(matrix, 0.0)


@given(tables())
@examples(30, HealthCheck.function_scoped_fixture)
def test_minimum_is_that_of_all_vectors(drawn: tuple[Ints, Ints, Ints]) -> None:
    presence, people, values = drawn
    limit = 3
    found = minimum_attack_of_matrices(presence, people, values)
    expected = smallest_by_vectors(presence, people, values, limit)
    assert found.decided
    if expected is None:
        assert found.attack is None or found.attack.size > limit
    else:
        assert found.attack is not None and found.attack.size == expected
    if found.attack is None:
        assert found.bound is None
        assert smallest_by_weights(presence, people, values) is None
        return
    attack = found.attack
    assert found.bound == attack.size
    weights = np.array(attack.weights, dtype=object)
    assert (weights @ values == 0).all()
    assert (weights @ presence == attack.sides).all()
    assert np.abs(attack.sides) @ people == 2 * attack.size > 0
    with_integers = smallest_by_weights(presence, people, values)
    assert with_integers is None or with_integers >= attack.size


@given(tables(), st.integers(1, 4))
@examples(16, HealthCheck.function_scoped_fixture)
def test_only_smaller_attacks_are_looked_for(drawn: tuple[Ints, Ints, Ints], below: int) -> None:
    expected = smallest_by_vectors(*drawn, below - 1) if below > 1 else None
    found = minimum_attack_of_matrices(*drawn, below=below)
    assert found.decided
    assert (found.attack and found.attack.size) == expected
    assert found.bound == (expected or below)


def test_minimum_where_branching_is_needed() -> None:
    """Wider tables: in about a third of them the search has to branch, and finds something in a quarter of those."""
    limit = 2
    for seed in range(300):
        rng = np.random.default_rng(seed)
        presence = (rng.random((int(rng.integers(4, 8)), int(rng.integers(8, 11)))) < 0.5).astype(np.int64)
        presence = presence[:, presence.any(axis=0)]
        people = np.ones(presence.shape[1], dtype=np.int64)
        values = presence @ np.eye(2, dtype=np.int64)[rng.integers(0, 2, people.size)]
        found = minimum_attack_of_matrices(presence, people, values)
        assert found.decided
        size = found.attack.size if found.attack and found.attack.size <= limit else None
        assert size == smallest_by_vectors(presence, people, values, limit), f"seed {seed}"


@given(merged_series(most=5))
@examples(12, HealthCheck.function_scoped_fixture)
def test_one_signature_needs_only_its_multiples(series: Series) -> None:
    presence, people, values = matrices([release for release in series if release] or [[([0, 1], [0, 1])]])
    whole = minimum_attack_of_matrices(presence, people, values)
    columns, count = collapsed(presence)
    alone = minimum_attack(columns, count, values.max(axis=1))
    assert alone.decided and whole.decided
    assert (alone.attack and alone.attack.size) == (whole.attack and whole.attack.size)


@given(merged_series(returns=False, most=5))
@examples(12, HealthCheck.function_scoped_fixture)
def test_without_returns_weights_are_integers(series: Series) -> None:
    """Lemma 2, where it is true: presences are intervals, so the matrix is totally unimodular."""
    assume(any(series))
    found = minimum_attack_of_matrices(*matrices([release for release in series if release]))
    assert found.attack is None or all(weight.denominator == 1 for weight in found.attack.weights)


HALVES: Series = [[([3, 5], [0, 1])], [([1, 3, 4, 5], [0, 0, 1, 1])]]
HALVES += [[([1, 2, 5, 6], [0, 0, 1, 1])], [([2, 3, 4, 6], [0, 0, 1, 1])]]


def test_with_returns_half_weights_find_more() -> None:
    """The paper's Lemma 2 does not hold here: 1 and 3 are tied by half weights, integer ones tie nobody alone."""
    presence, people, values = matrices(HALVES)
    found = minimum_attack_of_matrices(presence, people, values)
    assert found.attack is not None and found.attack.size == 1
    half = Fraction(1, 2)
    assert found.attack.weights in [(-1, half, half, -half), (1, -half, -half, half)]
    assert smallest_by_weights(presence, people, values, most=4) == 2
    assert (1, 3) in AllWorlds.of(HALVES).equal()


def test_an_unfinished_search_says_so() -> None:
    rng = np.random.default_rng(0)
    presence = (rng.random((30, 60)) < 0.5).astype(np.int64)
    held = np.eye(3, dtype=np.int64)[rng.integers(0, 3, 60)]
    for below in (None, 5):
        found = minimum_attack_of_matrices(presence, np.ones(60), presence @ held, below=below, seconds=0.3)
        assert not found.decided
        assert found.bound is not None and found.bound >= 1
        assert found.attack is None or found.attack.size >= found.bound


def test_impossible_tables_are_refused() -> None:
    with pytest.raises(ParameterError) as raised:
        minimum_attack([[1, 1, 2], [1, 0, 0]], [1, 1, 0], [1, 1], below=0)
    assert len(raised.value.problems) == 4
    with pytest.raises(ParameterError, match="must fit"):
        minimum_attack([[1, 1]], [1, 1], [1, 1])


# Possible worlds.


@given(st.one_of(merged_series(), split_series(), any_series()))
@examples(24, HealthCheck.function_scoped_fixture)
def test_attacks_are_true_in_every_world(series: Series) -> None:
    assume(any(series))
    series = [release for release in series if release]
    presence, people, values = matrices(series)
    found = minimum_attack_of_matrices(presence, people, values)
    assume(found.attack is not None and people.size <= 8)
    assert found.attack is not None
    worlds = AllWorlds.of(series).table
    assert len(worlds)
    for value in np.unique(worlds):
        assert ((worlds == value) @ found.attack.sides == 0).all()


def forced_equal(series: Series) -> bool:
    """Whether two people have the same value in every world."""
    return bool(AllWorlds.of(series).equal())


@given(merged_series(returns=False, most=5))
@examples(24, HealthCheck.function_scoped_fixture)
def test_merged_buckets_without_returns_hide_nothing_from_combinations(series: Series) -> None:
    """What is certified against attacks of size 1 is not found by any other reasoning either."""
    assume(any(series))
    series = [release for release in series if release]
    presence, people, values = matrices(series)
    assume(people.size <= 8)
    found = minimum_attack_of_matrices(presence, people, values, below=2)
    assert forced_equal(series) == (found.attack is not None)


def test_possible_worlds_can_tell_more_than_combinations() -> None:
    """A known limit of Definition 10: three who differ from each other pairwise use up three values."""
    series: Series = [[([1, 3, 5], [0, 1, 2])], [([2, 3, 6], [0, 1, 2])], [([1, 4, 6], [0, 1, 2])]]
    found = minimum_attack_of_matrices(*matrices(series))
    assert found.attack is not None and found.attack.size == 2
    assert (1, 2) in AllWorlds.of(series).equal()


# The guarantee.


def agrees(verdict: Verdict, series: Series, e: int) -> None:
    expected = smallest(series, e - 1) if e > 1 else None
    assert verdict.holds == (expected is None), verdict
    if expected is not None:
        assert verdict.worst == expected
        assert f"attack of size {expected}:" in verdict.explanation
        assert verdict.release is not None and verdict.group is not None and verdict.violations >= 2


@given(st.one_of(merged_series(signatures=2), split_series(), any_series()), st.integers(1, 3))
@examples(30, HealthCheck.function_scoped_fixture)
def test_check_is_that_of_all_vectors(series: Series, e: int) -> None:
    verdict = EquivalenceSafe(e).check(view(series))
    if not any(series):
        assert verdict.holds and verdict.explanation == "There are no groups to check."
        return
    assume(matrices(series)[1].size <= 9)
    agrees(verdict, series, e)
    assert "decided exactly" in verdict.explanation or not verdict.holds


@given(st.one_of(merged_series(signatures=2), any_series(), split_series(), crowded_series()), st.integers(1, 3))
@examples(40, HealthCheck.function_scoped_fixture)
def test_what_the_cut_certifies_is_safe(series: Series, e: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equivalence_safety, "CELLS", 0)
        verdict = EquivalenceSafe(e).check(view(series))
    assume(any(series))
    if verdict.holds:
        assert "certified by the cut" in verdict.explanation and "exactly" not in verdict.explanation
        presence, _, values = matrices(series)
        assert minimum_attack_of_matrices(*collapsed(presence), values, below=e).attack is None
    else:
        assert verdict.explanation.startswith("Not certified")
        assert verdict.release is None and verdict.violations >= 1 and verdict.worst < e


def test_the_cut_certifies_plain_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """He's Example 10: cuts of 4 are enough for e = 2, for e = 3 they are not."""
    first = [([1, 2, 3, 4], [0, 0, 1, 1]), ([5, 6, -2, -3], [2, 1, 2, 1])]
    second = [([1, 7, 3, -1], [0, 0, 1, 1]), ([5, 8, 9, 10], [2, 1, 2, 1])]
    third = [([1, 7, 3, -1], [0, 0, 1, 1]), ([9, 10, -4, -5], [2, 1, 2, 1])]
    published = view([first, second, third])
    monkeypatch.setattr(equivalence_safety, "CELLS", 0)
    verdict = EquivalenceSafe(2).check(published)
    assert verdict.holds and verdict.worst == 2
    assert verdict.explanation == "No equivalence attack below 2: 2 buckets certified by the cut."
    verdict = EquivalenceSafe(3).check(published)
    assert not verdict.holds and verdict.worst == 2
    assert "neither an exact search nor the cut rules out an attack below 3 in 2 of 2 buckets" in verdict.explanation
    monkeypatch.setattr(equivalence_safety, "CELLS", 10**6)
    verdict = EquivalenceSafe(2).check(published)
    assert verdict.explanation == "No equivalence attack below 2: 2 buckets decided exactly."
    assert EquivalenceSafe(3).check(published).worst == 2


def test_beyond_m_buckets_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups of signatures {0, 1} and {2, 3} together have the values of two with {0, 2} and {1, 3}."""
    held = [[0, 1], [2, 3], [0, 2], [1, 3]]
    published = view([[([2 * at, 2 * at + 1], values) for at, values in enumerate(held)]])
    assert EquivalenceSafe(2).check(published).explanation.endswith("4 buckets decided exactly.")
    verdict = EquivalenceSafe(4).check(published)
    assert verdict.explanation == "No equivalence attack below 4: 4 groups decided exactly, all together."
    verdict = EquivalenceSafe(5).check(published)
    assert not verdict.holds and verdict.worst == 4 and verdict.violations == 4
    assert "4 members together have the same values as 4 others." in verdict.explanation
    monkeypatch.setattr(equivalence_safety, "CELLS", 2)
    verdict = EquivalenceSafe(4).check(published)
    assert not verdict.holds
    assert verdict.explanation.startswith("Not certified: e is more than the 2 values of the smallest signature, so")


def test_some_exactly_and_the_rest_by_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    series: Series = [[([1, 2, 3, 4], [0, 0, 1, 1]), ([5, 6, 7, 8], [2, 1, 2, 1])]]
    series += [[([1, 2, 3, 4], [0, 0, 1, 1]), ([5, 6, 9, 10], [2, 1, 2, 1])]]
    monkeypatch.setattr(equivalence_safety, "CELLS", 2)
    verdict = EquivalenceSafe(2).check(view(series))
    assert verdict.holds
    assert (
        verdict.explanation == "No equivalence attack below 2: 1 bucket decided exactly, 1 bucket certified by the cut."
    )


def test_without_time_the_cut_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equivalence_safety, "SECONDS", 0.0)
    verdict = EquivalenceSafe(2).check(view([[([1, 2, 3, 4], [0, 0, 1, 1])]]))
    assert verdict.explanation == "No equivalence attack below 2: 1 bucket certified by the cut."


def test_people_who_change_their_signature_tie_buckets_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each bucket 3 are found equal to 3; but 2 of them only change places, which leaves 2 and 2."""
    first = [([1, 2, 3, 4, 11, 12, 13, 14], [0] * 4 + [2] * 4), ([5, 6, 7, 8, 21, 22, 23, 24], [1] * 4 + [2] * 4)]
    second = [([1, 2, 3, 4, 21, 22, 15, 14], [0] * 4 + [2] * 4), ([5, 6, 7, 8, 11, 12, 25, 24], [1] * 4 + [2] * 4)]
    published = view([first, second])
    verdict = EquivalenceSafe(3).check(published)
    assert not verdict.holds and verdict.worst == 2 and verdict.violations == 4
    monkeypatch.setattr(equivalence_safety, "CELLS", 0)
    verdict = EquivalenceSafe(3).check(published)
    assert not verdict.holds
    assert verdict.explanation.startswith("Not certified: the signature changes for 4 of 18 members, so")
    assert [verdict.holds for verdict in followed(3, [first, second])[0]] == [True, False]


def test_the_cut_speaks_of_split_buckets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups of four: 4 are equal to 4. Mixed anew, everybody has two stays and nothing is certain."""
    monkeypatch.setattr(equivalence_safety, "CELLS", 0)
    one, other = ([1, 2, 3, 4], [0, 0, 1, 1]), ([5, 6, 7, 8], [0, 0, 1, 1])
    assert EquivalenceSafe(2).check(view([[one, other]])).holds
    assert not EquivalenceSafe(3).check(view([[one, other]])).holds
    mixed = [([1, 2, 7, 8], [0, 0, 1, 1]), ([3, 4, 5, 6], [1, 1, 0, 0])]
    assert not EquivalenceSafe(2).check(view([[one, other], mixed])).holds


def from_presences(presences: list[str]) -> Series:
    """One merged bucket of two values; people are drawn as 1 and 0 over the releases, values alternate."""
    series: Series = []
    for release in range(len(presences[0])):
        members = [p for p, present in enumerate(presences) if present[release] == "1"]
        series.append([(members, [i % 2 for i in range(len(members))])])
    return series


RETURNING = ["1101", "1011", "0110", "1111", "0101", "1010"]


def test_people_who_return_are_not_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stays drawn as edges would give a cut of 4, yet the first two are tied together."""
    series = from_presences(RETURNING)
    verdict = EquivalenceSafe(2).check(view(series))
    assert not verdict.holds and verdict.worst == 1
    assert "group 1 of release 1 and group 1 of release 4 show that 1 member has the same value as 1 other" in (
        verdict.explanation
    )
    monkeypatch.setattr(equivalence_safety, "CELLS", 0)
    verdict = EquivalenceSafe(2).check(view(series))
    assert not verdict.holds
    assert verdict.explanation.startswith("Not certified: neither an exact search nor the cut rules out an attack")
    assert verdict.explanation.endswith("That does not mean that there is one.")


def test_people_who_return_are_left_out_where_the_rest_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equivalence_safety, "CELLS", 0)
    crowd = ["110"] * 3 + ["011"] * 3 + ["101"] * 2 + ["111"] * 4
    verdict = EquivalenceSafe(2).check(view(from_presences(crowd)))
    assert verdict.holds, verdict.explanation
    # Without those who are there in releases 1 and 2 only, the ends of the returning people's stays come apart.
    assert not EquivalenceSafe(2).check(view(from_presences(["101"] * 2 + ["010"] * 4))).holds


def planted(e: int) -> Series:
    """A stream of large buckets in which, at one point, e - 1 leave and e - 1 come."""
    everyone = list(range(40))
    half = [[p for p in everyone if p % 2 == v] for v in (0, 1)]
    series: Series = [[(half[0] + half[1], [0] * 20 + [1] * 20)]]
    fresh = iter(range(100, 10_000))
    for release in range(2, 9):
        turnover = e - 1 if release == 5 else 8
        for value in (0, 1):
            if value and release == 5:
                continue
            half[value] = half[value][turnover:] + [next(fresh) for _ in range(turnover)]
        series.append([(half[0] + half[1], [0] * 20 + [1] * 20)])
    return series


@pytest.mark.parametrize("e", [2, 4, 7])
def test_planted_attacks_are_found(e: int) -> None:
    published = view(planted(e))
    verdict = EquivalenceSafe(e).check(published)
    assert not verdict.holds and verdict.worst == e - 1
    assert "group 1 of release 4 and group 1 of release 5" in verdict.explanation
    assert EquivalenceSafe(e - 1).check(published).holds
    outcomes, _ = followed(e, planted(e))
    assert [verdict.holds for verdict in outcomes] == [True] * 4 + [False] * 4


def example(place: int) -> dict[str, Any]:
    found: dict[str, Any] = worked_examples("he-2011")["attacks"][place]
    return found


@pytest.mark.parametrize("place", [1, 2])
def test_examples_of_the_paper(place: int) -> None:
    told = example(place)
    published = Published.from_groups(told["series"])
    assert EquivalenceSafe(told["expect"]["min_equivalence"]).check(published).holds
    verdict = EquivalenceSafe(told["expect"]["min_equivalence"] + 1).check(published)
    assert not verdict.holds and verdict.worst == told["expect"]["min_equivalence"]


def test_example_7_signature_by_signature() -> None:
    told = example(2)
    names = sorted({name for release in told["series"] for members, _ in release for name in members})
    groups = [group for release in told["series"] for group in release]
    presence = np.array([[name in members for name in names] for members, _ in groups], dtype=np.int64)
    sizes = presence.sum(axis=1)
    for signature, expected in told["expect"]["per_signature"].items():
        mine = [at for at, (_, held) in enumerate(groups) if set(held) == set(signature.split("+"))]
        used = presence[mine].any(axis=0)
        found = minimum_attack(presence[mine][:, used], np.ones(int(used.sum())), sizes[mine] // 2)
        assert found.attack is not None and found.attack.size == expected
    values = np.array([[held.count(v) for v in ("cancer", "flu", "measles")] for _, held in groups])
    found = minimum_attack_of_matrices(presence, np.ones(len(names)), values)
    assert found.attack is not None
    weights = [int(weight) for weight in found.attack.weights]
    assert told["expect"]["weights"] in (weights, [-weight for weight in weights])
    sides = {names[at] for at in np.flatnonzero(found.attack.sides)}
    assert [[sorted(sides)[0]], [sorted(sides)[1]]] in told["expect"]["equivalent"]


def test_explanations_name_no_one() -> None:
    series = [
        [(["Canary-1", "Canary-2"], ["secret-1", "secret-2"])],
        [(["Canary-1", "Canary-3"], ["secret-1", "secret-2"])],
    ]
    verdict = EquivalenceSafe(2).check(Published.from_groups(series))
    assert not verdict.holds
    assert "anary" not in repr(verdict) and "secret" not in repr(verdict)


def test_parameters_and_views_are_examined() -> None:
    with pytest.raises(ParameterError, match="'e' parameter of EquivalenceSafe must be a whole number of at least 1"):
        EquivalenceSafe(0)
    assert EquivalenceSafe(3).parameters == {"e": 3}
    assert EquivalenceSafe(3).title == "equivalence-safety (e = 3)"
    twice = view([[([1, 2], [0, 1]), ([1, 3], [0, 1])]])
    with pytest.raises(ParameterError, match="1 member of 3 in more than one place"):
        EquivalenceSafe(2).check(twice)
    with pytest.raises(ParameterError, match="more than one place"):
        EquivalenceSafe(2).follow(twice, {})
    open_view = Published.from_groups([[(["a", "b"], ["x"])]], single=False)
    with pytest.raises(ParameterError, match="exactly one value"):
        EquivalenceSafe(2).check(open_view)
    with pytest.raises(ParameterError, match="2 releases instead of one"):
        EquivalenceSafe(2).follow(view([[([1, 2], [0, 1])]] * 2), {})
    _, state = EquivalenceSafe(1).follow(view([[([1, 2], [0, 1])]], first=3), {})
    with pytest.raises(ParameterError, match="Release 3 cannot follow release 3"):
        EquivalenceSafe(1).follow(view([[([1, 2], [0, 1])]], first=3), resolved(state, {}))


@given(st.one_of(merged_series(signatures=2), split_series(), any_series()))
@examples(16, HealthCheck.function_scoped_fixture)
def test_trajectories_are_everybodys_groups(series: Series) -> None:
    expected: dict[int, list[int]] = {}
    for at, (members, _) in enumerate(group for release in series for group in release):
        for person in members:
            expected.setdefault(person, []).append(at)
    ways = Trajectories.of(view(series))
    found = {
        tuple(ways.groups[start:end].tolist()): count
        for start, end, count in zip(ways.starts[:-1], ways.starts[1:], ways.people.tolist(), strict=True)
    }
    assert found == Counter(map(tuple, expected.values()))


# Release by release.


def resolved(
    remembered: Mapping[str, pl.DataFrame | Kept], before: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    return {name: before[name] if isinstance(table, Kept) else table for name, table in remembered.items()}


def followed(e: int, series: Series) -> tuple[list[Verdict], dict[str, pl.DataFrame]]:
    state: dict[str, pl.DataFrame] = {}
    verdicts = []
    for number, release in enumerate(series, start=1):
        verdict, remembered = EquivalenceSafe(e).follow(view([release], first=number), state)
        state = resolved(remembered, state)
        verdicts.append(verdict)
    return verdicts, state


@given(st.one_of(crowded_series(), merged_series(signatures=2), any_series()), st.integers(1, 3))
@examples(40, HealthCheck.function_scoped_fixture)
def test_what_is_followed_as_safe_is_safe(series: Series, e: int) -> None:
    verdicts, _ = followed(e, series)
    for number, verdict in enumerate(verdicts, start=1):
        exact = EquivalenceSafe(e).check(view(series[:number]))
        assert "Not certified" not in exact.explanation
        if verdict.holds:
            assert exact.holds
            assert verdict.explanation.endswith("certified by the cut.")
        else:
            assert verdict.explanation.startswith("Not certified")
            assert verdict.violations >= 1 or not series[number - 1]
    # What is out stays out.
    assert sorted((verdict.holds for verdict in verdicts), reverse=True) == [verdict.holds for verdict in verdicts]


@given(merged_series(returns=False, signatures=2, most=5), st.integers(1, 3))
@examples(20, HealthCheck.function_scoped_fixture)
def test_without_returns_following_is_the_cut_of_the_whole(series: Series, e: int) -> None:
    """The graphs that are kept small say what the whole graph says, release after release."""
    verdicts, _ = followed(e, series)
    holds = True
    for number, verdict in enumerate(verdicts, start=1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(equivalence_safety, "CELLS", 0)
            holds = holds and EquivalenceSafe(e).check(view(series[:number])).holds
        assert verdict.holds == holds


def test_following_with_returns_changes_and_counterfeits() -> None:
    crowd = [(list(range(12)), [0] * 6 + [1] * 6)]
    smaller = [([*range(1, 6), *range(7, 12)], [0] * 5 + [1] * 5)]
    # Two leave, which is too few for e = 2; two counterfeits in their place make four.
    assert [verdict.holds for verdict in followed(2, [crowd, smaller])[0]] == [True, False]
    filled = [([*range(1, 6), *range(7, 12), -1, -2], [0] * 5 + [1] * 5 + [0, 1])]
    verdicts, _ = followed(2, [crowd, filled, filled])
    assert [verdict.holds for verdict in verdicts] == [True, True, True]
    # With the counterfeits gone again and the two back, those two have several stays and are left out; now
    # only the counterfeits' two edges part the middle release from the others.
    verdicts, _ = followed(2, [crowd, filled, crowd])
    assert [verdict.holds for verdict in verdicts] == [True, True, False]
    assert EquivalenceSafe(2).check(view([crowd, filled, crowd])).holds


def test_split_buckets_are_not_followed() -> None:
    verdicts, state = followed(2, [[([1, 2], [0, 1]), ([3, 4], [0, 1])], [([1, 2, 3, 4], [0, 0, 1, 1])]])
    assert "release 1 has 1 bucket split into several groups" in verdicts[0].explanation
    assert "release 1 was not, and what is out stays out" in verdicts[1].explanation
    assert list(state) == ["uncertified"]
