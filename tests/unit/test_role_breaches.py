"""RoleBased and CohortBased: formations made by the rules pass, and planted breaches of every rule are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from role_formations import Formation, follow, formation

from reissue.guarantees.cohort_based import CohortBased
from reissue.guarantees.role_based import RoleBased


def the(made: Formation, number: int, **wanted: Any) -> dict[str, Any]:
    """The first instance of a release that is as wanted."""
    return next(one for one in made.instances[number] if all(one[name] == value for name, value in wanted.items()))


def group_of(made: Formation, number: int, person: int) -> int:
    return next(at for at, (members, _) in enumerate(made.groups[number]) if person in members)


def elsewhere(made: Formation, number: int, person: int) -> int:
    """Somebody present in another group, without roles."""
    owners = {one["owner"] for one in made.instances[number]}
    home = group_of(made, number, person)
    return next(who for who in sorted(made.present[number] - owners) if group_of(made, number, who) != home)


def old(made: Formation, **wanted: Any) -> dict[str, Any]:
    """An instance of the last release that was there in the one before."""
    before = {one["instance"] for one in made.instances[3]}
    return next(
        one
        for one in made.instances[4]
        if one["instance"] in before and all(one[name] == value for name, value in wanted.items())
    )


def more_holders(made: Formation) -> None:
    shown = made.groups[4][group_of(made, 4, the(made, 4, awake=True)["owner"])][1]
    shown["A"] = shown.get("A", 0) + 1


def too_many_passing(made: Formation) -> None:
    members, shown = made.groups[4][0]
    shown["fever"] = len(made.present[4] & set(members)) // made.l + 1


def decoy_asleep(made: Formation) -> None:
    the(made, 4, awake=True, cohort=2)["awake"] = False


def owner_absent(made: Formation) -> None:
    made.present[4].remove(the(made, 4, awake=True, cohort=2)["owner"])


def no_owner(made: Formation) -> None:
    the(made, 4, awake=True, cohort=2)["owner"] = None


def owns_two(made: Formation) -> None:
    one = the(made, 4, awake=True, cohort=2)
    the(made, 4, clique=one["clique"], cohort=3)["owner"] = one["owner"]


def in_no_group(made: Formation) -> None:
    owners = {one["owner"] for one in made.instances[4]}
    person = min(made.present[4] - owners)
    made.groups[4][group_of(made, 4, person)][0].remove(person)


def not_permanent(made: Formation) -> None:
    the(made, 4, awake=False)["value"] = "flu"


def owner_elsewhere(made: Formation) -> None:
    one = the(made, 4, awake=True, cohort=2)
    one["owner"] = elsewhere(made, 4, one["owner"])


def cohorts_exchanged(made: Formation) -> None:
    one = old(made, cohort=2)
    other = the(made, 4, clique=one["clique"], cohort=3)
    one["cohort"], other["cohort"] = 3, 2


def cliques_exchanged(made: Formation) -> None:
    one = old(made, cohort=2, awake=True)
    other = next(
        two
        for two in made.instances[4]
        if (two["cohort"], two["awake"], two["value"]) == (2, True, one["value"]) and two["clique"] != one["clique"]
    )
    one["clique"], other["clique"] = other["clique"], one["clique"]


def container_changed(made: Formation) -> None:
    one = old(made, awake=False)
    one["container"] += 1000
    made.buddies[4][one["instance"]] = set()
    one["owner"] = None


def created_changed(made: Formation) -> None:
    old(made)["created"] += 1


def holder_replaced(made: Formation) -> None:
    owners = {one["owner"] for one in made.instances[4]}
    for one in made.instances[4]:
        heirs = made.buddies[4][one["instance"]] - owners
        if one["cohort"] == 1 and one["created"] < 4 and one["owner"] is not None and heirs:
            made.present[4].add(heir := min(heirs))
            one["owner"] = heir
            return
    raise AssertionError("no instance to pass on")


def holder_back(made: Formation) -> None:
    one = next(
        one for one in made.instances[4] if one["cohort"] == 1 and one["created"] < 4 and one["owner"] is not None
    )
    for two in made.instances[3]:
        if two["clique"] == one["clique"]:
            two["awake"] = False
    the(made, 3, instance=one["instance"])["owner"] = None


def lost_alone(made: Formation) -> None:
    one = the(made, 4, awake=False, cohort=2)
    made.instances[4].remove(one)
    del made.buddies[4][one["instance"]]


def clique_back(made: Formation) -> None:
    clique = old(made)["clique"]
    gone = [one for one in made.instances[3] if one["clique"] == clique]
    made.instances[3] = [one for one in made.instances[3] if one["clique"] != clique]
    for one in gone:
        del made.buddies[3][one["instance"]]


def number_back(made: Formation) -> None:
    """The newest clique gets the number of one that is gone; the numbers of its instances are new."""
    used = {one["clique"] for one in made.instances[4]}
    newest = max(used)
    free = min({one["clique"] for number in (1, 2, 3) for one in made.instances[number]} - used)
    for one in made.instances[4]:
        if one["clique"] == newest:
            one["clique"] = free


def partly_asleep(made: Formation) -> None:
    the(made, 4, awake=False, cohort=3)["awake"] = True


def buddy_joins(made: Formation) -> None:
    """A newcomer to the container, from the same group, is taken for somebody who was always there."""
    one = old(made, awake=True)
    owners = {two["owner"] for two in made.instances[4]}
    members = made.groups[4][group_of(made, 4, one["owner"])][0]
    person = next(who for who in members if made.container[4][who] != one["container"] and who not in owners)
    made.container[4][person] = one["container"]
    for some in made.buddies[4].values():
        some.discard(person)
    made.buddies[4][one["instance"]].add(person)


def buddy_gone(made: Formation) -> None:
    """Somebody moved away and is still listed."""
    owners = {two["owner"] for two in made.instances[4]}
    made.container[4][min(made.buddies[4][the(made, 4, awake=True)["instance"]] - owners)] = 1000


def owner_no_buddy(made: Formation) -> None:
    one = the(made, 4, awake=True)
    made.buddies[4][one["instance"]].remove(one["owner"])


def moved_group(made: Formation) -> None:
    """Somebody of the container of an awake instance is put into another group."""
    one = the(made, 4, awake=True)
    owners = {two["owner"] for two in made.instances[4]}
    home = group_of(made, 4, one["owner"])
    person = min({who for who, at in made.container[4].items() if at == one["container"]} - owners)
    made.groups[4][home][0].remove(person)
    next(members for at, (members, _) in enumerate(made.groups[4]) if at != home).append(person)


def same_number(made: Formation) -> None:
    one = the(made, 4, created=4, cohort=2)
    two = the(made, 4, clique=one["clique"], cohort=3)
    del made.buddies[4][two["instance"]]
    two["instance"] = one["instance"]
    made.buddies[4][one["instance"]] |= {two["owner"]}


def made_before(made: Formation) -> None:
    for one in made.instances[4]:
        if one["created"] == 4:
            one["created"] = 3


def buddies_of_nothing(made: Formation) -> None:
    made.buddies[4][10_000] = {next(iter(made.container[4]))}


Mutation = Callable[[Formation], None]

ROLE_RULES: list[tuple[Mutation, str]] = [
    (more_holders, "not published as often as"),
    (too_many_passing, "transient value is published for more than 1/3 of those present"),
    (decoy_asleep, "not have 2 awake decoys for each holder"),
    (owner_absent, "of awake instances are absent|of an awake instance is absent"),
    (no_owner, "awake instance has no owner in a group"),
    (owns_two, "owned by somebody who owns another of the same value"),
    (in_no_group, "person present is in no group"),
    (not_permanent, "instance is of a value that is not permanent"),
]
COHORT_RULES: list[tuple[Mutation, str]] = [
    (owner_absent, "of awake instances are absent|of an awake instance is absent"),
    (no_owner, "awake instance has no owner in a group"),
    (not_permanent, "is of a value that is not permanent"),
    (owner_elsewhere, "not awake equally often in 3 cohorts"),
    (decoy_asleep, "partly awake and partly asleep"),
    (partly_asleep, "partly awake and partly asleep"),
    (cohorts_exchanged, "changed their value, cohort, clique"),
    (cliques_exchanged, "changed"),
    (container_changed, "changed its value, cohort, clique, container"),
    (created_changed, "changed its value"),
    (holder_replaced, "instance of a holder changed its owner"),
    (holder_back, "instance of a holder changed its owner"),
    (lost_alone, "clique is not one instance of one value in each of 3 cohorts"),
    (clique_back, "new instances have numbers, or are in cliques, of earlier releases"),
    (number_back, "new instances have numbers, or are in cliques, of earlier releases"),
    (buddy_joins, "person became a buddy of an older instance"),
    (buddy_gone, "not in the container|not in their containers"),
    (owner_no_buddy, "owner is not among those who could own the instance"),
    (moved_group, "person in the container of an awake instance is not in the group"),
    (same_number, "number stands for two instances"),
    (made_before, "said to be of"),
    (buddies_of_nothing, "buddy is of an instance that is not there"),
]


NAMED = re.compile(r"\b(A|B|flu|fever)\b")
"""Values are never told."""


@pytest.mark.parametrize("l", [2, 3, 4])
def test_formations_made_by_the_rules_satisfy_both_principles(l: int) -> None:  # noqa: E741
    asleep = removed = passed_on = 0
    for seed in range(100 * l, 100 * l + 8):
        made = formation(seed, l)
        published, secret = made.published, made.secret
        assert RoleBased(l).check(published, secret).holds
        assert CohortBased(l).check(published, secret).holds
        assert all(one.holds for one in follow(CohortBased(l), published, secret))
        asleep += sum(not one["awake"] for one in made.instances[4])
        owners = [{one["instance"]: one["owner"] for one in some} for some in made.instances.values()]
        for before, now in pairwise(owners):
            removed += len(before.keys() - now.keys())
            passed_on += sum(before.get(instance, owner) != owner for instance, owner in now.items())
    assert min(asleep, removed, passed_on) > 0


@pytest.mark.parametrize(("mutate", "words"), ROLE_RULES)
def test_role_based_finds_every_breach(mutate: Mutation, words: str) -> None:
    for seed in (4, 9):
        made = formation(seed)
        mutate(made)
        verdict = RoleBased(3).check(made.published, made.secret)
        assert (verdict.holds, verdict.release) == (False, 4)
        assert re.search(words, verdict.explanation), verdict.explanation
        assert not NAMED.search(verdict.explanation)
        assert verdict.violations > 0


@pytest.mark.parametrize(("mutate", "words"), COHORT_RULES)
def test_cohort_based_finds_every_breach(mutate: Mutation, words: str) -> None:
    for seed in (4, 9):
        made = formation(seed)
        mutate(made)
        published, secret = made.published, made.secret
        verdict = CohortBased(3).check(published, secret)
        assert (verdict.holds, verdict.release) == (False, 4)
        assert re.search(words, verdict.explanation), verdict.explanation
        assert not NAMED.search(verdict.explanation)
        if seed == 9:
            continue
        followed = follow(CohortBased(3), published, secret)
        assert [one.holds for one in followed] == [True, True, True, False]
        assert followed[-1].explanation.split(". ", 1)[1] == verdict.explanation.split(". ", 1)[1]
