"""Rehearsal: a series in memory. Everything is computed and checked as for a release, and nothing is kept.

For studies and tests; what must not be forgotten belongs into a `Series`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from reissue.model.domain import GROUP, PERSON
from reissue.model.grouping import Grouping
from reissue.model.memory import Kept, Memory, Remembered
from reissue.model.showing import with_counterfeits
from reissue.model.snapshot import Snapshot
from reissue.publishing.drafting import Draft, History, Progress, make_draft
from reissue.publishing.policy import Policy
from reissue.tables.people import KnownPeople


class Rehearsal:
    """Drafts that follow each other as if each had been committed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.history = History()
        """What the private side knows before the next draft."""
        self.ids = pl.Series("id", [], dtype=pl.Null)
        """The id of everybody so far, in the order of their numbers."""

    def __repr__(self) -> str:
        return f"Rehearsal({self.policy.method!r}, {self.history.number} drafts)"

    def publish(
        self, table: object, *, seed: int | None = None, progress: Progress = lambda stage: None, **given: Any
    ) -> Draft:
        """Draft the next release of this table, with its registry where the method takes one, and go on from it."""
        draft = make_draft(table, self.policy, self.history, seed=seed, progress=progress, **given)
        before, new = self.history, draft.new_people["id"]
        self.ids = ids = pl.concat([self.ids, new]) if before.number else new
        rows = draft.rows.drop(GROUP)
        self.history = History(
            number=draft.number,
            people=KnownPeople(lambda: ids, ids.len(), rows[PERSON]),
            next_number=ids.len(),
            last=rows,
            facts=draft.facts,
            extinct=draft.extinct,
            domain=draft.domain,
            memory=_resolved(draft.memory, before.memory),
            checks=_resolved(draft.checks, before.checks),
            method=self.policy.method.name,
            protected=draft.protected,
            held_back=draft.held_back,
        )
        return draft


def everyone(draft: Draft) -> tuple[Snapshot, Grouping]:
    """All rows that measures of utility look at: people, also those held back, then counterfeits; and their groups."""
    snapshot, grouping = draft.snapshot, draft.grouping
    made = grouping.counterfeits
    if made is None:
        return snapshot, grouping
    group = np.concatenate([grouping.group, made.group])
    return with_counterfeits(snapshot, made), Grouping(group, grouping.count, held_back=grouping.held_back)


def _resolved(tables: Remembered, before: Memory) -> Memory:
    return {name: before[name] if isinstance(table, Kept) else table for name, table in tables.items()}
