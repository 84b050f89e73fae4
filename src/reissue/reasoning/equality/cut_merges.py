"""Which releases of an equivalence graph share a node, and how much each merge can still spare.

A merge must not hide a cut below the threshold T, neither now nor after any later release. Three rules allow it.
Past releases u and v may each already stand for many; w is the number of tuples between them, the degree of v the
number of tuples with exactly one end in v. Living tuples move their other end, from 0 to the release they leave in,
but they stay at u or v and never run between u and v: w and the degree are fixed for ever, unless tuples are taken out.

    tied     w >= T. A cut that parts u and v weighs at least w. Likewise for several nodes at once that have no cut
             below T among themselves.
    heavy    2 w >= degree of v >= T. Move v to u's side: the cut gains the degree of v less w and loses w, so it does
             not get heavier. If it becomes zero, then it was the cut around v alone, which weighs the degree of v.
    wide     a flow of at least T from u to v over tuples between past releases, through any third node. These tuples
             never move again, so every cut that parts u and v weighs at least the flow.

Taking tuples out eats up the reserve of a merge, and of which merges differs by rule: a tuple whose two releases came
together in a tied merge counts there and nowhere else among the tied; a heavy merge is concerned by every tuple with
one end in v (those to u lower 2 w - degree by one, the others raise it); a wide one by every tuple that had left when
it was made and was not inside a node then, also by those that end neither in u nor in v: the flow may have used them.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

TIED: Final = 0
HEAVY: Final = 1
WIDE: Final = 2


@dataclass(slots=True)
class Merge:
    """How a node became part of another, and what may be taken away before that is no longer certain."""

    into: int
    level: int
    """The act of merging, counted from 1 in the order of time; several nodes can be merged in one act."""
    rule: int
    spare: int
    """Tied: tuples above T. Heavy: 2 w - degree. Wide: flow above T."""
    around: int
    """Heavy: the degree above T. Otherwise nothing, 0."""
    made: int
    """The release after which it was merged."""


class Merges:
    """The merges of one graph: a forest over its releases, whose roots are the nodes that are left."""

    def __init__(self) -> None:
        self._merges: dict[int, Merge] = {}
        self._level = 0

    def __iter__(self) -> Iterator[tuple[int, Merge]]:
        return iter(self._merges.items())

    def __len__(self) -> int:
        return len(self._merges)

    def node_of(self, release: int) -> int:
        """The node that stands for a release; 0, which is never merged, for 0."""
        while (merge := self._merges.get(release)) is not None:
            release = merge.into
        return release

    def next_level(self) -> int:
        """The number of a new act of merging."""
        self._level += 1
        return self._level

    def add(self, node: int, merge: Merge) -> None:
        """Make a node part of another. It must still be a root, and so must the other."""
        self._merges[node] = merge
        self._level = max(self._level, merge.level)

    def take_out(self, stays: Sequence[tuple[int, int]]) -> bool:
        """Write off the tuples with these stays (came, left; left 0 for the living), all of them or none.

        False, and nothing is done, if some merge would no longer be certain.
        """
        spare: Counter[int] = Counter()
        around: Counter[int] = Counter()
        at_level: dict[int, list[int]] = defaultdict(list)
        for node, merge in self._merges.items():
            at_level[merge.level].append(node)
        wide = [node for node, merge in self._merges.items() if merge.rule == WIDE]
        for came, left in stays:
            crossed, level = self._between(came, left)
            spare.subtract(node for node in at_level.get(level, ()) if self._merges[node].rule == TIED)
            for node in crossed:
                if self._merges[node].rule == HEAVY:
                    spare[node] += -1 if self._merges[node].level == level else 1
                    around[node] -= 1
            spare.subtract(
                node for node in wide if 0 < left <= self._merges[node].made and level >= self._merges[node].level
            )
        if any(self._merges[node].spare + change < 0 for node, change in spare.items()):
            return False
        if any(self._merges[node].around + change < 0 for node, change in around.items()):
            return False
        for node, change in spare.items():
            self._merges[node].spare += change
        for node, change in around.items():
            self._merges[node].around += change
        return True

    def _between(self, came: int, left: int) -> tuple[set[int], int]:
        """The merged nodes with exactly one of the two releases in them, and the level at which the two met."""
        crossed = set(self._above(came)) ^ set(self._above(left))
        if self.node_of(came) != self.node_of(left):
            return crossed, sys.maxsize
        return crossed, max((self._merges[node].level for node in crossed), default=0)

    def _above(self, release: int) -> Iterable[int]:
        while (merge := self._merges.get(release)) is not None:
            yield release
            release = merge.into
