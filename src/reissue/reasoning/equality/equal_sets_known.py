"""What equal sets say about people when the values of some are known."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np

from reissue.arrays.types import Ints
from reissue.errors import ParameterError
from reissue.reasoning.equality.equal_sets_search import Equalities


def certain_values(found: Equalities, members: Ints, values: Ints) -> dict[int, int]:
    """The members who must have a certain value, given those of some; these left out.

    Equal people have the known one's value. In a larger set, what is known is taken off both sides: if the unknown
    are all on one side then, and one value is left for them, they all have it.
    """
    known: dict[int, int] = {}
    waiting: deque[int] = deque()

    def learn(name: int, value: int) -> None:
        if known.setdefault(name, value) != value:
            raise ParameterError(
                "The values of compromised people contradict the releases: people with the same value would differ.",
                hint="check the compromised people; values are taken to be static.",
            )
        waiting.append(name)

    for name, value in zip(found.names[members].tolist(), values.tolist(), strict=True):
        if name not in known or known[name] != value:
            learn(name, value)
    across, _, starts = found.sets.across
    while waiting:
        name = waiting.popleft()
        for at in across[starts[name] : starts[name + 1]].tolist():
            for other, value in _left(found, at, known):
                learn(other, value)
    names = np.array(sorted(known), dtype=np.int64)
    equal = np.flatnonzero(np.isin(found.names, names))
    given = set(members.tolist())
    return {at: known[int(found.names[at])] for at in equal.tolist() if at not in given}


def _left(found: Equalities, at: int, known: dict[int, int]) -> list[tuple[int, int]]:
    """Who must have which value, by one set."""
    entries = slice(found.sets.starts[at], found.sets.starts[at + 1])
    owed: Counter[int] = Counter()
    unknown = []
    for name, count in zip(found.sets.places[entries].tolist(), found.sets.counts[entries].tolist(), strict=True):
        if name in known:
            owed[known[name]] -= count
        else:
            unknown.append((name, count))
    left = [value for value, count in owed.items() if count]
    if not unknown or len({count > 0 for _, count in unknown}) > 1 or len(left) != 1:
        return []
    return [(name, left[0]) for name, _ in unknown]
