"""Tracking: what a person's published sets say of their value at each time, under any model of how values change.

The hidden state at a release is which value of the set is the true one. From one release of a person to the next

    weight(v -> v') = T'(v, v') x the mechanism's chance of the next set, given v, v' and the set before,

with T' whatever the adversary takes for the chain. Forward and backward sums over it give every posterior exactly, in
O(releases x m^2) for a person. Releases that somebody is missing from let T' work once more.

    kept or new sets    v' != v: D(v')    v' = v: coin(v) D(v) + (1 - coin(v)) if the set is the one before
                        with D(v) = P(set | v) when it is new, and the coin of the declared change
    linked lives        J / T(x_i, x'_i) for the true life i, with J the chance of all moves: J falls out, and what is
                        left is a product over the releases

With T' and the first law as declared, every value of every set comes out at its slots / m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import InternalError
from reissue.reasoning.alternatives.renewing import Gaps, gaps

CELLS = 1 << 21
"""So many weights are held at once."""


class Chain(Protocol):
    """How the adversary takes values to move from one release to a later one."""

    def __call__(self, old: Ints, new: Ints, since: Ints, now: Ints) -> Floats:
        """T'(old, new) over the steps from release `since` to release `now`, for arrays that broadcast."""
        ...


class TableChain:
    """A chain as one table, the same for every step."""

    def __init__(self, table: Floats) -> None:
        self._powers = np.stack([np.eye(len(table)), table])

    def __call__(self, old: Ints, new: Ints, since: Ints, now: Ints) -> Floats:
        """The chances of the power that the steps ask for."""
        steps = now - since
        while len(self._powers) <= steps.max(initial=0):
            self._powers = np.concatenate([self._powers, self._powers[-1:] @ self._powers[1]])
        return np.asarray(self._powers[steps, old, new])


@dataclass(frozen=True)
class RenewalChain:
    """Values that are redrawn from shares, with the rate and the version of each release; without a table of V x V."""

    rates: Floats
    versions: Ints
    shares: Floats
    """(versions, values)"""

    @cached_property
    def _passed(self) -> Gaps:
        """The gaps between any two releases, number since x releases + now; nothing passed where since is now."""
        since, now = np.divmod(np.arange(self.rates.size**2), self.rates.size)
        return gaps(self.rates, self.versions, self.shares, since, now)

    def __call__(self, old: Ints, new: Ints, since: Ints, now: Ints) -> Floats:
        """Kept, or redrawn and now the new one."""
        which = since * self.rates.size + now
        redrawn = sum(self._passed.moving[which, j] * self.shares[j][new] for j in range(len(self.shares)))
        return np.asarray(redrawn + np.where(old == new, self._passed.kept[which], 0.0))


@dataclass(frozen=True)
class Tracked:
    """What the sets say, row by row of them."""

    posterior: Floats
    """P(this value of the set is the true one | all sets of the person), 0 where there is no value."""
    log_likelihood: Floats
    """By person: the logarithm of the chance of all their sets, up to what no value and no T' changes."""


