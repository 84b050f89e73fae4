"""Credibility: how likely a protected value is, for somebody who knows that nothing was generalised needlessly.

Wong, Fu, Wang & Pei 2007, section 4. A group of several classes (people with equal quasi-identifiers) was generalised,
so at least one of its classes would have violated the requirement (`minimality_groups`). Groups follow each other's
fate in nothing, so they are worked out one by one; equal groups once.

A class with rows in several generalised groups is judged in each by its rows there and its ungeneralised rows, and
its credibility is what all of its rows come to over all of its people, who cannot be told apart. Another reading of
the principle, "the class violated in the original table", would tie such groups to each other; the two agree wherever
no class is in two generalised groups.

With full-domain recoding the whole table was recoded together, and all that is known is that some class somewhere
violates. With p the probability that one does in a group, and P that one does anywhere, that is worth p / P of what
would follow if one did in the group, and the rest of what would follow if none did there.

Cost: cells are counted with a few sorts; then one count for each distinct sort of group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from reissue.arrays.types import Bools, Bytes, Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.published import PublishedGroups
from reissue.reasoning.minimality.minimality_counts import Group, GroupClass, Ruler
from reissue.reasoning.minimality.minimality_groups import exactly, settle
from reissue.reasoning.minimality.minimality_layout import read
from reissue.reasoning.minimality.minimality_work import EXACT, SAMPLED, UNDECIDED, Recoding, ReleaseWork, Story, summed
from reissue.reasoning.minimality.requirements import Requirement

ENTRIES = 40_000_000
"""Tables of so many figures are made at most."""
NEAR = 1e-12
"""Figures closer than that to the plain share are not told from it."""
ROUNDING = 1e-14
"""What adding up a few shares in floats can be off by."""


@dataclass(frozen=True, repr=False)
class Credibility:
    """For each class, and each set of values, how likely its people are to have one of them.

    `probability` is the figure where `kind` is exact, and the estimate where it is sampled; where it is undecided it
    is the largest it can be. `low` and `high` are proven bounds, except that an estimate has none but 0 and 1.
    """

    sets: tuple[tuple[int, ...], ...]
    """The sets by the positions of their values."""
    classes: Ints
    """The number of the class, as in the release."""
    people: Ints
    """How many people it has."""
    probability: Floats
    plain: Floats
    """The same without the argument: the shares of the groups."""
    low: Floats
    high: Floats
    standard_error: Floats
    """NaN where nothing was estimated."""
    kind: Bytes
    """A position in `KINDS` for each class."""
    row_of_entry: Ints
    """For each entry of the release's members the row of its class here."""
    generalised: int = 0
    """How many groups have several classes."""
    nothing_excluded: int = 0
    """In how many of them some class violates whatever the values."""
    contrary: int = 0
    """In how many none can: they were generalised for another reason."""
    sampled: int = 0
    undecided: int = 0
    """How many groups could not be worked out."""
    refused: str | None = None
    """Why the release was not looked at at all."""
    _work: ReleaseWork | None = None

    def __repr__(self) -> str:
        return f"Credibility({self.classes.size:,} classes, {count_of(self.generalised, 'generalised group')})"

    @cached_property
    def changed(self) -> Bools:
        """For each class and set whether the argument made a difference."""
        off = np.abs(self.probability - self.plain) > np.maximum((self.high - self.low) / 2, NEAR)
        return np.asarray(off | (self.kind != EXACT)[:, None])

    def fraction(self, row: int, at: int) -> Fraction | None:
        """The exact figure of a class for a set; None where there is none, or where it would take too long."""
        if self._work is None or self.kind[row] != EXACT:
            return None
        return self._work.fraction(row, at)

    def fractions(self, rows: Ints, at: int) -> list[Fraction | None]:
        """The exact figures of many classes for a set; classes alike are worked out once."""
        figures: list[Fraction | None] = [None] * rows.size
        exact = np.flatnonzero(self.kind[rows] == EXACT)
        if self._work is None or not exact.size:
            return figures
        rows = rows[exact]
        alike = self._work.alike(rows, at)
        _, first, which = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        found = [self.fraction(row, at) for row in rows[first].tolist()]
        for place, figure in zip(exact.tolist(), which.reshape(-1).tolist(), strict=True):
            figures[place] = found[figure]
        return figures

    def above(self, limit: Fraction, at: int) -> Bytes:
        """For each class whether its figure for a set is above a limit: 1 yes, 0 no, -1 not proven.

        Figures that floats cannot tell from the limit are compared as fractions; estimates prove nothing.
        """
        low, high, bar = self.low[:, at], self.high[:, at], float(limit)
        told = np.full(low.size, -1, dtype=np.int8)
        told[high < bar - ROUNDING] = 0
        told[low > bar + ROUNDING] = 1
        near = np.flatnonzero((told == -1) & (self.kind == EXACT))
        for row, exact in zip(near.tolist(), self.fractions(near, at), strict=True):
            if exact is not None:
                told[row] = exact > limit
        return told

    def alone(self, row: int, at: int) -> tuple[int, int]:
        """How many rows of a class stand in groups of their own, and how many of them have a value of a set."""
        return (0, 0) if self._work is None else self._work.alone(row, at)

    def stories(self, row: int) -> list[Story]:
        """The groups that tell something of a class."""
        return [] if self._work is None else self._work.stories(row)


