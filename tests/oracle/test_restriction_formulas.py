"""The formulas p_ct, p_hc and p_pb against exact probabilities: every set of compromised people, weighed.

A series is written as releases; groups are separated by "/", and people are named by their value and a number, so that
"a0 b0" is a group of two people with the values a and b. It is always a0 whose values are ruled out. Probabilities are
those of one application of ct-pvr and hc-pvr from the compromised people (Riboni & Bettini 2009, Definitions 2 and 4),
a0 not being one of them, as polynomials in p: for each size how many of the sets of compromised people do it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations
from math import prod

import numpy as np
import pytest
from reissue_studies.riboni.rates import breach_bound
from reissue_studies.riboni.rates_counting import Secrets

from reissue.attacks import Worlds
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.correlation.restriction import n_choose, p_ct, p_hc, p_pb

Series = list[list[tuple[str, ...]]]
Chances = list[Fraction]
Event = Callable[[frozenset[str]], bool]

CHANCES = [Fraction(1, 25), Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)]
"""From the paper's p = 0.04 to where breaches are common."""
SELF = "a0"


def read(*releases: str) -> Series:
    return [[tuple(group.split()) for group in release.split("/")] for release in releases]


def multiset(group: tuple[str, ...]) -> Counter[str]:
    return Counter(person[0] for person in group)


def people_of(series: Series) -> list[str]:
    return sorted({person for release in series for group in release for person in group})


def own_groups(series: Series) -> list[tuple[str, ...]]:
    return [group for release in series for group in release if SELF in group]


def linked_sets(series: Series) -> list[frozenset[str]]:
    """The sets correlated with one of a0 (Definition 3), once for each pair of groups."""
    return [
        frozenset(other) - frozenset(own)
        for at, release in enumerate(series)
        for own in release
        if SELF in own
        for elsewhere, others in enumerate(series)
        if elsewhere != at
        for other in others
        if SELF not in other and set(own) & set(other) and multiset(own) == multiset(other)
    ]


def other_values(series: Series) -> list[str]:
    return sorted({person[0] for group in own_groups(series) for person in group} - {SELF[0]})


def holders(series: Series, value: str) -> list[frozenset[str]]:
    """For each group of a0 those that have a value."""
    return [frozenset(person for person in group if person[0] == value) for group in own_groups(series)]


def by_ct(series: Series, value: str) -> list[frozenset[str]]:
    """The sets of people each of which, when compromised, rules a value out for a0 by ct-pvr."""
    return holders(series, value)


def by_hc(series: Series, value: str) -> list[frozenset[str]]:
    """The same by hc-pvr: linked sets nobody of which has the value."""
    return [people for people in linked_sets(series) if all(person[0] != value for person in people)]


def any_of(sets: list[frozenset[str]]) -> Event:
    return lambda compromised: any(people <= compromised for people in sets)


def all_ruled_out(series: Series) -> Event:
    """Only a0's own value is left."""
    events = [any_of(by_ct(series, value) + by_hc(series, value)) for value in other_values(series)]
    return lambda compromised: all(event(compromised) for event in events)


def chances(series: Series, event: Event) -> Chances:
    """For each of CHANCES the probability of an event, over every set of compromised people without a0."""
    others = [person for person in people_of(series) if person != SELF]
    sets = [sum(event(frozenset(chosen)) for chosen in combinations(others, size)) for size in range(len(others) + 1)]
    return [
        sum((count * p**k * (1 - p) ** (len(others) - k) for k, count in enumerate(sets)), start=Fraction(0))
        for p in CHANCES
    ]


def lifespan(series: Series) -> int:
    return len(own_groups(series))


def longest(series: Series) -> int:
    return max(Counter(chain.from_iterable(chain.from_iterable(series))).values())


