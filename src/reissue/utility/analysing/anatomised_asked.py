"""Anatomised releases: quasi-identifiers are counted as they are, and values are spread evenly over their group.

The error is that of values placed at random within their group. With factors c for its n people, and s^2 the variance
of its values (with n - 1), that is s^2 (sum c^2 - (sum c)^2 / n); so for n' of its people and a value that k have

    n' (k/n) (1 - k/n) (n - n') / (n - 1).

For certain, n' people of a group have at least its n' smallest values and at most its n' largest: of a value that k of
n have, from k - (n - n') to k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.utility.analysing.breakdown import Cells, sums_by
from reissue.utility.analysing.groups_asked import GroupsAsked, added, coded
from reissue.utility.analysing.questions import Combined, Figures, Question, Target, Term
from reissue.utility.analysing.scored_rows import RowFactors
from reissue.utility.analysing.slopes import Outcomes


@dataclass(frozen=True, repr=False)
class Moments:
    """For each group means of what values count, of what is known, and their variances (with n - 1)."""

    mean: Floats
    known: Floats
    variance: Floats
    covariance: Floats
    of_known: Floats


class AnatomisedAsked(GroupsAsked):
    """One release with quasi-identifiers and values apart."""

    @cached_property
    def _sensitive(self) -> pl.DataFrame:
        self.check_values()
        return self.release.table("sensitive")

    @cached_property
    def _coded(self) -> tuple[Ints, pl.Series]:
        return coded(self._sensitive[self.sensitive])

    @property
    def values(self) -> pl.Series:
        """The sensitive values that there are."""
        return self._coded[1]

    @cached_property
    def _entries(self) -> tuple[Ints, Ints]:
        """For each entry of the sensitive table its group, and how many have it."""
        table = self._sensitive
        return table["group"].to_numpy().astype(np.int64), table["count"].to_numpy().astype(np.int64)

    @cached_property
    def _size(self) -> Floats:
        """For each group how many values it has."""
        group, count = self._entries
        last = max(int(group.max(initial=0)), int(self.group.max(initial=0)))
        return sums_by(group, count.astype(np.float64), last + 1)

    def _mean(self, figures: Floats) -> Floats:
        """For each group the mean of a figure of its values."""
        group, count = self._entries
        total = np.bincount(group, count * figures[self._coded[0]], minlength=self._size.size)
        return np.divide(total, self._size, out=np.zeros(self._size.size), where=self._size > 0)

    def _moments(self, question: Question) -> Moments:
        size = self._size
        scale = np.divide(size, size - 1, out=np.zeros(size.size), where=size > 1)
        mean, square = self._mean(question.counted), self._mean(question.counted**2)
        if question.known is None:
            nothing = np.zeros(size.size)
            return Moments(mean, np.ones(size.size), scale * (square - mean**2), nothing, nothing)
        known = self._mean(question.known)
        # What is not known counts for 0.
        return Moments(
            mean, known, scale * (square - mean**2), scale * (mean - mean * known), scale * (known - known**2)
        )

    def figures(self, question: Question, cells: Cells, target: Target) -> Figures:
        """Estimates of each group, with bounds that are certain."""
        del target  # what is not certain is whose values they are, not who they were drawn from
        people, moments = cells.people, self._moments(question)
        bucket, cell, inside = self._together(cells)

        def total(figures: Floats) -> Floats:
            return sums_by(cell, figures, cells.count)

        estimate, known = total(inside * moments.mean[bucket]), total(inside * moments.known[bucket])
        free = inside * (1 - inside / self._size[bucket])
        counting = question.kind == "count"
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = estimate / known
            at = np.zeros(cell.size) if counting else ratio[cell]
            variance = total(
                free
                * (moments.variance[bucket] - 2 * at * moments.covariance[bucket] + at**2 * moments.of_known[bucket])
            )
            error = np.sqrt(np.maximum(variance, 0.0)) / (1.0 if counting else known)
        ends = self._ends(question, cells)
        return self.bounded(people, estimate if counting else ratio, error, ends)

    def _together(self, cells: Cells) -> tuple[Ints, Ints, Ints]:
        """For each group of the release and cell of the answer that have people in common how many those are."""
        pair, inside = np.unique(cells.group * self._size.size + self.group[cells.rows], return_counts=True)
        return pair % self._size.size, pair // self._size.size, inside

    def _ends(self, question: Question, cells: Cells) -> tuple[Floats, Floats] | None:
        """The least and the most that the people of each cell can have."""
        if question.known is not None or (question.kind == "mean" and self.made_up is not None):
            return None
        bucket, cell, inside = self._together(cells)
        group, count = self._entries
        figure = question.counted[self._coded[0]]
        order = np.lexsort((figure, group))
        sums = np.concatenate([[0.0], np.cumsum(np.repeat(figure[order], count[order]))])
        starts = np.concatenate([[0], np.cumsum(self._size)]).astype(np.int64)
        begin, end = starts[bucket], starts[bucket + 1]
        least = sums[np.minimum(begin + inside, end)] - sums[begin]
        most = sums[end] - sums[np.maximum(end - inside, begin)]
        made_up = np.zeros(bucket.size) if self.made_up is None else self.made_up[bucket].astype(np.float64)
        if self.made_up is not None:
            least = np.maximum(least - made_up, 0.0)
        low = sums_by(cell, least, cells.count)
        high = sums_by(cell, most, cells.count)
        if question.kind == "count":
            return low, high
        people = cells.people
        with np.errstate(divide="ignore", invalid="ignore"):
            if question.kind == "mean":
                return low / people, high / people
            others: Floats = np.maximum(people - high - sums_by(cell, made_up, cells.count), 0.0)
            return low / people, np.where(high > 0, high / (high + others), 0.0)

    def outcomes(self, question: Question) -> Outcomes:
        """For each row what the values of its group count, on average."""
        return Outcomes(self._mean(question.counted)[self.group], self._mean(question.counted**2)[self.group], False)

    def combined(self, terms: Sequence[Term], target: Target) -> Combined:
        """A weighed sum; groups of different releases are taken to be filled independently."""
        bounds = added(terms, target)
        by_release: dict[int, list[Term]] = {}
        for term in terms:
            by_release.setdefault(term.view.number, []).append(term)
        variance = 0.0
        for own in by_release.values():
            view = own[0].view
            assert isinstance(view, AnatomisedAsked)
            variance += view._variance(own)
        return Combined(bounds.estimate, float(np.sqrt(variance)), bounds.low, bounds.high, bounds.interval)

    def _variance(self, terms: Sequence[Term]) -> float:
        """The variance of a weighed sum of this release."""
        moments, size = self._moments(terms[0].question), self._size
        factors = RowFactors.none(self.release.height)
        for term in terms:
            rows = term.cells.rows[term.cells.group == term.group]
            bucket = self.group[rows]
            known = float(moments.known[bucket].sum())
            if term.question.kind == "count":
                factors.add(rows, np.full(rows.size, term.factor), 0.0)
            elif known:
                factors.add(rows, np.full(rows.size, term.factor / known), float(moments.mean[bucket].sum()) / known)
            else:
                return float("nan")  # of nobody there is no share, and so no difference

        def total(figures: Floats) -> Floats:
            return sums_by(self.group, figures, size.size)

        each = np.divide(1.0, size, out=np.zeros(size.size), where=size > 0)
        factor, centred = factors.factor, factors.centred
        found = moments.variance * (total(factor**2) - total(factor) ** 2 * each)
        found -= 2 * moments.covariance * (total(factor * centred) - total(factor) * total(centred) * each)
        found += moments.of_known * (total(centred**2) - total(centred) ** 2 * each)
        return max(float(found.sum()), 0.0)
