"""Permanence against brute force: every world of small views, listed by the definition.

A view here is plain data, so that nothing of the code under test takes part in listing its worlds: for each release
groups of people with how many of them have the value, and for each person and release whether he is known to be
present, known to be absent, or neither. Many views are put side by side into one series, with different people: they
must not disturb each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import factorial, prod
from random import Random

import numpy as np
import pytest

from reissue.attacks.permanence.permanence import Permanence
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.permanence.permanence_counting import count
from reissue.reasoning.permanence.permanence_figures import Chances, Effort, Presence, chances
from reissue.reasoning.permanence.permanence_parts import Class, Part
from reissue.reasoning.permanence.permanence_sampling import sample
from reissue.reasoning.permanence.permanence_solving import decide

PRESENT, UNKNOWN, ABSENT = "present", "unknown", "absent"
SOLVER = Effort(moves=0, drawing=0.0)
"""Nothing may be counted, so that every proof is the solver's."""


@dataclass
class View:
    groups: list[list[tuple[list[str], int]]]
    status: list[dict[str, str]]
    said: dict[str, list[int]]
    """What is known of people beside the releases."""

    @property
    def people(self) -> list[str]:
        return sorted({who for release in self.groups for members, _ in release for who in members})


def drawn(rng: Random, releases: int, most: int, name: str) -> View:
    """A view, mostly of a true history, sometimes with a count that is any number."""
    people = [f"{name}{at}" for at in range(rng.randint(3, most))]
    since = {who: rng.randint(0, releases) for who in people if rng.random() < 0.5}
    told = rng.choice(["nobody", "somebody", "everybody", "here and there"])
    known = {who for who in people if told == "everybody" or (told == "somebody" and rng.random() < 0.5)}
    view = View([], [], {who: [] for who in known} if told == "somebody" else {})
    for at in range(releases):
        registered = [who for who in people if rng.random() < 0.9]
        rng.shuffle(registered)
        there = {who for who in registered if told == "everybody" or rng.random() < 0.8}
        cuts = sorted(rng.sample(range(len(registered) + 1), rng.randint(0, min(2, len(registered)))))
        view.groups.append([])
        for begin, end in zip([0, *cuts], [*cuts, len(registered)], strict=True):
            members = registered[begin:end]
            holders = sum(who in there and since.get(who, releases) <= at for who in members)
            often = rng.randint(0, len(members)) if rng.random() < 0.08 else holders
            if members:
                view.groups[-1].append((members, often))
        sure = {who for who in there if who in known or (told == "here and there" and rng.random() < 0.4)}
        view.status.append({who: PRESENT if who in sure else ABSENT if who in known else UNKNOWN for who in registered})
        for who in view.said:
            if who in sure:
                view.said[who].append(at + 1)
    view.said = {who: said for who, said in view.said.items() if who in view.people}
    return view


def worlds(view: View, cohorts: int) -> Iterator[dict[str, tuple[int, tuple[int, ...]]]]:
    """Everybody's cohort, and in which releases he stands in it: every world, holders being cohort 0."""
    spots = [{who: at for at, (members, _) in enumerate(release) for who in members} for release in view.groups]
    every = range(len(spots))
    left = {
        (at, group, cohort): often
        for at, release in enumerate(view.groups)
        for group, (_, often) in enumerate(release)
        for cohort in range(cohorts)
    }
    room = {(at, group): len(some) for at, release in enumerate(view.groups) for group, (some, _) in enumerate(release)}

    def allowed(who: str, has: tuple[int, ...]) -> bool:
        if any(has[at] and (who not in spots[at] or view.status[at][who] == ABSENT) for at in every):
            return False
        return all(
            has[later] or not has[at] or view.status[later].get(who) != PRESENT
            for at in every
            for later in every[at + 1 :]
        )

    people = view.people
    ways = {who: [has for has in product((0, 1), repeat=len(spots)) if allowed(who, has)] for who in people}
    world: dict[str, tuple[int, tuple[int, ...]]] = {}

    def extend(at: int) -> Iterator[dict[str, tuple[int, tuple[int, ...]]]]:
        if at == len(people):
            yield dict(world)
            return
        who = people[at]
        here = [(release, spots[release][who]) for release in every if who in spots[release]]
        for spot in here:
            room[spot] -= 1
        for has in ways[who]:
            # Whoever has it nowhere is in no cohort.
            for cohort in range(cohorts) if any(has) else (0,):
                taken = [(release, group, cohort) for release, group in here if has[release]]
                if any(not left[one] for one in taken):
                    continue
                for one in taken:
                    left[one] -= 1
                if all(sum(left[(*spot, other)] for other in range(cohorts)) <= room[spot] for spot in here):
                    world[who] = (cohort, has)
                    yield from extend(at + 1)
                for one in taken:
                    left[one] += 1
        for spot in here:
            room[spot] += 1

    # Groups in which too many have it for the people there have no world at all.
    if all(cohorts * often <= len(members) for release in view.groups for members, often in release):
        yield from extend(0)


