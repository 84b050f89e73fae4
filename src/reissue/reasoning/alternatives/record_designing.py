"""From reference shares of records, m and limits to a design of records: how much room each value and record has.

Room is given as slots are (`designing`): a value of share p may be in k of the m records, the least k with k/m >= p +
(1 - p)/(2m), so that how often it is there still says something about its number of people. A record by the same rule.
Nothing else has to be fitted: m p itself lies within all limits, and sets are drawn by walking from there.

With three columns or more, values of those that yield have one place more. The walk keeps it back, for where it would
otherwise have to go beyond a limit (`record_flight`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import PolicyError
from reissue.model.record_design import EXACT, RecordDesign, narrowest_first
from reissue.reasoning.alternatives.designing import NEAR
from reissue.reasoning.alternatives.record_excess import excess, repeated
from reissue.reasoning.alternatives.record_flight import public_words, walk_ends

WALKS = 40_000
"""From so many walks the factor is worked out."""
OFTEN = 0.05
"""A larger share of walks must not end beyond a limit."""
ENOUGH = 1_000
"""Values that are in fewer of these sets say nothing about the factor."""


def record_design_of(
    records: Ints,
    shares: Floats,
    m: int,
    values: Sequence[int],
    limits: Sequence[Mapping[int, int]] | None = None,
) -> RecordDesign:
    """The design for these records, whose shares need not add up to 1; `values` says how many each column has.

    `limits` has for each column the room of some of its values, m for one without a limit.
    """
    p = np.asarray(shares, dtype=np.float64)
    p = p / p.sum()
    yielding = narrowest_first(values)[EXACT:]
    room = []
    problems = []
    for column, count in enumerate(values):
        margin = np.bincount(records[:, column], weights=p, minlength=count).astype(np.float64)
        own = wanted_room(margin, m)
        if column in yielding:
            own = np.maximum(own, np.minimum(own + 1, m - 1))
        for value, limit in (limits[column] if limits else {}).items():
            own[value] = limit
        lacking = int(np.count_nonzero(m * margin > own + NEAR))
        if lacking:
            problems.append(
                f"In column number {column}, {lacking} of {count} values are more frequent than their limit."
            )
        room.append(own)
    if problems:
        raise PolicyError(
            f"Sets of {m} records do not fit these limits.",
            problems=problems,
            hint="raise the limits, take another m, or declare a frequent value harmless (no limit).",
        )
    return RecordDesign(m, records, p, wanted_room(p, m), tuple(room))


def stated_factor(design: RecordDesign) -> float:
    """By how much the posterior of a value exceeds what a set shows, at most: 1 for two columns.

    From sets that are drawn for nobody in particular, for each value of each column. A PolicyError says where walks end
    beyond a limit too often to be drawn again.
    """
    if not design.yielding:
        return 1.0
    ends = walk_ends(design, np.full(WALKS, -1), public_words)
    over = float(excess(design, ends).any(axis=1).mean())
    if over > OFTEN:
        raise PolicyError(
            f"Sets of {design.m} records of {design.columns} columns do not fit these limits: about {100 * over:.0f} % "
            "of them would have a value beyond its own.",
            hint="allow the values of the column with the fewest values one place more, take a larger m, or make fewer "
            "columns sensitive.",
        )
    # Rare values have few sets: what was counted, and three more.
    _, *columns = repeated(design, ends)
    worst = 0.0
    for column, shares in enumerate(columns):
        there = np.maximum(1.0, WALKS * design.m * design.margin(column))
        found = there * shares
        worst = max(worst, float(((found + 3 * np.sqrt(found) + 3) / there)[there > ENOUGH].max(initial=0.0)))
    return 1 / (1 - worst)


def wanted_room(shares: Floats, m: int) -> Ints:
    """How many of m places something with this share may take; all m only where its share asks for that."""
    wanted = np.clip(np.ceil(m * shares + (1 - shares) / 2 - NEAR), 1, m - 1)
    return np.asarray(np.maximum(wanted, np.ceil(m * shares - NEAR)), dtype=np.int64)
