"""Skewed updates: He, Barman & Naughton (ICDE 2011), section VII.A.

He et al.                      here
r, update batch                turnover
s, skewness                    skew
N, domain size                 the number of distinct sensitive values in the pool
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import count

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import ParameterError, TableError, count_of
from reissue.samples.census import whole_numbers
from reissue.samples.streams import check_pool, check_turnover

Ints = npt.NDArray[np.int64]


def skewed_updates(
    pool: pl.DataFrame,
    *,
    initial: int,
    turnover: int,
    skew: float,
    releases: int | None = None,
    sensitive: str = "occupation",
    person: str = "person",
    seed: int | None = None,
) -> Iterator[pl.DataFrame]:
    """`initial` rows of the pool at first, then each time `turnover` rows leave and as many made-up ones come in.

    Each batch holds new people, numbered on from the largest person number of the pool. Their other columns, but for
    the sensitive one, are those of rows drawn from the whole pool, with replacement and independently of the sensitive
    value. How many of them have which value is `skewed_counts(turnover, N, skew)` exactly, over the N values that occur
    in the pool; which value is how frequent is drawn anew for each batch. Nothing uses up the pool, so `releases` may
    be any number; left out, it is 1 + (D - d) // r as for random updates, to be comparable. In a state the rows of the
    pool come first, in the pool's order.
    """
    asked = 1 if releases is None else releases
    whole_numbers("skewed_updates", seed, initial=(initial, 1), turnover=(turnover, 1), releases=(asked, 1))
    check_pool("skewed_updates", pool, person, [sensitive], initial=initial)
    check_turnover("skewed_updates", turnover, initial)
    if not pool.schema[person].is_integer():
        raise TableError(
            f"Column '{person}' of the pool holds {pool.schema[person]}; skewed updates number new people.",
            hint="give the pool a column of whole numbers as person.",
        )
    counts = skewed_counts(turnover, pool[sensitive].n_unique(), skew)
    wanted = 1 + (pool.height - initial) // turnover if releases is None else releases
    return _skewed(pool, initial, counts, wanted, sensitive, person, np.random.default_rng(seed))


def largest_skew(rows: int, values: int) -> float:
    """The steepest slope for a batch of so many rows over so many values, where the rarest has no row left.

    N min + s N (N - 1) / 2 = r with min = 0. For r = 20,000 and N = 50 this is 16.3; the paper calls 15 the
    largest possible, where min is still 32.5. A single value has no slope: 0.
    """
    whole_numbers("largest_skew", None, rows=(rows, 0), values=(values, 1))
    if values == 1:
        return 0.0
    exact = Fraction(2 * int(rows), int(values) * (int(values) - 1))
    nearest = float(exact)
    # Rounded down, so that the result is itself a slope that is possible.
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def skewed_counts(rows: int, values: int, skew: float) -> Ints:
    """The rows for each value of a skewed batch, from the rarest to the most frequent (He et al., Fig. 5).

    On a line with slope `skew` that sums to `rows`: min + i * skew. Where that is not whole, the largest
    fractions are rounded up and the others down, among equal ones those of the more frequent values, so every
    count is less than 1 off the line and none is below the one before.
    """
    steepest = largest_skew(rows, values)
    if isinstance(skew, bool) or not isinstance(skew, int | float) or not 0 <= skew <= steepest:
        raise ParameterError(
            f"The 'skew' parameter of skewed_updates must be a number from 0 to {steepest:.6g}, for "
            f"{count_of(rows, 'row')} over {count_of(values, 'value')}. Got {skew!r} instead.",
            hint="a steeper line needs a larger turnover or fewer sensitive values.",
        )
    # Exact fractions: a min of 0 must not come out just below it.
    slope = Fraction(skew)
    least = Fraction(int(rows), int(values)) - slope * (int(values) - 1) / 2
    line = [least + position * slope for position in range(values)]
    counts = [math.floor(height) for height in line]
    largest_fractions = sorted(range(values), key=lambda at: (line[at] - counts[at], at), reverse=True)
    for position in largest_fractions[: rows - sum(counts)]:
        counts[position] += 1
    return np.array(counts, dtype=np.int64)


def _skewed(
    pool: pl.DataFrame,
    initial: int,
    counts: Ints,
    states: int,
    sensitive: str,
    person: str,
    rng: np.random.Generator,
) -> Iterator[pl.DataFrame]:
    turnover = int(counts.sum())
    values = pool[sensitive].unique().sort()
    largest: int = pool[person].max()  # type: ignore[assignment]
    state = _rows(pool, rng.permutation(pool.height)[:initial])
    yield state
    for first in count(largest + 1, turnover):
        states -= 1
        if not states:
            return
        staying = _rows(state, rng.permutation(initial)[turnover:])
        value = rng.permutation(np.repeat(rng.permutation(len(values)), counts))
        numbers = pl.Series(np.arange(first, first + turnover), dtype=pool.schema[person])
        arriving = pool[rng.integers(pool.height, size=turnover)].with_columns(
            numbers.alias(person), values.gather(value).alias(sensitive)
        )
        state = pl.concat([staying, arriving], rechunk=True)
        yield state


def _rows(table: pl.DataFrame, positions: Ints) -> pl.DataFrame:
    return table[np.sort(positions)]
