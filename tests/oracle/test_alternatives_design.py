"""Designs of sets against brute force: every set of tiny domains, by the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from reissue.errors import ParameterError, PolicyError
from reissue.model.design import Design
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.set_probabilities import (
    all_sets,
    design_effects,
    pair_inclusion,
    probability,
    probability_given,
)
from tests.profiles import seeds, sized

EXACT = 1e-12


def shares_of(rng: np.random.Generator, most: int = 8) -> list[float]:
    """A few shares, alike or very different; some far below all others."""
    count = int(rng.integers(3, most + 1))
    shares = rng.dirichlet(np.full(count, rng.choice([0.5, 1, 5, 50]))) + 1e-4
    return list(shares / shares.sum())


def tiny_designs(seed: int, count: int) -> Iterator[Design]:
    """Designs of up to eight values, with and without limits; those that fit."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shares, m = shares_of(rng), int(rng.integers(2, 6))
        limits = {}
        if rng.random() < 0.4:
            value = int(rng.integers(len(shares)))
            limits[value] = int(rng.integers(max(1, math.ceil(m * shares[value])), m + 1))
        try:
            yield design_of(shares, m, limits)
        except PolicyError:
            continue


def sampford(inclusion: dict[int, float], size: int) -> dict[tuple[int, ...], float]:
    """Sampford's design by its definition; without fractions of 0, so that inclusion can be 1."""
    weights = {}
    for inside in combinations(sorted(inclusion), size):
        factors = [pi if value in inside else 1 - pi for value, pi in inclusion.items()]
        gaps = math.fsum(1 - inclusion[value] for value in inside)
        weights[inside] = math.prod(factors) * gaps
    if size in (0, len(inclusion)):
        return dict.fromkeys(weights, 1.0)
    total = math.fsum(weights.values())
    return {inside: weight / total for inside, weight in weights.items()}


def every_set(design: Design) -> dict[tuple[int, ...], float]:
    """The probability of every set, by the definitions, from what is written in the design's file."""
    file = design.to_dict()
    m, shares, slots, large = file["m"], file["shares"], file["slots"], file["large"]
    small = [value for value in range(len(shares)) if value not in large]
    rest = math.fsum(shares[value] for value in small)
    found = {}
    for combination, weight in zip(file["joint"], file["weights"], strict=True):
        first = [value for value in combination for _ in range(slots[value])]
        left = m - len(first)
        inclusion = {value: min(1.0, left * shares[value] / rest) for value in small}
        for others, chance in sampford(inclusion, left).items():
            found[tuple(sorted([*first, *others]))] = weight * chance
    return found


@pytest.mark.parametrize("seed", seeds(3, 20))
def test_everything_about_tiny_designs(seed: int) -> None:
    """Probabilities add up to 1, each value is in a set as often as it should, and whoever sees a set learns k/m."""
    kinds = {"plain": 0, "slots": 0}
    for design in tiny_designs(seed, sized(80, 300)):
        kinds["slots" if (design.slots > 1).any() else "plain"] += 1
        known = {row: chance for row, chance in every_set(design).items() if chance > 1e-13}
        sets = all_sets(design)
        listed = dict(zip(map(tuple, sets.tolist()), probability(design, sets).tolist(), strict=True))
        assert len(listed) == len(sets)
        assert known.keys() <= listed.keys()
        for row, chance in listed.items():
            assert chance == pytest.approx(known.get(row, 0.0), abs=EXACT)
        assert math.fsum(listed.values()) == pytest.approx(1, abs=EXACT)
        m, slots, shares = design.m, design.slots, design.shares
        both = np.zeros((design.values, design.values))
        for row, chance in known.items():
            assert len(row) == m
            assert all(row.count(value) == slots[value] for value in row)
            inside = np.unique(row)
            both[np.ix_(inside, inside)] += chance
            # Bayes: of those who see this set, a share of slots/m has the value.
            given = [
                probability_given(design, np.array([row]), np.array([value]))[0] * shares[value] for value in inside
            ]
            assert sum(given) == pytest.approx(chance, rel=1e-9, abs=EXACT)
            for value, part in zip(inside, given, strict=True):
                assert part / sum(given) == pytest.approx(slots[value] / m, abs=EXACT)
        assert np.diag(both) == pytest.approx(m * shares / slots, abs=EXACT)
        assert pair_inclusion(design) == pytest.approx(both, abs=EXACT)
        for value in range(design.values):
            assert probability_given(design, sets, np.full(len(sets), value)).sum() == pytest.approx(1, abs=EXACT)
    assert min(kinds.values()) >= sized(10, 50)


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_another_prior(seed: int) -> None:
    """Whoever expects values r times as often as the reference: r_max / (r_max + the m - 1 smallest r), attained."""
    rng = np.random.default_rng(seed)
    tried = 0
    while tried < sized(20, 100):
        shares, m = shares_of(rng), int(rng.integers(2, 5))
        if max(shares) >= 1 / m or len(shares) <= m:
            continue
        design = design_of(shares, m, dict.fromkeys(range(len(shares)), 1))
        ratio = rng.lognormal(0, 1, design.values)
        sets = all_sets(design)
        prior = design.shares * ratio / (design.shares @ ratio)
        joint = np.array([prior[v] * probability_given(design, sets, np.full(len(sets), v)) for v in range(len(prior))])
        largest = (joint / joint.sum(axis=0)).max()
        ordered = np.sort(ratio)
        assert largest == pytest.approx(ordered[-1] / (ordered[-1] + ordered[: m - 1].sum()), abs=1e-9)
        spread = ordered[-1] / ordered[0]
        assert largest <= spread / (spread + m - 1) + EXACT
        tried += 1


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_what_is_refused_is_impossible(seed: int) -> None:
    """With all limits given: there is a design exactly if some distribution over all sets has these inclusions."""
    import highspy

    rng = np.random.default_rng(seed)
    answers = []
    for _ in range(sized(60, 200)):
        shares, m = shares_of(rng, 6), int(rng.integers(2, 6))
        slots = [int(rng.integers(max(1, math.ceil(m * share)), m + 1)) for share in shares]
        sets = [
            inside
            for count in range(1, m + 1)
            for inside in combinations(range(len(shares)), count)
            if sum(slots[value] for value in inside) == m
        ]
        possible = False
        if sets:
            solver = highspy.Highs()
            solver.setOptionValue("output_flag", False)
            chances = [solver.addVariable(lb=0) for _ in sets]
            for value, share in enumerate(shares):
                parts = [chance for chance, inside in zip(chances, sets, strict=True) if value in inside]
                if parts:
                    solver.addConstr(sum(parts[1:], parts[0] + 0) == m * share / slots[value])
            covered = {value for inside in sets for value in inside} == set(range(len(shares)))
            solver.run()
            possible = covered and solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        answers.append(possible)
        limits = dict(enumerate(slots))
        if possible:
            assert design_of(shares, m, limits).slots.tolist() == slots
        else:
            with pytest.raises(PolicyError, match="no sets of"):
                design_of(shares, m, limits)
    assert True in answers
    assert False in answers


