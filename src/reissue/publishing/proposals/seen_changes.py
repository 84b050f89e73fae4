"""How values change through several states of a table, and what to declare of it.

`Alternatives` wants a rate at which values are redrawn. Too high a rate is dangerous: sets are then renewed more often
than values, and what old and new set have in common is likely to be true. Too low a rate harms little. Values do not
all change equally often, so what is declared is the rate of the value that changes most seldom, and a little less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from reissue.errors import TableError

ENOUGH = 30
"""So many people must have had a value before, for how often it is left to say anything."""
LEAST = 0.001
OF_EVENTS = 0.01
"""What is declared of events where only one table was given: their values will change, and nobody knows how often."""
_AFTER = " after"


@dataclass(frozen=True)
class Changes:
    """How values change from one table to the next."""

    people: int
    """How often somebody is in one table and in the next."""
    changed: int
    """How often their value is then another one."""
    rate: float
    """The rate to declare: no value that many people had is redrawn less often."""

    @property
    def words(self) -> str:
        """How often values change."""
        if not self.changed:
            return "nobody's value changed from one table to the next"
        return f"{self.changed / self.people:.0%} of values differ from one table to the next"


def changes_in(states: Sequence[pl.DataFrame], person: str, columns: Sequence[str]) -> Changes:
    """How often somebody's values in these columns, as one record, differ from one table to the next.

    The tables have one row for each person.
    """
    short = [
        state.select(
            pl.col(person).cast(pl.String).alias("person"),
            pl.concat_str(pl.col(columns).cast(pl.String).fill_null("\0"), separator="\1").alias("value"),
        )
        for state in states
    ]
    both = pl.concat([one.join(other, on="person", suffix=_AFTER) for one, other in pairwise(short)])
    if not both.height:
        raise TableError(
            "Nobody is in two tables one after the other.",
            hint="give tables with the same people and the same ids, in the order of time.",
        )
    differs = both.select(pl.col("value") != pl.col(f"value{_AFTER}")).to_series()
    return Changes(both.height, int(differs.sum()), _slowest(both.with_columns(differs.alias("differs"))))


def _slowest(both: pl.DataFrame) -> float:
    """The lowest rate of redrawing among values that many had, as low as chance could have hidden, rounded down."""
    by_value = both.group_by("value").agg(pl.len().alias("people"), pl.col("differs").mean().alias("left"))
    share = pl.col("people") / both.height
    enough = by_value.with_columns(share.alias("share")).filter((pl.col("people") >= ENOUGH) & (pl.col("share") < 1))
    if not enough.height:
        left, people, repeated = float(both["differs"].mean() or 0), both.height, 0.0  # type: ignore[arg-type]
        return _lowered(left, people, repeated)
    return min(
        _lowered(float(left), int(people), float(one))
        for left, people, one in enough.select("left", "people", "share").iter_rows()
    )


def _lowered(left: float, people: int, share: float) -> float:
    """A value that is redrawn comes out as it was with its share, so values are redrawn more often than they change."""
    low = max(0.0, left - 2 * math.sqrt(left * (1 - left) / people)) / (1 - share)
    if low <= LEAST:
        return LEAST
    digits = 10.0 ** (math.floor(math.log10(low)) - 1)
    return float(round(math.floor(min(low, 0.95) / digits + 1e-9) * digits, 6))
