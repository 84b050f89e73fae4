"""Counting, sampling and searching worlds against writing all of them down."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from profiles import sized
from worked_examples import worked_examples

from reissue.errors import ParameterError
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.worlds import worlds_equations, worlds_sampling, worlds_search
from reissue.reasoning.worlds.worlds_counting import count
from reissue.reasoning.worlds.worlds_model import Model, PersonState, components, model_of
from reissue.reasoning.worlds.worlds_sampling import sample
from reissue.reasoning.worlds.worlds_search import World, find_world

Story = tuple[int | None, tuple[int | None, ...]]
"""A value (None for who was nowhere) and for each release the group one was in (None for absence)."""


# The oracle: everybody's stories, and all ways to choose them that add up to what was published.


def stories(published: Published, person: int, known: dict[int, int]) -> list[Story]:
    places: list[list[int | None]] = []
    for release in published.releases:
        listed: list[int | None] = []
        certain: list[int | None] = []
        for group in range(release.group_count):
            for at in range(release.member_starts[group], release.member_starts[group + 1]):
                if release.members[at] == person and group not in listed:
                    listed.append(group)
                if release.members[at] == person and (release.sure is None or release.sure[at]):
                    certain = [group]
        absent = not listed or release.present is None or person not in release.present
        places.append(certain or listed + [None] * absent)
    values = [known[person]] if person in known else range(len(published.values))
    found: list[Story] = []
    for way in product(*places):
        if all(place is None for place in way):
            found.append((None, way))
        else:
            found += [(value, way) for value in values]
    return found


def all_worlds(published: Published, known: dict[int, int]) -> Iterator[dict[int, Story]]:
    people = sorted({int(person) for release in published.releases for person in release.members})
    left: dict[tuple[int, int, int | None], int] = {
        (at, group, int(release.values[place])): int(release.counts[place])
        for at, release in enumerate(published.releases)
        for group in range(release.group_count)
        for place in range(release.value_starts[group], release.value_starts[group + 1])
    }
    choices = {person: stories(published, person, known) for person in people}

    def choose(rest: list[int], world: dict[int, Story]) -> Iterator[dict[int, Story]]:
        if not rest:
            if not any(left.values()):
                yield dict(world)
            return
        person = rest[0]
        for value, way in choices[person]:
            needed = [(at, group, value) for at, group in enumerate(way) if group is not None]
            if all(left.get(one, 0) > 0 for one in needed):
                for one in needed:
                    left[one] -= 1
                yield from choose(rest[1:], {**world, person: (value, way)})
                for one in needed:
                    left[one] += 1

    yield from choose(people, {})


def by_value(worlds: list[dict[int, Story]]) -> Counter[tuple[int, int | None]]:
    return Counter((person, story[0]) for world in worlds for person, story in world.items())


def random_view(random: Random, *, unsure: bool, most: int = 8) -> Published:
    """A view of a few people that has a world, unless somebody meddled with a value."""
    people = list(range(random.randint(most // 2, most)))
    people[:1] = [-1] if random.random() < 0.2 else people[:1]  # a counterfeit
    values = random.randint(2, 4)
    truth = {person: random.randrange(values) for person in people}
    order = random.sample(people, len(people))
    releases = []
    for number in range(1, random.randint(1, 3) + 1):
        if random.random() < 0.3:
            random.shuffle(order)  # otherwise the groups are much like those before: nested, or overlapping at the ends
        here = [person for person in order if random.random() < 0.9]
        size = random.randint(2, most)
        groups = [here[at : at + size] for at in range(0, len(here), size)]
        listed = [[(person, True) for person in group] for group in groups]
        present = set()
        if unsure and groups and random.random() < 0.7:
            for person in people:
                if random.random() < 0.5:
                    continue
                listed = [[(who, who != person and sure) for who, sure in group] for group in listed]
                for group, entries in zip(groups, listed, strict=True):
                    if person not in group and random.random() < 0.4:
                        entries.append((person, False))
                if person in here and random.random() < 0.5:
                    present.add(person)
        published = [Counter(truth[person] for person in group) for group in groups]
        if published and random.random() < 0.05:
            meddled = random.choice(published)
            meddled[next(iter(meddled))] -= 1
            meddled[random.randrange(values)] += 1
        held = [sorted((value, often) for value, often in group.items() if often) for group in published]
        uncertain = any(not sure for group in listed for _, sure in group)
        releases.append(
            PublishedGroups(
                number=number,
                members=np.array([person for group in listed for person, _ in group], dtype=np.int64),
                member_starts=np.cumsum([0, *map(len, listed)]),
                values=np.array([value for group in held for value, _ in group], dtype=np.int64),
                counts=np.array([often for group in held for _, often in group], dtype=np.int64),
                value_starts=np.cumsum([0, *map(len, held)]),
                sure=np.array([sure for group in listed for _, sure in group], dtype=bool) if uncertain else None,
                present=np.array(sorted(present), dtype=np.int64) if uncertain and present else None,
            )
        )
    return Published(tuple(releases), tuple(range(values)))


def random_known(random: Random, published: Published) -> dict[int, int]:
    people = sorted({int(person) for release in published.releases for person in release.members if person >= 0})
    if not people or random.random() < 0.6:
        return {}
    return {random.choice(people): random.randrange(len(published.values))}


def as_arrays(known: dict[int, int]) -> tuple[Any, Any]:
    return np.array(list(known), dtype=np.int64), np.array(list(known.values()), dtype=np.int64)


def views(seed: int, number: int, *, unsure: bool, most: int = 8) -> Iterator[tuple[Published, dict[int, int]]]:
    for at in range(number):
        random = Random(f"{seed} {at}")
        published = random_view(random, unsure=unsure, most=most)
        yield published, random_known(random, published)


# Counting.


@pytest.mark.parametrize("unsure", [False, True])
def test_counts_are_those_of_all_worlds(unsure: bool) -> None:
    kinds: Counter[str] = Counter()
    for published, known in views(1, sized(150, 1200), unsure=unsure, most=6 if unsure else 8):
        worlds = list(all_worlds(published, known))
        expected = by_value(worlds)
        model, people, of_class = model_of(published, known=as_arrays(known))
        whole = count(model)
        assert whole is not None
        assert whole.total == len(worlds)
        found: Counter[tuple[int, int | None]] = Counter()
        for person, at in zip(people.tolist(), of_class.tolist(), strict=True):
            assert sum(whole.by_state[at]) == whole.total
            for state, often in zip(model.states[at], whole.by_state[at], strict=True):
                found[person, state.value] += often
        assert +found == expected
        kinds["impossible"] += not worlds
        kinds["open"] += len(worlds) > 20

        total = 1
        shares: dict[tuple[int, int | None], Fraction] = {}
        seen = []
        for part, classes in components(model):
            counted = count(part)
            assert counted is not None
            total *= counted.total
            seen += classes.tolist()
            assert part.sizes == tuple(model.sizes[at] for at in classes)
            for place, at in enumerate(classes.tolist()):
                for person in people[of_class == at].tolist():
                    for state, often in zip(part.states[place], counted.by_state[place], strict=True):
                        if counted.total:
                            share = Fraction(often, counted.total)
                            shares[person, state.value] = shares.get((person, state.value), Fraction()) + share
        assert total == len(worlds)
        assert sorted(seen) == list(range(len(model.sizes)))
        if worlds:
            assert {key: share for key, share in shares.items() if share} == {
                key: Fraction(often, len(worlds)) for key, often in expected.items()
            }
        kinds["split"] += len(shares) > 0 and len(seen) > 1
    assert min(kinds["impossible"], kinds["open"], kinds["split"]) >= sized(2, 10)


# Searching.


@pytest.mark.parametrize("unsure", [False, True])
def test_a_world_is_found_where_there_is_one_and_only_there(unsure: bool) -> None:
    answers: Counter[bool] = Counter()
    for published, known in views(2, sized(60, 400), unsure=unsure, most=6):
        worlds = list(all_worlds(published, known))
        model, people, of_class = model_of(published, known=as_arrays(known))
        assert bool(find_world(model)) == bool(worlds)
        possible = {(person, story) for world in worlds for person, story in world.items()}
        for at, states in enumerate(model.states):
            person = int(people[np.argmax(of_class == at)])
            for number, state in enumerate(states):
                # The story of a state: its counters are places in the lists of published values.
                way: list[int | None] = [None] * len(published.releases)
                for counter in state.counters:
                    start = 0
                    for release_at, release in enumerate(published.releases):
                        if start <= counter < start + release.values.size:
                            place = counter - start
                            way[release_at] = int(np.searchsorted(release.value_starts, place, side="right")) - 1
                            assert release.values[place] == state.value
                        start += release.values.size
                expected = (person, (state.value, tuple(way))) in possible
                found = find_world(model, require=(at, number))
                assert bool(found) == expected
                answers[expected] += 1
                if isinstance(found, World):
                    assert found.counts[at][number] > 0
                    agrees(model, found)
    assert min(answers.values()) > sized(30, 100)


def agrees(model: Model, world: World) -> None:
    reached = [0] * len(model.targets)
    for size, states, numbers in zip(model.sizes, model.states, world.counts, strict=True):
        assert sum(numbers) == size
        assert min(numbers) >= 0
        for state, number in zip(states, numbers, strict=True):
            for counter in state.counters:
                reached[counter] += number
    assert tuple(reached) == model.targets


def test_contradictions_that_only_adding_up_shows() -> None:
    # Fourteen people for thirteen places, each with two ways out that are one place short as well.
    places = 13
    states = tuple(PersonState(0, (place,)) for place in range(places))
    assert find_world(Model((1,) * (places + 1), (states,) * (places + 1), (1,) * places)) is False
    more = tuple((*states, PersonState(1, (places + person % 2,))) for person in range(places + 3))
    assert find_world(Model((1,) * (places + 3), more, (1,) * (places + 2))) is False
    assert isinstance(find_world(Model((1,) * (places + 2), more[:-1], (1,) * (places + 2))), World)


def test_a_search_out_of_time_is_undecided() -> None:
    random = Random(1)
    truth = [random.randrange(5) for _ in range(300)]
    orders = [random.sample(range(300), 300) for _ in range(4)]
    series = [
        [([str(p) for p in some[at : at + 30]], [truth[p] for p in some[at : at + 30]]) for at in range(0, 300, 30)]
        for some in orders
    ]
    model, _, _ = model_of(Published.from_groups(series))
    assert find_world(model, require=(0, 0), deadline=time.monotonic()) is None


def test_what_is_required_must_be_there() -> None:
    with pytest.raises(ParameterError, match="'require' parameter of find_world"):
        find_world(Model((1,), ((PersonState(0, ()),),), ()), require=(0, 1))


# Sampling.


@pytest.mark.parametrize("unsure", [False, True])
def test_samples_are_within_four_standard_errors(unsure: bool) -> None:
    asked, beyond_two, useless = 0, 0, 0
    for at, (published, known) in enumerate(views(3, sized(50, 300), unsure=unsure)):
        model, _, _ = model_of(published, known=as_arrays(known))
        counted = count(model)
        assert counted is not None
        found = sample(model, np.random.default_rng(at), draws=1500)
        if not counted.total:
            assert found is None
            continue
        if found is None:
            useless += 1
            continue
        assert found.effective >= 100
        for exact, estimates, errors in zip(counted.by_state, found.by_state, found.standard_error, strict=True):
            assert math.isclose(sum(estimates), 1.0)
            for often, estimate, error in zip(exact, estimates, errors, strict=True):
                share = often / counted.total
                assert abs(estimate - share) <= 4 * error + 1e-12
                if 0 < often < counted.total:
                    asked += 1
                    beyond_two += abs(estimate - share) > 2 * error
    assert asked > sized(60, 200)
    assert beyond_two < 0.1 * asked
    assert useless < sized(4, 12)


def test_one_release_is_sampled_evenly() -> None:
    model, _, _ = model_of(Published.from_groups([[(list("abcdef"), [1, 1, 1, 2, 2, 3])]]))
    found = sample(model, np.random.default_rng(1), draws=400)
    assert found is not None
    assert found.dead_ends == 0
    assert math.isclose(found.effective, 400)
    again = sample(model, np.random.default_rng(1), draws=400)
    assert again is not None
    assert again.by_state == found.by_state


def test_a_larger_series_sampled_and_counted() -> None:
    model, _, _ = model_of(balanced(Random(2), 60, 4, 2))
    counted = count(model)
    found = sample(model, np.random.default_rng(2), draws=3000)
    assert counted is not None
    assert found is not None
    for exact, estimates, errors in zip(counted.by_state, found.by_state, found.standard_error, strict=True):
        for often, estimate, error in zip(exact, estimates, errors, strict=True):
            assert Fraction(often, counted.total) == Fraction(1, 4)  # values of a signature are exchangeable
            assert abs(estimate - 0.25) <= 4 * error


def test_too_few_draws_give_no_number() -> None:
    model, _, _ = model_of(balanced(Random(2), 60, 4, 2))
    assert sample(model, np.random.default_rng(2), draws=50) is None


def balanced(random: Random, people: int, values: int, releases: int) -> Published:
    """Everybody in groups that have each value once, grouped anew in every release."""
    truth = [person % values for person in range(people)]
    series = []
    for _ in range(releases):
        holders = [[person for person in range(people) if truth[person] == value] for value in range(values)]
        for some in holders:
            random.shuffle(some)
        groups: list[tuple[list[str], list[object]]] = [
            ([str(person) for person in members], list(range(values))) for members in zip(*holders, strict=True)
        ]
        series.append(groups)
    return Published.from_groups(series)


# The papers' examples.


def posterior(published: Published) -> dict[str, dict[object, Fraction]]:
    assert published.people is not None
    model, people, of_class = model_of(published)
    found: dict[str, dict[object, Fraction]] = {}
    for part, classes in components(model):
        counted = count(part)
        assert counted is not None
        for place, at in enumerate(classes.tolist()):
            for person in people[of_class == at].tolist():
                found[published.people[person]] = {
                    published.values[state.value]: Fraction(often, counted.total)
                    for state, often in zip(part.states[place], counted.by_state[place], strict=True)
                    if state.value is not None and often
                }
    return found


def test_the_first_example_of_he() -> None:
    attack = worked_examples("he-2011")["attacks"][0]
    found = posterior(Published.from_groups(attack["series"]))
    for person, value in attack["expect"]["certain"].items():
        assert found[person] == {value: 1}
    for person, values in attack["expect"]["posterior"].items():
        assert found[person] == {value: Fraction(share) for value, share in values.items()}


def test_the_example_of_riboni() -> None:
    found = posterior(Published.from_groups(worked_examples("riboni-2009")["series"]))
    assert set(found) == {"Alice", "Betty", "Carl", "Doris", "Erica", "Fiona", "Grace", "Hanna"}
    for values in found.values():
        assert values == dict.fromkeys(["AIDS", "bronchitis", "cancer"], Fraction(1, 3))


# Limits and refusals.


def test_large_classes_have_large_exact_numbers() -> None:
    # Two classes of 300 over three values that share one counter for each: 600! / (200!)^3 worlds.
    states = tuple(PersonState(value, (value,)) for value in range(3))
    counted = count(Model((300, 300), (states, states), (200, 200, 200)))
    assert counted is not None
    assert counted.total == math.factorial(600) // math.factorial(200) ** 3
    assert all(3 * often == counted.total for some in counted.by_state for often in some)


def test_counting_gives_up_when_it_costs_too_much() -> None:
    model, _, _ = model_of(balanced(Random(2), 60, 4, 2))
    assert count(model, effort=1000) is None
    assert count(model, deadline=time.monotonic()) is None


def test_no_people_and_no_releases() -> None:
    model, people, of_class = model_of(Published((), ()))
    assert (people.size, of_class.size, list(components(model))) == (0, 0, [])
    counted = count(model)
    assert counted is not None
    assert counted.total == 1
    assert isinstance(find_world(model), World)


def test_a_counter_that_nobody_can_reach() -> None:
    model = Model((1,), ((PersonState(0, ()),),), (1,))
    counted = count(model)
    assert counted is not None
    assert counted.total == 0
    assert find_world(model) is False
    assert math.prod(one.total for part, _ in components(model) if (one := count(part)) is not None) == 0


def test_views_that_cannot_be_written_out_are_refused() -> None:
    group = PublishedGroups(
        number=1,
        members=np.arange(12).repeat(2).reshape(12, 2).T.ravel(),
        member_starts=np.array([0, 12, 24]),
        values=np.array([0, 1, 0, 1]),
        counts=np.array([3, 3, 3, 3]),
        value_starts=np.array([0, 2, 4]),
        sure=np.zeros(24, dtype=bool),
    )
    series = Published(tuple(PublishedGroups(**{**vars(group), "number": n}) for n in range(1, 9)), ("a", "b"))
    with pytest.raises(ParameterError, match="more than 1,000 combinations"):
        model_of(series, limit=1000)
    model, _, _ = model_of(series, limit=20_000)
    assert model.sizes == (12,)
    assert len(model.states[0]) == 2 * (3**8 - 1) + 1
    with pytest.raises(ParameterError, match="several values or none"):
        model_of(Published(series.releases, ("a", "b"), single=False))
    twice = PublishedGroups(**{**vars(group), "sure": np.ones(24, dtype=bool), "counts": np.array([6, 6, 6, 6])})
    with pytest.raises(ParameterError, match="12 memberships too many"):
        model_of(Published((twice,), ("a", "b")))


def test_a_model_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ParameterError, match="make no model") as caught:
        Model((0,), ((PersonState(0, (1, 1)),),), (-1,))
    assert len(caught.value.problems) == 2


# Work in pieces, so that the clock can be looked at.


@pytest.mark.parametrize("unsure", [False, True])
def test_work_in_the_smallest_pieces_gives_the_same(unsure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Propagation, search and every draw interrupted after each equation; propagation in a search is cut off there."""
    models = [
        model_of(published, known=as_arrays(known))[0] for published, known in views(4, 25, unsure=unsure, most=6)
    ]

    def results() -> Iterator[tuple[Any, ...]]:
        for at, model in enumerate(models):
            counted, sampled = count(model), sample(model, np.random.default_rng(at), draws=120)
            yield (
                counted and (counted.total, counted.by_state),
                sampled and (sampled.by_state, sampled.standard_error, sampled.draws, sampled.dead_ends),
                [
                    isinstance(find_world(model, require=(one, state)), World)
                    for one, states in enumerate(model.states)
                    for state in range(len(states))
                ],
            )

    whole = list(results())
    for module in (worlds_equations, worlds_sampling, worlds_search):
        monkeypatch.setattr(module, "WORK", 1)
    assert list(results()) == whole


def test_the_deadline_is_kept_with_few_classes_of_very_many_people_and_states() -> None:
    """One world alone takes many seconds to draw; an order, tables and a search take minutes."""
    rng = np.random.default_rng(1)
    classes, values = 24, 1500
    groups = [(at % 3, 3 + at // 3 % 3) for at in range(classes)]
    states = tuple(
        tuple(PersonState(value, tuple(group * values + value for group in places)) for value in range(values))
        for places in groups
    )
    numbers = rng.integers(0, 5, (classes, values))
    targets = np.zeros((6, values), dtype=np.int64)
    for places, here in zip(groups, numbers, strict=True):
        targets[list(places)] += here
    model = Model(tuple(numbers.sum(axis=1).tolist()), states, tuple(targets.ravel().tolist()))
    for work in (
        lambda until: count(model, deadline=until),
        lambda until: sample(model, rng, deadline=until),
        lambda until: find_world(model, deadline=until),
        lambda until: find_world(model, require=(0, 0), deadline=until),
    ):
        begin = time.monotonic()
        work(begin + 0.3)
        assert time.monotonic() - begin < 10
