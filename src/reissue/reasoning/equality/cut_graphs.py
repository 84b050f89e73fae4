"""The cut graphs of all buckets of a series, as flat arrays; one release is one pass over them.

`CutGraph` is one graph and knows the mathematics. A series has hundreds or thousands of buckets, and in nearly
all of them a release is safe at a glance: the tuples that enter are paths of their own between the new release t
and 0, and so are t - u - 0 for every past node u, as many as the fewer of those who left from u and those who
still live there. Where that adds up to T = 2 e - 1 nothing else need be known, and the graph only gains rows. Only
the others are looked at as `CutGraph`s: those with too few such paths, or with people who return.

In a ledger the graphs are two tables, `nodes` and `edges`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError
from reissue.model.memory import Memory
from reissue.reasoning.equality.cut_graph import OUTSIDE, CutGraph
from reissue.reasoning.equality.cut_merges import Merge

CUTS = "cuts"
"""The table with the e that graphs are kept for."""
EARLY = 8
"""From so many nodes on those are merged that are tied by many tuples."""
_TABLES = ("nodes", "edges")
_BITS = 20
"""Releases and nodes are numbered below 2^20, signatures below 2^23."""
NODES: Final = {
    "signature": pl.UInt32,
    "release": pl.UInt32,
    "into": pl.UInt32,
    "level": pl.UInt32,
    "rule": pl.UInt32,
    "spare": pl.Int64,
    "around": pl.Int64,
    "made": pl.UInt32,
}
"""A row for each release that became part of another node."""
EDGES: Final = {"signature": pl.UInt32, "kind": pl.UInt32, "u": pl.UInt32, "v": pl.UInt32, "count": pl.UInt32}
"""Pairs of nodes by kind."""
TUPLES: Final = 0
WATCHED: Final = 1
STAYING: Final = 2

Rows = list[tuple[int, ...]]


class Counts(NamedTuple):
    """How many tuples of each signature came in each release."""

    signature: Ints
    came: Ints
    tuples: Ints

    @classmethod
    def of(cls, signature: Ints, came: Ints) -> Counts:
        """Count tuples."""
        keys, count = np.unique((signature << _BITS) | came, return_counts=True)
        return cls(keys >> _BITS, keys & ((1 << _BITS) - 1), count.astype(np.int64))

    def only(self, signatures: Ints) -> Counts:
        """Those of some signatures."""
        mine = np.isin(self.signature, signatures)
        return Counts(self.signature[mine], self.came[mine], self.tuples[mine])

    def and_tuples(self, signature: Ints, came: Ints) -> Counts:
        """With further tuples counted."""
        more = Counts.of(signature, came)
        return Counts(*_summed(*(np.concatenate(pair) for pair in zip(self, more, strict=True))))


@dataclass(frozen=True)
class Turnover:
    """What enters and leaves the buckets that change in one release, on counts.

    Tuples that are edges of the graphs (people in their first stay, counterfeits) are counted apart from people who
    have returned, who are not.
    """

    number: int
    """The release."""
    signature: Ints
    """The buckets that change, ascending."""
    entering: Ints
    """For each how many tuples enter."""
    leaving: Counts
    """How many leave, by the release they came in."""
    returners_entering: Ints
    """For each bucket how many people enter who were there before."""
    returners_leaving: Counts
    """How many of these leave."""


class CutGraphs:
    """One `CutGraph` for each signature."""

    def __init__(self, e: int, tables: Mapping[str, pl.DataFrame] | None = None) -> None:
        self.e = e
        self.threshold = 2 * e - 1
        self._open: dict[int, CutGraph] = {}
        """Graphs that are being looked at one by one; they count, not their rows below."""
        self._set(tables or to_tables({}))

    def _set(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._nodes = np.stack([_ints(tables["nodes"], name) for name in NODES])
        self._edges = np.stack([_ints(tables["edges"], name) for name in EDGES])

    @classmethod
    def read(cls, memory: Memory, e: int) -> Self:
        """What `tables` gave."""
        if CUTS not in memory:
            return cls(e)
        began = int(memory[CUTS]["e"][0])
        if e > began:
            raise InternalError(f"graphs that are kept for e = {began} say nothing about e = {e}")
        # Graphs are kept for the e they began with: what is safe for it is safe for less.
        return cls(began, {name: memory[name] for name in _TABLES})

    def tables(self) -> dict[str, pl.DataFrame]:
        """What to remember."""
        self._close()
        return {
            CUTS: pl.DataFrame({"e": [self.e]}, schema={"e": pl.UInt32}),
            "nodes": _frame(self._nodes, NODES),
            "edges": _frame(self._edges, EDGES),
        }

    def graph(self, signature: int) -> CutGraph:
        """One graph, to be looked at or changed."""
        if signature not in self._open:
            nodes, edges = (table[:, _of(table, signature)].T.tolist() for table in (self._nodes, self._edges))
            self._open[signature] = from_rows(nodes, edges, self.e).get(signature) or CutGraph(self.e)
        return self._open[signature]

    def admit(self, signature: Ints, came: Ints, left: Ints) -> Bools:
        """Who of those that would return can, given the last stay of each, which was an edge so far."""
        admitted = np.zeros(signature.size, dtype=np.bool_)
        for one in np.unique(signature).tolist():
            rows = np.flatnonzero(signature == one)
            stays = list(zip(came[rows].tolist(), left[rows].tolist(), strict=True))
            admitted[rows] = self.graph(one).admit(stays)
        return admitted

    def missing(self, turnover: Turnover) -> Ints:
        """How many tuples more must enter each bucket."""
        missing = np.zeros(turnover.signature.size, dtype=np.int64)
        slow = self._slow(turnover)
        node = self._node_of(turnover.leaving.signature, turnover.leaving.came)
        left = Counts(*_summed(turnover.leaving.signature, node, turnover.leaving.tuples))
        there = self._living(left.signature, left.came) - left.tuples
        if (there < 0)[~np.isin(left.signature, turnover.signature[slow])].any():
            raise InternalError("more tuples leave a bucket than its graph has")
        paths = np.zeros(turnover.signature.size, dtype=np.int64)
        np.add.at(paths, np.searchsorted(turnover.signature, left.signature), np.minimum(left.tuples, there))
        short = slow | (turnover.entering + paths < self.threshold)
        for at, signature, told in _arguments(turnover, short):
            missing[at] = self.graph(signature).missing(**told)
        return missing

    def step(self, turnover: Turnover) -> None:
        """Go on to the next release. Nothing may be missing."""
        if self.missing(turnover).any():
            raise InternalError(f"release {turnover.number} is not safe for e = {self.e}")
        slow = np.isin(turnover.signature, list(self._open))
        for _, signature, told in _arguments(turnover, slow):
            self.graph(signature).step(**told)
        self._gain(turnover, ~slow)
        self._contract(turnover.number)
        self._close()

    def end(self, signatures: Ints, number: int) -> None:
        """Everybody has left these buckets."""
        for signature in signatures.tolist():
            self.graph(signature).end(number)
        self._close()

    def living(self) -> Ints:
        """The signatures with tuples that live."""
        self._close()
        return np.unique(self._edges[0][(self._edges[1] != 1) & (self._edges[2] == OUTSIDE)])

    def _slow(self, turnover: Turnover) -> Bools:
        """The buckets with people who return, or that are open already."""
        watched = self._edges[0][self._edges[1] != TUPLES]
        slow = np.isin(turnover.signature, np.concatenate([watched, np.array(list(self._open), dtype=np.int64)]))
        slow |= turnover.returners_entering > 0
        return slow | np.isin(turnover.signature, turnover.returners_leaving.signature)

    def _gain(self, turnover: Turnover, which: Bools) -> None:
        """Algorithm 1 for many buckets at once: those who leave now run to the new release instead of to 0."""
        signature, number = turnover.signature[which], turnover.number
        mine = np.isin(turnover.leaving.signature, signature)
        left, came, count = (part[mine] for part in turnover.leaving)
        node = self._node_of(left, came)
        tuples = self._edges[:, self._edges[1] == TUPLES]
        others = self._edges[:, self._edges[1] != TUPLES]
        rows = [
            (tuples[0], tuples[2], tuples[3], tuples[4]),
            (left, np.full_like(node, OUTSIDE), node, -count),
            (left, node, np.full_like(node, number), count),
            (signature, np.full_like(signature, OUTSIDE), np.full_like(signature, number), turnover.entering[which]),
        ]
        keys = np.concatenate([(s << 2 * _BITS) | (u << _BITS) | v for s, u, v, _ in rows])
        order = np.argsort(keys, kind="stable")  # all but the few that are new are in order
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.concatenate([count for *_, count in rows])[order]
        counts = np.add.reduceat(counts, first) if first.size else counts
        keys, counts = keys[first][counts > 0], counts[counts > 0]
        low = (1 << _BITS) - 1
        kind = np.full(keys.size, TUPLES, dtype=np.int64)
        grown = np.stack([keys >> 2 * _BITS, kind, (keys >> _BITS) & low, keys & low, counts])
        self._edges = _by_signature(np.concatenate([grown, others], axis=1))

    def _contract(self, number: int) -> None:
        """Merge nodes in graphs that have come to have many; every release looks at one in eight of them.

        Where past releases are tied by many tuples each, merging is easy and saves much, so it is done early.
        """
        rows = self._edges[:, (self._edges[0] % CutGraph.EVERY == number % CutGraph.EVERY) & (self._edges[1] == TUPLES)]
        nodes = np.unique(np.concatenate([(rows[0] << _BITS) | rows[2], (rows[0] << _BITS) | rows[3]]))
        signature, count = np.unique(nodes >> _BITS, return_counts=True)
        past = rows[:, rows[2] != OUTSIDE]
        place = np.searchsorted(signature, past[0])
        pairs = np.bincount(place, minlength=signature.size)
        tied = np.bincount(place, weights=past[4], minlength=signature.size) >= self.threshold * pairs
        due = (count >= CutGraph.LIMIT) | (tied & (count >= EARLY))
        for one in signature[due].tolist():
            self.graph(one).contract()

    def _close(self) -> None:
        """Put the open graphs back into rows."""
        if not self._open:
            return
        opened = np.array(list(self._open), dtype=np.int64)
        nodes, edges = to_rows(self._open)
        self._nodes = _replaced(self._nodes, opened, nodes)
        self._edges = _replaced(self._edges, opened, edges)
        self._open = {}

    def _node_of(self, signature: Ints, release: Ints) -> Ints:
        """The node that stands for a release in the graph of a signature."""
        keys = (self._nodes[0] << _BITS) | self._nodes[1]
        node = release.copy()
        if not keys.size:
            return node
        while True:
            wanted = (signature << _BITS) | node
            at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            merged = keys[at] == wanted
            if not merged.any():
                return node
            node = np.where(merged, self._nodes[2][at], node)

    def _living(self, signature: Ints, node: Ints) -> Ints:
        """How many tuples live at a node."""
        rows = self._edges[:, (self._edges[1] == TUPLES) & (self._edges[2] == OUTSIDE)]
        keys, wanted = (rows[0] << _BITS) | rows[3], (signature << _BITS) | node
        if not keys.size:
            return np.zeros_like(wanted)
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        return np.where(keys[at] == wanted, rows[4][at], 0)


def _arguments(turnover: Turnover, which: Bools) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The places and signatures of some buckets, and what `CutGraph` wants to know of each."""
    some = np.flatnonzero(which)
    signature = turnover.signature[some]
    columns = (turnover.entering[some], turnover.returners_entering[some])
    leaving, returners_leaving = (
        _by_came(counts, signature) for counts in (turnover.leaving, turnover.returners_leaving)
    )
    for at, one, entering, back, out, back_out in zip(
        some.tolist(),
        signature.tolist(),
        *(column.tolist() for column in columns),
        leaving,
        returners_leaving,
        strict=True,
    ):
        yield (
            at,
            one,
            {
                "number": turnover.number,
                "leaving": out,
                "entering": entering,
                "returners_leaving": back_out,
                "returners_entering": back,
            },
        )


