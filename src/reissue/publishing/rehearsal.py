"""Rehearsal: a series in memory. Everything is computed and checked as for a release, and nothing is kept.

For comparisons, studies and tests; what must not be forgotten belongs into a `Series`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from reissue.model.grouping import Grouping
from reissue.model.published import Published
from reissue.model.showing import with_counterfeits
from reissue.model.snapshot import Snapshot
from reissue.publishing.draft import Draft
from reissue.publishing.drafting import Progress, Submission, make_draft
from reissue.publishing.history import History
from reissue.publishing.inspection import as_kept
from reissue.publishing.policy import Policy
from reissue.tables.views import published_view


class Rehearsal:
    """Drafts that follow each other as if each had been committed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.history = History()
        """What the private side knows before the next draft."""

    def __repr__(self) -> str:
        return f"Rehearsal({self.policy.method!r}, {self.history.number} drafts)"

    @property
    def ids(self) -> pl.Series:
        """The id of everybody so far, in the order of their numbers."""
        people = self.history.known.people
        return pl.Series("id", [], dtype=pl.Null) if people is None else people.ids()

    def publish(
        self,
        table: object,
        *,
        registry: object = None,
        extinct: Iterable[object] | Path | None = None,
        seed: int | None = None,
        progress: Progress = lambda stage: None,
    ) -> Draft:
        """Draft the next release of this table, with its registry where the method takes one, and go on from it."""
        given = Submission(table, registry, extinct, seed)
        draft = make_draft(given, self.policy, self.history, progress=progress)
        self.history = self.history.after(draft)
        return draft


def everyone(draft: Draft) -> tuple[Snapshot, Grouping]:
    """All rows that measures of utility look at: people, also those held back, then counterfeits; and their groups."""
    snapshot, grouping = draft.snapshot, draft.grouping
    made = grouping.counterfeits
    if made is None:
        return snapshot, grouping
    group = np.concatenate([grouping.group, made.group])
    return with_counterfeits(snapshot, made), replace(grouping, group=group, counterfeits=None)


def seen(drafts: Sequence[Draft], *, quasi: bool = False) -> Published:
    """The outsider's view of drafts that follow each other; with `quasi` it has everybody's quasi-identifiers."""
    numbers = [draft.number for draft in drafts] if quasi else []
    return published_view([as_kept(draft) for draft in drafts], drafts[-1].policy.schema, (), numbers)
