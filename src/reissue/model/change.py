"""Change: how values are said to change between releases, which sets of alternatives rely on.

    change_of(None)                                         Static: they never do
    change_of(0.1)                                          Renewal: one in ten is drawn anew from the shares
    change_of({"flu": 0.9, "asthma": 0.1})                  Rates: how often depends on the value
    change_of({"flu": {"flu": 0.1, "cold": 0.9}, ...})      Transitions: where to depends on it as well

What is declared is part of the model under which a release promises anything. A rate that is too high is the dangerous
mistake: somebody whose set stays is then taken to have been redrawn, and those who see otherwise learn from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from reissue.arrays.types import Floats
from reissue.errors import ParameterError, PolicyError
from reissue.model.parameters import Validation

WHOLE = 1e-9
"""So far from 1 the chances of a row may add up: they are written with a few digits."""


@dataclass(frozen=True)
class Static:
    """Values never change."""

    def matrix(self, labels: Sequence[str], shares: Floats) -> Floats:
        """The chance of each value at the next release, by the value at this one."""
        del shares
        return np.eye(len(labels))

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"kind": "static"}


@dataclass(frozen=True)
class Renewal:
    """Between releases a value is drawn anew from the reference shares, with one chance for all values."""

    rate: float
    """The chance that it is drawn anew; it may come out as it was."""

    def __post_init__(self) -> None:
        check = Validation(self)
        if _chance(self.rate) and self.rate > 0:
            check.replace("rate", float(self.rate))
        else:
            check.wrong("rate", "a number above 0 and at most 1 (None for values that never change)")
        check.finish()

    def matrix(self, labels: Sequence[str], shares: Floats) -> Floats:
        """The chance of each value at the next release, by the value at this one: (1 - c) I + c 1 p'."""
        return (1 - self.rate) * np.eye(len(labels)) + self.rate * shares

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"kind": "renewal", "rate": self.rate}


@dataclass(frozen=True)
class Rates:
    """Between releases a value is drawn anew from the reference shares, with a chance that depends on the value."""

    table: Mapping[str, float]
    """For each value the chance that it is drawn anew; 0 for what nobody loses."""

    def __post_init__(self) -> None:
        check = Validation(self)
        if not _table(self.table):
            check.wrong("table", "a mapping from values to chances")
        elif not all(map(_chance, self.table.values())):
            wrong = sum(not _chance(rate) for rate in self.table.values())
            check.wrong("table", "a mapping from values to numbers from 0 to 1", f"{wrong} that are none")
        else:
            check.replace("table", MappingProxyType({label: float(rate) for label, rate in self.table.items()}))
        check.finish()

    def matrix(self, labels: Sequence[str], shares: Floats) -> Floats:
        """The chance of each value at the next release, by the value at this one: (1 - c_a) at a, and c_a p."""
        _cover("Rates", self.table, labels)
        rates = np.array([self.table[label] for label in labels])
        return np.diag(1 - rates) + rates[:, None] * shares

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"kind": "rates", "table": dict(self.table)}

    def __hash__(self) -> int:
        return hash(frozenset(self.table.items()))


