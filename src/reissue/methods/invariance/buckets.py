"""Phases one to three of m-invariance: division, balancing, assignment (Xiao & Tao 2007; He et al., section III).

A bucket holds all tuples of one signature. What goes where is decided on counts, one for each *slot*, that
is, for each value of each bucket; then rows are moved once.

| paper                  | here                                                                    |
|------------------------|-------------------------------------------------------------------------|
| signature, bucket      | a run of slots                                                          |
| division               | `Round.divide`: the rows of people published before, by slot            |
| balancing              | `BucketCounts.balance`                                                       |
| assignment             | `BucketCounts.assign`                                                        |
| counterfeit            | `kept` (one of the release before stays) or `made`                      |

Differs from the paper: a person who returns keeps the signature of before, and so does one whose value has
changed within it: forgetting it would let the two signatures be compared. Which arrivals are used for
balancing is decided for all buckets together (`counts.most_taken`). Arrivals that remain join the buckets there are as
far as they can (`counts.joining`), and form new ones only for the rest: in the paper every release makes about a dozen
new signatures, and since a small bucket hardly ever loses height, over hundreds of releases a table falls apart into
buckets of a few people and mostly counterfeits. When there are many small ones already, what is left is put into
existing ones with counterfeits beside it (`counts.covering`): they are gone with the next release or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from reissue.arrays.runs import starts_of
from reissue.arrays.types import Bools, Ints
from reissue.methods.invariance.counts import (
    ValueShare,
    assignment,
    completed,
    covering,
    joining,
    most_taken,
    roomy_assignment,
)
from reissue.methods.invariance.value_space import SignatureNumbers

Number = TypeVar("Number", bound=np.generic)

MANY, MOST = 64, 320
CROWD = 15
"""No new buckets are made, where it can be helped, from MANY on with fewer than CROWD * m tuples each, and from MOST
on. Found by trying: more buckets cost more counterfeits later, fewer cost more now."""
LEFT = 0.25
"""Unless more than this share of a batch would have to go to them."""


@dataclass
class BucketCounts:
    """What every slot holds, on counts; built up phase by phase."""

    m: int
    values: int
    """How many sensitive values there are."""
    signature: Ints
    """For each slot the number of its bucket's signature; slots of a bucket stand together."""
    value: Ints
    """For each slot its value."""
    real: Ints
    """People of earlier releases."""
    arrivals: Ints
    """For each value how many arrivals there are that have no place yet."""
    before: Ints = field(init=False)
    """Counterfeits of the release before."""
    fresh: Ints = field(init=False)
    """Arrivals that go to each slot."""
    kept: Ints = field(init=False)
    """Counterfeits of the release before that stay."""
    made: Ints = field(init=False)
    """New counterfeits."""

    def __post_init__(self) -> None:
        self.before, self.fresh, self.kept, self.made = (np.zeros_like(self.real) for _ in range(4))
        self._batch = int(self.arrivals.sum())
        self._starts = self.signature, _first_of_each(self.signature)

    @property
    def starts(self) -> Ints:
        """The first slot of each bucket."""
        if self._starts[0] is not self.signature:
            self._starts = self.signature, _first_of_each(self.signature)
        return self._starts[1]

    @property
    def holding(self) -> Ints:
        """How many tuples each slot has so far."""
        return self.real + self.fresh + self.kept + self.made

    def per_bucket(self, numbers: Ints) -> Ints:
        """Sums over the slots of each bucket."""
        return np.add.reduceat(numbers, self.starts) if numbers.size else numbers

    def spread(self, numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """A number of each bucket, for each of its slots."""
        return np.repeat(numbers, np.diff(self.starts, append=self.signature.size))

    def first_slots(self) -> dict[int, int]:
        """The first slot of each bucket, by signature."""
        return dict(zip(self.signature[self.starts].tolist(), self.starts.tolist(), strict=True))

    def slots_from(self, signatures: Ints) -> Ints:
        """The first slot of the bucket of each of these signatures; -1 where there is no such bucket."""
        most = max(int(self.signature.max(initial=-1)), int(signatures.max(initial=-1)))
        first = np.full(most + 1, -1, dtype=np.int64)
        first[self.signature[self.starts]] = self.starts
        return first[signatures]

    def balance(self, unchanged: Bools | None = None) -> None:
        """Fill every slot up to the fullest of its bucket; buckets marked as unchanged stay as they were."""
        if not self.real.size:
            return
        height = self.spread(np.maximum.reduceat(self.real, self.starts))
        missing = height - self.real
        if unchanged is not None:
            # Nobody may have come or gone, and still a value may have changed.
            whole = self.real + self.before
            even = np.maximum.reduceat(whole, self.starts) == np.minimum.reduceat(whole, self.starts)
            still = self.spread((unchanged & even).astype(np.int64)) > 0
            self.kept[still] = self.before[still]
            missing[still] = 0
        self._fill(missing, self.before)

    def replace_kept(self, which: Bools) -> None:
        """In these buckets let new counterfeits take the place of old ones: as many rows, but more that change."""
        there = self.spread(which.astype(np.int64)) > 0
        self.made[there] += self.kept[there]
        self.kept[there] = 0

    def add_sets(self, sets: Ints) -> None:
        """Put so many tuples more into every slot of each bucket, arrivals first."""
        self._fill(self.spread(sets), np.zeros_like(self.before))

    def _fill(self, missing: Ints, spare: Ints) -> None:
        """Fill slots with arrivals, then with counterfeits that are there already, then with new ones."""
        wanted = np.bincount(self.value, weights=missing, minlength=self.values).astype(np.int64)
        taken = most_taken(self.arrivals, wanted, self.m)
        if taken is None:  # whatever is taken, the rest is not eligible
            taken = np.minimum(self.arrivals, wanted)
        # Where an old counterfeit would do, an arrival saves less than where a new one would have to be made.
        stays = np.minimum(missing, spare)
        fresh = _first_served(np.concatenate([self.value, self.value]), np.concatenate([missing - stays, stays]), taken)
        fresh = fresh[: missing.size] + fresh[missing.size :]
        kept = np.minimum(missing - fresh, spare)
        self.arrivals = self.arrivals - taken
        self.fresh += fresh
        self.kept += kept
        self.made += missing - fresh - kept

    def complete(self, familiar: Ints) -> Ints | None:
        """The counterfeits that would make the remaining arrivals m-eligible; None where none would."""
        return completed(self.arrivals, self.m, familiar)

    @property
    def crowded(self) -> bool:
        """Whether there are so many small buckets that a further one is better avoided.

        Not when much of the batch is left: then it is too unlike the buckets there are, and putting it into them would
        take many counterfeits.
        """
        buckets, left = self.starts.size, int(self.arrivals.sum())
        tuples = int(self.holding.sum()) + left
        many = buckets >= MOST or (buckets >= MANY and tuples < CROWD * self.m * (buckets + 1))
        return many and left <= LEFT * self._batch

    def join(self) -> None:
        """Let as many of the remaining arrivals as can join the buckets there are, a set for each, m-eligibly."""
        self._add(self.spread(joining(self.arrivals, self.m, self._existing())))

    def cover(self, *, partly: bool) -> None:
        """Put the remaining arrivals into the buckets there are, with counterfeits beside them.

        Those whose values are in no signature remain; unless `partly`, nothing is done where there are such.
        """
        existing = self._existing()
        each = covering(self.arrivals, existing, np.maximum.reduceat(self.holding, self.starts))
        if partly or (each @ existing >= self.arrivals).all():
            self._add(self.spread(each))

    def _existing(self) -> Bools:
        """For each bucket which values are in its signature."""
        existing = np.zeros((self.starts.size, self.values), dtype=np.bool_)
        existing[self.spread(np.arange(self.starts.size)), self.value] = True
        return existing

    def _add(self, wanted: Ints) -> None:
        """Fill so many places more of each slot with arrivals, and with counterfeits where there are no more."""
        fresh = _first_served(self.value, wanted, self.arrivals)
        self.fresh += fresh
        self.made += wanted - fresh
        self.arrivals = self.arrivals - np.bincount(self.value, weights=fresh, minlength=self.values).astype(np.int64)

    def assign(self, counterfeits: Ints, numbers: SignatureNumbers, least: int) -> None:
        """Divide the remaining arrivals, completed by counterfeits, into buckets of old and new signatures."""
        divide = assignment if least == 1 else roomy_assignment
        shares = divide(self.arrivals + counterfeits, self.m, least)
        if not shares:
            return
        self._add(self._place(shares, numbers))

    def _place(self, shares: Sequence[ValueShare], numbers: SignatureNumbers) -> Ints:
        """How many tuples the shares bring to each slot; slots for new signatures are added."""
        first = self.first_slots()
        size = self.signature.size
        signature, value = [self.signature], [self.value]
        for share in shares:
            number = numbers.number(share.values)
            if number not in first:
                first[number] = size
                signature.append(np.full(len(share.values), number, dtype=np.int64))
                value.append(numbers.order(number))
                size += len(share.values)
        added = size - self.signature.size
        self.signature, self.value = np.concatenate(signature), np.concatenate(value)
        for name in ("real", "before", "fresh", "kept", "made"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(added, dtype=np.int64)]))
        wanted = np.zeros(size, dtype=np.int64)
        for share in shares:
            start = first[numbers.number(share.values)]
            wanted[start : start + len(share.values)] += share.each
        return wanted


def _first_of_each(signature: Ints) -> Ints:
    """Where runs of equal signatures begin."""
    return np.flatnonzero(np.diff(signature, prepend=-1))


def _first_served(value: Ints, wanted: Ints, available: Ints) -> Ints:
    """Hand out what is available of each value to those who want it, in their order."""
    order = np.argsort(value, kind="stable")
    asked = starts_of(wanted[order])
    # What was asked for of smaller values does not count.
    first = np.searchsorted(value[order], np.arange(available.size))
    earlier = asked[:-1] - asked[first[value[order]]]
    served = np.empty_like(wanted)
    served[order] = np.clip(available[value[order]] - earlier, 0, wanted[order])
    return served