def degree(series: Series) -> int:
    """The smallest correlated set of the series, of whomever."""
    groups = [(at, frozenset(group), multiset(group)) for at, release in enumerate(series) for group in release]
    return min(
        len(one - other)
        for (first, one, shown), (second, other, also_shown) in combinations(groups, 2)
        if first != second and one & other and one != other and shown == also_shown
    )


def published(series: Series) -> Published:
    return Published.from_groups([[(list(group), [p[0] for p in group]) for group in release] for release in series])


def random_series(rng: random.Random, several: int) -> Series:
    """Weakly invariant: every group has every value, once or `several` times; a0 is in the first release."""
    letters = "abcd"[: rng.randint(2, 4 if several == 1 else 2)]
    most = {2: 4, 3: 3, 4: 2}[len(letters)]
    names = {letter: [f"{letter}{number}" for number in range(most)] for letter in letters}
    series: Series = []
    for number in range(rng.randint(2, 4)):
        columns = [rng.sample(names[letter], most) for letter in letters]
        times = rng.randint(1, several)
        groups = [
            tuple(chain.from_iterable(column[at : at + times] for column in columns))
            for at in range(0, most - times + 1, times)
        ]
        series.append(groups if not number else rng.sample(groups, rng.randint(1, len(groups))))
    return series


# What holds


@pytest.mark.parametrize("several", [1, 2])
def test_lemma_1_is_an_upper_bound(several: int) -> None:
    rng = random.Random(several)
    for _ in range(60):
        series = random_series(rng, several)
        L = lifespan(series)
        for value in other_values(series):
            exact = chances(series, any_of(by_ct(series, value)))
            # The proof: the probability that no set is compromised altogether is at least what it is for disjoint
            # sets (Harris), and a set of one person is the likeliest.
            assert all(found <= 1 - (1 - p) ** L for found, p in zip(exact, CHANCES, strict=True))
            assert all(float(found) <= p_ct(float(p), L) + 1e-12 for found, p in zip(exact, CHANCES, strict=True))


def test_lemma_1_is_exact_where_no_companion_comes_twice() -> None:
    series = read("a0 b0 c0", "a0 b1 c1", "a0 b2 c2")
    for value in "bc":
        exact = chances(series, any_of(by_ct(series, value)))
        assert exact == [1 - (1 - p) ** 3 for p in CHANCES]


@pytest.mark.parametrize("several", [1, 2])
def test_values_depend_on_each_other_so_that_the_product_is_a_lower_bound(several: int) -> None:
    rng = random.Random(10 + several)
    above = 0
    for _ in range(40):
        series = random_series(rng, several)
        each = [chances(series, any_of(by_ct(series, v) + by_hc(series, v))) for v in other_values(series)]
        for found, parts in zip(chances(series, all_ruled_out(series)), zip(*each, strict=True), strict=True):
            assert found >= prod(parts)
            above += found > prod(parts)
    assert above or several > 1


@pytest.mark.parametrize("several", [1, 2])
def test_the_bound_of_ours_holds(several: int) -> None:
    rng = random.Random(20 + several)
    for _ in range(60):
        series = random_series(rng, several)
        sets, m = linked_sets(series), 1 + len(other_values(series))
        n = min(map(len, sets), default=1)
        for found, p in zip(chances(series, all_ruled_out(series)), CHANCES, strict=True):
            proven = (1 - (1 - p) ** lifespan(series)) ** (m - 1) + 1 - (1 - p**n) ** len(sets)
            assert found <= proven
            ours = float(breach_bound(float(p), lifespan(series), m, n, len(sets)))
            assert ours == pytest.approx(min(1.0, float(proven)), rel=1e-12)


