"""Bounds on who can have which value, against every possible world of a few people."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from worked_examples import worked_examples
from worlds import AllWorlds, series_of

from reissue.errors import ParameterError
from reissue.kernels import transport
from reissue.model.published import Published
from reissue.reasoning.history.trajectories import Trajectories
from reissue.reasoning.worlds import possible as possible_module
from reissue.reasoning.worlds.open_parts import OpenParts
from reissue.reasoning.worlds.possible import Possible, _closest, _Family, _Narrowing, possible
from reissue.reasoning.worlds.worlds_counting import count

Ints = npt.NDArray[np.int64]
Releases = list[list[tuple[list[str], list[str]]]]


def examined(releases: Releases, **options: Any) -> tuple[Published, Trajectories, Possible]:
    published = Published.from_groups(releases)
    ways = Trajectories.of(published)
    return published, ways, possible(ways, **options)


def certain(releases: Releases) -> dict[str, str]:
    """Those whose whole trajectory has one value only."""
    published, ways, found = examined(releases)
    assert published.people is not None
    alone = np.diff(found.starts) == 1
    return {
        published.people[number]: str(published.values[found.values[found.starts[way]]])
        for number, way in zip(ways.numbers, ways.of_member, strict=True)
        if alone[way]
    }


def dense(published: Published, ways: Trajectories, found: Possible) -> tuple[Ints, Ints]:
    """The bounds as trajectories by values."""
    low = np.zeros((ways.people.size, len(published.values)), dtype=np.int64)
    high = np.zeros_like(low)
    way = np.repeat(np.arange(ways.people.size), np.diff(found.starts))
    low[way, found.values], high[way, found.values] = found.low, found.high
    assert (np.diff(found.values)[np.diff(way) == 0] > 0).all()
    assert (found.high > 0).all()
    return low, high


def true_bounds(published: Published, ways: Trajectories, worlds: npt.NDArray[np.int8]) -> tuple[Ints, Ints]:
    low = np.zeros((ways.people.size, len(published.values)), dtype=np.int64)
    high = np.zeros_like(low)
    for way in range(ways.people.size):
        members = ways.numbers[ways.of_member == way]
        for value in range(len(published.values)):
            often = (worlds[:, members] == value).sum(axis=1)
            low[way, value], high[way, value] = often.min(), often.max()
    return low, high


def random_partition(rng: np.random.Generator, people: list[int], most: int) -> list[list[int]]:
    group = rng.integers(0, rng.integers(1, most + 1), len(people))
    parts = [[person for person, of in zip(people, group, strict=True) if of == number] for number in range(most)]
    return [part for part in parts if part]


def random_series(rng: np.random.Generator, *, nested: bool, truths: int = 1) -> Releases:
    """Some people in several releases; with more than one truth the releases may contradict each other."""
    values = int(rng.integers(2, 5))
    count = int(rng.integers(2, {2: 9, 3: 8, 4: 7}[values]))
    truth = [rng.integers(0, values, count) for _ in range(truths)]
    releases: Releases = []
    parts = [list(range(count))]
    for number in range(int(rng.integers(1, 5))):
        if nested and rng.random() < 0.7:
            parts = [piece for part in parts for piece in random_partition(rng, part, 3)]
            shown = [part for part in parts if rng.random() < 0.8]
        else:
            present = [person for person in range(count) if rng.random() < 0.8]
            shown = random_partition(rng, present, 3)
        owned = truth[number % truths]
        releases.append([([f"p{p}" for p in part], [f"v{owned[p]}" for p in part]) for part in shown])
    return releases


@pytest.mark.parametrize("nested", [False, True])
def test_bounds_hold_in_every_world(nested: bool) -> None:
    rng = np.random.default_rng(20 + nested)
    tight = cells = 0
    for _ in range(600):
        published, ways, found = examined(random_series(rng, nested=nested))
        assert not found.contradictory
        assert found.complete
        low, high = dense(published, ways, found)
        least, most = true_bounds(published, ways, AllWorlds.of(series_of(published)).table)
        assert (low <= least).all()
        assert (most <= high).all()
        if len(published.releases) == 1:
            assert (low == least).all()
            assert (most == high).all()
        tight += int(np.count_nonzero((low == least) & (high == most)))
        cells += low.size
    # Propagation cannot see everything, but if this falls it has lost an argument.
    assert tight / cells > 0.995


def test_nothing_is_called_contradictory_that_has_a_world() -> None:
    rng = np.random.default_rng(5)
    seen = {(False, False): 0, (False, True): 0, (True, False): 0}
    for _ in range(700):
        published, ways, found = examined(random_series(rng, nested=bool(rng.integers(2)), truths=2))
        worlds = AllWorlds.of(series_of(published)).table
        if found.contradictory:
            assert not worlds.size
        elif worlds.size:
            low, high = dense(published, ways, found)
            least, most = true_bounds(published, ways, worlds)
            assert (low <= least).all()
            assert (most <= high).all()
        seen[found.contradictory, bool(worlds.size)] += 1
    assert seen[True, False] > 200
    assert seen[False, True] > 35
    assert seen[False, False] < 20


def solutions(people: Ints, counts: Ints, low: Ints, high: Ints) -> list[Ints]:
    """All matrices of whole numbers with these sums between these bounds."""
    rows = [
        [row for row in product(*(range(a, b + 1) for a, b in zip(*bounds, strict=True))) if sum(row) == sent]
        for sent, bounds in zip(people, zip(low, high, strict=True), strict=True)
    ]
    return [matrix for matrix in map(np.array, product(*rows)) if matrix.size and (matrix.sum(axis=0) == counts).all()]


@pytest.mark.parametrize("most", [1, 3])
def test_one_group_is_solved_exactly(most: int) -> None:
    rng = np.random.default_rng(most)
    solvable = narrowed = 0
    for _ in range(600):
        classes, values = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        people = rng.integers(1, most + 1, classes)
        truth = np.array([rng.multinomial(n, np.full(values, 1 / values)) for n in people])
        other = np.array([rng.multinomial(n, np.full(values, 1 / values)) for n in people])
        counts = (other if rng.random() < 0.2 else truth).sum(axis=0)
        low = np.maximum(truth - rng.integers(0, most + 1, truth.shape), 0)
        high = np.minimum(truth + rng.integers(0, most + 1, truth.shape), people[:, None])
        # A group lists the values that it has, no others.
        low, high, counts = low[:, counts > 0], high[:, counts > 0], counts[counts > 0]
        family = _Family(
            np.array([0, classes]), np.arange(classes), np.array([0, counts.size]), np.arange(counts.size), counts,
            np.zeros(1, dtype=np.int64), classes,
        )  # fmt: skip
        narrowing = _Narrowing(family, people, None)
        narrowing.cells = transport.Cells(
            np.arange(classes + 1) * counts.size,
            np.tile(np.arange(counts.size, dtype=np.int32), classes),
            low.astype(np.int32).ravel(),
            high.astype(np.int32).ravel(),
        )
        # In a copy, the cells that nobody has stay where they are.
        cells = narrowing.cells
        narrowing.run(1024)
        every = solutions(people, counts, low, high)
        assert narrowing.contradictory == (not every)
        if every:
            assert (cells.low.reshape(low.shape) == np.min(every, axis=0)).all()
            assert (cells.high.reshape(low.shape) == np.max(every, axis=0)).all()
            solvable += 1
            narrowed += (cells.low.reshape(low.shape) > low).any() or (cells.high.reshape(low.shape) < high).any()
    assert solvable > 300
    assert narrowed > 100


def test_large_groups_are_bounded_soundly() -> None:
    # More than 4,096 classes times values: fixed where it cannot change, but not pushed to the extremes.
    rng = np.random.default_rng(3)
    owned = rng.integers(0, 12, 3000)
    near = np.arange(3000) // 6
    everybody: tuple[list[str], list[str]] = ([f"p{p}" for p in range(3000)], [f"v{v}" for v in owned])
    small = [
        ([f"p{p}" for p in np.flatnonzero(near == n)], [f"v{owned[p]}" for p in np.flatnonzero(near == n)])
        for n in range(500)
        if n % 7
    ]
    published, ways, found = examined([[everybody], small])
    assert not found.contradictory
    low, high = dense(published, ways, found)
    truth = np.zeros_like(low)
    assert published.people is not None
    code = {value: position for position, value in enumerate(published.values)}
    for number, way in zip(ways.numbers, ways.of_member, strict=True):
        truth[way, code[f"v{owned[int(published.people[number][1:])]}"]] += 1
    assert (low <= truth).all()
    assert (truth <= high).all()


def test_what_is_left_of_a_group_is_a_group() -> None:
    # 1 and 2 have different histories, so only the difference of the first two groups says that 3 has an a.
    others = [(["1", "5"], ["a", "b"])]
    assert certain([[(["1", "2", "3"], ["a", "a", "b"])], [(["1", "2"], ["a", "b"])], others])["3"] == "a"


def test_differences_of_differences() -> None:
    whole = [(["1", "2", "3", "4", "5"], ["a", "b", "a", "b", "b"])]
    parts = [[(["1", "2"], ["a", "b"])], [(["3", "4"], ["a", "b"])]]
    others = [(["1", "6"], ["a", "b"]), (["3", "7"], ["a", "b"])]
    assert certain([whole, *parts, others]) == {"5": "b"}


def test_a_difference_that_nobody_could_have_is_a_contradiction() -> None:
    others = [(["1", "5"], ["a", "b"])]
    _, _, found = examined([[(["1", "2", "3"], ["a", "a", "b"])], [(["1", "2"], ["b", "b"])], others])
    assert found.contradictory


def test_he_first_example() -> None:
    attack = worked_examples("he-2011")["attacks"][0]
    assert certain([[tuple(group) for group in release] for release in attack["series"]]) == attack["expect"]["certain"]


def test_he_equivalences_give_no_value_away() -> None:
    for attack in worked_examples("he-2011")["attacks"][1:]:
        series = [[tuple(group) for group in release] for release in attack["series"]]
        assert certain(series) == {}


def test_byun() -> None:
    told = worked_examples("byun-2006")
    series = [[(members, values) for members, _, values in release] for release in told["published"].values()]
    assert certain(series) == told["expect"]["certain"]


def test_riboni() -> None:
    told = worked_examples("riboni-2009")
    series = [[tuple(group) for group in release] for release in told["series"]]
    assert certain(series) == {}
    # Whose value is known is a group of one, in a release of its own.
    expected = told["expect"]["with_compromised"]
    known = [([person], [value]) for person, value in expected["known"].items()]
    published, ways, found = examined([*series, known])
    assert certain([*series, known]) == expected["known"] | expected["certain"]
    assert published.people is not None
    left = {
        published.people[number]: [published.values[v] for v in found.values[found.starts[way] : found.starts[way + 1]]]
        for number, way in zip(ways.numbers, ways.of_member, strict=True)
    }
    assert {person: left[person] for person in expected["restricted"]} == expected["restricted"]


def test_without_time_the_bounds_are_wide_and_say_so() -> None:
    published, ways, found = examined([[(["1", "2"], ["a", "b"])], [(["1", "3"], ["a", "c"])]], seconds=0)
    assert not found.complete
    assert not found.contradictory
    low, high = dense(published, ways, found)
    least, most = true_bounds(published, ways, AllWorlds.of(series_of(published)).table)
    assert (low <= least).all()
    assert (most <= high).all()


def test_nobody_and_nothing() -> None:
    for releases in ([], [[]], [[([], [])]]):
        _, _, found = examined(releases)
        assert found.starts.tolist() == [0]
        assert not found.contradictory


def test_progress_and_repr_say_no_values() -> None:
    told: list[str] = []
    _, _, found = examined([[(["Bob", "Eve"], ["secret", "flu"])]], progress=told.append)
    assert len(told) == 4
    assert repr(found) == "Possible(1 trajectories, 2 values, complete)"


def test_views_that_do_not_fit_are_refused() -> None:
    loose = Published.from_groups([[(["1", "2"], ["a"])]], single=False)
    with pytest.raises(ParameterError, match="1 group of 1 have more or fewer values than members"):
        possible(Trajectories.of(loose))
    with pytest.raises(ParameterError, match="'seconds' parameter of possible"):
        possible(Trajectories.of(Published.from_groups([])), seconds=-1)


def test_members_are_mapped_to_their_trajectories() -> None:
    releases: Releases = [[(["1", "2"], ["a", "b"]), (["3"], ["a"])], [(["1", "2"], ["a", "b"]), (["4"], ["c"])]]
    _, ways, _ = examined(releases)
    assert ways.numbers.tolist() == [0, 1, 2, 3]
    assert ways.of_member[0] == ways.of_member[1]
    assert len(set(ways.of_member.tolist())) == 3
    assert ways.people.tolist() == np.bincount(ways.of_member).tolist()
    told = [ways.groups[ways.starts[way] : ways.starts[way + 1]].tolist() for way in ways.of_member]
    assert told == [[0, 2], [0, 2], [1], [3]]


def test_what_is_left_open_when_time_is_out_still_makes_a_model() -> None:
    """Values that another group of a class does not have were not crossed out: nobody has them in any world."""
    rng = np.random.default_rng(3)
    unfinished = 0
    for _ in range(150):
        releases = random_series(rng, nested=False)
        _, ways, found = examined(releases, seconds=0)
        finished = possible(ways)
        for part in OpenParts(ways, found):
            model = OpenParts(ways, found).model(part)
            counted = count(model)
            assert counted is not None
            for one, states, often in zip(part.classes.tolist(), model.states, counted.by_state, strict=True):
                entries = slice(int(found.starts[one]), int(found.starts[one + 1]))
                kept = slice(int(finished.starts[one]), int(finished.starts[one + 1]))
                crossed_out = ~np.isin(found.values[entries], finished.values[kept])
                assert len(states) == crossed_out.size
                assert all(often[at] == 0 for at in np.flatnonzero(crossed_out))
                unfinished += int(crossed_out.sum())
    assert unfinished > 50


def test_contradictions_that_time_was_too_short_for_make_a_model_without_a_world(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    left = 0

    def passed(*_: object) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    monkeypatch.setattr(possible_module, "passed", passed)
    monkeypatch.setattr(possible_module, "BATCH", 1)
    none = 0
    for _ in range(1500):
        left = int(rng.integers(1, 12))
        _, ways, found = examined(random_series(rng, nested=bool(rng.random() < 0.5), truths=2), seconds=1)
        if found.contradictory:
            continue
        parts = OpenParts(ways, found)
        counted = [count(parts.model(part)) for part in parts]
        none += sum(one is not None and not one.total for one in counted)
    assert none > 10


@pytest.mark.parametrize("at_once", [1, 7, 1_000_000])
def test_pairs_with_nothing_between_them_are_the_same_in_parts(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(possible_module, "AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    none = np.zeros(0, dtype=np.int64)
    assert not _closest(none, none, 4).size
    for _ in range(50):
        inner, outer = np.nonzero(np.triu(rng.random((9, 9)) < 0.4, 1))
        pairs = {*zip(inner.tolist(), outer.tolist(), strict=True)}
        expected = [
            not any((a, c) in pairs and (c, b) in pairs for c in range(9)) for a, b in zip(inner, outer, strict=True)
        ]
        assert _closest(inner, outer, 9).tolist() == expected
