"""OneAmong beside permanent values: honest draws never raise an alarm, and every planted mistake is found and named.

What a redraw ends in is worked out by following all that can happen from release to release; sets are drawn from a list
of all of them, as in test_one_among.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from profiles import seeds

from reissue.guarantees import OneAmong
from reissue.model.design import Design
from reissue.model.sets import PublishedSets, SetDesigns, Sets
from tests.oracle.test_one_among import EVEN, LABELS, Rng, Shares, check, drawn, plain, release, sampford, whole_series

Beside = Callable[[Rng, Shares, int, bool, int], Sequence[int]]
"""What stands beside K: generator, shares outside K, true value, whether it is in K, how many."""

BESIDE = "Beside values that are carried on"


def landed(permanent: Sequence[int], rate: float, steps: int) -> Shares:
    """The chance of each value after a redraw, for somebody who had no permanent value: all paths, step by step."""
    old, new = 1.0, dict.fromkeys(range(len(EVEN)), 0.0)
    for _ in range(steps):
        moving = old + sum(chance for value, chance in new.items() if value not in permanent)
        new = {
            value: chance * (1.0 if value in permanent else 1 - rate) + moving * rate * EVEN[value]
            for value, chance in new.items()
        }
        old *= 1 - rate
    return tuple(new.values())


def outside(law: Shares, kept: frozenset[int], m: int) -> tuple[frozenset[int], Shares]:
    """K with values that would be in more than every set, and the shares of the others."""
    while True:
        rest = [0.0 if value in kept else share for value, share in enumerate(law)]
        over = {value for value, share in enumerate(rest) if share * (m - len(kept)) > sum(rest) * (1 + 1e-12)}
        if not over:
            return kept, tuple(share / sum(rest) for share in rest)
        kept = kept | over


def honest(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    other = int(rng.choice(len(rest), p=rest)) if inside else value
    return (other,) if size == 1 else drawn(rng, rest, other, size)


@dataclass
class Carrying:
    """A series with permanent values, made as it should be but for what is planted."""

    seed: int
    people: int = 300
    m: int = 3
    permanent: tuple[int, ...] = (1,)
    rate: float = 0.5
    releases: int = 3
    absent: float = 0.3
    beside: Beside = honest
    gap: Callable[[int], int] = lambda steps: steps
    """How long an absence counts."""
    made: list[tuple[PublishedSets, Sets]] = field(default_factory=list)
    largest: int = 0
    """How many values were carried on at most."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        designs = SetDesigns(
            LABELS,
            (plain(EVEN, self.m),),
            (np.arange(6),),
            (1,),
            change={"kind": "renewal", "rate": self.rate},
        )
        value = rng.choice(6, self.people, p=EVEN)
        bell = np.zeros(self.people, dtype=np.bool_)
        last: dict[int, tuple[int, tuple[int, ...]]] = {}
        for number in range(1, self.releases + 1):
            if number > 1:
                rings = rng.random(self.people) < self.rate
                moves = rings & ~np.isin(value, self.permanent)
                value[moves] = rng.choice(6, int(moves.sum()), p=EVEN)
                bell |= rings
            present = np.flatnonzero(rng.random(self.people) >= self.absent)
            codes, fresh = [], []
            for person in present.tolist():
                mine = int(value[person])
                if person not in last:
                    shown, new = drawn(rng, EVEN, mine, self.m), True
                elif bell[person]:
                    shown, new = self._renewed(rng, mine, number - last[person][0], last[person][1]), True
                else:
                    shown, new = last[person][1], False
                last[person] = (number, shown)
                codes.append(shown)
                fresh.append(new)
            bell[present] = False
            self.made.append(release(number, present, codes, designs, value[present].copy(), fresh))

    def _renewed(self, rng: Rng, mine: int, steps: int, before: tuple[int, ...]) -> tuple[int, ...]:
        law = landed(self.permanent, self.rate, self.gap(steps))
        kept, rest = outside(law, frozenset(before) & frozenset(self.permanent), self.m)
        self.largest = max(self.largest, len(kept))
        size = self.m - len(kept)
        # What is planted is beside K alone: new sets without any are judged as those of newcomers.
        others = (self.beside if kept else honest)(rng, rest, mine, mine in kept, size) if size else ()
        return tuple(sorted([*kept, *others]))

    @property
    def promise(self) -> OneAmong:
        return OneAmong(self.m, change=self.rate, permanent=tuple(LABELS[value] for value in self.permanent))


def test_what_a_redraw_ends_in() -> None:
    assert landed((1,), 0.5, 1) == pytest.approx([0.5 * share for share in EVEN])
    assert sum(landed((), 0.5, 3)) == pytest.approx(1 - 0.5**3)
    # A permanent value: caught in the first step, or not, and in the second.
    assert landed((1,), 0.5, 2)[1] == pytest.approx(0.04 + 0.96 * 0.04)


@pytest.mark.parametrize(
    ("m", "permanent", "absent"),
    [(3, (1,), 0.3), (2, (3,), 0.3), (3, (1, 2), 0.5), (3, (0, 2, 5), 0.6), (2, (5,), 0.7)],
)
def test_honest_draws_never_raise_an_alarm(m: int, permanent: tuple[int, ...], absent: float) -> None:
    for seed in seeds(12, 300):
        series = Carrying(seed, people=120, m=m, permanent=permanent, absent=absent, releases=5)
        verdict = (whole_series if seed % 6 else check)(series.promise, series.made)
        assert verdict.holds, (seed, verdict.explanation)
    many = Carrying(0, people=12_000, m=m, permanent=permanent, absent=absent, releases=4)
    verdict = whole_series(many.promise, many.made)
    assert verdict.holds, verdict.explanation
    assert many.largest == min(m, len(permanent))


