"""What sets say under any model of change, forward and backward, against every course of values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from changing_sets import (
    FIVE,
    Law,
    M,
    Set,
    carrying,
    coin,
    courses,
    given,
    permanent_table,
    posteriors,
    product,
    random_shares,
    renewing,
    sampford,
    with_a_large_one,
)
from profiles import seeds
from set_tracking import (
    Declared,
    RenewalChain,
    TableChain,
    carried_drawn,
    distinct,
    renewal_emission,
    static_emission,
    tracked,
)

from reissue.errors import InternalError
from reissue.reasoning.alternatives.renewing import carried, gaps, outside


def flat(people: Sequence[tuple[Set, ...]], inside: Sequence[int], width: int) -> tuple[Any, Any, Any]:
    """People who are all in the same releases: starts, releases, sets."""
    sets = [[*chosen, *[-1] * (width - len(chosen))] for person in people for chosen in person]
    starts = np.arange(len(people) + 1) * len(inside)
    return starts, np.tile(np.asarray(inside), len(people)), np.array(sets)


def logs(design: Law, sets: Any) -> Any:
    chances = [design.get(tuple(v for v in row if v >= 0), 0.0) for row in sets.tolist()]
    with np.errstate(divide="ignore"):
        return np.log(np.array(chances, dtype=float))


def compare(found: Law, inside: Sequence[int], width: int, emission: Any, chain: Any, first: Any) -> int:
    """Every course of sets as a person; how many there were."""
    truth = posteriors(found)
    starts, releases, sets = flat(list(truth), inside, width)
    drawn, toss = emission(starts, releases, sets)
    told = tracked(starts, releases, sets, drawn, toss, chain, np.asarray(first)).posterior
    expected = np.array([[times[at].get(v, 0.0) for v in row] for (times, at), row in zip(
        [(times, at) for times in truth.values() for at in range(len(inside))], sets.tolist(), strict=True
    )])  # fmt: skip
    assert told == pytest.approx(expected, abs=1e-12)
    return len(truth)


@pytest.mark.parametrize("seed", seeds(25, 400))
def test_any_chain_against_the_declared_renewal(seed: int) -> None:
    """Random chain, first law, rates, versions and absences; the mechanism works by what is declared."""
    rng = np.random.default_rng(seed)
    values = int(rng.integers(3, 6))
    m = int(rng.integers(2, min(values, 4)))
    shares = np.array([random_shares(rng, values, 1 / m) for _ in range(2)])
    designs = [sampford(list(share), m) for share in shares]
    releases = int(rng.integers(3, 6))
    rates, versions = rng.uniform(0.05, 1, releases), np.sort(rng.integers(0, 2, releases))
    inside = np.sort(rng.choice(releases, 3 if values < 5 else 2, replace=False))
    table = rng.dirichlet(np.ones(values), values)
    table[0] = np.eye(values)[0]  # a permanent one, and moves that cannot be
    first = rng.dirichlet(np.ones(values))
    then, steps = [], []
    for last, now in pairwise(inside):
        passed = gaps(rates, versions, shares, np.array([last]), now)
        everybody = np.zeros(values, np.int64), np.arange(values)
        odds, toss = passed.odds(*everybody), passed.coin(*everybody)
        steps.append(np.linalg.matrix_power(table, now - last).tolist())
        then.append(_mixed(designs, odds, toss))
    begin = versions[inside[0]]
    found = courses(first.tolist(), steps, lambda v: given(designs[begin], v), then)
    declared = Declared(rates, versions, shares, np.ones((2, values), np.int64), m)

    def emission(starts: Any, at: Any, sets: Any) -> Any:
        return renewal_emission(starts, at, sets, np.stack([logs(one, sets) for one in designs], axis=1), declared)

    assert compare(found, inside.tolist(), m, emission, TableChain(table), first) > 2


def _mixed(designs: Sequence[Law], odds: Any, toss: Any) -> Any:
    def then(values: Any, sets: Any) -> Law:
        old, new = values[-2:]
        law: dict[Set, Any] = {}
        for version in range(odds.shape[1]):
            for chosen, chance in given(designs[version], new).items():
                law[chosen] = law.get(chosen, 0) + odds[new, version] * chance
        if old == new:
            law = {chosen: toss[new] * chance for chosen, chance in law.items()}
            law[sets[-1]] = law.get(sets[-1], 0) + 1 - toss[new]
        return law

    return then


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_slots_and_any_chain(seed: int) -> None:
    """Value 0 has two of three slots: sets of two and of three values."""
    rng = np.random.default_rng(seed)
    large = float(rng.uniform(0.2, 0.5))
    shares = [large, *((1 - large) * share for share in random_shares(rng, 4, 1 / 3))]
    design, rate = with_a_large_one(shares, 3, 2), float(rng.uniform(0.1, 0.9))
    table, first = rng.dirichlet(np.ones(5), 5), rng.dirichlet(np.ones(5))
    slots = np.array([[2, 1, 1, 1, 1]])
    declared = Declared(np.full(3, rate), np.zeros(3, np.int64), np.array([shares]), slots, 3)

    def emission(starts: Any, at: Any, sets: Any) -> Any:
        return renewal_emission(starts, at, sets, logs(design, sets)[:, None], declared)

    then = [renewing(design, coin(rate, shares))] * 2
    found = courses(first.tolist(), [table.tolist()] * 2, lambda v: given(design, v), then)
    compare(found, [0, 1, 2], 3, emission, TableChain(table), first)
    declared_found = courses(shares, [declared_table(declared, shares)] * 2, lambda v: given(design, v), then)
    compare(declared_found, [0, 1, 2], 3, emission, declared.chain(), declared.first())


def declared_table(declared: Declared, shares: Sequence[float]) -> Any:
    return ((1 - declared.rates[0]) * np.eye(len(shares)) + declared.rates[0] * np.array(shares)).tolist()


@pytest.mark.parametrize("seed", seeds(5, 50))
def test_renewed_on_change_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = random_shares(rng, 5, 1 / 3)
    design = sampford(shares, 3)
    table, first = rng.dirichlet(np.ones(5), 5), rng.dirichlet(np.ones(5))

    def emission(_starts: Any, _at: Any, sets: Any) -> Any:
        return static_emission(logs(design, sets), sets, 3, np.array(shares), np.ones(5, np.int64))

    then = [renewing(design, [0.0] * 5)] * 2
    steps = [table.tolist(), product(table.tolist(), table.tolist())]
    found = courses(first.tolist(), steps, lambda v: given(design, v), then)
    compare(found, [0, 1, 3], 3, emission, TableChain(table), first)


@pytest.mark.parametrize("seed", seeds(5, 50))
def test_carried_permanent_values_and_any_chain(seed: int) -> None:
    """The mechanism carries the last value; the chain is random, so that it may be lost after all."""
    rng = np.random.default_rng(seed)
    rate, permanent = float(rng.uniform(0.1, 0.9)), np.array([False] * 4 + [True])
    passed = gaps(np.full(2, rate), np.zeros(2, np.int64), np.array([FIVE]), np.array([0]), 1, permanent)
    toss = passed.coin(np.zeros(5, np.int64), np.arange(5))
    design, table, first = sampford(FIVE, M), rng.dirichlet(np.ones(5), 5), rng.dirichlet(np.ones(5))
    then = [carrying(FIVE, M, permanent.tolist(), toss.tolist())] * 2
    found = courses(first.tolist(), [table.tolist()] * 2, lambda v: given(design, v), then)

    def emission(starts: Any, _at: Any, sets: Any) -> Any:
        kept = carried(np.roll(sets, 1, axis=0), permanent)
        kept[starts[:-1]] = -1
        rests = [outside(np.array(FIVE), row) for row in kept]
        left = (kept < 0).sum(axis=1)
        inside = (sets[:, :, None] == kept[:, None, :]).any(axis=2)
        laws = np.array([rest[row] for rest, row in zip(rests, sets, strict=True)])
        rest_logs = [
            np.log(sampford(rest.tolist(), int(count))[tuple(row[~held].tolist())])
            for rest, count, row, held in zip(rests, left, sets, inside, strict=True)
        ]
        return carried_drawn(np.array(rest_logs), inside, laws, left, np.ones(sets.shape, np.int64)), toss[sets]

    compare(found, [0, 1, 2], M, emission, TableChain(table), first)


def test_undeclared_permanent_value_after_four_releases() -> None:
    """The page: 0.76. All courses of four sets; the first two figures are in test_alternatives_change."""
    design = sampford(FIVE, M)
    every = list(design)
    grid = np.stack(np.meshgrid(*[np.arange(len(every))] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    people = [tuple(every[at] for at in row) for row in grid.tolist()]
    starts, releases, sets = flat(people, range(4), M)
    declared = Declared(np.full(4, 0.5), np.zeros(4, np.int64), np.array([FIVE]), np.ones((1, 5), np.int64), M)
    emission = renewal_emission(starts, releases, sets, logs(design, sets)[:, None], declared)
    chain = TableChain(np.array(permanent_table(0.5, FIVE, [False] * 4 + [True])))
    # Some courses cannot be; the first value that could be lost in them is none.
    told = tracked(starts, releases, sets, *emission, chain, np.array(FIVE))
    assert told.posterior.max() == pytest.approx(0.759, abs=5e-4)
    exact = tracked(starts, releases, sets, *emission, declared.chain(), declared.first())
    assert exact.posterior == pytest.approx(np.full(sets.shape, 1 / 3), abs=1e-12)
    assert np.exp(exact.log_likelihood).sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", seeds(3, 20))
def test_long_lives_under_the_declared_model(seed: int) -> None:
    """Hundreds of people, many releases and values, tiny chances of sets: slots / m exactly, whatever was published."""
    rng = np.random.default_rng(seed)
    values, m, releases, people = 300, 10, 40, 200
    shares = np.minimum(rng.dirichlet(np.full(values, 1.0), 3), 0.08)
    shares /= shares.sum(axis=1, keepdims=True)
    versions, rates = np.sort(rng.integers(0, 3, releases)), rng.uniform(0.01, 0.3, releases)
    starts, at, sets = [0], [], []
    for _ in range(people):
        inside = np.flatnonzero(rng.random(releases) < 0.8)
        for release in inside:
            new = release == inside[0] or rng.random() < 0.2
            current = np.sort(rng.choice(values, m, replace=False)) if new else sets[-1]
            at.append(release)
            sets.append(current)
        starts.append(len(at))
    declared = Declared(rates, versions, shares, np.ones((3, values), np.int64), m)
    arrays = np.array(starts), np.array(at), np.array(sets)
    log_sets = rng.uniform(-900, -800, (len(at), 3))
    same = np.r_[False, (np.diff(arrays[2], axis=0) == 0).all(axis=1)]
    while same.any() and (moved := same & (log_sets != np.roll(log_sets, 1, axis=0)).any(axis=1)).any():
        log_sets[moved] = np.roll(log_sets, 1, axis=0)[moved]
    emission = renewal_emission(*arrays, log_sets, declared)
    told = tracked(*arrays, *emission, declared.chain(), declared.first()).posterior
    assert told == pytest.approx(np.full(told.shape, 1 / m), abs=1e-11)


def test_chains_agree() -> None:
    rng = np.random.default_rng(0)
    old, new, since = rng.integers(0, 5, (3, 20))
    now = since + rng.integers(0, 5, 20)
    chain = RenewalChain(np.full(12, 0.3), np.zeros(12, np.int64), np.array([FIVE]))
    table = TableChain(0.7 * np.eye(5) + 0.3 * np.array(FIVE))
    assert chain(old, new, since, now) == pytest.approx(table(old, new, since, now), abs=1e-12)


def test_places_of_values_and_impossible_courses() -> None:
    assert distinct(np.array([[3, 1, 3], [2, 2, 0]])).tolist() == [[1, 3, -1], [0, 2, -1]]
    sets = np.array([[0, 1], [2, 3]])
    drawn, toss = np.zeros((2, 2)), np.zeros((2, 2))
    with pytest.raises(InternalError, match="cannot come from"):
        tracked(np.array([0, 2]), np.arange(2), sets, drawn, toss, TableChain(np.eye(4)), np.full(4, 0.25))
