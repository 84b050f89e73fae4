"""Renewal: when somebody whose value may have been redrawn gets a new set, and which.

Between releases a value is redrawn from the reference shares p with chance c. A set lives as long as no redraw
happened: whoever's value changed gets a new one, and whoever's did not gets one with the chance that it was redrawn and
came out the same. So sets show when redraws happened and nothing else, and each is drawn given a value fresh from p.

    last              the release that somebody was last published in
    c_j, p_j          rate and shares of the step into release j, for the releases after `last` up to this one
    w_j               c_j prod_{i>j} (1 - c_i), the chance that the last redraw was in step j
    coin              sum w_j p_j(v) / (prod (1 - c_j) + sum w_j p_j(v)); with one step c p(v) / (1 - c + c p(v))
    the set           version j with odds w_j p_j(v), then a set of that version's design given v

Of version and set together (j, S) the chance is w_j p_j(v) P_j(S | v) = w_j P_j(S) slots(v) / m, the same for every v
in S. A version chosen with odds w_j alone would weigh v by p(v) / p_j(v), which is not; a design made of the mixture
sum w_j p_j itself is right as well, and needed where there are permanent values.

*Permanent values* W are never lost: a redraw leaves them as they are. The bell of a redraw rings for everybody alike.
The set after it holds all permanent values K of the set before it, and m - |K| others, drawn by the shares of the
values outside K (none is then above 1 / (m - |K|), as none was above 1/m): given the value, if it is outside K, else
given nothing. So the new set says nothing about whether the value is in K, and outside K all are equally likely:

    P(w) -> P(w) + (1 - P(K)) p(w) for w in K        (1 - P(K)) (1 - p(K)) / (m - |K|) <= 1/m for each other value

at each ring. With one permanent value in the set that is P(w) = 1 - (1 - 1/m)(1 - p(w))^r after r rings, with several
less. It is nothing that sets tell: anybody may have caught it. Over a longer absence several bells may have rung; then

    a_j = c_j prod_{i<j} (1 - c_i p_i(W)) prod_{i>j} (1 - c_i)   takes the place of w_j for values that can be lost,
    b_j = c_j prod_{i<j} (1 - c_i p_i(W))                        for permanent ones, which later redraws leave,

and those outside K are drawn by the shares h = sum a_j p_j, or sum b_j p_j for permanent values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import InternalError, ParameterError


@dataclass(frozen=True)
class Gaps:
    """What may have happened since people were last published: one row for each gap."""

    shares: Floats
    """(versions, values): p_j(v)."""
    permanent: Bools | None
    """Which values are permanent; None if none is."""
    kept: Floats
    """The chance that nothing was redrawn, by gap: prod (1 - c_j)."""
    moving: Floats
    """(gaps, versions): what multiplies p_j(v) in the chance that v, which can be lost, was redrawn: w_j, or a_j."""
    staying: Floats
    """(gaps, versions): the same for a permanent value: b_j."""

    def redrawn(self, gap: Ints, values: Ints) -> Floats:
        """h(v): the chance that somebody who had none of the permanent values was redrawn and now has value v."""
        of_value = self.shares[:, values].T
        chance: Floats = (self.moving[gap] * of_value).sum(axis=1)
        if self.permanent is None:
            return chance
        return np.where(self.permanent[values], (self.staying[gap] * of_value).sum(axis=1), chance)

    def law(self, gap: int) -> Floats:
        """h as shares that add up to 1: what new sets are drawn by where there are permanent values."""
        every = np.arange(self.shares.shape[1])
        chance = self.redrawn(np.full(every.size, gap), every)
        return np.asarray(chance / chance.sum())

    def coin(self, gap: Ints, values: Ints) -> Floats:
        """The chance of a new set for people whose value did not change.

        Somebody with a permanent value hears the bell as often as all others: 1 - prod (1 - c_j).
        """
        chance = self.redrawn(gap, values)
        with np.errstate(invalid="ignore"):  # a value without a share, where everything was redrawn for certain
            coin = np.nan_to_num(chance / (self.kept[gap] + chance))
        return coin if self.permanent is None else np.where(self.permanent[values], 1 - self.kept[gap], coin)

    def odds(self, gap: Ints, values: Ints) -> Floats:
        """(people, versions): the version that a new set is drawn from, given the value; rows add up to 1."""
        weights = self.moving[gap] * self.shares[:, values].T
        total = weights.sum(axis=1, keepdims=True)
        if (total <= 0).any():
            raise InternalError("Somebody has a value that had no share in any version that it can come from.")
        return np.asarray(weights / total)


def gaps(
    rates: Floats, versions: Ints, shares: Floats, last: Ints, now: Ints | int, permanent: Bools | None = None
) -> Gaps:
    """Gaps from release `last` to release `now`, both counted from 0 and `last` before `now`.

    `rates` and `versions` say for each release the chance of a redraw in the step into it, and which of the `shares`
    it is from.
    """
    last, now = np.broadcast_arrays(last, now)
    kept = np.ones(last.size)
    moving, staying = np.zeros((last.size, len(shares))), np.zeros((last.size, len(shares)))
    held = np.zeros(len(shares)) if permanent is None else shares[:, permanent].sum(axis=1)
    for step in range(int(last.min(initial=0)) + 1, int(now.max(initial=0)) + 1):
        inside = (last < step) & (step <= now)
        rate, version = rates[step], versions[step]
        # Whoever caught a permanent value is out: 1 - sum b_i p_i(W) is prod_{i<j} (1 - c_i p_i(W)).
        free = 1 - staying[inside] @ held
        moving[inside] *= 1 - rate
        moving[inside, version] += rate * free
        staying[inside, version] += rate * free
        kept[inside] *= 1 - rate
    return Gaps(shares, permanent, kept, moving, staying)


def renewed(before: Ints, values: Ints, coin: Floats, uniform: Floats) -> Bools:
    """Who gets a new set: those whose value changed, and of the others whom the coin says."""
    return np.asarray((before != values) | (uniform < coin))


def chosen_version(odds: Floats, uniform: Floats) -> Ints:
    """One version each, with these odds."""
    total = np.cumsum(odds, axis=1)
    chosen = (total < (uniform * total[:, -1])[:, None]).sum(axis=1)
    return np.asarray(np.minimum(chosen, odds.shape[1] - 1), dtype=np.int64)


def carried(sets: Ints, permanent: Bools) -> Ints:
    """K: the permanent values of each set, which stand in all later ones; -1 for the places of others."""
    return np.where((sets >= 0) & permanent[sets], sets, -1)


def outside(shares: Floats, kept: Ints) -> Floats:
    """The shares that the values beside K are drawn by: 0 within K (codes, -1 for none), the others adding up to 1."""
    rest = shares.copy()
    rest[kept[kept >= 0]] = 0
    return np.asarray(rest / rest.sum())


def carried_on(law: Floats, kept: Ints, m: int) -> tuple[Ints, Floats]:
    """K with values that are too likely to be left out, and the shares that the others of m are drawn by.

    After a long absence somebody has caught a permanent value with a chance above 1/m. It then stands in every new set,
    as those of K do: that it does tells nothing, and the others stay below 1/m.
    """
    while True:
        rest = outside(law, kept)
        over = np.flatnonzero(rest * (m - kept.size) > 1 + 1e-12)
        if not over.size:
            return kept, rest
        kept = np.union1d(kept, over)


def caught(share: float, m: int, renewals: int, start: float | None = None) -> float:
    """P(w) after so many renewals at most: 1 - (1 - 1/m)(1 - p(w))^r, or from another `start` than 1/m."""
    return 1 - (1 - (1 / m if start is None else start)) * (1 - share) ** renewals


def start_within(share: float, m: int, renewals: int) -> float:
    """Where P(w) has to start to stay within 1/m through so many renewals: 1 - (1 - 1/m) / (1 - p(w))^R.

    A value that starts below 1/m leaves more than 1/m to the m - 1 others of its set; so it has to be one more beside m
    others, which then have (1 - start)/m each. It stands in the sets of its own people and of so many others that they
    are a share of `start`: chance p(w)/start of being in a set, which is only there while start >= p(w).
    """
    start = 1 - (1 - 1 / m) / (1 - share) ** renewals
    if start < share:
        raise ParameterError(
            f"A permanent value with a share of {share:.3g} cannot stay within 1/{m} through {renewals} renewals.",
            hint=f"at most {most_renewals(share, m)}, or raise the limit of this value.",
        )
    return start


def most_renewals(share: float, m: int) -> int:
    """Through how many renewals a permanent value can stay within 1/m: while (1 - p(w))^(R + 1) >= 1 - 1/m."""
    return max(0, int(np.floor(np.log1p(-1 / m) / np.log1p(-share) + 1e-9)) - 1)
