"""Series with roles for tests: views and roles from plain lists, and formations made by the rules at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue.guarantees.base import SeriesGuarantee, Verdict
from reissue.memory import Kept, Memory
from reissue.release import Published, PublishedGroups
from reissue.roles import BUDDIES, INSTANCES, Roles

VALUES = ("A", "B", "flu", "fever")
PERMANENT = ("A", "B")

Group = tuple[list[int], dict[str, int]]


def groups_of(number: int, groups: list[Group], values: tuple[str, ...] = VALUES) -> PublishedGroups:
    counts = [[(values.index(value), often) for value, often in sorted(shown.items()) if often] for _, shown in groups]

    def starts(lists: list[Any]) -> Any:
        return np.cumsum([0, *(len(one) for one in lists)])

    def flat(lists: list[list[int]]) -> Any:
        return np.array([entry for one in lists for entry in one], dtype=np.int64)

    members = [who for who, _ in groups]
    return PublishedGroups(
        number,
        flat(members),
        starts(members),
        flat([[value for value, _ in one] for one in counts]),
        flat([[often for _, often in one] for one in counts]),
        starts(counts),
        sure=np.zeros(sum(map(len, members)), dtype=np.bool_),
    )


def view(*releases: list[Group], values: tuple[str, ...] = VALUES) -> Published:
    built = (groups_of(number, groups, values) for number, groups in enumerate(releases, start=1))
    return Published(tuple(built), values, single=False)


def roles(
    instances: list[dict[str, Any]],
    buddies: dict[int, set[int]],
    container: dict[int, int],
    present: set[int],
    permanent: tuple[str, ...] = PERMANENT,
) -> Roles:
    people = sorted(container)
    pairs = [(instance, person) for instance, some in sorted(buddies.items()) for person in sorted(some)]
    return Roles(
        pl.DataFrame(instances, schema=INSTANCES),
        pl.DataFrame(pairs, schema=BUDDIES, orient="row"),
        np.array(people, dtype=np.int64),
        np.array([container[person] for person in people], dtype=np.int64),
        np.array(sorted(present), dtype=np.int64),
        permanent,
    )


def follow(guarantee: SeriesGuarantee, published: Published, secret: object = None) -> list[Verdict]:
    state: Memory = {}
    verdicts = []
    for release in published.releases:
        verdict, left = guarantee.follow(replace(published, releases=(release,)), state, secret)
        state = {name: state[name] if isinstance(table, Kept) else table for name, table in left.items()}
        verdicts.append(verdict)
    return verdicts


@dataclass
class Formation:
    """A series made by the rules, by hand and slowly: releases, instances, buddies, containers, who is present."""

    l: int  # noqa: E741
    groups: dict[int, list[Group]]
    instances: dict[int, list[dict[str, Any]]]
    buddies: dict[int, dict[int, set[int]]]
    container: dict[int, dict[int, int]]
    present: dict[int, set[int]]

    @property
    def published(self) -> Published:
        return view(*self.groups.values())

    @property
    def secret(self) -> dict[int, Roles]:
        return {
            number: roles(self.instances[number], self.buddies[number], self.container[number], self.present[number])
            for number in self.groups
        }


def formation(seed: int, l: int = 3, releases: int = 4) -> Formation:  # noqa: E741
    rng = np.random.default_rng(seed)
    container = {person: person // 6 for person in range(60)}
    made = Formation(l, {}, {}, {}, {}, {})
    live: list[dict[str, Any]] = []
    buddies: dict[int, set[int]] = {}
    given = [0, 0]
    for number in range(1, releases + 1):
        # Some move away, one dies, and whoever left a container is nobody's buddy there any more.
        if number > 1:
            for person in rng.choice(sorted(container), 3, replace=False).tolist():
                container[person] = int(rng.integers(0, 10))
            del container[int(rng.choice(sorted(container)))]
        where = {one["instance"]: one["container"] for one in live}
        buddies = {
            instance: {person for person in some if container.get(person) == where[instance]}
            for instance, some in buddies.items()
        }
        for one in live:
            if one["owner"] is not None and one["owner"] not in buddies[one["instance"]]:
                one["owner"] = None
        # A clique whose holder has gone is removed at times; nobody's absence is forced but the holders'.
        gone = {one["clique"] for one in live if one["cohort"] == 1 and one["owner"] is None}
        gone = {clique for clique in gone if rng.random() < 0.5}
        live = [one for one in live if one["clique"] not in gone]
        buddies = {one["instance"]: buddies[one["instance"]] for one in live}
        owned = {(one["owner"], one["value"]) for one in live}
        for _ in range(3 if number == 1 else 1):
            value = str(rng.choice(PERMANENT))
            clean = [person for person in container if (person, value) not in owned]
            given[1] += 1
            for cohort, owner in enumerate(rng.choice(clean, l, replace=False).tolist(), start=1):
                given[0] += 1
                owned.add((owner, value))
                mine = {person for person, at in container.items() if at == container[owner]}
                buddies[given[0]] = mine
                live.append(
                    {
                        "instance": given[0],
                        "value": value,
                        "cohort": cohort,
                        "clique": given[1],
                        "container": container[owner],
                        "owner": owner,
                        "awake": True,
                        "created": number,
                    }
                )
        present = {person for person in container if rng.random() < 0.9}
        awake = {
            one["clique"]: one["owner"] is not None and (one["owner"] in present or one["created"] == number)
            for one in live
            if one["cohort"] == 1
        }
        for one in live:
            free = [
                person
                for person in sorted(buddies[one["instance"]])
                if (person, one["value"]) not in owned or person == one["owner"]
            ]
            if one["cohort"] > 1 and one["created"] < number and free:
                owned.discard((one["owner"], one["value"]))
                one["owner"] = int(rng.choice(free))
                owned.add((one["owner"], one["value"]))
            if one["owner"] is None:
                awake[one["clique"]] = False
        for one in live:
            one["awake"] = awake[one["clique"]]
        present |= {one["owner"] for one in live if one["awake"]}
        # Asleep again are cliques of holders who would have to be present for nobody's sake.
        cells: dict[int, set[int]] = {at: {at} for at in set(container.values())}
        for clique in {one["clique"] for one in live if one["awake"]}:
            together = [cells[one["container"]] for one in live if one["clique"] == clique]
            joined = set().union(*together)
            for at in joined:
                cells[at] = joined
        made.groups[number] = []
        for part in sorted({tuple(sorted(some)) for some in cells.values()}):
            members = sorted(person for person, at in container.items() if at in part)
            shown = {
                value: sum(
                    one["awake"] and one["cohort"] == 1 and one["value"] == value and one["owner"] in members
                    for one in live
                )
                for value in PERMANENT
            }
            shown["flu"] = len(present & set(members)) // l
            made.groups[number].append((members, shown))
        made.instances[number] = [dict(one) for one in live]
        made.buddies[number] = {instance: set(some) for instance, some in buddies.items()}
        made.container[number], made.present[number] = dict(container), set(present)
    return made
