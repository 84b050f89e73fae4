"""Hierarchy: a taxonomy over the labels of a column, a tree or a DAG, with exactly one root.

Which label a group of rows is published under is the question it answers (`nearest`). Its structure is
also laid out in plain arrays that compiled kernels take as they are.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.types import Bools, Words
from reissue.errors import HierarchyError, InternalError, ParameterError, count_of
from reissue.model.hierarchy import builders
from reissue.model.hierarchy import sources as reading
from reissue.model.toml_text import DEEPEST

MISSING = "(missing)"
"""The label of a missing value where a column's nulls count as a value of their own."""

Ints = npt.NDArray[np.int32]
Codes = npt.NDArray[np.unsignedinteger[Any]]
Positions = npt.NDArray[np.integer[Any]]
Missing = Literal["refuse", "value"]


@dataclass(frozen=True, repr=False, eq=False)
class CodedLabels:
    """A column coded by a hierarchy, and how far that went."""

    uncovered: int
    """How many values (not nulls) are no leaf of the hierarchy."""
    nulls: int
    """How many nulls had no code, because the hierarchy refuses them."""
    _codes: Codes
    _unknown: pl.Series

    @property
    def complete(self) -> bool:
        """Whether every row has a code."""
        return not self.uncovered and not self.nulls

    @property
    def codes(self) -> Codes:
        """The leaf position of each row, in the smallest unsigned type; only where `complete`."""
        if not self.complete:
            raise InternalError("the codes of a column were used although its hierarchy does not cover it")
        return self._codes

    def uncovered_labels(self) -> list[str]:
        """The distinct values that are no leaf, in order. They are cell values: show them only when asked."""
        return self._unknown.unique().sort().to_list()

    def __repr__(self) -> str:
        return f"CodedLabels({self._codes.size:,} rows, {self.uncovered:,} uncovered, {self.nulls:,} nulls)"


