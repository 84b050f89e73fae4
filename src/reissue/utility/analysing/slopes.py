"""Slopes: by how much the share of a value (or a mean) changes with a column of numbers or dates, by least squares.

A row of a region has no single number: it is the middle of its interval, and the spread within adds to the variance of
the numbers, so that a slope is the covariance over the variance of numbers that are spread evenly. With d how far a row
is from the mean number, b = sum w d y / sum w (d^2 + within).

Of sets y is a score, and the draw of sets adds sum (w d)^2 (y^2 - y(f^2)) to the variance of the numerator; where in
their region people are adds what `scored_rows.py` calls `own`. Intervals of shares are those of `score_intervals.py`,
as one row far out may be most of a slope. Of groups nothing says how far off a slope is, nor where anybody's number, or
who is in the group, is only known by a region: within a region values may go with the number as they like, and the
slope is drawn towards 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats
from reissue.errors import ParameterError
from reissue.utility.analysing.breakdown import Cells
from reissue.utility.analysing.conditions import Conditions, QuasiColumns, is_number
from reissue.utility.analysing.questions import FEW_PEOPLE, FEWEST_PEOPLE, Figures, Target, Z
from reissue.utility.analysing.score_intervals import Squares, Weighed, sum_distances

FEWEST_ALIKE = FEWEST_PEOPLE / 2
"""So many rows that count alike a slope of means, or one for a population, rests on at least. Of 30 people who are
spread evenly it is 17; one who is far out may be all that a slope rests on, and nothing is normal there."""
DAY = 86_400_000_000
"""In microseconds: dates and times count in days."""


@dataclass(frozen=True, repr=False)
class Positions:
    """Where rows are on a column of numbers; not a number where they have none."""

    middle: Floats
    within: Floats
    """The variance within the region of each row; 0 where its number is published."""
    lacking: Bools | None = None
    """Whether somebody of the region of each row may have no number; None: of no region."""


@dataclass(frozen=True, repr=False)
class Outcomes:
    """What each row has of what is asked for, on average."""

    first: Floats
    square: Floats
    """The same of its square."""
    drawn: bool
    """Whether these are scores of sets that were drawn by a design, whose errors follow from it."""
    of_share: bool = True
    """Whether scores are of those who have a value, or of a number."""
    squares: Squares | None = None
    """Of scores what E[y^2] is by the design; of those of a number what the draw adds to their variance."""
    unsure: float = 0.0
    """By what variances are larger, as a part of them."""
    off: float = 0.0
    """By how much estimates may be off, as a part of them."""


def positions(table: pl.DataFrame, name: str, where: Conditions, published: QuasiColumns) -> Positions:
    """Where the rows of a public table are on a column."""
    if name not in published.intervals:
        if not is_number(table[name].dtype):
            raise ParameterError(
                f"'{name}' is a column of labels: there is no slope on it.", hint="use contrast, or share with by."
            )
        middle = _numbers(table[name])
        return Positions(middle, np.zeros(middle.size))
    if name in where:
        raise ParameterError(
            f"'{name}' is published as intervals: a slope on it cannot be of some of its numbers alone.",
            hint=f"leave '{name}' out of `where`.",
        )
    low, high = (_numbers(table[f"{name}{end}"]) for end in ("_low", "_high"))
    dtype = table[f"{name}_low"].dtype
    whole = dtype.is_integer() or dtype == pl.Date
    length = high - low + 1 if whole else high - low
    lacking = table.select(published.lacking(name).alias(name))[name].to_numpy() if name in published.marked else None
    return Positions((low + high) / 2, (length**2 - (1.0 if whole else 0.0)) / 12, lacking)


def _numbers(column: pl.Series) -> Floats:
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        plain = column.cast(pl.Datetime("us")).to_physical().cast(pl.Float64) / DAY
    else:
        plain = column.to_physical().cast(pl.Float64)
    return plain.fill_null(float("nan")).to_numpy()


def slopes(outcomes: Outcomes, cells: Cells, place: Positions, target: Target) -> Figures:
    """The slope in each group; not a number where all its people are at one place."""
    there = ~np.isnan(place.middle[cells.rows])
    rows, group, w = cells.rows[there], cells.group[there], cells.weight[there]
    x, within, y, square = place.middle[rows], place.within[rows], outcomes.first[rows], outcomes.square[rows]

    def total(figures: Floats) -> Floats:
        return np.bincount(group, figures, minlength=cells.count).astype(np.float64, copy=False)

    people = total(w)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = x - (total(w * x) / people)[group]
        spread = total(w * (within + d**2))
        spread = np.where(spread > 0, spread, np.nan)
        slope, share = total(w * d * y) / spread, total(w * y) / people
        if not outcomes.drawn:
            nothing = np.full(cells.count, np.nan)
            return Figures(people, slope, nothing, nothing, nothing, "none")
        own = square - 2 * share[group] * y + share[group] ** 2
        left = y**2 - square if target == "table" else (y - share[group] - slope[group] * d) ** 2
        drawn = total((w * d) ** 2 * left)
        assert outcomes.squares is not None
        if not outcomes.of_share:
            least = total((w * d) ** 2 * outcomes.squares.others[rows])
            drawn = np.where(people < FEW_PEOPLE, np.fmax(drawn, least), drawn)
        drawn = drawn * (1 + outcomes.unsure)
        placed = total((w * within + w * (1 - w) * d**2) * own)
        variance = np.maximum(drawn + placed, 0.0) / spread**2
        error = np.sqrt(variance + (outcomes.off * slope) ** 2)
    uncertain = (within > 0) | (w < 1)
    if place.lacking is not None:
        uncertain |= place.lacking[rows]
    inexact = (np.bincount(group[uncertain], minlength=cells.count) > 0) | (people < FEWEST_PEOPLE) | np.isnan(spread)
    if not outcomes.of_share or target == "population":
        inexact |= ~(total((w * d) ** 2) ** 2 >= FEWEST_ALIKE * total((w * d) ** 4))
    if not outcomes.of_share:
        down = up = Z * error
    else:
        factor = np.nan_to_num(w * d / spread[group])
        weighed = Weighed(factor, y, outcomes.squares.at(rows), outcomes.unsure, outcomes.off)
        down, up = (np.sqrt(one) for one in sum_distances(weighed, target, group, cells.count))
    low, high = (np.where(inexact, np.nan, slope + part) for part in (-down, up))
    return Figures(people, slope, error, low, high, "95 %", inexact)
