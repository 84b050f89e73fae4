"""How somebody's values were ruled out, told in sentences."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Ints
from reissue.attacks.sentences import (
    Person,
    Place,
    Sentence,
    Value,
    Witness,
    enumeration,
    is_known,
    one_of,
    some_people,
    some_values,
)
from reissue.kernels.correlated_groups import BY_COMPROMISED
from reissue.reasoning.correlation.correlations import Correlated, Correlations, Restrictions, bits

LONGEST = 12
"""So many sentences at most; of longer derivations the last ones are told."""
SHOWN = 8
"""So many people or values at most are enumerated."""


def correlation(found: Correlations, pair: Correlated) -> tuple[Witness, int]:
    """Why two sets of people have the same values, and the release that completes it."""
    differ = _differ(found, pair.first, pair.second, pair.one, pair.other)
    same = " have together the same values as " if pair.one.size > 1 else " has the same value as "
    result: Sentence = ("So ", *_people(pair.one), same, *_people(pair.other), ".")
    return Witness((differ, result)), int(max(found.release[pair.first], found.release[pair.second]))


class Derivations:
    """Follows what was ruled out back to what was published and known."""

    def __init__(self, found: Correlations, left: Restrictions, known_people: Ints, known_values: Ints) -> None:
        self._found, self._left = found, left
        self._known = dict(zip(known_people.tolist(), known_values.tolist(), strict=True))
        member, value = left.log[:, 0], left.log[:, 1]
        self._order = np.lexsort((value, member))
        self._keys = np.column_stack([member, value])[self._order]

    def witness(self, person: int) -> tuple[Witness, int]:
        """Why only some values are left for a person, and the release that completes it."""
        found = self._found
        at = int(np.searchsorted(found.where.people, person))
        known, common, steps = self._needed(at)
        sentences = [is_known(who, self._known[who]) for who in known]
        releases = [0]
        for who in common:
            sentence, release = self._in_common(who)
            sentences.append(sentence)
            releases.append(release)
        for step in self._grouped(steps):
            sentences.append(self._step(*step))
            releases += [int(found.release[group]) for group in step[2:4]]
        left = list(bits(self._left.after[at]))
        sentences.append(("So ", Person(person), " has ", *one_of(left, SHOWN), "."))
        if len(sentences) > LONGEST:
            skipped = len(sentences) - LONGEST + 1
            sentences = [(f"After {skipped:,} steps that are left out here:",), *sentences[skipped:]]
        return Witness(tuple(sentences)), max(releases)

    def _needed(self, at: int) -> tuple[list[int], list[int], list[int]]:
        """Who is known, whose groups have little in common, and which removals are needed, for a member."""
        found = self._found
        known: dict[int, None] = {}
        common: dict[int, None] = {}
        steps: set[int] = set()
        open_questions = [(at, value) for value in self._not_left(at)]
        asked = set(open_questions)

        def ask(who: int, value: int) -> None:
            if (who, value) not in asked:
                asked.add((who, value))
                open_questions.append((who, value))

        while open_questions:
            who, value = open_questions.pop()
            person = int(found.where.people[who])
            row = self._row(who, value)
            if person in self._known:
                known[person] = None
            elif row is None:
                common[who] = None
            else:
                steps.add(row)
                _, _, kind, group, partner = self._left.log[row].tolist()
                if kind == BY_COMPROMISED:
                    for other in self._all_certain(group, value):
                        for ruled_out in self._not_left(other):
                            if ruled_out != value:
                                ask(other, ruled_out)
                        if int(found.where.people[other]) in self._known:
                            known[int(found.where.people[other])] = None
                else:
                    for other in np.searchsorted(found.where.people, found.apart(group, partner)[0]).tolist():
                        ask(other, value)
        if not asked:
            common[at] = None
        return sorted(known), sorted(common), sorted(steps)

    def _shown(self, at: int) -> Ints:
        """The values that the groups of a member show, all together."""
        where, found = self._found.where, self._found
        groups = where.groups[where.group_starts[at] : where.group_starts[at + 1]]
        shown = [found.values[found.value_starts[group] : found.value_starts[group + 1]] for group in groups]
        return np.unique(np.concatenate(shown))

    def _not_left(self, at: int) -> list[int]:
        left = set(bits(self._left.after[at]))
        return [value for value in self._shown(at).tolist() if value not in left]

    def _row(self, who: int, value: int) -> int | None:
        """The removal of a value from a member's set, if it was not missing from the start."""
        begin, end = np.searchsorted(self._keys[:, 0], [who, who + 1])
        at = begin + int(np.searchsorted(self._keys[begin:end, 1], value))
        return int(self._order[at]) if at < end and self._keys[at, 1] == value else None

    def _in_common(self, at: int) -> tuple[Sentence, int]:
        """What the groups of a member have in common, by the earliest of them that leave as little as all do."""
        found, where = self._found, self._found.where
        goal = list(bits(self._left.before[at]))
        person = Person(int(where.people[at]))
        used: list[int] = []
        values: set[int] = set()
        for group in where.groups[where.group_starts[at] : where.group_starts[at + 1]].tolist():
            shown = set(found.values[found.value_starts[group] : found.value_starts[group + 1]].tolist())
            if used and shown >= values:
                continue
            values = values & shown if used else shown
            used.append(group)
        release = int(found.release[used[-1]])
        places = enumeration([self._place(group) for group in used[:SHOWN]])
        more = f" and {len(used) - SHOWN:,} more" if len(used) > SHOWN else ""
        if len(used) == 1:
            return (person, " is in ", *places, ", which shows only ", *some_values(goal, SHOWN), "."), release
        return (
            person,
            " is in ",
            *places,
            more,
            ", which have only ",
            *some_values(goal, SHOWN),
            " in common.",
        ), release

    def _grouped(self, steps: list[int]) -> list[tuple[int, int, int, int, list[int]]]:
        """Removals from one set for one reason together: member, kind, two groups, values."""
        told: list[tuple[int, int, int, int, list[int]]] = []
        for row in steps:
            member, value, kind, group, partner = self._left.log[row].tolist()
            if told and told[-1][:4] == (member, kind, group, partner) and kind != BY_COMPROMISED:
                told[-1][4].append(value)
            else:
                told.append((member, kind, group, partner, [value]))
        return told

    def _step(self, member: int, kind: int, group: int, partner: int, values: list[int]) -> Sentence:
        found = self._found
        person = Person(int(found.where.people[member]))
        if kind == BY_COMPROMISED:
            who = [int(found.where.people[other]) for other in self._all_certain(group, values[0])]
            verb = " have " if len(who) > 1 else " has "
            return (
                "In ",
                self._place(group),
                " only ",
                *some_people(who, SHOWN),
                verb,
                Value(values[0]),
                ", so ",
                person,
                " does not.",
            )
        one, other = found.apart(group, partner)
        differ = _differ(found, group, partner, one, other)
        lacking = " cannot have " if one.size == 1 else " can none of them have "
        return (
            *differ,
            " ",
            *_people(one),
            lacking,
            *some_values(values, SHOWN, "or"),
            ", so ",
            person,
            " cannot either.",
        )

    def _all_certain(self, group: int, value: int) -> list[int]:
        """The members of a group that are certain to have a value: as many as have it, where it was ruled out."""
        where = self._found.where
        members = where.member[where.starts[group] : where.starts[group + 1]].tolist()
        return [member for member in members if list(bits(self._left.after[member])) == [value]]

    def _place(self, group: int) -> Place:
        return Place(int(self._found.release[group]), int(self._found.group[group]))


def _differ(found: Correlations, first: int, second: int, one: Ints, other: Ints) -> Sentence:
    places = [Place(int(found.release[group]), int(found.group[group])) for group in sorted((first, second))]
    told: Sentence = ("The same values are in ", *enumeration(places), ", which differ only in ", *_people(one))
    if one.size == 1:
        return (*told, " and ", *_people(other), ".")
    return (*told, " on one side and ", *_people(other), " on the other.")


def _people(people: Ints) -> Sentence:
    return some_people(people.tolist(), SHOWN)
