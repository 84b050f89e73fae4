"""How likely compromised tuples and historical correlations restrict somebody's values, in closed form.

Riboni & Bettini 2009, Section 3, for series that are m-invariant:

    p     the probability of a tuple to be compromised
    L     how often a tuple is published at most
    m     the level of (weak) m-invariance
    n     the least size of sets of people that a historical correlation ties together
    h     the probability of a privacy breach to stay below
"""

from __future__ import annotations

from typing import overload

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import ParameterError

Reals = float | Floats
Wholes = int | Ints


@overload
def p_ct(p: float, L: int) -> float: ...
@overload
def p_ct(p: Reals, L: Wholes) -> Reals: ...
def p_ct(p: Reals, L: Wholes) -> Reals:  # Lemma 1
    """The probability that a value is ruled out because all tuples that have it in a group are compromised."""
    _check("p_ct", p=p, L=L)
    return _plain(-np.expm1(_log_kept(p, L)))


@overload
def p_hc(p: float, L: int, m: int, n: int) -> float: ...
@overload
def p_hc(p: Reals, L: Wholes, m: Wholes, n: Wholes) -> Reals: ...
def p_hc(p: Reals, L: Wholes, m: Wholes, n: Wholes) -> Reals:  # Lemma 2
    """The probability that a value is ruled out by historical correlations between sets of at least n people."""
    _check("p_hc", p=p, L=L, m=m, n=n)
    return _plain(-np.expm1(_log_uncorrelated(p, L, m, n)))


@overload
def p_pb(p: float, L: int, m: int, n: int) -> float: ...
@overload
def p_pb(p: Reals, L: Wholes, m: Wholes, n: Wholes) -> Reals: ...
def p_pb(p: Reals, L: Wholes, m: Wholes, n: Wholes) -> Reals:  # Theorem 2
    """The probability of a privacy breach: that all values but one are ruled out by either of them."""
    _check("p_pb", p=p, L=L, m=m, n=n)
    return _plain((-np.expm1(_log_kept(p, L) + _log_uncorrelated(p, L, m, n))) ** (np.asarray(m) - 1))


def n_choose(p: float, L: int, m: int, h: float) -> int | None:  # Figure 3
    """The smallest n of at most m for which the probability of a privacy breach is below h; None if there is none."""
    _check("n_choose", p=p, L=L, m=m, h=h)
    # One by one: powers of arrays may differ from those of single numbers in the last digit.
    return next((n for n in range(1, m + 1) if p_pb(p, L, m, n) < h), None)


def _log_kept(p: Reals, L: Wholes) -> Floats:
    """The logarithm of (1 - p)^L."""
    with np.errstate(divide="ignore"):  # p = 1: the logarithm of 0 is the right limit
        return np.asarray(L) * np.log1p(-np.asarray(p, dtype=np.float64))


def _log_uncorrelated(p: Reals, L: Wholes, m: Wholes, n: Wholes) -> Floats:
    """The logarithm of (1 - (p - p/m)^n)^(L floor(m/n)); p - p/m is below 1 whatever m."""
    every = np.asarray(p, dtype=np.float64) * (1 - 1 / np.asarray(m, dtype=np.float64))
    logarithm: Floats = np.asarray(L) * (np.asarray(m) // np.asarray(n)) * np.log1p(-(every ** np.asarray(n)))
    return logarithm


def _plain(figure: Floats) -> Reals:
    return float(figure) if figure.ndim == 0 else figure


def _check(function: str, **parameters: Reals | Wholes) -> None:
    problems = []
    for name, given in parameters.items():
        figures = np.asarray(given)
        if name in "ph":
            low = "above 0 and" if name == "h" else "of at least 0 and"
            fits = figures.dtype.kind in "fiu" and bool(np.all((figures >= 0) & (figures <= 1)))
            fits = fits and not (name == "h" and bool(np.any(figures == 0)))
            must = f"a number {low} at most 1"
        else:
            fits = figures.dtype.kind in "iu" and bool(np.all(figures >= 1))
            must = "a whole number of at least 1"
        if not fits:
            got = given if np.ndim(given) == 0 else "others"
            problems.append(f"The '{name}' parameter of {function} must be {must}. Got {got} instead.")
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{function} was given parameters out of their range.", problems=problems)
