"""Linked lives: which of the m lives of a person is the true one.

The m values of a set move together by a law J with the declared chain T for each of them, and the decoys are drawn
given the true one's move: the chance of all moves is T'(x_i, x_i') J / T(x_i, x_i') if life i is the true one and
values move by T'. J is the same for all i, so that a step weighs T' / T. Where several lives are at one value, which of
them goes on as the true one is drawn evenly: their weights are spread evenly before the step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.attacks.tracking.tracking_findings import Followed
from reissue.kernels.following import smooth_lives
from reissue.reasoning.alternatives.redraws import Moving
from reissue.reasoning.alternatives.set_histories import Histories


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
    posterior, likelihood = _smoothed(histories, ratio)
    possible = _smoothed(histories, np.sign(ratio))[0] > 0
    again, counts = np.zeros(codes.shape, dtype=np.bool_), np.ones(codes.shape, dtype=np.int64)
    ordered = np.sort(codes, axis=1)
    rows = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if rows.size:
        # A value counts once, where it comes first, with all its lives.
        alike = codes[rows][:, :, None] == codes[rows][:, None, :]
        posterior[rows] = (alike * posterior[rows][:, None, :]).sum(axis=2)
        counts[rows], again[rows] = alike.sum(axis=2), alike.argmax(axis=2) < np.arange(codes.shape[1])
        posterior[again] = 0.0
    return Followed(
        replace(histories, codes=np.where(again, -1, codes).astype(np.int32)),
        posterior,
        ~np.isfinite(likelihood),
        (possible & ~again).sum(axis=1) == 1,
        agrees=agrees,
        known=known,
        taken=counts,
    )


def _smoothed(histories: Histories, ratio: Floats) -> tuple[Floats, Floats]:
    """How likely each life of each row is the true one; and by person the logarithm of how likely their lives are."""
    posterior, likelihood = np.zeros(ratio.shape), np.zeros(histories.people.size)
    smooth_lives(histories.starts, histories.codes, ratio, posterior, likelihood)
    return posterior, likelihood


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