@dataclass(frozen=True)
class Transitions:
    """Between releases values move by a Markov chain."""

    table: Mapping[str, Mapping[str, float]]
    """For each value the chances of the next ones, which add up to 1; what is not named has none."""

    def __post_init__(self) -> None:
        check = Validation(self)
        if not _table(self.table) or not all(map(_table, self.table.values())):
            check.wrong("table", "a mapping from values to mappings of the next value to its chance")
        elif not all(_chance(chance) for row in self.table.values() for chance in row.values()):
            wrong = sum(not _chance(chance) for row in self.table.values() for chance in row.values())
            check.wrong("table", "made of numbers from 0 to 1", f"{wrong} that are none")
        elif any(_off(row) for row in self.table.values()):
            wrong = sum(_off(row) for row in self.table.values())
            check.wrong("table", "made of rows that add up to 1", f"{wrong} that do not")
        else:
            rows = {label: MappingProxyType({v: float(c) for v, c in row.items()}) for label, row in self.table.items()}
            check.replace("table", MappingProxyType(rows))
        check.finish()

    def matrix(self, labels: Sequence[str], shares: Floats) -> Floats:
        """The chance of each value at the next release, by the value at this one."""
        del shares
        _cover("Transitions", self.table, labels)
        place = {label: code for code, label in enumerate(labels)}
        unknown = {value for label in labels for value, chance in self.table[label].items() if chance} - set(labels)
        if unknown:
            raise ParameterError(
                f"The 'table' parameter of Transitions leads to {len(unknown)} values without a reference share.",
                hint="name shares with all its values as 'reference', as `reissue moves` writes them beside it; or "
                "leave these values out of the table.",
            )
        chances = np.zeros((len(labels), len(labels)))
        for label in labels:
            for value, chance in self.table[label].items():
                if chance:
                    chances[place[label], place[value]] = chance
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"kind": "transitions", "table": {label: dict(row) for label, row in self.table.items()}}

    def __hash__(self) -> int:
        return hash(frozenset((label, frozenset(row.items())) for label, row in self.table.items()))


Change = Static | Renewal | Rates | Transitions


def change_of(given: object) -> Change:
    """What somebody wrote: nothing, a rate, rates by value, or a table of transitions."""
    if isinstance(given, Static | Renewal | Rates | Transitions):
        return given
    if given is None:
        return Static()
    if isinstance(given, Mapping) and given and all(isinstance(row, Mapping) for row in given.values()):
        return Transitions(given)
    if isinstance(given, Mapping) and given and not any(isinstance(row, Mapping) for row in given.values()):
        return Rates(given)
    if _number(given):
        return Renewal(given)  # type: ignore[arg-type]
    # What is in a mapping could be data, and a message must not hold any.
    got = repr(given) if isinstance(given, str | bool) else f"a {type(given).__name__}"
    raise ParameterError(
        "The 'change' parameter must be None, a rate, a mapping of values to rates, or a mapping of values to mappings "
        f"of the next value to its chance. Got {got} instead."
    )


def as_written(change: Change) -> object:
    """The change as a policy file has it: what `change_of` takes."""
    match change:
        case Renewal(rate):
            return rate
        case Rates(table):
            return dict(table)
        case Transitions(table):
            return {label: dict(row) for label, row in table.items()}
        case _:
            return None


def change_from_dict(stored: Mapping[str, Any]) -> Change:
    """The change that `to_dict` wrote."""
    match stored:
        case {"kind": "static"}:
            return Static()
        case {"kind": "renewal", "rate": rate}:
            return Renewal(rate)
        case {"kind": "rates", "table": table}:
            return Rates(table)
        case {"kind": "transitions", "table": table}:
            return Transitions(table)
        case _:
            raise PolicyError("This is not how values change: 'kind' must be static, renewal, rates or transitions.")


def change_in_words(stored: Mapping[str, Any] | None) -> str:
    """What `to_dict` wrote, as a person reads it; without values."""
    match None if stored is None else change_from_dict(stored):
        case Renewal(rate):
            return f"redrawn by their shares between releases, with probability {rate:g}"
        case Rates(table):
            return f"redrawn by their shares between releases, at rates for each of {len(table):,} values"
        case Transitions(table):
            return f"by a table of transitions between {len(table):,} values"
        case _:
            return "never"


def _number(given: object) -> bool:
    return isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)


def _chance(given: object) -> bool:
    return _number(given) and math.isfinite(given) and 0 <= given <= 1  # type: ignore[arg-type, operator]


def _table(given: object) -> bool:
    return isinstance(given, Mapping) and bool(given) and all(isinstance(label, str) for label in given)


def _off(row: Mapping[str, float]) -> bool:
    return abs(math.fsum(row.values()) - 1) > WHOLE


def _cover(owner: str, table: Mapping[str, object], labels: Sequence[str]) -> None:
    missing = len(set(labels) - set(table))
    if missing:
        raise ParameterError(
            f"The 'table' parameter of {owner} does not say how {missing} of {len(labels)} values change.",
            hint="name every value that has a reference share; is it the table of another column?",
        )
