"""Where the new records of a growing table go: into a class, into one of their own, or back to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reissue.arrays.cores import at_once, spans
from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Floats, Ints
from reissue.methods.incremental import NO_LIST
from reissue.methods.partition.cutting import cut

CUT_WITH_CARE = 20_000
"""Up to so many rows the cut is looked for that loses least; it takes a little longer, and gives narrower classes."""
SEARCHED_TOGETHER = 512
"""So many records are searched for one after the other, by one thread."""
BOXED_TOGETHER = 200_000
"""Fewer rows than this are not worth another thread."""


@dataclass(frozen=True, repr=False)
class KernelRows:
    """The rows of a table as the kernels want them."""

    cells: npt.NDArray[np.unsignedinteger]
    """The codes of the quasi-identifiers and, last, the number of the value, for each row."""
    stratum: Ints
    """For each row what it has in the columns published as they are, by number."""
    attributes: Any
    rules: Any
    """What every batch must satisfy by itself."""

    def boxes(self, rows: Ints | None, owner: Ints, count: int) -> Any:
        """The boxes around some rows, or all, one for each owner."""
        from reissue.kernels.nearest import fill

        cells, stratum = (self.cells, self.stratum) if rows is None else (self.cells[rows], self.stratum[rows])

        def around(part: tuple[int, int]) -> Any:
            boxes = _empty(count, self.attributes)
            own = slice(*part)
            fill(cells[own], owner[own], self.attributes, boxes, stratum[own])
            return boxes

        boxes, *others = at_once(around, spans(owner.size, BOXED_TOGETHER))
        for more in others:
            np.minimum(boxes.low, more.low, out=boxes.low)
            np.maximum(boxes.high, more.high, out=boxes.high)
            np.maximum(boxes.stratum, more.stratum, out=boxes.stratum)
            np.bitwise_or(boxes.sets, more.sets, out=boxes.sets)
            np.add(boxes.size, more.size, out=boxes.size)
        if others:
            none = owner[:0]
            fill(cells[:0], none, self.attributes, boxes, none)  # measures the losses
        return boxes

    def nearest(self, rows: Ints, boxes: Any) -> Ints:
        """For each row the box that it costs the least information loss in; -1 where there is none of its stratum."""
        from reissue.kernels import nearest as kernels

        count = boxes.size.size
        if not count or not rows.size:
            return np.full(rows.size, -1, dtype=np.int64)
        levels = max(0, int(np.ceil(np.log2(count / kernels.LEAF))))
        nodes = _empty(2 ** (levels + 1) - 1, self.attributes)
        order, ranges = np.arange(count), np.zeros((2 ** (levels + 1) - 1, 2), dtype=np.int64)
        tree = (self.attributes, boxes, order, ranges, nodes)

        # Each kind of row once, in an order of their own and some at a time: neither the order of rows nor the number
        # of cores decides ties.
        order_of_rows = np.lexsort((*self.cells[rows, :-1].T, self.stratum[rows]))
        ordered = rows[order_of_rows]
        cells, stratum = self.cells[ordered, :-1], self.stratum[ordered]
        fresh = np.ones(rows.size, dtype=bool)
        fresh[1:] = (cells[1:] != cells[:-1]).any(axis=1) | (stratum[1:] != stratum[:-1])
        kinds = ordered[fresh]
        found = np.full(kinds.size, -1, dtype=np.int64)

        def search(start: int, end: int) -> None:
            kernels.nearest(self.cells, kinds[start:end], self.stratum, *tree, found[start:end])

        def search_all(part: tuple[int, int]) -> None:
            for start in range(*part):
                search(start * SEARCHED_TOGETHER, (start + 1) * SEARCHED_TOGETHER)

        kernels.plant(*tree)
        at_once(search_all, spans(-(-kinds.size // SEARCHED_TOGETHER)))
        near = np.empty(rows.size, dtype=np.int64)
        near[order_of_rows] = found[np.cumsum(fresh) - 1]
        return near

    def batches(self, rows: Ints, lists: Ints) -> tuple[Ints, Ints]:
        """Rows, list after list, and the batch of each: lists are cut as long as all parts keep the rules."""
        order = np.argsort(lists, kind="stable")
        rows = rows[order]
        if not rows.size:
            return rows, rows
        ends = np.append(np.flatnonzero(np.diff(lists[order])) + 1, rows.size).astype(np.int64)
        cells, index = self.cells[rows], np.arange(rows.size, dtype=np.int32)
        ends = cut(cells, index, ends, self.attributes, self.rules, near=CUT_WITH_CARE)
        return rows[index], owners(np.diff(ends, prepend=0))

    def kept(self, rows: Ints, batch: Ints) -> Bools:
        """Whether each batch keeps the rules: enough distinct values, or none with too large a share."""
        size = np.bincount(batch)
        values = int(self.rules.overall.size)
        pairs, counts = np.unique(batch * values + self.cells[rows, -1], return_counts=True)
        distinct = np.bincount(pairs // values, minlength=size.size)
        largest = np.zeros(size.size, dtype=np.int64)
        np.maximum.at(largest, pairs // values, counts)
        kept: Bools = (distinct >= self.rules.distinct) & (largest * max(self.rules.share, 1.0) <= size)
        return kept

    def joint_loss(self, boxes: Any, target: Ints, batches: Any) -> Floats:
        """The loss of each batch's box put together with its target."""
        from reissue.kernels.nearest import join

        joint = np.zeros(target.size)
        join(self.attributes, boxes, target, batches, joint)
        return joint


