"""What a known waiting list gives away, against every way in which the values of a batch can be distributed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from reissue.attacks.base import Limits
from reissue.attacks.channels.channels import Channels, ChannelsFindings
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups

Group = tuple[list[str], list[str]]
Releases = list[list[Group]]
Possible = dict[str, set[str]]


def knowing(waiting: dict[int, list[str]]) -> Knowledge:
    return Knowledge(waiting=waiting, method="Incremental")


def left(found: ChannelsFindings) -> Possible:
    """Which values all comparisons leave, for everybody of whom something is said."""
    published, exposure = found.published, found.exposure
    assert exposure.left is not None and published.people is not None
    told = {}
    for at, person in enumerate(exposure.people.tolist()):
        bits = [position for position in range(len(published.values)) if int(exposure.left[at, 0]) >> position & 1]
        told[published.people[person]] = {str(published.values[position]) for position in bits}
    return told


def sets(found: ChannelsFindings, *kinds: str) -> list[tuple[int, str, int, int]]:
    """The later group, the kind, how many values and how many people; of these kinds."""
    rows = found.channels.filter(found.channels["kind"].cast(str).is_in(kinds)).iter_rows(named=True)
    return [(row["group_j"], row["kind"], row["distinct"], row["people"]) for row in rows]


# One batch


def distributed(values: list[str], waited: int, l: int) -> tuple[set[str], set[str]]:  # noqa: E741
    """What one of the first, who waited, and one of the others can have: by trying all orders of the values."""
    by_waited: set[str] = set()
    by_joined: set[str] = set()
    for order in set(permutations(values)):
        if len(set(order[:waited])) < l:
            by_waited.update(order[:waited])
            by_joined.update(order[waited:])
    return by_waited, by_joined


def test_batches_of_every_shape() -> None:
    """All multisets of up to six values, all numbers of people who waited, and l from 1 to 5."""
    shapes = {tuple(sorted(counts, reverse=True)) for counts in product(range(5), repeat=4) if 1 <= sum(counts) <= 6}
    assert len(shapes) > 20
    for shape in sorted(shapes):
        values = [letter for letter, count in zip("abcd", shape, strict=True) for _ in range(count)]
        people = [f"p{n}" for n in range(len(values))]
        published = Published.from_groups(
            [[(["old", "older"], ["a", "e"])], [(["old", "older", *people], ["a", "e", *values])]]
        )
        for waited, l in product(range(1, len(people) + 1), range(1, 6)):  # noqa: E741
            found = Channels(l=l).run(published, knowing({1: people[:waited]}))
            by_waited, by_joined = distributed(values, waited, l)
            if not by_waited:
                assert sets(found, "waited", "joined") == [] and "did not wait in one list" in found.undecided[0]
                assert found.exposure.waiting_refuted == waited
                assert all(left(found)[person] == set(values) for person in people)
                continue
            assert found.undecided == () and found.exposure.waiting_told == waited
            told = left(found)
            assert all(told[person] == by_waited for person in people[:waited])
            assert all(told[person] == by_joined for person in people[waited:])
            expected = [(1, "waited", len(by_waited), waited)]
            if waited < len(people):
                expected.append((1, "joined", len(by_joined), len(people) - waited))
            assert sets(found, "waited", "joined") == expected


def test_five_waited_and_one_joined() -> None:
    """Two values, of which one is had by five: those five waited, so the sixth has the other."""
    five = ["Ada", "Ben", "Cem", "Dora", "Emil"]
    published = Published.from_groups(
        [
            [(["Uwe", "Vera"], ["a", "c"])],
            [(["Uwe", "Vera", *five, "Finn"], ["a", "c", "a", "a", "a", "a", "a", "b"])],
        ]
    )
    found = Channels(l=2).run(published, knowing({1: five}))
    assert found.certain == {**dict.fromkeys(five, "a"), "Finn": "b"}
    assert found.searched[1] == (
        "what the waiting of 5 people tells somebody who knows the method; those who come into one group "
        "are taken for one list"
    )
    assert found.undecided == ()
    assert found.channels.rows()[1:] == [
        (1, None, 2, 1, "new", 2, 6, 6),
        (1, None, 2, 1, "waited", 1, 5, 5),
        (1, None, 2, 1, "joined", 1, 1, 1),
    ]
    assert found.vulnerable_counts(2).row(1) == (2, 8, 6, 0, 6)
    judged = found.judge(Limits())
    assert (judged.status, judged.count) == ("beyond", 6)
    texts = {published.name(finding.people[0]): finding.witness.text(published) for finding in judged.findings}
    assert texts["Ada"] == (
        "Ada was waiting when release 1 came out and is in release 2 group 1. Everybody in release 1 group 1 is in "
        "release 2 group 1. So their values can be taken from those of release 2 group 1. Those who are new there, "
        "6 people, have a 5 times, b once. 5 of them were waiting when release 1 came out, in one list as it is taken "
        "here. With 2 different values they would have been published, so they have fewer. That leaves a for Ada. "
        "So Ada has a."
    )
    assert "Finn is not in release 1 and is in release 2 group 1." in texts["Finn"]
    assert texts["Finn"].endswith("so they have fewer. That leaves b for Finn. So Finn has b.")
    assert len(texts) == 6 and found.witnesses[0].text(published) == texts["Ada"]


@pytest.mark.parametrize("method", [None, "MInvariance"])
def test_nothing_changes_without_the_method(method: str | None) -> None:
    series: Releases = [
        [(["p", "q"], ["a", "b"])],
        [(["p", "q", "x", "y", "z"], ["a", "b", "a", "a", "b"])],
    ]
    published = Published.from_groups(series)
    with_it = Channels(l=2).run(published, Knowledge(waiting={1: ["x", "y"]}, method=method))
    without = Channels(l=2).run(published)
    assert with_it.channels.equals(without.channels) and left(with_it) == left(without)
    assert (with_it.searched, with_it.undecided) == (without.searched, without.undecided)
    assert with_it.judge(Limits()).status == "within"
    assert Channels(l=2).run(published, knowing({1: ["x", "y"]})).certain == {"x": "a", "y": "a", "z": "b"}


def test_l_must_be_known() -> None:
    published = Published.from_groups([[(["p", "q"], ["a", "b"])], [(["p", "q", "x", "y"], ["a", "b", "a", "b"])]])
    found = Channels().run(published, knowing({1: ["x"]}))
    assert found.undecided == (
        "what the waiting of 1 person tells somebody who knows the method: it follows only from the method's l, as in "
        "Channels(l=5)",
    )
    assert len(found.searched) == 1 and found.judge(Limits(diversity=2)).status == "undecided"
    assert Channels(l=2).run(published, knowing({1: ["x"]})).judge(Limits()).status == "within"


def test_who_waited_is_checked() -> None:
    published = Published.from_groups([[(["p", "q"], ["a", "b"])], [(["p", "q", "x"], ["a", "b", "a"])]])
    with pytest.raises(ParameterError, match="Who waits cannot be"):
        Channels(l=2).run(published, knowing({1: ["p"]}))
    assert Channels(l=2).run(published, knowing({})).searched == Channels(l=2).run(published).searched


def test_known_people_are_not_at_risk() -> None:
    published = Published.from_groups([[(["p", "q"], ["a", "b"])], [(["p", "q", "x", "y", "z"], list("ababa"))]])
    knowledge = Knowledge(compromised={"x": "a"}, waiting={1: ["x", "z"]}, method="Incremental")
    found = Channels(l=2).run(published, knowledge)
    assert found.certain == {"y": "b", "z": "a"} and found.judge(Limits()).count == 2


def test_members_who_are_not_certain() -> None:
    """Nothing is said where it is not known who came in; and sets about known people alone raise nothing."""
    ones = np.ones(3, dtype=np.int64)
    one = PublishedGroups(1, np.array([0, 1]), np.array([0, 2]), np.array([0, 1]), ones[:2], np.array([0, 2]))
    two = PublishedGroups(
        2, np.array([0, 1, 2, 3]), np.array([0, 4]), np.array([0, 1]), np.array([2, 1]), np.array([0, 2]),
        sure=np.array([True, True, False, False]),
    )  # fmt: skip
    published = Published((one, two), ("a", "b"))
    found = Channels(l=2).run(published, Knowledge(waiting={1: [2]}, method="Incremental"))
    assert sets(found, "waited", "joined") == []
    assert any("what the waiting of 1 person" in told for told in found.undecided)
    assert found.judge(Limits()).status == "undecided"
    both = PublishedGroups(
        2, np.array([0, 1, 2, 3, 4]), np.array([0, 5]), np.array([0, 1]), np.array([3, 2]), two.value_starts
    )
    later = PublishedGroups(
        3,
        both.members,
        both.member_starts,
        both.values,
        both.counts,
        both.value_starts,
        sure=np.array([True] * 4 + [False]),
    )
    known = Knowledge(waiting={1: [2, 3]}, compromised={2: "a", 3: "a", 4: "b"}, method="Incremental")
    found = Channels(l=2).run(Published((one, both, later), ("a", "b")), known)
    assert sets(found, "waited", "joined") == [(1, "waited", 1, 2), (1, "joined", 1, 1)]
    assert found.judge(Limits()).status == "within" and found.certain == {}


def test_made_up_rows_came_too() -> None:
    """A made-up row takes one of the values of a batch, and is nobody."""
    one = PublishedGroups(
        1, np.array([0, 1]), np.array([0, 2]), np.array([0, 1]), np.ones(2, np.int64), np.array([0, 2])
    )
    two = PublishedGroups(
        2, np.array([0, 1, 2, 3, -1]), np.array([0, 5]), np.array([0, 1]), np.array([3, 2]), np.array([0, 2])
    )
    found = Channels(l=2).run(Published((one, two), ("a", "b")), Knowledge(waiting={1: [2, 3]}, method="Incremental"))
    assert found.certain == {2: "a", 3: "a"} and sets(found, "waited", "joined") == [(1, "waited", 1, 2)]


# Whole views


def random_growth(rng: random.Random, *, splits: bool) -> tuple[Releases, dict[int, list[str]]]:
    """Two releases; classes of the first get newcomers, of whom some are said to have waited, or are split."""
    letters = "abc"[: rng.randint(2, 3)]
    names = iter(f"p{n}" for n in range(100))
    first: Releases = [[]]
    second: list[Group] = []
    waiting = []
    for _ in range(rng.randint(1, 2)):
        old = [(next(names), rng.choice(letters)) for _ in range(rng.randint(1, 3))]
        new = [(next(names), rng.choice(letters)) for _ in range(rng.randint(1, 4))]
        first[0].append(([name for name, _ in old], [value for _, value in old]))
        waiting += [name for name, _ in new if rng.random() < 0.6]
        cut = rng.randint(1, len(old) - 1) if splits and len(old) > 1 and rng.random() < 0.7 else len(old)
        share = rng.randint(0, len(new)) if cut < len(old) else len(new)
        parts = (old[:cut] + new[:share], old[cut:] + new[share:])
        second += [([name for name, _ in part], [value for _, value in part]) for part in parts if part]
    if rng.random() < 0.3:
        alone = [(next(names), rng.choice(letters)) for _ in range(2)]
        second.append(([name for name, _ in alone], [value for _, value in alone]))
        waiting += [name for name, _ in alone if rng.random() < 0.6]
    rng.shuffle(second)
    return [first[0], second], {1: waiting}


def worlds(series: Releases, waiting: list[str], l: int) -> Possible:  # noqa: E741
    """What everybody can have if those who waited and came into one class have fewer than l values."""
    second = series[1]
    options = [sorted(set(permutations(values))) for _, values in second]
    possible: Possible = {name: set() for members, _ in second for name in members}
    for chosen in product(*options):
        world = {
            name: value
            for (members, _), values in zip(second, chosen, strict=True)
            for name, value in zip(members, values, strict=True)
        }
        if any(Counter(world[name] for name in members) != Counter(values) for members, values in series[0]):
            continue
        lists = [{world[name] for name in members if name in waiting} for members, _ in second]
        if all(len(values) < l for values in lists):
            for name, value in world.items():
                possible[name].add(value)
    return possible


@pytest.mark.parametrize("splits", [False, True])
def test_views_against_all_worlds(splits: bool) -> None:
    """Nothing possible is ruled out; and where no class is split, newcomers are left exactly what is possible."""
    told = refuted = unknown = 0
    for seed in range(150):
        rng = random.Random(seed)
        series, waiting = random_growth(rng, splits=splits)
        l = rng.randint(2, 3)  # noqa: E741
        if max(len(members) for members, _ in series[1]) > 7:
            continue
        found = Channels(l=l).run(Published.from_groups(series), knowing(waiting))
        exposure = found.exposure
        assert exposure.waiting_told + exposure.waiting_unknown + exposure.waiting_refuted == len(waiting[1])
        told, unknown = told + exposure.waiting_told, unknown + exposure.waiting_unknown
        possible = worlds(series, waiting[1], l)
        if exposure.waiting_refuted:
            assert not any(possible.values())
            refuted += 1
            continue
        if not any(possible.values()):
            assert exposure.waiting_unknown
            continue
        values = left(found)
        assert all(possible[name] <= values[name] for name in possible)
        assert all(possible[str(name)] == {value} for name, value in found.certain.items())
        assert all(not possible[str(name)] & {*map(str, cannot)} for name, cannot in found.excluded.items())
        if not splits:
            assert exposure.waiting_unknown == 0
            before = {name for members, _ in series[0] for name in members}
            assert all(possible[name] == values[name] for name in possible if name not in before)
        for finding in found.judge(Limits()).findings:
            text = finding.witness.text(found.published)
            assert f"So {found.published.name(finding.people[0])} has " in text and "None" not in text
    assert told > 100 and refuted > 10 and (unknown > 10) == splits


def test_lists_as_the_method_keeps_them() -> None:
    """Lists that grow over several releases, and go in with l values: nobody's true value is ever ruled out."""
    gained = 0
    for seed in range(50):
        rng = random.Random(seed)
        l = rng.randint(2, 3)  # noqa: E741
        truth: dict[str, str] = {}
        classes: list[list[str]] = [[], []]
        lists: list[list[str]] = [[], []]
        series: Releases = []
        waiting: dict[int, list[str]] = {}
        for number in range(1, 6):
            for at in (0, 1):
                for _ in range(rng.randint(1, 3) if series else 4):
                    name = f"p{len(truth)}"
                    truth[name] = rng.choice("aaabbcd") if series else "abcd"[len(truth) % 4]
                    (lists if series else classes)[at].append(name)
                if len({truth[name] for name in lists[at]}) >= l:
                    classes[at] += lists[at]
                    lists[at] = []
            series.append([(list(members), [truth[name] for name in members]) for members in classes])
            waiting[number] = lists[0] + lists[1]
        published = Published.from_groups(series)
        there = set(published.people or ())
        waiting = {number: [name for name in people if name in there] for number, people in waiting.items()}
        found, before = Channels(l=l).run(published, knowing(waiting)), Channels(l=l).run(published)
        assert found.undecided == ()
        values, without = left(found), left(before)
        assert all(truth[name] in values[name] and values[name] <= without[name] for name in there)
        assert before.judge(Limits()).status == "within"
        gained += sum(values[name] < without[name] for name in there)
        assert (found.judge(Limits()).status == "beyond") == bool(found.vulnerable(l).size)
    assert gained > 50
