"""History: what the private side of a series knows before a release, and what a draft makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from reissue.model.domain import GROUP, PERSON
from reissue.model.memory import Memory, resolved
from reissue.tables.coding import KnownBefore
from reissue.tables.people import KnownPeople

if TYPE_CHECKING:
    from reissue.publishing.draft import Draft


@dataclass(frozen=True, repr=False)
class Last:
    """The last release, as the next one looks back on it."""

    rows: pl.DataFrame | None = None
    """Its rows, with person numbers; None before the first release."""
    facts: pl.DataFrame | None = None
    """Its values, with person numbers, where they are not in its rows."""
    extinct: pl.DataFrame | None = None
    """Those who had died or left for ever: `person` (a number)."""
    held_back: pl.DataFrame | None = None
    """Who was held back from it: `person` (a number), `reason`, `since`."""


@dataclass(frozen=True, repr=False)
class History:
    """What the private side of a series knows before a release."""

    number: int = 0
    """The number of the last release; 0 when there is none."""
    mark: str = ""
    """The mark of the last release, which no release of another series has."""
    policy_version: int = 1
    """The version of the policy that the next release is made under."""
    known: KnownBefore = field(default_factory=KnownBefore)
    """Everybody so far, and what the tables brought."""
    last: Last = field(default_factory=Last)
    memory: Memory = field(default_factory=dict)
    """What the method of the last release remembered."""
    checks: Memory = field(default_factory=dict)
    """What the checkers of its promises remembered."""
    method: str | None = None
    """The name of the method that made the last release."""
    protected: bool = True
    """Whether all releases so far are protected together."""
    adopted: int = 0
    """How many releases, the first ones, were made elsewhere."""
    barred: pl.DataFrame | None = None
    """Those who are never published again because of them: `person` (a number)."""
    lost: tuple[int, ...] = ()
    """The releases of which nobody here knows who is in them."""
    retracted: tuple[int, ...] = ()
    """The releases that are not handed out."""
    latest: str | None = None
    """The period that reaches furthest, of those that releases are of; None where no release has one."""

    def after(self, draft: Draft) -> History:
        """The history that a draft of the next release leaves, but for its mark, which only a commit gives."""
        kept, before = draft.private, self.known.people
        rows, new = draft.rows.drop(GROUP), kept.new_people["id"]
        ids = new if before is None else pl.concat([before.ids().head(before.count), new])
        people = KnownPeople(lambda: ids, ids.len(), rows[PERSON])
        return History(
            number=draft.number,
            policy_version=draft.continues.policy_version,
            known=KnownBefore(people, ids.len(), kept.domain, self.known.key),
            last=Last(rows, kept.facts, kept.extinct, kept.held_back),
            memory=resolved(draft.memory, self.memory),
            checks=resolved(draft.checks, self.checks),
            method=draft.policy.method.name,
            protected=draft.protected,
            adopted=self.adopted,
            barred=self.barred,
            lost=self.lost,
            retracted=self.retracted,
            latest=draft.continues.latest,
        )