def _empty(count: int, attributes: Any) -> Any:
    from reissue.kernels.nearest import Boxes

    width = attributes.is_set.size
    labels = np.where(attributes.is_set, np.diff(attributes.code_start), 0)
    return Boxes(
        low=np.full((count, width), np.iinfo(np.int64).max),
        high=np.full((count, width), -1, dtype=np.int64),
        sets=np.zeros((count, max(-(-int(labels.sum()) // 64), 1)), dtype=np.uint64),
        bit_start=np.cumsum(labels) - labels,
        loss=np.zeros(count),
        size=np.zeros(count, dtype=np.int64),
        stratum=np.full(count, -1, dtype=np.int64),
    )


@dataclass(frozen=True, repr=False)
class Placed:
    """What becomes of the new records."""

    rows: Ints
    """Those who are published now."""
    batch: Ints
    """The batch of each, from 0 on."""
    target: Ints
    """For each batch the class that it is inserted into; -1 where it becomes a class of its own."""
    waiting: Ints
    """Those who wait."""
    lists: Ints
    """The list each of them is in, which has too few values: that of a class, or, below -1, all new records of a
    stratum. -1 where no list is why they wait."""


def place(space: KernelRows, boxes: Any, rows: Ints, waited: Ints, room: int) -> Placed:
    """Divide new records into batches that keep the rules, and say where each goes.

    `waited` says how many releases each record has waited already, `room` how many records may wait. Add and insert
    are weighed by the information loss they cause.
    """
    left = rows
    inserted = added = np.zeros(0, dtype=np.int64)
    targets = batch = added_batch = inserted
    list_of = np.full(space.stratum.size, NO_LIST, dtype=np.int64)
    if room:
        # Every record to the list of the class it costs least in; strata that have no class yet have a list each.
        near = space.nearest(rows, boxes)
        list_of[rows] = np.where(near >= 0, near, _of_stratum(space.stratum[rows]))
        listed, batch = space.batches(rows, list_of[rows])
        ready = space.kept(listed, batch) if listed.size else np.zeros(0, dtype=bool)
        left = listed[~ready[batch]]
        inserted, batch = listed[ready[batch]], _renumbered(batch[ready[batch]])
        targets = np.maximum(list_of[inserted[np.flatnonzero(np.diff(batch, prepend=-1))]], -1)
    if left.size > room:
        # Those whose lists are not ready, together, stratum by stratum.
        left, added_batch = space.batches(left, space.stratum[left])
        kept = space.kept(left, added_batch)
        poor = _helped(space, np.unique(space.stratum[left[~kept[added_batch]]]), np.concatenate([left, inserted]))
        if poor.size:
            # Where even all of them are too few, whoever came in that stratum joins them, if that is enough.
            again = np.isin(space.stratum[inserted], poor)
            whole = np.concatenate([left, inserted[again]])
            list_of[whole[np.isin(space.stratum[whole], poor)]] = NO_LIST
            inserted, targets, batch = _without(inserted, targets, batch, again)
            left, added_batch = space.batches(whole, space.stratum[whole])
            kept = space.kept(left, added_batch)
        forced = left[~kept[added_batch]]
        list_of[forced] = _of_stratum(space.stratum[forced])
        added, added_batch = left[kept[added_batch]], _renumbered(added_batch[kept[added_batch]])
        left = forced
        if added.size and room > forced.size:
            patience = np.zeros(space.stratum.size)
            patience[rows] = waited
            waits = _worst(space, added, added_batch, patience, room - forced.size)
            left = np.concatenate([forced, added[waits[added_batch]]])
            added, added_batch = added[~waits[added_batch]], _renumbered(added_batch[~waits[added_batch]])
    targets = _cheaper(space, boxes, inserted, batch, targets)
    own = np.full(int(added_batch.max(initial=-1)) + 1, -1, dtype=np.int64)
    left = np.sort(left)
    return Placed(
        np.concatenate([inserted, added]),
        np.concatenate([batch, added_batch + targets.size]),
        np.concatenate([targets, own]),
        left,
        list_of[left],
    )


def _helped(space: KernelRows, strata: Ints, rows: Ints) -> Ints:
    """Those of the strata, ascending, in which these rows keep the rules together."""
    rows = rows[np.isin(space.stratum[rows], strata)]
    return strata[space.kept(rows, np.searchsorted(strata, space.stratum[rows]))] if rows.size else strata


def _of_stratum(stratum: Ints) -> Ints:
    """The list of all new records of a stratum."""
    return -2 - stratum


def _without(inserted: Ints, targets: Ints, batch: Ints, again: Bools) -> tuple[Ints, Ints, Ints]:
    kept = np.unique(batch[~again])
    return inserted[~again], targets[kept], _renumbered(batch[~again])


def _worst(space: KernelRows, rows: Ints, batch: Ints, waited: Floats, room: int) -> Bools:
    """Which batches wait: those that lose most, less so the longer they have waited, as far as there is room."""
    count = int(batch[-1]) + 1
    size = np.bincount(batch)
    loss = space.boxes(rows, batch, count).loss
    score = loss / (1 + np.bincount(batch, waited[rows]) / size)
    waits = np.zeros(count, dtype=bool)
    for at in np.argsort(-score, kind="stable").tolist():
        if size[at] <= room:
            waits[at] = True
            room -= int(size[at])
        if not room:
            break
    return waits


def _cheaper(space: KernelRows, boxes: Any, rows: Ints, batch: Ints, targets: Ints) -> Ints:
    """The target of each batch, -1 where a class of its own costs less."""
    if not rows.size:
        return targets
    batches = space.boxes(rows, batch, targets.size)
    there = np.maximum(targets, 0)
    joint = space.joint_loss(boxes, there, batches)
    size = boxes.size[there]
    insert = (size + batches.size) * joint - size * boxes.loss[there]
    chosen: Ints = np.where((targets >= 0) & (insert <= batches.size * batches.loss), targets, -1)
    return chosen


def _renumbered(batch: Ints) -> Ints:
    """Batches, ascending, numbered from 0 on."""
    return np.cumsum(np.diff(batch, prepend=batch[:1]) != 0) if batch.size else batch
