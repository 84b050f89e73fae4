"""How a table changes from release to release: the update protocols of the papers.

- `updates`: Y. He, S. Barman, J. F. Naughton (ICDE 2011), section VII.A, after X. Xiao, Y. Tao (SIGMOD 2007).
- `growth`: J.-W. Byun, Y. Sohn, E. Bertino, N. Li (Secure Data Management 2006): insertions only.
- `churn`: arrivals, departures, returns and changed values together; no paper's, for tests of everything.

Each takes a pool, a table with one row for each person, and gives full states, one table after another.
A state is made of rows of the pool, in the pool's order. Parameters are checked when the function is called, not when
the first state is asked for.

    He et al.                      here
    D, the data set                pool
    d, initial batch               initial
    r, update batch                turnover
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import ParameterError, TableError, count_of, listed
from reissue.samples.census import whole_numbers


def updates(
    pool: pl.DataFrame,
    *,
    initial: int,
    turnover: int,
    releases: int | None = None,
    person: str = "person",
    seed: int | None = None,
) -> Iterator[pl.DataFrame]:
    """He's stream: `initial` rows at first, then each time `turnover` rows leave and as many come in.

    Who leaves is drawn from the last state, who comes in from the people of the pool who were never in;
    nobody comes back. There are `releases` states in all, or as many as the pool allows: 1 + (D - d) // r.
    """
    whole_numbers("updates", seed, initial=(initial, 1), turnover=(turnover, 1), releases=_optional(releases))
    check_pool("updates", pool, person, [], initial=initial)
    check_turnover("updates", turnover, initial)
    wanted = _wanted("updates", releases, 1 + (pool.height - initial) // turnover, pool.height)
    return _replaced(pool, initial, turnover, wanted, np.random.default_rng(seed))


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
    check_pool("growth", pool, person, [], initial=initial)
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
    check_pool("churn", pool, person, [sensitive], initial=initial)
    if changes and pool[sensitive].n_unique() < 2:
        raise TableError(
            f"Column '{sensitive}' of the pool has a single value, so no value can change.",
            hint="set 'changes' to 0, or give a pool with several values.",
        )
    flow = (arrivals, departures, returns, changes)
    return _churned(pool, initial, flow, releases, sensitive, np.random.default_rng(seed))


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


def check_pool(owner: str, pool: pl.DataFrame, person: str, values: list[str], *, initial: int) -> None:
    """Refuse a pool that is not a table with one row for each person, enough of them, and all of these values."""
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


def check_turnover(owner: str, turnover: int, initial: int) -> None:
    """Refuse to let more people leave than there are."""
    if turnover > initial:
        raise ParameterError(
            f"The 'turnover' parameter of {owner} must be at most {initial}, the 'initial' rows. "
            f"Got {turnover} instead."
        )
