"""Grouping: the one thing every method returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import InternalError
from reissue.model.roles import Roles
from reissue.model.sets import Sets

HELD_BACK = -1
"""The group of a row that is not published."""


@dataclass(frozen=True, repr=False)
class Counterfeits:
    """Counterfeits: rows that are published among the others, and describe nobody."""

    number: Ints
    """A number above 0 for each, the same in every release as long as it lives, and never given again."""
    group: npt.NDArray[np.int32]
    """The number of its group."""
    rows: pl.DataFrame
    """Its cells, one column for each of the snapshot's, values as they stand in a table."""

    def __post_init__(self) -> None:
        if not self.number.size == self.group.size == self.rows.height:
            raise InternalError("counterfeits come with different numbers of rows")

    def __len__(self) -> int:
        return self.number.size

    def __repr__(self) -> str:
        return f"Counterfeits({len(self):,} rows)"


@dataclass(frozen=True, repr=False)
class Changed:
    """Sensitive values that are published as others."""

    rows: Ints
    """Their places among the snapshot's values, ascending."""
    codes: npt.NDArray[np.unsignedinteger]
    """The code of the value that each is published with."""

    def __post_init__(self) -> None:
        if self.rows.size != self.codes.size or (np.diff(self.rows) < 1).any():
            raise InternalError("rows with changed values come twice, out of order or without a value")

    def __len__(self) -> int:
        return self.rows.size

    def __repr__(self) -> str:
        return f"Changed({len(self):,} rows)"


@dataclass(frozen=True, repr=False)
class Elsewhere:
    """Sensitive values that are published in another group than the one their person is in."""

    rows: Ints
    """Their places among the snapshot's values, ascending."""
    group: npt.NDArray[np.int32]
    """The group that each is published in."""

    def __len__(self) -> int:
        return self.rows.size

    def __repr__(self) -> str:
        return f"Elsewhere({len(self):,} values)"


@dataclass(frozen=True, repr=False)
class Grouping:
    """Who is published with whom: a group for every row of the snapshot, and the rows added, withheld or changed."""

    group: npt.NDArray[np.int32]
    """For each row of the snapshot the number of its group, 0 to `count` - 1, in no particular order; -1 for a
    row that is withheld."""
    count: int
    """How many groups there are; none is empty."""
    counterfeits: Counterfeits | None = None
    """The counterfeits; None where there are none."""
    held_back: Mapping[str, Ints] = field(default_factory=dict)
    """The rows of the snapshot that are withheld, by the reason in a few words."""
    anew: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The rows of people who are published as if they were new, because what held for them before no longer can."""
    changed: Changed | None = None
    """The rows whose sensitive value is published as another; None where there are none."""
    notes: Sequence[str] = ()
    """What the publisher should know about how it came out, with counts and without values."""
    roles: Roles | None = None
    """Who plays which role, where a method gives roles."""
    elsewhere: Elsewhere | None = None
    """The values that are published in another group than their person's; None where there are none."""
    sets: Sets | None = None
    """The sets that are published in place of values; None where a method does not draw any."""

    def __post_init__(self) -> None:
        if self.group.size and (int(self.group.min()) < HELD_BACK or int(self.group.max()) >= self.count):
            raise InternalError("a grouping numbers a group that does not exist")
        held = sum(rows.size for rows in self.held_back.values())
        if int(np.count_nonzero(self.group == HELD_BACK)) != held:
            raise InternalError("a grouping withholds rows without a reason")
        if held and self.changed is not None and (self.group[self.changed.rows] == HELD_BACK).any():
            raise InternalError("a grouping changes the value of a row that it withholds")

    def __repr__(self) -> str:
        return f"Grouping({self.group.size:,} rows in {self.count:,} groups)"

    def of_values(self, owner: Ints) -> Grouping:
        """The groups of values, each of which the person in a row of the snapshot has."""
        group = self.group[owner]
        if self.elsewhere is not None:
            group[self.elsewhere.rows] = self.elsewhere.group
        return Grouping(group, self.count, changed=self.changed)

    def sizes(self) -> Ints:
        """How many rows of the snapshot each group holds."""
        published = self.group if not self.held_back else self.group[self.group != HELD_BACK]
        return np.bincount(published, minlength=self.count).astype(np.int64)
