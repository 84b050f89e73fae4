"""How a table changes from release to release: the update protocols of the papers.

- `updates`: Y. He, S. Barman, J. F. Naughton (ICDE 2011), section VII.A, after X. Xiao, Y. Tao (SIGMOD 2007).
- `growth`: J.-W. Byun, Y. Sohn, E. Bertino, N. Li (Secure Data Management 2006): insertions only.
- `churn`: arrivals, departures, returns and changed values together; no paper's, for tests of everything.

Each takes a pool, a table with one row for each person, and gives full states, one table after another.
A state is made of rows of the pool, in the pool's order; the rows that `updates` makes up under skew come
after them. Parameters are checked when the function is called, not when the first state is asked for.

    He et al.                      here
    D, the data set                pool
    d, initial batch               initial
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

from reissue.errors import ParameterError, TableError, count_of, listed
from reissue.samples.census import whole_numbers

Ints = npt.NDArray[np.int64]


def updates(
    pool: pl.DataFrame,
    *,
    initial: int,
    turnover: int,
    releases: int | None = None,
    skew: float | None = None,
    sensitive: str = "occupation",
    person: str = "person",
    seed: int | None = None,
) -> Iterator[pl.DataFrame]:
    """He's stream: `initial` rows at first, then each time `turnover` rows leave and as many come in.

    Who leaves is drawn from the last state, who comes in from the people of the pool who were never in;
    nobody comes back. There are `releases` states in all, or as many as the pool allows: 1 + (D - d) // r.

    With `skew`, what comes in is made up. Each batch holds new people, numbered on from the largest person
    number of the pool. Their other columns, but for the sensitive one, are those of rows drawn from the whole
    pool, with replacement and independently of the sensitive value. How many of them have which value is
    `skewed_counts(turnover, N, skew)` exactly, over the N values that occur in the pool; which value is how
    frequent is drawn anew for each batch. Nothing uses up the pool then, so `releases` may be any number;
    left out, it is 1 + (D - d) // r all the same, to be comparable.
    """
    whole_numbers("updates", seed, initial=(initial, 1), turnover=(turnover, 1), releases=_optional(releases))
    _check_pool("updates", pool, person, [] if skew is None else [sensitive], initial=initial)
    if turnover > initial:
        raise ParameterError(
            f"The 'turnover' parameter of updates must be at most {initial}, the 'initial' rows. "
            f"Got {turnover} instead."
        )
    possible = 1 + (pool.height - initial) // turnover
    rng = np.random.default_rng(seed)
    if skew is None:
        wanted = _wanted("updates", releases, possible, pool.height)
        return _replaced(pool, initial, turnover, wanted, rng)
    if not pool.schema[person].is_integer():
        raise TableError(
            f"Column '{person}' of the pool holds {pool.schema[person]}; skewed updates number new people.",
            hint="give the pool a column of whole numbers as person.",
        )
    counts = skewed_counts(turnover, pool[sensitive].n_unique(), skew)
    wanted = possible if releases is None else releases
    return _skewed(pool, initial, counts, wanted, sensitive, person, rng)


def growth(
    pool: pl.DataFrame,
    *,
    initial: int,
    step: int,
    releases: int | None = None,
    person: str = "person",
    seed: int | None = None,
) -> Iterator[pl.DataFrame]:
    """Byun's stream: `initial` rows at first, then each time `step` more of the pool; nobody leaves.

    There are `releases` states in all, or as many as the pool allows: 1 + (D - d) // step.
    """
    whole_numbers("growth", seed, initial=(initial, 1), step=(step, 1), releases=_optional(releases))
    _check_pool("growth", pool, person, [], initial=initial)
    wanted = _wanted("growth", releases, 1 + (pool.height - initial) // step, pool.height)
    order = np.random.default_rng(seed).permutation(pool.height)
    return (_rows(pool, order[: initial + number * step]) for number in range(wanted))


def churn(
    pool: pl.DataFrame,
    *,
    initial: int,
    arrivals: int,
    departures: int,
    returns: int,
    changes: int,
    releases: int,
    sensitive: str = "occupation",
    person: str = "person",
    seed: int | None = None,
) -> Iterator[pl.DataFrame]:
    """A stream in which everything happens; each number counts people from one state to the next.

    Departures are drawn from those present in the last state, returns from those who had left by then,
    arrivals from those who were never in, changes from those who stay. When there are fewer such people than
    asked for, all of them are taken (nobody can return at the second state, for one). A changed value is any
    other value of the pool, each equally likely, and is kept from then on, also while its person is away.
    """
    whole_numbers(
        "churn",
        seed,
        initial=(initial, 1),
        arrivals=(arrivals, 0),
        departures=(departures, 0),
        returns=(returns, 0),
        changes=(changes, 0),
        releases=(releases, 1),
    )
    _check_pool("churn", pool, person, [sensitive], initial=initial)
    if changes and pool[sensitive].n_unique() < 2:
        raise TableError(
            f"Column '{sensitive}' of the pool has a single value, so no value can change.",
            hint="set 'changes' to 0, or give a pool with several values.",
        )
    flow = (arrivals, departures, returns, changes)
    return _churned(pool, initial, flow, releases, sensitive, np.random.default_rng(seed))


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
            f"The 'skew' parameter of updates must be a number from 0 to {steepest:.6g}, for "
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


def _replaced(
    pool: pl.DataFrame, initial: int, turnover: int, states: int, rng: np.random.Generator
) -> Iterator[pl.DataFrame]:
    order = rng.permutation(pool.height)
    present = order[:initial]
    yield _rows(pool, present)
    for start in range(initial, initial + (states - 1) * turnover, turnover):
        staying = rng.permutation(present)[turnover:]
        present = np.concatenate([staying, order[start : start + turnover]])
        yield _rows(pool, present)


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


def _churned(
    pool: pl.DataFrame,
    initial: int,
    flow: tuple[int, int, int, int],
    states: int,
    sensitive: str,
    rng: np.random.Generator,
) -> Iterator[pl.DataFrame]:
    arrivals, departures, returns, changes = flow
    values = pool[sensitive].unique().sort()
    value = (pool[sensitive].rank("dense") - 1).to_numpy().astype(np.int64)
    # Three piles of people: not yet in, present, and gone.
    present, unseen = np.split(rng.permutation(pool.height), [initial])
    gone = present[:0]
    for number in range(states):
        if number:
            leaving, staying = _split(present, departures, rng)
            back, gone = _split(gone, returns, rng)
            new, unseen = _split(unseen, arrivals, rng)
            changing, _ = _split(staying, changes, rng)
            # A step of 1 to N - 1 around the circle of values never ends where it began.
            step = rng.integers(1, max(len(values), 2), size=changing.size)
            value[changing] = (value[changing] + step) % len(values)
            present, gone = np.concatenate([staying, back, new]), np.concatenate([gone, leaving])
        rows = np.sort(present)
        yield pool[rows].with_columns(values.gather(value[rows]).alias(sensitive))


def _split(people: Ints, size: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw so many of the people, or all there are; and the others."""
    shuffled = rng.permutation(people)
    return shuffled[:size], shuffled[size:]


