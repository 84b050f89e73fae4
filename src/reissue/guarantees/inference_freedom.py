"""Inference-free releases (Byun, Sohn, Bertino & Li 2006, Definitions 4 and 5, Figure 6).

Comparing two releases narrows down the value of somebody who is in groups of both, who is new in the later one, or who
is gone from it, to an *inference-enabling set* (`reasoning.channel_sets`, where the paper's sets are generalised to any
number of groups that hang together and to people who left). The promise says that each set that is about somebody has
at least l distinct values.

It counts values and nothing more: one of the l values may be that of nearly everybody, so it does not bound a
probability by 1/l, whatever the paper's Definition 4 says. And it is about pairs of releases: three of them may leave
somebody one value although each two leave him l. `HistoryDiverse` is about the whole history.

A later release can break the promise for people who are not in it: then the group is one of the earlier release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.errors import count_of
from reissue.guarantees.base import Measure, SeriesGuarantee, Tally, Validation, Verdict
from reissue.memory import Memory, Remembered
from reissue.reasoning import diversity
from reissue.reasoning.channel_sets import NEVER, Comparison, compare
from reissue.reasoning.diversity import Ints
from reissue.reasoning.histories import Histories, Step, need_histories
from reissue.release import Published, PublishedGroups

LEAST, SETS, GONE = "least", "sets", "gone"
"""The tables with the smallest l so far, and with the smallest sets of the last release against each earlier one."""
BOTH, NEW = 0, 1


@dataclass(frozen=True)
class InferenceFree(SeriesGuarantee):
    """Between any two releases every inference-enabling set that is about somebody has at least l distinct values.

    This counts values; it does not bound a probability by 1/l, and it does not say what three releases show together.
    The figure of a verdict is the number of distinct values of the smallest set, against all earlier releases, that a
    group's members are in; infinity for groups that nothing can be compared with. A set without any value, which
    only releases that contradict each other have, breaks the promise too.
    """

    name: ClassVar[str] = "inference-freedom"

    l: int  # noqa: E741
    """The smallest number of distinct values a set may have, at least 1; a count, not a bound of 1/l."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=1)
        validation.finish()

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words."""
        return f"{self.name} (l = {self.l}, counts values, does not bound a probability by 1/l)"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series, every two releases. `secret` is not needed: the promise is visible from outside."""
        need_histories(self, published, following=False)
        tally = PlacesTally(self.title)
        for later, release in enumerate(published.releases):
            found = [_no_sets(), *(_of_pair(published, earlier, later) for earlier in range(later))]
            self._add(tally, release, _together(found))
        return tally.verdict()

    def follow(self, published: Published, state: Memory, secret: object = None) -> tuple[Verdict, Remembered]:
        """Judge the next release, the only one in the view, against all earlier ones. `secret` is not needed."""
        need_histories(self, published, following=True)
        release = published.releases[0]
        histories, step = Histories.read(state).advance(published, release)
        found = _followed(histories, step, release, state)
        tally = PlacesTally(self.title)
        self._add(tally, release, found)
        verdict = tally.verdict()
        least = min(self.l, int(state[LEAST]["l"][0])) if LEAST in state else self.l
        if self.l > least:
            words = f"Earlier releases were made for l = {least}: what is out cannot be made safer."
            verdict = replace(verdict, holds=False, explanation=words)
        return verdict, {**histories.tables(), **found.tables(), LEAST: pl.DataFrame({"l": [least]})}

    def obstacle(self, state: Memory) -> str | None:
        """Sets that are too small are out."""
        if LEAST in state and self.l > (least := int(state[LEAST]["l"][0])):
            return f"l = {self.l} is more than the l = {least} of an earlier release, and what is out stays out"
        return super().obstacle(state)

    def _add(self, tally: PlacesTally, release: PublishedGroups, found: _Sets) -> None:
        """Take in the sets of a release with all earlier ones, and those about people who left."""
        if not release.group_count and not found.gone_group.size:
            return
        at = np.full(release.group_count, -1)
        order = np.lexsort((found.release, found.distinct, found.group))
        smallest = order[np.diff(found.group[order], prepend=-1) != 0]
        at[found.group[smallest]] = smallest
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

        tally.add(release, Measure(figure, figure >= self.l, words))
        order = np.lexsort((found.gone_group, found.gone_release))
        left = found.gone_distinct[order]
        tally.add_places(
            found.gone_release[order],
            found.gone_group[order],
            Measure(
                left.astype(np.float64),
                left >= self.l,
                lambda at: (
                    f"has {_values(int(left[at]))} left for the people in it who are not in release "
                    f"{release.number:,}, {self._needed}"
                ),
            ),
        )

    @property
    def _needed(self) -> str:
        return f"at least {self.l:,} {'is' if self.l == 1 else 'are'} needed"


class PlacesTally(Tally):
    """A tally that also takes in groups of earlier releases, about people who left them."""

    def add_places(self, number: Ints, group: Ints, measure: Measure) -> None:
        """Take in figures of groups (counted from 0) of releases of these numbers."""
        broken = np.flatnonzero(~measure.kept)
        self._groups += number.size
        pool = broken if broken.size or self._violations else np.arange(number.size)
        if pool.size:
            pick = np.argmin if self._low_is_worse else np.argmax
            at = int(pool[int(pick(measure.figure[pool]))])
            figure = float(measure.figure[at])
            first_failure = bool(broken.size) and not self._violations
            if self._worst is None or first_failure or self._worse(figure, self._worst[0]):
                self._worst = (figure, int(number[at]), int(group[at]) + 1, measure.words(at))
        self._violations += broken.size


