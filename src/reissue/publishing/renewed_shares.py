"""Shares once more: where values have outgrown the shares that sets are drawn by, shares that fit, counted with noise.

Counted are those whose sets would be drawn in the next release: who comes, whose value changes, and whose set is
renewed. Sets that are out stay as they are. The epsilon of the count adds to what was told of people before.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from reissue.arrays.randomness import generator, new_seed
from reissue.arrays.types import Floats
from reissue.errors import Infeasible, ParameterError
from reissue.methods.alternatives.alternatives import Alternatives
from reissue.methods.alternatives.record_reference import recounted_records
from reissue.methods.alternatives.reference import recounted
from reissue.model.sets import Sets
from reissue.publishing.checking.outgrown_shares import outgrown_shares
from reissue.publishing.drafting import Progress, Submission, make_draft
from reissue.publishing.history import History
from reissue.publishing.policy import Policy


def renewed_shares(
    given: Submission, policy: Policy, history: History, epsilon: float | None, progress: Progress = lambda stage: None
) -> Policy:
    """The policy with shares that fit the sets of the next release of this table; it was tried on it.

    `epsilon`: by default that of the policy. Raises Infeasible where values are too frequent beside these shares, too.
    """
    method = policy.method
    if not isinstance(method, Alternatives):
        raise ParameterError(f"Only Alternatives draws by shares; the method is {method.name}.")
    if history.number == 0:
        raise ParameterError(
            "Nothing was published yet: the shares of the first release are counted when it is made.",
            hint="publish it first.",
        )
    epsilon = method.epsilon if epsilon is None else epsilon
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0.001 <= epsilon <= 100:
        raise ParameterError("The 'epsilon' parameter of renew_shares must be a number from 0.001 to 100.")
    sets, drawn = _drawn(given, policy, history, progress)
    if sets.designs.linked or sets.designs.cells is not None:
        what = "lives move by a table of change" if sets.designs.linked else "'given' columns have shares by cell"
        raise ParameterError(
            f"The shares of this series cannot be counted again: {what}, and that is for the whole series.",
            hint="`--allow outgrown-shares --reason` publishes all the same, and audits say so; or begin a new series.",
        )
    progress("Counting shares")
    places = sets.designs.places[-1]
    labels = [str(sets.designs.labels[at]) for at in places]
    shares = dict(zip(labels, _shares(sets, drawn, method, epsilon).tolist(), strict=True))
    # What is counted from people of the series stays told, whatever the reference is later.
    found = replace(policy, method=replace(method, reference=shares, spent=float(epsilon)))
    made = make_draft(given, found, history, progress=progress)
    failed = outgrown_shares(made, policy.checks)
    if failed is not None:
        raise Infeasible(
            f"Also with shares that were counted now, {failed.what}.",
            hint="a larger --epsilon makes them nearer; a larger limit, or coarser values, leave more room.",
        )
    return found


def _drawn(given: Submission, policy: Policy, history: History, progress: Progress) -> tuple[Sets, np.ndarray]:
    """The sets of the next release, and which rows get one that is drawn now."""
    made = make_draft(given, policy, history, progress=progress)
    sets = made.grouping.sets
    assert sets is not None
    drawn = np.flatnonzero((made.grouping.group >= 0) & sets.drawn)
    if not drawn.size:
        raise Infeasible(
            "No set would be drawn for this table, so that there is nothing to count.",
            hint="shares are for those who come, and for those whose values change.",
        )
    return sets, drawn


def _shares(sets: Sets, drawn: np.ndarray, method: Alternatives, epsilon: float) -> Floats:
    places, before = sets.designs.places[-1], sets.designs.designs[-1].shares
    counts = np.bincount(sets.own[drawn], minlength=len(sets.designs.labels))[places]
    exact = Fraction(epsilon).limit_denominator(10**6)
    rng = generator(new_seed())
    if sets.designs.columns:
        return recounted_records(counts, before, exact, rng)
    return recounted(counts, exact, method.merge, rng)
