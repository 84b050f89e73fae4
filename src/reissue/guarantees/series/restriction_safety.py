"""pvr-safety: the probability of a privacy breach, by the paper's formula (Riboni & Bettini 2009, Theorem 2 and
Definition 9).

Someone knows the values of some people, each with probability p and independently. In a group where everybody with a
value is known, nobody else has that value; and a value that nobody of a correlated set can have is not that of anybody
on the other side. The formula takes all this as independent and gives the probability that all values but one are
ruled out for somebody who was published so and so often, with a signature of so many values, and in correlations of
sets of at least so many people. The promise is that it is below h for everybody, and that nobody is published more
than L times.

It is the paper's formula, under the paper's assumptions, and not an upper bound: there are series in which breaches are
more frequent than it says. And it is about one step: whoever is found out exposes others in turn, which it does not
count, and in the end that may be nearly everybody. What is proven is what `HistoricallySafe` promises.

All people whose signatures have the same number of values are judged together, by the longest lifespan and the
smallest correlated set among them up to a release: the formula grows with the one and falls with the other, so nobody's
own figure is higher. Where there is no correlation at all, only what compromised tuples rule out is left of it.
The formula is about series that are weakly m-invariant; groups that are not, whatever m, break the promise.

| paper       | here                                                                              |
|-------------|-----------------------------------------------------------------------------------|
| p_ct, p_pb  | `reasoning.correlation.restriction`                                                           |
| the lifespan| how often somebody was published, up to the release that is judged                |
| m           | the number of values of the signature                                             |
| n           | the smallest set in a correlation between groups with so many values              |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.errors import count_of
from reissue.guarantees.base import Followed, Measure, Measured, Verdict, rounded_up
from reissue.guarantees.series.correlation_following import Compared, compared, follow
from reissue.model.memory import Memory
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.correlation.restriction import p_ct, p_pb
from reissue.reasoning.history import diversity

CLASSES = "classes"
"""The table of the longest lifespan and the smallest correlated set so far, by the number of values."""
LEAST = 2
"""The m of weak m-invariance without which the formula means nothing."""


class _Extremes(NamedTuple):
    """Of all people whose signatures have the same number of values."""

    longest: int
    """How often one of them was published at most."""
    smallest: float
    """The smallest set that a correlation is about; infinity for none."""


@dataclass(frozen=True)
class RestrictionSafe(Measured):
    """A formula for the probability that somebody's value is found stays below h; it is not an upper bound.

    The figure of a verdict is the probability that the formula gives, and 1 where it does not apply. It assumes that
    values are known independently of each other, and ruled out independently of each other.
    """

    name: ClassVar[str] = "restriction-safety"
    words: ClassVar[str] = "by a formula that is no bound, no value is found with a probability of h or more"
    low_is_worse: ClassVar[bool] = False

    h: float
    """The probability of a privacy breach to stay below, above 0 and at most 1."""
    p: float
    """The probability of a value to be known, from 0 to 1."""
    L: int
    """How often somebody may be published, at least once."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        if isinstance(self.h, int | float | np.number) and not 0 < self.h <= 1:
            validation.wrong("h", "a number above 0 and at most 1")
        else:
            validation.real("h", least=0, most=1)
        validation.real("p", least=0, most=1)
        validation.whole("L", least=1)
        validation.finish()

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words."""
        return f"{super().title}, by a formula that is not an upper bound"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series from its first release on. `secret` is not needed."""
        tally = self._tally()
        classes: Mapping[int, _Extremes] = {}
        for release, found in zip(published.releases, compared(self, LEAST, published), strict=True):
            classes = _joined(classes, release, found)
            tally.add(release, self._measure(release, found, classes))
        return tally.verdict()

    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Measure]:
        """In the light of all earlier releases."""
        followed = follow(self, LEAST, published, state)
        before = _read(state)
        classes = _joined(before, release, followed.found)
        measure = self._measure(release, followed.found, classes)
        remark = followed.remark
        if measure.kept.all() and (broken := self._broken(before)):
            remark = f"Earlier releases break it: {broken}, and what is out stays out."
        return Followed(measure, {**followed.remembered, CLASSES: _table(classes)}, remark)

    def obstacle(self, state: Memory) -> str | None:
        """Somebody was published too often already, or will be too likely to be found out.

        Somebody of any class may yet be published L times, and what is correlated by then is out.
        """
        so_far = _read(state).items()
        broken = self._broken({size: _Extremes(max(one.longest, self.L), one.smallest) for size, one in so_far})
        return f"{broken} after earlier releases, and what is out stays out" if broken else super().obstacle(state)

    def _broken(self, classes: Mapping[int, _Extremes]) -> str | None:
        """What breaks the promise in these classes, if anything does."""
        for values, extremes in sorted(classes.items()):
            if extremes.longest > self.L:
                return f"somebody was published {extremes.longest:,} times and L = {self.L}"
            if (bound := self._bound(values, extremes)) >= self.h:
                return (
                    f"the formula gives {rounded_up(bound)} for somebody published "
                    f"{count_of(extremes.longest, 'time')} among {values:,} values and h = {self.h}"
                )
        return None

    def _bound(self, values: int, extremes: _Extremes) -> float:
        """Theorem 2; Lemma 1 alone where there is no correlation."""
        if values < LEAST or not extremes.longest:
            return 1.0 if values < LEAST else 0.0
        if math.isinf(extremes.smallest):
            return float(p_ct(self.p, extremes.longest) ** (values - 1))
        return p_pb(self.p, extremes.longest, values, int(extremes.smallest))

    def _measure(self, release: PublishedGroups, found: Compared, classes: Mapping[int, _Extremes]) -> Measure:
        values, weak = diversity.distinct(release), found.weak.kept
        bound = np.ones(int(values.max(initial=0)) + 1)
        for size, extremes in classes.items():
            if size < bound.size:
                bound[size] = self._bound(size, extremes)
        figure = np.where(weak, bound[values], 1.0)
        short = found.longest <= self.L

        def words(group: int) -> str:
            if not weak[group]:
                return f"{found.weak.words(group)}; so the formula does not apply"
            extremes = classes[int(values[group])]
            sets = (
                "there is no correlation"
                if math.isinf(extremes.smallest)
                else f"correlated sets have at least {count_of(int(extremes.smallest), 'member')}"
            )
            told = (
                f"has {values[group]:,} values; people with so many were published up to "
                f"{count_of(extremes.longest, 'time')}, and {sets}: the formula gives {rounded_up(figure[group])}, "
                f"less than {self.h} is needed"
            )
            if short[group]:
                return told
            return (
                f"holds somebody who is published {found.longest[group]:,} times, at most {self.L:,} may be; it {told}"
            )

        return Measure(figure, weak & short & (figure < self.h), words)


def _joined(classes: Mapping[int, _Extremes], release: PublishedGroups, found: Compared) -> Mapping[int, _Extremes]:
    """With the groups of one more release."""
    values = diversity.distinct(release)
    joined = dict(classes)
    for size in np.flatnonzero(np.bincount(values)).tolist():
        here = values == size
        before = joined.get(size, _Extremes(0, math.inf))
        joined[size] = _Extremes(
            max(before.longest, int(found.longest[here].max())),
            min(before.smallest, float(found.smallest[here].min())),
        )
    return joined


def _read(state: Memory) -> Mapping[int, _Extremes]:
    if CLASSES not in state:
        return {}
    return {
        values: _Extremes(longest, math.inf if smallest is None else float(smallest))
        for values, longest, smallest in state[CLASSES].select("values", "longest", "smallest").iter_rows()
    }


def _table(classes: Mapping[int, _Extremes]) -> pl.DataFrame:
    rows = [
        (values, extremes.longest, None if math.isinf(extremes.smallest) else int(extremes.smallest))
        for values, extremes in sorted(classes.items())
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("values", "longest", "smallest"), pl.UInt32), orient="row")
