"""What is different from one release to the next, where nobody is known by name.

    classes that meet    somebody may be in both: classes of one release, or of both
    part                 classes of two releases that hang together: nothing outside meets any of them

Whoever is in both releases with the same quasi-identifiers is in the same part of both: their classes have a point in
common. So a part with more rows than before holds somebody who was not in the release before, or was with other
quasi-identifiers; and one with fewer lacks somebody. That needs no assumption. Where a release is recoded as the last
one was and no classes overlap, a part is one class.

Within a part, values that n rows more show and values that n rows fewer show are n people whose value is another now,
or who left and were followed by others: which of the two, the releases do not tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.kernels.components import connect, number
from reissue.model.published import PublishedGroups
from reissue.model.regions import Pairs

EVENTS = pl.Schema(
    {
        "what": pl.String,
        "people": pl.Int64,
        "before": pl.Int64,
        "after": pl.Int64,
        "lost": pl.Int64,
        "gained": pl.Int64,
        "often": pl.Int64,
        "group_before": pl.Int64,
        "group_after": pl.Int64,
        "groups": pl.Int64,
        "rarity": pl.Float64,
    }
)
"""What stands out in a step, a row for each part: `what` (`newcomer`: rows more and no value rarer; `leaver`: rows
fewer and no value more frequent; `change`: as many rows, one value less and one more); how many `people`; the rows
`before` and `after`; the value `lost` and `gained`, the most frequent of several, and how `often`; a group of either
release that shows them, counted from 0, -1 for none; how many `groups` of a release the part has at most; and the
share of the value in its release."""


@dataclass(frozen=True, repr=False)
class ReleaseStep:
    """Two consecutive releases, by their positions in the series."""

    earlier: int
    later: int
    rows_before: int
    rows: int
    came: int
    """At least so many people are in the later release who were not in the earlier one, or whose quasi-identifiers were
    others there."""
    gone: int
    """At least so many are in the earlier one and not in the later one, or have other quasi-identifiers there."""
    turned: int
    """At least so many more changed their value, or left and were followed by others."""
    links: int
    """Parts with one row in both releases."""
    shrunk: int
    """Parts with fewer rows than before."""
    fallen: int
    """Pairs of a part and a value with fewer rows than before."""
    events: pl.DataFrame
    """What stands out; see `EVENTS`."""
    whole: bool = True
    """Whether classes were compared; else only the totals were."""

    def __repr__(self) -> str:
        return f"ReleaseStep({self.rows_before:,} to {self.rows:,} rows, {self.events.height:,} events)"


def uncompared(earlier: int, later: int, one: PublishedGroups, two: PublishedGroups) -> ReleaseStep:
    """Two releases of which only the totals are compared, because too many classes meet."""
    before, after = int(one.counts.sum()), int(two.counts.sum())
    more = after - before
    return ReleaseStep(
        earlier, later, before, after, max(more, 0), max(-more, 0), 0, 0, int(more < 0), 0, pl.DataFrame(schema=EVENTS),
        whole=False,
    )  # fmt: skip


def release_step(
    earlier: int, later: int, one: PublishedGroups, two: PublishedGroups, within: tuple[Pairs, Pairs], between: Pairs
) -> ReleaseStep:
    """Compare two releases; `within` each which classes meet, and `between` them."""
    part, parts = _parts(one.group_count, two.group_count, within, between)
    mine, theirs = part[: one.group_count], part[one.group_count :]
    before = np.bincount(mine, one.rows, minlength=parts).astype(np.int64)
    after = np.bincount(theirs, two.rows, minlength=parts).astype(np.int64)
    width = int(max(one.values.max(initial=0), two.values.max(initial=0))) + 1
    key_one, key_two = mine[one.value_groups] * width + one.values, theirs[two.value_groups] * width + two.values
    keys, place = np.unique(np.concatenate([key_one, key_two]), return_inverse=True)
    change = np.bincount(place, np.concatenate([-one.counts, two.counts]), minlength=keys.size).astype(np.int64)
    of = keys // width
    up = np.bincount(of, np.maximum(change, 0), minlength=parts).astype(np.int64)
    down = np.bincount(of, np.maximum(-change, 0), minlength=parts).astype(np.int64)
    net = after - before
    single = (up == 1) & (down == 1)
    which = {"newcomer": (net > 0) & (down == 0), "leaver": (net < 0) & (up == 0), "change": (net == 0) & single}
    gained, often = _largest(of, keys % width, change, parts)
    lost, falling = _largest(of, keys % width, -change, parts)
    events = [
        _events(what, np.flatnonzero(chosen), before, after, gained, lost, often, falling)
        for what, chosen in which.items()
    ]
    wide = np.maximum(np.bincount(mine, minlength=parts), np.bincount(theirs, minlength=parts))
    found = pl.concat(events).with_columns(
        groups=pl.Series(wide[found_parts(which)]),
        group_before=pl.Series(_shown_in(one, key_one, width, found_parts(which), lost, mine, parts)),
        group_after=pl.Series(_shown_in(two, key_two, width, found_parts(which), gained, theirs, parts)),
        rarity=pl.Series(_rarity(two, one, gained[found_parts(which)], lost[found_parts(which)])),
    )
    return ReleaseStep(
        earlier,
        later,
        int(before.sum()),
        int(after.sum()),
        int(np.maximum(net, 0).sum()),
        int(np.maximum(-net, 0).sum()),
        int(np.minimum(up, down).sum()),
        int(np.count_nonzero((before == 1) & (after == 1))),
        int(np.count_nonzero(net < 0)),
        int(np.count_nonzero(change < 0)),
        found.select(*EVENTS).cast(EVENTS),
    )


def found_parts(which: dict[str, Bools]) -> Ints:
    """The parts of all events, in the order in which these are told."""
    return np.concatenate([np.flatnonzero(chosen) for chosen in which.values()])


def _parts(one: int, two: int, within: tuple[Pairs, Pairs], between: Pairs) -> tuple[Ints, int]:
    """The part of each class of both releases, those of the earlier one first, and how many parts there are."""
    pairs = [within[0], (within[1][0] + one, within[1][1] + one), (between[0], between[1] + one)]
    first, second = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    parent = np.arange(one + two, dtype=np.int64)
    # Every class is beside itself, so that all that a class meets hang together with it.
    itself = np.arange(one + two, dtype=np.int64)
    first, second = np.concatenate([itself, first]), np.concatenate([itself, second])
    connect(first, second, np.full(one + two, -1, dtype=np.int64), parent)
    parts = number(parent)
    return parent, int(parts)


def _largest(of: Ints, value: Ints, change: Ints, parts: int) -> tuple[Ints, Ints]:
    """For each part the value that more rows show, that with the largest difference, and by how many; -1 for none."""
    chosen, often = np.full(parts, -1, dtype=np.int64), np.zeros(parts, dtype=np.int64)
    grown = np.flatnonzero(change > 0)
    order = grown[np.lexsort((value[grown], -change[grown], of[grown]))]
    first = order[np.flatnonzero(np.diff(of[order], prepend=-1))]
    chosen[of[first]], often[of[first]] = value[first], change[first]
    return chosen, often


def _events(
    what: str, parts: Ints, before: Ints, after: Ints, gained: Ints, lost: Ints, often: Ints, falling: Ints
) -> pl.DataFrame:
    net = np.abs(after[parts] - before[parts])
    return pl.DataFrame(
        {
            "what": pl.Series([what], dtype=pl.String).new_from_index(0, parts.size),
            "people": np.maximum(net, 1),
            "before": before[parts],
            "after": after[parts],
            "lost": lost[parts],
            "gained": gained[parts],
            "often": np.where(gained[parts] >= 0, often[parts], falling[parts]),
        }
    )


def _shown_in(
    release: PublishedGroups, keys: Ints, width: int, parts: Ints, value: Ints, part: Ints, count: int
) -> Ints:
    """For each of some parts a group of a release that shows a value, or any of its groups; -1 where it has none."""
    first_group = np.full(count, -1, dtype=np.int64)
    first_group[part[::-1]] = np.arange(part.size)[::-1]
    found = first_group[parts]
    if keys.size:
        order = np.argsort(keys, kind="stable")
        wanted = parts * width + value[parts]
        at = np.minimum(np.searchsorted(keys[order], wanted), keys.size - 1)
        there = (keys[order[at]] == wanted) & (value[parts] >= 0)
        found = np.where(there, release.value_groups[order[at]], found)
    return found


def _rarity(two: PublishedGroups, one: PublishedGroups, gained: Ints, lost: Ints) -> list[float]:
    """The share of the value gained in the later release, or of the one lost in the earlier."""
    width = int(max(one.values.max(initial=0), two.values.max(initial=0))) + 1
    late, early = (np.bincount(of.values, of.counts, minlength=width) for of in (two, one))
    share_late, share_early = late / max(late.sum(), 1), early / max(early.sum(), 1)
    found: list[float] = np.where(
        gained >= 0, share_late[np.maximum(gained, 0)], share_early[np.maximum(lost, 0)]
    ).tolist()
    return found
