"""Historical safety and restriction safety against brute force over all pairs of groups, with Python sets."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from profiles import seeds
from worlds import values_in, view

from reissue.guarantees import HistoricallySafe, RestrictionSafe, SeriesGuarantee, Verdict
from reissue.model.memory import Kept

Group = tuple[frozenset[int], tuple[str, ...]]
Series = list[list[Group]]


@dataclass
class Judged:
    """What brute force says of one group."""

    smallest: float
    """The smallest set in a correlation with an earlier group."""
    even: bool
    distinct: int
    kept: bool
    """Whether everybody had this signature before."""
    longest: int
    releases: set[int]
    """The earlier releases that show the smallest correlation."""


def brute(series: Series) -> list[list[Judged]]:
    judged, last, times = [], dict[int, frozenset[str]](), Counter[int]()
    for at, release in enumerate(series):
        here = []
        for people, shown in release:
            found = [
                (len(people - others), number)
                for number, earlier in enumerate(series[:at], start=1)
                for others, before in earlier
                if Counter(before) == Counter(shown) and people & others and people != others
            ]
            smallest = min((size for size, _ in found), default=math.inf)
            signature = frozenset(shown)
            real = [person for person in people if person >= 0]
            here.append(
                Judged(
                    smallest,
                    len(set(Counter(shown).values())) == 1,
                    len(signature),
                    all(last.get(person, signature) == signature for person in real),
                    max((times[person] + 1 for person in real), default=0),
                    {number for size, number in found if size == smallest},
                )
            )
            last |= dict.fromkeys(real, signature)
        times.update(person for people, _ in release for person in people)
        judged.append(here)
    return judged


def random_series(rng: random.Random, *, foreign: bool) -> Series:
    """People keep a signature and are grouped anew in each release; counterfeits fill up, and a few of them stay.

    Foreign ones have groups that are not balanced and people whose signature changes.
    """
    signatures = [("b", "d"), ("b", "d", "f"), ("a", "c", "e", "g")][rng.randrange(2) :]
    home = {person: rng.choice(signatures) for person in range(rng.randint(5, 9))}
    made: dict[int, tuple[str, ...]] = {}
    next_made = -1
    series: Series = []
    for _ in range(rng.randint(2, 5)):
        release: list[Group] = []
        living: dict[int, tuple[str, ...]] = {}
        for signature in signatures:
            here = [person for person in home if home[person] == signature and rng.random() < 0.75]
            here += [number for number, own in made.items() if own == signature and rng.random() < 0.7]
            rng.shuffle(here)
            while here:
                times = rng.choice((1, 1, 2))
                people, here = here[: times * len(signature)], here[times * len(signature) :]
                if len(people) <= (times - 1) * len(signature):
                    times = -(-len(people) // len(signature))
                while len(people) < times * len(signature):
                    people.append(next_made)
                    next_made -= 1
                shown = list(signature * times)
                if foreign and rng.random() < 0.1:
                    shown[0] = rng.choice("bdfz")
                living |= {person: signature for person in people if person < 0}
                release.append((frozenset(people), tuple(shown)))
        made = living
        if foreign and rng.random() < 0.3:
            home[rng.choice(list(home))] = rng.choice(signatures)
        rng.shuffle(release)
        series.append(release)
    return series


def follow(guarantee: SeriesGuarantee, series: Series, rng: random.Random) -> list[Verdict]:
    """Release by release, each in a view of its own, with what is remembered passed on as a ledger would."""
    verdicts, memory = [], dict[str, pl.DataFrame]()
    order = np.random.default_rng(len(series))
    for number, release in enumerate(series, start=1):
        more = tuple(rng.sample("0abcdefgz~", rng.randint(0, 4)))
        verdict, remembered = guarantee.follow(
            view([release], sorted({*values_in([release]), *more}), first=number, rng=order), memory
        )
        memory = {name: memory[name] if isinstance(table, Kept) else table for name, table in remembered.items()}
        verdicts.append(verdict)
    return verdicts


@pytest.mark.parametrize("seed", seeds(24, 500))
def test_historical_safety(seed: int) -> None:
    rng = random.Random(seed)
    series = random_series(rng, foreign=seed % 2 == 1)
    judged = brute(series)
    m = rng.randint(2, 4)
    guarantee = HistoricallySafe(m, rng.randint(1, m))

    def broken(group: Judged) -> bool:
        return group.smallest < guarantee.n or group.distinct < m or not group.even or not group.kept

    expected = [sum(map(broken, release)) for release in judged]
    checked = guarantee.check(view(series))
    groups = [group for release in judged for group in release]
    assert checked.violations == sum(expected)
    assert checked.holds is (sum(expected) == 0)
    assert checked.groups == len(groups)
    pool = [group for group in groups if broken(group)] or groups
    if groups:
        assert checked.worst == min(group.smallest for group in pool)
        assert checked.release is not None and checked.group is not None
        worst = judged[checked.release - 1][checked.group - 1]
        assert (worst.smallest, broken(worst)) == (checked.worst, bool(sum(expected)))
        if worst.smallest < guarantee.n:
            assert f"correlated with a group of release {min(worst.releases)}," in checked.explanation
    followed = follow(guarantee, series, rng)
    assert [verdict.violations for verdict in followed] == expected
    assert [verdict.holds for verdict in followed] == [not some for some in expected]
    for at in range(len(series)):
        # What the check says of the series up to a release, where all before it is as it should be.
        if series[at] and not sum(expected[:at]) and expected[at]:
            until = guarantee.check(view(series[: at + 1]))
            assert (until.worst, until.release, until.group) == (followed[at].worst, at + 1, followed[at].group)
            assert until.explanation.split("break it. ")[1] == followed[at].explanation.split("break it. ")[1]


def formula(p: float, lifespan: int, m: int, n: float) -> float:
    """Theorem 2, term by term; without correlations only compromised tuples rule anything out."""
    by_tuples = (1 - p) ** lifespan
    by_correlations = 1 if math.isinf(n) else (1 - (p - p / m) ** n) ** (lifespan * (m // int(n)))
    return float((1 - by_tuples * by_correlations) ** (m - 1))


@pytest.mark.parametrize("seed", seeds(24, 500))
def test_restriction_safety(seed: int) -> None:
    rng = random.Random(seed)
    series = random_series(rng, foreign=seed % 2 == 1)
    judged = brute(series)
    guarantee = RestrictionSafe(rng.choice((0.05, 0.2, 0.5, 1)), rng.choice((0.0, 0.1, 0.3)), rng.randint(2, 5))
    longest, smallest = Counter[int](), dict[int, float]()
    expected, worst = [], []
    for release in judged:
        for group in release:
            longest[group.distinct] = max(longest[group.distinct], group.longest)
            smallest[group.distinct] = min(smallest.get(group.distinct, math.inf), group.smallest)
        figures, bad = [], 0
        for group in release:
            weak = group.distinct >= 2 and group.even and group.kept
            figure = 1.0
            if weak:
                figure = formula(guarantee.p, longest[group.distinct], group.distinct, smallest[group.distinct])
                # Nobody's own figure is higher.
                if group.longest:
                    own = formula(guarantee.p, group.longest, group.distinct, group.smallest)
                    assert own <= figure + 1e-12
            broken = not weak or figure >= guarantee.h or group.longest > guarantee.L
            figures.append((broken, figure))
            bad += broken
        expected.append(bad)
        worst.append(max((figure for broken, figure in figures if broken or not bad), default=math.nan))
    checked = guarantee.check(view(series))
    assert checked.violations == sum(expected)
    assert checked.holds is (sum(expected) == 0)
    followed = follow(guarantee, series, rng)
    assert [verdict.violations for verdict in followed] == expected
    # Once it is broken it stays so: what is out stays out.
    for at, verdict in enumerate(followed):
        assert verdict.worst == pytest.approx(worst[at], nan_ok=True)
        assert verdict.holds is False or expected[at] == 0
        if not sum(expected[: at + 1]):
            assert verdict.holds
    if sum(expected):
        pool = [figure for figure, bad in zip(worst, expected, strict=True) if bad]
    else:
        pool = [figure for figure in worst if not math.isnan(figure)]
    assert checked.worst == pytest.approx(max(pool, default=math.nan), nan_ok=True)


def test_random_series_are_of_both_sorts() -> None:
    """The tests above mean something: there are safe series, unsafe ones, returns, counterfeits and large groups."""
    series = [random_series(random.Random(seed), foreign=seed % 2 == 1) for seed in range(120)]
    sizes = Counter(group.smallest for one in series for release in brute(one) for group in release)
    assert sizes[1] > 50 and sizes[2] > 20 and sizes[3] > 5 and sizes[math.inf] > 100
    safe = [HistoricallySafe(2, 2).check(view(one)).holds for one in series]
    assert 5 <= sum(safe) <= 110
    assert any(min(people, default=0) < 0 for one in series for release in one for people, _ in release)
