"""Figures: how likely things are and how sure that is, in one table for all attacks that tell probabilities.

A row is one figure; people who share it share the row. From it come the posteriors that a finding tells, and whether
a limit is kept. That is decided by fractions wherever they are known: a probability of exactly 1/3 is within 1/3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Bytes, Floats, Ints
from reissue.attacks.base import POSTERIORS, Kind
from reissue.model.published import Published

EXACT, BOUNDED, SAMPLED, UNDECIDED = range(4)
KINDS: tuple[Kind, ...] = ("exact", "bounded", "sampled", "undecided")
"""In the order of `reasoning.worlds` and `reasoning.permanence`, whose arrays are taken over as they are."""

SURE = 4
"""An estimate counts as beyond a limit when it is so many standard errors beyond it."""

RISKS = pl.Schema(
    {"person": pl.Int64, "probability": pl.Float64, "kind": pl.String, "low": pl.Float64, "high": pl.Float64}
)
"""The columns of a table of people, by number, with the largest figure of each."""


@dataclass(frozen=True, repr=False)
class Figures:
    """Probabilities: a row for each."""

    kind: Bytes
    """Positions in `KINDS`."""
    probability: Floats
    """The figure itself where it is exact, the estimate where it is sampled, and otherwise the largest it can be."""
    low: Floats
    high: Floats
    """Proven bounds."""
    error: Floats
    """The standard error of an estimate; not a number where there is none."""
    least: Ints
    """Which of `fractions` is `low`, exactly; -1: that is known as a float only."""
    most: Ints
    """The same for `high`."""
    fractions: Sequence[Fraction]

    def __repr__(self) -> str:
        return f"Figures({self.kind.size:,} rows)"

    @classmethod
    def of(
        cls,
        kind: Bytes,
        probability: Floats,
        low: Floats,
        high: Floats,
        error: Floats,
        exact: Sequence[Fraction | None],
    ) -> Figures:
        """Figures with what each is exactly, where that is known."""
        place: dict[Fraction, int] = {}
        known = (-1 if one is None else place.setdefault(one, len(place)) for one in exact)
        which = np.fromiter(known, dtype=np.int64, count=len(exact))
        return cls(kind, probability, low, high, error, which, which, [*place])

    def exact(self, row: int) -> Fraction | None:
        """What a row is exactly; None where that is not known."""
        return self.fractions[self.least[row]] if self.kind[row] == EXACT and self.least[row] >= 0 else None

    # Against a limit

    def above(self, limit: Fraction) -> Bools:
        """The rows that are proven to be above a limit."""
        return np.where(self.least < 0, self.low > float(limit), self._over(limit)[self.least])

    def within(self, limit: Fraction) -> Bools:
        """The rows that are proven not to be above it."""
        return np.where(self.most < 0, self.high <= float(limit), ~self._over(limit)[self.most])

    def beyond(self, limit: Fraction) -> Bools:
        """The rows that are proven to be above it, or estimated to be far above."""
        estimated = far_beyond(self.probability, self.error, limit)
        beyond: Bools = self.above(limit) | ((self.kind == SAMPLED) & estimated)
        return beyond

    def _over(self, limit: Fraction) -> Bools:
        """Which of the fractions are above a limit; one more stands for those that are not known."""
        return np.array([*(one > limit for one in self.fractions), False])

    # Runs of rows, such as the values of one person

    def likeliest(self, starts: Ints) -> Ints:
        """The most likely row of each run, by what is proven of it and then by the figure; 0 where it has none."""
        lengths = np.diff(starts)
        owner, used = np.repeat(np.arange(lengths.size), lengths), np.flatnonzero(lengths)
        ranked = np.lexsort((-self.probability, -self.low, owner))
        rows = np.zeros(lengths.size, dtype=np.int64)
        rows[used] = ranked[starts[used]]
        return rows

    def largest(self, starts: Ints) -> Figures:
        """What holds for all rows of each run: the largest of every column, and the least sure kind."""
        used = np.flatnonzero(np.diff(starts))
        runs = starts.size - 1
        tops = []
        for column in (self.kind, self.probability, self.low, self.high):
            top = np.zeros(runs, dtype=column.dtype)
            if used.size:
                top[used] = np.maximum.reduceat(column, starts[used])
            tops.append(top)
        kind, probability, low, high = tops
        unknown = np.full(runs, -1, dtype=np.int64)
        return Figures(kind, probability, low, high, np.full(runs, np.nan), unknown, unknown, ())

    def added(self, starts: Ints, which: Ints) -> tuple[Figures, Ints, Ints]:
        """What holds of several rows of a run together, those with the same number in `which`: their sums.

        Also where each run begins then, and the number of each row. Exact where all parts are; the error of a sum of
        estimates is at most the sum of their errors.
        """
        lengths = np.diff(starts)
        owner = np.repeat(np.arange(lengths.size), lengths)
        width = int(which.max(initial=0)) + 1
        keys, place = np.unique(owner * width + which, return_inverse=True)
        order = np.argsort(place, kind="stable")
        begins = np.searchsorted(place[order], np.arange(keys.size))

        def total(column: Floats) -> Floats:
            return np.add.reduceat(column[order], begins) if keys.size else np.zeros(0)

        kind = np.maximum.reduceat(self.kind[order], begins) if keys.size else self.kind[:0]
        error = np.where(kind == SAMPLED, total(np.nan_to_num(self.error)), np.nan)
        exact, fractions = self._exact_sums(order, begins)
        probability, low, high = (np.minimum(total(one), 1.0) for one in (self.probability, self.low, self.high))
        runs = np.searchsorted(keys // width, np.arange(lengths.size + 1))
        return Figures(kind, probability, low, high, error, exact, exact, fractions), runs, keys % width

    def _exact_sums(self, order: Ints, begins: Ints) -> tuple[Ints, list[Fraction]]:
        """For sums of rows the place of what they are exactly, -1 where a part is not known so; and the fractions."""
        if not begins.size:
            return np.zeros(0, dtype=np.int64), []
        known = np.where(self.kind == EXACT, self.least, -1)[order]
        least, most = np.minimum.reduceat(known, begins), np.maximum.reduceat(known, begins)
        count = np.diff(np.append(begins, order.size))
        place: dict[Fraction, int] = {}
        found = np.full(begins.size, -1, dtype=np.int64)
        # Mostly all parts are the same fraction, and few different sums come up.
        alike, kinds = np.flatnonzero((least == most) & (least >= 0)), len(self.fractions) + 1
        sums, which = np.unique(count[alike] * kinds + least[alike], return_inverse=True)
        values = [self.fractions[one % kinds] * (one // kinds) for one in sums.tolist()]
        found[alike] = np.array([place.setdefault(value, len(place)) for value in values], dtype=np.int64)[which]
        for at in np.flatnonzero((least != most) & (least >= 0)).tolist():
            parts = known[begins[at] : begins[at] + count[at]].tolist()
            found[at] = place.setdefault(sum((self.fractions[one] for one in parts), Fraction(0)), len(place))
        return found, [*place]

    # As tables

    def posteriors(self, person: pl.Series, value: pl.Series, rows: Ints, **more: pl.Series) -> pl.DataFrame:
        """Some rows as `Findings.posteriors` has them, each for a person and a value, with further columns."""
        unknown = len(self.fractions)
        exact = np.where((self.kind == EXACT) & (self.least >= 0), self.least, unknown)
        columns = {
            "person": person,
            "value": value,
            "probability": self.probability[rows],
            "kind": kinds(self.kind[rows]),
            "low": self.low[rows],
            "high": self.high[rows],
            "standard_error": pl.Series(self.error[rows], nan_to_null=True),
            "fraction": pl.Series([*map(str, self.fractions), None], dtype=pl.String).gather(exact[rows]),
        }
        return pl.DataFrame(columns | more).select(*POSTERIORS, *more)

    def risks(self, people: Ints, rows: Ints) -> pl.DataFrame:
        """Some rows, each for a person by number; see `RISKS`."""
        columns = (people, self.probability[rows], kinds(self.kind[rows]), self.low[rows], self.high[rows])
        return pl.DataFrame(dict(zip(RISKS, columns, strict=True)), schema=RISKS)


def far_beyond(probability: Floats, error: Floats, limit: Fraction) -> Bools:
    """Which estimates are so far above a limit that chance does not explain it; those without an error are not."""
    far: Bools = probability - SURE * error > float(limit)
    return far


def worst_of_each(figures: pl.DataFrame) -> pl.DataFrame:
    """For each person their likeliest figure with its kind, and the largest proven bounds of any."""
    likeliest = pl.col("probability").arg_max()
    return figures.group_by("person", maintain_order=True).agg(
        pl.col("probability").get(likeliest),
        pl.col("kind").get(likeliest),
        pl.col("low").max(),
        pl.col("high").max(),
    )


def called(published: Published, people: Ints) -> pl.Series:
    """People by number as the view calls them."""
    numbers = pl.Series(people, dtype=pl.Int64)
    return numbers if published.people is None else pl.Series(published.people, dtype=pl.String).gather(numbers)


def kinds(positions: Bytes) -> pl.Series:
    """Kinds in words."""
    return pl.Series(KINDS, dtype=pl.String).gather(positions.astype(np.int64))


def limit_told(limit: Fraction) -> str:
    """A limit in words: as a fraction, unless that is long."""
    return str(limit) if limit.denominator <= 1000 else f"{float(limit):g}"
