"""How the codes of a quasi-identifier lie along a line: in which order they are cut, and how far apart they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats
from reissue.model.schema import Categorical, Schema
from reissue.model.snapshot import Column, Labels, Leaves, Levels


def places(column: Column, schema: Schema) -> npt.NDArray[np.uint32] | None:
    """For each code its place in the order the column is cut in; None where that is the order of codes.

    Labels whose order was not declared are cut in the order of their frequency, the most frequent first:
    rare ones then fall together in few groups, and published sets stay small.
    """
    kind = schema.kinds[column.name]
    if not isinstance(column.levels, Labels) or (isinstance(kind, Categorical) and kind.values):
        return None
    counts = np.bincount(column.codes, minlength=len(column.levels.labels))
    place = np.empty(counts.size, dtype=np.uint32)
    place[np.argsort(-counts, kind="stable")] = np.arange(counts.size, dtype=np.uint32)
    return place


def ordered(codes: npt.NDArray[np.integer], place: npt.NDArray[np.uint32] | None) -> npt.NDArray[np.integer]:
    """Codes as places in the order they are cut in."""
    return codes if place is None else place[codes]


def axis(levels: Levels) -> tuple[Floats, float]:
    """Where the places lie on the attribute's axis, ascending, and how wide the domain is."""
    if isinstance(levels, Labels):
        return np.arange(len(levels.labels), dtype=np.float64), float(len(levels.labels) - 1)
    if isinstance(levels, Leaves):
        return np.arange(levels.hierarchy.base, dtype=np.float64), float(levels.hierarchy.base - 1)
    span = levels.high - levels.low
    if not levels.missing:
        return levels.values, span
    # A group that mixes missing values with numbers counts as generalised over the whole domain.
    positions = levels.values.copy()
    positions[0] = levels.low - max(span, 1.0)
    return positions, span
