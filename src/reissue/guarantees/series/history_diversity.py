"""l-diversity of histories: what all releases of a series show together, not only two at a time.

People who were in the same groups of all releases, and absent from the same ones, have the same *history*: they are
one cell (`reasoning.channels.histories`). The promise is about every cell, and about people who keep their values.

`diversity="distinct"`. Let the true values of a cell number at least l different ones. Then everybody in it has at
least l possible values, whichever releases are combined: exchange the values of two people of a cell in the true
world; every group of every release holds both or neither, so that all counts stay as they were published, and each of
the two can have the other's value. This counts values; it does not bound a probability by 1/l.

`diversity="share"`. Let U(v) be a number of people of the cell that has v in no world more often: the least count of v
in all groups that the cell was in, and in what those of a group can have who are in one of two releases only
(`Newcomers.amounts`), wherever the cell is among them. Exchanging two people of the cell maps worlds to worlds, so in
all worlds together each of its n people has v equally often; in no world do more than U(v) of them have it, so the
probability of v is at most U(v) / n for each, all worlds being equally likely. U(v) l <= n for all v bounds it by 1/l.

Neither is needed for what it gives: somebody alone in his cell may be safe through others, which is not seen here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.dense import places
from reissue.arrays.runs import owners, runs, starts_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import EXACT, Followed, Least, Measure, Measured, Tally, Verdict
from reissue.model.memory import Memory, Remembered, Stored, Writers
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups, need_order
from reissue.reasoning.channels.families import comparisons
from reissue.reasoning.channels.histories import (
    PEOPLE,
    VALUES,
    Cells,
    Histories,
    lasting_values,
    need_histories,
    people_table,
    values_table,
)
from reissue.reasoning.history.diversity import TOLERANCE
from reissue.reasoning.history.states import NOWHERE, ints

SEEN, SHARES = "seen", "shares"
"""The tables that say where each cell was last, and how many of it can have each value."""


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class HistoryDiverse(Measured):
    """Whoever has the same history in all releases has l different values, or no value in more than 1/l of all worlds.

    With `diversity="distinct"` this counts values; it does not bound a probability by 1/l. With `diversity="share"` it
    does. Those who have left are judged too: they are named by the group that they were in last. The figure of a
    verdict is the number of distinct values of the cell with the fewest, or the largest share; infinity where fewer
    values are left for a cell than it has people, which only releases that contradict each other bring about.
    """

    name: ClassVar[str] = "history-l-diversity"
    words: ClassVar[str] = "people with the same history in all releases have at least l values"
    least: ClassVar[Least] = Least("l", pl.Float64)

    l: float  # noqa: E741
    """At least 1. Whole for `distinct`: the smallest number of distinct values, a count and not a bound of 1/l. Any
    number for `share`: the largest probability is 1/l."""
    diversity: Literal["distinct", "share"] = "distinct"
    """`distinct` needs to know the true values: the private side passes, as `secret`, a mapping from the number of
    a person to the value, or two arrays: people, ascending, and positions of their values in `Published.values`."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        if self.diversity == "share":
            validation.real("l", least=1)
        else:
            validation.whole("l", least=1)
        validation.one_of("diversity", ("distinct", "share"))
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(value=one_in(self.l)) if self.diversity == "share" else Bounds(history=int(self.l))

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words."""
        counts = "counts values, does not bound a probability by 1/l"
        return f"{self.name} (l = {self.l}, {counts if self._counts else 'shares, bounds a probability by 1/l'})"

    @property
    def secret_of(self) -> Literal["anew", "values"]:
        """The true values, where they are counted."""
        return "values" if self._counts else "anew"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series from its first release on. `secret` are the true values, where they are counted."""
        need_histories(self, published)
        tally = self._tally()
        known: _Truths | _Shares = _Truths() if self._counts else _Shares()
        for release in published.releases:
            known = known.advance(published, release, secret)
            tally.add(release, self._measure(release, known))
        return tally.verdict()

    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Measure]:
        """By everybody's cell so far."""
        need_histories(self, published)
        if obstacle := self._other_diversity(state):
            raise ParameterError(f"{type(self).__name__} cannot follow the series: {obstacle}.")
        known: _Truths | _Shares = _Truths.read(state) if self._counts else _Shares.read(state)
        known = known.advance(published, release, secret)
        return Followed(self._measure(release, known), known.tables())

    def obstacle(self, state: Memory) -> str | None:
        """Cells that are too uniform are out, or something else was promised before."""
        return super().obstacle(state) or self._other_diversity(state)

    def _least_row(self, row: pl.DataFrame) -> pl.DataFrame:
        return row.with_columns(diversity=pl.lit(self.diversity))

    def _tally(self) -> Tally:
        return Tally(self.title, low_is_worse=self._counts)

    def _other_diversity(self, state: Memory) -> str | None:
        table = self.least.table
        if table in state and (before := state[table]["diversity"][0]) != self.diversity:
            return f"histories were checked with diversity = '{before}' so far, not '{self.diversity}'"
        return None

    @property
    def _counts(self) -> bool:
        return self.diversity == "distinct"

    def _measure(self, release: PublishedGroups, known: _Truths | _Shares) -> Measure:
        """The cells of a release, the worst of each group, and of those who have left."""
        figure, kept, tail = self._counted(known) if isinstance(known, _Truths) else self._shared(known)
        people = known.cells.sizes
        real = ~known.cells.made_up
        cells = np.flatnonzero(real & (known.place >= 0))
        ranked = figure[cells] if self._counts else -figure[cells]
        cells = cells[np.lexsort((ranked, kept[cells], known.place[cells]))]
        cells = cells[np.diff(known.place[cells], prepend=NOWHERE) != 0]
        at = np.full(release.group_count, -1)
        at[known.place[cells]] = cells

        def words(cell: int, has: str, who: str = "") -> str:
            told = f"{count_of(int(people[cell]), 'person', 'people')} with the same history{who}"
            return f"{has} {told} and {tail(cell)}"

        best = np.inf if self._counts else 0.0
        own = Measure(
            np.append(figure, best)[at],
            np.append(kept, True)[at],
            lambda group: words(int(at[group]), "has") if at[group] >= 0 else "has nobody in it",
        )
        left = np.flatnonzero(real & (known.place < 0))
        gone = f", no longer in release {release.number:,},"
        earlier = Measure(figure[left], kept[left], lambda at: words(int(left[at]), "had", gone))
        return own.beside(known.release[left], known.group[left], earlier)

    def _counted(self, known: _Truths) -> tuple[Floats, Bools, Callable[[int], str]]:
        distinct = known.distinct
        return (
            distinct.astype(np.float64),
            distinct >= self.l,
            lambda cell: (
                f"{count_of(int(distinct[cell]), 'distinct value')} among them, at least {self.l:,} "
                f"{'is' if self.l == 1 else 'are'} needed"
            ),
        )

    def _shared(self, known: _Shares) -> tuple[Floats, Bools, Callable[[int], str]]:
        people = known.cells.sizes
        cell = owners(np.diff(known.starts))
        counts = np.minimum(known.counts, people[cell])
        room = np.bincount(cell, counts, people.size)
        top = np.zeros(people.size, dtype=np.int64)
        np.maximum.at(top, cell, counts)
        exact = isinstance(self.l, int) and self.l <= EXACT
        kept = top * self.l <= people if exact else top * float(self.l) <= people * (1 + TOLERANCE)
        possible = room >= people

        def tail(at: int) -> str:
            if not possible[at]:
                return "fewer values left than that, so that the releases contradict each other"
            return f"a value that {int(top[at]):,} of them may have, a share of at most 1/{self.l} is needed"

        return np.where(possible, top / people, np.inf), kept & possible, tail


