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
| frequency set, find_median | `kernels.median_cuts._median`                                            |
| allowable cut              | `kernels.group_rules.satisfied` holds on every side                      |
| strict / relaxed           | `split="strict"` / `split="relaxed"`                                  |

Differs from the paper: when the cut at the median is not allowed, the cut on the other side of the
median's value is tried before the next attribute; attributes with a hierarchy are cut into the children
of the nearest common ancestor; plain labels, published as sets, are as wide as the set is large; small
groups, whose next cut is among the last, are cut where the loss is least rather than where they are
widest; relaxed cuts are tried only where no strict one is allowed; the constraints go beyond k (as
Byun et al. 2006, section 4.1, do).

Cost: O(n d log n) for n rows and d attributes, in compiled code on all cores; where people are alike in all attributes,
n counts the different ones (`alike.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Ints
from reissue.errors import ParameterError, listed
from reissue.methods.base import Method, Takes
from reissue.methods.partition.alike import Alike
from reissue.methods.partition.cutting import (
    attributes_of,
    by_strata,
    cells_of,
    column_rules,
    cut,
    enforceable,
    kernel_rules,
    places_among,
)
from reissue.model.grouping import Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise, Promising
from reissue.model.rules import Distinct, Rows, Rule
from reissue.model.schema import Schema
from reissue.model.snapshot import Delta, Snapshot, strata

if TYPE_CHECKING:
    from reissue.model.knowledge import Recoding


@dataclass(frozen=True)
class Mondrian(Method):
    """Group near neighbours by median splits, under any list of constraints."""

    k: int = 1
    """Every group has at least k people."""
    l: int = 1  # noqa: E741  (the papers' letter)
    """Every group has at least l distinct sensitive values. This does not bound a probability by 1/l."""
    constraints: Sequence[Promising] = ()
    """Further constraints, such as `ri.guarantees.TClose(0.2)`."""
    split: Literal["strict", "relaxed"] = "strict"
    """Strict: the regions of groups do not overlap. Relaxed: people with equal quasi-identifiers may be
    parted, which gives smaller groups."""

    name: ClassVar[str] = "Mondrian"
    words: ClassVar[str] = "groups near neighbours by cutting the table in halves; protects each release alone"
    protects_series: ClassVar[bool] = False
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        validation = Validation(self)
        validation.whole("k", least=1)
        validation.whole("l", least=1)
        validation.one_of("split", ("strict", "relaxed"))
        foreign = [getattr(c, "name", type(c).__name__) for c in self.constraints if not enforceable(c)]
        if foreign:
            wanted = "guarantees about every group by itself that cuts can keep to, such as ri.guarantees.TClose(0.2)"
            validation.wrong("constraints", wanted, listed(foreign))
        validation.finish()
        if self.k == 1 and self.l == 1 and not self.constraints:
            raise ParameterError("Mondrian needs at least one of 'k', 'l' and 'constraints'.")

    @property
    def parameters(self) -> dict[str, object]:
        """k, l, the further constraints by name, and the kind of split."""
        further = [{"name": c.name, **c.parameters} for c in self.constraints]
        return {"k": self.k, "l": self.l, "constraints": further, "split": self.split}

    @property
    def minimal_recoding(self) -> Recoding | None:
        """Strict: a group of people who differ is left whole only where some of them alone would break a promise."""
        return "global" if self.split == "strict" else None

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """One promise for each constraint; protected sets of the schema are filled in."""
        promises = []
        if self.k > 1:
            promises.append(Promise("k-anonymity", {"k": self.k}))
        if self.l > 1:
            promises.append(Promise("distinct-l-diversity", {"l": self.l}))
        further = (constraint.for_schema(schema) for constraint in self.constraints)
        return (*promises, *(Promise(constraint.name, constraint.parameters) for constraint in further))

    def _rules(self, schema: Schema) -> list[Rule]:
        """What k, l and the further constraints ask of every group."""
        further = [constraint.for_schema(schema).promise.rules for constraint in self.constraints]
        every = [Rows(self.k), Distinct(self.l), *(rule for rules in further for rule in rules)]
        return [*every, *column_rules(schema)]

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Cut the table as long as every part satisfies the constraints."""
        attributes = attributes_of(snapshot)
        counts = np.bincount(snapshot.values.codes)
        used = np.flatnonzero(counts)
        rules = kernel_rules(self._rules(snapshot.schema), snapshot.values.levels, used, counts[used])
        alike = Alike.of(snapshot, used) if self.split == "strict" else None
        if alike is not None:
            index = np.arange(alike.cells.shape[0], dtype=np.int32)
            ends = cut(alike.cells, index, alike.strata_ends, attributes, rules, held=alike.held)
            return Grouping(_numbered(index, ends)[alike.cell], ends.size), {}
        cells = cells_of(snapshot, places_among(used)[snapshot.values.codes])
        index = np.arange(len(snapshot), dtype=np.int32)
        if self.split == "relaxed":
            # Ties are parted by place, so places must say nothing: a canonical order, then a shuffle.
            index = np.lexsort((*cells.T, strata(snapshot))).astype(np.int32)
            rng.shuffle(index)
            cells = cells[index]
        strata_ends = by_strata(snapshot, cells, index)
        ends = cut(cells, index, strata_ends, attributes, rules, relaxed=self.split == "relaxed")
        return Grouping(_numbered(index, ends), ends.size), {}


def _numbered(index: npt.NDArray[np.int32], ends: Ints) -> npt.NDArray[np.int32]:
    """For each row, or cell, the number of the part it is in; `index` says which stands where."""
    group = np.empty(index.size, dtype=np.int32)
    group[index] = np.repeat(np.arange(ends.size, dtype=np.int32), np.diff(ends, prepend=0))
    return group
