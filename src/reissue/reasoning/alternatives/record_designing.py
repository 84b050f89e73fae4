"""From reference shares of records, m and limits to a design of records: how much room each value and record has.

Room is given as slots are (`designing`): a value of share p may be in k of the m records, the least k with k/m >= p +
(1 - p)/(2m), so that how often it is there still says something about its number of people. A record by the same rule.
Nothing else has to be fitted: m p itself lies within all limits, and sets are drawn by walking from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import PolicyError
from reissue.model.record_design import RecordDesign
from reissue.reasoning.alternatives.designing import NEAR


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
    room = []
    problems = []
    for column, count in enumerate(values):
        margin = np.bincount(records[:, column], weights=p, minlength=count).astype(np.float64)
        own = wanted_room(margin, m)
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


def wanted_room(shares: Floats, m: int) -> Ints:
    """How many of m places something with this share may take; all m only where its share asks for that."""
    wanted = np.clip(np.ceil(m * shares + (1 - shares) / 2 - NEAR), 1, m - 1)
    return np.asarray(np.maximum(wanted, np.ceil(m * shares - NEAR)), dtype=np.int64)
