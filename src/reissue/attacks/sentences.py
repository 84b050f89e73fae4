"""Sentences: what attacks tell their findings in, so that people, values and places can be shown or hidden.

A sentence is a tuple of parts: words, and people, values and groups that are put into words only when somebody reads
them (`Witness.text`). Below are the phrases that several attacks use; each says the rest in its own witness module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reissue.model.published import Published


@dataclass(frozen=True)
class Person:
    """A person, in a witness."""

    number: int


@dataclass(frozen=True)
class Value:
    """A sensitive value by its position in the view, in a witness."""

    position: int


@dataclass(frozen=True)
class Cell:
    """A value of one of several sensitive columns by its position there, in a witness."""

    column: str
    position: int


@dataclass(frozen=True)
class Secret:
    """A value that the adversary knows from elsewhere, in a witness: no release tells it."""

    position: int


@dataclass(frozen=True)
class Place:
    """A group of a release, counted from 1, in a witness."""

    release: int
    group: int

    def __str__(self) -> str:
        return f"release {self.release:,} group {self.group:,}"


Part = str | Person | Value | Cell | Secret | Place
Sentence = tuple[Part, ...]


@dataclass(frozen=True, repr=False)
class Witness:
    """Why something follows: sentences whose people, values and places can be shown or hidden."""

    sentences: tuple[Sentence, ...]

    def __repr__(self) -> str:
        return f"Witness({len(self.sentences)} sentences)"

    def text(self, published: Published, *, name: Callable[[int], str] | None = None, show_values: bool = True) -> str:
        """The derivation in words.

        `name` says how people are called; by default as in the view, by name or as `person 17`. Values that are
        not shown are lettered, value A, value B; those that the adversary knows from elsewhere are not even that.
        """
        letters: dict[object, str] = {}
        columns = {column.name: column.values for column in published.columns}

        def told(part: Part) -> str:
            if isinstance(part, Person):
                return (name or _called(published))(part.number)
            if isinstance(part, Place):
                return str(part)
            if isinstance(part, Secret) and not show_values:
                return "a certain value"
            if isinstance(part, Cell):
                if show_values:
                    return f"{part.column} = {columns[part.column][part.position]}"
                place = (part.column, part.position)
                return f"value {letters.setdefault(place, letter(len(letters)))} of {part.column}"
            if isinstance(part, Value | Secret):
                if show_values:
                    return str(published.values[part.position])
                return f"value {letters.setdefault(part.position, letter(len(letters)))}"
            return part

        return " ".join("".join(told(part) for part in sentence) for sentence in self.sentences)


def _called(published: Published) -> Callable[[int], str]:
    def called(number: int) -> str:
        if number < 0:
            return f"counterfeit {-number}"
        return f"person {number}" if published.people is None else published.people[number]

    return called


def letter(number: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


# Phrases


def enumeration(items: Sequence[Part | Sentence], word: str = "and") -> Sentence:
    """Parts or phrases as `a, b and c`."""
    told: list[Part] = []
    for at, item in enumerate(items):
        if at:
            told.append(f" {word} " if at == len(items) - 1 else ", ")
        told += item if isinstance(item, tuple) else (item,)
    return tuple(told)


def shortened(shown: Sequence[Part | Sentence], count: int, word: str = "and", more: str = "more") -> Sentence:
    """The first of `count` things, and how many others there are: `a, b and 7 more`."""
    others = count - len(shown)
    return enumeration([*shown, f"{others:,} {more}"] if others > 0 else shown, word)


def some_people(numbers: Sequence[int], most: int) -> Sentence:
    """People by number; not more than `most` are named."""
    return shortened([Person(number) for number in numbers[:most]], len(numbers))


def some_values(positions: Sequence[int], most: int, word: str = "and") -> Sentence:
    """Values by position; not more than `most` are told."""
    return shortened([Value(position) for position in positions[:most]], len(positions), word)


def one_of(positions: Sequence[int], most: int) -> Sentence:
    """`one of a, b and c`; the value itself where it is one only."""
    told = some_values(positions, most)
    return told if len(positions) == 1 else ("one of ", *told)


def is_known(number: int, position: int) -> Sentence:
    """That the adversary knows somebody's value."""
    return (Person(number), " is known to have ", Secret(position), ".")


def holding(place: Place, members: Sequence[int], certainly: bool, most: int) -> Sentence:
    """The beginning of a sentence on a group: who is in it, or may be."""
    return (place, " holds " if certainly else " may hold ", *some_people(members, most))


def going_on(groups: int, most: int) -> list[Sentence]:
    """What stands for the groups of a derivation that are not told one by one."""
    return [(f"So it goes on for {groups - most:,} more groups.",)] if groups > most else []
