"""InferenceFree against its definition with plain lists; HistoryDiverse against every possible world."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from worlds import possible, view, views_one_by_one

from reissue.attacks.channels.channels import Channels
from reissue.guarantees import HistoryDiverse, InferenceFree, LDiverse, SeriesGuarantee, Verdict
from reissue.model.memory import Kept, Memory

Group = tuple[list[int], list[str]]
"""Members (negative: counterfeits) and their values."""
Series = list[list[Group]]


# Series, and views of them


def followed(guarantee: SeriesGuarantee, series: Series, secret: object = None) -> list[Verdict]:
    state: Memory = {}
    verdicts = []
    for published in views_one_by_one(series):
        verdict, remembered = guarantee.follow(published, state, secret)
        state = {name: state[name] if isinstance(table, Kept) else table for name, table in remembered.items()}
        verdicts.append(verdict)
    return verdicts


def restless(rng: random.Random, *, changing: bool, most: int = 11) -> Series:
    """Groups that lose, gain and exchange members, fall apart and are made anew; sometimes a value changes."""
    letters = "abcd"[: rng.randint(2, 4)]
    people = [*range(rng.randint(4, most)), -1, -2]
    truth = {person: rng.choice(letters) for person in people}
    order = rng.sample(people, len(people))
    groups: list[list[int]] = []
    series: Series = []
    for _ in range(rng.randint(2, 6)):
        if not groups or rng.random() < 0.2:
            here, size = [person for person in order if rng.random() < 0.7], rng.randint(1, 4)
            groups = [here[at : at + size] for at in range(0, len(here), size)]
        else:
            groups = [group[:] for group in groups]
            for group in groups:
                if rng.random() < 0.3:
                    group.pop(rng.randrange(len(group)))
            inside = {person for group in groups for person in group}
            for person in people:
                if person not in inside and rng.random() < 0.2:
                    rng.choice(groups).append(person)
            if rng.random() < 0.3:
                group = groups.pop(rng.randrange(len(groups)))
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            groups = [group for group in groups if group]
            rng.shuffle(groups)
        if changing and rng.random() < 0.1:
            truth[rng.choice(people)] = rng.choice(letters)
        series.append([(group, [truth[person] for person in group]) for group in groups])
    return series


def nested(rng: random.Random, *, most: int, leaving: bool = False) -> tuple[Series, dict[int, str]]:
    """Groups that only receive newcomers or are split, as an incremental method makes them; people may leave."""
    letters = "abc"[: rng.randint(2, 3)]
    truth: dict[int, str] = {}
    groups: list[list[int]] = []
    series: Series = []
    for _ in range(3):
        room = most - len(truth)
        new = list(range(len(truth), len(truth) + min(room, rng.choice([0, 2, 2, 3, 4]))))
        truth |= {person: letters[(person + rng.randint(0, 1)) % len(letters)] for person in new}
        if not groups:
            groups = [new] if new else []
        elif new:
            groups = [group[:] for group in groups]
            rng.choice(groups).extend(new)
        for group in [group for group in groups if len(group) >= 4]:
            if rng.random() < 0.4:
                groups.remove(group)
                parts = rng.sample(group, len(group)) if rng.random() < 0.3 else group
                groups += [parts[: len(parts) // 2], parts[len(parts) // 2 :]]
        if leaving and rng.random() < 0.4 and groups:
            group = groups.pop(rng.randrange(len(groups)))
            groups += [group[: len(group) // 2]] if rng.random() < 0.5 else []
        groups = [group for group in groups if group]
        series.append([(group[:], [truth[person] for person in group]) for group in groups])
    return series, truth


# The definitions, naively


def newcomer_set(mine: int, release: list[Group], other: list[Group]) -> int:
    """How many values the smallest of the sets has for those of a group who are not in the other release."""
    place = {who: at for at, (members, _) in enumerate(release) for who in members}
    touched = [{place[who] for who in members if who in place} for members, _ in other]
    component = {mine}
    for _ in release:
        component |= {at for classes in touched if classes & component for at in classes}
    found = []
    for classes in [{mine}, *(classes for classes in touched if mine in classes), component]:
        inside = {who for at in classes for who in release[at][0]}
        values = Counter(value for at in classes for value in release[at][1])
        for members, theirs in other:
            if set(members) <= inside:
                values.subtract(theirs)
        found.append(sum(values[value] > 0 for value in set(release[mine][1])))
    return min(found)


def pair_sets(series: Series, earlier: int, later: int) -> tuple[list[float], dict[int, int]]:
    """For each group of the later release its smallest set, and for each of the earlier one that about who left it."""
    smallest = [math.inf] * len(series[later])
    before = {who for members, _ in series[earlier] for who in members}
    now = {who for members, _ in series[later] for who in members}
    for at, (members, held) in enumerate(series[later]):
        real = {who for who in members if who >= 0}
        for others, theirs in series[earlier]:
            if real & set(others):
                smallest[at] = min(smallest[at], len(set(held) & set(theirs)))
        if real - before:
            smallest[at] = min(smallest[at], newcomer_set(at, series[later], series[earlier]))
    left = {
        at: newcomer_set(at, series[earlier], series[later])
        for at, (members, _) in enumerate(series[earlier])
        if {who for who in members if who >= 0} - now
    }
    return smallest, left


State = tuple[int, int]
"""A release and a group of it, both counted from 0."""


def states_of(series: Series) -> list[list[State]]:
    """For each group the first release, of those in a row up to this one, with the same group, and its place there."""
    found: list[list[State]] = []
    alike: dict[tuple[frozenset[int], frozenset[tuple[str, int]]], State] = {}
    for at, release in enumerate(series):
        keys = [(frozenset(members), frozenset(Counter(held).items())) for members, held in release]
        alike = {key: alike.get(key, (at, number)) for number, key in enumerate(keys)}
        found.append([alike[key] for key in keys])
    return found


def sets_of(series: Series) -> list[tuple[list[float], dict[State, int]]]:
    """For each release the smallest sets of its groups, and of the states that people left.

    A group has the smallest set of all pairs of releases of which the later one, up to this, shows it; a state that
    people left has the smallest of all pairs, up to this, of which the earlier one shows it.
    """
    states, found = states_of(series), []
    own: dict[State, float] = {}
    left: dict[State, int] = {}
    for later in range(len(series)):
        own = {state: own.get(state, math.inf) for state in states[later]}
        for earlier in range(later):
            smallest, gone = pair_sets(series, earlier, later)
            for state, distinct in zip(states[later], smallest, strict=True):
                own[state] = min(own[state], distinct)
            for at, fewest in gone.items():
                left[states[earlier][at]] = min(left.get(states[earlier][at], fewest), fewest)
        found.append(([own[state] for state in states[later]], dict(sorted(left.items()))))
    return found


# InferenceFree


@pytest.mark.parametrize("changing", [False, True])
def test_every_set_of_every_two_releases(changing: bool) -> None:
    """`check` and `follow` count the groups, and name the worst, as the definition does."""
    held = 0
    for seed in range(150):
        rng = random.Random(seed)
        series, l = restless(rng, changing=changing), rng.randint(1, 3)  # noqa: E741
        verdicts = followed(InferenceFree(l), series)
        violations = groups = 0
        for later, (verdict, (smallest, left)) in enumerate(zip(verdicts, sets_of(series), strict=True)):
            figures = [*smallest, *left.values()]
            broken = [figure for figure in figures if figure < l]
            assert verdict.holds is not bool(broken)
            assert (verdict.violations, verdict.groups) == (len(broken), len(figures))
            if figures:
                assert verdict.worst == min(broken or figures)
                place = (later, smallest.index(verdict.worst)) if verdict.worst in smallest else None
                at = place or next(state for state, figure in left.items() if figure == verdict.worst)
                assert (verdict.release, verdict.group) == (at[0] + 1, at[1] + 1)
            violations, groups = violations + len(broken), groups + len(figures)
        whole = InferenceFree(l).check(view(series))
        assert (whole.violations, whole.groups) == (violations, groups)
        assert whole.holds is all(verdict.holds for verdict in verdicts)
        of_those = [verdict for verdict in verdicts if verdict.groups and verdict.holds is whole.holds]
        assert not of_those or whole.worst == min(verdict.worst for verdict in of_those)
        # Whatever is counted how often: the smallest of all sets between any two releases decides.
        pairs = [pair_sets(series, i, j) for j in range(len(series)) for i in range(j)]
        fewest = min((distinct for own, gone in pairs for distinct in (*own, *gone.values())), default=math.inf)
        assert whole.holds is (fewest >= l)
        if whole.groups:
            assert whole.worst == fewest
        held += whole.holds
    assert 15 < held < 140


def drifting(rng: random.Random, releases: int, *, leaving: bool) -> Series:
    """Many groups of which a few receive newcomers or fall apart each time; some people leave, and some return."""
    groups = [list(range(at, at + 6)) for at in range(0, 60, 6)]
    truth = {person: rng.choice("abcde") for person in range(60 + 12 * releases)}
    born, away, series = 60, list[int](), []
    for _ in range(releases):
        rng.shuffle(groups)
        series.append([(group[:], [truth[person] for person in group]) for group in groups])
        groups = [group[:] for group in groups]
        for group in rng.sample(groups, rng.choice([0, 1, 3])):
            group += range(born, born + 3)
            born += 3
        if rng.random() < 0.3:
            groups.append(list(range(born, born + 3)))
            born += 3
        if rng.random() < 0.4:
            group = groups.pop(rng.randrange(len(groups)))
            groups += [group[::2], group[1::2]]
        if leaving and rng.random() < 0.3:
            away.append(groups[0].pop())
        if away and rng.random() < 0.3:
            rng.choice(groups).append(away.pop(0))
        groups = [group for group in groups if group]
    return series


@pytest.mark.parametrize("leaving", [False, True])
def test_a_growing_series_step_by_step(leaving: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger ones, so that much is taken over from the release before; against the check of all pairs."""
    for seed in range(4):
        # Parts of the past that are put together often and rarely; many copies at once, and a few.
        monkeypatch.setattr("reissue.reasoning.channels.histories.LARGER", (0, 4)[seed % 2])
        monkeypatch.setattr("reissue.reasoning.channels.families.ROOM", (20, 1 << 20)[seed // 2])
        series = drifting(random.Random(seed), 12, leaving=leaving)
        violations = groups = 0
        for at, verdict in enumerate(followed(InferenceFree(3), series)):
            whole = InferenceFree(3).check(view(series[: at + 1]))
            assert (verdict.violations, verdict.groups) == (whole.violations - violations, whole.groups - groups)
            violations, groups = whole.violations, whole.groups
            if whole.release == at + 1:
                assert (verdict.worst, verdict.group) == (whole.worst, whole.group)
                assert verdict.explanation.split("The worst")[1:] == whole.explanation.split("The worst")[1:]


def test_bounds_of_shares_do_not_depend_on_how_copies_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        series = drifting(random.Random(seed), 8, leaving=True)
        at_once = followed(HistoryDiverse(2, diversity="share"), series)
        monkeypatch.setattr("reissue.reasoning.channels.families.ROOM", 1)
        assert followed(HistoryDiverse(2, diversity="share"), series) == at_once
        monkeypatch.undo()


# HistoryDiverse


@pytest.mark.parametrize("leaving", [False, True])
def test_everybody_keeps_l_possible_values(leaving: bool) -> None:
    held = 0
    for seed in range(200):
        series, truth = nested(random.Random(seed), most=9, leaving=leaving)
        for l in (2, 3):  # noqa: E741
            guarantee = HistoryDiverse(l)
            verdict = guarantee.check(view(series), truth)
            steps = followed(guarantee, series, truth)
            assert verdict.holds is all(step.holds for step in steps)
            assert verdict.violations == sum(step.violations for step in steps)
            cells: dict[tuple[int, ...], set[str]] = {}
            for who in {who for release in series for members, _ in release for who in members}:
                history = [next((at for at, (m, _) in enumerate(release) if who in m), -1) for release in series]
                cells.setdefault(tuple(history), set()).add(truth[who])
            fewest = [len(values) for values in cells.values()]
            assert steps[-1].holds is (min(fewest, default=l) >= l)
            if fewest:
                assert steps[-1].worst == min(fewest)
            if verdict.holds:
                assert all(len(values) >= l for values in possible(series).values())
                held += bool(cells)
    assert held > 20


@pytest.mark.parametrize("kind", ["growing", "leaving", "restless"])
def test_no_posterior_above_one_in_l(kind: str) -> None:
    held = Counter[float]()
    for seed in range(40 if kind == "restless" else 60):
        rng = random.Random(seed)
        if kind == "restless":
            series = restless(rng, changing=False, most=6)
        else:
            series, _ = nested(rng, most=9, leaving=kind == "leaving")
        posteriors = [
            Fraction(count, values.total())
            for who, values in possible(series).items()
            for count in values.values()
            if who >= 0
        ]
        for l in (1.5, 2, 3):  # noqa: E741
            guarantee = HistoryDiverse(l, diversity="share")
            verdict = guarantee.check(view(series))
            steps = followed(guarantee, series)
            assert verdict.holds is all(step.holds for step in steps)
            assert verdict.violations == sum(step.violations for step in steps)
            if posteriors:
                assert max(posteriors) <= steps[-1].worst + 1e-12
            if verdict.holds:
                assert max(posteriors, default=0) <= 1 / Fraction(l)
                held[l] += bool(posteriors)
        assert HistoryDiverse(1, diversity="share").check(view(series)).holds
    assert kind == "restless" or (held[2] > 5 and held[1.5] > held[2])


def test_shares_are_lowered_by_who_came_and_who_left() -> None:
    """By hand: of {p, q} and then {p, q, x, y} the newcomers have what was added."""
    series: Series = [[([0, 1], ["a", "b"])], [([0, 1, 2, 3], ["a", "b", "a", "c"])]]
    assert followed(HistoryDiverse(2, diversity="share"), series)[1].worst == 0.5  # without it: a for both newcomers
    # Who left has what the group lost: one b and one c; those who stayed have a twice among three.
    series = [[([0, 1, 2, 3, 4], ["a", "a", "b", "b", "c"])], [([0, 1, 2], ["a", "a", "b"])]]
    (_, step) = followed(HistoryDiverse(1.5, diversity="share"), series)
    assert (step.holds, step.worst, step.violations, step.groups) == (True, 2 / 3, 0, 2)
    assert followed(HistoryDiverse(1.6, diversity="share"), series)[1].violations == 1


# Pairs of releases are not enough


THREE_RELEASES: Series = [
    [([0, 1], ["b", "c"])],
    [([0, 1, 2, 3], ["b", "c", "c", "a"])],
    [([0, 1, 2, 5], ["b", "c", "c", "a"]), ([3, 4], ["a", "b"])],
]
"""Two newcomers, then a split with a newcomer on either side. Found by random search over nested growth."""


def test_three_releases_show_what_no_two_do() -> None:
    """The first two say that 2 and 3 have a and c. So 3, who is with a and b later, has a, and all else follows."""
    published = view(THREE_RELEASES)
    assert InferenceFree(2).check(published).holds and LDiverse(2).check(published).holds
    for pair in ((0, 1), (0, 2), (1, 2)):
        assert all(len(values) > 1 for values in possible([THREE_RELEASES[at] for at in pair]).values())
    certain = {who: set(values) for who, values in possible(THREE_RELEASES).items() if len(values) == 1}
    assert certain == {2: {"c"}, 3: {"a"}, 4: {"b"}, 5: {"a"}}
    truth = dict(zip(range(6), "bccaba", strict=True))
    assert not HistoryDiverse(2).check(published, truth).holds
    assert not HistoryDiverse(2, diversity="share").check(published).holds
    # The attack sees a part of it, for it intersects everybody's sets of all pairs.
    assert Channels().run(published).certain.items() >= {3: "a"}.items()


def test_a_split_shows_what_no_set_does() -> None:
    """Two releases: of {0, 1, 2} with one a, one of {1, 2} has it, so 0 has not; the paper's sets leave him both."""
    series: Series = [
        [([0, 1, 2], ["c", "a", "c"])],
        [([0, 3, 4], ["c", "a", "c"]), ([1, 2], ["a", "c"])],
    ]
    published = view(series)
    assert InferenceFree(2).check(published).holds and LDiverse(2).check(published).holds
    assert set(possible(series)[0]) == {"c"}
    assert not HistoryDiverse(2).check(published, dict(zip(range(5), "cacac", strict=True))).holds
