"""LScarce: brute force over all worlds and all that somebody may know, and what it says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np
import polars as pl
import pytest
from role_formations import Group, follow, view

from reissue.errors import ParameterError
from reissue.guarantees.series.l_scarcity import LScarce
from reissue.model.published import Published

Bools = np.ndarray[Any, np.dtype[np.bool_]]


def brute_risk(published: Published, value: str, permanent: bool, known: int) -> Fraction:
    """The largest risk over all worlds, all ways to know so many people, and all participation they may have."""
    releases = published.releases
    people = sorted({person for release in releases for person in release.members.tolist()})
    code = published.values.index(value)
    options = []
    for release in releases:
        choices = []
        for group in range(release.group_count):
            members = release.members[release.member_starts[group] : release.member_starts[group + 1]].tolist()
            some = slice(int(release.value_starts[group]), int(release.value_starts[group + 1]))
            shown = dict(zip(release.values[some].tolist(), release.counts[some].tolist(), strict=True))
            choices.append(list(combinations(members, shown.get(code, 0))))
        options.append([set().union(*choice) for choice in product(*choices)])
    worlds = np.array([[[who in part for part in world] for who in people] for world in product(*options)])
    registered = [[who in release.members for release in releases] for who in people]
    fits: list[list[Bools]] = []
    for at in range(len(people)):
        mine: list[Bools] = []
        for pattern in product(*((False, True) if there else (False,) for there in registered[at])):
            holds = np.logical_not(worlds[:, at, ~np.array(pattern)].any(axis=1))
            if permanent:
                has = worlds[:, at, np.array(pattern)].astype(np.int8)
                holds &= (np.diff(has, axis=1) >= 0).all(axis=1)
            mine.append(holds)
        fits.append(mine)
    worst = Fraction(0)
    for adversary in combinations(range(len(people)), known):
        for masks in product(*(fits[at] for at in adversary)):
            kept = np.logical_and.reduce([np.ones(len(worlds), dtype=np.bool_), *masks])
            if kept.any():
                often = worlds[kept].sum(axis=0).max()
                worst = max(worst, Fraction(int(often), int(kept.sum())))
    return worst


def random_view(rng: np.random.Generator, people: int, releases: int, room: int) -> Published:
    made = []
    for _ in range(releases):
        order = rng.permutation(people).tolist()
        cut = int(rng.integers(0, people)) if rng.random() < 0.5 else 0
        parts = [part for part in (order[:cut], order[cut:]) if part]
        made.append([(part, {"A": min(int(rng.integers(0, room + 1)), len(part))}) for part in parts])
    return view(*made)


@pytest.mark.parametrize(("known", "people"), [(0, 6), (1, 7), (2, 6)])
def test_scarcity_bounds_the_risk_of_every_adversary(known: int, people: int) -> None:
    rng = np.random.default_rng(known)
    kept = broken = 0
    for _ in range(40 if known < 2 else 24):
        published = random_view(rng, people, int(rng.integers(1, 4)) if known < 2 else 2, 2 if known < 2 else 1)
        for permanent in (False, True):
            holds = LScarce(2, known, ("A",) if permanent else ()).check(published).holds
            if not holds and (broken > 3 or known == 2):
                broken += 1
                continue
            risk = brute_risk(published, "A", permanent, known)
            if holds:
                kept += 1
                assert risk <= Fraction(1, 2)
            else:
                broken += 1
    assert kept > 5
    assert broken > 5


def test_what_one_known_person_adds() -> None:
    """Two of five have the value in two releases; one of them is known to be in both.

    The odds are C(4, 1) to C(4, 2), 2/3: to begin with the second release, the first or never as 2/3 to 4/9 to 1.
    """
    group: list[Group] = [([1, 2, 3, 4, 5], {"A": 2})]
    published = view(group, group)
    assert brute_risk(published, "A", True, 0) == Fraction(2, 5)
    assert brute_risk(published, "A", True, 1) == Fraction(10, 19)
    assert LScarce(2, 0, ("A",)).check(published).holds
    # Nothing else is shown: whoever is known to be there has it.
    verdict = LScarce(2, 1, ("A",)).check(published)
    assert (verdict.holds, verdict.worst, verdict.violations) == (False, 1.0, 2)
    assert verdict.explanation == (
        "2 of 2 groups break it. The worst, group 1 of release 1, has 5 registered people and a permanent value "
        "2 times, which allows for a risk of 1; at most 1/2 is allowed."
    )
    eight: list[Group] = [([1, 2, 3, 4, 5, 6, 7, 8], {"A": 1, "B": 2, "flu": 2, "fever": 2})]
    assert LScarce(2, 1, ("A",)).check(view(eight, eight)).holds
    assert brute_risk(view(eight, eight), "A", True, 1) <= Fraction(1, 2)


def joint_risk(size: int, shown: dict[str, int], releases: int) -> Fraction:
    """How likely somebody has A who is known to be in all releases, so that he has one of the values in each.

    All values together: the ways in which he has and has not each of them, times the ways for everybody else.
    """
    having = {v: Fraction(comb(size - 1, c - 1), comb(size, c)) for v, c in shown.items() if c}
    others = prod(1 - share for value, share in having.items() if value != "A")
    with_a, without = having["A"], (1 - having["A"]) * (1 - others)
    # He has it from some release on, or never.
    ways = [without ** (releases - late) * with_a**late for late in range(releases + 1)]
    return sum(ways[1:], Fraction(0)) / sum(ways)


def test_somebody_known_to_be_there_has_one_of_the_values() -> None:
    for size, count, other, releases in product((6, 9, 14), (1, 2), (1, 2, 3), (1, 2, 5)):
        shown = {"A": count, "B": other, "flu": other, "fever": other}
        for l in (2, 3, 4):  # noqa: E741
            group: list[Group] = [(list(range(size)), shown)]
            if LScarce(l, 1, ("A",)).check(view(*[group] * releases)).holds:
                assert joint_risk(size, shown, releases) <= Fraction(1, l)
    # One value beside it, however many are registered.
    assert joint_risk(50, {"A": 1, "flu": 1}, 4) >= Fraction(4, 5)
    many: list[Group] = [(list(range(50)), {"A": 1, "flu": 1})]
    assert not LScarce(2, 1, ("A",)).check(view(many, many)).holds
    assert LScarce(2, 0, ("A",)).check(view(many, many)).holds


def test_the_limits_of_the_rules() -> None:
    def holds(size: int, count: int, known: int, permanent: tuple[str, ...] = ("A",)) -> bool:
        return LScarce(3, known, permanent).check(view([(list(range(size)), {"A": count})])).holds

    assert holds(6, 2, 0)
    assert not holds(5, 2, 0)
    # With people known more is needed than four times the count.
    assert not holds(8 + 2, 2, 2)
    assert holds(1, 0, 5)
    assert not LScarce(10**30, 10**30).check(view([([1, 2], {"A": 1})])).holds
    assert LScarce(10**30, 10**30).check(view([([1, 2], {})])).holds


def certain(published: Published) -> Published:
    """The same view with everybody known to be there."""
    return replace(published, releases=tuple(replace(release, sure=None) for release in published.releases))


def brute_certain(published: Published, value: str) -> Fraction | None:
    """The largest risk of a permanent value where everybody is known to be where he is listed; None: no world."""
    every = sorted({person for release in published.releases for person in release.members.tolist()})
    code = published.values.index(value)
    options = []
    for release in published.releases:
        choices = []
        for group in range(release.group_count):
            members = release.members[release.member_starts[group] : release.member_starts[group + 1]].tolist()
            some = slice(int(release.value_starts[group]), int(release.value_starts[group + 1]))
            shown = dict(zip(release.values[some].tolist(), release.counts[some].tolist(), strict=True))
            choices.append(list(combinations(members, shown.get(code, 0))))
        options.append([frozenset().union(*choice) for choice in product(*choices)])
    listed = [frozenset(release.members.tolist()) for release in published.releases]
    worlds = [
        world
        for world in product(*options)
        if all(world[i] & listed[j] <= world[j] for j in range(len(world)) for i in range(j))
    ]
    if not worlds:
        return None
    return max(
        Fraction(sum(person in world[at] for world in worlds), len(worlds))
        for person in every
        for at in range(len(listed))
    )


def test_where_everybody_is_known_the_risk_is_counted() -> None:
    rng = np.random.default_rng(8)
    seen = {True: 0, False: 0}
    for _ in range(60):
        published = random_view(rng, 6, int(rng.integers(2, 4)), 2)
        risk = brute_certain(published, "A")
        verdict = LScarce(2, 0, ("A",)).check(certain(published))
        assert verdict.holds is (risk is not None and risk <= Fraction(1, 2))
        seen[verdict.holds] += 1
        if verdict.holds and risk:
            assert verdict.worst == pytest.approx(float(risk))
    assert min(seen.values()) > 5


def test_table_two_is_not_scarce_though_every_release_is() -> None:
    shown = {"A": 1, "flu": 1, "fever": 1}
    first: list[Group] = [([1, 2, 3], shown), ([4, 5, 6], shown)]
    second: list[Group] = [([2, 3, 6], shown), ([1, 4, 5], shown)]
    third: list[Group] = [([2, 3, 5], shown), ([1, 4, 6], shown)]
    published = certain(view(first, second, third))
    assert LScarce(3, 0, ("A",)).check(view(first, second, third)).holds
    assert LScarce(3).check(published).holds
    verdict = LScarce(3, 0, ("A",)).check(published)
    # p4 is certain, p2 and p3 are left with 1/2.
    assert (verdict.holds, verdict.worst, verdict.violations) == (False, 1.0, 3)
    assert verdict.explanation == (
        "3 risks of permanent values are above 1/3, all releases taken together. "
        "The largest risk of a permanent value that was counted is 1, in release 1."
    )
    two = certain(view(first, second))
    assert LScarce(3, 0, ("A",)).check(two).worst == 2 / 5
    assert LScarce(2, 0, ("A",)).check(two).holds
    # Three people are few to hide somebody who is known to be there.
    assert not LScarce(2, 1, ("A",)).check(two).holds
    partly = np.array([True, False, False, False, False, False])
    some = replace(two, releases=tuple(replace(release, sure=partly) for release in two.releases))
    assert LScarce(2, 0, ("A",)).check(some).holds


def test_followed_releases() -> None:
    group: list[Group] = [([1, 2, 3, 4], {"A": 1})]
    published = view(group, group, group)
    assert [one.holds for one in follow(LScarce(3, 0, ("A",)), published)] == [True, True, True]
    known = [one.holds for one in follow(LScarce(3, 0, ("A",)), certain(published))]
    assert known == [True, False, False]
    told = follow(LScarce(3, 0, ("A",)), certain(published))[1].explanation
    assert told.startswith("It is not proven: it is known who is in releases after the first")
    # Values that may change tie nothing together, and who was in the first release tells nothing of the next.
    assert all(one.holds for one in follow(LScarce(3), certain(published)))
    first = replace(published, releases=(certain(published).releases[0], *published.releases[1:]))
    assert all(one.holds for one in follow(LScarce(3, 0, ("A",)), first))
    assert LScarce(3, 0, ("A",)).check(first).holds


def test_what_is_out_stays_out() -> None:
    group: list[Group] = [(list(range(12)), {"A": 1})]
    one, two = (replace(view(group, group), releases=(release,)) for release in view(group, group).releases)
    _, state = LScarce(3, 1, ("A",)).follow(one, {})
    tables = {name: table for name, table in state.items() if isinstance(table, pl.DataFrame)}
    for other, words in (
        (LScarce(4, 1, ("A",)), "l = 4 is more than the l = 3 of an earlier release, and what is out stays out"),
        (LScarce(3, 2, ("A",)), "known = 2 is more than the known = 1 of an earlier release"),
        (LScarce(3, 1, ("A", "B")), "1 permanent value could change in earlier releases"),
    ):
        assert words in (other.obstacle(tables) or "")
        verdict, later = other.follow(two, tables)
        assert not verdict.holds
        assert words in verdict.explanation
        assert LScarce(2, 0, ("A",)).obstacle({name: later[name] for name in later}) is None  # type: ignore[misc]
    assert LScarce(3, 1, ("A",)).obstacle(tables) is None
    assert LScarce(3).obstacle({}) == "nobody has checked l-scarcity from the first release on"
    with pytest.raises(ParameterError, match="Release 1 cannot follow release 1"):
        LScarce(3, 1, ("A",)).follow(one, tables)
    with pytest.raises(ParameterError, match="Got a view of 2 releases instead of one"):
        LScarce(3).follow(view(group, group), {})


def test_values_are_counted_and_not_named() -> None:
    one = LScarce(3, 1, ("A", "B", "A"))
    assert one.parameters == {"l": 3, "known": 1, "permanent": ("A", "B")}
    assert repr(one) == "LScarce(l=3, known=1, permanent=<2 values>)"
    assert one.title == "l-scarcity (l = 3, known = 1, 2 permanent values)"
    assert LScarce(3).title == "l-scarcity (l = 3, known = 0)"


def test_groups_that_are_no_parts_are_refused() -> None:
    with pytest.raises(ParameterError, match="Release 1 has 1 person in more than one place"):
        LScarce(2).check(view([([1, 2], {"A": 1}), ([2, 3], {"A": 1})]))
