"""OneAmong from one set of somebody to the next: what they have in common is what chance gives, no more and no less."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds

from reissue.guarantees.series.last_sets import REMEMBERED, LastSets
from reissue.guarantees.series.set_draws import Drawn
from reissue.guarantees.series.set_spells import dependent, former, in_common
from reissue.reasoning.alternatives.joint_inclusion import JointInclusion
from tests.oracle.test_carried_draws import Carrying
from tests.oracle.test_one_among import (
    EVEN,
    TILTED,
    M,
    Rng,
    Series,
    Shares,
    check,
    drawn,
    fair_sets,
    honest_draw,
    many_values,
    plain,
    sampford,
    view,
    whole_series,
)

DEPEND = "New sets depend on those before"
FORMER = "New sets depend on values before"


# Expectations, against all sets


def one_part(shares: Shares, value: int, m: int = M) -> Drawn:
    """A single person's set, of a design with as many labels as shares."""
    numbers = np.arange(len(shares), dtype=np.uint64)
    sets = np.array([drawn(np.random.default_rng(0), shares, value, m)])
    return Drawn(plain(shares, m), sets.T.copy(), np.array([value]), np.zeros(1, np.uint64), numbers, np.arange(6))


def test_what_is_expected_against_all_sets() -> None:
    everything = sampford(EVEN, M)
    only = np.zeros(1, dtype=np.int64)
    for value, old in product(range(6), everything):
        chance = {chosen: each for chosen, each in everything.items() if value in chosen}
        others = set(old) - {value}
        mean = sum(each * len(others & set(chosen)) for chosen, each in chance.items()) / sum(chance.values())
        found = in_common(one_part(EVEN, value), only, np.array([old]).T, np.array([True]))
        assert found.expected * found.room == pytest.approx(mean)
        shown = set(drawn(np.random.default_rng(0), EVEN, value))
        assert found.seen * found.room == pytest.approx(len(others & shown))
        for before in others:
            mean = sum(each for chosen, each in chance.items() if before in chosen) / sum(chance.values())
            told = former(one_part(EVEN, value), only, np.array([before]))
            assert told.expected == pytest.approx(mean)
            assert told.seen.tolist() == [before in shown]


def test_values_in_several_slots_count_once() -> None:
    part = one_part(EVEN, 0)
    once = in_common(part, np.zeros(1, dtype=np.int64), np.array([[1], [3], [3]]), np.array([True]))
    joint = JointInclusion(part.design).matrix()[0] / part.design.inclusion[0]
    assert once.expected * once.room == pytest.approx(joint[1] + joint[3])


def test_pairs_one_by_one() -> None:
    for values, m in ((40, 6), (60, 30)):  # with and without values that are in most sets
        design, _, rng = many_values(values, m, 10)
        joint = JointInclusion(design)
        one, other = np.array([pair for pair in product(range(values), repeat=2) if pair[0] != pair[1]]).T
        order = rng.permutation(one.size)
        assert joint.of(one[order], other[order]) == pytest.approx(joint.matrix()[one[order], other[order]], abs=1e-14)


# Planted mistakes

New = Callable[[Rng, Shares, int, int, Sequence[int], int], Sequence[int]]
"""A later set: generator, shares, true value, person, the old set, the value before."""


