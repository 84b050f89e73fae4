"""Generalised releases: values are counted as they are, and people are spread evenly over the region of their group.

Somebody whose region is in a group of the answer by the share w is there with probability w, which adds w (1 - w) to
the variance of a count. For certain are those whose whole region is inside, and nobody whose region is outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.utility.analysing.breakdown import Cells, in_both
from reissue.utility.analysing.groups_asked import GroupsAsked, added, coded
from reissue.utility.analysing.questions import Combined, Figures, Question, Target, Term
from reissue.utility.analysing.slopes import Outcomes


class GeneralisedAsked(GroupsAsked):
    """One release with regions."""

    @cached_property
    def _coded(self) -> tuple[Ints, pl.Series]:
        self.check_values()
        return coded(self.release.table("table", [self.sensitive])[self.sensitive])

    @property
    def values(self) -> pl.Series:
        """The sensitive values that there are."""
        return self._coded[1]

    def figures(self, question: Question, cells: Cells, target: Target) -> Figures:
        """Estimates of each group, with bounds that are certain."""
        del target  # what is not certain is where people are, not who they were drawn from
        codes, w, people = self._coded[0][cells.rows], cells.weight, cells.people
        counted = question.counted[codes]
        known = np.ones(codes.size) if question.known is None else question.known[codes]
        total, sure = cells.total(w * counted), (w == 1) * 1.0
        if question.kind == "count":
            error = np.sqrt(cells.total(w * (1 - w) * counted**2))
            return self.bounded(people, total, error, (self.surely(cells, sure * counted), cells.total(counted)))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = total / cells.total(w * known)
            residual = counted - ratio[cells.group] * known
            error = np.sqrt(cells.total(w * (1 - w) * residual**2)) / cells.total(w * known)
            if question.kind == "mean":
                exact = cells.whole and self.made_up is None
                return self.bounded(people, ratio, error, (ratio, ratio) if exact else None)
            most, others = cells.total(counted), cells.total(1 - counted)
            least, without = self.surely(cells, sure * counted), self.surely(cells, sure * (1 - counted))
            low = np.where(least > 0, least / (least + others), 0.0)
            high = np.where(most > 0, most / (most + without), 0.0)
        return self.bounded(people, ratio, error, (low, high))

    def outcomes(self, question: Question) -> Outcomes:
        """For each row what its value counts."""
        counted = question.counted[self._coded[0]]
        return Outcomes(counted, counted**2, False)

    def combined(self, terms: Sequence[Term], target: Target) -> Combined:
        """A weighed sum; everybody's place is taken to be independent of all others'."""
        made = added(terms, target)
        variance = made.error**2
        for one, other in combinations(terms, 2):
            if one.view is other.view:
                (w, here), (v, there) = self._adding(one), self._adding(other)
                # Whoever is in the one group is not in the other.
                variance += 2 * float((in_both(w, v) * here * there).sum())
        return replace(made, error=float(np.sqrt(max(variance, 0.0))))

    def _adding(self, term: Term) -> tuple[Floats, Floats]:
        """For each row by which share it is in a term's group, and what it adds to the sum if it is."""
        inside = term.cells.group == term.group
        rows, w = term.cells.rows[inside], term.cells.weight[inside]
        counted, known = term.question.counted, term.question.known
        codes = self._coded[0][rows]
        figure, over = counted[codes], np.ones(codes.size) if known is None else known[codes]
        total = float((w * over).sum())
        share, adding = np.zeros(self.release.height), np.zeros(self.release.height)
        share[rows] = w
        if term.question.kind == "count":
            adding[rows] = term.factor * figure
        elif total:
            adding[rows] = term.factor * (figure - float((w * figure).sum()) / total * over) / total
        return share, adding
