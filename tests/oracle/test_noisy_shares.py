"""Shares of a table with noise: what one person can change of them, and what must not show at all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
from profiles import sized

import reissue as ri
from reissue.methods.alternatives import record_reference
from reissue.methods.alternatives.reference import OTHERS, noised
from reissue.model.domain import Domain
from reissue.model.snapshot import Column
from reissue.tables.coding import Coder

EPSILON = Fraction(1, 2)
FEW = 40
"""Ten scales of 2 / epsilon."""


def column(values: list[str]) -> Column:
    return Coder(Domain(), show_values=False).column(pl.Series("illness", values), ri.Categorical())


def rare_counts(last: str, seed: int, draws: int, absent: int | None) -> np.ndarray:
    """The count behind the share of rare values, as somebody who sees the shares works it out; FEW where it is that."""
    values = column(["one"] * 300 + ["two"] * 200 + ["rare"] * 30 + [last])
    codes, rng = values.codes.astype(np.int64), np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        made = noised(values, codes, np.zeros(codes.size, np.int64), 1, EPSILON, 10.0, rng, absent=absent)
        if made.labels != ("one", "two", OTHERS):
            found.append(0.0)  # by its noise the rare value has a name of its own
            continue
        share = made.shares[0]
        # Counts are whole numbers, so whether rare values have FEW shows.
        whole = np.abs(share / share[2] * FEW - np.round(share / share[2] * FEW)).max() < 1e-6
        found.append(FEW if whole else 531 * share[2])
    return np.array(found)


def test_how_many_rare_values_there_are_does_not_show() -> None:
    """One person with a value of their own, or with a common one: no event has odds that differ by more than e^epsilon.

    With noise for each rare value, "more than the floor" was impossible with one of them and not with two.
    """
    draws = sized(3_000, 30_000)
    for absent in (None, 100):
        common, own = (rare_counts(last, seed, draws, absent) for seed, last in enumerate(("one", "their own")))
        for event in (lambda x: x > FEW, lambda x: x > 45, lambda x: x > 50):
            one, other = event(common).mean(), event(own).mean()
            assert 0.002 < one < 0.6
            slack = 5 * math.sqrt(2 / (draws * min(one, other)))
            assert abs(math.log(one / other)) <= float(EPSILON) + slack


def test_how_many_rare_values_a_column_of_records_has_does_not_show() -> None:
    """The same for one of several columns: the share of rare values has no noise of its own for each of them."""
    draws = sized(3_000, 30_000)
    found = []
    for seed, last in enumerate(("one", "their own")):
        values, rng = column(["one"] * 300 + ["two"] * 200 + ["rare"] * 30 + [last]), np.random.default_rng(seed)
        counts = []
        for _ in range(draws):
            labels, shares, _ = record_reference._column(values, EPSILON, 10.0, rng)
            whole = np.abs(shares / shares[-1] * FEW - np.round(shares / shares[-1] * FEW)).max() < 1e-6
            counts.append(0.0 if labels != ("one", "two", OTHERS) else FEW if whole else 531 * shares[-1])
        found.append(np.array(counts))
    for most in (FEW, 45, 50):
        one, other = ((counts > most).mean() for counts in found)
        assert 0.002 < one < 0.6
        assert abs(math.log(one / other)) <= float(EPSILON) + 5 * math.sqrt(2 / (draws * min(one, other)))


def test_those_who_have_no_value_of_those_named() -> None:
    """Nearly without noise the share of rare values is theirs; the floor where there are none."""
    values = column(["one"] * 3000 + ["two"] * 2000 + [f"rare {at}" for at in range(1000)])
    codes = values.codes.astype(np.int64)
    few = noised(values, codes, np.zeros(codes.size, np.int64), 1, Fraction(1), 10.0, np.random.default_rng(0))
    assert few.labels == ("one", "two", OTHERS)
    assert few.shares[0][2] == np.clip(few.shares[0][2], 1 / 6 - 0.01, 1 / 6 + 0.01)
    none = column(["one"] * 3000 + ["two"] * 2000)
    codes = none.codes.astype(np.int64)
    made = noised(none, codes, np.zeros(codes.size, np.int64), 1, Fraction(1), 10.0, np.random.default_rng(0))
    assert 5000 * made.shares[0][2] == np.clip(5000 * made.shares[0][2], 19, 30)
