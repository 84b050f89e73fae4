"""The reference of several columns: which records sets are made of, and with what shares.

The exact counts of records *are* the sensitive table, without names; so three kinds of counts are taken from it, each
with discrete Laplace noise for its part of epsilon: of every column, of every pair of columns, and of whole records.
Somebody else's record in place of one's own changes each table of counts by 2 in all, wherever it has noise: a table
with noise of scale 2/e spends e, and all of them together spend epsilon.

| counts | tables | epsilon each |
|---|---|---|
| columns | C | epsilon / (4 C) |
| pairs, from three columns on | C (C - 1) / 2 | epsilon / 4 / that |
| records | 1 | what is left |

Rare values of a column are merged, as with one column (`reference`). Then comes what is expected of records if columns
had nothing to do with each other, what pairs say beside it, and what records say beside that. A count y of something
that is expected e times counts by

    w = max(0, 1 - (3 scale / max(y, e))^2),   and becomes   w y + (1 - w) e:

what is less than three scales of noise is taken from the coarser table alone. At last every column adds up to its own
shares again. If most people have records that are below the noise, the table is too sparse for a joint reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible, count_of
from reissue.methods.alternatives.noise import discrete_laplace
from reissue.methods.alternatives.reference import OTHERS, is_number, names_of, places_of
from reissue.model.record_design import LEAST_SHARE
from reissue.model.snapshot import Column

SCALES = 3.0
"""A count of fewer scales of noise says nothing."""
TOLD = 0.75
"""So large a share of people must have records that are told from noise."""
MOST_RECORDS = 100_000
ROUNDS = 200
"""So often tables are made to add up, at most."""
CLOSE = 1e-13


@dataclass(frozen=True, repr=False)
class RecordReference:
    """The records of sets with their shares: every combination of the columns' labels."""

    labels: tuple[tuple[object, ...], ...]
    """For each column its values in their order."""
    merged: tuple[bool, ...]
    """For each column whether its last label stands for all values that are not among the others."""
    records: Ints
    shares: Floats
    told: float
    """The share of people whose records stand out from noise; the others' shares come from pairs and columns."""

    def __repr__(self) -> str:
        return f"RecordReference({len(self.records):,} records of {len(self.labels)} columns)"

    def numbers(self, columns: Sequence[Column], codes: Ints) -> Ints:
        """The number of each row's record; -1 where a value has no label."""
        number = np.zeros(len(codes), dtype=np.int64)
        lacking = np.zeros(len(codes), dtype=np.bool_)
        for at, (column, labels, merged) in enumerate(zip(columns, self.labels, self.merged, strict=True)):
            place = {label: one for one, label in enumerate(labels)}
            own = places_of(names_of(column), place, place[OTHERS] if merged else -1)[codes[:, at]]
            lacking |= own < 0
            number = number * len(labels) + own
        return np.where(lacking, -1, number)


def noised_records(
    columns: Sequence[Column], codes: Ints, epsilon: Fraction, merge: float, rng: np.random.Generator
) -> RecordReference:
    """The shares of records in a table, with noise. `codes` has a row for each person, a column for each column."""
    count = len(columns)
    pairs = list(combinations(range(count), 2)) if count > 2 else []
    each = epsilon / (4 * count)
    each_pair = epsilon / (4 * len(pairs)) if pairs else Fraction(0)
    labels, merged, margins, places = [], [], [], []
    for at, column in enumerate(columns):
        names, shares, place = _column(column, codes[:, at], each, merge, rng)
        labels.append(names)
        merged.append(not is_number(column))
        margins.append(shares)
        places.append(place[codes[:, at]])
    size = tuple(len(names) for names in labels)
    if (records := int(np.prod(size, dtype=object))) > MOST_RECORDS:
        raise _sparse(f"{records:,} combinations of values are more than {MOST_RECORDS:,}", epsilon, count)
    total = float(len(codes))
    expected = np.ones(())
    for margin in margins:
        expected = np.multiply.outer(expected, margin)
    expected *= total
    tables = []
    for one, other in pairs:
        shape = (size[one], size[other])
        noisy = _counted(np.ravel_multi_index((places[one], places[other]), shape), shape, Fraction(2) / each_pair, rng)
        alone = total * np.multiply.outer(margins[one], margins[other])
        mixed, _ = _mixed(noisy, alone, Fraction(2) / each_pair)
        tables.append(_raked(mixed / mixed.sum(), [((0,), margins[one]), ((1,), margins[other])]))
    if pairs:
        expected = total * _raked(expected / total, list(zip(pairs, tables, strict=True)))
    scale = Fraction(2) / (epsilon - count * each - len(pairs) * each_pair)
    noisy = _counted(np.ravel_multi_index(tuple(places), size), size, scale, rng)
    mixed, weights = _mixed(noisy, expected, scale)
    shares = _raked(mixed / mixed.sum(), [((at,), margin) for at, margin in enumerate(margins)])
    shares = np.maximum(shares, 2 * LEAST_SHARE)  # no design has smaller ones
    told = float((shares * weights).sum())
    if told < TOLD:
        raise _sparse(f"only about {100 * told:.0f} % of people have records that stand out from noise", epsilon, count)
    return RecordReference(
        labels=tuple(labels),
        merged=tuple(merged),
        records=np.stack(np.unravel_index(np.arange(records), size), axis=1).astype(np.int64),
        shares=shares.ravel() / shares.sum(),
        told=told,
    )