def _by_came(counts: Counts, signature: Ints) -> list[dict[int, int]]:
    """The counts of each of some signatures, by the release they came in."""
    came, tuples = counts.came.tolist(), counts.tuples.tolist()
    begin, end = (np.searchsorted(counts.signature, signature, side).tolist() for side in ("left", "right"))
    return [dict(zip(came[low:high], tuples[low:high], strict=True)) for low, high in zip(begin, end, strict=True)]


def _summed(signature: Ints, node: Ints, count: Ints) -> tuple[Ints, Ints, Ints]:
    keys, place = np.unique((signature << _BITS) | node, return_inverse=True)
    total = np.zeros(keys.size, dtype=np.int64)
    np.add.at(total, place, count)
    return keys >> _BITS, keys & ((1 << _BITS) - 1), total


def _of(rows: Ints, signature: int) -> slice:
    """Where the rows of a signature stand; rows are sorted by it."""
    return slice(*np.searchsorted(rows[0], [signature, signature + 1]))


def _replaced(rows: Ints, signatures: Ints, new: Rows) -> Ints:
    """Rows with those of some signatures replaced."""
    made = _matrix(new, rows.shape[0])
    return _by_signature(np.concatenate([rows[:, ~np.isin(rows[0], signatures)], made], axis=1))


