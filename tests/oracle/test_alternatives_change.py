"""Renewed sets against brute force: what every course of sets says of every value at every time.

The library says coins, versions and what is carried; values, sets and chances are enumerated here. What fell on the way
is kept with its figure. Unless said otherwise that is with five values of .3, .25, .2, .15 and .1, and m = 3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from changing_sets import (
    FIVE,
    Course,
    Law,
    M,
    Number,
    Set,
    Then,
    carrying,
    coin,
    courses,
    given,
    largest,
    permanent_table,
    posteriors,
    product,
    random_shares,
    renewal_table,
    renewing,
    sampford,
    with_a_large_one,
)
from profiles import seeds

from reissue.errors import ParameterError
from reissue.reasoning.alternatives.renewing import (
    carried,
    caught,
    chosen_version,
    gaps,
    most_renewals,
    outside,
    renewed,
    start_within,
)


def renewal(
    shares: Sequence[float], m: int, tables: Sequence[Any], coins: Sequence[Sequence[float]], second: Any = None
) -> Law:
    """Courses where the first value and all sets are by one design, or new sets by a second."""
    design = sampford(shares, m)
    then = [renewing(design if second is None else second, one) for one in coins]
    return courses(shares, tables, lambda v: given(design, v), then)


# What stands


@pytest.mark.parametrize("seed", seeds(40, 600))
def test_renewals_with_absences_and_versions(seed: int) -> None:
    """A random series: each release its rate and its version, a person in some releases, from the first or later."""
    rng = np.random.default_rng(seed)
    values = int(rng.integers(3, 6))
    m = int(rng.integers(2, min(values, 4)))
    releases, count = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    shares = np.array([random_shares(rng, values, 1 / m) for _ in range(count)])
    rates = rng.choice([0.1, 0.5, 1.0, rng.random()], releases)
    versions = np.sort(rng.integers(0, count, releases))
    inside = np.flatnonzero(rng.random(releases) < 0.7)[: 3 if values < 5 else 2]
    if inside.size < 2:
        inside = np.array([0, releases - 1])
    designs = [sampford(list(share), m) for share in shares]

    tables, then = [], []
    for last, now in pairwise(inside):
        table = np.eye(values).tolist()
        for step in range(last + 1, now + 1):
            table = product(table, renewal_table(rates[step], shares[versions[step]]))
        tables.append(table)
        gap, codes = np.zeros(values, np.int64), np.arange(values)
        passed = gaps(rates, versions, shares, np.array([last]), now)
        odds, toss = passed.odds(gap, codes), passed.coin(gap, codes)
        of_value: list[dict[Set, Number]] = []
        for v in range(values):
            law: dict[Set, Number] = defaultdict(float)
            for version in range(odds.shape[1]):
                for chosen, chance in given(designs[version], v).items():
                    law[chosen] += odds[v, version] * chance
            of_value.append(law)
        then.append(_by_value(of_value, toss))
    begin = versions[inside[0]]
    found = courses(shares[begin].tolist(), tables, lambda v: given(designs[begin], v), then)
    _all_are(found, 1 / m)


def _by_value(of_value: Sequence[Law], toss: Sequence[Number]) -> Then:
    def then(values: Course, sets: tuple[Set, ...]) -> Law:
        old, new = values[-2:]
        if old != new:
            return of_value[new]
        law = {chosen: toss[new] * chance for chosen, chance in of_value[new].items()}
        law[sets[-1]] = law.get(sets[-1], 0) + 1 - toss[new]
        return law

    return then


def _all_are(found: Law, limit: float) -> None:
    for times in posteriors(found).values():
        for values in times:
            assert all(abs(chance - limit) < 1e-12 for chance in values.values())


@pytest.mark.parametrize("seed", seeds(5, 60))
def test_slots_stay_slots(seed: int) -> None:
    """A value with two of the three slots: 2/3 whenever it is in the set, before and after renewals."""
    rng = np.random.default_rng(seed)
    large = float(rng.uniform(0.2, 0.5))
    shares = [large, *((1 - large) * share for share in random_shares(rng, 4, 1 / 3))]
    design, rate = with_a_large_one(shares, 3, 2), float(rng.random())
    passed = gaps(np.full(3, rate), np.zeros(3, np.int64), np.array([shares]), np.array([0]), 1)
    coins = passed.coin(np.zeros(5, np.int64), np.arange(5))
    then = [renewing(design, list(coins))] * 2
    found = courses(shares, [renewal_table(rate, shares)] * 2, lambda v: given(design, v), then)
    for times in posteriors(found).values():
        for values in times:
            assert all(abs(chance - (2 if v == 0 else 1) / 3) < 1e-12 for v, chance in values.items())


def test_gaps_by_hand() -> None:
    shares = np.array([FIVE, FIVE[::-1]])
    passed = gaps(np.array([0, 0.5, 0.2, 0.1]), np.array([0, 0, 0, 1]), shares, np.array([0, 1, 2]), 3)
    assert passed.kept == pytest.approx([0.5 * 0.8 * 0.9, 0.8 * 0.9, 0.9])
    assert passed.moving == pytest.approx(np.array([[(0.5 * 0.8 + 0.2) * 0.9, 0.1], [0.2 * 0.9, 0.1], [0, 0.1]]))
    toss = passed.coin(np.array([2, 0]), np.array([0, 4]))
    assert toss == pytest.approx([0.01 / 0.91, (0.54 * 0.1 + 0.1 * 0.3) / (0.36 + 0.54 * 0.1 + 0.1 * 0.3)])
    # One version: C = 1 - (1 - c)^(k + 1) in the place of c.
    passed = gaps(np.full(4, 0.3), np.zeros(4, np.int64), shares[:1], np.array([0]), 3)
    several = passed.coin(np.zeros(5, np.int64), np.arange(5))
    assert several == pytest.approx(coin(1 - 0.7**3, FIVE))


def test_who_is_renewed_and_from_which_version() -> None:
    again = renewed(np.array([1, 1, 2]), np.array([1, 1, 3]), np.full(3, 0.5), np.array([0.4, 0.6, 0.9]))
    assert again.tolist() == [True, False, True]
    odds = np.array([[0.2, 0.0, 0.8]])
    uniform = np.array([0.1, 0.19, 0.21, 0.99])
    assert chosen_version(np.repeat(odds, 4, axis=0), uniform).tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize("seed", seeds(5, 50))
def test_which_mixture(seed: int) -> None:
    """Odds w_j p_j(v) and a design of the mixed shares are right; odds w_j are not."""
    rng = np.random.default_rng(seed)
    one, other = FIVE, random_shares(rng, 5, 1 / 3)
    weights = [0.3, 0.5]
    designs = [sampford(one, M), sampford(other, M)]
    mixed = [(weights[0] * a + weights[1] * b) / sum(weights) for a, b in zip(one, other, strict=True)]

    def law(v: int, odds: Sequence[float]) -> Law:
        found: dict[Set, Number] = defaultdict(float)
        for share, design in zip(odds, designs, strict=True):
            for chosen, chance in given(design, v).items():
                found[chosen] += share / sum(odds) * chance
        return found

    def value_odds(v: int) -> list[float]:
        return [weights[0] * one[v], weights[1] * other[v]]

    _all_are(courses(mixed, [], lambda v: law(v, value_odds(v)), []), 1 / M)
    _all_are(courses(mixed, [], lambda v: given(sampford(mixed, M), v), []), 1 / M)
    assert largest(courses(mixed, [], lambda v: law(v, weights), [])) > 1 / M + 1e-4


# Permanent values


@pytest.mark.parametrize("seed", seeds(25, 300))
def test_permanent_values_are_carried(seed: int) -> None:
    """With absences and versions: other values stay within 1/m, permanent ones within what anybody may have caught."""
    rng = np.random.default_rng(seed)
    values, m, releases = 5, int(rng.integers(2, 4)), int(rng.integers(2, 6))
    shares = np.array([random_shares(rng, values, 1 / m) for _ in range(2)])
    permanent = [True, *(rng.random(values - 1) < 0.3)]
    marks = np.array(permanent)
    rates = rng.choice([0.1, 0.5, 0.9], releases)
    versions = np.sort(rng.integers(0, 2, releases))
    inside = np.unique([0, int(rng.integers(0, releases)), releases - 1])
    tables, then = [], []
    for last, now in pairwise(inside):
        table = np.eye(values).tolist()
        for step in range(last + 1, now + 1):
            table = product(table, permanent_table(rates[step], shares[versions[step]], permanent))
        tables.append(table)
        gap, codes = np.zeros(values, np.int64), np.arange(values)
        passed = gaps(rates, versions, shares, np.array([last]), now, marks)
        law = passed.law(0)
        if law[~marks].max(initial=0) * m > 1 or law.max() * m > 1:
            return  # so long an absence that somebody may well have caught it: its share has to get more slots
        then.append(carrying(law.tolist(), m, permanent, passed.coin(gap, codes).tolist()))
    begin = versions[0]
    design = sampford(shares[begin].tolist(), m)
    found = courses(shares[begin].tolist(), tables, lambda v: given(design, v), then)
    worst = shares.max(axis=0)
    for times in posteriors(found).values():
        for time, chances in enumerate(times):
            for v, chance in chances.items():
                bells = int(inside[time])
                bound = caught(worst[v], m, bells) if permanent[v] else 1 / m
                assert chance < bound + 1e-12


def test_a_permanent_value_grows_as_the_page_says() -> None:
    """P(w) = 1 - (1 - 1/m)(1 - p(w))^r after r renewals, exactly; the others share what is left."""
    rate, permanent = 0.4, [False] * 4 + [True]
    passed = gaps(np.full(2, rate), np.zeros(2, np.int64), np.array([FIVE]), np.array([0]), 1, np.array(permanent))
    toss = passed.coin(np.zeros(5, np.int64), np.arange(5))
    assert toss == pytest.approx([*coin(rate, FIVE)[:4], rate])
    design = sampford(FIVE, M)
    then = [carrying(FIVE, M, permanent, toss.tolist())] * 2
    found = courses(FIVE, [permanent_table(rate, FIVE, permanent)] * 2, lambda v: given(design, v), then)
    checked = 0
    for sets, times in posteriors(found).items():
        # Two sets that differ were renewed for certain, two that are equal perhaps.
        if all(4 in chosen for chosen in sets) and all(a != b for a, b in pairwise(sets)):
            assert times[-1][4] == pytest.approx(caught(0.1, M, 2), abs=1e-12)
            assert times[-1][4] == pytest.approx(1 - (1 - 1 / 3) * 0.9**2, abs=1e-12)
            left = (1 - times[-1][4]) / 2
            assert [times[-1][v] for v in sets[-1] if v != 4] == pytest.approx([left, left], abs=1e-12)
            checked += 1
        assert all(chance < 1 / 3 + 1e-12 for values in times for v, chance in values.items() if v != 4)
    assert checked > 10


def test_what_is_carried() -> None:
    marks = np.array([False, True, False, True])
    assert carried(np.array([[0, 1, 3], [0, 2, -1]]), marks).tolist() == [[-1, 1, 3], [-1, -1, -1]]
    assert outside(np.array([0.1, 0.2, 0.3, 0.4]), np.array([-1, 1])) == pytest.approx(np.array([1, 0, 3, 4]) / 8)


def test_where_a_permanent_value_has_to_start() -> None:
    start = start_within(0.02, 10, 3)
    assert start == pytest.approx(1 - 0.9 / 0.98**3)
    assert caught(0.02, 10, 3, start) == pytest.approx(0.1)
    assert most_renewals(0.02, 10) == 4
    assert start_within(0.02, 10, 4) >= 0.02
    with pytest.raises(ParameterError, match="through 5 renewals"):
        start_within(0.02, 10, 5)
    assert most_renewals(1 / 3, 3) == 0


def test_a_permanent_value_beside_m_others() -> None:
    """From `start_within` as one more value: w is in p(w)/start of the sets, and never above 1/m through R renewals."""
    share, m, count = 0.1, 2, 3
    start = start_within(share, m, count)
    others = [v / (1 - share) for v in (0.3, 0.3, 0.3)]
    design = sampford(others, m)
    beside = (share / start - share) / (1 - share)

    def begin(v: int) -> Law:
        if v == 3:
            return {(*chosen, 3): chance for chosen, chance in design.items()}
        without = {chosen: (1 - beside) * chance for chosen, chance in given(design, v).items()}
        return {**without, **{(*chosen, 3): beside * chance for chosen, chance in given(design, v).items()}}

    def then(values: Course, sets: tuple[Set, ...]) -> Law:
        """The bell rings at every release; who was shown with w stays with it."""
        if 3 not in sets[-1]:
            return begin(values[-1])
        law = design if values[-1] == 3 else given(design, values[-1])
        return {(*chosen, 3): chance for chosen, chance in law.items()}

    shares = [0.3, 0.3, 0.3, share]
    found = courses(shares, [permanent_table(1, shares, [False] * 3 + [True])] * count, begin, [then] * count)
    for times in posteriors(found).values():
        assert all(chance < 1 / m + 1e-12 for v, chance in times[-1].items())
    with_it = posteriors(found)[((0, 1, 3),) * (count + 1)][-1]
    assert with_it[3] == pytest.approx(1 / m, abs=1e-12)


# What fell


def test_naive_rate_after_an_absence() -> None:
    """The page: 0.38 to 0.45. Rates of 0.1 to 0.6, and one to three releases missed."""
    found = {
        (rate, missed): largest(renewal(FIVE, M, [renewal_table(1 - (1 - rate) ** (missed + 1), FIVE)], [toss]))
        for rate in (0.1, 0.3, 0.6)
        for missed in (1, 2, 3)
        for toss in [coin(rate, FIVE)]
    }
    assert min(found.values()) == pytest.approx(0.377, abs=5e-4)
    assert max(found.values()) == found[0.6, 3] == pytest.approx(0.449, abs=5e-4)


def test_old_shares_in_the_coin() -> None:
    """The page: 0.48. The second version turns the shares round, c = 0.1."""
    second = sampford(FIVE[::-1], M)
    assert largest(renewal(FIVE, M, [renewal_table(0.1, FIVE[::-1])], [coin(0.1, FIVE)], second)) == pytest.approx(
        0.480, abs=5e-4
    )
    right = renewal(FIVE, M, [renewal_table(0.1, FIVE[::-1])], [coin(0.1, FIVE[::-1])], second)
    assert largest(right) == pytest.approx(1 / 3, abs=1e-12)


def test_one_set_per_value_for_ever() -> None:
    """The page: 0.62. Three releases; the rate hardly matters."""
    design = sampford(FIVE, M)

    def then(values: Course, sets: tuple[Set, ...]) -> Law:
        before = [chosen for v, chosen in zip(values[:-1], sets, strict=True) if v == values[-1]]
        return {before[0]: 1} if before else given(design, values[-1])

    found = courses(FIVE, [renewal_table(0.3, FIVE)] * 2, lambda v: given(design, v), [then] * 2)
    assert largest(found) == pytest.approx(0.619, abs=5e-4)


@pytest.mark.parametrize(("releases", "figure"), [(2, 0.631), (3, 0.854)])
def test_declared_rate_too_high(releases: int, figure: float) -> None:
    """The page: 0.63 and 0.85 after two and three releases, declared 0.5 where it is 0.1."""
    found = renewal(FIVE, M, [renewal_table(0.1, FIVE)] * (releases - 1), [coin(0.5, FIVE)] * (releases - 1))
    assert largest(found) == pytest.approx(figure, abs=5e-4)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_renewed_on_change_only(rate: float) -> None:
    """The page: at most 1/(1 + (m - 3)(1 - 1/m)) if every value is left equally often; 0.372 against 0.571 here."""
    shares = [0.2] * 5
    found = largest(renewal(shares, 4, [renewal_table(rate, shares)] * 2, [[0] * 5] * 2))
    assert found == pytest.approx(0.3721, abs=5e-5)
    assert 1 / 4 < found <= 1 / (1 + (4 - 3) * (1 - 1 / 4))


@pytest.mark.parametrize(("releases", "figure"), [(2, 0.783), (3, 0.960)])
def test_rates_that_differ_by_value(releases: int, figure: float) -> None:
    """The page: 0.79 to 0.96; here 0.78 and 0.96. c = 0.1 for the first value, 0.9 for the others, each in its coin."""
    rates = [0.1, 0.9, 0.9, 0.9, 0.9]
    table = [renewal_table(rate, FIVE)[v] for v, rate in enumerate(rates)]
    coins = [coin(rate, FIVE)[v] for v, rate in enumerate(rates)]
    found = renewal(FIVE, M, [table] * (releases - 1), [coins] * (releases - 1))
    assert largest(found) == pytest.approx(figure, abs=5e-4)


@pytest.mark.parametrize(("releases", "figure"), [(2, 0.50), (3, 0.634)])
def test_undeclared_permanent_value(releases: int, figure: float) -> None:
    """The page: 0.50, 0.63, 0.76 after two to four releases, the last in test_tracking_math. c = 0.5, p(w) = 0.1."""
    table = permanent_table(0.5, FIVE, [False] * 4 + [True])
    found = renewal(FIVE, M, [table] * (releases - 1), [coin(0.5, FIVE)] * (releases - 1))
    assert largest(found) == pytest.approx(figure, abs=5e-4)


@pytest.mark.parametrize("shares", [[1 / 3] * 3, [0.4, 0.35, 0.25], [0.25] * 4, FIVE])
def test_seed_by_id_alone(shares: list[float]) -> None:
    """The page: 0.67. m = 2 and two releases: a value that was redrawn and came out the same has its old set again."""
    design = sampford(shares, 2)

    def then(values: Course, sets: tuple[Set, ...]) -> Law:
        return {sets[-1]: 1} if values[-1] == values[-2] else given(design, values[-1])

    found = courses(shares, [renewal_table(0.5, shares)], lambda v: given(design, v), [then])
    assert largest(found) == pytest.approx(2 / 3, abs=1e-12)


def test_one_random_number_for_all_sets() -> None:
    """It can be worse: where each set is looked up by one number in the list of sets given v, a value is certain."""
    design = sampford(FIVE, M)
    lists = {v: sorted(given(design, v).items()) for v in range(5)}
    cuts = {0.0, 1.0}
    for law in lists.values():
        cuts |= set(np.cumsum([chance for _, chance in law])[:-1].tolist())
    known: dict[Any, Number] = defaultdict(float)
    for low, high in pairwise(sorted(cuts)):
        at = (low + high) / 2
        chosen = {
            v: law[int(np.searchsorted(np.cumsum([chance for _, chance in law])[:-1], at))][0]
            for v, law in lists.items()
        }
        sets = courses(
            FIVE,
            [renewal_table(0.5, FIVE)],
            lambda v, chosen=chosen: {chosen[v]: 1},
            [lambda values, _, chosen=chosen: {chosen[values[-1]]: 1}],
        )
        for course, chance in sets.items():
            known[course] += (high - low) * chance
    assert largest(known) == pytest.approx(1)