def uniform(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """Decoys by no shares at all."""
    others = [v for v, share in enumerate(rest) if share > 0 and v != value]
    if inside:
        return rng.choice(others, size, replace=False).tolist()
    return [value, *rng.choice(others, size - 1, replace=False).tolist()]


def uniform_choice(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """Whoever has a value of K gets another by no shares, and a set that is right for that one."""
    return honest(rng, rest, int(rng.choice(np.flatnonzero(rest))) if inside else value, False, size)


def the_likeliest(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """Whoever has a value of K gets the likeliest other."""
    return honest(rng, rest, int(np.argmax(rest)) if inside else value, False, size)


def never_the_rarest(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """Whoever has a value of K never gets the rarest other: a set with it tells that they have none."""
    rarest = min(share for share in rest if share > 0)
    while True:
        found = honest(rng, rest, value, inside, size)
        if not inside or all(rest[v] > rarest for v in found):
            return found


def near(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """Decoys next to the true value, which may be carried on."""
    order = sorted((v for v, share in enumerate(rest) if share > 0), key=lambda v: (abs(v - value), v))
    return order[:size]


def seeded(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """The same decoys for everybody with a value."""
    return honest(np.random.default_rng(value), rest, value, inside, size)


def given_a_decoy(rng: Rng, rest: Shares, value: int, inside: bool, size: int) -> Sequence[int]:
    """Whoever has none of K gets all by the shares beside the true value, without Sampford's conditioning."""
    if inside:
        return honest(rng, rest, value, inside, size)
    odds = np.array([0.0 if v == value else share for v, share in enumerate(rest)])
    return [value, *rng.choice(len(rest), size - 1, replace=False, p=odds / odds.sum()).tolist()]


@pytest.mark.parametrize(("m", "permanent"), [(3, (2,)), (3, (2, 3)), (2, (3,))])
@pytest.mark.parametrize("beside", [uniform, uniform_choice, the_likeliest, never_the_rarest, near, seeded])
def test_wrong_draws(beside: Beside, m: int, permanent: tuple[int, ...]) -> None:
    wrong(Carrying(0, people=5000, m=m, permanent=permanent, rate=0.8, releases=2, beside=beside, absent=0.1))


@pytest.mark.parametrize("permanent", [(2,), (2, 3)])
def test_draws_that_are_nearly_right(permanent: tuple[int, ...]) -> None:
    series: dict[str, Any] = {
        "seed": 0,
        "people": 60_000,
        "permanent": permanent,
        "rate": 0.8,
        "releases": 2,
        "absent": 0.1,
    }
    wrong(Carrying(**series, beside=given_a_decoy))
    # Also: that old sets have no permanent values makes some of them likelier to come again, and others less likely.
    fair = Carrying(**series)
    verdict = whole_series(fair.promise, fair.made)
    assert verdict.holds, verdict.explanation


def wrong(series: Carrying) -> None:
    verdict = check(series.promise, series.made)
    assert not verdict.holds
    assert verdict.explanation.startswith(f"Release 2: {BESIDE}")
    assert whole_series(series.promise, series.made[:1]).holds


def test_an_absence_that_is_forgotten() -> None:
    """After longer absences permanent values are likelier, beside others too."""
    series = Carrying(
        0, people=12_000, permanent=(1, 2), rate=0.6, releases=4, absent=0.6, gap=lambda steps: min(steps, 1)
    )
    verdict = check(series.promise, series.made)
    assert not verdict.holds
    assert BESIDE in verdict.explanation


def test_values_that_have_become_too_likely() -> None:
    """After a long absence a permanent value stands in every new set; one without it is told."""

    def forgotten(series: Carrying) -> str:
        return whole_series(series.promise, series.made).explanation

    series = Carrying(3, people=400, m=2, permanent=(5,), rate=0.9, releases=4, absent=0.6)
    assert "without a value that is carried on" not in forgotten(series)
    series = Carrying(3, people=400, m=2, permanent=(5,), rate=0.9, releases=4, absent=0.6, gap=lambda steps: 1)
    assert "without a value that is carried on" in forgotten(series)


def test_sets_given_nothing_have_the_probabilities_of_the_design() -> None:
    """A value by the shares, and a set given it: that is a set whatever the value is."""
    rest = outside(landed((1,), 0.5, 1), frozenset({1}), 4)[1]
    every = sampford(rest, 3)
    design = Design(
        3,
        np.array([share for share in rest if share > 0]),
        np.ones(5, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        np.zeros((1, 0), dtype=np.bool_),
        np.ones(1),
    )
    for value, chance in zip([0, 2, 3, 4, 5], design.inclusion.tolist(), strict=True):
        assert sum(each for chosen, each in every.items() if value in chosen) == pytest.approx(chance)
        assert sum(
            each * rest[other] / (3 * rest[other])
            for chosen, each in every.items()
            if value in chosen
            for other in chosen
        ) == pytest.approx(chance)
