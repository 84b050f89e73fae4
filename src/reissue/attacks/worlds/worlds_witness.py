"""Why somebody can have one value only: the fewest groups from which it follows, in words.

First the person's own groups are intersected. Where that leaves several values, groups are added that share people
with those looked at so far, until the value follows from them alone; then every group that is not needed is taken
away again. What remains is a derivation that can be followed with pencil and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np

from reissue.arrays.budget import for_telling, passed
from reissue.arrays.types import Ints
from reissue.attacks.base import Kind
from reissue.attacks.sentences import (
    Cell,
    Part,
    Person,
    Place,
    Secret,
    Sentence,
    Value,
    Witness,
    going_on,
    holding,
    shortened,
    some_values,
)
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.worlds.posteriors import Effort, posteriors

Spot = tuple[int, int]
"""A release by its place in the view, and a group of it counted from 0."""

MOST_GROUPS = 120
"""Derivations from more groups are not looked for: nobody could follow them."""
SHOWN = 12
"""More people or values of one group are not told one by one."""
SECONDS = 10.0
"""For all derivations of one attack together; later ones only name the person's own groups."""


class Explainer:
    """Derives what is certain from few groups."""

    def __init__(
        self,
        published: Published,
        known_people: Ints,
        known_values: Ints,
        allowed: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self._published = published
        self._allowed = allowed or {}
        self._made_known = bool(self._allowed) or bool((known_people < 0).any())
        self._known = dict(zip(known_people.tolist(), known_values.tolist(), strict=True))
        self._cores: dict[int, tuple[Spot, ...]] = {}
        self._deadline: float | None = None

    def certain(self, person: int) -> Witness:
        """Why a person can have one value only."""
        core = self._core(person)
        if not core:
            return self._without_core(person)
        value = self._only_value(core, person)
        own = all(person in self._members(spot) for spot in core)
        if own and len(set.intersection(*(self._values(spot) for spot in core))) == 1:
            return self._by_intersection(person, core, value)
        spots = sorted(core)
        sentences = [self._told(spot) for spot in spots[:SHOWN]]
        sentences += [*going_on(len(spots), SHOWN), *self._told_known(core)]
        leaves = "Together they leave " if len(sentences) > 1 else "That leaves "
        sentences.append((leaves, Person(person), " no value but ", Value(value), "."))
        return Witness(tuple(sentences))

    def likely(
        self, person: int, value: int, fraction: Fraction | None, figure: float, kind: Kind, present: bool
    ) -> Witness:
        """Why a value is likely for a person: how it was come by. `present`: it is known that he is in a release."""
        agree = "agree with every release" + (" and with what is known of counterfeits" if self._made_known else "")
        share = "all" if fraction == 1 else fraction or figure
        how = {
            "exact": f"of all assignments of values to people that {agree}, {share}",
            "sampled": f"of assignments drawn at random that {agree}, about {figure:.3g}",
        }.get(kind, f"at least {figure:.3g} of all assignments that {agree}")
        together = self._together(person)
        sentences = [self._told(spot) for spot in together or self._spots(person)[:3]]
        if not together:
            sentences.append(("Other groups share people with these, and so on.",))
        sentences += self._told_known(together)
        if not present:
            sentences.append(("Suppose that ", Person(person), " is in one of the releases."))
        sentences.append((f"{how[0].upper()}{how[1:]} give ", Person(person), " ", Value(value), "."))
        return Witness(tuple(sentences))

    def of_column(
        self,
        person: int,
        records: list[int],
        cell: Cell,
        fraction: Fraction | None,
        figure: float,
        kind: Kind,
        present: bool,
    ) -> Witness:
        """Why a value of one of several columns is likely for a person: the records that are left for them."""
        together = self._together(person)
        sentences = [self._told(spot) for spot in together or self._spots(person)[:3]]
        if not together:
            sentences.append(("Other groups share people with these, and so on.",))
        sentences += self._told_known(together)
        if not present:
            sentences.append(("Suppose that ", Person(person), " is in one of the releases."))
        sentences.append((Person(person), " can have ", *some_values(records, SHOWN, "or"), "."))
        if fraction == 1:
            return Witness((*sentences, ("So ", Person(person), " has ", cell, ".")))
        how = {"exact": f"{fraction or f'{figure:.3g}'}", "sampled": f"about {figure:.3g}"}.get(
            kind, f"at least {figure:.3g}"
        )
        ending: Sentence = (f"Of all assignments that agree with the releases, {how} give ", Person(person), " ", cell)
        return Witness((*sentences, (*ending, ".")))

    def alone(self, person: int, value: int) -> tuple[Witness, int]:
        """Why a value is likely for a person by one release alone, where releases contradict each other; and which."""
        shares = {}
        for at, group in self._spots(person):
            values, counts = self._published.releases[at].values_of(group)
            shares[at, group] = float(counts[values == value].sum() / counts.sum())
        spot = max(shares, key=lambda one: shares[one])
        sentence: Sentence = (
            "Together the releases contradict each other, so each is taken alone: of the rows of ",
            self._place(spot),
            f", where {shares[spot]:.3g} of all have ",
            Value(value),
            ", one is that of ",
            Person(person),
            ".",
        )
        return Witness((self._told(spot), sentence)), self._published.releases[spot[0]].number

    def completed_by(self, person: int) -> int | None:
        """The number of the release with which it became certain."""
        spots = self._core(person) or tuple(self._spots(person))
        return max((self._published.releases[at].number for at, _ in spots), default=None)

    def last_release(self, person: int) -> int | None:
        """The number of the last release a person was in."""
        return max((self._published.releases[at].number for at, _ in self._spots(person)), default=None)

    # Sentences

    def _by_intersection(self, person: int, core: Iterable[Spot], value: int) -> Witness:
        spots = sorted(core)
        parts: list[Part] = [Person(person), " is in "]
        for at, spot in enumerate(spots):
            parts += [", and in " if at else "", self._place(spot), ", which shows ", *self._value_parts(spot)]
        if len(spots) == 1:
            parts.append(": there is no other value.")
        else:
            parts += [": only ", Value(value), " is in all of them." if len(spots) > 2 else " is in both."]
        return Witness((tuple(parts),))

    def _told(self, spot: Spot) -> Sentence:
        holds = holding(self._place(spot), sorted(self._members(spot)), self._published.exact, SHOWN)
        return (*holds, "; its values are ", *self._value_parts(spot), ".")

    def _told_known(self, spots: Iterable[Spot]) -> list[Sentence]:
        members = {member for spot in spots for member in self._members(spot)}
        argued = self._told_allowed(sorted(members & self._allowed.keys()), spots)
        known = sorted(members & self._known.keys())
        if not known:
            return argued
        told: list[Part] = []
        for at, member in enumerate(known[:SHOWN]):
            told += [
                "" if not at else ", ",
                Person(member),
                " " if at else " is known to have ",
                Secret(self._known[member]),
            ]
        return [(*told, "." if len(known) <= SHOWN else f", and so on for {len(known) - SHOWN:,} more."), *argued]

    def _told_allowed(self, made: list[int], spots: Iterable[Spot]) -> list[Sentence]:
        """That counterfeits do not have some of the values that their groups show."""
        shown = {member: self._values(spot) for spot in spots for member in self._members(spot)}
        barred = {member: sorted(shown[member] - {*self._allowed[member]}) for member in made}
        told = [(member, values) for member, values in barred.items() if values]
        sentences: list[Sentence] = [
            (Person(member), " was not given ", *some_values(values, SHOWN, "or"), ".")
            for member, values in told[:SHOWN]
        ]
        return [*sentences, *([(f"So it is with {len(told) - SHOWN:,} more.",)] if len(told) > SHOWN else [])]

    def _without_core(self, person: int) -> Witness:
        sentences = [self._told(spot) for spot in self._spots(person)[:3]]
        sentences.append(
            (
                "Together with the groups that share people with these, they leave ",
                Person(person),
                " one value only; no short derivation was found.",
            )
        )
        return Witness(tuple(sentences))

    def _place(self, spot: Spot) -> Place:
        return Place(self._published.releases[spot[0]].number, spot[1] + 1)

    def _value_parts(self, spot: Spot) -> Sentence:
        values, counts = self._published.releases[spot[0]].values_of(spot[1])
        pairs = list(zip(values.tolist(), counts.tolist(), strict=True))
        told = [(Value(value), f" ({often:,} times)" if often > 1 else "") for value, often in pairs[:SHOWN]]
        return shortened(told, len(pairs))

    # The fewest groups

    def _core(self, person: int) -> tuple[Spot, ...]:
        if person not in self._cores:
            self._cores[person] = self._find_core(person)
        return self._cores[person]

    def _find_core(self, person: int) -> tuple[Spot, ...]:
        if not self._published.exact:
            return ()  # who is in which group is not known, so that a few groups prove nothing
        own = self._spots(person)
        sets = {spot: self._values(spot) for spot in own}
        for few in range(1, min(len(own), 3) + 1):
            for chosen in combinations(own, few):
                if len(set.intersection(*(sets[spot] for spot in chosen))) == 1:
                    return chosen
        if own and len(set.intersection(*sets.values())) == 1:
            kept = list(own)
            for spot in own:
                rest = [other for other in kept if other != spot]
                if len(set.intersection(*(sets[other] for other in rest))) == 1:
                    kept = rest
            return tuple(kept)
        if self._deadline is None:
            self._deadline = for_telling(SECONDS)
        chosen_so_far = list(own)
        while len(chosen_so_far) <= MOST_GROUPS and not passed(self._deadline, 100):
            if self._only_value(chosen_so_far, person) >= 0:
                return self._reduced(chosen_so_far, person)
            wider = self._widened(chosen_so_far)
            if len(wider) == len(chosen_so_far):
                break
            chosen_so_far = wider
        return ()

    def _together(self, person: int) -> list[Spot]:
        """All groups that hang together with those of a person, where they are few enough to be told."""
        spots = self._spots(person)
        while len(spots) <= SHOWN:
            wider = self._widened(spots)
            if len(wider) == len(spots):
                return sorted(spots)
            spots = wider
        return []

    def _widened(self, spots: list[Spot]) -> list[Spot]:
        """With the groups that share people with these, those with the most in common first."""
        people: dict[int, int] = {}
        for spot in spots:
            for member in self._members(spot):
                people[member] = people.get(member, 0) + 1
        near: dict[Spot, int] = {}
        for member in sorted(people):
            for spot in self._spots(member):
                if spot not in spots:
                    near[spot] = near.get(spot, 0) + people[member]
        ranked = sorted(near, key=lambda spot: (-near[spot], spot))
        return spots + ranked[: max(len(spots), 4)]

    def _reduced(self, spots: Iterable[Spot], person: int) -> tuple[Spot, ...]:
        """Without the groups that are not needed; the last added, the farthest away, are tried first."""
        kept = list(spots)
        for spot in reversed(list(kept)):
            rest = [other for other in kept if other != spot]
            if passed(self._deadline, 100):
                break
            if rest and self._only_value(rest, person) >= 0:
                kept = rest
        return tuple(sorted(kept))

    def _only_value(self, spots: Iterable[Spot], person: int) -> int:
        """The only value that some groups alone leave to a person, or -1."""
        view, numbers = self._view(spots)
        if person not in numbers:
            return -1
        known = sorted((numbers[member], value) for member, value in self._known.items() if member in numbers)
        people = np.array([member for member, _ in known], dtype=np.int64)
        values = np.array([value for _, value in known], dtype=np.int64)
        allowed = {numbers[member]: some for member, some in self._allowed.items() if member in numbers}
        effort = Effort(seconds=2.0, entries=20_000, draws=0)
        found = posteriors(view, people, values, allowed=allowed, effort=effort)
        unit = int(found.unit[np.searchsorted(found.people, numbers[person])])
        first, after = int(found.starts[unit]), int(found.starts[unit + 1])
        return int(found.values[first]) if after - first == 1 else -1

    def _view(self, spots: Iterable[Spot]) -> tuple[Published, dict[int, int]]:
        """Some groups as a series of their own, with people numbered anew (made-up rows are people here)."""
        numbers: dict[int, int] = {}
        releases = []
        by_release: dict[int, list[int]] = {}
        for at, group in spots:
            by_release.setdefault(at, []).append(group)
        for at, groups in sorted(by_release.items()):
            release = self._published.releases[at]
            members = [
                [numbers.setdefault(member, len(numbers)) for member in self._members((at, group))] for group in groups
            ]
            entries = [np.arange(release.value_starts[group], release.value_starts[group + 1]) for group in groups]
            every = np.concatenate(entries)
            releases.append(
                PublishedGroups(
                    release.number,
                    np.array([member for some in members for member in some], dtype=np.int64),
                    np.cumsum([0, *(len(some) for some in members)]),
                    release.values[every],
                    release.counts[every],
                    np.cumsum([0, *(some.size for some in entries)]),
                )
            )
        return Published(tuple(releases), self._published.values), numbers

    def _members(self, spot: Spot) -> list[int]:
        members: list[int] = self._published.releases[spot[0]].members_of(spot[1]).tolist()
        return members

    def _values(self, spot: Spot) -> set[int]:
        return set(self._published.releases[spot[0]].values_of(spot[1])[0].tolist())

    def _spots(self, person: int) -> list[Spot]:
        """The groups of a person, release after release."""
        return self._published.index.of_person(person)
