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

Rare values of a column are merged, as with one column (`reference`): those who have none of the values named, of how
many there are. Then comes what is expected of records if columns had nothing to do with each other, what pairs say
beside it, and what records say beside that. A count y of something that is expected e times counts by

    w = max(0, 1 - (3 scale / max(y, e))^2),   and becomes   w y + (1 - w) e:

what is less than three scales of noise is taken from the coarser table alone. At last every column adds up to its own
shares again. If most people have records that are below the noise, the table is too sparse for a joint reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible, InternalError, ParameterError, count_of, listed
from reissue.methods.alternatives.noise import discrete_laplace
from reissue.methods.alternatives.reference import OTHERS, is_number, names_of
from reissue.model.record_design import LEAST_SHARE
from reissue.model.records import Records, record_cells, record_text, texts_of_levels
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
    """The records of sets with their shares, in the order of their texts."""

    columns: tuple[str, ...]
    """The sensitive columns."""
    labels: tuple[tuple[str, ...], ...]
    """For each column its values, as text."""
    merged: tuple[bool, ...]
    """For each column whether one label, `OTHERS`, stands for all values that are not among the others."""
    records: Ints
    """A row for each record: the position of its value in each column."""
    shares: Floats
    told: float = 1.0
    """The share of people whose records stand out from noise; the others' shares come from pairs and columns."""

    def __repr__(self) -> str:
        return f"RecordReference({len(self.records):,} records of {len(self.labels)} columns)"

    @property
    def texts(self) -> tuple[str, ...]:
        """Every record as text."""
        return tuple(
            record_text(labels[code] for labels, code in zip(self.labels, row, strict=True))
            for row in self.records.tolist()
        )

    def in_order(self) -> RecordReference:
        """The same with values and records in the order of their texts.

        How probable sets are depends on this order, and whoever reads the public files must come to the same.
        """
        texts = self.texts
        order = sorted(range(len(texts)), key=texts.__getitem__)
        labels = tuple(tuple(sorted(one)) for one in self.labels)
        place = [
            np.array([new.index(label) for label in old], dtype=np.int64)
            for old, new in zip(self.labels, labels, strict=True)
        ]
        codes = [own[self.records[order, at]] for at, own in enumerate(place)]
        return replace(self, labels=labels, records=np.stack(codes, axis=1), shares=self.shares[order])


def given_records(shares: Mapping[str, float], values: Column) -> RecordReference:
    """The reference that the policy gives: shares by the texts of records."""
    levels = values.levels
    assert isinstance(levels, Records)
    try:
        cells = [record_cells(text, len(levels.names)) for text in shares]
    except InternalError:
        raise ParameterError(
            f"The 'reference' parameter of Alternatives must name records of {len(levels.names)} columns. "
            "Got something else instead.",
            hint=f"give a CSV file with the columns {listed([*levels.names, 'share'])}, in this order.",
        ) from None
    labels, codes, merged = [], [], []
    for at in range(len(levels.names)):
        named = {one[at] for one in cells}
        own = [*sorted(named - {OTHERS}), *([OTHERS] if OTHERS in named else [])]
        place = {label: code for code, label in enumerate(own)}
        labels.append(tuple(own))
        merged.append(OTHERS in named)
        codes.append([place[one[at]] for one in cells])
    every = np.array(list(shares.values()), dtype=np.float64)
    every = every / every.sum()
    if (every < 2 * LEAST_SHARE).any():
        raise ParameterError(
            f"The 'reference' parameter of Alternatives has {int((every < 2 * LEAST_SHARE).sum()):,} records with a "
            f"share below {2 * LEAST_SHARE:g}: such sets cannot be drawn exactly.",
            hint=f"put rare values together under '{OTHERS}', or leave such records out.",
        )
    records = np.array(codes, dtype=np.int64).T
    return RecordReference(levels.names, tuple(labels), tuple(merged), records, every).in_order()


