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
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import numbered_words
from reissue.arrays.runs import runs, starts_of
from reissue.arrays.types import Floats, Ints, Words
from reissue.model.sets import SetDesigns, SetLists
from reissue.utility.analysing.questions import Target
from reissue.utility.analysing.score_intervals import Squares, Weighed
from reissue.utility.analysing.scored_rows import RowFactors, Scored

KINDS = 1 << 16
"""So many kinds of rows are compared at a time."""
Small = npt.NDArray[np.uint32]


class Matched:
    """Which rows of several releases are the same people."""

    def __init__(self, words: Sequence[Words]) -> None:
        self._key, self._first, self._count = _kinds(words)
        self._unique = (self._count <= 1).all(axis=0)
        self._again = self._rates()

    def _rates(self) -> Floats:
        """For each two releases the share of people of one who are in the other, by how the numbers of rows differ."""
        releases, kinds = self._count.shape
        both = np.zeros((releases, releases))
        for begin in range(0, kinds, KINDS):
            count = self._count[:, begin : begin + KINDS].astype(np.float64)
            both += count @ count.T
        rows = self._count.sum(axis=1).astype(np.float64)
        # A table that grows has more rows of all kinds: that is no sign of others.
        growth = rows[None, :] / np.maximum(rows[:, None], 1.0)
        square = np.diag(both)
        apart = growth * square[:, None] + square[None, :] / np.maximum(growth, 1e-9) - 2 * both
        return np.asarray(np.clip(1 - apart / np.maximum(rows[:, None] + rows[None, :], 1.0), 0.0, 1.0))

    @property
    def unique_share(self) -> float:
        """The share of rows that are unlike all others of their release."""
        return float(self._count[:, self._unique].sum() / max(self._count.sum(), 1))

    def variance(self, scored: Sequence[Scored], factors: Sequence[RowFactors], target: Target) -> tuple[float, float]:
        """The variance of the sum over all releases; rows that agree have the same scores and the same factors.

        And how much of it comes of it that of rows that agree some are others than it seems.
        """
        score = self._scores(scored)
        total = RowFactors.none(self._unique.size)
        for key, one in zip(self._key, factors, strict=True):
            # Each kind once: of those that stand several times in a release this makes nothing, and they are left out.
            total.factor[key] += one.factor
            total.centred[key] += one.centred
        found = float(score.products(total, total, target)[self._unique].sum())
        several, hidden = np.flatnonzero(~self._unique), 0.0
        if several.size:
            rest, count = score.at(several), self._count[:, several].astype(np.float64)
            some = [self._of_several(several, key, one) for key, one in zip(self._key, factors, strict=True)]
            for at, part in enumerate(some):
                found += float((count[at] * rest.products(part, part, target)).sum())
            for at, other in combinations(range(len(some)), 2):
                if not (some[at].factor.any() and some[other].factor.any()):
                    continue
                here, there = count[at], count[other]
                most = np.minimum(here, there)
                same = np.minimum(most, self._again[at, other] * (here + there) / 2)
                both = 2 * rest.products(some[at], some[other], target)
                found += float((same * both).sum())
                hidden += float(((same - most) * both).sum())
        return found, max(hidden, 0.0)

    @cached_property
    def people(self) -> list[Ints]:
        """For each release a number for each row, the same where rows are taken to be the same person's."""
        return _numbers(self._key, self._count)

    def by_person(self, scored: Sequence[Scored], squares: Sequence[Squares], factors: Sequence[RowFactors]) -> Weighed:
        """For each person what they count over all releases; of several rows that agree as many stay as can."""
        several = 1 + max(int(one.max(initial=0)) for one in self.people)
        factor, score, has, others = (np.zeros(several) for _ in range(4))
        for who, own, design, one in zip(self.people, scored, squares, factors, strict=True):
            factor[who] += one.factor
            score[who], has[who], others[who] = own.first, design.has, design.others
        return Weighed(factor, score, Squares(has, others))

    def _of_several(self, several: Ints, key: Ints, factors: RowFactors) -> RowFactors:
        """What the rows of a release count, for kinds that stand several times in some release."""
        place = np.full(self._unique.size, -1, dtype=np.int64)
        place[several] = np.arange(several.size)
        rows = np.flatnonzero(place[key] >= 0)
        part, at = RowFactors.none(several.size), place[key[rows]]
        part.factor[at], part.centred[at] = factors.factor[rows], factors.centred[rows]
        return part

    def _scores(self, scored: Sequence[Scored]) -> Scored:
        """For each kind of row its scores, from the first release that has it."""
        starts = starts_of([one.size for one in self._key])
        edges = np.searchsorted(self._first, starts).tolist()
        made = [np.empty(self._first.size) for _ in range(3)]
        for one, begin, (low, high) in zip(scored, starts.tolist(), pairwise(edges), strict=False):
            row = self._first[low:high] - begin
            made[0][low:high], made[1][low:high] = one.first[row], one.square[row]
            if one.known is not None:
                made[2][low:high] = one.known[row]
        return Scored(made[0], made[1], None if scored[0].known is None else made[2])


def _kinds(words: Sequence[Words]) -> tuple[list[Ints], Ints, Small]:
    """For each release the kinds of its rows; the first row of each kind in all; how many rows each release has."""
    number, first = numbered_words(np.concatenate(words))
    keys = np.split(number, np.cumsum([one.size for one in words])[:-1])
    return keys, first, np.stack([np.bincount(key, minlength=first.size).astype(np.uint32) for key in keys])


def row_words(columns: pl.DataFrame, lists: SetLists, designs: SetDesigns) -> Words:
    """For each row a word, the same for rows that agree in all published columns, in their set and in its design."""
    texts = [name for name, dtype in columns.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)]
    plain = columns.with_columns(pl.col(texts).cast(pl.String)) if texts else columns
    label = pl.Series([str(label) for label in designs.labels]).hash(seed=1).to_numpy().astype(np.uint64)
    word: Words = lists.sums(label[:, None])[:, 0]
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
    keys, _, count = _kinds(words)
    return _numbers(keys, count)


def _numbers(keys: Sequence[Ints], count: Small) -> list[Ints]:
    begin = starts_of(count.max(axis=0)) + 1
    numbers = []
    for key, own in zip(keys, count, strict=True):
        number = begin[key]
        several = np.flatnonzero(own[key] > 1)
        order = several[np.argsort(key[several], kind="stable")]
        lengths = own[own > 1]
        number[order] += runs(np.zeros_like(lengths, dtype=np.int64), lengths.astype(np.int64))
        numbers.append(number)
    return numbers
