"""How much may be learnt: from a number the caller gives, or from what a method promised."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Real

from reissue.arrays.exact import fraction_of, probability_of
from reissue.attacks.base import Limits
from reissue.errors import ParameterError
from reissue.model.knowledge import Promised

ACCEPTABLE = ("undecided", "sampled")
"""What may pass by name although nothing is proven."""

HISTORY = "history-l-diversity"
SAFETY = "historical-safety"
ALPHA = "alpha-k-anonymity"
_ONE_IN = {
    "m-invariance": "m",
    "weak-m-invariance": "m",
    SAFETY: "m",
    "m-uniqueness": "m",
    "m-confidentiality": "m",
    "share-l-diversity": "l",
    "l-scarcity": "l",
    HISTORY: "l",
}
"""Promises that nobody is tied to a value with more than 1 in so many, and the parameter that says it."""


def limits_of(
    limit: float | Fraction | str | None, promises: Iterable[Promised] = (), *, releases: int | None = None
) -> Limits:
    """The limits to judge by. A probability that is given goes before the promised ones, of which the least counts.

    Where none is given or promised, but a number of values, values are counted and nothing is said of probabilities.
    `releases` is how many there are, where that is known: with a single one, pairs of releases are not all there is.
    """
    promises = tuple(promises)
    equivalence = max(_whole(promises, "equivalence-safety", "e"), default=None)
    # Sets of at least one person there always are: n = 1 asks nothing.
    correlation = max((n for n in _whole(promises, SAFETY, "n") if n > 1), default=None)
    alone = _whole(promises, "distinct-l-diversity", "l")
    pairs = _whole(promises, "inference-freedom", "l")
    history = _whole((one for one in promises if _counts_distinct(one)), HISTORY, "l")
    counted = [*alone, *pairs, *history]
    shares = [share for promise in promises if (share := _share(promise)) is not None]
    # What is promised of protected sets says nothing about the values outside them, and is about each release alone.
    of_sets = [share for promise in promises if (share := _share_of_sets(promise)) is not None]
    credibility = min(of_sets, default=None) if limit is None else None
    sets_suffice = bool(of_sets) and releases in (None, 1)
    if limit is None and not shares and not counted and not sets_suffice:
        raise ParameterError(
            "The 'limit' parameter of audit must be given: no promise bounds the probability of a value.",
            hint="say with what probability anybody may be tied to a value at most: limit=1/2, --limit 1/2, or "
            "limit under [gate] in the policy.",
        )
    if limit is None and not shares:
        # What was promised of each release alone is asked of all together, unless more was promised of pairs.
        asked = counted if releases == 1 else [*history, *([] if pairs else alone)]
        diversity = max(counted, default=None)
        return Limits(None, equivalence, diversity, max(asked, default=None), correlation, credibility)
    probability = min(shares) if limit is None else exact_limit(limit)
    # Where fewer than 1/p values are left for somebody, the likeliest of them has a probability of more than p.
    needed = -(-probability.denominator // probability.numerator)
    together = max(history, default=None) if limit is None else None
    diversity = max(counted, default=needed) if limit is None else max([*counted, needed])
    return Limits(probability, equivalence, diversity, together, correlation, credibility)


def exact_limit(limit: object) -> Fraction:
    """A probability as an exact fraction, so that 1/2 is not beyond 1/2."""
    fraction = probability_of(limit)
    if fraction is None:
        plain = isinstance(limit, str | Real)
        raise ParameterError(
            "The 'limit' parameter of audit must be a probability above 0 and up to 1. "
            f"Got {limit if plain else f'a {type(limit).__name__}'} instead."
        )
    return fraction


def _share(promise: Promised) -> Fraction | None:
    """The largest probability of a value under a promise; None where it bounds none."""
    # Bounds on protected sets say nothing about the values outside them.
    return None if promise.parameters.get("protect") else _promised(promise)


def _share_of_sets(promise: Promised) -> Fraction | None:
    """The largest probability of a protected set under a promise; None where it bounds none."""
    return _promised(promise) if promise.parameters.get("protect") else None


def _promised(promise: Promised) -> Fraction | None:
    if promise.name == ALPHA:
        alpha = probability_of(promise.parameters["alpha"])
        if alpha is None:
            raise ParameterError(f"The 'alpha' parameter of {ALPHA} must be a probability above 0 and up to 1.")
        return alpha
    parameter = _ONE_IN.get(promise.name)
    if parameter is None or _counts_distinct(promise):
        return None
    one_in = promise.parameters[parameter]
    exact = fraction_of(one_in)
    if exact is None or exact < 1:
        raise ParameterError(f"The '{parameter}' parameter of {promise.name} must be a number of at least 1.")
    return 1 / exact


def _counts_distinct(promise: Promised) -> bool:
    """Whether a promise about the whole history counts values; otherwise it bounds their probability."""
    if promise.name != HISTORY:
        return False
    diversity = promise.parameters.get("diversity", "distinct")
    if diversity not in ("distinct", "share"):
        raise ParameterError(f"The 'diversity' parameter of {HISTORY} must be 'distinct' or 'share'.")
    return diversity == "distinct"


def _whole(promises: Iterable[Promised], name: str, parameter: str) -> list[int]:
    found = []
    for promise in promises:
        if promise.name == name:
            number = promise.parameters[parameter]
            if not isinstance(number, Integral):
                raise ParameterError(f"The '{parameter}' parameter of {name} must be a whole number.")
            found.append(int(number))
    return found