class Spells:
    """A sampler that knows everybody's last set and value."""

    def __init__(self, new: New, first: Callable[[Rng, Shares, int, int], Sequence[int]] = honest_draw) -> None:
        self.new, self.first = new, first
        self.last: dict[int, tuple[Sequence[int], int]] = {}

    def __call__(self, rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
        if person in self.last:
            shown = self.new(rng, shares, value, person, *self.last[person])
        else:
            shown = self.first(rng, shares, value, person)
        self.last[person] = shown, value
        return shown


def told(series: Series) -> str:
    verdict = check(series.promise(), series.made)
    assert not verdict.holds
    return verdict.explanation


def old_decoys(rng: Rng, shares: Shares, value: int, person: int, old: Sequence[int], before: int) -> Sequence[int]:
    """The others of the old set."""
    others = [v for v in old if v != value]
    return sorted([value, *rng.permutation(others)[: M - 1].tolist()])


def sometimes_old(rng: Rng, shares: Shares, value: int, person: int, old: Sequence[int], before: int) -> Sequence[int]:
    return old_decoys(rng, shares, value, person, old, before) if rng.random() < 0.3 else drawn(rng, shares, value)


def other_decoys(rng: Rng, shares: Shares, value: int, person: int, old: Sequence[int], before: int) -> Sequence[int]:
    """Of two sets the one that has less in common with the old one."""
    return min((drawn(rng, shares, value) for _ in range(2)), key=lambda shown: len(set(shown) & set(old)))


def old_for_a_value_that_stayed(
    rng: Rng, shares: Shares, value: int, person: int, old: Sequence[int], before: int
) -> Sequence[int]:
    """One of the old decoys stays with a value that did; the other is drawn."""
    kept = next(v for v in old if v != value)
    while value == before and kept not in (shown := drawn(rng, shares, value)):
        pass
    return shown if value == before else drawn(rng, shares, value)


@pytest.mark.parametrize("new", [old_decoys, sometimes_old, other_decoys])
def test_decoys_that_depend_on_the_old_ones(new: New) -> None:
    assert DEPEND in told(Series(0, people=3000, releases=2, moving=0.5, draw=Spells(new)))


def test_decoys_that_depend_on_the_old_ones_of_a_value_that_stayed() -> None:
    words = told(Series(0, people=8000, releases=2, moving=0.1, draw=Spells(old_for_a_value_that_stayed)))
    assert DEPEND in words


def test_the_same_words_in_every_spell() -> None:
    """Every set by itself is as it should be, and no value that stayed has its old set: only two together tell."""

    def by_person(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
        return drawn(np.random.default_rng(person), shares, value)

    def again(rng: Rng, shares: Shares, value: int, person: int, old: Sequence[int], before: int) -> Sequence[int]:
        return drawn(rng, shares, value) if value == before else by_person(rng, shares, value, person)

    words = told(Series(0, people=3000, releases=2, moving=0.5, draw=Spells(again, by_person)))
    assert words.startswith(f"Release 2: {DEPEND}")


@pytest.mark.parametrize("always", [True, False])
def test_the_value_that_changed(always: bool) -> None:
    """It stays in the set as another value; or it never does."""

    def new(rng: Rng, shares: Shares, value: int, person: int, old: Sequence[int], before: int) -> Sequence[int]:
        while (before in (shown := drawn(rng, shares, value))) is not always and value != before:
            pass
        return shown

    assert FORMER in told(Series(0, people=3000, releases=2, moving=0.5, draw=Spells(new)))


def test_beside_permanent_values() -> None:
    """Old decoys beside a value that is carried on, with two slots left and with one."""
    for m in (3, 2):
        series = Reusing(0, people=6000, m=m, permanent=(3,), rate=0.8, releases=2, absent=0.1)
        verdict = check(series.promise, series.made)
        assert DEPEND in verdict.explanation
        fair = Carrying(0, people=6000, m=m, permanent=(3,), rate=0.8, releases=2, absent=0.1)
        assert whole_series(fair.promise, fair.made).holds


class Reusing(Carrying):
    """Beside a true value that is carried on the others stay as they are, for one in three."""

    def _renewed(self, rng: Rng, mine: int, steps: int, before: tuple[int, ...]) -> tuple[int, ...]:
        if mine in self.permanent and mine in before and rng.random() < 1 / 3:
            return before
        return super()._renewed(rng, mine, steps, before)


def test_many_values() -> None:
    """A table of pairs is never made, and frequent values do not matter."""
    for seed in seeds(3, 40):
        design, before, rng = many_values(3000, 8, 4000, seed)
        old, own = fair_sets(design, before, rng), rng.choice(3000, 4000)
        assert not compared(design, fair_sets(design, own, rng), own, old)
    again = fair_sets(design, own, rng)
    mine = np.flatnonzero(~(again == old[:, :1]).any(axis=1) & (old[:, 0] != own))[:300]
    for row in mine.tolist():  # one old decoy in one of thirteen sets
        other = next(at for at in range(8) if again[row, at] != own[row])
        again[row, other] = old[row, 0]
    assert any(DEPEND in words for words in compared(design, again, own, old))


def compared(design: Any, sets: Any, own: Any, old: Any) -> list[str]:
    places, marks = np.arange(design.values), np.zeros(own.size, dtype=np.uint64)
    part = Drawn(design, np.ascontiguousarray(sets.T), own, marks, places.astype(np.uint64), places)
    spell = in_common(part, np.arange(own.size), np.ascontiguousarray(old.T), np.zeros(own.size, dtype=np.bool_))
    return dependent([spell], [], 1e-6)


# What is remembered


def test_sets_of_some_people_are_remembered() -> None:
    series = Series(0, people=300, releases=2)
    _, state = series.promise().follow(view(series.made[0][0]), {}, series.made[0][1])
    kept = LastSets.read({name: table for name, table in state.items() if isinstance(table, pl.DataFrame)})
    assert kept.slots is None
    shown = series.made[0][0]
    rows = kept.rows_of(shown.people)
    mine, sets = kept.old_sets(rows)
    assert mine.tolist() == list(range(shown.people.size))
    assert (shown.codes == sets.T).all()
    assert REMEMBERED // M > 300
    # Nothing of it in a series whose values do not change: sets are kept there, and marks say whether.
    fixed = Series(0, people=300, releases=1, rate=None)
    _, state = fixed.promise().follow(view(fixed.made[0][0]), {}, fixed.made[0][1])
    assert "recent" not in state


def test_no_more_sets_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.guarantees.series.last_sets.REMEMBERED", 60)
    fair = Series(0, people=300, releases=4, versions=(EVEN, EVEN, TILTED))
    assert check(fair.promise(), fair.made).holds
    _, state = fair.promise().follow(view(fair.made[0][0]), {}, fair.made[0][1])
    table = state["recent"]
    assert isinstance(table, pl.DataFrame)
    assert table.height == 20
    rows = table["row"].to_numpy()
    assert rows.max() > 200  # from all parts of the release