# The page's numbers.


def diabetes(heart_failure: float = 0.057) -> list[float]:
    """Forty values, the most frequent with 28.5 %; the rest are no more frequent than heart failure."""
    others = np.exp(-np.arange(38) / 12)
    return [0.285, heart_failure, *(others * (0.715 - heart_failure) / others.sum())]


@pytest.mark.parametrize(("slots", "other", "heart_failure"), [(2, 3.3, 4.9), (3, 1.5, 5.1), (4, 1.0, 5.3)])
def test_slots_of_a_frequent_value(slots: int, other: float, heart_failure: float) -> None:
    effects = design_effects(design_of(diabetes(), 4, {0: slots}))
    assert effects[0] == pytest.approx(other, abs=0.05)
    assert effects[1] == pytest.approx(heart_failure, abs=0.05)


def test_two_slots_are_what_it_gets() -> None:
    assert design_of(diabetes(), 4).slots.tolist() == [2] + [1] * 39


def test_a_value_in_every_set_cannot_be_estimated() -> None:
    shares = [0.25, *[0.75 / 39] * 39]
    assert np.isinf(design_effects(design_of(shares, 4, {0: 1}))).all()


def test_a_value_just_below_one_in_m_wants_two_slots() -> None:
    shares = [0.081, *[0.919 / 60] * 60]
    assert design_effects(design_of(shares, 10, {0: 1}))[0] == pytest.approx(48, abs=0.5)
    assert design_of(shares, 10).slots[0] == 2
    assert design_effects(design_of(shares, 10))[0] < 8


@pytest.mark.parametrize("m", [2, 4, 10])
def test_one_slot_up_to_the_share_where_two_begin(m: int) -> None:
    edge = 1 / (2 * m - 1)
    for share, slots in ((edge, 1), (edge + 1e-9, min(2, m - 1))):
        assert design_of([share, *[(1 - share) / 60] * 60], m).slots[0] == slots


@pytest.mark.parametrize(("m", "count"), [(10, 50), (4, 40), (3, 200)])
def test_sets_are_nearly_the_best_there_is(m: int, count: int) -> None:
    """No mechanism with the limit L has a design effect below (1 - p)/(L - p); here within 2 %."""
    for seed in seeds(3, 20):
        shares = np.random.default_rng(seed).lognormal(0, 0.3, count)
        design = design_of(shares, m)
        bound = (1 - design.shares) / (design.limit - design.shares)
        effects = design_effects(design)
        assert (effects >= bound * (1 - 1e-9)).all()
        assert (effects <= bound * 1.02).all()


