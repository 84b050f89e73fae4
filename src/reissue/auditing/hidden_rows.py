"""Suppressed rows that may be anybody's: an attack that found nothing was blind where they could hide something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.runs import entries_of
from reissue.attacks.base import Judgement
from reissue.errors import count_of
from reissue.model.published import Published


def hidden_rows(published: Published) -> int:
    """How many rows are suppressed of which nobody said whose they are."""
    return sum(int(one.rows[one.suppressed].sum()) for one in published.plain if one.suppressed is not None)


def unless_hidden(judgement: Judgement, published: Published) -> Judgement:
    """A judgement, which is not "within, proven" where nobody said whose suppressed rows are."""
    rows = hidden_rows(published)
    if judgement.status != "within" or not rows:
        return judgement
    hidden = [one for one in published.plain if one.suppressed is not None]
    people = [
        one.members[entries_of(one.member_starts, one.suppressed)] for one in hidden if one.suppressed is not None
    ]
    listed = np.unique(np.concatenate(people))
    who = f", {count_of(int((listed >= 0).sum()), 'person', 'people')} in all" if (listed >= 0).any() else ""
    words = (
        f"{judgement.words} That is proven only if {count_of(rows, 'suppressed row')} may be anybody's{who}, as they "
        "may hide everybody. If a suppressed row belongs to no published class, more can be concluded: --suppressed "
        "class; --suppressed anywhere says that it may be anybody's."
    )
    return replace(judgement, status="undecided", words=words)
