"""Flows, cuts and components of a graph given as counted pairs of nodes.

Flows and cuts are igraph's; it is loaded when the first is asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import igraph

Pair = tuple[int, int]
Edges = Mapping[Pair, int]
"""How many edges run between two nodes; a pair stands for both directions and is there once."""


def ordered(u: int, v: int) -> Pair:
    """The smaller one first."""
    return (u, v) if u < v else (v, u)


def degrees(edges: Edges) -> Counter[int]:
    """How many edges each node has."""
    degree: Counter[int] = Counter()
    for (u, v), count in edges.items():
        degree[u] += count
        degree[v] += count
    return degree


def flows(edges: Edges, pairs: Sequence[Pair]) -> list[int]:
    """The largest flow, which is the smallest cut, between the two nodes of each pair."""
    if not pairs:
        return []
    names, graph = as_igraph(edges)
    at = {name: place for place, name in enumerate(names)}
    capacity = list(edges.values())
    return [
        round(graph.maxflow_value(at[source], at[target], capacity)) if source in at and target in at else 0
        for source, target in pairs
    ]


def tree_of_flows(edges: Edges) -> list[tuple[int, int, int]]:
    """Pairs of nodes with the flow between them, largest first: a tree over all nodes (Gomory and Hu).

    The flow between any two nodes is the smallest on the way between them.
    """
    names, graph = as_igraph(edges)
    tree = graph.gomory_hu_tree(capacity=list(edges.values()))
    found = [(round(edge["flow"]), names[edge.source], names[edge.target]) for edge in tree.es]
    return sorted(found, key=lambda entry: (-entry[0], entry[1], entry[2]))


def smallest_cut(edges: Edges) -> int:
    """The smallest cut of a connected graph of at least two nodes."""
    _, graph = as_igraph(edges)
    weight: float = graph.mincut(capacity=list(edges.values())).value
    return round(weight)


def reached(edges: Edges, start: int) -> set[int]:
    """The nodes that hang together with `start`, itself included."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for u, v in edges:
        neighbours[u].append(v)
        neighbours[v].append(u)
    found = {start}
    front = [start]
    while front:
        front = [node for near in front for node in neighbours[near] if node not in found]
        found.update(front)
    return found


def components(edges: Edges) -> list[dict[Pair, int]]:
    """The edges of each connected component."""
    rest = dict(edges)
    parts = []
    while rest:
        nodes = reached(rest, next(iter(rest))[0])
        parts.append({pair: count for pair, count in rest.items() if pair[0] in nodes})
        rest = {pair: count for pair, count in rest.items() if pair[0] not in nodes}
    return parts


def as_igraph(edges: Edges) -> tuple[list[int], igraph.Graph]:
    """The same graph in igraph, its edges in the same order, and the node at each of its places."""
    import igraph

    names = sorted({node for pair in edges for node in pair})
    at = {name: place for place, name in enumerate(names)}
    return names, igraph.Graph(len(names), [(at[u], at[v]) for u, v in edges])
