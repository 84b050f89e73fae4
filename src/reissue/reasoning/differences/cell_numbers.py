"""Cells by number over several releases: groups with the same quasi-identifiers have the same number.

What counts is what a cell stands for, not how it is written: `20-29` in one file and `[20, 29]` in the next are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from reissue.arrays.dense import numbered
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError
from reissue.model.attributes import EVERYTHING, Attribute, Intervals, Patterns, Sets, anything
from reissue.model.regions import Regions


@dataclass(frozen=True, repr=False)
class CellNumbers:
    """The groups of several releases."""

    cell: tuple[Ints, ...]
    """For each release the number of each group's cell."""
    parts: tuple[Ints, ...] | None
    """For each release what each group shows in each attribute, by number: a row for each group. None where groups
    have several regions."""

    def __repr__(self) -> str:
        return f"CellNumbers({len(self.cell)} releases)"


def cell_numbers(regions: Sequence[Regions]) -> CellNumbers:
    """Number the cells of releases that were read together."""
    sizes = [one.boxes for one in regions]
    names = list(dict.fromkeys(name for one in regions for name in one.attributes))
    columns = [_numbered([_part(one, name, regions) for one in regions]) for name in names]
    rest = [np.zeros(one.boxes, np.int64) if one.rest is None else _of_boxes(one, one.rest) for one in regions]
    everything = np.concatenate([np.zeros(0, dtype=np.int64), *rest])
    boxes = everything
    for column in columns:
        boxes = numbered(boxes * (int(column.max(initial=0)) + 1) + column)[1]
    edges = np.cumsum(sizes)[:-1]
    split = np.split(boxes, edges)
    if all(one.owner is None for one in regions):
        stacked = np.column_stack([*columns, everything]) if columns else everything[:, None]
        return CellNumbers(tuple(split), tuple(np.split(stacked, edges)))
    return CellNumbers(_of_several(regions, split), None)


def _of_boxes(regions: Regions, groups: Bools) -> Ints:
    return (groups if regions.owner is None else groups[regions.owner]).astype(np.int64)


def _of_several(regions: Sequence[Regions], boxes: Sequence[Ints]) -> tuple[Ints, ...]:
    """Groups that stand for several regions are the same cell if they stand for the same ones."""
    frames = []
    for at, (one, mine) in enumerate(zip(regions, boxes, strict=True)):
        owner = np.arange(one.count) if one.owner is None else one.owner
        told = pl.DataFrame({"owner": owner, "box": mine}).unique().sort("owner", "box")
        joined = told.group_by("owner", maintain_order=True).agg(pl.col("box").cast(pl.String).str.join(" "))
        frames.append(joined.select(pl.lit(at).alias("release"), "box"))
    numbers = pl.concat(frames).with_columns(pl.col("box").rank("dense").cast(pl.Int64))
    return tuple(
        numbers.filter(pl.col("release") == at)["box"].to_numpy().astype(np.int64) for at in range(len(regions))
    )


def _part(regions: Regions, name: str, every: Sequence[Regions]) -> Attribute:
    found = regions.attributes.get(name)
    like = next(one.attributes[name] for one in every if name in one.attributes)
    return anything(like, regions.boxes) if found is None else found


def _numbered(parts: Sequence[Attribute]) -> Ints:
    """The parts of an attribute of several releases by number, one release after the other."""
    kinds = {type(part) for part in parts}
    if len(kinds) != 1:
        raise InternalError("an attribute is of different kinds in releases that were read together")
    if kinds == {Intervals}:
        return _intervals([part for part in parts if isinstance(part, Intervals)])
    place: dict[Hashable, int] = {}
    found = []
    for part in parts:
        if isinstance(part, Intervals):
            continue
        own = _texts(part) if isinstance(part, Patterns) else _label_sets(part)
        # One entry more stands for everything.
        number = np.array([place.setdefault(one, len(place)) for one in (*own, EVERYTHING)], dtype=np.int64)
        found.append(number[np.where(part.which == EVERYTHING, len(own), part.which)])
    return np.concatenate(found)


def _texts(part: Patterns) -> list[Hashable]:
    return list(part.texts)


def _label_sets(part: Sets) -> list[Hashable]:
    labels = np.array(part.labels, dtype=object)[part.codes].tolist()
    return [tuple(labels[begin:end]) for begin, end in pairwise(part.starts.tolist())]


def _intervals(parts: Sequence[Intervals]) -> Ints:
    low, high = (np.concatenate([getattr(part, end) for part in parts]) for end in ("low", "high"))
    flags = [np.concatenate([getattr(part, flag) for part in parts]) for flag in ("low_open", "high_open", "missing")]
    number = np.zeros(low.size, dtype=np.int64)
    for end in (low, high):
        # Adding 0 makes -0.0 and 0.0 the same bits.
        place = numbered((end + 0.0).view(np.int64))[1] if end.size else number
        number = numbered(number * (int(place.max(initial=0)) + 1) + place)[1]
    for flag in flags:
        number = number * 2 + flag
    return numbered(number)[1]
