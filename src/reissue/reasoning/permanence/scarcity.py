"""How sure somebody can be of a value of a person whose participation he knows (for Bu et al., Theorem 2).

The person is one of n registered in a group, and known to be in the release: so he has at least one of the values that
the group shows. A value that c people have is his with odds of c / (n - c) against not, if every way to give out the
values counts the same and nothing else is known. Let T be the product of 1 + those odds over the *other* values, that
is, of all ways in which he has or has not each of them; in T - 1 of them he has at least one. So his having the value
weighs o T against T - 1 for his not having it: odds of o T / (T - 1).

A permanent value he has from some release on in every one that he is in, or never. Against never, beginning with the
last release weighs those odds, with the one before their product, and so on: if none are above 1/l, the geometric
series is below 1/(l - 1), and the probability that he ever has it below 1/l.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats, Ints


def odds_if_present(sizes: Ints, group: Ints, counts: Ints, known: int) -> Floats:
    """For each value of each group the odds that somebody has it who is known to be in the release.

    `sizes` are the people registered in each group; entry by entry, `group` has a value `counts` times. Of the people
    whose participation is known, `known` in all, the others are taken to have none of these values.
    """
    others = np.maximum(sizes - known, 0)[group]
    left = others - counts + 1
    odds = np.full(counts.size, np.inf)
    np.divide(counts, left, out=odds, where=left > 0)
    least = np.log1p(counts / np.maximum(sizes[group] - counts, 1))
    every = np.bincount(group, weights=least, minlength=sizes.size)[group] - least
    # T / (T - 1) = 1 / (1 - 1/T); with no other value there is nothing else that he can have.
    some = -np.expm1(-np.maximum(every, 0.0))
    found = np.full(counts.size, np.inf)
    np.divide(odds, some, out=found, where=some > 1e-15)
    return found
