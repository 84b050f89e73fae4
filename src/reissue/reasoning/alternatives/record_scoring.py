"""Scores of whole records: what a set says about the number of people with a value, or a combination of values.

Of one column, or of several together, every record has a cell. With N_c(S) the records of a set that are in cell c,

    A[c, d] = E[N_c | the true record is in d] = E[N_c N_d] / E[N_d],   over P(S),

where P(S | d) = P(S) N_d(S) / (m p_d) for somebody whose record is in d and, within d, is distributed as the reference
says; E[N_d] = m p_d, but for what is drawn again (`record_excess`). The score y(S) = A^-1 N(S) then has the expectation
e_d for them, and adds up to 1 over all cells.

Taken of all sensitive columns, a cell is a record, and scores are unbiased whoever the people are. Taken of fewer,
they are so for people who, given their values in these columns, have the others as in the reference; how far off they
can be for one single record is `drift`. Sums over cells of a finer score are scores of the coarser cells.

E[N_c N_d] has no formula, as a walk has very many courses. It is exact where all of them can be followed; elsewhere it
is the mean over sets that are drawn from the design for nobody in particular, which is public, always with the same
words: everybody gets the same scores. The rows of a release can take their place (`rows`), and are unbiased for this
where its people are as the reference says.
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
from reissue.reasoning.alternatives.record_flight import Tree, draw_records, law_of, public_words, tree_of
from reissue.reasoning.alternatives.set_probabilities import SINGULAR

FOLLOWED = 5
"""With so many nodes to begin with, at most, all courses of a walk are followed."""
DRAWS = 400_000
"""So many sets are drawn where they are not."""
ROOM = 1 << 23
"""So many numbers are held at once."""


@dataclass(frozen=True, repr=False)
class RecordScores:
    """The scores that sets of records give, of the cells of some columns."""

    columns: tuple[int, ...]
    values: Ints
    """A row for each cell: its value in each of these columns."""
    cell_of: Ints
    """The cell of each record."""
    shares: Floats
    """The reference shares of cells."""
    inverse: Floats
    """What each record of a set adds to every score: a row for each cell, a column for the cell of the record."""
    effects: Floats
    """For each cell the variance of its estimated share, over that of a table that shows everything."""

    def of(self, sets: npt.NDArray[np.integer]) -> Floats:
        """The scores of sets: a row for each, a column for each cell."""
        return np.asarray(np.take(self.inverse.T, self.cell_of[sets], axis=0).sum(axis=1))


def column_scores(
    design: RecordDesign,
    columns: int | Sequence[int],
    rows: npt.NDArray[np.integer] | None = None,
    chances: Floats | None = None,
) -> RecordScores:
    """The scores of a column's values, or of the combinations of several columns' values.

    `rows` are sets, with `chances` or equally likely, that stand for P(S); without them they come from the design.
    """
    chosen = (columns,) if isinstance(columns, int) else tuple(columns)
    values, cell_of = np.unique(design.records[:, list(chosen)], axis=0, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    shares = np.bincount(cell_of, weights=design.shares).astype(np.float64)
    if rows is None:
        rows, chances = typical_sets(design)
    weights = np.full(len(rows), 1 / len(rows)) if chances is None else chances
    pairs = _pairs(cell_of[rows], weights, len(values))
    means = pairs.sum(axis=0) / design.m  # as cells add up to m in every set
    if (means <= 0).any():
        raise _not_told(len(values))
    # Scaled by the root of the mean it is as well conditioned as it can be.
    scale = 1 / np.sqrt(means)
    scaled = pairs * np.outer(scale, scale)
    if np.linalg.cond(scaled) > SINGULAR:
        raise _not_told(len(values))
    inverse = np.asarray(np.linalg.inv(scaled) * np.outer(1 / scale, scale), dtype=np.float64)
    # The second moment of the scores: A^-1 E[N N'] A^-T.
    second = np.einsum("ij,jk,ik->i", inverse, pairs, inverse)
    within = shares * (1 - shares) if len(values) > 1 else np.zeros(1)  # a single value is known
    return RecordScores(
        columns=chosen,
        values=values,
        cell_of=cell_of,
        shares=shares,
        inverse=inverse,
        effects=np.where(within > 0, (second - shares**2) / np.where(within > 0, within, 1.0), 0.0),
    )


def _not_told(cells: int) -> Infeasible:
    return Infeasible(
        f"Shares cannot be estimated from these sets: of {cells:,} combinations of values some are told by nothing.",
        hint="ask for fewer columns together; or allow a value a larger limit, so that it is not in every set.",
    )


def typical_sets(design: RecordDesign, tree: Tree | None = None) -> tuple[npt.NDArray[np.integer], Floats | None]:
    """Sets that stand for P(S): all of them with their chances, or many that are drawn."""
    tree = tree or tree_of(design)
    if tree.first.size <= FOLLOWED:
        sets, chances = law_of(design)
        within = ~excess(design, sets).any(axis=1)
        return sets[within], chances[within] / chances[within].sum()
    return draw_records(design, np.full(DRAWS, -1), public_words, tree), None


def drift(design: RecordDesign, scores: RecordScores, sets: npt.NDArray[np.integer], chances: Floats) -> float:
    """How far the expected scores of somebody with one record are from 1 and 0, at most; 0 for all columns together."""
    told = scores.of(sets)
    worst = 0.0
    for record in range(len(design.records)):
        own = chances * (sets == record).sum(axis=1)
        own /= own.sum()
        aim = np.arange(scores.shares.size) == scores.cell_of[record]
        worst = max(worst, float(np.abs(own @ told - aim).max()))
    return worst


def _pairs(cells: Ints, weights: Floats, size: int) -> Floats:
    """E[N N'] over these rows of cells."""
    total = np.zeros((size, size))
    step = max(1, ROOM // size)
    for begin in range(0, len(cells), step):
        some = cells[begin : begin + step]
        flat = (np.arange(len(some))[:, None] * size + some).ravel()
        counts = np.bincount(flat, minlength=len(some) * size).reshape(len(some), size).astype(np.float64)
        total += (counts.T * weights[begin : begin + step]) @ counts
    return total