def _column(
    column: Column, codes: Ints, epsilon: Fraction, merge: float, rng: np.random.Generator
) -> tuple[tuple[object, ...], Floats, Ints]:
    """The labels of a column, their shares, and the place of each code among them."""
    names, scale = names_of(column), Fraction(2) / epsilon
    noisy = _counted(codes, (len(names),), scale, rng)
    few = float(merge * scale)
    kept = noisy >= few
    if not kept.any() or (is_number(column) and not kept.all()):
        rare = int(np.count_nonzero(~kept))
        raise Infeasible(
            f"Of {count_of(len(names), 'value')} of column '{column.name}' {rare:,} are too rare for reference shares "
            f"with noise: fewer than about {few:,.0f} people have each, with epsilon = {float(4 * epsilon):g} for "
            "columns.",
            hint="make the column coarser, publish fewer sensitive columns, or take a larger epsilon, which promises "
            "less; numbers that are rare cannot be published as one.",
        )
    labels = [name for name, keep in zip(names, kept.tolist(), strict=True) if keep]
    shares = noisy[kept].astype(np.float64)
    if not is_number(column):  # whether anybody has a rare value must not show: there is always a share for them
        labels.append(OTHERS)
        shares = np.append(shares, max(few, float(noisy[~kept].sum())))
    place = np.where(kept, np.cumsum(kept) - 1, len(labels) - 1)
    return tuple(labels), shares / shares.sum(), place


def _counted(cells: Ints, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator) -> Ints:
    """How many rows are in each cell, with noise."""
    size = int(np.prod(shape))
    return (np.bincount(cells, minlength=size) + discrete_laplace(scale, size, rng)).reshape(shape)


def _mixed(noisy: Ints, expected: Floats, scale: Fraction) -> tuple[Floats, Floats]:
    """Counts with noise where they are large beside it, and what is expected elsewhere; and by how much they count."""
    weights = np.maximum(0.0, 1 - (SCALES * float(scale) / np.maximum(np.maximum(noisy, expected), 1e-9)) ** 2)
    return weights * np.maximum(noisy, 0) + (1 - weights) * expected, weights


def _raked(table: Floats, margins: Sequence[tuple[tuple[int, ...], Floats]]) -> Floats:
    """The table as near as possible to what it was that adds up to these shares over all other axes.

    Iterative proportional fitting (Deming & Stephan 1940).
    """
    for _ in range(ROUNDS):
        worst = 0.0
        for axes, wanted in margins:
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            factor = wanted / table.sum(axis=others)
            worst = max(worst, float(np.abs(factor - 1).max()))
            table = table * np.expand_dims(factor, others)
        if worst < CLOSE:
            break
    return table


def _sparse(why: str, epsilon: Fraction, columns: int) -> Infeasible:
    return Infeasible(
        f"The {columns} sensitive columns together are too sparse for reference shares with noise: {why}, with epsilon "
        f"= {float(epsilon):g}.",
        hint="make columns coarser, publish fewer of them as sensitive, or take a larger epsilon, which promises less; "
        "or give shares of records from outside.",
    )