def test_pairs_of_a_larger_domain() -> None:
    """Sums of pairs, which are known: with v in S there are m slots, and so m - slots(v) others."""
    shares = 1 / np.arange(1, 401)
    for m in (4, 10):
        design = design_of(shares, m)
        assert design.large.size
        found = pair_inclusion(design)
        assert np.abs(found - found.T).max() < EXACT
        assert found @ design.slots == pytest.approx(m * design.inclusion, abs=EXACT)
        assert (found > 0).all()
        assert (found <= np.outer(np.ones(400), design.inclusion) + EXACT).all()


def test_frequent_values_among_the_small_ones() -> None:
    """Inclusion near 1, where sums without a value lose digits if they are not added up anew; and exactly 1."""
    for first in (0.24, 0.2499, 0.24999999, 0.25):
        shares = [first, first, *[(1 - 2 * first) / 6] * 6]
        design = design_of(shares, 4, dict.fromkeys(range(8), 1))
        sets = all_sets(design)
        known = every_set(design)
        chances = probability(design, sets)
        both = np.zeros((8, 8))
        for row, chance in zip(sets, chances, strict=True):
            assert chance == pytest.approx(known[tuple(row.tolist())], abs=1e-9)
            both[np.ix_(row, row)] += chance
        assert np.diag(both) == pytest.approx(4 * np.array(shares), abs=1e-11)
        assert pair_inclusion(design) == pytest.approx(both, abs=1e-11)


# What does not fit, and what is asked for.


def test_a_limit_is_kept_or_refused() -> None:
    shares = [0.4, 0.3, *[0.3 / 10] * 10]
    for slots in (2, 4):
        assert design_of(shares, 4, {0: slots}).slots[0] == slots
    with pytest.raises(PolicyError, match="1 by its own limit"):  # 4/3 of 0.4 and 2 of 0.3 are more than 1
        design_of(shares, 4, {0: 3})
    with pytest.raises(PolicyError, match=r"limit of 1/4 and a reference share of 0\.4"):
        design_of(shares, 4, {0: 1})
    with pytest.raises(PolicyError) as caught:
        design_of(shares, 4, {0: 5, 99: 1})
    assert len(caught.value.problems) == 2


def test_by_default_nothing_is_shown_as_it_is() -> None:
    """All m slots would be: that must be asked for."""
    with pytest.raises(PolicyError, match="harmless"):
        design_of([0.8, *[0.2 / 10] * 10], 4)
    assert design_of([0.8, *[0.2 / 10] * 10], 4, {0: 4}).limit[0] == 1
    assert design_of([0.5, 0.25, 0.25], 2).limit.tolist() == [0.5] * 3


def test_values_give_slots_back_where_they_do_not_fit() -> None:
    """Of 1/4 and four times 3/16 each wants two of four slots. Two shares of 1/2 fit in one way only: in every set."""
    assert design_of([0.5, 0.5], 4).slots.tolist() == [2, 2]
    assert design_of([4 / 16, *[3 / 16] * 4], 4).slots.tolist() == [2] * 5
    assert design_of([0.4, 0.6], 5).slots.tolist() == [2, 3]
    with pytest.raises(PolicyError, match="another m"):
        design_of([0.4, 0.6], 4)


def test_the_most_frequent_of_the_others_are_drawn_first_where_they_must() -> None:
    design = design_of([0.5, 0.13, 0.13, 0.13, *[0.11 / 8] * 8], 4)
    assert design.slots.tolist() == [3] + [1] * 11
    assert design.large.tolist() == [0, 1, 2, 3]
    assert np.isfinite(design_effects(design)).all()


def test_too_many_frequent_values() -> None:
    with pytest.raises(PolicyError, match="at most 18"):
        design_of([1 / 25] * 25, 20)


@pytest.mark.parametrize("shares", [[], [0.5, 0], [0.5, -0.5], [math.nan, 1], [[0.5, 0.5]]])
def test_shares_that_are_none(shares: list[float]) -> None:
    with pytest.raises(ParameterError, match="numbers above 0"):
        design_of(shares, 2)
    with pytest.raises(ParameterError, match="at least 2"):
        design_of([0.5, 0.5], 1)


def test_the_same_input_gives_the_same_design() -> None:
    shares = 1 / np.arange(1, 41)
    assert design_of(shares, 8) == design_of(shares, 8)
    assert design_of(shares, 8) != design_of(shares, 7)


def test_large_tables_of_sets_are_not_listed() -> None:
    with pytest.raises(ParameterError, match="1,000,000"):
        all_sets(design_of([1 / 100] * 100, 5))


def test_what_is_no_set_has_no_probability() -> None:
    design = design_of([0.3, 0.2, *[0.05] * 10], 4)
    assert design.slots.tolist()[:3] == [2, 2, 1]
    wrong = [[0, 2, 3, 4], [0, 0, 2, 2], [0, 0, 0, 2], [0, 0, 1, 1], [2, 3, 4, 4]]
    assert (probability(design, np.array(wrong)) > 0).tolist() == [False, False, False, True, False]