def noised_records(
    columns: Sequence[Column], epsilon: Fraction, merge: float, rng: np.random.Generator
) -> RecordReference:
    """The shares of records in a table with these sensitive columns, with noise."""
    count = len(columns)
    pairs = list(combinations(range(count), 2)) if count > 2 else []
    each = epsilon / (4 * count)
    each_pair = epsilon / (4 * len(pairs)) if pairs else Fraction(0)
    labels, merged, margins, places = [], [], [], []
    for column in columns:
        names, shares, place = _column(column, each, merge, rng)
        labels.append(names)
        merged.append(not is_number(column))
        margins.append(shares)
        places.append(place[column.codes])
    size = tuple(len(names) for names in labels)
    if (records := int(np.prod(size, dtype=object))) > MOST_RECORDS:
        raise _sparse(f"{records:,} combinations of values are more than {MOST_RECORDS:,}", epsilon, count)
    total = float(columns[0].codes.size)
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
        columns=tuple(column.name for column in columns),
        labels=tuple(labels),
        merged=tuple(merged),
        records=np.stack(np.unravel_index(np.arange(records), size), axis=1).astype(np.int64),
        shares=shares.ravel() / shares.sum(),
        told=told,
    ).in_order()


def recounted_records(counts: Ints, before: Floats, epsilon: Fraction, rng: np.random.Generator) -> Floats:
    """Shares of the same records once more, with noise: `counts` of the people whose sets are drawn now. A record that
    does not stand out from the noise keeps the share that it had `before`."""
    scale = Fraction(2) / epsilon
    noisy = counts + discrete_laplace(scale, counts.size, rng)
    mixed, _ = _mixed(noisy, max(float(noisy.sum()), 1.0) * before, scale)
    shares = np.maximum(mixed / mixed.sum(), 2 * LEAST_SHARE)
    return np.asarray(shares / shares.sum())


def _column(
    column: Column, epsilon: Fraction, merge: float, rng: np.random.Generator
) -> tuple[tuple[str, ...], Floats, Ints]:
    """The labels of a column, their shares, and the place of each code among them."""
    names, scale = texts_of(column), Fraction(2) / epsilon
    noisy = _counted(column.codes.astype(np.int64), (len(names),), scale, rng)
    few = float(merge * scale)
    occurs = np.bincount(column.codes, minlength=len(names)) > 0
    kept = occurs & (noisy >= few)
    rare = int(np.count_nonzero(occurs & ~kept))
    if not kept.any() or (is_number(column) and rare):
        raise Infeasible(
            f"Of {count_of(int(occurs.sum()), 'value')} of column '{column.name}' {rare:,} are too rare for reference "
            f"shares with noise: fewer than about {few:,.0f} people have each, with {float(epsilon):g} of epsilon for "
            "this column.",
            hint="make the column coarser, publish fewer sensitive columns, or take a larger epsilon, which promises "
            "less; numbers that are rare cannot be published as one.",
        )
    labels = [name for name, keep in zip(names, kept.tolist(), strict=True) if keep]
    shares = noisy[kept].astype(np.float64)
    if not is_number(column):  # whether anybody has a rare value must not show: there is always a share for them
        labels.append(OTHERS)
        # With noise of its own for each rare value, how many of them there are would show.
        shares = np.append(shares, max(few, float(column.codes.size - shares.sum())))
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


def every_column(values: Column) -> list[Column]:
    """The sensitive columns of a table whose values are records."""
    levels = values.levels
    assert isinstance(levels, Records)
    return levels.columns(values.codes)


def texts_of(column: Column) -> list[str]:
    """What each code of a column is written as."""
    names_of(column)  # refuses dates, and labels that have another meaning here
    return texts_of_levels(column.levels)


def _sparse(why: str, epsilon: Fraction, columns: int) -> Infeasible:
    return Infeasible(
        f"The {columns} sensitive columns together are too sparse for reference shares with noise: {why}, with epsilon "
        f"= {float(epsilon):g}.",
        hint="make columns coarser, publish fewer of them as sensitive, or take a larger epsilon, which promises less; "
        "or give shares of records from outside.",
    )
