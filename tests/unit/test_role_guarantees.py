"""RoleBased and CohortBased: the paper's example, what they remember, and what they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from role_formations import Formation, Group, follow, formation, groups_of, roles, view
from worked_examples import worked_examples

from reissue.errors import ParameterError
from reissue.guarantees.series.cohort_based import CohortBased
from reissue.guarantees.series.l_scarcity import LScarce
from reissue.guarantees.series.role_based import RoleBased
from reissue.model.memory import Kept
from reissue.model.published import Published
from reissue.model.roles import Roles

# The paper's example


def paper_example() -> tuple[Published, dict[str, Roles]]:
    """Tables 7 to 9: everybody is listed in each group whose region covers him, for certain where Table 9 has him.

    Containers of different values overlap, so that each value has roles of its own. Regions of groups overlap too, so
    that a container is in the group of its owner in Table 9.
    """
    example = worked_examples("bu-2008")["role_example"]
    registry: dict[str, tuple[int, int]] = example["registry"]
    names = list(registry)
    regions = [((21, 24), (12_000, 17_000)), ((20, 26), (18_000, 29_000)), ((20, 26), (25_000, 30_000))]
    listed = [
        [
            name
            for name, (age, zip_code) in registry.items()
            if ages[0] <= age <= ages[1] and zips[0] <= zip_code <= zips[1]
        ]
        for ages, zips in regions
    ]
    assert set().union(*listed) == set(names)
    shown = [[example["microdata"][name] for name in group] for group in example["groups"]]
    values = tuple(sorted({value for one in shown for value in one}))
    groups = [
        ([names.index(name) for name in who], {value: one.count(value) for value in one})
        for who, one in zip(listed, shown, strict=True)
    ]
    release = groups_of(6, groups, values)
    certain = [name in group for who, group in zip(listed, example["groups"], strict=True) for name in who]
    published = Published((replace(release, sure=np.array(certain)),), values, single=False)

    found = {}
    for value, cohorts in example["cohorts"].items():
        containers = example["containers"][value]
        container = {
            names.index(name): next(
                (
                    at
                    for at, one in enumerate(containers, start=1)
                    if one["age"][0] <= age <= one["age"][1] and one["zip"][0] <= zip_code <= one["zip"][1]
                ),
                0,
            )
            for name, (age, zip_code) in registry.items()
        }
        # A clique is what stands in one group.
        clique = {name: at for at, group in enumerate(example["groups"]) for name in group}
        instances = [
            {
                "instance": 10 * cohort + clique[name],
                "value": value,
                "cohort": cohort,
                "clique": clique[name],
                "container": container[names.index(name)],
                "owner": names.index(name),
                "awake": True,
                "created": 2,
                "group": clique[name],
            }
            for cohort, some in enumerate(cohorts, start=1)
            for name in some
        ]
        for one in instances:
            inner, (ages, zips) = containers[one["container"] - 1], regions[one["group"]]
            assert ages[0] <= inner["age"][0] <= inner["age"][1] <= ages[1]
            assert zips[0] <= inner["zip"][0] <= inner["zip"][1] <= zips[1]
        buddies = {
            one["instance"]: {person for person, where in container.items() if where == one["container"]}
            for one in instances
        }
        present = {names.index(name) for name in example["microdata"]}
        found[value] = roles(instances, buddies, container, present, (value,))
    return published, found


def test_the_papers_example_satisfies_both_principles() -> None:
    published, found = paper_example()
    assert {value: one.instances.height for value, one in found.items()} == {"HIV": 6, "Alzheimer": 3}
    for one in found.values():
        assert RoleBased(3).check(published, one).holds
        assert CohortBased(3).check(published, {6: one}).holds
        assert not RoleBased(2).check(published, one).holds
        assert not CohortBased(4).check(published, one).holds
    # p5, p6, p11 and p12 stand in containers of the second and the third group: by parts it would not hold.
    release = published.releases[0]
    assert release.sure is not None
    group = np.repeat(np.arange(3), release.sizes)
    twice = {who for who, often in zip(*np.unique(release.members, return_counts=True), strict=True) if often > 1}
    listed_once = release.sure | ~np.isin(release.members, list(twice)) | (group == 1)
    members = [release.members[listed_once & (group == at)] for at in range(3)]
    members[1] = np.setdiff1d(members[1], release.members[release.sure & (group == 2)])
    parts = replace(
        release,
        members=np.concatenate(members),
        member_starts=np.cumsum([0, *(one.size for one in members)]),
        sure=np.zeros(16, dtype=np.bool_),
    )
    assert np.unique(parts.members).size == parts.members.size == 16
    verdict = CohortBased(3).check(replace(published, releases=(parts,)), found["Alzheimer"])
    assert "4 people in the containers of awake instances are not in the group" in verdict.explanation
    assert CohortBased(3).check(replace(published, releases=(parts,)), found["HIV"]).holds


def test_section_one_is_role_based_and_not_cohort_based() -> None:
    # Table 2(c): p1 and p6 are both of cohort 2 and both in the group of p4.
    cohort = {1: 2, 2: 1, 3: 3, 4: 1, 5: 3, 6: 2}
    clique = {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2}

    def roles_in(groups: list[Group]) -> Roles:
        instances = [
            {
                "instance": who,
                "value": "A",
                "cohort": cohort[who],
                "clique": clique[who],
                "container": who,
                "owner": who,
                "awake": True,
                "created": 1,
                "group": next(at for at, (members, _) in enumerate(groups) if who in members),
            }
            for who in cohort
        ]
        return roles(instances, {who: {who} for who in cohort}, {who: who for who in cohort}, set(cohort))

    shown = {"A": 1, "flu": 1, "fever": 1}
    first: list[Group] = [([1, 2, 3], shown), ([4, 5, 6], shown)]
    second: list[Group] = [([2, 3, 6], shown), ([1, 4, 5], shown)]
    bad: list[Group] = [([2, 3, 5], shown), ([1, 4, 6], shown)]
    good: list[Group] = [([1, 2, 5], shown), ([3, 4, 6], shown)]
    for third, kept in ((good, True), (bad, False)):
        secret = {number: roles_in(groups) for number, groups in enumerate((first, second, third), start=1)}
        assert RoleBased(3).check(view(first, second, third), secret).holds
        verdict = CohortBased(3).check(view(first, second, third), secret)
        assert verdict.holds is kept
        assert [one.holds for one in follow(CohortBased(3), view(first, second, third), secret)] == [True, True, kept]
        # Roles of the groups of another release: three people of each are elsewhere.
        stale = CohortBased(3).check(view(third), {1: secret[2]})
        assert (stale.holds, stale.release) == (False, 1)
        assert "in the container" in stale.explanation
    assert (verdict.release, verdict.worst, verdict.violations, verdict.groups) == (3, 1, 2, 6)
    assert verdict.explanation == (
        "It is broken in 2 of 6 groups. The worst, group 1 of release 3: "
        "1 permanent value is not awake equally often in 3 cohorts."
    )


# What people may do


def owner_moves(made: Formation, cohort: int = 2) -> None:
    one = next(one for one in at_home(made) if one["cohort"] == cohort)
    made.move(4, one["owner"], made.somewhere_else(4, one))


def holder_moves(made: Formation) -> None:
    owner_moves(made, cohort=1)


def buddy_moves(made: Formation) -> None:
    free = made.without_roles(4)
    one = next(one for one in made.instances[4] if made.buddies[4][one["instance"]] & free)
    made.move(4, min(made.buddies[4][one["instance"]] & free), made.somewhere_else(4, one))


def holder_dies(made: Formation) -> None:
    """And somebody inherits."""
    owners = [one["owner"] for one in made.instances[4]]
    one, heirs = next(
        (one, heirs)
        for one in at_home(made)
        if one["cohort"] == 1 and owners.count(one["owner"]) == 1
        if (heirs := made.buddies[4][one["instance"]] - set(owners))
    )
    made.present[4].add(heir := min(heirs))
    made.leave(4, one["owner"])
    for some in made.buddies[4].values():
        some.discard(one["owner"])
    one["owner"] = heir


def everybody_moves(made: Formation) -> None:
    """A container with an awake instance is left by all."""
    one = at_home(made)[0]
    for person in made.inside(4, one["container"]):
        made.move(4, person, made.somewhere_else(4, one))


def newcomer_is_no_buddy(made: Formation) -> None:
    one = at_home(made)[0]
    made.move(4, min(made.strangers(4, one)), one["owner"])


def buddies_become_fewer(made: Formation) -> None:
    for one in made.instances[4]:
        made.buddies[4][one["instance"]] &= {one["owner"]}


def asleep_in_no_group(made: Formation) -> None:
    next(one for one in made.instances[4] if not one["awake"])["group"] = None


def at_home(made: Formation) -> list[dict[str, Any]]:
    """The older awake instances whose owners are in the container, where no other is new."""
    new = {one["container"] for one in made.instances[4] if one["created"] == 4}
    return [
        one
        for one in made.instances[4]
        if one["awake"] and one["container"] not in new and made.container[4][one["owner"]] == one["container"]
    ]


@pytest.mark.parametrize(
    "change",
    [
        owner_moves,
        holder_moves,
        buddy_moves,
        holder_dies,
        everybody_moves,
        newcomer_is_no_buddy,
        buddies_become_fewer,
        asleep_in_no_group,
    ],
)
def test_what_is_no_breach(change: Callable[[Formation], None]) -> None:
    for seed in (17, 34):
        made, before = formation(seed), formation(seed)
        change(made)
        assert made != before
        for one in (RoleBased(3), CohortBased(3)):
            verdict = one.check(made.published, made.secret)
            assert verdict.holds, verdict.explanation


# What is remembered, and what is asked for


def test_the_number_of_cohorts_is_for_ever() -> None:
    made = formation(4)
    first = replace(made.published, releases=made.published.releases[:1])
    second = replace(made.published, releases=made.published.releases[1:2])
    _, state = CohortBased(3).follow(first, {}, made.secret)
    tables = {name: table for name, table in state.items() if isinstance(table, pl.DataFrame)}
    assert CohortBased(3).obstacle(tables) is None
    assert CohortBased(2).obstacle(tables) == "l = 2 is not the l = 3 of earlier releases, and cohorts are for ever"
    assert not CohortBased(2).follow(second, tables, made.secret)[0].holds
    assert CohortBased(3).obstacle({}) == "nobody has checked cohort-based-partition from the first release on"
    with pytest.raises(ParameterError, match="Release 1 cannot follow release 1"):
        CohortBased(3).follow(first, tables, made.secret)
    with pytest.raises(ParameterError, match="Got a view of 4 releases instead of one"):
        CohortBased(3).follow(made.published, {}, made.secret)


def test_what_does_not_change_is_not_written_again() -> None:
    made = formation(4)
    groups, before = made.groups[1], made.secret[1]
    # The same groups in another order: that they are new is not remembered.
    now = before.numbered(np.arange(len(groups))[::-1])
    assert now.instances["group"].to_list() == [len(groups) - 1 - at for at in before.instances["group"].to_list()]
    published = view(groups, groups[::-1])
    first, second = (replace(published, releases=(release,)) for release in published.releases)
    _, state = CohortBased(3).follow(first, {}, {1: before})
    tables = {name: table for name, table in state.items() if isinstance(table, pl.DataFrame)}
    assert not CohortBased(3).follow(second, tables, {2: before})[0].holds
    verdict, later = CohortBased(3).follow(second, tables, {2: now})
    assert verdict.holds
    assert "group" not in tables["instances"].columns
    assert {name for name, table in later.items() if isinstance(table, Kept)} == {"instances", "buddies"}


@pytest.mark.parametrize("make", [RoleBased, CohortBased])
def test_roles_are_needed(make: Any) -> None:
    made = formation(4)
    assert make(3).secret_of == "roles"
    for secret in (None, {1: "nobody"}, made.secret[1]):
        with pytest.raises(ParameterError, match=f"The 'secret' of {make.__name__} must be the roles of the release"):
            make(3).check(made.published, secret)
    with pytest.raises(ParameterError, match="those of 3 of 4 releases are missing"):
        make(3).check(made.published, {1: made.secret[1]})


def test_series_without_roles() -> None:
    nobody = roles([], {}, {1: 1, 2: 1, 3: 1}, {1, 2, 3})
    shown: list[Group] = [([1, 2, 3], {"flu": 1})]
    for one in (RoleBased(3), CohortBased(3)):
        verdict = one.check(view(shown, shown), {1: nobody, 2: nobody})
        assert (verdict.holds, verdict.explanation) == (True, "It holds in all of 2 groups.")
        empty = one.check(view([]), {1: roles([], {}, {}, set())})
        assert empty.holds
        assert math.isnan(empty.worst)
    assert all(one.holds for one in follow(CohortBased(3), view(shown, shown), {1: nobody, 2: nobody}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RoleBased(1), "The 'l' parameter of RoleBased must be a whole number of at least 2. Got 1 instead."),
        (lambda: CohortBased(2.5), "The 'l' parameter of CohortBased must be a whole number of at least 2."),  # type: ignore[arg-type]
        (lambda: LScarce(0), "The 'l' parameter of LScarce must be a whole number of at least 2. Got 0 instead."),
        (lambda: LScarce(2, -1), "The 'known' parameter of LScarce must be a whole number of at least 0."),
        (lambda: LScarce(2, 0, "A"), "The 'permanent' parameter of LScarce must be a list of values. Got a str"),  # type: ignore[arg-type]
        (lambda: LScarce(2, 0, [["A"]]), "Got a list with something that is not a plain value"),  # type: ignore[arg-type]
    ],
)
def test_parameters_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make()
    assert message in str(raised.value)
