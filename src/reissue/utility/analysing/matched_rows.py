"""The same people in several releases, as far as public rows show them: the covariance of estimates over releases.

A set stays while its person's value does, so rows that agree in all published columns, set and design included, are
taken to be the same person. Such a row has the same score in every release, and what is wrong with it cancels in a
difference. Rows whose set or quasi-identifiers changed count as other people: given the values, scores of different
sets are independent.

Where several rows of a release agree, which of them are the same people cannot be seen. If people stay with a chance r,
those who go and those who come make n rows in one release and n' in another, and (n - n')^2 is (1 - r) (n + n') on
average, where both tables have the same size. That gives r; and r (n + n') / 2 of the rows are taken to be the same
people, but no more than there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints, Words
from reissue.model.sets import SetDesigns, SetLists
from reissue.utility.analysing.questions import Target
from reissue.utility.analysing.scored_rows import RowFactors, Scored


class Matched:
    """Which rows of several releases are the same people."""

    def __init__(self, words: Sequence[Words]) -> None:
        every, self._first, key = np.unique(np.concatenate(words), return_index=True, return_inverse=True)
        sizes = np.cumsum([0, *(one.size for one in words)])
        self._key = [key[begin:end] for begin, end in pairwise(sizes.tolist())]
        self._starts = sizes
        self._count = np.stack([np.bincount(one, minlength=every.size) for one in self._key], axis=1)
        self._unique = (self._count <= 1).all(axis=1)
        self._again = self._rates()

    def _rates(self) -> Floats:
        """For each two releases the share of people of one who are in the other, by how the numbers of rows differ."""
        count = self._count.astype(np.float64)
        both, rows = count.T @ count, count.sum(axis=0)
        # A table that grows has more rows of all kinds: that is no sign of others.
        growth = rows[None, :] / np.maximum(rows[:, None], 1.0)
        square = np.diag(both)
        apart = growth * square[:, None] + square[None, :] / np.maximum(growth, 1e-9) - 2 * both
        return np.asarray(np.clip(1 - apart / np.maximum(rows[:, None] + rows[None, :], 1.0), 0.0, 1.0))

    @property
    def unique_share(self) -> float:
        """The share of rows that are unlike all others of their release."""
        return float(self._count[self._unique].sum() / max(self._count.sum(), 1))

    def variance(self, scored: Sequence[Scored], factors: Sequence[RowFactors], target: Target) -> float:
        """The variance of the sum over all releases; rows that agree have the same scores and the same factors."""
        keys = self._unique.size
        score = self._scores(scored)
        parts = []
        for key, one in zip(self._key, factors, strict=True):
            part = RowFactors.none(keys)
            part.factor[key], part.centred[key] = one.factor, one.centred
            parts.append(part)
        alone = np.flatnonzero(self._unique)
        total = RowFactors.none(alone.size)
        for part in parts:
            total += part.at(alone)
        found = float(score.at(alone).products(total, total, target).sum())
        several = np.flatnonzero(~self._unique)
        if several.size:
            rest, count = score.at(several), self._count[several]
            some = [part.at(several) for part in parts]
            for at, part in enumerate(some):
                found += float((count[:, at] * rest.products(part, part, target)).sum())
            for at, other in combinations(range(len(some)), 2):
                if not (some[at].factor.any() and some[other].factor.any()):
                    continue
                here, there = count[:, at], count[:, other]
                same = np.minimum(np.minimum(here, there), self._again[at, other] * (here + there) / 2)
                found += 2 * float((same * rest.products(some[at], some[other], target)).sum())
        return found

    def _scores(self, scored: Sequence[Scored]) -> Scored:
        """For each kind of row its scores, from the first release that has it."""
        release = np.searchsorted(self._starts, self._first, side="right") - 1
        row = self._first - self._starts[release]
        made = [np.empty(self._first.size) for _ in range(3)]
        for at, one in enumerate(scored):
            here = release == at
            made[0][here], made[1][here] = one.first[row[here]], one.square[row[here]]
            if one.known is not None:
                made[2][here] = one.known[row[here]]
        return Scored(made[0], made[1], None if scored[0].known is None else made[2])


def row_words(columns: pl.DataFrame, lists: SetLists, designs: SetDesigns) -> Words:
    """For each row a word, the same for rows that agree in all published columns, in their set and in its design."""
    texts = [name for name, dtype in columns.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)]
    plain = columns.with_columns(pl.col(texts).cast(pl.String)) if texts else columns
    label = pl.Series([str(label) for label in designs.labels]).hash(seed=1).to_numpy().astype(np.uint64)
    word: Words = np.add.reduceat(label[lists.codes], lists.starts[:-1])
    drawn = [
        hash((one, tuple(str(designs.labels[at]) for at in places))) & 0xFFFF_FFFF_FFFF_FFFF
        for one, places in zip(designs.designs, designs.places, strict=True)
    ]
    word = word * np.uint64(0x9E37_79B9_7F4A_7C15) + np.array(drawn, dtype=np.uint64)[lists.design]
    if plain.width:
        word = word * np.uint64(0xBF58_476D_1CE4_E5B9) + plain.hash_rows(seed=2).to_numpy().astype(np.uint64)
    return word


def clusters(words: Sequence[Words]) -> list[Ints]:
    """For each release a number for each row, the same where rows are taken to be the same person's.

    Of several rows of a release that agree the first goes with the first of another, the second with the second.
    """
    rows = pl.DataFrame(
        {
            "word": np.concatenate(words),
            "release": np.repeat(np.arange(len(words)), [one.size for one in words]),
        }
    ).with_columns(again=pl.int_range(pl.len()).over("word", "release"))
    number = rows.select(pl.struct("word", "again").rank("dense")).to_series().to_numpy().astype(np.int64)
    return np.split(number, np.cumsum([one.size for one in words])[:-1])
