"""Scores of rows: for sets that may come from several designs, what each row adds to a count of some values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.model.sets import SetCodes, SetDesigns
from reissue.reasoning.alternatives.scoring import Scores

CHUNK = 1 << 16
"""So many rows are scored at a time: what they need stays near the processor."""


def why_not_by_design(number: int, design: Mapping[str, Any]) -> str | None:
    """Why the design does not say how probable the sets of a release are; None where it does.

    `design` is what the public record says. First sets are drawn by it alone, whatever comes later.
    """
    if number > 1 and design.get("linked"):
        return "its sets are lives that have moved on"
    if number > 1 and design.get("permanent"):
        return "its sets have permanent values that go from set to set"
    return None


class RowScores:
    """The scores of the rows of a release of sets; added up over rows they estimate counts without bias."""

    def __init__(self, codes: SetCodes, design: Ints, designs: SetDesigns) -> None:
        self._designs = designs
        self._used = np.unique(design).tolist()
        self._scores = {at: Scores(designs.designs[at]) for at in self._used}
        width = len(designs.labels) + 1  # one more than there are values, for slots that count for nothing
        line = np.zeros(len(designs.designs), dtype=np.int64)
        line[self._used] = np.arange(len(self._used)) * width
        places = codes.astype(np.int32)
        if max(int(one.slots.max()) for one in designs.designs) > 1:
            # A value with several slots stands in each of them and counts once.
            ordered = np.sort(places, axis=1)
            again = ordered[:, 1:] == ordered[:, :-1]
            ordered[:, 1:][again] = width - 1
            places = ordered
        self._lines = places if len(self._used) == 1 else places + line[design].astype(np.int32)[:, None]

    def weights(self, wanted: Floats) -> Floats:
        """What each value adds to the score of a set it is in, for each design after the other.

        `wanted` has a row for each label and a column for each question: how much of a value is asked for, 1 for all.
        """
        width, questions = len(self._designs.labels) + 1, wanted.shape[1]
        found = np.zeros((len(self._used) * width, questions))
        for number, at in enumerate(self._used):
            places = self._designs.places[at]
            found[number * width + places] = self._scores[at].weights(wanted[places])
        return found

    def others_square(self, wanted: Floats, has: Floats) -> Floats:
        """For each design E[y^2] of whoever has none of the values wanted; `has` is that of whoever has one.

        `wanted` is 1 or 0 for each label. Over all sets E[y^2] = z' P z, and P z = inclusion times wanted.
        """
        found = np.zeros(len(self._designs.designs))
        for at in self._used:
            design, asked = self._designs.designs[at], wanted[self._designs.places[at]]
            every = float((design.inclusion * asked) @ self._scores[at].weights(asked))
            share = float(design.shares @ asked)
            found[at] = (every - share * has[at]) / (1 - share) if share < 1 else 0.0
        return found

    def all_of(self, weights: Floats) -> Floats:
        """The scores of all rows, a column for each question."""
        found = np.empty((len(self._lines), weights.shape[1]))
        for first in range(0, len(found), CHUNK):
            part = slice(first, first + CHUNK)
            found[part] = self.of(weights, part)
        return found

    def of(self, weights: Floats, rows: slice = slice(None)) -> Floats:
        """The scores of some rows, a column for each question, from what `weights` gave."""
        lines = self._lines[rows]
        score: Floats = weights[lines[:, 0]]
        for slot in range(1, lines.shape[1]):
            score += weights[lines[:, slot]]
        return score
