"""The decisions on counts, against every other decision there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.methods.invariance.counts import (
    assignment,
    completed,
    covering,
    eligible,
    joining,
    most_taken,
    roomy_assignment,
)


def by_hand(counts, m):
    return max(counts, default=0) * m <= sum(counts)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_as_many_are_taken_as_can_be(m):
    rng = np.random.default_rng(m)
    for _ in range(300):
        available = rng.integers(0, 5, size=4)
        wanted = rng.integers(0, 5, size=4)
        possible = [
            taken
            for taken in product(*(range(min(a, w) + 1) for a, w in zip(available, wanted, strict=True)))
            if by_hand((available - taken).tolist(), m)
        ]
        taken = most_taken(available, wanted, m)
        if not possible:
            assert taken is None
            continue
        assert tuple(taken.tolist()) in possible
        assert taken.sum() == max(map(sum, possible))


def test_long_searches_look_at_every_total():
    available, wanted = np.array([3000, 1500, 1500]), np.array([3000, 0, 0])
    taken = most_taken(available, wanted, 2)
    assert taken.tolist() == [3000, 0, 0]
    available, wanted = np.array([3000, 3000, 10]), np.array([3000, 0, 10])
    taken = most_taken(available, wanted, 2)
    assert by_hand((available - taken).tolist(), 2)
    assert taken.sum() == 10  # 3,010 would be of use, but what remains is not eligible after more than these


@pytest.mark.parametrize("m", [2, 3, 4])
def test_every_eligible_batch_can_be_assigned(m):
    for counts in product(range(5), repeat=5):
        batch = np.array(counts)
        if not eligible(batch, m):
            continue
        for least in (1, 7):
            shares = assignment(batch, m, least)
            total = np.zeros(5, dtype=np.int64)
            for share in shares:
                assert len(share.values) >= m
                assert share.each >= 1
                assert len(set(share.values)) == len(share.values)
                total[list(share.values)] += share.each
            assert total.tolist() == list(counts)


def test_the_first_share_is_the_papers():
    """The smallest b >= m with the largest a, by trying all of them."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        m = int(rng.integers(2, 5))
        counts = np.sort(rng.integers(0, 9, size=7))[::-1]
        if not counts.any() or not by_hand(counts.tolist(), m):
            continue
        g, ranked = int(counts.sum()), [*counts.tolist(), 0]
        found = None
        for b in range(m, 8):
            fits = [
                a
                for a in range(1, ranked[b - 1] + 1)
                if ranked[b] * m <= g - a * b and (ranked[0] - a) * m <= g - a * b
            ]
            if fits:
                found = (b, max(fits))
                break
        first = assignment(counts, m)[0]
        assert (len(first.values), first.each) == found
        assert first.values == tuple(range(found[0]))


@given(
    st.lists(st.integers(0, 6), min_size=5, max_size=5),
    st.lists(st.integers(0, 9), min_size=5, max_size=5),
    st.integers(2, 5),
)
def test_counterfeits_complete_a_batch_with_as_few_as_can_be(counts, familiar, m):
    batch, known = np.array(counts), np.array(familiar)
    added = completed(batch, m, known)
    usable = (batch > 0) | (known > 0)
    if batch.any() and m * batch.max() > batch.sum() and usable.sum() < m:
        assert added is None
        return
    assert (added >= 0).all()
    assert not added[~usable].any()
    assert by_hand((batch + added).tolist(), m)
    # Whatever is added, the most frequent value stays, and m times as many tuples are needed.
    assert added.sum() == max(m * int(batch.max()) - int(batch.sum()), 0)


def signatures(rng, m, count, values=5):
    """Some signatures of at least m values, as rows of truth values."""
    rows = {tuple(sorted(rng.choice(values, size=rng.integers(m, values + 1), replace=False))) for _ in range(count)}
    existing = np.zeros((len(rows), values), dtype=np.bool_)
    for row, held in zip(existing, sorted(rows), strict=True):
        row[list(held)] = True
    return existing


@pytest.mark.parametrize("m", [2, 3])
def test_as_many_as_can_join_existing_buckets(m):
    rng = np.random.default_rng(m)
    for _ in range(150):
        counts = rng.integers(0, 6, size=5)
        if not by_hand(counts.tolist(), m):
            continue
        existing = signatures(rng, m, 3)
        each = joining(counts, m, existing)
        left = counts - each @ existing
        assert (each >= 0).all() and (left >= 0).all()
        assert by_hand(left.tolist(), m)
        best = max(
            int((np.array(tried) @ existing).sum())
            for tried in product(range(6), repeat=len(existing))
            if (rest := counts - np.array(tried) @ existing).min() >= 0 and by_hand(rest.tolist(), m)
        )
        # Rounding down loses less than one set for each signature.
        assert best - existing.sum() < (each @ existing).sum() <= best


def test_nobody_joins_where_there_is_no_bucket():
    assert joining(np.array([2, 2]), 2, np.zeros((0, 2), dtype=np.bool_)).size == 0
    assert joining(np.array([0, 0]), 2, np.ones((1, 2), dtype=np.bool_)).tolist() == [0]


def test_covering_leaves_only_values_that_no_signature_has():
    rng = np.random.default_rng(11)
    for _ in range(300):
        counts = rng.integers(0, 6, size=5)
        existing = signatures(rng, 2, int(rng.integers(1, 4)))
        each = covering(counts, existing, rng.integers(1, 9, size=len(existing)))
        held = existing.any(axis=0)
        assert ((each @ existing)[held] >= counts[held]).all()
        # No set is added in which nobody has a place.
        assert all(counts[existing[at]].any() for at in np.flatnonzero(each))


def test_covering_prefers_tall_buckets():
    existing = np.array([[True, True, False], [True, True, False], [False, True, True]])
    assert covering(np.array([2, 2, 0]), existing, np.array([4, 9, 50])).tolist() == [0, 2, 0]
    # A bucket of one tuple a value is taken only when no other has the value.
    assert covering(np.array([1, 1, 0]), existing, np.array([1, 1, 50])).tolist()[2] == 1


@pytest.mark.parametrize("least", [5, 7, 13])
def test_roomy_shares_hold_everything_too(least):
    rng = np.random.default_rng(least)
    for _ in range(100):
        counts = rng.integers(0, 9, size=8)
        if not counts.any() or not by_hand(counts.tolist(), 3):
            continue
        shares, plain = roomy_assignment(counts, 3, least), assignment(counts, 3, least)
        total = np.zeros(8, dtype=np.int64)
        for share in shares:
            total[list(share.values)] += share.each
        assert total.tolist() == counts.tolist()

        def cramped(found):
            return sum(size for share in found if (size := len(share.values) * share.each) < least)

        assert cramped(shares) <= cramped(plain)
