"""Phases one to three on counts: what goes where when there are many buckets."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.invariance.buckets import LEFT, MANY, MOST, BucketCounts


def buckets(count: int, height: int, arrivals: list[int], m: int = 2) -> BucketCounts:
    """So many buckets of two values each, all of them full."""
    return BucketCounts(
        m=m,
        values=len(arrivals),
        signature=np.repeat(np.arange(count), 2),
        value=np.tile(np.array([0, 1]), count),
        real=np.full(2 * count, height),
        arrivals=np.array(arrivals, dtype=np.int64),
    )


@pytest.mark.parametrize(
    ("count", "height", "crowded"),
    [(MANY - 1, 1, False), (MANY, 1, True), (MANY, 1000, False), (MOST, 1000, True)],
)
def test_no_new_buckets_where_there_are_many_small_ones(count, height, crowded):
    some = buckets(count, height, [3, 0, 0])
    some.arrivals = np.array([0, 0, 0])
    assert some.crowded is crowded


def test_a_batch_unlike_all_buckets_gets_new_ones():
    some = buckets(MANY, 1, [40, 40, 40, 40])
    assert not some.crowded  # nothing of it has a place yet
    some.arrivals = np.array([int(160 * LEFT), 0, 0, 0])
    assert some.crowded


def test_covering_fills_up_with_counterfeits():
    some = buckets(MANY, 4, [5, 0])
    some.cover(partly=False)
    assert not some.arrivals.any()
    assert some.fresh.sum() == 5
    assert some.made.sum() == 5
    assert (some.per_bucket(some.holding) % 2 == 0).all()


def test_what_no_signature_has_is_not_covered():
    some = buckets(MANY, 4, [5, 0, 1])
    some.cover(partly=False)
    assert some.arrivals.tolist() == [5, 0, 1]  # all or nothing
    some.cover(partly=True)
    assert some.arrivals.tolist() == [0, 0, 1]


def test_balancing_prefers_places_that_would_need_a_new_counterfeit():
    some = BucketCounts(
        m=2,
        values=4,
        signature=np.array([0, 0, 1, 1]),
        value=np.array([0, 1, 0, 1]),
        real=np.array([2, 1, 2, 1]),
        arrivals=np.array([0, 1, 0, 0]),
    )
    some.before[1] = 1
    some.balance()
    # The old counterfeit stays, the one arrival saves a new one.
    assert some.kept.tolist() == [0, 1, 0, 0]
    assert some.fresh.tolist() == [0, 0, 0, 1]
    assert not some.made.any()
