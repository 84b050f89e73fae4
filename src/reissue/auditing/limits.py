"""How much may be learnt: from a number the caller gives, or from what a method promised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from numbers import Real

from reissue.arrays.exact import probability_of
from reissue.attacks import proving
from reissue.attacks.base import Attack, Limits, can_prove
from reissue.errors import ParameterError
from reissue.model.promise import Promise, Promising, promise_of
from reissue.model.published import Published

ACCEPTABLE = ("undecided", "sampled")
"""What may pass by name although nothing is proven."""


def limits_of(
    limit: float | Fraction | str | None, promises: Iterable[Promise | Promising] = (), *, releases: int | None = None
) -> Limits:
    """The limits to judge by. A probability that is given goes before the promised ones, of which the least counts.

    Where none is given or promised, but a number of values, values are counted and nothing is said of probabilities.
    `releases` is how many there are, where that is known: with a single one, pairs of releases are not all there is.
    """
    bounds = [promise_of(promise).bounds for promise in promises]
    equivalence = max((one.equivalence for one in bounds if one.equivalence is not None), default=None)
    correlation = max((one.correlation for one in bounds if one.correlation is not None), default=None)
    alone = [one.alone for one in bounds if one.alone is not None]
    pairs = [one.pairs for one in bounds if one.pairs is not None]
    history = [one.history for one in bounds if one.history is not None]
    counted = [*alone, *pairs, *history]
    shares = [one.value for one in bounds if one.value is not None]
    # What is promised of protected sets says nothing about the values outside them, and is about each release alone.
    of_sets = [one.protected for one in bounds if one.protected is not None]
    credibility = min(of_sets, default=None) if limit is None else None
    columns = _columns([pair for one in bounds for pair in one.columns])
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
        return Limits(None, equivalence, diversity, max(asked, default=None), correlation, credibility, columns)
    probability = min(shares) if limit is None else exact_limit(limit)
    # Where fewer than 1/p values are left for somebody, the likeliest of them has a probability of more than p.
    needed = -(-probability.denominator // probability.numerator)
    together = max(history, default=None) if limit is None else None
    diversity = max(counted, default=needed) if limit is None else max([*counted, needed])
    return Limits(probability, equivalence, diversity, together, correlation, credibility, columns)


def _columns(promised: list[tuple[str, Fraction | None]]) -> tuple[tuple[str, Fraction | None], ...] | None:
    """The least that was promised of each column; None where no column was spoken of."""
    found: dict[str, Fraction | None] = {}
    for name, limit in promised:
        before = found.get(name)
        found[name] = limit if before is None or (limit is not None and limit < before) else before
    return tuple(found.items()) or None


def with_columns(limits: Limits, published: Published) -> Limits:
    """The limits with those of each column, where several are sensitive: what was promised, or as for any value."""
    if not published.columns:
        return replace(limits, columns=None)
    promised = dict(limits.columns or ())
    every = {one.name: promised.get(one.name, limits.probability) for one in published.columns}
    return replace(limits, columns=tuple(every.items()))


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


def lacking(
    able: Iterable[Attack | type[Attack]], limits: Limits, *, permanent: bool = False, sets: bool = False
) -> tuple[str, ...]:
    """The limits that none of these attacks can prove to be kept.

    The number of values by any two releases needs a proof of its own where more is asked of them than of all releases
    together, and protected sets where less is allowed for them than for a value. Where all but `permanent` values may
    change, an attack that takes values to be static proves nothing; and where releases show `sets` of values, only one
    that is made for them does.
    """
    wanted = [name for name in ("probability", "history_diversity", "columns") if getattr(limits, name) is not None]
    if limits.probability is None and (limits.diversity or 0) > (limits.history_diversity or 0):
        wanted.append("diversity")
    if limits.credibility is not None and (limits.probability is None or limits.credibility < limits.probability):
        wanted.append("credibility")
    proven = {limit for kind in able if can_prove(kind, permanent=permanent, sets=sets) for limit in kind.proves}
    return tuple(name for name in wanted if name not in proven)


_OPEN = {
    "probability": "the probability of a value was not bounded",
    "history_diversity": "how many values are possible for everybody was not proven",
    "diversity": "how many values any two releases leave was not proven",
    "credibility": "the probability of a protected set was not bounded",
    "columns": "the probability of a value of a single column was not bounded",
}
"""What is not known where a limit is not proven to be kept."""


def what_is_open(unproven: Iterable[str], *, permanent: bool = False, sets: bool = False) -> str:
    """What is not proven for want of attacks, in words."""
    needed = {limit: proving(limit, permanent=permanent, sets=sets) for limit in unproven}
    return ", and ".join(f"{_OPEN[limit]}, because {attack} was not run" for limit, attack in needed.items())
