"""Domain: what every column brought so far in a series; it grows from release to release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from reissue.model.hierarchy import MISSING, Hierarchy
from reissue.model.schema import RESERVED, Categorical, Kind, Numeric

PERSON = f"{RESERVED}person"
GROUP = f"{RESERVED}group"
COUNTERFEIT = f"{RESERVED}counterfeit"
KEY = f"{RESERVED}key"
OWN = f"{RESERVED}own"
"""Of values published as others: the value that the person has."""

Sort = Literal["numeric", "categorical", "hierarchy", "person", "key"]


@dataclass(frozen=True, repr=False)
class Seen:
    """What one column brought in earlier releases."""

    kind: Sort
    """What the column was. When a policy makes it something else, what was seen before says nothing."""
    type: str
    """In the words of a user: whole numbers, decimals, text, yes or no, dates, times."""
    low: float | None = None
    high: float | None = None
    """The range of numbers seen. What a policy declares is not in it: a policy can change."""
    labels: tuple[str, ...] = ()
    """The labels seen, in their order."""


@dataclass(frozen=True, repr=False)
class Domain:
    """What was seen of each column, and of the ids."""

    columns: dict[str, Seen] = field(default_factory=dict)

    def of(self, name: str, kind: Kind) -> Seen | None:
        """What was seen of a column of this kind."""
        seen = self.columns.get(name)
        return seen if seen is not None and seen.kind == sort_of(kind) else None

    def frame(self) -> pl.DataFrame:
        """As it is kept in the ledger."""
        seen = self.columns.values()
        return pl.DataFrame(
            {
                "column": list(self.columns),
                "kind": [one.kind for one in seen],
                "type": [one.type for one in seen],
                "low": [one.low for one in seen],
                "high": [one.high for one in seen],
                "labels": [list(one.labels) for one in seen],
            },
            schema={
                "column": pl.String,
                "kind": pl.String,
                "type": pl.String,
                "low": pl.Float64,
                "high": pl.Float64,
                "labels": pl.List(pl.String),
            },
        )

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Domain:
        """Read back what `frame` gave."""
        rows = frame.iter_rows(named=True)
        return cls({r["column"]: Seen(r["kind"], r["type"], r["low"], r["high"], tuple(r["labels"])) for r in rows})


def sort_of(kind: Kind) -> Sort:
    """The name of a kind, as in a policy file."""
    if isinstance(kind, Hierarchy):
        return "hierarchy"
    return "numeric" if isinstance(kind, Numeric) else "categorical"


def in_order(labels: Iterable[str], kind: Categorical) -> tuple[str, ...]:
    """Labels in the order of a column: missing first, then those declared, then the others by alphabet."""
    labels = set(labels)
    missing = (MISSING,) if MISSING in labels else ()
    return (*missing, *kind.values, *sorted(labels - set(kind.values) - {MISSING}))
