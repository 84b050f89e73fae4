"""What a release shows of each row, as entries: a row and a value that it may have, row after row.

Sets: somebody with the value v is shown S with P(S | v) = P(S) slots(v) / (m p(v)), so that for whoever expects
v with p(v | q) its posterior is proportional to slots(v) p(v | q) / p(v), p being the share of the design. Given
p(v | q) that is exact, and no row says anything about another.

Groups: the values of a group are given out among its members, and a way to do that is as likely as the product of
p(v | q) / p(v) over its members. In small groups all ways are summed. In large ones, and while a model is learnt, the
matrix of p(v | q) / p(v) is scaled instead until every row adds up to 1 and every column to how often the value is
there (Sinkhorn 1964): an approximation, the nearer the more members there are to each value, and too even in small
groups. Somebody of whom nothing is known, such as a counterfeit, has a row of ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from reissue.arrays.runs import entries_of, owners, runs, starts_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.likelihood.likelihood_bayes import Model, Shares
from reissue.errors import ParameterError
from reissue.kernels.value_ways import sum_ways
from reissue.model.published import PublishedGroups
from reissue.model.sets import PublishedSets

MOST = 200_000_000
"""More entries are not worked on."""
STATES = 1 << 12
"""A group is summed over where so many numbers of its values at most can have been given out to some of its members."""
TURNS, FEW_TURNS = 100, 10
"""So often at most a matrix is scaled to its sums; seldom while a model is learnt."""
TINY = 1e-100
"""In place of 0 where something is divided by it."""
NEAR = 1e-6
"""So near must the sums of columns come, relative to them."""


@dataclass(frozen=True, repr=False)
class SetEvidence:
    """A release of sets."""

    number: int
    people: Ints
    """For each row the person, by number."""
    unit: Ints
    """For each row what it stands or falls with, ascending: itself."""
    starts: Ints
    """Where each row begins among the entries; one more than there are rows."""
    codes: Ints
    """The value of each entry, by position in the view; ascending within a row."""
    plain: Floats
    """For each entry how likely it is by the release alone: its slots / m."""
    weight: Floats
    """For each entry its slots / p(v)."""
    shares: Shares
    """The reference shares of each row's design."""

    @classmethod
    def of(cls, release: PublishedSets, values: int) -> SetEvidence:
        """The sets of a release."""
        count, m = release.codes.shape
        ordered = np.sort(release.codes.astype(np.int64), axis=1)
        first = np.ones(ordered.shape, dtype=np.bool_)
        first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        at = np.flatnonzero(first.ravel())
        slots = np.diff(np.append(at, ordered.size))
        shares = np.zeros((len(release.designs.designs), values))
        for design, (one, places) in enumerate(zip(release.designs.designs, release.designs.places, strict=True)):
            shares[design, release.values[places]] = one.shares
        codes = ordered.ravel()[at]
        share = shares[release.design[at // m], codes]
        rows = np.arange(count)
        starts = starts_of(first.sum(axis=1))
        with np.errstate(divide="ignore"):
            # A value without a share can be in no set of the design; it may stand in one that was kept from another.
            weight = np.where(share > 0, slots / share, 0.0)
        people = release.people.astype(np.int64)
        return cls(
            release.number,
            people,
            rows,
            starts,
            codes,
            slots / m,
            weight,
            Shares(shares, release.design.astype(np.int64, copy=False)),
        )

    def only(self, units: Bools) -> tuple[SetEvidence, Ints]:
        """Some of the rows."""
        rows = np.flatnonzero(units[self.unit])
        entries = entries_of(self.starts, rows)
        starts = starts_of(np.diff(self.starts)[rows])
        part = (self.codes[entries], self.plain[entries], self.weight[entries])
        shares = Shares(self.shares.table, self.shares.which[rows])
        return SetEvidence(self.number, self.people[rows], np.arange(rows.size), starts, *part, shares), rows

    @property
    def summed(self) -> bool:
        """Whether nothing is approximated."""
        return True

    def posterior(self, model: Model, rows: Ints, *, learning: bool = False) -> Floats:
        """Exact, given the model; a set that the model takes for impossible stays as the release has it."""
        lengths = np.diff(self.starts)
        joint = self.weight * model.chances(np.repeat(rows, lengths), self.codes)
        total = np.repeat(np.add.reduceat(joint, self.starts[:-1]) if joint.size else joint, lengths)
        return np.asarray(np.divide(joint, total, out=self.plain.copy(), where=total > 0))

    def fit(self, chance: Floats) -> Floats:
        """P(S | q) is the sum of p(v | q) slots / p(v) over S, but for what no model changes."""
        owner = owners(np.diff(self.starts))
        shown = np.bincount(owner, self.weight * chance[owner, self.codes], minlength=self.people.size)
        return np.log(np.maximum(shown, TINY))


@dataclass(frozen=True, repr=False)
class GroupEvidence:
    """A release of groups; rows are members, group after group."""

    number: int
    people: Ints
    """For each row the person, by number; below 0 for a counterfeit."""
    unit: Ints
    """For each row its group, among those that are here."""
    starts: Ints
    """Where each row begins among the entries; one more than there are rows."""
    codes: Ints
    """The value of each entry, by position in the view."""
    plain: Floats
    """For each entry its share in the group."""
    column: Ints
    """For each entry the value of its group that it stands for, among those of all groups."""
    counts: Floats
    """How often each of those is there."""
    group: Ints
    """For each row its group in the release, counted from 0."""
    shares: Shares
    """The shares of values in the release as a whole."""

    @classmethod
    def of(cls, release: PublishedGroups, values: int) -> GroupEvidence:
        """The groups of a release whose members are all certain."""
        sizes, held = release.sizes, np.diff(release.value_starts)
        if int((sizes * held).sum()) > MOST:
            raise ParameterError(
                f"Release {release.number}: members times values of their groups are more than {MOST:,}.",
                hint="Likelihood is for smaller groups, or fewer values.",
            )
        group = release.member_groups
        column = runs(release.value_starts[group], held[group])
        share = release.counts / release.rows[release.value_groups]
        whole = np.bincount(release.values, release.counts, minlength=values) / release.counts.sum()
        return cls(
            release.number,
            release.members.astype(np.int64),
            np.unique(group, return_inverse=True)[1],
            starts_of(held[group]),
            release.values[column],
            share[column],
            column,
            release.counts.astype(np.float64),
            group,
            Shares(whole[None, :], np.zeros(group.size, dtype=np.int64)),
        )

    def only(self, units: Bools) -> tuple[GroupEvidence, Ints]:
        """Some of the groups."""
        rows = np.flatnonzero(units[self.unit])
        entries = entries_of(self.starts, rows)
        used, column = np.unique(self.column[entries], return_inverse=True)
        return GroupEvidence(
            self.number,
            self.people[rows],
            np.unique(self.unit[rows], return_inverse=True)[1],
            starts_of(np.diff(self.starts)[rows]),
            self.codes[entries],
            self.plain[entries],
            column,
            self.counts[used],
            self.group[rows],
            Shares(self.shares.table, self.shares.which[rows]),
        ), rows

    @property
    def summed(self) -> bool:
        """Whether all groups are small enough to sum over all ways."""
        return self._groups[3].size == self._groups[1].size

    def posterior(self, model: Model, rows: Ints, *, learning: bool = False) -> Floats:
        """Summed over all ways in small groups, else scaled."""
        lengths = np.diff(self.starts)
        chance = model.chances(np.repeat(rows, lengths), self.codes)
        with np.errstate(divide="ignore", invalid="ignore"):
            tilt = np.where(chance > 0, chance / model.prior[self.codes], 0.0)
        scaled = self._scaled(tilt, FEW_TURNS if learning else TURNS)
        return scaled if learning else self._summed(scaled)[0]

    def _scaled(self, tilt: Floats, turns: int) -> Floats:
        """A number for each entry, scaled so that rows add up to 1 and columns to their counts."""
        owner = owners(np.diff(self.starts))
        tilt = np.where(self.people[owner] < 0, 1.0, tilt)
        tilt /= np.maximum(np.maximum.reduceat(tilt, self.starts[:-1]), TINY)[owner]
        scale = np.ones(self.counts.size)
        scaled = tilt
        for turn in range(turns):
            scaled = tilt * scale[self.column]
            scaled /= np.maximum(np.add.reduceat(scaled, self.starts[:-1]), TINY)[owner]
            sums = np.bincount(self.column, scaled, minlength=self.counts.size)
            if turn % 5 == 4 and (np.abs(sums - self.counts) <= NEAR * self.counts).all():
                break
            scale *= self.counts / np.maximum(sums, TINY)
        return np.asarray(scaled)

    @cached_property
    def _groups(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Of each group the first entry, the size, and the first value; and which are small enough to sum over."""
        sizes = np.bincount(self.unit)
        first = np.flatnonzero(np.diff(self.unit, prepend=-1))
        entries = self.starts[first]
        values = starts_of(np.diff(self.starts)[first])
        states = np.add.reduceat(np.log2(self.counts + 1), values[:-1])
        return entries, sizes, values, np.flatnonzero(states <= np.log2(STATES) + 1e-9)

    def _summed(self, scaled: Floats) -> tuple[Floats, Floats]:
        """The marginals of small groups, those of others as they are; and what all ways of each group add up to.

        Scaling rows and columns does not change how likely a way is among all, and keeps sums from vanishing.
        """
        entries, sizes, values, small = self._groups
        summed, totals = np.zeros(scaled.size), np.zeros(small.size)
        sum_ways(scaled, self.counts.astype(np.int64), entries, values, small, summed, totals)
        done = np.zeros(sizes.size, dtype=np.bool_)
        done[small] = np.isfinite(totals)
        owner = owners(np.diff(self.starts))
        # Bethe's approximation of the permanent, for the others.
        often = self.counts[self.column]
        held = np.clip(scaled / often, TINY, 1.0)
        left = np.maximum(1.0 - held, TINY)
        told = often * left * np.log(left) + scaled * np.log(often)
        logs = np.asarray(np.bincount(self.unit[owner], told, minlength=sizes.size), dtype=np.float64)
        logs[done] = totals[np.isfinite(totals)]
        return np.where(done[self.unit[owner]], summed, scaled), logs

    def fit(self, chance: Floats) -> Floats:
        """How likely the values of a group are given the quasi-identifiers of its members: all ways added up.

        That is so where groups were made without a look at values. Where the values of each group are all different,
        as methods make it that count them, it is likely among sets of different values alone: the sum of all ways is
        divided by that over all such sets, with members who are all taken for the average one of their group.
        """
        owner = owners(np.diff(self.starts))
        tilt = np.where(self.people[owner] < 0, self.plain, np.maximum(chance[owner, self.codes], TINY))
        scaled = self._scaled(tilt, TURNS)
        # What rows and columns were scaled by, all together.
        told = scaled * (np.log(tilt) - np.log(np.maximum(scaled, TINY)))
        by = np.bincount(self.unit[owner], told, minlength=int(self.unit[-1]) + 1)
        logs = np.asarray(by + self._summed(scaled)[1], dtype=np.float64)
        return logs - self._all_different(chance) if bool((self.counts == 1).all()) else logs

    def _all_different(self, chance: Floats) -> Floats:
        """For each group the logarithm of how likely its members, each the average one, are to have no value twice."""
        sizes = np.bincount(self.unit)
        average = np.zeros((sizes.size, chance.shape[1]))
        np.add.at(average, self.unit, chance)
        average /= sizes[:, None]
        most = int(sizes.max())
        # sums[:, n] is the sum over all sets of n values of the products of their chances, times n!.
        sums = np.zeros((sizes.size, most + 1))
        sums[:, 0] = 1.0
        steps = np.arange(1, most + 1)
        for value in range(chance.shape[1]):
            sums[:, 1:] += steps * average[:, value, None] * sums[:, :-1]
        return np.log(np.maximum(sums[np.arange(sizes.size), sizes], TINY))


Evidence = SetEvidence | GroupEvidence
"""What one release shows."""


def evidence_of(release: PublishedGroups | PublishedSets, values: int) -> Evidence:
    """What a release shows."""
    return SetEvidence.of(release, values) if isinstance(release, PublishedSets) else GroupEvidence.of(release, values)


def quasi_of(release: PublishedGroups | PublishedSets) -> pl.DataFrame | None:
    """The quasi-identifiers of each row; None where the view does not have them."""
    return release.region if isinstance(release, PublishedSets) else release.quasi
