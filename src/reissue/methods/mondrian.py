"""Mondrian: multidimensional median splits (LeFevre, DeWitt & Ramakrishnan, ICDE 2006).

Guarantee: every group of every release satisfies the constraints asked for (k, and any of distinct,
entropy, recursive and simplified l-diversity, t-closeness, (k,e)-anonymity).

What it does not protect against: anything that needs more than one release. Each table is grouped
anew, so whoever is in two releases is in two different groups, and the values they have in common may
be one. A second release is therefore refused unless the policy says `series = "unprotected"`.
Neither does it protect against someone who argues from why a group was not cut further (the
minimality attack).

| paper                      | here                                                                  |
|----------------------------|-----------------------------------------------------------------------|
| partition                  | a segment of rows, in the end a group                                 |
| choose_dimension           | the largest extent, as a share of the domain; the least loss at the end |
| frequency set, find_median | `kernels.mondrian._median`                                            |
| allowable cut              | `kernels.mondrian.satisfied` holds on every side                      |
| strict / relaxed           | `split="strict"` / `split="relaxed"`                                  |

Differs from the paper: when the cut at the median is not allowed, the cut on the other side of the
median's value is tried before the next attribute; attributes with a hierarchy are cut into the children
of the nearest common ancestor; plain labels, published as sets, are as wide as the set is large; small
groups, whose next cut is among the last, are cut where the loss is least rather than where they are
widest; relaxed cuts are tried only where no strict one is allowed; the constraints go beyond k (as
Byun et al. 2006, section 4.1, do).

Cost: O(n d log n) for n rows and d attributes, in compiled code on all cores.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from reissue.errors import ParameterError
from reissue.grouping import Grouping
from reissue.memory import Memory, Remembered
from reissue.methods.axes import axis, ordered, places
from reissue.methods.base import Constraint, Method, Promise, Takes
from reissue.schema import Schema
from reissue.snapshot import Delta, Labels, Leaves, Levels, Numbers, Snapshot, strata

PARALLEL_FROM = 20_000
"""Tables with fewer rows are not worth a second thread."""
TOLERANCE = 1e-12
"""For figures that are sums of floats; far below the tolerance of the checkers, so never laxer."""

CONSTRAINTS = (
    "k-anonymity",
    "distinct-l-diversity",
    "entropy-l-diversity",
    "recursive-cl-diversity",
    "share-l-diversity",
    "t-closeness",
    "ke-anonymity",
)


@dataclass(frozen=True)
class Mondrian(Method):
    """Group near neighbours by median splits, under any list of constraints."""

    k: int = 1
    """Every group has at least k people."""
    l: int = 1  # noqa: E741  (the papers' letter)
    """Every group has at least l distinct sensitive values. This does not bound a probability by 1/l."""
    constraints: Sequence[Constraint] = ()
    """Further constraints, such as `ri.TClose(0.2)`."""
    split: Literal["strict", "relaxed"] = "strict"
    """Strict: the regions of groups do not overlap. Relaxed: people with equal quasi-identifiers may be
    parted, which gives smaller groups."""

    name: ClassVar[str] = "Mondrian"
    protects_series: ClassVar[bool] = False
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        for letter in ("k", "l"):
            value = getattr(self, letter)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(
                    f"The '{letter}' parameter of Mondrian must be a whole number of at least 1. Got {value!r} instead."
                )
        if self.split not in ("strict", "relaxed"):
            raise ParameterError(
                f"The 'split' parameter of Mondrian must be 'strict' or 'relaxed'. Got {self.split!r} instead."
            )
        foreign = [getattr(c, "name", type(c).__name__) for c in self.constraints]
        foreign = [name for name in foreign if name not in CONSTRAINTS]
        if foreign:
            raise ParameterError(
                f"Mondrian cannot enforce {', '.join(map(repr, foreign))}. It can enforce {', '.join(CONSTRAINTS)}."
            )
        if self.k == 1 and self.l == 1 and not self.constraints:
            raise ParameterError("Mondrian needs at least one of 'k', 'l' and 'constraints'.")

    @property
    def parameters(self) -> dict[str, object]:
        """k, l, the further constraints by name, and the kind of split."""
        further = [{"name": c.name, **c.parameters} for c in self.constraints]
        return {"k": self.k, "l": self.l, "constraints": further, "split": self.split}

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """One promise for each constraint; protected sets of the schema are filled in."""
        promises = []
        if self.k > 1:
            promises.append(Promise("k-anonymity", {"k": self.k}))
        if self.l > 1:
            promises.append(Promise("distinct-l-diversity", {"l": self.l}))
        for constraint in self.constraints:
            parameters = dict(constraint.parameters)
            if constraint.name == "share-l-diversity" and not parameters.get("protect"):
                parameters["protect"] = schema.protect
            promises.append(Promise(constraint.name, parameters))
        return tuple(promises)

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Cut the table as long as every part satisfies the constraints."""
        attributes = _attributes(snapshot)
        used, values = _present(snapshot.values.codes)
        rules = _rules(self.promises(snapshot.schema), snapshot.values.levels, used, np.bincount(values))
        cells = _cells(snapshot, values)
        index = np.arange(len(snapshot), dtype=np.int32)
        if self.split == "relaxed":
            # Ties are parted by place, so places must say nothing: a canonical order, then a shuffle.
            index = np.lexsort((*cells.T, strata(snapshot))).astype(np.int32)
            rng.shuffle(index)
            cells = cells[index]
        strata_ends = _strata(snapshot, cells, index)
        ends = _split(cells, index, strata_ends, attributes, rules, relaxed=self.split == "relaxed")
        group = np.empty(len(snapshot), dtype=np.int32)
        sizes = np.diff(ends, prepend=0)
        group[index] = np.repeat(np.arange(ends.size, dtype=np.int32), sizes)
        return Grouping(group, ends.size), {}