@pytest.mark.parametrize("several", [1, 2])
def test_the_compiled_passes_rule_out_the_same_for_every_set_of_compromised_people(several: int) -> None:
    rng = random.Random(30 + several)
    for _ in range(12):
        series = random_series(rng, several)
        view = published(series)
        assert view.people is not None
        secrets = Secrets(view, np.array([view.values.index(name[0]) for name in view.people]))
        me = view.people.index(SELF)
        sets = linked_sets(series)
        assert secrets.sets[me] == len(sets)
        assert secrets.lifespan[me] == lifespan(series)
        if sets:
            assert secrets.smallest[me] == min(map(len, sets))
            assert secrets.degree == degree(series)
        others = [name for name in people_of(series) if name != SELF]
        for size in range(len(others) + 1):
            for chosen in rng.sample(list(combinations(others, size)), 3 if size in range(1, len(others)) else 1):
                known = frozenset(chosen)
                ct, hc = secrets.ruled_out(np.array([name in known for name in view.people]))
                for at, value in enumerate(view.values):
                    assert bool(ct[me, 0] >> np.uint64(at) & np.uint64(1)) == (
                        value != SELF[0] and any_of(by_ct(series, str(value)))(known)
                    )
                    assert bool(hc[me, 0] >> np.uint64(at) & np.uint64(1)) == any_of(by_hc(series, str(value)))(known)


# Lemma 2 is not an upper bound


def test_lemma_2_fails_in_the_smallest_series_with_a_correlation() -> None:
    # Two groups of m that share all but n: nothing smaller has a correlation. b is ruled out when a1 is compromised,
    # with probability p; the formula has two sets of p / 2.
    series = read("a0 b0", "a1 b0")
    exact = chances(series, any_of(by_hc(series, "b")))
    assert exact == CHANCES
    assert all(found > 1 - (1 - p / 2) ** 2 for found, p in zip(exact, CHANCES, strict=True))
    assert p_hc(0.3, 1, 2, 1) == pytest.approx(0.2775)
    # With sets of two: a1 and c1 have all values but b, so that they rule b out with p^2, not (2p/3)^2; c never.
    series = read("a0 b0 c0", "a1 b0 c1")
    assert degree(series) == 2
    assert chances(series, any_of(by_hc(series, "b"))) == [p**2 for p in CHANCES]
    assert chances(series, any_of(by_hc(series, "c"))) == [Fraction(0)] * 4
    # Also on average over both values.
    assert all(p_hc(float(p), 1, 3, 2) == pytest.approx(float(4 * p**2 / 9)) for p in CHANCES)
    assert all(p**2 / 2 > 4 * p**2 / 9 for p in CHANCES)


def test_lemma_2_counts_too_few_sets() -> None:
    # Every other release in which b0 is published gives another set, though a0 is published once only.
    series = read("a0 b0 c0", *(f"a{at} b0 c{at}" for at in range(1, 6)))
    assert (lifespan(series), degree(series), len(linked_sets(series))) == (1, 2, 5)
    exact = chances(series, any_of(by_hc(series, "b")))
    assert exact == [1 - (1 - p**2) ** 5 for p in CHANCES]
    # Eleven times as probable as the formula for a0, which has one set; more than it is with the series' longest stay.
    assert exact[1] / (4 * CHANCES[1] ** 2 / 9) > 11
    assert all(float(found) > 1.7 * p_hc(float(p), 6, 3, 2) for found, p in zip(exact, CHANCES, strict=True))


# Theorem 2 is not an upper bound


def exceeded(series: Series, L: int) -> list[float]:
    """How many times the formula the probability of a breach is, for each of CHANCES."""
    m, n = 1 + len(other_values(series)), degree(series)
    exact = chances(series, all_ruled_out(series))
    return [float(found) / p_pb(float(p), L, m, n) for found, p in zip(exact, CHANCES, strict=True)]


