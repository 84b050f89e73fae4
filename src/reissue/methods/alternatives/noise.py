"""Whole-number noise with the distribution of a discrete Laplace variable, exactly.

P(k) is proportional to exp(-|k| / scale). Canonne, Kamath & Steinke, The discrete Gaussian for differential privacy
(2020), Algorithms 1 and 2: nothing but whole random numbers and fractions goes in, so that no rounding betrays what
the noise was added to.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from reissue.arrays.types import Ints


def discrete_laplace(scale: Fraction, size: int, rng: np.random.Generator) -> Ints:
    """So many independent draws of noise with this scale."""
    draws = _Draws(rng)
    return np.array([draws.laplace(scale) for _ in range(size)], dtype=np.int64)


class _Draws:
    """Exact draws from a generator of random words."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def below(self, bound: int) -> int:
        """A whole number from 0 up to, not including, a bound, all equally likely."""
        bits = (bound - 1).bit_length()
        while True:
            words = self._rng.integers(0, 1 << 32, size=max(1, -(-bits // 32)), dtype=np.uint64)
            number = 0
            for word in words.tolist():
                number = number << 32 | word
            number &= (1 << bits) - 1
            if number < bound:
                return number

    def happens(self, probability: Fraction) -> bool:
        """True with this probability."""
        return self.below(probability.denominator) < probability.numerator

    def decays(self, by: Fraction) -> bool:
        """True with probability exp(-by), for `by` from 0 to 1 (Algorithm 1)."""
        count = 1
        while self.happens(by / count):
            count += 1
        return count % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        """A draw of discrete Laplace noise (Algorithm 2)."""
        whole, parts = scale.numerator, scale.denominator
        while True:
            low = self.below(whole)
            if not self.decays(Fraction(low, whole)):
                continue
            high = 0
            while self.decays(Fraction(1)):
                high += 1
            size = (low + whole * high) // parts
            negative = bool(self.below(2))
            if not (negative and size == 0):
                return -size if negative else size
