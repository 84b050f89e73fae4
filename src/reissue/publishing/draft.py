"""Draft: a release that is not committed yet, in its parts. It is private: it holds the snapshot it was made from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from reissue.arrays.randomness import GENERATOR
from reissue.errors import count_of
from reissue.guarantees import SeriesGuarantee, Verdict
from reissue.model.domain import Domain, sort_of
from reissue.model.grouping import Grouping
from reissue.model.libraries import Library, to_library
from reissue.model.memory import Remembered
from reissue.model.pieces import Table, whole
from reissue.model.promise import Promise
from reissue.model.published import Published
from reissue.model.release import rows_in_words
from reissue.model.sets import PublishedSets
from reissue.model.snapshot import Delta, Snapshot
from reissue.publishing.checking.allowing import Looked
from reissue.publishing.gate import Passage
from reissue.publishing.policy import Policy
from reissue.publishing.seal import seal_of
from reissue.tables.recode import Recoded

LATEST_PERIOD = "latest_period"
"""In the private summary: the period that reaches furthest so far."""
LOST_RELEASES = "lost_releases"
"""In the private summary: the releases so far of which nobody here knows who is in them."""


@dataclass(frozen=True, repr=False)
class Continuation:
    """How a release goes on from those before it."""

    parent: int
    """The number of the release before; 0 when there is none."""
    mark: str
    """The mark of that release: a draft fits no other series, and none with another history."""
    policy_version: int
    anew: bool
    """Whether method and checkers begin anew, without what they knew of earlier releases."""
    protected: bool
    """Whether all releases of the series, this one included, are protected together."""
    adopted: int = 0
    """How many releases, the first ones, were made elsewhere."""
    barred: bool = False
    """Whether there are people who are never published again because of them."""
    lost: tuple[int, ...] = ()
    """The releases before of which nobody here knows who is in them: no promise spans them."""
    period: str | None = None
    """What the release is of."""
    corrects: int | None = None
    """The number of the release that it corrects."""
    retracted: tuple[int, ...] = ()
    """The releases before that are not handed out."""
    latest: str | None = None
    """The period that reaches furthest, of this release and all before."""

    @property
    def about(self) -> dict[str, Any]:
        """What the release is of, for records."""
        told = {"period": self.period, "corrects": self.corrects}
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, repr=False)
class PrivateTables:
    """What the ledger keeps of a release beside its public tables, with people as numbers."""

    rows: Table
    """The snapshot with person numbers and public group numbers; no group for those held back."""
    domain: Domain
    """What the tables up to this one brought."""
    new_people: pl.DataFrame
    """Those who are in the series for the first time: `number`, `id` and, where ids are hashed text, `plain`."""
    facts: pl.DataFrame | None = None
    """The values with person numbers, where people may have several or none and the rows are everybody registered."""
    extinct: pl.DataFrame | None = None
    """Those who have died or left for ever: `person` (a number)."""
    counterfeits: pl.DataFrame | None = None
    """The made-up rows with their numbers and public group numbers."""
    held_back: pl.DataFrame | None = None
    """Who is held back: `person` (a number), `reason`, `since` (a release)."""
    changed: pl.DataFrame | None = None
    """Who is published with another value: `person` (a number) and the sensitive column as published; where people may
    have several values, also which one is meant (`own`)."""


@dataclass(frozen=True, repr=False)
class DraftVerdicts:
    """What is said about a draft, and the seal on the tables of which it is said."""

    verdicts: tuple[Verdict, ...]
    """What the checkers of the method's guarantees found."""
    notes: tuple[str, ...]
    """What the publisher should look at before committing."""
    warnings: tuple[str, ...]
    """What the method says that the public record must say."""
    promises: tuple[Promise, ...]
    """What was promised and checked, with what earlier releases of the series told."""
    seal: str | None = None
    """The seal on the tables as they were checked; None as long as nobody had them in hands."""
    passage: Passage | None = None
    """What the policy's gate said; None where there is none, or it was not asked."""
    looked: Looked | None = None
    """What the checks before the commit said; None where they were not asked."""


