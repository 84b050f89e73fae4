"""Scores: what a set says about the number of people with a value, without bias.

With A[v, u] = P(v in S | u is true), the score y(S) = A^-1 1_S has the expectation e_u for whoever has the value u: so
scores, added up over any rows, estimate how many of them have each value. They add up to 1 over all values of every
set. Of all unbiased estimates from sets this is the one of least variance, as diag(p) G^-1 mu with mu the posteriors
that a set gives and G = E[mu mu'] is the same.

The score of a group of values W is a sum of weights over the values of a set: 1_W' A^-1 1_S = z' 1_S, where z solves

    P z = diag(inclusion) 1_W,   P[v, u] = P(v and u in S).

P is symmetric and, scaled by its diagonal, has a condition number of about m / (1 - m p_max) whatever the number of
values is. So with many of them z is found by conjugate gradients, and no matrix is made.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible
from reissue.model.design import Design
from reissue.reasoning.alternatives.joint_inclusion import JointInclusion
from reissue.reasoning.alternatives.set_probabilities import SINGULAR, design_effects, pair_inclusion

MOST_DENSE = 1_500
"""Designs of more values are solved without a matrix."""
MOST_STEPS = 2_000
PRECISE = 1e-12
"""So small is what is left of the equations, relative to what they are to give."""
ASKED = 40
"""Of so many values design effects are worked out where there are more than `MOST_DENSE`."""


class Scores:
    """The scores that sets of a design give."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._scale = 1 / np.sqrt(design.inclusion)
        self._inverse: Floats | None = None
        self._joint: JointInclusion | None = None
        if design.values > MOST_DENSE:
            self._joint = JointInclusion(design)
            if (design.inclusion > 1 - 1 / SINGULAR).any():
                raise _nothing_told()
            return
        correlations = pair_inclusion(design) * np.outer(self._scale, self._scale)
        if np.linalg.cond(correlations) > SINGULAR:
            raise _nothing_told()
        self._inverse = np.asarray(np.linalg.inv(correlations), dtype=np.float64)

    def weights(self, wanted: Floats) -> Floats:
        """For each value what it adds to the score of those wanted in a set it is in.

        `wanted` has a row for each value, or just numbers: 1 where a value is wanted; a column for each question.
        """
        asked = (wanted.T * self._design.inclusion * self._scale).T
        if self._inverse is not None and asked.size == asked.shape[0]:
            # Of one question, added up by NumPy itself: a product would wake threads that mostly wait.
            solved = np.einsum("ij,j->i", self._inverse, asked.ravel())
            return np.asarray((solved * self._scale).reshape(asked.shape))
        if self._inverse is not None:
            return np.asarray(((self._inverse @ asked).T * self._scale).T)
        columns = asked[:, None] if asked.ndim == 1 else asked
        found = np.stack([self._scale * self._solved(column) for column in columns.T], axis=1)
        return found[:, 0] if asked.ndim == 1 else found

    def square(self, wanted: Floats) -> float:
        """E[y^2] of the score of those wanted, over all sets: z' P z, and P z = inclusion times wanted."""
        return float((self._design.inclusion * wanted) @ self.weights(wanted))

    def _solved(self, asked: Floats) -> Floats:
        """Conjugate gradients; the matrix has ones on its diagonal."""
        found = np.zeros_like(asked)
        rest, direction = asked.copy(), asked.copy()
        size, least = float(rest @ rest), PRECISE**2 * float(asked @ asked)
        for _ in range(MOST_STEPS):
            if size <= least:
                return found
            turned = self._times(direction)
            step = size / float(direction @ turned)
            found += step * direction
            rest -= step * turned
            before, size = size, float(rest @ rest)
            direction = rest + size / before * direction
        raise _nothing_told()

    def _times(self, vector: Floats) -> Floats:
        assert self._joint is not None
        weighed = vector * self._scale
        return np.asarray(self._scale * (self._joint.totals(weighed) + self._design.inclusion * weighed))


def effects(design: Design) -> tuple[Ints, Floats]:
    """Values, and for each the design effect of its estimated share; of some values where there are very many."""
    if design.values <= MOST_DENSE:
        return np.arange(design.values), design_effects(design)
    order = np.argsort(-design.shares, kind="stable")
    chosen = np.sort(order[np.linspace(0, design.values - 1, ASKED).astype(np.int64)])
    wanted = np.zeros((design.values, chosen.size))
    wanted[chosen, np.arange(chosen.size)] = 1.0
    p = design.shares[chosen]
    # The second moment of a score is z' P z, and P z = inclusion e.
    second = Scores(design).weights(wanted)[chosen, np.arange(chosen.size)] * design.inclusion[chosen]
    return chosen, np.asarray((second - p**2) / (p * (1 - p)))


def bounds(design: Design) -> Floats:
    """For each value the least design effect that any mechanism with its limit has: (1 - p) / (limit - p)."""
    room = design.limit - design.shares
    with np.errstate(divide="ignore"):
        return np.where(room > 1e-12, (1 - design.shares) / room, np.inf)


def _nothing_told() -> Infeasible:
    return Infeasible(
        "Counts cannot be estimated from these sets: a value is in every one of them.",
        hint="a value needs more slots than its share asks for: a larger limit, or a larger m.",
    )
