"""Scores of whole records: what a set says about the number of people with a value, or a combination of values.

With n_r(S) the places that record r has in a set,

    A[q, r] = E[n_q | the true record is r] = E[n_q n_r] / E[n_r],   over P(S),

as P(S | r) is in proportion to P(S) n_r(S). The score y(S) = A^-1 n(S) has the expectation e_r for whoever has the
record r, and adds up to 1 over all records. The score of a value, or of a combination of values in several columns, is
the sum over the records that have it: unbiased whoever the people are, for any group of them.

Differs from what is simpler, the same equations for the values of one column alone: those are unbiased only for people
who have the other columns as in the reference. By groups of another column they were off by 0.01 to 0.06 on diabetes
records, m = 8, which is as much as there is to see; and had a variance that was 0 to 12 % smaller.

E[n_q n_r] has no formula, as a walk has very many courses. It is exact where all of them can be followed. Elsewhere it
is the mean over sets that are drawn from the design for nobody in particular, which is public, always with the same
words: everybody gets the same scores. What chance does to that mean is one more error of an estimate.

How many places records have on average is known, E[n] = m p, and all places of a set add up to m; so E[n n'] must add
up to m E[n] in every row. The mean over drawn sets is scaled until it does, the same for rows and columns. Without that
all estimates of a table are off together, and the variance is 1 + N/D of what it should be (N people, D sets drawn): on
diabetes records intervals of 95 % held the truth in 92 %. With it the scores of people like the reference add up to
the right number exactly, and for others the expectation of a score is off, for whoever has the record r, by about the
root of V / (D m p_r), V being the variance of the score: of N people that adds up to N / (D m) of the variance that is
there anyway. So many sets are drawn that this is little (`enough_draws`).

With three columns or more a few sets are drawn again, and E[n_r] is m p_r only to about the share of these: `off` says
how far, and is an error of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible
from reissue.model.record_design import RecordDesign
from reissue.reasoning.alternatives.record_excess import excess
from reissue.reasoning.alternatives.record_flight import (
    FOLLOWED,
    draw_records,
    law_of,
    public_words,
    tree_of,
    walk_ends,
)
from reissue.reasoning.alternatives.set_probabilities import SINGULAR

MOST_RECORDS = 4_000
"""Of more records the equations are not solved."""
BESIDE = 20
"""The error that drawn sets add to the variance of estimates is 1 in so many, where people are as in the reference."""
FEWEST, MOST_DRAWS, FOR_EACH = 50_000, 2_000_000, 40
"""At least so many sets are drawn, at most so many, and at least so many for each record."""
ROOM = 1 << 23
"""So many numbers are held at once."""
SCALED, CLOSE = 500, 1e-10
"""So often at most, and so near, tables are made to add up."""
WALKS = 20_000
"""From so many walks it is seen how often sets are drawn again."""


def enough_draws(design: RecordDesign, people: int) -> int:
    """How many sets to draw for estimates of so many people."""
    asked = max(FEWEST, FOR_EACH * design.values, BESIDE * people // design.m)
    return min(asked, MOST_DRAWS)


class RecordPairs:
    """How probable two records are together, and what follows: the weights of scores."""

    def __init__(self, design: RecordDesign, draws: int = 0) -> None:
        if design.values > MOST_RECORDS:
            raise Infeasible(
                f"Shares are estimated from sets of at most {MOST_RECORDS:,} different records. There are "
                f"{design.values:,}.",
                hint="make the sensitive columns coarser, or fewer.",
            )
        self._design = design
        sets, chances = typical_sets(design, draws or enough_draws(design, 0))
        self.draws = len(sets) if chances is None else 0
        """How many sets stand for P(S); 0 where it is exact."""
        weights = np.full(len(sets), 1 / len(sets)) if chances is None else chances
        pairs = _pairs(sets.astype(np.int64), weights, design.values)
        self.means: Floats = pairs.sum(axis=0) / design.m if chances is not None else design.expected
        """How many places of a set each record takes on average."""
        if chances is None:
            pairs = _adding_up(pairs, design.m * design.expected)
        self.off = 0.0 if chances is not None or not design.yielding else _drawn_again(design)
        """By how much, relative to it, the mean of a record may be off, as sets were drawn again."""
        # 1_W' A^-1 n = z' n with P z = diag(means) 1_W; scaled by its diagonal P is as well conditioned as it can be.
        self._scale = 1 / np.sqrt(np.maximum(self.means, np.finfo(np.float64).tiny))
        scaled = pairs * np.outer(self._scale, self._scale)
        if (pairs.diagonal() <= 0).any() or _singular(scaled):
            raise Infeasible(
                f"Shares cannot be estimated from these sets: of {design.values:,} records some are told by nothing.",
                hint="allow values a larger limit, so that none is in every set; or make columns coarser.",
            )
        self._inverse: Floats = np.asarray(np.linalg.inv(scaled), dtype=np.float64)

    def __repr__(self) -> str:
        return f"RecordPairs({self._design.values:,} records)"

    def weights(self, wanted: Floats) -> Floats:
        """What a place of each record adds to the score of those wanted: a row for each record.

        `wanted` has a row for each record, or just numbers: 1 where it is wanted; a column for each question.
        """
        asked = (wanted.T * self.means * self._scale).T
        return np.asarray(((self._inverse @ asked).T * self._scale).T)

    def square(self, wanted: Floats) -> float:
        """E[y^2] of the score of those wanted, over all sets: z' P z, and P z = means times wanted."""
        return float((self.means * wanted) @ self.weights(wanted))

    def unsure(self, people: float) -> float:
        """By what the variance of an estimate for so many people is larger, as P(S) stands for drawn sets."""
        return 0.0 if not self.draws else people / (self.draws * self._design.m)


