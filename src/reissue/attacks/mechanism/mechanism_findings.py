"""What somebody who knows the program learns: probabilities of values, and who must have the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, compress
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.base import Finding, Findings, Judgement, Kind, Limits, together
from reissue.attacks.figures import EXACT, SAMPLED, Figures
from reissue.attacks.mechanism.mechanism_domain import Domain
from reissue.attacks.mechanism.mechanism_tables import Chance, Slots, Weighed
from reissue.attacks.sentences import Part, Person, Sentence, Value, Witness
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published

EXPLAINED = 100
"""So many findings at most have their derivation among the witnesses."""


def told(count: int, releases: int) -> str:
    """So many tables or, of several releases, histories."""
    return count_of(count, "table") if releases == 1 else count_of(count, "history", "histories")


class Tried(NamedTuple):
    """What was run."""

    tables: int
    """How many tables there may be, or histories of several, each of which was tried."""
    refused: int
    """How many of them the method refuses, with the first seed; of a history that is not looked at beyond the first
    release that differs from what was published."""
    seeds: int | None
    """How many seeds were tried where the method draws; None where it never did."""
    cut_short: bool
    """Whether the time ran out before all seeds had been tried."""


class MechanismFindings(Findings):
    """What is left of everybody's secrets when the method is known.

    Figures are fractions where they are exact, and floats where they are estimates. They are about all releases
    together. Where values change, `release` says at which release somebody has a value; without it, at the last one
    whose table they are in.
    """

    attack: ClassVar[str] = "Mechanism"

    def __init__(
        self,
        published: Published,
        method: str,
        domain: Domain,
        names: tuple[str | int, ...],
        people: Ints,
        slots: Slots,
        fixed: list[int | None],
        weighed: Weighed,
        tried: Tried,
    ) -> None:
        self.published = published
        self._method, self._domain, self._names = method, domain, names
        self._people, self._slots, self._fixed = people.tolist(), slots, fixed
        self._weighed, self.tried = weighed, tried
        self._position = {number: position for position, number in domain.number_of.items()}
        often = "" if tried.seeds is None else f", over {count_of(tried.seeds, 'seed')} where {method} draws"
        self._releases = len(published.releases)
        self.searched = (f"{told(tried.tables, self._releases)} that may have been published{often}",)
        self.undecided = ()
        if tried.seeds is not None:
            self.undecided = (f"{method} draws random numbers: probabilities are estimates",)
        if tried.cut_short:
            self.undecided += ("the time ran out before all seeds had been tried",)

    def __repr__(self) -> str:
        what = "tables" if self._releases == 1 else "histories"
        return f"MechanismFindings({len(self._people):,} people, {self.worlds:,} of {self.tried.tables:,} {what} left)"

    # What is left

    @property
    def exact(self) -> bool:
        """Whether the figures are exact: the method drew no random numbers."""
        return self._weighed.exact

    @property
    def worlds(self) -> int:
        """How many tables lead to the release, or histories to all; where the method draws, how many were seen to."""
        return len(self._weighed.tables)

    @property
    def weight(self) -> Fraction | float:
        """How likely the releases were before they were seen, over all tables by their prior weight."""
        return self._weighed.evidence()

    def probability(self, person: str | int, value: object, release: int | None = None) -> Fraction | float:
        """How likely it is that a person has a value."""
        return self._chance(self._slot(self._row(person), release), (self._domain.number(value),)).probability

    def set_probability(
        self, values: Iterable[object], people: Iterable[str | int] | None = None, release: int | None = None
    ) -> dict[str | int, Fraction | float]:
        """How likely it is that each of these people, by default all, has one of these values."""
        if isinstance(values, str):
            raise ParameterError('Values are given as a list, such as ["HIV"]; a text alone is not.')
        numbers = tuple(self._domain.number(value) for value in values)
        rows = range(len(self._names)) if people is None else map(self._row, people)
        found = {row: self._chance(self._slot(row, release), numbers) for row in rows if self._there(row, release)}
        return {self._names[row]: chance.probability for row, chance in found.items()}

    def equal_probability(self, one: str | int, other: str | int, release: int | None = None) -> Fraction | float:
        """How likely it is that two people have the same value; by default at the last release that both are in."""
        rows = self._row(one), self._row(other)
        if release is None and self._changing:
            both = set.intersection(*({self._number(slot) for slot in self._slots_of[row]} for row in rows))
            if not both:
                raise ParameterError("These two people are not in the table of the same release.")
            release = max(both)
        tables = self._weighed.tables
        first, second = (tables[:, self._slot(row, release)] for row in rows)
        return self._weighed.chance(first == second).probability

    @property
    def equal_pairs(self) -> tuple[tuple[str | int, str | int], ...]:
        """The pairs of people who have the same value in every table left; where values change, at some release.

        Where the figures are estimates, that is every table seen to lead to the release: it is not proven.
        """
        pairs = ((self._slots.person[one], self._slots.person[other]) for one, other in self._equal_slots)
        return tuple(dict.fromkeys((self._names[one], self._names[other]) for one, other in pairs))

    @cached_property
    def _equal_slots(self) -> tuple[tuple[int, int], ...]:
        tables, when = self._weighed.tables, self._slots.release
        pairs = combinations(range(len(when)), 2)
        return tuple(
            (one, other)
            for one, other in pairs
            if when[one] == when[other] and (tables[:, one] == tables[:, other]).all()
        )

    # Slots: people, or where values change people at a release

    @property
    def _changing(self) -> bool:
        return any(release is not None for release in self._slots.release)

    def _row(self, person: str | int) -> int:
        if person not in self._names:
            raise ParameterError("There is no such person in the registry.", hint="people are called as in the view.")
        return self._names.index(person)

    @cached_property
    def _slots_of(self) -> list[list[int]]:
        """The slots of each person, in the order of releases."""
        found: list[list[int]] = [[] for _ in self._names]
        for slot, row in enumerate(self._slots.person):
            found[row].append(slot)
        return found

    def _number(self, slot: int) -> int:
        """The number of the release that a slot is about; the last where it is about all."""
        release = self._slots.release[slot]
        return self.published.releases[-1 if release is None else release].number

    def _there(self, row: int, release: int | None) -> bool:
        """Whether somebody is in the table of a release, where that matters."""
        return release is None or not self._changing or any(self._number(one) == release for one in self._slots_of[row])

    def _slot(self, row: int, release: int | None) -> int:
        if release is not None and release not in {one.number for one in self.published.releases}:
            raise ParameterError(f"There is no release {release} in the view.")
        if not self._there(row, release):
            raise ParameterError(f"That person is not in the table of release {release}.")
        slots = self._slots_of[row]
        if release is None or not self._changing:
            return slots[-1]
        return next(slot for slot in slots if self._number(slot) == release)

    def _chance(self, slot: int, numbers: tuple[int, ...]) -> Chance:
        return self._weighed.chance(np.isin(self._weighed.tables[:, slot], numbers))

    @cached_property
    def _possible(self) -> list[list[int]]:
        """For each slot the values that some table left gives it; each is proven to be possible."""
        return [np.unique(column).tolist() for column in self._weighed.tables.T]

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """For each person and value how likely it is; where it is exact, for values still possible only.

        Where values change, `release` says when, for each release whose table somebody is in.
        """
        every = range(len(self._domain.values))
        facts = [
            (slot, number)
            for slots in self._slots_of
            for slot in slots
            for number in (self._possible[slot] if self.exact else every)
        ]
        called = pl.Int64 if self.published.people is None else pl.String
        person = pl.Series([self._names[self._slots.person[slot]] for slot, _ in facts], dtype=called)
        value = pl.Series([str(self._domain.values[number]) for _, number in facts], dtype=pl.String)
        figures = _figures([self._chance(slot, (number,)) for slot, number in facts])
        more = {"release": pl.Series([self._number(slot) for slot, _ in facts], dtype=pl.Int64)}
        return figures.posteriors(person, value, np.arange(len(facts)), **(more if self._changing else {}))

    @property
    def _kind(self) -> Kind:
        return "exact" if self.exact else "sampled"

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have one value only, with that value; nobody where the figures are estimates.

        Where values change, that at some release, and the value at the last such.
        """
        return {
            self._names[self._slots.person[slot]]: self._domain.values[self._possible[slot][0]]
            for slot in self._unknown
            if self.exact and len(self._possible[slot]) == 1
        }

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values of their groups that they cannot have; nothing where the figures are estimates."""
        if not self.exact or not self.published.exact:
            return {}
        ruled_out: dict[str | int, list[object]] = {}
        for at, release in enumerate(self.published.releases):
            group = release.member_groups.tolist()
            home = dict(zip(release.members.tolist(), group, strict=True))
            for slot in self._unknown:
                row = self._slots.person[slot]
                if self._people[row] not in home or self._slots.release[slot] not in (None, at):
                    continue
                shown = release.values_of(home[self._people[row]])[0].tolist()
                gone = [one for one in shown if self._domain.number_of[one] not in self._possible[slot]]
                found = ruled_out.setdefault(self._names[row], [])
                found += [value for one in gone if (value := self.published.values[one]) not in found]
        return {name: values for name, values in ruled_out.items() if values}

    @cached_property
    def _unknown(self) -> list[int]:
        """The slots of people whose value was not known beforehand."""
        return [slot for slot, row in enumerate(self._slots.person) if self._fixed[row] is None]

    @property
    def _everybody(self) -> str:
        return count_of(len({self._slots.person[slot] for slot in self._unknown}), "person", "people")

    def _rows(self, slots: Iterable[int]) -> int:
        """How many people slots are about."""
        return len({self._slots.person[slot] for slot in slots})

    # Judgement

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Hold probabilities, possible values and pairs found equal against limits.

        A limit for credibility is about the protected sets of the schema, one for probability about single values.
        """
        judged = []
        credibility: Fraction | None = getattr(limits, "credibility", None)
        if limits.probability is not None:
            judged.append(self._by_probability(limits.probability, self._domain.single, most))
        if credibility is not None and (credibility != limits.probability or self._domain.schema.protect):
            judged.append(self._by_probability(credibility, self._domain.protected, most))
        if limits.history_diversity is not None:
            judged.append(self._by_values(limits.history_diversity, most))
        if limits.equivalence is not None and limits.equivalence > 1:
            judged.append(self._by_equality(most))
        if not judged:
            return Judgement("not asked", "No limit was given that this attack could be held against.")
        return together(judged, most)

    def _by_probability(self, limit: Fraction, sets: tuple[tuple[int, ...], ...], most: int) -> Judgement:
        worst = sorted(
            ((max((self._chance(slot, one), one) for one in sets), slot) for slot in self._unknown if sets),
            key=lambda found: -found[0][0].probability,
        )
        above = _figures([chance for (chance, _), _ in worst]).beyond(limit).tolist()
        beyond = [(chance, numbers, slot) for (chance, numbers), slot in compress(worst, above)]
        people = self._rows(slot for _, _, slot in beyond)
        highest = max((float(chance.probability) for (chance, _), _ in worst), default=0.0)
        everybody = self._everybody
        whose = "a protected set of values" if any(len(one) > 1 for one in sets) else "a value"
        if beyond:
            findings = tuple(self._finding(*found) for found in beyond[: max(most, 0)])
            words = (
                f"Somebody who knows {self._method} can tie {people:,} of {everybody} to {whose} with more than "
                f"{limit}; the highest probability is {highest:.3g}."
            )
            return Judgement("beyond", words, findings, people)
        if self.exact:
            words = f"Nobody of {everybody} is tied to {whose} with more than {limit}; the highest is {highest:.3g}."
            return Judgement("within", words)
        if highest > limit:
            words = (
                f"By estimate somebody of {everybody} is tied to {whose} with more than {limit}, perhaps by chance; "
                f"the highest is {highest:.3g}. More seeds would tell."
            )
            return Judgement("undecided", words)
        words = f"By estimate nobody of {everybody} is tied to {whose} with more than {limit}; the highest is "
        return Judgement("sampled", f"{words}{highest:.3g}.")

    def _by_values(self, l: int, most: int) -> Judgement:  # noqa: E741
        few = sorted(
            (slot for slot in self._unknown if len(self._possible[slot]) < l), key=lambda r: len(self._possible[r])
        )
        people = self._rows(few)
        everybody = self._everybody
        if not few:
            return Judgement("within", f"At least {count_of(l, 'value')} are possible for each of {everybody}.")
        if not self.exact:
            words = f"For {people:,} of {everybody} fewer than {count_of(l, 'value')} were seen to be possible."
            return Judgement("undecided", words)
        words = f"Fewer than {count_of(l, 'value')} are possible for {people:,} of {everybody}."
        findings = tuple(self._few(slot) for slot in few[: max(most, 0)])
        return Judgement("beyond", words, findings, people)

    def _by_equality(self, most: int) -> Judgement:
        unknown = set(self._unknown)
        pairs = [pair for pair in self._equal_slots if unknown & set(pair)]
        if not pairs:
            return Judgement("within", "No two people must have the same value.")
        people = len({(self._slots.person[one], self._slots.person[other]) for one, other in pairs})
        left = "table" if self._releases == 1 else "history"
        words = f"{count_of(people, 'pair')} of people have the same value in every {left} left."
        if not self.exact:
            return Judgement("undecided", f"{words} That is by estimate.")
        return Judgement("beyond", words, tuple(map(self._equal, pairs[: max(most, 0)])), people)

    # Witnesses

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the likeliest value of each person is that likely, and why pairs are equal, the worst first."""
        single = self._domain.single
        worst = [(max((self._chance(slot, one), one) for one in single), slot) for slot in self._unknown]
        worst.sort(key=lambda found: -found[0][0].probability)
        found = [self._finding(chance, numbers, slot).witness for (chance, numbers), slot in worst]
        found += [self._equal(pair).witness for pair in self._equal_slots]
        return tuple(found[:EXPLAINED])

    def _begin(self) -> tuple[Sentence, ...]:
        one = self.worlds == 1
        these = "this very release" if self._releases == 1 else "these very releases"
        lead = f"{'leads' if one else 'lead'} to {these}"
        if self.tried.seeds is not None:
            some = f"with some of {count_of(self.tried.seeds, 'seed')}"
            lead = f"{'was' if one else 'were'} seen to lead to {these} {some}"
        return (
            (
                f"Somebody who knows {self._method} and everybody's quasi-identifiers can try it on all "
                f"{told(self.tried.tables, self._releases)} that there may have been.",
            ),
            (f"{self.worlds:,} of them {lead}.",),
        )

    def _person(self, slot: int) -> Part:
        """People of the registry who are not in a view of names have no name there."""
        number: int = self._people[self._slots.person[slot]]
        names = self.published.people
        return Person(number) if names is None or number < len(names) else "somebody who is not in the release"

    def _either(self, numbers: Sequence[int]) -> Sentence:
        unseen = "a value that is not in the release"
        values = [Value(self._position[number]) if number in self._position else unseen for number in numbers]
        return tuple(part for value in values for part in (" or ", value))[1:]

    def _when(self, slot: int) -> str:
        return f" at release {self._number(slot)}." if self._changing else "."

    def _finding(self, chance: Chance, numbers: tuple[int, ...], slot: int) -> Finding:
        who = self._person(slot)
        what = (*self._either(numbers), self._when(slot))
        if self.exact and chance.probability == 1:
            words: Sentence = ("In every one of them ", who, " has ", *what)
        elif self.exact:
            words = ("Of their weight ", f"{chance.probability}", " is with those that give ", who, " ", *what)
        else:
            figure = f"{float(chance.probability):.3g} (standard error {chance.error or 0:.2g})"
            words = (f"By estimate {figure} of their weight is with those that give ", who, " ", *what)
        return self._found("value", (slot,), self._shown(numbers), float(chance.probability), words)

    def _few(self, slot: int) -> Finding:
        left = self._possible[slot]
        words = ("In every one of them ", self._person(slot), " has ", *self._either(left), self._when(slot))
        alone = len(left) == 1
        chance = max(self._chance(slot, (number,)) for number in left)
        kind = "value" if alone else "excluded"
        value = self._shown(tuple(left)) if alone else None
        return self._found(kind, (slot,), value, float(chance.probability), words)

    def _equal(self, pair: tuple[int, int]) -> Finding:
        one, other = map(self._person, pair)
        words = ("In every one of them ", one, " and ", other, " have the same value", self._when(pair[0]))
        return self._found("equivalence", pair, None, None, words)

    def _found(
        self, what: str, slots: tuple[int, ...], value: int | None, probability: float | None, words: Sentence
    ) -> Finding:
        names = self.published.people
        people = tuple(self._people[self._slots.person[slot]] for slot in slots)
        people = tuple(number for number in people if names is None or number < len(names))
        witness = Witness((*self._begin(), words))
        return Finding(self.attack, what, people, self._number(slots[0]), value, probability, self._kind, witness)

    def _shown(self, numbers: tuple[int, ...]) -> int | None:
        """The position in the view, where it is about one value and that is published."""
        return self._position.get(numbers[0]) if len(numbers) == 1 else None


def _figures(chances: Sequence[Chance]) -> Figures:
    """Of an estimate nothing is proven."""
    exact = [chance.probability if isinstance(chance.probability, Fraction) else None for chance in chances]
    proven = np.array([share is not None for share in exact], dtype=np.bool_)
    figure = np.array([float(chance.probability) for chance in chances])
    error = np.array([np.nan if chance.error is None else chance.error for chance in chances])
    kind = np.where(proven, EXACT, SAMPLED).astype(np.int8)
    return Figures.of(kind, figure, np.where(proven, figure, 0.0), np.where(proven, figure, 1.0), error, exact)
