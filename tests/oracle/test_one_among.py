"""OneAmong: honest series never raise an alarm, and every planted mistake is found and named.

Sets are drawn here from a list of all sets with their probabilities, worked out from Sampford's formula alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds, sized

from reissue.errors import ParameterError
from reissue.guarantees import OneAmong, build
from reissue.guarantees.base import Verdict
from reissue.guarantees.series.set_draws import Drawn, unlikely
from reissue.model.design import Design
from reissue.model.published import Published
from reissue.model.sets import Bridged, PublishedSets, SetDesigns, Sets
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.joint_inclusion import JointInclusion
from reissue.reasoning.alternatives.tail_bounds import surprise, surprise_of_cells, surprise_of_fit

Rng = np.random.Generator
Shares = tuple[float, ...]

EVEN: Shares = (0.05, 0.08, 0.12, 0.2, 0.25, 0.3)
TILTED: Shares = (0.3, 0.25, 0.2, 0.12, 0.08, 0.05)
LABELS = ("asthma", "burn", "cold", "diabetes", "eczema", "flu")
M = 3


def sampford(shares: Sequence[float], size: int) -> dict[tuple[int, ...], float]:
    """Every set of so many values with its probability, by the formula."""
    total = sum(shares)
    pi = [size * share / total for share in shares]
    certain = [v for v, chance in enumerate(pi) if chance >= 1 - 1e-12]
    others = [v for v, share in enumerate(shares) if share > 0 and v not in certain]
    if size == len(certain):
        return {tuple(certain): 1.0}
    weights = {}
    for chosen in combinations(others, size - len(certain)):
        weight = math.prod(pi[v] / (1 - pi[v]) for v in chosen) * sum(1 - pi[v] for v in chosen)
        weights[tuple(sorted([*chosen, *certain]))] = weight
    whole = sum(weights.values())
    return {chosen: weight / whole for chosen, weight in weights.items()}


@cache
def table(shares: Shares, size: int, value: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The sets that somebody with the value can have, and the sums of their probabilities."""
    every = [(chosen, chance) for chosen, chance in sampford(shares, size).items() if value in chosen]
    chances = np.cumsum([chance for _, chance in every])
    return np.array([chosen for chosen, _ in every]), chances / chances[-1]


def drawn(rng: Rng, shares: Shares, value: int, size: int = M) -> tuple[int, ...]:
    """A set for somebody with the value."""
    sets, sums = table(shares, size, value)
    return tuple(sets[int(np.searchsorted(sums, rng.random(), side="right").clip(max=len(sums) - 1))].tolist())


