"""Going on from releases made elsewhere: who keeps which signature, and who has lost the protection of one.

People who share groups, directly or through others, are one part of a series. Where every group of a part holds each
of its values equally often, has at least m of them, and all have the same set, exchanging the values for each other
turns one possible world into another: everybody in it has the protection of that signature, and can keep it. In any
other part somebody may be tied to fewer values already; none of its people may be seen again, because whoever is
compared with them would lose too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Ints
from reissue.methods.invariance.counterfeits import MadeCounterfeits
from reissue.model.memory import Remembered
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.equality.cut_graphs import Counts, CutGraphs, Turnover
from reissue.reasoning.history import diversity
from reissue.reasoning.history.group_histories import GroupHistories
from reissue.reasoning.history.stays import Stays, Step
from reissue.reasoning.worlds.symmetry import symmetry


def adopted_signatures(published: Published, m: int, *, most: int | None) -> tuple[Remembered, Ints]:
    """What to remember as if the releases had been made here, and the people who cannot go on, ascending.

    `most` is how often a group may hold each of its values; None for any number of times.
    """
    past = _ForeignReleases.of(published, m, most)
    return past.remembered(), past.lost()


def adopted_cuts(published: Published, m: int, e: int) -> tuple[Remembered, Ints]:
    """The same for buckets that must not change by few tuples at a time: those that did cannot go on.

    Nobody in a sound part changes between buckets, so that each is judged by itself.
    """
    past, graphs = _certified(_ForeignReleases.of(published, m, None), e)
    return {**past.remembered(), **graphs.tables()}, past.lost()


def adopted_histories(
    published: Published, m: int, degree: Callable[[int], int], most: int | None, prefix: str, *, merged: bool
) -> tuple[Remembered, Ints]:
    """The same where nobody may be published more than `most` times or be tied to others by a correlation of few.

    `degree` says how many people a correlation needs in groups of so many values. With `merged`, no combination of
    releases may tie fewer together than it says of m. Tables of everybody's groups have names that begin with `prefix`.
    """
    past = _ForeignReleases.of(
        published, m, None, spoilt=_correlated(published, m, degree) | _too_often(published, most)
    )
    graphs: Remembered = {}
    if merged:
        past, cuts = _certified(past, degree(m))
        graphs = cuts.tables()
    histories = GroupHistories.read({}, prefix)
    for release, _, sound in past.releases():
        who = np.repeat(sound, release.sizes)
        group = release.member_groups
        histories = histories.advance(release.number, release.members[who], group[who], release.group_count)
    return {**past.remembered(), **graphs, **histories.tables()}, past.lost()


def _correlated(published: Published, m: int, degree: Callable[[int], int]) -> Bools:
    """Which groups of at least m values are correlated with earlier or later ones in fewer people than they need."""
    from reissue.reasoning.correlation.correlations import Correlations

    found = Correlations.of(published)
    values = np.diff(found.value_starts)
    needed = np.zeros(int(values.max(initial=0)) + 1, dtype=np.int64)
    for size in np.unique(values[values >= m]).tolist():
        needed[size] = degree(size)
    tied: Bools = np.minimum(found.smallest_before, found.smallest_after) < needed[values]
    return tied


def _too_often(published: Published, most: int | None) -> Bools:
    """Which groups have somebody who is in more than so many releases."""
    where = published.index
    spoilt = np.zeros(where.position.size, dtype=np.bool_)
    if most is not None:
        often = np.diff(where.group_starts)
        spoilt[where.member_groups[often[where.member] > most]] = True
    return spoilt


def _certified(past: _ForeignReleases, e: int) -> tuple[_ForeignReleases, CutGraphs]:
    """Those of the past whose cuts are large enough, and the graphs they come from."""
    past = past.without(past.split())
    while True:
        graphs, doubtful = _followed(past, e)
        if not doubtful.size:
            return past, graphs
        past = past.without(doubtful)


@dataclass(frozen=True)
class _ForeignReleases:
    """Releases made elsewhere; groups are numbered from 0 over all of them."""

    published: Published
    signature: Ints
    """For each group the id of its signature."""
    sound: Bools
    """For each group whether its people go on."""
    stays: Stays
    """Nobody's yet; they know the ids of the signatures."""

    @classmethod
    def of(cls, published: Published, m: int, most: int | None, spoilt: Bools | None = None) -> _ForeignReleases:
        part = symmetry(published).part
        signature, stays = _signatures(published)
        groups = _sound_groups(published, m, most)
        sound = _sound_parts(part, signature, groups if spoilt is None else groups & ~spoilt)
        return cls(published, signature, sound[part], stays)

    def without(self, signatures: Ints) -> _ForeignReleases:
        """Nobody with one of these signatures goes on."""
        return _ForeignReleases(
            self.published, self.signature, self.sound & ~np.isin(self.signature, signatures), self.stays
        )

    def releases(self) -> Iterator[tuple[PublishedGroups, Ints, Bools]]:
        """For each release the signature of each of its groups, and whether its people go on."""
        begin = 0
        for release in self.published.releases:
            groups = slice(begin, begin + release.group_count)
            begin = groups.stop
            yield release, self.signature[groups], self.sound[groups]

    def going_on(self) -> Iterator[tuple[PublishedGroups, Ints, Ints]]:
        """For each release the people in it who go on, and the signature of each."""
        for release, signature, sound in self.releases():
            who = np.repeat(sound, release.sizes)
            yield release, release.members[who], np.repeat(signature, release.sizes)[who]

    def remembered(self) -> Remembered:
        """Everybody's stays, and that there are no counterfeits."""
        stays = self.stays
        for release, people, signature in self.going_on():
            stays, _ = stays.advance(release.number, people, signature)
        return {**stays.tables(), "counterfeits": MadeCounterfeits.read({}).table()}

    def lost(self) -> Ints:
        """Those who do not, ascending."""
        lost = [release.members[np.repeat(~sound, release.sizes)] for release, _, sound in self.releases()]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *lost]))

    def split(self) -> Ints:
        """The signatures with several groups in one release, among those who go on."""
        often = [np.unique(signature[sound], return_counts=True) for _, signature, sound in self.releases()]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(one[count > 1] for one, count in often)]))