class _Sets(NamedTuple):
    """For groups of one release and each earlier one the smallest set; then those about people who left."""

    release: Ints
    """The number of the earlier release."""
    group: Ints
    distinct: Ints
    kind: Ints
    other: Ints
    """The group of the earlier release; -1 for newcomers."""
    gone_release: Ints
    """The number of the earlier release, whose groups these are."""
    gone_group: Ints
    gone_distinct: Ints

    @classmethod
    def read(cls, state: Memory) -> _Sets:
        """What `tables` gave."""
        if SETS not in state:
            return _no_sets()
        columns = [*state[SETS].get_columns(), *state[GONE].get_columns()]
        return cls(*(column.to_numpy().astype(np.int64) for column in columns))

    def tables(self) -> dict[str, pl.DataFrame]:
        names = ("release", "group", "distinct")
        own, gone = dict(zip((*names, "kind", "other"), self[:5], strict=True)), dict(zip(names, self[5:], strict=True))
        return {
            SETS: pl.DataFrame({name: column.astype(np.int32) for name, column in own.items()}),
            GONE: pl.DataFrame({name: column.astype(np.int32) for name, column in gone.items()}),
        }


def _no_sets() -> _Sets:
    return _Sets(*(np.zeros(0, dtype=np.int64) for _ in _Sets._fields))


def _together(parts: list[_Sets]) -> _Sets:
    return _Sets(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _of_pair(published: Published, earlier: int, later: int) -> _Sets:
    one, two = published.releases[earlier], published.releases[later]
    compared = compare(published, earlier, later, growing=False)
    return _smallest(compared, one.number, np.arange(one.group_count), np.arange(two.group_count))


def _smallest(compared: Comparison, number: int, first: Ints, second: Ints) -> _Sets:
    """For each group the smallest of its sets; `first` and `second` say which groups were compared.

    A set about nobody does not count: a pair that shares counterfeits only, or a group without newcomers.
    """
    pairs = np.flatnonzero(compared.most > 0)
    group, distinct = [compared.second[pairs]], [compared.distinct[pairs]]
    kind, other = [np.full(pairs.size, BOTH)], [first[compared.first[pairs]]]
    if compared.new is not None:
        new = np.flatnonzero(compared.new.distinct < NEVER)
        group, distinct = [*group, new], [*distinct, compared.new.distinct[new]]
        kind, other = [*kind, np.full(new.size, NEW)], [*other, np.full(new.size, -1)]
    rows = [np.concatenate(column) for column in (group, distinct, kind, other)]
    order = np.lexsort(tuple(reversed(rows)))
    order = order[np.diff(rows[0][order], prepend=-1) != 0]
    mine, values, kinds, theirs = (row[order] for row in rows)
    gone, left = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if compared.gone is not None:
        gone = np.flatnonzero(compared.gone.distinct < NEVER)
        left = compared.gone.distinct[gone]
    return _Sets(
        np.full(mine.size, number), second[mine], values, kinds, theirs, np.full(gone.size, number), first[gone], left
    )


def _followed(histories: Histories, step: Step, release: PublishedGroups, state: Memory) -> _Sets:
    """The smallest sets of a release: those of groups that hang together with what moved, and the others as before."""
    if len(histories.numbers) == 1:
        return _no_sets()
    parts, anew, left_anew = [_unmoved(histories, step, release)], [], []
    for compared in histories.comparisons(step):
        parts.append(_smallest(compared.sets, compared.number, compared.first, compared.second))
        anew.append(_places(compared.number, compared.second))
        left_anew.append(_places(compared.number, compared.first))
    none = np.zeros(0, dtype=np.int64)
    before = _Sets.read(state)
    stays = np.flatnonzero(step.same >= 0)
    now = np.full(max(before.group.max(initial=0), step.same.max(initial=0)) + 1, -1)
    now[step.same[stays]] = stays
    group = now[before.group]
    kept = (group >= 0) & ~np.isin(_places(before.release, group), np.concatenate([none, *anew]))
    left = ~np.isin(_places(before.gone_release, before.gone_group), np.concatenate([none, *left_anew]))
    own = [column[kept] for column in before._replace(group=group)[:5]]
    return _together([*parts, _Sets(*own, *(column[left] for column in before[5:]))])


def _unmoved(histories: Histories, step: Step, release: PublishedGroups) -> _Sets:
    """Groups that are the same in the release before: with it they have all their values in common."""
    people = np.zeros(release.group_count + 1, dtype=bool)
    people[step.place[~histories.cells.made_up]] = True
    group = np.flatnonzero((step.same >= 0) & people[:-1])
    none = _no_sets()[5:]
    same = (np.full(group.size, histories.numbers[-2]), group, diversity.distinct(release)[group])
    return _Sets(*same, np.full(group.size, BOTH), step.same[group], *none)


def _places(release: int | Ints, group: Ints) -> Ints:
    """One number for a release and a group of it."""
    return release * 2**32 + group


def _values(count: int) -> str:
    return count_of(count, "value")