def expected(view: View, cohorts: int) -> tuple[int, dict[str, Fraction]]:
    """How many worlds there are, and the risk of everybody who may be in a group that shows the value."""
    hits: dict[tuple[str, int], int] = {}
    total = 0
    for world in worlds(view, cohorts):
        total += 1
        for who, (cohort, has) in world.items():
            for at, one in enumerate(has):
                if one and cohort == 0:
                    hits[who, at] = hits.get((who, at), 0) + 1
    linkable = {
        who
        for at, release in enumerate(view.groups)
        for members, often in release
        for who in members
        if often and view.status[at][who] != ABSENT
    }
    every = range(len(view.groups))
    return total, {
        who: max((Fraction(hits.get((who, at), 0), total) for at in every), default=Fraction(0))
        if total
        else Fraction(0)
        for who in linkable
    }


def published(views: list[View]) -> tuple[Published, Knowledge]:
    """Views side by side."""
    releases = [
        [(members, ["HIV"] * often) for view in views for members, often in view.groups[at]]
        for at in range(len(views[0].groups))
    ]
    one = Published.from_groups(releases, single=False)
    assert one.people is not None
    said = {who: releases for view in views for who, releases in view.said.items()}
    status = [{who: told for view in views for who, told in view.status[at].items()} for at in range(len(releases))]
    built = tuple(
        replace(
            release,
            sure=np.array(
                [
                    status[at][one.people[number]] == PRESENT and one.people[number] not in said
                    for number in release.members.tolist()
                ],
                dtype=np.bool_,
            ),
        )
        for at, release in enumerate(one.releases)
    )
    return replace(one, releases=built), Knowledge(permanent=["HIV"], present=said)


def found(views: list[View], cohorts: int, effort: Effort | None = None) -> tuple[Published, Chances]:
    series, knowledge = published(views)
    presence = Presence.of(series, knowledge.participation(series))
    return series, chances(series, presence, series.values.index("HIV"), cohorts=cohorts, effort=effort)


def named(series: Published, numbers: np.ndarray) -> set[str]:
    return {str(series.name(number)) for number in numbers.tolist()}


@pytest.fixture(scope="module")
def cases() -> dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]]:
    """By releases and cohorts: views with their worlds."""
    rng = Random(20081)
    told: dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]] = {}
    for releases, cohorts, most, often in (
        (1, 1, 7, 120),
        (2, 1, 7, 300),
        (3, 1, 6, 300),
        (4, 1, 5, 150),
        (1, 3, 7, 150),
        (2, 2, 6, 200),
        (3, 2, 5, 120),
        (2, 3, 6, 120),
    ):
        views = [drawn(rng, releases, most, f"{releases}.{cohorts}.{at}.") for at in range(often)]
        told[releases, cohorts] = [(view, *expected(view, cohorts)) for view in views]
    return told


def test_every_figure_is_that_of_all_worlds(
    cases: dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]],
) -> None:
    agreed = 0
    for (_, cohorts), some in cases.items():
        some = [one for one in some if one[1]]
        series, one = found([view for view, _, _ in some], cohorts)
        wanted = {who: share for _, _, shares in some for who, share in shares.items()}
        got = {str(series.name(number)): one.fraction(at) for at, number in enumerate(one.people.tolist())}
        # With cohorts a few are too large to count; then 1/l is all that is said.
        bounded = {who for who, share in got.items() if share is None}
        assert {who: share for who, share in got.items() if share is not None} == {
            who: share for who, share in wanted.items() if who not in bounded
        }
        assert got.keys() == wanted.keys()
        assert all(wanted[who] <= Fraction(1, cohorts) for who in bounded)
        assert len(bounded) <= (0.1 * len(got) if cohorts > 1 else 0)
        assert one.exists is True
        assert named(series, one.people[one.certain]) == {who for who, share in wanted.items() if share == 1}
        assert named(series, one.people[one.excluded]) == {who for who, share in wanted.items() if share == 0}
        assert one.worlds == (None if bounded else prod(total for _, total, _ in some))
        agreed += len(some)
    assert agreed > 800


