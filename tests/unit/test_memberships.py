"""Who is in which groups, against plain dictionaries."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from reissue.model.memberships import NOWHERE, Memberships
from reissue.model.published import Published, PublishedGroups

Groups = list[list[int]]


def view(series: list[Groups]) -> Published:
    """Groups of members; each group shows a value of its own, and the first one of all."""
    releases = []
    for number, groups in enumerate(series, start=1):
        sizes = [len(group) for group in groups]
        releases.append(
            PublishedGroups(
                2 * number,
                np.array([person for group in groups for person in group], dtype=np.int64),
                np.cumsum([0, *sizes]),
                np.arange(len(groups)),
                np.arange(1, len(groups) + 1),
                np.arange(len(groups) + 1),
            )
        )
    return Published(tuple(releases), tuple("abcdef"), None, False)


def random_series(rng: random.Random, *, several: bool) -> list[Groups]:
    """Counterfeits are below 0; with `several`, people may be listed in several groups of a release."""
    people = [rng.choice([1, 10**9]) * n for n in range(-5, rng.choice([5, 60]))]
    series = []
    for _ in range(rng.randint(1, 5)):
        groups: Groups = [[] for _ in range(rng.randint(1, 6))]
        for person in sorted(set(rng.sample(people, rng.randint(0, len(people))))):
            for group in rng.sample(groups, rng.randint(1, len(groups)) if several else 1):
                group.append(person)
        for group in groups:
            rng.shuffle(group)
        series.append(groups)
    return series


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_memberships_are_those_of_plain_lists(seed: int, several: bool) -> None:
    series = random_series(random.Random(seed), several=several)
    published = view(series)
    where = published.index
    spots: dict[int, list[tuple[int, int]]] = {}
    for at, groups in enumerate(series):
        for group, members in enumerate(groups):
            for person in members:
                spots.setdefault(person, []).append((at, group))
    assert where.people.tolist() == sorted(spots)
    assert where.made_up == sum(person < 0 for person in spots)
    assert {person: where.of_person(person) for person in spots} == spots
    assert where.of_person(12345) == []
    assert where.places(np.array([12345, *spots])).tolist() == [-1, *(sorted(spots).index(person) for person in spots)]
    flat = [(2 * at + 2, group + 1) for at, groups in enumerate(series) for group in range(len(groups))]
    assert list(zip(where.release.tolist(), where.group.tolist(), strict=True)) == flat
    every = [members for groups in series for members in groups]
    assert [where.of_group(group).tolist() for group in range(len(every))] == [sorted(some) for some in every]
    assert where.value_starts.tolist() == list(range(len(every) + 1))
    assert where.values.tolist() == [group - 1 for _, group in flat] and where.counts.tolist() == [g for _, g in flat]
    twice, too_many = where.again
    for at in range(len(series)):
        often = [Counter(release for release, _ in some)[at] for some in spots.values()]
        assert twice[at] == sum(count > 1 for count in often)
        assert too_many[at] == sum(max(count - 1, 0) for count in often)
        assert where.people[where.member[where.entries(at)]].tolist() == [p for group in series[at] for p in group]


@pytest.mark.parametrize("seed", range(60))
def test_places_and_histories(seed: int) -> None:
    series = random_series(random.Random(seed), several=False)
    where = view(series).index
    expected = [
        [next((g for g, group in enumerate(groups) if person in group), NOWHERE) for person in where.people.tolist()]
        for groups in series
    ]
    assert where.place.tolist() == expected
    tree = where.histories
    for at in range(len(series)):
        here = where.member[where.entries(at)]
        so_far = [tuple(row[place] for row in expected[: at + 1]) for place in here.tolist()]
        after = tree.after[where.entries(at)].tolist()
        assert len(set(after)) == len(set(so_far)) == len(set(zip(after, so_far, strict=True)))
    for place, history in enumerate(tree.last.tolist()):
        walked = []
        while history:
            walked.append(int(tree.group[history]))
            history = int(tree.parent[history])
        assert walked[::-1] == where.groups[where.group_starts[place] : where.group_starts[place + 1]].tolist()


def test_a_view_works_it_out_once() -> None:
    published = view([[[5, -1], [7]], [[7, 5]]])
    assert published.index is published.index
    assert published.index.groups is published.index.groups
    assert repr(published.index) == "Memberships(3 members in 3 groups)"


def test_nobody() -> None:
    where = Memberships(())
    assert where.people.size == where.groups.size == where.values.size == where.histories.last.size == 0
    assert where.bounds.tolist() == where.starts.tolist() == where.value_starts.tolist() == [0]
    assert where.place.shape == (0, 0) and where.again[0].size == 0 and where.of_person(1) == []


def test_names_and_numbers() -> None:
    named = Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])]])
    assert [named.number(name) for name in ("Alice", "Bob", "Carla", 0)] == [0, 1, -1, -1]
    assert view([[[5]]]).number(5) == 5 and view([[[5]]]).number("5") == -1
