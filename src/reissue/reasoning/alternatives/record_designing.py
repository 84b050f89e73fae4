"""From reference shares of records, m and limits to a design of records: how much room each value and record has.

Room is given as slots are (`designing`): a value of share p may be in k of the m records, the least k with k/m >= p +
(1 - p)/(2m), so that how often it is there still says something about its number of people. A record by the same rule.
Where a column has a limit, those of its values that want more than one place may have as many as that allows: the more
their number varies, the more it tells. Three values with shares of 0.60, 0.31 and 0.09 beside diagnoses, m = 8: their
design effects are 21, 25 and 10 with the least room, and 11, 9 and 9 with room for six each. Rare values keep one.
Nothing else has to be fitted: m p itself lies within all limits, and sets are drawn by walking from there.

With three columns or more, values of those that yield have one place more, where their limit has it. The walk keeps it
back, for where it would otherwise have to go beyond a limit (`record_flight`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import PolicyError
from reissue.model.record_design import EXACT, RecordDesign, narrowest_first
from reissue.reasoning.alternatives.designing import NEAR
from reissue.reasoning.alternatives.record_excess import excess, repeated
from reissue.reasoning.alternatives.record_flight import FOLLOWED, law_of, public_words, tree_of, walk_ends
from reissue.reasoning.alternatives.tail_bounds import surprise

WALKS = 1_500
"""From so many walks for each value the factor is worked out."""
OFTEN = 0.05
"""A larger share of walks must not end beyond a limit."""
ERROR = 1e-6
"""With this probability at most the factor is too small."""


def record_design_of(
    records: Ints,
    shares: Floats,
    m: int,
    values: Sequence[int],
    limits: Sequence[Mapping[int, int]] | None = None,
    most: Sequence[int] | None = None,
) -> RecordDesign:
    """The design for these records, whose shares need not add up to 1; `values` says how many each column has.

    `limits` has for each column the room of some of its values, m for one without a limit; `most` says for each column
    how much room every other value has at most. That is what its frequent values take, which want more than one place.
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
        if most is not None:
            own = np.where(margin * (2 * m - 1) > 1, most[column], np.minimum(own, most[column]))
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


def with_factor(design: RecordDesign) -> RecordDesign:
    """The design with the factor that it states."""
    return replace(design, factor=stated_factor(design)) if design.yielding else design


def stated_factor(design: RecordDesign) -> float:
    """By how much the posterior of a value exceeds what a set shows, at most: 1 for two columns.

    Exactly, over all sets, where all courses of a walk can be followed. Elsewhere for each value of each column over
    the sets of those who have it: 1 / (1 - w), with w a bound on the share of them who are drawn again, from walks for
    people with that value; one of these bounds is too small with a probability of at most `ERROR`. A PolicyError says
    where walks end beyond a limit too often to be drawn again.
    """
    if not design.yielding:
        return 1.0
    tree = tree_of(design)
    if tree.first.size <= FOLLOWED:
        return _exact_factor(design)
    every = [(column, value) for column in range(design.columns) for value in np.unique(design.records[:, column])]
    true = np.concatenate([_having(design, column, value) for column, value in every])
    over = excess(design, walk_ends(design, true, public_words, tree)).any(axis=1).reshape(-1, WALKS).sum(axis=1)
    worst = max(_at_most(int(count), WALKS, ERROR / len(every)) for count in over.tolist())
    if float(over.max()) / WALKS > OFTEN:
        raise _too_often(design, float(over.mean()) / WALKS)
    return 1 / (1 - worst)


def _having(design: RecordDesign, column: int, value: int) -> Ints:
    """The records of so many people with a value, by their shares: as evenly as whole numbers are."""
    mine = np.flatnonzero(design.records[:, column] == value)
    added = np.cumsum(design.shares[mine])
    at = np.searchsorted(added, (np.arange(WALKS) + 0.5) / WALKS * added[-1])
    return np.asarray(mine[np.minimum(at, mine.size - 1)])


def _at_most(seen: int, trials: int, error: float) -> float:
    """A share that what was seen is too little for, but with this probability (Hoeffding 1963, Theorem 1)."""
    low, high = seen / trials, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if surprise(seen, trials, middle * trials) > -log(error) else (middle, high)
    return high


def _exact_factor(design: RecordDesign) -> float:
    """The same over all sets, by every course."""
    sets, chances = law_of(design)
    within = ~excess(design, sets).any(axis=1)
    if (lost := float(chances[~within].sum())) > OFTEN:
        raise _too_often(design, lost)
    again = repeated(design, sets, chances)[0]
    weight = (1 / (1 - again))[sets[within]]
    total = weight.sum(axis=1, keepdims=True)
    worst = 1.0
    for codes in design.records.T:
        own = codes[sets[within]]
        same = own[:, :, None] == own[:, None, :]
        posterior = (same * weight[:, None, :]).sum(axis=2) / total
        worst = max(worst, float((posterior * design.m / same.sum(axis=2)).max()))
    return worst


def _too_often(design: RecordDesign, share: float) -> PolicyError:
    return PolicyError(
        f"Sets of {design.m} records of {design.columns} columns do not fit these limits: about {100 * share:.0f} % of "
        "them would have a value beyond its own.",
        hint="allow the values of the column with the fewest values one place more, take a larger m, or make fewer "
        "columns sensitive.",
    )


def wanted_room(shares: Floats, m: int) -> Ints:
    """How many of m places something with this share may take; all m only where its share asks for that."""
    wanted = np.clip(np.ceil(m * shares + (1 - shares) / 2 - NEAR), 1, m - 1)
    return np.asarray(np.maximum(wanted, np.ceil(m * shares - NEAR)), dtype=np.int64)
