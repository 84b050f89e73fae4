"""Large groups of the minimality attack: floats against integers, estimates against exact figures."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from profiles import seeds

from reissue.model.published import PublishedGroups
from reissue.model.rules import Distinct, Rows, Share
from reissue.reasoning.minimality import minimality_counts, minimality_groups
from reissue.reasoning.minimality.credibility import credibility
from reissue.reasoning.minimality.minimality_counts import (
    Group,
    GroupClass,
    Ruler,
    count,
    estimate,
    number_of_ways,
    ways_of,
)
from reissue.reasoning.minimality.minimality_groups import exactly, settle
from reissue.reasoning.minimality.minimality_sampling import sample
from reissue.reasoning.minimality.requirements import EnoughRows, Requirement, SmallShare, build

ONE_SET = Requirement((SmallShare((1,), 2),), 2)
"""The second of two lumps of values has at most half of the rows."""


def drawn(rng: np.random.Generator, *, kinds: int, often: int, most: int) -> Group:
    """Some sizes of classes, each with some rows left ungeneralised, and a few per cent of sensitive rows."""
    classes: dict[GroupClass, int] = {}
    for _ in range(kinds):
        left = int(rng.integers(0, 4)) if rng.random() < 0.5 else 0
        kept = int(rng.integers(0, left // 2 + 1))
        one = GroupClass(int(rng.integers(1, most)), (left - kept, kept))
        classes[one] = int(rng.integers(1, often))
    rows = sum(one.rows * many for one, many in classes.items())
    sensitive = max(1, int(rows * rng.uniform(0.02, 0.7)))
    return Group(tuple(classes), tuple(classes.values()), (rows - sensitive, sensitive))


def test_floats_are_within_their_bound_of_integers() -> None:
    rng = np.random.default_rng(3)
    for _ in range(25):
        group = drawn(rng, kinds=6, often=6, most=9)
        ruler = Ruler(ONE_SET)
        exact, floats = count(group, ruler), estimate(group, ruler)
        if floats is None:
            assert float(exact.probability) < minimality_counts.SMALLEST
            continue
        assert 0 < floats.error < 1e-11
        pairs = list(zip(group.classes, exact.some, floats.some, strict=True))
        if exact.probability < 1:
            pairs += zip(group.classes, exact.none, floats.none, strict=True)
        for one, wanted, given in pairs:
            for figure, near in zip(wanted, given, strict=True):
                assert abs(Fraction(figure) - Fraction(near)) <= one.rows * Fraction(floats.error)
        assert floats.probability == pytest.approx(float(exact.probability), rel=1e-12)


def test_what_underflows_is_counted_in_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of 400 that only violates if more than half of it is sensitive, where hardly anybody is."""
    group = Group((GroupClass(400, (0, 0)), GroupClass(60_000, (0, 0))), (1, 1), (60_199, 201))
    ruler = Ruler(ONE_SET)
    assert estimate(group, ruler) is None
    found = settle(group, ruler, rng=np.random.default_rng(0))
    assert found.kind == "exact"
    assert found.exactly is not None
    assert found.exactly.some[0][1] == 201
    assert 0 < found.probability < Fraction(1, 10**300)
    monkeypatch.setattr(minimality_groups, "FALLBACK", 1_000)
    assert settle(group, ruler, rng=np.random.default_rng(0)).kind == "undecided"


def test_a_large_group_in_floats_and_on_demand_in_fractions() -> None:
    rng = np.random.default_rng(8)
    group = drawn(rng, kinds=20, often=80, most=12)
    assert group.rows > 3_000
    ruler = Ruler(ONE_SET)
    found = settle(group, ruler, rng=rng)
    assert found.kind == "exact" and found.exactly is None and found.some is not None
    small = Group(group.classes[:6], (3,) * 6, (0, 0))
    small = Group(small.classes, small.often, (small.rows - 9, 9))
    again = exactly(small, ruler, settle(small, ruler, rng=rng))
    assert again.exactly is not None
    # All rows together have all the values.
    means = np.array(found.some)
    assert (means * np.array(group.often)[:, None]).sum(axis=0) == pytest.approx(group.counts, rel=1e-9)


