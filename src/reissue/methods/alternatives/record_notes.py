"""What a publisher should know about sets of records: how far the shares are from the table, and what that gives away.

Shares of records are smoothed, and rare ones come from pairs and columns. Somebody who knew how frequent every record
of this table truly is would weigh the records of a set by that, and not by the shares: that is what is looked at here,
with the table itself and the sets that are about to be published.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Floats
from reissue.errors import count_of
from reissue.model.sets import SetDesigns, Sets

FAR = 1.5
"""A posterior is told where it is so many times its limit."""


def record_notes(designs: SetDesigns, sets: Sets) -> list[str]:
    """Where the shares of records are far from the table, how much somebody who knew the table's would learn."""
    found = []
    odds = _odds(designs, sets)
    for at, column in enumerate(designs.value_columns):
        codes = column.of[sets.codes.astype(np.int64)]
        same = np.zeros(odds.shape)
        for place in range(odds.shape[1]):
            same += (codes == codes[:, place : place + 1]) * odds[:, place : place + 1]
        limit = np.stack([designs.room_of(design, at) / designs.m for design in range(len(designs.designs))])
        over = same / limit[sets.design[:, None], codes]
        over[limit[sets.design[:, None], codes] >= 1] = 0.0
        worst = over.max(axis=1, initial=0.0)
        if people := int(np.count_nonzero(worst > FAR)):
            row = int(worst.argmax())
            chance = float(same[row, int(over[row].argmax())])
            found.append(
                f"shares of records are smoothed: somebody who knew how frequent every record of this table is would "
                f"give {count_of(people, 'person', 'people')} a value of '{column.name}' with more than {FAR:g} times "
                f"its limit, {chance:.2f} at most; a larger epsilon, coarser columns or shares from outside that fit "
                "bring that down"
            )
    return found


def _odds(designs: SetDesigns, sets: Sets) -> Floats:
    """How likely each place of each set is for somebody who knows how frequent records of the table are."""
    counts = np.bincount(sets.own, minlength=len(designs.labels)).astype(np.float64)
    shares = np.zeros((len(designs.designs), counts.size))
    for at, (design, places) in enumerate(zip(designs.designs, designs.places, strict=True)):
        shares[at, places] = design.shares
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(counts / (counts.sum() * shares), posinf=0.0)
    odds = ratio[sets.design[:, None], sets.codes.astype(np.int64)]
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