def test_a_contradiction_spoils_only_its_own_part(
    cases: dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]],
) -> None:
    some = cases[3, 1]
    series, one = found([view for view, _, _ in some], 1)
    assert one.exists is False
    assert one.worlds == 0
    got = {str(series.name(number)): one.fraction(at) for at, number in enumerate(one.people.tolist())}
    for _, total, shares in some:
        if total:
            assert {who: got[who] for who in shares} == shares
    broken = [view for view, total, _ in some if not total]
    assert len(broken) > 10
    assert all(found([view], 1)[1].exists is False for view in broken[:20])


@pytest.mark.parametrize("releases, cohorts", [(2, 2), (1, 3), (2, 3)])
def test_no_world_with_the_mechanism_is_found_out(
    cases: dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]], releases: int, cohorts: int
) -> None:
    without = [view for view, total, shares in cases[releases, cohorts] if not total and shares][:15]
    assert len(without) > 10
    for view in without:
        assert found([view], cohorts)[1].exists is False
        assert found([view], cohorts, SOLVER)[1].exists is False


def test_the_solver_proves_what_all_worlds_show(
    cases: dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]],
) -> None:
    for (_, cohorts), some in cases.items():
        some = [one for one in some if one[1]][:60]
        wanted = {who: share for _, _, shares in some for who, share in shares.items()}
        series, one = found([view for view, _, _ in some], cohorts, SOLVER)
        assert one.exists is True
        assert named(series, one.people[one.certain]) == {who for who, share in wanted.items() if share == 1}
        assert named(series, one.people[one.excluded]) == {who for who, share in wanted.items() if share == 0}


def test_the_attack_counts_formations_up_to_the_names_of_cohorts(
    cases: dict[tuple[int, int], list[tuple[View, int, dict[str, Fraction]]]],
) -> None:
    told = [one for one in cases[2, 3] if one[1] and one[2]][:20]
    for view, total, shares in told:
        series, knowledge = published([view])
        findings = Permanence().run(series, replace(knowledge, cohorts=3))
        assert findings.formations == {"HIV": total // factorial(3)}
        assert findings.worlds == {"HIV": total // factorial(2)}
        assert {who: findings.probability(who, "HIV") for who in shares} == shares
        assert max(shares.values()) <= Fraction(1, 3)


def ring(groups: int, rng: Random) -> Part:
    """Two releases of groups of three that overlap like a ring, with classes of one or two people."""
    classes = []
    for at in range(groups):
        classes.append(Class(1, (at, groups + at), (True, True)))
        classes.append(Class(rng.randint(1, 2), (at, groups + (at + 1) % groups), (True, True)))
        if rng.random() < 0.4:
            classes.append(Class(1, (at, groups + rng.randrange(groups)), (rng.random() < 0.5, True)))
    free = tuple(rng.choice((0, 0, 2)) for _ in range(groups)) + tuple(rng.choice((0, 1)) for _ in range(groups))
    return Part((1,) * (2 * groups), free, tuple(classes), tuple(range(2 * groups)), ())


def test_estimates_are_near_what_is_counted() -> None:
    part = ring(14, Random(5))
    exact = count(part, limit=10**6)
    assert exact is not None
    assert exact.total > 1000
    wanted = np.array([float(share) for one in exact.classes for share in one] + [float(s or 0) for s in exact.free])
    # So few states are kept that most are left out.
    got = sample(part, seed=3, deadline=time.monotonic() + 60, states=40, runs=30)
    assert got is not None
    assert 0 < got.error.max() < 0.1
    assert (np.abs(got.probability - wanted) <= 5 * got.error).all()
    # And the solver agrees on what can be at all.
    decided = decide(part)
    cells = np.array([one.size for one in part.classes for _ in one.groups] + list(part.free)) > 0
    assert ((wanted > 0) == decided.possible)[cells].all()
    assert ((wanted == 1) == decided.certain)[cells].all()
