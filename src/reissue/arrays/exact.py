"""Numbers as exact fractions, so that 1/2 is not beyond 1/2."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from numbers import Rational, Real

FINEST = 1_000_000_000
ROUNDING = Fraction(1, 10**15)
"""A float stands for a fraction with a denominator up to `FINEST` that it is so near to: 1/3, 9/100."""


def fraction_of(number: object) -> Fraction | None:
    """The fraction that a number stands for; None where it is no finite number."""
    if isinstance(number, Rational) and not isinstance(number, bool):
        return Fraction(number)
    if isinstance(number, Real) and not isinstance(number, bool) and isfinite(number):
        exact = Fraction(float(number))
        near = exact.limit_denominator(FINEST)
        return near if abs(near - exact) <= ROUNDING else exact
    return None


def probability_of(given: object) -> Fraction | None:
    """The fraction that a number or a text such as "1/3" stands for; None where it is no probability above 0."""
    try:
        fraction = Fraction(given) if isinstance(given, str) else fraction_of(given)
    except (ValueError, ZeroDivisionError):
        return None
    return fraction if fraction is not None and 0 < fraction <= 1 else None