@dataclass(frozen=True, repr=False)
class RecordScores:
    """The scores that sets of records give, of the values of a column or the combinations of several."""

    columns: tuple[int, ...]
    values: Ints
    """A row for each score: its value in each of these columns."""
    cell_of: Ints
    """For each record, to which score it belongs."""
    shares: Floats
    """The reference shares of what is scored."""
    weights: Floats
    """What a place of each record adds to each score: a row for each record, a column for each score."""
    effects: Floats
    """For each score the variance of the share it estimates, over that of a table that shows everything."""

    def of(self, sets: npt.NDArray[np.integer]) -> Floats:
        """The scores of sets: a row for each, a column for each score."""
        found = np.zeros((len(sets), self.shares.size))
        for place in sets.T:
            found += self.weights[place]
        return found


def column_scores(design: RecordDesign, columns: int | Sequence[int], pairs: RecordPairs | None = None) -> RecordScores:
    """The scores of a column's values, or of the combinations of several columns' values."""
    chosen = (columns,) if isinstance(columns, int) else tuple(columns)
    values, cell_of = np.unique(design.records[:, list(chosen)], axis=0, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    shares = np.bincount(cell_of, weights=design.shares).astype(np.float64)
    pairs = pairs or RecordPairs(design)
    wanted = (cell_of[:, None] == np.arange(len(values))).astype(np.float64)
    weights = pairs.weights(wanted)
    second = ((pairs.means[:, None] * wanted) * weights).sum(axis=0)
    within = shares * (1 - shares) if len(values) > 1 else np.zeros(1)  # a single value is known
    return RecordScores(
        columns=chosen,
        values=values,
        cell_of=cell_of,
        shares=shares,
        weights=np.ascontiguousarray(weights, dtype=np.float64),
        effects=np.where(within > 0, (second - shares**2) / np.where(within > 0, within, 1.0), 0.0),
    )


def _singular(scaled: Floats) -> bool:
    """Whether a symmetric table is too near one that cannot be turned round; its condition, faster than in general."""
    values = np.linalg.eigvalsh(scaled)
    return bool(values[0] <= values[-1] / SINGULAR)


def _adding_up(pairs: Floats, rows: Floats) -> Floats:
    """The nearest symmetric table of the same kind whose rows add up to this, a_q a_r pairs[q, r] (Sinkhorn 1964)."""
    if (pairs.sum(axis=1) <= 0).any():
        return pairs  # a record that was never drawn: refused by who asks
    scale = np.ones(len(pairs))
    for _ in range(SCALED):
        sums = scale * (pairs @ scale)
        if np.abs(sums / rows - 1).max() < CLOSE:
            break
        scale *= np.sqrt(rows / sums)
    return np.asarray(pairs * np.outer(scale, scale))


def _drawn_again(design: RecordDesign) -> float:
    """The share of sets that are drawn again."""
    return float(excess(design, walk_ends(design, np.full(WALKS, -1), public_words)).any(axis=1).mean())


def typical_sets(design: RecordDesign, draws: int) -> tuple[npt.NDArray[np.integer], Floats | None]:
    """Sets that stand for P(S): all of them with their chances, or many that are drawn."""
    tree = tree_of(design)
    if tree.first.size <= FOLLOWED:
        sets, chances = law_of(design)
        within = ~excess(design, sets).any(axis=1)
        return sets[within], chances[within] / chances[within].sum()
    return draw_records(design, np.full(draws, -1), public_words, tree), None


def _pairs(records: Ints, weights: Floats, size: int) -> Floats:
    """E[n n'] over these rows of records: every two places of a row."""
    total = np.zeros(size * size)
    step = max(1, ROOM // records.shape[1] ** 2)
    for begin in range(0, len(records), step):
        some = records[begin : begin + step]
        both = (some[:, :, None] * size + some[:, None, :]).reshape(len(some), -1)
        total += np.bincount(
            both.ravel(), weights=np.repeat(weights[begin : begin + step], both.shape[1]), minlength=size * size
        )
    return total.reshape(size, size)