def _sound_groups(published: Published, m: int, most: int | None) -> Bools:
    """Which groups have at least m values, all equally often."""
    sound = [np.empty(0, dtype=np.bool_)]
    for release in published.releases:
        distinct, largest = diversity.distinct(release), diversity.largest(release)
        even = largest * distinct == diversity.totals(release)
        sound.append(even & (distinct >= m) & (True if most is None else largest <= most))
    return np.concatenate(sound)


def _sound_parts(part: Ints, signature: Ints, sound: Bools) -> Bools:
    """Which parts have nothing but sound groups, all of one signature."""
    count = int(part.max(initial=-1)) + 1
    least = np.full(count, np.iinfo(np.int64).max)
    most = np.full(count, -1, dtype=np.int64)
    np.minimum.at(least, part, signature)
    np.maximum.at(most, part, signature)
    unsound = np.bincount(part[~sound], minlength=count)
    parts: Bools = (least == most) & (unsound == 0)
    return parts


def _signatures(published: Published) -> tuple[Ints, Stays]:
    """For each group of all releases the id of its signature, and stays that know these ids."""
    sizes = np.concatenate([np.empty(0, dtype=np.int64), *(np.diff(r.value_starts) for r in published.releases)])
    codes = np.concatenate([np.empty(0, dtype=np.int64), *(release.values for release in published.releases)])
    entries = pl.DataFrame({"group": owners(sizes), "code": codes}).sort("group", "code")
    sets = entries.group_by("group", maintain_order=True).agg("code")
    distinct = sets.select("code").unique(maintain_order=True).with_row_index("set")
    numbers = sets.join(distinct, on="code", how="left", maintain_order="left")["set"].to_numpy()
    values = published.values if published.magnitudes is None else published.magnitudes.tolist()
    stays, ids = Stays.read({}).signature_ids([[values[code] for code in one] for one in distinct["code"].to_list()])
    return ids[numbers], stays


def _followed(past: _ForeignReleases, e: int) -> tuple[CutGraphs, Ints]:
    """The cut graphs up to the last release, or up to one with doubtful signatures, and these."""
    stays, graphs = past.stays, CutGraphs(e)
    for release, people, signature in past.going_on():
        stays, step = stays.advance(release.number, people, signature)
        last = step.returned.last
        once = ~last.again
        admitted = graphs.admit(last.signature[once], last.came[once], last.left[once])
        if not admitted.all():
            return graphs, np.unique(last.signature[once][~admitted])
        present = np.unique(signature)
        graphs.end(np.setdiff1d(graphs.living(), present), step.number)
        turnover = _turnover(step, present)
        missing = graphs.missing(turnover)
        if missing.any():
            return graphs, turnover.signature[missing > 0]
        graphs.step(turnover)
    return graphs, np.empty(0, dtype=np.int64)


def _turnover(step: Step, present: Ints) -> Turnover:
    """What enters and leaves the buckets that change and live on; people who have returned are counted apart."""
    gone, again = step.left, step.left.again
    leaving = Counts.of(gone.signature[~again], gone.came[~again]).only(present)
    returners_leaving = Counts.of(gone.signature[again], gone.came[again]).only(present)
    touched = np.concatenate([leaving.signature, returners_leaving.signature, step.entered.signature])
    changed = np.intersect1d(present, touched)
    size = int(changed.max(initial=-1)) + 1
    returned = np.bincount(step.returned.signature, minlength=size)[changed]
    entered = np.bincount(step.entered.signature, minlength=size)[changed]
    return Turnover(step.number, changed, entered - returned, leaving, returned, returners_leaving)