@dataclass(frozen=True, repr=False, eq=False)
class _Truths(Stored):
    """The cells, and how many true values each has."""

    sign: ClassVar[str] = SEEN

    cells: Cells = field(default_factory=Cells.none)
    place: Ints = field(default_factory=_none)
    """For each cell its group in the last release; `NOWHERE` for those who are not in it."""
    release: Ints = field(default_factory=_none)
    group: Ints = field(default_factory=_none)
    """For each cell the last release, by number, that it was in, and the group."""
    distinct: Ints = field(default_factory=_none)
    """For each cell how many different values its people have."""
    value: Ints = field(default_factory=_none)
    """For everybody in `cells` the value; -1 for counterfeits."""
    values: tuple[object, ...] = ()
    last: int = 0
    _unchanged: frozenset[str] = frozenset()

    @classmethod
    def _empty(cls) -> _Truths:
        return cls()

    @classmethod
    def _from(cls, memory: Memory) -> _Truths:
        people, seen = memory[PEOPLE], memory[SEEN]
        release, group, distinct = (ints(seen[name]) for name in ("release", "group", "distinct"))
        return cls(
            Cells(ints(people["person"]), ints(people["cell"]), np.full(distinct.size, -1)),
            _none(),
            release,
            group,
            distinct,
            ints(people["value"]),
            tuple(memory[VALUES]["value"].to_list()),
            int(release.max(initial=0)),
            frozenset((PEOPLE, VALUES)),
        )

    def _writers(self) -> Writers:
        value, distinct = pl.Series(self.value.astype(np.int32)), pl.Series(self.distinct, dtype=pl.UInt32)
        return {
            PEOPLE: lambda: people_table(self.cells).with_columns(value=value),
            VALUES: lambda: values_table(self.values),
            SEEN: lambda: _seen_table(self.release, self.group).with_columns(distinct=distinct),
        }

    def advance(self, published: Published, release: PublishedGroups, secret: object) -> _Truths:
        """Go on to one more release, of this view."""
        need_order(release, self.last)
        real = np.flatnonzero(release.members >= 0)
        codes = _true_values(published, release, secret)
        values, lasting = lasting_values(self.values, published, codes)
        cells, place, fresh = self.cells.split(release)
        value = np.full(cells.person.size, -1)
        before = places(self.cells.person, cells.person)
        value[before >= 0] = self.value[before[before >= 0]]
        at = places(cells.person, release.members[real])
        changed = int(np.count_nonzero((value[at] >= 0) & (value[at] != lasting[codes])))
        if changed:
            raise ParameterError(
                f"{count_of(changed, 'person', 'people')} of release {release.number} had another value before.",
                hint="HistoryDiverse is about people who keep their values; another guarantee is needed.",
            )
        value[at] = lasting[codes]
        distinct = np.concatenate([self.distinct, np.zeros(cells.count - self.distinct.size, dtype=np.int64)])
        who = np.flatnonzero(fresh[cells.cell] & (value >= 0))
        held = np.unique(cells.cell[who] * max(len(values), 1) + value[who]) // max(len(values), 1)
        distinct[fresh] = np.bincount(held, minlength=cells.count)[fresh]
        kept = self._unchanged - ({PEOPLE} if fresh.any() else set())
        kept -= {VALUES} if len(values) > len(self.values) else set()
        seen = _seen(self.release, self.group, cells.parent, place, release.number)
        return _Truths(cells, place, *seen, distinct, value, values, release.number, kept)