def credibility(
    release: PublishedGroups,
    requirement: Requirement,
    sets: Sequence[Sequence[int]],
    *,
    recoding: Recoding = "local",
    seconds: float | None = None,
    seed: int = 0,
) -> Credibility:
    """What minimality gives away in a release that had to satisfy the requirement, for sets of values by position."""
    members = tuple(tuple(values) for values in sets)
    why = _obstacle(release, members)
    if why is None:
        work = ReleaseWork(release, read(release), requirement, members, recoding, seconds, seed)
        if recoding == "local" or not work.divided:
            work.settle_groups()
            return _put_together(work)
        classes = count_of(work.divided, "class is", "classes are")
        why = f"{classes} in several groups, which {recoding} recoding rules out"
    none = np.zeros((0, len(members)))
    nobody = np.zeros(0, dtype=np.int64)
    return Credibility(
        members, nobody, nobody, none, none, none, none, none, nobody.astype(np.int8), nobody, refused=why
    )


def _obstacle(release: PublishedGroups, sets: tuple[tuple[int, ...], ...]) -> str | None:
    if release.classes is None or release.space is not None:
        return "it is not known who shares quasi-identifiers with whom"
    if (release.members < 0).any():
        return "it has counterfeits"
    if release.members.size * max(len(sets), 1) > ENTRIES:
        return "there are too many people and values at once; name protected sets"
    return None


def _put_together(work: ReleaseWork) -> Credibility:
    """From cells to classes."""
    layout, told = work.layout, work.told()
    rows = layout.classes.size
    people = np.maximum(layout.people, 1)[:, None]
    plain = summed(work.plain_cells(), work.cells.row, rows) / people
    plain[layout.undecided] = 1.0
    probability = plain + summed(told.off, told.row, rows) / people
    bound = summed(told.bound[:, None], told.row, rows) / people + ROUNDING
    low = np.clip(probability - bound - summed(told.below, told.row, rows) / people, 0, 1)
    high = np.clip(probability + bound, 0, 1)
    error = np.sqrt(summed(told.error**2, told.row, rows)) / people
    kind = np.zeros(rows, dtype=np.int8)
    np.maximum.at(kind, told.row, told.kind)
    kind[layout.undecided] = UNDECIDED
    low[kind == SAMPLED], high[kind == SAMPLED] = 0.0, 1.0
    low[layout.undecided], high[layout.undecided] = 0.0, 1.0
    error[kind != SAMPLED] = np.nan
    outcomes = work.outcomes()
    return Credibility(
        work.sets,
        layout.classes,
        layout.people,
        np.clip(np.where((kind == UNDECIDED)[:, None], high, probability), 0, 1),
        plain,
        low,
        high,
        error,
        kind,
        layout.row_of_entry,
        generalised=len(outcomes) + layout.unsettled,
        nothing_excluded=outcomes.count("nothing excluded"),
        contrary=outcomes.count("contrary"),
        sampled=outcomes.count("sampled"),
        undecided=outcomes.count("undecided") + layout.unsettled,
        _work=work,
    )


def group_credibility(
    parts: Sequence[tuple[int, Sequence[int]]],
    counts: Sequence[int],
    requirement: Requirement,
    sets: Sequence[Sequence[int]],
) -> list[list[Fraction]]:
    """The credibility of the classes of one generalised group, for each set.

    `parts` has for each class its rows in the group and the counts, value by value, of its ungeneralised rows;
    `counts` how often each value was published in the group.
    """
    lump, lumped = requirement.lumped()
    width = max(lumped.width, 1)

    def together(by_value: Sequence[int]) -> tuple[int, ...]:
        return tuple(np.bincount(lump, np.array(by_value), minlength=width).astype(np.int64).tolist())

    group = Group(tuple(GroupClass(rows, together(left)) for rows, left in parts), (1,) * len(parts), together(counts))
    ruler = Ruler(lumped)
    found = settle(group, ruler, rng=np.random.default_rng(0))
    if found.outcome == "contrary":
        raise ParameterError(
            "No class of such a group can break the requirement, so nobody who generalises only where it is needed "
            "would have published it.",
            hint="check the requirement, the sizes and the counts.",
        )
    if found.learnt:
        found = exactly(group, ruler, found)
        if found.exactly is None:
            raise ParameterError(
                "The group is too large to be counted exactly.", hint="attack a release with `run`, which estimates."
            )
    result = []
    for place, (rows, left) in enumerate(parts):
        chances = []
        for values in sets:
            mean = Fraction(sum(left[value] for value in values))
            for value in values:
                own = int(lump[value])
                if counts[value] and found.exactly is not None:
                    expected = Fraction(found.exactly.some[place][own])
                    mean += expected * Fraction(counts[value], group.counts[own])
                elif found.exactly is None:
                    mean += Fraction(rows * counts[value], max(sum(counts), 1))
            chances.append(mean / max(rows + sum(left), 1))
        result.append(chances)
    return result
