"""Promise: the word between methods, guarantees, attacks and audits, which do not import each other.

A method promises guarantees by name. A guarantee says of itself what it asks of every group (`rules`) and what nobody
can learn while it holds (`bounds`); audits and gates judge by that, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from reissue.arrays.exact import fraction_of
from reissue.errors import ParameterError, count_of, listed
from reissue.model.rules import Rule

if TYPE_CHECKING:
    from reissue.model.schema import Schema


@dataclass(frozen=True)
class Bounds:
    """What nobody can learn while a promise is kept. What is None is not bounded."""

    value: Fraction | None = None
    """The largest probability with which anybody can be tied to a value."""
    protected: Fraction | None = None
    """The largest probability with which anybody can be tied to a protected set, by one release alone."""
    alone: int | None = None
    """How many values each release by itself leaves for everybody, at least."""
    pairs: int | None = None
    """How many values any two releases leave for everybody, at least."""
    history: int | None = None
    """How many values all releases together leave for everybody, at least."""
    equivalence: int | None = None
    """The smallest sets of people that can be found to have the same values."""
    correlation: int | None = None
    """The smallest sets of people that comparing two groups can show to have the same values."""
    columns: tuple[tuple[str, Fraction | None], ...] = ()
    """Where several columns are sensitive: the largest probability with which anybody can be tied to a value of each;
    None: nobody is certain."""


NOTHING = Bounds()


@dataclass(frozen=True)
class Promise:
    """A guarantee by its name and parameters, with what it asks and bounds where that is known."""

    name: str
    parameters: Mapping[str, object]
    rules: tuple[Rule, ...] = ()
    """What it asks of every group; nothing where a group by itself can not keep or break it."""
    bounds: Bounds = NOTHING
    """What nobody can learn while it is kept."""
    meaning: str = ""
    """What it promises, in one sentence."""

    @property
    def words(self) -> str:
        """The promise with its numbers, and what they count; protected sets hold values, so they are only counted."""
        told = [
            f"{name} = {value}"
            for name, value in self.parameters.items()
            if (isinstance(value, int | float) and not isinstance(value, bool))
            or (name == "diversity" and value in ("distinct", "share"))
            or name == "alpha"
        ]
        sets = self.parameters.get("protect")
        told += [count_of(len(sets), "protected set")] if isinstance(sets, Sized) and sets else []
        return f"{self.name} ({', '.join(told)})" if told else self.name


class Promising(Protocol):
    """What a user gives where a promise is meant, a guarantee, for those who may not import guarantees."""

    @property
    def name(self) -> str:
        """Its name in a policy file."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """Its parameters by name."""

    @property
    def promise(self) -> Promise:
        """The promise itself, with what it asks and bounds."""

    def for_schema(self, schema: Schema) -> Promising:
        """It with what the schema says filled in where it was left open."""


def promise_of(given: Promise | Promising) -> Promise:
    """The promise behind what a user gives, a guarantee or the promise itself."""
    found = given if isinstance(given, Promise) else getattr(given, "promise", None)
    if not isinstance(found, Promise):
        raise ParameterError(
            f"A {type(given).__name__} is not a guarantee.",
            hint="give guarantees, such as ri.guarantees.ShareDiverse(2).",
        )
    return found


def rules_of(requirement: Iterable[Promise | Promising]) -> tuple[Rule, ...]:
    """What promises ask of every group by itself; one that asks nothing of groups is no requirement."""
    promises = [promise_of(one) for one in requirement]
    without = [one.name for one in promises if not one.rules]
    if without:
        raise ParameterError(
            f"Whether a group by itself keeps {listed(without)} can not be said: it is no requirement of groups.",
            hint="name what every group had to satisfy, such as share-l-diversity with l = 2.",
        )
    return tuple(rule for one in promises for rule in one.rules)


def one_in(number: object) -> Fraction:
    """The probability of 1 in so many, exactly."""
    exact = fraction_of(number)
    if exact is None or exact < 1:
        raise ParameterError("A probability of 1 in so many needs a number of at least 1.")
    return 1 / exact