@dataclass(frozen=True, repr=False, eq=False)
class _Shares(Stored):
    """The histories, and for each cell how many of its people can have each value: U."""

    sign: ClassVar[str] = SEEN

    histories: Histories = field(default_factory=Histories)
    place: Ints = field(default_factory=_none)
    release: Ints = field(default_factory=_none)
    group: Ints = field(default_factory=_none)
    """As in `_Truths`."""
    starts: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    values: Ints = field(default_factory=_none)
    counts: Ints = field(default_factory=_none)
    """For each cell its values, by their lasting positions, and U; those with U = 0 are left out."""
    _unchanged: frozenset[str] = frozenset()

    @property
    def cells(self) -> Cells:
        """The cells."""
        return self.histories.cells

    @classmethod
    def _empty(cls) -> _Shares:
        return cls()

    @classmethod
    def _from(cls, memory: Memory) -> _Shares:
        seen, shares = memory[SEEN], memory[SHARES]
        cell, value, count = (ints(shares[name]) for name in ("cell", "value", "count"))
        release, group = ints(seen["release"]), ints(seen["group"])
        return cls(Histories.read(memory), _none(), release, group, _starts(cell, release.size), value, count)

    def _writers(self) -> Writers:
        shares = {"cell": owners(np.diff(self.starts)), "value": self.values, "count": self.counts}
        return {
            SEEN: lambda: _seen_table(self.release, self.group),
            SHARES: lambda: pl.DataFrame({name: column.astype(np.uint32) for name, column in shares.items()}),
        }

    def _inside(self) -> Remembered:
        return self.histories.tables()

    def advance(self, published: Published, release: PublishedGroups, secret: object) -> _Shares:
        """Go on to one more release, of this view; `secret` is not needed."""
        histories, step = self.histories.advance(published, release)
        cells, last = histories.cells, histories.last
        # A cell begins with what its parent had, or with what its group has if it came as a cell of its own.
        source = np.arange(cells.count)
        source[self.cells.count :] = cells.parent[self.cells.count :]
        own = source < 0
        first = np.where(own, self.values.size + last.value_starts[step.place], np.append(self.starts, 0)[source])
        lengths, theirs = np.append(np.diff(self.starts), 0), np.append(np.diff(last.value_starts), 0)
        sizes = np.where(own, theirs[step.place], lengths[source])
        entries = runs(first, sizes)
        values = np.concatenate([self.values, last.values])[entries]
        counts = np.concatenate([self.counts, last.counts])[entries]
        caps = _Caps(starts_of(sizes), values, counts, len(histories.values))
        real = ~cells.made_up
        here = np.flatnonzero(real & step.moved & (step.place >= 0))
        caps.add(here, step.place[here], last.keys, last.values, last.counts)
        for compared in comparisons(histories, step):
            for mine, theirs, groups, found in (
                (compared.now, compared.before, compared.two, compared.sets.new),
                (compared.before, compared.now, compared.one, compared.sets.gone),
            ):
                if found is None:
                    continue
                who = np.flatnonzero(real[compared.cell] & (theirs < 0) & (mine >= 0))
                group = groups.value_groups
                caps.add(compared.cell[who], mine[who], group, groups.values, found.amounts)
        some = np.flatnonzero(counts)
        cell = owners(sizes)[some]
        seen = _seen(self.release, self.group, cells.parent, step.place, release.number)
        return _Shares(histories, step.place, *seen, _starts(cell, cells.count), values[some], counts[some])


