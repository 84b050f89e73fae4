"""How surprising counts are, as bounds that hold for every number of trials and not only for many.

A surprise s means that what was seen, or anything further from what is expected in the same direction, has a
probability of at most e^-s. Surprises are compared with `allowed`, so that a check of several of them raises a false
alarm with a stated probability at most.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints

FACTORS = np.array([0.05, 0.2, 0.5, 0.7, 0.85, 0.95, 0.98, 1.02, 1.05, 1.18, 1.4, 2.0, 5.0, 20.0])
"""What is bet on in `wagered`: that odds are so many times as large as stated."""
POOLED = 5.0
"""Cells that are expected less often are put together."""


def allowed(error: float, tests: int) -> float:
    """How surprising the most surprising of some two-sided tests may be, with a false alarm of at most `error`."""
    return math.log(2 * max(tests, 1) / error)


def surprise(seen: npt.ArrayLike, trials: npt.ArrayLike, expected: npt.ArrayLike) -> Floats:
    """n D(seen/n || expected/n): of a sum of independent numbers from 0 to 1, not necessarily of the same law.

    Hoeffding, Probability inequalities for sums of bounded random variables, JASA 58 (1963), Theorem 1.
    """
    n = np.asarray(trials, dtype=np.float64)
    x = np.clip(np.asarray(seen, dtype=np.float64), 0, n)
    mean = np.clip(np.asarray(expected, dtype=np.float64), 0, n)
    return np.maximum(_part(x, mean) + _part(n - x, n - mean), 0.0)


def surprise_of_cells(seen: Ints, chances: Floats) -> tuple[float, int]:
    """n D(seen/n || chances) of one multinomial count, rare cells put together; and how many cells less one it has.

    Such figures of independent counts add up, and so do the cells: see `surprise_of_fit`.
    """
    expected = seen.sum() * chances
    often = expected >= POOLED
    counts = np.append(seen[often], seen[~often].sum())
    means = np.append(expected[often], expected[~often].sum())
    if counts.size > 1 and means[-1] < POOLED:  # still too rare by itself, unless it cannot occur at all
        if means[-1] == 0 and counts[-1]:
            return math.inf, 1
        at = int(np.argmin(means[:-1]))
        counts[at], means[at] = counts[at] + counts[-1], means[at] + means[-1]
        counts, means = counts[:-1], means[:-1]
    # Both add up to the same, but for rounding.
    return max(
        float(_part(counts.astype(np.float64), means * (counts.sum() / means.sum())).sum()), 0.0
    ), counts.size - 1


def surprise_of_fit(divergence: float, freedom: int) -> float:
    """How surprising a sum of `surprise_of_cells` is.

    E exp(t n D) <= (1 - t)^-(k - 1): Agrawal, Finite-sample concentration of the multinomial in relative entropy, IEEE
    Transactions on Information Theory 66 (2020). So P(n D >= d) <= exp(f - d) (d/f)^f for f = k - 1 < d.
    """
    if freedom == 0 or divergence <= freedom:
        return math.inf if freedom == 0 and divergence == math.inf else 0.0
    if divergence == math.inf:
        return math.inf
    return divergence - freedom - freedom * math.log(divergence / freedom)


def wagered(before: Floats, seen: int, trials: Floats, chances: Floats) -> Floats:
    """The logarithms of what bets on other odds are worth after some more coins: `seen` of all of them came up.

    Each bet begins with 1, and is fair: of one coin, factor^up / (1 - p + p factor). That the mean of them is ever
    above 1/e has a probability of at most e, however long the series goes on (Ville 1939).
    """
    lost = (trials * np.log1p(chances * (FACTORS[:, None] - 1))).sum(axis=1)
    return np.asarray(before + seen * np.log(FACTORS) - lost)


def surprise_of_wager(wealth: Floats) -> float:
    """How surprising the mean of the bets is."""
    top = float(wealth.max())
    return top + math.log(float(np.exp(wealth - top).mean()))


def _part(x: Floats, mean: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, x * np.log(x / mean), 0.0)
