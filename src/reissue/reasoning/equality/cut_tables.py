"""The cut graphs of many buckets as two tables, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from reissue.reasoning.equality.cut_graph import CutGraph
from reissue.reasoning.equality.cut_merges import Merge

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


def to_tables(graphs: Mapping[int, CutGraph]) -> dict[str, pl.DataFrame]:
    """The tables `nodes` and `edges` of the graphs of these signatures; a graph that is still empty leaves no rows."""
    nodes, edges = to_rows(graphs)
    return {"nodes": _table(nodes, NODES), "edges": _table(edges, EDGES)}


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


def _table(rows: Rows, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(
        {name: pl.Series(name, column, dtype) for (name, dtype), column in zip(schema.items(), columns, strict=True)}
    )


def _rows(table: pl.DataFrame, schema: Mapping[str, type[pl.DataType]]) -> Rows:
    return list(zip(*(table[name].to_list() for name in schema), strict=True))