def _cells(snapshot: Snapshot, values: npt.NDArray[np.uint32]) -> npt.NDArray[np.unsignedinteger]:
    """The quasi-identifiers and, last, the sensitive value: one row of codes for each person."""
    columns = [*(ordered(column.codes, places(column, snapshot.schema)) for column in snapshot.quasi), values]
    wide = any(int(codes.max()) >= 1 << 16 for codes in columns)
    cells = np.empty((len(snapshot), len(columns)), dtype=np.uint32 if wide else np.uint16)
    for position, codes in enumerate(columns):
        cells[:, position] = codes
    return cells


def _present(codes: npt.NDArray[np.unsignedinteger]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """The codes that occur, and the column in places among them: distances count present values only."""
    used = np.flatnonzero(np.bincount(codes))
    place = np.zeros(int(used[-1]) + 1, dtype=np.uint32)
    place[used] = np.arange(used.size, dtype=np.uint32)
    return used, place[codes]


def _strata(
    snapshot: Snapshot, cells: npt.NDArray[np.unsignedinteger], index: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Bring rows that agree in all columns published as they are together; return where strata end."""
    if not snapshot.as_is:
        return np.array([len(snapshot)], dtype=np.int64)
    stratum = strata(snapshot)[index]
    order = np.argsort(stratum, kind="stable")
    cells[:] = cells[order]
    index[:] = index[order]
    return np.cumsum(np.bincount(stratum)).astype(np.int64)


def _split(
    cells: npt.NDArray[np.unsignedinteger],
    index: npt.NDArray[np.int32],
    strata_ends: npt.NDArray[np.int64],
    attributes: Any,
    rules: Any,
    *,
    relaxed: bool,
) -> npt.NDArray[np.int64]:
    """Run the kernel on all cores: a few coarse cuts first, then the segments they leave in parallel."""
    from reissue.kernels import warm_up
    from reissue.kernels.mondrian import split

    def run(given: npt.NDArray[np.int64], low: int, limit: int) -> npt.NDArray[np.int64]:
        """Cut the segments that begin at `low` and end as given."""
        high = int(given[-1])
        ends = np.empty((high - low) // max(rules.smallest, 1) + given.size + 1, dtype=np.int64)
        count = split(cells[low:high], index[low:high], given - low, attributes, rules, relaxed, limit, ends)
        return ends[:count] + low

    one, nobody = np.ones(1, dtype=np.int64), np.empty(2, dtype=np.int64)
    warm_up(lambda: split(cells[:1].copy(), index[:1].copy(), one, attributes, rules, relaxed, 0, nobody))
    workers = os.cpu_count() or 1
    rows = cells.shape[0]
    if workers == 1 or rows < PARALLEL_FROM:
        return run(strata_ends, 0, 0)
    segments = run(strata_ends, 0, rows // (4 * workers))
    # A few runs of neighbouring segments for each worker, with about as many rows in each.
    shares = np.searchsorted(segments, np.arange(1, 4 * workers) * (rows / (4 * workers)))
    parts = [part for part in np.split(segments, np.unique(shares)) if part.size]
    starts = [0, *(int(part[-1]) for part in parts[:-1])]
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(run, parts, starts, [0] * len(parts))))


def _attributes(snapshot: Snapshot) -> Any:
    from reissue.kernels.mondrian import Attributes

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


def _rules(
    promises: Sequence[Promise], levels: Levels, used: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> Any:
    """The promises as the kernel wants them; several of a kind become the strictest, or a list.

    `used` are the codes of the sensitive values that occur, `counts` how often each does.
    """
    from reissue.kernels.rules import Rules

    labels = [levels.labels[code] for code in used] if isinstance(levels, Labels) else []
    magnitude = levels.values[used] if isinstance(levels, Numbers) else np.zeros(used.size)
    smallest = distinct = 1
    entropy = share = extent = 0.0
    variation = ordered = 1.0
    recursive: list[tuple[float, int]] = []
    protected: list[npt.NDArray[np.bool_]] = []
    protected_share: list[float] = []
    for name, wanted in promises:
        given: Mapping[str, Any] = wanted
        if name == "k-anonymity":
            smallest = max(smallest, given["k"])
        elif name == "distinct-l-diversity":
            distinct = max(distinct, given["l"])
        elif name == "entropy-l-diversity":
            entropy = max(entropy, math.log(given["l"]) - TOLERANCE)
            smallest = max(smallest, math.ceil(given["l"] - TOLERANCE))
        elif name == "recursive-cl-diversity":
            # A product that floats cannot tell from a tie is one, and fails, as the checker has it.
            whole = float(given["c"]).is_integer()
            recursive.append((given["c"] if whole else given["c"] * (1 - 2e-9), given["l"]))
            distinct = max(distinct, given["l"])
        elif name == "share-l-diversity" and given.get("protect"):
            for values in given["protect"]:
                protected.append(np.array([label in values for label in labels], dtype=np.bool_))
                protected_share.append(given["l"])
        elif name == "share-l-diversity":
            share = max(share, float(given["l"]))
            smallest = max(smallest, math.ceil(given["l"] - TOLERANCE))
        elif name == "t-closeness" and given.get("distance") == "ordered":
            ordered = min(ordered, given["t"] + TOLERANCE)
        elif name == "t-closeness":
            variation = min(variation, given["t"] + TOLERANCE)
        elif name == "ke-anonymity":
            distinct = max(distinct, given["k"])
            extent = max(extent, given["e"])
    return Rules(
        smallest=max(smallest, distinct),
        distinct=distinct,
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
