"""Flat runs and dense numbers, against plain lists."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from reissue.arrays import dense
from reissue.arrays.cores import at_once, spans
from reissue.arrays.dense import ascending, distinct, narrow_ascending, numbered, often
from reissue.arrays.narrow import FEW, NEVER, narrow, whole
from reissue.arrays.runs import chosen, entries_of, joined, kept, owners, starts_of, totals


@pytest.mark.parametrize("seed", range(30))
def test_runs_are_those_of_nested_lists(seed: int) -> None:
    rng = random.Random(seed)
    groups = [[rng.randint(0, 9) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 6))]
    flat = np.array([one for group in groups for one in group], dtype=np.int64)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    starts = starts_of(sizes)
    assert [flat[a:b].tolist() for a, b in pairwise(starts)] == groups
    assert owners(sizes).tolist() == [at for at, group in enumerate(groups) for _ in group]
    assert totals(flat, starts).tolist() == [sum(group) for group in groups]
    odd = flat % 2 == 1
    assert totals(odd, starts).tolist() == np.diff(kept(odd, starts)).tolist()
    assert np.diff(kept(odd, starts)).tolist() == [sum(one % 2 for one in group) for group in groups]
    some = np.array([rng.randrange(len(groups)) for _ in range(5) if groups], dtype=np.int64)
    places, begins = chosen(starts, some)
    assert places.tolist() == entries_of(starts, some).tolist()
    assert [flat[places][a:b].tolist() for a, b in pairwise(begins)] == [groups[at] for at in some]


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.uint32, np.int32, np.int64])
def test_starts_are_wide_whatever_the_sizes_are(kind: type[np.generic]) -> None:
    starts = starts_of(np.ones(300, dtype=kind))
    assert starts.dtype == np.int64 and starts[-1] == 300
    assert starts_of([]).tolist() == [0] and joined([]).dtype == np.int64


@pytest.mark.parametrize(("low", "high", "size"), [(0, 5, 0), (-9, 9, 50), (-(10**12), 10**12, 500), (0, 1, 3)])
def test_distinct_numbers(low: int, high: int, size: int) -> None:
    numbers = np.random.default_rng(1).integers(low, high, size)
    assert distinct(numbers).tolist() == sorted(set(numbers.tolist()))
    once, place = numbered(numbers)
    assert once.tolist() == sorted(set(numbers.tolist())) and (once[place] == numbers).all()


def test_parts_at_once_keep_their_order_and_their_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 5):
        monkeypatch.setattr(pl, "thread_pool_size", lambda number=number: number)
        assert at_once(lambda part: part * 2, [3, 1, 2]) == [6, 2, 4]
        assert at_once(lambda part: part * 2, []) == []
        for count in (0, 1, 7, 100):
            found = spans(count, least=10)
            assert [place for one in found for place in range(*one)] == list(range(count))
            assert 1 <= len(found) <= number
            assert all(end - begin >= 10 for begin, end in found) or len(found) == 1
        with pytest.raises(ZeroDivisionError):
            at_once(lambda part: 1 // part, [1, 0, 2, 3])


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.int64])
def test_numbers_are_counted_part_by_part(kind: type[np.integer], monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(1).integers(0, 40, 1_000).astype(kind)
    expected = [numbers.tolist().count(at) for at in range(45)]
    assert often(numbers, 45).tolist() == expected
    monkeypatch.setattr(dense, "AT_ONCE", 7)
    assert often(numbers, 45).tolist() == expected
    assert often(numbers[:0], 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_dense_numbers_in_any_room(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "AT_ONCE", 3)
    rng = np.random.default_rng(seed)
    for most in (12, 40, 100_000):
        numbers = rng.permutation(most)[:12] + rng.integers(0, 1_000)
        expected = sorted(range(numbers.size), key=numbers.tolist().__getitem__)
        assert ascending(numbers).tolist() == narrow_ascending(numbers.astype(np.uint32)).tolist() == expected
        assert ascending(numbers).dtype == np.int64


@pytest.mark.parametrize(
    ("numbers", "bytes_each"),
    [
        ([0, 126, -128], 1),
        ([0, 127], 2),  # the largest of a type stands for NEVER
        ([5, NEVER, -2], 1),
        ([NEVER, NEVER], 1),
        ([-129, 3], 2),
        ([32_767], 4),
        ([-(2**31), 2**31 - 2, NEVER], 4),
        ([2**31 - 1, NEVER], 8),
        ([-(2**63), NEVER - 1], 8),
    ],
)
def test_narrow_numbers_come_back_as_they_were(numbers: list[int], bytes_each: int) -> None:
    for times, itemsize in ((FEW, bytes_each), (1, 8), (0, 8)):  # of few there is nothing to be gained
        kept = narrow(np.array(numbers * times, dtype=np.int64))
        assert kept.itemsize == itemsize
        assert whole(kept).dtype == np.int64
        assert whole(kept).tolist() == numbers * times
