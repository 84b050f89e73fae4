"""The equivalence graph of one bucket, kept small over any number of releases.

He, Barman and Naughton, "Preventing Equivalence Attacks in Updated, Anonymized Data" (ICDE 2011), section VI.
Node 0 is the outside, or the present; there is a node for each release in which the bucket changed, and an edge for
each tuple from the release it came in to the one it left in, or to 0 while it lives (Algorithm 1).

    e            no equivalence attack of a size below e
    2 (e - 1)    what the min-cut must exceed (Theorem 2): cuts of at least T = 2 e - 1 will do
    S, W, U      people by release, the weights of an attack, how often each value is in a release

Why a cut bounds the attack. The sum of the weights from release t on is a potential of node t, and 0 has potential 0: a
tuple enters |W.S| with the difference of its two ends, and |W.S| is a sum of cuts, one for each level of the potential.
If it is not zero, one of these cuts is not, so |W.S| >= T; and W.U = 0 makes |W.S| even, hence at least 2 e.

One flow for each release. Merge the node t of a new release with 0, and the graph is the one of before: a cut that does
not part t from 0 is an old one. So if the old graph was safe, the new one is if the flow between t and 0 is 0 or at
least T, and every further tuple that enters adds 1 to it. A flow of 0 means that the part of t has come loose: exchange
the two sides of a cut within that part, which does not change its weight, and t and 0 are on one side, so it is an old
one too. The same holds when everybody leaves: 0 becomes t, a new 0 stands alone, and releases without the bucket need
no node, their row of S is zero.

People who return have several stays and are not one edge (counting the stays as edges overstates the cut). They are
left out of the graph. That can only lower |W.S|, but an attack could be zero on everybody else and not on them; it
cannot if the two ends of each of their stays are in one component of the graph without them, for then the potential is
the same at both. These pairs of releases are watched and never allowed to come apart.

Where releases can no longer be parted by a small cut they are merged into one node: `cut_merges` has the rules, their
proofs, and what taking out a tuple of somebody who returns does to them. What is left has the same cuts below T.

Differs from the paper: the paper builds every graph over all releases and looks for its global min-cut each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from reissue.errors import InternalError, ParameterError, count_of
from reissue.reasoning.equality.cut_flows import (
    Pair,
    components,
    degrees,
    flows,
    ordered,
    reached,
    smallest_cut,
    tree_of_flows,
)
from reissue.reasoning.equality.cut_merges import HEAVY, TIED, WIDE, Merge, Merges

OUTSIDE: Final = 0


Seen = tuple[int, dict[Pair, int], Counter[int]]


class CutGraph:
    """The equivalence graph of one bucket; all its non-zero cuts weigh at least 2 e - 1 at any time."""

    EVERY: ClassVar[int] = 8
    """Nodes are merged only when their number has reached a multiple of this, so that the search pays off."""
    ROOM: ClassVar[int] = 16
    """From this many nodes on those are merged that leave a reserve of T tuples for people who return."""
    LIMIT: ClassVar[int] = 48
    """From this many nodes on also those without any reserve, as far as half of it."""

    def __init__(self, e: int) -> None:
        if not isinstance(e, int) or isinstance(e, bool) or e < 1:
            got = repr(e) if isinstance(e, int | float) else f"a {type(e).__name__}"
            raise ParameterError(
                f"The 'e' parameter of CutGraph must be a whole number of at least 1. Got {got} instead."
            )
        self.e = e
        self.threshold = 2 * e - 1
        self.number = 0
        """The last release in which the bucket changed."""
        self.edges: dict[Pair, int] = {}
        """How many tuples run between two nodes, the smaller one first."""
        self.merges = Merges()
        self.watched: set[Pair] = set()
        """The ends of past stays of people who are left out, as nodes; pairs within one node are safe and dropped."""
        self.staying: Counter[int] = Counter()
        """How many people who are left out are there now, by the node of the release they came in."""
        self._looked: tuple[tuple[object, ...], Seen] | None = None
        """The last question about a release, and the answer: plans are changed here and there, and asked about again.
        None where the graph has changed since."""

    def __repr__(self) -> str:
        return f"CutGraph(e={self.e}, {count_of(self.nodes, 'node')}, {count_of(self.living, 'living tuple')})"

    @property
    def nodes(self) -> int:
        """How many nodes the graph has, the outside included; those without tuples are not counted."""
        return len({node for pair in self.edges for node in pair})

    @property
    def living(self) -> int:
        """How many tuples of the graph are in the bucket now."""
        return sum(count for (node, _), count in self.edges.items() if node == OUTSIDE)

    def admit(self, stays: Sequence[Pair]) -> list[bool]:
        """Take people who would return out of the graph; False for those with whom it could not be certified.

        A stay is (came, left) of a person who has been an edge of this graph so far, with left = 0 for someone who is
        still here (and moves to another bucket, say). From now on it is watched. All of them are taken out together if
        that can be done, otherwise one after the other in this order. Who is refused stays an edge and must not return.
        """
        self._demand(Counter(self._pair(*stay) for stay in stays), "would return than there are")
        if self._take_out(stays):
            return [True] * len(stays)
        return [len(stays) > 1 and self._take_out([stay]) for stay in stays]

    def missing(
        self,
        number: int,
        leaving: Mapping[int, int],
        entering: int,
        *,
        returners_leaving: Mapping[int, int] | None = None,
        returners_entering: int = 0,
    ) -> int:
        """How many tuples more must enter at release `number` to make it safe.

        `leaving` says how many leave, by the release they came in, and `entering` how many enter: edges of the graph
        only, counterfeits included. People who are left out of it, because this is not their first stay, are counted
        apart. Nothing is changed. Note that a bucket can be safe without new tuples and not with one.
        """
        return self._look(number, leaving, entering, returners_leaving or {}, returners_entering)[0]

    def step(
        self,
        number: int,
        leaving: Mapping[int, int],
        entering: int,
        *,
        returners_leaving: Mapping[int, int] | None = None,
        returners_entering: int = 0,
    ) -> None:
        """Go on to release `number`. Nothing may be missing. A release without any change may be left out."""
        short, after, away = self._look(number, leaving, entering, returners_leaving or {}, returners_entering)
        if short:
            raise InternalError(f"A bucket of release {number} lacks {count_of(short, 'tuple')} for e = {self.e}.")
        self.edges, self.number, self._looked = after, number, None
        self.staying -= away
        self.watched.update(ordered(node, number) for node in away)
        if returners_entering:
            self.staying[number] = returners_entering
        self._contract_if_due()

    def end(self, number: int) -> None:
        """Everybody has left: the bucket is not in release `number`. It may come back later, beside what was."""
        if number <= self.number:
            raise InternalError("Releases must come in order.")
        self.number, self._looked = number, None
        self.edges = {
            (pair if pair[0] != OUTSIDE else ordered(pair[1], number)): count for pair, count in self.edges.items()
        }
        # A part without 0 gets no new nodes, so nothing in it can come apart any more.
        self.watched.clear()
        self.staying.clear()
        self._contract_if_due()

    def contract(self) -> None:
        """Merge nodes: with a reserve where that can be done, without one if there are far too many."""
        self._looked = None
        self._merge_neighbours(reserve=self.threshold, goal=0)
        self._merge_loose(reserve=self.threshold)
        if self.nodes < self.LIMIT:
            return
        self._merge_loose(reserve=0)
        self._merge_neighbours(reserve=0, goal=self.LIMIT // 2)
        if self.nodes >= self.LIMIT:
            self._merge_wide(goal=self.LIMIT // 2)

    def cut(self) -> int | None:
        """The smallest non-zero cut, None without any tuples.

        Cuts through merged nodes are not looked at. All of them weigh at least 2 e - 1.
        """
        return min((smallest_cut(part) for part in components(self.edges)), default=None)

    def _pair(self, came: int, left: int) -> Pair:
        return ordered(self.merges.node_of(came), self.merges.node_of(left))

    def _demand(self, wanted: Counter[Pair], what: str) -> None:
        """More than there are is a mistake of the caller. Inside a merged node nobody counts."""
        short = sum(max(0, count - self.edges.get(pair, 0)) for pair, count in wanted.items() if pair[0] != pair[1])
        if short:
            raise InternalError(f"In a bucket {count_of(short, 'tuple')} more {what} in its graph.")

    def _take_out(self, stays: Sequence[Pair]) -> bool:
        pairs = Counter(self._pair(*stay) for stay in stays)
        changed = [pair for pair in pairs if pair[0] != pair[1]]
        after = self.edges | {pair: self.edges[pair] - pairs[pair] for pair in changed}
        # Only cuts that part one of the pairs get lighter. They must not become zero either: the pairs are watched.
        unsure = [pair for pair in changed if after[pair] < self.threshold]
        after = {pair: count for pair, count in after.items() if count}
        if any(flow < self.threshold for flow in flows(after, unsure)) or not self.merges.take_out(stays):
            return False
        self.edges, self._looked = after, None
        self.watched.update(pair for pair in changed if pair[0] != OUTSIDE)
        self.staying.update(self.merges.node_of(came) for came, left in stays if left == OUTSIDE)
        return True

    def _look(
        self,
        number: int,
        leaving: Mapping[int, int],
        entering: int,
        returners_leaving: Mapping[int, int],
        returners_entering: int,
    ) -> Seen:
        """What is missing, the edges there would be, and the people outside the graph who leave, by node."""
        asked = number, leaving, entering, returners_leaving, returners_entering
        if self._looked is None or self._looked[0] != asked:
            self._looked = asked, self._see(*asked)
        return self._looked[1]

    def _see(
        self,
        number: int,
        leaving: Mapping[int, int],
        entering: int,
        returners_leaving: Mapping[int, int],
        returners_entering: int,
    ) -> Seen:
        after = self._after(number, leaving, entering)
        away = self._by_node(returners_leaving)
        if away - self.staying:
            raise InternalError("More people who had returned leave a bucket than are in it.")
        if entering >= self.threshold:  # they alone are flow enough
            return 0, after, away
        # Without anybody who leaves, the new node has no other neighbour than 0.
        flow = flows(after, [(OUTSIDE, number)])[0] if any(leaving.values()) else entering
        if flow:
            return max(0, self.threshold - flow), after, away
        return self.threshold if self._parted(after, away, returners_entering) else 0, after, away

    def _after(self, number: int, leaving: Mapping[int, int], entering: int) -> dict[Pair, int]:
        """The edges with a node for release `number` (Algorithm 1)."""
        if number <= self.number or entering < 0 or any(count < 0 for count in leaving.values()):
            raise InternalError("Releases must come in order, and no fewer than 0 tuples can leave or enter.")
        leavers = self._by_node(leaving)
        self._demand(Counter({(OUTSIDE, node): count for node, count in leavers.items()}), "leave than live")
        after = dict(self.edges)
        for node, count in leavers.items():
            after[OUTSIDE, node] -= count
            after[ordered(node, number)] = count
        after[OUTSIDE, number] = entering
        return {pair: count for pair, count in after.items() if count}

    def _by_node(self, counts: Mapping[int, int]) -> Counter[int]:
        """Counts by release as counts by node; zeros are dropped."""
        by_node: Counter[int] = Counter()
        for release, count in counts.items():
            by_node[self.merges.node_of(release)] += count
        return +by_node

    def _parted(self, after: dict[Pair, int], away: Counter[int], entering: int) -> bool:
        """Whether, with no flow between the new release and 0, somebody's stay would have its ends on both sides."""
        if entering:
            return True
        here = reached(after, OUTSIDE) if self.staying or self.watched else set()
        return (
            any(node not in here for node in self.staying - away)
            or any(node in here for node in away)
            or any((u in here) != (v in here) for u, v in self.watched)
        )

    def _contract_if_due(self) -> None:
        if self.nodes >= self.ROOM and self.nodes % self.EVERY == 0:
            self.contract()

    def _merge_neighbours(self, *, reserve: int, goal: int) -> None:
        """The rules tied and heavy, the merge with the largest reserve first, until there are `goal` nodes."""
        degree_of = degrees(self.edges)
        names = sorted(degree_of.keys() - {OUTSIDE})
        at = {name: place for place, name in enumerate(names)}
        degree = np.array([degree_of[name] for name in names], dtype=np.int64)
        between = np.zeros((len(names), len(names)), dtype=np.int64)
        for (u, v), count in self.edges.items():
            if u != OUTSIDE:
                between[at[u], at[v]] = between[at[v], at[u]] = count
        for _ in range(len(degree_of) - goal):
            # Row u, column v: what merging v into u leaves to spare.
            tied = between - self.threshold
            heavy = np.minimum(2 * between - degree, degree - self.threshold)
            reserves = np.where(between > 0, np.maximum(tied, heavy), -1)
            u, v = (int(place) for place in np.unravel_index(reserves.argmax(), reserves.shape))
            if reserves[u, v] < reserve:
                break
            count = int(between[u, v])
            level = self.merges.next_level()
            if tied[u, v] >= heavy[u, v]:
                merge = Merge(names[u], level, TIED, count - self.threshold, 0, self.number)
            else:
                around = int(degree[v]) - self.threshold
                merge = Merge(names[u], level, HEAVY, 2 * count - int(degree[v]), around, self.number)
            self.merges.add(names[v], merge)
            degree[u] += degree[v] - 2 * count
            between[u] += between[v]
            between[:, u] += between[:, v]
            between[u, u] = between[v] = between[:, v] = 0
        self._relabel()

    def _merge_loose(self, *, reserve: int) -> None:
        """Components without 0: nothing enters or leaves them any more."""
        for part in components(self.edges):
            nodes = sorted(degrees(part))
            if nodes[0] != OUTSIDE and (spare := smallest_cut(part) - self.threshold) >= reserve:
                level = self.merges.next_level()
                for node in nodes[1:]:
                    self.merges.add(node, Merge(nodes[0], level, TIED, spare, 0, self.number))
        self._relabel()

    def _merge_wide(self, *, goal: int) -> None:
        """The rule wide, from the flows between all pairs of past nodes (their Gomory-Hu tree)."""
        past = {pair: count for pair, count in self.edges.items() if pair[0] != OUTSIDE}
        level = self.merges.next_level()
        for flow, u, v in tree_of_flows(past)[: max(0, self.nodes - goal)]:
            if flow >= self.threshold:
                into, node = self._pair(u, v)
                self.merges.add(node, Merge(into, level, WIDE, flow - self.threshold, 0, self.number))
        self._relabel()

    def _relabel(self) -> None:
        root = {node: self.merges.node_of(node) for node in {node for pair in self.edges for node in pair}}
        edges: dict[Pair, int] = {}
        for (u, v), count in self.edges.items():
            pair = ordered(root[u], root[v])
            if pair[0] != pair[1]:
                edges[pair] = edges.get(pair, 0) + count
        self.edges = edges
        self.watched = {(u, v) for u, v in (self._pair(*pair) for pair in self.watched) if u != v}
        self.staying = self._by_node(self.staying)
