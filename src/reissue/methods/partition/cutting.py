"""What methods that cut tables share: rows as cells, attributes and rules as the kernel wants them, and the cuts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reissue.arrays.cores import PARALLEL_FROM, at_once, cores
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError
from reissue.methods.partition.axes import axis, ordered, places
from reissue.model.promise import Promise
from reissue.model.records import Records
from reissue.model.rules import Close, ColumnShare, Distinct, Entropy, Recursive, Rows, Rule, Share, Spread
from reissue.model.schema import Schema
from reissue.model.snapshot import Labels, Leaves, Levels, Numbers, Snapshot, strata

NEAR = 4
"""So many times the smallest size are few rows: the best cut is looked for."""
TOLERANCE = 1e-12
"""For figures that are sums of floats; far below the tolerance of the checkers, so never laxer."""


def cells_of(snapshot: Snapshot, values: npt.NDArray[np.uint32]) -> npt.NDArray[np.unsignedinteger]:
    """The quasi-identifiers and, last, the sensitive value: one row of codes for each person."""
    columns = [*(ordered(column.codes, places(column, snapshot.schema)) for column in snapshot.quasi), values]
    wide = any(int(codes.max()) >= 1 << 16 for codes in columns)
    cells = np.empty((len(snapshot), len(columns)), dtype=np.uint32 if wide else np.uint16)
    for position, codes in enumerate(columns):
        cells[:, position] = codes
    return cells


def places_among(used: Ints) -> npt.NDArray[np.uint32]:
    """For each code its place among those that occur: distances between values count present ones only."""
    place = np.zeros(int(used[-1]) + 1, dtype=np.uint32)
    place[used] = np.arange(used.size, dtype=np.uint32)
    return place


def by_strata(snapshot: Snapshot, cells: npt.NDArray[np.unsignedinteger], index: npt.NDArray[np.int32]) -> Ints:
    """Bring rows that agree in all columns published as they are together; return where strata end."""
    if not snapshot.as_is:
        return np.array([len(snapshot)], dtype=np.int64)
    stratum = strata(snapshot)[index]
    order = np.argsort(stratum, kind="stable")
    cells[:] = cells[order]
    index[:] = index[order]
    return np.cumsum(np.bincount(stratum)).astype(np.int64)


def cut(
    cells: npt.NDArray[np.unsignedinteger],
    index: npt.NDArray[np.int32],
    strata_ends: Ints,
    attributes: Any,
    rules: Any,
    past: Any = None,
    *,
    held: Any = None,
    relaxed: bool = False,
    near: int | None = None,
) -> Ints:
    """Cut segments of rows, which end as given, as long as every part keeps the rules; return where parts end.

    The rows are people or, where `held` says which values they have, cells of people.

    `past` are the earlier states of the classes that segments are, to which no part may open a channel. Segments of at
    most `near` rows, by default a few times the smallest size, are cut where the loss is least, others where they are
    widest. The kernel runs on all cores: a few coarse cuts first, then the segments they leave in parallel.
    """
    from reissue.kernels.group_rules import by_itself
    from reissue.kernels.median_cuts import split
    from reissue.kernels.past import no_past

    if past is None and not rules.plain:
        past = no_past()
    trees = True if attributes.is_tree.any() else None
    near = NEAR * rules.smallest if near is None else near
    # No part has fewer rows than the rules ask for, but a cell may be a part of its own.
    fewest = max(rules.smallest, 1) if held is None else 1
    people = cells.shape[0] if held is None else int(cells[:, -1].sum())
    values = by_itself() if held is None else held

    def run(given: Ints, low: int, limit: int) -> Ints:
        """Cut the segments that begin at `low` and end as given."""
        high = int(given[-1])
        ends = np.empty((high - low) // fewest + given.size + 1, dtype=np.int64)
        here = cells[low:high], index[low:high], values, given - low
        count = split(*here, attributes, trees, rules, past, relaxed, near, limit, ends)
        return ends[:count] + low

    workers = cores()
    rows = cells.shape[0]
    if workers == 1 or rows < PARALLEL_FROM:
        return run(strata_ends, 0, 0)
    segments = run(strata_ends, 0, people // (4 * workers))
    # A few runs of neighbouring segments for each worker, with about as many rows in each.
    shares = np.searchsorted(segments, np.arange(1, 4 * workers) * (rows / (4 * workers)))
    parts = [part for part in np.split(segments, np.unique(shares)) if part.size]
    starts = [0, *(int(part[-1]) for part in parts[:-1])]
    return np.concatenate(at_once(lambda part: run(*part, 0), list(zip(parts, starts, strict=True))))


def attributes_of(snapshot: Snapshot) -> Any:
    """The quasi-identifiers as the kernels want them."""
    from reissue.kernels.median_cuts import Attributes

    position, scale, leaf_node, is_tree = [], [], [], []
    parent, first, last, children = [], [], [], []
    code_start, node_start, child_start = [0], [0], [np.zeros(1, dtype=np.int64)]
    child_count = 0
    for column in snapshot.quasi:
        levels = column.levels
        positions, width = axis(levels)
        is_tree.append(isinstance(levels, Leaves))
        if isinstance(levels, Leaves):
            tree = levels.hierarchy
            leaf_node.append(tree.leaf_nodes)
            parent.append(tree.parent)
            first.append(tree.first)
            last.append(tree.last)
            children.append(tree.children)
            child_start.append(tree.child_starts[1:].astype(np.int64) + child_count)
            child_count += tree.children.size
            node_start.append(node_start[-1] + tree.parent.size)
        else:
            leaf_node.append(np.zeros(positions.size, dtype=np.int32))
            node_start.append(node_start[-1])
        position.append(positions)
        scale.append(1.0 / width if width > 0 else 0.0)
        code_start.append(code_start[-1] + positions.size)

    def flat(parts: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
        return np.concatenate(parts).astype(np.int32) if parts else np.empty(0, dtype=np.int32)

    return Attributes(
        is_tree=np.array(is_tree),
        is_set=np.array([isinstance(column.levels, Labels) for column in snapshot.quasi]),
        code_start=np.array(code_start, dtype=np.int64),
        position=np.concatenate(position),
        scale=np.array(scale),
        leaf_node=flat(leaf_node),
        node_start=np.array(node_start, dtype=np.int64),
        parent=flat(parent),
        first=flat(first),
        last=flat(last),
        child_start=np.concatenate(child_start),
        children=flat(children),
    )


def enforceable(constraint: object) -> bool:
    """Whether the cuts can keep to a constraint: it asks rules of groups, and all of them are known here.

    A share that is given as an exact fraction is not: the kernel compares shares of 1 in so many.
    """
    promise = getattr(constraint, "promise", None)
    if not isinstance(promise, Promise) or not callable(getattr(constraint, "for_schema", None)):
        return False
    return bool(promise.rules) and not any(isinstance(one, Share) and one.one_in is None for one in promise.rules)


def column_rules(schema: Schema) -> list[Rule]:
    """What is asked of every sensitive column by itself, where several are."""
    if not schema.several:
        return []
    return [ColumnShare(column, schema.limit_of(column)) for column in schema.sensitive_columns]


def _by_column_value(levels: Levels, column: str) -> npt.NDArray[np.bool_]:
    """For each value of a sensitive column, a row, which records have it."""
    if not isinstance(levels, Records):
        raise InternalError("a rule about a column was asked of a table with one sensitive column")
    cells = levels.cells[:, levels.names.index(column)]
    return np.asarray(np.unique(cells)[:, None] == cells)


def kernel_rules(rules: Sequence[Rule], levels: Levels, used: Ints, counts: Ints) -> Any:
    """The rules as the kernel wants them; several of a kind become the strictest, or a list.

    `used` are the codes of the sensitive values that occur, `counts` how often each does.
    """
    from reissue.kernels.group_rules import Rules

    labels = [levels.labels[code] for code in used] if isinstance(levels, Labels) else []
    magnitude = levels.values[used] if isinstance(levels, Numbers) else np.zeros(used.size)
    smallest = distinct = 1
    entropy = share = extent = 0.0
    variation = ordered = 1.0
    recursive: list[tuple[float, int]] = []
    protected: list[Bools] = []
    protected_share: list[float] = []
    for rule in rules:
        match rule:
            case Rows(k):
                smallest = max(smallest, k)
            case Distinct(l):
                distinct = max(distinct, l)
            case Entropy(l):
                entropy = max(entropy, math.log(l) - TOLERANCE)
                smallest = max(smallest, math.ceil(l - TOLERANCE))
            case Recursive(c, l):
                # A product that floats cannot tell from a tie is one, and fails, as the checker has it.
                recursive.append((c if float(c).is_integer() else c * (1 - 2e-9), l))
                distinct = max(distinct, l)
            case Share(protect, one_in=float() | int() as l):
                for values in protect:
                    protected.append(np.array([label in values for label in labels], dtype=np.bool_))
                    protected_share.append(l)
                if not protect:
                    share = max(share, float(l))
                    smallest = max(smallest, math.ceil(l - TOLERANCE))
            case ColumnShare(column, most):
                # A hair less strict than asked, and less than one row of any table.
                times = (1.0 if most is None else float(1 / most)) + (TOLERANCE if most is None else -TOLERANCE)
                for held in _by_column_value(levels, column)[:, used]:
                    protected.append(held)
                    protected_share.append(times)
            case Close(t, ordered=True):
                ordered = min(ordered, t + TOLERANCE)
            case Close(t):
                variation = min(variation, t + TOLERANCE)
            case Spread(k, e):
                distinct = max(distinct, k)
                # A whole number would have the kernel compiled once more.
                extent = max(extent, float(e))
            case _:
                raise InternalError("a rule that cuts cannot keep to was not refused")
    return Rules(
        smallest=max(smallest, distinct),
        distinct=distinct,
        plain=all(isinstance(rule, Rows | Distinct) for rule in rules),
        entropy=entropy,
        recursive_c=np.array([c for c, _ in recursive], dtype=np.float64),
        recursive_l=np.array([rank for _, rank in recursive], dtype=np.int64),
        share=share,
        protected=np.array(protected, dtype=np.bool_).reshape(len(protected), used.size),
        protected_share=np.array(protected_share, dtype=np.float64),
        variation=variation,
        ordered=ordered,
        extent=extent,
        overall=counts / counts.sum(),
        magnitude=magnitude,
    )