def _matrix(rows: Rows, width: int) -> Ints:
    """Rows as columns of a matrix."""
    made: Ints = np.array(rows, dtype=np.int64).reshape(-1, width).T
    return made


def _by_signature(rows: Ints) -> Ints:
    """Rows by signature; those of one stand in their order already. Two stretches in order are quick to sort."""
    return rows[:, np.argsort(rows[0], kind="stable")]


def _ints(table: pl.DataFrame, name: str) -> Ints:
    return table[name].to_numpy().astype(np.int64)


def _frame(rows: Ints, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.DataFrame(
        [pl.Series(name, row).cast(dtype) for (name, dtype), row in zip(schema.items(), rows, strict=True)]
    )


def to_tables(graphs: Mapping[int, CutGraph]) -> dict[str, pl.DataFrame]:
    """The tables `nodes` and `edges` of the graphs of these signatures; a graph that is still empty leaves no rows."""
    nodes, edges = to_rows(graphs)
    return {"nodes": _frame(_matrix(nodes, len(NODES)), NODES), "edges": _frame(_matrix(edges, len(EDGES)), EDGES)}


def to_rows(graphs: Mapping[int, CutGraph]) -> tuple[Rows, Rows]:
    """The rows of both tables."""
    nodes: Rows = []
    edges: Rows = []
    for signature, graph in sorted(graphs.items()):
        nodes += [
            (signature, release, merge.into, merge.level, merge.rule, merge.spare, merge.around, merge.made)
            for release, merge in sorted(graph.merges)
        ]
        edges += [(signature, TUPLES, u, v, count) for (u, v), count in sorted(graph.edges.items())]
        edges += [(signature, WATCHED, u, v, 1) for u, v in sorted(graph.watched)]
        edges += [(signature, STAYING, 0, node, count) for node, count in sorted(graph.staying.items())]
    return nodes, edges


def from_tables(tables: Mapping[str, pl.DataFrame], e: int) -> dict[int, CutGraph]:
    """The graphs by signature. Those that left no rows are not there; they are `CutGraph(e)`."""
    return from_rows(_rows(tables["nodes"], NODES), _rows(tables["edges"], EDGES), e)


def from_rows(nodes: Iterable[Sequence[int]], edges: Iterable[Sequence[int]], e: int) -> dict[int, CutGraph]:
    """The graphs by signature, from the rows of both tables."""
    graphs: dict[int, CutGraph] = {}
    for signature, release, into, level, rule, spare, around, made in nodes:
        graph = graphs.get(signature) or graphs.setdefault(signature, CutGraph(e))
        graph.merges.add(release, Merge(into, level, rule, spare, around, made))
        graph.number = max(graph.number, release, into)
    for signature, kind, u, v, count in edges:
        graph = graphs.get(signature) or graphs.setdefault(signature, CutGraph(e))
        graph.number = max(graph.number, v)
        if kind == TUPLES:
            graph.edges[u, v] = count
        elif kind == WATCHED:
            graph.watched.add((u, v))
        else:
            graph.staying[v] = count
    return graphs


def _rows(table: pl.DataFrame, schema: Mapping[str, type[pl.DataType]]) -> Rows:
    return list(zip(*(table[name].to_list() for name in schema), strict=True))