def test_theorem_2_fails_in_the_smallest_series_with_a_correlation() -> None:
    series = read("a0 b0", "a1 b0")
    assert chances(series, all_ruled_out(series)) == [1 - (1 - p) ** 2 for p in CHANCES]
    assert min(exceeded(series, lifespan(series))) > 1
    # One compromised person rules all values out at once: for small p many times the formula's square of 3p.
    series = read("a0 b0 c0", "a1 b0 c0")
    assert chances(series, all_ruled_out(series)) == [1 - (1 - p) * (1 - p**2) for p in CHANCES]
    assert exceeded(series, lifespan(series))[0] > 2.8
    # Historically safe with degree 2.
    series = read("a0 b0 c0", "a1 b0 c1")
    assert degree(series) == 2
    assert chances(series, all_ruled_out(series)) == [p * (1 - (1 - p) * (1 - p**2)) for p in CHANCES]
    assert min(exceeded(series, lifespan(series))) > 1


def test_theorem_2_fails_with_the_longest_stay_of_anybody_too() -> None:
    # n-Choose has the longest stay as L. The smallest such series were found by trying all with so many people.
    series = read("a0 b0 / a1 b1", "a0 b1 / a2 b0")
    assert (longest(series), lifespan(series), degree(series)) == (2, 2, 1)
    assert chances(series, all_ruled_out(series)) == [1 - (1 - p) ** 4 for p in CHANCES]
    assert min(exceeded(series, 2)) > 1
    # Safe with degree 2: six people, nobody more than twice, each two groups sharing one.
    series = read("a0 b0 c0", "a0 b1 c1", "a1 b0 c1")
    assert (longest(series), lifespan(series), degree(series)) == (2, 2, 2)
    assert exceeded(series, 2)[1] == pytest.approx(1.345, abs=1e-3)
    series = read("a0 b0 c0", "a0 b1 c1", "a1 b0 c1", "a1 b1 c0")
    assert (longest(series), lifespan(series), degree(series)) == (2, 2, 2)
    assert exceeded(series, 2)[1] == pytest.approx(1.720, abs=1e-3)
    assert min(exceeded(series, 2)) > 1.1


def test_below_half_of_m_no_factor_would_repair_it() -> None:
    # Two compromised people rule out m - 2 values, and one more the last: p^3 against about p^(m - 1).
    series = read("a0 b0 c0 d0 e0 f0", "a1 b0 c0 d0 e0 f1")
    assert degree(series) == 2
    p = Fraction(1, 25)
    exact = p * (1 - (1 - p**4) * (1 - p**2))
    assert chances(series, all_ruled_out(series))[0] == exact
    assert float(exact) / p_pb(0.04, 1, 6, 2) > 300


def worst(m: int, n: int, L: int) -> Series:
    """A series that is safe with degree n, in which a0 meets new people in each of L releases, who meet new ones.

    The companions of each of a0's groups are published in every release, m - n of them together with n people who
    come only once; those left over come only once too, for each group of a0 another choice of values.
    """
    letters = "abcdefgh"[:m]
    new = {letter: iter(range(1 if letter == "a" else 0, 10_000)) for letter in letters}

    def fresh(wanted: str) -> tuple[str, ...]:
        return tuple(f"{letter}{next(new[letter])}" for letter in wanted)

    series: Series = [[] for _ in range(L)]
    for at in range(L):
        companions = fresh(letters[1:])
        series[at].append((SELF, *companions))
        turned = companions[at % (m - 1) :] + companions[: at % (m - 1)]
        for elsewhere in range(L):
            for begin in range(0, m - 1 - (m - 1) % (m - n), m - n) if elsewhere != at else ():
                kept = turned[begin : begin + m - n]
                missing = "".join(letter for letter in letters if letter not in {person[0] for person in kept})
                series[elsewhere].append((*kept, *fresh(missing)))
    return series


