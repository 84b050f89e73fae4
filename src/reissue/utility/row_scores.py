"""Scores of rows: for sets that may come from several designs, what each row adds to a count of some values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Floats, Ints
from reissue.model.design import Design
from reissue.model.record_design import RecordDesign
from reissue.model.sets import SetCodes, SetDesigns, SetLists
from reissue.reasoning.alternatives.record_scoring import RecordPairs, enough_draws
from reissue.reasoning.alternatives.scoring import Scores

Number = TypeVar("Number", bound=np.integer)


def why_not_by_design(number: int, design: Mapping[str, Any]) -> str | None:
    """Why the design does not say how probable the sets of a release are; None where it does.

    `design` is what the public record says. First sets are drawn by it alone, whatever comes later.
    """
    if number > 1 and design.get("linked"):
        return "its sets are lives that have moved on"
    if number > 1 and design.get("permanent"):
        return "its sets have permanent values that go from set to set"
    return None


@lru_cache(maxsize=8)
def _scores_of(design: Design) -> Scores:
    """The scores of a design, which the releases of a series share."""
    return Scores(design)


@lru_cache(maxsize=8)
def _pairs_of(design: RecordDesign, draws: int) -> RecordPairs:
    """The same of a design of records."""
    return RecordPairs(design, draws)


class DesignScores:
    """What each value adds to the scores of sets, for designs that rows come from."""

    def __init__(self, design: Ints, designs: SetDesigns) -> None:
        self._designs = designs
        self._people = design.size
        self._used = [0] if len(designs.designs) == 1 else np.unique(design).tolist()
        self._scores = {at: self._of_design(designs.designs[at]) for at in self._used}
        self._width = len(designs.labels) + 1  # one more than there are values, for slots that count for nothing
        self._line = np.zeros(len(designs.designs), dtype=np.int64)
        self._line[self._used] = np.arange(len(self._used)) * self._width

    def _of_design(self, one: Design | RecordDesign) -> Scores | RecordPairs:
        if isinstance(one, RecordDesign):
            return _pairs_of(one, enough_draws(one, self._people))
        return _scores_of(one)

    @property
    def unsure(self) -> float:
        """By what variances are larger, as a part of them, where the chances of pairs are estimates."""
        pairs = [one.unsure(self._people) for one in self._scores.values() if isinstance(one, RecordPairs)]
        return max(pairs, default=0.0)

    @property
    def off(self) -> float:
        """By how much shares may be off, as a part of them, where some sets of records were drawn again."""
        return max((one.off for one in self._scores.values() if isinstance(one, RecordPairs)), default=0.0)

    def weights(self, wanted: Floats) -> Floats:
        """What each value adds to the score of a set it is in, for each design after the other.

        `wanted` has a row for each label and a column for each question: how much of a value is asked for, 1 for all.
        """
        found = np.zeros((len(self._used) * self._width, wanted.shape[1]))
        for number, at in enumerate(self._used):
            places = self._designs.places[at]
            found[number * self._width + places] = self._scores[at].weights(wanted[places])
        return found

    def variances(self, wanted: Floats) -> Floats:
        """For each design the variance that the draw of a set gives a score, on average over the reference."""
        found = np.zeros(len(self._designs.designs))
        for at in self._used:
            design, asked = self._designs.designs[at], wanted[self._designs.places[at]]
            found[at] = self._scores[at].square(asked) - float(design.shares @ asked**2)
        return found

    def others_square(self, wanted: Floats, has: Floats) -> Floats:
        """For each design E[y^2] of whoever has none of the values wanted; `has` is that of whoever has one.

        `wanted` is 1 or 0 for each label.
        """
        found = np.zeros(len(self._designs.designs))
        for at in self._used:
            design, asked = self._designs.designs[at], wanted[self._designs.places[at]]
            every = self._scores[at].square(asked)
            share = float(design.shares @ asked)
            found[at] = (every - share * has[at]) / (1 - share) if share < 1 else 0.0
        return found


class RowScores(DesignScores):
    """The scores of the rows of a release of sets; added up over rows they estimate counts without bias."""

    def __init__(self, codes: SetCodes, design: Ints, designs: SetDesigns) -> None:
        super().__init__(design, designs)
        places = codes.astype(np.int64)
        if not designs.columns and max(int(one.slots.max()) for one in designs.of_values) > 1:
            places = once(places, self._width - 1)
        self._lines = places + self._line[design][:, None]

    def of(self, weights: Floats, rows: slice = slice(None)) -> Floats:
        """The scores of some rows, a column for each question, from what `weights` gave."""
        lines = self._lines[rows]
        score: Floats = weights[lines[:, 0]]
        for slot in range(1, lines.shape[1]):
            score += weights[lines[:, slot]]
        return score


class ListScores(DesignScores):
    """The same for sets as they are published: lists in which every value stands once, however many slots it has."""

    def __init__(self, lists: SetLists, designs: SetDesigns) -> None:
        super().__init__(lists.design, designs)
        if designs.linked and any(int(one.slots.max()) > 1 for one in designs.of_values):
            codes = once(lists.codes.reshape(-1, designs.m), self._width - 1).ravel()
            lists = SetLists(codes, lists.starts, lists.design)
        self._lists = lists

    def all_of(self, weights: Floats) -> Floats:
        """The scores of all rows, a column for each question, from what `weights` gave."""
        return self._lists.sums(weights, self._line)


def once(places: npt.NDArray[Number], nothing: int) -> npt.NDArray[Number]:
    """Rows of values, sorted, in which a value with several slots counts in the first of them alone."""
    ordered = np.sort(places, axis=1)
    again = ordered[:, 1:] == ordered[:, :-1]
    ordered[:, 1:][again] = nothing
    return ordered
