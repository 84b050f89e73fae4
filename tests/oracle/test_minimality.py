"""The minimality attack against brute force: all ways to hand out the values, listed one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from promises import promise

from reissue.model.promise import Promise, rules_of
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.minimality.credibility import Credibility, credibility
from reissue.reasoning.minimality.requirements import requirement_of

Keeps = Callable[[Counter[str], Counter[str]], bool]
"""Whether a class with these values keeps the requirement, in a table with those."""
Hand = tuple[tuple[str, str], ...]
"""Who has which value, in one group: (person, value)."""
Listed = tuple[list[Hand], list[str]]
"""The ways in which a group can have come about, and who may be in it."""


# Requirements, said once more


def share(held: Counter[str], limit: Fraction, sets: Sequence[set[str]] | None) -> bool:
    total = sum(held.values())
    groups = [{value} for value in held] if sets is None else sets
    return all(sum(held[value] for value in one) <= limit * total for one in groups)


def recursive(held: Counter[str], c: int, l: int) -> bool:  # noqa: E741
    falling = sorted(held.values(), reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


def close(held: Counter[str], table: Counter[str], t: Fraction) -> bool:
    total, all_rows = sum(held.values()), sum(table.values())
    gaps = [abs(Fraction(held[value], total) - Fraction(table[value], all_rows)) for value in table]
    return sum(gaps) / 2 <= t


def spread(held: Counter[str], k: int, e: int) -> bool:
    numbers = [int(value) for value in held if held[value]]
    return len(numbers) >= k and max(numbers) - min(numbers) >= e


def entropy(held: Counter[str], l: float) -> bool:  # noqa: E741
    total = sum(held.values())
    return -sum(n / total * math.log(n / total) for n in held.values() if n) >= math.log(l) - 1e-9


@dataclass(frozen=True)
class Case:
    promises: tuple[Promise, ...]
    keeps: Keeps
    values: tuple[str, ...]


A, B, C, D = "abcd"
CASES = {
    "one set": Case(
        (promise("share-l-diversity", {"l": 2, "protect": [[A]]}),),
        lambda held, _: share(held, Fraction(1, 2), [{A}]),
        (A, A, B, C),
    ),
    "a set of two, alpha and k": Case(
        (promise("alpha-k-anonymity", {"alpha": 1 / 3, "k": 2, "protect": [[A, B]]}),),
        lambda held, _: share(held, Fraction(1, 3), [{A, B}]) and sum(held.values()) >= 2,
        (A, B, C, C, D, D, D),
    ),
    "every value": Case(
        (promise("share-l-diversity", {"l": 2}),),
        lambda held, _: share(held, Fraction(1, 2), None),
        (A, A, B, C, D),
    ),
    "two sets that overlap": Case(
        (promise("share-l-diversity", {"l": 2, "protect": [[A, B], [B, C]]}), promise("k-anonymity", {"k": 2})),
        lambda held, _: share(held, Fraction(1, 2), [{A, B}, {B, C}]) and sum(held.values()) >= 2,
        (A, B, C, D, D, D),
    ),
    "distinct": Case((promise("distinct-l-diversity", {"l": 2}),), lambda held, _: len(+held) >= 2, (A, A, B, C)),
    "entropy": Case((promise("entropy-l-diversity", {"l": 1.8}),), lambda held, _: entropy(held, 1.8), (A, A, B, C)),
    "recursive": Case(
        (promise("recursive-cl-diversity", {"c": 2, "l": 2}),), lambda held, _: recursive(+held, 2, 2), (A, A, B, C)
    ),
    "closeness": Case(
        (promise("t-closeness", {"t": 0.4, "distance": "variation"}),),
        lambda held, table: close(held, table, Fraction(2, 5)),
        (A, A, B, C),
    ),
    "numbers": Case(
        (promise("ke-anonymity", {"k": 2, "e": 5}),), lambda held, _: spread(held, 2, 5), ("30", "30", "31", "36")
    ),
}


# Worlds, listed


def class_of(person: str) -> str:
    """People are called by their class and a number, as in `p-1`."""
    return person.split("-")[0]


def hands(people: Sequence[str], values: Sequence[str]) -> Iterator[Hand]:
    """All ways to hand values out to people; equal values are not told apart."""
    if not people:
        yield ()
        return
    for value in sorted(set(values)):
        rest = list(values)
        rest.remove(value)
        for after in hands(people[1:], rest):
            yield ((people[0], value), *after)


def by_class(hand: Hand) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for person, value in hand:
        found.setdefault(class_of(person), []).append(value)
    return {one: tuple(sorted(held)) for one, held in found.items()}


def alone(people: Sequence[str]) -> bool:
    return len({class_of(person) for person in people}) == 1


def listed(groups: Sequence[Listed], case: Case, recoding: str) -> list[dict[tuple[str, str], Fraction]]:
    """For each group how likely everybody has which value; `groups`: the ways each can have come about, and who may be.

    A class left in a group of its own adds to what its rows in other groups are judged by.
    """
    table = Counter(value for ways, _ in groups for _, value in ways[0])
    left: dict[str, tuple[str, ...]] = {}
    for ways, people in groups:
        if alone(people):
            one = class_of(people[0])
            left[one] = (*left.get(one, ()), *(value for _, value in ways[0]))

    @cache
    def keeps(held: tuple[str, ...]) -> bool:
        return case.keeps(Counter(held), table)

    worlds = []
    for ways, people in groups:
        own = {} if alone(people) else left
        counts: dict[bool, Counter[tuple[str, str]]] = {True: Counter(), False: Counter()}
        number = Counter[bool]()
        for way in ways:
            bad = any(not keeps((*held, *own.get(one, ()))) for one, held in by_class(way).items())
            counts[bad].update(way)
            number[bad] += 1
        worlds.append((counts, number, alone(people)))
    none = math.prod(Fraction(number[False], number.total()) for _, number, _ in worlds)
    found = []
    for counts, number, single in worlds:
        # What a way counts in which some class of the group violates, and one in which none does.
        weight = {True: Fraction(1), False: Fraction(single or not number[True])}
        if recoding == "full-domain" and number[False]:
            mine = Fraction(number[False], number.total())
            weight[False] = 1 - none / mine if none < 1 else Fraction(1)
        total = sum(weight[bad] * number[bad] for bad in number)
        chance = {}
        for pair in counts[True].keys() | counts[False].keys():
            chance[pair] = sum((weight[bad] * counts[bad][pair] for bad in number), Fraction(0)) / total
        found.append(chance)
    return found


def expected(groups: Sequence[Listed], case: Case, recoding: str) -> dict[str, dict[str, Fraction]]:
    """For each class how likely its people have which value, all of its rows together."""
    found = listed(groups, case, recoding)
    people: dict[str, set[str]] = {}
    for _, members in groups:
        for person in members:
            people.setdefault(class_of(person), set()).add(person)
    result: dict[str, dict[str, Fraction]] = {one: {} for one in people}
    for chance in found:
        for (person, value), part in chance.items():
            held = result[class_of(person)]
            held[value] = held.get(value, Fraction(0)) + part / len(people[class_of(person)])
    return result


def viewed(groups: list[tuple[list[str], list[str]]], numeric: bool) -> Published:
    registry = {person: class_of(person) for members, _ in groups for person in members}
    release = [(members, [int(value) if numeric else value for value in values]) for members, values in groups]
    return Published.from_groups([release], registry=registry, single=False)


def attacked(view: Published, case: Case, recoding: Any, release: PublishedGroups | None = None) -> Credibility:
    release = release or view.releases[0]
    requirement = requirement_of(rules_of(case.promises), view, release)
    return credibility(release, requirement, [(at,) for at in range(len(view.values))], recoding=recoding)


def same(view: Published, found: Credibility, wanted: dict[str, dict[str, Fraction]], rows: dict[str, int]) -> None:
    assert found.refused is None
    for one, chances in wanted.items():
        for at, value in enumerate(view.values):
            exact = found.fraction(rows[one], at)
            assert exact == chances.get(str(value), 0), (one, value)
            assert exact is not None
            assert found.probability[rows[one], at] == pytest.approx(float(exact), abs=1e-12)
            assert found.low[rows[one], at] <= exact <= found.high[rows[one], at]


def rows_of(view: Published, found: Credibility) -> dict[str, int]:
    assert view.people is not None
    members = view.releases[0].members.tolist()
    return {class_of(view.people[person]): int(row) for person, row in zip(members, found.row_of_entry, strict=True)}


def drawn(random: Random, case: Case, tag: str, most: int = 8) -> list[tuple[list[str], list[str]]]:
    """Groups of a few people of a few classes, which may be in several of them."""
    count = Counter[str]()
    groups: list[tuple[list[str], list[str]]] = []
    pool = [f"{one}{tag}" for one in "pqrs"[: random.randint(2, 4)]]
    while most > 0 and len(groups) < 3:
        size = random.randint(1, min(most, 6))
        members = []
        here = pool if random.random() < 0.7 else pool[:1]
        for one in random.choices(here, k=size):
            count[one] += 1
            members.append(f"{one}-{count[one]}")
        groups.append((members, random.choices(case.values, k=size)))
        most -= size
    return groups


def drawn_apart(random: Random, case: Case, tag: str = "") -> list[tuple[list[str], list[str]]]:
    """Two groups, or one, of classes of their own; more often of two or three rows than of one."""
    groups = []
    for names in ("pqr", "stu")[: random.randint(1, 2)]:
        sizes = [random.choice((1, 2, 2, 3, 3, 3)) for _ in names[: random.choice((1, 2, 2, 3))]]
        members = [f"{one}{tag}-{at}" for one, size in zip(names, sizes, strict=False) for at in range(size)][:6]
        groups.append((members, random.choices(case.values, k=len(members))))
    return groups


TABLES = 150
"""So many small tables are put side by side into one release: with local recoding they have nothing to do with each
other."""


@pytest.mark.parametrize("name", CASES)
def test_credibilities_are_the_fraction_of_cases(name: str) -> None:
    """Local and global recoding: thousands of groups, of classes in several of them, some left ungeneralised."""
    case, random = CASES[name], Random(name)
    groups = [group for at in range(TABLES) for group in drawn(random, case, str(at))]
    apart = [group for at in range(TABLES) for group in drawn_apart(random, case, str(at))]
    for recoding, tables in (("local", groups), ("global", apart)):
        view = viewed(tables, name == "numbers")
        found = attacked(view, case, recoding)
        wanted = expected([(list(hands(who, values)), who) for who, values in tables], case, recoding)
        same(view, found, wanted, rows_of(view, found))
        assert found.generalised - found.nothing_excluded - found.contrary > 3


@pytest.mark.parametrize("name", ["one set", "every value", "two sets that overlap", "closeness"])
def test_full_domain_recoding(name: str) -> None:
    """All that is known is that somewhere in the table a class violates."""
    case, random = CASES[name], Random(name)
    learnt = 0
    for _ in range(50):
        groups = drawn_apart(random, case)
        view = viewed(groups, False)
        wanted = expected([(list(hands(who, values)), who) for who, values in groups], case, "full-domain")
        found = attacked(view, case, "full-domain")
        same(view, found, wanted, rows_of(view, found))
        learnt += int(found.changed.any())
    assert learnt > 2


@pytest.mark.parametrize("name", ["one set", "a set of two, alpha and k", "every value", "closeness"])
@pytest.mark.parametrize("recoding", ["local", "full-domain"])
def test_a_registry_larger_than_the_table(name: str, recoding: str) -> None:
    """People who may be in a group, some of them certainly: who is there is part of the case."""
    case, random = CASES[name], Random(name + recoding)
    learnt = 0
    for _ in range(25):
        groups = drawn_apart(random, case)
        worlds, sure_people, published = [], set(), []
        for members, values in groups:
            rows = random.randint(max(1, len(members) - 2), len(members))
            sure = {person for person in members if random.random() < 0.25}
            values = values[:rows]
            if len(sure) > rows:
                sure = set()
            present = [who for who in combinations(members, rows) if sure <= set(who)]
            worlds.append(([hand for who in present for hand in hands(who, values)], members))
            sure_people |= sure
            published.append((members, values))
        view = viewed(published, False)
        assert view.people is not None
        names = [view.people[person] for person in view.releases[0].members.tolist()]
        release = replace(view.releases[0], sure=np.array([who in sure_people for who in names]))
        found = attacked(view, case, recoding, release)
        assert found.refused is None
        assert not found.undecided
        for (_, members), chances in zip(worlds, listed(worlds, case, recoding), strict=True):
            for person in members:
                row = int(found.row_of_entry[names.index(person)])
                for at, value in enumerate(view.values):
                    assert found.fraction(row, at) == chances.get((person, str(value)), 0)
                    assert found.probability[row, at] == pytest.approx(float(found.fraction(row, at) or 0), abs=1e-12)
        learnt += int(found.changed.any())
    assert learnt > 1


def test_a_registry_that_lists_people_in_several_groups() -> None:
    """Local recoding read with a registry: where numbers force how many of a class are where, the rest follows."""
    case, random = CASES["one set"], Random(11)
    settled = 0
    for _ in range(80):
        sizes = {one: random.randint(1, 3) for one in "pqr"[: random.randint(2, 3)]}
        own = {one: random.randint(0, size) for one, size in sizes.items()}
        rest = sum(sizes.values()) - sum(own.values())
        people = {one: [f"{one}-{at}" for at in range(size)] for one, size in sizes.items()}
        groups = [(people[one], random.choices(case.values, k=own[one])) for one in sizes if own[one]]
        if rest:
            groups.append(([who for one in sizes for who in people[one]], random.choices(case.values, k=rest)))
        view = viewed(groups, False)
        release = view.releases[0]
        # People of classes without rows of their own are listed once: that they are there may be known.
        certain = {one for one in sizes if not own[one] and random.random() < 0.5}
        sure = [class_of(who) in certain for members, _ in groups for who in members]
        release = replace(release, sure=np.array(sure))
        found = attacked(view, case, "local", release)
        settled += not found.undecided
        if found.undecided:
            assert not (found.kind == 0).all()
            continue
        # Everybody is somewhere; which of a class are in its own group does not matter for the class as a whole.
        split = [
            (people[one][: own[one]], values)
            for (_, values), one in zip(groups, [o for o in sizes if own[o]], strict=False)
        ]
        if rest:
            split.append(([who for one in sizes for who in people[one][own[one] :]], groups[-1][1]))
        wanted = expected([(list(hands(who, values)), who) for who, values in split], case, "local")
        same(view, found, wanted, rows_of(view, found))
    assert settled > 40


def test_what_a_registry_leaves_open_is_undecided() -> None:
    """Two groups that may have rows of both classes: how many of each is not known."""
    everybody = ["p-1", "p-2", "q-1", "q-2"]
    view = viewed([(everybody, [A, B]), (everybody, [B, C])], False)
    release = replace(view.releases[0], sure=np.zeros(8, dtype=bool))
    found = attacked(view, CASES["one set"], "local", release)
    assert found.undecided == 2
    assert (found.kind == 2).all()
    assert (found.low == 0).all() and (found.high == 1).all()


def test_a_class_in_two_groups_contradicts_global_recoding() -> None:
    view = viewed([(["p-1", "q-1"], [A, B]), (["p-2", "q-2"], [A, B])], False)
    for recoding in ("global", "full-domain"):
        found = attacked(view, CASES["one set"], recoding)
        assert found.refused == f"2 classes are in several groups, which {recoding} recoding rules out"
        assert not found.probability.size


def test_every_size_of_two_classes() -> None:
    """One group of two classes, every size and every number of sensitive rows up to eight rows, side by side."""
    case = CASES["one set"]
    groups = []
    for first, second in product(range(1, 5), repeat=2):
        for sensitive in range(first + second + 1):
            tag = f"{first}{second}{sensitive}"
            who = [f"p{tag}-{at}" for at in range(first)] + [f"q{tag}-{at}" for at in range(second)]
            groups.append((who, [A] * sensitive + [B] * (first + second - sensitive)))
    view = viewed(groups, False)
    found = attacked(view, case, "global")
    same(
        view, found, expected([(list(hands(who, values)), who) for who, values in groups], case, "global"),
        rows_of(view, found),
    )  # fmt: skip
