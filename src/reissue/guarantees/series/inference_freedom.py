"""Inference-free releases (Byun, Sohn, Bertino & Li 2006, Definitions 4 and 5, Figure 6).

Comparing two releases narrows down the value of somebody who is in groups of both, who is new in the later one, or who
is gone from it, to an *inference-enabling set* (`reasoning.channels.channel_sets`, where the paper's sets are
generalised to any number of groups that hang together and to people who left). The promise says that each set that is
about somebody has at least l distinct values.

It counts values and nothing more: one of the l values may be that of nearly everybody, so it does not bound a
probability by 1/l, whatever the paper's Definition 4 says. And it is about pairs of releases: three of them may leave
somebody one value although each two leave him l. `HistoryDiverse` is about the whole history.

A group that stays as it is from one release to the next keeps the smallest set that its members were ever in while it
stood: what is out stays out. A later release can break the promise for people who are not in it: then the group is one
of an earlier release, named by the first release that showed it with these members and values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.narrow import NEVER
from reissue.arrays.types import Ints
from reissue.errors import count_of
from reissue.guarantees.base import Followed, Least, Measure, Measured, Verdict
from reissue.model.memory import KEPT, Kept, Memory
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.channels.channel_sets import Comparison, compare
from reissue.reasoning.channels.families import comparisons
from reissue.reasoning.channels.histories import Histories, Step, need_histories
from reissue.reasoning.history import diversity

SETS, GONE = "sets", "gone"
"""The tables with the smallest sets of the groups of the last release, and of those that people left."""
BOTH, NEW = 0, 1


@dataclass(frozen=True)
class InferenceFree(Measured):
    """Between any two releases every inference-enabling set that is about somebody has at least l distinct values.

    This counts values; it does not bound a probability by 1/l, and it does not say what three releases show together.
    The figure of a verdict is the number of distinct values of the smallest set that a group's members are in, over all
    pairs of an earlier release and one that shows the group as it is; infinity for groups that nothing can be compared
    with. A set without any value, which only releases that contradict each other have, breaks the promise too.
    """

    name: ClassVar[str] = "inference-freedom"
    words: ClassVar[str] = "comparing any two releases leaves everybody at least l values"
    least: ClassVar[Least] = Least("l", pl.Int64)

    l: int  # noqa: E741
    """The smallest number of distinct values a set may have, at least 1; a count, not a bound of 1/l."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=1)
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(pairs=self.l)

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words."""
        return f"{self.name} (l = {self.l}, counts values, does not bound a probability by 1/l)"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series, every two releases. `secret` is not needed: the promise is visible from outside."""
        need_histories(self, published)
        tally, histories, found = self._tally(), Histories(), _no_sets()
        named: list[_Named] = []
        for later, release in enumerate(published.releases):
            histories, step = histories.advance(published, release)
            named.append(_Named.of(histories))
            pairs = [_of_pair(published, earlier, later, named[earlier]) for earlier in range(later)]
            found = _smallest([found.carried(step.same), *pairs])
            tally.add(release, self._measure(release, found))
        return tally.verdict()

    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Measure]:
        """Against all earlier releases. `secret` is not needed."""
        need_histories(self, published)
        histories, step = Histories.read(state).advance(published, release)
        before = _Sets.read(state)
        found = _followed(histories, step, release, before)
        tables = {**histories.tables(), **found.tables(before if SETS in state else None)}
        return Followed(self._measure(release, found), tables)

    def _measure(self, release: PublishedGroups, found: _Sets) -> Measure:
        """The sets of a release with all earlier ones, and those about people who left."""
        at = np.full(release.group_count, -1)
        at[found.group] = np.arange(found.group.size)
        figure = np.where(at >= 0, np.append(found.distinct, 0)[at].astype(np.float64), np.inf)

        def words(group: int) -> str:
            if at[group] < 0:
                return "is compared with no earlier release"
            which = int(at[group])
            earlier, values = int(found.release[which]), int(found.distinct[which])
            if found.kind[which] == BOTH:
                other = f"group {found.other[which] + 1:,} of release {earlier:,}"
                return f"has {_values(values)} in common with {other}, for the people in both, {self._needed}"
            return f"has {_values(values)} left for the people in it who are not in release {earlier:,}, {self._needed}"

        left = found.gone_distinct

        def words_of_left(at: int) -> str:
            shown = int(found.gone_in[at])
            still = f"as it still is in release {shown:,}, " if shown != found.gone_release[at] else ""
            without = f"who are not in release {int(found.gone_from[at]):,}"
            return f"{still}has {_values(int(left[at]))} left for the people in it {without}, {self._needed}"

        gone = Measure(left.astype(np.float64), left >= self.l, words_of_left)
        return Measure(figure, figure >= self.l, words).beside(found.gone_release, found.gone_group, gone)

    @property
    def _needed(self) -> str:
        return f"at least {self.l:,} {'is' if self.l == 1 else 'are'} needed"


class _Named(NamedTuple):
    """The states of groups: the first release, by number, that showed each with its members and values, and where."""

    release: Ints
    group: Ints

    @classmethod
    def of(cls, histories: Histories) -> _Named:
        """Those of the last release."""
        return cls(np.array(histories.numbers)[histories.last.first], histories.last.number)


