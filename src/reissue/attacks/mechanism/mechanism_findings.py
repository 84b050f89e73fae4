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
from reissue.attacks.mechanism.mechanism_tables import Chance, Weighed
from reissue.attacks.sentences import Part, Person, Sentence, Value, Witness
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published

EXPLAINED = 100
"""So many findings at most have their derivation among the witnesses."""


class Tried(NamedTuple):
    """What was run."""

    tables: int
    """How many tables there may be, each of which was tried."""
    refused: int
    """How many of them the method refuses, with the first seed."""
    seeds: int | None
    """How many seeds were tried where the method draws; None where it never did."""
    cut_short: bool
    """Whether the time ran out before all seeds had been tried."""


class MechanismFindings(Findings):
    """What is left of everybody's secrets when the method is known.

    Figures are fractions where they are exact, and floats where they are estimates.
    """

    attack: ClassVar[str] = "Mechanism"

    def __init__(
        self,
        published: Published,
        method: str,
        domain: Domain,
        names: tuple[str | int, ...],
        people: Ints,
        fixed: list[int | None],
        weighed: Weighed,
        tried: Tried,
    ) -> None:
        self.published = published
        self._method, self._domain, self._names = method, domain, names
        self._people, self._fixed = people.tolist(), fixed
        self._weighed, self.tried = weighed, tried
        self._position = {number: position for position, number in domain.number_of.items()}
        often = "" if tried.seeds is None else f", over {count_of(tried.seeds, 'seed')} where {method} draws"
        self.searched = (f"{count_of(tried.tables, 'table')} that may have been published{often}",)
        self.undecided = ()
        if tried.seeds is not None:
            self.undecided = (f"{method} draws random numbers: probabilities are estimates",)
        if tried.cut_short:
            self.undecided += ("the time ran out before all seeds had been tried",)

    def __repr__(self) -> str:
        return f"MechanismFindings({len(self._people):,} people, {self.worlds:,} of {self.tried.tables:,} tables left)"

    # What is left

    @property
    def exact(self) -> bool:
        """Whether the figures are exact: the method drew no random numbers."""
        return self._weighed.exact

    @property
    def worlds(self) -> int:
        """How many tables lead to the release; where the method draws, how many were seen to."""
        return len(self._weighed.tables)

    @property
    def weight(self) -> Fraction | float:
        """How likely the release was before it was seen, over all tables by their prior weight."""
        return self._weighed.evidence()

    def probability(self, person: str | int, value: object) -> Fraction | float:
        """How likely it is that a person has a value."""
        return self._chance(self._row(person), (self._domain.number(value),)).probability

    def set_probability(
        self, values: Iterable[object], people: Iterable[str | int] | None = None
    ) -> dict[str | int, Fraction | float]:
        """How likely it is that each of these people, by default all, has one of these values."""
        if isinstance(values, str):
            raise ParameterError('Values are given as a list, such as ["HIV"]; a text alone is not.')
        numbers = tuple(self._domain.number(value) for value in values)
        rows = range(len(self._names)) if people is None else map(self._row, people)
        return {self._names[row]: self._chance(row, numbers).probability for row in rows}

    def equal_probability(self, one: str | int, other: str | int) -> Fraction | float:
        """How likely it is that two people have the same value."""
        tables = self._weighed.tables
        return self._weighed.chance(tables[:, self._row(one)] == tables[:, self._row(other)]).probability

    @property
    def equal_pairs(self) -> tuple[tuple[str | int, str | int], ...]:
        """The pairs of people who have the same value in every table left.

        Where the figures are estimates, that is every table seen to lead to the release: it is not proven.
        """
        return tuple((self._names[one], self._names[other]) for one, other in self._equal_rows)

    @cached_property
    def _equal_rows(self) -> tuple[tuple[int, int], ...]:
        tables = self._weighed.tables
        pairs = combinations(range(len(self._names)), 2)
        return tuple((one, other) for one, other in pairs if (tables[:, one] == tables[:, other]).all())

    def _row(self, person: str | int) -> int:
        if person not in self._names:
            raise ParameterError("There is no such person in the registry.", hint="people are called as in the view.")
        return self._names.index(person)

    def _chance(self, row: int, numbers: tuple[int, ...]) -> Chance:
        return self._weighed.chance(np.isin(self._weighed.tables[:, row], numbers))

    @cached_property
    def _possible(self) -> list[list[int]]:
        """For each person the values that some table left gives him; each is proven to be possible."""
        return [np.unique(column).tolist() for column in self._weighed.tables.T]

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """For each person and value how likely it is; where it is exact, for values still possible only."""
        every = range(len(self._domain.values))
        told = [
            (row, number)
            for row in range(len(self._names))
            for number in (self._possible[row] if self.exact else every)
        ]
        called = pl.Int64 if self.published.people is None else pl.String
        person = pl.Series([self._names[row] for row, _ in told], dtype=called)
        value = pl.Series([str(self._domain.values[number]) for _, number in told], dtype=pl.String)
        figures = _figures([self._chance(row, (number,)) for row, number in told])
        return figures.posteriors(person, value, np.arange(len(told)))

    @property
    def _kind(self) -> Kind:
        return "exact" if self.exact else "sampled"

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have one value only, with that value; nobody where the figures are estimates."""
        return {
            self._names[row]: self._domain.values[self._possible[row][0]]
            for row in self._unknown
            if self.exact and len(self._possible[row]) == 1
        }

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values of their group that they cannot have; nothing where the figures are estimates."""
        if not self.exact or not self.published.exact:
            return {}
        release = self.published.releases[0]
        group = release.member_groups.tolist()
        home = dict(zip(release.members.tolist(), group, strict=True))
        ruled_out: dict[str | int, list[object]] = {}
        for row in self._unknown:
            at = home.get(self._people[row])
            if at is None:
                continue
            shown = release.values_of(at)[0].tolist()
            gone = [one for one in shown if self._domain.number_of[one] not in self._possible[row]]
            if gone:
                ruled_out[self._names[row]] = [self.published.values[position] for position in gone]
        return ruled_out

    @cached_property
    def _unknown(self) -> list[int]:
        """The rows of people whose value was not known beforehand."""
        return [row for row, value in enumerate(self._fixed) if value is None]

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
            ((max((self._chance(row, one), one) for one in sets), row) for row in self._unknown if sets),
            key=lambda found: -found[0][0].probability,
        )
        above = _figures([chance for (chance, _), _ in worst]).beyond(limit).tolist()
        beyond = [(chance, numbers, row) for (chance, numbers), row in compress(worst, above)]
        highest = max((float(chance.probability) for (chance, _), _ in worst), default=0.0)
        everybody = count_of(len(self._unknown), "person", "people")
        whose = "a protected set of values" if any(len(one) > 1 for one in sets) else "a value"
        if beyond:
            findings = tuple(self._finding(*found) for found in beyond[: max(most, 0)])
            words = (
                f"Somebody who knows {self._method} can tie {len(beyond):,} of {everybody} to {whose} with more than "
                f"{limit}; the highest probability is {highest:.3g}."
            )
            return Judgement("beyond", words, findings, len(beyond))
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
            (row for row in self._unknown if len(self._possible[row]) < l), key=lambda r: len(self._possible[r])
        )
        everybody = count_of(len(self._unknown), "person", "people")
        if not few:
            return Judgement("within", f"At least {count_of(l, 'value')} are possible for each of {everybody}.")
        if not self.exact:
            words = f"For {len(few):,} of {everybody} fewer than {count_of(l, 'value')} were seen to be possible."
            return Judgement("undecided", words)
        words = f"Fewer than {count_of(l, 'value')} are possible for {len(few):,} of {everybody}."
        findings = tuple(self._few(row) for row in few[: max(most, 0)])
        return Judgement("beyond", words, findings, len(few))

    def _by_equality(self, most: int) -> Judgement:
        unknown = set(self._unknown)
        pairs = [pair for pair in self._equal_rows if unknown & set(pair)]
        if not pairs:
            return Judgement("within", "No two people must have the same value.")
        words = f"{count_of(len(pairs), 'pair')} of people have the same value in every table left."
        if not self.exact:
            return Judgement("undecided", f"{words} That is by estimate.")
        return Judgement("beyond", words, tuple(map(self._equal, pairs[: max(most, 0)])), len(pairs))

    # Witnesses

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the likeliest value of each person is that likely, and why pairs are equal, the worst first."""
        worst = [(max((self._chance(row, one), one) for one in self._domain.single), row) for row in self._unknown]
        worst.sort(key=lambda found: -found[0][0].probability)
        told = [self._finding(chance, numbers, row).witness for (chance, numbers), row in worst]
        told += [self._equal(pair).witness for pair in self._equal_rows]
        return tuple(told[:EXPLAINED])

    def _begin(self) -> tuple[Sentence, ...]:
        one = self.worlds == 1
        lead = f"{'leads' if one else 'lead'} to this very release"
        if self.tried.seeds is not None:
            some = f"with some of {count_of(self.tried.seeds, 'seed')}"
            lead = f"{'was' if one else 'were'} seen to lead to this very release {some}"
        return (
            (
                f"Somebody who knows {self._method} and everybody's quasi-identifiers can try it on all "
                f"{count_of(self.tried.tables, 'table')} that there may have been.",
            ),
            (f"{self.worlds:,} of them {lead}.",),
        )

    def _person(self, row: int) -> Part:
        """People of the registry who are not in a view of names have no name there."""
        number: int = self._people[row]
        names = self.published.people
        return Person(number) if names is None or number < len(names) else "somebody who is not in the release"

    def _either(self, numbers: Sequence[int]) -> Sentence:
        unseen = "a value that is not in the release"
        values = [Value(self._position[number]) if number in self._position else unseen for number in numbers]
        return tuple(part for value in values for part in (" or ", value))[1:]

    def _finding(self, chance: Chance, numbers: tuple[int, ...], row: int) -> Finding:
        who = self._person(row)
        what = self._either(numbers)
        if self.exact and chance.probability == 1:
            told: Sentence = ("In every one of them ", who, " has ", *what, ".")
        elif self.exact:
            told = ("Of their weight ", f"{chance.probability}", " is with those that give ", who, " ", *what, ".")
        else:
            figure = f"{float(chance.probability):.3g} (standard error {chance.error or 0:.2g})"
            told = (f"By estimate {figure} of their weight is with those that give ", who, " ", *what, ".")
        return self._found("value", (row,), self._shown(numbers), float(chance.probability), told)

    def _few(self, row: int) -> Finding:
        left = self._possible[row]
        told = ("In every one of them ", self._person(row), " has ", *self._either(left), ".")
        alone = len(left) == 1
        chance = max(self._chance(row, (number,)) for number in left)
        kind = "value" if alone else "excluded"
        return self._found(kind, (row,), self._shown(tuple(left)) if alone else None, float(chance.probability), told)

    def _equal(self, pair: tuple[int, int]) -> Finding:
        one, other = pair
        told = ("In every one of them ", self._person(one), " and ", self._person(other), " have the same value.")
        return self._found("equivalence", pair, None, None, told)

    def _found(
        self, what: str, rows: tuple[int, ...], value: int | None, probability: float | None, told: Sentence
    ) -> Finding:
        names = self.published.people
        people = tuple(self._people[row] for row in rows)
        people = tuple(number for number in people if names is None or number < len(names))
        number = self.published.releases[0].number
        witness = Witness((*self._begin(), told))
        return Finding(self.attack, what, people, number, value, probability, self._kind, witness)

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