def chance_of_disjoint(series: Series, p: Fraction) -> Fraction:
    """The probability of a breach where no two of the sets that rule anything out share anybody."""
    values = other_values(series)
    rules: dict[frozenset[str], set[str]] = {}
    for value in values:
        for people in by_ct(series, value) + by_hc(series, value):
            rules.setdefault(people, set()).add(value)
    assert sum(map(len, rules)) == len(frozenset().union(*rules))
    kinds = Counter((len(people), frozenset(ruled)) for people, ruled in rules.items())
    total = Fraction(0)
    # Inclusion and exclusion over the values that are not ruled out.
    for size in range(len(values) + 1):
        for kept in map(set, combinations(values, size)):
            total += (-1) ** size * prod((1 - p**n) ** often for (n, ruled), often in kinds.items() if ruled & kept)
    return total


def test_the_probability_of_a_breach_where_sets_are_disjoint_is_that_of_all_sets_weighed() -> None:
    for series in (read("a0 b0 c0", "a1 b0 c1 / a2 b1 c0"), worst(3, 2, 2), worst(4, 2, 2)):
        assert [chance_of_disjoint(series, p) for p in CHANCES] == chances(series, all_ruled_out(series))


def test_theorem_2_fails_in_series_that_are_historically_safe() -> None:
    for m, n, p, L, formula, exact in (
        (3, 2, Fraction("0.1"), 5, 0.1785, 0.2673),
        (3, 2, Fraction("0.1"), 10, 0.4442, 0.7377),
        (3, 2, Fraction("0.2"), 10, 0.8286, 0.9946),
        (4, 2, Fraction("0.04"), 10, 0.0418, 0.0818),
        (6, 2, Fraction("0.04"), 21, 0.0806, 0.3658),
        (6, 3, Fraction("0.04"), 24, 0.0956, 0.1055),
    ):
        series = worst(m, n, L)
        assert longest(series) == lifespan(series) == L
        assert all(sorted(person[0] for person in group) == list("abcdefgh"[:m]) for group in chain(*series))
        assert degree(series) == n
        found = chance_of_disjoint(series, p)
        assert p_pb(float(p), L, m, n) == pytest.approx(formula, abs=1e-4)
        assert float(found) == pytest.approx(exact, abs=1e-4)
        if m == 3:  # two values, each ruled out by one of L people or of L (L - 1) pairs
            assert found == (1 - (1 - p) ** L * (1 - p**2) ** (L * (L - 1))) ** 2


def test_n_choose_does_not_keep_the_paper_s_promise() -> None:
    # For p = 0.04, m = 6 and h = 0.1 it gives 3 at L = 24 and 2 at L = 21; both series are safe with that degree.
    for L, n in ((24, 3), (21, 2)):
        assert n_choose(0.04, L, 6, 0.1) == n
        assert chance_of_disjoint(worst(6, n, L), Fraction("0.04")) > Fraction("0.1")
    # With one more, whatever the series: companions are published at most L times, in groups that share m - n of them
    # or fewer, so that there are at most L (L - 1) (m - 1) / (m - n) sets of n, and larger ones count less.
    for L in (21, 24):
        assert breach_bound(0.04, L, 6, 4, L * (L - 1) * 5 // 2) < 0.1


def test_a_chain_of_releases_is_in_none_of_the_formulas() -> None:
    # He's Example 4: safe with degree 2 in every pair of releases, and a0 = a1 in every world.
    series = read("a0 b0", "a1 b0 a2 b2", "a2 b2")
    assert not linked_sets(series)
    view = published(series)
    others = [person for person in people_of(series) if person != SELF]

    def certain(compromised: frozenset[str]) -> bool:
        known: dict[str | int, object] = {person: person[0] for person in compromised}
        return SELF in Worlds(seconds=None).run(view, Knowledge(compromised=known)).certain

    answers = {
        frozenset(chosen): certain(frozenset(chosen))
        for size in range(len(others) + 1)
        for chosen in combinations(others, size)
    }
    exact = chances(series, answers.__getitem__)
    assert exact == [1 - (1 - p) ** 2 for p in CHANCES]
    assert all(float(found) > 1.6 * p_pb(float(p), 1, 2, 2) for found, p in zip(exact, CHANCES, strict=True))
