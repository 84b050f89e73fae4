"""Random trees and DAGs against plain sets of labels."""

from __future__ import annotations

import json
import tomllib
from random import Random

import numpy as np
import polars as pl
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from reissue.model.hierarchy import MISSING, Hierarchy

# No deadline: a busy machine is not a failure.
relaxed = examples(12)

Graph = dict[str, list[str]]
ROOT = "*"
# What labels may hold that a file format could trip over.
DECORATIONS = ["", ".", '"', "'", " ", "ü", "#", "=", "]", "\\", "\n"]


@st.composite
def graphs(draw: st.DrawFn, parents: int, most: int = 12) -> Graph:
    """Children of every inner label; each label has at most so many parents."""
    inner_count = draw(st.integers(1, most))
    leaf_count = draw(st.integers(0, most))
    ends = draw(st.lists(st.sampled_from(DECORATIONS), min_size=inner_count, max_size=inner_count))
    inner = [ROOT, *(f"I{number}{end}" for number, end in enumerate(ends[1:]))]
    children: Graph = {label: [] for label in inner}
    labels = [*inner[1:], *(f"L{number}" for number in range(leaf_count))]
    for number, label in enumerate(labels, start=1):
        earlier = inner[: min(number, inner_count)]
        above = draw(st.lists(st.sampled_from(earlier), min_size=1, max_size=parents, unique=True))
        for parent in above:
            children[parent].append(label)
    for number, label in enumerate(inner):
        if not children[label]:
            children[label].append(f"E{number}")
        children[label] = draw(st.permutations(children[label]))
    return children


trees = graphs(parents=1)
dags = graphs(parents=3)
either = st.one_of(trees, dags)


def leaf_sets(children: Graph) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}

    def visit(label: str) -> set[str]:
        if label not in found:
            below = children.get(label)
            found[label] = set().union(*(visit(child) for child in below)) if below else {label}
        return found[label]

    visit(ROOT)
    return found


def longest_ways(children: Graph) -> dict[str, int]:
    longest = {ROOT: 0}
    changed = True
    while changed:
        changed = False
        for label, below in children.items():
            for child in below:
                if label in longest and longest.get(child, -1) < longest[label] + 1:
                    longest[child] = longest[label] + 1
                    changed = True
    return longest


def depth_first(children: Graph) -> dict[str, str | None]:
    """Every label in the order of the walk, with the label it was reached from."""
    origin: dict[str, str | None] = {}

    def visit(label: str, above: str | None) -> None:
        if label not in origin:
            origin[label] = above
            for child in children.get(label, []):
                visit(child, label)

    visit(ROOT, None)
    return origin


@relaxed
@given(either)
def test_nodes_coverage_and_spanning_tree(children: Graph) -> None:
    hierarchy = Hierarchy(ROOT, children)
    origin = depth_first(children)
    sets = leaf_sets(children)
    longest = longest_ways(children)
    assert hierarchy.labels == tuple(origin)
    assert hierarchy.leaves == tuple(label for label in origin if label not in children)
    assert hierarchy.is_tree == (sum(map(len, children.values())) == len(origin) - 1)
    for node, label in enumerate(hierarchy.labels):
        assert hierarchy.node(label) == node
        assert hierarchy.coverage[node] == len(sets[label])
        assert hierarchy.depth[node] == longest[label]
        assert set(hierarchy.covers(label)) == sets[label]
        above = origin[label]
        assert hierarchy.parent[node] == (-1 if above is None else hierarchy.labels.index(above))
    positions: dict[str, list[int]] = {label: [] for label in origin}
    for position, leaf in enumerate(hierarchy.leaves):
        assert hierarchy.labels[hierarchy.leaf_nodes[position]] == leaf
        label: str | None = leaf
        while label is not None:
            positions[label].append(position)
            label = origin[label]
    for node, label in enumerate(hierarchy.labels):
        assert list(range(hierarchy.first[node], hierarchy.last[node] + 1)) == positions[label]
        start, end = hierarchy.child_starts[node : node + 2]
        listed = [hierarchy.labels[child] for child in hierarchy.children[start:end]]
        assert listed == [name for name, above in origin.items() if above == label and positions[name]]


@relaxed
@given(either)
def test_ancestors_are_the_labels_whose_leaves_include_it(children: Graph) -> None:
    hierarchy = Hierarchy(ROOT, children)
    reached: dict[str, set[str]] = {label: set() for label in hierarchy.labels}
    for _ in hierarchy.labels:
        for label, below in children.items():
            for child in below:
                reached[child] |= {label} | reached[label]
    for label in hierarchy.labels:
        above = hierarchy.ancestors(label)
        assert set(above) == reached[label]
        assert len(above) == len(reached[label])
        coverage = [hierarchy.coverage[hierarchy.node(name)] for name in above]
        assert coverage == sorted(coverage)
        assert label == ROOT or above[-1] == ROOT