@dataclass(frozen=True, repr=False)
class Draft:
    """A release that is ready to be committed, with everything private about it."""

    continues: Continuation
    """How it goes on from the releases before it."""
    policy: Policy
    """The policy it was made under."""
    snapshot: Snapshot
    delta: Delta
    grouping: Grouping
    recoded: Recoded
    view: Published
    """The release as the outsider sees it at worst."""
    private: PrivateTables
    """What the ledger keeps of it, with people as numbers."""
    memory: Remembered
    """What its method remembers for the next release."""
    checks: Remembered
    """What the checkers of its promises remember."""
    judged: DraftVerdicts
    """What is said about it: verdicts, notes, the seal on what was checked, what the gate said."""
    seed: str
    """The seed of the method's randomness, whole: with it the same table gives the same release."""
    seeded: bool
    """Whether the seed was given, so that whoever knows or guesses it can redo the draws."""
    library: Library

    @property
    def number(self) -> int:
        """The number the release will have."""
        return self.continues.parent + 1

    @property
    def tables(self) -> dict[str, Any]:
        """What would be published, in the library of the table given; of another than polars as copies."""
        if self.library == "polars":
            return self.recoded.tables
        return {name: to_library(table, self.library) for name, table in self.recoded.tables.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """Counts about the release; private, because changes between releases are."""
        registered = {} if self.facts is None else {"registered": len(self.snapshot)}
        return {
            "number": self.number,
            **self.continues.about,
            "method": self.policy.method.name,
            "form": self.policy.form,
            "people": self.snapshot.present,
            **registered,
            "rows": self.recoded.rows,
            **self._sizes(),
            "counterfeits": 0 if self.counterfeits is None else self.counterfeits.height,
            "held_back": self._held_back(),
            "replaced": 0 if self.changed is None else self.changed.height,
            **({} if self.facts is None else {"elsewhere": len(self.grouping.elsewhere or ())}),
            "changes": self.delta.counts(),
            "guarantees": {verdict.guarantee: verdict.explanation for verdict in self._standing(self._spans_all())},
            "randomness": {"generator": GENERATOR, "seed_given": self.seeded},
            "notes": list(self.notes),
            **({} if self.passage is None else {"gate": self.passage.summary()}),
            **({} if self.continues.latest is None else {LATEST_PERIOD: self.continues.latest}),
            **({} if self.judged.looked is None or not (said := self.judged.looked.summary()) else {"checks": said}),
            **({LOST_RELEASES: list(self.continues.lost)} if self.continues.lost else {}),
        }

    def _sizes(self) -> dict[str, Any]:
        """How large groups are; of sets how many slots they have, and how many people got a new one."""
        release = self.recoded.groups
        if isinstance(release, PublishedSets):
            drawn = 0 if self.grouping.sets is None else int(self.grouping.sets.drawn.sum())
            kept = self.recoded.rows - drawn
            sets = {"alternatives": release.m, "sets_drawn": drawn, "sets_kept": kept}
            return {"groups": self.grouping.count, **sets, **self._design()}
        sizes = release.rows
        return {
            "groups": self.grouping.count,
            "smallest_group": int(sizes.min()),
            "average_group": round(float(sizes.mean()), 3),
            "largest_group": int(sizes.max()),
        }

    def _spans_all(self) -> bool:
        """Whether what the checkers of promises about a series have seen goes without a break up to this release."""
        return not self.anew and not self.continues.lost

    def _held_back(self) -> dict[str, dict[str, int]]:
        """How many are held back for each reason, and how many releases the longest has waited."""
        if self.held_back is None:
            return {}
        waits = self.held_back.group_by("reason").agg(pl.len().alias("people"), pl.col("since").min()).sort("reason")
        return {
            row["reason"]: {"people": row["people"], "longest_wait": self.number - row["since"] + 1}
            for row in waits.iter_rows(named=True)
        }

    @property
    def manifest(self) -> dict[str, Any]:
        """What the public record says about the release."""
        return {
            **self.continues.about,
            **({"retracted": list(self.continues.retracted)} if self.continues.retracted else {}),
            "method": _recorded(self.policy.to_dict()["method"], self.policy.method.in_tables),
            "form": self.policy.form,
            "columns": {
                **{name: sort_of(kind) for name, kind in self.policy.schema.quasi.items()},
                **dict.fromkeys(self.policy.schema.as_is, "as it is"),
            },
            "sensitive": [
                {"column": name, "kind": sort_of(kind)} for name, kind in self.policy.schema.sensitive_columns.items()
            ],
            "series": "protected" if self.protected else "unprotected",
            "guarantees": [verdict.guarantee for verdict in self._standing(self.protected)],
            "policy_version": self.continues.policy_version,
            "rows": self.recoded.rows,
            "groups": self.grouping.count,
            **self._design(),
            **({"adopted": self.adopted} if self.adopted else {}),
            **({"warnings": warnings} if (warnings := self._warnings()) else {}),
        }

    def _design(self) -> dict[str, Any]:
        """What the public record says of the design of sets, beside the tables that have it."""
        release = self.recoded.groups
        if not isinstance(release, PublishedSets):
            return {}
        designs = release.designs
        change = None if designs.change is None else dict(designs.change)
        facts = {
            "values": len(designs.labels),
            "largest_share": max(float(design.shares.max()) for design in designs.designs),
            "most_slots": max(int(designs.most(at).max()) for at in range(len(designs.designs))),
            "change": change,
            "linked": designs.linked,
        }
        permanent = len(self.policy.schema.permanent)
        carried = {"permanent": permanent} if permanent else {}
        if designs.columns:
            factors = [design.factor for design in designs.of_records]
            drawn = {"sampling": "cube", "slots": release.m, "columns": list(designs.columns), "factors": factors}
            return {"design": {**drawn, **facts}}
        return {"design": {"sampling": "Sampford", "slots": release.m, **facts, **carried}}

    def _standing(self, whole: bool) -> list[Verdict]:
        """What holds of the release; promises about a series only where they hold for the whole of it."""
        judged = zip(self.policy.guarantees(), self.verdicts, strict=True)
        return [verdict for one, verdict in judged if whole or not isinstance(one, SeriesGuarantee)]

    def _warnings(self) -> list[str]:
        """What a reader of the public record must know about the promises."""
        own = list(self.judged.warnings)
        if self.adopted and self.protected:
            own.append(
                f"{count_of(self.adopted, 'release')} before the first one made here came from elsewhere: the promises "
                "are for everybody who is in a release made here."
            )
        if lost := self.continues.lost:
            numbers = ", ".join(map(str, lost))
            own.append(
                f"{'Release' if len(lost) == 1 else 'Releases'} {numbers} of this series went out from a copy whose "
                "private part is lost: nothing is promised of all releases together."
            )
        return own

    def handed_out(self) -> Draft:
        """The draft with a seal on its tables as they are."""
        return replace(self, judged=replace(self.judged, seal=self.seal_now()))

    def seal_now(self) -> str:
        """The seal on the tables as they are; another one than `seal` if somebody changed them."""
        return sealed(self.recoded.tables, self.changed, self.continues)

    def published(self) -> Published:
        """The outsider's view of this release alone."""
        return self.view

    # What the parts say

    @property
    def parent(self) -> int:
        """The number of the release it follows."""
        return self.continues.parent

    @property
    def parent_mark(self) -> str:
        """The mark of that release: a draft fits no other series, and none with another history."""
        return self.continues.mark

    @property
    def protected(self) -> bool:
        """Whether all releases of the series, this one included, are protected together."""
        return self.continues.protected

    @property
    def new_people(self) -> pl.DataFrame:
        """Those who are in the series for the first time: `number`, `id`."""
        return self.private.new_people

    @property
    def rows(self) -> pl.DataFrame:
        """The snapshot with person numbers and public group numbers, as it is kept; no group for those held back."""
        return whole(self.private.rows)

    @property
    def facts(self) -> pl.DataFrame | None:
        """The values with person numbers, where the rows are everybody registered."""
        return self.private.facts

    @property
    def extinct(self) -> pl.DataFrame | None:
        """Those who have died or left for ever: `person` (a number)."""
        return self.private.extinct

    @property
    def counterfeits(self) -> pl.DataFrame | None:
        """The made-up rows with their numbers and public group numbers."""
        return self.private.counterfeits

    @property
    def held_back(self) -> pl.DataFrame | None:
        """Who is held back: `person` (a number), `reason`, `since` (a release)."""
        return self.private.held_back

    @property
    def changed(self) -> pl.DataFrame | None:
        """Who is published with another value: `person` (a number), the value as published."""
        return self.private.changed

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the checkers of the method's guarantees found."""
        return self.judged.verdicts

    @property
    def notes(self) -> tuple[str, ...]:
        """What the publisher should look at before committing."""
        return self.judged.notes

    @property
    def seal(self) -> str | None:
        """The seal on the tables as they were checked; None as long as nobody had them in hands."""
        return self.judged.seal

    @property
    def passage(self) -> Passage | None:
        """What the policy's gate said; None where there is none, or it was not asked."""
        return self.judged.passage

    @property
    def adopted(self) -> int:
        """How many releases, the first ones, were made elsewhere."""
        return self.continues.adopted

    @property
    def barred(self) -> bool:
        """Whether there are people who are never published again because of them."""
        return self.continues.barred

    @property
    def anew(self) -> bool:
        """Whether method and checkers began anew, without what they knew of earlier releases."""
        return self.continues.anew

    def __repr__(self) -> str:
        rows = rows_in_words(self.recoded.rows, self.grouping.count, self._design().get("design"))
        return f"Draft(release {self.number}: {rows})"


def sealed(tables: Mapping[str, pl.DataFrame], changed: pl.DataFrame | None, continues: Continuation) -> str:
    """The seal on what was checked, and on what it says that is not true."""
    return seal_of({**tables, "changed": changed}, str(continues.parent), continues.mark)


def _recorded(method: dict[str, Any], in_tables: Collection[str]) -> dict[str, Any]:
    """A method's parameters for the public record.

    Protected sets name values of a private column. Of tables of values, which the public tables have, it says no more
    than that they were given.
    """
    given = {name: "given" for name, value in method.items() if name in in_tables and isinstance(value, Mapping)}
    method = {**method, **given}
    constraints = [
        {**constraint, "protect": len(constraint["protect"])} if "protect" in constraint else constraint
        for constraint in method.get("constraints", [])
    ]
    return {**method, "constraints": constraints} if constraints else method
