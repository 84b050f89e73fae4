"""Cor-Split over random streams of arrivals, departures, returns, changed values and changed quasi-identifiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.attacks import Correlation
from reissue.errors import Infeasible
from reissue.reasoning.correlation.restriction import n_choose

VALUES = "abcdefgh"
REASONS = {
    "published as often as allowed",
    "value changed to one outside the signature",
    "arrivals that are not m-eligible",
    "return that could not be certified",
}
State = dict[int, tuple[int, str, str]]
"""For each person age, town and value."""


def stream(
    rng: np.random.Generator,
    releases: int,
    *,
    initial: int,
    turnover: int,
    returns: int = 0,
    changes: int = 0,
    moves: int = 0,
    skew: float = 0.0,
    values: str = VALUES,
) -> Iterator[State]:
    """States of a table. With skew every batch has its own distribution of values."""
    state: State = {}
    gone: State = {}
    count = 0

    def some(people: Any, most: int) -> list[int]:
        return [int(who) for who in rng.permutation(list(people))[: rng.integers(0, most + 1)]]

    def arrive(size: int) -> None:
        nonlocal count
        weights = rng.permutation(np.arange(1, len(values) + 1) ** skew)
        for value in rng.choice(list(values), size=size, p=weights / weights.sum()).tolist():
            state[count] = (int(rng.integers(20, 80)), str(rng.choice(["north", "south", "west"])), value)
            count += 1

    for number in range(releases):
        if number:
            leaving, back = some(state, turnover), some(gone, returns)
            state |= {who: gone.pop(who) for who in back}
            gone |= {who: state.pop(who) for who in leaving}
            for who in some(state, changes):
                state[who] = (*state[who][:2], str(rng.choice(list(values))))
            for who in some(state, moves):
                state[who] = (int(rng.integers(20, 80)), *state[who][1:])
        arrive(initial if not number else int(rng.integers(0, turnover + 1)))
        if not state:
            arrive(1)
        yield dict(state)


def table(state: State, rng: np.random.Generator) -> pl.DataFrame:
    rows = [(f"p{who}", *state[who]) for who in rng.permutation(list(state)).tolist()]
    return pl.DataFrame(rows, schema=["person", "age", "town", "illness"], orient="row")


def policy(method: ri.CorSplit, form: str = "generalised") -> ri.Policy:
    schema = ri.Schema(
        person="person",
        quasi={"age": ri.Numeric(), "town": ri.Categorical(new="accept")},
        sensitive={"illness": ri.Categorical(values=list(VALUES))},
    )
    return ri.Policy(schema, method, form=form)  # type: ignore[arg-type]


def view(series: Any) -> ri.Published:
    """All releases by person number; counterfeits have numbers below 0."""
    return ri.Published(tuple(draft.recoded.groups for draft in series.drafts), series.drafts[-1].published().values)


def members(draft: ri.Draft) -> list[set[int]]:
    release = draft.recoded.groups
    return [set(who.tolist()) for who in np.split(release.members, release.member_starts[1:-1])]


def held(draft: ri.Draft) -> list[Counter[str]]:
    """The values of each group, in the same order."""
    release, values = draft.recoded.groups, draft.published().values
    found = [Counter[str]() for _ in range(release.group_count)]
    for group, counter in enumerate(found):
        for at in range(release.value_starts[group], release.value_starts[group + 1]):
            counter[str(values[release.values[at]])] += int(release.counts[at])
    return found


def check_everyone(series: Any, draft: ri.Draft, state: State) -> None:
    """Everyone is in one group with his own value, or reported with a reason; counterfeits bring what is missing."""
    groups = members(draft)
    assert sum(map(len, groups)) == len(set().union(*groups)) == draft.summary["rows"]
    shown = {series.name(who): group for group, some in enumerate(groups) for who in some if who >= 0}
    back = {} if draft.held_back is None else {series.name(n): why for n, why, _ in draft.held_back.iter_rows()}
    assert set(shown) | set(back) == {f"p{who}" for who in state}
    assert not set(shown) & set(back)
    assert set(back.values()) <= REASONS
    true = [Counter[str]() for _ in groups]
    for who, group in shown.items():
        true[group][state[int(who[1:])][2]] += 1
    made = (
        {} if draft.counterfeits is None else dict(draft.counterfeits.select("reissue.counterfeit", "illness").rows())
    )
    made_up = {-who: group for group, some in enumerate(groups) for who in some if who < 0}
    assert set(made_up) == set(made)
    for number, group in made_up.items():
        true[group][made[number]] += 1
    assert true == held(draft)


def check_numbers(series: Any) -> None:
    """A counterfeit that is gone does not come back, and its number is not given again."""
    before: set[int] = set()
    ever: set[int] = set()
    for draft in series.drafts:
        now = {who for some in members(draft) for who in some if who < 0}
        assert not (now - before) & ever
        before, ever = now, ever | now


def check_safety(series: Any, draft: ri.Draft, m: int, degree: Any) -> None:
    """Figure 6 as it stands, over all earlier releases; and every value of a signature equally often."""
    earlier = [{who: at for at, some in enumerate(members(one)) for who in some} for one in series.drafts[:-1]]
    for now, values in zip(members(draft), held(draft), strict=True):
        assert len(values) >= m
        assert len(set(values.values())) == 1
        n = degree(len(values))
        for group_of in earlier:
            most = max(Counter(group_of[who] for who in now if who in group_of).values(), default=0)
            assert not len(now) - n < most < len(now)


def check_pairs(series: Any, n: int) -> None:
    """Definitions 3 and 7 as they stand: groups with equal multisets that share some and not all."""
    now, values = members(series.drafts[-1]), held(series.drafts[-1])
    for earlier in series.drafts[:-1]:
        for then, theirs in zip(members(earlier), held(earlier), strict=True):
            for one, ours in zip(now, values, strict=True):
                if ours == theirs and one & then and one != then:
                    assert len(one - then) >= n
                    assert len(then - one) >= n


def check_promises(series: Any, draft: ri.Draft) -> None:
    """By the checkers, over the whole series and release by release."""
    whole = view(series)
    for guarantee, verdict in zip(series.policy.guarantees(), draft.verdicts, strict=True):
        assert verdict.holds, verdict
        found = guarantee.check(whole)
        assert found.holds, found
    assert ri.guarantees.WeakMInvariant(series.policy.method.m).check(whole).holds


def check_attack(series: Any, n: int, state: State, rng: np.random.Generator) -> None:
    """No correlation below n, and none found with people known, who are up to n - 1 or a quarter of the table."""
    whole = view(series)
    shown = [who for some in members(series.drafts[-1]) for who in some if who >= 0]
    for count in (0, n - 1, len(shown) // 4):
        some = [int(who) for who in rng.permutation(shown)[:count]]
        known = {who: state[int(series.name(who)[1:])][2] for who in some}
        found = Correlation(n=n).run(whole, ri.Knowledge(compromised=known))
        assert found.unsafe(n).is_empty()
        assert all(min(len(one), len(other)) >= n for one, other in found.correlations)


def check_times(series: Any, draft: ri.Draft, most: int, state: State) -> None:
    """Who was published so often is held back for that reason, and nobody else is."""
    before = Counter(who for earlier in series.drafts[:-1] for some in members(earlier) for who in some if who >= 0)
    assert max(before.values(), default=0) <= most
    back = [] if draft.held_back is None else draft.held_back.filter(reason="published as often as allowed")["person"]
    retired = {series.name(who) for who, times in before.items() if times == most}
    assert {series.name(who) for who in back} == retired & {f"p{who}" for who in state}


streams = st.fixed_dictionaries(
    {
        "initial": st.integers(4, 40),
        "turnover": st.integers(0, 15),
        "returns": st.integers(0, 4),
        "changes": st.integers(0, 3),
        "moves": st.integers(0, 5),
        "skew": st.sampled_from([0.0, 1.0, 3.0]),
        "values": st.sampled_from(["abcd", VALUES]),
    }
)
degrees = st.integers(2, 4).flatmap(lambda m: st.tuples(st.just(m), st.integers(1, m)))
endings: list[dict[str, Any]] = [{}, {"L": 3}, {"p": 0.05, "L": 3, "h": 0.4}, {"p": 0.2, "L": 2, "h": 0.7}]


def run(chain: Any, seed: int, shape: dict[str, Any], method: ri.CorSplit, form: str, releases: int = 5) -> None:
    rng = np.random.default_rng(seed)
    series = chain(policy(method, form))
    n = method.n or 0

    def degree(values: int) -> int:
        if method.p is None or method.L is None or method.h is None:
            return n
        return max(n, n_choose(method.p, method.L, values, method.h) or 0)

    for state in stream(rng, releases, **shape):
        try:
            draft = series.publish(table(state, rng), seed=int(rng.integers(1000)))
        except Infeasible:
            # Fewer than m values, or nobody could be published: nothing has happened, and the stream goes on.
            continue
        check_everyone(series, draft, state)
        check_promises(series, draft)
        check_pairs(series, n)
        if not method.combinations:
            check_safety(series, draft, method.m, degree)
        if method.L is not None:
            check_times(series, draft, method.L, state)
        check_numbers(series)
        if len(series.drafts) == releases:
            check_attack(series, n, state, rng)


def method_of(degree: tuple[int, int], ending: dict[str, Any], **more: Any) -> ri.CorSplit:
    """With this n, or a larger one where the formula asks for it."""
    m, n = degree
    if "p" in ending:
        n = max(n, ri.CorSplit(m, **ending, **more).n or 0)
    return ri.CorSplit(m, n, **ending, **more)


@examples(8)
@given(
    st.integers(0, 2**32),
    streams,
    degrees,
    st.sampled_from(endings),
    st.sampled_from(["counterfeit", "withhold"]),
    st.sampled_from(["random", "near"]),
    st.sampled_from(["generalised", "anatomised"]),
)
def test_two_groups_never_tie_fewer_than_n_people(chain, seed, shape, degree, ending, shortage, choice, form):
    run(chain, seed, shape, method_of(degree, ending, shortage=shortage, choice=choice), form)


@examples(6)
@given(
    st.integers(0, 2**32),
    streams,
    degrees,
    st.sampled_from(endings),
    st.sampled_from(["counterfeit", "withhold"]),
    st.sampled_from(["generalised", "anatomised"]),
)
def test_no_combination_ties_fewer_than_n_people(chain, seed, shape, degree, ending, shortage, form):
    run(chain, seed, shape, method_of(degree, ending, shortage=shortage, combinations=True), form)


@pytest.mark.parametrize("method", [ri.CorSplit(3, 2), ri.CorSplit(2, 2), ri.CorSplit(3, 3, L=6)])
def test_thirty_releases_of_a_small_table(chain, method):
    """Histories grow long; whoever leaves may come back, and nothing is forgotten."""
    rng = np.random.default_rng(30)
    series = chain(policy(method, "anatomised"))
    for state in stream(rng, 30, initial=15, turnover=4, returns=3, values="abcd"):
        draft = series.publish(table(state, rng), seed=1)
        check_everyone(series, draft, state)
        check_safety(series, draft, method.m, lambda values: method.n)
    check_numbers(series)
    check_promises(series, draft)


@pytest.mark.parametrize(("m", "n", "values"), [(2, 2, "ab"), (3, 2, "abc"), (4, 3, "abcde"), (4, 4, "abcd")])
def test_large_buckets(chain, m, n, values):
    """Hundreds of rows of each value: groups are mended among neighbours, then in larger and larger parts."""
    rng = np.random.default_rng(m * n)
    series, control = chain(policy(ri.CorSplit(m, n))), chain(policy(ri.MInvariance(m)))
    for state in stream(rng, 5, initial=900, turnover=250, returns=60, moves=100, values=values):
        rows = table(state, rng)
        draft, other = series.publish(rows, seed=m), control.publish(rows, seed=m)
        check_everyone(series, draft, state)
        check_safety(series, draft, m, lambda values: n)
        check_promises(series, draft)
        # Balancing makes counterfeits up; where there are many rows to choose from, hc-safety takes hardly any more.
        assert draft.summary["counterfeits"] <= other.summary["counterfeits"] + 0.01 * len(state)
    check_numbers(series)
    assert Correlation(n=n).run(view(series)).unsafe(n).is_empty()
    assert not Correlation(n=n).run(view(control)).unsafe(n).is_empty()
