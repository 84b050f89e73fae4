"""Cut graphs against all cuts of the whole graph, and against all equivalence attacks with small weights."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from reissue.errors import InternalError
from reissue.reasoning.equality.cut_flows import components, flows, ordered, smallest_cut
from reissue.reasoning.equality.cut_graph import CutGraph
from reissue.reasoning.equality.cut_graphs import from_tables, to_tables
from reissue.reasoning.equality.cut_merges import WIDE, Merge

Pair = tuple[int, int]
Ints = npt.NDArray[np.int64]
Change = tuple[int, int, int]
"""Who leaves and who returns, as bits, and how many enter."""


class Eager(CutGraph):
    """Merges whatever can be merged, at every release."""

    EVERY = 1
    ROOM = 1
    LIMIT = 1


class Careful(CutGraph):
    """Merges with a reserve at once, and without one when there are more than a few nodes."""

    EVERY = 1
    ROOM = 1
    LIMIT = 5


class Wide(Eager):
    """Merges by the rule wide only, and one node at a time."""

    def _merge_neighbours(self, *, reserve: int, goal: int) -> None:
        pass

    def _merge_wide(self, *, goal: int) -> None:
        super()._merge_wide(goal=max(goal, self.nodes - 1))


KINDS: list[type[CutGraph]] = [CutGraph, Eager, Careful, Wide]


def smallest_nonzero_cut(edges: Counter[Pair]) -> int | None:
    """Over all ways to put the nodes on two sides."""
    edges = +edges
    nodes = sorted({node for pair in edges for node in pair})
    if not nodes:
        return None
    sides = np.array(list(product((0, 1), repeat=len(nodes) - 1)), dtype=bool)
    sides = np.column_stack((sides, np.zeros(len(sides), dtype=bool)))
    u = [nodes.index(pair[0]) for pair in edges]
    v = [nodes.index(pair[1]) for pair in edges]
    weights = (sides[:, u] != sides[:, v]) @ np.array(list(edges.values()))
    return int(weights[weights > 0].min())


def safe(edges: Counter[Pair], threshold: int) -> bool:
    smallest = smallest_nonzero_cut(edges)
    return smallest is None or smallest >= threshold


def together(edges: Counter[Pair], pairs: list[Pair]) -> bool:
    """Whether the ends of each pair hang together, by spreading labels."""
    label = {node: node for pair in [*edges, *pairs] for node in pair}
    for _ in label:
        for u, v in +edges:
            label[u] = label[v] = min(label[u], label[v])
    return all(label[u] == label[v] for u, v in pairs)


def stays(presence: list[int]) -> list[Pair]:
    """The stays (came, left) of somebody who was there in the releases marked 1; left 0 if still there."""
    found = []
    for number, (before, now) in enumerate(zip([0, *presence], [*presence, 0], strict=True), start=1):
        if now and not before:
            came = number
        if before and not now:
            found.append((came, number if number <= len(presence) else 0))
    return found


@cache
def small_weights(releases: int) -> Ints:
    """All weights in {-2 .. 2}, and for up to four releases their halves too, doubled."""
    steps = np.arange(-4, 5) if releases <= 4 else np.arange(-4, 5, 2)
    grid = np.meshgrid(*[steps] * releases, indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, releases).astype(np.int64)


def smallest_attack(presences: list[list[int]]) -> float | None:
    """Definition 10 by trying all small weights; each release holds every value of the signature equally often."""
    matrix = np.array(presences, dtype=np.int64)
    weights = small_weights(matrix.shape[1])
    weights = weights[weights @ matrix.sum(axis=0) == 0]  # W.U = 0
    columns, people = np.unique(matrix, axis=0, return_counts=True)
    doubled = weights @ columns.T
    doubled = doubled[(doubled % 2 == 0).all(axis=1)]  # W.S must be whole
    sizes = np.abs(doubled // 2) @ people
    return float(sizes[sizes > 0].min()) / 2 if sizes.any() else None


class Bucket:
    """A bucket with people, as a publisher would keep it, and its graph; everything is remembered by person."""

    def __init__(self, graph: CutGraph) -> None:
        self.graph = graph
        self.number = 0
        self.presences: list[list[int]] = []
        self.left_out: set[int] = set()

    @property
    def living(self) -> list[int]:
        return [person for person, presence in enumerate(self.presences) if presence[-1]]

    @property
    def gone(self) -> list[int]:
        return [person for person, presence in enumerate(self.presences) if not presence[-1]]

    def edges(self, apart_from: set[int] | None = None) -> Counter[Pair]:
        without = self.left_out | (apart_from or set())
        return Counter(
            ordered(*stay)
            for person, presence in enumerate(self.presences)
            if person not in without
            for stay in stays(presence)
        )

    def watched(self, also: set[int] | None = None) -> list[Pair]:
        return [stay for person in self.left_out | (also or set()) for stay in stays(self.presences[person])]

    def release(self, leaving: list[int], returning: list[int], entering: int, moving: int = 0) -> None:
        """The next release. The first `moving` of those who leave go on to another bucket, if they may."""
        self.number += 1
        moved = [person for person in leaving[:moving] if person not in self.left_out]
        answers = self.graph.admit([stays(self.presences[person])[0] for person in moved])
        self.left_out.update(person for person, answer in zip(moved, answers, strict=True) if answer)
        first = [person for person in returning if person not in self.left_out]
        answers = self.graph.admit([stays(self.presences[person])[0] for person in first])
        refused = {person for person, answer in zip(first, answers, strict=True) if not answer}
        returning = [person for person in returning if person not in refused]
        self.left_out.update(returning)
        change: dict[str, Any] = {
            "leaving": Counter(stays(self.presences[p])[-1][0] for p in leaving if p not in self.left_out),
            "returners_leaving": Counter(stays(self.presences[p])[-1][0] for p in leaving if p in self.left_out),
            "returners_entering": len(returning),
        }
        missing = self.graph.missing(self.number, entering=entering, **change)
        everybody = set(leaving) == set(self.living) and not returning and not entering
        if everybody and self.living and self.number % 2:
            assert missing == 0
            self.graph.end(self.number)
        else:
            self.graph.step(self.number, entering=entering + missing, **change)
        for person, presence in enumerate(self.presences):
            presence.append(int(person in returning or (presence[-1] == 1 and person not in leaving)))
        self.presences += [[0] * (self.number - 1) + [1] for _ in range(entering + missing)]


bits = st.integers(0, 2**14 - 1)
changes = st.lists(st.tuples(bits, bits, st.integers(0, 6)), min_size=1, max_size=7)


def chosen(people: list[int], mask: int) -> list[int]:
    return [person for place, person in enumerate(people) if mask >> (place % 14) & 1]


@pytest.mark.parametrize("kind", KINDS)
@examples(20)
@given(e=st.integers(1, 4), stream=changes)
def test_missing_is_exactly_what_all_cuts_demand(kind: type[CutGraph], e: int, stream: list[Change]) -> None:
    graph = kind(e)
    threshold = 2 * e - 1
    edges: Counter[Pair] = Counter()
    for number, (out, _, entering) in enumerate(stream, start=1):
        living = [u for (z, u), count in edges.items() if z == 0 for _ in range(count)]
        leaving = Counter(living[place] for place in chosen(list(range(len(living))), out))
        after = Counter(edges)
        for came, count in leaving.items():
            after[0, came] -= count
            after[came, number] += count
        after[0, number] += entering
        needed = next(more for more in range(threshold + 1) if safe(after + Counter({(0, number): more}), threshold))
        assert graph.missing(number, leaving, entering) == needed
        if needed:
            with pytest.raises(InternalError, match=f"lacks {needed} tuple"):
                graph.step(number, leaving, entering)
        graph.step(number, leaving, entering + needed)
        after[0, number] += needed
        edges = +after
        cut, smallest = graph.cut(), smallest_nonzero_cut(edges)
        if len(graph.merges) == 0:
            assert cut == smallest
        elif cut is not None:
            assert smallest is not None
            assert threshold <= smallest <= cut


@pytest.mark.parametrize("kind", KINDS)
@examples(20)
@given(e=st.integers(1, 4), stream=changes)
def test_with_people_who_return_no_attack_is_left(kind: type[CutGraph], e: int, stream: list[Change]) -> None:
    bucket = Bucket(kind(e))
    for out, back, entering in stream:
        bucket.release(chosen(bucket.living, out), chosen(bucket.gone, back), entering)
        edges = bucket.edges()
        assert safe(edges, bucket.graph.threshold)
        assert together(edges, bucket.watched())
    if bucket.presences:  # an attack on fewer releases is one on all of them
        attack = smallest_attack(bucket.presences)
        assert attack is None or attack >= e


@pytest.mark.parametrize("kind", [Eager, Careful, Wide])
@pytest.mark.parametrize("e", [1, 2, 3])
def test_longer_streams_with_returns_keep_all_cuts(kind: type[CutGraph], e: int) -> None:
    let_back = merged = 0
    for seed in range(16):
        rng = random.Random(f"{e} {seed}")
        bucket = Bucket(kind(e))
        size, turnover = rng.choice([4, 12, 24]), rng.choice([4, 8, 12])
        for _ in range(11):
            living, gone = bucket.living, bucket.gone
            leaving = rng.sample(living, min(len(living), rng.randint(0, turnover)))
            returning = rng.sample(gone, min(len(gone), rng.choice([0, 1, 2])))
            entering = max(0, size - len(living) + len(leaving) - len(returning))
            bucket.release(leaving, returning, entering, moving=rng.choice([0, 0, 1]))
            edges = bucket.edges()
            assert safe(edges, bucket.graph.threshold)
            assert together(edges, bucket.watched())
        let_back += len(bucket.left_out)
        merged += len(bucket.graph.merges)
    assert let_back > 16  # the test would show nothing if nobody were let back
    assert merged > 16


@examples(24)
@given(e=st.integers(1, 3), stream=changes)
def test_without_merges_only_those_are_refused_who_would_break_it(e: int, stream: list[Change]) -> None:
    bucket = Bucket(CutGraph(e))
    for out, back, entering in stream:
        bucket.release(chosen(bucket.living, out), chosen(bucket.gone, back), entering)
    for person in range(len(bucket.presences)):
        if person in bucket.left_out:
            continue
        without = bucket.edges(apart_from={person})
        allowed = safe(without, bucket.graph.threshold) and together(without, bucket.watched(also={person}))
        assert bucket.graph.admit(stays(bucket.presences[person])) == [allowed]
        if allowed:
            bucket.left_out.add(person)


@examples(12)
@given(e=st.integers(1, 3), streams=st.lists(changes, min_size=1, max_size=4))
def test_tables_bring_the_graphs_back(e: int, streams: list[list[Change]]) -> None:
    buckets = {7 * place: Bucket(Careful(e)) for place in range(len(streams))}
    for bucket, stream in zip(buckets.values(), streams, strict=True):
        for out, back, entering in stream:
            bucket.release(chosen(bucket.living, out), chosen(bucket.gone, back), entering)
    tables = to_tables({signature: bucket.graph for signature, bucket in buckets.items()})
    assert {str(dtype) for table in tables.values() for dtype in table.dtypes} <= {"UInt32", "Int64"}
    graphs = from_tables(tables, e)
    again = to_tables(graphs)
    assert all(tables[name].equals(again[name]) for name in tables)
    for signature, bucket in buckets.items():
        graph = graphs.get(signature, CutGraph(e))
        for name in ("edges", "watched", "staying"):
            assert getattr(graph, name) == getattr(bucket.graph, name)
        assert dict(graph.merges) == dict(bucket.graph.merges)
        assert graph.merges.next_level() > max((merge.level for _, merge in graph.merges), default=0)
        if bucket.living:
            came = min(stays(bucket.presences[person])[-1][0] for person in bucket.living)
            change = {came: 1} if bucket.edges()[0, came] else {}
            assert graph.missing(99, change, 0) == bucket.graph.missing(99, change, 0)


def test_examples_9_and_10_of_the_paper() -> None:
    cancer_flu = CutGraph(2)
    cancer_flu.step(1, {}, 4)  # Alice, Bob, Chris, Dan
    assert cancer_flu.cut() == 4
    cancer_flu.step(2, {1: 2}, 2)  # Bob and Dan against Greg and a counterfeit
    assert cancer_flu.edges == {(0, 1): 2, (1, 2): 2, (0, 2): 2}  # Figure 2b
    assert cancer_flu.cut() == 4
    assert cancer_flu.missing(3, {}, 0) == 0
    cancer_flu.step(3, {}, 0)
    assert cancer_flu.cut() == 4

    unprotected = CutGraph(1)  # Figure 3: {Ellen, Frank}, then {Ellen, Harry, Ian, Jane}, then {Ian, Jane}
    unprotected.step(1, {}, 2)
    assert unprotected.cut() == 2
    unprotected.step(2, {1: 1}, 3)
    assert unprotected.cut() == 2
    unprotected.step(3, {1: 1, 2: 1}, 0)
    assert unprotected.edges == {(1, 2): 1, (1, 3): 1, (2, 3): 1, (0, 2): 2}
    assert unprotected.cut() == 2
    assert smallest_attack([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 1, 1]]) == 1

    cancer_measles = CutGraph(2)  # Figure 4
    assert cancer_measles.missing(1, {}, 2) == 1  # Ellen and Frank; a whole signature, so two counterfeits
    cancer_measles.step(1, {}, 4)
    assert cancer_measles.cut() == 4
    assert cancer_measles.missing(2, {1: 3}, 1) == 1  # Frank and the counterfeits against Harry; then Ian and Jane
    cancer_measles.step(2, {1: 3}, 3)
    assert cancer_measles.edges == {(0, 1): 1, (1, 2): 3, (0, 2): 3}
    assert cancer_measles.cut() == 4
    assert cancer_measles.missing(3, {1: 1, 2: 1}, 0) == 1  # Ellen and Harry leave
    cancer_measles.step(3, {1: 1, 2: 1}, 2)
    assert cancer_measles.cut() == 4


def test_people_who_return_are_not_one_edge() -> None:
    presences = [[int(mark) for mark in text] for text in ("1101", "1011", "0110", "1111", "0101", "1010")]
    as_edges = Counter(ordered(*stay) for presence in presences for stay in stays(presence))
    assert smallest_nonzero_cut(as_edges) == smallest_cut(as_edges) == 4
    assert smallest_attack(presences) == 1

    graph = CutGraph(2)
    graph.step(1, {}, 4)
    graph.step(2, {1: 2}, 2)
    # 1011 and 1010 would return: without both, release 1 has only the two tuples to 0.
    assert graph.admit([(1, 2), (1, 2)]) == [True, False]
    assert graph.edges == {(0, 1): 2, (1, 2): 1, (0, 2): 2}


def test_a_flow_through_a_third_node_can_be_used_up_there() -> None:
    # 1 and 2 hang together by one tuple, and by two through 3 and 4. Merged, the cut {1, 3} is no longer seen.
    graph = CutGraph(2)
    edges = Counter({(1, 2): 1, (1, 3): 2, (3, 4): 2, (2, 4): 2, (0, 4): 3})
    assert safe(edges, 3)
    graph.edges, graph.number = {(1, 3): 2, (3, 4): 2, (1, 4): 2, (0, 4): 3}, 4
    graph.merges.add(2, Merge(1, graph.merges.next_level(), WIDE, 0, 0, 4))
    assert not safe(edges - Counter({(3, 4): 1}), 3)
    assert flows({**graph.edges, (3, 4): 1}, [(3, 4)]) == [3]
    assert graph.admit([(3, 4)]) == [False]


def test_hundreds_of_releases_keep_the_graph_small() -> None:
    for e, size, turnover in ((3, 30, (1, 6)), (5, 30, (3, 3)), (3, 400, (40, 60))):
        rng = random.Random(e)
        graph = CutGraph(e)
        everything: Counter[Pair] = Counter()
        living: list[int] = []
        largest = 0
        for number in range(1, 301):
            # Tuples above the size stand for counterfeits that are no longer needed.
            going = min(len(living), rng.randint(*turnover) + max(0, len(living) - size))
            leaving = Counter(rng.sample(living, going))
            entering = max(0, size - len(living) + going)
            entering += graph.missing(number, leaving, entering)
            graph.step(number, leaving, entering)
            left = Counter(living) - leaving
            living = [*left.elements(), *([number] * entering)]
            for came, count in leaving.items():
                everything[came, number] += count
            largest = max(largest, graph.nodes)
            if number % 60 == 0:
                whole = everything + Counter((0, came) for came in living)
                assert min(smallest_cut(part) for part in components(whole)) >= 2 * e - 1
        assert graph.living == len(living)
        assert largest <= CutGraph.LIMIT
        assert len(graph.merges) >= 240
