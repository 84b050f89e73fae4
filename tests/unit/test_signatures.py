"""Signatures: whether sets of values are linearly independent, beside elimination in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reissue.arrays.budget import Budget, OutOfTime
from reissue.arrays.types import Ints
from reissue.reasoning.history.signatures import independent
from tests.profiles import seeds


def rank(rows: list[list[Fraction]]) -> int:
    """By the book: one row after the other, in fractions."""
    found = 0
    for column in range(len(rows[0])):
        chosen = next((at for at in range(found, len(rows)) if rows[at][column]), None)
        if chosen is None:
            continue
        rows[found], rows[chosen] = rows[chosen], rows[found]
        for at in range(found + 1, len(rows)):
            times = rows[at][column] / rows[found][column]
            rows[at] = [one - times * other for one, other in zip(rows[at], rows[found], strict=True)]
        found += 1
    return found


def drawn(rng: np.random.Generator, sets: int, values: int, size: int) -> list[Ints]:
    return [np.sort(rng.choice(values, min(size, values), replace=False)) for _ in range(sets)]


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_sets_are_independent_where_their_rank_says_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(2, 14))
    sets = drawn(rng, int(rng.integers(1, 12)), values, int(rng.integers(1, 4)))
    sets = [*{tuple(one): one for one in sets}.values(), np.array([], dtype=np.int64)]
    rows = [[Fraction(int(value in one)) for value in range(values)] for one in sets if one.size]
    assert independent(sets) == (rank(rows) == len(rows))


def test_sets_of_very_many_values_take_no_elimination() -> None:
    # 5,000 sets of four of 20,000 values: as one matrix they would be 100 million cells, once for each row.
    sets = drawn(np.random.default_rng(1), 5_000, 20_000, 4)
    with Budget().spending() as budget:
        assert independent(sets)
    assert budget.spent < 100_000


def test_elimination_ends_with_its_time() -> None:
    sets = drawn(np.random.default_rng(1), 300, 310, 40)  # no value is in one set alone
    with Budget(most=1).spending(), pytest.raises(OutOfTime):
        independent(sets, deadline=0.0)
