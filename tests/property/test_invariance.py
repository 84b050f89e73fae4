"""m-invariance and e-equivalence over random streams of arrivals, departures, returns and changed values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.errors import Infeasible
from reissue.reasoning.equality.minimum_equivalence import minimum_attack

VALUES = "abcdefgh"


def table(state: dict[int, str], rng: np.random.Generator) -> pl.DataFrame:
    people = list(state)
    rng.shuffle(people)
    ages = [20 + (person * 37) % 60 for person in people]
    return pl.DataFrame(
        {
            "person": [f"p{person}" for person in people],
            "age": ages,
            "town": [["north", "south", "west"][person % 3] for person in people],
            "illness": [state[person] for person in people],
        }
    )


def stream(
    rng: np.random.Generator,
    releases: int,
    *,
    initial: int,
    turnover: int,
    returns: int = 0,
    changes: int = 0,
    skew: float = 0.0,
    values: str = VALUES,
):
    """States of a table. With skew, each batch has its own distribution of values; values can die out."""
    state: dict[int, str] = {}
    gone: dict[int, str] = {}
    first = 0

    def draw(size: int) -> list[str]:
        weights = rng.permutation(np.arange(1, len(values) + 1) ** skew)
        return rng.choice(list(values), size=size, p=weights / weights.sum()).tolist()

    for number in range(releases):
        if number:
            leaving = rng.permutation(list(state))[: rng.integers(0, turnover + 1)]
            back = rng.permutation(list(gone))[: rng.integers(0, returns + 1)]
            returning = {int(person): gone.pop(person) for person in back.tolist()}
            gone |= {int(person): state.pop(person) for person in leaving.tolist()}
            state |= returning
            for person in rng.permutation(list(state))[: rng.integers(0, changes + 1)].tolist():
                state[person] = str(rng.choice(list(values)))
        arriving = initial if not number else int(rng.integers(0, turnover + 1))
        state |= dict(zip(range(first, first + arriving), draw(arriving), strict=True))
        first += arriving
        if not state:
            state |= {first: draw(1)[0]}
            first += 1
        yield dict(state)


def policy_for(method, form="generalised"):
    schema = ri.Schema(
        person="person",
        quasi={"age": ri.Numeric(), "town": ri.Categorical(new="accept")},
        sensitive={"illness": ri.Categorical(values=list(VALUES))},
    )
    return ri.Policy(schema, method, form=form)


def check_release(draft, chain, state: dict[int, str]) -> None:
    """Everyone is published once or reported; what is published are the values they have."""
    members = Counter(name for who, _ in chain.groups()[-1] for name in who)
    assert max(members.values()) == 1
    people = {name for name in members if not name.startswith("counterfeit")}
    held = set() if draft.held_back is None else {chain.name(n) for n in draft.held_back["person"]}
    assert people | held == {f"p{person}" for person in state}
    assert not people & held
    published = Counter(value for _, values in chain.groups()[-1] for value in values)
    real = Counter(state[int(name[1:])] for name in people)
    made = Counter() if draft.counterfeits is None else Counter(draft.counterfeits["illness"])
    assert published == real + made
    assert draft.summary["counterfeits"] == made.total()
    assert draft.summary["rows"] == published.total() == len(members)


def check_invariance(chain, m: int, *, unique: bool, fixed: bool = True) -> None:
    """Definition 4 by hand: values equally often, at least m of them, and one signature for each member."""
    signature: dict[str, frozenset] = {}
    for release in chain.groups():
        for who, values in release:
            counts = Counter(values)
            assert len(counts) >= m
            assert len(set(counts.values())) == 1
            if unique:
                assert set(counts.values()) == {1}
            for name in who:
                if fixed:
                    assert signature.setdefault(name, frozenset(counts)) == frozenset(counts)


def smallest_attack(chain, below: int) -> int | None:
    """The smallest equivalence attack on a merged series, signature by signature, exactly."""
    buckets: dict[frozenset, list[tuple[list[str], int]]] = {}
    for release in chain.groups():
        for who, values in release:
            buckets.setdefault(frozenset(values), []).append((who, len(values) // len(set(values))))
    sizes = []
    for groups in buckets.values():
        everyone = sorted({name for who, _ in groups for name in who})
        presence = np.array([[name in set(who) for name in everyone] for who, _ in groups], dtype=np.int64)
        columns, people = np.unique(presence, axis=1, return_counts=True)
        found = minimum_attack(columns, people, np.array([multiple for _, multiple in groups]), below=below)
        assert found.decided
        if found.attack is not None:
            sizes.append(found.attack.size)
    return min(sizes, default=None)


streams = st.fixed_dictionaries(
    {
        "initial": st.integers(6, 40),
        "turnover": st.integers(0, 15),
        "returns": st.integers(0, 4),
        "skew": st.sampled_from([0.0, 1.0, 3.0]),
    }
)


@examples(8)
@given(
    st.integers(0, 2**32),
    streams,
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from(["counterfeit", "withhold"]),
    st.sampled_from(["random", "near"]),
    st.sampled_from(["generalised", "anatomised"]),
)
def test_m_invariance_holds_over_any_stream(chain, seed, shape, m, split, shortage, choice, form):
    rng = np.random.default_rng(seed)
    series = chain(policy_for(ri.MInvariance(m, split=split, shortage=shortage, choice=choice), form))
    for state in stream(rng, 6, **shape, changes=2):
        try:
            draft = series.publish(table(state, rng))
        except Infeasible:
            # Fewer than m values, or nobody could be published: nothing has happened, and the stream goes on.
            continue
        check_release(draft, series, state)
        check_invariance(series, m, unique=split)


@examples(8)
@given(st.integers(0, 2**32), streams, st.integers(2, 4))
def test_reinserted_people_keep_the_bound_for_each_record(chain, seed, shape, m):
    rng = np.random.default_rng(seed)
    series = chain(policy_for(ri.MInvariance(m, changed="reinsert")))
    for state in stream(rng, 6, **shape, changes=6):
        try:
            draft = series.publish(table(state, rng))
        except Infeasible:
            continue
        check_release(draft, series, state)
        check_invariance(series, m, unique=True, fixed=False)
        assert draft.held_back is None
        assert "per record" in draft.manifest["warnings"][0]
        assert "per record" in draft.manifest["guarantees"][0]


@examples(8)
@given(
    st.integers(0, 2**32), streams, st.integers(2, 4), st.integers(1, 4), st.sampled_from(["counterfeit", "withhold"])
)
def test_no_exact_equivalence_attack_below_e(chain, seed, shape, m, e, shortage):
    e = min(e, m)
    rng = np.random.default_rng(seed)
    series = chain(policy_for(ri.EEquivalence(m, e, shortage=shortage), "anatomised"))
    for state in stream(rng, 6, **shape, changes=1):
        try:
            draft = series.publish(table(state, rng))
        except Infeasible:
            continue
        check_release(draft, series, state)
        check_invariance(series, m, unique=False)
        assert smallest_attack(series, e) is None


@pytest.mark.parametrize("method", [ri.MInvariance(3), ri.MInvariance(3, split=False), ri.EEquivalence(3, 3)])
def test_fifty_releases_of_a_tiny_table(chain, method):
    rng = np.random.default_rng(50)
    series = chain(policy_for(method, "anatomised"))
    for state in stream(rng, 50, initial=9, turnover=3, returns=1):
        draft = series.publish(table(state, rng))
        check_release(draft, series, state)
    check_invariance(series, 3, unique=getattr(method, "split", False))
    if isinstance(method, ri.EEquivalence):
        assert smallest_attack(series, 3) is None


@pytest.mark.parametrize("method", [ri.MInvariance(2), ri.EEquivalence(2, 2)])
def test_everyone_leaves_a_bucket_and_comes_back(chain, method):
    rng = np.random.default_rng(1)
    series = chain(policy_for(method, "anatomised"))
    pair, others = {0: "a", 1: "b"}, {2: "c", 3: "d", 4: "c", 5: "d"}
    for state in (pair | others, others, pair | others, pair, others | {6: "a", 7: "b"}, pair | others):
        draft = series.publish(table(state, rng))
        check_release(draft, series, state)
        check_invariance(series, 2, unique=getattr(method, "split", False))
        if isinstance(method, ri.EEquivalence):
            assert smallest_attack(series, 2) is None


def test_a_person_who_returns_keeps_the_signature(chain):
    rng = np.random.default_rng(2)
    series = chain(policy_for(ri.MInvariance(2, split=False)))
    both = {0: "a", 1: "b", 2: "c", 3: "d", 4: "a", 5: "c"}
    series.publish(table(both, rng))
    series.publish(table({person: value for person, value in both.items() if person}, rng))
    series.publish(table(both, rng))
    first, last = (
        next(frozenset(values) for who, values in release if "p0" in who)
        for release in (series.groups()[0], series.groups()[2])
    )
    assert first == last


def test_withheld_arrivals_are_not_chosen_by_their_value(chain):
    rng = np.random.default_rng(3)
    series = chain(policy_for(ri.MInvariance(2, shortage="withhold")))
    series.publish(table({0: "a", 1: "b", 2: "a", 3: "b"}, rng))
    # Nobody left, so balancing uses nobody; one in two may have the same value, and five of six have.
    arrivals = {10: "a", 11: "a", 12: "a", 13: "a", 14: "a", 15: "b"}
    draft = series.publish(table({0: "a", 1: "b", 2: "a", 3: "b"} | arrivals, rng))
    assert {series.name(n) for n in draft.held_back["person"]} == {f"p{person}" for person in arrivals}
    assert draft.summary["held_back"] == {"arrivals that are not m-eligible": {"people": 6, "longest_wait": 1}}
    assert "held" not in str(draft.manifest)
    # They are tried again, and published as soon as that can be done.
    more = {20: "b", 21: "c", 22: "d", 23: "b"}
    draft = series.publish(table({0: "a", 1: "b", 2: "a", 3: "b"} | arrivals | more, rng))
    assert draft.held_back is None


def test_waiting_is_counted_from_the_first_release_missed(chain):
    rng = np.random.default_rng(4)
    series = chain(policy_for(ri.MInvariance(2, shortage="withhold")))
    base = {0: "a", 1: "b"}
    series.publish(table(base, rng))
    series.publish(table(base | {5: "a"}, rng))
    draft = series.publish(table(base | {5: "a", 6: "a"}, rng))
    assert draft.held_back["since"].to_list() == [2, 3] or draft.held_back["since"].to_list() == [3, 2]
    assert draft.summary["held_back"]["arrivals that are not m-eligible"] == {"people": 2, "longest_wait": 2}


def test_a_changed_value_within_the_signature_is_published(chain):
    rng = np.random.default_rng(5)
    series = chain(policy_for(ri.MInvariance(2)))
    series.publish(table({0: "a", 1: "b", 2: "c", 3: "d"}, rng))
    mine = next(sorted(set(values)) for who, values in series.groups()[0] if "p0" in who)
    other = next(value for value in mine if value != "a")
    outside = next(value for value in "bcd" if value not in mine)
    draft = series.publish(table({0: other, 1: "b", 2: "c", 3: "d"}, rng))
    assert draft.held_back is None
    draft = series.publish(table({0: outside, 1: "b", 2: "c", 3: "d"}, rng))
    assert [series.name(n) for n in draft.held_back["person"]] == ["p0"]
    draft = series.publish(table({0: "a", 1: "b", 2: "c", 3: "d"}, rng))
    assert draft.held_back is None
    check_invariance(series, 2, unique=True)


def test_counterfeits_keep_their_identity_and_leave(chain):
    rng = np.random.default_rng(6)
    series = chain(policy_for(ri.MInvariance(2)))
    series.publish(table({0: "a", 1: "b", 2: "a", 3: "b"}, rng))
    second = series.publish(table({0: "a", 1: "b", 2: "a"}, rng))
    third = series.publish(table({0: "a", 1: "b", 2: "a"}, rng))
    assert second.counterfeits.drop("reissue.group").equals(third.counterfeits.drop("reissue.group"))
    fourth = series.publish(table({0: "a", 1: "b", 2: "a", 9: "b"}, rng))
    assert fourth.counterfeits is None
    fifth = series.publish(table({0: "a", 1: "b", 2: "a"}, rng))
    # A number is never given again.
    assert fifth.counterfeits["reissue.counterfeit"][0] > third.counterfeits["reissue.counterfeit"][0]