def test_ways_are_listed_completely() -> None:
    rng = np.random.default_rng(4)
    ruler = Ruler(Requirement((SmallShare((0,), 2), EnoughRows(2)), 3))
    for _ in range(40):
        counts = tuple(rng.integers(0, 4, 3).tolist())
        if sum(counts) < 2:
            continue
        rows = int(rng.integers(1, sum(counts) + 1))
        one = GroupClass(rows, (0, 0, 0))
        group = Group((one, GroupClass(sum(counts) - rows, (0, 0, 0))), (1, 1), counts)
        ways = ways_of(one, group, ruler)
        assert len(ways.weights) == number_of_ways(rows, counts)
        assert len({tuple(way) for way in ways.counts.tolist()}) == len(ways.weights)
        assert (ways.counts.sum(axis=1) == rows).all()
        assert (ways.counts <= np.array(counts)).all()


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_estimates_are_within_five_standard_errors(seed: int) -> None:
    """Every value protected, in groups that can be counted as well."""
    rng = np.random.default_rng(seed)
    requirement = Requirement(tuple(SmallShare((value,), 2) for value in range(3)), 3)
    # Rare violations in one half of the cases, frequent ones in the other.
    sizes = [(3, 4), (5, 2), (6, 1)] if seed % 2 else [(8, 1), (13, 1)]
    rows = sum(size * many for size, many in sizes)
    counts = rng.permutation([rows - 2 * (rows // 3), rows // 3, rows // 3]).tolist()
    group = Group(
        tuple(GroupClass(size, (0, 0, 0)) for size, _ in sizes), tuple(many for _, many in sizes), tuple(counts)
    )
    ruler = Ruler(requirement)
    exact, found = count(group, ruler), sample(group, ruler, rng, None, draws=3_000)
    assert found is not None
    assert abs(found.probability - float(exact.probability)) <= 5 * found.probability_error
    for wanted, mean, error in ((exact.some, found.some, found.some_error), (exact.none, found.none, found.none_error)):
        off = np.abs(np.array(wanted, dtype=np.float64) - mean)
        assert (off <= 5 * error).all()
        assert (error > 0).all()
    assert (found.some_error < 0.1).all()
    assert (found.probability < 0.5) == (seed % 2 == 0)


def release_of(classes: np.ndarray, groups: np.ndarray, values: np.ndarray) -> PublishedGroups:
    """Rows by group, already in the order of groups."""
    width = int(values.max()) + 1
    key, counts = np.unique(groups * width + values, return_counts=True)
    starts = np.searchsorted(groups, np.arange(groups[-1] + 2))
    return PublishedGroups(
        1,
        np.arange(groups.size),
        starts,
        key % width,
        counts,
        np.searchsorted(key // width, np.arange(groups[-1] + 2)),
        classes=classes,
    )


def test_many_values_are_estimated_within_the_time_given() -> None:
    """300 rows of 60 classes in one group, with twelve values: too many ways to count."""
    classes = np.repeat(np.arange(60), [4, 6] * 30)
    values = np.arange(300) % 12
    release = release_of(classes, np.zeros(300, dtype=np.int64), values)
    requirement = build([Distinct(4)], range(12), None, [25] * 12)
    found = credibility(release, requirement, [(value,) for value in range(12)], seed=2)
    assert (found.sampled, found.undecided) == (1, 0)
    assert set(found.kind.tolist()) == {1}
    # All values are alike.
    assert (np.abs(found.probability - 1 / 12) <= 5 * found.standard_error).all()
    assert (found.standard_error > 0).all() and (found.standard_error < 0.01).all()
    assert found.fraction(0, 0) is None
    late = credibility(release, requirement, [(0,)], seconds=1e-9)
    assert (late.sampled, late.undecided) == (0, 1)
    assert set(late.kind.tolist()) == {2}
    assert (late.high == 1).all() and (late.low == 0).all()
    assert (late.probability == late.high).all()


def test_a_class_too_small_by_itself_is_seen_before_anything_is_listed() -> None:
    """Also when the time is over: nothing is excluded, whatever the values."""
    values = np.arange(300) % 12
    classes = np.repeat(np.arange(60), [4, 6] * 30)
    release = release_of(classes, np.zeros(300, dtype=np.int64), values)
    asked = [Distinct(4), Rows(5)]
    found = credibility(release, build(asked, range(12), None, [25] * 12), [(0,)], seconds=1e-9)
    assert (found.nothing_excluded, found.undecided) == (1, 0)
    assert (found.probability == found.plain).all()


def test_what_hardly_ever_happens_is_undecided() -> None:
    """No deal lets the class violate, though it could: nothing is said."""
    values = np.concatenate([np.zeros(20, dtype=np.int64), np.arange(300) % 11 + 1])
    classes = np.concatenate([np.zeros(20, dtype=np.int64), np.ones(300, dtype=np.int64)])
    release = release_of(classes, np.zeros(320, dtype=np.int64), values)
    requirement = build([Distinct(3)], range(12), None, [1] * 12)
    found = credibility(release, requirement, [(0,)])
    assert found.undecided == 1
    assert found.low[0, 0] == 0 and found.high[0, 0] == 1
    assert found.high[1, 0] == pytest.approx(20 / 300)


def test_full_domain_in_floats_against_fractions() -> None:
    """Groups side by side that are large enough for floats, small enough for fractions on demand."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(2, 9, 240)
    group_of_class = np.repeat(np.arange(4), 60)
    classes = np.repeat(np.arange(240), sizes)
    groups = group_of_class[classes]
    values = (rng.random(groups.size) < 0.08).astype(np.int64)
    release = release_of(classes, groups, values)
    requirement = build([Share(((1,),), one_in=2)], range(2), None, [1, 1])
    found = credibility(release, requirement, [(1,)], recoding="full-domain")
    assert found.undecided == found.sampled == 0
    assert found.changed.any()
    for row in range(0, 240, 40):
        exact = found.fraction(row, 0)
        assert exact is not None
        assert found.low[row, 0] <= exact <= found.high[row, 0]
        assert found.probability[row, 0] == pytest.approx(float(exact), rel=1e-11)


def test_twenty_thousand_classes_do_not_take_long() -> None:
    """No limit on time here (benchmarks have them): only that equal groups are worked out once."""
    rng = np.random.default_rng(9)
    sizes = rng.choice([1, 2, 3], 30_000)
    group_of_class = np.repeat(np.arange(10_000), 3)
    classes = np.repeat(np.arange(30_000), sizes)
    groups = group_of_class[classes]
    values = (rng.random(groups.size) < 0.1).astype(np.int64)
    release = release_of(classes, groups, values)
    requirement = build([Share(((1,),), one_in=2)], range(2), None, [1, 1])
    begun = time.monotonic()
    found = credibility(release, requirement, [(1,)])
    assert time.monotonic() - begun < 60
    assert found.generalised == 10_000
    assert found._work is not None
    assert len(found._work.settled) < 100
    assert (found.probability * found.people[:, None]).sum() == pytest.approx(values.sum())