def tracked(
    starts: Ints, releases: Ints, sets: Ints, drawn: Floats, coin: Floats, chain: Chain, first: Floats
) -> Tracked:
    """Posteriors for people whose rows stand one after the other, from `starts[i]` to before `starts[i + 1]`.

    `releases` counts from 0 and rises within a person; `sets` has the different values of a row (`distinct`).
    `drawn` is log P(set | value) of a new set and `coin` the chance of one for a value that stayed, both place by place
    (`static_emission`, `renewal_emission`, `carried_drawn`). `first` is the law of a person's first value: (values,) or
    (releases, values).
    """
    posterior = np.zeros(sets.shape)
    log_likelihood = np.zeros(starts.size - 1)
    lengths = np.diff(starts)
    model = _Model(releases, sets, drawn, coin, chain, np.atleast_2d(first))
    at_once = max(1, CELLS // max(1, sets.shape[1] ** 2))
    # People with equally many releases go together, so that no step has to ask who is still there.
    order = np.argsort(lengths, kind="stable")
    bounds = np.flatnonzero(np.diff(lengths[order], prepend=-1, append=-1))
    for begin, end in pairwise(bounds):
        for at in range(begin, end, at_once):
            people = order[at : min(at + at_once, end)]
            rows = starts[people][:, None] + np.arange(lengths[people[0]])
            if rows.size:
                posterior[rows], log_likelihood[people] = model.smoothed(rows)
    return Tracked(posterior, log_likelihood)


@dataclass(frozen=True)
class _Model:
    releases: Ints
    sets: Ints
    drawn: Floats
    coin: Floats
    chain: Chain
    first: Floats

    def smoothed(self, rows: Ints) -> tuple[Floats, Floats]:
        """Forward and backward over people with equally many rows."""
        people, length = rows.shape
        ahead = np.empty((people, length, self.sets.shape[1]))
        total = np.zeros(people)
        for step in range(length):
            if step == 0:
                weights, scale = self._first(rows[:, 0])
            else:
                moves, scale = self._moves(rows[:, step - 1], rows[:, step])
                weights = np.einsum("ni,nij->nj", ahead[:, step - 1], moves)
            sums = weights.sum(axis=1)
            if (sums <= 0).any():
                raise InternalError("Some sets cannot come from the declared mechanism under this model of change.")
            ahead[:, step] = weights / sums[:, None]
            total += np.log(sums) + scale
        behind = np.ones((people, self.sets.shape[1]))
        for step in range(length - 1, 0, -1):
            ahead[:, step] *= behind
            moves, _ = self._moves(rows[:, step - 1], rows[:, step])
            behind = np.einsum("nij,nj->ni", moves, behind)
            behind /= behind.max(axis=1, keepdims=True)
        ahead[:, 0] *= behind
        return ahead / ahead.sum(axis=2, keepdims=True), total

    def _first(self, rows: Ints) -> tuple[Floats, Floats]:
        sets = self.sets[rows]
        release = self.releases[rows] if len(self.first) > 1 else np.zeros(rows.size, np.int64)
        drawn, scale = _scaled(self.drawn[rows], sets >= 0, np.zeros(rows.size, np.bool_))
        return self.first[release[:, None], sets] * drawn, scale

    def _moves(self, before: Ints, after: Ints) -> tuple[Floats, Floats]:
        old, new, coin = self.sets[before], self.sets[after], self.coin[after][:, None, :]
        since, now = self.releases[before][:, None, None], self.releases[after][:, None, None]
        same = (old == new).all(axis=1)
        drawn, scale = _scaled(self.drawn[after], new >= 0, same)
        drawn = drawn[:, None, :]
        chance = np.where(old[:, :, None] == new[:, None, :], coin * drawn + (1 - coin) * same[:, None, None], drawn)
        there = (old >= 0)[:, :, None] & (new >= 0)[:, None, :]
        moves = self.chain(old[:, :, None], new[:, None, :], since, now)
        return np.where(there, moves * chance, 0.0), scale


def _scaled(drawn: Floats, there: Bools, same: Bools) -> tuple[Floats, Floats]:
    """Chances from logarithms; where the set is new for certain, relative to the largest, as they may be tiny."""
    logs = np.where(there, drawn, -np.inf)
    top = logs.max(axis=1)
    scale = np.where(same | ~np.isfinite(top), 0.0, top)
    return np.exp(logs - scale[:, None]), scale


def distinct(sets: Ints) -> Ints:
    """Sets with one place for each value: ascending, and -1 where a value with several slots stands once more."""
    ascending = np.sort(sets, axis=1)
    ascending[:, 1:][ascending[:, 1:] == ascending[:, :-1]] = -1
    return ascending


def static_emission(log_set: Floats, sets: Ints, m: int, shares: Floats, slots: Ints) -> tuple[Floats, Floats]:
    """(drawn, coin) where sets stay: log P(S | v) = log P(S) slots(v) / (m p(v)), and no coin for those who stay.

    A new set is one of somebody whose value changed, if such a mechanism was run: renewed on change only.
    """
    with np.errstate(divide="ignore"):
        drawn = log_set[:, None] + np.log(slots[sets] / (m * shares[sets]))
    return drawn, np.zeros(sets.shape)


@dataclass(frozen=True)
class Declared:
    """What was declared for each release: the rate of the step into it, and designs by version."""

    rates: Floats
    versions: Ints
    shares: Floats
    """(versions, values)"""
    slots: Ints
    """(versions, values)"""
    m: int

    def chain(self) -> RenewalChain:
        """The declared model of change."""
        return RenewalChain(self.rates, self.versions, self.shares)

    def first(self) -> Floats:
        """The declared law of the value of somebody who comes in a release."""
        return self.shares[self.versions]


def renewal_emission(
    starts: Ints, releases: Ints, sets: Ints, log_sets: Floats, declared: Declared
) -> tuple[Floats, Floats]:
    """(drawn, coin) where sets are renewed; `log_sets` has log P_j(S) by row and version, -inf where it cannot be.

    A first set is of the version in force. A later one is of version j with odds w_j p_j(v), so that
    P(S | v) = sum_j w_j P_j(S) slots_j(v) / m over sum_j w_j p_j(v).
    """
    opening = np.zeros(releases.size, np.bool_)
    opening[starts[:-1][np.diff(starts) > 0]] = True
    before = np.where(opening, releases - 1, np.roll(releases, 1))
    pairs, which = _pairs(before, releases)
    rates, versions = np.r_[0.0, declared.rates], np.r_[0, declared.versions]  # from the release before the first
    passed = gaps(rates, versions, declared.shares, pairs[:, 0] + 1, pairs[:, 1] + 1)
    weights = np.where(
        opening[:, None], np.eye(len(declared.shares))[declared.versions[releases]], passed.moving[which]
    )
    kept = np.where(opening, 0.0, passed.kept[which])
    top = log_sets.max(axis=1, keepdims=True)
    relative = weights * np.exp(log_sets - top) / declared.m
    drawn = np.einsum("nj,jnk->nk", relative, declared.slots[:, sets])
    redrawn = np.einsum("nj,jnk->nk", weights, declared.shares[:, sets])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(drawn / redrawn) + top, np.nan_to_num(redrawn / (kept[:, None] + redrawn))


def carried_drawn(log_rest: Floats, inside: Bools, law: Floats, left: Ints, slots: Ints) -> Floats:
    """`drawn` of sets that carry permanent values: those of the set before, K, and others drawn by `law` outside K.

    By row log P(the others) and how many slots K leaves; by place whether the value is in K, its share outside K
    (`renewing.outside`), and its slots. The others are drawn given the value if it is outside K, else given nothing.
    """
    with np.errstate(divide="ignore"):
        given = np.log(slots / (np.maximum(left, 1)[:, None] * law))
    return np.asarray(log_rest[:, None] + np.where(inside, 0.0, given))


def linked_posterior(
    starts: Ints, releases: Ints, lives: Ints, declared: Chain, shares: Floats, chain: Chain, first: Floats
) -> Floats:
    """P(life i is the true one | all lives), by person: (people, m). It is the same at every time.

    `lives` has the m values of a row in the order of the lives. It is the product of first(x_i) / p(x_i) and of
    T'(x_i, x'_i) / T(x_i, x'_i) over the releases, since T J / T has nothing of the true life in it.
    """
    opening = np.zeros(releases.size, np.bool_)
    opening[starts[:-1][np.diff(starts) > 0]] = True
    before = np.where(opening, np.arange(releases.size), np.arange(releases.size) - 1)
    since, now = releases[before][:, None], releases[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.log(chain(lives[before], lives, since, now)) - np.log(declared(lives[before], lives, since, now))
        ratios = np.where(opening[:, None], np.log(first[lives] / shares[lives]), moved)
    logs = np.add.reduceat(ratios, starts[:-1], axis=0)
    top = logs.max(axis=1, keepdims=True)
    if not np.isfinite(top).all():
        raise InternalError("Some lives are impossible under this model of change.")
    weights = np.exp(logs - top)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _pairs(since: Ints, now: Ints) -> tuple[Ints, Ints]:
    """The different pairs of releases, and for each place its pair."""
    since, now = np.broadcast_arrays(since, now)
    base = int(now.max(initial=0)) + 2
    different, which = np.unique((since + 1) * base + now, return_inverse=True)
    return np.stack([different // base - 1, different % base], axis=1), which.reshape(since.shape)