class _Sets(NamedTuple):
    """The smallest set of each group of a release, ascending; then of each state that people left, ascending."""

    group: Ints
    distinct: Ints
    release: Ints
    """The number of an earlier release: the first that shows the other group, or that somebody is not in."""
    kind: Ints
    other: Ints
    """The other group there; -1 for newcomers."""
    gone_release: Ints
    gone_group: Ints
    gone_distinct: Ints
    gone_in: Ints
    """The number of the release, one of those that show the state, that was compared."""
    gone_from: Ints
    """The number of the later release, which they are not in."""

    @classmethod
    def read(cls, state: Memory) -> _Sets:
        """What `tables` gave."""
        if SETS not in state:
            return _no_sets()
        columns = [*state[SETS].get_columns(), *state[GONE].get_columns()]
        return cls(*(column.to_numpy().astype(np.int64) for column in columns))

    def tables(self, before: _Sets | None) -> dict[str, pl.DataFrame | Kept]:
        """What to remember, where it is not what was remembered before."""
        tables: dict[str, pl.DataFrame | Kept] = {}
        for name, part in ((SETS, slice(0, 5)), (GONE, slice(5, 10))):
            columns = dict(zip(self._fields[part], self[part], strict=True))
            kept = before is not None and all(map(np.array_equal, self[part], before[part]))
            tables[name] = KEPT if kept else pl.DataFrame({n: column.astype(np.int32) for n, column in columns.items()})
        return tables

    def carried(self, same: Ints) -> _Sets:
        """For the next release: the groups that are `same` there, and all that people left."""
        stays = np.flatnonzero(same >= 0)
        now = np.full(max(self.group.max(initial=0), same.max(initial=0)) + 1, -1)
        now[same[stays]] = stays
        kept = np.flatnonzero(now[self.group] >= 0)
        own = self._replace(group=now[self.group])[:5]
        return _Sets._make([*(column[kept] for column in own), *self[5:]])


def _no_sets() -> _Sets:
    return _Sets(*(np.zeros(0, dtype=np.int64) for _ in _Sets._fields))


def _smallest(parts: list[_Sets]) -> _Sets:
    """The smallest set of each group, and of each state that people left."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    own, gone = columns[:5], columns[5:]
    order = np.lexsort(own[::-1])
    order = order[np.diff(own[0][order], prepend=-1) != 0]
    left = np.lexsort(gone[::-1])
    left = left[(np.diff(gone[0][left], prepend=-1) != 0) | (np.diff(gone[1][left], prepend=-1) != 0)]
    return _Sets(*(column[order] for column in own), *(column[left] for column in gone))


def _of_pair(published: Published, earlier: int, later: int, named: _Named) -> _Sets:
    one, two = published.releases[earlier], published.releases[later]
    since = np.full(max(one.group_count, two.group_count), one.number)
    found = compare(published, earlier, later, growing=False)
    return _sets(found, named, np.arange(two.group_count), since, since, two.number)


def _sets(found: Comparison, named: _Named, group: Ints, since: Ints, their_since: Ints, later: int) -> _Sets:
    """All sets of a comparison: `named` and `since` are about groups of the first release, the others of the second.

    A set about nobody does not count: a pair that shares counterfeits only, or a group without newcomers.
    """
    none = np.zeros(0, dtype=np.int64)
    pairs = np.flatnonzero(found.most > 0)
    first, second = found.first[pairs], found.second[pairs]
    new = none if found.new is None else np.flatnonzero(found.new.distinct < NEVER)
    gone = none if found.gone is None else np.flatnonzero(found.gone.distinct < NEVER)
    return _Sets(
        group[np.concatenate([second, new])],
        np.concatenate([found.distinct[pairs], none if found.new is None else found.new.distinct[new]]),
        np.concatenate([named.release[first], their_since[new]]),
        np.repeat([BOTH, NEW], [pairs.size, new.size]),
        np.concatenate([named.group[first], np.full(new.size, -1)]),
        named.release[gone],
        named.group[gone],
        none if found.gone is None else found.gone.distinct[gone],
        since[gone],
        np.full(gone.size, later),
    )


def _followed(histories: Histories, step: Step, release: PublishedGroups, before: _Sets) -> _Sets:
    """The smallest sets of a release, of which only those are new where something moved."""
    parts = [before.carried(step.same), _unmoved(histories, step, release)]
    for compared in comparisons(histories, step):
        named = _Named(compared.release, compared.number)
        parts.append(_sets(compared.sets, named, compared.group, compared.since, compared.their_since, release.number))
    return _smallest(parts)


def _unmoved(histories: Histories, step: Step, release: PublishedGroups) -> _Sets:
    """Groups that are the same in the release before: with it they have all their values in common."""
    people = np.zeros(release.group_count + 1, dtype=bool)
    people[step.place[~histories.cells.made_up]] = True
    group = np.flatnonzero((step.same >= 0) & people[:-1])
    named = _Named.of(histories)
    own = (group, diversity.distinct(release)[group], named.release[group], np.full(group.size, BOTH))
    return _Sets(*own, named.group[group], *_no_sets()[5:])


def _values(count: int) -> str:
    return count_of(count, "value")
