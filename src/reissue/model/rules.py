"""Rules: what a promise asks of the values of one group, in a form that methods, guarantees and attacks understand.

A guarantee says in its own file which rules it asks. A method that cuts a table enforces them while it cuts; an
adversary who argues from why groups were formed asks whether a group would have kept them. Neither needs to know the
guarantee.

| rule            | asks of every group                                                             |
|-----------------|---------------------------------------------------------------------------------|
| `Rows`          | at least so many rows                                                           |
| `Distinct`      | at least so many values                                                         |
| `Entropy`       | an entropy of at least log l                                                    |
| `Recursive`     | the most frequent value less than c times as often as those from the l-th on    |
| `Share`         | no protected set, or no value, with more than a share of the rows               |
| `ColumnShare`   | no value of one of several sensitive columns with more than a share of the rows |
| `Close`         | a distance of at most t to the values of the whole release                      |
| `Spread`        | at least k numbers over a range of at least e                                   |
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Rows:
    """At least so many rows."""

    k: int


@dataclass(frozen=True)
class Distinct:
    """At least so many different values."""

    l: int  # noqa: E741 - the papers' letter


@dataclass(frozen=True)
class Entropy:
    """An entropy of at least log l."""

    l: float  # noqa: E741


@dataclass(frozen=True)
class Recursive:
    """The most frequent value less than c times as often as those from the l-th on."""

    c: float
    l: int  # noqa: E741


@dataclass(frozen=True)
class Share:
    """No protected set has more than a share of the rows: 1 in `one_in`, or exactly `most`."""

    protect: tuple[tuple[Hashable, ...], ...] = ()
    """The protected sets; none: every value by itself."""
    one_in: float | None = None
    most: Fraction | None = None


@dataclass(frozen=True)
class ColumnShare:
    """No value of a sensitive column, one of several, has more than a share of the rows."""

    column: str
    most: Fraction | None = None
    """The share; None: any, as long as not all rows have the same value."""


@dataclass(frozen=True)
class Close:
    """A distance of at most t to the values of the whole release."""

    t: float
    ordered: bool = False
    """Whether the distance follows the order of the values, or only counts the difference."""


@dataclass(frozen=True)
class Spread:
    """At least k different numbers, over a range of at least e."""

    k: int
    e: float


Rule = Rows | Distinct | Entropy | Recursive | Share | ColumnShare | Close | Spread