class _Caps:
    """Lowers what each cell can have to what its groups leave; `counts` is changed in place."""

    def __init__(self, starts: Ints, values: Ints, counts: Ints, width: int) -> None:
        self._starts, self._values, self._counts, self._width = starts, values, counts, width

    def add(self, cells: Ints, rows: Ints, keys: Ints, values: Ints, amounts: Ints) -> None:
        """Each cell can have what stands in its row of a table (`keys`, ascending, and values ascending in each).

        A cell may come several times, with several rows.
        """
        sizes = np.diff(self._starts)[cells]
        entries = runs(self._starts[cells], sizes)
        table = keys * self._width + values
        wanted = np.repeat(rows, sizes) * self._width + self._values[entries]
        at = np.minimum(np.searchsorted(table, wanted), table.size - 1)
        left = np.where(table[at] == wanted, amounts[at], 0) if table.size else np.zeros(wanted.size, dtype=np.int64)
        np.minimum.at(self._counts, entries, left)


def _true_values(published: Published, release: PublishedGroups, secret: object) -> Ints:
    """For each real member of a release the position of the true value among those of the view."""
    real = np.flatnonzero(release.members >= 0)
    people = release.members[real]
    if isinstance(secret, Mapping):
        position = {_hashable(value): at for at, value in enumerate(published.values)}
        codes = np.array(
            [position.get(_hashable(secret.get(who, _NOBODY)), -1) for who in people.tolist()], dtype=np.int64
        )
    elif isinstance(secret, tuple) and len(secret) == 2 and all(isinstance(part, np.ndarray) for part in secret):
        known, held = (part.astype(np.int64) for part in secret)
        if known.size != held.size or (known[1:] <= known[:-1]).any():
            raise ParameterError("The 'secret' of HistoryDiverse must list people ascending, each with one value.")
        at = places(known, people)
        codes = np.where(at >= 0, np.append(held, -1)[at], -1)
    else:
        raise ParameterError(
            "The 'secret' of HistoryDiverse must be a mapping from the numbers of people to their values, or a pair of "
            f"arrays: people, ascending, and positions of their values. Got a {type(secret).__name__} instead.",
            hint="the true values are known to the private side only; diversity='share' does without them.",
        )
    unknown = int(np.count_nonzero((codes < 0) | (codes >= len(published.values))))
    if unknown:
        raise ParameterError(
            f"The 'secret' of HistoryDiverse has no value, or none of the series, for "
            f"{count_of(unknown, 'person', 'people')} of release {release.number}."
        )
    # The argument begins with a true world that agrees with what was published.
    width = len(published.values)
    group = release.member_groups[real]
    keys, often = np.unique(group * width + codes, return_counts=True)
    shown = release.value_groups * width + release.values
    at = places(np.sort(shown), keys)
    counts = release.counts[np.argsort(shown)]
    wrong = np.unique(keys[(at < 0) | (np.append(counts, 0)[at] < often)] // max(width, 1)).size
    if wrong:
        raise ParameterError(
            f"The 'secret' of HistoryDiverse does not fit release {release.number}: {wrong:,} of "
            f"{count_of(release.group_count, 'group')} publish other values than their members have."
        )
    return codes


_NOBODY = object()


def _hashable(value: object) -> Hashable:
    """Missing numbers are all the same, though they are not equal to themselves; a list is nobody's value."""
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, Hashable) else _NOBODY


def _seen(release: Ints, group: Ints, parent: Ints, place: Ints, number: int) -> tuple[Ints, Ints]:
    """For each cell the last release that it was in, and the group; a new one was where its parent was."""
    # Only cells that are somewhere now are new: those who are nowhere kept the number of their cell.
    new = np.zeros(parent.size - release.size, dtype=np.int64)
    here = place >= 0
    return np.where(here, number, np.concatenate([release, new])), np.where(here, place, np.concatenate([group, new]))


def _seen_table(release: Ints, group: Ints) -> pl.DataFrame:
    return pl.DataFrame({"release": release.astype(np.uint32), "group": group.astype(np.uint32)})


def _starts(cell: Ints, count: int) -> Ints:
    return starts_of(np.bincount(cell, minlength=count))
