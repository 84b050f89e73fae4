"""Whether linked lives move as the declared chain says: all of them together, given how the true one moved.

The law is drawn from with the mathematics that the method uses too (`reasoning/alternatives/linking.py`): judged is
whether a release follows it, not whether it is right, which brute force shows in the tests. Another law with the same
marginals would keep the promise as well, and is called wrong here: it is not the one that the method draws by.

That law has no formula, but anybody can draw from it. So the lives of people are moved once more, `AGAIN` times, given
the same true moves. If lives were drawn by the law, those that were published are as good as any of those drawn here:
whatever is counted of a person, if one knows the counts of all of them and not which is which, that of the published
ones is expected to be their mean. People are independent, so sums over people are judged by bounds that hold for any
number of them (`tail_bounds`). Counted is, person by person:

1. how many lives are at each value: a wrong chain, a wrong number of steps after an absence;
2. how many of those that were at a value are there still, value by value;
3. how many stay, of people whose true value stayed and of those whose value moved, and of those who were away;
4. how far from the true value, and from the one it was before, the lives are, counted in values; and, up to `MANY`
   values, at which value they are for each true one, now and before: decoys that follow the true one or avoid it;
5. at which place the true value goes on: an order that tells, or always the first of several lives at one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints, Words
from reissue.reasoning.alternatives.linking import moved_lives, possible, powers
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise

AGAIN = 3
"""So often lives are moved once more."""
LOOKED_AT = 20_000
"""So many people at most are looked at, evenly among all."""
MANY = 64
"""Up to so many values every pair of them is looked at by itself."""
COUNTED = (
    "times as many lives as there is room for are at a value",
    "times as many lives as there is room for stayed at a value",
    "times all lives of somebody stayed where they were",
    "times all lives are so far from the true value",
    "times all lives are so far from what the true value was before",
    "times the true value goes on at one place",
    "times as many lives as there is room for are at one value where the true one is another",
    "times as many lives as there is room for are at one value where the true one was another before",
)
"""What is counted, as it is told."""

Lives = npt.NDArray[np.integer]


@dataclass(frozen=True, repr=False)
class Moved:
    """Lives of people before and after a step, with their true values."""

    before: Lives
    """(people, m)"""
    after: Lives
    last: Ints
    """The true value before."""
    own: Ints
    """The true value now."""
    steps: Ints
    """How many steps of the chain lie between."""

    def only(self, chosen: Ints) -> Moved:
        """Of some people."""
        own, steps = self.own[chosen], self.steps[chosen]
        return Moved(self.before[chosen], self.after[chosen], self.last[chosen], own, steps)


def unlikely_moves(moved: Moved, table: Floats, room: Ints, error: float) -> list[str]:
    """What does not fit the chain, in words; a false alarm has a probability of at most `error`."""
    count = len(moved.before)
    some = moved.only(np.unique(np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(np.int64)))
    tables = powers(table, int(some.steps.max(initial=0)))
    at_true = some.before == some.last[:, None]
    some = some.only(np.flatnonzero(possible(some.last, some.own, tables, some.steps) & at_true.any(axis=1)))
    if not some.own.size:
        return []
    seen = _counts(some, some.after, room)
    drawn = [_counts(some, after, room) for after in _again(some, tables, room)]
    found = []
    for at, (what, people) in enumerate(zip(COUNTED, _people(some, room), strict=False)):
        expected = np.mean([seen[at], *(one[at] for one in drawn)], axis=0)
        surprises = surprise(seen[at], people, expected)
        if surprises.max() > allowed(error / len(COUNTED), expected.size):
            worst = int(np.argmax(surprises))
            found.append(
                f"Lives do not move as the chain says: {seen[at][worst]:,.1f} {what}, and "
                f"{expected[worst]:,.1f} are expected."
            )
    return found


def _kind(moved: Moved) -> Ints:
    """By person whether the true value stayed, and whether they were away."""
    return np.asarray(2 * (moved.steps > 1) + (moved.last == moved.own))


def _people(moved: Moved, room: Ints) -> list[Ints]:
    """Of how many people each count is."""
    every = moved.own.size
    size, m = room.size, moved.before.shape[1]
    found = [np.full(size, every), np.full(size, every), np.bincount(_kind(moved), minlength=4)]
    found += [np.full(size, every), np.full(size, every), np.full(m, every)]
    if size <= MANY:
        found += [np.repeat(np.bincount(true, minlength=size), size) for true in (moved.own, moved.last)]
    return found


def _counts(moved: Moved, after: Lives, room: Ints) -> list[Floats]:
    """What is counted, added up over people; of each person from 0 to 1."""
    size, (count, m) = room.size, after.shape
    stays = after == moved.before
    going = np.repeat(np.arange(count), m)
    lives = after.astype(np.int64)
    found = [
        np.bincount(lives.ravel(), minlength=size) / room,
        np.bincount(moved.before[stays], minlength=size) / room,
        np.bincount(_kind(moved), stays.mean(axis=1), minlength=4).astype(np.float64),
        *(
            np.bincount(((lives - true[:, None]) % size).ravel(), minlength=size) / m
            for true in (moved.own, moved.last)
        ),
        ((moved.before == moved.last[:, None]) & (after == moved.own[:, None])).sum(axis=0).astype(np.float64),
    ]
    if size <= MANY:
        found += [
            np.bincount(true[going] * size + lives.ravel(), minlength=size * size) / np.tile(room, size)
            for true in (moved.own, moved.last)
        ]
    return found


def _again(moved: Moved, tables: Floats, room: Ints) -> Iterator[Lives]:
    """Where lives might as well have gone. The words are anybody's: nothing of this is published."""
    rng = np.random.default_rng(0)
    count, m = moved.before.shape
    at_true = moved.before == moved.last[:, None]

    def words(rows: Ints, round_: int) -> Words:
        del round_
        return rng.integers(0, 2**64, (rows.size, 4 * m), dtype=np.uint64)

    for _ in range(AGAIN):
        true = np.argmax(at_true * (1 - rng.random((count, m))), axis=1)
        yield moved_lives(moved.before.astype(np.int64), true, moved.own, tables, moved.steps, room, words)
