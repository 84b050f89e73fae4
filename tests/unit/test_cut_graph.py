"""Cut graphs on cases worked out by hand; the brute force is in tests/oracle."""

from __future__ import annotations

import pytest

from reissue.errors import InternalError, ParameterError
from reissue.reasoning.equality.cut_flows import components, flows, reached, tree_of_flows
from reissue.reasoning.equality.cut_graph import CutGraph
from reissue.reasoning.equality.cut_merges import HEAVY, TIED, WIDE, Merge, Merges


class Careful(CutGraph):
    """Merges with a reserve at once, and without one when there are more than a few nodes."""

    EVERY = 1
    ROOM = 1
    LIMIT = 5


def test_whoever_returns_needs_company() -> None:
    graph = CutGraph(2)
    graph.step(1, {}, 12)
    graph.step(2, {1: 6}, 6)
    assert graph.admit([(1, 2)]) == [True]
    # Nobody else comes or goes: alone at release 3 the weights of 2 and 3 would tell the person's value.
    assert graph.missing(3, {}, 0, returners_entering=1) == 3
    assert graph.missing(3, {}, 2, returners_entering=1) == 1
    graph.step(3, {}, 3, returners_entering=1)
    # All but the person leave: it is the one tuple left.
    assert graph.missing(4, {1: 6, 2: 6, 3: 3}, 0) == 3
    assert graph.missing(4, {1: 6, 2: 6, 3: 3}, 0, returners_leaving={3: 1}) == 0
    # It alone leaves.
    assert graph.missing(4, {}, 0, returners_leaving={3: 1}) == 3
    graph.step(4, {}, 3, returners_leaving={3: 1})
    # What came loose otherwise must not part the ends of a former stay.
    assert graph.missing(5, {1: 6, 2: 6, 3: 3, 4: 3}, 0) == 0


def test_a_loose_part_must_not_take_one_end_of_a_watched_stay() -> None:
    graph = CutGraph(1)
    graph.step(1, {}, 2)
    graph.step(2, {1: 1}, 2)
    assert graph.missing(3, {1: 1}, 0) == 0
    assert graph.admit([(1, 2)]) == [True]
    assert graph.edges == {(0, 1): 1, (0, 2): 2}
    assert graph.missing(3, {1: 1}, 0) == 1  # 1 and 3 would come loose from 0 and 2
    assert graph.missing(3, {1: 1, 2: 2}, 0) == 0


def test_a_bucket_that_ends_and_comes_back() -> None:
    graph, other = CutGraph(2), CutGraph(2)
    for each in (graph, other):
        each.step(1, {}, 6)
        each.step(2, {1: 3}, 3)
    graph.end(3)
    other.step(3, {1: 3, 2: 3}, 0)
    assert graph.edges == other.edges == {(1, 2): 3, (1, 3): 3, (2, 3): 3}
    assert graph.living == 0
    assert graph.missing(4, {}, 0) == 0
    assert graph.missing(4, {}, 2) == 1
    graph.step(7, {}, 4)
    assert graph.cut() == 4
    assert len(components(graph.edges)) == 2
    assert graph.admit([(1, 3)]) == [True]  # somebody of the first time is back
    assert graph.missing(8, {}, 3, returners_entering=1) == 0


def test_a_part_that_came_loose_is_one_node_with_a_reserve() -> None:
    graph = Careful(2)
    graph.step(1, {}, 6)
    graph.step(2, {1: 3}, 3)
    graph.end(3)  # a triangle with three tuples on each side: its smallest cut is 6
    assert graph.edges == {}
    assert graph.cut() is None
    assert graph.admit([(1, 2), (1, 2), (1, 3)]) == [True, True, True]
    assert graph.admit([(1, 3)]) == [False]  # release 1 has no more than three tuples left
    graph.step(5, {}, 3, returners_entering=3)
    assert graph.cut() == 3


def test_what_each_rule_spares() -> None:
    def merges(rule: int, spare: int, around: int = 0) -> Merges:
        found = Merges()
        found.add(2, Merge(1, 1, TIED, 5, 0, 3))
        found.add(3, Merge(1, 2, rule, spare, around, 4))
        return found

    tied = merges(TIED, 1)
    assert tied.take_out([(1, 3)])
    assert not tied.take_out([(2, 3)])
    assert tied.take_out([(1, 2)] * 5 + [(3, 9)] * 9 + [(3, 0)])
    assert not tied.take_out([(1, 2)])

    heavy = merges(HEAVY, 0, 3)  # 2 w - degree = 0, degree - T = 3
    assert not heavy.take_out([(1, 3)])
    assert heavy.take_out([(1, 3), (3, 0)])
    assert heavy.take_out([(1, 2)])
    assert heavy.take_out([(3, 9)])
    assert not heavy.take_out([(3, 9)])

    wide = merges(WIDE, 1)
    assert wide.take_out([(1, 2)])  # inside a node when it was made
    assert wide.take_out([(7, 8), (3, 0)])  # left later, or has not left
    assert wide.take_out([(1, 4)])
    assert not wide.take_out([(2, 3)])


def test_plain_flows_and_cuts() -> None:
    edges = {(0, 1): 3, (1, 2): 2, (0, 2): 1, (5, 6): 4}
    assert flows(edges, [(0, 1), (1, 2), (2, 5), (5, 6), (0, 9)]) == [4, 3, 0, 4, 0]
    assert reached(edges, 0) == {0, 1, 2}
    assert reached(edges, 9) == {9}
    assert [sorted(part) for part in components(edges)] == [[(0, 1), (0, 2), (1, 2)], [(5, 6)]]
    assert tree_of_flows(edges)[:2] in ([(4, 0, 1), (4, 5, 6)], [(4, 0, 1), (4, 6, 5)], [(4, 1, 0), (4, 6, 5)])


def test_mistakes_of_the_caller_are_told() -> None:
    graph = CutGraph(2)
    graph.step(1, {}, 4)
    with pytest.raises(InternalError, match="2 tuples more leave than live"):
        graph.missing(2, {1: 6}, 4)
    with pytest.raises(InternalError, match="1 tuple more would return"):
        graph.admit([(1, 2)])
    with pytest.raises(InternalError, match="had returned"):
        graph.missing(2, {}, 4, returners_leaving={1: 1})
    with pytest.raises(InternalError, match="in order"):
        graph.step(1, {}, 4)
    with pytest.raises(InternalError, match="in order"):
        graph.end(1)
    assert repr(graph) == "CutGraph(e=2, 2 nodes, 4 living tuples)"
    for wrong, shown in ((0, "0"), (1.5, "1.5"), ("2", "a str"), (True, "True")):
        with pytest.raises(ParameterError, match=f"'e' parameter of CutGraph .* Got {shown} instead"):
            CutGraph(wrong)  # type: ignore[arg-type]