def plain(shares: Sequence[float], m: int = M) -> Design:
    """A design in which every value takes one slot."""
    ones = np.ones(len(shares), dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    return Design(m, np.array(shares), ones, nothing, np.zeros((1, 0), dtype=np.bool_), np.ones(1))


def coin(value: int, steps: Sequence[tuple[float, Shares]]) -> float:
    """The chance of a new set for a value that stayed, by the formula with w_j."""
    kept, redrawn = 1.0, 0.0
    for at, (rate, shares) in enumerate(steps):
        kept *= 1 - rate
        redrawn += rate * math.prod(1 - later for later, _ in steps[at + 1 :]) * shares[value]
    return redrawn / (kept + redrawn)


def version(rng: Rng, value: int, steps: Sequence[tuple[float, Shares]]) -> int:
    """The step of the last redraw, given that there was one and the value came out."""
    odds = [
        rate * math.prod(1 - later for later, _ in steps[at + 1 :]) * shares[value]
        for at, (rate, shares) in enumerate(steps)
    ]
    return int(rng.choice(len(odds), p=np.array(odds) / sum(odds)))


Draw = Callable[[Rng, Shares, int, int], Sequence[int]]
"""A sampler: generator, shares, true value, person."""
Coin = Callable[[int, Sequence[tuple[float, Shares]], bool], float]
"""The chance of a new set: value, steps since the last one, whether the value changed."""


def honest_draw(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    return drawn(rng, shares, value)


def honest_coin(value: int, steps: Sequence[tuple[float, Shares]], changed: bool) -> float:
    return 1.0 if changed else coin(value, steps)


@dataclass
class Series:
    """A series of sets, made as it should be but for what is planted."""

    seed: int
    people: int = 300
    releases: int = 3
    rate: float | None = 0.5
    versions: Sequence[Shares] = (EVEN,)
    """The reference in force at each release; the last one stays."""
    absent: float = 0.2
    moving: float = 0.3
    """How many values really change; it need not be what is declared."""
    draw: Draw = honest_draw
    coin: Coin = honest_coin
    made: list[tuple[PublishedSets, Sets]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        order = list(dict.fromkeys(self.versions))
        value = rng.choice(len(EVEN), self.people, p=rng.dirichlet(np.full(len(EVEN), 3.0)))
        last: dict[int, tuple[int, int, tuple[int, ...], int]] = {}
        steps: list[tuple[float, Shares]] = []
        for number in range(1, self.releases + 1):
            shares = self.versions[min(number, len(self.versions)) - 1]
            steps.append((self.rate or 0.0 if number > 1 else 0.0, shares))
            if self.rate is not None and number > 1:
                moved = rng.random(self.people) < self.moving
                value[moved] = rng.choice(len(EVEN), int(moved.sum()))
            present = np.flatnonzero(rng.random(self.people) >= self.absent)
            codes, fresh, design = [], [], []
            for person in present.tolist():
                mine = int(value[person])
                if person not in last:
                    new, at = True, order.index(shares)
                else:
                    when, before, _, at = last[person]
                    since = steps[when:]
                    new = self.rate is not None and rng.random() < self.coin(mine, since, mine != before)
                    if new:
                        at = order.index(since[version(rng, mine, since)][1])
                shown = tuple(self.draw(rng, order[at], mine, person)) if new else last[person][2]
                last[person] = (number, mine, shown, at)
                codes.append(shown)
                fresh.append(new)
                design.append(at)
            now = order[: order.index(shares) + 1]
            designs = SetDesigns(
                LABELS,
                tuple(plain(one) for one in now),
                tuple(np.arange(len(EVEN)) for _ in now),
                tuple(range(1, len(now) + 1)),
                change={"kind": "static"} if self.rate is None else {"kind": "renewal", "rate": self.rate},
            )
            self.made.append(release(number, present, codes, designs, value[present], fresh, design))

    def promise(self) -> OneAmong:
        return OneAmong(M, change=self.rate)


def release(
    number: int,
    people: Sequence[int] | np.ndarray[Any, Any],
    codes: Sequence[Sequence[int]],
    designs: SetDesigns,
    own: Sequence[int] | np.ndarray[Any, Any],
    fresh: Sequence[bool] | bool = True,
    design: Sequence[int] | int = 0,
) -> tuple[PublishedSets, Sets]:
    """One release as an outsider and as the publisher sees it."""
    count = len(people)
    shown = np.array(codes, dtype=np.uint8).reshape(count, -1)
    which = np.broadcast_to(np.asarray(design, dtype=np.int64), (count,)).copy()
    drawn_now = np.broadcast_to(np.asarray(fresh, dtype=np.bool_), (count,)).copy()
    seen = PublishedSets(
        number, np.asarray(people, dtype=np.int64), shown, which, designs, np.arange(len(designs.labels))
    )
    return seen, Sets(shown, drawn_now, designs, which, np.asarray(own, dtype=np.int64))


def view(*releases: PublishedSets) -> Published:
    return Published(Bridged(releases), releases[-1].designs.labels, sets=releases)


def whole_series(promise: OneAmong, made: Sequence[tuple[PublishedSets, Sets]], *, private: bool = True) -> Verdict:
    secret = {seen.number: sets for seen, sets in made} if private else None
    return promise.check(view(*(seen for seen, _ in made)), secret)


def check(promise: OneAmong, made: Sequence[tuple[PublishedSets, Sets]], *, private: bool = True) -> Verdict:
    """The whole series; following it must find the same."""
    whole = whole_series(promise, made, private=private)
    state: Mapping[str, pl.DataFrame] = {}
    verdicts = []
    for seen, sets in made:
        verdict, remembered = promise.follow(view(seen), state, sets if private else None)
        state = {name: table for name, table in remembered.items() if isinstance(table, pl.DataFrame)}
        assert len(state) == len(remembered)
        verdicts.append(verdict)
    assert whole.holds == all(verdict.holds for verdict in verdicts)
    assert whole.violations == sum(verdict.violations for verdict in verdicts)
    assert whole.groups == sum(verdict.groups for verdict in verdicts)
    assert whole.group is None
    for verdict in verdicts:
        if not verdict.holds:
            assert verdict.explanation.split(" Draws are")[0].split(" Without")[0] in whole.explanation
    assert not any(label in whole.explanation for label in LABELS)
    return whole


def broken(series: Series, words: str) -> None:
    verdict = check(series.promise(), series.made)
    assert not verdict.holds
    assert words in verdict.explanation
    assert verdict.violations > 0


# Honest series


@pytest.mark.parametrize("rate", [None, 0.05, 0.5, 1.0])
def test_honest_series_never_raise_an_alarm(rate: float | None) -> None:
    for seed in seeds(40, 1000):
        series = Series(seed, rate=rate, people=80)
        verdict = (whole_series if seed % 8 else check)(series.promise(), series.made)
        assert verdict.holds, (seed, verdict.explanation)
        assert verdict.worst == pytest.approx(1 / 3)
        assert "1e-06" in verdict.explanation
    assert check(series.promise(), series.made, private=False).holds


def test_honest_series_with_versions_never_raise_an_alarm() -> None:
    for seed in seeds(40, 400):
        series = Series(seed, versions=(EVEN, EVEN, TILTED, TILTED), releases=5, absent=0.4, people=80)
        verdict = (whole_series if seed % 8 else check)(series.promise(), series.made)
        assert verdict.holds, (seed, verdict.explanation)


def test_many_people() -> None:
    series = Series(1, people=6000, releases=2, versions=(EVEN, TILTED))
    verdict = check(series.promise(), series.made)
    assert verdict.holds, verdict.explanation


def test_honest_slots_never_raise_an_alarm() -> None:
    design = design_of([0.4, 0.2, 0.15, 0.15, 0.1], 4)
    assert design.slots.max() > 1
    sets, chances = by_slots(design)
    for seed in seeds(30, 400):
        rng = np.random.default_rng(seed)
        verdict = whole_series(OneAmong(4, limit="3/4"), [slotted(rng, design, sets, chances, 200)])
        assert verdict.holds, (seed, verdict.explanation)
        assert verdict.worst == design.slots.max() / 4


def by_slots(design: Design) -> tuple[list[tuple[int, ...]], list[float]]:
    """Every set of a design with slots and its probability, from its definition."""
    sets, chances = [], []
    for row, weight in zip(design.joint, design.weights, strict=True):
        first = [int(v) for v in design.large[row] for _ in range(int(design.slots[v]))]
        rest = [float(design.shares[v]) if v in design.small else 0.0 for v in range(design.values)]
        for chosen, chance in sampford(rest, design.m - len(first)).items():
            sets.append(tuple(sorted([*first, *chosen])))
            chances.append(float(weight) * chance)
    return sets, chances


def slotted(
    rng: Rng, design: Design, sets: Sequence[tuple[int, ...]], chances: Sequence[float], people: int
) -> tuple[PublishedSets, Sets]:
    own = rng.choice(design.values, people)
    codes = []
    for value in own.tolist():
        odds = np.array([chance if value in chosen else 0.0 for chosen, chance in zip(sets, chances, strict=True)])
        codes.append(sets[int(rng.choice(len(sets), p=odds / odds.sum()))])
    designs = SetDesigns(LABELS[: design.values], (design,), (np.arange(design.values),), (1,))
    return release(1, range(people), codes, designs, own)


# Form


def one_release(seed: int = 0, people: int = 50) -> tuple[PublishedSets, Sets]:
    return Series(seed, people=people, releases=1, rate=None, absent=0.0).made[0]


def with_codes(made: tuple[PublishedSets, Sets], codes: np.ndarray[Any, Any]) -> tuple[PublishedSets, Sets]:
    return replace(made[0], codes=codes), replace(made[1], codes=codes)


def found(made: Sequence[tuple[PublishedSets, Sets]], promise: OneAmong | None = None, *, private: bool = True) -> str:
    verdict = check(promise or OneAmong(M), made, private=private)
    assert not verdict.holds
    return verdict.explanation


def test_form() -> None:
    made = one_release()
    codes = made[0].codes
    assert "50 sets with 2 slots instead of 3" in found([with_codes(made, codes[:, :2])], private=False)
    twice = codes.copy()
    twice[7] = [1, 1, 4]
    assert "1 set with a value in more or fewer slots" in found([with_codes(made, twice)], private=False)
    turned = codes.copy()
    turned[:3] = turned[:3, ::-1]
    assert "3 sets out of order" in found([with_codes(made, turned)], private=False)
    strange = codes.copy()
    strange[2, 2] = 9
    assert "1 set with values that their design does not have" in found([with_codes(made, strange)], private=False)
    everybody = replace(made[0], people=np.zeros(50, dtype=np.int64))
    assert "1 person is in more than one row" in found([(everybody, made[1])], private=False)
    assert "A design has sets of 3 slots" in found([made], OneAmong(4))


def test_slots_and_limits() -> None:
    design = design_of([0.4, 0.2, 0.15, 0.15, 0.1], 4, {1: 1, 2: 1, 3: 1, 4: 1})
    rng = np.random.default_rng(5)
    made = slotted(rng, design, *by_slots(design), 300)
    several = int(np.argmax(design.slots))
    assert "1 value takes more slots than the limit allows" in found([made], OneAmong(4, limit="1/4"))
    assert check(OneAmong(4, harmless=(LABELS[several],)), [made]).holds
    codes = made[0].codes.copy()
    row = int(np.flatnonzero((codes == several).any(axis=1))[0])
    others = sorted({0, 1, 2, 3, 4} - {several})
    codes[row] = sorted([several, *others[:3]])
    told = found([with_codes(made, codes)], OneAmong(4, limit="3/4"), private=False)
    assert "1 set with a value in more or fewer slots" in told


def test_combinations_of_frequent_values() -> None:
    # Every set has exactly one of the two frequent values.
    shares = np.array([4, 4, 1, 1, 1, 1]) / 12
    joint = np.array([[False, True], [True, False]])
    design = Design(3, shares, np.array([2, 2, 1, 1, 1, 1]), np.array([0, 1]), joint, np.array([0.5, 0.5]))
    made = slotted(np.random.default_rng(2), design, *by_slots(design), 400)
    promise = OneAmong(3, limit="2/3")
    assert check(promise, [made]).holds
    codes = made[0].codes.copy()
    codes[:2] = [[2, 3, 4], [3, 4, 5]]
    told = found([with_codes(made, codes)], promise, private=False)
    assert "2 sets with frequent values together that their design never has" in told


def test_truth() -> None:
    made = one_release()
    own = made[1].own.copy()
    outside = [next(v for v in range(6) if v not in row) for row in made[0].codes[:4].tolist()]
    own[:4] = outside
    assert "4 sets without the true value" in found([(made[0], replace(made[1], own=own))])
    assert check(OneAmong(M), [(made[0], replace(made[1], own=own))], private=False).holds


# The rule of change


def second(series: Series, **changes: Any) -> list[tuple[PublishedSets, Sets]]:
    """The series with something else in its second release."""
    seen, sets = series.made[1]
    own = {name: value for name, value in changes.items() if name != "codes"}
    made = (
        replace(seen, codes=changes.get("codes", seen.codes)),
        replace(sets, **{**own, "codes": changes.get("codes", sets.codes)}),
    )
    return [series.made[0], made, *series.made[2:]]


def test_static_sets_stay() -> None:
    series = Series(0, rate=None, releases=2, absent=0.1)
    codes = series.made[1][0].codes.copy()
    back = np.flatnonzero(~series.made[1][1].drawn)
    mine = int(series.made[1][1].own[back[0]])
    rng = np.random.default_rng(1)
    while True:
        other = drawn(rng, EVEN, mine)
        if other != tuple(codes[back[0]].tolist()):
            break
    codes[back[0]] = other
    told = found(second(series, codes=codes), private=False)
    assert "1 person has another set than before, and values are static" in told
    own = series.made[1][1].own.copy()
    own[back[1]] = next(v for v in series.made[1][0].codes[back[1]].tolist() if v != own[back[1]])
    assert "1 person has another value than before, and values are static" in found(second(series, own=own))


def test_a_set_that_is_not_kept() -> None:
    series = Series(3, people=100, releases=2)
    sets = series.made[1][1]
    back = np.isin(series.made[1][0].people, series.made[0][0].people)
    again = np.flatnonzero(back & sets.drawn)
    before = {int(p): tuple(c) for p, c in zip(series.made[0][0].people, series.made[0][0].codes.tolist(), strict=True)}
    people = series.made[1][0].people
    other = [at for at in again.tolist() if before[int(people[at])] != tuple(sets.codes[at].tolist())]
    fresh = sets.drawn.copy()
    fresh[other[0]] = False
    assert "1 person has another set than before, though none was drawn" in found(
        second(series, drawn=fresh), series.promise()
    )


def test_a_set_of_a_value_that_is_gone() -> None:
    series = Series(
        3, people=400, releases=2, coin=lambda value, steps, changed: 0.0 if changed else coin(value, steps)
    )
    verdict = check(series.promise(), series.made)
    assert "keep the set of a value that they no longer have" in verdict.explanation


def test_newcomers_are_drawn_from_the_version_in_force() -> None:
    series = Series(1, people=200, releases=2, versions=(EVEN, TILTED))
    seen, sets = series.made[1]
    new = np.flatnonzero(~np.isin(seen.people, series.made[0][0].people))
    design = sets.design.copy()
    design[new] = 0
    made = [series.made[0], (replace(seen, design=design), replace(sets, design=design))]
    assert f"{new.size} sets of newcomers from a version" in found(made, series.promise())
    fresh = sets.drawn.copy()
    fresh[new] = False
    assert f"{new.size} sets of newcomers that were not drawn" in found(second(series, drawn=fresh), series.promise())


NOT_RENEWED = "Sets are not renewed by the rule of change"


def test_never_renewed_unless_values_change() -> None:
    broken(Series(0, people=2000, releases=2, coin=lambda value, steps, changed: float(changed)), NOT_RENEWED)


def test_always_renewed() -> None:
    broken(Series(0, people=500, releases=2, coin=lambda value, steps, changed: 1.0), NOT_RENEWED)


def test_renewed_as_often_as_values_are_redrawn() -> None:
    broken(Series(0, people=500, releases=2, coin=lambda value, steps, changed: 1.0 if changed else 0.5), NOT_RENEWED)


def test_old_shares_in_the_coin() -> None:
    def old(value: int, steps: Sequence[tuple[float, Shares]], changed: bool) -> float:
        return 1.0 if changed else coin(value, [(rate, EVEN) for rate, _ in steps])

    broken(Series(0, people=4000, releases=2, versions=(EVEN, TILTED), coin=old), NOT_RENEWED)


def test_absence_forgotten_in_the_coin() -> None:
    def naive(value: int, steps: Sequence[tuple[float, Shares]], changed: bool) -> float:
        return 1.0 if changed else coin(value, steps[-1:])

    series = Series(0, people=6000, releases=4, rate=0.3, absent=0.6, moving=0.1, coin=naive)
    broken(series, NOT_RENEWED)


def test_few_people_are_found_out_over_many_releases() -> None:
    series = Series(
        0, people=60, releases=40, rate=0.4, absent=0.0, moving=0.0, coin=lambda value, steps, changed: float(changed)
    )
    verdict = check(series.promise(), series.made)
    assert "over all releases" in verdict.explanation
    honest = Series(0, people=60, releases=40, rate=0.4, absent=0.0, moving=0.0)
    assert check(honest.promise(), honest.made).holds


def test_new_sets_from_versions_that_are_gone() -> None:
    series = Series(0, people=600, releases=2, versions=(EVEN, TILTED))
    seen, sets = series.made[1]
    design = sets.design.copy()
    again = np.isin(seen.people, series.made[0][0].people) & sets.drawn
    design[again] = 0
    made = [series.made[0], (replace(seen, design=design), replace(sets, design=design))]
    assert "from a version of the reference that was not in force" in found(made, series.promise())


def test_the_same_seed_for_every_spell() -> None:
    def by_person(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
        return drawn(np.random.default_rng(person), shares, value)

    broken(Series(0, people=1500, releases=2, draw=by_person), "new sets for a value that stayed are the old ones")


def test_another_rule_than_promised() -> None:
    for rate in (0.5, None):
        series = Series(0, people=50, rate=rate, releases=1)
        assert "another rule of change than is promised" in found(series.made, OneAmong(M, change=0.4))


def test_a_rule_that_was_amended() -> None:
    """Each step has the rate that its release states; only the last release must state what is promised."""
    first, later = Series(4, people=200, releases=1).made[0], Series(4, people=200, releases=1, rate=None).made[0]
    made = [later, (replace(first[0], number=2), replace(first[1], drawn=np.zeros(first[1].own.size, dtype=np.bool_)))]
    verdict = whole_series(OneAmong(M, change=0.5), made)
    assert "another rule" not in verdict.explanation
    assert NOT_RENEWED in verdict.explanation


# Draws


def uniform(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    others = [v for v in range(len(shares)) if v != value]
    return sorted([value, *rng.choice(others, M - 1, replace=False).tolist()])


def without_rare(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    rare = int(np.argmin(shares))
    return drawn(rng, tuple(0.0 if v == rare and v != value else share for v, share in enumerate(shares)), value)


def always_the_same(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    return sorted([value, *[v for v in (5, 4, 3) if v != value][: M - 1]])


def seeded_by_value(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    return drawn(np.random.default_rng(value), shares, value)


def few_seeds(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    return drawn(np.random.default_rng(person % 20), shares, value)


def one_after_the_other(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    """Decoys by their shares, without Sampford's conditioning."""
    odds = np.array([0.0 if v == value else share for v, share in enumerate(shares)])
    return sorted([value, *rng.choice(len(shares), M - 1, replace=False, p=odds / odds.sum()).tolist()])


def near(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    first = min(max(value - int(rng.integers(0, M)), 0), len(shares) - M)
    return range(first, first + M)


def never_largest(rng: Rng, shares: Shares, value: int, person: int) -> Sequence[int]:
    for _ in range(20):
        shown = drawn(rng, shares, value)
        if shown[-1] != value:
            break
    return shown


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (uniform, "Values are not in sets as often"),
        (without_rare, "Values are not in sets as often"),
        (always_the_same, "Values are not in sets as often"),
        (seeded_by_value, "Values are not in sets as often"),
        (few_seeds, "Values are not in sets as often"),
        (one_after_the_other, "Values are not in sets as often"),
        (near, "Values are not in sets as often"),
        (never_largest, "Values are not in sets as often"),
    ],
)
def test_wrong_draws(draw: Draw, words: str) -> None:
    people = 20_000 if draw is one_after_the_other else 3000
    broken(Series(0, people=people, releases=1, rate=None, absent=0.0, draw=draw), words)


def many_values(values: int, m: int, people: int, seed: int = 0) -> tuple[Design, np.ndarray[Any, Any], Rng]:
    rng = np.random.default_rng(seed)
    shares = rng.random(values) + 0.2
    return plain(shares / shares.sum(), m), rng.choice(values, people), rng


def fair_sets(design: Design, own: np.ndarray[Any, Any], rng: Rng) -> np.ndarray[Any, Any]:
    """Sampford's own way: all with replacement until they are different, then kept if the true value is there.

    Everybody's true value is first with probability proportional to odds, or the value drawn by shares.
    """
    pi = design.inclusion
    odds = pi / (1 - pi)
    m, whole = design.m, odds.sum()
    sets = np.zeros((own.size, m), dtype=np.int64)
    todo = np.arange(own.size)
    while todo.size:
        value = own[todo]
        by_share = (1 - pi[value]) * (whole - odds[value])
        other = (m - 1) * (m - pi[value])
        all_by_odds = rng.random(todo.size) * (by_share + other) < by_share
        tried = rng.choice(design.values, (todo.size, m), p=odds / whole)
        tried[:, 0] = value
        one = rng.choice(design.values, todo.size, p=pi / m)
        tried[:, 1] = np.where(all_by_odds, tried[:, 1], one)
        # Where the true value itself comes again in either part, all of it is drawn again.
        ordered = np.sort(tried, axis=1)
        fine = (np.diff(ordered, axis=1) > 0).all(axis=1)
        sets[todo[fine]] = ordered[fine]
        todo = todo[~fine]
    return sets


@pytest.mark.parametrize(("values", "m", "people"), [(40, 6, 4000), (400, 8, 4000), (5000, 5, 4000)])
def test_large_domains(values: int, m: int, people: int) -> None:
    for seed in seeds(5, 50):
        design, own, rng = many_values(values, m, people, seed)
        sets = fair_sets(design, own, rng)
        assert not judged(design, sets, own)
    assert judged(design, np.sort(np.roll(sets, 1, axis=0), axis=1), own)  # somebody else's: the truth is not inside
    near_by = (own[:, None] + np.arange(m)) % values
    assert any("The order of values tells" in words for words in judged(design, np.sort(near_by, axis=1), own))
    pools = np.array([rng.permutation(values) for _ in range(values)]) if values <= 400 else None
    if pools is not None:
        same = np.array([[v, *[u for u in pools[v][:m].tolist() if u != v][: m - 1]] for v in own.tolist()])
        assert judged(design, np.sort(same, axis=1), own)


def test_large_domains_with_seeds_by_value() -> None:
    design, own, rng = many_values(5000, 5, 4000)
    sets = fair_sets(design, np.arange(5000), rng)[own]
    assert any("pairs of people with the same value" in words for words in judged(design, sets, own))


def judged(design: Design, sets: np.ndarray[Any, Any], own: np.ndarray[Any, Any]) -> list[str]:
    numbers = np.random.default_rng(9).integers(0, 2**63, design.values).astype(np.uint64)
    columns = np.ascontiguousarray(sets.T)
    part = Drawn(design, columns, own, numbers[sets].sum(axis=1), numbers, np.arange(design.values))
    return unlikely([part], 1e-6)


# Permanent values


def permanent_series(seed: int, people: int, *, forget: bool = False) -> list[tuple[PublishedSets, Sets]]:
    """Two releases; redraws leave the permanent value 1 as it is, and sets carry it on."""
    rng, rate, permanent = np.random.default_rng(seed), 0.5, 1
    own = rng.choice(6, people, p=EVEN)
    designs = SetDesigns(LABELS, (plain(EVEN),), (np.arange(6),), (1,), change={"kind": "renewal", "rate": rate})
    first = [drawn(rng, EVEN, v) for v in own.tolist()]
    made = [release(1, range(people), first, designs, own)]
    now, fresh, codes = own.copy(), [], []
    for person, before in enumerate(first):
        bell = rng.random() < rate
        if bell and own[person] != permanent:
            now[person] = rng.choice(6, p=EVEN)
        value = int(now[person])
        fresh.append(bool(bell))
        if not bell:
            codes.append(before)
        elif permanent in before and not forget:
            rest = tuple(0.0 if v == permanent else share for v, share in enumerate(EVEN))
            other = value if value != permanent else int(rng.choice(6, p=np.array(rest) / sum(rest)))
            codes.append(tuple(sorted([permanent, *drawn(rng, rest, other, M - 1)])))
        else:
            codes.append(drawn(rng, EVEN, value))
    return [*made, release(2, range(people), codes, designs, now, fresh)]


def test_permanent_values_are_carried_on() -> None:
    promise = OneAmong(M, change=0.5, permanent=("burn",))
    for seed in seeds(30, 400):
        verdict = whole_series(promise, permanent_series(seed, 100))
        assert verdict.holds, (seed, verdict.explanation)
    assert check(promise, permanent_series(0, 5000)).holds
    for private in (True, False):
        told = found(permanent_series(1, 300, forget=True), promise, private=private)
        assert "without a permanent value that the last one had" in told
    # Somebody with a permanent value hears the bell as often as all others, which is more than the coin says.
    assert NOT_RENEWED in found(permanent_series(0, 5000), OneAmong(M, change=0.5))


# Linked lives

CHAIN = {label: {label: 0.5, LABELS[(at + 1) % 6]: 0.5} for at, label in enumerate(LABELS)}


def lives(seed: int, people: int = 100, releases: int = 3) -> list[tuple[PublishedSets, Sets]]:
    """Every life stays where it is, or all of them go one further: different values stay different."""
    rng = np.random.default_rng(seed)
    shares = (1 / 6,) * 6
    designs = SetDesigns(
        LABELS, (plain(shares),), (np.arange(6),), (1,), change={"kind": "transitions", "table": CHAIN}, linked=True
    )
    own = rng.choice(6, people)
    codes = np.array([drawn(rng, shares, v) for v in own.tolist()])
    made = [release(1, range(people), codes.tolist(), designs, own)]
    for number in range(2, releases + 1):
        moves = rng.random(people) < 0.5
        own, codes = np.where(moves, (own + 1) % 6, own), np.where(moves[:, None], (codes + 1) % 6, codes)
        there = np.flatnonzero(rng.random(people) < 0.7)
        made.append(release(number, there, codes[there].tolist(), designs, own[there], False))
    return made


def test_linked_lives() -> None:
    promise = OneAmong(M, change=CHAIN)
    for seed in seeds(20, 200):
        made = lives(seed)
        verdict = check(promise, made)
        assert verdict.holds, verdict.explanation
        assert check(promise, made, private=False).holds
    seen, sets = made[1]
    codes = seen.codes.copy()
    before = dict(zip(made[0][0].people.tolist(), made[0][0].codes.tolist(), strict=True))
    start = before[int(seen.people[0])]
    codes[0] = [(v + 3) % 6 for v in start]
    assert "1 person has lives that moved where the chain does not lead" in found(
        [made[0], (replace(seen, codes=codes), sets)], promise
    )
    fresh = sets.drawn.copy()
    fresh[:5] = True
    assert "5 people have new lives, though the chain leads" in found(
        [made[0], (seen, replace(sets, drawn=fresh))], promise
    )
    own = sets.own.copy()
    own[1] = next(v for v in seen.codes[1].tolist() if v != own[1])
    assert "1 person has a true value in another life than before" in found(
        [made[0], (seen, replace(sets, own=own))], promise
    )
    unlinked = replace(made[0][0], designs=replace(made[0][0].designs, linked=False))
    assert "sets are not linked lives" in found([(unlinked, made[0][1])], promise)


def test_lives_at_one_value() -> None:
    """A value with two slots has both at first, and at most two lives later; three are one too many."""
    chain = {label: dict.fromkeys(LABELS, 1 / 6) for label in LABELS}
    shares = (0.4, *[0.12] * 5)
    design = design_of(np.array(shares), 4, {0: 2})
    designs = SetDesigns(
        LABELS, (design,), (np.arange(6),), (1,), change={"kind": "transitions", "table": chain}, linked=True
    )
    promise = OneAmong(4, limit="1/2", change=chain)

    def made(first: list[int], then: list[int], own: int) -> list[tuple[PublishedSets, Sets]]:
        return [release(1, [7], [first], designs, [first[0]]), release(2, [7], [then], designs, [own], False)]

    for then in ([0, 3, 0, 2], [1, 0, 2, 4], [1, 2, 3, 4]):
        assert check(promise, made([0, 1, 2, 0], then, then[0])).holds
        assert check(promise, made([0, 1, 2, 0], then, then[0]), private=False).holds
    for then in ([0, 0, 0, 2], [1, 1, 2, 4]):
        for private in (True, False):
            told = found(made([0, 1, 2, 0], then, then[0]), promise, private=private)
            assert "1 set with more lives at a value than there is room for" in told
    assert "more or fewer slots" in found(made([0, 1, 2, 3], [0, 1, 2, 3], 0), promise)


# Versions with other labels


def test_labels_of_another_version() -> None:
    """The same sets with one label more, so that codes are others."""
    series = Series(0, people=300, releases=2, rate=0.5)
    labels = ("acne", *LABELS)
    seen, sets = series.made[1]
    old = series.made[0][0].designs
    other = (0.1, *(0.9 * share for share in EVEN))
    designs = SetDesigns(
        labels, (old.designs[0], plain(other)), (np.arange(1, 7), np.arange(7)), (1, 2), change=old.change
    )
    moved = (seen.codes + 1).astype(np.uint8)
    kept = np.flatnonzero(~sets.drawn)
    made = [
        series.made[0],
        release(2, seen.people[kept], moved[kept].tolist(), designs, sets.own[kept] + 1, False, 0),
    ]
    verdict = check(series.promise(), made)
    assert "another set than before" not in verdict.explanation
    assert "no longer have" not in verdict.explanation
    moved[kept[0]] = np.sort(np.roll(np.arange(1, 7), 1)[:3]) if tuple(moved[kept[0]]) != (1, 2, 6) else (2, 3, 4)
    made[1] = release(2, seen.people[kept], moved[kept].tolist(), designs, sets.own[kept] + 1, False, 0)
    assert "another set than before" in check(series.promise(), made).explanation


def test_codes_of_the_view_need_not_be_those_of_the_design() -> None:
    seen, sets = one_release()
    turned = np.array([5, 4, 3, 2, 1, 0])
    other = replace(seen, codes=turned[seen.codes].astype(np.uint8), values=turned)
    assert check(OneAmong(M), [(other, sets)]).holds


# What it says


def test_parameters() -> None:
    promise = build("one-among", m=4, limit="1/2", harmless=["other"], change=0.1, permanent=["HIV"], epsilon=0.1)
    assert isinstance(promise, OneAmong)
    assert build(promise.name, **promise.parameters) == promise
    assert hash(promise) == hash(build(promise.name, **promise.parameters))
    assert promise.bounds.value == Fraction(1, 2)
    assert OneAmong(4).bounds.value == Fraction(1, 4)
    assert OneAmong(4).parameters == {"m": 4}
    assert "per time" in promise.title
    assert "HIV" not in promise.title
    # A value with k of m slots has k e^epsilon / (k e^epsilon + m - k) against somebody who knows everybody else.
    assert f"{math.exp(0.1) / (math.exp(0.1) + 3):.3g}" in OneAmong(4, epsilon=0.1).title
    assert f"{2 * math.exp(0.1) / (2 * math.exp(0.1) + 2):.3g}" in promise.title
    table = OneAmong(3, change=CHAIN)
    assert build(table.name, **table.parameters) == table
    assert isinstance(hash(table), int)
    for wrong in ({"m": 1}, {"m": 4, "limit": "1/5"}, {"m": 4, "harmless": "flu"}, {"m": 4, "epsilon": 0}):
        with pytest.raises(ParameterError):
            build("one-among", **wrong)


def test_what_is_out_stays_out() -> None:
    seen, sets = one_release()
    _, state = OneAmong(M, limit="2/3").follow(view(seen), {}, sets)
    kept = {name: table for name, table in state.items() if isinstance(table, pl.DataFrame)}
    assert OneAmong(M, limit="2/3").obstacle(kept) is None
    assert "is less than that of an earlier release" in (OneAmong(M).obstacle(kept) or "")
    assert "m = 4 is not the m = 3" in (OneAmong(4, limit="2/3").obstacle(kept) or "")
    assert "nobody has checked" in (OneAmong(M).obstacle({}) or "")
    with pytest.raises(ParameterError, match="cannot follow"):
        OneAmong(M).follow(view(seen), kept, sets)
    with pytest.raises(ParameterError, match="sets of the release"):
        OneAmong(M).follow(view(seen), {}, sets.rows(np.arange(3)))
    with pytest.raises(ParameterError, match="releases with a set"):
        OneAmong(M).check(Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])]]))


# The mathematics behind it


def test_joint_inclusion_against_all_sets() -> None:
    compared = 0
    rng = np.random.default_rng(4)
    while compared < sized(60, 600):
        values = int(rng.integers(3, 8))
        m = int(rng.integers(2, values))
        shares = rng.dirichlet(np.full(values, 4.0))
        if m * shares.max() >= 0.999:
            continue
        design = plain(shares, m) if compared % 2 else design_of(shares, m)
        pairs = np.zeros((values, values))
        sets, chances = by_slots(design)
        for chosen, chance in zip(sets, chances, strict=True):
            for one in set(chosen):
                for other in set(chosen) - {one}:
                    pairs[one, other] += chance
        weights = rng.random(values)
        joint = JointInclusion(design)
        assert np.abs(joint.matrix() - pairs).max() < 1e-12
        assert np.abs(joint.totals(weights) - pairs @ weights).max() < 1e-12
        assert np.abs(joint.below(weights) - np.tril(pairs, -1) @ weights).max() < 1e-12
        compared += 1


def two_together(design: Design, *pairs: tuple[int, int]) -> list[float]:
    """The probability of both, where every value takes one slot: sums over sets, added up value by value."""
    pi = design.inclusion.astype(np.longdouble)
    odds = pi / (1 - pi)

    def sums(size: int, *without: int) -> np.ndarray[Any, Any]:
        found = np.zeros((size + 1, 2), dtype=np.longdouble)
        found[0, 0] = 1
        for value in range(design.values):
            if value not in without:
                found[1:, 1] += odds[value] * (found[:-1, 1] + (1 - pi[value]) * found[:-1, 0])
                found[1:, 0] += odds[value] * found[:-1, 0]
        return found

    whole, chances = sums(design.m)[design.m, 1], []
    for one, other in pairs:
        ways, weight = sums(design.m - 2, one, other)[design.m - 2]
        chances.append(float(odds[one] * odds[other] * ((2 - pi[one] - pi[other]) * ways + weight) / whole))
    return chances


@pytest.mark.parametrize("near", [0.9, 0.999999])
def test_joint_inclusion_of_large_sets(near: float) -> None:
    """Many frequent values, some of them in nearly every set."""
    m = 120
    shares = np.concatenate([np.full(9, near), np.linspace(0.3, 0.9, 90), np.linspace(0.05, 0.3, 200)])
    rest = (m - shares.sum()) / 400
    design = plain(np.concatenate([shares, np.full(400, rest)]) / m, m)
    pairs = [(0, 1), (3, 40), (3, 98), (50, 51), (20, 200), (98, 99), (150, 250), (298, 299), (400, 500), (2, 698)]
    joint = JointInclusion(design)
    matrix = joint.matrix()
    assert [matrix[pair] for pair in pairs] == pytest.approx(two_together(design, *pairs), rel=1e-12)
    assert np.abs(matrix.sum(axis=1) - (m - 1) * design.inclusion).max() < 1e-10
    weights = np.random.default_rng(3).random(design.values)
    assert joint.totals(weights) == pytest.approx(matrix @ weights, rel=1e-12)
    assert joint.below(weights) == pytest.approx(np.tril(matrix, -1) @ weights, rel=1e-11, abs=1e-13)


def test_bounds_are_above_exact_tails() -> None:
    rng = np.random.default_rng(0)
    for _ in range(sized(50, 500)):
        chances = rng.random(int(rng.integers(1, 12)))
        law = np.ones(1)
        for chance in chances:
            law = np.convolve(law, [1 - chance, chance])
        mean = chances.sum()
        for seen in range(law.size):
            tail = law[seen:].sum() if seen >= mean else law[: seen + 1].sum()
            assert tail <= math.exp(-float(surprise(seen, chances.size, mean))) * (1 + 1e-9)


def test_bounds_of_fit_are_above_exact_tails() -> None:
    chances, n = np.array([0.5, 0.3, 0.2]), 40
    outcomes = []
    for a in range(n + 1):
        for b in range(n + 1 - a):
            counts = np.array([a, b, n - a - b])
            ways = math.lgamma(n + 1) - sum(math.lgamma(c + 1) for c in counts.tolist())
            far, freedom = surprise_of_cells(counts, chances)
            assert freedom == 2
            outcomes.append((far, math.exp(ways + float(counts @ np.log(chances)))))
    outcomes.sort(reverse=True)
    tail = 0.0
    for far, chance in outcomes:
        tail += chance
        assert tail <= math.exp(-surprise_of_fit(far, 2)) * (1 + 1e-9)
