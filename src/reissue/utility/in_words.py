"""One sentence about what a release is worth, chosen from its figures."""

from __future__ import annotations

from reissue.errors import count_of
from reissue.utility.gradients import Gradients
from reissue.utility.sizes_of_counts import ByQuery

UNBIASED = (0.8, 1.25)
"""A gradient of so much of its size survives."""
BY_CHANCE = 2.0
"""So many standard errors of one gradient the draw of sets alone may take their median away from the truth: as many as
there are, they are of the same people."""
GONE = 0.1
"""One of less than this is gone."""
NEARER = 1.05
"""Counts that are not at least so many times nearer than without the link are no better."""


def in_words(gradients: Gradients | None, counts: ByQuery | None, unanswered: str | None = None) -> str:
    """What gradients and counts are worth, beside no link at all; `unanswered` says why there is neither."""
    if unanswered is not None:
        return f"Values cannot be estimated from this release alone: {unanswered}."
    asked = counts if counts is not None and counts.answered else None
    ratio = gradients.ratio if gradients else None
    if gradients is None or ratio is None:
        first = "No gradient of the table is beyond chance, so that there is none to keep"
    else:
        lost = _lost(gradients, ratio)
        if lost and asked is not None and _no_better(asked):
            return f"This release is worth no more than the two marginals: {lost}."
        first = f"Gradients are lost: {lost}" if lost else _kept(gradients, ratio)
    return f"{first}; {_counts(asked)}." if asked is not None else f"{first}."


def _lost(gradients: Gradients, ratio: float) -> str | None:
    """How gradients are lost, where they are: a quarter is turned round, or hardly anything is left."""
    if 4 * gradients.turned < gradients.sure and ratio >= GONE:
        return None
    verb = "is" if gradients.turned == 1 else "are"
    turned = f"{gradients.turned:,} of {count_of(gradients.sure, 'gradient')} {verb} turned round"
    return turned if ratio >= GONE else f"{turned}, and {max(ratio, 0.0):.2f} of their size is left"


def _kept(gradients: Gradients, ratio: float) -> str:
    figures = f"({gradients.kept:,} of {gradients.sure:,} keep their sign, at {ratio:.2f} of their size)"
    low, high = UNBIASED
    noise = gradients.noise
    if not low <= ratio <= high and noise is not None and abs(ratio - 1) <= BY_CHANCE * noise:
        return f"Gradients are right on average, and each off by about {noise:.0%} of its size by chance {figures}"
    if ratio < low:
        return f"Gradients are flattened {figures}"
    if ratio > high:
        return f"Gradients are exaggerated {figures}"
    return f"{'Gradients' if gradients.kept == gradients.sure else 'Most gradients'} survive {figures}"


def _counts(counts: ByQuery) -> str:
    if _no_better(counts):
        return "counts are no better than without the link"
    useless, below = counts.useless_below, counts.no_better_below
    parts = []
    if below:
        parts.append(f"counts below about {below:,} people are no better than without the link")
    elif counts.times_nearer == counts.times_nearer:  # it is a number
        parts.append(f"counts are {counts.times_nearer:.1f} times nearer than without the link")
    else:
        parts.append("most counts are exact")
    if useless and useless != below:
        parts.append(f"those below about {useless:,} people are off by more than half")
    return ", and ".join(parts)


def _no_better(counts: ByQuery) -> bool:
    return counts.times_nearer < NEARER
