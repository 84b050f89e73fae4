"""Overlaps of groups against plain sets."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from profiles import seeds

from reissue.errors import ParameterError
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history.overlaps import overlaps, overlaps_between, overlaps_by_release

Groups = list[list[int]]


def release(number: int, groups: Groups, sure: bool = True) -> PublishedGroups:
    """Groups of members; all have one value."""
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    members = np.array([person for group in groups for person in group], dtype=np.int64)
    return PublishedGroups(
        number,
        members,
        np.concatenate([[0], np.cumsum(sizes)]),
        np.zeros(len(groups), dtype=np.int64),
        np.maximum(sizes, 1),
        np.arange(len(groups) + 1),
        sure=None if sure else np.zeros(members.size, dtype=bool),
    )


def view(series: list[Groups], sure: bool = True) -> Published:
    return Published(tuple(release(n, groups, sure) for n, groups in enumerate(series, start=1)), ("flu",), None, False)


def by_sets(series: list[Groups]) -> list[tuple[int, int, int]]:
    flat = [(number, set(group)) for number, groups in enumerate(series) for group in groups]
    return [
        (a, b, len(flat[a][1] & flat[b][1]))
        for a in range(len(flat))
        for b in range(a + 1, len(flat))
        if flat[a][0] != flat[b][0] and flat[a][1] & flat[b][1]
    ]


def random_series(rng: random.Random, *, several: bool) -> list[Groups]:
    """Counterfeits are below 0; with `several`, people may be listed in several groups of a release."""
    people = [rng.choice([1, 10**9]) * n for n in range(-5, rng.choice([5, 90]))]
    series = []
    for _ in range(rng.randint(1, 5)):
        chosen = sorted(set(rng.sample(people, rng.randint(0, len(people)))))
        groups: Groups = [[] for _ in range(rng.randint(1, 6))]
        for person in chosen:
            for group in rng.sample(groups, rng.randint(1, len(groups)) if several else 1):
                group.append(person)
        for group in groups:
            rng.shuffle(group)
        series.append(groups)
    return series


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", seeds(20, 400))
def test_overlaps_are_those_of_plain_sets(seed: int, several: bool) -> None:
    rng = random.Random(seed)
    series = random_series(rng, several=several)
    published, expected = view(series, sure=not several), by_sets(series)
    found = overlaps(published)
    assert list(zip(found.first.tolist(), found.second.tolist(), found.shared.tolist(), strict=True)) == expected
    least = rng.randint(1, 4)
    fewer = overlaps(published, least=least)
    assert list(zip(fewer.first, fewer.second, fewer.shared, strict=True)) == [
        row for row in expected if row[2] >= least
    ]
    parts = list(overlaps_by_release(published))
    assert len(parts) == len(series) - 1
    assert sum(part.first.size for part in parts) == len(expected)


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_two_releases_count_their_own_groups(seed: int) -> None:
    rng = random.Random(seed)
    series = [random_series(rng, several=True)[0] for _ in range(rng.randint(2, 5))]
    published = view(series, sure=False)
    for earlier, later in combinations(range(len(series)), 2):
        found = overlaps_between(published, earlier, later)
        one, two = series[earlier], series[later]
        expected = [(a, b - len(one), shared) for a, b, shared in by_sets([one, two])]
        assert list(zip(found.first.tolist(), found.second.tolist(), found.shared.tolist(), strict=True)) == expected


def test_a_large_group_over_many() -> None:
    """More groups than the passes first make room for."""
    many = [[n] for n in range(5000)]
    found = overlaps(view([[list(range(5000))], many, many]))
    assert found.first.size == 15_000 and (found.shared == 1).all()
    assert found.second[:10_000].tolist() == list(range(1, 10_001))


def test_nothing_is_shared_in_a_series_of_none_or_one() -> None:
    assert overlaps(Published((), ())).first.size == 0
    assert overlaps(view([[[1, 2]]])).first.size == 0


def test_at_least_one_member_is_shared() -> None:
    with pytest.raises(ParameterError, match=r"The 'least' parameter of overlaps must be .* Got 0 instead\."):
        overlaps(view([[[1]], [[1]]]), least=0)
