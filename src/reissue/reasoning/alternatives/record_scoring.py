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
words: everybody gets the same scores. With 400,000 sets the shares of groups were then off by 0.002 to 0.015 at most on
diabetes records (120, 480 and 1,345 of them), which falls with the root of the number of sets. The rows of a release
can take their place (`rows`): they are distributed like this where its people are as the reference says.
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
from reissue.reasoning.alternatives.record_flight import FOLLOWED, Tree, draw_records, law_of, public_words, tree_of
from reissue.reasoning.alternatives.set_probabilities import SINGULAR

DRAWS = 400_000
"""So many sets are drawn where they are not."""
MOST_RECORDS = 4_000
"""Of more records the equations are not solved."""
ROOM = 1 << 23
"""So many numbers are held at once."""


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


def column_scores(
    design: RecordDesign,
    columns: int | Sequence[int],
    rows: npt.NDArray[np.integer] | None = None,
    chances: Floats | None = None,
) -> RecordScores:
    """The scores of a column's values, or of the combinations of several columns' values.

    `rows` are sets, with `chances` or equally likely, that stand for P(S); without them they come from the design.
    """
    records = len(design.records)
    if records > MOST_RECORDS:
        raise Infeasible(
            f"Shares are estimated from sets of at most {MOST_RECORDS:,} different records. There are {records:,}.",
            hint="make the sensitive columns coarser, or fewer.",
        )
    chosen = (columns,) if isinstance(columns, int) else tuple(columns)
    values, cell_of = np.unique(design.records[:, list(chosen)], axis=0, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    shares = np.bincount(cell_of, weights=design.shares).astype(np.float64)
    if rows is None:
        rows, chances = typical_sets(design)
    pairs = _pairs(rows.astype(np.int64), np.full(len(rows), 1 / len(rows)) if chances is None else chances, records)
    means = pairs.sum(axis=0) / design.m  # as places add up to m in every set
    wanted = (cell_of[:, None] == np.arange(len(values))).astype(np.float64)
    # 1_W' A^-1 n = z' n with P z = diag(means) 1_W; scaled by its diagonal P is as well conditioned as it can be.
    scale = 1 / np.sqrt(np.maximum(means, np.finfo(np.float64).tiny))
    scaled = pairs * np.outer(scale, scale)
    if (means <= 0).any() or np.linalg.cond(scaled) > SINGULAR:
        raise Infeasible(
            f"Shares cannot be estimated from these sets: of {records:,} records some are told by nothing.",
            hint="allow values a larger limit, so that none is in every set; or make columns coarser.",
        )
    weights = (np.linalg.solve(scaled, (wanted.T * means * scale).T).T * scale).T
    second = np.einsum("qc,qr,rc->c", weights, pairs, weights, optimize=True)
    within = shares * (1 - shares) if len(values) > 1 else np.zeros(1)  # a single value is known
    return RecordScores(
        columns=chosen,
        values=values,
        cell_of=cell_of,
        shares=shares,
        weights=np.ascontiguousarray(weights, dtype=np.float64),
        effects=np.where(within > 0, (second - shares**2) / np.where(within > 0, within, 1.0), 0.0),
    )


def typical_sets(design: RecordDesign, tree: Tree | None = None) -> tuple[npt.NDArray[np.integer], Floats | None]:
    """Sets that stand for P(S): all of them with their chances, or many that are drawn."""
    tree = tree or tree_of(design)
    if tree.first.size <= FOLLOWED:
        sets, chances = law_of(design)
        within = ~excess(design, sets).any(axis=1)
        return sets[within], chances[within] / chances[within].sum()
    return draw_records(design, np.full(DRAWS, -1), public_words, tree), None


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
