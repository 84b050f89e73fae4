"""The check whether values have outgrown the shares that sets are drawn by.

A value that is three times as frequent as its share says, among those whose sets are drawn now, is likelier than the
others of a set for whoever knows that: by how much it is more frequent, each. Chance alone, and the noise of shares,
make no value so.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.dense import often
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import count_of
from reissue.model.sets import OTHERS, SetDesigns, Sets
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.draft import Draft

OUTGROWN = "outgrown-shares"
FAR = 1.5
"""So many times its limit a value may be for somebody who knows how frequent values are, before it is asked about."""
AT_ONCE = 1 << 16
"""So many sets are looked at together."""


def outgrown_shares(draft: Draft, checks: Checks) -> Failed | None:
    """Whether many people have a value that is far likelier than its limit by how frequent values are in this table."""
    sets = draft.grouping.sets
    if sets is None or checks.outgrown_shares >= 1:
        return None
    # Sets that are kept were drawn for a table in which values were as frequent as they were then.
    shown = draft.grouping.group >= 0
    drawn = shown & sets.drawn
    if not drawn.any():
        return None
    people, chance = far_above(sets, drawn)
    everybody = int(np.count_nonzero(shown))
    if people < checks.few or people <= checks.outgrown_shares * everybody:
        return None
    whose = f"{people:,} of {count_of(everybody, 'person', 'people')}"
    return Failed(
        OUTGROWN,
        "values are no longer as frequent as the shares that sets are drawn by: whoever knows that gives "
        f"{whose} a value with more than {FAR:g} times its limit, up to {chance:.2f}",
        "count shares that fit those who come, or whose values change, with `reissue shares`",
    )


def far_above(sets: Sets, chosen: Bools | None = None) -> tuple[int, float]:
    """How many people, of those chosen, have a value beyond so many times its limit, and the largest probability."""
    chosen = np.ones(sets.own.size, dtype=np.bool_) if chosen is None else chosen
    weight = _more_frequent(sets, chosen)
    people, highest = 0, 0.0
    for first in range(0, chosen.size, AT_ONCE):
        part = sets.rows(first + np.flatnonzero(chosen[first : first + AT_ONCE]))
        codes = part.codes.astype(np.int64)
        odds = weight[part.design[:, None], codes]
        odds = odds / odds.sum(axis=1, keepdims=True)
        beyond = np.zeros(codes.shape[0])
        for value, limit in _values_and_limits(sets.designs):
            same = np.zeros(odds.shape)
            for place in range(codes.shape[1]):
                same += (value[codes] == value[codes[:, [place]]]) * odds[:, [place]]
            allowed = limit[part.design[:, None], codes]
            over = np.where((allowed < 1) & (same > FAR * allowed), same, 0.0)
            beyond = np.maximum(beyond, over.max(axis=1, initial=0.0))
        people += int(np.count_nonzero(beyond))
        highest = max(highest, float(beyond.max(initial=0.0)))
    return people, highest


def _more_frequent(sets: Sets, chosen: Bools) -> Floats:
    """For each design and label how many times as frequent it is as its share; 1 where that may be chance."""
    designs = sets.designs
    times = np.ones((len(designs.designs), len(designs.labels)))
    for at, (design, places) in enumerate(zip(designs.designs, designs.places, strict=True)):
        counts = often(sets.own[chosen & (sets.design == at)], len(designs.labels)).astype(np.float64)
        expected = design.shares * counts.sum()
        chance = 5 * np.sqrt(expected) + 5
        off = np.abs(counts[places] - expected) > np.maximum(chance, 0.35 * expected)
        with np.errstate(divide="ignore", invalid="ignore"):
            times[at, places] = np.where(off & (expected > 0), counts[places] / expected, 1.0)
    # Of what is kept for values that nobody has had yet, nobody knows that nobody has them now.
    times[:, [at for at, label in enumerate(designs.labels) if label == OTHERS]] = 1.0
    return np.maximum(times, 1e-9)  # what nobody has now somebody may have had


def _values_and_limits(designs: SetDesigns) -> list[tuple[Ints, Floats]]:
    """For each sensitive column which value every label has, and its limit by design and label."""
    if not designs.columns:
        limit = np.ones((len(designs.designs), len(designs.labels)))
        for at, places in enumerate(designs.places):
            limit[at, places] = designs.most(at) / designs.m
        return [(np.arange(len(designs.labels)), limit)]
    found = []
    for number, column in enumerate(designs.value_columns):
        rooms = np.stack([designs.room_of(at, number) / designs.m for at in range(len(designs.designs))])
        found.append((column.of, rooms[:, column.of]))
    return found
