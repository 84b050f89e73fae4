"""Series with roles for tests: views and roles from plain lists, and formations made by the rules at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue.guarantees.base import SeriesGuarantee, Verdict
from reissue.model.memory import Kept, Memory
from reissue.model.published import Published, PublishedGroups
from reissue.model.roles import BUDDIES, INSTANCES, Roles

VALUES = ("A", "B", "flu", "fever")
PERMANENT = ("A", "B")
CONTAINERS, QUARTER, CROWD = 16, 4, 5
"""How many containers a formation has, how many of them lie close together, and how many people each has at first."""

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
    """A series made by the rules, by hand and slowly: releases, instances, buddies, containers, who is present.

    The `group` of an instance is the place of the group that its container is in, wherever its owner is.
    """

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

    def group_of(self, number: int, person: int) -> int:
        return next(at for at, (members, _) in enumerate(self.groups[number]) if person in members)

    def inside(self, number: int, container: int) -> set[int]:
        return {person for person, at in self.container[number].items() if at == container}

    def without_roles(self, number: int) -> set[int]:
        """Who owns nothing in a release and could own nothing that is new in it."""
        owners = {one["owner"] for one in self.instances[number]}
        new = [one["instance"] for one in self.instances[number] if one["created"] == number]
        return self.container[number].keys() - owners.union(*(self.buddies[number][one] for one in new))

    def strangers(self, number: int, one: dict[str, Any]) -> set[int]:
        """Those without roles who are not in the container of an instance and were not when it was created."""
        near = self.inside(number, one["container"]) | self.buddies[number][one["instance"]]
        return self.without_roles(number) - near

    def somewhere_else(self, number: int, one: dict[str, Any]) -> int:
        """Somebody in another group than an instance."""
        return next(members[0] for at, (members, _) in enumerate(self.groups[number]) if at != one["group"])

    def move(self, number: int, person: int, beside: int) -> None:
        """Let somebody move to where another is."""
        self.groups[number][self.group_of(number, person)][0].remove(person)
        self.groups[number][self.group_of(number, beside)][0].append(person)
        self.container[number][person] = self.container[number][beside]
        self._show_transient(number)

    def leave(self, number: int, person: int) -> None:
        """Strike somebody off the registry of a release, but not off the lists of buddies."""
        self.groups[number][self.group_of(number, person)][0].remove(person)
        self.present[number].discard(person)
        del self.container[number][person]
        self._show_transient(number)

    def _show_transient(self, number: int) -> None:
        """As often as it may be, which depends on who is where."""
        for members, shown in self.groups[number]:
            shown["flu"] = len(self.present[number] & set(members)) // self.l


def formation(seed: int, l: int = 3, releases: int = 4) -> Formation:  # noqa: E741
    rng = np.random.default_rng(seed)
    container = {person: person // CROWD for person in range(CONTAINERS * CROWD)}
    made = Formation(l, {}, {}, {}, {}, {})
    live: list[dict[str, Any]] = []
    buddies: dict[int, set[int]] = {}
    given = [0, 0]
    left: list[int] = []
    for number in range(1, releases + 1):
        if number > 1:
            _change(rng, container, live, left)
        # Moving away makes nobody less of a buddy or an owner; leaving the registry does, even for those who return.
        for one in live:
            buddies[one["instance"]] -= set(left[-3:])
            if one["owner"] not in buddies[one["instance"]]:
                one["owner"] = None
        # A clique whose holder has gone is removed at times; nobody's absence is forced but the holders'.
        gone = {one["clique"] for one in live if one["cohort"] == 1 and one["owner"] is None}
        gone = {clique for clique in gone if rng.random() < 0.5}
        live = [one for one in live if one["clique"] not in gone]
        buddies = {one["instance"]: buddies[one["instance"]] for one in live}
        owned = {(one["owner"], one["value"]) for one in live}
        # Somebody may inherit from a holder who died, at once or later.
        for one in live:
            heirs = [person for person in sorted(buddies[one["instance"]]) if (person, one["value"]) not in owned]
            if one["cohort"] == 1 and one["owner"] is None and heirs and rng.random() < 0.5:
                one["owner"] = int(rng.choice(heirs))
                owned.add((one["owner"], one["value"]))
        for _ in range(4 if number == 1 else 1):
            value = str(rng.choice(PERMANENT))
            clean = [person for person in container if (person, value) not in owned]
            near = [
                [person for person in clean if container[person] // QUARTER == quarter]
                for quarter in range(CONTAINERS // QUARTER)
            ]
            enough = [some for some in near if len(some) >= l]
            drawn = rng.choice(enough[int(rng.integers(len(enough)))], l, replace=False).tolist()
            given[1] += 1
            for cohort, owner in enumerate(drawn, start=1):
                given[0] += 1
                owned.add((owner, value))
                buddies[given[0]] = {person for person, at in container.items() if at == container[owner]}
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
        made.groups[number] = []
        for place, part in enumerate(_parts(container, live)):
            inside = [one for one in live if one["container"] in part]
            for one in inside:
                one["group"] = place
            members = sorted(person for person, at in container.items() if at in part)
            holders = [one["value"] for one in inside if one["awake"] and one["cohort"] == 1]
            shown = {value: holders.count(value) for value in PERMANENT}
            shown["flu"] = len(present & set(members)) // l
            made.groups[number].append((members, shown))
        made.instances[number] = [dict(one) for one in live]
        made.buddies[number] = {instance: set(some) for instance, some in buddies.items()}
        made.container[number], made.present[number] = dict(container), set(present)
    return made


def _change(rng: np.random.Generator, container: dict[int, int], live: list[dict[str, Any]], left: list[int]) -> None:
    """People move, at times all of a container; three leave the registry, an owner among them; one may return."""
    movers = rng.choice(sorted(container), 6, replace=False).tolist()
    if rng.random() < 0.5:
        emptied = int(rng.choice([one["container"] for one in live]))
        movers += [person for person, at in container.items() if at == emptied]
    for person in movers:
        container[person] = int((container[person] + rng.integers(1, CONTAINERS)) % CONTAINERS)
    if left and rng.random() < 0.7:
        container[int(rng.choice(sorted(set(left) - container.keys())))] = int(rng.integers(CONTAINERS))
    owners = {one["owner"] for one in live} & container.keys()
    for some in (owners, container, container):
        left.append(int(rng.choice(sorted(some))))
        del container[left[-1]]


def _parts(container: dict[int, int], live: list[dict[str, Any]]) -> list[list[int]]:
    """The containers of each group: those of an awake clique are together, and one without people is with another."""
    cells = {at: {at} for at in range(CONTAINERS)}
    inhabited = set(container.values())
    cliques = {one["clique"] for one in live if one["awake"]}
    together = [{one["container"] for one in live if one["clique"] == clique} for clique in cliques]
    together += [{at, min(inhabited, key=lambda other: abs(other - at))} for at in cells.keys() - inhabited]
    for some in together:
        joined = set().union(*(cells[at] for at in some))
        cells.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(some)): sorted(some) for some in cells.values()}.values())
