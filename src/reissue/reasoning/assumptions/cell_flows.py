"""Whether the rows of cells find places in the cells of another release: a flow, and what is short where it fails.

Cells that want more places than all cells that may take them together have contradict whatever said that they find
some (Hall's condition). Sets of cells that contradict it independently of each other are counted one by one; where
every cell may go to one other only, and has it for itself, that is cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Ints


@dataclass(frozen=True)
class Shortage:
    """What found no place."""

    sets: int = 0
    """How many sets of cells want more places than there are for them; a set may be a single cell."""
    rows: int = 0
    """How many rows are left over, however they are placed."""

    def __add__(self, other: Shortage) -> Shortage:
        return Shortage(self.sets + other.sets, self.rows + other.rows)


def shortage(first: Ints, second: Ints, need: Ints, room: Ints) -> Shortage:
    """How far cells with so many rows each fall short of places in others, which have room for so many.

    Rows of cell `first[n]` may go to cell `second[n]`; a pair stands there once.
    """
    wanted = need > 0
    edge = wanted[first] & (room > 0)[second]
    first, second = first[edge], second[edge]
    out, into = np.bincount(first, minlength=need.size), np.bincount(second, minlength=room.size)
    nowhere = wanted & (out == 0)
    found = Shortage(int(np.count_nonzero(nowhere)), int(need[nowhere].sum()))
    alone = (out[first] == 1) & (into[second] == 1)
    over = np.maximum(need[first[alone]] - room[second[alone]], 0)
    found += Shortage(int(np.count_nonzero(over)), int(over.sum()))
    return found + _flowing(first[~alone], second[~alone], need, room)


def _flowing(first: Ints, second: Ints, need: Ints, room: Ints) -> Shortage:
    """The same where cells share places, by a maximum flow."""
    # Somebody with room enough for all who may come is nobody's bottleneck, and neither is whoever may go there.
    first, second = _tight(first, second, need, room)
    if not first.size:
        return Shortage()
    import igraph

    sources, one = np.unique(first, return_inverse=True)
    sinks, other = np.unique(second, return_inverse=True)
    source, sink = sources.size + sinks.size, sources.size + sinks.size + 1
    edges = np.concatenate(
        [
            np.column_stack([np.full(sources.size, source), np.arange(sources.size)]),
            np.column_stack([one, sources.size + other]),
            np.column_stack([sources.size + np.arange(sinks.size), np.full(sinks.size, sink)]),
        ]
    )
    total = int(need[sources].sum())
    capacity = np.concatenate([need[sources], np.full(one.size, total + 1), room[sinks]])
    flow = igraph.Graph(sink + 1, edges, directed=True).maxflow(source, sink, capacity.tolist())
    rows = total - round(flow.value)
    if not rows:
        return Shortage()
    side = np.zeros(sink + 1, dtype=np.bool_)
    side[next(part for part in flow.partition if source in part)] = True
    return Shortage(_independent(one, other, side[: sources.size], need[sources], room[sinks]), rows)


def _tight(first: Ints, second: Ints, need: Ints, room: Ints) -> tuple[Ints, Ints]:
    """The pairs of cells of which it is not plain that they have places."""
    while first.size:
        asked = np.bincount(second, need[first], minlength=room.size)
        easy = np.zeros(need.size, dtype=np.bool_)
        easy[first[(asked <= room)[second]]] = True
        left = ~easy[first]
        if left.all():
            break
        first, second = first[left], second[left]
    return first, second


def _independent(first: Ints, second: Ints, side: Bools, need: Ints, room: Ints) -> int:
    """How many sets on the wanting side of a least cut, which share no places, want more than there are."""
    import igraph

    edge = side[first]
    first, second = first[edge], second[edge]
    graph = igraph.Graph(need.size + room.size, np.column_stack([first, need.size + second]))
    part = np.array(graph.connected_components().membership, dtype=np.int64)
    wants = np.bincount(part[: need.size][side], need[side], minlength=part.max() + 1)
    used = np.unique(second)
    has = np.bincount(part[need.size + used], room[used], minlength=part.max() + 1)
    return int(np.count_nonzero(wants > has))
