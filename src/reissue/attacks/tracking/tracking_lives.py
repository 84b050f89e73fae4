"""Linked lives: which of the m lives of a person is the true one.

The m values of a set move together by a law J with the declared chain T for each of them, and the decoys are drawn
given the true one's move: the chance of all moves is T'(x_i, x_i') J / T(x_i, x_i') if life i is the true one and
values move by T'. J is the same for all i, so that a step weighs T' / T. Where several lives are at one value, which of
them goes on as the true one is drawn evenly: their weights are spread evenly before the step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.tracking.tracking_findings import Followed
from reissue.reasoning.alternatives.redraws import Moving
from reissue.reasoning.alternatives.set_histories import Histories
from reissue.reasoning.alternatives.smoothing import smoothed


def followed_lives(
    histories: Histories, declared: Moving, own: Moving, prior: Floats | None, known: Ints | None, *, agrees: bool
) -> Followed:
    """How likely each value of each row is, from how likely each life is the true one."""
    codes, opening = histories.codes, histories.opening
    shares = histories.laws.shares[histories.design[:, None], codes]
    first = shares if prior is None else prior[codes]
    later = np.flatnonzero(~opening)
    ratio = np.zeros(codes.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio[opening] = (first / shares)[opening]
        if later.size:
            ratio[later] = _moved(histories, own, later) / _moved(histories, declared, later)
    # What the declared chain or design cannot give is given by no life.
    ratio = np.nan_to_num(ratio, nan=0.0, posinf=0.0)
    if known is not None:
        ratio = np.where((known[:, None] < 0) | (codes == known[:, None]), ratio, 0.0)
    found = smoothed(histories.starts, _LifeSteps(ratio, codes))
    possible = smoothed(histories.starts, _LifeSteps(np.sign(ratio), codes)).posterior > 0
    posterior, again, counts = found.posterior.copy(), np.zeros(codes.shape, dtype=np.bool_), np.ones_like(codes)
    rows = np.flatnonzero(_crowded(codes))
    if rows.size:
        # A value counts once, where it comes first, with all its lives.
        alike = _alike(codes[rows])
        posterior[rows] = (alike * posterior[rows][:, None, :]).sum(axis=2)
        counts[rows], again[rows] = alike.sum(axis=2), alike.argmax(axis=2) < np.arange(codes.shape[1])
        posterior[again] = 0.0
    return Followed(
        replace(histories, codes=np.where(again, -1, codes)),
        posterior,
        ~np.isfinite(found.log_likelihood),
        (possible & ~again).sum(axis=1) == 1,
        agrees=agrees,
        known=known,
        taken=counts,
    )


def _crowded(codes: Ints) -> Bools:
    """Which rows have several lives at one value."""
    ordered = np.sort(codes, axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _alike(codes: Ints) -> Bools:
    """(rows, m, m): which lives of a row are at the same value."""
    return np.asarray(codes[:, :, None] == codes[:, None, :])


class _LifeSteps:
    """What the lives of people say; see `smoothing.Steps`."""

    def __init__(self, ratio: Floats, codes: Ints) -> None:
        # (rows, m): T' / T of the move into the row, or of shares in somebody's first.
        self._ratio, self._codes, self._crowded = ratio, codes, _crowded(codes)

    @property
    def width(self) -> int:
        """How many lives there are."""
        return int(self._ratio.shape[1])

    def first(self, rows: Ints) -> Floats:
        """The weights of lives in first rows."""
        return np.asarray(self._ratio[rows])

    def ahead(self, weights: Floats, before: Ints, after: Ints) -> Floats:
        """The weights in the rows after."""
        return self._spread(weights, before) * self._ratio[after]

    def back(self, weights: Floats, before: Ints, after: Ints) -> Floats:
        """What the rows after say of the lives before."""
        return self._spread(self._ratio[after] * weights, before)

    def _spread(self, weights: Floats, rows: Ints) -> Floats:
        """Weights of lives at one value spread evenly over them."""
        some = np.flatnonzero(self._crowded[rows])
        if some.size:
            alike = _alike(self._codes[rows[some]])
            weights = weights.copy()
            weights[some] = (alike * weights[some][:, None, :]).sum(axis=2) / alike.sum(axis=2)
        return weights


def _moved(histories: Histories, moving: Moving, rows: Ints) -> Floats:
    """T(x_i, x_i') for each life."""
    before, codes, release = rows - 1, histories.codes, histories.release
    cell = histories.cell[histories.design[rows]]
    every = [
        moving.moves(codes[before, at][:, None], codes[rows, at][:, None], release[before], release[rows], cell)[
            :, 0, 0
        ]
        for at in range(codes.shape[1])
    ]
    return np.stack(every, axis=1)