@dataclass(frozen=True, repr=False, eq=False, init=False)
class Hierarchy:
    """A taxonomy over labels: immutable, equal by content.

    Every label is one node, and may have several parents. A depth-first walk from the root, children
    in their given order, numbers the nodes; the parent a node is first reached from is its parent in
    the *spanning tree*. In a tree that is the whole hierarchy. In a DAG an inner node whose leaves were
    all reached before has none of its own in the spanning tree: its interval is empty (`last` is
    `first` - 1) and `children` leaves it out, so a walk down `children` never meets an empty node.

    Different labels may stand for the same leaves, one above the other or side by side; a node with a
    single child stays a node.
    """

    labels: tuple[str, ...]
    """The label of every node, leaves too; node 0 is the root."""
    leaves: tuple[str, ...]
    """The labels of the leaves, in the order of the walk: the position of a leaf is its code."""
    missing: Missing
    """What a null means: refused, or a value of its own, the leaf MISSING directly under the root."""
    is_tree: bool
    """Whether every node has at most one parent."""
    parent: Ints
    """The parent of each node in the spanning tree; -1 for the root."""
    first: Ints
    """The lowest leaf position below each node in the spanning tree."""
    last: Ints
    """The highest leaf position below each node in the spanning tree (inclusive)."""
    coverage: Ints
    """How many leaves lie below each node in the full hierarchy; 1 for a leaf."""
    depth: Ints
    """The longest way from the root to each node; 0 for the root."""
    child_starts: Ints
    """Where the children of each node begin in `children`; one entry more than there are nodes."""
    children: Ints
    """The children of each node in the spanning tree, node after node."""
    leaf_nodes: Ints
    """The node of each leaf position."""
    full_children: reading.Lists
    """The children of each node in the full hierarchy, in their given order."""
    full_parents: reading.Lists
    """The parents of each node in the full hierarchy."""

    def __init__(self, root: str, children: Mapping[str, Sequence[str]], *, missing: Missing = "refuse") -> None:
        """Build it from the labels directly below each inner label; labels without an entry are leaves."""
        if missing not in ("refuse", "value"):
            raise ParameterError(
                f"The 'missing' parameter of Hierarchy must be 'refuse' or 'value'. Got {missing!r} instead."
            )
        problems = builders.graph_problems(root, children) + _reserved(root, children, missing)
        if problems:
            raise HierarchyError("The hierarchy is not a taxonomy.", problems=problems)
        if missing == "value":
            children = {**children, root: [*children[root], MISSING]}
        laid_out = reading.layout(root, children)
        if (deepest := int(laid_out.depth.max())) > DEEPEST:
            raise HierarchyError(
                f"The hierarchy has {deepest:,} levels; more than {DEEPEST} cannot be kept.",
                hint="leave out levels that nobody generalises to.",
            )
        for name, value in laid_out._asdict().items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "missing", missing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        leaves = count_of(self.base, "leaf", "leaves")
        return f"Hierarchy({leaves}, {count_of(self.levels, 'level')}{'' if self.is_tree else ', DAG'})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Built anew, since unpickled arrays would be writable.
        root, children = self._declared()
        return partial(Hierarchy, missing=self.missing), (root, children)

    @property
    def _content(self) -> tuple[object, ...]:
        return self.labels, self.full_children, self.missing

    def _declared(self) -> tuple[str, dict[str, list[str]]]:
        """Root and children as they were given, without the leaf added for missing values."""
        children = {
            self.labels[node]: [self.labels[child] for child in nodes]
            for node, nodes in enumerate(self.full_children)
            if nodes
        }
        if self.missing == "value":
            children[self.labels[0]].pop()
        return self.labels[0], children

    @classmethod
    def read(cls, path: str | Path, *, missing: Missing = "refuse", delimiter: str | None = None) -> Hierarchy:
        """Read a file: `.csv` with a line for each leaf, `.json` or `.toml` nested.

        What stands between the cells of a CSV file is found, and `;` where several would do, as ARX writes it;
        `delimiter` says it.
        """
        taxonomy = reading.read_taxonomy(Path(path), delimiter)
        return cls._checked(taxonomy, missing, f"The hierarchy {path} is not a taxonomy.")

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], *, missing: Missing = "refuse") -> Hierarchy:
        """Build it from one row for each leaf: the leaf, more general labels, the root.

        A label that is repeated on the next level, for the same leaves, is one node. Levels are
        counted from 0, the leaves.
        """
        return cls._checked(builders.taxonomy_of_rows(rows), missing, "The rows are not a taxonomy.")

    @classmethod
    def from_nested(cls, nested: Mapping[str, Any], *, missing: Missing = "refuse") -> Hierarchy:
        """Build it from `{"*": {"Higher": ["Bachelors", "Masters"], "Secondary": ["11th"]}}`.

        One root key; mappings hold inner labels, lists hold leaves and, where they mix, mappings. A label
        that stands in two places has two parents; its contents are given once (elsewhere it is a bare
        label in a list), or the same each time.
        """
        return cls._checked(reading.taxonomy_of_nested(nested), missing, "The mapping is not a taxonomy.")

    @classmethod
    def intervals(
        cls,
        low: int,
        high: int,
        widths: Sequence[int] = (),
        *,
        label: str = "{low}-{high}",
        missing: Missing = "refuse",
    ) -> Hierarchy:
        """Whole numbers from `low` to `high`, in intervals of growing widths that begin at multiples.

        >>> Hierarchy.intervals(17, 90, (5, 10, 20)).ancestors("23")
        ('20-24', '20-29', '20-39', '*')
        """
        return cls.from_rows(builders.interval_rows(low, high, widths, label), missing=missing)

    @classmethod
    def dates(
        cls,
        first: datetime.date,
        last: datetime.date,
        levels: Sequence[str] = ("day", "month", "year"),
        *,
        missing: Missing = "refuse",
    ) -> Hierarchy:
        """Dates as `2024-01-31`, `2024-01`, `2024`; the leaves are at the first level named."""
        return cls.from_rows(builders.date_rows(first, last, levels), missing=missing)

    @classmethod
    def masked(
        cls,
        values: Iterable[str],
        *,
        character: str = "*",
        levels: Sequence[int] | None = None,
        missing: Missing = "refuse",
    ) -> Hierarchy:
        """Strings of one length, masked from the right: `53711`, `5371*`, ... `*****`.

        `levels` says how many characters each level masks, one more each time unless given; the root
        masks all. Values may repeat; leaves are in alphabetical order.
        """
        return cls.from_rows(builders.masked_rows(values, character, levels), missing=missing)

    @classmethod
    def _checked(cls, taxonomy: builders.Taxonomy, missing: Missing, what: str) -> Hierarchy:
        problems = taxonomy.problems + _reserved(taxonomy.root, taxonomy.children, missing)
        if problems:
            raise HierarchyError(what, problems=problems)
        return cls(taxonomy.root, taxonomy.children, missing=missing)

    def to_nested(self) -> dict[str, Any]:
        """The mapping that `from_nested` reads back to an equal hierarchy, given the same `missing`.

        Ready for JSON and TOML: where TOML would reorder a mapping, a list of mappings stands instead.
        """
        return reading.nested_of(*self._declared())

    @property
    def base(self) -> int:
        """How many leaves there are."""
        return len(self.leaves)

    @property
    def levels(self) -> int:
        """How many nodes the longest way from the root to a leaf passes, both included."""
        return int(self.depth.max()) + 1

    def node(self, label: str) -> int:
        """The number of the node with this label."""
        found = self._numbers.get(label)
        if found is None:
            # The label may be a cell value, so the message does not repeat it.
            raise HierarchyError(f"None of the {len(self.labels):,} nodes of the hierarchy has this label.")
        return found

    def ancestors(self, label: str) -> tuple[str, ...]:
        """The labels above a label, in the order in which `nearest` prefers them; the root is last."""
        above = reading.reach(self.node(label), self.full_parents)
        return tuple(self.labels[node] for node in self._preference if int(node) in above)

    def covers(self, label: str) -> tuple[str, ...]:
        """The leaves a label stands for, in the order of `leaves`; a leaf stands for itself."""
        node = self.node(label)
        below = reading.reach(node, self.full_children) | {node}
        return tuple(self.labels[reached] for reached in sorted(below) if not self.full_children[reached])

    def encode(self, labels: pl.Series) -> CodedLabels:
        """Code a column of texts by leaf positions. The text MISSING is never taken for a null."""
        if labels.dtype != pl.String:
            raise InternalError(f"a hierarchy codes columns of text, not {labels.dtype}")
        has_missing = self.missing == "value"
        found = labels.cast(self._enum, strict=False).to_physical()
        nulls = labels.null_count()
        uncovered = found.null_count() - nulls
        unknown = labels.filter(found.is_null() & labels.is_not_null()) if uncovered else labels.clear()
        # The leaf added for missing values is the last. What has no code stands as 0 and cannot be got at.
        smallest = pl.UInt8 if self.base <= 2**8 else pl.UInt16 if self.base <= 2**16 else pl.UInt32
        codes = found.cast(smallest).fill_null(self.base - 1 if has_missing else 0).to_numpy(writable=True)
        return CodedLabels(uncovered, 0 if has_missing else nulls, codes, unknown)

    def lowest_common(self, first_codes: Positions, last_codes: Positions) -> Ints:
        """The lowest node of the spanning tree that has both leaf positions below it, pair by pair."""
        low = np.minimum(first_codes, last_codes)
        high = np.maximum(first_codes, last_codes)
        nodes = self.leaf_nodes[low]
        climbing = np.flatnonzero(self.last[nodes] < high)
        while climbing.size:
            nodes[climbing] = self.parent[nodes[climbing]]
            climbing = climbing[self.last[nodes[climbing]] < high[climbing]]
        return nodes

    def nearest(self, codes: Codes, starts: Positions) -> Ints:
        """The nearest common ancestor of every group of leaf positions, as a node.

        `codes` stand group after group; group g is `codes[starts[g]:starts[g + 1]]`, never empty. In a
        tree it is the lowest node above all members. In a DAG it is the common ancestor with the fewest
        leaves; of several the deepest, which puts a node before its own ancestors, then the first.
        """
        if starts[0] != 0 or starts[-1] != codes.size or (np.diff(starts) < 1).any():
            raise InternalError("groups of codes must not be empty, and must hold every code")
        if not codes.size:
            return np.empty(0, dtype=np.int32)
        low = np.minimum.reduceat(codes, starts[:-1])
        high = np.maximum.reduceat(codes, starts[:-1])
        if self.is_tree:
            return self.lowest_common(low, high)
        nodes = self.leaf_nodes[low]
        groups = np.flatnonzero(low != high)
        codes, starts = _kept(codes, starts, low != high)
        for word, above in enumerate(self._ancestor_words):
            if not groups.size:
                break
            common = np.bitwise_and.reduceat(above[codes], starts[:-1])
            lowest = common & (~common + np.uint64(1))
            rank = 64 * word + np.bitwise_count(lowest - np.uint64(1)).astype(np.int64)
            settled = common != 0
            nodes[groups[settled]] = self._inner[rank[settled]]
            groups = groups[~settled]
            codes, starts = _kept(codes, starts, ~settled)
        return nodes

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    @cached_property
    def _enum(self) -> pl.Enum:
        return pl.Enum(self.leaves[:-1] if self.missing == "value" else self.leaves)

    @cached_property
    def _preference(self) -> Ints:
        """All nodes, those first that `nearest` prefers."""
        return np.lexsort((-self.depth, self.coverage)).astype(np.int32)

    @cached_property
    def _inner(self) -> Ints:
        """The inner nodes in order of preference."""
        leaf = np.isin(self._preference, self.leaf_nodes)
        return self._preference[~leaf]

    @cached_property
    def _ancestor_words(self) -> Words:
        """Row w, bit b: whether `_inner[64 * w + b]` is above the leaf of the column."""
        return reading.ancestor_words(self._inner, self.depth, self.leaf_nodes, self.full_parents)


def _kept(codes: Codes, starts: Positions, keep: Bools) -> tuple[Codes, Positions]:
    """The codes of some of the groups, and where those begin."""
    if keep.all():
        return codes, starts
    sizes = np.diff(starts)
    return codes[np.repeat(keep, sizes)], np.concatenate(([0], np.cumsum(sizes[keep])))


def _reserved(root: str, children: Mapping[str, Sequence[str]], missing: Missing) -> list[str]:
    taken = root == MISSING or any(MISSING in below for below in children.values())
    if missing == "value" and taken:
        return [f"the label '{MISSING}' is kept for missing values, which this hierarchy treats as a value"]
    return []
