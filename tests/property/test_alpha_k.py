"""AlphaK on random small tables, judged by brute force that shares nothing with it."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.guarantees.single.alpha_k_anonymity import AlphaKAnonymous
from reissue.methods.partition.alpha_k import AlphaK
from reissue.model.snapshot import Delta, Snapshot
from reissue.tables.coding import code_table
from reissue.tables.recode import generalise, view_of

VALUES = ["u", "v", "w", "x", "y"]
PROTECT: list[list[list[str]]] = [[["u"]], [["u", "v"]], [["u"], ["v", "w"]], [["u", "v"], ["v", "w"]], []]
Path = tuple[Any, ...]
"""The nodes from the root of a taxonomy to one of its leaves."""


class Case(NamedTuple):
    """A random table, a method, and everything about them in plain Python."""

    table: pl.DataFrame
    schema: ri.Schema
    method: AlphaK
    snapshot: Snapshot
    paths: list[list[Path]]
    """For each row and attribute the way down to its leaf."""
    strata: list[Any]
    values: list[str]

    @property
    def sets(self) -> list[set[str]]:
        return [set(one) for one in self.schema.protect] or [{value} for value in VALUES]

    def satisfied(self, rows: Iterable[int]) -> bool:
        counts = Counter(self.values[row] for row in rows)
        size, share = sum(counts.values()), Fraction(str(self.method.alpha))
        return size >= self.method.k and all(sum(counts[v] for v in one) <= share * size for one in self.sets)


def random_tree(chance: random.Random, *, shared: bool) -> ri.Hierarchy:
    """An uneven taxonomy; with `shared`, a label may have two parents."""
    inner = ["*", *(f"i{n}" for n in range(chance.randrange(4)))]
    children: dict[str, list[str]] = {label: [] for label in inner}
    for place, label in enumerate(inner[1:], start=1):
        children[chance.choice(inner[:place])].append(label)
    for n in range(chance.randrange(2, 7)):
        above = chance.sample(inner, 2 if shared and len(inner) > 1 and chance.random() < 0.3 else 1)
        for label in above:
            children[label].append(f"l{n}")
    for n, label in enumerate(inner):
        if not children[label]:
            children[label].append(f"e{n}")
    return ri.Hierarchy("*", children)


def path_in_tree(tree: ri.Hierarchy, label: str) -> Path:
    node, way = tree.node(label), []
    while node >= 0:
        way.append(node)
        node = int(tree.parent[node])
    return tuple(reversed(way))


def path_of_number(number: float | None, numbers: list[float], low: Fraction, high: Fraction) -> Path:
    """Halve the domain until one number is left; a missing number lies beside all numbers."""
    if number is None:
        return ("*", None)
    way: list[Any] = ["*", (low, high)]
    while len(numbers) > 1:
        middle = (low + high) / 2
        low, high = (low, middle) if number < middle else (middle, high)
        numbers = [one for one in numbers if (one < middle) == (number < middle)]
        way.append((low, high))
    return (*way, ("leaf", number))


def random_case(seed: int, recoding: str = "local") -> Case:
    chance = random.Random(seed)
    size = chance.randrange(2, 34)
    columns: dict[str, list[Any]] = {"person": chance.sample(range(10_000), size)}
    quasi: dict[str, Any] = {}
    ways: list[Callable[[Any], Path]] = []
    for name in ["a", "b", "c"][: chance.randrange(1, 4)]:
        kind = chance.choice(["tree", "tree", "dag", "number", "missing", "label"])
        if kind in ("tree", "dag"):
            tree = random_tree(chance, shared=kind == "dag")
            quasi[name] = tree
            columns[name] = [chance.choice(tree.leaves) for _ in range(size)]
            ways.append(lambda cell, tree=tree: path_in_tree(tree, cell))  # type: ignore[misc]
        elif kind == "label":
            quasi[name] = ri.Categorical()
            columns[name] = [chance.choice("pqr") for _ in range(size)]
            ways.append(lambda cell: ("*", cell))
        else:
            quasi[name] = ri.Numeric(low=0, high=chance.choice([9, 20]), missing="value")
            share = 0.2 if kind == "missing" else 0.0
            numbers = [None if chance.random() < share else chance.randrange(10) for _ in range(size)]
            columns[name] = numbers
            known = sorted({float(one) for one in numbers if one is not None})
            low, high = Fraction(0), Fraction(int(quasi[name].high))
            ways.append(lambda cell, known=known, low=low, high=high: path_of_number(cell, known, low, high))  # type: ignore[misc]
    weights = chance.choice([[1, 1, 1, 1, 1], [1, 2, 3, 4, 9], [2, 2, 1, 1, 8]])
    columns["value"] = chance.choices(VALUES, weights, k=size)
    as_is = chance.random() < 0.2
    columns["ward"] = [chance.choice("mn") if as_is else "m" for _ in range(size)]
    overrides = {name: pl.Int64 for name, kind in quasi.items() if isinstance(kind, ri.Numeric)}
    table = pl.DataFrame(columns, schema_overrides=overrides)
    schema = ri.Schema(
        person="person",
        quasi=quasi,
        sensitive={"value": ri.Categorical(values=VALUES)},  # type: ignore[arg-type]
        as_is=["ward"],
        protect=chance.choice(PROTECT),
    )
    alpha = chance.choice(["1/2", "1/3", "2/3", "2/5", "1"])
    method = AlphaK(alpha, chance.choice([1, 1, 1, 2, 3, 5]), recoding)  # type: ignore[arg-type]
    paths = [[way(cell) for way, cell in zip(ways, row, strict=True)] for row in table.select(list(quasi)).rows()]
    snapshot = code_table(table, schema).snapshot
    return Case(table, schema, method, snapshot, paths, table["ward"].to_list(), columns["value"])


def groups_of(case: Case, snapshot: Snapshot, seed: int = 0) -> list[list[int]]:
    nobody = np.empty(0, dtype=np.int64)
    delta = Delta(nobody, nobody, nobody, nobody, nobody, nobody)
    grouping, memory = case.method.group(snapshot, delta, {}, np.random.default_rng(seed))
    assert memory == {}
    found = defaultdict(list)
    for row, group in enumerate(grouping.group.tolist()):
        found[group].append(row)
    assert sorted(found) == list(range(grouping.count))
    return list(found.values())


def common(paths: Sequence[Path]) -> Path:
    """The way to the lowest node above all leaves."""
    depth = min(len(path) for path in paths)
    while len({path[:depth] for path in paths}) > 1:
        depth -= 1
    return paths[0][:depth]


def vector(case: Case, rows: Sequence[int]) -> tuple[Any, ...]:
    """Where a group is published: its stratum, and the lowest nodes above its rows."""
    columns = zip(*(case.paths[row] for row in rows), strict=True)
    return (case.strata[rows[0]], *(common(column) for column in columns))


def feasible(case: Case) -> bool:
    return all(
        case.satisfied([row for row, here in enumerate(case.strata) if here == stratum]) for stratum in set(case.strata)
    )


@pytest.fixture(scope="module")
def grouped() -> list[tuple[Case, list[list[int]]]]:
    cases = [case for case in map(random_case, range(420)) if feasible(case)]
    return [(case, groups_of(case, case.snapshot)) for case in cases]


def test_there_is_enough_to_look_at(grouped: list[tuple[Case, list[list[int]]]]) -> None:
    assert len(grouped) > 150
    several = [rows for case, groups in grouped for rows in groups if len({tuple(case.paths[row]) for row in rows}) > 1]
    assert len(several) > 250
    # Local recoding: classes of which some rows are generalised and some are not.
    split = 0
    for case, groups in grouped:
        where = defaultdict(set)
        for number, rows in enumerate(groups):
            for row in rows:
                where[(case.strata[row], *case.paths[row])].add(number)
        split += any(len(numbers) > 1 for numbers in where.values())
    assert split > 40


def test_every_group_satisfies_the_requirement(grouped: list[tuple[Case, list[list[int]]]]) -> None:
    for number, (case, groups) in enumerate(grouped):
        assert sorted(row for rows in groups for row in rows) == list(range(len(case.values)))
        assert all(case.satisfied(rows) for rows in groups)
        assert all(len({case.strata[row] for row in rows}) == 1 for rows in groups)
        if number % 8 == 0:
            # The guarantee's own checker thinks the same of what is published.
            grouping, _ = case.method.group(case.snapshot, None, {}, np.random.default_rng(0))  # type: ignore[arg-type]
            published = view_of(case.snapshot, generalise(case.snapshot, grouping).groups)
            (promise,) = case.method.promises(case.schema)
            assert AlphaKAnonymous(**promise.parameters).check(published).holds  # type: ignore[arg-type]


def test_people_at_the_same_nodes_are_one_group(grouped: list[tuple[Case, list[list[int]]]]) -> None:
    for case, groups in grouped:
        vectors = [vector(case, rows) for rows in groups]
        assert len(set(vectors)) == len(vectors)


def test_no_group_can_go_down_on_an_attribute(grouped: list[tuple[Case, list[list[int]]]]) -> None:
    """Definition 3: all rows of a group one level down on one attribute, where they meet whoever is there."""
    for case, groups in grouped:
        there = {vector(case, rows): rows for rows in groups}
        for here, rows in there.items():
            for attribute, path in enumerate(here[1:]):
                children = defaultdict(list)
                for row in rows:
                    children[case.paths[row][attribute][: len(path) + 1]].append(row)
                if set(children) == {path}:
                    continue
                levels = {
                    (*here[: attribute + 1], node, *here[attribute + 2 :]): below for node, below in children.items()
                }
                assert not all(
                    any(case.satisfied([*below, *there.get(goal, [])]) for goal in ((), level, vector(case, below)))
                    for level, below in levels.items()
                )


def test_some_class_of_every_group_breaks_the_requirement(grouped: list[tuple[Case, list[list[int]]]]) -> None:
    """What the minimality attack argues from: a class is judged by its rows in the group and its ungeneralised rows."""
    for case, groups in grouped:
        classes = [{(case.strata[row], *case.paths[row]) for row in rows} for rows in groups]
        alone = {next(iter(found)): rows for found, rows in zip(classes, groups, strict=True) if len(found) == 1}
        for found, rows in zip(classes, groups, strict=True):
            if len(found) > 1:
                judged = [
                    [*(row for row in rows if (case.strata[row], *case.paths[row]) == one), *alone.get(one, [])]
                    for one in found
                ]
                assert not all(case.satisfied(one) for one in judged)


def test_the_order_of_rows_changes_nothing(grouped: list[tuple[Case, list[list[int]]]]) -> None:
    def content(table: pl.DataFrame, groups: list[list[int]]) -> Any:
        rows = table.drop("person").rows()
        return sorted(sorted(map(repr, (rows[row] for row in group))) for group in groups)

    for number, (case, groups) in enumerate(grouped[::4]):
        order = random.Random(number).sample(range(case.table.height), case.table.height)
        table = case.table[order]
        again = groups_of(case, code_table(table, case.schema).snapshot)
        assert content(table, again) == content(case.table, groups)


def test_a_seed_draws_among_rows_that_count_the_same() -> None:
    """Three of five people of q2 stay with those of q1; who is drawn, and which values they have."""
    table = pl.DataFrame({"person": range(7), "place": ["q1"] * 2 + ["q2"] * 5, "value": ["u", "u", *"vwxyx"]})
    schema = ri.Schema("person", {"place": ri.Categorical()}, "value", protect=[["u"]])
    snapshot = code_table(table, schema).snapshot
    seen = set()
    for seed in range(40):
        grouping, _ = AlphaK(0.5).group(snapshot, None, {}, np.random.default_rng(seed))  # type: ignore[arg-type]
        assert sorted(grouping.sizes().tolist()) == [3, 4]
        seen.add(tuple(np.flatnonzero(grouping.group == grouping.group[0]).tolist()))
    assert len(seen) == 10
    assert all(rows[:2] == (0, 1) for rows in seen)


def test_full_domain_is_the_best_of_all_minimal_vectors() -> None:
    looked = 0
    for seed in range(150):
        case = random_case(seed, "full-domain")
        if not feasible(case):
            continue
        ladders = [levels_of(case, attribute) for attribute in range(len(case.schema.quasi))]

        def grouping(heights: Sequence[int], case: Case = case, ladders: Any = ladders) -> list[list[int]]:
            found = defaultdict(list)
            for row in range(len(case.values)):
                labels = (ladder[height][0][row] for ladder, height in zip(ladders, heights, strict=True))
                found[(case.strata[row], *labels)].append(row)
            return list(found.values())

        lattice = list(product(*(range(len(ladder)) for ladder in ladders)))
        satisfying = [one for one in lattice if all(case.satisfied(rows) for rows in grouping(one))]
        minimal = [
            one
            for one in satisfying
            if not any(other != one and all(x <= y for x, y in zip(other, one, strict=True)) for other in satisfying)
        ]
        losses = {one: round(sum(sum(ladders[at][height][1]) for at, height in enumerate(one)), 9) for one in minimal}
        best = min(minimal, key=lambda one: (losses[one], one))
        assert sorted(map(sorted, groups_of(case, case.snapshot))) == sorted(map(sorted, grouping(best)))
        looked += len(lattice) > 1
    assert looked > 50


def levels_of(case: Case, attribute: int) -> list[tuple[list[Any], list[float]]]:
    """For each level of an attribute the label and the loss of every row, by the book."""
    name, kind = list(case.schema.quasi.items())[attribute]
    cells = case.table[name].to_list()
    if isinstance(kind, ri.Hierarchy):
        ways = [path_in_tree(kind, label) for label in kind.leaves]
        found = []
        for height in range(max(len(way) for way in ways)):
            label = {leaf: way[max(len(way) - 1 - height, 0)] for leaf, way in zip(kind.leaves, ways, strict=True)}
            loss = {
                leaf: (len(kind.covers(kind.labels[node])) - 1) / (kind.base - 1 or 1) for leaf, node in label.items()
            }
            found.append(([label[cell] for cell in cells], [loss[cell] for cell in cells]))
        return found
    distinct = len(set(cells))
    if isinstance(kind, ri.Categorical):
        return [(cells, [0.0] * len(cells)), (["*"] * len(cells), [1.0 if distinct > 1 else 0.0] * len(cells))]
    high = Fraction(int(kind.high or 0))
    found = [(cells, [0.0] * len(cells))]
    for bits in range(6, -1, -1):
        part = [None if cell is None else min(int(cell / high * 2**bits), 2**bits - 1) for cell in cells]
        if len(set(part)) < len(set(found[-1][0])):
            found.append((part, [0.0 if cell is None else 0.5**bits for cell in cells]))
    if len(set(found[-1][0])) > 1:
        found.append((["*"] * len(cells), [1.0] * len(cells)))
    return found
