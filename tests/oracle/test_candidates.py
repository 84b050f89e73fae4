"""Intersected groups against plain sets, and against every possible world of a few people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from worked_examples import worked_examples
from worlds import worlds

from reissue.errors import ParameterError
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.worlds.candidates import Candidates, candidates

Releases = list[list[tuple[list[str], list[object]]]]


def exposed(published: Published, found: Candidates) -> dict[str, object]:
    """The names of those exposed, with their values."""
    assert published.people is not None
    assert found.exposed.tolist() == found.people[found.only >= 0].tolist()
    return {
        published.people[person]: published.values[value]
        for person, value in zip(found.people, found.only, strict=True)
        if value >= 0
    }


def by_sets(releases: Releases) -> dict[str, set[object]]:
    left: dict[str, set[object]] = {}
    for release in releases:
        for members, values in release:
            for person in members:
                left[person] = left.get(person, set(values)) & set(values)
    return left


def agrees_with_sets(releases: Releases) -> None:
    published = Published.from_groups(releases)
    found = candidates(published)
    left = by_sets(releases)
    names = published.people
    assert names is not None
    assert {names[person]: count for person, count in zip(found.people, found.counts, strict=True)} == {
        person: len(values) for person, values in left.items()
    }
    assert exposed(published, found) == {
        person: next(iter(values)) for person, values in left.items() if len(values) == 1
    }
    assert {names[person] for person in found.contradictory} == {
        person for person, values in left.items() if not values
    }
    assert found.exposed_after.tolist() == [
        sum(len(values) == 1 for values in by_sets(releases[: count + 1]).values()) for count in range(len(releases))
    ]
    assert (np.diff(found.people) > 0).all()


@st.composite
def series(draw: st.DrawFn, *, people: int, values: int, changing: bool = False) -> Releases:
    """Some people, in and out of several releases, grouped at random."""
    names = [f"p{number}" for number in range(draw(st.integers(1, people)))]
    value = st.integers(0, values - 1)
    owned = {name: draw(value) for name in names}
    releases: Releases = []
    for _ in range(draw(st.integers(1, 4))):
        if changing:
            owned[draw(st.sampled_from(names))] = draw(value)
        groups: dict[int, list[str]] = {}
        for name in names:
            group = draw(st.integers(-1, 2))
            if group >= 0:
                groups.setdefault(group, []).append(name)
        releases.append([(members, [owned[name] for name in members]) for members in groups.values()])
    return releases


@examples(30)
@given(series(people=7, values=3))
def test_exposed_people_have_that_value_in_every_world(releases: Releases) -> None:
    published = Published.from_groups(releases)
    found = candidates(published)
    possible = list(worlds(releases))
    assert possible
    for person, value in exposed(published, found).items():
        assert {world[person] for world in possible} == {value}
    # Nothing that some world allows is crossed out.
    left = by_sets(releases)
    assert all(world[person] in left[person] for world in possible for person in world)
    assert found.contradictory.size == 0


@examples(30)
@given(series(people=9, values=5, changing=True))
def test_same_as_plain_sets(releases: Releases) -> None:
    agrees_with_sets(releases)


@pytest.mark.parametrize("values", [1, 2, 63, 64, 65, 128, 129, 700])
def test_more_values_than_fit_one_word(values: int) -> None:
    rng = np.random.default_rng(values)
    for _ in range(5):
        owned = rng.integers(0, values, size=60)
        owned[:2] = values - 1
        # Somebody else for every value, so that all of them are in the view and take a place in its words.
        releases: Releases = [[([f"q{value}" for value in range(values)], list(range(values)))]]
        for _ in range(4):
            present = rng.permutation(60)[: rng.integers(1, 60)]
            owned[rng.integers(0, 60)] = rng.integers(0, values)
            cuts = np.sort(rng.integers(0, present.size, size=8))
            parts = [part for part in np.split(present, cuts) if part.size]
            releases.append([([f"p{n}" for n in part], [int(owned[n]) for n in part]) for part in parts])
        agrees_with_sets(releases)


def test_by_hand() -> None:
    releases: Releases = [
        [(["a", "b"], ["flu", "cold"]), (["c", "d"], ["cold", "gout"])],
        [(["a", "c"], ["flu", "cold"]), (["e", "f"], ["gout", "gout"])],
        [(["d", "b"], ["gout", "cold"])],
    ]
    published = Published.from_groups(releases)
    found = candidates(published)
    # c after release 2, when e and f share one value; b after release 3. Then a must have flu and d gout, but
    # only counting finds that.
    assert exposed(published, found) == {"b": "cold", "c": "cold", "e": "gout", "f": "gout"}
    assert found.exposed_after.tolist() == [0, 3, 4]
    assert repr(found) == "Candidates(6 people, 4 exposed, 0 contradictory)"


def test_changed_values_are_contradictions_not_exposures() -> None:
    releases: Releases = [[(["a", "b"], ["flu", "cold"])], [(["a", "c"], ["gout", "mumps"])]]
    found = candidates(Published.from_groups(releases))
    assert found.contradictory.size == 1
    assert found.exposed.size == 0
    assert found.only.tolist() == [-1, -1, -1]


def release(number: int, members: list[int], values: list[int]) -> PublishedGroups:
    """One group."""
    held, counts = np.unique(values, return_counts=True)
    return PublishedGroups(
        number,
        np.array(members),
        np.array([0, len(members)]),
        held.astype(np.int64),
        counts.astype(np.int64),
        np.array([0, held.size]),
    )


def test_counterfeits_are_nobody() -> None:
    published = Published((release(1, [900, -1], [0, 1]), release(2, [900, -2, -1], [0, 2, 2])), ("a", "b", "c"))
    found = candidates(published)
    assert found.people.tolist() == [900]
    assert found.only.tolist() == [0]
    assert found.exposed_after.tolist() == [0, 1]


def test_nothing_published() -> None:
    found = candidates(Published((), ()))
    assert (found.people.size, found.exposed_after.size, found.exposed.size) == (0, 0, 0)
    none, ends = np.zeros(0, dtype=np.int64), np.array([0])
    empty = PublishedGroups(2, none, ends, none, none, ends)
    found = candidates(Published((release(1, [4], [0]), empty), ("a",)))
    assert found.exposed_after.tolist() == [1, 1]


def test_views_that_cannot_be_intersected() -> None:
    with pytest.raises(ParameterError, match="exactly one value"):
        candidates(Published.from_groups([[(["a", "b"], ["flu"])]], single=False))
    with pytest.raises(ParameterError, match="Release 1 lists people more than once: 1 membership"):
        candidates(Published.from_groups([[(["a", "b"], ["flu", "x"]), (["a"], ["flu"])]]))


def test_alice_of_he_2011() -> None:
    attack = worked_examples("he-2011")["attacks"][0]
    series: Releases = [[(members, values) for members, values in groups] for groups in attack["series"]]
    published = Published.from_groups(series)
    found = exposed(published, candidates(published))
    assert found["Alice"] == "cancer"
    assert found.items() <= attack["expect"]["certain"].items()


def test_bob_of_byun_2006() -> None:
    paper = worked_examples("byun-2006")
    series: Releases = [
        [(members, values) for members, _, values in paper["published"][state]] for state in ("T0", "T1")
    ]
    published = Published.from_groups(series)
    found = exposed(published, candidates(published))
    assert found["Bob"] == "Alzheimer"
    assert found.items() <= paper["expect"]["certain"].items()