def _rows(table: pl.DataFrame, positions: Ints) -> pl.DataFrame:
    return table[np.sort(positions)]


def _optional(releases: int | None) -> tuple[object, int]:
    return (1 if releases is None else releases, 1)


def _wanted(owner: str, releases: int | None, possible: int, rows: int) -> int:
    if releases is None:
        return possible
    if releases > possible:
        raise ParameterError(
            f"The 'releases' parameter of {owner} must be at most {possible} with a pool of "
            f"{count_of(rows, 'row')}. Got {releases} instead.",
            hint="give a larger pool, or let fewer rows come in at a time.",
        )
    return releases


def _check_pool(owner: str, pool: pl.DataFrame, person: str, values: list[str], *, initial: int) -> None:
    missing = [name for name in (person, *values) if name not in pool.columns]
    if missing:
        raise TableError(f"The pool has no column {listed(missing)}; it has {listed(pool.columns)}.")
    problems = []
    if repeated := pool.height - pool[person].n_unique():
        problems.append(f"Column '{person}' repeats itself in {count_of(repeated, 'row')}.")
    problems += [
        f"Column '{name}' is missing in {count_of(nulls, 'row')}."
        for name in (person, *values)
        if (nulls := pool[name].null_count())
    ]
    if initial > pool.height:
        problems.append(f"It has {count_of(pool.height, 'row')}, and 'initial' asks for {initial:,}.")
    if problems:
        raise TableError(f"The pool does not serve {owner}: one row for each person is needed.", problems=problems)