def check_nearest(children: Graph, groups: list[list[int]]) -> None:
    hierarchy = Hierarchy(ROOT, children)
    sets, longest = leaf_sets(children), longest_ways(children)
    order = list(depth_first(children))
    groups = [[member % hierarchy.base for member in group] for group in groups]
    codes = np.array([member for group in groups for member in group], dtype=np.uint16)
    starts = np.cumsum([0, *map(len, groups)])
    nearest = hierarchy.nearest(codes, starts)
    assert nearest.dtype == np.int32
    for node, group in zip(nearest, groups, strict=True):
        members = {hierarchy.leaves[member] for member in group}
        common = [label for label in order if members <= sets[label]]
        best = min(common, key=lambda label: (len(sets[label]), -longest[label], order.index(label)))
        assert hierarchy.labels[node] == best
        if hierarchy.is_tree:
            # In a tree the common ancestors lie on one line, and the deepest is the lowest.
            assert best == max(common, key=lambda label: longest[label])


groups_of_codes = st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=5), max_size=30)


@relaxed
@given(either, groups_of_codes)
def test_nearest_is_the_smallest_common_ancestor(children: Graph, groups: list[list[int]]) -> None:
    check_nearest(children, groups)


@relaxed
@given(st.integers(0, 2**32), groups_of_codes)
def test_nearest_with_more_than_64_inner_labels(seed: int, groups: list[list[int]]) -> None:
    random = Random(seed)
    inner = [ROOT, *(f"I{number}" for number in range(200))]
    children: Graph = {label: [] for label in inner}
    for number, label in enumerate([*inner[1:], *(f"L{number}" for number in range(100))], start=1):
        earlier = inner[max(0, min(number, len(inner)) - 12) : min(number, len(inner))]
        for parent in random.sample(earlier, min(len(earlier), random.randint(1, 2))):
            children[parent].append(label)
    for number, label in enumerate(inner):
        children[label] = children[label] or [f"E{number}"]
    check_nearest(children, groups)


@relaxed
@given(either, st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=20))
def test_lowest_common_in_the_spanning_tree(children: Graph, pairs: list[tuple[int, int]]) -> None:
    hierarchy = Hierarchy(ROOT, children)
    origin = depth_first(children)

    def way_up(position: int) -> list[str]:
        way: list[str] = []
        label: str | None = hierarchy.leaves[position]
        while label is not None:
            way.append(label)
            label = origin[label]
        return way

    one = np.array([pair[0] % hierarchy.base for pair in pairs], dtype=np.uint8)
    other = np.array([pair[1] % hierarchy.base for pair in pairs], dtype=np.uint8)
    for node, left, right in zip(hierarchy.lowest_common(one, other), one, other, strict=True):
        others = way_up(int(right))
        assert hierarchy.labels[node] == next(label for label in way_up(int(left)) if label in others)


@relaxed
@given(either, st.sampled_from(["refuse", "value"]))
def test_nested_form_goes_round_through_python_json_and_toml(children: Graph, missing: str) -> None:
    hierarchy = Hierarchy(ROOT, children, missing=missing)  # type: ignore[arg-type]
    nested = hierarchy.to_nested()
    for again in (nested, json.loads(json.dumps(nested)), tomllib.loads(tomli_w.dumps(nested))):
        assert Hierarchy.from_nested(again, missing=missing) == hierarchy  # type: ignore[arg-type]


@relaxed
@given(trees, st.integers(0, 2))
def test_rows_of_a_tree_give_the_tree(children: Graph, extra: int) -> None:
    hierarchy = Hierarchy(ROOT, children)
    ways = [(leaf, *hierarchy.ancestors(leaf)) for leaf in hierarchy.leaves]
    width = max(map(len, ways)) + extra
    # As files do it: a leaf is repeated until its row is as long as the others.
    assert Hierarchy.from_rows([[way[0]] * (width - len(way)) + list(way) for way in ways]) == hierarchy


@relaxed
@given(either, st.sampled_from(["refuse", "value"]), st.data())
def test_encode_finds_the_position_of_every_leaf(children: Graph, missing: str, data: st.DataObject) -> None:
    hierarchy = Hierarchy(ROOT, children, missing=missing)  # type: ignore[arg-type]
    values: list[str | None] = [*hierarchy.leaves, ROOT, "unknown", MISSING, None]
    column = data.draw(st.lists(st.sampled_from(values), max_size=30))
    coded = hierarchy.encode(pl.Series(column, dtype=pl.String))
    known = {leaf: position for position, leaf in enumerate(hierarchy.leaves) if leaf != MISSING}
    uncovered = [value for value in column if value is not None and value not in known]
    assert coded.uncovered == len(uncovered)
    assert coded.uncovered_labels() == sorted(set(uncovered))
    assert coded.nulls == (column.count(None) if missing == "refuse" else 0)
    if coded.complete:
        assert coded.codes.tolist() == [known.get(value or "", hierarchy.base - 1) for value in column]
