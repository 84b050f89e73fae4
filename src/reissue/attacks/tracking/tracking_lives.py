"""Linked lives: which of the m lives of a person is the true one.

The m values of a set move together by a law J with the declared chain T for each of them, and the decoys are drawn
given the true one's move: the chance of all moves is T'(x_i, x_i') J / T(x_i, x_i') if life i is the true one and
values move by T'. J is the same for all i, so that what is left is a product of T' / T over the releases.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.attacks.tracking.tracking_findings import Followed
from reissue.reasoning.alternatives.redraws import Moving
from reissue.reasoning.alternatives.set_histories import Histories


def followed_lives(
    histories: Histories, declared: Moving, own: Moving, prior: Floats | None, known: Ints | None, *, agrees: bool
) -> Followed:
    """How likely each life is the true one, at each row."""
    codes, opening = histories.codes, histories.opening
    shares = histories.laws.shares[histories.design[:, None], codes]
    first = shares if prior is None else prior[codes]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(opening[:, None], np.log(first / shares), 0.0)
        later = np.flatnonzero(~opening)
        if later.size:
            logs[later] = np.log(_moved(histories, own, later)) - np.log(_moved(histories, declared, later))
        if known is not None:
            logs = np.where((known[:, None] < 0) | (codes == known[:, None]), logs, -np.inf)
    total = np.add.reduceat(np.nan_to_num(logs, nan=-np.inf, posinf=-np.inf, neginf=-np.inf), histories.starts[:-1])
    top = total.max(axis=1, keepdims=True)
    lost = ~np.isfinite(top[:, 0])
    # What is possible stays above 0, however unlikely.
    least = np.where(np.isfinite(total), -600.0, -np.inf)
    weights = np.exp(np.maximum(total - np.where(np.isfinite(top), top, 0.0), least))
    sums = weights.sum(axis=1, keepdims=True)
    posterior = (weights / np.where(sums > 0, sums, np.inf))[histories.owner]
    sole = np.isfinite(total).sum(axis=1) == 1
    return Followed(histories, posterior, lost, sole[histories.owner], agrees=agrees, known=known)


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
