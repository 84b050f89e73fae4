"""Bu's study: l-diversity by people, and what two adversaries see, against plain counting over all assignments."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import polars as pl
import pytest
from profiles import seeds
from reissue_studies.bu.diversity import diverse_groups
from reissue_studies.bu.views import VALUES, Groups, known_release, unknown_risks

from reissue.errors import Refused

DIABETES = "Diabetes"


def table_of(rng: np.random.Generator, people: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = rng.integers(0, 8, size=(people, 3)) / 8
    many = 1 + rng.poisson(1.0, size=people)
    owner = np.repeat(np.arange(people), many)
    value = rng.integers(0, 30, size=owner.size)
    kept = np.unique(owner * 100 + value)
    return places, kept // 100, kept % 100


@pytest.mark.parametrize("l", [2, 3, 6])
def test_groups_are_l_diverse_by_people_and_cannot_be_cut_at_the_median(l: int) -> None:  # noqa: E741
    rng = np.random.default_rng(l)
    places, owner, value = table_of(rng, 400)
    group = diverse_groups(places, owner, value, l)
    assert {*group.tolist()} == {*range(int(group.max()) + 1)}
    assert group.max() > 5

    def diverse(people: list[int]) -> bool:
        chosen = {*people}
        counts = Counter(int(v) for o, v in zip(owner, value, strict=True) if int(o) in chosen)
        return bool(people) and max(counts.values()) * l <= len(people)

    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group == number).tolist()
        assert diverse(members)
        for column in places.T:
            ordered = sorted(column[members])
            middle = ordered[len(ordered) // 2]
            below = [m for m in members if column[m] < middle] or [m for m in members if column[m] <= middle]
            assert not (diverse(below) and diverse([m for m in members if m not in below]))


def test_people_with_the_same_quasi_identifiers_stay_together() -> None:
    places = np.repeat(np.arange(20)[:, None] / 20, 4, axis=0)
    group = diverse_groups(places, np.arange(80), np.arange(80) % 40, 2)
    assert all(len({*group[4 * at : 4 * at + 4].tolist()}) == 1 for at in range(20))
    assert group.max() > 0


def test_a_table_that_is_not_diverse_is_refused() -> None:
    with pytest.raises(Refused, match="more than 1/l of the people"):
        diverse_groups(np.zeros((3, 1)), np.arange(3), np.zeros(3, dtype=np.int64), 2)


def tuples(*rows: tuple[int, int, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["group", "person", "diagnosis"], orient="row")


def test_who_is_present_is_listed_once_and_groups_that_share_people_are_one() -> None:
    groups = Groups.of(
        3,
        tuples(
            (1, 10, "Rash"), (1, 11, "Cough"),
            (2, 11, DIABETES), (2, 12, "Rash"), (2, -5, "Cough"),
            (3, 13, DIABETES), (3, 14, "Breast cancer"), (3, 15, "Cough"),
            (4, 15, DIABETES), (4, 16, "Rash"),
            (5, 17, "Breast cancer"), (5, 10, "Cough"), (5, 18, "Rash"),
        ),
    )  # fmt: skip
    release, united = known_release(groups)
    assert (release.number, united) == (3, 1)
    assert release.sure is None
    found = []
    for at in range(release.group_count):
        members = release.members[release.member_starts[at] : release.member_starts[at + 1]].tolist()
        span = slice(int(release.value_starts[at]), int(release.value_starts[at + 1]))
        held = {VALUES[v]: int(c) for v, c in zip(release.values[span], release.counts[span], strict=True)}
        found.append((sorted(members), held))
    # 10 and 11 may have something only in a group that shows it; 15 joins groups 3 and 4.
    assert found == [
        ([], {}),
        ([-5, 11, 12], {DIABETES: 1}),
        ([13, 14, 15, 16], {DIABETES: 2, "Breast cancer": 1}),
        ([10, 17, 18], {"Breast cancer": 1}),
    ]


def test_a_release_without_permanent_values_is_one_group() -> None:
    release, united = known_release(Groups.of(1, tuples((1, 4, "Rash"), (2, 3, "Cough"))))
    assert release.members.tolist() == [3, 4]
    assert (release.group_count, release.values.size, united) == (1, 0, 0)


@pytest.mark.parametrize("seed", seeds(4, 60))
def test_the_bound_without_participation_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    registry = pl.DataFrame({"person": np.arange(9), "age": rng.integers(0, 9, 9), "sex": rng.choice(["f", "m"], 9)})
    rows = []
    for group in range(int(rng.integers(1, 4))):
        members = rng.choice(9, size=int(rng.integers(2, 5)), replace=False)
        rows += [(group, int(p), DIABETES if at < 1 + seed % 2 else "Rash") for at, p in enumerate(members)]
    groups = Groups.of(1, tuples(*rows))
    found = {(p, v): r for p, r, v in unknown_risks(groups, registry).iter_rows()}
    described = {p: (age, sex) for p, age, sex in registry.iter_rows()}
    regions, places = {}, []
    for group, count in Counter(g for g, _, v in rows if v == DIABETES).items():
        own = [described[p] for g, p, _ in rows if g == group]
        ages, sexes = [age for age, _ in own], {sex for _, sex in own}
        regions[group] = {p for p, (a, s) in described.items() if min(ages) <= a <= max(ages) and s in sexes}
        places += [group] * count
    # Every way to give the places to different people, places of a group in no order.
    worlds = {
        tuple(sorted(zip(places, taken, strict=True)))
        for taken in product(*(regions[group] for group in places))
        if len({*taken}) == len(taken)
    }
    exact: dict[int, float] = defaultdict(float)
    for world in worlds:
        for _, person in world:
            exact[person] += 1 / len(worlds)
    assert {p for p, _ in found} == set().union(*regions.values())
    overlapping = any(regions[a] & regions[b] for a in regions for b in regions if a < b)
    for person in exact:
        assert exact[person] <= found[person, DIABETES] + 1e-9
        if not overlapping:
            assert found[person, DIABETES] == pytest.approx(exact[person])


def test_no_permanent_value_no_risk() -> None:
    registry = pl.DataFrame({"person": [1, 2], "age": [3, 4]})
    assert unknown_risks(Groups.of(1, tuples((1, 1, "Rash"))), registry).is_empty()
